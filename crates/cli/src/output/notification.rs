//! Sequences that draw nothing: the window's title, the bell, a message on the desktop. The one place that makes them, so
//! that no folder's or tool's name in them steers a terminal.

use hookwright_settings::{NotificationMode, ProcessEnv};

use super::sanitize::sanitize;
use super::truncate_columns;

/// No title or message is longer.
const MAX_NOTIFICATION_COLUMNS: usize = 120;

/// Text within a sequence: one line that ends nothing and separates nothing.
fn sequence_text(text: &str) -> String {
    truncate_columns(&sanitize(text).replace(['\n', '\t', ';'], " "), MAX_NOTIFICATION_COLUMNS)
}

/// Another title for the window.
pub(crate) fn title_sequence(text: &str) -> String {
    format!("\x1b]2;{}\x1b\\", sequence_text(text))
}

/// How the user is told that something waits for them; nothing where they do not want to be.
pub(crate) fn notification_sequence(how: NotificationMode, world: &ProcessEnv, text: &str) -> String {
    match how {
        NotificationMode::Off => String::new(),
        NotificationMode::Bell => "\x07".to_owned(),
        NotificationMode::Desktop => {
            let text = sequence_text(text);
            let term = world.var("TERM").unwrap_or_default();
            // Two ways are in use; terminals that know both would show it twice.
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
    fn no_name_ends_a_sequence_or_begins_another() {
        let hostile = "a\x1b\\\x1b]52;c;eA==\x07b\n\u{9c}c;d";
        let titled = title_sequence(hostile);
        assert_eq!(titled.matches('\x1b').count(), 2, "{titled:?}");
        assert!(!titled.contains('\x07') && !titled.contains('\u{9c}'), "{titled:?}");
        let world = ProcessEnv::default();
        let told = notification_sequence(NotificationMode::Desktop, &world, hostile);
        assert!(told.starts_with("\x1b]9;") && told.matches('\x1b').count() == 2 && !told.contains('\x07'), "{told:?}");
        let rxvt = ProcessEnv { env: vec![("TERM".into(), "rxvt-unicode".into())], ..ProcessEnv::default() };
        assert_eq!(notification_sequence(NotificationMode::Desktop, &rxvt, hostile).matches(';').count(), 3);
        assert_eq!(notification_sequence(NotificationMode::Off, &world, "x"), "");
        assert_eq!(notification_sequence(NotificationMode::Bell, &world, "x"), "\x07");
        assert!(title_sequence(&"x".repeat(5000)).len() < 200);
    }
}
