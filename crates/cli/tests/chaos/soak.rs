//! A soak test: the work of eight busy hours in one session, as fast as possible. At the end it must need no more
//! resources than after the first hour.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hookwright_testkit::deadline::TimedWriter;
use hookwright_testkit::{ReplayBuilder, Sandbox, fs, replay, watchdog};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::{Value, json};

use crate::plot::{PlotSeries, plot};

/// One prompt a minute, and a new conversation every hour.
const SOAK_HOURS: usize = 8;
const PROMPTS_PER_HOUR: usize = 60;
/// The requests of a prompt, besides one for the answer, and the calls of each.
const REQUESTS_PER_PROMPT: usize = 4;
const CALLS_PER_REQUEST: usize = 5;
/// A program that takes longer for one prompt hangs.
const PROMPT_TIMEOUT: Duration = Duration::from_secs(90);

/// The program's resources at the end of a prompt.
struct ResourceSample {
    kilobytes: u64,
    descriptors: usize,
    threads: usize,
}

#[test]
#[ignore = "takes a quarter of an hour; by hand, for docs/reliability.md"]
fn a_day_of_work_needs_no_more_than_its_first_hour() {
    let hour = crate::number("SOAK_PROMPTS_AN_HOUR", PROMPTS_PER_HOUR as u64) as usize;
    let sandbox = soak_sandbox(SOAK_HOURS * hour);
    let mut session = SoakSession::start(&sandbox);
    let mut samples = Vec::new();
    for prompt in 0..SOAK_HOURS * hour {
        if prompt > 0 && prompt % hour == 0 {
            session.types("/clear\r", "the conversation is cleared");
            crate::print_to_stderr(&format!("soak: {} of {SOAK_HOURS} hours", prompt / hour));
        }
        session.types(&format!("go on {prompt}\r"), &format!("done-{prompt}-"));
        samples.push(session.sample());
    }
    let folder = std::env::var_os("SOAK_FOLDER").map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from);
    report(&folder, &samples, hour);
    crate::print_to_stderr(&format!("soak: {}; in {}", events(&sandbox), folder.display()));
    is_flat("kilobytes", &samples, hour, 0.05, |sample| sample.kilobytes as f64);
    is_flat("descriptors", &samples, hour, 0.02, |sample| sample.descriptors as f64);
    is_flat("threads", &samples, hour, 0.02, |sample| sample.threads as f64);
}

/// A sandbox with three hooks on every event and a model for all prompts.
fn soak_sandbox(prompts: usize) -> Sandbox {
    let sandbox = Sandbox::new(crate::program());
    let hooks = [
        ("reads", "cat > /dev/null".to_owned()),
        ("answers", sandbox.script("answers", "cat > /dev/null; echo '{\"suppressOutput\": true}'")),
        ("plain", "true".to_owned()),
    ];
    let hooks: Vec<Value> =
        hooks.iter().map(|(name, command)| json!({"type": "command", "name": name, "command": command})).collect();
    let events = hookwright_hooks::EventKind::all().map(hookwright_hooks::EventKind::name);
    let events: serde_json::Map<String, Value> =
        events.map(|event| (event.to_owned(), json!([{"hooks": hooks}]))).collect();
    sandbox.settings(&json!({"hooks": events}));
    let telemetry = sandbox.sibling_path("telemetry.jsonl");
    sandbox.user_settings(&json!({"telemetry": {"enabled": true, "outfile": telemetry, "logPrompts": false}}));
    sandbox.write("notes.txt", "version 0\n");
    let mut model = ReplayBuilder::new();
    for prompt in 0..prompts {
        for request in 0..REQUESTS_PER_PROMPT {
            let calls: Vec<Value> = (0..CALLS_PER_REQUEST)
                .map(|at| call((prompt * REQUESTS_PER_PROMPT + request) * CALLS_PER_REQUEST + at))
                .collect();
            model = model.parts(&calls);
        }
        model = model.says_in_chunks(&["this is what came of it, ", "in some words and ", &format!("done-{prompt}-")]);
    }
    sandbox.replay(&model);
    sandbox
}

fn call(number: usize) -> Value {
    let text = format!("line {number} of some text that is written\n").repeat(50);
    match number % CALLS_PER_REQUEST {
        0 => replay::call("run_shell_command", json!({"command": format!("echo {number}; seq 200")})),
        1 => replay::call("write_file", json!({"file_path": format!("file-{}.txt", number % 40), "content": text})),
        2 => replay::call("read_file", json!({"file_path": format!("file-{}.txt", (number - 1) % 40)})),
        3 => replay::call("search_file_content", json!({"pattern": format!("line {}", number - 2)})),
        _ => replay::call("glob", json!({"pattern": format!("*{}.txt", number % 10)})),
    }
}

/// The program in a terminal.
struct SoakSession {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    keys: TimedWriter<Box<dyn Write + Send>>,
    seen: Arc<Mutex<Vec<u8>>>,
    _master: Box<dyn portable_pty::MasterPty + Send>,
}

impl SoakSession {
    fn start(sandbox: &Sandbox) -> SoakSession {
        let replay = sandbox.sibling_path("replay.jsonl").to_string_lossy().into_owned();
        let wanted = sandbox.command(&["--approval-mode=yolo", "--fake-responses", &replay]);
        let size = PtySize { rows: 40, cols: 120, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(wanted.get_program());
        command.args(wanted.get_args());
        command.cwd(sandbox.project());
        command.env_clear();
        wanted.get_envs().for_each(|(name, value)| command.env(name, value.unwrap_or_default()));
        command.env("TERM", "xterm-256color");
        let child = pair.slave.spawn_command(command).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (mut reader, sink) = (pair.master.try_clone_reader().unwrap(), seen.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 65536];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                sink.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        let keys = TimedWriter::new(pair.master.take_writer().unwrap());
        let mut session = SoakSession { child, keys, seen, _master: pair.master };
        session.types("", "Type your message");
        session
    }

    /// Types keys and waits until the program shows the answer.
    fn types(&mut self, keys: &str, answer: &str) {
        watchdog::report_progress();
        let since = Instant::now();
        self.keys.write_all(keys.as_bytes()).unwrap();
        let shown = |seen: &[u8]| seen.windows(answer.len()).any(|words| words == answer.as_bytes());
        loop {
            let mut seen = self.seen.lock().unwrap();
            if shown(&seen) {
                return seen.clear();
            }
            let last = String::from_utf8_lossy(&seen[seen.len().saturating_sub(3000)..]).into_owned();
            drop(seen);
            assert!(since.elapsed() < PROMPT_TIMEOUT, "{keys:?} did not lead to {answer:?}: {last}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Samples the resources while the session is idle: background hooks may be about to end.
    fn sample(&self) -> ResourceSample {
        let looks = (0..5).map(|_| {
            std::thread::sleep(Duration::from_millis(20));
            self.look()
        });
        looks.min_by_key(|sample| sample.descriptors).unwrap()
    }

    fn look(&self) -> ResourceSample {
        let process = PathBuf::from(format!("/proc/{}", self.child.process_id().unwrap()));
        let status = fs::read_to_string(process.join("status")).unwrap();
        let field = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim_end_matches("kB").trim().parse().unwrap()
        };
        let descriptors = fs::read_dir(process.join("fd")).unwrap().count();
        ResourceSample { kilobytes: field("VmRSS:"), descriptors, threads: field("Threads:") as usize }
    }
}

impl Drop for SoakSession {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// Counts the events in telemetry.
fn events(sandbox: &Sandbox) -> String {
    let records = fs::read_to_string(sandbox.sibling_path("telemetry.jsonl")).unwrap_or_default();
    let count = |kind: &str| records.matches(&format!("\"event.name\":\"gemini_cli.{kind}\"")).count();
    let (prompts, requests) = (count("user_prompt"), count("api_request"));
    format!(
        "{prompts} prompts, {requests} requests, {} calls, {} runs of hooks",
        count("tool_call"),
        count("hook_call")
    )
}

fn report(folder: &Path, samples: &[ResourceSample], hour: usize) {
    let mut table = "prompt,resident_kb,descriptors,threads\n".to_owned();
    for (at, sample) in samples.iter().enumerate() {
        writeln!(table, "{},{},{},{}", at + 1, sample.kilobytes, sample.descriptors, sample.threads).unwrap();
    }
    fs::write(folder.join("soak.csv"), table).unwrap();
    let series =
        |name, value: fn(&ResourceSample) -> f64| PlotSeries { name, values: samples.iter().map(value).collect() };
    let panels = [
        series("resident memory, MB", |sample| sample.kilobytes as f64 / 1024.0),
        series("open descriptors", |sample| sample.descriptors as f64),
        series("threads", |sample| sample.threads as f64),
    ];
    fs::write(folder.join("soak.svg"), plot(&panels, hour)).unwrap();
}

/// Asserts that, from the second hour on, the regression line rises by no more than a share of the mean.
fn is_flat(what: &str, samples: &[ResourceSample], hour: usize, share: f64, value: impl Fn(&ResourceSample) -> f64) {
    let values: Vec<f64> = samples[hour..].iter().map(value).collect();
    let count = values.len() as f64;
    let (mean, middle) = (values.iter().sum::<f64>() / count, (count - 1.0) / 2.0);
    let around = |at: usize| at as f64 - middle;
    let rise = values.iter().enumerate().map(|(at, value)| around(at) * (value - mean)).sum::<f64>()
        / (0..values.len()).map(|at| around(at).powi(2)).sum::<f64>();
    let growth = rise * count;
    crate::print_to_stderr(&format!(
        "soak: {what}: mean {mean:.0}, growth over {:.0} hours {growth:+.1}",
        count / hour as f64
    ));
    assert!(growth <= (mean * share).max(1.0), "{what} grow by {growth:.1} over a mean of {mean:.1}");
}
