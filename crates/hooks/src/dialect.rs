//! The dialect in which a hook receives its input and gives its answer: Gemini CLI's or Claude Code's.
//!
//! The dialect of a file decides how its hooks are declared; the dialect of a hook decides how the hook is run.

pub mod claude;
mod claude_answer;
mod permission_rule;
pub mod tool_arguments;

pub(crate) use claude_answer::parse_claude_answer as read_claude;
pub use permission_rule::PermissionRule;

/// The dialect of a hook's input and answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Gemini CLI's dialect, which is the engine's own.
    #[default]
    Gemini,
    /// Claude Code's dialect.
    Claude,
}

impl Dialect {
    /// Every dialect that is supported.
    pub const ALL: [Dialect; 2] = [Dialect::Gemini, Dialect::Claude];

    /// The name of the dialect in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Dialect::Gemini => "gemini",
            Dialect::Claude => "claude",
        }
    }

    /// The dialect of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Dialect> {
        Self::ALL.into_iter().find(|dialect| dialect.as_str() == name)
    }
}
