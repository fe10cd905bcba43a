//! `hooks new NAME`: writes a working hook, its settings entry and its hook test. The texts are in `new/templates.rs`
//! and, for workers, `new/worker_templates.rs`.

mod templates;
mod worker_templates;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use hookwright_hooks::{EventKind, HookCapability, Matcher, MatcherSubject, joined_command};
use hookwright_settings::edit::{HookDefinitionEntry, add_hooks};
use hookwright_settings::{ConfigPaths, ProcessEnv};
use serde_json::{Map, Value, json};

use crate::args::{HookNewArgs, ProjectArgs, ScriptLanguage};
use crate::commands::prompt;
use crate::{exit, output};

/// The settings file that declares a hook.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingsFile {
    /// `.gemini/settings.json`, which Gemini CLI reads too.
    Gemini,
    /// `.hookwright/hooks.json`, for hooks of any agent. Gemini CLI complains about types of hooks that it does not know.
    Neutral,
}

impl SettingsFile {
    pub(super) fn for_type(hook_type: &str) -> Self {
        if hook_type == "command" { SettingsFile::Gemini } else { SettingsFile::Neutral }
    }
}

/// Where hooks are written: the project's folder, or the user's.
pub(super) struct HookLocation {
    pub(super) project: PathBuf,
    /// The folder of scripts and tests.
    pub(super) hooks: PathBuf,
    pub(super) settings: PathBuf,
    user: bool,
}

/// The folder that commands of shipped hooks name.
const SHIPPED_SCRIPTS_DIR: &str = "$GEMINI_PROJECT_DIR/.gemini/hooks/";

impl HookLocation {
    pub(super) fn resolve(
        place: &ProjectArgs,
        world: &ProcessEnv,
        user: bool,
        file: SettingsFile,
    ) -> anyhow::Result<HookLocation> {
        let project = place.directory(world)?;
        let paths = ConfigPaths::new(world);
        let settings = match (file, user) {
            (SettingsFile::Gemini, true) => paths.user_settings,
            (SettingsFile::Gemini, false) => paths.project_settings(&project),
            (SettingsFile::Neutral, _) => paths.hookwright_hooks_file(if user { &paths.home } else { &project }),
        };
        let hooks = settings.with_file_name("hooks");
        Ok(HookLocation { project, hooks, settings, user })
    }

    /// Adapts the command of a shipped hook to this location: a user's hook names its script by the absolute path.
    pub(super) fn adapt_command(&self, command: &str) -> String {
        let Some(file) = command.strip_prefix(SHIPPED_SCRIPTS_DIR) else { return command.to_owned() };
        match self.hooks.strip_prefix(&self.project) {
            Ok(folder) if !self.user => format!("$GEMINI_PROJECT_DIR/{}/{file}", folder.display()),
            _ => joined_command(&self.hooks.join(file).to_string_lossy(), &[]),
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

/// A hook to write.
pub(super) struct NewHook {
    pub(super) name: String,
    pub(super) event: EventKind,
    pub(super) matcher: Option<String>,
    pub(super) guard: bool,
    pub(super) worker: bool,
    pub(super) lang: ScriptLanguage,
}

pub(crate) fn run(place: &ProjectArgs, world: &ProcessEnv, args: HookNewArgs) -> anyhow::Result<u8> {
    let user = args.user;
    let new = complete_args(args)?;
    check_hook(&new)?;
    let home = HookLocation::resolve(place, world, user, SettingsFile::for_type(new.type_name()))?;
    let script = home.hooks.join(format!("{}.{}", new.name, file_extension(new.lang)));
    let test = home.hooks.join(format!("{}.hooktest.toml", new.name));
    for file in [&script, &test] {
        ensure!(!file.exists(), "{} exists already", file.display());
    }
    let settings = home.settings.file_name().filter(|_| user).map(|name| format!("../{}", name.display()));
    let text = match new.worker {
        true => worker_templates::script(new.event, new.lang, &new.name),
        false => templates::script(new.event, new.lang, &new.name),
    };
    let made = write_file(&script, &text, HookFileMode::Executable)
        .and_then(|()| write_file(&test, &templates::hook_test(&new, settings.as_deref()), HookFileMode::Plain))
        .and_then(|()| Ok(add_hooks(&home.settings, vec![settings_entry(&new, &home, &script)])?));
    if let Err(error) = made {
        home.remove_partial([script.as_path(), test.as_path()].into_iter());
        return Err(error);
    }
    for (what, file) in [("script", &script), ("test", &test), ("settings", &home.settings)] {
        writeln!(output::stdout(), "{what:<9}{}", home.display_path(file))?;
    }
    let run =
        if user { format!("`hookwright hooks test {}`", test.display()) } else { "`hookwright hooks test`".into() };
    output::hint(format!("edit the script, then run {run}"))?;
    Ok(exit::OK)
}

impl NewHook {
    fn type_name(&self) -> &'static str {
        if self.worker { "worker" } else { "command" }
    }
}

/// Asks for what is not given, on a terminal. If name and event are given, the rest has its defaults.
fn complete_args(args: HookNewArgs) -> anyhow::Result<NewHook> {
    let HookNewArgs { name, event, matcher, guard, worker, lang, .. } = args;
    let asks = name.is_none() || event.is_none();
    if asks && !(prompt::is_interactive() && output::stderr_is_terminal()) {
        bail!("name the hook and its event: hookwright hooks new NAME --event EVENT (on a terminal, it asks)");
    }
    let name = name.map_or_else(|| ask("Name of the hook (letters, digits, - and _): "), Ok)?;
    let event = event.map_or_else(ask_event, Ok)?;
    let matcher = match event.info().subject {
        MatcherSubject::Nothing => matcher,
        _ if matcher.is_some() || !asks => matcher,
        MatcherSubject::ToolName => {
            ask_optional("Which tools, such as run_shell_command or write_file|replace? [all] ")?
        }
        MatcherSubject::Field { values, .. } => ask_optional(&format!("Which of {}? [all] ", values.join(", ")))?,
    };
    let can_deny = event.can(HookCapability::Deny);
    let guard = guard || asks && can_deny && prompt::confirm("Is it a guard, so that a call is blocked if it fails?")?;
    let lang = match lang {
        Some(lang) => lang,
        None if asks => ask_language()?,
        None => ScriptLanguage::Sh,
    };
    Ok(NewHook { name, event, matcher, guard, worker, lang })
}

fn ask(question: &str) -> anyhow::Result<String> {
    let answer = prompt::ask_line(question)?.context("no answer, so nothing was written")?;
    Ok(answer.trim().to_owned())
}

fn ask_optional(question: &str) -> anyhow::Result<Option<String>> {
    Ok(Some(ask(question)?).filter(|text| !text.is_empty()))
}

/// Asks for an event by its number or its name, until there is one.
fn ask_event() -> anyhow::Result<EventKind> {
    for (at, event) in EventKind::all().enumerate() {
        output::stderr_line(&format!("{:>3}. {:<20} {}", at + 1, event.name(), event.info().fires_when))?;
    }
    loop {
        let text = ask("When does it run? Number or name: ")?;
        let by_number = text.parse::<usize>().ok().and_then(|number| EventKind::all().nth(number.checked_sub(1)?));
        match by_number.or_else(|| EventKind::from_name(&text)).or_else(|| EventKind::from_foreign_name(&text)) {
            Some(event) => return Ok(event),
            None => match EventKind::suggest(&text) {
                Some(near) => {
                    output::note(format!("there is no event `{}`; did you mean {near}?", output::one_line(&text)))?
                }
                None => output::note("choose one of the numbers")?,
            },
        }
    }
}

fn ask_language() -> anyhow::Result<ScriptLanguage> {
    loop {
        let text = ask("Language: sh, python or node? [sh] ")?;
        match ScriptLanguage::from_str(&text, true) {
            Ok(language) => return Ok(language),
            Err(_) if text.is_empty() => return Ok(ScriptLanguage::Sh),
            Err(_) => output::note("it is one of sh, python and node")?,
        }
    }
}

fn check_hook(new: &NewHook) -> anyhow::Result<()> {
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

fn settings_entry(new: &NewHook, home: &HookLocation, script: &Path) -> HookDefinitionEntry {
    let file = script.file_name().unwrap_or_default().to_string_lossy();
    let mut hook = json!({
        "type": new.type_name(),
        "name": new.name,
        "command": home.adapt_command(&format!("{SHIPPED_SCRIPTS_DIR}{file}")),
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
