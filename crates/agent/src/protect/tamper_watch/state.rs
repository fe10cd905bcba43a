//! The state of all watched files, and the ledger for other sessions. When files are
//! scanned is decided in `tamper_watch.rs`.

use std::io;

use super::*;

impl TamperWatchState {
    /// Replaces the watched files with those of a configuration.
    pub(super) fn watch_configuration(
        &mut self,
        loaded: &LoadedConfig,
        made_of: GuardedFiles,
        pending: &[PendingChange],
    ) {
        let begin = |file: GuardFile| match pending.iter().find(|change| change.file == file) {
            Some(change) => WatchedFile::new_untrusted(file, &loaded.project.root, change.before.clone()),
            None => WatchedFile::new(file, &loaded.project.root),
        };
        self.watched_files = made_of.files.into_iter().map(begin).collect();
        self.protected = made_of.protected;
        self.guard_record = Some(SessionGuardRecord::from_config(loaded));
        self.view().unreported.clear();
    }

    pub(super) fn arm_hooks(&mut self, loaded: &LoadedConfig, registry: &Registry) {
        let index: HashMap<&Path, usize> =
            self.watched_files.iter().enumerate().map(|(at, watched)| (watched.file.path.as_path(), at)).collect();
        // The registry has the configuration's own hooks, with other states, and hooks that were added in code.
        let of_hook: HashMap<usize, Vec<(GuardFileKind, PathBuf)>> =
            loaded.registry.hooks().iter().map(hook_address).zip(loaded.guard_files_by_hook()).collect();
        let armed = |hook: &Arc<Hook>| {
            let known = of_hook.get(&hook_address(hook)).cloned();
            let own = known.unwrap_or_else(|| loaded.guard_files_of(hook));
            let own = own.iter().map(|(_, path)| path.as_path());
            let settings = hook.location.as_ref().map(|place| &*place.file);
            let doubtful = settings.and_then(|path| index.get(path).copied());
            let files = own.chain(settings).filter_map(|path| index.get(path).copied()).collect();
            ArmedHook {
                hook: hook.clone(),
                file_indices: files,
                untrusted_settings: doubtful.filter(|at| self.watched_files[*at].is_untrusted()),
            }
        };
        self.armed_hooks = registry.hooks().iter().map(armed).collect();
        self.hook_indices =
            self.armed_hooks.iter().enumerate().map(|(at, one)| (hook_address(&one.hook), at)).collect();
        self.stale_declarations.clear();
        self.stand_in_addresses = self
            .armed_hooks
            .iter()
            .filter(|one| self.stand_ins.iter().any(|gone| has_same_declaration(gone, &one.hook)))
            .map(|one| hook_address(&one.hook))
            .collect();
    }

    /// Updates the paths of watched files after the project was moved.
    pub(super) fn follow_moved_project(&mut self) {
        let moved = self.protected.moved_project();
        let to = moved.as_deref().unwrap_or(&self.project);
        if to == self.current_root {
            return;
        }
        for watched in &mut self.watched_files {
            if let Ok(rest) = watched.file.path.strip_prefix(&self.current_root) {
                watched.file.path = to.join(rest);
            }
        }
        self.current_root = to.to_owned();
    }

    pub(super) fn running_count(&mut self, kind: TamperWindowKind) -> &mut usize {
        match kind {
            TamperWindowKind::Call => &mut self.running_calls,
            TamperWindowKind::Hooks | TamperWindowKind::TurnHooks => &mut self.running_hook_events,
        }
    }

    pub(super) fn rescan_file(&mut self, at: usize) -> RescanResult {
        let agents = self.running_calls > 0 || self.had_background_processes;
        let others_run = self.running_hook_events > 0 || self.hooks_ran_since_scan || self.has_servers;
        let (ledger, allowed) = (self.ledger.as_ref(), self.allowed_path.as_deref());
        let author = |file: &GuardFile| {
            // Hooks may write to files that their commands mention, such as notes.
            let by_hooks = others_run && file.kind != GuardFileKind::Mentioned && file.kind != GuardFileKind::Trust;
            let others = || ledger.is_some_and(|ledger| ledger.is_changed_by_other_session(&file.path));
            let is_allowed = allowed.is_some_and(|allowed| is_same_file(allowed, &file.path));
            if !is_allowed && (agents || by_hooks || others()) { ChangeAuthor::Agent } else { ChangeAuthor::User }
        };
        self.watched_files[at].rescan(&self.project, author)
    }

    /// Applies the trust that the user gave elsewhere with `hooks trust`, unless a call of the agent may have done it.
    pub(super) fn apply_external_trust(&mut self) {
        if !self.watched_files.iter().any(WatchedFile::is_untrusted) {
            return;
        }
        let Some(ledger) = &self.ledger else { return };
        let on_disk = ledger.changed_on_disk();
        let trusted = |watched: &WatchedFile| {
            let path = exact_name(watched.file.path.as_os_str());
            watched.is_untrusted() && !on_disk.as_ref().is_some_and(|paths| paths.iter().any(|known| *known == path))
        };
        if !self.watched_files.iter().any(trusted) {
            return;
        }
        let others_run = self.running_hook_events > 0 || self.hooks_ran_since_scan || self.has_servers;
        if self.running_calls > 0 || others_run || self.had_background_processes || on_disk.is_none() {
            return self.save_ledger();
        }
        self.watched_files.iter_mut().filter(|watched| trusted(watched)).for_each(|watched| watched.trust(None));
        self.save_ledger();
        if !self.watched_files.iter().any(|file| file.is_untrusted() && file.file.kind == GuardFileKind::Settings) {
            self.stale_declarations.clear();
        }
    }

    /// Opens the ledger on disk and writes it. A full disk is an error like any other.
    pub(super) fn open_ledger(&mut self) -> io::Result<()> {
        let Some(ledger) = &mut self.ledger else { return Ok(()) };
        ledger.open()?;
        self.write_ledger().map_err(|(_, error)| error)
    }

    /// Marks the ledger as active when something begins to run.
    pub(super) fn begin_ledger_activity(&mut self) {
        let Some(ledger) = &mut self.ledger else { return };
        let is_unbegun = ledger.is_unopened();
        if !ledger.mark_active() {
            return;
        }
        if is_unbegun && let Err(error) = ledger.open() {
            self.report_ledger_error(&error.to_string());
        }
        self.save_ledger();
    }

    pub(super) fn is_ledger_active(&self) -> bool {
        self.ledger.as_ref().is_none_or(Ledger::is_active)
    }

    pub(super) fn report_ledger_error(&mut self, why: &str) {
        self.push_problem(format!(
            "it is not known which guards the agents of earlier sessions changed ({why}); review your hooks before you go on"
        ));
    }

    /// Updates the view and writes the ledger, if it is open.
    pub(super) fn save_ledger(&mut self) {
        self.update_view();
        if self.ledger.as_ref().is_some_and(Ledger::is_unopened) {
            return;
        }
        if let Err((path, error)) = self.write_ledger() {
            self.report_write_failure(&path, &error.to_string());
        }
    }

    /// Writes the ledger; the error has its path.
    pub(super) fn write_ledger(&mut self) -> Result<(), (PathBuf, io::Error)> {
        let Some(ledger) = &mut self.ledger else { return Ok(()) };
        let entries: Vec<_> = self.watched_files.iter().map(WatchedFile::ledger_entry).collect();
        // Only untrusted changes justify the cost of a synchronised write.
        let written = match entries.iter().any(|entry| entry.changed) {
            true => ledger.write(entries),
            false => ledger.write_baseline(entries),
        };
        written.map_err(|error| (ledger.path().to_owned(), error))
    }

    /// Restores the ledger and the record of guards if the agent changed them.
    pub(super) fn repair_records(&mut self) {
        let entries: Vec<_> = self.watched_files.iter().map(WatchedFile::ledger_entry).collect();
        if let Some(ledger) = self.ledger.as_mut().filter(|ledger| !ledger.is_intact()) {
            let (path, restored) = (ledger.path().to_owned(), ledger.restore(entries));
            self.is_busy_published = false;
            self.publish_busy();
            match restored {
                Ok(()) => self.push_problem(format!(
                    "{} was changed while the agent worked; it was written again",
                    path.display()
                )),
                Err(error) => self.report_write_failure(&path, &error.to_string()),
            }
        }
        let Some(memory) = &self.guard_record else { return };
        let (path, restored) = (memory.path().to_owned(), memory.restore());
        match restored {
            Ok(false) => {}
            Ok(true) => self
                .push_problem(format!("{} was changed while the agent worked; it was written again", path.display())),
            Err(error) => self.report_write_failure(&path, &error.to_string()),
        }
    }

    pub(super) fn report_write_failure(&mut self, path: &Path, why: &str) {
        let path = path.display();
        self.push_problem(format!(
            "{path} can't be written ({why}), so the next session may not know what the agent changed: review your hooks"
        ));
    }

    pub(super) fn push_problem(&self, text: String) {
        self.view().report_problem(text);
    }

    pub(super) fn publish_busy(&mut self) {
        let busy = self.running_calls > 0 || self.had_background_processes;
        if let Some(ledger) = self.ledger.as_mut().filter(|_| busy != self.is_busy_published) {
            ledger.set_busy(busy);
            self.is_busy_published = busy;
        }
    }

    pub(super) fn guard_change(&self, at: usize) -> GuardChange {
        let watched = &self.watched_files[at];
        let digest = watched.current_digest().to_owned();
        let (path, when) = (self.display_path(&watched.file.path), self.change_attribution());
        GuardChange { path, change_kind: watched.change_kind(), diff: watched.diff(), digest, attribution: when }
    }

    /// Returns the attribution of untrusted changes, in words.
    pub(super) fn change_attribution(&self) -> &'static str {
        if self.has_servers { "while the agent or an MCP server was at work" } else { "while the agent worked" }
    }

    pub(super) fn display_path(&self, path: &Path) -> String {
        self.protected.display_path(path)
    }
}
