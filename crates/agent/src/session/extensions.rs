//! `/extensions`: which there are, switched, and updated: looked for beside everything else, shown, and put in place when the
//! user has said yes to what was shown.

use std::path::Path;

use hookwright_extensions::{
    Agreed, Asks, Difference, ExtensionError, Fetcher, Prepared, Update, is_behind, look_for_update,
};
use hookwright_hooks::{Hook, did_you_mean};
use hookwright_settings::edit::Switch;
use hookwright_settings::{Extension, ExtensionOwner, OriginKind, dismiss_guards, switch_extension};
use tokio::task::{JoinError, JoinSet};

use super::conduct::Conductor;
use super::order::{Consent, ExtensionsOrder, Extent};
use super::proxy;
use super::reply::Reply;
use super::state::on_one_line;

/// An extension's name, and what there is of it elsewhere.
type Found = (String, Result<Update, ExtensionError>);

/// Updates on their way.
#[derive(Default)]
pub(super) struct Updates {
    /// Those that are looked for.
    pub(super) looking: JoinSet<Found>,
    /// Those that the user wants to hear of, looked for as the session begins; the name, if there is a newer version.
    pub(super) behind: JoinSet<Option<String>>,
    /// Those that were shown, and wait for a yes.
    shown: Vec<Prepared>,
}

impl Conductor {
    pub(super) fn extensions(&mut self, order: ExtensionsOrder) {
        match order {
            ExtensionsOrder::List => self.list_extensions(),
            ExtensionsOrder::Enable(name, extent) => self.switch_extension(&name, extent, Switch::Enable),
            ExtensionsOrder::Disable(name, extent, consent) => {
                if self.may_go(&name, consent) {
                    self.switch_extension(&name, extent, Switch::Disable);
                }
            }
            ExtensionsOrder::Update(name) => self.look_for_updates(name.as_deref()),
            ExtensionsOrder::Agree(name) => self.agree_to_update(&name),
        }
    }

    fn list_extensions(&self) {
        let row = |one: &Extension| {
            let state = if one.active { "active" } else { "disabled here" };
            let description =
                one.description.as_ref().map(|text| format!(" {}", on_one_line(text))).unwrap_or_default();
            (one.name.clone(), format!("{} ({state}){description}", one.version))
        };
        let rows: Vec<_> = self.shared.view().loaded.extensions.iter().map(row).collect();
        let none = "no extension is installed; `hookwright extensions install` installs one";
        self.reply(if rows.is_empty() { Reply::aside(none) } else { Reply::Rows(rows) });
    }

    /// The extension of that name, in whatever capitals; if there is none, that is said.
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

    /// Whether an extension may be switched off: it has no guard, or the user has agreed. If not, that has been said.
    fn may_go(&self, name: &str, consent: Consent) -> bool {
        let Some(extension) = self.extension_named(name) else { return false };
        let view = self.shared.view();
        let registry = &view.loaded.registry;
        let is_required = |hook: &Hook| registry.required().any(|one| one.name == hook.id());
        let declared = extension.declared();
        let guards = declared.hooks.iter().filter(|hook| hook.is_guard() || is_required(hook));
        let guards: Vec<String> = guards.map(|hook| format!("`{}`", hook.id())).collect();
        if guards.is_empty() || consent == Consent::Given {
            return true;
        }
        let (name, guards) = (&extension.name, guards.join(", "));
        self.reply(Reply::warning(format!("`{name}` brings guards, which would be off: {guards}")));
        self.reply(Reply::aside(format!("/extensions disable {name} --consent does it nevertheless")));
        false
    }

    fn switch_extension(&mut self, name: &str, extent: Extent, switch: Switch) {
        let Some(extension) = self.extension_named(name) else { return };
        let name = extension.name.clone();
        let view = self.shared.view();
        let (paths, root) = (&view.loaded.paths, &view.loaded.project.root);
        let (folder, place) = match extent {
            Extent::Everywhere => (Path::new("/"), "everywhere".to_owned()),
            Extent::Here => (root.as_path(), format!("in {}", root.display())),
        };
        let switched = || {
            let changed = switch_extension(paths, &name, folder, switch)?;
            match switch {
                Switch::Enable => Ok(changed),
                // The user knows that its guards are off.
                Switch::Disable => dismiss_guards(paths, &extension.hooks_files(), folder).map(|()| changed),
            }
        };
        let verb = if switch == Switch::Enable { "enabled" } else { "disabled" };
        match view.services.guards.own_change(&paths.extension_rules(), switched) {
            Ok(true) => self.reply(Reply::plain(format!("`{name}` is {verb} {place}"))),
            Ok(false) => return self.reply(Reply::aside(format!("`{name}` was already {verb} {place}"))),
            Err(error) => return self.reply(Reply::error(error)),
        }
        // What we wrote ourselves is no news.
        self.watch.changed();
        self.reload(&[]);
        let disabled = self.shared.view().loaded.disabled_extensions();
        if switch == Switch::Enable && disabled.iter().any(|disabled| disabled.eq_ignore_ascii_case(&name)) {
            self.reply(Reply::warning(format!("`{name}` is still switched off by `extensions.disabled` in settings")));
        }
    }

    /// Looks beside everything else whether there are newer versions of extensions of which the user wants to know. It is
    /// only said: new code is put in place by a person.
    pub(super) fn look_for_newer(&mut self) {
        let view = self.shared.view();
        let wanted = |one: &&Extension| {
            let wants = one.origin.as_ref().is_some_and(|origin| origin.auto_update);
            one.active && one.owner == ExtensionOwner::User && wants
        };
        for extension in view.loaded.extensions.iter().filter(wanted).cloned() {
            let (world, loaded) = (self.world.clone(), view.loaded.clone());
            self.updates.behind.spawn(async move {
                let fetcher = Fetcher { world: &world, proxy: proxy(&world), progress: &|_| {} };
                match is_behind(&extension, &fetcher, &loaded).await {
                    Ok(behind) => behind.then_some(extension.name),
                    Err(error) => {
                        tracing::info!(%error, extension = extension.name, "no newer version could be looked for");
                        None
                    }
                }
            });
        }
    }

    /// A newer version was found, or not.
    pub(super) fn newer_found(&self, found: Result<Option<String>, JoinError>) {
        if let Ok(Some(name)) = found {
            let text = format!("there is a newer version of `{name}`; /extensions update {name} shows it");
            self.reply(Reply::aside(text));
        }
    }

    fn look_for_updates(&mut self, name: Option<&str>) {
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
            self.updates.shown.retain(|shown| shown.brings.name != extension.name);
            let (world, loaded) = (self.world.clone(), view.loaded.clone());
            self.updates.looking.spawn(async move {
                let fetcher = Fetcher { world: &world, proxy: proxy(&world), progress: &|_| {} };
                let found = look_for_update(&extension, &fetcher, &loaded).await;
                (extension.name, found)
            });
        }
    }

    /// What came of looking for an update.
    pub(super) fn update_found(&mut self, found: Result<Found, JoinError>) {
        let (name, update) = match found {
            Ok(found) => found,
            Err(error) => return self.reply(Reply::error(error)),
        };
        match update {
            Err(error) => self.reply(Reply::error(error)),
            Ok(Update::Current) => self.reply(Reply::plain(format!("`{name}` is the newest"))),
            Ok(Update::Linked) => self.reply(Reply::plain(format!("`{name}` is linked: it counts as it is"))),
            Ok(Update::Ready(prepared)) => self.show_update(*prepared),
        }
    }

    /// Shows what is different. What changes nothing that runs or decides is put in place, unless the agent is at work.
    fn show_update(&mut self, prepared: Prepared) {
        let name = prepared.brings.name.clone();
        let asks = prepared.difference.as_ref().map_or(Asks::Yes, Difference::asks);
        if let Some(difference) = &prepared.difference {
            self.reply(Reply::plain(words(&name, difference)));
        }
        if asks == Asks::No && self.is_idle() {
            return self.put_update_in_place(prepared, Agreed::NotAsked);
        }
        self.updates.shown.push(prepared);
        let text =
            format!("/extensions update {name} --consent puts it in place, and trusts its hooks as they are then");
        self.reply(Reply::aside(text));
    }

    /// Only what was shown is put in place, whatever there is elsewhere by now.
    fn agree_to_update(&mut self, name: &str) {
        let shown = &mut self.updates.shown;
        let Some(at) = shown.iter().position(|shown| shown.brings.name.eq_ignore_ascii_case(name)) else {
            let text = format!("no update of `{name}` was shown; /extensions update {name} looks for one");
            return self.reply(Reply::error(text));
        };
        if self.is_free() {
            let prepared = self.updates.shown.swap_remove(at);
            self.put_update_in_place(prepared, Agreed::Yes);
        }
    }

    fn put_update_in_place(&mut self, prepared: Prepared, agreed: Agreed) {
        let (name, version) = (prepared.brings.name.clone(), prepared.brings.version.clone());
        let view = self.shared.view();
        let loaded = &view.loaded;
        let put = || prepared.commit(&[], agreed, &self.world, loaded);
        match view.services.guards.own_change(&loaded.paths.trusted_hooks, put) {
            Ok(()) => self.reply(Reply::plain(format!("`{name}` is at {version} now"))),
            Err(error) => return self.reply(Reply::error(error)),
        }
        self.watch.changed();
        self.reload(&[]);
    }
}

/// A difference in words.
fn words(name: &str, difference: &Difference) -> String {
    let (old, new) = &difference.versions;
    let mut lines = vec![format!("{name} {old} → {new}")];
    if difference.goes_back {
        lines.push(format!("{new} is lower than {old}"));
    }
    lines.extend((!difference.brings.is_empty()).then(|| difference.brings.clone()));
    lines.extend(difference.reviewed.iter().map(|(_, text)| text.clone()));
    lines.extend(difference.others.iter().cloned());
    lines.join("\n")
}
