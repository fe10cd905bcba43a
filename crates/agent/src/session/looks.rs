//! `/theme` and `/vim`: how the screen looks and which keys it has. Settings of the user's own; the screen follows them.

use serde_json::Value;

use super::conduct::Conductor;
use super::reply::Reply;
use super::talk::{Deed, Talk, deed};
use crate::inquiry::{Choosable, Inquiry};

/// The themes, and what they are for.
pub const THEMES: [(&str, &str); 5] = [
    ("auto", "dark or light, as the terminal's background is"),
    ("dark", "for dark backgrounds"),
    ("light", "for light backgrounds"),
    ("high-contrast", "no colours but bold, underlined and reversed text, on any background"),
    ("terminal", "the terminal's own sixteen colours"),
];

impl Conductor {
    pub(super) fn theme(&mut self, name: Option<String>) {
        let Some(name) = name else { return self.talk(ask_for_theme) };
        match THEMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name)) {
            Some((known, _)) => self.set_theme(known),
            None => {
                let names = THEMES.map(|(name, _)| name).join(", ");
                self.reply(Reply::error(format!("there is no theme `{name}`; there are {names}")));
            }
        }
    }

    fn set_theme(&mut self, name: &str) {
        self.keep_setting(&["ui", "theme"], Value::from(name));
        self.reload(&[]);
        match self.shared.view().loaded.settings.ui.theme.as_deref() {
            Some(now) if now == name => self.reply(Reply::plain(format!("the theme is {name}"))),
            other => {
                let now = other.unwrap_or("terminal");
                self.reply(Reply::warning(format!("the theme stays {now}: other settings go over yours")));
            }
        }
    }

    /// The other set of keys.
    pub(super) fn vim(&mut self) {
        let wanted = !self.shared.view().loaded.settings.general.vim_mode;
        self.keep_setting(&["general", "vimMode"], Value::from(wanted));
        self.reload(&[]);
        if self.shared.view().loaded.settings.general.vim_mode != wanted {
            return self.reply(Reply::warning("the keys stay as they are: other settings go over yours"));
        }
        self.reply(Reply::plain(match wanted {
            true => "vi's keys are on; Esc is for moving, i for writing, /vim switches back",
            false => "vi's keys are off",
        }));
    }
}

async fn ask_for_theme(talk: Talk) -> Option<Deed> {
    let now = talk.loaded.settings.ui.theme.clone().unwrap_or_else(|| "terminal".to_owned());
    let choices = THEMES.iter().map(|(name, about)| Choosable::new(*name, *about)).collect();
    let selected = THEMES.iter().position(|(name, _)| *name == now).unwrap_or(0);
    let asked = Inquiry::one_of("Which theme?", choices).about([format!("Now it is {now}.")]).selected(selected);
    let at = asked.choose(&talk.services).await?;
    let (name, _) = THEMES.get(at)?;
    deed(move |session| session.set_theme(name))
}
