//! Programs with their own ways of running others, beyond a command line behind options (`wrap.rs`): text for a shell in an
//! argument, aliases, languages with a call for it. For whoever judges commands; a rough answer is one that says so.

use super::wrap::is_input;
use super::{Field, sed};

/// What a program runs besides itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    /// The command line that begins at this place of the words.
    Command(usize),
    /// Another command line.
    Words(Vec<Field>),
    /// These words, as text for a shell; nothing where only the running shell knows one of them.
    Text(Option<String>),
    /// Perhaps more, through a language of its own.
    Code,
    /// Nobody can tell.
    Unsure,
}

/// What a program runs, by its arguments.
pub(crate) fn inside(program: &str, words: &[Field], shown: &[String]) -> Vec<Inside> {
    let has = |test: &dyn Fn(&str) -> bool| words[1..].iter().any(|word| word.as_deref().is_none_or(test));
    let code = |is_code: bool| if is_code { vec![Inside::Code] } else { Vec::new() };
    let unsure = |is_unsure: bool| if is_unsure { vec![Inside::Unsure] } else { Vec::new() };
    // An expansion may come to options; a pattern only where its files could be called so.
    let may_be_option =
        |word: &str| word.contains(['$', '…']) || (word != "{}" && word.starts_with(['*', '?', '[', '{', '~', '-']));
    let has_option = |test: &dyn Fn(&str) -> bool| {
        let mut pairs = words.iter().zip(shown).skip(1);
        pairs.any(|(word, shown)| word.as_deref().map_or_else(|| may_be_option(shown), test))
    };
    let given = |options: &[&str]| unsure(has_option(&|word| options.iter().any(|option| is_given(word, option))));
    match program {
        "find" | "gfind" | "fd" | "fdfind" => {
            let mut found = finds(words);
            found.extend(unsure(has_option(&|_| false)));
            found
        }
        "git" => {
            let mut found = of_git(words);
            found.extend(unsure(takes_risky_options(words) && has_option(&|_| false)));
            found
        }
        "watch" => rest_as_text(words, &["-n", "--interval", "-q", "--equexit"], 0),
        "ssh" => of_ssh(words),
        "script" => option_as_text(words, &["-c", "--command"], false),
        "su" => option_as_text(words, &["-c", "--command", "--session-command"], true),
        "runuser" => option_as_text(words, &["-c", "--command", "--session-command"], false),
        "flock" => of_flock(words),
        "sg" => of_sg(words),
        "capsh" => of_capsh(words),
        "ip" => of_ip(words),
        "entr" => of_entr(words),
        "perf" => {
            let at = words.get(1..).and_then(|rest| past_options(rest, &["-e", "-o", "-r", "-C", "-F", "-c"]));
            at.map(|at| Inside::Command(at + 1)).into_iter().chain([Inside::Unsure]).collect()
        }
        "parallel" | "gparallel" | "sem" => {
            let at = past_options(words, &["-j", "--jobs", "-a", "--arg-file", "-I", "-n", "-N", "-S", "--delay"]);
            at.map(Inside::Command).into_iter().chain([Inside::Unsure]).collect()
        }
        "npx" => {
            let own = past_options(words, &["-p", "--package", "-c", "--call", "-w", "--workspace"]);
            option_as_text(&words[..own.unwrap_or(words.len())], &["-c", "--call"], false)
        }
        "npm" if words.iter().flatten().any(|word| matches!(word.as_str(), "exec" | "x")) => {
            let own = words.iter().position(|word| word.as_deref() == Some("--"));
            option_as_text(&words[..own.unwrap_or(words.len())], &["-c", "--call"], false)
        }
        "compgen" | "complete" => {
            let mut found = value_as_text(words, 'C', "--");
            found.extend(unsure(has(&|word| word.contains(['$', '`']))));
            found
        }
        // It is given more words than are written.
        "mapfile" | "readarray" => {
            let mut found = value_as_text(words, 'C', "--");
            found.extend((!found.is_empty()).then_some(Inside::Unsure));
            found
        }
        "split" | "gsplit" => value_as_text(words, '\0', "--filter"),
        "hash" => given(&["-p"]),
        "enable" => given(&["-f"]),
        "make" | "gmake" => unsure(has_option(&runs_in_make) || reads_makefile(words)),
        "bind" | "newgrp" | "run-parts" | "at" | "batch" => vec![Inside::Unsure],
        "setarch" | "bwrap" | "proot" | "start-stop-daemon" => vec![Inside::Unsure],
        "awk" | "gawk" | "mawk" | "nawk" | "busybox-awk" => {
            code(has(&|word| word.contains("system") || word.contains('|') || word.contains("getline")))
        }
        "sed" | "gsed" => unsure(sed::acts(words)),
        "tar" | "gtar" | "bsdtar" => {
            let long = ["--checkpoint-action", "--to-command", "--use-compress-program", "--rsh-command"];
            let more = ["--info-script", "--new-volume-script", "-I", "-F"];
            let bundle = words.get(1).and_then(|word| word.as_deref()).filter(|word| !word.starts_with('-'));
            let bundled = bundle.is_some_and(|word| word.contains(['I', 'F']));
            let mut found = given(&[&long[..], &more[..]].concat());
            found.extend(unsure(bundled));
            found
        }
        // What runs in a container may do so on what is mounted there.
        "docker" | "podman" | "nerdctl" | "kubectl" => {
            code(words[1..].iter().any(|word| matches!(word.as_deref(), Some("run" | "exec" | "create" | "debug"))))
        }
        "rsync" => given(&["-e", "--rsh", "--rsync-path"]),
        "nc" | "ncat" => given(&["-e", "-c", "--exec", "--sh-exec", "--lua-exec"]),
        "zip" => unsure(has(&|word| word.starts_with("-TT") || is_given(word, "--unzip-command"))),
        "sort" | "gsort" => given(&["-o", "--output", "--compress-program"]),
        "rg" => given(&["--pre", "--hostname-bin"]),
        "ag" | "ack" => given(&["--pager"]),
        "wget" => given(&["--use-askpass", "-e", "--execute", "--config"]),
        "ed" | "red" => vec![Inside::Unsure],
        "vi" | "vim" | "nvim" | "ex" | "view" | "emacs" | "less" | "man" => {
            unsure(words.len() > 1 && has(&|word| word.starts_with(['-', '+'])))
        }
        "tmux" | "screen" | "crontab" | "socat" => unsure(words.len() > 1),
        // Languages, also where their text comes from the input.
        "expect" | "tclsh" | "wish" | "bc" | "dc" | "gdb" | "lldb" | "osascript" | "pwsh" | "powershell"
        | "sqlite3" | "psql" | "mysql" => vec![Inside::Code],
        "deno" | "bun" => code(words.len() > 1),
        _ if program.starts_with("ld") && program.contains(".so") => {
            given(&["--preload", "--library-path", "--audit", "--glibc-hwcaps-prepend"])
        }
        _ => Vec::new(),
    }
}

/// Whether a word is this option: a long one may be shortened and hold its value, a short one may stand in a cluster.
fn is_given(word: &str, option: &str) -> bool {
    if option.starts_with("--") {
        let name = word.split('=').next().unwrap_or(word);
        return name.len() > 3 && option.starts_with(name);
    }
    let letter = option.trim_start_matches('-');
    word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
}

/// The values of an option that are text for a shell: `-C TEXT`, `-CTEXT`, `--filter TEXT`, `--filter=TEXT`.
fn value_as_text(words: &[Field], letter: char, long: &str) -> Vec<Inside> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let Some(word) = word.as_deref() else { continue };
        let attached = match word.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
            Some(letters) => letters.split_once(letter).map(|(_, value)| value).map(|value| (value, value.is_empty())),
            None if is_given(word, long) => Some(word.split_once('=').map_or(("", true), |(_, value)| (value, false))),
            None => None,
        };
        match attached {
            Some((value, false)) => found.push(Inside::Text(Some(value.to_owned()))),
            Some((_, true)) => found.extend(words.get(at + 1).map(|word| Inside::Text(word.clone()))),
            None => {}
        }
    }
    found
}

/// Variables that name programs, or are put into commands.
fn runs_in_make(word: &str) -> bool {
    let rules = word.starts_with("--ev") || word == "-E" || (word.starts_with("-E") && word.len() > 2);
    let steering = ["SHELL=", ".SHELLFLAGS", "MAKEFLAGS", "MAKEFILES", "GNUMAKEFLAGS"];
    let variable = !word.starts_with('-')
        && word.split_once('=').is_some_and(|(_, value)| {
            steering.iter().any(|name| word.starts_with(name))
                || value.contains([' ', '\t', '\n', ';', '$', '`', '|', '&', '(', '<', '>'])
        });
    rules || variable
}

/// Whether the rules come from the input: `-f -`, `--file=/dev/stdin`.
fn reads_makefile(words: &[Field]) -> bool {
    words.iter().enumerate().skip(1).any(|(at, word)| {
        let Some(word) = word.as_deref() else { return false };
        let next = || words.get(at + 1).is_none_or(|word| word.as_deref().is_none_or(is_input));
        if word.starts_with("--") {
            let named = is_given(word, "--file") || is_given(word, "--makefile");
            return named && word.split_once('=').map_or_else(next, |(_, file)| is_input(file));
        }
        let file = word.strip_prefix('-').and_then(|letters| letters.split_once('f')).map(|(_, file)| file);
        file.is_some_and(|file| if file.is_empty() { next() } else { is_input(file) })
    })
}

/// `sg group 'text'`, `sg - group -c 'text'`; without a text it reads one.
fn of_sg(words: &[Field]) -> Vec<Inside> {
    let is_sign = |word: &&Field| matches!(word.as_deref(), Some("-" | "-c" | "-l"));
    let operands: Vec<Field> = words[1..].iter().filter(|word| !is_sign(word)).cloned().collect();
    match operands.get(1..).unwrap_or_default() {
        [] => vec![Inside::Unsure],
        text => vec![joined(text)],
    }
}

/// `capsh -- -c 'text'`.
fn of_capsh(words: &[Field]) -> Vec<Inside> {
    let at = words.iter().position(|word| matches!(word.as_deref(), Some("--" | "==")));
    match at.map(|at| &words[at + 1..]) {
        Some([Some(option), text, ..]) if option == "-c" => vec![Inside::Text(text.clone())],
        _ => vec![Inside::Unsure],
    }
}

/// `ip netns exec NAME x`; every word may be shortened.
fn of_ip(words: &[Field]) -> Vec<Inside> {
    let is = |at: usize, names: &[&str]| {
        let word = words.get(at).and_then(|word| word.as_deref()).filter(|word| !word.is_empty());
        word.is_some_and(|word| names.iter().any(|name| name.starts_with(word)))
    };
    let runs = (2..words.len()).find(|at| is(*at, &["exec"]) && is(at - 1, &["netns", "vrf"]));
    let batch = words.iter().flatten().any(|word| word.starts_with("-b"));
    let command = runs.filter(|at| at + 2 < words.len()).map(|at| Inside::Command(at + 2));
    command.into_iter().chain(batch.then_some(Inside::Unsure)).collect()
}

/// `entr x`, `entr -s 'text'`.
fn of_entr(words: &[Field]) -> Vec<Inside> {
    let Some(at) = past_options(words, &[]) else { return vec![Inside::Unsure] };
    let shell = words[1..at].iter().flatten().any(|word| word.contains('s'));
    vec![if shell { Inside::Text(words[at].clone()) } else { Inside::Command(at) }]
}

/// The place of the first word that is no option.
fn past_options(words: &[Field], values: &[&str]) -> Option<usize> {
    let mut at = 1;
    while let Some(Some(word)) = words.get(at).filter(|word| word.as_deref().is_some_and(is_option)) {
        at += if word == "--" { return Some(at + 1).filter(|at| *at < words.len()) } else { 1 };
        at += usize::from(values.contains(&word.as_str()));
    }
    (at < words.len()).then_some(at)
}

pub(super) fn is_option(word: &str) -> bool {
    word.starts_with('-') && word.len() > 1
}

fn joined(words: &[Field]) -> Inside {
    Inside::Text(words.iter().cloned().collect::<Option<Vec<String>>>().map(|words| words.join(" ")))
}

fn rest_as_text(words: &[Field], values: &[&str], operands: usize) -> Vec<Inside> {
    let at = past_options(words, values).map(|at| at + operands).filter(|at| *at < words.len());
    at.map(|at| joined(&words[at..])).into_iter().collect()
}

/// `-c TEXT`, wherever it stands, also in a cluster (`-qc`). Without it, some read what to run from their input.
fn option_as_text(words: &[Field], names: &[&str], reads_input: bool) -> Vec<Inside> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let Some(word) = word.as_deref() else {
            found.push(Inside::Unsure);
            continue;
        };
        let cluster = word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
        let attached = names.iter().find_map(|name| word.strip_prefix(name)?.strip_prefix('='));
        if let Some(text) = attached {
            found.push(Inside::Text(Some(text.to_owned())));
        } else if names.contains(&word) || cluster {
            found.push(words.get(at + 1).map_or(Inside::Unsure, |word| Inside::Text(word.clone())));
        }
    }
    if found.is_empty() && reads_input {
        found.push(Inside::Unsure);
    }
    found
}

fn finds(words: &[Field]) -> Vec<Inside> {
    let runs = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        match word.as_deref() {
            Some(word) if runs.contains(&word) && at + 1 < words.len() => found.push(Inside::Command(at + 1)),
            // It does what others run a program for.
            Some("-delete" | "-fprintf" | "-fprint" | "-fprint0" | "-fls") => found.push(Inside::Unsure),
            _ => {}
        }
    }
    found
}

fn of_ssh(words: &[Field]) -> Vec<Inside> {
    const VALUES: [&str; 21] = [
        "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-p", "-Q", "-R", "-S",
        "-W", "-w", "-B",
    ];
    let mut found = rest_as_text(words, &VALUES, 1);
    let named = |word: &Field| word.as_deref().is_none_or(|word| word.to_ascii_lowercase().contains("command"));
    if words[1..].iter().any(named) {
        found.push(Inside::Unsure);
    }
    found
}

fn of_flock(words: &[Field]) -> Vec<Inside> {
    let values = ["-w", "--wait", "--timeout", "-E", "--conflict-exit-code"];
    let Some(file) = past_options(words, &values) else { return Vec::new() };
    match words.get(file + 1) {
        None => Vec::new(),
        Some(Some(word)) if matches!(word.as_str(), "-c" | "--command") => vec![joined(&words[file + 2..])],
        Some(_) => vec![Inside::Command(file + 1)],
    }
}

/// Options of git that come before its command and take the next word.
pub(crate) const GIT_VALUES: [&str; 9] = [
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--config-env",
    "--attr-source",
    "--list-cmds",
];

/// `git -c alias.x='!rm y' x`, and other settings that name programs.
fn of_git(words: &[Field]) -> Vec<Inside> {
    const HARMLESS: [&str; 7] =
        ["color.", "user.", "advice.", "core.quotepath=", "i18n.", "init.defaultbranch=", "core.autocrlf="];
    let mut found = Vec::new();
    let mut at = 1;
    while let Some(word) = words.get(at).and_then(|word| word.as_deref()).filter(|word| is_option(word)) {
        let value = words.get(at + 1).map(|value| value.as_deref());
        match (word, value) {
            ("-c", Some(Some(setting))) => {
                let lower = setting.to_ascii_lowercase();
                match setting.split_once('=').filter(|_| lower.starts_with("alias.")) {
                    Some((_, text)) => match text.strip_prefix('!') {
                        Some(shell) => found.push(Inside::Text(Some(shell.to_owned()))),
                        None => {
                            let alias = text.split_whitespace().map(|word| Some(word.to_owned()));
                            found.push(Inside::Words([Some("git".to_owned())].into_iter().chain(alias).collect()));
                        }
                    },
                    None if HARMLESS.iter().any(|key| lower.starts_with(key)) => {}
                    None => found.push(Inside::Unsure),
                }
            }
            ("-c" | "--config-env", _) => found.push(Inside::Unsure),
            (word, _) if word.starts_with("--config-env=") || word.starts_with("--exec-path=") => {
                found.push(Inside::Unsure);
            }
            _ => {}
        }
        at += 1 + usize::from(GIT_VALUES.contains(&word));
    }
    let rest = &words[at.min(words.len())..];
    let command = rest.first().and_then(|word| word.as_deref()).unwrap_or_default();
    if rest.iter().flatten().any(|word| names_program_or_file(command, word)) {
        found.push(Inside::Unsure);
    }
    // What is configured may run anything later.
    if matches!(command, "bisect" | "filter-branch" | "submodule" | "config" | "rebase") {
        found.push(Inside::Code);
    }
    found
}

/// Whether the command of a git is one whose options run programs or write files.
fn takes_risky_options(words: &[Field]) -> bool {
    const COMMANDS: [&str; 9] =
        ["grep", "log", "diff", "show", "archive", "format-patch", "clone", "difftool", "config"];
    words.iter().flatten().any(|word| COMMANDS.contains(&word.as_str()))
}

/// Whether an argument of a git command names a program to run or a file to write.
fn names_program_or_file(command: &str, word: &str) -> bool {
    const LONG: [&str; 8] = [
        "--upload-pack",
        "--receive-pack",
        "--exec",
        "--extcmd",
        "--open-files-in-pager",
        "--output",
        "--output-directory",
        "--template",
    ];
    const PROGRAM_SETTINGS: [&str; 14] = [
        "alias.",
        "pager",
        "editor",
        "command",
        "hook",
        "helper",
        "textconv",
        "driver",
        "filter.",
        "fsmonitor",
        "proxy",
        "include",
        "program",
        "tool.",
    ];
    let short = match command {
        "grep" => is_given(word, "-O"),
        "archive" | "format-patch" => is_given(word, "-o"),
        "rebase" | "difftool" => is_given(word, "-x"),
        "clone" | "fetch" | "pull" => is_given(word, "-u") && command == "clone" || is_given(word, "--config"),
        "bisect" => word == "run",
        "config" => {
            let word = word.to_ascii_lowercase();
            PROGRAM_SETTINGS.iter().any(|part| word.contains(part))
        }
        "submodule" => word == "foreach",
        "filter-branch" => true,
        _ => false,
    };
    short || word.starts_with("ext::") || LONG.iter().any(|option| is_given(word, option))
}
