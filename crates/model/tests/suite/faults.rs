//! Faulty servers and networks: slow, broken, wrong, absent. Both models where it matters.

use std::time::{Duration, Instant};

use hookwright_model::{
    AnyModel, ApiErrorKind, Cancel, Chunk, Gemini, HttpOptions, Model, ModelError, OpenAi, RecordingModel, Replay,
    ReplayOrder,
};
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use crate::support::{
    ReplyAction, ScriptedReply, ScriptedServer, chunks, failure, fast_options, gemini, notices, openai, prompt_request,
    text, with_deadline,
};

fn word_event(text: &str) -> String {
    json!({"candidates": [{"content": {"parts": [{"text": text}]}}]}).to_string()
}

fn end_event(text: &str) -> String {
    json!({"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]}).to_string()
}

#[tokio::test]
async fn a_slow_server_is_waited_for() {
    let pause = || ReplyAction::Wait(Duration::from_millis(15));
    let event = |data: &str| ReplyAction::Send(format!("data: {data}\r\n\r\n").into_bytes());
    let acts = [
        pause(),
        event(&word_event("a")),
        ReplyAction::Send(b": still here\r\n\r\n".to_vec()),
        pause(),
        event(&end_event("b")),
    ];
    let server = ScriptedServer::start([ScriptedReply::new(200, vec![]).then(acts)]).await;
    assert_eq!(text(&gemini(&server)).await, "ab");
}

#[tokio::test]
async fn a_server_that_says_nothing_times_out() {
    let server = ScriptedServer::start([ScriptedReply::events([word_event("a")]).then([ReplyAction::Hang])]).await;
    let options = HttpOptions { read_timeout: Duration::from_millis(60), ..fast_options() };
    let model = Gemini::new(&server.base, "k", "m", options).unwrap();
    let error = failure(&model).await;
    assert!(matches!(error, ModelError::Timeout { .. }), "{error:?}");
}

#[tokio::test]
async fn keep_alive_comments_do_not_extend_the_read_timeout() {
    let pause = Duration::from_millis(10);
    let empty = r#"data: {"candidates":[{"content":{"parts":[{"text":""}]}}]}"#;
    for sign in [": still here\n\n", "data:\n\n", "data: {}\n\n", &format!("{empty}\n\n")] {
        let acts = (0..10_000).flat_map(|_| [ReplyAction::Send(sign.as_bytes().to_vec()), ReplyAction::Wait(pause)]);
        let server = ScriptedServer::start([ScriptedReply::events([word_event("a")]).then(acts)]).await;
        let options = HttpOptions { read_timeout: Duration::from_millis(300), ..fast_options() };
        let model = Gemini::new(&server.base, "k", "m", options).unwrap();
        let error = failure(&model).await;
        assert!(matches!(error, ModelError::Timeout { .. }), "{sign}: {error:?}");
    }
}

#[tokio::test]
async fn an_endless_answer_ends_at_the_size_limit() {
    let thought = json!({"candidates": [{"content": {"parts": [{"text": "hm ".repeat(100), "thought": true}]}}]});
    let server =
        ScriptedServer::start([ScriptedReply::events(std::iter::repeat_n(thought.to_string(), 100_000))]).await;
    let options = HttpOptions { max_answer_bytes: 1 << 20, ..fast_options() };
    let model = Gemini::new(&server.base, "k", "m", options).unwrap();
    let (chunks, error) = chunks(&model).await;
    assert!(chunks.len() < 4000, "{}", chunks.len());
    let Some(ModelError::Malformed { detail, .. }) = error else { panic!("{error:?}") };
    assert_eq!(detail, "an answer of more than 1048576 bytes");
}

/// Events of any kind and size, even empty ones, count towards the size limit.
#[tokio::test]
async fn events_of_any_kind_count_towards_the_size_limit() {
    let event = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]}).to_string();
    let function =
        |at: usize| json!({"index": at, "id": format!("d{at}"), "function": {"name": "glob", "arguments": "{}"}});
    let calls = (0..50_000).map(|at| event(json!({"tool_calls": [function(at % 2000)]})));
    let repeated = |delta: Value, count: usize| vec![event(delta); count];
    for events in [
        repeated(json!({"content": "\u{1}".repeat(4000)}), 100),
        repeated(json!({"reasoning_content": "."}), 50_000),
        repeated(json!({}), 50_000),
        calls.collect(),
    ] {
        let server = ScriptedServer::start([ScriptedReply::events(events)]).await;
        let options = HttpOptions { max_answer_bytes: 1 << 20, ..fast_options() };
        let model = OpenAi::new(&server.base, "k", "m", options).unwrap();
        let (_, error) = chunks(&model).await;
        let Some(ModelError::Malformed { detail, .. }) = error else { panic!("{error:?}") };
        assert_eq!(detail, "an answer of more than 1048576 bytes");
    }
}

#[tokio::test]
async fn a_cut_in_the_middle_gives_what_came_and_then_an_error() {
    let half = ReplyAction::Send(end_event("lost").as_bytes()[..20].to_vec());
    for reply in [
        ScriptedReply::events([word_event("a")]).then([ReplyAction::Disconnect]),
        ScriptedReply::events([word_event("a")]).then([half.clone(), ReplyAction::Disconnect]),
        ScriptedReply::events([word_event("a")]).until_close(),
        ScriptedReply::events([word_event("a")]).then([half]).until_close(),
        ScriptedReply::events([word_event("a")]),
    ] {
        let server = ScriptedServer::start([reply]).await;
        let (chunks, error) = chunks(&gemini(&server)).await;
        assert_eq!(chunks.iter().map(Chunk::text).collect::<String>(), "a");
        assert!(matches!(error, Some(ModelError::CutOff { chunks: 1, .. })), "{error:?}");
    }
    let word = r#"{"choices":[{"delta":{"content":"a","tool_calls":[{"index":0,"function":{"name":"rm"}}]}}]}"#;
    let server = ScriptedServer::start([ScriptedReply::events([word]).then([ReplyAction::Disconnect])]).await;
    let (chunks, error) = chunks(&openai(&server)).await;
    assert_eq!(chunks.len(), 1);
    assert_eq!(chunks[0].function_calls().count(), 0, "half a call is no call");
    assert!(matches!(error, Some(ModelError::CutOff { .. })), "{error:?}");
}

#[tokio::test]
async fn a_complete_answer_survives_an_improper_end_of_the_transfer() {
    let server = ScriptedServer::start([
        ScriptedReply::events([word_event("a"), end_event("b")]).then([ReplyAction::Disconnect])
    ])
    .await;
    assert_eq!(text(&gemini(&server)).await, "ab");
}

#[tokio::test]
async fn a_malformed_event_is_quoted() {
    let server = ScriptedServer::start([
        ScriptedReply::events([word_event("a").as_str(), "{\"candidates\": oops}", &end_event("b")]),
        ScriptedReply::events(["not json at all"]),
        ScriptedReply::body(200, "<html><body>Please log in</body></html>"),
    ])
    .await;
    let model = gemini(&server);
    let (came, error) = chunks(&model).await;
    assert_eq!(came.len(), 1);
    assert!(error.unwrap().to_string().contains("{\"candidates\": oops}"));
    assert!(matches!(failure(&model).await, ModelError::Malformed { .. }));
    let page = failure(&model).await;
    assert!(page.to_string().contains("Please log in") && page.hint().is_some(), "{page}");
}

#[tokio::test]
async fn too_many_requests_then_an_answer() {
    let busy = || ScriptedReply::body(429, r#"{"error":{"code":429,"message":"slow down"}}"#);
    let server = ScriptedServer::start([
        busy().header("retry-after", "0.03"),
        ScriptedReply::body(
            429,
            r#"{"error":{"message":"m","details":[{"@type":"x/google.rpc.RetryInfo","retryDelay":"0.02s"}]}}"#,
        ),
        busy().header("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"),
        busy(),
        ScriptedReply::events([end_event("at last")]),
    ])
    .await;
    let mut model = gemini(&server);
    let notices = notices(&mut model);
    let start = Instant::now();
    assert_eq!(text(&model).await, "at last");
    assert!(start.elapsed() >= Duration::from_millis(50), "the server's waits are kept");
    let notices = notices.lock().unwrap();
    let delays: Vec<u128> = notices.iter().take(3).map(|notice| notice.delay.as_millis()).collect();
    assert_eq!(delays, [30, 20, 0], "{notices:?}");
    assert!(notices.iter().all(|notice| notice.status == Some(429)));
    assert_eq!(notices[3].attempt, 5);
    let bodies: Vec<_> = server.requests().into_iter().map(|seen| seen.body).collect();
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]), "every try sends the same");
}

#[tokio::test]
async fn a_retry_delay_of_an_hour_is_final() {
    let server = ScriptedServer::start([ScriptedReply::body(429, "{}").header("retry-after", "3600")]).await;
    let error = failure(&openai(&server)).await;
    assert_eq!(error.hint().unwrap(), "try again in 3600 s");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_broken_server_is_given_up_after_some_tries() {
    let server = ScriptedServer::start((0..9).map(|_| ScriptedReply::body(503, "<html>Unavailable</html>"))).await;
    let error = failure(&gemini(&server)).await;
    assert_eq!(error.to_string(), "gemini API: the server has a problem (503): <html>Unavailable</html>");
    assert_eq!(server.requests().len(), 6);
    let flaky = ScriptedServer::start([
        ScriptedReply::body(500, ""),
        ScriptedReply::body(502, "x"),
        ScriptedReply::events([end_event("ok")]),
    ])
    .await;
    assert_eq!(text(&gemini(&flaky)).await, "ok");
}

#[tokio::test]
async fn final_errors_are_not_retried() {
    for (status, body, kind) in [
        (400, r#"{"error":{"message":"API key not valid."}}"#, ApiErrorKind::Auth),
        (403, "{}", ApiErrorKind::Auth),
        (404, r#"{"error":{"message":"models/x is not found"}}"#, ApiErrorKind::NotFound),
        (400, r#"{"error":{"message":"bad"}}"#, ApiErrorKind::BadRequest),
        (301, "", ApiErrorKind::NotFound),
    ] {
        let server =
            ScriptedServer::start([ScriptedReply::body(status, body).header("location", "http://127.0.0.1:1/")]).await;
        let error = failure(&gemini(&server)).await;
        assert!(matches!(&error, ModelError::Api(api) if api.kind == kind && api.status == status), "{error:?}");
        assert_eq!(server.requests().len(), 1);
        assert!(!format!("{error:?} {error}").contains("secret-key"));
    }
}

#[tokio::test]
async fn an_answer_cut_before_its_first_byte_is_retried() {
    let server = ScriptedServer::start([
        ScriptedReply::new(200, vec![ReplyAction::Disconnect]),
        ScriptedReply::new(200, vec![]).until_close(),
        ScriptedReply::events([end_event("ok")]),
    ])
    .await;
    assert_eq!(text(&gemini(&server)).await, "ok");
}

#[tokio::test]
async fn connection_refused_is_retried_then_reported() {
    // The port is bound but not listening: it refuses connections, and no other test's server can get it meanwhile.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    let mut model = Gemini::new(&format!("http://{address}"), "k", "m", fast_options()).unwrap();
    let notices = notices(&mut model);
    let error = failure(&model).await;
    assert!(error.to_string().starts_with(&format!("cannot reach {address}: ")), "{error}");
    assert!(error.hint().is_some());
    assert_eq!(notices.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_an_error_and_no_panic() {
    let server = ScriptedServer::start([]).await;
    let base = server.base.replace("http:", "https:");
    let model = Gemini::new(&base, "k", "m", fast_options()).unwrap();
    let error = failure(&model).await;
    assert!(matches!(error, ModelError::Connect { .. }), "{error:?}");
}

#[tokio::test]
async fn an_event_of_several_megabytes() {
    let big = "größer ".repeat(600_000);
    let event = format!("data: {}\n\n", end_event(&big)).into_bytes();
    let acts = event.chunks(1_000_003).map(|piece| ReplyAction::Send(piece.to_vec()));
    let server = ScriptedServer::start([ScriptedReply::new(200, acts.collect())]).await;
    assert!(text(&gemini(&server)).await == big);
}

#[tokio::test]
async fn characters_split_between_packets() {
    let event = format!("\u{feff}data: {}\r\n\r\n", end_event("ü€𝄞")).into_bytes();
    let acts = event.iter().flat_map(|&byte| {
        // A pause inside a character makes its bytes travel in separate packets.
        let pause = (byte >= 0x80).then_some(ReplyAction::Wait(Duration::from_millis(2)));
        [ReplyAction::Send(vec![byte])].into_iter().chain(pause)
    });
    let server = ScriptedServer::start([ScriptedReply::new(200, acts.collect())]).await;
    assert_eq!(text(&gemini(&server)).await, "ü€𝄞");
}

#[tokio::test]
async fn cancelling_in_the_middle_ends_at_once_and_is_recorded() {
    let server = ScriptedServer::start([ScriptedReply::events([word_event("a")]).then([ReplyAction::Hang])]).await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.jsonl");
    let model = AnyModel::from(RecordingModel::new(gemini(&server), &path).unwrap());
    let cancel = Cancel::new();
    let mut stream = model.stream(&prompt_request(&model, "hi"), &cancel).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().text(), "a");
    let start = Instant::now();
    let (item, ()) = tokio::join!(stream.next(), async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        cancel.cancel();
    });
    assert!(item.unwrap().unwrap_err().is_cancelled());
    assert!(start.elapsed() < Duration::from_secs(2));
    let replay = Replay::load(&path, ReplayOrder::Strict).unwrap();
    assert_eq!(text(&replay).await, "a");
}

#[tokio::test]
async fn cancelling_before_the_answer_begins_ends_at_once() {
    let server = ScriptedServer::start([
        ScriptedReply::new(200, vec![ReplyAction::Hang]),
        ScriptedReply::new(200, vec![ReplyAction::Hang]),
    ])
    .await;
    let model = openai(&server);
    let cancel = Cancel::new();
    let request = prompt_request(&model, "hi");
    let (result, ()) = tokio::join!(model.stream(&request, &cancel), async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        cancel.cancel();
    });
    assert!(result.unwrap_err().is_cancelled());
    assert!(model.generate(&request, &cancel).await.unwrap_err().is_cancelled());
}

#[tokio::test]
async fn a_dropped_next_future_loses_no_chunk() {
    let acts = [
        ReplyAction::Wait(Duration::from_millis(30)),
        ReplyAction::Send(format!("data: {}\n\n", end_event("b")).into_bytes()),
    ];
    let server = ScriptedServer::start([ScriptedReply::events([word_event("a")]).then(acts)]).await;
    let model = gemini(&server);
    let mut stream = model.stream(&prompt_request(&model, "hi"), &Cancel::new()).await.unwrap();
    let mut whole = String::new();
    with_deadline(async {
        loop {
            match tokio::time::timeout(Duration::from_millis(3), stream.next()).await {
                Ok(Some(chunk)) => whole.push_str(&chunk.unwrap().text()),
                Ok(None) => break,
                Err(_) => {}
            }
        }
    })
    .await;
    assert_eq!(whole, "ab");
}
