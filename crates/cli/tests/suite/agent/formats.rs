//! Input, the three output formats, exit codes.

use super::*;

fn read_file_replay() -> ReplayBuilder {
    ReplayBuilder::new().calls("read_file", json!({"file_path": "a.txt"})).says_in_chunks(&["one ", "two"])
}

/// `security.auth.enforcedType`: the error has the words that scripts look for, and no request is made.
#[test]
fn an_enforced_authentication_type_ends_a_session_before_any_request() {
    let enforced = |kind: &str| {
        let sandbox = project(&[]);
        sandbox.user_settings(&json!({"security": {"auth": {"enforcedType": kind}}}));
        sandbox
    };
    let args = ["-p", "hello", "--output-format", "json"];
    let key = |sandbox: Sandbox| sandbox.env("GEMINI_API_KEY", "k").env("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9");
    let mismatch = |enforced: &str, current: &str| {
        format!("The enforced authentication type is '{enforced}', but the current type is '{current}'.")
    };
    for (sandbox, expected) in [
        (
            key(enforced("gemini-api-key")).env("GOOGLE_GENAI_USE_GCA", "true"),
            mismatch("gemini-api-key", "oauth-personal"),
        ),
        (enforced("gemini-api-key").env("GOOGLE_GENAI_USE_VERTEXAI", "true"), mismatch("gemini-api-key", "vertex-ai")),
        // A variable does not cover up the connection that is really used.
        (key(enforced("vertex-ai")).env("GOOGLE_GENAI_USE_VERTEXAI", "true"), mismatch("vertex-ai", "gemini-api-key")),
        (
            enforced("gemini-api-key"),
            "The auth type 'gemini-api-key' is enforced, but no authentication is configured.".to_owned(),
        ),
    ] {
        let run = sandbox.run(&args).expect_exit_code(41);
        let told = run.json();
        assert!(told["error"]["message"].as_str().unwrap().contains(&expected), "{told}");
        assert_eq!((&told["error"]["type"], &told["error"]["code"]), (&json!("Error"), &json!(41)));
        assert!(!told["session_id"].as_str().unwrap().is_empty());
        sandbox.run(&["-p", "hello"]).expect_exit_code(41);
    }
    let replayed = enforced("vertex-ai");
    let replay = replayed.replay(&ReplayBuilder::new().says("hi"));
    replayed.run(&["--fake-responses", &replay, "-p", "hello"]).expect_exit_code(0);
}

#[test]
fn text_is_the_answer_and_nothing_else() {
    let sandbox = project(&[("BeforeTool", "", r#"echo '{"systemMessage": "hey"}'"#)]);
    sandbox.write("a.txt", "A");
    let run = run(&sandbox, &read_file_replay(), &[]).expect_exit_code(0);
    assert_eq!(run.stdout, "one two\n");
    assert_contains(&run.stderr, "Hook system message: hey\n");
    assert_contains(&run.stderr, "read_file");
}

#[test]
fn json_is_one_object() {
    let sandbox = project(&[("BeforeTool", "", r#"echo '{"systemMessage": "hey"}'"#)]);
    sandbox.write("a.txt", "A");
    let run = run(&sandbox, &read_file_replay(), &["-o", "json", "--session-id", "s-1"]).expect_exit_code(0);
    let answer = run.json();
    assert_eq!((&answer["session_id"], &answer["response"]), (&json!("s-1"), &json!("one two")));
    assert!(answer.get("error").is_none());
    let stats = &answer["stats"];
    assert_eq!(stats["models"]["gemini-2.5-pro"]["api"]["totalRequests"], 2);
    assert_eq!(stats["tools"]["byName"]["read_file"]["decisions"]["auto_accept"], 1);
    assert_eq!(stats["files"]["totalLinesAdded"], 0);
    assert_contains(&run.stderr, "Hook system message: hey\n");
}

#[test]
fn stream_json_tells_everything_as_it_happens() {
    let sandbox = project(&[("BeforeTool", "", "exit 0"), ("AfterTool", "", "exit 3")]);
    sandbox.write("a.txt", "A");
    let lines = run(&sandbox, &read_file_replay(), &["-o", "stream-json"]).expect_exit_code(0).json_lines();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["init", "message", "hook", "tool_use", "hook", "error", "tool_result", "message", "message", "result"],
        "a call is told when its hooks have said what may be told of it"
    );
    assert!(lines.iter().all(|line| line["timestamp"].is_string()));
    assert_eq!((&lines[1]["role"], &lines[1]["content"]), (&json!("user"), &json!("hello")));
    assert_eq!(
        (&lines[3]["tool_name"], &lines[3]["parameters"]),
        (&json!("read_file"), &json!({"file_path": "a.txt"}))
    );
    let hook = &lines[2];
    assert_eq!((&hook["name"], &hook["event"], &hook["exit_code"]), (&json!("hook1"), &json!("BeforeTool"), &json!(0)));
    assert!(hook["duration_ms"].as_f64().unwrap() > 0.0);
    assert_eq!((&lines[6]["tool_id"], &lines[6]["status"]), (&lines[3]["tool_id"], &json!("success")));
    assert_eq!(
        (&lines[8]["role"], &lines[8]["content"], &lines[8]["delta"]),
        (&json!("assistant"), &json!("two"), &json!(true))
    );
    assert_eq!(lines[9]["status"], "success");
    let stats = &lines[9]["stats"];
    assert_eq!((&stats["total_tokens"], &stats["tool_calls"]), (&json!(16), &json!(1)));
    assert_eq!((&stats["hooks"]["runs"], &stats["hooks"]["failures"]), (&json!(2), &json!(1)));
}

#[test]
fn a_blocked_and_a_stopped_turn_are_good_ends_with_a_warning() {
    for (script, words) in [
        ("echo no >&2; exit 2", "Agent execution blocked: no"),
        (r#"echo '{"continue": false, "stopReason": "no"}'"#, "Agent execution stopped by hook: no"),
    ] {
        let sandbox = project(&[("BeforeAgent", "", script)]);
        let answer = run(&sandbox, &ReplayBuilder::new(), &["-o", "json"]).expect_exit_code(0).json();
        assert_eq!((&answer["response"], &answer["warnings"]), (&json!(""), &json!([words])));
        assert!(answer.get("error").is_none());
        let lines = run(&sandbox, &ReplayBuilder::new(), &["-o", "stream-json"]).expect_exit_code(0).json_lines();
        let told = lines.iter().find(|line| line["type"] == "error").unwrap();
        assert_eq!((&told["severity"], &told["message"]), (&json!("warning"), &json!(words)));
        let result = lines.last().unwrap();
        assert_eq!((&result["type"], &result["status"]), (&json!("result"), &json!("success")));
        assert!(result.get("error").is_none());
    }
}

#[test]
fn replay_that_runs_out_is_an_error_with_the_known_words() {
    let sandbox = project(&[]);
    let words = "No more mock responses for generateContentStream, got request:";
    let plain = run(&sandbox, &ReplayBuilder::new(), &[]).expect_exit_code(1);
    assert_contains(&plain.stderr, words);
    let answer = run(&sandbox, &ReplayBuilder::new(), &["-o", "json"]).expect_exit_code(1).json();
    assert_contains(answer["error"]["message"].as_str().unwrap(), words);
    let lines = run(&sandbox, &ReplayBuilder::new(), &["-o", "stream-json"]).expect_exit_code(1).json_lines();
    assert_eq!(lines.last().unwrap()["status"], "error");
}

#[test]
fn a_replay_file_that_is_not_there_is_named() {
    let run = project(&[]).run(&["-p", "x", "--fake-responses", "absent.jsonl"]).expect_exit_code(1);
    assert_contains(&run.stderr, "absent.jsonl");
}

#[test]
fn bad_input_exits_42() {
    let sandbox = project(&[]);
    assert_contains(&sandbox.run(&[]).expect_exit_code(42).stderr, "there is no prompt");
    sandbox.run(&["-p", ""]).expect_exit_code(42);
    sandbox.run(&["--no-such-flag"]).expect_exit_code(42);
    sandbox.run(&["-p", "x", "--approval-mode=sometimes"]).expect_exit_code(42);
}

#[test]
fn words_behind_a_prompt_are_no_prompt_and_nothing_is_sent() {
    let sandbox = project(&[]);
    for (args, hint) in [
        (&["-p", "fix", "the", "bug", "now"][..], "hookwright -p 'fix the bug now'"),
        (&["-p", "don't", "stop"], r"hookwright -p 'don'\''t stop'"),
    ] {
        let run = sandbox.run(args).expect_exit_code(42);
        assert_contains(&run.stderr, hint);
        assert_eq!(run.stdout, "", "{args:?}");
    }
    sandbox.run(&["-p", "say hello"]).expect_exit_code(0);
}

#[test]
fn an_interactive_prompt_needs_a_terminal() {
    for words in [&["-i", "say x"][..], &["-i", "say x", "say y"]] {
        let run = project(&[]).run_with_input(words, "piped\n").expect_exit_code(42);
        assert_contains(&run.stderr, "--prompt-interactive flag cannot be used when input is piped");
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn commands_and_what_looks_like_one_never_go_to_the_model() {
    let sandbox = project(&[]);
    for (args, code) in [
        (&["help"][..], 0),
        (&["doctor"], 0),
        (&["completions", "bash"], 0),
        (&["version"], 0),
        (&["hook", "list"], 0),
        (&["install", "claude-code"], 42),
        (&["add", "secret-scanner"], 42),
        (&["hoosk", "list"], 42),
        (&["hooks", "lsit"], 1),
        (&["hooks"], 1),
    ] {
        let run = sandbox.run(args).expect_exit_code(code);
        assert!(!run.stdout.contains("offline model"), "{args:?}: {}", run.stdout);
        if code != 0 {
            assert!(run.stderr.contains("hookwright"), "{args:?}: {}", run.stderr);
        }
    }
    assert_contains(&sandbox.run(&["hooks", "lsit"]).stderr, "'list'");
}

fn failing_command() -> ReplayBuilder {
    ReplayBuilder::new().calls("run_shell_command", json!({"command": "echo one; echo two; exit 3"})).says("done")
}

#[test]
fn a_failed_command_is_no_success_and_its_output_is_whole() {
    let sandbox = project(&[]);
    let lines = run(&sandbox, &failing_command(), &["-o", "stream-json"]).expect_exit_code(0).json_lines();
    let result = lines.iter().find(|line| line["type"] == "tool_result").unwrap();
    assert_eq!((&result["status"], &result["exit_code"]), (&json!("error"), &json!(3)));
    assert_eq!(result["output"], "one\ntwo\n");
    assert_eq!(result["error"], json!({"type": "command_failed", "message": "exit code 3"}));
    let fine = ReplayBuilder::new().calls("run_shell_command", json!({"command": "echo one; echo two"})).says("done");
    let lines = run(&sandbox, &fine, &["-o", "stream-json"]).expect_exit_code(0).json_lines();
    let result = lines.iter().find(|line| line["type"] == "tool_result").unwrap();
    assert_eq!(
        (&result["status"], &result["exit_code"], &result["output"]),
        (&json!("success"), &json!(0), &json!("one\ntwo\n"))
    );
    for format in ["text", "json"] {
        let run = run(&sandbox, &failing_command(), &["-o", format]).expect_exit_code(0);
        assert_contains(&run.stderr, "run_shell_command failed: exit code 3\n");
    }
    let killed = ReplayBuilder::new().calls("run_shell_command", json!({"command": "kill -9 $$"})).says("done");
    assert_contains(
        &run(&sandbox, &killed, &[]).expect_exit_code(0).stderr,
        "run_shell_command failed: ended by signal SIGKILL\n",
    );
}

#[test]
fn a_broken_command_file_is_reported_and_its_command_is_not_a_prompt() {
    let sandbox = project(&[]);
    sandbox.write(".gemini/commands/bad.toml", "prompt = \n");
    let run = sandbox.run(&["-p", "/bad"]).expect_exit_code(42);
    assert_contains(&run.stderr, "bad.toml:1");
    assert_eq!(run.stdout, "");
    let answer = super::run(&sandbox, &ReplayBuilder::new().says("done"), &["-o", "json"]).expect_exit_code(0).json();
    assert_contains(&answer["warnings"].to_string(), "bad.toml:1");
    sandbox.write(".gemini/commands/good.toml", "prompt = \"x\"\n");
    assert_contains(&sandbox.run(&["-p", "/help"]).expect_exit_code(0).stdout, "custom command from good.toml");
    let run = sandbox.run(&["-p", "/hepl"]).expect_exit_code(42);
    assert_contains(&run.stderr, "there is no command /hepl; did you mean /help?");
    assert_eq!(run.stdout, "");
}

/// A hook that outlives the end is named and counted.
#[test]
fn a_hook_that_outlives_the_session_is_reported_and_counted() {
    let settings = json!({"hooksConfig": {"sessionEndGrace": 500}});
    let sandbox = project_with(&[("SessionEnd", "", "exec sleep 600")], settings);
    let replay = ReplayBuilder::new().says("done");
    let run = super::run(&sandbox, &replay, &[]).expect_exit_code(0);
    assert_contains(&run.stderr, "waiting for SessionEnd hooks (hook1), 0.5 s at most");
    assert_contains(
        &run.stderr,
        "warning: hook hook1 (project, SessionEnd): was still running at the end of the session when its time was over",
    );
    let answer = super::run(&sandbox, &replay, &["-o", "json"]).expect_exit_code(0).json();
    assert_contains(&answer["warnings"].to_string(), "was still running");
    assert_eq!((&answer["stats"]["hooks"]["runs"], &answer["stats"]["hooks"]["failures"]), (&json!(1), &json!(1)));
}

/// A project's setting for the grace period at the end is bounded.
#[test]
fn a_project_shortens_the_end_and_the_user_decides() {
    let sandbox =
        project_with(&[("SessionEnd", "", "exec sleep 600")], json!({"hooksConfig": {"sessionEndGrace": 600_000}}));
    sandbox.user_settings(&json!({"hooksConfig": {"sessionEndGrace": 400}}));
    assert_contains(
        &super::run(&sandbox, &ReplayBuilder::new().says("done"), &[]).expect_exit_code(0).stderr,
        "0.4 s at most",
    );
}

/// Scripts made for Gemini CLI look for these words where a tool could not be approved.
#[test]
fn a_tool_without_a_user_to_approve_it_is_refused_with_the_known_message() {
    let sandbox = project(&[]);
    let file =
        sandbox.replay(&ReplayBuilder::new().calls("run_shell_command", json!({"command": "touch made"})).says("done"));
    let run = sandbox.run(&["-p", "x", "--fake-responses", &file]).expect_exit_code(0);
    assert_contains(&run.stderr, "Error executing tool run_shell_command: Tool execution blocked:");
    assert_contains(&run.stderr, "Tool \"run_shell_command\" not found");
    assert!(!sandbox.has_file("made"));
}

#[test]
fn configuration_problems_are_among_the_warnings() {
    let sandbox = project_with(&[], json!({"hooks": {"BeforeTol": []}, "model": {"maxSessionTurns": "many"}}));
    let replay = ReplayBuilder::new().says("done");
    let answer = run(&sandbox, &replay, &["-o", "json"]).expect_exit_code(0).json();
    let warnings = answer["warnings"].to_string();
    assert!(warnings.contains("BeforeTol") && warnings.contains("maxSessionTurns"), "{answer:#}");
    let lines = run(&sandbox, &replay, &["-o", "stream-json"]).expect_exit_code(0).json_lines();
    let told = |word: &str| lines.iter().any(|line| line["severity"] == "warning" && line.to_string().contains(word));
    assert!(told("BeforeTol") && told("maxSessionTurns"), "{lines:#?}");
}

#[test]
fn used_up_turns_exit_53() {
    let sandbox = project_with(&[], json!({"model": {"maxSessionTurns": 1}}));
    sandbox.write("a.txt", "A");
    let run = run(&sandbox, &read_file_replay(), &[]).expect_exit_code(53);
    assert_contains(&run.stderr, "model.maxSessionTurns");
}

#[test]
fn a_model_that_repeats_a_call_is_stopped() {
    let sandbox = project(&[]);
    sandbox.write("a.txt", "A");
    let replay =
        (0..6).fold(ReplayBuilder::new(), |replay, _| replay.calls("read_file", json!({"file_path": "a.txt"})));
    assert_contains(&run(&sandbox, &replay, &[]).expect_exit_code(1).stderr, "5 times in a row");
}

#[test]
fn piped_input_goes_ahead_of_the_prompt() {
    let sandbox = project(&[("BeforeAgent", "", LOG_INPUT_SCRIPT)]);
    let file = sandbox.replay(&ReplayBuilder::new().says("ok"));
    sandbox.run_with_input(&["-p", "review this", "--fake-responses", &file], "the diff\n").expect_exit_code(0);
    let said = logged_inputs(&sandbox)[0]["prompt"].as_str().unwrap().to_owned();
    assert!(said.starts_with("the diff\n") && said.ends_with("review this"), "{said}");
    sandbox.run_with_input(&["--fake-responses", &file], "only piped").expect_exit_code(0);
    assert_eq!(logged_inputs(&sandbox)[1]["prompt"], "only piped");
    sandbox.run(&["--fake-responses", &file, "a", "positional", "prompt"]).expect_exit_code(0);
    assert_eq!(logged_inputs(&sandbox)[2]["prompt"], "a positional prompt");
}

#[test]
fn without_any_model_the_offline_one_runs_a_whole_loop() {
    let sandbox = project(&[("BeforeTool", "", LOG_INPUT_SCRIPT), ("AfterTool", "", LOG_INPUT_SCRIPT)]);
    let run = sandbox
        .run(&["-y", "-p", "call write_file {\"file_path\": \"a.txt\", \"content\": \"A\"}\nsay Done."])
        .expect_exit_code(0);
    assert_eq!(run.stdout, "Done.\n");
    assert_eq!(sandbox.read("a.txt"), "A");
    assert_eq!(logged_events(&sandbox), ["BeforeTool", "AfterTool"]);
}

#[test]
fn non_strict_replay_takes_what_fits() {
    let sandbox = project(&[]);
    let file = sandbox.replay(&ReplayBuilder::new().says_unstreamed("unused").says("ok"));
    assert_eq!(sandbox.run(&["-p", "x", "--fake-responses-non-strict", &file]).expect_exit_code(0).stdout, "ok\n");
    sandbox.run(&["-p", "x", "--fake-responses", &file]).expect_exit_code(1);
}

#[test]
fn recorded_answers_can_be_replayed() {
    let sandbox = project(&[]);
    let first =
        sandbox.run(&["-p", "say hello there, you", "--record-responses", "../recorded.jsonl"]).expect_exit_code(0);
    let again = sandbox.run(&["-p", "anything", "--fake-responses", "../recorded.jsonl"]).expect_exit_code(0);
    assert_eq!((first.stdout.as_str(), again.stdout.as_str()), ("hello there, you\n", "hello there, you\n"));
}

#[test]
fn version_and_help_are_no_errors() {
    let sandbox = project(&[]);
    assert_contains(&sandbox.run(&["--version"]).expect_exit_code(0).stdout, "hookwright");
    assert_contains(&sandbox.run(&["--help"]).expect_exit_code(0).stdout, "--fake-responses");
}

#[test]
fn an_idle_stdin_pipe_is_not_waited_for() {
    let sandbox = project(&[]);
    let file = sandbox.replay(&ReplayBuilder::new().says("ok"));
    let mut command = sandbox.command(&["-p", "x", "--fake-responses", &file]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let held_open = child.stdin.take();
    assert_eq!(hookwright_testkit::finish(child).expect_exit_code(0).stdout, "ok\n");
    drop(held_open);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let sandbox = project(&[("SessionEnd", "", LOG_INPUT_SCRIPT)]);
    let file = sandbox.replay(&ReplayBuilder::new().says_in_chunks(&["one ", "two ", "three"]));
    let mut child = sandbox.command(&["-p", "x", "--fake-responses", &file]).spawn().unwrap();
    drop(child.stdout.take());
    let run = hookwright_testkit::finish(child).expect_exit_code(0);
    assert_lacks(&run.stderr, "panic");
    assert_eq!(logged_inputs(&sandbox).len(), 1);
    assert_eq!(records(&sandbox, "hook_call").len(), 1, "what happened after it is recorded too");
}

#[test]
fn files_named_in_the_prompt_go_along_and_hooks_see_it_as_typed() {
    let sandbox = project(&[("BeforeAgent", "", LOG_INPUT_SCRIPT)]);
    sandbox.write("notes.txt", "three bugs left");
    prompt(&sandbox, "sum up @notes.txt", &ReplayBuilder::new().says("ok"), &[]).expect_exit_code(0);
    assert_eq!(logged_inputs(&sandbox)[0]["prompt"], "sum up @notes.txt");
    assert_contains(&requests(&sandbox)[0].to_string(), "three bugs left");
}

#[test]
fn calls_keep_their_ids_and_signatures() {
    let sandbox = project(&[]);
    sandbox.write("a.txt", "A");
    let call = json!({"functionCall": {"id": "call-7", "name": "read_file", "args": {"file_path": "a.txt"}}, "thoughtSignature": "c2ln"});
    run(&sandbox, &ReplayBuilder::new().parts(std::slice::from_ref(&call)).says("ok"), &[]).expect_exit_code(0);
    let sent = &requests(&sandbox)[1];
    assert_eq!(sent[1]["parts"][0], call);
    assert_eq!(sent[2]["parts"][0]["functionResponse"]["id"], "call-7");
}

#[test]
fn a_retry_is_reported_in_the_stream() {
    let script = r#"case $(cat) in *'"stop_hook_active":true'*) ;; *) echo better >&2; exit 2;; esac"#;
    let sandbox = project(&[("AfterAgent", "", script)]);
    let lines = run(&sandbox, &ReplayBuilder::new().says("a").says("b"), &["-o", "stream-json"])
        .expect_exit_code(0)
        .json_lines();
    let told = lines.iter().find(|line| line["type"] == "error").unwrap();
    assert_eq!((&told["severity"], &told["message"]), (&json!("warning"), &json!("Agent execution blocked: better")));
    assert_eq!(lines.last().unwrap()["status"], "success");
}
