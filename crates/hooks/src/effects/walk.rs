//! The walk through a command line as a shell would run it: which programs with which words, in which directory, and what
//! its redirections touch. What each program does with its words is `programs.rs`. It runs nothing.

mod signs;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::{Aspect, Command, Depth, Finder, programs};
use crate::shell::{
    self, Field, Inside, Language, Node, Piece, RedirectionKind, SimpleCommand, State, Word, Wrapped, commands_in,
};
use signs::{exports_oddly, input, is_harmless, known_name, leaves, moves, sets_by_default, sets_in_other_ways};

/// How many commands are looked at, and how deep they may run each other.
const MOST_COMMANDS: usize = 2048;
const DEEPEST: usize = 24;
/// What it costs to look at a node, a word or a link.
const UNITS_PER_NODE: usize = 64;

/// Programs that run another one and do nothing else of note.
const WRAPPERS: [&str; 21] = [
    "env",
    "exec",
    "command",
    "builtin",
    "noglob",
    "nohup",
    "setsid",
    "time",
    "timeout",
    "gtimeout",
    "nice",
    "ionice",
    "chrt",
    "taskset",
    "stdbuf",
    "sudo",
    "doas",
    "xargs",
    "linux32",
    "linux64",
    "caffeinate",
];

/// Finds what a command line does when it is run in a directory.
pub(super) fn walk(finder: &mut Finder<'_>, text: &str, cwd: &Path, home: Option<&Path>) {
    let home = home.map(|home| home.as_os_str().to_owned());
    let environment = |name: &str| -> Option<OsString> { home.clone().filter(|_| name == "HOME") };
    let mut state = State::new(cwd, &environment, finder.budget.clone());
    // Other variables of the environment are nobody's to know here.
    state.foreign = true;
    let mut walk = Walk {
        finder,
        functions: HashSet::new(),
        links: Vec::new(),
        ran: HashSet::new(),
        sure: true,
        unproven: false,
        moves: false,
        odd_environment: false,
        depth: Depth::Itself,
        left: MOST_COMMANDS,
        deeper: DEEPEST,
    };
    walk.text(text, &mut state);
    walk.settle();
}

/// What a command reads from its input.
#[derive(Clone, Debug)]
pub(super) enum Input {
    /// Whatever there is.
    Any,
    /// A text; nothing if only the running shell knows it.
    Text(Field),
}

pub(super) struct Walk<'f, 'p> {
    pub(super) finder: &'f mut Finder<'p>,
    /// Functions that are surely there once they have been met.
    pub(super) functions: HashSet<String>,
    /// Links that it makes: nobody knows yet what is behind them.
    links: Vec<PathBuf>,
    /// The names of the programs that it runs.
    ran: HashSet<String>,
    /// Whether what is looked at surely runs, in this shell.
    sure: bool,
    /// Whether the last command went to a directory that it may not have reached.
    pub(super) unproven: bool,
    /// Whether anything in the text goes to another directory.
    pub(super) moves: bool,
    /// Whether programs are started with variables that may say what they do.
    odd_environment: bool,
    /// How much of what is touched is touched.
    pub(super) depth: Depth,
    left: usize,
    deeper: usize,
}

impl<'f, 'p> Walk<'f, 'p> {
    pub(super) fn doubt(&mut self, aspect: Aspect) {
        self.finder.effects.doubt(aspect);
    }

    pub(super) fn doubt_all(&mut self) {
        self.finder.effects.doubt_all();
    }

    /// Whether something that was there when the disk was looked at may be gone, or the other way round.
    pub(super) fn has_changed_something(&self) -> bool {
        let effects = &self.finder.effects;
        let doubtful = effects.may_hold_more(Aspect::Writes) || effects.may_hold_more(Aspect::Deletes);
        doubtful || !effects.writes.is_empty() || !effects.deletes.is_empty()
    }

    /// What is made and then run under a name that is known was not what is known.
    fn settle(&mut self) {
        let is_run = |path: &Path| path.file_name().and_then(OsStr::to_str).is_some_and(|name| self.ran.contains(name));
        let writes = self.finder.effects.writes.iter().map(|one| one.path.as_path());
        if writes.chain(self.links.iter().map(PathBuf::as_path)).any(is_run) {
            self.doubt_all();
        }
    }

    pub(super) fn text(&mut self, text: &str, state: &mut State<'_>) {
        let script = shell::parse_within(text, &self.finder.budget);
        // A carriage return or an escape is nothing that a person sees the same way as a shell does.
        let odd = text.contains(|char: char| char.is_control() && !matches!(char, '\n' | '\t'));
        if !script.certain || odd || sets_by_default(text) {
            self.doubt_all();
        }
        self.moves |= moves(&script.nodes);
        self.deeper(|walk| walk.nodes(&script.nodes, state));
    }

    /// Guards against commands that nest without end.
    fn deeper(&mut self, go: impl FnOnce(&mut Self)) {
        if self.deeper == 0 || self.finder.budget.is_spent() {
            return self.doubt_all();
        }
        self.deeper -= 1;
        go(self);
        self.deeper += 1;
    }

    /// What may run, or runs in a shell of its own.
    pub(super) fn unsurely(&mut self, go: impl FnOnce(&mut Self)) {
        let sure = std::mem::replace(&mut self.sure, false);
        go(self);
        self.sure = sure;
    }

    fn nodes(&mut self, nodes: &[Node], state: &mut State<'_>) {
        let mut left = nodes;
        while let [head, rest @ ..] = left {
            let links = rest.iter().take_while(|node| matches!(node, Node::And(_) | Node::Or(_))).count();
            self.chain(head, &rest[..links], state);
            left = &rest[links..];
        }
    }

    /// `a && b || c`: what follows `&&` runs where all before it led to, what follows `||` where a failure left off.
    fn chain<'s>(&mut self, head: &Node, links: &[Node], state: &mut State<'s>) {
        let mut failed = self.step(head, state);
        for link in links {
            let mut rest: &[Node] = match link {
                Node::And(body) | Node::Or(body) => body,
                _ => &[],
            };
            if let (Node::Or(_), [first, others @ ..]) = (link, rest) {
                rest = others;
                let mut rescued = failed.clone();
                let mut again = None;
                self.unsurely(|walk| again = Some(walk.step(first, &mut rescued)));
                if leaves(first) {
                    failed = state.clone();
                } else {
                    state.or(&rescued);
                    again.iter().for_each(|again| failed.or(again));
                }
            }
            self.unsurely(|walk| rest.iter().for_each(|node| failed.or(&walk.step(node, state))));
        }
        state.or(&failed);
    }

    /// One part of a chain; gives the shell as it is if that fails.
    fn step<'s>(&mut self, node: &Node, state: &mut State<'s>) -> State<'s> {
        let before = state.clone();
        self.unproven = false;
        self.node(node, state);
        if std::mem::take(&mut self.unproven) { before } else { state.clone() }
    }

    fn node(&mut self, node: &Node, state: &mut State<'_>) {
        if !self.finder.budget.spend(UNITS_PER_NODE) {
            return;
        }
        match node {
            Node::Simple(command) => self.simple(command, state),
            Node::Group(body) => self.nodes(body, state),
            Node::Apart(body) => self.unsurely(|walk| walk.nodes(body, &mut state.clone())),
            Node::Pipeline(parts) => self.unsurely(|walk| {
                parts.iter().for_each(|part| walk.nodes(std::slice::from_ref(part), &mut state.clone()));
            }),
            Node::Maybe(body) | Node::And(body) | Node::Or(body) => {
                let before = state.clone();
                self.unsurely(|walk| walk.nodes(body, state));
                state.or(&before);
            }
            Node::Loop { variable, body } => self.unsurely(|walk| walk.repeat(variable.as_ref(), body, state)),
            Node::Function { name, body } => {
                if self.sure {
                    self.functions.insert(name.clone());
                }
                self.unsurely(|walk| walk.nodes(body, &mut walk.anywhere(state)));
            }
        }
    }

    /// The shell as it may be whenever something is run: nothing is known of its variables.
    pub(super) fn anywhere<'s>(&self, state: &State<'s>) -> State<'s> {
        let mut inside = state.clone();
        inside.forget();
        inside.parameters = None;
        inside.cwd.take_if(|_| self.moves);
        inside
    }

    fn repeat(&mut self, variable: Option<&(String, Vec<Word>)>, body: &[Node], state: &mut State<'_>) {
        let commands = commands_in(body).len();
        if !self.finder.budget.spend(UNITS_PER_NODE * commands) {
            return;
        }
        let before = state.clone();
        // What one round sets, the next one finds.
        shell::changes(body).names.iter().for_each(|name| drop(state.set(name, None)));
        if sets_in_other_ways(body) || !self.functions.is_empty() {
            state.forget();
        }
        state.cwd.take_if(|_| moves(body));
        match variable {
            None => self.nodes(body, state),
            Some((name, words)) => {
                let values: Vec<Field> = words.iter().flat_map(|word| self.fields(word, &before)).collect();
                words.iter().flat_map(Word::scripts).for_each(|script| self.inner_script(script, &before));
                for value in values {
                    if !self.finder.budget.spend(UNITS_PER_NODE) {
                        return;
                    }
                    state.set(name, value);
                    self.nodes(body, state);
                }
            }
        }
        state.or(&before);
    }

    fn inner_script(&mut self, script: &shell::Script, state: &State<'_>) {
        if !script.certain {
            self.doubt_all();
        }
        self.unsurely(|walk| walk.deeper(|walk| walk.nodes(&script.nodes, &mut state.clone())));
    }

    /// What a word comes to. A pattern names what is there now, which counts as long as nothing has been changed.
    fn fields(&self, word: &Word, state: &State<'_>) -> Vec<Field> {
        let is_pattern = || shell::join(word, state).is_none_or(|text| text.contains(['*', '?', '[']));
        if word.literal().is_none() && self.has_changed_something() && is_pattern() {
            return vec![None];
        }
        shell::fields(word, state)
    }

    fn simple(&mut self, command: &SimpleCommand, state: &mut State<'_>) {
        if self.left == 0 || self.finder.budget.is_spent() {
            return self.doubt_all();
        }
        self.left -= 1;
        command.all_words().flat_map(Word::scripts).for_each(|script| self.inner_script(script, state));
        for text in command.all_words().filter_map(shell::subscript) {
            self.unsurely(|walk| walk.deeper(|walk| walk.text(&shell::expanded(&text), &mut state.clone())));
        }
        command.redirections.iter().for_each(|one| self.redirect(one.kind, &one.target, state));
        // A test that the reader made of `[[ … ]]` and `case`: it runs nothing.
        if command.words.first().is_some_and(|word| word.pieces == [Piece::Quoted("[[".to_owned())]) {
            return;
        }
        let (words, shown) = self.words(command, state);
        let input = input(command, state);
        let values: Vec<_> =
            command.assignments.iter().map(|one| (&one.name, shell::join(&one.value, state))).collect();
        if values.iter().any(|(name, _)| shell::steers(name)) {
            self.doubt_all();
        }
        let odd = self.odd_environment;
        self.odd_environment |= !words.is_empty() && values.iter().any(|(name, _)| !is_harmless(name));
        let before: Vec<_> = values.into_iter().map(|(name, value)| state.set(name, value)).collect();
        if !words.is_empty() {
            self.deeper(|walk| walk.run(&words, &shown, input, state));
            before.into_iter().rev().for_each(|before| state.restore(before));
        }
        self.odd_environment = odd || exports_oddly(&words);
    }

    /// The words of a command, and how they stand there.
    fn words(&self, command: &SimpleCommand, state: &State<'_>) -> (Vec<Field>, Vec<String>) {
        let fields = command.words.iter().flat_map(|word| {
            let fields = self.fields(word, state);
            fields.into_iter().map(|field| {
                let shown = field.clone().unwrap_or_else(|| shell::shown(word));
                (field, shown)
            })
        });
        fields.unzip()
    }

    fn redirect(&mut self, kind: RedirectionKind, target: &Word, state: &State<'_>) {
        let aspect = match kind {
            RedirectionKind::Read => Aspect::Reads,
            RedirectionKind::Write => Aspect::Writes,
            RedirectionKind::Text => return,
        };
        let file = match self.fields(target, state).as_slice() {
            [only] => only.clone(),
            _ => None,
        };
        self.touch(aspect, &file, state);
    }

    /// Something happens to what a word names.
    pub(super) fn touch(&mut self, aspect: Aspect, word: &Field, state: &State<'_>) {
        self.touch_to(aspect, word, self.depth, state);
    }

    pub(super) fn touch_to(&mut self, aspect: Aspect, word: &Field, depth: Depth, state: &State<'_>) {
        let depth = if self.depth == Depth::All { Depth::All } else { depth };
        let Some(path) = word.as_ref().filter(|word| !word.is_empty()).and_then(|word| state.path(word)) else {
            return self.doubt(aspect);
        };
        if !self.finder.budget.spend(UNITS_PER_NODE * (1 + self.links.len())) {
            return;
        }
        let written = shell::normalized(&path);
        if self.links.iter().any(|link| written.starts_with(link)) {
            self.doubt(aspect);
        }
        // Links below a directory may lead anywhere.
        if self.depth == Depth::All && aspect == Aspect::Writes {
            self.doubt(aspect);
        }
        self.finder.touch(aspect, &path, depth);
    }

    /// A link is made: what it leads to can be written by another name from now on.
    pub(super) fn link(&mut self, link: PathBuf) {
        self.links.push(shell::normalized(&link));
    }

    pub(super) fn run(&mut self, words: &[Field], shown: &[String], input: Input, state: &mut State<'_>) {
        let units: usize = shown.iter().map(|word| UNITS_PER_NODE + 2 * word.len()).sum();
        if !self.finder.budget.spend(UNITS_PER_NODE + units) {
            return;
        }
        self.finder.effects.commands.push(Command { words: words.to_vec(), shown: shown.to_vec() });
        // What looks like an option is one of `time`, which some shells have no word of their own for.
        let is_program = |word: &&str| !word.starts_with('-') && !word.is_empty();
        let Some(program) = words.first().and_then(Option::as_deref).filter(is_program) else {
            return self.doubt_all();
        };
        let Some(name) = known_name(program) else { return self.doubt_all() };
        self.ran.insert(name.to_owned());
        if shell::sets(name, words) {
            self.doubt_all();
        }
        if !program.contains('/') && self.built_in(name, words, state) {
            return;
        }
        if self.odd_environment && !programs::touches_nothing(name) {
            self.doubt_all();
        }
        if matches!(name, "busybox" | "toybox") && words.len() > 1 {
            return self.deeper(|walk| walk.run(&words[1..], &shown[1..], input, state));
        }
        if !programs::knows_itself(name) {
            self.inside(name, words, shown, state);
        }
        self.unwrapped(name, words, shown, input, state);
    }

    /// A command that a program runs with words of its own.
    pub(super) fn nested_run(&mut self, words: &[Field], shown: &[String], state: &mut State<'_>) {
        self.deeper(|walk| walk.run(words, shown, Input::Any, state));
    }

    /// What a program runs by ways of its own.
    fn inside(&mut self, name: &str, words: &[Field], shown: &[String], state: &mut State<'_>) {
        for inside in shell::inside(name, words, shown) {
            self.deeper(|walk| match inside {
                Inside::Command(at) => walk.run(&words[at..], &shown[at..], Input::Any, &mut state.clone()),
                Inside::Words(words) => {
                    let shown: Vec<String> = words.iter().flatten().cloned().collect();
                    walk.run(&words, &shown, Input::Any, &mut state.clone());
                }
                Inside::Text(Some(text)) => walk.unsurely(|walk| walk.text(&text, &mut walk.anywhere(state))),
                Inside::Text(None) | Inside::Unsure | Inside::Code => walk.doubt_all(),
            });
        }
    }

    fn unwrapped(&mut self, name: &str, words: &[Field], shown: &[String], input: Input, state: &mut State<'_>) {
        match shell::unwrap(name, words) {
            Wrapped::Program => programs::judge(self, name, words, &input, state),
            Wrapped::Command { at, assignments, directory } => {
                let odd = !WRAPPERS.contains(&name) || shell::has_odd_option(name, &words[1..at]);
                if odd || assignments.iter().any(|(name, _)| !is_harmless(name)) {
                    self.doubt_all();
                }
                if name == "time" && at > 1 {
                    self.doubt(Aspect::Writes);
                }
                if name == "xargs" {
                    let (words, shown) = (shell::given_more(words, at), [&shown[at..], &["…".to_owned()]].concat());
                    return self.deeper(|walk| walk.run(&words, &shown, Input::Any, &mut state.clone()));
                }
                if matches!(name, "command" | "builtin" | "exec") {
                    return self.deeper(|walk| walk.run(&words[at..], &shown[at..], input, state));
                }
                let mut inner = state.clone();
                directory.into_iter().for_each(|directory| inner.go(&[Some(directory)]));
                self.deeper(|walk| walk.run(&words[at..], &shown[at..], input, &mut inner));
            }
            Wrapped::ShellCode { at } => match words[at].as_deref() {
                Some(code) => {
                    let mut inner = state.of_child();
                    inner.foreign = true;
                    inner.script = words.get(at + 1).cloned().unwrap_or(None);
                    inner.parameters = words.get(at + 2..).map(<[Field]>::to_vec);
                    self.unsurely(|walk| walk.text(code, &mut inner));
                }
                None => self.doubt_all(),
            },
            Wrapped::Code(Language::Shell) => match input {
                Input::Text(Some(text)) => {
                    let mut inner = state.of_child();
                    inner.foreign = true;
                    self.unsurely(|walk| walk.text(&text, &mut inner));
                }
                Input::Text(None) | Input::Any => self.doubt_all(),
            },
            Wrapped::Script { .. } | Wrapped::Module(_) | Wrapped::Code(_) | Wrapped::Unsure => self.doubt_all(),
        }
    }
}
