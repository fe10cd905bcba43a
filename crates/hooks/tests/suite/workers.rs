//! Worker hooks: requests line by line, limits, restarts, giving up, and that no process is left behind.

mod refusals;

use std::sync::Arc;
use std::time::Duration;

use hookwright_hooks::{
    AfterModel, BeforeTool, BeforeToolVerdict, EventKind, ExecEnv, ExecEnvs, GrowingText, Hook, HookEngine, Layer,
    LlmRequest, LlmResponse, Outcome, Purpose, Registry, RunLimits, SharedJson, Source, parse_layer,
};
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::fixture::{
    EngineFixture, assert_proceeds, deny_reason, eventually, into_object, is_running, only_warning, short_grace_limits,
    tool_call, tool_call_of, wait_until_gone, with_hang_timeout,
};

/// Returns a worker in sh, which records its process id and runs `body` for every line, with the request's id in `$id`.
fn worker_script(body: &str) -> String {
    format!(
        "echo $$ >> pids\nanswer() {{ printf '{{\"id\":%s,\"output\":%s}}\\n' \"$1\" \"$2\"; }}\n\
         while IFS= read -r line; do id=${{line#*\\\"id\\\":}}; id=${{id%%,*}}\n{body}\ndone\necho eof >> ends\n"
    )
}

/// Returns a hook that runs `w.sh` as a worker.
fn worker_hook(more: Value) -> Value {
    let mut hook = json!({"type": "worker", "name": "w", "command": "sh w.sh", "timeout": 20_000});
    hook.as_object_mut().unwrap().extend(into_object(more));
    hook
}

fn worker_engine(world: &EngineFixture, body: &str, more: Value) -> HookEngine {
    world.write("w.sh", &worker_script(body));
    world.engine_with_hooks(EventKind::BeforeTool, json!([worker_hook(more)])).limits(short_grace_limits()).build()
}

async fn fire_tool_call(engine: &HookEngine) -> Outcome<BeforeToolVerdict> {
    with_hang_timeout(engine.fire(&tool_call())).await
}

/// Returns the process ids of the workers that were started.
fn started_pids(world: &EngineFixture) -> Vec<u32> {
    let noted = fs::read_to_string(world.path("pids")).unwrap_or_default();
    noted.lines().map(|line| line.parse().unwrap()).collect()
}

fn worker_health(engine: &HookEngine) -> hookwright_hooks::WorkerHealth {
    engine.worker_health(&only_hook(engine)).unwrap()
}

fn only_hook(engine: &HookEngine) -> Arc<Hook> {
    engine.registry().hooks()[0].clone()
}

#[tokio::test]
async fn one_process_answers_every_event_and_remembers() {
    let world = EngineFixture::new();
    let body = r#"n=$((n+1)); answer "$id" "{\"decision\":\"deny\",\"reason\":\"no $n\"}""#;
    let engine = worker_engine(&world, body, json!({}));
    for at in 1..=20 {
        assert_eq!(deny_reason(&fire_tool_call(&engine).await), format!("no {at}"));
    }
    assert_eq!(started_pids(&world).len(), 1);
    let health = worker_health(&engine);
    assert_eq!((health.starts, health.answered, health.late_answers, health.inert), (1, 20, 0, None));
    let pid = started_pids(&world)[0];
    assert_eq!(health.pid, Some(pid));
    engine.shutdown().await;
    assert!(!is_running(pid));
    assert_eq!(world.read("ends"), "eof\n", "it was let finish");
}

#[tokio::test]
async fn a_worker_gets_a_commands_input_and_environment() {
    let world = EngineFixture::new();
    let body = r#"printf '%s\n' "$line" > told; env > env; pwd > where; answer "$id" null"#;
    let engine = worker_engine(&world, body, json!({"env": {"OWN": "x y"}}));
    assert_proceeds(&fire_tool_call(&engine).await);
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
    let world = EngineFixture::new();
    let mut env = super::fixture::environment();
    env.push(("HOOKWRIGHT_WORKER".into(), "1".into()));
    let hooks = json!([{"type": "command", "command": "test -z \"$HOOKWRIGHT_WORKER\" || exit 2"}]);
    let engine = world.engine_with_hooks(EventKind::BeforeTool, hooks).environment(env).build();
    assert_proceeds(&fire_tool_call(&engine).await);
}

#[tokio::test]
async fn an_answer_means_what_a_commands_output_means() {
    let world = EngineFixture::new();
    let body = r#"answer "$id" "$(cat answer)""#;
    let engine = worker_engine(&world, body, json!({}));
    world.write("answer", r#"{"hookSpecificOutput":{"tool_input":{"command":"pwd"}}}"#);
    match fire_tool_call(&engine).await.verdict {
        BeforeToolVerdict::Proceed { changes: Some(changes) } => assert!(format!("{changes:?}").contains("pwd")),
        other => panic!("{other:?}"),
    }
    world.write("answer", "\"just words\"");
    let outcome = fire_tool_call(&engine).await;
    assert_proceeds(&outcome);
    assert_eq!(outcome.messages[0].text, "just words");
    world.write("answer", r#"{"decision":7}"#);
    assert!(only_warning(&fire_tool_call(&engine).await).contains("decision"));
    assert_eq!(started_pids(&world).len(), 1);
}

#[tokio::test]
async fn a_failure_falls_under_on_error_and_a_guard_says_no() {
    let body = r#"printf '{"id":%s,"error":"the list is gone"}\n' "$id""#;
    let world = EngineFixture::new();
    let engine = worker_engine(&world, body, json!({}));
    let outcome = fire_tool_call(&engine).await;
    assert_proceeds(&outcome);
    assert!(only_warning(&outcome).contains("failed: the list is gone"), "{:?}", outcome.warnings);
    for more in [json!({"onError": "block"}), json!({"guard": true, "onError": "allow"})] {
        let world = EngineFixture::new();
        let engine = worker_engine(&world, body, more);
        assert!(deny_reason(&fire_tool_call(&engine).await).contains("the list is gone"));
        assert_eq!(started_pids(&world).len(), 1);
    }
}

/// The worker crashes before, during or after an answer: the request fails or is answered, and the next one reaches a
/// new process.
#[tokio::test]
async fn a_crashed_worker_is_restarted() {
    for (crash, fails) in [
        ("exit 3", true),
        ("printf '{\"id\":1,\"outp'; exit 3", true),
        ("kill -9 $$", true),
        ("answer $id '{}'; exit 3", false),
    ] {
        let world = EngineFixture::new();
        let body =
            format!("if [ ! -e crashed ]; then : > crashed; echo 'so sorry' >&2; {crash}; fi; answer $id '{{}}'");
        let engine = worker_engine(&world, &body, json!({}));
        let outcome = fire_tool_call(&engine).await;
        assert_proceeds(&outcome);
        assert_eq!(!outcome.warnings.is_empty(), fails, "{crash}: {:?}", outcome.warnings);
        if fails {
            let said = only_warning(&outcome);
            assert!(said.contains("its worker") && said.contains("so sorry"), "{said}");
        }
        let outcome = fire_tool_call(&engine).await;
        assert!(outcome.warnings.is_empty(), "{crash}: {:?}", outcome.warnings);
        assert_eq!(started_pids(&world).len(), 2, "{crash}");
    }
}

#[tokio::test]
async fn a_worker_that_died_while_idle_is_restarted_before_use() {
    let world = EngineFixture::new();
    let engine =
        worker_engine(&world, "answer $id '{\"decision\":\"deny\",\"reason\":\"no\"}'", json!({"guard": true}));
    deny_reason(&fire_tool_call(&engine).await);
    let pid = started_pids(&world)[0];
    std::process::Command::new("kill").args(["-9", &pid.to_string()]).status_in_time().unwrap();
    wait_until_gone(pid).await;
    eventually("its end is noticed", || worker_health(&engine).pid.is_none()).await;
    assert_eq!(deny_reason(&fire_tool_call(&engine).await), "no");
    assert_eq!(started_pids(&world).len(), 2);
}

#[tokio::test]
async fn a_crashing_worker_is_given_up_until_it_changes() {
    let world = EngineFixture::new();
    let engine = worker_engine(&world, "exit 7", json!({"guard": true}));
    for _ in 0..5 {
        assert!(deny_reason(&fire_tool_call(&engine).await).contains("ended with code 7"));
    }
    for _ in 0..3 {
        let outcome = fire_tool_call(&engine).await;
        let said = deny_reason(&outcome);
        assert!(said.contains("failed 5 times in a row (the last time: it ended with code 7)"), "{said}");
    }
    assert_eq!(started_pids(&world).len(), 5);
    assert!(worker_health(&engine).inert.is_some());
    // The new script has another length, in case the file's time is the same.
    world.write("w.sh", &worker_script("answer $id '{}'    # mended, and longer than before"));
    assert_proceeds(&fire_tool_call(&engine).await);
    assert_eq!(worker_health(&engine).inert, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_come_in_any_order() {
    let world = EngineFixture::new();
    // Answers two requests at a time, the second one first, each with its command.
    let body = "tool=${line#*\\\"command\\\":\\\"}; tool=${tool%%\\\"*}\n\
                if [ -z \"$held\" ]; then held=$id; what=$tool; continue; fi\n\
                answer $id \"{\\\"decision\\\":\\\"deny\\\",\\\"reason\\\":\\\"$tool\\\"}\"\n\
                answer $held \"{\\\"decision\\\":\\\"deny\\\",\\\"reason\\\":\\\"$what\\\"}\"; held=";
    let engine = worker_engine(&world, body, json!({"concurrency": 2}));
    let ask = |command: &str| {
        let (engine, call) = (engine.clone(), tool_call_of("run_shell_command", json!({"command": command})));
        tokio::spawn(async move { deny_reason(&with_hang_timeout(engine.fire(&call)).await).to_owned() })
    };
    for round in 0..10 {
        let (one, other) = (ask(&format!("a{round}")), ask(&format!("b{round}")));
        assert_eq!((one.await.unwrap(), other.await.unwrap()), (format!("a{round}"), format!("b{round}")));
    }
    assert_eq!(started_pids(&world).len(), 1);
}

#[tokio::test]
async fn unrequested_answers_are_dropped_and_counted() {
    let world = EngineFixture::new();
    let body = "answer 999 '{\"decision\":\"deny\"}'; echo; answer $id '{}'; answer $id '{\"decision\":\"deny\"}'";
    let engine = worker_engine(&world, body, json!({}));
    for _ in 0..5 {
        let outcome = fire_tool_call(&engine).await;
        assert_proceeds(&outcome);
        assert!(outcome.warnings.is_empty());
    }
    eventually("all is counted", || worker_health(&engine).late_answers == 10).await;
    assert_eq!((started_pids(&world).len(), worker_health(&engine).answered), (1, 5));
}

/// An answer that was written before its request does not count, whichever id it guesses.
#[tokio::test]
async fn an_answer_before_its_request_is_ignored() {
    let guard = || json!({"guard": true});
    // Before any request: low ids are never used.
    let early = "i=0; while [ $i -lt 200 ]; do i=$((i+1)); answer $i '{\"decision\":\"allow\"}'; done; \
                 answer $id '{\"decision\":\"deny\",\"reason\":\"mine\"}'";
    let world = EngineFixture::new();
    let engine = worker_engine(&world, early, guard());
    assert_eq!(deny_reason(&fire_tool_call(&engine).await), "mine");
    // The id of the next request, guessed: that process is not trusted any more, and another one is started.
    for guess in ["$((id+1))", "$((id+1000))", "9007199254740991"] {
        let world = EngineFixture::new();
        let body = format!(
            "if [ -e asked ]; then answer $id '{{\"decision\":\"deny\",\"reason\":\"mine\"}}'; \
             else : > asked; answer $id '{{}}'; answer {guess} '{{}}'; fi"
        );
        let engine = worker_engine(&world, &body, guard());
        assert_proceeds(&fire_tool_call(&engine).await);
        eventually("it is not believed any more", || worker_health(&engine).pid.is_none()).await;
        assert_eq!(deny_reason(&fire_tool_call(&engine).await), "mine", "{guess}");
        assert_eq!(started_pids(&world).len(), 2, "{guess}");
    }
    // Instead of an answer it is a failure.
    let world = EngineFixture::new();
    let engine = worker_engine(&world, "answer $((id+1)) '{}'; sleep 600", guard());
    let outcome = fire_tool_call(&engine).await;
    assert!(deny_reason(&outcome).contains("which was not sent"), "{}", deny_reason(&outcome));
}

#[tokio::test]
async fn a_flood_of_unrequested_answers_ends_the_worker() {
    let floods = ["while :; do answer 999 '{}'; done", "while :; do echo; done", "while :; do echo '{\"id\":0}'; done"];
    for flood in floods {
        let world = EngineFixture::new();
        let engine = worker_engine(&world, flood, json!({}));
        let outcome = fire_tool_call(&engine).await;
        assert!(
            only_warning(&outcome).contains("sends too many lines that answer no request"),
            "{:?}",
            outcome.warnings
        );
        wait_until_gone(started_pids(&world)[0]).await;
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn another_process_cannot_answer_for_a_worker() {
    let world = EngineFixture::new();
    let body = "while [ ! -e go ]; do sleep 0.02; done; answer $id '{\"decision\":\"deny\",\"reason\":\"mine\"}'";
    let engine = worker_engine(&world, body, json!({}));
    let call = tool_call();
    let attack = async {
        eventually("it runs", || !started_pids(&world).is_empty()).await;
        let pid = started_pids(&world)[0];
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
    let (outcome, ()) = with_hang_timeout(async { tokio::join!(engine.fire(&call), attack) }).await;
    assert_eq!(deny_reason(&outcome), "mine");
}

#[tokio::test]
async fn garbage_is_a_failure_and_the_next_process_starts_afresh() {
    for (garbage, words) in [
        ("echo debug: loading", "is not a JSON object"),
        ("echo '{\"output\":{}}'", "has no `id`"),
        ("echo '[1]'", "is not a JSON object"),
        ("echo '{\"id\":1,\"decision\":\"deny\"}'", "has neither `output` nor `error`"),
        ("printf '\\377\\376x\\n'", "is not a JSON object"),
    ] {
        let world = EngineFixture::new();
        let body = format!("if [ ! -e said ]; then : > said; {garbage}; sleep 600; fi; answer $id '{{}}'");
        let engine = worker_engine(&world, &body, json!({"onError": "block"}));
        let outcome = fire_tool_call(&engine).await;
        assert!(deny_reason(&outcome).contains(words), "{garbage}: {}", deny_reason(&outcome));
        let pid = started_pids(&world)[0];
        wait_until_gone(pid).await;
        assert_proceeds(&fire_tool_call(&engine).await);
        assert_eq!(started_pids(&world).len(), 2);
    }
}

#[tokio::test]
async fn an_endless_line_is_bounded_and_a_truncated_answer_does_not_allow() {
    for (start, words) in [("", "sent a line of more than"), ("{\"id\":1,\"output\":\"", "cut off")] {
        let world = EngineFixture::new();
        world.write("start", start);
        let body = "cat start; head -c 100000000 /dev/zero | tr '\\0' x; sleep 600";
        let engine = worker_engine(&world, body, json!({"onError": {"exit": "block"}}));
        let outcome = fire_tool_call(&engine).await;
        assert!(deny_reason(&outcome).contains(words), "{}", deny_reason(&outcome));
        wait_until_gone(started_pids(&world)[0]).await;
    }
}

#[tokio::test]
async fn a_worker_that_never_answers_times_out_and_is_replaced() {
    for body in [
        "[ -e old ] || { : > old; sleep 600; }; answer $id '{}'",
        "trap '' TERM; [ -e old ] || { : > old; while :; do sleep 600; done; }; answer $id '{}'",
    ] {
        let world = EngineFixture::new();
        let engine = worker_engine(&world, body, json!({"timeout": 300, "onError": "block"}));
        let outcome = fire_tool_call(&engine).await;
        assert!(deny_reason(&outcome).contains("300"), "{}", deny_reason(&outcome));
        wait_until_gone(started_pids(&world)[0]).await;
        let patient = worker_engine(&world, body, json!({"timeout": 20_000, "onError": "block"}));
        assert_proceeds(&fire_tool_call(&patient).await);
    }
}

/// The worker does not read: the request does not fit into the pipe, and its line is never finished.
#[tokio::test]
async fn a_worker_that_never_reads_times_out_and_is_replaced() {
    let world = EngineFixture::new();
    world.write("w.sh", "echo $$ >> pids; exec sleep 600");
    let hooks = json!([worker_hook(json!({"timeout": 300, "onError": "block"}))]);
    let engine = world.engine_with_hooks(EventKind::BeforeTool, hooks).limits(short_grace_limits()).build();
    let call = tool_call_of("write_file", json!({"content": "x".repeat(1 << 20)}));
    for _ in 0..2 {
        deny_reason(&with_hang_timeout(engine.fire(&call)).await);
    }
    let pids = started_pids(&world);
    assert_eq!(pids.len(), 2);
    for pid in pids {
        wait_until_gone(pid).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_answer_is_dropped_while_others_are_answered() {
    let world = EngineFixture::new();
    // The first request is answered together with the third.
    let body = "n=$((n+1)); if [ $n = 1 ]; then first=$id; : > asked; continue; fi; \
                [ $n = 3 ] && answer $first '{\"decision\":\"deny\"}'; answer $id '{}'";
    let engine = worker_engine(&world, body, json!({"concurrency": 4, "timeout": 500}));
    let (slow, call) = (engine.clone(), tool_call());
    let first = tokio::spawn(async move { with_hang_timeout(slow.fire(&call)).await });
    eventually("it was asked", || world.path("asked").exists()).await;
    assert_proceeds(&fire_tool_call(&engine).await);
    assert!(only_warning(&first.await.unwrap()).contains("500"));
    assert_proceeds(&fire_tool_call(&engine).await);
    eventually("it is counted", || worker_health(&engine).late_answers == 1).await;
    assert_eq!(started_pids(&world).len(), 1, "one that answers others is not deaf");
}

#[tokio::test]
async fn a_cancel_drops_the_request_and_keeps_the_process() {
    let world = EngineFixture::new();
    let engine = worker_engine(
        &world,
        "n=$((n+1)); while [ $n = 1 ] && [ ! -e go ]; do sleep 0.02; done; answer $id '{}'",
        json!({}),
    );
    let cancel = CancellationToken::new();
    let call = tool_call();
    let fired = engine.fire_cancellable(&call, &cancel);
    let stop = async {
        eventually("it runs", || !started_pids(&world).is_empty()).await;
        cancel.cancel();
    };
    let (outcome, ()) = with_hang_timeout(async { tokio::join!(fired, stop) }).await;
    assert_eq!(outcome.runs[0].status.as_str(), "cancelled");
    world.write("go", "");
    assert_proceeds(&fire_tool_call(&engine).await);
    assert_eq!(started_pids(&world).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_replaces_the_process_and_drops_no_request() {
    let world = EngineFixture::new();
    let engine = worker_engine(
        &world,
        ": > asked; while [ ! -e go ]; do sleep 0.02; done; answer $id '{\"decision\":\"deny\",\"reason\":\"old\"}'",
        json!({}),
    );
    let (old, call) = (engine.clone(), tool_call());
    let asked = tokio::spawn(async move { deny_reason(&with_hang_timeout(old.fire(&call)).await).to_owned() });
    eventually("it was asked", || world.path("asked").exists()).await;
    world.write("other.sh", &worker_script("answer $id '{\"decision\":\"deny\",\"reason\":\"new\"}'"));
    let settings =
        json!({"hooks": {"BeforeTool": [{"hooks": [worker_hook(json!({"command": "sh other.sh"}))]}]}}).to_string();
    engine.reload(Registry::new(vec![parse_layer(&Layer::new(
        Source::Project,
        std::path::Path::new("s.json"),
        &settings,
    ))]));
    assert_eq!(deny_reason(&fire_tool_call(&engine).await), "new");
    world.write("go", "");
    assert_eq!(asked.await.unwrap(), "old");
    wait_until_gone(started_pids(&world)[0]).await;
    // A disabled hook needs no process either.
    let pid = started_pids(&world)[1];
    assert!(is_running(pid));
    engine.set_enabled("w", false).unwrap();
    wait_until_gone(pid).await;
}

#[tokio::test]
async fn a_script_that_changes_is_another_worker_and_so_is_one_of_another_session() {
    let world = EngineFixture::new();
    let engine = worker_engine(&world, "answer $id '{\"decision\":\"deny\",\"reason\":\"old\"}'", json!({}));
    assert_eq!(deny_reason(&fire_tool_call(&engine).await), "old");
    world.write("w.sh", &worker_script("answer $id '{\"decision\":\"deny\",\"reason\":\"new one\"}'"));
    assert_eq!(deny_reason(&fire_tool_call(&engine).await), "new one");
    wait_until_gone(started_pids(&world)[0]).await;
    engine.set_session(hookwright_hooks::Session { id: "session-2".into(), ..world.session() });
    assert_eq!(deny_reason(&fire_tool_call(&engine).await), "new one");
    wait_until_gone(started_pids(&world)[1]).await;
    assert_eq!(started_pids(&world).len(), 3);
}

/// A module that a script loads is part of the worker; an unchanged environment is no change.
#[tokio::test]
async fn a_script_whose_module_changes_is_another_worker_too() {
    let world = EngineFixture::new();
    world.write("rules.sh", "reason=old");
    world.write(
        "w.sh",
        &format!(
            ". ./rules.sh\n{}",
            worker_script("answer $id \"{\\\"decision\\\":\\\"deny\\\",\\\"reason\\\":\\\"$reason\\\"}\"")
        ),
    );
    let engine = world
        .engine_with_hooks(EventKind::BeforeTool, json!([worker_hook(json!({}))]))
        .limits(short_grace_limits())
        .build();
    assert_eq!(deny_reason(&fire_tool_call(&engine).await), "old");
    let same = ExecEnvs::uniform(ExecEnv { env: super::fixture::environment(), directory: None });
    engine.set_exec_envs(same);
    assert_eq!(deny_reason(&fire_tool_call(&engine).await), "old");
    assert_eq!(started_pids(&world).len(), 1);
    world.write("rules.sh", "reason=newer");
    assert_eq!(deny_reason(&fire_tool_call(&engine).await), "newer");
    let mut env = super::fixture::environment();
    env.push(("MORE".into(), "1".into()));
    engine.set_exec_envs(ExecEnvs::uniform(ExecEnv { env, directory: None }));
    assert_eq!(deny_reason(&fire_tool_call(&engine).await), "newer");
    assert_eq!(started_pids(&world).len(), 3);
}

#[tokio::test]
async fn hooks_of_one_layer_share_a_process_and_layers_do_not() {
    let world = EngineFixture::new();
    world.write("w.sh", &worker_script("answer $id '{}'"));
    let two = json!({"hooks": {"BeforeTool": [{"hooks": [worker_hook(json!({"name": "a"})), worker_hook(json!({"name": "b"}))]}]}});
    let own = json!({"hooks": {"BeforeTool": [{"hooks": [worker_hook(json!({"name": "c"}))]}]}});
    let engine =
        world.engine_with_layers(&[(Source::Project, two), (Source::User, own)]).limits(short_grace_limits()).build();
    let outcome = fire_tool_call(&engine).await;
    assert_eq!(outcome.runs.len(), 3);
    assert_proceeds(&outcome);
    assert_eq!(started_pids(&world).len(), 2);
}

#[tokio::test]
async fn a_worker_that_grows_too_large_is_replaced() {
    let world = EngineFixture::new();
    if !cfg!(target_os = "linux") {
        return;
    }
    let grow = "x=$(head -c 80000000 /dev/zero | tr '\\0' x)";
    let body = format!("[ -e big ] || {{ : > big; {grow}; sleep 600; }}; answer $id '{{}}'");
    let engine = worker_engine(&world, &body, json!({"maxMemoryMb": 40, "onError": "block"}));
    let outcome = fire_tool_call(&engine).await;
    assert!(deny_reason(&outcome).contains("took more than 40 MB of memory"), "{}", deny_reason(&outcome));
    wait_until_gone(started_pids(&world)[0]).await;
    assert_proceeds(&fire_tool_call(&engine).await);
    // A worker that grows too large while idle ends without a failure.
    let world = EngineFixture::new();
    let engine =
        worker_engine(&world, &format!("answer $id '{{}}'; {grow}"), json!({"maxMemoryMb": 40, "onError": "block"}));
    assert_proceeds(&fire_tool_call(&engine).await);
    wait_until_gone(started_pids(&world)[0]).await;
    assert_proceeds(&fire_tool_call(&engine).await);
}

#[tokio::test]
async fn an_idle_worker_ends_and_is_restarted_on_use() {
    let world = EngineFixture::new();
    let engine = worker_engine(&world, "answer $id '{}'", json!({"idleTimeout": 100}));
    for at in 1..=2 {
        assert_proceeds(&fire_tool_call(&engine).await);
        let pid = started_pids(&world)[at - 1];
        wait_until_gone(pid).await;
        assert_eq!(started_pids(&world).len(), at);
    }
    assert_eq!(world.read("ends"), "eof\neof\n");
}

#[tokio::test]
async fn a_worker_can_start_with_the_session() {
    let world = EngineFixture::new();
    let engine = worker_engine(&world, "answer $id '{}'", json!({"start": "session"}));
    engine.start_workers();
    eventually("it runs", || started_pids(&world).len() == 1).await;
    assert_proceeds(&fire_tool_call(&engine).await);
    assert_eq!(started_pids(&world).len(), 1);
    // The worker that starts on use is declared first, so it would be the first to run.
    let both = EngineFixture::new();
    both.write("lazy.sh", ": > lazy");
    both.write("w.sh", &worker_script("answer $id '{}'"));
    let hooks = json!([
        worker_hook(json!({"name": "lazy", "command": "sh lazy.sh"})),
        worker_hook(json!({"start": "session"}))
    ]);
    let engine = both.engine_with_hooks(EventKind::BeforeTool, hooks).limits(short_grace_limits()).build();
    engine.start_workers();
    eventually("the other runs", || started_pids(&both).len() == 1).await;
    engine.shutdown().await;
    assert!(!both.path("lazy").exists());
}

#[tokio::test]
async fn no_worker_outlives_a_dropped_engine() {
    let world = EngineFixture::new();
    let engine = worker_engine(&world, "trap '' TERM HUP; sleep 600 & answer $id '{}'", json!({}));
    assert_proceeds(&fire_tool_call(&engine).await);
    let pid = started_pids(&world)[0];
    drop(engine);
    wait_until_gone(pid).await;
}

fn answer_chunk<'a>(request: &SharedJson, text: &'a str, so_far: &GrowingText) -> AfterModel<'a> {
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

/// Streams chunks of an answer to a worker's hook, and returns the length of each line that the worker read.
async fn stream_line_sizes(world: &EngineFixture, body: &str, count: usize) -> Vec<usize> {
    stream_line_sizes_of(20_000, world, body, count).await
}

/// Does the same with a request of this size.
async fn stream_line_sizes_of(size: usize, world: &EngineFixture, body: &str, count: usize) -> Vec<usize> {
    let notes = "printf '%s\\n' \"${#line}\" >> sizes; ";
    world.write("w.sh", &worker_script(&format!("{notes}{body}")));
    let limits = RunLimits { kill_grace_period: Duration::from_millis(200), ..RunLimits::default() };
    let engine = world.engine_with_hooks(EventKind::AfterModel, json!([worker_hook(json!({}))])).limits(limits).build();
    let request = SharedJson::from_request(&LlmRequest { model: "m".repeat(size), ..LlmRequest::default() });
    let mut so_far = GrowingText::default();
    for at in 0..count {
        let text = format!("word {at} ");
        so_far.push_str(&text);
        let outcome = with_hang_timeout(engine.fire(&answer_chunk(&request, &text, &so_far))).await;
        assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    }
    world.read("sizes").lines().map(|line| line.parse().unwrap()).collect()
}

#[tokio::test]
async fn a_large_request_is_sent_once_to_a_worker_that_keeps_it() {
    let world = EngineFixture::new();
    let body = "case $line in *hello*) echo '{\"id\":0,\"features\":[\"refs\"]}';; *) answer $id '{}';; esac";
    let sizes = stream_line_sizes(&world, body, 10).await;
    // The hello, the whole request (twice if the hello was answered late), and then only new text.
    assert_eq!(sizes.len(), 11);
    assert!(sizes[1] > 20_000 && sizes[2..].iter().filter(|size| **size > 2000).count() <= 1, "{sizes:?}");
    assert_eq!(started_pids(&world).len(), 1);
}

/// Otherwise the request would be sent twice, and ten megabytes take time.
#[tokio::test]
async fn hello_is_awaited_before_a_very_large_request() {
    const REQUEST_BYTES: usize = 300_000;
    let body =
        "case $line in *hello*) sleep 0.1; echo '{\"id\":0,\"features\":[\"refs\"]}';; *) answer $id '{}';; esac";
    let once =
        |sizes: &Vec<usize>| sizes.len() == 4 && sizes[1] > REQUEST_BYTES && sizes[2..].iter().all(|size| *size < 2000);
    let mut tries = Vec::new();
    // A busy machine may not start the worker in time.
    while tries.len() < 5 && !tries.iter().any(once) {
        tries.push(stream_line_sizes_of(REQUEST_BYTES, &EngineFixture::new(), body, 3).await);
    }
    assert!(tries.iter().any(once), "{tries:?}");
    // A worker that ignores hello gets the request all the same; one that exits on hello is started again without it.
    let silent = EngineFixture::new();
    let sizes =
        stream_line_sizes_of(REQUEST_BYTES, &silent, "case $line in *hello*) ;; *) answer $id '{}';; esac", 2).await;
    assert!(sizes.len() == 3 && sizes[1..].iter().all(|size| *size > REQUEST_BYTES), "{sizes:?}");
    assert_eq!(started_pids(&silent).len(), 1);
    let shy = EngineFixture::new();
    let sizes =
        stream_line_sizes_of(REQUEST_BYTES, &shy, "case $line in *hello*) exit 1;; *) answer $id '{}';; esac", 2).await;
    assert!(sizes.len() == 3 && sizes[1..].iter().all(|size| *size > REQUEST_BYTES), "{sizes:?}");
    assert_eq!(started_pids(&shy).len(), 2);
}

#[tokio::test]
async fn a_worker_without_refs_gets_the_request_every_time() {
    let world = EngineFixture::new();
    let sizes = stream_line_sizes(&world, "answer $id '{}'", 4).await;
    assert!(sizes.len() == 5 && sizes[1..].iter().all(|size| *size > 20_000), "{sizes:?}");
}

#[tokio::test]
async fn a_worker_that_dies_on_hello_gets_no_second_hello() {
    let world = EngineFixture::new();
    let sizes = stream_line_sizes(&world, "case $line in *hello*) exit 1;; *) answer $id '{}';; esac", 4).await;
    assert_eq!(started_pids(&world).len(), 2);
    assert_eq!(sizes.len(), 5, "{sizes:?}");
}

#[tokio::test]
async fn tool_events_send_no_hello() {
    let world = EngineFixture::new();
    let engine =
        worker_engine(&world, "case $line in *hello*) exit 1;; esac; answer $id '{}'", json!({"onError": "block"}));
    let calls: Vec<BeforeTool<'_>> = (0..3).map(|_| tool_call()).collect();
    for call in &calls {
        assert_proceeds(&with_hang_timeout(engine.fire(call)).await);
    }
    assert_eq!(started_pids(&world).len(), 1);
}
