//! Packs: folders of rules with their tests that are added together. `hooks packs` lists the shipped ones, `hooks add
//! --pack` adds one of them, or a folder of the same form.

mod addition;

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use hookwright_bridge::install::InstallScope;
use hookwright_hooks::{Layer, Source, did_you_mean, parse_layer};
use hookwright_settings::{ConfigPaths, ProcessEnv};
use serde_json::json;

pub(crate) use addition::PackAddition;

use crate::args::ProjectArgs;
use crate::exit;
use crate::output::{self, BOLD, PLAIN, TextTable};

/// The size limit of a pack's file, and of the settings that it is added to.
const MAX_PACK_FILE_BYTES: u64 = 4 << 20;

/// A folder with `hooks.json`, `NAME.hooktest.toml` and `README.md`.
#[derive(Clone)]
pub(crate) struct Pack {
    pub(crate) name: Cow<'static, str>,
    /// The hooks, as a file of settings.
    hooks: Cow<'static, str>,
    test: Cow<'static, str>,
    readme: Cow<'static, str>,
}

/// Whose settings a pack belongs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackScope {
    /// The project's, or the user's for all projects.
    Project,
    /// The user's alone: it approves calls, which a project may not.
    User,
}

macro_rules! pack {
    ($name:literal) => {
        Pack {
            name: Cow::Borrowed($name),
            hooks: Cow::Borrowed(include_str!(concat!("../../../../../examples/packs/", $name, "/hooks.json"))),
            test: Cow::Borrowed(include_str!(concat!(
                "../../../../../examples/packs/",
                $name,
                "/",
                $name,
                ".hooktest.toml"
            ))),
            readme: Cow::Borrowed(include_str!(concat!("../../../../../examples/packs/", $name, "/README.md"))),
        }
    };
}

/// Returns the packs that are part of the program.
pub(crate) fn shipped() -> &'static [Pack] {
    static PACKS: [Pack; 3] = [pack!("essentials"), pack!("strict"), pack!("quiet")];
    &PACKS
}

impl Pack {
    /// Finds a shipped pack by its name, or reads the folder at this path.
    ///
    /// # Errors
    /// If there is neither, or if the folder is not a pack.
    pub(crate) fn find(name_or_folder: &str, directory: &Path) -> anyhow::Result<Cow<'static, Pack>> {
        if let Some(pack) = shipped().iter().find(|pack| pack.name == name_or_folder) {
            return Ok(Cow::Borrowed(pack));
        }
        let folder = directory.join(name_or_folder);
        if !folder.is_dir() {
            let help = did_you_mean(
                name_or_folder,
                shipped().iter().map(|pack| &*pack.name),
                "`hookwright hooks packs` lists them",
            );
            bail!("there is no pack `{}` and no such folder; {help}", output::one_line(name_or_folder));
        }
        Pack::read(&folder).map(Cow::Owned)
    }

    /// Reads a pack from its folder, whose name is the pack's.
    fn read(folder: &Path) -> anyhow::Result<Pack> {
        let folder = folder.canonicalize().with_context(|| format!("can't read {}", folder.display()))?;
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let read = |file: &str| {
            let path = folder.join(file);
            let text = hookwright_disk::read_text(&path, MAX_PACK_FILE_BYTES);
            text.with_context(|| format!("{} is not a pack: can't read {}", folder.display(), path.display()))
        };
        let pack = Pack {
            hooks: read("hooks.json")?.into(),
            test: read(&format!("{name}.hooktest.toml"))?.into(),
            readme: read("README.md")?.into(),
            name: name.into(),
        };
        pack.check(&folder.join("hooks.json"))?;
        Ok(pack)
    }

    /// Checks that the hooks load and need no files beside them.
    fn check(&self, file: &Path) -> anyhow::Result<()> {
        let declared = parse_layer(&Layer::new(self.source(), file, &self.hooks));
        if let Some(problem) = declared.diagnostics.first() {
            bail!("{}: {problem}", file.display());
        }
        ensure!(!declared.hooks.is_empty(), "{} declares no hooks", file.display());
        for hook in &declared.hooks {
            ensure!(hook.name.is_some(), "{}: every hook of a pack needs a name", file.display());
            ensure!(
                hook.type_name() == "rule",
                "{}: hook `{}` runs a program; a pack consists of rules",
                file.display(),
                hook.id()
            );
        }
        Ok(())
    }

    /// Returns its hooks, as a file of settings.
    pub(crate) fn settings_text(&self) -> &str {
        &self.hooks
    }

    fn source(&self) -> Source {
        match self.scope() {
            PackScope::Project => Source::Project,
            PackScope::User => Source::User,
        }
    }

    /// Returns whose settings it belongs in: a rule with `only` approves calls.
    pub(crate) fn scope(&self) -> PackScope {
        let approves = self.hook_values().iter().any(|hook| hook.get("only").is_some());
        if approves { PackScope::User } else { PackScope::Project }
    }

    /// Returns what it does in one line: the heading of its README behind the name.
    pub(crate) fn summary(&self) -> &str {
        let heading = self.readme.lines().next().unwrap_or_default().trim_start_matches('#').trim();
        heading.split_once(": ").map_or(heading, |(_, summary)| summary)
    }

    /// Returns the names of its hooks.
    pub(crate) fn hook_names(&self) -> Vec<String> {
        self.hook_values().iter().filter_map(|hook| hook["name"].as_str().map(str::to_owned)).collect()
    }

    /// Returns the neutral settings file that it belongs in: that of the scope, and the user's instead of a project's
    /// if it approves.
    pub(crate) fn settings_file(&self, paths: &ConfigPaths, project: &Path, scope: InstallScope) -> PathBuf {
        match scope {
            InstallScope::Machine => paths.system_hooks_file(),
            InstallScope::Project if self.scope() == PackScope::Project => paths.hookwright_hooks_file(project),
            InstallScope::Project | InstallScope::User => paths.hookwright_hooks_file(&paths.home),
        }
    }

    /// Returns the pack as this scope has it. In the machine's settings, no other layer can switch its hooks off.
    pub(crate) fn for_scope(&self, scope: InstallScope) -> Cow<'_, Pack> {
        match scope {
            InstallScope::Machine => Cow::Owned(self.locked()),
            InstallScope::Project | InstallScope::User => Cow::Borrowed(self),
        }
    }
}

/// Runs `hooks packs`.
pub(crate) fn list(json: bool) -> anyhow::Result<u8> {
    if json {
        let packs = shipped().iter().map(|pack| {
            let scope = if pack.scope() == PackScope::User { "user" } else { "project" };
            json!({"name": pack.name, "summary": pack.summary(), "scope": scope, "hooks": pack.hook_names()})
        });
        writeln!(output::stdout(), "{:#}", packs.collect::<serde_json::Value>())?;
        return Ok(exit::OK);
    }
    let mut table = TextTable::new(&["PACK", "FOR", "WHAT IT DOES"]);
    for pack in shipped() {
        let scope = if pack.scope() == PackScope::User { "you" } else { "a project or you" };
        table.add_row(vec![
            (BOLD, pack.name.to_string()),
            (PLAIN, scope.to_owned()),
            (PLAIN, pack.summary().to_owned()),
        ]);
    }
    table.print(&mut output::stdout())?;
    output::hint(
        "add one with `hookwright hooks add --pack PACK`, `--user` for all your projects, `--machine` for all users",
    )?;
    Ok(exit::OK)
}

/// Runs `hooks add --pack`.
pub(crate) fn add(place: &ProjectArgs, world: &ProcessEnv, name: &str, scope: InstallScope) -> anyhow::Result<u8> {
    let project = place.directory(world)?;
    let pack = Pack::find(name, &world.cwd)?;
    let file = pack.settings_file(&ConfigPaths::new(world), &project, scope);
    if pack.scope() == PackScope::User && scope == InstallScope::Project {
        output::note(format!("`{}` approves calls, which only your own settings may: it goes there", pack.name))?;
    }
    print_addition(&pack.for_scope(scope).add_to(&file)?, &project)?;
    if file.starts_with(&project) {
        output::hint(
            "agents are refused every call while guards of a folder that is not trusted wait: `hookwright hooks trust --folder`",
        )?;
    }
    Ok(exit::OK)
}

fn print_addition(addition: &PackAddition, project: &Path) -> anyhow::Result<()> {
    let shown = |path: &Path| path.strip_prefix(project).unwrap_or(path).display().to_string();
    let mut out = output::stdout();
    addition.added.iter().try_for_each(|name| writeln!(out, "{:<9}{name}", "added"))?;
    addition.present.iter().try_for_each(|name| writeln!(out, "{:<9}{name}", "present"))?;
    for name in &addition.differing {
        writeln!(out, "{:<9}{name} (differs from the pack's; it stays as it is)", "kept")?;
    }
    writeln!(out, "{:<9}{}", "settings", shown(&addition.settings))?;
    writeln!(out, "{:<9}{}", "test", shown(&addition.test))?;
    output::hint(format!("see it work: `hookwright hooks test {}`", shown(&addition.test)))?;
    Ok(())
}
