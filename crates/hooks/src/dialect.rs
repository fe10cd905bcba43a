//! In whose words a hook is spoken to and answers: ours, or Claude Code's. What a file is written in decides how its hooks
//! are declared; what a hook is written in, how it is run.

pub mod claude;
mod claude_answer;
mod permission_rule;
pub mod tool_arguments;

pub(crate) use claude_answer::parse_claude_answer as read_claude;
pub use permission_rule::PermissionRule;

/// A hook's dialect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Gemini CLI's, which is ours.
    #[default]
    Gemini,
    /// Claude Code's.
    Claude,
}

impl Dialect {
    /// All there are.
    pub const ALL: [Dialect; 2] = [Dialect::Gemini, Dialect::Claude];

    /// The word for it in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Dialect::Gemini => "gemini",
            Dialect::Claude => "claude",
        }
    }

    /// The dialect of that name.
    pub fn from_name(name: &str) -> Option<Dialect> {
        Self::ALL.into_iter().find(|dialect| dialect.as_str() == name)
    }
}
