//! Enables and disables a skill in the settings: disabling in one file; enabling in the workspace's and the user's.

use std::path::PathBuf;

use serde::Serialize;

use super::{ConfigAccess, NamedItem, SwitchScope, UnknownName};
use crate::edit::{DisabledList, EditError, Switch, set_disabled};
use crate::skills::{SkillState, discover};

/// A request to enable or disable a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillSwitchRequest {
    /// The skill's name.
    pub name: String,
    /// Whether it is enabled or disabled.
    pub switch: Switch,
    /// The settings that disable it; if none is given, the workspace's if it has any, else the user's.
    pub scope: Option<SwitchScope>,
}

/// The result of enabling or disabling a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillSwitchOutcome {
    /// The skill is enabled or disabled.
    Switched {
        /// Its name.
        name: String,
        /// Whether it is enabled or disabled.
        switch: Switch,
        /// The settings files that were changed.
        changed_files: Vec<PathBuf>,
        /// Why it can't be used although it was enabled.
        still_off: Option<SkillState>,
    },
    /// No skill has that name.
    Unknown(UnknownName),
    /// The settings of a folder that is not trusted have no effect; nothing was changed.
    FolderNotTrusted,
}

impl SkillSwitchOutcome {
    /// Whether a settings file was changed.
    pub fn is_changed(&self) -> bool {
        matches!(self, SkillSwitchOutcome::Switched { changed_files, .. } if !changed_files.is_empty())
    }
}

/// Adds a skill to the list of disabled ones, or removes it, in every spelling, from every list that may be written.
///
/// # Errors
/// If the settings can't be changed.
pub fn switch_skill(access: &impl ConfigAccess, request: &SkillSwitchRequest) -> Result<SkillSwitchOutcome, EditError> {
    let current = access.loaded();
    let loaded = &*current;
    let skills = discover(loaded);
    let Some(skill) = skills.get(&request.name) else {
        let known = skills.list.iter().map(|skill| skill.name.as_str());
        return Ok(SkillSwitchOutcome::Unknown(UnknownName::new(NamedItem::Skill, &request.name, known)));
    };
    let user = loaded.paths.user_settings.clone();
    let (mut files, names) = match (request.switch, request.scope) {
        (Switch::Enable, _) => {
            let listed = loaded.settings.skills.disabled.iter();
            let names = listed.filter(|listed| skills.get(listed) == Some(skill)).map(String::as_str).collect();
            (vec![loaded.settings_file().to_owned(), user], names)
        }
        (Switch::Disable, None) => (vec![loaded.settings_file().to_owned()], vec![skill.name.as_str()]),
        (Switch::Disable, Some(SwitchScope::User)) => (vec![user], vec![skill.name.as_str()]),
        (Switch::Disable, Some(SwitchScope::Workspace)) if loaded.project.trust.is_trusted() => {
            (vec![loaded.paths.project_settings(&loaded.project.root)], vec![skill.name.as_str()])
        }
        (Switch::Disable, Some(SwitchScope::Workspace)) => return Ok(SkillSwitchOutcome::FolderNotTrusted),
    };
    files.dedup();
    let mut changed_files = Vec::new();
    for file in files {
        let set = || set_disabled(&file, DisabledList::Skills, &names, request.switch);
        if access.change_file(&file, set)? {
            changed_files.push(file);
        }
    }
    let now = (request.switch == Switch::Enable).then(|| access.reload()).flatten();
    let now = now.and_then(|loaded| Some(discover(&loaded).get(&request.name)?.state.clone()));
    let still_off = now.filter(|state| !state.is_active());
    Ok(SkillSwitchOutcome::Switched { name: skill.name.clone(), switch: request.switch, changed_files, still_off })
}
