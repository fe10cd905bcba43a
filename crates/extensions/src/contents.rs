//! Reads an extension's commands, skills and agents as a session would load them, with the diagnostics of the files
//! that are left out. Hooks, servers and policies are listed in `summary.rs`.

use hookwright_hooks::{Diagnostic, Source};
use hookwright_settings::skills::{self, Skill};
use hookwright_settings::subagents::{self, SubAgentDefinition};
use hookwright_settings::{ConfigPaths, Extension, FolderTrust, LoadedConfig, ProjectFolder, commands};

/// The commands, skills and agents of an extension that a session would load.
#[derive(Clone, Debug)]
pub struct ExtensionContents {
    /// Names of its custom commands, as typed after the slash.
    pub commands: Vec<String>,
    /// Skills that were read without an error.
    pub skills: Vec<Skill>,
    /// Sub-agents that were read without an error.
    pub agents: Vec<SubAgentDefinition>,
    /// Problems with its files; an error means that the file is left out.
    pub diagnostics: Vec<Diagnostic>,
}

impl ExtensionContents {
    /// Reads one extension by itself, so that names used by other extensions cause no conflicts.
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
