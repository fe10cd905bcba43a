//! Extensions on disk: what is installed, which of it is active here, and what it brings.
//!
//! `manifest.rs` reads what an extension says of itself, `hook_review.rs` its hooks, `setting_values.rs` the values of its settings,
//! `origin.rs` where it came from, `enablement.rs` where it is active, `name.rs` what it may be called. Fetching and replacing
//! them is not done here.

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
pub use enablement::{forget_extension, switch_extension};
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
    /// Those that the user has not disabled here.
    #[default]
    Enabled,
    /// These, whatever the user's settings say.
    Only(Vec<String>),
    /// None.
    None,
}

/// Whose an extension is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtensionOwner {
    /// The user installed it.
    User,
    /// It came with the project.
    Project,
}

/// An installed extension.
#[derive(Clone, Debug, PartialEq)]
pub struct Extension {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is for.
    pub description: Option<String>,
    /// Its directory; a linked one's own.
    pub path: PathBuf,
    /// Where it is installed, with the values of its settings; the same directory, unless it is linked.
    pub install_dir: PathBuf,
    /// Whose it is.
    pub owner: ExtensionOwner,
    /// Where it came from, if that is known.
    pub origin: Option<ExtensionOrigin>,
    /// Whether what it brings counts here.
    pub active: bool,
    /// Whether it would be active if it were not for the command line.
    pub excluded_by_command_line: bool,
    /// Its context files that are there.
    pub context_files: Vec<PathBuf>,
    /// Its MCP servers, with variables filled in.
    pub mcp_servers: Map<String, Value>,
    /// The same as they are written.
    pub(crate) raw_mcp_servers: Map<String, Value>,
    /// Built-in tools that it takes away.
    pub exclude_tools: Vec<String>,
    /// The settings that it declares.
    pub settings: Vec<ExtensionSetting>,
    /// Their values, as variables for its hooks.
    pub env: Vec<(String, String)>,
    /// Where plans go, if the user's settings do not say.
    pub plan_directory: Option<String>,
    /// Where it has moved to.
    pub moved_to: Option<String>,
    /// What `${…}` stands for in its files.
    pub placeholders: Vec<(String, String)>,
    /// What it says that changes nothing here.
    pub ineffective_settings: Vec<IneffectiveSetting>,
    manifest_hooks: ManifestHooks,
}

impl Extension {
    /// Its custom commands.
    pub fn commands_dir(&self) -> PathBuf {
        self.path.join("commands")
    }

    /// Its policies.
    pub fn policies_dir(&self) -> PathBuf {
        self.path.join("policies")
    }

    /// Its skills: a folder each, with a `SKILL.md`.
    pub fn skills_dir(&self) -> PathBuf {
        self.path.join("skills")
    }

    /// Its sub-agents: a file each.
    pub fn agents_dir(&self) -> PathBuf {
        self.path.join("agents")
    }

    /// A text of one of its files, with `${extensionPath}` and the like filled in; other variables stay.
    pub fn fill_placeholders(&self, text: &str) -> String {
        self.placeholders
            .iter()
            .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${{{name}}}"), value))
    }

    /// The variables that its files see.
    pub(crate) fn extend_env(&self, world: &ProcessEnv) -> ProcessEnv {
        with_extension_env(world, &self.path, &self.placeholders, &self.env)
    }

    /// The extension in a directory, installed or not, as it is written: no variable and no value of its settings is filled in,
    /// only its own path and the project's. Nothing if there is none.
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

/// What decides about extensions, besides their own files.
pub(crate) struct ExtensionScan<'a> {
    pub(crate) process_env: &'a ProcessEnv,
    pub(crate) paths: &'a ConfigPaths,
    pub(crate) project: &'a Path,
    /// Whether the project's own files count.
    pub(crate) is_project_trusted: bool,
    pub(crate) choice: &'a ExtensionChoice,
    /// Names that settings disable.
    pub(crate) disabled: &'a [String],
}

/// All installed extensions, by name; of two with one name the user's counts.
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
        // Commands, trust and disabling go by the name, and some disks know no capitals.
        if let Some(other) = extensions.iter().find(|other| other.name.eq_ignore_ascii_case(&extension.name)) {
            let text = format!("another extension is called `{}` too; this one is left out", other.name);
            diagnostics.push(Diagnostic::about_file(Severity::Error, &directory.join(MANIFEST_FILE), text));
        } else {
            extensions.push(extension);
        }
    }
    extensions.sort_by(|one, other| one.name.cmp(&other.name));
    around.report_unknown_names(&extensions, diagnostics);
    extensions
}

/// The directories in which extensions may be. Drafts of installations that are under way begin with a dot.
fn extension_dirs(folder: &Path, diagnostics: &mut Vec<Diagnostic>) -> Vec<PathBuf> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            // Where a home is no directory, nothing is in it.
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

/// Where an extension is read for.
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

/// Whether an extension counts.
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
    // A project does not load what is outside of it by a link.
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

/// A directory without a manifest is no extension; caches and the like live here too. One that was installed should have one.
fn missing_manifest_error(directory: &Path, path: &Path) -> Option<Diagnostic> {
    if path != directory {
        let text = format!("this links to {}, where there is no extension any more", path.display());
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

/// The variables that a manifest sees: its own settings come before the process's.
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

/// The name of the extension in a directory.
pub(crate) fn extension_name(directory: &Path) -> Option<String> {
    let file = directory.join(MANIFEST_FILE);
    let manifest = parse_map(&file, &read_text(&file).ok()??).ok()?;
    Some(manifest.get("name")?.as_str()?.to_owned())
}

impl ExtensionScan<'_> {
    /// Whoever names an extension expects it to be there.
    fn report_unknown_names(&self, extensions: &[Extension], diagnostics: &mut Vec<Diagnostic>) {
        let ExtensionChoice::Only(names) = self.choice else { return };
        for name in names.iter().filter(|name| !extensions.iter().any(|one| one.name.eq_ignore_ascii_case(name))) {
            let near = extensions.iter().find(|one| strsim::damerau_levenshtein(&one.name, name) <= 2);
            let help = match near {
                Some(near) => format!("did you mean `{}`?", near.name),
                None => "`hookwright extensions list` shows them all".to_owned(),
            };
            let text = format!("no extension is called `{name}`, which the command line names");
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
