use hookwright_testkit::{ReplayBuilder, Sandbox};
use serde_json::json;

use super::{COMPOSER, TestTerminal, sandbox};

#[test]
fn a_deny_names_the_hook_and_its_source() {
    let sandbox = sandbox();
    let command = sandbox.script("no.sh", "echo 'not on my watch' >&2; exit 2");
    sandbox.settings(
        &json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "guard", "command": command}]}]}}),
    );
    let mut terminal = TestTerminal::start(&sandbox, &["--yolo"]);
    terminal.wait_until_ready().keys("call run_shell_command {\"command\": \"ls\"}\r");
    terminal.wait_for_new_text("hook guard (project, BeforeTool) denied: not on my watch");
    terminal.wait_until_ready().keys("/hooks trace\r").wait_for_new_text("run_shell_command did not run");
}

#[test]
fn a_slow_hook_is_seen_and_a_quiet_one_leaves_no_line() {
    let sandbox = sandbox();
    let command = sandbox.script("slow.sh", "while [ ! -e \"$GEMINI_PROJECT_DIR/go\" ]; do sleep 0.05; done");
    sandbox.settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "name": "secret-scan", "command": command}]}]}}));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("say done\r");
    terminal.wait_for_new_text("hook secret-scan (1/1) … 0.");
    sandbox.write("go", "");
    let screen = terminal.wait_until_ready().wait_for_new_text("\ndone");
    assert!(!screen.contains("secret-scan (1/1)"), "{screen}");
}

/// Held text is not on the screen, which shows that the session is busy.
#[test]
fn a_sentence_is_shown_when_it_is_whole() {
    let base = crate::suite::agent::chunks::pausing(&["It is so. ", "The word is ", "hunter2"]);
    let sandbox = sandbox().env("OPENAI_BASE_URL", &base).env("OPENAI_MODEL", "m");
    let hook = json!({"type": "command", "name": "look", "command": "cat >/dev/null", "chunks": "sentence"});
    sandbox.settings(&json!({"hooks": {"AfterModel": [{"hooks": [hook]}]}}));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("well?\r");
    terminal.wait_for_new_text("It is so.");
    terminal.wait_for_new_text("Working 2").split_once("It is so.").expect("it stays");
    assert!(!terminal.everything().contains("The word"), "{}", terminal.everything());
    terminal.keys("\x1b").wait_until_ready();
    let everything = terminal.everything();
    assert!(!everything.contains("The word") && !everything.contains("hunter2"), "{everything}");
}

#[test]
fn notifications_can_be_switched_off() {
    let sandbox = sandbox();
    let command = sandbox.script("slow.sh", "touch \"$GEMINI_PROJECT_DIR/begun\"; while [ ! -e \"$GEMINI_PROJECT_DIR/go\" ]; do sleep 0.05; done; echo '{\"systemMessage\": \"all clean\"}'");
    // The setting is the user's, since a project must not hide what runs.
    sandbox.user_settings(&json!({"hooksConfig": {"notifications": false}}));
    sandbox.settings(
        &json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "name": "scan", "command": command}]}]}}),
    );
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("say done\r");
    terminal.wait_for_new_text("Working 1.");
    assert!(sandbox.has_file("begun") && !terminal.screen().contains("hook scan"));
    sandbox.write("go", "");
    terminal.wait_for_new_text("scan (project, BeforeAgent) says: all clean");
}

#[test]
fn the_panel_shows_switches_filters_and_fires() {
    let sandbox = sandbox();
    let command = sandbox.script("count.sh", "echo x >> \"$GEMINI_PROJECT_DIR/count\"");
    sandbox.settings(&json!({"hooks": {
        "BeforeAgent": [{"hooks": [{"type": "command", "name": "counter", "description": "counts prompts", "command": command}]}],
        "BeforeTool": [{"matcher": "write_file", "hooks": [{"type": "command", "name": "lost", "command": "./nowhere.sh"}]}],
    }}));
    let mut terminal = TestTerminal::sized(&sandbox, &[], 110, 30);
    terminal.wait_until_ready().keys("say hi\r").wait_for_new_text("\nhi");
    terminal.wait_until_ready().keys("/hooks panel\r").wait_for_new_text("Hooks 2/2");
    let screen = terminal.wait_for_new_text("counts prompts");
    let at = |words: &str| screen.find(words).unwrap_or_else(|| panic!("{words} is not in {screen}"));
    assert!(at("\nBeforeTool") < at("  lost") && at("› counter") < at("\nBeforeTool"), "{screen}");
    assert!(at("\nBeforeAgent") < at("› counter") && at("› counter") < at("\n    counts prompts"), "{screen}");
    assert!(screen.contains("armed") && screen.contains("inert") && screen.contains("MEDIAN"), "{screen}");
    terminal.keys("d");
    terminal.wait_for_new_text("disabled hook `counter` in");
    assert!(sandbox.read(".gemini/settings.json").contains("\"disabled\""));
    terminal.keys("e");
    terminal.wait_for_new_text("enabled hook `counter` in");
    terminal.keys("c");
    terminal.wait_for_new_text("canary: counter");
    terminal.keys("/lost\r");
    terminal.wait_for_new_text("Hooks 1/2");
    terminal.keys("\x1b");
    terminal.wait_for_new_text(COMPOSER);
    let counted = || sandbox.read("count").lines().count();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while counted() < 2 && std::time::Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert_eq!(counted(), 2, "once for the prompt and once for the canary");
}

/// A worker stays between prompts, the panel shows its health, a changed script starts another process, and a disabled
/// worker leaves none.
#[test]
#[cfg(unix)]
fn a_worker_stays_for_the_session_and_is_replaced_when_its_script_changes() {
    let worker = |word: &str| {
        format!(
            "echo $$ >> pids\nwhile IFS= read -r line; do id=${{line#'{{\"id\":'}}; id=${{id%%,*}}; n=$((n+1))\n\
             printf '{{\"id\":%s,\"output\":{{\"systemMessage\":\"{word} %s\"}}}}\\n' \"$id\" \"$n\"; done"
        )
    };
    let sandbox = sandbox();
    let command = sandbox.script("count.sh", &worker("count"));
    let hook = json!({"type": "worker", "name": "counter", "command": command});
    sandbox.settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [hook]}]}}));
    let pids = || sandbox.read("pids").lines().map(str::to_owned).collect::<Vec<_>>();
    let mut terminal = TestTerminal::sized(&sandbox, &[], 110, 30);
    terminal.wait_until_ready().keys("say one\r").wait_for_new_text("count 1");
    terminal.wait_until_ready().keys("say two\r").wait_for_new_text("count 2");
    terminal.wait_until_ready().keys("/hooks panel\r").wait_for_new_text("runs as process");
    terminal.wait_for_new_text("started once, 2 answered, 0 too late");
    terminal.keys("\x1b").wait_for_new_text(COMPOSER);
    assert_eq!(pids().len(), 1);
    sandbox.script("count.sh", &worker("another count"));
    terminal.wait_until_ready().keys("say three\r").wait_for_new_text("another count 1");
    terminal.wait_until_ready();
    assert_eq!(pids().len(), 2);
    hookwright_testkit::wait_until("the first is gone", || !hookwright_testkit::is_running(&pids()[0]));
    terminal.keys("/hooks disable counter\r").wait_for_new_text("disabled hook `counter` in");
    hookwright_testkit::wait_until("the second is gone", || !hookwright_testkit::is_running(&pids()[1]));
}

/// A guard whose worker is given up no longer guards: the screen shows it, and no mode skips approval.
#[test]
#[cfg(unix)]
fn a_guard_whose_worker_is_given_up_is_not_armed() {
    let sandbox = sandbox();
    let command = sandbox.script("crash.sh", "read -r line; echo x >> count; exit $((20 + $(wc -l < count)))");
    let hook = json!({"type": "worker", "name": "crasher", "guard": true, "command": command});
    sandbox.settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [hook]}]}}));
    let mut terminal = TestTerminal::sized(&sandbox, &["--yolo"], 110, 30);
    terminal.wait_until_ready();
    for at in 1..=5 {
        terminal
            .wait_until_ready()
            .keys(&format!("say {at}\r"))
            .wait_for_new_text(&format!("ended with code {}", 20 + at));
    }
    terminal.wait_for_new_text("1 guard not armed");
    terminal.wait_for_new_text("the approval mode is default from now on, not yolo");
    sandbox.script("crash.sh", "cat > /dev/null; sleep 60");
    terminal.wait_until_gone("1 guard not armed");
}

#[test]
fn switching_acts_at_once() {
    let sandbox = sandbox();
    let command = sandbox.script("no.sh", "echo no >&2; exit 2");
    sandbox.settings(
        &json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "name": "wall", "command": command}]}]}}),
    );
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("say one\r").wait_for_new_text("Agent execution blocked: no");
    terminal.wait_until_ready().keys("/hooks disable wall\r").wait_for_new_text("disabled hook `wall` in");
    terminal.wait_until_ready().keys("say two\r").wait_for_new_text("\ntwo");
    terminal.wait_until_ready().keys("/hooks list\r").wait_for_new_text("disabled: in this session");
    terminal.wait_until_ready().keys("/hooks disable nobody\r").wait_for_new_text("no hook is called `nobody`");
}

#[test]
fn changed_settings_are_picked_up_and_broken_ones_are_not() {
    let sandbox = sandbox();
    sandbox.settings(&json!({}));
    let command = sandbox.script("no.sh", "echo no >&2; exit 2");
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready();
    sandbox.settings(
        &json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "name": "late", "command": command}]}]}}),
    );
    terminal.wait_for_new_text("added late on BeforeAgent (project)");
    terminal.wait_until_ready().keys("say one\r").wait_for_new_text("Agent execution blocked: no");
    sandbox.write(".gemini/settings.json", "{ \"hooks\": ");
    terminal.wait_for_new_text("is broken; the hooks stay");
    terminal.wait_until_ready();
    terminal.blank();
    terminal.keys("say two\r").wait_for_new_text("Agent execution blocked: no");
    sandbox.write(".gemini/hooks/no.sh", "#!/bin/sh\nexit 0 # harmless now\n");
    sandbox.settings(
        &json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "name": "late", "command": command}]}]}}),
    );
    terminal.wait_for_new_text("has changed");
    terminal.wait_until_ready().keys("say three\r").wait_for_new_text("\nthree");
}

#[test]
fn a_new_folder_is_asked_about_first() {
    let sandbox = sandbox().untrusted();
    let command = sandbox.script("no.sh", "echo no >&2; exit 2");
    sandbox.settings(
        &json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "name": "wall", "command": command}]}]}}),
    );
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_for_new_text("Do you want to trust this folder?");
    terminal.keys("3");
    terminal.wait_until_ready().keys("say free\r").wait_for_new_text("\nfree");
    terminal.wait_until_ready().keys("\x04");
    terminal.wait_for_exit();
    let _ = std::fs::remove_file(sandbox.home().join(".gemini/trustedFolders.json"));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_for_new_text("Do you want to trust this folder?");
    terminal.keys("1");
    terminal.wait_until_ready().keys("say caught\r").wait_for_new_text("Agent execution blocked: no");
    terminal.wait_until_ready().keys("\x04");
    terminal.wait_for_exit();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    assert!(!terminal.wait_until_ready().screen().contains("Do you want to trust"));
}

#[test]
fn changed_policies_are_picked_up_and_broken_ones_are_not() {
    let sandbox = sandbox();
    let directory = sandbox.home().join(".gemini/policies");
    std::fs::create_dir_all(&directory).unwrap();
    // Replaced in one step, so that a half-written change is never seen.
    let write = |decision: &str| {
        let text =
            format!("[[rule]]\ncommandPrefix = \"touch\"\ndecision = \"{decision}\"\ndenyMessage = \"first word\"\n");
        std::fs::write(sandbox.sibling_path("new"), text).unwrap();
        std::fs::rename(sandbox.sibling_path("new"), directory.join("p.toml")).unwrap();
    };
    write("allow");
    let mut terminal = TestTerminal::start(&sandbox, &["-y"]);
    terminal.wait_until_ready();
    write("deny");
    terminal.wait_for_new_text("policies/p.toml");
    terminal.wait_until_ready().keys("call run_shell_command {\"command\": \"touch ran\"}\r");
    terminal.wait_for_new_text("first word");
    write("nonsense");
    terminal.wait_for_new_text("a policy is broken; the rules stay as they were");
    terminal.wait_until_ready();
    terminal.blank();
    terminal.keys("call run_shell_command {\"command\": \"touch again\"}\r").wait_for_new_text("first word");
    terminal.wait_until_ready();
    assert!(!sandbox.has_file("ran") && !sandbox.has_file("again"));
}

#[test]
fn the_agents_change_of_a_guard_is_asked_about_at_once() {
    let sandbox = sandbox();
    let command = sandbox.script("guard.sh", "if grep -q forbidden; then echo 'first words' >&2; exit 2; fi");
    let hook = json!({"type": "command", "name": "guard", "command": command});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [hook]}]}}));
    let mut terminal = TestTerminal::start(&sandbox, &["-y"]);
    let change = |to: &str| {
        format!(
            "call run_shell_command {{\"command\": \"sed -i 's/[a-z]* words/{to} words/' .gemini/hooks/guard.sh\"}}\r"
        )
    };
    let forbidden = "call run_shell_command {\"command\": \"echo forbidden > made\"}\r";
    terminal
        .wait_until_ready()
        .keys(&change("second"))
        .wait_for_new_text("The agent changed what your guards are made of");
    terminal.wait_for_new_text(".gemini/hooks/guard.sh was changed while the agent worked");
    terminal.wait_for_new_text("echo 'second words'");
    // A key that approves a call does not trust a change.
    terminal.keys("y").keys("\x1b");
    terminal.wait_until_ready().keys(forbidden).wait_for_new_text("hook guard: did not run");
    terminal.wait_until_ready();
    terminal.blank();
    // Showing the changes trusts nothing.
    terminal.keys("/hooks trust\r").wait_for_new_text("/hooks trust NAME trusts one hook");
    terminal.wait_until_ready().keys(forbidden).wait_for_new_text("hook guard: did not run");
    terminal
        .wait_until_ready()
        .keys("/hooks trust guard\r")
        .wait_for_new_text(".gemini/hooks/guard.sh is trusted now, with the agent's changes");
    terminal.wait_until_ready().keys(forbidden).wait_for_new_text("Tool execution blocked: second words");
    // The untrusted change has ended yolo mode.
    terminal.wait_until_ready().keys(&change("third")).wait_for_new_text("Allow Shell?");
    terminal.keys("1").wait_for_new_text("echo 'third words'");
    terminal.keys("2");
    terminal.wait_until_ready().keys(forbidden).wait_for_new_text("Tool execution blocked: third words");
    // Changes by the user's own command are the user's.
    terminal
        .wait_until_ready()
        .keys("!sed -i 's/[a-z]* words/fourth words/' .gemini/hooks/guard.sh; echo $((40 + 2))\r")
        .wait_for_new_text("42");
    terminal.wait_until_ready().keys(forbidden).wait_for_new_text("Tool execution blocked: fourth words");
    assert!(!sandbox.has_file("made"));
}

/// Starts a session after another session's agent has run this command, and trusts nothing of it.
fn after_an_agent_ran(sandbox: &Sandbox, command: &str) -> TestTerminal {
    let call = json!({"command": command});
    let replay = sandbox.replay(&ReplayBuilder::new().calls("run_shell_command", call).says("ok"));
    sandbox.run(&["-p", "go", "-y", "--fake-responses", &replay]).expect_exit_code(0);
    let mut terminal = TestTerminal::start(sandbox, &["-y"]);
    terminal.wait_for_new_text("Trust the changes that an agent made to your guards?");
    terminal.wait_for_new_text("3. Trust it");
    terminal.keys("2");
    terminal
}

#[test]
fn changes_by_an_earlier_sessions_agent_are_asked_about_before_the_next_session() {
    let sandbox = sandbox();
    let command = sandbox.script("guard.sh", "if grep -q forbidden; then echo 'guarded' >&2; exit 2; fi");
    let hook = json!({"type": "command", "name": "guard", "command": command});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [hook]}]}}));
    let mut terminal = after_an_agent_ran(&sandbox, "sed -i 's/exit 2/exit 0/' .gemini/hooks/guard.sh");
    terminal.wait_until_ready();
    terminal.wait_for_new_text("an agent's changes to guards wait for your trust");
    let forbidden = "call run_shell_command {\"command\": \"echo forbidden > made\"}\r";
    terminal.keys(forbidden).wait_for_new_text("hook guard: did not run");
    terminal.wait_until_ready();
    assert!(!sandbox.has_file("made"));
    // It does not run as a canary either.
    terminal.keys("/hooks panel\r").wait_for_new_text("Hooks 1/1");
    terminal.keys("c").wait_for_new_text("canary: guard was not fired");
}

#[test]
fn a_guard_that_an_earlier_sessions_agent_took_away_is_missed_until_that_is_trusted() {
    for command in [
        "echo {} > .gemini/settings.json",
        "mv .gemini g",
        "sed -i s/run_shell_command/nothing/ .gemini/settings.json",
        "mkdir -p ~/.gemini; echo '{\"hooksConfig\": {\"disabled\": [\"watchman\"]}}' > ~/.gemini/settings.json",
    ] {
        let sandbox = sandbox();
        let hook = json!({"type": "command", "name": "watchman", "command": "grep -q forbidden && exit 2; exit 0"});
        sandbox.settings(&json!({"hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [hook]}]}}));
        let mut terminal = after_an_agent_ran(&sandbox, command);
        terminal.wait_for_new_text("hook watchman on BeforeTool was removed or changed by an agent");
        terminal.wait_until_ready();
        let forbidden = "call run_shell_command {\"command\": \"echo forbidden > made\"}\r";
        terminal.keys(forbidden).wait_for_new_text("hook watchman: did not run");
        terminal.wait_until_ready();
        assert!(!sandbox.has_file("made"), "{command}");
        // The user trusts the removal in another terminal, and the hook no longer counts as missing.
        sandbox.run(&["hooks", "trust", "--all"]).expect_exit_code(0);
        terminal.wait_for_new_text("hook watchman is no longer missing");
    }
}

#[test]
fn the_question_of_trust_lists_what_the_folder_brings() {
    let sandbox = sandbox().untrusted();
    let hook = json!({"type": "command", "name": "greeter", "command": "echo hi"});
    sandbox.settings(&json!({
        "hooks": {"BeforeAgent": [{"hooks": [hook]}]},
        "tools": {"allowed": ["run_shell_command(ls)"]},
        "mcpServers": {"helper": {"command": "./server.sh"}},
    }));
    let mut terminal = TestTerminal::sized(&sandbox, &[], 120, 30);
    terminal.wait_for_new_text("Do you want to trust this folder?");
    terminal.wait_for_new_text("hooks: greeter on BeforeAgent, which runs `echo hi`");
    terminal.wait_for_new_text("tools.allowed: run_shell_command(ls)");
    terminal.wait_for_new_text("mcpServers: helper (`./server.sh`)");
    // Changes that were listed are not announced again.
    terminal.keys("1");
    terminal.wait_until_ready();
    assert!(!terminal.everything().contains("this project's tools.allowed"));
}

#[test]
fn the_panel_cuts_no_matcher_lays_json_out_and_keeps_words_with_their_hook() {
    let sandbox = sandbox();
    let command =
        sandbox.script("seen.sh", "cat > /dev/null; echo '{\"systemMessage\": \"seen\", \"decision\": \"allow\"}'");
    let hook = |name: &str| json!({"type": "command", "name": name, "command": command});
    let rule = json!({"type": "rule", "name": "wall", "decision": "deny", "reason": "not here"});
    let matcher = "write_file|replace|run_shell_command|web_fetch";
    sandbox.settings(&json!({"hooks": {
        "BeforeTool": [
            {"matcher": matcher, "hooks": [hook("first"), hook("first-of-all")]},
            {"matcher": "write_file", "hooks": [rule]},
        ],
    }}));
    let mut terminal = TestTerminal::sized(&sandbox, &["--yolo"], 150, 40);
    terminal
        .wait_until_ready()
        .keys("call run_shell_command {\"command\": \"true\"}\r")
        .wait_for_new_text("✓ run_shell_command");
    terminal.wait_until_ready().keys("/hooks panel\r").wait_for_new_text("Hooks 3/3");
    terminal.wait_for_new_text("type     command");
    terminal.wait_for_new_text("\n           \"systemMessage\": \"seen\"");
    let screen = terminal.wait_for_new_text("  \"tool_name\": \"run_shell_command\"");
    let row = screen.lines().find(|line| line.starts_with("› first")).unwrap();
    assert!(row.contains(matcher), "{screen}");
    terminal.keys("d").wait_for_new_text("disabled hook `first` in");
    terminal.keys("j");
    terminal.wait_until_gone("disabled hook `first` in");
    terminal.keys("k").wait_for_new_text("disabled hook `first` in");
    terminal.keys("jd").wait_for_new_text("disabled hook `first-of-all` in");
    terminal.keys("k");
    terminal.wait_until_gone("disabled hook `first-of-all` in");
    terminal.keys("/wall\r").wait_for_new_text("type     rule");
    terminal.keys("o").wait_for_new_text("hook wall");
    terminal.keys("q").wait_for_new_text("Hooks 1/3");
    terminal.keys("\x1b");
    terminal.wait_until_ready();
}
