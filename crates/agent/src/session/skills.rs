//! `/skills`: lists, reloads and switches skills.

use std::sync::Arc;

use hookwright_settings::administration::{SkillSwitchOutcome, switch_skill};
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
            SkillsAction::Switch(request) => {
                let switched = switch_skill(self, &request);
                self.finish_action(switched, SkillSwitchOutcome::is_changed, Reply::SkillSwitch);
            }
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
        self.reply(Reply::Skills(found.list.clone(), detail));
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
}
