//! The files that guards depend on: settings, hooks and the files that they run, policies, records of
//! trust, and git's configuration and hooks.
//!
//! A tool call that would change one of them needs approval in every mode.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use hookwright_settings::LoadedConfig;
use hookwright_settings::trust::{GuardFileKind, may_be_loaded};
use hookwright_tools::{PathError, ToolKind, Workspace};
use serde_json::Value;

use super::protected_globs::ProtectedGlobs;
use crate::approval::ApprovalSubject;

/// The folders whose content is protected anywhere: a session may be started there later.
const PROTECTED_FOLDERS: [&str; 2] = [".gemini", ".hookwright"];

/// How many single files are protected in a confined command: each of them is a mount.
const MAX_CONFINED_FILES: usize = 200;

/// The paths that no tool changes without approval.
#[derive(Debug, Default)]
pub struct ProtectedPaths {
    /// The workspace that resolves relative paths.
    workspace: Option<Workspace>,
    /// The single files, by their given and their real paths.
    files: HashSet<PathBuf>,
    /// The folders that are protected with everything in them.
    folders: Vec<PathBuf>,
    /// The folders in which a guard may load a new file.
    load_dirs: Vec<PathBuf>,
    /// The git directories of the project, if they are not in `.git`.
    git_dirs: Vec<PathBuf>,
    /// The names of context files, which only inform the model.
    memory_file_names: Vec<String>,
    /// The file that `save_memory` appends to.
    memory_file: PathBuf,
    globs: ProtectedGlobs,
}

impl ProtectedPaths {
    /// Collects the protected paths of a configuration; `policies` are the policy files from the command line.
    pub fn new(loaded: &LoadedConfig, policies: &[PathBuf]) -> Self {
        let (root, paths) = (&loaded.project.root, &loaded.paths);
        let mut files: Vec<PathBuf> = loaded.files.iter().map(|file| file.path.clone()).collect();
        files.extend([&paths.system_settings, &paths.trusted_folders, &paths.trusted_hooks].map(Clone::clone));
        files.push(paths.system_hooks_file());
        let mut loaded_from = Vec::new();
        for hook in loaded.registry.hooks() {
            if hook.is_protected() {
                let own = loaded.guard_files_of(hook).into_iter();
                let (names, own): (Vec<_>, Vec<_>) = own.partition(|(kind, _)| *kind == GuardFileKind::Names);
                files.extend(own.into_iter().map(|(_, path)| path));
                loaded_from.extend(names.into_iter().map(|(_, path)| path));
            } else {
                // A hook whose command names a folder, such as the project, does not protect the whole folder.
                let named = loaded.files_named_by(hook).files.into_iter().map(|file| file.path);
                files.extend(named.filter(|path| !path.is_dir()));
            }
        }
        let mut folders = vec![paths.user_dir.clone(), paths.home.join(PROTECTED_FOLDERS[1]), paths.system_policies()];
        folders.extend(PROTECTED_FOLDERS.map(|name| root.join(name)));
        folders.extend([root, &paths.home].into_iter().flat_map(|base| paths.skills_dirs(base)));
        folders.extend(policies.iter().map(|path| loaded.process_env.cwd.join(path)));
        // An extension may be linked from any folder.
        folders.extend(loaded.extensions.iter().map(|extension| extension.path.clone()));
        let mut names = RealPathCache::default();
        ProtectedPaths {
            workspace: Workspace::new(root, []).ok(),
            files: files.into_iter().flat_map(|path| names.named_and_real(path)).collect(),
            folders: folders.into_iter().flat_map(|path| names.named_and_real(path)).collect(),
            load_dirs: loaded_from.into_iter().flat_map(|path| names.named_and_real(path)).collect(),
            git_dirs: find_git_dirs(root, &mut names),
            memory_file_names: loaded.settings.context.note_names.clone(),
            memory_file: paths.user_dir.join("GEMINI.md"),
            globs: ProtectedGlobs::new(loaded),
        }
    }

    /// Returns the protected files and folders of the project and the home directory that a confined command must not
    /// change, without those in a folder that is among them.
    pub(crate) fn confined_paths(&self, project: &Path, home: Option<&Path>) -> Vec<PathBuf> {
        let is_near = |path: &&PathBuf| path.starts_with(project) || home.is_some_and(|home| path.starts_with(home));
        let folders: Vec<&PathBuf> = self.folders.iter().filter(is_near).collect();
        let is_loose = |path: &&PathBuf| !folders.iter().any(|folder| path.starts_with(folder));
        let mut files: Vec<&PathBuf> = self.files.iter().filter(is_near).filter(is_loose).collect();
        files.sort();
        folders.iter().copied().chain(files.into_iter().take(MAX_CONFINED_FILES)).cloned().collect()
    }

    /// Returns the protected file that a call would change, as far as its arguments tell.
    pub(crate) fn protected_target(&self, call: &ApprovalSubject<'_>) -> Option<PathBuf> {
        let ApprovalSubject { tool, kind, args, .. } = *call;
        // Changes by other tools are detected afterwards.
        if kind != ToolKind::Edit && tool != "save_memory" {
            return None;
        }
        let home = self.workspace.as_ref()?;
        let moved = home.relocated();
        let workspace = &workspace_for_call(moved.as_ref().unwrap_or(home), call);
        let named = |key: &str| args.get(key).and_then(Value::as_str).into_iter().collect::<Vec<_>>();
        let asked = match tool {
            "save_memory" => vec![self.memory_file.to_str()?],
            "write_file" | "replace" => named("file_path"),
            // It is unknown which argument of another tool names the file.
            _ => args.values().filter_map(Value::as_str).collect(),
        };
        asked.into_iter().find_map(|asked| {
            let real = match workspace.resolve(asked) {
                Ok(real) | Err(PathError::Outside { real, .. }) => real,
                Err(_) => return None,
            };
            let written = hookwright_analysis::paths::normalized(&workspace.directory().join(asked));
            // In a project that was moved, the files that were protected at its old place still are.
            let old = real.strip_prefix(workspace.directory()).map(|rest| home.directory().join(rest)).ok();
            let old = old.filter(|_| moved.is_some());
            [Some(real), Some(written), old].into_iter().flatten().find(|path| self.covers(path))
        })
    }

    /// Returns the folder of the project.
    pub(crate) fn project(&self) -> Option<&Path> {
        self.workspace.as_ref().map(Workspace::directory)
    }

    /// Returns the file of an edit with links resolved, if tools may change it.
    pub(crate) fn edited_file(&self, call: &ApprovalSubject<'_>) -> Option<PathBuf> {
        let is_edit = matches!(call.tool, "write_file" | "replace");
        let asked = call.args.get("file_path").and_then(Value::as_str).filter(|_| is_edit)?;
        let home = self.workspace.as_ref()?;
        // In a project that was moved, an allowance for its old place does not apply.
        home.relocated().is_none().then(|| workspace_for_call(home, call).resolve(asked).ok()).flatten()
    }

    /// Returns whether a path is protected.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        self.globs.protects(path) || (self.is_guard_path(path) && !self.globs.unprotects(path))
    }

    /// Returns whether the user unprotects a path.
    pub(crate) fn is_unprotected(&self, path: &Path) -> bool {
        self.globs.unprotects(path) && !self.globs.protects(path)
    }

    /// Returns the present folder of a project that was moved.
    pub(crate) fn moved_project(&self) -> Option<PathBuf> {
        Some(self.workspace.as_ref()?.relocated()?.directory().to_owned())
    }

    /// Returns a path for display, relative to the project.
    pub(crate) fn display_path(&self, path: &Path) -> String {
        self.workspace.as_ref().map_or_else(|| path.display().to_string(), |workspace| workspace.shorten(path))
    }

    /// Returns the absolute path of a path in display form.
    pub(crate) fn absolute_path(&self, shown: &str) -> PathBuf {
        self.workspace.as_ref().map_or_else(|| shown.into(), |workspace| workspace.directory().join(shown))
    }

    fn is_guard_path(&self, path: &Path) -> bool {
        let path = &case_folded(path);
        if self.files.contains(path) || self.is_alias(path) {
            return true;
        }
        let loaded = |folder: &PathBuf| path.strip_prefix(folder).is_ok_and(|rest| may_be_loaded(folder, rest));
        if self.load_dirs.iter().any(loaded) {
            return true;
        }
        let below = self.folders.iter().filter_map(|folder| path.strip_prefix(folder).ok());
        if below.into_iter().any(|rest| !self.is_harmless_file(rest)) {
            return true;
        }
        let parts: Vec<&OsStr> = self.relevant_components(path);
        let at_folder = parts.iter().position(|part| PROTECTED_FOLDERS.iter().any(|name| part == name));
        if at_folder.is_some_and(|at| !self.is_harmless_file(&parts[at + 1..].iter().collect::<PathBuf>())) {
            return true;
        }
        let of_git = parts.iter().position(|part| *part == ".git").map(|at| parts[at + 1..].iter().collect());
        let of_git =
            of_git.or_else(|| self.git_dirs.iter().find_map(|git| Some(path.strip_prefix(git).ok()?.to_owned())));
        parts.last().is_some_and(|name| *name == ".env")
            || of_git.is_some_and(|rest: PathBuf| is_git_config_or_hook(&rest))
    }

    /// Returns the components that count: those below the project, or all of a path elsewhere.
    fn relevant_components<'p>(&self, path: &'p Path) -> Vec<&'p OsStr> {
        let root = self.workspace.as_ref().map(|workspace| case_folded(workspace.directory()));
        let path = root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path);
        let names = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        });
        names.collect()
    }

    /// Returns whether a file in a protected folder is a context file, or lies in its `tmp` folder.
    fn is_harmless_file(&self, rest: &Path) -> bool {
        let name = rest.file_name().and_then(OsStr::to_str);
        let is_memory =
            name.is_some_and(|name| self.memory_file_names.iter().any(|memory| case_folded_name(memory) == name));
        is_memory || rest.starts_with("tmp") && rest.components().count() > 1
    }

    /// Returns whether a path is a hard link to a protected file.
    fn is_alias(&self, path: &Path) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let Some(found) = path.metadata().ok().filter(|found| found.nlink() > 1 && found.is_file()) else {
                return false;
            };
            let same = |other: &PathBuf| {
                other.metadata().is_ok_and(|other| (other.dev(), other.ino()) == (found.dev(), found.ino()))
            };
            self.files.iter().any(same)
        }
        #[cfg(not(unix))]
        {
            let _ = path;
            false
        }
    }
}

/// Returns the project's workspace, resolving paths as they are resolved for the call.
fn workspace_for_call(project: &Workspace, call: &ApprovalSubject<'_>) -> Workspace {
    call.workspace.map_or_else(|| project.clone(), |workspace| project.sharing_resolution(workspace))
}

/// Caches real paths, so that shared parent folders are resolved once.
#[derive(Default)]
struct RealPathCache {
    real_paths: HashMap<PathBuf, Option<PathBuf>>,
}

impl RealPathCache {
    /// Returns a path as given and its real path, both case-folded for comparison.
    fn named_and_real(&mut self, path: PathBuf) -> Vec<PathBuf> {
        let real = self.real_path(&path).filter(|real| *real != path);
        let written = hookwright_analysis::paths::normalized(&path);
        [Some(written), real].into_iter().flatten().map(|path| case_folded(&path)).collect()
    }

    /// Returns the path with links resolved, if it exists.
    fn real_path(&mut self, path: &Path) -> Option<PathBuf> {
        if let Some(known) = self.real_paths.get(path) {
            return known.clone();
        }
        let real = match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => self.real_path(folder).and_then(|folder| resolve_symlink(folder.join(name))),
            _ => path.canonicalize().ok(),
        };
        self.real_paths.insert(path.to_owned(), real.clone());
        real
    }
}

/// Returns where a path leads whose parent has no links, if it exists.
fn resolve_symlink(path: PathBuf) -> Option<PathBuf> {
    let found = path.symlink_metadata().ok()?;
    // On case-insensitive file systems the real name may be spelt differently.
    if found.is_symlink() || cfg!(not(target_os = "linux")) { path.canonicalize().ok() } else { Some(path) }
}

/// Returns the git directories of a project whose `.git` is a file: the worktree's own and the shared one.
fn find_git_dirs(root: &Path, names: &mut RealPathCache) -> Vec<PathBuf> {
    let first_line = |file: PathBuf| {
        let bytes = hookwright_disk::read(&file, 4096, hookwright_disk::SymlinkPolicy::Follow).ok()?;
        Some(String::from_utf8_lossy(&bytes).lines().next()?.trim().to_owned())
    };
    let Some(own) =
        first_line(root.join(".git")).and_then(|line| Some(line.strip_prefix("gitdir:")?.trim().to_owned()))
    else {
        return Vec::new();
    };
    let own = root.join(own);
    let shared = first_line(own.join("commondir")).map(|shared| own.join(shared));
    [Some(own), shared].into_iter().flatten().flat_map(|path| names.named_and_real(path)).collect()
}

/// Returns whether a file in a git directory can make git run something: configuration and
/// hooks, also of submodules and worktrees.
///
/// The directory's own path counts too: a file there redirects git.
fn is_git_config_or_hook(rest: &Path) -> bool {
    let name = rest.file_name().and_then(OsStr::to_str).unwrap_or_default();
    rest.as_os_str().is_empty()
        || matches!(name, "config" | "config.worktree" | "commondir" | "gitdir")
        || rest.components().any(|part| part.as_os_str() == "hooks")
}

/// Returns the path in lower case on systems with case-insensitive names.
fn case_folded(path: &Path) -> PathBuf {
    if cfg!(any(target_os = "macos", windows)) {
        case_folded_name(&path.to_string_lossy()).into()
    } else {
        path.to_owned()
    }
}

fn case_folded_name(name: &str) -> String {
    if cfg!(any(target_os = "macos", windows)) { name.to_lowercase() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwright_settings::{LoadOptions, ProcessEnv, load};
    use serde_json::json;

    struct ProtectedPathsFixture {
        _folder: tempfile::TempDir,
        root: PathBuf,
        home: PathBuf,
    }

    fn protected_paths_fixture() -> ProtectedPathsFixture {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let (root, home) = (top.join("project"), top.join("home"));
        std::fs::create_dir_all(root.join(".gemini/hooks")).unwrap();
        std::fs::create_dir_all(home.join(".gemini")).unwrap();
        let hooks = json!([{"hooks": [{"type": "command", "command": "sh tools/guard.sh $GEMINI_PROJECT_DIR"}]}]);
        std::fs::write(root.join(".gemini/settings.json"), json!({"hooks": {"BeforeTool": hooks}}).to_string())
            .unwrap();
        ProtectedPathsFixture { _folder: folder, root, home }
    }

    fn protected(place: &ProtectedPathsFixture, globs: &serde_json::Value) -> ProtectedPaths {
        let settings = json!({"security": {"protectedPaths": globs}}).to_string();
        std::fs::write(place.home.join(".gemini/settings.json"), settings).unwrap();
        let env = vec![
            ("HOME".into(), place.home.clone().into_os_string()),
            ("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into()),
        ];
        let world = ProcessEnv::new(env, place.root.clone());
        let loaded = load(&world, &LoadOptions { project: place.root.clone(), ..LoadOptions::default() });
        ProtectedPaths::new(&loaded, &[])
    }

    fn touches(protected: &ProtectedPaths, path: &str) -> bool {
        let args = json!({"file_path": path}).as_object().unwrap().clone();
        protected.protected_target(&ApprovalSubject::new("write_file", ToolKind::Edit, &args)).is_some()
    }

    #[test]
    fn only_guard_files_are_protected() {
        let place = protected_paths_fixture();
        let protected = protected(&place, &json!([]));
        let home = place.home.display();
        for path in [
            ".gemini/settings.json",
            ".gemini/new/anything",
            "./a/../.gemini/settings.json",
            "packages/a/.gemini/settings.json",
            ".gemini/skills/a/SKILL.md",
            ".agents/skills/a/scripts/run.sh",
            ".hookwright/hooks.json",
            "tools/guard.sh",
            ".env",
            "packages/a/.env",
            ".git",
            ".git/config",
            ".git/hooks/pre-commit",
            ".git/modules/sub/config",
            "sub/.git/hooks/post-checkout",
            &format!("{home}/.gemini/settings.json"),
            &format!("{home}/.gemini/trusted_hooks.json"),
            &format!("{home}/.gemini/policies/a.toml"),
            &format!("{home}/.hookwright/hooks.json"),
        ] {
            assert!(touches(&protected, path), "{path}");
        }
        for path in [
            "src/main.rs",
            "tools/other.sh",
            ".gemini/GEMINI.md",
            "GEMINI.md",
            ".gitignore",
            ".git/info/exclude",
            "config",
            "hooks/x",
            ".env.example",
            ".gemini/tmp/notes",
            ".agents/notes.md",
            &format!("{home}/.gemini/tmp/plan.md"),
            &format!("{home}/.gemini/GEMINI.md"),
        ] {
            assert!(!touches(&protected, path), "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn symlinks_are_resolved() {
        let place = protected_paths_fixture();
        let at = |name: &str| place.root.join(name);
        std::fs::write(at("guard-copy"), "").unwrap();
        std::fs::create_dir(at("tools")).unwrap();
        std::fs::hard_link(at("guard-copy"), at("tools/guard.sh")).unwrap();
        std::os::unix::fs::symlink(".gemini", at("conf")).unwrap();
        std::os::unix::fs::symlink(".gemini/not-yet.json", at("dangling")).unwrap();
        std::os::unix::fs::symlink("../home/.gemini/settings.json", at("user")).unwrap();
        let protected = protected(&place, &json!([]));
        for path in ["guard-copy", "conf/settings.json", "dangling", "user"] {
            assert!(touches(&protected, path), "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn path_is_judged_at_its_first_resolution() {
        let place = protected_paths_fixture();
        std::fs::create_dir(place.root.join("plain")).unwrap();
        std::os::unix::fs::symlink(".gemini", place.root.join("door")).unwrap();
        let protected = protected(&place, &json!([]));
        let workspace = Workspace::new(&place.root, []).unwrap().for_call();
        let args = json!({"file_path": "door/settings.json"}).as_object().unwrap().clone();
        let call = ApprovalSubject {
            workspace: Some(&workspace),
            ..ApprovalSubject::new("write_file", ToolKind::Edit, &args)
        };
        let led_to = workspace.resolve("door/settings.json").unwrap();
        std::fs::remove_file(place.root.join("door")).unwrap();
        std::os::unix::fs::symlink("plain", place.root.join("door")).unwrap();
        assert!(protected.protected_target(&call).is_some(), "the tool would write {}", led_to.display());
    }

    #[cfg(unix)]
    #[test]
    fn linked_settings_are_protected_under_both_names() {
        let place = protected_paths_fixture();
        std::fs::rename(place.root.join(".gemini"), place.root.join("dotfiles")).unwrap();
        std::os::unix::fs::symlink("dotfiles", place.root.join(".gemini")).unwrap();
        let protected = protected(&place, &json!([]));
        assert!(touches(&protected, "dotfiles/settings.json") && touches(&protected, ".gemini/settings.json"));
        assert!(touches(&protected, "dotfiles/hooks/new.sh"));
    }

    #[test]
    fn user_globs_protect_and_unprotect() {
        let place = protected_paths_fixture();
        let globs = json!(["deploy/**", "~/notes", "!.gemini/commands/**", "!.env", "secret/", "!secret/a"]);
        let protected = protected(&place, &globs);
        let notes = place.home.join("notes/a.md");
        for path in ["deploy/a/b.sh", notes.to_str().unwrap(), "secret/a", ".gemini/settings.json", "a/.env"] {
            assert!(touches(&protected, path), "{path}");
        }
        for path in [".gemini/commands/x.toml", ".env", "other"] {
            assert!(!touches(&protected, path), "{path}");
        }
    }

    #[test]
    fn other_editing_tools_are_checked_by_every_argument() {
        let place = protected_paths_fixture();
        let protected = protected(&place, &json!([]));
        let args = json!({"target": ".env", "text": "x"}).as_object().unwrap().clone();
        let touches = |tool, kind| protected.protected_target(&ApprovalSubject::new(tool, kind, &args)).is_some();
        assert!(touches("mcp_edit", ToolKind::Edit));
        assert!(!touches("read_file", ToolKind::Read));
        assert!(!touches("save_memory", ToolKind::Other));
    }

    #[test]
    fn moved_project_stays_protected() {
        let place = protected_paths_fixture();
        let protected = protected(&place, &json!([]));
        let moved = place.home.join("moved");
        std::fs::rename(&place.root, &moved).unwrap();
        for path in ["tools/guard.sh", ".gemini/settings.json"] {
            assert!(touches(&protected, path), "{path}");
            assert!(touches(&protected, moved.join(path).to_str().unwrap()), "{path}, by its new name");
        }
        assert!(!touches(&protected, "src/main.rs"));
    }

    #[test]
    fn worktree_git_dir_is_protected() {
        let place = protected_paths_fixture();
        let shared = place.home.join("repo.bare");
        std::fs::create_dir_all(shared.join("worktrees/w")).unwrap();
        std::fs::write(place.root.join(".git"), format!("gitdir: {}\n", shared.join("worktrees/w").display())).unwrap();
        std::fs::write(shared.join("worktrees/w/commondir"), "../..\n").unwrap();
        let protected = protected(&place, &json!([]));
        for path in ["config", "hooks/pre-push", "worktrees/w/config.worktree"] {
            assert!(touches(&protected, shared.join(path).to_str().unwrap()), "{path}");
        }
    }
}
