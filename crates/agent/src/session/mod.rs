//! A session: the conversation and everything around it, without a screen. A front end sends [`Order`]s and prints
//! [`AgentEvent`]s; headless, the screen, plain lines and whatever comes are printers of the same thing.
//!
//! `open` puts it together, `conduct` runs it, `line` reads what a user types; the other files do what orders ask for.

mod adjust;
mod agents;
mod background;
mod branch;
mod canary;
mod chats;
mod choose;
mod conduct;
mod configuration;
mod connect;
mod diff;
mod extensions;
mod folder;
mod git;
mod guards;
mod job;
mod line;
mod looks;
mod memory;
mod open;
mod options;
mod order;
mod permissions;
mod project;
mod reply;
mod restore;
pub(crate) mod servers;
mod shell;
mod sign_in;
mod skills;
mod state;
mod talk;
mod watch;

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use hookwright_hooks::Hook;
use hookwright_settings::commands::Commands;
use hookwright_settings::skills::Skills;
use hookwright_settings::trust::{PendingChange, pending};
use hookwright_settings::{ApprovalMode, Connection, FileState, Loaded, World};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::agent::EndReason;
use crate::events::{EventStream, Events};
use crate::protect::{Guards, LedgerStart, MadeOf};
use crate::services::{Interaction, Services};
use conduct::Conductor;

pub(crate) use background::tell_what_stays;
pub use branch::branch;
pub use canary::canary;
pub use choose::proxy;
pub use configuration::NO_HOOKS;
pub(crate) use guards::is_lax;
pub use guards::{json as unarmed_json, of_engine as unarmed_in, remember_refused, unarmed_guards};
pub use line::{SLASH_COMMANDS, SlashCommand, Typed, View, custom_commands, prompt_commands, slash_groups};
pub use looks::THEMES;
pub use open::limits as tool_limits;
pub use options::{AuthTypeError, BrokenSettings, HookUse, SessionError, SessionOptions, UnarmedGuards};
pub use order::{
    AgentsOrder, BackgroundOrder, ChatOrder, Consent, Detail, DiffOrder, DirectoryOrder, ExtensionsOrder, Extent,
    HooksOrder, McpOrder, MemoryOrder, Order, PermissionsOrder, RestoreOrder, SkillsOrder,
};
pub use reply::{Reply, Tone};
pub use skills::state_words as skill_state;
pub use state::{Armed, HookEntry, entries as hook_entries, json as hook_json, panel_text};

/// A session that is put together and has not started.
pub struct Opened {
    conductor: Conductor,
    events: EventStream,
    orders: UnboundedSender<Asked>,
}

/// A running session. Cheap to clone.
#[derive(Clone)]
pub struct SessionHandle {
    orders: UnboundedSender<Asked>,
    shared: Arc<Shared>,
}

/// What reaches the conductor.
enum Asked {
    Order(Order),
    /// Fire one hook alone.
    Canary(Arc<Hook>),
    /// Leave.
    End(When, EndReason),
}

/// When a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// When everything that was ordered is done.
    Done,
    /// Now: what runs is cancelled.
    Now,
}

/// What front ends may look at while the conductor works.
struct Shared {
    view: RwLock<Arc<SessionView>>,
}

/// A session as it is now.
#[derive(Clone)]
pub struct SessionView {
    /// The configuration.
    pub loaded: Arc<Loaded>,
    /// What the agent works with.
    pub services: Arc<Services>,
    /// The model that is asked.
    pub model: String,
    /// Where it is, if it is elsewhere.
    pub connection: Option<Connection>,
    /// The custom commands.
    pub commands: Arc<Commands>,
    /// The skills.
    pub skills: Arc<Skills>,
}

impl SessionView {
    /// The session's id, which changes when the conversation is cleared or another one is resumed.
    pub fn session_id(&self) -> String {
        self.services.hooks.session().id.clone()
    }

    /// The approval modes that the user can step through now.
    pub fn modes(&self) -> Vec<ApprovalMode> {
        let modes = self.services.approvals.modes().iter().copied();
        modes.filter(|mode| self.mode_obstacle(*mode).is_none()).collect()
    }

    /// Why an approval mode can't be had now.
    fn mode_obstacle(&self, mode: ApprovalMode) -> Option<String> {
        let unarmed = if guards::is_lax(mode) { self.unarmed() } else { Vec::new() };
        guards::mode_obstacle(mode, &self.loaded, &unarmed, &self.services.guards)
    }

    /// The guards that would not do their work now.
    pub fn unarmed(&self) -> Vec<hookwright_hooks::Unarmed> {
        guards::of_engine(&self.services.hooks, &self.loaded)
    }

    /// What a line asks for here: a skill's name is a command, behind all others.
    pub fn read(&self, text: &str) -> Typed {
        match Typed::read(text, &self.commands, &self.prompts()) {
            Typed::Unknown(command) => line::skill_called(text, &self.skills).unwrap_or(Typed::Unknown(command)),
            typed => typed,
        }
    }

    /// The prompts that MCP servers have, with their servers; each is a slash command.
    pub fn prompts(&self) -> Vec<(String, hookwright_tools::mcp::RemotePrompt)> {
        self.services.servers.prompts()
    }

    /// What can be typed behind a slash, with what it is for: our own commands, then custom ones, the prompts of servers and
    /// skills.
    pub fn help(&self) -> Vec<(String, String)> {
        let own = SLASH_COMMANDS.iter().map(|row| (format!("/{}", row.usage()), row.about.to_owned()));
        own.chain(self.custom_help().into_iter().map(|(name, about)| (format!("/{name}"), about))).collect()
    }

    /// The commands that are not our own, with what they are for.
    pub fn custom_help(&self) -> Vec<(String, String)> {
        let mut rows: Vec<(String, String)> =
            self.commands.list.iter().map(|command| (command.name.clone(), command.about())).collect();
        let prompts = self.prompts();
        for (name, (server, prompt)) in prompt_commands(&prompts).into_iter().zip(&prompts) {
            rows.push((name, format!("{} (MCP server {server})", state::on_one_line(&prompt.description))));
        }
        for skill in self.skills.list.iter().filter(|skill| skill.state.counts()) {
            rows.push((skill.name.clone(), format!("{} (skill)", state::on_one_line(&skill.description))));
        }
        rows
    }

    /// Every hook as it is now.
    pub fn hooks(&self) -> Vec<HookEntry> {
        state::entries(&self.services.hooks, &self.loaded)
    }
}

impl Opened {
    /// Puts a session together from a configuration that was loaded with the same options.
    ///
    /// # Errors
    /// If a model, a policy, an earlier session or a directory that the options name cannot be used, or guards could be
    /// missing.
    pub fn new(options: SessionOptions, world: World, loaded: Loaded) -> Result<Opened, SessionError> {
        if let Some(broken) = broken_settings(&loaded).filter(|_| options.broken == BrokenSettings::Refuse) {
            return Err(SessionError::BrokenSettings(broken.to_owned()));
        }
        let unarmed = unarmed_guards(&options, &loaded);
        if !unarmed.is_empty() && options.guards == UnarmedGuards::Refuse {
            guards::remember_refused(&loaded);
            return Err(SessionError::Unguarded(unarmed));
        }
        let (events, stream) = Events::channel();
        let guards = Arc::new(watch_guards(&options, &world, &loaded)?);
        let troubles = guards.take_troubles();
        let mut made = open::make(&options, &loaded, &unarmed, guards, events)?;
        made.warnings.extend(troubles);
        let commands = Arc::new(configuration::trusted_commands(&loaded, &made.agent.services().guards));
        let view = SessionView {
            model: made.agent.model().to_owned(),
            connection: made.connection.clone(),
            services: made.agent.services().clone(),
            loaded: Arc::new(loaded),
            commands,
            skills: made.skills.clone(),
        };
        let shared = Arc::new(Shared { view: RwLock::new(Arc::new(view)) });
        let (orders, asked) = unbounded_channel();
        Ok(Opened { conductor: Conductor::new(options, world, made, shared, asked), events: stream, orders })
    }

    /// The session as it will start.
    pub fn view(&self) -> Arc<SessionView> {
        self.conductor.shared.view()
    }

    /// Starts it. Its events end when it does.
    pub fn start(self) -> (SessionHandle, EventStream, JoinHandle<()>) {
        let handle = SessionHandle { orders: self.orders, shared: self.conductor.shared.clone() };
        (handle, self.events, tokio::spawn(self.conductor.run()))
    }
}

/// Begins to watch over what guards are made of. Where an agent has changed some of it and nobody is there to ask, a session
/// does not start.
fn watch_guards(options: &SessionOptions, world: &World, loaded: &Loaded) -> Result<Guards, SessionError> {
    let made_of = MadeOf::new(loaded, &options.policies);
    let pending = pending(&loaded.paths, &loaded.project.root, &made_of.files);
    if options.interaction == Interaction::Headless && !pending.is_empty() {
        return Err(SessionError::GuardsChanged(pending.into_iter().map(|change| change.file.path).collect()));
    }
    let interaction = options.interaction;
    let has_guards = open::has_guards(&open::registry(options, loaded));
    // Where no hook could say no, nobody's change of one could let anything pass.
    let ledger = if has_guards || !pending.is_empty() { LedgerStart::Now } else { LedgerStart::WhenSomethingRuns };
    let (options, world) = (options.clone(), world.clone());
    let guards = Guards::new(loaded, made_of, &pending, ledger, move || {
        Some(open::registry(&options, &options.load(&world).ok()?))
    });
    match (guards.unopened(), interaction) {
        (Some((folder, why)), Interaction::Headless) if has_guards => {
            return Err(SessionError::NoLedger { folder, why });
        }
        (Some(_), _) => guards.go_on_unopened(),
        (None, _) => {}
    }
    Ok(guards)
}

/// What agents changed of the guards in earlier sessions, or in others that are open, and nobody has trusted.
pub fn changed_guards(options: &SessionOptions, loaded: &Loaded) -> Vec<PendingChange> {
    pending(&loaded.paths, &loaded.project.root, &MadeOf::new(loaded, &options.policies).files)
}

/// A settings file that can't be read as one, if there is any.
pub fn broken_settings(loaded: &Loaded) -> Option<&Path> {
    loaded.files.iter().find(|file| file.state == FileState::Broken).map(|file| file.path.as_path())
}

impl SessionHandle {
    /// Asks for something; what comes of it is told by events. A session that has ended hears nothing.
    pub fn order(&self, order: Order) {
        let _ = self.orders.send(Asked::Order(order));
    }

    /// Fires one hook alone, on an input that asks for nothing.
    pub fn canary(&self, hook: Arc<Hook>) {
        let _ = self.orders.send(Asked::Canary(hook));
    }

    /// Ends the session.
    pub fn end(&self, when: When, reason: EndReason) {
        let _ = self.orders.send(Asked::End(when, reason));
    }

    /// The session as it is now.
    pub fn view(&self) -> Arc<SessionView> {
        self.shared.view()
    }

    /// Ends everything that hooks and tools run, at once and by force. The last thing before the program is gone.
    pub fn kill_everything(&self) {
        let services = &self.view().services;
        services.hooks.kill_now();
        services.tool_context.background.kill_now();
        services.servers.kill_now();
    }
}

impl Shared {
    fn view(&self) -> Arc<SessionView> {
        self.view.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut SessionView)) {
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut view));
    }
}
