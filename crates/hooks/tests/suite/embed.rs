//! The example of embedding the engine works as it shows.

use hookwright_hooks::BeforeToolVerdict;

use super::fixture::with_hang_timeout;

#[path = "../../examples/embed.rs"]
#[expect(dead_code, reason = "its `main` is not called here")]
mod example;

#[tokio::test]
async fn the_example_allows_and_denies() {
    let outcome = with_hang_timeout(example::run("ls -l")).await;
    assert_eq!(outcome.verdict, BeforeToolVerdict::Proceed { changes: None });
    assert_eq!(outcome.messages[0].hook, "counter");
    let outcome = with_hang_timeout(example::run("sudo ls -l")).await;
    assert_eq!(outcome.verdict, BeforeToolVerdict::Deny { reason: "no sudo".into() });
    assert_eq!(outcome.runs.len(), 2);
}
