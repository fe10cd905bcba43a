//! The agent from prompt to answer, and the session around it, with a scripted model and real hooks and without the
//! binary.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "tests")]

mod suite {
    mod agent;
    mod approval;
    mod background_hooks;
    mod call;
    mod chats;
    mod commands;
    mod compress;
    mod headless;
    mod hooks;
    mod observers;
    mod protocol;
    mod queue;
    mod reload;
    mod shutdown;
    mod stream;
    mod subagent;
    mod support;
    mod symlink_races;
    mod turn;
    mod user_shell;
}
