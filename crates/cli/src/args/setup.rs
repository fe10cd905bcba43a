//! `hookwright setup` as typed.

use clap::Args;
use hookwright_bridge::Host;
use hookwright_bridge::install::InstallScope;

use super::ProjectArgs;
use super::agents::{HostSelection, host_selection_parser, named_hosts};

#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// The agents to set up, separated by commas, or `all` [default: all that are on this machine].
    #[arg(long = "agents", value_name = "NAME,…", value_delimiter = ',', value_parser = host_selection_parser())]
    names: Vec<HostSelection>,
    /// The packs of guards to add, separated by commas; `hooks packs` lists them [default: essentials].
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', add = crate::commands::completions::pack_candidates())]
    pub(crate) pack: Option<Vec<String>>,
    /// Add no guards.
    #[arg(long, conflicts_with = "pack")]
    pub(crate) no_pack: bool,
    /// For you, in all projects (the default); `--project` is for everyone who works on this project.
    #[arg(long, conflicts_with = "project")]
    pub(crate) user: bool,
    /// Change the agents' settings for the whole machine and add guards for all of its users, who can switch off neither;
    /// needs the administrator's rights.
    #[arg(long, conflicts_with_all = ["project", "user"])]
    pub(crate) machine: bool,
    /// Also trust the hooks and other contents that this folder has already.
    #[arg(long)]
    pub(crate) trust: bool,
    /// Do not try the guards in the agents. Nothing is proven then, and the exit code is 5 at best.
    #[arg(long)]
    pub(crate) no_live: bool,
    /// Only show what would change, as a diff.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do it without asking.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Restore every file as it was before setup, and remove the folders that it made.
    #[arg(long, conflicts_with_all = ["names", "pack", "no_pack", "trust", "no_live"])]
    pub(crate) undo: bool,
    /// Print the result as JSON; needs `--yes` or `--dry-run`.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: ProjectArgs,
}

impl SetupArgs {
    /// Returns the named agents, each once; `None` for all.
    pub(crate) fn hosts(&self) -> Option<Vec<Host>> {
        if self.names.is_empty() { None } else { named_hosts(&self.names) }
    }

    pub(crate) fn scope(&self) -> InstallScope {
        match self.place.project {
            _ if self.machine => InstallScope::Machine,
            Some(_) => InstallScope::Project,
            None => InstallScope::User,
        }
    }
}
