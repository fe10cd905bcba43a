//! Reasons why an event that no hook refuses here might still be refused in a session: hooks that did not run, or a
//! call that can't occur.

use hookwright_agent::session::{ArmedState, HookListEntry};
use hookwright_hooks::{
    EventKind, Layer, MatcherSubject, Severity, UnarmedReason, is_possible_tool, parse_layer, tool_help,
};
use hookwright_settings::{SettingsFile, SettingsFileState, read_settings_file};

use super::LoadedProject;
use crate::output;

/// Returns the reasons.
///
/// A disabled hook is one of them only where no other hook ran: then it is most likely the one that the user means.
pub(super) fn find_caveats(
    toolbox: &LoadedProject,
    event: EventKind,
    subject: Option<&str>,
    asked: bool,
) -> Vec<String> {
    let entries = toolbox.entries();
    let concerned = |entry: &&HookListEntry| {
        let matches = |subject: &str| entry.hook.matcher.matches(subject);
        entry.hook.event == event && subject.is_none_or(matches)
    };
    let mut caveats = Vec::new();
    for file in &toolbox.loaded.files {
        let path = file.path.display();
        match file.state {
            SettingsFileState::Broken => caveats.push(format!(
                "{path} can't be read, so an unattended session would not start{}",
                hook_names_in(file)
                    .map(|names| format!("; it seems to declare {names}, which did not run"))
                    .unwrap_or_default()
            )),
            SettingsFileState::Untrusted if may_declare(file, event) => {
                caveats.push(format!("{path} has hooks for {event} that did not run: this folder is not trusted"));
            }
            SettingsFileState::Untrusted | SettingsFileState::Loaded | SettingsFileState::Missing => {}
        }
    }
    let unarmed: Vec<_> = toolbox
        .unarmed_guards()
        .into_iter()
        .filter(|guard| !matches!(guard.reason, UnarmedReason::FolderUntrusted))
        .collect();
    let said_below = |entry: &&HookListEntry| unarmed.iter().any(|guard| guard.name == entry.hook.id());
    for entry in entries.iter().filter(concerned).filter(|entry| !said_below(entry)) {
        let is_caveat = match entry.state {
            ArmedState::Untrusted(_) => true,
            ArmedState::Disabled(_) => !asked,
            ArmedState::Armed | ArmedState::Shadow | ArmedState::Inert(_) | ArmedState::NeverMatches(_) => false,
        };
        if is_caveat {
            let (name, source) = (output::one_line(entry.hook.id()), &entry.hook.source);
            caveats.push(format!("hook `{name}` ({source}) matches but did not run: it is {}", entry.describe()));
        }
    }
    caveats.extend(unarmed.iter().map(|guard| format!("{guard}; an unattended session would not start")));
    let tool = subject.filter(|_| event.info().subject == MatcherSubject::ToolName);
    if let Some(tool) = tool.filter(|tool| !is_possible_tool(tool)) {
        caveats.push(format!("there is no tool `{}`; {}", output::one_line(tool), tool_help(tool)));
    }
    caveats
}

/// Returns the names of hooks in a file that can't be parsed, as far as a text search finds them.
fn hook_names_in(file: &SettingsFile) -> Option<String> {
    /// A longer list would not be read.
    const MAX_LISTED_NAMES: usize = 8;
    let text = hookwright_disk::read_text(&file.path, 1 << 20).ok()?;
    let named = text.split("\"name\"").skip(1).filter_map(|rest| {
        let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
        let (name, _) = rest.split_once('"')?;
        (!name.is_empty() && name.len() <= 80).then(|| format!("`{}`", output::one_line(name)))
    });
    let names: Vec<String> = named.take(MAX_LISTED_NAMES).collect();
    let noun = if names.len() == 1 { "hook" } else { "hooks" };
    (!names.is_empty()).then(|| format!("{noun} {}", names.join(", ")))
}

/// Whether a file that is not loaded has hooks for an event. A file that can't be parsed may have.
fn may_declare(file: &SettingsFile, event: EventKind) -> bool {
    let text = match read_settings_file(&file.path) {
        Ok(text) => text.unwrap_or_default(),
        Err(_) => return true,
    };
    let declared = parse_layer(&Layer::new(file.source.clone(), &file.path, &text));
    let has = declared.hooks.iter().any(|hook| hook.event == event) || !declared.config.required.is_empty();
    has || declared.diagnostics.iter().any(|one| one.severity == Severity::Error)
}
