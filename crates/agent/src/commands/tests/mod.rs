//! Tests of custom commands in a temporary project: real files, a real shell, a scripted user.

mod docs;
mod files;
mod shell;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use hookwright_hooks::{HookEngine, Registry, Source};
use hookwright_model::{AnyModel, Content, GenerationConfig, Offline, Part};
use hookwright_settings::commands::{CustomCommand, CustomCommands};
use hookwright_tools::{ShellCommandOptions, ToolContext, ToolSet, WebSearchSupport, Workspace};
use tokio_util::sync::CancellationToken;

use super::{CommandError, CommandInvocation, check_command, parse_invocation};
use crate::scope::TurnScope;
use crate::{
    AgentEvent, AgentNotice, Answer, ApprovalMode, ApprovalReply, Approvals, EventSender, EventStream, Interaction,
    ModelGateway, Policy, Question, QuestionEvent, QuestionSubject, RequestBudget, Services,
};

/// A project, its approval rules, and the replies of the user.
struct CommandCase {
    dir: tempfile::TempDir,
    mode: ApprovalMode,
    allowed: Vec<String>,
    policy: Policy,
    replies: Option<Vec<ApprovalReply>>,
    tools: ToolSet,
    limits: ShellCommandOptions,
    hooks: HookEngine,
    more_roots: Vec<std::path::PathBuf>,
    cancel: CancellationToken,
}

/// The result of an expansion.
struct CommandCaseRun {
    result: Result<Vec<Part>, CommandError>,
    /// The commands that the user was asked to approve.
    approvals: Vec<String>,
    notes: Vec<String>,
    warnings: Vec<String>,
}

impl CommandCaseRun {
    fn text(&self) -> String {
        Content::user(self.result.clone().unwrap()).text()
    }

    fn error(&self) -> CommandError {
        self.result.clone().unwrap_err()
    }
}

/// Creates a case in which every command runs without approval.
fn yolo(files: &[(&str, &str)]) -> CommandCase {
    let dir = tempfile::tempdir().unwrap();
    hookwright_testkit::watchdog::watch();
    let case = CommandCase {
        dir,
        mode: ApprovalMode::Yolo,
        allowed: Vec::new(),
        policy: Policy::default(),
        replies: None,
        tools: ToolSet::builtin(WebSearchSupport::Unavailable),
        limits: ShellCommandOptions::default(),
        hooks: HookEngine::builder(Registry::default()).build(),
        more_roots: Vec::new(),
        cancel: CancellationToken::new(),
    };
    for (path, text) in files {
        case.write(path, text.as_bytes());
    }
    case
}

/// Creates a headless case in which every command needs approval.
fn headless(files: &[(&str, &str)]) -> CommandCase {
    CommandCase { mode: ApprovalMode::Default, ..yolo(files) }
}

/// Creates a case in which every command needs approval and the user gives these replies; then the token cancels.
fn interactive(replies: &[ApprovalReply]) -> CommandCase {
    CommandCase { replies: Some(replies.to_vec()), ..headless(&[]) }
}

impl CommandCase {
    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn has(&self, path: &str) -> bool {
        self.dir.path().join(path).exists()
    }

    /// Expands `/test ARGS`.
    async fn run(&self, prompt: &str, args: &str) -> CommandCaseRun {
        let command = command("test", prompt, Path::new("/nowhere/test.toml"));
        let (services, mut events) = self.services();
        let (answers, channel) = (services.events.clone(), services.events.clone());
        let mut replies = self.replies.clone().unwrap_or_default().into_iter();
        let cancel = self.cancel.clone();
        let screen = tokio::spawn(async move {
            let (mut asked, mut notes, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
            while let Some(event) = events.recv().await {
                match event {
                    AgentEvent::Question(QuestionEvent::Asked(Question {
                        id,
                        subject: QuestionSubject::Approval(request),
                    })) => {
                        asked.push(request.description.clone());
                        match replies.next() {
                            Some(reply) => assert!(answers.answer(id, Answer::Approval(reply))),
                            None => cancel.cancel(),
                        }
                    }
                    AgentEvent::Notice(AgentNotice::Note(text)) => notes.push(text),
                    AgentEvent::Notice(AgentNotice::Warning(text)) => warnings.push(text),
                    _ => {}
                }
            }
            (asked, notes, warnings)
        });
        let result = expand(services, &command, &format!("/test {args}"), args, &self.cancel).await;
        channel.close();
        let (asked, notes, warnings) = screen.await.unwrap();
        CommandCaseRun { result, approvals: asked, notes, warnings }
    }

    fn services(&self) -> (Services, EventStream) {
        let (events, receiver) = EventSender::channel();
        let mut tool_context = ToolContext::new(Workspace::new(self.dir.path(), self.more_roots.clone()).unwrap());
        tool_context.environment = std::env::vars_os().filter(|(name, _)| name == "PATH").collect();
        tool_context.shell = self.limits.clone();
        let services = Services {
            checkpoints: std::sync::Arc::default(),
            model: ModelGateway::new(AnyModel::from(Offline::new()), Default::default()).into(),
            tools: Arc::new(self.tools.clone().into()),
            subagents: Arc::default(),
            servers: hookwright_tools::mcp::McpServerSet::none(),
            tool_context,
            hooks: self.hooks.clone(),
            approvals: Approvals::new(self.mode, self.allowed.clone(), self.policy.clone()).into(),
            events,
            tamper_watch: std::sync::Arc::default(),
            background_hooks: Arc::default(),
            question_lock: Arc::default(),
            interaction: if self.replies.is_some() { Interaction::Interactive } else { Interaction::Headless },
            generation: GenerationConfig::default(),
            loop_detection: true,
            budget: RequestBudget::new(None, None),
            compression_threshold: 0.5,
            compression_target: None,
            journal: None,
            confiner: None,
        };
        (services, receiver)
    }
}

/// Expands a command, with its files read and its shell commands run.
async fn expand(
    services: Services,
    command: &CustomCommand,
    typed: &str,
    args: &str,
    cancel: &CancellationToken,
) -> Result<Vec<Part>, CommandError> {
    let invoked = CommandInvocation::new(command, typed, args)?;
    invoked.expand(&Arc::new(services), &TurnScope::outside_turn(cancel)).await
}

fn command(name: &str, prompt: &str, path: &Path) -> CustomCommand {
    let (name, prompt, path) = (name.to_owned(), prompt.to_owned(), path.to_owned());
    CustomCommand { name, description: None, prompt, source: Source::User, path }
}

#[test]
fn invocation_is_a_slash_and_a_whole_name() {
    let named = |name: &str| command(name, "", Path::new(""));
    let names = ["git", "git:commit", "ext.git:commit", "git:commit:all"];
    let commands = CustomCommands { list: names.map(named).into(), ..CustomCommands::default() };
    let parse = |text| parse_invocation(text, &commands).map(|(command, args)| (command.name.as_str(), args));
    assert_eq!(parse("/git"), Some(("git", "")));
    assert_eq!(parse(" /git:commit  fix  it \n"), Some(("git:commit", "fix  it")));
    assert_eq!(parse("/git:commit:all\nline one\nline two"), Some(("git:commit:all", "line one\nline two")));
    assert_eq!(parse("/ext.git:commit x"), Some(("ext.git:commit", "x")));
    for text in ["", "/", "git", "/Git", "/gi", "/git:", "/git:commitx", "/ git", "//git", "/usr/bin/env", "say /git"] {
        assert_eq!(parse(text), None, "{text}");
    }
}

#[tokio::test]
async fn arguments_replace_the_placeholder_or_are_appended() {
    let case = headless(&[]);
    assert_eq!(case.run("Fix {{args}}, {{args}}!", "it's $x").await.text(), "Fix it's $x, it's $x!");
    assert_eq!(case.run("Fix {{args}}.", "").await.text(), "Fix .");
    assert_eq!(case.run("Do it.\n", "1.2 added").await.text(), "Do it.\n\n\n/test 1.2 added");
    assert_eq!(case.run("Do it.\n", "").await.text(), "Do it.\n");
    assert_eq!(case.run("{{args}}", "").await.result, Ok(Vec::new()));
}

#[tokio::test]
async fn arguments_are_not_expanded_again() {
    let case = yolo(&[("secret", "S")]);
    let args = "!{touch pwned} @{secret} {{args}}";
    assert_eq!(case.run("Look: {{args}}", args).await.text(), format!("Look: {args}"));
    assert_eq!(case.run("Look", args).await.text(), format!("Look\n\n/test {args}"));
    assert_eq!(case.run("!{echo {{args}}}", args).await.text(), args);
    assert!(!case.has("pwned"));
}

#[test]
fn malformed_command_is_located_in_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bad.toml");
    let parse = |text: &str| {
        fs::write(&path, text).unwrap();
        let table: toml::Table = toml::from_str(text).unwrap();
        check_command(&command("bad", table["prompt"].as_str().unwrap(), &path)).unwrap_err()
    };
    let at = |line_and_column: &str| format!("{}{line_and_column}", path.display());
    let error = parse("description = \"é\"\nprompt = '''\nfirst\nsécond !{ls {x}\n'''\n");
    assert_eq!(error.to_string(), format!("{}: !{{ is never closed", at(":4:8")));
    assert!(error.hint().unwrap().contains("balanced"));
    let error = parse("prompt = 'read @{a'");
    assert_eq!(error.to_string(), format!("{}: @{{ is never closed", at(":1:16")));
    let error = parse("prompt = \"a \\\"b\\\"\\n  !{c\"");
    assert_eq!(error.to_string(), format!("{}: !{{ is never closed", at(": line 2, column 3 of the prompt")));
    let error = parse("prompt = '''\nx !{ cat <<E\n{{args}}\nE\n}'''");
    let expected = "{{args}} after the start of a here-document can't be made safe for the shell";
    assert_eq!(error.to_string(), format!("{}: {expected}", at(":3:1")));
}

#[tokio::test]
async fn malformed_command_runs_nothing() {
    let case = yolo(&[("a", "A")]);
    let ran = case.run("@{a} !{touch ran} !{", "").await;
    assert!(matches!(ran.error(), CommandError::Unclosed { .. }));
    let ran = case.run("!{touch ran} !{echo `{{args}}`}", "x").await;
    assert!(matches!(ran.error(), CommandError::Unescapable { .. }));
    assert!(!case.has("ran"));
}
