//! Hooks written with the SDK libraries under real agents: this program, and Gemini CLI.

use hookwright_testkit::replay::ReplayBuilder;
use hookwright_testkit::{Sandbox, finish};
use serde_json::json;

use super::language::SdkLanguage;
use crate::suite::differential;

/// A guard in about five lines.
fn guard(language: SdkLanguage) -> &'static str {
    match language {
        SdkLanguage::Node => {
            "import { context, deny, hook } from 'hookwright-hook';
            hook.on('BeforeTool', ({ tool_input }) => {
              if (tool_input.file_path?.includes('secret')) return deny('off limits');
              if (tool_input.file_path?.includes('broken')) throw new Error('broken');
            });
            hook.on('BeforeAgent', () => context('said by a library'));"
        }
        SdkLanguage::Python => {
            "from hookwright_hook import context, deny, hook\n\
            @hook.on('BeforeTool')\n\
            def check(event):\n\
            \x20   if 'secret' in event['tool_input'].get('file_path', ''):\n\
            \x20       return deny('off limits')\n\
            \x20   if 'broken' in event['tool_input'].get('file_path', ''):\n\
            \x20       raise RuntimeError('broken')\n\
            @hook.on('BeforeAgent')\n\
            def prompt(event):\n\
            \x20   return context('said by a library')\n\
            hook.run()\n"
        }
        SdkLanguage::Rust => "guard",
    }
}

fn project(language: SdkLanguage, kind: &str) -> Sandbox {
    let sandbox = crate::sandbox();
    let words = language.install(&sandbox.project().join(".gemini/hooks"), "guard", guard(language));
    let hook = json!([{"hooks": [{"type": kind, "name": "guard", "guard": true, "command": words.join(" ")}]}]);
    sandbox.settings(&json!({"hooks": {"BeforeTool": hook, "BeforeAgent": hook}}));
    sandbox
}

#[test]
fn hooks_fire_and_test_run_hooks_of_every_language() {
    let languages = SdkLanguage::here("hooks_fire_and_test_run_hooks_of_every_language").into_iter();
    for (language, kind) in languages.flat_map(|language| [(language, "command"), (language, "worker")]) {
        let sandbox = project(language, kind);
        let fire = |path: &str| {
            let args = json!({"file_path": path, "content": "x"}).to_string();
            sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "write_file", "--args", &args])
        };
        // The last call made the guard fail, which denies.
        for (path, code, words) in
            [("secret.txt", 2, "off limits"), ("plain.txt", 0, "decision: allowed"), ("broken.txt", 2, "broken")]
        {
            let run = fire(path).expect_exit_code(code);
            assert!(run.stdout.contains(words), "{language:?} {kind}: {run:?}");
        }
        sandbox.write(
            ".gemini/hooks/guard.hooktest.toml",
            "[[case]]\nname = \"secrets\"\nevent = \"BeforeTool\"\ntool = \"write_file\"\nargs = { file_path = \"secret\", content = \"x\" }\n\
             [case.expect]\ndecision = \"deny\"\nreason_contains = \"off limits\"\n\
             [[case]]\nname = \"context\"\nevent = \"BeforeAgent\"\n[case.input]\nprompt = \"hi\"\n[case.expect]\ndecision = \"allow\"\n\
             output = { additionalContext = \"said by a library\" }\n",
        );
        let tested = sandbox.run(&["hooks", "test"]).expect_exit_code(0);
        assert!(tested.stdout.contains("2 passed"), "{language:?} {kind}: {tested:?}");
    }
}

/// The same file, unchanged, under Gemini CLI and under this program.
#[test]
fn the_same_file_runs_under_gemini_cli() {
    let test = "the_same_file_runs_under_gemini_cli";
    let Some(gemini) = differential::gemini(test) else { return };
    for language in SdkLanguage::here(test) {
        for program in [None, Some(gemini.as_slice())] {
            let sandbox = project(language, "command").untrusted();
            sandbox.user_settings(&json!({
                "security": {"folderTrust": {"enabled": false}, "auth": {"selectedType": "gemini-api-key"}},
                "general": {"enableAutoUpdate": false},
                "privacy": {"usageStatisticsEnabled": false},
            }));
            let write = |path: &str| json!({"file_path": path, "content": "x"});
            let replay = ReplayBuilder::new()
                .calls("write_file", write("secret.txt"))
                .calls("write_file", write("plain.txt"))
                .says("done");
            let run = finish(differential::command(&sandbox, &replay, program).spawn().unwrap());
            let about = format!("{language:?} {program:?}: {run:#?}");
            assert!(sandbox.has_file("plain.txt") && !sandbox.has_file("secret.txt"), "{about}");
            assert!(run.stderr.contains("off limits"), "{about}");
        }
    }
}

/// A session with a worker in every language: values that are sent once are available for every piece, and the
/// handler's answers count.
#[test]
fn a_session_asks_workers_of_every_language_about_every_piece() {
    for language in SdkLanguage::here("a_session_asks_workers_of_every_language_about_every_piece") {
        let sandbox = crate::sandbox();
        let words = language.install(&sandbox.sibling_path("hooks"), "every", language.every());
        let hook = json!([{"hooks": [{"type": "worker", "name": "every", "guard": true, "command": words.join(" ")}]}]);
        sandbox.settings(&json!({"hooks": {"AfterModel": hook}}));
        let pieces = ["one ", "two ", "three"];
        let replay = sandbox.replay(&ReplayBuilder::new().says_in_chunks(&pieces));
        let run = sandbox.run(&["--fake-responses", &replay, "-p", "hello there"]).expect_exit_code(0);
        // The number of messages, the length and start of the first, and the text so far, whose earlier pieces were
        // replaced.
        let shown = |so_far: String, piece: &&str| format!("{so_far}1 11 hello {so_far}{piece}");
        let expected = pieces.iter().fold(String::new(), shown);
        assert_eq!(run.stdout.trim_end(), expected, "{language:?}: {run:?}");
    }
}

/// A plugin in a session, as the settings name it.
#[test]
fn hooks_fire_runs_plugins() {
    if !SdkLanguage::here("hooks_fire_runs_plugins").contains(&SdkLanguage::Node) {
        return;
    }
    let module = "export function BeforeTool({ tool_input }) { console.log('log'); if (tool_input.file_path.includes('secret')) return { decision: 'deny', reason: 'off limits' } }";
    for (package, files) in [
        ("./hooks/guard.mjs", &[("hooks/guard.mjs", module)][..]),
        (
            "@me/guards",
            &[
                ("node_modules/@me/guards/package.json", r#"{"type": "module", "exports": {"import": "./a.js"}}"#),
                ("node_modules/@me/guards/a.js", module),
            ],
        ),
    ] {
        let sandbox = crate::sandbox();
        for (file, text) in files {
            sandbox.write(file, text);
        }
        let hook = json!([{"hooks": [{"type": "plugin", "guard": true, "package": package}]}]);
        sandbox.settings(&json!({"hooks": {"BeforeTool": hook, "AfterTool": hook}}));
        let fire = |event: &str, path: &str| {
            let args = json!({"file_path": path, "content": "x"}).to_string();
            sandbox.run(&["hooks", "fire", event, "--tool", "write_file", "--args", &args])
        };
        assert!(fire("BeforeTool", "secret").expect_exit_code(2).stdout.contains("off limits"), "{package}");
        fire("BeforeTool", "plain").expect_exit_code(0);
        // The plugin has no handler for this event, and it is a guard.
        assert!(fire("AfterTool", "plain").expect_exit_code(2).stdout.contains("no handler"), "{package}");
    }
}
