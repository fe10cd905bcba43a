//! Prints the error that a command ends with: the error, its causes, and a hint.

use std::error::Error;
use std::io;

use hookwright_agent::PolicyError;
use hookwright_agent::session::SessionError;
use hookwright_agent::transcript::{SessionFindError, TranscriptError};
use hookwright_extensions::ExtensionError;
use hookwright_model::ModelError;
use hookwright_settings::WriteError;
use hookwright_settings::config::SettingError;
use hookwright_settings::edit::EditError;

use crate::signals::EndedBySignal;
use crate::{exit, output, output::diagnostics};

/// Prints an error with its causes and its hint, and returns the exit code.
pub(crate) fn print(error: &anyhow::Error) -> u8 {
    if let Some(ended) = error.downcast_ref::<EndedBySignal>() {
        return ended.0;
    }
    // If stderr is gone, the exit code still reports the error.
    let _ = print_to_stderr(error);
    match error.downcast_ref::<SessionError>() {
        Some(error) if error.is_unguarded() => exit::UNGUARDED,
        Some(SessionError::AuthType(_)) => exit::WRONG_AUTH,
        _ if error.chain().any(is_out_of_resources) => exit::OUT_OF_RESOURCES,
        _ => exit::ERROR,
    }
}

fn print_to_stderr(error: &anyhow::Error) -> io::Result<()> {
    output::error(causes(error).join(": "))?;
    let broken = error.chain().find_map(|cause| cause.downcast_ref::<EditError>()?.diagnostic());
    broken.map_or(Ok(()), |diagnostic| diagnostics::print([&diagnostic]))?;
    error.chain().find_map(hint).map_or(Ok(()), output::hint)
}

fn is_out_of_resources(cause: &(dyn Error + 'static)) -> bool {
    cause.downcast_ref::<io::Error>().is_some_and(hookwright_process::is_resource_exhausted)
}

/// Returns the error's text and its causes' texts, without repetitions.
fn causes(error: &anyhow::Error) -> Vec<String> {
    let mut causes: Vec<String> = Vec::new();
    for cause in error.chain().map(|cause| cause_text(cause).trim_end().to_owned()) {
        // Some errors include their cause in their own text.
        if !causes.last().is_some_and(|previous| previous.contains(&cause)) {
            causes.push(cause);
        }
    }
    causes
}

/// Returns the text of one cause.
///
/// An [`EditError`] with a diagnostic gets a short text, because the diagnostic is printed below it.
fn cause_text(cause: &(dyn Error + 'static)) -> String {
    match cause.downcast_ref::<EditError>().and_then(EditError::diagnostic) {
        Some(diagnostic) => format!("{} was not changed", diagnostic.file.display()),
        None => cause.to_string(),
    }
}

/// Returns the hint of an error, for the error types that have one.
///
/// A library error type with a hint must be listed here, or its hint is never printed.
fn hint(cause: &(dyn Error + 'static)) -> Option<String> {
    if is_out_of_resources(cause) {
        let more = "allow more descriptors (`ulimit -n`), processes (`ulimit -u`) and memory (`ulimit -v`), or end some programs";
        return Some(more.to_owned());
    }
    if let Some(error) = cause.downcast_ref::<SessionError>() {
        return error.hint();
    }
    if let Some(error) = cause.downcast_ref::<PolicyError>() {
        return Some(error.hint());
    }
    if let Some(error) = cause.downcast_ref::<EditError>() {
        return error.hint();
    }
    if let Some(error) = cause.downcast_ref::<SettingError>() {
        return Some(error.hint.clone()).filter(|hint| !hint.is_empty());
    }
    if let Some(error) = cause.downcast_ref::<ExtensionError>() {
        return error.hint();
    }
    if let Some(error) = cause.downcast_ref::<ModelError>() {
        return error.hint();
    }
    if let Some(error) = cause.downcast_ref::<WriteError>() {
        return Some(error.hint());
    }
    if let Some(error) = cause.downcast_ref::<TranscriptError>() {
        return Some(error.hint().to_owned());
    }
    cause.downcast_ref::<SessionFindError>().map(SessionFindError::hint)
}
