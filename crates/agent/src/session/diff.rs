//! `/diff`: shows the differences from the last commit, and the changes of this session, which its checkpoints hold
//! without git.

use std::collections::HashSet;

use super::actor::SessionActor;
use super::command::DiffAction;
use super::dialog::{DialogContext, DialogOutcome};
use super::git;
use super::reply::Reply;
use crate::checkpoint::{SessionChanges, SessionFileChange};

/// The most bytes of a session's changes that are shown at once.
const MAX_DIFF_BYTES: usize = 256 << 10;

impl SessionActor {
    pub(super) fn handle_diff(&mut self, order: DiffAction) {
        self.start_dialog(move |dialog| async move {
            let changed = session_changes(&dialog).await;
            match order {
                DiffAction::All if git::is_in_repository(&dialog.loaded) => reply_all_changes(&dialog, changed).await,
                DiffAction::All | DiffAction::Session => dialog.reply(session_diff_reply(&dialog, &changed)),
            }
            None::<DialogOutcome>
        });
    }
}

/// Returns the changes that this session made, from its checkpoints.
async fn session_changes(dialog: &DialogContext) -> SessionChanges {
    let services = dialog.services.clone();
    // It reads files, so it runs on a blocking thread.
    let changes = tokio::task::spawn_blocking(move || services.changed_by_session());
    changes.await.unwrap_or_default()
}

/// Replies with git's diff, and with the session's changes that git does not show: new, ignored and committed files.
async fn reply_all_changes(dialog: &DialogContext, mut changed: SessionChanges) {
    match git::diff_against_head(&dialog.loaded).await {
        Ok(different) => {
            let known: HashSet<String> = different.files.into_iter().collect();
            changed.files.retain(|file| !known.contains(&file.display_path));
            let mut text = different.text;
            if !changed.files.is_empty() {
                let gap = if text.is_empty() || text.ends_with("\n\n") { "" } else { "\n" };
                text.push_str(&format!("{gap}also changed by this session:\n{}", format_differences(&changed.files)));
            }
            dialog.reply(match text.trim().is_empty() {
                true => Reply::aside("nothing is different from the last commit"),
                false => Reply::Diff(text),
            });
        }
        Err(why) => {
            dialog.reply(Reply::warning(why));
            if !changed.files.is_empty() {
                dialog.reply(session_diff_reply(dialog, &changed));
            }
        }
    }
}

fn session_diff_reply(dialog: &DialogContext, changed: &SessionChanges) -> Reply {
    if changed.files.is_empty() {
        let why = match dialog.services.checkpoints.records_files() {
            true => "",
            false => ", as far as is known: general.checkpointing.enabled is false",
        };
        return Reply::aside(format!("this session has changed no file{why}"));
    }
    let notes: String = changed.notes.iter().map(|note| format!("note: {note}\n")).collect();
    Reply::Diff(format!("changed by this session:\n{}{notes}", format_differences(&changed.files)))
}

/// Formats a summary of each file, and then the diffs that fit into [`MAX_DIFF_BYTES`].
fn format_differences(files: &[SessionFileChange]) -> String {
    let row = |file: &SessionFileChange| {
        let since = if file.changed_since { ", and changed since by others" } else { "" };
        format!("    {}  {}{since}\n", file.display_path, file.summary)
    };
    let mut text: String = files.iter().map(row).collect();
    let mut left = 0;
    for diff in files.iter().filter_map(|file| file.diff.as_deref()) {
        match text.len() + diff.len() <= MAX_DIFF_BYTES {
            true => text.push_str(&format!("\n{diff}")),
            false => left += 1,
        }
    }
    if left > 0 {
        text.push_str(&format!("\n… the diffs of {left} more are too long to show\n"));
    }
    text
}
