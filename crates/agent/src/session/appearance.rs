//! `/theme` and `/vim`: change the user's settings for colours and key bindings, which the screen follows.

use serde_json::Value;

use super::actor::SessionActor;
use super::dialog::{DialogContext, DialogOutcome, dialog_outcome};
use super::reply::Reply;
use crate::question::{QuestionChoice, UserQuestion};

/// The names of the themes with their descriptions.
pub const THEMES: [(&str, &str); 5] = [
    ("auto", "dark or light, as the terminal's background is"),
    ("dark", "for dark backgrounds"),
    ("light", "for light backgrounds"),
    ("high-contrast", "no colours but bold, underlined and reversed text, on any background"),
    ("terminal", "the terminal's own sixteen colours"),
];

impl SessionActor {
    pub(super) fn handle_theme(&mut self, name: Option<String>) {
        let Some(name) = name else { return self.start_dialog(run_theme_dialog) };
        match THEMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name)) {
            Some((known, _)) => self.set_theme(known),
            None => {
                let names = THEMES.map(|(name, _)| name).join(", ");
                self.reply(Reply::error(format!("there is no theme `{name}`; there are {names}")));
            }
        }
    }

    fn set_theme(&mut self, name: &str) {
        self.save_user_setting(&["ui", "theme"], Value::from(name));
        self.reload_configuration(&[]);
        match self.shared.view().loaded.settings.ui.theme.as_deref() {
            Some(now) if now == name => self.reply(Reply::plain(format!("the theme is {name}"))),
            other => {
                let now = other.unwrap_or("terminal");
                self.reply(Reply::warning(format!("the theme stays {now}: other settings override yours")));
            }
        }
    }

    /// Switches between vi's key bindings and the usual ones.
    pub(super) fn toggle_vim_mode(&mut self) {
        let wanted = !self.shared.view().loaded.settings.general.vim_mode;
        self.save_user_setting(&["general", "vimMode"], Value::from(wanted));
        self.reload_configuration(&[]);
        if self.shared.view().loaded.settings.general.vim_mode != wanted {
            return self.reply(Reply::warning("the keys stay as they are: other settings override yours"));
        }
        self.reply(Reply::plain(match wanted {
            true => "vi's keys are on; /vim switches back",
            false => "vi's keys are off",
        }));
    }
}

async fn run_theme_dialog(dialog: DialogContext) -> Option<DialogOutcome> {
    let now = dialog.loaded.settings.ui.theme.clone().unwrap_or_else(|| "terminal".to_owned());
    let choices = THEMES.iter().map(|(name, about)| QuestionChoice::new(*name, *about)).collect();
    let selected = THEMES.iter().position(|(name, _)| *name == now).unwrap_or(0);
    let question = UserQuestion::choice("Which theme?", choices)
        .with_details([format!("Now it is {now}.")])
        .with_selected(selected);
    let at = question.ask_choice(&dialog.services).await?;
    let (name, _) = THEMES.get(at)?;
    dialog_outcome(move |session| session.set_theme(name))
}
