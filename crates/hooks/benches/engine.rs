//! Benchmarks of the engine: the cost of running a hook, next to that of the same work by the system alone (the floor).
//!
//! Engine and floor are sampled in turn, under the same load; their medians are compared.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::borrow::Cow;
use std::ffi::OsString;
use std::hint::black_box;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use hookwright_hooks::{
    AfterModel, Answer, BeforeAgent, BeforeModel, BeforeTool, ChunkGranularity, ChunkSplitter, ChunkUnit, Event,
    EventKind, GrowingText, Hook, HookEngine, Layer, LlmMessage, LlmRequest, LlmResponse, Planner, Purpose, Registry,
    RequestedBy, Session, SharedJson, Source, parse_layer,
};
use hookwright_testkit::fs;
use serde_json::json;
use tokio::runtime::Runtime;

/// A benchmark, and the word that selects it.
type BenchCase = (&'static str, fn(&mut BenchReport));

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let parts: [BenchCase; 8] = [
        ("trivial", bench_trivial_hooks),
        ("parent", bench_large_parent),
        ("parallel", bench_parallel_hooks),
        ("input", bench_large_input),
        ("pieces", bench_streamed_pieces),
        ("chunks", bench_sentence_chunks),
        ("plan", bench_planning),
        ("rules", bench_rules),
    ];
    let mut report = BenchReport::new();
    for (name, measure) in parts {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            measure(&mut report);
        }
    }
    report.print();
}

/// Returns whether everything runs only once, as a test: `cargo test --bench engine`. The figures mean nothing then.
fn is_smoke_run() -> bool {
    static IS_SMOKE_RUN: LazyLock<bool> = LazyLock::new(|| !std::env::args().any(|word| word == "--bench"));
    *IS_SMOKE_RUN
}

/// Returns how many repetitions are measured.
fn repetition_count(count: usize) -> usize {
    if is_smoke_run() { 1 } else { count }
}

/// A shell command that reads its input and has no objection.
const SHELL_COMMAND: &str = "cat >/dev/null; echo {}";
/// A command that needs no shell: the program copies its input, which is a JSON object, to its output.
const PLAIN_COMMAND: &str = "cat";

fn bench_trivial_hooks(report: &mut BenchReport) {
    let bench = Bench::new();
    let engine = bench.engine(BeforeTool::KIND, &[SHELL_COMMAND.to_owned()]);
    let bash = bench.shell_argv(SHELL_COMMAND);
    let (subject, floor) =
        compare_medians(300, || bench.fire(&engine, &tool_call_event("glob")), || bench.run_bare(&bash, SMALL_INPUT));
    report.add_ratio("one shell hook / bare spawn of the same argv", subject, floor, 1.15);

    let engine = bench.engine(BeforeTool::KIND, &[PLAIN_COMMAND.to_owned()]);
    let plain = [bench.find_program(PLAIN_COMMAND)];
    let (subject, floor) =
        compare_medians(600, || bench.fire(&engine, &tool_call_event("glob")), || bench.run_bare(&plain, SMALL_INPUT));
    report.add_ratio("one plain-words hook / bare spawn of that program", subject, floor, 1.3);
}

fn bench_large_parent(report: &mut BenchReport) {
    let ballast = vec![1_u8; if is_smoke_run() { 1 << 20 } else { 1 << 30 }];
    let bench = Bench::new();
    let engine = bench.engine(BeforeTool::KIND, &[SHELL_COMMAND.to_owned()]);
    let bash = bench.shell_argv(SHELL_COMMAND);
    let (subject, floor) =
        compare_medians(100, || bench.fire(&engine, &tool_call_event("glob")), || bench.run_bare(&bash, SMALL_INPUT));
    report.add_ratio("the shell hook, from a parent of 1 GB", subject, floor, 1.15);
    black_box(ballast);
}

fn bench_parallel_hooks(report: &mut BenchReport) {
    const HOOK_COUNT: usize = 100;
    let bench = Bench::new();
    let commands: Vec<_> = (0..HOOK_COUNT).map(|at| format!("{SHELL_COMMAND} # {at}")).collect();
    let engine = bench.engine(BeforeTool::KIND, &commands);
    let argvs: Vec<_> = commands.iter().map(|command| bench.shell_argv(command)).collect();
    let floor = || {
        // As many threads as the engine has start all of them, and then wait for all.
        std::thread::scope(|scope| {
            for share in argvs.chunks(HOOK_COUNT.div_ceil(thread_count())) {
                scope.spawn(|| {
                    let started: Vec<_> = share.iter().map(|argv| bench.spawn_bare(argv)).collect();
                    started.into_iter().for_each(|child| write_input_and_wait(child, SMALL_INPUT));
                });
            }
        });
    };
    let (subject, floor) = compare_medians(15, || bench.fire(&engine, &tool_call_event("glob")), floor);
    report.add_ratio("100 shell hooks at once / 100 bare spawns at once", subject, floor, 1.2);
}

fn bench_large_input(report: &mut BenchReport) {
    const INPUT_BYTES: usize = 10_000_000;
    const READER_COMMAND: &str = "cat >/dev/null";
    let bench = Bench::new();
    let text = "all work and no play\n".repeat(INPUT_BYTES / 21);
    let same_bytes = text.clone().into_bytes();
    let cat = bench.shell_argv(READER_COMMAND);

    // Hooks on model events get the whole conversation, which is encoded as JSON once for all readers.
    let engine = bench.engine(BeforeModel::KIND, &[READER_COMMAND.to_owned()]);
    let messages = vec![LlmMessage { role: "user".to_owned(), content: text.clone() }];
    let request = SharedJson::from_request(&LlmRequest { model: "m".to_owned(), messages, ..LlmRequest::default() });
    let event = BeforeModel { llm_request: request, purpose: Purpose::Answer };
    let (subject, floor) = compare_medians(100, || bench.fire(&engine, &event), || bench.run_bare(&cat, &same_bytes));
    report.add_ratio("10 MB request to a hook that reads it / cat of the same bytes", subject, floor, 1.3);

    // Other events are encoded for each firing, so the floor encodes too.
    let engine = bench.engine(BeforeAgent::KIND, &[READER_COMMAND.to_owned()]);
    let prompt = BeforeAgent { prompt: Cow::Borrowed(&text), attachments: Vec::new() };
    let encode_and_spawn = || bench.run_bare(&cat, &serde_json::to_vec(&prompt).unwrap());
    let grown = memory_growth(|| bench.fire(&engine, &prompt));
    let (subject, floor) = compare_medians(60, || bench.fire(&engine, &prompt), encode_and_spawn);
    report.add_ratio("10 MB prompt to a hook that reads it / JSON and cat of it", subject, floor, 1.3);
    report.add_formatted_ratio("its memory / its input", grown as f64, INPUT_BYTES as f64, 2.0, |bytes| {
        format!("{:.1} MB", bytes / 1e6)
    });
}

/// Streams an answer over a long history: the cost of a chunk must not depend on how many came before it.
fn bench_streamed_pieces(report: &mut BenchReport) {
    let bench = Bench::new();
    let hook = Hook::from_function(AfterModel::KIND, "h", |_| async { Ok(Answer::allow()) });
    let mut registry = Registry::default();
    registry.add(hook);
    let engine = HookEngine::builder(registry).build();
    let messages = vec![LlmMessage { role: "user".to_owned(), content: "all work and no play\n".repeat(500_000) }];
    let request = SharedJson::from_request(&LlmRequest { model: "m".to_owned(), messages, ..LlmRequest::default() });
    let answer = |pieces: u32| {
        let mut text = GrowingText::default();
        median_time_of_each(pieces, |at| {
            let piece = format!("piece {at} of \"many\"\n");
            text.push_str(&piece);
            bench.fire(
                &engine,
                &AfterModel {
                    llm_request: request.clone(),
                    llm_response: Cow::Owned(LlmResponse::from_text(piece.as_str())),
                    content: Cow::Owned(piece),
                    thoughts: "".into(),
                    code: "".into(),
                    citations: "".into(),
                    purpose: Purpose::Answer,
                    full_content: text.clone(),
                },
            );
        })
    };
    answer(1_000);
    let (short, long) = (answer(1_000), answer(10_000));
    report.add_ratio("a piece of 10,000 over a 10 MB history / one of 1,000", long, short, 1.5);
}

/// Measures the cost that hooks add to every chunk of an answer: once with a hook that takes single chunks, and once
/// with a hook that takes sentences.
fn bench_sentence_chunks(report: &mut BenchReport) {
    let mut registry = Registry::default();
    registry.add(Hook::from_function(AfterModel::KIND, "h", |_| async { Ok(Answer::allow()) }));
    let engine = HookEngine::builder(registry).build();
    report.add_note(
        "whether anybody wants more than a piece",
        median_time_of_each(100_000, |_| assert_eq!(black_box(&engine).chunk_granularity(), None)),
    );
    let text = "All work and no play, e.g. 3.14 times. Makes \"Jack\" a dull boy!\n".repeat(100);
    let words: Vec<&str> = text.split_inclusive(' ').collect();
    let (mut cutter, sentences) = (ChunkSplitter::default(), ChunkGranularity::from(ChunkUnit::Sentence));
    let one = median_time_of_each(100_000, |at| {
        black_box(cutter.feed(words[at % words.len()], sentences));
    });
    report.add_note("looking for a sentence's end in a word", one);
}

/// Returns settings with ten thousand hooks: half with names, half with patterns, all different.
fn settings_with_ten_thousand_hooks() -> String {
    let definitions: Vec<_> = (0..10_000)
        .map(|at| {
            let matcher = match at % 4 {
                0 => format!("mcp__names_{at}__get|mcp__names_{at}__put"),
                1 => format!("mcp__name_{at}__get"),
                2 => format!("^mcp__prefix_{at}__.*"),
                _ => format!("mcp__[a-z]+_{at}__(read|write)_[a-z]+$"),
            };
            json!({"matcher": matcher, "hooks": [
                {"type": "command", "name": format!("hook {at}"), "command": format!("./hooks/guard.sh --level {at}")}]})
        })
        .collect();
    serde_json::to_string_pretty(&json!({"hooks": {"BeforeTool": definitions}})).unwrap()
}

fn bench_planning(report: &mut BenchReport) {
    let bench = Bench::new();
    let engine = bench.engine(EventKind::AfterTool, &[SHELL_COMMAND.to_owned()]);
    let event = tool_call_event("glob");
    let cost = median_time_of_each(100_000, |_| assert!(black_box(fires_without_waiting(&engine, &event))));
    report.add_limit("an event with no hook registered", cost, Duration::from_micros(1));

    let text = settings_with_ten_thousand_hooks();
    let load = || {
        let declared = parse_layer(&Layer::new(Source::Project, Path::new("settings.json"), &text));
        assert_eq!((declared.hooks.len(), declared.diagnostics.len()), (10_000, 0));
        Planner::new(Registry::new(vec![declared]))
    };
    let loads = (0..repetition_count(15)).map(|_| {
        let start = Instant::now();
        let loaded = black_box(load());
        let cost = start.elapsed();
        drop(loaded);
        cost
    });
    let loads = loads.collect();
    report.add_limit("loading 10,000 hooks", median(loads), Duration::from_millis(100));

    let planner = load();
    let plan = |subject: &str| assert_eq!(planner.plan(EventKind::BeforeTool, Some(subject)).unwrap().hooks.len(), 1);
    let first = time(|| plan("mcp__names_0__get"));
    report.add_note("the very first plan of a configuration", first);
    let subjects: Vec<_> = (0..200)
        .map(|at| {
            let at = at * 48;
            [
                format!("mcp__names_{at}__put"),
                format!("mcp__prefix_{}__push", at + 2),
                format!("mcp__server_{}__read_file", at + 3),
            ]
        })
        .collect();
    let kinds = ["by its name", "by a prefix", "by a pattern"];
    for (kind, name) in kinds.iter().enumerate() {
        let costs: Vec<_> = subjects.iter().map(|names| time(|| plan(&names[kind]))).collect();
        report.add_limit(
            &format!("a first plan for a tool among 10,000 hooks, {name}"),
            median(costs),
            Duration::from_micros(10),
        );
    }
    let cost = median_time_of_each(10_000, |at| plan(&subjects[at % 200][2]));
    report.add_limit("a plan made before, among 10,000 hooks", cost, Duration::from_micros(10));

    let names: Vec<String> = planner.registry().hooks().iter().map(|hook| hook.id().to_owned()).collect();
    let mut off = planner.registry().clone();
    let cost = time(|| assert!(off.set_many_enabled(names.iter().map(String::as_str), false).is_empty()));
    report.add_limit("disabling 10,000 hooks", cost, Duration::from_millis(100));
    let cost = time(|| assert_eq!(planner.registry().hook_changes(&off).len(), 10_000));
    report.add_limit("telling the difference of 10,000 hooks", cost, Duration::from_millis(100));
}

/// Measures rules and their conditions, for which no process is started.
fn bench_rules(report: &mut BenchReport) {
    let calls = repetition_count(2000) as u32;
    let bench = Bench::new();
    std::fs::create_dir_all(bench.dir.path().join("src")).unwrap();
    let when = json!({"writes": ["src/**", "!src/gen/**"], "commands": ["git push --force*", "git push -f"]});
    let rule = json!({"type": "rule", "name": "r", "when": when, "decision": "deny", "reason": "no"});
    let definition = json!({"matcher": "run_shell_command|write_file", "hooks": [rule]});
    let text = json!({"hooks": {BeforeTool::KIND.name(): [definition]}}).to_string();
    let declared = parse_layer(&Layer::new(Source::Project, Path::new("settings.json"), &text));
    let session = Session { cwd: bench.dir.path().to_owned(), ..Session::default() };
    let engine = HookEngine::builder(Registry::new(vec![declared])).session(session).build();
    let shell = |command: &str| {
        let args = json!({"command": command}).as_object().unwrap().clone();
        BeforeTool { tool_input: Cow::Owned(args), ..tool_call_event("run_shell_command") }
    };
    let limit = Duration::from_micros(50);
    let mut each = |name: &str, event: &BeforeTool<'_>, ran: usize| {
        let fire = || assert_eq!(bench.runtime.block_on(engine.fire(event)).runs.len(), ran);
        fire();
        let cost = time(|| (0..calls).for_each(|_| fire())) / calls;
        report.add_limit(name, cost, limit);
    };
    each("a rule that denies a command line of 100 characters", &shell(LINE_OF_100_CHARACTERS), 1);
    each("a rule that lets a command line pass", &shell("grep -rn x src | head -5 && ls"), 0);
    let write = json!({"file_path": "src/a", "content": "x"}).as_object().unwrap().clone();
    each("a rule on a written file", &BeforeTool { tool_input: Cow::Owned(write), ..tool_call_event("write_file") }, 1);
    each("a call that no hook matches", &tool_call_event("glob"), 0);
    let calls = repetition_count(50) as u32;
    for (name, command) in long_commands() {
        let event = shell(&command);
        let fire = || black_box(bench.runtime.block_on(engine.fire(&event)));
        fire();
        let cost = time(|| (0..calls).for_each(|_| drop(fire()))) / calls;
        report.add_limit(&format!("a rule on {name} of {} characters", command.len()), cost, Duration::from_millis(5));
    }
}

const LINE_OF_100_CHARACTERS: &str =
    "cd src && grep -rn --include=*.rs 'needle' . | sort | head -9; git add -A && git push -f origin main";

/// Commands of the length of the longest that agents are seen to run, and longer.
fn long_commands() -> [(&'static str, String); 2] {
    let message = format!("git commit -m '{}'", "x".repeat(7600));
    let many: Vec<String> =
        (0..100).map(|at| format!("grep -n needle src/{at}.rs | head -{at} > out/{at}.txt")).collect();
    [("a long message", message), ("a hundred commands", many.join(" && "))]
}

const SMALL_INPUT: &[u8] = &[b'x'; 256];

fn tool_call_event(tool: &'static str) -> BeforeTool<'static> {
    BeforeTool {
        tool_name: tool.into(),
        tool_input: Cow::default(),
        mcp_context: None,
        original_request_name: None,
        tool_use_id: None,
        requested_by: RequestedBy::Model,
    }
}

fn thread_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A folder, an environment and a runtime for engine and floor.
struct Bench {
    dir: tempfile::TempDir,
    env: Vec<(OsString, OsString)>,
    runtime: Runtime,
}

impl Bench {
    fn new() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(thread_count()).enable_all().build().unwrap();
        // The size of an ordinary environment, whatever this one is.
        let mut env: Vec<(OsString, OsString)> =
            (0..40).map(|at| (format!("VARIABLE_{at}").into(), "some ordinary value".into())).collect();
        env.push(("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()));
        Bench { dir: tempfile::TempDir::new().unwrap(), env, runtime }
    }

    fn engine(&self, event: EventKind, commands: &[String]) -> HookEngine {
        let hooks: Vec<_> = commands.iter().map(|command| json!({"type": "command", "command": command})).collect();
        let text = json!({"hooks": {event.name(): [{"hooks": hooks}]}}).to_string();
        let declared = parse_layer(&Layer::new(Source::Project, Path::new("settings.json"), &text));
        let session = Session { cwd: self.dir.path().to_owned(), ..Session::default() };
        HookEngine::builder(Registry::new(vec![declared])).session(session).environment(self.env.clone()).build()
    }

    fn fire<E: Event>(&self, engine: &HookEngine, event: &E) {
        let ran = self.runtime.block_on(engine.fire(event)).runs;
        assert!(!ran.is_empty() && ran.iter().all(|run| run.exit_code == Some(0)), "{:?}", ran[0]);
    }

    fn find_program(&self, name: &str) -> OsString {
        let places = ["/usr/local/bin", "/usr/bin", "/bin"].map(|place| PathBuf::from(place).join(name));
        places.into_iter().find(|path| path.is_file()).unwrap().into()
    }

    fn shell_argv(&self, command: &str) -> [OsString; 3] {
        [self.find_program("bash"), "-c".into(), command.into()]
    }

    /// Starts a program in the same way as the engine, and does nothing more.
    fn spawn_bare(&self, argv: &[OsString]) -> std::process::Child {
        Command::new(&argv[0])
            .args(&argv[1..])
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(self.dir.path())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn run_bare(&self, argv: &[OsString], input: &[u8]) {
        write_input_and_wait(self.spawn_bare(argv), input);
    }
}

/// Returns whether firing completes without waiting; an event without hooks needs no runtime.
fn fires_without_waiting<E: Event>(engine: &HookEngine, event: &E) -> bool {
    let future = std::pin::pin!(engine.fire(event));
    future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())).is_ready()
}

/// Writes the input of a started program and waits for its end, in blocking code.
#[expect(clippy::disallowed_methods, reason = "a deadline would be measured with it; the watchdog ends a hang")]
fn write_input_and_wait(mut child: std::process::Child, input: &[u8]) {
    let mut output = Vec::new();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    child.stderr.take().unwrap().read_to_end(&mut output).unwrap();
    assert!(child.wait().unwrap().success());
}

fn time(work: impl FnOnce()) -> Duration {
    hookwright_testkit::watchdog::watch();
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Returns the median time of one of many quick operations.
fn median_time_of_each(count: u32, mut work: impl FnMut(usize)) -> Duration {
    let count = repetition_count(count as usize);
    let batch = |_| time(|| (0..count).for_each(&mut work)) / count as u32;
    let batches: Vec<_> = (0..repetition_count(9)).map(batch).collect();
    median(batches)
}

fn median(mut samples: Vec<Duration>) -> Duration {
    samples.sort();
    samples[samples.len() / 2]
}

/// Returns the medians of two operations that are done in turn.
fn compare_medians(samples: usize, mut subject: impl FnMut(), mut floor: impl FnMut()) -> (Duration, Duration) {
    (0..repetition_count(3)).for_each(|_| {
        subject();
        floor();
    });
    let pairs: Vec<_> = (0..repetition_count(samples)).map(|_| (time(&mut subject), time(&mut floor))).collect();
    (median(pairs.iter().map(|pair| pair.0).collect()), median(pairs.iter().map(|pair| pair.1).collect()))
}

/// Returns how far the resident memory rises during the work.
fn memory_growth(work: impl FnOnce()) -> u64 {
    let field = |name: &str| {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0").to_owned();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) << 10
    };
    // Resets the peak.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = field("VmRSS:");
    work();
    field("VmHWM:").saturating_sub(before)
}

/// The table of results.
struct BenchReport {
    rows: Vec<[String; 5]>,
}

impl BenchReport {
    fn new() -> Self {
        BenchReport { rows: Vec::new() }
    }

    fn add_ratio(&mut self, what: &str, subject: Duration, floor: Duration, target: f64) {
        self.add_formatted_ratio(what, subject.as_secs_f64(), floor.as_secs_f64(), target, |seconds| {
            format_duration(Duration::from_secs_f64(seconds))
        });
    }

    fn add_formatted_ratio(&mut self, what: &str, subject: f64, floor: f64, target: f64, show: impl Fn(f64) -> String) {
        let ratio = subject / floor;
        let verdict = if ratio <= target { "met" } else { "missed" };
        let row = [what.into(), show(subject), show(floor), format!("{ratio:.2}"), format!("≤ {target:.2}: {verdict}")];
        self.add_row(row);
    }

    fn add_limit(&mut self, what: &str, subject: Duration, limit: Duration) {
        let verdict = if subject < limit { "met" } else { "missed" };
        let ratio = subject.as_secs_f64() / limit.as_secs_f64();
        self.add_row([
            what.into(),
            format_duration(subject),
            "".into(),
            format!("{ratio:.2}"),
            format!("< {}: {verdict}", format_duration(limit)),
        ]);
    }

    fn add_note(&mut self, what: &str, subject: Duration) {
        self.add_row([what.into(), format_duration(subject), String::new(), String::new(), String::new()]);
    }

    fn add_row(&mut self, row: [String; 5]) {
        println!("{}", row.join("  "));
        self.rows.push(row);
    }

    fn print(&self) {
        println!("\n| what | engine | floor | ratio | target |\n|---|--:|--:|--:|---|");
        for row in &self.rows {
            println!("| {} |", row.join(" | "));
        }
    }
}

fn format_duration(duration: Duration) -> String {
    match duration.as_nanos() {
        0..1_000 => format!("{} ns", duration.as_nanos()),
        1_000..1_000_000 => format!("{:.1} µs", duration.as_secs_f64() * 1e6),
        _ => format!("{:.2} ms", duration.as_secs_f64() * 1e3),
    }
}
