//! The actor that runs a session: it handles one command after another, gives tasks to the agent, queues prompts that
//! arrive meanwhile, and checks whether the configuration has changed on disk.

use std::collections::VecDeque;
use std::time::Duration;

use hookwright_model::{AnyModel, Content};
use hookwright_settings::{ApprovalMode, ProcessEnv};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{JoinError, JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::agent_task::AgentTask;
use super::command::{Detail, SessionCommand};
use super::config_watch::ConfigWatch;
use super::configuration::journal_summary;
use super::dialog::DialogOutcome;
use super::extensions::ExtensionUpdates;
use super::mcp_sign_in::McpSignInTask;
use super::options::SessionOptions;
use super::reply::Reply;
use super::setup::{self, PreparedAgent};
use super::{ActorMessage, SessionProgress, SharedView, Shutdown};
use crate::agent::{Agent, EndReason, StartSource};
use crate::event::{AgentEvent, AgentNotice, SessionEvent, TurnEnd, TurnEvent};
use crate::event_channel::SessionObserver;
use crate::panics::panic_message;
use crate::protect::{report_changes_at_end, reset_approval_mode};
use crate::services::{Interaction, Services};

/// How often the configuration on disk is checked for changes.
const CONFIG_RESCAN_INTERVAL: Duration = Duration::from_secs(1);
/// The queue's length; further prompts are refused.
const MAX_QUEUED_PROMPTS: usize = 100;

/// The actor that owns a running session.
pub(super) struct SessionActor {
    pub(super) options: SessionOptions,
    pub(super) world: ProcessEnv,
    pub(super) shared: std::sync::Arc<SharedView>,
    pub(super) config_watch: ConfigWatch,
    /// Whether the disk did not respond at the last scan.
    pub(super) is_disk_unresponsive: bool,
    /// Whether [`SessionEvent::Synced`] is sent when no dialog is open any more.
    pub(super) is_sync_due: bool,
    /// The guards whose worker was given up, as of the last scan.
    pub(super) guards_with_dead_worker: Vec<String>,
    pub(super) extension_updates: ExtensionUpdates,
    pub(super) mcp_sign_in: McpSignInTask,
    /// The incoming messages; `None` once every sender is dropped.
    messages: Option<UnboundedReceiver<ActorMessage>>,
    agent_slot: AgentSlot,
    /// Cancels the running task.
    cancel: CancellationToken,
    queue: VecDeque<QueuedTask>,
    /// Changes to apply to the agent when it is idle.
    deferred: DeferredChanges,
    /// Commands that ask the user something.
    pub(super) dialogs: JoinSet<Option<DialogOutcome>>,
    end_reason: Option<EndReason>,
    start_source: StartSource,
    startup_warnings: Vec<String>,
}

/// Where the agent is: here, in a running task, or lost.
enum AgentSlot {
    /// The actor holds it.
    Idle(Box<Agent>),
    /// A spawned task holds it and returns it.
    Busy(JoinHandle<Box<Agent>>),
    /// A panic of its task dropped it.
    Lost,
}

/// A task that the user asked for, with the line that was typed for it.
struct QueuedTask {
    typed: String,
    task: AgentTask,
}

/// Changes that wait until the agent is idle.
#[derive(Default)]
struct DeferredChanges {
    model: Option<ModelChange>,
    system_prompt: Option<String>,
}

/// Another model: its name, and the model itself if the connection changes too.
pub(super) struct ModelChange {
    pub(super) name: String,
    pub(super) model: Option<AnyModel>,
}

impl SessionActor {
    pub(super) fn new(
        options: SessionOptions,
        world: ProcessEnv,
        made: PreparedAgent,
        shared: std::sync::Arc<SharedView>,
        messages: UnboundedReceiver<ActorMessage>,
    ) -> Self {
        SessionActor {
            config_watch: ConfigWatch::new(&shared.view().loaded, &options.policies),
            is_disk_unresponsive: false,
            is_sync_due: false,
            guards_with_dead_worker: Vec::new(),
            extension_updates: ExtensionUpdates::default(),
            mcp_sign_in: McpSignInTask::default(),
            options,
            world,
            shared,
            messages: Some(messages),
            agent_slot: AgentSlot::Idle(Box::new(made.agent)),
            cancel: CancellationToken::new(),
            queue: VecDeque::new(),
            deferred: DeferredChanges::default(),
            dialogs: JoinSet::new(),
            end_reason: None,
            start_source: made.start_source,
            startup_warnings: made.warnings,
        }
    }

    /// Adds observers of the session.
    pub(super) fn add_observers(&mut self, observers: Vec<Box<dyn SessionObserver>>) {
        let view = self.shared.view();
        self.startup_warnings.extend(view.services.events.add_observers(observers, &view));
    }

    /// Runs until the session is over, and returns the last warnings of its observers.
    pub(super) async fn run(mut self) -> Vec<String> {
        self.announce_configuration();
        self.reply_agent_diagnostics();
        for warning in std::mem::take(&mut self.startup_warnings) {
            self.send_event(AgentNotice::Warning(warning));
        }
        if let AgentSlot::Idle(agent) = &self.agent_slot {
            self.send_event(SessionEvent::History(setup::last_messages(agent.history())));
        }
        self.connect_servers();
        self.start_task(AgentTask::Start(self.start_source));
        let mut rescan_timer = tokio::time::interval(CONFIG_RESCAN_INTERVAL);
        rescan_timer.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        rescan_timer.reset();
        let mut scans = JoinSet::new();
        let watches = self.options.interaction == Interaction::Interactive;
        if watches {
            self.check_newer_versions();
        }
        while !self.is_over() {
            tokio::select! {
                biased;
                message = next_message(&mut self.messages) => self.handle_message(message),
                agent = self.agent_slot.join_agent() => self.finish_task(agent),
                Some(end) = self.dialogs.join_next() => self.finish_dialog(end),
                Some(found) = self.extension_updates.lookups.join_next() => self.handle_update_result(found),
                Some(found) = self.extension_updates.version_checks.join_next() => self.announce_newer_version(found),
                Some(Ok(scan)) = scans.join_next() => self.apply_scan(scan),
                _ = rescan_timer.tick(), if watches && scans.is_empty() => drop(scans.spawn(self.scan_configuration())),
            }
        }
        let reason = self.end_reason.unwrap_or(EndReason::Exit);
        tracing::debug!(?reason, "ends");
        if let AgentSlot::Idle(agent) = &mut self.agent_slot {
            agent.end(reason).await;
            agent.shutdown().await;
        }
        report_changes_at_end(&self.services());
        let events = self.services().events.clone();
        // Front ends show the end of the session while its observers complete their work.
        drop(self);
        events.finish_observers()
    }

    /// Returns the conversation, which is empty while a task has it.
    pub(super) fn history(&self) -> Vec<std::sync::Arc<Content>> {
        match &self.agent_slot {
            AgentSlot::Idle(agent) => agent.history().to_vec(),
            AgentSlot::Busy(_) | AgentSlot::Lost => Vec::new(),
        }
    }

    fn is_over(&self) -> bool {
        match &self.agent_slot {
            AgentSlot::Lost => true,
            AgentSlot::Busy(_) => false,
            AgentSlot::Idle(_) => self.end_reason.is_some() && self.queue.is_empty() && self.dialogs.is_empty(),
        }
    }

    pub(super) fn send_event(&self, event: impl Into<AgentEvent>) {
        self.services().events.send(event);
    }

    /// Reports that the configuration or the connection has changed.
    pub(super) fn send_configuration_changed(&self) {
        let view = self.shared.view();
        view.services.events.update_observers(&view);
        self.send_event(SessionEvent::ConfigurationChanged);
    }

    pub(super) fn reply(&self, reply: Reply) {
        self.send_event(SessionEvent::Reply(reply));
    }

    pub(super) fn services(&self) -> std::sync::Arc<Services> {
        self.shared.view().services.clone()
    }

    fn handle_message(&mut self, message: Option<ActorMessage>) {
        match message {
            // A turn that is still running when the session ends may be waiting for the answer.
            Some(ActorMessage::Command(SessionCommand::Answer { id, answer })) => {
                self.services().events.answer(id, answer);
            }
            Some(ActorMessage::Command(order)) if self.end_reason.is_none() => self.handle_command(order),
            Some(ActorMessage::Command(_)) => {}
            Some(ActorMessage::Canary(hook)) => self.fire_canary(&hook),
            Some(ActorMessage::End(when, reason)) => self.begin_shutdown(when, reason),
            // Every sender is dropped, so no further message can arrive.
            None => self.begin_shutdown(Shutdown::Now, EndReason::Exit),
        }
    }

    pub(super) fn begin_shutdown(&mut self, when: Shutdown, reason: EndReason) {
        tracing::debug!(?when, ?reason, "the session is to end");
        self.end_reason.get_or_insert(reason);
        if when == Shutdown::Now {
            self.queue.clear();
            self.dialogs = JoinSet::new();
            // A turn that is over cannot be cancelled, and its hooks' reports must not be.
            if !matches!(self.agent_slot, AgentSlot::Idle(_)) {
                self.cancel.cancel();
            }
        }
    }

    /// Queues a prompt, with the line that was typed for it.
    pub(super) fn enqueue_prompt(&mut self, prompt: String, typed: String) {
        self.enqueue(QueuedTask { typed, task: AgentTask::Prompt(prompt) });
    }

    fn handle_command(&mut self, order: SessionCommand) {
        tracing::debug!(order = order.name(), "ordered");
        match order {
            SessionCommand::Prompt(prompt) => self.enqueue_prompt(prompt.clone(), prompt),
            SessionCommand::UseSkill { name, task, typed } => self.use_skill(&name, &task, typed),
            SessionCommand::PipedPrompt { piped, typed } => {
                self.enqueue(QueuedTask { typed: typed.clone(), task: AgentTask::PipedPrompt { piped, typed } });
            }
            SessionCommand::UserShell(command) => {
                self.enqueue(QueuedTask { typed: format!("!{command}"), task: AgentTask::UserShell(command) });
            }
            SessionCommand::CustomCommand { command, typed, args } => {
                self.enqueue(QueuedTask {
                    typed: typed.clone(),
                    task: AgentTask::CustomCommand { command, typed, args },
                });
            }
            SessionCommand::ServerPrompt { server, name, args, typed } => {
                self.enqueue(QueuedTask { typed, task: AgentTask::ServerPrompt { server, name, args } });
            }
            SessionCommand::MaybeServerPrompt(typed) => {
                self.enqueue(QueuedTask { typed: typed.clone(), task: AgentTask::MaybeServerPrompt(typed) })
            }
            SessionCommand::Clear => self.enqueue(QueuedTask { typed: "/clear".to_owned(), task: AgentTask::Clear }),
            SessionCommand::Compress => {
                self.enqueue(QueuedTask { typed: "/compress".to_owned(), task: AgentTask::Compress })
            }
            SessionCommand::Answer { id, answer } => drop(self.services().events.answer(id, answer)),
            SessionCommand::Snapshot => {
                self.send_event(SessionEvent::Snapshot(Box::new(self.shared.view().snapshot())));
            }
            SessionCommand::Sync if self.dialogs.is_empty() => self.send_event(SessionEvent::Synced),
            SessionCommand::Sync => self.is_sync_due = true,
            SessionCommand::Cancel => self.cancel_task(),
            SessionCommand::RecallPrompt => {
                let last = self.queue.pop_back();
                self.return_prompts(last.into_iter().collect());
            }
            SessionCommand::Model(name) => self.handle_model(name),
            SessionCommand::Auth => self.handle_auth(),
            SessionCommand::Settings(name) => self.handle_settings(name),
            SessionCommand::Theme(name) => self.handle_theme(name),
            SessionCommand::Vim => self.toggle_vim_mode(),
            SessionCommand::FolderTrust => self.handle_folder_trust(),
            SessionCommand::Directory(order) => self.handle_directory(order),
            SessionCommand::Init => self.handle_init(),
            SessionCommand::Diff(order) => self.handle_diff(order),
            SessionCommand::Logout => self.handle_logout(),
            SessionCommand::SetApprovalMode(mode) => self.set_approval_mode(mode),
            SessionCommand::Tools(detail) => self.list_tools(detail),
            SessionCommand::About => self.show_about(),
            SessionCommand::Statistics => {
                self.reply(Reply::Statistics(Box::new(self.services().events.statistics())));
            }
            SessionCommand::ListCustomCommands => self.list_custom_commands(),
            SessionCommand::Memory(order) => self.handle_memory(order),
            SessionCommand::Agents(order) => self.handle_agents(order),
            SessionCommand::Hooks(order) => self.handle_hooks(order),
            SessionCommand::Skills(order) => self.handle_skills(order),
            SessionCommand::Extensions(order) => self.handle_extensions(order),
            SessionCommand::Background(order) => self.handle_background(&order),
            SessionCommand::Mcp(order) => self.handle_mcp(order),
            SessionCommand::Resume(which) => self.handle_resume(which.as_deref()),
            SessionCommand::Chat(order) => self.handle_chat(order),
            SessionCommand::Restore(order) => self.handle_restore(order),
            SessionCommand::Permissions(order) => self.handle_permissions(&order),
        }
    }

    /// Starts a task, or queues it until the agent is idle.
    fn enqueue(&mut self, next: QueuedTask) {
        if matches!(self.agent_slot, AgentSlot::Idle(_)) {
            return self.start_queued_task(next);
        }
        if self.queue.len() >= MAX_QUEUED_PROMPTS {
            return self.reply(Reply::warning(format!(
                "{MAX_QUEUED_PROMPTS} prompts are queued already; this one was not added"
            )));
        }
        self.queue.push_back(next);
        self.send_queue();
    }

    /// Returns whether the agent is idle.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.agent_slot, AgentSlot::Idle(_))
    }

    /// Returns whether the agent is idle, and warns the user if it is not. For commands that make no sense during a
    /// turn.
    pub(super) fn require_idle(&self) -> bool {
        let free = self.is_idle();
        if !free {
            self.reply(Reply::warning("not while the agent works; cancel the turn first"));
        }
        free
    }

    fn start_queued_task(&mut self, next: QueuedTask) {
        self.send_event(SessionEvent::InputStarted(next.typed));
        self.start_task(next.task);
    }

    pub(super) fn start_task(&mut self, job: AgentTask) {
        let AgentSlot::Idle(agent) = std::mem::replace(&mut self.agent_slot, AgentSlot::Lost) else { return };
        self.cancel = CancellationToken::new();
        if let AgentTask::Resume(next) = &job {
            let services = next.services().clone();
            let model = next.model().to_owned();
            self.shared.update(|view| (view.services, view.model) = (services, model));
            self.connect_servers();
        }
        let activity = job.activity();
        tracing::debug!(with = activity.as_str(), "busy");
        self.shared.update(|view| view.progress.activity = Some(activity));
        self.send_event(SessionEvent::Busy(activity));
        let (cancel, view) = (self.cancel.clone(), self.shared.view());
        self.agent_slot = AgentSlot::Busy(tokio::spawn(async move { job.run(agent, &view.loaded, &cancel).await }));
    }

    fn finish_task(&mut self, agent: Result<Box<Agent>, JoinError>) {
        let mut agent = match agent {
            Ok(agent) => agent,
            Err(error) => {
                tracing::error!(%error, "the agent was lost");
                let end = TurnEnd::failed(format!("the agent has stopped working: {}", join_error_message(error)));
                self.send_event(TurnEvent::Finished(end));
                self.agent_slot = AgentSlot::Lost;
                return;
            }
        };
        if let Some(other) = self.deferred.model.take() {
            other.apply(&mut agent);
        }
        if let Some(system) = self.deferred.system_prompt.take() {
            agent.set_system(system);
        }
        let (model, tokens) = (agent.model().to_owned(), agent.context_tokens());
        let history = setup::last_messages(agent.history());
        self.agent_slot = AgentSlot::Idle(agent);
        self.shared.update(|view| {
            view.model.clone_from(&model);
            view.progress = SessionProgress { activity: None, tokens, history, ..std::mem::take(&mut view.progress) };
        });
        if self.cancel.is_cancelled() {
            let waiting = std::mem::take(&mut self.queue);
            self.return_prompts(waiting.into());
        }
        tracing::debug!(model, tokens, waiting = self.queue.len(), "idle");
        self.send_event(SessionEvent::Idle { model, tokens });
        if let Some(next) = self.queue.pop_front() {
            self.send_queue();
            self.start_queued_task(next);
        }
    }

    /// Reports that the session is idle, after a command that started no task.
    pub(super) fn send_idle(&self) {
        if let AgentSlot::Idle(agent) = &self.agent_slot {
            self.send_event(SessionEvent::Idle { model: agent.model().to_owned(), tokens: agent.context_tokens() });
        }
    }

    fn cancel_task(&mut self) {
        self.cancel.cancel();
    }

    fn send_queue(&self) {
        let prompts: Vec<String> = self.queue.iter().map(|one| one.typed.clone()).collect();
        self.shared.update(|view| view.progress.queued_prompts.clone_from(&prompts));
        self.send_event(SessionEvent::PromptsQueued(prompts));
    }

    /// Returns prompts that were not started to the front end.
    fn return_prompts(&self, waiting: Vec<QueuedTask>) {
        if !waiting.is_empty() {
            self.send_event(SessionEvent::PromptsReturned(waiting.into_iter().map(|one| one.typed).collect()));
            self.send_queue();
        }
    }

    /// Changes the model now, or at the end of the turn if the agent is busy.
    pub(super) fn change_model(&mut self, other: ModelChange) {
        self.shared.update(|view| view.model.clone_from(&other.name));
        self.send_event(SessionEvent::ModelChanged(other.name.clone()));
        match (&mut self.agent_slot, self.deferred.model.take()) {
            (AgentSlot::Idle(agent), _) => other.apply(agent),
            // Of two deferred changes the later name counts, with the earlier one's connection if it brings none
            // itself.
            (_, Some(ModelChange { model: Some(model), .. })) if other.model.is_none() => {
                self.deferred.model = Some(ModelChange { model: Some(model), ..other });
            }
            (_, _) => self.deferred.model = Some(other),
        }
    }

    pub(super) fn set_system_prompt(&mut self, system: String) {
        match &mut self.agent_slot {
            AgentSlot::Idle(agent) => agent.set_system(system),
            _ => self.deferred.system_prompt = Some(system),
        }
    }

    /// Changes the approval mode, or falls back to the default mode if something prevents it.
    fn set_approval_mode(&mut self, mode: ApprovalMode) {
        let view = self.shared.view();
        let obstacle = view.mode_obstacle(mode);
        if let Some(why) = &obstacle {
            self.reply(Reply::warning(format!("{why}, so the approval mode is default, not {}", mode.as_str())));
            // The selectable modes have changed.
            self.send_configuration_changed();
        }
        let is_offered = obstacle.is_none() && view.services.approvals.selectable_modes().contains(&mode);
        let mode = if is_offered { mode } else { ApprovalMode::Default };
        tracing::debug!(mode = mode.as_str(), "another approval mode");
        view.services.approvals.set_mode(mode);
        self.send_event(SessionEvent::ModeChanged(mode));
    }

    /// Leaves an approval mode that is no longer allowed.
    pub(super) fn leave_disallowed_mode(&self) {
        let view = self.shared.view();
        if let Some(why) = view.mode_obstacle(view.services.approvals.mode()) {
            reset_approval_mode(&view.services, &why);
        }
    }

    fn list_tools(&self, detail: Detail) {
        let tools = self.services().tools.current();
        let rows = tools.declarations().map(|tool| {
            let text = match detail {
                Detail::Full => tool.description.clone(),
                Detail::Short => String::new(),
            };
            (tool.name.clone(), text)
        });
        self.reply(Reply::Rows(rows.collect()));
    }

    fn show_about(&self) {
        let view = self.shared.view();
        let session = view.services.hooks.session();
        let rows = [
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("model", view.model.clone()),
            ("folder", view.loaded.project.root.display().to_string()),
            ("session", session.id.clone()),
            ("transcript", session.transcript_path.display().to_string()),
            ("settings", view.loaded.settings_file().display().to_string()),
            ("journal", journal_summary(&view.loaded)),
        ];
        let log = self.options.log.as_ref().map(|path| ("log", path.display().to_string()));
        let without_effect = view.loaded.settings.ineffective_settings.iter();
        let without_effect = without_effect.map(|one| ("no effect", format!("{}: {}", one.key, one.reason)));
        let rows = rows.into_iter().chain(log).chain(without_effect);
        self.reply(Reply::Rows(rows.map(|(name, text)| (name.to_owned(), text)).collect()));
    }
}

impl Drop for SessionActor {
    /// Closes the event stream, however the session ends, so that the front end stops waiting.
    fn drop(&mut self) {
        let services = self.services();
        services.events.close();
        if std::thread::panicking() {
            services.events.finish_observers();
        }
    }
}

impl AgentSlot {
    /// Waits for the agent's task and returns the agent; a panic loses it.
    async fn join_agent(&mut self) -> Result<Box<Agent>, JoinError> {
        match self {
            AgentSlot::Busy(task) => task.await,
            _ => std::future::pending().await,
        }
    }
}

fn join_error_message(error: JoinError) -> String {
    error.try_into_panic().map_or_else(|_| "it was ended".to_owned(), |payload| panic_message(&*payload).to_owned())
}

/// Receives the next message. A closed channel is reported once; afterwards this waits for ever, so that it does not
/// win every `select!`.
async fn next_message(messages: &mut Option<UnboundedReceiver<ActorMessage>>) -> Option<ActorMessage> {
    let Some(receiver) = messages else { return std::future::pending().await };
    let next = receiver.recv().await;
    if next.is_none() {
        *messages = None;
    }
    next
}
