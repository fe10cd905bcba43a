//! The compiled form of a program file. `build/compiler.rs` makes it, the interpreter reads it. Names are one letter
//! long in it, since it is part of the program.

use serde::{Deserialize, Serialize};

/// One program: how its words are read, and what it does with them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Program {
    #[serde(rename = "n")]
    pub names: Vec<String>,
    #[serde(rename = "x", default)]
    pub syntax: Syntax,
    /// The language of the scripts that it runs, if it is an interpreter.
    #[serde(rename = "l", default, skip_serializing_if = "is_default")]
    pub language: Option<Language>,
    /// Whether the first operand ends the options.
    #[serde(rename = "f", default, skip_serializing_if = "is_default")]
    pub options_first: bool,
    /// Whether `@FILE` stands for the words in a file.
    #[serde(rename = "r", default, skip_serializing_if = "is_default")]
    pub response_files: bool,
    /// Variables that may be set for it without changing what it touches.
    #[serde(rename = "e", default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    #[serde(rename = "b")]
    pub body: Body,
    #[serde(rename = "c", default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<SubCommand>,
}

/// The language of scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Language {
    Shell,
    Python,
    Node,
    Other,
}

/// How a program reads options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Syntax {
    #[default]
    Gnu,
    Exact,
    Single,
    Plain,
}

/// What a program or a sub-command takes and does.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Body {
    #[serde(rename = "o", default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<OptionSpec>,
    /// Without it, an operand is not understood.
    #[serde(rename = "p", default, skip_serializing_if = "is_default")]
    pub operands: Option<Vec<Operand>>,
    #[serde(rename = "d", default, skip_serializing_if = "is_default")]
    pub default: Option<String>,
    #[serde(rename = "w", default, skip_serializing_if = "Vec::is_empty")]
    pub does: Vec<Effect>,
    #[serde(rename = "a", default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<Case>,
    /// The Rust function that reads its words.
    #[serde(rename = "k", default, skip_serializing_if = "is_default")]
    pub code: Option<String>,
    /// The service that `code` is about.
    #[serde(rename = "s", default, skip_serializing_if = "is_default")]
    pub service: Option<String>,
}

/// A sub-command, with the patterns of words that name it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SubCommand {
    #[serde(rename = "t")]
    pub patterns: Vec<Vec<String>>,
    #[serde(rename = "b")]
    pub body: Body,
}

/// An option, with all its spellings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OptionSpec {
    #[serde(rename = "n")]
    pub names: Vec<String>,
    /// The roles of each value that it takes.
    #[serde(rename = "v", default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Vec<Role>>,
    /// Whether its value counts only if it is attached.
    #[serde(rename = "h", default, skip_serializing_if = "is_default")]
    pub attached: bool,
    /// Whether the program prints something and ends.
    #[serde(rename = "q", default, skip_serializing_if = "is_default")]
    pub ends: bool,
    #[serde(rename = "y", default, skip_serializing_if = "is_default")]
    pub sets: Option<String>,
    #[serde(rename = "z", default, skip_serializing_if = "is_default")]
    pub clears: Option<String>,
    #[serde(rename = "w", default, skip_serializing_if = "Vec::is_empty")]
    pub does: Vec<Effect>,
    /// Whether the call is unsure if a word of it names a file by `file:` or `@`.
    #[serde(rename = "j", default, skip_serializing_if = "is_default")]
    pub file_value: bool,
}

/// Operands in a row with the same roles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operand {
    #[serde(rename = "r")]
    pub roles: Vec<Role>,
    #[serde(rename = "m")]
    pub count: Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Count {
    #[serde(rename = "1")]
    One,
    #[serde(rename = "?")]
    Optional,
    #[serde(rename = "*")]
    Any,
    #[serde(rename = "+")]
    Some,
}

/// Operands and effects that count under a condition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Case {
    #[serde(rename = "i")]
    pub conditions: Vec<Condition>,
    #[serde(rename = "p", default, skip_serializing_if = "is_default")]
    pub operands: Option<Vec<Operand>>,
    #[serde(rename = "d", default, skip_serializing_if = "is_default")]
    pub default: Option<String>,
    #[serde(rename = "w", default, skip_serializing_if = "is_default")]
    pub does: Option<Vec<Effect>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Condition {
    #[serde(rename = "m")]
    Mode(String),
    #[serde(rename = "n")]
    NotMode(String),
    /// More operands than this.
    #[serde(rename = "o")]
    OperandsOver(usize),
    /// No more operands than this.
    #[serde(rename = "u")]
    OperandsUpTo(usize),
}

/// A kind of effect that has a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aspect {
    /// What it runs.
    Commands,
    /// What it reads.
    Reads,
    /// What it writes.
    Writes,
    /// What it deletes.
    Deletes,
    /// What it talks to.
    Network,
    /// What becomes of a git repository beside its files.
    Repository,
    /// What is done to services.
    Services,
    /// What is sent a signal.
    Processes,
    /// What runs as another user.
    Privileged,
    /// Where data goes.
    Flows,
}

/// What happens to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Access {
    #[serde(rename = "r")]
    Read,
    #[serde(rename = "w")]
    Write,
    #[serde(rename = "d")]
    Delete,
}

/// How much of a path is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Depth {
    /// The file or the directory itself.
    #[serde(rename = "i")]
    Itself,
    /// The names of everything in it, but not what the files hold.
    #[serde(rename = "n")]
    Names,
    /// Everything in it as well.
    #[serde(rename = "t")]
    Tree,
}

/// What a word is to its program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Role {
    #[serde(rename = "t")]
    Text,
    /// A number in the same word; what stands behind its digits are further options.
    #[serde(rename = "g")]
    Digits,
    #[serde(rename = "p")]
    Path(Access, Depth),
    /// A file that is written; `-` is the program's output.
    #[serde(rename = "w")]
    Output,
    #[serde(rename = "u")]
    Url,
    #[serde(rename = "h")]
    Host,
    #[serde(rename = "r")]
    Remote,
    #[serde(rename = "s")]
    Process,
    #[serde(rename = "l")]
    Shell,
    #[serde(rename = "c")]
    Command,
    #[serde(rename = "i")]
    CommandWithInput,
    #[serde(rename = "x")]
    Script,
    #[serde(rename = "o")]
    Code,
    #[serde(rename = "?")]
    Unsure(String),
    /// A role that the program's code knows.
    #[serde(rename = "n")]
    Named(String),
}

/// What a call does, apart from its words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Effect {
    #[serde(rename = "p")]
    Path(Access, Depth, String),
    #[serde(rename = "n")]
    Network(String),
    /// The service, the verb, and the host that it is reached at.
    #[serde(rename = "s")]
    Service(String, Verb, Option<String>),
    #[serde(rename = "r")]
    Repository(RepositoryChange, String),
    #[serde(rename = "k")]
    Process(String),
    #[serde(rename = "o")]
    Prints(Source),
    #[serde(rename = "v")]
    Privileged,
    /// These lists may be incomplete (none: all of them), and why.
    #[serde(rename = "?")]
    Unsure(Vec<Aspect>, String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    Read,
    Write,
    Delete,
    Run,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RepositoryChange {
    Index,
    Commit,
    Refs,
    Config,
    /// Work becomes unreachable.
    Discard,
}

/// Data that a program's output may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Environment,
    Clipboard,
    /// Code that only sets up a shell.
    #[serde(rename = "setup")]
    ShellSetup,
}

/// A service that program files name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    pub name: String,
    pub about: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub peer: Option<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
