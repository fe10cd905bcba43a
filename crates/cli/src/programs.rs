//! Whether a program is there to be started.

use std::ffi::OsString;
use std::path::Path;

/// Whether a program is on the path of an environment, or where it says that it is.
pub(crate) fn is_program_installed(program: &str, cwd: &Path, env: &[(OsString, OsString)]) -> bool {
    if program.contains('/') {
        return cwd.join(program).is_file();
    }
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone()).unwrap_or_default();
    std::env::split_paths(&path).any(|directory| cwd.join(directory).join(program).is_file())
}
