//! Landlock rules: the same paths as the mounts', enforced a second time by another part of the kernel.
//!
//! They also hold for files of the namespaces outside that are reached through an inherited descriptor, and keep
//! signals and abstract UNIX sockets inside.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use super::mounts::{DEVICES, PRIVATE_TEMP_DIRS};
use super::{ConfinementPlan, SetupError, SetupStep};

/// The oldest interface whose rules cover truncation; an older kernel is refused.
const REQUIRED_ABI: ABI = ABI::V3;
/// The newest interface whose rules are asked for; what an older kernel lacks of it, namespaces do.
const NEWEST_ABI: ABI = ABI::V6;

/// Restricts this process and its descendants.
pub(super) fn restrict(plan: &ConfinementPlan) -> Result<(), SetupError> {
    SetupStep::FileRules.run(|| {
        let status = ruleset(plan).and_then(RulesetCreated::restrict_self).map_err(io::Error::other)?;
        match status.ruleset {
            RulesetStatus::NotEnforced => Err(io::Error::other("the kernel enforces no Landlock rules")),
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        }
    })
}

fn ruleset(plan: &ConfinementPlan) -> Result<RulesetCreated, RulesetError> {
    // Writing is restricted; reading is not.
    let change = AccessFs::from_write(REQUIRED_ABI);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(change)?
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::from_all(NEWEST_ABI))?
        .create()?
        .set_compatibility(CompatLevel::BestEffort);
    let is_private = |path: &&str| !plan.shares_folder(Path::new(path));
    let temporary = PRIVATE_TEMP_DIRS.iter().copied().filter(is_private);
    for path in temporary.chain(["/dev/pts", "/dev/shm"]).map(Path::new).filter(|path| path.is_dir()) {
        rules = add_path(rules, path, change)?;
    }
    let in_writable = match plan.removable {
        Some(_) => change & !(AccessFs::RemoveFile | AccessFs::RemoveDir),
        None => change,
    };
    for path in &plan.writable {
        rules = add_path(rules, path, in_writable)?;
    }
    for path in plan.removable.iter().flatten() {
        rules = add_path(rules, path, change)?;
    }
    for name in DEVICES {
        rules = add_path(rules, &Path::new("/dev").join(name), AccessFs::WriteFile.into())?;
    }
    for stream in [rustix::stdio::stdout(), rustix::stdio::stderr()] {
        rules = add_stream(rules, stream)?;
    }
    Ok(rules)
}

fn add_path(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, RulesetError> {
    // A path that can't be opened gets no rule, and so no right.
    let Ok(opened) = PathFd::new(path) else { return Ok(rules) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(REQUIRED_ABI) };
    rules.add_rule(PathBeneath::new(opened, access))
}

/// Lets a program open the file again that it was given as stdout or stderr, as `> /dev/stderr` does.
fn add_stream(rules: RulesetCreated, stream: BorrowedFd<'_>) -> Result<RulesetCreated, RulesetError> {
    let is_file = stream.try_clone_to_owned().map(File::from).and_then(|file| file.metadata()).is_ok_and(|data| {
        use std::os::unix::fs::FileTypeExt;
        data.is_file() || data.file_type().is_char_device()
    });
    if !is_file {
        return Ok(rules);
    }
    // A file of a kind that takes no rules, such as one without a name, needs none.
    let rule = PathBeneath::new(stream, AccessFs::WriteFile | AccessFs::Truncate);
    rules.add_rule(rule)
}
