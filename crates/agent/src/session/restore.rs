//! `/restore`: lists checkpoints, shows what bringing one back would do, and does it.

use super::conduct::Conductor;
use super::job::Job;
use super::open;
use super::order::RestoreOrder;
use super::reply::Reply;
use crate::agent::Agent;
use crate::checkpoint::{Changed, CheckpointError, Kind, Plan, Restored, Roots, Since, Store, What};
use crate::event::AgentEvent;
use crate::services::Services;
use crate::transcript;

impl Conductor {
    pub(super) fn restore(&mut self, order: RestoreOrder) {
        let services = self.services();
        let Some(store) = services.checkpoints.store() else { return };
        let result = match order {
            RestoreOrder::List => {
                let all = store.list();
                if all.is_empty() {
                    return self.reply(Reply::aside(nothing_kept(&services)));
                }
                Ok(Reply::Checkpoints(all))
            }
            RestoreOrder::Show(which) => {
                store.find(&which).and_then(|one| services.plan(one.number)).map(|plan| Reply::Plan(Box::new(plan)))
            }
            RestoreOrder::Restore { .. } if !self.is_free() => return,
            RestoreOrder::Restore { which, what, since } => match store.find(&which) {
                Ok(one) => return self.begin(Job::Restore { number: one.number, what, since }),
                Err(error) => Err(error),
            },
        };
        match result {
            Ok(reply) => self.reply(reply),
            Err(error) => complain(&services, &error),
        }
    }
}

impl Services {
    /// What bringing back a checkpoint would do.
    ///
    /// # Errors
    /// If there is none of that number.
    pub fn plan(&self, number: u64) -> Result<Plan, CheckpointError> {
        let none = || CheckpointError::None(number.to_string());
        self.with_roots(|store, roots| store.plan(number, roots)).unwrap_or_else(|| Err(none()))
    }

    /// What this session has changed, as far as its checkpoints go back.
    pub(super) fn changed_by_session(&self) -> Changed {
        let session = &self.hooks.session().id;
        self.with_roots(|store, roots| store.changed_by(session, roots.folders)).unwrap_or_default()
    }

    /// Does something with the checkpoints, with the places that files may be brought back to.
    fn with_roots<T>(&self, act: impl FnOnce(&Store, &Roots<'_>) -> T) -> Option<T> {
        let protected = self.approvals.protected();
        let workspace = self.context().workspace;
        let folders = workspace.roots();
        let roots = Roots { folders: &folders, protected: &protected };
        Some(act(self.checkpoints.store()?, &roots))
    }
}

fn nothing_kept(services: &Services) -> &'static str {
    match services.checkpoints.keeps_files() {
        true => "there is nothing to go back to yet",
        false => "there is nothing to go back to yet; general.checkpointing.enabled is false, so files are not kept",
    }
}

fn complain(services: &Services, error: &CheckpointError) {
    let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
    services.events.send(AgentEvent::Reply(Reply::error(format!("{error}{hint}"))));
}

/// Brings back files, the conversation or both.
pub(super) fn run(agent: &mut Agent, number: u64, what: What, since: Since) {
    let services = agent.services().clone();
    if let Err(error) = bring_back(agent, &services, number, what, since) {
        complain(&services, &error);
    }
}

fn bring_back(
    agent: &mut Agent,
    services: &Services,
    number: u64,
    what: What,
    since: Since,
) -> Result<(), CheckpointError> {
    let Some(store) = services.checkpoints.store() else { return Ok(()) };
    let checkpoint = store.read(number)?;
    let here = agent.standing();
    // Read first: a conversation that can't be read leaves the files alone, too.
    let history = match (what.conversation(), &checkpoint.conversation) {
        (false, _) => None,
        (true, None) => return Err(CheckpointError::NoConversation(number)),
        (true, Some(mark)) if here.as_ref().is_none_or(|here| here.transcript != mark.transcript) => {
            return Err(CheckpointError::OtherSession { number, session: checkpoint.session });
        }
        (true, Some(mark)) => Some(transcript::load_until(&mark.transcript, mark.at)?.history),
    };
    let done = services.with_roots(|store, roots| store.restore(number, what, since, roots, here));
    let Some(restored) = done.transpose()? else { return Ok(()) };
    if let Some(history) = history {
        agent.rewind(history);
        let prompt = if checkpoint.kind == Kind::Turn { checkpoint.prompt.clone() } else { String::new() };
        services.events.send(AgentEvent::Rewound(prompt));
        services.events.send(AgentEvent::History(open::last_messages(agent.history())));
    } else if !restored.files.is_empty() {
        let files = restored.files.join(", ");
        agent.tell(format!("I brought back these files as they were before an earlier turn of yours: {files}"));
    }
    tell(services, &restored, what);
    Ok(())
}

/// What came of it.
fn tell(services: &Services, restored: &Restored, what: What) {
    let say = |reply| services.events.send(AgentEvent::Reply(reply));
    if what.files() {
        match restored.files.as_slice() {
            [] => say(Reply::plain("no file had to be brought back")),
            files => say(Reply::plain(format!("brought back {}", files.join(", ")))),
        }
    }
    for (file, why) in &restored.left {
        say(Reply::warning(format!("{file} is left as it is: {why}")));
    }
    if restored.left.iter().any(|(_, why)| why == "it was changed since") {
        say(Reply::aside("--overwrite brings back those too that were changed since"));
    }
    say(Reply::aside(format!("/restore {} undoes this", restored.undo)));
}
