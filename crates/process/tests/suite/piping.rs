//! What goes in and what comes out.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use hookwright_process::{Exit, Input, Keep, Output, Process, Step};
use hookwright_testkit::deadline::wait_for;
use tokio::time::Instant;

use super::support::{GRACE, Place, is_running, text, within};

fn sh(place: &Place, script: &str, input: Input, output: Output) -> Process {
    place.start_with(Path::new("/bin/sh"), "sh", &["-c", script], input, output).unwrap()
}

#[tokio::test]
async fn stdin_is_a_pipe_that_can_be_opened_by_name() {
    let place = Place::new();
    let mut process = place.shell("cat /dev/stdin; test -p /dev/stdin && echo pipe >&2");
    assert_eq!(within(process.wait()).await.unwrap(), Exit::Code(0));
    let finished = process.finish();
    assert_eq!((text(&finished.stdout).as_str(), text(&finished.stderr).as_str()), ("hello\n", "pipe\n"));
}

#[tokio::test]
async fn pieces_arrive_in_order_however_many_bytes_they_are() {
    let place = Place::new();
    let large = Bytes::from(vec![b'x'; 3_000_000]);
    let pieces = vec![Bytes::from("a"), Bytes::new(), large, Bytes::from("z")];
    let mut process = sh(&place, "cat", Input::Pieces(pieces), Output::Apart(Keep::Head(4_000_000)));
    within(process.wait()).await.unwrap();
    let out = text(&process.finish().stdout);
    assert!(out.len() == 3_000_002 && out.starts_with("ax") && out.ends_with("xz"));
}

/// As after a stop of the whole program: nobody was woken, and nothing was awaited.
#[tokio::test]
async fn what_happened_while_nobody_listened_is_known_at_once() {
    fn next(process: &mut Process) -> Step {
        wait_for("a step", || process.by_now().unwrap())
    }
    let place = Place::new();
    let mut process = sh(
        &place,
        "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two; exit 7",
        Input::Empty,
        Output::Apart(Keep::Head(99)),
    );
    assert_eq!(next(&mut process), Step::Output);
    assert_eq!(process.by_now().unwrap(), None);
    std::fs::write(place.path("go"), "").unwrap();
    while next(&mut process) == Step::Output {}
    assert_eq!(next(&mut process), Step::Exited(Exit::Code(7)));
    assert_eq!(text(&process.finish().stdout), "one\ntwo\n");
}

#[tokio::test]
async fn nobody_has_to_read_a_large_input() {
    let place = Place::new();
    for script in ["exit 0", "exec <&-; sleep 0.1", "head -c 1 >/dev/null"] {
        let input = Input::Pieces(vec![Bytes::from(vec![b'x'; 10_000_000])]);
        let mut process = sh(&place, script, input, Output::Apart(Keep::Head(10)));
        assert_eq!(within(process.wait()).await.unwrap(), Exit::Code(0), "{script}");
    }
}

#[tokio::test]
async fn no_input_is_an_end_at_once() {
    let place = Place::new();
    let mut process = sh(&place, "cat; echo over", Input::Empty, Output::Apart(Keep::Head(10)));
    within(process.wait()).await.unwrap();
    assert_eq!(text(&process.finish().stdout), "over\n");
}

#[tokio::test]
async fn a_flood_is_counted_and_not_kept() {
    let place = Place::new();
    let flood = "head -c 5000000 /dev/zero; head -c 5000000 /dev/zero >&2";
    let mut process = sh(&place, flood, Input::Empty, Output::Apart(Keep::Head(1000)));
    assert_eq!(within(process.wait()).await.unwrap(), Exit::Code(0));
    let finished = process.finish();
    for capture in [&finished.stdout, &finished.stderr] {
        assert_eq!((capture.head().len(), capture.bytes(), capture.left_out()), (1000, 5_000_000, 4_999_000));
    }
}

#[tokio::test]
async fn streams_together_keep_their_order_and_both_ends_and_are_heard() {
    let place = Place::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = heard.clone();
    let live = Box::new(move |piece: &[u8]| sink.lock().unwrap().extend_from_slice(piece));
    let script = "echo one; echo two >&2; head -c 100000 /dev/zero; echo last";
    let mut process = sh(&place, script, Input::Empty, Output::Together(Keep::Ends(40), live));
    within(process.wait()).await.unwrap();
    let out = process.finish().stdout;
    assert!(out.head().starts_with(b"one\ntwo\n") && out.tail().ends_with(b"last\n"));
    assert_eq!((out.head().len(), out.tail().len(), out.bytes()), (10, 30, 100_013));
    assert_eq!(heard.lock().unwrap().len(), 100_013);
}

#[tokio::test]
async fn each_step_is_output_or_the_end() {
    let place = Place::new();
    let mut process = place.shell("echo a; read line; sleep 0.2; echo b");
    assert_eq!(within(process.step()).await.unwrap(), Step::Output);
    assert_eq!(process.stdout().head(), b"a\n");
    let mut steps = 0;
    while within(process.step()).await.unwrap() == Step::Output {
        steps += 1;
    }
    assert!(steps <= 1, "{steps}");
    assert_eq!(process.stdout().head(), b"a\nb\n");
    assert_eq!(within(process.wait()).await.unwrap(), Exit::Code(0), "it can be asked again");
}

#[tokio::test]
async fn somebody_who_holds_the_pipes_holds_nothing_up() {
    let place = Place::new();
    let started = Instant::now();
    let mut process = place.shell("sleep 60 & echo $! > child; echo done");
    within(process.wait()).await.unwrap();
    assert!(!process.is_silent());
    process.listen(Duration::from_millis(20), Instant::now() + GRACE).await;
    let child = place.pid("child").await;
    assert_eq!(process.members(), [child]);
    let finished = process.finish();
    assert!(started.elapsed() < Duration::from_secs(10) && finished.left_behind);
    assert_eq!(text(&finished.stdout), "done\n");
    assert!(is_running(child));
    place.groups.kill_now();
}

#[tokio::test]
async fn listening_hears_those_who_hold_the_pipes() {
    let place = Place::new();
    let mut process = place.shell("(sleep 0.3; echo late) & echo early");
    within(process.wait()).await.unwrap();
    within(process.listen(Duration::from_secs(10), Instant::now() + Duration::from_secs(15))).await;
    assert!(process.is_silent());
    assert_eq!(text(&process.finish().stdout), "early\nlate\n");
}

#[tokio::test]
async fn outlasting_reads_for_those_who_run_on() {
    let place = Place::new();
    let mut process = place.shell("(head -c 3000000 /dev/zero && echo through > through) & exit 0");
    within(process.outlast()).await;
    assert!(place.path("through").exists());
    assert_eq!(process.finish().stdout.head(), b"");
}
