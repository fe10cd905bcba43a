//! The bridge in a live trial of the user's own guards (`agents doctor --live`): a real agent makes calls that the guards
//! should refuse. The bridge records what it decided and refuses every tool call, so that nothing can run, whatever the
//! guards say. Only tool calls are evaluated; hooks on other events do not run.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use hookwright_bridge::{HostEvent, HostVerdict, Ruling};
use hookwright_hooks::EventKind;
use hookwright_journal::BridgeRefusal;
use serde::Deserialize;

use super::record::{self, BridgeRecord};
use super::{BridgeReply, BridgeRequest, refusal};

/// The most of a trial's file that is read.
const MAX_PLAN_BYTES: u64 = 1 << 20;

/// The files of a trial.
#[derive(Debug, Deserialize)]
pub(crate) struct TrialMode {
    /// The file that the decisions are appended to.
    record: PathBuf,
    /// The directory that the agent works in.
    from: String,
    /// The project that stands in its place.
    to: String,
}

impl TrialMode {
    pub(super) fn read(file: &Path) -> anyhow::Result<TrialMode> {
        let text =
            hookwright_disk::read_text(file, MAX_PLAN_BYTES).context("the file of the live trial can't be read")?;
        serde_json::from_str(&text).context("the file of the live trial can't be read")
    }

    /// Replaces the agent's directory in a payload by the project.
    pub(super) fn translate_paths(&self, bytes: &[u8]) -> Vec<u8> {
        String::from_utf8_lossy(bytes).replace(&self.from, &self.to).into_bytes()
    }

    /// Records the decision about a tool call, and returns a refusal whatever it was.
    pub(super) fn record_and_refuse(&self, call: &BridgeRequest<'_>, reply: BridgeReply) -> BridgeReply {
        if !reply.record.is_about(EventKind::BeforeTool) && reply.record.ruling == Ruling::Pass {
            return reply;
        }
        let is_refused = reply.record.ruling >= Ruling::Deny;
        let response = reply.response.clone();
        let line = record::trial_line(call, reply);
        let opened = std::fs::OpenOptions::new().create(true).append(true).open(&self.record);
        // Calls at the same time append to the file too, so that the line is one write. A decision that is not recorded
        // counts as none.
        let _ = opened.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        if is_refused {
            return BridgeReply { response, record: BridgeRecord::new(Ruling::Deny, String::new()) };
        }
        let row = call.progress.row.get().copied().or_else(|| call.entry_event_row());
        let words = "this is a trial: no guard refused the call, so it is refused here".to_owned();
        refusal(call, row, (BridgeRefusal::Other, words))
    }
}

/// Whether an event is evaluated in a trial.
pub(super) fn is_tried(host_event: &HostEvent) -> bool {
    host_event.kind() == Some(EventKind::BeforeTool) || host_event.tool.is_some() && host_event.kind().is_none()
}

/// Lets an event pass that is not evaluated in a trial.
pub(super) fn pass_untried(call: &BridgeRequest<'_>, host_event: &HostEvent) -> BridgeReply {
    let response = call.host.dialect().write_response(host_event, &HostVerdict::default());
    BridgeReply { response, record: BridgeRecord::new(Ruling::Pass, String::new()) }
}
