//! What commands run on: a stack, memory and a runtime, taken only where this machine has room for them. A lack is said,
//! and is no panic somewhere inside.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::time::Duration;

use anyhow::Context;
use hookwright_process::{probe_memory, probe_threads_if_limited, reserve_stack, resource_exhausted_error};
use tokio::runtime::{Builder, Runtime};

pub(crate) const NO_RESOURCES_MESSAGE: &str = "this machine has no room to start";
/// The runtime's own descriptors, and those of the thread that hears signals.
const RUNTIME_DESCRIPTORS: usize = 12;
/// Those of a screen, and of one hook that runs: whoever looks at it would wait for the hook in vain.
const SCREEN_DESCRIPTORS: usize = 24;
/// The threads of a session beside the runtime's own: for signals, for printing, and two for work that blocks.
const SESSION_THREADS: usize = 4;
/// What a program usually has, less what its arguments and variables may take of it.
pub(crate) const STACK_BYTES: usize = 6 << 20;
/// What a session needs at least, over and above the program itself.
const MIN_SESSION_MEMORY_BYTES: usize = 64 << 20;
/// As good as for ever.
const THREAD_KEEP_ALIVE: Duration = Duration::from_secs(86_400 * 365);

/// Does all the work of the program on a large stack, whatever the limit on stacks is, and only where there is memory to work
/// in: where that runs out later, the program can but end in the middle.
#[expect(clippy::disallowed_methods, reason = "the thread is the program")]
pub(crate) fn run_on_large_stack(work: fn() -> u8) -> anyhow::Result<u8> {
    probe_memory(MIN_SESSION_MEMORY_BYTES).context(NO_RESOURCES_MESSAGE)?;
    if reserve_stack(STACK_BYTES) {
        return Ok(work());
    }
    let thread = std::thread::Builder::new().name("main".to_owned()).stack_size(STACK_BYTES).spawn(work);
    // A panic has been told of where it was.
    thread.context(NO_RESOURCES_MESSAGE)?.join().or_else(|panic| panic::resume_unwind(panic))
}

/// Starts a runtime; nothing of it can fail later for want of threads.
pub(crate) fn start(workers: usize) -> anyhow::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    build_runtime(builder.worker_threads(workers), workers, RUNTIME_DESCRIPTORS).context(NO_RESOURCES_MESSAGE)
}

/// The same for a session without a screen, whose work is done by the thread that waits for it: handing work from one to
/// another takes longer than most of the work does.
pub(crate) fn start_headless() -> anyhow::Result<Runtime> {
    build_runtime(&mut Builder::new_current_thread(), 0, RUNTIME_DESCRIPTORS).context(NO_RESOURCES_MESSAGE)
}

/// A runtime on this thread alone, for who waits for a few hooks and does nothing else.
pub(crate) fn start_single_threaded() -> anyhow::Result<Runtime> {
    catch_panic(|| Builder::new_current_thread().enable_all().build())
        .and_then(|built| built)
        .context(NO_RESOURCES_MESSAGE)
}

/// The same for a session with a screen.
pub(crate) fn start_with_screen(workers: usize) -> anyhow::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    build_runtime(builder.worker_threads(workers), workers, RUNTIME_DESCRIPTORS + SCREEN_DESCRIPTORS)
        .context(NO_RESOURCES_MESSAGE)
}

fn build_runtime(builder: &mut Builder, workers: usize, descriptors: usize) -> io::Result<Runtime> {
    check_spare_descriptors(descriptors)?;
    probe_threads_if_limited(workers + SESSION_THREADS)?;
    let runtime = catch_panic(|| builder.thread_keep_alive(THREAD_KEEP_ALIVE).enable_all().build())??;
    // One thread for work that blocks is always there: where no other can be started, this one does it all.
    let started = catch_panic(|| drop(runtime.spawn_blocking(|| ())));
    if started.is_err() {
        runtime.shutdown_background();
        return Err(resource_exhausted_error());
    }
    Ok(runtime)
}

/// The runtime panics where a thread can't be started; whoever reads of that learns less than from our error.
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
