//! The plugin that `agents install opencode` generates, under node: with the real bridge, and with programs that
//! misbehave.

use std::process::Command;

use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use hookwright_testkit::{Sandbox, has_program, report_skipped};
use serde_json::{Value, json};

use super::agents::{place, program};

/// Runs the generated plugin's functions under node, with another program in place of Hookwright.
fn plugin(sandbox: &Sandbox, hookwright: Option<&str>, test: &str) -> Option<Value> {
    if !has_program("node") {
        report_skipped("the_plugin_for_opencode", "there is no node");
        return None;
    }
    let file = sandbox.sibling_path("bin/hookwright");
    let _ = std::fs::remove_file(&file);
    if let Some(script) = hookwright {
        program(&sandbox.sibling_path("bin"), "hookwright", script);
    }
    let plugin = fs::read_to_string(sandbox.project().join(".opencode/plugin/hookwright.js")).unwrap();
    std::fs::write(sandbox.sibling_path("plugin.mjs"), plugin).unwrap();
    let main = format!(
        "import both, {{ Hookwright }} from './plugin.mjs'\n\
         const hooks = await Hookwright({{ directory: {project}, client: {{}} }})\n\
         const said = async (what) => {{ try {{ await what(); return null }} catch (error) {{ return error.message }} }}\n\
         const before = async (args) => {{ const output = {{ args }}; const no = await said(() => hooks['tool.execute.before']({{ tool: 'bash', sessionID: 's', callID: 'c' }}, output)); return {{ no, args: output.args, same: output.args === args }} }}\n\
         const after = async (text) => {{ const output = {{ title: 't', output: text, metadata: {{ x: 1 }} }}; await hooks['tool.execute.after']({{ tool: 'bash', sessionID: 's', callID: 'c' }}, output); return output }}\n\
         const prompt = async (text) => {{ const output = {{ parts: [{{ type: 'text', text }}] }}; const no = await said(() => hooks['chat.message']({{ sessionID: 's' }}, output)); return {{ no, text: output.parts[0].text }} }}\n\
         console.log(JSON.stringify(await (async () => {{ {test} }})()))\n",
        project = json!(sandbox.project()),
    );
    std::fs::write(sandbox.sibling_path("main.mjs"), main).unwrap();
    let node = Command::new("node")
        .arg(sandbox.sibling_path("main.mjs"))
        .env("PATH", path_with_node(sandbox))
        .output_in_time()
        .unwrap();
    assert!(node.status.success(), "{node:?}");
    Some(serde_json::from_slice(&node.stdout).unwrap())
}

fn path_with_node(sandbox: &Sandbox) -> String {
    format!("tools:{}:{}", sandbox.sibling_path("bin").display(), std::env::var("PATH").unwrap_or_default())
}

#[test]
fn the_plugin_for_opencode_does_what_is_answered_and_refuses_otherwise() {
    let sandbox = place();
    sandbox.run(&["agents", "install", "opencode", "--yes", "--project"]).expect_exit_code(0);
    let call = "return await before({ command: 'ls', x: 1 })";
    let Some(denied) = plugin(&sandbox, Some("echo '{\"decision\": \"deny\", \"reason\": \"not that\"}'"), call) else {
        return;
    };
    assert_eq!(denied["no"], "not that");
    let allowed = plugin(&sandbox, Some("echo '{\"decision\": \"allow\"}'"), call).unwrap();
    assert_eq!(allowed, json!({"no": null, "args": {"command": "ls", "x": 1}, "same": true}));
    let rewritten = "cat > \"$0.in\"; echo '{\"decision\": \"allow\", \"args\": {\"command\": \"true\"}}'";
    let rewritten = plugin(&sandbox, Some(rewritten), call).unwrap();
    assert_eq!(rewritten, json!({"no": null, "args": {"command": "true"}, "same": true}));
    let payload: Value =
        serde_json::from_str(&fs::read_to_string(sandbox.sibling_path("bin/hookwright.in")).unwrap()).unwrap();
    assert_eq!((&payload["hook_event_name"], &payload["tool_name"]), (&json!("tool.execute.before"), &json!("bash")));
    // Every failure is a denial with a message.
    for (script, words) in [
        (None, "is not installed on this machine"),
        (Some("exit 1"), "ended with 1"),
        (Some("echo words >&2; exit 2"), "words"),
        (Some("kill -9 $$"), "SIGKILL"),
        (Some("echo '{\"decision\": \"allow\"'"), "JSON"),
        (Some("echo log; echo '{\"decision\": \"allow\"}'"), "JSON"),
        (Some("true"), "JSON"),
        (Some("echo '{}'"), "not understood"),
        (Some("echo null"), "not understood"),
        (Some("echo '{\"decision\": \"ask\"}'"), "not understood"),
        (Some("yes x"), "does not end"),
    ] {
        let refused = plugin(&sandbox, script, call).unwrap();
        assert!(refused["no"].as_str().unwrap_or_default().contains(words), "{script:?} {refused}");
    }
    // A hookwright inside the project does not count.
    program(&sandbox.project().join("tools"), "hookwright", "echo '{\"decision\": \"allow\"}'");
    assert!(plugin(&sandbox, None, call).unwrap()["no"].as_str().unwrap().contains("only inside of this project"));
    let hidden =
        plugin(&sandbox, Some("echo '{\"decision\": \"deny\", \"reason\": \"secret\"}'"), "return await after('k3y')")
            .unwrap();
    assert_eq!(hidden, json!({"title": "t", "output": "secret", "metadata": {}}));
    let more = "echo '{\"decision\": \"allow\", \"context\": \"<b>\"}'";
    let told = plugin(&sandbox, Some(more), "return [await after('x'), await prompt('hi')]").unwrap();
    assert_eq!(told[0]["output"], "x\n\n<hook_context>&lt;b&gt;</hook_context>");
    assert_eq!(told[1], json!({"no": null, "text": "hi\n\n<hook_context>&lt;b&gt;</hook_context>"}));
}

#[test]
fn the_plugin_for_opencode_and_the_bridge_understand_each_other() {
    let sandbox = place();
    let guard = sandbox.script("guard.sh", "grep -q forbidden && { echo 'not that' >&2; exit 2; }; exit 0");
    sandbox.settings(
        &json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": guard, "guard": true}]}]}}),
    );
    sandbox.run(&["agents", "install", "opencode", "--yes", "--project"]).expect_exit_code(0);
    let real = format!(
        "export HOME='{}'; export GEMINI_CLI_TRUST_WORKSPACE=true GEMINI_CLI_SYSTEM_SETTINGS_PATH=\"$HOME/system-settings.json\"; exec '{}' \"$@\"",
        sandbox.home().display(),
        env!("CARGO_BIN_EXE_hookwright")
    );
    let calls = "return [await before({ command: 'touch forbidden' }), await before({ command: 'touch fine' }), await prompt('hi'), (await after('x')).output]";
    let Some(said) = plugin(&sandbox, Some(&real), calls) else { return };
    assert!(said[0]["no"].as_str().unwrap().contains("not that"), "{said}");
    assert_eq!(said[1]["no"], Value::Null, "{said}");
    assert_eq!((&said[2]["no"], &said[3]), (&Value::Null, &json!("x")), "{said}");
}

/// The form for opencode 2, as its documentation describes it: a default export with `id` and `setup`.
#[test]
fn the_plugin_has_a_form_for_opencode_2() {
    let sandbox = place();
    sandbox.run(&["agents", "install", "opencode", "--yes", "--project"]).expect_exit_code(0);
    let hooks = "const found = {}; const hook = (domain) => async (name, handler) => { found[domain + name] = handler }; \
                 await both.setup({ location: { directory: process.cwd() }, tool: { hook: hook('tool.') }, permission: { hook: hook('permission.') } });";
    let calls = format!(
        "{hooks} const event = {{ tool: 'shell', sessionID: 's', id: 'c', input: {{ command: 'ls' }} }}; \
         const no = await said(() => found['tool.execute.before'](event)); \
         const asked = {{ action: 'shell', resources: ['ls'], effect: 'allow' }}; await found['permission.evaluate'](asked); \
         const after = {{ ...event, status: 'completed', result: {{ content: [{{ type: 'text', text: 'out' }}] }} }}; \
         await found['tool.execute.after'](after); \
         return {{ id: both.id, server: both.server === Hookwright, no, input: event.input, effect: asked.effect, result: after.result.content }}"
    );
    let deny = "cat > \"$0.in\"; echo '{\"decision\": \"deny\", \"reason\": \"not that\"}'";
    let Some(denied) = plugin(&sandbox, Some(deny), &calls) else { return };
    assert_eq!(
        denied,
        json!({"id": "hookwright", "server": true, "no": "not that", "input": {"command": "ls"}, "effect": "deny", "result": "not that"})
    );
    let payload: Value =
        serde_json::from_str(&fs::read_to_string(sandbox.sibling_path("bin/hookwright.in")).unwrap()).unwrap();
    assert_eq!((&payload["tool_name"], &payload["tool_input"]), (&json!("bash"), &json!({"command": "ls"})));
    let rewritten =
        plugin(&sandbox, Some("echo '{\"decision\": \"allow\", \"args\": {\"command\": \"true\"}}'"), &calls).unwrap();
    assert_eq!((&rewritten["no"], &rewritten["input"]), (&Value::Null, &json!({"command": "true"})), "{rewritten}");
    assert_eq!(rewritten["effect"], "allow");
    let failed = plugin(&sandbox, None, &calls).unwrap();
    assert!(failed["no"].as_str().unwrap().contains("is not installed on this machine"), "{failed}");
    assert_eq!(failed["effect"], "deny");
    // Opencode 1 calls `setup` too, with a context that has no tools.
    let quiet = plugin(&sandbox, None, "return [await said(() => both.setup({ agent: {} }))]").unwrap();
    assert_eq!(quiet, json!([null]));
}
