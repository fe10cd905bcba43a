//! The agent: one prompt, from hooks and model to tools and answer.
//!
//! Free of terminal code: it speaks in a stream of [`AgentEvent`]s that a headless printer or a screen consumes. The
//! journey of a prompt, module by module: `agent` (BeforeAgent) → `turn` → `door` (BeforeModel, BeforeToolSelection) →
//! `stream` (AfterModel) → `call` (BeforeTool, Notification, AfterTool) → … → `agent` (AfterAgent).

#![warn(missing_docs)]

mod agent;
mod approval;
mod aside;
mod ask;
mod budget;
mod call;
pub mod checkpoint;
pub mod commands;
mod compress;
pub mod context;
mod door;
mod event;
mod events;
#[doc(hidden)]
pub mod fuzzing;
mod hold;
mod inquiry;
mod loop_guard;
mod panics;
mod policy;
mod protect;
mod scope;
mod search;
mod services;
pub mod session;
mod skills;
mod stream;
mod subagent;
pub mod system;
pub mod transcript;
mod translate;
mod turn;

pub use agent::{Agent, EndReason, StartSource};
pub use approval::{Approvals, Flags, Judged, Judgement, Permission, ToolLimits, session_grant};
pub use aside::Aside;
pub use budget::Budget;
pub use door::Door;
pub use event::{
    Activity, AgentEvent, ApprovalReply, ApprovalRequest, AskedBy, CallDecision, CallError, CallNumber, Gravity,
    GuardReply, ToolEnd, ToolStart, TurnEnd,
};
pub use events::{EventStream, Events};
pub use hookwright_settings::ApprovalMode;
pub use inquiry::{Answer, Choosable, Inquiry, Seen, Wanted};
pub use policy::{Decision, Policy, PolicyError, PolicyFiles, Rule, Tier, check_policy, load_policies};
pub use protect::{GuardChange, Guards, LeftChanges, Protected};
pub use services::{HookEvents, Interaction, Services};
pub use subagent::Agents;
