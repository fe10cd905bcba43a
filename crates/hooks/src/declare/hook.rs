//! One hook out of its JSON object: command, timeout, failure policy, environment.

use std::time::Duration;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;

use super::FileKind;
use super::failures::{on_error, on_failure};
use super::node::NodeReader;
use super::{Common, Layer, Part, chunks, http, plugin, when, worker};
use crate::answer::Decision;
use crate::dialect::claude::{self, CallEnd, Whose};
use crate::dialect::{Condition, Dialect};
use crate::event::{EventKind, Power, Subject};
use crate::hook::{Action, CommandAction, Duty, Hook, Occasion, RuleAction, Source, WorkerAction};
use crate::jsonc::{kind_of, last};
use crate::near::nearest;
use crate::on_error::OnError;
use crate::run::words::{Invocation, joined};
use crate::when::When;

/// The keys of a hook.
pub(super) const HOOK_KEYS: [&str; 32] = [
    "type",
    "command",
    "args",
    "dialect",
    "name",
    "description",
    "timeout",
    "env",
    "onError",
    "locked",
    "guard",
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

/// Reads a hook, or says why there is none.
pub(super) fn read(
    read: &mut NodeReader<'_>,
    layer: &Layer<'_>,
    kind: EventKind,
    object: &Object<'_>,
    common: &Common,
) -> Option<Hook> {
    let kind_of_hook = kind_of_hook(read, layer, object)?;
    read.unknown_keys(object, &[&HOOK_KEYS, common.also].concat(), "a hook");
    let when: Vec<When> = common.when.iter().cloned().chain(when::read(read, kind, object)).collect();
    let dialect = dialect(read, layer, kind, object)?;
    let action = match kind_of_hook {
        KindOfHook::Command => {
            unused(read, object, &worker::KEYS, "only a worker has it");
            unused(read, object, &["package"], "only a plugin has it");
            unused(read, object, &http::KEYS, "only a hook of type \"http\" has it");
            Action::Command(command_action(read, layer, object, dialect)?)
        }
        KindOfHook::Worker => {
            unused(read, object, &["package"], "only a plugin has it");
            unused(read, object, &http::KEYS, "only a hook of type \"http\" has it");
            let command = command_action(read, layer, object, dialect)?;
            Action::Worker(WorkerAction { command, package: None, upkeep: worker::upkeep(read, object) })
        }
        KindOfHook::Plugin => {
            unused(read, object, &["command", "args", "shell", "decision", "reason"], "a plugin is a package");
            unused(read, object, &http::KEYS, "only a hook of type \"http\" has it");
            if dialect != Dialect::Gemini
                && let Some(property) = last(object, "dialect")
            {
                let wrong = read.error(&property.value, "a plugin speaks Gemini CLI's words; this hook never runs");
                read.report(wrong.help("leave `dialect` out"));
                return None;
            }
            let env = layer.env.iter().cloned().chain(environment(read, object)).collect();
            Action::Worker(plugin::read(read, layer, object, env)?)
        }
        KindOfHook::Http => {
            unused(read, object, &["command", "args", "env", "decision", "reason"], "a service runs no program");
            unused(read, object, &worker::KEYS, "only a worker has it");
            Action::Http(http::read(read, object, dialect)?)
        }
        KindOfHook::Rule => Action::Rule(rule(read, kind, object, &when)?),
    };
    let name = read.string(object, "name").filter(|name| !name.is_empty());
    let on_error = last(object, "onError").map(|property| on_error(read, property)).unwrap_or_default();
    let on_error = on_error.or(on_failure(read, object));
    if on_error != OnError::default() && !kind.can(Power::Deny) {
        let wrong = last(object, "onError").map(|property| {
            read.warning(&property.value, format!("{kind} can't be denied, so `onError` has no effect here"))
        });
        wrong.into_iter().for_each(|wrong| read.report(wrong.help("remove `onError`")));
    }
    Some(Hook {
        event: kind,
        source: layer.source.clone(),
        name,
        description: read.string(object, "description"),
        matcher: common.matcher.clone(),
        matcher_text: common.matcher_text.clone(),
        when,
        occasion: occasion(read, kind, object, common.part),
        sequential: common.sequential,
        chunks: chunks::read(read, kind, object),
        action,
        timeout: match layer.kind {
            FileKind::Claude => seconds(read, kind, object),
            FileKind::Settings | FileKind::Hooks => timeout(read, object, default_timeout(kind, dialect)),
        },
        on_error,
        locked: locked(read, layer, object),
        duty: duty(read, kind, object),
        required: false,
        enabled: read.boolean(object, "enabled").unwrap_or(true),
        place: Some(read.source.place(object.range.start)),
    })
}

/// In whose words it is spoken to and answers. Nobody can be spoken to of an event in words that have none for it.
fn dialect(read: &mut NodeReader<'_>, layer: &Layer<'_>, kind: EventKind, object: &Object<'_>) -> Option<Dialect> {
    let property = last(object, "dialect").filter(|property| !matches!(property.value, Value::NullKeyword(_)));
    let Some(property) = property else { return Some(layer.kind.dialect()) };
    let word = property.value.as_string_lit().map(|text| text.value.clone().into_owned());
    let Some(dialect) = word.as_deref().and_then(Dialect::from_name) else {
        let names = Dialect::ALL.map(Dialect::as_str);
        let text = "`dialect` should be \"gemini\" or \"claude\"; nobody can speak to this hook, and it never runs";
        let wrong = read.error(&property.value, text);
        let near = word.as_deref().and_then(|word| nearest(word, names.into_iter()));
        read.report(match near {
            Some(near) => wrong.help(format!("did you mean `{near}`?")),
            None => wrong.help("\"gemini\" is the dialect of this file where nothing is said"),
        });
        return None;
    };
    if dialect == Dialect::Claude && claude::event_name(kind, Whose::Session).is_none() {
        let text = format!("Claude Code has no event like {kind}, so that a hook in its dialect never runs");
        let wrong = read.error(&property.value, text);
        read.report(wrong.help("leave `dialect` out, and answer in Gemini CLI's words"));
        return None;
    }
    Some(dialect)
}

/// The types of hooks that can be written.
enum KindOfHook {
    Command,
    Worker,
    Plugin,
    Http,
    Rule,
}

fn kind_of_hook(read: &mut NodeReader<'_>, layer: &Layer<'_>, object: &Object<'_>) -> Option<KindOfHook> {
    let Some(property) = last(object, "type") else {
        let wrong = read.error_at(object.range, "a hook needs `type`; this one never runs");
        read.report(wrong.expected("expected \"type\": \"command\""));
        return None;
    };
    match property.value.as_string_lit().map(|text| text.value.as_ref()) {
        Some("command") => Some(KindOfHook::Command),
        Some("worker") if layer.kind != FileKind::Claude => Some(KindOfHook::Worker),
        Some("plugin") if layer.kind != FileKind::Claude => Some(KindOfHook::Plugin),
        Some("http") => Some(KindOfHook::Http),
        Some("rule") => Some(KindOfHook::Rule),
        Some(other) if layer.kind == FileKind::Claude => {
            let text = format!("hooks of type `{other}` do not run here; this one never does");
            let wrong = read.warning(&property.value, text);
            read.report(wrong.expected("only \"command\" and \"http\" do"));
            None
        }
        Some(other) => {
            let wrong = read.error(&property.value, format!("unknown hook type `{other}`; this hook never runs"));
            let help = "the types are \"command\", which runs a program, \"worker\", which asks one that stays, \"plugin\", which asks a package for node, \"http\", which asks \
                        a service, and \"rule\", which needs none";
            let near = nearest(other, ["command", "worker", "plugin", "http", "rule"].into_iter()).unwrap_or("command");
            read.report(wrong.expected(format!("expected \"{near}\"")).help(help));
            None
        }
        None => {
            read.wrong_type("type", &property.value, "\"command\"");
            None
        }
    }
}

/// Keys that say nothing in this kind of hook.
fn unused(read: &mut NodeReader<'_>, object: &Object<'_>, keys: &[&str], why: &str) {
    for property in keys.iter().filter_map(|key| last(object, key)) {
        let text = format!("`{}` has no effect here; {why}", property.name.as_str());
        let wrong = read.warning_at(property.name.range(), text);
        read.report(wrong.help("remove it"));
    }
}

/// A rule's answer. Whoever writes one wants something stopped: a decision that is none is a deny.
fn rule(read: &mut NodeReader<'_>, kind: EventKind, object: &Object<'_>, when: &[When]) -> Option<RuleAction> {
    if !kind.can(Power::Deny) {
        let wrong = read.error_at(object.range, format!("{kind} can't be denied, so a rule has no effect here"));
        read.report(wrong.help("rules work on events that can be denied, such as BeforeTool"));
        return None;
    }
    unused(read, object, &["command", "env", "timeout", "async"], "a rule runs no program");
    unused(read, object, &worker::KEYS, "only a worker has it");
    unused(read, object, &http::KEYS, "only a hook of type \"http\" has it");
    let decision = match last(object, "decision").map(|property| &property.value) {
        Some(Value::StringLit(word)) if matches!(word.value.as_ref(), "deny" | "block") => Decision::Deny,
        Some(Value::StringLit(word)) if word.value == "ask" => Decision::Ask,
        other => {
            let text = "a rule's `decision` should be \"deny\" or \"ask\"; it counts as \"deny\"";
            let wrong = read.error_at(other.map_or(object.range, Ranged::range), text);
            read.report(wrong.expected("expected \"decision\": \"deny\" or \"ask\""));
            Decision::Deny
        }
    };
    let reason = read.string(object, "reason").filter(|reason| !reason.trim().is_empty());
    let reason = reason.unwrap_or_else(|| match read.string(object, "name").filter(|name| !name.is_empty()) {
        Some(name) => format!("the rule `{name}` says so"),
        None => "a rule of this configuration says so".to_owned(),
    });
    let wants_unsure = when.iter().any(When::wants_unsure);
    Some(RuleAction { decision, reason, wants_unsure })
}

/// The command of a hook that runs one.
fn command_action(
    read: &mut NodeReader<'_>,
    layer: &Layer<'_>,
    object: &Object<'_>,
    dialect: Dialect,
) -> Option<CommandAction> {
    let command = command(read, object)?;
    let command = in_its_form(read, object, command);
    let mut env = layer.env.clone();
    env.extend(environment(read, object));
    unused(read, object, &["decision", "reason"], "only a rule has it");
    let invocation = Invocation::analyse(&command, &layer.placeholders);
    Some(CommandAction { command, env, dialect, invocation })
}

fn command(read: &mut NodeReader<'_>, object: &Object<'_>) -> Option<String> {
    let Some(property) = last(object, "command") else {
        let wrong = read.error_at(object.range, "a hook needs `command`; this one never runs");
        read.report(wrong.expected("expected \"command\": \"…\""));
        return None;
    };
    let Value::StringLit(command) = &property.value else {
        read.wrong_type("command", &property.value, "a string");
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

/// `args` make of the command a program that is started with just these; otherwise a shell may be named for it.
fn in_its_form(read: &mut NodeReader<'_>, object: &Object<'_>, command: String) -> String {
    read.string(object, "statusMessage");
    let shell = read.string(object, "shell").zip(last(object, "shell"));
    if last(object, "args").is_some_and(|property| !matches!(property.value, Value::NullKeyword(_))) {
        let args = read.strings(object, "args");
        return joined(command.trim(), &args);
    }
    match shell {
        Some((name, _)) if name == "powershell" || name == "pwsh" => {
            let before = ["-NoProfile", "-NonInteractive", "-Command"].map(str::to_owned);
            joined("pwsh", &[before.as_slice(), &[command]].concat())
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

/// When it runs of the times that its matcher lets it.
fn occasion(read: &mut NodeReader<'_>, kind: EventKind, object: &Object<'_>, part: Part) -> Occasion {
    let mut only_if = None;
    if let (Some(text), Some(property)) = (read.string(object, "if"), last(object, "if")) {
        only_if = Condition::parse(&text).filter(|_| kind.info().subject == Subject::ToolName);
        if only_if.is_none() {
            let wrong = read.warning(&property.value, "`if` can't be evaluated here; this hook runs every time");
            read.report(wrong.help("on tool events, write a rule such as \"Bash(git *)\""));
        }
    }
    let mut once = read.boolean(object, "once").unwrap_or(false);
    let is_guard =
        last(object, "guard").is_some_and(|guard| !matches!(guard.value.as_boolean_lit(), Some(no) if !no.value));
    if once
        && is_guard
        && let Some(property) = last(object, "once")
    {
        let wrong =
            read.error(&property.value, "a guard that runs once is asleep afterwards; this one runs every time");
        read.report(wrong.help("remove `once`"));
        once = false;
    }
    // A guard of results is one of all results.
    let after = result(read, kind, object).or(part.after.filter(|end| !is_guard || *end == CallEnd::Failed));
    Occasion { only_if, once, whose: part.whose, after }
}

/// After which calls alone it runs, if it says.
fn result(read: &mut NodeReader<'_>, kind: EventKind, object: &Object<'_>) -> Option<CallEnd> {
    let (word, property) = read.string(object, "result").zip(last(object, "result"))?;
    let end = match word.as_str() {
        "failed" => Some(CallEnd::Failed),
        "succeeded" => Some(CallEnd::Succeeded),
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

/// The longest time that anybody means.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// A timeout as Claude Code's files have it.
fn seconds(read: &mut NodeReader<'_>, kind: EventKind, object: &Object<'_>) -> Duration {
    let default = claude::default_timeout(kind);
    let Some(property) = last(object, "timeout") else { return default };
    let number = property.value.as_number_lit().and_then(|number| number.value.parse::<f64>().ok());
    let Some(number) = number.filter(|number| *number > 0.0) else {
        let wrong = read.error(&property.value, "`timeout` should be a number of seconds, more than 0");
        read.report(wrong.help(format!("the default of {} s is used", default.as_secs())));
        return default;
    };
    if claude::meant_in_milliseconds(number) {
        let text = format!("a timeout of {number} s looks like milliseconds; timeouts are in seconds in this file");
        let wrong = read.warning(&property.value, text);
        read.report(wrong.help(format!("for {number} ms, write {}", number / 1000.0)));
    }
    Duration::try_from_secs_f64(number).map_or(LONGEST, |duration| duration.min(LONGEST))
}

fn timeout(read: &mut NodeReader<'_>, object: &Object<'_>, otherwise: Duration) -> Duration {
    let Some(property) = last(object, "timeout") else { return otherwise };
    let value = &property.value;
    let default = format!("the default of {} ms is used", otherwise.as_millis());
    let Some(number) = value.as_number_lit().and_then(|number| number.value.parse::<f64>().ok()) else {
        let wrong = read.error(value, format!("`timeout` should be a number of milliseconds, not {}", kind_of(value)));
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
    if meant_in_seconds(number) {
        let text = format!("a timeout of {number} ms looks like seconds; timeouts are in milliseconds");
        let wrong = read.warning(value, text);
        read.report(wrong.help(format!("for {number} seconds, write {}", number * 1000.0)));
    }
    Duration::try_from_secs_f64(number / 1000.0).map_or(LONGEST, |duration| duration.min(LONGEST))
}

/// Small numbers, and round numbers of minutes, are what people write who think in seconds.
fn meant_in_seconds(number: f64) -> bool {
    number < 100.0 || [120.0, 180.0, 240.0, 300.0, 600.0].contains(&number)
}

fn environment(read: &mut NodeReader<'_>, object: &Object<'_>) -> Vec<(String, String)> {
    let Some(property) = last(object, "env") else { return Vec::new() };
    let Value::Object(variables) = &property.value else {
        read.wrong_type("env", &property.value, "an object of strings");
        return Vec::new();
    };
    read.duplicate_keys(variables, "env");
    let mut env = Vec::new();
    for variable in &variables.properties {
        let name = variable.name.as_str();
        let value = match &variable.value {
            Value::StringLit(text) => text.value.clone().into_owned(),
            Value::NumberLit(number) => number.value.to_owned(),
            Value::BooleanLit(boolean) => boolean.value.to_string(),
            other => {
                read.wrong_type(&format!("env.{name}"), other, "a string");
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

fn locked(read: &mut NodeReader<'_>, layer: &Layer<'_>, object: &Object<'_>) -> bool {
    let locked = read.boolean(object, "locked").unwrap_or(false);
    if locked && layer.source != Source::System {
        let wrong = last(object, "locked").map(|property| {
            read.warning(&property.value, "only hooks of the system settings can be locked; this has no effect")
        });
        wrong.into_iter().for_each(|wrong| read.report(wrong));
        return false;
    }
    locked
}

/// What is expected of a hook. Whoever writes `guard` wants one: anything but a plain no is a yes.
fn duty(read: &mut NodeReader<'_>, kind: EventKind, object: &Object<'_>) -> Duty {
    let wakes = read.boolean(object, "asyncRewake").unwrap_or(false);
    let beside = read.boolean(object, "async").unwrap_or(false) || wakes;
    let guard = last(object, "guard").filter(|property| !matches!(property.value, Value::NullKeyword(_)));
    let guard = guard.filter(|_| read.boolean(object, "guard") != Some(false));
    let Some(guard) = guard else { return if beside { Duty::Beside } else { Duty::Ordinary } };
    if beside && let Some(property) = last(object, if wakes { "asyncRewake" } else { "async" }) {
        let wrong = read.error(&property.value, "a guard can't run beside its event; this one is waited for");
        read.report(wrong.help("remove `async`"));
    }
    if !kind.can(Power::Deny) {
        let text =
            format!("{kind} can't be denied, so a guard can't block anything here; sessions only see that it is armed");
        let wrong = read.warning(&guard.value, text);
        read.report(wrong);
    }
    Duty::Guard
}
