//! Where a hook is declared, for the commands that edit its declaration.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use hookwright_hooks::{FileKind, Hook, Source};
use hookwright_settings::edit::json_splice::JsonTree;

use super::LoadedProject;
use crate::args::ScopeArg;

/// The file that declares a hook.
pub(super) struct DeclaringFile {
    pub(super) file: PathBuf,
    pub(super) source: Source,
    /// The hooks of that name in the file.
    pub(super) hooks: Vec<Arc<Hook>>,
}

/// Finds the file of the project or of the user that declares a hook.
///
/// # Errors
/// If there is no such hook, if several files declare one, or if the file is not one that a command may edit.
pub(super) fn find_declaration(
    toolbox: &LoadedProject,
    name: &str,
    scope: Option<ScopeArg>,
) -> anyhow::Result<DeclaringFile> {
    let mut hooks: Vec<Arc<Hook>> =
        toolbox.entries().into_iter().map(|entry| entry.hook).filter(|hook| hook.id() == name).collect();
    if hooks.is_empty() {
        return Err(toolbox.unknown_hook_error(name));
    }
    hooks.retain(|hook| match scope {
        None => true,
        Some(ScopeArg::User) => hook.source == Source::User,
        Some(ScopeArg::Workspace) => hook.source == Source::Project,
    });
    let mut files: Vec<(PathBuf, Source)> = Vec::new();
    for hook in &hooks {
        let Some(place) = &hook.location else { continue };
        match &hook.source {
            _ if FileKind::from_path(&place.file) == FileKind::Claude => {
                bail!("hook `{name}` is declared in Claude Code's own settings ({place}); change it there")
            }
            Source::Project | Source::User => files.push((place.file.to_path_buf(), hook.source.clone())),
            Source::Extension(extension) => bail!(
                "hook `{name}` comes with extension `{extension}`: `hookwright extensions disable {extension}` switches that off"
            ),
            source => bail!("hook `{name}` is declared in the {source} settings ({place}); change it there by hand"),
        }
    }
    files.sort();
    files.dedup();
    match files.len() {
        0 => bail!("hook `{name}` is not declared in that scope; `hookwright hooks show {name}` says where it is"),
        1 => {}
        _ => {
            let places: Vec<String> = files.iter().map(|(file, _)| file.display().to_string()).collect();
            bail!("hook `{name}` is declared in {}; choose one with --scope user or workspace", places.join(" and "))
        }
    }
    let (file, source) = files.swap_remove(0);
    Ok(DeclaringFile { file, source, hooks })
}

/// Returns the hook's id as the engine computes it.
pub(super) fn hook_id(hook: &JsonTree) -> Option<String> {
    let text = |key: &str| hook.get(key)?.1.to_value().as_str().map(str::to_owned).filter(|text| !text.is_empty());
    ["name", "command", "package", "url", "reason"].into_iter().find_map(text)
}
