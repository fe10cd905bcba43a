//! Nothing leaves the machine: where the system lets it, all runs happen in a network of their own that has only loopback.

use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::args::Args;
use crate::install;

/// Says to the second start that it is inside, and how many seconds are left, if they are bounded.
const INSIDE: &str = "HOOKWRIGHT_CONFORMANCE_INSIDE";

/// Where this program is now.
pub(crate) enum Where {
    /// In a network with loopback alone.
    Inside,
    /// In the machine's own.
    Outside,
    /// Another start of this program was inside, and ended so.
    Done(ExitCode),
}

/// A shell's words that bring up loopback and go on with the rest.
const UP: &str = "ip link set lo up && exec \"$@\"";

/// When everything must be over, the first start's installations included.
pub(crate) fn deadline(args: &Args) -> Option<Instant> {
    let left = std::env::var(INSIDE).ok().and_then(|seconds| seconds.parse().ok()).or(args.within)?;
    Some(Instant::now() + Duration::from_secs(left))
}

/// Goes inside, if that can be done: by a second start of this program.
pub(crate) fn enter(args: &Args, deadline: Option<Instant>) -> anyhow::Result<Where> {
    if std::env::var_os(INSIDE).is_some() {
        return Ok(Where::Inside);
    }
    if args.no_namespace {
        return Ok(Where::Outside);
    }
    let unshare = |program: &std::ffi::OsStr| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--net", "sh", "-c", UP, "sh"]).arg(program);
        command
    };
    let mut probe = unshare("true".as_ref());
    probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let probe = install::run(&mut probe, install::MAX_VERSION_TIME, deadline);
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!(
            "conformance: no network namespace here: agents run in the machine's network, told of a proxy that is not there"
        );
        return Ok(Where::Outside);
    }
    let own = std::env::current_exe().context("no path of its own")?;
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()).as_secs().to_string());
    #[expect(clippy::disallowed_methods, reason = "it keeps the deadline itself")]
    let status =
        unshare(own.as_os_str()).args(std::env::args_os().skip(1)).env(INSIDE, left.unwrap_or_default()).status();
    let code = status.context("unshare did not start")?.code();
    Ok(Where::Done(ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(2))))
}
