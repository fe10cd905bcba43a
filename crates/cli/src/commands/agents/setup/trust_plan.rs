//! The trust that setup records: in the project's folder, and in hooks of the project that wait for trust.
//!
//! What setup writes itself is trusted with the plan. What the folder had before is trusted only if the user says so.

use hookwright_bridge::install::InstallScope;
use hookwright_settings::trust::{FolderRule, set_folder_trust, trust_hooks};
use hookwright_settings::{FolderTrust, HookTrustReview, ProcessEnv, record_project_contents};
use serde_json::{Value, json};

use super::super::install::display_path;
use super::guard_plan::GuardPlan;
use super::undo_journal::{FileRole, UndoJournal};
use crate::args::SetupArgs;
use crate::commands::hooks::LoadedProject;
use crate::commands::prompt;
use crate::output;
use crate::presentation::opening_text::project_contents;

/// The trust that is recorded.
pub(super) struct TrustPlan {
    root: std::path::PathBuf,
    /// Whether the folder becomes trusted.
    folder: bool,
    /// Whether the hooks become trusted that the project had before.
    all_hooks: bool,
    /// Whether setup adds guards to the project, which become trusted.
    own_guards: bool,
    /// What the folder has that is not trusted, and stays so.
    declined: Vec<String>,
}

impl TrustPlan {
    /// Decides what becomes trusted, and asks about contents that the folder had before.
    pub(super) fn new(toolbox: &LoadedProject, guards: &GuardPlan, args: &SetupArgs) -> anyhow::Result<TrustPlan> {
        let loaded = &toolbox.loaded;
        let root = loaded.project.root.clone();
        let is_trusted = loaded.project.trust.is_trusted();
        let is_project = args.scope() == InstallScope::Project;
        let own_guards = is_project && guards.files.iter().any(|file| file.path.starts_with(&root));
        let contents = untrusted_contents(toolbox);
        if contents.is_empty() {
            // A folder that the user does not want to trust stays as it is.
            let folder = own_guards && !is_trusted && matches!(loaded.project.trust, FolderTrust::Unknown);
            return Ok(TrustPlan { root, folder, all_hooks: false, own_guards, declined: Vec::new() });
        }
        let is_approved = args.trust || asks(args) && ask(&root, &contents)?;
        let declined = if is_approved { Vec::new() } else { contents };
        Ok(TrustPlan { root, folder: is_approved && !is_trusted, all_hooks: is_approved, own_guards, declined })
    }

    pub(super) fn has_changes(&self) -> bool {
        self.folder || self.all_hooks
    }

    pub(super) fn summary_lines(&self, world: &ProcessEnv) -> Vec<String> {
        let root = display_path(&self.root, world);
        let mut lines = Vec::new();
        if self.folder {
            lines.push(format!("Trust: {root}, so that its hooks run"));
        } else if self.all_hooks {
            lines.push(format!("Trust: the hooks of {root} as they are now"));
        }
        if !self.declined.is_empty() {
            let what = self.declined.join("; ");
            lines.push(format!("Not trusted, and left so (--trust): {root}: {}", output::truncate_columns(&what, 200)));
        }
        lines
    }

    /// Records the trust.
    pub(super) fn apply(
        &self,
        args: &SetupArgs,
        world: &ProcessEnv,
        journal: &UndoJournal,
        guards: &GuardPlan,
    ) -> anyhow::Result<()> {
        if !self.has_changes() && !self.own_guards {
            return Ok(());
        }
        let paths = hookwright_settings::ConfigPaths::new(world);
        let files = [&*paths.trusted_folders, &*paths.trusted_hooks, &*paths.known_project_contents];
        journal.record_step(&FileRole::Trust, &files, || {
            if self.folder {
                set_folder_trust(&paths, &self.root, FolderRule::TrustFolder)?;
            }
            let loaded = LoadedProject::open(&args.place, world)?.config.loaded;
            if !loaded.project.trust.is_trusted() {
                return Ok(());
            }
            if self.folder || self.all_hooks {
                record_project_contents(&loaded)?;
            }
            let own = guards.guard_names();
            let is_approved = |review: &&HookTrustReview| self.all_hooks || own.contains(&review.hook.id());
            let approved: Vec<&HookTrustReview> = loaded.reviews.iter().filter(is_approved).collect();
            trust_hooks(&paths, approved)?;
            Ok(())
        })
    }

    pub(super) fn to_json(&self) -> Value {
        json!({"folder": self.folder, "hooks": self.all_hooks || self.own_guards, "left_untrusted": self.declined})
    }
}

/// Returns what the folder has that does not run before the user trusts it.
fn untrusted_contents(toolbox: &LoadedProject) -> Vec<String> {
    let loaded = &toolbox.loaded;
    if !loaded.project.trust.is_trusted() {
        return project_contents(loaded);
    }
    let held = loaded.reviews.iter().filter(|review| review.held);
    held.map(|review| format!("hook {}", output::one_line(review.hook.id()))).collect()
}

fn asks(args: &SetupArgs) -> bool {
    prompt::is_interactive() && !args.yes && !args.dry_run && !args.json
}

fn ask(root: &std::path::Path, contents: &[String]) -> anyhow::Result<bool> {
    output::note(format!("{} has contents that are not trusted yet, so they do not run:", root.display()))?;
    contents.iter().try_for_each(|line| output::stderr_line(&format!("  {line}")))?;
    Ok(prompt::confirm("Trust them?")?)
}
