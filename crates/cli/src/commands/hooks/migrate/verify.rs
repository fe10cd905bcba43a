//! `migrate --from-claude --verify`: fires every guard twice with sample events, as Claude Code would run it and as it
//! is migrated, and prints both answers side by side. No tool is run.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use hookwright_hooks::dialect::claude::event_by_name;
use hookwright_hooks::dialect::tool_arguments::from_claude;
use hookwright_hooks::{
    Decision, EventKind, HookEngine, Layer, PermissionRule, Registry, Severity, Source, parse_layer,
};
use hookwright_settings::claude_migration::{self, MigratedHook};
use hookwright_settings::{ConfigPaths, ProcessEnv};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::claude_runner::{self, GuardAnswer};
use super::samples::{self, BLOCKABLE_EVENTS, ClaudeSample};
use crate::args::{HookMigrateArgs, ProjectArgs};
use crate::commands::hooks::LoadedProject;
use crate::output::{self, BAD, BOLD, GOOD, PLAIN, TextTable, WARN};
use crate::{exit, output::diagnostics, runtime};

/// A guard's answers to one sample, under Claude Code and after the migration.
struct VerifiedCase {
    guard: String,
    file: PathBuf,
    sample: ClaudeSample,
    claude_answer: GuardAnswer,
    migrated_answer: GuardAnswer,
}

impl VerifiedCase {
    fn difference(&self) -> Option<&'static str> {
        match self.migrated_answer.decision.cmp(&self.claude_answer.decision) {
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some("stricter"),
            std::cmp::Ordering::Less => Some("WEAKER"),
        }
    }
}

pub(super) fn run(place: &ProjectArgs, world: &ProcessEnv, migrate: &HookMigrateArgs) -> anyhow::Result<u8> {
    let toolbox = LoadedProject::open(place, world)?;
    let root = &toolbox.loaded.project.root;
    let paths = ConfigPaths::new(world);
    let of_project = |file: &PathBuf| file.starts_with(root);
    let mut files = claude_migration::settings_files(&paths, root);
    files.retain(|file| match of_project(file) {
        true => !migrate.user,
        false => migrate.user || place.project.is_none(),
    });
    let (texts, mut diagnostics) = claude_migration::read_settings(&files);
    let is_trusted = toolbox.loaded.project.trust.is_trusted();
    ensure!(
        is_trusted || !texts.iter().any(|(file, _)| of_project(file)),
        "this folder is not trusted, so its guards do not run; trust it (hookwright hooks trust --folder), or add --skip-trust"
    );
    let migration = claude_migration::migrate(texts.iter().map(|(path, text)| (path.as_path(), text.as_str())));
    diagnostics.extend(migration.diagnostics.iter().cloned());
    diagnostics::print(&diagnostics)?;
    let is_guard = |taken: &&MigratedHook| BLOCKABLE_EVENTS.contains(&taken.event.as_str());
    let guards: Vec<&MigratedHook> = migration.hooks.iter().filter(is_guard).collect();
    let cases = runtime::start(2)?.block_on(fire_all(&toolbox, &guards))?;
    let broken = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    let differ = cases.iter().any(|case| case.difference().is_some());
    if migrate.json {
        output::print_json(&cases_json(guards.len(), &cases))?;
    } else {
        print_cases(guards.len(), &cases)?;
    }
    Ok(if broken || differ { exit::ERROR } else { exit::OK })
}

async fn fire_all(toolbox: &LoadedProject, guards: &[&MigratedHook]) -> anyhow::Result<Vec<VerifiedCase>> {
    let root = &toolbox.loaded.project.root;
    let mut cases = Vec::new();
    for guard in guards {
        let Some(kind) = event_by_name(&guard.event).map(|moment| moment.kind) else { continue };
        let engine = migrated_engine(toolbox, guard, kind);
        for sample in samples::samples_for(&guard.event, root) {
            let there = match is_asked_by_claude(guard, &sample, root) {
                true => Some(claude_runner::run(toolbox, &guard.hook, &sample).await?),
                false => None,
            };
            let here = fire_migrated(&engine, kind, &sample).await?;
            if there.is_none() && here.is_none() {
                continue;
            }
            let asleep = || GuardAnswer { decision: Decision::Allow, reason: "does not run".to_owned() };
            cases.push(VerifiedCase {
                guard: claude_runner::command_text(&guard.hook),
                file: guard.file.clone(),
                sample,
                claude_answer: there.unwrap_or_else(asleep),
                migrated_answer: here.unwrap_or_else(asleep),
            });
        }
        engine.shutdown().await;
    }
    Ok(cases)
}

/// Whether Claude Code would run a guard on the sample.
fn is_asked_by_claude(guard: &MigratedHook, sample: &ClaudeSample, root: &Path) -> bool {
    let Some(call) = &sample.call else {
        return sample.subject.is_none_or(|subject| claude_runner::matches_tool(&guard.matcher, subject));
    };
    let rule = guard.hook.get("if").and_then(Value::as_str).and_then(PermissionRule::parse);
    let ours = from_claude(call).views;
    let meant = |rule: &PermissionRule| ours.iter().any(|view| rule.matches(&view.tool, &view.input, root, root));
    claude_runner::matches_tool(&guard.matcher, &call.tool) && rule.as_ref().is_none_or(meant)
}

/// Builds an engine with one migrated guard.
fn migrated_engine(toolbox: &LoadedProject, guard: &MigratedHook, kind: EventKind) -> HookEngine {
    let definitions: Vec<Value> = guard.entries.iter().map(|entry| Value::Object(entry.definition.clone())).collect();
    let text = json!({"hooks": {kind.name(): definitions}}).to_string();
    let source = if guard.file.starts_with(&toolbox.loaded.project.root) { Source::Project } else { Source::User };
    let declared = parse_layer(&Layer::new(source, Path::new("settings.json"), &text));
    let session = toolbox.engine_session("migrate-verify", PathBuf::new());
    HookEngine::builder(Registry::new(vec![declared]))
        .session(session)
        .exec_envs(toolbox.loaded.hook_exec_envs())
        .build()
}

/// Fires the sample at the migrated guard; `None` if the guard does not run.
async fn fire_migrated(
    engine: &HookEngine,
    kind: EventKind,
    sample: &ClaudeSample,
) -> anyhow::Result<Option<GuardAnswer>> {
    let mut strictest: Option<GuardAnswer> = None;
    for event in sample.to_events(kind)? {
        let outcome = engine.fire_any(&event, &CancellationToken::new()).await;
        if outcome.runs.is_empty() {
            continue;
        }
        let answer = &outcome.merged.answer;
        // A tool that has run can't be refused: there, a hook objects by adding context for the model.
        let comment = answer.additional_context.clone().filter(|_| kind == EventKind::AfterTool);
        let decision = match answer.decision {
            _ if answer.stop || comment.is_some() => Decision::Deny,
            decision => decision.unwrap_or(Decision::Allow),
        };
        let warning = outcome.warnings.first().map(|warning| warning.text.clone()).unwrap_or_default();
        let words = answer.reason.clone().or_else(|| answer.stop_reason.clone()).or(comment).unwrap_or(warning);
        if strictest.as_ref().is_none_or(|before| decision > before.decision) {
            strictest = Some(GuardAnswer { decision, reason: words });
        }
    }
    Ok(strictest)
}

fn decision_label(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "lets pass",
        Decision::Confine => "confines",
        Decision::Ask => "asks",
        Decision::Deny => "denies",
    }
}

fn print_cases(guards: usize, cases: &[VerifiedCase]) -> anyhow::Result<()> {
    if guards == 0 {
        output::note(format!(
            "Claude Code's settings have no guard here: no command on {}",
            BLOCKABLE_EVENTS.join(", ")
        ))?;
        return Ok(());
    }
    let mut table = TextTable::new(&["GUARD", "EVENT", "ABOUT", "CLAUDE CODE", "HERE", ""]);
    for case in cases {
        let style = |decision| match decision {
            Decision::Allow => PLAIN,
            Decision::Confine | Decision::Ask => WARN,
            Decision::Deny => GOOD,
        };
        let difference = case.difference();
        let mark = if difference == Some("stricter") { WARN } else { BAD };
        table.add_row(vec![
            (BOLD, output::truncate_columns(&case.guard, 40)),
            (PLAIN, case.sample.event.to_owned()),
            (PLAIN, output::truncate_columns(&case.sample.summary(), 44)),
            (style(case.claude_answer.decision), decision_label(case.claude_answer.decision).to_owned()),
            (style(case.migrated_answer.decision), decision_label(case.migrated_answer.decision).to_owned()),
            (mark, difference.unwrap_or_default().to_owned()),
        ]);
    }
    table.print(&mut output::stdout())?;
    let count = |word: &str| cases.iter().filter(|case| case.difference() == Some(word)).count();
    let (stricter, weaker) = (count("stricter"), count("WEAKER"));
    let many = |number: usize, word: &str| format!("{number} {word}{}", if number == 1 { "" } else { "s" });
    let counted = format!("{}, {}", many(guards, "guard"), many(cases.len(), "answer"));
    match (stricter, weaker) {
        (0, 0) => writeln!(output::stdout(), "{counted}: {}", output::paint(GOOD, "the same in both"))?,
        _ => writeln!(output::stdout(), "{counted}: {stricter} stricter here, {weaker} weaker")?,
    }
    for case in cases.iter().filter(|case| case.difference().is_some()) {
        let (there, here) =
            (output::one_line(&case.claude_answer.reason), output::one_line(&case.migrated_answer.reason));
        let about = output::one_line(&case.sample.summary());
        output::note(format!(
            "{} at {}, `{about}`: Claude Code: {there}; here: {here}",
            case.guard, case.sample.event
        ))?;
    }
    Ok(())
}

fn cases_json(guards: usize, cases: &[VerifiedCase]) -> Value {
    let side = |answer: &GuardAnswer| json!({"decision": answer.decision, "words": answer.reason});
    let case = |case: &VerifiedCase| {
        json!({
            "guard": case.guard,
            "file": case.file.display().to_string(),
            "event": case.sample.event,
            "input": case.sample.fields,
            "tool_name": case.sample.call.as_ref().map(|call| &call.tool),
            "tool_input": case.sample.call.as_ref().map(|call| &call.input),
            "claude_code": side(&case.claude_answer),
            "here": side(&case.migrated_answer),
            "difference": case.difference().map(str::to_lowercase),
        })
    };
    let ok = cases.iter().all(|case| case.difference().is_none());
    json!({"ok": ok, "guards": guards, "cases": cases.iter().map(case).collect::<Vec<_>>()})
}
