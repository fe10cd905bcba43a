//! Policies with the real binary: no spelling bypasses a deny, only trusted files can loosen, and `policy …` names the
//! rule that decides.

use crate::sandbox;
use hookwright_testkit::{ProgramRun, ReplayBuilder, Sandbox};
use serde_json::json;

const NO_RM: &str =
    "[[rule]]\ncommandPrefix = \"rm\"\ndecision = \"deny\"\npriority = 100\ndenyMessage = \"keep it\"\n";
const ASK_TOUCH: &str = "[[rule]]\ncommandPrefix = \"touch\"\ndecision = \"ask_user\"\n";

fn user_policy(sandbox: &Sandbox, name: &str, text: &str) {
    let directory = sandbox.home().join(".gemini/policies");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join(name), text).unwrap();
}

fn shell(sandbox: &Sandbox, command: &str, more: &[&str]) -> ProgramRun {
    let replay = ReplayBuilder::new().calls("run_shell_command", json!({"command": command})).says("ok");
    let file = sandbox.replay(&replay);
    let args = ["-p", "hello", "--fake-responses", file.as_str(), "--approval-mode=yolo"];
    sandbox.run(&[&args, more].concat())
}

fn assert_contains(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in:\n{text}");
}

#[test]
fn no_spelling_gets_around_a_deny() {
    let sandbox = sandbox();
    user_policy(&sandbox, "rm.toml", NO_RM);
    for command in [
        "rm -rf x;",
        "true && rm -rf x",
        "echo $(rm -rf x)",
        "echo `rm -rf x`",
        "env rm -rf x",
        "sudo rm -rf x",
        "echo x | xargs rm -rf",
        "sh -c 'rm -rf x'",
        "/bin/rm -rf x",
        "command rm -rf x",
        "\\rm -rf x",
        "true\nrm -rf x",
        "{ rm -rf x; }",
        "nice -n 5 rm -rf x",
        "timeout 5 stdbuf -oL rm -rf x",
        "setsid rm -rf x",
        "busybox rm -rf x",
        "script -qc 'rm -rf x' /dev/null",
        "flock lock rm -rf x",
        "watch -n 1 rm -rf x",
        "find x -exec rm {} +",
        "git -c alias.x='!rm -rf x' x",
        "ssh localhost rm -rf x",
        "bash /dev/stdin <<< 'rm -rf x'",
        "compgen -C 'rm -rf x'",
        "prlimit --nofile=100 rm -rf x",
        "split --filter='rm -rf x' x",
        "test -v 'a[$(rm -rf x)]'",
        "printf -v 'a[$(rm -rf x)]' y",
        "mapfile -C 'rm -rf x #' -c 1 < x",
        "/lib64/ld-linux-x86-64.so.2 /bin/rm -rf x",
        "sg root 'rm -rf x'",
        "let 'a[$(rm -rf x)]=1'",
        "declare -i z='b[$(rm -rf x)]'",
    ] {
        sandbox.write("x", "");
        let run = shell(&sandbox, command, &[]).expect_exit_code(0);
        assert_contains(&run.stderr, "Tool execution denied by policy: keep it");
        assert!(sandbox.has_file("x"), "{command}");
    }
    // What only the running shell knows may be denied: such a command needs approval, and there is no user. So does a
    // command that another language may run or replace. A deny of what it may run holds, too.
    for command in [
        "X=rm; $X -rf x",
        "awk 'BEGIN{system(\"rm x\")}'",
        "perl -e 'unlink \"x\"'",
        "find x -delete",
        "hash -p /bin/rm foo; foo -rf x",
        "make -f - <<< 'a:;rm -rf x'",
        "cp /bin/rm foo; ./foo -rf x",
        "sed '1e rm x' .gemini/settings.json",
    ] {
        let run = shell(&sandbox, command, &[]).expect_exit_code(0);
        let refusals =
            ["requires the user's approval, and no user is present", "Tool execution denied by policy: keep it"];
        assert!(refusals.iter().any(|refusal| run.stderr.contains(refusal)), "{command}: {}", run.stderr);
        assert!(sandbox.has_file("x"), "{command}");
    }
    shell(&sandbox, "echo rm > ran", &[]).expect_exit_code(0);
    assert!(sandbox.has_file("ran"));
}

#[test]
fn an_ask_is_asked_in_yolo_too() {
    let sandbox = sandbox();
    sandbox.write("p/ask.toml", ASK_TOUCH);
    let run = shell(&sandbox, "touch ran", &["--policy", "p"]).expect_exit_code(0);
    assert_contains(&run.stderr, "ask.toml:1 (user, priority 0) requires the user's approval, and no user is present");
    // No flag overrides a rule, so none is suggested.
    assert!(!run.stderr.contains("--allowed-tools") && !run.stderr.contains("--approval-mode"), "{}", run.stderr);
    assert!(!sandbox.has_file("ran"));
    shell(&sandbox, "touch ran", &[]).expect_exit_code(0);
    assert!(sandbox.has_file("ran"));
}

#[test]
fn a_projects_rules_count_where_it_is_trusted_and_only_tighten() {
    let sandbox = sandbox();
    sandbox.write(".gemini/policies/p.toml", NO_RM.to_owned() + "[[rule]]\ntoolName = \"*\"\ndecision = \"allow\"\n");
    sandbox.write("x", "");
    let run = shell(&sandbox, "rm x", &[]).expect_exit_code(0);
    assert_contains(&run.stderr, "keep it");
    assert_contains(&run.stderr, "p.toml:6:1: warning: a project can only tighten, so this `allow` is ignored");
    assert!(sandbox.has_file("x"));
    let sandbox = sandbox.untrusted();
    let list = sandbox.run(&["policy", "list"]).expect_exit_code(0);
    assert_contains(&list.stdout, "no policy rules are in force");
}

#[test]
fn an_extensions_rules_count() {
    let sandbox = sandbox();
    let extension = sandbox.home().join(".gemini/extensions/tidy");
    std::fs::create_dir_all(extension.join("policies")).unwrap();
    std::fs::write(extension.join("gemini-extension.json"), r#"{"name": "tidy", "version": "1.0.0"}"#).unwrap();
    std::fs::write(extension.join("policies/p.toml"), NO_RM).unwrap();
    assert_contains(&shell(&sandbox, "rm x", &[]).expect_exit_code(0).stderr, "keep it");
    let without = shell(&sandbox, "rm -f x", &["--extensions", "none"]).expect_exit_code(0);
    assert!(!without.stderr.contains("keep it"));
}

#[test]
fn a_broken_policy_stops_a_headless_session() {
    let sandbox = sandbox();
    user_policy(&sandbox, "broken.toml", "[[rule]]\ntoolName = 7\ndecision = \"deny\"\n");
    let run = shell(&sandbox, "touch ran", &[]).expect_exit_code(52);
    assert_contains(&run.stderr, "broken.toml:2:12");
    assert_contains(&run.stderr, "policy check");
    assert!(!sandbox.has_file("ran"));
    let file = sandbox.home().join(".gemini/policies/broken.toml");
    assert_contains(
        &sandbox.run(&["policy", "check", file.to_str().unwrap()]).expect_exit_code(1).stderr,
        "expected a text",
    );
    let args = ["policy", "explain", "write_file", "{}", "--mode", "yolo"];
    assert_contains(&sandbox.run(&args).expect_exit_code(3).stdout, "a broken policy file");
}

#[test]
fn options_before_the_sub_command_get_around_nothing() {
    let sandbox = sandbox();
    let rules = "[[rule]]\ncommandPrefix = [\"git push\", \"npm run\"]\ndecision = \"deny\"\n\
                 [[rule]]\ncommandPrefix = \"git log\"\ndecision = \"allow\"\n";
    user_policy(&sandbox, "git.toml", rules);
    let code = |command: &str| {
        let args = json!({"command": command}).to_string();
        sandbox.run(&["policy", "explain", "run_shell_command", &args]).code
    };
    for command in ["git -C x push", "git -c a=b push", "git --no-pager push -f", "npm --prefix x run build"] {
        assert_eq!(code(command), Some(2), "{command}");
    }
    // An allow rule covers only what is written.
    assert_eq!((code("git log"), code("git -C x log")), (Some(0), Some(3)));
}

#[test]
fn a_pattern_that_would_take_for_ever_denies_and_allows_nothing() {
    let sandbox = sandbox();
    let rule = |decision: &str, tool: &str| {
        format!("[[rule]]\ntoolName = \"{tool}\"\nargsPattern = '(?=x)(a|a|aa)*(?!y)!$'\ndecision = \"{decision}\"\n")
    };
    user_policy(&sandbox, "slow.toml", &[rule("deny", "write_file"), rule("allow", "replace")].concat());
    let args = json!({"content": format!("x{}", "a".repeat(5000)), "file_path": "b"}).to_string();
    let explain = |tool: &str| sandbox.run(&["policy", "explain", tool, &args, "--json"]);
    assert_eq!(explain("write_file").expect_exit_code(2).json()["decision"], "deny");
    assert_eq!(explain("replace").expect_exit_code(3).json()["decision"], "ask_user");
    let check = sandbox.home().join(".gemini/policies/slow.toml");
    let run = sandbox.run(&["policy", "check", check.to_str().unwrap()]).expect_exit_code(0);
    assert_contains(&run.stderr, "takes too long");
}

#[test]
fn explaining_names_the_hooks_that_would_be_asked_and_asks_them_on_demand() {
    let sandbox = sandbox();
    let deny = sandbox.script("deny.sh", "touch \"$GEMINI_PROJECT_DIR/asked\"; echo no way >&2; exit 2");
    let hook = json!({"type": "command", "name": "bouncer", "command": deny});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"matcher": "write_file", "hooks": [hook]}]}}));
    let explain = |args: &[&str]| sandbox.run(&[&["policy", "explain"], args].concat());
    let said = explain(&["write_file", "{}", "--mode", "yolo"]).expect_exit_code(0).stdout;
    assert_contains(&said, "hooks that would run first: bouncer (project)");
    assert!(!sandbox.has_file("asked"));
    assert_contains(&explain(&["read_file", "{}"]).expect_exit_code(0).stdout, "no hook would run");
    let fired = explain(&["write_file", "{}", "--mode", "yolo", "--fire", "--json"]).expect_exit_code(2).json();
    assert_eq!(
        (&fired["decision"], &fired["by"], &fired["message"]),
        (&json!("deny"), &json!("hooks"), &json!("no way"))
    );
    assert_eq!(fired["hooks"]["asked"][0], json!({"name": "bouncer", "source": "project"}));
    assert!(sandbox.has_file("asked"));
}

#[test]
fn explaining_names_what_decides() {
    let sandbox = sandbox();
    user_policy(&sandbox, "rm.toml", NO_RM);
    let explain = |args: &[&str]| sandbox.run(&[&["policy", "explain"], args].concat());
    let denied = explain(&["run_shell_command", r#"{"command": "ls; rm x"}"#, "--json"]).expect_exit_code(2).json();
    assert_eq!(
        (&denied["decision"], &denied["message"]),
        (&json!("deny"), &json!("Tool execution denied by policy: keep it"))
    );
    assert_contains(denied["by"].as_str().unwrap(), "rm.toml:1 (user, priority 100)");
    assert_contains(
        &explain(&["run_shell_command", r#"{"command": "ls"}"#]).expect_exit_code(3).stdout,
        "ask_user, by the approval mode default",
    );
    assert_contains(
        &explain(&["write_file", "{}", "--mode", "yolo"]).expect_exit_code(0).stdout,
        "allow, by the approval mode yolo",
    );
    explain(&["write_file", "[]"]).expect_exit_code(1);
    let rules = sandbox.run(&["policy", "list", "--json"]).expect_exit_code(0).json();
    assert_eq!((&rules["rules"][0]["tier"], &rules["rules"][0]["line"]), (&json!("user"), &json!(1)));
}

#[test]
fn settings_take_single_commands_away() {
    let sandbox = sandbox();
    sandbox.settings(&json!({"tools": {"exclude": ["run_shell_command(touch)"]}}));
    assert_contains(
        &shell(&sandbox, "true; touch ran", &[]).expect_exit_code(0).stderr,
        "tools.exclude excludes `touch`",
    );
    sandbox.settings(&json!({"tools": {"core": ["run_shell_command(echo)"]}}));
    assert_contains(
        &shell(&sandbox, "touch ran", &[]).expect_exit_code(0).stderr,
        "tools.core lists the commands that may run",
    );
    assert!(!sandbox.has_file("ran"));
    shell(&sandbox, "echo a > ran", &[]).expect_exit_code(0);
    assert!(sandbox.has_file("ran"));
}

#[test]
fn a_rule_about_an_unknown_tool_is_reported() {
    let sandbox = sandbox();
    let rule = "[[rule]]\ntoolName = \"write_flie\"\ndecision = \"deny\"\n";
    sandbox.write("p.toml", rule);
    let run = sandbox.run(&["policy", "check", "p.toml"]).expect_exit_code(0);
    assert_contains(&run.stderr, "no tool is called `write_flie`");
    assert_contains(&run.stderr, "p.toml:2:12");
    assert_contains(&run.stderr, "did you mean `write_file`?");
    user_policy(&sandbox, "p.toml", rule);
    assert_contains(&shell(&sandbox, "true", &[]).expect_exit_code(0).stderr, "no tool is called `write_flie`");
}

#[test]
fn every_command_begins_with_nothing() {
    let sandbox = sandbox();
    user_policy(
        &sandbox,
        "p.toml",
        "[[rule]]\ncommandPrefix = \"\"\ndecision = \"deny\"\ndenyMessage = \"none at all\"\n",
    );
    let run = shell(&sandbox, "touch made", &[]);
    assert_contains(&run.stderr, "none at all");
    assert!(!sandbox.has_file("made"));
    user_policy(&sandbox, "p.toml", "[[rule]]\ncommandPrefix = \"\"\ndecision = \"allow\"\n");
    assert_contains(&sandbox.run(&["policy", "list"]).stderr, "an empty prefix would allow every command");
}

/// A bad escape in a file that only allows something drops that file; where a rule could deny, no session starts.
#[test]
fn a_broken_policy_that_only_allows_is_left_out_aloud() {
    let sandbox = sandbox();
    user_policy(&sandbox, "rm.toml", NO_RM);
    user_policy(&sandbox, "git.toml", "[[rule]]\ncommandRegex = \"git \\s+log\"\ndecision = \"allow\"\n");
    let run = shell(&sandbox, "touch ran && rm -rf x", &[]).expect_exit_code(0);
    assert_contains(&run.stderr, "git.toml:2");
    assert_contains(&run.stderr, "the file has only allow rules, and none of them is used");
    assert!(!sandbox.has_file("ran"), "the other file's deny counts");
    user_policy(&sandbox, "git.toml", "[[rule]]\ncommandRegex = \"git \\s+push\"\ndecision = \"deny\"\n");
    shell(&sandbox, "touch ran", &[]).expect_exit_code(52);
}
