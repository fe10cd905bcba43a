//! `extensions validate`: what of an extension loads, what does not, and everything that is wrong with
//! it, with its location.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use hookwright_agent::check_policy_file;
use hookwright_agent::session::{ArmedState, hook_entries};
use hookwright_extensions::{ExtensionError, ExtensionSummary, check_folder, dangling_link_warning};
use hookwright_hooks::{Diagnostic, HookEngine, Registry, Severity};
use hookwright_settings::{Extension, ProcessEnv};
use serde_json::{Value, json};

use super::list::contents_json;
use crate::commands::hooks::LoadedProject;
use crate::output::{self, GOOD, paint};
use crate::{exit, output::diagnostics};

/// The file that makes a folder an extension.
const MANIFEST: &str = "gemini-extension.json";

pub(super) fn run(toolbox: &LoadedProject, world: &ProcessEnv, path: &Path, as_json: bool) -> anyhow::Result<u8> {
    let Ok(asked) = world.cwd.join(path).canonicalize() else { bail!("there is no folder {}", path.display()) };
    let folder = match asked.parent() {
        Some(parent) if asked.is_file() && asked.ends_with(MANIFEST) => parent.to_owned(),
        _ if asked.is_file() => bail!("{} is a file; give the extension's folder", path.display()),
        _ => asked,
    };
    let mut checked = ExtensionCheck::default();
    checked.check_folder(&folder, toolbox);
    let errors = checked.diagnostics.iter().any(|wrong| wrong.severity == Severity::Error);
    let code = if errors { exit::ERROR } else { exit::OK };
    if as_json {
        let brings = checked.brings.as_ref();
        output::print_json(&json!({
            "ok": !errors,
            "path": folder,
            "name": brings.map(|brings| &brings.name),
            "version": brings.map(|brings| &brings.version),
            "brings": brings.map(contents_json),
            "loads": checked.loaded_items,
            "diagnostics": checked.diagnostics,
        }))?;
        return Ok(code);
    }
    diagnostics::print(&checked.diagnostics)?;
    let mut stdout = output::stdout();
    if let Some(brings) = &checked.brings {
        for section in &brings.sections {
            let items: Vec<&str> = section.items.iter().map(|item| item.text.as_str()).collect();
            writeln!(stdout, "{}: {}", section.title, output::one_line(&items.join(", ")))?;
        }
    }
    match diagnostics::count_summary(&checked.diagnostics) {
        Some(count) => writeln!(stdout, "{}: {count}", path.display())?,
        None => writeln!(stdout, "{}: {}", path.display(), paint(GOOD, "no problems"))?,
    }
    Ok(code)
}

/// The results of a check.
#[derive(Default)]
struct ExtensionCheck {
    brings: Option<ExtensionSummary>,
    /// What would take effect in a session, by kind.
    loaded_items: Value,
    diagnostics: Vec<Diagnostic>,
}

impl ExtensionCheck {
    fn check_folder(&mut self, folder: &Path, toolbox: &LoadedProject) {
        match check_folder(folder) {
            Ok(links) => self.diagnostics.extend(links.iter().map(|link| dangling_link_warning(&folder.join(link)))),
            Err(error) => self.diagnostics.push(Diagnostic::about_file(Severity::Error, folder, error.to_string())),
        }
        let brings = match ExtensionSummary::read(folder, &toolbox.loaded) {
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
        let Some(extension) = Extension::read_raw(folder, root, &mut Vec::new()) else { return };
        self.diagnostics.extend(extension.ineffective_settings.iter().map(|unused| unused.diagnostic.clone()));
        self.loaded_items = json!({
            "hooks": self.check_hooks(&extension, toolbox),
            "mcpServers": extension.mcp_servers.keys().collect::<Vec<_>>(),
            "contextFiles": extension.context_files,
            "excludeTools": extension.exclude_tools,
            "settings": extension.settings.iter().map(|setting| &setting.variable).collect::<Vec<_>>(),
            "commands": contents.commands,
            "policies": self.check_policies(&extension),
            "agents": contents.agents.iter().map(|agent| &agent.name).collect::<Vec<_>>(),
            "skills": contents.skills.iter().map(|skill| &skill.name).collect::<Vec<_>>(),
        });
    }

    /// Lists the hooks, and adds a warning for each that could not run.
    fn check_hooks(&mut self, extension: &Extension, toolbox: &LoadedProject) -> Vec<Value> {
        let mut loaded = toolbox.loaded.clone();
        loaded.registry = Registry::new(vec![extension.declared_hooks()]);
        let session = toolbox.engine_session("validate", std::path::PathBuf::new());
        let builder = HookEngine::builder(loaded.registry.clone()).session(session);
        let engine = builder.exec_envs(loaded.hook_exec_envs()).build();
        let mut hooks = Vec::new();
        for entry in hook_entries(&engine, &loaded) {
            let hook = &entry.hook;
            if hook.source != extension.source() {
                continue;
            }
            if let (ArmedState::Inert(problem), Some(place)) = (&entry.state, &hook.location) {
                let text = format!("line {}: hook `{}` could not run: {problem}", place.line, hook.id());
                let wrong = Diagnostic::about_file(Severity::Warning, &place.file, text);
                self.diagnostics.push(wrong.help(problem.hint()));
            }
            hooks.push(json!({"event": hook.event.to_string(), "matcher": hook.matcher_text, "name": hook.name,
                "command": hook.command(), "runs": matches!(entry.state, ArmedState::Armed)}));
        }
        hooks
    }

    fn check_policies(&mut self, extension: &Extension) -> Vec<Value> {
        let mut policies = Vec::new();
        for file in files_with_extension(&extension.policies_dir(), "toml") {
            let found = check_policy_file(&file);
            policies.push(json!({"file": file, "rules": found.rules.len()}));
            self.diagnostics.extend(found.diagnostics);
        }
        policies
    }
}

/// Returns the files directly in a folder that have this extension, sorted by name.
fn files_with_extension(folder: &Path, ending: &str) -> Vec<std::path::PathBuf> {
    let all = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> =
        all.filter(|file| file.is_file() && file.extension().is_some_and(|end| end == ending)).collect();
    files.sort();
    files
}
