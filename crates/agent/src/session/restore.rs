//! `/restore`: lists checkpoints, shows what restoring one would do, and restores it.

use super::actor::SessionActor;
use super::agent_task::AgentTask;
use super::command::RestoreAction;
use super::reply::Reply;
use super::setup;
use crate::agent::Agent;
use crate::checkpoint::{
    CheckpointError, CheckpointKind, CheckpointStore, ConflictPolicy, RestorePlan, RestoreRoots, RestoreScope,
    SessionChanges,
};
use crate::event::SessionEvent;
use crate::services::Services;
use crate::transcript;

impl SessionActor {
    pub(super) fn handle_restore(&mut self, order: RestoreAction) {
        let services = self.services();
        let Some(store) = services.checkpoints.store() else { return };
        let result = match order {
            RestoreAction::List => {
                let all = store.list();
                if all.is_empty() {
                    return self.reply(Reply::aside(no_checkpoints_message(&services)));
                }
                Ok(Reply::Checkpoints(all))
            }
            RestoreAction::Show(which) => store
                .find(&which)
                .and_then(|one| services.plan_restore(one.number))
                .map(|plan| Reply::Plan(Box::new(plan))),
            RestoreAction::Restore { .. } if !self.require_idle() => return,
            RestoreAction::Restore { which, what, since } => match store.find(&which) {
                Ok(one) => return self.start_task(AgentTask::Restore { number: one.number, what, since }),
                Err(error) => Err(error),
            },
        };
        match result {
            Ok(reply) => self.reply(reply),
            Err(error) => self.reply(Reply::failed(error)),
        }
    }
}

impl Services {
    /// Plans the restoring of a checkpoint.
    ///
    /// # Errors
    /// If there is no checkpoint of that number.
    pub fn plan_restore(&self, number: u64) -> Result<RestorePlan, CheckpointError> {
        let none = || CheckpointError::NotFound(number.to_string());
        self.with_restore_roots(|store, roots| store.plan(number, roots)).unwrap_or_else(|| Err(none()))
    }

    /// Returns the changes of this session, as far as its checkpoints go back.
    pub(super) fn changed_by_session(&self) -> SessionChanges {
        let session = &self.hooks.session().id;
        self.with_restore_roots(|store, roots| store.session_changes(session, roots.folders)).unwrap_or_default()
    }

    /// Calls a function with the checkpoint store and the directories that files may be restored to.
    fn with_restore_roots<T>(&self, act: impl FnOnce(&CheckpointStore, &RestoreRoots<'_>) -> T) -> Option<T> {
        let protected = self.approvals.protected();
        let workspace = self.call_context().workspace;
        let folders = workspace.roots();
        let roots = RestoreRoots { folders: &folders, protected: &protected };
        Some(act(self.checkpoints.store()?, &roots))
    }
}

fn no_checkpoints_message(services: &Services) -> &'static str {
    match services.checkpoints.records_files() {
        true => "there is nothing to go back to yet",
        false => "there is nothing to go back to yet; general.checkpointing.enabled is false, so files are not kept",
    }
}

/// Restores files, the conversation or both.
pub(super) fn restore_checkpoint(agent: &mut Agent, number: u64, what: RestoreScope, since: ConflictPolicy) {
    let services = agent.services().clone();
    if let Err(error) = try_restore(agent, &services, number, what, since) {
        services.events.send(SessionEvent::Reply(Reply::failed(error)));
    }
}

fn try_restore(
    agent: &mut Agent,
    services: &Services,
    number: u64,
    what: RestoreScope,
    since: ConflictPolicy,
) -> Result<(), CheckpointError> {
    let Some(store) = services.checkpoints.store() else { return Ok(()) };
    let checkpoint = store.read(number)?;
    let here = agent.conversation_mark();
    // The conversation is read first: if that fails, no file has been changed.
    let history = match (what.includes_conversation(), &checkpoint.conversation) {
        (false, _) => None,
        (true, None) => return Err(CheckpointError::NoConversation(number)),
        (true, Some(mark)) if here.as_ref().is_none_or(|here| here.transcript != mark.transcript) => {
            return Err(CheckpointError::OtherSession { number, session: checkpoint.session });
        }
        (true, Some(mark)) => Some(transcript::load_until(&mark.transcript, mark.at)?.history),
    };
    let done = services.with_restore_roots(|store, roots| store.restore(number, what, since, roots, here));
    let Some(restored) = done.transpose()? else { return Ok(()) };
    if let Some(history) = history {
        agent.rewind(history);
        let prompt = if checkpoint.kind == CheckpointKind::Turn { checkpoint.prompt.clone() } else { String::new() };
        services.events.send(SessionEvent::Rewound(prompt));
        services.events.send(SessionEvent::History(setup::last_messages(agent.history())));
    } else if !restored.files.is_empty() {
        let files = restored.files.join(", ");
        agent.push_user_text(format!(
            "I brought back these files as they were before an earlier turn of yours: {files}"
        ));
    }
    services.events.send(SessionEvent::Reply(Reply::Restored(Box::new(restored), what)));
    Ok(())
}
