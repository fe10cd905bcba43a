//! Keeps the agents off the network: where the system allows it, all runs are in a network namespace with loopback
//! only.

use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::args::ConformanceArgs;
use crate::install;

/// Tells the second start of this program that it is inside, and how many seconds are left, if they are limited.
const INSIDE_VARIABLE: &str = "HOOKWRIGHT_CONFORMANCE_INSIDE";

/// The state of this program with respect to the namespace.
pub(crate) enum NamespaceState {
    /// This program is in a namespace with loopback only.
    Inside,
    /// This program is in the machine's own network.
    Outside,
    /// A second start of this program ran in a namespace, and ended with this code.
    Finished(ExitCode),
}

/// A shell script that brings up loopback and executes its arguments.
const LOOPBACK_UP_SCRIPT: &str = "ip link set lo up && exec \"$@\"";

/// Returns when everything has to be over, the installations of the first start included.
pub(crate) fn deadline(args: &ConformanceArgs) -> Option<Instant> {
    let left = std::env::var(INSIDE_VARIABLE).ok().and_then(|seconds| seconds.parse().ok()).or(args.within)?;
    Some(Instant::now() + Duration::from_secs(left))
}

/// Enters a namespace if possible, by starting this program again inside of it.
pub(crate) fn enter_namespace(args: &ConformanceArgs, deadline: Option<Instant>) -> anyhow::Result<NamespaceState> {
    if std::env::var_os(INSIDE_VARIABLE).is_some() {
        return Ok(NamespaceState::Inside);
    }
    if args.no_namespace {
        return Ok(NamespaceState::Outside);
    }
    let unshare = |program: &std::ffi::OsStr| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--net", "sh", "-c", LOOPBACK_UP_SCRIPT, "sh"]).arg(program);
        command
    };
    let mut probe = unshare("true".as_ref());
    probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let probe = install::run_with_timeout(&mut probe, install::VERSION_TIMEOUT, deadline);
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!(
            "conformance: no network namespace here: agents run in the machine's network, told of a proxy that is not there"
        );
        return Ok(NamespaceState::Outside);
    }
    let own = std::env::current_exe().context("no path of its own")?;
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()).as_secs().to_string());
    #[expect(clippy::disallowed_methods, reason = "it keeps the deadline itself")]
    let status = unshare(own.as_os_str())
        .args(std::env::args_os().skip(1))
        .env(INSIDE_VARIABLE, left.unwrap_or_default())
        .status();
    let code = status.context("unshare did not start")?.code();
    Ok(NamespaceState::Finished(ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(2))))
}
