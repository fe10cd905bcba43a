//! Runs one prompt of an agent: hooks, model, tools and answer.
//!
//! The crate has no terminal code. It reports through a stream of [`AgentEvent`]s, which a headless
//! printer or a screen consumes. A prompt passes these modules: `agent` (BeforeAgent) → `turn` →
//! `model_gateway` (BeforeModel, BeforeToolSelection) → `stream` (AfterModel) → `call` (BeforeTool,
//! Notification, AfterTool) → … → `agent` (AfterAgent).

#![warn(missing_docs)]

mod agent;
mod approval;
mod approval_prompt;
mod background_hooks;
mod call;
pub mod checkpoint;
mod chunk_buffer;
pub mod commands;
mod compress;
mod confiner;
pub mod context;
mod event;
mod event_channel;
#[doc(hidden)]
pub mod fuzzing;
mod loop_detector;
mod model_gateway;
mod panics;
mod policy;
mod protect;
mod question;
mod request_budget;
mod scope;
mod services;
pub mod session;
mod skills;
mod stream;
mod subagent;
pub mod system_prompt;
pub mod transcript;
mod translate;
mod turn;
mod web_search;

pub use agent::{Agent, EndReason, StartSource};
pub use approval::{
    ApprovalDecision, ApprovalSubject, Approvals, FlagEffect, Permission, PolicyDecision, ToolLimits,
    session_grant_scope,
};
pub use background_hooks::BackgroundHookTasks;
pub use confiner::{CommandConfiner, digest as confinement_digest, protect_files};
pub use event::{
    AgentEvent, AgentNotice, ApprovalDemand, ApprovalReply, ApprovalRequest, CallDecision, CallError, CallNumber,
    GuardTrustReply, HookEvent, ModelEvent, QuestionEvent, SessionActivity, SessionEvent, ToolEnd, ToolEvent,
    ToolStart, TurnEnd, TurnEndSeverity, TurnEvent,
};
pub use event_channel::{EventSender, EventStream, SessionObserver};
pub use hookwright_settings::ApprovalMode;
pub use model_gateway::ModelGateway;
pub use policy::{
    ParsedPolicy, Policy, PolicyError, PolicyRule, PolicyTier, RuleDecision, check_policy_file, load_policies,
};
pub use protect::{GuardChange, ProtectedPaths, TamperWatch, UntrustedChanges};
pub use question::{
    Answer, InputVisibility, Question, QuestionChoice, QuestionId, QuestionKind, QuestionSubject, UserQuestion,
};
pub use request_budget::RequestBudget;
pub use services::{HookEventForwarder, Interaction, Services};
pub use subagent::SubAgentRegistry;
pub use translate::hook_context;
