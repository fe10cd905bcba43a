//! Selects the theme: by the settings, the environment, or the terminal's background.
//!
//! The terminal is asked for its background without waiting for the reply.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hookwright_settings::ProcessEnv;

use crate::presentation::theme::Theme;

/// The theme that the settings ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThemeSetting {
    Fixed(Theme),
    /// The theme follows the terminal's background.
    Auto,
}

impl ThemeSetting {
    /// Returns the setting for a name.
    ///
    /// Names of Gemini CLI's light themes select the light theme; its other themes keep the terminal's own colours.
    pub(crate) fn from_name(name: Option<&str>) -> ThemeSetting {
        let name = name.unwrap_or_default().to_lowercase();
        match name.as_str() {
            "auto" => ThemeSetting::Auto,
            "dark" => ThemeSetting::Fixed(Theme::Dark),
            "high-contrast" | "high contrast" => ThemeSetting::Fixed(Theme::HighContrast),
            "xcode" | "google code" => ThemeSetting::Fixed(Theme::Light),
            _ if name.split([' ', '-', '_']).any(|word| word == "light") => ThemeSetting::Fixed(Theme::Light),
            _ => ThemeSetting::Fixed(Theme::Terminal),
        }
    }
}

/// The query for the terminal's background colour.
pub(crate) const BACKGROUND_QUERY: &str = "\x1b]11;?\x1b\\";

/// How long a reply with a colour is taken for the answer to [`BACKGROUND_QUERY`].
const BACKGROUND_REPLY_TIMEOUT: Duration = Duration::from_secs(3);
/// The longest gap between two characters of a reply; people type more slowly.
const MAX_REPLY_GAP: Duration = Duration::from_millis(100);
const MAX_REPLY_CHARS: usize = 4096;

/// Recognises a terminal's replies to queries, which arrive as if they were typed.
///
/// These are control strings, such as `OSC 11`, the terminal's version, or a reported setting. Any program that writes
/// to the terminal can ask for one.
#[derive(Debug, Default)]
pub(crate) struct ReplyFilter {
    asked_at: Option<Instant>,
    reply: Option<PartialReply>,
}

#[derive(Debug)]
struct PartialReply {
    text: String,
    last: Instant,
}

/// The origin of a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FilteredKey {
    /// The user typed it.
    Typed,
    /// It is part of a reply.
    Reply,
    /// It ends the reply with the background colour; the theme is none if the reply was malformed.
    Background(Option<Theme>),
}

impl ReplyFilter {
    /// Records that the terminal has been asked for its background.
    pub(crate) fn mark_asked(&mut self, now: Instant) {
        self.asked_at = Some(now);
    }

    pub(crate) fn filter(&mut self, key: KeyEvent, now: Instant) -> FilteredKey {
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let goes_on = |reply: &PartialReply| {
            now.saturating_duration_since(reply.last) < MAX_REPLY_GAP && reply.text.len() < MAX_REPLY_CHARS
        };
        let Some(mut reply) = self.reply.take().filter(goes_on) else {
            // OSC, DCS, APC, PM and SOS begin with an escape and one of these characters.
            if alt && !control && matches!(key.code, KeyCode::Char(']' | 'P' | '_' | '^' | 'X')) {
                self.reply = Some(PartialReply { text: String::new(), last: now });
                return FilteredKey::Reply;
            }
            return FilteredKey::Typed;
        };
        match key.code {
            KeyCode::Char('g') if control => self.finish_reply(&reply.text, now),
            KeyCode::Char('\\') if alt => self.finish_reply(&reply.text, now),
            KeyCode::Char(letter) if !control && !alt => {
                reply.text.push(letter);
                reply.last = now;
                self.reply = Some(reply);
                FilteredKey::Reply
            }
            _ => FilteredKey::Typed,
        }
    }

    fn finish_reply(&mut self, reply: &str, now: Instant) -> FilteredKey {
        let in_time =
            self.asked_at.is_some_and(|asked| now.saturating_duration_since(asked) < BACKGROUND_REPLY_TIMEOUT);
        if in_time && reply.starts_with("11;") {
            self.asked_at = None;
            return FilteredKey::Background(theme_for(reply));
        }
        FilteredKey::Reply
    }
}

/// Returns the theme for a reply such as `11;rgb:1e1e/1e1e/2e2e`.
fn theme_for(answer: &str) -> Option<Theme> {
    let colours = answer.strip_prefix("11;")?.split_once(':')?.1;
    let mut parts = colours.split('/').map(|part| {
        let most = 16_u32.checked_pow(u32::try_from(part.len()).ok()?).filter(|most| *most > 1)? - 1;
        Some(f64::from(u32::from_str_radix(part, 16).ok()?) / f64::from(most))
    });
    let (red, green, blue) = (parts.next()??, parts.next()??, parts.next()??);
    Some(theme_for_brightness(0.2126 * red + 0.7152 * green + 0.0722 * blue))
}

fn theme_for_brightness(light: f64) -> Theme {
    if light < 0.5 { Theme::Dark } else { Theme::Light }
}

/// Returns the theme for the background in `COLORFGBG=15;0`, until the terminal has replied.
pub(crate) fn from_environment(world: &ProcessEnv) -> Theme {
    let last = world.var("COLORFGBG").and_then(|value| value.rsplit(';').next()?.parse::<u8>().ok());
    match last {
        Some(0..=6 | 8) => Theme::Dark,
        Some(7 | 9..=15) => Theme::Light,
        _ => Theme::Terminal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered(filter: &mut ReplyFilter, text: &str, now: Instant) -> Vec<FilteredKey> {
        let mut keys = Vec::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            let key = match letter {
                '\u{1b}' => KeyEvent::new(KeyCode::Char(letters.next().unwrap()), KeyModifiers::ALT),
                '\u{7}' => KeyEvent::new(KeyCode::Char('g'), KeyModifiers::CONTROL),
                letter => KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE),
            };
            keys.push(filter.filter(key, now));
        }
        keys
    }

    #[test]
    fn the_terminals_reply_is_not_typed_and_selects_the_theme() {
        let now = Instant::now();
        for (text, theme) in [
            ("\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\", Some(Theme::Dark)),
            ("\x1b]11;rgb:ffff/ffff/ffff\x07", Some(Theme::Light)),
            ("\x1b]11;rgb:f/f/d\x07", Some(Theme::Light)),
            ("\x1b]11;rgba:0000/0000/0000/ffff\x07", Some(Theme::Dark)),
            ("\x1b]11;rgb:zz/1\x07", None),
            ("\x1b]11;rgb:\x07", None),
        ] {
            let mut filter = ReplyFilter::default();
            filter.mark_asked(now);
            let keys = filtered(&mut filter, text, now);
            assert!(keys[..keys.len() - 1].iter().all(|one| *one == FilteredKey::Reply), "{text:?}");
            assert_eq!(keys.last(), Some(&FilteredKey::Background(theme)), "{text:?}");
            assert_eq!(filtered(&mut filter, "x", now), [FilteredKey::Typed]);
        }
    }

    #[test]
    fn replies_that_were_not_asked_for_are_dropped() {
        let now = Instant::now();
        for text in
            ["\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\", "\x1bP>|xterm(390)\x1b\\", "\x1bP1$r0m\x1b\\", "\x1b_Gi=1;OK\x1b\\"]
        {
            let mut filter = ReplyFilter::default();
            assert!(filtered(&mut filter, text, now).iter().all(|one| *one == FilteredKey::Reply), "{text:?}");
            assert_eq!(filtered(&mut filter, "y", now), [FilteredKey::Typed]);
        }
    }

    #[test]
    fn slow_typing_is_not_taken_for_a_reply() {
        let now = Instant::now();
        let mut filter = ReplyFilter::default();
        assert_eq!(filtered(&mut filter, "\x1b]", now), [FilteredKey::Reply]);
        assert_eq!(filtered(&mut filter, "1", now + MAX_REPLY_GAP), [FilteredKey::Typed]);
        let endless = format!("\x1b]{}", "1".repeat(MAX_REPLY_CHARS + 100));
        assert!(filtered(&mut filter, &endless, now).contains(&FilteredKey::Typed), "a reply has an end");
    }

    #[test]
    fn themes_by_name() {
        for (name, wanted) in [
            (None, ThemeSetting::Fixed(Theme::Terminal)),
            (Some("auto"), ThemeSetting::Auto),
            (Some("Default Light"), ThemeSetting::Fixed(Theme::Light)),
            (Some("GitHub"), ThemeSetting::Fixed(Theme::Terminal)),
            (Some("high-contrast"), ThemeSetting::Fixed(Theme::HighContrast)),
            (Some("delightful"), ThemeSetting::Fixed(Theme::Terminal)),
        ] {
            assert_eq!(ThemeSetting::from_name(name), wanted, "{name:?}");
        }
    }
}
