//! `hooks remove NAME`: removes a hook from the settings that declare it, and keeps the comments around
//! it. Its own test goes along; its script stays.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::bail;
use hookwright_settings::edit::{EditError, json_splice, rewrite};

use super::LoadedProject;
use super::declaration::{DeclaringFile, find_declaration, hook_id};
use crate::args::HookRemoveArgs;
use crate::commands::hook_test::{HookTestFile, find_test_files};
use crate::{exit, output};

pub(crate) fn run(toolbox: &LoadedProject, remove: &HookRemoveArgs) -> anyhow::Result<u8> {
    let name = &remove.name;
    let DeclaringFile { file, source, hooks } = find_declaration(toolbox, name, remove.scope)?;
    let file = &file;
    let mut removed = 0;
    rewrite(file, |text| {
        let (text, count) = remove_hook(file, text, name)?;
        removed = count;
        Ok(text)
    })?;
    if removed == 0 {
        bail!("hook `{name}` can't be found in {} as it is written there", file.display());
    }
    let times = if removed == 1 { String::new() } else { format!(", on {removed} events or matchers") };
    output::note(format!("removed hook `{name}` from {}{times} ({source})", file.display()))?;
    if hooks.iter().any(|hook| hook.is_guard()) {
        output::warn(format!("`{name}` was a guard; nothing replaces it"))?;
    }
    report_tests(toolbox, name, file)?;
    let scripts: Vec<String> = hooks.iter().filter_map(|hook| hook.command()).map(output::one_line).collect();
    if let Some(script) = scripts.first() {
        output::hint(format!("the program that it ran is kept: {script}"))?;
    }
    Ok(exit::OK)
}

/// Removes the test that `hooks new` or `hooks add` wrote for the hook, and names other tests that run the hook.
fn report_tests(toolbox: &LoadedProject, name: &str, settings: &Path) -> anyhow::Result<()> {
    let own_folder = settings.with_file_name("hooks");
    let folders =
        [&toolbox.loaded.project.root.join(".gemini"), &toolbox.loaded.project.root.join(".hookwright"), &own_folder];
    let tests: BTreeSet<PathBuf> = folders
        .iter()
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| find_test_files(folder).unwrap_or_default())
        .collect();
    for test in tests {
        let Ok(file) = HookTestFile::read(&test) else { continue };
        // A test with settings of its own does not depend on the entry.
        let own_settings = file.settings.as_ref().map(|path| test.with_file_name("").join(path));
        let reads_entry = own_settings.is_none_or(|path| path.canonicalize().ok() == settings.canonicalize().ok());
        if !reads_entry || !file.cases.iter().any(|case| case.hook.as_deref() == Some(name)) {
            continue;
        }
        let is_only = file.cases.iter().all(|case| case.hook.as_deref() == Some(name));
        let is_own = test == own_folder.join(format!("{name}.hooktest.toml"));
        match is_only && is_own && std::fs::remove_file(&test).is_ok() {
            true => output::note(format!("removed its test {}", test.display()))?,
            false => output::warn(format!("{} still tests `{name}`, which fails from now on", test.display()))?,
        }
    }
    Ok(())
}

/// Returns the text without the hook, and how often it was declared.
///
/// A definition that has no other hooks is removed too, and so is an event's empty list.
pub(super) fn remove_hook(file: &Path, text: &str, name: &str) -> Result<(String, usize), EditError> {
    let mut text = text.to_owned();
    let mut removed = 0;
    while let Some(at) = find_removal_path(file, &text, name)? {
        let Some(shorter) = json_splice::cut(&text, &at) else { break };
        // An emptied file must still be valid settings.
        text = if shorter.trim().is_empty() { "{}\n".to_owned() } else { shorter };
        removed += 1;
    }
    Ok((text, removed))
}

/// Returns the path to cut for one hook of that name: the hook, its definition if it is the only one,
/// or the whole event.
fn find_removal_path(file: &Path, text: &str, name: &str) -> Result<Option<Vec<usize>>, EditError> {
    let tree = json_splice::parse_tree(file, text)?;
    // An extra hook file may hold the events at its top level.
    let (mut path, events) = match tree.get("hooks") {
        Some((at, events)) => (vec![at], events),
        None => (Vec::new(), &tree),
    };
    for (event, (_, definitions)) in events.items().iter().enumerate() {
        for (at, definition) in definitions.elements().iter().enumerate() {
            let Some((key, hooks)) = definition.get("hooks") else { continue };
            let is_it = |hook: &json_splice::JsonTree| hook_id(hook).as_deref() == Some(name);
            let Some(place) = hooks.elements().iter().position(is_it) else { continue };
            path.push(event);
            match (hooks.elements().len(), definitions.elements().len()) {
                (1, 1) => {}
                (1, _) => path.push(at),
                _ => path.extend([at, key, place]),
            }
            return Ok(Some(path));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn removed(text: &str, name: &str) -> (String, usize) {
        remove_hook(Path::new("settings.json"), text, name).unwrap()
    }

    #[test]
    fn comments_and_neighbours_stay() {
        let text = "{\n  // mine\n  \"hooks\": {\n    \"BeforeTool\": [\n      // first\n      { \"hooks\": [{ \"name\": \"a\", \"command\": \"x\" }, { \"name\": \"b\", \"command\": \"y\" }] },\n      { \"matcher\": \"glob\", \"hooks\": [{ \"name\": \"c\", \"command\": \"z\" }] } // last\n    ],\n    \"AfterTool\": [{ \"hooks\": [{ \"name\": \"b\", \"command\": \"y\" }] }]\n  }\n}\n";
        let (without_b, count) = removed(text, "b");
        assert_eq!(count, 2);
        assert!(without_b.contains("// mine") && without_b.contains("// first"), "{without_b}");
        assert!(!without_b.contains("\"b\"") && !without_b.contains("AfterTool"), "{without_b}");
        let (without_c, count) = removed(&without_b, "c");
        assert_eq!((count, without_c.contains("glob")), (1, false), "{without_c}");
        let (nothing, count) = removed(&without_c, "a");
        assert_eq!((count, nothing.contains("BeforeTool"), nothing.contains("// mine")), (1, false, true), "{nothing}");
        assert_eq!(removed(&nothing, "a"), (nothing.clone(), 0));
    }

    #[test]
    fn a_hook_without_a_name_is_its_command() {
        let text = r#"{"hooks": {"BeforeTool": [{"hooks": [{"command": "x y"}]}]}}"#;
        assert_eq!(removed(text, "x y"), (r#"{"hooks": {}}"#.to_owned(), 1));
        let alone =
            "{\n  \"hooks\": {\n    \"BeforeTool\": [\n      {\"hooks\": [{\"command\": \"x y\"}]}\n    ]\n  }\n}\n";
        assert_eq!(removed(alone, "x y"), ("{}\n".to_owned(), 1));
        assert!(remove_hook(Path::new("s.json"), "{", "x").is_err());
    }
}
