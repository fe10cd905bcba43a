//! Several writers at once, and a full disk, in separate processes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hookwright_settings::edit::{DisabledList, Switch, set_disabled};
use hookwright_settings::trust::{FolderRule, set_folder_trust, trust_hooks};
use hookwright_settings::{LoadOptions, TrustOverride, load};
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;

use super::fixture::{SettingsFixture, settings_with_hook};

const TASK_VARIABLE: &str = "HOOKWRIGHT_TEST_TASK";
const ROUNDS: usize = 12;
const WRITERS: usize = 4;

/// Starts this test binary again for one task, which `helper` runs.
fn helper_process(task: &str, home: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "suite::processes::helper", "--nocapture"]);
    command.env(TASK_VARIABLE, task).env("HOME", home).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

#[test]
fn helper() {
    let Ok(task) = std::env::var(TASK_VARIABLE) else { return };
    let home = PathBuf::from(std::env::var("HOME").unwrap());
    let file = home.join(".gemini/settings.json");
    let (task, writer) = task.split_once(' ').unwrap();
    for round in 0..ROUNDS {
        let name = format!("{writer}-{round}");
        match task {
            "disable" => {
                assert!(locking(|| set_disabled(&file, DisabledList::Hooks, &[&name], Switch::Disable)));
            }
            "folder" => {
                locking(|| set_folder_trust(&paths(&home), &home.join(&name), FolderRule::TrustFolder));
            }
            "trust" => {
                let project = home.join(&name);
                std::fs::create_dir_all(project.join(".gemini")).unwrap();
                std::fs::write(project.join(".gemini/settings.json"), settings_with_hook(&name, "x")).unwrap();
                let options = LoadOptions { project, trust: TrustOverride::Skip, ..LoadOptions::default() };
                let loaded = load(&process_env(&home), &options);
                assert_eq!(loaded.reviews.len(), 1);
                locking(|| trust_hooks(&loaded.paths, &loaded.reviews));
            }
            other => panic!("no such task: {other}"),
        }
    }
}

/// Tries again where the other writers held the lock for too long, as they do on a slow disk.
fn locking<T, E: std::fmt::Debug>(mut write: impl FnMut() -> Result<T, E>) -> T {
    wait_for("the lock", || match write() {
        Ok(done) => Some(done),
        Err(error) if format!("{error:?}").contains("held the lock") => None,
        Err(error) => panic!("{error:?}"),
    })
}

fn process_env(home: &Path) -> hookwright_settings::ProcessEnv {
    hookwright_settings::ProcessEnv::new(vec![("HOME".into(), home.into())], home.to_owned())
}

fn paths(home: &Path) -> hookwright_settings::ConfigPaths {
    hookwright_settings::ConfigPaths::new(&process_env(home))
}

fn run_writers(task: &str, home: &Path) {
    let writers: Vec<_> =
        (0..WRITERS).map(|writer| helper_process(&format!("{task} {writer}"), home).spawn().unwrap()).collect();
    for writer in writers {
        let output = writer.finish_in_time();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

fn every_name() -> impl Iterator<Item = String> {
    (0..WRITERS).flat_map(|writer| (0..ROUNDS).map(move |round| format!("{writer}-{round}")))
}

#[test]
fn processes_that_disable_hooks_at_once_lose_no_change() {
    let place = SettingsFixture::new();
    place.write_user_settings("{\n  // kept\n}\n");
    run_writers("disable", &place.home());
    let text = fs::read_to_string(place.home().join(".gemini/settings.json")).unwrap();
    assert!(text.contains("// kept"));
    assert!(every_name().all(|name| text.contains(&format!("\"{name}\""))), "{text}");
}

#[test]
fn processes_that_trust_hooks_at_once_lose_no_change() {
    let place = SettingsFixture::new();
    run_writers("trust", &place.home());
    for name in every_name() {
        let options =
            LoadOptions { project: place.home().join(&name), trust: TrustOverride::Skip, ..LoadOptions::default() };
        assert!(load(&process_env(&place.home()), &options).reviews.is_empty(), "{name}");
    }
}

#[test]
fn processes_that_trust_folders_at_once_lose_no_change() {
    let place = SettingsFixture::new();
    run_writers("folder", &place.home());
    let text = fs::read_to_string(place.home().join(".gemini/trustedFolders.json")).unwrap();
    assert!(every_name().all(|name| text.contains(&format!("/{name}\""))), "{text}");
}

#[cfg(unix)]
#[test]
fn a_disk_without_room_leaves_the_old_file() {
    let place = SettingsFixture::new();
    let file = place.write_user_settings("{ \"old\": true }");
    let helper = helper_process("disable 0", &place.home());
    // A limit of zero bytes per file fails like a full disk does: when the bytes are written.
    let mut limited = Command::new("bash");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""])
        .arg(helper.get_program())
        .args(helper.get_args());
    limited.env(TASK_VARIABLE, "disable 0").env("HOME", place.home()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = limited.output_in_time().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("FileTooLarge") || said.contains("File too large"), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{ \"old\": true }");
    assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn threads_that_edit_at_once_lose_no_change() {
    let place = SettingsFixture::new();
    let file = place.home().join(".gemini/settings.json");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let file = &file;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let name = format!("{writer}-{round}");
                    set_disabled(file, DisabledList::Hooks, &[&name], Switch::Disable).unwrap();
                    if round % 2 == 1 {
                        set_disabled(file, DisabledList::Hooks, &[&name], Switch::Enable).unwrap();
                    }
                }
            });
        }
    });
    let text = fs::read_to_string(&file).unwrap();
    let kept = |name: &String| name.rsplit('-').next().unwrap().parse::<usize>().unwrap() % 2 == 0;
    assert!(every_name().all(|name| text.contains(&format!("\"{name}\"")) == kept(&name)), "{text}");
}
