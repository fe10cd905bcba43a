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
pub(crate) fn agents(args: &Args) -> Vec<Installed> {
    let mut agents = Vec::new();
    for wanted in &args.agents {
        match agent(&args.cache, wanted) {
            Ok(program) => {
                agents.push(Installed { host: wanted.host, version: wanted.version.clone(), program });
            }
            Err(error) => eprintln!("conformance: {} {} is left out: {error:#}", wanted.host, wanted.version),
        }
    }
    agents
}

fn agent(cache: &Path, wanted: &Wanted) -> anyhow::Result<PathBuf> {
    let info = wanted.host.info();
    let folder = cache.join(info.name).join(&wanted.version);
    let program = folder.join("node_modules/.bin").join(info.program);
    if !program.exists() {
        npm(&folder, &format!("{}@{}", info.npm.context("it is not on npm")?, wanted.version))?;
    }
    // What opencode would fetch for its plugins once it finds one, where there is no network any more.
    let plugin = folder.join("plugin");
    if wanted.host == Host::Opencode && !plugin.join("package-lock.json").exists() {
        npm(&plugin, &format!("@opencode-ai/plugin@{}", wanted.version))?;
    }
    if !program.exists() {
        bail!("its package has no program of that name");
    }
    let mut start = Command::new(&program);
    start.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if !start.status().is_ok_and(|status| status.success()) {
        bail!("it is installed and does not run here");
    }
    std::path::absolute(&program).context("no path")
}

fn npm(folder: &Path, package: &str) -> anyhow::Result<()> {
    eprintln!("conformance: installing {package} ...");
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(folder).arg(package);
    let status = npm.stdin(Stdio::null()).stdout(Stdio::null()).status().context("npm is not here")?;
    if !status.success() {
        bail!("npm could not install it");
    }
    Ok(())
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
