//! One hook out of its JSON object: command, timeout, failure policy, environment.

use std::time::Duration;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;

use super::node::NodeReader;
use super::{Common, Layer, nearest, when};
use crate::answer::Decision;
use crate::event::{EventKind, Power};
use crate::hook::{Action, CommandAction, Duty, Hook, RuleAction, Source};
use crate::jsonc::{kind_of, last};
use crate::on_error::{FailureAction, OnError};
use crate::run::words::Invocation;
use crate::when::When;

/// The keys of a hook.
pub(super) const HOOK_KEYS: [&str; 16] = [
    "type",
    "command",
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
    "statusMessage",
    "when",
    "decision",
    "reason",
];

/// Reads a hook, or says why there is none.
pub(super) fn read(
    read: &mut NodeReader<'_>,
    layer: &Layer<'_>,
    kind: EventKind,
    object: &Object<'_>,
    common: &Common,
) -> Option<Hook> {
    read.unknown_keys(object, &[&HOOK_KEYS, common.also].concat(), "a hook");
    let kind_of_hook = kind_of_hook(read, object)?;
    check_shell(read, object);
    let when: Vec<When> = common.when.iter().cloned().chain(when::read(read, kind, object)).collect();
    let action = match kind_of_hook {
        KindOfHook::Command => {
            let command = command(read, object)?;
            let mut env = layer.env.clone();
            env.extend(environment(read, object));
            unused(read, object, &["decision", "reason"], "only a rule has it");
            let invocation = Invocation::analyse(&command, &layer.placeholders);
            Action::Command(CommandAction { command, env, invocation })
        }
        KindOfHook::Rule => Action::Rule(rule(read, kind, object, &when)?),
    };
    let name = read.string(object, "name").filter(|name| !name.is_empty());
    let on_error = last(object, "onError").map(|property| on_error(read, property)).unwrap_or_default();
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
        sequential: common.sequential,
        action,
        timeout: timeout(read, object),
        on_error,
        locked: locked(read, layer, object),
        duty: duty(read, kind, object),
        required: false,
        enabled: read.boolean(object, "enabled").unwrap_or(true),
        place: Some(read.source.place(object.range.start)),
    })
}

/// The types of hooks that can be written.
enum KindOfHook {
    Command,
    Rule,
}

fn kind_of_hook(read: &mut NodeReader<'_>, object: &Object<'_>) -> Option<KindOfHook> {
    let Some(property) = last(object, "type") else {
        let wrong = read.error_at(object.range, "a hook needs `type`; this one never runs");
        read.report(wrong.expected("expected \"type\": \"command\""));
        return None;
    };
    match property.value.as_string_lit().map(|text| text.value.as_ref()) {
        Some("command") => Some(KindOfHook::Command),
        Some("rule") => Some(KindOfHook::Rule),
        Some(other) => {
            let wrong = read.error(&property.value, format!("unknown hook type `{other}`; this hook never runs"));
            let help = "the types are \"command\", which runs a program, and \"rule\", which needs none";
            read.report(wrong.expected("expected \"command\"").help(help));
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

fn timeout(read: &mut NodeReader<'_>, object: &Object<'_>) -> Duration {
    let Some(property) = last(object, "timeout") else { return Hook::DEFAULT_TIMEOUT };
    let value = &property.value;
    let default = format!("the default of {} ms is used", Hook::DEFAULT_TIMEOUT.as_millis());
    let Some(number) = value.as_number_lit().and_then(|number| number.value.parse::<f64>().ok()) else {
        let wrong = read.error(value, format!("`timeout` should be a number of milliseconds, not {}", kind_of(value)));
        let quoted = value.as_string_lit().and_then(|text| text.value.trim().parse::<f64>().ok());
        let help = quoted.map_or_else(|| default.clone(), |number| format!("write {number} without quotes; {default}"));
        read.report(wrong.expected("expected a number").help(help));
        return Hook::DEFAULT_TIMEOUT;
    };
    if number <= 0.0 {
        let wrong = read.error(value, format!("a timeout of {number} ms is over before the hook starts"));
        read.report(wrong.expected("expected more than 0").help(default));
        return Hook::DEFAULT_TIMEOUT;
    }
    if meant_in_seconds(number) {
        let text = format!("a timeout of {number} ms looks like seconds; timeouts are in milliseconds");
        let wrong = read.warning(value, text);
        read.report(wrong.help(format!("for {number} seconds, write {}", number * 1000.0)));
    }
    const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);
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
    let beside = read.boolean(object, "async").unwrap_or(false);
    let guard = last(object, "guard").filter(|property| !matches!(property.value, Value::NullKeyword(_)));
    let guard = guard.filter(|_| read.boolean(object, "guard") != Some(false));
    let Some(guard) = guard else { return if beside { Duty::Beside } else { Duty::Ordinary } };
    if beside && let Some(property) = last(object, "async") {
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

/// Keys of other programs that change nothing here, unless they ask for what there is not.
fn check_shell(read: &mut NodeReader<'_>, object: &Object<'_>) {
    read.string(object, "statusMessage");
    if let (Some(shell), Some(property)) = (read.string(object, "shell"), last(object, "shell"))
        && shell != "bash"
    {
        let wrong = read.warning(&property.value, format!("`shell` has no effect; this command is not run by {shell}"));
        read.report(wrong.help("write the shell into the command, as in `zsh -c '…'`"));
    }
}

/// `onError`: one word, or a word by cause.
pub(super) fn on_error(read: &mut NodeReader<'_>, property: &ObjectProp<'_>) -> OnError {
    match &property.value {
        Value::Object(object) => {
            let misspelt = misspelt_causes(read, object);
            let mut action = |name| {
                let meant = || misspelt.iter().find(|(cause, _)| *cause == name).map(|(_, property)| *property);
                last(object, name).or_else(meant).map(|property| failure_action(read, &property.value))
            };
            OnError {
                timeout: action("timeout"),
                exit: action("exit"),
                spawn: action("spawn"),
                output: action("output"),
                resource: action("resource"),
                truncated: action("truncated"),
            }
        }
        value => OnError::all(failure_action(read, value)),
    }
}

/// The keys that are no causes; those that were surely meant as one, with it.
fn misspelt_causes<'o, 't>(
    read: &mut NodeReader<'_>,
    object: &'o Object<'t>,
) -> Vec<(&'static str, &'o ObjectProp<'t>)> {
    const CAUSES: [&str; 6] = ["timeout", "exit", "spawn", "output", "resource", "truncated"];
    read.duplicate_keys(object, "onError");
    let mut misspelt = Vec::new();
    for property in object.properties.iter().filter(|property| !CAUSES.contains(&property.name.as_str())) {
        let name = property.name.as_str();
        let at = property.name.range();
        match nearest(name, CAUSES.into_iter()) {
            Some(cause) => {
                misspelt.push((cause, property));
                let wrong = read.error_at(at, format!("onError has no `{name}`; it counts as `{cause}`"));
                read.report(wrong.help(format!("write `{cause}`")));
            }
            None => {
                let wrong = read.warning_at(at, format!("onError has no `{name}`; it is ignored"));
                read.report(wrong.help(format!("it knows {}", CAUSES.join(", "))));
            }
        }
    }
    misspelt
}

/// Whoever writes `onError` cares about failures: a word that is none is the strictest.
fn failure_action(read: &mut NodeReader<'_>, value: &Value<'_>) -> FailureAction {
    match value.as_string_lit().map(|text| text.value.as_ref()) {
        Some("allow") => FailureAction::Allow,
        Some("block") => FailureAction::Block,
        Some("ask") => FailureAction::Ask,
        _ => {
            let wrong =
                read.error(value, "`onError` should be \"allow\", \"block\" or \"ask\"; it counts as \"block\"");
            read.report(wrong.expected("expected \"allow\", \"block\", \"ask\", or an object by cause"));
            FailureAction::Block
        }
    }
}
