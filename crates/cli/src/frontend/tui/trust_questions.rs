//! Questions of trust before a session begins: about a new folder, its notes for agents, broken settings, unarmed
//! guards, and changes to guards.

use std::path::Path;

use hookwright_hooks::{UnarmedGuard, UnarmedReason};
use hookwright_settings::edit::set_value;
use hookwright_settings::trust::{FolderRule, PendingChange, set_folder_trust, trust_changes};
use hookwright_settings::{
    FolderTrust, LoadedConfig, Notice, ProjectContent, ServerSkipReason, record_project_contents,
};

use super::TerminalHandle;
use super::guard_dialog::guard_diff_line;
use super::startup_question::StartupQuestion;
use super::styled_text::{BOLD, DIM, NOTE, StyledLine, WARN};
use crate::output::escape_invisible;

/// The outcome of a question.
pub(crate) enum TrustAnswer {
    /// The question was not asked.
    NotNeeded,
    /// The user's answer is recorded.
    Recorded,
    /// The user left.
    Exit,
}

const FOLDER_RULES: [FolderRule; 3] = [FolderRule::TrustFolder, FolderRule::TrustParent, FolderRule::DoNotTrust];

/// Asks whether to trust the folder, if that is not decided yet.
pub(crate) async fn ask_about_folder(
    loaded: &LoadedConfig,
    hands: Option<&mut TerminalHandle>,
) -> anyhow::Result<TrustAnswer> {
    if loaded.project.trust != FolderTrust::Unknown || loaded.project.root == loaded.paths.home {
        return Ok(TrustAnswer::NotNeeded);
    }
    let question =
        StartupQuestion { lines: folder_question(loaded), answers: folder_answers(loaded).into(), cancel_answer: 2 };
    let Some(chosen) = question.ask(&loaded.process_env, hands).await? else { return Ok(TrustAnswer::Exit) };
    let rule = FOLDER_RULES[chosen];
    // The question listed these contents, so they need no announcement.
    if rule != FolderRule::DoNotTrust
        && let Err(error) = record_project_contents(loaded)
    {
        crate::output::warn(format!("can't record what this project contains: {error}"))?;
    }
    if let Err(error) = set_folder_trust(&loaded.paths, &loaded.project.root, rule) {
        crate::output::warn(format!("your answer could not be saved: {error}"))?;
    }
    Ok(TrustAnswer::Recorded)
}

fn folder_question(loaded: &LoadedConfig) -> Vec<StyledLine> {
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

fn folder_answers(loaded: &LoadedConfig) -> [String; 3] {
    let root = &loaded.project.root;
    let parent = root.parent().unwrap_or(root);
    ["Trust this folder".to_owned(), format!("Trust its parent ({})", parent.display()), "Don't trust it".to_owned()]
}

/// Asks once whether a project's notes for other agents are read here too.
pub(crate) async fn ask_about_notes(
    loaded: &LoadedConfig,
    hands: Option<&mut TerminalHandle>,
) -> anyhow::Result<TrustAnswer> {
    const NOTES_FILE: &str = "AGENTS.md";
    if !loaded.notices.contains(&Notice::UnreadAgentsFile) {
        return Ok(TrustAnswer::NotNeeded);
    }
    let lines = vec![
        StyledLine::styled(BOLD, format!("Read this project's {NOTES_FILE}?")),
        StyledLine::styled(
            DIM,
            "  It holds notes for agents, and the project has no GEMINI.md. What it says becomes instructions.",
        )
        .with_hanging_indent(2),
    ];
    let answers = ["Yes, in this project", "Yes, in all projects", "No"].map(str::to_owned).into();
    let Some(chosen) = (StartupQuestion { lines, answers, cancel_answer: 2 }).ask(&loaded.process_env, hands).await?
    else {
        return Ok(TrustAnswer::Exit);
    };
    let file = match chosen {
        0 => Some(loaded.paths.project_settings(&loaded.project.root)),
        1 => Some(loaded.paths.user_settings.clone()),
        _ => None,
    };
    let names: Vec<&str> = loaded.settings.context.file_names.iter().map(String::as_str).chain([NOTES_FILE]).collect();
    if let Some(file) = file
        && let Err(error) = set_value(&file, &["context", "fileName"], serde_json::json!(names))
    {
        crate::output::warn(format!("your answer could not be saved: {error}"))?;
    }
    // This is asked only once, whatever the answer is.
    if let Err(error) = record_project_contents(loaded) {
        crate::output::warn(format!("can't record what this project contains: {error}"))?;
    }
    Ok(TrustAnswer::Recorded)
}

/// Asks whether to go on without a settings file that cannot be read, and returns whether the user agrees.
pub(crate) async fn ask_about_broken_settings(
    loaded: &LoadedConfig,
    file: &Path,
    hands: Option<&mut TerminalHandle>,
) -> anyhow::Result<bool> {
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
    let answers = vec!["Exit, and correct them first".to_owned(), "Go on without them".to_owned()];
    let chosen = StartupQuestion { lines, answers, cancel_answer: 0 }.ask(&loaded.process_env, hands).await?;
    Ok(chosen == Some(1))
}

/// Asks whether to go on with guards that are not armed, and returns whether the user agrees.
pub(crate) async fn ask_about_guards(
    loaded: &LoadedConfig,
    unarmed: &[UnarmedGuard],
    hands: Option<&mut TerminalHandle>,
) -> anyhow::Result<bool> {
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
    let answers = vec!["Exit, and repair them first".to_owned(), "Go on".to_owned()];
    let chosen = StartupQuestion { lines, answers, cancel_answer: 0 }.ask(&loaded.process_env, hands).await?;
    Ok(chosen == Some(1))
}

/// Asks about changes that an agent made to guards in an earlier session, and records what the user trusts.
pub(crate) async fn ask_about_changes(
    loaded: &LoadedConfig,
    changes: &[PendingChange],
    hands: Option<&mut TerminalHandle>,
) -> anyhow::Result<TrustAnswer> {
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
    let answers = ["Exit, and look at it first", "Go on without trusting it", "Trust it"].map(str::to_owned).into();
    match (StartupQuestion { lines, answers, cancel_answer: 0 }).ask(&loaded.process_env, hands).await? {
        Some(1) => Ok(TrustAnswer::NotNeeded),
        Some(2) => {
            trust_changes(root, &changes.iter().collect::<Vec<_>>())?;
            Ok(TrustAnswer::Recorded)
        }
        _ => Ok(TrustAnswer::Exit),
    }
}
