//! The configuration of a running session, as administrative actions read and change it.

use std::ops::Deref;
use std::path::Path;

use hookwright_settings::LoadedConfig;
use hookwright_settings::administration::{ActionError, ConfigAccess, TrustAccess, UntrustedFile};
use hookwright_settings::edit::EditError;

use super::actor::SessionActor;
use super::reply::Reply;
use crate::protect::GuardChange;

impl SessionActor {
    /// Replies with the outcome of an action, and applies what it changed.
    pub(super) fn finish_action<T>(
        &mut self,
        result: Result<T, impl Into<ActionError>>,
        is_changed: impl FnOnce(&T) -> bool,
        reply: impl FnOnce(Box<T>) -> Reply,
    ) {
        let (is_changed, reply) = match result {
            Ok(outcome) => (is_changed(&outcome), reply(Box::new(outcome))),
            // A part of the change may have been made.
            Err(error) => (true, Reply::failed(error)),
        };
        self.reply(reply);
        if is_changed {
            self.apply_own_change();
        }
    }

    /// Applies a change that this session made to its configuration. It is not reported as a change.
    pub(super) fn apply_own_change(&mut self) {
        self.config_watch.rescan_files();
        self.reload_configuration(&[]);
    }
}

/// Changes are attributed to the user.
impl ConfigAccess for SessionActor {
    fn loaded(&self) -> impl Deref<Target = LoadedConfig> {
        self.shared.view().loaded.clone()
    }

    fn change_file<T>(&self, file: &Path, change: impl FnOnce() -> T) -> T {
        self.services().tamper_watch.with_user_change(file, change)
    }

    fn reload(&self) -> Option<LoadedConfig> {
        self.options.load(&self.world).ok()
    }
}

impl TrustAccess for SessionActor {
    type Change = GuardChange;

    fn untrusted_changes(&self) -> Vec<GuardChange> {
        self.services().tamper_watch.untrusted_changes()
    }

    fn untrusted_changes_of_hook(&self, name: &str) -> (Vec<GuardChange>, Option<GuardChange>) {
        self.services().tamper_watch.untrusted_changes_of_hook(name)
    }

    fn trust_changes(&self, changes: &[GuardChange]) -> Result<(), EditError> {
        self.services().tamper_watch.trust(changes);
        Ok(())
    }

    fn describe_change(&self, change: &GuardChange) -> UntrustedFile {
        UntrustedFile { path: change.path.clone(), change: change.manner(), diff: change.diff.clone() }
    }
}
