//! The path that was judged is the path that is opened: folders are replaced by links while a hook runs, while the user
//! is asked, or at any moment.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use hookwright_agent::{AgentEvent, ApprovalReply, QuestionEvent, TurnEnd};
use hookwright_testkit::deadline::*;
use hookwright_tools::{ToolContext, ToolDisplay, ToolSet, WebSearchSupport, Workspace};
use serde_json::json;

use super::support::{ScriptedModel, TestAgent, TestProject, tool_call};

/// The folder of the project that is replaced by a link.
const SWAPPED_DIR: &str = "door";

/// Replaces the folder by a link.
fn swap_dir_for_link(project: &Path, target: &str) {
    fs::rename(project.join(SWAPPED_DIR), project.join("old-door")).unwrap();
    symlink(target, project.join(SWAPPED_DIR)).unwrap();
}

fn project_with_git() -> TestProject {
    let project = TestProject::new();
    project.write(".git/hooks/README", "");
    project.write(&format!("{SWAPPED_DIR}/README"), "");
    project
}

fn write_into_swapped_dir() -> ScriptedModel {
    let write =
        tool_call("write_file", json!({"file_path": format!("{SWAPPED_DIR}/pre-commit"), "content": "#!/bin/sh\n"}));
    ScriptedModel::new().answer_with_parts(vec![write]).answer("done")
}

/// Asserts that the only call failed because of a symbolic link.
#[track_caller]
fn assert_refused(stage: &TestAgent) {
    let [(key, text)] = &stage.call_results()[..] else { panic!("{:?}", stage.call_results()) };
    assert!(key == "error" && text.contains("ymbolic link"), "{key}: {text}");
}

#[tokio::test]
async fn a_folder_that_becomes_a_link_while_the_user_is_asked_leads_nowhere() {
    let project = project_with_git();
    let mut stage = project.agent_setup(write_into_swapped_dir()).interactive().start();
    stage.approval_replies.push_back(ApprovalReply::Once);
    let dir = project.project_dir();
    let end = stage.prompt_observed("write", |event, _| {
        if matches!(event, AgentEvent::Question(QuestionEvent::Asked(_))) {
            swap_dir_for_link(&dir, ".git/hooks");
        }
    });
    assert_eq!(end.await, TurnEnd::Answered);
    assert_eq!(stage.approval_requests.len(), 1);
    assert!(!project.exists(".git/hooks/pre-commit"), "the write was sent elsewhere");
    assert_refused(&stage);
}

#[tokio::test]
async fn a_folder_that_becomes_a_link_while_a_hook_thinks_leads_nowhere() {
    let project = project_with_git().hook("BeforeTool", "slow", "mv door old-door && ln -s .git/hooks door");
    let mut stage = project.start_agent(write_into_swapped_dir());
    assert_eq!(stage.prompt("write").await, TurnEnd::Answered);
    assert!(!project.exists(".git/hooks/pre-commit"), "the write was sent elsewhere");
    assert_refused(&stage);
}

#[tokio::test]
async fn a_command_runs_in_the_directory_that_was_judged() {
    let project = TestProject::new().hook("BeforeTool", "slow", "mv door old-door && ln -s ../home door");
    project.write("door/README", "");
    let run = tool_call("run_shell_command", json!({"command": "touch planted", "dir_path": SWAPPED_DIR}));
    let mut stage = project.start_agent(ScriptedModel::new().answer_with_parts(vec![run]).answer("done"));
    assert_eq!(stage.prompt("run").await, TurnEnd::Answered);
    assert!(!project.home_dir().join("planted").exists(), "the command ran elsewhere");
    assert_refused(&stage);
}

/// If a file changes while the user reads the diff, the user is shown the new diff, and only that is written.
#[tokio::test]
async fn a_file_that_changes_under_the_shown_difference_is_shown_again() {
    for (tool, args) in [
        ("write_file", json!({"file_path": "a.txt", "content": "new\n"})),
        ("replace", json!({"file_path": "a.txt", "old_string": "old", "new_string": "new"})),
    ] {
        let project = TestProject::new();
        project.write("a.txt", "old\n");
        let script = ScriptedModel::new().answer_with_parts(vec![tool_call(tool, args)]).answer("done");
        let mut stage = project.agent_setup(script).interactive().start();
        stage.approval_replies.extend([ApprovalReply::Once, ApprovalReply::Deny(None)]);
        let (path, mut asked) = (project.project_dir().join("a.txt"), 0);
        let end = stage.prompt_observed("write", |event, _| {
            if matches!(event, AgentEvent::Question(QuestionEvent::Asked(_))) {
                asked += 1;
                if asked == 1 {
                    fs::write(&path, "the user's work\nold\n").unwrap();
                }
            }
        });
        assert_eq!(end.await, TurnEnd::Answered);
        let shown = |at: usize| match &stage.approval_requests[at].preview {
            Some(ToolDisplay::Diff(diff)) => diff.original.clone().unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!((shown(0).as_str(), shown(1).as_str()), ("old\n", "the user's work\nold\n"), "{tool}");
        assert_eq!(project.read("a.txt"), "the user's work\nold\n", "{tool}");
    }
}

/// Only what the user approved is written, even if a hook or another process changes the file at the last moment.
#[tokio::test]
async fn a_change_that_was_not_shown_is_not_made() {
    let project = TestProject::new();
    project.write("a.txt", "old\n");
    let context = ToolContext::new(Workspace::new(project.project_dir(), []).unwrap());
    let tools = ToolSet::builtin(WebSearchSupport::Unavailable);
    for (tool, args) in [
        ("write_file", json!({"file_path": "a.txt", "content": "new\n"})),
        ("replace", json!({"file_path": "a.txt", "old_string": "old", "new_string": "new"})),
    ] {
        let tool = tools.get(tool).unwrap();
        project.write("a.txt", "old\n");
        let Some(ToolDisplay::Diff(shown)) = tool.preview(&args, &context).await else { panic!("no difference") };
        let allowed = ToolContext { approved_diff: Some(Arc::from(shown)), ..context.clone() };
        project.write("a.txt", "more\nold\n");
        let failure = tool.run(&args, &allowed).await.error.unwrap();
        assert!(failure.message.contains("has changed since"), "{failure:?}");
        assert_eq!(project.read("a.txt"), "more\nold\n");
        project.write("a.txt", "old\n");
        assert!(tool.run(&args, &allowed).await.error.is_none());
        assert_eq!(project.read("a.txt"), "new\n");
    }
}

/// A path that was a link when it was judged is opened at its target of that time.
#[tokio::test]
async fn a_retargeted_link_opens_the_target_that_was_judged() {
    let project = TestProject::new().hook("BeforeTool", "slow", "ln -sfn secret door");
    project.write("public/key", "harmless");
    project.write("secret/key", "top secret");
    symlink("public", project.project_dir().join(SWAPPED_DIR)).unwrap();
    let read = tool_call("read_file", json!({"file_path": "door/key"}));
    let mut stage = project.start_agent(ScriptedModel::new().answer_with_parts(vec![read]).answer("done"));
    assert_eq!(stage.prompt("read").await, TurnEnd::Answered);
    assert_eq!(stage.call_results(), [("output".to_owned(), "harmless".to_owned())]);
}

/// A thread that repeats an action as fast as it can, until it is dropped.
struct PathFlipper {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PathFlipper {
    fn start(flip: impl Fn() + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                flip();
            }
        });
        PathFlipper { stop, thread: Some(thread) }
    }

    /// Swaps the folder and a link to `secret`.
    fn folder_and_link(project: PathBuf) -> Self {
        symlink("secret", project.join("link")).unwrap();
        PathFlipper::start(move || {
            for (from, to) in
                [(SWAPPED_DIR, "plain"), ("link", SWAPPED_DIR), (SWAPPED_DIR, "link"), ("plain", SWAPPED_DIR)]
            {
                fs::rename(project.join(from), project.join(to)).unwrap();
            }
        })
    }

    /// Switches a link between `plain` and `secret`.
    fn two_links(project: PathBuf) -> Self {
        let lead_to = move |target: &str| {
            symlink(target, project.join("next")).unwrap();
            fs::rename(project.join("next"), project.join(SWAPPED_DIR)).unwrap();
        };
        lead_to("plain");
        PathFlipper::start(move || ["secret", "plain"].into_iter().for_each(&lead_to))
    }
}

impl Drop for PathFlipper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join_in_time().unwrap();
        }
    }
}

/// Builds several turns of many calls each, numbered from 1.
fn turns_of_calls(turns: usize, calls: usize, make: impl Fn(usize) -> hookwright_model::Part) -> ScriptedModel {
    (0..turns).fold(ScriptedModel::new(), |script, turn| {
        script.answer_with_parts((0..calls).map(|nth| make(turn * calls + nth + 1)).collect()).answer("next")
    })
}

#[tokio::test]
async fn no_read_passes_a_guard_however_quickly_links_come_and_go() {
    let project = TestProject::new().deny_rule("BeforeTool", "secrets", json!({"reads": ["secret/**"]}));
    project.write("door/key", "harmless");
    project.write("secret/key", "top secret");
    let script = turns_of_calls(6, 50, |nth| match nth % 3 {
        0 => tool_call("read_many_files", json!({"include": ["door/*"], "exclude": [format!("{nth}")]})),
        1 => tool_call(
            "search_file_content",
            json!({"pattern": "top|harm", "dir_path": "door", "total_max_matches": nth}),
        ),
        _ => tool_call("read_file", json!({"file_path": "door/key", "end_line": nth})),
    });
    let mut stage = project.start_agent(script);
    let flipper = PathFlipper::folder_and_link(project.project_dir());
    for _ in 0..6 {
        assert_eq!(stage.prompt("read").await, TurnEnd::Answered);
    }
    drop(flipper);
    let results = stage.call_results();
    assert_eq!(results.len(), 300);
    let passed = results.iter().filter(|(_, text)| text.contains("top secret")).count();
    assert_eq!(passed, 0, "reads that passed the guard");
}

#[tokio::test]
async fn no_write_passes_a_guard_however_quickly_links_come_and_go() {
    let project = TestProject::new().deny_rule("BeforeTool", "secrets", json!({"writes": ["secret/**"]}));
    project.write("plain/README", "");
    project.write("secret/key", "top secret");
    let script = turns_of_calls(4, 25, |nth| {
        tool_call("write_file", json!({"file_path": format!("door/planted-{nth}"), "content": "planted"}))
    });
    let mut stage = project.start_agent(script);
    let flipper = PathFlipper::two_links(project.project_dir());
    for _ in 0..4 {
        assert_eq!(stage.prompt("write").await, TurnEnd::Answered);
    }
    drop(flipper);
    assert_eq!(stage.call_results().len(), 100);
    let found: Vec<_> =
        fs::read_dir(project.project_dir().join("secret")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(found, [project.project_dir().join("secret/key")], "writes that passed the guard");
}

/// A link in a folder does not lead a search of that folder to files that no guard has judged.
#[tokio::test]
async fn a_link_inside_of_what_was_judged_leads_not_out_of_it() {
    let project = TestProject::new().deny_rule("BeforeTool", "secrets", json!({"reads": ["secret/**"]}));
    project.write("docs/a.md", "harmless");
    project.write("secret/key", "top secret");
    symlink("../secret/key", project.project_dir().join("docs/b.md")).unwrap();
    symlink("a.md", project.project_dir().join("docs/c.md")).unwrap();
    let script = ScriptedModel::new()
        .answer_with_parts(vec![
            tool_call("read_many_files", json!({"include": ["docs/*.md"]})),
            tool_call("search_file_content", json!({"pattern": "secret|harmless", "dir_path": "docs"})),
        ])
        .answer("done");
    let mut stage = project.start_agent(script);
    assert_eq!(stage.prompt("read").await, TurnEnd::Answered);
    for (key, text) in stage.call_results() {
        assert!(key == "output" && text.contains("c.md") && !text.contains("top secret"), "{key}: {text}");
    }
}
