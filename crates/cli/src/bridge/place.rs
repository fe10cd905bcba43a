//! Whose hooks count: the project that an agent works in, as its environment, its payload and its directory tell.

use std::path::{Path, PathBuf};

use hookwright_bridge::{Host, SessionFacts};
use hookwright_settings::World;

/// Directories that make a folder a project.
const MARKS: [&str; 3] = [".gemini", ".hookwright", ".git"];
/// Directories that may hold a project's hooks.
const HOLD_HOOKS: [&str; 3] = [".gemini", ".hookwright", ".claude"];

/// The project's root. What the agent itself calls its project counts before the directory of the moment, which a command may
/// have changed.
pub(crate) fn project(host: Host, session: &SessionFacts, world: &World) -> PathBuf {
    let home = world.home.as_deref();
    told_project(host, session, world)
        .or_else(|| session.cwd.as_deref().and_then(|cwd| marked(cwd, home)))
        .or_else(|| marked(&world.cwd, home))
        .or_else(|| session.cwd.clone().filter(|cwd| cwd.is_absolute() && cwd.is_dir()))
        .unwrap_or_else(|| world.cwd.clone())
}

/// Other folders at or above the agent's directory whose guards may concern it, nearest first: an agent that does not say
/// what its project is may have made a new one inside of it. None where it says.
pub(super) fn outer_projects(host: Host, session: &SessionFacts, world: &World) -> Vec<PathBuf> {
    if told_project(host, session, world).is_some() {
        return Vec::new();
    }
    let named: Vec<PathBuf> =
        session.cwd.iter().chain([&world.cwd]).filter(|start| start.is_absolute()).cloned().collect();
    // By another name, too: a link may lead into the project.
    let real: Vec<PathBuf> = named.iter().filter_map(|start| start.canonicalize().ok()).collect();
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in named.iter().chain(&real).flat_map(|start| up_to_home(start, world.home.as_deref())) {
        let may_guard = HOLD_HOOKS.iter().any(|mark| folder.join(mark).exists());
        if may_guard && !folders.iter().any(|known| known == folder) {
            folders.push(folder.to_owned());
        }
    }
    folders
}

/// Whether the repository brings a tool of that name, which then is not the agent's own.
pub(super) fn brings_tool(host: Host, session: &SessionFacts, world: &World, name: &str) -> bool {
    if host != Host::Opencode {
        return false;
    }
    // Each file is a tool, or several whose names begin with its own.
    let is_named = |file: &Path| {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        name.strip_prefix(&*stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    let files = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let start = directory(session, &world.cwd);
    let folders = up_to_home(&start, world.home.as_deref()).map(|folder| folder.join(".opencode"));
    folders.flat_map(|folder| [folder.join("tool"), folder.join("tools")]).flat_map(files).any(|file| is_named(&file))
}

/// What the agent itself calls its project.
fn told_project(host: Host, session: &SessionFacts, world: &World) -> Option<PathBuf> {
    let told = host.info().project_vars.iter().filter_map(|name| world.var_os(name)).map(PathBuf::from);
    told.chain(session.roots.iter().cloned()).find(|path| path.is_absolute() && path.is_dir())
}

/// The nearest folder at or above that is a project.
fn marked(start: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if !start.is_absolute() || !start.is_dir() {
        return None;
    }
    let is_project = |folder: &&Path| MARKS.iter().any(|mark| folder.join(mark).exists());
    up_to_home(start, home).find(is_project).map(Path::to_owned)
}

/// A folder and those above it. A home is one of them only for an agent that works right in it.
fn up_to_home<'p>(start: &'p Path, home: Option<&'p Path>) -> impl Iterator<Item = &'p Path> {
    start.ancestors().take_while(move |folder| *folder == start || Some(*folder) != home)
}

/// Where hooks run: the agent's own directory while it is there.
pub(crate) fn directory(session: &SessionFacts, project: &Path) -> PathBuf {
    session.cwd.clone().filter(|cwd| cwd.is_absolute() && cwd.is_dir()).unwrap_or_else(|| project.to_owned())
}
