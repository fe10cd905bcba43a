//! The exchange of lines with a process.

use std::path::Path;

use hookwright_process::{CaptureLimit, Exit, LineProcess, ReadLineError, TerminationWait};

use super::support::{ProcessFixture, TERMINATION_GRACE_PERIOD, head_text, with_timeout};

fn spawn_line_process(place: &ProcessFixture, longest: usize, script: &str) -> LineProcess {
    place
        .with_program(Path::new("/bin/sh"), "sh", &["-c", script], |program| {
            LineProcess::spawn(program, longest, CaptureLimit::Head(100), &place.groups)
        })
        .unwrap()
}

async fn read_line_text(conversation: &mut LineProcess) -> Option<String> {
    with_timeout(conversation.read_line()).await.unwrap().map(|line| String::from_utf8(line).unwrap())
}

#[tokio::test]
async fn lines_are_exchanged() {
    let place = ProcessFixture::new();
    let mut worker =
        spawn_line_process(&place, 100, "while read -r line; do echo \"<$line>\"; echo; done; echo bye; echo sad >&2");
    for word in ["one", "", "two words"] {
        with_timeout(worker.write_line(word)).await.unwrap();
        assert_eq!(read_line_text(&mut worker).await.unwrap(), format!("<{word}>"));
        assert_eq!(read_line_text(&mut worker).await.unwrap(), "");
    }
    assert!(worker.write_line("two\nlines").await.is_err());
    worker.close_stdin();
    assert_eq!(read_line_text(&mut worker).await.unwrap(), "bye");
    assert_eq!(read_line_text(&mut worker).await, None);
    assert_eq!(with_timeout(worker.wait()).await.unwrap(), Exit::Code(0));
    assert!(worker.write_line("more").await.is_err());
    assert_eq!(head_text(&worker.finish().stderr), "sad\n");
}

#[tokio::test]
async fn overlong_line_is_an_error() {
    let place = ProcessFixture::new();
    let mut worker = spawn_line_process(&place, 8, "echo 12345678; echo 123456789; echo x");
    assert_eq!(read_line_text(&mut worker).await.unwrap(), "12345678");
    assert!(matches!(with_timeout(worker.read_line()).await, Err(ReadLineError::TooLong(8))));

    let mut endless = spawn_line_process(&place, 1000, "while :; do printf xxxxxxxx; done");
    assert!(matches!(with_timeout(endless.read_line()).await, Err(ReadLineError::TooLong(1000))));
    with_timeout(endless.terminate(TERMINATION_GRACE_PERIOD, TerminationWait::Group)).await;

    let mut large = spawn_line_process(&place, 200_000, "head -c 150000 /dev/zero | tr '\\0' x; echo");
    assert_eq!(read_line_text(&mut large).await.unwrap().len(), 150_000);
}

#[tokio::test]
async fn unterminated_last_line_is_an_error() {
    let place = ProcessFixture::new();
    let mut worker = spawn_line_process(&place, 100, "echo whole; printf half");
    assert_eq!(read_line_text(&mut worker).await.unwrap(), "whole");
    assert!(matches!(with_timeout(worker.read_line()).await, Err(ReadLineError::UnterminatedLine)));
}

#[tokio::test]
async fn stderr_output_does_not_block_the_exchange() {
    let place = ProcessFixture::new();
    let mut worker = spawn_line_process(&place, 100, "head -c 1000000 /dev/zero >&2; read -r line; echo \"$line\"");
    with_timeout(worker.write_line("hello")).await.unwrap();
    assert_eq!(read_line_text(&mut worker).await.unwrap(), "hello");
    with_timeout(worker.wait()).await.unwrap();
    assert_eq!(worker.finish().stderr.total_bytes(), 1_000_000);
}

#[tokio::test]
async fn writing_to_an_exited_process_fails() {
    let place = ProcessFixture::new();
    let mut worker = spawn_line_process(&place, 100, "exec <&-; echo closed; sleep 60");
    assert_eq!(read_line_text(&mut worker).await.unwrap(), "closed");
    // A process that another test is just starting can hold the pipe's other end for a moment.
    let fails = async { while worker.write_line("is anyone there?").await.is_ok() {} };
    with_timeout(fails).await;
    with_timeout(worker.terminate(TERMINATION_GRACE_PERIOD, TerminationWait::Leader)).await;
}
