//! `/diff`: what is different from the last commit, and what this session changed, which its checkpoints know without git.

use std::collections::HashSet;

use super::conduct::Conductor;
use super::git;
use super::order::DiffOrder;
use super::reply::Reply;
use super::talk::{Deed, Talk};
use crate::checkpoint::{Changed, Difference};

/// More of what a session changed is not shown at once.
const LARGEST: usize = 256 << 10;

impl Conductor {
    pub(super) fn diff(&mut self, order: DiffOrder) {
        self.talk(move |talk| async move {
            let changed = changed(&talk).await;
            match order {
                DiffOrder::All if git::is_there(&talk.loaded) => all(&talk, changed).await,
                DiffOrder::All | DiffOrder::Session => talk.say(session(&talk, &changed)),
            }
            None::<Deed>
        });
    }
}

/// What this session changed, by its checkpoints.
async fn changed(talk: &Talk) -> Changed {
    let services = talk.services.clone();
    // Files are read for it.
    let looked = tokio::task::spawn_blocking(move || services.changed_by_session());
    looked.await.unwrap_or_default()
}

/// What git says, and what the session changed that git does not show: new, ignored and committed files.
async fn all(talk: &Talk, mut changed: Changed) {
    match git::different(&talk.loaded).await {
        Ok(different) => {
            let known: HashSet<String> = different.files.into_iter().collect();
            changed.files.retain(|file| !known.contains(&file.shown));
            let mut text = different.text;
            if !changed.files.is_empty() {
                let gap = if text.is_empty() || text.ends_with("\n\n") { "" } else { "\n" };
                text.push_str(&format!("{gap}changed by this session besides:\n{}", told(&changed.files)));
            }
            talk.say(match text.trim().is_empty() {
                true => Reply::aside("nothing is different from the last commit"),
                false => Reply::Diff(text),
            });
        }
        Err(why) => {
            talk.say(Reply::warning(why));
            if !changed.files.is_empty() {
                talk.say(session(talk, &changed));
            }
        }
    }
}

fn session(talk: &Talk, changed: &Changed) -> Reply {
    if changed.files.is_empty() {
        let why = match talk.services.checkpoints.keeps_files() {
            true => "",
            false => ", as far as is known: general.checkpointing.enabled is false",
        };
        return Reply::aside(format!("this session has changed no file{why}"));
    }
    let notes: String = changed.notes.iter().map(|note| format!("note: {note}\n")).collect();
    Reply::Diff(format!("changed by this session:\n{}{notes}", told(&changed.files)))
}

/// Each file with what became of it, and then the lines, as far as there is room.
fn told(files: &[Difference]) -> String {
    let row = |file: &Difference| {
        let since = if file.changed_since { ", and changed since by others" } else { "" };
        format!("    {}  {}{since}\n", file.shown, file.what)
    };
    let mut text: String = files.iter().map(row).collect();
    let mut left = 0;
    for diff in files.iter().filter_map(|file| file.diff.as_deref()) {
        match text.len() + diff.len() <= LARGEST {
            true => text.push_str(&format!("\n{diff}")),
            false => left += 1,
        }
    }
    if left > 0 {
        text.push_str(&format!("\n… the lines of {left} more are too many to show\n"));
    }
    text
}
