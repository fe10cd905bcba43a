//! What processes did, from the output of `strace -f -y`.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use crate::fixture::Fixture;

const MAX_LINKS: usize = 40;

/// Programs that start only what their words say; others start helpers of their own.
const STARTERS: [&str; 15] = [
    "bash", "sh", "dash", "env", "xargs", "find", "nice", "nohup", "timeout", "setsid", "stdbuf", "ionice", "flock",
    "chroot", "taskset",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    Read,
    Write,
    MakeDirectory,
    Delete,
    Connect,
    /// A shell, or a program that runs what its words say, starts a program.
    Start,
}

/// Something that a process did.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) kind: EventKind,
    /// The file, with links followed; the address of a connection; the name of a program that starts.
    pub(crate) path: PathBuf,
    /// The program that did it.
    pub(crate) program: String,
    /// Whether the words of that program name the file.
    pub(crate) is_named: bool,
    /// The system call.
    pub(crate) call: String,
    pub(crate) pid: u32,
    /// Whether a file that was there was opened for writing, which need not change it.
    pub(crate) may_change: bool,
}

/// What a trace tells of files below the fixture's root, and of connections.
pub(crate) fn events(trace: &str, fixture: &Fixture) -> Vec<Event> {
    let calls = completed_calls(trace);
    let mut parents = HashMap::new();
    for (pid, call) in &calls {
        if is_fork(call)
            && let Some(child) = result(call).and_then(|result| result.parse::<u32>().ok())
        {
            parents.insert(child, *pid);
        }
    }
    let mut replay = Replay {
        root: &fixture.root,
        temporary: fixture.root.join("tmp"),
        links: fixture.links.clone(),
        directories: fixture.directories.clone(),
        present: fixture.files.union(&fixture.directories).chain(fixture.links.keys()).cloned().collect(),
        processes: HashMap::new(),
        created: HashMap::new(),
        aliases: HashMap::new(),
        started: false,
        events: Vec::new(),
    };
    for (pid, call) in calls {
        if !replay.processes.contains_key(&pid) {
            let parent = parents.get(&pid).and_then(|parent| replay.processes.get(parent)).cloned();
            let first = ProcessState {
                cwd: fixture.work(),
                program: "bash".to_owned(),
                words: String::new(),
                is_helper: false,
            };
            replay.processes.insert(pid, parent.unwrap_or(first));
        }
        replay.call(pid, &call, &parents);
    }
    without_replaced(replay.events)
}

/// Events without the removal of files that the same process then makes anew: those are changed.
fn without_replaced(events: Vec<Event>) -> Vec<Event> {
    let is_replaced = |at: usize, removed: &Event| {
        let makes =
            |event: &Event| event.kind == EventKind::Write && event.pid == removed.pid && event.path == removed.path;
        removed.kind == EventKind::Delete && events[at + 1..].iter().any(makes)
    };
    let kept = events.iter().enumerate().filter(|(at, event)| !is_replaced(*at, event)).map(|(_, event)| event.clone());
    kept.collect()
}

/// Whole calls in the order in which they ended, with the process.
fn completed_calls(trace: &str) -> Vec<(u32, String)> {
    let mut begun: HashMap<u32, String> = HashMap::new();
    let mut calls = Vec::new();
    for line in trace.lines() {
        let Some((pid, rest)) = line.split_once(' ') else { continue };
        let Ok(pid) = pid.parse() else { continue };
        let rest = rest.trim_start();
        if let Some(start) = rest.strip_suffix("<unfinished ...>") {
            begun.insert(pid, start.to_owned());
        } else if let Some(resumed) = rest.strip_prefix("<... ") {
            let end = resumed.split_once("resumed>").map_or("", |(_, end)| end);
            if let Some(start) = begun.remove(&pid) {
                calls.push((pid, start + end));
            }
        } else {
            calls.push((pid, rest.to_owned()));
        }
    }
    calls
}

fn name(call: &str) -> &str {
    call.split('(').next().unwrap_or_default()
}

fn is_fork(call: &str) -> bool {
    matches!(name(call), "clone" | "clone3" | "fork" | "vfork")
}

fn result(call: &str) -> Option<&str> {
    call.rsplit_once(") = ").or_else(|| call.rsplit_once(" = ")).map(|(_, result)| result.trim())
}

/// The arguments of a call as they are printed.
fn arguments(call: &str) -> Vec<String> {
    let Some(start) = call.find('(') else { return Vec::new() };
    let mut found = vec![String::new()];
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for char in call[start + 1..].chars() {
        let last = found.last_mut().expect("never empty");
        if quoted {
            quoted = escaped || char != '"';
            escaped = char == '\\' && !escaped;
            last.push(char);
            continue;
        }
        match char {
            '"' => quoted = true,
            '[' | '{' | '(' | '<' => depth += 1,
            ')' if depth == 0 => break,
            ']' | '}' | ')' | '>' => depth -= 1,
            ',' if depth == 0 => {
                found.push(String::new());
                continue;
            }
            _ => {}
        }
        if !(last.is_empty() && char == ' ') {
            last.push(char);
        }
    }
    found
}

/// The text of a quoted argument.
fn unquoted(argument: &str) -> Option<String> {
    // A call that was interrupted has a space before its end.
    let inner = argument.trim_end().strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::new();
    let mut chars = inner.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next()? {
                'n' => bytes.push(b'\n'),
                't' => bytes.push(b'\t'),
                digit @ '0'..='7' => {
                    let mut number = digit.to_digit(8)?;
                    for _ in 0..2 {
                        let Some(next) = chars.peek().and_then(|char| char.to_digit(8)) else { break };
                        number = number * 8 + next;
                        chars.next();
                    }
                    bytes.push(number as u8);
                }
                other => bytes.extend(other.encode_utf8(&mut [0; 4]).bytes()),
            },
            char => bytes.extend(char.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The path in `3</path>`.
fn descriptor_path(argument: &str) -> Option<PathBuf> {
    let (_, rest) = argument.split_once('<')?;
    let path = rest.split_once('>')?.0.trim_end_matches(" (deleted)");
    path.starts_with('/').then(|| unquoted(&format!("\"{path}\"")).map(PathBuf::from))?
}

#[derive(Clone)]
struct ProcessState {
    cwd: PathBuf,
    program: String,
    /// The program's words, as they are printed.
    words: String,
    /// Whether another program than a starter runs it, as a helper of its own.
    is_helper: bool,
}

struct Replay<'f> {
    root: &'f Path,
    temporary: PathBuf,
    links: HashMap<PathBuf, PathBuf>,
    directories: HashSet<PathBuf>,
    present: HashSet<PathBuf>,
    processes: HashMap<u32, ProcessState>,
    /// What was made by a process: if the same process removes it, it was a temporary file.
    created: HashMap<PathBuf, (u32, String)>,
    /// Names that are hard links to others.
    aliases: HashMap<PathBuf, PathBuf>,
    /// Whether the shell that runs the command has started.
    started: bool,
    events: Vec<Event>,
}

impl Replay<'_> {
    fn call(&mut self, pid: u32, call: &str, parents: &HashMap<u32, u32>) {
        let result = result(call).unwrap_or_default();
        let args = arguments(call);
        let arg = |at: usize| args.get(at).map(String::as_str).unwrap_or_default();
        if name(call) == "connect" || (name(call) == "sendto" && call.contains("AF_INET")) {
            return self.connect(pid, call);
        }
        if result.starts_with('-') || result.starts_with('?') {
            return;
        }
        match name(call) {
            "clone" | "clone3" | "fork" | "vfork" => {
                if let Some(child) = result.parse().ok().filter(|child| parents.contains_key(child))
                    && let Some(state) = self.processes.get(&pid).cloned()
                {
                    self.processes.entry(child).or_insert(state);
                }
            }
            "execve" => {
                let program = unquoted(arg(0)).unwrap_or_default();
                let is_helper = self
                    .processes
                    .get(&pid)
                    .is_some_and(|state| state.is_helper || !STARTERS.contains(&&*state.program));
                if self.started && !is_helper {
                    let name = program.rsplit('/').next().unwrap_or_default().to_owned();
                    self.add(EventKind::Start, pid, call, Path::new(&name));
                }
                self.started = true;
                if let Some(state) = self.processes.get_mut(&pid) {
                    state.is_helper = is_helper;
                    state.words = arg(1).to_owned();
                    state.program = program.rsplit('/').next().unwrap_or_default().to_owned();
                }
            }
            "chdir" => {
                let path = self.path(pid, None, arg(0), true);
                self.change_directory(pid, path);
            }
            "fchdir" => self.change_directory(pid, descriptor_path(arg(0))),
            "open" => self.open(pid, call, arg(1), result, self.path(pid, None, arg(0), true)),
            "creat" => self.open(pid, call, "O_WRONLY|O_CREAT|O_TRUNC", result, self.path(pid, None, arg(0), true)),
            "openat" | "openat2" => self.open(pid, call, arg(2), result, self.path(pid, Some(arg(0)), arg(1), true)),
            "unlink" | "rmdir" => self.remove(pid, call, self.path(pid, None, arg(0), false)),
            "unlinkat" => self.remove(pid, call, self.path(pid, Some(arg(0)), arg(1), false)),
            "mkdir" => self.make_directory(pid, call, self.path(pid, None, arg(0), false)),
            "mkdirat" => self.make_directory(pid, call, self.path(pid, Some(arg(0)), arg(1), false)),
            "mknod" => self.write(pid, call, self.path(pid, None, arg(0), false)),
            "mknodat" => self.write(pid, call, self.path(pid, Some(arg(0)), arg(1), false)),
            "symlink" => self.symlink(pid, call, arg(0), self.path(pid, None, arg(1), false)),
            "symlinkat" => self.symlink(pid, call, arg(0), self.path(pid, Some(arg(1)), arg(2), false)),
            "link" => {
                self.hard_link(pid, call, self.path(pid, None, arg(0), false), self.path(pid, None, arg(1), false))
            }
            "linkat" => {
                let follows = arg(4).contains("AT_SYMLINK_FOLLOW");
                let old = self.path(pid, Some(arg(0)), arg(1), follows);
                self.hard_link(pid, call, old, self.path(pid, Some(arg(2)), arg(3), false));
            }
            "rename" => {
                self.rename(pid, call, self.path(pid, None, arg(0), false), self.path(pid, None, arg(1), false))
            }
            "renameat" | "renameat2" => {
                let old = self.path(pid, Some(arg(0)), arg(1), false);
                self.rename(pid, call, old, self.path(pid, Some(arg(2)), arg(3), false));
            }
            "truncate" | "chmod" | "chown" | "utime" | "utimes" | "setxattr" | "removexattr" => {
                self.write(pid, call, self.path(pid, None, arg(0), true));
            }
            "lchown" | "lsetxattr" | "lremovexattr" => self.write(pid, call, self.path(pid, None, arg(0), false)),
            "ftruncate" | "fallocate" | "fchmod" | "fchown" | "fsetxattr" | "fremovexattr" => {
                self.write(pid, call, descriptor_path(arg(0)));
            }
            "fchmodat" | "fchmodat2" | "fchownat" | "utimensat" | "futimesat" => {
                let follows = !call.contains("AT_SYMLINK_NOFOLLOW");
                let itself = matches!(arg(1), "NULL" | "\"\"");
                let path = if itself { descriptor_path(arg(0)) } else { self.path(pid, Some(arg(0)), arg(1), follows) };
                self.write(pid, call, path);
            }
            _ => {}
        }
    }

    /// The path that an argument names, with links followed as the kernel does.
    fn path(&self, pid: u32, directory: Option<&str>, argument: &str, follows: bool) -> Option<PathBuf> {
        let text = unquoted(argument)?;
        let base = match directory {
            Some(directory) if !directory.starts_with("AT_FDCWD") => descriptor_path(directory)?,
            _ => self.processes.get(&pid)?.cwd.clone(),
        };
        Some(self.resolve(&base.join(&text), follows || text.ends_with('/')))
    }

    fn resolve(&self, path: &Path, follows: bool) -> PathBuf {
        let mut waiting: Vec<std::ffi::OsString> =
            path.components().rev().map(|part| part.as_os_str().to_owned()).collect();
        let mut resolved = PathBuf::from("/");
        let mut links = 0;
        while let Some(part) = waiting.pop() {
            match Path::new(&part).components().next() {
                Some(Component::RootDir) => resolved = PathBuf::from("/"),
                Some(Component::ParentDir) => {
                    resolved.pop();
                }
                Some(Component::Normal(name)) => {
                    resolved.push(name);
                    if (follows || !waiting.is_empty())
                        && links < MAX_LINKS
                        && let Some(target) = self.links.get(&resolved)
                    {
                        links += 1;
                        resolved.pop();
                        waiting.extend(target.components().rev().map(|part| part.as_os_str().to_owned()));
                    }
                }
                _ => {}
            }
        }
        resolved
    }

    fn change_directory(&mut self, pid: u32, path: Option<PathBuf>) {
        if let (Some(path), Some(state)) = (path, self.processes.get_mut(&pid)) {
            state.cwd = path;
        }
    }

    fn actor(&self, pid: u32) -> (u32, String) {
        (pid, self.processes.get(&pid).map(|state| state.program.clone()).unwrap_or_default())
    }

    fn add(&mut self, kind: EventKind, pid: u32, call: &str, path: &Path) {
        let is_path = !matches!(kind, EventKind::Connect | EventKind::Start);
        if is_path && (!path.starts_with(self.root) || path.starts_with(&self.temporary)) {
            return;
        }
        let program = self.actor(pid).1;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let is_named = self.processes.get(&pid).is_some_and(|state| state.words.contains(&name));
        self.events.push(Event {
            kind,
            path: path.to_owned(),
            program,
            is_named,
            call: call.to_owned(),
            pid,
            may_change: false,
        });
        // What happens to one name of a file happens to the other.
        if matches!(kind, EventKind::Read | EventKind::Write)
            && let Some(other) = self.aliases.get(path).cloned()
        {
            self.add(kind, pid, call, &other);
        }
    }

    fn appear(&mut self, pid: u32, path: &Path) {
        if self.present.insert(path.to_owned()) {
            self.created.insert(path.to_owned(), self.actor(pid));
        }
    }

    fn open(&mut self, pid: u32, call: &str, flags: &str, result: &str, named: Option<PathBuf>) {
        let Some(path) = descriptor_path(result).or_else(|| named.filter(|_| !result.contains('<'))) else { return };
        let has = |flag: &str| flags.contains(flag);
        if has("O_PATH") || has("O_DIRECTORY") || has("O_TMPFILE") || self.directories.contains(&path) {
            return;
        }
        if has("O_WRONLY") || has("O_RDWR") || has("O_TRUNC") || has("O_CREAT") {
            let may_change = self.present.contains(&path) && !has("O_TRUNC");
            let before = self.events.len();
            self.write(pid, call, Some(path));
            self.events[before..].iter_mut().for_each(|event| event.may_change = may_change);
        } else {
            self.add(EventKind::Read, pid, call, &path);
        }
    }

    fn write(&mut self, pid: u32, call: &str, path: Option<PathBuf>) {
        let Some(path) = path else { return };
        self.appear(pid, &path);
        self.add(EventKind::Write, pid, call, &path);
    }

    fn make_directory(&mut self, pid: u32, call: &str, path: Option<PathBuf>) {
        let Some(path) = path else { return };
        self.appear(pid, &path);
        self.directories.insert(path.clone());
        self.add(EventKind::MakeDirectory, pid, call, &path);
    }

    fn symlink(&mut self, pid: u32, call: &str, target: &str, path: Option<PathBuf>) {
        let (Some(target), Some(path)) = (unquoted(target), path) else { return };
        self.links.insert(path.clone(), PathBuf::from(target));
        self.write(pid, call, Some(path));
    }

    fn hard_link(&mut self, pid: u32, call: &str, old: Option<PathBuf>, new: Option<PathBuf>) {
        let (Some(old), Some(new)) = (old, new) else { return };
        if let Some(target) = self.links.get(&old).cloned() {
            self.links.insert(new.clone(), target);
        }
        self.appear(pid, &new);
        self.add(EventKind::Write, pid, call, &new);
        self.aliases.insert(new, old);
    }

    fn remove(&mut self, pid: u32, call: &str, path: Option<PathBuf>) {
        let Some(path) = path else { return };
        // A program that fails removes its output by name, even if the name is a link.
        let is_own_output = self.created.get(&self.resolve(&path, true)) == Some(&self.actor(pid));
        if !self.forget_temporary(pid, &path) && !is_own_output {
            self.add(EventKind::Delete, pid, call, &path);
        }
        self.vanish(&path);
    }

    fn rename(&mut self, pid: u32, call: &str, old: Option<PathBuf>, new: Option<PathBuf>) {
        let (Some(old), Some(new)) = (old, new) else { return };
        if !self.forget_temporary(pid, &old) {
            self.add(EventKind::Delete, pid, call, &old);
        }
        let (target, other) = (self.links.get(&old).cloned(), self.aliases.get(&old).cloned());
        let was_directory = self.directories.contains(&old);
        self.vanish(&old);
        self.links.remove(&new);
        self.links.extend(target.map(|target| (new.clone(), target)));
        self.aliases.extend(other.map(|other| (new.clone(), other)));
        if was_directory {
            self.directories.insert(new.clone());
        }
        self.appear(pid, &new);
        self.add(EventKind::Write, pid, call, &new);
    }

    fn vanish(&mut self, path: &Path) {
        self.present.remove(path);
        self.links.remove(path);
        self.directories.remove(path);
        self.aliases.remove(path);
        self.created.remove(path);
    }

    /// Whether a process removes what it made itself; that is then no event.
    fn forget_temporary(&mut self, pid: u32, path: &Path) -> bool {
        let temporary = self.created.get(path) == Some(&self.actor(pid));
        if temporary {
            self.events.retain(|event| !(event.path == path && event.pid == pid));
        }
        temporary
    }

    fn connect(&mut self, pid: u32, call: &str) {
        let inside = |from: &str| {
            call.split_once(from).and_then(|(_, rest)| rest.split_once('"')).map(|(address, _)| address.to_owned())
        };
        let address = inside("inet_addr(\"").or_else(|| inside("inet_pton(AF_INET6, \""));
        if let Some(address) = address {
            // glibc sorts addresses by connecting datagram sockets to port 0: nothing is sent.
            if !call.contains("htons(0)") {
                self.add(EventKind::Connect, pid, call, Path::new(&address));
            }
        }
    }
}

#[test]
fn a_call_that_was_interrupted_is_read_whole() {
    let trace = "7 rename(\"a\", \"b\" <unfinished ...>\n8 getpid() = 8\n7 <... rename resumed>)   = 0\n";
    let calls = completed_calls(trace);
    assert_eq!(calls.iter().map(|(pid, _)| *pid).collect::<Vec<_>>(), [8, 7]);
    let (_, call) = &calls[1];
    assert_eq!(result(call), Some("0"));
    assert_eq!(arguments(call).iter().filter_map(|text| unquoted(text)).collect::<Vec<_>>(), ["a", "b"]);
}
