//! Waits with a deadline, in the place of those of `std` that have none.
//!
//! What is not over at the deadline fails the test, with what is known of why. The lint `disallowed_methods` keeps the
//! unbounded ones out of tests; import this module whole: `use hookwright_testkit::deadline::*`.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvError, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::{processes, watchdog};

/// Far longer than anything in a test takes, on a busy machine too: only a hang gets there.
const DEADLINE_SECONDS: u64 = 90;

/// Overrides how long a single wait may take, in seconds.
pub const DEADLINE_VARIABLE: &str = "HOOKWRIGHT_TEST_DEADLINE_SECS";

/// How long a single wait may take.
pub fn wait_limit() -> Duration {
    static WAIT_LIMIT: LazyLock<Duration> =
        LazyLock::new(|| crate::seconds_from_env(DEADLINE_VARIABLE, DEADLINE_SECONDS));
    *WAIT_LIMIT
}

/// Polls until there is a value.
#[track_caller]
pub fn wait_for<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    poll_until(Instant::now() + wait_limit(), &mut poll)
        .unwrap_or_else(|| panic!("waited {:?} in vain: {what}", wait_limit()))
}

fn poll_until<T>(deadline: Instant, poll: &mut dyn FnMut() -> Option<T>) -> Option<T> {
    let mut nap = Duration::from_micros(100);
    loop {
        match poll() {
            None if Instant::now() < deadline => std::thread::sleep(nap),
            outcome => return outcome,
        }
        nap = (nap * 2).min(Duration::from_millis(10));
    }
}

/// Runs programs to their end.
pub trait CommandDeadline {
    /// `Command::output`, with a deadline for the program and for every other holder of its pipes. There is nothing on
    /// stdin.
    fn output_in_time(&mut self) -> io::Result<Output>;

    /// `Command::status`, with a deadline.
    fn status_in_time(&mut self) -> io::Result<ExitStatus>;
}

impl CommandDeadline for Command {
    #[track_caller]
    fn output_in_time(&mut self) -> io::Result<Output> {
        let child = self.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        Ok(child.finish_in_time())
    }

    #[track_caller]
    fn status_in_time(&mut self) -> io::Result<ExitStatus> {
        self.spawn()?.wait_in_time()
    }
}

/// Waits for programs.
pub trait ChildDeadline {
    /// `Child::wait`, with a deadline.
    fn wait_in_time(&mut self) -> io::Result<ExitStatus>;

    /// `Child::wait_with_output`, with a deadline for the program and for every other holder of its pipes.
    fn finish_in_time(self) -> Output;
}

impl ChildDeadline for Child {
    #[track_caller]
    fn wait_in_time(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        let deadline = Instant::now() + wait_limit();
        poll_until(deadline, &mut || self.try_wait().transpose()).unwrap_or_else(|| fail_hung_program(self, &[]))
    }

    #[track_caller]
    fn finish_in_time(self) -> Output {
        finish_observed(self, None)
    }
}

/// Waits for a program and takes its output. In between, the observer is called every other millisecond.
#[track_caller]
pub(crate) fn finish_observed(mut child: Child, mut observer: Option<&mut dyn FnMut()>) -> Output {
    const OBSERVER_INTERVAL: Duration = Duration::from_millis(2);
    drop(child.stdin.take());
    let deadline = Instant::now() + wait_limit();
    let (ended, ends) = channel();
    let pipes = [
        child.stdout.take().map(|pipe| PipeDrain::start(pipe, ended.clone())),
        child.stderr.take().map(|pipe| PipeDrain::start(pipe, ended)),
    ];
    // Ends with the readers, which hold the only senders.
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let pause = if observer.is_some() { OBSERVER_INTERVAL.min(left) } else { left };
        match ends.recv_timeout(pause) {
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if left.is_zero() => fail_hung_program(&mut child, &pipes),
            Err(RecvTimeoutError::Timeout) => {
                if let Some(observer) = &mut observer {
                    observer();
                }
            }
            Ok(()) => {}
        }
    }
    let status = poll_until(deadline, &mut || child.try_wait().transpose());
    let status =
        status.unwrap_or_else(|| fail_hung_program(&mut child, &pipes)).expect("the program can be waited for");
    let [stdout, stderr] = pipes.map(|pipe| pipe.map(|pipe| pipe.content()).unwrap_or_default());
    Output { status, stdout, stderr }
}

/// Reads a pipe of a program on a thread of its own.
struct PipeDrain {
    content: Arc<Mutex<Vec<u8>>>,
    /// The pipe's name in `/proc/PID/fd`.
    name: Option<String>,
}

impl PipeDrain {
    fn start(mut pipe: impl Read + PipeName + Send + 'static, ended: Sender<()>) -> PipeDrain {
        let drain = PipeDrain { content: Arc::default(), name: pipe.pipe_name() };
        let content = drain.content.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 65536];
            loop {
                match pipe.read(&mut bytes) {
                    Ok(0) => break,
                    Ok(count) => {
                        content.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&bytes[..count]);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            let _ = ended.send(());
        });
        drain
    }

    fn content(&self) -> Vec<u8> {
        std::mem::take(&mut self.content.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

trait PipeName {
    fn pipe_name(&self) -> Option<String>;
}

#[cfg(unix)]
impl<T: std::os::fd::AsRawFd> PipeName for T {
    fn pipe_name(&self) -> Option<String> {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", self.as_raw_fd())).ok()?;
        link.into_os_string().into_string().ok()
    }
}

#[cfg(not(unix))]
impl<T> PipeName for T {
    fn pipe_name(&self) -> Option<String> {
        None
    }
}

/// Kills a program that did not end in time, its descendants and all other holders of its pipes, and fails the test.
#[track_caller]
fn fail_hung_program(child: &mut Child, pipes: &[Option<PipeDrain>]) -> ! {
    let names = pipes.iter().flatten().filter_map(|pipe| pipe.name.as_deref());
    let roots: Vec<u32> = std::iter::once(child.id()).chain(names.flat_map(processes::file_holders)).collect();
    let mut family = processes::process_tree(&roots);
    family.dedup();
    let processes = processes::describe(&family);
    processes::kill(&family);
    let _ = child.kill();
    let _ = poll_until(Instant::now() + Duration::from_secs(5), &mut || child.try_wait().transpose());
    let printed: Vec<Vec<u8>> = pipes.iter().flatten().map(PipeDrain::content).collect();
    let printed: Vec<_> = printed.iter().map(|bytes| String::from_utf8_lossy(bytes)).collect();
    panic!("the program did not end within {:?}\nprinted: {printed:#?}\nprocesses:\n{processes}", wait_limit());
}

/// Joins threads within a deadline.
pub trait JoinDeadline<T> {
    /// `JoinHandle::join`, with a deadline.
    fn join_in_time(self) -> std::thread::Result<T>;
}

impl<T> JoinDeadline<T> for JoinHandle<T> {
    #[track_caller]
    #[expect(clippy::disallowed_methods, reason = "the thread has ended")]
    fn join_in_time(self) -> std::thread::Result<T> {
        wait_for("a thread's end", || self.is_finished().then_some(()));
        self.join()
    }
}

/// Receives from channels.
pub trait ReceiverDeadline<T> {
    /// `Receiver::recv`, with a deadline.
    fn recv_in_time(&self) -> Result<T, RecvError>;

    /// `Receiver::iter`, with a deadline for each message.
    fn iter_in_time(&self) -> impl Iterator<Item = T>;
}

impl<T> ReceiverDeadline<T> for Receiver<T> {
    #[track_caller]
    fn recv_in_time(&self) -> Result<T, RecvError> {
        match self.recv_timeout(wait_limit()) {
            Err(RecvTimeoutError::Timeout) => panic!("waited {:?} in vain: a message", wait_limit()),
            outcome => outcome.map_err(|_| RecvError),
        }
    }

    fn iter_in_time(&self) -> impl Iterator<Item = T> {
        std::iter::from_fn(|| self.recv_in_time().ok())
    }
}

/// Accepts connections within a deadline.
pub trait ListenerDeadline {
    /// `TcpListener::accept`, with a deadline for it and for each read and write of the stream.
    fn accept_in_time(&self) -> io::Result<(TcpStream, SocketAddr)>;

    /// `TcpListener::incoming` for a server on a thread of its own, which is not joined; with a deadline for each read
    /// and write of the streams.
    fn connections(&self) -> impl Iterator<Item = TcpStream>;
}

impl ListenerDeadline for TcpListener {
    #[track_caller]
    #[expect(clippy::disallowed_methods, reason = "it does not block")]
    fn accept_in_time(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.set_nonblocking(true)?;
        let (stream, address) = wait_for("a connection", || match self.accept() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            outcome => Some(outcome),
        })?;
        stream.set_nonblocking(false)?;
        set_stream_timeouts(&stream)?;
        Ok((stream, address))
    }

    #[expect(clippy::disallowed_methods, reason = "the test does not wait for the server's thread")]
    fn connections(&self) -> impl Iterator<Item = TcpStream> {
        self.incoming().flatten().inspect(|stream| set_stream_timeouts(stream).expect("a stream takes a deadline"))
    }
}

/// Connects to an address, with a deadline for each read and write.
pub fn connect_in_time(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    set_stream_timeouts(&stream)?;
    Ok(stream)
}

fn set_stream_timeouts(stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(wait_limit()))?;
    stream.set_write_timeout(Some(wait_limit()))
}

/// The lines of a pipe, with a deadline for each; the reader's thread ends with the pipe.
pub fn lines_in_time(pipe: impl Read + Send + 'static) -> impl Iterator<Item = String> {
    let (line, lines) = channel();
    std::thread::spawn(move || {
        let read = BufReader::new(pipe).split(b'\n').map_while(Result::ok);
        // The test may not want all of them.
        let _ = read.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).try_for_each(|text| line.send(text));
    });
    std::iter::from_fn(move || lines.recv_in_time().ok())
}

/// Does blocking work on a thread of its own, with a deadline. A panic of it is passed on.
#[track_caller]
pub fn run_in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    watchdog::watch();
    std::thread::spawn(work).join_in_time().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A pipe or a terminal to write to, with a deadline for each write: its reader may not read.
pub struct TimedWriter<W> {
    /// Taken during a write, by a thread that is left behind at the deadline.
    writer: Option<W>,
}

impl<W: Write + Send + 'static> TimedWriter<W> {
    /// Puts the deadline before a writer.
    pub fn new(writer: W) -> TimedWriter<W> {
        TimedWriter { writer: Some(writer) }
    }

    fn with_writer<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut W) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let mut writer = self.writer.take().expect("no write is under way");
        let (writer, outcome) = run_in_time(move || {
            let outcome = work(&mut writer);
            (writer, outcome)
        });
        self.writer = Some(writer);
        outcome
    }
}

impl<W: Write + Send + 'static> Write for TimedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = bytes.to_vec();
        self.with_writer(move |writer| writer.write(&bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with_writer(Write::flush)
    }
}
