//! What a walk has found: kept once, shared between hooks, and completed where not everything can be told.

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use super::file_names::Passing;
use super::follower::{Found, Surroundings};
use super::script_sources::is_code;
use super::walk::{Walk, When};
use super::{AroundKind, Follower, NamedFile, Naming};
use crate::paths;

/// Something that a script leads to, and how to look at it.
pub(super) struct Behind<'a> {
    key: String,
    /// Where the script went before.
    went: Vec<PathBuf>,
    look: Box<dyn FnOnce(&mut Walk<'a>) + 'a>,
}

/// Paths, each once, in the order in which they are met.
#[derive(Default)]
pub(super) struct Once {
    list: Vec<PathBuf>,
    seen: HashSet<PathBuf>,
}

/// How far a command has been followed.
#[derive(Default)]
struct Journey {
    /// What counts and has not been taken over.
    next: VecDeque<String>,
    /// What counts if not everything can be told.
    perhaps: Vec<String>,
    seen: HashSet<String>,
    /// What nobody had looked at before.
    new: Vec<String>,
}

impl<'a> Walk<'a> {
    pub(super) fn files(&mut self, path: Option<PathBuf>, how: Naming) {
        // Without the `.` in it, which is how one file gets two names.
        let Some(path) = path.map(|path| path.components().collect::<PathBuf>()) else { return };
        match self.known.get(&path) {
            Some(at) => self.files[*at].how = self.files[*at].how.min(how),
            None => {
                self.known.insert(path.clone(), self.files.len());
                self.files.push(NamedFile { path, how });
            }
        }
    }

    pub(super) fn around(&mut self, (around, whole): Surroundings) {
        self.certain &= whole;
        if !self.around.iter().any(|known| Arc::ptr_eq(known, &around)) {
            self.around.push(around);
        }
    }

    pub(super) fn likely(&mut self, path: PathBuf) {
        if self.likely.seen.insert(path.clone()) {
            self.likely.list.push(path);
        }
    }

    /// Something that this leads to: looked at later, and once for everybody who asks. Scripts may lead to each other in
    /// circles, so nothing waits for what is found behind it.
    pub(super) fn behind(&mut self, key: &str, look: impl FnOnce(&mut Walk<'a>) + 'a) {
        let key = format!("{key} {}", self.variables);
        if self.follower.is_some() && self.asked.insert(key.clone()) {
            self.behind.push(Behind { key, went: self.went.clone(), look: Box::new(look) });
        }
    }

    /// Looks at everything that this leads to, however far; what was looked at is known to everybody from then on.
    fn look_behind(&mut self, follower: &'a Follower<'a>, journey: &mut Journey) {
        journey.next.extend(self.behind.iter().map(|behind| behind.key.clone()));
        let mut waiting: VecDeque<Behind<'a>> = std::mem::take(&mut self.behind).into();
        while let Some(Behind { key, went, look }) = waiting.pop_front() {
            if follower.found.borrow().contains_key(&key) {
                continue;
            }
            if self.left == 0 || !self.pay(0) {
                self.certain = false;
                return;
            }
            let mut inner = Walk::new(
                self.follower,
                self.base.clone(),
                self.environment,
                self.budget.clone(),
                self.variables.clone(),
            );
            (inner.nested, inner.went, inner.left) = (true, went, self.left - 1);
            look(&mut inner);
            self.left = inner.left;
            let behind: Vec<String> = inner.behind.iter().map(|behind| behind.key.clone()).collect();
            for (text, state) in std::mem::take(&mut inner.texts) {
                let key = format!("text {text} {}", state.key());
                inner.behind(&key, move |walk| walk.text(&text, state, When::INSIDE));
            }
            let perhaps = inner.behind.iter().skip(behind.len()).map(|behind| behind.key.clone()).collect();
            waiting.extend(std::mem::take(&mut inner.behind));
            let Walk { files, around, likely, certain, .. } = inner;
            let found = Found { files, around, likely: likely.list, certain, behind, perhaps };
            follower.found.borrow_mut().insert(key.clone(), Rc::new(found));
            journey.new.push(key);
        }
    }

    /// Takes over what was found on the way, as far as it counts by now.
    fn take_over(&mut self, follower: &'a Follower<'a>, journey: &mut Journey) {
        loop {
            while let Some(key) = journey.next.pop_front() {
                if !journey.seen.insert(key.clone()) {
                    continue;
                }
                let Some(found) = follower.found.borrow().get(&key).cloned() else { continue };
                self.certain &= found.certain;
                found.files.iter().for_each(|file| self.files(Some(file.path.clone()), file.how));
                found.around.iter().for_each(|around| self.around((around.clone(), true)));
                found.likely.iter().for_each(|path| self.likely(path.clone()));
                journey.next.extend(found.behind.iter().cloned());
                journey.perhaps.extend(found.perhaps.iter().cloned());
            }
            if self.certain || journey.perhaps.is_empty() {
                return;
            }
            journey.next.extend(journey.perhaps.drain(..));
        }
    }

    /// Follows everything to its end. Where not everything can be told, what is named in passing counts too, and so does
    /// what stands in texts.
    pub(super) fn settle(&mut self) {
        let Some(follower) = self.follower else { return };
        let mut journey = Journey::default();
        let mut looked_at = 0;
        loop {
            self.look_behind(follower, &mut journey);
            self.take_over(follower, &mut journey);
            if self.certain || (looked_at == self.likely.list.len() && self.texts.is_empty()) {
                break;
            }
            for (text, state) in std::mem::take(&mut self.texts) {
                self.text(&text, state, When::INSIDE);
            }
            while let Some(path) = self.likely.list.get(looked_at).cloned() {
                looked_at += 1;
                self.passed(follower, path);
            }
        }
        if self.left == 0 || !self.pay(0) {
            // What was found has ends that nobody looked at: the next one has to see for himself.
            let mut found = follower.found.borrow_mut();
            journey.new.iter().for_each(|key| drop(found.remove(key)));
        }
    }

    /// What is named in passing, now that it counts.
    fn passed(&mut self, follower: &'a Follower<'a>, path: PathBuf) {
        match follower.disk.is_directory(&path) {
            // All of the project, and more, would be too much.
            true if follower.root().starts_with(paths::normalized(&path)) => {}
            true if follower.holds(&path) => {
                self.around(follower.around(&path, AroundKind::All, || follower.tree(&path, &|_| true, &self.budget)));
            }
            true => {}
            false => {
                self.by_name(&path);
                // A list of names, perhaps.
                if let Some(text) =
                    follower.text(&path).filter(|_| follower.holds(&path) && !is_code(follower.disk, &path))
                {
                    self.loose(&text, Passing::InAText, &self.base.clone());
                }
                self.files(Some(path), Naming::Mentions);
            }
        }
    }
}
