//! Stdin and stdout of this process, which are the agent's, and stderr, which is the log.

#![expect(clippy::disallowed_methods, reason = "a hook's stdout is its agent's, and it has no terminal")]

use std::io::{self, Read, StdinLock, Write};

use serde_json::{Map, Value};

pub(crate) fn read_stdin() -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|error| format!("stdin can't be read: {error}"))?;
    Ok(bytes)
}

pub(crate) fn lock_stdin() -> StdinLock<'static> {
    io::stdin().lock()
}

/// Parses a JSON object, as UTF-8 with or without a byte order mark.
pub(crate) fn parse_object(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match serde_json::from_slice(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("it is no JSON object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Writes a line to the agent.
pub(crate) fn write_line(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(format!("{line}\n").as_bytes())?;
    stdout.flush()
}

/// Logs an error on stderr.
pub(crate) fn log_error(error: &str) {
    // A failed write to the log is ignored.
    let _ = writeln!(io::stderr().lock(), "hookwright-sdk: {error}");
}
