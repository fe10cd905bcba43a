//! Everything on disk → one [`LoadedConfig`] configuration. Never fails: what is wrong is a diagnostic in its registry,
//! what is noteworthy a notice.

mod extra_hook_files;
mod hook_files;
mod layer;
mod merge;
mod notices;
mod registry_builder;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hookwright_hooks::{Diagnostic, EnvRedaction, ExecEnv, ExecEnvs, FileKind, Registry, Source, UnarmedGuard};
use serde_json::Map;

use crate::env_file::{self, LayerEnvs};
use crate::extensions::{self, Extension, ExtensionChoice};
use crate::file::resolves_inside;
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

/// Whether a folder's trust is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrustOverride {
    /// As the user's settings and records say.
    #[default]
    None,
    /// This folder counts as trusted, for now.
    Skip,
}

/// What to load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// The project's root; the working directory if empty.
    pub project: PathBuf,
    /// Whether its trust is asked for.
    pub trust: TrustOverride,
    /// Which extensions are active.
    pub extensions: ExtensionChoice,
    /// The only MCP servers that count, if the command line names some.
    pub mcp_servers: Option<Vec<String>>,
}

/// A project and whether its own files count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFolder {
    /// Its root.
    pub root: PathBuf,
    /// Whether its own files count.
    pub trust: FolderTrust,
}

/// What became of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsFileState {
    /// There is none.
    Missing,
    /// It counts; single parts of it may be wrong.
    Loaded,
    /// It could not be read or parsed, and nothing of it counts.
    Broken,
    /// It was left out because the project is not trusted.
    Untrusted,
}

/// A settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFile {
    /// Whose it is.
    pub source: Source,
    /// Where it is, or would be.
    pub path: PathBuf,
    /// What became of it.
    pub state: SettingsFileState,
}

/// A configuration.
#[derive(Clone, Debug)]
pub struct LoadedConfig {
    /// All settings but the hooks.
    pub settings: Settings,
    /// All hooks, and everything that is wrong with the configuration.
    pub registry: Registry,
    /// The project.
    pub project: ProjectFolder,
    /// Installed extensions, active or not.
    pub extensions: Vec<Extension>,
    /// What the user should be told.
    pub notices: Vec<Notice>,
    /// Hooks that the user has not seen as they are now; also among the notices.
    pub reviews: Vec<HookTrustReview>,
    /// Which variables hooks may not see, if any are kept from them.
    pub redaction: Option<EnvRedaction>,
    /// What the project brings that runs or opens something, whether it counts or not.
    pub project_contents: Vec<ProjectContent>,
    /// Where things are.
    pub paths: ConfigPaths,
    /// The settings files, highest precedence first.
    pub files: Vec<SettingsFile>,
    /// The guards of files that can't be read, or that trust keeps out.
    pub unarmed_guards: Vec<UnarmedGuard>,
    /// The world as the session should see it: with the variables of the `.env` files that count.
    pub process_env: ProcessEnv,
    pub(crate) mcp_selection: mcp::McpSelection,
    user_scope: UserScope,
}

/// What hooks of the user and the system see, in which the project has no say.
#[derive(Clone, Debug)]
struct UserScope {
    process_env: ProcessEnv,
    redaction: Option<EnvRedaction>,
    /// Extensions that they disable.
    disabled_extensions: Vec<String>,
}

impl LoadedConfig {
    /// What the user and the system see, in which the project has no say.
    pub(crate) fn user_process_env(&self) -> &ProcessEnv {
        &self.user_scope.process_env
    }

    /// The settings file that enabling and disabling changes: the workspace's where it has any that counts, else the
    /// user's. A change to a file that is not loaded would be a change without effect.
    pub fn settings_file(&self) -> &Path {
        let counts = |file: &&SettingsFile| matches!(file.state, SettingsFileState::Loaded | SettingsFileState::Broken);
        let is_own = |file: &&SettingsFile| {
            file.source == Source::Project && FileKind::from_path(&file.path) == FileKind::Settings
        };
        let own = self.files.iter().find(is_own).filter(counts);
        own.map_or(&self.paths.user_settings, |file| &file.path)
    }

    /// What hooks run with. Those of the user and the system see nothing of the project's `.env`, and nothing is kept
    /// from them because the project says so. Where the folder is not trusted, no hook runs in it.
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

    /// The environment of tools: without the model's keys, which no command needs, and without what redaction keeps.
    pub fn tool_environment(&self) -> Vec<(OsString, OsString)> {
        let env = redacted_env(&self.process_env, self.redaction.as_ref());
        secrets::without_model_keys(env, &self.settings.security.passed_variables)
    }

    /// What git is run with for the program itself: it starts no programs of the repository's. Where its configuration names
    /// some that can't be switched off, it finds no repository.
    pub fn git_environment(&self) -> Vec<(OsString, OsString)> {
        untrusted_exec_env::safe_git_env(self.tool_environment(), &self.project.root)
    }

    /// A session's plans: where the settings say, else an extension, if that is inside the project.
    pub fn plans_dir(&self, session_id: &str) -> PathBuf {
        let root = &self.project.root;
        let of_extensions =
            || self.extensions.iter().filter(|one| one.active).find_map(|one| one.plan_directory.as_ref());
        let own = self.settings.general.plan_directory.as_ref().or_else(of_extensions).map(PathBuf::from);
        let own = own.filter(|plans| resolves_inside(root, plans)).map(|plans| trust::normalized(&root.join(plans)));
        own.unwrap_or_else(|| self.paths.plans_dir(root, session_id))
    }

    /// The reviews of one source's hooks: what a user who installs or updates an extension is shown, and consents to
    /// with [`trust_hooks`](crate::trust::trust_hooks).
    pub fn reviews_of<'s>(&'s self, source: &'s Source) -> impl Iterator<Item = &'s HookTrustReview> {
        self.reviews.iter().filter(move |review| review.hook.source == *source)
    }

    /// The files that hooks can stand in: settings, and those of active extensions.
    pub(crate) fn files_with_hooks(&self) -> Vec<SettingsFile> {
        self.files.iter().cloned().chain(extension_hook_files(&self.extensions)).collect()
    }

    /// The extensions that settings switch off by name.
    pub fn disabled_extensions(&self) -> Vec<String> {
        DottedLookup(&self.settings.raw).strings("extensions.disabled")
    }

    /// What to look at to notice that extensions come, go, change or are switched.
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

    /// The extensions, for the record of guards.
    pub(crate) fn project_extensions(&self) -> guard_record::ProjectExtensions<'_> {
        guard_record::ProjectExtensions {
            project: &self.project.root,
            extensions: &self.extensions,
            disabled: &self.user_scope.disabled_extensions,
        }
    }
}

/// Loads a configuration.
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

    let beside = extra_hook_files::extra_files(&trees, &paths, own.is_some().then_some(root.as_path()), &trust);
    let more: Vec<LayerTree<'_>> = beside.iter().map(LayerFile::parse).collect();
    let excluded = DottedLookup(&gates).strings("advanced.excludedEnvVars");
    let trusted_root = trust.is_trusted().then_some(root.as_path());
    let worlds = env_file::load_env_files(world, trusted_root, &paths, &excluded, &mut problems);

    let mut found = LayerFindings::default();
    let outer = merge_layers(&trees[..2], &worlds, &root, &mut found);
    let raw = merge_layers_over(outer.clone(), &trees[2..], &worlds, &root, &mut found);
    let LayerFindings {
        diagnostics: mut setting_problems,
        ineffective_settings: without_effect,
        server_origins: origins,
    } = found;
    let mut settings =
        Settings { ineffective_settings: without_effect, ..Settings::new(raw, &worlds.session, &mut setting_problems) };
    settings.context.restrict_to_outer(&DottedLookup(&outer));
    let outer_redaction = settings::redaction_rules(&DottedLookup(&outer));
    let disabled = DottedLookup(&settings.raw).strings("extensions.disabled");
    let around = extensions::ExtensionScan {
        process_env: &worlds.session,
        paths: &paths,
        project: &root,
        is_project_trusted: trust.is_trusted(),
        choice: &options.extensions,
        disabled: &disabled,
    };
    let extensions = extensions::installed_extensions(&around, &mut problems);

    let is_home = own.is_none();
    let claude = extra_hook_files::reads_claude(&trees[..2]);
    let (offered, of_project) =
        if is_home { Default::default() } else { read_project_contents(&paths, &root, &outer, claude) };
    let files: Vec<SettingsFile> =
        extra_hook_files::by_precedence(&trees, &more).into_iter().map(LayerTree::to_settings_file).collect();
    let told = project_contents::ContentsRecord::read(&paths.known_project_contents, &mut problems);
    let disabled = mcp::DisabledServers::read(&paths, &mut problems);
    let known = guard_record::GuardRecord::read(&paths.known_guards, &mut problems);
    let own_dir = Some(root.join(GEMINI_DIR)).filter(|folder| trust.is_trusted() && *folder != paths.user_dir);
    let hooks =
        RegistryBuilder { paths: &paths, root: &root, envs: &worlds, settings: &settings, project_dir: own_dir };
    let all = extra_hook_files::by_precedence(&trees, &more);
    let (mut registry, reviews) = hooks.build(&all, setting_problems, &extensions, problems);
    let project = ProjectFolder { root, trust };
    let mut notices = collect_notices(&project, &paths, &files, &registry, &reviews);
    let with_hooks: Vec<SettingsFile> = files.iter().cloned().chain(extension_hook_files(&extensions)).collect();
    if project.trust.is_trusted() {
        let news = told.changes(&project.root, &offered);
        notices.extend(news.into_iter().map(|(what, news)| Notice::ProjectContentsChanged { what, news }));
        let unread = !is_home && told.has_unread_notes(&project.root, &settings.context.file_names);
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
    let LayerEnvs { user: own_world, session: world } = worlds;
    let untrusted = if project.trust.is_trusted() { Vec::new() } else { of_project };
    let mcp = mcp::McpSelection { origins, untrusted, named_on_command_line: options.mcp_servers.clone(), disabled };
    let own = UserScope { process_env: own_world, redaction: outer_redaction, disabled_extensions: dismissed };
    let loaded = LoadedConfig {
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

/// What is wrong with a project's settings as settings, in a folder that is not trusted: what they would be told if they
/// counted.
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

/// What the system and the user say, by which a project's word is judged.
pub(crate) fn outer_settings(loaded: &LoadedConfig) -> Map<String, serde_json::Value> {
    let files: Vec<LayerFile> =
        [(Source::System, &loaded.paths.system_settings), (Source::User, &loaded.paths.user_settings)]
            .into_iter()
            .map(|(source, path)| LayerFile::read(source, path))
            .collect();
    let trees: Vec<LayerTree<'_>> = files.iter().map(LayerFile::parse).collect();
    let worlds = LayerEnvs::without_files(&loaded.user_scope.process_env);
    merge_layers(&trees, &worlds, &loaded.project.root, &mut LayerFindings::default())
}

/// What the project's files would bring, trusted or not: read here, and nothing of it counts for that. Variables stand in it
/// as written: the user's secrets are nothing to show or to keep. The names of its MCP servers come with it.
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
