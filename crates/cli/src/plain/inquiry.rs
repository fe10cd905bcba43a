//! A command's question in lines: what there is to choose from under numbers, or words, which are not shown where they are a
//! secret.

use std::io;

use hookwright_agent::{Answer, Inquiry, Seen, Wanted};
use tokio::sync::oneshot;

use super::hidden::Hidden;
use super::tell::say;

/// A question that waits for a line.
pub(super) struct Asked {
    inquiry: Box<Inquiry>,
    reply: oneshot::Sender<Answer>,
    /// While it is there, nothing that is typed is shown.
    _hidden: Option<Hidden>,
}

/// What a line was.
enum Read {
    Answer(Answer),
    Leave,
    Neither,
}

impl Asked {
    /// Asks; none where it can't be asked here, which has been said.
    pub(super) fn new(inquiry: Box<Inquiry>, reply: oneshot::Sender<Answer>) -> io::Result<Option<Self>> {
        say(&inquiry.title)?;
        inquiry.about.iter().try_for_each(|line| say(line))?;
        let mut hidden = None;
        match &inquiry.wanted {
            Wanted::OneOf { choices, selected } => {
                for (at, choice) in choices.iter().enumerate() {
                    let about = if choice.about.is_empty() { String::new() } else { format!(": {}", choice.about) };
                    let now = if at == *selected && choices.len() > 1 { " (suggested)" } else { "" };
                    say(&format!("{}. {}{about}{now}", at + 1, choice.name))?;
                }
                say("Answer with a number or a name; an empty line leaves it.")?;
            }
            Wanted::Words { seen: Seen::Hidden, placeholder, .. } => {
                hidden = Hidden::new();
                if hidden.is_none() {
                    say("what you type can't be hidden on this terminal, so it is not asked for here")?;
                    return Ok(None);
                }
                say(&format!("({placeholder}; what you type is not shown; a single dot leaves it)"))?;
            }
            Wanted::Words { placeholder, first, .. } => {
                let first = if first.is_empty() { String::new() } else { format!(", now `{first}`") };
                say(&format!("({placeholder}{first}; a single dot leaves it)"))?;
            }
        }
        Ok(Some(Asked { inquiry, reply, _hidden: hidden }))
    }

    /// Whether somebody still waits.
    fn is_open(&self) -> bool {
        !self.reply.is_closed()
    }

    /// Hears a line; the question again, if it is still open. Whether the line was for it.
    pub(super) fn hear(self, line: &str) -> io::Result<(Option<Self>, bool)> {
        if !self.is_open() {
            return Ok((None, false));
        }
        match read(&self.inquiry, line) {
            // Nobody waits where the session ends.
            Read::Answer(answer) => drop(self.reply.send(answer)),
            Read::Leave => say("left as it is")?,
            Read::Neither => {
                say("that is none of them; a number, a name, or an empty line")?;
                return Ok((Some(self), true));
            }
        }
        Ok((None, true))
    }
}

fn read(inquiry: &Inquiry, line: &str) -> Read {
    let line = line.trim();
    match &inquiry.wanted {
        Wanted::Words { .. } if line == "." => Read::Leave,
        Wanted::Words { .. } => Read::Answer(Answer::Words(line.to_owned())),
        Wanted::OneOf { .. } if line.is_empty() => Read::Leave,
        Wanted::OneOf { choices, .. } => {
            let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let named = || choices.iter().position(|choice| choice.name.eq_ignore_ascii_case(line));
            match number.filter(|at| *at < choices.len()).or_else(named) {
                Some(at) => Read::Answer(Answer::Chosen(at)),
                None => Read::Neither,
            }
        }
    }
}
