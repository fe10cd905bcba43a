//! `hookwright acp guard` between a scripted editor and a scripted agent: a shell script that reads and writes lines.

use std::io::Write;
use std::process::{Child, ChildStdin};

use hookwright_testkit::deadline::*;
use hookwright_testkit::{ProgramRun, Sandbox, finish, fs, make_executable, wait_until};
use serde_json::{Value, json};

use crate::sandbox;

/// What every script begins with: `hear` reads a line and keeps it in the file `heard`; `say` writes one.
const PRELUDE: &str = r#"
hear() { IFS= read -r line || exit 0; printf '%s\n' "$line" >> "$HEARD"; }
say() { printf '%s\n' "$1"; }
"#;
/// The agent's part of the beginning of a connection, up to the session `s`.
const OPENING: &str = r#"
hear; say '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"scripted","version":"7.1"}}}'
hear; say '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}'
"#;

/// A connection through the guard, seen by the editor.
struct Connection {
    child: Child,
    input: TimedWriter<ChildStdin>,
    lines: Box<dyn Iterator<Item = String>>,
}

impl Connection {
    /// Starts the guard with an agent that runs this script.
    fn start(sandbox: &Sandbox, script: &str) -> Connection {
        let agent = sandbox.sibling_path("agent");
        fs::write(&agent, format!("#!/bin/sh\n{PRELUDE}{script}")).unwrap();
        make_executable(&agent);
        let mut command = sandbox.command(&["acp", "guard", "--", agent.to_str().unwrap()]);
        command.env("HEARD", sandbox.sibling_path("heard")).stdin(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = TimedWriter::new(child.stdin.take().unwrap());
        let lines = Box::new(lines_in_time(child.stdout.take().unwrap()));
        Connection { child, input, lines }
    }

    /// Starts the guard and opens the session `s` in the project.
    fn open(sandbox: &Sandbox, script: &str) -> Connection {
        let mut connection = Connection::start(sandbox, &format!("{OPENING}{script}"));
        connection.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}));
        connection.read();
        let params = json!({"cwd": sandbox.project(), "mcpServers": []});
        connection.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": params}));
        assert_eq!(connection.read()["result"]["sessionId"], "s");
        connection
    }

    fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    fn send_line(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).unwrap();
        self.input.flush().unwrap();
    }

    fn prompt(&mut self, text: &str) {
        let params = json!({"sessionId": "s", "prompt": [{"type": "text", "text": text}]});
        self.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": params}));
    }

    fn read_line(&mut self) -> String {
        self.lines.next().unwrap_or_else(|| panic!("the guard has ended, or sends nothing"))
    }

    fn read(&mut self) -> Value {
        let line = self.read_line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Closes the editor's side, and waits for the guard's end.
    fn close(self) -> ProgramRun {
        let Connection { child, input, .. } = self;
        drop(input);
        finish(child)
    }
}

/// Returns what the agent has heard, as soon as it has heard that many lines.
fn heard(sandbox: &Sandbox, count: usize) -> Vec<String> {
    let read = || fs::read_to_string(sandbox.sibling_path("heard")).unwrap_or_default();
    wait_until("the agent hears enough", || read().lines().count() >= count);
    read().lines().map(str::to_owned).collect()
}

/// Returns the last message that the agent has heard, as soon as it has heard that many.
fn last_heard(sandbox: &Sandbox, count: usize) -> Value {
    serde_json::from_str(&heard(sandbox, count)[count - 1]).unwrap()
}

fn rule(name: &str, fields: &Value) -> Value {
    let mut rule = json!({"type": "rule", "name": name, "guard": true, "reason": format!("{name} says no")});
    rule.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    rule
}

fn set_hooks(sandbox: &Sandbox, event: &str, hooks: &[Value]) {
    sandbox.user_settings(&json!({"hooks": {event: [{"hooks": hooks}]}}));
}

fn request(id: u64, method: &str, params: &Value) -> String {
    let mut params = params.clone();
    params["sessionId"] = "s".into();
    format!("say '{}'\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

fn journal(sandbox: &Sandbox, terms: &[&str]) -> Vec<Value> {
    let run = sandbox.run(&[&["journal", "query", "--json", "-n", "1000"], terms].concat()).expect_exit_code(0);
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_nothing_concerns_passes_byte_for_byte() {
    let sandbox = sandbox();
    let odd = [
        r#"{"jsonrpc":"2.0", "id":"ä\u00e4",  "method":"_vendor/thing","params":{"n":1.0e3,"a":[1 ,2]}}"#,
        r#"{ "method" : "session/update" , "params":{"sessionId":"s","update":{"sessionUpdate":"x","y":1.50}}}"#,
        r#"{"jsonrpc":"2.0","id":[1,{"a":null}],"method":"fs/unknown_method","params":[1]}"#,
        r#"{"jsonrpc":"2.0","id":99999999999999999999,"result":{"to":"nobody"}}"#,
        r#"{"jsonrpc":"2.0","id":-1,"error":{"code":1,"message":"?"},"extra":[1.00]}"#,
    ];
    let says: String = odd.iter().map(|line| format!("say '{line}'\n")).collect();
    let mut connection = Connection::open(&sandbox, &format!("hear\nhear\nhear\n{says}\nhear"));
    let own = [
        r#"{"jsonrpc":"2.0","id":{"k":1.0},"method":"_x/y","params":{"deep":[[[[1e2]]]]},"z":0}"#,
        r#"{"method":"session/cancel","params":{"sessionId":"s"},   "jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":"nobody asked","result":null}"#,
    ];
    own.iter().for_each(|line| connection.send_line(line));
    for line in odd {
        assert_eq!(connection.read_line(), line);
    }
    assert_eq!(heard(&sandbox, 5)[2..], own);
    connection.close().expect_exit_code(0);
}

#[test]
fn a_denied_write_and_read_do_not_reach_the_editor() {
    let sandbox = sandbox();
    set_hooks(
        &sandbox,
        "BeforeTool",
        &[
            rule("no-lock", &json!({"decision": "deny", "when": {"writes": ["**/*.lock"]}})),
            rule("no-env", &json!({"decision": "deny", "when": {"reads": ["**/.env"]}})),
        ],
    );
    let file = |name: &str| sandbox.project().join(name);
    let script = [
        request(10, "fs/write_text_file", &json!({"path": file("Cargo.lock"), "content": "x"})),
        "hear\n".to_owned(),
        request(11, "fs/read_text_file", &json!({"path": file(".env")})),
        "hear\n".to_owned(),
        request(12, "fs/write_text_file", &json!({"path": file("a"), "content": "x"})),
        "hear\nhear\n".to_owned(),
    ];
    let mut connection = Connection::open(&sandbox, &script.concat());
    let asked = connection.read();
    assert_eq!((&asked["method"], &asked["id"]), (&json!("fs/write_text_file"), &json!(12)));
    connection.send_line(r#"{"jsonrpc":"2.0", "id":12, "result":null}"#);
    let told = heard(&sandbox, 5);
    let refusals: Vec<Value> = told[2..4].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&refusals[0]["id"], &refusals[1]["id"]), (&json!(10), &json!(11)));
    assert!(refusals[0]["error"]["message"].as_str().unwrap().contains("no-lock says no"), "{refusals:?}");
    assert!(refusals[1]["error"]["message"].as_str().unwrap().contains("no-env says no"), "{refusals:?}");
    assert_eq!(told[4], r#"{"jsonrpc":"2.0", "id":12, "result":null}"#);
    connection.close().expect_exit_code(0);
    let denied = journal(&sandbox, &["verdict=deny"]);
    assert_eq!(denied.len(), 2, "{denied:#?}");
    assert_eq!((&denied[0]["agent"], &denied[0]["tool"]), (&json!("scripted"), &json!("write_file")));
    assert_eq!((&denied[0]["agent_version"], &denied[0]["session"]), (&json!("7.1"), &json!("s")));
}

#[test]
fn a_terminal_command_is_denied_however_it_is_written() {
    let sandbox = sandbox();
    set_hooks(
        &sandbox,
        "BeforeTool",
        &[rule(
            "no-push",
            &json!({"decision": "deny", "onDoubt": "allow",
        "when": {"commands": ["git push *"]}}),
        )],
    );
    let commands = [
        json!({"command": "git push --force"}),
        json!({"command": "git", "args": ["push", "--force"]}),
        json!({"command": "bash", "args": ["-lc", "cd /tmp && git push origin"], "env": [], "cwd": "/tmp"}),
        // An editor that joins words for its shell runs two commands.
        json!({"command": "echo", "args": ["hi; git push origin"]}),
    ];
    let asks: String =
        commands.iter().zip(10..).map(|(params, id)| request(id, "terminal/create", params) + "hear\n").collect();
    let script =
        asks + &request(20, "terminal/create", &json!({"command": "git", "args": ["status"]})) + "hear\nhear\n";
    let mut connection = Connection::open(&sandbox, &script);
    assert_eq!(connection.read()["id"], 20);
    for line in &heard(&sandbox, 6)[2..] {
        assert!(line.contains("no-push says no"), "{line}");
    }
    connection.close().expect_exit_code(0);
}

#[test]
fn a_hook_rewrites_a_request() {
    let sandbox = sandbox();
    let hook = sandbox.script(
        "rewrite",
        r#"cat >/dev/null
echo '{"hookSpecificOutput": {"tool_input": {"content": "safe"}}}'"#,
    );
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"matcher": "write_file",
        "hooks": [{"type": "command", "name": "rewrite", "command": hook}]}]}}));
    let path = sandbox.project().join("a");
    let write = json!({"path": path, "content": "x", "_meta": {"kept": 1}});
    let mut connection = Connection::open(&sandbox, &(request(10, "fs/write_text_file", &write) + "hear"));
    let asked = connection.read();
    assert_eq!(asked["params"], json!({"path": path, "content": "safe", "_meta": {"kept": 1}, "sessionId": "s"}));
    connection.close().expect_exit_code(0);
}

#[test]
fn a_doubtful_terminal_command_runs_confined() {
    let sandbox = sandbox();
    if sandbox.run(&["run", "--", "true"]).code == Some(125) {
        hookwright_testkit::report_skipped(
            "a_doubtful_terminal_command_runs_confined",
            "commands can't be confined here",
        );
        return;
    }
    set_hooks(&sandbox, "BeforeTool", &[rule("guard", &json!({"decision": "deny", "when": {"writes": ["kept"]}}))]);
    sandbox.write("kept", "kept");
    sandbox.write("build.sh", "echo changed > kept\necho built > out\n");
    let create =
        request(10, "terminal/create", &json!({"command": "bash", "args": ["build.sh"], "cwd": sandbox.project()}));
    let mut connection = Connection::open(&sandbox, &(create + "hear"));
    let params = &connection.read()["params"];
    assert_eq!((&params["args"][0], &params["args"][1]), (&json!("run"), &json!("--plan")), "{params}");
    let words: Vec<&str> = params["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let mut command = sandbox.command(&words);
    assert_eq!(params["command"].as_str().unwrap(), command.get_program().to_str().unwrap());
    for variable in params["env"].as_array().unwrap() {
        command.env(variable["name"].as_str().unwrap(), variable["value"].as_str().unwrap());
    }
    finish(command.spawn().unwrap());
    assert_eq!((sandbox.read("kept"), sandbox.read("out")), ("kept".to_owned(), "built\n".to_owned()));
    connection.close().expect_exit_code(0);
}

#[test]
fn a_denied_prompt_is_answered_and_context_is_added_to_others() {
    let sandbox = sandbox();
    let hook = sandbox.script(
        "prompts",
        r#"if grep -q secret; then echo 'no secrets here' >&2; exit 2; fi
echo '{"hookSpecificOutput": {"additionalContext": "be <brief>"}}'"#,
    );
    sandbox.settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [
        {"type": "command", "name": "prompts", "guard": true, "command": hook}]}]}}));
    let answer = r#"hear; say '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}'"#;
    let mut connection = Connection::open(&sandbox, answer);
    connection.prompt("tell the secret");
    let said = connection.read();
    assert_eq!(said["params"]["update"]["sessionUpdate"], "agent_message_chunk");
    assert_eq!(said["params"]["update"]["content"]["text"], "no secrets here");
    assert_eq!(connection.read()["result"]["stopReason"], "refusal");
    connection.prompt("hello");
    assert_eq!(connection.read()["result"]["stopReason"], "end_turn");
    let prompt = last_heard(&sandbox, 3);
    assert_eq!(prompt["params"]["prompt"][0]["text"], "hello");
    assert_eq!(prompt["params"]["prompt"][1]["text"], "<hook_context>be &lt;brief&gt;</hook_context>");
    connection.close().expect_exit_code(0);
}

fn permission(id: u64, call: &Value) -> String {
    let options = json!([{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "always", "name": "Always", "kind": "allow_always"},
        {"optionId": "no", "name": "No", "kind": "reject_once"}]);
    request(id, "session/request_permission", &json!({"toolCall": call, "options": options}))
}

#[test]
fn a_permission_request_is_rejected_approved_or_left_to_the_user() {
    let sandbox = sandbox();
    set_hooks(
        &sandbox,
        "BeforeTool",
        &[
            rule("no-push", &json!({"decision": "deny", "onDoubt": "allow", "when": {"commands": ["git push *"]}})),
            rule("ask-tag", &json!({"decision": "ask", "onDoubt": "allow", "when": {"commands": ["git tag *"]}})),
            json!({"type": "rule", "name": "cat", "decision": "allow", "only": {"commands": ["cat *"], "reads": ["**"]}}),
        ],
    );
    let call =
        |command: &str| json!({"toolCallId": "c", "kind": "execute", "title": "run", "rawInput": {"command": command}});
    let script = [
        permission(10, &call("git push origin")),
        "hear\n".to_owned(),
        permission(11, &call("git tag v1")),
        "hear\n".to_owned(),
        permission(12, &call("cat a.txt")),
        "hear\n".to_owned(),
        permission(13, &call("git log")),
        "hear\nhear\n".to_owned(),
    ];
    let mut connection = Connection::open(&sandbox, &script.concat());
    let notice = connection.read();
    assert!(notice["params"]["update"]["content"]["text"].as_str().unwrap().contains("no-push says no"), "{notice}");
    assert_eq!(last_heard(&sandbox, 3)["result"]["outcome"], json!({"outcome": "selected", "optionId": "no"}));
    assert!(connection.read()["params"]["update"]["content"]["text"].as_str().unwrap().contains("ask-tag says no"));
    assert_eq!(connection.read()["id"], 11);
    let answer =
        json!({"jsonrpc": "2.0", "id": 11, "result": {"outcome": {"outcome": "selected", "optionId": "always"}}});
    connection.send(&answer);
    assert_eq!(last_heard(&sandbox, 4), answer);
    assert_eq!(last_heard(&sandbox, 5)["result"]["outcome"], json!({"outcome": "selected", "optionId": "yes"}));
    assert_eq!(connection.read()["id"], 13);
    connection.close().expect_exit_code(0);
}

#[test]
fn a_request_about_which_hooks_ask_is_put_to_the_user() {
    for (option, reaches) in [("allow", true), ("reject", false)] {
        let sandbox = sandbox();
        set_hooks(&sandbox, "BeforeTool", &[rule("ask", &json!({"decision": "ask", "when": {"writes": ["a"]}}))]);
        let write = json!({"path": sandbox.project().join("a"), "content": "x"});
        let mut connection = Connection::open(&sandbox, &(request(10, "fs/write_text_file", &write) + "hear\nhear\n"));
        let question = connection.read();
        assert_eq!(question["method"], "session/request_permission");
        assert!(question["params"]["toolCall"]["content"].to_string().contains("ask says no"), "{question}");
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        connection.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": outcome}));
        if reaches {
            assert_eq!(connection.read()["id"], 10);
        } else {
            assert!(last_heard(&sandbox, 3)["error"]["message"].as_str().unwrap().contains("denied"));
        }
        connection.close().expect_exit_code(0);
    }
}

#[test]
fn after_tool_hides_a_result() {
    let sandbox = sandbox();
    let hook = sandbox.script("hide", "if grep -q hunter2; then echo 'it holds a secret' >&2; exit 2; fi");
    sandbox.settings(
        &json!({"hooks": {"AfterTool": [{"hooks": [{"type": "command", "name": "hide", "command": hook}]}]}}),
    );
    let script = [
        request(10, "fs/read_text_file", &json!({"path": sandbox.project().join("a")})),
        "hear\n".to_owned(),
        request(11, "terminal/create", &json!({"command": "cat", "args": ["a"]})),
        "hear\n".to_owned(),
        request(12, "terminal/output", &json!({"terminalId": "t"})),
        "hear\nhear\n".to_owned(),
    ];
    let mut connection = Connection::open(&sandbox, &script.concat());
    for (id, result) in [
        (10, json!({"content": "TOKEN=hunter2"})),
        (11, json!({"terminalId": "t"})),
        (12, json!({"output": "TOKEN=hunter2", "truncated": false, "exitStatus": {"exitCode": 0}})),
    ] {
        assert_eq!(connection.read()["id"], id);
        connection.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }
    let told: Vec<Value> = heard(&sandbox, 5)[2..].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!json!(told).to_string().contains("hunter2"), "{told:#?}");
    assert!(told[0]["error"]["message"].as_str().unwrap().contains("it holds a secret"));
    assert_eq!(told[1]["result"]["terminalId"], "t");
    assert_eq!(told[2]["result"]["exitStatus"]["exitCode"], 0);
    connection.close().expect_exit_code(0);
}

#[test]
fn a_guard_that_cannot_run_refuses() {
    let asleep = json!({"type": "command", "name": "asleep", "guard": true, "command": "/nowhere/guard"});
    let asleep = json!({"hooks": {"BeforeTool": [{"hooks": [asleep]}]}}).to_string();
    for (settings, reason) in [(asleep.as_str(), "asleep"), ("{ broken", "settings.json can't be read")] {
        let sandbox = sandbox();
        sandbox.user_settings(&json!({}));
        fs::write(sandbox.home().join(".gemini/settings.json"), settings).unwrap();
        let write = json!({"path": sandbox.project().join("a"), "content": "x"});
        let script = request(10, "fs/write_text_file", &write)
            + "hear\n"
            + &permission(11, &json!({"toolCallId": "c", "title": "x"}))
            + "hear\nhear\n";
        let connection = Connection::open(&sandbox, &script);
        let refused = last_heard(&sandbox, 3);
        assert!(refused["error"]["message"].as_str().unwrap().contains(reason), "{refused}");
        assert_eq!(last_heard(&sandbox, 4)["result"]["outcome"]["optionId"], "no");
        connection.close().expect_exit_code(0);
    }
}

#[test]
fn a_slow_judgement_holds_up_its_session_alone() {
    let sandbox = sandbox();
    let go = sandbox.sibling_path("go");
    let hook =
        sandbox.script("slow", &format!("cat >/dev/null\nwhile [ ! -e '{}' ]; do sleep 0.05; done", go.display()));
    sandbox.settings(
        &json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "slow", "command": hook}]}]}}),
    );
    let write = request(10, "fs/write_text_file", &json!({"path": sandbox.project().join("a"), "content": "x"}));
    let update = |session: &str| {
        let params = json!({"sessionId": session, "update": {"sessionUpdate": "note"}});
        format!("say '{}'\n", json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
    };
    let script = [write, update("s"), update("other"), "hear\n".to_owned()];
    let mut connection = Connection::open(&sandbox, &script.concat());
    assert_eq!(connection.read()["params"]["sessionId"], "other");
    fs::write(&go, "").unwrap();
    assert_eq!(connection.read()["id"], 10);
    assert_eq!(connection.read()["params"]["sessionId"], "s");
    connection.close().expect_exit_code(0);
}

#[test]
fn a_prompt_that_is_cancelled_while_hooks_judge_it_does_not_reach_the_agent() {
    let sandbox = sandbox();
    let go = sandbox.sibling_path("go");
    let hook =
        sandbox.script("slow", &format!("cat >/dev/null\nwhile [ ! -e '{}' ]; do sleep 0.05; done", go.display()));
    sandbox.settings(
        &json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "name": "slow", "command": hook}]}]}}),
    );
    let mut connection = Connection::open(&sandbox, "while :; do hear; done");
    connection.prompt("hello");
    let cancel = r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#;
    connection.send_line(cancel);
    // A message of another session shows that the guard has read the one before.
    connection.send_line(r#"{"jsonrpc":"2.0","method":"_seen","params":{"sessionId":"other"}}"#);
    heard(&sandbox, 3);
    fs::write(&go, "").unwrap();
    assert_eq!(connection.read()["result"]["stopReason"], "cancelled");
    connection.close().expect_exit_code(0);
    assert!(!fs::read_to_string(sandbox.sibling_path("heard")).unwrap().contains("hello"));
}

#[test]
fn calls_that_the_agent_runs_itself_are_told_and_on_record() {
    let sandbox = sandbox();
    set_hooks(
        &sandbox,
        "BeforeTool",
        &[rule("no-push", &json!({"decision": "deny", "when": {"commands": ["git push *"]}}))],
    );
    let update = |fields: Value| {
        let params = json!({"sessionId": "s", "update": fields});
        format!("say '{}'\n", json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
    };
    let call = |id: &str, command: &str| {
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": id, "kind": "execute", "rawInput": {"command": command}}),
        ) + &update(json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed"}))
    };
    let script = [call("1", "git push origin"), "hear\n".to_owned(), call("2", "ls"), "hear\n".to_owned()];
    let mut connection = Connection::open(&sandbox, &script.concat());
    connection.read();
    connection.read();
    let told =
        [connection.read(), connection.read()].map(|notice| notice["params"]["update"]["content"]["text"].to_string());
    assert!(told[0].contains("cannot refuse them here"), "{told:?}");
    assert!(told[1].contains("no-push says no"), "{told:?}");
    connection.send_line(r#"{"jsonrpc":"2.0","method":"_go"}"#);
    connection.read();
    connection.read();
    connection.close().expect_exit_code(0);
    let lines = journal(&sandbox, &["agent=scripted", "event=BeforeTool"]);
    assert_eq!(lines.len(), 2, "{lines:#?}");
    let lost = json!({"wanted": "deny", "became": "nothing"});
    assert!(lines.iter().any(|line| line["lost"][0] == lost), "{lines:#?}");
}

#[test]
fn garbage_is_dropped_and_two_readings_are_refused() {
    let sandbox = sandbox();
    set_hooks(&sandbox, "BeforeTool", &[rule("no-a", &json!({"decision": "deny", "when": {"writes": ["a"]}}))]);
    let path = sandbox.project().join("a");
    let path = path.to_str().unwrap();
    let script = format!(
        r#"
say 'Debugger listening'
say '[{{"jsonrpc":"2.0","id":10,"method":"fs/write_text_file","params":{{"sessionId":"s","path":"{path}","content":""}}}}]'
hear
say '{{"jsonrpc":"2.0","method":"_x","method":"fs/write_text_file","id":11,"params":{{"sessionId":"s","path":"{path}","content":""}}}}'
say '{{"jsonrpc":"2.0","id":12,"method":"fs/write_text_file","params":{{"sessionId":"s","path":"{path}","path":"/tmp/b","content":""}}}}'
hear
say '{{"jsonrpc":"2.0","method":"fs/write_text_file","params":{{"sessionId":"s","path":"{path}","content":""}}}}'
say '{{"jsonrpc":"2.0","id":null,"method":"fs/write_text_file","params":{{"sessionId":"s","path":"{path}","content":""}}}}'
say '{{"jsonrpc":"2.0","id":13,"method":"fs/write_text_file","params":{{"path":"{path}","content":""}}}}'
hear
say '{{"jsonrpc":"2.0","id":14,"method":"_first"}}'
say '{{"jsonrpc":"2.0","id":14.0,"method":"_second"}}'
hear
say '{{"jsonrpc":"2.0","id":15,"method":"_end"}}'
hear
"#
    );
    let mut connection = Connection::open(&sandbox, &script);
    assert_eq!(connection.read()["method"], "_first");
    assert_eq!(connection.read()["method"], "_end");
    let told: Vec<Value> = heard(&sandbox, 6)[2..].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<&Value> = told.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!(null), &json!(12), &json!(13), &json!(14.0)], "{told:#?}");
    assert!(told.iter().all(|answer| answer["error"]["code"] == -32600), "{told:#?}");
    let run = connection.close().expect_exit_code(0);
    assert!(run.stderr.contains("Debugger listening"), "{}", run.stderr);
}

#[test]
fn the_end_of_the_agent_answers_the_editor_and_gives_the_exit_code() {
    for (end, code, said) in
        [("exit 3", 3, "exited with code 3"), ("kill -9 $$", 137, "SIGKILL"), ("exit 0", 0, "exited with code 0")]
    {
        let sandbox = sandbox();
        let mut connection = Connection::open(&sandbox, &format!("hear\nsleep 600 &\n{end}"));
        connection.prompt("hello");
        let answer = connection.read();
        assert_eq!(answer["id"], 2);
        assert!(answer["error"]["message"].as_str().unwrap().contains(said), "{answer}");
        assert!(connection.lines.next().is_none());
        finish(connection.child).expect_exit_code(code);
    }
}

#[test]
fn the_end_of_the_editor_ends_an_agent_that_does_not_listen() {
    let sandbox = sandbox();
    let pid = sandbox.sibling_path("pid");
    let script = format!("trap '' TERM\necho $$ > '{}'\nwhile :; do sleep 1; done", pid.display());
    let connection = Connection::open(&sandbox, &script);
    wait_until("the agent runs", || fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n')));
    connection.close().expect_exit_code(0);
    assert!(!hookwright_testkit::is_running(fs::read_to_string(&pid).unwrap().trim()));
}

#[test]
fn a_command_that_is_no_agent_is_an_error_with_a_hint() {
    let sandbox = sandbox();
    let run = sandbox.run(&["acp", "guard"]).expect_exit_code(1);
    assert!(run.stderr.contains("AGENT COMMAND"), "{}", run.stderr);
    let run = sandbox.run(&["acp", "guard", "--", "no-such-agent"]).expect_exit_code(127);
    assert!(run.stderr.contains("no-such-agent") && run.stderr.contains("hint:"), "{}", run.stderr);
    sandbox.write("not-executable", "#!/bin/sh\n");
    let run = sandbox.run(&["acp", "guard", "--", "./not-executable"]).expect_exit_code(126);
    assert!(run.stderr.contains("not-executable"), "{}", run.stderr);
    let mut child = sandbox.command(&["acp", "guard", "--", "true"]);
    let mut child = child.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take();
    let run = finish(child).expect_exit_code(1);
    assert!(run.stderr.contains("must speak the Agent Client Protocol"), "{}", run.stderr);
    drop(stdin);
    let help = sandbox.run(&["acp", "guard", "--help"]).expect_exit_code(0);
    assert!(help.stdout.contains("hookwright acp guard -- gemini --acp"), "{}", help.stdout);
}
