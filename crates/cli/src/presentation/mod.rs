//! What people read, made from typed values: the one place for texts that front ends and commands share.
//!
//! Nothing here reads keys or draws on a terminal.

pub(crate) mod administration;
pub(crate) mod approval_text;
pub(crate) mod call_text;
pub(crate) mod card_store;
pub(crate) mod diff;
pub(crate) mod highlight;
pub(crate) mod hook_log;
pub(crate) mod humanize;
mod message;
pub(crate) mod opening_text;
pub(crate) mod reply_text;
pub(crate) mod restore_plan;
pub(crate) mod resumed_history;
pub(crate) mod session_messages;
pub(crate) mod session_stats;
pub(crate) mod styled_text;
pub(crate) mod theme;
pub(crate) mod timeline;

pub(crate) use message::{CommandStyle, Message, ReplyPart, as_error, print_answer, print_messages, reply_parts};
