//! `git`: its own options, the repository that it works on, and that repository's settings and hooks, which may run programs.

use std::path::{Path, PathBuf};

use super::network;
use crate::interpreter::{Interpreter, Io};
use crate::observer::{Aspects, Fact};
use crate::paths;
use crate::programs::arguments::{self, Command};
use crate::programs::call::Call;
use crate::programs::spec::{Access, Aspect, Depth, Program, Verb};
use crate::state::State;
use crate::value::Argument;

/// The bytes of a configuration that are read.
const MAX_CONFIG_BYTES: u64 = 256 * 1024;

/// Words in a configuration that may run a program or lead elsewhere.
const STEERING: [&str; 28] = [
    "::",
    "update=!",
    "promisor",
    "partialclone",
    "alias",
    "pager",
    "editor",
    "command",
    "hookspath",
    "helper",
    "textconv",
    "driver",
    "filter",
    "fsmonitor",
    "proxy",
    "include",
    "program",
    "external",
    "worktree=",
    "uploadpack",
    "receivepack",
    "askpass",
    "vcs",
    ".cmd",
    "cmd=",
    "insteadof",
    "templatedir",
    "attributesfile",
];

pub(crate) fn run<'c, 'a>(
    interpreter: &'c mut Interpreter<'a>,
    program: &'c Program,
    name: &'c str,
    words: &'c [Argument],
    state: &State,
    io: &'c Io,
) {
    let mut state = state.clone();
    let Some(at) = own_options(interpreter, program, words, &mut state) else { return };
    let args = &words[at..];
    let top = state.cwd.as_deref().and_then(|cwd| top_of_work_tree(interpreter, cwd));
    let (command, positions) = match arguments::find_command(program, name, args) {
        Command::Found { command, positions } => (command, positions),
        Command::None => return,
        Command::Unknown(reason) => return interpreter.unsure_all(reason),
    };
    if let Some(reason) = runs_programs(interpreter, state.cwd.as_deref(), top.as_deref()) {
        interpreter.unsure_program(Aspects::ALL, reason);
    }
    let rest: Vec<Argument> =
        args.iter().enumerate().filter(|(at, _)| !positions.contains(at)).map(|(_, word)| word.clone()).collect();
    let parsed = arguments::parse(program, &[&command.body], name, &rest);
    let mut parsed = parsed;
    parsed.problems.extend(arguments::substituted_command(args, &positions));
    if let Some(dashes) = parsed.dashes.filter(|dashes| *dashes < parsed.operands.len()) {
        // What stands before `--` is a revision.
        let revisions = ["checkout", "reset", "diff", "log", "show", "blame"];
        if args.get(positions[0]).and_then(Argument::text).is_some_and(|command| revisions.contains(&command)) {
            for revision in &mut parsed.operands[..dashes] {
                *revision = Argument { shown: revision.shown.clone(), ..Argument::known("") };
            }
        }
    }
    // Paths behind `--` whose contents it shows.
    let shows = args.get(positions[0]).and_then(Argument::text);
    let shows = shows.is_some_and(|command| matches!(command, "diff" | "grep" | "diff-files" | "diff-index"));
    let shown: Vec<Argument> = match parsed.dashes.filter(|_| shows) {
        Some(dashes) => parsed.operands.get(dashes..).unwrap_or_default().to_vec(),
        // Behind the pattern of `grep`, words that name no revision are paths.
        None if args.get(positions[0]).and_then(Argument::text) == Some("grep") => {
            parsed.operands.iter().skip(usize::from(!parsed.is_set("pattern"))).cloned().collect()
        }
        None => Vec::new(),
    };
    // `diff` reads two operands as files, and a revision is none.
    if !shown.is_empty() && args.get(positions[0]).and_then(Argument::text) == Some("diff") {
        parsed.operands.clone_from(&shown);
    }
    // Files that git itself chooses are those of the whole work tree.
    let top = top.map(Into::into);
    let mut call = Call {
        interpreter: &mut *interpreter,
        name,
        program,
        body: &command.body,
        parsed,
        words,
        state,
        io,
        top,
        privileged: false,
    };
    shown.iter().for_each(|path| pathspec(&mut call, path, Access::Read));
    call.carry_out();
    // What is added and committed comes out again where the repository is shown or sent.
    let fetches = args
        .iter()
        .find_map(Argument::text)
        .is_some_and(|word| matches!(word, "fetch" | "pull" | "clone" | "ls-remote"));
    interpreter.repository_taint = interpreter.repository_taint.and(interpreter.read_taint).and(io.stdin.taint);
    if !fetches {
        interpreter.read_taint = interpreter.read_taint.and(interpreter.repository_taint);
    }
}

/// The place of git's command; its own options say where it runs.
fn own_options(
    interpreter: &mut Interpreter<'_>,
    program: &Program,
    words: &[Argument],
    state: &mut State,
) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let Some(text) = word.text() else {
            interpreter.unsure_all(format!("{} is only known when it runs", word.shown));
            return None;
        };
        if !text.starts_with('-') {
            return Some(at);
        }
        let (name, attached) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let spec = program.body.options.iter().find(|spec| spec.names.iter().any(|known| known == name));
        match (name, spec) {
            (_, None) => {
                interpreter.unsure_all(format!("{name} is no known option of git"));
                return None;
            }
            (_, Some(spec)) if spec.ends => return None,
            ("-C", _) => {
                let path = words.get(at + 1).and_then(Argument::text).and_then(|text| state.path(text));
                state.cwd = path.map(|path| {
                    let (written, disk) = (paths::normalized(&path), interpreter.environment.disk);
                    let real = paths::physical(disk, &path);
                    if paths::physical(disk, &written) == real { written.into() } else { real.into() }
                });
                if state.cwd.is_none() {
                    interpreter.unsure_program(Aspects::ALL, "git's directory is only known when it runs");
                }
                at += 1;
            }
            ("-c", _) => {
                let setting = words.get(at + 1).and_then(Argument::text).unwrap_or("?").to_ascii_lowercase();
                if !is_harmless_setting(&setting) {
                    interpreter.unsure_all(format!("git -c {setting} may run a program"));
                }
                at += 1;
            }
            ("--git-dir" | "--work-tree" | "--namespace" | "--config-env", _) => {
                interpreter.unsure_all(format!("git {name} leads elsewhere"));
                at += usize::from(attached.is_none());
            }
            (_, Some(spec)) if !spec.does.is_empty() => interpreter.unsure_all(format!("git {name} may run a program")),
            (_, Some(spec)) => at += usize::from(attached.is_none() && !spec.values.is_empty() && !spec.attached),
        }
        at += 1;
    }
    None
}

/// Settings that only change how something looks, or who somebody is.
fn is_harmless_setting(setting: &str) -> bool {
    const NAMES: [&str; 16] = [
        "user.name",
        "user.email",
        "core.quotepath",
        "core.autocrlf",
        "core.eol",
        "core.safecrlf",
        "core.longpaths",
        "advice.",
        "color.",
        "column.",
        "log.date",
        "commit.gpgsign=false",
        "init.defaultbranch",
        "core.pager=cat",
        "safe.directory",
        "http.sslverify",
    ];
    if matches!(setting, "credential.helper=" | "core.askpass=" | "core.askpass=true" | "core.askpass=false") {
        return true;
    }
    NAMES.iter().any(|name| setting.starts_with(name))
}

/// The top of the repository that a directory is in.
fn repository(interpreter: &Interpreter<'_>, cwd: &Path) -> Option<PathBuf> {
    let disk = interpreter.environment.disk;
    cwd.ancestors().find(|directory| disk.kind(&directory.join(".git")).is_some()).map(Path::to_owned)
}

/// The top of the work tree: the directory may be reached by a link that leads into another repository.
fn top_of_work_tree(interpreter: &Interpreter<'_>, cwd: &Path) -> Option<PathBuf> {
    let disk = interpreter.environment.disk;
    let real = repository(interpreter, &paths::physical(disk, cwd))?;
    let written = repository(interpreter, cwd).filter(|written| paths::physical(disk, written) == real);
    Some(written.unwrap_or(real))
}

fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Why git may run a program in this repository, if it may.
fn runs_programs(interpreter: &mut Interpreter<'_>, cwd: Option<&Path>, top: Option<&Path>) -> Option<String> {
    let Some(cwd) = cwd else { return Some("git's repository is not known".to_owned()) };
    if interpreter.clones
        || interpreter.made_below(".git")
        || interpreter.made("HEAD")
        || interpreter.made("config")
        || [".gitattributes", "attributes", ".gitconfig", ".gitmodules"].iter().any(|name| interpreter.made(name))
        || interpreter
            .filled
            .iter()
            .any(|tree| cwd.starts_with(tree) || top.is_some_and(|top| overlap(&top.join(".git"), tree)))
    {
        return Some("the same command changes the repository's settings".to_owned());
    }
    let disk = interpreter.environment.disk;
    // A directory with these is a repository of its own, whose settings count.
    if cwd.ancestors().take_while(|directory| Some(*directory) != top).any(|directory| {
        disk.kind(&directory.join("HEAD")).is_some() && disk.kind(&directory.join("objects")).is_some()
    }) {
        return Some("a bare repository lies in the way".to_owned());
    }
    let top = top?;
    let mut git = top.join(".git");
    // That of a work tree or a submodule is elsewhere.
    if let Some(text) = disk.text(&git, MAX_CONFIG_BYTES) {
        git = top.join(text.trim().strip_prefix("gitdir:").unwrap_or_default().trim());
        if let Some(shared) = disk.text(&git.join("commondir"), MAX_CONFIG_BYTES) {
            git = git.join(shared.trim());
        }
    }
    for name in ["config", "config.worktree"] {
        let file = git.join(name);
        let text = match (disk.kind(&file), disk.text(&file, MAX_CONFIG_BYTES)) {
            (None, _) => continue,
            (Some(_), Some(text)) => text.to_ascii_lowercase().replace([' ', '\t', '"', '\\'], ""),
            (Some(_), None) => return Some("the repository's configuration can't be read".to_owned()),
        };
        if let Some(word) = STEERING.iter().find(|word| text.contains(**word)) {
            return Some(format!("the repository's configuration sets {word}"));
        }
    }
    let hooks = disk.names(&git.join("hooks"), 1024).unwrap_or_default();
    let hook = hooks.iter().find(|name| !name.ends_with(".sample"))?;
    Some(format!("the repository has the hook {hook}"))
}

/// `git clone`: without a directory it is named after the source.
pub(super) fn clone(call: &mut Call<'_, '_>) {
    call.by_file();
    if let [source] = call.parsed.operands.as_slice() {
        let name = source.text().and_then(directory_of_clone).map(str::to_owned);
        match name.filter(|_| !call.parsed.has("--bare") && !call.parsed.has("--mirror")) {
            Some(name) => call.touch(Access::Write, &Argument::known(name), Depth::Tree),
            None => call.touch(Access::Write, &Argument::known("."), Depth::Tree),
        }
    }
    // What is checked out may hold links, settings and hooks of its own.
    call.interpreter.clones = true;
}

/// The directory that git makes for a source, where it is the last name of a path.
fn directory_of_clone(source: &str) -> Option<&str> {
    let path = source.trim_end_matches('/');
    let path = path.strip_suffix("/.git").unwrap_or(path).trim_end_matches('/');
    // An address without a path is named after the host, less its user and port.
    let (_, path) = match path.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?,
        None => ("", path),
    };
    let name = path.rsplit(['/', ':']).next()?;
    let name = name.strip_suffix(".git").or_else(|| name.strip_suffix(".bundle")).unwrap_or(name);
    let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.' | '+');
    (!name.is_empty() && name.chars().all(is_plain) && !matches!(name, "." | "..")).then_some(name)
}

/// `git push`: a refspec with `+` or without a source changes what others have.
pub(super) fn push(call: &mut Call<'_, '_>) {
    call.by_file();
    let refspecs = call.parsed.operands.get(1..).unwrap_or_default();
    if refspecs.iter().any(|word| word.text().is_none_or(|text| text.starts_with(['+', ':']))) {
        call.interpreter.tell(&Fact::Service { name: "git-remote", verb: Verb::Delete });
    }
}

/// `REV:PATH` and `:PATH` show a file as it is in the repository, which is often as it is on the disk.
pub(super) fn revision(call: &mut Call<'_, '_>, word: &Argument) {
    let Some((_, path)) = word.text().and_then(|text| text.split_once(':')) else { return };
    // `:/text` looks for a message, `:0:path` is a stage.
    let path = path.trim_start_matches(|char: char| char.is_ascii_digit()).trim_start_matches(':');
    if path.is_empty() || path.starts_with('/') {
        return;
    }
    let path = match (path.starts_with("./") || path.starts_with("../"), &call.top) {
        (false, Some(top)) => top.join(path).to_string_lossy().into_owned(),
        _ => path.to_owned(),
    };
    call.touch(Access::Read, &Argument::known(path), Depth::Itself);
}

/// A revision, or a path of which git looks whether it has changed.
pub(super) fn revision_or_path(call: &mut Call<'_, '_>, word: &Argument) {
    let disk = call.interpreter.environment.disk;
    let is_path = word.text().is_none_or(|text| {
        let is_there = call.state.path(text).is_none_or(|path| disk.kind(&path).is_some());
        let name = text.trim_end_matches('/').rsplit('/').next().unwrap_or(text);
        let may_be_path = is_there || call.interpreter.may_have_made(name);
        !text.is_empty() && (may_be_path || text.starts_with(":(") || text.contains(['*', '?', '[']))
    });
    if is_path {
        pathspec(call, word, Access::Read);
    }
}

/// A path of git's: `:(…)` and patterns stand for more than one.
pub(super) fn pathspec(call: &mut Call<'_, '_>, word: &Argument, access: Access) {
    match word.text() {
        Some("") => {}
        Some(text) if text.starts_with(':') || text.contains(['*', '?', '[']) => {
            let top = Argument::known(".");
            call.touch(access, &top, Depth::Tree);
            call.interpreter.unsure(access, format!("{text} stands for several paths"));
        }
        _ => call.touch(access, word, Depth::Tree),
    }
}

/// A path that some commands, or some versions of them, count from the top of the work tree.
pub(super) fn counted_from_top(call: &mut Call<'_, '_>, word: &Argument, access: Access) {
    if access == Access::Read && word.text() == Some("-") {
        return call.read_dash(Depth::Itself);
    }
    call.touch(access, word, Depth::Itself);
    if let Some(top) = call.top.clone().filter(|top| call.state.cwd.as_ref() != Some(top)) {
        let here = call.state.cwd.replace(top);
        call.touch(access, word, Depth::Itself);
        call.state.cwd = here;
    }
}

/// A remote: its name, or an address.
pub(super) fn remote(call: &mut Call<'_, '_>, word: &Argument) {
    let Some(text) = word.text().map(str::to_owned) else {
        // It may name a bundle or a repository of this machine.
        let pushes = call.words.iter().any(|word| word.text() == Some("push"));
        let aspects = if pushes { Aspects::ALL } else { Aspects::of(&[Aspect::Network, Aspect::Reads]) };
        return call.interpreter.unsure_program(aspects, format!("{} is only known when it runs", word.shown));
    };
    if text.contains("::") {
        return call.interpreter.unsure_all(format!("{text} runs a program"));
    }
    let pushes = call.words.iter().any(|word| word.text() == Some("push"));
    let path = text.strip_prefix("file://").unwrap_or(&text).to_owned();
    let is_path = path != text || text.starts_with(['/', '.', '~']);
    let host = network::host_of_copy(&text).filter(|_| !is_path);
    if is_path || (host.is_none() && may_be_directory(call, &path)) {
        // The ending may be left out.
        for name in [path.clone(), format!("{path}.git"), format!("{path}.bundle")] {
            call.touch(Access::Read, &Argument::known(name.as_str()), Depth::Tree);
            if pushes {
                call.touch(Access::Write, &Argument::known(name), Depth::Tree);
            }
            if is_path {
                break;
            }
        }
        if pushes {
            call.interpreter.unsure_program(Aspects::ALL, "the hooks of another repository of this machine run");
        }
        if is_path {
            return;
        }
    }
    match host {
        Some(host) => call.interpreter.contact(&host),
        None if text.contains("://") => {
            call.interpreter.unsure(Aspect::Network, format!("the host of {text} is not clear"));
        }
        None => {
            call.interpreter.contact(&text);
            // A name that no remote has is a path.
            let disk = call.interpreter.environment.disk;
            let is_there = call.state.path(&text).is_some_and(|path| disk.kind(&path).is_some());
            if text.contains('/') || is_there {
                call.touch(Access::Read, word, Depth::Tree);
            }
        }
    }
}

/// Whether a word that may be the name of a remote names a repository of this machine.
fn may_be_directory(call: &Call<'_, '_>, text: &str) -> bool {
    let disk = call.interpreter.environment.disk;
    let names = [text.to_owned(), format!("{text}.git"), format!("{text}.bundle")];
    names
        .iter()
        .any(|name| call.state.path(name).is_none_or(|path| disk.kind(&path).is_some() || call.interpreter.made(name)))
}
