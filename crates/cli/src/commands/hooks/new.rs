//! `hooks new NAME`: writes a working hook, its settings entry and its hook test. The texts are in `new/templates.rs`
//! and, for workers, `new/worker_templates.rs`.

mod templates;
mod worker_templates;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use hookwright_hooks::{HookCapability, Matcher, MatcherSubject, joined_command};
use hookwright_settings::edit::{HookDefinitionEntry, add_hooks};
use hookwright_settings::{ConfigPaths, ProcessEnv};
use serde_json::{Map, Value, json};

use crate::args::{HookNewArgs, ProjectArgs, ScriptLanguage};
use crate::{exit, output};

/// Where hooks are written: the project's folder, or the user's.
pub(super) struct HookLocation {
    pub(super) project: PathBuf,
    /// The folder of scripts and tests.
    pub(super) hooks: PathBuf,
    pub(super) settings: PathBuf,
    user: bool,
}

impl HookLocation {
    pub(super) fn resolve(place: &ProjectArgs, world: &ProcessEnv, user: bool) -> anyhow::Result<HookLocation> {
        let project = place.directory(world)?;
        let paths = ConfigPaths::new(world);
        Ok(match user {
            true => HookLocation { project, hooks: paths.user_dir.join("hooks"), settings: paths.user_settings, user },
            false => {
                let (hooks, settings) = (project.join(".gemini/hooks"), paths.project_settings(&project));
                HookLocation { project, hooks, settings, user }
            }
        })
    }

    /// Adapts the command of a project's hook to this location: a user's hook names its script by the absolute path.
    pub(super) fn adapt_command(&self, command: &str) -> String {
        match command.strip_prefix("$GEMINI_PROJECT_DIR/.gemini/hooks/") {
            Some(file) if self.user => {
                let script = self.hooks.join(file);
                joined_command(&script.to_string_lossy(), &[])
            }
            _ => command.to_owned(),
        }
    }

    /// Formats a path relative to the project, if it is inside.
    pub(super) fn display_path(&self, path: &Path) -> String {
        path.strip_prefix(&self.project).unwrap_or(path).display().to_string()
    }

    /// Removes the files of a partly written hook, which would block the next try, and the folders that are empty then.
    pub(super) fn remove_partial<'p>(&self, files: impl Iterator<Item = &'p Path>) {
        let files: Vec<&Path> = files.collect();
        files.iter().for_each(|file| drop(std::fs::remove_file(file)));
        let above = files.iter().filter_map(|file| file.parent()).chain(self.hooks.parent());
        above.for_each(|folder| drop(std::fs::remove_dir(folder)));
    }
}

pub(crate) fn run(place: &ProjectArgs, world: &ProcessEnv, new: &HookNewArgs) -> anyhow::Result<u8> {
    check_args(new)?;
    let home = HookLocation::resolve(place, world, new.user)?;
    let script = home.hooks.join(format!("{}.{}", new.name, file_extension(new.lang)));
    let test = home.hooks.join(format!("{}.hooktest.toml", new.name));
    for file in [&script, &test] {
        ensure!(!file.exists(), "{} exists already", file.display());
    }
    let settings = if new.user { Some("../settings.json") } else { None };
    let text = match new.worker {
        true => worker_templates::script(new.event, new.lang, &new.name),
        false => templates::script(new.event, new.lang, &new.name),
    };
    let made = write_file(&script, &text, HookFileMode::Executable)
        .and_then(|()| write_file(&test, &templates::hook_test(new, settings), HookFileMode::Plain))
        .and_then(|()| Ok(add_hooks(&home.settings, vec![settings_entry(new, &home, &script)])?));
    if let Err(error) = made {
        home.remove_partial([script.as_path(), test.as_path()].into_iter());
        return Err(error);
    }
    for (what, file) in [("script", &script), ("test", &test), ("settings", &home.settings)] {
        writeln!(output::stdout(), "{what:<9}{}", home.display_path(file))?;
    }
    let run =
        if new.user { format!("`hookwright hooks test {}`", test.display()) } else { "`hookwright hooks test`".into() };
    output::hint(format!("edit the script, then run {run}"))?;
    Ok(exit::OK)
}

fn check_args(new: &HookNewArgs) -> anyhow::Result<()> {
    let plain = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
    if new.name.is_empty() || !new.name.chars().all(plain) || new.name.starts_with('-') {
        bail!("`{}` is not a valid hook name: use letters, digits, `-` and `_`", output::one_line(&new.name));
    }
    if new.matcher.is_some() && new.event.info().subject == MatcherSubject::Nothing {
        bail!("{} has no matcher; leave out --matcher", new.event);
    }
    if new.guard && !new.event.can(HookCapability::Deny) {
        bail!("{} can't be denied, so a guard has no effect there; leave out --guard", new.event);
    }
    let (_, problem) = Matcher::compile(new.event.info().subject, new.matcher.as_deref());
    if let Some(problem) = problem {
        bail!("--matcher is not a regular expression: {problem}");
    }
    Ok(())
}

fn file_extension(language: ScriptLanguage) -> &'static str {
    match language {
        ScriptLanguage::Sh => "sh",
        ScriptLanguage::Python => "py",
        // `.cjs` is a script even where the project declares its files to be modules.
        ScriptLanguage::Node => "cjs",
    }
}

fn settings_entry(new: &HookNewArgs, home: &HookLocation, script: &Path) -> HookDefinitionEntry {
    let file = script.file_name().unwrap_or_default().to_string_lossy();
    let mut hook = json!({
        "type": if new.worker { "worker" } else { "command" },
        "name": new.name,
        "command": home.adapt_command(&format!("$GEMINI_PROJECT_DIR/.gemini/hooks/{file}")),
    });
    if new.guard {
        hook["guard"] = json!(true);
    }
    let mut definition = Map::new();
    if let Some(matcher) = &new.matcher {
        definition.insert("matcher".to_owned(), Value::String(matcher.clone()));
    }
    definition.insert("hooks".to_owned(), Value::Array(vec![hook]));
    HookDefinitionEntry { event: new.event, definition }
}

#[derive(Clone, Copy)]
pub(super) enum HookFileMode {
    Plain,
    Executable,
}

/// Writes a file, and creates its folder where needed.
pub(super) fn write_file(path: &Path, text: &str, mode: HookFileMode) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
    std::fs::write(path, text).with_context(|| format!("can't write {}", path.display()))?;
    match mode {
        HookFileMode::Plain => Ok(()),
        HookFileMode::Executable => {
            make_executable(path).with_context(|| format!("can't make {} executable", path.display()))
        }
    }
}

#[cfg(unix)]
fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}
