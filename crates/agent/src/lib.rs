//! The agent: one prompt, from hooks and model to tools and answer.
//!
//! Free of terminal code: it speaks in a stream of [`AgentEvent`]s that a headless printer or a screen consumes. The
//! journey of a prompt, module by module: `agent` (BeforeAgent) → `turn` → `stream` (BeforeModel, BeforeToolSelection,
//! AfterModel) → `call` (BeforeTool, Notification, AfterTool) → … → `agent` (AfterAgent).

#![warn(missing_docs)]

mod agent;
mod approval;
mod ask;
mod call;
pub mod commands;
mod compress;
pub mod context;
mod event;
mod loop_guard;
mod policy;
mod services;
mod stream;
pub mod system;
pub mod transcript;
mod translate;
mod turn;

pub use agent::{Agent, StartSource};
pub use approval::{ApprovalMode, Approvals};
pub use event::{AgentEvent, ApprovalReply, ApprovalRequest, AskedBy, CallError, Events, ToolEnd, ToolStart, TurnEnd};
pub use policy::{Policy, PolicyError};
pub use services::{HookEvents, Interaction, Services};
