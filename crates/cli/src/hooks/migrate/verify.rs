//! `migrate --from-claude --verify`: every guard is fired twice with sample calls, as Claude Code would run it and as it is
//! taken over, and the two answers stand side by side. No tool is run.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use hookwright_hooks::dialect::claude::event_of;
use hookwright_hooks::dialect::tools::from_claude;
use hookwright_hooks::{Condition, Decision, EventKind, HookEngine, Layer, Registry, Severity, Source, declare};
use hookwright_settings::claude::{self, Taken};
use hookwright_settings::{Paths, World};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::as_claude::{self, Heard};
use super::samples::{self, EVENTS, Sample};
use crate::args::{Migrate, Place};
use crate::hooks::Toolbox;
use crate::out::{self, BAD, BOLD, GOOD, PLAIN, Table, WARN};
use crate::{exit, report, runtime};

/// One guard and one event: what was said there, and what here.
struct Case {
    guard: String,
    file: PathBuf,
    sample: Sample,
    there: Heard,
    here: Heard,
}

impl Case {
    fn difference(&self) -> Option<&'static str> {
        match self.here.decision.cmp(&self.there.decision) {
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some("stricter"),
            std::cmp::Ordering::Less => Some("WEAKER"),
        }
    }
}

pub(super) fn run(place: &Place, world: &World, migrate: &Migrate) -> anyhow::Result<u8> {
    let toolbox = Toolbox::open(place, world)?;
    let root = &toolbox.loaded.project.root;
    let paths = Paths::new(world);
    let of_project = |file: &PathBuf| file.starts_with(root);
    let mut files = claude::settings_files(&paths, root);
    files.retain(|file| match of_project(file) {
        true => !migrate.user,
        false => migrate.user || place.project.is_none(),
    });
    let (texts, mut diagnostics) = claude::read_settings(&files);
    let is_trusted = toolbox.loaded.project.trust.is_trusted();
    ensure!(
        is_trusted || !texts.iter().any(|(file, _)| of_project(file)),
        "this folder is not trusted, so that its guards do not run; trust it (hookwright hooks trust --folder), or give --skip-trust"
    );
    let migration = claude::migrate(texts.iter().map(|(path, text)| (path.as_path(), text.as_str())));
    diagnostics.extend(migration.diagnostics.iter().cloned());
    report::print(&diagnostics)?;
    let is_guard = |taken: &&Taken| EVENTS.contains(&taken.event.as_str());
    let guards: Vec<&Taken> = migration.taken.iter().filter(is_guard).collect();
    let cases = runtime::start(2)?.block_on(fire_all(&toolbox, &guards))?;
    let broken = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    let differ = cases.iter().any(|case| case.difference().is_some());
    if migrate.json {
        out::json(&as_json(guards.len(), &cases))?;
    } else {
        print(guards.len(), &cases)?;
    }
    Ok(if broken || differ { exit::ERROR } else { exit::OK })
}

async fn fire_all(toolbox: &Toolbox, guards: &[&Taken]) -> anyhow::Result<Vec<Case>> {
    let root = &toolbox.loaded.project.root;
    let mut cases = Vec::new();
    for guard in guards {
        let Some(kind) = event_of(&guard.event).map(|moment| moment.kind) else { continue };
        let engine = taken_over(toolbox, guard, kind);
        for sample in samples::of(&guard.event, root) {
            let there = match wants(guard, &sample, root) {
                true => Some(as_claude::run(toolbox, &guard.hook, &sample).await?),
                false => None,
            };
            let here = fire(&engine, kind, &sample).await?;
            if there.is_none() && here.is_none() {
                continue;
            }
            let asleep = || Heard { decision: Decision::Allow, words: "does not run".to_owned() };
            cases.push(Case {
                guard: as_claude::shown(&guard.hook),
                file: guard.file.clone(),
                sample,
                there: there.unwrap_or_else(asleep),
                here: here.unwrap_or_else(asleep),
            });
        }
        engine.shutdown().await;
    }
    Ok(cases)
}

/// Whether Claude Code would ask a guard about an event.
fn wants(guard: &Taken, sample: &Sample, root: &Path) -> bool {
    let Some(call) = &sample.call else {
        return sample.subject.is_none_or(|subject| as_claude::matches(&guard.matcher, subject));
    };
    let rule = guard.hook.get("if").and_then(Value::as_str).and_then(Condition::parse);
    let ours = from_claude(call).views;
    let meant = |rule: &Condition| ours.iter().any(|view| rule.matches(&view.tool, &view.input, root, root));
    as_claude::matches(&guard.matcher, &call.tool) && rule.as_ref().is_none_or(meant)
}

/// An engine with one guard, as it is taken over.
fn taken_over(toolbox: &Toolbox, guard: &Taken, kind: EventKind) -> HookEngine {
    let definitions: Vec<Value> = guard.entries.iter().map(|entry| Value::Object(entry.definition.clone())).collect();
    let text = json!({"hooks": {kind.name(): definitions}}).to_string();
    let source = if guard.file.starts_with(&toolbox.loaded.project.root) { Source::Project } else { Source::User };
    let declared = declare(&Layer::new(source, Path::new("settings.json"), &text));
    let session = toolbox.session("migrate-verify", PathBuf::new());
    HookEngine::builder(Registry::new(vec![declared])).session(session).places(toolbox.loaded.hook_places()).build()
}

/// What comes of an event here; nothing if the guard is not asked.
async fn fire(engine: &HookEngine, kind: EventKind, sample: &Sample) -> anyhow::Result<Option<Heard>> {
    let mut heard: Option<Heard> = None;
    for event in sample.ours(kind)? {
        let outcome = engine.fire_any(&event, &CancellationToken::new()).await;
        if outcome.runs.is_empty() {
            continue;
        }
        let answer = &outcome.merged.answer;
        // What has been done can't be refused: whoever is no guard objects by telling the model.
        let comment = answer.additional_context.clone().filter(|_| kind == EventKind::AfterTool);
        let decision = match answer.decision {
            _ if answer.stop || comment.is_some() => Decision::Deny,
            decision => decision.unwrap_or(Decision::Allow),
        };
        let warning = outcome.warnings.first().map(|said| said.text.clone()).unwrap_or_default();
        let words = answer.reason.clone().or_else(|| answer.stop_reason.clone()).or(comment).unwrap_or(warning);
        if heard.as_ref().is_none_or(|before| decision > before.decision) {
            heard = Some(Heard { decision, words });
        }
    }
    Ok(heard)
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "lets pass",
        Decision::Ask => "asks",
        Decision::Deny => "denies",
    }
}

fn print(guards: usize, cases: &[Case]) -> anyhow::Result<()> {
    if guards == 0 {
        out::note(format!("there is no guard of Claude Code's here: no command on {}", EVENTS.join(", ")))?;
        return Ok(());
    }
    let mut table = Table::new(&["GUARD", "EVENT", "ABOUT", "CLAUDE CODE", "HERE", ""]);
    for case in cases {
        let style = |decision| match decision {
            Decision::Allow => PLAIN,
            Decision::Ask => WARN,
            Decision::Deny => GOOD,
        };
        let difference = case.difference();
        let mark = if difference == Some("stricter") { WARN } else { BAD };
        table.row(vec![
            (BOLD, out::shorten(&case.guard, 40)),
            (PLAIN, case.sample.event.to_owned()),
            (PLAIN, out::shorten(&case.sample.described(), 44)),
            (style(case.there.decision), word(case.there.decision).to_owned()),
            (style(case.here.decision), word(case.here.decision).to_owned()),
            (mark, difference.unwrap_or_default().to_owned()),
        ]);
    }
    table.print(&mut out::stdout())?;
    let count = |word: &str| cases.iter().filter(|case| case.difference() == Some(word)).count();
    let (stricter, weaker) = (count("stricter"), count("WEAKER"));
    let many = |number: usize, word: &str| format!("{number} {word}{}", if number == 1 { "" } else { "s" });
    let counted = format!("{}, {}", many(guards, "guard"), many(cases.len(), "answer"));
    match (stricter, weaker) {
        (0, 0) => writeln!(out::stdout(), "{counted}: {}", out::paint(GOOD, "the same in both"))?,
        _ => writeln!(out::stdout(), "{counted}: {stricter} stricter here, {weaker} weaker")?,
    }
    for case in cases.iter().filter(|case| case.difference().is_some()) {
        let (there, here) = (out::one_line(&case.there.words), out::one_line(&case.here.words));
        let about = out::one_line(&case.sample.described());
        out::note(format!("{} at {}, `{about}`: Claude Code: {there}; here: {here}", case.guard, case.sample.event))?;
    }
    Ok(())
}

fn as_json(guards: usize, cases: &[Case]) -> Value {
    let side = |heard: &Heard| json!({"decision": heard.decision, "words": heard.words});
    let case = |case: &Case| {
        json!({
            "guard": case.guard,
            "file": case.file.display().to_string(),
            "event": case.sample.event,
            "input": case.sample.fields,
            "tool_name": case.sample.call.as_ref().map(|call| &call.tool),
            "tool_input": case.sample.call.as_ref().map(|call| &call.input),
            "claude_code": side(&case.there),
            "here": side(&case.here),
            "difference": case.difference().map(str::to_lowercase),
        })
    };
    let ok = cases.iter().all(|case| case.difference().is_none());
    json!({"ok": ok, "guards": guards, "cases": cases.iter().map(case).collect::<Vec<_>>()})
}
