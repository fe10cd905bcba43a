//! Questions in plain lines (whether a call may run, whether changed guards are trusted, a command's inquiry), and the
//! meaning of the line that answers them.

use std::io;

use hookwright_agent::{Answer, ApprovalReply, ApprovalRequest, GuardChange, GuardTrustReply, QuestionSubject};
use hookwright_tools::ToolDisplay;

use super::inquiry;
use super::printer::print_lines;
use crate::output;
use crate::presentation::approval_text::{self, ApprovalChoice};
use crate::presentation::diff;
use crate::presentation::styled_text::StyledLine;

/// The question that the next line answers.
pub(super) enum PendingQuestion {
    Call(Box<ApprovalRequest>),
    Guards,
    Inquiry(inquiry::PendingInquiry),
}

impl PendingQuestion {
    /// Prints the question, or prints why it cannot be asked here and returns none.
    pub(super) fn print(subject: QuestionSubject) -> io::Result<Option<Self>> {
        Ok(match subject {
            QuestionSubject::Approval(request) => {
                print_approval_question(&request)?;
                Some(PendingQuestion::Call(request))
            }
            QuestionSubject::GuardTrust(changes) => {
                print_guard_question(&changes)?;
                Some(PendingQuestion::Guards)
            }
            QuestionSubject::Input(inquiry) => inquiry::PendingInquiry::new(inquiry)?.map(PendingQuestion::Inquiry),
        })
    }

    /// Returns the answer that a line gives, none if it gives no answer.
    pub(super) fn answer(&self, line: &str) -> io::Result<Option<Answer>> {
        match self {
            PendingQuestion::Call(request) => Ok(Some(Answer::Approval(parse_reply(line, request)))),
            PendingQuestion::Guards if line == "trust" => Ok(Some(Answer::GuardTrust(GuardTrustReply::Trust))),
            PendingQuestion::Guards => Ok(Some(Answer::GuardTrust(GuardTrustReply::KeepUntrusted))),
            PendingQuestion::Inquiry(asked) => asked.answer(line),
        }
    }
}

/// Prints the question whether a call may run.
fn print_approval_question(request: &ApprovalRequest) -> io::Result<()> {
    // A model's own description of a long command is no substitute for the command.
    let command = request.args.get("command").and_then(serde_json::Value::as_str);
    let what = match (command, &request.preview) {
        (Some(command), _) => output::escape_invisible(command),
        (None, Some(ToolDisplay::Diff(file))) => {
            let lines = diff::diff_lines(&diff::escape_invisible_in_diff(file), usize::MAX);
            lines.iter().map(StyledLine::plain).collect::<Vec<_>>().join("\n").trim_start().to_owned()
        }
        (None, Some(ToolDisplay::Text(text))) => output::escape_invisible(&format!("{}\n{text}", request.description)),
        (None, _) => output::escape_invisible(&request.description),
    };
    print_lines(&format!(
        "Allow {}?{} {what}",
        output::escape_invisible(&request.title),
        approval_text::call_position(request)
    ))?;
    approval_text::notes(request).iter().try_for_each(|note| print_lines(&note.to_string()))?;
    for change in approval_text::argument_changes(request) {
        print_lines(&output::escape_invisible(&change.to_string()))?;
    }
    print_lines(&choices_text(request))
}

/// Returns the choices with the same numbers as on the screen.
///
/// In plain lines only a shell command can be edited.
fn choices_text(request: &ApprovalRequest) -> String {
    let words = |(at, choice): (usize, ApprovalChoice)| {
        let number = at + 1;
        Some(match choice {
            ApprovalChoice::Once => format!("{number} or y: allow once."),
            ApprovalChoice::Session if request.approval_demand.is_some() => {
                format!("{number}: allow exactly this for this session.")
            }
            ApprovalChoice::Session => format!("{number}: allow for this session."),
            ApprovalChoice::Server => {
                let server = request.server.as_ref().map_or("", |tool| tool.server.as_str());
                format!(
                    "{number}: allow all tools of MCP server {} for this session.",
                    output::escape_invisible(server)
                )
            }
            ApprovalChoice::Edit if request.name == "run_shell_command" => {
                format!("{number}, with another command: run that instead.")
            }
            ApprovalChoice::Edit => return None,
            ApprovalChoice::Deny => format!("{number} or n, with a word to the model if you like: deny."),
            ApprovalChoice::Cancel => format!("{number}: cancel the turn."),
        })
    };
    let always = request.rule_offer_texts.iter().enumerate();
    let always = always
        .map(|(at, words)| format!("a{}: always allow, in this project, {}.", at + 1, output::escape_invisible(words)));
    ApprovalChoice::for_request(request)
        .into_iter()
        .enumerate()
        .filter_map(words)
        .chain(always)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Prints the question whether the agent's changes to guards are trusted.
fn print_guard_question(changes: &[GuardChange]) -> io::Result<()> {
    print_lines("The agent changed what your guards are made of:")?;
    for change in changes {
        print_lines(&change.to_string())?;
        change.diff.as_deref().map_or(Ok(()), |diff| print_lines(&output::escape_invisible(diff)))?;
    }
    print_lines(
        "trust: it is active from now on. Anything else: it stays untrusted, and hooks that depend on it deny every call they can.",
    )
}

fn parse_reply(line: &str, request: &ApprovalRequest) -> ApprovalReply {
    let choices = ApprovalChoice::for_request(request);
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let for_good = word.strip_prefix('a').and_then(|number| number.parse::<usize>().ok()?.checked_sub(1));
    if let Some(at) = for_good.filter(|at| *at < request.rule_offer_texts.len()) {
        return ApprovalReply::Always(at);
    }
    let numbered = || word.parse::<usize>().ok()?.checked_sub(1).and_then(|at| choices.get(at).copied());
    let choice = match word {
        "y" | "yes" => Some(ApprovalChoice::Once),
        "n" | "no" => Some(ApprovalChoice::Deny),
        _ => numbered(),
    };
    match choice {
        Some(ApprovalChoice::Once) => ApprovalReply::Once,
        Some(ApprovalChoice::Session) => ApprovalReply::Session,
        Some(ApprovalChoice::Server) => ApprovalReply::Server,
        Some(ApprovalChoice::Deny) => ApprovalReply::Deny(Some(rest.trim().to_owned()).filter(|word| !word.is_empty())),
        Some(ApprovalChoice::Edit) if request.name == "run_shell_command" && !rest.trim().is_empty() => {
            approval_text::args_with_text(request, rest.trim()).map_or(ApprovalReply::Cancel, ApprovalReply::Edited)
        }
        Some(ApprovalChoice::Edit | ApprovalChoice::Cancel) | None => ApprovalReply::Cancel,
    }
}
