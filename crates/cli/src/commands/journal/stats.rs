//! `journal stats`: what hooks did, how long they took, and which never ran.

use std::io::Write;

use hookwright_hooks::HookState;
use hookwright_journal::{HookStats, Query, Reader};
use hookwright_settings::LoadedConfig;
use serde_json::json;

use crate::exit;
use crate::output::{self, BOLD, DIM, PLAIN, TextTable, WARN, paint};

pub(super) fn run(
    reader: &Reader,
    query: &Query,
    loaded: &LoadedConfig,
    only_shadow: bool,
    as_json: bool,
) -> anyhow::Result<u8> {
    let mut stats = reader.stats(query)?;
    stats.hooks.retain(|hook| !only_shadow || hook.shadow);
    let enabled = loaded.registry.entries().filter(|(_, state)| **state == HookState::Enabled);
    let mut silent: Vec<String> = enabled.map(|(hook, _)| hook.id().to_owned()).collect();
    silent.retain(|name| stats.hooks.iter().all(|hook| hook.hook != *name));
    silent.sort();
    silent.dedup();
    if as_json {
        let mut value = serde_json::to_value(&stats)?;
        value["never_ran"] = json!(silent);
        output::print_json(&value)?;
        return Ok(exit::OK);
    }
    let mut stdout = output::stdout();
    let verdicts: Vec<String> = stats.verdicts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    writeln!(stdout, "{} events in {} turns: {}", stats.events, stats.turns, verdicts.join(", "))?;
    if stats.hooks.is_empty() {
        output::note(if only_shadow { "no hook in shadow has run" } else { "no hook has run" })?;
    } else {
        print_table(&stats.hooks)?;
    }
    for hook in stats.hooks.iter().filter(|hook| hook.runs >= 20 && hook.failures == 0) {
        if let Some(answer) = &hook.always {
            writeln!(stdout, "{} always said the same: {answer}", paint(BOLD, output::one_line(&hook.hook)))?;
        }
    }
    if !silent.is_empty() && !only_shadow {
        let names: Vec<String> =
            silent.iter().map(|name| output::truncate_columns(&output::one_line(name), 40)).collect();
        writeln!(stdout, "{} {}", paint(WARN, "never ran:"), names.join(", "))?;
    }
    Ok(exit::OK)
}

fn print_table(hooks: &[HookStats]) -> anyhow::Result<()> {
    let headings = ["RUNS", "DENIED", "ASKED", "CONFINED", "FAILED", "P50 MS", "P99 MS", "MS/TURN", "HOOK"];
    let mut table = TextTable::new(&headings);
    for hook in hooks {
        let counts = [hook.runs, hook.denials, hook.asks, hook.confinements, hook.failures];
        let mut cells: Vec<_> = counts.iter().map(|count| (PLAIN, count.to_string())).collect();
        cells.extend([hook.p50_ms, hook.p99_ms, hook.ms_per_turn].map(|ms| (DIM, format!("{ms:.3}"))));
        let role = match (hook.shadow, hook.guard) {
            (true, _) => " (shadow: decided nothing)",
            (false, true) => " (guard)",
            (false, false) => "",
        };
        cells.push((BOLD, format!("{}{role}", output::truncate_columns(&hook.hook, 60))));
        table.add_row(cells);
    }
    table.print(&mut output::stdout())?;
    Ok(())
}
