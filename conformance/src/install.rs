//! Brings the agents from npm, each version into a folder of its own, and Hookwright from this workspace.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use hookwright_trial::Host;

use crate::args::{Args, Wanted};

/// How long npm may take for one package.
const MAX_INSTALL_TIME: Duration = Duration::from_secs(180);
/// How long an agent may take to say its version.
pub(crate) const MAX_VERSION_TIME: Duration = Duration::from_secs(30);
/// How long building Hookwright may take.
const MAX_BUILD_TIME: Duration = Duration::from_secs(900);
/// How long a program that was told to end may still take.
const END_GRACE: Duration = Duration::from_secs(5);

/// An agent that is installed.
#[derive(Debug, Clone)]
pub(crate) struct Installed {
    pub(crate) host: Host,
    pub(crate) version: String,
    pub(crate) program: PathBuf,
}

/// Those that could be installed; the others are said.
pub(crate) fn agents(args: &Args, deadline: Option<Instant>) -> Vec<Installed> {
    let mut agents = Vec::new();
    for wanted in &args.agents {
        match agent(&args.cache, wanted, deadline) {
            Ok(program) => {
                agents.push(Installed { host: wanted.host, version: wanted.version.clone(), program });
            }
            Err(error) => eprintln!("conformance: {} {} is left out: {error:#}", wanted.host, wanted.version),
        }
    }
    agents
}

fn agent(cache: &Path, wanted: &Wanted, deadline: Option<Instant>) -> anyhow::Result<PathBuf> {
    let info = wanted.host.info();
    let folder = cache.join(info.name).join(&wanted.version);
    let program = folder.join("node_modules/.bin").join(info.program);
    if !program.exists() {
        npm(&folder, &format!("{}@{}", info.npm.context("it is not on npm")?, wanted.version), deadline)?;
    }
    // What opencode would fetch for its plugins once it finds one, where there is no network any more.
    let plugin = folder.join("plugin");
    if wanted.host == Host::Opencode && !plugin.join("package-lock.json").exists() {
        npm(&plugin, &format!("@opencode-ai/plugin@{}", wanted.version), deadline)?;
    }
    if !program.exists() {
        bail!("its package has no program of that name");
    }
    let mut start = Command::new(&program);
    start.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if !run(&mut start, MAX_VERSION_TIME, deadline).is_ok_and(|status| status.success()) {
        bail!("it is installed and does not run here");
    }
    std::path::absolute(&program).context("no path")
}

fn npm(folder: &Path, package: &str, deadline: Option<Instant>) -> anyhow::Result<()> {
    eprintln!("conformance: installing {package} ...");
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(folder).arg(package);
    let status = run(npm.stdin(Stdio::null()).stdout(Stdio::null()), MAX_INSTALL_TIME, deadline).context("npm")?;
    if !status.success() {
        bail!("npm could not install it");
    }
    Ok(())
}

/// Runs a program until it ends, for so long at most and not past the deadline.
///
/// It stays in this program's process group, so that a `timeout` around this program ends both.
pub(crate) fn run(command: &mut Command, limit: Duration, deadline: Option<Instant>) -> anyhow::Result<ExitStatus> {
    let started = Instant::now();
    let limit = deadline.map_or(limit, |deadline| limit.min(deadline.saturating_duration_since(started)));
    if limit.is_zero() {
        bail!("no time was left");
    }
    let mut child = command.spawn().context("it does not start")?;
    let mut is_told_to_end = false;
    loop {
        if let Some(status) = child.try_wait()? {
            if is_told_to_end {
                bail!("it took longer than {} seconds", limit.as_secs());
            }
            return Ok(status);
        }
        // npm passes SIGTERM on to what it has started.
        if started.elapsed() > limit && !is_told_to_end {
            is_told_to_end = true;
            #[expect(clippy::disallowed_methods, reason = "kill waits for nothing")]
            let _ = Command::new("kill").arg(child.id().to_string()).status();
        }
        if started.elapsed() > limit + END_GRACE {
            child.kill()?;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Hookwright's program: the one given, or this workspace's, built now.
pub(crate) fn hookwright(args: &Args, deadline: Option<Instant>) -> anyhow::Result<PathBuf> {
    if let Some(program) = &args.hookwright {
        return program.canonicalize().with_context(|| format!("there is no {}", program.display()));
    }
    let mut cargo = Command::new("cargo");
    let status = run(cargo.args(["build", "--quiet", "--package", "hookwright"]), MAX_BUILD_TIME, deadline);
    if !status.context("cargo")?.success() {
        bail!("hookwright could not be built");
    }
    let own = std::env::current_exe().context("no path of its own")?;
    let program = own.with_file_name("hookwright");
    program.canonicalize().with_context(|| format!("there is no {}", program.display()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_program_that_does_not_end_is_ended_at_its_limit() {
        let limit = Duration::from_millis(200);
        let error = run(&mut sh("exec sleep 600"), limit, None).unwrap_err();
        assert!(error.to_string().contains("took longer"), "{error}");
        assert!(run(&mut sh("exit 3"), Duration::from_secs(60), None).is_ok_and(|status| status.code() == Some(3)));
    }

    #[test]
    fn nothing_runs_past_the_deadline() {
        let (hour, now) = (Duration::from_secs(3600), Instant::now());
        let error = run(&mut sh("exec sleep 600"), hour, Some(now + Duration::from_millis(200))).unwrap_err();
        assert!(error.to_string().contains("took longer"), "{error}");
        let error = run(&mut sh("exit 0"), hour, Some(now)).unwrap_err();
        assert!(error.to_string().contains("no time was left"), "{error}");
    }

    #[test]
    fn a_program_that_ignores_its_end_is_killed() {
        let started = Instant::now();
        let mut deaf = sh("trap '' TERM; while :; do sleep 1; done");
        assert!(run(&mut deaf, Duration::from_millis(200), None).is_err());
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    }
}
