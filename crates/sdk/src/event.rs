//! The trait of events: a name, the input of handlers, and their output.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::events::LlmRequest;

/// An event that handlers can be registered for: one of the unit structs of this crate, such as
/// [`BeforeTool`](crate::BeforeTool).
pub trait Event: Copy + 'static {
    /// The event's name in settings and in `hook_event_name`.
    const NAME: &'static str;
    /// The type that a handler receives.
    type Input: DeserializeOwned;
    /// The type that a handler answers.
    type Output: Serialize;

    /// Inserts a request that was sent earlier into an input.
    #[doc(hidden)]
    fn lend(_input: &mut Self::Input, _field: &str, _request: &Arc<LlmRequest>) {}
}
