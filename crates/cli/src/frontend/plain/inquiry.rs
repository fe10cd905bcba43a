//! A command's question in plain lines: numbered choices, or a text, which is not echoed if it is a secret.

use std::io;

use hookwright_agent::{InputVisibility, QuestionAnswer, QuestionKind, UserQuestion};
use tokio::sync::oneshot;

use super::echo::EchoOff;
use super::printer::print_lines;

/// A question that waits for a line.
pub(super) struct PendingInquiry {
    inquiry: Box<UserQuestion>,
    reply: oneshot::Sender<QuestionAnswer>,
    /// Keeps the echo off while the question is open.
    _echo_off: Option<EchoOff>,
}

/// The meaning of a line that answers a question.
enum InquiryLine {
    Answer(QuestionAnswer),
    Cancel,
    Invalid,
}

impl PendingInquiry {
    /// Prints the question, or prints why it cannot be asked here and returns none.
    pub(super) fn new(inquiry: Box<UserQuestion>, reply: oneshot::Sender<QuestionAnswer>) -> io::Result<Option<Self>> {
        print_lines(&inquiry.title)?;
        inquiry.details.iter().try_for_each(|line| print_lines(line))?;
        let mut hidden = None;
        match &inquiry.kind {
            QuestionKind::Choice { choices, selected } => {
                for (at, choice) in choices.iter().enumerate() {
                    let about =
                        if choice.description.is_empty() { String::new() } else { format!(": {}", choice.description) };
                    let now = if at == *selected && choices.len() > 1 { " (suggested)" } else { "" };
                    print_lines(&format!("{}. {}{about}{now}", at + 1, choice.name))?;
                }
                print_lines("Answer with a number or a name; an empty line leaves it.")?;
            }
            QuestionKind::Text { seen: InputVisibility::Hidden, placeholder, .. } => {
                hidden = EchoOff::new();
                if hidden.is_none() {
                    print_lines("this terminal can't hide what you type, so secrets can't be entered here")?;
                    return Ok(None);
                }
                print_lines(&format!("({placeholder}; what you type is not shown; a single dot leaves it)"))?;
            }
            QuestionKind::Text { placeholder, first, .. } => {
                let first = if first.is_empty() { String::new() } else { format!(", now `{first}`") };
                print_lines(&format!("({placeholder}{first}; a single dot leaves it)"))?;
            }
        }
        Ok(Some(PendingInquiry { inquiry, reply, _echo_off: hidden }))
    }

    /// Returns whether the command still waits for the answer.
    fn is_open(&self) -> bool {
        !self.reply.is_closed()
    }

    /// Answers the question with a line.
    ///
    /// Returns the question again if it is still open, and whether the line was for it.
    pub(super) fn answer(self, line: &str) -> io::Result<(Option<Self>, bool)> {
        if !self.is_open() {
            return Ok((None, false));
        }
        match parse_line(&self.inquiry, line) {
            // The command no longer waits if the session is ending.
            InquiryLine::Answer(answer) => drop(self.reply.send(answer)),
            InquiryLine::Cancel => print_lines("left as it is")?,
            InquiryLine::Invalid => {
                print_lines("that is not one of the choices; type a number, a name, or an empty line")?;
                return Ok((Some(self), true));
            }
        }
        Ok((None, true))
    }
}

fn parse_line(inquiry: &UserQuestion, line: &str) -> InquiryLine {
    let line = line.trim();
    match &inquiry.kind {
        QuestionKind::Text { .. } if line == "." => InquiryLine::Cancel,
        QuestionKind::Text { .. } => InquiryLine::Answer(QuestionAnswer::Text(line.to_owned())),
        QuestionKind::Choice { .. } if line.is_empty() => InquiryLine::Cancel,
        QuestionKind::Choice { choices, .. } => {
            let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let named = || choices.iter().position(|choice| choice.name.eq_ignore_ascii_case(line));
            match number.filter(|at| *at < choices.len()).or_else(named) {
                Some(at) => InquiryLine::Answer(QuestionAnswer::Choice(at)),
                None => InquiryLine::Invalid,
            }
        }
    }
}
