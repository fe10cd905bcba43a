//! Where one cell happens: a home, a project, the hooks' scripts, and the settings that have them called.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hookwright_bridge::Host;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Agent, Bounds, Cell, TrialError, Wiring};
use crate::behaviour::{Behaviour, Hook, Meaning, Place, RAN, Wanted, Words};
use crate::driver::{Driver, Entry};

/// A home and a project that nobody else uses.
pub(crate) struct Scene {
    _folder: TempDir,
    root: PathBuf,
}

impl Scene {
    pub(crate) fn new(keep: bool) -> Result<Scene, TrialError> {
        let failed = |source| TrialError::Place { path: std::env::temp_dir().display().to_string(), source };
        let mut folder = tempfile::Builder::new().prefix("trial").tempdir().map_err(failed)?;
        folder.disable_cleanup(keep);
        let root = folder.path().canonicalize().map_err(failed)?;
        let scene = Scene { _folder: folder, root };
        for folder in [scene.home(), scene.project(), scene.hooks()] {
            fs::create_dir_all(&folder).map_err(place(&folder))?;
        }
        Ok(scene)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    fn hooks(&self) -> PathBuf {
        self.root.join("hooks")
    }

    /// Whether the project has that file.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.project().join(name).exists()
    }

    /// How many hooks of a set were started.
    pub(crate) fn started(&self, set: usize) -> usize {
        let entries = fs::read_dir(self.hooks()).into_iter().flatten().flatten();
        let mark = format!("started{set}-");
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&mark)).count()
    }

    /// Writes scripts and settings.
    pub(crate) async fn furnish(
        &mut self,
        cell: &Cell<'_>,
        driver: &Driver,
        url: &str,
        bounds: Bounds<'_>,
    ) -> Result<(), TrialError> {
        let commands = self.scripts(cell.behaviour, 0)?;
        self.bring_unpacked(cell.agent.host, bounds)?;
        match cell.wiring {
            Wiring::Direct => self.settings(driver, url, &direct(cell.behaviour, driver, &commands, false)),
            Wiring::DirectClosed => self.settings(driver, url, &direct(cell.behaviour, driver, &commands, true)),
            Wiring::Bridge(hookwright) => {
                let definition = ours(cell.behaviour, &commands);
                let settings = json!({"hooks": {cell.behaviour.event.name(): [definition]}});
                let goes = cell.behaviour.place == Place::ProgramGone;
                self.bridge(cell.agent, driver, url, &settings, Called { hookwright, goes }, bounds).await
            }
        }
    }

    /// Scripts and settings for several behaviours in one run, each for a command of its own, through Hookwright.
    pub(crate) async fn furnish_all(
        &mut self,
        agent: Agent<'_>,
        driver: &Driver,
        behaviours: &[(&'static Behaviour, String)],
        url: &str,
        called: Called<'_>,
        bounds: Bounds<'_>,
    ) -> Result<(), TrialError> {
        let mut settings = json!({"hooks": {}});
        for (nth, (behaviour, command)) in behaviours.iter().enumerate() {
            let mut definition = ours(behaviour, &self.scripts(behaviour, nth)?);
            definition["when"] = json!({"commands": [command]});
            let of_event = &mut settings["hooks"][behaviour.event.name()];
            match of_event.as_array_mut() {
                Some(definitions) => definitions.push(definition),
                None => *of_event = json!([definition]),
            }
        }
        self.bring_unpacked(agent.host, bounds)?;
        self.bridge(agent, driver, url, &settings, called, bounds).await
    }

    /// Our settings, the agent's own, and what has it call us.
    async fn bridge(
        &self,
        agent: Agent<'_>,
        driver: &Driver,
        url: &str,
        settings: &Value,
        called: Called<'_>,
        bounds: Bounds<'_>,
    ) -> Result<(), TrialError> {
        self.write(&self.home().join(".hookwright/hooks.json"), &format!("{settings:#}\n"))?;
        self.settings(driver, url, &[])?;
        self.bring_plugins(agent)?;
        self.install(agent.host, called, bounds).await
    }

    /// Has Hookwright write itself into the agent's settings, as a user would.
    async fn install(&self, host: Host, called: Called<'_>, bounds: Bounds<'_>) -> Result<(), TrialError> {
        let own = self.root.join("bin/hookwright");
        let Called { hookwright, goes } = called;
        let program = if goes { own.as_path() } else { hookwright };
        if goes {
            fs::create_dir_all(self.root.join("bin")).map_err(place(&own))?;
            // Another name for the same file where that can be, since it is large.
            fs::hard_link(hookwright, &own).or_else(|_| fs::copy(hookwright, &own).map(drop)).map_err(place(&own))?;
        }
        super::run::hookwright(program, &["agents", "install", host.name(), "--user", "--yes"], self, bounds).await?;
        if goes {
            fs::remove_file(&own).map_err(place(&own))?;
        }
        Ok(())
    }

    /// What opencode would fetch from the network for its plugins, if it was installed beside it.
    fn bring_plugins(&self, agent: Agent<'_>) -> Result<(), TrialError> {
        let Some(folder) = agent.program.ancestors().nth(3).map(|folder| folder.join("plugin")) else { return Ok(()) };
        if agent.host != Host::Opencode || !folder.is_dir() {
            return Ok(());
        }
        let home = self.home().join(".config/opencode");
        fs::create_dir_all(&home).map_err(place(&home))?;
        for name in ["package.json", "package-lock.json"] {
            fs::copy(folder.join(name), home.join(name)).map_err(place(&folder))?;
        }
        link(&folder.join("node_modules"), &home.join("node_modules")).map_err(place(&folder))
    }

    /// What an agent unpacks on its first start, hundreds of megabytes, if it has done so for the user.
    pub(crate) fn bring_unpacked(&self, host: Host, bounds: Bounds<'_>) -> Result<(), TrialError> {
        const COPILOTS: &str = "copilot/pkg";
        let Some(unpacked) = bounds.cache.map(|cache| cache.join(COPILOTS)) else { return Ok(()) };
        if host != Host::Copilot || !unpacked.is_dir() {
            return Ok(());
        }
        let own = self.home().join(".cache").join(COPILOTS);
        let folder = own.parent().unwrap_or(&own);
        fs::create_dir_all(folder).map_err(place(folder))?;
        link(&unpacked, &own).map_err(place(&own))
    }

    pub(crate) fn settings(&self, driver: &Driver, url: &str, entries: &[Entry<'_>]) -> Result<(), TrialError> {
        let files = driver.files(url, entries);
        files.iter().try_for_each(|(path, text)| self.write(&self.home().join(path), text))
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), TrialError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(place(folder))?;
        }
        fs::write(path, text).map_err(place(path))
    }

    /// A script that can be run; its path.
    pub(crate) fn script(&self, name: &str, text: &str) -> Result<String, TrialError> {
        let path = self.hooks().join(name);
        self.write(&path, text)?;
        make_executable(&path).map_err(place(&path))?;
        Ok(path.display().to_string())
    }

    /// The hooks' scripts, in a set of their own; the commands that run them.
    fn scripts(&self, behaviour: &Behaviour, set: usize) -> Result<Vec<String>, TrialError> {
        let script = |(nth, hook): (usize, &Hook)| {
            let nth = format!("{set}-{nth}");
            let name = format!("hook{nth}");
            let path = self.hooks().join(&name);
            // A mark of its own for every start, so that none is lost however many run at once.
            let mark = self.hooks().join(format!("started{nth}"));
            let head = format!("#!/bin/sh\n: > '{}'.$$\n", mark.display());
            match hook {
                Hook::Script(text) => drop(self.script(&name, &format!("{head}cat > /dev/null\n{text}\n"))?),
                Hook::NotExecutable(text) => self.write(&path, &format!("{head}{text}\n"))?,
                Hook::Missing => {}
            }
            Ok(path.display().to_string())
        };
        behaviour.hooks.iter().enumerate().map(script).collect()
    }
}

fn place(path: &Path) -> impl Fn(io::Error) -> TrialError {
    let path = path.display().to_string();
    move |source| TrialError::Place { path: path.clone(), source }
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(unix)]
fn link(to: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, at)
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// The hooks in the agent's own settings.
fn direct<'a>(behaviour: &Behaviour, driver: &'a Driver, commands: &[String], closed: bool) -> Vec<Entry<'a>> {
    let Some(event) = driver.event(behaviour.event) else { return Vec::new() };
    let matcher = (behaviour.wants != Wanted::Command).then(|| driver.editors());
    let entry =
        |command: &String| Entry { event, matcher, command: command.clone(), patience: behaviour.patience, closed };
    commands.iter().map(entry).collect()
}

/// Hookwright's program, as an agent is told to call it.
#[derive(Clone, Copy)]
pub(crate) struct Called<'a> {
    pub(crate) hookwright: &'a Path,
    /// Whether it is gone by the time that it is called.
    pub(crate) goes: bool,
}

/// The hooks as a definition in our settings: what says no is a guard.
fn ours(behaviour: &Behaviour, commands: &[String]) -> Value {
    let guard = matches!(behaviour.means, Meaning::No | Meaning::Otherwise);
    let hook = |(nth, command): (usize, &String)| {
        let name = format!("trial-{}-{nth}", behaviour.name);
        let mut hook = json!({"type": "command", "name": name, "command": command});
        if guard {
            hook["guard"] = json!(true);
        }
        if behaviour.words == Words::Claude {
            hook["dialect"] = json!("claude");
        }
        if let Some(patience) = behaviour.patience {
            // The file decides what time is counted in, not the dialect.
            hook["timeout"] = json!(u64::try_from(patience.as_millis()).unwrap_or(u64::MAX));
        }
        hook
    };
    let hooks: Vec<Value> = commands.iter().enumerate().map(hook).collect();
    let mut definition = json!({"hooks": hooks});
    match behaviour.wants {
        Wanted::Command => {}
        Wanted::Edit => definition["matcher"] = json!("write_file|replace"),
        Wanted::EditByCommand => definition["when"] = json!({"writes": [format!("**/{RAN}")]}),
    }
    definition
}
