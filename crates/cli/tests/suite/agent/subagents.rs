//! Sub-agents with the real binary: the same hooks, rules, limits and ends as for their caller, and problems in their
//! files.

use super::signals::assert_gone;
use super::*;
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use hookwright_testkit::replay::call;
use hookwright_testkit::{finish, wait_until};

/// A sub-agent of the project.
fn agent(sandbox: &Sandbox, name: &str, fields: &str) {
    let text = format!("---\nname: {name}\ndescription: looks around\n{fields}\n---\nYou are {name}.\n");
    sandbox.write(&format!(".gemini/agents/{name}.md"), text);
}

fn delegate(name: &str) -> Value {
    call("delegate_to_agent", json!({"agent_name": name, "objective": "look around"}))
}

/// A model that delegates to the sub-agent, which makes these calls in one answer and reports.
fn delegating(calls: &[Value]) -> ReplayBuilder {
    ReplayBuilder::new().parts(&[delegate("scout")]).parts(calls).says("my report").says("done")
}

fn write(path: &str) -> Value {
    call("write_file", json!({"file_path": path, "content": "A"}))
}

fn shell(command: &str) -> Value {
    call("run_shell_command", json!({"command": command}))
}

/// Runs one prompt in a mode and returns the lines of its stream.
fn lines(sandbox: &Sandbox, replay: &ReplayBuilder, mode: &str) -> Vec<Value> {
    let file = sandbox.replay(replay);
    let mode = format!("--approval-mode={mode}");
    sandbox.run(&["-p", "go", "--fake-responses", &file, &mode, "-o", "stream-json"]).expect_exit_code(0).json_lines()
}

/// Returns the errors of the sub-agents' calls, empty for a success.
fn inside(lines: &[Value]) -> Vec<String> {
    let of_agent = lines.iter().filter(|line| line["type"] == "tool_result" && line["agent_name"] == "scout");
    of_agent.map(|line| line["error"]["message"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_guard_applies_inside_a_sub_agent_and_gets_its_name() {
    let deny = format!("{LOG_INPUT_SCRIPT}\necho 'not here' >&2; exit 2");
    let sandbox = project(&[
        ("BeforeTool", "run_shell_command", &deny),
        ("BeforeAgent", "", LOG_INPUT_SCRIPT),
        ("AfterAgent", "", LOG_INPUT_SCRIPT),
    ]);
    agent(&sandbox, "scout", "tools: ['*']");
    let lines = lines(&sandbox, &delegating(&[shell("touch made")]), "yolo");
    assert!(!sandbox.has_file("made"));
    assert_eq!(inside(&lines), ["Tool execution blocked: not here"]);

    let judged = &logged_inputs_of(&sandbox, "BeforeTool")[0];
    assert_eq!(judged["agent_name"], "scout");
    let id = judged["agent_id"].as_str().unwrap();
    assert!(id.starts_with("scout-"), "{id}");
    assert!(fs::read_to_string(judged["agent_transcript_path"].as_str().unwrap()).unwrap().contains("touch made"));
    let told = |event: &str, field: &str| -> Vec<Value> {
        logged_inputs_of(&sandbox, event).iter().map(|input| input[field].clone()).collect()
    };
    assert_eq!(told("BeforeAgent", "agent_name"), [Value::Null, json!("scout")]);
    assert_eq!(told("BeforeAgent", "prompt"), ["go", "look around"]);
    assert_eq!(told("AfterAgent", "agent_id"), [json!(id), Value::Null]);
    assert_eq!(told("AfterAgent", "prompt_response"), ["my report", "done"]);
}

#[test]
fn a_sub_agent_cannot_use_tools_that_its_caller_lacks() {
    let sandbox = crate::sandbox();
    agent(&sandbox, "scout", "tools: ['*']");
    sandbox.settings(&json!({"tools": {"exclude": ["write_file", "run_shell_command(rm)"]}}));
    sandbox.write("kept", "");
    let calls = [write("a.txt"), shell("rm kept"), delegate("scout"), shell("echo fine")];
    let ends = inside(&lines(&sandbox, &delegating(&calls), "yolo"));
    assert_eq!(ends.len(), 4, "{ends:?}");
    assert_contains(&ends[0], "\"write_file\" not found");
    assert_contains(&ends[1], "tools.exclude excludes `rm`");
    assert_contains(&ends[2], "\"delegate_to_agent\" not found");
    assert_eq!(ends[3], "");
    assert!(sandbox.has_file("kept") && !sandbox.has_file("a.txt"));
}

#[test]
fn modes_rules_and_protected_paths_hold_inside() {
    let sandbox = crate::sandbox();
    agent(&sandbox, "scout", "tools: ['*']");
    let settings = sandbox.read(".gemini/agents/scout.md");
    for (mode, why) in [("plan", "plan mode only reads"), ("default", "no user is present to give it")] {
        let ends = inside(&lines(&sandbox, &delegating(&[write("a.txt"), shell("touch b.txt")]), mode));
        assert!(ends.len() == 2 && ends.iter().all(|end| end.contains(why)), "{mode}: {ends:?}");
    }
    let ends = inside(&lines(&sandbox, &delegating(&[write(".gemini/agents/scout.md"), write(".env")]), "yolo"));
    assert!(ends.len() == 2 && ends.iter().all(|end| end.contains("is protected")), "{ends:?}");
    assert_eq!(sandbox.read(".gemini/agents/scout.md"), settings);
    assert!(!sandbox.has_file("a.txt") && !sandbox.has_file("b.txt") && !sandbox.has_file(".env"));

    // A rule for all agents, and one for this agent alone.
    sandbox.write(".gemini/policies/p.toml", "[[rule]]\ntoolName = \"write_file\"\ndecision = \"deny\"\n");
    sandbox.write(
        ".gemini/policies/q.toml",
        "[[rule]]\nsubagent = \"scout\"\ncommandPrefix = \"touch\"\ndecision = \"deny\"\ndenyMessage = \"not scouts\"\n",
    );
    let replay = delegating(&[write("a.txt"), shell("touch b.txt")]);
    let ends = inside(&lines(&sandbox, &replay, "yolo"));
    assert_contains(&ends[0], "denied by policy");
    assert_contains(&ends[1], "not scouts");
    assert!(!sandbox.has_file("a.txt") && !sandbox.has_file("b.txt"));
    lines(&sandbox, &ReplayBuilder::new().parts(&[shell("touch b.txt")]).says("done"), "yolo");
    assert!(sandbox.has_file("b.txt"), "the rule is about the agent");
    // In rules, an agent's name stands for a tool.
    sandbox.write(
        ".gemini/policies/q.toml",
        "[[rule]]\ntoolName = \"scout\"\ndecision = \"deny\"\ndenyMessage = \"no scouts\"\n",
    );
    let file = sandbox.replay(&delegating(&[]));
    assert_contains(
        &sandbox.run(&["-p", "go", "-y", "--fake-responses", &file]).expect_exit_code(0).stderr,
        "no scouts",
    );
}

#[test]
fn handing_work_on_makes_no_more_of_a_prompts_requests() {
    let sandbox = crate::sandbox();
    agent(&sandbox, "scout", "max_turns: 99999999999");
    sandbox.user_settings(&json!({"model": {"maxPromptTurns": 3}}));
    let look = |at: usize| [call("glob", json!({"pattern": format!("{at}*")}))];
    let replay = (0..9).fold(ReplayBuilder::new().parts(&[delegate("scout")]), |replay, at| replay.parts(&look(at)));
    let answer = prompt(&sandbox, "go", &replay, &["-o", "json"]).expect_exit_code(53).json();
    assert_eq!(answer["stats"]["agents"]["scout"]["requests"], 2, "{answer}");
}

#[test]
fn sub_agent_calls_and_costs_are_in_machine_output() {
    let sandbox = crate::sandbox();
    agent(&sandbox, "scout", "");
    let replay = delegating(&[shell("echo hi")]);
    let answer = prompt(&sandbox, "@scout go", &replay, &["-o", "json"]).expect_exit_code(0).json();
    assert_eq!(answer["response"], "done");
    assert_contains(
        &prompt(&sandbox, "go", &replay, &[]).expect_exit_code(0).stderr,
        "  scout: run_shell_command echo hi",
    );
    let counts =
        json!({"runs": 1, "requests": 2, "toolCalls": 1, "tokens": {"prompt": 10, "candidates": 6, "total": 16}});
    assert_eq!(answer["stats"]["agents"]["scout"], counts);
    assert_eq!(answer["stats"]["tools"]["totalCalls"], 2);
    let models = answer["stats"]["models"].as_object().unwrap();
    assert_eq!(models.values().next().unwrap()["api"]["totalRequests"], 4);

    let lines = lines(&sandbox, &replay, "yolo");
    let states: Vec<&Value> = lines.iter().filter(|line| line["type"] == "agent").map(|line| &line["status"]).collect();
    assert_eq!(states, ["started", "finished"]);
    let last = lines.last().unwrap();
    assert_eq!((&last["type"], &last["stats"]["agents"]["scout"]), (&json!("result"), &counts));
    let words: Vec<&Value> =
        lines.iter().filter(|line| line["role"] == "assistant").map(|line| &line["content"]).collect();
    assert_eq!(words, ["done"], "an agent's words are not the answer");
}

/// A project's sub-agent takes precedence over the user's of that name, so that no rule of the user may trust the name.
#[test]
fn a_rule_that_would_allow_an_agent_more_is_ignored_and_said() {
    let sandbox = crate::sandbox();
    agent(&sandbox, "scout", "");
    let rule = "[[rule]]\nsubagent = \"scout\"\ntoolName = \"run_shell_command\"\ndecision = \"allow\"\n";
    let policies = sandbox.home().join(".gemini/policies");
    std::fs::create_dir_all(&policies).unwrap();
    std::fs::write(policies.join("p.toml"), rule).unwrap();
    let ends = inside(&lines(&sandbox, &delegating(&[shell("touch made")]), "default"));
    assert_contains(&ends[0], "no user is present to give it");
    assert!(!sandbox.has_file("made"));
    assert_contains(&sandbox.run(&["policy", "list"]).expect_exit_code(0).stderr, "this `allow` is ignored");
}

#[test]
fn a_session_is_deleted_with_what_its_agents_said() {
    let sandbox = project(&[("BeforeTool", "", LOG_INPUT_SCRIPT)]);
    agent(&sandbox, "scout", "");
    lines(&sandbox, &delegating(&[shell("echo hi")]), "yolo");
    let told = logged_inputs_of(&sandbox, "BeforeTool");
    let kept = told.iter().find_map(|input| input["agent_transcript_path"].as_str()).unwrap();
    assert!(std::path::Path::new(kept).exists());
    sandbox.run(&["--delete-session", "latest"]).expect_exit_code(0);
    let left = files_under(&sandbox.home()).into_iter().filter(|path| path.ends_with(".jsonl"));
    let left: Vec<String> = left.filter(|path| !path.contains("/journal/")).collect();
    assert!(left.is_empty(), "{left:?}");
    let journal = sandbox.run(&["journal", "list", "--json", "-n", "1000"]).expect_exit_code(0).stdout;
    assert!(journal.contains("\"event\":\"BeforeTool\"") && !journal.contains("echo hi"), "{journal}");
    sandbox.run(&["journal", "verify"]).expect_exit_code(0);
}

#[test]
fn several_work_side_by_side() {
    let sandbox = crate::sandbox();
    agent(&sandbox, "scout", "");
    agent(&sandbox, "guide", "");
    // Each call waits for the other, so running them in sequence would hang.
    let meet = "touch $$.here; until [ $(ls *.here | wc -l) -ge 2 ]; do sleep 0.02; done";
    let replay = ReplayBuilder::new()
        .parts(&[delegate("scout"), delegate("guide")])
        .parts(&[shell(meet)])
        .parts(&[shell(meet)])
        .says("met")
        .says("met")
        .says("done");
    let answer = prompt(&sandbox, "go", &replay, &["-o", "json"]).expect_exit_code(0).json();
    assert_eq!(answer["response"], "done", "{answer}");
    for name in ["scout", "guide"] {
        assert_eq!(answer["stats"]["agents"][name]["toolCalls"], 1);
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_what_an_agent_runs() {
    let sandbox = crate::sandbox();
    agent(&sandbox, "scout", "");
    let file = sandbox.replay(&delegating(&[shell("sleep 60 & echo $! > pid.tmp; mv pid.tmp pid; wait")]));
    let child = sandbox.command(&["-p", "go", "--fake-responses", &file, "--yolo"]).spawn().unwrap();
    wait_until("it runs", || sandbox.has_file("pid"));
    super::signals::send("-INT", &child.id().to_string());
    finish(child).expect_exit_code(130);
    assert_gone(sandbox.read("pid").trim());
}

#[test]
fn an_untrusted_projects_agents_are_left_out_and_that_is_reported() {
    let sandbox = crate::sandbox().untrusted();
    agent(&sandbox, "scout", "");
    let listed = sandbox.run(&["subagents", "list"]).expect_exit_code(0);
    assert_contains(&listed.stderr, "this folder is not trusted, so .gemini/agents is not loaded");
    assert_lacks(&listed.stdout, "scout");
    let file = sandbox.replay(&ReplayBuilder::new().parts(&[delegate("scout")]).says("done"));
    let run = sandbox.run(&["-p", "go", "--fake-responses", &file]).expect_exit_code(0);
    assert_contains(&run.stderr, "not found");
    let trusted = sandbox.run(&["subagents", "list", "--skip-trust"]).expect_exit_code(0);
    assert_contains(&trusted.stdout, "scout");
}

#[test]
fn agents_are_listed_with_their_states_and_tools() {
    let sandbox = crate::sandbox();
    agent(&sandbox, "scout", "tools: [read_file, Grep]\nmodel: other\nmax_turns: 4\ntimeout_mins: 2");
    agent(&sandbox, "guide", "");
    sandbox.user_settings(&json!({"agents": {"overrides": {"guide": {"enabled": false}}}}));
    let run = sandbox.run(&["subagents", "list"]).expect_exit_code(0);
    let cells = |line: &str| -> Vec<String> {
        line.split("  ").filter(|cell| !cell.trim().is_empty()).map(|cell| cell.trim().to_owned()).collect()
    };
    assert_eq!(
        run.stdout.lines().map(cells).collect::<Vec<_>>(),
        [
            vec!["AGENT", "SOURCE", "STATE", "TOOLS", "DESCRIPTION"],
            vec!["guide", "project", "disabled", "all", "looks around"],
            vec!["scout", "project", "enabled", "read_file, search_file_content", "looks around"],
        ]
    );
    let list = sandbox.run(&["subagents", "list", "--json"]).expect_exit_code(0).json();
    let scout = &list["agents"][1];
    assert_eq!(scout["tools"], json!(["read_file", "search_file_content"]));
    assert_eq!((&scout["model"], &scout["max_turns"], &scout["timeout_mins"]), (&json!("other"), &json!(4), &json!(2)));
    assert_eq!((&list["agents"][0]["enabled"], &list["agents"][0]["tools"]), (&json!(false), &Value::Null));

    // A disabled sub-agent cannot be called.
    let run =
        prompt(&sandbox, "go", &ReplayBuilder::new().parts(&[delegate("guide")]).says("done"), &[]).expect_exit_code(0);
    assert_contains(&run.stderr, "must be equal to one of the allowed values (\"scout\")");
    sandbox.user_settings(&json!({"experimental": {"enableAgents": false}}));
    assert_contains(&sandbox.run(&["subagents", "list"]).expect_exit_code(0).stderr, "agents are off");
    let run = prompt(&sandbox, "go", &delegating(&[]), &[]).expect_exit_code(0);
    assert_contains(&run.stderr, "not found");
}

#[cfg(unix)]
#[test]
fn hostile_definitions_are_reported_and_do_not_affect_others() {
    let sandbox = crate::sandbox();
    agent(&sandbox, "scout", "");
    let folder = sandbox.project().join(".gemini/agents");
    agent(&sandbox, "wrong", "max_turns: -1\ntimeout_mins: 0\ntools: {a: b}\nmcp_servers: {own: {command: 7}}");
    sandbox.write(".gemini/agents/climb.md", "---\nname: ../../climb\ndescription: x\n---\nP\n");
    sandbox.write(".gemini/agents/list.md", "---\n- name: x\n---\nP\n");
    sandbox.write(".gemini/agents/bytes.md", [0xff, 0xfe]);
    std::fs::File::create(folder.join("huge.md")).unwrap().set_len(50 << 20).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(folder.join("pipe.md")).status_in_time().unwrap().success());
    let outside = sandbox.sibling_path("outside.md");
    std::fs::write(&outside, "---\nname: outside\ndescription: secret words\n---\nP\n").unwrap();
    std::os::unix::fs::symlink(&outside, folder.join("link.md")).unwrap();
    std::fs::create_dir(folder.join("folder.md")).unwrap();

    let run = sandbox.run(&["subagents", "list"]).expect_exit_code(0);
    for (file, said) in [
        ("wrong.md:4:12", "`max_turns` should be a whole number above 0"),
        ("wrong.md:5:15", "`timeout_mins` should be a whole number above 0"),
        ("wrong.md:6:8", "it counts as an empty list"),
        ("wrong.md:7:20", "MCP server `own`: `command` should be"),
        ("climb.md:2:7", "lowercase letters"),
        ("list.md", "front matter"),
        ("bytes.md", "not valid UTF-8"),
        ("huge.md", "too large"),
        ("pipe.md", "not a file"),
        ("link.md", "leads out of its folder"),
        ("folder.md", "a directory"),
    ] {
        assert_contains(&run.stderr, file);
        assert_contains(&run.stderr, said);
    }
    assert_lacks(&run.stderr, "secret words");
    let names: Vec<&str> = run.stdout.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["scout", "wrong"]);

    // A session reports it too, and goes on with the others.
    let run = prompt(&sandbox, "go", &delegating(&[shell("touch made")]), &[]).expect_exit_code(0);
    assert_contains(&run.stderr, "leads out of its folder");
    assert!(sandbox.has_file("made"));

    for path in [".gemini/agents", ".gemini/agents/wrong.md", ".gemini/agents/pipe.md", ".gemini/agents/huge.md"] {
        sandbox.run(&["subagents", "validate", path]).expect_exit_code(1);
    }
    assert_eq!(
        sandbox.run(&["subagents", "validate", ".gemini/agents/scout.md"]).expect_exit_code(0).stdout,
        "scout: no problems\n"
    );
    let checked =
        sandbox.run(&["subagents", "validate", ".gemini/agents/wrong.md", "--json"]).expect_exit_code(1).json();
    assert_eq!((&checked["ok"], &checked["agents"][0]["max_turns"]), (&json!(false), &json!(30)));
    assert_eq!(checked["agents"][0]["tools"], json!([]));
    assert_contains(&sandbox.run(&["subagents", "validate", "nowhere"]).expect_exit_code(1).stderr, "there is no ");
}
