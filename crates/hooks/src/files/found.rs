//! What a walk has found: kept once, shared between hooks, and completed where not everything can be told.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use super::code::is_code;
use super::follow::{Found, Surroundings};
use super::names::Passing;
use super::walk::{Walk, When};
use super::{AroundKind, CommandFiles, NamedFile, Naming};
use crate::shell;

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
        if !self.likely.contains(&path) {
            self.likely.push(path);
        }
    }

    /// The files found so far, once everything has been said.
    pub(super) fn found(self) -> CommandFiles {
        CommandFiles { files: self.files, around: self.around, certain: self.certain }
    }

    /// A walk through something that is found behind a script, once for everybody who asks.
    pub(super) fn behind(&mut self, key: &str, go: impl FnOnce(&mut Self)) {
        let Some(follower) = self.follower else { return };
        let key = format!("{key} {}", self.variables);
        let known = follower.found.borrow().get(&key).cloned();
        let found = if let Some(found) = known {
            found
        } else {
            if self.left == 0 || self.deeper == 0 {
                self.certain = false;
                return;
            }
            if !follower.open.borrow_mut().insert(key.clone()) {
                self.cut = true;
                return;
            }
            let mut inner = self.inner();
            go(&mut inner);
            inner.settle();
            follower.open.borrow_mut().remove(&key);
            self.left = inner.left;
            let Walk { files, around, likely, certain, cut, .. } = inner;
            let found = Rc::new(Found { files, around, likely, certain });
            if !cut || follower.open.borrow().is_empty() {
                follower.found.borrow_mut().insert(key, found.clone());
            }
            self.cut |= cut;
            found
        };
        self.certain &= found.certain;
        found.files.iter().for_each(|file| self.files(Some(file.path.clone()), file.how));
        found.around.iter().for_each(|around| self.around((around.clone(), true)));
        found.likely.iter().for_each(|path| self.likely(path.clone()));
    }

    pub(super) fn inner(&self) -> Walk<'a> {
        Walk {
            steps: Vec::new(),
            certain: true,
            follower: self.follower,
            files: Vec::new(),
            known: HashMap::new(),
            around: Vec::new(),
            likely: Vec::new(),
            texts: Vec::new(),
            went: self.went.clone(),
            base: self.base.clone(),
            variables: self.variables.clone(),
            nested: true,
            cut: false,
            functions: HashSet::new(),
            units: 0,
            left: self.left.saturating_sub(1),
            deeper: self.deeper - 1,
        }
    }

    /// Where not everything can be told, what is named in passing counts too, and so does what stands in texts.
    pub(super) fn settle(&mut self) {
        let Some(follower) = self.follower else { return };
        let mut looked_at = 0;
        while !self.certain && (looked_at < self.likely.len() || !self.texts.is_empty()) {
            for (text, mut state) in std::mem::take(&mut self.texts) {
                self.text(&text, &mut state, When::INSIDE);
            }
            while let Some(path) = self.likely.get(looked_at).cloned() {
                looked_at += 1;
                match path.is_dir() {
                    // All of the project, and more, would be too much.
                    true if follower.root().starts_with(shell::normalized(&path)) => {}
                    true if follower.holds(&path) => {
                        self.around(follower.around(&path, AroundKind::All, || follower.tree(&path, &|_| true)));
                    }
                    true => {}
                    false => {
                        self.by_name(&path);
                        // A list of names, perhaps.
                        if let Some(text) = follower.text(&path).filter(|_| follower.holds(&path) && !is_code(&path)) {
                            self.loose(&text, Passing::InAText, &self.base.clone());
                        }
                        self.files(Some(path), Naming::Mentions);
                    }
                }
            }
        }
    }
}
