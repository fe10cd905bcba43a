use hookwright_tools::mcp::McpToolOrigin;
use serde_json::json;

use super::*;

fn args(command: &str) -> Map<String, Value> {
    Map::from_iter([("command".to_owned(), Value::String(command.to_owned()))])
}

fn approvals(mode: ApprovalMode, allowed: &[&str]) -> Approvals {
    Approvals::new(mode, allowed.iter().map(|name| (*name).to_owned()).collect(), Policy::default())
}

#[test]
fn approval_modes_grant_different_tool_kinds() {
    let decide =
        |mode, tool: &str, kind| approvals(mode, &[]).permission_for(&ApprovalSubject::new(tool, kind, &Map::new()));
    assert_eq!(decide(ApprovalMode::Default, "read_file", ToolKind::Read), Permission::Granted);
    assert_eq!(decide(ApprovalMode::Default, "replace", ToolKind::Edit), Permission::Ask);
    assert_eq!(decide(ApprovalMode::AutoEdit, "replace", ToolKind::Edit), Permission::Granted);
    assert_eq!(decide(ApprovalMode::AutoEdit, "run_shell_command", ToolKind::Execute), Permission::Ask);
    assert_eq!(decide(ApprovalMode::Yolo, "run_shell_command", ToolKind::Execute), Permission::Granted);
    assert!(matches!(decide(ApprovalMode::Plan, "replace", ToolKind::Edit), Permission::Refused(_)));
}

#[test]
fn a_prefix_allows_the_command_and_nothing_chained_to_it() {
    let rules = approvals(ApprovalMode::Default, &["run_shell_command(git status)", "ShellTool(ls)"]);
    let decide = |command: &str| {
        rules.permission_for(&ApprovalSubject::new("run_shell_command", ToolKind::Execute, &args(command)))
    };
    assert_eq!(decide("git status -s"), Permission::Granted);
    assert_eq!(decide("ls"), Permission::Granted);
    for command in ["git statusx", "git status; rm -rf x", "git status && x", "ls $(x)", "git push"] {
        assert_eq!(decide(command), Permission::Ask, "{command}");
    }
}

#[test]
fn a_prefix_covers_no_code_and_no_output_file_that_it_does_not_name() {
    let entries = ["sed", "find", "man", "tar", "sort", "git log", "git grep", "rg", "printf"];
    let entries: Vec<String> = entries.iter().map(|name| format!("run_shell_command({name})")).collect();
    let rules = Approvals::new(ApprovalMode::Default, entries, Policy::default());
    for command in ["git log -1", "git grep x"] {
        rules.grant(&ApprovalSubject::new("run_shell_command", ToolKind::Execute, &args(command)), None);
    }
    let decide = |command: &str| {
        rules.permission_for(&ApprovalSubject::new("run_shell_command", ToolKind::Execute, &args(command)))
    };
    for command in ["sed -n 1p f", "find . -name x", "git log -3", "git grep -n x", "rg x", "sort x"] {
        assert_eq!(decide(command), Permission::Granted, "{command}");
    }
    for command in [
        "sed -n '1e touch P' f",
        "sed 'w x' f",
        "find . -delete",
        "find . -fprintf x y",
        "man -P x ls",
        "tar --to-command=x -xf y",
        "tar -I x -xf y",
        "sort -o x y",
        "sort --compress-program=x y",
        "git log --output=x",
        "git grep -Ox y",
        "rg --pre x y",
        "printf -v PATH .",
    ] {
        assert_eq!(decide(command), Permission::Ask, "{command}");
    }
}

#[test]
fn a_grant_covers_the_same_sub_command_only() {
    let rules = approvals(ApprovalMode::Default, &[]);
    rules.grant(&ApprovalSubject::new("run_shell_command", ToolKind::Execute, &args("cargo test")), None);
    rules.grant(&ApprovalSubject::new("run_shell_command", ToolKind::Execute, &args("git log -1")), None);
    let decide = |command: &str| {
        rules.permission_for(&ApprovalSubject::new("run_shell_command", ToolKind::Execute, &args(command)))
    };
    assert_eq!(decide("cargo test --all"), Permission::Granted);
    assert_eq!(decide("git log"), Permission::Granted);
    for command in ["cargo build", "cargo test; rm x", "rm x", "git reset --hard", "git log > x", "git log $(x)"] {
        assert_eq!(decide(command), Permission::Ask, "{command}");
    }
    // A command that runs other programs is granted as a whole or not at all.
    rules.grant(&ApprovalSubject::new("run_shell_command", ToolKind::Execute, &args("env A=1 make")), None);
    assert_eq!(decide("env A=1 make"), Permission::Granted);
    assert_eq!(decide("env rm x"), Permission::Ask);
    // The scope that is shown for one command covers no other command of the same text.
    rules.grant(&ApprovalSubject::new("run_shell_command", ToolKind::Execute, &args("git -C x log")), None);
    assert_eq!(decide("git -C x log"), Permission::Granted);
    assert_eq!(decide("git -C x push"), Permission::Ask);
}

#[test]
fn session_grant_scope_is_described_in_words() {
    for (command, words) in [
        ("git log -1", Some("git log")),
        ("npm run build -- -x", Some("npm run build")),
        ("rm -rf x", None),
        ("ls", Some("ls")),
        ("ls -l src", Some("ls")),
        ("make", None),
        ("make test", Some("make test")),
        ("python3 check.py -v", None),
        ("sort -o x y", None),
        ("gh pr list", Some("gh pr list")),
        ("gh pr", None),
        ("hookwright hooks list", Some("hookwright hooks list")),
        ("docker compose up -d", Some("docker compose up")),
        ("git -C x log", None),
        ("git log | cat", None),
        ("sudo ls", None),
        ("find . -name x", None),
        ("rm x", None),
        ("find . -delete", None),
        ("find . -exec rm {} +", None),
        ("ssh host ls", None),
        ("perl -e x", None),
        ("git log --output=x", None),
        ("git grep -O'rm x' y", None),
        ("git -c core.pager=x log", None),
        ("make --eval=x test", None),
        ("npx -c 'rm x'", None),
    ] {
        assert_eq!(session_grant_scope(command).as_deref(), words, "{command}");
    }
}

#[test]
fn tool_limits_deny_commands_in_every_mode() {
    let judge = |limits: ToolLimits, command: &str| {
        let rules = approvals(ApprovalMode::Yolo, &[]);
        rules.set_tool_limits(limits);
        rules.permission_for(&ApprovalSubject::new("run_shell_command", ToolKind::Execute, &args(command)))
    };
    let exclude = || ToolLimits { exclude: vec!["run_shell_command(rm)".to_owned()], core: None };
    assert!(matches!(judge(exclude(), "ls; env rm x"), Permission::Denied(_)));
    assert_eq!(judge(exclude(), "ls"), Permission::Granted);
    assert_eq!(judge(exclude(), "$X"), Permission::Ask);
    let core = || ToolLimits { exclude: Vec::new(), core: Some(vec!["ShellTool(git)".to_owned()]) };
    assert_eq!(judge(core(), "git log && git status"), Permission::Granted);
    for command in ["ls", "git log; ls", "$X", "git log $(ls)"] {
        assert!(matches!(judge(core(), command), Permission::Denied(_)), "{command}");
    }
}

#[test]
fn grant_for_one_skill_does_not_cover_another() {
    let approvals = Approvals::new(ApprovalMode::Default, Vec::new(), Policy::default());
    let decide = |name: &str| {
        let args = serde_json::json!({"name": name}).as_object().unwrap().clone();
        (approvals.permission_for(&ApprovalSubject::new(ACTIVATE_SKILL, ToolKind::Other, &args)), args)
    };
    let (permission, args) = decide("pdf");
    assert_eq!(permission, Permission::Ask);
    approvals.grant(&ApprovalSubject::new(ACTIVATE_SKILL, ToolKind::Other, &args), None);
    assert_eq!((decide("PDF").0, decide("other").0), (Permission::Granted, Permission::Ask));
    // In plan mode the user is asked too, as a skill changes nothing.
    approvals.set_mode(ApprovalMode::Plan);
    assert_eq!((decide("pdf").0, decide("other").0), (Permission::Granted, Permission::Ask));
}

fn server_tool(server: &str, tool: &str) -> McpToolOrigin {
    McpToolOrigin { server: server.to_owned(), tool: tool.to_owned(), trusted: false, fingerprint: 0 }
}

fn servers(names: &[(&str, &str)]) -> HashMap<String, String> {
    names.iter().map(|(name, alias)| ((*name).to_owned(), (*alias).to_owned())).collect()
}

fn rules(text: &str) -> Policy {
    let read = crate::policy::parse_policy(std::path::Path::new("p.toml"), text, crate::policy::PolicyTier::User);
    assert!(!read.is_broken(), "{:?}", read.diagnostics);
    Policy::new(read.rules)
}

/// `mcp_a_*` is written for server `a` and does not cover a server whose name begins with `a_`.
#[test]
fn allow_for_one_server_does_not_cover_a_server_with_that_name_prefix() {
    let rule = |name: &str| format!("[[rule]]\ntoolName = \"{name}\"\ndecision = \"allow\"\n");
    let (short, long) = (server_tool("a", "b_write"), server_tool("a_b", "write"));
    for (entry, to_short, to_long) in [
        ("mcp_a_*", true, false),
        ("mcp__a__*", true, false),
        ("mcp_a_b_*", false, true),
        ("mcp_a_b_write", false, false),
        ("mcp__a_b__write", false, true),
        ("mcp__a__b_write", true, false),
        ("mcp_*", true, true),
    ] {
        let listed = approvals(ApprovalMode::Default, &[entry]);
        let ruled = Approvals::new(ApprovalMode::Default, Vec::new(), rules(&rule(entry)));
        for approvals in [listed, ruled] {
            approvals.set_server_names(servers(&[("a", "a"), ("a_b", "a_b")]));
            let no_args = Map::new();
            let decide = |tool: &str, of: &McpToolOrigin| {
                let call =
                    ApprovalSubject { server: Some(of), ..ApprovalSubject::new(tool, ToolKind::Other, &no_args) };
                approvals.permission_for(&call) == Permission::Granted
            };
            let granted = (decide("mcp__a__b_write", &short), decide("mcp__a_b__write", &long));
            assert_eq!(granted, (to_short, to_long), "{entry}");
        }
    }
}

#[test]
fn deny_for_a_server_covers_its_resources() {
    let deny = "[[rule]]\nmcpName = \"vault\"\ndecision = \"deny\"\n";
    let by_name = "[[rule]]\ntoolName = \"mcp_vault_*\"\ndecision = \"deny\"\n";
    let args = json!({"uri": "vault:secret://1"}).as_object().unwrap().clone();
    let read = |of: &'static str| ApprovalSubject {
        reads_from: Some(of.into()),
        ..ApprovalSubject::new("read_mcp_resource", ToolKind::Read, &args)
    };
    for rule in [deny, by_name] {
        let approvals = Approvals::new(ApprovalMode::Yolo, Vec::new(), rules(rule));
        assert!(matches!(approvals.permission_for(&read("vault")), Permission::Denied(_)), "{rule}");
        assert_eq!(approvals.permission_for(&read("other")), Permission::Granted, "{rule}");
    }
    for entry in ["mcp__vault__*", "mcp_vault_*", "mcp__vault"] {
        let approvals = approvals(ApprovalMode::Yolo, &[]);
        approvals.set_tool_limits(ToolLimits { exclude: vec![entry.to_owned()], core: None });
        assert!(matches!(approvals.permission_for(&read("vault")), Permission::Denied(_)), "{entry}");
        assert_eq!(approvals.permission_for(&read("other")), Permission::Granted, "{entry}");
    }
}

/// `Bash(touch:*)` is the syntax of other agents.
#[test]
fn lists_accept_other_agents_tool_names() {
    let judge = |limits: ToolLimits, allowed: &[&str], mode, command: &str| {
        let rules = approvals(mode, allowed);
        rules.set_tool_limits(limits);
        rules.permission_for(&ApprovalSubject::new("run_shell_command", ToolKind::Execute, &args(command)))
    };
    for entry in ["Bash(touch:*)", "Bash(touch)", "run_shell_command(touch:*)", "Shell(touch)"] {
        let exclude = || ToolLimits { exclude: vec![entry.to_owned()], core: None };
        let denied = judge(exclude(), &[], ApprovalMode::Yolo, "ls; touch x");
        assert!(matches!(denied, Permission::Denied(_)), "{entry}");
        assert_eq!(judge(exclude(), &[], ApprovalMode::Yolo, "ls"), Permission::Granted, "{entry}");
    }
    let allowed = |entry: &str, command: &str| {
        judge(ToolLimits::default(), &[entry], ApprovalMode::Default, command) == Permission::Granted
    };
    assert!(allowed("Bash(git log:*)", "git log -1") && !allowed("Bash(git log:*)", "git push"));
    assert!(allowed("Bash", "git push") && !allowed("Bash(git log)", "git log -p"), "one command alone is no prefix");
    assert!(!allowed("Bash(git log:*)", "git log; rm x"));
}
