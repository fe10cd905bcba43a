//! `hookwright hooks …`: one file per command. Most of them work on a [`LoadedProject`].

mod add;
mod canary;
mod declaration;
mod doctor;
pub(crate) mod fire;
mod list;
mod migrate;
mod new;
pub(crate) mod packs;
mod remove;
mod replay;
mod schema;
mod shadow;
mod show;
mod switch;
mod test;
mod trust;
mod validate;
pub(crate) mod why;

use std::ops::Deref;
use std::path::PathBuf;

use crate::commands::run::launcher;
use anyhow::Context;
use hookwright_agent::UntrustedChanges;
use hookwright_agent::session::{HookListEntry, hook_entries, unarmed_in};
use hookwright_hooks::{Hook, HookEngine, Session, Source, UnarmedGuard};
use hookwright_settings::administration::{HookSelection, NamedItem, StoredConfig, UnknownName};
use hookwright_settings::{LoadOptions, Notice, ProcessEnv, TrustOverride};
use serde_json::{Value, json};
use shadow::HookMode;

use crate::args::{HooksCommand, ProjectArgs, ProjectCommand};
use crate::output;
use crate::presentation::CommandStyle;
use crate::presentation::administration::unknown_name_text;

/// Runs one of the `hooks` commands.
pub(crate) fn run(args: ProjectCommand<HooksCommand>, world: ProcessEnv) -> anyhow::Result<u8> {
    let ProjectCommand { command, place } = args;
    let open = || LoadedProject::open(&place, &world);
    match command {
        HooksCommand::List(list) => list::run(&open()?, &list),
        HooksCommand::Show { name, json } => show::run(&open()?, &name, json),
        HooksCommand::Validate { files, json } => validate::run(&place, &world, &files, json),
        HooksCommand::Doctor { json } => doctor::run(&open()?, &world, json),
        HooksCommand::Schema { event, input, output } => schema::run(event, input, output),
        HooksCommand::Fire(fire) => fire::run(&open()?, &fire),
        HooksCommand::Test(args) => test::run(&place, &world, &args),
        HooksCommand::Enable { name } => switch::enable(&open()?, HookSelection::Named(name)),
        HooksCommand::Disable { name, consent } => {
            switch::disable(&open()?, HookSelection::Named(name), consent.into())
        }
        HooksCommand::Shadow { target, off } => {
            shadow::run(&open()?, &target, if off { HookMode::Active } else { HookMode::Shadow })
        }
        HooksCommand::Arm { target } => shadow::run(&open()?, &target, HookMode::Active),
        HooksCommand::Why { line, denied, json } => why::run(&place, &world, &line, denied.is_some(), json),
        HooksCommand::Replay(args) => replay::run(&place, &world, &args),
        HooksCommand::EnableAll => switch::enable(&open()?, HookSelection::All),
        HooksCommand::DisableAll { consent } => switch::disable(&open()?, HookSelection::All, consent.into()),
        HooksCommand::Trust { name, all, folder } => trust::run(&open()?, name, all, folder),
        HooksCommand::Migrate(migrate) => migrate::run(&place, &world, &migrate),
        HooksCommand::New(new) => new::run(&place, &world, new),
        HooksCommand::Add(add) => match &add.pack {
            Some(pack) => packs::add(&place, &world, pack, add.scope()),
            None => add::run(&place, &world, &add),
        },
        HooksCommand::Packs { json } => packs::list(json),
        HooksCommand::Remove(remove) => remove::run(&open()?, &remove),
    }
}

/// Returns the names of the examples that `hooks add` installs.
pub(crate) fn example_names() -> impl Iterator<Item = &'static str> {
    add::EXAMPLES.iter().map(|example| example.name)
}

/// Runs `hookwright doctor`, the short form of `hooks doctor`.
pub(crate) fn run_doctor(place: &ProjectArgs, world: &ProcessEnv, json: bool) -> anyhow::Result<u8> {
    doctor::run(&LoadedProject::open(place, world)?, world, json)
}

impl ProjectArgs {
    /// Returns the project's directory, which must exist.
    pub(crate) fn directory(&self, world: &ProcessEnv) -> anyhow::Result<PathBuf> {
        let given = self.project.clone().flatten().unwrap_or_else(|| PathBuf::from("."));
        let path = world.cwd.join(&given);
        let path = path.canonicalize().with_context(|| format!("there is no project at {}", given.display()))?;
        anyhow::ensure!(path.is_dir(), "{} is not a directory", given.display());
        Ok(path)
    }

    /// Returns whether the folder counts as trusted without a check (`--skip-trust`).
    pub(crate) fn trust_override(&self) -> TrustOverride {
        if self.skip_trust { TrustOverride::Skip } else { TrustOverride::None }
    }
}

/// The files that trust in a hook extends to.
pub(crate) struct HookTrustedFiles {
    /// Paths relative to the project or the extension.
    pub(crate) files: Vec<String>,
    /// Whether these are all files that the hook runs; if not, everything under `.gemini/` is among them.
    pub(crate) is_complete: bool,
}

impl HookTrustedFiles {
    /// The note for a hook whose files can't all be determined.
    pub(crate) const INCOMPLETE_NOTE: &str =
        "the files it runs can't be determined; everything under .gemini/ counts as part of it";

    /// Adds the files to the JSON object of a hook.
    pub(crate) fn add_json_fields(&self, hook: &mut Value) {
        if let Value::Object(hook) = hook {
            hook.insert("files".to_owned(), json!(self.files));
            hook.insert("files_certain".to_owned(), json!(self.is_complete));
        }
    }
}

/// A project with its configuration loaded.
#[derive(Clone)]
pub(crate) struct LoadedProject {
    /// The configuration, for actions that change it.
    pub(crate) config: StoredConfig,
}

impl Deref for LoadedProject {
    type Target = StoredConfig;

    fn deref(&self) -> &StoredConfig {
        &self.config
    }
}

impl LoadedProject {
    pub(crate) fn open(place: &ProjectArgs, world: &ProcessEnv) -> anyhow::Result<LoadedProject> {
        let project = place.directory(world)?;
        let options = LoadOptions { project, trust: place.trust_override(), ..LoadOptions::default() };
        Ok(LoadedProject::load(options, world))
    }

    pub(crate) fn load(options: LoadOptions, world: &ProcessEnv) -> LoadedProject {
        let config = StoredConfig::load(world, options);
        crate::log::add_secrets(&config.loaded);
        LoadedProject { config }
    }

    /// Builds an engine for this project, as a session would have it.
    pub(crate) fn engine(&self, session: Session) -> HookEngine {
        self.engine_builder(session).build()
    }

    fn engine_builder(&self, session: Session) -> hookwright_hooks::HookEngineBuilder {
        let places = self.loaded.hook_exec_envs();
        let engine = HookEngine::builder(self.loaded.registry.clone()).session(session).exec_envs(places);
        let engine = engine.confinement_launcher(launcher(&self.loaded.process_env));
        match UntrustedChanges::gate_for(&self.loaded) {
            Some(gate) => engine.trust_gate(gate),
            None => engine,
        }
    }

    /// Returns every hook of the project with its state.
    pub(crate) fn entries(&self) -> Vec<HookListEntry> {
        hook_entries(&self.engine(self.engine_session("toolbox", PathBuf::new())), &self.loaded)
    }

    /// Builds the error for an unknown hook name, with a suggestion.
    pub(crate) fn unknown_hook_error(&self, name: &str) -> anyhow::Error {
        let entries = self.entries();
        let unknown = UnknownName::new(NamedItem::Hook, name, entries.iter().map(|entry| entry.hook.id()));
        anyhow::anyhow!(unknown_name_text(&unknown, CommandStyle::Shell))
    }

    /// Returns the guards that would not be armed in a session here.
    pub(crate) fn unarmed_guards(&self) -> Vec<UnarmedGuard> {
        unarmed_in(&self.engine(self.engine_session("toolbox", PathBuf::new())), &self.loaded)
    }

    /// Warns about unarmed guards that are not in the list of hooks.
    pub(crate) fn warn_of_unarmed_guards(&self, entries: &[HookListEntry]) -> anyhow::Result<()> {
        let listed = |guard: &&UnarmedGuard| entries.iter().any(|entry| entry.hook.id() == guard.name);
        for guard in self.unarmed_guards().iter().filter(|guard| !listed(guard)) {
            output::warn(guard)?;
        }
        Ok(())
    }

    /// Returns the files that each of these hooks runs, which trust covers besides the declarations.
    pub(crate) fn trusted_files(&self, entries: &[HookListEntry]) -> Vec<HookTrustedFiles> {
        let hooks = entries.iter().map(|entry| entry.hook.as_ref());
        let is_reviewed = |hook: &Hook| matches!(hook.source, Source::Project | Source::Extension(_));
        let files = self.loaded.files_run_by_all(hooks);
        let covered = files.into_iter().zip(entries).map(|(files, entry)| {
            let roots =
                [&self.loaded.project.root].into_iter().chain(self.loaded.extensions.iter().map(|one| &one.path));
            let mut names: Vec<String> = files
                .paths()
                .filter(|path| path.is_file())
                .filter_map(|path| roots.clone().find_map(|root| path.strip_prefix(root).ok()))
                .map(|path| path.display().to_string())
                .collect();
            names.sort();
            names.dedup();
            HookTrustedFiles { files: names, is_complete: files.certain || !is_reviewed(&entry.hook) }
        });
        covered.collect()
    }

    /// Builds the data of a session in this project for the engine.
    pub(crate) fn engine_session(&self, id: &str, transcript_path: PathBuf) -> Session {
        let root = self.loaded.project.root.clone();
        Session {
            id: id.to_owned(),
            transcript_path,
            plans_dir: self.loaded.plans_dir(id),
            cwd: root.clone(),
            project_dir: root,
        }
    }

    /// Prints on stderr what is wrong with the configuration, and which parts of it are not in effect.
    pub(crate) fn print_problems(&self) -> anyhow::Result<()> {
        crate::output::diagnostics::print(self.loaded.registry.diagnostics())?;
        // That a hook is new matters only to a command that runs it.
        let matters = |notice: &&Notice| !matches!(notice, Notice::Hook { held: false, .. });
        for notice in self.loaded.notices.iter().filter(matters) {
            output::note(notice)?;
        }
        Ok(())
    }
}
