//! Compiles a profile into the plan that enforces it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hookwright_process::confinement::{
    AllowedHost, ConfinementLimits, ConfinementPlan, NetworkAccess, PathKind, UnixSockets,
};

use super::git_files::{git_guard_paths, ignore_file, nested_git_guard_paths};
use super::hidden_files::{HiddenGlobs, compile_glob, require_single_name};
use super::mount_aliases::MountTable;
use super::path_pattern::{PathPattern, PatternShape};
use super::service_sockets::existing_sockets;
use super::{ConfinementNetwork, ConfinementPlace, ConfinementProfile, UnenforceableLine};

/// The cache folders of package managers, relative to the home directory.
const CACHES: [(&str, &[&str]); 10] = [
    ("cargo", &[".cargo/registry", ".cargo/git"]),
    ("npm", &[".npm"]),
    ("yarn", &[".cache/yarn", ".yarn/berry/cache"]),
    ("pnpm", &[".local/share/pnpm", ".cache/pnpm"]),
    ("bun", &[".bun/install/cache"]),
    ("pip", &[".cache/pip"]),
    ("uv", &[".cache/uv"]),
    ("go", &["go/pkg/mod", ".cache/go-build"]),
    ("gradle", &[".gradle/caches"]),
    ("maven", &[".m2/repository"]),
];

/// Paths of a project that guards are made of, and that no confined command changes.
///
/// Another agent's folder holds the entries by which it calls a guard.
const GUARD_PATHS: [(&str, PathKind); 5] = [
    (".gemini", PathKind::Directory),
    (".hookwright", PathKind::Directory),
    (".claude", PathKind::Directory),
    (".codex", PathKind::Directory),
    (".env", PathKind::File),
];

/// The paths of [`GUARD_PATHS`] that hold hooks of this program.
const OWN_FOLDERS: [&str; 2] = [".gemini", ".hookwright"];
/// Files of the system's administrator that guards are made of.
const SYSTEM_GUARD_PATHS: [&str; 1] = ["/etc/gemini-cli"];
/// Folders of the kernel that are read-only even where all of the disk is writable.
const KERNEL_FOLDERS: [&str; 1] = ["/sys"];

/// A plan, and what it was made from.
#[derive(Clone, Debug)]
pub struct CompiledConfinement {
    /// The plan to run a command with.
    pub plan: ConfinementPlan,
    profiles: Vec<ConfinementProfile>,
}

/// Compiles profiles into one plan, which allows what each of them allows.
///
/// # Errors
/// The first line that cannot be enforced, with the reason.
pub fn compile(
    profiles: &[ConfinementProfile],
    place: ConfinementPlace<'_>,
) -> Result<CompiledConfinement, UnenforceableLine> {
    let mut plans = profiles.iter().map(|profile| compile_profile(profile, place));
    let first = plans.next().unwrap_or_else(|| compile_profile(&ConfinementProfile::default(), place))?;
    let plan = plans.try_fold(first, |plan, next| Ok(plan.intersect(next?)))?;
    Ok(CompiledConfinement { plan, profiles: profiles.to_vec() })
}

fn compile_profile(
    profile: &ConfinementProfile,
    place: ConfinementPlace<'_>,
) -> Result<ConfinementPlan, UnenforceableLine> {
    let mut plan = ConfinementPlan::default();
    add_writes(&mut plan, profile, place)?;
    add_caches(&mut plan, profile, place)?;
    add_guard_paths(&mut plan, place)?;
    plan.removable = removable(profile, place)?;
    add_service_sockets(&mut plan, profile, place)?;
    add_hidden(&mut plan, profile, place)?;
    add_other_names(&mut plan, place)?;
    add_aliases(&mut plan)?;
    plan.network = network(&profile.network)?;
    plan.unix_sockets = Some(if profile.unix_sockets { UnixSockets::Allowed } else { UnixSockets::PairsOnly });
    plan.visible =
        [Some(place.project), place.home].into_iter().flatten().filter_map(|p| p.canonicalize().ok()).collect();
    plan.limits = ConfinementLimits {
        memory_bytes: profile.memory_mb.map(|megabytes| megabytes.saturating_mul(1 << 20)),
        max_processes: profile.processes,
        timeout: profile.seconds.map(Duration::from_secs),
    };
    Ok(plan)
}

fn unenforceable(list: &str, text: &str, reason: impl Into<String>) -> UnenforceableLine {
    UnenforceableLine { line: format!("{list}: {text}"), reason: reason.into() }
}

fn add_writes(
    plan: &mut ConfinementPlan,
    profile: &ConfinementProfile,
    place: ConfinementPlace<'_>,
) -> Result<(), UnenforceableLine> {
    for text in &profile.writes {
        let wrong = |reason: &str| unenforceable("writes", text, reason);
        let pattern = PathPattern::parse(text, place).map_err(|reason| wrong(&reason))?;
        let Some(path) = pattern.path() else {
            return Err(wrong(
                "files that do not exist yet could match it; name a folder (`folder/**`) or single paths",
            ));
        };
        if pattern.is_exception {
            let is_folder = matches!(pattern.shape, PatternShape::Tree(_)) || path.is_dir();
            let kind = if is_folder { PathKind::Directory } else { PathKind::File };
            plan.protected.push((path, kind));
            continue;
        }
        let real = path.canonicalize().map_err(|_| wrong("it does not exist; create it first, or allow its folder"))?;
        if real == Path::new("/") {
            let fixed = KERNEL_FOLDERS.iter().chain(&SYSTEM_GUARD_PATHS).map(PathBuf::from);
            plan.protected.extend(fixed.filter(|path| path.is_dir()).map(|path| (path, PathKind::Directory)));
        } else if is_system_folder(&real) {
            return Err(wrong("devices and the kernel's own files are never writable"));
        }
        plan.writable.push(real);
    }
    plan.protected.iter().try_for_each(|(path, _)| {
        let text = format!("!{}", path.display());
        require_fixed_path(plan, path).map_err(|reason| unenforceable("writes", &text, reason))
    })
}

/// Returns the folders in which files may be removed.
fn removable(
    profile: &ConfinementProfile,
    place: ConfinementPlace<'_>,
) -> Result<Option<Vec<PathBuf>>, UnenforceableLine> {
    let Some(texts) = &profile.deletes else { return Ok(None) };
    let mut folders = Vec::new();
    for text in texts {
        let wrong = |reason: &str| unenforceable("deletes", text, reason);
        let pattern = PathPattern::parse(text, place).map_err(|reason| wrong(&reason))?;
        let path = pattern.path().filter(|path| !pattern.is_exception && (!path.exists() || path.is_dir()));
        let path = path.ok_or_else(|| wrong("name folders, such as `folder/**`"))?;
        // In a folder that does not exist nothing is removed.
        folders.extend(path.canonicalize());
    }
    Ok(Some(folders))
}

fn is_system_folder(path: &Path) -> bool {
    ["/dev", "/proc", "/sys"].iter().any(|folder| path.starts_with(folder) || Path::new(folder).starts_with(path))
}

/// Checks that no part of a protected path inside a writable folder is a link, which could be replaced.
fn require_fixed_path(plan: &ConfinementPlan, path: &Path) -> Result<(), String> {
    let is_writable = |part: &&Path| plan.writable.iter().any(|tree| part.starts_with(tree) && *part != tree.as_path());
    match path.ancestors().filter(is_writable).find(|part| part.is_symlink()) {
        Some(link) => Err(format!("{} is a symbolic link, which could be replaced", link.display())),
        None => Ok(()),
    }
}

fn add_caches(
    plan: &mut ConfinementPlan,
    profile: &ConfinementProfile,
    place: ConfinementPlace<'_>,
) -> Result<(), UnenforceableLine> {
    for name in &profile.caches {
        let known = CACHES.iter().find(|(cache, _)| cache == name);
        let folders = known.ok_or_else(|| {
            let names: Vec<&str> = CACHES.iter().map(|(name, _)| *name).collect();
            unenforceable("caches", name, format!("there is no such cache; there are {}", names.join(", ")))
        })?;
        let home = place.home.ok_or_else(|| unenforceable("caches", name, "the home directory is not known"))?;
        // A cache that is not there yet is not used.
        plan.writable.extend(folders.1.iter().filter_map(|folder| home.join(folder).canonicalize().ok()));
    }
    Ok(())
}

fn add_guard_paths(plan: &mut ConfinementPlan, place: ConfinementPlace<'_>) -> Result<(), UnenforceableLine> {
    let home = place.home.and_then(|home| home.canonicalize().ok());
    for base in [place.project.canonicalize().ok(), home.clone()].into_iter().flatten() {
        // Where nothing can be written, nothing needs to be looked for.
        if !plan.writable.iter().any(|tree| tree.starts_with(&base) || base.starts_with(tree)) {
            continue;
        }
        let is_home = home.as_ref() == Some(&base);
        // In a home directory a missing folder of another agent means that the agent is not used.
        let is_used =
            |name: &str| !is_home || OWN_FOLDERS.contains(&name) || base.join(name).symlink_metadata().is_ok();
        let own = GUARD_PATHS.iter().filter(|(name, _)| is_used(name)).map(|(name, kind)| (base.join(name), *kind));
        let nested = if is_home { Vec::new() } else { nested_git_guard_paths(&base) };
        for (path, kind) in own.chain(git_guard_paths(&base, home.as_deref())).chain(nested) {
            let is_known = plan.protected.iter().any(|(known, _)| *known == path);
            if is_known || !plan.writable.iter().any(|tree| path.starts_with(tree)) {
                continue;
            }
            if let Some(tree) = plan.writable.iter().find(|tree| tree.as_path() == path) {
                let text = tree.display().to_string();
                return Err(unenforceable("writes", &text, "guards are made of it, and it stays read-only"));
            }
            let fixed = require_fixed_path(plan, &path);
            fixed.map_err(|reason| unenforceable("guard files", &path.display().to_string(), reason))?;
            let kind = if path.is_dir() { PathKind::Directory } else { kind };
            plan.protected.push((path, kind));
        }
    }
    add_ignore_file(plan, place);
    let inside_guards = |tree: &&PathBuf| plan.protected.iter().any(|(path, _)| tree.starts_with(path));
    match plan.writable.iter().find(inside_guards) {
        Some(tree) => {
            Err(unenforceable("writes", &tree.display().to_string(), "it lies in a folder that is protected"))
        }
        None => Ok(()),
    }
}

/// Has git leave out the placeholders of files that do not exist.
fn add_ignore_file(plan: &mut ConfinementPlan, place: ConfinementPlace<'_>) {
    let Some(ignore) = place.project.canonicalize().ok().as_deref().and_then(ignore_file) else { return };
    let is_writable = plan.writable.iter().any(|tree| ignore.path.starts_with(tree));
    // Only a file that exists can show something else.
    if is_writable && !ignore.path.exists() {
        plan.protected.push((ignore.path.clone(), PathKind::File));
    }
    plan.ignore_files.push(ignore);
}

fn add_hidden(
    plan: &mut ConfinementPlan,
    profile: &ConfinementProfile,
    place: ConfinementPlace<'_>,
) -> Result<(), UnenforceableLine> {
    let mut globs: Vec<HiddenGlobs> = Vec::new();
    let mut exceptions: Vec<PathPattern<'_>> = Vec::new();
    for text in &profile.no_reads {
        let wrong = |reason: String| unenforceable("noReads", text, reason);
        let pattern = PathPattern::parse(text, place).map_err(wrong)?;
        match (&pattern.shape, pattern.path()) {
            _ if pattern.is_exception => exceptions.push(pattern),
            (PatternShape::Glob(glob), _) => {
                let matcher = compile_glob(glob).map_err(wrong)?;
                match globs.iter_mut().find(|globs| globs.base == pattern.base) {
                    Some(globs) => globs.hiding.push(matcher),
                    None => globs.push(HiddenGlobs {
                        base: pattern.base.clone(),
                        hiding: vec![matcher],
                        excepted: Vec::new(),
                    }),
                }
            }
            (_, Some(path)) => add_hidden_path(plan, &path, place).map_err(wrong)?,
            (_, None) => {}
        }
    }
    for exception in exceptions {
        let wrong = |reason: String| unenforceable("noReads", exception.text, reason);
        let text = exception.text.trim_start_matches('!');
        let Some(globs) = globs.iter_mut().find(|globs| globs.base == exception.base) else {
            return Err(wrong("an exception needs a glob that it is an exception to".to_owned()));
        };
        globs.excepted.push(compile_glob(text.strip_prefix("~/").unwrap_or(text)).map_err(wrong)?);
    }
    for globs in globs {
        let found = globs.find().map_err(|reason| unenforceable("noReads", &profile.no_reads.join(" "), reason))?;
        plan.hidden.extend(found);
    }
    plan.hidden.sort();
    plan.hidden.dedup();
    // What lies in a hidden folder is hidden with it.
    let all = plan.hidden.clone();
    plan.hidden.retain(|path| !all.iter().any(|other| path != other && path.starts_with(other)));
    let holds_project = |path: &&PathBuf| place.project.canonicalize().is_ok_and(|project| project.starts_with(path));
    match plan.hidden.iter().find(holds_project) {
        Some(path) => Err(unenforceable("noReads", &path.display().to_string(), "the command runs in it")),
        None => Ok(()),
    }
}

/// Hides sockets, which then can't be connected to.
fn add_service_sockets(
    plan: &mut ConfinementPlan,
    profile: &ConfinementProfile,
    place: ConfinementPlace<'_>,
) -> Result<(), UnenforceableLine> {
    for name in &profile.no_services {
        let sockets = existing_sockets(name, place);
        plan.hidden.extend(sockets.map_err(|reason| unenforceable("noServices", name, reason))?);
    }
    Ok(())
}

fn add_hidden_path(plan: &mut ConfinementPlan, path: &Path, place: ConfinementPlace<'_>) -> Result<(), String> {
    // What is not there can't be read.
    let Ok(real) = path.canonicalize() else { return Ok(()) };
    if real.is_file() {
        plan.hidden.extend(other_names(&real, place)?);
    }
    plan.hidden.push(real);
    Ok(())
}

/// Protects the other names (hard links) of protected files, under which they could be changed.
fn add_other_names(plan: &mut ConfinementPlan, place: ConfinementPlace<'_>) -> Result<(), UnenforceableLine> {
    let mut names = Vec::new();
    for (path, _) in &plan.protected {
        let is_covered = plan.hidden.iter().any(|hidden| path.starts_with(hidden));
        if !is_covered && path.symlink_metadata().is_ok_and(|data| data.is_file()) {
            let found = other_names(path, place);
            names.extend(found.map_err(|reason| unenforceable("read-only", &path.display().to_string(), reason))?);
        }
    }
    plan.protected.extend(names.into_iter().map(|path| (path, PathKind::File)));
    Ok(())
}

/// Protects and hides what mounts show under another path too.
fn add_aliases(plan: &mut ConfinementPlan) -> Result<(), UnenforceableLine> {
    if plan.protected.is_empty() && plan.hidden.is_empty() {
        return Ok(());
    }
    let mounts = MountTable::read().map_err(|reason| unenforceable("mounts", "all", reason))?;
    let protected = plan.protected.iter().flat_map(|(path, kind)| {
        let kind_of = |alias: &Path| if alias.is_dir() { PathKind::Directory } else { *kind };
        mounts.aliases(path).into_iter().map(move |alias| (alias.clone(), kind_of(&alias)))
    });
    let protected: Vec<(PathBuf, PathKind)> = protected.collect();
    let hidden: Vec<PathBuf> = plan.hidden.iter().flat_map(|path| mounts.aliases(path)).collect();
    plan.protected.extend(protected);
    plan.hidden.extend(hidden);
    Ok(())
}

/// Returns the names that a file has in the project besides this one.
///
/// # Errors
/// If it has a name that was not found.
fn other_names(file: &Path, place: ConfinementPlace<'_>) -> Result<Vec<PathBuf>, String> {
    if require_single_name(file).is_ok() {
        return Ok(Vec::new());
    }
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let base = place.project.canonicalize().map_err(|error| error.to_string())?;
    let inside = file.strip_prefix(&base).ok().and_then(Path::to_str).unwrap_or(name);
    let matcher = compile_glob(&globset::escape(inside))?;
    let mut found = HiddenGlobs { base, hiding: vec![matcher], excepted: Vec::new() }.find()?;
    if !found.iter().any(|path| path == file) {
        return require_single_name(file).map(|()| Vec::new());
    }
    found.retain(|path| path != file);
    Ok(found)
}

fn network(network: &ConfinementNetwork) -> Result<NetworkAccess, UnenforceableLine> {
    Ok(match network {
        ConfinementNetwork::None => NetworkAccess::None,
        ConfinementNetwork::Loopback => NetworkAccess::Loopback,
        ConfinementNetwork::All => NetworkAccess::All,
        ConfinementNetwork::Known => {
            return Err(unenforceable("network", "known", "only the call of a rule has known hosts; list them"));
        }
        ConfinementNetwork::Hosts(hosts) => {
            let parse = |host: &String| host.parse().map_err(|reason: String| unenforceable("network", host, reason));
            NetworkAccess::Hosts(hosts.iter().map(parse).collect::<Result<Vec<AllowedHost>, _>>()?)
        }
    })
}

impl CompiledConfinement {
    /// Describes the confinement in one line, for the end of a command's output.
    pub fn summary(&self) -> String {
        let mut parts: Vec<String> = self.profiles.iter().flat_map(ConfinementProfile::limits).collect();
        let mut said = std::collections::HashSet::new();
        parts.retain(|part| said.insert(part.clone()));
        parts.join("; ")
    }

    /// Describes the plan, one line per rule, with what enforces it.
    pub fn explain(&self) -> Vec<String> {
        let plan = &self.plan;
        let mut lines = vec!["everything is read-only (mount namespace, Landlock), but:".to_owned()];
        lines.extend(plan.writable.iter().map(|path| format!("  writable    {}", path.display())));
        if !plan.writable.iter().any(|path| Path::new("/tmp").starts_with(path)) {
            lines.push("  writable    /tmp, /var/tmp, /dev/shm: private, empty, gone at the end".to_owned());
        }
        for folder in plan.removable.iter().flatten() {
            lines.push(format!("  removable   files in {} (and nowhere else; Landlock)", folder.display()));
        }
        for (path, _) in &plan.protected {
            let missing = if path.symlink_metadata().is_ok() { "" } else { " (does not exist, and can't be created)" };
            lines.push(format!("  read-only   {}{missing}", path.display()));
        }
        lines.extend(plan.hidden.iter().map(|path| format!("hidden        {} (covered by a mount)", path.display())));
        lines.push(match &plan.network {
            NetworkAccess::None => "network       none (network namespace without interfaces)".to_owned(),
            NetworkAccess::Loopback => "network       own loopback interface (network namespace)".to_owned(),
            NetworkAccess::All => "network       all".to_owned(),
            NetworkAccess::Hosts(hosts) => {
                let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
                format!("network       {} (network namespace, proxy)", hosts.join(", "))
            }
        });
        let are_open = plan.unix_sockets == Some(UnixSockets::Allowed);
        let sockets = if are_open { "any" } else { "pairs only (system call filter)" };
        lines.push(format!("UNIX sockets  {sockets}"));
        lines.push("processes     own namespace; none survives the command, none outside is seen".to_owned());
        lines
            .push("privileges    none; no new namespaces, mounts, keys, io_uring, BPF (system call filter)".to_owned());
        let limits = plan.limits;
        lines.extend(limits.memory_bytes.map(|bytes| format!("memory        {} MB for each process", bytes >> 20)));
        lines.extend(limits.max_processes.map(|count| format!("limit         {count} processes at once")));
        lines.extend(limits.timeout.map(|timeout| format!("limit         {} s", timeout.as_secs())));
        lines
    }
}
