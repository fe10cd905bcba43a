//! What the files of an extension come to: its commands, skills and agents that would count in a session, and what is wrong with
//! the others. Hooks, servers and policies are told elsewhere.

use hookwright_hooks::{Diagnostic, Source};
use hookwright_settings::skills::{self, Skill};
use hookwright_settings::subagents::{self, Definition};
use hookwright_settings::{Extension, FolderTrust, Loaded, Paths, Project, commands};

/// What counts.
#[derive(Clone, Debug)]
pub struct Contents {
    /// Its custom commands, by what is typed after the slash.
    pub commands: Vec<String>,
    /// Its skills.
    pub skills: Vec<Skill>,
    /// Its sub-agents.
    pub agents: Vec<Definition>,
    /// What is wrong: errors where something was left out.
    pub diagnostics: Vec<Diagnostic>,
}

impl Contents {
    /// Reads an extension by itself: nobody else's things take a name away.
    pub(crate) fn of(extension: &Extension, loaded: &Loaded) -> Contents {
        let project = Project { trust: FolderTrust::Unknown, ..loaded.project.clone() };
        let nowhere = extension.path.join("gemini-extension.json").join("commands");
        let paths = Paths { user_commands: nowhere, ..loaded.paths.clone() };
        let commands = commands::discover(&paths, &project, std::slice::from_ref(extension), &|_| false);
        let skills = skills::in_folder(&extension.skills(), Some(&extension.path), &extension.source());
        let agents = subagents::in_folder(&extension.agents(), &extension.source());
        let is_own = |source: &Source| *source == extension.source();
        let own = |wrong: &Diagnostic| wrong.file.starts_with(&extension.path);
        let of_commands = commands.diagnostics.into_iter().filter(own);
        Contents {
            commands: commands.list.into_iter().filter(|one| is_own(&one.source)).map(|one| one.name).collect(),
            diagnostics: of_commands.chain(skills.diagnostics).chain(agents.diagnostics).collect(),
            skills: skills.list,
            agents: agents.list,
        }
    }
}
