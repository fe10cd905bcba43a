//! What stands in for HTTP hooks in a program that is built without them (feature `http`): they are declared and listed, and
//! fail, so that a guard of this type stays closed.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{RunEnd, Runner};
use crate::answer::End;
use crate::hook::HttpAction;
use crate::input::HookInput;
use crate::ready::NotReady;

/// None.
#[derive(Clone, Default)]
pub(super) struct Connections;

impl Runner {
    /// Never gets an answer.
    #[expect(clippy::unused_async, reason = "the other one waits")]
    pub(super) async fn post(&self, _: &HttpAction, _: Duration, _: &HookInput, _: &CancellationToken) -> RunEnd {
        RunEnd::not_run(End::NotStarted { code: 126, message: NotReady::NoHttp.to_string() })
    }

    pub(super) fn check_http(&self, _: &HttpAction) -> Result<(), NotReady> {
        Err(NotReady::NoHttp)
    }
}
