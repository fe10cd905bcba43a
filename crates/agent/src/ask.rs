//! Asks the user whether something may run; Notification hooks run beside the question.

use std::borrow::Cow;

use hookwright_hooks::Notification;
use hookwright_tools::mcp::ServerTool;
use serde_json::json;
use tokio::sync::oneshot;

use crate::event::{AgentEvent, ApprovalReply, ApprovalRequest};
use crate::scope::Scope;
use crate::services::Services;

/// The user's word. A front end that is gone, and a cancelled turn, count as a cancel.
pub(crate) async fn ask(services: &Services, request: ApprovalRequest, scope: &Scope) -> ApprovalReply {
    let _standing = scope.stand();
    let _turn_to_ask = tokio::select! {
        () = scope.cancel.cancelled() => return ApprovalReply::Cancel,
        turn = services.asking.lock() => turn,
    };
    let event = notification(&request);
    let (sender, receiver) = oneshot::channel();
    let wait = async {
        services.events.send(AgentEvent::Approval(Box::new(request), sender));
        tokio::select! {
            () = scope.cancel.cancelled() => ApprovalReply::Cancel,
            reply = receiver => reply.unwrap_or(ApprovalReply::Cancel),
        }
    };
    // Neither the user nor the call waits for hooks that notify.
    services.fire_aside(event, scope);
    wait.await
}

fn notification(request: &ApprovalRequest) -> Notification<'static> {
    let mut details = json!({
        "type": request.kind.as_str(),
        "title": request.title,
        "tool_name": request.name,
        "tool_input": request.args,
        "description": request.description,
    });
    if let (Some(ServerTool { server, tool, .. }), Some(details)) = (&request.server, details.as_object_mut()) {
        details.insert("type".to_owned(), json!("mcp"));
        details.insert("title".to_owned(), json!("Confirm MCP Tool Execution"));
        details.insert("serverName".to_owned(), json!(server));
        details.insert("toolName".to_owned(), json!(tool));
        details.insert("toolDisplayName".to_owned(), json!(request.title));
    }
    Notification {
        notification_type: Cow::Borrowed("ToolPermission"),
        message: Cow::Owned(format!("{} wants to run: {}", request.title, request.description)),
        details: Cow::Owned(details),
        tool_use_id: Some(Cow::Owned(request.call_id.clone())),
        requested_by: request.requested_by,
    }
}
