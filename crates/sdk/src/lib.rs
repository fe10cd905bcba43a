//! Library for hooks in Rust: handlers by event, helpers for answers, and the two ways in which an agent runs the
//! program: once per event (a command hook), or once per session (a worker, if `HOOKWRIGHT_WORKER=1` is set). It
//! contains no code of the engine: the agent interprets the answers.
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
//! Stdout is reserved for answers: print messages with `eprintln!`, never with `println!`, and give child processes
//! another stdin and stdout than this program's. A handler that panics is a failure of the hook, never an allow; a
//! handler that calls `std::process::exit(0)` is an allow, so do not do that.

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
/// The JSON library whose types inputs and answers use.
pub use serde_json;
