//! Simple commands: their words, the variables set for them, and what they run: a function, a builtin or a program.

use std::rc::Rc;

use super::redirection::opens_file;
use super::touch::PROGRAM_DIRECTORIES;
use super::{Interpreter, Io, Outcome, UNITS_PER_STEP};
use crate::budget::OVER_BUDGET;
use crate::observer::{Aspects, Fact};
use crate::programs::call::Call;
use crate::programs::spec::Aspect;
use crate::star_pattern::matches_star;
use crate::state::{Function, State, Variable};
use crate::syntax::{AssignedValue, Assignment, Dialect, Redirection, RedirectionOperator, Word};
use crate::value::{Argument, Taint, Text, Value};

/// Where a command's name is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// Functions, builtins, programs.
    Shell,
    /// Builtins and programs: `command`.
    NoFunctions,
    /// Builtins only: `builtin`.
    Builtins,
    /// Programs only: what another program runs.
    Programs,
}

/// Programs that put files of any name into a directory: settings of a repository, too.
const FILLS_TREES: [&str; 24] = [
    "tar", "gtar", "bsdtar", "unzip", "7z", "7za", "7zr", "7zz", "7zzs", "cpio", "gcpio", "bsdcpio", "rsync", "cp",
    "gcp", "mv", "gmv", "scp", "sftp", "unrar", "jar", "ditto", "rclone", "aws",
];

/// Variables that decide nothing about what programs touch.
const HARMLESS: [&str; 41] = [
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLUMNS",
    "LINES",
    "CI",
    "DEBUG",
    "VERBOSE",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "NODE_ENV",
    "NODE_NO_WARNINGS",
    "RAILS_ENV",
    "RACK_ENV",
    "APP_ENV",
    "MIX_ENV",
    "ENVIRONMENT",
    "FOO",
    "BAR",
    "BAZ",
    "VAR",
    "LOG_LEVEL",
    "LOGLEVEL",
    "USER",
    "LOGNAME",
    "GOOS",
    "GOARCH",
    "HOMEBREW_NO_AUTO_UPDATE",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
];

/// Programs that never read their input; those that may ask a question do so only by an option.
const READ_NO_INPUT: [&str; 31] = [
    "basename", "chgrp", "chmod", "chown", "cp", "date", "df", "dirname", "du", "false", "hostname", "id", "kill",
    "ln", "ls", "mkdir", "mktemp", "mv", "pwd", "readlink", "realpath", "rm", "rmdir", "sleep", "stat", "touch",
    "true", "uname", "unlink", "which", "whoami",
];

/// Whether a program may read the input of the shell that starts it.
fn may_read_input(name: &str, words: &[Argument]) -> bool {
    let may_ask = |word: &Argument| {
        word.beginning().is_empty() || (word.beginning().starts_with('-') && word.beginning().contains('i'))
    };
    !READ_NO_INPUT.contains(&name) || words.iter().skip(1).any(may_ask)
}

/// Variables that change what the shell itself does.
pub(crate) fn steers_shell(name: &str) -> bool {
    const NAMES: [&str; 19] = [
        "PATH",
        "IFS",
        "ENV",
        "CDPATH",
        "SHELL",
        "SHELLOPTS",
        "BASHOPTS",
        "GLOBIGNORE",
        "GLOBSORT",
        "POSIXLY_CORRECT",
        "PS4",
        "PROMPT_COMMAND",
        "EXECIGNORE",
        "FPATH",
        "TMPDIR",
        "HISTFILE",
        "FUNCNEST",
        "TIMEFORMAT",
        "OPTIND",
    ];
    NAMES.contains(&name) || name.starts_with("BASH_") || name.starts_with("LD_") || name.starts_with("DYLD_")
}

/// Variables that steer programs: they count even where they are not exported, for they may have been before.
pub(super) fn steers_programs(name: &str) -> bool {
    const FAMILIES: [&str; 19] = [
        "GIT_", "PYTHON", "PERL", "RUBY", "NODE_", "npm_", "NPM_", "JAVA", "GREP_", "LESS", "SSH_", "CURL_", "AWS_",
        "DOCKER_", "KUBE", "CARGO", "RUST", "GO", "PG",
    ];
    const ENDINGS: [&str; 10] =
        ["_OPTIONS", "_OPTS", "_PROXY", "_proxy", "RC", "_CONFIG", "PAGER", "EDITOR", "_HOME", "_DIR"];
    const NAMES: [&str; 6] = ["VISUAL", "BROWSER", "http_proxy", "https_proxy", "HOME", "DISPLAY"];
    FAMILIES.iter().any(|family| name.starts_with(family))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || NAMES.contains(&name)
}

/// Whether a variable of the locale or the time zone names a file instead.
fn names_file(name: &str, variable: &Variable) -> bool {
    let value = variable.value.as_ref().map_or(Some(""), |value| value.text.known());
    match name {
        "TZ" => value.is_none_or(|zone| zone.starts_with(['/', ':']) || zone.contains("..")),
        "LANG" | "LANGUAGE" | "TERM" => value.is_none_or(|locale| locale.contains('/')),
        name if name.starts_with("LC_") => value.is_none_or(|locale| locale.contains('/')),
        _ => false,
    }
}

pub(super) fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name) || name.starts_with("LC_")
}

impl Interpreter<'_> {
    pub(super) fn simple(
        &mut self,
        assignments: &[Assignment],
        words: &[Word],
        redirections: &[Redirection],
        mut state: State,
        io: &Io,
    ) -> Outcome {
        if self.commands_left == 0 {
            self.unsure_all(OVER_BUDGET);
            return Outcome::both(state);
        }
        self.commands_left -= 1;
        let before = state.clone();
        let outer = std::mem::replace(&mut self.read_taint, Taint::NONE);
        let outer_written = std::mem::take(&mut self.written);
        let outer_contacted = std::mem::take(&mut self.contacted);
        let words = self.command_words(words, &mut state);
        let (io, may_fail) = self.redirections(redirections, &mut state, io);
        // `exec >file` counts for all commands that follow.
        if words.last().and_then(Argument::text) == Some("exec") && redirections.iter().any(opens_file) {
            self.unsure(Aspect::Flows, "the shell's own input or output is a file");
        }
        let writes = redirections.iter().any(Redirection::writes_file);
        self.redirects += usize::from(writes);
        let outcome = match words.is_empty() {
            true => {
                if writes {
                    let run = self.command_run(&[], &state, &io);
                    self.observer.command(&run);
                }
                self.assign_all(assignments, &mut state);
                // `$(<file)` comes to what the file holds.
                if redirections.iter().any(|one| one.operator == RedirectionOperator::Read) {
                    self.print(&Value::unknown(io.stdin.taint), &io);
                }
                Outcome::both(state)
            }
            false => self.with_assignments(assignments, &words, !redirections.is_empty(), state, &io),
        };
        self.ended_commands += 1;
        self.redirects -= usize::from(writes);
        self.read_taint = outer;
        self.written = outer_written;
        self.contacted = outer_contacted;
        match may_fail {
            true => outcome.join(Outcome::failure(before)),
            false => outcome,
        }
    }

    /// The words of a command; the observer hears of those that are only known when it runs.
    pub(super) fn command_words(&mut self, words: &[Word], state: &mut State) -> Vec<Argument> {
        if !self.exhaustive {
            return match self.declaration_words(words, state) {
                Some(found) => found,
                None => self.words(words, state),
            };
        }
        let mut found = Vec::new();
        for word in words {
            let arguments = self.words(std::slice::from_ref(word), state);
            if arguments.iter().any(|argument| argument.text().is_none()) {
                self.observer.unknown_word(word, state);
            }
            found.extend(arguments);
        }
        found
    }

    fn assign_all(&mut self, assignments: &[Assignment], state: &mut State) {
        for assignment in assignments {
            let value = self.assigned(assignment, state);
            self.assign(&assignment.name, value, state);
        }
    }

    /// What an assignment's right side comes to.
    fn assigned(&mut self, assignment: &Assignment, state: &mut State) -> Value {
        if let Some(subscript) = &assignment.subscript {
            self.arithmetic(subscript, state);
        }
        match &assignment.value {
            AssignedValue::Scalar(word) => {
                let value = self.joined(word, state);
                if value.text.known().is_none() {
                    self.observer.unknown_word(word, state);
                }
                match (assignment.subscript.is_some(), assignment.append) {
                    (true, _) => Value::unknown(value.taint),
                    (false, true) => self.appended(&assignment.name, value, state),
                    (false, false) => value,
                }
            }
            AssignedValue::Array(words) => {
                words.iter().for_each(|word| self.observer.unknown_word(word, state));
                let words = self.words(words, state);
                let subscripts = |word: &Argument| word.text().is_none_or(|text| text.starts_with('['));
                if words.iter().any(subscripts) {
                    self.unsure_all("an array whose elements are only known when it runs");
                }
                Value::unknown(words.iter().fold(Taint::NONE, |taint, word| taint.and(word.value.taint)))
            }
        }
    }

    fn appended(&mut self, name: &str, value: Value, state: &State) -> Value {
        let before = self.variable(name, state);
        let taint = before.taint.and(value.taint);
        let text = match (before.text.known(), value.text.known()) {
            (Some(before), Some(value)) if self.pay(before.len() + value.len()) => {
                Text::from(format!("{before}{value}").as_str())
            }
            _ => Text::Unknown,
        };
        Value { text, taint }
    }

    /// `A=1 command`: the variables count for the command alone.
    fn with_assignments(
        &mut self,
        assignments: &[Assignment],
        words: &[Argument],
        redirected: bool,
        mut state: State,
        io: &Io,
    ) -> Outcome {
        let mut saved = Vec::new();
        let outer = std::mem::replace(&mut self.temporary, true);
        for assignment in assignments {
            // Which of the variables a later one sees differs between shells.
            let mut seen = state.clone();
            saved.iter().for_each(|(name, _): &(String, _)| seen.set(name, Some(Value::UNKNOWN)));
            let value = self.assigned(assignment, &mut seen);
            saved.push((assignment.name.clone(), state.variable(&assignment.name).cloned()));
            self.assign(&assignment.name, value, &mut state);
            state.export(&assignment.name);
        }
        self.temporary = outer;
        let dialect = state.dialect;
        // These may make the variables, or others of the same names, stay.
        const KEEPERS: [&str; 10] =
            ["export", "readonly", "declare", "typeset", "local", "eval", "source", ".", "command", "builtin"];
        let may_keep = words
            .first()
            .and_then(Argument::text)
            .is_none_or(|name| KEEPERS.contains(&name) || state.function(name).is_some());
        let mut outcome = self.run(words, Lookup::Shell, redirected, state, io);
        // In some shells the variables stay behind a special builtin and a function.
        let is_program = |name: &str| self.environment.programs.find(name).is_some();
        let stays = dialect == Dialect::Posix && !words.first().and_then(Argument::text).is_some_and(is_program);
        for state in [&mut outcome.success, &mut outcome.failure].into_iter().flatten() {
            for (name, before) in saved.iter().rev() {
                match stays || may_keep {
                    true => state.set(name, Some(Value::UNKNOWN)),
                    false => state.restore(name, before.clone()),
                }
            }
        }
        outcome
    }

    /// Runs a command.
    pub(crate) fn run(
        &mut self,
        words: &[Argument],
        lookup: Lookup,
        redirected: bool,
        state: State,
        io: &Io,
    ) -> Outcome {
        let units: usize = words.iter().map(|word| UNITS_PER_STEP + 2 * word.shown.len()).sum();
        if self.depth >= super::MAX_DEPTH || !self.pay(UNITS_PER_STEP + units) {
            self.unsure_all("commands run each other too deep");
            return Outcome::both(state);
        }
        let run = self.command_run(words, &state, io);
        self.observer.command(&run);
        self.depth += 1;
        let outcome = self.run_named(words, lookup, redirected, state, io);
        self.depth -= 1;
        outcome
    }

    fn run_named(
        &mut self,
        words: &[Argument],
        lookup: Lookup,
        redirected: bool,
        mut state: State,
        io: &Io,
    ) -> Outcome {
        let Some(name) = words.first().and_then(Argument::text).map(str::to_owned) else {
            self.unsure_all("the program is only known when it runs");
            self.forget(&mut state);
            return Outcome::both(state);
        };
        if words[0].substituted {
            self.unsure_all(format!("{name} is what another command prints"));
        }
        // What looks like an option is one of the program before it.
        if name.starts_with('-') && lookup == Lookup::Programs {
            self.unsure_all(format!("{name} is no program"));
            return Outcome::both(state);
        }
        if lookup == Lookup::Shell {
            match state.function(&name) {
                Some(Function::Defined(body)) => {
                    let body = Rc::clone(body);
                    return self.call_function(&name, &body, words, state, io);
                }
                Some(Function::Ambiguous) => {
                    self.unsure_all(format!("{name} may be a function"));
                    self.forget(&mut state);
                    return Outcome::both(state);
                }
                Some(Function::Removed) => {}
                None if state.foreign && !self.exhaustive && self.unsure != Aspects::ALL => {
                    self.unsure_all("code that was not read may have defined functions");
                }
                None => {}
            }
        }
        if lookup != Lookup::Programs
            && !name.contains('/')
            && let Some(outcome) = self.builtin(&name, words, redirected, &state, io)
        {
            return outcome;
        }
        if lookup == Lookup::Builtins {
            self.unsure_all(format!("{name} is no known builtin"));
            return Outcome::failure(state);
        }
        let run = self.command_run(words, &state, io);
        if let Some(result) = self.observer.program(&run) {
            let prints = if is_count(words) { Value::NUMBER } else { result.prints };
            self.print(&prints, io);
            return match result.success {
                Some(true) => Outcome::success(state),
                Some(false) => Outcome::failure(state),
                None => Outcome::both(state),
            };
        }
        self.program(&name, words, &state, io);
        Outcome::both(state)
    }

    /// A program, which changes nothing in the shell that starts it.
    fn program(&mut self, name: &str, words: &[Argument], state: &State, io: &Io) {
        let Some(known) = known_name(name) else {
            if is_loader(name) {
                self.unsure_all("the loader runs a program");
            }
            self.note_run(name);
            return self.unsure_program(Aspects::ALL, format!("{name} lies where anything may lie"));
        };
        self.note_run(known);
        if self.programs_changed {
            self.unsure_all("programs may have been replaced");
        }
        if self.script_is_input && !io.stdin.redirected && may_read_input(known, words) {
            self.unsure_all(format!("{known} may read a part of the commands"));
        }
        let Some(program) = self.environment.programs.find(known) else {
            self.unsure_program(Aspects::ALL, format!("what {known} does is not known"));
            return self.print_result(words, known, io);
        };
        let odd = state.variables().find(|(name, variable)| match variable.exported {
            true => !is_harmless(name) && !program.environment.iter().any(|fine| matches_star(fine, name)),
            false => {
                variable.value.is_some()
                    && steers_programs(name)
                    && !program.environment.iter().any(|fine| matches_star(fine, name))
            }
        });
        if let Some((name, _)) = odd
            && !program.is_inert()
        {
            self.unsure_all(format!("{name} may change what {known} does"));
        }
        if let Some((name, _)) =
            state.variables().find(|(name, variable)| variable.exported && names_file(name, variable))
        {
            self.unsure_program(Aspect::Reads, format!("{name} may name a file"));
        }
        self.prints_setup = false;
        let outer = std::mem::replace(&mut self.fills_trees, FILLS_TREES.contains(&known));
        let outer_unsure = std::mem::replace(&mut self.call_unsure, Aspects::NONE);
        Call::run(self, program, known, words, state, io);
        self.fills_trees = outer;
        self.print_result(words, known, io);
        self.call_unsure = self.call_unsure.and(outer_unsure);
    }

    /// The data of a command goes where it prints, writes and talks to.
    fn print_result(&mut self, words: &[Argument], name: &str, io: &Io) {
        let given = words.iter().fold(io.stdin.taint, |taint, word| taint.and(word.value.taint));
        let mut data = given.and(self.read_taint);
        self.doubt_flows(data);
        for host in std::mem::take(&mut self.contacted) {
            self.flow(data, &format!("network:{host}"), name);
            data = data.and(self.source(super::FlowSource::Network(host)));
        }
        for path in std::mem::take(&mut self.written) {
            self.data_to_file(&path, data);
        }
        let text = match std::mem::take(&mut self.prints_setup) {
            true => Text::ShellSetup,
            false if is_count(words) => Text::Number,
            false => Text::Unknown,
        };
        self.print(&Value { text, taint: data }, io);
    }

    /// A program or a script of this name runs.
    pub(crate) fn note_run(&mut self, path: &str) {
        self.runs_path |= path.contains('/') && known_name(path).is_none();
        self.ran.insert(path.rsplit('/').next().unwrap_or(path).to_owned());
    }

    /// What a command runs as another user.
    pub(crate) fn privileged(&mut self, words: &[Argument]) {
        let shown: Vec<&str> = words.iter().map(|word| &*word.shown).collect();
        self.observer.fact(&Fact::Privileged(&shown.join(" ")));
    }

    /// Code runs that is data of another command.
    pub(crate) fn runs_data(&mut self, taint: Taint, name: &str) {
        if !taint.is_none() {
            self.flow(taint, &format!("run:{name}"), name);
        }
    }
}

/// Whether a command prints a number: a count of its input.
fn is_count(words: &[Argument]) -> bool {
    let [program, option] = words else { return false };
    program.text().and_then(known_name) == Some("wc") && matches!(option.text(), Some("-l" | "-c" | "-w" | "-m"))
}

/// Whether a program is the loader of programs, which runs another one.
fn is_loader(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.starts_with("ld-") && name.contains(".so")
}

/// The name of a program, unless it lies where anything may lie.
fn known_name(program: &str) -> Option<&str> {
    match program.rsplit_once('/') {
        None => Some(program),
        Some((directory, name)) => PROGRAM_DIRECTORIES.contains(&directory).then_some(name),
    }
}
