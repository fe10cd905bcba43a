//! What is kept in mind of everything that guards are made of, and on record for other sessions. Who looks, and when, is
//! `guards.rs`.

use std::io;

use super::*;

impl State {
    /// Watches what a configuration is made of, from now on.
    pub(super) fn watch(&mut self, loaded: &Loaded, made_of: MadeOf, pending: &[PendingChange]) {
        let begin = |file: GuardFile| match pending.iter().find(|change| change.file == file) {
            Some(change) => Watched::distrusted(file, &loaded.project.root, change.before.clone()),
            None => Watched::new(file, &loaded.project.root),
        };
        self.files = made_of.files.into_iter().map(begin).collect();
        self.protected = made_of.protected;
        self.memory = Some(GuardMemory::of(loaded));
        self.published().unreported.clear();
    }

    pub(super) fn arm(&mut self, loaded: &Loaded, registry: &Registry) {
        let index: HashMap<&Path, usize> =
            self.files.iter().enumerate().map(|(at, watched)| (watched.file.path.as_path(), at)).collect();
        // A registry is the configuration's own, with other states and what was added in code.
        let of_hook: HashMap<usize, Vec<(GuardKind, PathBuf)>> =
            loaded.registry.hooks().iter().map(address).zip(loaded.guard_files_by_hook()).collect();
        let armed = |hook: &Arc<Hook>| {
            let known = of_hook.get(&address(hook)).cloned();
            let own = known.unwrap_or_else(|| loaded.guard_files_of(hook));
            let own = own.iter().map(|(_, path)| path.as_path());
            let settings = hook.place.as_ref().map(|place| &*place.file);
            let doubtful = settings.and_then(|path| index.get(path).copied());
            let files = own.chain(settings).filter_map(|path| index.get(path).copied()).collect();
            Armed { hook: hook.clone(), files, doubtful: doubtful.filter(|at| self.files[*at].is_distrusted()) }
        };
        self.hooks = registry.hooks().iter().map(armed).collect();
        self.places = self.hooks.iter().enumerate().map(|(at, one)| (address(&one.hook), at)).collect();
        self.declared.clear();
        self.gone = self
            .hooks
            .iter()
            .filter(|one| self.stand_ins.iter().any(|gone| is_alike(gone, &one.hook)))
            .map(|one| address(&one.hook))
            .collect();
    }

    /// A project that is moved takes its files along.
    pub(super) fn follow(&mut self) {
        let moved = self.protected.moved_to();
        let to = moved.as_deref().unwrap_or(&self.project);
        if to == self.place {
            return;
        }
        for watched in &mut self.files {
            if let Ok(rest) = watched.file.path.strip_prefix(&self.place) {
                watched.file.path = to.join(rest);
            }
        }
        self.place = to.to_owned();
    }

    pub(super) fn count(&mut self, kind: WindowKind) -> &mut usize {
        match kind {
            WindowKind::Call => &mut self.calls,
            WindowKind::Hooks | WindowKind::HooksOfTurn => &mut self.events,
        }
    }

    pub(super) fn look_into(&mut self, at: usize) -> Looked {
        let agents = self.calls > 0 || self.left_running;
        let others_run = self.events > 0 || self.unseen || self.serving;
        let (ledger, allowed) = (self.ledger.as_ref(), self.allowed.as_deref());
        let whose = |file: &GuardFile| {
            // Hooks keep notes in files that they name; that is their business.
            let by_hooks = others_run && file.kind != GuardKind::Mentioned && file.kind != GuardKind::Trust;
            let others = || ledger.is_some_and(|ledger| ledger.blames_others(&file.path));
            let is_allowed = allowed.is_some_and(|allowed| is_same(allowed, &file.path));
            if !is_allowed && (agents || by_hooks || others()) { Whose::Agents } else { Whose::Users }
        };
        self.files[at].look(&self.project, whose)
    }

    /// What the user trusted elsewhere, with `hooks trust`, counts here too; what a call of the agent did there does not.
    pub(super) fn hear_of_trust(&mut self) {
        if !self.files.iter().any(Watched::is_distrusted) {
            return;
        }
        let Some(ledger) = &self.ledger else { return };
        let on_disk = ledger.changed_on_disk();
        let trusted = |watched: &Watched| {
            let path = exact_name(watched.file.path.as_os_str());
            watched.is_distrusted() && !on_disk.as_ref().is_some_and(|paths| paths.iter().any(|known| *known == path))
        };
        if !self.files.iter().any(trusted) {
            return;
        }
        let others_run = self.events > 0 || self.unseen || self.serving;
        if self.calls > 0 || others_run || self.left_running || on_disk.is_none() {
            return self.keep();
        }
        self.files.iter_mut().filter(|watched| trusted(watched)).for_each(|watched| watched.trust(None));
        self.keep();
        if !self.files.iter().any(|file| file.is_distrusted() && file.file.kind == GuardKind::Settings) {
            self.declared.clear();
        }
    }

    /// Begins the ledger on disk. A disk without room for it is as good as none.
    pub(super) fn open_ledger(&mut self) -> io::Result<()> {
        let Some(ledger) = &mut self.ledger else { return Ok(()) };
        ledger.open()?;
        self.write().map_err(|(_, error)| error)
    }

    /// Something begins to run: from now on the ledger says so.
    pub(super) fn rouse(&mut self) {
        let Some(ledger) = &mut self.ledger else { return };
        let is_unbegun = ledger.is_unbegun();
        if !ledger.rouse() {
            return;
        }
        if is_unbegun && let Err(error) = ledger.open() {
            self.tell_unopened(&error.to_string());
        }
        self.keep();
    }

    pub(super) fn is_roused(&self) -> bool {
        self.ledger.as_ref().is_none_or(Ledger::is_roused)
    }

    pub(super) fn tell_unopened(&mut self, why: &str) {
        self.trouble(format!(
            "what earlier sessions' agents changed of the guards can't be told ({why}); look at your hooks before you go on"
        ));
    }

    /// Makes known what has changed, and writes the ledger. Before anything has run there may be none.
    pub(super) fn keep(&mut self) {
        self.publish();
        if self.ledger.as_ref().is_some_and(Ledger::is_unbegun) {
            return;
        }
        if let Err((path, error)) = self.write() {
            self.unwritten(&path, &error.to_string());
        }
    }

    /// Writes the ledger; where it could not, and why.
    pub(super) fn write(&mut self) -> Result<(), (PathBuf, io::Error)> {
        let Some(ledger) = &mut self.ledger else { return Ok(()) };
        let entries: Vec<_> = self.files.iter().map(Watched::entry).collect();
        // Only what waits for the user is worth the time that a disk takes.
        let written = match entries.iter().any(|entry| entry.changed) {
            true => ledger.write(entries),
            false => ledger.begin(entries),
        };
        written.map_err(|error| (ledger.path().to_owned(), error))
    }

    /// Puts right what the agent made of the ledger and of the record of guards.
    pub(super) fn tend(&mut self) {
        let entries: Vec<_> = self.files.iter().map(Watched::entry).collect();
        if let Some(ledger) = self.ledger.as_mut().filter(|ledger| !ledger.is_whole()) {
            let (path, restored) = (ledger.path().to_owned(), ledger.restore(entries));
            self.busy = false;
            self.tell_busy();
            match restored {
                Ok(()) => {
                    self.trouble(format!("{} was changed while the agent worked; it is written anew", path.display()))
                }
                Err(error) => self.unwritten(&path, &error.to_string()),
            }
        }
        let Some(memory) = &self.memory else { return };
        let (path, restored) = (memory.path().to_owned(), memory.restore());
        match restored {
            Ok(false) => {}
            Ok(true) => {
                self.trouble(format!("{} was changed while the agent worked; it is written anew", path.display()))
            }
            Err(error) => self.unwritten(&path, &error.to_string()),
        }
    }

    pub(super) fn unwritten(&mut self, path: &Path, why: &str) {
        let path = path.display();
        self.trouble(format!(
            "{path} can't be written ({why}), so the next session may not know what the agent changed: look at your hooks"
        ));
    }

    pub(super) fn trouble(&self, text: String) {
        self.published().report_problem(text);
    }

    pub(super) fn tell_busy(&mut self) {
        let busy = self.calls > 0 || self.left_running;
        if let Some(ledger) = self.ledger.as_mut().filter(|_| busy != self.busy) {
            ledger.set_busy(busy);
            self.busy = busy;
        }
    }

    pub(super) fn change(&self, at: usize) -> GuardChange {
        let watched = &self.files[at];
        let digest = watched.digest().to_owned();
        let (path, when) = (self.shorten(&watched.file.path), self.when());
        GuardChange { path, deed: watched.deed(), diff: watched.diff(), digest, when }
    }

    /// When things change that nobody trusts.
    pub(super) fn when(&self) -> &'static str {
        if self.serving { "while the agent or an MCP server was at work" } else { "while the agent worked" }
    }

    pub(super) fn shorten(&self, path: &Path) -> String {
        self.protected.shorten(path)
    }
}
