//! The session's questions as permission requests of the protocol, and the user's answers.

use agent_client_protocol::v1::schema::{
    Content, ContentBlock, Diff, PermissionOption, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionRequest, SessionId, TextContent, ToolCallContent, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields,
};
use hookwright_agent::session::{OpeningChoice, OpeningQuestion};
use hookwright_agent::{
    Answer, ApprovalReply, ApprovalRequest, GuardChange, GuardTrustReply, QuestionKind, QuestionSubject, UserQuestion,
};
use hookwright_settings::LoadedConfig;
use hookwright_settings::trust::FolderRule;
use hookwright_tools::{FileDiff, ToolDisplay};

use super::updates::{locations, tool_kind};
use crate::presentation::approval_text::{self, ApprovalChoice};
use crate::presentation::opening_text;
use crate::presentation::styled_text::StyledLine;

/// A question with its options: each has the answer that choosing it gives.
pub(super) struct PermissionQuestion<T> {
    pub(super) request: RequestPermissionRequest,
    answers: Vec<T>,
}

impl<T: Clone> PermissionQuestion<T> {
    fn new(session: &SessionId, call: ToolCallUpdate, options: Vec<(PermissionOptionKind, String, T)>) -> Self {
        let mut answers = Vec::new();
        let mut shown = Vec::new();
        for (number, (kind, name, answer)) in options.into_iter().enumerate() {
            shown.push(PermissionOption::new(number.to_string(), name, kind));
            answers.push(answer);
        }
        PermissionQuestion { request: RequestPermissionRequest::new(session.clone(), call, shown), answers }
    }

    /// Returns the answer of an outcome; none if the question was cancelled or the option is not one of these.
    pub(super) fn answer(&self, outcome: &RequestPermissionOutcome) -> Option<T> {
        let RequestPermissionOutcome::Selected(selected) = outcome else { return None };
        let number: usize = selected.option_id.0.parse().ok()?;
        self.answers.get(number).cloned()
    }
}

/// Returns the permission request of a question; none for a question that needs typed text.
pub(super) fn permission_question(
    session: &SessionId,
    id: u64,
    subject: &QuestionSubject,
) -> Option<PermissionQuestion<Answer>> {
    match subject {
        QuestionSubject::Approval(request) => Some(approval_question(session, request)),
        QuestionSubject::GuardTrust(changes) => Some(guard_question(session, id, changes)),
        QuestionSubject::Input(input) => choice_question(session, id, input),
    }
}

fn approval_question(session: &SessionId, request: &ApprovalRequest) -> PermissionQuestion<Answer> {
    let fields = ToolCallUpdateFields::new()
        .kind(tool_kind(request.kind))
        .status(ToolCallStatus::Pending)
        .title(format!("{}{}", request.description, approval_text::call_position(request)))
        .content(approval_content(request))
        .locations(locations(&request.args, request.preview.as_ref()))
        .raw_input(serde_json::Value::Object(request.args.clone()));
    let call = ToolCallUpdate::new(request.call_id.clone(), fields);
    let mut options = Vec::new();
    for choice in ApprovalChoice::for_request(request) {
        let (kind, name, reply) = match choice {
            ApprovalChoice::Once => (PermissionOptionKind::AllowOnce, "Allow once".to_owned(), ApprovalReply::Once),
            ApprovalChoice::Session => {
                (PermissionOptionKind::AllowAlways, "Allow for this session".to_owned(), ApprovalReply::Session)
            }
            ApprovalChoice::Server => {
                let server = request.server.as_ref().map_or("", |tool| tool.server.as_str());
                let name = format!("Allow all tools of MCP server {server} for this session");
                (PermissionOptionKind::AllowAlways, name, ApprovalReply::Server)
            }
            ApprovalChoice::Deny => (PermissionOptionKind::RejectOnce, "Deny".to_owned(), ApprovalReply::Deny(None)),
            // Arguments cannot be edited in a permission request, and an editor cancels in its own way.
            ApprovalChoice::Edit | ApprovalChoice::Cancel => continue,
        };
        options.push((kind, name, Answer::Approval(reply)));
    }
    for (number, rule) in request.rule_offer_texts.iter().enumerate() {
        let name = format!("Always allow, in this project, {rule}");
        options.push((PermissionOptionKind::AllowAlways, name, Answer::Approval(ApprovalReply::Always(number))));
    }
    PermissionQuestion::new(session, call, options)
}

/// Returns what the user should know before the call runs: the edit, the whole command, who asks, what hooks changed.
fn approval_content(request: &ApprovalRequest) -> Vec<ToolCallContent> {
    let mut content = Vec::new();
    match &request.preview {
        Some(ToolDisplay::Diff(file)) => content.push(diff_content(file)),
        Some(ToolDisplay::Text(text)) if !text.is_empty() => content.push(text_content(text)),
        _ => {}
    }
    if let Some(command) = request.args.get("command").and_then(serde_json::Value::as_str) {
        content.push(text_content(&format!("```sh\n{command}\n```")));
    }
    content.extend(approval_text::notes(request).iter().map(|note| text_content(&note.to_string())));
    content.extend(approval_text::argument_changes(request).iter().map(|change| text_content(&change.to_string())));
    content
}

fn guard_question(session: &SessionId, id: u64, changes: &[GuardChange]) -> PermissionQuestion<Answer> {
    let mut content = Vec::new();
    for change in changes {
        content.push(text_content(&change.to_string()));
        if let Some(diff) = &change.diff {
            content.push(text_content(&format!("```diff\n{diff}\n```")));
        }
    }
    let title = "The agent changed what your guards are made of".to_owned();
    let options = vec![
        (
            PermissionOptionKind::RejectOnce,
            "Leave it untrusted: hooks that depend on it deny every call they can".to_owned(),
            Answer::GuardTrust(GuardTrustReply::KeepUntrusted),
        ),
        (
            PermissionOptionKind::AllowAlways,
            "Trust the change: it is active from now on".to_owned(),
            Answer::GuardTrust(GuardTrustReply::Trust),
        ),
    ];
    PermissionQuestion::new(session, own_call(&format!("guards-{id}"), title, content), options)
}

fn choice_question(session: &SessionId, id: u64, input: &UserQuestion) -> Option<PermissionQuestion<Answer>> {
    let QuestionKind::Choice { choices, .. } = &input.kind else { return None };
    let content = input.details.iter().map(|line| text_content(line)).collect();
    let name = |choice: &hookwright_agent::QuestionChoice| match choice.description.as_str() {
        "" => choice.name.clone(),
        about => format!("{}: {about}", choice.name),
    };
    let mut options: Vec<_> = choices
        .iter()
        .enumerate()
        .map(|(at, choice)| (PermissionOptionKind::AllowOnce, name(choice), Answer::Choice(at)))
        .collect();
    options.push((PermissionOptionKind::RejectOnce, "Leave it as it is".to_owned(), Answer::Dismissed));
    Some(PermissionQuestion::new(session, own_call(&format!("question-{id}"), input.title.clone(), content), options))
}

/// Returns the permission request of a question before the session starts.
pub(super) fn opening_question(
    session: &SessionId,
    question: &OpeningQuestion,
    loaded: &LoadedConfig,
) -> PermissionQuestion<OpeningChoice> {
    let lines = opening_text::question_lines(question, loaded);
    let mut lines = lines.iter().map(StyledLine::plain);
    let title = lines.next().unwrap_or_default();
    let body: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
    let content = if body.is_empty() { Vec::new() } else { vec![text_content(&body.join("\n"))] };
    let options = question.choices().into_iter().map(|choice| {
        let kind = match &choice {
            OpeningChoice::Folder(FolderRule::DoNotTrust) | OpeningChoice::DoNotRead => {
                PermissionOptionKind::RejectAlways
            }
            OpeningChoice::Leave | OpeningChoice::NewConversation => PermissionOptionKind::RejectOnce,
            OpeningChoice::Continue | OpeningChoice::Resume(_) => PermissionOptionKind::AllowOnce,
            OpeningChoice::Folder(_)
            | OpeningChoice::TrustChanges
            | OpeningChoice::ReadInProject
            | OpeningChoice::ReadEverywhere => PermissionOptionKind::AllowAlways,
        };
        (kind, opening_text::choice_text(question, &choice, loaded), choice)
    });
    let call = own_call("hookwright-start", title, content);
    PermissionQuestion::new(session, call, options.collect())
}

/// Returns a call that stands for a question of the session itself: the protocol asks about calls alone.
fn own_call(id: &str, title: String, content: Vec<ToolCallContent>) -> ToolCallUpdate {
    let fields = ToolCallUpdateFields::new()
        .kind(agent_client_protocol::v1::schema::ToolKind::Other)
        .status(ToolCallStatus::Pending)
        .title(title)
        .content(content);
    ToolCallUpdate::new(id.to_owned(), fields)
}

pub(super) fn text_content(text: &str) -> ToolCallContent {
    ToolCallContent::Content(Content::new(ContentBlock::Text(TextContent::new(text))))
}

pub(super) fn diff_content(file: &FileDiff) -> ToolCallContent {
    ToolCallContent::Diff(Diff::new(file.file_path.clone(), file.new.clone()).old_text(file.original.clone()))
}
