//! A home directory, a project, and a process environment that sees only them.

use std::fs;
use std::path::{Path, PathBuf};

use hookwright_settings::{ConfigPaths, LoadOptions, LoadPurpose, LoadedConfig, ProcessEnv, TrustOverride, load};

pub(crate) struct SettingsFixture {
    directory: tempfile::TempDir,
    pub(crate) variables: Vec<(String, String)>,
}

impl SettingsFixture {
    pub(crate) fn new() -> Self {
        hookwright_testkit::watchdog::watch();
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("home/.gemini")).unwrap();
        fs::create_dir_all(directory.path().join("home/project/.gemini")).unwrap();
        SettingsFixture { directory, variables: Vec::new() }
    }

    /// Creates a fixture whose project the user trusts.
    pub(crate) fn trusted() -> Self {
        SettingsFixture::new().with_variable("GEMINI_CLI_TRUST_WORKSPACE", "true")
    }

    pub(crate) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn root(&self) -> PathBuf {
        fs::canonicalize(self.directory.path()).unwrap()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.home().join("project")
    }

    /// Writes a file below the home directory.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn write_user_settings(&self, text: &str) -> PathBuf {
        self.write(".gemini/settings.json", text)
    }

    pub(crate) fn write_project_settings(&self, text: &str) -> PathBuf {
        self.write("project/.gemini/settings.json", text)
    }

    pub(crate) fn write_system_settings(&self, text: &str) -> PathBuf {
        self.write("../etc.json", text)
    }

    pub(crate) fn process_env(&self) -> ProcessEnv {
        let mut variables = vec![
            ("HOME".to_owned(), self.home().display().to_string()),
            ("GEMINI_CLI_SYSTEM_SETTINGS_PATH".to_owned(), self.root().join("etc.json").display().to_string()),
        ];
        variables.extend(self.variables.iter().cloned());
        ProcessEnv::new(
            variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            self.project(),
        )
    }

    pub(crate) fn paths(&self) -> ConfigPaths {
        ConfigPaths::new(&self.process_env())
    }

    pub(crate) fn load(&self) -> LoadedConfig {
        self.load_with(TrustOverride::None)
    }

    pub(crate) fn load_with(&self, trust: TrustOverride) -> LoadedConfig {
        load(&self.process_env(), &LoadOptions { project: self.project(), trust, ..LoadOptions::default() })
    }

    pub(crate) fn load_for_event(&self) -> LoadedConfig {
        let (project, purpose) = (self.project(), LoadPurpose::Event);
        load(&self.process_env(), &LoadOptions { project, purpose, ..LoadOptions::default() })
    }
}

/// Settings with one hook on BeforeTool.
pub(crate) fn settings_with_hook(name: &str, command: &str) -> String {
    let hook = serde_json::json!({"type": "command", "name": name, "command": command});
    serde_json::json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}).to_string()
}

/// Returns the diagnostics, one line each, without the directory.
pub(crate) fn diagnostic_messages(loaded: &LoadedConfig, root: &Path) -> Vec<String> {
    let prefix = format!("{}/", root.display());
    loaded.registry.diagnostics().iter().map(|wrong| wrong.to_string().replace(&prefix, "")).collect()
}

/// Returns the texts of the notices.
pub(crate) fn notice_messages(loaded: &LoadedConfig) -> Vec<String> {
    loaded.notices.iter().map(ToString::to_string).collect()
}
