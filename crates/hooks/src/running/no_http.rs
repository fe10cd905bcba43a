//! The replacement for HTTP hooks in builds without the `http` feature: the hooks are declared and listed, and fail, so
//! that a guard of this type denies.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{HookRunner, RunOutput};
use crate::answers::HookExit;
use crate::event::input::HookInput;
use crate::hook::HttpAction;
use crate::running::readiness::ReadinessError;

/// The empty replacement for the clients.
#[derive(Clone, Default)]
pub(super) struct HttpClients;

impl HookRunner {
    /// Fails every run, since no client is built in.
    #[expect(clippy::unused_async, reason = "the other one waits")]
    pub(super) async fn run_http(
        &self,
        _: &HttpAction,
        _: Duration,
        _: &HookInput,
        _: &CancellationToken,
    ) -> RunOutput {
        RunOutput::from_exit(HookExit::NotStarted { code: 126, message: ReadinessError::HttpNotBuilt.to_string() })
    }

    pub(super) fn check_http(&self, _: &HttpAction) -> Result<(), ReadinessError> {
        Err(ReadinessError::HttpNotBuilt)
    }
}
