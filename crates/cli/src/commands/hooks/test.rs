//! `hooks test`: runs hook tests and prints the results, once or after every change. `test/record.rs` adds cases.

mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::bail;
use hookwright_hooks::RunReport;
use hookwright_settings::{LoadOptions, ProcessEnv, load};
use record::EventSelection;
use serde_json::{Value, json};
use similar::TextDiff;

use crate::args::{HookTestArgs, ProjectArgs};
use crate::commands::hook_test::{self, ExpectationFailure, HookTestCaseResult, HookTestFileResult};
use crate::exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, WARN, paint};

/// The file that recorded cases go to, as `--record` without a file has it.
const DEFAULT_RECORD_FILE: &str = ".hookwright/recorded.hooktest.toml";

/// The folders of a project that hold hooks and their tests.
const HOOK_FOLDERS: [&str; 2] = [".hookwright", ".gemini"];

pub(crate) fn run(place: &ProjectArgs, world: &ProcessEnv, args: &HookTestArgs) -> anyhow::Result<u8> {
    let project = place.directory(world)?;
    if args.record.is_some() || args.from_journal.is_some() {
        let file = args.record.as_deref().unwrap_or(Path::new(DEFAULT_RECORD_FILE));
        let selection = args.from_journal.map_or(EventSelection::Last, EventSelection::Line);
        return match untrusted_folder(place, world, &project, &[]) {
            Some(folder) => print_refusal(&folder, false),
            None => record::run(world, &project, file, selection),
        };
    }
    if !args.watch {
        return run_once(place, world, &project, args);
    }
    loop {
        let files = watched_files(world, &project, &args.paths);
        // An error, such as a test file that is half written, does not end the watch.
        if let Err(error) = run_once(place, world, &project, args) {
            crate::output::error_report::print(&error);
        }
        output::note("waiting for a change; Ctrl+C ends")?;
        while watched_files(world, &project, &args.paths) == files {
            if output::is_stdout_closed() {
                return Ok(exit::BROKEN_PIPE);
            }
            std::thread::sleep(WATCH_INTERVAL);
        }
        // An editor may write several files, or one in several steps.
        std::thread::sleep(WATCH_INTERVAL);
    }
}

/// How often files are looked at for changes.
const WATCH_INTERVAL: Duration = Duration::from_millis(300);

/// The limit of files that are watched.
const MAX_WATCHED_FILES: usize = 20_000;

/// Returns the files of hooks and tests, each with its time of change and its size.
fn watched_files(world: &ProcessEnv, project: &Path, paths: &[PathBuf]) -> BTreeMap<PathBuf, (SystemTime, u64)> {
    let mut found = BTreeMap::new();
    let mut folders: Vec<PathBuf> = HOOK_FOLDERS.iter().map(|folder| project.join(folder)).collect();
    // Hooks and settings of a test file lie beside it.
    let given = paths.iter().map(|path| world.cwd.join(path));
    folders.extend(given.map(|path| if path.is_dir() { path } else { path.parent().unwrap_or(project).to_owned() }));
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            match metadata.is_dir() {
                true if entry.file_name() != "node_modules" && entry.file_name() != ".git" => {
                    folders.push(entry.path())
                }
                true => {}
                false => {
                    let changed = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                    found.insert(entry.path(), (changed, metadata.len()));
                }
            }
        }
        if found.len() > MAX_WATCHED_FILES {
            break;
        }
    }
    found
}

fn run_once(place: &ProjectArgs, world: &ProcessEnv, project: &Path, args: &HookTestArgs) -> anyhow::Result<u8> {
    let HookTestArgs { paths, json: as_json, .. } = args;
    let (filter, as_json) = (args.filter.as_deref(), *as_json);
    let files = test_files(world, paths, project)?;
    if let Some(folder) = untrusted_folder(place, world, project, &files) {
        return print_refusal(&folder, as_json);
    }
    let runtime = crate::runtime::start(std::thread::available_parallelism().map_or(2, usize::from))?;
    let results = runtime.block_on(run_all(&files, project, world, filter));
    let failed = results.iter().any(|result| match result {
        Ok(file) => file.cases.iter().any(|case| !case.failures.is_empty()),
        Err(_) => true,
    });
    // A file whose program is missing counts as skipped, which is reported separately.
    let none_ran =
        !failed && results.iter().flatten().all(|file| file.cases.is_empty() && file.missing_program.is_none());
    if as_json {
        output::print_json(&results_json(&results, !failed && !none_ran))?;
    } else {
        print_results(&results)?;
    }
    if none_ran {
        let filter = filter.map(|text| format!(" has `{}` in its name", output::one_line(text)));
        output::warn(format!("no case ran: no case{}", filter.unwrap_or_else(|| " is in these files".to_owned())))?;
        return Ok(exit::NO_TESTS);
    }
    Ok(if failed { exit::ERROR } else { exit::OK })
}

/// Returns a folder that is not trusted, of the project or of a test. Tests run what a project declares,
/// so then none runs.
fn untrusted_folder(place: &ProjectArgs, world: &ProcessEnv, project: &Path, files: &[PathBuf]) -> Option<PathBuf> {
    let outside = files.iter().filter(|file| !file.starts_with(project)).filter_map(|file| file.parent());
    let folders: BTreeSet<PathBuf> = outside.chain([project]).map(Path::to_owned).collect();
    folders.into_iter().find(|folder| {
        let options = LoadOptions { project: folder.clone(), trust: place.trust_override(), ..LoadOptions::default() };
        !load(world, &options).project.trust.is_trusted()
    })
}

fn print_refusal(folder: &Path, as_json: bool) -> anyhow::Result<u8> {
    let why = format!("{} is not trusted, so no test in it runs", folder.display());
    if as_json {
        output::print_json(&json!({"ok": false, "error": why, "files": []}))?;
    } else {
        output::warn(why)?;
    }
    output::hint("look at it, then run `hookwright hooks trust --folder` there, or add `--skip-trust`")?;
    Ok(exit::ERROR)
}

fn test_files(world: &ProcessEnv, paths: &[PathBuf], project: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if paths.is_empty() {
        for default in HOOK_FOLDERS.map(|folder| project.join(folder)) {
            if default.is_dir() {
                files.extend(hook_test::find_test_files(&default)?);
            }
        }
    }
    for path in paths {
        files.extend(hook_test::find_test_files(&world.cwd.join(path))?);
    }
    if files.is_empty() {
        bail!(
            "no hook tests found: they are files called `*.hooktest.toml`, by default under .hookwright/ and .gemini/"
        );
    }
    Ok(files)
}

type HookTestResults = Vec<anyhow::Result<HookTestFileResult>>;

/// Runs the files concurrently; the results are in the order of the files.
async fn run_all(files: &[PathBuf], project: &Path, world: &ProcessEnv, filter: Option<&str>) -> HookTestResults {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let limiter = Arc::new(tokio::sync::Semaphore::new(cores * 2));
    let mut tasks = Vec::new();
    for file in files {
        let (file, project, env) = (file.clone(), project.to_owned(), world.env.clone());
        let (filter, limiter) = (filter.map(str::to_owned), limiter.clone());
        tasks.push(tokio::spawn(async move {
            let _permit = limiter.acquire().await;
            hook_test::run_file(&file, &project, &env, filter.as_deref()).await
        }));
    }
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.map_err(anyhow::Error::from).and_then(|result| result));
    }
    results
}

fn print_results(results: &HookTestResults) -> anyhow::Result<()> {
    let mut stdout = output::stdout();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for result in results {
        match result {
            Ok(HookTestFileResult { path, missing_program: Some(program), .. }) => {
                skipped += 1;
                writeln!(stdout, "{} {}: {program} is not installed", paint(WARN, "skip"), path.display())?;
            }
            Ok(file) => {
                writeln!(stdout, "{}", paint(BOLD, file.path.display()))?;
                for left_out in &file.skipped_entries {
                    writeln!(stdout, "  {} not in the test's project: {left_out}", paint(WARN, "note:"))?;
                }
                for case in &file.cases {
                    print_case(&mut stdout, case)?;
                    *(if case.failures.is_empty() { &mut passed } else { &mut failed }) += 1;
                }
            }
            Err(error) => {
                failed += 1;
                writeln!(stdout, "{} {error:#}", paint(BAD, "FAIL"))?;
            }
        }
    }
    writeln!(stdout, "\n{passed} passed, {failed} failed, {skipped} skipped")?;
    Ok(())
}

fn print_case(out: &mut impl Write, case: &HookTestCaseResult) -> std::io::Result<()> {
    let time = paint(DIM, format!("({} ms)", case.duration.as_millis()));
    let warn = |out: &mut dyn Write, warnings: &[String]| {
        warnings.iter().try_for_each(|warning| writeln!(out, "       {} {warning}", paint(WARN, "warning:")))
    };
    if case.failures.is_empty() {
        writeln!(out, "  {}   {} {time}", paint(GOOD, "ok"), case.name)?;
        return warn(out, &case.warnings);
    }
    writeln!(out, "  {} {} {time}", paint(BAD, "FAIL"), case.name)?;
    for failure in &case.failures {
        print_failure(out, failure)?;
    }
    warn(out, &case.warnings)?;
    warn(out, &case.host_losses)?;
    print_evidence(out, case)
}

/// The part of an input or an output that is printed for a failing case; `--json` has all of it.
const MAX_EVIDENCE_CHARS: usize = 2000;

/// Prints where the hooks of a failing case ran, what they read and what they printed.
fn print_evidence(out: &mut impl Write, case: &HookTestCaseResult) -> std::io::Result<()> {
    let mut line = |label: &str, text: &str| {
        let text = text.trim_end();
        let end = text.char_indices().nth(MAX_EVIDENCE_CHARS).map_or(text.len(), |(at, _)| at);
        let cut = if end < text.len() { " …" } else { "" };
        let text = format!("{}{cut}", &text[..end]).replace('\n', "\n           ");
        writeln!(out, "       {} {text}", paint(DIM, format!("{label}:")))
    };
    let repository = if case.has_repository { "" } else { "; no git repository unless `[setup]` says `git = true`" };
    line("working directory", &format!("{} (temporary{repository})", case.cwd.display()))?;
    line("input", &Value::Object(case.input.clone()).to_string())?;
    for run in &case.runs {
        let end = run.exit_code.map_or_else(|| run.status.as_str().to_owned(), |code| format!("exit {code}"));
        line(&format!("hook {}", run.hook), &end)?;
        for (name, stream) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
            line(&format!("  {name}"), if stream.text.trim().is_empty() { "(nothing)" } else { &stream.text })?;
        }
    }
    if case.runs.is_empty() { line("hooks", "none matched") } else { Ok(()) }
}

/// Prints the expected and the actual value as a line diff.
fn print_failure(out: &mut impl Write, failure: &ExpectationFailure) -> std::io::Result<()> {
    writeln!(out, "       {}:", failure.what)?;
    let diff = TextDiff::from_lines(&failure.expected, &failure.actual);
    for change in diff.iter_all_changes() {
        let (style, sign, label) = match change.tag() {
            similar::ChangeTag::Delete => (GOOD, "-", " expected"),
            similar::ChangeTag::Insert => (BAD, "+", " actual"),
            similar::ChangeTag::Equal => (output::PLAIN, " ", ""),
        };
        let text = change.value().trim_end_matches('\n');
        writeln!(out, "         {}{}", paint(style, format!("{sign} {text}")), paint(DIM, label))?;
    }
    Ok(())
}

fn results_json(results: &HookTestResults, ok: bool) -> Value {
    let run = |run: &RunReport| {
        json!({
            "hook": run.hook,
            "status": run.status,
            "exit_code": run.exit_code,
            "failure": run.failure,
            "error": run.error,
            "stdout": run.stdout.text,
            "stderr": run.stderr.text,
        })
    };
    let case = |case: &HookTestCaseResult| {
        json!({
            "name": case.name,
            "ok": case.failures.is_empty(),
            "duration_ms": u64::try_from(case.duration.as_millis()).unwrap_or(u64::MAX),
            "failures": case.failures,
            "cwd": case.cwd,
            "input": case.input,
            "runs": case.runs.iter().map(run).collect::<Vec<_>>(),
            "warnings": case.warnings.iter().chain(&case.host_losses).collect::<Vec<_>>(),
        })
    };
    let file = |result: &anyhow::Result<HookTestFileResult>| match result {
        Ok(file) => json!({
            "file": file.path,
            "skipped": file.missing_program.as_ref().map(|program| format!("{program} is not installed")),
            "left_out": file.skipped_entries,
            "cases": file.cases.iter().map(case).collect::<Vec<_>>(),
        }),
        Err(error) => json!({"error": format!("{error:#}")}),
    };
    json!({"ok": ok, "files": results.iter().map(file).collect::<Vec<_>>()})
}
