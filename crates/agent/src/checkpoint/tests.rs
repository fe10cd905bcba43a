use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use hookwright_tools::Workspace;
use serde_json::{Map, Value, json};

use super::*;
use crate::protect::Protected;

/// A project, a store beside it, and a session's checkpoints.
struct Place {
    _folder: tempfile::TempDir,
    root: PathBuf,
    store: Store,
    checkpoints: Checkpoints,
    workspace: Arc<Workspace>,
}

fn place() -> Place {
    place_with(room::MOST_BYTES)
}

/// One whose store may hold so many bytes.
fn place_with(most_bytes: u64) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let root = top.join("project");
    fs::create_dir(&root).unwrap();
    let mut store = Store::at(top.join("kept"));
    store.most_bytes = most_bytes;
    let checkpoints = Checkpoints::new(store.clone(), true, top.clone());
    let workspace = Arc::new(Workspace::new(&root, []).unwrap());
    Place { _folder: folder, root, store, checkpoints, workspace }
}

impl Place {
    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    fn turn(&self, prompt: &str) -> u64 {
        self.begin(prompt);
        self.store.list().last().unwrap().number
    }

    fn begin(&self, prompt: &str) {
        let begun = self.checkpoints.begin(&Beginning { session: "s".to_owned(), prompt, conversation: None });
        assert_eq!(begun, None);
    }

    /// All contents were kept two hours ago.
    fn age_contents(&self) {
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
        for folder in fs::read_dir(self.store.contents()).unwrap().flatten() {
            for file in fs::read_dir(folder.path()).unwrap().flatten() {
                fs::File::options().append(true).open(file.path()).unwrap().set_modified(then).unwrap();
            }
        }
    }

    /// A call that does something.
    fn call(&self, tool: &str, args: &Value, does: impl FnOnce()) {
        let args: Map<String, Value> = args.as_object().unwrap().clone();
        let is_protected = |path: &Path| path.ends_with("guard.sh");
        let touching = Touching { tool, args: &args, workspace: &self.workspace, is_protected: &is_protected };
        let (pending, trouble) = self.checkpoints.before(&touching);
        assert_eq!(trouble, None);
        does();
        if let Some(pending) = pending {
            assert_eq!(self.checkpoints.after(&pending, &touching), None);
        }
    }

    fn shell(&self, command: &str) {
        self.call("run_shell_command", &json!({"command": command}), || {
            let done = std::process::Command::new("sh")
                .args(["-c", command])
                .current_dir(&self.root)
                .status_in_time()
                .unwrap();
            assert!(done.success(), "{command}");
        });
    }

    fn edit(&self, name: &str, text: &str) {
        self.call("write_file", &json!({"file_path": name, "content": text}), || {
            self.write(name, text);
        });
    }

    fn restore(&self, number: u64, since: Since) -> Restored {
        self.with_roots(|roots| self.store.restore(number, What::Files, since, roots, None)).unwrap()
    }

    fn plan(&self, number: u64) -> Plan {
        self.with_roots(|roots| self.store.plan(number, roots)).unwrap()
    }

    fn with_roots<T>(&self, act: impl FnOnce(&Roots<'_>) -> T) -> T {
        act(&Roots { folders: std::slice::from_ref(&self.root), protected: &Protected::default() })
    }
}

#[test]
fn changed_new_and_deleted_files_come_back_as_they_were() {
    let place = place();
    place
        .write("a.txt", "one\n")
        .write("gone.txt", "gone\n")
        .write("bin", [0, 159, 146, 150])
        .write("run.sh", "#!/bin/sh\n");
    fs::set_permissions(place.at("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("a.txt", place.at("link")).unwrap();
    let turn = place.turn("do it all");
    place.edit("a.txt", "two\n");
    place.edit("a.txt", "three\n");
    place.edit("new/deep/b.txt", "new\n");
    place.shell("rm gone.txt link && printf x > bin && chmod 600 run.sh && echo more >> run.sh");
    let restored = place.restore(turn, Since::Keep);
    assert_eq!(restored.left, []);
    assert_eq!((place.read("a.txt"), place.read("gone.txt")), ("one\n".to_owned(), "gone\n".to_owned()));
    assert_eq!(fs::read(place.at("bin")).unwrap(), [0, 159, 146, 150]);
    assert!(!place.at("new").exists(), "folders that were made for it go with it");
    assert_eq!(fs::read_link(place.at("link")).unwrap(), Path::new("a.txt"));
    assert_eq!(fs::metadata(place.at("run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    // And back again.
    let again = place.restore(restored.undo, Since::Keep);
    assert_eq!(again.left, []);
    assert_eq!((place.read("a.txt"), place.read("new/deep/b.txt")), ("three\n".to_owned(), "new\n".to_owned()));
    assert!(!place.at("gone.txt").exists() && place.at("link").symlink_metadata().is_err());
}

#[test]
fn going_back_two_turns_takes_back_both() {
    let place = place();
    place.write("a", "0").write("b", "0");
    let first = place.turn("one");
    place.edit("a", "1");
    let second = place.turn("two");
    place.edit("a", "2");
    place.edit("b", "2");
    assert_eq!(place.plan(second).changes.len(), 2);
    place.restore(second, Since::Keep);
    assert_eq!((place.read("a"), place.read("b")), ("1".to_owned(), "0".to_owned()));
    place.restore(first, Since::Keep);
    assert_eq!(place.read("a"), "0");
}

#[test]
fn what_somebody_changed_since_is_said_and_stays() {
    let place = place();
    place.write("a", "0\n").write("b", "0\n");
    let turn = place.turn("one");
    place.edit("a", "1\n");
    place.edit("b", "1\n");
    place.write("a", "mine\n");
    let plan = place.plan(turn);
    let since: Vec<_> = plan.changes.iter().map(|change| (change.shown.as_str(), change.changed_since)).collect();
    assert_eq!(since, [("a", true), ("b", false)]);
    assert!(plan.changes[0].diff.as_ref().unwrap().contains("-mine\n+0\n"));
    let restored = place.restore(turn, Since::Keep);
    assert_eq!(restored.left, [("a".to_owned(), "it was changed since".to_owned())]);
    assert_eq!((place.read("a"), place.read("b")), ("mine\n".to_owned(), "0\n".to_owned()));
    let undo = place.restore(turn, Since::Overwrite).undo;
    assert_eq!(place.read("a"), "0\n");
    place.restore(undo, Since::Keep);
    assert_eq!(place.read("a"), "mine\n", "what was overwritten comes back");
}

#[test]
fn a_program_that_may_change_anything_is_looked_after() {
    let place = place();
    place.write("src/a.txt", "one\n").write("keep.txt", "same\n").write(".gitignore", "out/\n").write("out/big", "x");
    place.write("build.sh", "echo two > src/a.txt; mkdir -p gen; echo new > gen/b; rm keep.txt; echo y > out/big\n");
    fs::create_dir(place.at(".git")).unwrap();
    let turn = place.turn("build");
    place.shell("sh build.sh");
    let changed: Vec<_> = place.plan(turn).changes.into_iter().map(|change| change.shown).collect();
    assert_eq!(changed, ["gen/b", "keep.txt", "src/a.txt"]);
    assert_eq!(place.restore(turn, Since::Keep).left, []);
    assert_eq!((place.read("src/a.txt"), place.read("keep.txt")), ("one\n".to_owned(), "same\n".to_owned()));
    assert!(!place.at("gen").exists());
}

#[test]
fn folders_that_go_as_a_whole_come_back() {
    let place = place();
    place.write("src/a/b.txt", "b").write("src/c.txt", "c").write("old/x", "x");
    let turn = place.turn("clean up");
    place.shell("rm -rf src && cp -r old new");
    assert!(!place.at("src").exists());
    assert_eq!(place.restore(turn, Since::Keep).left, []);
    assert_eq!((place.read("src/a/b.txt"), place.read("src/c.txt")), ("b".to_owned(), "c".to_owned()));
    assert!(!place.at("new").exists());
}

#[test]
fn what_is_not_kept_is_said() {
    let place = place();
    place.write("big", vec![b'x'; 9 << 20]).write("guard.sh", "exit 2\n");
    let outside = place.root.parent().unwrap().join("outside");
    let turn = place.turn("everything");
    place.shell(&format!("echo x > big; echo x > guard.sh; echo x > {}", outside.display()));
    let plan = place.plan(turn);
    let notes = plan.notes.join("\n");
    for words in
        ["big is not kept: too large (9.4 MB)", "guard.sh is not kept: guards are made of it", "outside of the project"]
    {
        assert!(notes.contains(words), "{words}: {notes}");
    }
    assert!(plan.changes.iter().all(|change| !change.deed.is_done()), "{plan:?}");
    assert_eq!(place.restore(turn, Since::Overwrite).files, Vec::<String>::new());
    assert_eq!(place.read("guard.sh"), "x\n");
}

#[test]
fn a_doctored_checkpoint_leads_nowhere() {
    let place = place();
    place.write("a", "0");
    fs::create_dir_all(place.at(".git")).unwrap();
    let turn = place.turn("one");
    place.edit("a", "1");
    let elsewhere = place.root.parent().unwrap().join("elsewhere");
    let file = place.root.parent().unwrap().join(format!("kept/{turn:06}.json"));
    let text = fs::read_to_string(&file).unwrap();
    let own = place.at("a").display().to_string();
    for other in [
        elsewhere.display().to_string(),
        format!("{}/../elsewhere", place.root.display()),
        place.at(".git/config").display().to_string(),
        place.root.display().to_string(),
        "a".to_owned(),
    ] {
        fs::write(&file, text.replace(&own, &other)).unwrap();
        let restored = place.restore(turn, Since::Overwrite);
        assert_eq!(restored.files, Vec::<String>::new(), "{other}");
    }
    assert!(!elsewhere.exists() && !place.at(".git/config").exists());
    fs::write(&file, "{").unwrap();
    assert!(matches!(place.store.read(turn), Err(CheckpointError::Broken { .. })));
    place.store.list();
}

#[test]
fn contents_that_are_not_what_they_were_are_refused() {
    let place = place();
    place.write("a", "0");
    let turn = place.turn("one");
    place.edit("a", "1");
    let contents = place.root.parent().unwrap().join("kept/contents");
    let file = fs::read_dir(&contents).unwrap().next().unwrap().unwrap().path();
    let file = fs::read_dir(file).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&contents).unwrap().permissions().mode() & 0o777, 0o700);
    fs::write(&file, "evil").unwrap();
    assert_eq!(place.restore(turn, Since::Overwrite).files, Vec::<String>::new());
    assert_eq!(place.read("a"), "1");
}

#[test]
fn links_that_were_put_in_the_way_are_not_followed() {
    let place = place();
    place.write("dir/a", "0").write("f", "0");
    let turn = place.turn("one");
    place.edit("dir/a", "1");
    place.edit("f", "1");
    let elsewhere = place.root.parent().unwrap().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("a"), "theirs").unwrap();
    fs::rename(place.at("dir"), place.at("moved")).unwrap();
    symlink(&elsewhere, place.at("dir")).unwrap();
    fs::remove_file(place.at("f")).unwrap();
    symlink(elsewhere.join("a"), place.at("f")).unwrap();
    place.restore(turn, Since::Overwrite);
    assert_eq!(fs::read_to_string(elsewhere.join("a")).unwrap(), "theirs");
    assert_eq!(place.read("f"), "0");
    assert!(place.at("f").symlink_metadata().unwrap().is_file(), "the link was replaced, not followed");
}

/// A link that a restore brings back leads none of its other files elsewhere.
#[test]
fn what_lies_behind_a_link_that_comes_back_is_left_alone() {
    let place = place();
    place.write("a", "#!/bin/sh\n").write(".git/hooks/README", "").write(".git/hooks/kept", "kept");
    let turn = place.turn("one");
    place.edit("a", "1");
    let record = place.root.parent().unwrap().join(format!("kept/{turn:06}.json"));
    let mut kept: Value = serde_json::from_str(&fs::read_to_string(&record).unwrap()).unwrap();
    let script = kept["files"][0]["before"].clone();
    let missing = json!({"is": "missing"});
    let at = |name: &str| place.at(name).display().to_string();
    kept["files"] = json!([
        {"path": at("d"), "before": {"is": "link", "to": ".git/hooks"}, "after": missing},
        {"path": at("d/kept"), "before": missing, "after": script},
        {"path": at("d/pre-commit"), "before": {"is": "link", "to": "../../a"}, "after": missing},
        {"path": at("d/pre-push"), "before": script, "after": missing},
    ]);
    fs::write(&record, kept.to_string()).unwrap();
    let restored = place.restore(turn, Since::Overwrite);
    let mut found: Vec<_> = fs::read_dir(place.at(".git/hooks")).unwrap().map(|one| one.unwrap().file_name()).collect();
    found.sort();
    assert_eq!(found, ["README", "kept"], "{restored:?}");
    assert_eq!(restored.left.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["d"]);
}

/// A folder that becomes a link between the plan and the act has nothing deleted, written or linked behind it.
#[test]
fn a_restore_does_what_it_planned_or_nothing() {
    let place = place();
    place.write("d/changed", "0").write("d/gone", "0").write("guards/new", "guard").write("guards/changed", "guard");
    symlink("gone", place.at("d/link")).unwrap();
    let turn = place.turn("one");
    place.edit("d/changed", "1");
    place.edit("d/new", "1");
    place.shell("rm d/gone d/link");
    let plan = place.plan(turn);
    assert_eq!(plan.changes.len(), 4);
    fs::rename(place.at("d"), place.at("old")).unwrap();
    symlink("guards", place.at("d")).unwrap();
    for change in &plan.changes {
        assert!(place.store.bring_back(change, Since::Overwrite).is_err(), "{}", change.shown);
    }
    assert_eq!(fs::read_dir(place.at("guards")).unwrap().count(), 2);
    assert_eq!((place.read("guards/new"), place.read("guards/changed")), ("guard".to_owned(), "guard".to_owned()));
    fs::remove_file(place.at("d")).unwrap();
    fs::rename(place.at("old"), place.at("d")).unwrap();
    place.write("d/changed", "somebody else's");
    let changed = plan.changes.iter().find(|change| change.shown == "d/changed").unwrap();
    assert!(place.store.bring_back(changed, Since::Overwrite).is_err(), "nobody was shown that");
}

#[test]
fn a_private_file_comes_back_private() {
    let place = place();
    place.write("key", "secret");
    fs::set_permissions(place.at("key"), fs::Permissions::from_mode(0o600)).unwrap();
    let mode = || fs::metadata(place.at("key")).unwrap().permissions().mode() & 0o777;
    for change in ["rm key", "chmod 644 key && echo x >key", "chmod 644 key"] {
        let turn = place.turn(change);
        place.shell(change);
        assert_eq!(place.restore(turn, Since::Keep).left, [], "{change}");
        assert_eq!((place.read("key").as_str(), mode()), ("secret", 0o600), "{change}");
    }
}

#[test]
fn a_folder_in_a_files_place_stays() {
    let place = place();
    place.write("a", "0");
    let turn = place.turn("one");
    place.edit("a", "1");
    fs::remove_file(place.at("a")).unwrap();
    place.write("a/precious", "p");
    let restored = place.restore(turn, Since::Overwrite);
    assert_eq!((restored.files.len(), restored.left.len()), (0, 1));
    assert_eq!(place.read("a/precious"), "p");
}

/// The first and the last prompt that are kept.
fn ends(place: &Place) -> (String, String) {
    let all = place.store.list();
    (all[0].prompt.clone(), all[all.len() - 1].prompt.clone())
}

#[test]
fn the_oldest_make_way_now_and_then() {
    let place = place();
    let turns = |from: usize, to: usize| (from..to).for_each(|number| place.begin(&format!("turn {number}")));
    turns(0, room::MOST + room::NOW_AND_THEN);
    assert_eq!(ends(&place), ("turn 0".to_owned(), "turn 215".to_owned()));
    turns(216, 217);
    assert_eq!(ends(&place), ("turn 17".to_owned(), "turn 216".to_owned()));
    assert_eq!(place.store.list().len(), room::MOST);
}

/// Somebody who only asks must not lose what was kept of files.
#[test]
fn turns_that_changed_nothing_make_way_before_those_that_did() {
    let place = place();
    let turn = place.turn("changes a file");
    place.edit("a", "1");
    place.checkpoints.end();
    // What could not be kept is said of every turn before it.
    place.begin("changes what is not kept");
    place.call("write_file", &json!({"file_path": "guard.sh", "content": "x"}), || ());
    let warned = place.plan(turn).notes;
    assert!(!warned.is_empty());
    (0..600).for_each(|number| place.begin(&format!("turn {number}")));
    let all = place.store.list();
    assert_eq!((all[0].number, all[1].number), (turn, turn + 1));
    assert_eq!(place.plan(turn).notes, warned);
    assert!(all.len() <= room::MOST + room::NOW_AND_THEN, "{}", all.len());
    place.restore(turn, Since::Keep);
    assert!(!place.at("a").exists());
}

/// Records that can't be read go with those of their age, and cost no turn a look at all of them for ever.
#[test]
fn broken_records_make_way_too() {
    let place = place();
    (0..40).for_each(|number| place.begin(&format!("turn {number}")));
    for record in place.store.list() {
        fs::write(place.store.record(record.number), "{").unwrap();
    }
    (0..room::MOST + room::NOW_AND_THEN).for_each(|number| place.begin(&format!("turn {number}")));
    assert!(place.store.numbers().len() < room::MOST + room::NOW_AND_THEN, "{}", place.store.numbers().len());
}

/// What was asked just now can be taken back however many files are kept.
#[test]
fn the_newest_turns_stay_though_they_changed_nothing() {
    let place = place();
    for number in 0..room::MOST + 60 {
        place.begin(&format!("edit {number}"));
        place.edit("a", &number.to_string());
        place.checkpoints.end();
    }
    (0..20).for_each(|number| place.begin(&format!("turn {number}")));
    let kept = place.store.list();
    assert_eq!(kept.iter().filter(|checkpoint| checkpoint.prompt.starts_with("turn")).count(), 20);
}

/// The sizes of all contents.
fn kept_bytes(place: &Place) -> u64 {
    let folders = fs::read_dir(place.store.contents()).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path()).unwrap().flatten());
    files.map(|file| file.metadata().unwrap().len()).sum()
}

#[test]
fn after_every_turn_no_more_bytes_are_kept_than_there_may_be() {
    let place = place_with(30_000);
    place.write("a", "0".repeat(10_000));
    for number in 1..=9_u8 {
        place.turn(&format!("turn {number}"));
        place.edit("a", &number.to_string().repeat(10_000));
        place.checkpoints.end();
        // Those of checkpoints that made way may be somebody else's for an hour.
        place.age_contents();
    }
    place.turn("last");
    place.edit("a", "x");
    place.checkpoints.end();
    assert!(kept_bytes(&place) <= 30_000, "{}", kept_bytes(&place));
    let all = place.store.list();
    assert_eq!((all.first().unwrap().prompt.as_str(), all.len()), ("turn 8", 3));
    place.restore(all[0].number, Since::Overwrite);
    assert_eq!(place.read("a"), "7".repeat(10_000));
}

#[test]
fn what_was_kept_to_be_sure_goes_first_and_at_once() {
    let place = place_with(30_000);
    for number in 0..9_u8 {
        // A script may change anything, so all of it is kept, and it changes nothing that the turn would name.
        place.write("big", number.to_string().repeat(20_000));
        place.turn(&format!("turn {number}"));
        place.call("run_shell_command", &json!({"command": "./anything.sh"}), || {
            place.write("small", [number]);
        });
        place.checkpoints.end();
        assert!(kept_bytes(&place) <= 30_000, "{number}: {}", kept_bytes(&place));
    }
    assert_eq!(place.store.list().len(), 9, "no turn had to go");
}

#[test]
fn what_others_may_be_about_to_name_stays() {
    let place = place_with(30_000);
    let others = Checkpoints::new(place.store.clone(), true, place.root.clone());
    place.write("a", "a".repeat(20_000)).write("b", "b".repeat(20_000));
    let begun = others.begin(&Beginning { session: "t".to_owned(), prompt: "x", conversation: None });
    assert_eq!(begun, None);
    let args: Map<String, Value> = json!({"command": "./anything.sh"}).as_object().unwrap().clone();
    let touching =
        Touching { tool: "run_shell_command", args: &args, workspace: &place.workspace, is_protected: &|_| false };
    let (pending, _) = others.before(&touching);
    place.turn("mine");
    place.edit("c", "1");
    place.checkpoints.end();
    place.write("a", "changed");
    assert_eq!(others.after(&pending.unwrap(), &touching), None);
    let theirs = place.store.list().into_iter().find(|one| one.session == "t").unwrap().number;
    place.restore(theirs, Since::Overwrite);
    assert_eq!(place.read("a"), "a".repeat(20_000));
}

#[test]
fn what_a_session_changed_is_told_from_before_its_first_turn() {
    let place = place();
    place.write("a", "one\ntwo\n").write("gone", "was\n").write("same", "s\n").write("bytes", [0, 159]);
    place.turn("one");
    place.edit("a", "one\n2\n");
    place.edit("new/file", "n\n");
    place.edit("same", "other\n");
    place.turn("two");
    place.edit("a", "one\n2\n3\n");
    place.edit("same", "s\n");
    place.edit("bytes", "text\n");
    place.call("run_shell_command", &json!({"command": "rm gone"}), || fs::remove_file(place.at("gone")).unwrap());
    place.write("new/file", "n\nmine\n");
    let changed = place.store.changed_by("s", std::slice::from_ref(&place.root));
    let told: Vec<(&str, &str, bool)> =
        changed.files.iter().map(|file| (file.shown.as_str(), file.what.as_str(), file.changed_since)).collect();
    assert_eq!(
        told,
        [
            ("a", "+2 -1", false),
            ("bytes", "no text", false),
            ("gone", "deleted, +0 -1", false),
            ("new/file", "new, +2 -0", true)
        ]
    );
    let diffs: Vec<Option<&str>> = changed.files.iter().map(|file| file.diff.as_deref()).collect();
    assert_eq!(diffs[0].unwrap(), "--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3\n");
    assert!(diffs[2].unwrap().starts_with("--- a/gone\n+++ /dev/null\n"));
    assert!(diffs[3].unwrap().starts_with("--- /dev/null\n+++ b/new/file\n"));
    assert!(place.store.changed_by("another", &[]).files.is_empty());
}

#[test]
fn a_store_that_cannot_be_written_is_said_once_and_stops_nothing() {
    let place = place();
    fs::write(place.root.parent().unwrap().join("kept"), "in the way").unwrap();
    let begin = || place.checkpoints.begin(&Beginning { session: "s".to_owned(), prompt: "x", conversation: None });
    assert!(begin().unwrap().starts_with("there is no checkpoint to go back to"));
    assert_eq!(begin(), None);
    place.edit("a", "1");
    assert_eq!(place.store.list(), []);
}
