//! The syntax tree of a shell script, and the parser that makes it.
//!
//! The tree keeps everything that decides what runs. What the parser does not understand, or what is not the same in
//! every shell of the dialect, is a [`Problem`] of the script: a script with problems may do more than its tree tells.

mod parser;

use std::rc::Rc;

use crate::budget::Budget;

/// Which shell reads a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// `bash`, in its default mode.
    #[default]
    Bash,
    /// `sh`, which is dash on one machine and bash on the next: what they read differently is a problem.
    Posix,
}

/// A parsed script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    pub list: List,
    /// Why the script may do more than its tree tells; empty if it was understood to its end.
    pub problems: Vec<Problem>,
}

/// Why a script was not understood.
pub type Problem = &'static str;

/// Statements, one after another.
pub type List = Vec<Statement>;

/// `pipeline && pipeline || pipeline`, ended by `;`, a line end or `&`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub first: Pipeline,
    pub rest: Vec<(Connector, Pipeline)>,
    pub background: bool,
}

/// What joins two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connector {
    And,
    Or,
}

/// `! command | command`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Whether an odd number of `!` stands before it.
    pub negated: bool,
    pub commands: Vec<Command>,
}

/// A simple or a compound command with its redirections, in order.
///
/// `|&` is a redirection `2>&1` of the command before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub kind: CommandKind,
    pub redirections: Vec<Redirection>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandKind {
    /// `A=1 program argument`; either may be missing.
    Simple {
        assignments: Vec<Assignment>,
        words: Vec<Word>,
    },
    /// `{ … }`.
    Group(List),
    /// `( … )`.
    Subshell(List),
    /// `if`/`elif` conditions with what follows `then`, and what follows `else`.
    If {
        branches: Vec<(List, List)>,
        otherwise: List,
    },
    /// `while`, and `until` which negates the condition.
    While {
        until: bool,
        condition: List,
        body: List,
    },
    /// `for name in words`; without `in`, over the parameters. `select` is the same to the interpreter.
    For {
        variable: String,
        words: Option<Vec<Word>>,
        body: List,
    },
    /// `for ((a; b; c))`: the three expressions, any of which may be empty.
    ArithmeticFor {
        expressions: [Word; 3],
        body: List,
    },
    Case {
        subject: Word,
        arms: Vec<CaseArm>,
    },
    /// `[[ … ]]`: its words in order, operators included.
    Test(Vec<Word>),
    /// `(( … ))`.
    Arithmetic(Word),
    Function {
        name: String,
        body: Rc<Command>,
    },
}

/// `pattern | pattern) list ;;`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseArm {
    pub patterns: Vec<Word>,
    pub body: List,
    /// Whether the next arm runs as well (`;&`) or is tried (`;;&`).
    pub goes_on: bool,
}

/// `NAME=value`, `NAME+=value`, `NAME[subscript]=value`, `NAME=(…)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub name: String,
    pub subscript: Option<Word>,
    pub append: bool,
    pub value: AssignedValue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssignedValue {
    Scalar(Word),
    /// The elements; of `[key]=value`, key and value are one word.
    Array(Vec<Word>),
}

/// `2>file`, `<<END` and the like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    pub descriptor: Descriptor,
    pub operator: RedirectionOperator,
    /// The file, the descriptor or the text. A here-document's text is `Quoted` where its delimiter is quoted.
    pub target: Word,
}

/// What stands before a redirection's operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Descriptor {
    /// Nothing: standard input or output.
    Default,
    Number(u32),
    /// `{name}>`: bash chooses one and sets the variable.
    Variable(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectionOperator {
    /// `<`
    Read,
    /// `>`, `>|`
    Write,
    /// `>>`
    Append,
    /// `<>`
    ReadWrite,
    /// `<&`
    DuplicateInput,
    /// `>&`: a copy of a descriptor, or a file for both outputs where the word is no number.
    DuplicateOutput,
    /// `&>`, `&>>`
    WriteBoth,
    /// `<<`, `<<-`; the tabs are already gone.
    HereDocument,
    /// `<<<`
    HereString,
}

/// One word. The empty word `""` has one piece, `Quoted("")`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    pub pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Characters outside of quotes: `~`, braces and patterns in them count.
    Literal(String),
    /// Characters that mean themselves: in quotes, behind a backslash, or decoded from `$'…'`.
    Quoted(String),
    /// `$NAME`, `${…}`.
    Parameter { parameter: Box<Parameter>, quoted: bool },
    /// `$(…)`, backquotes.
    CommandSubstitution { script: Rc<Script>, quoted: bool },
    /// `$((…))`.
    Arithmetic { expression: Box<Word>, quoted: bool },
    /// `<(…)`, `>(…)`.
    ProcessSubstitution { script: Rc<Script>, writes: bool },
}

/// `${NAME}` and what may stand around the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// A variable's name, or a special parameter (`1`, `@`, `*`, `#`, `?`, `-`, `$`, `!`, `0`, `_`).
    pub name: String,
    /// `${NAME[subscript]}`.
    pub subscript: Option<Word>,
    pub operation: Operation,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The value as it is.
    Plain,
    /// `${#NAME}`.
    Length,
    /// `-`, `:-`: the word where the parameter is unset, or empty if `or_empty`.
    Default { word: Word, or_empty: bool },
    /// `=`, `:=`.
    AssignDefault { word: Word, or_empty: bool },
    /// `+`, `:+`.
    Alternative { word: Word, or_empty: bool },
    /// `?`, `:?`.
    Error { word: Word, or_empty: bool },
    /// `#`, `##`.
    RemovePrefix { pattern: Word, longest: bool },
    /// `%`, `%%`.
    RemoveSuffix { pattern: Word, longest: bool },
    /// `:offset:length`, which is arithmetic.
    Substring(Word),
    /// `/pattern/replacement`, `^`, `,`: the words in it, which are expanded.
    Other { words: Vec<Word> },
    /// `${!NAME}`, `${!prefix*}`, `${NAME@P}`: may come to anything and run anything.
    Indirect,
}

impl Script {
    /// Parses a text. Never fails: what is not understood, or takes too much work, is a problem of the script.
    pub fn parse(text: &str, dialect: Dialect, budget: &Budget) -> Script {
        parser::parse(text, dialect, budget)
    }
}

impl Redirection {
    /// Whether it writes a file.
    pub fn writes_file(&self) -> bool {
        let descriptor = || {
            self.target
                .literal()
                .is_some_and(|text| text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit()))
        };
        match self.operator {
            RedirectionOperator::Write
            | RedirectionOperator::Append
            | RedirectionOperator::ReadWrite
            | RedirectionOperator::WriteBoth => true,
            RedirectionOperator::DuplicateOutput => !descriptor(),
            _ => false,
        }
    }
}

impl Piece {
    /// Whether nothing in it is expanded but patterns.
    pub fn is_text(&self) -> bool {
        matches!(self, Piece::Literal(_) | Piece::Quoted(_))
    }
}

impl Word {
    /// The word where it means the same in every state: no expansion, no pattern, no braces, no tilde.
    pub fn literal(&self) -> Option<String> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(plain) if !plain.contains(['*', '?', '[', '~', '{']) => text.push_str(plain),
                Piece::Quoted(quoted) => text.push_str(quoted),
                _ => return None,
            }
        }
        Some(text)
    }
}
