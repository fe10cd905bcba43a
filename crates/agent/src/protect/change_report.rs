//! Reports guard files that the agent changed, and asks the user for trust if one is present.

use hookwright_hooks::{DISK_TIMEOUT_MESSAGE, run_with_disk_timeout};
use hookwright_settings::ApprovalMode;

use super::tamper_watch::{GuardChange, TRUST_HINT};
use crate::event::{AgentNotice, GuardTrustReply, SessionEvent};
use crate::question::{Answer, QuestionSubject};
use crate::scope::TurnScope;
use crate::services::{Interaction, Services};
use crate::session::{Reply, skips_approval};

/// The reason that is given while untrusted changes exist.
pub(crate) const UNTRUSTED_CHANGES_MESSAGE: &str = "an agent's changes to guards wait for your trust";

/// Reports the changes since the last report, and asks for trust if a user is present.
pub(crate) async fn report_changes(services: &Services, scope: &TurnScope) {
    report_problems(services);
    let changes = services.tamper_watch.take_unreported_changes();
    if changes.is_empty() {
        return;
    }
    let reply = match services.interaction {
        Interaction::Headless => GuardTrustReply::KeepUntrusted,
        Interaction::Interactive => ask_for_trust(services, changes.clone(), scope).await,
    };
    match reply {
        GuardTrustReply::Trust => {
            let guards = services.tamper_watch.clone();
            if run_with_disk_timeout(move || guards.trust(&changes)).await.is_none() {
                let text = format!("{DISK_TIMEOUT_MESSAGE}, so your trust is not recorded yet");
                services.events.send(AgentNotice::Warning(text));
            }
        }
        GuardTrustReply::KeepUntrusted => {
            warn_of_changes(services, &changes);
            // Headless, every other call would be refused from here on; instead
            // the affected hooks deny what they judge.
            if services.interaction == Interaction::Interactive && skips_approval(services.approvals.mode()) {
                reset_approval_mode(services, UNTRUSTED_CHANGES_MESSAGE);
            }
        }
    }
}

/// Resets the approval mode to the default, and reports why.
pub(crate) fn reset_approval_mode(services: &Services, why: &str) {
    let mode = services.approvals.mode();
    services.approvals.set_mode(ApprovalMode::Default);
    let text = format!("{why}, so the approval mode is default from now on, not {}", mode.as_str());
    services.events.send(SessionEvent::Reply(Reply::warning(text)));
    services.events.send(SessionEvent::ModeChanged(ApprovalMode::Default));
}

/// Reports changes at the end of the session, when the user can no longer be asked and
/// nothing of the agent runs. Ends the watch.
pub(crate) fn report_changes_at_end(services: &Services) {
    services.tamper_watch.rescan_blocking();
    warn_of_changes(services, &services.tamper_watch.take_unreported_changes());
    services.tamper_watch.end_session();
    report_problems(services);
}

fn report_problems(services: &Services) {
    for problem in services.tamper_watch.take_unreported_problems() {
        services.events.send(AgentNotice::Warning(problem));
    }
}

fn warn_of_changes(services: &Services, changes: &[GuardChange]) {
    for change in changes {
        let text = format!(
            "{change}; hooks that depend on it are not trusted and deny every call that they judge: {TRUST_HINT}"
        );
        services.events.send(AgentNotice::Warning(text));
    }
}

async fn ask_for_trust(services: &Services, changes: Vec<GuardChange>, scope: &TurnScope) -> GuardTrustReply {
    let _standing = scope.pause_deadline();
    let _turn_to_ask = tokio::select! {
        () = scope.cancel.cancelled() => return GuardTrustReply::KeepUntrusted,
        turn = services.question_lock.lock() => turn,
    };
    tokio::select! {
        () = scope.cancel.cancelled() => GuardTrustReply::KeepUntrusted,
        answer = services.events.ask(QuestionSubject::GuardTrust(changes)) => match answer {
            Answer::GuardTrust(reply) => reply,
            _ => GuardTrustReply::KeepUntrusted,
        },
    }
}
