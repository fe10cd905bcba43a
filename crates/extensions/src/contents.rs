//! What the files of an extension come to: its commands, skills and agents that would count in a session, and what is wrong with
//! the others. Hooks, servers and policies are told elsewhere.

use hookwright_hooks::{Diagnostic, Source};
use hookwright_settings::skills::{self, Skill};
use hookwright_settings::subagents::{self, SubAgentDefinition};
use hookwright_settings::{ConfigPaths, Extension, FolderTrust, LoadedConfig, ProjectFolder, commands};

/// What counts.
#[derive(Clone, Debug)]
pub struct ExtensionContents {
    /// Its custom commands, by what is typed after the slash.
    pub commands: Vec<String>,
    /// Its skills.
    pub skills: Vec<Skill>,
    /// Its sub-agents.
    pub agents: Vec<SubAgentDefinition>,
    /// What is wrong: errors where something was left out.
    pub diagnostics: Vec<Diagnostic>,
}

impl ExtensionContents {
    /// Reads an extension by itself: nobody else's things take a name away.
    pub(crate) fn read(extension: &Extension, loaded: &LoadedConfig) -> ExtensionContents {
        let project = ProjectFolder { trust: FolderTrust::Unknown, ..loaded.project.clone() };
        let nowhere = extension.path.join("gemini-extension.json").join("commands");
        let paths = ConfigPaths { user_commands: nowhere, ..loaded.paths.clone() };
        let commands = commands::discover(&paths, &project, std::slice::from_ref(extension), &|_| false);
        let skills = skills::read_folder(&extension.skills_dir(), Some(&extension.path), &extension.source());
        let agents = subagents::read_folder(&extension.agents_dir(), &extension.source());
        let is_own = |source: &Source| *source == extension.source();
        let own = |wrong: &Diagnostic| wrong.file.starts_with(&extension.path);
        let of_commands = commands.diagnostics.into_iter().filter(own);
        ExtensionContents {
            commands: commands.list.into_iter().filter(|one| is_own(&one.source)).map(|one| one.name).collect(),
            diagnostics: of_commands.chain(skills.diagnostics).chain(agents.diagnostics).collect(),
            skills: skills.list,
            agents: agents.list,
        }
    }
}
