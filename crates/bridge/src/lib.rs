//! Translates between other agents' hook formats and Hookwright's: a native event becomes one or several of
//! Hookwright's events, and the verdict becomes the host's answer with a list of what the answer can't express.
//!
//! Only `install` writes files; `install` and `transcripts` read them. The crate runs no hook and prints nothing; `hookwright bridge AGENT` does
//! that.

#![warn(missing_docs)]

mod acp;
mod antigravity;
mod claude_family;
pub mod coverage;
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
pub mod transcripts;
mod verdict;
mod vocabulary;

pub use dialect::{
    ArgumentWriteBack, EventView, HostDialect, HostEvent, HostResponse, HostSession, HostVerdict, NativeTool,
    PayloadError, Ruling, ToolRecognition, VerdictDowngrade,
};
pub use host::{
    BlindSpot, FailClosedSupport, FailClosedValue, HOSTS, Host, HostEventInfo, HostInfo, TimeoutPolicy, TimeoutUnit,
};
pub use missing_capability::{MissingCapability, missing_capabilities};

impl Host {
    /// Returns the dialect that reads and writes this agent's format.
    pub fn dialect(self) -> &'static dyn HostDialect {
        match self {
            Host::ClaudeCode | Host::Codex | Host::Copilot | Host::Qwen | Host::Droid | Host::Grok => {
                &claude_family::ClaudeFamilyDialect
            }
            Host::GeminiCli => &gemini::GeminiDialect,
            Host::Cursor => &cursor::CursorDialect,
            Host::Antigravity => &antigravity::AntigravityDialect,
            Host::Opencode => &opencode::OpencodeDialect,
            Host::Acp => &acp::AcpDialect,
        }
    }
}
