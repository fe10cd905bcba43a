//! A command's question in plain lines: numbered choices, or a text, which is not echoed if it is a secret.

use std::io;

use hookwright_agent::{Answer, InputVisibility, QuestionKind, UserQuestion};

use super::echo::EchoOff;
use super::printer::print_lines;

/// What is printed when the user does not answer.
pub(super) const LEFT_AS_IT_IS: &str = "left as it is";

/// A question that waits for a line.
pub(super) struct PendingInquiry {
    inquiry: Box<UserQuestion>,
    /// Keeps the echo off while the question is open.
    _echo_off: Option<EchoOff>,
}

impl PendingInquiry {
    /// Prints the question, or prints why it cannot be asked here and returns none.
    pub(super) fn new(inquiry: Box<UserQuestion>) -> io::Result<Option<Self>> {
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
        Ok(Some(PendingInquiry { inquiry, _echo_off: hidden }))
    }

    /// Returns the answer that a line gives; none, and a message to the user, if the line is not one of the choices.
    pub(super) fn answer(&self, line: &str) -> io::Result<Option<Answer>> {
        let answer = parse_line(&self.inquiry, line);
        match answer {
            Some(Answer::Dismissed) => print_lines(LEFT_AS_IT_IS)?,
            None => print_lines("that is not one of the choices; type a number, a name, or an empty line")?,
            Some(_) => {}
        }
        Ok(answer)
    }
}

fn parse_line(inquiry: &UserQuestion, line: &str) -> Option<Answer> {
    let line = line.trim();
    match &inquiry.kind {
        QuestionKind::Text { .. } if line == "." => Some(Answer::Dismissed),
        QuestionKind::Text { .. } => Some(Answer::Text(line.to_owned())),
        QuestionKind::Choice { .. } if line.is_empty() => Some(Answer::Dismissed),
        QuestionKind::Choice { choices, .. } => {
            let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let named = || choices.iter().position(|choice| choice.name.eq_ignore_ascii_case(line));
            number.filter(|at| *at < choices.len()).or_else(named).map(Answer::Choice)
        }
    }
}
