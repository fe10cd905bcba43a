//! The first question in a new folder: whether its own settings, hooks and commands count.

use std::path::Path;

use hookwright_hooks::{Unarmed, WhyUnarmed};
use hookwright_settings::edit::set_value;
use hookwright_settings::trust::{FolderRule, PendingChange, set_folder_trust, trust_changes};
use hookwright_settings::{FolderTrust, Loaded, Notice, Offer, WhyLeftOut, remember_offers};

use super::Hands;
use super::guards::diff_line;
use super::question::Question;
use super::text::{BOLD, DIM, Line, NOTE, WARN};
use crate::out::spelled;

/// What came of it.
pub(crate) enum Asked {
    /// Nobody had to be asked.
    NotNeeded,
    /// The user's word is recorded.
    Answered,
    /// The user left.
    Left,
}

const RULES: [FolderRule; 3] = [FolderRule::TrustFolder, FolderRule::TrustParent, FolderRule::DoNotTrust];

/// Asks about the folder, if nobody has said anything about it yet.
pub(crate) async fn ask(loaded: &Loaded, hands: Option<&mut Hands>) -> anyhow::Result<Asked> {
    if loaded.project.trust != FolderTrust::Unknown || loaded.project.root == loaded.paths.home {
        return Ok(Asked::NotNeeded);
    }
    let question = Question { lines: question(loaded), answers: answers(loaded).into(), no: 2 };
    let Some(chosen) = question.ask(&loaded.world, hands).await? else { return Ok(Asked::Left) };
    let rule = RULES[chosen];
    // What the question listed needs no announcement.
    if rule != FolderRule::DoNotTrust
        && let Err(error) = remember_offers(loaded)
    {
        crate::out::warn(format!("can't remember what this project brings: {error}"))?;
    }
    if let Err(error) = set_folder_trust(&loaded.paths, &loaded.project.root, rule) {
        crate::out::warn(format!("your answer could not be kept: {error}"))?;
    }
    Ok(Asked::Answered)
}

fn question(loaded: &Loaded) -> Vec<Line> {
    let root = &loaded.project.root;
    let mut lines = vec![
        Line::of(BOLD, "Do you want to trust this folder?"),
        Line::of(NOTE, format!("  {}", root.display())).hanging(2),
        Line::of(
            DIM,
            "  Only then its settings, hooks, commands, skills, agents and .env are loaded. Hooks run programs.",
        )
        .hanging(2),
    ];
    let off = loaded.mcp_servers().left_out.into_iter().filter(|one| one.why == WhyLeftOut::Untrusted);
    let off: Vec<String> = off.map(|one| spelled(&one.name).replace('\n', " ")).collect();
    if !off.is_empty() {
        let text = format!("  Until then no MCP server is started, yours included: {}.", off.join(", "));
        lines.push(Line::of(DIM, text).hanging(2));
    }
    for notice in &loaded.notices {
        if let Notice::ProjectNotTrusted { ignored, .. } = notice {
            let names: Vec<String> =
                ignored.iter().map(|path| path.strip_prefix(root).unwrap_or(path).display().to_string()).collect();
            lines.push(Line::of(WARN, format!("  It has {}.", names.join(", "))).hanging(2));
        }
    }
    lines.extend(offers(loaded).into_iter().map(|line| Line::of(WARN, format!("  {line}")).hanging(4)));
    lines
}

/// What the folder brings that runs or opens something, a line for each kind.
pub(crate) fn offers(loaded: &Loaded) -> Vec<String> {
    const MOST: usize = 8;
    let line = |offer: &Offer| {
        let shown: Vec<String> = offer.items.keys().take(MOST).map(|item| spelled(item).replace('\n', " ")).collect();
        let more = offer.items.len().saturating_sub(MOST);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("{}: {}{more}", offer.what, shown.join("; "))
    };
    loaded.offers.iter().map(line).collect()
}

fn answers(loaded: &Loaded) -> [String; 3] {
    let root = &loaded.project.root;
    let parent = root.parent().unwrap_or(root);
    ["Trust this folder".to_owned(), format!("Trust its parent ({})", parent.display()), "Don't trust it".to_owned()]
}

/// Asks once whether a project's notes for other agents are read here too.
pub(crate) async fn ask_about_notes(loaded: &Loaded, hands: Option<&mut Hands>) -> anyhow::Result<Asked> {
    const NOTES: &str = "AGENTS.md";
    if !loaded.notices.contains(&Notice::NotesForOthers) {
        return Ok(Asked::NotNeeded);
    }
    let lines = vec![
        Line::of(BOLD, format!("Read this project's {NOTES}?")),
        Line::of(
            DIM,
            "  It holds notes for agents, and the project has no GEMINI.md. What it says becomes instructions.",
        )
        .hanging(2),
    ];
    let answers = ["Yes, in this project", "Yes, in all projects", "No"].map(str::to_owned).into();
    let Some(chosen) = (Question { lines, answers, no: 2 }).ask(&loaded.world, hands).await? else {
        return Ok(Asked::Left);
    };
    let file = match chosen {
        0 => Some(loaded.paths.project_settings(&loaded.project.root)),
        1 => Some(loaded.paths.user_settings.clone()),
        _ => None,
    };
    let names: Vec<&str> = loaded.settings.context.file_names.iter().map(String::as_str).chain([NOTES]).collect();
    if let Some(file) = file
        && let Err(error) = set_value(&file, &["context", "fileName"], serde_json::json!(names))
    {
        crate::out::warn(format!("your answer could not be kept: {error}"))?;
    }
    // Whatever the answer is, this is asked once.
    if let Err(error) = remember_offers(loaded) {
        crate::out::warn(format!("can't remember what this project brings: {error}"))?;
    }
    Ok(Asked::Answered)
}

/// Asks whether to go on without a settings file that can't be read; whether the user wants to.
pub(crate) async fn ask_about_broken(loaded: &Loaded, file: &Path, hands: Option<&mut Hands>) -> anyhow::Result<bool> {
    let mut lines = vec![
        Line::of(BOLD, "Go on without these settings?"),
        Line::of(WARN, format!("  {} can't be read, so guards in it are off.", file.display())).hanging(2),
        Line::of(DIM, "  If you go on, nothing runs unasked that would not by default.").hanging(2),
    ];
    for diagnostic in loaded.registry.diagnostics().iter().filter(|diagnostic| diagnostic.file == *file) {
        lines.push(Line::of(DIM, format!("  {diagnostic}")).hanging(2));
    }
    let answers = vec!["Leave, and correct them first".to_owned(), "Go on without them".to_owned()];
    let chosen = Question { lines, answers, no: 0 }.ask(&loaded.world, hands).await?;
    Ok(chosen == Some(1))
}

/// Asks whether to go on although guards would not do their work; whether the user wants to.
pub(crate) async fn ask_about_guards(
    loaded: &Loaded,
    unarmed: &[Unarmed],
    hands: Option<&mut Hands>,
) -> anyhow::Result<bool> {
    /// More than this nobody reads.
    const MOST: usize = 8;
    let mut lines = vec![Line::of(BOLD, "Go on with guards that are not armed?")];
    for guard in unarmed.iter().take(MOST) {
        lines.push(Line::of(WARN, format!("  {guard}")).hanging(4));
        lines.push(Line::of(DIM, format!("    {}", guard.advice())).hanging(4));
    }
    if unarmed.len() > MOST {
        lines.push(Line::of(WARN, format!("  and {} more", unarmed.len() - MOST)));
    }
    let broken =
        |file: &Path| unarmed.iter().any(|one| one.file.as_deref() == Some(file) && one.why == WhyUnarmed::FileBroken);
    for diagnostic in loaded.registry.diagnostics().iter().filter(|diagnostic| broken(&diagnostic.file)) {
        lines.push(Line::of(DIM, format!("  {diagnostic}")).hanging(2));
    }
    let then = "  If you go on, nothing runs unasked that would not by default. A guard that can't start, or that waits for \
                your trust, refuses what it should judge; the others are off.";
    lines.push(Line::of(DIM, then).hanging(2));
    let answers = vec!["Leave, and see to them first".to_owned(), "Go on".to_owned()];
    let chosen = Question { lines, answers, no: 0 }.ask(&loaded.world, hands).await?;
    Ok(chosen == Some(1))
}

/// Asks about what an agent changed of the guards in an earlier session; what was trusted is on record.
pub(crate) async fn ask_about_changes(
    loaded: &Loaded,
    changes: &[PendingChange],
    hands: Option<&mut Hands>,
) -> anyhow::Result<Asked> {
    let mut lines = vec![Line::of(BOLD, "Trust what an agent changed of your guards?")];
    let root = &loaded.project.root;
    for change in changes {
        let path = &change.file.path;
        lines.push(Line::of(WARN, format!("  {}", path.strip_prefix(root).unwrap_or(path).display())).hanging(2));
        lines.extend(change.diff.as_deref().unwrap_or_default().lines().take(30).map(diff_line));
    }
    let text = "  While you do not, hooks that depend on it or were taken away deny what they can, and nothing runs unasked that would \
                not by default.";
    lines.push(Line::of(DIM, text).hanging(2));
    let answers = ["Leave, and look at it first", "Go on without trusting it", "Trust it"].map(str::to_owned).into();
    match (Question { lines, answers, no: 0 }).ask(&loaded.world, hands).await? {
        Some(1) => Ok(Asked::NotNeeded),
        Some(2) => {
            trust_changes(root, &changes.iter().collect::<Vec<_>>())?;
            Ok(Asked::Answered)
        }
        _ => Ok(Asked::Left),
    }
}
