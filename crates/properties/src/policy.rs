//! The `policy` property: any texts as policies. A broken policy has no rules, source positions lie in the file, a deny
//! of a stronger tier cannot be revoked by a weaker one, a project never loosens, and a denied command is denied within
//! a compound command too.

use hookwright_agent::fuzzing::{decide_by_rules, parse_policy_text};
use hookwright_agent::{ApprovalMode, ParsedPolicy, PolicyRule, PolicyTier, RuleDecision};
use hookwright_analysis::command_parts::parts;
use serde_json::{Map, Value, json};

/// Checks one input: two policies and a command, with record separators between them.
pub fn policy(input: &[u8]) {
    let [strong, weak, command] = crate::split_fields(input).map(String::from_utf8_lossy);
    let read = |text: &str, tier| {
        let found = parse_policy_text(text, tier);
        check_policy_file(text, &found);
        found.rules
    };
    let admin = read(&strong, PolicyTier::Admin);
    let (project, extension) = (read(&weak, PolicyTier::Project), read(&weak, PolicyTier::Extension));
    assert!(project.iter().all(|rule| rule.decision != RuleDecision::Allow), "a project allows something");
    for (tool, args) in sample_calls(&command) {
        for mode in ApprovalMode::ALL {
            let decide = |rules: Vec<PolicyRule>| decide_by_rules(rules, tool, &args, mode);
            let alone = decide(admin.clone());
            let with = |more: &[PolicyRule]| decide([more, &admin].concat());
            assert!(strictness(with(&project)) >= strictness(alone), "{tool} {args:?}: a project loosened it");
            if alone == Some(RuleDecision::Deny) {
                assert_eq!(with(&extension), alone, "{tool} {args:?}: an extension took it back");
            }
        }
    }
    check_denied_in_compound_commands(&admin, &command);
    check_denied_in_compound_commands(&extension, &command);
}

fn check_policy_file(text: &str, found: &ParsedPolicy) {
    assert!(!found.is_broken() || found.rules.is_empty(), "a broken policy is half in force");
    let lines = text.matches('\n').count() + 1;
    for diagnostic in &found.diagnostics {
        assert!(!diagnostic.to_string().is_empty());
        if let Some(span) = &diagnostic.span {
            assert!((1..=lines).contains(&span.line) && span.column >= 1 && span.length >= 1, "{diagnostic}");
        }
    }
    for rule in &found.rules {
        assert!((1..=lines).contains(&rule.location.line) && rule.priority <= 999);
    }
}

fn sample_calls(command: &str) -> [(&'static str, Map<String, Value>); 4] {
    let args = |value: Value| value.as_object().cloned().unwrap_or_default();
    [
        ("run_shell_command", args(json!({ "command": command }))),
        ("write_file", args(json!({ "file_path": command, "content": "x" }))),
        ("mcp__server__tool", args(json!({ "text": command }))),
        ("glob", Map::new()),
    ]
}

/// Checks that a denied command is denied in compound commands too.
///
/// It only does so for a command that is parsed to exactly its own text, because rules may be about the text.
fn check_denied_in_compound_commands(rules: &[PolicyRule], command: &str) {
    let found = parts(command);
    if !found.certain || found.commands.len() != 1 || found.commands[0].text != command {
        return;
    }
    let decide = |command: &str| {
        let args = Map::from_iter([("command".to_owned(), command.into())]);
        decide_by_rules(rules.to_vec(), "run_shell_command", &args, ApprovalMode::Default)
    };
    if decide(command) == Some(RuleDecision::Deny) {
        for among in ["C; ls", "ls && C", "ls | C", "(C)", "echo \"$(C)\"", "if ls; then C; fi", "C &", "C # ls"] {
            let among = among.replace('C', command);
            assert_eq!(decide(&among), Some(RuleDecision::Deny), "{among:?}");
        }
    }
}

/// Returns how strict a decision is; without one, the approval mode decides.
fn strictness(decision: Option<RuleDecision>) -> u8 {
    match decision {
        Some(RuleDecision::Allow) => 0,
        None => 1,
        Some(RuleDecision::AskUser) => 2,
        Some(RuleDecision::Deny) => 3,
    }
}
