//! Questions in lines: whether a call may run, whether changed guards count, what a command wants to know; and what a line
//! answers.

use std::io;

use hookwright_agent::{ApprovalReply, ApprovalRequest, GuardChange, GuardReply};
use hookwright_tools::Display;
use tokio::sync::oneshot;

use super::inquiry;
use super::tell::say;
use crate::asked::{self, Difference};
use crate::choices::Choice;
use crate::out;
use crate::tui::diff;
use crate::tui::text::Line;

/// What the next line answers.
pub(super) enum Question {
    Call(oneshot::Sender<ApprovalReply>, Box<ApprovalRequest>),
    Guards(oneshot::Sender<GuardReply>),
    Inquiry(inquiry::Asked),
}

impl Question {
    /// Answers it, if anybody waits for that; nobody does where the turn is over. The question again, if the line was no
    /// answer, and whether the line was for it.
    pub(super) fn answer(self, line: &str) -> io::Result<(Option<Question>, bool)> {
        match self {
            Question::Call(reply, request) => Ok((None, reply.send(reply_of(line, &request)).is_ok())),
            Question::Guards(reply) => {
                let word = if line == "trust" { GuardReply::Trust } else { GuardReply::Leave };
                Ok((None, reply.send(word).is_ok()))
            }
            Question::Inquiry(asked) => asked.hear(line).map(|(asked, heard)| (asked.map(Question::Inquiry), heard)),
        }
    }
}

/// Asks whether a call may run.
pub(super) fn ask(request: &ApprovalRequest) -> io::Result<()> {
    // A model's own description of a long command is no substitute for the command.
    let command = request.args.get("command").and_then(serde_json::Value::as_str);
    let what = match (command, &request.preview) {
        (Some(command), _) => out::spelled(command),
        (None, Some(Display::Diff(file))) => {
            let lines = diff::lines(&diff::spelled_diff(file), usize::MAX);
            lines.iter().map(Line::plain).collect::<Vec<_>>().join("\n").trim_start().to_owned()
        }
        (None, Some(Display::Text(text))) => out::spelled(&format!("{}\n{text}", request.description)),
        (None, _) => out::spelled(&request.description),
    };
    say(&format!("Allow {}?{} {what}", out::spelled(&request.title), asked::number(request)))?;
    if let Some(said) = asked::description(request) {
        say(&format!("the model says: {}", out::spelled(said)))?;
    }
    if let Some(path) = &request.protected {
        say(&format!("{path} is protected: guards are made of it"))?;
    }
    if let Some(asked) = &request.asked_by {
        say(&format!("hook {} wants you to decide: {}", asked.hooks.join(", "), asked.reason))?;
    }
    for change in asked::changes(request) {
        let words = match change.what {
            Difference::Short(before, after) => format!(": {before} → {after}"),
            Difference::Long(file) => {
                let body = file.unified.lines().skip_while(|line| !line.starts_with("@@"));
                format!(":\n{}", body.collect::<Vec<_>>().join("\n"))
            }
            Difference::Unsaid => String::new(),
        };
        say(&out::spelled(&format!("hooks changed {}{words}", change.name)))?;
    }
    say(&answers(request))
}

/// What can be answered, under the numbers that the screen has; only a command can be written anew in a line.
fn answers(request: &ApprovalRequest) -> String {
    let words = |(at, choice): (usize, Choice)| {
        let number = at + 1;
        Some(match choice {
            Choice::Once => format!("{number} or y: allow once."),
            Choice::Session => format!("{number}: allow for this session."),
            Choice::Server => {
                let server = request.server.as_ref().map_or("", |tool| tool.server.as_str());
                format!("{number}: allow all tools of MCP server {} for this session.", out::spelled(server))
            }
            Choice::Edit if request.name == "run_shell_command" => {
                format!("{number}, with another command: run that instead.")
            }
            Choice::Edit => return None,
            Choice::Deny => format!("{number} or n, with a word to the model if you like: deny."),
            Choice::Cancel => format!("{number}: cancel the turn."),
        })
    };
    let always = request.always.iter().enumerate();
    let always =
        always.map(|(at, words)| format!("a{}: always allow, in this project, {}.", at + 1, out::spelled(words)));
    Choice::of(request).into_iter().enumerate().filter_map(words).chain(always).collect::<Vec<_>>().join(" ")
}

/// Asks whether what the agent changed of the guards counts.
pub(super) fn ask_about_guards(changes: &[GuardChange]) -> io::Result<()> {
    say("The agent changed what your guards are made of:")?;
    for change in changes {
        say(&change.to_string())?;
        change.diff.as_deref().map_or(Ok(()), |diff| say(&out::spelled(diff)))?;
    }
    say(
        "trust: it counts from now on. Anything else: it stays distrusted, and hooks that depend on it deny what they can.",
    )
}

fn reply_of(line: &str, request: &ApprovalRequest) -> ApprovalReply {
    let choices = Choice::of(request);
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let for_good = word.strip_prefix('a').and_then(|number| number.parse::<usize>().ok()?.checked_sub(1));
    if let Some(at) = for_good.filter(|at| *at < request.always.len()) {
        return ApprovalReply::Always(at);
    }
    let numbered = || word.parse::<usize>().ok()?.checked_sub(1).and_then(|at| choices.get(at).copied());
    let choice = match word {
        "y" | "yes" => Some(Choice::Once),
        "n" | "no" => Some(Choice::Deny),
        _ => numbered(),
    };
    match choice {
        Some(Choice::Once) => ApprovalReply::Once,
        Some(Choice::Session) => ApprovalReply::Session,
        Some(Choice::Server) => ApprovalReply::Server,
        Some(Choice::Deny) => ApprovalReply::Deny(Some(rest.trim().to_owned()).filter(|word| !word.is_empty())),
        Some(Choice::Edit) if request.name == "run_shell_command" && !rest.trim().is_empty() => {
            asked::with_text(request, rest.trim()).map_or(ApprovalReply::Cancel, ApprovalReply::Edited)
        }
        Some(Choice::Edit | Choice::Cancel) | None => ApprovalReply::Cancel,
    }
}
