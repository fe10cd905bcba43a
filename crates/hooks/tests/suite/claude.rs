//! Hooks that were written for Claude Code, run as they are.

use hookwright_hooks::{
    AfterAgent, AfterAgentVerdict, BeforeToolVerdict, EventKind, FileKind, HookEngine, Layer, Registry, RunContext,
    Source, SubAgent, parse_layer,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::fixture::{
    EngineFixture, assert_proceeds, deny_reason, environment, short_grace_limits, tool_call, tool_call_of,
    with_hang_timeout,
};

/// The most common form of a public guard: it checks `Bash` only, and exit code 2 denies.
const NO_RM_SCRIPT: &str = r#"#!/bin/sh
input=$(cat)
tool=$(printf %s "$input" | sed -n 's/.*"tool_name":"\([^"]*\)".*/\1/p')
event=$(printf %s "$input" | sed -n 's/.*"hook_event_name":"\([^"]*\)".*/\1/p')
[ "$event" = PreToolUse ] && [ "$tool" = Bash ] || exit 0
case $input in *'rm -rf /'*) echo "BLOCKED: rm -rf /" >&2; exit 2 ;; esac
exit 0
"#;

/// The next most common form: a log line, and then a JSON object.
const NO_FORCE_SCRIPT: &str = r#"#!/bin/sh
input=$(cat)
echo "force-push guard 1.2"
case $input in
*'"tool_name":"Bash"'*'git push'*--force*)
  printf '%s\n' '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no force"}}' ;;
esac
"#;

/// The third form: it checks a path.
const NO_ENV_SCRIPT: &str = r#"#!/bin/sh
path=$(sed -n 's/.*"file_path":"\([^"]*\)".*/\1/p')
case $path in
"$CLAUDE_PROJECT_DIR"/.env*|/*/.env) printf '{"decision":"block","reason":"%s is secret"}' "$path" ;;
esac
"#;

fn claude_hook(command: &str) -> Value {
    json!({"type": "command", "name": "h", "command": command, "dialect": "claude"})
}

fn shell_call(command: &str) -> hookwright_hooks::BeforeTool<'static> {
    tool_call_of("run_shell_command", json!({"command": command}))
}

/// Returns an engine for a settings file of Claude Code.
fn engine_with_claude_settings(world: &EngineFixture, hooks: Value) -> HookEngine {
    let text = json!({"hooks": hooks}).to_string();
    let layer = Layer::new(Source::Project, "settings.json".as_ref(), &text).with_kind(FileKind::Claude);
    let declared = parse_layer(&layer);
    assert_eq!(declared.diagnostics, []);
    let builder =
        HookEngine::builder(Registry::new(vec![declared])).session(world.session()).environment(environment());
    builder.limits(short_grace_limits()).build()
}

#[tokio::test]
async fn guards_that_hold_under_claude_code_hold_here() {
    let world = EngineFixture::with_dir_name("a project");
    for (name, text) in [("no-rm", NO_RM_SCRIPT), ("no-force", NO_FORCE_SCRIPT), ("no-env", NO_ENV_SCRIPT)] {
        world.write_executable(&format!(".claude/hooks/{name}.sh"), text);
    }
    let hook =
        |name: &str| json!({"type": "command", "command": format!("\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/{name}.sh")});
    let engine = engine_with_claude_settings(
        &world,
        json!({"PreToolUse": [
            {"matcher": "Bash", "hooks": [hook("no-rm"), hook("no-force")]},
            {"matcher": "Edit|MultiEdit|Write|Read", "hooks": [hook("no-env")]},
        ]}),
    );
    assert_eq!(deny_reason(&with_hang_timeout(engine.fire(&shell_call("rm -rf /"))).await), "BLOCKED: rm -rf /");
    assert_eq!(deny_reason(&with_hang_timeout(engine.fire(&shell_call("git push --force origin"))).await), "no force");
    for (tool, args) in [
        ("write_file", json!({"file_path": ".env", "content": "x"})),
        ("replace", json!({"file_path": "./a/../.env.local", "old_string": "a", "new_string": "b"})),
        ("read_file", json!({"file_path": ".env"})),
        ("read_many_files", json!({"include": ["src/x", ".env"]})),
    ] {
        let outcome = with_hang_timeout(engine.fire(&tool_call_of(tool, args))).await;
        assert!(deny_reason(&outcome).ends_with("is secret"), "{tool}");
    }
    assert_proceeds(&with_hang_timeout(engine.fire(&shell_call("ls"))).await);
    assert_proceeds(
        &with_hang_timeout(engine.fire(&tool_call_of("write_file", json!({"file_path": "a", "content": "x"})))).await,
    );
    assert_proceeds(&with_hang_timeout(engine.fire(&tool_call_of("glob", json!({"pattern": ".env"})))).await);
}

#[tokio::test]
async fn a_failing_guard_in_claude_dialect_denies() {
    let world = EngineFixture::new();
    for command in [
        "exit 1",
        "no-such-jq -r .tool_name",
        "printf '{\"hookSpecificOutput\":{\"permission_decision\":\"deny\"}}'",
        "printf '{\"hookSpecificOutput\":{\"permissionDecision\":\"de'",
        "printf '{\"decision\":\"block\"}\\nbye'",
        "kill -9 $$",
        "printf '{\"decision\":\"block\"}'; exit 1",
    ] {
        let mut hook = claude_hook(command);
        assert_proceeds(&world.run_hook(hook.clone()).await);
        hook["guard"] = true.into();
        assert!(!deny_reason(&world.run_hook(hook).await).is_empty(), "{command}");
    }
}

#[tokio::test]
async fn a_program_with_arguments_gets_just_these() {
    let world = EngineFixture::with_dir_name("it's $HOME `here`");
    world.write("show args.sh", "cat >/dev/null; printf '<%s>' \"$@\" >&2; exit 2\n");
    let args = json!([
        "${CLAUDE_PROJECT_DIR}/show args.sh",
        "a b",
        "it's",
        "$(touch gone)",
        "`touch gone`",
        "",
        "\"",
        "\\",
        "*",
        "x\ny"
    ]);
    let hook = json!({"type": "command", "command": "sh", "args": args, "dialect": "claude"});
    let outcome = world.run_hook(hook).await;
    assert_eq!(deny_reason(&outcome), "<a b><it's><$(touch gone)><`touch gone`><><\"><\\><*><x\ny>");
    assert!(!world.path("gone").exists());
    // A bare interpreter would read its input as a script.
    let input = tool_call_of("run_shell_command", json!({"command": "\"}\ntouch gone\n{\""}));
    let hook = json!({"type": "command", "command": "sh", "args": ["-c", "exit 0"], "dialect": "claude"});
    let engine = world.engine_with_hooks(EventKind::BeforeTool, json!([hook])).build();
    assert_proceeds(&with_hang_timeout(engine.fire(&input)).await);
    assert!(!world.path("gone").exists());
}

#[tokio::test]
async fn a_claude_hook_gets_its_input_and_environment() {
    let world = EngineFixture::new();
    let script = "cat >told; printf '%s %s' \"$CLAUDE_CODE_SESSION_ID\" \"$CLAUDE_PROJECT_DIR\" >env";
    assert_proceeds(&world.run_hook(claude_hook(script)).await);
    let told: Value = serde_json::from_str(&world.read("told")).unwrap();
    assert_eq!((&told["tool_name"], &told["tool_input"]), (&json!("Bash"), &json!({"command": "ls"})));
    assert_eq!(world.read("env"), format!("session-1 {}", world.dir().display()));
}

#[tokio::test]
async fn rewritten_arguments_are_what_runs() {
    let world = EngineFixture::new();
    let answer = json!({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "ls -l", "run_in_background": true}}});
    let outcome = world.run_hook(claude_hook(&super::fixture::print_command(answer))).await;
    let BeforeToolVerdict::Proceed { changes: Some(changes) } = outcome.verdict else {
        panic!("{:?}", outcome.verdict)
    };
    assert_eq!(Value::Object(changes), json!({"command": "ls -l", "is_background": true}));
}

#[tokio::test]
async fn a_condition_limits_the_calls() {
    let world = EngineFixture::new();
    let mut hook = claude_hook("echo ran >&2; exit 2");
    hook["if"] = "Bash(git push *)".into();
    let engine = world.engine_with_hooks(EventKind::BeforeTool, json!([hook])).build();
    assert_proceeds(&with_hang_timeout(engine.fire(&shell_call("ls"))).await);
    assert_eq!(deny_reason(&with_hang_timeout(engine.fire(&shell_call("cd x && git push -f"))).await), "ran");
    assert_eq!(
        deny_reason(&with_hang_timeout(engine.fire(&shell_call("eval \"$X\""))).await),
        "ran",
        "nobody can tell"
    );
    assert_proceeds(&with_hang_timeout(engine.fire(&tool_call_of("glob", json!({"pattern": "x"})))).await);
}

#[tokio::test]
async fn once_runs_once_per_session() {
    let world = EngineFixture::new();
    let mut hook = claude_hook("echo ran >&2; exit 2");
    hook["once"] = true.into();
    let engine = world.engine_with_hooks(EventKind::BeforeTool, json!([hook])).build();
    assert_eq!(deny_reason(&with_hang_timeout(engine.fire(&tool_call())).await), "ran");
    assert_proceeds(&with_hang_timeout(engine.fire(&tool_call())).await);
    engine.set_session(hookwright_hooks::Session { id: "another".into(), ..world.session() });
    assert_eq!(deny_reason(&with_hang_timeout(engine.fire(&tool_call())).await), "ran");
}

#[tokio::test]
async fn stop_hooks_of_session_and_sub_agent_are_separate() {
    let world = EngineFixture::new();
    let hook = |name: &str| json!([{"hooks": [{"type": "command", "command": format!("printf '{{\"decision\":\"block\",\"reason\":\"{name}\"}}'")}]}]);
    let engine = engine_with_claude_settings(&world, json!({"Stop": hook("own"), "SubagentStop": hook("sub")}));
    let event = AfterAgent { prompt: "p".into(), prompt_response: "r".into(), stop_hook_active: false };
    let agent = SubAgent { name: "scout".into(), id: "scout-1".into(), transcript_path: "/t".into() };
    let inside = RunContext { agent: Some(agent.into()), ..RunContext::default() };
    for (belongs, expected) in [(RunContext::default(), "own"), (inside, "sub")] {
        let outcome = with_hang_timeout(engine.fire_in_context(&event, &belongs, &CancellationToken::new())).await;
        let AfterAgentVerdict::Retry { reason, .. } = &outcome.verdict else { panic!("{:?}", outcome.verdict) };
        assert_eq!(reason, expected);
    }
}
