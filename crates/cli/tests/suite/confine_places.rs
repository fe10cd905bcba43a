//! `hookwright run` in unusual places and with hostile files: it is enforced there too, or refused.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use hookwright_testkit::deadline::*;
use hookwright_testkit::{Sandbox, fs, has_program, report_skipped, wait_until};

use super::confine::{can_confine, confined, is_root};
use crate::sandbox;

const PROGRAM: &str = env!("CARGO_BIN_EXE_hookwright");
/// A user without privileges.
const USER: &str = "65534";

/// Whether a test that needs this program can run here; it is skipped aloud otherwise.
fn can_run(test: &str, program: &str) -> bool {
    let has = has_program(program);
    if !has {
        report_skipped(test, &format!("{program} is not installed"));
    }
    has && can_confine(test)
}

/// Runs a shell script outside of any confinement, with the program as `$HOOKWRIGHT`.
fn shell(sandbox: &Sandbox, folder: &Path, script: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(folder).env("HOOKWRIGHT", PROGRAM).env("HOME", sandbox.home());
    command.output_in_time().unwrap()
}

/// A repository with a worktree `w` beside it, and a submodule's directory.
fn repository() -> Sandbox {
    let sandbox = sandbox();
    let script = "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x \
        && git worktree add -q ../w && mkdir -p .git/modules/a/b && cp -r .git/HEAD .git/config .git/hooks .git/modules/a/b";
    let made = shell(&sandbox, &sandbox.project(), script);
    assert!(made.status.success(), "{made:?}");
    sandbox
}

#[test]
fn git_is_not_led_to_another_configuration() {
    if !can_run("git_is_not_led_to_another_configuration", "git") {
        return;
    }
    let attacks = [
        "mkdir evil; echo ../evil > .git/commondir; rm -f .git/commondir; mv evil .git/commondir",
        "echo x > n; mv -f n .git/commondir; ln -s evil .git/commondir; ln -sf evil .git/commondir",
        "echo x >> .git/modules/a/b/config; echo x > .git/modules/a/b/hooks/new; echo x > .git/modules/a/b/commondir",
        "mv .git/modules/a .git/modules/c; mkdir -p .git/modules/a/b; echo x > .git/modules/a/b/config",
    ];
    let sandbox = repository();
    let modules = sandbox.read(".git/modules/a/b/config");
    for attack in attacks {
        let run = confined(&sandbox, &["--writes", "**"], &format!("{attack}; git log --oneline"));
        // The repository works inside.
        assert!(run.stdout.contains(" x\n"), "{attack}: {run:?}");
        for made in [".git/commondir", ".git/modules/a/b/commondir", ".git/modules/a/b/hooks/new"] {
            assert!(std::fs::symlink_metadata(sandbox.project().join(made)).is_err(), "{attack}: {made}");
        }
        assert_eq!(sandbox.read(".git/modules/a/b/config"), modules, "{attack}");
    }
    // A worktree's repository lies outside of it.
    let worktree = sandbox.sibling_path("w");
    let before = (sandbox.read(".git/config"), fs::read_to_string(worktree.join(".git")).unwrap());
    let shared = sandbox.project().join(".git");
    let attack = "cd \"$(git rev-parse --git-common-dir)\"; echo x >> config; echo x > hooks/new; echo x > commondir; \
        echo x > worktrees/w/config.worktree; echo x > worktrees/w/commondir; cd - ; echo x > .git; rm .git; git log --oneline";
    let run = shell(&sandbox, &worktree, &format!("\"$HOOKWRIGHT\" run --writes '/**' -- sh -c '{attack}'"));
    assert!(String::from_utf8_lossy(&run.stdout).contains(" x\n"), "{run:?}");
    assert_eq!((sandbox.read(".git/config"), fs::read_to_string(worktree.join(".git")).unwrap()), before);
    for made in ["hooks/new", "commondir", "worktrees/w/config.worktree"] {
        assert!(!shared.join(made).exists(), "{made}");
    }
    assert_eq!(fs::read_to_string(shared.join("worktrees/w/commondir")).unwrap(), "../..\n");
}

#[test]
fn hooks_of_nested_repositories_and_of_hooks_path_stay_as_they_are() {
    if !can_run("hooks_of_nested_repositories_and_of_hooks_path_stay_as_they_are", "git") {
        return;
    }
    let sandbox = repository();
    let script = "git init -q sub/deep && git config core.hooksPath .husky/_ && mkdir -p .husky/_ \
        && touch .husky/_/pre-commit .husky/pre-commit";
    assert!(shell(&sandbox, &sandbox.project(), script).status.success());
    let attack = "echo x > .husky/_/pre-commit; echo x > .husky/pre-commit; mv .husky old; rm -rf .husky; \
        echo x > sub/deep/.git/hooks/pre-commit; echo x >> sub/deep/.git/config; echo x > sub/deep/.git/commondir; \
        mv sub/deep/.git old; mv sub old; echo x > made; git -C sub/deep status -s; git log --oneline";
    let before = sandbox.read("sub/deep/.git/config");
    let run = confined(&sandbox, &["--writes", "**"], attack);
    assert!(run.stdout.contains(" x\n") && sandbox.has_file("made"), "{run:?}");
    assert_eq!((sandbox.read(".husky/_/pre-commit"), sandbox.read(".husky/pre-commit")), Default::default(), "{run:?}");
    assert_eq!(sandbox.read("sub/deep/.git/config"), before, "{run:?}");
    for made in ["sub/deep/.git/hooks/pre-commit", "sub/deep/.git/commondir"] {
        assert!(!sandbox.project().join(made).exists(), "{made}: {run:?}");
    }
}

/// The file that keeps a missing `.env` from being created is not added to the repository.
#[test]
fn git_adds_no_placeholder() {
    if !can_run("git_adds_no_placeholder", "git") {
        return;
    }
    let sandbox = repository();
    sandbox.write("new", "");
    sandbox.write("kept-out", "");
    let commit = "git add -A && git ls-files --stage && git status --short --ignored";
    for (exclude, is_there) in [(Some("/kept-out\n"), false), (None, true)] {
        let path = sandbox.project().join(".git/info/exclude");
        match exclude {
            Some(text) => std::fs::write(&path, text).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        let run = confined(&sandbox, &["--writes", "**"], &format!("test -e .env && {commit}"));
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(run.stdout.contains("\tnew\n") && !run.stdout.contains("\t.env\n"), "{run:?}");
        assert!(run.stdout.contains("!! .env\n"), "{run:?}");
        assert_eq!(run.stdout.contains("\tkept-out\n"), is_there, "{run:?}");
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), exclude, "it is another file inside only");
    }
    // Whatever an earlier command has left there, the next one runs.
    assert!(shell(&sandbox, &sandbox.project(), "mkfifo .git/info/exclude").status.success());
    assert_eq!(confined(&sandbox, &["--writes", "**"], "true").code, Some(0));
}

#[test]
fn a_second_mount_is_no_way_around() {
    const TEST: &str = "a_second_mount_is_no_way_around";
    if !can_run(TEST, "unshare") {
        return;
    }
    if !is_root() {
        report_skipped(TEST, "it needs root");
        return;
    }
    let sandbox = sandbox();
    sandbox.write("kept", "kept");
    sandbox.write("deep/secret", "hunter2");
    let inner = "cd ../alias; echo x > kept; rm kept; mv kept k; cat deep/secret; echo x > .env; rm .env; cat ../part/secret; \
        echo x > ../single; cat ../single; true";
    let script = format!(
        "mkdir ../alias ../part; : > ../single; mount --bind . ../alias; mount --bind deep ../part; mount --bind kept ../single; \
         \"$HOOKWRIGHT\" run --writes '/**' '!kept' --no-reads 'deep/**' -- sh -c '{inner}'"
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script]).current_dir(sandbox.project()).env("HOOKWRIGHT", PROGRAM);
    let run = command.env("HOME", sandbox.home()).output_in_time().unwrap();
    assert!(run.status.success(), "{run:?}");
    assert!(!String::from_utf8_lossy(&run.stdout).contains("hunter2"), "{run:?}");
    assert_eq!(sandbox.read("kept"), "kept", "{run:?}");
    assert!(!sandbox.has_file(".env") && !sandbox.has_file("k"));
}

#[test]
fn many_protected_paths_take_few_mounts() {
    if !can_confine("many_protected_paths_take_few_mounts") {
        return;
    }
    let sandbox = sandbox();
    let names: Vec<String> = (0..40).map(|number| format!("a/b/c/d/e/kept{number}")).collect();
    names.iter().for_each(|name| drop(sandbox.write(name, "kept")));
    let exceptions: Vec<String> = names.iter().map(|name| format!("!{name}")).collect();
    let mut options = vec!["--writes", "/**"];
    options.extend(exceptions.iter().map(|name| &**name));
    let run = confined(&sandbox, &options, "wc -l < /proc/self/mountinfo; for f in a/b/c/d/e/*; do echo x > $f; done");
    let outside = fs::read_to_string("/proc/self/mountinfo").unwrap().lines().count();
    let mounts: usize = run.stdout.lines().next().and_then(|line| line.trim().parse().ok()).unwrap_or(usize::MAX);
    assert!(mounts < 2 * outside + 200, "{mounts} {}", run.stderr);
    assert!(names.iter().all(|name| sandbox.read(name) == "kept"));
}

#[test]
fn a_link_to_a_folder_outside_hides_what_it_holds() {
    if !can_confine("a_link_to_a_folder_outside_hides_what_it_holds") {
        return;
    }
    let sandbox = sandbox();
    let outside = sandbox.sibling_path("shared");
    std::fs::create_dir_all(outside.join("deep")).unwrap();
    std::fs::write(outside.join("deep/.env"), "hunter2").unwrap();
    symlink(&outside, sandbox.project().join("link")).unwrap();
    symlink("..", outside.join("deep/loop")).unwrap();
    let script = format!("cat link/deep/.env '{}/deep/.env'; cd link && cd deep && cat .env", outside.display());
    let run = confined(&sandbox, &["--writes", "/**", "--no-reads", "**/.env"], &script);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(!run.stdout.contains("hunter2"), "{}", run.stdout);
}

#[test]
fn what_a_private_folder_covers_needs_no_hiding() {
    if !can_confine("what_a_private_folder_covers_needs_no_hiding") {
        return;
    }
    let file = tempfile::Builder::new().tempfile_in("/tmp").unwrap();
    std::fs::write(file.path(), "hunter2").unwrap();
    let path = file.path().display().to_string();
    let mut command = Command::new(PROGRAM);
    command.args(["run", "--no-reads", &path, "--", "sh", "-c", &format!("cat '{path}'; exit 5")]).current_dir("/");
    let run = command.output_in_time().unwrap();
    assert_eq!((run.status.code(), run.stdout.len()), (Some(5), 0), "{run:?}");
}

/// Runs the program as a user without privileges, to whom all of the sandbox belongs.
pub(super) fn as_user(sandbox: &Sandbox, options: &[&str], script: &str) -> Output {
    Command::new("chown").args(["-R", USER]).arg(sandbox.sibling_path("")).status_in_time().unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", USER, "--regid", USER, "--clear-groups", PROGRAM, "run"]).args(options);
    command.args(["--", "sh", "-c", script]).current_dir(sandbox.project());
    command.env("HOME", sandbox.home()).output_in_time().unwrap()
}

pub(super) fn can_run_as_user(test: &str) -> bool {
    if !has_program("setpriv") || !is_root() {
        report_skipped(test, "it needs root and setpriv");
        return false;
    }
    let first = as_user(&sandbox(), &[], "true");
    if !first.status.success() {
        report_skipped(test, String::from_utf8_lossy(&first.stderr).trim());
    }
    first.status.success()
}

#[test]
fn a_folder_that_cannot_be_listed_hides_nothing() {
    if !can_run_as_user("a_folder_that_cannot_be_listed_hides_nothing") {
        return;
    }
    // Its owner can open what it holds by name, or change its permissions first.
    for mode in [0o000, 0o311] {
        let sandbox = sandbox();
        sandbox.write("closed/.env", "hunter2");
        std::fs::set_permissions(sandbox.project().join("closed"), std::fs::Permissions::from_mode(mode)).unwrap();
        let options = ["--writes", "**", "--no-reads", "**/.env"];
        let run = as_user(&sandbox, &options, "chmod 700 closed; cat closed/.env");
        std::fs::set_permissions(sandbox.project().join("closed"), std::fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(run.status.code(), Some(125), "{mode:o}: {run:?}");
    }
}

#[test]
fn folders_of_other_users_are_no_obstacle() {
    if !can_run_as_user("folders_of_other_users_are_no_obstacle") {
        return;
    }
    let sandbox = sandbox();
    sandbox.write("kept", "kept");
    sandbox.write("closed/secret", "hunter2");
    // The first run makes the user own everything.
    assert!(as_user(&sandbox, &[], "true").status.success());
    let mut command = Command::new("sh");
    let script = "chown 0 \"$HOME\" closed && chmod 755 \"$HOME\" && chmod 700 closed && exec setpriv --reuid 65534 --regid 65534 \
        --clear-groups \"$HOOKWRIGHT\" run --writes '/**' '!kept' --no-reads '**/secret' -- \
        sh -c 'echo x > kept; mkdir \"$HOME/.gemini\"; cat closed/secret; echo ran'";
    command.args(["-c", script]).current_dir(sandbox.project()).env("HOOKWRIGHT", PROGRAM);
    let run = command.env("HOME", sandbox.home()).output_in_time().unwrap();
    assert_eq!(String::from_utf8_lossy(&run.stdout), "ran\n", "{run:?}");
    assert_eq!(sandbox.read("kept"), "kept");
    assert!(!sandbox.home().join(".gemini").exists());
}

#[test]
fn twenty_commands_at_once_leave_nothing() {
    if !can_confine("twenty_commands_at_once_leave_nothing") {
        return;
    }
    let sandbox = sandbox();
    sandbox.write(".git/config", "");
    let start = |number: usize| {
        let script = format!(
            "echo x > .env; mkdir .gemini; echo x > .git/commondir; sleep 0.{}; touch done{number}",
            number % 4
        );
        sandbox.command(&["run", "--writes", "**", "--", "sh", "-c", &script]).spawn().unwrap()
    };
    let children: Vec<_> = (0..20).map(start).collect();
    for mut child in children {
        assert!(child.wait_in_time().unwrap().success());
    }
    assert!((0..20).all(|number| sandbox.has_file(&format!("done{number}"))));
    for left in [".env", ".gemini", ".hookwright", ".claude", ".codex", ".git/commondir", ".git/hooks"] {
        assert!(!sandbox.has_file(left), "{left}");
    }
}

#[test]
fn placeholders_of_a_killed_run_are_removed_by_the_next() {
    if !can_confine("placeholders_of_a_killed_run_are_removed_by_the_next") {
        return;
    }
    let sandbox = sandbox();
    let mut command = sandbox.command(&["run", "--writes", "**", "--", "sh", "-c", "touch started; sleep 600"]);
    let mut child = command.spawn().unwrap();
    wait_until("it runs", || sandbox.has_file("started"));
    child.kill().unwrap();
    let _ = child.wait_in_time();
    assert!(sandbox.has_file(".env"), "nothing could remove it");
    let run = confined(&sandbox, &["--writes", "**"], "echo x > .env; rm -f .env; rmdir .gemini; true");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for left in [".env", ".gemini", ".hookwright", ".claude", ".codex"] {
        assert!(!sandbox.has_file(left), "{left}");
    }
}

#[test]
fn unusual_projects_are_confined_too() {
    if !can_confine("unusual_projects_are_confined_too") {
        return;
    }
    let sandbox = sandbox();
    sandbox.write("kept", "kept");
    sandbox.write("secret", "hunter2");
    let outside = sandbox.sibling_path("outside");
    std::fs::write(&outside, "untouched").unwrap();
    let link = sandbox.sibling_path("linked");
    symlink(sandbox.project(), &link).unwrap();
    let run_in = |folder: &Path, home: &Path, options: &[&str]| {
        let script = "cat secret; echo x > kept; echo x > ../outside; echo x > made && echo ran; mkdir .gemini; true";
        let mut command = Command::new(PROGRAM);
        command.arg("run").args(options).args(["--no-reads", "secret", "--", "sh", "-c", script]);
        command.current_dir(folder).env("PWD", folder).env("HOME", home).output_in_time().unwrap()
    };
    let (project, home) = (sandbox.project(), sandbox.home());
    let missing = sandbox.sibling_path("no/such/home");
    let places: [(&str, &Path, &Path); 4] = [
        ("a symbolic link", &link, &home),
        ("home is the project", &project, &project),
        ("no home", &project, &missing),
        ("plain", &project, &home),
    ];
    for (place, folder, home) in places {
        let run = run_in(folder, home, &["--writes", "**", "!kept"]);
        assert_eq!(String::from_utf8_lossy(&run.stdout), "ran\n", "{place}: {run:?}");
        assert_eq!((sandbox.read("kept"), fs::read_to_string(&outside).unwrap()), ("kept".into(), "untouched".into()));
        assert!(!sandbox.has_file(".gemini"), "{place}");
    }
}

#[test]
fn unusual_names_are_hidden_too() {
    if !can_confine("unusual_names_are_hidden_too") {
        return;
    }
    let sandbox = sandbox();
    let odd = sandbox.project().join(std::ffi::OsStr::from_bytes(b"od\xff d\n\\040"));
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join(".env"), "hunter2").unwrap();
    std::fs::write(odd.join(std::ffi::OsStr::from_bytes(b"\xfe.key")), "hunter2").unwrap();
    for number in 0..5000 {
        sandbox.write(&format!("many/{}/{number}.key", number % 50), "hunter2");
    }
    let run =
        confined(&sandbox, &["--no-reads", "**/.env", "**/*.key"], "cat od*/.env od*/*.key many/*/*.key; echo ran");
    assert_eq!(run.stdout, "ran\n", "{}", run.stderr.lines().last().unwrap_or_default());
}

/// A file whose path is too long to be named is refused, not left readable.
#[test]
fn a_path_that_is_too_long_is_refused() {
    if !can_run("a_path_that_is_too_long_is_refused", "python3") {
        return;
    }
    let sandbox = sandbox();
    let python = |script: &str| format!("python3 -c \"import os\nfor i in range(25):\n  {script}\"");
    let make = python("os.mkdir('d' * 200); os.chdir('d' * 200)\nopen('.env', 'w').write('hunter2')");
    assert!(shell(&sandbox, &sandbox.project(), &make).status.success());
    let read = python("os.chdir('d' * 200)\nprint(open('.env').read())");
    let run = confined(&sandbox, &["--no-reads", "**/.env"], &read);
    assert_eq!((run.code, run.stdout.contains("hunter2")), (Some(125), false), "{}", run.stderr);
    // The folder is too deep for the code that removes the sandbox.
    shell(&sandbox, &sandbox.project(), "rm -rf d*");
}

#[test]
fn a_stored_plan_that_is_not_a_plan_is_refused_in_time() {
    let sandbox = sandbox();
    let digest = "a".repeat(64);
    let make = |name: &str, script: &str| {
        let made = shell(&sandbox, &sandbox.project(), script);
        assert!(made.status.success(), "{name}: {made:?}");
        let run = sandbox.run(&["run", "--plan", name, "--", "touch", "ran"]);
        assert_eq!(run.code, Some(125), "{name}: {run:?}");
        assert!(!sandbox.has_file("ran"), "{name}");
    };
    make("fifo", "mkfifo fifo");
    make("zero", "ln -s /dev/zero zero");
    make("huge", "head -c 3000000 /dev/zero | tr '\\0' ' ' > huge");
    make("folder", "mkdir folder");
    make("gone", "ln -s nowhere gone");
    make("cut", "printf '{\"writes\": [\"**\"' > cut");
    make("unknown", "echo '{\"writes\": [], \"everything\": true}' > unknown");
    make("bytes", "printf '\\377\\376' > bytes");
    make("profiles", "echo '{\"profiles\": []}' > profiles");
    make(&format!("{digest}.json"), &format!("echo '{{}}' > {digest}.json"));
}

/// A plan without profiles allows nothing.
#[test]
fn a_plan_without_profiles_allows_nothing() {
    if !can_confine("a_plan_without_profiles_allows_nothing") {
        return;
    }
    let sandbox = sandbox();
    sandbox.write("plan", format!("{{\"project\": {:?}, \"home\": null, \"profiles\": []}}", sandbox.project()));
    let run = sandbox.run(&["run", "--plan", "plan", "--", "touch", "ran"]);
    assert!(run.code != Some(0) && !sandbox.has_file("ran"), "{run:?}");
}

#[test]
fn links_that_are_exchanged_while_it_is_written_lead_nowhere() {
    if !can_confine("links_that_are_exchanged_while_it_is_written_lead_nowhere") {
        return;
    }
    let sandbox = sandbox();
    let outside = sandbox.sibling_path("outside");
    std::fs::write(&outside, "untouched").unwrap();
    sandbox.write("kept", "kept");
    let script = format!(
        "(i=0; while [ $i -lt 400 ]; do ln -sfn '{}' t; : > p; mv -f p t; ln -sfn kept t; i=$((i+1)); done) & \
         i=0; while [ $i -lt 4000 ]; do echo x > t; i=$((i+1)); done 2>/dev/null; wait",
        outside.display()
    );
    confined(&sandbox, &["--writes", "**", "!kept"], &script);
    assert_eq!((sandbox.read("kept"), fs::read_to_string(&outside).unwrap()), ("kept".into(), "untouched".into()));
}
