//! A session without a front end: the conversation, its hooks, tools and configuration.
//!
//! A front end (headless, terminal screen, plain lines) sends [`SessionCommand`]s and prints [`AgentEvent`](crate::AgentEvent)s.
//!
//! `setup.rs` builds a session, `actor.rs` runs it, `input_line.rs` parses typed lines; the other files carry out the
//! commands.

mod actor;
mod agent_task;
mod agents;
mod appearance;
mod background;
mod canary;
mod chats;
mod command;
mod config_access;
mod config_watch;
mod configuration;
mod dialog;
mod diff;
mod extensions;
mod folder_access;
mod git;
mod git_branch;
mod guard_readiness;
mod hook_list;
mod init_command;
mod input_line;
pub(crate) mod mcp_servers;
mod mcp_sign_in;
mod memory;
mod model_connection;
mod model_selection;
mod opening;
mod options;
mod permissions;
mod reply;
mod restore;
mod settings;
mod setup;
mod skills;
mod snapshot;
mod statistics;
mod user_shell;

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use hookwright_hooks::Hook;
use hookwright_model::Content;
use hookwright_settings::commands::CustomCommands;
use hookwright_settings::skills::Skills;
use hookwright_settings::trust::{PendingChange, pending_changes};
use hookwright_settings::{ApprovalMode, LoadedConfig, ModelConnection, ProcessEnv, SettingsFileState};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::agent::EndReason;
use crate::event_channel::{EventSender, EventStream, SessionObserver};
use crate::protect::{GuardedFiles, LedgerStart, TamperWatch};
use crate::services::{Interaction, Services};
use actor::SessionActor;

/// Slash commands that belong together, for the help.
#[derive(Clone, Debug)]
pub struct HelpGroup {
    /// The heading of the group.
    pub title: &'static str,
    /// The usage and description of each command.
    pub rows: Vec<(String, String)>,
}

pub use appearance::THEMES;
pub(crate) use background::announce_kept_jobs;
pub use canary::build_canary;
pub use command::{
    AgentsAction, BackgroundAction, ChatAction, Detail, DiffAction, DirectoryAction, ExtensionsAction, HooksAction,
    McpAction, MemoryAction, PermissionsAction, RestoreAction, SessionCommand, SkillsAction,
};
pub use configuration::NO_HOOKS;
pub use git_branch::current_git_branch;
pub(crate) use guard_readiness::skips_approval;
pub use guard_readiness::{unarmed_guards, unarmed_in_engine as unarmed_in, unarmed_json};
pub use hook_list::{ArmedState, HookListEntry, hook_entries, hook_json, panel_text};
use input_line::HELP_GROUPS;
pub use input_line::{
    FrontEndAction, InputLine, SLASH_COMMANDS, SlashCommand, discover_custom_commands, prompt_command_names,
    slash_command_groups,
};
pub use model_selection::proxy_from_env;
pub use opening::{AGENTS_FILE, OpeningChoice, OpeningQuestion, OpeningStep, SessionOpening};
pub use options::{AuthTypeError, BrokenSettingsPolicy, HookUse, SessionError, SessionOptions, UnarmedGuardsPolicy};
pub use reply::{Reply, Tone};
pub use setup::tool_limits;
pub use snapshot::{PROTOCOL_VERSION, SessionProgress, Snapshot};
pub use statistics::{HookStatistics, ModelStatistics, SessionStatistics, SubAgentStatistics, ToolStatistics};

/// A session that is set up and has not started.
pub struct PreparedSession {
    actor: SessionActor,
    events: EventStream,
    messages: UnboundedSender<ActorMessage>,
}

/// A handle to a running session, which is cheap to clone.
#[derive(Clone)]
pub struct SessionHandle {
    messages: UnboundedSender<ActorMessage>,
    shared: Arc<SharedView>,
}

/// A message to the session actor.
enum ActorMessage {
    Command(SessionCommand),
    /// Fires one hook alone, on a harmless input.
    Canary(Arc<Hook>),
    /// Ends the session for this reason.
    End(Shutdown, EndReason),
}

/// When a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// After every queued task is done.
    Done,
    /// At once: the running task is cancelled.
    Now,
}

/// The view that front ends read while the actor works.
struct SharedView {
    view: RwLock<Arc<SessionView>>,
}

/// A snapshot of the session's state.
#[derive(Clone)]
pub struct SessionView {
    /// The loaded configuration.
    pub loaded: Arc<LoadedConfig>,
    /// The services that the agent works with.
    pub services: Arc<Services>,
    /// The name of the current model.
    pub model: String,
    /// The connection to the model, if it is on a server.
    pub connection: Option<ModelConnection>,
    /// The custom commands that are trusted.
    pub commands: Arc<CustomCommands>,
    /// The skills that were discovered.
    pub skills: Arc<Skills>,
    /// What the session does, and where its conversation is.
    pub progress: SessionProgress,
}

impl SessionView {
    /// Returns the session's id, which changes when the conversation is cleared or another one is resumed.
    pub fn session_id(&self) -> String {
        self.services.hooks.session().id.clone()
    }

    /// Returns the approval modes that the user can select now.
    pub fn modes(&self) -> Vec<ApprovalMode> {
        let modes = self.services.approvals.selectable_modes().iter().copied();
        modes.filter(|mode| self.mode_obstacle(*mode).is_none()).collect()
    }

    /// Returns the reason why an approval mode cannot be used now.
    fn mode_obstacle(&self, mode: ApprovalMode) -> Option<String> {
        let unarmed = if guard_readiness::skips_approval(mode) { self.unarmed_guards() } else { Vec::new() };
        guard_readiness::mode_obstacle(mode, &self.loaded, &unarmed, &self.services.tamper_watch)
    }

    /// Returns the guards that would not work now.
    pub fn unarmed_guards(&self) -> Vec<hookwright_hooks::UnarmedGuard> {
        guard_readiness::unarmed_in_engine(&self.services.hooks, &self.loaded)
    }

    /// Parses a typed line. The name of a skill is a command if no other command has that name.
    pub fn parse_line(&self, text: &str) -> InputLine {
        match InputLine::parse(text, &self.commands, &self.mcp_prompts()) {
            InputLine::UnknownCommand(command) => {
                input_line::parse_skill_command(text, &self.skills).unwrap_or(InputLine::UnknownCommand(command))
            }
            typed => typed,
        }
    }

    /// Returns the prompts of MCP servers with their server's name. Each is a slash command.
    pub fn mcp_prompts(&self) -> Vec<(String, hookwright_tools::mcp::RemotePrompt)> {
        self.services.servers.prompts()
    }

    /// Returns the usage and description of every slash command, in groups: custom commands, server prompts and skills,
    /// then those that are built in.
    pub fn help(&self) -> Vec<HelpGroup> {
        let group_of = |name: &str| {
            let word = name.split(' ').next().unwrap_or(name);
            HELP_GROUPS.iter().position(|(_, words)| words.contains(&word)).unwrap_or(HELP_GROUPS.len() - 1)
        };
        let in_group = |(at, (title, _)): (usize, &(&'static str, _))| {
            let rows = SLASH_COMMANDS.iter().filter(|row| group_of(row.name) == at);
            HelpGroup { title, rows: rows.map(|row| (format!("/{}", row.usage()), row.about.to_owned())).collect() }
        };
        let mut groups: Vec<HelpGroup> = HELP_GROUPS.iter().enumerate().map(in_group).collect();
        let rows: Vec<(String, String)> =
            self.custom_help().into_iter().map(|(name, about)| (format!("/{name}"), about)).collect();
        if !rows.is_empty() {
            groups.insert(0, HelpGroup { title: "Your commands, prompts and skills", rows });
        }
        groups
    }

    /// Returns the name and description of every command that is not built in.
    pub fn custom_help(&self) -> Vec<(String, String)> {
        let mut rows: Vec<(String, String)> =
            self.commands.list.iter().map(|command| (command.name.clone(), command.summary())).collect();
        let prompts = self.mcp_prompts();
        for (name, (server, prompt)) in prompt_command_names(&prompts).into_iter().zip(&prompts) {
            rows.push((name, format!("{} (MCP server {server})", hook_list::collapse_whitespace(&prompt.description))));
        }
        for skill in self.skills.list.iter().filter(|skill| skill.state.is_active()) {
            rows.push((skill.name.clone(), format!("{} (skill)", hook_list::collapse_whitespace(&skill.description))));
        }
        rows
    }

    /// Returns every hook with its current state.
    pub fn hooks(&self) -> Vec<HookListEntry> {
        hook_list::hook_entries(&self.services.hooks, &self.loaded)
    }
}

impl PreparedSession {
    /// Sets up a session from a configuration that was loaded with the same options.
    ///
    /// # Errors
    /// If a model, a policy, an earlier session or a directory that the options name cannot be used, or guards could be
    /// missing.
    pub fn new(
        options: SessionOptions,
        world: ProcessEnv,
        loaded: LoadedConfig,
    ) -> Result<PreparedSession, SessionError> {
        if let Some(broken) =
            broken_settings_file(&loaded).filter(|_| options.broken_settings == BrokenSettingsPolicy::Refuse)
        {
            return Err(SessionError::BrokenSettings(broken.to_owned()));
        }
        let unarmed = unarmed_guards(&options, &loaded);
        if !unarmed.is_empty() && options.unarmed_guards == UnarmedGuardsPolicy::Refuse {
            guard_readiness::remember_refused_guards(&loaded);
            return Err(SessionError::Unguarded(unarmed));
        }
        let (events, stream) = EventSender::channel();
        let guards = Arc::new(start_tamper_watch(&options, &world, &loaded)?);
        let troubles = guards.take_unreported_problems();
        let mut made = setup::prepare_agent(&options, &loaded, &unarmed, guards, events)?;
        made.warnings.extend(troubles);
        let commands = Arc::new(configuration::trusted_commands(&loaded, &made.agent.services().tamper_watch));
        let view = SessionView {
            model: made.agent.model().to_owned(),
            connection: made.connection.clone(),
            services: made.agent.services().clone(),
            loaded: Arc::new(loaded),
            commands,
            skills: made.skills.clone(),
            progress: SessionProgress { history: setup::last_messages(made.agent.history()), ..Default::default() },
        };
        let shared = Arc::new(SharedView { view: RwLock::new(Arc::new(view)) });
        let (sender, receiver) = unbounded_channel();
        Ok(PreparedSession {
            actor: SessionActor::new(options, world, made, shared, receiver),
            events: stream,
            messages: sender,
        })
    }

    /// Returns the state that the session will start with.
    pub fn view(&self) -> Arc<SessionView> {
        self.actor.shared.view()
    }

    /// Returns the conversation that the session goes on with.
    pub fn history(&self) -> Vec<Arc<Content>> {
        self.actor.history()
    }

    /// Starts the session, with observers that see every event.
    ///
    /// Its event stream ends when the session does; its task returns the observers' last warnings.
    pub fn start(
        mut self,
        observers: Vec<Box<dyn SessionObserver>>,
    ) -> (SessionHandle, EventStream, JoinHandle<Vec<String>>) {
        self.actor.add_observers(observers);
        let handle = SessionHandle { messages: self.messages, shared: self.actor.shared.clone() };
        (handle, self.events, tokio::spawn(self.actor.run()))
    }
}

/// Starts the watch over the files that guards are made of.
///
/// A headless session does not start if an agent has changed one of them: there is no user to ask.
fn start_tamper_watch(
    options: &SessionOptions,
    world: &ProcessEnv,
    loaded: &LoadedConfig,
) -> Result<TamperWatch, SessionError> {
    let made_of = GuardedFiles::new(loaded, &options.policies);
    let pending = pending_changes(&loaded.paths, &loaded.project.root, &made_of.files);
    if options.interaction == Interaction::Headless && !pending.is_empty() {
        return Err(SessionError::GuardsChanged(pending.into_iter().map(|change| change.file.path).collect()));
    }
    let interaction = options.interaction;
    let has_guards = setup::has_guards(&setup::effective_registry(options, loaded));
    // Without a hook that can deny, a changed hook cannot let a call pass, so the ledger can wait.
    let ledger = if has_guards || !pending.is_empty() { LedgerStart::Immediate } else { LedgerStart::OnFirstRun };
    let (options, world) = (options.clone(), world.clone());
    let guards = TamperWatch::new(loaded, made_of, &pending, ledger, move || {
        Some(setup::effective_registry(&options, &options.load(&world).ok()?))
    });
    match (guards.ledger_error(), interaction) {
        (Some((folder, why)), Interaction::Headless) if has_guards => {
            return Err(SessionError::NoLedger { folder, why });
        }
        (Some(_), _) => guards.continue_without_ledger(),
        (None, _) => {}
    }
    Ok(guards)
}

/// Returns the changes to guards that agents made in earlier or other open sessions and the user has not trusted.
fn untrusted_guard_changes(options: &SessionOptions, loaded: &LoadedConfig) -> Vec<PendingChange> {
    pending_changes(&loaded.paths, &loaded.project.root, &GuardedFiles::new(loaded, &options.policies).files)
}

/// Returns a settings file that cannot be parsed, if there is one.
pub fn broken_settings_file(loaded: &LoadedConfig) -> Option<&Path> {
    loaded.files.iter().find(|file| file.state == SettingsFileState::Broken).map(|file| file.path.as_path())
}

impl SessionHandle {
    /// Sends a command. Events report its result; a session that has ended ignores it.
    pub fn send(&self, order: SessionCommand) {
        let _ = self.messages.send(ActorMessage::Command(order));
    }

    /// Fires one hook alone, on a harmless input.
    pub fn fire_canary(&self, hook: Arc<Hook>) {
        let _ = self.messages.send(ActorMessage::Canary(hook));
    }

    /// Ends the session, at once or when its queue is empty.
    pub fn end(&self, when: Shutdown, reason: EndReason) {
        let _ = self.messages.send(ActorMessage::End(when, reason));
    }

    /// Returns the current state of the session.
    pub fn view(&self) -> Arc<SessionView> {
        self.shared.view()
    }

    /// Ends the observers, for a session whose end is not waited for any longer; returns their warnings.
    pub fn finish_observers(&self) -> Vec<String> {
        self.view().services.events.finish_observers()
    }

    /// Kills every process that hooks, tools and MCP servers run. For the moment before the program exits.
    pub fn kill_all_processes(&self) {
        let services = &self.view().services;
        services.hooks.kill_now();
        services.tool_context.process_groups.kill_all();
        services.servers.kill_now();
    }
}

impl SharedView {
    fn view(&self) -> Arc<SessionView> {
        self.view.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn update(&self, change: impl FnOnce(&mut SessionView)) {
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut view));
    }
}
