//! Where each host keeps its hooks, for a user and for a project, and how the file is laid out. Only names: nothing is read.

use std::path::{Path, PathBuf};

use hookwright_settings::{Paths, World};

use super::text::Shape;
use crate::host::Host;

/// Whose settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The user's, for all projects.
    User,
    /// A project's, for all who work on it.
    Project,
}

impl Scope {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
        }
    }
}

/// A file that holds entries, or could.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The host that reads it.
    pub host: Host,
    /// Whose it is.
    pub scope: Scope,
    /// The file.
    pub file: PathBuf,
    /// How it is laid out.
    pub shape: Shape,
    /// The project's folder, which a project's file is to stay in.
    pub project: PathBuf,
}

impl Target {
    /// The places for a host's entries, the one that counts first. Where the first is not there and a later one is, the host
    /// may be reading that, and a new first one would put it out of force.
    pub fn candidates(host: Host, scope: Scope, world: &World, project: &Path) -> Vec<Target> {
        let base = base(host, scope, world, project);
        let target = |file: &str, shape: Shape| {
            let project = project.to_owned();
            Target { host, scope, file: base.join(file), shape, project }
        };
        match host {
            Host::ClaudeCode | Host::Qwen | Host::GeminiCli => vec![target("settings.json", Shape::Groups)],
            Host::Codex => vec![target("hooks.json", Shape::Groups)],
            Host::Copilot => vec![target("hooks/hookwright.json", Shape::Flat)],
            Host::Cursor => vec![target("hooks.json", Shape::Flat)],
            Host::Droid => vec![
                target("hooks.json", Shape::Bare),
                target("hooks/hooks.json", Shape::Bare),
                target("settings.json", Shape::Groups),
            ],
            Host::Grok => vec![target("hooks/hookwright.json", Shape::Groups)],
            Host::Antigravity => vec![target("hooks.json", Shape::Named)],
            Host::Opencode => vec![target("plugin/hookwright.js", Shape::Plugin)],
        }
    }
}

/// The folder that a host keeps its settings in.
fn base(host: Host, scope: Scope, world: &World, project: &Path) -> PathBuf {
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
        Host::GeminiCli => (".gemini", ".gemini", Some(Paths::new(world).user_dir)),
        Host::Antigravity => (".agents", ".gemini/config", None),
        Host::Opencode => {
            (".opencode", ".config/opencode", named("XDG_CONFIG_HOME").map(|config| config.join("opencode")))
        }
    };
    match scope {
        Scope::Project => project.join(in_project),
        Scope::User => instead.unwrap_or_else(|| home.join(in_home)),
    }
}

/// The folder in the user's home that says that a host has been used here.
pub fn detection(host: Host, world: &World) -> PathBuf {
    match host {
        // `~/.gemini` alone may be anybody's, this program's included.
        Host::Antigravity => base(Host::GeminiCli, Scope::User, world, Path::new("")).join("antigravity-cli"),
        host => base(host, Scope::User, world, Path::new("")),
    }
}

/// The other hosts' files that a host reads too, so that entries in them fire there as well.
pub fn targets_read_by(host: Host, world: &World, project: &Path) -> Vec<Target> {
    let others = host.info().reads.iter();
    let scopes = [Scope::User, Scope::Project];
    others.flat_map(|other| scopes.map(|scope| Target::candidates(*other, scope, world, project))).flatten().collect()
}
