//! The agent in an editor: the built binary over the Agent Client Protocol, with a scripted editor.

use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin};

use hookwright_testkit::deadline::*;
use hookwright_testkit::{ReplayBuilder, Sandbox, finish};
use serde_json::{Value, json};

use crate::sandbox;

/// An editor that is connected to the agent.
struct Editor {
    child: Child,
    input: TimedWriter<ChildStdin>,
    lines: Box<dyn Iterator<Item = String>>,
    last_id: u64,
    /// The names of the permission options that the user chooses, in order; without one, a question is cancelled.
    choices: Vec<&'static str>,
    /// What the agent asked, as titles.
    questions: Vec<String>,
    updates: Vec<Value>,
    /// The text of open files, by path.
    buffers: std::collections::BTreeMap<String, String>,
}

impl Editor {
    fn start(sandbox: &Sandbox, args: &[&str]) -> Editor {
        Editor::start_with(sandbox, args, &json!({}))
    }

    fn start_with(sandbox: &Sandbox, args: &[&str], capabilities: &Value) -> Editor {
        let mut command = sandbox.command(&[&["acp"], args].concat());
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        let input = TimedWriter::new(child.stdin.take().unwrap());
        let lines = Box::new(lines_in_time(child.stdout.take().unwrap()));
        let mut editor = Editor {
            child,
            input,
            lines,
            last_id: 0,
            choices: Vec::new(),
            questions: Vec::new(),
            updates: Vec::new(),
            buffers: Default::default(),
        };
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        let capabilities = editor.request("initialize", &params);
        assert_eq!(capabilities["protocolVersion"], 1);
        assert_eq!(capabilities["agentCapabilities"]["loadSession"], true);
        editor
    }

    fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).unwrap();
        self.input.flush().unwrap();
    }

    fn begin(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}));
        self.last_id
    }

    /// Sends a request, and returns its result.
    fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        self.result(id).unwrap_or_else(|error| panic!("{method} failed: {error}"))
    }

    /// Handles messages until this request is answered.
    fn result(&mut self, id: u64) -> Result<Value, Value> {
        loop {
            let message = self.read();
            if message["id"] == id && message.get("method").is_none() {
                return match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                };
            }
            self.handle(&message);
        }
    }

    fn read(&mut self) -> Value {
        let Some(line) = self.lines.next() else { panic!("the agent has ended, or does not answer") };
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn handle(&mut self, message: &Value) {
        match message["method"].as_str() {
            Some("session/update") => self.updates.push(message["params"]["update"].clone()),
            Some("session/request_permission") => {
                let params = &message["params"];
                self.questions.push(params["toolCall"]["title"].as_str().unwrap().to_owned());
                let outcome = if self.choices.is_empty() {
                    json!({"outcome": "cancelled"})
                } else {
                    let choice = self.choices.remove(0);
                    let options = params["options"].as_array().unwrap();
                    let option = options.iter().find(|option| option["name"].as_str().unwrap().starts_with(choice));
                    let option = option.unwrap_or_else(|| panic!("no {choice}: {options:?}"));
                    json!({"outcome": "selected", "optionId": option["optionId"]})
                };
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {"outcome": outcome}}));
            }
            Some("fs/read_text_file" | "fs/write_text_file") => {
                let params = &message["params"];
                let buffer = self.buffers.get_mut(params["path"].as_str().unwrap());
                let answer = match (buffer, params.get("content")) {
                    (None, _) => json!({"error": {"code": -32002, "message": "no such buffer"}}),
                    (Some(buffer), Some(content)) => {
                        *buffer = content.as_str().unwrap().to_owned();
                        json!({"result": {}})
                    }
                    (Some(buffer), None) => json!({"result": {"content": buffer}}),
                };
                let mut message = json!({"jsonrpc": "2.0", "id": message["id"]});
                message.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
                self.send(&message);
            }
            _ => panic!("{message}"),
        }
    }

    fn new_session(&mut self, project: &Path) -> String {
        let created = self.request("session/new", &json!({"cwd": project, "mcpServers": []}));
        created["sessionId"].as_str().unwrap().to_owned()
    }

    /// Sends a prompt, and returns why the turn ended.
    fn prompt(&mut self, session: &str, text: &str) -> String {
        let blocks = json!([{"type": "text", "text": text}]);
        let answer = self.request("session/prompt", &json!({"sessionId": session, "prompt": blocks}));
        answer["stopReason"].as_str().unwrap().to_owned()
    }

    /// The answer's text so far.
    fn text(&self) -> String {
        let chunks = self.updates.iter().filter(|update| update["sessionUpdate"] == "agent_message_chunk");
        chunks.map(|update| update["content"]["text"].as_str().unwrap()).collect()
    }

    /// The last status and content of each call.
    fn calls(&self) -> Vec<(String, String)> {
        let mut calls: Vec<(String, String, String)> = Vec::new();
        for update in &self.updates {
            let Some(id) = update["toolCallId"].as_str() else { continue };
            if !calls.iter().any(|(known, ..)| known == id) {
                calls.push((id.to_owned(), String::new(), String::new()));
            }
            let call = calls.iter_mut().find(|(known, ..)| known == id).unwrap();
            if let Some(status) = update["status"].as_str() {
                call.1 = status.to_owned();
            }
            if let Some(content) = update.get("content") {
                call.2 = content.to_string();
            }
        }
        calls.into_iter().map(|(_, status, content)| (status, content)).collect()
    }

    /// Closes the connection, and waits for the agent's end.
    fn close(self) {
        let Editor { child, input, .. } = self;
        drop(input);
        finish(child).expect_exit_code(0);
    }
}

fn shell_replay(sandbox: &Sandbox, command: &str) -> String {
    let replay = ReplayBuilder::new().calls("run_shell_command", json!({"command": command})).says("All done.");
    sandbox.replay(&replay)
}

#[test]
fn a_prompt_is_answered_with_its_calls_and_every_event_fires() {
    let sandbox = sandbox();
    let hook = sandbox.script("log", "echo \"$(cat)\" >> \"$GEMINI_PROJECT_DIR/seen\"\n");
    let hooks = ["SessionStart", "BeforeAgent", "BeforeModel", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"];
    let entry = json!([{"hooks": [{"type": "command", "name": "log", "command": hook}]}]);
    let hooks: serde_json::Map<String, Value> =
        hooks.iter().map(|event| ((*event).to_owned(), entry.clone())).collect();
    sandbox.settings(&json!({"hooks": hooks}));
    let replay = shell_replay(&sandbox, "echo made > out");
    let mut editor = Editor::start(&sandbox, &["--fake-responses", &replay]);
    let session = editor.new_session(&sandbox.project());
    editor.choices = vec!["Allow once"];
    assert_eq!(editor.prompt(&session, "go"), "end_turn");
    assert_eq!(sandbox.read("out"), "made\n");
    assert_eq!(editor.questions.len(), 1, "{:?}", editor.questions);
    assert!(editor.text().contains("All done."), "{}", editor.text());
    assert_eq!(editor.calls()[0].0, "completed", "{:?}", editor.calls());
    editor.close();
    let seen = sandbox.read("seen");
    for event in ["SessionStart", "BeforeAgent", "BeforeModel", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"] {
        assert!(seen.contains(&format!("\"hook_event_name\":\"{event}\"")), "{event}: {seen}");
    }
}

#[test]
fn a_guard_s_refusal_is_a_failed_call_with_its_reason() {
    let sandbox = sandbox();
    let guard = json!({"type": "rule", "name": "no-touch", "guard": true, "decision": "deny",
        "when": {"writes": ["kept"]}, "reason": "kept stays as it is"});
    sandbox.user_settings(&json!({"hooks": {"BeforeTool": [{"hooks": [guard]}]}}));
    let replay = shell_replay(&sandbox, "touch kept");
    let mut editor = Editor::start(&sandbox, &["--fake-responses", &replay, "--approval-mode=yolo"]);
    let session = editor.new_session(&sandbox.project());
    assert_eq!(editor.prompt(&session, "go"), "end_turn");
    let calls = editor.calls();
    assert!(calls[0].0 == "failed" && calls[0].1.contains("kept stays as it is"), "{calls:?}");
    assert!(!sandbox.has_file("kept"));
    editor.close();
}

#[test]
fn a_denied_and_a_cancelled_question_run_nothing() {
    for (choices, end) in [(vec!["Deny"], "end_turn"), (Vec::new(), "cancelled")] {
        let sandbox = sandbox();
        let replay = shell_replay(&sandbox, "touch out");
        let mut editor = Editor::start(&sandbox, &["--fake-responses", &replay]);
        let session = editor.new_session(&sandbox.project());
        editor.choices = choices;
        assert_eq!(editor.prompt(&session, "go"), end);
        assert!(!sandbox.has_file("out"));
        editor.close();
    }
}

#[test]
fn an_untrusted_folder_is_a_question_before_anything_is_loaded() {
    let sandbox = sandbox().untrusted();
    let hook = sandbox.script("log", "echo ran >> \"$GEMINI_PROJECT_DIR/seen\"\n");
    sandbox.settings(&json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": hook}]}]}}));
    let replay = sandbox.replay(&ReplayBuilder::new().says("hello"));
    let mut editor = Editor::start(&sandbox, &["--fake-responses", &replay]);
    let session = editor.new_session(&sandbox.project());
    assert!(!sandbox.has_file("seen"));
    editor.choices = vec!["Trust this folder"];
    assert_eq!(editor.prompt(&session, "hi"), "end_turn");
    assert_eq!(editor.questions, ["Do you want to trust this folder?"]);
    assert!(editor.text().contains("hello"), "{}", editor.text());
    assert!(sandbox.has_file("seen"));
    editor.close();
}

#[test]
fn an_unarmed_guard_is_a_question_and_leaving_starts_nothing() {
    let sandbox = sandbox();
    let guard = json!({"type": "command", "name": "asleep", "guard": true, "command": "/nowhere/guard"});
    sandbox.user_settings(&json!({"hooks": {"BeforeTool": [{"hooks": [guard]}]}}));
    let replay = sandbox.replay(&ReplayBuilder::new().says("hello"));
    let mut editor = Editor::start(&sandbox, &["--fake-responses", &replay]);
    let session = editor.new_session(&sandbox.project());
    assert_eq!(editor.prompt(&session, "hi"), "end_turn");
    assert!(editor.text().contains("not started") && !editor.text().contains("hello"), "{}", editor.text());
    editor.choices = vec!["Go on"];
    assert_eq!(editor.prompt(&session, "hi"), "end_turn");
    assert!(editor.text().contains("hello"), "{}", editor.text());
    assert_eq!(editor.questions.len(), 2, "{:?}", editor.questions);
    editor.close();
}

/// A session that goes on without a guard has on record the calls that the guard should have been asked about.
#[test]
fn calls_past_a_sleeping_guard_are_on_record() {
    let sandbox = sandbox();
    let guard = json!({"type": "rule", "name": "asleep", "guard": true, "decision": "deny", "reason": "no",
        "when": {"commands": ["echo"]}, "onDoubt": "allow"});
    sandbox.user_settings(&json!({"hooks": {"BeforeTool": [{"hooks": [guard]}], "disabled": ["asleep"]}}));
    let echo = json!({"command": "echo hi"});
    let list = json!({"command": "ls"});
    let script = ReplayBuilder::new().calls("run_shell_command", echo).calls("run_shell_command", list).says("done");
    let replay = sandbox.replay(&script);
    let mut editor = Editor::start(&sandbox, &["--fake-responses", &replay]);
    let session = editor.new_session(&sandbox.project());
    editor.choices = vec!["Go on"];
    assert_eq!(editor.prompt(&session, "hi"), "end_turn");
    assert!(editor.text().contains("done"), "{}", editor.text());
    editor.close();
    // The guard has no say about the second call.
    let run = sandbox.run(&["journal", "query", "kind=event", "--json"]).expect_exit_code(0);
    let events = run.json_lines();
    assert_eq!(events.len(), 1, "{events:#?}");
    assert_eq!(events[0]["content"]["input"]["tool_input"]["command"], "echo hi");
    assert!(events[0]["unarmed"][0].as_str().unwrap().contains("guard `asleep`"), "{events:#?}");
    assert_eq!((&events[0]["verdict"], &events[0]["hooks"]), (&json!("pass"), &Value::Null));
    let why = sandbox.run(&["hooks", "why", "last"]).expect_exit_code(0).stdout;
    assert!(why.contains("1 guard should have been asked.") && why.contains("switch it off"), "{why}");
}

#[test]
fn commands_modes_and_bad_requests_are_answered() {
    let sandbox = sandbox();
    let replay = sandbox.replay(&ReplayBuilder::new().says("hello"));
    let mut editor = Editor::start(&sandbox, &["--fake-responses", &replay]);
    let session = editor.new_session(&sandbox.project());
    assert_eq!(editor.prompt(&session, "/about"), "end_turn");
    assert!(editor.text().contains("transcript"), "{}", editor.text());
    assert_eq!(editor.prompt(&session, "/help"), "end_turn");
    let offered = editor.updates.iter().find(|update| update["sessionUpdate"] == "available_commands_update").unwrap();
    let offers = |name: &str| offered["availableCommands"].as_array().unwrap().iter().any(|one| one["name"] == name);
    assert!(offers("compress") && !offers("quit") && !offers("theme"), "{offered}");
    editor.request("session/set_mode", &json!({"sessionId": session, "modeId": "auto_edit"}));
    assert_eq!(editor.prompt(&session, "hi"), "end_turn");
    assert!(editor.updates.iter().any(|update| update["currentModeId"] == "auto_edit"), "{:?}", editor.updates);
    for (method, params) in [
        ("session/set_mode", json!({"sessionId": session, "modeId": "reckless"})),
        ("session/prompt", json!({"sessionId": "unknown", "prompt": []})),
        ("session/new", json!({"cwd": "relative", "mcpServers": []})),
        ("session/load", json!({"cwd": sandbox.project(), "mcpServers": [], "sessionId": "no-such-session"})),
        ("no/such/method", json!({})),
    ] {
        let id = editor.begin(method, &params);
        assert!(editor.result(id).is_err(), "{method} {params}");
    }
    editor.close();
}

#[test]
fn a_session_is_listed_and_loaded_with_its_conversation() {
    let sandbox = sandbox();
    let replay = sandbox.replay(&ReplayBuilder::new().says("the first answer"));
    let mut editor = Editor::start(&sandbox, &["--fake-responses", &replay]);
    let session = editor.new_session(&sandbox.project());
    editor.prompt(&session, "the first prompt");
    // A session that is still open is shown again, and goes on.
    editor.updates.clear();
    editor.request("session/load", &json!({"sessionId": session, "cwd": sandbox.project(), "mcpServers": []}));
    let texts = json!(editor.updates).to_string();
    assert!(texts.contains("the first prompt") && texts.contains("the first answer"), "{texts}");
    assert_eq!(editor.prompt(&session, "/stats"), "end_turn");
    assert!(editor.text().contains("1 requests, 0 errors"), "{}", editor.text());
    editor.request("session/close", &json!({"sessionId": session}));
    let listed = editor.request("session/list", &json!({"cwd": sandbox.project()}));
    assert_eq!(listed["sessions"][0]["sessionId"], session.as_str(), "{listed}");
    assert_eq!(listed["sessions"][0]["title"], "the first prompt");
    editor.updates.clear();
    editor.request("session/load", &json!({"sessionId": session, "cwd": sandbox.project(), "mcpServers": []}));
    let texts = json!(editor.updates).to_string();
    assert!(texts.contains("the first prompt") && texts.contains("the first answer"), "{texts}");
    editor.close();
}

#[test]
fn an_embedded_file_is_text_and_attaches_nothing() {
    let sandbox = sandbox();
    sandbox.write("secret.txt", "hunter2");
    let hook = sandbox.script("log", "cat > \"$GEMINI_PROJECT_DIR/seen\"\n");
    sandbox.settings(&json!({"hooks": {"BeforeModel": [{"hooks": [{"type": "command", "command": hook}]}]}}));
    let replay = sandbox.replay(&ReplayBuilder::new().says("read"));
    let mut editor = Editor::start(&sandbox, &["--fake-responses", &replay]);
    let session = editor.new_session(&sandbox.project());
    let resource = json!({"uri": "file:///buffer.rs", "text": "unsaved words @secret.txt"});
    let blocks = json!([{"type": "text", "text": "look"}, {"type": "resource", "resource": resource}]);
    editor.request("session/prompt", &json!({"sessionId": session, "prompt": blocks}));
    let seen = sandbox.read("seen");
    assert!(seen.contains("unsaved words") && seen.contains("look") && !seen.contains("hunter2"), "{seen}");
    editor.close();
}

#[test]
fn tools_see_unsaved_text_and_write_through_the_editor() {
    let sandbox = sandbox();
    sandbox.write("a.txt", "one\r\ntwo\r\n");
    let replay = ReplayBuilder::new()
        .calls("read_file", json!({"file_path": "a.txt"}))
        .calls("replace", json!({"file_path": "a.txt", "old_string": "unsaved", "new_string": "changed"}))
        .calls("write_file", json!({"file_path": "new.txt", "content": "new\n"}))
        .says("All done.");
    let replay = sandbox.replay(&replay);
    let mut editor = Editor::start_with(
        &sandbox,
        &["--fake-responses", &replay, "--approval-mode=yolo"],
        &json!({
            "fs": {"readTextFile": true, "writeTextFile": true},
        }),
    );
    let session = editor.new_session(&sandbox.project());
    let path = sandbox.project().join("a.txt").to_str().unwrap().to_owned();
    editor.buffers.insert(path.clone(), "one\nunsaved\n".to_owned());
    assert_eq!(editor.prompt(&session, "go"), "end_turn");
    let calls = editor.calls();
    assert!(calls.iter().all(|(status, _)| status == "completed"), "{calls:?}");
    assert!(calls[0].1.contains("unsaved"), "{calls:?}");
    assert_eq!(editor.buffers[&path], "one\r\nchanged\r\n");
    assert_eq!((sandbox.read("a.txt"), sandbox.read("new.txt")), ("one\r\ntwo\r\n".to_owned(), "new\n".to_owned()));
    editor.close();
}

#[test]
fn an_editor_that_refuses_a_write_is_an_error_for_the_model() {
    let sandbox = sandbox();
    sandbox.write("a.txt", "one\n");
    let replay =
        ReplayBuilder::new().calls("write_file", json!({"file_path": "a.txt", "content": "two\n"})).says("Done.");
    let replay = sandbox.replay(&replay);
    let mut editor = Editor::start_with(
        &sandbox,
        &["--fake-responses", &replay, "--approval-mode=yolo"],
        &json!({
            "fs": {"readTextFile": true, "writeTextFile": true},
        }),
    );
    let session = editor.new_session(&sandbox.project());
    // A file that the editor does not know: it is read on disk, and not written.
    assert_eq!(editor.prompt(&session, "go"), "end_turn");
    let calls = editor.calls();
    assert!(calls[0].0 == "failed" && calls[0].1.contains("the editor did not write"), "{calls:?}");
    assert_eq!(sandbox.read("a.txt"), "one\n");
    editor.close();
}
