//! `extensions validate`: what of an extension loads, what does not, and everything that is wrong with it, with its place.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use hookwright_agent::check_policy;
use hookwright_agent::session::{Armed, hook_entries};
use hookwright_extensions::{Brings, ExtensionError, check_folder, leads_to_nothing};
use hookwright_hooks::{Diagnostic, HookEngine, Registry, Severity};
use hookwright_settings::{Extension, World};
use serde_json::{Value, json};

use super::list::brought;
use crate::hooks::Toolbox;
use crate::out::{self, GOOD, paint};
use crate::{exit, report};

/// What makes a folder an extension.
const MANIFEST: &str = "gemini-extension.json";

pub(super) fn run(toolbox: &Toolbox, world: &World, path: &Path, as_json: bool) -> anyhow::Result<u8> {
    let Ok(asked) = world.cwd.join(path).canonicalize() else { bail!("there is no folder {}", path.display()) };
    let folder = match asked.parent() {
        Some(parent) if asked.is_file() && asked.ends_with(MANIFEST) => parent.to_owned(),
        _ if asked.is_file() => bail!("{} is a file; give the extension's folder", path.display()),
        _ => asked,
    };
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
        match check_folder(folder) {
            Ok(links) => self.diagnostics.extend(links.iter().map(|link| leads_to_nothing(&folder.join(link)))),
            Err(error) => self.diagnostics.push(Diagnostic::about_file(Severity::Error, folder, error.to_string())),
        }
        let brings = match Brings::of(folder, &toolbox.loaded) {
            Ok(brings) => brings,
            Err(ExtensionError::NoManifest(wrong)) if !wrong.is_empty() => return self.diagnostics.extend(wrong),
            Err(error) => {
                let file = folder.join(MANIFEST);
                return self.diagnostics.push(Diagnostic::about_file(Severity::Error, &file, error.to_string()));
            }
        };
        self.diagnostics.extend(brings.diagnostics.iter().cloned());
        let contents = brings.contents.clone();
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
            "commands": contents.commands,
            "policies": self.policies(&extension),
            "agents": contents.agents.iter().map(|agent| &agent.name).collect::<Vec<_>>(),
            "skills": contents.skills.iter().map(|skill| &skill.name).collect::<Vec<_>>(),
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

    fn policies(&mut self, extension: &Extension) -> Vec<Value> {
        let mut policies = Vec::new();
        for file in files(&extension.policies(), "toml") {
            let found = check_policy(&file);
            policies.push(json!({"file": file, "rules": found.rules.len()}));
            self.diagnostics.extend(found.diagnostics);
        }
        policies
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
