//! Measures which commands the allowing rules of a file approve, against the verdicts of files of commands.
//!
//! ```text
//! approved RULES.json F.jsonl… [--list allow|block] [--project DIR] [--home DIR]
//! ```
//! A line of a file of commands is `{"command": …, "expect": "allow" | "block"}`. Every blocked command that is
//! approved is printed; `--list allow` prints the allowed commands that are not.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a tool for people who write rules")]

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use hookwright_hooks::{BeforeTool, HookEngine, Layer, Registry, RequestedBy, Session, Source, parse_layer};
use serde_json::{Map, Value};

type Failure = Box<dyn std::error::Error>;

#[derive(Default)]
struct Counts {
    all: usize,
    approved: usize,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.all += other.all;
        self.approved += other.approved;
    }

    fn print(&self, name: &str, verdict: &str) {
        let share = 100.0 * self.approved as f64 / self.all.max(1) as f64;
        println!("{name:<14}{verdict:>8}{:>8}{:>10}{share:>7.1}%", self.all, self.approved);
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
    println!("{:<14}{:>8}{:>8}{:>10}{:>8}", "corpus", "verdict", "count", "approved", "");
    let (mut all_allow, mut all_block) = (Counts::default(), Counts::default());
    for corpus in corpora {
        let (mut allow, mut block) = (Counts::default(), Counts::default());
        let mut lines = Vec::new();
        for line in std::fs::read_to_string(corpus)?.lines() {
            let row: Value = serde_json::from_str(line)?;
            let (Some(command), Some(expect)) = (row["command"].as_str(), row["expect"].as_str()) else { continue };
            let approved = is_approved(&engine, command).await;
            let counts = if expect == "allow" { &mut allow } else { &mut block };
            counts.all += 1;
            counts.approved += usize::from(approved);
            let is_missed = expect == "allow" && !approved && list.as_deref() == Some("allow");
            if is_missed || (expect == "block" && approved) {
                lines.push(format!("{expect:<6}{command:?}"));
            }
        }
        let name = corpus.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        allow.print(&name, "allow");
        block.print(&name, "block");
        all_allow.add(&allow);
        all_block.add(&block);
        lines.iter().for_each(|line| println!("{line}"));
    }
    all_allow.print("all", "allow");
    all_block.print("all", "block");
    Ok(())
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
    Ok(HookEngine::builder(Registry::new(vec![declared])).session(session).environment(env).build())
}

async fn is_approved(engine: &HookEngine, command: &str) -> bool {
    let args = Map::from_iter([("command".to_owned(), Value::from(command))]);
    let call = BeforeTool {
        tool_name: "run_shell_command".into(),
        tool_input: Cow::Owned(args),
        mcp_context: None,
        original_request_name: None,
        tool_use_id: None,
        requested_by: RequestedBy::Model,
    };
    !engine.fire(&call).await.merged.approved_by.is_empty()
}
