//! `hooks replay`: asks hooks about recorded events again, and shows where they decide otherwise.

mod comparison;
mod lane;
mod policies;
mod target;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use comparison::{Difference, DifferenceKind, ReplayReport};
use hookwright_journal::{Query, Reader, Verdict};
use hookwright_settings::{ConfigPaths, ProcessEnv};
use jiff::Timestamp;
use lane::{Lane, LineText, Targets, project_of};
use policies::{PolicyVerdicts, recorded_policies};
use target::{ReplayOptions, ReplayTarget};

use super::LoadedProject;
use crate::args::{HookReplayArgs, ProjectArgs};
use crate::commands::journal::{line_by_number, verdict_style};
use crate::exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, PLAIN, TextTable, WARN, paint};

/// How many events are read before hooks are asked about them.
const WINDOW_EVENTS: usize = 8192;
/// How many events of one kind of difference are printed; `--json` has them all.
const MAX_PRINTED_DIFFERENCES: usize = 25;
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
const PROGRESS_BAR_COLUMNS: u64 = 30;

pub(super) fn run(place: &ProjectArgs, world: &ProcessEnv, args: &HookReplayArgs) -> anyhow::Result<u8> {
    let started = Instant::now();
    let project = place.directory(world)?;
    let reader = Reader::new(&ConfigPaths::new(world).journal);
    let query = selection_query(&reader, args, &project, "event")?;
    let options = ReplayOptions::new(args, place.trust_override(), world)?;
    let policies = recorded_policies(&reader, &selection_query(&reader, args, &project, "call")?)?;
    let mut replay = ReplayRun::new(reader, world, options, Arc::new(policies))?;
    if let Some(commit) = &args.as_of {
        let target = ReplayTarget::open_commit(&project, commit, world, &replay.options)?;
        replay.targets.insert(project.clone(), Ok(Arc::new(target)));
    }
    let total = replay.reader.count(&query)?;
    let mut progress = Progress::new(total, args.json);
    replay.run(&query, &mut progress)?;
    progress.clear();
    let report = replay.finish(place, world, args)?;
    print_report(&report, started.elapsed(), args)?;
    Ok(if report.is_different() { exit::ERROR } else { exit::OK })
}

/// Returns the query for the events that the user means, or for the ends of their calls.
fn selection_query(reader: &Reader, args: &HookReplayArgs, project: &Path, kind: &str) -> anyhow::Result<Query> {
    let now = Timestamp::now();
    let mut query = Query::default();
    query.add(&format!("kind={kind}"), now)?;
    if let Some(since) = &args.since {
        query.add(&format!("since={since}"), now)?;
    }
    if args.as_of.is_some() {
        query.add(&format!("project={}", project.display()), now)?;
    }
    match &args.selection {
        None => {}
        Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() => {
            let number: u64 = text.parse().context("there is no line of that number")?;
            let line = line_by_number(reader, number)?;
            anyhow::ensure!(line.event().is_some(), "line {number} is about no event that hooks were asked about");
            query.after_line(number.saturating_sub(1));
            // The end of its call comes later.
            if kind == "event" {
                query.until_line(number);
            }
        }
        Some(session) => {
            query.add(&format!("session={session}"), now)?;
            anyhow::ensure!(
                kind != "event" || reader.count(&query)? > 0,
                "no event of a session `{}` is on record; `hookwright journal list` shows what is",
                output::one_line(session)
            );
        }
    }
    Ok(query)
}

/// A replay in progress.
struct ReplayRun<'w> {
    reader: Reader,
    world: &'w ProcessEnv,
    options: ReplayOptions,
    targets: Targets,
    lanes: Vec<Lane>,
    runtime: tokio::runtime::Runtime,
    events: u64,
}

impl<'w> ReplayRun<'w> {
    fn new(
        reader: Reader,
        world: &'w ProcessEnv,
        options: ReplayOptions,
        policies: Arc<PolicyVerdicts>,
    ) -> anyhow::Result<ReplayRun<'w>> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let lane = |_| Lane::new(reader.clone(), options.only_hook.as_deref(), policies.clone());
        // A lane whose hook runs a program waits for it most of the time.
        let lanes = (0..cores * 2).map(lane).collect();
        let runtime = crate::runtime::start(cores)?;
        Ok(ReplayRun { reader, world, options, targets: Targets::new(), lanes, runtime, events: 0 })
    }

    fn run(&mut self, query: &Query, progress: &mut Progress) -> anyhow::Result<()> {
        let mut window: Vec<LineText> = Vec::new();
        let reader = self.reader.clone();
        let mut failure = None;
        reader.for_each_unparsed(query, |text| {
            window.push(text.into());
            if window.len() < WINDOW_EVENTS {
                return true;
            }
            failure = self.replay_window(std::mem::take(&mut window), progress).err();
            failure.is_none()
        })?;
        if let Some(error) = failure {
            return Err(error);
        }
        self.replay_window(window, progress)
    }

    /// Asks hooks about these events.
    fn replay_window(&mut self, lines: Vec<LineText>, progress: &mut Progress) -> anyhow::Result<()> {
        let places: Vec<(PathBuf, u64)> = lines.iter().map(|line| line_place(line)).collect();
        for (project, _) in &places {
            if !self.targets.contains_key(project) {
                let target = ReplayTarget::open(project, self.world, &self.options).map(Arc::new);
                self.targets.insert(project.clone(), target);
            }
        }
        let loaded = || self.targets.values().flatten();
        let is_ordered = loaded().any(|target| target.is_ordered);
        let has_programs = loaded().any(|target| target.has_programs);
        let lanes = if has_programs { self.lanes.len() } else { self.lanes.len().div_ceil(2) };
        // In small steps, so that the progress of slow hooks is seen.
        let step = if has_programs { lanes * 4 } else { WINDOW_EVENTS };
        let mut rest = lines.into_iter().zip(places).peekable();
        while rest.peek().is_some() {
            let part: Vec<(LineText, (PathBuf, u64))> = rest.by_ref().take(step).collect();
            let count = part.len();
            let mut shares: Vec<Vec<LineText>> = (0..lanes).map(|_| Vec::new()).collect();
            for (at, (line, (_, session))) in part.into_iter().enumerate() {
                let share = if is_ordered { usize::try_from(session % lanes as u64)? } else { at * lanes / count };
                shares[share].push(line);
            }
            self.run_lanes(shares)?;
            self.events += count as u64;
            progress.show(self.events);
        }
        Ok(())
    }

    fn run_lanes(&mut self, shares: Vec<Vec<LineText>>) -> anyhow::Result<()> {
        let targets = Arc::new(std::mem::take(&mut self.targets));
        let idle = self.lanes.split_off(shares.len());
        let working = self.lanes.drain(..).zip(shares);
        let lanes = self.runtime.block_on(async {
            let tasks: Vec<_> = working.map(|(lane, lines)| tokio::spawn(lane.run(lines, targets.clone()))).collect();
            let mut lanes = Vec::new();
            for task in tasks {
                lanes.push(task.await?);
            }
            anyhow::Ok(lanes)
        })?;
        self.lanes = lanes;
        self.lanes.extend(idle);
        self.targets = Arc::into_inner(targets).unwrap_or_default();
        Ok(())
    }

    /// Ends all processes and sums up.
    fn finish(
        mut self,
        place: &ProjectArgs,
        world: &ProcessEnv,
        args: &HookReplayArgs,
    ) -> anyhow::Result<ReplayReport> {
        let mut report = ReplayReport { events: self.events, ..ReplayReport::default() };
        for lane in self.lanes.drain(..) {
            report.merge(self.runtime.block_on(lane.finish()));
        }
        report.differences.sort_by_key(|difference| difference.line);
        let targets: Vec<&Arc<ReplayTarget>> = self.targets.values().flatten().collect();
        let mut asked = BTreeSet::new();
        for target in &targets {
            for (hook, why) in &target.skipped {
                report.skipped_hooks.entry(hook.clone()).or_insert_with(|| why.clone());
            }
            asked.extend(target.registry.hooks().iter().map(|hook| hook.id().to_owned()));
            for note in target.note.iter().chain(&target.policies.problem) {
                output::note(note)?;
            }
            report.policy_rules = report.policy_rules.max(target.policies.rules as u64);
        }
        report.asked_hooks = asked.len() as u64;
        if let Some(name) = &args.hook
            && !targets.iter().any(|target| target.has_only_hook)
        {
            // A hook of another project is known only where events of that project are on record.
            let here = ReplayTarget::open(&place.directory(world)?, world, &self.options);
            if !here.is_ok_and(|target| target.has_only_hook) {
                return Err(LoadedProject::open(place, world)?.unknown_hook_error(name));
            }
        }
        Ok(report)
    }
}

/// Returns the project of a line, and a number that is the same for all lines of its session.
fn line_place(line: &str) -> (PathBuf, u64) {
    let (project, session) = project_of(line).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    session.hash(&mut hasher);
    (PathBuf::from(&*project), hasher.finish())
}

/// A bar on a terminal; nothing elsewhere.
struct Progress {
    total: u64,
    shown: Option<Instant>,
    is_visible: bool,
}

impl Progress {
    fn new(total: u64, as_json: bool) -> Progress {
        Progress { total, shown: None, is_visible: output::stderr_is_terminal() && !as_json }
    }

    fn show(&mut self, done: u64) {
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= PROGRESS_INTERVAL);
        if !self.is_visible || !is_due || done >= self.total {
            return;
        }
        self.shown = Some(Instant::now());
        let filled = usize::try_from(done * PROGRESS_BAR_COLUMNS / self.total.max(1)).unwrap_or_default();
        let empty = usize::try_from(PROGRESS_BAR_COLUMNS).unwrap_or_default() - filled;
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(empty));
        write_progress(&format!("\r{bar} {done} of {} events", self.total));
    }

    fn clear(&mut self) {
        if self.shown.take().is_some() {
            write_progress(&format!("\r{}\r", " ".repeat(70)));
        }
    }
}

/// Writes progress to stderr; a closed stderr means that the user wants none.
fn write_progress(text: &str) {
    let mut stderr = output::stderr();
    let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
}

fn print_report(report: &ReplayReport, took: Duration, args: &HookReplayArgs) -> anyhow::Result<()> {
    if args.json {
        let mut value = report.to_json();
        value["seconds"] = took.as_secs_f64().into();
        output::print_json(&value)?;
        return Ok(());
    }
    let mut stdout = output::stdout();
    if report.events == 0 {
        output::note("no event on record is selected; `hookwright journal list` shows what is")?;
        return Ok(());
    }
    let seconds = took.as_secs_f64();
    writeln!(
        stdout,
        "asked {} hooks{} about {} of {} recorded events {}",
        report.asked_hooks,
        match report.policy_rules {
            0 => String::new(),
            _ if args.hook.is_some() => String::new(),
            1 => " and 1 policy rule".to_owned(),
            count => format!(" and {count} policy rules"),
        },
        report.replayed,
        report.events,
        paint(DIM, format!("({seconds:.1} s)"))
    )?;
    for kind in DifferenceKind::ALL {
        print_differences(&mut stdout, kind, &report.differences_of(kind), report.replayed)?;
    }
    for (name, hook) in &report.hooks {
        let name = output::truncate_columns(name, 60);
        if hook.fails_more() {
            writeln!(stdout, "{} {name}: {}", paint(BAD, "fails:"), output::one_line(&hook.failure_text()))?;
        }
        if let Some((then, now)) = hook.slower() {
            let confined = if args.really { "" } else { "; it runs confined here, which takes time" };
            writeln!(stdout, "{} {name}: median {now:.1} ms, then {then:.1} ms{confined}", paint(WARN, "slower:"))?;
        }
    }
    if !report.is_different() && report.replayed > 0 {
        writeln!(stdout, "{}", paint(GOOD, "no difference: hooks decide as they did"))?;
    }
    for (why, count) in &report.not_replayed {
        writeln!(stdout, "{} {count} events: {}", paint(WARN, "not replayed:"), output::one_line(why))?;
    }
    for (hook, why) in &report.skipped_hooks {
        let name = output::truncate_columns(hook, 60);
        writeln!(stdout, "{} {name}: {}", paint(WARN, "not asked:"), output::one_line(why))?;
    }
    if report.redacted > 0 {
        let text = format!("secrets were removed from {} of the inputs: hooks saw *** in their place", report.redacted);
        writeln!(stdout, "{}", paint(DIM, text))?;
    }
    stdout.flush()?;
    Ok(())
}

fn print_differences(
    stdout: &mut impl Write,
    kind: DifferenceKind,
    found: &[&Difference],
    replayed: u64,
) -> anyhow::Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    writeln!(stdout, "{}", paint(BOLD, format!("{}:", kind.sentence(found.len(), replayed))))?;
    let mut table = TextTable::new(&["NUMBER", "TIME", "AGENT", "EVENT", "THEN", "NOW", "BY", "WHAT"]);
    let verdict = |verdict: Verdict| (verdict_style(verdict), verdict.as_str().to_owned());
    for one in found.iter().take(MAX_PRINTED_DIFFERENCES) {
        let time = one.time.split('.').next().unwrap_or_default().replacen('T', " ", 1);
        table.add_row(vec![
            (BOLD, one.line.to_string()),
            (DIM, time),
            (PLAIN, one.agent.clone()),
            (PLAIN, one.event.clone()),
            verdict(one.before),
            verdict(one.after),
            (PLAIN, output::truncate_columns(&one.by.join(", "), 32)),
            (PLAIN, one.about.clone()),
        ]);
    }
    table.print(stdout)?;
    if found.len() > MAX_PRINTED_DIFFERENCES {
        let more = found.len() - MAX_PRINTED_DIFFERENCES;
        writeln!(stdout, "{}", paint(DIM, format!("and {more} more; --json has them all")))?;
    }
    Ok(())
}
