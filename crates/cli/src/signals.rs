//! The signals that end the program, as something to wait for.

/// Waits until somebody wants the program to end; the exit code that says so.
#[cfg(unix)]
pub(crate) async fn ended() -> u8 {
    use tokio::signal::unix::{SignalKind, signal};
    let wait = async |kind: SignalKind| match signal(kind) {
        Ok(mut stream) => {
            stream.recv().await;
        }
        // Without a handler the system's own behaviour stays, which is to end us.
        Err(_) => std::future::pending().await,
    };
    tokio::select! {
        () = wait(SignalKind::interrupt()) => crate::exit::INTERRUPTED,
        () = wait(SignalKind::terminate()) => 143,
        () = wait(SignalKind::hangup()) => 129,
    }
}

#[cfg(not(unix))]
pub(crate) async fn ended() -> u8 {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
    crate::exit::INTERRUPTED
}
