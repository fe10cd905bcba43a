//! What the interpreter tells while it goes through a script.

use std::path::Path;
use std::rc::Rc;

use crate::programs::spec::{Access, Aspect, Depth, RepositoryChange, Verb};
use crate::state::State;
use crate::syntax::Word;
use crate::value::{Argument, Value};

/// Several kinds of effects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aspects(u16);

impl Aspects {
    pub const NONE: Aspects = Aspects(0);
    pub const ALL: Aspects = Aspects((1 << Aspect::ALL.len()) - 1);

    pub fn of(aspects: &[Aspect]) -> Aspects {
        aspects.iter().fold(Aspects::NONE, |all, one| all.and((*one).into()))
    }

    pub fn and(self, other: Aspects) -> Aspects {
        Aspects(self.0 | other.0)
    }

    pub fn has(self, aspect: Aspect) -> bool {
        self.0 & Aspects::from(aspect).0 != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Aspect> {
        Aspect::ALL.into_iter().filter(move |aspect| self.has(*aspect))
    }
}

impl From<Aspect> for Aspects {
    fn from(aspect: Aspect) -> Self {
        Aspects(1 << aspect as u16)
    }
}

impl From<Access> for Aspects {
    fn from(access: Access) -> Self {
        access.aspect().into()
    }
}

impl Aspect {
    pub const ALL: [Aspect; 10] = [
        Aspect::Commands,
        Aspect::Reads,
        Aspect::Writes,
        Aspect::Deletes,
        Aspect::Network,
        Aspect::Repository,
        Aspect::Services,
        Aspect::Processes,
        Aspect::Privileged,
        Aspect::Flows,
    ];

    /// The name of the list in `effects`.
    pub fn as_str(self) -> &'static str {
        match self {
            Aspect::Commands => "commands",
            Aspect::Reads => "reads",
            Aspect::Writes => "writes",
            Aspect::Deletes => "deletes",
            Aspect::Network => "network",
            Aspect::Repository => "repository",
            Aspect::Services => "services",
            Aspect::Processes => "processes",
            Aspect::Privileged => "privileged",
            Aspect::Flows => "flows",
        }
    }
}

impl Access {
    pub fn aspect(self) -> Aspect {
        match self {
            Access::Read => Aspect::Reads,
            Access::Write => Aspect::Writes,
            Access::Delete => Aspect::Deletes,
        }
    }
}

/// Something that the script does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact<'f> {
    /// A path, absolute and as it is written, is touched.
    Path {
        access: Access,
        path: &'f Path,
        depth: Depth,
    },
    /// A host, or the name of a remote or a program where no host is told, is contacted.
    Network(&'f str),
    Service {
        name: &'f str,
        verb: Verb,
    },
    Repository {
        change: RepositoryChange,
        what: &'f str,
    },
    /// A process is sent a signal.
    Process(&'f str),
    /// A command runs as another user.
    Privileged(&'f str),
    /// Data goes from a source to the network or into a program that runs it.
    Flow {
        from: &'f str,
        path: Option<&'f Path>,
        to: &'f str,
        via: &'f str,
    },
}

/// Why something can't be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Which commands run is not known.
    Script,
    /// The command is known, and what its program does is not.
    Program,
    /// A program is given code of another language.
    Code,
}

/// A command that runs.
#[derive(Clone, Copy, Debug)]
pub struct CommandRun<'r> {
    /// The program and its arguments; none where there are only redirections.
    pub words: &'r [Argument],
    /// Whether a file is written by `>` and the like.
    pub redirects: bool,
    /// How many commands run it: `sudo env rm` runs `rm` at depth 2.
    pub depth: usize,
    /// The shell's state in which it runs.
    pub state: &'r State,
    /// Whether it runs whatever the commands before it do.
    pub surely: bool,
    /// Whether it runs in a substitution.
    pub substituted: bool,
    /// A number that the commands of a pipeline share.
    pub pipeline: Option<usize>,
    /// The file that it is told to read as its input.
    pub input: Option<&'r Path>,
}

/// What is known of a program that an observer has judged.
#[derive(Clone, Debug)]
pub struct ProgramResult {
    pub prints: Value,
    /// Whether it succeeds, if that is known.
    pub success: Option<bool>,
}

/// What an observer knows of a file that a shell sources.
#[derive(Clone, Debug)]
pub enum SourcedFile {
    /// Its text, and the name that `BASH_SOURCE` has in it.
    Text { text: Rc<str>, name: Option<Rc<str>> },
    /// The observer accounts for the file, but its text is not known.
    Opaque,
}

/// Listens to the interpreter.
pub trait Observer {
    /// Whether the observer itself judges programs, sourced files and variables, and wants to hear of everything that
    /// may run at another time: branches that are ruled out now, functions that are not called, any shell's reading.
    fn is_exhaustive(&self) -> bool {
        false
    }

    /// A command begins; the facts up to the next one are its own.
    fn command(&mut self, _command: &CommandRun<'_>) {}

    /// A program starts. An observer that judges programs returns what it knows; otherwise the program files apply.
    fn program(&mut self, _command: &CommandRun<'_>) -> Option<ProgramResult> {
        None
    }

    /// The shell sources a file. Without an answer, anything may happen.
    fn source(&mut self, _command: &CommandRun<'_>) -> Option<SourcedFile> {
        None
    }

    /// A variable is set, for one command alone if `temporary`. Returns whether the observer judges what a variable that
    /// steers the shell changes.
    fn assignment(&mut self, _name: &str, _value: &Value, _temporary: bool, _state: &State) -> bool {
        false
    }

    /// A command reads this text as its input.
    fn here_document(&mut self, _text: &str, _state: &State) {}

    /// A word's value is only known when it runs.
    fn unknown_word(&mut self, _word: &Word, _state: &State) {}

    /// A word is compared with others, by `[[ … ]]` or `case`.
    fn compared_word(&mut self, _text: &str, _state: &State) {}

    /// A script was not understood to its end.
    fn unparsed(&mut self, _text: &str, _state: &State) {}

    fn fact(&mut self, _fact: &Fact<'_>) {}

    /// A program that only reads is told to write: an option, or a script for it, makes more of it than its name says.
    fn exceeds(&mut self) {}

    /// There may be more of these kinds than the facts tell.
    fn unsure(&mut self, _aspects: Aspects, _cause: Cause, _reason: &str) {}
}
