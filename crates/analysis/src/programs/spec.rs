//! The compiled form of a program file. `build/compiler.rs` makes it, the interpreter reads it.

use serde::{Deserialize, Serialize};

/// One program: how its words are read, and what it does with them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Program {
    pub names: Vec<String>,
    #[serde(default)]
    pub syntax: Syntax,
    /// Whether the first operand ends the options.
    #[serde(default, skip_serializing_if = "is_default")]
    pub options_first: bool,
    /// Variables that may be set for it without changing what it touches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    pub body: Body,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<SubCommand>,
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<OptionSpec>,
    /// Without it, an operand is not understood.
    #[serde(default, skip_serializing_if = "is_default")]
    pub operands: Option<Vec<Operand>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub default: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub does: Vec<Effect>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<Case>,
    /// The Rust function that reads its words.
    #[serde(default, skip_serializing_if = "is_default")]
    pub code: Option<String>,
    /// The service that `code` is about.
    #[serde(default, skip_serializing_if = "is_default")]
    pub service: Option<String>,
}

/// A sub-command, with the patterns of words that name it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SubCommand {
    pub patterns: Vec<Vec<String>>,
    pub body: Body,
}

/// An option, with all its spellings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OptionSpec {
    pub names: Vec<String>,
    /// The roles of each value that it takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Vec<Role>>,
    /// Whether its value counts only if it is attached.
    #[serde(default, skip_serializing_if = "is_default")]
    pub attached: bool,
    /// Whether the program prints something and ends.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ends: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub sets: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub clears: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub does: Vec<Effect>,
    /// Whether the call is unsure if a word of it names a file by `file:` or `@`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub file_value: bool,
}

/// Operands in a row with the same roles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operand {
    pub roles: Vec<Role>,
    pub count: Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Count {
    One,
    Optional,
    Any,
    Some,
}

/// Operands and effects that count under a condition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Case {
    pub conditions: Vec<Condition>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub operands: Option<Vec<Operand>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub default: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub does: Option<Vec<Effect>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Condition {
    Mode(String),
    NotMode(String),
    /// More operands than this.
    OperandsOver(usize),
    /// No more operands than this.
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
    Read,
    Write,
    Delete,
}

/// How much of a path is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Depth {
    /// The file or the directory itself.
    Itself,
    /// Everything in it as well.
    Tree,
}

/// What a word is to its program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Role {
    Text,
    Path(Access, Depth),
    Url,
    Host,
    Remote,
    Process,
    Shell,
    Command,
    CommandWithInput,
    Script,
    Code,
    Unsure(String),
    /// A role that the program's code knows.
    Named(String),
}

/// What a call does, apart from its words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Effect {
    Path(Access, Depth, String),
    Network(String),
    /// The service, the verb, and the host that it is reached at.
    Service(String, Verb, Option<String>),
    Repository(RepositoryChange, String),
    Process(String),
    Prints(Source),
    Privileged,
    /// These lists may be incomplete (none: all of them), and why.
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
