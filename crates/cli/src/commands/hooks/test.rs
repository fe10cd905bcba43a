//! `hooks test`: runs hook tests and prints the results.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use hookwright_settings::{LoadOptions, ProcessEnv, load};
use serde_json::{Value, json};
use similar::TextDiff;

use crate::args::ProjectArgs;
use crate::commands::hook_test::{self, ExpectationFailure, HookTestCaseResult, HookTestFileResult};
use crate::exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, WARN, paint};

pub(crate) fn run(
    place: &ProjectArgs,
    world: &ProcessEnv,
    paths: &[PathBuf],
    filter: Option<&str>,
    as_json: bool,
) -> anyhow::Result<u8> {
    let project = place.directory(world)?;
    let files = test_files(world, paths, &project)?;
    if let Some(folder) = untrusted_folder(place, world, &project, &files) {
        return print_refusal(&folder, as_json);
    }
    let runtime = crate::runtime::start(std::thread::available_parallelism().map_or(2, usize::from))?;
    let results = runtime.block_on(run_all(&files, &project, world, filter));
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
        let default = project.join(".gemini");
        if default.is_dir() {
            files = hook_test::find_test_files(&default)?;
        }
    }
    for path in paths {
        files.extend(hook_test::find_test_files(&world.cwd.join(path))?);
    }
    if files.is_empty() {
        bail!("no hook tests found: they are files called `*.hooktest.toml`, by default under .gemini/");
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
    let (mut passed, mut failed, mut skipped, mut doubtful) = (0, 0, 0, 0);
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
                    doubtful += usize::from(case.failures.is_empty() && case.hook_failed);
                }
            }
            Err(error) => {
                failed += 1;
                writeln!(stdout, "{} {error:#}", paint(BAD, "FAIL"))?;
            }
        }
    }
    // An outcome that is due to a hook's failure says little about the hook.
    let doubtful = if doubtful > 0 { format!(" ({doubtful} with a hook that failed)") } else { String::new() };
    writeln!(stdout, "\n{passed} passed{doubtful}, {failed} failed, {skipped} skipped")?;
    Ok(())
}

fn print_case(out: &mut impl Write, case: &HookTestCaseResult) -> std::io::Result<()> {
    let time = paint(DIM, format!("({} ms)", case.duration.as_millis()));
    let warn = |out: &mut dyn Write, warnings: &[String]| {
        warnings.iter().try_for_each(|warning| writeln!(out, "       {} {warning}", paint(WARN, "warning:")))
    };
    if case.failures.is_empty() {
        writeln!(out, "  {}   {} {time}", paint(GOOD, "ok"), case.name)?;
        return if case.hook_failed { warn(out, &case.warnings) } else { Ok(()) };
    }
    writeln!(out, "  {} {} {time}", paint(BAD, "FAIL"), case.name)?;
    for failure in &case.failures {
        print_failure(out, failure)?;
    }
    warn(out, &case.warnings)?;
    warn(out, &case.host_losses)
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
    let case = |case: &HookTestCaseResult| {
        json!({
            "name": case.name,
            "ok": case.failures.is_empty(),
            "duration_ms": u64::try_from(case.duration.as_millis()).unwrap_or(u64::MAX),
            "failures": case.failures,
            "hook_failed": case.hook_failed,
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
