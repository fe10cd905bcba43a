//! Runs a session: takes one order after another, gives the agent its work, keeps prompts that come meanwhile, and looks
//! whether the configuration has changed on disk.

use std::collections::VecDeque;
use std::time::Duration;

use hookwright_model::AnyModel;
use hookwright_settings::{ApprovalMode, World};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{JoinError, JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::extensions::Updates;
use super::job::Job;
use super::open::{self, Made};
use super::options::SessionOptions;
use super::order::{Detail, Order};
use super::reply::Reply;
use super::sign_in::SigningIn;
use super::talk::Deed;
use super::watch::Watch;
use super::{Asked, Shared, When};
use crate::agent::{Agent, EndReason, StartSource};
use crate::event::{AgentEvent, TurnEnd};
use crate::panics::panic_words;
use crate::protect::{leave_mode, settle_at_the_end};
use crate::services::{Interaction, Services};

/// How often the configuration is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// More prompts than this nobody lets wait.
const MOST_WAITING: usize = 100;

/// The session at work.
pub(super) struct Conductor {
    pub(super) options: SessionOptions,
    pub(super) world: World,
    pub(super) shared: std::sync::Arc<Shared>,
    pub(super) watch: Watch,
    /// Whether the disk did not answer at the last look.
    pub(super) is_disk_silent: bool,
    /// The guards whose worker was given up, when that was last looked at.
    pub(super) given_up: Vec<String>,
    pub(super) updates: Updates,
    pub(super) signing_in: SigningIn,
    /// What is asked; nothing once nobody is left who could ask.
    asked: Option<UnboundedReceiver<Asked>>,
    work: Work,
    /// Ends what runs now.
    cancel: CancellationToken,
    waiting: VecDeque<Waiting>,
    /// What to tell the agent when it is free.
    later: Later,
    /// Commands that ask the user something.
    pub(super) talks: JoinSet<Option<Deed>>,
    ending: Option<EndReason>,
    source: StartSource,
    warnings: Vec<String>,
}

/// Who has the agent.
enum Work {
    /// Nobody.
    Idle(Box<Agent>),
    /// A task of its own.
    Busy(JoinHandle<Box<Agent>>),
    /// It was lost in a panic.
    Lost,
}

/// Something that the user wants done: what was typed, and what it means.
struct Waiting {
    typed: String,
    job: Job,
}

/// Changes that wait for a free agent.
#[derive(Default)]
struct Later {
    model: Option<Other>,
    system: Option<String>,
}

/// Another model: its name, and who answers if that is somebody else.
pub(super) struct Other {
    pub(super) name: String,
    pub(super) model: Option<AnyModel>,
}

impl Conductor {
    pub(super) fn new(
        options: SessionOptions,
        world: World,
        made: Made,
        shared: std::sync::Arc<Shared>,
        asked: UnboundedReceiver<Asked>,
    ) -> Self {
        Conductor {
            watch: Watch::new(&shared.view().loaded, &options.policies),
            is_disk_silent: false,
            given_up: Vec::new(),
            updates: Updates::default(),
            signing_in: SigningIn::default(),
            options,
            world,
            shared,
            asked: Some(asked),
            work: Work::Idle(Box::new(made.agent)),
            cancel: CancellationToken::new(),
            waiting: VecDeque::new(),
            later: Later::default(),
            talks: JoinSet::new(),
            ending: None,
            source: made.source,
            warnings: made.warnings,
        }
    }

    /// Works until the session is over.
    pub(super) async fn run(mut self) {
        self.tell_configuration();
        self.tell_agents();
        for warning in std::mem::take(&mut self.warnings) {
            self.tell(AgentEvent::Warning(warning));
        }
        if let Work::Idle(agent) = &self.work {
            self.tell(AgentEvent::History(open::last_messages(agent.history())));
        }
        self.connect_servers();
        self.begin(Job::Start(self.source));
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        look.reset();
        let mut looking = JoinSet::new();
        let looks = self.options.interaction == Interaction::Interactive;
        if looks {
            self.look_for_newer();
        }
        while !self.is_over() {
            tokio::select! {
                biased;
                asked = hear(&mut self.asked) => self.take(asked),
                agent = self.work.done() => self.done(agent),
                Some(end) = self.talks.join_next() => self.talked(end),
                Some(found) = self.updates.looking.join_next() => self.update_found(found),
                Some(found) = self.updates.behind.join_next() => self.newer_found(found),
                Some(Ok(looked)) = looking.join_next() => self.looked(looked),
                _ = look.tick(), if looks && looking.is_empty() => drop(looking.spawn(self.look())),
            }
        }
        let reason = self.ending.unwrap_or(EndReason::Exit);
        tracing::debug!(?reason, "ends");
        if let Work::Idle(agent) = &mut self.work {
            agent.end(reason).await;
            agent.shutdown().await;
        }
        settle_at_the_end(&self.services());
    }

    fn is_over(&self) -> bool {
        match &self.work {
            Work::Lost => true,
            Work::Busy(_) => false,
            Work::Idle(_) => self.ending.is_some() && self.waiting.is_empty() && self.talks.is_empty(),
        }
    }

    pub(super) fn tell(&self, event: AgentEvent) {
        self.services().events.send(event);
    }

    pub(super) fn reply(&self, reply: Reply) {
        self.tell(AgentEvent::Reply(reply));
    }

    pub(super) fn services(&self) -> std::sync::Arc<Services> {
        self.shared.view().services.clone()
    }

    fn take(&mut self, asked: Option<Asked>) {
        match asked {
            Some(Asked::Order(order)) if self.ending.is_none() => self.order(order),
            Some(Asked::Order(_)) => {}
            Some(Asked::Canary(hook)) => self.canary(&hook),
            Some(Asked::End(when, reason)) => self.end(when, reason),
            // Nobody is left who could ask for anything.
            None => self.end(When::Now, EndReason::Exit),
        }
    }

    pub(super) fn end(&mut self, when: When, reason: EndReason) {
        tracing::debug!(?when, ?reason, "the session is to end");
        self.ending.get_or_insert(reason);
        if when == When::Now {
            self.waiting.clear();
            self.talks = JoinSet::new();
            // A turn that is over cannot be cancelled, nor can what its hooks still have to say.
            if !matches!(self.work, Work::Idle(_)) {
                self.cancel.cancel();
            }
        }
    }

    /// A prompt that waits its turn, and what was typed for it.
    pub(super) fn prompt(&mut self, prompt: String, typed: String) {
        self.enqueue(Waiting { typed, job: Job::Prompt(prompt) });
    }

    fn order(&mut self, order: Order) {
        tracing::debug!(order = order.as_str(), "ordered");
        match order {
            Order::Prompt(prompt) => self.prompt(prompt.clone(), prompt),
            Order::UseSkill { name, task, typed } => self.use_skill(&name, &task, typed),
            Order::Piped { piped, typed } => {
                self.enqueue(Waiting { typed: typed.clone(), job: Job::Piped { piped, typed } });
            }
            Order::Shell(command) => {
                self.enqueue(Waiting { typed: format!("!{command}"), job: Job::Shell(command) });
            }
            Order::Custom { command, typed, args } => {
                self.enqueue(Waiting { typed: typed.clone(), job: Job::Custom { command, typed, args } });
            }
            Order::ServerPrompt { server, name, args, typed } => {
                self.enqueue(Waiting { typed, job: Job::ServerPrompt { server, name, args } });
            }
            Order::Late(typed) => self.enqueue(Waiting { typed: typed.clone(), job: Job::Late(typed) }),
            Order::Clear => self.enqueue(Waiting { typed: "/clear".to_owned(), job: Job::Clear }),
            Order::Compress => self.enqueue(Waiting { typed: "/compress".to_owned(), job: Job::Compress }),
            Order::Cancel => self.cancel(),
            Order::TakeBack => {
                let last = self.waiting.pop_back();
                self.give_back(last.into_iter().collect());
            }
            Order::Model(name) => self.model(name),
            Order::Auth => self.auth(),
            Order::Settings(name) => self.settings(name),
            Order::Theme(name) => self.theme(name),
            Order::Vim => self.vim(),
            Order::Trust => self.folder_trust(),
            Order::Directory(order) => self.directory(order),
            Order::Init => self.init(),
            Order::Diff(order) => self.diff(order),
            Order::Logout => self.logout(),
            Order::Mode(mode) => self.mode(mode),
            Order::Tools(detail) => self.tools(detail),
            Order::About => self.about(),
            Order::CustomCommands => self.custom_commands(),
            Order::Memory(order) => self.memory(order),
            Order::Agents(order) => self.agents(order),
            Order::Hooks(order) => self.hooks(order),
            Order::Skills(order) => self.skills(order),
            Order::Extensions(order) => self.extensions(order),
            Order::Background(order) => self.background(&order),
            Order::Mcp(order) => self.mcp(order),
            Order::Resume(which) => self.resume(which.as_deref()),
            Order::Chat(order) => self.chat(order),
            Order::Restore(order) => self.restore(order),
            Order::Permissions(order) => self.permissions(&order),
        }
    }

    /// Something for the agent, now or when it is free.
    fn enqueue(&mut self, next: Waiting) {
        if matches!(self.work, Work::Idle(_)) {
            return self.begin_typed(next);
        }
        if self.waiting.len() >= MOST_WAITING {
            return self.reply(Reply::warning(format!("{MOST_WAITING} prompts wait already; this one does not")));
        }
        self.waiting.push_back(next);
        self.tell_waiting();
    }

    /// Whether the agent has nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.work, Work::Idle(_))
    }

    /// Whether something may begin that makes no sense while the agent works on something else; if not, that is said.
    pub(super) fn is_free(&self) -> bool {
        let free = self.is_idle();
        if !free {
            self.reply(Reply::warning("not while the agent works; Esc cancels the turn"));
        }
        free
    }

    fn begin_typed(&mut self, next: Waiting) {
        self.tell(AgentEvent::Begun(next.typed));
        self.begin(next.job);
    }

    pub(super) fn begin(&mut self, job: Job) {
        let Work::Idle(agent) = std::mem::replace(&mut self.work, Work::Lost) else { return };
        self.cancel = CancellationToken::new();
        if let Job::Resume(next) = &job {
            let services = next.services().clone();
            let model = next.model().to_owned();
            self.shared.change(|view| (view.services, view.model) = (services, model));
            self.connect_servers();
        }
        tracing::debug!(with = job.activity().as_str(), "busy");
        self.tell(AgentEvent::Busy(job.activity()));
        let (cancel, view) = (self.cancel.clone(), self.shared.view());
        self.work = Work::Busy(tokio::spawn(async move { job.run(agent, &view.loaded, &cancel).await }));
    }

    fn done(&mut self, agent: Result<Box<Agent>, JoinError>) {
        let mut agent = match agent {
            Ok(agent) => agent,
            Err(error) => {
                tracing::error!(%error, "the agent was lost");
                let end = TurnEnd::failed(format!("the agent has stopped working: {}", panic_message(error)));
                self.tell(AgentEvent::TurnFinished(end));
                self.work = Work::Lost;
                return;
            }
        };
        if let Some(other) = self.later.model.take() {
            other.apply(&mut agent);
        }
        if let Some(system) = self.later.system.take() {
            agent.set_system(system);
        }
        let (model, tokens) = (agent.model().to_owned(), agent.context_tokens());
        self.work = Work::Idle(agent);
        self.shared.change(|view| view.model.clone_from(&model));
        if self.cancel.is_cancelled() {
            let waiting = std::mem::take(&mut self.waiting);
            self.give_back(waiting.into());
        }
        tracing::debug!(model, tokens, waiting = self.waiting.len(), "idle");
        self.tell(AgentEvent::Idle { model, tokens });
        if let Some(next) = self.waiting.pop_front() {
            self.tell_waiting();
            self.begin_typed(next);
        }
    }

    /// Says that there is nothing to wait for, after an order of which nothing came.
    pub(super) fn tell_idle(&self) {
        if let Work::Idle(agent) = &self.work {
            self.tell(AgentEvent::Idle { model: agent.model().to_owned(), tokens: agent.context_tokens() });
        }
    }

    fn cancel(&mut self) {
        self.cancel.cancel();
    }

    fn tell_waiting(&self) {
        self.tell(AgentEvent::Waiting(self.waiting.iter().map(|one| one.typed.clone()).collect()));
    }

    /// Prompts that were never begun go back to who typed them.
    fn give_back(&self, waiting: Vec<Waiting>) {
        if !waiting.is_empty() {
            self.tell(AgentEvent::GivenBack(waiting.into_iter().map(|one| one.typed).collect()));
            self.tell_waiting();
        }
    }

    /// Another model from now on, or from the end of the turn on.
    pub(super) fn change_model(&mut self, other: Other) {
        self.shared.change(|view| view.model.clone_from(&other.name));
        self.tell(AgentEvent::ModelChanged(other.name.clone()));
        match (&mut self.work, self.later.model.take()) {
            (Work::Idle(agent), _) => other.apply(agent),
            // Of two that wait, the later one's name counts, wherever it is.
            (_, Some(Other { model: Some(model), .. })) if other.model.is_none() => {
                self.later.model = Some(Other { model: Some(model), ..other });
            }
            (_, _) => self.later.model = Some(other),
        }
    }

    pub(super) fn set_system(&mut self, system: String) {
        match &mut self.work {
            Work::Idle(agent) => agent.set_system(system),
            _ => self.later.system = Some(system),
        }
    }

    /// Another approval mode, unless something stands in the way.
    fn mode(&mut self, mode: ApprovalMode) {
        let view = self.shared.view();
        let obstacle = view.mode_obstacle(mode);
        if let Some(why) = &obstacle {
            self.reply(Reply::warning(format!("{why}, so the approval mode is default, not {}", mode.as_str())));
            // Which modes there are has changed.
            self.tell(AgentEvent::Configured);
        }
        let is_offered = obstacle.is_none() && view.services.approvals.modes().contains(&mode);
        let mode = if is_offered { mode } else { ApprovalMode::Default };
        tracing::debug!(mode = mode.as_str(), "another approval mode");
        view.services.approvals.set_mode(mode);
        self.tell(AgentEvent::ModeChanged(mode));
    }

    /// Leaves an approval mode that can't be had any more.
    pub(super) fn leave_forbidden_mode(&self) {
        let view = self.shared.view();
        if let Some(why) = view.mode_obstacle(view.services.approvals.mode()) {
            leave_mode(&view.services, &why);
        }
    }

    fn tools(&self, detail: Detail) {
        let tools = self.services().tools.now();
        let rows = tools.declarations().map(|tool| {
            let text = match detail {
                Detail::Full => tool.description.clone(),
                Detail::Short => String::new(),
            };
            (tool.name.clone(), text)
        });
        self.reply(Reply::Rows(rows.collect()));
    }

    fn about(&self) {
        let view = self.shared.view();
        let session = view.services.hooks.session();
        let rows = [
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("model", view.model.clone()),
            ("folder", view.loaded.project.root.display().to_string()),
            ("session", session.id.clone()),
            ("transcript", session.transcript_path.display().to_string()),
            ("settings", view.loaded.settings_file().display().to_string()),
        ];
        let log = self.options.log.as_ref().map(|path| ("log", path.display().to_string()));
        let without_effect = view.loaded.settings.without_effect.iter();
        let without_effect = without_effect.map(|one| ("no effect", format!("{}: {}", one.key, one.because)));
        let rows = rows.into_iter().chain(log).chain(without_effect);
        self.reply(Reply::Rows(rows.map(|(name, text)| (name.to_owned(), text)).collect()));
    }
}

impl Drop for Conductor {
    /// However the session ends, its front end must hear that there is nothing more to wait for.
    fn drop(&mut self) {
        self.services().events.close();
    }
}

impl Work {
    /// The agent, when its task is over; a panic loses it.
    async fn done(&mut self) -> Result<Box<Agent>, JoinError> {
        match self {
            Work::Busy(task) => task.await,
            _ => std::future::pending().await,
        }
    }
}

fn panic_message(error: JoinError) -> String {
    error.try_into_panic().map_or_else(|_| "it was ended".to_owned(), |payload| panic_words(&*payload).to_owned())
}

/// The next thing asked. That nobody is left to ask is said once, or nothing else would be heard any more.
async fn hear(asked: &mut Option<UnboundedReceiver<Asked>>) -> Option<Asked> {
    let Some(receiver) = asked else { return std::future::pending().await };
    let next = receiver.recv().await;
    if next.is_none() {
        *asked = None;
    }
    next
}
