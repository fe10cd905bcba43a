//! `extensions validate`: what of an extension loads, what does not, and everything that is wrong with it, with its place.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use hookwright_agent::check_policy;
use hookwright_agent::session::{Armed, hook_entries};
use hookwright_extensions::{Brings, ExtensionError, check_folder};
use hookwright_hooks::{Diagnostic, HookEngine, Registry, Severity, Source};
use hookwright_settings::{Extension, FolderTrust, Paths, Project, World, commands, skills, subagents};
use serde_json::{Value, json};

use super::list::brought;
use crate::hooks::Toolbox;
use crate::out::{self, GOOD, paint};
use crate::{exit, report};

pub(super) fn run(toolbox: &Toolbox, world: &World, path: &Path, as_json: bool) -> anyhow::Result<u8> {
    let folder = world.cwd.join(path);
    let Ok(folder) = folder.canonicalize() else { bail!("there is no folder {}", path.display()) };
    let mut checked = Checked::default();
    checked.look(&folder, toolbox);
    let errors = checked.diagnostics.iter().any(|wrong| wrong.severity == Severity::Error);
    let code = if errors { exit::ERROR } else { exit::OK };
    if as_json {
        let brings = checked.brings.as_ref();
        out::json(&json!({
            "ok": !errors,
            "path": folder,
            "name": brings.map(|brings| &brings.name),
            "version": brings.map(|brings| &brings.version),
            "brings": brings.map(brought),
            "loads": checked.loads,
            "diagnostics": checked.diagnostics,
        }))?;
        return Ok(code);
    }
    report::print(&checked.diagnostics)?;
    let mut stdout = out::stdout();
    if let Some(brings) = &checked.brings {
        for section in &brings.sections {
            let items: Vec<&str> = section.items.iter().map(|item| item.text.as_str()).collect();
            writeln!(stdout, "{}: {}", section.title, out::one_line(&items.join(", ")))?;
        }
    }
    match report::count(&checked.diagnostics) {
        Some(count) => writeln!(stdout, "{}: {count}", path.display())?,
        None => writeln!(stdout, "{}: {}", path.display(), paint(GOOD, "no problems"))?,
    }
    Ok(code)
}

/// What was found.
#[derive(Default)]
struct Checked {
    brings: Option<Brings>,
    /// What would count in a session, by kind.
    loads: Value,
    diagnostics: Vec<Diagnostic>,
}

impl Checked {
    fn look(&mut self, folder: &Path, toolbox: &Toolbox) {
        if let Err(error) = check_folder(folder) {
            self.diagnostics.push(Diagnostic::about_file(Severity::Error, folder, error.to_string()));
        }
        let brings = match Brings::of(folder, &toolbox.loaded) {
            Ok(brings) => brings,
            Err(ExtensionError::NoManifest(wrong)) if !wrong.is_empty() => return self.diagnostics.extend(wrong),
            Err(error) => {
                let file = folder.join("gemini-extension.json");
                return self.diagnostics.push(Diagnostic::about_file(Severity::Error, &file, error.to_string()));
            }
        };
        self.diagnostics.extend(brings.diagnostics.iter().cloned());
        self.brings = Some(brings);
        let root = &toolbox.loaded.project.root;
        let Some(extension) = Extension::as_written(folder, root, &mut Vec::new()) else { return };
        self.diagnostics.extend(extension.without_effect.iter().map(|unused| unused.diagnostic.clone()));
        self.loads = json!({
            "hooks": self.hooks(&extension, toolbox),
            "mcpServers": extension.mcp_servers.keys().collect::<Vec<_>>(),
            "contextFiles": extension.context_files,
            "excludeTools": extension.exclude_tools,
            "settings": extension.settings.iter().map(|setting| &setting.variable).collect::<Vec<_>>(),
            "commands": self.commands(&extension, toolbox),
            "policies": self.policies(&extension),
            "agents": self.agents(&extension),
            "skills": self.skills(&extension),
        });
    }

    /// The hooks that could run; a script that is missing is said where the hook stands.
    fn hooks(&mut self, extension: &Extension, toolbox: &Toolbox) -> Vec<Value> {
        let mut loaded = toolbox.loaded.clone();
        loaded.registry = Registry::new(vec![extension.declared()]);
        let session = toolbox.session("validate", std::path::PathBuf::new());
        let builder = HookEngine::builder(loaded.registry.clone()).session(session);
        let engine = builder.places(loaded.hook_places()).build();
        let mut hooks = Vec::new();
        for entry in hook_entries(&engine, &loaded) {
            let hook = &entry.hook;
            if hook.source != extension.source() {
                continue;
            }
            if let (Armed::Inert(problem), Some(place)) = (&entry.state, &hook.place) {
                let text = format!("line {}: hook `{}` could not run: {problem}", place.line, hook.id());
                let wrong = Diagnostic::about_file(Severity::Warning, &place.file, text);
                self.diagnostics.push(wrong.help(problem.advice()));
            }
            hooks.push(json!({"event": hook.event.to_string(), "matcher": hook.matcher_text, "name": hook.name,
                "command": hook.command(), "runs": matches!(entry.state, Armed::Yes)}));
        }
        hooks
    }

    fn commands(&mut self, extension: &Extension, toolbox: &Toolbox) -> Vec<String> {
        // By itself: nobody else's command takes a name away.
        let project = Project { trust: FolderTrust::Unknown, ..toolbox.loaded.project.clone() };
        let nowhere = extension.path.join("gemini-extension.json").join("commands");
        let paths = Paths { user_commands: nowhere, ..toolbox.loaded.paths.clone() };
        let found = commands::discover(&paths, &project, std::slice::from_ref(extension));
        let own = |wrong: &&Diagnostic| wrong.file.starts_with(&extension.path);
        self.diagnostics.extend(found.diagnostics.iter().filter(own).cloned());
        let is_own = |source: &Source| *source == extension.source();
        found.list.into_iter().filter(|command| is_own(&command.source)).map(|command| command.name).collect()
    }

    fn policies(&mut self, extension: &Extension) -> Vec<Value> {
        let mut policies = Vec::new();
        for file in files(&extension.policies(), "toml") {
            let found = check_policy(&file);
            policies.push(json!({"file": file, "rules": found.rules.len()}));
            self.diagnostics.extend(found.diagnostics);
        }
        policies
    }

    fn agents(&mut self, extension: &Extension) -> Vec<String> {
        let mut agents = Vec::new();
        for file in files(&extension.agents(), "md") {
            match subagents::check(&file) {
                Ok((agent, wrong)) => {
                    agents.extend(agent.map(|agent| agent.name));
                    self.diagnostics.extend(wrong);
                }
                Err(error) => self.diagnostics.push(error.diagnostic()),
            }
        }
        agents
    }

    fn skills(&mut self, extension: &Extension) -> Vec<String> {
        let found = skills::in_folder(&extension.skills(), Some(&extension.path), &extension.source());
        self.diagnostics.extend(found.diagnostics);
        found.list.into_iter().map(|skill| skill.name).collect()
    }
}

/// The files of a kind right in a folder, by name.
fn files(folder: &Path, ending: &str) -> Vec<std::path::PathBuf> {
    let all = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> =
        all.filter(|file| file.is_file() && file.extension().is_some_and(|end| end == ending)).collect();
    files.sort();
    files
}
