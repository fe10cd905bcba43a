//! `/memory`: what the model is told from context files, added to and read again.

use hookwright_disk::{Links, Privacy, ReadError};

use super::conduct::Conductor;
use super::open;
use super::order::MemoryOrder;
use super::reply::Reply;
use crate::event::AgentEvent;

const NONE: &str = "there is no memory: neither you nor the project have a GEMINI.md";

/// A larger one would not be read, so nothing is added to it.
const LARGEST: u64 = 1 << 20;

impl Conductor {
    pub(super) fn memory(&mut self, order: MemoryOrder) {
        match order {
            MemoryOrder::Show => {
                let text = open::memory(&self.shared.view().loaded).text;
                self.reply(if text.trim().is_empty() { Reply::aside(NONE) } else { Reply::plain(text) });
            }
            MemoryOrder::List => {
                let files = open::memory(&self.shared.view().loaded).files;
                let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
                self.reply(if names.is_empty() { Reply::aside(NONE) } else { Reply::plain(names.join("\n")) });
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
        // A link to it stays one.
        let real = file.canonicalize().unwrap_or_else(|_| file.clone());
        let mut bytes = match hookwright_disk::read(&real, LARGEST, Links::Follow) {
            Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(std::io::Error::other)?,
        };
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(format!("- {text}\n").as_bytes());
        hookwright_disk::replace(&real, &bytes, Privacy::PrivateIfNew, Links::Follow)?;
        Ok(file.display().to_string())
    }

    fn reload_memory(&mut self) {
        self.renew_system();
        let length = open::memory(&self.shared.view().loaded).text.chars().count();
        self.reply(Reply::aside(format!("the model is told {length} characters of memory from now on")));
    }

    /// Makes the system prompt anew, out of what is on disk by now.
    pub(super) fn renew_system(&mut self) {
        let view = self.shared.view();
        let services = &view.services;
        let skills = crate::skills::told(&services.tools, &view.skills);
        let mode = services.approvals.mode();
        let (system, warnings) = open::system(
            &view.loaded,
            &skills,
            &services.tool_context,
            mode,
            self.options.interaction,
            &services.guards,
        );
        for warning in warnings {
            self.tell(AgentEvent::Warning(warning));
        }
        self.set_system(system);
    }
}
