//! The generated files: the JSON Schemas under `schemas/`, and the event types of the SDKs, which are printed from
//! them.

mod python;
mod rust;
mod sdk_types;
mod typescript;

use std::path::Path;

use anyhow::Context as _;
use hookwright_hooks::{EventKind, schema};

const GENERATED_NOTE: &str = "Generated from schemas/ (cargo run -p xtask -- generate): do not edit.";

/// A generated file with the text that it should have.
struct GeneratedFile {
    /// Relative to the workspace's folder.
    path: String,
    text: String,
}

/// Writes all generated files.
pub(crate) fn write_files(root: &Path) -> anyhow::Result<()> {
    for GeneratedFile { path, text } in generate_files(root)? {
        let file = root.join(&path);
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder of {path}"))?;
        }
        std::fs::write(&file, text).with_context(|| format!("cannot write {path}"))?;
    }
    Ok(())
}

/// Returns all generated files. It reads the workspace only for a file of which a part is generated.
fn generate_files(root: &Path) -> anyhow::Result<Vec<GeneratedFile>> {
    let whole = |path: &str, text: String| GeneratedFile { path: path.to_owned(), text };
    let document = |path: String, schema: serde_json::Value| GeneratedFile { path, text: format!("{schema:#}\n") };
    let mut files = vec![document("schemas/settings.schema.json".to_owned(), schema::settings())];
    for kind in EventKind::all() {
        files.push(document(format!("schemas/hooks/{kind}.input.schema.json"), schema::hook_input(kind)));
        files.push(document(format!("schemas/hooks/{kind}.output.schema.json"), schema::hook_output(kind)));
    }
    let shapes = sdk_types::read_schemas();
    files.push(whole("sdk/node/types.d.ts", typescript::print_types(&shapes, GENERATED_NOTE)));
    files.push(generate_part(
        root,
        "sdk/node/index.js",
        "// End of what is generated.\n",
        &typescript::print_event_table(&shapes),
    )?);
    files.push(whole("sdk/python/hookwright_hook/_events.py", python::print_event_table(&shapes, GENERATED_NOTE)));
    files.push(whole("sdk/python/hookwright_hook/_types.py", python::print_types(&shapes, GENERATED_NOTE)));
    files.push(whole("crates/sdk/src/events.rs", rust::print_types(&shapes, GENERATED_NOTE)));
    Ok(files)
}

/// Returns a file with a generated part, which is between the note and an end marker.
fn generate_part(root: &Path, path: &str, end: &str, text: &str) -> anyhow::Result<GeneratedFile> {
    let stored = std::fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))?;
    let note = format!("// {GENERATED_NOTE}\n");
    let (head, rest) = stored.split_once(&note).with_context(|| format!("{path} has no line `{}`", note.trim_end()))?;
    let (_, tail) = rest.split_once(end).with_context(|| format!("{path} has no line `{}`", end.trim_end()))?;
    Ok(GeneratedFile { path: path.to_owned(), text: format!("{head}{note}{text}{end}{tail}") })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn generated_files_are_up_to_date() {
        let root = crate::root();
        let is_stale = |file: &GeneratedFile| {
            std::fs::read(root.join(&file.path)).ok().is_none_or(|stored| stored != file.text.as_bytes())
        };
        let stale: Vec<_> = generate_files(&root).unwrap().into_iter().filter(is_stale).map(|file| file.path).collect();
        assert!(stale.is_empty(), "stale: {stale:?}; run `cargo run -p xtask -- generate`");
    }

    /// The schema of a removed event must not stay behind.
    #[test]
    fn schemas_folder_holds_generated_files_only() {
        let root = crate::root();
        let generated: BTreeSet<String> = generate_files(&root).unwrap().into_iter().map(|file| file.path).collect();
        for folder in ["schemas", "schemas/hooks"] {
            for entry in std::fs::read_dir(root.join(folder)).unwrap() {
                let entry = entry.unwrap();
                let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
                assert!(entry.path().is_dir() || generated.contains(&path), "{path} is not generated");
            }
        }
    }

    #[test]
    fn write_files_writes_what_is_compared() {
        let folder = std::env::temp_dir().join(format!("hookwright-xtask-{}", std::process::id()));
        let index = folder.join("sdk/node/index.js");
        std::fs::create_dir_all(index.parent().unwrap()).unwrap();
        std::fs::write(&index, format!("head\n// {GENERATED_NOTE}\nold\n// End of what is generated.\ntail\n"))
            .unwrap();
        write_files(&folder).unwrap();
        for file in generate_files(&folder).unwrap() {
            assert_eq!(std::fs::read_to_string(folder.join(&file.path)).unwrap(), file.text, "{}", file.path);
        }
        let text = std::fs::read_to_string(&index).unwrap();
        assert!(text.starts_with("head\n") && text.ends_with("tail\n") && !text.contains("old"), "{text}");
        std::fs::write(&index, "by hand").unwrap();
        assert!(write_files(&folder).unwrap_err().to_string().contains("index.js has no line"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
