//! The table of names in spans and verdicts: OpenTelemetry's conventions for generative AI, and this program's own.
//!
//! `docs/telemetry.md` lists the table, and the tests compare it with what a collector receives.

/// The beginnings of span names; what follows is the name of the agent, the model, the tool or the event.
pub(crate) const INVOKE_AGENT: &str = "invoke_agent";
pub(crate) const CHAT: &str = "chat";
pub(crate) const EXECUTE_TOOL: &str = "execute_tool";
pub(crate) const RUN_HOOK: &str = "run_hook";

/// The name of a verdict: of the log record, and of the event in the span of what was judged.
pub(crate) const VERDICT: &str = "hookwright.verdict";

/// An attribute, with the spans and records that carry it.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct AttributeName {
    pub(crate) name: &'static str,
    pub(crate) carriers: &'static [&'static str],
    pub(crate) meaning: &'static str,
}

macro_rules! attributes {
    ($($constant:ident = $name:literal on [$($carrier:ident),*]: $meaning:literal;)*) => {
        $(pub(crate) const $constant: &str = $name;)*

        /// Every attribute, in the order of the documentation.
        #[cfg(test)]
        pub(crate) static ATTRIBUTES: &[AttributeName] =
            &[$(AttributeName { name: $name, carriers: &[$($carrier),*], meaning: $meaning }),*];
    };
}

attributes! {
    OPERATION_NAME = "gen_ai.operation.name" on [INVOKE_AGENT, CHAT, EXECUTE_TOOL]:
        "`invoke_agent`, `chat` or `execute_tool`";
    PROVIDER_NAME = "gen_ai.provider.name" on [INVOKE_AGENT, CHAT]:
        "`gcp.gemini`, `openai` (any compatible server), `replay` or `offline`";
    CONVERSATION_ID = "gen_ai.conversation.id" on [INVOKE_AGENT, CHAT, EXECUTE_TOOL, RUN_HOOK, VERDICT]:
        "the session, the same in all its traces";
    AGENT_NAME = "gen_ai.agent.name" on [INVOKE_AGENT, VERDICT]:
        "`hookwright`, or the name of a sub-agent; a verdict has it for sub-agents only";
    AGENT_ID = "gen_ai.agent.id" on [INVOKE_AGENT, VERDICT]: "the run of a sub-agent";
    AGENT_VERSION = "gen_ai.agent.version" on [INVOKE_AGENT]: "the version of Hookwright; not for sub-agents";
    REQUEST_MODEL = "gen_ai.request.model" on [INVOKE_AGENT, CHAT]: "the model that was asked";
    RESPONSE_MODEL = "gen_ai.response.model" on [CHAT]: "the model that answered";
    FINISH_REASONS = "gen_ai.response.finish_reasons" on [CHAT]:
        "why the answer ended: `stop`, `length`, `content_filter`, `error` or the provider's word";
    INPUT_TOKENS = "gen_ai.usage.input_tokens" on [INVOKE_AGENT, CHAT]: "tokens of the request, cached ones included";
    OUTPUT_TOKENS = "gen_ai.usage.output_tokens" on [INVOKE_AGENT, CHAT]: "tokens of the answer, thinking included";
    CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens" on [CHAT]: "tokens of the request from a cache";
    REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens" on [CHAT]: "tokens of thinking";
    INPUT_MESSAGES = "gen_ai.input.messages" on [INVOKE_AGENT]: "the prompt, as JSON (content)";
    OUTPUT_MESSAGES = "gen_ai.output.messages" on [CHAT]: "the text of the answer, as JSON (content)";
    TOOL_NAME = "gen_ai.tool.name" on [EXECUTE_TOOL, VERDICT]: "the tool; `unknown_tool` for one that does not exist";
    TOOL_CALL_ID = "gen_ai.tool.call.id" on [EXECUTE_TOOL, VERDICT]: "the call: `tool_use_id` for hooks";
    TOOL_TYPE = "gen_ai.tool.type" on [EXECUTE_TOOL]: "`function`";
    TOOL_ARGUMENTS = "gen_ai.tool.call.arguments" on [EXECUTE_TOOL]:
        "the arguments after the hooks' changes, as JSON (content)";
    ERROR_TYPE = "error.type" on [INVOKE_AGENT, CHAT, EXECUTE_TOOL, RUN_HOOK]:
        "the kind of failure; the span's status is then an error";
    TURN_ID = "hookwright.turn.id" on [INVOKE_AGENT, CHAT, EXECUTE_TOOL, RUN_HOOK, VERDICT]:
        "the turn: `turn_id` for hooks, `prompt_id` in `gemini_cli.*`";
    TURN_OUTCOME = "hookwright.turn.outcome" on [INVOKE_AGENT]:
        "`answered`, `blocked`, `stopped`, `cancelled`, `turn_limit`, `loop` or `failed`";
    TOOL_DECISION = "hookwright.tool.decision" on [EXECUTE_TOOL]:
        "`accept` (by the user), `auto_accept`, `modify` or `reject`";
    EVENT_ID = "hookwright.event.id" on [RUN_HOOK, VERDICT]: "the number of the event in its session";
    EVENT_NAME = "hookwright.event.name" on [RUN_HOOK, VERDICT]: "the event: `BeforeTool` …";
    RUN_ID = "hookwright.run.id" on [RUN_HOOK]: "the run: the event's number and a position";
    HOOK_NAME = "hookwright.hook.name" on [RUN_HOOK]: "the hook; without content, a command's program";
    HOOK_TYPE = "hookwright.hook.type" on [RUN_HOOK]: "`command`, `worker`, `rule` …";
    HOOK_GUARD = "hookwright.hook.guard" on [RUN_HOOK]: "whether the hook is a guard";
    HOOK_STATUS = "hookwright.hook.status" on [RUN_HOOK]:
        "`ok`, `blocked`, `failed`, `signaled`, `timed_out`, `cancelled` or `not_started`";
    HOOK_DECISION = "hookwright.hook.decision" on [RUN_HOOK]: "the hook's own decision, if it gave one";
    HOOK_EXIT_CODE = "hookwright.hook.exit_code" on [RUN_HOOK]: "the exit code, if there was one";
    VERDICT_DECISION = "hookwright.verdict.decision" on [VERDICT]: "`stop`, `deny`, `ask`, `confine` or `allow`";
    VERDICT_HOOKS = "hookwright.verdict.hooks" on [VERDICT]:
        "the hooks that stopped, denied, asked or confined; named like `hookwright.hook.name`";
    VERDICT_BY_GUARD = "hookwright.verdict.by_guard" on [VERDICT]: "whether one of these hooks is a guard";
    VERDICT_GUARDS = "hookwright.verdict.guards" on [VERDICT]: "the number of guards that were asked";
    VERDICT_REASON = "hookwright.verdict.reason" on [VERDICT]: "the hooks' reason (content)";
}
