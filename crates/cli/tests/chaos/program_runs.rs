//! The programs of a round: started at their time, signalled while they run, and waited for.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use hookwright_testkit::deadline::TimedWriter;
use hookwright_testkit::processes::{describe, process_tree};
use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

use crate::cgroup::TaskCgroup;
use crate::round_plan::{PlannedRun, ResourceLimit, RunMode};
use crate::workspace::ChaosWorkspace;

/// A program that takes longer hangs.
const RUN_TIMEOUT: Duration = Duration::from_secs(90);

/// How a program ended.
#[derive(Debug)]
pub(crate) enum ProgramEnd {
    /// Its directory or its terminal did not exist.
    NotStarted,
    Exit(i32),
    Signal(i32),
    /// The kernel functions that its threads waited in.
    Hung(String),
}

/// A program that will run, runs, or has run.
#[derive(Default)]
pub(crate) struct RunSlot {
    state: Mutex<RunSlotState>,
}

#[derive(Default)]
struct RunSlotState {
    program: Option<RunningProgram>,
    sent: Vec<Signal>,
    /// Kept until every process in it has ended.
    group: Option<TaskCgroup>,
}

enum RunningProgram {
    Plain(std::process::Child),
    Terminal(Box<dyn portable_pty::Child + Send + Sync>),
}

impl RunningProgram {
    fn pid(&self) -> Option<Pid> {
        let id = match self {
            RunningProgram::Plain(child) => Some(child.id()),
            RunningProgram::Terminal(child) => child.process_id(),
        };
        Pid::from_raw(id? as i32)
    }

    fn end(&mut self) -> Option<ProgramEnd> {
        match self {
            RunningProgram::Plain(child) => child.try_wait().unwrap().map(|status| match status.code() {
                Some(code) => ProgramEnd::Exit(code),
                None => ProgramEnd::Signal(status.signal().unwrap_or_default()),
            }),
            RunningProgram::Terminal(child) => child.try_wait().unwrap().map(|status| match status.signal() {
                // The signal is only known by its description.
                Some(name) => ProgramEnd::Signal(signal_number(name)),
                None => ProgramEnd::Exit(status.exit_code() as i32),
            }),
        }
    }
}

fn signal_number(name: &str) -> i32 {
    let known = [
        ("Killed", 9),
        ("Terminated", 15),
        ("Interrupt", 2),
        ("Hangup", 1),
        ("Quit", 3),
        ("Aborted", 6),
        ("File size", 25),
    ];
    known.iter().find(|(known, _)| name.starts_with(known)).map_or(0, |(_, number)| *number)
}

impl RunSlot {
    fn state(&self) -> MutexGuard<'_, RunSlotState> {
        self.state.lock().unwrap()
    }

    /// Calls a function with the pid. The program is not reaped meanwhile, so the pid cannot be reused.
    fn with_pid<T>(&self, act: impl FnOnce(Pid) -> T) -> Option<T> {
        let state = self.state();
        state.program.as_ref()?.pid().map(act)
    }

    pub(crate) fn send(&self, signal: Signal) {
        if self.with_pid(|pid| kill_process(pid, signal)).is_some() {
            self.state().sent.push(signal);
        }
    }

    pub(crate) fn starve(&self, limit: ResourceLimit) {
        let (resource, most) = match limit {
            ResourceLimit::Descriptors(count) => (Resource::Nofile, count),
            ResourceLimit::FileSize(kilobytes) => (Resource::Fsize, kilobytes * 1024),
            ResourceLimit::Memory(kilobytes) => (Resource::As, kilobytes * 1024),
            ResourceLimit::Stack(kilobytes) => (Resource::Stack, kilobytes * 1024),
            ResourceLimit::Processes(count) | ResourceLimit::Tasks(count) => (Resource::Nproc, count),
        };
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        // The program may have ended.
        let _ = self.with_pid(|pid| prlimit(Some(pid), resource, limit));
    }

    fn pid(&self) -> Option<Pid> {
        self.state().program.as_ref()?.pid()
    }

    /// Removes the control group, which is empty by now.
    pub(crate) fn leave_group(&self) {
        self.state().group = None;
    }

    pub(crate) fn sent(&self) -> Vec<Signal> {
        self.state().sent.clone()
    }

    /// Runs the program from its start to its end.
    pub(crate) fn run(&self, place: &ChaosWorkspace, number: usize, run: &PlannedRun, start: Instant) -> ProgramEnd {
        sleep_until(start, run.at);
        let group = match run.limit {
            Some(ResourceLimit::Tasks(most)) => TaskCgroup::new(&format!("{}-{number}", place.mark), most),
            _ => None,
        };
        let command = command(place, number, run, group.as_ref());
        let mut terminal = None;
        let started = match &run.mode {
            RunMode::Terminal { .. } => spawn_in_terminal(&command, place, number).map(|(child, opened)| {
                terminal = Some(opened);
                RunningProgram::Terminal(child)
            }),
            how => spawn_with_pipes(command, place, number, how).map(RunningProgram::Plain),
        };
        let Some(started) = started else { return ProgramEnd::NotStarted };
        {
            let mut state = self.state();
            (state.program, state.group) = (Some(started), group);
        }
        if let (RunMode::Terminal { keys, until, .. }, Some(mut terminal)) = (&run.mode, terminal) {
            let begun = Instant::now();
            for (at, keys) in keys {
                sleep_until(begun, *at);
                let _ = terminal.keys.write_all(keys.as_bytes());
            }
            sleep_until(begun, *until);
            if !terminal.vanishes() {
                self.send(Signal::HUP);
            }
        }
        self.wait()
    }

    fn wait(&self) -> ProgramEnd {
        let deadline = Instant::now() + RUN_TIMEOUT;
        loop {
            let mut state = self.state();
            if let Some(end) = state.program.as_mut().and_then(RunningProgram::end) {
                state.program = None;
                return end;
            }
            drop(state);
            if Instant::now() > deadline {
                let waits = self.pid().map(|pid| describe(&process_tree(&[pid.as_raw_nonzero().get().unsigned_abs()])));
                let waits = waits.unwrap_or_default();
                self.send(Signal::KILL);
                return ProgramEnd::Hung(waits);
            }
            std::thread::sleep(Duration::from_millis(3));
        }
    }
}

pub(crate) fn sleep_until(start: Instant, millis: u64) {
    std::thread::sleep((start + Duration::from_millis(millis)).saturating_duration_since(Instant::now()));
}

fn command(place: &ChaosWorkspace, number: usize, run: &PlannedRun, group: Option<&TaskCgroup>) -> Command {
    let (prompt, replay) = (format!("prompt-{number}-"), place.replay(number, run));
    let session = ["--approval-mode=yolo", "--fake-responses", &replay];
    let resume = |resume: bool| if resume { &["--resume", "latest"][..] } else { &[] };
    let words: Vec<&str> = match &run.mode {
        RunMode::Headless { resume: again, .. } => [&["-p", &prompt], &session[..], resume(*again)].concat(),
        RunMode::Terminal { resume: again, .. } => [&session[..], resume(*again)].concat(),
        RunMode::Command(words) => words.to_vec(),
    };
    match run.limit.and_then(|limit| limit_command(limit, group)) {
        Some(limit) => place.sandbox.limited_command(&limit, &words),
        None => place.sandbox.command(&words),
    }
}

/// Returns the shell command that sets a limit.
fn limit_command(limit: ResourceLimit, group: Option<&TaskCgroup>) -> Option<String> {
    Some(match limit {
        ResourceLimit::Descriptors(count) => format!("ulimit -n {count}"),
        // `ulimit -f` counts blocks of 512 bytes.
        ResourceLimit::FileSize(kilobytes) => format!("ulimit -f {}", kilobytes * 2),
        ResourceLimit::Memory(kilobytes) => format!("ulimit -v {kilobytes}"),
        ResourceLimit::Stack(kilobytes) => format!("ulimit -s {kilobytes}"),
        // Shells use different options for it.
        ResourceLimit::Processes(count) => format!("{{ ulimit -u {count} 2> /dev/null || ulimit -p {count}; }}"),
        ResourceLimit::Tasks(_) => format!("echo $$ > '{}'", group?.procs_file().display()),
    })
}

fn output_file(place: &ChaosWorkspace, number: usize, kind: &str) -> File {
    File::create(place.sandbox.sibling_path(&format!("runs/{number}.{kind}"))).unwrap()
}

fn spawn_with_pipes(
    mut command: Command,
    place: &ChaosWorkspace,
    number: usize,
    how: &RunMode,
) -> Option<std::process::Child> {
    command.stderr(output_file(place, number, "stderr"));
    match how {
        // A pipe whose reader closes it at once.
        RunMode::Headless { read: false, .. } => command.stdout(Stdio::piped()),
        _ => command.stdout(output_file(place, number, "stdout")),
    };
    let mut child = command.spawn().ok()?;
    child.stdout.take();
    Some(child)
}

/// The outer side of a pseudo-terminal.
struct RunTerminal {
    keys: TimedWriter<Box<dyn Write + Send>>,
    master: Box<dyn MasterPty + Send>,
    reader: std::thread::JoinHandle<()>,
    closed: Arc<AtomicBool>,
}

impl RunTerminal {
    /// Closes the terminal, as when its window is closed. Returns false if the reader does not end because nothing more
    /// is drawn.
    fn vanishes(mut self) -> bool {
        self.closed.store(true, Ordering::SeqCst);
        // Makes the program draw something.
        let _ = self.keys.write_all(b" ");
        drop((self.keys, self.master));
        let deadline = Instant::now() + Duration::from_secs(2);
        while !self.reader.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(3));
        }
        self.reader.is_finished()
    }
}

fn spawn_in_terminal(
    wanted: &Command,
    place: &ChaosWorkspace,
    number: usize,
) -> Option<(Box<dyn portable_pty::Child + Send + Sync>, RunTerminal)> {
    let size = PtySize { rows: 30, cols: 80, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new(wanted.get_program());
    command.args(wanted.get_args());
    command.cwd(place.sandbox.project());
    command.env_clear();
    wanted.get_envs().for_each(|(name, value)| command.env(name, value.unwrap_or_default()));
    command.env("TERM", "xterm-256color");
    let child = pair.slave.spawn_command(command).ok()?;
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut log = output_file(place, number, "screen");
    let closed = Arc::new(AtomicBool::new(false));
    let over = closed.clone();
    let reader = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut bytes) {
            let _ = log.write_all(&bytes[..count]);
            if over.load(Ordering::SeqCst) {
                return;
            }
        }
    });
    let keys = TimedWriter::new(pair.master.take_writer().unwrap());
    Some((child, RunTerminal { keys, master: pair.master, reader, closed }))
}
