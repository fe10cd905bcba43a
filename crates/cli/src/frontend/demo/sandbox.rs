//! The demo's own home and project, in a temporary folder.

use std::path::{Path, PathBuf};

use hookwright_settings::ProcessEnv;

/// A folder with `home` and `project` in it.
pub(super) struct DemoSandbox {
    folder: PathBuf,
}

impl DemoSandbox {
    pub(super) fn new(folder: &Path) -> std::io::Result<DemoSandbox> {
        let folder = folder.canonicalize()?;
        std::fs::create_dir_all(folder.join("home"))?;
        std::fs::create_dir_all(folder.join("project"))?;
        Ok(DemoSandbox { folder })
    }

    /// Writes a file; its path begins with `home/` or `project/`.
    pub(super) fn write(&self, path: &str, text: &str) -> anyhow::Result<()> {
        let path = self.folder.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        Ok(std::fs::write(path, text)?)
    }

    /// Returns an environment with this home, and with this project as working directory.
    ///
    /// It has none of the user's keys or settings, so that a demo is the same everywhere; only PATH is the user's.
    pub(super) fn world(&self, world: &ProcessEnv) -> ProcessEnv {
        let home = self.folder.join("home");
        let path = world.var_os("PATH").map(|path| ("PATH".into(), path.to_owned()));
        let env = path.into_iter().chain([
            ("HOME".into(), home.clone().into_os_string()),
            ("GEMINI_CLI_SYSTEM_SETTINGS_PATH".into(), home.join("no-system-settings.json").into_os_string()),
        ]);
        ProcessEnv::new(env.collect(), self.folder.join("project"))
    }
}
