//! How a program is started, and the errors if it cannot be.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hookwright_process::Exit;
use hookwright_testkit::deadline::*;

use super::support::{ProcessFixture, are_orphans_reaped, head_text, wait_until, with_timeout};

#[tokio::test]
async fn a_program_sees_its_name_arguments_environment_and_directory() {
    let place = ProcessFixture::new();
    let mut process =
        place.spawn(Path::new("/bin/sh"), "other", &["-c", "echo $0-$TWICE; pwd -P; env | wc -l"]).unwrap();
    assert_eq!(with_timeout(process.wait()).await.unwrap(), Exit::Code(0));
    let here = place.path("").canonicalize().unwrap();
    let out = head_text(&process.finish().stdout);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[..2], ["other-second", here.to_str().unwrap()]);
    assert!(lines[2].trim().parse::<u32>().unwrap() <= 5, "nothing is inherited: {out}");
}

#[tokio::test]
async fn exit_codes_and_signals_are_distinguished() {
    let place = ProcessFixture::new();
    assert_eq!(with_timeout(place.spawn_shell("exit 7").wait()).await.unwrap(), Exit::Code(7));
    assert_eq!(with_timeout(place.spawn_shell("kill -9 $$").wait()).await.unwrap(), Exit::Signal(9));
}

#[tokio::test]
async fn spawn_failure_reports_its_cause() {
    let place = ProcessFixture::new();
    let write = |name: &str, text: &str, mode: u32| {
        std::fs::write(place.path(name), text).unwrap();
        std::fs::set_permissions(place.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
        place.path(name)
    };
    let failing = |path: &Path| match place.spawn(path, "x", &[]) {
        Err(error) => error.raw_os_error().unwrap(),
        Ok(_) => panic!("{} was started", path.display()),
    };
    assert_eq!(failing(&place.path("missing")), libc::ENOENT);
    assert_eq!(failing(&write("plain", "#!/bin/sh\n", 0o644)), libc::EACCES);
    assert_eq!(failing(&write("shebangless", "echo hi\n", 0o755)), libc::ENOEXEC);
    if cfg!(target_os = "linux") {
        let busy = write("busy", "", 0o755);
        std::fs::copy("/bin/true", &busy).unwrap();
        let writer = std::fs::OpenOptions::new().append(true).open(&busy).unwrap();
        assert_eq!(failing(&busy), libc::ETXTBSY);
        drop(writer);
    }
    let nul = place.spawn(Path::new("/bin/sh"), "sh", &["a\0b"]).err().unwrap();
    assert_eq!(nul.kind(), io::ErrorKind::InvalidInput);
    assert!(place.groups.pids().is_empty());
}

#[tokio::test]
async fn missing_working_directory_is_an_error() {
    let place = ProcessFixture::new();
    std::fs::remove_dir(place.path("")).unwrap();
    let error = place.spawn(Path::new("/bin/sh"), "sh", &["-c", ":"]).err().unwrap();
    assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
}

#[tokio::test]
async fn a_relative_program_is_found_from_its_directory() {
    let place = ProcessFixture::new();
    std::fs::write(place.path("here.sh"), "#!/bin/sh\necho found\n").unwrap();
    std::fs::set_permissions(place.path("here.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    // While another test starts a process, that one may hold the file open for writing for a moment.
    let mut process =
        wait_for("the file is not busy", || match place.spawn(Path::new("./here.sh"), "./here.sh", &[]) {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => None,
            other => Some(other.unwrap()),
        });
    with_timeout(process.wait()).await.unwrap();
    assert_eq!(head_text(&process.finish().stdout), "found\n");
}

/// Where a system does not list sessions, only the terminal test below checks this.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_leads_its_session_and_its_group() {
    let place = ProcessFixture::new();
    let mut process = place.spawn_shell("cat /proc/$$/stat");
    let pid = process.pid().to_string();
    with_timeout(process.wait()).await.unwrap();
    let stat = head_text(&process.finish().stdout);
    let fields: Vec<&str> = stat.split(") ").nth(1).unwrap().split(' ').collect();
    assert_eq!(
        (fields[2], fields[3], fields[4]),
        (pid.as_str(), pid.as_str(), "0"),
        "group, session, terminal: {stat}"
    );
}

/// The child blocks and ignores no signal, whatever this thread does.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn signal_dispositions_are_default() {
    let place = ProcessFixture::new();
    let mut process = place.spawn_shell("grep '^Sig[BI]' /proc/self/status");
    with_timeout(process.wait()).await.unwrap();
    let masks = head_text(&process.finish().stdout);
    let pipe = 1_u64 << (libc::SIGPIPE - 1);
    for line in masks.lines() {
        let mask = u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap();
        let unwanted = if line.starts_with("SigBlk") { u64::MAX } else { pipe };
        assert_eq!(mask & unwanted, 0, "{line}");
    }
    assert_eq!(masks.lines().count(), 2);
}

const IN_TERMINAL_VARIABLE: &str = "HOOKWRIGHT_TEST_IN_TERMINAL";

/// The test runs itself again with a controlling terminal, since the tests may have none.
#[tokio::test]
async fn a_process_has_no_terminal_even_if_we_have() {
    if std::env::var_os(IN_TERMINAL_VARIABLE).is_none() {
        let (code, screen) = tokio::task::spawn_blocking(|| {
            run_test_in_terminal("suite::starting::a_process_has_no_terminal_even_if_we_have")
        })
        .await
        .unwrap();
        assert_eq!(code, 0, "{screen}");
        assert!(screen.contains("1 passed"), "{screen}");
        assert!(!screen.contains("drawn"), "{screen}");
        return;
    }
    assert!(std::fs::File::open("/dev/tty").is_ok(), "this test must have a terminal itself");
    let place = ProcessFixture::new();
    let mut process = place.spawn_shell("LC_ALL=C; export LC_ALL; echo drawn > /dev/tty; cat /dev/tty");
    assert_ne!(with_timeout(process.wait()).await.unwrap(), Exit::Code(0));
    let errors = head_text(&process.finish().stderr);
    assert_eq!(errors.matches("No such device or address").count(), 2, "{errors}");
}

/// Runs one test of this binary in a terminal of its own, and returns its exit code and output.
fn run_test_in_terminal(test: &str) -> (u32, String) {
    let pair = portable_pty::native_pty_system().openpty(portable_pty::PtySize::default()).unwrap();
    let mut command = portable_pty::CommandBuilder::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]);
    command.env(IN_TERMINAL_VARIABLE, "1");
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let reading = std::thread::spawn(move || {
        let mut screen = Vec::new();
        // A terminal that no process has open any more reads as an error.
        let _ = io::Read::read_to_end(&mut reader, &mut screen);
        String::from_utf8_lossy(&screen).into_owned()
    });
    let status = wait_for("the program's end", || child.try_wait().unwrap());
    (status.exit_code(), reading.join_in_time().unwrap())
}

/// It counts the open descriptors of this process, so that no other test may run in it: it runs itself again, alone.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn five_hundred_processes_leave_nothing_open() {
    const ISOLATED_RUN_VARIABLE: &str = "HOOKWRIGHT_TEST_ALONE";
    if std::env::var_os(ISOLATED_RUN_VARIABLE).is_none() {
        if !are_orphans_reaped("five_hundred_processes_leave_nothing_open") {
            return;
        }
        let test = "suite::starting::five_hundred_processes_leave_nothing_open";
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        let output = alone.args(["--exact", test]).env(ISOLATED_RUN_VARIABLE, "1").output_in_time().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && told.contains("1 passed"), "{told}");
        return;
    }
    let place = ProcessFixture::new();
    with_timeout(place.spawn_shell(":").wait()).await.unwrap();
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open();
    for round in 0..500 {
        match round % 5 {
            0 => drop(place.spawn_shell("sleep 60")),
            1 => assert!(place.spawn(&place.path("missing"), "x", &[]).is_err()),
            _ => {
                let mut process = place.spawn_shell("cat");
                with_timeout(process.wait()).await.unwrap();
                process.finish();
            }
        }
    }
    wait_until("all groups are forgotten", || place.groups.pids().is_empty()).await;
    wait_until("everything is closed", || open() <= before).await;
    assert_eq!(count_zombies(), 0);
}

#[cfg(target_os = "linux")]
fn count_zombies() -> usize {
    let me = std::process::id().to_string();
    let listed = std::process::Command::new("ps").args(["-o", "stat=", "--ppid", &me]).output_in_time().unwrap();
    String::from_utf8_lossy(&listed.stdout).lines().filter(|state| state.starts_with('Z')).count()
}
