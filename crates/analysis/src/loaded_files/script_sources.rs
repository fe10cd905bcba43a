//! What scripts load and run in turn: shell scripts are walked through, Python and Node sources are searched for what they
//! import, and all others for names of files. Where a text decides that while it runs, nobody can tell, and that is said.

use std::path::Path;
use std::rc::Rc;

use super::file_names::Passing;
use super::follower::Content;
use super::node::is_node;
use super::walk::{Walk, When};
use super::wrappers::{self, Wrapped};
use super::{AroundKind, Field, Naming};
use crate::disk::Disk;
use crate::paths;
use crate::programs::spec::Language;
use crate::state::State;
use crate::value::Argument;

/// Endings of files that somebody may run.
const CODE: [&str; 35] = [
    "sh", "bash", "zsh", "ksh", "fish", "py", "pyc", "pyw", "so", "js", "mjs", "cjs", "ts", "mts", "cts", "tsx", "jsx",
    "node", "rb", "pl", "pm", "php", "lua", "awk", "sed", "tcl", "r", "jl", "exe", "jar", "wasm", "mk", "ps1", "zip",
    "pyz",
];

pub(super) fn extension(path: &Path) -> &str {
    path.extension().and_then(|end| end.to_str()).unwrap_or_default()
}

/// Whether a file looks like something that runs, by its name or its permissions.
pub(super) fn is_code(disk: &dyn Disk, path: &Path) -> bool {
    CODE.contains(&extension(path)) || (disk.has_execute_bit(path) && disk.is_file(path))
}

/// Whether a shell script looks at its arguments.
fn uses_parameters(text: &str) -> bool {
    text.split('$').skip(1).any(|rest| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        rest.starts_with(|char: char| matches!(char, '1'..='9' | '@' | '*' | '#' | '!'))
    })
}

impl<'a> Walk<'a> {
    /// A program that the kernel starts: what its first line says, else the shell.
    pub(super) fn enter(&mut self, path: &Path, shown: Option<&str>, args: &[Field], state: &State) {
        let Some(follower) = self.follower.filter(|follower| follower.holds(path)) else { return };
        let text = match follower.content(path) {
            Content::None | Content::Binary => return,
            Content::Long => return self.certain = false,
            Content::Text(text) => text,
        };
        let Some(shown) = shown else { return self.certain = false };
        let Some(line) = text.strip_prefix("#!") else { return self.shell(path, shown, args, &text, state) };
        let line = line.lines().next().unwrap_or_default();
        let mut words: Vec<Field> =
            line.split_whitespace().filter(|word| *word != "-S").map(|word| Some(word.to_owned())).collect();
        let Some(Some(interpreter)) = words.first().cloned() else {
            return self.shell(path, shown, args, &text, state);
        };
        words.push(Some(shown.to_owned()));
        words.extend_from_slice(args);
        let understood = |words: &[Field]| {
            let name = words.first().and_then(Option::as_deref).unwrap_or_default();
            wrappers::unwrap(name, words) != Wrapped::Program
        };
        if !understood(&words) {
            self.other(path, &text, state);
        }
        self.deeper(When::INSIDE, |walk| walk.program_words(&interpreter, &words, None, state, When::INSIDE));
    }

    /// Whether a file says by itself that it is to be run: by its first line, or where it has none as a shell's.
    pub(super) fn is_script(&self, path: &Path) -> bool {
        let text = self.follower.and_then(|follower| follower.text(path));
        let shells = match extension(path) {
            "sh" | "bash" => true,
            end => self.disk().has_execute_bit(path) && !CODE.contains(&end),
        };
        shells || text.is_some_and(|text| text.starts_with("#!"))
    }

    /// A file that an interpreter reads.
    pub(super) fn interpret_file(
        &mut self,
        path: &Path,
        shown: &str,
        args: &[Field],
        language: Language,
        state: &State,
    ) {
        let Some(follower) = self.follower.filter(|follower| follower.holds(path)) else { return };
        let text = match follower.content(path) {
            Content::None | Content::Binary => return,
            Content::Long => return self.certain = false,
            Content::Text(text) => text,
        };
        match language {
            Language::Shell => self.shell(path, shown, args, &text, state),
            Language::Python => {
                let directory = paths::physical(follower.disk, path);
                let real = directory.parent().unwrap_or(path).to_owned();
                // Python takes the real directory of a script that is a link.
                self.python(&path.display().to_string(), &text, &real, state);
            }
            Language::Node => self.node(path, state),
            Language::Other => self.other(path, &text, state),
        }
    }

    /// A file that is read as its name says.
    pub(super) fn by_name(&mut self, path: &Path) {
        let language = match extension(path) {
            "py" | "pyw" => Language::Python,
            _ if is_node(path) => Language::Node,
            "rb" | "pl" | "pm" | "php" | "lua" | "awk" | "tcl" => Language::Other,
            _ if self.is_script(path) => Language::Shell,
            _ => return,
        };
        let base = self.base.clone();
        self.interpret_file(path, &path.display().to_string(), &[None], language, &base);
    }

    fn shell(&mut self, path: &Path, shown: &str, args: &[Field], text: &Rc<str>, state: &State) {
        let mut inner = self.child(state);
        // Most scripts ask neither for their name nor for what they were given, and are the same for everybody then.
        let own_name = ["$0", "${0", "BASH_SOURCE"].iter().any(|word| text.contains(word));
        inner.script = own_name.then(|| shown.into());
        inner.source = Some(shown.into());
        let known = uses_parameters(text) && !args.contains(&None);
        inner.parameters = known.then(|| args.iter().flatten().map(|arg| Argument::known(arg.as_str())).collect());
        let key = format!("sh {} {}", path.display(), inner.key());
        let text = text.clone();
        self.behind(&key, move |walk| walk.text(&text, inner, When::INSIDE));
    }

    /// A script in any other language: its own kind beside it, and every file that it names.
    fn other(&mut self, path: &Path, text: &Rc<str>, state: &State) {
        let Some(follower) = self.follower else { return };
        let key = format!("other {} {:?}", path.display(), state.cwd);
        let (path, text, state) = (path.to_owned(), text.clone(), state.clone());
        self.behind(&key, move |walk| {
            walk.certain = false;
            let directory = path.parent().unwrap_or(&path);
            let kin = |other: &Path| match extension(&path) {
                "pl" | "pm" => matches!(extension(other), "pl" | "pm"),
                "" => false,
                end => extension(other) == end,
            };
            if !extension(&path).is_empty() && directory != follower.root() {
                let kind = AroundKind::Kin(extension(&path).to_owned());
                let found = follower.around(directory, kind, || follower.tree(directory, &kin, &walk.budget));
                walk.around(found);
            }
            walk.strings(&text, directory, &state);
            walk.loose(&text, Passing::InAText, &state);
        });
    }

    /// What an interpreter's options load.
    pub(super) fn options(&mut self, language: Language, options: &[Field], state: &State) {
        let Some(_) = self.follower else { return };
        for (at, option) in options.iter().enumerate() {
            let Some(option) = option else { continue };
            let (name, glued) =
                option.split_once('=').map_or((option.as_str(), None), |(name, value)| (name, Some(value)));
            let value = glued.or_else(|| options.get(at + 1).and_then(Option::as_deref));
            match (language, name) {
                (Language::Shell, "--rcfile" | "--init-file") => {
                    let path = value.and_then(|value| state.path(value));
                    if let Some(path) = path {
                        let text = value.unwrap_or_default().to_owned();
                        self.interpret_file(&path, &text, &[], Language::Shell, state);
                        self.files(Some(path), Naming::Sources);
                    }
                }
                (Language::Node, "-r" | "--require" | "--import" | "--loader" | "--experimental-loader") => {
                    match value.filter(|value| value.starts_with(['.', '/'])).and_then(|value| state.path(value)) {
                        Some(path) => self.required(&path, state),
                        None => self.certain = false,
                    }
                }
                (Language::Node, "--env-file" | "--env-file-if-exists" | "--import-map" | "--config" | "--preload") => {
                    self.certain = false;
                }
                _ => {}
            }
        }
    }

    /// Code that stands in the command, or that an interpreter reads from its input.
    pub(super) fn code(&mut self, language: Language, words: &[Field], input: Option<&Path>, state: &State) {
        let Some(follower) = self.follower else {
            self.certain &= language == Language::Shell && input.is_some();
            return;
        };
        let given = words.iter().position(|word| {
            word.as_deref()
                .is_some_and(|word| word.starts_with('-') && word.ends_with(['c', 'e', 'p', 'l']) && word != "-")
        });
        let code = given.and_then(|at| words.get(at + 1)).cloned().flatten();
        match (language, code, input) {
            (Language::Python, Some(code), _) => match state.cwd.clone() {
                Some(cwd) => self.python(&code, &code, &cwd, state),
                None => self.certain = false,
            },
            (Language::Node, Some(code), _) => match state.cwd.clone() {
                Some(cwd) => self.node_text(&code, &cwd, state),
                None => self.certain = false,
            },
            (_, Some(code), _) => {
                self.certain = false;
                self.loose(&code, Passing::InAText, state);
            }
            (_, None, Some(path)) if follower.holds(path) && follower.disk.is_file(path) => {
                let shown = path.display().to_string();
                self.interpret_file(path, &shown, &[], language, state);
                self.certain &= language == Language::Shell;
            }
            _ => self.certain = false,
        }
        // What it reads from its input imports from where it runs.
        if let (Language::Python, None, Some(cwd)) = (language, given, state.cwd.clone()) {
            self.python("", "", &cwd, state);
        }
    }
}
