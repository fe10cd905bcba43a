//! Constructors of answers, for the events that accept them. An answer with several fields is a struct:
//! `BeforeToolOutput { system_message: Some("…".into()), ..deny("no") }`.

use serde_json::{Map, Value};

use crate::events::{LlmCandidate, LlmContent, LlmRequestPatch, LlmResponse, ToolConfig, ToolMode};

macro_rules! answer_traits {
    ($($(#[$doc:meta])* $name:ident: $method:ident($($argument:ident: $type:ty),*);)*) => {$(
        $(#[$doc])*
        pub trait $name {
            $(#[$doc])*
            fn $method($($argument: $type),*) -> Self;
        }
    )*};
}

answer_traits! {
    /// An answer that has no objection.
    Allow: allow();
    /// An answer that denies.
    Deny: deny(reason: String);
    /// An answer that asks the user to decide.
    Ask: ask(reason: String);
    /// An answer that stops the agent.
    Stop: stop(reason: String);
    /// An answer with a message for the user.
    Message: message(text: String);
    /// An answer with context for the model.
    Context: context(text: String);
    /// An answer that changes a tool's arguments.
    Rewrite: rewrite(tool_input: Map<String, Value>);
    /// An answer that changes the request to the model.
    Request: request(patch: LlmRequestPatch);
    /// An answer that replaces the model's.
    Respond: respond(response: LlmResponse);
    /// An answer that limits the tools that the model may call.
    Tools: tools(config: ToolConfig);
    /// An answer that runs another tool.
    TailCall: tail_call(name: String, args: Map<String, Value>);
    /// An answer that clears the model's context.
    ClearContext: clear_context();
}

/// Returns an empty answer: no objection and nothing to add.
pub fn pass<Output: Default>() -> Output {
    Output::default()
}

/// Returns an explicit allow.
pub fn allow<Output: Allow>() -> Output {
    Output::allow()
}

/// Returns a deny with its reason. On AfterTool it hides the result, on AfterAgent it demands another answer.
pub fn deny<Output: Deny>(reason: impl Into<String>) -> Output {
    Output::deny(reason.into())
}

/// Returns an answer that asks the user to decide.
pub fn ask<Output: Ask>(reason: impl Into<String>) -> Output {
    Output::ask(reason.into())
}

/// Returns an answer that stops the agent.
pub fn stop<Output: Stop>(reason: impl Into<String>) -> Output {
    Output::stop(reason.into())
}

/// Returns an answer with a message for the user.
pub fn message<Output: Message>(text: impl Into<String>) -> Output {
    Output::message(text.into())
}

/// Returns an answer with context for the model.
pub fn context<Output: Context>(text: impl Into<String>) -> Output {
    Output::context(text.into())
}

/// Returns an answer with arguments that override the tool's own.
pub fn rewrite<Output: Rewrite>(tool_input: Map<String, Value>) -> Output {
    Output::rewrite(tool_input)
}

/// Returns an answer that changes the request to the model.
pub fn request<Output: Request>(patch: LlmRequestPatch) -> Output {
    Output::request(patch)
}

/// Returns an answer that replaces the model's answer, or a chunk of it: a text, or a whole response.
pub fn respond<Output: Respond>(response: impl Into<LlmResponse>) -> Output {
    Output::respond(response.into())
}

/// Returns an answer with the tool mode and the tools that the model may call.
pub fn tools<Output: Tools>(mode: ToolMode, names: impl IntoIterator<Item = impl Into<String>>) -> Output {
    let allowed = names.into_iter().map(Into::into).collect();
    Output::tools(ToolConfig { mode: Some(mode), allowed_function_names: allowed })
}

/// Returns an answer that runs another tool next; its result replaces this one's.
pub fn tail_call<Output: TailCall>(name: impl Into<String>, args: Map<String, Value>) -> Output {
    Output::tail_call(name.into(), args)
}

/// Returns an answer that clears the model's context.
pub fn clear_context<Output: ClearContext>() -> Output {
    Output::clear_context()
}

impl From<String> for LlmResponse {
    fn from(text: String) -> Self {
        let content = LlmContent { role: "model".to_owned(), parts: vec![text] };
        LlmResponse { candidates: vec![LlmCandidate { content, ..LlmCandidate::default() }], ..LlmResponse::default() }
    }
}

impl From<&str> for LlmResponse {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}
