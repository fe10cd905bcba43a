//! Hooks in a running session: list, switch, trust, trace, and the configuration read again when it changes on disk.

use std::collections::HashSet;
use std::path::PathBuf;

use hookwright_hooks::{Change, Difference, Registry, SwitchError};
use hookwright_settings::edit::{Switch, set_disabled};
use hookwright_settings::trust::trust_hooks;
use hookwright_settings::{FileState, Notice, Review};

use crate::hooks::state::{self, Entry};

use super::block::Block;
use super::driver::Driver;
use super::panel::Panel;
use super::text::{BAD, BOLD, DIM, Line, NOTE, PLAIN, WARN};
use super::watch::Watch;

impl Driver<'_> {
    /// `/hooks …`
    pub(crate) fn hooks(&mut self, line: &str) {
        let (word, name) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match (word, name.trim()) {
            ("" | "panel", _) => self.panel = Some(Panel::new(self.entries())),
            ("list", _) => self.list_hooks(),
            ("enable" | "disable", "") => self.app.tell(WARN, format!("/hooks {word} NAME: which hook?")),
            ("enable", name) => self.switch(&[name.to_owned()], Switch::Enable),
            ("disable", name) => self.switch(&[name.to_owned()], Switch::Disable),
            ("enable-all", _) => self.switch(&self.hook_names(), Switch::Enable),
            ("disable-all", _) => self.switch(&self.hook_names(), Switch::Disable),
            ("trust", name) => self.trust(Some(name).filter(|name| !name.is_empty())),
            ("trace", _) => self.trace(),
            _ => self
                .app
                .tell(WARN, "/hooks panel|list|enable NAME|disable NAME|enable-all|disable-all|trust [NAME]|trace"),
        }
    }

    /// Every hook as it is now.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        state::entries(&self.services.hooks, &self.loaded)
    }

    fn hook_names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.services.hooks.registry().hooks().iter().map(|hook| hook.id().to_owned()).collect();
        names.sort();
        names.dedup();
        names
    }

    fn list_hooks(&mut self) {
        let entries = self.entries();
        if entries.is_empty() {
            return self.app.tell(DIM, "there are no hooks; `hookwright hooks new` writes one");
        }
        let lines = entries.iter().map(|entry| {
            let matcher = entry.hook.matcher_text.as_deref().unwrap_or("*");
            Line::of(BOLD, entry.hook.id())
                .with(PLAIN, format!("  {} {matcher}  ", entry.hook.event))
                .with(DIM, format!("{}  ", entry.hook.source))
                .with(entry.state.style(), entry.state.describe())
                .hanging(4)
        });
        self.app.say(Block::Lines(lines.collect()));
    }

    /// Switches hooks in the settings and in the running session.
    pub(crate) fn switch(&mut self, names: &[String], switch: Switch) {
        let enabled = switch == Switch::Enable;
        let all = names.iter().map(String::as_str);
        let refused = self.services.hooks.update(|registry| registry.switch(all.clone(), enabled));
        refused.iter().for_each(|error| self.app.tell(BAD, format!("{error}")));
        let refused: HashSet<&str> = refused.iter().map(SwitchError::name).collect();
        let switched: Vec<&str> = all.filter(|name| !refused.contains(name)).collect();
        if switched.is_empty() {
            return;
        }
        let file = self.loaded.settings_file().to_owned();
        let verb = if enabled { "enabled" } else { "disabled" };
        match set_disabled(&file, &switched, switch) {
            Ok(_) => self.app.tell(PLAIN, format!("{verb} {} in {}", switched.join(", "), file.display())),
            Err(error) => self.app.tell(WARN, format!("{verb} {} for this session only: {error}", switched.join(", "))),
        }
        // What we wrote ourselves is no news.
        self.watch.changed();
    }

    /// Trusts hooks that wait for it, and those that were only announced.
    pub(crate) fn trust(&mut self, name: Option<&str>) {
        let wanted = |review: &&Review| name.is_none_or(|name| review.hook.id() == name);
        let chosen: Vec<&Review> = self.loaded.reviews.iter().filter(wanted).collect();
        let names: Vec<String> =
            chosen.iter().map(|review| format!("{} ({})", review.hook.id(), review.finding)).collect();
        if chosen.is_empty() {
            return self.app.tell(DIM, "there is nothing to trust: no hook is new or changed");
        }
        match trust_hooks(&self.loaded.paths, chosen) {
            Ok(_) => {
                self.app.tell(PLAIN, format!("trusted {}", names.join(", ")));
                self.reload(&[]);
            }
            Err(error) => self.app.tell(BAD, format!("error: {error}")),
        }
    }

    fn trace(&mut self) {
        let lines: Vec<Line> = self
            .app
            .log
            .timeline()
            .iter()
            .flat_map(|text| text.lines())
            .map(|line| Line::of(PLAIN, line).hanging(4))
            .collect();
        if lines.is_empty() {
            return self.app.tell(DIM, "nothing has happened yet");
        }
        self.app.say(Block::Lines(lines));
    }

    /// Reads the configuration again. A broken one changes nothing.
    pub(crate) fn reload(&mut self, changed: &[PathBuf]) {
        let loaded = match crate::session::configuration(self.args, self.world) {
            Ok(loaded) => loaded,
            Err(error) => return self.app.tell(BAD, format!("error: {error:#}")),
        };
        let own_record = [self.loaded.paths.trusted_hooks.clone()];
        let names: Vec<String> = changed
            .iter()
            .filter(|path| !own_record.contains(path))
            .map(|path| path.strip_prefix(&loaded.project.root).unwrap_or(path).display().to_string())
            .collect();
        let broken = loaded.files.iter().find(|file| file.state == FileState::Broken);
        if let Some(broken) = broken {
            self.app.tell(BAD, format!("{} is broken; the hooks stay as they were", broken.path.display()));
            self.tell_diagnostics(&loaded.registry);
            return;
        }
        let news = differences(&self.loaded.registry, &loaded.registry);
        self.loaded = loaded;
        self.watch = Watch::new(&self.loaded);
        if !self.args.no_hooks {
            self.services.hooks.reload(self.loaded.registry.clone());
        }
        if !names.is_empty() {
            let what = if news.is_empty() { "no hook was added or removed".to_owned() } else { news.join("; ") };
            self.app.say(Block::line(
                Line::of(NOTE, format!("{} changed: ", names.join(", "))).with(PLAIN, what).hanging(4),
            ));
        }
        self.tell_configuration();
        self.refresh_names();
        self.app.status.hooks = self.services.hooks.registry().hooks().len();
        if let Some(panel) = self.panel.take() {
            self.panel = Some(panel.with(self.entries()));
        }
    }

    fn tell_diagnostics(&mut self, registry: &Registry) {
        for diagnostic in registry.diagnostics() {
            let drawn = crate::report::draw(diagnostic);
            self.app.say(Block::Lines(drawn.lines().map(|line| Line::of(PLAIN, line)).collect()));
        }
    }

    /// What the user should know about the configuration. From then on, hooks that were only announced are known.
    pub(crate) fn tell_configuration(&mut self) {
        self.app.notifications = self.loaded.registry.notifications();
        let registry = self.loaded.registry.clone();
        self.tell_diagnostics(&registry);
        for notice in self.loaded.notices.clone() {
            let style = if matches!(notice, Notice::Hook { held: true, .. }) { WARN } else { NOTE };
            self.app.say(Block::line(Line::of(style, "• ").with(PLAIN, notice.to_string()).hanging(2)));
        }
        if self.loaded.reviews.iter().any(|review| review.held) {
            self.app.tell(DIM, "  /hooks trust lets them run");
        }
        let announced = self.loaded.reviews.iter().filter(|review| !review.held);
        if announced.clone().next().is_some()
            && let Err(error) = trust_hooks(&self.loaded.paths, announced)
        {
            self.app.tell(WARN, format!("can't remember which hooks were announced: {error}"));
        }
        self.watch.changed();
    }
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
        format!("{word} {} on {} ({})", hook.id(), hook.event, hook.source)
    };
    before.differences(after).iter().map(describe).collect()
}
