//! `/memory`: shows, extends and reloads the text of context files.

use hookwright_disk::{FilePrivacy, ReadError, SymlinkPolicy};

use super::actor::SessionActor;
use super::command::MemoryAction;
use super::reply::Reply;
use super::setup;
use crate::event::AgentNotice;

const NO_MEMORY_MESSAGE: &str = "there is no memory: neither you nor the project has a GEMINI.md";

/// The largest context file that is read, and so the largest that is added to.
const MAX_CONTEXT_FILE_BYTES: u64 = 1 << 20;

impl SessionActor {
    pub(super) fn handle_memory(&mut self, order: MemoryAction) {
        match order {
            MemoryAction::Show => {
                let text = setup::load_context_memory(&self.shared.view().loaded).text;
                self.reply(if text.trim().is_empty() { Reply::aside(NO_MEMORY_MESSAGE) } else { Reply::plain(text) });
            }
            MemoryAction::List => {
                let files = setup::load_context_memory(&self.shared.view().loaded).files;
                let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
                self.reply(if names.is_empty() {
                    Reply::aside(NO_MEMORY_MESSAGE)
                } else {
                    Reply::plain(names.join("\n"))
                });
            }
            MemoryAction::Add(text) => match self.add_memory(&text) {
                Ok(file) => {
                    self.reply(Reply::plain(format!("added to {file}")));
                    self.reload_memory();
                }
                Err(error) => self.reply(Reply::error(error)),
            },
            MemoryAction::Reload => self.reload_memory(),
        }
    }

    fn add_memory(&self, text: &str) -> std::io::Result<String> {
        let loaded = &self.shared.view().loaded;
        let file = loaded.paths.user_dir.join("GEMINI.md");
        // A symbolic link stays one.
        let real = file.canonicalize().unwrap_or_else(|_| file.clone());
        let mut bytes = match hookwright_disk::read(&real, MAX_CONTEXT_FILE_BYTES, SymlinkPolicy::Follow) {
            Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(std::io::Error::other)?,
        };
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(format!("- {text}\n").as_bytes());
        hookwright_disk::write_atomic(&real, &bytes, FilePrivacy::PrivateIfNew, SymlinkPolicy::Follow)?;
        Ok(file.display().to_string())
    }

    fn reload_memory(&mut self) {
        self.rebuild_system_prompt();
        let length = setup::load_context_memory(&self.shared.view().loaded).text.chars().count();
        self.reply(Reply::aside(format!("the model is told {length} characters of memory from now on")));
    }

    /// Rebuilds the system prompt from the files on disk.
    pub(super) fn rebuild_system_prompt(&mut self) {
        let view = self.shared.view();
        let services = &view.services;
        let skills = crate::skills::skills_prompt_if_available(&services.tools, &view.skills);
        let mode = services.approvals.mode();
        let (system, warnings) = setup::build_system_prompt(
            &view.loaded,
            &skills,
            &services.tool_context,
            mode,
            self.options.interaction,
            &services.tamper_watch,
        );
        for warning in warnings {
            self.send_event(AgentNotice::Warning(warning));
        }
        self.set_system_prompt(system);
    }
}
