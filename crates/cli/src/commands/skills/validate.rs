//! `skills validate`: prints every problem of a skill, or of a folder of skills.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use hookwright_hooks::{Severity, Source};
use hookwright_settings::ProcessEnv;
use hookwright_settings::skills::{SKILL_FILE, read_folder, read_skill_folder};
use serde_json::{Value, json};

use super::list::skill_json;
use crate::output::{self, GOOD, paint};
use crate::{exit, output::diagnostics};

pub(super) fn run(world: &ProcessEnv, path: &Path, as_json: bool) -> anyhow::Result<u8> {
    let asked = world.cwd.join(path);
    let folder = if path.ends_with(SKILL_FILE) { asked.parent().unwrap_or(&asked) } else { &asked };
    if !folder.is_dir() {
        bail!("there is no folder {}", folder.display());
    }
    let is_one = folder.join(SKILL_FILE).symlink_metadata().is_ok();
    let found =
        if is_one { read_skill_folder(folder, &Source::User) } else { read_folder(folder, None, &Source::User) };
    let errors = found.diagnostics.iter().any(|wrong| wrong.severity == Severity::Error);
    let failed = errors || found.list.is_empty();
    let code = if failed { exit::ERROR } else { exit::OK };
    if as_json {
        let list: Vec<Value> = found.list.iter().map(skill_json).collect();
        output::print_json(&json!({"ok": !failed, "skills": list, "diagnostics": found.diagnostics}))?;
        return Ok(code);
    }
    diagnostics::print(&found.diagnostics)?;
    let names: Vec<&str> = found.list.iter().map(|skill| skill.name.as_str()).collect();
    let what = if names.is_empty() { "no skill".to_owned() } else { output::one_line(&names.join(", ")) };
    match diagnostics::count_summary(&found.diagnostics) {
        Some(count) => writeln!(output::stdout(), "{what}: {count}")?,
        None if failed => writeln!(output::stdout(), "{what} in {}", folder.display())?,
        None => writeln!(output::stdout(), "{what}: {}", paint(GOOD, "no problems"))?,
    }
    Ok(code)
}
