//! Asks the user whether something may run; Notification hooks run beside the question.

use std::borrow::Cow;

use hookwright_hooks::Notification;
use hookwright_hooks::shell::parse;
use hookwright_tools::mcp::McpToolOrigin;
use hookwright_tools::{ToolDisplay, ToolKind};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use crate::event::{AgentEvent, ApprovalReply, ApprovalRequest};
use crate::scope::TurnScope;
use crate::services::Services;

/// The user's word. A front end that is gone, and a cancelled turn, count as a cancel.
pub(crate) async fn ask_for_approval(
    services: &Services,
    request: ApprovalRequest,
    scope: &TurnScope,
) -> ApprovalReply {
    let _standing = scope.pause_deadline();
    let _turn_to_ask = tokio::select! {
        () = scope.cancel.cancelled() => return ApprovalReply::Cancel,
        turn = services.approval_lock.lock() => turn,
    };
    let event = permission_notification(&request);
    let (sender, receiver) = oneshot::channel();
    let wait = async {
        services.events.send(AgentEvent::ApprovalRequested(Box::new(request), sender));
        tokio::select! {
            () = scope.cancel.cancelled() => ApprovalReply::Cancel,
            reply = receiver => reply.unwrap_or(ApprovalReply::Cancel),
        }
    };
    // Neither the user nor the call waits for hooks that notify.
    services.fire_detached(event, scope);
    wait.await
}

fn permission_notification(request: &ApprovalRequest) -> Notification<'static> {
    let mut details = gemini_permission_details(request);
    // What stands there under a name of ours is ours.
    details.entry("tool_name").or_insert_with(|| json!(request.name));
    details.entry("tool_input").or_insert_with(|| json!(request.args));
    details.entry("description").or_insert_with(|| json!(request.description));
    Notification {
        notification_type: Cow::Borrowed("ToolPermission"),
        message: Cow::Owned(format!("{} wants to run: {}", request.title, request.description)),
        details: Cow::Owned(Value::Object(details)),
        tool_use_id: Some(Cow::Owned(request.call_id.clone())),
        requested_by: request.requested_by,
    }
}

/// What is asked about, in the shapes of Gemini CLI: a command, an edit, a tool of a server, or something else.
fn gemini_permission_details(request: &ApprovalRequest) -> Map<String, Value> {
    let command = request.args.get("command").and_then(Value::as_str);
    let details = match (&request.server, request.kind, command, &request.preview) {
        (Some(McpToolOrigin { server, tool, .. }), ..) => json!({
            "type": "mcp",
            "title": "Confirm MCP Tool Execution",
            "serverName": server,
            "toolName": tool,
            "toolDisplayName": request.title,
        }),
        (None, ToolKind::Execute, Some(command), _) => json!({
            "type": "exec",
            "title": "Confirm Shell Command",
            "command": command,
            "rootCommand": program_names(command),
        }),
        (None, _, _, Some(ToolDisplay::Diff(file))) => json!({
            "type": "edit",
            "title": format!("Confirm Edit: {}", file.file_name),
            "fileName": file.file_name,
            "filePath": file.file_path.display().to_string(),
            "fileDiff": file.unified,
            "originalContent": file.original,
            "newContent": file.new,
        }),
        _ => json!({"type": "info", "title": format!("Confirm {}", request.title), "prompt": request.description}),
    };
    if let Value::Object(details) = details { details } else { Map::new() }
}

/// The programs that a command runs, as far as they can be read.
fn program_names(command: &str) -> String {
    let script = parse(command);
    let commands = script.commands();
    let mut names: Vec<String> = Vec::new();
    for name in commands.iter().filter_map(|command| command.words.first()?.literal()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_of_a_command_are_named_once() {
        assert_eq!(program_names("git status"), "git");
        assert_eq!(program_names("cd x && git log | head; git push"), "cd, git, head");
        assert_eq!(program_names("$EDITOR x"), "");
    }
}
