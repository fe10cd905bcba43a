//! What the interpreter tells while it goes through a script.

use std::path::Path;

use crate::programs::spec::{Access, Aspect, Depth, RepositoryChange, Verb};
use crate::value::Argument;

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
}

/// Listens to the interpreter.
pub trait Observer {
    /// A command begins; the facts up to the next one are its own.
    fn command(&mut self, _command: &CommandRun<'_>) {}

    fn fact(&mut self, _fact: &Fact<'_>) {}

    /// A program that only reads is told to write: an option, or a script for it, makes more of it than its name says.
    fn exceeds(&mut self) {}

    /// There may be more of these kinds than the facts tell.
    fn unsure(&mut self, _aspects: Aspects, _cause: Cause, _reason: &str) {}
}
