//! The first process inside a confinement: it sets the confinement up, starts the command in it, and ends with it.
//!
//! When it ends, the kernel kills every process that is left in its process namespace.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;

use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, kill_process, setrlimit, waitpid};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use super::kernel::{self, Fork};
use super::syscall_filter::{UnixSockets, syscall_filter};
use super::{
    ConfinedCommand, ConfinementLimits, ConfinementPlan, IDLE_POLL_INTERVAL, NetworkAccess, POLL_INTERVAL, Report,
    SetupError, SetupStep, file_rules, mounts,
};
use crate::Exit;

/// The exit code of this process; what counts is in its report.
const INIT_EXIT_CODE: i32 = 0;
/// How many ended processes are reaped before the living ones are counted.
const MAX_REAPED_AT_ONCE: usize = 64;
/// The highest capability that a kernel may know.
const MAX_CAPABILITY: u32 = 63;

pub(super) struct Init<'a> {
    pub(super) plan: &'a ConfinementPlan,
    pub(super) command: &'a ConfinedCommand<'a>,
    pub(super) reports: OwnedFd,
    pub(super) proxy: UnixStream,
    pub(super) ids: OuterIds,
}

/// The user and the group of this program, as they are called outside.
#[derive(Clone, Copy)]
pub(super) struct OuterIds {
    user: u32,
    group: u32,
}

impl OuterIds {
    pub(super) fn current() -> OuterIds {
        OuterIds { user: rustix::process::geteuid().as_raw(), group: rustix::process::getegid().as_raw() }
    }
}

impl Init<'_> {
    /// Sets the confinement up and runs the command in it.
    pub(super) fn run(self, alive: OwnedFd) -> ! {
        match self.set_up(&alive) {
            Err(error) => self.report(&Report::SetupFailed(format!("{}: {}", error.step.description(), error.source))),
            Ok(env) => match self.start_command(env) {
                Ok(command) => {
                    drop(alive);
                    let report = self.wait_for_command(command);
                    if let Some(count) = self.refused_connections().filter(|count| *count > 0) {
                        self.report(&Report::RefusedConnections(count));
                    }
                    self.report(&report);
                }
                Err(error) => self.report(&Report::ExecFailed(error.raw_os_error().unwrap_or(libc::ENOEXEC))),
            },
        }
        std::process::exit(INIT_EXIT_CODE)
    }

    fn report(&self, report: &Report) {
        if let Ok(pipe) = self.reports.try_clone() {
            // Without its reader there is nothing to tell.
            let _ = fs::File::from(pipe).write_all(report.to_line().as_bytes());
        }
    }

    /// Returns the environment of the command.
    fn set_up(&self, alive: &OwnedFd) -> Result<Vec<(OsString, OsString)>, SetupError> {
        let plan = self.plan;
        SetupStep::Namespaces.run(|| {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have ended before that.
            if is_hung_up(alive)? {
                return Err(io::Error::other("the supervisor is gone"));
            }
            map_ids(self.ids)?;
            // Processes inside must not look into this one. The maps belong to root from then on.
            Ok(rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?)
        })?;
        let env = SetupStep::Network.run(|| self.set_up_network())?;
        mounts::set_up(plan)?;
        SetupStep::Mounts.run(|| std::env::set_current_dir(self.command.cwd))?;
        SetupStep::Mounts.run(refuse_directory_streams)?;
        SetupStep::Limits.run(|| set_limits(plan.limits))?;
        SetupStep::Privileges.run(drop_privileges)?;
        file_rules::restrict(plan)?;
        SetupStep::Privileges.run(|| {
            kernel::close_descriptors_on_exec()?;
            kernel::install_syscall_filter(&syscall_filter(plan.unix_sockets.unwrap_or(UnixSockets::PairsOnly)))
        })?;
        Ok(env)
    }

    fn set_up_network(&self) -> io::Result<Vec<(OsString, OsString)>> {
        let mut env = self.command.env.clone();
        if matches!(self.plan.network, NetworkAccess::Loopback | NetworkAccess::Hosts(_)) {
            let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)?;
            kernel::bring_loopback_up(socket.as_fd())?;
            drop(UdpSocket::from(socket));
        }
        if let NetworkAccess::Hosts(_) = self.plan.network {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let port = listener.local_addr()?.port();
            send_listener(&self.proxy, &listener)?;
            env.extend(super::proxy::environment(port));
        }
        Ok(env)
    }

    fn start_command(&self, env: Vec<(OsString, OsString)>) -> io::Result<Pid> {
        let Some((program, args)) = self.command.words.split_first() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        match kernel::fork_into(0)? {
            Fork::Parent(pid) => Ok(pid),
            Fork::Child => {
                let mut command = std::process::Command::new(program);
                command.args(args).env_clear().envs(env);
                let error = kernel::unblock_signals().err().unwrap_or_else(|| command.exec());
                self.report(&Report::ExecFailed(error.raw_os_error().unwrap_or(libc::ENOEXEC)));
                std::process::exit(INIT_EXIT_CODE)
            }
        }
    }

    /// Returns how often a process tried to send to where the namespace has no route; `None` without one of its own.
    ///
    /// The kernel counts only IPv4 here. A program that knows several addresses of a host tries those too.
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    fn refused_connections(&self) -> Option<u64> {
        match self.plan.network {
            NetworkAccess::All => None,
            _ => unroutable_count(&fs::read_to_string("/proc/self/net/snmp").ok()?),
        }
    }

    /// Reaps processes until the command has ended, and passes signals on to it.
    fn wait_for_command(&self, command: Pid) -> Report {
        let limit = self.plan.limits.max_processes;
        let interval = if limit.is_some() { POLL_INTERVAL } else { IDLE_POLL_INTERVAL };
        loop {
            // Between two looks at their number, or a storm of short processes would never be counted.
            for _ in 0..MAX_REAPED_AT_ONCE {
                match waitpid(None, WaitOptions::NOHANG) {
                    Ok(Some((pid, status))) if pid == command => {
                        if let Some(exit) = exit_of(status) {
                            return Report::Ended(exit);
                        }
                    }
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => break,
                }
            }
            if limit.is_some_and(|limit| count_processes() > limit as usize) {
                return Report::TooManyProcesses;
            }
            if let Some(signal) = kernel::wait_for_signal(interval)
                && signal.number != libc::SIGCHLD
                && !signal.is_from_kernel
                && let Some(signal) = Signal::from_named_raw(signal.number)
            {
                let _ = kill_process(command, signal);
            }
        }
    }
}

/// Reads the counter `OutNoRoutes` of the lines `Ip:` in the kernel's network statistics.
fn unroutable_count(statistics: &str) -> Option<u64> {
    let mut lines = statistics.lines().filter_map(|line| line.strip_prefix("Ip:"));
    let at = lines.next()?.split_ascii_whitespace().position(|name| name == "OutNoRoutes")?;
    lines.next()?.split_ascii_whitespace().nth(at)?.parse().ok()
}

fn exit_of(status: WaitStatus) -> Option<Exit> {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Some(Exit::Code(code)),
        (None, Some(signal)) => Some(Exit::Signal(signal)),
        (None, None) => None,
    }
}

/// Counts the processes of this namespace besides this one.
fn count_processes() -> usize {
    let is_process = |entry: &io::Result<fs::DirEntry>| {
        entry.as_ref().is_ok_and(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit))
    };
    fs::read_dir("/proc").map_or(usize::MAX, |entries| entries.filter(is_process).count().saturating_sub(1))
}

/// Makes the user and the group outside those of this namespace, and no others.
fn map_ids(OuterIds { user, group }: OuterIds) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Replaces standard streams that are folders: a path relative to one would lead out of the mount namespace.
fn refuse_directory_streams() -> io::Result<()> {
    for stream in [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()] {
        if rustix::fs::fstat(stream).is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFDIR) {
            return Err(io::Error::other("a standard stream is a directory"));
        }
    }
    Ok(())
}

fn set_limits(limits: ConfinementLimits) -> io::Result<()> {
    if let Some(bytes) = limits.memory_bytes {
        setrlimit(Resource::Data, Rlimit { current: Some(bytes), maximum: Some(bytes) })?;
    }
    if let Some(processes) = limits.max_processes {
        // The count of processes is what ends the command; this keeps a storm of them off the machine until then. It does
        // not hold for root.
        let most = Some(u64::from(processes) + 2);
        setrlimit(Resource::Nproc, Rlimit { current: most, maximum: most })?;
    }
    Ok(())
}

/// Drops every capability for good, and the ways to get one.
fn drop_privileges() -> io::Result<()> {
    use rustix::thread;

    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    thread::set_capabilities_secure_bits(bits)?;
    thread::clear_ambient_capability_set()?;
    for number in 0..=MAX_CAPABILITY {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match thread::remove_capability_from_bounding_set(capability) {
            // The kernel does not know this one, nor those behind it.
            Err(rustix::io::Errno::INVAL) => break,
            other => other?,
        }
    }
    let none = CapabilitySet::empty();
    thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(thread::set_no_new_privs(true)?)
}

fn is_hung_up(alive: &OwnedFd) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let mut fds = [PollFd::new(alive, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    Ok(fds[0].revents().contains(PollFlags::HUP))
}

fn send_listener(socket: &UnixStream, listener: &TcpListener) -> io::Result<()> {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [listener.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&fds));
    sendmsg(socket.as_fd(), &[io::IoSlice::new(b"L")], &mut control, SendFlags::empty())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_found_by_its_name() {
        let text = "Ip: Forwarding OutDiscards OutNoRoutes\nIp: 2 7 5\nIcmp: InMsgs\nIcmp: 9\n";
        assert_eq!(unroutable_count(text), Some(5));
        assert_eq!((unroutable_count("Ip: A\nIp: 1\n"), unroutable_count("")), (None, None));
    }
}
