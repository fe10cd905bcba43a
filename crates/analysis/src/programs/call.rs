//! One call of a program: its words, taken apart, and what its file says that it does with them.

use std::path::Path;
use std::rc::Rc;

use super::arguments::{self, Command, Parsed};
use super::aspects_of_operands;
use super::spec::{
    Access, Aspect, Body, Condition, Count, Depth, Effect, Operand, Program, RepositoryChange, Role, Verb,
};
use super::{code, credentials};
use crate::interpreter::{FlowSource, Interpreter, Io, Lookup};
use crate::observer::{Aspects, Fact};
use crate::state::State;
use crate::value::Argument;

pub(crate) struct Call<'c, 'a> {
    pub(crate) interpreter: &'c mut Interpreter<'a>,
    pub(crate) name: &'c str,
    pub(crate) program: &'c Program,
    pub(crate) body: &'c Body,
    pub(crate) parsed: Parsed<'c>,
    pub(crate) words: &'c [Argument],
    /// The shell's state, with the directory that the call runs in.
    pub(crate) state: State,
    pub(crate) io: &'c Io,
    /// The directory that the paths of effects start from, if that is another.
    pub(crate) top: Option<Rc<Path>>,
    /// Whether what it runs runs as another user.
    pub(crate) privileged: bool,
}

impl<'c, 'a> Call<'c, 'a> {
    /// Tells what a call does.
    pub(crate) fn run(
        interpreter: &'c mut Interpreter<'a>,
        program: &'c Program,
        name: &'c str,
        words: &'c [Argument],
        state: &State,
        io: &'c Io,
    ) {
        let args = &words[1..];
        if program.body.code.as_deref() == Some("git") {
            return code::git::run(interpreter, program, name, words, state, io);
        }
        let reason = code::settings::steering(interpreter, name, args, state.cwd.as_deref())
            .or_else(|| code::settings::home_steering(interpreter, program, name));
        if let Some(reason) = reason {
            interpreter.unsure_program(Aspects::ALL, reason);
        }
        if program.response_files {
            read_response_files(interpreter, name, args, state);
        }
        match arguments::find_command(program, name, args) {
            Command::None => {
                let parsed = arguments::parse(program, &[&program.body], name, args);
                let mut call = Call {
                    interpreter,
                    name,
                    program,
                    body: &program.body,
                    parsed,
                    words,
                    state: state.clone(),
                    io,
                    top: None,
                    privileged: false,
                };
                let body = &program.body;
                let says_nothing =
                    body.operands.is_none() && body.does.is_empty() && body.cases.is_empty() && body.code.is_none();
                if !program.commands.is_empty()
                    && !call.parsed.ends
                    && ((says_nothing && args.is_empty()) || !call.parsed.operands.is_empty())
                {
                    return call
                        .interpreter
                        .unsure_program(Aspects::ALL, format!("{name} without a command that is known"));
                }
                call.carry_out();
            }
            Command::Found { command, positions } => {
                let parsed = arguments::parse_command(program, command, name, args, &positions);
                let mut call = Call {
                    interpreter,
                    name,
                    program,
                    body: &command.body,
                    parsed,
                    words,
                    state: state.clone(),
                    io,
                    top: None,
                    privileged: false,
                };
                call.parsed.problems.extend(arguments::substituted_command(args, &positions));
                if command_goes_on(program, args, &positions) {
                    call.interpreter.unsure_program(
                        Aspects::ALL,
                        format!("options stand between the words of a command of {name}"),
                    );
                }
                call.carry_out();
            }
            Command::Unknown(reason) => {
                for effect in &program.body.does {
                    if let Effect::Service(_, _, Some(peer)) | Effect::Network(peer) = effect {
                        interpreter.contact(peer);
                    }
                }
                interpreter.unsure_program(Aspects::ALL, reason);
            }
        }
    }

    /// What the file says.
    pub(crate) fn carry_out(&mut self) {
        self.privileged |= self.body.does.contains(&Effect::Privileged);
        // Whether `--help` comes before or after what another option does is not known.
        let acts = |given: &arguments::Given<'_>| {
            !given.spec.ends && (!given.spec.is_inert() || given.is("--*") || given.is("-*"))
        };
        // Behind a word that is not known it may be the value of an option, or an operand.
        self.parsed.ends &= self.parsed.unclear.is_none() && !self.parsed.options.iter().any(acts);
        self.before_code();
        if self.parsed.ends {
            return;
        }
        match self.body.code.as_deref() {
            Some(name) => code::run(name, self),
            None => self.by_file(),
        }
    }

    /// What was not understood, and what the options do.
    pub(crate) fn before_code(&mut self) {
        for problem in std::mem::take(&mut self.parsed.problems) {
            self.interpreter.unsure_all(problem);
        }
        if self.parsed.ends {
            return;
        }
        if let Some(word) = self.parsed.unclear.take() {
            self.unsure_words(self.body.aspects_of_words(), &word);
        }
        if let Some(word) = self.shifted_word() {
            self.unsure_words(self.body.aspects_of_words(), &word);
        }
        if self.parsed.options.iter().any(|given| given.spec.file_value) {
            let names_file = |word: &Argument| {
                let text = word.text().unwrap_or(&word.prefix);
                let value = text.split_once('=').map_or(text, |(_, value)| value);
                [text, value]
                    .iter()
                    .any(|text| text.starts_with('@') || text.starts_with("file:") || text.starts_with("fileb:"))
            };
            if let Some(word) = self.words.iter().find(|word| names_file(word)) {
                self.interpreter.unsure_all(format!("{} may name a file", word.shown));
            }
        }
        self.options();
    }

    /// A word is one of an unknown number, so those behind it have unknown places.
    fn unsure_words(&mut self, aspects: Aspects, word: &str) {
        if aspects == Aspects::NONE {
            return;
        }
        let reason = format!("{word} is only known when it runs, and may be any word of {}", self.name);
        match self.program.runs_others() {
            true => self.interpreter.unsure(aspects, reason),
            false => self.interpreter.unsure_program(aspects, reason),
        }
    }

    /// An operand that stands for several words where their number decides what the call does.
    ///
    /// The roles of a program file are checked where they are given out.
    fn shifted_word(&self) -> Option<String> {
        let operands = &self.parsed.operands;
        let several = operands.iter().find(|word| word.many)?;
        let counts = self.body.cases.iter().flat_map(|case| &case.conditions).any(|condition| match condition {
            Condition::OperandsOver(number) | Condition::OperandsUpTo(number) => *number >= operands.len(),
            Condition::Mode(_) | Condition::NotMode(_) => false,
        });
        let is_several = |word: Option<&Argument>| word.is_some_and(|word| word.many);
        let shifts = match self.body.code.as_deref() {
            // `find` takes any number of paths, and looks itself at what may be none.
            None | Some("find") => false,
            // All but the last are sources.
            Some("copy") => is_several(operands.last()),
            Some("git-clone" | "patch") => true,
            // The first is a program, a pattern or a host.
            Some(_) => is_several(operands.first()),
        };
        (counts || shifts).then(|| several.shown.to_string())
    }

    /// What the options do, and what their values are.
    fn options(&mut self) {
        #[allow(clippy::type_complexity, reason = "values with their roles, and effects, of each option")]
        let given: Vec<(Vec<(Vec<Role>, Argument)>, Vec<Effect>)> = self
            .parsed
            .options
            .iter()
            .map(|given| {
                let values = given.spec.values.iter().cloned().zip(given.values.iter().cloned()).collect();
                (values, given.spec.does.clone())
            })
            .collect();
        let only_reads = |role: &Role| match role {
            Role::Text | Role::Digits | Role::Path(Access::Read, _) => true,
            Role::Named(name) => !name.ends_with("-write") && !name.ends_with("-delete"),
            _ => false,
        };
        let operands = self.body.operands.as_deref().unwrap_or_default();
        let reader = self.body.code.is_none() && operands.iter().flat_map(|operand| &operand.roles).all(only_reads);
        for (values, does) in given {
            for (roles, value) in values {
                if reader && roles.iter().any(changes_files) {
                    self.interpreter.exceeds();
                }
                self.roles(&roles, &value);
            }
            for effect in &does {
                match effect {
                    // An option that may run something: which commands run is not known.
                    Effect::Unsure(aspects, reason) => {
                        let aspects = if aspects.is_empty() { Aspects::ALL } else { Aspects::of(aspects) };
                        let reason = if reason.is_empty() { "an option that may do anything" } else { reason };
                        self.interpreter.unsure(aspects, format!("{}: {reason}", self.name));
                    }
                    effect => self.effect(effect),
                }
            }
        }
    }

    /// What the file says of operands and effects.
    pub(crate) fn by_file(&mut self) {
        let case = self.body.cases.iter().find(|case| self.parsed.holds(case));
        let operands = case.and_then(|case| case.operands.as_ref()).or(self.body.operands.as_ref());
        let default = case.and_then(|case| case.default.as_ref()).or(self.body.default.as_ref());
        let does = case.and_then(|case| case.does.as_ref()).unwrap_or(&self.body.does);
        does.iter().for_each(|effect| self.effect(effect));
        if self.privileged && self.parsed.operands.is_empty() {
            self.interpreter.privileged(&self.words[..1]);
        }
        let mut given = self.parsed.operands.clone();
        // What it does without the words that it asks for, its file does not say.
        if default.is_none() && operands.is_some_and(|operands| given.len() < asked_for(operands)) {
            let reason = format!("{} without the words that it asks for", self.name);
            return self.interpreter.unsure_program(Aspects::ALL, reason);
        }
        if let Some(default) = default
            && (given.is_empty() || operands.is_some_and(|operands| lacks_files(operands, given.len())))
        {
            given.push(Argument::known(default.as_str()));
        }
        match operands {
            Some(operands) => self.operands(operands, &given),
            None if given.is_empty() => {}
            None => {
                let reason = format!("what {} does with {} is not known", self.name, given[0].shown);
                self.interpreter.unsure_program(Aspects::ALL, reason);
            }
        }
    }

    /// Gives operands their roles: those behind the repeated one are the last words.
    fn operands(&mut self, roles: &[Operand], given: &[Argument]) {
        let repeated = roles.iter().position(|operand| matches!(operand.count, Count::Any | Count::Some));
        let behind = repeated.map_or(0, |at| roles.len() - at - 1);
        let mut left = given;
        for operand in roles {
            if operand.roles.iter().any(|role| matches!(role, Role::Command | Role::CommandWithInput)) {
                operand.roles.iter().for_each(|role| self.role(role, left));
                return;
            }
            let count = match operand.count {
                Count::Any | Count::Some => left.len().saturating_sub(behind),
                Count::One | Count::Optional => usize::from(!left.is_empty()),
            };
            let (now, rest) = left.split_at(count);
            let is_one = matches!(operand.count, Count::One | Count::Optional);
            if let Some(word) = now.iter().find(|word| is_one && word.many) {
                self.unsure_words(aspects_of_operands(roles), &word.shown);
            }
            now.iter().for_each(|word| self.roles(&operand.roles, word));
            left = rest;
        }
        if let Some(word) = left.first() {
            let reason = format!("what {} does with {} is not known", self.name, word.shown);
            self.interpreter.unsure_program(Aspects::ALL, reason);
        }
    }

    /// All that a word is; one that is a path or `host:path` is only one of both.
    fn roles(&mut self, roles: &[Role], word: &Argument) {
        let is_either = roles.contains(&Role::Remote) && roles.len() > 1;
        let is_remote = word.text().is_some_and(|text| code::network::host_of_copy(text).is_some());
        for role in roles {
            match role {
                Role::Remote if is_either && !is_remote && word.text().is_some() => {}
                Role::Path(..) if is_either && is_remote => {}
                role => self.role(role, std::slice::from_ref(word)),
            }
        }
    }

    /// What a word is to the program; a command is all words from there on.
    pub(crate) fn role(&mut self, role: &Role, words: &[Argument]) {
        let Some(word) = words.first() else { return };
        match role {
            Role::Text | Role::Digits => {}
            Role::Path(Access::Read, depth) if word.text() == Some("-") => self.read_dash(*depth),
            Role::Path(access, depth) => self.touch(*access, word, *depth),
            Role::Output if word.text() == Some("-") => {}
            Role::Output => self.touch(Access::Write, word, Depth::Itself),
            Role::Url => code::network::url(self, word),
            Role::Host => code::network::host(self, word),
            Role::Remote => code::network::remote(self, word, Access::Read),
            Role::Process => self.interpreter.tell(&Fact::Process(&word.shown)),
            Role::Shell => {
                if self.privileged {
                    self.interpreter.privileged(std::slice::from_ref(word));
                }
                code::shell::text(self, word);
            }
            Role::Command => self.command(words),
            Role::CommandWithInput => {
                let mut words = words.to_vec();
                let mut more = Argument::unknown("…");
                more.many = true;
                words.push(more);
                self.command(&words);
            }
            Role::Script => {
                self.touch(Access::Read, word, Depth::Itself);
                self.interpreter.note_run(&word.shown);
                self.interpreter.unsure_program(Aspects::ALL, format!("what {} does is not known", word.shown));
            }
            Role::Code if code::literal_code::only_prints(self.name, self.words) => {}
            Role::Code if self.body.code.as_deref() == Some("perl") && code::perl::is_filter(self) => {}
            Role::Code => {
                self.interpreter.runs_data(word.value.taint, self.name);
                self.interpreter.unsure_code(format!("what the code for {} does is not known", self.name));
            }
            Role::Unsure(reason) => self.unsure_because(reason),
            Role::Named(name) => code::named_role(name, self, word),
        }
    }

    fn unsure_because(&mut self, reason: &str) {
        let reason = if reason.is_empty() {
            format!("{} with an option that may do anything", self.name)
        } else {
            format!("{}: {reason}", self.name)
        };
        self.interpreter.unsure_all(reason);
    }

    /// Whether a word stands for the names of files that are found, of which only the beginning is known.
    pub(crate) fn is_found_name(&self, word: &Argument) -> bool {
        word.substituted && self.interpreter.tree_depth
    }

    /// Reads `-`: the program's input, or a file of this name where there is one.
    pub(crate) fn read_dash(&mut self, depth: Depth) {
        let disk = self.interpreter.environment.disk;
        let is_there = self.state.path("-").is_none_or(|path| disk.kind(&path).is_some());
        if is_there || self.interpreter.may_have_made("-") {
            self.touch(Access::Read, &Argument::known("-"), depth);
        }
    }

    pub(crate) fn touch(&mut self, access: Access, word: &Argument, depth: Depth) {
        self.interpreter.touch(access, word, depth, &self.state);
        if let Some(path) = word.text().and_then(|text| self.state.path(text)).filter(|_| self.follows(access, depth)) {
            self.follow_links(&path);
        }
    }

    /// Whether links in a tree that is read are followed.
    fn follows(&self, access: Access, depth: Depth) -> bool {
        (access, depth) == (Access::Read, Depth::Tree) && self.parsed.is_set("linked")
    }

    /// What links in a tree lead to is read too.
    pub(crate) fn follow_links(&mut self, directory: &Path) {
        if self.interpreter.may_hold_links(directory) {
            self.interpreter.unsure(Access::Read, format!("{} follows links in a tree", self.name));
        }
    }

    /// A command that the program runs.
    pub(crate) fn command(&mut self, words: &[Argument]) {
        if words.is_empty() {
            return;
        }
        if self.privileged {
            self.interpreter.privileged(words);
        }
        self.interpreter.run(words, Lookup::Programs, false, self.state.clone(), self.io);
    }

    pub(crate) fn effect(&mut self, effect: &Effect) {
        match effect {
            Effect::Path(access, depth, path) => match path.strip_prefix("~/") {
                Some(rest) => self.interpreter.touch_home(*access, rest, *depth),
                None => {
                    let mut state = self.state.clone();
                    state.cwd = self.top.clone().or(state.cwd);
                    self.interpreter.touch_text(*access, path, *depth, &state);
                    if let Some(path) = state.path(path).filter(|_| self.follows(*access, *depth)) {
                        self.follow_links(&path);
                    }
                }
            },
            Effect::Network(host) => self.interpreter.contact(host),
            Effect::Service(name, verb, peer) => {
                self.interpreter.tell(&Fact::Service { name, verb: *verb });
                if *verb == Verb::Read && credentials::are_named(self.words, &self.parsed.operands) {
                    self.interpreter.tell(&Fact::Service { name: credentials::SERVICE, verb: Verb::Read });
                }
                if let Some(peer) = peer {
                    self.interpreter.contact(peer);
                }
            }
            Effect::Repository(change, what) => {
                let what = match (what.is_empty(), self.parsed.operands.is_empty()) {
                    (false, false) => format!("{what} {}", shown(&self.parsed.operands)),
                    (false, true) => what.clone(),
                    (true, _) => String::new(),
                };
                if *change == RepositoryChange::Config {
                    self.interpreter.exceeds();
                }
                self.interpreter.tell(&Fact::Repository { change: *change, what: &what });
            }
            Effect::Process(what) => self.interpreter.tell(&Fact::Process(what)),
            Effect::Prints(source) => {
                let taint = match source {
                    super::spec::Source::ShellSetup => {
                        // Its words may be part of the code.
                        let is_plain =
                            |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
                        let words = &self.words[1..];
                        return self.interpreter.prints_setup =
                            words.iter().all(|word| word.text().is_some_and(is_plain));
                    }
                    super::spec::Source::Environment => self.interpreter.environment_printed(),
                    super::spec::Source::Clipboard => self.interpreter.source(FlowSource::Clipboard),
                };
                self.interpreter.read_taint = self.interpreter.read_taint.and(taint);
            }
            Effect::Privileged => self.privileged = true,
            Effect::Unsure(aspects, reason) => {
                let reason = if reason.is_empty() { "it may do anything" } else { reason };
                let reason = format!("{}: {reason}", self.name);
                match Aspects::of(aspects) {
                    Aspects::NONE => self.interpreter.unsure_program(Aspects::ALL, reason),
                    // It runs commands that are made of its words.
                    aspects if aspects.has(Aspect::Commands) => self.interpreter.unsure(aspects, reason),
                    aspects => self.interpreter.unsure_program(aspects, reason),
                }
            }
        }
    }
}

/// `@FILE` stands for the words in a file, if there is one.
fn read_response_files(interpreter: &mut Interpreter<'_>, name: &str, args: &[Argument], state: &State) {
    for word in args {
        let file = word.beginning().strip_prefix('@').filter(|file| !file.is_empty());
        if let Some(file) = file.map(str::to_owned) {
            interpreter.touch_text(Access::Read, &file, Depth::Itself, state);
            interpreter.unsure_all(format!("{name} takes words from {}", word.shown));
        }
    }
}

pub(crate) fn shown(words: &[Argument]) -> String {
    words.iter().map(|word| &*word.shown).collect::<Vec<_>>().join(" ")
}

/// Whether a word of this role is a file that changes.
fn changes_files(role: &Role) -> bool {
    match role {
        Role::Path(access, _) => *access != Access::Read,
        Role::Output => true,
        Role::Named(name) => name.ends_with("-write") || name.ends_with("-delete"),
        _ => false,
    }
}

/// How many words operands ask for.
fn asked_for(operands: &[Operand]) -> usize {
    operands.iter().filter(|operand| matches!(operand.count, Count::One | Count::Some)).count()
}

/// Whether the words are only enough for the texts that stand before the files: `grep -r PATTERN`.
fn lacks_files(operands: &[Operand], given: usize) -> bool {
    let texts =
        operands.iter().take_while(|operand| operand.roles == [Role::Text] && operand.count == Count::One).count();
    given == texts && operands.len() == texts + 1
}

/// Whether the words behind a command could make it a longer one, had no option stood between.
fn command_goes_on(program: &Program, args: &[Argument], positions: &[usize]) -> bool {
    let mut words: Vec<&str> = positions.iter().filter_map(|at| args.get(*at)?.text()).collect();
    let last = positions.last().copied().unwrap_or_default();
    let Some(next) = args.iter().skip(last + 1).find_map(|word| word.text().filter(|text| !text.starts_with('-')))
    else {
        return false;
    };
    let apart = args.get(last + 1).and_then(Argument::text) != Some(next);
    words.push(next);
    let fits = |pattern: &Vec<String>| {
        pattern.len() == words.len() && pattern.iter().zip(&words).all(|(known, word)| known == word)
    };
    apart && program.commands.iter().flat_map(|command| &command.patterns).any(fits)
}
