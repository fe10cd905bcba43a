//! The log: a file of the user's that records what the program did, for finding problems.
//!
//! It is off unless asked for, is never written to the screen, and hides secrets.
//!
//! Every crate logs through `tracing`; `subscriber.rs` receives its events and spans, `filter.rs` chooses among them,
//! `line.rs` formats a line and hides secrets, and `file.rs` writes it.

pub(crate) mod file;
mod filter;
mod line;
mod subscriber;

use std::panic::PanicHookInfo;
use std::path::PathBuf;

use hookwright_agent::SessionObserver;
use hookwright_agent::session::SessionView;
use hookwright_settings::{ConfigPaths, LoadedConfig, ProcessEnv, Secrets};
use tracing::level_filters::LevelFilter;
use tracing::{Dispatch, dispatcher};

use file::LogFile;
use filter::LogFilter;
use subscriber::LogSubscriber;

/// The environment variable with the log filter.
const LOG_VARIABLE: &str = "HOOKWRIGHT_LOG";

/// Starts logging if the environment variable has a filter, or else if `level` is set, and returns warnings for the
/// user.
///
/// If logging cannot start, the program goes on without a log.
pub(crate) fn start(level: Option<LevelFilter>, world: &ProcessEnv) -> Vec<String> {
    let filter_text = world.var(LOG_VARIABLE).map(str::trim).filter(|text| !text.is_empty());
    let (filter, mut warnings) = match filter_text {
        Some(text) => filter::parse(text),
        None => (level.map(LogFilter::uniform), Vec::new()),
    };
    // If the variable has no valid directive, the flag still applies.
    let Some(filter) = filter.or_else(|| level.map(LogFilter::uniform)) else { return warnings };
    if filter.max_level() == LevelFilter::OFF {
        return warnings;
    }
    let path = ConfigPaths::new(world).log;
    match LogFile::open(&path) {
        Ok(file) => {
            let secrets = Secrets::default();
            secrets.learn_env(&world.env, &[]);
            install_subscriber(LogSubscriber::new(filter, secrets, file), world);
        }
        Err(error) => warnings.push(format!("there is no log: {} can't be opened: {error}", path.display())),
    }
    warnings
}

fn install_subscriber(listener: LogSubscriber, world: &ProcessEnv) {
    // This is the only subscriber that the program sets.
    if dispatcher::set_global_default(Dispatch::new(listener)).is_err() {
        return;
    }
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        log_panic(panic);
        before(panic);
    }));
    tracing::info!(version = env!("CARGO_PKG_VERSION"), cwd = %world.cwd.display(), "begins");
}

/// Returns the path of the log, if logging is on.
pub(crate) fn path() -> Option<PathBuf> {
    dispatcher::get_default(|dispatch| Some(dispatch.downcast_ref::<LogSubscriber>()?.path().to_owned()))
}

/// Teaches the log the secrets of a session's configuration and connections.
#[derive(Debug)]
pub(crate) struct LogObserver;

impl SessionObserver for LogObserver {
    fn on_configuration(&mut self, view: &SessionView) {
        add_secrets(&view.loaded);
    }
}

/// Adds secrets that are not in the process's own environment.
///
/// These are values from `.env` files, variables that the settings block, and saved API keys.
pub(crate) fn add_secrets(loaded: &LoadedConfig) {
    dispatcher::get_default(|dispatch| {
        if let Some(listener) = dispatch.downcast_ref::<LogSubscriber>() {
            let blocked = loaded.redaction.as_ref().map_or(&[][..], |redaction| &redaction.blocked);
            listener.secrets().learn_env(&loaded.process_env.env, blocked);
            listener.secrets().learn_saved_keys(&loaded.paths);
        }
    });
}

/// Logs a panic with its location.
///
/// Panic hooks that do not call the previous hook must call this; the hook that [`start`] installs does so itself.
pub(crate) fn log_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(place, thread = std::thread::current().name(), "panic: {}", panic.payload_as_str().unwrap_or("?"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_logged_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.log");
        let filter = LogFilter::uniform(LevelFilter::ERROR);
        let listener = LogSubscriber::new(filter, Secrets::default(), LogFile::open(&path).unwrap());
        dispatcher::with_default(&Dispatch::new(listener), || {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(log_panic));
            let caught = std::panic::catch_unwind(|| panic!("on purpose"));
            std::panic::set_hook(before);
            assert!(caught.is_err());
        });
        let text = hookwright_testkit::fs::read_to_string(path).unwrap();
        assert!(text.contains("ERROR") && text.contains("cli::log: panic: on purpose place="), "{text}");
        assert!(text.contains("src/log/mod.rs:"), "{text}");
    }
}
