//! Installs the agents from npm, each version into a folder of its own, and builds Hookwright from this workspace.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use hookwright_trial::Host;

use crate::args::{AgentVersion, ConformanceArgs};

/// How long npm may take for one package.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(180);
/// How long an agent may take to print its version.
pub(crate) const VERSION_TIMEOUT: Duration = Duration::from_secs(30);
/// How long building Hookwright may take.
const BUILD_TIMEOUT: Duration = Duration::from_secs(900);
/// How long a program may take to end after SIGTERM.
const TERMINATION_GRACE_PERIOD: Duration = Duration::from_secs(5);

/// An agent that is installed.
#[derive(Debug, Clone)]
pub(crate) struct InstalledAgent {
    pub(crate) host: Host,
    pub(crate) version: String,
    pub(crate) program: PathBuf,
}

/// Installs the agents and returns those that could be installed; reports the others on stderr.
pub(crate) fn install_agents(args: &ConformanceArgs, deadline: Option<Instant>) -> Vec<InstalledAgent> {
    let mut agents = Vec::new();
    for wanted in &args.agents {
        match install_agent(&args.cache, wanted, deadline) {
            Ok(program) => {
                agents.push(InstalledAgent { host: wanted.host, version: wanted.version.clone(), program });
            }
            Err(error) => eprintln!("conformance: {} {} is left out: {error:#}", wanted.host, wanted.version),
        }
    }
    agents
}

fn install_agent(cache: &Path, wanted: &AgentVersion, deadline: Option<Instant>) -> anyhow::Result<PathBuf> {
    let info = wanted.host.info();
    let folder = cache.join(info.name).join(&wanted.version);
    let program = folder.join("node_modules/.bin").join(info.program);
    if !program.exists() {
        npm_install(
            &folder,
            &format!("{}@{}", info.npm_package.context("it is not on npm")?, wanted.version),
            deadline,
        )?;
    }
    // The packages that opencode would fetch for a plugin, since the trial has no network.
    let plugin = folder.join("plugin");
    if wanted.host == Host::Opencode && !plugin.join("package-lock.json").exists() {
        npm_install(&plugin, &format!("@opencode-ai/plugin@{}", wanted.version), deadline)?;
    }
    if !program.exists() {
        bail!("its package has no program of that name");
    }
    let mut start = Command::new(&program);
    start.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if !run_with_timeout(&mut start, VERSION_TIMEOUT, deadline).is_ok_and(|status| status.success()) {
        bail!("it is installed and does not run here");
    }
    std::path::absolute(&program).context("no path")
}

fn npm_install(folder: &Path, package: &str, deadline: Option<Instant>) -> anyhow::Result<()> {
    eprintln!("conformance: installing {package} ...");
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(folder).arg(package);
    let status =
        run_with_timeout(npm.stdin(Stdio::null()).stdout(Stdio::null()), INSTALL_TIMEOUT, deadline).context("npm")?;
    if !status.success() {
        bail!("npm could not install it");
    }
    Ok(())
}

/// Runs a program until it ends, at most for `limit` and not past the deadline.
///
/// It stays in this program's process group, so that a `timeout` around this program ends both.
pub(crate) fn run_with_timeout(
    command: &mut Command,
    limit: Duration,
    deadline: Option<Instant>,
) -> anyhow::Result<ExitStatus> {
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
        // npm passes SIGTERM on to its child processes.
        if started.elapsed() > limit && !is_told_to_end {
            is_told_to_end = true;
            #[expect(clippy::disallowed_methods, reason = "kill waits for nothing")]
            let _ = Command::new("kill").arg(child.id().to_string()).status();
        }
        if started.elapsed() > limit + TERMINATION_GRACE_PERIOD {
            child.kill()?;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns Hookwright's program: the given one, or this workspace's, which it builds.
pub(crate) fn find_or_build_hookwright(args: &ConformanceArgs, deadline: Option<Instant>) -> anyhow::Result<PathBuf> {
    if let Some(program) = &args.hookwright {
        return program.canonicalize().with_context(|| format!("there is no {}", program.display()));
    }
    let mut cargo = Command::new("cargo");
    let status = run_with_timeout(cargo.args(["build", "--quiet", "--package", "hookwright"]), BUILD_TIMEOUT, deadline);
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

    fn shell_command(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn program_is_terminated_at_its_timeout() {
        let limit = Duration::from_millis(200);
        let error = run_with_timeout(&mut shell_command("exec sleep 600"), limit, None).unwrap_err();
        assert!(error.to_string().contains("took longer"), "{error}");
        assert!(
            run_with_timeout(&mut shell_command("exit 3"), Duration::from_secs(60), None)
                .is_ok_and(|status| status.code() == Some(3))
        );
    }

    #[test]
    fn no_program_runs_past_the_deadline() {
        let (hour, now) = (Duration::from_secs(3600), Instant::now());
        let error =
            run_with_timeout(&mut shell_command("exec sleep 600"), hour, Some(now + Duration::from_millis(200)))
                .unwrap_err();
        assert!(error.to_string().contains("took longer"), "{error}");
        let error = run_with_timeout(&mut shell_command("exit 0"), hour, Some(now)).unwrap_err();
        assert!(error.to_string().contains("no time was left"), "{error}");
    }

    #[test]
    fn program_ignoring_sigterm_is_killed() {
        let started = Instant::now();
        let mut deaf = shell_command("trap '' TERM; while :; do sleep 1; done");
        assert!(run_with_timeout(&mut deaf, Duration::from_millis(200), None).is_err());
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    }
}
