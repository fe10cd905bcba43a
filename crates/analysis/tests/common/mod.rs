//! The place in which examples of program files run, and how they are compared.

use std::path::Path;

use hookwright_analysis::disk::MemoryDisk;
use hookwright_analysis::effects::{CallPlace, Effects, effects_of_command};
use hookwright_analysis::interpreter::Environment;
use hookwright_analysis::programs::Programs;
use toml::{Table, Value};

/// What a command does in a git repository without files.
pub(crate) fn effects(command: &str, programs: &Programs) -> Effects {
    let disk = MemoryDisk::default()
        .with_file("/project/.git/config", "[core]\n\tbare = false\n")
        .with_directory("/home/user")
        .with_directory("/tmp");
    let place =
        CallPlace { cwd: Path::new("/project"), project: Path::new("/project"), home: Some(Path::new("/home/user")) };
    effects_of_command(command, &place, Environment { disk: &disk, programs, home: place.home, variable: None })
}

/// Compares an example of a program file with what comes out.
pub(crate) fn check_example(example: &Table, programs: &Programs) -> Result<(), String> {
    const LISTS: [&str; 9] =
        ["commands", "reads", "writes", "deletes", "network", "repository", "services", "processes", "privileged"];
    let run = example.get("run").and_then(Value::as_str).ok_or("an example without run")?;
    let known = |key: &str| LISTS.contains(&key) || matches!(key, "run" | "certain" | "flows");
    if let Some(key) = example.keys().find(|key| !known(key)) {
        return Err(format!("{run}: {key} is not a list of effects"));
    }
    let effects = effects(run, programs);
    let certain = example.get("certain").and_then(Value::as_bool).unwrap_or(true);
    let mut differences = Vec::new();
    if effects.is_certain() != certain {
        differences.push(match certain {
            true => format!("it is unsure: {}", effects.reasons().join("; ")),
            false => "it is certain".to_owned(),
        });
    }
    let told = serde_json::to_value(&effects).map_err(|error| error.to_string())?;
    for list in LISTS {
        let expected = match example.get(list) {
            Some(Value::Array(values)) => values.iter().map(shown).collect::<Vec<_>>(),
            Some(Value::Boolean(true)) if list == "privileged" => {
                if effects.privileged.is_empty() {
                    differences.push("nothing is privileged".to_owned());
                }
                continue;
            }
            Some(_) => return Err(format!("{run}: {list}: expected a list")),
            None if list == "commands" || !certain => continue,
            None => Vec::new(),
        };
        let mut expected: Vec<String> = expected;
        let found = told[list].as_array().cloned().unwrap_or_default();
        let text = |value: &serde_json::Value| match value {
            serde_json::Value::Array(words) => {
                words.iter().filter_map(|word| word.as_str()).collect::<Vec<_>>().join(" ")
            }
            other => other.as_str().unwrap_or_default().to_owned(),
        };
        let mut found: Vec<String> = found.iter().map(text).collect();
        expected.sort();
        found.sort();
        if expected != found {
            differences.push(format!("{list}: expected {expected:?}, found {found:?}"));
        }
    }
    if differences.is_empty() { Ok(()) } else { Err(format!("{run}\n    {}", differences.join("\n    "))) }
}

/// A text, or a command's words.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(words) => words.iter().map(shown).collect::<Vec<_>>().join(" "),
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}
