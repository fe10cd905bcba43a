//! `chunks` on AfterModel hooks: what is held back is whole when hooks see it, and nothing of it is anywhere before.

use super::*;
use hookwright_testkit::replay::{call, chunk};

const SECRET: &str = "hunter2";

/// Takes the secret out of what it is handed, and keeps all of that in a file of its own.
const REDACT: &str = r#"input=$(cat); printf '%s\n' "$input" >> "$GEMINI_PROJECT_DIR/../seen.jsonl"
content=$(printf '%s' "$input" | sed 's/.*"content":"\(.*\)","full_content".*/\1/')
case $content in
*hunter2*) printf '{"suppressOutput": true, "hookSpecificOutput": {"llm_response": {"text": "%s"}}}' \
    "$(printf '%s' "$content" | sed 's/hunter2/[gone]/g')";;
*) echo '{"suppressOutput": true}';;
esac"#;

/// A project with AfterModel hooks: for each its `chunks` and its script.
fn holding(hooks: &[(Value, &str)]) -> Headless {
    let sandbox = project(&[]);
    let hook = |(at, (chunks, script)): (usize, &(Value, &str))| {
        let name = format!("hook{}", at + 1);
        let command = script_of(&sandbox, &name, script);
        json!({"type": "command", "name": name, "command": command, "chunks": chunks})
    };
    let hooks: Vec<Value> = hooks.iter().enumerate().map(hook).collect();
    sandbox.write_settings(&json!({"hooks": {"AfterModel": [{"hooks": hooks}]}}));
    sandbox
}

fn redacting(chunks: Value) -> Headless {
    holding(&[(chunks, REDACT)])
}

/// One field of what the redactor was handed, run by run.
fn seen(sandbox: &Headless, field: &str) -> Vec<Value> {
    let text = fs::read_to_string(sandbox.beside("seen.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()[field].clone()).collect()
}

/// Nothing that anybody keeps has the secret, or a half of it that no hook has seen with the other.
#[track_caller]
fn is_nowhere(sandbox: &Headless, run: &Run) {
    let kept = files_under(&sandbox.home())
        .into_iter()
        .map(|file| String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned());
    for text in kept.chain([run.text.clone(), run.said.clone()]) {
        lacks(&text, SECRET);
        lacks(&text, "ter2");
    }
}

fn text(text: &str) -> Value {
    chunk(&[json!({"text": text})], false)
}

#[test]
fn a_secret_in_two_pieces_is_redacted() {
    for chunks in [json!("sentence"), json!("line"), json!(10), json!(1), json!(65536)] {
        let sandbox = redacting(chunks.clone());
        let run = run(&sandbox, &Replay::new().pieces(&["The word is hun", "ter2. I", " think", " so"]));
        assert_eq!(run.text, "The word is [gone]. I think so", "{chunks}");
        is_nowhere(&sandbox, &run);
    }
}

#[test]
fn nothing_in_the_middle_of_a_sentence_ends_it() {
    let write = call("write_file", json!({"file_path": "a.txt", "content": "A"}));
    let usage = |total: u64| json!({"usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": total}});
    let between = [
        ("a call", vec![chunk(&[write], false)]),
        ("nothing", vec![json!({}), json!({"candidates": []}), chunk(&[], false), text("")]),
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
        let sandbox = redacting(json!("sentence"));
        let chunks =
            [vec![text("The word is hun")], between, vec![text("ter2. Yes"), chunk(&[text("")], true)]].concat();
        let run = run(&sandbox, &Replay::new().stream(chunks).says("Done."));
        has(&run.text, "The word is [gone]. Yes");
        is_nowhere(&sandbox, &run);
        assert_eq!(seen(&sandbox, "content")[0], "The word is hunter2. ", "{what}");
        if what == "a call" {
            assert_eq!(sandbox.read("a.txt"), "A");
            assert_eq!(requests(&sandbox)[1][1]["parts"][0]["text"], "The word is [gone]. ");
            assert_eq!(requests(&sandbox)[1][1]["parts"][1]["functionCall"]["name"], "write_file");
        }
    }
}

/// Nobody is handed less than they ask for; who asks for nothing is handed what the others are.
#[test]
fn hooks_with_different_wishes_see_the_same_units() {
    let log = |name: &str| format!("cat >> \"$GEMINI_PROJECT_DIR/{name}\"; echo >> \"$GEMINI_PROJECT_DIR/{name}\"");
    let scripts = ["a", "b", "c"].map(log);
    let sandbox =
        holding(&[(json!("sentence"), &scripts[0]), (json!("line"), &scripts[1]), (Value::Null, &scripts[2])]);
    let pieces = ["One. ", "Two.\n", "Three", ". Fo", "ur.\nFive."];
    assert_eq!(run(&sandbox, &Replay::new().pieces(&pieces)).text, pieces.concat());
    for name in ["a", "b", "c"] {
        let inputs = sandbox.read(name);
        let inputs = inputs.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["content"].clone());
        assert_eq!(inputs.collect::<Vec<_>>(), ["One. Two.\n", "Three. Four.\n", "Five."], "{name}");
    }
}

/// What has arrived when an answer breaks off is shown, past the hooks.
#[test]
fn an_answer_that_breaks_off_is_seen_to_its_end() {
    let sandbox = redacting(json!("line"));
    let broken = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    let chunks = vec![text("One.\n"), text("The word is hun"), text("ter2 and"), broken, text("never")];
    let run = run_with(&sandbox, "hello", &Replay::new().stream(chunks), yolo());
    assert!(matches!(run.end, Some(TurnEnd::Failed { .. })), "{run:#?}");
    assert_eq!(run.text, "One.\nThe word is [gone] and");
    has(&run.said, "SAFETY");
    is_nowhere(&sandbox, &run);
}

#[test]
fn a_stop_keeps_whole_units_and_nothing_that_was_held() {
    let script = r#"case $(cat) in *'"content":"Two'*) echo '{"continue": false, "stopReason": "enough"}';; esac"#;
    let sandbox = holding(&[(json!("sentence"), script)]);
    let run = run(&sandbox, &Replay::new().pieces(&["One. T", "wo. Hun", "ter2. "]));
    assert_eq!(run.text, "One. ");
    lacks(&transcript(&sandbox), "Two");
    lacks(&transcript(&sandbox), "Hun");
}

/// A guard that can't say anything of a unit says no.
#[test]
fn a_guard_that_takes_too_long_shows_nothing() {
    let sandbox = project(&[]);
    let command = script_of(&sandbox, "slow", "exec sleep 60");
    let hook = json!({"type": "command", "command": command, "name": "slow", "timeout": 300, "guard": true, "chunks": "sentence"});
    sandbox.write_settings(&json!({"hooks": {"AfterModel": [{"hooks": [hook]}]}}));
    let run = run(&sandbox, &Replay::new().pieces(&["It is hun", "ter2. ", "Yes."]));
    has(&run.said, "Agent execution blocked: ");
    assert_eq!(run.text.trim(), "");
    lacks(&transcript(&sandbox), "hun");
}

#[test]
fn a_model_that_repeats_itself_is_noticed_by_the_unit() {
    let sandbox = redacting(json!("line"));
    let again = "It goes on and on like this, the word is hunter2, and then some more.\n";
    let run = run_with(&sandbox, "hello", &Replay::new().pieces(&[again; 40]), yolo());
    has(&run.said, "the model wrote the same text");
    is_nowhere(&sandbox, &run);
    assert!(seen(&sandbox, "content").len() < 40);
}

/// There is a bound to what is waited for, and no word is cut at it.
#[test]
fn what_never_ends_is_handed_over_at_the_bound() {
    let sandbox = redacting(json!("sentence"));
    sandbox.write_user_settings(&json!({"model": {"disableLoopDetection": true}}));
    let filler = "la ".repeat(1000);
    let mut pieces = vec![filler.as_str(); 21];
    pieces.extend(["la ".repeat(844).leak() as &str, "lahun", "ter2 la", " la"]);
    let run = run(&sandbox, &Replay::new().pieces(&pieces));
    is_nowhere(&sandbox, &run);
    let lengths: Vec<usize> = seen(&sandbox, "content").iter().map(|unit| unit.as_str().unwrap().len()).collect();
    assert_eq!(lengths, [63_000 + 2_532 + "lahunter2 ".len(), "la la".len()]);
    has(&run.text, "la la[gone] la la");
}

#[test]
fn a_sub_agents_answer_is_held_too() {
    let sandbox = redacting(json!("sentence"));
    sandbox.write(".gemini/agents/scout.md", "---\nname: scout\ndescription: looks\n---\nLook.\n");
    let delegate = call("delegate_to_agent", json!({"agent_name": "scout", "objective": "look"}));
    let replay = Replay::new().parts(&[delegate]).pieces(&["I found hun", "ter2. And"]).says("Done.");
    let run = run(&sandbox, &replay);
    is_nowhere(&sandbox, &run);
    has(&requests(&sandbox)[2].to_string(), "I found [gone]. And");
}
