//! What a restore would do to files, as text.

use hookwright_agent::checkpoint::{FileRestoreAction, PlannedChange, RestorePlan};

use super::humanize::format_age;
use super::styled_text::{BAD, DIM, GOOD, NOTE, PLAIN, StyledLine, WARN};
use crate::output::{self, escape_invisible};

/// Describes in lines what a restore would do.
pub(crate) fn restore_plan_lines(plan: &RestorePlan) -> Vec<StyledLine> {
    let checkpoint = &plan.checkpoint;
    let prompt = output::truncate_columns(&output::one_line(&checkpoint.prompt), 100);
    let heading = format!("{}  {}  {prompt}", checkpoint.number, format_age(checkpoint.time));
    std::iter::once(StyledLine::styled(PLAIN, heading)).chain(plan_lines(plan)).collect()
}

/// Returns what a restore would do, with the diffs.
pub(crate) fn plan_lines(plan: &RestorePlan) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    if plan.changes.is_empty() {
        lines.push(StyledLine::styled(DIM, "every file is as it was then"));
    }
    for change in &plan.changes {
        let style = if change.action.has_effect() { PLAIN } else { WARN };
        lines.push(StyledLine::styled(style, describe_change(change)).with_hanging_indent(4));
        if change.changed_since && change.action.has_effect() {
            lines
                .push(StyledLine::styled(WARN, "    changed since the agent's turn: that change would be overwritten"));
        }
        let diff =
            change.diff.as_deref().filter(|_| !matches!(change.action, FileRestoreAction::Mode)).unwrap_or_default();
        for line in escape_invisible(&diff.replace("\r\n", "\n")).lines().skip(2) {
            let style = match line.chars().next() {
                Some('+') => GOOD,
                Some('-') => BAD,
                Some('@') => NOTE,
                _ => DIM,
            };
            lines.push(StyledLine::styled(style, format!("    {line}")).with_hanging_indent(6));
        }
    }
    lines.extend(
        plan.notes
            .iter()
            .map(|note| StyledLine::styled(WARN, format!("! {}", escape_invisible(note))).with_hanging_indent(2)),
    );
    lines
}

/// Describes a change in one line.
fn describe_change(change: &PlannedChange) -> String {
    let file = escape_invisible(&change.display_path);
    let (added, removed) = change.line_counts;
    let lines = match &change.diff {
        Some(_) => format!(" +{added} -{removed}"),
        None => " (not text)".to_owned(),
    };
    match &change.action {
        FileRestoreAction::Rewrite => format!("{file}{lines}"),
        FileRestoreAction::Create => format!("{file} comes back{lines}"),
        FileRestoreAction::Delete => format!("{file} is new and is deleted{lines}"),
        FileRestoreAction::Link => format!("{file} is a link again"),
        FileRestoreAction::Mode => format!("{file} gets its former mode"),
        FileRestoreAction::Refused(why) => format!("{file} stays as it is: {}", escape_invisible(why)),
    }
}
