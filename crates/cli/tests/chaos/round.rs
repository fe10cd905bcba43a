//! One round: runs the programs, injects the faults, repairs the workspace, and checks everything.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Signal, geteuid};

use crate::check::{self, RoundFigures};
use crate::processes;
use crate::program_runs::{ProgramEnd, RunSlot, sleep_until};
use crate::round_plan::{Fault, RoundPlan};
use crate::workspace::{ChaosWorkspace, mount};

/// The outcome of a round.
pub(crate) struct RoundOutcome {
    pub(crate) problems: Vec<String>,
    pub(crate) figures: RoundFigures,
    /// The workspace, kept if there are problems.
    pub(crate) kept_dir: Option<PathBuf>,
}

pub(crate) fn run_round(seed: u64, disks: bool) -> RoundOutcome {
    let plan = RoundPlan::new(seed);
    let mut place = ChaosWorkspace::new(&plan, seed, disks);
    let slots: Vec<RunSlot> = plan.runs.iter().map(|_| RunSlot::default()).collect();
    let start = Instant::now();
    let ends: Vec<ProgramEnd> = std::thread::scope(|scope| {
        let run = |number: usize| {
            let (slot, place, run) = (&slots[number], &place, &plan.runs[number]);
            scope.spawn(move || slot.run(place, number, run, start))
        };
        let runs: Vec<_> = (0..plan.runs.len()).map(run).collect();
        for (at, act) in &plan.faults {
            let (place, slots) = (&place, &slots);
            scope.spawn(move || {
                sleep_until(start, *at);
                perform_fault(act, place, slots);
            });
        }
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    repair(&place);
    let mut figures = RoundFigures::default();
    let mut problems = check::processes_left(&place, &mut figures);
    processes::kill_all(&place.mark);
    slots.iter().for_each(RunSlot::leave_group);
    problems.extend(check::check_round(&plan, &place, &ends, &slots, &mut figures));
    let kept = (!problems.is_empty()).then(|| keep_workspace(&mut place, &plan, &ends));
    RoundOutcome { problems, figures, kept_dir: kept }
}

fn perform_fault(act: &Fault, place: &ChaosWorkspace, slots: &[RunSlot]) {
    let pause = |millis: u64| std::thread::sleep(Duration::from_millis(millis));
    match act {
        Fault::Signal(run, signal) => slots[*run].send(*signal),
        Fault::Pause(run, millis) => {
            slots[*run].send(Signal::STOP);
            pause(*millis);
            slots[*run].send(Signal::CONT);
        }
        Fault::LowerLimit(run, limit) => slots[*run].starve(*limit),
        Fault::SignalDescendant(which, signal) => signal_descendant(*which, *signal, place, || {}),
        Fault::PauseDescendant(which, millis) => signal_descendant(*which, Signal::STOP, place, || pause(*millis)),
        Fault::FillDisk => fill_disk(place),
        Fault::FreeDisk => free_disk(place),
        Fault::ReadOnly => set_writable(place, false),
        Fault::BreakSettings(text) => drop(fs::write(place.project_settings(), text)),
        Fault::MoveProject(back) => {
            if fs::rename(place.sandbox.project(), place.moved_project_dir()).is_ok()
                && let Some(millis) = back
            {
                pause(*millis);
                let _ = fs::rename(place.moved_project_dir(), place.sandbox.project());
            }
        }
    }
}

/// Signals one of the processes that the programs have started, and continues it if it was stopped.
fn signal_descendant(which: u64, signal: Signal, place: &ChaosWorkspace, before_it_goes_on: impl FnOnce()) {
    let mut below = processes::marked_processes(&place.mark);
    let program = crate::program();
    below.retain(|process| process.is_below(&program));
    let Some(hit) = below.get(which as usize % below.len().max(1)) else { return };
    processes::send_signal(hit.pid, &place.mark, signal);
    if signal == Signal::STOP {
        before_it_goes_on();
        processes::send_signal(hit.pid, &place.mark, Signal::CONT);
    }
}

fn fill_disk(place: &ChaosWorkspace) {
    let Some(disk) = &place.disk else { return };
    let Ok(mut file) = File::options().create(true).append(true).open(disk.join("filler")) else { return };
    for size in [4096, 512, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
}

fn free_disk(place: &ChaosWorkspace) {
    place.disk.iter().for_each(|disk| drop(fs::remove_file(disk.join("filler"))));
}

/// Makes the workspace read-only or writable: a small disk by remounting, which affects root too; elsewhere by file
/// modes, which do not.
fn set_writable(place: &ChaosWorkspace, writable: bool) {
    match &place.disk {
        Some(disk) => drop(mount(&["-o", if writable { "remount,rw" } else { "remount,ro" }], disk)),
        None if geteuid().is_root() => {}
        None => {
            let mode = fs::Permissions::from_mode(if writable { 0o755 } else { 0o555 });
            for folder in [place.sandbox.home().join(".gemini"), place.sandbox.project()] {
                let _ = fs::set_permissions(folder, mode.clone());
            }
        }
    }
}

/// Repairs what a user would repair: frees disk space, moves the project back, mends the settings.
fn repair(place: &ChaosWorkspace) {
    set_writable(place, true);
    free_disk(place);
    if place.moved_project_dir().exists() {
        // A command that was about to change the settings may have created the directory again.
        let _ = fs::rename(place.sandbox.project(), place.sandbox.sibling_path("made-anew"));
        let _ = fs::rename(place.moved_project_dir(), place.sandbox.project());
    }
}

/// Keeps the workspace, with the plan and the ends in a file beside it.
fn keep_workspace(place: &mut ChaosWorkspace, plan: &RoundPlan, ends: &[ProgramEnd]) -> PathBuf {
    let _ = fs::write(place.sandbox.sibling_path("plan.txt"), format!("{plan:#?}\n\n{ends:#?}\n"));
    place.sandbox.keep_on_disk()
}
