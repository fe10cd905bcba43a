//! `subagents validate`: prints every problem of a sub-agent, or of a folder of them.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use hookwright_hooks::Severity;
use hookwright_settings::ProcessEnv;
use hookwright_settings::subagents::read_path;
use serde_json::{Value, json};

use super::list::subagent_json;
use crate::output::{self, GOOD, paint};
use crate::{exit, output::diagnostics};

pub(super) fn run(world: &ProcessEnv, path: &Path, as_json: bool) -> anyhow::Result<u8> {
    let asked = world.cwd.join(path);
    if asked.symlink_metadata().is_err() {
        bail!("there is no {}", asked.display());
    }
    let found = read_path(&asked);
    let errors = found.diagnostics.iter().any(|wrong| wrong.severity == Severity::Error);
    let failed = errors || found.list.is_empty();
    let code = if failed { exit::ERROR } else { exit::OK };
    if as_json {
        let list: Vec<Value> = found.list.iter().map(subagent_json).collect();
        output::print_json(&json!({"ok": !failed, "agents": list, "diagnostics": found.diagnostics}))?;
        return Ok(code);
    }
    diagnostics::print(&found.diagnostics)?;
    let names: Vec<&str> = found.list.iter().map(|agent| agent.name.as_str()).collect();
    let what = if names.is_empty() { "no agent".to_owned() } else { names.join(", ") };
    match diagnostics::count_summary(&found.diagnostics) {
        Some(count) => writeln!(output::stdout(), "{what}: {count}")?,
        None if failed => writeln!(output::stdout(), "{what} in {}", asked.display())?,
        None => writeln!(output::stdout(), "{what}: {}", paint(GOOD, "no problems"))?,
    }
    Ok(code)
}
