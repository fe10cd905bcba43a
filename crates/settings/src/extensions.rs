//! Extensions on disk: what is installed, which of it is active here, and what it brings.
//!
//! Installing and updating them is not done here.

use std::path::{Path, PathBuf};

use hookwright_hooks::{Diagnostic, Layer, Severity, Source, SourceText};
use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::Ranged;
use serde_json::{Map, Value};

use crate::env_file;
use crate::file::{leads_inside, read_text};
use crate::json::{fill_variables, kind_of, last, parse_map, parse_object, plain};
use crate::mcp;
use crate::paths::Paths;
use crate::steering::steers;
use crate::world::World;

/// Which extensions are active.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ExtensionChoice {
    /// Those that the user has not disabled here.
    #[default]
    Enabled,
    /// These, whatever the user's settings say.
    Only(Vec<String>),
    /// None.
    None,
}

/// An installed extension.
#[derive(Clone, Debug, PartialEq)]
pub struct Extension {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its directory; a linked one's own.
    pub path: PathBuf,
    /// Whether what it brings counts here.
    pub active: bool,
    /// Whether it would be active if it were not for the command line.
    pub left_out: bool,
    /// Its context files that are there.
    pub context_files: Vec<PathBuf>,
    /// Its MCP servers, with variables filled in.
    pub mcp_servers: Map<String, Value>,
    /// Built-in tools that it takes away.
    pub exclude_tools: Vec<String>,
    /// Its own settings, as variables for its hooks.
    pub env: Vec<(String, String)>,
    /// What `${…}` stands for in its files.
    pub placeholders: Vec<(String, String)>,
}

impl Extension {
    /// Its custom commands.
    pub fn commands(&self) -> PathBuf {
        self.path.join("commands")
    }

    /// Its policies.
    pub fn policies(&self) -> PathBuf {
        self.path.join("policies")
    }

    /// Its skills: a folder each, with a `SKILL.md`.
    pub fn skills(&self) -> PathBuf {
        self.path.join("skills")
    }

    /// Its sub-agents: a file each.
    pub fn agents(&self) -> PathBuf {
        self.path.join("agents")
    }

    /// Where its hooks are declared.
    pub fn hooks_file(&self) -> PathBuf {
        self.path.join("hooks").join("hooks.json")
    }

    pub(crate) fn layer<'t>(&self, file: &'t Path, text: &'t str) -> Layer<'t> {
        Layer {
            source: Source::Extension(self.name.clone()),
            file,
            text,
            placeholders: self.placeholders.clone(),
            env: self.env.clone(),
        }
    }
}

/// What decides about extensions, besides their own files.
pub(crate) struct Surroundings<'a> {
    pub(crate) world: &'a World,
    pub(crate) paths: &'a Paths,
    pub(crate) project: &'a Path,
    /// Whether the project's own files count.
    pub(crate) trusted: bool,
    pub(crate) choice: &'a ExtensionChoice,
    /// Names that settings disable.
    pub(crate) disabled: &'a [String],
}

/// All installed extensions, by name.
pub(crate) fn installed(around: &Surroundings<'_>, diagnostics: &mut Vec<Diagnostic>) -> Vec<Extension> {
    let entries = match std::fs::read_dir(&around.paths.extensions) {
        Ok(entries) => entries,
        Err(error) => {
            // Where a home is no directory, nothing is in it.
            let is_missing = around.paths.extensions.symlink_metadata().is_err();
            let nothing = [std::io::ErrorKind::NotFound, std::io::ErrorKind::NotADirectory];
            if !is_missing || !nothing.contains(&error.kind()) {
                let text = format!("the extensions cannot be read, so their hooks are off: {error}");
                diagnostics.push(Diagnostic::about_file(Severity::Error, &around.paths.extensions, text));
            }
            return Vec::new();
        }
    };
    let mut directories: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    directories.sort();
    if directories.is_empty() {
        return Vec::new();
    }
    let rules = enablement(around.paths, diagnostics);
    let mut extensions: Vec<Extension> = Vec::new();
    for directory in directories {
        let Some(extension) = read(&directory, around, &rules, diagnostics) else { continue };
        if extensions.iter().any(|other| other.name == extension.name) {
            let text = format!("another extension is called `{}` too; this one is left out", extension.name);
            diagnostics.push(Diagnostic::about_file(Severity::Error, &directory.join(MANIFEST), text));
        } else {
            extensions.push(extension);
        }
    }
    extensions.sort_by(|one, other| one.name.cmp(&other.name));
    extensions
}

/// What an extension says of itself.
pub(crate) const MANIFEST: &str = "gemini-extension.json";
/// Where an extension came from; a linked one is there.
pub(crate) const INSTALLED: &str = ".gemini-extension-install.json";
/// Which extensions are active where.
pub(crate) const ENABLEMENT: &str = "extension-enablement.json";

fn read(
    directory: &Path,
    around: &Surroundings<'_>,
    rules: &Map<String, Value>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Extension> {
    let path = linked(directory).unwrap_or_else(|| directory.to_owned());
    let file = path.join(MANIFEST);
    let text = match read_text(&file) {
        // A directory without a manifest is no extension; caches and the like live here too.
        Ok(None) => return None,
        Ok(Some(text)) => text,
        Err(error) => {
            diagnostics.push(error.diagnostic());
            return None;
        }
    };
    let text = text.trim_start_matches('\u{feff}');
    let source = SourceText::new(&file, text);
    let root = match parse_object(text, &source) {
        Ok(root) => root?,
        Err(wrong) => {
            diagnostics.push(*wrong);
            return None;
        }
    };
    let mut manifest = Manifest { root: &root, source: &source, diagnostics };
    let name = manifest.required("name")?;
    let version = manifest.required("version")?;
    let env = own_settings(&root, directory, around);
    let separator = std::path::MAIN_SEPARATOR.to_string();
    let placeholders = vec![
        ("extensionPath".to_owned(), path.to_string_lossy().into_owned()),
        ("workspacePath".to_owned(), around.project.to_string_lossy().into_owned()),
        ("/".to_owned(), separator.clone()),
        ("pathSeparator".to_owned(), separator),
    ];
    // Its own settings come before the process's variables.
    let mut world = around.world.clone();
    world.env.splice(0..0, placeholders.iter().chain(&env).map(|(name, value)| (name.into(), value.into())));
    let filled = |node: &Node<'_>| plain(node, &|text| fill_variables(text, &world).into_owned().into());
    let servers = last(&root, "mcpServers").map(|servers| {
        let values = filled(&servers.value);
        let origin = Source::Extension(name.clone());
        manifest.diagnostics.extend(mcp::diagnose(&servers.value, &values, &origin, &source));
        values
    });
    let servers = servers.and_then(|servers| servers.as_object().cloned());
    Some(Extension {
        active: is_active(&name, around, around.choice, rules),
        left_out: !is_active(&name, around, around.choice, rules)
            && is_active(&name, around, &ExtensionChoice::Enabled, rules),
        context_files: context_files(manifest.strings("contextFileName"), &path),
        exclude_tools: manifest.strings("excludeTools").unwrap_or_default(),
        mcp_servers: servers.unwrap_or_default(),
        name,
        version,
        path,
        env,
        placeholders,
    })
}

/// The name of the extension in a directory.
pub(crate) fn named(directory: &Path) -> Option<String> {
    let file = directory.join(MANIFEST);
    let manifest = parse_map(&file, &read_text(&file).ok()??).ok()?;
    Some(manifest.get("name")?.as_str()?.to_owned())
}

/// The directory that a linked extension really lives in.
fn linked(directory: &Path) -> Option<PathBuf> {
    let file = directory.join(INSTALLED);
    let metadata = parse_map(&file, &read_text(&file).ok()??).ok()?;
    (metadata.get("type")?.as_str()? == "link").then_some(())?;
    Some(PathBuf::from(metadata.get("source")?.as_str()?))
}

struct Manifest<'a, 't> {
    root: &'a Object<'t>,
    source: &'a SourceText<'a>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Manifest<'_, '_> {
    fn required(&mut self, name: &str) -> Option<String> {
        let (range, found) = match last(self.root, name) {
            Some(property) => match &property.value {
                Node::StringLit(text) if !text.value.is_empty() => return Some(text.value.clone().into_owned()),
                other => (other.range(), format!("`{name}` should be a string, not {}", kind_of(other))),
            },
            None => (self.root.range, format!("an extension needs `{name}`; this one is left out")),
        };
        let wrong = self.source.diagnose(Severity::Error, range.start, range.end, found);
        self.diagnostics.push(wrong.expected(format!("expected \"{name}\": \"…\"")));
        None
    }

    /// A list of strings, or one.
    fn strings(&mut self, name: &str) -> Option<Vec<String>> {
        let property = last(self.root, name)?;
        let text = |node: &Node<'_>| node.as_string_lit().map(|text| text.value.clone().into_owned());
        let list = match &property.value {
            Node::Array(array) => array.elements.iter().map(text).collect::<Option<Vec<_>>>(),
            other => text(other).map(|one| vec![one]),
        };
        if list.is_none() {
            let range = property.value.range();
            let text = format!("`{name}` should be a string or a list of strings; it is ignored");
            self.diagnostics.push(self.source.diagnose(Severity::Error, range.start, range.end, text));
        }
        list
    }
}

/// The values of the settings that the extension declares: the project's where it is trusted, else the user's.
fn own_settings(root: &Object<'_>, directory: &Path, around: &Surroundings<'_>) -> Vec<(String, String)> {
    let Some(Node::Array(declared)) = last(root, "settings").map(|settings| &settings.value) else { return Vec::new() };
    let names =
        declared.elements.iter().filter_map(|setting| last(setting.as_object()?, "envVar")?.value.as_string_lit());
    let variables =
        |file: PathBuf| read_text(&file).ok().flatten().map(|text| env_file::parse(&text)).unwrap_or_default();
    let user = variables(directory.join(".env"));
    let mut project = if around.trusted { variables(around.project.join(".env")) } else { Vec::new() };
    project.retain(|(name, _)| !steers(name));
    let value =
        |name: &str| project.iter().chain(&user).find(|(known, _)| known == name).map(|(_, value)| value.clone());
    names.filter_map(|name| Some((name.value.clone().into_owned(), value(&name.value)?))).collect()
}

/// Context files that are there; they may not lead out of the extension.
fn context_files(names: Option<Vec<String>>, path: &Path) -> Vec<PathBuf> {
    let names = names.unwrap_or_else(|| vec!["GEMINI.md".to_owned()]);
    let inside = |name: &&String| !name.trim().is_empty() && leads_inside(path, Path::new(name.as_str()));
    names.iter().filter(inside).map(|name| path.join(name)).filter(|file| file.is_file()).collect()
}

fn enablement(paths: &Paths, diagnostics: &mut Vec<Diagnostic>) -> Map<String, Value> {
    let file = paths.extensions.join(ENABLEMENT);
    let text = match read_text(&file) {
        Ok(text) => text.unwrap_or_default(),
        Err(error) => {
            diagnostics.push(error.diagnostic());
            return Map::new();
        }
    };
    parse_map(&file, &text).unwrap_or_else(|wrong| {
        diagnostics.push(*wrong);
        Map::new()
    })
}

fn is_active(name: &str, around: &Surroundings<'_>, choice: &ExtensionChoice, rules: &Map<String, Value>) -> bool {
    match choice {
        ExtensionChoice::None => false,
        ExtensionChoice::Only(names) => names.iter().any(|wanted| wanted.eq_ignore_ascii_case(name)),
        ExtensionChoice::Enabled if around.disabled.iter().any(|disabled| disabled.eq_ignore_ascii_case(name)) => false,
        ExtensionChoice::Enabled => {
            let overrides = rules.get(name).and_then(|rule| rule.get("overrides")).and_then(Value::as_array);
            let overrides = overrides.into_iter().flatten().filter_map(Value::as_str);
            // The last rule that speaks of this folder wins.
            overrides.fold(true, |enabled, rule| applies(rule, around.project).unwrap_or(enabled))
        }
    }
}

/// Whether a rule such as `!/home/me/*` enables or disables in this folder, if it speaks of it.
fn applies(rule: &str, project: &Path) -> Option<bool> {
    let (rule, enables) = rule.strip_prefix('!').map_or((rule, true), |rule| (rule, false));
    let path = format!("/{}/", project.to_string_lossy().replace('\\', "/").trim_matches('/'));
    let matches = match rule.strip_suffix('*') {
        Some(base) => match base.strip_suffix('/') {
            Some(folder) => path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
            None => path.starts_with(base),
        },
        None => path == rule,
    };
    matches.then_some(enables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enablement_rules_speak_of_folders() {
        let speaks = |rule: &str, path: &str| applies(rule, Path::new(path));
        assert_eq!(speaks("/home/me/*", "/home/me"), Some(true));
        assert_eq!(speaks("!/home/me/*", "/home/me/x"), Some(false));
        assert_eq!(speaks("/home/me/*", "/home/mean"), None);
        assert_eq!(speaks("!/home/me/", "/home/me"), Some(false));
        assert_eq!(speaks("!/home/me/", "/home/me/x"), None);
        assert_eq!(speaks("!/*", "/anything"), Some(false));
    }
}
