//! The events, what hooks receive and what they may answer.
//!
//! Generated from schemas/ (cargo run -p xtask -- generate): do not edit.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{answer, event::Event};

/// The `SessionStartHookSpecificOutput` of the wire format.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionStartHookSpecificOutput {
    /// The `additionalContext` of the wire format.
    #[serde(rename = "additionalContext", skip_serializing_if = "Option::is_none")]
    pub additional_context: Option<String>,
}

/// Another agent, whose event it really is.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct AgentHost {
    /// Its name, as `hookwright bridge` takes it.
    pub name: String,
    /// Its version, if it says.
    #[serde(default)]
    pub version: Option<String>,
    /// The event's name there.
    pub event: String,
    /// The tool's name there.
    #[serde(default)]
    pub tool_name: Option<String>,
    /// The tool's arguments there, whole and in that agent's own spelling.
    #[serde(default)]
    pub tool_input: Option<Map<String, Value>>,
}

/// The `BeforeAgentHookSpecificOutput` of the wire format.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BeforeAgentHookSpecificOutput {
    /// The `additionalContext` of the wire format.
    #[serde(rename = "additionalContext", skip_serializing_if = "Option::is_none")]
    pub additional_context: Option<String>,
}

/// What an `Attachment` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum AttachmentKind {
    /// One file.
    #[serde(rename = "file")]
    File,
    /// The files of a directory.
    #[serde(rename = "directory")]
    Directory,
    /// A word that this library does not know.
    #[serde(other)]
    Unknown,
}

/// Something that is to be read for a prompt.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Attachment {
    /// Where it really is.
    pub path: String,
    /// What it is.
    pub kind: AttachmentKind,
    /// A file's size in bytes.
    #[serde(default)]
    pub size: Option<u64>,
}

/// One message of a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LlmMessage {
    /// `user`, `model` or `system`.
    pub role: String,
    /// Its text.
    pub content: String,
}

/// Whether tools may, must or must not be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolMode {
    /// The model decides.
    #[serde(rename = "AUTO")]
    Auto,
    /// At least one tool is called.
    #[serde(rename = "ANY")]
    Any,
    /// No tool is called.
    #[serde(rename = "NONE")]
    None,
}

/// How the model may use tools.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolConfig {
    /// Whether tools may, must or must not be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ToolMode>,
    /// The only tools that may be called; empty means no restriction.
    #[serde(rename = "allowedFunctionNames", default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_function_names: Vec<String>,
}

/// What a BeforeModel hook changes in a request: only the parts it named.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LlmRequestPatch {
    /// Another model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Other messages, in the order of the request's text messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<LlmMessage>>,
    /// Generation settings to set; those it does not name stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Map<String, Value>>,
    /// Another tool configuration.
    #[serde(rename = "toolConfig", skip_serializing_if = "Option::is_none")]
    pub tool_config: Option<ToolConfig>,
}

/// A candidate's content: text parts only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LlmContent {
    /// Always `model`.
    pub role: String,
    /// The text parts.
    pub parts: Vec<String>,
}

/// One candidate of an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LlmCandidate {
    /// Its text parts.
    pub content: LlmContent,
    /// Why it ended, on the last piece.
    #[serde(rename = "finishReason", default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// Its index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The provider's safety ratings, as they came.
    #[serde(rename = "safetyRatings", default, skip_serializing_if = "Option::is_none")]
    pub safety_ratings: Option<Value>,
}

/// Token counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LlmUsage {
    /// Tokens of the request.
    #[serde(rename = "promptTokenCount", default, skip_serializing_if = "Option::is_none")]
    pub prompt_token_count: Option<u64>,
    /// Tokens of the answer.
    #[serde(rename = "candidatesTokenCount", default, skip_serializing_if = "Option::is_none")]
    pub candidates_token_count: Option<u64>,
    /// Both.
    #[serde(rename = "totalTokenCount", default, skip_serializing_if = "Option::is_none")]
    pub total_token_count: Option<u64>,
}

/// A model's answer, or one streamed piece of it, as hooks see it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LlmResponse {
    /// The first candidate's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The candidates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<LlmCandidate>,
    /// What it cost.
    #[serde(rename = "usageMetadata", default, skip_serializing_if = "Option::is_none")]
    pub usage_metadata: Option<LlmUsage>,
}

/// The `BeforeModelHookSpecificOutput` of the wire format.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BeforeModelHookSpecificOutput {
    /// The `llm_request` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llm_request: Option<LlmRequestPatch>,
    /// The `llm_response` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llm_response: Option<LlmResponse>,
}

/// A model request, as hooks see it.
#[derive(Clone, Debug, Deserialize, Default, Serialize)]
#[non_exhaustive]
pub struct LlmRequest {
    /// The model's name.
    pub model: String,
    /// The conversation's text, oldest first.
    #[serde(default)]
    pub messages: Vec<LlmMessage>,
    /// Generation settings: `temperature`, `maxOutputTokens`, `topP`, `topK` and others.
    #[serde(default)]
    pub config: Map<String, Value>,
    /// How the model may use tools, and the names of those on offer.
    #[serde(rename = "toolConfig", default)]
    pub tool_config: Option<ToolConfig>,
}

/// What a model request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[non_exhaustive]
pub enum Purpose {
    /// To answer the user.
    #[default]
    #[serde(rename = "answer")]
    Answer,
    /// To sum up a long history.
    #[serde(rename = "compress")]
    Compress,
    /// To search the web.
    #[serde(rename = "search")]
    Search,
    /// To see whether the model answers.
    #[serde(rename = "check")]
    Check,
    /// A word that this library does not know.
    #[serde(other)]
    Unknown,
}

/// The `BeforeToolSelectionHookSpecificOutput` of the wire format.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BeforeToolSelectionHookSpecificOutput {
    /// The `toolConfig` of the wire format.
    #[serde(rename = "toolConfig", skip_serializing_if = "Option::is_none")]
    pub tool_config: Option<ToolConfig>,
}

/// The `AfterModelHookSpecificOutput` of the wire format.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AfterModelHookSpecificOutput {
    /// The `llm_response` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llm_response: Option<LlmResponse>,
}

/// What a confined command may do. What is not named is not allowed, but reading.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ConfinementProfile {
    /// Paths that may be changed: a folder with `/**` behind it or a single path, and exceptions as `!path`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// Folders in which files may be removed; if it is missing, wherever they may be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletes: Option<Vec<String>>,
    /// Paths that may not be read, as globs.
    #[serde(rename = "noReads", skip_serializing_if = "Vec::is_empty")]
    pub no_reads: Vec<String>,
    /// `none`, `loopback`, `all`, hosts, or in a rule `known`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Value>,
    /// Package managers whose usual cache folders may be changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<String>,
    /// Whether UNIX sockets may be used, which lead to any service of this machine.
    #[serde(rename = "unixSockets", skip_serializing_if = "Option::is_none")]
    pub unix_sockets: Option<bool>,
    /// Groups of services whose sockets are closed although UNIX sockets may be used: `containers`, `system`, …
    #[serde(rename = "noServices", skip_serializing_if = "Vec::is_empty")]
    pub no_services: Vec<String>,
    /// Whether variables that look like secrets stay in the environment.
    #[serde(rename = "keepEnv", skip_serializing_if = "Option::is_none")]
    pub keep_env: Option<bool>,
    /// The memory in MB that each process may allocate.
    #[serde(rename = "memoryMb", skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u64>,
    /// How many processes may exist at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// The seconds that the command may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

/// The `BeforeToolHookSpecificOutput` of the wire format.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BeforeToolHookSpecificOutput {
    /// The `confine` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confine: Option<ConfinementProfile>,
    /// The `tool_input` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_input: Option<Map<String, Value>>,
    /// The `redact_input` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redact_input: Option<bool>,
}

/// Who wants a tool to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[non_exhaustive]
pub enum RequestedBy {
    /// The model called it.
    #[default]
    #[serde(rename = "model")]
    Model,
    /// The user: `!command`, `@path`.
    #[serde(rename = "user")]
    User,
    /// A custom command: `!{command}`, `@{path}`.
    #[serde(rename = "command")]
    Command,
    /// A hook: a tail call.
    #[serde(rename = "hook")]
    Hook,
    /// A word that this library does not know.
    #[serde(other)]
    Unknown,
}

/// Data that goes somewhere.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Flow {
    /// A path, `env`, `env:NAME`, `clipboard` or `network:HOST`.
    pub from: String,
    /// `network:HOST` or `run:PROGRAM`.
    pub to: String,
    /// The program that sends or runs it.
    pub via: String,
}

/// One kind of effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Aspect {
    /// What it runs.
    #[serde(rename = "commands")]
    Commands,
    /// What it reads.
    #[serde(rename = "reads")]
    Reads,
    /// What it writes.
    #[serde(rename = "writes")]
    Writes,
    /// What it deletes.
    #[serde(rename = "deletes")]
    Deletes,
    /// What it talks to.
    #[serde(rename = "network")]
    Network,
    /// What becomes of a git repository beside its files.
    #[serde(rename = "repository")]
    Repository,
    /// What is done to services.
    #[serde(rename = "services")]
    Services,
    /// What is sent a signal.
    #[serde(rename = "processes")]
    Processes,
    /// What runs as another user.
    #[serde(rename = "privileged")]
    Privileged,
    /// Where data goes.
    #[serde(rename = "flows")]
    Flows,
    /// A word that this library does not know.
    #[serde(other)]
    Unknown,
}

/// What a call does, as far as it can be told.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Effects {
    /// The commands that it runs, word by word; those that others run for it are here too.
    pub commands: Vec<Vec<String>>,
    /// What it is told to read: from the project on, or a whole path; with a slash behind it, everything in it.
    pub reads: Vec<String>,
    /// What it makes or changes.
    pub writes: Vec<String>,
    /// What it removes.
    pub deletes: Vec<String>,
    /// Whom it talks to: hosts, or the name of a remote or a program.
    pub network: Vec<String>,
    /// What becomes of a git repository beside its files: `index`, `commit`, `refs`, `config`, `discard: branch x`.
    #[serde(default)]
    pub repository: Vec<String>,
    /// What is done to services: `SERVICE:VERB`, with the verbs `read`, `write`, `delete` and `run`.
    #[serde(default)]
    pub services: Vec<String>,
    /// What is sent a signal.
    #[serde(default)]
    pub processes: Vec<String>,
    /// What runs as another user.
    #[serde(default)]
    pub privileged: Vec<String>,
    /// Data that goes to the network or into a program that runs it.
    #[serde(default)]
    pub flows: Vec<Flow>,
    /// Whether all of these lists are complete.
    pub certain: bool,
    /// The lists that may not be.
    #[serde(default)]
    pub unsure: Option<Vec<Aspect>>,
}

/// The `AfterToolTailToolCallRequest` of the wire format.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AfterToolTailToolCallRequest {
    /// The `name` of the wire format.
    pub name: String,
    /// The `args` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Map<String, Value>>,
}

/// The `AfterToolHookSpecificOutput` of the wire format.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AfterToolHookSpecificOutput {
    /// The `additionalContext` of the wire format.
    #[serde(rename = "additionalContext", skip_serializing_if = "Option::is_none")]
    pub additional_context: Option<String>,
    /// The `tailToolCallRequest` of the wire format.
    #[serde(rename = "tailToolCallRequest", skip_serializing_if = "Option::is_none")]
    pub tail_tool_call_request: Option<AfterToolTailToolCallRequest>,
}

/// The `AfterAgentHookSpecificOutput` of the wire format.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AfterAgentHookSpecificOutput {
    /// The `clearContext` of the wire format.
    #[serde(rename = "clearContext", skip_serializing_if = "Option::is_none")]
    pub clear_context: Option<bool>,
}

/// A session starts, is resumed or is cleared.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct SessionStartInput {
    /// The `session_id` of the wire format.
    pub session_id: String,
    /// The `transcript_path` of the wire format.
    pub transcript_path: String,
    /// The `cwd` of the wire format.
    pub cwd: String,
    /// The `hook_event_name` of the wire format.
    pub hook_event_name: String,
    /// The `timestamp` of the wire format.
    pub timestamp: String,
    /// The turn, for events within one.
    #[serde(default)]
    pub turn_id: Option<String>,
    /// Inside a sub-agent: how its definition calls it.
    #[serde(default)]
    pub agent_name: Option<String>,
    /// Inside a sub-agent: which run of it this is.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    #[serde(default)]
    pub agent_transcript_path: Option<String>,
    /// What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    #[serde(default)]
    pub approval_mode: Option<String>,
    /// Inside another agent: which one, and what it calls this.
    #[serde(default)]
    pub host: Option<AgentHost>,
    /// The `source` of the wire format.
    pub source: SessionStartSource,
}

/// What a hook may answer to SessionStart.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionStartOutput {
    /// Shown to the user at once.
    #[serde(rename = "systemMessage", skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Keeps this hook's input and output out of logs and telemetry.
    #[serde(rename = "suppressOutput", skip_serializing_if = "Option::is_none")]
    pub suppress_output: Option<bool>,
    /// The `hookSpecificOutput` of the wire format.
    #[serde(rename = "hookSpecificOutput", skip_serializing_if = "Option::is_none")]
    pub hook_specific_output: Option<SessionStartHookSpecificOutput>,
}

/// The event that fires when a session starts, is resumed or is cleared.
#[derive(Clone, Copy, Debug)]
pub struct SessionStart;

impl Event for SessionStart {
    const NAME: &'static str = "SessionStart";
    type Input = SessionStartInput;
    type Output = SessionStartOutput;
}

impl answer::Message for SessionStartOutput {
    fn message(text: String) -> Self {
        SessionStartOutput { system_message: Some(text), ..Default::default() }
    }
}

impl answer::Context for SessionStartOutput {
    fn context(text: String) -> Self {
        SessionStartOutput { hook_specific_output: Some(SessionStartHookSpecificOutput { additional_context: Some(text), ..Default::default() }), ..Default::default() }
    }
}

/// The user sent a prompt.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct BeforeAgentInput {
    /// The `session_id` of the wire format.
    pub session_id: String,
    /// The `transcript_path` of the wire format.
    pub transcript_path: String,
    /// The `cwd` of the wire format.
    pub cwd: String,
    /// The `hook_event_name` of the wire format.
    pub hook_event_name: String,
    /// The `timestamp` of the wire format.
    pub timestamp: String,
    /// The turn, for events within one.
    #[serde(default)]
    pub turn_id: Option<String>,
    /// Inside a sub-agent: how its definition calls it.
    #[serde(default)]
    pub agent_name: Option<String>,
    /// Inside a sub-agent: which run of it this is.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    #[serde(default)]
    pub agent_transcript_path: Option<String>,
    /// What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    #[serde(default)]
    pub approval_mode: Option<String>,
    /// Inside another agent: which one, and what it calls this.
    #[serde(default)]
    pub host: Option<AgentHost>,
    /// The prompt.
    pub prompt: String,
    /// The files and directories that are to be read for it, and have not been yet.
    #[serde(default)]
    pub attachments: Vec<Attachment>,
}

/// What a hook may answer to BeforeAgent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BeforeAgentOutput {
    /// Shown to the user at once.
    #[serde(rename = "systemMessage", skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Keeps this hook's input and output out of logs and telemetry.
    #[serde(rename = "suppressOutput", skip_serializing_if = "Option::is_none")]
    pub suppress_output: Option<bool>,
    /// The `decision` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The `reason` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The `continue` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#continue: Option<bool>,
    /// The `stopReason` of the wire format.
    #[serde(rename = "stopReason", skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// The `hookSpecificOutput` of the wire format.
    #[serde(rename = "hookSpecificOutput", skip_serializing_if = "Option::is_none")]
    pub hook_specific_output: Option<BeforeAgentHookSpecificOutput>,
}

/// The event that fires once per user prompt, before anything else.
#[derive(Clone, Copy, Debug)]
pub struct BeforeAgent;

impl Event for BeforeAgent {
    const NAME: &'static str = "BeforeAgent";
    type Input = BeforeAgentInput;
    type Output = BeforeAgentOutput;
}

impl answer::Allow for BeforeAgentOutput {
    fn allow() -> Self {
        BeforeAgentOutput { decision: Some(Decision::Allow), ..Default::default() }
    }
}

impl answer::Deny for BeforeAgentOutput {
    fn deny(reason: String) -> Self {
        BeforeAgentOutput { decision: Some(Decision::Deny), reason: Some(reason), ..Default::default() }
    }
}

impl answer::Stop for BeforeAgentOutput {
    fn stop(reason: String) -> Self {
        BeforeAgentOutput { r#continue: Some(false), stop_reason: Some(reason), ..Default::default() }
    }
}

impl answer::Message for BeforeAgentOutput {
    fn message(text: String) -> Self {
        BeforeAgentOutput { system_message: Some(text), ..Default::default() }
    }
}

impl answer::Context for BeforeAgentOutput {
    fn context(text: String) -> Self {
        BeforeAgentOutput { hook_specific_output: Some(BeforeAgentHookSpecificOutput { additional_context: Some(text), ..Default::default() }), ..Default::default() }
    }
}

/// The history is about to be compressed.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct PreCompressInput {
    /// The `session_id` of the wire format.
    pub session_id: String,
    /// The `transcript_path` of the wire format.
    pub transcript_path: String,
    /// The `cwd` of the wire format.
    pub cwd: String,
    /// The `hook_event_name` of the wire format.
    pub hook_event_name: String,
    /// The `timestamp` of the wire format.
    pub timestamp: String,
    /// The turn, for events within one.
    #[serde(default)]
    pub turn_id: Option<String>,
    /// Inside a sub-agent: how its definition calls it.
    #[serde(default)]
    pub agent_name: Option<String>,
    /// Inside a sub-agent: which run of it this is.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    #[serde(default)]
    pub agent_transcript_path: Option<String>,
    /// What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    #[serde(default)]
    pub approval_mode: Option<String>,
    /// Inside another agent: which one, and what it calls this.
    #[serde(default)]
    pub host: Option<AgentHost>,
    /// The `trigger` of the wire format.
    pub trigger: PreCompressTrigger,
}

/// What a hook may answer to PreCompress.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PreCompressOutput {
    /// Shown to the user at once.
    #[serde(rename = "systemMessage", skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Keeps this hook's input and output out of logs and telemetry.
    #[serde(rename = "suppressOutput", skip_serializing_if = "Option::is_none")]
    pub suppress_output: Option<bool>,
}

/// The event that fires before the history is compressed.
#[derive(Clone, Copy, Debug)]
pub struct PreCompress;

impl Event for PreCompress {
    const NAME: &'static str = "PreCompress";
    type Input = PreCompressInput;
    type Output = PreCompressOutput;
}

impl answer::Message for PreCompressOutput {
    fn message(text: String) -> Self {
        PreCompressOutput { system_message: Some(text), ..Default::default() }
    }
}

/// A request is about to go to the model.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct BeforeModelInput {
    /// The `session_id` of the wire format.
    pub session_id: String,
    /// The `transcript_path` of the wire format.
    pub transcript_path: String,
    /// The `cwd` of the wire format.
    pub cwd: String,
    /// The `hook_event_name` of the wire format.
    pub hook_event_name: String,
    /// The `timestamp` of the wire format.
    pub timestamp: String,
    /// The turn, for events within one.
    #[serde(default)]
    pub turn_id: Option<String>,
    /// Inside a sub-agent: how its definition calls it.
    #[serde(default)]
    pub agent_name: Option<String>,
    /// Inside a sub-agent: which run of it this is.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    #[serde(default)]
    pub agent_transcript_path: Option<String>,
    /// What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    #[serde(default)]
    pub approval_mode: Option<String>,
    /// Inside another agent: which one, and what it calls this.
    #[serde(default)]
    pub host: Option<AgentHost>,
    /// The request.
    #[serde(deserialize_with = "crate::refs::shared")]
    pub llm_request: Arc<LlmRequest>,
    /// What the request is for.
    #[serde(default)]
    pub purpose: Purpose,
}

/// What a hook may answer to BeforeModel.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BeforeModelOutput {
    /// Shown to the user at once.
    #[serde(rename = "systemMessage", skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Keeps this hook's input and output out of logs and telemetry.
    #[serde(rename = "suppressOutput", skip_serializing_if = "Option::is_none")]
    pub suppress_output: Option<bool>,
    /// The `decision` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The `reason` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The `continue` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#continue: Option<bool>,
    /// The `stopReason` of the wire format.
    #[serde(rename = "stopReason", skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// The `hookSpecificOutput` of the wire format.
    #[serde(rename = "hookSpecificOutput", skip_serializing_if = "Option::is_none")]
    pub hook_specific_output: Option<BeforeModelHookSpecificOutput>,
}

/// The event that fires before every model request.
#[derive(Clone, Copy, Debug)]
pub struct BeforeModel;

impl Event for BeforeModel {
    const NAME: &'static str = "BeforeModel";
    type Input = BeforeModelInput;
    type Output = BeforeModelOutput;
    fn lend(input: &mut BeforeModelInput, field: &str, request: &Arc<LlmRequest>) {
        if field == "llm_request" {
            input.llm_request = Arc::clone(request);
        }
    }
}

impl answer::Allow for BeforeModelOutput {
    fn allow() -> Self {
        BeforeModelOutput { decision: Some(Decision::Allow), ..Default::default() }
    }
}

impl answer::Deny for BeforeModelOutput {
    fn deny(reason: String) -> Self {
        BeforeModelOutput { decision: Some(Decision::Deny), reason: Some(reason), ..Default::default() }
    }
}

impl answer::Stop for BeforeModelOutput {
    fn stop(reason: String) -> Self {
        BeforeModelOutput { r#continue: Some(false), stop_reason: Some(reason), ..Default::default() }
    }
}

impl answer::Message for BeforeModelOutput {
    fn message(text: String) -> Self {
        BeforeModelOutput { system_message: Some(text), ..Default::default() }
    }
}

impl answer::Request for BeforeModelOutput {
    fn request(patch: LlmRequestPatch) -> Self {
        BeforeModelOutput { hook_specific_output: Some(BeforeModelHookSpecificOutput { llm_request: Some(patch), ..Default::default() }), ..Default::default() }
    }
}

impl answer::Respond for BeforeModelOutput {
    fn respond(response: LlmResponse) -> Self {
        BeforeModelOutput { hook_specific_output: Some(BeforeModelHookSpecificOutput { llm_response: Some(response), ..Default::default() }), ..Default::default() }
    }
}

/// The tools offered with a request are about to be fixed.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct BeforeToolSelectionInput {
    /// The `session_id` of the wire format.
    pub session_id: String,
    /// The `transcript_path` of the wire format.
    pub transcript_path: String,
    /// The `cwd` of the wire format.
    pub cwd: String,
    /// The `hook_event_name` of the wire format.
    pub hook_event_name: String,
    /// The `timestamp` of the wire format.
    pub timestamp: String,
    /// The turn, for events within one.
    #[serde(default)]
    pub turn_id: Option<String>,
    /// Inside a sub-agent: how its definition calls it.
    #[serde(default)]
    pub agent_name: Option<String>,
    /// Inside a sub-agent: which run of it this is.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    #[serde(default)]
    pub agent_transcript_path: Option<String>,
    /// What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    #[serde(default)]
    pub approval_mode: Option<String>,
    /// Inside another agent: which one, and what it calls this.
    #[serde(default)]
    pub host: Option<AgentHost>,
    /// The request.
    #[serde(deserialize_with = "crate::refs::shared")]
    pub llm_request: Arc<LlmRequest>,
    /// What the request is for.
    #[serde(default)]
    pub purpose: Purpose,
}

/// What a hook may answer to BeforeToolSelection.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BeforeToolSelectionOutput {
    /// Shown to the user at once.
    #[serde(rename = "systemMessage", skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Keeps this hook's input and output out of logs and telemetry.
    #[serde(rename = "suppressOutput", skip_serializing_if = "Option::is_none")]
    pub suppress_output: Option<bool>,
    /// The `hookSpecificOutput` of the wire format.
    #[serde(rename = "hookSpecificOutput", skip_serializing_if = "Option::is_none")]
    pub hook_specific_output: Option<BeforeToolSelectionHookSpecificOutput>,
}

/// The event that fires before every model request, after BeforeModel.
#[derive(Clone, Copy, Debug)]
pub struct BeforeToolSelection;

impl Event for BeforeToolSelection {
    const NAME: &'static str = "BeforeToolSelection";
    type Input = BeforeToolSelectionInput;
    type Output = BeforeToolSelectionOutput;
    fn lend(input: &mut BeforeToolSelectionInput, field: &str, request: &Arc<LlmRequest>) {
        if field == "llm_request" {
            input.llm_request = Arc::clone(request);
        }
    }
}

impl answer::Message for BeforeToolSelectionOutput {
    fn message(text: String) -> Self {
        BeforeToolSelectionOutput { system_message: Some(text), ..Default::default() }
    }
}

impl answer::Tools for BeforeToolSelectionOutput {
    fn tools(config: ToolConfig) -> Self {
        BeforeToolSelectionOutput { hook_specific_output: Some(BeforeToolSelectionHookSpecificOutput { tool_config: Some(config), ..Default::default() }), ..Default::default() }
    }
}

/// A piece of the model's answer arrived.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct AfterModelInput {
    /// The `session_id` of the wire format.
    pub session_id: String,
    /// The `transcript_path` of the wire format.
    pub transcript_path: String,
    /// The `cwd` of the wire format.
    pub cwd: String,
    /// The `hook_event_name` of the wire format.
    pub hook_event_name: String,
    /// The `timestamp` of the wire format.
    pub timestamp: String,
    /// The turn, for events within one.
    #[serde(default)]
    pub turn_id: Option<String>,
    /// Inside a sub-agent: how its definition calls it.
    #[serde(default)]
    pub agent_name: Option<String>,
    /// Inside a sub-agent: which run of it this is.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    #[serde(default)]
    pub agent_transcript_path: Option<String>,
    /// What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    #[serde(default)]
    pub approval_mode: Option<String>,
    /// Inside another agent: which one, and what it calls this.
    #[serde(default)]
    pub host: Option<AgentHost>,
    /// The request it answers.
    #[serde(deserialize_with = "crate::refs::shared")]
    pub llm_request: Arc<LlmRequest>,
    /// The piece.
    pub llm_response: LlmResponse,
    /// What the user is not shown as the answer: the model's thinking.
    #[serde(default)]
    pub thoughts: Option<String>,
    /// Code that the provider ran for the model, and what it printed, as JSON.
    #[serde(default)]
    pub code: Option<String>,
    /// The sources that the provider names for this piece, as JSON.
    #[serde(default)]
    pub citations: Option<String>,
    /// What the request is for.
    #[serde(default)]
    pub purpose: Purpose,
    /// The piece's text.
    #[serde(default)]
    pub content: String,
    /// The answer's text so far, this piece included.
    #[serde(default)]
    pub full_content: Option<String>,
}

/// What a hook may answer to AfterModel.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AfterModelOutput {
    /// Shown to the user at once.
    #[serde(rename = "systemMessage", skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Keeps this hook's input and output out of logs and telemetry.
    #[serde(rename = "suppressOutput", skip_serializing_if = "Option::is_none")]
    pub suppress_output: Option<bool>,
    /// The `decision` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The `reason` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The `continue` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#continue: Option<bool>,
    /// The `stopReason` of the wire format.
    #[serde(rename = "stopReason", skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// The `hookSpecificOutput` of the wire format.
    #[serde(rename = "hookSpecificOutput", skip_serializing_if = "Option::is_none")]
    pub hook_specific_output: Option<AfterModelHookSpecificOutput>,
}

/// The event that fires for every streamed piece of the model's answer.
#[derive(Clone, Copy, Debug)]
pub struct AfterModel;

impl Event for AfterModel {
    const NAME: &'static str = "AfterModel";
    type Input = AfterModelInput;
    type Output = AfterModelOutput;
    fn lend(input: &mut AfterModelInput, field: &str, request: &Arc<LlmRequest>) {
        if field == "llm_request" {
            input.llm_request = Arc::clone(request);
        }
    }
}

impl answer::Allow for AfterModelOutput {
    fn allow() -> Self {
        AfterModelOutput { decision: Some(Decision::Allow), ..Default::default() }
    }
}

impl answer::Deny for AfterModelOutput {
    fn deny(reason: String) -> Self {
        AfterModelOutput { decision: Some(Decision::Deny), reason: Some(reason), ..Default::default() }
    }
}

impl answer::Stop for AfterModelOutput {
    fn stop(reason: String) -> Self {
        AfterModelOutput { r#continue: Some(false), stop_reason: Some(reason), ..Default::default() }
    }
}

impl answer::Message for AfterModelOutput {
    fn message(text: String) -> Self {
        AfterModelOutput { system_message: Some(text), ..Default::default() }
    }
}

impl answer::Respond for AfterModelOutput {
    fn respond(response: LlmResponse) -> Self {
        AfterModelOutput { hook_specific_output: Some(AfterModelHookSpecificOutput { llm_response: Some(response), ..Default::default() }), ..Default::default() }
    }
}

/// The model asked for a tool.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct BeforeToolInput {
    /// The `session_id` of the wire format.
    pub session_id: String,
    /// The `transcript_path` of the wire format.
    pub transcript_path: String,
    /// The `cwd` of the wire format.
    pub cwd: String,
    /// The `hook_event_name` of the wire format.
    pub hook_event_name: String,
    /// The `timestamp` of the wire format.
    pub timestamp: String,
    /// The turn, for events within one.
    #[serde(default)]
    pub turn_id: Option<String>,
    /// Inside a sub-agent: how its definition calls it.
    #[serde(default)]
    pub agent_name: Option<String>,
    /// Inside a sub-agent: which run of it this is.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    #[serde(default)]
    pub agent_transcript_path: Option<String>,
    /// What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    #[serde(default)]
    pub approval_mode: Option<String>,
    /// Inside another agent: which one, and what it calls this.
    #[serde(default)]
    pub host: Option<AgentHost>,
    /// The tool's canonical name.
    pub tool_name: String,
    /// Its arguments.
    #[serde(default)]
    pub tool_input: Map<String, Value>,
    /// For tools of an MCP server: which one.
    #[serde(default)]
    pub mcp_context: Option<Value>,
    /// For a tail call: the tool that the model asked for.
    #[serde(default)]
    pub original_request_name: Option<String>,
    /// Which call this is; BeforeTool and AfterTool of one call have the same.
    #[serde(default)]
    pub tool_use_id: Option<String>,
    /// Who wants it to run.
    #[serde(default)]
    pub requested_by: RequestedBy,
    /// What a call does, as far as it can be told.
    #[serde(default)]
    pub effects: Option<Effects>,
}

/// What a hook may answer to BeforeTool.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BeforeToolOutput {
    /// Shown to the user at once.
    #[serde(rename = "systemMessage", skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Keeps this hook's input and output out of logs and telemetry.
    #[serde(rename = "suppressOutput", skip_serializing_if = "Option::is_none")]
    pub suppress_output: Option<bool>,
    /// The `decision` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The `reason` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The `continue` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#continue: Option<bool>,
    /// The `stopReason` of the wire format.
    #[serde(rename = "stopReason", skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// The `hookSpecificOutput` of the wire format.
    #[serde(rename = "hookSpecificOutput", skip_serializing_if = "Option::is_none")]
    pub hook_specific_output: Option<BeforeToolHookSpecificOutput>,
}

/// The event that fires before every tool call, ahead of approval and execution.
#[derive(Clone, Copy, Debug)]
pub struct BeforeTool;

impl Event for BeforeTool {
    const NAME: &'static str = "BeforeTool";
    type Input = BeforeToolInput;
    type Output = BeforeToolOutput;
}

impl answer::Allow for BeforeToolOutput {
    fn allow() -> Self {
        BeforeToolOutput { decision: Some(Decision::Allow), ..Default::default() }
    }
}

impl answer::Deny for BeforeToolOutput {
    fn deny(reason: String) -> Self {
        BeforeToolOutput { decision: Some(Decision::Deny), reason: Some(reason), ..Default::default() }
    }
}

impl answer::Ask for BeforeToolOutput {
    fn ask(reason: String) -> Self {
        BeforeToolOutput { decision: Some(Decision::Ask), reason: Some(reason), ..Default::default() }
    }
}

impl answer::Stop for BeforeToolOutput {
    fn stop(reason: String) -> Self {
        BeforeToolOutput { r#continue: Some(false), stop_reason: Some(reason), ..Default::default() }
    }
}

impl answer::Message for BeforeToolOutput {
    fn message(text: String) -> Self {
        BeforeToolOutput { system_message: Some(text), ..Default::default() }
    }
}

impl answer::Rewrite for BeforeToolOutput {
    fn rewrite(tool_input: Map<String, Value>) -> Self {
        BeforeToolOutput { hook_specific_output: Some(BeforeToolHookSpecificOutput { tool_input: Some(tool_input), ..Default::default() }), ..Default::default() }
    }
}

/// The user is about to be asked for something.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct NotificationInput {
    /// The `session_id` of the wire format.
    pub session_id: String,
    /// The `transcript_path` of the wire format.
    pub transcript_path: String,
    /// The `cwd` of the wire format.
    pub cwd: String,
    /// The `hook_event_name` of the wire format.
    pub hook_event_name: String,
    /// The `timestamp` of the wire format.
    pub timestamp: String,
    /// The turn, for events within one.
    #[serde(default)]
    pub turn_id: Option<String>,
    /// Inside a sub-agent: how its definition calls it.
    #[serde(default)]
    pub agent_name: Option<String>,
    /// Inside a sub-agent: which run of it this is.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    #[serde(default)]
    pub agent_transcript_path: Option<String>,
    /// What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    #[serde(default)]
    pub approval_mode: Option<String>,
    /// Inside another agent: which one, and what it calls this.
    #[serde(default)]
    pub host: Option<AgentHost>,
    /// The `notification_type` of the wire format.
    pub notification_type: NotificationType,
    /// What the user is asked, in one line.
    #[serde(default)]
    pub message: String,
    /// More about it: the tool, the file, the command.
    #[serde(default)]
    pub details: Value,
    /// The call that it is about.
    #[serde(default)]
    pub tool_use_id: Option<String>,
    /// Who wants it to run.
    #[serde(default)]
    pub requested_by: RequestedBy,
}

/// What a hook may answer to Notification.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NotificationOutput {
    /// Shown to the user at once.
    #[serde(rename = "systemMessage", skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Keeps this hook's input and output out of logs and telemetry.
    #[serde(rename = "suppressOutput", skip_serializing_if = "Option::is_none")]
    pub suppress_output: Option<bool>,
}

/// The event that fires before the user is asked for permission.
#[derive(Clone, Copy, Debug)]
pub struct Notification;

impl Event for Notification {
    const NAME: &'static str = "Notification";
    type Input = NotificationInput;
    type Output = NotificationOutput;
}

impl answer::Message for NotificationOutput {
    fn message(text: String) -> Self {
        NotificationOutput { system_message: Some(text), ..Default::default() }
    }
}

/// A tool has run.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct AfterToolInput {
    /// The `session_id` of the wire format.
    pub session_id: String,
    /// The `transcript_path` of the wire format.
    pub transcript_path: String,
    /// The `cwd` of the wire format.
    pub cwd: String,
    /// The `hook_event_name` of the wire format.
    pub hook_event_name: String,
    /// The `timestamp` of the wire format.
    pub timestamp: String,
    /// The turn, for events within one.
    #[serde(default)]
    pub turn_id: Option<String>,
    /// Inside a sub-agent: how its definition calls it.
    #[serde(default)]
    pub agent_name: Option<String>,
    /// Inside a sub-agent: which run of it this is.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    #[serde(default)]
    pub agent_transcript_path: Option<String>,
    /// What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    #[serde(default)]
    pub approval_mode: Option<String>,
    /// Inside another agent: which one, and what it calls this.
    #[serde(default)]
    pub host: Option<AgentHost>,
    /// The tool's canonical name.
    pub tool_name: String,
    /// The arguments it ran with.
    #[serde(default)]
    pub tool_input: Map<String, Value>,
    /// Its result: `llmContent`, `returnDisplay` and, if it failed, `error`.
    #[serde(default)]
    pub tool_response: Value,
    /// For tools of an MCP server: which one.
    #[serde(default)]
    pub mcp_context: Option<Value>,
    /// For a tail call: the tool that the model asked for.
    #[serde(default)]
    pub original_request_name: Option<String>,
    /// Which call this is; BeforeTool and AfterTool of one call have the same.
    #[serde(default)]
    pub tool_use_id: Option<String>,
    /// Who wants it to run.
    #[serde(default)]
    pub requested_by: RequestedBy,
    /// What a call does, as far as it can be told.
    #[serde(default)]
    pub effects: Option<Effects>,
}

/// What a hook may answer to AfterTool.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AfterToolOutput {
    /// Shown to the user at once.
    #[serde(rename = "systemMessage", skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Keeps this hook's input and output out of logs and telemetry.
    #[serde(rename = "suppressOutput", skip_serializing_if = "Option::is_none")]
    pub suppress_output: Option<bool>,
    /// The `decision` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The `reason` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The `continue` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#continue: Option<bool>,
    /// The `stopReason` of the wire format.
    #[serde(rename = "stopReason", skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// The `hookSpecificOutput` of the wire format.
    #[serde(rename = "hookSpecificOutput", skip_serializing_if = "Option::is_none")]
    pub hook_specific_output: Option<AfterToolHookSpecificOutput>,
}

/// The event that fires after every executed tool call.
#[derive(Clone, Copy, Debug)]
pub struct AfterTool;

impl Event for AfterTool {
    const NAME: &'static str = "AfterTool";
    type Input = AfterToolInput;
    type Output = AfterToolOutput;
}

impl answer::Allow for AfterToolOutput {
    fn allow() -> Self {
        AfterToolOutput { decision: Some(Decision::Allow), ..Default::default() }
    }
}

impl answer::Deny for AfterToolOutput {
    fn deny(reason: String) -> Self {
        AfterToolOutput { decision: Some(Decision::Deny), reason: Some(reason), ..Default::default() }
    }
}

impl answer::Stop for AfterToolOutput {
    fn stop(reason: String) -> Self {
        AfterToolOutput { r#continue: Some(false), stop_reason: Some(reason), ..Default::default() }
    }
}

impl answer::Message for AfterToolOutput {
    fn message(text: String) -> Self {
        AfterToolOutput { system_message: Some(text), ..Default::default() }
    }
}

impl answer::Context for AfterToolOutput {
    fn context(text: String) -> Self {
        AfterToolOutput { hook_specific_output: Some(AfterToolHookSpecificOutput { additional_context: Some(text), ..Default::default() }), ..Default::default() }
    }
}

impl answer::TailCall for AfterToolOutput {
    fn tail_call(name: String, args: Map<String, Value>) -> Self {
        AfterToolOutput { hook_specific_output: Some(AfterToolHookSpecificOutput { tail_tool_call_request: Some(AfterToolTailToolCallRequest { name, args: Some(args) }), ..Default::default() }), ..Default::default() }
    }
}

/// The turn's final answer is there.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct AfterAgentInput {
    /// The `session_id` of the wire format.
    pub session_id: String,
    /// The `transcript_path` of the wire format.
    pub transcript_path: String,
    /// The `cwd` of the wire format.
    pub cwd: String,
    /// The `hook_event_name` of the wire format.
    pub hook_event_name: String,
    /// The `timestamp` of the wire format.
    pub timestamp: String,
    /// The turn, for events within one.
    #[serde(default)]
    pub turn_id: Option<String>,
    /// Inside a sub-agent: how its definition calls it.
    #[serde(default)]
    pub agent_name: Option<String>,
    /// Inside a sub-agent: which run of it this is.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    #[serde(default)]
    pub agent_transcript_path: Option<String>,
    /// What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    #[serde(default)]
    pub approval_mode: Option<String>,
    /// Inside another agent: which one, and what it calls this.
    #[serde(default)]
    pub host: Option<AgentHost>,
    /// The user's prompt.
    pub prompt: String,
    /// The answer.
    pub prompt_response: String,
    /// Whether an earlier AfterAgent deny caused this answer.
    #[serde(default)]
    pub stop_hook_active: bool,
}

/// What a hook may answer to AfterAgent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AfterAgentOutput {
    /// Shown to the user at once.
    #[serde(rename = "systemMessage", skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Keeps this hook's input and output out of logs and telemetry.
    #[serde(rename = "suppressOutput", skip_serializing_if = "Option::is_none")]
    pub suppress_output: Option<bool>,
    /// The `decision` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The `reason` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The `continue` of the wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#continue: Option<bool>,
    /// The `stopReason` of the wire format.
    #[serde(rename = "stopReason", skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// The `hookSpecificOutput` of the wire format.
    #[serde(rename = "hookSpecificOutput", skip_serializing_if = "Option::is_none")]
    pub hook_specific_output: Option<AfterAgentHookSpecificOutput>,
}

/// The event that fires once per turn, after the final answer.
#[derive(Clone, Copy, Debug)]
pub struct AfterAgent;

impl Event for AfterAgent {
    const NAME: &'static str = "AfterAgent";
    type Input = AfterAgentInput;
    type Output = AfterAgentOutput;
}

impl answer::Allow for AfterAgentOutput {
    fn allow() -> Self {
        AfterAgentOutput { decision: Some(Decision::Allow), ..Default::default() }
    }
}

impl answer::Deny for AfterAgentOutput {
    fn deny(reason: String) -> Self {
        AfterAgentOutput { decision: Some(Decision::Deny), reason: Some(reason), ..Default::default() }
    }
}

impl answer::Stop for AfterAgentOutput {
    fn stop(reason: String) -> Self {
        AfterAgentOutput { r#continue: Some(false), stop_reason: Some(reason), ..Default::default() }
    }
}

impl answer::Message for AfterAgentOutput {
    fn message(text: String) -> Self {
        AfterAgentOutput { system_message: Some(text), ..Default::default() }
    }
}

impl answer::ClearContext for AfterAgentOutput {
    fn clear_context() -> Self {
        AfterAgentOutput { hook_specific_output: Some(AfterAgentHookSpecificOutput { clear_context: Some(true), ..Default::default() }), ..Default::default() }
    }
}

/// A session ends or is cleared.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct SessionEndInput {
    /// The `session_id` of the wire format.
    pub session_id: String,
    /// The `transcript_path` of the wire format.
    pub transcript_path: String,
    /// The `cwd` of the wire format.
    pub cwd: String,
    /// The `hook_event_name` of the wire format.
    pub hook_event_name: String,
    /// The `timestamp` of the wire format.
    pub timestamp: String,
    /// The turn, for events within one.
    #[serde(default)]
    pub turn_id: Option<String>,
    /// Inside a sub-agent: how its definition calls it.
    #[serde(default)]
    pub agent_name: Option<String>,
    /// Inside a sub-agent: which run of it this is.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    #[serde(default)]
    pub agent_transcript_path: Option<String>,
    /// What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    #[serde(default)]
    pub approval_mode: Option<String>,
    /// Inside another agent: which one, and what it calls this.
    #[serde(default)]
    pub host: Option<AgentHost>,
    /// The `reason` of the wire format.
    pub reason: SessionEndReason,
}

/// What a hook may answer to SessionEnd.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionEndOutput {
    /// Shown to the user at once.
    #[serde(rename = "systemMessage", skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Keeps this hook's input and output out of logs and telemetry.
    #[serde(rename = "suppressOutput", skip_serializing_if = "Option::is_none")]
    pub suppress_output: Option<bool>,
}

/// The event that fires when a session ends or is cleared.
#[derive(Clone, Copy, Debug)]
pub struct SessionEnd;

impl Event for SessionEnd {
    const NAME: &'static str = "SessionEnd";
    type Input = SessionEndInput;
    type Output = SessionEndOutput;
}

impl answer::Message for SessionEndOutput {
    fn message(text: String) -> Self {
        SessionEndOutput { system_message: Some(text), ..Default::default() }
    }
}

/// The words that `decision` may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// `allow`.
    #[serde(rename = "allow")]
    Allow,
    /// `approve`.
    #[serde(rename = "approve")]
    Approve,
    /// `deny`.
    #[serde(rename = "deny")]
    Deny,
    /// `block`.
    #[serde(rename = "block")]
    Block,
    /// `confine`.
    #[serde(rename = "confine")]
    Confine,
    /// `ask`.
    #[serde(rename = "ask")]
    Ask,
}

/// The words that `notification_type` may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum NotificationType {
    /// `ToolPermission`.
    #[serde(rename = "ToolPermission")]
    ToolPermission,
    /// A word that this library does not know.
    #[serde(other)]
    Unknown,
}

/// The words that `trigger` may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum PreCompressTrigger {
    /// `manual`.
    #[serde(rename = "manual")]
    Manual,
    /// `auto`.
    #[serde(rename = "auto")]
    Auto,
    /// A word that this library does not know.
    #[serde(other)]
    Unknown,
}

/// The words that `reason` may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum SessionEndReason {
    /// `exit`.
    #[serde(rename = "exit")]
    Exit,
    /// `clear`.
    #[serde(rename = "clear")]
    Clear,
    /// `logout`.
    #[serde(rename = "logout")]
    Logout,
    /// `prompt_input_exit`.
    #[serde(rename = "prompt_input_exit")]
    PromptInputExit,
    /// `other`.
    #[serde(rename = "other")]
    Other,
    /// A word that this library does not know.
    #[serde(other)]
    Unknown,
}

/// The words that `source` may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum SessionStartSource {
    /// `startup`.
    #[serde(rename = "startup")]
    Startup,
    /// `resume`.
    #[serde(rename = "resume")]
    Resume,
    /// `clear`.
    #[serde(rename = "clear")]
    Clear,
    /// A word that this library does not know.
    #[serde(other)]
    Unknown,
}
