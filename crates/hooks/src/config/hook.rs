//! Reads one hook from its JSON object: command, timeout, failure policy, environment.

use std::time::Duration;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;

use super::FileKind;
use super::hooks_config::read_on_doubt;
use super::node_reader::NodeReader;
use super::on_error::{read_on_error, read_on_failure};
use super::{DefinitionContext, EventScope, Layer, chunks, http, plugin, when, worker};
use crate::answers::Decision;
use crate::confinement::ConfinementProfile;
use crate::dialect::claude::{self, AgentScope, CallStatus};
use crate::dialect::{Dialect, PermissionRule};
use crate::event::{EventKind, HookCapability, MatcherSubject};
use crate::hook::{
    Action, CommandAction, ConfinementOrigin, Hook, HookRole, ProcessConfinement, RuleAction, RunCondition, Source,
    WorkerAction,
};
use crate::jsonc::{last_property, value_kind};
use crate::matching::effect_filter::{EffectBounds, EffectFilter};
use crate::on_error::OnError;
use crate::running::invocation::{Invocation, join_command};
use crate::suggestion::nearest_name;

/// The keys that a hook may have.
pub(super) const HOOK_KEYS: [&str; 36] = [
    "type",
    "command",
    "args",
    "dialect",
    "name",
    "description",
    "timeout",
    "env",
    "onError",
    "onDoubt",
    "confine",
    "locked",
    "guard",
    "mode",
    "enabled",
    "async",
    "shell",
    "if",
    "once",
    "result",
    "onFailure",
    "asyncRewake",
    "statusMessage",
    "when",
    "decision",
    "only",
    "reason",
    "chunks",
    "start",
    "concurrency",
    "idleTimeout",
    "maxMemoryMb",
    "package",
    "url",
    "headers",
    "allowedEnvVars",
];

/// Reads a hook, or reports why it cannot be loaded.
pub(super) fn read(
    read: &mut NodeReader<'_>,
    layer: &Layer<'_>,
    kind: EventKind,
    object: &Object<'_>,
    common: &DefinitionContext,
) -> Option<Hook> {
    let kind_of_hook = read_hook_type(read, layer, object)?;
    read.report_unknown_keys(object, &[&HOOK_KEYS, common.extra_keys].concat(), "a hook");
    let when: Vec<EffectFilter> = common.when.iter().cloned().chain(when::read(read, kind, object)).collect();
    let dialect = read_dialect(read, layer, kind, object)?;
    let action = match kind_of_hook {
        HookType::Command => {
            report_unused_keys(read, object, &worker::WORKER_KEYS, "only a worker has it");
            report_unused_keys(read, object, &["package"], "only a plugin has it");
            report_unused_keys(read, object, &http::HTTP_KEYS, "only a hook of type \"http\" has it");
            Action::Command(read_command_action(read, layer, object, dialect)?)
        }
        HookType::Worker => {
            report_unused_keys(read, object, &["package"], "only a plugin has it");
            report_unused_keys(read, object, &http::HTTP_KEYS, "only a hook of type \"http\" has it");
            let command = read_command_action(read, layer, object, dialect)?;
            Action::Worker(WorkerAction { command, package: None, config: worker::read_worker_config(read, object) })
        }
        HookType::Plugin => {
            report_unused_keys(
                read,
                object,
                &["command", "args", "shell", "decision", "only", "reason"],
                "a plugin runs a package",
            );
            report_unused_keys(read, object, &http::HTTP_KEYS, "only a hook of type \"http\" has it");
            if dialect != Dialect::Gemini
                && let Some(property) = last_property(object, "dialect")
            {
                let wrong = read
                    .error(&property.value, "a plugin has no other dialect than Gemini CLI's; this hook never runs");
                read.report(wrong.help("remove `dialect`"));
                return None;
            }
            let env = layer.env.iter().cloned().chain(read_env(read, object)).collect();
            Action::Worker(plugin::read(read, layer, object, env)?)
        }
        HookType::Http => {
            report_unused_keys(
                read,
                object,
                &["command", "args", "env", "decision", "only", "reason"],
                "a hook of type \"http\" runs no program",
            );
            report_unused_keys(read, object, &worker::WORKER_KEYS, "only a worker has it");
            Action::Http(http::read(read, object, dialect)?)
        }
        HookType::Rule => Action::Rule(read_rule(read, layer, kind, object, &when)?),
    };
    let name = read.read_string(object, "name").filter(|name| !name.is_empty());
    let on_error = last_property(object, "onError").map(|property| read_on_error(read, property)).unwrap_or_default();
    let on_error = on_error.or(read_on_failure(read, object));
    if on_error != OnError::default() && !kind.can(HookCapability::Deny) {
        let wrong = last_property(object, "onError").map(|property| {
            read.warning(&property.value, format!("{kind} can't be denied, so `onError` has no effect here"))
        });
        wrong.into_iter().for_each(|wrong| read.report(wrong.help("remove `onError`")));
    }
    Some(Hook {
        event: kind,
        source: layer.source.clone(),
        name,
        description: read.read_string(object, "description"),
        matcher: common.matcher.clone(),
        matcher_text: common.matcher_text.clone(),
        when,
        run_condition: read_run_condition(read, kind, object, common.event_scope),
        sequential: common.sequential,
        chunks: chunks::read(read, kind, object),
        action,
        timeout: match layer.kind {
            FileKind::Claude => read_timeout_seconds(read, kind, object),
            FileKind::Settings | FileKind::Hooks => read_timeout_millis(read, object, default_timeout(kind, dialect)),
        },
        on_error,
        on_doubt: read_on_doubt(read, object),
        locked: read_locked(read, layer, object),
        role: read_role(read, kind, object),
        required: false,
        enabled: read.read_boolean(object, "enabled").unwrap_or(true),
        location: Some(read.source.location(object.range.start)),
    })
}

/// Reads the dialect of a hook's input and answer. A dialect that does not have the event is an error.
fn read_dialect(read: &mut NodeReader<'_>, layer: &Layer<'_>, kind: EventKind, object: &Object<'_>) -> Option<Dialect> {
    let property = last_property(object, "dialect").filter(|property| !matches!(property.value, Value::NullKeyword(_)));
    let Some(property) = property else { return Some(layer.kind.dialect()) };
    let word = property.value.as_string_lit().map(|text| text.value.clone().into_owned());
    let Some(dialect) = word.as_deref().and_then(Dialect::from_name) else {
        let names = Dialect::ALL.map(Dialect::as_str);
        let text = "`dialect` should be \"gemini\" or \"claude\"; this hook never runs";
        let wrong = read.error(&property.value, text);
        let near = word.as_deref().and_then(|word| nearest_name(word, names.into_iter()));
        read.report(match near {
            Some(near) => wrong.help(format!("did you mean `{near}`?")),
            None => wrong.help("\"gemini\" is the dialect of hooks in this file that name none"),
        });
        return None;
    };
    if dialect == Dialect::Claude && claude::event_name(kind, AgentScope::Session).is_none() {
        let text = format!("Claude Code has no event like {kind}, so a hook in its dialect never runs");
        let wrong = read.error(&property.value, text);
        read.report(wrong.help("remove `dialect`, and answer in Gemini CLI's format"));
        return None;
    }
    Some(dialect)
}

/// The values of a hook's `type`.
enum HookType {
    Command,
    Worker,
    Plugin,
    Http,
    Rule,
}

fn read_hook_type(read: &mut NodeReader<'_>, layer: &Layer<'_>, object: &Object<'_>) -> Option<HookType> {
    let Some(property) = last_property(object, "type") else {
        let wrong = read.error_at(object.range, "a hook needs `type`; this one never runs");
        read.report(wrong.expected("expected \"type\": \"command\""));
        return None;
    };
    match property.value.as_string_lit().map(|text| text.value.as_ref()) {
        Some("command") => Some(HookType::Command),
        Some("worker") if layer.kind != FileKind::Claude => Some(HookType::Worker),
        Some("plugin") if layer.kind != FileKind::Claude => Some(HookType::Plugin),
        Some("http") => Some(HookType::Http),
        Some("rule") => Some(HookType::Rule),
        Some(other) if layer.kind == FileKind::Claude => {
            let text = format!("hooks of type `{other}` are not supported here; this one never runs");
            let wrong = read.warning(&property.value, text);
            read.report(wrong.expected("only \"command\" and \"http\" are"));
            None
        }
        Some(other) => {
            let wrong = read.error(&property.value, format!("unknown hook type `{other}`; this hook never runs"));
            let help = "the types are \"command\" (runs a program), \"worker\" (asks a program that keeps running), \
                        \"plugin\" (asks a node package), \"http\" (asks a service) and \"rule\" (needs no program)";
            let near =
                nearest_name(other, ["command", "worker", "plugin", "http", "rule"].into_iter()).unwrap_or("command");
            read.report(wrong.expected(format!("expected \"{near}\"")).help(help));
            None
        }
        None => {
            read.report_wrong_type("type", &property.value, "\"command\"");
            None
        }
    }
}

/// Reports keys that have no effect on this type of hook.
fn report_unused_keys(read: &mut NodeReader<'_>, object: &Object<'_>, keys: &[&str], why: &str) {
    for property in keys.iter().filter_map(|key| last_property(object, key)) {
        let text = format!("`{}` has no effect here; {why}", property.name.as_str());
        let wrong = read.warning_at(property.name.range(), text);
        read.report(wrong.help("remove it"));
    }
}

/// Reads a rule's answer.
///
/// A rule is written to stop something, so an invalid decision counts as a deny.
fn read_rule(
    read: &mut NodeReader<'_>,
    layer: &Layer<'_>,
    kind: EventKind,
    object: &Object<'_>,
    when: &[EffectFilter],
) -> Option<RuleAction> {
    if !kind.can(HookCapability::Deny) {
        let wrong = read.error_at(object.range, format!("{kind} can't be denied, so a rule has no effect here"));
        read.report(wrong.help("rules work on events that can be denied, such as BeforeTool"));
        return None;
    }
    report_unused_keys(read, object, &["command", "env", "timeout", "async"], "a rule runs no program");
    report_unused_keys(read, object, &worker::WORKER_KEYS, "only a worker has it");
    report_unused_keys(read, object, &http::HTTP_KEYS, "only a hook of type \"http\" has it");
    let decision = match last_property(object, "decision").map(|property| &property.value) {
        Some(Value::StringLit(word)) if matches!(word.value.as_ref(), "deny" | "block") => Decision::Deny,
        Some(Value::StringLit(word)) if word.value == "ask" => Decision::Ask,
        Some(Value::StringLit(word)) if word.value == "confine" && kind.can(HookCapability::Confine) => {
            Decision::Confine
        }
        Some(Value::StringLit(word)) if matches!(word.value.as_ref(), "allow" | "approve") => Decision::Allow,
        other => {
            let text =
                "a rule's `decision` should be \"deny\", \"ask\", \"confine\" or \"allow\"; it counts as \"deny\"";
            let wrong = read.error_at(other.map_or(object.range, Ranged::range), text);
            read.report(wrong.expected("expected \"decision\": \"deny\", \"ask\", \"confine\" or \"allow\""));
            Decision::Deny
        }
    };
    let only = match decision {
        Decision::Allow => Some(read_approval(read, layer, kind, object, (decision, when))?),
        Decision::Confine if last_property(object, "only").is_some() => {
            Some(read_approval(read, layer, kind, object, (decision, when))?)
        }
        Decision::Confine | Decision::Ask | Decision::Deny => {
            if let Some(property) = last_property(object, "only") {
                let wrong =
                    read.error_at(property.name.range(), "only a rule that allows has `only`; it is ignored here");
                read.report(wrong.help("`when` says which calls a rule that denies or asks is about"));
            }
            None
        }
    };
    let reason = read.read_string(object, "reason").filter(|reason| !reason.trim().is_empty());
    let reason = reason.unwrap_or_else(|| match read.read_string(object, "name").filter(|name| !name.is_empty()) {
        Some(name) => format!("the rule `{name}` says so"),
        None => "a rule of this configuration says so".to_owned(),
    });
    let wants_unsure = when.iter().any(EffectFilter::matches_uncertain);
    let confinement = match decision {
        Decision::Confine => Some(read_confine(read, object).unwrap_or_else(|| derive_confine(read, object, when))),
        _ => {
            report_unused_keys(read, object, &["confine"], "only a rule that confines has it");
            None
        }
    };
    Some(RuleAction { decision, confinement, reason, matches_uncertain: wants_unsure, only })
}

/// The profile of a rule that confines and names none: its `when` is what the call is kept from.
fn derive_confine(read: &mut NodeReader<'_>, object: &Object<'_>, when: &[EffectFilter]) -> ConfinementProfile {
    let derived = when.iter().map(EffectFilter::confinement).find(Result::is_ok);
    let first = when.first().map(EffectFilter::confinement);
    match derived.or(first) {
        Some(Ok(profile)) => profile,
        other => {
            let why = other.and_then(Result::err).map(|line| format!(": {line}")).unwrap_or_default();
            let text = format!("a rule that confines needs `confine` here{why}; nothing is allowed instead");
            let wrong = read.error_at(object.range, text);
            read.report(wrong.expected(r#"expected "confine": { "writes": ["**"], "network": "none" }"#));
            ConfinementProfile::default()
        }
    }
}

/// Reads the profile of a hook's own process. Hooks of extensions that name none may change their own folder only, and
/// reach nothing.
pub(super) fn read_process_confinement(
    read: &mut NodeReader<'_>,
    layer: &Layer<'_>,
    object: &Object<'_>,
) -> Option<ProcessConfinement> {
    if let Some(profile) = read_confine(read, object) {
        return Some(ProcessConfinement { profile, origin: ConfinementOrigin::Declared });
    }
    let is_literal =
        |path: &&(String, String)| path.0 == "extensionPath" && !path.1.contains(['*', '?', '[', '{', '\\']);
    let (_, folder) = layer.placeholders.iter().find(is_literal)?;
    let writes = vec![format!("{folder}/**")];
    let profile = ConfinementProfile { writes, keep_env: true, ..ConfinementProfile::default() };
    Some(ProcessConfinement { profile, origin: ConfinementOrigin::ExtensionDefault })
}

/// Reads `confine`: a profile. One that is not understood is reported, and the strictest one counts.
fn read_confine(read: &mut NodeReader<'_>, object: &Object<'_>) -> Option<ConfinementProfile> {
    let property = last_property(object, "confine")?;
    if matches!(property.value, Value::NullKeyword(_)) {
        return None;
    }
    let json = when::compact_json(&property.value);
    Some(serde_json::from_str(&json).unwrap_or_else(|error| {
        let wrong =
            read.error(&property.value, format!("`confine` is not a profile: {error}; nothing is allowed instead"));
        read.report(wrong.expected(r#"expected { "writes": ["**"], "noReads": ["**/.env"], "network": "none" }"#));
        ConfinementProfile::default()
    }))
}

/// Reads the bounds of a rule that allows or confines, or reports why it cannot be loaded.
///
/// An approval loosens, so only the user and the machine's administrator may give one, and nothing that was not
/// understood counts in its favour.
fn read_approval(
    read: &mut NodeReader<'_>,
    layer: &Layer<'_>,
    kind: EventKind,
    object: &Object<'_>,
    (decision, when): (Decision, &[EffectFilter]),
) -> Option<EffectBounds> {
    let place = last_property(object, "decision").map_or(object.range, |property| property.value.range());
    let mut refuse = |text: String, help: &str| {
        let wrong = read.error_at(place, format!("{text}; this rule does not load"));
        read.report(wrong.help(help));
    };
    if !matches!(layer.source, Source::User | Source::System) {
        let text = format!("a rule of the {} settings may not allow", layer.source);
        refuse(text, "only your own settings and the system's can approve calls");
        return None;
    }
    if !kind.can(HookCapability::Approve) {
        refuse(format!("{kind} has no call to approve"), "rules that allow work on BeforeTool");
        return None;
    }
    if when.iter().any(EffectFilter::is_invalid) {
        refuse("a rule with an invalid `when` may not allow".to_owned(), "correct its `when`, or remove it");
        return None;
    }
    let condition = last_property(object, "if").filter(|property| !matches!(property.value, Value::NullKeyword(_)));
    let is_understood =
        |value: &Value<'_>| value.as_string_lit().and_then(|text| PermissionRule::parse(&text.value)).is_some();
    if condition.is_some_and(|property| !is_understood(&property.value)) {
        refuse("a rule with an invalid `if` may not allow".to_owned(), "correct its `if`, or remove it");
        return None;
    }
    when::read_only(read, object, decision)
}

/// Reads the action of a hook that runs a command.
fn read_command_action(
    read: &mut NodeReader<'_>,
    layer: &Layer<'_>,
    object: &Object<'_>,
    dialect: Dialect,
) -> Option<CommandAction> {
    let command = read_command(read, object)?;
    let command = apply_args_and_shell(read, object, command);
    let mut env = layer.env.clone();
    env.extend(read_env(read, object));
    report_unused_keys(read, object, &["decision", "only", "reason"], "only a rule has it");
    let invocation = Invocation::analyse(&command, &layer.placeholders);
    Some(CommandAction {
        command,
        env,
        dialect,
        invocation,
        confinement: read_process_confinement(read, layer, object),
    })
}

fn read_command(read: &mut NodeReader<'_>, object: &Object<'_>) -> Option<String> {
    let Some(property) = last_property(object, "command") else {
        let wrong = read.error_at(object.range, "a hook needs `command`; this one never runs");
        read.report(wrong.expected("expected \"command\": \"…\""));
        return None;
    };
    let Value::StringLit(command) = &property.value else {
        read.report_wrong_type("command", &property.value, "a string");
        return None;
    };
    let command = command.value.clone().into_owned();
    if command.trim().is_empty() {
        let wrong = read.error(&property.value, "`command` is empty; this hook never runs");
        read.report(wrong.expected("expected a program and its arguments"));
        return None;
    }
    if command.contains('\0') {
        let wrong = read.error(&property.value, "`command` holds a NUL character; no program can be given one");
        read.report(wrong);
        return None;
    }
    Some(command)
}

/// Applies `args` and `shell`: with `args` the command is a program started with exactly these arguments; otherwise
/// `shell` may name the shell that runs it.
fn apply_args_and_shell(read: &mut NodeReader<'_>, object: &Object<'_>, command: String) -> String {
    read.read_string(object, "statusMessage");
    let shell = read.read_string(object, "shell").zip(last_property(object, "shell"));
    if last_property(object, "args").is_some_and(|property| !matches!(property.value, Value::NullKeyword(_))) {
        let args = read.read_strings(object, "args");
        return join_command(command.trim(), &args);
    }
    match shell {
        Some((name, _)) if name == "powershell" || name == "pwsh" => {
            let before = ["-NoProfile", "-NonInteractive", "-Command"].map(str::to_owned);
            join_command("pwsh", &[before.as_slice(), &[command]].concat())
        }
        Some((name, property)) if name != "bash" => {
            let text = format!("`shell` has no effect; this command is not run by {name}");
            let wrong = read.warning(&property.value, text);
            read.report(wrong.help("write the shell into the command, as in `zsh -c '…'`"));
            command
        }
        _ => command,
    }
}

/// Reads the conditions, besides the matcher, under which the hook runs.
fn read_run_condition(
    read: &mut NodeReader<'_>,
    kind: EventKind,
    object: &Object<'_>,
    part: EventScope,
) -> RunCondition {
    let mut only_if = None;
    if let (Some(text), Some(property)) = (read.read_string(object, "if"), last_property(object, "if")) {
        only_if = PermissionRule::parse(&text).filter(|_| kind.info().subject == MatcherSubject::ToolName);
        if only_if.is_none() {
            let wrong = read.warning(&property.value, "`if` can't be evaluated here; this hook runs every time");
            read.report(wrong.help("on tool events, write a rule such as \"Bash(git *)\""));
        }
    }
    let mut once = read.read_boolean(object, "once").unwrap_or(false);
    let is_guard = last_property(object, "guard")
        .is_some_and(|guard| !matches!(guard.value.as_boolean_lit(), Some(no) if !no.value));
    if once
        && is_guard
        && let Some(property) = last_property(object, "once")
    {
        let wrong = read.error(&property.value, "a guard can't run only once; this one runs every time");
        read.report(wrong.help("remove `once`"));
        once = false;
    }
    // A guard on successful calls only would miss the results of failed calls.
    let after =
        read_call_status(read, kind, object).or(part.after_call.filter(|end| !is_guard || *end == CallStatus::Failed));
    RunCondition { if_rule: only_if, once, agent_scope: part.agent_scope, after_call: after }
}

/// Reads `result`: the call status after which the hook runs, if given.
fn read_call_status(read: &mut NodeReader<'_>, kind: EventKind, object: &Object<'_>) -> Option<CallStatus> {
    let (word, property) = read.read_string(object, "result").zip(last_property(object, "result"))?;
    let end = match word.as_str() {
        "failed" => Some(CallStatus::Failed),
        "succeeded" => Some(CallStatus::Succeeded),
        _ => None,
    };
    if end.is_some() && kind == EventKind::AfterTool {
        return end;
    }
    let text = if end.is_some() {
        format!("`result` has no effect on {kind}: only AfterTool knows how a call ended")
    } else {
        "`result` should be \"failed\" or \"succeeded\"; this hook runs after every call".to_owned()
    };
    let wrong = read.warning(&property.value, text);
    read.report(wrong.help("remove `result`"));
    None
}

fn default_timeout(kind: EventKind, dialect: Dialect) -> Duration {
    match dialect {
        Dialect::Gemini => Hook::DEFAULT_TIMEOUT,
        Dialect::Claude => claude::default_timeout(kind),
    }
}

/// The longest timeout that is accepted: a week.
const MAX_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Reads a timeout in seconds, as Claude Code's files have it.
fn read_timeout_seconds(read: &mut NodeReader<'_>, kind: EventKind, object: &Object<'_>) -> Duration {
    let default = claude::default_timeout(kind);
    let Some(property) = last_property(object, "timeout") else { return default };
    let number = property.value.as_number_lit().and_then(|number| number.value.parse::<f64>().ok());
    let Some(number) = number.filter(|number| *number > 0.0) else {
        let wrong = read.error(&property.value, "`timeout` should be a number of seconds, more than 0");
        read.report(wrong.help(format!("the default of {} s is used", default.as_secs())));
        return default;
    };
    if claude::looks_like_milliseconds(number) {
        let text = format!("a timeout of {number} s looks like milliseconds; timeouts are in seconds in this file");
        let wrong = read.warning(&property.value, text);
        read.report(wrong.help(format!("for {number} ms, write {}", number / 1000.0)));
    }
    Duration::try_from_secs_f64(number).map_or(MAX_TIMEOUT, |duration| duration.min(MAX_TIMEOUT))
}

fn read_timeout_millis(read: &mut NodeReader<'_>, object: &Object<'_>, otherwise: Duration) -> Duration {
    let Some(property) = last_property(object, "timeout") else { return otherwise };
    let value = &property.value;
    let default = format!("the default of {} ms is used", otherwise.as_millis());
    let Some(number) = value.as_number_lit().and_then(|number| number.value.parse::<f64>().ok()) else {
        let wrong =
            read.error(value, format!("`timeout` should be a number of milliseconds, not {}", value_kind(value)));
        let quoted = value.as_string_lit().and_then(|text| text.value.trim().parse::<f64>().ok());
        let help = quoted.map_or_else(|| default.clone(), |number| format!("write {number} without quotes; {default}"));
        read.report(wrong.expected("expected a number").help(help));
        return otherwise;
    };
    if number <= 0.0 {
        let wrong = read.error(value, format!("a timeout of {number} ms is over before the hook starts"));
        read.report(wrong.expected("expected more than 0").help(default));
        return otherwise;
    }
    if looks_like_seconds(number) {
        let text = format!("a timeout of {number} ms looks like seconds; timeouts are in milliseconds");
        let wrong = read.warning(value, text);
        read.report(wrong.help(format!("for {number} seconds, write {}", number * 1000.0)));
    }
    Duration::try_from_secs_f64(number / 1000.0).map_or(MAX_TIMEOUT, |duration| duration.min(MAX_TIMEOUT))
}

/// Whether a timeout was probably meant in seconds: small numbers and whole minutes.
fn looks_like_seconds(number: f64) -> bool {
    number < 100.0 || [120.0, 180.0, 240.0, 300.0, 600.0].contains(&number)
}

fn read_env(read: &mut NodeReader<'_>, object: &Object<'_>) -> Vec<(String, String)> {
    let Some(property) = last_property(object, "env") else { return Vec::new() };
    let Value::Object(variables) = &property.value else {
        read.report_wrong_type("env", &property.value, "an object of strings");
        return Vec::new();
    };
    read.report_duplicate_keys(variables, "env");
    let mut env = Vec::new();
    for variable in &variables.properties {
        let name = variable.name.as_str();
        let value = match &variable.value {
            Value::StringLit(text) => text.value.clone().into_owned(),
            Value::NumberLit(number) => number.value.to_owned(),
            Value::BooleanLit(boolean) => boolean.value.to_string(),
            other => {
                read.report_wrong_type(&format!("env.{name}"), other, "a string");
                continue;
            }
        };
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            let wrong = read.error_at(variable.name.range(), format!("`{name}` can't be an environment variable"));
            read.report(wrong);
            continue;
        }
        env.push((name.to_owned(), value));
    }
    env
}

fn read_locked(read: &mut NodeReader<'_>, layer: &Layer<'_>, object: &Object<'_>) -> bool {
    let locked = read.read_boolean(object, "locked").unwrap_or(false);
    if locked && layer.source != Source::System {
        let wrong = last_property(object, "locked").map(|property| {
            read.warning(&property.value, "only hooks of the system settings can be locked; this has no effect")
        });
        wrong.into_iter().for_each(|wrong| read.report(wrong));
        return false;
    }
    locked
}

/// Reads the role of a hook.
///
/// A hook with a `guard` key is meant to be one, so every value but `false` and `null` counts as true.
fn read_role(read: &mut NodeReader<'_>, kind: EventKind, object: &Object<'_>) -> HookRole {
    let wakes = read.read_boolean(object, "asyncRewake").unwrap_or(false);
    let beside = read.read_boolean(object, "async").unwrap_or(false) || wakes;
    let guard = last_property(object, "guard").filter(|property| !matches!(property.value, Value::NullKeyword(_)));
    let guard = guard.filter(|_| read.read_boolean(object, "guard") != Some(false));
    let is_shadow = read_shadow_mode(read, object);
    let Some(guard) = guard else {
        return match (is_shadow, beside) {
            (true, _) => HookRole::Shadow,
            (false, true) => HookRole::Background,
            (false, false) => HookRole::Ordinary,
        };
    };
    if is_shadow && let Some(property) = last_property(object, "mode") {
        let wrong = read.error(&property.value, "a guard can't be in shadow; this one decides");
        read.report(wrong.help("remove `mode`, or remove `guard` while you watch what it would do"));
    }
    if beside && let Some(property) = last_property(object, if wakes { "asyncRewake" } else { "async" }) {
        let wrong = read.error(&property.value, "a guard can't run in the background; the event waits for this one");
        read.report(wrong.help("remove `async`"));
    }
    if !kind.can(HookCapability::Deny) {
        let text = format!(
            "{kind} can't be denied, so a guard can't block anything here; sessions only check that it is armed"
        );
        let wrong = read.warning(&guard.value, text);
        read.report(wrong);
    }
    HookRole::Guard
}

/// Reads whether a hook is in shadow. A word that is not known leaves the hook as it is: it decides.
fn read_shadow_mode(read: &mut NodeReader<'_>, object: &Object<'_>) -> bool {
    let Some(property) = last_property(object, "mode") else { return false };
    match &property.value {
        Value::NullKeyword(_) => false,
        Value::StringLit(word) if word.value == "shadow" => true,
        Value::StringLit(word) if word.value == "active" => false,
        other => {
            let wrong = read.error(other, "`mode` should be \"shadow\" or \"active\"; this hook decides");
            read.report(wrong.help("in \"shadow\", a hook is asked and recorded and decides nothing"));
            false
        }
    }
}
