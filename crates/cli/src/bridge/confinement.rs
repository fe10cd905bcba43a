//! Calls of another agent that run confined: the command is rewritten so that this program starts it.
//!
//! A rewritten command names the original one first, so that a user whom the agent asks reads that:
//! `HOOKWRIGHT_COMMAND='npm test' hookwright run --plan FILE --command-from HOOKWRIGHT_COMMAND`. Where the agent sends
//! such a command back, hooks see the original one.

use std::ffi::OsString;
use std::path::Path;

use hookwright_agent::{CommandConfiner, protect_files};
use hookwright_bridge::{EventView, Host, HostEvent};
use hookwright_hooks::confinement::{ConfinementLauncher, ConfinementProfile, ConfinementRequest};
use hookwright_hooks::{AnyEvent, Decision, HookCapability, MergedAnswer};
use hookwright_settings::{LoadedConfig, ProcessEnv};
use serde_json::{Map, Value};

use super::evaluation::HookSelection;
use crate::commands::run::confiner;

/// The variable that holds the original command.
const COMMAND_VARIABLE: &str = "HOOKWRIGHT_COMMAND";
const SHELL_TOOL: &str = "run_shell_command";
/// The keys under which agents send the command of a call.
const COMMAND_KEYS: [&str; 3] = ["command", "cmd", "command_line"];

/// Rewrites the commands that hooks want confined. Where that is not possible, the answer stays as it is, which the
/// agent's dialect lowers to a question or a refusal, and says why.
///
/// Returns whether a command was rewritten.
pub(super) fn confine_calls(
    host_event: &HostEvent,
    loaded: &LoadedConfig,
    world: &ProcessEnv,
    selection: HookSelection,
    merged: &mut [MergedAnswer],
) -> bool {
    let is_single = host_event.views.len() == 1;
    let mut is_rewritten = false;
    for (view, answer) in host_event.views.iter().zip(merged) {
        if view.is_recheck || answer.answer.ends_plan() || is_unconfined(answer) {
            continue;
        }
        let command = match can_rewrite(host_event) {
            Err(why) => Err(why),
            Ok(()) if !is_single => Err("it is one of several calls at once".to_owned()),
            Ok(()) if selection == HookSelection::ProjectGuards => {
                Err("a project above this one wants it confined".to_owned())
            }
            Ok(()) => rewritten_command(view, loaded, world, answer),
        };
        match command {
            Ok(command) => {
                answer.answer.tool_input.get_or_insert_default().insert("command".to_owned(), Value::String(command));
                answer.answer.decision.take_if(|decision| *decision == Decision::Confine);
                is_rewritten = true;
            }
            Err(_) if answer.confinements.is_empty() && !answer.requires_enforcement => {}
            Err(why) if answer.confinements.is_empty() => {
                let reason = answer.unenforced_text(&why);
                let answer = &mut answer.answer;
                answer.reason = Some(match answer.reason.take().filter(|_| answer.decision == Some(Decision::Ask)) {
                    Some(asked) => format!("{asked}; {reason}"),
                    None => reason,
                });
                answer.decision = answer.decision.max(Some(Decision::Confine));
            }
            Err(why) => {
                let reason = format!("{}; it can't be confined: {why}", answer.reason_text());
                answer.answer.reason = Some(reason);
            }
        }
    }
    is_rewritten
}

fn is_unconfined(answer: &MergedAnswer) -> bool {
    answer.confinements.is_empty() && answer.enforced.is_empty()
}

/// Whether the agent runs a rewritten command, and lets this program confine it.
fn can_rewrite(host_event: &HostEvent) -> Result<(), String> {
    let title = host_event.host.title();
    let can = |power| host_event.info.is_some_and(|row| row.can(power));
    // Codex runs commands in a sandbox of its own, in which no other can be set up, unless that is switched off.
    let is_bypassed = host_event.session.approval_mode.as_deref() == Some("yolo");
    match host_event.host {
        _ if !can(HookCapability::RewriteInput) => {
            return Err(format!("{title} does not run a changed command here"));
        }
        Host::Codex if !is_bypassed => return Err(format!("the sandbox of {title} does not allow another one in it")),
        Host::Codex => {}
        _ if !can(HookCapability::Confine) => return Err(format!("{title} does not let commands confine themselves")),
        _ => {}
    }
    Ok(())
}

fn rewritten_command(
    view: &EventView,
    loaded: &LoadedConfig,
    world: &ProcessEnv,
    answer: &MergedAnswer,
) -> Result<String, String> {
    let AnyEvent::BeforeTool(event) = &view.event else { return Err("it is no call".to_owned()) };
    let changed = answer.answer.tool_input.as_ref().and_then(|input| input.get("command"));
    let command = changed.or_else(|| event.tool_input.get("command")).and_then(Value::as_str);
    let (SHELL_TOOL, Some(command)) = (event.tool_name.as_ref(), command) else {
        return Err("only commands can be confined".to_owned());
    };
    let confiner = confiner(world).ok_or("the path of this program is not known")?;
    let required = || answer.confinements.iter().chain(&answer.enforced);
    let paths = &loaded.paths;
    let guards = [paths.user_dir.clone(), paths.system_settings.clone(), paths.system_hooks_file()];
    let profiles: Vec<ConfinementProfile> =
        required().map(|one| one.profile.clone()).chain([protect_files(guards)]).collect();
    let request = ConfinementRequest {
        project: loaded.project.root.clone(),
        home: world.home.clone(),
        profiles,
        is_quiet: false,
        is_predicted: required().all(|one| one.is_predicted),
    };
    let words = confiner.launch_words(&request)?;
    wrap_command(&words, command)
}

/// Writes a command so that the launcher runs it.
fn wrap_command(words: &[OsString], command: &str) -> Result<String, String> {
    let [program, run, plan, file, _] = words else { return Err("the launcher is not known".to_owned()) };
    let quoted = [program, run, plan, file].map(|word| word.to_str().map(quote));
    let quoted: Option<Vec<String>> = quoted.into_iter().collect();
    let quoted = quoted.ok_or("the path of this program is not UTF-8")?;
    Ok(format!("{COMMAND_VARIABLE}={} {} --command-from {COMMAND_VARIABLE}", quote_always(command), quoted.join(" ")))
}

/// Replaces rewritten commands in a payload by the original ones.
///
/// That is right whoever wrote them: the command runs as it is, kept to a plan that this program has stored.
pub(super) fn unwrap_commands(payload: &mut Map<String, Value>, world: &ProcessEnv) {
    for (name, value) in payload {
        match value {
            Value::Object(inner) => unwrap_commands(inner, world),
            // Under another name it is no command: a path or a content that looks like one stays what it is.
            Value::String(text) if COMMAND_KEYS.contains(&&**name) && text.starts_with(COMMAND_VARIABLE) => {
                let original = confiner(world).and_then(|confiner| unwrap_command(&confiner, text));
                text.clone_from(&original.unwrap_or_else(|| text.clone()));
            }
            _ => {}
        }
    }
}

/// Returns the original of a command that [`wrap_command`] wrote.
fn unwrap_command(confiner: &CommandConfiner, text: &str) -> Option<String> {
    let quoted = text.strip_prefix(COMMAND_VARIABLE)?.strip_prefix('=')?;
    let (command, rest) = read_quoted(quoted)?;
    let plan = rest.split(" --plan ").nth(1)?.strip_suffix(&format!(" --command-from {COMMAND_VARIABLE}"))?;
    let (plan, _) = read_quoted(plan).unwrap_or_else(|| (plan.to_owned(), ""));
    let words = confiner.words_for_plan(Path::new(&plan))?;
    (wrap_command(&words, &command).ok()? == text).then_some(command)
}

/// Returns the words and the original of a command that [`wrap_command`] wrote, for an agent that starts programs
/// without a shell. The original goes into the variable that is returned last.
pub(crate) fn split_confined_command(text: &str) -> Option<(Vec<String>, String, &'static str)> {
    let (original, rest) = read_quoted(text.strip_prefix(COMMAND_VARIABLE)?.strip_prefix('=')?)?;
    let mut rest = rest.strip_prefix(' ')?;
    let mut words = Vec::new();
    while !rest.is_empty() {
        let (word, behind) = match read_quoted(rest) {
            Some((word, behind)) => (word, behind),
            None => {
                let end = rest.find(' ').unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            }
        };
        words.push(word);
        rest = behind.strip_prefix(' ').unwrap_or(behind);
    }
    Some((words, original, COMMAND_VARIABLE))
}

/// Reads a text in single quotes, and returns what follows.
fn read_quoted(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('\'')?;
    let mut value = String::new();
    loop {
        let (part, behind) = rest.split_once('\'')?;
        value.push_str(part);
        match behind.strip_prefix("\\''") {
            Some(more) => {
                value.push('\'');
                rest = more;
            }
            None => return Some((value, behind)),
        }
    }
}

fn quote(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-+:@%".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { quote_always(word) }
}

fn quote_always(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewritten_command_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let confiner =
            CommandConfiner::new("/opt/it's here/hookwright".into(), vec![folder.path().to_owned()], OsString::new());
        let plan = folder.path().join(format!("{}.json", "a".repeat(64)));
        std::fs::write(&plan, "{}").unwrap();
        let words = confiner.words_for_plan(&plan).unwrap();
        for command in ["npm test", "echo 'it''s'\nls \"$X\"", "", "a\\'b", "HOOKWRIGHT_COMMAND='x' y"] {
            let wrapped = wrap_command(&words, command).unwrap();
            assert_eq!(unwrap_command(&confiner, &wrapped).as_deref(), Some(command), "{wrapped}");
            let (parts, original, variable) = split_confined_command(&wrapped).unwrap();
            assert_eq!((original.as_str(), variable), (command, COMMAND_VARIABLE));
            assert_eq!(parts[0], "/opt/it's here/hookwright");
            assert_eq!((&parts[3], &parts[4]), (&plan.to_str().unwrap().to_owned(), &"--command-from".to_owned()));
            // Another program, another plan, and words before or behind it are not ours.
            for other in [
                wrapped.replace("/opt/", "/tmp/"),
                wrapped.replace("aaaa", "bbbb"),
                format!("{wrapped}; rm -rf /"),
                format!("{wrapped} --network all"),
                format!(" {wrapped}"),
            ] {
                assert_eq!(unwrap_command(&confiner, &other), None, "{other}");
            }
        }
    }
}
