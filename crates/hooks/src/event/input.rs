//! The eleven events as values: their fields, their JSON on a hook's stdin, and how a sequential plan passes one hook's
//! changes to the next. `answers/outcome.rs` has the verdicts.

mod encode;
mod event_fields;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::answers::Answer;
use crate::answers::merge::MergedAnswer;
use crate::answers::outcome;
use crate::dialect::claude::CallStatus;
use crate::event::EventKind;
use crate::event::growing_text::GrowingText;
use crate::event::model_api::{LlmResponse, SharedJson};
use crate::matching::mcp_names::McpToolName;
#[cfg(feature = "schema")]
pub(crate) use encode::Base;
pub use encode::HookInput;
pub use event_fields::{Attachment, AttachmentKind, Purpose, RequestedBy, Session};

/// An event that can be fired: its kind, its input and the type of its verdict.
pub trait Event: Serialize + Clone + Send + Sync {
    /// The kind of the event.
    const KIND: EventKind;
    /// The type of the verdict, made from the merged answer of all hooks.
    type Verdict: for<'a> From<&'a MergedAnswer>;

    /// The subject that the matcher is tested against.
    fn subject(&self) -> Option<&str> {
        None
    }

    /// For a tool of an MCP server: its names, which matchers are tested against too.
    fn mcp_name(&self) -> Option<McpToolName<'_>> {
        None
    }

    /// The id of the tool call that the event is about.
    fn tool_use_id(&self) -> Option<&str> {
        None
    }

    /// The tool that is called, and its arguments.
    fn tool_call(&self) -> Option<(&str, &Map<String, Value>)> {
        None
    }

    /// How the call ended, once it has.
    fn call_status(&self) -> Option<CallStatus> {
        None
    }

    /// A field that is too large to copy for every hook; it is written before the others, and `Serialize` skips it.
    fn shared_field(&self) -> Option<(&'static str, &SharedJson)> {
        None
    }

    /// A text that is too long to encode for every event; it is written after the others, and `Serialize` skips it.
    fn growing_field(&self) -> Option<(&'static str, &GrowingText)> {
        None
    }

    /// Whether the growing text continues in later events.
    fn has_more_text(&self) -> bool {
        false
    }

    /// The names of the tools that are offered to the model; empty if they are not known.
    fn offered_tools(&self) -> &[String] {
        &[]
    }

    /// Whether one hook's answer can change the input of later hooks.
    const IS_REWRITABLE: bool = false;

    /// Applies one hook's answer to the input of the next one in a sequential plan.
    fn apply_answer(&mut self, _answer: &Answer) {}

    /// Whether everything that `apply_answer` can change is the same in both events.
    fn is_unchanged_from(&self, _other: &Self) -> bool {
        true
    }
}

macro_rules! events {
    ($($name:ident $(<$life:lifetime>)?),* $(,)?) => {
        /// Any event, for callers that learn the kind at run time.
        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "each variant is the event of that name")]
        pub enum AnyEvent { $($name($name $(<$life>)?)),* }

        impl AnyEvent {
            /// Reads the event's own fields; base fields and unknown ones are ignored.
            ///
            /// # Errors
            /// If a field is missing or of the wrong type; the message names it.
            pub fn from_fields(kind: EventKind, fields: Map<String, Value>) -> Result<Self, serde_json::Error> {
                match kind {
                    $(EventKind::$name => serde_json::from_value(Value::Object(fields)).map(AnyEvent::$name)),*
                }
            }

            /// The JSON schema of the event's own fields.
            #[cfg(feature = "schema")]
            pub(crate) fn schema(kind: EventKind) -> schemars::Schema {
                match kind { $(EventKind::$name => schemars::schema_for!($name $(<$life>)?)),* }
            }

            /// The kind of the event.
            pub fn kind(&self) -> EventKind {
                match self { $(AnyEvent::$name(_) => EventKind::$name),* }
            }
        }

        /// Evaluates an expression for the event that an [`AnyEvent`] holds.
        macro_rules! with_event {
            ($any:expr, $event:ident => $body:expr) => {
                match $any { $($crate::event::input::AnyEvent::$name($event) => $body),* }
            };
        }
        pub(crate) use with_event;
    };
}

events! {
    SessionStart<'static>, SessionEnd<'static>, BeforeAgent<'static>, AfterAgent<'static>, BeforeModel,
    BeforeToolSelection, AfterModel<'static>, BeforeTool<'static>, AfterTool<'static>, PreCompress<'static>,
    Notification<'static>,
}

impl AnyEvent {
    /// The subject that the matcher is tested against.
    pub fn subject(&self) -> Option<&str> {
        with_event!(self, event => event.subject())
    }

    /// The event's own fields, without the model's request and the text so far, which are shared by many events.
    pub fn fields(&self) -> Map<String, Value> {
        let fields = with_event!(self, event => serde_json::to_value(event));
        match fields {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }
}

/// A session starts, is resumed or is cleared.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionStart<'a> {
    /// `startup`, `resume` or `clear`.
    pub source: Cow<'a, str>,
}

/// A session ends or is cleared.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionEnd<'a> {
    /// `exit`, `clear`, `logout`, `prompt_input_exit` or `other`.
    pub reason: Cow<'a, str>,
}

/// The user sent a prompt.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BeforeAgent<'a> {
    /// The prompt.
    pub prompt: Cow<'a, str>,
    /// The files and directories that are to be read for it, and have not been yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

/// The turn's final answer is there.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AfterAgent<'a> {
    /// The user's prompt.
    pub prompt: Cow<'a, str>,
    /// The answer.
    pub prompt_response: Cow<'a, str>,
    /// Whether an earlier AfterAgent deny caused this answer.
    #[serde(default)]
    pub stop_hook_active: bool,
}

/// A request is about to go to the model.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BeforeModel {
    /// The request.
    #[serde(skip_serializing)]
    pub llm_request: SharedJson,
    /// What the request is for.
    #[serde(default)]
    pub purpose: Purpose,
}

/// The tools offered with a request are about to be fixed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BeforeToolSelection {
    /// The request.
    #[serde(skip_serializing)]
    pub llm_request: SharedJson,
    /// What the request is for.
    #[serde(default)]
    pub purpose: Purpose,
    /// The names of the tools that go along with it; empty means that any tool's name will do.
    #[serde(skip)]
    pub offered_tools: Vec<String>,
}

/// A piece of the model's answer arrived.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AfterModel<'a> {
    /// The request it answers.
    #[serde(skip_serializing)]
    pub llm_request: SharedJson,
    /// The piece.
    pub llm_response: Cow<'a, LlmResponse>,
    /// What the user is not shown as the answer: the model's thinking.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub thoughts: Cow<'a, str>,
    /// Code that the provider ran for the model, and what it printed, as JSON.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub code: Cow<'a, str>,
    /// The sources that the provider names for this piece, as JSON.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub citations: Cow<'a, str>,
    /// What the request is for.
    #[serde(default)]
    pub purpose: Purpose,
    /// The piece's text.
    #[serde(default)]
    pub content: Cow<'a, str>,
    /// The answer's text so far, this piece included.
    #[serde(default, skip_serializing)]
    pub full_content: GrowingText,
}

/// The model asked for a tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BeforeTool<'a> {
    /// The tool's canonical name.
    pub tool_name: Cow<'a, str>,
    /// Its arguments.
    #[serde(default)]
    pub tool_input: Cow<'a, Map<String, Value>>,
    /// For tools of an MCP server: which one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_context: Option<Cow<'a, Value>>,
    /// For a tail call: the tool that the model asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_request_name: Option<Cow<'a, str>>,
    /// Which call this is; BeforeTool and AfterTool of one call have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<Cow<'a, str>>,
    /// Who wants it to run.
    #[serde(default)]
    pub requested_by: RequestedBy,
}

/// A tool has run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AfterTool<'a> {
    /// The tool's canonical name.
    pub tool_name: Cow<'a, str>,
    /// The arguments it ran with.
    #[serde(default)]
    pub tool_input: Cow<'a, Map<String, Value>>,
    /// Its result: `llmContent`, `returnDisplay` and, if it failed, `error`.
    #[serde(default)]
    pub tool_response: Cow<'a, Value>,
    /// For tools of an MCP server: which one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_context: Option<Cow<'a, Value>>,
    /// For a tail call: the tool that the model asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_request_name: Option<Cow<'a, str>>,
    /// Which call this is; BeforeTool and AfterTool of one call have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<Cow<'a, str>>,
    /// Who wants it to run.
    #[serde(default)]
    pub requested_by: RequestedBy,
}

/// The history is about to be compressed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PreCompress<'a> {
    /// `manual` or `auto`.
    pub trigger: Cow<'a, str>,
}

/// The user is about to be asked for something.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notification<'a> {
    /// `ToolPermission`.
    pub notification_type: Cow<'a, str>,
    /// What the user is asked, in one line.
    #[serde(default)]
    pub message: Cow<'a, str>,
    /// More about it: the tool, the file, the command.
    #[serde(default)]
    pub details: Cow<'a, Value>,
    /// The call that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<Cow<'a, str>>,
    /// Who wants it to run.
    #[serde(default)]
    pub requested_by: RequestedBy,
}

impl Event for SessionStart<'_> {
    const KIND: EventKind = EventKind::SessionStart;
    type Verdict = outcome::SessionStartVerdict;
    fn subject(&self) -> Option<&str> {
        Some(&self.source)
    }
}

impl Event for SessionEnd<'_> {
    const KIND: EventKind = EventKind::SessionEnd;
    type Verdict = outcome::AdvisoryVerdict;
    fn subject(&self) -> Option<&str> {
        Some(&self.reason)
    }
}

impl Event for BeforeAgent<'_> {
    const KIND: EventKind = EventKind::BeforeAgent;
    const IS_REWRITABLE: bool = true;
    type Verdict = outcome::BeforeAgentVerdict;
    fn apply_answer(&mut self, answer: &Answer) {
        if let Some(context) = &answer.additional_context {
            let prompt = self.prompt.to_mut();
            prompt.push_str("\n\n");
            prompt.push_str(context);
        }
    }
    fn is_unchanged_from(&self, other: &Self) -> bool {
        self.prompt == other.prompt
    }
}

impl Event for AfterAgent<'_> {
    const KIND: EventKind = EventKind::AfterAgent;
    type Verdict = outcome::AfterAgentVerdict;
}

impl Event for BeforeModel {
    const KIND: EventKind = EventKind::BeforeModel;
    const IS_REWRITABLE: bool = true;
    type Verdict = outcome::BeforeModelVerdict;
    fn shared_field(&self) -> Option<(&'static str, &SharedJson)> {
        Some(("llm_request", &self.llm_request))
    }
    fn apply_answer(&mut self, answer: &Answer) {
        if let (Some(patch), Some(mut request)) = (&answer.llm_request, self.llm_request.parse()) {
            patch.apply(&mut request);
            self.llm_request = SharedJson::from_request(&request);
        }
    }
    fn is_unchanged_from(&self, other: &Self) -> bool {
        self.llm_request.parse() == other.llm_request.parse()
    }
}

impl Event for BeforeToolSelection {
    const KIND: EventKind = EventKind::BeforeToolSelection;

    fn offered_tools(&self) -> &[String] {
        &self.offered_tools
    }

    type Verdict = outcome::ToolSelection;
    fn shared_field(&self) -> Option<(&'static str, &SharedJson)> {
        Some(("llm_request", &self.llm_request))
    }
}

impl Event for AfterModel<'_> {
    const KIND: EventKind = EventKind::AfterModel;
    type Verdict = outcome::AfterModelVerdict;
    fn shared_field(&self) -> Option<(&'static str, &SharedJson)> {
        Some(("llm_request", &self.llm_request))
    }
    fn growing_field(&self) -> Option<(&'static str, &GrowingText)> {
        Some(("full_content", &self.full_content))
    }
    fn has_more_text(&self) -> bool {
        self.llm_response.candidates.iter().all(|candidate| candidate.finish_reason.is_none())
    }
}

impl Event for BeforeTool<'_> {
    const KIND: EventKind = EventKind::BeforeTool;
    const IS_REWRITABLE: bool = true;
    type Verdict = outcome::BeforeToolVerdict;
    fn subject(&self) -> Option<&str> {
        Some(&self.tool_name)
    }
    fn tool_call(&self) -> Option<(&str, &Map<String, Value>)> {
        Some((&self.tool_name, &self.tool_input))
    }
    fn mcp_name(&self) -> Option<McpToolName<'_>> {
        mcp_tool_name(&self.tool_name, self.mcp_context.as_deref())
    }
    fn tool_use_id(&self) -> Option<&str> {
        self.tool_use_id.as_deref()
    }
    fn apply_answer(&mut self, answer: &Answer) {
        if let Some(changes) = &answer.tool_input {
            self.tool_input.to_mut().extend(changes.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
    }
    fn is_unchanged_from(&self, other: &Self) -> bool {
        self.tool_input == other.tool_input
    }
}

/// The names of a tool of an MCP server, from the event's `mcp_context`.
fn mcp_tool_name<'a>(name: &'a str, context: Option<&'a Value>) -> Option<McpToolName<'a>> {
    let text = |key| context?.get(key)?.as_str();
    Some(McpToolName { name, server: text("server_name")?, tool: text("tool_name")? })
}

impl Event for AfterTool<'_> {
    const KIND: EventKind = EventKind::AfterTool;
    type Verdict = outcome::AfterToolVerdict;
    fn call_status(&self) -> Option<CallStatus> {
        let failed = self.tool_response.get("error").is_some_and(|error| !error.is_null());
        Some(if failed { CallStatus::Failed } else { CallStatus::Succeeded })
    }
    fn subject(&self) -> Option<&str> {
        Some(&self.tool_name)
    }
    fn tool_call(&self) -> Option<(&str, &Map<String, Value>)> {
        Some((&self.tool_name, &self.tool_input))
    }
    fn mcp_name(&self) -> Option<McpToolName<'_>> {
        mcp_tool_name(&self.tool_name, self.mcp_context.as_deref())
    }
    fn tool_use_id(&self) -> Option<&str> {
        self.tool_use_id.as_deref()
    }
}

impl Event for PreCompress<'_> {
    const KIND: EventKind = EventKind::PreCompress;
    type Verdict = outcome::AdvisoryVerdict;
    fn subject(&self) -> Option<&str> {
        Some(&self.trigger)
    }
}

impl Event for Notification<'_> {
    const KIND: EventKind = EventKind::Notification;
    type Verdict = outcome::AdvisoryVerdict;
    fn subject(&self) -> Option<&str> {
        Some(&self.notification_type)
    }
    fn tool_use_id(&self) -> Option<&str> {
        self.tool_use_id.as_deref()
    }
}
