//! `/extensions`: lists, switches and updates extensions. Updates are looked for in the background, shown, and
//! installed when the user has agreed.

use std::path::Path;

use hookwright_extensions::{
    ConsentRequirement, ExtensionDiff, ExtensionError, Fetcher, InstallConsent, PreparedExtension, UpdateStatus,
    check_for_update, has_newer_commit,
};
use hookwright_hooks::{Hook, did_you_mean};
use hookwright_settings::edit::Switch;
use hookwright_settings::{Extension, ExtensionOwner, OriginKind, dismiss_guards, switch_extension};
use tokio::task::{JoinError, JoinSet};

use super::actor::SessionActor;
use super::command::{DisableConsent, ExtensionScope, ExtensionsAction};
use super::hook_list::collapse_whitespace;
use super::proxy_from_env;
use super::reply::Reply;

/// An extension's name with the status of its update.
type ExtensionUpdateResult = (String, Result<UpdateStatus, ExtensionError>);

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
            ExtensionsAction::Enable(name, extent) => self.switch_extension(&name, extent, Switch::Enable),
            ExtensionsAction::Disable(name, extent, consent) => {
                if self.may_disable(&name, consent) {
                    self.switch_extension(&name, extent, Switch::Disable);
                }
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

    /// Returns the extension of that name, in any letter case, or replies that there is none.
    fn extension_named(&self, name: &str) -> Option<Extension> {
        let all = &self.shared.view().loaded.extensions;
        let found = all.iter().find(|one| one.name.eq_ignore_ascii_case(name)).cloned();
        if found.is_none() {
            let known = all.iter().map(|one| one.name.as_str());
            let help = did_you_mean(name, known, "/extensions list shows them all");
            self.reply(Reply::error(format!("no extension is called `{name}`; {help}")));
        }
        found
    }

    /// Returns whether an extension may be disabled: it has no guard, or the user has agreed. If not, replies why.
    fn may_disable(&self, name: &str, consent: DisableConsent) -> bool {
        let Some(extension) = self.extension_named(name) else { return false };
        let view = self.shared.view();
        let registry = &view.loaded.registry;
        let is_required = |hook: &Hook| registry.required().any(|one| one.name == hook.id());
        let declared = extension.declared_hooks();
        let guards = declared.hooks.iter().filter(|hook| hook.is_guard() || is_required(hook));
        let guards: Vec<String> = guards.map(|hook| format!("`{}`", hook.id())).collect();
        if guards.is_empty() || consent == DisableConsent::Given {
            return true;
        }
        let (name, guards) = (&extension.name, guards.join(", "));
        self.reply(Reply::warning(format!("`{name}` contains guards, which would be switched off: {guards}")));
        self.reply(Reply::aside(format!("/extensions disable {name} --consent disables it nevertheless")));
        false
    }

    fn switch_extension(&mut self, name: &str, extent: ExtensionScope, switch: Switch) {
        let Some(extension) = self.extension_named(name) else { return };
        let name = extension.name.clone();
        let view = self.shared.view();
        let (paths, root) = (&view.loaded.paths, &view.loaded.project.root);
        let (folder, place) = match extent {
            ExtensionScope::User => (Path::new("/"), "everywhere".to_owned()),
            ExtensionScope::Workspace => (root.as_path(), format!("in {}", root.display())),
        };
        let switched = || {
            let changed = switch_extension(paths, &name, folder, switch)?;
            match switch {
                Switch::Enable => Ok(changed),
                // The user has agreed to disable its guards.
                Switch::Disable => dismiss_guards(paths, &extension.hooks_files(), folder).map(|()| changed),
            }
        };
        let verb = if switch == Switch::Enable { "enabled" } else { "disabled" };
        match view.services.tamper_watch.with_user_change(&paths.extension_enablement_file(), switched) {
            Ok(true) => self.reply(Reply::plain(format!("`{name}` is {verb} {place}"))),
            Ok(false) => return self.reply(Reply::aside(format!("`{name}` was already {verb} {place}"))),
            Err(error) => return self.reply(Reply::error(error)),
        }
        // The session's own write must not be reported as a change.
        self.config_watch.rescan_files();
        self.reload_configuration(&[]);
        let disabled = self.shared.view().loaded.disabled_extensions();
        if switch == Switch::Enable && disabled.iter().any(|disabled| disabled.eq_ignore_ascii_case(&name)) {
            self.reply(Reply::warning(format!("`{name}` is still switched off by `extensions.disabled` in settings")));
        }
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
            let text = format!("there is a newer version of `{name}`; /extensions update {name} shows it");
            self.reply(Reply::aside(text));
        }
    }

    fn start_update_lookups(&mut self, name: Option<&str>) {
        let view = self.shared.view();
        let is_from_elsewhere = |one: &&Extension| {
            let origin = one.origin.as_ref().filter(|origin| origin.kind != OriginKind::Link);
            one.owner == ExtensionOwner::User && origin.is_some()
        };
        let wanted: Vec<Extension> = match name {
            Some(name) => self.extension_named(name).into_iter().collect(),
            None => view.loaded.extensions.iter().filter(is_from_elsewhere).cloned().collect(),
        };
        if wanted.is_empty() && name.is_none() {
            self.reply(Reply::aside("no installed extension can be updated"));
        }
        for extension in wanted {
            self.reply(Reply::aside(format!("looking for an update of `{}`", extension.name)));
            self.extension_updates.awaiting_consent.retain(|shown| shown.summary.name != extension.name);
            let (world, loaded) = (self.world.clone(), view.loaded.clone());
            self.extension_updates.lookups.spawn(async move {
                let fetcher = Fetcher { process_env: &world, proxy: proxy_from_env(&world), progress: &|_| {} };
                let found = check_for_update(&extension, &fetcher, &loaded).await;
                (extension.name, found)
            });
        }
    }

    /// Handles the result of an update lookup.
    pub(super) fn handle_update_result(&mut self, found: Result<ExtensionUpdateResult, JoinError>) {
        let (name, update) = match found {
            Ok(found) => found,
            Err(error) => return self.reply(Reply::error(error)),
        };
        match update {
            Err(error) => self.reply(Reply::error(error)),
            Ok(UpdateStatus::Current) => self.reply(Reply::plain(format!("`{name}` is the newest"))),
            Ok(UpdateStatus::Linked) => {
                self.reply(Reply::plain(format!("`{name}` is linked, so it is always up to date")))
            }
            Ok(UpdateStatus::Ready(prepared)) => self.show_update(*prepared),
        }
    }

    /// Shows an update. It is installed at once if it changes nothing that runs or decides and the agent is idle.
    fn show_update(&mut self, prepared: PreparedExtension) {
        let name = prepared.summary.name.clone();
        let asks = prepared.diff.as_ref().map_or(ConsentRequirement::Required, ExtensionDiff::consent_requirement);
        if let Some(difference) = &prepared.diff {
            self.reply(Reply::plain(difference_text(&name, difference)));
        }
        if asks == ConsentRequirement::NotRequired && self.is_idle() {
            return self.install_update(prepared, InstallConsent::NotRequired);
        }
        self.extension_updates.awaiting_consent.push(prepared);
        let text = format!("/extensions update {name} --consent installs it and trusts its new hooks");
        self.reply(Reply::aside(text));
    }

    /// Installs exactly the version that was shown, even if a newer one exists by now.
    fn confirm_update(&mut self, name: &str) {
        let shown = &mut self.extension_updates.awaiting_consent;
        let Some(at) = shown.iter().position(|shown| shown.summary.name.eq_ignore_ascii_case(name)) else {
            let text = format!("no update of `{name}` was shown yet; /extensions update {name} looks for one");
            return self.reply(Reply::error(text));
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
            Ok(()) => self.reply(Reply::plain(format!("`{name}` is at {version} now"))),
            Err(error) => return self.reply(Reply::error(error)),
        }
        self.config_watch.rescan_files();
        self.reload_configuration(&[]);
    }
}

/// Describes the differences between two versions.
fn difference_text(name: &str, difference: &ExtensionDiff) -> String {
    let (old, new) = &difference.versions;
    let mut lines = vec![format!("{name} {old} → {new}")];
    if difference.is_downgrade {
        lines.push(format!("{new} is lower than {old}"));
    }
    lines.extend((!difference.summary_diff.is_empty()).then(|| difference.summary_diff.clone()));
    lines.extend(difference.reviewed_diffs.iter().map(|(_, text)| text.clone()));
    lines.extend(difference.other_changes.iter().cloned());
    lines.join("\n")
}
