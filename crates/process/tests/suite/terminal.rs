//! Programs on a terminal of their own: typed to, resized, ended, and outlived by what they leave running.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookwright_process::{Exit, Input, Keep, Manner, Output, Process, Size, Step, Terminal, Until};
use hookwright_testkit::fs;
use tokio::time::Instant;

use super::support::{GRACE, Place, eventually, is_running, text, within};

const SIZE: Size = Size { columns: 100, rows: 30 };

/// A script on a terminal, and what it has drawn.
struct Drawn {
    process: Process,
    terminal: Terminal,
    shown: Arc<Mutex<String>>,
}

fn start(place: &Place, script: &str) -> Drawn {
    let terminal = Terminal::open(SIZE).unwrap();
    let shown = Arc::new(Mutex::new(String::new()));
    let sink = shown.clone();
    let live = Box::new(move |piece: &[u8]| sink.lock().unwrap().push_str(&String::from_utf8_lossy(piece)));
    let output = Output::Terminal(Keep::Head(100_000), live, terminal.clone());
    let process = place.start_with(Path::new("/bin/sh"), "sh", &["-c", script], Input::Empty, output).unwrap();
    Drawn { process, terminal, shown }
}

impl Drawn {
    /// Moves things along until it has drawn this.
    async fn sees(&mut self, text: &str) {
        while !self.shown.lock().unwrap().contains(text) {
            let step = within(self.process.step()).await.unwrap();
            assert!(
                step == Step::Output || self.shown.lock().unwrap().contains(text),
                "{}",
                self.shown.lock().unwrap()
            );
        }
    }

    async fn ends(&mut self) -> Exit {
        let exit = within(self.process.wait()).await.unwrap();
        within(self.process.listen(Duration::from_millis(100), Instant::now() + Duration::from_secs(1))).await;
        exit
    }
}

#[tokio::test]
async fn it_is_the_programs_own_and_has_the_size_that_was_asked_for() {
    let place = Place::new();
    let script = "test -t 0 && test -t 1 && test -t 2 && echo three; stty size; echo two > /dev/tty; \
                  ls -l /proc/self/fd 2>/dev/null | grep -e socket -e ptmx; exit 7";
    let mut drawn = start(&place, script);
    assert_eq!(drawn.ends().await, Exit::Code(7));
    let told = text(drawn.process.stdout());
    assert!(told.contains("three\r\n30 100\r\ntwo\r\n"), "{told}");
    assert!(!told.contains("socket") && !told.contains("ptmx"), "something of ours is open there: {told}");
    assert!(!drawn.process.has_left_others() && drawn.process.is_silent());
    let leader = drawn.process.pid();
    assert!(!drawn.process.finish().left_behind);
    eventually("nobody holds the terminal any more", || !is_running(leader)).await;
    eventually("the group is forgotten", || place.groups.pids().is_empty()).await;
}

#[tokio::test]
async fn all_that_a_program_prints_is_there_at_its_end() {
    let place = Place::new();
    for _ in 0..10 {
        let mut drawn = start(&place, "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i + 1)); done");
        assert_eq!(drawn.ends().await, Exit::Code(0));
        assert!(text(drawn.process.stdout()).ends_with("line 1999\r\n"));
    }
}

#[tokio::test]
async fn what_is_typed_arrives_and_how_it_is_wanted_can_be_told() {
    let place = Place::new();
    let mut drawn = start(
        &place,
        "echo name; read name; echo \"hello $name\"; stty -echo; echo secret; read word; stty echo; \
         stty raw; printf 'a key '; key=$(dd bs=1 count=1 2>/dev/null); stty sane; echo \"[$key]\"; test \"$word\" = hunter2",
    );
    drawn.sees("name").await;
    assert_eq!(drawn.terminal.manner(), Manner::Lines);
    assert!(drawn.terminal.type_in(b"wim\n"));
    drawn.sees("hello wim").await;
    drawn.sees("secret").await;
    assert_eq!(drawn.terminal.manner(), Manner::Hidden);
    assert!(drawn.terminal.type_in(b"hunter2\n"));
    drawn.sees("a key").await;
    assert_eq!(drawn.terminal.manner(), Manner::Keys);
    assert!(drawn.terminal.type_in(b"x"));
    assert_eq!(drawn.ends().await, Exit::Code(0));
    let told = text(drawn.process.stdout());
    assert!(told.contains("[x]") && !told.contains("hunter2"), "{told}");
}

#[tokio::test]
async fn control_c_is_for_the_program_and_what_stops_a_job_stops_nobody() {
    let place = Place::new();
    let mut drawn = start(&place, "trap 'echo heard; exit 4' INT; echo ready; while :; do sleep 0.05; done");
    drawn.sees("ready").await;
    drawn.terminal.type_in(b"\x1a\x03");
    assert_eq!(drawn.ends().await, Exit::Code(4));
    let mut drawn = start(&place, "echo ready; exec sleep 60");
    drawn.sees("ready").await;
    drawn.terminal.type_in(b"\x03");
    assert_eq!(drawn.ends().await, Exit::Code(130));
    assert!(!drawn.process.has_left_others());
}

#[tokio::test]
async fn the_program_is_told_of_another_size() {
    let place = Place::new();
    let mut drawn = start(&place, "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done");
    drawn.sees("ready").await;
    drawn.terminal.resize(Size { columns: 61, rows: 17 });
    drawn.sees("17 61").await;
    assert_eq!(drawn.ends().await, Exit::Code(0));
}

#[tokio::test]
async fn what_it_leaves_running_keeps_the_terminal_until_it_is_ended() {
    let place = Place::new();
    let script = "(while :; do echo talk || exit; echo x >> talked; sleep 0.02; done) & echo $! > child; echo over";
    let mut drawn = start(&place, script);
    assert_eq!(drawn.ends().await, Exit::Code(0));
    let child = place.pid("child").await;
    assert!(drawn.process.has_left_others() && drawn.process.members().contains(&child));
    assert!(!drawn.process.members().contains(&drawn.process.pid()), "who holds the terminal is no member");
    let talked = || fs::read(place.path("talked")).map_or(0, |talked| talked.len());
    let before = talked();
    let mut process = drawn.process;
    let listening = async {
        while talked() < before + 40 {
            process.listen(Duration::from_millis(50), Instant::now() + Duration::from_millis(50)).await;
        }
    };
    within(listening).await;
    assert!(process.let_stay().is_err());
    let leader = process.pid();
    within(process.end_rest(Duration::from_secs(2))).await;
    within(process.outlive()).await;
    drop(process);
    for pid in [child, leader] {
        eventually("it has ended", || !is_running(pid)).await;
    }
}

#[tokio::test]
async fn it_is_ended_by_asking_or_by_force_with_all_that_it_started() {
    let place = Place::new();
    let mut drawn = start(&place, "trap 'echo tidy; exit 3' TERM; echo ready; while :; do sleep 0.05; done");
    drawn.sees("ready").await;
    within(drawn.process.end(Duration::from_secs(10), Until::GroupGone)).await;
    assert_eq!(within(drawn.process.wait()).await.unwrap(), Exit::Code(3));
    assert!(text(drawn.process.stdout()).contains("tidy"));
    let mut drawn = start(&place, "echo ready; exec sleep 60");
    drawn.sees("ready").await;
    within(drawn.process.end(Duration::from_secs(10), Until::GroupGone)).await;
    assert_eq!(text(drawn.process.stdout()), "ready\r\n", "nobody else's words");
    eventually("the holder is gone", || !is_running(drawn.process.pid())).await;

    let deaf = "trap '' TERM HUP INT; sh -c 'trap \"\" TERM HUP; echo $$ > child; while :; do sleep 1; done' & \
                echo $$ > program; echo ready; while :; do sleep 1; done";
    for until in [Until::LeaderGone, Until::GroupGone] {
        let place = Place::new();
        let mut drawn = start(&place, deaf);
        drawn.sees("ready").await;
        let (child, program) = (place.pid("child").await, place.pid("program").await);
        within(drawn.process.end(GRACE, until)).await;
        for pid in [child, program, drawn.process.pid()] {
            eventually("it is gone", || !is_running(pid)).await;
        }
    }
}

#[tokio::test]
async fn nothing_of_it_outlives_whoever_drops_it() {
    let place = Place::new();
    let mut drawn = start(&place, "trap '' HUP TERM; echo $$ > program; echo ready; while :; do sleep 1; done");
    drawn.sees("ready").await;
    let (program, leader) = (place.pid("program").await, drawn.process.pid());
    drop(drawn);
    for pid in [program, leader] {
        eventually("it is gone", || !is_running(pid)).await;
    }
}

#[tokio::test]
async fn a_program_that_never_reads_is_not_typed_to_for_ever() {
    let place = Place::new();
    let mut drawn = start(&place, "stty raw -echo; echo ready; exec sleep 60");
    drawn.sees("ready").await;
    let typed = (0..200).filter(|_| drawn.terminal.type_in(&[b'x'; 16 << 10])).count();
    assert!(typed < 100, "{typed}");
    let _ = tokio::time::timeout(Duration::from_millis(100), drawn.process.step()).await;
    within(drawn.process.end(GRACE, Until::GroupGone)).await;
    eventually("it is gone", || !is_running(drawn.process.pid())).await;
}
