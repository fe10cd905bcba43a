//! What words come to, as far as that can be told without running anything: variables, `~`, patterns, and the few
//! substitutions that only say where something is.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Budget, Node, PathPart, Piece, Script, SimpleCommand, Word};

/// One word after expansion; `None` where nobody can know it beforehand.
pub(crate) type Field = Option<String>;

/// Variables that a shell sets by itself, to what only it knows.
const SHELLS_OWN: [&str; 18] = [
    "BASH",
    "BASHPID",
    "BASH_SOURCE",
    "BASH_VERSION",
    "EUID",
    "FUNCNAME",
    "HOSTNAME",
    "HOSTTYPE",
    "IFS",
    "LINENO",
    "MACHTYPE",
    "OLDPWD",
    "OSTYPE",
    "PPID",
    "RANDOM",
    "SECONDS",
    "SHLVL",
    "UID",
];
/// A pattern that matches more is not followed.
const MOST_MATCHES: usize = 256;

/// What it costs to keep a variable or a parameter, besides its text.
const UNITS_PER_VALUE: usize = 64;
/// What it costs to take a text apart into characters.
const UNITS_PER_CHAR: usize = 8;
/// What it costs to look at a name in a directory, and to ask the disk for a path.
const UNITS_PER_NAME: usize = 128;
const UNITS_PER_LOOKUP: usize = 512;

/// What a shell has in mind while it runs a script.
pub(crate) struct State<'a> {
    /// Where it is, if that can be told.
    pub(crate) cwd: Option<PathBuf>,
    /// Variables that the script set; `None` for those whose value cannot be told.
    set: HashMap<String, Field>,
    /// Variables that the script hands to what it runs.
    exported: HashSet<String>,
    /// What the script was given, if that can be told.
    pub(crate) parameters: Option<Vec<Field>>,
    /// `$0`.
    pub(crate) script: Field,
    /// `$BASH_SOURCE`: the file that is being read.
    pub(crate) reading: Field,
    /// Whether code that was not read has run in this shell: it may have set variables and defined functions.
    pub(crate) foreign: bool,
    environment: &'a dyn Fn(&str) -> Option<OsString>,
    /// Pays for everything that is made of this state, copies of it included.
    pub(crate) budget: Budget,
}

/// A variable as it was.
pub(crate) struct Before {
    name: String,
    value: Option<Field>,
}

impl<'a> State<'a> {
    pub(crate) fn new(cwd: &Path, environment: &'a dyn Fn(&str) -> Option<OsString>, budget: Budget) -> Self {
        State {
            cwd: Some(cwd.to_owned()),
            set: HashMap::new(),
            exported: HashSet::new(),
            parameters: None,
            script: None,
            reading: None,
            foreign: false,
            environment,
            budget,
        }
    }

    /// What a copy of it costs.
    fn units(&self) -> usize {
        let value = |value: &Field| UNITS_PER_VALUE + value.as_ref().map_or(0, String::len);
        let set = self.set.iter().map(|(name, one)| name.len() + value(one));
        let path = self.cwd.as_ref().map_or(0, |cwd| cwd.as_os_str().len());
        let set = set.chain(self.parameters.iter().flatten().map(value)).sum::<usize>();
        UNITS_PER_VALUE * (1 + self.exported.len()) + path + set
    }

    /// Sets a variable; gives what is needed to take that back.
    pub(crate) fn set(&mut self, name: &str, value: Field) -> Before {
        Before { name: name.to_owned(), value: self.set.insert(name.to_owned(), value) }
    }

    /// Hands a variable to what runs from now on.
    pub(crate) fn export(&mut self, name: &str) {
        self.exported.insert(name.to_owned());
    }

    /// Takes a setting back.
    pub(crate) fn restore(&mut self, before: Before) {
        match before.value {
            Some(value) => self.set.insert(before.name, value),
            None => self.set.remove(&before.name),
        };
    }

    /// After code that was not read: what the script itself set may be something else now.
    pub(crate) fn forget(&mut self) {
        self.foreign = true;
        if !self.budget.spend(self.set.len()) {
            self.set.clear();
        }
        self.set.values_mut().for_each(|value| *value = None);
    }

    /// A variable's value: empty if it is not set, as in a shell.
    pub(crate) fn value(&self, name: &str) -> Field {
        if let Some(value) = self.set.get(name) {
            return value.clone();
        }
        match name {
            "PWD" => return self.cwd.as_ref()?.to_str().map(str::to_owned),
            "0" => return self.script.clone(),
            "BASH_SOURCE" => return self.reading.clone(),
            "@" | "*" => return Some(self.parameters.clone()?.into_iter().collect::<Option<Vec<_>>>()?.join(" ")),
            _ => {}
        }
        if let Ok(number) = name.parse::<usize>() {
            let at = number.checked_sub(1)?;
            return self.parameters.as_ref()?.get(at).cloned().unwrap_or(Some(String::new()));
        }
        match (self.environment)(name) {
            Some(value) => value.into_string().ok(),
            None if self.foreign || SHELLS_OWN.contains(&name) => None,
            None => Some(String::new()),
        }
    }

    /// After something that may or may not have run: only what is the same in both cases is known.
    pub(crate) fn or(&mut self, other: &State<'a>) {
        if !self.budget.spend(self.units() + other.units()) {
            return self.forget();
        }
        if self.cwd != other.cwd {
            self.cwd = None;
        }
        self.foreign |= other.foreign;
        if self.parameters != other.parameters {
            self.parameters = None;
        }
        let names: Vec<String> = self.set.keys().chain(other.set.keys()).cloned().collect();
        for name in names {
            let same = self.value(&name).filter(|value| other.value(&name).as_ref() == Some(value));
            self.set.insert(name, same);
        }
    }

    /// What a program started by this shell has in mind: variables that are not exported are the script's own.
    pub(crate) fn of_child(&self) -> State<'a> {
        if !self.budget.spend(self.units()) {
            return self.unknown();
        }
        let exported = |name: &str| self.exported.contains(name) || (self.environment)(name).is_some();
        let handed = |name: &String, value: &Field| value.clone().filter(|_| exported(name));
        let set = self.set.iter().map(|(name, value)| (name.clone(), handed(name, value))).collect();
        State {
            cwd: self.cwd.clone(),
            set,
            exported: self.exported.clone(),
            parameters: None,
            script: None,
            reading: None,
            foreign: false,
            environment: self.environment,
            budget: self.budget.clone(),
        }
    }

    /// A state of which nothing is known.
    fn unknown(&self) -> State<'a> {
        State {
            cwd: None,
            set: HashMap::new(),
            exported: HashSet::new(),
            parameters: None,
            script: None,
            reading: None,
            foreign: true,
            environment: self.environment,
            budget: self.budget.clone(),
        }
    }

    /// The path that a word stands for.
    pub(crate) fn path(&self, word: &str) -> Option<PathBuf> {
        if Path::new(word).is_absolute() { Some(PathBuf::from(word)) } else { Some(self.cwd.as_ref()?.join(word)) }
    }

    /// Goes to a directory, as `cd` with these arguments does.
    pub(crate) fn go(&mut self, args: &[Field]) {
        let physical = args.iter().any(|arg| arg.as_deref() == Some("-P"));
        let mut operands = args.iter().filter(|arg| !matches!(arg.as_deref(), Some("-P" | "-L" | "-e" | "--")));
        let target = match operands.next() {
            None => self.value("HOME").filter(|home| !home.is_empty()),
            Some(Some(target)) if target != "-" => Some(target.clone()),
            Some(_) => None,
        };
        let real = |path: PathBuf| path.canonicalize().unwrap_or_else(|_| normalized(&path));
        let path = target.and_then(|target| self.path(&target));
        self.cwd = path.map(|path| if physical { real(path) } else { normalized(&path) });
    }
}

impl Clone for State<'_> {
    /// A copy that is paid for. Without the means to, it knows nothing.
    fn clone(&self) -> Self {
        if !self.budget.spend(self.units()) {
            return self.unknown();
        }
        State {
            cwd: self.cwd.clone(),
            set: self.set.clone(),
            exported: self.exported.clone(),
            parameters: self.parameters.clone(),
            script: self.script.clone(),
            reading: self.reading.clone(),
            foreign: self.foreign,
            environment: self.environment,
            budget: self.budget.clone(),
        }
    }
}

/// The path without `.` and `..`, without looking at the disk.
pub fn normalized(path: &Path) -> PathBuf {
    use std::path::Component;
    path.components().fold(PathBuf::new(), |mut out, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
        out
    })
}

/// A word as one string, as in an assignment.
pub(crate) fn join(word: &Word, state: &State<'_>) -> Field {
    let mut text = String::new();
    for (at, piece) in word.pieces.iter().enumerate() {
        let before = text.len();
        match piece {
            Piece::Plain(plain) if at == 0 && plain.starts_with('~') => text.push_str(&tilde(plain, state)?),
            Piece::Plain(plain) | Piece::Quoted(plain) => text.push_str(plain),
            Piece::Variable { name, default, .. } => text.push_str(&variable(name, default.as_ref(), state)?),
            Piece::PathPart { name, part, .. } => text.push_str(path_part(&state.value(name)?, *part)),
            Piece::Output { script, .. } => text.push_str(&output(script, state)?),
            Piece::Other(_) => return None,
        }
        if !state.budget.spend(UNITS_PER_VALUE + text.len() - before) {
            return None;
        }
    }
    Some(text)
}

fn tilde(plain: &str, state: &State<'_>) -> Field {
    let rest = plain.strip_prefix('~')?;
    let home = state.value("HOME").filter(|home| !home.is_empty())?;
    (rest.is_empty() || rest.starts_with('/')).then(|| home + rest)
}

fn path_part(path: &str, part: PathPart) -> &str {
    match (path.rsplit_once('/'), part) {
        (None, _) => path,
        (Some((directory, _)), PathPart::Directory) => directory,
        (Some((_, name)), PathPart::Name) => name,
    }
}

fn variable(name: &str, default: Option<&Word>, state: &State<'_>) -> Field {
    let value = state.value(name)?;
    match default {
        Some(default) if value.is_empty() => join(default, state),
        _ => Some(value),
    }
}

/// A word as the fields that a program gets: none, one or several.
pub(crate) fn fields(word: &Word, state: &State<'_>) -> Vec<Field> {
    expand(word, state).unwrap_or_else(|| vec![None])
}

/// A character, and whether quotes protect it.
type Marked = (char, bool);

fn expand(word: &Word, state: &State<'_>) -> Option<Vec<Field>> {
    let mut done: Vec<Vec<Marked>> = Vec::new();
    let mut current: Option<Vec<Marked>> = None;
    for (at, piece) in word.pieces.iter().enumerate() {
        if let Piece::Variable { name, quoted: true, default: None } = piece
            && name == "@"
        {
            let parameters = state.parameters.clone()?.into_iter().collect::<Option<Vec<_>>>()?;
            for (at, parameter) in parameters.iter().enumerate() {
                if !state.budget.spend(UNITS_PER_VALUE + UNITS_PER_CHAR * parameter.len()) {
                    return None;
                }
                if at > 0 {
                    done.extend(current.take());
                }
                current.get_or_insert_default().extend(parameter.chars().map(|char| (char, true)));
            }
            continue;
        }
        let (text, quoted, splits) = match piece {
            Piece::Plain(plain) if at == 0 && plain.starts_with('~') => (tilde(plain, state)?, true, false),
            Piece::Plain(plain) => (plain.clone(), false, false),
            Piece::Quoted(text) => (text.clone(), true, false),
            Piece::Variable { name, default, quoted } => (variable(name, default.as_ref(), state)?, *quoted, !quoted),
            Piece::PathPart { name, part, quoted } => {
                (path_part(&state.value(name)?, *part).to_owned(), *quoted, !quoted)
            }
            Piece::Output { script, quoted } => (output(script, state)?, *quoted, !quoted),
            Piece::Other(_) => return None,
        };
        if !state.budget.spend(UNITS_PER_VALUE + UNITS_PER_CHAR * text.len()) {
            return None;
        }
        if !splits {
            current.get_or_insert_default().extend(text.chars().map(|char| (char, quoted)));
            continue;
        }
        for char in text.chars() {
            if matches!(char, ' ' | '\t' | '\n') {
                done.extend(current.take());
            } else {
                current.get_or_insert_default().push((char, false));
            }
        }
    }
    done.extend(current);
    let mut fields = Vec::new();
    for field in done {
        if has_braces(&field) {
            return None;
        }
        if is_pattern(&field) {
            fields.extend(glob(&field, state)?.into_iter().map(Some));
        } else {
            fields.push(Some(field.iter().map(|(char, _)| char).collect()));
        }
    }
    Some(fields)
}

/// `{a,b}` and `{1..3}`, which not every shell expands.
fn has_braces(field: &[Marked]) -> bool {
    let plain: String = field.iter().map(|(char, quoted)| if *quoted { 'q' } else { *char }).collect();
    let rest = plain.split_once('{').map_or("", |(_, rest)| rest);
    rest.contains('}') && (rest.contains(',') || rest.contains(".."))
}

/// Whether `*`, `?` or `[…]` stand in it without quotes.
fn is_pattern(field: &[Marked]) -> bool {
    let has = |wanted: char| field.contains(&(wanted, false));
    has('*') || has('?') || (has('[') && has(']'))
}

/// The files that a pattern names; the pattern itself where there are none.
fn glob(pattern: &[Marked], state: &State<'_>) -> Option<Vec<String>> {
    let literal = || pattern.iter().map(|(char, _)| char).collect::<String>();
    // `[[:alpha:]]` and its kind are not followed.
    if pattern.windows(2).any(|pair| pair[0] == ('[', false) && matches!(pair[1].0, ':' | '=' | '.')) {
        return None;
    }
    let mut found = vec![String::new()];
    for (at, part) in pattern.split(|(char, _)| *char == '/').enumerate() {
        let fixed = !is_pattern(part);
        let mut next = Vec::new();
        for before in found {
            let prefix = if at == 0 { before } else { before + "/" };
            if fixed {
                next.push(prefix + &part.iter().map(|(char, _)| char).collect::<String>());
                continue;
            }
            if !state.budget.spend(UNITS_PER_LOOKUP + prefix.len()) {
                return None;
            }
            for name in names_in(&state.path(&prefix)?)? {
                if !state.budget.spend(UNITS_PER_NAME + prefix.len()) {
                    return None;
                }
                let hidden = name.starts_with('.') && part.first().is_none_or(|(char, _)| *char != '.');
                if !hidden && matches(part, &name.chars().collect::<Vec<_>>(), &state.budget)? {
                    next.push(format!("{prefix}{name}"));
                }
            }
            if next.len() > MOST_MATCHES {
                return None;
            }
        }
        found = next;
    }
    if !state.budget.spend(UNITS_PER_LOOKUP * found.len()) {
        return None;
    }
    found.retain(|path| state.path(path).is_some_and(|path| path.exists()));
    Some(if found.is_empty() { vec![literal()] } else { found })
}

/// What is in a directory; nothing if it is too much, or holds names that have no place in a text.
fn names_in(directory: &Path) -> Option<Vec<String>> {
    const MOST: usize = 4096;
    let Ok(entries) = std::fs::read_dir(directory) else { return Some(Vec::new()) };
    let mut names = entries
        .flatten()
        .take(MOST + 1)
        .map(|entry| entry.file_name().into_string().ok())
        .collect::<Option<Vec<String>>>()
        .filter(|names| names.len() <= MOST)?;
    names.sort_unstable();
    Some(names)
}

/// Whether a name fits a pattern of `*`, `?` and `[…]`; nothing if that takes too much work to tell.
fn matches(pattern: &[Marked], name: &[char], budget: &Budget) -> Option<bool> {
    let (mut at, mut in_name) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        let is_class = pattern.get(at) == Some(&('[', false));
        if !budget.spend(4 * if is_class { pattern.len() - at } else { 1 }) {
            return None;
        }
        let step = match pattern.get(at) {
            Some(('*', false)) => {
                star = Some((at + 1, in_name));
                at += 1;
                continue;
            }
            Some(('?', false)) => Some(1),
            Some(('[', false)) => class(&pattern[at..], name[in_name]),
            Some((char, _)) => (*char == name[in_name]).then_some(1),
            None => None,
        };
        match (step, star) {
            (Some(length), _) => {
                at += length;
                in_name += 1;
            }
            (None, Some((after, from))) => {
                star = Some((after, from + 1));
                (at, in_name) = (after, from + 1);
            }
            (None, None) => return Some(false),
        }
    }
    Some(pattern[at..].iter().all(|marked| *marked == ('*', false)))
}

/// How long the class at the pattern's start is, if it holds the character. An open one is a bracket like any other.
fn class(pattern: &[Marked], char: char) -> Option<usize> {
    let inside: Vec<char> = pattern[1..].iter().map(|(char, _)| *char).collect();
    let negated = matches!(inside.first(), Some('!' | '^'));
    let members = &inside[usize::from(negated)..];
    let Some(end) = members.iter().skip(1).position(|char| *char == ']').map(|at| at + 1) else {
        return (char == '[').then_some(1);
    };
    let members = &members[..end];
    let mut holds = false;
    let mut at = 0;
    while at < members.len() {
        if members.get(at + 1) == Some(&'-') && at + 2 < members.len() {
            holds |= (members[at]..=members[at + 2]).contains(&char);
            at += 3;
        } else {
            holds |= members[at] == char;
            at += 1;
        }
    }
    (holds != negated).then_some(2 + usize::from(negated) + end)
}

/// What a substitution prints, for those that only say where something is: `$(pwd)`, `$(cd x && pwd)`,
/// `$(dirname y)`, `$(git rev-parse --show-toplevel)`.
fn output(script: &Script, state: &State<'_>) -> Field {
    let mut commands: Vec<&SimpleCommand> = Vec::new();
    for node in &script.nodes {
        let parts = if let Node::And(parts) | Node::Or(parts) = node { parts } else { std::slice::from_ref(node) };
        for part in parts {
            let Node::Simple(command) = part else { return None };
            commands.push(command);
        }
    }
    let mut state = state.clone();
    for (at, command) in commands.iter().enumerate() {
        let words: Vec<Field> = command.words.iter().flat_map(|word| fields(word, &state)).collect();
        let words: Vec<&str> = words.iter().map(|word| word.as_deref()).collect::<Option<_>>()?;
        let is_last = at + 1 == commands.len();
        match words.as_slice() {
            ["cd", rest @ ..] => {
                let args: Vec<Field> = rest.iter().map(|arg| Some((*arg).to_owned())).collect();
                state.go(&args);
            }
            ["pwd", ..] if is_last => return state.cwd?.to_str().map(str::to_owned),
            ["dirname", path] | ["dirname", "--", path] if is_last => return Some(directory_of(path)),
            ["basename", path] | ["basename", "--", path] if is_last => {
                return Path::new(path).file_name()?.to_str().map(str::to_owned);
            }
            ["echo", text] | ["echo", "-n", text] if is_last => return Some((*text).to_owned()),
            ["printf", text] if is_last && !text.contains(['%', '\\']) => return Some((*text).to_owned()),
            ["printf", "%s", text] if is_last => return Some((*text).to_owned()),
            ["realpath", path] | ["readlink", "-f", path] if is_last => {
                return std::fs::canonicalize(state.path(path)?).ok()?.to_str().map(str::to_owned);
            }
            // Outside of a repository it fails, and what follows `||` counts.
            ["git", "rev-parse", "--show-toplevel"] => {
                let top = state.cwd.as_ref()?.ancestors().find(|directory| directory.join(".git").exists());
                if let Some(top) = top {
                    return top.to_str().map(str::to_owned);
                }
            }
            _ => return None,
        }
    }
    None
}

fn directory_of(path: &str) -> String {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some(("", _)) => "/".to_owned(),
        Some((directory, _)) => directory.to_owned(),
        None => ".".to_owned(),
    }
}
