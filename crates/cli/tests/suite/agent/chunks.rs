//! `chunks` on AfterModel hooks with the built binary: formats, telemetry, signals. The rest is in
//! `crates/agent/tests/suite/headless/chunks.rs`.

use super::*;
use hookwright_testkit::deadline::*;
use hookwright_testkit::replay::chunk;

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
fn project_with_chunk_hooks(hooks: &[(Value, &str)]) -> Sandbox {
    let sandbox = project(&[]);
    let hook = |(at, (chunks, script)): (usize, &(Value, &str))| {
        let name = format!("hook{}", at + 1);
        let command = sandbox.script(&format!("{name}.sh"), script);
        json!({"type": "command", "name": name, "command": command, "chunks": chunks})
    };
    let hooks: Vec<Value> = hooks.iter().enumerate().map(hook).collect();
    sandbox.settings(&json!({"hooks": {"AfterModel": [{"hooks": hooks}]}}));
    sandbox
}

fn redacting_project(chunks: Value) -> Sandbox {
    project_with_chunk_hooks(&[(chunks, REDACT_SCRIPT)])
}

/// Returns one field of the redactor's inputs, one for each run.
fn redactor_inputs(sandbox: &Sandbox, field: &str) -> Vec<Value> {
    let text = fs::read_to_string(sandbox.sibling_path("seen.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()[field].clone()).collect()
}

/// Asserts that no file or output contains the secret, or a half of it that no hook has seen with the other.
#[track_caller]
fn assert_secret_nowhere(sandbox: &Sandbox, run: &ProgramRun) {
    let telemetry = sandbox.sibling_path("telemetry.log").to_str().unwrap().to_owned();
    let kept = files_under(&sandbox.home()).into_iter().chain([telemetry]);
    let kept = kept.map(|file| String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned());
    for text in kept.chain([run.stdout.clone(), run.stderr.clone()]) {
        assert_lacks(&text, SECRET);
        assert_lacks(&text, "ter2");
    }
}

fn text_chunk(text: &str) -> Value {
    chunk(&[json!({"text": text})], false)
}

#[test]
fn it_is_in_no_format_either() {
    for format in ["json", "stream-json"] {
        let sandbox = redacting_project(json!("sentence"));
        let pieces: Vec<String> = "So. The word is hunter2, yes. So".chars().map(String::from).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let run = run(&sandbox, &ReplayBuilder::new().says_in_chunks(&pieces), &["-o", format]).expect_exit_code(0);
        assert_contains(&run.stdout, "The word is [gone], yes. ");
        assert_secret_nowhere(&sandbox, &run);
        assert_eq!(redactor_inputs(&sandbox, "content"), ["So. ", "The word is hunter2, yes. ", "So"]);
        let so_far = ["So. ", "So. The word is hunter2, yes. ", "So. The word is [gone], yes. So"];
        assert_eq!(redactor_inputs(&sandbox, "full_content"), so_far);
    }
}

#[test]
fn a_hook_runs_per_sentence_and_sees_what_came_with_it() {
    let sandbox = redacting_project(json!("sentence"));
    let think = |words: &str| chunk(&[json!({"text": words, "thought": true})], false);
    let usage = json!({"promptTokenCount": 3, "candidatesTokenCount": 20, "totalTokenCount": 23});
    let mut chunks = vec![think("Let me"), think(" think"), json!({"candidates": []})];
    chunks.extend("One two three. Four five six. Seven eight nine.".split_inclusive(' ').map(text_chunk));
    chunks.push(chunk(&[], true));
    chunks.push(json!({"usageMetadata": usage}));
    let answer = run(&sandbox, &ReplayBuilder::new().stream(chunks), &["-o", "json"]).expect_exit_code(0).json();
    assert_eq!(answer["response"], "One two three. Four five six. Seven eight nine.");
    assert_eq!(redactor_inputs(&sandbox, "content"), ["One two three. ", "Four five six. ", "Seven eight nine."]);
    assert_eq!(redactor_inputs(&sandbox, "thoughts"), [json!("Let me think"), Value::Null, Value::Null]);
    let last = redactor_inputs(&sandbox, "llm_response").pop().unwrap();
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
    assert_eq!(last["usageMetadata"], usage);
    assert_eq!(answer["stats"]["models"]["gemini-2.5-pro"]["tokens"]["total"], 23, "{answer}");
}

#[test]
fn a_denied_unit_drops_the_answer() {
    let script = r#"case $(cat) in *'"content":"'*hunter2*'"full_content"'*) echo 'a secret' >&2; exit 2;; esac"#;
    let sandbox = project_with_chunk_hooks(&[(json!("sentence"), script)]);
    let run = run(
        &sandbox,
        &ReplayBuilder::new().says_in_chunks(&["Well, yes. It is hun", "ter2", ". Never. "]),
        &["-o", "json"],
    )
    .expect_exit_code(0);
    assert_eq!(run.json()["response"], "");
    assert_eq!(run.json()["warnings"], json!(["Agent execution blocked: a secret"]));
    assert_lacks(&transcript(&sandbox), "hun");
    assert_lacks(&transcript(&sandbox), "Well");
}

/// Starts a model server that sends these pieces and then pauses until the program leaves, and returns its address.
pub(crate) fn pausing(pieces: &'static [&'static str]) -> String {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let answer = |mut connection: std::net::TcpStream| {
        let _ = connection.read(&mut [0; 65536]);
        let piece =
            |text: &&str| format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": text}}]}));
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
        let said: String = pieces.iter().map(piece).collect();
        let _ = connection.write_all(format!("{head}{said}").as_bytes());
        let _ = connection.read(&mut [0; 1]);
    };
    std::thread::spawn(move || {
        for connection in listener.connections() {
            std::thread::spawn(move || answer(connection));
        }
    });
    base
}

/// The model pauses in the middle of a sentence: nothing of it is shown, also after a cancel.
#[cfg(unix)]
#[test]
fn a_cancel_shows_nothing_that_was_held() {
    let base = pausing(&["It is so. ", "The word is ", "hunter2"]);
    let sandbox = redacting_project(json!("sentence")).env("OPENAI_BASE_URL", &base).env("OPENAI_MODEL", "m");
    let child = sandbox.command(&["-p", "hi"]).spawn().unwrap();
    hookwright_testkit::wait_until("the first sentence is seen", || !redactor_inputs(&sandbox, "content").is_empty());
    signals::send("-INT", &child.id().to_string());
    let run = hookwright_testkit::finish(child).expect_exit_code(130);
    assert_lacks(&run.stdout, "The word");
    assert_secret_nowhere(&sandbox, &run);
    assert_lacks(&transcript(&sandbox), "The word");
    assert_eq!(redactor_inputs(&sandbox, "content"), ["It is so. "]);
}

#[test]
fn the_shipped_redactor_sees_addresses_whole() {
    if !hookwright_testkit::has_program("python3") {
        return hookwright_testkit::report_skipped("the_shipped_redactor_sees_addresses_whole", "there is no python3");
    }
    let sandbox = project(&[]);
    sandbox.run(&["hooks", "add", "pii-redactor"]).expect_exit_code(0);
    let pieces = ["Write to some", ".one@mail.exa", "mple.com or call +1 (415) 5", "55-0132. Or", " don't."];
    let run = run(&sandbox, &ReplayBuilder::new().says_in_chunks(&pieces), &[]).expect_exit_code(0);
    assert_eq!(run.stdout, "Write to [email redacted] or call [phone redacted]. Or don't.\n");
}

#[test]
fn lists_and_reports_know_it() {
    let sandbox = project_with_chunk_hooks(&[(json!("sentence"), "exit 0"), (json!(200), "exit 0")]);
    let listed = sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0).json();
    let chunks: Vec<&Value> = listed.as_array().unwrap().iter().map(|hook| &hook["chunks"]).collect();
    assert_eq!(chunks, [&json!("sentence"), &json!(200)]);
    assert_contains(&sandbox.run(&["hooks", "show", "hook2"]).expect_exit_code(0).stdout, "200");
    sandbox.settings(
        &json!({"hooks": {"AfterModel": [{"hooks": [{"type": "command", "command": "true", "chunks": "words"}]}]}}),
    );
    let said = sandbox.run(&["hooks", "validate"]);
    assert_contains(
        &format!("{}{}", said.stdout, said.stderr),
        "`chunks` should be \"sentence\", \"line\" or a number of characters",
    );
}
