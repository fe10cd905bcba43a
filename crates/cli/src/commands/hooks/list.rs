//! `hooks list`: every hook in a table.

use hookwright_agent::session::hook_json;
use hookwright_settings::SettingsFileState;
use serde_json::Value;

use super::{HookTrustedFiles, LoadedProject};
use crate::args::HookListArgs;
use crate::exit;
use crate::output::{self, BOLD, DIM, NOTE, PLAIN, TextTable};

pub(crate) fn run(toolbox: &LoadedProject, list: &HookListArgs) -> anyhow::Result<u8> {
    let mut entries = toolbox.entries();
    entries.retain(|entry| list.event.is_none_or(|event| entry.hook.event == event));
    let covered = toolbox.trusted_files(&entries);
    if list.json {
        let hooks = entries.iter().zip(&covered).map(|(entry, covered)| {
            let mut hook = hook_json(entry);
            covered.add_json_fields(&mut hook);
            hook
        });
        output::print_json(&Value::Array(hooks.collect()))?;
        toolbox.warn_of_unarmed_guards(&entries)?;
        return Ok(exit::OK);
    }
    toolbox.print_problems()?;
    if entries.is_empty() && toolbox.loaded.files.iter().any(|file| file.state == SettingsFileState::Broken) {
        output::note("no hooks are loaded, because the settings above can't be read")?;
        return Ok(exit::ERROR);
    }
    if entries.is_empty() {
        output::note("no hooks are configured here")?;
        output::hint("write one with `hookwright hooks new NAME --event EVENT`")?;
        return Ok(exit::OK);
    }
    let mut table = TextTable::new(&["EVENT", "MATCHER", "HOOK", "SOURCE", "STATE"]);
    for entry in &entries {
        let hook = &entry.hook;
        table.add_row(vec![
            (NOTE, hook.event.to_string()),
            (
                DIM,
                output::truncate_columns(
                    hook.matcher_text.as_deref().filter(|text| !text.is_empty()).unwrap_or("*"),
                    32,
                ),
            ),
            (BOLD, output::truncate_columns(hook.id(), 48)),
            (PLAIN, hook.source.to_string()),
            (output::state_style(&entry.state), entry.describe()),
        ]);
    }
    table.print(&mut output::stdout())?;
    toolbox.warn_of_unarmed_guards(&entries)?;
    let unsure = entries.iter().zip(&covered).filter(|(_, covered)| !covered.is_complete);
    for (entry, _) in unsure {
        output::note(format!(
            "hook `{}`: {}",
            output::truncate_columns(entry.hook.id(), 48),
            HookTrustedFiles::INCOMPLETE_NOTE
        ))?;
    }
    Ok(exit::OK)
}
