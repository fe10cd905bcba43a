//! Sequences that draw nothing: the window's title, the bell, a message on the desktop. The one place that makes them, so
//! that no folder's or tool's name in them steers a terminal.

use hookwright_settings::{Notifications, World};

use super::safe::safe;
use super::shorten;

/// No title or message is longer.
const LONGEST: usize = 120;

/// Text within a sequence: one line that ends nothing and separates nothing.
fn within(text: &str) -> String {
    shorten(&safe(text).replace(['\n', '\t', ';'], " "), LONGEST)
}

/// Another title for the window.
pub(crate) fn title(text: &str) -> String {
    format!("\x1b]2;{}\x1b\\", within(text))
}

/// How the user is told that something waits for them; nothing where they do not want to be.
pub(crate) fn notice(how: Notifications, world: &World, text: &str) -> String {
    match how {
        Notifications::Off => String::new(),
        Notifications::Bell => "\x07".to_owned(),
        Notifications::Desktop => {
            let text = within(text);
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
        let titled = title(hostile);
        assert_eq!(titled.matches('\x1b').count(), 2, "{titled:?}");
        assert!(!titled.contains('\x07') && !titled.contains('\u{9c}'), "{titled:?}");
        let world = World::default();
        let told = notice(Notifications::Desktop, &world, hostile);
        assert!(told.starts_with("\x1b]9;") && told.matches('\x1b').count() == 2 && !told.contains('\x07'), "{told:?}");
        let rxvt = World { env: vec![("TERM".into(), "rxvt-unicode".into())], ..World::default() };
        assert_eq!(notice(Notifications::Desktop, &rxvt, hostile).matches(';').count(), 3);
        assert_eq!(notice(Notifications::Off, &world, "x"), "");
        assert_eq!(notice(Notifications::Bell, &world, "x"), "\x07");
        assert!(title(&"x".repeat(5000)).len() < 200);
    }
}
