//! Tests of the diagnostics of broken policy files.

use super::*;

fn problems(text: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("p.toml");
    std::fs::write(&file, text).unwrap();
    let found = read_policy_file(&file, PolicyTier::Project);
    let said: Vec<String> = found.diagnostics.iter().map(ToString::to_string).collect();
    said.join("\n").replace(&file.display().to_string(), "p.toml")
}

#[test]
fn diagnostics_have_a_location_and_a_hint() {
    let unknown = "[[rule]]\ntoolNam = \"x\"\ndecision = \"deny\"\n";
    assert_eq!(
        problems(unknown),
        "p.toml:2:1: warning: unknown key `toolNam`; it is ignored (did you mean `toolName`?)"
    );
    let tool = |text: &str| problems(&format!("[[rule]]\ndecision = \"deny\"\n{text}\n"));
    assert_eq!(
        tool("toolName = [\"glob\", \"write_flie\"]"),
        "p.toml:3:21: warning: no tool is called `write_flie`, so this rule can apply only to an agent of that name (did you mean `write_file`?)"
    );
    assert!(tool("toolName = \"Bash\"").contains("did you mean `run_shell_command`?"));
    for fine in
        ["\"write_*\"", "\"WriteFileTool\"", "\"mcp__git__push\"", "\"mcp_git_push\"", "\"x\"\nmcpName = \"git\""]
    {
        assert_eq!(tool(&format!("toolName = {fine}")), "", "{fine}");
    }
    for (text, expected) in [
        ("rule = 7", "p.toml:1:8: error: `rule` is written as tables"),
        ("[[rule]]\ndecision = \"maybe\"", "p.toml:2:12: error: a decision is"),
        ("[[rule]]\n", "p.toml:1:1: error: this rule has no `decision`"),
        ("[[rule]]\ndecision = \"deny\"\npriority = 1000", "p.toml:3:12: error: a priority"),
        ("[[rule]]\ndecision = \"deny\"\ntoolName = 7", "p.toml:3:12: error: expected a text or"),
        ("[[rule]]\ndecision = \"allow\"\ncommandPrefix = \"\"", "p.toml:3:17: error: an empty prefix would allow"),
        ("[[rule]]\ndecision = \"deny\"\ncommandPrefix = [\"\"]", "p.toml:3:17: error: expected a text or"),
        ("[[rule]]\ndecision = \"deny\"\nargsPattern = \"(\"", "p.toml:3:15: error: this pattern"),
        ("[[rule]]\ndecision = \"deny\"\nmodes = [\"all\"]", "p.toml:3:9: error: expected an array of modes"),
        ("[[rule]]\ndecision = \"allow\"", "p.toml:1:1: warning: a project can only tighten"),
        ("[[rule\n", "error: this is not valid TOML"),
    ] {
        assert!(problems(text).contains(expected), "{text}: {}", problems(text));
    }
}

#[test]
fn broken_file_is_ignored_only_if_all_rules_allow() {
    let dispensable = |text: &str| parse_policy(Path::new("p.toml"), text, PolicyTier::User).only_allows;
    let rule = |decision: &str| format!("[[rule]]\ntoolName = 'x'\n{decision}\ncommandRegex = \"\\d+\"\n");
    let allow = rule("decision = \"allow\" # harmless");
    assert!(dispensable(&allow) && dispensable(&format!("{allow}\n{allow}")));
    assert!(!dispensable("[[rule]]\ntoolName = 'x'\ndecision = 'allow'\n"), "it is not broken");
    for other in [
        rule("decision = \"deny\""),
        rule("decision = 'ask_user'"),
        rule(""),
        rule("\"d\\u0065cision\" = \"deny\""),
        "[[ \"ru\\u006ce\" ]]\ndecision = 'allow'\n".to_owned(),
        "[rule]\ndecision = 'deny'".to_owned(),
        "rule = [{decision = 'deny'}]".to_owned(),
        "[[safety_checker]]\nx = \"\\d\"".to_owned(),
        "[[ rule ]]\ndecision =\n'deny'".to_owned(),
    ] {
        assert!(!dispensable(&format!("{allow}\n{other}")), "{other}");
    }
}
