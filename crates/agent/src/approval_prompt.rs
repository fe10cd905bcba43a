//! Asks the user for approval; Notification hooks run in the background meanwhile.

use std::borrow::Cow;

use hookwright_analysis::command_parts::parts;
use hookwright_hooks::Notification;
use hookwright_tools::mcp::McpToolOrigin;
use hookwright_tools::{ToolDisplay, ToolKind};
use serde_json::{Map, Value, json};

use crate::event::{ApprovalReply, ApprovalRequest};
use crate::question::{Answer, QuestionSubject};
use crate::scope::TurnScope;
use crate::services::Services;

/// Asks the user and returns the reply. A front end that is gone or a cancelled turn counts as `Cancel`.
pub(crate) async fn ask_for_approval(
    services: &Services,
    request: ApprovalRequest,
    scope: &TurnScope,
) -> ApprovalReply {
    let _standing = scope.pause_deadline();
    let _turn_to_ask = tokio::select! {
        () = scope.cancel.cancelled() => return ApprovalReply::Cancel,
        turn = services.question_lock.lock() => turn,
    };
    let event = permission_notification(&request);
    let wait = async {
        tokio::select! {
            () = scope.cancel.cancelled() => ApprovalReply::Cancel,
            answer = services.events.ask(QuestionSubject::Approval(Box::new(request))) => match answer {
                Answer::Approval(reply) => reply,
                _ => ApprovalReply::Cancel,
            },
        }
    };
    // Neither the user nor the call waits for Notification hooks.
    services.fire_detached(event, scope);
    wait.await
}

fn permission_notification(request: &ApprovalRequest) -> Notification<'static> {
    let mut details = gemini_permission_details(request);
    // Keys that Gemini CLI's shape already has are not overwritten.
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

/// Returns the details in the shapes of Gemini CLI: a command, an edit, an MCP tool, or other information.
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

/// Returns the names of the programs that a command runs, as far as they are literal.
fn program_names(command: &str) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in parts(command).commands.into_iter().filter_map(|part| part.words.into_iter().next()?) {
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
