//! `agents doctor`: does this agent really ask Hookwright? Every check is a line; what fails has something to do under it.

mod live;

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use hookwright_bridge::install::{Caller, Scope, Trust, Wiring, read, targets_read_by, to_confirm, wiring};
use hookwright_bridge::{Host, OnTimeout};
use hookwright_hooks::Hook;
use hookwright_settings::{Notice, World};
use serde_json::json;

use super::explain::{account, in_seconds};
use super::found::{self, Presence};
use super::list::state_json;
use super::{State, is_this_program, own_path};
use crate::bridge::left_out_words;
use crate::exit;
use crate::hooks::Toolbox;
use crate::out::{self, BAD, GOOD, NOTE, WARN, paint};

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Good,
    Beware,
    Wrong,
}

/// One check.
struct Check {
    mark: Mark,
    what: String,
    todo: Option<String>,
}

impl Check {
    fn good(what: impl Into<String>) -> Check {
        Check { mark: Mark::Good, what: what.into(), todo: None }
    }

    fn beware(what: impl Into<String>) -> Check {
        Check { mark: Mark::Beware, what: what.into(), todo: None }
    }

    fn wrong(what: impl Into<String>) -> Check {
        Check { mark: Mark::Wrong, what: what.into(), todo: None }
    }

    fn todo(self, todo: impl Into<String>) -> Check {
        Check { todo: Some(todo.into()), ..self }
    }
}

pub(super) fn run(toolbox: &Toolbox, world: &World, host: Host, live: bool, as_json: bool) -> anyhow::Result<u8> {
    let started = Instant::now();
    let project = toolbox.loaded.project.root.clone();
    let presence = found::find(&[host], world, &project)?.remove(0);
    let states = [Scope::User, Scope::Project].map(|scope| State::of(host, scope, world, &project));
    let mut checks = vec![program(&presence)];
    checks.extend(wired(host, &states, world, &project));
    checks.extend(states.iter().flat_map(|state| trusted(state, &toolbox.loaded.project.root)));
    checks.extend(doubles(host, &states, world, &project));
    checks.extend(guards(toolbox));
    checks.extend(hooks(toolbox, host));
    let wrong = checks.iter().any(|check| check.mark == Mark::Wrong);
    if !as_json {
        print(&checks)?;
    }
    let trial = match live {
        true => Some(live::run(&presence, world, &own_path(world, &project)?, started, as_json)?),
        false => None,
    };
    let failed = wrong || trial.as_ref().is_some_and(|trial| !trial.holds);
    if as_json {
        let checks: Vec<_> = checks
            .iter()
            .map(|check| json!({"state": word(check.mark), "what": check.what, "todo": check.todo}))
            .collect();
        out::json(&json!({
            "ok": !failed, "agent": host.name(), "version": presence.version, "checks": checks,
            "user": state_json(&states[0]), "project": state_json(&states[1]),
            "live": trial.map(|trial| trial.json),
        }))?;
    }
    Ok(if failed { exit::ERROR } else { exit::OK })
}

fn word(mark: Mark) -> &'static str {
    match mark {
        Mark::Good => "ok",
        Mark::Beware => "warn",
        Mark::Wrong => "FAIL",
    }
}

fn print(checks: &[Check]) -> anyhow::Result<()> {
    let mut stdout = out::stdout();
    for check in checks {
        let style = match check.mark {
            Mark::Good => GOOD,
            Mark::Beware => WARN,
            Mark::Wrong => BAD,
        };
        writeln!(stdout, "{} {}", paint(style, format!("{:>4}", word(check.mark))), out::one_line(&check.what))?;
        if let Some(todo) = &check.todo {
            writeln!(stdout, "       {} {}", paint(NOTE, "to do:"), out::one_line(todo))?;
        }
    }
    Ok(())
}

/// Is the agent here, in a version that somebody has looked at?
fn program(presence: &Presence) -> Check {
    let info = presence.host.info();
    let title = info.title;
    match (&presence.program, &presence.version) {
        (None, _) => Check::beware(format!("no program `{}` is on the search path", info.program)),
        (Some(path), None) => Check::beware(format!("{title} at {} does not say its version", path.display())),
        (Some(path), Some(version)) if version == info.known_version => {
            Check::good(format!("{title} {version} at {}: the version that is known here", path.display()))
        }
        (Some(path), Some(version)) => Check::beware(format!(
            "{title} {version} at {}: what is known here is {}",
            path.display(),
            info.known_version
        ))
        .todo(format!("`hookwright agents doctor {} --live` tries this one", presence.host)),
    }
}

/// Are the entries there, as they are written now, and do they call a program that is there?
fn wired(host: Host, states: &[State; 2], world: &World, project: &Path) -> Vec<Check> {
    let install = |scope: Scope| match scope {
        Scope::User => format!("`hookwright agents install {host}`"),
        Scope::Project => format!("`hookwright agents install {host} --project`"),
    };
    let mut checks = Vec::new();
    for state in states {
        let (file, scope) = (state.target.file.display(), state.target.scope);
        match &state.wiring {
            Err(error) => checks.push(Check::wrong(error.to_string()).todo("correct the file by hand first")),
            Ok(wiring) if !wiring.is_any() => {}
            Ok(wiring) => {
                let count = wiring.found.len();
                let whole = wiring.missing.is_empty() && wiring.outdated.is_empty();
                checks.extend(whole.then(|| Check::good(format!("{file}: {count} entries"))));
                if !wiring.missing.is_empty() {
                    let missing = wiring.missing.join(", ");
                    checks.push(Check::wrong(format!("{file}: no entry at {missing}")).todo(install(scope)));
                }
                if !wiring.outdated.is_empty() {
                    let outdated = wiring.outdated.join(", ");
                    checks.push(Check::wrong(format!("{file}: outdated at {outdated}")).todo(install(scope)));
                }
                checks.extend(called(wiring, world, project).map(|check| match check.mark {
                    Mark::Good => check,
                    _ => check.todo(install(scope)),
                }));
                checks.extend(switched_off(state));
                let by_hand: Vec<&str> = wiring.by_hand().map(|found| found.event.as_str()).collect();
                if !by_hand.is_empty() {
                    let events = by_hand.join(", ");
                    checks.push(Check::beware(format!("{file}: entries written by hand at {events}")).todo(
                        "they are not kept up to date, and open where hookwright can't be run; remove them by hand",
                    ));
                }
            }
        }
    }
    if !states.iter().any(State::is_any) && checks.is_empty() {
        checks.push(Check::wrong(format!("{} does not ask Hookwright", host.title())).todo(install(Scope::User)));
    }
    checks
}

/// Whether the program that entries call can be started.
fn called(wiring: &Wiring, world: &World, project: &Path) -> Option<Check> {
    let program = wiring.program()?;
    Some(match Caller::of(program) {
        Caller::At(path) if !found::is_executable(Path::new(&path)) => {
            Check::wrong(format!("the entries call {path}, which can't be run: every call is refused"))
        }
        Caller::At(path) => match is_this_program(&path, world, project) {
            true => Check::good(format!("the entries call this program, {path}")),
            false => Check::beware(format!("the entries call another program than this one: {path}")),
        },
        Caller::OnPath => match found::search(world, project, "hookwright") {
            Some(path) => Check::good(format!("the entries call hookwright, which is {} here", path.display())),
            None => Check::wrong("the entries call hookwright, which is not on the search path: every call is refused"),
        },
    })
}

/// Settings of the agent's own that keep every hook from running, or the file from counting.
fn switched_off(state: &State) -> Vec<Check> {
    let text = read(&state.target).ok().flatten().unwrap_or_default();
    let file = &state.target.file;
    let Ok(tree) = hookwright_settings::edit::seam::read(file, text.trim_start_matches('\u{feff}')) else {
        return Vec::new();
    };
    let (value, shown) = (tree.value(), file.display());
    let mut checks = Vec::new();
    if value["disableAllHooks"] == true {
        checks.push(Check::wrong(format!("{shown}: `disableAllHooks` is on, so no hook runs")).todo("remove it"));
    }
    if state.target.host == Host::Cursor && value["version"] != 1 {
        checks.push(Check::wrong(format!("{shown}: has no `\"version\": 1`, which Cursor wants")).todo("add it"));
    }
    checks
}

/// Does the agent trust the entries?
fn trusted(state: &State, project: &Path) -> Option<Check> {
    let wiring = state.wiring.as_ref().ok().filter(|wiring| wiring.is_any())?;
    let (host, scope) = (state.target.host, state.target.scope);
    let title = host.title();
    let what = match scope {
        Scope::User => "the user's entries".to_owned(),
        Scope::Project => format!("the entries of {}", project.display()),
    };
    let check = match &state.trust {
        Trust::Yes => return Some(Check::good(format!("{title} trusts {what}"))),
        Trust::NotAsked => return None,
        Trust::No => Check::wrong(format!("{title} has not been told to trust {what}: it may not run them")),
        Trust::Partly(some, _) => {
            Check::wrong(format!("{title} trusts {some} of {} of {what}: the others do not run", wiring.found.len()))
        }
        Trust::Unknown => Check::beware(format!("{title}'s records do not tell whether it runs {what}")),
    };
    Some(match to_confirm(host, scope) {
        Some(todo) => check.todo(todo),
        None => check,
    })
}

/// Does anything fire twice?
fn doubles(host: Host, states: &[State; 2], world: &World, project: &Path) -> Vec<Check> {
    let mut checks = Vec::new();
    if states.iter().all(State::is_any) {
        checks.push(
            Check::beware("both the user's and the project's settings have entries: every hook runs twice")
                .todo(format!("`hookwright agents uninstall {host}`, with or without `--project`")),
        );
    }
    for borrowed in targets_read_by(host, world, project) {
        if !wiring(&borrowed).is_ok_and(|wiring| wiring.is_any()) {
            continue;
        }
        let (file, other) = (borrowed.file.display(), borrowed.host.title());
        let title = host.title();
        checks.push(match states.iter().any(State::is_any) {
            true => Check::good(format!("{title} may read {file} too: the entries there, for {other}, stand down")),
            false => Check::beware(format!("{title} may read {file}, whose entries are for {other}"))
                .todo(format!("`hookwright agents install {host}` gives it its own")),
        });
    }
    checks
}

/// Would every guard do its work?
fn guards(toolbox: &Toolbox) -> Vec<Check> {
    let mut checks: Vec<Check> =
        toolbox.unarmed().iter().map(|guard| Check::wrong(guard.to_string()).todo(guard.advice())).collect();
    let armed = toolbox.entries().iter().filter(|entry| entry.hook.is_guard()).count().saturating_sub(checks.len());
    if armed > 0 {
        let guards = if armed == 1 { "guard is" } else { "guards are" };
        checks.push(Check::good(format!("{armed} {guards} armed")));
    }
    for hook in toolbox.loaded.untrusted_blocking_hooks() {
        checks.push(Check::beware(left_out_words(&hook)).todo("trust the folder, or remove the hook"));
    }
    for notice in &toolbox.loaded.notices {
        if matches!(notice, Notice::ProjectNotTrusted { .. }) {
            checks.push(Check::beware(notice.to_string()));
        }
    }
    checks
}

/// Which hooks are not what they are here, in short.
fn hooks(toolbox: &Toolbox, host: Host) -> Vec<Check> {
    let entries = toolbox.entries();
    let mut checks = Vec::new();
    let explain = |hook: &Hook| format!("`hookwright agents explain {host} {}`", out::shorten(hook.id(), 60));
    for entry in &entries {
        let hook = entry.hook.as_ref();
        let account = account(host, hook);
        let blind = account.at.is_empty() || account.lost.iter().any(|lost| lost.grave);
        if hook.is_guard() && blind {
            let what = if account.at.is_empty() { "never runs" } else { "can't refuse anything" };
            let name = out::shorten(hook.id(), 60);
            checks.push(
                Check::wrong(format!("guard `{name}` at {} {what} under {}", hook.event, host.title()))
                    .todo(explain(hook)),
            );
        }
        if let Some(longest) = account.cut_short {
            let (own, longest) = (in_seconds(hook.timeout), in_seconds(longest));
            let name = out::shorten(hook.id(), 60);
            checks.push(Check::beware(format!(
                "`{name}` may take {own} s, and is ended after {longest} s under {}",
                host.title()
            )));
        }
    }
    if host.info().on_timeout == OnTimeout::Opens && !entries.is_empty() {
        checks.push(Check::good(format!(
            "{} lets a call run when a hook's time is up; the bridge answers before that",
            host.title()
        )));
    }
    checks
}
