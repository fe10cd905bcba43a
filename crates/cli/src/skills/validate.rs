//! `skills validate`: everything that is wrong with a skill, or with a folder of them.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use hookwright_hooks::{Severity, Source};
use hookwright_settings::World;
use hookwright_settings::skills::{SKILL_FILE, in_folder, one};
use serde_json::{Value, json};

use super::list::in_json;
use crate::out::{self, GOOD, paint};
use crate::{exit, report};

pub(super) fn run(world: &World, path: &Path, as_json: bool) -> anyhow::Result<u8> {
    let asked = world.cwd.join(path);
    let folder = if path.ends_with(SKILL_FILE) { asked.parent().unwrap_or(&asked) } else { &asked };
    if !folder.is_dir() {
        bail!("there is no folder {}", folder.display());
    }
    let is_one = folder.join(SKILL_FILE).symlink_metadata().is_ok();
    let found = if is_one { one(folder, &Source::User) } else { in_folder(folder, None, &Source::User) };
    let errors = found.diagnostics.iter().any(|wrong| wrong.severity == Severity::Error);
    let failed = errors || found.list.is_empty();
    let code = if failed { exit::ERROR } else { exit::OK };
    if as_json {
        let list: Vec<Value> = found.list.iter().map(in_json).collect();
        out::json(&json!({"ok": !failed, "skills": list, "diagnostics": found.diagnostics}))?;
        return Ok(code);
    }
    report::print(&found.diagnostics)?;
    let names: Vec<&str> = found.list.iter().map(|skill| skill.name.as_str()).collect();
    let what = if names.is_empty() { "no skill".to_owned() } else { out::one_line(&names.join(", ")) };
    match report::count(&found.diagnostics) {
        Some(count) => writeln!(out::stdout(), "{what}: {count}")?,
        None if failed => writeln!(out::stdout(), "{what} in {}", folder.display())?,
        None => writeln!(out::stdout(), "{what}: {}", paint(GOOD, "no problems"))?,
    }
    Ok(code)
}
