//! `chunks` on AfterModel hooks: hooks see complete units, and nothing of a unit is visible before.

use super::*;
use hookwright_testkit::replay::{call, chunk};

const SECRET: &str = "hunter2";

/// Redacts the secret in its input, and logs the whole input to a file.
const REDACT_SCRIPT: &str = r#"input=$(cat); printf '%s\n' "$input" >> "$GEMINI_PROJECT_DIR/../seen.jsonl"
content=$(printf '%s' "$input" | sed 's/.*"content":"\(.*\)","full_content".*/\1/')
case $content in
*hunter2*) printf '{"suppressOutput": true, "hookSpecificOutput": {"llm_response": {"text": "%s"}}}' \
    "$(printf '%s' "$content" | sed 's/hunter2/[gone]/g')";;
*) echo '{"suppressOutput": true}';;
esac"#;

/// A project with AfterModel hooks: for each its `chunks` and its script.
fn project_with_chunk_hooks(hooks: &[(Value, &str)]) -> HeadlessProject {
    let sandbox = project(&[]);
    let hook = |(at, (chunks, script)): (usize, &(Value, &str))| {
        let name = format!("hook{}", at + 1);
        let command = write_hook_script(&sandbox, &name, script);
        json!({"type": "command", "name": name, "command": command, "chunks": chunks})
    };
    let hooks: Vec<Value> = hooks.iter().enumerate().map(hook).collect();
    sandbox.write_settings(&json!({"hooks": {"AfterModel": [{"hooks": hooks}]}}));
    sandbox
}

fn redacting_project(chunks: Value) -> HeadlessProject {
    project_with_chunk_hooks(&[(chunks, REDACT_SCRIPT)])
}

/// Returns one field of the redactor's inputs, one for each run.
fn redactor_inputs(sandbox: &HeadlessProject, field: &str) -> Vec<Value> {
    let text = fs::read_to_string(sandbox.outside_path("seen.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()[field].clone()).collect()
}

/// Asserts that no file or output contains the secret, or a half of it that no hook has seen with the other.
#[track_caller]
fn assert_secret_nowhere(sandbox: &HeadlessProject, run: &HeadlessRun) {
    let kept = files_under(&sandbox.home_dir())
        .into_iter()
        .map(|file| String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned());
    for text in kept.chain([run.text.clone(), run.messages.clone()]) {
        assert_lacks(&text, SECRET);
        assert_lacks(&text, "ter2");
    }
}

fn text_chunk(text: &str) -> Value {
    chunk(&[json!({"text": text})], false)
}

#[test]
fn a_secret_in_two_pieces_is_redacted() {
    for chunks in [json!("sentence"), json!("line"), json!(10), json!(1), json!(65536)] {
        let sandbox = redacting_project(chunks.clone());
        let run =
            run_hello(&sandbox, &ReplayBuilder::new().says_in_chunks(&["The word is hun", "ter2. I", " think", " so"]));
        assert_eq!(run.text, "The word is [gone]. I think so", "{chunks}");
        assert_secret_nowhere(&sandbox, &run);
    }
}

#[test]
fn nothing_in_the_middle_of_a_sentence_ends_it() {
    let write = call("write_file", json!({"file_path": "a.txt", "content": "A"}));
    let usage = |total: u64| json!({"usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": total}});
    let between = [
        ("a call", vec![chunk(&[write], false)]),
        ("nothing", vec![json!({}), json!({"candidates": []}), chunk(&[], false), text_chunk("")]),
        ("tokens", vec![usage(7)]),
        ("an end", vec![chunk(&[], true)]),
        (
            "an end for want of room",
            vec![json!({"candidates": [{"content": {"parts": []}, "finishReason": "MAX_TOKENS"}]})],
        ),
        ("a thought", vec![chunk(&[json!({"text": "Hm. Well. ", "thought": true})], false)]),
        ("code", vec![chunk(&[json!({"executableCode": {"code": "1.\n"}})], false)]),
        ("sources", vec![json!({"candidates": [{"content": {"parts": []}, "groundingMetadata": {"a": 1}}]})]),
    ];
    for (what, between) in between {
        let sandbox = redacting_project(json!("sentence"));
        let chunks = [
            vec![text_chunk("The word is hun")],
            between,
            vec![text_chunk("ter2. Yes"), chunk(&[text_chunk("")], true)],
        ]
        .concat();
        let run = run_hello(&sandbox, &ReplayBuilder::new().stream(chunks).says("Done."));
        assert_contains(&run.text, "The word is [gone]. Yes");
        assert_secret_nowhere(&sandbox, &run);
        assert_eq!(redactor_inputs(&sandbox, "content")[0], "The word is hunter2. ", "{what}");
        if what == "a call" {
            assert_eq!(sandbox.read("a.txt"), "A");
            assert_eq!(request_contents(&sandbox)[1][1]["parts"][0]["text"], "The word is [gone]. ");
            assert_eq!(request_contents(&sandbox)[1][1]["parts"][1]["functionCall"]["name"], "write_file");
        }
    }
}

/// No hook gets smaller units than it asks for; a hook without `chunks` gets the same units as the others.
#[test]
fn hooks_with_different_chunk_settings_see_the_same_units() {
    let log = |name: &str| format!("cat >> \"$GEMINI_PROJECT_DIR/{name}\"; echo >> \"$GEMINI_PROJECT_DIR/{name}\"");
    let scripts = ["a", "b", "c"].map(log);
    let sandbox = project_with_chunk_hooks(&[
        (json!("sentence"), &scripts[0]),
        (json!("line"), &scripts[1]),
        (Value::Null, &scripts[2]),
    ]);
    let pieces = ["One. ", "Two.\n", "Three", ". Fo", "ur.\nFive."];
    assert_eq!(run_hello(&sandbox, &ReplayBuilder::new().says_in_chunks(&pieces)).text, pieces.concat());
    for name in ["a", "b", "c"] {
        let inputs = sandbox.read(name);
        let inputs = inputs.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["content"].clone());
        assert_eq!(inputs.collect::<Vec<_>>(), ["One. Two.\n", "Three. Four.\n", "Five."], "{name}");
    }
}

/// The text that has arrived when an answer is cut off is shown after the hooks have seen it.
#[test]
fn an_answer_that_breaks_off_is_seen_to_its_end() {
    let sandbox = redacting_project(json!("line"));
    let broken = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    let chunks =
        vec![text_chunk("One.\n"), text_chunk("The word is hun"), text_chunk("ter2 and"), broken, text_chunk("never")];
    let run = run_with_options(&sandbox, "hello", &ReplayBuilder::new().stream(chunks), yolo_options());
    assert!(matches!(run.end, Some(TurnEnd::Failed { .. })), "{run:#?}");
    assert_eq!(run.text, "One.\nThe word is [gone] and");
    assert_contains(&run.messages, "SAFETY");
    assert_secret_nowhere(&sandbox, &run);
}

#[test]
fn a_stop_keeps_whole_units_and_nothing_that_was_held() {
    let script = r#"case $(cat) in *'"content":"Two'*) echo '{"continue": false, "stopReason": "enough"}';; esac"#;
    let sandbox = project_with_chunk_hooks(&[(json!("sentence"), script)]);
    let run = run_hello(&sandbox, &ReplayBuilder::new().says_in_chunks(&["One. T", "wo. Hun", "ter2. "]));
    assert_eq!(run.text, "One. ");
    assert_lacks(&read_transcript(&sandbox), "Two");
    assert_lacks(&read_transcript(&sandbox), "Hun");
}

/// A guard that cannot judge a unit denies it.
#[test]
fn a_guard_that_takes_too_long_shows_nothing() {
    let sandbox = project(&[]);
    let command = write_hook_script(&sandbox, "slow", "exec sleep 60");
    let hook = json!({"type": "command", "command": command, "name": "slow", "timeout": 300, "guard": true, "chunks": "sentence"});
    sandbox.write_settings(&json!({"hooks": {"AfterModel": [{"hooks": [hook]}]}}));
    let run = run_hello(&sandbox, &ReplayBuilder::new().says_in_chunks(&["It is hun", "ter2. ", "Yes."]));
    assert_contains(&run.messages, "Agent execution blocked: ");
    assert_eq!(run.text.trim(), "");
    assert_lacks(&read_transcript(&sandbox), "hun");
}

#[test]
fn a_model_that_repeats_itself_is_noticed_by_the_unit() {
    let sandbox = redacting_project(json!("line"));
    let again = "It goes on and on like this, the word is hunter2, and then some more.\n";
    let run = run_with_options(&sandbox, "hello", &ReplayBuilder::new().says_in_chunks(&[again; 40]), yolo_options());
    assert_contains(&run.messages, "the model wrote the same text");
    assert_secret_nowhere(&sandbox, &run);
    assert!(redactor_inputs(&sandbox, "content").len() < 40);
}

/// A unit has a maximum length, and no word is cut at it.
#[test]
fn an_endless_unit_is_handed_over_at_the_bound() {
    let sandbox = redacting_project(json!("sentence"));
    sandbox.write_user_settings(&json!({"model": {"disableLoopDetection": true}}));
    let filler = "la ".repeat(1000);
    let mut pieces = vec![filler.as_str(); 21];
    pieces.extend(["la ".repeat(844).leak() as &str, "lahun", "ter2 la", " la"]);
    let run = run_hello(&sandbox, &ReplayBuilder::new().says_in_chunks(&pieces));
    assert_secret_nowhere(&sandbox, &run);
    let lengths: Vec<usize> =
        redactor_inputs(&sandbox, "content").iter().map(|unit| unit.as_str().unwrap().len()).collect();
    assert_eq!(lengths, [63_000 + 2_532 + "lahunter2 ".len(), "la la".len()]);
    assert_contains(&run.text, "la la[gone] la la");
}

#[test]
fn a_sub_agents_answer_is_held_too() {
    let sandbox = redacting_project(json!("sentence"));
    sandbox.write(".gemini/agents/scout.md", "---\nname: scout\ndescription: looks\n---\nLook.\n");
    let delegate = call("delegate_to_agent", json!({"agent_name": "scout", "objective": "look"}));
    let replay = ReplayBuilder::new().parts(&[delegate]).says_in_chunks(&["I found hun", "ter2. And"]).says("Done.");
    let run = run_hello(&sandbox, &replay);
    assert_secret_nowhere(&sandbox, &run);
    assert_contains(&request_contents(&sandbox)[2].to_string(), "I found [gone]. And");
}
