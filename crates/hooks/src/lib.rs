//! The hook engine: settings text in, a typed outcome per event out.
//!
//! Hooks are small programs that an agent runs at fixed points of its loop: JSON in on stdin, a decision out on stdout.
//! This crate parses their declarations from settings, plans which of them run for an event, runs them, parses and
//! merges their answers, and returns one typed [`Outcome`] per event.
//!
//! The crate talks to no model provider and to no terminal; of models it knows only the text of requests and responses
//! ([`LlmRequest`], [`LlmResponse`]). With the `http` feature, which is on by default, it sends events to hooks of type
//! `http`. It reads no environment variables and no settings files: the caller passes both in. It does read the disk to
//! determine the effects of a call and the files of a command: symbolic links, git's configuration, scripts.
//!
//! ```
//! use hookwright_hooks::{
//!     BeforeTool, BeforeToolVerdict, HookEngine, Layer, Registry, RequestedBy, Session, Source, parse_layer,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let settings = r#"{ "hooks": { "BeforeTool": [ { "matcher": "run_shell_command", "hooks": [
//!     { "type": "command", "name": "no-rm", "command": "grep -q 'rm -rf' && { echo 'no rm -rf here' >&2; exit 2; }; exit 0" }
//! ] } ] } }"#;
//! let declared = parse_layer(&Layer::new(Source::User, "settings.json".as_ref(), settings));
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
//! The modules in the order in which an event passes through them: [`config`] parses settings, `registry` holds the
//! hooks, `running::plan` selects those of an event, `running::dispatch` runs them, `answers` parses and merges their
//! answers, and `answers::outcome` turns the merged answer into a verdict. `config`, `registry` and `answers` perform
//! no I/O.

#![warn(missing_docs)]

mod answers;
mod bridge_call;
pub mod config;
pub mod confinement;
mod diagnostic;
pub mod dialect;
mod doubt;
mod effects;
mod engine;
mod event;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod guards;
mod hook;
pub mod jsonc;
mod matching;
mod on_error;
pub use hookwright_analysis::patch;
mod registry;
mod running;
#[cfg(feature = "schema")]
pub mod schema;
pub mod strict_json;
mod suggestion;

pub use answers::merge::{self, AnswerConflict, HookConfinement, MergedAnswer};
pub use answers::outcome::*;
pub use answers::{Answer, CapturedStream, Decision, FailureCause, HookExit, ParsedAnswer, RunProblem, parse_answer};
pub use bridge_call::{BridgeCall, NoAnswerPolicy};
pub use config::{DeclaredLayer, FileKind, HooksConfig, Layer, OnUnknown, parse_layer, parse_layer_document};
pub use diagnostic::{Diagnostic, FileLocation, Severity, SourceSpan, SourceText};
pub use dialect::{Dialect, PermissionRule};
pub use doubt::{Enforcement, OnDoubt};
pub use effects::{
    Aspect, CallPlace, Command, Effects, Flow, PathResolver, RepositoryEffect, Touched, call_effects, fixed_part,
};
pub use engine::{HookEngine, HookEngineBuilder};
pub use event::chunks::{ChunkGranularity, ChunkSplitter, ChunkUnit};
pub use event::growing_text::GrowingText;
pub use event::input::*;
pub use event::model_api::{
    LlmCandidate, LlmContent, LlmMessage, LlmRequest, LlmRequestPatch, LlmResponse, LlmUsage, SharedJson, ToolConfig,
    ToolMode,
};
pub use event::sample::{sample_args, sample_input, sample_subject};
pub use event::{EVENTS, EventInfo, EventKind, HookCapability, MatcherSubject};
pub use files::{Around, AroundKind, CommandFiles, Fingerprinted, Follower, NamedFile, Naming, Whereabouts};
pub use guards::fingerprint_fields::FingerprintField;
pub use guards::trust_gate::TrustGate;
pub use guards::{LostGuard, RequiredHook, SleepingGuard, UnarmedGuard, UnarmedReason};
pub use hook::{
    Action, CommandAction, ConfinementOrigin, HeaderPiece, Hook, HookFunction, HookRole, HttpAction,
    ProcessConfinement, RuleAction, RunCondition, Source, WorkerAction, WorkerConfig,
};
pub use matching::Matcher;
pub use matching::effect_filter::{EffectBounds, EffectFilter, MatchReason};
pub use matching::mcp_names::McpToolName;
pub use matching::pattern::{BoundedRegex, RegexMatch, ToolNamePattern};
pub use matching::tool_names::{
    canonical_tool_name, is_possible_tool, known_tools, tool_by_claude_name, tool_help, tools_named,
};
pub use matching::wildcard::matches_wildcard;
pub use on_error::{FailureAction, OnError};
pub use registry::hook_changes::{HookChange, HookChangeKind};
pub use registry::{HookState, Registry, SwitchError};
pub use running::disk_timeout::{DISK_TIMEOUT, DISK_TIMEOUT_MESSAGE, run_with_disk_timeout};
pub use running::env_redaction::{EnvRedaction, looks_like_secret};
pub use running::invocation::{SESSION_VARIABLES, join_command as joined_command};
pub use running::observer::{
    AgentHost, EventId, EventReport, Observer, RunContext, RunId, RunReport, RunStart, RunStatus, SubAgent,
    VerdictReport,
};
pub use running::plan::{Plan, Planner};
pub use running::readiness::ReadinessError;
pub use running::worker::WorkerHealth;
pub use running::{ExecEnv, ExecEnvs, RunLimits};
pub use suggestion::{did_you_mean, is_within_typos, nearest_name};
