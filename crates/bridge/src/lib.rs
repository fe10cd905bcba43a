//! Other agents' hook dialects, both ways: a native event in, one or several of ours out; our verdict in, the host's own
//! answer out, with the list of what it could not say.
//!
//! Pure but for `install`, which edits other agents' settings: it runs no hook and prints nothing. `hookwright bridge AGENT`
//! does that.

#![warn(missing_docs)]

mod antigravity;
mod cursor;
pub mod dialect;
mod family;
mod gemini;
mod hearing;
pub mod host;
pub mod install;
mod lost;
mod opencode;
pub mod payload;
pub mod speak;
pub mod tools;
mod verdict;
mod vocabulary;

pub use dialect::{
    Back, Dialect, Heard, Loss, Misheard, NativeTool, Ruling, SessionFacts, Standing, Verdict, View, Written,
};
pub use host::{Closing, FailClosed, HOSTS, Host, HostEvent, HostInfo, OnTimeout, Unit};
pub use lost::{Lost, lost};

impl Host {
    /// How this agent speaks.
    pub fn dialect(self) -> &'static dyn Dialect {
        match self {
            Host::ClaudeCode | Host::Codex | Host::Copilot | Host::Qwen | Host::Droid | Host::Grok => &family::Family,
            Host::GeminiCli => &gemini::Gemini,
            Host::Cursor => &cursor::Cursor,
            Host::Antigravity => &antigravity::Antigravity,
            Host::Opencode => &opencode::Opencode,
        }
    }
}
