//! The questions before a session starts, as text: about a new folder, its notes for agents, broken settings, unarmed
//! guards, changes to guards, and earlier sessions.
//!
//! Contains no drawing code.

use std::path::Path;

use hookwright_agent::session::{AGENTS_FILE, OpeningChoice, OpeningQuestion};
use hookwright_hooks::{UnarmedGuard, UnarmedReason};
use hookwright_settings::trust::{FolderRule, PendingChange};
use hookwright_settings::{LoadedConfig, Notice, ProjectContent, ServerSkipReason};

use super::diff::guard_diff_line;
use super::reply_text::session_line;
use super::styled_text::{BOLD, DIM, NOTE, StyledLine, WARN};
use crate::output::escape_invisible;

/// Returns the lines of a question.
pub(crate) fn question_lines(question: &OpeningQuestion, loaded: &LoadedConfig) -> Vec<StyledLine> {
    match question {
        OpeningQuestion::FolderTrust => folder_lines(loaded),
        OpeningQuestion::BrokenSettings(file) => broken_settings_lines(loaded, file),
        OpeningQuestion::GuardChanges(changes) => guard_change_lines(loaded, changes),
        OpeningQuestion::AgentsFile => agents_file_lines(),
        OpeningQuestion::UnarmedGuards(unarmed) => unarmed_guard_lines(loaded, unarmed),
        OpeningQuestion::Resume(_) => vec![StyledLine::styled(BOLD, "Which conversation do you want to go on with?")],
    }
}

/// Returns the text of an answer.
pub(crate) fn choice_text(question: &OpeningQuestion, choice: &OpeningChoice, loaded: &LoadedConfig) -> String {
    let root = &loaded.project.root;
    let text = match (question, choice) {
        (_, OpeningChoice::Folder(FolderRule::TrustFolder)) => "Trust this folder",
        (_, OpeningChoice::Folder(FolderRule::TrustParent)) => {
            return format!("Trust its parent ({})", root.parent().unwrap_or(root).display());
        }
        (_, OpeningChoice::Folder(FolderRule::DoNotTrust)) => "Don't trust it",
        (OpeningQuestion::BrokenSettings(_), OpeningChoice::Leave) => "Exit, and correct them first",
        (OpeningQuestion::BrokenSettings(_), OpeningChoice::Continue) => "Go on without them",
        (OpeningQuestion::GuardChanges(_), OpeningChoice::Leave) => "Exit, and look at it first",
        (OpeningQuestion::GuardChanges(_), OpeningChoice::Continue) => "Go on without trusting it",
        (_, OpeningChoice::TrustChanges) => "Trust it",
        (_, OpeningChoice::ReadInProject) => "Yes, in this project",
        (_, OpeningChoice::ReadEverywhere) => "Yes, in all projects",
        (_, OpeningChoice::DoNotRead) => "No",
        (_, OpeningChoice::Leave) => "Exit, and repair them first",
        (_, OpeningChoice::Continue) => "Go on",
        (OpeningQuestion::Resume(sessions), OpeningChoice::Resume(id)) => {
            return sessions.iter().find(|one| one.id == *id).map_or_else(|| id.clone(), session_line);
        }
        (_, OpeningChoice::Resume(id)) => id,
        (_, OpeningChoice::NewConversation) => "Begin a new conversation",
    };
    text.to_owned()
}

fn folder_lines(loaded: &LoadedConfig) -> Vec<StyledLine> {
    let root = &loaded.project.root;
    let mut lines = vec![
        StyledLine::styled(BOLD, "Do you want to trust this folder?"),
        StyledLine::styled(NOTE, format!("  {}", root.display())).with_hanging_indent(2),
        StyledLine::styled(
            DIM,
            "  Only then its settings, hooks, commands, skills, agents and .env are loaded. Hooks run programs.",
        )
        .with_hanging_indent(2),
    ];
    let off = loaded.mcp_servers().skipped.into_iter().filter(|one| one.reason == ServerSkipReason::Untrusted);
    let off: Vec<String> = off.map(|one| escape_invisible(&one.name).replace('\n', " ")).collect();
    if !off.is_empty() {
        let text = format!("  Until then no MCP server is started, yours included: {}.", off.join(", "));
        lines.push(StyledLine::styled(DIM, text).with_hanging_indent(2));
    }
    for notice in &loaded.notices {
        if let Notice::ProjectNotTrusted { ignored, .. } = notice {
            let names: Vec<String> =
                ignored.iter().map(|path| path.strip_prefix(root).unwrap_or(path).display().to_string()).collect();
            lines.push(StyledLine::styled(WARN, format!("  It has {}.", names.join(", "))).with_hanging_indent(2));
        }
    }
    lines.extend(
        project_contents(loaded)
            .into_iter()
            .map(|line| StyledLine::styled(WARN, format!("  {line}")).with_hanging_indent(4)),
    );
    lines
}

/// Returns the folder's contents that run or open something, with a line for each kind.
pub(crate) fn project_contents(loaded: &LoadedConfig) -> Vec<String> {
    const MAX_LISTED_ITEMS: usize = 8;
    let line = |offer: &ProjectContent| {
        let shown: Vec<String> =
            offer.items.keys().take(MAX_LISTED_ITEMS).map(|item| escape_invisible(item).replace('\n', " ")).collect();
        let more = offer.items.len().saturating_sub(MAX_LISTED_ITEMS);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("{}: {}{more}", offer.kind, shown.join("; "))
    };
    loaded.project_contents.iter().map(line).collect()
}

fn agents_file_lines() -> Vec<StyledLine> {
    vec![
        StyledLine::styled(BOLD, format!("Read this project's {AGENTS_FILE}?")),
        StyledLine::styled(
            DIM,
            "  It holds notes for agents, and the project has no GEMINI.md. What it says becomes instructions.",
        )
        .with_hanging_indent(2),
    ]
}

fn broken_settings_lines(loaded: &LoadedConfig, file: &Path) -> Vec<StyledLine> {
    let mut lines = vec![
        StyledLine::styled(BOLD, "Go on without these settings?"),
        StyledLine::styled(WARN, format!("  {} can't be read, so guards in it are off.", file.display()))
            .with_hanging_indent(2),
        StyledLine::styled(DIM, "  If you go on, `auto_edit` and `yolo` are off: tools ask as in the default mode.")
            .with_hanging_indent(2),
    ];
    for diagnostic in loaded.registry.diagnostics().iter().filter(|diagnostic| diagnostic.file == *file) {
        lines.push(StyledLine::styled(DIM, format!("  {diagnostic}")).with_hanging_indent(2));
    }
    lines
}

fn unarmed_guard_lines(loaded: &LoadedConfig, unarmed: &[UnarmedGuard]) -> Vec<StyledLine> {
    /// The number of guards listed one by one.
    const MAX_LISTED_GUARDS: usize = 8;
    let mut lines = vec![StyledLine::styled(BOLD, "Go on with guards that are not armed?")];
    for guard in unarmed.iter().take(MAX_LISTED_GUARDS) {
        lines.push(StyledLine::styled(WARN, format!("  {guard}")).with_hanging_indent(4));
        lines.push(StyledLine::styled(DIM, format!("    {}", guard.advice())).with_hanging_indent(4));
    }
    if unarmed.len() > MAX_LISTED_GUARDS {
        lines.push(StyledLine::styled(WARN, format!("  and {} more", unarmed.len() - MAX_LISTED_GUARDS)));
    }
    let broken = |file: &Path| {
        unarmed.iter().any(|one| one.file.as_deref() == Some(file) && one.reason == UnarmedReason::FileBroken)
    };
    for diagnostic in loaded.registry.diagnostics().iter().filter(|diagnostic| broken(&diagnostic.file)) {
        lines.push(StyledLine::styled(DIM, format!("  {diagnostic}")).with_hanging_indent(2));
    }
    let then = "  If you go on, `auto_edit` and `yolo` are off. A guard that can't start, or that waits for \
                your trust, refuses every call it should check; other unarmed guards do not run.";
    lines.push(StyledLine::styled(DIM, then).with_hanging_indent(2));
    lines
}

fn guard_change_lines(loaded: &LoadedConfig, changes: &[PendingChange]) -> Vec<StyledLine> {
    let mut lines = vec![StyledLine::styled(BOLD, "Trust the changes that an agent made to your guards?")];
    let root = &loaded.project.root;
    for change in changes {
        let path = &change.file.path;
        lines.push(
            StyledLine::styled(WARN, format!("  {}", path.strip_prefix(root).unwrap_or(path).display()))
                .with_hanging_indent(2),
        );
        lines.extend(change.diff.as_deref().unwrap_or_default().lines().take(30).map(guard_diff_line));
    }
    let text = "  Until you do, hooks that depend on it or were removed deny every call they can, and \
                `auto_edit` and `yolo` are off.";
    lines.push(StyledLine::styled(DIM, text).with_hanging_indent(2));
    lines
}
