//! The sandbox of one case: a home, a project, the hook scripts, and the settings that configure them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hookwright_bridge::Host;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{HookWiring, TrialAgent, TrialCase, TrialError, TrialLimits};
use crate::behaviour::{
    Behaviour, HookIntent, PORT_PLACEHOLDER, RAN_FILE, REASON_MARKER, SECRET_FILE, ScriptDialect, TrialCallKind,
    TrialHook, TrialSetup,
};
use crate::driver::{AgentDriver, AgentHookEntry};

/// The script of a call whose effects are not known.
pub(super) const UNKNOWN_SCRIPT: &str = "attempt.sh";
/// A harmless program that another one takes the place of.
pub(super) const DISGUISED_PROGRAM: &str = "uptime";

/// A home and a project of one case.
pub(crate) struct TrialSandbox {
    _folder: TempDir,
    root: PathBuf,
}

impl TrialSandbox {
    pub(crate) fn new(keep: bool) -> Result<TrialSandbox, TrialError> {
        let failed = |source| TrialError::Sandbox { path: std::env::temp_dir().display().to_string(), source };
        let mut folder = tempfile::Builder::new().prefix("trial").tempdir().map_err(failed)?;
        folder.disable_cleanup(keep);
        let root = folder.path().canonicalize().map_err(failed)?;
        let sandbox = TrialSandbox { _folder: folder, root };
        for folder in [sandbox.home_dir(), sandbox.project_dir(), sandbox.hooks_dir()] {
            fs::create_dir_all(&folder).map_err(sandbox_error(&folder))?;
        }
        Ok(sandbox)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn home_dir(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(crate) fn project_dir(&self) -> PathBuf {
        self.root.join("project")
    }

    fn hooks_dir(&self) -> PathBuf {
        self.root.join("hooks")
    }

    /// Returns the folder of the programs that are found before those of the system.
    pub(crate) fn programs_dir(&self) -> PathBuf {
        self.root.join("programs")
    }

    /// Returns whether the project has a file of this name.
    pub(crate) fn has_file(&self, name: &str) -> bool {
        self.project_dir().join(name).exists()
    }

    /// Returns how many hook processes of a set were started.
    pub(crate) fn started_hooks(&self, set: usize) -> usize {
        let entries = fs::read_dir(self.hooks_dir()).into_iter().flatten().flatten();
        let mark = format!("started{set}-");
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&mark)).count()
    }

    /// Writes scripts and settings.
    pub(crate) async fn prepare(
        &mut self,
        cell: &TrialCase<'_>,
        driver: &AgentDriver,
        url: &str,
        bounds: TrialLimits<'_>,
    ) -> Result<(), TrialError> {
        let commands = self.write_hook_scripts(cell.behaviour, 0)?;
        self.write_called_programs(cell.behaviour.call_kind, url)?;
        self.link_unpacked(cell.agent.host, bounds)?;
        match cell.wiring {
            HookWiring::Direct => {
                self.write_settings(driver, url, &direct_entries(cell.behaviour, driver, &commands, false))
            }
            HookWiring::DirectClosed => {
                self.write_settings(driver, url, &direct_entries(cell.behaviour, driver, &commands, true))
            }
            HookWiring::Bridge(hookwright) => {
                let definition = bridge_definition(cell.behaviour, &commands);
                let mut settings = json!({"hooks": {cell.behaviour.event.name(): [definition]}});
                if let TrialCallKind::DisguisedProgram(_) = cell.behaviour.call_kind {
                    settings["hooksConfig"] = json!({"enforce": "always"});
                }
                let goes = cell.behaviour.setup == TrialSetup::ProgramMissing;
                self.wire_bridge(
                    cell.agent,
                    driver,
                    url,
                    &settings,
                    TrialBridgeProgram { path: hookwright, removed_before_call: goes },
                    bounds,
                )
                .await
            }
        }
    }

    /// Writes scripts and settings for several behaviours in one run, each for its own command, through Hookwright.
    pub(crate) async fn prepare_batch(
        &mut self,
        agent: TrialAgent<'_>,
        driver: &AgentDriver,
        behaviours: &[(&'static Behaviour, String)],
        url: &str,
        called: TrialBridgeProgram<'_>,
        bounds: TrialLimits<'_>,
    ) -> Result<(), TrialError> {
        let mut settings = json!({"hooks": {}});
        for (nth, (behaviour, command)) in behaviours.iter().enumerate() {
            let mut definition = bridge_definition(behaviour, &self.write_hook_scripts(behaviour, nth)?);
            definition["when"] = json!({"commands": [command]});
            let of_event = &mut settings["hooks"][behaviour.event.name()];
            match of_event.as_array_mut() {
                Some(definitions) => definitions.push(definition),
                None => *of_event = json!([definition]),
            }
        }
        self.link_unpacked(agent.host, bounds)?;
        self.wire_bridge(agent, driver, url, &settings, called, bounds).await
    }

    /// Writes Hookwright's settings and the agent's own, and installs the bridge.
    async fn wire_bridge(
        &self,
        agent: TrialAgent<'_>,
        driver: &AgentDriver,
        url: &str,
        settings: &Value,
        called: TrialBridgeProgram<'_>,
        bounds: TrialLimits<'_>,
    ) -> Result<(), TrialError> {
        self.write_file(&self.home_dir().join(".hookwright/hooks.json"), &format!("{settings:#}\n"))?;
        self.write_settings(driver, url, &[])?;
        self.link_plugins(agent)?;
        self.install_bridge(agent.host, called, bounds).await
    }

    /// Writes the agent's own settings, and installs the bridge by a copy of the program that can be replaced.
    pub(crate) async fn prepare_trial_bridge(
        &self,
        agent: TrialAgent<'_>,
        driver: &AgentDriver,
        url: &str,
        hookwright: &Path,
        bounds: TrialLimits<'_>,
    ) -> Result<(), TrialError> {
        self.link_unpacked(agent.host, bounds)?;
        self.write_settings(driver, url, &[])?;
        self.link_plugins(agent)?;
        let own = self.copy_program(hookwright)?;
        super::run::run_hookwright(&own, &["agents", "install", agent.host.name(), "--user", "--yes"], self, bounds)
            .await
    }

    /// Returns the path of the copied program.
    pub(crate) fn bridge_program(&self) -> PathBuf {
        self.root.join("bin/hookwright")
    }

    /// Copies Hookwright's program into the sandbox; as a hard link where possible, since the file is large.
    fn copy_program(&self, hookwright: &Path) -> Result<PathBuf, TrialError> {
        let own = self.bridge_program();
        fs::create_dir_all(self.root.join("bin")).map_err(sandbox_error(&own))?;
        // A hard link to a symbolic link would still lead to the user's own program.
        let program = hookwright.canonicalize().map_err(sandbox_error(hookwright))?;
        fs::hard_link(&program, &own).or_else(|_| fs::copy(&program, &own).map(drop)).map_err(sandbox_error(&own))?;
        Ok(own)
    }

    /// Runs `hookwright agents install`, as a user would.
    async fn install_bridge(
        &self,
        host: Host,
        called: TrialBridgeProgram<'_>,
        bounds: TrialLimits<'_>,
    ) -> Result<(), TrialError> {
        let TrialBridgeProgram { path: hookwright, removed_before_call: goes } = called;
        let program = if goes { self.copy_program(hookwright)? } else { hookwright.to_owned() };
        super::run::run_hookwright(&program, &["agents", "install", host.name(), "--user", "--yes"], self, bounds)
            .await?;
        if goes {
            fs::remove_file(&program).map_err(sandbox_error(&program))?;
        }
        Ok(())
    }

    /// Links the packages that opencode would fetch from the network for its plugins, if they were installed beside it.
    fn link_plugins(&self, agent: TrialAgent<'_>) -> Result<(), TrialError> {
        let Some(folder) = agent.program.ancestors().nth(3).map(|folder| folder.join("plugin")) else { return Ok(()) };
        if agent.host != Host::Opencode || !folder.is_dir() {
            return Ok(());
        }
        let home = self.home_dir().join(".config/opencode");
        fs::create_dir_all(&home).map_err(sandbox_error(&home))?;
        for name in ["package.json", "package-lock.json"] {
            fs::copy(folder.join(name), home.join(name)).map_err(sandbox_error(&folder))?;
        }
        symlink(&folder.join("node_modules"), &home.join("node_modules")).map_err(sandbox_error(&folder))
    }

    /// Links the package that Copilot unpacks on its first start, hundreds of megabytes, if it has done so for the
    /// user.
    pub(crate) fn link_unpacked(&self, host: Host, bounds: TrialLimits<'_>) -> Result<(), TrialError> {
        const COPILOT_PACKAGE_DIR: &str = "copilot/pkg";
        let Some(unpacked) = bounds.cache_dir.map(|cache| cache.join(COPILOT_PACKAGE_DIR)) else { return Ok(()) };
        if host != Host::Copilot || !unpacked.is_dir() {
            return Ok(());
        }
        let own = self.home_dir().join(".cache").join(COPILOT_PACKAGE_DIR);
        let folder = own.parent().unwrap_or(&own);
        fs::create_dir_all(folder).map_err(sandbox_error(folder))?;
        symlink(&unpacked, &own).map_err(sandbox_error(&own))
    }

    pub(crate) fn write_settings(
        &self,
        driver: &AgentDriver,
        url: &str,
        entries: &[AgentHookEntry<'_>],
    ) -> Result<(), TrialError> {
        let files = driver.settings_files(url, entries);
        files.iter().try_for_each(|(path, text)| self.write_file(&self.home_dir().join(path), text))
    }

    fn write_file(&self, path: &Path, text: &str) -> Result<(), TrialError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(sandbox_error(folder))?;
        }
        fs::write(path, text).map_err(sandbox_error(path))
    }

    /// Writes an executable script and returns its path.
    pub(crate) fn write_script(&self, name: &str, text: &str) -> Result<String, TrialError> {
        let path = self.hooks_dir().join(name);
        self.write_executable(&path, text)?;
        Ok(path.display().to_string())
    }

    /// Writes an executable file.
    pub(crate) fn write_executable(&self, path: &Path, text: &str) -> Result<(), TrialError> {
        self.write_file(path, text)?;
        make_executable(path).map_err(sandbox_error(path))
    }

    /// Writes what a confined call runs, and the secret that it may not read.
    fn write_called_programs(&self, call: TrialCallKind, url: &str) -> Result<(), TrialError> {
        let (path, text) = match call {
            TrialCallKind::UnknownScript(text) => (self.project_dir().join(UNKNOWN_SCRIPT), text),
            TrialCallKind::DisguisedProgram(text) => (self.programs_dir().join(DISGUISED_PROGRAM), text),
            TrialCallKind::Command | TrialCallKind::Edit | TrialCallKind::EditByCommand => return Ok(()),
        };
        let port = url.rsplit(':').next().unwrap_or_default();
        self.write_executable(&path, &format!("#!/bin/sh\n{}\n", text.replace(PORT_PLACEHOLDER, port)))?;
        self.write_file(&self.project_dir().join(SECRET_FILE), "a secret\n")?;
        // Some agents run commands in a login shell, which sets the search path anew.
        let profile = format!("PATH='{}':$PATH\n", self.programs_dir().display());
        [".profile", ".bash_profile", ".bashrc"]
            .iter()
            .try_for_each(|name| self.write_file(&self.home_dir().join(name), &profile))
    }

    /// Writes the hook scripts of a set, and returns the commands that run them.
    fn write_hook_scripts(&self, behaviour: &Behaviour, set: usize) -> Result<Vec<String>, TrialError> {
        let script = |(nth, hook): (usize, &TrialHook)| {
            let nth = format!("{set}-{nth}");
            let name = format!("hook{nth}");
            let path = self.hooks_dir().join(&name);
            // A marker file per start, so that none is lost however many run at once.
            let mark = self.hooks_dir().join(format!("started{nth}"));
            let head = format!("#!/bin/sh\n: > '{}'.$$\n", mark.display());
            match hook {
                TrialHook::Script(text) => drop(self.write_script(&name, &format!("{head}cat > /dev/null\n{text}\n"))?),
                TrialHook::NotExecutable(text) => self.write_file(&path, &format!("{head}{text}\n"))?,
                TrialHook::Missing | TrialHook::Rule(_) => {}
            }
            Ok(path.display().to_string())
        };
        behaviour.hooks.iter().enumerate().map(script).collect()
    }
}

pub(crate) fn sandbox_error(path: &Path) -> impl Fn(io::Error) -> TrialError {
    let path = path.display().to_string();
    move |source| TrialError::Sandbox { path: path.clone(), source }
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(unix)]
fn symlink(to: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, at)
}

#[cfg(not(unix))]
fn symlink(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns the hooks as entries of the agent's own settings.
fn direct_entries<'a>(
    behaviour: &Behaviour,
    driver: &'a AgentDriver,
    commands: &[String],
    closed: bool,
) -> Vec<AgentHookEntry<'a>> {
    let Some(event) = driver.event_name(behaviour.event) else { return Vec::new() };
    let matcher = (behaviour.call_kind != TrialCallKind::Command).then(|| driver.edit_tools());
    let entry = |command: &String| AgentHookEntry {
        event,
        matcher,
        command: command.clone(),
        timeout: behaviour.timeout,
        fail_closed: closed,
    };
    commands.iter().map(entry).collect()
}

/// Hookwright's program, which the agent calls.
#[derive(Clone, Copy)]
pub(crate) struct TrialBridgeProgram<'a> {
    pub(crate) path: &'a Path,
    /// Whether the program is removed before the agent calls it.
    pub(crate) removed_before_call: bool,
}

/// Returns the hooks as a definition in Hookwright's settings; hooks that deny or rewrite are guards.
fn bridge_definition(behaviour: &Behaviour, commands: &[String]) -> Value {
    let guard = matches!(behaviour.intent, HookIntent::Deny | HookIntent::Rewrite | HookIntent::Confine);
    let hook = |(nth, command): (usize, &String)| {
        let name = format!("trial-{}-{nth}", behaviour.name);
        let mut hook = match behaviour.hooks.get(nth) {
            Some(TrialHook::Rule(when)) => {
                let when: Value = serde_json::from_str(when).unwrap_or_default();
                json!({"type": "rule", "name": name, "decision": "deny", "when": when, "reason": REASON_MARKER})
            }
            _ => json!({"type": "command", "name": name, "command": command}),
        };
        if guard {
            hook["guard"] = json!(true);
        }
        if behaviour.dialect == ScriptDialect::Claude {
            hook["dialect"] = json!("claude");
        }
        if let Some(timeout) = behaviour.timeout {
            // The file determines the unit of time, not the dialect.
            hook["timeout"] = json!(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        }
        hook
    };
    let hooks: Vec<Value> = commands.iter().enumerate().map(hook).collect();
    let mut definition = json!({"hooks": hooks});
    match behaviour.call_kind {
        TrialCallKind::Command | TrialCallKind::UnknownScript(_) | TrialCallKind::DisguisedProgram(_) => {}
        TrialCallKind::Edit => definition["matcher"] = json!("write_file|replace"),
        TrialCallKind::EditByCommand => definition["when"] = json!({"writes": [format!("**/{RAN_FILE}")]}),
    }
    definition
}
