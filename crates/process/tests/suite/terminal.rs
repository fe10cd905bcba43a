//! Programs on a terminal of their own: input, size, termination, and processes that outlive the program there.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookwright_process::{
    CaptureLimit, Exit, OutputRouting, Process, ProcessEvent, ProcessInput, PseudoTerminal, TerminalInputMode,
    TerminalSize, TerminationWait,
};
use hookwright_testkit::fs;
use tokio::time::Instant;

use super::support::{ProcessFixture, TERMINATION_GRACE_PERIOD, head_text, is_running, wait_until, with_timeout};

const TERMINAL_SIZE: TerminalSize = TerminalSize { columns: 100, rows: 30 };

/// A script on a terminal, and its output so far.
struct TerminalFixture {
    process: Process,
    terminal: PseudoTerminal,
    screen_text: Arc<Mutex<String>>,
}

fn spawn_on_terminal(place: &ProcessFixture, script: &str) -> TerminalFixture {
    let terminal = PseudoTerminal::open(TERMINAL_SIZE).unwrap();
    let shown = Arc::new(Mutex::new(String::new()));
    let sink = shown.clone();
    let live = Box::new(move |piece: &[u8]| sink.lock().unwrap().push_str(&String::from_utf8_lossy(piece)));
    let output = OutputRouting::Terminal(CaptureLimit::Head(100_000), live, terminal.clone());
    let process = place.spawn_with(Path::new("/bin/sh"), "sh", &["-c", script], ProcessInput::Empty, output).unwrap();
    TerminalFixture { process, terminal, screen_text: shown }
}

impl TerminalFixture {
    /// Drives the process until it has printed this text.
    async fn wait_for_text(&mut self, text: &str) {
        while !self.screen_text.lock().unwrap().contains(text) {
            let step = with_timeout(self.process.next_event()).await.unwrap();
            assert!(
                step == ProcessEvent::Output || self.screen_text.lock().unwrap().contains(text),
                "{}",
                self.screen_text.lock().unwrap()
            );
        }
    }

    async fn wait_for_exit(&mut self) -> Exit {
        let exit = with_timeout(self.process.wait()).await.unwrap();
        with_timeout(
            self.process.read_until_quiet(Duration::from_millis(100), Instant::now() + Duration::from_secs(1)),
        )
        .await;
        exit
    }
}

#[tokio::test]
async fn terminal_is_controlling_and_has_the_requested_size() {
    let place = ProcessFixture::new();
    let script = "test -t 0 && test -t 1 && test -t 2 && echo three; stty size; echo two > /dev/tty; \
                  ls -l /proc/self/fd 2>/dev/null | grep -e socket -e ptmx; exit 7";
    let mut drawn = spawn_on_terminal(&place, script);
    assert_eq!(drawn.wait_for_exit().await, Exit::Code(7));
    let told = head_text(drawn.process.stdout());
    assert!(told.contains("three\r\n30 100\r\ntwo\r\n"), "{told}");
    assert!(!told.contains("socket") && !told.contains("ptmx"), "something of ours is open there: {told}");
    assert!(!drawn.process.has_survivors() && drawn.process.is_output_closed());
    let leader = drawn.process.pid();
    assert!(!drawn.process.finish().has_survivors);
    wait_until("nobody holds the terminal any more", || !is_running(leader)).await;
    wait_until("the group is forgotten", || place.groups.pids().is_empty()).await;
}

#[tokio::test]
async fn all_output_is_read_at_exit() {
    let place = ProcessFixture::new();
    for _ in 0..10 {
        let mut drawn = spawn_on_terminal(&place, "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i + 1)); done");
        assert_eq!(drawn.wait_for_exit().await, Exit::Code(0));
        assert!(head_text(drawn.process.stdout()).ends_with("line 1999\r\n"));
    }
}

#[tokio::test]
async fn input_arrives_and_input_mode_is_reported() {
    let place = ProcessFixture::new();
    let mut drawn = spawn_on_terminal(
        &place,
        "echo name; read name; echo \"hello $name\"; stty -echo; echo secret; read word; stty echo; \
         stty raw; printf 'a key '; key=$(dd bs=1 count=1 2>/dev/null); stty sane; echo \"[$key]\"; test \"$word\" = hunter2",
    );
    drawn.wait_for_text("name").await;
    assert_eq!(drawn.terminal.input_mode(), TerminalInputMode::Lines);
    assert!(drawn.terminal.write_input(b"wim\n"));
    drawn.wait_for_text("hello wim").await;
    drawn.wait_for_text("secret").await;
    assert_eq!(drawn.terminal.input_mode(), TerminalInputMode::HiddenLines);
    assert!(drawn.terminal.write_input(b"hunter2\n"));
    drawn.wait_for_text("a key").await;
    assert_eq!(drawn.terminal.input_mode(), TerminalInputMode::Keys);
    assert!(drawn.terminal.write_input(b"x"));
    assert_eq!(drawn.wait_for_exit().await, Exit::Code(0));
    let told = head_text(drawn.process.stdout());
    assert!(told.contains("[x]") && !told.contains("hunter2"), "{told}");
}

#[tokio::test]
async fn control_c_interrupts_and_job_stop_keys_have_no_effect() {
    let place = ProcessFixture::new();
    let mut drawn =
        spawn_on_terminal(&place, "trap 'echo heard; exit 4' INT; echo ready; while :; do sleep 0.05; done");
    drawn.wait_for_text("ready").await;
    drawn.terminal.write_input(b"\x1a\x03");
    assert_eq!(drawn.wait_for_exit().await, Exit::Code(4));
    let mut drawn = spawn_on_terminal(&place, "echo ready; exec sleep 60");
    drawn.wait_for_text("ready").await;
    drawn.terminal.write_input(b"\x03");
    assert_eq!(drawn.wait_for_exit().await, Exit::Code(130));
    assert!(!drawn.process.has_survivors());
}

#[tokio::test]
async fn resize_is_signalled_to_the_program() {
    let place = ProcessFixture::new();
    let mut drawn = spawn_on_terminal(&place, "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done");
    drawn.wait_for_text("ready").await;
    drawn.terminal.resize(TerminalSize { columns: 61, rows: 17 });
    drawn.wait_for_text("17 61").await;
    assert_eq!(drawn.wait_for_exit().await, Exit::Code(0));
}

#[tokio::test]
async fn background_processes_keep_the_terminal_until_terminated() {
    let place = ProcessFixture::new();
    let script = "(while :; do echo talk || exit; echo x >> talked; sleep 0.02; done) & echo $! > child; echo over";
    let mut drawn = spawn_on_terminal(&place, script);
    assert_eq!(drawn.wait_for_exit().await, Exit::Code(0));
    let child = place.read_pid("child").await;
    assert!(drawn.process.has_survivors() && drawn.process.live_pids().contains(&child));
    assert!(!drawn.process.live_pids().contains(&drawn.process.pid()), "who holds the terminal is no member");
    let talked = || fs::read(place.path("talked")).map_or(0, |talked| talked.len());
    let before = talked();
    let mut process = drawn.process;
    let listening = async {
        while talked() < before + 40 {
            process.read_until_quiet(Duration::from_millis(50), Instant::now() + Duration::from_millis(50)).await;
        }
    };
    with_timeout(listening).await;
    assert!(process.detach().is_err());
    let leader = process.pid();
    with_timeout(process.terminate_group(Duration::from_secs(2))).await;
    with_timeout(process.wait_for_group()).await;
    drop(process);
    for pid in [child, leader] {
        wait_until("it has ended", || !is_running(pid)).await;
    }
}

#[tokio::test]
async fn terminate_ends_the_program_and_its_descendants() {
    let place = ProcessFixture::new();
    let mut drawn =
        spawn_on_terminal(&place, "trap 'echo tidy; exit 3' TERM; echo ready; while :; do sleep 0.05; done");
    drawn.wait_for_text("ready").await;
    with_timeout(drawn.process.terminate(Duration::from_secs(10), TerminationWait::Group)).await;
    assert_eq!(with_timeout(drawn.process.wait()).await.unwrap(), Exit::Code(3));
    assert!(head_text(drawn.process.stdout()).contains("tidy"));
    let mut drawn = spawn_on_terminal(&place, "echo ready; exec sleep 60");
    drawn.wait_for_text("ready").await;
    with_timeout(drawn.process.terminate(Duration::from_secs(10), TerminationWait::Group)).await;
    assert_eq!(head_text(drawn.process.stdout()), "ready\r\n", "nobody else's words");
    wait_until("the holder is gone", || !is_running(drawn.process.pid())).await;

    let deaf = "trap '' TERM HUP INT; sh -c 'trap \"\" TERM HUP; echo $$ > child; while :; do sleep 1; done' & \
                echo $$ > program; echo ready; while :; do sleep 1; done";
    for until in [TerminationWait::Leader, TerminationWait::Group] {
        let place = ProcessFixture::new();
        let mut drawn = spawn_on_terminal(&place, deaf);
        drawn.wait_for_text("ready").await;
        let (child, program) = (place.read_pid("child").await, place.read_pid("program").await);
        with_timeout(drawn.process.terminate(TERMINATION_GRACE_PERIOD, until)).await;
        for pid in [child, program, drawn.process.pid()] {
            wait_until("it is gone", || !is_running(pid)).await;
        }
    }
}

#[tokio::test]
async fn dropping_the_process_leaves_no_descendants() {
    let place = ProcessFixture::new();
    let mut drawn =
        spawn_on_terminal(&place, "trap '' HUP TERM; echo $$ > program; echo ready; while :; do sleep 1; done");
    drawn.wait_for_text("ready").await;
    let (program, leader) = (place.read_pid("program").await, drawn.process.pid());
    drop(drawn);
    for pid in [program, leader] {
        wait_until("it is gone", || !is_running(pid)).await;
    }
}

#[tokio::test]
async fn pending_terminal_input_is_bounded() {
    let place = ProcessFixture::new();
    let mut drawn = spawn_on_terminal(&place, "stty raw -echo; echo ready; exec sleep 60");
    drawn.wait_for_text("ready").await;
    let typed = (0..200).filter(|_| drawn.terminal.write_input(&[b'x'; 16 << 10])).count();
    assert!(typed < 100, "{typed}");
    let _ = tokio::time::timeout(Duration::from_millis(100), drawn.process.next_event()).await;
    with_timeout(drawn.process.terminate(TERMINATION_GRACE_PERIOD, TerminationWait::Group)).await;
    wait_until("it is gone", || !is_running(drawn.process.pid())).await;
}
