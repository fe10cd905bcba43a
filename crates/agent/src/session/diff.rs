//! `/diff`: what is different from the last commit, and what this session changed, which its checkpoints know without git.

use std::collections::HashSet;

use super::actor::SessionActor;
use super::command::DiffAction;
use super::dialog::{DialogContext, DialogOutcome};
use super::git;
use super::reply::Reply;
use crate::checkpoint::{SessionChanges, SessionFileChange};

/// More of what a session changed is not shown at once.
const MAX_DIFF_BYTES: usize = 256 << 10;

impl SessionActor {
    pub(super) fn handle_diff(&mut self, order: DiffAction) {
        self.start_dialog(move |talk| async move {
            let changed = session_changes(&talk).await;
            match order {
                DiffAction::All if git::is_in_repository(&talk.loaded) => reply_all_changes(&talk, changed).await,
                DiffAction::All | DiffAction::Session => talk.reply(session_diff_reply(&talk, &changed)),
            }
            None::<DialogOutcome>
        });
    }
}

/// What this session changed, by its checkpoints.
async fn session_changes(talk: &DialogContext) -> SessionChanges {
    let services = talk.services.clone();
    // Files are read for it.
    let looked = tokio::task::spawn_blocking(move || services.changed_by_session());
    looked.await.unwrap_or_default()
}

/// What git says, and what the session changed that git does not show: new, ignored and committed files.
async fn reply_all_changes(talk: &DialogContext, mut changed: SessionChanges) {
    match git::diff_against_head(&talk.loaded).await {
        Ok(different) => {
            let known: HashSet<String> = different.files.into_iter().collect();
            changed.files.retain(|file| !known.contains(&file.display_path));
            let mut text = different.text;
            if !changed.files.is_empty() {
                let gap = if text.is_empty() || text.ends_with("\n\n") { "" } else { "\n" };
                text.push_str(&format!(
                    "{gap}changed by this session besides:\n{}",
                    format_differences(&changed.files)
                ));
            }
            talk.reply(match text.trim().is_empty() {
                true => Reply::aside("nothing is different from the last commit"),
                false => Reply::Diff(text),
            });
        }
        Err(why) => {
            talk.reply(Reply::warning(why));
            if !changed.files.is_empty() {
                talk.reply(session_diff_reply(talk, &changed));
            }
        }
    }
}

fn session_diff_reply(talk: &DialogContext, changed: &SessionChanges) -> Reply {
    if changed.files.is_empty() {
        let why = match talk.services.checkpoints.records_files() {
            true => "",
            false => ", as far as is known: general.checkpointing.enabled is false",
        };
        return Reply::aside(format!("this session has changed no file{why}"));
    }
    let notes: String = changed.notes.iter().map(|note| format!("note: {note}\n")).collect();
    Reply::Diff(format!("changed by this session:\n{}{notes}", format_differences(&changed.files)))
}

/// Each file with what became of it, and then the lines, as far as there is room.
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
        text.push_str(&format!("\n… the lines of {left} more are too many to show\n"));
    }
    text
}
