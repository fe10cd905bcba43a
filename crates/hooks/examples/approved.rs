//! Measures what the rules of a file decide about commands, against the verdicts of files of commands.
//!
//! ```text
//! approved RULES.json F.jsonl… [--list allow|block[:OUTCOME]] [--project DIR] [--home DIR]
//! ```
//! A line of a file of commands is `{"command": …, "expect": "allow" | "block"}`. Every blocked command that is
//! approved is printed. `--list allow` prints the allowed commands that are neither approved nor confined,
//! `--list allow:denied` those with that outcome.
//!
//! | outcome | |
//! |---|---|
//! | `approved` | runs without a question |
//! | `confined` | runs confined, without a question of a rule that approves it |
//! | `kept` | runs as it would without the rules, but the kernel keeps it from what guards forbid |
//! | `asked`, `denied` | |
//! | `untouched` | no rule says anything |

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a tool for people who write rules")]

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use hookwright_hooks::{
    BeforeTool, BeforeToolVerdict, HookEngine, Layer, Registry, RequestedBy, Session, Source, parse_layer,
};
use serde_json::{Map, Value};

type Failure = Box<dyn std::error::Error>;

/// What rules decide about a command, in the order of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandOutcome {
    Approved,
    Confined,
    Kept,
    Asked,
    Denied,
    Untouched,
}

impl CommandOutcome {
    const COLUMNS: [CommandOutcome; 5] = [
        CommandOutcome::Approved,
        CommandOutcome::Confined,
        CommandOutcome::Kept,
        CommandOutcome::Asked,
        CommandOutcome::Denied,
    ];

    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

#[derive(Default)]
struct Counts(Vec<CommandOutcome>);

impl Counts {
    fn print(&self, name: &str, verdict: &str) {
        let columns = CommandOutcome::COLUMNS.map(|column| {
            let count = self.0.iter().filter(|one| **one == column).count();
            let share = 100.0 * count as f64 / self.0.len().max(1) as f64;
            format!("{count:>6}{share:>6.1}%")
        });
        println!("{name:<14}{verdict:>8}{:>8}{}", self.0.len(), columns.concat());
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let (mut files, mut list) = (Vec::new(), None);
    let (mut project, mut home) = (std::env::temp_dir().join("approved-project"), PathBuf::from("/home/test"));
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--list" => list = args.next(),
            "--project" => project = args.next().ok_or("--project: no directory")?.into(),
            "--home" => home = args.next().ok_or("--home: no directory")?.into(),
            file => files.push(PathBuf::from(file)),
        }
    }
    let [rules, corpora @ ..] = files.as_slice() else { return Err("no file of rules".into()) };
    std::fs::create_dir_all(&project)?;
    let engine = engine(rules, &project, &home)?;
    let columns = CommandOutcome::COLUMNS.map(|column| format!("{:>13}", column.name()));
    println!("{:<14}{:>8}{:>8}{}", "corpus", "verdict", "count", columns.concat());
    let (mut all_allow, mut all_block) = (Counts::default(), Counts::default());
    for corpus in corpora {
        let (mut allow, mut block) = (Counts::default(), Counts::default());
        let mut lines = Vec::new();
        for line in std::fs::read_to_string(corpus)?.lines() {
            let row: Value = serde_json::from_str(line)?;
            let (Some(command), Some(expect)) = (row["command"].as_str(), row["expect"].as_str()) else { continue };
            let (outcome, hooks) = decide(&engine, command).await;
            let counts = if expect == "allow" { &mut allow } else { &mut block };
            counts.0.push(outcome);
            let is_wrong = expect == "block" && outcome == CommandOutcome::Approved;
            if is_wrong || is_listed(list.as_deref(), expect, outcome) {
                lines.push(format!("{expect:<6}{:<10}{command:?} {}", outcome.name(), hooks.join(", ")));
            }
        }
        let name = corpus.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        allow.print(&name, "allow");
        block.print(&name, "block");
        all_allow.0.extend(allow.0);
        all_block.0.extend(block.0);
        lines.iter().for_each(|line| println!("{line}"));
    }
    all_allow.print("all", "allow");
    all_block.print("all", "block");
    Ok(())
}

fn is_listed(list: Option<&str>, expect: &str, outcome: CommandOutcome) -> bool {
    let runs = [CommandOutcome::Approved, CommandOutcome::Confined];
    match list.map(|list| list.split_once(':').unwrap_or((list, ""))) {
        None => false,
        Some((verdict, "")) => verdict == expect && !runs.contains(&outcome),
        Some((verdict, wanted)) => verdict == expect && outcome.name() == wanted,
    }
}

/// An engine with the rules as the user's.
fn engine(rules: &Path, project: &Path, home: &Path) -> Result<HookEngine, Failure> {
    let text = std::fs::read_to_string(rules)?;
    let declared = parse_layer(&Layer::new(Source::User, rules, &text));
    if let Some(wrong) = declared.diagnostics.first() {
        return Err(wrong.to_string().into());
    }
    let session = Session {
        id: "approved".into(),
        transcript_path: PathBuf::new(),
        cwd: project.to_owned(),
        project_dir: project.to_owned(),
        plans_dir: PathBuf::new(),
    };
    let env = vec![("HOME".into(), home.into())];
    // As under another agent: what is certain is not confined.
    let enforce = r#"{"hooksConfig": {"enforce": "doubt"}}"#;
    let config = parse_layer(&Layer::new(Source::System, Path::new("settings.json"), enforce));
    Ok(HookEngine::builder(Registry::new(vec![declared, config])).session(session).environment(env).build())
}

/// What the rules decide about a command, and the names of those that did.
async fn decide(engine: &HookEngine, command: &str) -> (CommandOutcome, Vec<String>) {
    let args = Map::from_iter([("command".to_owned(), Value::from(command))]);
    let call = BeforeTool {
        tool_name: "run_shell_command".into(),
        tool_input: Cow::Owned(args),
        mcp_context: None,
        original_request_name: None,
        tool_use_id: None,
        requested_by: RequestedBy::Model,
    };
    let outcome = engine.fire(&call).await;
    let merged = outcome.merged;
    let is_approved = !merged.approved_by.is_empty();
    let decision = match outcome.verdict {
        BeforeToolVerdict::Proceed { .. } if is_approved => return (CommandOutcome::Approved, merged.approved_by),
        BeforeToolVerdict::Proceed { .. } if merged.enforced.is_empty() => CommandOutcome::Untouched,
        BeforeToolVerdict::Proceed { .. } => {
            return (CommandOutcome::Kept, merged.enforced.into_iter().map(|one| one.hook).collect());
        }
        BeforeToolVerdict::Confine { .. } if is_approved => CommandOutcome::Confined,
        BeforeToolVerdict::Confine { .. } => CommandOutcome::Kept,
        BeforeToolVerdict::Ask { .. } => CommandOutcome::Asked,
        _ => CommandOutcome::Denied,
    };
    (decision, merged.decided_by)
}
