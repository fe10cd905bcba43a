//! Random commands of programs in the table are analysed, then run for real in a throw-away directory under `strace`, and
//! what they did is compared with what the analysis said.
//!
//! ```text
//! DIFFERENTIAL_SECONDS=3600   goes on with random cases for so long
//! DIFFERENTIAL_CASE=N         only this case
//! DIFFERENTIAL_COMMAND=TEXT   only this command; `@` stands for the throw-away directory
//! DIFFERENTIAL_FILE=PATH      only the commands of this file, one a line; in a `.jsonl` file each line is a JSON text, and
//!                             `@ROOT@` stands for the throw-away directory
//! ```
//! The commands run in namespaces of their own, without a network, where everything but that directory is read-only.
//! Without `strace` or such namespaces the test is skipped aloud.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, reason = "a test and its report")]

mod comparison;
mod fixture;
mod generator;
mod random;
mod sandbox;
mod trace;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hookwright_analysis::disk::RealDisk;
use hookwright_analysis::effects::{CallPlace, Effects, effects_of_command};
use hookwright_analysis::interpreter::Environment;
use hookwright_analysis::programs::Programs;

use fixture::Fixture;
use generator::Generator;

const DEFAULT_SECONDS: u64 = 20;
/// Each begins a series of cases that every run checks; with `DIFFERENTIAL_SECONDS`, random ones follow.
const SEEDS: [u64; 4] = [1, 20, 300, 4000];
const CASES_PER_SEED: u64 = 40;
const MAX_SHOWN_VIOLATIONS: usize = 200;
const SHOWN_REASONS: usize = 40;

#[test]
fn generated_commands_do_only_what_is_told() {
    let seconds = variable("DIFFERENTIAL_SECONDS").and_then(|text| text.parse().ok()).unwrap_or(DEFAULT_SECONDS);
    let Some(directory) = sandbox::inner_directory() else {
        if let Err(reason) =
            sandbox::run_this_test("generated_commands_do_only_what_is_told", Duration::from_secs(seconds))
        {
            eprintln!("skipped: generated commands are not run: {reason}");
        }
        return;
    };
    let mut run = DifferentialRun::new(directory);
    if let Some(command) = variable("DIFFERENTIAL_COMMAND") {
        run.check_command(&command.replace('@', run.fixture.root.to_str().unwrap()), "given");
    } else if let Some(file) = variable("DIFFERENTIAL_FILE") {
        let commands = fixture::text(std::path::Path::new(&file));
        let sign = if file.ends_with(".jsonl") { "@ROOT@" } else { "@" };
        for line in commands.lines().filter(|line| !line.is_empty()) {
            let command = if sign == "@" { line.to_owned() } else { serde_json::from_str(line).unwrap() };
            run.check_command(&command.replace(sign, run.fixture.root.to_str().unwrap()), "listed");
        }
    } else if let Some(case) = variable("DIFFERENTIAL_CASE").and_then(|text| text.parse().ok()) {
        run.check_case(case);
    } else {
        run.check_until(Instant::now() + Duration::from_secs(seconds));
    }
    run.summarize();
    assert_eq!(run.violations, 0, "commands did more than the analysis said");
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

struct DifferentialRun {
    fixture: Fixture,
    generator: Generator,
    cases: usize,
    certain: usize,
    timeouts: usize,
    violations: usize,
    reasons: BTreeMap<String, usize>,
}

impl DifferentialRun {
    fn new(directory: PathBuf) -> Self {
        let fixture = Fixture::new(directory);
        let generator = Generator::new(fixture.root.to_str().unwrap());
        DifferentialRun {
            fixture,
            generator,
            cases: 0,
            certain: 0,
            timeouts: 0,
            violations: 0,
            reasons: BTreeMap::new(),
        }
    }

    fn check_until(&mut self, deadline: Instant) {
        let random = SystemTime::now().duration_since(UNIX_EPOCH).map_or(5, |now| now.as_secs());
        let fixed = (0..CASES_PER_SEED).flat_map(|case| SEEDS.map(|seed| (seed << 24) + case));
        // Without a time of its own the test always checks the same cases.
        let random_cases = if variable("DIFFERENTIAL_SECONDS").is_some() { usize::MAX } else { 0 };
        let cases = fixed.chain(((random << 24)..).take(random_cases));
        for case in cases {
            if Instant::now() >= deadline || self.violations >= MAX_SHOWN_VIOLATIONS {
                return;
            }
            self.check_case(case);
        }
    }

    fn check_case(&mut self, case: u64) {
        let command = self.generator.command(case);
        self.check_command(&command, &format!("DIFFERENTIAL_CASE={case}"));
    }

    /// Analyses a command, runs it, and prints what it did beyond what was said.
    fn check_command(&mut self, command: &str, label: &str) {
        self.fixture.renew();
        let told = self.effects(command);
        let ran = self.fixture.run(command);
        let mut events = trace::events(&ran.trace, &self.fixture);
        if events.iter().any(|event| event.kind != trace::EventKind::Read) {
            self.fixture.spoil();
        }
        if ran.timed_out {
            // Processes that are killed leave their temporary files.
            events.retain(|event| {
                event.is_named || event.kind != trace::EventKind::Write || self.fixture.files.contains(&event.path)
            });
        }
        self.cases += 1;
        self.certain += usize::from(told.is_certain());
        self.timeouts += usize::from(ran.timed_out);
        for reason in told.reasons() {
            *self.reasons.entry(reason.clone()).or_default() += 1;
        }
        let differences = comparison::differences(command, &told, &events, &self.fixture);
        let shows_all = label == "given" || variable("DIFFERENTIAL_VERBOSE").is_some();
        if differences.is_empty() && !shows_all {
            return;
        }
        self.violations += usize::from(!differences.is_empty());
        let told = serde_json::to_string(&told).unwrap_or_default();
        eprintln!("--- {label}\n{command}\n  said: {told}");
        differences.iter().for_each(|difference| eprintln!("  did:  {difference}"));
        if label == "given" {
            events.iter().for_each(|event| eprintln!("  event: {event:?}"));
        }
    }

    fn effects(&self, command: &str) -> Effects {
        let (work, home) = (self.fixture.work(), self.fixture.home());
        let place = CallPlace { cwd: &work, project: &work, home: Some(&home) };
        effects_of_command(
            command,
            &place,
            Environment { disk: &RealDisk, programs: &Programs::BUILT_IN, home: place.home, variable: None },
        )
    }

    fn summarize(&self) {
        eprintln!(
            "{} commands, {} of them certain, {} did not end in time, {} violations",
            self.cases, self.certain, self.timeouts, self.violations
        );
        if variable("DIFFERENTIAL_SECONDS").is_some() {
            let mut reasons: Vec<_> = self.reasons.iter().collect();
            reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            reasons.iter().take(SHOWN_REASONS).for_each(|(reason, count)| eprintln!("{count:>6} {reason}"));
        }
    }
}
