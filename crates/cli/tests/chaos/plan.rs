//! What one round does: a value, all of it drawn from a seed. Nothing here touches the world.
//!
//! The plan repeats with its seed. The moment at which an act meets a session does not: that is the machine's affair.

use hookwright_testkit::EVENTS;
use rustix::process::Signal;

use crate::dice::Dice;

/// Acts fall into this time from a round's start, in milliseconds: about as long as a session takes.
const SPAN: u64 = 600;

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) disk: Disk,
    pub(crate) guard: GuardIn,
    /// Indices into [`HOOKS`], each with its event.
    pub(crate) hooks: Vec<(&'static str, usize)>,
    pub(crate) runs: Vec<Run>,
    /// With the time of each, in milliseconds from the start.
    pub(crate) acts: Vec<(u64, Act)>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Disk {
    Plenty,
    /// Home or project has a disk of its own, of so many kilobytes.
    Small(u64, Folder),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Folder {
    Home,
    Project,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum GuardIn {
    User,
    System,
}

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) at: u64,
    pub(crate) how: How,
    pub(crate) limit: Option<Limit>,
    /// What the model asks for: answers, each with calls.
    pub(crate) answers: Vec<Vec<Call>>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum How {
    Headless {
        resume: bool,
        read: bool,
    },
    /// Keys, each with its time; then the terminal goes away.
    Terminal {
        resume: bool,
        keys: Vec<(u64, &'static str)>,
        until: u64,
    },
    Command(&'static [&'static str]),
}

/// What a program may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    Descriptors(u64),
    /// In kilobytes.
    FileSize(u64),
    /// In kilobytes.
    Memory(u64),
    /// In kilobytes.
    Stack(u64),
    /// Has no effect on root.
    Processes(u64),
    /// In a control group, where one can be made.
    Tasks(u64),
}

/// A call of the model. The guard says yes or no by its token.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) id: u64,
    pub(crate) allowed: bool,
    pub(crate) kind: CallKind,
}

#[derive(Clone, Debug)]
pub(crate) enum CallKind {
    /// An index into [`COMMANDS`].
    Shell(usize),
    Write(u64),
    /// A file, and whose words of it are to go.
    Replace(u64, u64),
    Look,
}

impl Call {
    pub(crate) fn token(&self) -> String {
        format!("{}{}", self.id, if self.allowed { "ok" } else { "no" })
    }
}

#[derive(Debug)]
pub(crate) enum Act {
    /// To the program of a run.
    Signal(usize, Signal),
    Pause(usize, u64),
    /// The program may use less from now on.
    Starve(usize, Limit),
    /// To anything that hooks and tools have started; the number says to which.
    Strike(u64, Signal),
    /// The same, stopped for a while.
    Freeze(u64, u64),
    Fill,
    Drain,
    ReadOnly,
    BreakSettings(&'static str),
    /// Away, and back after a while or at the end.
    MoveProject(Option<u64>),
}

/// A hook's timeout where it is not to be reached, in milliseconds.
pub(crate) const PATIENCE: u64 = 20_000;

/// A way in which a hook behaves.
#[derive(Debug)]
pub(crate) struct Habit {
    pub(crate) name: &'static str,
    pub(crate) script: &'static str,
    /// In milliseconds.
    pub(crate) timeout: u64,
}

const fn habit(name: &'static str, script: &'static str, timeout: u64) -> Habit {
    Habit { name, script, timeout }
}

/// What is left behind would stay for minutes, so that only the program can have ended it.
pub(crate) const HOOKS: &[Habit] = &[
    habit("polite", "cat > /dev/null; echo '{}'", PATIENCE),
    habit(
        "talks",
        r#"echo '{"systemMessage": "hello", "hookSpecificOutput": {"additionalContext": "more"}}'"#,
        PATIENCE,
    ),
    habit("slow", "sleep 0.1", PATIENCE),
    habit("late", "sleep 300", 100),
    habit("crashes", "kill -SEGV $$", PATIENCE),
    habit("fails", "echo no >&2; exit 3", PATIENCE),
    habit("floods", "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2", PATIENCE),
    habit("holds-pipes", "sleep 300 & sleep 300 & exit 0", PATIENCE),
    habit("forks", "for at in 1 2 3 4 5 6; do sleep 300 > /dev/null 2>&1 & done", PATIENCE),
    habit("daemon", "setsid sleep 300 > /dev/null 2>&1 < /dev/null &", PATIENCE),
    habit("double-fork", "(setsid sh -c 'sleep 300 & sleep 300' > /dev/null 2>&1 &)", PATIENCE),
    habit("deaf", "exec <&-; echo '{}'", PATIENCE),
    habit("babbles", r#"printf '{"decision": \377\377'"#, PATIENCE),
    habit("stubborn", "trap '' TERM INT HUP; sleep 300; sleep 300", 100),
];

/// What a command does beside leaving its mark.
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

impl Plan {
    pub(crate) fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let disk = match dice.within(1..=6) {
            1 => Disk::Small(dice.pick(&[128, 256, 1024]), dice.pick(&[Folder::Home, Folder::Project])),
            _ => Disk::Plenty,
        };
        let guard = dice.pick(&[GuardIn::User, GuardIn::System]);
        let hooks = (0..dice.within(0..=4)).map(|_| hook(&mut dice)).collect();
        let mut calls = 0;
        let runs: Vec<Run> = (0..dice.within(1..=3)).map(|_| run(&mut dice, &mut calls)).collect();
        let mut acts: Vec<(u64, Act)> = (0..dice.within(1..=4))
            .map(|_| (dice.within(0..=SPAN), act(&mut dice, runs.len(), disk != Disk::Plenty)))
            .collect();
        acts.sort_by_key(|(at, _)| *at);
        Plan { disk, guard, hooks, runs, acts }
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.runs.iter().flat_map(|run| run.answers.iter().flatten())
    }

    /// Whether somebody lacks something, so that what would work may fail with a reason.
    pub(crate) fn is_poor(&self) -> bool {
        let starves = |act: &Act| matches!(act, Act::Starve(..) | Act::Fill | Act::ReadOnly | Act::MoveProject(_));
        self.disk != Disk::Plenty
            || self.runs.iter().any(|run| run.limit.is_some())
            || self.acts.iter().any(|(_, act)| starves(act))
    }

    /// Whether settings change under running sessions, which may then take that for the agent's doing.
    pub(crate) fn changes_settings(&self) -> bool {
        let edits = |run: &Run| match &run.how {
            How::Command(words) => words[0] == "hooks" && words[1] != "list",
            How::Terminal { keys, .. } => keys.iter().any(|(_, keys)| keys.contains("disable")),
            How::Headless { .. } => false,
        };
        self.runs.iter().any(edits) || self.breaks_settings()
    }

    pub(crate) fn breaks_settings(&self) -> bool {
        self.acts.iter().any(|(_, act)| matches!(act, Act::BreakSettings(_)))
    }

    pub(crate) fn moves_project(&self) -> bool {
        self.acts.iter().any(|(_, act)| matches!(act, Act::MoveProject(_)))
    }
}

fn hook(dice: &mut Dice) -> (&'static str, usize) {
    loop {
        let (event, at) = (dice.pick(&EVENTS), dice.within(0..=HOOKS.len() as u64 - 1) as usize);
        // It takes seconds to end one, so it is rare and runs once.
        if HOOKS[at].name != "stubborn" || (event == "BeforeAgent" && dice.one_in(2)) {
            return (event, at);
        }
    }
}

fn run(dice: &mut Dice, calls: &mut u64) -> Run {
    let at = if dice.one_in(3) { 0 } else { dice.within(0..=SPAN / 2) };
    let how = match dice.within(1..=8) {
        1 => How::Command(dice.pick(MANAGE)),
        2 => {
            let keys = (0..dice.within(1..=5)).map(|_| (dice.within(0..=SPAN), dice.pick(&KEYS)));
            let mut keys: Vec<_> = keys.collect();
            keys.sort_by_key(|(at, _)| *at);
            How::Terminal { resume: dice.one_in(3), keys, until: dice.within(SPAN / 2..=SPAN * 2) }
        }
        _ => How::Headless { resume: dice.one_in(3), read: !dice.one_in(8) },
    };
    let answers = match how {
        How::Command(_) => Vec::new(),
        _ => (0..dice.within(1..=3)).map(|_| (0..dice.within(1..=3)).map(|_| call(dice, calls)).collect()).collect(),
    };
    let limit = dice.one_in(5).then(|| limit(dice));
    Run { at, how, limit, answers }
}

fn call(dice: &mut Dice, calls: &mut u64) -> Call {
    *calls += 1;
    let kind = match dice.within(1..=8) {
        1..=4 => CallKind::Shell(dice.within(0..=COMMANDS.len() as u64 - 1) as usize),
        5 | 6 => CallKind::Write(dice.within(0..=1)),
        7 => CallKind::Replace(dice.within(0..=1), dice.within(0..=*calls)),
        _ => CallKind::Look,
    };
    Call { id: *calls, allowed: !dice.one_in(3), kind }
}

fn limit(dice: &mut Dice) -> Limit {
    match dice.within(1..=6) {
        1 => Limit::Descriptors(dice.within(6..=64)),
        2 => Limit::FileSize(dice.pick(&[0, 1, 8, 64])),
        // With less, the system can't load a debug build at all.
        3 => Limit::Memory(dice.within(80_000..=400_000)),
        4 => Limit::Stack(dice.within(32..=512)),
        5 => Limit::Processes(dice.within(1..=64)),
        _ => Limit::Tasks(dice.within(1..=40)),
    }
}

fn act(dice: &mut Dice, runs: usize, small_disk: bool) -> Act {
    let run = dice.within(0..=runs as u64 - 1) as usize;
    let while_ = |dice: &mut Dice| dice.within(20..=300);
    match dice.within(1..=if small_disk { 22 } else { 18 }) {
        1..=4 => Act::Signal(run, Signal::KILL),
        5..=7 => Act::Signal(run, dice.pick(&[Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT])),
        8 => Act::Pause(run, while_(dice)),
        9 | 10 => Act::Starve(run, dice.pick(&[Limit::Descriptors(12), Limit::FileSize(1), Limit::Memory(60_000)])),
        11..=13 => Act::Strike(dice.roll(), dice.pick(&[Signal::KILL, Signal::TERM, Signal::SEGV])),
        14 => Act::Freeze(dice.roll(), dice.within(50..=1500)),
        15 => Act::ReadOnly,
        16 => Act::BreakSettings(dice.pick(&BROKEN)),
        17 => Act::MoveProject(if dice.one_in(2) { Some(while_(dice)) } else { None }),
        18 => Act::Signal(run, Signal::PIPE),
        19..=21 => Act::Fill,
        _ => Act::Drain,
    }
}
