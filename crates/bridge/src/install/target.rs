//! The path and layout of each host's hook settings, for a user and for a project. The files themselves are not read
//! here.

use std::path::{Path, PathBuf};

use hookwright_settings::{ConfigPaths, ProcessEnv};

use super::settings_text::HookFileLayout;
use crate::host::Host;

/// The settings that an installation changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallScope {
    /// The user's settings, for all projects.
    User,
    /// A project's settings, for all who work on it.
    Project,
    /// The machine's settings, for all of its users, who can't switch them off.
    Machine,
}

impl InstallScope {
    /// Returns the scope's name as it is displayed.
    pub fn as_str(self) -> &'static str {
        match self {
            InstallScope::User => "user",
            InstallScope::Project => "project",
            InstallScope::Machine => "machine",
        }
    }

    /// Returns whose settings these are, for messages.
    pub fn owner(self) -> &'static str {
        match self {
            InstallScope::User => "the user's",
            InstallScope::Project => "the project's",
            InstallScope::Machine => "the machine's",
        }
    }
}

/// A settings file that holds entries, or could.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallTarget {
    /// The host that reads the file.
    pub host: Host,
    /// Whether the file is the user's, a project's or the machine's.
    pub scope: InstallScope,
    /// The path of the file.
    pub file: PathBuf,
    /// The file's JSON structure.
    pub layout: HookFileLayout,
    /// The project's folder, which a project's file must stay in.
    pub project: PathBuf,
}

impl InstallTarget {
    /// Returns the files that can hold a host's entries, the preferred one first. Empty for the machine's settings of a
    /// host that has none.
    ///
    /// If only a later file exists, the host may be reading that, and creating the first would disable it.
    pub fn candidates(host: Host, scope: InstallScope, world: &ProcessEnv, project: &Path) -> Vec<InstallTarget> {
        if scope == InstallScope::Machine {
            let file = machine_file(host, world);
            let target = |(file, layout)| InstallTarget { host, scope, file, layout, project: project.to_owned() };
            return file.map(target).into_iter().collect();
        }
        let base = settings_dir(host, scope, world, project);
        let target = |file: &str, shape: HookFileLayout| {
            let project = project.to_owned();
            InstallTarget { host, scope, file: base.join(file), layout: shape, project }
        };
        match host {
            Host::ClaudeCode | Host::Qwen | Host::GeminiCli => vec![target("settings.json", HookFileLayout::Groups)],
            Host::Codex => vec![target("hooks.json", HookFileLayout::Groups)],
            Host::Copilot => vec![target("hooks/hookwright.json", HookFileLayout::Flat)],
            Host::Cursor => vec![target("hooks.json", HookFileLayout::Flat)],
            Host::Droid => vec![
                target("hooks.json", HookFileLayout::Bare),
                target("hooks/hooks.json", HookFileLayout::Bare),
                target("settings.json", HookFileLayout::Groups),
            ],
            Host::Grok => vec![target("hooks/hookwright.json", HookFileLayout::Groups)],
            Host::Antigravity => vec![target("hooks.json", HookFileLayout::Named)],
            Host::Opencode => vec![target("plugin/hookwright.js", HookFileLayout::Plugin)],
            Host::Acp => Vec::new(),
        }
    }
}

/// Returns the folder that a host keeps its settings in.
pub(super) fn settings_dir(host: Host, scope: InstallScope, world: &ProcessEnv, project: &Path) -> PathBuf {
    let home = world.home.clone().unwrap_or_else(|| PathBuf::from("/nonexistent"));
    let named = |variable: &str| world.var(variable).filter(|value| !value.is_empty()).map(|path| world.cwd.join(path));
    let (in_project, in_home, instead) = match host {
        Host::ClaudeCode => (".claude", ".claude", named("CLAUDE_CONFIG_DIR")),
        Host::Codex => (".codex", ".codex", named("CODEX_HOME")),
        Host::Copilot => (".github", ".copilot", named("COPILOT_HOME")),
        Host::Cursor => (".cursor", ".cursor", None),
        Host::Qwen => (".qwen", ".qwen", None),
        Host::Droid => (".factory", ".factory", None),
        Host::Grok => (".grok", ".grok", None),
        Host::GeminiCli => (".gemini", ".gemini", Some(ConfigPaths::new(world).user_dir)),
        Host::Antigravity => (".agents", ".gemini/config", None),
        Host::Opencode => {
            (".opencode", ".config/opencode", named("XDG_CONFIG_HOME").map(|config| config.join("opencode")))
        }
        Host::Acp => ("", "", None),
    };
    match scope {
        InstallScope::Project => project.join(in_project),
        InstallScope::User | InstallScope::Machine => instead.unwrap_or_else(|| home.join(in_home)),
    }
}

/// The variable that names another root directory for the machine's settings, for tests.
pub const MACHINE_ROOT_VARIABLE: &str = "HOOKWRIGHT_MACHINE_ROOT";

/// Returns the file of the machine's settings that a host documents, and its structure.
fn machine_file(host: Host, world: &ProcessEnv) -> Option<(PathBuf, HookFileLayout)> {
    let is_macos = cfg!(target_os = "macos");
    let (linux, macos, layout) = match host {
        Host::ClaudeCode => ("etc/claude-code", "ClaudeCode", ("managed-settings.json", HookFileLayout::Groups)),
        Host::Codex => ("etc/codex", "", ("requirements.toml", HookFileLayout::Requirements)),
        Host::Copilot if !is_macos => ("etc/github-copilot/policy.d", "", ("hookwright.json", HookFileLayout::Flat)),
        Host::Cursor => ("etc/cursor", "Cursor", ("hooks.json", HookFileLayout::Flat)),
        Host::Droid => ("etc/factory", "Factory", ("settings.json", HookFileLayout::Groups)),
        // Hookwright reads the same file as its own system settings.
        Host::GeminiCli => return Some((ConfigPaths::new(world).system_settings, HookFileLayout::Groups)),
        Host::Copilot | Host::Qwen | Host::Grok | Host::Antigravity | Host::Opencode | Host::Acp => return None,
    };
    let (name, layout) = layout;
    let root = world.var(MACHINE_ROOT_VARIABLE).map(PathBuf::from).filter(|root| root.is_absolute());
    let root = root.unwrap_or_else(|| PathBuf::from("/"));
    let folder = match is_macos && !macos.is_empty() {
        true => root.join("Library/Application Support").join(macos),
        false => root.join(linux),
    };
    (cfg!(unix)).then(|| (folder.join(name), layout))
}

/// Returns the folder in the user's home whose existence shows that a host has been used.
pub fn detection_dir(host: Host, world: &ProcessEnv) -> PathBuf {
    match host {
        // `~/.gemini` belongs to several programs, Hookwright included.
        Host::Antigravity => {
            settings_dir(Host::GeminiCli, InstallScope::User, world, Path::new("")).join("antigravity-cli")
        }
        host => settings_dir(host, InstallScope::User, world, Path::new("")),
    }
}

/// Returns the other hosts' files that a host loads too, so that their entries also run there.
pub fn targets_read_by(host: Host, world: &ProcessEnv, project: &Path) -> Vec<InstallTarget> {
    let others = host.info().reads_settings_of.iter();
    let scopes = [InstallScope::User, InstallScope::Project];
    others
        .flat_map(|other| scopes.map(|scope| InstallTarget::candidates(*other, scope, world, project)))
        .flatten()
        .collect()
}
