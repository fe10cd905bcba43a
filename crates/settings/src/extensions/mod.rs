//! Loads installed extensions, and decides which of them are active in a project.
//!
//! `manifest.rs` reads the manifest, `hooks.rs` the hooks, `setting_values.rs` the values of the extension's
//! settings, `origin.rs` where it came from, `enablement.rs` where it is enabled, and `name.rs` checks its name.
//! Installing and updating is done by the crate `hookwright-extensions`.

mod enablement;
mod hooks;
mod manifest;
mod name;
mod origin;
mod setting_values;

use std::path::{Path, PathBuf};

use hookwright_hooks::{Diagnostic, Severity, SourceText};
use serde_json::{Map, Value};

pub(crate) use enablement::ENABLEMENT_FILE;
use enablement::EnablementRules;
pub use enablement::{forget_extension, set_extension_rule};
use hooks::PLUGIN_ROOT;
pub use manifest::ExtensionSetting;
pub(crate) use manifest::MANIFEST_FILE;
use manifest::{ManifestHooks, ManifestReader};
pub use name::extension_name_problem as wrong_with_extension_name;
pub(crate) use origin::ORIGIN_FILE;
pub use origin::{ExtensionOrigin, OriginKind};
pub(crate) use setting_values::VALUES_FILE;
pub use setting_values::{ValueScope, read_extension_values, write_extension_values};

use crate::file::read_text;
use crate::json::{parse_map, parse_object};
use crate::paths::ConfigPaths;
use crate::process_env::ProcessEnv;
use crate::settings::IneffectiveSetting;

/// Which extensions are active.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ExtensionChoice {
    /// Extensions that the user has not disabled here.
    #[default]
    Enabled,
    /// Exactly these extensions, whatever the user's settings say.
    Only(Vec<String>),
    /// No extension at all.
    None,
}

/// Where an extension is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtensionOwner {
    /// In the user's folder of extensions.
    User,
    /// In the project.
    Project,
}

/// An installed extension, active or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Extension {
    pub name: String,
    pub version: String,
    pub description: Option<String>,
    /// Directory with its files; the target if it is linked.
    pub path: PathBuf,
    /// Directory in which it is installed and the values of its settings are stored; the same as `path` unless it is
    /// linked.
    pub install_dir: PathBuf,
    pub owner: ExtensionOwner,
    /// Where it came from, if that is known.
    pub origin: Option<ExtensionOrigin>,
    /// Whether a session here uses it.
    pub active: bool,
    /// Whether it is inactive only because of the command line.
    pub excluded_by_command_line: bool,
    /// Its context files that exist.
    pub context_files: Vec<PathBuf>,
    /// Its MCP servers, with variables filled in.
    pub mcp_servers: Map<String, Value>,
    /// Its MCP servers as written, without variables filled in.
    pub(crate) raw_mcp_servers: Map<String, Value>,
    /// Built-in tools that it excludes.
    pub exclude_tools: Vec<String>,
    /// The settings that it declares.
    pub settings: Vec<ExtensionSetting>,
    /// Values of its settings, as variables for its hooks.
    pub env: Vec<(String, String)>,
    /// Directory for plans, unless the user's settings name one.
    pub plan_directory: Option<String>,
    /// New address of an extension that has moved.
    pub moved_to: Option<String>,
    /// Names and values that replace `${…}` in its files.
    pub placeholders: Vec<(String, String)>,
    /// Keys of its manifest that have no effect here.
    pub ineffective_settings: Vec<IneffectiveSetting>,
    manifest_hooks: ManifestHooks,
}

impl Extension {
    /// Returns the directory of its custom commands.
    pub fn commands_dir(&self) -> PathBuf {
        self.path.join("commands")
    }

    /// Returns the directory of its policies.
    pub fn policies_dir(&self) -> PathBuf {
        self.path.join("policies")
    }

    /// Returns the directory of its skills: a folder each, with a `SKILL.md`.
    pub fn skills_dir(&self) -> PathBuf {
        self.path.join("skills")
    }

    /// Returns the directory of its sub-agents: a file each.
    pub fn agents_dir(&self) -> PathBuf {
        self.path.join("agents")
    }

    /// Fills in `${extensionPath}` and its other placeholders in a text; other variables stay.
    pub fn fill_placeholders(&self, text: &str) -> String {
        self.placeholders
            .iter()
            .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${{{name}}}"), value))
    }

    /// Returns the environment with its own variables added.
    pub(crate) fn extend_env(&self, world: &ProcessEnv) -> ProcessEnv {
        with_extension_env(world, &self.path, &self.placeholders, &self.env)
    }

    /// Reads the extension in a directory, installed or not, or returns `None` if there is none.
    ///
    /// No variables and setting values are filled in, only the paths of the extension and the project, so that the
    /// result shows the files as written.
    pub fn read_raw(directory: &Path, project: &Path, diagnostics: &mut Vec<Diagnostic>) -> Option<Extension> {
        let (world, values) = (&ProcessEnv::default(), SettingValuesMode::Skip);
        let place = ExtensionReadContext {
            process_env: world,
            project,
            is_project_trusted: false,
            owner: ExtensionOwner::User,
            values,
        };
        read_extension(
            directory,
            &place,
            |_| ExtensionActivity { active: true, excluded_by_command_line: false },
            diagnostics,
        )
    }
}

/// Inputs that decide which extensions are loaded and active.
pub(crate) struct ExtensionScan<'a> {
    pub(crate) process_env: &'a ProcessEnv,
    pub(crate) paths: &'a ConfigPaths,
    pub(crate) project: &'a Path,
    /// Whether extensions of the project are loaded.
    pub(crate) is_project_trusted: bool,
    pub(crate) choice: &'a ExtensionChoice,
    /// Names that the settings disable.
    pub(crate) disabled: &'a [String],
}

/// Reads all installed extensions, sorted by name; of two with one name the user's is loaded.
pub(crate) fn installed_extensions(around: &ExtensionScan<'_>, diagnostics: &mut Vec<Diagnostic>) -> Vec<Extension> {
    let user = extension_dirs(&around.paths.extensions, diagnostics);
    let own = around.paths.project_extensions(around.project);
    let is_own = around.is_project_trusted && own != around.paths.extensions;
    let project = if is_own { extension_dirs(&own, diagnostics) } else { Vec::new() };
    if user.is_empty() && project.is_empty() {
        around.report_unknown_names(&[], diagnostics);
        return Vec::new();
    }
    let rules = EnablementRules::read(around.paths, diagnostics);
    let owned = |owner| move |directory| (owner, directory);
    let all = user.into_iter().map(owned(ExtensionOwner::User));
    let all = all.chain(project.into_iter().map(owned(ExtensionOwner::Project)));
    let mut extensions: Vec<Extension> = Vec::new();
    for (owner, directory) in all {
        let place = ExtensionReadContext {
            process_env: around.process_env,
            project: around.project,
            is_project_trusted: around.is_project_trusted,
            owner,
            values: SettingValuesMode::Read,
        };
        let activity = |name: &str| around.activity(name, &rules);
        let Some(extension) = read_extension(&directory, &place, activity, diagnostics) else { continue };
        // Names are compared without case, because commands, trust and disabling go by name, and some file systems
        // ignore case.
        if let Some(other) = extensions.iter().find(|other| other.name.eq_ignore_ascii_case(&extension.name)) {
            let text = format!("another extension is also called `{}`; this one is left out", other.name);
            diagnostics.push(Diagnostic::about_file(Severity::Error, &directory.join(MANIFEST_FILE), text));
        } else {
            extensions.push(extension);
        }
    }
    extensions.sort_by(|one, other| one.name.cmp(&other.name));
    around.report_unknown_names(&extensions, diagnostics);
    extensions
}

/// Lists the directories that may be extensions. Hidden ones are left out, such as drafts of running installations.
fn extension_dirs(folder: &Path, diagnostics: &mut Vec<Diagnostic>) -> Vec<PathBuf> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            // If the home is no directory, no extensions are installed.
            let is_missing = folder.symlink_metadata().is_err();
            let nothing = [std::io::ErrorKind::NotFound, std::io::ErrorKind::NotADirectory];
            if !is_missing || !nothing.contains(&error.kind()) {
                let text = format!("the extensions cannot be read, so their hooks are off: {error}");
                diagnostics.push(Diagnostic::about_file(Severity::Error, folder, text));
            }
            return Vec::new();
        }
    };
    let is_hidden = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let all = entries.flatten().map(|entry| entry.path());
    let mut directories: Vec<_> = all.filter(|path| path.is_dir() && !is_hidden(path)).collect();
    directories.sort();
    directories
}

/// Inputs of reading one extension.
struct ExtensionReadContext<'a> {
    process_env: &'a ProcessEnv,
    project: &'a Path,
    is_project_trusted: bool,
    owner: ExtensionOwner,
    values: SettingValuesMode,
}

/// Whether the values of an extension's settings are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SettingValuesMode {
    Read,
    Skip,
}

/// Whether an extension is active.
struct ExtensionActivity {
    active: bool,
    excluded_by_command_line: bool,
}

fn read_extension(
    directory: &Path,
    place: &ExtensionReadContext<'_>,
    activity: impl Fn(&str) -> ExtensionActivity,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Extension> {
    let origin = ExtensionOrigin::read(directory);
    // In a project, links to folders outside of it are not followed.
    let linked = origin.as_ref().and_then(ExtensionOrigin::link_target).filter(|_| place.owner == ExtensionOwner::User);
    let path = linked.unwrap_or_else(|| directory.to_owned());
    let file = path.join(MANIFEST_FILE);
    let text = match read_text(&file) {
        Ok(None) => {
            diagnostics.extend(missing_manifest_error(directory, &path));
            return None;
        }
        Ok(Some(text)) => text,
        Err(error) => {
            diagnostics.push(error.diagnostic());
            return None;
        }
    };
    let text = text.trim_start_matches('\u{feff}');
    let source = SourceText::new(&file, text);
    let root = match parse_object(text, &source) {
        Ok(Some(root)) => root,
        Ok(None) => {
            let text = "this manifest is empty, so the extension is left out";
            let wrong = Diagnostic::about_file(Severity::Error, &file, text);
            diagnostics.push(wrong.help("it needs at least `{\"name\": \"NAME\", \"version\": \"1.0.0\"}`"));
            return None;
        }
        Err(wrong) => {
            diagnostics.push(*wrong);
            return None;
        }
    };
    let mut reader = ManifestReader { root: &root, source: &source, path: &path, diagnostics };
    let settings = reader.read_settings();
    let mut env =
        setting_values::effective_values(&settings, directory, place.is_project_trusted.then_some(place.project));
    if place.values == SettingValuesMode::Skip {
        env.clear();
    } else if place.owner == ExtensionOwner::Project {
        env.retain(|(name, _)| !crate::dangerous_env::is_dangerous_variable(name));
    }
    let placeholders = placeholders(&path, place.project);
    let manifest =
        reader.read_manifest(settings, &with_extension_env(place.process_env, &path, &placeholders, &env))?;
    let ExtensionActivity { active, excluded_by_command_line: left_out } = activity(&manifest.name);
    Some(Extension {
        active,
        excluded_by_command_line: left_out,
        name: manifest.name,
        version: manifest.version,
        description: manifest.description,
        context_files: manifest.context_files,
        mcp_servers: manifest.mcp_servers,
        raw_mcp_servers: manifest.raw_mcp_servers,
        exclude_tools: manifest.exclude_tools,
        settings: manifest.settings,
        plan_directory: manifest.plan_directory,
        moved_to: manifest.moved_to,
        ineffective_settings: manifest.ineffective_settings,
        manifest_hooks: manifest.hooks,
        install_dir: directory.to_owned(),
        owner: place.owner,
        origin,
        path,
        env,
        placeholders,
    })
}

/// Returns the error for a missing manifest.
///
/// A directory without a manifest is silently ignored, unless it is linked, was installed or holds hooks.
fn missing_manifest_error(directory: &Path, path: &Path) -> Option<Diagnostic> {
    if path != directory {
        let text = format!("this links to {}, which no longer holds an extension", path.display());
        let wrong = Diagnostic::about_file(Severity::Error, &directory.join(ORIGIN_FILE), text);
        return Some(wrong.help("put it back, or run `hookwright extensions uninstall`"));
    }
    let is_one = directory.join("hooks").join("hooks.json").is_file() || directory.join(ORIGIN_FILE).is_file();
    let text = "an extension without a manifest is not loaded, nor are its hooks";
    is_one.then(|| Diagnostic::about_file(Severity::Error, &directory.join(MANIFEST_FILE), text))
}

fn placeholders(path: &Path, project: &Path) -> Vec<(String, String)> {
    let separator = std::path::MAIN_SEPARATOR.to_string();
    vec![
        ("extensionPath".to_owned(), path.to_string_lossy().into_owned()),
        ("workspacePath".to_owned(), project.to_string_lossy().into_owned()),
        ("/".to_owned(), separator.clone()),
        ("pathSeparator".to_owned(), separator),
    ]
}

/// Returns the environment that a manifest sees; values of its settings win over process variables.
fn with_extension_env(
    world: &ProcessEnv,
    path: &Path,
    placeholders: &[(String, String)],
    env: &[(String, String)],
) -> ProcessEnv {
    let mut world = world.clone();
    let root = (PLUGIN_ROOT.into(), path.into());
    let own = placeholders.iter().chain(env).map(|(name, value)| (name.into(), value.into()));
    world.env.splice(0..0, own.chain([root]));
    world
}

/// Returns the name of the extension in a directory.
pub(crate) fn extension_name(directory: &Path) -> Option<String> {
    let file = directory.join(MANIFEST_FILE);
    let manifest = parse_map(&file, &read_text(&file).ok()??).ok()?;
    Some(manifest.get("name")?.as_str()?.to_owned())
}

impl ExtensionScan<'_> {
    /// Warns about names on the command line that are no extension.
    fn report_unknown_names(&self, extensions: &[Extension], diagnostics: &mut Vec<Diagnostic>) {
        let ExtensionChoice::Only(names) = self.choice else { return };
        for name in names.iter().filter(|name| !extensions.iter().any(|one| one.name.eq_ignore_ascii_case(name))) {
            let near = extensions.iter().find(|one| strsim::damerau_levenshtein(&one.name, name) <= 2);
            let help = match near {
                Some(near) => format!("did you mean `{}`?", near.name),
                None => "`hookwright extensions list` shows them all".to_owned(),
            };
            let text = format!("the command line names the extension `{name}`, but there is no such extension");
            diagnostics.push(Diagnostic::about_file(Severity::Warning, &self.paths.extensions, text).help(help));
        }
    }

    fn activity(&self, name: &str, rules: &EnablementRules) -> ExtensionActivity {
        let active = self.is_active(name, self.choice, rules);
        ExtensionActivity {
            active,
            excluded_by_command_line: !active && self.is_active(name, &ExtensionChoice::Enabled, rules),
        }
    }

    fn is_active(&self, name: &str, choice: &ExtensionChoice, rules: &EnablementRules) -> bool {
        match choice {
            ExtensionChoice::None => false,
            ExtensionChoice::Only(names) => names.iter().any(|wanted| wanted.eq_ignore_ascii_case(name)),
            ExtensionChoice::Enabled => {
                let is_disabled = self.disabled.iter().any(|disabled| disabled.eq_ignore_ascii_case(name));
                !is_disabled && rules.is_enabled(name, self.project)
            }
        }
    }
}
