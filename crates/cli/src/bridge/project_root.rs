//! Finds the project that an agent works in, by its environment, its payload and its directory.

use std::path::{Path, PathBuf};

use hookwright_bridge::{Host, HostSession};
use hookwright_settings::ProcessEnv;

/// Directories that mark a folder as a project.
const PROJECT_MARKER_DIRS: [&str; 3] = [".gemini", ".hookwright", ".git"];
/// Directories that may hold a project's hooks.
const HOOK_SETTINGS_DIRS: [&str; 3] = [".gemini", ".hookwright", ".claude"];

/// Returns the project's root.
///
/// The project that the agent declares comes before the current directory, which a command may have changed.
pub(crate) fn find_project_root(host: Host, session: &HostSession, world: &ProcessEnv) -> PathBuf {
    let home = world.home.as_deref();
    declared_project(host, session, world)
        .or_else(|| session.cwd.as_deref().and_then(|cwd| nearest_marked_folder(cwd, home)))
        .or_else(|| nearest_marked_folder(&world.cwd, home))
        .or_else(|| session.cwd.clone().filter(|cwd| cwd.is_absolute() && cwd.is_dir()))
        .unwrap_or_else(|| world.cwd.clone())
}

/// Returns the other folders at or above the agent's directory whose guards may concern it, nearest first.
///
/// Empty where the agent declares its project. An agent that does not may have created a new project inside of another.
pub(super) fn outer_projects(host: Host, session: &HostSession, world: &ProcessEnv) -> Vec<PathBuf> {
    if declared_project(host, session, world).is_some() {
        return Vec::new();
    }
    let named: Vec<PathBuf> =
        session.cwd.iter().chain([&world.cwd]).filter(|start| start.is_absolute()).cloned().collect();
    // By the resolved path, too: a symbolic link may lead into the project.
    let real: Vec<PathBuf> = named.iter().filter_map(|start| start.canonicalize().ok()).collect();
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in named.iter().chain(&real).flat_map(|start| ancestors_up_to_home(start, world.home.as_deref())) {
        let may_guard = HOOK_SETTINGS_DIRS.iter().any(|mark| folder.join(mark).exists());
        if may_guard && !folders.iter().any(|known| known == folder) {
            folders.push(folder.to_owned());
        }
    }
    folders
}

/// Whether the repository defines a tool of that name, which then is not the agent's own.
pub(super) fn project_defines_tool(host: Host, session: &HostSession, world: &ProcessEnv, name: &str) -> bool {
    if host != Host::Opencode {
        return false;
    }
    // Each file defines one tool, or several whose names begin with the file's.
    let is_named = |file: &Path| {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        name.strip_prefix(&*stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    let files = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let start = hook_working_dir(session, &world.cwd);
    let folders = ancestors_up_to_home(&start, world.home.as_deref()).map(|folder| folder.join(".opencode"));
    folders.flat_map(|folder| [folder.join("tool"), folder.join("tools")]).flat_map(files).any(|file| is_named(&file))
}

/// Returns the project that the agent declares by a variable or in its payload.
fn declared_project(host: Host, session: &HostSession, world: &ProcessEnv) -> Option<PathBuf> {
    let declared = host.info().project_vars.iter().filter_map(|name| world.var_os(name)).map(PathBuf::from);
    declared.chain(session.roots.iter().cloned()).find(|path| path.is_absolute() && path.is_dir())
}

/// Returns the nearest project at or above `start`.
fn nearest_marked_folder(start: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if !start.is_absolute() || !start.is_dir() {
        return None;
    }
    let is_project = |folder: &&Path| PROJECT_MARKER_DIRS.iter().any(|mark| folder.join(mark).exists());
    ancestors_up_to_home(start, home).find(is_project).map(Path::to_owned)
}

/// Iterates over a folder and its ancestors below the home directory, which itself is included only as `start`.
fn ancestors_up_to_home<'p>(start: &'p Path, home: Option<&'p Path>) -> impl Iterator<Item = &'p Path> {
    start.ancestors().take_while(move |folder| *folder == start || Some(*folder) != home)
}

/// Returns the directory that hooks run in: the agent's own while it exists, else the project.
pub(crate) fn hook_working_dir(session: &HostSession, project: &Path) -> PathBuf {
    session.cwd.clone().filter(|cwd| cwd.is_absolute() && cwd.is_dir()).unwrap_or_else(|| project.to_owned())
}
