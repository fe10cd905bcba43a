//! `/memory`: what the model is told from context files, added to and read again.

use std::io::Write;
use std::time::Instant;

use hookwright_agent::Interaction;
use hookwright_agent::context::{Memory, MemoryOptions, load_memory};
use hookwright_agent::system::{Facts, system_prompt};

use super::driver::Driver;
use super::text::{BAD, DIM, PLAIN, WARN};
use super::worker::Task;

impl Driver<'_> {
    /// `/memory …`
    pub(crate) fn memory(&mut self, line: &str) {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match (word, rest.trim()) {
            ("" | "show", _) => {
                let text = self.read_memory().text;
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

    fn read_memory(&self) -> Memory {
        let root = &self.loaded.project.root;
        let active = self.loaded.extensions.iter().filter(|extension| extension.active);
        load_memory(&MemoryOptions {
            home: &self.loaded.paths.home,
            home_gemini_dir: &self.loaded.paths.user_dir,
            project_root: root,
            cwd: root,
            file_names: &self.loaded.settings.context.file_names,
            trusted: self.loaded.project.trust.is_trusted(),
            extension_files: active.flat_map(|extension| extension.context_files.clone()).collect(),
        })
    }

    fn reload_memory(&mut self) {
        let memory = self.read_memory();
        for warning in &memory.warnings {
            self.app.tell(WARN, format!("! {warning}"));
        }
        let root = &self.loaded.project.root;
        let system = system_prompt(&Facts {
            cwd: root,
            more_directories: self.services.tool_context.workspace.roots().get(1..).unwrap_or_default(),
            os: std::env::consts::OS,
            date: &jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
            git_repository: root.ancestors().any(|folder| folder.join(".git").exists()),
            interaction: Interaction::Interactive,
            approval_mode: self.app.status.mode,
            memory: &memory.text,
            override_text: None,
        });
        if self.app.busy.is_none() {
            self.app.begin("Reading", Instant::now());
        }
        self.task(Task::System(system));
        self.app
            .tell(DIM, format!("the model is told {} characters of memory from now on", memory.text.chars().count()));
    }
}
