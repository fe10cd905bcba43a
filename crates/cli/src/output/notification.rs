//! Escape sequences that draw nothing: the window title, the bell, and desktop notifications.
//!
//! The text in them is sanitized, so that the name of a folder or a tool cannot control the terminal.

use hookwright_settings::{NotificationMode, ProcessEnv};

use super::sanitize::sanitize;
use super::truncate_columns;

/// The longest title or notification text.
const MAX_NOTIFICATION_COLUMNS: usize = 120;

/// Returns text for use within a sequence: one line, without terminators and separators.
fn sequence_text(text: &str) -> String {
    truncate_columns(&sanitize(text).replace(['\n', '\t', ';'], " "), MAX_NOTIFICATION_COLUMNS)
}

/// Returns the sequence that sets the window title.
pub(crate) fn title_sequence(text: &str) -> String {
    format!("\x1b]2;{}\x1b\\", sequence_text(text))
}

/// Returns the sequence that notifies the user, which is empty if notifications are off.
pub(crate) fn notification_sequence(how: NotificationMode, world: &ProcessEnv, text: &str) -> String {
    match how {
        NotificationMode::Off => String::new(),
        NotificationMode::Bell => "\x07".to_owned(),
        NotificationMode::Desktop => {
            let text = sequence_text(text);
            let term = world.var("TERM").unwrap_or_default();
            // There are two sequences for this; a terminal that supports both would show the text twice.
            match ["rxvt", "foot"].iter().any(|known| term.starts_with(known)) {
                true => format!("\x1b]777;notify;Hookwright;{text}\x1b\\"),
                false => format!("\x1b]9;Hookwright: {text}\x1b\\"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_neither_ends_a_sequence_nor_begins_another() {
        let hostile = "a\x1b\\\x1b]52;c;eA==\x07b\n\u{9c}c;d";
        let titled = title_sequence(hostile);
        assert_eq!(titled.matches('\x1b').count(), 2, "{titled:?}");
        assert!(!titled.contains('\x07') && !titled.contains('\u{9c}'), "{titled:?}");
        let world = ProcessEnv::default();
        let notification = notification_sequence(NotificationMode::Desktop, &world, hostile);
        assert!(
            notification.starts_with("\x1b]9;")
                && notification.matches('\x1b').count() == 2
                && !notification.contains('\x07'),
            "{notification:?}"
        );
        let rxvt = ProcessEnv { env: vec![("TERM".into(), "rxvt-unicode".into())], ..ProcessEnv::default() };
        assert_eq!(notification_sequence(NotificationMode::Desktop, &rxvt, hostile).matches(';').count(), 3);
        assert_eq!(notification_sequence(NotificationMode::Off, &world, "x"), "");
        assert_eq!(notification_sequence(NotificationMode::Bell, &world, "x"), "\x07");
        assert!(title_sequence(&"x".repeat(5000)).len() < 200);
    }
}
