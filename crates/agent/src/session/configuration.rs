//! The configuration of a running session: hooks listed, switched and trusted, and everything read again when it changes
//! on disk.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_hooks::{
    Change, DISK_SILENT, Diagnostic, Difference, Hook, Registry, Severity, SwitchError, WhyUnarmed, did_you_mean,
    within_disk_timeout,
};
use hookwright_settings::commands::Commands;
use hookwright_settings::edit::Switch;
use hookwright_settings::trust::trust_hooks;
use hookwright_settings::{
    Extension, FileState, Gone, Loaded, Notice, Review, SwitchedHooks, remember_guards, remember_offers, still_off,
    switch_hooks,
};
use tokio_util::sync::CancellationToken;

use super::conduct::Conductor;
use super::line::custom_commands;
use super::open;
use super::order::HooksOrder;
use super::reply::{Reply, Tone};
use super::state::panel_text;
use super::watch::Watch;
use crate::event::AgentEvent;
use crate::policy::load_policies;
use crate::protect::{Guards, settle};
use crate::scope::Scope;
use crate::services::Interaction;

const NOTHING_TO_TRUST: &str = "there is nothing to trust: no hook is new or changed";

/// What to say where there are no hooks.
pub const NO_HOOKS: &str = "there are no hooks here; `hookwright hooks add EXAMPLE` takes over a ready one, \
                            `hookwright hooks new NAME --event EVENT` begins one of your own";

/// What is to be trusted.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    One(&'a str),
    Everything,
}

/// The custom commands of a configuration, without those that wait for trust.
pub(super) fn trusted_commands(loaded: &Loaded, guards: &Guards) -> Commands {
    let held = guards.held_instructions();
    let mut commands = custom_commands(loaded);
    let Commands { list, diagnostics, left_out, .. } = &mut commands;
    list.retain(|command| match held.why(&command.path).or_else(|| loaded.held_instruction(&command.path)) {
        Some(why) => {
            let wrong = Diagnostic::about_file(Severity::Warning, &command.path, why);
            left_out.push((command.name.clone(), wrong.clone()));
            diagnostics.push(wrong);
            false
        }
        None => true,
    });
    commands
}

/// What one look at the disk found.
pub(super) struct Looked {
    /// The guards whose workers are not started any more.
    given_up: Vec<String>,
    /// Whether nothing that guards are made of waits for the user's trust.
    is_trusted: bool,
    /// What stands in for hooks that are missed.
    missed: Vec<Hook>,
    /// What was watched, as it was before the look and as it is.
    before: Watch,
    watch: Watch,
    changed: Vec<PathBuf>,
    have_commands_changed: bool,
}

impl Conductor {
    pub(super) fn hooks(&mut self, order: HooksOrder) {
        match order {
            HooksOrder::List => {
                let entries = self.shared.view().hooks();
                self.reply(if entries.is_empty() { Reply::aside(NO_HOOKS) } else { Reply::Hooks(entries) });
            }
            HooksOrder::Panel => {
                let entries = self.shared.view().hooks();
                self.reply(match entries.as_slice() {
                    [] => Reply::aside(NO_HOOKS),
                    entries => Reply::plain(panel_text(entries)),
                });
            }
            HooksOrder::Enable(name) => self.switch(&[name], Switch::Enable),
            HooksOrder::Disable(name) => self.switch(&[name], Switch::Disable),
            HooksOrder::EnableAll => self.switch(&self.hook_names(), Switch::Enable),
            HooksOrder::DisableAll => self.switch(&self.hook_names(), Switch::Disable),
            HooksOrder::ShowUntrusted => self.show_untrusted(),
            HooksOrder::Trust(name) => self.trust(Wanted::One(&name)),
            HooksOrder::TrustAll => self.trust(Wanted::Everything),
        }
    }

    fn hook_names(&self) -> Vec<String> {
        let registry = self.services().hooks.registry();
        let mut names: Vec<String> = registry.hooks().iter().map(|hook| hook.id().to_owned()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Switches hooks in the settings and in the running session.
    fn switch(&mut self, names: &[String], switch: Switch) {
        let enabled = switch == Switch::Enable;
        let all = names.iter().map(String::as_str);
        let refused = self.services().hooks.update(|registry| registry.switch(all.clone(), enabled));
        for error in &refused {
            self.reply(match error {
                SwitchError::Unknown(name) => self.no_hook(name),
                error => Reply::error(error),
            });
        }
        let refused: HashSet<&str> = refused.iter().map(SwitchError::name).collect();
        let switched: Vec<&str> = all.filter(|name| !refused.contains(name)).collect();
        if switched.is_empty() {
            return;
        }
        let (view, verb) = (self.shared.view(), if enabled { "enabled" } else { "disabled" });
        let own_change = |file: &Path, change: &dyn Fn() -> _| view.services.guards.own_change(file, change);
        let hooks = switched.join(", ");
        match switch_hooks(&view.loaded, &switched, switch, own_change) {
            Ok(SwitchedHooks { changed, unchanged }) => {
                let files = if changed.is_empty() { vec![view.loaded.settings_file().to_owned()] } else { changed };
                let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
                self.reply(Reply::plain(format!("{verb} {hooks} in {}", files.join(" and "))));
                if let Some((file, error)) = unchanged {
                    self.reply(Reply::warning(format!("can't look into {}: {error}", file.display())));
                }
            }
            Err(error) => self.reply(Reply::warning(format!("{verb} {hooks} for this session only: {error}"))),
        }
        if enabled && let Ok(loaded) = self.options.load(&self.world) {
            for (name, by) in still_off(&loaded.registry, &switched) {
                let layers: Vec<String> = by.iter().map(ToString::to_string).collect();
                let text = format!("hook `{name}` is still switched off by the {} settings", layers.join(" and "));
                self.reply(Reply::warning(format!("{text}; what is switched here counts for this session at most")));
            }
        }
        // What we wrote ourselves is no news.
        self.watch.changed();
        self.tell(AgentEvent::Configured);
    }

    /// What waits for trust, and what changed. Nothing is trusted that was not shown.
    fn show_untrusted(&self) {
        let mut lines = Vec::new();
        for change in self.services().guards.waiting() {
            lines.push(format!("{change}, and waits for trust"));
            lines.extend(change.diff.unwrap_or_default().lines().map(|line| format!("    {line}")));
        }
        for Review { hook, finding, held, .. } in &self.shared.view().loaded.reviews {
            let held = if *held { ", waits for trust" } else { "" };
            lines.push(format!("{} on {} ({finding}{held})", hook.id(), hook.event));
            lines.extend(hook.deed().map(|deed| format!("    runs {deed}")));
        }
        if lines.is_empty() {
            return self.reply(Reply::aside(NOTHING_TO_TRUST));
        }
        self.reply(Reply::plain(lines.join("\n")));
        self.reply(Reply::aside("/hooks trust NAME trusts one hook, /hooks trust --all everything"));
    }

    /// Trusts hooks that wait for it, and those that were only announced.
    fn trust(&mut self, wanted: Wanted<'_>) {
        let guards = self.services().guards.clone();
        let changes = match wanted {
            Wanted::Everything => guards.waiting(),
            Wanted::One(name) => {
                let (own, settings) = guards.waiting_for(name);
                if let Some(change) = settings {
                    let text = format!("{change}; it holds more than this hook, so it is trusted as a whole");
                    return self.reply(Reply::error(format!("{text}: look at /hooks trust, then /hooks trust --all")));
                }
                own
            }
        };
        if !changes.is_empty() {
            guards.trust(&changes);
            let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
            self.reply(Reply::plain(format!("trusted what the agent changed: {}", paths.join(", "))));
            self.reload(&[]);
        }
        let loaded = self.shared.view().loaded.clone();
        let chosen: Vec<&Review> = loaded
            .reviews
            .iter()
            .filter(|review| match wanted {
                Wanted::Everything => true,
                Wanted::One(name) => review.hook.id() == name,
            })
            .collect();
        let names: Vec<String> =
            chosen.iter().map(|review| format!("{} ({})", review.hook.id(), review.finding)).collect();
        if chosen.is_empty() && !changes.is_empty() {
            return;
        }
        if chosen.is_empty() {
            return self.reply(self.nothing_to_trust(wanted));
        }
        match guards.own_change(&loaded.paths.trusted_hooks, || trust_hooks(&loaded.paths, chosen)) {
            Ok(_) => {
                self.reply(Reply::plain(format!("trusted {}", names.join(", "))));
                self.reload(&[]);
            }
            Err(error) => self.reply(Reply::error(error)),
        }
    }

    /// What to say to whoever names a hook that there is not.
    fn no_hook(&self, name: &str) -> Reply {
        let names = self.hook_names();
        let help = did_you_mean(name, names.iter().map(String::as_str), "/hooks list shows them all");
        Reply::error(format!("no hook is called `{name}`; {help}"))
    }

    fn nothing_to_trust(&self, wanted: Wanted<'_>) -> Reply {
        match wanted {
            Wanted::One(name) if !self.hook_names().iter().any(|known| known == name) => self.no_hook(name),
            Wanted::One(name) => Reply::aside(format!("hook `{name}` is trusted already")),
            Wanted::Everything => Reply::aside(NOTHING_TO_TRUST),
        }
    }

    /// Looks whether configuration has changed on disk; nothing if the disk does not answer. Keys are heard meanwhile.
    pub(super) fn look(&self) -> impl Future<Output = Option<Looked>> + Send + 'static {
        let (services, before) = (self.services(), self.watch.clone());
        within_disk_timeout(move || {
            let hooks = &services.hooks;
            let is_given_up = |guard: &&Hook| hooks.worker_health(guard).is_some_and(|health| health.inert.is_some());
            let registry = hooks.registry();
            let given_up = registry.guards().filter(is_given_up).map(|guard| guard.id().to_owned()).collect();
            let mut looked = Looked {
                given_up,
                is_trusted: services.guards.look(),
                missed: services.guards.stand_ins(),
                watch: before.clone(),
                before,
                changed: Vec::new(),
                have_commands_changed: false,
            };
            if looked.is_trusted {
                looked.changed = looked.watch.changed();
                looked.have_commands_changed =
                    looked.changed.is_empty() && looked.missed.is_empty() && looked.watch.commands_changed();
            }
            looked
        })
    }

    /// Goes by what was seen on disk.
    pub(super) fn looked(&mut self, looked: Option<Looked>) {
        let Some(looked) = looked else {
            if !std::mem::replace(&mut self.is_disk_silent, true) {
                let text = format!("{DISK_SILENT}; until it does, changes of settings and hooks are not seen");
                self.reply(Reply::warning(text));
            }
            return;
        };
        self.is_disk_silent = false;
        let Looked { given_up, is_trusted, missed, before, watch, changed, have_commands_changed } = looked;
        // A guard's worker is given up in the middle of a session, and no file tells of it.
        if given_up != self.given_up {
            self.given_up = given_up;
            self.tell(AgentEvent::Configured);
            self.tell_guards();
        }
        // What the agent changed waits for the user's trust; until then nothing is read again.
        let services = self.services();
        if !is_trusted {
            let scope = Scope::outside(&CancellationToken::new());
            tokio::spawn(async move { settle(&services, &scope).await });
            return;
        }
        // What was read meanwhile is newer than this look.
        if self.watch != before {
            return;
        }
        self.watch = watch;
        // What stands in for hooks that are missed goes once the user has trusted that they are gone.
        if !changed.is_empty() || !missed.is_empty() {
            self.reload(&changed);
            if services.guards.stand_ins().is_empty() {
                let told = |hook: &Hook| self.reply(Reply::plain(format!("hook {} is missed no more", hook.id())));
                missed.iter().for_each(told);
            }
        } else if have_commands_changed {
            self.reload_commands();
        }
    }

    /// Reads custom commands again, and says which came, changed or went, and which can't be read now.
    fn reload_commands(&mut self) {
        let before = self.shared.view().commands.clone();
        self.find_commands();
        let view = self.shared.view();
        self.watch = Watch::new(&view.loaded, &self.options.policies);
        let find = |all: &'_ Commands, name: &str| all.list.iter().find(|one| one.name == name).cloned();
        let mut news = Vec::new();
        for command in &view.commands.list {
            match find(&before, &command.name) {
                None => news.push(format!("added /{}", command.name)),
                Some(old) if old != *command => news.push(format!("changed /{}", command.name)),
                Some(_) => {}
            }
        }
        let gone = before.list.iter().filter(|old| find(&view.commands, &old.name).is_none());
        news.extend(gone.map(|old| format!("removed /{}", old.name)));
        if !news.is_empty() {
            self.reply(Reply::Text(Tone::News, format!("custom commands: {}", news.join(", "))));
        }
        let fresh = view.commands.diagnostics.iter().filter(|one| !before.diagnostics.contains(one));
        fresh.for_each(|wrong| self.reply(Reply::Diagnostic(Box::new(wrong.clone()))));
        self.tell(AgentEvent::Configured);
    }

    /// Reads the configuration again. A broken one changes nothing.
    pub(super) fn reload(&mut self, changed: &[PathBuf]) {
        if self.services().guards.is_waiting() {
            let text = "what the agent changed of the guards waits for your trust; nothing is read again until /hooks trust --all";
            return self.reply(Reply::warning(text));
        }
        // Whatever stands in the directory's place now is another project, and may hold fewer guards.
        if let Some(moved) = self.services().hooks.displaced() {
            return self.reply(Reply::error(format!("{moved}; the hooks stay as they were")));
        }
        let loaded = match self.options.load(&self.world) {
            Ok(loaded) => loaded,
            Err(error) => return self.reply(Reply::error(error)),
        };
        let before = self.shared.view();
        if let Some(broken) = loaded.files.iter().find(|file| file.state == FileState::Broken) {
            tracing::warn!(path = %broken.path.display(), "the configuration is broken; the old one stays");
            self.reply(Reply::error(format!("{} is broken; the hooks stay as they were", broken.path.display())));
            return self.tell_diagnostics(&loaded.registry);
        }
        if let Some(guard) = loaded.asleep.iter().find(|guard| guard.why == WhyUnarmed::FileBroken) {
            return self.reply(Reply::error(format!("{guard}; the hooks stay as they were")));
        }
        let now = before.services.hooks.registry();
        let lost = loaded.registry.lost().iter().find(|lost| now.guards().any(|guard| guard.id() == lost.name));
        if let Some(lost) = lost {
            let text = format!("guard {} ({}) would be lost: {}", lost.name, lost.place, lost.problem);
            self.reply(Reply::error(format!("{text}; the hooks stay as they were")));
            return self.tell_diagnostics(&loaded.registry);
        }
        // What this session wrote itself, for the user, is no news.
        let allowed = before.services.approvals.memory();
        let is_own = |path: &Path| allowed.as_ref().is_some_and(|memory| memory.is_as_left(path));
        let names: Vec<String> = changed
            .iter()
            .filter(|path| **path != before.loaded.paths.trusted_hooks && !is_own(path))
            .map(|path| path.strip_prefix(&loaded.project.root).unwrap_or(path).display().to_string())
            .collect();
        // What the user switched in this session is known, whatever the settings were when it was loaded.
        let registry = open::registry(&self.options, &loaded);
        let mut news = differences(&now, &registry);
        news.extend(extension_news(&before.loaded.extensions, &loaded.extensions));
        // Where extensions are, much changes that is nobody's business: drafts, values, notes of other programs.
        let among_extensions = |path: &PathBuf| path.starts_with(&loaded.paths.extensions);
        let is_noise = news.is_empty() && changed.iter().all(among_extensions);
        tracing::debug!(files = ?names, ?news, "the configuration has changed");
        self.watch = Watch::new(&loaded, &self.options.policies);
        before.services.guards.reload(&loaded, &self.options.policies, &registry);
        before.services.hooks.reload(registry);
        before.services.hooks.set_places(loaded.hook_places());
        before.services.hooks.start_workers();
        before.services.tool_context.environment.set(loaded.tool_environment());
        before.services.approvals.set_allowed(open::allowed_tools(&self.options, &loaded));
        before.services.approvals.set_limits(open::limits(&loaded));
        before.services.tools.select(open::selection(&loaded));
        self.reload_policies(&loaded);
        before.services.approvals.set_protected(before.services.guards.protected());
        self.shared.change(|view| view.loaded = Arc::new(loaded));
        if !names.is_empty() && !is_noise {
            let what = if news.is_empty() { String::new() } else { format!(": {}", news.join("; ")) };
            self.reply(Reply::Text(Tone::News, format!("{} changed{what}", names.join(", "))));
        }
        self.connect_servers();
        self.find_commands();
        self.find_agents();
        self.find_skills();
        self.tell_configuration();
        self.tell_agents();
        self.tell_guards();
    }

    /// Says which guards would not do their work; then nothing runs unasked because of a mode.
    fn tell_guards(&self) {
        let view = self.shared.view();
        let unarmed = view.unarmed();
        unarmed.iter().for_each(|guard| self.reply(Reply::warning(guard.to_string())));
        self.leave_forbidden_mode();
    }

    /// Reads the rules again. Broken ones change nothing, and that is said.
    pub(super) fn reload_policies(&self, loaded: &Loaded) {
        match load_policies(loaded, &self.options.policies, self.options.interaction) {
            Ok((policy, problems)) if !policy.is_broken() => {
                self.services().approvals.set_policy(policy);
                // A broken file that only allows something is left out.
                let errors = problems.into_iter().filter(|problem| problem.severity == Severity::Error);
                errors.for_each(|error| self.reply(Reply::Diagnostic(Box::new(error))));
            }
            Ok((_, problems)) => {
                self.reply(Reply::error("a policy is broken; the rules stay as they were"));
                problems.into_iter().for_each(|problem| self.reply(Reply::Diagnostic(Box::new(problem))));
            }
            Err(error) => self.reply(Reply::error(format!("{error}; the rules stay as they were"))),
        }
    }

    fn find_commands(&mut self) {
        let loaded = self.shared.view().loaded.clone();
        let commands = Arc::new(trusted_commands(&loaded, &self.services().guards));
        self.shared.change(|view| view.commands = commands);
    }

    /// The custom commands, read again.
    pub(super) fn custom_commands(&mut self) {
        self.find_commands();
        let commands = self.shared.view().commands.clone();
        for diagnostic in &commands.diagnostics {
            self.reply(Reply::Diagnostic(Box::new(diagnostic.clone())));
        }
        let rows = commands.list.iter().map(|command| {
            let evaluator = crate::commands::evaluator(command);
            let warning = evaluator.map(|program| format!("; beware: {{{{args}}}} is read as code by `{program}`"));
            let about = format!("{} ({}){}", command.about(), command.source, warning.unwrap_or_default());
            (format!("/{}", command.name), about)
        });
        let none = "there are no custom commands; write one as .gemini/commands/NAME.toml";
        let waiting = commands.untrusted.iter();
        let waiting = waiting.map(|name| (format!("/{name}"), "waits for trust in this folder: /trust".to_owned()));
        let rows: Vec<_> = rows.chain(waiting).collect();
        self.reply(if rows.is_empty() { Reply::aside(none) } else { Reply::Rows(rows) });
        self.tell(AgentEvent::Configured);
    }

    fn tell_diagnostics(&self, registry: &Registry) {
        for diagnostic in registry.diagnostics() {
            self.reply(Reply::Diagnostic(Box::new(diagnostic.clone())));
        }
    }

    /// What the user should know about the configuration. From then on, hooks that were only announced are known.
    pub(super) fn tell_configuration(&mut self) {
        let view = self.shared.view();
        let loaded = view.loaded.clone();
        self.tell_diagnostics(&loaded.registry);
        for wrong in &view.commands.diagnostics {
            self.reply(Reply::Diagnostic(Box::new(wrong.clone())));
        }
        for notice in &loaded.notices {
            self.reply(Reply::Notice(notice.clone()));
        }
        let held = loaded.notices.iter().any(Notice::waits_for_trust);
        if held && self.options.interaction == Interaction::Interactive {
            self.reply(Reply::aside("  /hooks trust shows what waits, /hooks trust NAME trusts it"));
        }
        let announced = loaded.reviews.iter().filter(|review| !review.held);
        if announced.clone().next().is_some()
            && let Err(error) =
                self.services().guards.own_change(&loaded.paths.trusted_hooks, || trust_hooks(&loaded.paths, announced))
        {
            self.reply(Reply::warning(format!("can't remember which hooks were announced: {error}")));
        }
        if loaded.project.trust.is_trusted()
            && let Err(error) = remember_offers(&loaded)
        {
            self.reply(Reply::warning(format!("can't remember what this project brings: {error}")));
        }
        if let Err(error) = remember_guards(&loaded, Gone::Forgotten) {
            self.reply(Reply::warning(format!("can't remember which guards there are: {error}")));
        }
        self.watch.changed();
        self.tell(AgentEvent::Configured);
    }
}

/// Which extensions came, went, or count or do not any more.
fn extension_news(before: &[Extension], after: &[Extension]) -> Vec<String> {
    let find = |all: &'_ [Extension], name: &str| all.iter().find(|one| one.name == name).map(|one| one.active);
    let here = after.iter().filter_map(|one| match (find(before, &one.name), one.active) {
        (None, _) => Some(format!("extension {} is there", one.name)),
        (Some(false), true) => Some(format!("extension {} is switched on", one.name)),
        (Some(true), false) => Some(format!("extension {} is switched off", one.name)),
        _ => None,
    });
    let gone = before.iter().filter(|one| find(after, &one.name).is_none());
    here.chain(gone.map(|one| format!("extension {} is gone", one.name))).collect()
}

/// What is different between two configurations, in words.
fn differences(before: &Registry, after: &Registry) -> Vec<String> {
    let describe = |Difference { hook, change }: &Difference| {
        let word = match change {
            Change::Added => "added",
            Change::Changed => "changed",
            Change::SwitchedOn => "switched on",
            Change::SwitchedOff => "switched off",
            Change::Removed => "removed",
        };
        let guard = if hook.is_guard() { "guard " } else { "" };
        format!("{word} {guard}{} on {} ({})", hook.id(), hook.event, hook.source)
    };
    before.differences(after).iter().map(describe).collect()
}
