//! The configuration of a running session: lists, switches and trusts hooks, and reloads everything that changes on
//! disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_hooks::{
    DISK_TIMEOUT_MESSAGE, Diagnostic, Hook, HookChange, HookChangeKind, Registry, Severity, UnarmedReason,
    run_with_disk_timeout,
};
use hookwright_settings::administration::{
    HookSwitchRequest, HookTrustOutcome, pending_trust, switch_hooks, trust_pending,
};
use hookwright_settings::commands::CustomCommands;
use hookwright_settings::edit::Switch;
use hookwright_settings::trust::trust_hooks;
use hookwright_settings::{
    Extension, LoadedConfig, Notice, RemovedGuardPolicy, SettingsFileState, record_guards, record_project_contents,
};
use tokio_util::sync::CancellationToken;

use super::actor::SessionActor;
use super::command::HooksAction;
use super::config_watch::ConfigWatch;
use super::guard_readiness::sleeping_guards;
use super::hook_list::panel_text;
use super::input_line::discover_custom_commands;
use super::reply::{Reply, Tone};
use super::setup;
use crate::policy::load_policies;
use crate::protect::{TamperWatch, report_changes};
use crate::scope::TurnScope;
use crate::services::Interaction;

/// The message for a configuration without hooks.
pub const NO_HOOKS: &str = "there are no hooks here; `hookwright hooks add EXAMPLE` takes over a ready one, \
                            `hookwright hooks new NAME --event EVENT` begins one of your own";

/// Returns the custom commands of a configuration, without those that wait for trust.
pub(super) fn trusted_commands(loaded: &LoadedConfig, guards: &TamperWatch) -> CustomCommands {
    let held = guards.untrusted_instructions();
    let mut commands = discover_custom_commands(loaded);
    let CustomCommands { list, diagnostics, rejected: left_out, .. } = &mut commands;
    list.retain(|command| match held.reason_for(&command.path).or_else(|| loaded.held_instruction(&command.path)) {
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

/// The result of one scan of the disk.
pub(super) struct ConfigScan {
    /// The guards whose workers are not restarted any more.
    guards_with_dead_worker: Vec<String>,
    /// Whether no change to the guards' files waits for the user's trust.
    is_trusted: bool,
    /// The hooks that stand in for removed ones.
    stand_ins: Vec<Hook>,
    /// The watch before and after the scan.
    previous_watch: ConfigWatch,
    watch: ConfigWatch,
    changed_files: Vec<PathBuf>,
    have_commands_changed: bool,
}

impl SessionActor {
    pub(super) fn handle_hooks(&mut self, order: HooksAction) {
        match order {
            HooksAction::List => {
                let entries = self.shared.view().hooks();
                self.reply(if entries.is_empty() { Reply::aside(NO_HOOKS) } else { Reply::Hooks(entries) });
            }
            HooksAction::Panel => {
                let entries = self.shared.view().hooks();
                self.reply(match entries.as_slice() {
                    [] => Reply::aside(NO_HOOKS),
                    entries => Reply::plain(panel_text(entries)),
                });
            }
            HooksAction::Switch(request) => self.switch_hooks(&request),
            HooksAction::ShowUntrusted => {
                self.reply(Reply::PendingTrust(Box::new(pending_trust(self))));
            }
            HooksAction::Trust(hooks) => {
                self.finish_action(trust_pending(self, &hooks), HookTrustOutcome::is_changed, Reply::HookTrust);
            }
        }
    }

    /// Enables or disables hooks in the settings and in the running session.
    fn switch_hooks(&mut self, request: &HookSwitchRequest) {
        let outcome = switch_hooks(self, request);
        let names = outcome.hooks.iter().map(String::as_str);
        // Guards stay as they are; only their own settings decide about them.
        self.services().hooks.update(|registry| registry.set_many_enabled(names, request.switch == Switch::Enable));
        let (is_changed, is_guard_lost) = (!outcome.hooks.is_empty(), !outcome.disabled_guards.is_empty());
        self.reply(Reply::HookSwitch(Box::new(outcome)));
        if is_guard_lost {
            self.apply_own_change();
        } else if is_changed {
            // The session's own write must not be reported as a change.
            self.config_watch.rescan_files();
            self.send_configuration_changed();
        }
    }

    /// Scans the configuration on disk on another thread, so that the session stays responsive; `None` if the disk does
    /// not respond.
    pub(super) fn scan_configuration(&self) -> impl Future<Output = Option<ConfigScan>> + Send + 'static {
        let (services, before) = (self.services(), self.config_watch.clone());
        run_with_disk_timeout(move || {
            let hooks = &services.hooks;
            let is_given_up = |guard: &&Hook| hooks.worker_health(guard).is_some_and(|health| health.inert.is_some());
            let registry = hooks.registry();
            let given_up = registry.guards().filter(is_given_up).map(|guard| guard.id().to_owned()).collect();
            let mut scan = ConfigScan {
                guards_with_dead_worker: given_up,
                is_trusted: services.tamper_watch.rescan_blocking(),
                stand_ins: services.tamper_watch.stand_ins(),
                watch: before.clone(),
                previous_watch: before,
                changed_files: Vec::new(),
                have_commands_changed: false,
            };
            if scan.is_trusted {
                scan.changed_files = scan.watch.rescan_files();
                scan.have_commands_changed =
                    scan.changed_files.is_empty() && scan.stand_ins.is_empty() && scan.watch.rescan_commands();
            }
            scan
        })
    }

    /// Applies the result of a scan.
    pub(super) fn apply_scan(&mut self, scan: Option<ConfigScan>) {
        let Some(scan) = scan else {
            if !std::mem::replace(&mut self.is_disk_unresponsive, true) {
                let text = format!("{DISK_TIMEOUT_MESSAGE}; until it does, changes to settings and hooks are not seen");
                self.reply(Reply::warning(text));
            }
            return;
        };
        self.is_disk_unresponsive = false;
        let ConfigScan {
            guards_with_dead_worker: given_up,
            is_trusted,
            stand_ins: missed,
            previous_watch: before,
            watch,
            changed_files: changed,
            have_commands_changed,
        } = scan;
        // A guard's worker can be given up in the middle of a session, which no file records.
        if given_up != self.guards_with_dead_worker {
            self.guards_with_dead_worker = given_up;
            self.send_configuration_changed();
            self.warn_unarmed_guards();
        }
        // Nothing is reloaded while the agent's changes wait for the user's trust.
        let services = self.services();
        if !is_trusted {
            let scope = TurnScope::outside_turn(&CancellationToken::new());
            tokio::spawn(async move { report_changes(&services, &scope).await });
            return;
        }
        // The configuration was reloaded during the scan, which is therefore out of date.
        if self.config_watch != before {
            return;
        }
        self.config_watch = watch;
        // Stand-ins are dropped once the user has trusted the removal of their hooks.
        if !changed.is_empty() || !missed.is_empty() {
            self.reload_configuration(&changed);
            if services.tamper_watch.stand_ins().is_empty() {
                let announce =
                    |hook: &Hook| self.reply(Reply::plain(format!("hook {} is no longer missing", hook.id())));
                missed.iter().for_each(announce);
            }
        } else if have_commands_changed {
            self.reload_commands();
        }
    }

    /// Reloads custom commands, and reports which were added, changed or removed, and which cannot be parsed.
    fn reload_commands(&mut self) {
        let before = self.shared.view().commands.clone();
        self.refresh_commands();
        let view = self.shared.view();
        self.config_watch = ConfigWatch::new(&view.loaded, &self.options.policies);
        let find = |all: &'_ CustomCommands, name: &str| all.list.iter().find(|one| one.name == name).cloned();
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
        self.send_configuration_changed();
    }

    /// Reloads the configuration. A broken one changes nothing.
    pub(super) fn reload_configuration(&mut self, changed: &[PathBuf]) {
        if self.services().tamper_watch.has_untrusted_changes() {
            let text = "the agent's changes to guards wait for your trust; the configuration is not read again until /hooks trust --all";
            return self.reply(Reply::warning(text));
        }
        // If the directory was replaced, the new one is another project and may hold fewer guards.
        if let Some(moved) = self.services().hooks.session_dir_problem() {
            return self.reply(Reply::error(format!("{moved}; the hooks stay as they were")));
        }
        let loaded = match self.options.load(&self.world) {
            Ok(loaded) => loaded,
            Err(error) => return self.reply(Reply::error(error)),
        };
        let before = self.shared.view();
        if let Some(broken) = loaded.files.iter().find(|file| file.state == SettingsFileState::Broken) {
            tracing::warn!(path = %broken.path.display(), "the configuration is broken; the old one stays");
            self.reply(Reply::error(format!("{} is broken; the hooks stay as they were", broken.path.display())));
            return self.reply_diagnostics(&loaded.registry);
        }
        if let Some(guard) = loaded.unarmed_guards.iter().find(|guard| guard.reason == UnarmedReason::FileBroken) {
            return self.reply(Reply::error(format!("{guard}; the hooks stay as they were")));
        }
        let now = before.services.hooks.registry();
        let lost = loaded.registry.lost_guards().iter().find(|lost| now.guards().any(|guard| guard.id() == lost.name));
        if let Some(lost) = lost {
            let text = format!("guard {} ({}) would be lost: {}", lost.name, lost.location, lost.problem);
            self.reply(Reply::error(format!("{text}; the hooks stay as they were")));
            return self.reply_diagnostics(&loaded.registry);
        }
        // Rules that this session wrote for the user are not reported as a change.
        let allowed = before.services.approvals.remembered_rules();
        let is_own = |path: &Path| allowed.as_ref().is_some_and(|memory| memory.is_unchanged_by_others(path));
        let names: Vec<String> = changed
            .iter()
            .filter(|path| **path != before.loaded.paths.trusted_hooks && !is_own(path))
            .map(|path| path.strip_prefix(&loaded.project.root).unwrap_or(path).display().to_string())
            .collect();
        // Compared with the running registry, which holds what the user switched in this session.
        let registry = setup::effective_registry(&self.options, &loaded);
        let mut news = hook_changes(&now, &registry);
        news.extend(extension_changes(&before.loaded.extensions, &loaded.extensions));
        // Much changes in the extensions' directory that concerns no session: drafts, values, files of other programs.
        let among_extensions = |path: &PathBuf| path.starts_with(&loaded.paths.extensions);
        let is_noise = news.is_empty() && changed.iter().all(among_extensions);
        tracing::debug!(files = ?names, ?news, "the configuration has changed");
        self.config_watch = ConfigWatch::new(&loaded, &self.options.policies);
        before.services.tamper_watch.reload(&loaded, &self.options.policies, &registry);
        before.services.hooks.reload(registry);
        before.services.hooks.set_exec_envs(loaded.hook_exec_envs());
        before.services.hooks.start_workers();
        before.services.tool_context.environment.set(loaded.tool_environment());
        before.services.approvals.set_allowed_tools(setup::allowed_tools(&self.options, &loaded));
        before.services.approvals.set_tool_limits(setup::tool_limits(&loaded));
        before.services.tools.select(setup::tool_selection(&loaded));
        self.reload_policies(&loaded);
        before.services.approvals.set_protected(before.services.tamper_watch.protected());
        self.shared.update(|view| view.loaded = Arc::new(loaded));
        if !names.is_empty() && !is_noise {
            let what = if news.is_empty() { String::new() } else { format!(": {}", news.join("; ")) };
            self.reply(Reply::Text(Tone::News, format!("{} changed{what}", names.join(", "))));
        }
        self.connect_servers();
        self.refresh_commands();
        self.refresh_agents();
        self.refresh_skills();
        self.announce_configuration();
        self.reply_agent_diagnostics();
        self.warn_unarmed_guards();
    }

    /// Warns of every guard that would not work, and leaves a mode that skips approval because of one.
    fn warn_unarmed_guards(&self) {
        let view = self.shared.view();
        let unarmed = view.unarmed_guards();
        let hooks = &view.services.hooks;
        hooks.set_sleeping_guards(sleeping_guards(&unarmed, hooks, &view.loaded));
        unarmed.iter().for_each(|guard| self.reply(Reply::warning(guard.to_string())));
        self.leave_disallowed_mode();
    }

    /// Reloads the policy rules. Broken rules change nothing and are reported.
    pub(super) fn reload_policies(&self, loaded: &LoadedConfig) {
        match load_policies(loaded, &self.options.policies, self.options.interaction) {
            Ok((policy, problems)) if !policy.is_broken() => {
                self.services().approvals.set_policy(policy);
                // A broken file that holds only `allow` rules is left out.
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

    fn refresh_commands(&mut self) {
        let loaded = self.shared.view().loaded.clone();
        let commands = Arc::new(trusted_commands(&loaded, &self.services().tamper_watch));
        self.shared.update(|view| view.commands = commands);
    }

    /// Reloads and lists the custom commands.
    pub(super) fn list_custom_commands(&mut self) {
        self.refresh_commands();
        let commands = self.shared.view().commands.clone();
        for diagnostic in &commands.diagnostics {
            self.reply(Reply::Diagnostic(Box::new(diagnostic.clone())));
        }
        let rows = commands.list.iter().map(|command| {
            let evaluator = crate::commands::find_evaluator(command);
            let warning = evaluator.map(|program| format!("; caution: `{program}` runs {{{{args}}}} as code"));
            let about = format!("{} ({}){}", command.summary(), command.source, warning.unwrap_or_default());
            (format!("/{}", command.name), about)
        });
        let none = "there are no custom commands; write one as .gemini/commands/NAME.toml";
        let waiting = commands.untrusted.iter();
        let waiting = waiting.map(|name| (format!("/{name}"), "waits for trust in this folder: /trust".to_owned()));
        let rows: Vec<_> = rows.chain(waiting).collect();
        self.reply(if rows.is_empty() { Reply::aside(none) } else { Reply::Rows(rows) });
        self.send_configuration_changed();
    }

    fn reply_diagnostics(&self, registry: &Registry) {
        for diagnostic in registry.diagnostics() {
            self.reply(Reply::Diagnostic(Box::new(diagnostic.clone())));
        }
    }

    /// Tells the user about the configuration and its problems. Hooks that were only announced count as known
    /// afterwards.
    pub(super) fn announce_configuration(&mut self) {
        let view = self.shared.view();
        let loaded = view.loaded.clone();
        self.reply_diagnostics(&loaded.registry);
        for wrong in &view.commands.diagnostics {
            self.reply(Reply::Diagnostic(Box::new(wrong.clone())));
        }
        for notice in &loaded.notices {
            self.reply(Reply::Notice(notice.clone()));
        }
        if let Some(notice) = first_journal_notice(&loaded) {
            self.reply(Reply::aside(notice));
        }
        let held = loaded.notices.iter().any(Notice::waits_for_trust);
        if held && self.options.interaction == Interaction::Interactive {
            self.reply(Reply::aside("  /hooks trust shows what waits, /hooks trust NAME trusts it"));
        }
        let announced = loaded.reviews.iter().filter(|review| !review.held);
        if announced.clone().next().is_some()
            && let Err(error) = self
                .services()
                .tamper_watch
                .with_user_change(&loaded.paths.trusted_hooks, || trust_hooks(&loaded.paths, announced))
        {
            self.reply(Reply::warning(format!("can't remember which hooks were announced: {error}")));
        }
        if loaded.project.trust.is_trusted()
            && let Err(error) = record_project_contents(&loaded)
        {
            self.reply(Reply::warning(format!("can't remember what this project brings: {error}")));
        }
        if let Err(error) = record_guards(&loaded, RemovedGuardPolicy::Forget) {
            self.reply(Reply::warning(format!("can't remember which guards there are: {error}")));
        }
        self.config_watch.rescan_files();
        self.send_configuration_changed();
    }
}

/// Describes which extensions were added, removed, enabled or disabled.
fn extension_changes(before: &[Extension], after: &[Extension]) -> Vec<String> {
    let find = |all: &'_ [Extension], name: &str| all.iter().find(|one| one.name == name).map(|one| one.active);
    let here = after.iter().filter_map(|one| match (find(before, &one.name), one.active) {
        (None, _) => Some(format!("extension {} was added", one.name)),
        (Some(false), true) => Some(format!("extension {} is switched on", one.name)),
        (Some(true), false) => Some(format!("extension {} is switched off", one.name)),
        _ => None,
    });
    let gone = before.iter().filter(|one| find(after, &one.name).is_none());
    here.chain(gone.map(|one| format!("extension {} was removed", one.name))).collect()
}

/// Describes the differences between two registries.
fn hook_changes(before: &Registry, after: &Registry) -> Vec<String> {
    let describe = |HookChange { hook, kind: change }: &HookChange| {
        let word = match change {
            HookChangeKind::Added => "added",
            HookChangeKind::Changed => "changed",
            HookChangeKind::SwitchedOn => "switched on",
            HookChangeKind::SwitchedOff => "switched off",
            HookChangeKind::Removed => "removed",
        };
        let guard = if hook.is_guard() { "guard " } else { "" };
        format!("{word} {guard}{} on {} ({})", hook.id(), hook.event, hook.source)
    };
    before.hook_changes(after).iter().map(describe).collect()
}

/// Returns what the user is told about the journal where there is none yet, and a hook may soon start one. It is told
/// once: the directory is made.
fn first_journal_notice(loaded: &LoadedConfig) -> Option<String> {
    let dir = &loaded.paths.journal;
    if !loaded.settings.journal.enabled || loaded.registry.hooks().is_empty() || dir.exists() {
        return None;
    }
    hookwright_disk::create_private_directory(dir).ok()?;
    Some(journal_summary(loaded))
}

/// Says whether and where it is recorded what hooks decide.
pub(super) fn journal_summary(loaded: &LoadedConfig) -> String {
    let settings = &loaded.settings.journal;
    if !settings.enabled {
        return "what hooks decide is not recorded (`journal.enabled` is false)".to_owned();
    }
    let what = match settings.content.as_str() {
        "full" => "with arguments and output, secrets included",
        "none" => "without arguments and output",
        _ => "with arguments and output, without secrets",
    };
    let dir = loaded.paths.journal.display();
    format!("what hooks decide is recorded in {dir}, {what}; `journal.enabled: false` in your settings turns it off")
}
