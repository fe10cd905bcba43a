//! Brings the agents from npm, each version into a folder of its own, and Hookwright from this workspace.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use hookwright_trial::Host;

use crate::args::{Args, Wanted};

/// An agent that is installed.
#[derive(Debug, Clone)]
pub(crate) struct Installed {
    pub(crate) host: Host,
    pub(crate) version: String,
    pub(crate) program: PathBuf,
}

/// Those that could be installed; the others are said.
pub(crate) fn agents(args: &Args) -> anyhow::Result<Vec<Installed>> {
    let mut agents = Vec::new();
    for wanted in &args.agents {
        match agent(&args.cache, wanted) {
            Ok(program) => {
                agents.push(Installed { host: wanted.host, version: wanted.version.clone(), program });
            }
            Err(error) => eprintln!("conformance: {} {} is left out: {error:#}", wanted.host, wanted.version),
        }
    }
    Ok(agents)
}

fn agent(cache: &Path, wanted: &Wanted) -> anyhow::Result<PathBuf> {
    let info = wanted.host.info();
    let folder = cache.join(info.name).join(&wanted.version);
    let program = folder.join("node_modules/.bin").join(info.program);
    if !program.exists() {
        let package = info.npm.context("it is not on npm")?;
        eprintln!("conformance: installing {package}@{} ...", wanted.version);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]);
        npm.arg(&folder).arg(format!("{package}@{}", wanted.version)).args(more(wanted));
        let status = npm.stdin(Stdio::null()).stdout(Stdio::null()).status().context("npm is not here")?;
        if !status.success() || !program.exists() {
            bail!("npm could not install it");
        }
    }
    std::path::absolute(&program).context("no path")
}

/// What some agents fetch for themselves when they first need it.
fn more(wanted: &Wanted) -> Option<String> {
    (wanted.host == Host::Opencode).then(|| format!("@opencode-ai/plugin@{}", wanted.version))
}

/// Hookwright's program: the one given, or this workspace's, built now.
pub(crate) fn hookwright(args: &Args) -> anyhow::Result<PathBuf> {
    if let Some(program) = &args.hookwright {
        return program.canonicalize().with_context(|| format!("there is no {}", program.display()));
    }
    let status = Command::new("cargo").args(["build", "--quiet", "--package", "hookwright"]).status();
    if !status.context("cargo is not here")?.success() {
        bail!("hookwright could not be built");
    }
    let own = std::env::current_exe().context("no path of its own")?;
    let program = own.with_file_name("hookwright");
    program.canonicalize().with_context(|| format!("there is no {}", program.display()))
}
