//! Commands that the kernel keeps to a plan: what they may write, read and reach.
//!
//! A plan is enforced by user, mount, process and network namespaces, Landlock rules and a system call filter. If one
//! part of it cannot be set up, the command does not run.

mod file_rules;
mod init;
mod intersection;
mod kernel;
mod mounts;
mod placeholders;
mod proxy;
mod syscall_filter;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

pub use placeholders::PathKind;
pub use proxy::AllowedHost;
pub use syscall_filter::UnixSockets;

use crate::Exit;
use kernel::Fork;
use placeholders::Placeholder;
use proxy::RefusedHosts;

/// How often the supervisor looks at a command that has a limit, and at least otherwise.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const IDLE_POLL_INTERVAL: Duration = Duration::from_secs(60);

/// What a confined command may do. All paths are absolute and contain no symbolic link.
#[derive(Clone, Debug, Default)]
pub struct ConfinementPlan {
    /// Files and folders that may be changed, with all that is below them. They exist. `/` is all of the disk.
    pub writable: Vec<PathBuf>,
    /// Folders of the writable ones in which files may be removed; `None` for all of them.
    pub removable: Option<Vec<PathBuf>>,
    /// Paths inside of the writable ones that may not be changed.
    ///
    /// One that does not exist can't be created: an empty placeholder of this kind takes its place meanwhile.
    pub protected: Vec<(PathBuf, PathKind)>,
    /// Files and folders that can't be opened. They exist.
    pub hidden: Vec<PathBuf>,
    /// Folders that are visible although they lie in `/tmp` or `/var/tmp`, which are empty otherwise.
    pub visible: Vec<PathBuf>,
    /// Files of git to which the placeholders of missing files are added inside.
    pub ignore_files: Vec<IgnoreFile>,
    /// The network.
    pub network: NetworkAccess,
    /// Whether UNIX sockets may be created, which lead to any service of this machine.
    pub unix_sockets: Option<UnixSockets>,
    /// Limits of the command.
    pub limits: ConfinementLimits,
    /// The protected paths that exist, placeholders included.
    read_only: Vec<PathBuf>,
    /// The placeholders that are files.
    placeholder_files: Vec<PathBuf>,
}

/// A file of a git repository that says what git leaves out of a folder, such as `info/exclude`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoreFile {
    /// The file. If it does not exist, nothing is left out.
    pub path: PathBuf,
    /// The folder that the repository is about.
    pub folder: PathBuf,
}

/// The network of a confined command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NetworkAccess {
    /// No network at all.
    #[default]
    None,
    /// A loopback interface of its own, with nothing else on it.
    Loopback,
    /// These hosts, through a proxy on its own loopback interface.
    Hosts(Vec<AllowedHost>),
    /// The network of this machine.
    All,
}

/// Limits of a confined command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConfinementLimits {
    /// Memory that each process may allocate.
    pub memory_bytes: Option<u64>,
    /// Processes that may exist at once; with more, all of them are killed.
    pub max_processes: Option<u32>,
    /// Time after which all processes are killed.
    pub timeout: Option<Duration>,
}

/// A limit of [`ConfinementLimits`] that ended a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExceededLimit {
    /// There were too many processes.
    Processes,
    /// The command took too long.
    Time,
}

/// A command to confine.
#[derive(Clone, Debug)]
pub struct ConfinedCommand<'a> {
    /// The program and its arguments; the program is looked for in the `PATH` of `env`.
    pub words: &'a [OsString],
    /// The working directory.
    pub cwd: &'a Path,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
}

/// How a confined command ended.
#[derive(Debug)]
pub struct ConfinedExit {
    /// Its exit code or signal.
    pub exit: Exit,
    /// The limit that ended it, if one did.
    pub exceeded_limit: Option<ExceededLimit>,
    /// The hosts that the proxy refused, each with how often.
    pub refused_hosts: Vec<(String, usize)>,
    /// How often a process of the command tried to reach an IPv4 address that its network does not lead to.
    pub refused_connections: u64,
}

/// Why a command was not run.
#[derive(Debug, thiserror::Error)]
pub enum ConfinementError {
    /// A part of the confinement could not be set up.
    #[error("{0}")]
    Setup(String),
    /// The program could not be executed.
    #[error("{}: {source}", program.display())]
    Program {
        /// The program.
        program: OsString,
        /// The system's error.
        source: io::Error,
    },
    /// The processes could not be watched.
    #[error("the confined command could not be watched: {0}")]
    Watch(#[from] io::Error),
}

/// The parts of a confinement, for errors.
#[derive(Clone, Copy, Debug)]
enum SetupStep {
    Namespaces,
    Mounts,
    Processes,
    Network,
    FileRules,
    Privileges,
    Limits,
}

impl SetupStep {
    fn run<T>(self, work: impl FnOnce() -> io::Result<T>) -> Result<T, SetupError> {
        work().map_err(|source| SetupError { step: self, source })
    }

    fn description(self) -> &'static str {
        match self {
            SetupStep::Namespaces => "the kernel allows no user namespaces to this program",
            SetupStep::Mounts => "the file system could not be restricted",
            SetupStep::Processes => "the processes could not be separated",
            SetupStep::Network => "the network could not be separated",
            SetupStep::FileRules => "Landlock could not be applied",
            SetupStep::Privileges => "privileges could not be dropped",
            SetupStep::Limits => "the limits could not be set",
        }
    }
}

#[derive(Debug)]
struct SetupError {
    step: SetupStep,
    source: io::Error,
}

/// What the process inside reports through its pipe, one per line.
#[derive(Debug, PartialEq, Eq)]
enum Report {
    SetupFailed(String),
    ExecFailed(i32),
    RefusedConnections(u64),
    Ended(Exit),
    TooManyProcesses,
}

impl Report {
    fn to_line(&self) -> String {
        match self {
            Report::SetupFailed(text) => format!("setup {}\n", text.replace('\n', " ")),
            Report::ExecFailed(errno) => format!("exec {errno}\n"),
            Report::RefusedConnections(count) => format!("refused {count}\n"),
            Report::Ended(Exit::Code(code)) => format!("code {code}\n"),
            Report::Ended(Exit::Signal(signal)) => format!("signal {signal}\n"),
            Report::TooManyProcesses => "processes 0\n".to_owned(),
        }
    }

    fn parse(line: &str) -> Option<Report> {
        let (kind, value) = line.split_once(' ')?;
        match kind {
            "setup" => Some(Report::SetupFailed(value.to_owned())),
            "exec" => value.parse().ok().map(Report::ExecFailed),
            "refused" => value.parse().ok().map(Report::RefusedConnections),
            "code" => value.parse().ok().map(|code| Report::Ended(Exit::Code(code))),
            "signal" => value.parse().ok().map(|signal| Report::Ended(Exit::Signal(signal))),
            "processes" => Some(Report::TooManyProcesses),
            _ => None,
        }
    }
}

/// Runs a command under a plan until it has ended, on the standard streams of this process. Nothing survives it.
///
/// Signals that this process receives meanwhile are passed on. Call it from a process with one thread only.
///
/// # Errors
/// The command did not run if the plan could not be enforced whole, or its program could not be executed.
pub fn run_confined(plan: &ConfinementPlan, command: &ConfinedCommand<'_>) -> Result<ConfinedExit, ConfinementError> {
    if kernel::has_other_threads() {
        return Err(ConfinementError::Setup("other threads of this program run already".to_owned()));
    }
    let mut plan = plan.clone();
    let placeholders = plan.create_placeholders()?;
    kernel::block_waited_signals()?;
    let (reports, report_writer) = io::pipe()?;
    let (proxy_socket, inner_proxy_socket) = UnixStream::pair()?;
    // Its end tells the process inside that this one is gone.
    let (alive_reader, alive) = io::pipe()?;
    let ids = init::OuterIds::current();
    let fork = kernel::fork_into(plan.namespaces());
    let init = match fork.map_err(|error| setup_error(&SetupError { step: SetupStep::Namespaces, source: error }))? {
        Fork::Child => {
            drop((reports, proxy_socket, alive));
            std::mem::forget(placeholders);
            let (reports, proxy) = (report_writer.into(), inner_proxy_socket);
            let init = init::Init { plan: &plan, command, reports, proxy, ids };
            init.run(OwnedFd::from(alive_reader))
        }
        Fork::Parent(pid) => pid,
    };
    drop((report_writer, inner_proxy_socket, alive_reader));
    let refused = RefusedHosts::default();
    if let NetworkAccess::Hosts(hosts) = &plan.network
        && let Some(listener) = receive_listener(&proxy_socket)
    {
        proxy::serve(listener, hosts.clone(), refused.clone())?;
    }
    let exceeded = supervise(init, plan.limits.timeout);
    drop((placeholders, alive));
    read_reports(File::from(OwnedFd::from(reports)), command, exceeded?, &refused)
}

impl ConfinementPlan {
    /// Creates placeholders for the protected paths that do not exist.
    fn create_placeholders(&mut self) -> Result<Vec<Placeholder>, ConfinementError> {
        let mut placeholders = Vec::new();
        for (path, kind) in &self.protected {
            if !self.writable.iter().any(|tree| path.starts_with(tree)) {
                continue;
            }
            // Below a path that does not exist nothing can be created if its first missing folder can't.
            let (path, kind) = match first_missing(path) {
                None => (path.clone(), *kind),
                Some(missing) if missing == *path => (missing, *kind),
                Some(missing) => (missing, PathKind::Directory),
            };
            let existing = std::fs::symlink_metadata(&path).ok();
            let joined = existing.as_ref().and_then(placeholders::is_placeholder);
            if existing.is_none() || joined.is_some() {
                let kind = joined.unwrap_or(kind);
                match Placeholder::create(&path, kind) {
                    Ok(Some(created)) => {
                        placeholders.push(created);
                        if kind == PathKind::File {
                            self.placeholder_files.push(path.clone());
                        }
                    }
                    Ok(None) => {}
                    Err(error) if existing.is_none() && placeholders::is_never_creatable(&path, &error) => continue,
                    Err(error) => {
                        let text = format!("{} could not be protected: {error}", path.display());
                        return Err(ConfinementError::Setup(text));
                    }
                }
            }
            if !self.read_only.contains(&path) {
                self.read_only.push(path);
            }
        }
        // A folder above another one is covered first.
        self.read_only.sort_by_key(|path| path.components().count());
        Ok(placeholders)
    }

    /// Whether a folder for temporary files is the real one inside, because the command may change it.
    fn shares_folder(&self, folder: &Path) -> bool {
        self.writable.iter().any(|tree| folder.starts_with(tree))
    }

    fn namespaces(&self) -> i32 {
        let network = if self.network == NetworkAccess::All { 0 } else { libc::CLONE_NEWNET };
        network | libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC
    }
}

/// Returns the highest folder or file of a path that does not exist.
fn first_missing(path: &Path) -> Option<PathBuf> {
    let missing = |path: &&Path| std::fs::symlink_metadata(path).is_err();
    path.ancestors().take_while(missing).last().map(Path::to_owned)
}

fn setup_error(error: &SetupError) -> ConfinementError {
    ConfinementError::Setup(format!("{}: {}", error.step.description(), error.source))
}

/// Waits for the end of the process, passes signals on, and kills it when its time is over.
fn supervise(init: Pid, timeout: Option<Duration>) -> io::Result<Option<ExceededLimit>> {
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    let mut exceeded = None;
    loop {
        if waitpid(Some(init), WaitOptions::NOHANG)?.is_some() {
            return Ok(exceeded);
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            exceeded = Some(ExceededLimit::Time);
            let _ = kill_process(init, Signal::KILL);
        }
        let wait = match left {
            Some(left) if !left.is_zero() => left.min(IDLE_POLL_INTERVAL),
            Some(_) => POLL_INTERVAL,
            None => IDLE_POLL_INTERVAL,
        };
        match kernel::wait_for_signal(wait) {
            Some(signal) if signal.number != libc::SIGCHLD && !signal.is_from_kernel => {
                if let Some(signal) = Signal::from_named_raw(signal.number) {
                    let _ = kill_process(init, signal);
                }
            }
            _ => {}
        }
    }
}

fn read_reports(
    mut reports: File,
    command: &ConfinedCommand<'_>,
    exceeded: Option<ExceededLimit>,
    refused: &RefusedHosts,
) -> Result<ConfinedExit, ConfinementError> {
    let mut text = String::new();
    reports.read_to_string(&mut text)?;
    let (mut exit, mut exceeded_limit) = (Exit::Signal(libc::SIGKILL), exceeded);
    let mut refused_connections = 0;
    for report in text.lines().filter_map(Report::parse) {
        match report {
            Report::SetupFailed(text) => return Err(ConfinementError::Setup(text)),
            Report::ExecFailed(errno) => {
                let program = command.words.first().cloned().unwrap_or_default();
                return Err(ConfinementError::Program { program, source: io::Error::from_raw_os_error(errno) });
            }
            Report::RefusedConnections(count) => refused_connections = count,
            Report::Ended(end) => exit = end,
            Report::TooManyProcesses => exceeded_limit = Some(ExceededLimit::Processes),
        }
    }
    Ok(ConfinedExit { exit, exceeded_limit, refused_hosts: refused.counts(), refused_connections })
}

/// Receives the listening socket of the network namespace inside; `None` if the setup failed.
fn receive_listener(socket: &UnixStream) -> Option<TcpListener> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut buffers = [io::IoSliceMut::new(&mut byte)];
    recvmsg(socket.as_fd(), &mut buffers, &mut control, RecvFlags::CMSG_CLOEXEC).ok()?;
    control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next().map(TcpListener::from),
        _ => None,
    })
}
