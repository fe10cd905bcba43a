//! `/skills`: lists, reloads and switches skills.

use std::path::PathBuf;
use std::sync::Arc;

use hookwright_hooks::did_you_mean;
use hookwright_settings::edit::{DisabledList, Switch, set_disabled};
use hookwright_settings::skills::{Skill, SkillState, Skills, discover};
use hookwright_tools::ToolSource;

use super::actor::SessionActor;
use super::command::{Detail, SkillsAction};
use super::reply::Reply;
use crate::event::AgentNotice;
use crate::skills;

impl SessionActor {
    pub(super) fn handle_skills(&mut self, order: SkillsAction) {
        match order {
            SkillsAction::List(detail) => self.list_skills(detail),
            SkillsAction::Reload => {
                let before = self.shared.view().skills.clone();
                self.refresh_skills();
                let now = self.shared.view().skills.clone();
                let new = now.offered().filter(|skill| !before.offered().any(|old| old.name == skill.name)).count();
                let gone = before.offered().filter(|old| !now.offered().any(|skill| old.name == skill.name)).count();
                let count = now.offered().count();
                let skills = if count == 1 { "skill" } else { "skills" };
                self.reply(Reply::plain(format!("the model is offered {count} {skills}: {new} new, {gone} gone")));
            }
            SkillsAction::Enable(name) => self.switch_skill(&name, Switch::Enable),
            SkillsAction::Disable(name) => self.switch_skill(&name, Switch::Disable),
        }
    }

    /// Has the model use a skill at the user's request. A skill reserved for the user is offered to the model from then
    /// on.
    pub(super) fn use_skill(&mut self, name: &str, task: &str, typed: String) {
        let view = self.shared.view();
        if view.skills.get(name).is_some_and(|skill| skill.state == SkillState::UserOnly) {
            let mut skills = (*view.skills).clone();
            let called = |skill: &&mut Skill| skill.name == name && skill.state == SkillState::UserOnly;
            skills.list.iter_mut().filter(called).for_each(|skill| skill.state = SkillState::Offered);
            self.offer_skills(Arc::new(skills));
        }
        let prompt = format!("Use the skill `{name}`: call activate_skill with this name, and follow what it returns.");
        let prompt = if task.is_empty() { prompt } else { format!("{prompt}\n\n{task}") };
        self.enqueue_prompt(prompt, typed);
    }

    fn list_skills(&self, detail: Detail) {
        let found = self.shared.view().skills.clone();
        for wrong in &found.diagnostics {
            self.reply(Reply::Diagnostic(Box::new(wrong.clone())));
        }
        let row = |skill: &Skill| {
            let description = if detail == Detail::Full { format!("{} ", skill.description) } else { String::new() };
            (skill.name.clone(), format!("{description}({}{})", skill.source, state_suffix(skill)))
        };
        let none = "there are no skills; write one as .gemini/skills/NAME/SKILL.md";
        let rows: Vec<_> = found.list.iter().map(row).collect();
        self.reply(if rows.is_empty() { Reply::aside(none) } else { Reply::Rows(rows) });
    }

    /// Discovers the skills again. The next request offers the new ones.
    pub(super) fn refresh_skills(&mut self) {
        let view = self.shared.view();
        let found = discover(&view.loaded);
        if found == *view.skills {
            return;
        }
        let found = Arc::new(found);
        for remark in skills::skill_warnings(&found) {
            self.send_event(AgentNotice::Warning(remark));
        }
        self.offer_skills(found);
    }

    fn offer_skills(&mut self, skills: Arc<Skills>) {
        self.services().tools.set_source(&ToolSource::Skills, skills::skill_tools(&skills));
        self.shared.update(|view| view.skills = skills);
        self.rebuild_system_prompt();
    }

    fn switch_skill(&mut self, name: &str, switch: Switch) {
        let view = self.shared.view();
        let Some(skill) = view.skills.get(name) else {
            let known = view.skills.list.iter().map(|skill| skill.name.as_str());
            let help = did_you_mean(name, known, "/skills list shows them all");
            return self.reply(Reply::error(format!("no skill is called `{name}`; {help}")));
        };
        let (files, names) = match switch {
            Switch::Disable => (vec![view.loaded.settings_file().to_owned()], vec![skill.name.clone()]),
            // Enabling removes the name from both settings files, in every spelling.
            Switch::Enable => {
                let own = view.loaded.settings_file().to_owned();
                let listed = view.loaded.settings.skills.disabled.iter();
                let names = listed.filter(|listed| view.skills.get(listed) == Some(skill)).cloned().collect();
                let mut files = vec![view.loaded.paths.user_settings.clone(), own];
                files.dedup();
                (files, names)
            }
        };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut changed: Vec<PathBuf> = Vec::new();
        for file in files {
            let set = || set_disabled(&file, DisabledList::Skills, &names, switch);
            match view.services.tamper_watch.with_user_change(&file, set) {
                Ok(true) => changed.push(file),
                Ok(false) => {}
                Err(error) => return self.reply(Reply::error(error)),
            }
        }
        let verb = if switch == Switch::Enable { "enabled" } else { "disabled" };
        let Some(file) = changed.first() else {
            return self.reply(Reply::aside(format!("skill `{}` is {}", skill.name, skill_state_text(skill))));
        };
        self.reply(Reply::plain(format!("{verb} {} in {}", skill.name, file.display())));
        self.config_watch.rescan_files();
        self.reload_configuration(&[]);
    }
}

fn state_suffix(skill: &Skill) -> String {
    match &skill.state {
        SkillState::Offered => String::new(),
        _ => format!(", {}", skill_state_text(skill)),
    }
}

/// Describes a skill's state.
pub fn skill_state_text(skill: &Skill) -> String {
    match &skill.state {
        SkillState::Offered => "enabled".to_owned(),
        SkillState::UserOnly => format!("only you can use it: /{}", skill.name),
        SkillState::Disabled => "disabled".to_owned(),
        SkillState::AllOff => "off, as settings switch all skills off".to_owned(),
        SkillState::Overridden(by) => format!("overridden by {}", by.display()),
    }
}
