//! What a shell does by itself: where it goes, what it sets, which text it reads in its own name.

use std::path::PathBuf;

use super::walk::Walk;
use super::{known, programs};
use crate::shell::{Field, State};

impl Walk<'_, '_> {
    /// What a shell does by itself; whether this is such a thing.
    pub(super) fn built_in(&mut self, name: &str, words: &[Field], state: &mut State<'_>) -> bool {
        let args = &words[1..];
        match name {
            "cd" | "pushd" => self.go(name, args, state),
            "popd" => state.cwd = None,
            "." | "source" => {
                state.forget();
                state.cwd = None;
                self.doubt_all();
            }
            "eval" => match known(args) {
                Some(texts) => self.text(&texts.join(" "), state),
                None => {
                    state.forget();
                    state.cwd = None;
                    self.doubt_all();
                }
            },
            "trap" => match args.first() {
                Some(Some(text)) if text.starts_with('-') || text.is_empty() => {}
                Some(Some(text)) => self.unsurely(|walk| walk.text(text, &mut walk.anywhere(state))),
                Some(None) => self.doubt_all(),
                None => {}
            },
            "export" | "readonly" | "local" | "declare" | "typeset" => self.declare(args, state),
            "set" => {
                state.parameters = None;
                if args.iter().take_while(|arg| arg.as_deref() != Some("--")).any(is_odd_setting) {
                    self.doubt_all();
                }
            }
            "shift" => state.parameters = None,
            "read" | "mapfile" | "readarray" | "getopts" | "unset" | "let" => {
                let function =
                    name == "unset" && args.iter().flatten().any(|arg| arg.starts_with('-') && arg.contains('f'));
                if function || args.contains(&None) {
                    state.forget();
                    self.doubt_all();
                }
                for arg in args.iter().flatten() {
                    let _ = state.set(arg.split(['=', '+', '-', '*', '/']).next().unwrap_or_default(), None);
                }
            }
            "alias" | "shopt" | "enable" | "fc" | "history" | "bind" => self.doubt_all(),
            name if self.functions.contains(name) => {
                // It may have set anything and gone anywhere.
                state.forget();
                state.cwd.take_if(|_| self.moves);
                if !programs::knows(name) {
                    return true;
                }
                return false;
            }
            _ => return false,
        }
        true
    }

    fn go(&mut self, name: &str, args: &[Field], state: &mut State<'_>) {
        let operand = args.iter().find(|arg| arg.as_deref().is_none_or(|arg| !arg.starts_with('-') || arg.len() == 1));
        let odd = name == "pushd" && operand.is_none_or(|arg| arg.as_deref().is_none_or(|arg| arg.starts_with('+')));
        state.go(args);
        if odd {
            state.cwd = None;
        }
        // With more words than one it fails, and `pushd -n` goes nowhere.
        let options = args.iter().take_while(|arg| matches!(arg.as_deref(), Some("-P" | "-L" | "-e" | "--")));
        let words = args.len() - options.count();
        if words > 1 || (name == "pushd" && words < args.len()) {
            state.cwd = None;
        }
        // Who cannot look into a directory cannot go there.
        let is_there = |path: &PathBuf| path.join(".").metadata().is_ok_and(|found| found.is_dir());
        self.unproven = self.has_changed_something() || !state.cwd.as_ref().is_some_and(is_there);
    }

    fn declare(&mut self, args: &[Field], state: &mut State<'_>) {
        let odd = |arg: &String| arg.starts_with('-') && arg.contains(['n', 'i', 'a', 'A', 'u', 'l', 'c']);
        let odd = args.iter().flatten().any(odd);
        for arg in args {
            match arg.as_deref().map(|arg| arg.split_once('=').map_or((arg, None), |(a, b)| (a, Some(b)))) {
                Some((name, Some(value))) => drop(state.set(name, Some(value.to_owned()).filter(|_| !odd))),
                Some(_) => {}
                None => {
                    state.forget();
                    self.doubt_all();
                }
            }
            arg.iter().for_each(|arg| state.export(arg.split('=').next().unwrap_or_default()));
        }
    }
}

/// What `set` is given that changes how words are read.
fn is_odd_setting(arg: &Field) -> bool {
    const LONG: [&str; 8] =
        ["allexport", "keyword", "noglob", "posix", "restricted", "privileged", "physical", "braceexpand"];
    let Some(arg) = arg.as_deref() else { return true };
    let letters = arg.starts_with(['-', '+']) && arg.contains(['a', 'k', 'f', 'p', 'r', 't', 'B', 'P']);
    letters || LONG.contains(&arg)
}
