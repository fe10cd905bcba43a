//! Text for checkpoints and sessions: ages, sizes and changes of files. Shared by the screen, the plain
//! mode and the commands.

use hookwright_agent::checkpoint::{FileRestoreAction, PlannedChange};
use jiff::Timestamp;

/// Formats an age as `just now`, `5 min`, `3 h` or `2 d`.
pub(crate) fn format_age(time: Timestamp) -> String {
    let seconds = Timestamp::now().as_second().saturating_sub(time.as_second()).max(0);
    match seconds {
        0..60 => "just now".to_owned(),
        60..3600 => format!("{} min", seconds / 60),
        3600..86400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86400),
    }
}

/// Formats a size as `12 B`, `3.4 kB` or `1.2 MB`.
pub(crate) fn format_size(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Formats a number of files, as in `no files` or `1 file`.
pub(crate) fn format_file_count(count: usize) -> String {
    match count {
        0 => "no files".to_owned(),
        1 => "1 file".to_owned(),
        several => format!("{several} files"),
    }
}

/// Describes a change in one line.
pub(crate) fn describe_change(change: &PlannedChange) -> String {
    let file = crate::output::escape_invisible(&change.display_path);
    let (added, removed) = change.line_counts;
    let lines = match &change.diff {
        Some(_) => format!(" +{added} -{removed}"),
        None => " (not text)".to_owned(),
    };
    match &change.action {
        FileRestoreAction::Rewrite => format!("{file}{lines}"),
        FileRestoreAction::Create => format!("{file} comes back{lines}"),
        FileRestoreAction::Delete => format!("{file} is new and is deleted{lines}"),
        FileRestoreAction::Link => format!("{file} is a link again"),
        FileRestoreAction::Mode => format!("{file} gets its former mode"),
        FileRestoreAction::Refused(why) => format!("{file} stays as it is: {}", crate::output::escape_invisible(why)),
    }
}
