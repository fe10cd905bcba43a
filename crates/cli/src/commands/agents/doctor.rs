//! `agents doctor`: checks that an agent really calls Hookwright. Each check is one line, with a hint
//! below it on failure.

mod live;

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use hookwright_bridge::install::{
    EntryProgram, HostTrust, HostWiring, InstallScope, confirmation_hint, load_wiring, read_target, targets_read_by,
};
use hookwright_bridge::{Host, TimeoutPolicy};
use hookwright_hooks::Hook;
use hookwright_settings::{Notice, ProcessEnv};
use serde_json::json;

use super::detection::{self, DetectedAgent};
use super::explain::{format_seconds, host_compatibility};
use super::list::install_state_json;
use super::{AgentInstallState, is_this_program, own_program_path};
use crate::bridge::untrusted_hook_note;
use crate::commands::hooks::LoadedProject;
use crate::exit;
use crate::output::{self, BAD, GOOD, NOTE, WARN, paint};

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckStatus {
    Passed,
    Warning,
    Failed,
}

/// One check, with its line and its hint.
struct DoctorCheck {
    status: CheckStatus,
    summary: String,
    hint: Option<String>,
}

impl DoctorCheck {
    fn passed(what: impl Into<String>) -> DoctorCheck {
        DoctorCheck { status: CheckStatus::Passed, summary: what.into(), hint: None }
    }

    fn warning(what: impl Into<String>) -> DoctorCheck {
        DoctorCheck { status: CheckStatus::Warning, summary: what.into(), hint: None }
    }

    fn failed(what: impl Into<String>) -> DoctorCheck {
        DoctorCheck { status: CheckStatus::Failed, summary: what.into(), hint: None }
    }

    fn with_hint(self, todo: impl Into<String>) -> DoctorCheck {
        DoctorCheck { hint: Some(todo.into()), ..self }
    }
}

pub(super) fn run(
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    host: Host,
    live: bool,
    as_json: bool,
) -> anyhow::Result<u8> {
    let started = Instant::now();
    let project = toolbox.loaded.project.root.clone();
    let presence = detection::detect_agents(&[host], world, &project)?.remove(0);
    let states = [InstallScope::User, InstallScope::Project]
        .map(|scope| AgentInstallState::inspect(host, scope, world, &project));
    let mut checks = vec![check_program(&presence)];
    checks.extend(check_entries(host, &states, world, &project));
    checks.extend(states.iter().flat_map(|state| check_trust(state, &toolbox.loaded.project.root)));
    checks.extend(check_duplicates(host, &states, world, &project));
    checks.extend(check_guards(toolbox));
    checks.extend(check_hooks(toolbox, host));
    let wrong = checks.iter().any(|check| check.status == CheckStatus::Failed);
    if !as_json {
        print_checks(&checks)?;
    }
    let trial = match live {
        true => Some(live::run(&presence, world, &own_program_path(world, &project)?, started, as_json)?),
        false => None,
    };
    let failed = wrong || trial.as_ref().is_some_and(|trial| !trial.holds);
    if as_json {
        let checks: Vec<_> = checks
            .iter()
            .map(|check| json!({"state": status_label(check.status), "what": check.summary, "todo": check.hint}))
            .collect();
        output::print_json(&json!({
            "ok": !failed, "agent": host.name(), "version": presence.version, "checks": checks,
            "user": install_state_json(&states[0]), "project": install_state_json(&states[1]),
            "live": trial.map(|trial| trial.json),
        }))?;
    }
    Ok(if failed { exit::ERROR } else { exit::OK })
}

fn status_label(mark: CheckStatus) -> &'static str {
    match mark {
        CheckStatus::Passed => "ok",
        CheckStatus::Warning => "warn",
        CheckStatus::Failed => "FAIL",
    }
}

fn print_checks(checks: &[DoctorCheck]) -> anyhow::Result<()> {
    let mut stdout = output::stdout();
    for check in checks {
        let style = match check.status {
            CheckStatus::Passed => GOOD,
            CheckStatus::Warning => WARN,
            CheckStatus::Failed => BAD,
        };
        writeln!(
            stdout,
            "{} {}",
            paint(style, format!("{:>4}", status_label(check.status))),
            output::one_line(&check.summary)
        )?;
        if let Some(todo) = &check.hint {
            writeln!(stdout, "       {} {}", paint(NOTE, "to do:"), output::one_line(todo))?;
        }
    }
    Ok(())
}

/// Checks that the agent's program is installed, in the version that Hookwright was tried with.
fn check_program(presence: &DetectedAgent) -> DoctorCheck {
    let info = presence.host.info();
    let title = info.title;
    match (&presence.program, &presence.version) {
        (None, _) => DoctorCheck::warning(format!("no program `{}` is on the search path", info.program)),
        (Some(path), None) => {
            DoctorCheck::warning(format!("{title} at {} does not report its version", path.display()))
        }
        (Some(path), Some(version)) if version == info.known_version => DoctorCheck::passed(format!(
            "{title} {version} at {}: the version that Hookwright was tested with",
            path.display()
        )),
        (Some(path), Some(version)) => DoctorCheck::warning(format!(
            "{title} {version} at {}: Hookwright was tested with {}",
            path.display(),
            info.known_version
        ))
        .with_hint(format!("`hookwright agents doctor {} --live` tests this version", presence.host)),
    }
}

/// Checks that the entries are complete and current, and that the program they call exists.
fn check_entries(host: Host, states: &[AgentInstallState; 2], world: &ProcessEnv, project: &Path) -> Vec<DoctorCheck> {
    let install = |scope: InstallScope| match scope {
        InstallScope::User => format!("`hookwright agents install {host}`"),
        InstallScope::Project => format!("`hookwright agents install {host} --project`"),
    };
    let mut checks = Vec::new();
    for state in states {
        let (file, scope) = (state.target.file.display(), state.target.scope);
        match &state.wiring {
            Err(error) => {
                checks.push(DoctorCheck::failed(error.to_string()).with_hint("correct the file by hand first"))
            }
            Ok(wiring) if !wiring.has_entries() => {}
            Ok(wiring) => {
                let count = wiring.entries.len();
                let whole = wiring.missing.is_empty() && wiring.outdated.is_empty();
                checks.extend(whole.then(|| DoctorCheck::passed(format!("{file}: {count} entries"))));
                if !wiring.missing.is_empty() {
                    let missing = wiring.missing.join(", ");
                    checks
                        .push(DoctorCheck::failed(format!("{file}: no entry for {missing}")).with_hint(install(scope)));
                }
                if !wiring.outdated.is_empty() {
                    let outdated = wiring.outdated.join(", ");
                    checks.push(
                        DoctorCheck::failed(format!("{file}: outdated entries for {outdated}"))
                            .with_hint(install(scope)),
                    );
                }
                checks.extend(check_entry_program(wiring, world, project).map(|check| match check.status {
                    CheckStatus::Passed => check,
                    _ => check.with_hint(install(scope)),
                }));
                checks.extend(check_disabling_settings(state));
                let by_hand: Vec<&str> = wiring.handwritten().map(|found| found.event.as_str()).collect();
                if !by_hand.is_empty() {
                    let events = by_hand.join(", ");
                    checks
                        .push(DoctorCheck::warning(format!("{file}: entries written by hand for {events}")).with_hint(
                        "remove them: Hookwright does not update them, and calls pass where hookwright can't be run",
                    ));
                }
            }
        }
    }
    if !states.iter().any(AgentInstallState::has_entries) && checks.is_empty() {
        checks.push(
            DoctorCheck::failed(format!("{} does not call Hookwright", host.title()))
                .with_hint(install(InstallScope::User)),
        );
    }
    checks
}

/// Checks that the program that the entries call can be started.
fn check_entry_program(wiring: &HostWiring, world: &ProcessEnv, project: &Path) -> Option<DoctorCheck> {
    let program = wiring.program()?;
    Some(match EntryProgram::from_command(program) {
        EntryProgram::Absolute(path) if !detection::is_executable(Path::new(&path)) => {
            DoctorCheck::failed(format!("the entries call {path}, which can't be run: every call is refused"))
        }
        EntryProgram::Absolute(path) => match is_this_program(&path, world, project) {
            true => DoctorCheck::passed(format!("the entries call this program, {path}")),
            false => DoctorCheck::warning(format!("the entries call a program other than this one: {path}")),
        },
        EntryProgram::OnPath => match detection::find_on_search_path(world, project, "hookwright") {
            Some(path) => DoctorCheck::passed(format!("the entries call hookwright, which is {} here", path.display())),
            None => DoctorCheck::failed(
                "the entries call hookwright, which is not on the search path: every call is refused",
            ),
        },
    })
}

/// Checks the agent's own settings for those that disable its hooks or make it ignore the file.
fn check_disabling_settings(state: &AgentInstallState) -> Vec<DoctorCheck> {
    let text = read_target(&state.target).ok().flatten().unwrap_or_default();
    let file = &state.target.file;
    let Ok(tree) = hookwright_settings::edit::json_splice::parse_tree(file, text.trim_start_matches('\u{feff}')) else {
        return Vec::new();
    };
    let (value, shown) = (tree.to_value(), file.display());
    let mut checks = Vec::new();
    if value["disableAllHooks"] == true {
        checks.push(
            DoctorCheck::failed(format!("{shown}: `disableAllHooks` is on, so no hook runs")).with_hint("remove it"),
        );
    }
    if state.target.host == Host::Cursor && value["version"] != 1 {
        checks.push(
            DoctorCheck::failed(format!("{shown}: `\"version\": 1` is missing, which Cursor requires"))
                .with_hint("add it"),
        );
    }
    checks
}

/// Checks that the agent trusts the entries.
fn check_trust(state: &AgentInstallState, project: &Path) -> Option<DoctorCheck> {
    let wiring = state.wiring.as_ref().ok().filter(|wiring| wiring.has_entries())?;
    let (host, scope) = (state.target.host, state.target.scope);
    let title = host.title();
    let what = match scope {
        InstallScope::User => "the user's entries".to_owned(),
        InstallScope::Project => format!("the entries of {}", project.display()),
    };
    let check = match &state.trust {
        HostTrust::Yes => return Some(DoctorCheck::passed(format!("{title} trusts {what}"))),
        HostTrust::NotAsked => return None,
        HostTrust::No => DoctorCheck::failed(format!("{title} does not trust {what} yet: it may not run them")),
        HostTrust::Partly(some, _) => DoctorCheck::failed(format!(
            "{title} trusts only {some} of {} of {what}: the others do not run",
            wiring.entries.len()
        )),
        HostTrust::Unknown => DoctorCheck::warning(format!("{title}'s records do not show whether it trusts {what}")),
    };
    Some(match confirmation_hint(host, scope) {
        Some(todo) => check.with_hint(todo),
        None => check,
    })
}

/// Checks that no hook runs twice for an event.
fn check_duplicates(
    host: Host,
    states: &[AgentInstallState; 2],
    world: &ProcessEnv,
    project: &Path,
) -> Vec<DoctorCheck> {
    let mut checks = Vec::new();
    if states.iter().all(AgentInstallState::has_entries) {
        checks.push(
            DoctorCheck::warning("both the user's and the project's settings have entries: every hook runs twice")
                .with_hint(format!("`hookwright agents uninstall {host}`, with or without `--project`")),
        );
    }
    for borrowed in targets_read_by(host, world, project) {
        if !load_wiring(&borrowed).is_ok_and(|wiring| wiring.has_entries()) {
            continue;
        }
        let (file, other) = (borrowed.file.display(), borrowed.host.title());
        let title = host.title();
        checks.push(match states.iter().any(AgentInstallState::has_entries) {
            true => DoctorCheck::passed(format!(
                "{title} may read {file} too: the bridge ignores the entries there, which are for {other}"
            )),
            false => DoctorCheck::warning(format!("{title} may read {file}, but the entries there are for {other}"))
                .with_hint(format!("`hookwright agents install {host}` writes its own entries")),
        });
    }
    checks
}

/// Checks that every guard is armed.
fn check_guards(toolbox: &LoadedProject) -> Vec<DoctorCheck> {
    let mut checks: Vec<DoctorCheck> = toolbox
        .unarmed_guards()
        .iter()
        .map(|guard| DoctorCheck::failed(guard.to_string()).with_hint(guard.advice()))
        .collect();
    let armed = toolbox.entries().iter().filter(|entry| entry.hook.is_guard()).count().saturating_sub(checks.len());
    if armed > 0 {
        let guards = if armed == 1 { "guard is" } else { "guards are" };
        checks.push(DoctorCheck::passed(format!("{armed} {guards} armed")));
    }
    for hook in toolbox.loaded.untrusted_blocking_hooks() {
        checks.push(DoctorCheck::warning(untrusted_hook_note(&hook)).with_hint("trust the folder, or remove the hook"));
    }
    for notice in &toolbox.loaded.notices {
        if matches!(notice, Notice::ProjectNotTrusted { .. }) {
            checks.push(DoctorCheck::warning(notice.to_string()));
        }
    }
    checks
}

/// Checks which hooks lose a capability or time under the agent.
fn check_hooks(toolbox: &LoadedProject, host: Host) -> Vec<DoctorCheck> {
    let entries = toolbox.entries();
    let mut checks = Vec::new();
    let explain =
        |hook: &Hook| format!("`hookwright agents explain {host} {}`", output::truncate_columns(hook.id(), 60));
    for entry in &entries {
        let hook = entry.hook.as_ref();
        let account = host_compatibility(host, hook);
        let blind = account.host_events.is_empty() || account.missing.iter().any(|lost| lost.disables_guards);
        if hook.is_guard() && blind {
            let what = if account.host_events.is_empty() { "never runs" } else { "can't refuse anything" };
            let name = output::truncate_columns(hook.id(), 60);
            checks.push(
                DoctorCheck::failed(format!("guard `{name}` at {} {what} under {}", hook.event, host.title()))
                    .with_hint(explain(hook)),
            );
        }
        if let Some(longest) = account.shortened_timeout {
            let (own, longest) = (format_seconds(hook.timeout), format_seconds(longest));
            let name = output::truncate_columns(hook.id(), 60);
            checks.push(DoctorCheck::warning(format!(
                "`{name}` may run for {own} s, but under {} it is stopped after {longest} s",
                host.title()
            )));
        }
    }
    if host.info().on_timeout == TimeoutPolicy::FailsOpen && !entries.is_empty() {
        checks.push(DoctorCheck::passed(format!(
            "{} lets a call run when a hook times out; the bridge answers before that",
            host.title()
        )));
    }
    checks
}
