//! `hookwright run`: what a confined command cannot do, and that everything else works as without it.

use std::process::Command;

use hookwright_testkit::deadline::*;
use hookwright_testkit::{ProgramRun, Sandbox, fs, has_program, report_skipped};

use super::confine_places::{as_user, can_run_as_user};
use crate::sandbox;

/// A project with secrets, and something outside of it that must stay as it is.
fn project() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("kept.txt", "kept");
    sandbox.write("secret/key", "hunter2");
    sandbox.write(".env", "TOKEN=hunter2");
    sandbox.write(".git/config", "[core]\n");
    sandbox.write(".git/hooks/pre-commit", "#!/bin/sh\n");
    std::fs::write(sandbox.sibling_path("outside"), "untouched").unwrap();
    sandbox
}

/// Runs a shell script in a confinement.
pub(super) fn confined(sandbox: &Sandbox, options: &[&str], script: &str) -> ProgramRun {
    sandbox.run(&[&["run"], options, &["--", "sh", "-c", script]].concat())
}

/// Whether this machine can confine; a test that returns without it is skipped aloud.
pub(super) fn can_confine(test: &str) -> bool {
    let run = sandbox().run(&["run", "--", "true"]);
    if run.code == Some(125) {
        report_skipped(test, &format!("commands can't be confined here: {}", run.stderr.trim()));
    }
    run.code != Some(125)
}

/// Whether nothing that must not change has changed.
fn assert_untouched(sandbox: &Sandbox, attack: &str) {
    let outside = fs::read_to_string(sandbox.sibling_path("outside"));
    assert_eq!(outside.unwrap_or_default(), "untouched", "{attack}");
    assert_eq!(sandbox.read(".env"), "TOKEN=hunter2", "{attack}");
    assert_eq!(sandbox.read(".git/config"), "[core]\n", "{attack}");
    assert_eq!(sandbox.read(".git/hooks/pre-commit"), "#!/bin/sh\n", "{attack}");
    for made in [".gemini", ".hookwright", ".claude", ".codex", ".git/hooks/new"] {
        assert!(!sandbox.has_file(made), "{attack}: {made} exists");
    }
    let beside = std::fs::read_dir(sandbox.sibling_path("outside").parent().unwrap()).unwrap();
    let names: Vec<_> = beside.map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name == "escaped"), "{attack}: {names:?}");
}

#[test]
fn exit_code_streams_and_arguments_are_the_commands() {
    if !can_confine("exit_code_streams_and_arguments_are_the_commands") {
        return;
    }
    let sandbox = project();
    let run = sandbox.run_with_input(&["run", "--", "sh", "-c", "cat; echo \"$1\" >&2; exit 7", "sh", "a  b"], "input");
    assert_eq!((run.code, &*run.stdout), (Some(7), "input"), "{}", run.stderr);
    assert!(run.stderr.starts_with("a  b\n"), "{}", run.stderr);
    assert!(run.stderr.contains("it ran confined: nothing may be changed; no network"), "{}", run.stderr);
    assert_eq!(confined(&sandbox, &[], "kill -9 $$").code, Some(137));
    assert_eq!(confined(&sandbox, &[], "kill -TERM $$").code, Some(143));
    assert_eq!(sandbox.run(&["run", "--", "no-such-program"]).code, Some(127));
    assert_eq!(sandbox.run(&["run", "--", "./kept.txt"]).code, Some(126));
}

#[test]
fn a_refused_network_is_told() {
    if !can_confine("a_refused_network_is_told") {
        return;
    }
    if !has_program("bash") {
        return report_skipped("a_refused_network_is_told", "bash is not installed");
    }
    let sandbox = project();
    let attempt = "bash -c 'true 3<>/dev/tcp/192.0.2.1/80; true 3<>/dev/udp/192.0.2.1/53'; true";
    for network in ["none", "loopback", "example.com"] {
        let run = confined(&sandbox, &["--network", network], attempt);
        assert!(run.code == Some(0) && run.stderr.contains("the network was refused (2×)"), "{network}: {run:?}");
        // Its own addresses are no others'.
        let own = confined(&sandbox, &["--network", network], "bash -c 'true 3<>/dev/tcp/127.0.0.1/1'; true");
        assert_eq!(own.stderr.contains("refused ("), network == "none", "{network}: {own:?}");
        assert_eq!(confined(&sandbox, &["--network", network], "true").stderr, "", "{network}");
    }
}

#[test]
fn a_profile_that_cannot_be_enforced_is_refused_with_its_line() {
    let sandbox = project();
    let refused = [
        (&["--writes", "**/*.rs"][..], "writes: **/*.rs cannot be enforced"),
        (&["--writes", "no/such/folder/**"], "writes: no/such/folder/** cannot be enforced: it does not exist"),
        (&["--writes", "../**"], "`..` leads out"),
        (&["--writes", "**", "!**/*.key"], "writes: !**/*.key cannot be enforced"),
        (&["--writes", "/dev/**"], "devices"),
        (&["--writes", ".git/hooks/**"], "guards are made of it"),
        (&["--writes", ".git/**", ".git/hooks/**"], "guards are made of it"),
        (&["--no-reads", "**", "--"], "the command runs in it"),
        (&["--network", "not a host"], "is not a host"),
        (&["--cache", "nonesuch"], "there is no such cache"),
    ];
    for (options, words) in refused {
        let run = sandbox.run(&[&["run"], options, &["--", "touch", "ran"]].concat());
        let run = if options.contains(&"--") { sandbox.run(&["run", "--no-reads", "**", "--", "true"]) } else { run };
        assert_eq!(run.code, Some(125), "{options:?}: {}", run.stderr);
        assert!(run.stderr.contains(words), "{options:?}: {}", run.stderr);
        assert!(!sandbox.has_file("ran"), "{options:?}");
    }
}

#[test]
fn a_link_that_could_be_replaced_is_no_protection() {
    let sandbox = project();
    std::fs::remove_file(sandbox.project().join(".env")).unwrap();
    std::os::unix::fs::symlink("kept.txt", sandbox.project().join(".env")).unwrap();
    let run = confined(&sandbox, &["--writes", "**"], "true");
    assert_eq!(run.code, Some(125));
    assert!(run.stderr.contains("is a symbolic link, which could be replaced"), "{}", run.stderr);
}

/// Each script tries to change, create or read something that it may not. It runs with the project writable.
const ATTACKS: &[(&str, &str)] = &[
    ("write outside", "echo x > ../outside"),
    ("write by a link", "ln -s ../outside link; echo x > link"),
    ("write by a link to a folder", "ln -s .. up; echo x > up/outside; echo x > up/escaped"),
    ("hard link", "ln ../outside hard && echo x > hard; ln .env hard2 && echo x > hard2"),
    ("rename over", "echo x > mine; mv mine ../outside; mv mine .env"),
    ("rename the folder away", "mv .git away; mkdir .git; echo x > .git/config; echo x > .git/hooks/new"),
    ("rename the project", "cd ..; mv project moved; mv proj* moved"),
    ("remove", "rm -rf ../outside .env .git"),
    ("change modes", "chmod 777 .env ../outside .git/config; echo x > .env"),
    ("create guard files", "mkdir -p .gemini .hookwright .claude; echo x > .gemini/settings.json; mkdir .codex/x"),
    ("new file among hooks", "echo x > .git/hooks/new"),
    ("root of init", "echo x > /proc/1/root$PWD/../outside; echo x > /proc/1/cwd/../outside"),
    ("root of itself", "echo x > /proc/self/root$PWD/../outside; echo x > /proc/thread-self/root$PWD/.env"),
    ("remount", "mount -o remount,rw /; mount -o remount,bind,rw .git/hooks; echo x > .git/hooks/new"),
    ("unmount", "umount .env; umount -l .git/hooks; umount -l .git; echo x > .env; echo x > .git/hooks/new"),
    ("bind mount", "mkdir m; mount --bind .. m; echo x > m/outside"),
    ("new namespaces", "unshare -Urm sh -c 'umount .env; umount -l /tmp; mount -o remount,rw /; echo x > .env'"),
    ("chroot", "mkdir -p r; chroot r true && echo x > ../outside"),
    ("nsenter", "nsenter -t 1 -m sh -c 'echo x > ../outside'; nsenter -t $PPID -a true"),
    ("raw disk", "for d in /dev/vd* /dev/sd* /dev/nvme* /dev/loop*; do echo x > $d; done; ls /dev | grep -q vda"),
    ("make a device", "mknod disk b 254 0 && echo x > disk"),
    (
        "kernel settings",
        "echo x > /proc/sys/kernel/hostname; echo b > /proc/sysrq-trigger; echo 1 > /sys/kernel/uevent_helper",
    ),
    ("cgroups", "mkdir /sys/fs/cgroup/escaped /sys/fs/cgroup/pids/escaped; echo $$ > /sys/fs/cgroup/pids/cgroup.procs"),
    ("set-user-ID program", "cp /bin/sh s; chmod 4755 s; ./s -c 'echo x > ../outside'; su -c 'echo x > ../outside'"),
    ("sudo", "sudo -n sh -c 'echo x > ../outside'"),
    ("preload", "LD_PRELOAD=/nonexistent.so sh -c 'echo x > ../outside'"),
    ("descriptor of the caller", "for f in 3 4 5 6 7 8 9; do echo x >&$f; ls -l /proc/self/fd/$f/; done"),
    ("loader", "/lib64/ld-linux-x86-64.so.2 /bin/sh -c 'echo x > ../outside'"),
    ("confinement from within", "\"$HOOKWRIGHT\" run --writes / -- sh -c 'echo x > ../outside'"),
    ("trust from within", "\"$HOOKWRIGHT\" hooks trust --all; \"$HOOKWRIGHT\" hooks disable-all"),
    ("temporary folder", "echo x > /tmp/escaped; echo x > /var/tmp/escaped; echo x > ${TMPDIR}/escaped"),
    ("shared memory", "echo x > /dev/shm/escaped"),
];

#[test]
fn attacks_change_nothing_outside() {
    if !can_confine("attacks_change_nothing_outside") {
        return;
    }
    for (attack, script) in ATTACKS {
        let sandbox = project();
        let program = env!("CARGO_BIN_EXE_hookwright");
        let script = format!("HOOKWRIGHT='{program}'; {script}");
        confined(&sandbox, &["--writes", "**"], &script);
        assert_untouched(&sandbox, attack);
        for place in ["/tmp/escaped", "/var/tmp/escaped", "/dev/shm/escaped"] {
            assert!(!std::path::Path::new(place).exists(), "{attack}: {place}");
        }
    }
}

#[test]
fn without_writes_nothing_changes() {
    if !can_confine("without_writes_nothing_changes") {
        return;
    }
    let sandbox = project();
    let run = confined(&sandbox, &[], "echo x > new; rm kept.txt; mkdir d; echo x >> kept.txt; ls");
    assert!(run.stdout.contains("kept.txt"), "{}", run.stdout);
    assert!(!sandbox.has_file("new") && !sandbox.has_file("d"));
    assert_eq!(sandbox.read("kept.txt"), "kept");
}

#[test]
fn a_build_works() {
    if !can_confine("a_build_works") {
        return;
    }
    let sandbox = project();
    let script = "mkdir -p out/deep && echo built > out/deep/a && mv out/deep/a out/b && ln out/b out/c && cp out/c d \
        && (sleep 0.01 & wait) && echo log > /dev/stderr && echo tmp > \"$TMPDIR/x\" && mktemp >/dev/null \
        && rm -r out/deep && test -c /dev/null && echo > /dev/null && cat /proc/self/status > status && sed -i s/b/c/ d";
    let run = confined(&sandbox, &["--profile", "build"], script);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(sandbox.read("d"), "cuilt\n");
    assert!(sandbox.read("status").contains("NoNewPrivs:\t1"));
    assert_untouched(&sandbox, "a build");
}

#[test]
fn hidden_files_cannot_be_read() {
    if !can_confine("hidden_files_cannot_be_read") {
        return;
    }
    let sandbox = project();
    std::os::unix::fs::symlink("secret/key", sandbox.project().join("link")).unwrap();
    std::fs::hard_link(sandbox.project().join(".env"), sandbox.project().join("other-name")).unwrap();
    std::fs::create_dir_all(sandbox.home().join(".ssh")).unwrap();
    std::fs::write(sandbox.home().join(".ssh/id"), "hunter2").unwrap();
    sandbox.write("sub/.env", "hunter2");
    let options = ["--writes", "**", "--no-reads", "**/.env", "secret/**", "~/.ssh/**"];
    let attacks = [
        "cat .env",
        "cat sub/.env",
        "cat other-name",
        "cat link secret/key",
        "cat ~/.ssh/id \"$HOME/.ssh/id\"",
        "ls -la secret; cd secret && cat key",
        "chmod 700 secret .env; cat .env secret/key",
        "mv .env moved; cat moved; cp .env copy; cat copy; mv sub sub2; cat sub2/.env",
        "ln .env hard; cat hard; ln -s .env soft; cat soft",
        "cat /proc/self/root$PWD/.env /proc/1/root$PWD/.env",
        "umount .env; umount secret; cat .env secret/key",
        "tar cf - . | cat; grep -r hunter . ; find . -type f -exec cat {} +",
        "cat < .env; . ./.env; echo $TOKEN; exec 5< .env; cat <&5",
        "git hash-object -w .env; git diff --no-index /dev/null .env",
    ];
    for attack in attacks {
        let run = confined(&sandbox, &options, attack);
        assert!(!run.stdout.contains("hunter2") && !run.stderr.contains("hunter2"), "{attack}: {}", run.stdout);
        // A folder that holds a hidden file may be renamed, and hides it under its new name too.
        let _ = std::fs::rename(sandbox.project().join("sub2"), sandbox.project().join("sub"));
        assert_eq!(sandbox.read("sub/.env"), "hunter2", "{attack}");
    }
}

#[test]
fn a_hidden_file_with_an_unknown_name_is_refused() {
    let sandbox = project();
    std::fs::hard_link(sandbox.project().join(".env"), sandbox.sibling_path("other-name")).unwrap();
    let run = confined(&sandbox, &["--no-reads", "**/.env"], "true");
    assert_eq!(run.code, Some(125));
    assert!(run.stderr.contains("further names (hard links)"), "{}", run.stderr);
}

#[test]
fn streams_of_the_caller_are_no_way_out() {
    if !can_confine("streams_of_the_caller_are_no_way_out") {
        return;
    }
    let sandbox = project();
    let program = env!("CARGO_BIN_EXE_hookwright");
    let outside = sandbox.sibling_path("outside");
    // A file that was given to read from can't be opened again to write to.
    let script =
        format!("'{program}' run -- sh -c 'echo x > /proc/self/fd/0; echo x > /dev/stdin' < '{}'", outside.display());
    let _ = Command::new("sh").args(["-c", &script]).current_dir(sandbox.project()).output_in_time().unwrap();
    assert_untouched(&sandbox, "stdin");
    // A folder as a stream would lead out of the mount namespace.
    let script = format!("'{program}' run -- sh -c 'echo x > /proc/self/fd/0/escaped' < ..");
    let run = Command::new("sh").args(["-c", &script]).current_dir(sandbox.project()).output_in_time().unwrap();
    assert_eq!(run.status.code(), Some(125));
    assert_untouched(&sandbox, "a folder as stdin");
    // A file that was given to write to can be opened again.
    let log = sandbox.sibling_path("log");
    let script = format!("'{program}' run -- sh -c 'echo one > /dev/stdout' > '{}'", log.display());
    let run = Command::new("sh").args(["-c", &script]).current_dir(sandbox.project()).output_in_time().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(fs::read_to_string(log).unwrap(), "one\n");
}

#[test]
fn secrets_are_not_in_the_environment() {
    if !can_confine("secrets_are_not_in_the_environment") {
        return;
    }
    let sandbox = project().env("MY_API_KEY", "hunter2").env("SSH_AUTH_SOCK", "/run/agent").env("PLAIN", "seen");
    let run = confined(&sandbox, &[], "env");
    assert!(!run.stdout.contains("hunter2") && !run.stdout.contains("/run/agent"), "{}", run.stdout);
    assert!(run.stdout.contains("PLAIN=seen"), "{}", run.stdout);
    assert!(confined(&sandbox, &["--keep-env"], "env").stdout.contains("hunter2"));
}

#[test]
fn limits_end_the_command_and_nothing_survives() {
    if !can_confine("limits_end_the_command_and_nothing_survives") {
        return;
    }
    let sandbox = project();
    let run = confined(&sandbox, &["--time", "1"], "trap '' TERM; sleep 600");
    assert_eq!(run.code, Some(124), "{}", run.stderr);
    let run = confined(&sandbox, &["--processes", "20"], "for i in $(seq 60); do sleep 600 & done; wait");
    assert_eq!(run.code, Some(137), "{}", run.stderr);
    assert!(run.stderr.contains("too many processes"), "{}", run.stderr);
    // A process in the background holds the output open, and ends with the command.
    let run = confined(&sandbox, &["--writes", "**"], "(setsid sh -c 'sleep 0.4; echo x > late' &) ; exit 3");
    assert_eq!(run.code, Some(3));
    std::thread::sleep(std::time::Duration::from_millis(600));
    assert!(!sandbox.has_file("late"));
}

#[test]
fn a_killed_supervisor_takes_the_command_along() {
    if !can_confine("a_killed_supervisor_takes_the_command_along") {
        return;
    }
    let sandbox = project();
    let script = "sleep 0.2; touch started; sleep 2; touch late";
    let mut child = sandbox.command(&["run", "--writes", "**", "--", "sh", "-c", script]).spawn().unwrap();
    hookwright_testkit::wait_until("it runs", || sandbox.has_file("started"));
    child.kill().unwrap();
    let _ = child.wait_in_time();
    std::thread::sleep(std::time::Duration::from_millis(2200));
    assert!(!sandbox.has_file("late"));
}

#[test]
fn signals_are_passed_on() {
    if !can_confine("signals_are_passed_on") {
        return;
    }
    let sandbox = project();
    let script = "trap 'echo caught; exit 9' TERM; touch started; while :; do sleep 0.05; done";
    let mut command = sandbox.command(&["run", "--writes", "**", "--", "sh", "-c", script]);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    hookwright_testkit::wait_until("it runs", || sandbox.has_file("started"));
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status_in_time().unwrap();
    let run = hookwright_testkit::finish(child);
    assert_eq!((run.code, &*run.stdout), (Some(9), "caught\n"), "{}", run.stderr);
}

/// Attacks that need more than a shell. Each prints `ESCAPED` if it succeeds.
const PYTHON_ATTACKS: &[(&str, &[&str], &str)] = &[
    ("UNIX socket", &[], "import socket; socket.socket(socket.AF_UNIX); print('ESCAPED')"),
    (
        "abstract UNIX socket",
        &["--network", "all"],
        "import socket; socket.socket(socket.AF_UNIX).bind('\\0x'); print('ESCAPED')",
    ),
    ("raw socket", &[], "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print('ESCAPED')"),
    ("raw IPv6 socket", &[], "import socket; socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58); print('ESCAPED')"),
    ("packet socket", &[], "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print('ESCAPED')"),
    ("vsock", &[], "import socket; socket.socket(40, 1); print('ESCAPED')"),
    ("other netlink", &[], "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9); print('ESCAPED')"),
    (
        "loopback of the host",
        &["--network", "loopback"],
        "import os,socket; socket.create_connection(('127.0.0.1', int(os.environ['PORT'])), 2); print('ESCAPED')",
    ),
    (
        "loopback without a network",
        &[],
        "import os,socket; socket.create_connection(('127.0.0.1', int(os.environ['PORT'])), 2); print('ESCAPED')",
    ),
    (
        "UDP",
        &[],
        "import socket; s=socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.1', 9)); print('ESCAPED')",
    ),
    (
        "IPv6",
        &[],
        "import socket; s=socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.sendto(b'x', ('::1', 9)); print('ESCAPED')",
    ),
    ("DNS", &[], "import socket; socket.getaddrinfo('example.com', 80); print('ESCAPED')"),
    ("terminal input", &[], "import fcntl,termios; fcntl.ioctl(0, termios.TIOCSTI, b'x')\nprint('ESCAPED')"),
    (
        "terminal input, high bits",
        &[],
        "import ctypes; l=ctypes.CDLL(None,use_errno=True); r=l.syscall(16,0,ctypes.c_ulong(0x100005412),b'x'); print('ESCAPED' if ctypes.get_errno() != 1 else '')",
    ),
    (
        "io_uring",
        &[],
        "import ctypes; l=ctypes.CDLL(None,use_errno=True); b=(ctypes.c_char*200)(); print('ESCAPED' if l.syscall(425, 4, b) >= 0 else '')",
    ),
    (
        "keyring",
        &[],
        "import ctypes; l=ctypes.CDLL(None,use_errno=True); print('ESCAPED' if l.syscall(250, 0, -3, 1) >= 0 else '')",
    ),
    (
        "user namespace",
        &[],
        "import ctypes; l=ctypes.CDLL(None,use_errno=True); print('ESCAPED' if l.unshare(0x10000000) == 0 else '')",
    ),
    (
        "clone3",
        &[],
        "import ctypes; l=ctypes.CDLL(None,use_errno=True); a=(ctypes.c_ulonglong*11)(0x10000000,0,0,0,17); r=l.syscall(435,a,88); print('ESCAPED' if r >= 0 else '')",
    ),
    (
        "x32 system calls",
        &[],
        "import ctypes; l=ctypes.CDLL(None,use_errno=True); r=l.syscall(0x40000000|272,0x10000000); print('ESCAPED' if r == 0 else '')",
    ),
    (
        "file handles",
        &[],
        "import ctypes,os; l=ctypes.CDLL(None,use_errno=True); r=l.syscall(304,0,0,0); print('ESCAPED' if ctypes.get_errno() not in (1,) else '')",
    ),
    (
        "trace of outsiders",
        &[],
        "import os; print('ESCAPED' if any(int(p) > 1 and open(f'/proc/{p}/comm').read().strip() in ('cargo','systemd') for p in os.listdir('/proc') if p.isdigit()) else '')",
    ),
    (
        "signals to outsiders",
        &[],
        "import os\nfor p in range(3, 4000):\n  try: os.kill(p, 0); print('ESCAPED', p) if p not in [os.getpid()] else 0\n  except ProcessLookupError: pass\n  except PermissionError: pass",
    ),
    ("memory of init", &[], "open('/proc/1/mem','rb').read(1); print('ESCAPED')"),
    (
        "trace of init",
        &[],
        "import ctypes; l=ctypes.CDLL(None,use_errno=True); print('ESCAPED' if l.ptrace(16,1,0,0) == 0 else '')",
    ),
    ("memory", &["--memory", "100"], "x=bytearray(400<<20); print('ESCAPED')"),
    (
        "BPF",
        &[],
        "import ctypes; l=ctypes.CDLL(None,use_errno=True); l.syscall(321,0,0,0); print('ESCAPED' if ctypes.get_errno() != 1 else '')",
    ),
    (
        "a program in memory",
        &[],
        "import os; f=os.memfd_create('x'); os.write(f, open('/bin/sh','rb').read()); os.execve(f, ['sh','-c','echo x > kept.txt && echo ESCAPED'], os.environ)",
    ),
    (
        "descriptors of init",
        &[],
        "import ctypes; l=ctypes.CDLL(None,use_errno=True); p=l.syscall(434,1,0); print('ESCAPED' if l.syscall(438,p,0,0) >= 0 else '')",
    ),
    (
        "files of init",
        &[],
        "import os\nfor f in os.listdir('/proc/1/fd'):\n  try: os.open('/proc/1/fd/'+f, os.O_RDONLY|os.O_NONBLOCK); print('ESCAPED', f)\n  except OSError: pass",
    ),
    ("environment of init", &[], "open('/proc/1/environ').read(); print('ESCAPED')"),
    (
        "memory of init by a call",
        &[],
        "import ctypes; l=ctypes.CDLL(None,use_errno=True); m=ctypes.create_string_buffer(8); v=(ctypes.c_ulong*2)(ctypes.addressof(m),8); w=(ctypes.c_ulong*2)(int(open('/proc/self/maps').read().split('-')[0],16),8); r=l.syscall(310,1,v,1,w,1,0); print('ESCAPED' if r >= 0 else '', ctypes.get_errno())",
    ),
    (
        "a new file system",
        &[],
        "import ctypes; l=ctypes.CDLL(None,use_errno=True); print('ESCAPED' if l.syscall(430,b'tmpfs',0) >= 0 else '')",
    ),
    (
        "a passed descriptor of a socket",
        &[],
        "import socket; a,b=socket.socketpair(); socket.send_fds(a,[b'x'],[0]); f=socket.recv_fds(b,1,1)[1][0]; socket.socket(fileno=f).connect('/run/docker.sock'); print('ESCAPED')",
    ),
    (
        "mount by descriptor",
        &[],
        "import ctypes; l=ctypes.CDLL(None,use_errno=True); r=l.syscall(428,-100,b'/',1); print('ESCAPED' if r >= 0 else '')",
    ),
];

#[cfg(target_arch = "x86_64")]
#[test]
fn attacks_by_system_calls_fail() {
    const TEST: &str = "attacks_by_system_calls_fail";
    if !can_confine(TEST) {
        return;
    }
    if !has_program("python3") {
        report_skipped(TEST, "python3 is not installed");
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let sandbox = project().env("PORT", &port);
    for (attack, options, script) in PYTHON_ATTACKS {
        let run = sandbox.run(&[&["run"], *options, &["--", "python3", "-c", script]].concat());
        assert!(!run.stdout.contains("ESCAPED"), "{attack}: {} {}", run.stdout, run.stderr);
        assert!(![Some(125), Some(127)].contains(&run.code), "{attack}: {}", run.stderr);
    }
    if can_run_as_user(TEST) {
        for (attack, options, script) in PYTHON_ATTACKS {
            sandbox.write("attack.py", script);
            let run = as_user(&sandbox, options, &format!("PORT={port} python3 attack.py"));
            assert!(!String::from_utf8_lossy(&run.stdout).contains("ESCAPED"), "{attack}: {run:?}");
            assert!(![Some(125), Some(127)].contains(&run.status.code()), "{attack}: {run:?}");
        }
    }
    // The same calls work without a confinement, so that the scripts can fail.
    let plain = Command::new("python3").args(["-c", PYTHON_ATTACKS[0].2]).output_in_time().unwrap();
    assert!(String::from_utf8_lossy(&plain.stdout).contains("ESCAPED"));
}

/// A pair of sockets reaches no socket outside, whatever its type.
#[test]
fn a_pair_of_sockets_stays_a_pair() {
    const TEST: &str = "a_pair_of_sockets_stays_a_pair";
    if !can_confine(TEST) || !has_program("python3") {
        report_skipped(TEST, "it needs python3 and a confinement");
        return;
    }
    let sandbox = project();
    let receiver = std::os::unix::net::UnixDatagram::bind(sandbox.project().join("datagrams")).unwrap();
    let listener = std::os::unix::net::UnixListener::bind(sandbox.project().join("streams")).unwrap();
    receiver.set_nonblocking(true).unwrap();
    listener.set_nonblocking(true).unwrap();
    let script = "import socket\nfor kind in (1, 2, 3, 5):\n  for name in ('datagrams', 'streams'):\n    for call in ('connect', 'sendto', 'bind'):\n      try:\n        \
        a, b = socket.socketpair(socket.AF_UNIX, kind)\n        b.send(b'x')\n        if call == 'connect': a.connect(name); a.send(b'x')\n        elif call == 'sendto': a.sendto(b'x', name); b.setblocking(False); b.recv(9); continue\n        \
        else: a.bind(name + 'new'); a.listen()\n        print('ESCAPED', kind, name, call)\n      except OSError: pass\na, b = socket.socketpair()\na.send(b'pair works')\nprint(b.recv(20))";
    let run = sandbox.run(&["run", "--writes", "**", "--", "python3", "-c", script]);
    assert!(run.stdout.contains("pair works") && !run.stdout.contains("ESCAPED"), "{run:?}");
    assert!(receiver.recv(&mut [0; 8]).is_err());
    drop(listener);
}

/// The attacks as a user without privileges, where root runs the tests.
#[test]
fn attacks_of_an_ordinary_user_change_nothing_outside() {
    const TEST: &str = "attacks_of_an_ordinary_user_change_nothing_outside";
    if !can_run_as_user(TEST) {
        return;
    }
    for (attack, script) in ATTACKS {
        let sandbox = project();
        let script = format!("HOOKWRIGHT='{}'; {script}", env!("CARGO_BIN_EXE_hookwright"));
        as_user(&sandbox, &["--writes", "**"], &script);
        assert_untouched(&sandbox, attack);
    }
}

pub(super) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|data| std::os::unix::fs::MetadataExt::uid(&data) == 0)
}

#[test]
fn doctor_says_whether_commands_can_be_confined() {
    let sandbox = sandbox();
    let can = sandbox.run(&["run", "--", "true"]).code == Some(0);
    let report = sandbox.run(&["doctor", "--json"]).json();
    assert_eq!(report["confinement"]["available"], can, "{report:#}");
    let text = sandbox.run(&["doctor"]).stdout;
    assert!(text.contains(if can { "confinement: works here" } else { "confinement: not available here" }), "{text}");
}

#[test]
fn many_files_and_concurrent_runs_leave_nothing() {
    if !can_confine("many_files_and_concurrent_runs_leave_nothing") {
        return;
    }
    let sandbox = project();
    std::fs::remove_file(sandbox.project().join(".env")).unwrap();
    let start = |script: &str| sandbox.command(&["run", "--writes", "**", "--", "sh", "-c", script]).spawn().unwrap();
    let mut first = start("touch a; while test ! -e b; do sleep 0.01; done");
    hookwright_testkit::wait_until("the first runs", || sandbox.has_file("a"));
    // The second one shares the placeholders of the first, and keeps them when that ends.
    let second = sandbox.command(&[
        "run",
        "--writes",
        "**",
        "--",
        "sh",
        "-c",
        "touch b; while test ! -e c; do sleep 0.01; done; echo x > .env; mkdir .gemini/x",
    ]);
    let mut second = { second }.spawn().unwrap();
    let _ = first.wait_in_time();
    assert!(sandbox.has_file(".env"), "the second run still needs it");
    sandbox.write("c", "");
    let _ = second.wait_in_time();
    for left in [".env", ".gemini", ".hookwright", ".claude", ".codex"] {
        assert!(!sandbox.has_file(left), "{left}");
    }
    let run = confined(
        &sandbox,
        &["--writes", "**"],
        "mkdir n; cd n; i=0; while [ $i -lt 3000 ]; do : > f$i; i=$((i+1)); done",
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

/// Listed hosts are reached through the proxy, others are not, however they are asked for.
#[test]
fn the_proxy_reaches_listed_hosts_only() {
    const TEST: &str = "the_proxy_reaches_listed_hosts_only";
    if !can_confine(TEST) {
        return;
    }
    if !has_program("curl") {
        report_skipped(TEST, "curl is not installed");
        return;
    }
    let serve = |word: &'static str| {
        hookwright_testkit::http::TestHttpServer::serve(move |_| {
            hookwright_testkit::http::TestHttpResponse::json(&serde_json::json!(word))
        })
    };
    let (listed, other) = (serve("reached"), serve("ESCAPED"));
    let (listed, other) = (listed.address.clone(), other.address.clone());
    let sandbox = project();
    let port = |address: &str| address.rsplit(':').next().unwrap().trim_end_matches('/').to_owned();
    let (listed, other) = (port(&listed), port(&other));
    let allowed = format!("127.0.0.1:{listed}");
    let curl = |script: String| confined(&sandbox, &["--network", &allowed], &script);
    let all = "curl -sS --max-time 5 --noproxy ''";
    for way in [
        format!("{all} http://127.0.0.1:{listed}/"),
        format!("{all} --proxytunnel http://127.0.0.1:{listed}/"),
        format!("{all} --proxy \"$ALL_PROXY\" http://127.0.0.1:{listed}/"),
    ] {
        let run = curl(way.clone());
        assert!(run.stdout.contains("reached"), "{way}: {} {}", run.stdout, run.stderr);
    }
    for attack in [
        format!("{all} http://127.0.0.1:{other}/"),
        format!("{all} --proxytunnel http://127.0.0.1:{other}/"),
        format!("{all} --proxy \"$ALL_PROXY\" http://127.0.0.1:{other}/"),
        format!("curl -sS --max-time 2 --noproxy '*' http://127.0.0.1:{other}/"),
        format!("{all} http://localhost:{listed}/"),
        format!("{all} http://2130706433:{other}/ http://0x7f.1:{other}/ http://[::ffff:127.0.0.1]:{other}/"),
        format!("{all} --connect-to ::127.0.0.1:{other} http://127.0.0.1:{listed}/"),
        format!("{all} -H 'Host: 127.0.0.1:{listed}' http://127.0.0.1:{other}/"),
        format!("{all} --proxytunnel --resolve a:{other}:127.0.0.1 http://a:{other}/"),
        format!("{all} http://127.0.0.1:{listed}@127.0.0.1:{other}/"),
    ] {
        let run = curl(attack.clone());
        assert!(!run.stdout.contains("ESCAPED"), "{attack}: {} {}", run.stdout, run.stderr);
    }
    let run = curl(format!("{all} http://127.0.0.1:{other}/; false"));
    assert!(run.stderr.contains(&format!("the network was refused: 127.0.0.1:{other} (1×)")), "{}", run.stderr);
}

#[test]
fn explain_prints_the_plan_and_runs_nothing() {
    let sandbox = project();
    let run =
        sandbox.run(&["run", "--writes", "**", "--no-reads", "secret/**", "--network", "example.com", "--explain"]);
    let text = run.expect_exit_code(0).stdout;
    for words in [
        "read-only (mount namespace, Landlock)",
        "/secret (covered by a mount)",
        "example.com (network namespace, proxy)",
    ] {
        assert!(text.contains(words), "{text}");
    }
}

/// Ways to change a file that may not be changed although everything else on the disk may be.
const ATTACKS_ON_ONE_FILE: [(&str, &str); 16] = [
    ("a redirection", "echo x > kept.txt; echo x >> kept.txt; : > kept.txt"),
    ("removal", "rm -f kept.txt; unlink kept.txt"),
    ("a replacement", "echo x > new; mv -f new kept.txt; cp -f new kept.txt; install new kept.txt"),
    ("its other name", "echo x > other-name; rm other-name; echo x > other-name"),
    ("a new hard link", "ln kept.txt hard; echo x > hard"),
    ("a symbolic link", "ln -s kept.txt soft; echo x > soft; ln -sf /etc/hostname kept.txt"),
    ("its folder", "cd ..; mv project p2; mkdir project; echo x > project/kept.txt; mv p2 project"),
    ("a mount", "mount -o remount,rw kept.txt; mount -o bind . /mnt; umount kept.txt; umount -l kept.txt"),
    (
        "namespaces",
        "unshare -Urm sh -c 'umount kept.txt; echo x > kept.txt'; nsenter -t 1 -m sh -c 'echo x > kept.txt'",
    ),
    (
        "proc",
        "echo x > /proc/self/root$PWD/kept.txt; echo x > /proc/1/root$PWD/kept.txt; echo x > /proc/$PPID/cwd/kept.txt",
    ),
    ("attributes", "chmod 777 kept.txt; chattr -i kept.txt; truncate -s 0 kept.txt; touch -d 2001-01-01 kept.txt"),
    (
        "tools",
        "sed -i s/k/x/ kept.txt; dd if=/dev/zero of=kept.txt bs=1 count=4; tee kept.txt < /dev/null; perl -pi -e 's/k/x/' kept.txt",
    ),
    (
        "an archive",
        "mkdir d; echo x > d/kept.txt; tar cf a.tar -C d kept.txt; tar xf a.tar; tar xf a.tar --overwrite; tar xf a.tar --unlink-first",
    ),
    ("a descriptor", "exec 5<>kept.txt; echo x >&5; exec 6<kept.txt; echo x > /proc/self/fd/6; echo x > /dev/fd/6"),
    ("a chroot", "chroot / sh -c \"echo x > $PWD/kept.txt\""),
    ("the program itself", "\"$HOOKWRIGHT\" run --writes '**' -- sh -c 'echo x > kept.txt'"),
];

#[test]
fn one_file_stays_as_it_is_although_all_of_the_disk_is_writable() {
    if !can_confine("one_file_stays_as_it_is_although_all_of_the_disk_is_writable") {
        return;
    }
    for (attack, script) in ATTACKS_ON_ONE_FILE {
        let sandbox = project();
        let kept = sandbox.project().join("kept.txt");
        std::fs::hard_link(&kept, sandbox.project().join("other-name")).unwrap();
        let script = format!("HOOKWRIGHT='{}'; {script}", env!("CARGO_BIN_EXE_hookwright"));
        let options = ["--writes", "/**", "!kept.txt", "--network", "all", "--unix-sockets", "--keep-env"];
        let run = confined(&sandbox, &options, &script);
        assert!(!run.stderr.contains("can't be confined here"), "{attack}: {}", run.stderr);
        assert_eq!(fs::read_to_string(&kept).unwrap_or_default(), "kept", "{attack}: {}", run.stderr);
        assert_untouched_but_beside(&sandbox, attack);
    }
    // Everything else can be changed, outside of the project too.
    let sandbox = project();
    let outside = sandbox.sibling_path("outside");
    let script =
        format!("echo changed > '{}' && echo made > new && echo t > /tmp/x-$$ && rm /tmp/x-$$", outside.display());
    let run = confined(&sandbox, &["--writes", "/**", "!kept.txt"], &script);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(
        (fs::read_to_string(&outside).unwrap(), sandbox.read("new")),
        ("changed\n".to_owned(), "made\n".to_owned())
    );
}

/// Whether the files that guards are made of have not changed.
fn assert_untouched_but_beside(sandbox: &Sandbox, attack: &str) {
    assert_eq!(sandbox.read(".env"), "TOKEN=hunter2", "{attack}");
    assert_eq!(sandbox.read(".git/config"), "[core]\n", "{attack}");
    for made in [".gemini", ".hookwright", ".claude", ".codex"] {
        assert!(!sandbox.has_file(made), "{attack}: {made} exists");
    }
}

#[test]
fn files_are_deleted_only_where_that_is_allowed() {
    if !can_confine("files_are_deleted_only_where_that_is_allowed") {
        return;
    }
    let sandbox = project();
    let outside = sandbox.sibling_path("outside");
    sandbox.write("profile.json", json_profile());
    let script = format!(
        "rm kept.txt; o='{}'; rm -f \"$o\"; mv \"$o\" \"$o.2\"; mv \"$o\" here; echo x > n; mv -f n \"$o\"; echo more >> \"$o\"",
        outside.display()
    );
    confined(&sandbox, &["--plan", "profile.json"], &script);
    assert!(!sandbox.has_file("kept.txt"));
    assert_eq!(fs::read_to_string(&outside).unwrap(), "untouchedmore\n");
}

fn json_profile() -> &'static str {
    r#"{"writes": ["/**"], "deletes": ["**"], "network": "all"}"#
}
