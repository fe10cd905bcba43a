//! Opens the text that is being written in the user's editor: the editor gets the terminal and a file, and the file's
//! text is read back.

use super::ScreenDriver;
use crate::presentation::styled_text::{BAD, WARN};

/// The most that is read back from an editor.
const MAX_EDITED_PROMPT_BYTES: u64 = 8 << 20;

impl ScreenDriver<'_> {
    /// Lets the user edit the current text in an editor.
    pub(super) fn edit_in_editor(&mut self) -> anyhow::Result<()> {
        let var = |name: &str| self.world.var(name).filter(|value| !value.trim().is_empty());
        let editor = var("VISUAL").or_else(|| var("EDITOR")).unwrap_or("vi").to_owned();
        let (text, name) = self.app.editable_text();
        let file = match draft_file(&text, &name) {
            Ok(file) => file,
            Err(error) => {
                self.app.push_text(BAD, format!("can't write the temporary file to edit: {error}"));
                return Ok(());
            }
        };
        self.screen.finish()?;
        let (guard, path) = (&self.terminal, file.path());
        #[expect(clippy::disallowed_methods, reason = "the user is done with the editor when they are done")]
        let run = || {
            // The setting may contain arguments, which the shell splits.
            let mut command = std::process::Command::new("sh");
            command.args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(path);
            // The editor runs detached: a window that it opened may outlive the session.
            hookwright_process::spawn_detached(|| command.spawn())?.wait()
        };
        self.signals.defer(true);
        let lent = self.input.lend(|| guard.lend(run));
        self.signals.defer(false);
        let status = match lent {
            Ok(status) => status?,
            Err(error) => Err(error),
        };
        match status {
            Ok(status) if status.success() => match hookwright_disk::read_text(file.path(), MAX_EDITED_PROMPT_BYTES) {
                Ok(text) => self.app.apply_edited_text(&text),
                Err(error) => self.app.push_text(BAD, format!("can't read the file that {editor} left: {error}")),
            },
            Ok(_) => self.app.push_text(WARN, format!("{editor} ended with an error; the text is as it was")),
            Err(error) => self.app.push_text(BAD, format!("can't start {editor}: {error}")),
        }
        self.screen.forget_live();
        self.draw()
    }
}

/// Writes a text to a temporary file, whose extension tells the editor the language.
fn draft_file(text: &str, name: &str) -> std::io::Result<tempfile::NamedTempFile> {
    let (prefix, suffix) = name.rsplit_once('.').map_or((name, String::new()), |(one, end)| (one, format!(".{end}")));
    let plain = |text: &str| text.chars().all(|char| char.is_ascii_alphanumeric() || ".-_".contains(char));
    let (prefix, suffix) = if plain(name) { (prefix, suffix) } else { ("text", ".txt".to_owned()) };
    let file = tempfile::Builder::new().prefix(&format!("{prefix}-")).suffix(&suffix).tempfile()?;
    hookwright_disk::make_private(file.as_file())?;
    std::fs::write(file.path(), text)?;
    Ok(file)
}
