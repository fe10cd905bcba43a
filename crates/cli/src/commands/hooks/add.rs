//! `hooks add EXAMPLE`: installs one of the shipped examples: its script, its settings entry and its tests.

mod examples;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
pub(crate) use examples::{EXAMPLES, ExampleHook};
use hookwright_hooks::{Layer, Source, did_you_mean, parse_layer};
use hookwright_settings::ProcessEnv;
use hookwright_settings::edit::{HookDefinitionEntry, add_hooks};
use serde_json::{Map, Value};

use super::new::{HookFileMode, HookLocation, SettingsFile, write_file};
use crate::args::{HookAddArgs, ProjectArgs};
use crate::exit;
use crate::output::{self, BOLD, PLAIN, TextTable};

pub(crate) fn run(place: &ProjectArgs, world: &ProcessEnv, add: &HookAddArgs) -> anyhow::Result<u8> {
    let Some(name) = &add.example else { return list_examples() };
    let Some(example) = EXAMPLES.iter().find(|example| example.name == name) else {
        let help = did_you_mean(name, EXAMPLES.iter().map(|one| one.name), "`hookwright hooks add` lists them");
        bail!("there is no example `{}`; {help}", output::one_line(name));
    };
    let home = HookLocation::resolve(place, world, add.user, settings_file(example))?;
    let files = example_files(example, &home);
    for (path, ..) in &files {
        ensure!(!path.exists(), "{} exists already", path.display());
    }
    let made = files
        .iter()
        .try_for_each(|(path, text, mode)| write_file(path, text, *mode))
        .and_then(|()| Ok(add_hooks(&home.settings, example_entries(example, &home)?)?));
    match made {
        Err(error) => {
            home.remove_partial(files.iter().map(|(path, ..)| path.as_path()));
            return Err(error);
        }
        Ok(true) => {}
        Ok(false) => output::note(format!("{} has it already", home.settings.display()))?,
    }
    for (path, ..) in &files {
        writeln!(output::stdout(), "{:<9}{}", "file", home.display_path(path))?;
    }
    writeln!(output::stdout(), "{:<9}{}", "settings", home.display_path(&home.settings))?;
    warn_missing_interpreters(example, &home, world)?;
    output::hint(format!("see it work: `hookwright hooks test {}`", home.display_path(&home.hooks)))?;
    Ok(exit::OK)
}

/// Returns the settings file for an example, by the types of its hooks.
fn settings_file(example: &ExampleHook) -> SettingsFile {
    let declared = parse_layer(&Layer::new(Source::Project, Path::new("settings.json"), example.settings));
    let files = declared.hooks.iter().map(|hook| SettingsFile::for_type(hook.type_name()));
    files.reduce(|one, other| if one == other { one } else { SettingsFile::Neutral }).unwrap_or(SettingsFile::Neutral)
}

/// Prints the available examples.
fn list_examples() -> anyhow::Result<u8> {
    let mut table = TextTable::new(&["EXAMPLE", "EVENT", "WHAT IT DOES"]);
    for example in EXAMPLES {
        let declared = parse_layer(&Layer::new(Source::Project, Path::new("settings.json"), example.settings));
        let mut events: Vec<&str> = declared.hooks.iter().map(|hook| hook.event.name()).collect();
        events.dedup();
        let about = declared.hooks.first().and_then(|hook| hook.description.clone()).unwrap_or_default();
        table.add_row(vec![(BOLD, example.name.to_owned()), (PLAIN, events.join(", ")), (PLAIN, about)]);
    }
    table.print(&mut output::stdout())?;
    output::hint("take one with `hookwright hooks add EXAMPLE`, `--user` for all your projects")?;
    Ok(exit::OK)
}

/// Returns the files to write, with their paths.
///
/// The tests use the example's own settings, so that they test this hook alone.
fn example_files(example: &ExampleHook, home: &HookLocation) -> Vec<(PathBuf, String, HookFileMode)> {
    let settings = format!("{}.settings.json", example.name);
    let mut files: Vec<_> = example
        .files
        .iter()
        .map(|(name, text)| {
            let mode = if text.starts_with("#!") { HookFileMode::Executable } else { HookFileMode::Plain };
            let is_test = name.ends_with(".hooktest.toml");
            let text = if is_test {
                text.replacen("\"settings.json\"", &format!("\"{settings}\""), 1)
            } else {
                (*text).to_owned()
            };
            (home.hooks.join(name), text, mode)
        })
        .collect();
    files.push((home.hooks.join(settings), example.settings.to_owned(), HookFileMode::Plain));
    files
}

/// Returns the hook definitions, with commands for the settings that they go into.
fn example_entries(example: &ExampleHook, home: &HookLocation) -> anyhow::Result<Vec<HookDefinitionEntry>> {
    let settings: Value = serde_json::from_str(example.settings).context("the example's settings")?;
    let events = settings["hooks"].as_object().cloned().unwrap_or_default();
    let mut entries = Vec::new();
    for (name, definitions) in events {
        let event = hookwright_hooks::EventKind::from_name(&name).context("the example's settings")?;
        for definition in definitions.as_array().into_iter().flatten() {
            let mut definition: Map<String, Value> = definition.as_object().cloned().unwrap_or_default();
            for hook in definition.get_mut("hooks").and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(Value::String(command)) = hook.get_mut("command") {
                    *command = home.adapt_command(command);
                }
            }
            entries.push(HookDefinitionEntry { event, definition });
        }
    }
    Ok(entries)
}

/// Warns when an interpreter is missing that a script of the example needs.
fn warn_missing_interpreters(example: &ExampleHook, home: &HookLocation, world: &ProcessEnv) -> anyhow::Result<()> {
    for (program, endings) in [("python3", [".py", ".py"]), ("node", [".mjs", ".cjs"])] {
        let needs = example.files.iter().any(|(name, _)| endings.iter().any(|end| name.ends_with(end)));
        if needs && !crate::commands::is_program_installed(program, &home.project, &world.env) {
            output::warn(format!("{program} is not installed, and `{}` needs it", example.name))?;
        }
    }
    Ok(())
}
