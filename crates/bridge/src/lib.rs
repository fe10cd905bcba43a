//! Other agents' hook dialects, both ways: a native event in, one or several of ours out; our verdict in, the host's own
//! answer out, with the list of what it could not say.
//!
//! Pure but for `install`, which edits other agents' settings: it runs no hook and prints nothing. `hookwright bridge AGENT`
//! does that.

#![warn(missing_docs)]

mod antigravity;
mod claude_family;
mod cursor;
pub mod dialect;
mod event_builder;
mod gemini;
pub mod host;
pub mod install;
mod missing_capability;
mod opencode;
pub mod payload;
pub mod sample_payload;
pub mod tools;
mod verdict;
mod vocabulary;

pub use dialect::{
    ArgumentWriteBack, EventView, HostDialect, HostEvent, HostResponse, HostSession, HostVerdict, NativeTool,
    PayloadError, Ruling, ToolRecognition, VerdictDowngrade,
};
pub use host::{FailClosedSupport, FailClosedValue, HOSTS, Host, HostEventInfo, HostInfo, TimeoutPolicy, TimeoutUnit};
pub use missing_capability::{MissingCapability, missing_capabilities};

impl Host {
    /// How this agent speaks.
    pub fn dialect(self) -> &'static dyn HostDialect {
        match self {
            Host::ClaudeCode | Host::Codex | Host::Copilot | Host::Qwen | Host::Droid | Host::Grok => {
                &claude_family::ClaudeFamilyDialect
            }
            Host::GeminiCli => &gemini::GeminiDialect,
            Host::Cursor => &cursor::CursorDialect,
            Host::Antigravity => &antigravity::AntigravityDialect,
            Host::Opencode => &opencode::OpencodeDialect,
        }
    }
}
