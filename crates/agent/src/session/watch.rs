//! Notices changes to settings files and hook scripts by looking at their times and sizes, once a second: a handful of
//! files, no threads, and it works on every file system.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hookwright_settings::Loaded;

type Look = Option<(SystemTime, u64)>;

/// The files that count, as they were when we last looked.
pub(super) struct Watch {
    files: BTreeMap<PathBuf, Look>,
}

impl Watch {
    /// Begins to watch what a configuration was made of.
    pub(super) fn new(loaded: &Loaded) -> Watch {
        let mut paths: Vec<PathBuf> = loaded.files.iter().map(|file| file.path.clone()).collect();
        paths.push(loaded.paths.trusted_hooks.clone());
        paths.extend(loaded.extensions.iter().filter(|one| one.active).map(hookwright_settings::Extension::hooks_file));
        let root = &loaded.project.root;
        let commands = loaded.registry.hooks().iter().filter_map(|hook| hook.command());
        paths.extend(commands.flat_map(|command| scripts(command, root)));
        Watch { files: paths.into_iter().map(|path| (path.clone(), look(&path))).collect() }
    }

    /// The files that changed since the last look.
    pub(super) fn changed(&mut self) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        for (path, before) in &mut self.files {
            let now = look(path);
            if now != *before {
                *before = now;
                changed.push(path.clone());
            }
        }
        changed
    }
}

fn look(path: &Path) -> Look {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.modified().ok()?, meta.len()))
}

/// The files that a command names, and those in the project that it would name if they were there: a missing script that
/// appears is news too.
fn scripts(command: &str, root: &Path) -> Vec<PathBuf> {
    let project = root.to_string_lossy();
    let mut text = command.to_owned();
    for name in ["GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "GEMINI_CWD"] {
        text = text.replace(&format!("${{{name}}}"), &project).replace(&format!("${name}"), &project);
    }
    // What a command writes to changes all the time and says nothing about the hook.
    let text = without_redirections(&text);
    let words =
        text.split(|char: char| char.is_whitespace() || "\"';|&()<>".contains(char)).filter(|word| !word.is_empty());
    let counts = |word: &str, path: &Path| path.is_file() || word.contains('/') && path.starts_with(root);
    words.map(|word| (word, root.join(word))).filter(|(word, path)| counts(word, path)).map(|(_, path)| path).collect()
}

fn without_redirections(command: &str) -> String {
    let mut parts = command.split('>');
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let target = part.trim_start_matches(['&', '|']).trim_start();
        kept.push(' ');
        kept.push_str(target.split_once(char::is_whitespace).map_or("", |(_, rest)| rest));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_found_in_commands() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::write(root.join("check.py"), "").unwrap();
        let found = |command: &str| -> Vec<String> {
            let name = |path: PathBuf| path.strip_prefix(root).unwrap().display().to_string();
            scripts(command, root).into_iter().map(name).collect()
        };
        assert_eq!(found("python3 \"$GEMINI_PROJECT_DIR/check.py\" --fast"), ["check.py"]);
        assert_eq!(found("${GEMINI_PROJECT_DIR}/not/yet.sh && check.py"), ["not/yet.sh", "check.py"]);
        assert!(found("grep -q secret").is_empty());
        assert!(found("cat >> ./log.jsonl 2>/dev/null").is_empty());
        assert_eq!(found("./guard.sh 2> ./log.txt ./more.sh"), ["guard.sh", "more.sh"]);
    }
}
