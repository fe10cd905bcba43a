//! `/memory`: what the model is told from context files, added to and read again.

use std::io::Write;

use super::conduct::Conductor;
use super::open;
use super::order::MemoryOrder;
use super::reply::Reply;
use crate::event::AgentEvent;

impl Conductor {
    pub(super) fn memory(&mut self, order: MemoryOrder) {
        match order {
            MemoryOrder::Show => {
                let text = open::memory(&self.shared.view().loaded).text;
                let none = "there is no memory: neither you nor the project have a GEMINI.md";
                self.reply(if text.trim().is_empty() { Reply::aside(none) } else { Reply::plain(text) });
            }
            MemoryOrder::Add(text) => match self.add_memory(&text) {
                Ok(file) => {
                    self.reply(Reply::plain(format!("added to {file}")));
                    self.reload_memory();
                }
                Err(error) => self.reply(Reply::error(error)),
            },
            MemoryOrder::Reload => self.reload_memory(),
        }
    }

    fn add_memory(&self, text: &str) -> std::io::Result<String> {
        let loaded = &self.shared.view().loaded;
        let file = loaded.paths.user_dir.join("GEMINI.md");
        std::fs::create_dir_all(&loaded.paths.user_dir)?;
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
        let view = self.shared.view();
        let services = &view.services;
        let (system, warnings) =
            open::system(&view.loaded, &services.tool_context, services.approvals.mode(), self.options.interaction);
        for warning in warnings {
            self.tell(AgentEvent::Warning(warning));
        }
        self.set_system(system);
        let length = open::memory(&view.loaded).text.chars().count();
        self.reply(Reply::aside(format!("the model is told {length} characters of memory from now on")));
    }
}
