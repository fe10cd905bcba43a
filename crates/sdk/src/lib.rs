//! What a hook is written with in Rust: handlers by event, helpers for answers, and the two ways in which an agent runs the
//! program: once per event (a command hook), or once per session (a worker, where `HOOKWRIGHT_WORKER=1` says so).
//! It decides nothing: what an answer means is the agent's business, and nothing of the engine is in here.
//!
//! ```no_run
//! use hookwright_sdk::{BeforeTool, Hook, deny, pass};
//! # use std::process::ExitCode;
//!
//! fn main() -> ExitCode {
//!     Hook::new()
//!         .on(BeforeTool, |call| match call.tool_input.get("file_path").and_then(|path| path.as_str()) {
//!             Some(path) if path.contains("secrets/") => deny("secrets/ is off limits"),
//!             _ => pass(),
//!         })
//!         .run()
//! }
//! ```
//!
//! stdout belongs to answers: say things with `eprintln!`, never with `println!`, and give child processes another stdout and
//! stdin than this program's. A handler that panics is a failure of the hook, never a yes; one that calls
//! `std::process::exit(0)` is a yes, so don't.

#![warn(missing_docs)]

pub mod answer;
mod event;
#[rustfmt::skip]
#[expect(clippy::needless_update, reason = "it is generated, and some answers have one field")]
mod events;
mod hook;
mod merge;
mod refs;
mod stdio;
mod worker;

pub use answer::{
    allow, ask, clear_context, context, deny, message, pass, request, respond, rewrite, stop, tail_call, tools,
};
pub use event::Event;
pub use events::*;
pub use hook::Hook;
/// JSON, as inputs and answers have it.
pub use serde_json;
