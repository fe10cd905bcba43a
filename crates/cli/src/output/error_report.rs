//! Prints the error that a command ends with: the error, its causes, and a hint.

use std::error::Error;
use std::io;

use hookwright_agent::PolicyError;
use hookwright_agent::checkpoint::CheckpointError;
use hookwright_agent::session::SessionError;
use hookwright_agent::transcript::{SessionFindError, TranscriptError};
use hookwright_extensions::ExtensionError;
use hookwright_hooks::Diagnostic;
use hookwright_model::ModelError;
use hookwright_settings::WriteError;
use hookwright_settings::administration::ActionError;
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
    error.chain().find_map(diagnostic).map_or(Ok(()), |diagnostic| diagnostics::print([&diagnostic]))?;
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

/// Returns the text of one cause. If its diagnostic is printed below it, the text is short.
fn cause_text(cause: &(dyn Error + 'static)) -> String {
    match diagnostic(cause) {
        Some(diagnostic) => format!("{} was not changed", diagnostic.file.display()),
        None => cause.to_string(),
    }
}

/// Returns the problem in the file that could not be changed.
fn diagnostic(cause: &(dyn Error + 'static)) -> Option<Diagnostic> {
    match cause.downcast_ref::<ActionError>() {
        Some(error) => error.diagnostic.clone(),
        None => cause.downcast_ref::<EditError>()?.diagnostic(),
    }
}

/// The errors that say what the user can do, apart from those that an action returns as an [`ActionError`].
const HINTS: [fn(&(dyn Error + 'static)) -> Option<String>; 11] = [
    |cause| cause.downcast_ref::<ActionError>()?.hint.clone(),
    |cause| cause.downcast_ref::<SessionError>()?.hint(),
    |cause| cause.downcast_ref::<PolicyError>().map(PolicyError::hint),
    |cause| cause.downcast_ref::<EditError>()?.hint(),
    |cause| Some(cause.downcast_ref::<SettingError>()?.hint.clone()).filter(|hint| !hint.is_empty()),
    |cause| cause.downcast_ref::<ExtensionError>()?.hint(),
    |cause| cause.downcast_ref::<ModelError>()?.hint(),
    |cause| cause.downcast_ref::<WriteError>().map(WriteError::hint),
    |cause| cause.downcast_ref::<TranscriptError>().map(|error| error.hint().to_owned()),
    |cause| cause.downcast_ref::<CheckpointError>()?.hint(),
    |cause| cause.downcast_ref::<SessionFindError>().map(SessionFindError::hint),
];

/// Returns what the user can do about an error.
fn hint(cause: &(dyn Error + 'static)) -> Option<String> {
    if is_out_of_resources(cause) {
        let more = "allow more descriptors (`ulimit -n`), processes (`ulimit -u`) and memory (`ulimit -v`), or end some programs";
        return Some(more.to_owned());
    }
    HINTS.iter().find_map(|hint| hint(cause))
}
