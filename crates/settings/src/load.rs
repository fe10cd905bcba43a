//! Everything on disk → one [`Loaded`] configuration. Never fails: what is wrong is a diagnostic in its registry,
//! what is noteworthy a notice.

mod beside;
mod gather;
mod hook_files;
mod layer;
mod merge;
mod notices;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hookwright_hooks::{Diagnostic, FileKind, Places, Redaction, Registry, Source, Surroundings, Unarmed};
use serde_json::Map;

use crate::env_file::{self, Worlds};
use crate::extensions::{self, Extension, ExtensionChoice};
use crate::file::leads_inside;
use crate::guards;
use crate::mcp;
use crate::notice::Notice;
use crate::offers::{self, Offer};
use crate::paths::{GEMINI_DIR, Paths};
use crate::seclusion;
use crate::secrets;
use crate::settings::{self, Findings, Layered, Outer, Settings, read_layer};
use crate::trust::{self, FolderTrust, Review};
use crate::world::World;
use gather::{Hooks, files_of_extensions, guards_left_out};
use layer::{LayerFile, Tree};
use merge::{merged, merged_over};
use notices::notices;

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
pub struct Project {
    /// Its root.
    pub root: PathBuf,
    /// Whether its own files count.
    pub trust: FolderTrust,
}

/// What became of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
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
    pub state: FileState,
}

/// A configuration.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// All settings but the hooks.
    pub settings: Settings,
    /// All hooks, and everything that is wrong with the configuration.
    pub registry: Registry,
    /// The project.
    pub project: Project,
    /// Installed extensions, active or not.
    pub extensions: Vec<Extension>,
    /// What the user should be told.
    pub notices: Vec<Notice>,
    /// Hooks that the user has not seen as they are now; also among the notices.
    pub reviews: Vec<Review>,
    /// Which variables hooks may not see, if any are kept from them.
    pub redaction: Option<Redaction>,
    /// What the project brings that runs or opens something, whether it counts or not.
    pub offers: Vec<Offer>,
    /// Where things are.
    pub paths: Paths,
    /// The settings files, highest precedence first.
    pub files: Vec<SettingsFile>,
    /// The guards of files that can't be read, or that trust keeps out.
    pub asleep: Vec<Unarmed>,
    /// The world as the session should see it: with the variables of the `.env` files that count.
    pub world: World,
    pub(crate) mcp: mcp::Choice,
    own: Own,
}

/// What hooks of the user and the system see, in which the project has no say.
#[derive(Clone, Debug)]
struct Own {
    world: World,
    redaction: Option<Redaction>,
    /// Extensions that they disable.
    dismissed: Vec<String>,
}

impl Loaded {
    /// What the user and the system see, in which the project has no say.
    pub(crate) fn own_world(&self) -> &World {
        &self.own.world
    }

    /// The settings file that enabling and disabling changes: the workspace's where it has any that counts, else the
    /// user's. A change to a file that is not loaded would be a change without effect.
    pub fn settings_file(&self) -> &Path {
        let counts = |file: &&SettingsFile| matches!(file.state, FileState::Loaded | FileState::Broken);
        let is_own =
            |file: &&SettingsFile| file.source == Source::Project && FileKind::of(&file.path) == FileKind::Settings;
        let own = self.files.iter().find(is_own).filter(counts);
        own.map_or(&self.paths.user_settings, |file| &file.path)
    }

    /// What hooks run with. Those of the user and the system see nothing of the project's `.env`, and nothing is kept
    /// from them because the project says so. Where the folder is not trusted, no hook runs in it.
    pub fn hook_places(&self) -> Places {
        let own = redacted(&self.own.world, self.own.redaction.as_ref());
        let project = Surroundings { env: redacted(&self.world, self.redaction.as_ref()), directory: None };
        if self.project.trust.is_trusted() || self.project.root == self.paths.home {
            return Places { extensions: project.clone(), project, own: Surroundings { env: own, directory: None } };
        }
        let secluded = seclusion::secluded(own, &self.project.root, &self.paths);
        Places { project, extensions: secluded.clone(), own: secluded }
    }

    /// The environment of tools: without the model's keys, which no command needs, and without what redaction keeps.
    pub fn tool_environment(&self) -> Vec<(OsString, OsString)> {
        let env = redacted(&self.world, self.redaction.as_ref());
        secrets::without_model_keys(env, &self.settings.security.passed_on)
    }

    /// What git is run with for the program itself: it starts no programs of the repository's. Where its configuration names
    /// some that can't be switched off, it finds no repository.
    pub fn git_environment(&self) -> Vec<(OsString, OsString)> {
        seclusion::for_git(self.tool_environment(), &self.project.root)
    }

    /// A session's plans: where the settings say, else an extension, if that is inside the project.
    pub fn plans_dir(&self, session_id: &str) -> PathBuf {
        let root = &self.project.root;
        let of_extensions =
            || self.extensions.iter().filter(|one| one.active).find_map(|one| one.plan_directory.as_ref());
        let own = self.settings.general.plan_directory.as_ref().or_else(of_extensions).map(PathBuf::from);
        let own = own.filter(|plans| leads_inside(root, plans)).map(|plans| trust::normalized(&root.join(plans)));
        own.unwrap_or_else(|| self.paths.plans_dir(root, session_id))
    }

    /// The reviews of one source's hooks: what a user who installs or updates an extension is shown, and consents to
    /// with [`trust_hooks`](crate::trust::trust_hooks).
    pub fn reviews_of<'s>(&'s self, source: &'s Source) -> impl Iterator<Item = &'s Review> {
        self.reviews.iter().filter(move |review| review.hook.source == *source)
    }

    /// The files that hooks can stand in: settings, and those of active extensions.
    pub(crate) fn files_with_hooks(&self) -> Vec<SettingsFile> {
        self.files.iter().cloned().chain(files_of_extensions(&self.extensions)).collect()
    }

    /// The extensions that settings switch off by name.
    pub fn disabled_extensions(&self) -> Vec<String> {
        Layered(&self.settings.raw).strings("extensions.disabled")
    }

    /// What to look at to notice that extensions come, go, change or are switched.
    pub fn extension_files(&self) -> Vec<PathBuf> {
        let folders = [self.paths.extensions.clone(), self.paths.project_extensions(&self.project.root)];
        let rules = self.paths.extension_rules();
        let active = self.extensions.iter().filter(|one| one.active);
        let own = active.flat_map(|one| {
            let values = one.home.join(extensions::VALUES);
            one.hooks_files().into_iter().chain([one.path.join(extensions::MANIFEST), values])
        });
        folders.into_iter().chain([rules]).chain(own).collect()
    }

    /// The extensions, for the record of guards.
    pub(crate) fn extensions_here(&self) -> guards::Extensions<'_> {
        guards::Extensions { project: &self.project.root, all: &self.extensions, dismissed: &self.own.dismissed }
    }
}

/// Loads a configuration.
pub fn load(world: &World, options: &LoadOptions) -> Loaded {
    let started = Instant::now();
    let paths = Paths::new(world);
    let root = trust::normalized(&world.cwd.join(&options.project));
    let mut problems = Vec::new();

    let system = LayerFile::read(Source::System, &paths.system_settings);
    let user = LayerFile::read(Source::User, &paths.user_settings);
    let mut trees = vec![system.tree(), user.tree()];
    let gates = merged(&trees, &Worlds::without_files(world), &root, &mut Findings::default());
    let gate = Layered(&gates).flag("security.folderTrust.enabled", true);
    let trust = trust::folder_trust(world, &paths, &root, options.trust, gate, &mut problems);
    // In the home directory, the project's settings are the user's.
    let own = (root.join(GEMINI_DIR) != paths.user_dir)
        .then(|| LayerFile::of_project(&paths.project_settings(&root), &trust));
    trees.extend(own.as_ref().map(LayerFile::tree));

    let beside = beside::files(&trees, &paths, own.is_some().then_some(root.as_path()), &trust);
    let more: Vec<Tree<'_>> = beside.iter().map(LayerFile::tree).collect();
    let excluded = Layered(&gates).strings("advanced.excludedEnvVars");
    let trusted_root = trust.is_trusted().then_some(root.as_path());
    let worlds = env_file::add_variables(world, trusted_root, &paths, &excluded, &mut problems);

    let mut found = Findings::default();
    let outer = merged(&trees[..2], &worlds, &root, &mut found);
    let raw = merged_over(outer.clone(), &trees[2..], &worlds, &root, &mut found);
    let Findings { diagnostics: mut setting_problems, without_effect, servers: origins } = found;
    let mut settings = Settings { without_effect, ..Settings::new(raw, &worlds.session, &mut setting_problems) };
    settings.context.confine(&Layered(&outer));
    let outer_redaction = settings::redaction(&Layered(&outer));
    let disabled = Layered(&settings.raw).strings("extensions.disabled");
    let around = extensions::Surroundings {
        world: &worlds.session,
        paths: &paths,
        project: &root,
        trusted: trust.is_trusted(),
        choice: &options.extensions,
        disabled: &disabled,
    };
    let extensions = extensions::installed(&around, &mut problems);

    let is_home = own.is_none();
    let claude = beside::reads_claude(&trees[..2]);
    let (offered, of_project) = if is_home { Default::default() } else { offered(&paths, &root, &outer, claude) };
    let files: Vec<SettingsFile> = beside::in_order(&trees, &more).into_iter().map(Tree::state).collect();
    let told = offers::Record::read(&paths.known_offers, &mut problems);
    let disabled = mcp::Disabled::read(&paths, &mut problems);
    let known = guards::Record::read(&paths.known_guards, &mut problems);
    let own_dir = Some(root.join(GEMINI_DIR)).filter(|folder| trust.is_trusted() && *folder != paths.user_dir);
    let hooks = Hooks { paths: &paths, root: &root, worlds: &worlds, settings: &settings, own_dir };
    let all = beside::in_order(&trees, &more);
    let (mut registry, reviews) = hooks.gather(&all, setting_problems, &extensions, problems);
    let project = Project { root, trust };
    let mut notices = notices(&project, &paths, &files, &registry, &reviews);
    let with_hooks: Vec<SettingsFile> = files.iter().cloned().chain(files_of_extensions(&extensions)).collect();
    if project.trust.is_trusted() {
        let news = told.news(&project.root, &offered);
        notices.extend(news.into_iter().map(|(what, news)| Notice::ProjectBrings { what, news }));
        let unread = !is_home && told.has_unread_notes(&project.root, &settings.context.file_names);
        notices.extend(unread.then_some(Notice::NotesForOthers));
    }
    notices.extend(known.gone(&with_hooks, &registry));
    let mut asleep = known.asleep(&with_hooks);
    asleep.extend(extensions.iter().filter(|one| one.left_out).flat_map(guards_left_out));
    let dismissed = Layered(&outer).strings("extensions.disabled");
    let here = guards::Extensions { project: &project.root, all: &extensions, dismissed: &dismissed };
    asleep.extend(known.inactive(here));
    trust::hold(&mut registry, &reviews);
    let redaction = settings.security.redaction.clone();
    let Worlds { own: own_world, session: world } = worlds;
    let untrusted = if project.trust.is_trusted() { Vec::new() } else { of_project };
    let mcp = mcp::Choice { origins, untrusted, named: options.mcp_servers.clone(), disabled };
    let own = Own { world: own_world, redaction: outer_redaction, dismissed };
    let loaded = Loaded {
        settings,
        registry,
        project,
        extensions,
        notices,
        reviews,
        redaction,
        offers: offered,
        paths,
        files,
        asleep,
        world,
        mcp,
        own,
    };
    log(&loaded, started.elapsed());
    loaded
}

/// What is wrong with a project's settings as settings, in a folder that is not trusted: what they would be told if they
/// counted.
pub fn check_untrusted(loaded: &Loaded, file: &Path) -> Vec<Diagnostic> {
    let outer: Vec<LayerFile> =
        [(Source::System, &loaded.paths.system_settings), (Source::User, &loaded.paths.user_settings)]
            .into_iter()
            .map(|(source, path)| LayerFile::read(source, path))
            .chain([LayerFile::read(Source::Project, file)])
            .collect();
    let trees: Vec<Tree<'_>> = outer.iter().map(LayerFile::tree).collect();
    let mut found = Findings::default();
    merged(&trees, &Worlds::without_files(&loaded.own.world), &loaded.project.root, &mut found);
    found.diagnostics.into_iter().filter(|wrong| wrong.file == *file).collect()
}

/// What the system and the user say, by which a project's word is judged.
pub(crate) fn outer_settings(loaded: &Loaded) -> Map<String, serde_json::Value> {
    let files: Vec<LayerFile> =
        [(Source::System, &loaded.paths.system_settings), (Source::User, &loaded.paths.user_settings)]
            .into_iter()
            .map(|(source, path)| LayerFile::read(source, path))
            .collect();
    let trees: Vec<Tree<'_>> = files.iter().map(LayerFile::tree).collect();
    let worlds = Worlds::without_files(&loaded.own.world);
    merged(&trees, &worlds, &loaded.project.root, &mut Findings::default())
}

/// What the project's files would bring, trusted or not: read here, and nothing of it counts for that. Variables stand in it
/// as written: the user's secrets are nothing to show or to keep. The names of its MCP servers come with it.
fn offered(
    paths: &Paths,
    root: &Path,
    outer: &Map<String, serde_json::Value>,
    user_reads_claude: bool,
) -> (Vec<Offer>, Vec<String>) {
    let file = LayerFile::read(Source::Project, &paths.project_settings(root));
    let tree = file.tree();
    let values = match &tree.document.root {
        Ok(Some(object)) => {
            let (source, outer) = (&tree.document.source, Outer { settings: outer, root });
            read_layer(object, &Source::Project, source, &World::default(), &outer, &mut Findings::default())
        }
        _ => Map::new(),
    };
    let servers = values.get("mcpServers").and_then(serde_json::Value::as_object);
    let servers = servers.into_iter().flat_map(Map::keys).cloned().collect();
    let mut hooks = tree.declared().hooks;
    hooks
        .extend(beside::offered(&tree, paths, root, user_reads_claude).into_iter().flat_map(|declared| declared.hooks));
    (offers::offers(&values, &hooks, root, paths), servers)
}

fn log(loaded: &Loaded, took: Duration) {
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

fn redacted(world: &World, redaction: Option<&Redaction>) -> Vec<(OsString, OsString)> {
    let env = world.env.clone();
    match redaction {
        Some(redaction) => redaction.apply(env),
        None => env,
    }
}
