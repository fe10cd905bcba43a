//! `skills list`: every skill in a table.

use hookwright_agent::session::skill_state;
use hookwright_settings::Notice;
use hookwright_settings::skills::{Skill, SkillState, discover};
use serde_json::{Value, json};

use crate::hooks::Toolbox;
use crate::out::{self, BOLD, DIM, GOOD, PLAIN, Table};
use crate::{exit, report};

pub(super) fn run(toolbox: &Toolbox, as_json: bool) -> anyhow::Result<u8> {
    let skills = discover(&toolbox.loaded);
    if as_json {
        let list: Vec<Value> = skills.list.iter().map(in_json).collect();
        out::json(&json!({"skills": list, "diagnostics": skills.diagnostics}))?;
        return Ok(exit::OK);
    }
    report::print(&skills.diagnostics)?;
    let untrusted = |notice: &&Notice| matches!(notice, Notice::ProjectNotTrusted { .. });
    toolbox.loaded.notices.iter().filter(untrusted).try_for_each(out::note)?;
    if skills.list.is_empty() {
        out::note("there are no skills here")?;
        out::hint("write one as .gemini/skills/NAME/SKILL.md")?;
        return Ok(exit::OK);
    }
    let mut table = Table::new(&["SKILL", "SOURCE", "STATE", "DESCRIPTION"]);
    for skill in &skills.list {
        let style = if skill.state == SkillState::Offered { GOOD } else { DIM };
        table.row(vec![
            (BOLD, skill.name.clone()),
            (PLAIN, skill.source.to_string()),
            (style, skill_state(skill)),
            (PLAIN, out::shorten(&skill.description, 72)),
        ]);
    }
    table.print(&mut out::stdout())?;
    Ok(exit::OK)
}

/// A skill as JSON.
pub(super) fn in_json(skill: &Skill) -> Value {
    json!({
        "name": skill.name, "description": skill.description, "source": skill.source.to_string(),
        "file": skill.file, "enabled": skill.state == SkillState::Offered,
        "state": skill_state(skill),
    })
}
