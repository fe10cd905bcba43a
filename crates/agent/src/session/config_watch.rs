//! Notices changes to settings files, policies and hook scripts by polling their times and sizes once a second.
//!
//! Polling needs no thread and works on every file system.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hookwright_hooks::CommandFiles;
use hookwright_settings::{HookReviewMode, LoadedConfig};

use crate::policy::watched_policy_paths;

type FileStamp = Option<(SystemTime, u64)>;

/// The watched files, with their times and sizes at the last scan.
#[derive(Clone, PartialEq)]
pub(super) struct ConfigWatch {
    files: BTreeMap<PathBuf, FileStamp>,
    /// Custom commands and their directories, which are reloaded separately.
    commands: BTreeMap<PathBuf, FileStamp>,
}

impl ConfigWatch {
    /// Begins to watch the files that a configuration was loaded from.
    pub(super) fn new(loaded: &LoadedConfig, policies: &[PathBuf]) -> ConfigWatch {
        let mut paths: Vec<PathBuf> = watched_policy_paths(loaded, policies);
        paths.extend(loaded.files.iter().map(|file| file.path.clone()));
        paths.push(loaded.paths.trusted_hooks.clone());
        paths.extend(loaded.watched_extension_paths());
        let commands = hookwright_settings::commands::watched_paths(&loaded.paths, &loaded.project, &loaded.extensions);
        // Scripts are watched while they are missing, too, so that one that appears is noticed.
        let hooks = loaded.registry.hooks().iter().map(AsRef::as_ref);
        let run = match loaded.settings.security.hook_review {
            HookReviewMode::Announce => hooks.map(|hook| loaded.protected_files_of(hook)).collect(),
            // Every change of a hook must wait for review, so all scripts that it runs are watched.
            HookReviewMode::Ask | HookReviewMode::Block => loaded.files_run_by_all(hooks),
        };
        paths.extend(run.iter().flat_map(CommandFiles::paths).map(Path::to_owned));
        let watch = |paths: Vec<PathBuf>| paths.into_iter().map(|path| (path.clone(), file_stamp(&path))).collect();
        ConfigWatch { files: watch(paths), commands: watch(commands) }
    }

    /// Scans again and returns the files that changed.
    pub(super) fn rescan_files(&mut self) -> Vec<PathBuf> {
        rescan(&mut self.files)
    }

    /// Scans again and returns whether custom commands have changed.
    pub(super) fn rescan_commands(&mut self) -> bool {
        !rescan(&mut self.commands).is_empty()
    }
}

fn rescan(files: &mut BTreeMap<PathBuf, FileStamp>) -> Vec<PathBuf> {
    let mut changed = Vec::new();
    for (path, before) in files {
        let now = file_stamp(path);
        if now != *before {
            *before = now;
            changed.push(path.clone());
        }
    }
    changed
}

fn file_stamp(path: &Path) -> FileStamp {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.modified().ok()?, meta.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwright_settings::{LoadOptions, ProcessEnv, load};

    #[test]
    fn scripts_are_found_in_commands() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::write(root.join("check.py"), "").unwrap();
        std::fs::create_dir(root.join(".gemini")).unwrap();
        let env = vec![("HOME".into(), root.as_os_str().to_owned()), ("PATH".into(), "/usr/bin:/bin".into())];
        let found = |command: &str| -> Vec<String> {
            let hooks = serde_json::json!([{"hooks": [{"type": "command", "command": command}]}]);
            let settings = serde_json::json!({"hooks": {"BeforeTool": hooks}}).to_string();
            std::fs::write(root.join(".gemini/settings.json"), settings).unwrap();
            let world = ProcessEnv::new(env.clone(), root.to_owned());
            let loaded = load(&world, &LoadOptions { project: root.to_owned(), ..LoadOptions::default() });
            let watch = ConfigWatch::new(&loaded, &[]);
            let own = watch.files.keys().filter_map(|path| path.strip_prefix(root).ok());
            own.filter(|path| !path.starts_with(".gemini") && !path.starts_with(".hookwright"))
                .map(|path| path.display().to_string())
                .collect()
        };
        assert_eq!(found("python3 \"$GEMINI_PROJECT_DIR/check.py\" --fast"), ["check.py"]);
        assert_eq!(found("${GEMINI_PROJECT_DIR}/not/yet.sh && check.py"), ["check.py", "not/yet.sh"]);
        assert_eq!(found("cd not && ./yet.sh"), ["not/yet.sh"]);
        assert!(found("grep -q secret").is_empty());
        assert!(found("cat >> ./log.jsonl 2>/dev/null").is_empty());
        assert_eq!(found("./guard.sh 2> ./log.txt ./more.sh"), ["guard.sh", "more.sh"]);
    }

    #[test]
    fn sourced_scripts_are_watched_where_changes_need_trust() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("home/.gemini")).unwrap();
        std::fs::create_dir_all(root.join("p/.gemini")).unwrap();
        std::fs::write(root.join("p/a.sh"), ". ./lib.sh\n").unwrap();
        std::fs::write(root.join("p/lib.sh"), "true\n").unwrap();
        let hooks = serde_json::json!([{"hooks": [{"type": "command", "command": "sh a.sh"}]}]);
        let settings = serde_json::json!({"hooks": {"BeforeTool": hooks}}).to_string();
        std::fs::write(root.join("p/.gemini/settings.json"), settings).unwrap();
        for (review, watched) in [("block", true), ("ask", true), ("announce", false)] {
            let user = serde_json::json!({"security": {"hooks": {"review": review}}}).to_string();
            std::fs::write(root.join("home/.gemini/settings.json"), user).unwrap();
            let env = vec![
                ("HOME".into(), root.join("home").into_os_string()),
                ("PATH".into(), "/usr/bin:/bin".into()),
                ("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into()),
            ];
            let world = ProcessEnv::new(env, root.join("p"));
            let loaded = load(&world, &LoadOptions { project: root.join("p"), ..LoadOptions::default() });
            let mut watch = ConfigWatch::new(&loaded, &[]);
            assert_eq!(watch.files.contains_key(&root.join("p/lib.sh")), watched, "{review}");
            std::fs::write(root.join("p/lib.sh"), format!("true # {review}\n")).unwrap();
            assert_eq!(watch.rescan_files().contains(&root.join("p/lib.sh")), watched, "{review}");
        }
    }
}
