//! Reads a plugin hook from its JSON object: a package of handlers that the node library serves as a worker.

use jsonc_parser::ast::{Object, Value};

use super::node_reader::NodeReader;
use super::{Layer, worker};
use crate::dialect::Dialect;
use crate::hook::{CommandAction, Source, WorkerAction};
use crate::jsonc::last_property;
use crate::running::invocation::{Invocation, join_command};

/// The node library and the plugin server that uses it, as published to users.
const NODE_LIBRARY_SOURCE: &str = include_str!("../../../../sdk/node/index.js");
const NODE_SERVER_SOURCE: &str = include_str!("../../../../sdk/node/plugin.js");

pub(super) fn read(
    read: &mut NodeReader<'_>,
    layer: &Layer<'_>,
    object: &Object<'_>,
    env: Vec<(String, String)>,
) -> Option<WorkerAction> {
    let package = read_package(read, layer, object)?;
    let folder = package_folder(layer);
    let is_path = package.starts_with(['.', '/']);
    let file = match is_path {
        true if package.starts_with('/') => package.clone(),
        true => format!("{folder}/{package}"),
        // The package is looked up in this folder only, so that the package that runs is the one that is trusted.
        false => format!("{folder}/node_modules/{package}"),
    };
    let invocation = Invocation::from_arguments(
        "node",
        &[&node_options()[..], &[file.clone(), folder]].concat(),
        &join_command("node", &[file]),
    );
    let command = CommandAction {
        command: format!("node {package}"),
        env,
        dialect: Dialect::Gemini,
        invocation,
        confinement: super::hook::read_process_confinement(read, layer, object),
    };
    Some(WorkerAction { command, package: Some(package), config: worker::read_worker_config(read, object) })
}

fn read_package(read: &mut NodeReader<'_>, layer: &Layer<'_>, object: &Object<'_>) -> Option<String> {
    let Some(property) = last_property(object, "package") else {
        let wrong = read.error_at(object.range, "a hook of type \"plugin\" needs `package`; this one never runs");
        read.report(wrong.expected("expected \"package\": a name, or a path such as \"./hooks/plugin.mjs\""));
        return None;
    };
    let Value::StringLit(package) = &property.value else {
        read.report_wrong_type("package", &property.value, "a string");
        return None;
    };
    let filled = |text: String, (name, value): &(String, String)| text.replace(&format!("${{{name}}}"), value);
    let package = layer.placeholders.iter().fold(package.value.trim().to_owned(), filled);
    let climbs = !package.starts_with(['.', '/']) && package.split('/').any(|part| part == "..");
    if package.is_empty() || package.contains(|char: char| char.is_control()) || climbs {
        let wrong = read.error(&property.value, "`package` is neither a package name nor a path; this hook never runs");
        read.report(wrong.expected("expected a name, or a path such as \"./hooks/plugin.mjs\""));
        return None;
    }
    if let Some(path) = suggested_path(&package) {
        let wrong =
            read.error(&property.value, "`package` is a path in a form that is not supported; this hook never runs");
        read.report(wrong.help(format!("write {path}")));
        return None;
    }
    let parts = package.split('/').count();
    if !package.starts_with(['.', '/']) && parts > if package.starts_with('@') { 2 } else { 1 } {
        let wrong = read.error(&property.value, "`package` names a part of a package; this hook never runs");
        let is_file = [".js", ".mjs", ".cjs", ".ts", ".mts"].iter().any(|ending| package.ends_with(ending));
        read.report(wrong.help(match is_file {
            true => format!("a file's path begins with a dot: \"./{package}\", or \"./node_modules/{package}\""),
            false => format!("name its file, as in \"./node_modules/{package}.js\""),
        }));
        return None;
    }
    Some(package)
}

/// The absolute or relative path to write instead of a path in the syntax of a shell or an import.
fn suggested_path(package: &str) -> Option<String> {
    if let Some(rest) = package.strip_prefix("file://") {
        return Some(format!("\"{rest}\""));
    }
    if package.starts_with('~') {
        return Some("the full path, \"/…\"".to_owned());
    }
    let (variable, rest) = package.strip_prefix('$')?.split_once('/')?;
    Some(match variable.trim_matches(['{', '}']) {
        "GEMINI_PROJECT_DIR" | "CLAUDE_PROJECT_DIR" | "GEMINI_CWD" => {
            format!("\"./{rest}\", relative to the project's folder")
        }
        _ => "the path itself, \"./…\" or \"/…\": variables are not replaced here".to_owned(),
    })
}

/// The folder with a layer's packages: the project, the extension, or the folder of the settings file.
fn package_folder(layer: &Layer<'_>) -> String {
    let beside = || layer.file.parent().unwrap_or(layer.file).to_string_lossy().into_owned();
    match &layer.source {
        Source::Project | Source::Runtime => "$GEMINI_PROJECT_DIR".to_owned(),
        Source::Extension(_) => {
            let given = layer.placeholders.iter().find(|(name, _)| name == "extensionPath");
            given.map_or_else(beside, |(_, path)| path.clone())
        }
        Source::User | Source::System => beside(),
    }
}

/// The arguments of node before the package: the server as text, with the library embedded.
fn node_options() -> [String; 3] {
    let library: String = NODE_LIBRARY_SOURCE.bytes().map(percent_encode).collect();
    let server = NODE_SERVER_SOURCE.replace("\"./index.js\"", &format!("\"data:text/javascript,{library}\""));
    // A program given with `--eval` has no file name among its arguments.
    let text = format!("process.argv.splice(1, 0, \"plugin.js\");\n{server}");
    ["--input-type=module", "--eval", &text].map(str::to_owned)
}

/// Percent-encodes a byte for a URL.
fn percent_encode(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_text_contains_the_library() {
        let [_, _, text] = node_options();
        assert!(!text.contains("./index.js"), "the server loads the library in one way alone");
        // The limit keeps the text below the maximum length of one argument.
        assert!(text.len() < 100_000, "{}", text.len());
    }
}
