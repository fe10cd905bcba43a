//! Tests of the diagnostics of hooks that are not commands: all problems of one at once, and what to write instead.

use super::*;

/// The diagnostics of a BeforeTool hook.
fn diagnose_hook(hook: &str) -> String {
    diagnostic_lines(&parse_text(&format!("{{ \"hooks\": {{ \"BeforeTool\": [{{ \"hooks\": [\n  {hook}\n] }}] }} }}")))
}

#[test]
fn a_misspelt_type_gets_a_suggestion() {
    assert!(diagnose_hook(r#"{ "type": "wroker", "command": "x" }"#).contains("expected \"worker\""));
    assert!(diagnose_hook(r#"{ "type": "https", "url": "https://x.example" }"#).contains("expected \"http\""));
}

#[test]
fn a_worker_has_no_package() {
    assert!(
        diagnose_hook(r#"{ "type": "worker", "command": "x", "package": "y" }"#)
            .contains("`package` has no effect here")
    );
}

#[test]
fn all_wrong_headers_are_reported_at_once() {
    let headers = r#"{ "Host": "x", "bad header": "y", "A": "$NOPE", "B": "$LISTED" }"#;
    let hook = format!(
        r#"{{ "type": "http", "url": "https://x.example", "allowedEnvVars": ["LISTED"], "headers": {headers} }}"#
    );
    let said = diagnose_hook(&hook);
    for words in ["`Host` can't be sent", "`bad header` can't be sent", "`$NOPE` is not in `allowedEnvVars`"] {
        assert!(said.contains(words), "{said}");
    }
    assert!(said.contains("add \"NOPE\" to `allowedEnvVars`"), "{said}");
}

#[test]
fn a_variable_in_a_url_is_not_expanded() {
    let said = diagnose_hook(r#"{ "type": "http", "url": "https://x.example/?key=$TOKEN" }"#);
    assert!(said.contains("`$TOKEN` is not replaced in an address"), "{said}");
}

#[test]
fn a_plugin_path_starts_with_a_dot_or_slash() {
    for (package, help) in [
        ("$GEMINI_PROJECT_DIR/.gemini/hooks/p.mjs", r#"write "./.gemini/hooks/p.mjs""#),
        ("${GEMINI_PROJECT_DIR}/p.mjs", r#"write "./p.mjs""#),
        ("$OTHER/p.mjs", "variables are not replaced here"),
        ("~/p.mjs", "write the full path"),
        ("file:///p.mjs", r#"write "/p.mjs""#),
    ] {
        let said = diagnose_hook(&format!(r#"{{ "type": "plugin", "package": "{package}" }}"#));
        assert!(said.contains("this hook never runs") && said.contains(help), "{package}: {said}");
    }
}
