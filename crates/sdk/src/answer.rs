//! Answers: functions that make them, for the events that have them. What is more than one of these is a struct:
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
    /// An answer that says no.
    Deny: deny(reason: String);
    /// An answer that has the user decide.
    Ask: ask(reason: String);
    /// An answer that stops the agent.
    Stop: stop(reason: String);
    /// An answer with words for the user.
    Message: message(text: String);
    /// An answer with words for the model.
    Context: context(text: String);
    /// An answer that changes a tool's arguments.
    Rewrite: rewrite(tool_input: Map<String, Value>);
    /// An answer that changes the request to the model.
    Request: request(patch: LlmRequestPatch);
    /// An answer in the model's place.
    Respond: respond(response: LlmResponse);
    /// An answer that says which tools the model may call.
    Tools: tools(config: ToolConfig);
    /// An answer that runs another tool.
    TailCall: tail_call(name: String, args: Map<String, Value>);
    /// An answer that empties the model's memory.
    ClearContext: clear_context();
}

/// Nothing to say: no objection.
pub fn pass<Output: Default>() -> Output {
    Output::default()
}

/// No objection, said.
pub fn allow<Output: Allow>() -> Output {
    Output::allow()
}

/// No, and why. On AfterTool it hides the result, on AfterAgent it demands another answer.
pub fn deny<Output: Deny>(reason: impl Into<String>) -> Output {
    Output::deny(reason.into())
}

/// The user decides.
pub fn ask<Output: Ask>(reason: impl Into<String>) -> Output {
    Output::ask(reason.into())
}

/// The agent stops.
pub fn stop<Output: Stop>(reason: impl Into<String>) -> Output {
    Output::stop(reason.into())
}

/// Words for the user.
pub fn message<Output: Message>(text: impl Into<String>) -> Output {
    Output::message(text.into())
}

/// Words for the model.
pub fn context<Output: Context>(text: impl Into<String>) -> Output {
    Output::context(text.into())
}

/// Arguments that are laid over the tool's own.
pub fn rewrite<Output: Rewrite>(tool_input: Map<String, Value>) -> Output {
    Output::rewrite(tool_input)
}

/// What changes in the request to the model.
pub fn request<Output: Request>(patch: LlmRequestPatch) -> Output {
    Output::request(patch)
}

/// An answer, or a piece of one, in the place of the model's: a text, or a whole response.
pub fn respond<Output: Respond>(response: impl Into<LlmResponse>) -> Output {
    Output::respond(response.into())
}

/// How the model may use tools, and which.
pub fn tools<Output: Tools>(mode: ToolMode, names: impl IntoIterator<Item = impl Into<String>>) -> Output {
    let allowed = names.into_iter().map(Into::into).collect();
    Output::tools(ToolConfig { mode: Some(mode), allowed_function_names: allowed })
}

/// A tool that runs next; its result takes the place of this one's.
pub fn tail_call<Output: TailCall>(name: impl Into<String>, args: Map<String, Value>) -> Output {
    Output::tail_call(name.into(), args)
}

/// The model's memory is emptied.
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
