//! The hook engine: settings text in, a typed outcome per event out.
//!
//! Hooks are small programs that an agent runs at fixed points of its loop: JSON in on stdin, a decision out on stdout.
//! This crate reads their declarations out of settings, plans which of them an event runs, runs them, reads and merges
//! their answers, and hands the caller one typed [`Outcome`] per event. It knows nothing of models, terminals or HTTP,
//! and reads neither home directory nor environment: the caller gives it everything.
//!
//! ```
//! use hookwright_hooks::{
//!     BeforeTool, BeforeToolVerdict, HookEngine, Layer, Registry, RequestedBy, Session, Source, declare,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let settings = r#"{ "hooks": { "BeforeTool": [ { "matcher": "run_shell_command", "hooks": [
//!     { "type": "command", "name": "no-rm", "command": "grep -q 'rm -rf' && { echo 'no rm -rf here' >&2; exit 2; }; exit 0" }
//! ] } ] } }"#;
//! let declared = declare(&Layer::new(Source::User, "settings.json".as_ref(), settings));
//! assert!(declared.diagnostics.is_empty());
//!
//! let engine = HookEngine::builder(Registry::new(vec![declared]))
//!     .session(Session { id: "s1".into(), cwd: std::env::temp_dir(), ..Session::default() })
//!     .environment(std::env::vars_os())
//!     .build();
//!
//! let args = serde_json::from_str::<serde_json::Map<_, _>>(r#"{"command": "rm -rf /"}"#).unwrap();
//! let event = BeforeTool {
//!     tool_name: "run_shell_command".into(),
//!     tool_input: std::borrow::Cow::Borrowed(&args),
//!     mcp_context: None,
//!     original_request_name: None,
//!     tool_use_id: None,
//!     requested_by: RequestedBy::Model,
//! };
//! match engine.fire(&event).await.verdict {
//!     BeforeToolVerdict::Deny { reason } => assert_eq!(reason, "no rm -rf here"),
//!     other => panic!("expected a deny, got {other:?}"),
//! }
//! # }
//! ```
//!
//! The journey of one event, module by module: [`mod@declare`] → `registry` → `plan` → `run` → `answer` → [`mod@merge`] →
//! `outcome`. Everything but `run` is pure.

#![warn(missing_docs)]

mod answer;
mod bridge_call;
mod chunks;
mod declaration;
pub mod declare;
mod diagnostic;
pub mod dialect;
mod difference;
mod disk;
mod effects;
mod engine;
mod event;
mod files;
mod firing;
#[doc(hidden)]
pub mod fuzzing;
mod growing;
mod guard;
mod hook;
mod input;
pub mod jsonc;
mod matcher;
mod mcp_names;
pub mod merge;
mod model_api;
mod near;
mod observe;
mod on_error;
mod outcome;
pub mod patch;
mod pattern;
mod plan;
mod prefilter;
mod ready;
mod redact;
mod registry;
mod run;
mod sample;
#[cfg(feature = "schema")]
pub mod schema;
mod sentry;
pub mod shell;
mod spot;
pub mod strict_json;
mod tool_names;
mod when;
mod wildcard;

pub use answer::{Answer, Captured, Cause, Decision, End, Reading, Trouble, read};
pub use bridge_call::{BridgeCall, WithoutAnswer};
pub use chunks::{Chunks, Cutter, Grain};
pub use declaration::DeclaredField;
pub use declare::{Declared, FileKind, HooksConfig, Layer, OnUnknown, declare, declare_document};
pub use diagnostic::{Diagnostic, Place, Severity, SourceText, Span};
pub use dialect::{Condition, Dialect};
pub use difference::{Change, Difference};
pub use disk::{DISK_SILENT, DISK_TIMEOUT, within_disk_timeout};
pub use effects::{Aspect, Command, Effects, PathResolver, Place as CallPlace, Touched, fixed_part};
pub use engine::{Builder, HookEngine};
pub use event::{EVENTS, EventInfo, EventKind, Power, Subject};
pub use files::{Around, AroundKind, CommandFiles, Fingerprinted, Follower, NamedFile, Naming, Whereabouts};
pub use growing::GrowingText;
pub use guard::{Lost, Required, Unarmed, WhyUnarmed};
pub use hook::{
    Action, CommandAction, Duty, HeaderPiece, Hook, HookFunction, HttpAction, Occasion, RuleAction, Source, Upkeep,
    WorkerAction,
};
pub use input::*;
pub use matcher::Matcher;
pub use mcp_names::McpName;
pub use merge::{Conflict, Merged};
pub use model_api::{
    LlmCandidate, LlmContent, LlmMessage, LlmRequest, LlmRequestPatch, LlmResponse, LlmUsage, SharedJson, ToolConfig,
    ToolMode,
};
pub use near::{did_you_mean, is_near, nearest};
pub use observe::{AgentHost, Belongs, EventId, Observer, RunId, RunReport, RunStart, RunStatus, SubAgent};
pub use on_error::{FailureAction, OnError};
pub use outcome::*;
pub use pattern::{Found, Pattern, Search};
pub use plan::{Plan, Planner};
pub use ready::NotReady;
pub use redact::{Redaction, looks_like_a_key};
pub use registry::{HookState, Registry, SwitchError};
pub use run::words::{SESSION_VARIABLES, joined as joined_command};
pub use run::worker::WorkerHealth;
pub use run::{Limits, Places, Surroundings};
pub use sample::{sample, sample_args, sample_subject};
pub use sentry::Sentry;
pub use tool_names::{canonical_tool_name, claude_tool, is_possible_tool, known_tools, tool_help, tools_meant};
pub use when::{Because, When};
pub use wildcard::is_like;
