//! Programs with their own ways of running others, beyond a command line behind options (`wrap.rs`): text for a shell in an
//! argument, aliases, languages with a call for it. For whoever judges commands; a rough answer is one that says so.

use super::Field;

/// What a program runs besides itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inside {
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
pub(super) fn inside(program: &str, words: &[Field]) -> Vec<Inside> {
    let has = |test: &dyn Fn(&str) -> bool| words[1..].iter().any(|word| word.as_deref().is_none_or(test));
    let code = |is_code: bool| if is_code { vec![Inside::Code] } else { Vec::new() };
    match program {
        "find" | "gfind" | "fd" | "fdfind" => finds(words),
        "git" => of_git(words),
        "watch" => rest_as_text(words, &["-n", "--interval", "-q", "--equexit"], 0),
        "ssh" => of_ssh(words),
        "script" => option_as_text(words, &["-c", "--command"], false),
        "su" => option_as_text(words, &["-c", "--command", "--session-command"], true),
        "runuser" => option_as_text(words, &["-c", "--command", "--session-command"], false),
        "flock" => of_flock(words),
        "parallel" | "gparallel" | "sem" => {
            let at = past_options(words, &["-j", "--jobs", "-a", "--arg-file", "-I", "-n", "-N", "-S", "--delay"]);
            at.map(Inside::Command).into_iter().chain([Inside::Unsure]).collect()
        }
        "setarch" | "bwrap" | "proot" | "start-stop-daemon" => vec![Inside::Unsure],
        "awk" | "gawk" | "mawk" | "nawk" | "busybox-awk" => {
            code(has(&|word| word.contains("system") || word.contains('|') || word.contains("getline")))
        }
        "sed" | "gsed" => code(has(&runs_in_sed)),
        "tar" | "gtar" | "bsdtar" => {
            let marks = [
                "--checkpoint-action",
                "--to-command",
                "--use-compress-program",
                "--rsh-command",
                "--info-script",
                "-I",
            ];
            code(has(&|word| marks.iter().any(|mark| word.starts_with(mark))))
        }
        // What runs in a container may do so on what is mounted there.
        "docker" | "podman" | "nerdctl" | "kubectl" => {
            code(words[1..].iter().any(|word| matches!(word.as_deref(), Some("run" | "exec" | "create" | "debug"))))
        }
        "rsync" | "nc" | "ncat" | "zip" | "sort" => {
            let marks = ["-e", "-c", "-TT", "--rsh", "--exec", "--sh-exec", "--unzip-command", "--compress-program"];
            code(has(&|word| marks.iter().any(|mark| word.starts_with(mark))))
        }
        "vi" | "vim" | "nvim" | "ex" | "view" | "emacs" | "ed" | "less" | "man" => {
            code(words.len() > 1 && has(&|word| word.starts_with(['-', '+'])))
        }
        "tmux" | "screen" | "at" | "batch" | "crontab" | "expect" | "gdb" | "lldb" | "socat" | "osascript"
        | "tclsh" | "pwsh" | "powershell" | "deno" | "bun" | "sqlite3" | "psql" | "mysql" => code(words.len() > 1),
        _ => Vec::new(),
    }
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
            Some("-delete" | "-fprintf" | "-fprint" | "-fls") => found.push(Inside::Code),
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
        found.push(Inside::Code);
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
pub(super) const GIT_VALUES: [&str; 9] = [
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
                    None => found.push(Inside::Code),
                }
            }
            ("-c" | "--config-env", _) => found.push(Inside::Code),
            (word, _) if word.starts_with("--config-env=") || word.starts_with("--exec-path=") => {
                found.push(Inside::Code);
            }
            _ => {}
        }
        at += 1 + usize::from(GIT_VALUES.contains(&word));
    }
    let more = |word: &Field| {
        let marks = ["--upload-pack", "--receive-pack", "--exec", "--extcmd", "--open-files-in-pager", "-x"];
        word.as_deref().is_some_and(|word| marks.iter().any(|mark| word.starts_with(mark)))
    };
    let runs =
        |word: &Field| matches!(word.as_deref(), Some("bisect" | "filter-branch" | "submodule" | "config" | "rebase"));
    if words[at.min(words.len())..].iter().any(more) || words.get(at).is_some_and(runs) {
        found.push(Inside::Code);
    }
    found
}

/// `e`, `1e rm x` and `s/a/b/e`.
fn runs_in_sed(word: &str) -> bool {
    let flags = word.rsplit(['/', '|', ',', '#', '@']).next().unwrap_or_default();
    let substitutes =
        word.contains("s/") || word.contains("s|") || word.contains("s#") || word.contains("s,") || word.contains("s@");
    let by_flag =
        substitutes && flags.len() < 8 && flags.contains('e') && flags.chars().all(|char| char.is_ascii_alphanumeric());
    let command = |text: &str| {
        let text =
            text.trim_start().trim_start_matches(|char: char| char.is_ascii_digit() || matches!(char, '$' | ',' | '!'));
        text == "e" || text.starts_with("e ") || text.starts_with("e\t")
    };
    by_flag || word.split([';', '\n', '{', '}', '/']).any(command)
}
