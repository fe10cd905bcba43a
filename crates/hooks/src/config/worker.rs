//! Reads how a worker process is kept from its JSON object. `hook.rs` reads its command.

use std::num::NonZeroU32;
use std::time::Duration;

use jsonc_parser::ast::{Object, Value};

use super::node_reader::NodeReader;
use crate::hook::WorkerConfig;
use crate::jsonc::last_property;

/// The keys that only worker hooks have.
pub(super) const WORKER_KEYS: [&str; 4] = ["start", "concurrency", "idleTimeout", "maxMemoryMb"];

/// The maximum of `concurrency`; larger numbers count as this one.
const MAX_CONCURRENCY: u32 = 1000;

/// Reads how the worker process is kept. An invalid value is reported and counts as not set.
pub(super) fn read_worker_config(read: &mut NodeReader<'_>, object: &Object<'_>) -> WorkerConfig {
    let concurrency = read_positive_integer(read, object, "concurrency", "of requests").map(|number| {
        let number = u32::try_from(number).unwrap_or(MAX_CONCURRENCY).min(MAX_CONCURRENCY);
        NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN)
    });
    WorkerConfig {
        start_with_session: read_start_with_session(read, object),
        concurrency: concurrency.unwrap_or(NonZeroU32::MIN),
        idle_timeout: read_positive_integer(read, object, "idleTimeout", "of milliseconds").map(Duration::from_millis),
        max_memory_bytes: read_positive_integer(read, object, "maxMemoryMb", "of megabytes")
            .map(|most| most.saturating_mul(1 << 20)),
    }
}

/// Reads `start`: whether the worker starts with the session.
fn read_start_with_session(read: &mut NodeReader<'_>, object: &Object<'_>) -> bool {
    let Some(property) = last_property(object, "start") else { return false };
    match property.value.as_string_lit().map(|text| text.value.as_ref()) {
        Some("session") => true,
        Some("use") => false,
        _ => {
            let text = "`start` should be \"session\" or \"use\"; this worker is started when it is first needed";
            let wrong = read.error(&property.value, text);
            read.report(wrong.expected("expected \"session\" or \"use\""));
            false
        }
    }
}

/// Reads a whole number that is at least 1.
fn read_positive_integer(read: &mut NodeReader<'_>, object: &Object<'_>, key: &str, of_what: &str) -> Option<u64> {
    let property = last_property(object, key).filter(|property| !matches!(property.value, Value::NullKeyword(_)))?;
    let number = property.value.as_number_lit().and_then(|number| number.value.parse::<u64>().ok());
    if number.is_none_or(|number| number == 0) {
        let text = format!("`{key}` should be a whole number {of_what}, at least 1; it counts as not set");
        let wrong = read.error(&property.value, text);
        read.report(wrong.expected("expected a whole number, at least 1"));
        return None;
    }
    number
}
