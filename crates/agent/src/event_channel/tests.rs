//! Tests of the event channel: joining, limits, and no lost events.

use hookwright_hooks::{EventId, EventKind, RunId, Source};
use hookwright_model::{Content, ModelRequest};
use hookwright_testkit::deadline::*;

use super::*;
use crate::event::{AgentNotice, SessionEvent, TurnEvent};
use crate::session::Reply;

fn text(text: &str) -> AgentEvent {
    AgentEvent::Model(ModelEvent::Text(text.to_owned()))
}

fn output(call: &str, text: &str) -> AgentEvent {
    AgentEvent::Tool(ToolEvent::Output { call_id: call.to_owned(), text: text.to_owned() })
}

/// Holds for any interleaving of the reader and the closing of the channel.
#[test]
fn late_reader_misses_no_events() {
    const ROUNDS: usize = 20_000;
    hookwright_testkit::watchdog::watch();
    let (give, given) = std::sync::mpsc::sync_channel::<EventSender>(0);
    let writer = std::thread::spawn(move || {
        for events in given {
            events.send(text("a"));
            events.close();
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for round in 0..ROUNDS {
        let (events, mut stream) = EventSender::channel();
        give.send(events).unwrap();
        (0..round % 64).for_each(|_| std::hint::spin_loop());
        let read = if round % 2 == 0 { runtime.block_on(stream.recv()) } else { stream.recv_blocking() };
        assert!(matches!(read, Some(AgentEvent::Model(ModelEvent::Text(_)))), "{round}: {read:?}");
    }
    drop(give);
    writer.join_in_time().unwrap();
}

#[tokio::test]
async fn coalesced_events_are_delivered_with_the_next_event_or_at_the_limit() {
    let asleep = |stream: &mut EventStream| {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let arrived = stream.queue.arrived.notified();
        std::pin::pin!(arrived).poll(&mut context).is_pending()
    };
    let (events, mut stream) = EventSender::channel();
    stream.set_coalesced(|event| matches!(event, AgentEvent::Notice(AgentNotice::Note(_))));
    events.send(AgentNotice::Note("a".into()));
    assert!(asleep(&mut stream));
    events.send(text("b"));
    assert!(!asleep(&mut stream));
    assert!(matches!(stream.recv().await, Some(AgentEvent::Notice(AgentNotice::Note(_)))), "order is kept");
    assert!(matches!(stream.recv().await, Some(AgentEvent::Model(ModelEvent::Text(_)))));
    (1..TEXT_JOIN_THRESHOLD_EVENTS).for_each(|_| events.send(AgentNotice::Note("more".into())));
    assert!(asleep(&mut stream));
    events.send(AgentNotice::Note("enough".into()));
    assert!(!asleep(&mut stream));
    (0..TEXT_JOIN_THRESHOLD_EVENTS).for_each(|_| drop(stream.try_recv()));
    events.send(AgentNotice::Note("last".into()));
    assert!(asleep(&mut stream));
    drop(events);
    assert!(!asleep(&mut stream), "the end wakes");
    assert!(
        matches!(stream.recv().await, Some(AgentEvent::Notice(AgentNotice::Note(_)))) && stream.recv().await.is_none()
    );
}

#[test]
fn reader_thread_coalesces_text_and_wakes_for_other_events() {
    let (events, mut stream) = EventSender::channel();
    let (say, received) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        while let Some(event) = stream.recv_blocking() {
            let _ = say.send(event);
        }
    });
    // Text that arrives while the thread waits is joined into one piece, delivered with the next event. The thread
    // cannot wake while this test holds the lock.
    let mut state = loop {
        let state = events.closer.0.lock();
        match state.reader_thread {
            ReaderThread::Coalescing => break state,
            ReaderThread::Busy => drop(state),
            ReaderThread::Waiting => {
                drop(state);
                events.send(text("a"));
                assert!(
                    matches!(received.recv_in_time(), Ok(AgentEvent::Model(ModelEvent::Text(text))) if text == "a")
                );
            }
        }
        std::thread::yield_now();
    };
    assert!(state.is_coalescing_text(&text("b")));
    ["b", "c"].into_iter().for_each(|piece| state.push(text(piece)));
    assert_eq!(state.events.len(), 1);
    drop(state);
    events.send(AgentNotice::Note("d".into()));
    assert!(matches!(received.recv_in_time(), Ok(AgentEvent::Model(ModelEvent::Text(text))) if text == "bc"));
    assert!(matches!(received.recv_in_time(), Ok(AgentEvent::Notice(AgentNotice::Note(_)))));
    // Text without a following event is delivered after the interval.
    events.send(text("e"));
    assert!(matches!(received.recv_in_time(), Ok(AgentEvent::Model(ModelEvent::Text(_)))));
    events.send(text("f"));
    assert!(matches!(received.recv_in_time(), Ok(AgentEvent::Model(ModelEvent::Text(text))) if text == "f"));
    events.send(text("g"));
    drop(events);
    assert!(matches!(received.recv_in_time(), Ok(AgentEvent::Model(ModelEvent::Text(text))) if text == "g"));
    assert!(received.recv_in_time().is_err());
    reader.join_in_time().unwrap();
}

#[tokio::test]
async fn every_event_counts_with_its_content() {
    let (events, mut stream) = EventSender::channel();
    let long = || "x".repeat(10_000);
    let request = ModelRequest::new("m", vec![Arc::new(Content::user_text(long()))]);
    let all: [AgentEvent; 8] = [
        TurnEvent::Received { prompt: long(), prompt_id: String::new() }.into(),
        ModelEvent::Requested { request: Box::new(request), prompt_id: String::new() }.into(),
        ModelEvent::AnswerDropped { reason: long() }.into(),
        ToolEvent::Requested { call_id: "c".to_owned(), name: long(), args: serde_json::Map::new() }.into(),
        HookEvent::Message { event: EventKind::AfterTool, hook: "h".to_owned(), source: Source::User, text: long() }
            .into(),
        SessionEvent::Reply(Reply::Rows(vec![(String::new(), long())])).into(),
        SessionEvent::History(vec![Arc::new(Content::user_text(long()))]).into(),
        AgentNotice::Warning(long()).into(),
    ];
    for event in all {
        let before = stream.queue.lock().bytes;
        let name = format!("{event:.40?}");
        events.send(event);
        assert!(stream.queue.lock().bytes >= before + 10_000, "{name}");
    }
    while stream.try_recv().is_some() {}
    assert_eq!(stream.queue.lock().bytes, 0);
}

/// Returns the queue length when the reader thread waits for text, one event arrives, and then text.
fn queued_event_count(between: AgentEvent, can_wait: Option<fn(&AgentEvent) -> bool>) -> usize {
    let mut state = EventQueueState {
        reader_thread: ReaderThread::Coalescing,
        is_coalesced: can_wait,
        ..EventQueueState::default()
    };
    [text("a"), between, text("b")].into_iter().for_each(|event| state.push(event));
    state.events.len()
}

#[test]
fn text_is_coalesced_across_silent_hooks_only() {
    let id = RunId { event: EventId::default(), position: 1 };
    let (event, hook, source) = (EventKind::AfterModel, "guard", Source::User);
    let hook =
        || AgentEvent::Hook(HookEvent::Started { id, event, hook: hook.to_owned(), source: source.clone(), total: 1 });
    assert_eq!(queued_event_count(hook(), Some(|_| true)), 2);
    assert_eq!(queued_event_count(hook(), None), 3);
    assert_eq!(queued_event_count(AgentEvent::Notice(AgentNotice::Note("n".into())), Some(|_| true)), 3);
}

#[tokio::test]
async fn queued_text_is_joined_in_order() {
    let (events, mut stream) = EventSender::channel();
    let pieces = || [text("a"), text("b"), AgentEvent::Notice(AgentNotice::Note("n".into())), text("c")];
    pieces().into_iter().for_each(|event| events.send(event));
    (0..TEXT_JOIN_THRESHOLD_EVENTS).for_each(|_| events.send(AgentNotice::Note("more".into())));
    pieces().into_iter().for_each(|event| events.send(event));
    drop(events);
    let mut seen = Vec::new();
    while let Some(event) = stream.recv().await {
        seen.push(format!("{event:?}"));
    }
    assert_eq!(
        seen[..4],
        [r#"Model(Text("a"))"#, r#"Model(Text("b"))"#, r#"Notice(Note("n"))"#, r#"Model(Text("c"))"#]
    );
    assert_eq!(
        seen[4 + TEXT_JOIN_THRESHOLD_EVENTS..],
        [r#"Model(Text("ab"))"#, r#"Notice(Note("n"))"#, r#"Model(Text("c"))"#]
    );
}

#[tokio::test]
async fn live_output_keeps_the_end_per_call() {
    let (events, mut stream) = EventSender::channel();
    for at in 0..100_000 {
        events.send(output(if at % 2 == 0 { "even" } else { "odd" }, &format!("line {at} é\n")));
    }
    events.send(AgentNotice::Note("later".into()));
    let mut kept = Vec::new();
    while let Some(AgentEvent::Tool(ToolEvent::Output { call_id, text })) = stream.try_recv() {
        assert!(text.len() <= MAX_LIVE_OUTPUT_BYTES);
        kept.push((call_id, text));
    }
    assert_eq!(kept.len(), 2);
    assert!(kept[0].1.ends_with("line 99998 é\n") && kept[1].1.ends_with("line 99999 é\n"));
    assert_eq!(stream.queue.lock().bytes, 0);
}

#[tokio::test]
async fn sender_waits_for_the_reader() {
    let (events, mut stream) = EventSender::channel();
    let cancel = CancellationToken::new();
    events.send(text(&"x".repeat(MAX_UNREAD_BYTES)));
    let sender = tokio::spawn({
        let cancel = cancel.clone();
        async move {
            events.wait_for_capacity(&cancel).await;
            events.send(AgentNotice::Note("there was room".into()));
        }
    });
    tokio::task::yield_now().await;
    assert!(!sender.is_finished());
    assert!(matches!(stream.recv().await, Some(AgentEvent::Model(ModelEvent::Text(_)))));
    assert!(matches!(stream.recv().await, Some(AgentEvent::Notice(AgentNotice::Note(_)))));
    assert!(stream.recv().await.is_none());
}

#[tokio::test]
async fn cancel_or_gone_reader_ends_the_wait() {
    let (events, stream) = EventSender::channel();
    let cancel = CancellationToken::new();
    (0..MAX_UNREAD_EVENTS).for_each(|at| events.send(AgentNotice::Note(at.to_string())));
    cancel.cancel();
    events.wait_for_capacity(&cancel).await;
    drop(stream);
    events.wait_for_capacity(&CancellationToken::new()).await;
    events.send(text("unread"));
    assert!(events.closer.0.lock().events.is_empty());
}
