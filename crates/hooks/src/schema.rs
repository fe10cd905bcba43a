//! JSON Schemas of the settings, of the input of hooks and of their answers, generated from the types and the table of
//! events. They are for editors and documentation; the engine's own parsers do not use them.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, schema_for};
use serde_json::{Map, Value, json};

use crate::confinement::ConfinementProfile;
use crate::event::input;
use crate::event::model_api::{LlmRequestPatch, LlmResponse, ToolConfig};
use crate::event::{EVENTS, EventKind, HookCapability, MatcherSubject};
use crate::on_error::FailureAction;

/// A group of hooks and when they run.
#[derive(JsonSchema)]
#[schemars(rename = "HookDefinition")]
#[allow(dead_code, reason = "only its schema is used")]
struct DefinitionSchema {
    /// Which tools, or which values of the event's field, these hooks are for. Missing, "" and "*" mean all.
    matcher: Option<String>,
    /// What a call must do for these hooks to run: any of the lists that matches. BeforeTool and AfterTool only.
    when: Option<WhenSchema>,
    /// Whether all matching hooks run one after another, each seeing the changes of those before it.
    sequential: Option<bool>,
    /// The hooks.
    hooks: Vec<HookSchema>,
}

/// One hook.
#[derive(JsonSchema)]
#[schemars(rename = "Hook", rename_all = "camelCase")]
#[allow(dead_code, reason = "only its schema is used")]
struct HookSchema {
    /// How it runs.
    r#type: HookTypeSchema,
    /// The command; a plain list of words is started directly, anything else in a shell. Rules have none.
    command: Option<String>,
    /// A plugin's package: its name, to be found in `node_modules`, or a path. From the project on, from the extension's
    /// folder on, or from the folder of the settings on.
    package: Option<String>,
    /// A service's address, for hooks of type "http".
    url: Option<String>,
    /// What a service is sent beside the input: values may name the variables of `allowedEnvVars`, as `$NAME` or `${NAME}`.
    headers: Option<BTreeMap<String, String>>,
    /// The environment variables that `headers` may name.
    allowed_env_vars: Option<Vec<String>>,
    /// Of a worker: whether it is started with the session, or when it is first used; the latter if not set.
    start: Option<StartSchema>,
    /// Of a worker: how many requests it is sent before it has answered the first; 1 if not set.
    concurrency: Option<std::num::NonZeroU32>,
    /// Of a worker: after how many milliseconds with nothing to do it is ended; never if not set.
    idle_timeout: Option<std::num::NonZeroU64>,
    /// Of a worker: with how much memory it is started again; there is no bound if not set. On Linux.
    max_memory_mb: Option<std::num::NonZeroU64>,
    /// What a call must do for this hook to run, besides what its definition asks.
    when: Option<WhenSchema>,
    /// A rule's answer.
    decision: Option<RuleDecisionSchema>,
    /// Of a rule that allows, in your own or the system's settings: all that a call may do to be approved. A list that is
    /// not named is empty; `commands` does not restrict if it is not named.
    only: Option<OnlySchema>,
    /// Of a guard: what happens to a call that may do what it looks for, where that is not known. Confined if not set and
    /// the system can enforce it, else the user is asked.
    on_doubt: Option<crate::doubt::OnDoubt>,
    /// Of a rule that confines: what the call may do; without it, all but what `when` matches. Of a program or a worker:
    /// what the hook's own process may do.
    confine: Option<crate::confinement::ConfinementProfile>,
    /// Why a rule says so.
    reason: Option<String>,
    /// Arguments: the command is then a program that is started with just these, without a shell.
    args: Option<Vec<String>>,
    /// In whose words it is spoken to and answers; Gemini CLI's if not set.
    dialect: Option<DialectSchema>,
    /// Its name, for enable and disable; the command stands in where it is missing.
    name: Option<String>,
    /// What it is for.
    description: Option<String>,
    /// How long it may take, in milliseconds; if not set, 60000, and 600000 for a hook in Claude Code's dialect (30000 on
    /// BeforeAgent).
    #[schemars(extend("exclusiveMinimum" = 0))]
    timeout: Option<f64>,
    /// Environment variables of its own.
    env: Option<BTreeMap<String, String>>,
    /// What counts when it fails.
    on_error: Option<OnErrorSchema>,
    /// System settings only: no other layer can switch it off or shadow it.
    locked: Option<bool>,
    /// Whether it must be awake: every failure of it blocks, no other layer can switch it off, and an unattended session
    /// does not start without it.
    guard: Option<bool>,
    /// "shadow": it is asked and recorded, and decides nothing. Not for guards.
    mode: Option<HookModeSchema>,
    /// false switches it off.
    enabled: Option<bool>,
    /// Whether it runs beside its event, which then does not wait for it: it can decide nothing. Not for guards.
    r#async: Option<bool>,
    /// "powershell" has the command run by pwsh; others have no effect: commands run in bash, else in sh.
    shell: Option<String>,
    /// On tool events: a permission rule of Claude Code's such as "Bash(git *)"; the hook runs for calls that it is about, and
    /// for those of which nobody can tell.
    r#if: Option<String>,
    /// Whether it runs only the first time in a session. Not for guards.
    once: Option<bool>,
    /// On AfterTool: whether it runs only after calls that failed, or only after those that did not.
    result: Option<CallEndSchema>,
    /// On AfterModel: how much of a streamed answer it is handed at a time, instead of every piece. Text is held back until
    /// all hooks have seen such a unit whole.
    chunks: Option<ChunksSchema>,
    /// Claude Code's word for `onError`.
    on_failure: Option<OnFailureSchema>,
    /// The same as `async`.
    async_rewake: Option<bool>,
    /// Has no effect.
    status_message: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(rename = "HookMode", rename_all = "lowercase")]
#[allow(dead_code, reason = "only its schema is used")]
enum HookModeSchema {
    /// Its answer counts.
    Active,
    /// Its answer is recorded and has no effect.
    Shadow,
}

#[derive(JsonSchema)]
#[schemars(rename = "HookType", rename_all = "lowercase")]
#[allow(dead_code, reason = "only its schema is used")]
enum HookTypeSchema {
    /// A program is run at every event.
    Command,
    /// A program is started once and asked at every event, line by line.
    Worker,
    /// A package for node that exports handlers by event; it is served as a worker.
    Plugin,
    /// The input is posted to a service, which answers.
    Http,
    /// The answer is written down; no program is run.
    Rule,
}

#[derive(JsonSchema)]
#[schemars(rename = "Start", rename_all = "lowercase")]
#[allow(dead_code, reason = "only its schema is used")]
enum StartSchema {
    Session,
    Use,
}

#[derive(JsonSchema)]
#[schemars(rename = "RuleDecision", rename_all = "lowercase")]
#[allow(dead_code, reason = "only its schema is used")]
enum RuleDecisionSchema {
    Deny,
    Ask,
    Confine,
    Allow,
}

/// What a call must do: any of the lists that matches will do. For a guard, what can't be told counts as matching.
#[derive(JsonSchema)]
#[schemars(rename = "When")]
#[allow(dead_code, reason = "only its schema is used")]
struct WhenSchema {
    /// Globs of paths that it makes or changes, from the project on (`src/**`), from `~/` on, or whole; `!glob` is an
    /// exception.
    writes: Option<Vec<String>>,
    /// Globs of paths that it reads.
    reads: Option<Vec<String>>,
    /// Globs of paths that it removes.
    deletes: Option<Vec<String>>,
    /// Beginnings of commands that it runs, with `*` in their words: `git push*`, `git push --force`, `rm -rf`.
    commands: Option<Vec<String>>,
    /// Hosts that it talks to, with `*`.
    network: Option<Vec<String>>,
    /// Changes to a git repository: `index`, `commit`, `refs`, `config`, `discard`, or with what they are about:
    /// `discard: branch *`.
    repository: Option<Vec<String>>,
    /// What is done to services, with `*`: `kubernetes:delete`, `*:write`.
    services: Option<Vec<String>>,
    /// What is sent a signal, with `*`.
    processes: Option<Vec<String>>,
    /// true: calls that run something as another user.
    #[schemars(extend("const" = true))]
    privileged: Option<bool>,
    /// Data that goes somewhere.
    flows: Option<Vec<FlowPatternSchema>>,
    /// false: calls of which not everything can be told.
    #[schemars(extend("const" = false))]
    certain: Option<bool>,
}

/// The effects that an approved call may have; it may have no others, and all of them must be known.
#[derive(JsonSchema)]
#[schemars(rename = "Only", deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is used")]
struct OnlySchema {
    /// Globs of paths that it may make or change, from the project on (`src/**`), from `~/` on, or whole; `!glob` is an
    /// exception.
    writes: Option<Vec<String>>,
    /// Globs of paths that it may read.
    reads: Option<Vec<String>>,
    /// Globs of paths that it may remove.
    deletes: Option<Vec<String>>,
    /// Beginnings of commands that it may run; any command if not set.
    commands: Option<Vec<String>>,
    /// Hosts that it may talk to, with `*`.
    network: Option<Vec<String>>,
    /// Changes that it may make to a git repository: `index`, `commit`, `refs`, `config`, `discard`.
    repository: Option<Vec<String>>,
    /// What it may do to services, with `*`: `kubernetes:read`, `*:read`.
    services: Option<Vec<String>>,
    /// What it may send a signal, with `*`.
    processes: Option<Vec<String>>,
    /// true: it may run something as another user.
    #[schemars(extend("const" = true))]
    privileged: Option<bool>,
    /// Data that may go somewhere.
    flows: Option<Vec<FlowPatternSchema>>,
    /// false, in a rule that confines: calls whose effects are not all known count too, if those that are known are listed.
    #[schemars(extend("const" = false))]
    certain: Option<bool>,
}

/// Data that goes from a source to a target.
#[derive(JsonSchema)]
#[schemars(rename = "FlowPattern", deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is used")]
struct FlowPatternSchema {
    /// Globs of paths, `env`, `env:NAME`, `clipboard` or `network`; missing: anything.
    from: Option<OneOrManySchema>,
    /// `network`, `network:HOST` or `run`, with `*`; missing: anywhere.
    to: Option<OneOrManySchema>,
}

#[derive(JsonSchema)]
#[schemars(rename = "OneOrMany", untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum OneOrManySchema {
    One(String),
    Many(Vec<String>),
}

/// What a call does, as far as it can be told.
#[derive(JsonSchema)]
#[schemars(rename = "Effects")]
#[allow(dead_code, reason = "only its schema is used")]
struct EffectsSchema {
    /// The commands that it runs, word by word; those that others run for it are here too.
    commands: Vec<Vec<String>>,
    /// What it is told to read: from the project on, or a whole path; with a slash behind it, everything in it.
    reads: Vec<String>,
    /// What it makes or changes.
    writes: Vec<String>,
    /// What it removes.
    deletes: Vec<String>,
    /// Whom it talks to: hosts, or the name of a remote or a program.
    network: Vec<String>,
    /// What becomes of a git repository beside its files: `index`, `commit`, `refs`, `config`, `discard: branch x`.
    #[schemars(default)]
    repository: Vec<String>,
    /// What is done to services: `SERVICE:VERB`, with the verbs `read`, `write`, `delete` and `run`.
    #[schemars(default)]
    services: Vec<String>,
    /// What is sent a signal.
    #[schemars(default)]
    processes: Vec<String>,
    /// What runs as another user.
    #[schemars(default)]
    privileged: Vec<String>,
    /// Data that goes to the network or into a program that runs it.
    #[schemars(default)]
    flows: Vec<FlowSchema>,
    /// Whether all of these lists are complete.
    certain: bool,
    /// The lists that may not be.
    unsure: Option<Vec<AspectSchema>>,
}

/// One kind of effect.
#[derive(JsonSchema)]
#[schemars(rename = "Aspect", rename_all = "lowercase")]
#[allow(dead_code, reason = "only its schema is used")]
enum AspectSchema {
    /// What it runs.
    Commands,
    /// What it reads.
    Reads,
    /// What it writes.
    Writes,
    /// What it deletes.
    Deletes,
    /// What it talks to.
    Network,
    /// What becomes of a git repository beside its files.
    Repository,
    /// What is done to services.
    Services,
    /// What is sent a signal.
    Processes,
    /// What runs as another user.
    Privileged,
    /// Where data goes.
    Flows,
}

/// Data that goes somewhere.
#[derive(JsonSchema, serde::Serialize)]
#[schemars(rename = "Flow")]
#[allow(dead_code, reason = "only its schema is used")]
struct FlowSchema {
    /// A path, `env`, `env:NAME`, `clipboard` or `network:HOST`.
    from: String,
    /// `network:HOST` or `run:PROGRAM`.
    to: String,
    /// The program that sends or runs it.
    via: String,
}

#[derive(JsonSchema)]
#[schemars(rename = "Dialect", rename_all = "lowercase")]
#[allow(dead_code, reason = "only its schema is used")]
enum DialectSchema {
    Gemini,
    Claude,
}

/// How much of a streamed answer a hook is handed at a time.
#[derive(JsonSchema)]
#[schemars(rename = "Chunks", untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum ChunksSchema {
    /// Whole sentences, or whole lines.
    Whole(ChunkWordSchema),
    /// At least so many characters, and whole words.
    AtLeast(#[schemars(range(min = 1, max = 65_536))] u32),
}

#[derive(JsonSchema)]
#[schemars(rename = "ChunkWord", rename_all = "lowercase")]
#[allow(dead_code, reason = "only its schema is used")]
enum ChunkWordSchema {
    Sentence,
    Line,
}

#[derive(JsonSchema)]
#[schemars(rename = "CallEnd", rename_all = "lowercase")]
#[allow(dead_code, reason = "only its schema is used")]
enum CallEndSchema {
    Succeeded,
    Failed,
}

#[derive(JsonSchema)]
#[schemars(rename = "OnFailure", rename_all = "lowercase")]
#[allow(dead_code, reason = "only its schema is used")]
enum OnFailureSchema {
    Block,
    Continue,
}

/// What counts when a hook fails: one word, or a word by cause.
#[derive(JsonSchema)]
#[schemars(rename = "OnError", untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum OnErrorSchema {
    All(FailureAction),
    ByCause {
        /// It ran too long.
        timeout: Option<FailureAction>,
        /// Another exit code, or a signal.
        exit: Option<FailureAction>,
        /// It could not start.
        spawn: Option<FailureAction>,
        /// A known field of the wrong type, or JSON that does not parse or stands among other text.
        output: Option<FailureAction>,
        /// This machine had no descriptors, processes, memory or working directory for it. Blocks by default.
        resource: Option<FailureAction>,
        /// Its JSON answer was cut off by the output bound before a decision could be read. Blocks by default.
        truncated: Option<FailureAction>,
    },
}

/// Settings for hooks as a whole.
#[derive(JsonSchema)]
#[schemars(rename = "HooksConfig", rename_all = "camelCase")]
#[allow(dead_code, reason = "only its schema is used")]
struct HooksConfigSchema {
    /// Whether hooks run at all; true if not set.
    enabled: Option<bool>,
    /// Names of hooks that do not run.
    disabled: Option<Vec<String>>,
    /// Whether running hooks are shown; true if not set.
    notifications: Option<bool>,
    /// What counts when a hook fails.
    on_error: Option<OnErrorSchema>,
    /// Names of hooks that must be there and are guards, `*` for all hooks of the layer; the lists of all layers are added up.
    required: Option<Vec<String>>,
    /// How often in a row AfterAgent hooks may demand a retry; 5 if not set.
    max_agent_retries: Option<u32>,
    /// The most command hooks that run at once; others wait their turn. As many as this machine has room for if not set.
    max_parallel: Option<std::num::NonZeroU32>,
    /// Whether what BeforeAgent hooks tell the model stays in later turns; false if not set.
    keep_context: Option<bool>,
    /// How many milliseconds SessionEnd hooks are waited for when a session ends; 2000 if not set. Those that run longer are
    /// ended, and that is said.
    session_end_grace: Option<u32>,
    /// What counts for guards where another agent has a tool or an event that nobody here knows; deny if not set. A project
    /// can't say allow.
    on_unknown: Option<crate::config::OnUnknown>,
    /// What happens to a call that may do what a guard of these settings looks for, where that is not known.
    on_doubt: Option<crate::doubt::OnDoubt>,
    /// When commands run so that the kernel keeps them from what guards forbid; always if not set, and under other agents
    /// where effects are in doubt. A project can't ask for less.
    enforce: Option<crate::doubt::Enforcement>,
    /// Whether the hooks of Claude Code's own settings (.claude/settings.json, .claude/settings.local.json, and in your own
    /// settings ~/.claude/settings.json) run as they are; false if not set.
    read_claude: Option<bool>,
}

/// What every hook may answer.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[allow(dead_code, reason = "only its schema is used")]
struct CommonOutputSchema {
    /// Shown to the user at once.
    system_message: Option<String>,
    /// Keeps this hook's input and output out of logs and telemetry.
    suppress_output: Option<bool>,
}

/// The schema of the sections of `settings.json` that concern hooks; other settings are allowed.
pub fn settings() -> Value {
    let mut generator = SchemaGenerator::default();
    let definitions = generator.subschema_for::<Vec<DefinitionSchema>>();
    let config = generator.subschema_for::<HooksConfigSchema>();
    let mut hooks = Map::new();
    for row in &EVENTS {
        let mut schema = definitions.clone();
        schema.insert(
            "description".to_owned(),
            json!(format!("Hooks that run {}.{}", row.fires_when, matcher_note(row.subject))),
        );
        hooks.insert(row.name.to_owned(), Value::from(schema));
    }
    hooks.insert("enabled".to_owned(), json!({"type": "boolean"}));
    hooks.insert("disabled".to_owned(), json!({"type": "array", "items": {"type": "string"}}));
    hooks.insert("notifications".to_owned(), json!({"type": "boolean"}));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Hook settings",
        "type": "object",
        "properties": {
            "hooks": {"type": "object", "properties": hooks, "additionalProperties": false},
            "hooksConfig": config,
            "tools": {"type": "object", "properties": {"enableHooks": {"type": "boolean"}}},
            "security": {"type": "object", "properties": {"protectedPaths": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Globs of paths that no tool changes unasked; behind a `!`, of those that tools may \
                    change although guards are made of them. In user and system settings only.",
            }}},
        },
        "$defs": generator.take_definitions(true),
    })
}

fn matcher_note(subject: MatcherSubject) -> String {
    match subject {
        MatcherSubject::ToolName => " The matcher is tested against the tool's name.".to_owned(),
        MatcherSubject::Field { name, values } => {
            format!(" The matcher is compared with `{name}`: {}.", values.join(", "))
        }
        MatcherSubject::Nothing => " It has no matcher.".to_owned(),
    }
}

/// The schema of the JSON object on a hook's stdin.
pub fn hook_input(kind: EventKind) -> Value {
    let mut schema = Value::from(input::AnyEvent::schema(kind));
    let base = Value::from(schema_for!(input::Base<'static>));
    let mut properties = object_at(&base, "properties");
    properties.insert("hook_event_name".to_owned(), json!({"const": kind.name()}));
    properties.extend(object_at(&schema, "properties"));
    let mut definitions = object_at(&base, "$defs");
    definitions.extend(object_at(&schema, "$defs"));
    if kind.info().subject == MatcherSubject::ToolName {
        let mut effects = Value::from(schema_for!(EffectsSchema));
        definitions.extend(object_at(&effects, "$defs"));
        effects.as_object_mut().into_iter().for_each(|effects| effects.retain(|key, _| !key.starts_with('$')));
        properties.insert("effects".to_owned(), effects);
    }
    if let MatcherSubject::Field { name, values } = kind.info().subject {
        properties.insert(name.to_owned(), json!({"type": "string", "enum": values}));
    }
    let required: Vec<Value> =
        [&base, &schema].iter().flat_map(|schema| schema["required"].as_array().cloned().unwrap_or_default()).collect();
    schema["title"] = json!(format!("{kind} input"));
    schema["properties"] = Value::Object(properties);
    schema["required"] = Value::Array(required);
    let text = format!("{schema} {}", Value::Object(definitions.clone()));
    definitions.retain(|name, _| text.contains(&format!("\"#/$defs/{name}\"")));
    schema["$defs"] = Value::Object(definitions);
    schema
}

/// The schema of the JSON object that a hook may print.
pub fn hook_output(kind: EventKind) -> Value {
    let mut generator = SchemaGenerator::default();
    let mut properties = object_at(&Value::from(schema_for!(CommonOutputSchema)), "properties");
    let mut decisions = vec!["allow", "approve"];
    if kind.can(HookCapability::Confine) {
        decisions.push("confine");
    }
    if kind.can(HookCapability::Ask) {
        decisions.push("ask");
    }
    if kind.can(HookCapability::Deny) {
        decisions.extend(["deny", "block"]);
        properties.insert("decision".to_owned(), json!({"enum": decisions}));
        properties.insert("reason".to_owned(), json!({"type": "string"}));
    }
    if kind.can(HookCapability::Stop) {
        properties.insert("continue".to_owned(), json!({"type": "boolean"}));
        properties.insert("stopReason".to_owned(), json!({"type": "string"}));
    }
    let specific: Map<String, Value> =
        kind.info().capabilities.iter().filter_map(|power| specific_field(*power, &mut generator)).collect();
    if !specific.is_empty() {
        let mut fields = Map::from_iter([("hookEventName".to_owned(), json!({"const": kind.name()}))]);
        fields.extend(specific);
        properties.insert("hookSpecificOutput".to_owned(), json!({"type": "object", "properties": fields}));
    }
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("{kind} output"),
        "type": "object",
        "properties": properties,
    });
    let definitions = generator.take_definitions(true);
    if !definitions.is_empty() {
        schema["$defs"] = Value::Object(definitions);
    }
    schema
}

/// The field of `hookSpecificOutput` that corresponds to a capability.
fn specific_field(power: HookCapability, generator: &mut SchemaGenerator) -> Option<(String, Value)> {
    let of = |name: &str, schema: Schema| Some((name.to_owned(), Value::from(schema)));
    match power {
        HookCapability::Context => of("additionalContext", generator.subschema_for::<String>()),
        HookCapability::RewriteInput => of("tool_input", generator.subschema_for::<Map<String, Value>>()),
        HookCapability::Confine => of("confine", generator.subschema_for::<ConfinementProfile>()),
        HookCapability::RedactInput => of("redact_input", generator.subschema_for::<bool>()),
        HookCapability::RewriteRequest => of("llm_request", generator.subschema_for::<LlmRequestPatch>()),
        HookCapability::AnswerForModel | HookCapability::ReplaceResponse => {
            of("llm_response", generator.subschema_for::<LlmResponse>())
        }
        HookCapability::SelectTools => of("toolConfig", generator.subschema_for::<ToolConfig>()),
        HookCapability::ClearContext => of("clearContext", generator.subschema_for::<bool>()),
        HookCapability::TailCall => {
            let call = json!({
                "type": "object",
                "properties": {"name": {"type": "string"}, "args": {"type": "object"}},
                "required": ["name"],
            });
            Some(("tailToolCallRequest".to_owned(), call))
        }
        HookCapability::Deny | HookCapability::Ask | HookCapability::Approve | HookCapability::Stop => None,
    }
}

fn object_at(schema: &Value, key: &str) -> Map<String, Value> {
    schema[key].as_object().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Layer, parse_layer};
    use crate::hook::Source;

    /// The schema and the parser must accept the same keys.
    #[test]
    fn the_schema_knows_the_keys_that_the_reader_knows() {
        let schema = settings();
        let keys = |name: &str| {
            object_at(&schema["$defs"][name], "properties").into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        };
        for key in keys("Hook") {
            let text = format!(r#"{{"hooks": {{"BeforeTool": [{{"hooks": [{{"{key}": 1}}]}}]}}}}"#);
            assert!(!reports_unknown_key(&text), "{key}");
        }
        for key in keys("HookDefinition") {
            assert!(
                !reports_unknown_key(&format!(r#"{{"hooks": {{"BeforeTool": [{{"hooks": [], "{key}": 1}}]}}}}"#)),
                "{key}"
            );
        }
        for key in keys("HooksConfig") {
            assert!(!reports_unknown_key(&format!(r#"{{"hooksConfig": {{"{key}": 1}}}}"#)), "{key}");
        }
        assert!(reports_unknown_key(r#"{"hooksConfig": {"nonsense": 1}}"#));
    }

    fn reports_unknown_key(text: &str) -> bool {
        let declared = parse_layer(&Layer::new(Source::User, "f".as_ref(), text));
        declared.diagnostics.iter().any(|diagnostic| diagnostic.message.contains("it is ignored"))
    }

    /// Every `$ref` must point to a definition that the schema contains.
    #[test]
    fn every_schema_reference_resolves() {
        for schema in EventKind::all().flat_map(|kind| [hook_input(kind), hook_output(kind)]).chain([settings()]) {
            let text = schema.to_string();
            for (at, start) in text.match_indices("\"#/") {
                let end = text[at + start.len()..].find('"').unwrap() + at + start.len();
                let pointer = &text[at + 2..end];
                assert!(schema.pointer(pointer).is_some(), "{} has no {pointer}", schema["title"]);
            }
        }
    }

    #[test]
    fn every_event_has_both_schemas() {
        for kind in EventKind::all() {
            assert_eq!(hook_input(kind)["properties"]["hook_event_name"]["const"], kind.name());
            assert!(hook_output(kind)["properties"]["systemMessage"].is_object());
        }
        assert!(hook_output(EventKind::SessionStart)["properties"]["decision"].is_null());
        assert!(hook_output(EventKind::BeforeModel)["$defs"]["LlmRequestPatch"].is_object());
    }
}
