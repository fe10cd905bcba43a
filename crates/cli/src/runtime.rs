//! The stack, memory and Tokio runtime that commands run on. Each is checked before it is taken, so that a lack of
//! resources is an error with a message instead of a panic.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::time::Duration;

use anyhow::Context;
use hookwright_process::{probe_memory, probe_threads_if_limited, reserve_stack, resource_exhausted_error};
use tokio::runtime::{Builder, Runtime};

pub(crate) const NO_RESOURCES_MESSAGE: &str = "this machine has no resources left to start";
/// Descriptors that the runtime and the signal thread need.
const RUNTIME_DESCRIPTORS: usize = 12;
/// Descriptors that a screen and one running hook need.
///
/// With fewer, the screen would start and then wait in vain for its first hook.
const SCREEN_DESCRIPTORS: usize = 24;
/// Threads of a session besides the runtime's workers: signals, printing, and two for blocking work.
const SESSION_THREADS: usize = 4;
/// The usual stack of a main thread (8 MiB) less the room that its arguments and variables may take.
pub(crate) const STACK_BYTES: usize = 6 << 20;
/// Memory that a session needs at least, in addition to the program itself.
const MIN_SESSION_MEMORY_BYTES: usize = 64 << 20;
/// Long enough that the runtime's blocking threads are never ended for being idle.
const THREAD_KEEP_ALIVE: Duration = Duration::from_secs(86_400 * 365);

/// Runs the program on a large stack, whatever the stack limit is.
///
/// Memory is probed first: when it runs out later, the program can only abort.
#[expect(clippy::disallowed_methods, reason = "the thread is the program")]
pub(crate) fn run_on_large_stack(work: fn() -> u8) -> anyhow::Result<u8> {
    probe_memory(MIN_SESSION_MEMORY_BYTES).context(NO_RESOURCES_MESSAGE)?;
    if reserve_stack(STACK_BYTES) {
        return Ok(work());
    }
    let thread = std::thread::Builder::new().name("main".to_owned()).stack_size(STACK_BYTES).spawn(work);
    // The panic hook has printed the panic already.
    thread.context(NO_RESOURCES_MESSAGE)?.join().or_else(|panic| panic::resume_unwind(panic))
}

/// Starts a multi-threaded runtime. Its threads are probed now, so that a lack of them does not show later.
pub(crate) fn start(workers: usize) -> anyhow::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    build_runtime(builder.worker_threads(workers), workers, RUNTIME_DESCRIPTORS).context(NO_RESOURCES_MESSAGE)
}

/// Starts a runtime for a session without a screen, on the thread that waits for it.
///
/// Handing work from one thread to another takes longer than most of the work does.
pub(crate) fn start_headless() -> anyhow::Result<Runtime> {
    build_runtime(&mut Builder::new_current_thread(), 0, RUNTIME_DESCRIPTORS).context(NO_RESOURCES_MESSAGE)
}

/// Starts a runtime on this thread alone, for a caller that only waits for a few hooks.
pub(crate) fn start_single_threaded() -> anyhow::Result<Runtime> {
    catch_panic(|| Builder::new_current_thread().enable_all().build())
        .and_then(|built| built)
        .context(NO_RESOURCES_MESSAGE)
}

/// Starts a multi-threaded runtime for a session with a screen.
pub(crate) fn start_with_screen(workers: usize) -> anyhow::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    build_runtime(builder.worker_threads(workers), workers, RUNTIME_DESCRIPTORS + SCREEN_DESCRIPTORS)
        .context(NO_RESOURCES_MESSAGE)
}

fn build_runtime(builder: &mut Builder, workers: usize, descriptors: usize) -> io::Result<Runtime> {
    check_spare_descriptors(descriptors)?;
    probe_threads_if_limited(workers + SESSION_THREADS)?;
    let runtime = catch_panic(|| builder.thread_keep_alive(THREAD_KEEP_ALIVE).enable_all().build())??;
    // One blocking thread always exists: where no other can be started, it does all blocking work.
    let started = catch_panic(|| drop(runtime.spawn_blocking(|| ())));
    if started.is_err() {
        runtime.shutdown_background();
        return Err(resource_exhausted_error());
    }
    Ok(runtime)
}

/// Runs `work` and turns a panic into an error.
///
/// The runtime panics where a thread can't be started; our error says more than that panic.
fn catch_panic<T>(work: impl FnOnce() -> T) -> io::Result<T> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    panic::set_hook(hook);
    done.map_err(|_| resource_exhausted_error())
}

#[cfg(unix)]
fn check_spare_descriptors(count: usize) -> io::Result<()> {
    let spare: io::Result<Vec<_>> = (0..count).map(|_| std::fs::File::open("/dev/null")).collect();
    spare.map(drop)
}

#[cfg(not(unix))]
fn check_spare_descriptors(_: usize) -> io::Result<()> {
    Ok(())
}
