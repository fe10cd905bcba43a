use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use hookwright_tools::Workspace;
use serde_json::{Map, Value, json};

use super::*;
use crate::protect::ProtectedPaths;

/// A project, a store beside it, and a session's recorder.
struct CheckpointFixture {
    _folder: tempfile::TempDir,
    root: PathBuf,
    store: CheckpointStore,
    checkpoints: CheckpointRecorder,
    workspace: Arc<Workspace>,
}

fn checkpoint_fixture() -> CheckpointFixture {
    checkpoint_fixture_with(retention::MAX_STORED_BYTES)
}

/// Creates a fixture whose store is limited to this size.
fn checkpoint_fixture_with(most_bytes: u64) -> CheckpointFixture {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let root = top.join("project");
    fs::create_dir(&root).unwrap();
    let mut store = CheckpointStore::in_folder(top.join("kept"));
    store.max_stored_bytes = most_bytes;
    let checkpoints = CheckpointRecorder::new(store.clone(), true, top.clone());
    let workspace = Arc::new(Workspace::new(&root, []).unwrap());
    CheckpointFixture { _folder: folder, root, store, checkpoints, workspace }
}

impl CheckpointFixture {
    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn begin_numbered_turn(&self, prompt: &str) -> u64 {
        self.begin(prompt);
        self.store.list().last().unwrap().number
    }

    fn begin(&self, prompt: &str) {
        let begun = self.checkpoints.begin_turn(&TurnStart { session: "s".to_owned(), prompt, conversation: None });
        assert_eq!(begun, None);
    }

    /// Sets the age of all contents to two hours.
    fn age_contents(&self) {
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
        for folder in fs::read_dir(self.store.contents_dir()).unwrap().flatten() {
            for file in fs::read_dir(folder.path()).unwrap().flatten() {
                fs::File::options().append(true).open(file.path()).unwrap().set_modified(then).unwrap();
            }
        }
    }

    /// Runs a call with this effect.
    fn run_call(&self, tool: &str, args: &Value, does: impl FnOnce()) {
        let args: Map<String, Value> = args.as_object().unwrap().clone();
        let is_protected = |path: &Path| path.ends_with("guard.sh");
        let touching = MutatingCall { tool, args: &args, workspace: &self.workspace, is_protected: &is_protected };
        let (pending, trouble) = self.checkpoints.before_call(&touching);
        assert_eq!(trouble, None);
        does();
        if let Some(pending) = pending {
            assert_eq!(self.checkpoints.after_call(&pending, &touching), None);
        }
    }

    fn run_shell(&self, command: &str) {
        self.run_call("run_shell_command", &json!({"command": command}), || {
            let done = std::process::Command::new("sh")
                .args(["-c", command])
                .current_dir(&self.root)
                .status_in_time()
                .unwrap();
            assert!(done.success(), "{command}");
        });
    }

    fn edit_file(&self, name: &str, text: &str) {
        self.run_call("write_file", &json!({"file_path": name, "content": text}), || {
            self.write(name, text);
        });
    }

    fn restore(&self, number: u64, since: ConflictPolicy) -> RestoreReport {
        self.with_restore_roots(|roots| self.store.restore(number, RestoreScope::Files, since, roots, None)).unwrap()
    }

    fn plan(&self, number: u64) -> RestorePlan {
        self.with_restore_roots(|roots| self.store.plan(number, roots)).unwrap()
    }

    fn with_restore_roots<T>(&self, act: impl FnOnce(&RestoreRoots<'_>) -> T) -> T {
        act(&RestoreRoots { folders: std::slice::from_ref(&self.root), protected: &ProtectedPaths::default() })
    }
}

#[test]
fn restore_brings_back_changed_new_and_deleted_files() {
    let place = checkpoint_fixture();
    place
        .write("a.txt", "one\n")
        .write("gone.txt", "gone\n")
        .write("bin", [0, 159, 146, 150])
        .write("run.sh", "#!/bin/sh\n");
    fs::set_permissions(place.path("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("a.txt", place.path("link")).unwrap();
    let turn = place.begin_numbered_turn("do it all");
    place.edit_file("a.txt", "two\n");
    place.edit_file("a.txt", "three\n");
    place.edit_file("new/deep/b.txt", "new\n");
    place.run_shell("rm gone.txt link && printf x > bin && chmod 600 run.sh && echo more >> run.sh");
    let restored = place.restore(turn, ConflictPolicy::Keep);
    assert_eq!(restored.skipped, []);
    assert_eq!((place.read("a.txt"), place.read("gone.txt")), ("one\n".to_owned(), "gone\n".to_owned()));
    assert_eq!(fs::read(place.path("bin")).unwrap(), [0, 159, 146, 150]);
    assert!(!place.path("new").exists(), "folders that were made for it go with it");
    assert_eq!(fs::read_link(place.path("link")).unwrap(), Path::new("a.txt"));
    assert_eq!(fs::metadata(place.path("run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    // The restore can be undone.
    let again = place.restore(restored.undo_checkpoint, ConflictPolicy::Keep);
    assert_eq!(again.skipped, []);
    assert_eq!((place.read("a.txt"), place.read("new/deep/b.txt")), ("three\n".to_owned(), "new\n".to_owned()));
    assert!(!place.path("gone.txt").exists() && place.path("link").symlink_metadata().is_err());
}

#[test]
fn restoring_two_turns_back_undoes_both() {
    let place = checkpoint_fixture();
    place.write("a", "0").write("b", "0");
    let first = place.begin_numbered_turn("one");
    place.edit_file("a", "1");
    let second = place.begin_numbered_turn("two");
    place.edit_file("a", "2");
    place.edit_file("b", "2");
    assert_eq!(place.plan(second).changes.len(), 2);
    place.restore(second, ConflictPolicy::Keep);
    assert_eq!((place.read("a"), place.read("b")), ("1".to_owned(), "0".to_owned()));
    place.restore(first, ConflictPolicy::Keep);
    assert_eq!(place.read("a"), "0");
}

#[test]
fn restore_reports_and_keeps_later_user_changes() {
    let place = checkpoint_fixture();
    place.write("a", "0\n").write("b", "0\n");
    let turn = place.begin_numbered_turn("one");
    place.edit_file("a", "1\n");
    place.edit_file("b", "1\n");
    place.write("a", "mine\n");
    let plan = place.plan(turn);
    let since: Vec<_> =
        plan.changes.iter().map(|change| (change.display_path.as_str(), change.changed_since)).collect();
    assert_eq!(since, [("a", true), ("b", false)]);
    assert!(plan.changes[0].diff.as_ref().unwrap().contains("-mine\n+0\n"));
    let restored = place.restore(turn, ConflictPolicy::Keep);
    assert_eq!(restored.skipped, [("a".to_owned(), RestoreSkip::ChangedSince)]);
    assert_eq!((place.read("a"), place.read("b")), ("mine\n".to_owned(), "0\n".to_owned()));
    let undo = place.restore(turn, ConflictPolicy::Overwrite).undo_checkpoint;
    assert_eq!(place.read("a"), "0\n");
    place.restore(undo, ConflictPolicy::Keep);
    assert_eq!(place.read("a"), "mine\n", "what was overwritten comes back");
}

#[test]
fn project_scan_covers_commands_with_unknown_effects() {
    let place = checkpoint_fixture();
    place.write("src/a.txt", "one\n").write("keep.txt", "same\n").write(".gitignore", "out/\n").write("out/big", "x");
    place.write("build.sh", "echo two > src/a.txt; mkdir -p gen; echo new > gen/b; rm keep.txt; echo y > out/big\n");
    fs::create_dir(place.path(".git")).unwrap();
    let turn = place.begin_numbered_turn("build");
    place.run_shell("sh build.sh");
    let changed: Vec<_> = place.plan(turn).changes.into_iter().map(|change| change.display_path).collect();
    assert_eq!(changed, ["gen/b", "keep.txt", "src/a.txt"]);
    assert_eq!(place.restore(turn, ConflictPolicy::Keep).skipped, []);
    assert_eq!((place.read("src/a.txt"), place.read("keep.txt")), ("one\n".to_owned(), "same\n".to_owned()));
    assert!(!place.path("gen").exists());
}

#[test]
fn restore_recreates_deleted_folders() {
    let place = checkpoint_fixture();
    place.write("src/a/b.txt", "b").write("src/c.txt", "c").write("old/x", "x");
    let turn = place.begin_numbered_turn("clean up");
    place.run_shell("rm -rf src && cp -r old new");
    assert!(!place.path("src").exists());
    assert_eq!(place.restore(turn, ConflictPolicy::Keep).skipped, []);
    assert_eq!((place.read("src/a/b.txt"), place.read("src/c.txt")), ("b".to_owned(), "c".to_owned()));
    assert!(!place.path("new").exists());
}

#[test]
fn unrecorded_files_are_noted() {
    let place = checkpoint_fixture();
    place.write("big", vec![b'x'; 9 << 20]).write("guard.sh", "exit 2\n");
    let outside = place.root.parent().unwrap().join("outside");
    let turn = place.begin_numbered_turn("everything");
    place.run_shell(&format!("echo x > big; echo x > guard.sh; echo x > {}", outside.display()));
    let plan = place.plan(turn);
    let notes = plan.notes.join("\n");
    for words in
        ["big is not kept: too large (9.4 MB)", "guard.sh is not kept: guards are made of it", "outside of the project"]
    {
        assert!(notes.contains(words), "{words}: {notes}");
    }
    assert!(plan.changes.iter().all(|change| !change.action.has_effect()), "{plan:?}");
    assert_eq!(place.restore(turn, ConflictPolicy::Overwrite).files, Vec::<String>::new());
    assert_eq!(place.read("guard.sh"), "x\n");
}

#[test]
fn tampered_checkpoint_restores_nothing_outside() {
    let place = checkpoint_fixture();
    place.write("a", "0");
    fs::create_dir_all(place.path(".git")).unwrap();
    let turn = place.begin_numbered_turn("one");
    place.edit_file("a", "1");
    let elsewhere = place.root.parent().unwrap().join("elsewhere");
    let file = place.root.parent().unwrap().join(format!("kept/{turn:06}.json"));
    let text = fs::read_to_string(&file).unwrap();
    let own = place.path("a").display().to_string();
    for other in [
        elsewhere.display().to_string(),
        format!("{}/../elsewhere", place.root.display()),
        place.path(".git/config").display().to_string(),
        place.root.display().to_string(),
        "a".to_owned(),
    ] {
        fs::write(&file, text.replace(&own, &other)).unwrap();
        let restored = place.restore(turn, ConflictPolicy::Overwrite);
        assert_eq!(restored.files, Vec::<String>::new(), "{other}");
    }
    assert!(!elsewhere.exists() && !place.path(".git/config").exists());
    fs::write(&file, "{").unwrap();
    assert!(matches!(place.store.read(turn), Err(CheckpointError::Broken { .. })));
    place.store.list();
}

#[test]
fn changed_stored_contents_are_refused() {
    let place = checkpoint_fixture();
    place.write("a", "0");
    let turn = place.begin_numbered_turn("one");
    place.edit_file("a", "1");
    let contents = place.root.parent().unwrap().join("kept/contents");
    let file = fs::read_dir(&contents).unwrap().next().unwrap().unwrap().path();
    let file = fs::read_dir(file).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&contents).unwrap().permissions().mode() & 0o777, 0o700);
    fs::write(&file, "evil").unwrap();
    assert_eq!(place.restore(turn, ConflictPolicy::Overwrite).files, Vec::<String>::new());
    assert_eq!(place.read("a"), "1");
}

#[test]
fn restore_does_not_follow_planted_symlinks() {
    let place = checkpoint_fixture();
    place.write("dir/a", "0").write("f", "0");
    let turn = place.begin_numbered_turn("one");
    place.edit_file("dir/a", "1");
    place.edit_file("f", "1");
    let elsewhere = place.root.parent().unwrap().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("a"), "theirs").unwrap();
    fs::rename(place.path("dir"), place.path("moved")).unwrap();
    symlink(&elsewhere, place.path("dir")).unwrap();
    fs::remove_file(place.path("f")).unwrap();
    symlink(elsewhere.join("a"), place.path("f")).unwrap();
    place.restore(turn, ConflictPolicy::Overwrite);
    assert_eq!(fs::read_to_string(elsewhere.join("a")).unwrap(), "theirs");
    assert_eq!(place.read("f"), "0");
    assert!(place.path("f").symlink_metadata().unwrap().is_file(), "the link was replaced, not followed");
}

/// Restoring a link does not redirect the other files of the plan.
#[test]
fn restored_symlink_target_is_left_alone() {
    let place = checkpoint_fixture();
    place.write("a", "#!/bin/sh\n").write(".git/hooks/README", "").write(".git/hooks/kept", "kept");
    let turn = place.begin_numbered_turn("one");
    place.edit_file("a", "1");
    let record = place.root.parent().unwrap().join(format!("kept/{turn:06}.json"));
    let mut kept: Value = serde_json::from_str(&fs::read_to_string(&record).unwrap()).unwrap();
    let script = kept["files"][0]["before"].clone();
    let missing = json!({"is": "missing"});
    let at = |name: &str| place.path(name).display().to_string();
    kept["files"] = json!([
        {"path": at("d"), "before": {"is": "link", "to": ".git/hooks"}, "after": missing},
        {"path": at("d/kept"), "before": missing, "after": script},
        {"path": at("d/pre-commit"), "before": {"is": "link", "to": "../../a"}, "after": missing},
        {"path": at("d/pre-push"), "before": script, "after": missing},
    ]);
    fs::write(&record, kept.to_string()).unwrap();
    let restored = place.restore(turn, ConflictPolicy::Overwrite);
    let mut found: Vec<_> =
        fs::read_dir(place.path(".git/hooks")).unwrap().map(|one| one.unwrap().file_name()).collect();
    found.sort();
    assert_eq!(found, ["README", "kept"], "{restored:?}");
    assert_eq!(restored.skipped.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["d"]);
}

/// A folder that becomes a link after the plan was made: nothing behind it is deleted, written or linked.
#[test]
fn restore_refuses_paths_that_changed_after_the_plan() {
    let place = checkpoint_fixture();
    place.write("d/changed", "0").write("d/gone", "0").write("guards/new", "guard").write("guards/changed", "guard");
    symlink("gone", place.path("d/link")).unwrap();
    let turn = place.begin_numbered_turn("one");
    place.edit_file("d/changed", "1");
    place.edit_file("d/new", "1");
    place.run_shell("rm d/gone d/link");
    let plan = place.plan(turn);
    assert_eq!(plan.changes.len(), 4);
    fs::rename(place.path("d"), place.path("old")).unwrap();
    symlink("guards", place.path("d")).unwrap();
    for change in &plan.changes {
        assert!(place.store.apply_change(change, ConflictPolicy::Overwrite).is_err(), "{}", change.display_path);
    }
    assert_eq!(fs::read_dir(place.path("guards")).unwrap().count(), 2);
    assert_eq!((place.read("guards/new"), place.read("guards/changed")), ("guard".to_owned(), "guard".to_owned()));
    fs::remove_file(place.path("d")).unwrap();
    fs::rename(place.path("old"), place.path("d")).unwrap();
    place.write("d/changed", "somebody else's");
    let changed = plan.changes.iter().find(|change| change.display_path == "d/changed").unwrap();
    assert!(place.store.apply_change(changed, ConflictPolicy::Overwrite).is_err(), "nobody was shown that");
}

#[test]
fn restore_keeps_private_file_mode() {
    let place = checkpoint_fixture();
    place.write("key", "secret");
    fs::set_permissions(place.path("key"), fs::Permissions::from_mode(0o600)).unwrap();
    let mode = || fs::metadata(place.path("key")).unwrap().permissions().mode() & 0o777;
    for change in ["rm key", "chmod 644 key && echo x >key", "chmod 644 key"] {
        let turn = place.begin_numbered_turn(change);
        place.run_shell(change);
        assert_eq!(place.restore(turn, ConflictPolicy::Keep).skipped, [], "{change}");
        assert_eq!((place.read("key").as_str(), mode()), ("secret", 0o600), "{change}");
    }
}

#[test]
fn folder_in_place_of_a_file_is_kept() {
    let place = checkpoint_fixture();
    place.write("a", "0");
    let turn = place.begin_numbered_turn("one");
    place.edit_file("a", "1");
    fs::remove_file(place.path("a")).unwrap();
    place.write("a/precious", "p");
    let restored = place.restore(turn, ConflictPolicy::Overwrite);
    assert_eq!((restored.files.len(), restored.skipped.len()), (0, 1));
    assert_eq!(place.read("a/precious"), "p");
}

/// Returns the first and the last prompt that are kept.
fn end_turn(place: &CheckpointFixture) -> (String, String) {
    let all = place.store.list();
    (all[0].prompt.clone(), all[all.len() - 1].prompt.clone())
}

#[test]
fn oldest_checkpoints_are_pruned_at_intervals() {
    let place = checkpoint_fixture();
    let turns = |from: usize, to: usize| (from..to).for_each(|number| place.begin(&format!("turn {number}")));
    turns(0, retention::MAX_CHECKPOINTS + retention::PRUNE_INTERVAL_TURNS);
    assert_eq!(end_turn(&place), ("turn 0".to_owned(), "turn 215".to_owned()));
    turns(216, 217);
    assert_eq!(end_turn(&place), ("turn 17".to_owned(), "turn 216".to_owned()));
    assert_eq!(place.store.list().len(), retention::MAX_CHECKPOINTS);
}

/// A session that only asks questions does not displace recorded files.
#[test]
fn empty_checkpoints_are_pruned_first() {
    let place = checkpoint_fixture();
    let turn = place.begin_numbered_turn("changes a file");
    place.edit_file("a", "1");
    place.checkpoints.end_turn();
    // A note on an unrecorded change applies to every turn before it.
    place.begin("changes what is not kept");
    place.run_call("write_file", &json!({"file_path": "guard.sh", "content": "x"}), || ());
    let warned = place.plan(turn).notes;
    assert!(!warned.is_empty());
    (0..600).for_each(|number| place.begin(&format!("turn {number}")));
    let all = place.store.list();
    assert_eq!((all[0].number, all[1].number), (turn, turn + 1));
    assert_eq!(place.plan(turn).notes, warned);
    assert!(all.len() <= retention::MAX_CHECKPOINTS + retention::PRUNE_INTERVAL_TURNS, "{}", all.len());
    place.restore(turn, ConflictPolicy::Keep);
    assert!(!place.path("a").exists());
}

/// Unreadable records are removed with others of their age, so that they do not cause pruning in every turn.
#[test]
fn broken_records_are_pruned() {
    let place = checkpoint_fixture();
    (0..40).for_each(|number| place.begin(&format!("turn {number}")));
    for record in place.store.list() {
        fs::write(place.store.record_path(record.number), "{").unwrap();
    }
    (0..retention::MAX_CHECKPOINTS + retention::PRUNE_INTERVAL_TURNS)
        .for_each(|number| place.begin(&format!("turn {number}")));
    assert!(
        place.store.numbers().len() < retention::MAX_CHECKPOINTS + retention::PRUNE_INTERVAL_TURNS,
        "{}",
        place.store.numbers().len()
    );
}

/// A recent turn can be undone, however many checkpoints have files.
#[test]
fn recent_empty_checkpoints_are_kept() {
    let place = checkpoint_fixture();
    for number in 0..retention::MAX_CHECKPOINTS + 60 {
        place.begin(&format!("edit {number}"));
        place.edit_file("a", &number.to_string());
        place.checkpoints.end_turn();
    }
    (0..20).for_each(|number| place.begin(&format!("turn {number}")));
    let kept = place.store.list();
    assert_eq!(kept.iter().filter(|checkpoint| checkpoint.prompt.starts_with("turn")).count(), 20);
}

/// Returns the total size of all contents.
fn stored_bytes(place: &CheckpointFixture) -> u64 {
    let folders = fs::read_dir(place.store.contents_dir()).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path()).unwrap().flatten());
    files.map(|file| file.metadata().unwrap().len()).sum()
}

#[test]
fn stored_bytes_stay_within_the_limit() {
    let place = checkpoint_fixture_with(30_000);
    place.write("a", "0".repeat(10_000));
    for number in 1..=9_u8 {
        place.begin_numbered_turn(&format!("turn {number}"));
        place.edit_file("a", &number.to_string().repeat(10_000));
        place.checkpoints.end_turn();
        // Contents of pruned checkpoints are kept for an hour, as another session may reference them.
        place.age_contents();
    }
    place.begin_numbered_turn("last");
    place.edit_file("a", "x");
    place.checkpoints.end_turn();
    assert!(stored_bytes(&place) <= 30_000, "{}", stored_bytes(&place));
    let all = place.store.list();
    assert_eq!((all.first().unwrap().prompt.as_str(), all.len()), ("turn 8", 3));
    place.restore(all[0].number, ConflictPolicy::Overwrite);
    assert_eq!(place.read("a"), "7".repeat(10_000));
}

#[test]
fn unreferenced_contents_are_removed_first() {
    let place = checkpoint_fixture_with(30_000);
    for number in 0..9_u8 {
        // A script may change anything, so the whole project is stored, and none of it is referenced by the turn.
        place.write("big", number.to_string().repeat(20_000));
        place.begin_numbered_turn(&format!("turn {number}"));
        place.run_call("run_shell_command", &json!({"command": "./anything.sh"}), || {
            place.write("small", [number]);
        });
        place.checkpoints.end_turn();
        assert!(stored_bytes(&place) <= 30_000, "{number}: {}", stored_bytes(&place));
    }
    assert_eq!(place.store.list().len(), 9, "no turn had to go");
}

#[test]
fn recent_unreferenced_contents_are_kept() {
    let place = checkpoint_fixture_with(30_000);
    let others = CheckpointRecorder::new(place.store.clone(), true, place.root.clone());
    place.write("a", "a".repeat(20_000)).write("b", "b".repeat(20_000));
    let begun = others.begin_turn(&TurnStart { session: "t".to_owned(), prompt: "x", conversation: None });
    assert_eq!(begun, None);
    let args: Map<String, Value> = json!({"command": "./anything.sh"}).as_object().unwrap().clone();
    let touching =
        MutatingCall { tool: "run_shell_command", args: &args, workspace: &place.workspace, is_protected: &|_| false };
    let (pending, _) = others.before_call(&touching);
    place.begin_numbered_turn("mine");
    place.edit_file("c", "1");
    place.checkpoints.end_turn();
    place.write("a", "changed");
    assert_eq!(others.after_call(&pending.unwrap(), &touching), None);
    let theirs = place.store.list().into_iter().find(|one| one.session == "t").unwrap().number;
    place.restore(theirs, ConflictPolicy::Overwrite);
    assert_eq!(place.read("a"), "a".repeat(20_000));
}

#[test]
fn session_changes_start_before_the_first_turn() {
    let place = checkpoint_fixture();
    place.write("a", "one\ntwo\n").write("gone", "was\n").write("same", "s\n").write("bytes", [0, 159]);
    place.begin_numbered_turn("one");
    place.edit_file("a", "one\n2\n");
    place.edit_file("new/file", "n\n");
    place.edit_file("same", "other\n");
    place.begin_numbered_turn("two");
    place.edit_file("a", "one\n2\n3\n");
    place.edit_file("same", "s\n");
    place.edit_file("bytes", "text\n");
    place
        .run_call("run_shell_command", &json!({"command": "rm gone"}), || fs::remove_file(place.path("gone")).unwrap());
    place.write("new/file", "n\nmine\n");
    let changed = place.store.session_changes("s", std::slice::from_ref(&place.root));
    let told: Vec<(&str, &str, bool)> = changed
        .files
        .iter()
        .map(|file| (file.display_path.as_str(), file.summary.as_str(), file.changed_since))
        .collect();
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
    assert!(place.store.session_changes("another", &[]).files.is_empty());
}

#[test]
fn unwritable_store_warns_once_and_blocks_nothing() {
    let place = checkpoint_fixture();
    fs::write(place.root.parent().unwrap().join("kept"), "in the way").unwrap();
    let begin =
        || place.checkpoints.begin_turn(&TurnStart { session: "s".to_owned(), prompt: "x", conversation: None });
    assert!(begin().unwrap().starts_with("there is no checkpoint to go back to"));
    assert_eq!(begin(), None);
    place.edit_file("a", "1");
    assert_eq!(place.store.list(), []);
}
