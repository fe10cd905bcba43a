//! `subagents validate`: everything that is wrong with a sub-agent, or with a folder of them.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use hookwright_hooks::Severity;
use hookwright_settings::World;
use hookwright_settings::subagents::in_place;
use serde_json::{Value, json};

use super::list::in_json;
use crate::out::{self, GOOD, paint};
use crate::{exit, report};

pub(super) fn run(world: &World, path: &Path, as_json: bool) -> anyhow::Result<u8> {
    let asked = world.cwd.join(path);
    if asked.symlink_metadata().is_err() {
        bail!("there is no {}", asked.display());
    }
    let found = in_place(&asked);
    let errors = found.diagnostics.iter().any(|wrong| wrong.severity == Severity::Error);
    let failed = errors || found.list.is_empty();
    let code = if failed { exit::ERROR } else { exit::OK };
    if as_json {
        let list: Vec<Value> = found.list.iter().map(in_json).collect();
        out::json(&json!({"ok": !failed, "agents": list, "diagnostics": found.diagnostics}))?;
        return Ok(code);
    }
    report::print(&found.diagnostics)?;
    let names: Vec<&str> = found.list.iter().map(|agent| agent.name.as_str()).collect();
    let what = if names.is_empty() { "no agent".to_owned() } else { names.join(", ") };
    match report::count(&found.diagnostics) {
        Some(count) => writeln!(out::stdout(), "{what}: {count}")?,
        None if failed => writeln!(out::stdout(), "{what} in {}", asked.display())?,
        None => writeln!(out::stdout(), "{what}: {}", paint(GOOD, "no problems"))?,
    }
    Ok(code)
}
