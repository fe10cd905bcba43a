//! Any text as a settings file: declaring it must not crash, its places must lie in the file, and planning over what it
//! declares must find what each hook's own matcher finds.

use std::path::Path;

use hookwright_hooks::{
    Declared, EventKind, HookState, Layer, Planner, Registry, Source, Subject, declare, known_tools,
};

/// Reads the text as the system's settings.
pub fn settings(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let declared = declare(&Layer::new(Source::System, Path::new("settings.json"), text));
    places(text, &declared);
    let planner = Planner::new(Registry::new(vec![declared]));
    for kind in EventKind::all() {
        let subjects: Vec<&str> = match kind.info().subject {
            Subject::ToolName => known_tools().chain(["mcp__server__tool", "", "ä|ß"]).collect(),
            Subject::Field { values, .. } => values.to_vec(),
            Subject::Nothing => {
                planner.plan(kind, None);
                continue;
            }
        };
        subjects.into_iter().for_each(|subject| planned(&planner, kind, subject));
    }
}

fn places(text: &str, declared: &Declared) {
    let lines = text.matches('\n').count() + 1;
    for diagnostic in &declared.diagnostics {
        assert!(!diagnostic.to_string().is_empty());
        if let Some(span) = &diagnostic.span {
            assert!((1..=lines).contains(&span.line) && span.column >= 1 && span.length >= 1, "{diagnostic}");
        }
    }
}

fn planned(planner: &Planner, kind: EventKind, subject: &str) {
    let plan = planner.plan(kind, Some(subject));
    let enabled = planner.registry().entries().filter(|(_, state)| **state == HookState::Enabled);
    let matching = enabled.filter(|(hook, _)| hook.event == kind && hook.matcher.matches(subject)).count();
    let planned = plan.map_or(0, |plan| plan.hooks.len());
    // Doubles run once, so fewer may be planned than match, but never none.
    assert!(planned <= matching && (planned > 0) == (matching > 0), "{kind} {subject}");
}
