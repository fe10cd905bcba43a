//! Features of single libraries: tests in their language, types, automatic start, plugins.

use std::process::Command;

use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use hookwright_testkit::{has_program, report_skipped};
use serde_json::json;

use super::language::{SdkLanguage, SdkProgram, before_tool};
use super::root;

#[test]
fn the_library_for_node_passes_its_own_tests() {
    run_in("the_library_for_node_passes_its_own_tests", "sdk/node", &["node", "--test", "tests/answers.test.js"]);
}

#[test]
fn the_library_for_python_passes_its_own_tests() {
    let tests = ["python3", "-B", "-m", "unittest", "discover", "tests"];
    run_in("the_library_for_python_passes_its_own_tests", "sdk/python", &tests);
}

/// The types accept valid code and reject invalid code.
#[test]
fn type_checkers_agree_with_the_types() {
    let test = "type_checkers_agree_with_the_types";
    run_in(test, "sdk/python", &["mypy", "--strict", "--cache-dir", "/dev/null", "hookwright_hook", "tests/typed.py"]);
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("node_modules/hookwright-hook");
    std::fs::create_dir_all(&package).unwrap();
    for file in ["package.json", "index.d.ts", "test.d.ts", "types.d.ts"] {
        std::fs::copy(root().join("sdk/node").join(file), package.join(file)).unwrap();
    }
    let types = folder.path().join("types.ts");
    std::fs::copy(root().join("sdk/node/tests/types.ts"), &types).unwrap();
    let options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext"];
    run_in(test, "sdk/node", &[&["tsc"], options.as_slice(), &[types.to_str().unwrap()]].concat());
}

/// The first hook on each documentation page runs.
#[test]
fn the_hooks_in_the_docs_run() {
    let test = "the_hooks_in_the_docs_run";
    for language in SdkLanguage::here(test) {
        let (fence, folder) = match language {
            SdkLanguage::Node => ("```js\n", "sdk/node"),
            SdkLanguage::Python => ("```python\n", "sdk/python"),
            SdkLanguage::Rust => ("```rust\n", "crates/sdk"),
        };
        for page in [format!("{folder}/README.md"), "docs/sdk.md".to_owned()] {
            let text = fs::read_to_string(root().join(&page)).unwrap();
            let shown = text.split_once(fence).unwrap().1.split_once("```").unwrap().0;
            let program = match language {
                SdkLanguage::Rust => {
                    let example = fs::read_to_string(root().join("crates/sdk/examples/keep_out.rs")).unwrap();
                    assert!(example.contains(shown), "{page} shows another program than examples/keep_out.rs");
                    SdkProgram::of(language, "keep_out")
                }
                _ => SdkProgram::of(language, shown),
            };
            let denied = program.run(before_tool("write_file", json!({"file_path": "secrets/key"})).to_string()).json();
            assert_eq!(denied, json!({"decision": "deny", "reason": "secrets/ is off limits"}), "{page}");
            assert_eq!(program.run(before_tool("ls", json!({})).to_string()).json(), json!({}), "{page}");
        }
    }
}

fn run_in(test: &str, folder: &str, words: &[&str]) {
    if !has_program(words[0]) {
        return report_skipped(test, &format!("there is no {}", words[0]));
    }
    let folder = root().join(folder);
    let run = Command::new(words[0])
        .args(&words[1..])
        .current_dir(&folder)
        .env("PYTHONPATH", &folder)
        .output_in_time()
        .unwrap();
    let said = [run.stdout, run.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).join("\n");
    assert!(run.status.success(), "{words:?}: {said}");
}

fn node(test: &str, text: &str) -> Option<SdkProgram> {
    SdkLanguage::here(test).contains(&SdkLanguage::Node).then(|| SdkProgram::of(SdkLanguage::Node, text))
}

fn python(test: &str, text: &str) -> Option<SdkProgram> {
    SdkLanguage::here(test).contains(&SdkLanguage::Python).then(|| SdkProgram::of(SdkLanguage::Python, text))
}

/// A timer keeps a worker running, and does not delay a command's answer.
#[test]
fn a_program_with_a_timer_answers_and_ends() {
    let text = "import { hook, deny } from 'hookwright-hook';
        setInterval(() => {}, 1000);
        hook.on('BeforeTool', () => deny('no'));";
    let Some(program) = node("a_program_with_a_timer_answers_and_ends", text) else { return };
    assert_eq!(program.run(before_tool("x", json!({})).to_string()).json()["reason"], "no");
    let mut worker = program.worker();
    worker.ask(1, "x", json!({}));
    assert_eq!(worker.next_answer()["output"]["reason"], "no");
    assert_eq!(worker.end().code, Some(0));
}

/// A handler that forgets an `await` has checked nothing: an immediate failure in it is not an allow.
#[test]
fn a_rejection_that_nobody_awaits_is_no_yes() {
    for handler in ["(input) => { check(input); }", "async (input) => { check(input); }"] {
        let text = format!(
            "import {{ hook }} from 'hookwright-hook';
            async function check() {{ throw new Error('no list'); }}
            hook.on('BeforeTool', {handler});"
        );
        let Some(program) = node("a_rejection_that_nobody_awaits_is_no_yes", &text) else { return };
        let ended = program.run(before_tool("x", json!({})).to_string());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:#?}");
        assert!(ended.stderr.contains("no list"), "{ended:#?}");
        let mut worker = program.worker();
        worker.ask(1, "x", json!({}));
        let ended = worker.ends_by_itself();
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:#?}");
    }
}

/// The same in python, which must warn every time and not only once.
#[test]
fn a_coroutine_that_nobody_awaits_is_no_yes() {
    for handler in ["def handler(event):", "async def handler(event):"] {
        let text = format!(
            "from hookwright_hook import hook\nasync def check(event):\n    raise ValueError('no list')\n\
             @hook.on('BeforeTool')\n{handler}\n    if event['tool_name'] == 'x':\n        check(event)\nhook.run()\n"
        );
        let Some(program) = python("a_coroutine_that_nobody_awaits_is_no_yes", &text) else { return };
        program.run(before_tool("x", json!({})).to_string()).fails("'check' was never awaited");
        let mut worker = program.worker();
        for id in 1..=3 {
            worker.ask(id, "x", json!({}));
            assert!(worker.next_answer()["error"].as_str().unwrap().contains("never awaited"), "{handler} {id}");
        }
        worker.ask(4, "y", json!({}));
        assert_eq!(worker.next_answer(), json!({"id": 4, "output": {}}));
    }
}

/// Of concurrent requests the right one fails, and warning filters hide nothing.
#[test]
fn a_forgotten_coroutine_is_found_beside_others() {
    let text = "import asyncio, warnings\nfrom hookwright_hook import hook\nasync def check(event):\n    pass\n\
        @hook.on('BeforeTool')\nasync def handler(event):\n    warnings.simplefilter('ignore')\n    if event['tool_name'] == 'task':\n\
        \x20       asyncio.ensure_future(asyncio.sleep('no number'))\n        await asyncio.sleep(0.1)\n\
        \x20   if event['tool_name'] == 'guilty':\n        check(event)\n        await asyncio.sleep(0.3)\nhook.run()\n";
    let Some(program) = python("a_forgotten_coroutine_is_found_beside_others", text) else { return };
    let mut worker = program.worker();
    worker.ask(1, "guilty", json!({}));
    worker.ask(2, "other", json!({}));
    let mut answers = [worker.next_answer(), worker.next_answer()];
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert!(answers[0]["error"].as_str().is_some_and(|error| error.contains("never awaited")), "{answers:?}");
    worker.ask(3, "other", json!({}));
    assert_eq!(worker.next_answer(), json!({"id": 3, "output": {}}));
    worker.ask(4, "task", json!({}));
    assert!(worker.next_answer()["error"].as_str().unwrap().contains("never retrieved"));
    program.run(before_tool("guilty", json!({})).to_string()).fails("never awaited");
}

/// A handler that exits the process has not answered, even in the middle of a line.
#[test]
fn a_worker_that_is_left_by_its_handler_has_failed() {
    let text = "import { hook } from 'hookwright-hook'; hook.on('BeforeTool', () => process.exit(0));";
    let Some(program) = node("a_worker_that_is_left_by_its_handler_has_failed", text) else { return };
    let mut worker = program.worker();
    worker.ask(1, "x", json!({}));
    worker.ends_by_itself().fails("before its handler had answered");
}

/// A denial is sent before a concurrent handler can end the process, and does not wait for it.
#[test]
fn a_no_does_not_wait_for_others() {
    let text = "import { hook, deny } from 'hookwright-hook';
        hook.on('BeforeTool', ({ tool_name }) => { if (tool_name === 'x') return deny('no'); process.exit(1); });";
    let Some(program) = node("a_no_does_not_wait_for_others", text) else { return };
    let mut worker = program.worker();
    let line = |id: u64, tool: &str| format!("{}\n", json!({"id": id, "input": before_tool(tool, json!({}))}));
    worker.send_bytes((line(1, "x") + &line(2, "y")).as_bytes());
    assert_eq!(worker.next_answer(), json!({"id": 1, "output": {"decision": "deny", "reason": "no"}}));
    assert_eq!(worker.ends_by_itself().code, Some(1));
}

/// Exports are a plugin's handlers; if an agent runs the file directly, they are not used.
#[test]
fn a_plugin_that_is_run_by_itself_is_no_yes() {
    const TEST: &str = "a_plugin_that_is_run_by_itself_is_no_yes";
    let of = |exports: &str| {
        let program = node(TEST, &format!("import {{ deny, hook }} from 'hookwright-hook';\n{exports}"))?;
        let file = program.folder().join("hook.mjs");
        Some(program.started_by(&["env", "GEMINI_SESSION_ID=s", "node", file.to_str().unwrap()]))
    };
    for exports in [
        "export function BeforeTool() { return deny('no'); }",
        "export default { BeforeTool: () => deny('no') };",
        "export default new (class { BeforeTool() { return deny('no'); } })();",
    ] {
        let Some(program) = of(exports) else { return };
        program.run(before_tool("x", json!({})).to_string()).fails("exports BeforeTool, as a plugin does");
    }
    // A file that registers later is not a plugin, and a file that only uses the library's helpers answers for itself.
    for exports in [
        "export function BeforeTool() { return deny('no'); }\nsetTimeout(() => hook.on('BeforeTool', BeforeTool), 50);",
        "console.log(JSON.stringify(deny('no')));",
    ] {
        let Some(program) = of(exports) else { return };
        assert_eq!(program.run(before_tool("x", json!({})).to_string()).json()["reason"], "no", "{exports}");
    }
}

/// A handler that was registered without its object fails, which denies; it does not use another object.
#[test]
fn a_handler_that_lost_its_object_does_not_find_another() {
    let text = "import { hook, deny } from 'hookwright-hook';
        class Guard { rules = ['x']; check(input) { return this.rules?.includes(input.tool_name) ? deny('no') : undefined; } }
        hook.on('BeforeTool', new Guard().check);";
    let Some(program) = node("a_handler_that_lost_its_object_does_not_find_another", text) else { return };
    program.run(before_tool("x", json!({})).to_string()).fails("rules");
    let mut worker = program.worker();
    worker.ask(1, "x", json!({}));
    assert!(worker.next_answer()["error"].as_str().unwrap().contains("rules"));
    assert_eq!(worker.end().code, Some(0));
}

/// The library reads stdin itself; a handler can still access it, and the first import of `node:process` does.
#[test]
fn a_handler_may_look_at_stdin() {
    let text = "import { hook, message } from 'hookwright-hook';
        hook.on('BeforeTool', async () => {
            const { stdin } = await import('node:process');
            return message(`${process.stdin.isTTY ?? false} ${stdin === process.stdin}`);
        });";
    let Some(program) = node("a_handler_may_look_at_stdin", text) else { return };
    assert_eq!(program.run(before_tool("x", json!({})).to_string()).json()["systemMessage"], "false true");
    let mut worker = program.worker();
    for id in 1..=2 {
        worker.ask(id, "x", json!({}));
        assert_eq!(worker.next_answer(), json!({"id": id, "output": {"systemMessage": "false true"}}));
    }
    assert_eq!(worker.end().code, Some(0));
}

/// Properties that a library adds to all objects are not fields of a request.
#[test]
fn what_all_objects_inherit_is_in_no_request() {
    let text = "import { hook, message } from 'hookwright-hook';
        Object.prototype.each = () => {};
        hook.on('AfterModel', ({ full_content, llm_request }) => message(`${llm_request.model} ${full_content}`));";
    let Some(program) = node("what_all_objects_inherit_is_in_no_request", text) else { return };
    let mut worker = program.worker();
    let base = json!({"hook_event_name": "AfterModel", "content": "a"});
    let with = |more: serde_json::Value| {
        let mut input = base.clone();
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    let first = with(json!({"llm_request": {"model": "m"}, "full_content": "a"}));
    worker.send(&json!({"id": 1, "keep": {"llm_request": 1, "full_content": 2}, "input": first}));
    assert_eq!(worker.next_answer()["output"]["systemMessage"], "m a");
    worker.send(&json!({"id": 2, "kept": {"llm_request": 1}, "grow": {"full_content": [2, "é"]}, "input": base}));
    assert_eq!(worker.next_answer()["output"]["systemMessage"], "m aé");
    assert_eq!(worker.end().code, Some(0));
}

#[test]
fn what_fails_outside_of_handlers_ends_the_program() {
    let test = "what_fails_outside_of_handlers_ends_the_program";
    for (failing, words) in [
        ("Promise.reject(new Error('adrift'))", "adrift"),
        ("setTimeout(() => { throw new Error('later') }, 10)", "later"),
    ] {
        let text = format!(
            "import {{ hook }} from 'hookwright-hook';
            hook.on('BeforeTool', async () => {{ {failing}; await new Promise((done) => setTimeout(done, 60000)) }});"
        );
        let Some(program) = node(test, &text) else { return };
        let ended = program.run(before_tool("x", json!({})).to_string());
        assert!(ended.code == Some(1) && ended.stdout.is_empty() && ended.stderr.contains(words), "{ended:?}");
        let mut worker = program.worker();
        worker.ask(1, "x", json!({}));
        let ended = worker.end();
        assert!(ended.code == Some(1) && ended.stdout.is_empty() && ended.stderr.contains(words), "{ended:?}");
    }
    for broken in [
        "import { hook } from 'hookwright-hook'; hook.on('BeforeTool', () => {}); throw new Error('at the top')",
        "import { hook } from 'hookwright-hook'; hook.on('BeforeTool', () => {}); await null; throw new Error('at the top')",
        "import { hook } from 'hookwright-hook'; hook.on('BeforeTol /* at the top */', () => {})",
    ] {
        let ended = node(test, broken).unwrap().run(before_tool("x", json!({})).to_string());
        assert!(ended.code == Some(1) && ended.stdout.is_empty() && ended.stderr.contains("at the top"), "{ended:?}");
    }
    // A file that never finishes loading might have registered more handlers.
    let stuck = "import { hook } from 'hookwright-hook'; hook.on('BeforeTool', () => {}); await new Promise(() => {})";
    let ended = node(test, stuck).unwrap().run(before_tool("x", json!({})).to_string());
    assert!(ended.code != Some(0) && ended.stdout.is_empty(), "{ended:?}");
}

#[test]
fn helpers_alone_leave_stdout_to_the_program() {
    let test = "helpers_alone_leave_stdout_to_the_program";
    let denied = json!({"decision": "deny", "reason": "no"});
    let text = "import { deny } from 'hookwright-hook'; console.log(JSON.stringify(deny('no')))";
    if let Some(program) = node(test, text) {
        assert_eq!(program.run("").json(), denied);
    }
    let text = "import json\nfrom hookwright_hook import deny\nprint(json.dumps(deny('no')))";
    if let Some(program) = python(test, text) {
        assert_eq!(program.run("").json(), denied);
    }
}

/// Two packages may each contain a copy.
#[test]
fn two_copies_of_the_library_are_one() {
    let text = "import { hook, deny } from 'hookwright-hook';
        import { cpSync } from 'node:fs';
        cpSync(new URL('node_modules/hookwright-hook', import.meta.url), new URL('copy', import.meta.url), { recursive: true });
        const copy = await import('./copy/index.js');
        copy.hook.on('BeforeTool', () => deny('of the copy'));
        hook.on('BeforeAgent', () => {});";
    let Some(program) = node("two_copies_of_the_library_are_one", text) else { return };
    assert_eq!(program.run(before_tool("x", json!({})).to_string()).json()["reason"], "of the copy");
    let mut worker = program.worker();
    worker.ask(1, "x", json!({}));
    assert_eq!(worker.next_answer()["output"]["reason"], "of the copy");
    assert_eq!(worker.end().code, Some(0));
}

/// A worker's children are not workers, do not inherit its stdin, and do not write to its stdout.
#[test]
fn what_a_worker_starts_is_no_worker() {
    let test = "what_a_worker_starts_is_no_worker";
    let text = "import { hook, message } from 'hookwright-hook';
        import { execSync } from 'node:child_process';
        hook.on('BeforeTool', () => message(execSync('echo [$HOOKWRIGHT_WORKER]').toString().trim()));";
    let text_for_python = "import subprocess
from hookwright_hook import hook, message
@hook.on('BeforeTool')
def f(event):
    subprocess.run(['sh', '-c', 'cat; echo heard'])
    return message(subprocess.check_output('echo [$HOOKWRIGHT_WORKER]', shell=True).decode().strip())
hook.run()";
    for program in [node(test, text), python(test, text_for_python)].into_iter().flatten() {
        let mut worker = program.worker();
        worker.ask(1, "x", json!({}));
        worker.ask(2, "x", json!({}));
        for id in [1, 2] {
            assert_eq!(worker.next_answer(), json!({"id": id, "output": {"systemMessage": "[]"}}));
        }
        assert_eq!(worker.end().code, Some(0));
    }
}

#[test]
fn handlers_that_await_nothing_answer_one_after_the_other() {
    let text = "import time
from hookwright_hook import hook, message
@hook.on('BeforeTool')
def f(event):
    print('printed')
    time.sleep(event['tool_input'].get('wait', 0))
    if event['tool_name'] == 'throw':
        raise SystemExit(0)
    return message(event['tool_name'])
hook.on('BeforeAgent')(lambda event: wait(event['prompt']))
async def wait(prompt):
    return message(prompt)
hook.run()";
    let Some(program) = python("handlers_that_await_nothing_answer_one_after_the_other", text) else { return };
    let mut worker = program.worker();
    worker.ask(1, "first", json!({"wait": 1}));
    worker.ask(2, "second", json!({}));
    worker.ask(3, "throw", json!({}));
    worker.send_bytes(b"garbage\n");
    worker.send(&json!({"id": 4, "input": {"hook_event_name": "BeforeAgent", "prompt": "an awaitable"}}));
    let mut said = vec![worker.next_answer(), worker.next_answer(), worker.next_answer(), worker.next_answer()];
    assert!(said[2]["error"].take().is_string());
    let of = |id: u64, text: &str| json!({"id": id, "output": {"systemMessage": text}});
    assert_eq!(said, [of(1, "first"), of(2, "second"), json!({"id": 3, "error": null}), of(4, "an awaitable")]);
    let ended = worker.end();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.stderr.contains("printed") && ended.stderr.contains("no request"), "{ended:?}");
}

/// python cannot tell that a file has ended: `hook.run()` is the last line, and a file without it denies.
#[test]
fn a_python_file_that_forgets_to_run_says_no() {
    let test = "a_python_file_that_forgets_to_run_says_no";
    let handler = "from hookwright_hook import hook\n@hook.on('BeforeTool')\ndef f(event):\n    pass\n";
    let input = before_tool("x", json!({})).to_string();
    for more in ["", "raise SystemExit(0)", "raise SystemExit(2)"] {
        let Some(program) = python(test, &format!("{handler}{more}")) else { return };
        let ended = program.run(&input);
        assert!(ended.code == Some(2) && ended.stdout.is_empty(), "{ended:?}");
        assert!(ended.stderr.contains("hook.run() was never called"), "{ended:?}");
    }
    let ended = python(test, &format!("{handler}raise ValueError('broken')")).unwrap().run(&input);
    assert!(ended.code == Some(1) && !ended.stderr.contains("hook.run()"), "{ended:?}");
    // Text that is printed before it is not part of the answer.
    let early = python(test, &format!("{handler}print('early', flush=True)\nhook.run()")).unwrap().run(&input);
    assert_eq!(early.json(), json!({}));
    assert!(early.stderr.contains("early"), "{early:?}");
    // A test that imports the file does not run as a hook.
    let tests = "import importlib.util, sys
spec = importlib.util.spec_from_file_location('guard', 'guard.py')
guard = importlib.util.module_from_spec(spec)
open('guard.py', 'w').write('from hookwright_hook import hook, deny\\n@hook.on(\"BeforeTool\")\\ndef f(event):\\n    return deny(\"no\")\\nif __name__ == \"__main__\":\\n    hook.run()\\n')
spec.loader.exec_module(guard)
import json
print(json.dumps(guard.f({})))";
    assert_eq!(python(test, tests).unwrap().run("").json()["reason"], "no");
}
