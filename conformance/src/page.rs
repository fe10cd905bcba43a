//! The results as a page of the documentation.

use hookwright_trial::{Behaviour, CallOutcome, HookIntent, Host, known_limit};

use crate::args::WiringKind;
use crate::table::{ResultColumn, bridge_limitation, cell_label, columns, find_cell, rows, today};
use crate::trial::CellResult;

/// Returns the page as Markdown.
pub(crate) fn markdown(results: &[CellResult]) -> String {
    let without: Vec<ResultColumn> =
        columns(results).into_iter().filter(|column| column.wiring != WiringKind::Bridge).collect();
    let with: Vec<ResultColumn> =
        columns(results).into_iter().filter(|column| column.wiring == WiringKind::Bridge).collect();
    let mut page = PAGE_HEAD.replace("DATE", &today()).replace("VERSIONS", &format_versions(&with));
    page.push_str(&format!("## With Hookwright\n\n{}\n{}\n", summarize(results, WiringKind::Bridge), WITH_BRIDGE_TEXT));
    page.push_str(&results_table(results, &with));
    page.push_str(&bridge_limits(results, &with));
    page.push_str(&format!("\n## Without\n\n{}\n{}\n", summarize(results, WiringKind::Direct), WITHOUT_BRIDGE_TEXT));
    page.push_str(&results_table(results, &without));
    page.push_str(PAGE_TAIL);
    page
}

const PAGE_HEAD: &str = include_str!("page/head.md");
const WITH_BRIDGE_TEXT: &str = include_str!("page/with.md");
const WITHOUT_BRIDGE_TEXT: &str = include_str!("page/without.md");
const PAGE_TAIL: &str = include_str!("page/tail.md");

fn format_versions(columns: &[ResultColumn]) -> String {
    let version = |column: &ResultColumn| format!("{} {}", column.host.title(), column.version);
    columns.iter().map(version).collect::<Vec<_>>().join(", ")
}

/// Returns a sentence about how many hooks that denied or rewrote were obeyed.
fn summarize(results: &[CellResult], way: WiringKind) -> String {
    let says_no = |row: &Behaviour| matches!(row.intent, HookIntent::Deny | HookIntent::Rewrite | HookIntent::Confine);
    let cells = results.iter().filter(|tried| tried.wiring == way && tried.behaviour().is_some_and(says_no));
    let (mut all, mut held, mut excused) = (0, 0, 0);
    for tried in cells {
        all += 1;
        held += usize::from(tried.is_as_intended());
        excused += usize::from(bridge_limitation(tried).is_some());
    }
    let rest = match way {
        WiringKind::Bridge => {
            format!("; {excused} are beyond any bridge, and {} are our failures", all - held - excused)
        }
        _ => format!("; in {} the call ran, or the agent hung", all - held),
    };
    format!("Of {all} runs in which a hook meant *no* or *otherwise*, {held} held{rest}.")
}

fn results_table(results: &[CellResult], columns: &[ResultColumn]) -> String {
    let title = |column: &ResultColumn| match (column.wiring, column.host.info().fail_closed) {
        (WiringKind::Closed, hookwright_trial::FailClosedSupport::Key(key, _)) => {
            format!("{} with `{key}`", column.host.title())
        }
        _ => column.host.title().to_owned(),
    };
    let titles: Vec<String> = columns.iter().map(title).collect();
    let mut text = format!("| what the hook does | {} |\n|---|{}\n", titles.join(" | "), "---|".repeat(columns.len()));
    for row in rows(results) {
        let cell = |column: &ResultColumn| find_cell(results, column, row).map_or_else(String::new, format_cell);
        let cells: Vec<String> = columns.iter().map(cell).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            text.push_str(&format!("| {} | {} |\n", row.description.replace('|', "\\|"), cells.join(" | ")));
        }
    }
    text
}

/// Formats a cell: bold if the outcome is not what the hook's author intended.
fn format_cell(tried: &CellResult) -> String {
    let word = cell_label(tried);
    let otherwise =
        tried.behaviour().is_some_and(|row| matches!(row.intent, HookIntent::Rewrite | HookIntent::Confine));
    match (tried.is_as_intended(), bridge_limitation(tried)) {
        (true, _) if otherwise && tried.observation.end == CallOutcome::Blocked => format!("{word} (lowered)"),
        (true, _) => word.to_owned(),
        (false, Some(_)) => format!("{word} (†)"),
        (false, None) => format!("**{word}**"),
    }
}

/// Lists the cells that no bridge could make hold, with the reasons.
fn bridge_limits(results: &[CellResult], columns: &[ResultColumn]) -> String {
    let mut text = String::new();
    for row in rows(results) {
        for column in columns {
            let Some(tried) = find_cell(results, column, row) else { continue };
            if bridge_limitation(tried).is_some()
                && let Some(why) = known_limit(column.host, row)
            {
                text.push_str(&format!("- {}, {}: {why}\n", Host::title(column.host), row.description));
            }
        }
    }
    if text.is_empty() { text } else { format!("\n† What no bridge can give:\n\n{text}") }
}
