//! `/extensions`: lists, switches and updates extensions. Updates are looked for in the background, shown, and
//! installed when the user has agreed.

use hookwright_extensions::{
    ConsentRequirement, ExtensionDiff, ExtensionError, ExtensionUpdateReport, Fetcher, InstallConsent,
    PreparedExtension, UpdateStatus, check_for_update, has_newer_commit, updatable_extensions,
};
use hookwright_settings::administration::{ExtensionSwitchOutcome, UnknownName, switch_extension};
use hookwright_settings::{Extension, ExtensionOwner};
use tokio::task::{JoinError, JoinSet};

use super::actor::SessionActor;
use super::command::ExtensionsAction;
use super::hook_list::collapse_whitespace;
use super::proxy_from_env;
use super::reply::Reply;

/// An extension with the status of its update.
type ExtensionUpdateResult = (Extension, Result<UpdateStatus, ExtensionError>);

/// The state of updates.
#[derive(Default)]
pub(super) struct ExtensionUpdates {
    /// Lookups that the user asked for.
    pub(super) lookups: JoinSet<ExtensionUpdateResult>,
    /// Checks at session start for extensions with automatic updates; the name, if there is a newer version.
    pub(super) version_checks: JoinSet<Option<String>>,
    /// Updates that were shown and wait for consent.
    awaiting_consent: Vec<PreparedExtension>,
}

impl SessionActor {
    pub(super) fn handle_extensions(&mut self, order: ExtensionsAction) {
        match order {
            ExtensionsAction::List => self.list_extensions(),
            ExtensionsAction::Switch(request) => {
                let switched = switch_extension(self, &request);
                self.finish_action(switched, ExtensionSwitchOutcome::is_changed, Reply::ExtensionSwitch);
            }
            ExtensionsAction::Update(name) => self.start_update_lookups(name.as_deref()),
            ExtensionsAction::ConfirmUpdate(name) => self.confirm_update(&name),
        }
    }

    fn list_extensions(&self) {
        let row = |one: &Extension| {
            let state = if one.active { "active" } else { "disabled here" };
            let description =
                one.description.as_ref().map(|text| format!(" {}", collapse_whitespace(text))).unwrap_or_default();
            (one.name.clone(), format!("{} ({state}){description}", one.version))
        };
        let rows: Vec<_> = self.shared.view().loaded.extensions.iter().map(row).collect();
        let none = "no extension is installed; `hookwright extensions install` installs one";
        self.reply(if rows.is_empty() { Reply::aside(none) } else { Reply::Rows(rows) });
    }

    fn report_update(&self, report: ExtensionUpdateReport) {
        self.reply(Reply::ExtensionUpdate(Box::new(report)));
    }

    /// Checks in the background for newer versions of extensions that have automatic updates switched on.
    ///
    /// A newer version is only announced: the user must install new code.
    pub(super) fn check_newer_versions(&mut self) {
        let view = self.shared.view();
        let wanted = |one: &&Extension| {
            let wants = one.origin.as_ref().is_some_and(|origin| origin.auto_update);
            one.active && one.owner == ExtensionOwner::User && wants
        };
        for extension in view.loaded.extensions.iter().filter(wanted).cloned() {
            let (world, loaded) = (self.world.clone(), view.loaded.clone());
            self.extension_updates.version_checks.spawn(async move {
                let fetcher = Fetcher { process_env: &world, proxy: proxy_from_env(&world), progress: &|_| {} };
                match has_newer_commit(&extension, &fetcher, &loaded).await {
                    Ok(behind) => behind.then_some(extension.name),
                    Err(error) => {
                        tracing::info!(%error, extension = extension.name, "no newer version could be looked for");
                        None
                    }
                }
            });
        }
    }

    /// Announces a newer version, if one was found.
    pub(super) fn announce_newer_version(&self, found: Result<Option<String>, JoinError>) {
        if let Ok(Some(name)) = found {
            self.report_update(ExtensionUpdateReport::Newer { name });
        }
    }

    fn start_update_lookups(&mut self, name: Option<&str>) {
        let view = self.shared.view();
        let wanted: Vec<Extension> = match name.map(|name| view.loaded.extension(name).ok_or(name)) {
            None => updatable_extensions(&view.loaded).into_iter().cloned().collect(),
            Some(Ok(extension)) => vec![extension.clone()],
            Some(Err(name)) => return self.reply(Reply::Unknown(UnknownName::extension(name, &view.loaded))),
        };
        if wanted.is_empty() {
            self.report_update(ExtensionUpdateReport::NoneUpdatable);
        }
        for extension in wanted {
            self.report_update(ExtensionUpdateReport::Lookup { name: extension.name.clone() });
            if let Some(to) = extension.moved_to.clone() {
                self.report_update(ExtensionUpdateReport::Moved { name: extension.name.clone(), to });
            }
            self.extension_updates.awaiting_consent.retain(|shown| shown.summary.name != extension.name);
            let (world, loaded) = (self.world.clone(), view.loaded.clone());
            self.extension_updates.lookups.spawn(async move {
                let fetcher = Fetcher { process_env: &world, proxy: proxy_from_env(&world), progress: &|_| {} };
                let found = check_for_update(&extension, &fetcher, &loaded).await;
                (extension, found)
            });
        }
    }

    /// Handles the result of an update lookup.
    pub(super) fn handle_update_result(&mut self, found: Result<ExtensionUpdateResult, JoinError>) {
        let (Extension { name, version, path: folder, .. }, update) = match found {
            Ok(found) => found,
            Err(error) => return self.reply(Reply::error(error)),
        };
        match update {
            Err(error) => self.reply(Reply::failed(error)),
            Ok(UpdateStatus::Current) => self.report_update(ExtensionUpdateReport::Current { name, version }),
            Ok(UpdateStatus::Linked) => self.report_update(ExtensionUpdateReport::Linked { name, folder }),
            Ok(UpdateStatus::Ready(prepared)) => self.show_update(*prepared),
        }
    }

    /// Shows an update. It is installed at once if it changes nothing that runs or decides and the agent is idle.
    fn show_update(&mut self, prepared: PreparedExtension) {
        let name = prepared.summary.name.clone();
        let asks = prepared.diff.as_ref().map_or(ConsentRequirement::Required, ExtensionDiff::consent_requirement);
        if let Some(diff) = prepared.diff.clone() {
            self.report_update(ExtensionUpdateReport::Difference { name: name.clone(), diff });
        }
        if asks == ConsentRequirement::NotRequired && self.is_idle() {
            return self.install_update(prepared, InstallConsent::NotRequired);
        }
        self.extension_updates.awaiting_consent.push(prepared);
        self.report_update(ExtensionUpdateReport::AwaitsConsent { name });
    }

    /// Installs exactly the version that was shown, even if a newer one exists by now.
    fn confirm_update(&mut self, name: &str) {
        let shown = &mut self.extension_updates.awaiting_consent;
        let Some(at) = shown.iter().position(|shown| shown.summary.name.eq_ignore_ascii_case(name)) else {
            return self.report_update(ExtensionUpdateReport::NotShown { name: name.to_owned() });
        };
        if self.require_idle() {
            let prepared = self.extension_updates.awaiting_consent.swap_remove(at);
            self.install_update(prepared, InstallConsent::Given);
        }
    }

    fn install_update(&mut self, prepared: PreparedExtension, agreed: InstallConsent) {
        let (name, version) = (prepared.summary.name.clone(), prepared.summary.version.clone());
        let view = self.shared.view();
        let loaded = &view.loaded;
        let put = || prepared.commit(&[], agreed, &self.world, loaded);
        match view.services.tamper_watch.with_user_change(&loaded.paths.trusted_hooks, put) {
            Ok(()) => self.report_update(ExtensionUpdateReport::Updated { name, version }),
            Err(error) => return self.reply(Reply::failed(error)),
        }
        self.apply_own_change();
    }
}
