//! Runs the cases of a hook-test file, each in a fresh temporary project, on the engine that sessions use.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail, ensure};
use hookwright_bridge::sample_payload::build_host_payload;
use hookwright_bridge::{Host, HostVerdict};
use hookwright_hooks::merge::merge;
use hookwright_hooks::{
    AnyEvent, HookEngine, Layer, MatcherSubject, MergedAnswer, Outcome, Registry, RunReport, Session, Severity, Source,
    parse_layer,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::check::{ExpectationFailure, check, substitute_project, toml_to_json};
use super::file::{HookTestCase, HookTestFile};
use super::sandbox::populate_sandbox;

/// The results of one file.
pub(crate) struct HookTestFileResult {
    pub(crate) path: PathBuf,
    /// A required program that is missing, so that no case was run.
    pub(crate) missing_program: Option<String>,
    pub(crate) cases: Vec<HookTestCaseResult>,
    /// Files of the project that were not copied for the cases, with the reason.
    pub(crate) skipped_entries: BTreeSet<String>,
}

/// The result of one case.
pub(crate) struct HookTestCaseResult {
    pub(crate) name: String,
    pub(crate) duration: Duration,
    pub(crate) failures: Vec<ExpectationFailure>,
    pub(crate) warnings: Vec<String>,
    /// What another agent's dialect can't express of the answer.
    pub(crate) host_losses: Vec<String>,
    /// The directory in which the hooks ran; it is removed after the case.
    pub(crate) cwd: PathBuf,
    pub(crate) has_repository: bool,
    /// The event's own fields, as the hooks got them.
    pub(crate) input: Map<String, Value>,
    pub(crate) runs: Vec<RunReport>,
}

/// Runs a file's cases; `project` provides the settings where the file names none.
pub(crate) async fn run_file(
    path: &Path,
    project: &Path,
    env: &[(OsString, OsString)],
    filter: Option<&str>,
) -> anyhow::Result<HookTestFileResult> {
    let file = HookTestFile::read(path)?;
    let mut result = HookTestFileResult {
        path: path.to_owned(),
        missing_program: None,
        cases: Vec::new(),
        skipped_entries: BTreeSet::new(),
    };
    if let Some(missing) =
        file.requires.iter().find(|program| !crate::commands::is_program_installed(program, project, env))
    {
        result.missing_program = Some(missing.clone());
        return Ok(result);
    }
    for case in file.cases.iter().filter(|case| filter.is_none_or(|text| case.name.contains(text))) {
        for host in std::iter::once(None).chain(case_hosts(case)?.into_iter().map(Some)) {
            let (case, left_out) = run_case(&file, case, host, path, project, env)
                .await
                .with_context(|| format!("{}: case `{}` could not be run", path.display(), case.name))?;
            result.cases.push(case);
            result.skipped_entries.extend(left_out);
        }
    }
    Ok(result)
}

/// Returns the agents that a case names.
fn case_hosts(case: &HookTestCase) -> anyhow::Result<Vec<Host>> {
    let host =
        |name: &String| crate::args::parse_host(name).map_err(|why| anyhow!("case `{}`: `{name}`: {why}", case.name));
    case.hosts.iter().map(host).collect()
}

async fn run_case(
    file: &HookTestFile,
    case: &HookTestCase,
    host: Option<Host>,
    path: &Path,
    project: &Path,
    env: &[(OsString, OsString)],
) -> anyhow::Result<(HookTestCaseResult, Vec<String>)> {
    let started = Instant::now();
    let test_dir = path.parent().unwrap_or(Path::new("."));
    let sandbox = tempfile::Builder::new().prefix("hooktest-").tempdir().context("can't make a temporary project")?;
    // Hooks may compare paths, so they get the resolved one.
    let root = sandbox.path().canonicalize()?;
    let (home, sandbox_project) = (root.join("home"), root.join("project"));
    std::fs::create_dir_all(&home)?;
    std::fs::create_dir_all(&sandbox_project)?;
    let left_out = populate_sandbox(file, case, test_dir, project, &sandbox_project)?;
    let engine = sandbox_engine(file, case, test_dir, &sandbox_project, &home, env)?;
    let fields = event_fields(case, &sandbox_project)?;
    let (outcome, lost) = match host {
        None => {
            let event = AnyEvent::from_fields(case.event, fields.clone())
                .with_context(|| format!("the input does not fit {}", case.event))?;
            (engine.fire_any(&event, &CancellationToken::new()).await, Vec::new())
        }
        Some(host) => fire_as(host, case, &fields, &sandbox_project, &engine).await?,
    };
    engine.shutdown().await;
    let failures = check(&case.expect, case.event, &outcome, &sandbox_project);
    let result = HookTestCaseResult {
        name: host.map_or_else(|| case.name.clone(), |host| format!("{} (as {host})", case.name)),
        duration: started.elapsed(),
        failures,
        warnings: outcome.warnings.iter().map(ToString::to_string).collect(),
        host_losses: lost,
        has_repository: sandbox_project.join(".git").exists(),
        cwd: sandbox_project,
        input: fields,
        runs: outcome.runs,
    };
    Ok((result, left_out))
}

/// Runs the case as another agent's event: returns the outcomes of all views as one, and what the
/// agent's answer would lose.
async fn fire_as(
    host: Host,
    case: &HookTestCase,
    fields: &Map<String, Value>,
    project: &Path,
    engine: &HookEngine,
) -> anyhow::Result<(Outcome<()>, Vec<String>)> {
    let payload = build_host_payload(host, case.event, fields, project)?;
    let host_event = host.dialect().parse_event(host, payload, None)?;
    let mut outcomes = Vec::new();
    for view in &host_event.views {
        outcomes.push(engine.fire_any(&view.event, &CancellationToken::new()).await);
    }
    let merged: Vec<MergedAnswer> = outcomes.iter().map(|outcome| outcome.merged.clone()).collect();
    let written = host.dialect().write_response(&host_event, &HostVerdict::from_merged(&host_event, &merged));
    let lost = written
        .downgrades
        .iter()
        .map(|loss| format!("{} becomes {} in {}", loss.requested, loss.applied, host.title()));
    let lost = lost.collect();
    let mut all = outcomes.into_iter();
    let mut whole = all.next().with_context(|| format!("{} has no such event", host.title()))?;
    for next in all {
        whole.messages.extend(next.messages);
        whole.warnings.extend(next.warnings);
        whole.runs.extend(next.runs);
    }
    whole.merged = merge(whole.runs.iter().map(|run| (run.hook.as_str(), &run.answer))).0;
    Ok((whole, lost))
}

/// The size limit of a settings file.
const MAX_TEST_SETTINGS_BYTES: u64 = 16 << 20;

/// Builds an engine with the hooks of the sandbox's settings only.
fn sandbox_engine(
    file: &HookTestFile,
    case: &HookTestCase,
    test_dir: &Path,
    project: &Path,
    home: &Path,
    env: &[(OsString, OsString)],
) -> anyhow::Result<HookEngine> {
    let mut layers = Vec::new();
    for place in [".gemini/settings.json", ".hookwright/hooks.json"] {
        let settings = project.join(place);
        if !settings.exists() {
            continue;
        }
        let shown = match &file.settings {
            Some(named) => test_dir.join(named),
            None => settings.clone(),
        };
        let text = hookwright_disk::read_text(&settings, MAX_TEST_SETTINGS_BYTES)
            .with_context(|| format!("can't read {}", shown.display()))?;
        let source = if file.user { Source::User } else { Source::Project };
        layers.push(parse_layer(&Layer::new(source, &shown, &text)));
    }
    ensure!(
        !layers.is_empty(),
        "there are no settings: name a file with `settings = …`, or create .hookwright/hooks.json"
    );
    let diagnostics = layers.iter().flat_map(|layer| &layer.diagnostics);
    if let Some(first) = diagnostics.into_iter().find(|diagnostic| diagnostic.severity == Severity::Error) {
        bail!("{first}");
    }
    if let Some(name) = &case.hook {
        layers.iter_mut().for_each(|layer| layer.hooks.retain(|hook| hook.id() == name && hook.event == case.event));
        ensure!(layers.iter().any(|layer| !layer.hooks.is_empty()), "there is no hook `{name}` on {}", case.event);
    }
    let mut vars = env.to_vec();
    vars.push(("HOME".into(), home.into()));
    vars.extend(file.setup.env.iter().map(|(name, value)| (name.into(), value.into())));
    let session = Session {
        id: "hooktest".to_owned(),
        transcript_path: home.join("transcript.jsonl"),
        cwd: project.to_owned(),
        project_dir: project.to_owned(),
        plans_dir: home.join("plans"),
    };
    std::fs::write(&session.transcript_path, "")?;
    let engine = HookEngine::builder(Registry::new(layers)).session(session).environment(vars);
    Ok(engine
        .confinement_launcher(crate::commands::run::launcher(&hookwright_settings::ProcessEnv::from_process()))
        .build())
}

/// Builds the fields of a case's event from its short forms and its input table.
fn event_fields(case: &HookTestCase, project: &Path) -> anyhow::Result<Map<String, Value>> {
    let mut fields = Map::new();
    if let Some(tool) = &case.tool {
        if case.event.info().subject != MatcherSubject::ToolName {
            bail!("`tool` is for tool events, not for {}", case.event);
        }
        fields.insert("tool_name".to_owned(), Value::String(tool.clone()));
        fields.insert("tool_input".to_owned(), toml_to_json(&case.args));
    }
    if let Some(prompt) = &case.prompt {
        fields.insert("prompt".to_owned(), Value::String(prompt.clone()));
    }
    if let Value::Object(input) = toml_to_json(&case.input) {
        fields.extend(input);
    }
    Ok(match substitute_project(&Value::Object(fields), &project.to_string_lossy()) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    })
}
