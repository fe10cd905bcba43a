//! What an event is to this library: a name, what hooks receive, what they may answer.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::events::LlmRequest;

/// An event that handlers can be registered for: one of the unit structs of this crate, such as [`BeforeTool`](crate::BeforeTool).
pub trait Event: Copy + 'static {
    /// Its name, in settings and in `hook_event_name`.
    const NAME: &'static str;
    /// What a handler receives.
    type Input: DeserializeOwned;
    /// What a handler answers.
    type Output: Serialize;

    /// Puts a request that was sent earlier into an input.
    #[doc(hidden)]
    fn lend(_input: &mut Self::Input, _field: &str, _request: &Arc<LlmRequest>) {}
}
