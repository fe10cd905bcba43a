//! `hooks list`: every hook in a table.

use hookwright_agent::session::hook_json;
use hookwright_settings::FileState;
use serde_json::Value;

use super::{Covered, Toolbox};
use crate::args::List;
use crate::exit;
use crate::out::{self, BOLD, DIM, NOTE, PLAIN, Table};

pub(crate) fn run(toolbox: &Toolbox, list: &List) -> anyhow::Result<u8> {
    let mut entries = toolbox.entries();
    entries.retain(|entry| list.event.is_none_or(|event| entry.hook.event == event));
    let covered = toolbox.covered(&entries);
    if list.json {
        let hooks = entries.iter().zip(&covered).map(|(entry, covered)| {
            let mut hook = hook_json(entry);
            covered.add_to(&mut hook);
            hook
        });
        out::json(&Value::Array(hooks.collect()))?;
        toolbox.warn_of_guards(&entries)?;
        return Ok(exit::OK);
    }
    toolbox.say_what_is_wrong()?;
    if entries.is_empty() && toolbox.loaded.files.iter().any(|file| file.state == FileState::Broken) {
        out::note("no hooks are loaded, because the settings above can't be read")?;
        return Ok(exit::ERROR);
    }
    if entries.is_empty() {
        out::note("no hooks are configured here")?;
        out::hint("write one with `hookwright hooks new NAME --event EVENT`")?;
        return Ok(exit::OK);
    }
    let mut table = Table::new(&["EVENT", "MATCHER", "HOOK", "SOURCE", "STATE"]);
    for entry in &entries {
        let hook = &entry.hook;
        table.row(vec![
            (NOTE, hook.event.to_string()),
            (DIM, out::shorten(hook.matcher_text.as_deref().filter(|text| !text.is_empty()).unwrap_or("*"), 32)),
            (BOLD, out::shorten(hook.id(), 48)),
            (PLAIN, hook.source.to_string()),
            (out::state_style(&entry.state), entry.describe()),
        ]);
    }
    table.print(&mut out::stdout())?;
    toolbox.warn_of_guards(&entries)?;
    let unsure = entries.iter().zip(&covered).filter(|(_, covered)| !covered.certain);
    for (entry, _) in unsure {
        out::note(format!("hook `{}`: {}", out::shorten(entry.hook.id(), 48), Covered::UNSURE))?;
    }
    Ok(exit::OK)
}
