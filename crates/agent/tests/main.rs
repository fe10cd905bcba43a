//! The agent from prompt to answer and the session around it: a scripted model, real hooks, no binary.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "tests")]

mod suite {
    mod agent;
    mod approval;
    mod aside;
    mod call;
    mod chats;
    mod compress;
    mod ending;
    mod headless;
    mod hooks;
    mod orders;
    mod queue;
    mod races;
    mod reload;
    mod stream;
    mod subagent;
    mod support;
    mod turn;
    mod user;
}
