//! The plan of one round: a value, all of it drawn from a seed, without any I/O.
//!
//! The plan repeats with its seed. The moment at which a fault meets a session does not: it depends on the machine.

use hookwright_testkit::EVENT_NAMES;
use rustix::process::Signal;

use crate::seeded_rng::SeededRng;

/// Faults happen within this time from a round's start, in milliseconds: about as long as a session takes.
const FAULT_SPAN_MS: u64 = 600;

#[derive(Debug)]
pub(crate) struct RoundPlan {
    pub(crate) disk: DiskSize,
    pub(crate) guard: GuardLayer,
    /// Indices into [`HOOKS`], each with its event.
    pub(crate) hooks: Vec<(&'static str, usize)>,
    pub(crate) runs: Vec<PlannedRun>,
    /// Each fault with its time, in milliseconds from the start.
    pub(crate) faults: Vec<(u64, Fault)>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum DiskSize {
    Plenty,
    /// Home or project is on its own disk of so many kilobytes.
    Small(u64, DiskFolder),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum DiskFolder {
    Home,
    Project,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum GuardLayer {
    User,
    System,
}

/// A run of the program.
#[derive(Debug)]
pub(crate) struct PlannedRun {
    pub(crate) at: u64,
    pub(crate) mode: RunMode,
    pub(crate) limit: Option<ResourceLimit>,
    /// The model's answers, each a list of calls.
    pub(crate) answers: Vec<Vec<PlannedCall>>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum RunMode {
    Headless {
        resume: bool,
        read: bool,
    },
    /// Keys, each with its time; then the terminal closes.
    Terminal {
        resume: bool,
        keys: Vec<(u64, &'static str)>,
        until: u64,
    },
    Command(&'static [&'static str]),
}

/// A resource limit of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ResourceLimit {
    Descriptors(u64),
    /// The largest file, in kilobytes.
    FileSize(u64),
    /// The address space, in kilobytes.
    Memory(u64),
    /// The main thread's stack, in kilobytes.
    Stack(u64),
    /// Has no effect on root.
    Processes(u64),
    /// In a control group, where one can be created.
    Tasks(u64),
}

/// A call of the model. The guard allows or denies it by its token.
#[derive(Clone, Debug)]
pub(crate) struct PlannedCall {
    pub(crate) id: u64,
    pub(crate) allowed: bool,
    pub(crate) kind: CallKind,
}

#[derive(Clone, Debug)]
pub(crate) enum CallKind {
    /// An index into [`COMMANDS`].
    Shell(usize),
    Write(u64),
    /// A file, and the call whose text in it is replaced.
    Replace(u64, u64),
    Look,
}

impl PlannedCall {
    pub(crate) fn token(&self) -> String {
        format!("{}{}", self.id, if self.allowed { "ok" } else { "no" })
    }
}

#[derive(Debug)]
pub(crate) enum Fault {
    /// Signals the program of a run.
    Signal(usize, Signal),
    Pause(usize, u64),
    /// Lowers a limit of the running program.
    LowerLimit(usize, ResourceLimit),
    /// Signals a process that hooks or tools have started, chosen by the number.
    SignalDescendant(u64, Signal),
    /// Stops such a process for a while.
    PauseDescendant(u64, u64),
    FillDisk,
    FreeDisk,
    ReadOnly,
    BreakSettings(&'static str),
    /// Moves the project away, and back after a while or at the end.
    MoveProject(Option<u64>),
}

/// The timeout of a hook that should not reach it, in milliseconds.
pub(crate) const HOOK_TIMEOUT_MS: u64 = 20_000;

/// A behaviour of a hook.
#[derive(Debug)]
pub(crate) struct HookBehaviour {
    pub(crate) name: &'static str,
    pub(crate) script: &'static str,
    /// The hook's timeout, in milliseconds.
    pub(crate) timeout: u64,
}

const fn hook_behaviour(name: &'static str, script: &'static str, timeout: u64) -> HookBehaviour {
    HookBehaviour { name, script, timeout }
}

/// Processes that are left behind run for minutes, so that only the program can have ended them.
pub(crate) const HOOKS: &[HookBehaviour] = &[
    hook_behaviour("polite", "cat > /dev/null; echo '{}'", HOOK_TIMEOUT_MS),
    hook_behaviour(
        "talks",
        r#"echo '{"systemMessage": "hello", "hookSpecificOutput": {"additionalContext": "more"}}'"#,
        HOOK_TIMEOUT_MS,
    ),
    hook_behaviour("slow", "sleep 0.1", HOOK_TIMEOUT_MS),
    hook_behaviour("late", "sleep 300", 100),
    hook_behaviour("crashes", "kill -SEGV $$", HOOK_TIMEOUT_MS),
    hook_behaviour("fails", "echo no >&2; exit 3", HOOK_TIMEOUT_MS),
    hook_behaviour("floods", "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2", HOOK_TIMEOUT_MS),
    hook_behaviour("holds-pipes", "sleep 300 & sleep 300 & exit 0", HOOK_TIMEOUT_MS),
    hook_behaviour("forks", "for at in 1 2 3 4 5 6; do sleep 300 > /dev/null 2>&1 & done", HOOK_TIMEOUT_MS),
    hook_behaviour("daemon", "setsid sleep 300 > /dev/null 2>&1 < /dev/null &", HOOK_TIMEOUT_MS),
    hook_behaviour("double-fork", "(setsid sh -c 'sleep 300 & sleep 300' > /dev/null 2>&1 &)", HOOK_TIMEOUT_MS),
    hook_behaviour("deaf", "exec <&-; echo '{}'", HOOK_TIMEOUT_MS),
    hook_behaviour("babbles", r#"printf '{"decision": \377\377'"#, HOOK_TIMEOUT_MS),
    hook_behaviour("stubborn", "trap '' TERM INT HUP; sleep 300; sleep 300", 100),
];

/// The commands' actions, besides leaving their mark.
pub(crate) const COMMANDS: &[&str] = &[
    "true",
    "sleep 0.1",
    "sleep 300 & true",
    "setsid sleep 300 > /dev/null 2>&1 < /dev/null & true",
    "(setsid sh -c 'sleep 300 & sleep 300' > /dev/null 2>&1 &)",
    "head -c 2000000 /dev/zero",
    "kill -SEGV $$",
    "trap '' INT TERM HUP; sleep 0.2",
];

const MANAGE: &[&[&str]] = &[
    &["hooks", "disable", "polite"],
    &["hooks", "enable", "polite"],
    &["hooks", "disable", "guard"],
    &["hooks", "disable-all"],
    &["hooks", "enable-all"],
    &["hooks", "trust", "--all"],
    &["hooks", "trust", "--folder"],
    &["hooks", "list", "--json"],
    &["--list-sessions"],
];

const KEYS: [&str; 9] =
    ["go\r", "go on\r", "/clear\r", "/hooks list\r", "/hooks disable polite\r", "\x1b", "\x03", "\x04", "!true\r"];

const BROKEN: [&str; 4] = ["{\"hooks\": ", "", "\0\0\0\0", "{\"hooks\": {}} trailing"];

impl RoundPlan {
    pub(crate) fn new(seed: u64) -> Self {
        let mut dice = SeededRng::new(seed);
        let disk = match dice.within(1..=6) {
            1 => DiskSize::Small(dice.pick(&[128, 256, 1024]), dice.pick(&[DiskFolder::Home, DiskFolder::Project])),
            _ => DiskSize::Plenty,
        };
        let guard = dice.pick(&[GuardLayer::User, GuardLayer::System]);
        let hooks = (0..dice.within(0..=4)).map(|_| hook(&mut dice)).collect();
        let mut calls = 0;
        let runs: Vec<PlannedRun> = (0..dice.within(1..=3)).map(|_| run(&mut dice, &mut calls)).collect();
        let mut acts: Vec<(u64, Fault)> = (0..dice.within(1..=4))
            .map(|_| (dice.within(0..=FAULT_SPAN_MS), act(&mut dice, runs.len(), disk != DiskSize::Plenty)))
            .collect();
        acts.sort_by_key(|(at, _)| *at);
        RoundPlan { disk, guard, hooks, runs, faults: acts }
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = &PlannedCall> {
        self.runs.iter().flat_map(|run| run.answers.iter().flatten())
    }

    /// Returns whether a program lacks resources, so that a working call may fail with a reason.
    pub(crate) fn has_scarce_resources(&self) -> bool {
        let starves = |act: &Fault| {
            matches!(act, Fault::LowerLimit(..) | Fault::FillDisk | Fault::ReadOnly | Fault::MoveProject(_))
        };
        self.disk != DiskSize::Plenty
            || self.runs.iter().any(|run| run.limit.is_some())
            || self.faults.iter().any(|(_, act)| starves(act))
    }

    /// Returns whether settings change under running sessions, which may take the agent for the author.
    pub(crate) fn changes_settings(&self) -> bool {
        let edits = |run: &PlannedRun| match &run.mode {
            RunMode::Command(words) => words[0] == "hooks" && words[1] != "list",
            RunMode::Terminal { keys, .. } => keys.iter().any(|(_, keys)| keys.contains("disable")),
            RunMode::Headless { .. } => false,
        };
        self.runs.iter().any(edits) || self.breaks_settings()
    }

    pub(crate) fn breaks_settings(&self) -> bool {
        self.faults.iter().any(|(_, act)| matches!(act, Fault::BreakSettings(_)))
    }

    pub(crate) fn moves_project(&self) -> bool {
        self.faults.iter().any(|(_, act)| matches!(act, Fault::MoveProject(_)))
    }
}

fn hook(dice: &mut SeededRng) -> (&'static str, usize) {
    loop {
        let (event, at) = (dice.pick(&EVENT_NAMES), dice.within(0..=HOOKS.len() as u64 - 1) as usize);
        // Ending this hook takes seconds, so it is rare and runs once.
        if HOOKS[at].name != "stubborn" || (event == "BeforeAgent" && dice.one_in(2)) {
            return (event, at);
        }
    }
}

fn run(dice: &mut SeededRng, calls: &mut u64) -> PlannedRun {
    let at = if dice.one_in(3) { 0 } else { dice.within(0..=FAULT_SPAN_MS / 2) };
    let how = match dice.within(1..=8) {
        1 => RunMode::Command(dice.pick(MANAGE)),
        2 => {
            let keys = (0..dice.within(1..=5)).map(|_| (dice.within(0..=FAULT_SPAN_MS), dice.pick(&KEYS)));
            let mut keys: Vec<_> = keys.collect();
            keys.sort_by_key(|(at, _)| *at);
            RunMode::Terminal {
                resume: dice.one_in(3),
                keys,
                until: dice.within(FAULT_SPAN_MS / 2..=FAULT_SPAN_MS * 2),
            }
        }
        _ => RunMode::Headless { resume: dice.one_in(3), read: !dice.one_in(8) },
    };
    let answers = match how {
        RunMode::Command(_) => Vec::new(),
        _ => (0..dice.within(1..=3)).map(|_| (0..dice.within(1..=3)).map(|_| call(dice, calls)).collect()).collect(),
    };
    let limit = dice.one_in(5).then(|| limit(dice));
    PlannedRun { at, mode: how, limit, answers }
}

fn call(dice: &mut SeededRng, calls: &mut u64) -> PlannedCall {
    *calls += 1;
    let kind = match dice.within(1..=8) {
        1..=4 => CallKind::Shell(dice.within(0..=COMMANDS.len() as u64 - 1) as usize),
        5 | 6 => CallKind::Write(dice.within(0..=1)),
        7 => CallKind::Replace(dice.within(0..=1), dice.within(0..=*calls)),
        _ => CallKind::Look,
    };
    PlannedCall { id: *calls, allowed: !dice.one_in(3), kind }
}

fn limit(dice: &mut SeededRng) -> ResourceLimit {
    match dice.within(1..=6) {
        1 => ResourceLimit::Descriptors(dice.within(6..=64)),
        2 => ResourceLimit::FileSize(dice.pick(&[0, 1, 8, 64])),
        // With less memory, the system cannot load a debug build.
        3 => ResourceLimit::Memory(dice.within(80_000..=400_000)),
        4 => ResourceLimit::Stack(dice.within(32..=512)),
        5 => ResourceLimit::Processes(dice.within(1..=64)),
        _ => ResourceLimit::Tasks(dice.within(1..=40)),
    }
}

fn act(dice: &mut SeededRng, runs: usize, small_disk: bool) -> Fault {
    let run = dice.within(0..=runs as u64 - 1) as usize;
    let while_ = |dice: &mut SeededRng| dice.within(20..=300);
    match dice.within(1..=if small_disk { 22 } else { 18 }) {
        1..=4 => Fault::Signal(run, Signal::KILL),
        5..=7 => Fault::Signal(run, dice.pick(&[Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT])),
        8 => Fault::Pause(run, while_(dice)),
        9 | 10 => Fault::LowerLimit(
            run,
            dice.pick(&[ResourceLimit::Descriptors(12), ResourceLimit::FileSize(1), ResourceLimit::Memory(60_000)]),
        ),
        11..=13 => Fault::SignalDescendant(dice.next_u64(), dice.pick(&[Signal::KILL, Signal::TERM, Signal::SEGV])),
        14 => Fault::PauseDescendant(dice.next_u64(), dice.within(50..=1500)),
        15 => Fault::ReadOnly,
        16 => Fault::BreakSettings(dice.pick(&BROKEN)),
        17 => Fault::MoveProject(if dice.one_in(2) { Some(while_(dice)) } else { None }),
        18 => Fault::Signal(run, Signal::PIPE),
        19..=21 => Fault::FillDisk,
        _ => Fault::FreeDisk,
    }
}
