//! Hooks written with the libraries under real agents: this program, and Gemini CLI.

use hookwright_testkit::replay::Replay;
use hookwright_testkit::{Sandbox, finish};
use serde_json::json;

use super::language::Language;
use crate::suite::differential;

/// A guard in five lines, more or less.
fn guard(language: Language) -> &'static str {
    match language {
        Language::Node => {
            "import { context, deny, hook } from 'hookwright-hook';
            hook.on('BeforeTool', ({ tool_input }) => {
              if (tool_input.file_path?.includes('secret')) return deny('off limits');
              if (tool_input.file_path?.includes('broken')) throw new Error('broken');
            });
            hook.on('BeforeAgent', () => context('said by a library'));"
        }
        Language::Python => {
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
        Language::Rust => "guard",
    }
}

fn project(language: Language) -> Sandbox {
    let sandbox = crate::sandbox();
    let words = language.install(&sandbox.project().join(".gemini/hooks"), "guard", guard(language));
    let hook = json!([{"hooks": [{"type": "command", "name": "guard", "guard": true, "command": words.join(" ")}]}]);
    sandbox.settings(&json!({"hooks": {"BeforeTool": hook, "BeforeAgent": hook}}));
    sandbox
}

#[test]
fn hooks_fire_and_test_run_hooks_of_every_language() {
    for language in Language::here("hooks_fire_and_test_run_hooks_of_every_language") {
        let sandbox = project(language);
        let fire = |path: &str| {
            let args = json!({"file_path": path, "content": "x"}).to_string();
            sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "write_file", "--args", &args])
        };
        // The last one failed, and it is a guard.
        for (path, code, words) in
            [("secret.txt", 2, "off limits"), ("plain.txt", 0, "decision: allowed"), ("broken.txt", 2, "broken")]
        {
            let run = fire(path).exits(code);
            assert!(run.stdout.contains(words), "{language:?}: {run:?}");
        }
        sandbox.write(
            ".gemini/hooks/guard.hooktest.toml",
            "[[case]]\nname = \"secrets\"\nevent = \"BeforeTool\"\ntool = \"write_file\"\nargs = { file_path = \"secret\", content = \"x\" }\n\
             [case.expect]\ndecision = \"deny\"\nreason_contains = \"off limits\"\n\
             [[case]]\nname = \"context\"\nevent = \"BeforeAgent\"\n[case.input]\nprompt = \"hi\"\n[case.expect]\ndecision = \"allow\"\n\
             output = { additionalContext = \"said by a library\" }\n",
        );
        let tested = sandbox.run(&["hooks", "test"]).exits(0);
        assert!(tested.stdout.contains("2 passed"), "{language:?}: {tested:?}");
    }
}

/// The same file, as it is, under Gemini CLI and under this program.
#[test]
fn the_same_file_runs_under_gemini_cli() {
    let test = "the_same_file_runs_under_gemini_cli";
    let Some(gemini) = differential::gemini(test) else { return };
    for language in Language::here(test) {
        for program in [None, Some(gemini.as_slice())] {
            let sandbox = project(language).untrusted();
            sandbox.user_settings(&json!({
                "security": {"folderTrust": {"enabled": false}, "auth": {"selectedType": "gemini-api-key"}},
                "general": {"enableAutoUpdate": false},
                "privacy": {"usageStatisticsEnabled": false},
            }));
            let write = |path: &str| json!({"file_path": path, "content": "x"});
            let replay = Replay::new()
                .calls("write_file", write("secret.txt"))
                .calls("write_file", write("plain.txt"))
                .says("done");
            let run = finish(differential::command(&sandbox, &replay, program).spawn().unwrap());
            let about = format!("{language:?} {program:?}: {run:#?}");
            assert!(sandbox.has("plain.txt") && !sandbox.has("secret.txt"), "{about}");
            assert!(run.stderr.contains("off limits"), "{about}");
        }
    }
}
