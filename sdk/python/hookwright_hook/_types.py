# Generated from schemas/ (cargo run -p xtask -- generate): do not edit.
"""What hooks receive and may answer."""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Dict, List, Literal, Optional, Protocol, TypedDict, TypeVar, Union, overload

from ._answers import Answer


class SessionStartHookSpecificOutput(TypedDict, total=False):
    hookEventName: Literal["SessionStart"]
    additionalContext: str


class _AgentHostAlways(TypedDict):
    """Another agent, whose event it really is."""

    # Its name, as `hookwright bridge` takes it.
    name: str
    # The event's name there.
    event: str


class AgentHost(_AgentHostAlways, total=False):
    """Another agent, whose event it really is."""

    # Its version, if it says.
    version: Optional[str]
    # The tool's name there.
    tool_name: Optional[str]
    # The tool's arguments there, whole and in that agent's own spelling.
    tool_input: Optional[Dict[str, Any]]


class BeforeAgentHookSpecificOutput(TypedDict, total=False):
    hookEventName: Literal["BeforeAgent"]
    additionalContext: str


# What an `Attachment` is.
AttachmentKind = Literal["file", "directory"]
#   file: One file.
#   directory: The files of a directory.


class _AttachmentAlways(TypedDict):
    """Something that is to be read for a prompt."""

    # Where it really is.
    path: str
    # What it is.
    kind: AttachmentKind


class Attachment(_AttachmentAlways, total=False):
    """Something that is to be read for a prompt."""

    # A file's size in bytes.
    size: Optional[int]


class LlmMessage(TypedDict):
    """One message of a request."""

    # `user`, `model` or `system`.
    role: str
    # Its text.
    content: str


# Whether tools may, must or must not be called.
ToolMode = Literal["AUTO", "ANY", "NONE"]
#   AUTO: The model decides.
#   ANY: At least one tool is called.
#   NONE: No tool is called.


class ToolConfig(TypedDict, total=False):
    """How the model may use tools."""

    # Whether tools may, must or must not be called.
    mode: Optional[ToolMode]
    # The only tools that may be called; empty means no restriction.
    allowedFunctionNames: List[str]


class LlmRequestPatch(TypedDict, total=False):
    """What a BeforeModel hook changes in a request: only the parts it named."""

    # Another model.
    model: Optional[str]
    # Other messages, in the order of the request's text messages.
    messages: Optional[List[LlmMessage]]
    # Generation settings to set; those it does not name stay.
    config: Optional[Dict[str, Any]]
    # Another tool configuration.
    toolConfig: Optional[ToolConfig]


class LlmContent(TypedDict):
    """A candidate's content: text parts only."""

    # Always `model`.
    role: str
    # The text parts.
    parts: List[str]


class _LlmCandidateAlways(TypedDict):
    """One candidate of an answer."""

    # Its text parts.
    content: LlmContent


class LlmCandidate(_LlmCandidateAlways, total=False):
    """One candidate of an answer."""

    # Why it ended, on the last piece.
    finishReason: Optional[str]
    # Its index.
    index: Optional[int]
    # The provider's safety ratings, as they came.
    safetyRatings: Any


class LlmUsage(TypedDict, total=False):
    """Token counts."""

    # Tokens of the request.
    promptTokenCount: Optional[int]
    # Tokens of the answer.
    candidatesTokenCount: Optional[int]
    # Both.
    totalTokenCount: Optional[int]


class LlmResponse(TypedDict, total=False):
    """A model's answer, or one streamed piece of it, as hooks see it."""

    # The first candidate's text.
    text: Optional[str]
    # The candidates.
    candidates: List[LlmCandidate]
    # What it cost.
    usageMetadata: Optional[LlmUsage]


class BeforeModelHookSpecificOutput(TypedDict, total=False):
    hookEventName: Literal["BeforeModel"]
    llm_request: LlmRequestPatch
    llm_response: LlmResponse


class _LlmRequestAlways(TypedDict):
    """A model request, as hooks see it."""

    # The model's name.
    model: str
    # The conversation's text, oldest first.
    messages: List[LlmMessage]
    # Generation settings: `temperature`, `maxOutputTokens`, `topP`, `topK` and others.
    config: Dict[str, Any]


class LlmRequest(_LlmRequestAlways, total=False):
    """A model request, as hooks see it."""

    # How the model may use tools, and the names of those on offer.
    toolConfig: Optional[ToolConfig]


# What a model request is for.
Purpose = Literal["answer", "compress", "search", "check"]
#   answer: To answer the user.
#   compress: To sum up a long history.
#   search: To search the web.
#   check: To see whether the model answers.


class BeforeToolSelectionHookSpecificOutput(TypedDict, total=False):
    hookEventName: Literal["BeforeToolSelection"]
    toolConfig: ToolConfig


class AfterModelHookSpecificOutput(TypedDict, total=False):
    hookEventName: Literal["AfterModel"]
    llm_response: LlmResponse


class ConfinementProfile(TypedDict, total=False):
    """What a confined command may do. What is not named is not allowed, but reading."""

    # Paths that may be changed: a folder with `/**` behind it or a single path, and exceptions as `!path`.
    writes: List[str]
    # Folders in which files may be removed; if it is missing, wherever they may be changed.
    deletes: Optional[List[str]]
    # Paths that may not be read, as globs.
    noReads: List[str]
    # `none`, `loopback`, `all`, hosts, or in a rule `known`.
    network: Any
    # Package managers whose usual cache folders may be changed.
    caches: List[str]
    # Whether UNIX sockets may be used, which lead to any service of this machine.
    unixSockets: bool
    # Groups of services whose sockets are closed although UNIX sockets may be used: `containers`, `system`, …
    noServices: List[str]
    # Whether variables that look like secrets stay in the environment.
    keepEnv: bool
    # The memory in MB that each process may allocate.
    memoryMb: Optional[int]
    # How many processes may exist at once.
    processes: Optional[int]
    # The seconds that the command may take.
    seconds: Optional[int]


class BeforeToolHookSpecificOutput(TypedDict, total=False):
    hookEventName: Literal["BeforeTool"]
    confine: ConfinementProfile
    tool_input: Dict[str, Any]
    redact_input: bool


# Who wants a tool to run.
RequestedBy = Literal["model", "user", "command", "hook"]
#   model: The model called it.
#   user: The user: `!command`, `@path`.
#   command: A custom command: `!{command}`, `@{path}`.
#   hook: A hook: a tail call.


# Flow
Flow = TypedDict(
    "Flow",
    {
        # A path, `env`, `env:NAME`, `clipboard` or `network:HOST`.
        "from": str,
        # `network:HOST` or `run:PROGRAM`.
        "to": str,
        # The program that sends or runs it.
        "via": str,
    },
)


# One kind of effect.
Aspect = Literal["commands", "reads", "writes", "deletes", "network", "repository", "services", "processes", "privileged", "flows"]
#   commands: What it runs.
#   reads: What it reads.
#   writes: What it writes.
#   deletes: What it deletes.
#   network: What it talks to.
#   repository: What becomes of a git repository beside its files.
#   services: What is done to services.
#   processes: What is sent a signal.
#   privileged: What runs as another user.
#   flows: Where data goes.


class _EffectsAlways(TypedDict):
    """What a call does, as far as it can be told."""

    # The commands that it runs, word by word; those that others run for it are here too.
    commands: List[List[str]]
    # What it is told to read: from the project on, or a whole path; with a slash behind it, everything in it.
    reads: List[str]
    # What it makes or changes.
    writes: List[str]
    # What it removes.
    deletes: List[str]
    # Whom it talks to: hosts, or the name of a remote or a program.
    network: List[str]
    # What becomes of a git repository beside its files: `index`, `commit`, `refs`, `config`, `discard: branch x`.
    repository: List[str]
    # What is done to services: `SERVICE:VERB`, with the verbs `read`, `write`, `delete` and `run`.
    services: List[str]
    # What is sent a signal.
    processes: List[str]
    # What runs as another user.
    privileged: List[str]
    # Data that goes to the network or into a program that runs it.
    flows: List[Flow]
    # Whether all of these lists are complete.
    certain: bool


class Effects(_EffectsAlways, total=False):
    """What a call does, as far as it can be told."""

    # The lists that may not be.
    unsure: Optional[List[Aspect]]


class _AfterToolTailToolCallRequestAlways(TypedDict):
    name: str


class AfterToolTailToolCallRequest(_AfterToolTailToolCallRequestAlways, total=False):
    args: Dict[str, Any]


class AfterToolHookSpecificOutput(TypedDict, total=False):
    hookEventName: Literal["AfterTool"]
    additionalContext: str
    tailToolCallRequest: AfterToolTailToolCallRequest


class AfterAgentHookSpecificOutput(TypedDict, total=False):
    hookEventName: Literal["AfterAgent"]
    clearContext: bool


class _SessionStartInputAlways(TypedDict):
    """A session starts, is resumed or is cleared."""

    session_id: str
    transcript_path: str
    cwd: str
    hook_event_name: Literal["SessionStart"]
    timestamp: str
    source: Literal["startup", "resume", "clear"]


class SessionStartInput(_SessionStartInputAlways, total=False):
    """A session starts, is resumed or is cleared."""

    # The turn, for events within one.
    turn_id: Optional[str]
    # Inside a sub-agent: how its definition calls it.
    agent_name: Optional[str]
    # Inside a sub-agent: which run of it this is.
    agent_id: Optional[str]
    # Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    agent_transcript_path: Optional[str]
    # What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    approval_mode: Optional[str]
    # Inside another agent: which one, and what it calls this.
    host: Optional[AgentHost]


class SessionStartOutput(TypedDict, total=False):
    """What a hook may answer to SessionStart."""

    # Shown to the user at once.
    systemMessage: Optional[str]
    # Keeps this hook's input and output out of logs and telemetry.
    suppressOutput: Optional[bool]
    hookSpecificOutput: SessionStartHookSpecificOutput


class _BeforeAgentInputAlways(TypedDict):
    """The user sent a prompt."""

    session_id: str
    transcript_path: str
    cwd: str
    hook_event_name: Literal["BeforeAgent"]
    timestamp: str
    # The prompt.
    prompt: str


class BeforeAgentInput(_BeforeAgentInputAlways, total=False):
    """The user sent a prompt."""

    # The turn, for events within one.
    turn_id: Optional[str]
    # Inside a sub-agent: how its definition calls it.
    agent_name: Optional[str]
    # Inside a sub-agent: which run of it this is.
    agent_id: Optional[str]
    # Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    agent_transcript_path: Optional[str]
    # What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    approval_mode: Optional[str]
    # Inside another agent: which one, and what it calls this.
    host: Optional[AgentHost]
    # The files and directories that are to be read for it, and have not been yet.
    attachments: List[Attachment]


# BeforeAgentOutput
BeforeAgentOutput = TypedDict(
    "BeforeAgentOutput",
    {
        # Shown to the user at once.
        "systemMessage": Optional[str],
        # Keeps this hook's input and output out of logs and telemetry.
        "suppressOutput": Optional[bool],
        "decision": Literal["allow", "approve", "deny", "block"],
        "reason": str,
        "continue": bool,
        "stopReason": str,
        "hookSpecificOutput": BeforeAgentHookSpecificOutput,
    },
    total=False,
)


class _PreCompressInputAlways(TypedDict):
    """The history is about to be compressed."""

    session_id: str
    transcript_path: str
    cwd: str
    hook_event_name: Literal["PreCompress"]
    timestamp: str
    trigger: Literal["manual", "auto"]


class PreCompressInput(_PreCompressInputAlways, total=False):
    """The history is about to be compressed."""

    # The turn, for events within one.
    turn_id: Optional[str]
    # Inside a sub-agent: how its definition calls it.
    agent_name: Optional[str]
    # Inside a sub-agent: which run of it this is.
    agent_id: Optional[str]
    # Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    agent_transcript_path: Optional[str]
    # What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    approval_mode: Optional[str]
    # Inside another agent: which one, and what it calls this.
    host: Optional[AgentHost]


class PreCompressOutput(TypedDict, total=False):
    """What a hook may answer to PreCompress."""

    # Shown to the user at once.
    systemMessage: Optional[str]
    # Keeps this hook's input and output out of logs and telemetry.
    suppressOutput: Optional[bool]


class _BeforeModelInputAlways(TypedDict):
    """A request is about to go to the model."""

    session_id: str
    transcript_path: str
    cwd: str
    hook_event_name: Literal["BeforeModel"]
    timestamp: str
    # The request.
    llm_request: LlmRequest
    # What the request is for.
    purpose: Purpose


class BeforeModelInput(_BeforeModelInputAlways, total=False):
    """A request is about to go to the model."""

    # The turn, for events within one.
    turn_id: Optional[str]
    # Inside a sub-agent: how its definition calls it.
    agent_name: Optional[str]
    # Inside a sub-agent: which run of it this is.
    agent_id: Optional[str]
    # Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    agent_transcript_path: Optional[str]
    # What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    approval_mode: Optional[str]
    # Inside another agent: which one, and what it calls this.
    host: Optional[AgentHost]


# BeforeModelOutput
BeforeModelOutput = TypedDict(
    "BeforeModelOutput",
    {
        # Shown to the user at once.
        "systemMessage": Optional[str],
        # Keeps this hook's input and output out of logs and telemetry.
        "suppressOutput": Optional[bool],
        "decision": Literal["allow", "approve", "deny", "block"],
        "reason": str,
        "continue": bool,
        "stopReason": str,
        "hookSpecificOutput": BeforeModelHookSpecificOutput,
    },
    total=False,
)


class _BeforeToolSelectionInputAlways(TypedDict):
    """The tools offered with a request are about to be fixed."""

    session_id: str
    transcript_path: str
    cwd: str
    hook_event_name: Literal["BeforeToolSelection"]
    timestamp: str
    # The request.
    llm_request: LlmRequest
    # What the request is for.
    purpose: Purpose


class BeforeToolSelectionInput(_BeforeToolSelectionInputAlways, total=False):
    """The tools offered with a request are about to be fixed."""

    # The turn, for events within one.
    turn_id: Optional[str]
    # Inside a sub-agent: how its definition calls it.
    agent_name: Optional[str]
    # Inside a sub-agent: which run of it this is.
    agent_id: Optional[str]
    # Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    agent_transcript_path: Optional[str]
    # What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    approval_mode: Optional[str]
    # Inside another agent: which one, and what it calls this.
    host: Optional[AgentHost]


class BeforeToolSelectionOutput(TypedDict, total=False):
    """What a hook may answer to BeforeToolSelection."""

    # Shown to the user at once.
    systemMessage: Optional[str]
    # Keeps this hook's input and output out of logs and telemetry.
    suppressOutput: Optional[bool]
    hookSpecificOutput: BeforeToolSelectionHookSpecificOutput


class _AfterModelInputAlways(TypedDict):
    """A piece of the model's answer arrived."""

    session_id: str
    transcript_path: str
    cwd: str
    hook_event_name: Literal["AfterModel"]
    timestamp: str
    # The request it answers.
    llm_request: LlmRequest
    # The piece.
    llm_response: LlmResponse
    # What the request is for.
    purpose: Purpose
    # The piece's text.
    content: str


class AfterModelInput(_AfterModelInputAlways, total=False):
    """A piece of the model's answer arrived."""

    # The turn, for events within one.
    turn_id: Optional[str]
    # Inside a sub-agent: how its definition calls it.
    agent_name: Optional[str]
    # Inside a sub-agent: which run of it this is.
    agent_id: Optional[str]
    # Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    agent_transcript_path: Optional[str]
    # What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    approval_mode: Optional[str]
    # Inside another agent: which one, and what it calls this.
    host: Optional[AgentHost]
    # What the user is not shown as the answer: the model's thinking.
    thoughts: str
    # Code that the provider ran for the model, and what it printed, as JSON.
    code: str
    # The sources that the provider names for this piece, as JSON.
    citations: str
    # The answer's text so far, this piece included.
    full_content: str


# AfterModelOutput
AfterModelOutput = TypedDict(
    "AfterModelOutput",
    {
        # Shown to the user at once.
        "systemMessage": Optional[str],
        # Keeps this hook's input and output out of logs and telemetry.
        "suppressOutput": Optional[bool],
        "decision": Literal["allow", "approve", "deny", "block"],
        "reason": str,
        "continue": bool,
        "stopReason": str,
        "hookSpecificOutput": AfterModelHookSpecificOutput,
    },
    total=False,
)


class _BeforeToolInputAlways(TypedDict):
    """The model asked for a tool."""

    session_id: str
    transcript_path: str
    cwd: str
    hook_event_name: Literal["BeforeTool"]
    timestamp: str
    # The tool's canonical name.
    tool_name: str
    # Its arguments.
    tool_input: Dict[str, Any]
    # Who wants it to run.
    requested_by: RequestedBy


class BeforeToolInput(_BeforeToolInputAlways, total=False):
    """The model asked for a tool."""

    # The turn, for events within one.
    turn_id: Optional[str]
    # Inside a sub-agent: how its definition calls it.
    agent_name: Optional[str]
    # Inside a sub-agent: which run of it this is.
    agent_id: Optional[str]
    # Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    agent_transcript_path: Optional[str]
    # What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    approval_mode: Optional[str]
    # Inside another agent: which one, and what it calls this.
    host: Optional[AgentHost]
    # For tools of an MCP server: which one.
    mcp_context: Any
    # For a tail call: the tool that the model asked for.
    original_request_name: Optional[str]
    # Which call this is; BeforeTool and AfterTool of one call have the same.
    tool_use_id: Optional[str]
    # What a call does, as far as it can be told.
    effects: Effects


# BeforeToolOutput
BeforeToolOutput = TypedDict(
    "BeforeToolOutput",
    {
        # Shown to the user at once.
        "systemMessage": Optional[str],
        # Keeps this hook's input and output out of logs and telemetry.
        "suppressOutput": Optional[bool],
        "decision": Literal["allow", "approve", "confine", "ask", "deny", "block"],
        "reason": str,
        "continue": bool,
        "stopReason": str,
        "hookSpecificOutput": BeforeToolHookSpecificOutput,
    },
    total=False,
)


class _NotificationInputAlways(TypedDict):
    """The user is about to be asked for something."""

    session_id: str
    transcript_path: str
    cwd: str
    hook_event_name: Literal["Notification"]
    timestamp: str
    notification_type: Literal["ToolPermission"]
    # What the user is asked, in one line.
    message: str
    # More about it: the tool, the file, the command.
    details: Any
    # Who wants it to run.
    requested_by: RequestedBy


class NotificationInput(_NotificationInputAlways, total=False):
    """The user is about to be asked for something."""

    # The turn, for events within one.
    turn_id: Optional[str]
    # Inside a sub-agent: how its definition calls it.
    agent_name: Optional[str]
    # Inside a sub-agent: which run of it this is.
    agent_id: Optional[str]
    # Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    agent_transcript_path: Optional[str]
    # What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    approval_mode: Optional[str]
    # Inside another agent: which one, and what it calls this.
    host: Optional[AgentHost]
    # The call that it is about.
    tool_use_id: Optional[str]


class NotificationOutput(TypedDict, total=False):
    """What a hook may answer to Notification."""

    # Shown to the user at once.
    systemMessage: Optional[str]
    # Keeps this hook's input and output out of logs and telemetry.
    suppressOutput: Optional[bool]


class _AfterToolInputAlways(TypedDict):
    """A tool has run."""

    session_id: str
    transcript_path: str
    cwd: str
    hook_event_name: Literal["AfterTool"]
    timestamp: str
    # The tool's canonical name.
    tool_name: str
    # The arguments it ran with.
    tool_input: Dict[str, Any]
    # Its result: `llmContent`, `returnDisplay` and, if it failed, `error`.
    tool_response: Any
    # Who wants it to run.
    requested_by: RequestedBy


class AfterToolInput(_AfterToolInputAlways, total=False):
    """A tool has run."""

    # The turn, for events within one.
    turn_id: Optional[str]
    # Inside a sub-agent: how its definition calls it.
    agent_name: Optional[str]
    # Inside a sub-agent: which run of it this is.
    agent_id: Optional[str]
    # Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    agent_transcript_path: Optional[str]
    # What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    approval_mode: Optional[str]
    # Inside another agent: which one, and what it calls this.
    host: Optional[AgentHost]
    # For tools of an MCP server: which one.
    mcp_context: Any
    # For a tail call: the tool that the model asked for.
    original_request_name: Optional[str]
    # Which call this is; BeforeTool and AfterTool of one call have the same.
    tool_use_id: Optional[str]
    # What a call does, as far as it can be told.
    effects: Effects


# AfterToolOutput
AfterToolOutput = TypedDict(
    "AfterToolOutput",
    {
        # Shown to the user at once.
        "systemMessage": Optional[str],
        # Keeps this hook's input and output out of logs and telemetry.
        "suppressOutput": Optional[bool],
        "decision": Literal["allow", "approve", "deny", "block"],
        "reason": str,
        "continue": bool,
        "stopReason": str,
        "hookSpecificOutput": AfterToolHookSpecificOutput,
    },
    total=False,
)


class _AfterAgentInputAlways(TypedDict):
    """The turn's final answer is there."""

    session_id: str
    transcript_path: str
    cwd: str
    hook_event_name: Literal["AfterAgent"]
    timestamp: str
    # The user's prompt.
    prompt: str
    # The answer.
    prompt_response: str
    # Whether an earlier AfterAgent deny caused this answer.
    stop_hook_active: bool


class AfterAgentInput(_AfterAgentInputAlways, total=False):
    """The turn's final answer is there."""

    # The turn, for events within one.
    turn_id: Optional[str]
    # Inside a sub-agent: how its definition calls it.
    agent_name: Optional[str]
    # Inside a sub-agent: which run of it this is.
    agent_id: Optional[str]
    # Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    agent_transcript_path: Optional[str]
    # What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    approval_mode: Optional[str]
    # Inside another agent: which one, and what it calls this.
    host: Optional[AgentHost]


# AfterAgentOutput
AfterAgentOutput = TypedDict(
    "AfterAgentOutput",
    {
        # Shown to the user at once.
        "systemMessage": Optional[str],
        # Keeps this hook's input and output out of logs and telemetry.
        "suppressOutput": Optional[bool],
        "decision": Literal["allow", "approve", "deny", "block"],
        "reason": str,
        "continue": bool,
        "stopReason": str,
        "hookSpecificOutput": AfterAgentHookSpecificOutput,
    },
    total=False,
)


class _SessionEndInputAlways(TypedDict):
    """A session ends or is cleared."""

    session_id: str
    transcript_path: str
    cwd: str
    hook_event_name: Literal["SessionEnd"]
    timestamp: str
    reason: Literal["exit", "clear", "logout", "prompt_input_exit", "other"]


class SessionEndInput(_SessionEndInputAlways, total=False):
    """A session ends or is cleared."""

    # The turn, for events within one.
    turn_id: Optional[str]
    # Inside a sub-agent: how its definition calls it.
    agent_name: Optional[str]
    # Inside a sub-agent: which run of it this is.
    agent_id: Optional[str]
    # Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    agent_transcript_path: Optional[str]
    # What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    approval_mode: Optional[str]
    # Inside another agent: which one, and what it calls this.
    host: Optional[AgentHost]


class SessionEndOutput(TypedDict, total=False):
    """What a hook may answer to SessionEnd."""

    # Shown to the user at once.
    systemMessage: Optional[str]
    # Keeps this hook's input and output out of logs and telemetry.
    suppressOutput: Optional[bool]


SessionStartAnswer = Union[SessionStartOutput, Answer, None]
SessionStartHandler = Callable[[SessionStartInput], Union[SessionStartAnswer, Awaitable[SessionStartAnswer]]]
_SessionStart = TypeVar("_SessionStart", bound=SessionStartHandler)

BeforeAgentAnswer = Union[BeforeAgentOutput, Answer, None]
BeforeAgentHandler = Callable[[BeforeAgentInput], Union[BeforeAgentAnswer, Awaitable[BeforeAgentAnswer]]]
_BeforeAgent = TypeVar("_BeforeAgent", bound=BeforeAgentHandler)

PreCompressAnswer = Union[PreCompressOutput, Answer, None]
PreCompressHandler = Callable[[PreCompressInput], Union[PreCompressAnswer, Awaitable[PreCompressAnswer]]]
_PreCompress = TypeVar("_PreCompress", bound=PreCompressHandler)

BeforeModelAnswer = Union[BeforeModelOutput, Answer, None]
BeforeModelHandler = Callable[[BeforeModelInput], Union[BeforeModelAnswer, Awaitable[BeforeModelAnswer]]]
_BeforeModel = TypeVar("_BeforeModel", bound=BeforeModelHandler)

BeforeToolSelectionAnswer = Union[BeforeToolSelectionOutput, Answer, None]
BeforeToolSelectionHandler = Callable[[BeforeToolSelectionInput], Union[BeforeToolSelectionAnswer, Awaitable[BeforeToolSelectionAnswer]]]
_BeforeToolSelection = TypeVar("_BeforeToolSelection", bound=BeforeToolSelectionHandler)

AfterModelAnswer = Union[AfterModelOutput, Answer, None]
AfterModelHandler = Callable[[AfterModelInput], Union[AfterModelAnswer, Awaitable[AfterModelAnswer]]]
_AfterModel = TypeVar("_AfterModel", bound=AfterModelHandler)

BeforeToolAnswer = Union[BeforeToolOutput, Answer, None]
BeforeToolHandler = Callable[[BeforeToolInput], Union[BeforeToolAnswer, Awaitable[BeforeToolAnswer]]]
_BeforeTool = TypeVar("_BeforeTool", bound=BeforeToolHandler)

NotificationAnswer = Union[NotificationOutput, Answer, None]
NotificationHandler = Callable[[NotificationInput], Union[NotificationAnswer, Awaitable[NotificationAnswer]]]
_Notification = TypeVar("_Notification", bound=NotificationHandler)

AfterToolAnswer = Union[AfterToolOutput, Answer, None]
AfterToolHandler = Callable[[AfterToolInput], Union[AfterToolAnswer, Awaitable[AfterToolAnswer]]]
_AfterTool = TypeVar("_AfterTool", bound=AfterToolHandler)

AfterAgentAnswer = Union[AfterAgentOutput, Answer, None]
AfterAgentHandler = Callable[[AfterAgentInput], Union[AfterAgentAnswer, Awaitable[AfterAgentAnswer]]]
_AfterAgent = TypeVar("_AfterAgent", bound=AfterAgentHandler)

SessionEndAnswer = Union[SessionEndOutput, Answer, None]
SessionEndHandler = Callable[[SessionEndInput], Union[SessionEndAnswer, Awaitable[SessionEndAnswer]]]
_SessionEnd = TypeVar("_SessionEnd", bound=SessionEndHandler)


class On(Protocol):
    """Registers handlers."""

    @overload
    def __call__(self, event: Literal["SessionStart"]) -> Callable[[_SessionStart], _SessionStart]: ...

    @overload
    def __call__(self, event: Literal["BeforeAgent"]) -> Callable[[_BeforeAgent], _BeforeAgent]: ...

    @overload
    def __call__(self, event: Literal["PreCompress"]) -> Callable[[_PreCompress], _PreCompress]: ...

    @overload
    def __call__(self, event: Literal["BeforeModel"]) -> Callable[[_BeforeModel], _BeforeModel]: ...

    @overload
    def __call__(self, event: Literal["BeforeToolSelection"]) -> Callable[[_BeforeToolSelection], _BeforeToolSelection]: ...

    @overload
    def __call__(self, event: Literal["AfterModel"]) -> Callable[[_AfterModel], _AfterModel]: ...

    @overload
    def __call__(self, event: Literal["BeforeTool"]) -> Callable[[_BeforeTool], _BeforeTool]: ...

    @overload
    def __call__(self, event: Literal["Notification"]) -> Callable[[_Notification], _Notification]: ...

    @overload
    def __call__(self, event: Literal["AfterTool"]) -> Callable[[_AfterTool], _AfterTool]: ...

    @overload
    def __call__(self, event: Literal["AfterAgent"]) -> Callable[[_AfterAgent], _AfterAgent]: ...

    @overload
    def __call__(self, event: Literal["SessionEnd"]) -> Callable[[_SessionEnd], _SessionEnd]: ...
