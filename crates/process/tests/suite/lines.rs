//! Conversations line by line.

use std::path::Path;

use hookwright_process::{Conversation, Exit, HearError, Keep, Until};

use super::support::{GRACE, Place, text, within};

fn talk(place: &Place, longest: usize, script: &str) -> Conversation {
    place
        .with_program(Path::new("/bin/sh"), "sh", &["-c", script], |program| {
            Conversation::start(program, longest, Keep::Head(100), &place.groups)
        })
        .unwrap()
}

async fn hear(conversation: &mut Conversation) -> Option<String> {
    within(conversation.hear()).await.unwrap().map(|line| String::from_utf8(line).unwrap())
}

#[tokio::test]
async fn a_line_is_answered_with_lines() {
    let place = Place::new();
    let mut worker = talk(&place, 100, "while read -r line; do echo \"<$line>\"; echo; done; echo bye; echo sad >&2");
    for word in ["one", "", "two words"] {
        within(worker.say(word)).await.unwrap();
        assert_eq!(hear(&mut worker).await.unwrap(), format!("<{word}>"));
        assert_eq!(hear(&mut worker).await.unwrap(), "");
    }
    assert!(worker.say("two\nlines").await.is_err());
    worker.close();
    assert_eq!(hear(&mut worker).await.unwrap(), "bye");
    assert_eq!(hear(&mut worker).await, None);
    assert_eq!(within(worker.wait()).await.unwrap(), Exit::Code(0));
    assert!(worker.say("more").await.is_err());
    assert_eq!(text(&worker.finish().stderr), "sad\n");
}

#[tokio::test]
async fn long_lines_have_a_limit() {
    let place = Place::new();
    let mut worker = talk(&place, 8, "echo 12345678; echo 123456789; echo x");
    assert_eq!(hear(&mut worker).await.unwrap(), "12345678");
    assert!(matches!(within(worker.hear()).await, Err(HearError::TooLong(8))));

    let mut endless = talk(&place, 1000, "while :; do printf xxxxxxxx; done");
    assert!(matches!(within(endless.hear()).await, Err(HearError::TooLong(1000))));
    within(endless.end(GRACE, Until::GroupGone)).await;

    let mut large = talk(&place, 200_000, "head -c 150000 /dev/zero | tr '\\0' x; echo");
    assert_eq!(hear(&mut large).await.unwrap().len(), 150_000);
}

#[tokio::test]
async fn half_a_line_at_the_end_is_no_line() {
    let place = Place::new();
    let mut worker = talk(&place, 100, "echo whole; printf half");
    assert_eq!(hear(&mut worker).await.unwrap(), "whole");
    assert!(matches!(within(worker.hear()).await, Err(HearError::Unfinished)));
}

#[tokio::test]
async fn complaints_do_not_stop_a_conversation() {
    let place = Place::new();
    let mut worker = talk(&place, 100, "head -c 1000000 /dev/zero >&2; read -r line; echo \"$line\"");
    within(worker.say("hello")).await.unwrap();
    assert_eq!(hear(&mut worker).await.unwrap(), "hello");
    within(worker.wait()).await.unwrap();
    assert_eq!(worker.finish().stderr.bytes(), 1_000_000);
}

#[tokio::test]
async fn who_is_gone_hears_nothing() {
    let place = Place::new();
    let mut worker = talk(&place, 100, "exec <&-; echo closed; sleep 60");
    assert_eq!(hear(&mut worker).await.unwrap(), "closed");
    assert!(within(worker.say("anybody there?")).await.is_err());
    within(worker.end(GRACE, Until::LeaderGone)).await;
}
