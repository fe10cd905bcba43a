//! Contains panics: turns the panic of a tool into a failed call.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use hookwright_tools::{Tool, ToolContext, ToolErrorKind, ToolFailure, ToolResult};
use serde_json::Value;

/// Runs a tool and returns a failed result if it panics.
pub(crate) async fn run_tool_catching_panics(tool: &Arc<dyn Tool>, args: &Value, context: &ToolContext) -> ToolResult {
    let mut run = Box::pin(async { tool.run(args, context).await });
    // After a panic the future is never polled again, so its inconsistent state is not observed.
    let poll = |cx: &mut std::task::Context<'_>| match catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(cx))) {
        Ok(poll) => poll,
        Err(payload) => {
            let message = format!("{} panicked: {}", tool.name(), panic_message(&*payload));
            Poll::Ready(ToolFailure::new(ToolErrorKind::UnhandledException, message).into())
        }
    };
    std::future::poll_fn(poll).await
}

/// Returns the message of a panic.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("the reason is unknown")
}
