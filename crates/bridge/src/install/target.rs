//! Where each host keeps its hooks, for a user and for a project, and how the file is laid out. Only names: nothing is read.

use std::path::{Path, PathBuf};

use hookwright_settings::{ConfigPaths, ProcessEnv};

use super::settings_text::HookFileLayout;
use crate::host::Host;

/// Whose settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallScope {
    /// The user's, for all projects.
    User,
    /// A project's, for all who work on it.
    Project,
}

impl InstallScope {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            InstallScope::User => "user",
            InstallScope::Project => "project",
        }
    }
}

/// A file that holds entries, or could.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallTarget {
    /// The host that reads it.
    pub host: Host,
    /// Whose it is.
    pub scope: InstallScope,
    /// The file.
    pub file: PathBuf,
    /// How it is laid out.
    pub layout: HookFileLayout,
    /// The project's folder, which a project's file is to stay in.
    pub project: PathBuf,
}

impl InstallTarget {
    /// The places for a host's entries, the one that counts first. Where the first is not there and a later one is, the host
    /// may be reading that, and a new first one would put it out of force.
    pub fn candidates(host: Host, scope: InstallScope, world: &ProcessEnv, project: &Path) -> Vec<InstallTarget> {
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
        }
    }
}

/// The folder that a host keeps its settings in.
fn settings_dir(host: Host, scope: InstallScope, world: &ProcessEnv, project: &Path) -> PathBuf {
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
    };
    match scope {
        InstallScope::Project => project.join(in_project),
        InstallScope::User => instead.unwrap_or_else(|| home.join(in_home)),
    }
}

/// The folder in the user's home that says that a host has been used here.
pub fn detection_dir(host: Host, world: &ProcessEnv) -> PathBuf {
    match host {
        // `~/.gemini` alone may be anybody's, this program's included.
        Host::Antigravity => {
            settings_dir(Host::GeminiCli, InstallScope::User, world, Path::new("")).join("antigravity-cli")
        }
        host => settings_dir(host, InstallScope::User, world, Path::new("")),
    }
}

/// The other hosts' files that a host reads too, so that entries in them fire there as well.
pub fn targets_read_by(host: Host, world: &ProcessEnv, project: &Path) -> Vec<InstallTarget> {
    let others = host.info().reads_settings_of.iter();
    let scopes = [InstallScope::User, InstallScope::Project];
    others
        .flat_map(|other| scopes.map(|scope| InstallTarget::candidates(*other, scope, world, project)))
        .flatten()
        .collect()
}
