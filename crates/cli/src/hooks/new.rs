//! `hooks new NAME`: a working hook, its settings entry and its hook test. The texts are in `new/templates.rs`.

mod templates;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use hookwright_hooks::{Matcher, Power, Subject};
use hookwright_settings::edit::{HookEntry, add_hooks};
use hookwright_settings::{Paths, World};
use serde_json::{Map, Value, json};

use crate::args::{Language, New, Place};
use crate::{exit, out};

pub(crate) fn run(place: &Place, world: &World, new: &New) -> anyhow::Result<u8> {
    let project = place.directory(world)?;
    check(new)?;
    let settings = Paths::new(world).project_settings(&project);
    let directory = project.join(".gemini/hooks");
    let script = directory.join(format!("{}.{}", new.name, extension(new.lang)));
    let test = directory.join(format!("{}.hooktest.toml", new.name));
    for file in [&script, &test] {
        ensure!(!file.exists(), "{} exists already", file.display());
    }
    std::fs::create_dir_all(&directory).with_context(|| format!("can't create {}", directory.display()))?;
    let made = write(&script, &templates::script(new.event, new.lang, &new.name), Mode::Executable)
        .and_then(|()| write(&test, &templates::test(new), Mode::Plain))
        .and_then(|()| Ok(add_hooks(&settings, vec![entry(new, &script)])?));
    if let Err(error) = made {
        // Half a hook is in the way of the next try. Folders go where nothing else is in them.
        [&script, &test].into_iter().for_each(|file| drop(std::fs::remove_file(file)));
        [Some(directory.as_path()), directory.parent()]
            .into_iter()
            .flatten()
            .for_each(|it| drop(std::fs::remove_dir(it)));
        return Err(error);
    }
    for (what, file) in [("script", &script), ("test", &test), ("settings", &settings)] {
        writeln!(out::stdout(), "{what:<9}{}", file.strip_prefix(&project).unwrap_or(file).display())?;
    }
    out::hint("edit the script, then run `hookwright hooks test`")?;
    Ok(exit::OK)
}

fn check(new: &New) -> anyhow::Result<()> {
    let plain = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
    if new.name.is_empty() || !new.name.chars().all(plain) || new.name.starts_with('-') {
        bail!("`{}` is no name for a hook: use letters, digits, `-` and `_`", out::one_line(&new.name));
    }
    if new.matcher.is_some() && new.event.info().subject == Subject::Nothing {
        bail!("{} has no matcher; leave out --matcher", new.event);
    }
    if new.guard && !new.event.can(Power::Deny) {
        bail!("{} can't be denied, so nothing can stand guard there; leave out --guard", new.event);
    }
    let (_, problem) = Matcher::compile(new.event.info().subject, new.matcher.as_deref());
    if let Some(problem) = problem {
        bail!("--matcher is no regular expression: {problem}");
    }
    Ok(())
}

fn extension(language: Language) -> &'static str {
    match language {
        Language::Sh => "sh",
        Language::Python => "py",
        // Also a script where the project says that its files are modules.
        Language::Node => "cjs",
    }
}

fn entry(new: &New, script: &Path) -> HookEntry {
    let file = script.file_name().unwrap_or_default().to_string_lossy();
    let mut hook = json!({
        "type": "command",
        "name": new.name,
        "command": format!("$GEMINI_PROJECT_DIR/.gemini/hooks/{file}"),
    });
    if new.guard {
        hook["guard"] = json!(true);
    }
    let mut definition = Map::new();
    if let Some(matcher) = &new.matcher {
        definition.insert("matcher".to_owned(), Value::String(matcher.clone()));
    }
    definition.insert("hooks".to_owned(), Value::Array(vec![hook]));
    HookEntry { event: new.event, definition }
}

enum Mode {
    Plain,
    Executable,
}

fn write(path: &PathBuf, text: &str, mode: Mode) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("can't write {}", path.display()))?;
    match mode {
        Mode::Plain => Ok(()),
        Mode::Executable => make_executable(path).with_context(|| format!("can't make {} executable", path.display())),
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
