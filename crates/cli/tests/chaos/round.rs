//! One round: the programs run, the acts happen, the world is mended, and everything is looked through.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Signal, geteuid};

use crate::check::{self, Figures};
use crate::place::{Place, mount};
use crate::plan::{Act, Plan};
use crate::processes;
use crate::runs::{End, Slot, sleep_until};

/// What became of a round.
pub(crate) struct Outcome {
    pub(crate) problems: Vec<String>,
    pub(crate) figures: Figures,
    /// Where it took place, if that is worth a look.
    pub(crate) kept: Option<PathBuf>,
}

pub(crate) fn round(seed: u64, disks: bool) -> Outcome {
    let plan = Plan::new(seed);
    let mut place = Place::new(&plan, seed, disks);
    let slots: Vec<Slot> = plan.runs.iter().map(|_| Slot::default()).collect();
    let start = Instant::now();
    let ends: Vec<End> = std::thread::scope(|scope| {
        let run = |number: usize| {
            let (slot, place, run) = (&slots[number], &place, &plan.runs[number]);
            scope.spawn(move || slot.run(place, number, run, start))
        };
        let runs: Vec<_> = (0..plan.runs.len()).map(run).collect();
        for (at, act) in &plan.acts {
            let (place, slots) = (&place, &slots);
            scope.spawn(move || {
                sleep_until(start, *at);
                perform(act, place, slots);
            });
        }
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    mend(&place);
    let mut figures = Figures::default();
    let mut problems = check::processes_left(&place, &mut figures);
    processes::end_all(&place.mark);
    slots.iter().for_each(Slot::leave_group);
    problems.extend(check::all(&plan, &place, &ends, &slots, &mut figures));
    let kept = (!problems.is_empty()).then(|| keep(&mut place, &plan, &ends));
    Outcome { problems, figures, kept }
}

fn perform(act: &Act, place: &Place, slots: &[Slot]) {
    let pause = |millis: u64| std::thread::sleep(Duration::from_millis(millis));
    match act {
        Act::Signal(run, signal) => slots[*run].send(*signal),
        Act::Pause(run, millis) => {
            slots[*run].send(Signal::STOP);
            pause(*millis);
            slots[*run].send(Signal::CONT);
        }
        Act::Starve(run, limit) => slots[*run].starve(*limit),
        Act::Strike(which, signal) => strike(*which, *signal, place, || {}),
        Act::Freeze(which, millis) => strike(*which, Signal::STOP, place, || pause(*millis)),
        Act::Fill => fill(place),
        Act::Drain => drain(place),
        Act::ReadOnly => set_writable(place, false),
        Act::BreakSettings(text) => drop(fs::write(place.project_settings(), text)),
        Act::MoveProject(back) => {
            if fs::rename(place.sandbox.project(), place.elsewhere()).is_ok()
                && let Some(millis) = back
            {
                pause(*millis);
                let _ = fs::rename(place.elsewhere(), place.sandbox.project());
            }
        }
    }
}

/// Hits one of the processes that the programs have started, and lets it go on if it was only stopped.
fn strike(which: u64, signal: Signal, place: &Place, before_it_goes_on: impl FnOnce()) {
    let mut below = processes::marked(&place.mark);
    let program = crate::program();
    below.retain(|process| process.is_below(&program));
    let Some(hit) = below.get(which as usize % below.len().max(1)) else { return };
    processes::send(hit.pid, &place.mark, signal);
    if signal == Signal::STOP {
        before_it_goes_on();
        processes::send(hit.pid, &place.mark, Signal::CONT);
    }
}

fn fill(place: &Place) {
    let Some(disk) = &place.disk else { return };
    let Ok(mut file) = File::options().create(true).append(true).open(disk.join("filler")) else { return };
    for size in [4096, 512, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
}

fn drain(place: &Place) {
    place.disk.iter().for_each(|disk| drop(fs::remove_file(disk.join("filler"))));
}

/// A small disk can be read-only for everybody; elsewhere, modes have no effect on root.
fn set_writable(place: &Place, writable: bool) {
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

/// What a person would do after a bad day: make room, put the project back, mend the settings.
fn mend(place: &Place) {
    set_writable(place, true);
    drain(place);
    if place.elsewhere().exists() {
        // A command that was about to change its settings may have made it anew.
        let _ = fs::rename(place.sandbox.project(), place.sandbox.beside("made-anew"));
        let _ = fs::rename(place.elsewhere(), place.sandbox.project());
    }
}

/// Leaves everything where it is, with the plan and the ends beside it.
fn keep(place: &mut Place, plan: &Plan, ends: &[End]) -> PathBuf {
    let _ = fs::write(place.sandbox.beside("plan.txt"), format!("{plan:#?}\n\n{ends:#?}\n"));
    place.sandbox.keep()
}
