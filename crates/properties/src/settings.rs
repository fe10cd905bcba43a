//! The `settings` property: any texts as settings files. Parsing hooks must not panic, source positions must lie in the
//! file, a plan must contain the hooks whose matchers match, and a project tightens settings and never loosens them.

use std::path::Path;

use hookwright_hooks::{
    Diagnostic, EventKind, HookState, Layer, MatcherSubject, Planner, Registry, Source, known_tools, parse_layer,
};
use hookwright_settings::fuzzing::merge_layers;
use hookwright_settings::{ApprovalMode, Settings};

/// Checks one input: the user's settings and the project's, with a record separator between them.
pub fn settings(input: &[u8]) {
    let [user, project] = crate::split_fields(input);
    let (Ok(user), Ok(project)) = (std::str::from_utf8(user), std::str::from_utf8(project)) else { return };
    check_hooks(user);
    let (alone, diagnostics) = merge_layers(&[(Source::User, user)]);
    check_spans(user, &diagnostics);
    let (both, _) = merge_layers(&[(Source::User, user), (Source::Project, project)]);
    check_no_looser(&alone, &both);
}

fn check_hooks(text: &str) {
    let declared = parse_layer(&Layer::new(Source::System, Path::new("settings.json"), text));
    check_spans(text, &declared.diagnostics);
    let planner = Planner::new(Registry::new(vec![declared]));
    for kind in EventKind::all() {
        let subjects: Vec<&str> = match kind.info().subject {
            MatcherSubject::ToolName => known_tools().chain(["mcp__server__tool", "", "ä|ß"]).collect(),
            MatcherSubject::Field { values, .. } => values.to_vec(),
            MatcherSubject::Nothing => {
                planner.plan(kind, None);
                continue;
            }
        };
        subjects.into_iter().for_each(|subject| check_plan(&planner, kind, subject));
    }
}

fn check_spans(text: &str, diagnostics: &[Diagnostic]) {
    let lines = text.matches('\n').count() + 1;
    for diagnostic in diagnostics {
        assert!(!diagnostic.to_string().is_empty());
        if let Some(span) = &diagnostic.span {
            assert!((1..=lines).contains(&span.line) && span.column >= 1 && span.length >= 1, "{diagnostic}");
        }
    }
}

fn check_plan(planner: &Planner, kind: EventKind, subject: &str) {
    let plan = planner.plan(kind, Some(subject));
    let enabled = planner.registry().entries().filter(|(_, state)| **state == HookState::Enabled);
    let matching = enabled.filter(|(hook, _)| hook.event == kind && hook.matcher.matches(subject)).count();
    let planned = plan.map_or(0, |plan| plan.hooks.len());
    // Duplicates run once, so fewer may be planned than match, but never none.
    assert!(planned <= matching && (planned > 0) == (matching > 0), "{kind} {subject}");
}

/// Checks that the user's settings with a project's on top are no looser than the user's alone.
fn check_no_looser(user: &Settings, both: &Settings) {
    assert!(strictness(both.general.approval_mode) >= strictness(user.general.approval_mode), "the mode");
    let turns = |settings: &Settings| settings.model.max_session_turns.unwrap_or(u32::MAX);
    assert!(turns(both) <= turns(user), "turns");
    assert!(both.model.loop_detection || !user.model.loop_detection, "loops");
    let ignores = |settings: &Settings| (settings.context.respect_git_ignore, settings.context.respect_gemini_ignore);
    assert!(ignores(both) >= ignores(user) && (ignores(both).1 || !ignores(user).1), "ignore files");
    assert!(user.tools.exclude.iter().all(|tool| both.tools.exclude.contains(tool)), "tools that are left out");
    assert!(user.tools.core.is_none() || both.tools.core.is_some(), "the only tools");
    assert!(user.mcp_servers.iter().all(|(name, server)| both.mcp_servers.get(name) == Some(server)), "servers");
    assert_eq!(both.telemetry, user.telemetry);
    assert!(!both.ui.hide_footer || user.ui.hide_footer, "the footer");
    let (before, after) = (&user.security, &both.security);
    assert!(after.folder_trust || !before.folder_trust, "trust of folders");
    assert!(after.hook_review >= before.hook_review, "review");
    assert!(after.disable_yolo_mode || !before.disable_yolo_mode, "yolo");
    assert_eq!(after.protected_paths, before.protected_paths);
    if let Some(before) = &before.redaction {
        let after = after.redaction.as_ref().expect("redaction stays on");
        assert_eq!(after.allowed, before.allowed);
        assert!(before.blocked.iter().all(|name| after.blocked.contains(name)), "redacted names");
    }
}

fn strictness(mode: ApprovalMode) -> u8 {
    match mode {
        ApprovalMode::Yolo => 0,
        ApprovalMode::AutoEdit => 1,
        ApprovalMode::Default => 2,
        ApprovalMode::Plan => 3,
    }
}
