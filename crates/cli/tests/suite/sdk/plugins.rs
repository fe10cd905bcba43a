//! Plugins: modules that export handlers by event, served by the library for node.

use serde_json::json;

use super::language::{SdkLanguage, SdkProgram, SdkProgramEnd, before_tool};

/// A project with these files, and the program that serves its plugin.
fn plugin(test: &str, name: &str, files: &[(&str, &str)]) -> Option<SdkProgram> {
    if !SdkLanguage::here(test).contains(&SdkLanguage::Node) {
        return None;
    }
    let program = SdkProgram::of(SdkLanguage::Node, "");
    let project = program.folder().join("project");
    for (file, text) in files {
        let file = project.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let runner = program.folder().join("node_modules/hookwright-hook/plugin.js");
    let words = ["node", runner.to_str().unwrap(), name, project.to_str().unwrap()];
    Some(program.started_by(&words))
}

/// Returns a plugin's reason for a tool call, as a worker.
fn reason(program: &SdkProgram) -> String {
    let mut worker = program.worker();
    worker.ask(1, "x", json!({"path": "p"}));
    let answer = worker.next_answer();
    assert_eq!(worker.end().code, Some(0));
    answer["output"]["reason"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn fails(program: &SdkProgram) -> SdkProgramEnd {
    let ended = program.worker().end();
    assert!(ended.code == Some(1) && ended.stdout.is_empty(), "{ended:?}");
    ended
}

const MODULE: &str = "export function BeforeTool({ tool_input }) { console.log('log'); return { decision: 'deny', reason: 'named ' + tool_input.path } }";

#[test]
fn a_plugin_is_a_module_that_exports_handlers() {
    let test = "a_plugin_is_a_module_that_exports_handlers";
    for (name, files, expected) in [
        ("./guard.mjs", &[("guard.mjs", MODULE)][..], "named p"),
        (
            "./guard.mjs",
            &[(
                "guard.mjs",
                "export default { word: 'default', async BeforeTool() { return { decision: 'deny', reason: this.word } } }",
            )],
            "default",
        ),
        (
            "./guard.mjs",
            &[(
                "guard.mjs",
                "class Guard { word = 'of a class'; BeforeTool() { return { decision: 'deny', reason: this.word } } }; export default new Guard()",
            )],
            "of a class",
        ),
        (
            "./guard.cjs",
            &[("guard.cjs", "exports.BeforeTool = () => ({ decision: 'deny', reason: 'CommonJS' })")],
            "CommonJS",
        ),
        (
            "./guard.cjs",
            &[("guard.cjs", "module.exports = { ['Before' + 'Tool']: () => ({ decision: 'deny', reason: 'made' }) }")],
            "made",
        ),
        (
            "./folder",
            &[("folder/index.js", "exports.BeforeTool = () => ({ decision: 'deny', reason: 'folder' })")],
            "folder",
        ),
        (
            "./own",
            &[("own/package.json", r#"{"type": "module", "exports": "./main.js"}"#), ("own/main.js", MODULE)],
            "named p",
        ),
        (
            "guard",
            &[
                (
                    "node_modules/guard/package.json",
                    r#"{"exports": {"types": "./x.d.ts", "import": {"default": "./a.mjs"}}}"#,
                ),
                ("node_modules/guard/a.mjs", MODULE),
            ],
            "named p",
        ),
        (
            "@me/guards/strict",
            &[
                (
                    "node_modules/@me/guards/package.json",
                    r#"{"type": "module", "exports": {".": "./no.js", "./strict": {"node": "./strict.js"}}}"#,
                ),
                ("node_modules/@me/guards/strict.js", MODULE),
            ],
            "named p",
        ),
        (
            "old",
            &[
                ("node_modules/old/package.json", r#"{"main": "lib.js"}"#),
                ("node_modules/old/lib.js", "exports.BeforeTool = () => ({ decision: 'deny', reason: 'old' })"),
            ],
            "old",
        ),
        (
            "./late.mjs",
            &[(
                "late.mjs",
                "await new Promise((done) => setTimeout(done, 50)); export const BeforeTool = () => ({ decision: 'deny', reason: 'late' })",
            )],
            "late",
        ),
    ] {
        let Some(program) = plugin(test, name, files) else { return };
        assert_eq!(reason(&program), expected, "{name}");
        let input = before_tool("x", json!({"path": "p"})).to_string();
        assert_eq!(program.run(input).json()["reason"], expected, "{name}");
    }
}

/// A plugin may import the library itself, as another copy.
#[test]
fn a_plugin_may_use_the_library() {
    let copy = include_str!("../../../../../sdk/node/index.js");
    let files = [
        ("node_modules/hookwright-hook/index.js", copy),
        ("node_modules/hookwright-hook/package.json", r#"{"type": "module", "exports": "./index.js"}"#),
        (
            "guard.mjs",
            "import { deny, hook, message } from 'hookwright-hook';
             hook.on('BeforeTool', () => message('first'));
             export const BeforeTool = ({ tool_input }) => deny('helped ' + tool_input.path);",
        ),
    ];
    let Some(program) = plugin("a_plugin_may_use_the_library", "./guard.mjs", &files) else { return };
    assert_eq!(reason(&program), "helped p");
    let slow = "import { deny, hook, message } from 'hookwright-hook';
        hook.on('BeforeTool', () => message('first'));
        await new Promise((done) => setTimeout(done, 300));
        export const BeforeTool = () => deny('late');";
    let program = plugin("", "./guard.mjs", &[files[0], files[1], ("guard.mjs", slow)]).unwrap();
    assert_eq!(reason(&program), "late");
    let only = "import { deny, hook } from 'hookwright-hook'; hook.on('BeforeTool', () => deny('on its own'))";
    let program = plugin("", "./guard.mjs", &[files[0], files[1], ("guard.mjs", only)]).unwrap();
    assert_eq!(reason(&program), "on its own");
}

#[test]
fn a_plugin_that_is_none_says_so() {
    let test = "a_plugin_that_is_none_says_so";
    let Some(program) = plugin(test, "./gone.mjs", &[("x", "")]) else { return };
    assert!(fails(&program).stderr.contains("gone.mjs"));
    for (name, text, words) in [
        ("./guard.mjs", "export const x = 1", "exports no handler"),
        ("./guard.mjs", "export const BeforeTool = 7", "no function"),
        ("./guard.mjs", "export function PreToolUse() {}", "did you mean BeforeTool?"),
        ("./guard.mjs", "export default { BeforeTol() {} }", "did you mean BeforeTool?"),
        ("./guard.mjs", "throw new Error('as it loads')", "hookwright-hook: as it loads"),
        ("./guard.mjs", "export function {", "guard.mjs can't be loaded"),
        ("guard", MODULE, "guard"),
        ("", MODULE, "which plugin?"),
    ] {
        let ended = fails(&plugin(test, name, &[("guard.mjs", text)]).unwrap());
        assert!(ended.stderr.contains(words), "{text}: {ended:?}");
    }
}

/// A valid event name does not hide a misspelt one.
#[test]
fn a_misspelt_event_is_said_beside_those_that_are_right() {
    let text = "export function AfterTool() {}\nexport function BeforeTol() {}\nexport function helper() {}";
    let test = "a_misspelt_event_is_said_beside_those_that_are_right";
    let Some(program) = plugin(test, "./guard.mjs", &[("guard.mjs", text)]) else { return };
    let mut worker = program.worker();
    worker.ask(1, "x", json!({}));
    assert!(worker.next_answer()["error"].as_str().unwrap().contains("no handler"));
    let ended = worker.end();
    assert!(ended.stderr.contains("there is no event BeforeTol; did you mean BeforeTool?"), "{ended:?}");
    assert!(!ended.stderr.contains("helper"), "{ended:?}");
}
