//! Worker hooks: asked line by line, held to their bounds, started again, given up, and never left behind.

mod refusals;

use std::sync::Arc;
use std::time::Duration;

use hookwright_hooks::{
    AfterModel, BeforeTool, BeforeToolVerdict, EventKind, GrowingText, Hook, HookEngine, Layer, Limits, LlmRequest,
    LlmResponse, Outcome, Places, Purpose, Registry, SharedJson, Source, Surroundings, declare,
};
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::world::{
    World, assert_proceeds, call_of, denied, eventually, gone, is_running, object, quick, tool_call, warning, within,
};

/// A worker in sh: notes its number, and for every line runs `body`, which finds the request's number in `$id`.
fn worker(body: &str) -> String {
    format!(
        "echo $$ >> pids\nanswer() {{ printf '{{\"id\":%s,\"output\":%s}}\\n' \"$1\" \"$2\"; }}\n\
         while IFS= read -r line; do id=${{line#*\\\"id\\\":}}; id=${{id%%,*}}\n{body}\ndone\necho eof >> ends\n"
    )
}

/// A hook that runs `w.sh` as a worker.
fn hook(more: Value) -> Value {
    let mut hook = json!({"type": "worker", "name": "w", "command": "sh w.sh", "timeout": 20_000});
    hook.as_object_mut().unwrap().extend(object(more));
    hook
}

fn engine_of(world: &World, body: &str, more: Value) -> HookEngine {
    world.write("w.sh", &worker(body));
    world.hooks(EventKind::BeforeTool, json!([hook(more)])).limits(quick()).build()
}

async fn fire(engine: &HookEngine) -> Outcome<BeforeToolVerdict> {
    within(engine.fire(&tool_call())).await
}

/// The numbers of the processes that were started.
fn pids(world: &World) -> Vec<u32> {
    let noted = fs::read_to_string(world.path("pids")).unwrap_or_default();
    noted.lines().map(|line| line.parse().unwrap()).collect()
}

fn health(engine: &HookEngine) -> hookwright_hooks::WorkerHealth {
    engine.worker_health(&the_hook(engine)).unwrap()
}

fn the_hook(engine: &HookEngine) -> Arc<Hook> {
    engine.registry().hooks()[0].clone()
}

#[tokio::test]
async fn one_process_answers_every_event_and_remembers() {
    let world = World::new();
    let body = r#"n=$((n+1)); answer "$id" "{\"decision\":\"deny\",\"reason\":\"no $n\"}""#;
    let engine = engine_of(&world, body, json!({}));
    for at in 1..=20 {
        assert_eq!(denied(&fire(&engine).await), format!("no {at}"));
    }
    assert_eq!(pids(&world).len(), 1);
    let health = health(&engine);
    assert_eq!((health.starts, health.answered, health.late, health.inert), (1, 20, 0, None));
    let pid = pids(&world)[0];
    assert_eq!(health.pid, Some(pid));
    engine.shutdown().await;
    assert!(!is_running(pid));
    assert_eq!(world.read("ends"), "eof\n", "it was let finish");
}

#[tokio::test]
async fn it_is_told_what_a_command_is_told_and_where_it_is() {
    let world = World::new();
    let body = r#"printf '%s\n' "$line" > told; env > env; pwd > where; answer "$id" null"#;
    let engine = engine_of(&world, body, json!({"env": {"OWN": "x y"}}));
    assert_proceeds(&fire(&engine).await);
    let told: Value = serde_json::from_str(&world.read("told")).unwrap();
    assert_eq!((told["id"].is_u64(), told.as_object().unwrap().len()), (true, 2));
    assert_eq!(told["input"]["hook_event_name"], "BeforeTool");
    assert_eq!(told["input"]["tool_input"], json!({"command": "ls"}));
    let env = world.read("env");
    for line in ["HOOKWRIGHT_WORKER=1", "OWN=x y", "GEMINI_SESSION_ID=session-1"] {
        assert!(env.lines().any(|found| found == line), "{env}");
    }
    assert_eq!(world.read("where").trim(), world.dir().to_str().unwrap());
}

#[tokio::test]
async fn a_command_is_no_worker_even_within_one() {
    let world = World::new();
    let mut env = super::world::environment();
    env.push(("HOOKWRIGHT_WORKER".into(), "1".into()));
    let hooks = json!([{"type": "command", "command": "test -z \"$HOOKWRIGHT_WORKER\" || exit 2"}]);
    let engine = world.hooks(EventKind::BeforeTool, hooks).environment(env).build();
    assert_proceeds(&fire(&engine).await);
}

#[tokio::test]
async fn an_answer_means_what_a_commands_output_means() {
    let world = World::new();
    let body = r#"answer "$id" "$(cat answer)""#;
    let engine = engine_of(&world, body, json!({}));
    world.write("answer", r#"{"hookSpecificOutput":{"tool_input":{"command":"pwd"}}}"#);
    match fire(&engine).await.verdict {
        BeforeToolVerdict::Proceed { changes: Some(changes) } => assert!(format!("{changes:?}").contains("pwd")),
        other => panic!("{other:?}"),
    }
    world.write("answer", "\"just words\"");
    let outcome = fire(&engine).await;
    assert_proceeds(&outcome);
    assert_eq!(outcome.messages[0].text, "just words");
    world.write("answer", r#"{"decision":7}"#);
    assert!(warning(&fire(&engine).await).contains("decision"));
    assert_eq!(pids(&world).len(), 1);
}

#[tokio::test]
async fn a_failure_falls_under_on_error_and_a_guard_says_no() {
    let body = r#"printf '{"id":%s,"error":"the list is gone"}\n' "$id""#;
    let world = World::new();
    let engine = engine_of(&world, body, json!({}));
    let outcome = fire(&engine).await;
    assert_proceeds(&outcome);
    assert!(warning(&outcome).contains("failed: the list is gone"), "{:?}", outcome.warnings);
    for more in [json!({"onError": "block"}), json!({"guard": true, "onError": "allow"})] {
        let world = World::new();
        let engine = engine_of(&world, body, more);
        assert!(denied(&fire(&engine).await).contains("the list is gone"));
        assert_eq!(pids(&world).len(), 1);
    }
}

/// Before, during and after an answer: what was asked fails or is answered, and the next one is asked again.
#[tokio::test]
async fn one_that_crashes_is_started_again() {
    for (crash, fails) in [
        ("exit 3", true),
        ("printf '{\"id\":1,\"outp'; exit 3", true),
        ("kill -9 $$", true),
        ("answer $id '{}'; exit 3", false),
    ] {
        let world = World::new();
        let body =
            format!("if [ ! -e crashed ]; then : > crashed; echo 'so sorry' >&2; {crash}; fi; answer $id '{{}}'");
        let engine = engine_of(&world, &body, json!({}));
        let outcome = fire(&engine).await;
        assert_proceeds(&outcome);
        assert_eq!(!outcome.warnings.is_empty(), fails, "{crash}: {:?}", outcome.warnings);
        if fails {
            let said = warning(&outcome);
            assert!(said.contains("its worker") && said.contains("so sorry"), "{said}");
        }
        let outcome = fire(&engine).await;
        assert!(outcome.warnings.is_empty(), "{crash}: {:?}", outcome.warnings);
        assert_eq!(pids(&world).len(), 2, "{crash}");
    }
}

#[tokio::test]
async fn one_that_dies_unseen_is_started_again_before_it_is_asked() {
    let world = World::new();
    let engine = engine_of(&world, "answer $id '{\"decision\":\"deny\",\"reason\":\"no\"}'", json!({"guard": true}));
    denied(&fire(&engine).await);
    let pid = pids(&world)[0];
    std::process::Command::new("kill").args(["-9", &pid.to_string()]).status_in_time().unwrap();
    gone(pid).await;
    eventually("its end is noticed", || health(&engine).pid.is_none()).await;
    assert_eq!(denied(&fire(&engine).await), "no");
    assert_eq!(pids(&world).len(), 2);
}

#[tokio::test]
async fn one_that_keeps_crashing_is_given_up_and_that_is_said_until_it_is_mended() {
    let world = World::new();
    let engine = engine_of(&world, "exit 7", json!({"guard": true}));
    for _ in 0..5 {
        assert!(denied(&fire(&engine).await).contains("ended with code 7"));
    }
    for _ in 0..3 {
        let outcome = fire(&engine).await;
        let said = denied(&outcome);
        assert!(said.contains("failed 5 times in a row (the last time: it ended with code 7)"), "{said}");
    }
    assert_eq!(pids(&world).len(), 5);
    assert!(health(&engine).inert.is_some());
    // Not so quickly that the time of the file is the same.
    world.write("w.sh", &worker("answer $id '{}'    # mended, and longer than before"));
    assert_proceeds(&fire(&engine).await);
    assert_eq!(health(&engine).inert, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_come_in_any_order() {
    let world = World::new();
    // Answers two at a time, the second one first, each with what it was asked.
    let body = "tool=${line#*\\\"command\\\":\\\"}; tool=${tool%%\\\"*}\n\
                if [ -z \"$held\" ]; then held=$id; what=$tool; continue; fi\n\
                answer $id \"{\\\"decision\\\":\\\"deny\\\",\\\"reason\\\":\\\"$tool\\\"}\"\n\
                answer $held \"{\\\"decision\\\":\\\"deny\\\",\\\"reason\\\":\\\"$what\\\"}\"; held=";
    let engine = engine_of(&world, body, json!({"concurrency": 2}));
    let ask = |command: &str| {
        let (engine, call) = (engine.clone(), call_of("run_shell_command", json!({"command": command})));
        tokio::spawn(async move { denied(&within(engine.fire(&call)).await).to_owned() })
    };
    for round in 0..10 {
        let (one, other) = (ask(&format!("a{round}")), ask(&format!("b{round}")));
        assert_eq!((one.await.unwrap(), other.await.unwrap()), (format!("a{round}"), format!("b{round}")));
    }
    assert_eq!(pids(&world).len(), 1);
}

#[tokio::test]
async fn what_nobody_asked_for_is_dropped_and_counted() {
    let world = World::new();
    let body = "answer 999 '{\"decision\":\"deny\"}'; echo; answer $id '{}'; answer $id '{\"decision\":\"deny\"}'";
    let engine = engine_of(&world, body, json!({}));
    for _ in 0..5 {
        let outcome = fire(&engine).await;
        assert_proceeds(&outcome);
        assert!(outcome.warnings.is_empty());
    }
    eventually("all is counted", || health(&engine).late == 10).await;
    assert_eq!((pids(&world).len(), health(&engine).answered), (1, 5));
}

/// What was written before the question is no answer to it, whichever number it guesses.
#[tokio::test]
async fn an_answer_before_its_question_counts_for_nothing() {
    let guard = || json!({"guard": true});
    // Ahead of everything: low numbers are nobody's.
    let early = "i=0; while [ $i -lt 200 ]; do i=$((i+1)); answer $i '{\"decision\":\"allow\"}'; done; \
                 answer $id '{\"decision\":\"deny\",\"reason\":\"mine\"}'";
    let world = World::new();
    let engine = engine_of(&world, early, guard());
    assert_eq!(denied(&fire(&engine).await), "mine");
    // The next one's number, guessed: that process is not believed any more, and another is asked.
    for guess in ["$((id+1))", "$((id+1000))", "9007199254740991"] {
        let world = World::new();
        let body = format!(
            "if [ -e asked ]; then answer $id '{{\"decision\":\"deny\",\"reason\":\"mine\"}}'; \
             else : > asked; answer $id '{{}}'; answer {guess} '{{}}'; fi"
        );
        let engine = engine_of(&world, &body, guard());
        assert_proceeds(&fire(&engine).await);
        eventually("it is not believed any more", || health(&engine).pid.is_none()).await;
        assert_eq!(denied(&fire(&engine).await), "mine", "{guess}");
        assert_eq!(pids(&world).len(), 2, "{guess}");
    }
    // In place of an answer it is a failure.
    let world = World::new();
    let engine = engine_of(&world, "answer $((id+1)) '{}'; sleep 600", guard());
    let outcome = fire(&engine).await;
    assert!(denied(&outcome).contains("which was not sent"), "{}", denied(&outcome));
}

#[tokio::test]
async fn a_flood_of_answers_to_nobody_is_no_way_to_live() {
    let floods = ["while :; do answer 999 '{}'; done", "while :; do echo; done", "while :; do echo '{\"id\":0}'; done"];
    for flood in floods {
        let world = World::new();
        let engine = engine_of(&world, flood, json!({}));
        let outcome = fire(&engine).await;
        assert!(warning(&outcome).contains("floods with lines that nobody asked for"), "{:?}", outcome.warnings);
        gone(pids(&world)[0]).await;
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn nobody_answers_in_a_workers_place() {
    let world = World::new();
    let body = "while [ ! -e go ]; do sleep 0.02; done; answer $id '{\"decision\":\"deny\",\"reason\":\"mine\"}'";
    let engine = engine_of(&world, body, json!({}));
    let call = tool_call();
    let attack = async {
        eventually("it runs", || !pids(&world).is_empty()).await;
        let pid = pids(&world)[0];
        let forged = "{\"id\":1,\"output\":{\"decision\":\"allow\"}}";
        let script = format!(
            "for fd in 0 1; do (echo '{forged}' > /proc/{pid}/fd/$fd) 2>&-; (timeout 1 head -n 1 /proc/{pid}/fd/$fd) 2>&-; done; true"
        );
        tokio::task::spawn_blocking(move || std::process::Command::new("sh").args(["-c", &script]).status_in_time())
            .await
            .unwrap()
            .unwrap();
        world.write("go", "");
    };
    let (outcome, ()) = within(async { tokio::join!(engine.fire(&call), attack) }).await;
    assert_eq!(denied(&outcome), "mine");
}

#[tokio::test]
async fn garbage_is_a_failure_and_the_next_process_starts_afresh() {
    for (garbage, words) in [
        ("echo debug: loading", "is no JSON object"),
        ("echo '{\"output\":{}}'", "has no `id`"),
        ("echo '[1]'", "is no JSON object"),
        ("echo '{\"id\":1,\"decision\":\"deny\"}'", "has neither `output` nor `error`"),
        ("printf '\\377\\376x\\n'", "is no JSON object"),
    ] {
        let world = World::new();
        let body = format!("if [ ! -e said ]; then : > said; {garbage}; sleep 600; fi; answer $id '{{}}'");
        let engine = engine_of(&world, &body, json!({"onError": "block"}));
        let outcome = fire(&engine).await;
        assert!(denied(&outcome).contains(words), "{garbage}: {}", denied(&outcome));
        let pid = pids(&world)[0];
        gone(pid).await;
        assert_proceeds(&fire(&engine).await);
        assert_eq!(pids(&world).len(), 2);
    }
}

#[tokio::test]
async fn a_line_without_an_end_fills_no_memory_and_an_answer_that_is_cut_off_is_no_yes() {
    for (start, words) in [("", "said a line of more than"), ("{\"id\":1,\"output\":\"", "cut off")] {
        let world = World::new();
        world.write("start", start);
        let body = "cat start; head -c 100000000 /dev/zero | tr '\\0' x; sleep 600";
        let engine = engine_of(&world, body, json!({"onError": {"exit": "block"}}));
        let outcome = fire(&engine).await;
        assert!(denied(&outcome).contains(words), "{}", denied(&outcome));
        gone(pids(&world)[0]).await;
    }
}

#[tokio::test]
async fn one_that_never_answers_times_out_and_is_replaced() {
    for body in [
        "[ -e old ] || { : > old; sleep 600; }; answer $id '{}'",
        "trap '' TERM; [ -e old ] || { : > old; while :; do sleep 600; done; }; answer $id '{}'",
    ] {
        let world = World::new();
        let engine = engine_of(&world, body, json!({"timeout": 300, "onError": "block"}));
        let outcome = fire(&engine).await;
        assert!(denied(&outcome).contains("300"), "{}", denied(&outcome));
        gone(pids(&world)[0]).await;
        let patient = engine_of(&world, body, json!({"timeout": 20_000, "onError": "block"}));
        assert_proceeds(&fire(&patient).await);
    }
}

/// It does not read: what it is sent does not fit into the pipe, and the line is never finished.
#[tokio::test]
async fn one_that_never_reads_times_out_and_is_replaced() {
    let world = World::new();
    world.write("w.sh", "echo $$ >> pids; exec sleep 600");
    let hooks = json!([hook(json!({"timeout": 300, "onError": "block"}))]);
    let engine = world.hooks(EventKind::BeforeTool, hooks).limits(quick()).build();
    let call = call_of("write_file", json!({"content": "x".repeat(1 << 20)}));
    for _ in 0..2 {
        denied(&within(engine.fire(&call)).await);
    }
    let pids = pids(&world);
    assert_eq!(pids.len(), 2);
    for pid in pids {
        gone(pid).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_answer_is_dropped_while_others_are_answered() {
    let world = World::new();
    // The first is answered with the third.
    let body = "n=$((n+1)); if [ $n = 1 ]; then first=$id; : > asked; continue; fi; \
                [ $n = 3 ] && answer $first '{\"decision\":\"deny\"}'; answer $id '{}'";
    let engine = engine_of(&world, body, json!({"concurrency": 4, "timeout": 500}));
    let (slow, call) = (engine.clone(), tool_call());
    let first = tokio::spawn(async move { within(slow.fire(&call)).await });
    eventually("it was asked", || world.path("asked").exists()).await;
    assert_proceeds(&fire(&engine).await);
    assert!(warning(&first.await.unwrap()).contains("500"));
    assert_proceeds(&fire(&engine).await);
    eventually("it is counted", || health(&engine).late == 1).await;
    assert_eq!(pids(&world).len(), 1, "one that answers others is not deaf");
}

#[tokio::test]
async fn a_cancel_gives_up_the_request_and_not_the_process() {
    let world = World::new();
    let engine = engine_of(
        &world,
        "n=$((n+1)); while [ $n = 1 ] && [ ! -e go ]; do sleep 0.02; done; answer $id '{}'",
        json!({}),
    );
    let cancel = CancellationToken::new();
    let call = tool_call();
    let fired = engine.fire_until(&call, &cancel);
    let stop = async {
        eventually("it runs", || !pids(&world).is_empty()).await;
        cancel.cancel();
    };
    let (outcome, ()) = within(async { tokio::join!(fired, stop) }).await;
    assert_eq!(outcome.runs[0].status.as_str(), "cancelled");
    world.write("go", "");
    assert_proceeds(&fire(&engine).await);
    assert_eq!(pids(&world).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_replaces_the_process_and_drops_no_request() {
    let world = World::new();
    let engine = engine_of(
        &world,
        ": > asked; while [ ! -e go ]; do sleep 0.02; done; answer $id '{\"decision\":\"deny\",\"reason\":\"old\"}'",
        json!({}),
    );
    let (old, call) = (engine.clone(), tool_call());
    let asked = tokio::spawn(async move { denied(&within(old.fire(&call)).await).to_owned() });
    eventually("it was asked", || world.path("asked").exists()).await;
    world.write("other.sh", &worker("answer $id '{\"decision\":\"deny\",\"reason\":\"new\"}'"));
    let settings = json!({"hooks": {"BeforeTool": [{"hooks": [hook(json!({"command": "sh other.sh"}))]}]}}).to_string();
    engine.reload(Registry::new(vec![declare(&Layer::new(
        Source::Project,
        std::path::Path::new("s.json"),
        &settings,
    ))]));
    assert_eq!(denied(&fire(&engine).await), "new");
    world.write("go", "");
    assert_eq!(asked.await.unwrap(), "old");
    gone(pids(&world)[0]).await;
    // A hook that is switched off needs no process either.
    let pid = pids(&world)[1];
    assert!(is_running(pid));
    engine.set_enabled("w", false).unwrap();
    gone(pid).await;
}

#[tokio::test]
async fn a_script_that_changes_is_another_worker_and_so_is_one_of_another_session() {
    let world = World::new();
    let engine = engine_of(&world, "answer $id '{\"decision\":\"deny\",\"reason\":\"old\"}'", json!({}));
    assert_eq!(denied(&fire(&engine).await), "old");
    world.write("w.sh", &worker("answer $id '{\"decision\":\"deny\",\"reason\":\"new one\"}'"));
    assert_eq!(denied(&fire(&engine).await), "new one");
    gone(pids(&world)[0]).await;
    engine.set_session(hookwright_hooks::Session { id: "session-2".into(), ..world.session() });
    assert_eq!(denied(&fire(&engine).await), "new one");
    gone(pids(&world)[1]).await;
    assert_eq!(pids(&world).len(), 3);
}

/// What a script loads is part of it, and the same surroundings are no news.
#[tokio::test]
async fn a_script_whose_module_changes_is_another_worker_too() {
    let world = World::new();
    world.write("rules.sh", "reason=old");
    world.write(
        "w.sh",
        &format!(
            ". ./rules.sh\n{}",
            worker("answer $id \"{\\\"decision\\\":\\\"deny\\\",\\\"reason\\\":\\\"$reason\\\"}\"")
        ),
    );
    let engine = world.hooks(EventKind::BeforeTool, json!([hook(json!({}))])).limits(quick()).build();
    assert_eq!(denied(&fire(&engine).await), "old");
    let same = Places::everywhere(Surroundings { env: super::world::environment(), directory: None });
    engine.set_places(same);
    assert_eq!(denied(&fire(&engine).await), "old");
    assert_eq!(pids(&world).len(), 1);
    world.write("rules.sh", "reason=newer");
    assert_eq!(denied(&fire(&engine).await), "newer");
    let mut env = super::world::environment();
    env.push(("MORE".into(), "1".into()));
    engine.set_places(Places::everywhere(Surroundings { env, directory: None }));
    assert_eq!(denied(&fire(&engine).await), "newer");
    assert_eq!(pids(&world).len(), 3);
}

#[tokio::test]
async fn hooks_of_one_layer_share_a_process_and_layers_do_not() {
    let world = World::new();
    world.write("w.sh", &worker("answer $id '{}'"));
    let two = json!({"hooks": {"BeforeTool": [{"hooks": [hook(json!({"name": "a"})), hook(json!({"name": "b"}))]}]}});
    let own = json!({"hooks": {"BeforeTool": [{"hooks": [hook(json!({"name": "c"}))]}]}});
    let engine = world.layers(&[(Source::Project, two), (Source::User, own)]).limits(quick()).build();
    let outcome = fire(&engine).await;
    assert_eq!(outcome.runs.len(), 3);
    assert_proceeds(&outcome);
    assert_eq!(pids(&world).len(), 2);
}

#[tokio::test]
async fn one_that_grows_too_large_is_replaced() {
    let world = World::new();
    if !cfg!(target_os = "linux") {
        return;
    }
    let grow = "x=$(head -c 80000000 /dev/zero | tr '\\0' x)";
    let body = format!("[ -e big ] || {{ : > big; {grow}; sleep 600; }}; answer $id '{{}}'");
    let engine = engine_of(&world, &body, json!({"maxMemoryMb": 40, "onError": "block"}));
    let outcome = fire(&engine).await;
    assert!(denied(&outcome).contains("took more than 40 MB of memory"), "{}", denied(&outcome));
    gone(pids(&world)[0]).await;
    assert_proceeds(&fire(&engine).await);
    // One that is too large with nothing to do goes in peace.
    let world = World::new();
    let engine =
        engine_of(&world, &format!("answer $id '{{}}'; {grow}"), json!({"maxMemoryMb": 40, "onError": "block"}));
    assert_proceeds(&fire(&engine).await);
    gone(pids(&world)[0]).await;
    assert_proceeds(&fire(&engine).await);
}

#[tokio::test]
async fn one_with_nothing_to_do_goes_and_comes_back() {
    let world = World::new();
    let engine = engine_of(&world, "answer $id '{}'", json!({"idleTimeout": 100}));
    for at in 1..=2 {
        assert_proceeds(&fire(&engine).await);
        let pid = pids(&world)[at - 1];
        gone(pid).await;
        assert_eq!(pids(&world).len(), at);
    }
    assert_eq!(world.read("ends"), "eof\neof\n");
}

#[tokio::test]
async fn one_can_be_there_from_the_beginning() {
    let world = World::new();
    let engine = engine_of(&world, "answer $id '{}'", json!({"start": "session"}));
    engine.start_workers();
    eventually("it runs", || pids(&world).len() == 1).await;
    assert_proceeds(&fire(&engine).await);
    assert_eq!(pids(&world).len(), 1);
    // The one that is started on use is declared first, so it would be the first to run.
    let both = World::new();
    both.write("lazy.sh", ": > lazy");
    both.write("w.sh", &worker("answer $id '{}'"));
    let hooks = json!([hook(json!({"name": "lazy", "command": "sh lazy.sh"})), hook(json!({"start": "session"}))]);
    let engine = both.hooks(EventKind::BeforeTool, hooks).limits(quick()).build();
    engine.start_workers();
    eventually("the other runs", || pids(&both).len() == 1).await;
    engine.shutdown().await;
    assert!(!both.path("lazy").exists());
}

#[tokio::test]
async fn nobody_outlives_an_engine_that_is_dropped() {
    let world = World::new();
    let engine = engine_of(&world, "trap '' TERM HUP; sleep 600 & answer $id '{}'", json!({}));
    assert_proceeds(&fire(&engine).await);
    let pid = pids(&world)[0];
    drop(engine);
    gone(pid).await;
}

fn chunk<'a>(request: &SharedJson, text: &'a str, so_far: &GrowingText) -> AfterModel<'a> {
    AfterModel {
        llm_request: request.clone(),
        llm_response: std::borrow::Cow::Owned(LlmResponse::from_text(text)),
        thoughts: "".into(),
        code: "".into(),
        citations: "".into(),
        purpose: Purpose::Answer,
        content: text.into(),
        full_content: so_far.clone(),
    }
}

/// Streams so many pieces of an answer past a worker's hook; how many bytes each line had.
async fn stream(world: &World, body: &str, count: usize) -> Vec<usize> {
    stream_of(20_000, world, body, count).await
}

/// The same over a request of such a size.
async fn stream_of(size: usize, world: &World, body: &str, count: usize) -> Vec<usize> {
    let notes = "printf '%s\\n' \"${#line}\" >> sizes; ";
    world.write("w.sh", &worker(&format!("{notes}{body}")));
    let limits = Limits { grace: Duration::from_millis(200), ..Limits::default() };
    let engine = world.hooks(EventKind::AfterModel, json!([hook(json!({}))])).limits(limits).build();
    let request = SharedJson::of(&LlmRequest { model: "m".repeat(size), ..LlmRequest::default() });
    let mut so_far = GrowingText::default();
    for at in 0..count {
        let text = format!("word {at} ");
        so_far.push(&text);
        let outcome = within(engine.fire(&chunk(&request, &text, &so_far))).await;
        assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    }
    world.read("sizes").lines().map(|line| line.parse().unwrap()).collect()
}

#[tokio::test]
async fn a_large_request_is_sent_once_to_a_worker_that_keeps_it() {
    let world = World::new();
    let body = "case $line in *hello*) echo '{\"id\":0,\"features\":[\"refs\"]}';; *) answer $id '{}';; esac";
    let sizes = stream(&world, body, 10).await;
    // The greeting, the whole (twice if the greeting was answered later), and then what is new.
    assert_eq!(sizes.len(), 11);
    assert!(sizes[1] > 20_000 && sizes[2..].iter().filter(|size| **size > 2000).count() <= 1, "{sizes:?}");
    assert_eq!(pids(&world).len(), 1);
}

/// It would be read twice otherwise, and ten megabytes take their time.
#[tokio::test]
async fn before_a_very_large_request_the_greeting_is_waited_for() {
    const SIZE: usize = 300_000;
    let body =
        "case $line in *hello*) sleep 0.1; echo '{\"id\":0,\"features\":[\"refs\"]}';; *) answer $id '{}';; esac";
    let once = |sizes: &Vec<usize>| sizes.len() == 4 && sizes[1] > SIZE && sizes[2..].iter().all(|size| *size < 2000);
    let mut tries = Vec::new();
    // A machine with much else to do may not start it in time.
    while tries.len() < 5 && !tries.iter().any(once) {
        tries.push(stream_of(SIZE, &World::new(), body, 3).await);
    }
    assert!(tries.iter().any(once), "{tries:?}");
    // Who does not know greetings gets it nevertheless, and who dies of them is started again without.
    let silent = World::new();
    let sizes = stream_of(SIZE, &silent, "case $line in *hello*) ;; *) answer $id '{}';; esac", 2).await;
    assert!(sizes.len() == 3 && sizes[1..].iter().all(|size| *size > SIZE), "{sizes:?}");
    assert_eq!(pids(&silent).len(), 1);
    let shy = World::new();
    let sizes = stream_of(SIZE, &shy, "case $line in *hello*) exit 1;; *) answer $id '{}';; esac", 2).await;
    assert!(sizes.len() == 3 && sizes[1..].iter().all(|size| *size > SIZE), "{sizes:?}");
    assert_eq!(pids(&shy).len(), 2);
}

#[tokio::test]
async fn one_that_does_not_keep_it_gets_it_every_time() {
    let world = World::new();
    let sizes = stream(&world, "answer $id '{}'", 4).await;
    assert!(sizes.len() == 5 && sizes[1..].iter().all(|size| *size > 20_000), "{sizes:?}");
}

#[tokio::test]
async fn one_that_dies_of_the_greeting_is_not_greeted_again() {
    let world = World::new();
    let sizes = stream(&world, "case $line in *hello*) exit 1;; *) answer $id '{}';; esac", 4).await;
    assert_eq!(pids(&world).len(), 2);
    assert_eq!(sizes.len(), 5, "{sizes:?}");
}

#[tokio::test]
async fn tool_events_know_no_greeting() {
    let world = World::new();
    let engine =
        engine_of(&world, "case $line in *hello*) exit 1;; esac; answer $id '{}'", json!({"onError": "block"}));
    let calls: Vec<BeforeTool<'_>> = (0..3).map(|_| tool_call()).collect();
    for call in &calls {
        assert_proceeds(&within(engine.fire(call)).await);
    }
    assert_eq!(pids(&world).len(), 1);
}
