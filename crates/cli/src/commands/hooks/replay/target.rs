//! The hooks that are asked about the recorded events of one project: today's, those of a file or a pack besides, or
//! those of a git commit.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use hookwright_agent::session::unarmed_in;
use hookwright_agent::{PolicyDecision, UntrustedChanges};
use hookwright_hooks::{Action, Hook, HookEngine, Layer, Registry, Session, Severity, Source, parse_layer};
use hookwright_journal::EventEntry;
use hookwright_settings::{LoadOptions, LoadedConfig, ProcessEnv, SettingsFileState, TrustOverride, load};
use serde_json::{Map, Value};
use tempfile::TempDir;

use super::policies::CurrentPolicies;
use crate::args::HookReplayArgs;
use crate::commands::hooks::packs::Pack;
use crate::commands::run;
use crate::output;

/// The longest time that a hook may take in a replay, unless it runs as it is.
const MAX_HOOK_TIME: Duration = Duration::from_secs(10);
const MAX_SETTINGS_BYTES: u64 = 16 << 20;

/// How hooks are chosen and run, the same for all projects.
pub(super) struct ReplayOptions {
    /// Hooks that are added, and replace those of the same name.
    extra_hooks: Vec<Hook>,
    /// The only hook that is asked.
    pub(super) only_hook: Option<String>,
    /// Whether hooks run unconfined.
    really: bool,
    /// Why programs can't be confined here, if so.
    confinement_problem: Option<String>,
    trust: TrustOverride,
}

impl ReplayOptions {
    pub(super) fn new(
        args: &HookReplayArgs,
        trust: TrustOverride,
        world: &ProcessEnv,
    ) -> anyhow::Result<ReplayOptions> {
        let mut extra_hooks = Vec::new();
        if let Some(file) = &args.settings {
            let file = world.cwd.join(file);
            let text = hookwright_disk::read_text(&file, MAX_SETTINGS_BYTES)
                .with_context(|| format!("can't read {}", file.display()))?;
            extra_hooks = parse_hooks(&file, &text)?;
        }
        if let Some(name) = &args.pack {
            let pack = Pack::find(name, &world.cwd)?;
            extra_hooks = parse_hooks(Path::new(&format!("{}/hooks.json", pack.name)), pack.settings_text())?;
        }
        Ok(ReplayOptions {
            extra_hooks,
            only_hook: args.hook.clone(),
            really: args.really,
            confinement_problem: if args.really { None } else { run::probe(world).problem },
            trust,
        })
    }

    /// Why a hook is not asked, if so.
    fn skip_reason(&self, hook: &Hook) -> Option<String> {
        if hook.is_background() {
            return Some("it runs in the background and decides nothing".to_owned());
        }
        match &hook.action {
            _ if self.really => None,
            Action::Http(_) => Some("it calls a service; --really asks it".to_owned()),
            Action::Command(_) | Action::Worker(_) => {
                let problem = self.confinement_problem.as_ref()?;
                Some(format!("it can't be confined here ({problem}); --really runs it as it is"))
            }
            Action::Rule(_) | Action::Function(_) => None,
        }
    }
}

fn parse_hooks(file: &Path, text: &str) -> anyhow::Result<Vec<Hook>> {
    // The user names the file, so that it counts as the user's.
    let layer = parse_layer(&Layer::new(Source::User, file, text));
    if let Some(wrong) = layer.diagnostics.iter().find(|one| one.severity == Severity::Error) {
        bail!("{wrong}");
    }
    ensure!(!layer.hooks.is_empty(), "{} declares no hooks", file.display());
    Ok(layer.hooks)
}

/// The hooks of one project, ready to be asked.
pub(super) struct ReplayTarget {
    loaded: LoadedConfig,
    pub(super) registry: Registry,
    /// The hooks that are not asked, each with the reason.
    pub(super) skipped: BTreeMap<String, String>,
    /// Whether the hook that alone is meant exists here.
    pub(super) has_only_hook: bool,
    /// Whether a hook runs only once in a session, so that the events of a session must be asked about in order.
    pub(super) is_ordered: bool,
    pub(super) has_programs: bool,
    pub(super) policies: CurrentPolicies,
    /// What to tell the user about the project.
    pub(super) note: Option<String>,
    /// The project's path as recorded and the path of the files that stand in for it.
    pub(super) moved: Option<(String, String)>,
    _checkout: Option<Checkout>,
}

impl ReplayTarget {
    /// Loads a project's hooks.
    ///
    /// # Errors
    /// Why events of the project can't be replayed.
    pub(super) fn open(project: &Path, world: &ProcessEnv, options: &ReplayOptions) -> Result<ReplayTarget, String> {
        if !project.is_dir() {
            return Err("the project's folder is gone".to_owned());
        }
        let loaded =
            load(world, &LoadOptions { project: project.to_owned(), trust: options.trust, ..LoadOptions::default() });
        let is_trusted = loaded.project.trust.is_trusted();
        let note = (!is_trusted && !loaded.untrusted_project_hooks().is_empty())
            .then(|| format!("{} is not trusted, so that its own hooks are not asked", project.display()));
        Ok(ReplayTarget::new(loaded, options, note))
    }

    /// Loads a project's hooks as they are in a commit.
    ///
    /// # Errors
    /// If the project is not trusted, if there is no such commit, or if it can't be checked out.
    pub(super) fn open_commit(
        project: &Path,
        commit: &str,
        world: &ProcessEnv,
        options: &ReplayOptions,
    ) -> anyhow::Result<ReplayTarget> {
        let load_from = |project: &Path, trust| {
            load(world, &LoadOptions { project: project.to_owned(), trust, ..LoadOptions::default() })
        };
        let today = load_from(project, options.trust);
        ensure!(
            today.project.trust.is_trusted(),
            "{} is not trusted, so that its hooks don't run; look at it, then run `hookwright hooks trust --folder`",
            project.display()
        );
        let checkout = Checkout::new(&today, commit)?;
        let loaded = load_from(&checkout.project, TrustOverride::Skip);
        let moved = (project.to_string_lossy().into_owned(), checkout.project.to_string_lossy().into_owned());
        let mut target = ReplayTarget::new(loaded, options, None);
        target.moved = Some(moved);
        target._checkout = Some(checkout);
        Ok(target)
    }

    fn new(loaded: LoadedConfig, options: &ReplayOptions, note: Option<String>) -> ReplayTarget {
        crate::log::add_secrets(&loaded);
        let mut registry = loaded.registry.clone();
        let extra: HashSet<&str> = options.extra_hooks.iter().map(Hook::id).collect();
        registry.retain(|hook| !extra.contains(hook.id()));
        options.extra_hooks.iter().rev().for_each(|hook| registry.add(hook.clone()));
        let is_meant = |hook: &Hook| options.only_hook.as_deref().is_none_or(|name| hook.id() == name);
        registry.retain(is_meant);
        let has_only_hook = !registry.hooks().is_empty();
        let skipped: BTreeMap<String, String> = registry
            .hooks()
            .iter()
            .filter_map(|hook| Some((hook.id().to_owned(), options.skip_reason(hook)?)))
            .collect();
        registry.retain(|hook| options.skip_reason(hook).is_none());
        if !options.really {
            registry.confine_processes();
            registry.limit_timeouts(MAX_HOOK_TIME);
        }
        ReplayTarget {
            is_ordered: registry.hooks().iter().any(|hook| hook.run_condition.once),
            has_programs: registry.hooks().iter().any(|hook| !matches!(hook.action, Action::Rule(_))),
            registry,
            skipped,
            has_only_hook,
            policies: CurrentPolicies::load(&loaded),
            note,
            moved: None,
            loaded,
            _checkout: None,
        }
    }

    /// Builds an engine that asks these hooks.
    pub(super) fn engine(&self) -> HookEngine {
        let loaded = &self.loaded;
        let engine = HookEngine::builder(self.registry.clone())
            .session(self.session("replay", &loaded.project.root, PathBuf::new()))
            .exec_envs(loaded.hook_exec_envs())
            .confinement_launcher(run::launcher(&loaded.process_env))
            .read_disk_directly();
        match UntrustedChanges::gate_for(loaded) {
            Some(gate) => engine.trust_gate(gate).build(),
            None => engine.build(),
        }
    }

    /// What a policy or a tool list decides about a recorded call, if one does.
    pub(super) fn policy_decision(&self, event: &EventEntry, input: &Map<String, Value>) -> Option<PolicyDecision> {
        self.policies.decide(event, input)
    }

    /// Why the bridge refuses every call of the project now, if it does: settings that can't be read, or a guard that
    /// is not armed.
    pub(super) fn unguarded_reason(&self, engine: &HookEngine) -> Option<String> {
        let broken = self.loaded.files.iter().find(|file| file.state == SettingsFileState::Broken);
        let broken = broken.map(|file| format!("{} can't be read and may contain guards", file.path.display()));
        broken.or_else(|| unarmed_in(engine, &self.loaded).first().map(ToString::to_string))
    }

    /// The folder of the project, or of the files that stand in for it.
    pub(super) fn root(&self) -> &Path {
        &self.loaded.project.root
    }

    pub(super) fn session(&self, id: &str, cwd: &Path, transcript_path: PathBuf) -> Session {
        Session {
            id: id.to_owned(),
            transcript_path,
            plans_dir: self.loaded.plans_dir(id),
            cwd: cwd.to_owned(),
            project_dir: self.loaded.project.root.clone(),
        }
    }
}

/// The files of a commit in a temporary folder.
struct Checkout {
    _folder: TempDir,
    /// The project's folder in it, which may be a part of the repository.
    project: PathBuf,
}

impl Checkout {
    fn new(loaded: &LoadedConfig, commit: &str) -> anyhow::Result<Checkout> {
        let folder = tempfile::Builder::new().prefix("replay-").tempdir().context("can't make a temporary folder")?;
        let root = folder.path().canonicalize()?;
        let (tree, index) = (root.join("tree"), root.join("index"));
        std::fs::create_dir(&tree)?;
        let git = |args: &[&str]| run_git(loaded, &index, args);
        let shown = output::one_line(commit);
        let prefix = git(&["rev-parse", "--show-prefix"])
            .with_context(|| format!("{} is not in a git repository", loaded.project.root.display()))?;
        let id = git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{commit}^{{commit}}")])
            .map_err(|_| anyhow::anyhow!("there is no commit `{shown}` in {}", loaded.project.root.display()))?;
        let can_not = || format!("can't read the files of commit `{shown}`");
        git(&["read-tree", id.trim()]).with_context(can_not)?;
        git(&["checkout-index", "--all", "--force", &format!("--prefix={}/", tree.display())]).with_context(can_not)?;
        let project = tree.join(prefix.trim_end_matches('\n'));
        ensure!(project.is_dir(), "the project's folder does not exist in commit `{shown}`");
        Ok(Checkout { _folder: folder, project })
    }
}

/// Runs git in the project with an index of its own, so that nothing in the repository changes.
fn run_git(loaded: &LoadedConfig, index: &Path, args: &[&str]) -> anyhow::Result<String> {
    let mut git = Command::new("git");
    git.args(args).current_dir(&loaded.project.root).env_clear().envs(loaded.git_environment());
    git.env("GIT_INDEX_FILE", index).env("GIT_OPTIONAL_LOCKS", "0");
    git.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[expect(clippy::disallowed_methods, reason = "the user waits for it, and can interrupt it")]
    let done = hookwright_process::spawn_detached(|| git.spawn())
        .and_then(std::process::Child::wait_with_output)
        .context("can't run git")?;
    ensure!(done.status.success(), "git {}: {}", args[0], String::from_utf8_lossy(&done.stderr).trim());
    String::from_utf8(done.stdout).context("git printed no text")
}
