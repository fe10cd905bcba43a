//! Slash commands: one table for help and completion, and what each of them does.

use std::path::PathBuf;
use std::time::Instant;

use hookwright_agent::ApprovalMode;

use super::block::Block;
use super::driver::Driver;
use super::text::{BOLD, DIM, GOOD, Line, NOTE, PLAIN, WARN};
use super::worker::Task;
use crate::exit;

/// Every command, and what it is for; subcommands stand behind the command they belong to.
pub(crate) const COMMANDS: &[(&str, &str)] = &[
    ("help", "what there is, and which keys do what"),
    ("hooks", "the hooks panel"),
    ("hooks panel", "every hook, its state and what it did"),
    ("hooks list", "every hook and its state"),
    ("hooks enable", "NAME: switch a hook on"),
    ("hooks disable", "NAME: switch a hook off"),
    ("hooks enable-all", "switch every hook on"),
    ("hooks disable-all", "switch every hook off"),
    ("hooks trust", "[NAME]: trust new and changed hooks"),
    ("hooks trace", "the last turn: events, hooks, decisions, times"),
    ("clear", "begin a new conversation"),
    ("compress", "replace the history by a summary"),
    ("model", "[NAME]: show or change the model"),
    ("tools", "what the model can call"),
    ("tools desc", "the same, with descriptions"),
    ("memory show", "what the model is told from GEMINI.md files"),
    ("memory add", "TEXT: add to your GEMINI.md"),
    ("memory reload", "read GEMINI.md files again"),
    ("commands list", "custom commands"),
    ("commands reload", "read custom commands again"),
    ("stats", "what the session did and cost"),
    ("resume", "[NUMBER]: go on with an earlier session"),
    ("chat save", "NAME: keep the conversation under a name"),
    ("chat resume", "NAME: go on with a kept conversation"),
    ("chat list", "kept conversations"),
    ("chat delete", "NAME: delete a kept conversation"),
    ("copy", "copy the last answer"),
    ("about", "version, model, folder"),
    ("quit", "leave"),
];

const KEYS: &[(&str, &str)] = &[
    ("Enter", "send; Alt+Enter, Ctrl+J or a trailing \\ begin a new line"),
    ("@path", "mention a file; !command runs a shell command"),
    ("Esc", "cancel the turn"),
    ("Shift+Tab", "next approval mode"),
    ("Ctrl+R", "search earlier prompts; ↑ ↓ step through them"),
    ("Ctrl+X", "write in your editor"),
    ("Ctrl+Z", "undo; Alt+Z redo; Ctrl+W, Ctrl+U, Ctrl+K delete; Ctrl+Y puts back"),
    ("Ctrl+L", "draw the screen again"),
    ("Ctrl+C", "twice: leave; Ctrl+D leaves too"),
];

impl Driver<'_> {
    /// Runs a command, given without its slash.
    pub(crate) fn slash(&mut self, line: &str) -> anyhow::Result<()> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match word {
            "help" | "?" => self.help(),
            "hooks" => self.hooks(rest),
            "clear" => self.begin("Clearing", |driver| Task::Clear(driver.chats(), driver.cancel.clone())),
            "compress" | "summarize" => self.begin("Compressing", |driver| Task::Compress(driver.cancel.clone())),
            "model" => self.model(rest),
            "tools" => self.tools(rest),
            "memory" => self.memory(rest),
            "commands" => self.custom(rest),
            "stats" => self.show_stats(),
            "resume" => self.resume(rest)?,
            "chat" => self.chat(rest),
            "copy" => self.copy()?,
            "about" | "version" => self.about(),
            "quit" | "exit" => self.leave = Some(exit::OK),
            _ => self.other(word, rest),
        }
        self.app.say(Block::Gap);
        Ok(())
    }

    /// Gives the agent a task that takes a while, unless it is busy.
    fn begin(&mut self, what: &'static str, task: impl FnOnce(&mut Self) -> Task) {
        if self.app.busy.is_some() {
            return self.app.tell(WARN, "not while the agent works; Esc cancels the turn");
        }
        self.app.begin(what, Instant::now());
        self.fresh_cancel();
        let task = task(self);
        if matches!(task, Task::Clear(..)) {
            self.app.status.tokens = 0;
            self.wipe();
            self.app.tell(DIM, "the conversation is cleared");
        }
        self.task(task);
    }

    pub(crate) fn chats(&self) -> PathBuf {
        self.loaded.paths.chats_dir(&self.loaded.project.root)
    }

    /// Rows of a name and what it stands for.
    fn rows<'r>(&mut self, rows: impl IntoIterator<Item = (&'r str, &'r str)>) {
        let rows: Vec<_> = rows.into_iter().collect();
        let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(24);
        let draw = |(name, text): &(&str, &str)| {
            Line::of(NOTE, format!("  {name:<width$}  ")).with(PLAIN, text).hanging(width + 4)
        };
        self.app.say(Block::Lines(rows.iter().map(draw).collect()));
    }

    fn help(&mut self) {
        let names: Vec<String> = COMMANDS.iter().map(|(name, _)| format!("/{name}")).collect();
        self.app.say(Block::line(Line::of(BOLD, "Commands")));
        self.rows(names.iter().map(String::as_str).zip(COMMANDS.iter().map(|(_, text)| *text)));
        self.app.say(Block::Gap);
        self.app.say(Block::line(Line::of(BOLD, "Keys")));
        self.rows(KEYS.iter().copied());
    }

    fn model(&mut self, name: &str) {
        if name.is_empty() {
            let model = self.app.status.model.clone();
            return self.app.tell(PLAIN, format!("the model is {model}; `/model NAME` changes it"));
        }
        self.app.begin("Changing the model", Instant::now());
        self.task(Task::Model(name.to_owned()));
        self.app.tell(PLAIN, format!("the model is {name} from now on"));
    }

    fn tools(&mut self, how: &str) {
        let services = self.services.clone();
        let tools: Vec<(String, String)> = services
            .tools
            .declarations()
            .map(|tool| {
                let first = tool.description.lines().next().unwrap_or_default().to_owned();
                (tool.name.clone(), if how == "desc" { tool.description.clone() } else { first })
            })
            .collect();
        self.rows(tools.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    }

    fn show_stats(&mut self) {
        let stats = self.app.stats.to_json();
        let number = |path: &str| stats.pointer(path).map(ToString::to_string).unwrap_or_default();
        let mut lines = vec![
            Line::of(BOLD, "Tools  ")
                .with(PLAIN, format!("{} calls, {} failed", number("/tools/totalCalls"), number("/tools/totalFail"))),
            Line::of(BOLD, "Hooks  ").with(
                PLAIN,
                format!(
                    "{} runs, {} failed, {} denials, {} ms",
                    number("/hooks/runs"),
                    number("/hooks/failures"),
                    number("/hooks/denials"),
                    number("/hooks/totalDurationMs")
                ),
            ),
        ];
        for (name, model) in stats.get("models").and_then(serde_json::Value::as_object).into_iter().flatten() {
            let number = |path: &str| model.pointer(path).map(ToString::to_string).unwrap_or_default();
            lines.push(Line::of(BOLD, "Model  ").with(
                PLAIN,
                format!(
                    "{name}: {} requests, {} errors, {} tokens in, {} out",
                    number("/api/totalRequests"),
                    number("/api/totalErrors"),
                    number("/tokens/prompt"),
                    number("/tokens/candidates")
                ),
            ));
        }
        self.app.say(Block::Lines(lines));
    }

    fn about(&mut self) {
        let rows = [
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("model", self.app.status.model.clone()),
            ("folder", self.loaded.project.root.display().to_string()),
            ("session", self.services.hooks.session().id.clone()),
            ("transcript", self.services.hooks.session().transcript_path.display().to_string()),
            ("settings", self.loaded.settings_file().display().to_string()),
        ];
        self.rows(rows.iter().map(|(name, text)| (*name, text.as_str())));
    }

    /// Copies through the terminal (OSC 52), which works over ssh too.
    fn copy(&mut self) -> anyhow::Result<()> {
        use base64::Engine as _;
        if self.app.answer.is_empty() {
            self.app.tell(WARN, "there is no answer to copy yet");
            return Ok(());
        }
        let text = base64::engine::general_purpose::STANDARD.encode(&self.app.answer);
        self.screen.write(&format!("\x1b]52;c;{text}\x07"))?;
        self.app.tell(DIM, "copied the last answer, if your terminal lets programs copy");
        Ok(())
    }

    /// Another approval mode, unless the settings forbid it.
    pub(crate) fn set_mode(&mut self, mode: ApprovalMode) {
        let forbidden = mode == ApprovalMode::Yolo && self.loaded.settings.security.disable_yolo_mode;
        let mode = if forbidden { ApprovalMode::Default } else { mode };
        self.services.approvals.set_mode(mode);
        self.app.status.mode = mode;
    }

    /// A custom command, or a slip of the finger.
    fn other(&mut self, word: &str, rest: &str) {
        match self.custom_commands().list.into_iter().find(|command| command.name == word) {
            Some(command) => self.run_custom(command, rest),
            None => {
                let mut known: Vec<&str> =
                    COMMANDS.iter().map(|(name, _)| name.split(' ').next().unwrap_or(name)).collect();
                known.dedup();
                let near = known.into_iter().find(|name| name.starts_with(word) || word.starts_with(name));
                let hint = near
                    .map_or_else(|| "/help shows what there is".to_owned(), |name| format!("did you mean /{name}?"));
                self.app.tell(WARN, format!("there is no command /{word}; {hint}"));
            }
        }
    }

    fn custom_commands(&self) -> hookwright_settings::commands::Commands {
        hookwright_settings::commands::discover(&self.loaded.paths, &self.loaded.project, &self.loaded.extensions)
    }

    fn run_custom(&mut self, command: hookwright_settings::commands::Command, args: &str) {
        if self.app.busy.is_some() {
            return self.app.tell(WARN, "not while the agent works; Esc cancels the turn");
        }
        self.app.begin("Working", Instant::now());
        let cancel = self.fresh_cancel();
        let typed = format!("/{} {args}", command.name).trim_end().to_owned();
        self.task(Task::Custom(Box::new(command), typed, args.to_owned(), cancel));
    }

    fn custom(&mut self, word: &str) {
        let commands = self.custom_commands();
        for diagnostic in &commands.diagnostics {
            self.app.tell(WARN, crate::report::draw(diagnostic));
        }
        let names: Vec<(String, String)> = commands
            .list
            .iter()
            .map(|command| {
                (
                    format!("/{}", command.name),
                    format!("{} ({})", command.description.as_deref().unwrap_or(""), command.source),
                )
            })
            .collect();
        if names.is_empty() {
            self.app.tell(DIM, "there are no custom commands; write one as .gemini/commands/NAME.toml");
        }
        self.rows(names.iter().map(|(name, text)| (name.as_str(), text.as_str())));
        if word == "reload" {
            self.refresh_names();
            self.app.tell(GOOD, format!("{} custom commands", names.len()));
        }
    }

    /// Everything completion knows.
    pub(crate) fn refresh_names(&mut self) {
        let mut names: Vec<(String, String)> =
            COMMANDS.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let groups = ["memory", "chat", "commands"].map(|group| (group.to_owned(), "…".to_owned()));
        names.extend(groups);
        for command in self.custom_commands().list {
            names.push((command.name, command.description.unwrap_or_default()));
        }
        let mut hooks: Vec<String> = self.loaded.registry.hooks().iter().map(|hook| hook.id().to_owned()).collect();
        hooks.sort();
        hooks.dedup();
        for hook in hooks {
            for verb in ["enable", "disable", "trust"] {
                names.push((format!("hooks {verb} {hook}"), String::new()));
            }
        }
        self.app.names.commands = names;
    }
}
