//! What the agent changed of the guards is told, and where somebody is there, asked about at once.

use hookwright_hooks::{DISK_SILENT, within_disk_timeout};
use hookwright_settings::ApprovalMode;
use tokio::sync::oneshot;

use super::guards::{GuardChange, WAY_ON};
use crate::event::{AgentEvent, GuardReply};
use crate::scope::Scope;
use crate::services::{Interaction, Services};
use crate::session::{Reply, is_lax};

/// What stands in the way of trust in the guards.
pub(crate) const CHANGES_WAIT: &str = "what an agent changed of the guards waits for your trust";

/// Tells of what the agent has changed since the last time.
pub(crate) async fn settle(services: &Services, scope: &Scope) {
    tell_troubles(services);
    let changes = services.guards.take_news();
    if changes.is_empty() {
        return;
    }
    let reply = match services.interaction {
        Interaction::Headless => GuardReply::Leave,
        Interaction::Interactive => ask(services, changes.clone(), scope).await,
    };
    match reply {
        GuardReply::Trust => {
            let guards = services.guards.clone();
            if within_disk_timeout(move || guards.trust(&changes)).await.is_none() {
                let text = format!("{DISK_SILENT}, so what you trust is not on record yet");
                services.events.send(AgentEvent::Warning(text));
            }
        }
        GuardReply::Leave => {
            tell(services, &changes);
            // Without a user to ask, every other call would be refused from here on; what the hooks judge is denied.
            if services.interaction == Interaction::Interactive && is_lax(services.approvals.mode()) {
                leave_mode(services, CHANGES_WAIT);
            }
        }
    }
}

/// Goes back to the default approval mode, and says why.
pub(crate) fn leave_mode(services: &Services, why: &str) {
    let mode = services.approvals.mode();
    services.approvals.set_mode(ApprovalMode::Default);
    let text = format!("{why}, so the approval mode is default from now on, not {}", mode.as_str());
    services.events.send(AgentEvent::Reply(Reply::warning(text)));
    services.events.send(AgentEvent::ModeChanged(ApprovalMode::Default));
}

/// The same where nobody can be asked any more, and nothing runs that the agent left. Ends the watch.
pub(crate) fn settle_at_the_end(services: &Services) {
    services.guards.look();
    tell(services, &services.guards.take_news());
    services.guards.close();
    tell_troubles(services);
}

fn tell_troubles(services: &Services) {
    for trouble in services.guards.take_troubles() {
        services.events.send(AgentEvent::Warning(trouble));
    }
}

fn tell(services: &Services, changes: &[GuardChange]) {
    for change in changes {
        let text = format!("{change}; hooks that depend on it are not trusted, and deny what they can: {WAY_ON}");
        services.events.send(AgentEvent::Warning(text));
    }
}

async fn ask(services: &Services, changes: Vec<GuardChange>, scope: &Scope) -> GuardReply {
    let _standing = scope.stand();
    let _turn_to_ask = tokio::select! {
        () = scope.cancel.cancelled() => return GuardReply::Leave,
        turn = services.asking.lock() => turn,
    };
    let (sender, receiver) = oneshot::channel();
    services.events.send(AgentEvent::GuardsChanged(changes, sender));
    tokio::select! {
        () = scope.cancel.cancelled() => GuardReply::Leave,
        reply = receiver => reply.unwrap_or(GuardReply::Leave),
    }
}
