//! The results as a page of the documentation.

use hookwright_trial::{Behaviour, End, Host, Meaning, limit};

use crate::args::Way;
use crate::table::{Column, columns, excuse, find, rows, today, word};
use crate::trial::Tried;

/// The page.
pub(crate) fn markdown(results: &[Tried]) -> String {
    let without: Vec<Column> = columns(results).into_iter().filter(|column| column.way != Way::Bridge).collect();
    let with: Vec<Column> = columns(results).into_iter().filter(|column| column.way == Way::Bridge).collect();
    let mut page = HEAD.replace("DATE", &today()).replace("VERSIONS", &versions(&with));
    page.push_str(&format!("## With Hookwright\n\n{}\n{}\n", sum(results, Way::Bridge), WITH));
    page.push_str(&table(results, &with));
    page.push_str(&limits(results, &with));
    page.push_str(&format!("\n## Without\n\n{}\n{}\n", sum(results, Way::Direct), WITHOUT));
    page.push_str(&table(results, &without));
    page.push_str(TAIL);
    page
}

const HEAD: &str = include_str!("page/head.md");
const WITH: &str = include_str!("page/with.md");
const WITHOUT: &str = include_str!("page/without.md");
const TAIL: &str = include_str!("page/tail.md");

fn versions(columns: &[Column]) -> String {
    let version = |column: &Column| format!("{} {}", column.host.title(), column.version);
    columns.iter().map(version).collect::<Vec<_>>().join(", ")
}

/// How many hooks that said no were obeyed.
fn sum(results: &[Tried], way: Way) -> String {
    let says_no = |row: &Behaviour| matches!(row.means, Meaning::No | Meaning::Otherwise);
    let cells = results.iter().filter(|tried| tried.wiring == way && tried.behaviour().is_some_and(says_no));
    let (mut all, mut held, mut excused) = (0, 0, 0);
    for tried in cells {
        all += 1;
        held += usize::from(tried.is_as_meant());
        excused += usize::from(excuse(tried).is_some());
    }
    let rest = match way {
        Way::Bridge => format!("; {excused} are beyond any bridge, and {} are our failures", all - held - excused),
        _ => format!("; in {} the call ran, or the agent hung", all - held),
    };
    format!("Of {all} runs in which a hook meant *no* or *otherwise*, {held} held{rest}.")
}

fn table(results: &[Tried], columns: &[Column]) -> String {
    let title = |column: &Column| match (column.way, column.host.info().fail_closed) {
        (Way::Closed, hookwright_trial::FailClosed::Key(key, _)) => format!("{} with `{key}`", column.host.title()),
        _ => column.host.title().to_owned(),
    };
    let titles: Vec<String> = columns.iter().map(title).collect();
    let mut text = format!("| what the hook does | {} |\n|---|{}\n", titles.join(" | "), "---|".repeat(columns.len()));
    for row in rows(results) {
        let cell = |column: &Column| find(results, column, row).map_or_else(String::new, shown);
        let cells: Vec<String> = columns.iter().map(cell).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            text.push_str(&format!("| {} | {} |\n", row.what.replace('|', "\\|"), cells.join(" | ")));
        }
    }
    text
}

/// A cell: bold if it is not what the hook's author meant.
fn shown(tried: &Tried) -> String {
    let word = word(tried);
    let otherwise = tried.behaviour().is_some_and(|row| row.means == Meaning::Otherwise);
    match (tried.is_as_meant(), excuse(tried)) {
        (true, _) if otherwise && tried.seen.end == End::Blocked => format!("{word} (lowered)"),
        (true, _) => word.to_owned(),
        (false, Some(_)) => format!("{word} (†)"),
        (false, None) => format!("**{word}**"),
    }
}

/// What no bridge can give, said plainly.
fn limits(results: &[Tried], columns: &[Column]) -> String {
    let mut text = String::new();
    for row in rows(results) {
        for column in columns {
            let Some(tried) = find(results, column, row) else { continue };
            if excuse(tried).is_some()
                && let Some(why) = limit(column.host, row)
            {
                text.push_str(&format!("- {}, {}: {why}\n", Host::title(column.host), row.what));
            }
        }
    }
    if text.is_empty() { text } else { format!("\n† What no bridge can give:\n\n{text}") }
}
