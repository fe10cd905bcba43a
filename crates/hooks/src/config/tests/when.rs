//! Tests of `when` and rules: their diagnostics, and that an invalid `when` matches every call.

use super::*;
use crate::hook::Action;

/// The diagnostics of a definition with this `when`.
fn diagnose_when(when: &str) -> String {
    let text = format!(
        r#"{{"hooks": {{"BeforeTool": [{{"when": {when}, "hooks": [{{"type": "command", "command": "x"}}]}}]}}}}"#
    );
    let declared = parse_text(&text);
    assert_eq!(declared.hooks.len(), 1);
    diagnostic_lines(&declared)
}

#[test]
fn a_valid_when_keeps_its_text() {
    let when = r#"{ "writes": ["src/**", "!src/gen/**"], // these
        "commands": ["git push*"], "network": ["*.org"], "reads": ["~/.ssh/**"], "deletes": ["/etc/**"], "certain": false }"#;
    assert_eq!(diagnose_when(when), "");
    let text = format!(
        r#"{{"hooks": {{"AfterTool": [{{"when": {when}, "hooks": [{{"type": "command", "command": "x"}}]}}]}}}}"#
    );
    let hook = &parse_text(&text).hooks[0];
    let expected = r#"{"writes":["src/**","!src/gen/**"],"commands":["git push*"],"network":["*.org"],"reads":["~/.ssh/**"],"deletes":["/etc/**"],"certain":false}"#;
    assert_eq!(hook.when_text().as_deref(), Some(expected));
    assert!(hook.fingerprint_fields().contains(&("when", expected.to_owned())));
}

#[test]
fn a_rule_with_long_filters_is_told_by_what_they_are_about() {
    let summary = |when: &str| {
        let text = format!(
            r#"{{"hooks": {{"BeforeTool": [{{"when": {{"writes": ["a"]}}, "hooks": [{{"type": "rule", "decision": "deny", "reason": "r", "when": {when}}}]}}]}}}}"#
        );
        parse_text(&text).hooks[0].short_summary().unwrap().into_owned()
    };
    assert_eq!(summary(r#"{"reads": ["b"]}"#), r#"rule: deny when {"writes":["a"]} {"reads":["b"]}"#);
    let files: Vec<String> = (0..30).map(|nth| format!("\"file-{nth}\"")).collect();
    let files = files.join(", ");
    assert_eq!(
        summary(&format!(r#"{{"reads": [{files}], "deletes": [{files}], "certain": false}}"#)),
        "rule: deny by writes, reads, deletes, certain"
    );
}

#[test]
fn an_invalid_when_is_reported_and_matches_every_call() {
    assert_snapshot!(diagnose_when("7"), @"settings.json:1:36: error: `when` should be an object, not a number; it counts as matching every call; expected { \"writes\": [\"…\"], … }");
    assert_snapshot!(diagnose_when(r#"{"write": ["x"]}"#), @"settings.json:1:37: error: `when` has no `write`; it counts as matching every call (did you mean `writes`?)");
    assert_snapshot!(diagnose_when(r#"{"writes": "x"}"#), @r#"settings.json:1:47: error: `writes` should be an array of patterns, not a string; it counts as matching every call; expected ["…"]"#);
    assert_snapshot!(diagnose_when(r#"{"writes": [1]}"#), @"settings.json:1:48: error: `writes` should hold patterns, not a number; it counts as matching every call; expected a string that is not empty");
    assert_snapshot!(diagnose_when(r#"{"writes": ["a[b"]}"#), @"settings.json:1:48: error: `a[b` is not a valid pattern: unclosed character class; missing ']'; it counts as matching every call (patterns are globs such as `src/**`, `**/*.lock`, `~/.ssh/**`, `!src/generated/**`)");
    assert_snapshot!(diagnose_when(r#"{"writes": ["../x"]}"#), @"settings.json:1:48: error: `../x` is not a valid pattern: `..` leads out of the folder where it begins; it counts as matching every call (patterns are globs such as `src/**`, `**/*.lock`, `~/.ssh/**`, `!src/generated/**`)");
    assert_snapshot!(diagnose_when(r#"{"certain": true}"#), @r#"settings.json:1:48: error: `certain` can only be false in `when`; it counts as matching every call; expected false ("certain": false is about calls whose effects are not all known)"#);
    assert_snapshot!(diagnose_when("{}"), @"settings.json:1:36: warning: an empty `when` says nothing; it counts as matching every call (it knows writes, reads, deletes, commands, network, repository, services, processes, privileged, flows, certain)");
    assert_snapshot!(diagnose_when(r#"{"writes": []}"#), @r#"settings.json:1:47: warning: an empty list of `writes` matches nothing (["*"] matches everything; without `writes`, it is not checked)"#);
}

#[test]
fn a_when_takes_every_kind_of_effect() {
    for when in [
        r#"{"repository": ["discard", "discard: branch *", "!index", "*"]}"#,
        r#"{"services": ["kubernetes:delete", "*:write", "!docker:read", "kubernetes", "*"]}"#,
        r#"{"processes": ["*", "!self"], "privileged": true}"#,
        r#"{"flows": [{"from": ["~/.ssh/**", "**/.env", "env", "env:TOKEN", "clipboard"], "to": "network"}]}"#,
        r#"{"flows": [{"from": "env", "to": ["network:*.example.com", "run"]}, {}]}"#,
        r#"{"privileged": null, "flows": null}"#,
    ] {
        assert_eq!(diagnose_when(when), "", "{when}");
    }
}

#[test]
fn an_unknown_change_service_or_verb_is_reported() {
    assert_snapshot!(diagnose_when(r#"{"repository": ["drop"]}"#), @"settings.json:1:52: error: `drop` is not a valid pattern: there is no change `drop`; there are index, commit, refs, config, discard; it counts as matching every call (such as `discard`, `discard: branch *`, `!index`)");
    assert_snapshot!(diagnose_when(r#"{"repository": ["!drop: branch *"]}"#), @"settings.json:1:52: error: `!drop: branch *` is not a valid pattern: there is no change `drop`; there are index, commit, refs, config, discard; it counts as matching every call (such as `discard`, `discard: branch *`, `!index`)");
    assert_snapshot!(diagnose_when(r#"{"repository": "discard"}"#), @r#"settings.json:1:51: error: `repository` should be an array of patterns, not a string; it counts as matching every call; expected ["…"]"#);
    assert_snapshot!(diagnose_when(r#"{"services": ["kubernete:delete"]}"#), @"settings.json:1:50: error: `kubernete:delete` is not a valid pattern: there is no service `kubernete` (did you mean `kubernetes`?); it counts as matching every call (such as `kubernetes:delete`, `*:write`, `!docker:read`)");
    assert_snapshot!(diagnose_when(r#"{"services": ["!nonesuch"]}"#), @"settings.json:1:50: error: `!nonesuch` is not a valid pattern: there is no service `nonesuch`; it counts as matching every call (such as `kubernetes:delete`, `*:write`, `!docker:read`)");
    assert_snapshot!(diagnose_when(r#"{"services": ["kubernetes:remove"]}"#), @"settings.json:1:50: error: `kubernetes:remove` is not a valid pattern: there is no verb `remove`; there are read, write, delete, run; it counts as matching every call (such as `kubernetes:delete`, `*:write`, `!docker:read`)");
    assert_snapshot!(diagnose_when(r#"{"services": [true]}"#), @"settings.json:1:50: error: `services` should hold patterns, not a boolean; it counts as matching every call; expected a string that is not empty");
    assert_snapshot!(diagnose_when(r#"{"processes": [1]}"#), @"settings.json:1:51: error: `processes` should hold patterns, not a number; it counts as matching every call; expected a string that is not empty");
}

#[test]
fn a_wrong_privileged_or_flow_is_reported() {
    assert_snapshot!(diagnose_when(r#"{"privileged": false}"#), @"settings.json:1:51: error: `privileged` can only be true in `when`; it counts as matching every call; expected true");
    assert_snapshot!(diagnose_when(r#"{"privileged": ["sudo"]}"#), @"settings.json:1:51: error: `privileged` can only be true in `when`; it counts as matching every call; expected true");
    assert_snapshot!(diagnose_when(r#"{"flows": "env"}"#), @r#"settings.json:1:46: error: `flows` should be an array, not a string; it counts as matching every call; expected [{ "from": ["~/.ssh/**", "env"], "to": "network" }]"#);
    assert_snapshot!(diagnose_when(r#"{"flows": ["env"]}"#), @r#"settings.json:1:47: error: a flow has `from` and `to`; it counts as matching every call; expected [{ "from": ["~/.ssh/**", "env"], "to": "network" }]"#);
    assert_snapshot!(diagnose_when(r#"{"flows": [{"form": "env"}]}"#), @r#"settings.json:1:47: error: a flow has `from` and `to`; it counts as matching every call; expected [{ "from": ["~/.ssh/**", "env"], "to": "network" }]"#);
    assert_snapshot!(diagnose_when(r#"{"flows": [{"from": 1}]}"#), @"settings.json:1:56: error: `from` should hold patterns, not a number; it counts as matching every call; expected a string that is not empty");
    assert_snapshot!(diagnose_when(r#"{"flows": [{"from": ["../x"]}]}"#), @"settings.json:1:57: error: `../x` is not a valid pattern: `..` leads out of the folder where it begins; it counts as matching every call");
    assert_snapshot!(diagnose_when(r#"{"flows": [{"to": [""]}]}"#), @"settings.json:1:55: error: `to` should hold patterns, not a string; it counts as matching every call; expected a string that is not empty");
}

#[test]
fn a_when_needs_a_tool_call() {
    let text =
        r#"{"hooks": {"BeforeAgent": [{"when": {"writes": ["x"]}, "hooks": [{"type": "command", "command": "x"}]}]}}"#;
    let declared = parse_text(text);
    assert_snapshot!(diagnostic_lines(&declared), @"settings.json:1:29: error: BeforeAgent has no tool call, so `when` has no effect here; these hooks run every time (`when` works on BeforeTool and AfterTool)");
    assert!(declared.hooks[0].when.is_empty());
}

#[test]
fn rules_are_parsed_in_all_forms() {
    let (declared, said) = diagnose_odd_hook(
        r#"{ "type": "rule", "name": "odd", "when": {"writes": ["x"]}, "decision": "ask", "reason": "why" }"#,
    );
    assert_eq!(said, "");
    let Action::Rule(rule) = &declared.hooks[1].action else { panic!("a rule") };
    assert_eq!((rule.decision_word(), rule.reason.as_str()), ("ask", "why"));
    let (declared, said) = diagnose_odd_hook(r#"{ "type": "rule", "name": "odd", "decision": "alow" }"#);
    assert_snapshot!(said, @r#"settings.json:5:64: error: a rule's `decision` should be "deny", "ask", "confine" or "allow"; it counts as "deny"; expected "decision": "deny", "ask", "confine" or "allow""#);
    let Action::Rule(rule) = &declared.hooks[1].action else { panic!("a rule") };
    assert_eq!((rule.decision_word(), rule.reason.as_str()), ("deny", "the rule `odd` says so"));
    let (_, said) =
        diagnose_odd_hook(r#"{ "type": "rule", "name": "odd", "decision": "deny", "command": "x", "env": {} }"#);
    assert_snapshot!(said, @r"
    settings.json:5:72: warning: `command` has no effect here; a rule runs no program (remove it)
    settings.json:5:88: warning: `env` has no effect here; a rule runs no program (remove it)
    ");
    let (_, said) = diagnose_odd_hook(r#"{ "type": "command", "name": "odd", "command": "x", "decision": "deny" }"#);
    assert_snapshot!(said, @"settings.json:5:71: warning: `decision` has no effect here; only a rule has it (remove it)");
    let text = r#"{"hooks": {"SessionStart": [{"hooks": [{"type": "rule", "decision": "deny", "guard": true}]}]}}"#;
    let declared = parse_text(text);
    assert_snapshot!(diagnostic_lines(&declared), @"settings.json:1:40: error: SessionStart can't be denied, so a rule has no effect here (rules work on events that can be denied, such as BeforeTool)");
    assert_eq!((declared.hooks.len(), declared.lost_guards.len()), (0, 1));
}

/// Everything that decides a rule's answer is part of its fingerprint, which the user trusts.
#[test]
fn a_changed_rule_has_another_fingerprint() {
    let of = |more: &str| {
        let text = format!(r#"{{"hooks": {{"BeforeTool": [{{"hooks": [{{"type": "rule", "name": "r"{more}}}]}}]}}}}"#);
        parse_text(&text).hooks[0].fingerprint_fields()
    };
    let forms = [
        of(r#", "decision": "deny""#),
        of(r#", "decision": "ask""#),
        of(r#", "decision": "deny", "reason": "x""#),
        of(r#", "decision": "deny", "when": {"writes": ["a"]}"#),
        of(r#", "decision": "deny", "when": {"writes": ["b"]}"#),
    ];
    for (at, form) in forms.iter().enumerate() {
        assert!(!forms[..at].contains(form), "{form:?}");
    }
}

/// An approval that is not understood approves nothing.
#[test]
fn an_invalid_approval_does_not_load() {
    let user = |hook: &str| {
        let text = format!(r#"{{"hooks": {{"BeforeTool": [{{"hooks": [{hook}]}}]}}}}"#);
        parse_layer(&Layer::new(Source::User, std::path::Path::new("settings.json"), &text))
    };
    for (hook, expected) in [
        (r#"{"type": "rule", "decision": "allow"}"#, "a rule that allows needs `only`"),
        (r#"{"type": "rule", "decision": "allow", "only": []}"#, "`only` should be an object"),
        (r#"{"type": "rule", "decision": "allow", "only": {"read": ["**"]}}"#, "`only` has no `read`"),
        (r#"{"type": "rule", "decision": "allow", "only": {"certain": false}}"#, "`only` has no `certain`"),
        (r#"{"type": "rule", "decision": "allow", "only": {"reads": "**"}}"#, "`reads` should be an array"),
        (r#"{"type": "rule", "decision": "allow", "only": {"reads": ["!x"]}}"#, "`reads` has only exceptions"),
        (r#"{"type": "rule", "decision": "allow", "only": {"reads": ["../x"]}}"#, "`../x` is not a valid pattern"),
        (r#"{"type": "rule", "decision": "allow", "only": {"privileged": 1}}"#, "`privileged` can only be true"),
        (r#"{"type": "rule", "decision": "allow", "only": {}, "when": {"x": []}}"#, "`when` has no `x`"),
        (r#"{"type": "rule", "decision": "allow", "only": {}, "if": 1}"#, "invalid `if`"),
    ] {
        let declared = user(hook);
        let said = diagnostic_lines(&declared);
        assert!(
            declared.hooks.is_empty() && said.contains(expected) && said.contains("does not load"),
            "{hook}: {said}"
        );
        assert!(said.starts_with("settings.json:1:"), "{said}");
    }
    // `only` does not weaken a rule that denies.
    let declared = user(r#"{"type": "rule", "decision": "deny", "only": {"reads": ["**"]}}"#);
    assert!(diagnostic_lines(&declared).contains("only a rule that allows has `only`"));
    assert!(declared.hooks[0].approval_bounds().is_none());
    let of = |only: &str| {
        user(&format!(r#"{{"type": "rule", "decision": "allow", "only": {only}}}"#)).hooks[0].fingerprint_fields()
    };
    assert_ne!(of(r#"{"reads": ["a"]}"#), of(r#"{"reads": ["b"]}"#));
}
