//! Ages, durations, sizes and counts as people read them.

use std::time::Duration;

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

/// Formats the size of an image, such as `12 KB`.
pub(crate) fn format_image_size(size: u64) -> String {
    match size {
        0..1024 => format!("{size} bytes"),
        1024..1_048_576 => format!("{} KB", size.div_ceil(1024)),
        _ => format!("{:.1} MB", size as f64 / 1_048_576.0),
    }
}

/// Formats a duration, such as `0.3 s`, `12 s`, `3 min 5 s`.
pub(crate) fn format_elapsed(duration: Duration) -> String {
    match duration.as_secs() {
        0..10 => format!("{:.1} s", duration.as_secs_f64()),
        seconds @ 10..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// Formats a number of tokens, such as `12`, `3.4k`, `1.2M`.
pub(crate) fn format_tokens(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..1_000_000 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// Formats a number of lines, such as `2 lines`.
pub(crate) fn format_line_count(count: usize) -> String {
    format!("{count} line{}", if count == 1 { "" } else { "s" })
}

/// Formats a number of hidden lines, as in `1 more line` or `12 more lines`.
pub(crate) fn more_lines_text(count: usize) -> String {
    format!("{count} more line{}", if count == 1 { "" } else { "s" })
}
