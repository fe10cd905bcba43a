//! `config`, `completions`, `man` and `version`: commands about the program and its settings.

use crate::sandbox;
use hookwright_testkit::Sandbox;
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use serde_json::json;

fn user_file(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.home().join(".gemini/settings.json")).unwrap_or_default()
}

#[test]
fn a_setting_is_set_shown_and_taken_back_and_comments_stay() {
    let sandbox = sandbox();
    let run = sandbox.run(&["config", "set", "model.name", "gemini-x"]).expect_exit_code(0);
    assert!(run.stderr.contains("`model.name` is \"gemini-x\""), "{}", run.stderr);
    assert_eq!(sandbox.run(&["config", "get", "model.name"]).expect_exit_code(0).stdout, "gemini-x\n");
    let path = sandbox.home().join(".gemini/settings.json");
    std::fs::write(&path, "{\n  // my model\n  \"model\": {\n    \"name\": \"a\", // for now\n  },\n}\n").unwrap();
    sandbox.run(&["config", "set", "model.name", "b"]).expect_exit_code(0);
    sandbox.run(&["config", "set", "ui.hideTips", "true"]).expect_exit_code(0);
    let text = user_file(&sandbox);
    assert!(text.contains("// my model") && text.contains("// for now") && text.contains("\"b\""), "{text}");
    let all = sandbox.run(&["config", "get", "--json"]).expect_exit_code(0).json();
    assert_eq!((&all["model.name"], &all["ui.hideTips"]), (&json!("b"), &json!(true)));
    sandbox.run(&["config", "unset", "model.name"]).expect_exit_code(0);
    let run = sandbox.run(&["config", "get", "model.name"]).expect_exit_code(0);
    assert!(run.stdout.is_empty() && run.stderr.contains("`model.name` is not set"), "{run:?}");
    assert!(user_file(&sandbox).contains("hideTips"));
    assert!(sandbox.run(&["config", "get", "--all"]).expect_exit_code(0).stdout.contains("tools.exclude = not set"));
}

#[test]
fn values_are_read_as_what_the_setting_holds() {
    let sandbox = sandbox();
    for (key, typed, value) in [
        ("model.name", "123", json!("123")),
        ("model.maxSessionTurns", "12", json!(12)),
        ("model.maxSessionTurns", "-1", json!(-1)),
        ("ui.hideTips", "false", json!(false)),
        ("tools.exclude", "run_shell_command, web_fetch", json!(["run_shell_command", "web_fetch"])),
        ("tools.exclude", "[\"a,b\"]", json!(["a,b"])),
        ("model.compressionThreshold", "0.25", json!(0.25)),
        ("hooksConfig.sessionEndGrace", "5000", json!(5000)),
        ("hooksConfig.required", "guard", json!(["guard"])),
    ] {
        sandbox.run(&["config", "set", key, typed]).expect_exit_code(0);
        let found = sandbox.run(&["config", "get", key, "--json"]).expect_exit_code(0).json();
        assert_eq!(found["value"], value, "{key} {typed}: {found}");
    }
}

#[test]
fn an_invalid_setting_is_not_written() {
    let sandbox = sandbox();
    for (key, value, words) in [
        ("model.nmae", "x", "did you mean `model.name`?"),
        ("hideTips", "true", "its name is `ui.hideTips`"),
        ("maxAgentRetries", "3", "did you mean `hooksConfig.maxAgentRetries`?"),
        ("banana", "x", "config get --all"),
        ("model", "x", "one of model.name"),
        ("ui", "x", "a group of settings"),
        ("mcpServers", "{}", "hookwright mcp add"),
        ("hooks.BeforeTool", "[]", "hookwright hooks new"),
        ("ui.hideTips", "maybe", "true or false"),
        ("model.maxSessionTurns", "many", "a whole number"),
        ("security.hooks.review", "never", "\"announce\" or \"ask\" or \"block\""),
        ("hooksConfig.onError", "maybe", "onError"),
        ("hooksConfig.maxParallel", "0", "maxParallel"),
        ("hooksConfig.verbose", "true", "no setting `hooksConfig.verbose`"),
    ] {
        let run = sandbox.run(&["config", "set", key, value]).expect_exit_code(1);
        assert!(run.stderr.contains(words), "{key} {value}: {}", run.stderr);
        assert_eq!(user_file(&sandbox), "", "{key} {value}");
    }
    let run = sandbox.run(&["config", "set", "ui.theme", "dark"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

#[test]
fn a_project_tightens_and_does_not_loosen() {
    let sandbox = sandbox();
    sandbox.user_settings(&json!({"model": {"maxSessionTurns": 10}, "security": {"hooks": {"review": "ask"}}}));
    let set = |key: &str, value: &str| sandbox.run(&["config", "set", key, value, "--scope", "workspace"]);
    for (key, value) in [
        ("security.hooks.review", "announce"),
        ("model.maxSessionTurns", "20"),
        ("telemetry.enabled", "true"),
        ("security.protectedPaths", "!.gemini"),
        ("hooksConfig.onUnknown", "allow"),
        ("ui.hideFooter", "true"),
    ] {
        let run = set(key, value).expect_exit_code(1);
        assert!(run.stderr.contains("a project can't"), "{key}: {}", run.stderr);
        assert!(!sandbox.has_file(".gemini/settings.json"), "{key}");
    }
    set("security.hooks.review", "block").expect_exit_code(0);
    set("model.maxSessionTurns", "5").expect_exit_code(0);
    assert_eq!(sandbox.run(&["config", "get", "model.maxSessionTurns"]).expect_exit_code(0).stdout, "5\n");
    let untrusted = sandbox.untrusted();
    let run = untrusted.run(&["config", "set", "tools.exclude", "glob", "--scope", "workspace"]).expect_exit_code(0);
    assert!(run.stderr.contains("not trusted"), "{}", run.stderr);
}

#[test]
fn a_broken_file_stays_as_it_is() {
    let sandbox = sandbox();
    sandbox.user_settings(&json!({}));
    let path = sandbox.home().join(".gemini/settings.json");
    std::fs::write(&path, "{ \"model\": ").unwrap();
    for args in [&["config", "set", "model.name", "x"][..], &["config", "unset", "model.name"]] {
        let run = sandbox.run(args).expect_exit_code(1);
        assert!(run.stderr.contains("was not changed"), "{}", run.stderr);
        assert_eq!(user_file(&sandbox), "{ \"model\": ");
    }
}

#[cfg(unix)]
#[test]
fn an_edited_file_counts_only_if_it_can_be_parsed() {
    let sandbox = sandbox();
    sandbox.user_settings(&json!({"model": {"name": "a"}}));
    let before = user_file(&sandbox);
    let editor = |script: &str| {
        let path = sandbox.sibling_path("editor.sh");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        hookwright_testkit::make_executable(&path);
        let mut command = sandbox.command(&["config", "edit"]);
        let child = command.env("EDITOR", path.to_str().unwrap()).spawn().unwrap();
        hookwright_testkit::finish(child)
    };
    let run = editor("printf '{ \"model\": ' > \"$1\"").expect_exit_code(1);
    assert_eq!(user_file(&sandbox), before);
    assert!(run.stderr.contains("your text is saved in"), "{}", run.stderr);
    editor("exit 3").expect_exit_code(1);
    assert_eq!(user_file(&sandbox), before);
    assert!(editor("true").expect_exit_code(0).stderr.contains("nothing has changed"));
    editor("printf '// mine\\n{\"model\": {\"name\": \"b\"}}\\n' > \"$1\"").expect_exit_code(0);
    assert_eq!(user_file(&sandbox), "// mine\n{\"model\": {\"name\": \"b\"}}\n");
    // Another program was quicker: its change stays.
    let other = format!(
        "printf '{{}}' > '{}/.gemini/settings.json'; echo '{{\"ui\": {{}}}}' > \"$1\"",
        sandbox.home().display()
    );
    let run = editor(&other).expect_exit_code(1);
    assert!(run.stderr.contains("in the meantime"), "{}", run.stderr);
    assert_eq!(user_file(&sandbox), "{}");
}

#[test]
fn paths_are_told() {
    let sandbox = sandbox();
    let user = sandbox.home().join(".gemini/settings.json").display().to_string();
    assert_eq!(sandbox.run(&["config", "path", "--scope", "user"]).expect_exit_code(0).stdout.trim(), user);
    let all = sandbox.run(&["config", "path"]).expect_exit_code(0).stdout;
    assert!(all.contains(&user) && all.contains("not there") && all.contains("project"), "{all}");
}

/// Returns the completions that a shell's script gets.
fn completed(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let index = words.len().to_string();
    let mut command = sandbox.command(&[&["--", "hookwright"], words].concat());
    command.env("HOOKWRIGHT_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", index).env("_CLAP_IFS", "\n");
    let run = hookwright_testkit::finish(command.spawn().unwrap()).expect_exit_code(0);
    let mut found: Vec<String> = run.stdout.lines().map(str::to_owned).collect();
    found.sort();
    found
}

#[test]
fn completions_know_hooks_sessions_commands_settings_and_examples() {
    let sandbox = sandbox();
    let hook = |name: &str| json!({"type": "command", "name": name, "command": "true"});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [
        hook("secret-scanner"), hook("$(touch stolen)"), hook("a b"), hook("x;y")]}]}}));
    sandbox.write(".gemini/commands/git/commit.toml", "prompt = \"x\"\n");
    sandbox.run(&["-p", "say hello", "--session-id", "my-session"]).expect_exit_code(0);
    let shown = completed(&sandbox, &["hooks", "show", ""]);
    assert!(shown.contains(&"secret-scanner".to_owned()), "{shown:?}");
    let dangerous = |word: &String| word.contains(['$', ' ', ';', '(']);
    assert!(!shown.iter().any(dangerous), "{shown:?}");
    assert_eq!(completed(&sandbox, &["hooks", "disable", "sec"]), ["secret-scanner"]);
    assert_eq!(completed(&sandbox, &["--resume", "my"]), ["my-session"]);
    assert_eq!(completed(&sandbox, &["-p", "/g"]), ["/git:commit"]);
    assert_eq!(completed(&sandbox, &["config", "set", "model.na"]), ["model.name"]);
    assert!(completed(&sandbox, &["hooks", "add", "rule-"]).len() >= 4);
    assert_eq!(completed(&sandbox, &["hooks", "fire", "BeforeT"]), ["BeforeTool", "BeforeToolSelection"]);
    assert!(completed(&sandbox, &["doc"]).contains(&"doctor".to_owned()));
    let untrusted = sandbox.untrusted();
    assert!(!completed(&untrusted, &["hooks", "show", ""]).contains(&"secret-scanner".to_owned()));
}

#[test]
fn every_shell_has_a_script_that_asks_the_program() {
    let sandbox = sandbox();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.run(&["completions", shell]).expect_exit_code(0).stdout;
        assert!(script.contains("HOOKWRIGHT_COMPLETE") && script.contains("hookwright"), "{shell}: {script}");
    }
    let bash = sandbox.run(&["completions", "bash"]).expect_exit_code(0).stdout;
    sandbox.write("completions.bash", &bash);
    if hookwright_testkit::has_program("bash") {
        let script = "source completions.bash; COMP_WORDS=(hookwright hooks li); COMP_CWORD=2; COMP_TYPE=9; \
                      _clap_complete_hookwright hookwright li hooks; echo \"${COMPREPLY[@]}\"";
        let folder = std::path::Path::new(env!("CARGO_BIN_EXE_hookwright")).parent().unwrap();
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        let output = std::process::Command::new("bash")
            .args(["--norc", "-c", script])
            .current_dir(sandbox.project())
            .env("PATH", path)
            .env("HOME", sandbox.home())
            .output_in_time()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "list", "{output:?}");
    } else {
        hookwright_testkit::report_skipped("every_shell_has_a_script_that_asks_the_program", "there is no bash");
    }
}

#[test]
fn manual_pages_are_made_for_every_command() {
    let sandbox = sandbox();
    let page = sandbox.run(&["man"]).expect_exit_code(0).stdout;
    assert!(page.contains(".TH hookwright 1") && page.contains("approval"), "{page}");
    sandbox.run(&["man", "pages"]).expect_exit_code(0);
    for name in ["hookwright", "hookwright-hooks", "hookwright-hooks-fire", "hookwright-config-set", "hookwright-mcp"] {
        let text = sandbox.read(&format!("pages/{name}.1"));
        assert!(text.contains(&format!(".TH {name} 1")), "{name}: {text}");
    }
    assert!(!sandbox.has_file("pages/hookwright-serve-demo-mcp.1"), "what is hidden has no page");
}

#[test]
fn the_version_says_where_it_runs() {
    let sandbox = sandbox();
    let version = sandbox.run(&["--version"]).expect_exit_code(0).stdout;
    assert!(version.starts_with(&format!("hookwright {} (", env!("CARGO_PKG_VERSION"))), "{version}");
    let platform = format!("{} {})", std::env::consts::OS, std::env::consts::ARCH);
    assert!(version.trim_end().ends_with(&platform), "{version}");
    assert_eq!(sandbox.run(&["version"]).expect_exit_code(0).stdout, version);
}
