//! What redirections touch, and what a command reads and writes because of them.

use super::{Interpreter, Io, Sink, Stream};
use crate::paths;
use crate::programs::spec::{Access, Aspect, Depth};
use crate::state::State;
use crate::syntax::{Descriptor, Dialect, Redirection, RedirectionOperator, Word};
use crate::value::{Argument, Taint, Text, Value};

impl Interpreter<'_> {
    /// Goes through redirections; gives the command's input and output, and whether one of them may fail.
    pub(super) fn redirections(&mut self, all: &[Redirection], state: &mut State, io: &Io) -> (Io, bool) {
        let mut io = io.clone();
        let mut may_fail = false;
        for redirection in all {
            may_fail |= self.redirect(redirection, state, &mut io);
        }
        (io, may_fail)
    }

    fn redirect(&mut self, redirection: &Redirection, state: &mut State, io: &mut Io) -> bool {
        let Redirection { descriptor, operator, target } = redirection;
        if let Descriptor::Variable(name) = descriptor {
            self.assign(&name.clone(), Value::NUMBER, state);
        }
        let is = |number: u32| *descriptor == Descriptor::Number(number);
        let is_input = *descriptor == Descriptor::Default || is(0);
        let is_output = *descriptor == Descriptor::Default || is(1);
        // What goes through other descriptors is not followed.
        if !(is_input || is_output || is(2)) && opens_file(redirection) {
            self.unsure(Aspect::Flows, "a file is open under another descriptor");
        }
        match operator {
            RedirectionOperator::HereDocument | RedirectionOperator::HereString => {
                let mut value = self.joined(target, state);
                if let (RedirectionOperator::HereString, Text::Known(text)) = (operator, &value.text) {
                    value.text = Text::from(format!("{text}\n").as_str());
                }
                if let Text::Known(text) = &value.text {
                    self.observer.here_document(text, state);
                }
                if is_input {
                    io.stdin = Stream {
                        text: value.text,
                        taint: value.taint,
                        file: None,
                        began_at: self.ended_commands,
                        redirected: true,
                    };
                }
                false
            }
            RedirectionOperator::Read => {
                let file = self.redirection_target(target, state);
                let taint = self.read_for_redirection(&file, state);
                let is_null = is_null(&file);
                if is_input {
                    let path = file.text().and_then(|text| state.path(text));
                    let path = path.filter(|path| !paths::is_device(path) && !paths::is_per_process(path));
                    let file = path.map(Into::into);
                    io.stdin =
                        Stream { text: Text::Unknown, taint, file, began_at: self.ended_commands, redirected: true };
                }
                !is_null
            }
            RedirectionOperator::DuplicateInput => {
                self.joined(target, state);
                if is_input {
                    io.stdin = Stream::default();
                }
                true
            }
            RedirectionOperator::DuplicateOutput if is_descriptor(target) => {
                if is(0) {
                    io.stdin = Stream::default();
                }
                let source = target.literal();
                if is_output && source.as_deref() == Some("2") {
                    io.stdout = io.stderr.clone();
                } else if is_output {
                    io.stdout = elsewhere(&io.stdout);
                } else if is(2) && source.as_deref() == Some("1") {
                    io.stderr = io.stdout.clone();
                    // What a builtin complains about goes the same way.
                    self.print(&Value::UNKNOWN, io);
                }
                false
            }
            RedirectionOperator::ReadWrite => {
                let file = self.redirection_target(target, state);
                self.read_for_redirection(&file, state);
                self.write_for_redirection(&file, state, io, is(1));
                if is_input {
                    io.stdin = Stream::default();
                }
                true
            }
            RedirectionOperator::Write
            | RedirectionOperator::Append
            | RedirectionOperator::WriteBoth
            | RedirectionOperator::DuplicateOutput => {
                let file = self.redirection_target(target, state);
                self.write_for_redirection(&file, state, io, is_output);
                if is(2) {
                    io.stderr = file.text().and_then(|text| state.path(text)).map_or(Sink::Terminal, Sink::File);
                }
                !is_null(&file)
            }
        }
    }

    /// The one word that a redirection's target comes to.
    fn redirection_target(&mut self, target: &Word, state: &mut State) -> Argument {
        // A script of `sh` takes it as one text, whatever patterns stand in it.
        if state.dialect == Dialect::Posix {
            let value = self.joined(target, state);
            let shown = value.text.known().map_or_else(|| super::expansion::shown(target), str::to_owned);
            return Argument { value, ..Argument::unknown(&shown) };
        }
        let words = self.words(std::slice::from_ref(target), state);
        match words.as_slice() {
            [only] if !only.many => only.clone(),
            _ => Argument::unknown(&super::expansion::shown(target)),
        }
    }

    fn read_for_redirection(&mut self, file: &Argument, state: &State) -> Taint {
        let before = std::mem::replace(&mut self.read_taint, Taint::NONE);
        self.touch(Access::Read, file, Depth::Itself, state);
        // What is read this way is the command's input, not one of its own files.
        std::mem::replace(&mut self.read_taint, before).and(file.value.taint)
    }

    fn write_for_redirection(&mut self, file: &Argument, state: &State, io: &mut Io, is_output: bool) {
        let before = self.written.len();
        self.touch(Access::Write, file, Depth::Itself, state);
        self.written.truncate(before);
        let path = file.text().and_then(|text| state.path(text));
        // `/dev/stdout` and `/dev/fd/1` lead to where the output already goes.
        let is_own = |path: &std::path::PathBuf| paths::is_device(path) || paths::is_per_process(path);
        if !is_null(file) && path.as_ref().is_none_or(is_own) {
            self.print_beside();
        }
        if is_output {
            io.stdout = match path {
                Some(path) => Sink::File(path),
                None => Sink::Terminal,
            };
        }
    }
}

/// Whether a redirection opens a file that is not `/dev/null`.
pub(super) fn opens_file(redirection: &Redirection) -> bool {
    let Redirection { operator, target, .. } = redirection;
    match operator {
        RedirectionOperator::HereDocument | RedirectionOperator::HereString => true,
        RedirectionOperator::DuplicateInput => false,
        RedirectionOperator::DuplicateOutput if is_descriptor(target) => false,
        _ => target.literal().as_deref() != Some("/dev/null"),
    }
}

fn is_null(file: &Argument) -> bool {
    file.text() == Some("/dev/null")
}

/// `&1`, `&-`, `&3-`.
fn is_descriptor(target: &Word) -> bool {
    target.literal().is_some_and(|text| text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit()))
}

/// Output that a copy of another descriptor takes: it may still come to the same place.
fn elsewhere(sink: &Sink) -> Sink {
    match sink {
        Sink::Capture { number, .. } => Sink::Capture { number: *number, whole: false },
        other => other.clone(),
    }
}
