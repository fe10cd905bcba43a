//! Parses the manifest `gemini-extension.json` key by key; each problem has its position.
//!
//! A mistake invalidates only its key, but an extension without a name or a version is not loaded. The other files of
//! an extension are read elsewhere.

use std::path::{Path, PathBuf};

use hookwright_hooks::{Diagnostic, Severity, Source, SourceText};
use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::{Range, Ranged};
use serde_json::{Map, Value};

use super::name::extension_name_problem;
use crate::dangerous_env::is_dangerous_variable;
use crate::file::resolves_inside;
use crate::json::{fill_variables, last_property, to_value, value_kind};
use crate::mcp;
use crate::process_env::ProcessEnv;
use crate::settings::IneffectiveSetting;

pub(crate) const MANIFEST_FILE: &str = "gemini-extension.json";

/// Known keys of a manifest.
const MANIFEST_KEYS: [&str; 11] = [
    "name",
    "version",
    "description",
    "mcpServers",
    "contextFileName",
    "excludeTools",
    "settings",
    "plan",
    "hooks",
    "themes",
    "migratedTo",
];

/// A setting that an extension declares: a variable for its hooks and servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionSetting {
    /// Display name of the setting.
    pub name: String,
    pub description: String,
    /// Name of the environment variable.
    pub variable: String,
    /// Whether the value is secret and must not be shown.
    pub sensitive: bool,
    /// Value if the user sets none.
    pub default: Option<String>,
}

/// Where a manifest declares hooks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ManifestHooks {
    /// The manifest declares no hooks.
    #[default]
    None,
    /// In the manifest itself.
    Inline,
    /// In this file of the extension.
    File(PathBuf),
}

/// A parsed manifest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Manifest {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) description: Option<String>,
    pub(crate) mcp_servers: Map<String, Value>,
    pub(crate) raw_mcp_servers: Map<String, Value>,
    pub(crate) context_files: Vec<PathBuf>,
    pub(crate) exclude_tools: Vec<String>,
    pub(crate) settings: Vec<ExtensionSetting>,
    pub(crate) plan_directory: Option<String>,
    pub(crate) hooks: ManifestHooks,
    pub(crate) moved_to: Option<String>,
    pub(crate) ineffective_settings: Vec<IneffectiveSetting>,
}

/// Reads a manifest from its parsed text, key by key.
pub(crate) struct ManifestReader<'a, 't> {
    pub(crate) root: &'a Object<'t>,
    pub(crate) source: &'a SourceText<'a>,
    pub(crate) path: &'a Path,
    pub(crate) diagnostics: &'a mut Vec<Diagnostic>,
}

impl ManifestReader<'_, '_> {
    /// Reads the declared settings, whose variables may be used in all other keys.
    pub(crate) fn read_settings(&mut self) -> Vec<ExtensionSetting> {
        let Some(property) = last_property(self.root, "settings") else { return Vec::new() };
        let Node::Array(list) = &property.value else {
            self.wrong_type("settings", &property.value, "a list");
            return Vec::new();
        };
        list.elements.iter().filter_map(|setting| self.read_setting(setting)).collect()
    }

    fn read_setting(&mut self, node: &Node<'_>) -> Option<ExtensionSetting> {
        let Node::Object(object) = node else {
            self.wrong_type("settings", node, "a list of objects");
            return None;
        };
        let variable = self.string_in(object, "envVar");
        let Some(variable) = variable else {
            let wrong = self.error(object.range, "a setting of an extension needs `envVar`; it is left out");
            self.diagnostics.push(wrong.expected("expected \"envVar\": \"NAME\""));
            return None;
        };
        if !is_variable_name(&variable) {
            let text = format!("`{variable}` is not a valid name of a variable; the setting is left out");
            let wrong = self.error(object.range, text);
            self.diagnostics.push(wrong.help("letters, digits and `_`, no digit first"));
            return None;
        }
        let sensitive = match last_property(object, "sensitive").map(|property| &property.value) {
            Some(Node::BooleanLit(boolean)) => boolean.value,
            None | Some(Node::NullKeyword(_)) => false,
            Some(other) => {
                self.wrong_type("sensitive", other, "true or false");
                // If in doubt, the value is not shown.
                true
            }
        };
        Some(ExtensionSetting {
            name: self.string_in(object, "name").unwrap_or_else(|| variable.clone()),
            description: self.string_in(object, "description").unwrap_or_default(),
            default: self.default_value(object, &variable),
            variable,
            sensitive,
        })
    }

    /// Reads `defaultValue`, or `default`. Dangerous variables get no default, because only the user may set them.
    fn default_value(&mut self, object: &Object<'_>, variable: &str) -> Option<String> {
        let property = ["defaultValue", "default"].iter().find_map(|name| last_property(object, name))?;
        let value = match &property.value {
            Node::StringLit(text) => text.value.clone().into_owned(),
            Node::NumberLit(number) => number.value.to_owned(),
            Node::BooleanLit(flag) => flag.value.to_string(),
            _ => return None,
        };
        if is_dangerous_variable(variable) && !value.is_empty() {
            let text = format!("`{variable}` changes how programs run, so an extension can't give it a default");
            let wrong = self.error(property.range, text);
            self.diagnostics.push(wrong.help("give it a value when the extension is installed"));
            return None;
        }
        Some(value).filter(|value| !value.is_empty())
    }

    /// Reads all other keys, with variables filled in from this environment.
    pub(crate) fn read_manifest(mut self, settings: Vec<ExtensionSetting>, world: &ProcessEnv) -> Option<Manifest> {
        self.check_keys();
        let (name, version) = (self.required_string("name"), self.required_string("version"));
        let (name, version) = (name?, version?);
        if let Some(wrong) = extension_name_problem(&name) {
            let range = last_property(self.root, "name").map_or(self.root.range, |property| property.value.range());
            let wrong = self.error(range, format!("`{name}` can't be an extension's name: {wrong}; it is left out"));
            self.diagnostics.push(wrong.expected("expected letters, digits, `-`, `_` and `.`"));
            return None;
        }
        let hooks = self.hooks();
        Some(Manifest {
            version,
            description: self.string_in(self.root, "description"),
            mcp_servers: self.read_servers(&name, world),
            raw_mcp_servers: self.read_raw_servers(),
            context_files: self.context_files(world),
            exclude_tools: self.strings("excludeTools").into_iter().flatten().map(|(text, _)| text).collect(),
            settings,
            plan_directory: self.plan_directory(world),
            hooks,
            moved_to: self.string_in(self.root, "migratedTo"),
            ineffective_settings: self.find_ineffective_settings(),
            name,
        })
    }

    fn required_string(&mut self, name: &str) -> Option<String> {
        let (range, found) = match last_property(self.root, name) {
            Some(property) => match &property.value {
                Node::StringLit(text) if !text.value.is_empty() => return Some(text.value.clone().into_owned()),
                Node::StringLit(text) => (text.range, format!("`{name}` is empty; the extension is left out")),
                other => (
                    other.range(),
                    format!("`{name}` should be a string, not {}; the extension is left out", value_kind(other)),
                ),
            },
            None => (self.root.range, format!("an extension needs `{name}`; this one is left out")),
        };
        let wrong = self.error(range, found);
        self.diagnostics.push(wrong.expected(format!("expected \"{name}\": \"…\"")));
        None
    }

    fn read_servers(&mut self, name: &str, world: &ProcessEnv) -> Map<String, Value> {
        let Some(property) = last_property(self.root, "mcpServers") else { return Map::new() };
        let values = filled_value(&property.value, world);
        let origin = Source::Extension(name.to_owned());
        self.diagnostics.extend(mcp::diagnose_entries(&property.value, &values, &origin, self.source));
        if let Value::Object(servers) = values { servers } else { Map::new() }
    }

    /// Returns the servers before variables are filled in.
    fn read_raw_servers(&self) -> Map<String, Value> {
        let written =
            last_property(self.root, "mcpServers").map(|property| to_value(&property.value, &|text| text.into()));
        if let Some(Value::Object(servers)) = written { servers } else { Map::new() }
    }

    /// Returns the existing context files; they must be inside of the extension.
    fn context_files(&mut self, world: &ProcessEnv) -> Vec<PathBuf> {
        let Some(named) = self.strings("contextFileName") else {
            let usual = self.path.join("GEMINI.md");
            return (usual.is_file() && resolves_inside(self.path, &usual)).then_some(usual).into_iter().collect();
        };
        let mut files = Vec::new();
        for (text, range) in named {
            let name = fill_variables(&text, world).into_owned();
            let file = self.path.join(&name);
            let wrong = if name.trim().is_empty() {
                "a context file has an empty name; it is left out".to_owned()
            } else if !resolves_inside(self.path, Path::new(&name)) {
                format!("context file `{name}` leads out of the extension; it is left out")
            } else if !file.is_file() {
                format!("there is no context file `{name}`")
            } else {
                files.push(file);
                continue;
            };
            self.diagnostics.push(self.source.diagnose(Severity::Warning, range.start, range.end, wrong));
        }
        files
    }

    fn plan_directory(&mut self, world: &ProcessEnv) -> Option<String> {
        let property = last_property(self.root, "plan")?;
        let Node::Object(plan) = &property.value else {
            self.wrong_type("plan", &property.value, "an object");
            return None;
        };
        Some(fill_variables(&self.string_in(plan, "directory")?, world).into_owned())
    }

    /// Returns where the manifest declares hooks, with a warning, because Gemini CLI ignores them there and a guard
    /// may be among them.
    fn hooks(&mut self) -> ManifestHooks {
        let Some(property) = last_property(self.root, "hooks") else { return ManifestHooks::None };
        let warning = |text: String| {
            let range = property.name.range();
            let wrong = self.source.diagnose(Severity::Warning, range.start, range.end, text);
            wrong.help("move them to hooks/hooks.json, inside `\"hooks\"`")
        };
        match &property.value {
            Node::Object(object) if object.properties.is_empty() => ManifestHooks::None,
            Node::Object(_) => {
                let text = "hooks in the manifest work here, but Gemini CLI ignores them".to_owned();
                self.diagnostics.push(warning(text));
                ManifestHooks::Inline
            }
            Node::StringLit(text) => {
                let name = text.value.as_ref();
                let file = self.path.join(name);
                if !resolves_inside(self.path, Path::new(name)) || !file.is_file() {
                    let text = format!(
                        "`hooks` names `{name}`, but the extension has no such file; no hooks are read from it"
                    );
                    let wrong = self.error(property.value.range(), text);
                    self.diagnostics.push(wrong);
                    return ManifestHooks::None;
                }
                self.diagnostics.push(warning(format!("hooks in `{name}` work here, but Gemini CLI ignores them")));
                ManifestHooks::File(file)
            }
            Node::NullKeyword(_) => ManifestHooks::None,
            other => {
                self.wrong_type("hooks", other, "an object");
                ManifestHooks::None
            }
        }
    }

    fn find_ineffective_settings(&self) -> Vec<IneffectiveSetting> {
        let unused: [(&'static str, &'static str); 5] = [
            ("themes", "the terminal's own colours are used"),
            ("skillsPath", "skills are read from skills/"),
            ("agentsPath", "agents are read from agents/"),
            ("commandsPath", "commands are read from commands/"),
            ("policiesPath", "policies are read from policies/"),
        ];
        let found = unused.into_iter().filter_map(|(key, because)| {
            let property = last_property(self.root, key)?;
            // A key that names the default folder has its effect.
            let named =
                property.value.as_string_lit().map(|text| text.value.trim_start_matches("./").trim_end_matches('/'));
            if named.is_some_and(|named| key.strip_suffix("Path") == Some(named)) {
                return None;
            }
            let range = property.name.range();
            let text = format!("`{key}` has no effect here: {because}");
            let diagnostic = self.source.diagnose(Severity::Warning, range.start, range.end, text);
            Some(IneffectiveSetting { key: key.to_owned(), reason: because, diagnostic })
        });
        found.collect()
    }

    /// Reads a string or a list of strings, each with its position.
    fn strings(&mut self, name: &str) -> Option<Vec<(String, Range)>> {
        let other = || last_property(self.root, self.alternative_name(name)?);
        let property = last_property(self.root, name).or_else(other)?;
        let text = |node: &Node<'_>| node.as_string_lit().map(|text| (text.value.clone().into_owned(), text.range));
        let list = match &property.value {
            Node::Array(array) => array.elements.iter().map(text).collect::<Option<Vec<_>>>(),
            Node::NullKeyword(_) => return None,
            other => text(other).map(|one| vec![one]),
        };
        if list.is_none() {
            let text = format!("`{name}` should be a string or a list of strings; it is ignored");
            let wrong = self.error(property.value.range(), text);
            self.diagnostics.push(wrong);
        }
        list
    }

    fn string_in(&mut self, object: &Object<'_>, name: &str) -> Option<String> {
        match &last_property(object, name)?.value {
            Node::StringLit(text) if !text.value.is_empty() => Some(text.value.clone().into_owned()),
            Node::StringLit(_) | Node::NullKeyword(_) => None,
            other => {
                self.wrong_type(name, other, "a string");
                None
            }
        }
    }

    /// Reports keys that are close to a known one as typing mistakes; any other key may belong to another program.
    fn check_keys(&mut self) {
        for property in &self.root.properties {
            let name = property.name.as_str();
            if MANIFEST_KEYS.contains(&name) {
                continue;
            }
            let Some(near) = MANIFEST_KEYS.iter().find(|known| is_misspelling_of(name, known)) else { continue };
            let (text, help) = if self.alternative_name(near) == Some(name) {
                let text = format!("`{name}` is read as `{near}`, the correct name; Gemini CLI ignores it");
                (text, format!("write `{near}`"))
            } else {
                (
                    format!("`{name}` is not a key of an extension's manifest; it is ignored"),
                    format!("did you mean `{near}`?"),
                )
            };
            let range = property.name.range();
            let wrong = self.source.diagnose(Severity::Warning, range.start, range.end, text);
            self.diagnostics.push(wrong.help(help));
        }
    }

    /// Returns the misspelled name under which a key is present. Only keys are searched for whose loss would matter:
    /// the model's context and the excluded tools.
    fn alternative_name(&self, key: &str) -> Option<&str> {
        let missed = ["contextFileName", "excludeTools"].contains(&key) && last_property(self.root, key).is_none();
        let names = self.root.properties.iter().map(|property| property.name.as_str());
        names.filter(|name| missed && !MANIFEST_KEYS.contains(name)).find(|name| is_misspelling_of(name, key))
    }

    fn wrong_type(&mut self, name: &str, node: &Node<'_>, expected: &str) {
        let text = format!("`{name}` should be {expected}, not {}; it is ignored", value_kind(node));
        let wrong = self.error(node.range(), text);
        self.diagnostics.push(wrong.expected(format!("expected {expected}")));
    }

    fn error(&self, range: Range, text: impl Into<String>) -> Diagnostic {
        self.source.diagnose(Severity::Error, range.start, range.end, text)
    }
}

/// Whether a name is a misspelling of a key.
fn is_misspelling_of(name: &str, key: &str) -> bool {
    let near = key.len() >= 5 && strsim::damerau_levenshtein(name, key) <= 2;
    name.eq_ignore_ascii_case(key) || near || is_plural(name, key)
}

/// Whether two names differ only in case, separators or a plural, such as `contextFiles`, `contextFileNames`,
/// `mcp_servers`.
fn is_plural(name: &str, known: &str) -> bool {
    let plain = |text: &str| text.to_ascii_lowercase().replace(['_', '-'], "").trim_end_matches('s').to_owned();
    let (name, known) = (plain(name), plain(known));
    name == known || (known == "contextfilename" && name == "contextfile")
}

fn is_variable_name(name: &str) -> bool {
    let fine = |char: char| char.is_ascii_alphanumeric() || char == '_';
    name.chars().all(fine) && !name.starts_with(|char: char| char.is_ascii_digit())
}

/// Converts a node to a JSON value with variables filled in.
fn filled_value(node: &Node<'_>, world: &ProcessEnv) -> Value {
    to_value(node, &|text| fill_variables(text, world).into_owned().into())
}
