//! `hookwright hooks …`: one file per command. All of them look at a project through a [`Toolbox`].

mod add;
mod canary;
mod doctor;
pub(crate) mod fire;
mod list;
mod migrate;
mod new;
mod remove;
mod schema;
mod show;
mod switch;
mod test;
mod trust;
mod validate;

use std::path::PathBuf;

use anyhow::Context;
use hookwright_agent::LeftChanges;
use hookwright_agent::session::{HookEntry, hook_entries, unarmed_in};
use hookwright_hooks::{Hook, HookEngine, Session, Source, Unarmed, did_you_mean};
use hookwright_settings::{LoadOptions, Loaded, Notice, TrustOverride, World, load};
use serde_json::{Value, json};

use crate::args::{HooksCommand, InProject, Place};
use crate::out;

/// Runs one of the commands.
pub(crate) fn run(args: InProject<HooksCommand>, world: World) -> anyhow::Result<u8> {
    let InProject { command, place } = args;
    let open = || Toolbox::open(&place, &world);
    match command {
        HooksCommand::List(list) => list::run(&open()?, &list),
        HooksCommand::Show { name, json } => show::run(&open()?, &name, json),
        HooksCommand::Validate { files, json } => validate::run(&place, &world, &files, json),
        HooksCommand::Doctor { json } => doctor::run(&open()?, &world, json),
        HooksCommand::Schema { event, input, output } => schema::run(event, input, output),
        HooksCommand::Fire(fire) => fire::run(&open()?, &fire),
        HooksCommand::Test { paths, filter, json } => test::run(&place, &world, &paths, filter.as_deref(), json),
        HooksCommand::Enable { name } => switch::enable(&open()?, Some(&name), open),
        HooksCommand::Disable { name } => switch::disable(&open()?, Some(&name)),
        HooksCommand::EnableAll => switch::enable(&open()?, None, open),
        HooksCommand::DisableAll => switch::disable(&open()?, None),
        HooksCommand::Trust { name, all, folder } => trust::run(&open()?, name.as_deref(), all, folder),
        HooksCommand::Migrate(migrate) => migrate::run(&place, &world, &migrate),
        HooksCommand::New(new) => new::run(&place, &world, &new),
        HooksCommand::Add(add) => add::run(&place, &world, &add),
        HooksCommand::Remove(remove) => remove::run(&open()?, &remove),
    }
}

/// The examples that can be taken over.
pub(crate) fn example_names() -> impl Iterator<Item = &'static str> {
    add::EXAMPLES.iter().map(|example| example.name)
}

/// `hookwright doctor`, which needs no `hooks` before it.
pub(crate) fn run_doctor(place: &Place, world: &World, json: bool) -> anyhow::Result<u8> {
    doctor::run(&Toolbox::open(place, world)?, world, json)
}

impl Place {
    /// The project's directory, which must exist.
    pub(crate) fn directory(&self, world: &World) -> anyhow::Result<PathBuf> {
        let given = self.project.clone().flatten().unwrap_or_else(|| PathBuf::from("."));
        let path = world.cwd.join(&given);
        let path = path.canonicalize().with_context(|| format!("there is no project at {}", given.display()))?;
        anyhow::ensure!(path.is_dir(), "{} is not a directory", given.display());
        Ok(path)
    }

    /// Whether the folder's trust is asked for.
    pub(crate) fn trust(&self) -> TrustOverride {
        if self.skip_trust { TrustOverride::Skip } else { TrustOverride::None }
    }
}

/// The files that trust in a hook extends to.
pub(crate) struct Covered {
    /// From the project or the extension.
    pub(crate) files: Vec<String>,
    /// Whether these are all that it runs; if not, everything under `.gemini/` is among them.
    pub(crate) certain: bool,
}

impl Covered {
    /// What to say where not everything can be told.
    pub(crate) const UNSURE: &str = "which files it runs can't be told; everything under .gemini/ counts as part of it";

    /// The same as fields of a hook.
    pub(crate) fn add_to(&self, hook: &mut Value) {
        if let Value::Object(hook) = hook {
            hook.insert("files".to_owned(), json!(self.files));
            hook.insert("files_certain".to_owned(), json!(self.certain));
        }
    }
}

/// A project with its configuration loaded.
pub(crate) struct Toolbox {
    pub(crate) loaded: Loaded,
}

impl Toolbox {
    pub(crate) fn open(place: &Place, world: &World) -> anyhow::Result<Toolbox> {
        let project = place.directory(world)?;
        let loaded = load(world, &LoadOptions { project, trust: place.trust(), ..LoadOptions::default() });
        crate::log::learn_secrets(&loaded);
        Ok(Toolbox { loaded })
    }

    /// An engine for this project, as a session would have it.
    pub(crate) fn engine(&self, session: Session) -> HookEngine {
        self.builder(session).build()
    }

    fn builder(&self, session: Session) -> hookwright_hooks::Builder {
        let places = self.loaded.hook_places();
        let engine = HookEngine::builder(self.loaded.registry.clone()).session(session).places(places);
        match LeftChanges::of(&self.loaded) {
            Some(sentry) => engine.sentry(sentry),
            None => engine,
        }
    }

    /// Every hook of the project with its honest state.
    pub(crate) fn entries(&self) -> Vec<HookEntry> {
        hook_entries(&self.engine(self.session("toolbox", PathBuf::new())), &self.loaded)
    }

    /// What to say to whoever names a hook that there is not.
    pub(crate) fn no_hook(&self, name: &str) -> anyhow::Error {
        let entries = self.entries();
        let known = entries.iter().map(|entry| entry.hook.id());
        let help = did_you_mean(name, known, "`hookwright hooks list` shows them all");
        anyhow::anyhow!("no hook is called `{}`; {help}", out::one_line(name))
    }

    /// The guards that would not do their work in a session here.
    pub(crate) fn unarmed(&self) -> Vec<Unarmed> {
        unarmed_in(&self.engine(self.session("toolbox", PathBuf::new())), &self.loaded)
    }

    /// Says which guards would not do their work, where no hook stands for them in a list.
    pub(crate) fn warn_of_guards(&self, entries: &[HookEntry]) -> anyhow::Result<()> {
        let listed = |guard: &&Unarmed| entries.iter().any(|entry| entry.hook.id() == guard.name);
        for guard in self.unarmed().iter().filter(|guard| !listed(guard)) {
            out::warn(guard)?;
        }
        Ok(())
    }

    /// What trust looks at besides the declarations of these hooks: the files that they run.
    pub(crate) fn covered(&self, entries: &[HookEntry]) -> Vec<Covered> {
        let hooks = entries.iter().map(|entry| entry.hook.as_ref());
        let is_reviewed = |hook: &Hook| matches!(hook.source, Source::Project | Source::Extension(_));
        let files = self.loaded.files_of_all(hooks);
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
            Covered { files: names, certain: files.certain || !is_reviewed(&entry.hook) }
        });
        covered.collect()
    }

    /// A session in this project.
    pub(crate) fn session(&self, id: &str, transcript_path: PathBuf) -> Session {
        let root = self.loaded.project.root.clone();
        Session {
            id: id.to_owned(),
            transcript_path,
            plans_dir: self.loaded.plans_dir(id),
            cwd: root.clone(),
            project_dir: root,
        }
    }

    /// Says on stderr what is wrong with the configuration, and what of it does not count.
    pub(crate) fn say_what_is_wrong(&self) -> anyhow::Result<()> {
        crate::report::print(self.loaded.registry.diagnostics())?;
        // That a hook is new only matters to whoever is about to run it.
        let matters = |notice: &&Notice| !matches!(notice, Notice::Hook { held: false, .. });
        for notice in self.loaded.notices.iter().filter(matters) {
            out::note(notice)?;
        }
        Ok(())
    }
}
