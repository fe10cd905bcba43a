//! Input and output of processes.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use hookwright_process::{CaptureLimit, Exit, OutputRouting, Process, ProcessEvent, ProcessInput};
use hookwright_testkit::deadline::wait_for;
use tokio::time::Instant;

use super::support::{ProcessFixture, TERMINATION_GRACE_PERIOD, head_text, is_running, with_timeout};

fn spawn_shell_with(place: &ProcessFixture, script: &str, input: ProcessInput, output: OutputRouting) -> Process {
    place.spawn_with(Path::new("/bin/sh"), "sh", &["-c", script], input, output).unwrap()
}

#[tokio::test]
async fn stdin_is_a_pipe_that_can_be_opened_by_name() {
    let place = ProcessFixture::new();
    let mut process = place.spawn_shell("cat /dev/stdin; test -p /dev/stdin && echo pipe >&2");
    assert_eq!(with_timeout(process.wait()).await.unwrap(), Exit::Code(0));
    let finished = process.finish();
    assert_eq!((head_text(&finished.stdout).as_str(), head_text(&finished.stderr).as_str()), ("hello\n", "pipe\n"));
}

#[tokio::test]
async fn input_chunks_arrive_in_order() {
    let place = ProcessFixture::new();
    let large = Bytes::from(vec![b'x'; 3_000_000]);
    let pieces = vec![Bytes::from("a"), Bytes::new(), large, Bytes::from("z")];
    let mut process = spawn_shell_with(
        &place,
        "cat",
        ProcessInput::Chunks(pieces),
        OutputRouting::Separate(CaptureLimit::Head(4_000_000)),
    );
    with_timeout(process.wait()).await.unwrap();
    let out = head_text(&process.finish().stdout);
    assert!(out.len() == 3_000_002 && out.starts_with("ax") && out.ends_with("xz"));
}

/// As after a suspension of the whole program: no task was woken, and nothing was awaited.
#[tokio::test]
async fn try_next_event_sees_missed_events_immediately() {
    fn next_event_in_time(process: &mut Process) -> ProcessEvent {
        wait_for("a step", || process.try_next_event().unwrap())
    }
    let place = ProcessFixture::new();
    let mut process = spawn_shell_with(
        &place,
        "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two; exit 7",
        ProcessInput::Empty,
        OutputRouting::Separate(CaptureLimit::Head(99)),
    );
    assert_eq!(next_event_in_time(&mut process), ProcessEvent::Output);
    assert_eq!(process.try_next_event().unwrap(), None);
    std::fs::write(place.path("go"), "").unwrap();
    while next_event_in_time(&mut process) == ProcessEvent::Output {}
    assert_eq!(next_event_in_time(&mut process), ProcessEvent::Exited(Exit::Code(7)));
    assert_eq!(head_text(&process.finish().stdout), "one\ntwo\n");
}

#[tokio::test]
async fn unread_large_input_does_not_block() {
    let place = ProcessFixture::new();
    for script in ["exit 0", "exec <&-; sleep 0.1", "head -c 1 >/dev/null"] {
        let input = ProcessInput::Chunks(vec![Bytes::from(vec![b'x'; 10_000_000])]);
        let mut process = spawn_shell_with(&place, script, input, OutputRouting::Separate(CaptureLimit::Head(10)));
        assert_eq!(with_timeout(process.wait()).await.unwrap(), Exit::Code(0), "{script}");
    }
}

#[tokio::test]
async fn empty_input_is_end_of_file() {
    let place = ProcessFixture::new();
    let mut process = spawn_shell_with(
        &place,
        "cat; echo over",
        ProcessInput::Empty,
        OutputRouting::Separate(CaptureLimit::Head(10)),
    );
    with_timeout(process.wait()).await.unwrap();
    assert_eq!(head_text(&process.finish().stdout), "over\n");
}

#[tokio::test]
async fn flooding_output_is_counted_and_discarded() {
    let place = ProcessFixture::new();
    let flood = "head -c 5000000 /dev/zero; head -c 5000000 /dev/zero >&2";
    let mut process =
        spawn_shell_with(&place, flood, ProcessInput::Empty, OutputRouting::Separate(CaptureLimit::Head(1000)));
    assert_eq!(with_timeout(process.wait()).await.unwrap(), Exit::Code(0));
    let finished = process.finish();
    for capture in [&finished.stdout, &finished.stderr] {
        assert_eq!(
            (capture.head().len(), capture.total_bytes(), capture.omitted_bytes()),
            (1000, 5_000_000, 4_999_000)
        );
    }
}

#[tokio::test]
async fn merged_streams_keep_order_and_reach_the_callback() {
    let place = ProcessFixture::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = heard.clone();
    let live = Box::new(move |piece: &[u8]| sink.lock().unwrap().extend_from_slice(piece));
    let script = "echo one; echo two >&2; head -c 100000 /dev/zero; echo last";
    let mut process = spawn_shell_with(
        &place,
        script,
        ProcessInput::Empty,
        OutputRouting::Merged(CaptureLimit::HeadAndTail(40), live),
    );
    with_timeout(process.wait()).await.unwrap();
    let out = process.finish().stdout;
    assert!(out.head().starts_with(b"one\ntwo\n") && out.tail().ends_with(b"last\n"));
    assert_eq!((out.head().len(), out.tail().len(), out.total_bytes()), (10, 30, 100_013));
    assert_eq!(heard.lock().unwrap().len(), 100_013);
}

#[tokio::test]
async fn each_event_is_output_or_exit() {
    let place = ProcessFixture::new();
    let mut process = place.spawn_shell("echo a; read line; sleep 0.2; echo b");
    assert_eq!(with_timeout(process.next_event()).await.unwrap(), ProcessEvent::Output);
    assert_eq!(process.stdout().head(), b"a\n");
    let mut steps = 0;
    while with_timeout(process.next_event()).await.unwrap() == ProcessEvent::Output {
        steps += 1;
    }
    assert!(steps <= 1, "{steps}");
    assert_eq!(process.stdout().head(), b"a\nb\n");
    assert_eq!(with_timeout(process.wait()).await.unwrap(), Exit::Code(0), "it can be asked again");
}

#[tokio::test]
async fn inherited_pipe_does_not_delay_exit() {
    let place = ProcessFixture::new();
    let started = Instant::now();
    let mut process = place.spawn_shell("sleep 60 & echo $! > child; echo done");
    with_timeout(process.wait()).await.unwrap();
    assert!(!process.is_output_closed());
    process.read_until_quiet(Duration::from_millis(20), Instant::now() + TERMINATION_GRACE_PERIOD).await;
    let child = place.read_pid("child").await;
    assert_eq!(process.live_pids(), [child]);
    let finished = process.finish();
    assert!(started.elapsed() < Duration::from_secs(10) && finished.has_survivors);
    assert_eq!(head_text(&finished.stdout), "done\n");
    assert!(is_running(child));
    place.groups.kill_all();
}

#[tokio::test]
async fn read_until_quiet_reads_from_inherited_pipes() {
    let place = ProcessFixture::new();
    let mut process = place.spawn_shell("(sleep 0.3; echo late) & echo early");
    with_timeout(process.wait()).await.unwrap();
    with_timeout(process.read_until_quiet(Duration::from_secs(10), Instant::now() + Duration::from_secs(15))).await;
    assert!(process.is_output_closed());
    assert_eq!(head_text(&process.finish().stdout), "early\nlate\n");
}

#[tokio::test]
async fn discard_output_drains_for_surviving_processes() {
    let place = ProcessFixture::new();
    let mut process = place.spawn_shell("(head -c 3000000 /dev/zero && echo through > through) & exit 0");
    with_timeout(process.discard_output()).await;
    assert!(place.path("through").exists());
    assert_eq!(process.finish().stdout.head(), b"");
}
