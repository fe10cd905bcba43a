//! Finds variables that a hook's command reads and that nothing sets. Variables that the shell or the command itself
//! sets, or that have a default, are not reported.

use hookwright_analysis::free_variables::free_variables;
use hookwright_hooks::{Hook, SESSION_VARIABLES, Source};

use crate::load::LoadedConfig;
use crate::trust;

impl LoadedConfig {
    /// Returns the variables that a hook's command reads and nothing sets, in order.
    pub fn unset_variables_of(&self, hook: &Hook) -> Vec<String> {
        let Some(command) = hook.command() else { return Vec::new() };
        let is_set = |name: &str| {
            SESSION_VARIABLES.contains(&name)
                || self.is_placeholder(hook, name)
                || trust::hook_variable(hook, self.env_of(hook), &self.project.root, name).is_some()
        };
        free_variables(command).into_iter().filter(|name| !is_set(name)).collect()
    }

    /// Whether a variable is a placeholder such as `${extensionPath}` in an extension's hook.
    fn is_placeholder(&self, hook: &Hook, name: &str) -> bool {
        let Source::Extension(extension) = &hook.source else { return false };
        let own = self.extensions.iter().find(|one| one.name == *extension);
        own.is_some_and(|one| one.placeholders.iter().any(|(placeholder, _)| placeholder == name))
    }
}
