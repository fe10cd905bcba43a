//! Whose hooks count: the project that an agent works in, as its environment, its payload and its directory tell.

use std::path::{Path, PathBuf};

use hookwright_bridge::{Host, SessionFacts};
use hookwright_settings::World;

/// Directories that make a folder somebody's project.
const MARKS: [&str; 3] = [".gemini", ".hookwright", ".git"];

/// The project's root. What the agent itself calls its project counts before the directory of the moment, which a command may
/// have changed.
pub(crate) fn project(host: Host, session: &SessionFacts, world: &World) -> PathBuf {
    let told = host.info().project_vars.iter().filter_map(|name| world.var_os(name)).map(PathBuf::from);
    let told = told.chain(session.roots.iter().cloned()).find(|path| path.is_absolute() && path.is_dir());
    let home = world.home.as_deref();
    told.or_else(|| session.cwd.as_deref().and_then(|cwd| marked(cwd, home)))
        .or_else(|| marked(&world.cwd, home))
        .or_else(|| session.cwd.clone().filter(|cwd| cwd.is_absolute() && cwd.is_dir()))
        .unwrap_or_else(|| world.cwd.clone())
}

/// The nearest folder at or above that is somebody's project. A home is one only to who stands in it.
fn marked(start: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if !start.is_absolute() || !start.is_dir() {
        return None;
    }
    let is_project = |folder: &&Path| MARKS.iter().any(|mark| folder.join(mark).exists());
    let below_home = |folder: &&Path| *folder == start || Some(*folder) != home;
    start.ancestors().take_while(below_home).find(is_project).map(Path::to_owned)
}

/// Where hooks run: the agent's own directory while it is there.
pub(crate) fn directory(session: &SessionFacts, project: &Path) -> PathBuf {
    session.cwd.clone().filter(|cwd| cwd.is_absolute() && cwd.is_dir()).unwrap_or_else(|| project.to_owned())
}
