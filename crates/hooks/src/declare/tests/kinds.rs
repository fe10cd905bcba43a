//! What is said of hooks that are no commands: all that is wrong with one at once, and what to write in its place.

use super::*;

/// What is said of a BeforeTool hook.
fn said(hook: &str) -> String {
    lines(&declare_text(&format!("{{ \"hooks\": {{ \"BeforeTool\": [{{ \"hooks\": [\n  {hook}\n] }}] }} }}")))
}

#[test]
fn a_type_that_was_misspelt_is_understood() {
    assert!(said(r#"{ "type": "wroker", "command": "x" }"#).contains("expected \"worker\""));
    assert!(said(r#"{ "type": "https", "url": "https://x.example" }"#).contains("expected \"http\""));
}

#[test]
fn a_worker_has_no_package() {
    assert!(said(r#"{ "type": "worker", "command": "x", "package": "y" }"#).contains("`package` has no effect here"));
}

#[test]
fn all_headers_that_are_wrong_are_told_at_once() {
    let headers = r#"{ "Host": "x", "bad header": "y", "A": "$NOPE", "B": "$LISTED" }"#;
    let hook = format!(
        r#"{{ "type": "http", "url": "https://x.example", "allowedEnvVars": ["LISTED"], "headers": {headers} }}"#
    );
    let said = said(&hook);
    for words in ["`Host` can't be sent", "`bad header` can't be sent", "`$NOPE` is not among"] {
        assert!(said.contains(words), "{said}");
    }
    assert!(said.contains("add \"NOPE\" to `allowedEnvVars`"), "{said}");
}

#[test]
fn a_variable_in_an_address_is_none() {
    let said = said(r#"{ "type": "http", "url": "https://x.example/?key=$TOKEN" }"#);
    assert!(said.contains("`$TOKEN` is a part of the address as it stands"), "{said}");
}

#[test]
fn a_path_to_a_plugin_is_written_as_one() {
    for (package, help) in [
        ("$GEMINI_PROJECT_DIR/.gemini/hooks/p.mjs", r#"write "./.gemini/hooks/p.mjs""#),
        ("${GEMINI_PROJECT_DIR}/p.mjs", r#"write "./p.mjs""#),
        ("$OTHER/p.mjs", "variables are not filled in here"),
        ("~/p.mjs", "write the whole path"),
        ("file:///p.mjs", r#"write "/p.mjs""#),
    ] {
        let said = said(&format!(r#"{{ "type": "plugin", "package": "{package}" }}"#));
        assert!(said.contains("this hook never runs") && said.contains(help), "{package}: {said}");
    }
}
