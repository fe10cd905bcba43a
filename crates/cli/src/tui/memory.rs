//! `/memory`: what the model is told from context files, added to and read again.

use std::io::Write;
use std::time::Instant;

use hookwright_agent::Interaction;

use crate::session;

use super::driver::Driver;
use super::text::{BAD, DIM, PLAIN, WARN};
use super::worker::Task;

impl Driver<'_> {
    /// `/memory …`
    pub(crate) fn memory(&mut self, line: &str) {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match (word, rest.trim()) {
            ("" | "show", _) => {
                let text = session::memory(&self.loaded).text;
                if text.trim().is_empty() {
                    return self.app.tell(DIM, "there is no memory: neither you nor the project have a GEMINI.md");
                }
                self.app.tell(PLAIN, text);
            }
            ("add", "") => self.app.tell(WARN, "/memory add TEXT: what is to be remembered?"),
            ("add", text) => match self.add_memory(text) {
                Ok(file) => {
                    self.app.tell(PLAIN, format!("added to {file}"));
                    self.reload_memory();
                }
                Err(error) => self.app.tell(BAD, format!("error: {error}")),
            },
            ("reload" | "refresh", _) => self.reload_memory(),
            _ => self.app.tell(WARN, "/memory show|add TEXT|reload"),
        }
    }

    fn add_memory(&self, text: &str) -> std::io::Result<String> {
        let file = self.loaded.paths.user_dir.join("GEMINI.md");
        std::fs::create_dir_all(&self.loaded.paths.user_dir)?;
        let before = std::fs::read_to_string(&file).unwrap_or_default();
        let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
        std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&file)?
            .write_all(format!("{gap}- {text}\n").as_bytes())?;
        Ok(file.display().to_string())
    }

    fn reload_memory(&mut self) {
        let context = &self.services.tool_context;
        let (system, warnings) = session::system(&self.loaded, context, self.app.status.mode, Interaction::Interactive);
        for warning in &warnings {
            self.app.tell(WARN, format!("! {warning}"));
        }
        if self.app.busy.is_none() {
            self.app.begin("Reading", Instant::now());
        }
        self.task(Task::System(system));
        let length = session::memory(&self.loaded).text.chars().count();
        self.app.tell(DIM, format!("the model is told {length} characters of memory from now on"));
    }
}
