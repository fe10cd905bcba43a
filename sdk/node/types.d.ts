// Generated from schemas/ (cargo run -p xtask -- generate): do not edit.
// What hooks receive and may answer.

export interface SessionStartHookSpecificOutput {
  hookEventName?: "SessionStart";
  additionalContext?: string;
}

/** Another agent, whose event it really is. */
export interface AgentHost {
  /** Its name, as `hookwright bridge` takes it. */
  name: string;
  /** Its version, if it says. */
  version?: string | null;
  /** The event's name there. */
  event: string;
  /** The tool's name there. */
  tool_name?: string | null;
  /** The tool's arguments there, whole and in that agent's own spelling. */
  tool_input?: Record<string, any> | null;
}

export interface BeforeAgentHookSpecificOutput {
  hookEventName?: "BeforeAgent";
  additionalContext?: string;
}

/** What an `Attachment` is. `file`: One file. `directory`: The files of a directory. */
export type AttachmentKind = "file" | "directory";

/** Something that is to be read for a prompt. */
export interface Attachment {
  /** Where it really is. */
  path: string;
  /** What it is. */
  kind: AttachmentKind;
  /** A file's size in bytes. */
  size?: number | null;
}

/** One message of a request. */
export interface LlmMessage {
  /** `user`, `model` or `system`. */
  role: string;
  /** Its text. */
  content: string;
}

/** Whether tools may, must or must not be called. `AUTO`: The model decides. `ANY`: At least one tool is called. `NONE`: No tool is called. */
export type ToolMode = "AUTO" | "ANY" | "NONE";

/** How the model may use tools. */
export interface ToolConfig {
  /** Whether tools may, must or must not be called. */
  mode?: ToolMode | null;
  /** The only tools that may be called; empty means no restriction. */
  allowedFunctionNames?: string[];
}

/** What a BeforeModel hook changes in a request: only the parts it named. */
export interface LlmRequestPatch {
  /** Another model. */
  model?: string | null;
  /** Other messages, in the order of the request's text messages. */
  messages?: LlmMessage[] | null;
  /** Generation settings to set; those it does not name stay. */
  config?: Record<string, any> | null;
  /** Another tool configuration. */
  toolConfig?: ToolConfig | null;
}

/** A candidate's content: text parts only. */
export interface LlmContent {
  /** Always `model`. */
  role: string;
  /** The text parts. */
  parts: string[];
}

/** One candidate of an answer. */
export interface LlmCandidate {
  /** Its text parts. */
  content: LlmContent;
  /** Why it ended, on the last piece. */
  finishReason?: string | null;
  /** Its index. */
  index?: number | null;
  /** The provider's safety ratings, as they came. */
  safetyRatings?: unknown;
}

/** Token counts. */
export interface LlmUsage {
  /** Tokens of the request. */
  promptTokenCount?: number | null;
  /** Tokens of the answer. */
  candidatesTokenCount?: number | null;
  /** Both. */
  totalTokenCount?: number | null;
}

/** A model's answer, or one streamed piece of it, as hooks see it. */
export interface LlmResponse {
  /** The first candidate's text. */
  text?: string | null;
  /** The candidates. */
  candidates?: LlmCandidate[];
  /** What it cost. */
  usageMetadata?: LlmUsage | null;
}

export interface BeforeModelHookSpecificOutput {
  hookEventName?: "BeforeModel";
  llm_request?: LlmRequestPatch;
  llm_response?: LlmResponse;
}

/** A model request, as hooks see it. */
export interface LlmRequest {
  /** The model's name. */
  model: string;
  /** The conversation's text, oldest first. */
  messages: LlmMessage[];
  /** Generation settings: `temperature`, `maxOutputTokens`, `topP`, `topK` and others. */
  config: Record<string, any>;
  /** How the model may use tools, and the names of those on offer. */
  toolConfig?: ToolConfig | null;
}

/** What a model request is for. `answer`: To answer the user. `compress`: To sum up a long history. `search`: To search the web. `check`: To see whether the model answers. */
export type Purpose = "answer" | "compress" | "search" | "check";

export interface BeforeToolSelectionHookSpecificOutput {
  hookEventName?: "BeforeToolSelection";
  toolConfig?: ToolConfig;
}

export interface AfterModelHookSpecificOutput {
  hookEventName?: "AfterModel";
  llm_response?: LlmResponse;
}

/** What a confined command may do. What is not named is not allowed, but reading. */
export interface ConfinementProfile {
  /** Paths that may be changed: a folder with `/**` behind it or a single path, and exceptions as `!path`. */
  writes?: string[];
  /** Folders in which files may be removed; if it is missing, wherever they may be changed. */
  deletes?: string[] | null;
  /** Paths that may not be read, as globs. */
  noReads?: string[];
  /** `none`, `loopback`, `all`, hosts, or in a rule `known`. */
  network?: unknown;
  /** Package managers whose usual cache folders may be changed. */
  caches?: string[];
  /** Whether UNIX sockets may be used, which lead to any service of this machine. */
  unixSockets?: boolean;
  /** Groups of services whose sockets are closed although UNIX sockets may be used: `containers`, `system`, … */
  noServices?: string[];
  /** Whether variables that look like secrets stay in the environment. */
  keepEnv?: boolean;
  /** The memory in MB that each process may allocate. */
  memoryMb?: number | null;
  /** How many processes may exist at once. */
  processes?: number | null;
  /** The seconds that the command may take. */
  seconds?: number | null;
}

export interface BeforeToolHookSpecificOutput {
  hookEventName?: "BeforeTool";
  confine?: ConfinementProfile;
  tool_input?: Record<string, any>;
  redact_input?: boolean;
}

/** Who wants a tool to run. `model`: The model called it. `user`: The user: `!command`, `@path`. `command`: A custom command: `!{command}`, `@{path}`. `hook`: A hook: a tail call. */
export type RequestedBy = "model" | "user" | "command" | "hook";

/** Data that goes somewhere. */
export interface Flow {
  /** A path, `env`, `env:NAME`, `clipboard` or `network:HOST`. */
  from: string;
  /** `network:HOST` or `run:PROGRAM`. */
  to: string;
  /** The program that sends or runs it. */
  via: string;
}

/** One kind of effect. `commands`: What it runs. `reads`: What it reads. `writes`: What it writes. `deletes`: What it deletes. `network`: What it talks to. `repository`: What becomes of a git repository beside its files. `services`: What is done to services. `processes`: What is sent a signal. `privileged`: What runs as another user. `flows`: Where data goes. */
export type Aspect = "commands" | "reads" | "writes" | "deletes" | "network" | "repository" | "services" | "processes" | "privileged" | "flows";

/** What a call does, as far as it can be told. */
export interface Effects {
  /** The commands that it runs, word by word; those that others run for it are here too. */
  commands: string[][];
  /** What it is told to read: from the project on, or a whole path; with a slash behind it, everything in it. */
  reads: string[];
  /** What it makes or changes. */
  writes: string[];
  /** What it removes. */
  deletes: string[];
  /** Whom it talks to: hosts, or the name of a remote or a program. */
  network: string[];
  /** What becomes of a git repository beside its files: `index`, `commit`, `refs`, `config`, `discard: branch x`. */
  repository: string[];
  /** What is done to services: `SERVICE:VERB`, with the verbs `read`, `write`, `delete` and `run`. */
  services: string[];
  /** What is sent a signal. */
  processes: string[];
  /** What runs as another user. */
  privileged: string[];
  /** Data that goes to the network or into a program that runs it. */
  flows: Flow[];
  /** Whether all of these lists are complete. */
  certain: boolean;
  /** The lists that may not be. */
  unsure?: Aspect[] | null;
}

export interface AfterToolTailToolCallRequest {
  name: string;
  args?: Record<string, any>;
}

export interface AfterToolHookSpecificOutput {
  hookEventName?: "AfterTool";
  additionalContext?: string;
  tailToolCallRequest?: AfterToolTailToolCallRequest;
}

export interface AfterAgentHookSpecificOutput {
  hookEventName?: "AfterAgent";
  clearContext?: boolean;
}

/** A session starts, is resumed or is cleared. */
export interface SessionStartInput {
  session_id: string;
  transcript_path: string;
  cwd: string;
  hook_event_name: "SessionStart";
  timestamp: string;
  /** The turn, for events within one. */
  turn_id?: string | null;
  /** Inside a sub-agent: how its definition calls it. */
  agent_name?: string | null;
  /** Inside a sub-agent: which run of it this is. */
  agent_id?: string | null;
  /** Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are. */
  agent_transcript_path?: string | null;
  /** What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word. */
  approval_mode?: string | null;
  /** Inside another agent: which one, and what it calls this. */
  host?: AgentHost | null;
  source: "startup" | "resume" | "clear";
}

/** What a hook may answer to SessionStart. */
export interface SessionStartOutput {
  /** Shown to the user at once. */
  systemMessage?: string | null;
  /** Keeps this hook's input and output out of logs and telemetry. */
  suppressOutput?: boolean | null;
  hookSpecificOutput?: SessionStartHookSpecificOutput;
}

/** The user sent a prompt. */
export interface BeforeAgentInput {
  session_id: string;
  transcript_path: string;
  cwd: string;
  hook_event_name: "BeforeAgent";
  timestamp: string;
  /** The turn, for events within one. */
  turn_id?: string | null;
  /** Inside a sub-agent: how its definition calls it. */
  agent_name?: string | null;
  /** Inside a sub-agent: which run of it this is. */
  agent_id?: string | null;
  /** Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are. */
  agent_transcript_path?: string | null;
  /** What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word. */
  approval_mode?: string | null;
  /** Inside another agent: which one, and what it calls this. */
  host?: AgentHost | null;
  /** The prompt. */
  prompt: string;
  /** The files and directories that are to be read for it, and have not been yet. */
  attachments?: Attachment[];
}

/** What a hook may answer to BeforeAgent. */
export interface BeforeAgentOutput {
  /** Shown to the user at once. */
  systemMessage?: string | null;
  /** Keeps this hook's input and output out of logs and telemetry. */
  suppressOutput?: boolean | null;
  decision?: "allow" | "approve" | "deny" | "block";
  reason?: string;
  continue?: boolean;
  stopReason?: string;
  hookSpecificOutput?: BeforeAgentHookSpecificOutput;
}

/** The history is about to be compressed. */
export interface PreCompressInput {
  session_id: string;
  transcript_path: string;
  cwd: string;
  hook_event_name: "PreCompress";
  timestamp: string;
  /** The turn, for events within one. */
  turn_id?: string | null;
  /** Inside a sub-agent: how its definition calls it. */
  agent_name?: string | null;
  /** Inside a sub-agent: which run of it this is. */
  agent_id?: string | null;
  /** Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are. */
  agent_transcript_path?: string | null;
  /** What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word. */
  approval_mode?: string | null;
  /** Inside another agent: which one, and what it calls this. */
  host?: AgentHost | null;
  trigger: "manual" | "auto";
}

/** What a hook may answer to PreCompress. */
export interface PreCompressOutput {
  /** Shown to the user at once. */
  systemMessage?: string | null;
  /** Keeps this hook's input and output out of logs and telemetry. */
  suppressOutput?: boolean | null;
}

/** A request is about to go to the model. */
export interface BeforeModelInput {
  session_id: string;
  transcript_path: string;
  cwd: string;
  hook_event_name: "BeforeModel";
  timestamp: string;
  /** The turn, for events within one. */
  turn_id?: string | null;
  /** Inside a sub-agent: how its definition calls it. */
  agent_name?: string | null;
  /** Inside a sub-agent: which run of it this is. */
  agent_id?: string | null;
  /** Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are. */
  agent_transcript_path?: string | null;
  /** What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word. */
  approval_mode?: string | null;
  /** Inside another agent: which one, and what it calls this. */
  host?: AgentHost | null;
  /** The request. */
  llm_request: LlmRequest;
  /** What the request is for. */
  purpose: Purpose;
}

/** What a hook may answer to BeforeModel. */
export interface BeforeModelOutput {
  /** Shown to the user at once. */
  systemMessage?: string | null;
  /** Keeps this hook's input and output out of logs and telemetry. */
  suppressOutput?: boolean | null;
  decision?: "allow" | "approve" | "deny" | "block";
  reason?: string;
  continue?: boolean;
  stopReason?: string;
  hookSpecificOutput?: BeforeModelHookSpecificOutput;
}

/** The tools offered with a request are about to be fixed. */
export interface BeforeToolSelectionInput {
  session_id: string;
  transcript_path: string;
  cwd: string;
  hook_event_name: "BeforeToolSelection";
  timestamp: string;
  /** The turn, for events within one. */
  turn_id?: string | null;
  /** Inside a sub-agent: how its definition calls it. */
  agent_name?: string | null;
  /** Inside a sub-agent: which run of it this is. */
  agent_id?: string | null;
  /** Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are. */
  agent_transcript_path?: string | null;
  /** What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word. */
  approval_mode?: string | null;
  /** Inside another agent: which one, and what it calls this. */
  host?: AgentHost | null;
  /** The request. */
  llm_request: LlmRequest;
  /** What the request is for. */
  purpose: Purpose;
}

/** What a hook may answer to BeforeToolSelection. */
export interface BeforeToolSelectionOutput {
  /** Shown to the user at once. */
  systemMessage?: string | null;
  /** Keeps this hook's input and output out of logs and telemetry. */
  suppressOutput?: boolean | null;
  hookSpecificOutput?: BeforeToolSelectionHookSpecificOutput;
}

/** A piece of the model's answer arrived. */
export interface AfterModelInput {
  session_id: string;
  transcript_path: string;
  cwd: string;
  hook_event_name: "AfterModel";
  timestamp: string;
  /** The turn, for events within one. */
  turn_id?: string | null;
  /** Inside a sub-agent: how its definition calls it. */
  agent_name?: string | null;
  /** Inside a sub-agent: which run of it this is. */
  agent_id?: string | null;
  /** Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are. */
  agent_transcript_path?: string | null;
  /** What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word. */
  approval_mode?: string | null;
  /** Inside another agent: which one, and what it calls this. */
  host?: AgentHost | null;
  /** The request it answers. */
  llm_request: LlmRequest;
  /** The piece. */
  llm_response: LlmResponse;
  /** What the user is not shown as the answer: the model's thinking. */
  thoughts?: string;
  /** Code that the provider ran for the model, and what it printed, as JSON. */
  code?: string;
  /** The sources that the provider names for this piece, as JSON. */
  citations?: string;
  /** What the request is for. */
  purpose: Purpose;
  /** The piece's text. */
  content: string;
  /** The answer's text so far, this piece included. */
  full_content?: string;
}

/** What a hook may answer to AfterModel. */
export interface AfterModelOutput {
  /** Shown to the user at once. */
  systemMessage?: string | null;
  /** Keeps this hook's input and output out of logs and telemetry. */
  suppressOutput?: boolean | null;
  decision?: "allow" | "approve" | "deny" | "block";
  reason?: string;
  continue?: boolean;
  stopReason?: string;
  hookSpecificOutput?: AfterModelHookSpecificOutput;
}

/** The model asked for a tool. */
export interface BeforeToolInput {
  session_id: string;
  transcript_path: string;
  cwd: string;
  hook_event_name: "BeforeTool";
  timestamp: string;
  /** The turn, for events within one. */
  turn_id?: string | null;
  /** Inside a sub-agent: how its definition calls it. */
  agent_name?: string | null;
  /** Inside a sub-agent: which run of it this is. */
  agent_id?: string | null;
  /** Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are. */
  agent_transcript_path?: string | null;
  /** What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word. */
  approval_mode?: string | null;
  /** Inside another agent: which one, and what it calls this. */
  host?: AgentHost | null;
  /** The tool's canonical name. */
  tool_name: string;
  /** Its arguments. */
  tool_input: Record<string, any>;
  /** For tools of an MCP server: which one. */
  mcp_context?: unknown;
  /** For a tail call: the tool that the model asked for. */
  original_request_name?: string | null;
  /** Which call this is; BeforeTool and AfterTool of one call have the same. */
  tool_use_id?: string | null;
  /** Who wants it to run. */
  requested_by: RequestedBy;
  /** What a call does, as far as it can be told. */
  effects?: Effects;
}

/** What a hook may answer to BeforeTool. */
export interface BeforeToolOutput {
  /** Shown to the user at once. */
  systemMessage?: string | null;
  /** Keeps this hook's input and output out of logs and telemetry. */
  suppressOutput?: boolean | null;
  decision?: "allow" | "approve" | "confine" | "ask" | "deny" | "block";
  reason?: string;
  continue?: boolean;
  stopReason?: string;
  hookSpecificOutput?: BeforeToolHookSpecificOutput;
}

/** The user is about to be asked for something. */
export interface NotificationInput {
  session_id: string;
  transcript_path: string;
  cwd: string;
  hook_event_name: "Notification";
  timestamp: string;
  /** The turn, for events within one. */
  turn_id?: string | null;
  /** Inside a sub-agent: how its definition calls it. */
  agent_name?: string | null;
  /** Inside a sub-agent: which run of it this is. */
  agent_id?: string | null;
  /** Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are. */
  agent_transcript_path?: string | null;
  /** What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word. */
  approval_mode?: string | null;
  /** Inside another agent: which one, and what it calls this. */
  host?: AgentHost | null;
  notification_type: "ToolPermission";
  /** What the user is asked, in one line. */
  message: string;
  /** More about it: the tool, the file, the command. */
  details: unknown;
  /** The call that it is about. */
  tool_use_id?: string | null;
  /** Who wants it to run. */
  requested_by: RequestedBy;
}

/** What a hook may answer to Notification. */
export interface NotificationOutput {
  /** Shown to the user at once. */
  systemMessage?: string | null;
  /** Keeps this hook's input and output out of logs and telemetry. */
  suppressOutput?: boolean | null;
}

/** A tool has run. */
export interface AfterToolInput {
  session_id: string;
  transcript_path: string;
  cwd: string;
  hook_event_name: "AfterTool";
  timestamp: string;
  /** The turn, for events within one. */
  turn_id?: string | null;
  /** Inside a sub-agent: how its definition calls it. */
  agent_name?: string | null;
  /** Inside a sub-agent: which run of it this is. */
  agent_id?: string | null;
  /** Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are. */
  agent_transcript_path?: string | null;
  /** What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word. */
  approval_mode?: string | null;
  /** Inside another agent: which one, and what it calls this. */
  host?: AgentHost | null;
  /** The tool's canonical name. */
  tool_name: string;
  /** The arguments it ran with. */
  tool_input: Record<string, any>;
  /** Its result: `llmContent`, `returnDisplay` and, if it failed, `error`. */
  tool_response: unknown;
  /** For tools of an MCP server: which one. */
  mcp_context?: unknown;
  /** For a tail call: the tool that the model asked for. */
  original_request_name?: string | null;
  /** Which call this is; BeforeTool and AfterTool of one call have the same. */
  tool_use_id?: string | null;
  /** Who wants it to run. */
  requested_by: RequestedBy;
  /** What a call does, as far as it can be told. */
  effects?: Effects;
}

/** What a hook may answer to AfterTool. */
export interface AfterToolOutput {
  /** Shown to the user at once. */
  systemMessage?: string | null;
  /** Keeps this hook's input and output out of logs and telemetry. */
  suppressOutput?: boolean | null;
  decision?: "allow" | "approve" | "deny" | "block";
  reason?: string;
  continue?: boolean;
  stopReason?: string;
  hookSpecificOutput?: AfterToolHookSpecificOutput;
}

/** The turn's final answer is there. */
export interface AfterAgentInput {
  session_id: string;
  transcript_path: string;
  cwd: string;
  hook_event_name: "AfterAgent";
  timestamp: string;
  /** The turn, for events within one. */
  turn_id?: string | null;
  /** Inside a sub-agent: how its definition calls it. */
  agent_name?: string | null;
  /** Inside a sub-agent: which run of it this is. */
  agent_id?: string | null;
  /** Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are. */
  agent_transcript_path?: string | null;
  /** What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word. */
  approval_mode?: string | null;
  /** Inside another agent: which one, and what it calls this. */
  host?: AgentHost | null;
  /** The user's prompt. */
  prompt: string;
  /** The answer. */
  prompt_response: string;
  /** Whether an earlier AfterAgent deny caused this answer. */
  stop_hook_active: boolean;
}

/** What a hook may answer to AfterAgent. */
export interface AfterAgentOutput {
  /** Shown to the user at once. */
  systemMessage?: string | null;
  /** Keeps this hook's input and output out of logs and telemetry. */
  suppressOutput?: boolean | null;
  decision?: "allow" | "approve" | "deny" | "block";
  reason?: string;
  continue?: boolean;
  stopReason?: string;
  hookSpecificOutput?: AfterAgentHookSpecificOutput;
}

/** A session ends or is cleared. */
export interface SessionEndInput {
  session_id: string;
  transcript_path: string;
  cwd: string;
  hook_event_name: "SessionEnd";
  timestamp: string;
  /** The turn, for events within one. */
  turn_id?: string | null;
  /** Inside a sub-agent: how its definition calls it. */
  agent_name?: string | null;
  /** Inside a sub-agent: which run of it this is. */
  agent_id?: string | null;
  /** Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are. */
  agent_transcript_path?: string | null;
  /** What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word. */
  approval_mode?: string | null;
  /** Inside another agent: which one, and what it calls this. */
  host?: AgentHost | null;
  reason: "exit" | "clear" | "logout" | "prompt_input_exit" | "other";
}

/** What a hook may answer to SessionEnd. */
export interface SessionEndOutput {
  /** Shown to the user at once. */
  systemMessage?: string | null;
  /** Keeps this hook's input and output out of logs and telemetry. */
  suppressOutput?: boolean | null;
}

/** What handlers receive, by event. */
export interface Inputs {
  SessionStart: SessionStartInput;
  BeforeAgent: BeforeAgentInput;
  PreCompress: PreCompressInput;
  BeforeModel: BeforeModelInput;
  BeforeToolSelection: BeforeToolSelectionInput;
  AfterModel: AfterModelInput;
  BeforeTool: BeforeToolInput;
  Notification: NotificationInput;
  AfterTool: AfterToolInput;
  AfterAgent: AfterAgentInput;
  SessionEnd: SessionEndInput;
}

/** What handlers may answer, by event. */
export interface Answers {
  SessionStart: SessionStartOutput;
  BeforeAgent: BeforeAgentOutput;
  PreCompress: PreCompressOutput;
  BeforeModel: BeforeModelOutput;
  BeforeToolSelection: BeforeToolSelectionOutput;
  AfterModel: AfterModelOutput;
  BeforeTool: BeforeToolOutput;
  Notification: NotificationOutput;
  AfterTool: AfterToolOutput;
  AfterAgent: AfterAgentOutput;
  SessionEnd: SessionEndOutput;
}

/** An event's name. */
export type EventName = keyof Inputs;
