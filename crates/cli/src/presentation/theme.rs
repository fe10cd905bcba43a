//! Themes for light and dark backgrounds, and for high contrast.
//!
//! Everything is drawn in the sixteen colours of `styled_text.rs`, which a theme maps to others.

use anstyle::{Ansi256Color, AnsiColor, Color, Effects, Style};

/// A mapping of the sixteen colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Theme {
    /// The terminal's own colours.
    #[default]
    Terminal,
    Dark,
    Light,
    HighContrast,
}

impl Theme {
    /// Returns a style as the theme draws it.
    pub(crate) fn style(self, style: Style) -> Style {
        let colour = match style.get_fg_color() {
            Some(Color::Ansi(colour)) => Some(colour),
            _ => None,
        };
        let dim = style.get_effects().contains(Effects::DIMMED);
        let bright = |effects: Effects| Style::new().effects(effects.remove(Effects::DIMMED));
        match self {
            Theme::Terminal => style,
            Theme::HighContrast => {
                let effects = match colour {
                    Some(AnsiColor::Red) => Effects::BOLD | Effects::INVERT,
                    Some(AnsiColor::Yellow) => Effects::BOLD | Effects::UNDERLINE,
                    Some(AnsiColor::Magenta) => Effects::UNDERLINE,
                    Some(_) => Effects::BOLD,
                    None => Effects::new(),
                };
                bright(style.get_effects() | effects)
            }
            Theme::Dark | Theme::Light => {
                let shade = match colour {
                    Some(colour) => self.shade_of(colour),
                    None if dim => Some(if self == Theme::Dark { 246 } else { 241 }),
                    None => None,
                };
                let shade = shade.map(|shade| Color::Ansi256(Ansi256Color(shade)));
                bright(style.get_effects()).fg_color(shade).bg_color(style.get_bg_color())
            }
        }
    }

    /// Returns one of 256 colours for one of sixteen, with enough contrast to the background.
    fn shade_of(self, colour: AnsiColor) -> Option<u8> {
        let (dark, light) = match colour {
            AnsiColor::Red | AnsiColor::BrightRed => (203, 160),
            AnsiColor::Green | AnsiColor::BrightGreen => (114, 28),
            AnsiColor::Yellow | AnsiColor::BrightYellow => (221, 94),
            AnsiColor::Blue | AnsiColor::BrightBlue => (75, 25),
            AnsiColor::Magenta | AnsiColor::BrightMagenta => (176, 90),
            AnsiColor::Cyan | AnsiColor::BrightCyan => (80, 30),
            AnsiColor::Black | AnsiColor::White | AnsiColor::BrightBlack | AnsiColor::BrightWhite => return None,
        };
        Some(if self == Theme::Dark { dark } else { light })
    }
}

#[cfg(test)]
mod tests {
    use super::super::styled_text::{BAD, DIM, NOTE, PLAIN, WARN};
    use super::*;

    #[test]
    fn every_theme_keeps_styles_distinct() {
        for theme in [Theme::Terminal, Theme::Dark, Theme::Light, Theme::HighContrast] {
            let drawn = [BAD, WARN, PLAIN].map(|style| theme.style(style).to_string());
            assert!(drawn[0] != drawn[1] && drawn[1] != drawn[2] && drawn[0] != drawn[2], "{theme:?}");
        }
        for style in [BAD, WARN, NOTE, DIM] {
            let drawn = Theme::HighContrast.style(style);
            assert!(drawn.get_fg_color().is_none() && !drawn.get_effects().contains(Effects::DIMMED));
        }
    }
}
