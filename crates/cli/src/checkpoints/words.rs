//! Checkpoints and sessions in words: ages, sizes, what is done to files. Shared by the screen, lines and the commands.

use hookwright_agent::checkpoint::{Change, Deed};
use jiff::Timestamp;

/// `just now`, `5 min`, `3 h`, `2 d`.
pub(crate) fn age(time: Timestamp) -> String {
    let seconds = Timestamp::now().as_second().saturating_sub(time.as_second()).max(0);
    match seconds {
        0..60 => "just now".to_owned(),
        60..3600 => format!("{} min", seconds / 60),
        3600..86400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86400),
    }
}

/// `12 B`, `3.4 kB`, `1.2 MB`.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// How many files, in words.
pub(crate) fn files(count: usize) -> String {
    match count {
        0 => "no files".to_owned(),
        1 => "1 file".to_owned(),
        several => format!("{several} files"),
    }
}

/// A change in one line.
pub(crate) fn change(change: &Change) -> String {
    let file = crate::out::spelled(&change.shown);
    let (added, removed) = change.lines;
    let lines = match &change.diff {
        Some(_) => format!(" +{added} -{removed}"),
        None => " (not text)".to_owned(),
    };
    match &change.deed {
        Deed::Rewrite => format!("{file}{lines}"),
        Deed::Create => format!("{file} comes back{lines}"),
        Deed::Delete => format!("{file} is new and is deleted{lines}"),
        Deed::Link => format!("{file} is a link again"),
        Deed::Mode => format!("{file} gets its former mode"),
        Deed::Refused(why) => format!("{file} stays as it is: {}", crate::out::spelled(why)),
    }
}
