//! `skills list`: prints every skill in a table.

use hookwright_settings::Notice;
use hookwright_settings::skills::{Skill, SkillState, discover};
use serde_json::{Value, json};

use crate::commands::hooks::LoadedProject;
use crate::output::{self, BOLD, DIM, GOOD, PLAIN, TextTable};
use crate::presentation::administration::skill_state_text;
use crate::{exit, output::diagnostics};

pub(super) fn run(toolbox: &LoadedProject, as_json: bool) -> anyhow::Result<u8> {
    let skills = discover(&toolbox.loaded);
    if as_json {
        let list: Vec<Value> = skills.list.iter().map(skill_json).collect();
        output::print_json(&json!({"skills": list, "diagnostics": skills.diagnostics}))?;
        return Ok(exit::OK);
    }
    diagnostics::print(&skills.diagnostics)?;
    let untrusted = |notice: &&Notice| matches!(notice, Notice::ProjectNotTrusted { .. });
    toolbox.loaded.notices.iter().filter(untrusted).try_for_each(output::note)?;
    if skills.list.is_empty() {
        output::note("there are no skills here")?;
        output::hint("write one as .gemini/skills/NAME/SKILL.md")?;
        return Ok(exit::OK);
    }
    let mut table = TextTable::new(&["SKILL", "SOURCE", "STATE", "DESCRIPTION"]);
    for skill in &skills.list {
        let style = if skill.state == SkillState::Offered { GOOD } else { DIM };
        table.add_row(vec![
            (BOLD, skill.name.clone()),
            (PLAIN, skill.source.to_string()),
            (style, skill_state_text(&skill.name, &skill.state)),
            (PLAIN, output::truncate_columns(&skill.description, 72)),
        ]);
    }
    table.print(&mut output::stdout())?;
    Ok(exit::OK)
}

/// Formats a skill as JSON.
pub(super) fn skill_json(skill: &Skill) -> Value {
    json!({
        "name": skill.name, "description": skill.description, "source": skill.source.to_string(),
        "file": skill.file, "enabled": skill.state == SkillState::Offered,
        "state": skill_state_text(&skill.name, &skill.state),
    })
}
