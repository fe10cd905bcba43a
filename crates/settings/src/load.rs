//! Loads everything on disk into one [`LoadedConfig`]. Loading never fails: problems are diagnostics in its registry,
//! other messages are notices.

mod extra_hook_files;
mod hook_files;
mod layer;
mod merge;
mod notices;
mod registry_builder;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hookwright_hooks::{
    Diagnostic, EnvRedaction, ExecEnv, ExecEnvs, FileKind, Hook, Layer, Registry, Source, UnarmedGuard, parse_layer,
};
use serde_json::Map;

use crate::env_file::{self, LayerEnvs};
use crate::extensions::{self, Extension, ExtensionChoice};
use crate::file::{read_text, resolves_inside};
use crate::guard_record;
use crate::mcp;
use crate::notice::Notice;
use crate::paths::{ConfigPaths, GEMINI_DIR};
use crate::process_env::ProcessEnv;
use crate::project_contents::{self, ProjectContent};
use crate::secrets;
use crate::settings::{self, DottedLookup, LayerFindings, OuterSettings, Settings, read_layer};
use crate::trust::{self, FolderTrust, HookTrustReview};
use crate::untrusted_exec_env;
use layer::{LayerFile, LayerTree};
use merge::{merge_layers, merge_layers_over};
use notices::collect_notices;
use registry_builder::{RegistryBuilder, extension_hook_files, guards_of_excluded};

/// Whether the trust of the project's folder is overridden.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrustOverride {
    /// Trust follows the user's settings and records.
    #[default]
    None,
    /// The folder counts as trusted for this run.
    Skip,
}

/// What a configuration is loaded for, which decides how much is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadPurpose {
    /// A session, or a command that shows the configuration: everything is read.
    #[default]
    Session,
    /// The judgement of one event: the contents of the project, which only a session announces, are left out.
    /// They cost a digest of every skill and command.
    Event,
}

/// What to load, as given on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    pub purpose: LoadPurpose,
    /// Root of the project; the working directory if empty.
    pub project: PathBuf,
    /// Whether the folder's trust is overridden.
    pub trust: TrustOverride,
    /// Which extensions are active.
    pub extensions: ExtensionChoice,
    /// The only MCP servers to use, if the command line names some.
    pub mcp_servers: Option<Vec<String>>,
}

/// A project's root and its trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFolder {
    pub root: PathBuf,
    /// Whether the project's files are loaded.
    pub trust: FolderTrust,
}

/// What became of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsFileState {
    /// There is no such file.
    Missing,
    /// The file was loaded; single parts of it may be wrong.
    Loaded,
    /// The file could not be read or parsed, so none of it is used.
    Broken,
    /// The file was skipped because the project is not trusted.
    Untrusted,
}

/// A settings file and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFile {
    /// Layer or extension that the file belongs to.
    pub source: Source,
    /// Path of the file, whether it exists or not.
    pub path: PathBuf,
    pub state: SettingsFileState,
}

/// A loaded configuration.
#[derive(Clone, Debug)]
pub struct LoadedConfig {
    pub(crate) purpose: LoadPurpose,
    /// All settings except the hooks.
    pub settings: Settings,
    /// All hooks, and all diagnostics of the configuration.
    pub registry: Registry,
    pub project: ProjectFolder,
    /// Installed extensions, active or not.
    pub extensions: Vec<Extension>,
    /// Messages for the user.
    pub notices: Vec<Notice>,
    /// Hooks that the user has not reviewed in their present form; they are also among the notices.
    pub reviews: Vec<HookTrustReview>,
    /// Variables to hide from hooks, if any.
    pub redaction: Option<EnvRedaction>,
    /// Parts of the project that run a program or open a connection, whether they are loaded or not.
    pub project_contents: Vec<ProjectContent>,
    /// Paths of the configuration files.
    pub paths: ConfigPaths,
    /// The settings files, highest precedence first.
    pub files: Vec<SettingsFile>,
    /// Guards of files that can't be read or are not trusted.
    pub unarmed_guards: Vec<UnarmedGuard>,
    /// The process environment of the session, with the variables of the `.env` files.
    pub process_env: ProcessEnv,
    pub(crate) mcp_selection: mcp::McpSelection,
    user_scope: UserScope,
}

/// The environment of hooks of the user and the system, which the project cannot influence.
#[derive(Clone, Debug)]
struct UserScope {
    process_env: ProcessEnv,
    redaction: Option<EnvRedaction>,
    /// Extensions that the user's or the system's settings disable.
    disabled_extensions: Vec<String>,
}

impl LoadedConfig {
    /// Returns the environment of the user's and the system's hooks, which the project cannot influence.
    pub(crate) fn user_process_env(&self) -> &ProcessEnv {
        &self.user_scope.process_env
    }

    /// Returns the settings file that enabling and disabling changes: the project's if it was loaded or is broken,
    /// else the user's. A change to a file that is not loaded would have no effect.
    pub fn settings_file(&self) -> &Path {
        let counts = |file: &&SettingsFile| matches!(file.state, SettingsFileState::Loaded | SettingsFileState::Broken);
        let is_own = |file: &&SettingsFile| {
            file.source == Source::Project && FileKind::from_path(&file.path) == FileKind::Settings
        };
        let own = self.files.iter().find(is_own).filter(counts);
        own.map_or(&self.paths.user_settings, |file| &file.path)
    }

    /// Returns the environments that hooks run with.
    ///
    /// Hooks of the user and the system see nothing of the project's `.env`, and the project cannot hide variables
    /// from them. In a folder that is not trusted, these and the extensions' hooks run in a neutral directory.
    pub fn hook_exec_envs(&self) -> ExecEnvs {
        let own = redacted_env(&self.user_scope.process_env, self.user_scope.redaction.as_ref());
        let project = ExecEnv { env: redacted_env(&self.process_env, self.redaction.as_ref()), directory: None };
        if self.project.trust.is_trusted() || self.project.root == self.paths.home {
            return ExecEnvs {
                extensions: project.clone(),
                project,
                user_and_system: ExecEnv { env: own, directory: None },
            };
        }
        let secluded = untrusted_exec_env::untrusted_exec_env(own, &self.project.root, &self.paths);
        ExecEnvs { project, extensions: secluded.clone(), user_and_system: secluded }
    }

    /// Returns the environment of tools: without the model's keys, which no command needs, and without redacted
    /// variables.
    pub fn tool_environment(&self) -> Vec<(OsString, OsString)> {
        let env = redacted_env(&self.process_env, self.redaction.as_ref());
        secrets::without_model_keys(env, &self.settings.security.passed_variables)
    }

    /// Returns the environment for git commands of the program itself, in which git starts no programs that the
    /// repository configures. If the configuration names some that can't be disabled, git finds no repository.
    pub fn git_environment(&self) -> Vec<(OsString, OsString)> {
        untrusted_exec_env::safe_git_env(self.tool_environment(), &self.project.root)
    }

    /// Returns the directory of a session's plans: as the settings or else an extension say, if that is inside of the
    /// project.
    pub fn plans_dir(&self, session_id: &str) -> PathBuf {
        let root = &self.project.root;
        let of_extensions =
            || self.extensions.iter().filter(|one| one.active).find_map(|one| one.plan_directory.as_ref());
        let own = self.settings.general.plan_directory.as_ref().or_else(of_extensions).map(PathBuf::from);
        let own = own.filter(|plans| resolves_inside(root, plans)).map(|plans| trust::normalized(&root.join(plans)));
        own.unwrap_or_else(|| self.paths.plans_dir(root, session_id))
    }

    /// Returns the hooks that the settings of an untrusted folder declare. They are not loaded.
    pub fn hooks_of_untrusted_folder(&self) -> Vec<Hook> {
        let held = self.files.iter().filter(|file| file.state == SettingsFileState::Untrusted);
        let declared = held.filter_map(|file| {
            let text = read_text(&file.path).ok()??;
            Some(parse_layer(&Layer::new(file.source.clone(), &file.path, &text)).hooks)
        });
        declared.flatten().collect()
    }

    /// Returns the reviews of one source's hooks, which a user who installs or updates an extension is shown, and
    /// consents to with [`trust_hooks`](crate::trust::trust_hooks).
    pub fn reviews_of<'s>(&'s self, source: &'s Source) -> impl Iterator<Item = &'s HookTrustReview> {
        self.reviews.iter().filter(move |review| review.hook.source == *source)
    }

    /// Returns the files that may declare hooks: the settings files, and those of active extensions.
    pub(crate) fn files_with_hooks(&self) -> Vec<SettingsFile> {
        self.files.iter().cloned().chain(extension_hook_files(&self.extensions)).collect()
    }

    /// Returns the extension of that name, or else one whose name differs only in case.
    pub fn extension(&self, name: &str) -> Option<&Extension> {
        let all = &self.extensions;
        all.iter().find(|one| one.name == name).or_else(|| all.iter().find(|one| one.name.eq_ignore_ascii_case(name)))
    }

    /// Returns the extensions that settings disable by name.
    pub fn disabled_extensions(&self) -> Vec<String> {
        DottedLookup(&self.settings.raw).strings("extensions.disabled")
    }

    /// Returns the paths to watch for extensions that are added, removed, changed, enabled or disabled.
    pub fn watched_extension_paths(&self) -> Vec<PathBuf> {
        let folders = [self.paths.extensions.clone(), self.paths.project_extensions(&self.project.root)];
        let rules = self.paths.extension_enablement_file();
        let active = self.extensions.iter().filter(|one| one.active);
        let own = active.flat_map(|one| {
            let values = one.install_dir.join(extensions::VALUES_FILE);
            one.hooks_files().into_iter().chain([one.path.join(extensions::MANIFEST_FILE), values])
        });
        folders.into_iter().chain([rules]).chain(own).collect()
    }

    /// Returns the extensions, for the record of guards.
    pub(crate) fn project_extensions(&self) -> guard_record::ProjectExtensions<'_> {
        guard_record::ProjectExtensions {
            project: &self.project.root,
            extensions: &self.extensions,
            disabled: &self.user_scope.disabled_extensions,
        }
    }
}

/// Loads the configuration of a project.
pub fn load(world: &ProcessEnv, options: &LoadOptions) -> LoadedConfig {
    let started = Instant::now();
    let paths = ConfigPaths::new(world);
    let root = trust::normalized(&world.cwd.join(&options.project));
    let mut problems = Vec::new();

    let system = LayerFile::read(Source::System, &paths.system_settings);
    let user = LayerFile::read(Source::User, &paths.user_settings);
    let mut trees = vec![system.parse(), user.parse()];
    let gates = merge_layers(&trees, &LayerEnvs::without_files(world), &root, &mut LayerFindings::default());
    let gate = DottedLookup(&gates).flag("security.folderTrust.enabled", true);
    let trust = trust::folder_trust(world, &paths, &root, options.trust, gate, &mut problems);
    // In the home directory, the project's settings are the user's.
    let own = (root.join(GEMINI_DIR) != paths.user_dir)
        .then(|| LayerFile::read_project(&paths.project_settings(&root), &trust));
    trees.extend(own.as_ref().map(LayerFile::parse));

    let extra_files = extra_hook_files::extra_files(&trees, &paths, own.is_some().then_some(root.as_path()), &trust);
    let more: Vec<LayerTree<'_>> = extra_files.iter().map(LayerFile::parse).collect();
    let excluded = DottedLookup(&gates).strings("advanced.excludedEnvVars");
    let trusted_root = trust.is_trusted().then_some(root.as_path());
    let envs = env_file::load_env_files(world, trusted_root, &paths, &excluded, &mut problems);

    let mut found = LayerFindings::default();
    let outer = merge_layers(&trees[..2], &envs, &root, &mut found);
    let raw = merge_layers_over(outer.clone(), &trees[2..], &envs, &root, &mut found);
    let LayerFindings {
        diagnostics: mut setting_problems,
        ineffective_settings: without_effect,
        server_origins: origins,
    } = found;
    let mut settings =
        Settings { ineffective_settings: without_effect, ..Settings::new(raw, &envs.session, &mut setting_problems) };
    settings.context.restrict_to_outer(&DottedLookup(&outer));
    let outer_redaction = settings::redaction_rules(&DottedLookup(&outer));
    let disabled = DottedLookup(&settings.raw).strings("extensions.disabled");
    let around = extensions::ExtensionScan {
        process_env: &envs.session,
        paths: &paths,
        project: &root,
        is_project_trusted: trust.is_trusted(),
        choice: &options.extensions,
        disabled: &disabled,
    };
    let extensions = extensions::installed_extensions(&around, &mut problems);

    let is_home = own.is_none();
    let claude = extra_hook_files::reads_claude(&trees[..2]);
    let announces = options.purpose == LoadPurpose::Session;
    let (offered, of_project) = match announces && !is_home {
        true => read_project_contents(&paths, &root, &outer, claude),
        false => Default::default(),
    };
    let files: Vec<SettingsFile> =
        extra_hook_files::by_precedence(&trees, &more).into_iter().map(LayerTree::to_settings_file).collect();
    let contents_record =
        announces.then(|| project_contents::ContentsRecord::read(&paths.known_project_contents, &mut problems));
    let disabled = mcp::DisabledServers::read(&paths, &mut problems);
    let known = guard_record::GuardRecord::read(&paths.known_guards, &mut problems);
    let own_dir = Some(root.join(GEMINI_DIR)).filter(|folder| trust.is_trusted() && *folder != paths.user_dir);
    let hooks = RegistryBuilder { paths: &paths, root: &root, envs: &envs, settings: &settings, project_dir: own_dir };
    let all = extra_hook_files::by_precedence(&trees, &more);
    let (mut registry, reviews) = hooks.build(&all, setting_problems, &extensions, problems);
    let project = ProjectFolder { root, trust };
    let with_hooks: Vec<SettingsFile> = files.iter().cloned().chain(extension_hook_files(&extensions)).collect();
    let mut notices = collect_notices(&project, &paths, &files, &registry, &reviews);
    if let Some(record) = contents_record.filter(|_| project.trust.is_trusted()) {
        let news = record.changes(&project.root, &offered);
        notices.extend(news.into_iter().map(|(what, news)| Notice::ProjectContentsChanged { what, news }));
        let unread = !is_home && record.has_unread_notes(&project.root, &settings.context.file_names);
        notices.extend(unread.then_some(Notice::UnreadAgentsFile));
    }
    notices.extend(known.removed_guards(&with_hooks, &registry));
    let mut asleep = known.unarmed_guards(&with_hooks);
    asleep.extend(extensions.iter().filter(|one| one.excluded_by_command_line).flat_map(guards_of_excluded));
    let dismissed = DottedLookup(&outer).strings("extensions.disabled");
    let here =
        guard_record::ProjectExtensions { project: &project.root, extensions: &extensions, disabled: &dismissed };
    asleep.extend(known.guards_of_inactive_extensions(here));
    trust::hold_untrusted(&mut registry, &reviews);
    let redaction = settings.security.redaction.clone();
    let LayerEnvs { user: own_world, session: world } = envs;
    let untrusted = if project.trust.is_trusted() { Vec::new() } else { of_project };
    let mcp = mcp::McpSelection { origins, untrusted, named_on_command_line: options.mcp_servers.clone(), disabled };
    let own = UserScope { process_env: own_world, redaction: outer_redaction, disabled_extensions: dismissed };
    let loaded = LoadedConfig {
        purpose: options.purpose,
        settings,
        registry,
        project,
        extensions,
        notices,
        reviews,
        redaction,
        project_contents: offered,
        paths,
        files,
        unarmed_guards: asleep,
        process_env: world,
        mcp_selection: mcp,
        user_scope: own,
    };
    log_loaded(&loaded, started.elapsed());
    loaded
}

/// Returns the diagnostics that the settings of an untrusted project would have if they were loaded.
pub fn check_untrusted_settings(loaded: &LoadedConfig, file: &Path) -> Vec<Diagnostic> {
    let outer: Vec<LayerFile> =
        [(Source::System, &loaded.paths.system_settings), (Source::User, &loaded.paths.user_settings)]
            .into_iter()
            .map(|(source, path)| LayerFile::read(source, path))
            .chain([LayerFile::read(Source::Project, file)])
            .collect();
    let trees: Vec<LayerTree<'_>> = outer.iter().map(LayerFile::parse).collect();
    let mut found = LayerFindings::default();
    merge_layers(&trees, &LayerEnvs::without_files(&loaded.user_scope.process_env), &loaded.project.root, &mut found);
    found.diagnostics.into_iter().filter(|wrong| wrong.file == *file).collect()
}

/// Returns the settings of the system and the user, against which a project's values are checked.
pub(crate) fn outer_settings(loaded: &LoadedConfig) -> Map<String, serde_json::Value> {
    let files: Vec<LayerFile> =
        [(Source::System, &loaded.paths.system_settings), (Source::User, &loaded.paths.user_settings)]
            .into_iter()
            .map(|(source, path)| LayerFile::read(source, path))
            .collect();
    let trees: Vec<LayerTree<'_>> = files.iter().map(LayerFile::parse).collect();
    let envs = LayerEnvs::without_files(&loaded.user_scope.process_env);
    merge_layers(&trees, &envs, &loaded.project.root, &mut LayerFindings::default())
}

/// Reads what the project's files would add, trusted or not, and the names of its MCP servers. Nothing of it takes
/// effect here.
///
/// Variables are not filled in, so that the user's secrets are neither shown nor stored.
fn read_project_contents(
    paths: &ConfigPaths,
    root: &Path,
    outer: &Map<String, serde_json::Value>,
    user_reads_claude: bool,
) -> (Vec<ProjectContent>, Vec<String>) {
    let file = LayerFile::read(Source::Project, &paths.project_settings(root));
    let tree = file.parse();
    let values = match &tree.document.root {
        Ok(Some(object)) => {
            let (source, outer) = (&tree.document.source, OuterSettings { settings: outer, root });
            read_layer(object, &Source::Project, source, &ProcessEnv::default(), &outer, &mut LayerFindings::default())
        }
        _ => Map::new(),
    };
    let servers = values.get("mcpServers").and_then(serde_json::Value::as_object);
    let servers = servers.into_iter().flat_map(Map::keys).cloned().collect();
    let mut hooks = tree.declared_hooks().hooks;
    hooks.extend(
        extra_hook_files::declared_by_project(&tree, paths, root, user_reads_claude)
            .into_iter()
            .flat_map(|declared| declared.hooks),
    );
    (project_contents::project_contents(&values, &hooks, root, paths), servers)
}

fn log_loaded(loaded: &LoadedConfig, took: Duration) {
    for file in &loaded.files {
        tracing::debug!(path = %file.path.display(), source = %file.source, state = ?file.state, "settings file");
    }
    tracing::debug!(
        project = %loaded.project.root.display(),
        trust = ?loaded.project.trust,
        hooks = loaded.registry.hooks().len(),
        waiting_for_trust = loaded.reviews.iter().filter(|review| review.held).count(),
        diagnostics = loaded.registry.diagnostics().len(),
        extensions = loaded.extensions.iter().filter(|one| one.active).count(),
        ms = took.as_millis(),
        "configuration loaded"
    );
}

fn redacted_env(world: &ProcessEnv, redaction: Option<&EnvRedaction>) -> Vec<(OsString, OsString)> {
    let env = world.env.clone();
    match redaction {
        Some(redaction) => redaction.apply(env),
        None => env,
    }
}
