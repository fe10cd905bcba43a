//! `hookwright mcp add, remove, list, enable, disable`, and command names that are not prompts.

use crate::sandbox;
use hookwright_testkit::deadline::*;
use serde_json::json;

#[test]
fn help_is_for_people() {
    for (name, args) in [
        ("mcp", &["help", "mcp"][..]),
        ("add", &["mcp", "add", "-h"]),
        ("list", &["mcp", "list", "-h"]),
        ("auth", &["mcp", "auth", "-h"]),
    ] {
        insta::assert_snapshot!(format!("help_{name}"), sandbox().run(args).expect_exit_code(0).stdout);
    }
}

#[test]
fn adding_keeps_comments_and_says_what_counts() {
    let sandbox = sandbox();
    sandbox.write(".gemini/settings.json", "{\n  // mine\n  \"ui\": { \"hideTips\": true }, // kept\n}\n");
    sandbox
        .run(&["mcp", "add", "files", "npx", "-y", "pkg", ".", "-e", "TOKEN=a=b", "--timeout", "500"])
        .expect_exit_code(0);
    sandbox
        .run(&["mcp", "add", "docs", "https://h.example/mcp", "-H", "X-Key: s3cr3t:x", "--exclude-tools", "a, b"])
        .expect_exit_code(0);
    sandbox
        .run(&["mcp", "add", "-t", "sse", "old", "http://127.0.0.1:1/sse", "--description", "an old one"])
        .expect_exit_code(0);
    insta::assert_snapshot!(sandbox.read(".gemini/settings.json"));
    let again = sandbox.run(&["mcp", "add", "old", "sh", "--", "-c", "true"]).expect_exit_code(0);
    assert!(again.stderr.contains("replaced MCP server `old`"), "{}", again.stderr);
    sandbox.run(&["mcp", "remove", "old"]).expect_exit_code(0);
    let gone = sandbox.run(&["mcp", "remove", "old"]).expect_exit_code(1);
    assert!(gone.stderr.contains("the project settings have no MCP server `old`"), "{}", gone.stderr);
    let after = sandbox.read(".gemini/settings.json");
    assert!(after.contains("// mine") && after.contains("// kept") && !after.contains("\"old\""), "{after}");
}

#[test]
fn an_invalid_server_is_not_written() {
    let sandbox = sandbox();
    for (args, why) in [
        (&["a\nb", "x"][..], "control characters"),
        (&["", "x"], "can't be empty"),
        (&["a", "x", "--trust"], "--scope user"),
        (&["a", "x", "-H", "A: b"], "headers are for"),
        (&["a", "https://h", "-e", "A=b"], "variables are for"),
        (&["a", "https://h", "b"], "arguments are for"),
        (&["a", "x", "-t", "http"], "is not an http or https address"),
        (&["a", "x", "-e", "sec-ret"], "number 1 is not KEY=VALUE"),
        (&["a", "http://"], "should be an http or https address"),
        (&["a", "https://h:port/"], "should be an http or https address"),
    ] {
        let run = sandbox.run(&[&["mcp", "add"], args].concat()).expect_exit_code(1);
        assert!(run.stderr.contains(why) && !run.stderr.contains("sec-ret"), "{args:?}: {}", run.stderr);
    }
    assert!(!sandbox.has_file(".gemini/settings.json"));
    sandbox.write(".gemini/settings.json", "{\"mcpServers\": [{\"name\": \"a\", \"command\": \"x\"}]}");
    let run = sandbox.run(&["mcp", "add", "a", "x"]).expect_exit_code(1);
    assert!(run.stderr.contains("`mcpServers` is not an object"), "{}", run.stderr);
    let list = sandbox.run(&["mcp", "list", "--no-connect"]).expect_exit_code(0);
    assert!(list.stderr.contains(r#"write "mcpServers": { "a": { "command": "x" } }"#), "{}", list.stderr);
}

#[test]
fn two_at_once_are_both_there() {
    let sandbox = sandbox();
    let names: Vec<String> = (0..8).map(|at| format!("s{at}")).collect();
    let children: Vec<_> =
        names.iter().map(|name| sandbox.command(&["mcp", "add", name, "x"]).spawn().unwrap()).collect();
    for mut child in children {
        assert!(child.wait_in_time().unwrap().success());
    }
    let settings: serde_json::Value = serde_json::from_str(&sandbox.read(".gemini/settings.json")).unwrap();
    assert_eq!(settings["mcpServers"].as_object().unwrap().len(), names.len());
}

#[test]
fn lists_show_what_counts_and_no_secrets() {
    let sandbox = sandbox().env("MY_TOKEN", "hunter2hunter2");
    sandbox.user_settings(&json!({"mcpServers": {
        "files": {"command": "npx", "args": ["-y", "pkg", "--api-key", "hunter2", "$MY_TOKEN"], "env": {"KEY": "hunter2"}},
        "docs": {"url": "https://h.example/mcp?key=hunter2", "headers": {"X-Own": "hunter2 hunter2"}},
        "off": {"command": "x"}, "a\u{1b}[31m\nb": {"command": "x"}, "../../x y'\"$(z)": {"command": "x"},
        "wrong": {"args": []}}, "mcp": {"excluded": ["off"]}}));
    let list = sandbox.run(&["mcp", "list", "--no-connect"]).expect_exit_code(0);
    assert!(!format!("{list:?}").contains("hunter2"), "{list:?}");
    insta::assert_snapshot!("list", list.stdout);
    let json = sandbox.run(&["mcp", "list", "--no-connect", "--json"]).expect_exit_code(0);
    assert!(!json.stdout.contains("hunter2"), "{}", json.stdout);
    let json = json.json();
    let state = |name: &str| {
        let server = json.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
        (server["state"].as_str().unwrap().to_owned(), server["reason"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(state("off"), ("off".into(), "`mcp.excluded` lists it".into()));
    assert_eq!(state("wrong"), ("off".into(), "it has neither `command` nor `url`".into()));
}

#[test]
fn servers_are_switched_off_and_on_for_every_project() {
    let sandbox = sandbox();
    sandbox.run(&["mcp", "add", "a", "x", "-s", "user"]).expect_exit_code(0);
    sandbox.run(&["mcp", "disable", "A"]).expect_exit_code(0);
    let list = sandbox.run(&["mcp", "list", "--no-connect"]).expect_exit_code(0);
    assert!(list.stdout.contains("off: it is switched off"), "{}", list.stdout);
    let wrong = sandbox.run(&["mcp", "remove", "a"]).expect_exit_code(1);
    assert!(wrong.stderr.contains("--scope user"), "{}", wrong.stderr);
    assert!(!sandbox.has_file(".gemini/settings.json"));
    sandbox.run(&["mcp", "enable", "a"]).expect_exit_code(0);
    sandbox.run(&["mcp", "disable", "nobody"]).expect_exit_code(1);
}

#[test]
fn a_project_that_is_not_trusted_is_told_so() {
    let sandbox = sandbox().untrusted();
    let run = sandbox.run(&["mcp", "add", "a", "x"]).expect_exit_code(0);
    assert!(run.stderr.contains("it is not used here: this folder is not trusted"), "{}", run.stderr);
    for args in [&["mcp", "list", "--no-connect"][..], &["mcp", "list"], &["mcp", "test", "a"]] {
        let run = sandbox.run(args);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains("this folder is not trusted, so it is not started"), "{args:?}: {said}");
        assert!(run.stderr.contains("hint: trust the folder with"), "{args:?}: {said}");
    }
    let json = sandbox.run(&["mcp", "list", "--json"]).expect_exit_code(0).json();
    assert_eq!((&json[0]["name"], &json[0]["state"]), (&json!("a"), &json!("not trusted")));
}

#[test]
fn surprises_about_a_new_server_are_reported() {
    let sandbox = sandbox().env("SOME_URL", "http://127.0.0.1:1/mcp");
    let run = sandbox.run(&["mcp", "add", "my.server", "no-such-program-at-all"]).expect_exit_code(0);
    assert!(run.stderr.contains("there is no program `no-such-program-at-all` here"), "{}", run.stderr);
    assert!(run.stderr.contains("its tools are called mcp__my_server__TOOL"), "{}", run.stderr);
    let fine = sandbox.run(&["mcp", "add", "fine", "sh"]).expect_exit_code(0);
    assert!(!fine.stderr.contains("warning") && !fine.stderr.contains("called mcp__"), "{}", fine.stderr);
    // An address may consist of variables; it is checked when they are expanded.
    let later = sandbox.run(&["mcp", "add", "later", "-t", "http", "${SOME_URL}"]).expect_exit_code(0);
    assert!(!later.stderr.contains("is not used here"), "{}", later.stderr);
    let unset = sandbox.run(&["mcp", "add", "unset", "-t", "http", "${NOBODY_SETS_THIS}"]).expect_exit_code(0);
    assert!(unset.stderr.contains("NOBODY_SETS_THIS is not set"), "{}", unset.stderr);
}

#[test]
fn a_word_that_stands_for_a_command_is_never_sent_to_a_model() {
    let sandbox = sandbox();
    for words in [
        &["plugin", "list"][..],
        &["update"],
        &["link", "."],
        &["link", "../x"],
        &["-m", "x", "hooks", "list"],
        &["help", "me"],
    ] {
        let run = sandbox.run(words);
        assert!(matches!(run.code, Some(42 | 1)) && run.stdout.is_empty(), "{words:?}: {run:?}");
        assert!(run.stderr.contains("error:"), "{words:?}: {}", run.stderr);
    }
    let help = sandbox.run(&["help"]).expect_exit_code(0).stdout;
    assert!(help.contains("completions") && help.contains("doctor"), "{help}");
    sandbox.run(&["doctor"]).expect_exit_code(0);
    sandbox.run(&["extension", "list"]).expect_exit_code(0);
    sandbox.run(&["extension", "nonsense"]).expect_exit_code(1);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(sandbox.run(&["completions", shell]).expect_exit_code(0).stdout.contains("hookwright"), "{shell}");
    }
    let prompt = sandbox.run(&["say", "hello there"]).expect_exit_code(0);
    assert!(prompt.stdout.contains("hello there"), "{}", prompt.stdout);
}
