//! Programs that run other programs: `env A=b x`, `timeout 5 x`, `sudo x`, and the interpreters that run a script, a
//! module or code.

use super::Field;

/// What a command line runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrapped {
    /// The program at this place of the words, as it stands.
    Program,
    /// Another command line, which begins at this place of the words.
    Command {
        at: usize,
        /// Variables set for it.
        assignments: Vec<(String, String)>,
        /// The directory it runs in, if another.
        directory: Option<String>,
    },
    /// An interpreter and a script, at this place of the words.
    Script { at: usize, language: Language },
    /// An interpreter and a module.
    Module(String),
    /// A shell and a text, at this place of the words.
    ShellCode { at: usize },
    /// An interpreter and code that it is given, or that it reads from its input.
    Code(Language),
    /// Nobody can tell.
    Unsure,
}

/// What an interpreter reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Shell,
    Python,
    Node,
    Other,
}

struct Wrapper {
    name: &'static str,
    /// Options that take the next word as their value.
    values: &'static [&'static str],
    /// Words between the options and the command.
    operands: usize,
}

const fn wrapper(name: &'static str, values: &'static [&'static str], operands: usize) -> Wrapper {
    Wrapper { name, values, operands }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper("env", &["-u", "--unset", "-C", "--chdir", "-a", "--argv0"], 0),
    wrapper("exec", &["-a"], 0),
    wrapper("command", &[], 0),
    wrapper("builtin", &[], 0),
    wrapper("noglob", &[], 0),
    wrapper("nohup", &[], 0),
    wrapper("setsid", &[], 0),
    wrapper("time", &["-f", "-o", "--format", "--output"], 0),
    wrapper("timeout", &["-k", "--kill-after", "-s", "--signal"], 1),
    wrapper("gtimeout", &["-k", "--kill-after", "-s", "--signal"], 1),
    wrapper("nice", &["-n", "--adjustment"], 0),
    wrapper("ionice", &["-c", "-n", "--class", "--classdata"], 0),
    wrapper("chrt", &["-T", "-P", "-D", "--sched-runtime", "--sched-period", "--sched-deadline"], 1),
    wrapper("taskset", &[], 1),
    wrapper("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
    wrapper(
        "sudo",
        &[
            "-u",
            "-g",
            "-h",
            "-p",
            "-C",
            "-D",
            "-R",
            "-T",
            "-U",
            "-r",
            "-t",
            "--user",
            "--group",
            "--host",
            "--prompt",
            "--close-from",
            "--chdir",
            "--chroot",
            "--command-timeout",
            "--other-user",
            "--role",
            "--type",
        ],
        0,
    ),
    wrapper("doas", &["-u", "-C"], 0),
    wrapper("pkexec", &["--user"], 0),
    wrapper("runuser", &["-u", "-g", "-G", "--user", "--group", "--supp-group"], 0),
    wrapper(
        "xargs",
        &[
            "-n",
            "-I",
            "-P",
            "-L",
            "-s",
            "-d",
            "-E",
            "-a",
            "--max-args",
            "--max-procs",
            "--max-lines",
            "--max-chars",
            "--delimiter",
            "--arg-file",
        ],
        0,
    ),
    wrapper(
        "unshare",
        &["-S", "-G", "-R", "-w", "--setuid", "--setgid", "--root", "--wd", "--map-user", "--map-group"],
        0,
    ),
    wrapper("nsenter", &["-t", "-S", "-G", "-F", "--target", "--setuid", "--setgid"], 0),
    wrapper("chroot", &["--userspec", "--groups"], 1),
    wrapper(
        "strace",
        &["-o", "-e", "-p", "-E", "-u", "-s", "-a", "-b", "-I", "-O", "-P", "-S", "-X", "--output", "--trace"],
        0,
    ),
    wrapper("ltrace", &["-o", "-e", "-p", "-u", "-s", "-a", "-n", "-l", "-x"], 0),
    wrapper(
        "systemd-run",
        &["-p", "--property", "-u", "--unit", "-E", "--setenv", "-M", "-H", "--uid", "--gid", "--slice"],
        0,
    ),
    wrapper("setpriv", &["--reuid", "--regid", "--groups", "--inh-caps", "--ambient-caps", "--bounding-set"], 0),
    wrapper("linux32", &[], 0),
    wrapper("linux64", &[], 0),
    wrapper("fakeroot", &["-i", "-s", "-l"], 0),
    wrapper("firejail", &[], 0),
    wrapper("torsocks", &["-a", "-u", "-p", "-P"], 0),
    wrapper("proxychains", &["-f"], 0),
    wrapper("proxychains4", &["-f"], 0),
    wrapper("unbuffer", &[], 0),
    wrapper("rlwrap", &["-H", "-f", "-s"], 0),
    wrapper("valgrind", &[], 0),
    wrapper("catchsegv", &[], 0),
    wrapper("xvfb-run", &["-n", "-s", "-f", "-e", "-p", "-w"], 0),
    wrapper("dbus-run-session", &[], 0),
    wrapper("faketime", &["-f"], 1),
    wrapper("caffeinate", &["-t", "-w"], 0),
    wrapper("prlimit", &["-p", "--pid", "-o", "--output"], 0),
    wrapper("numactl", &["-i", "-N", "-C", "-m", "-p", "-P", "-w", "-S", "-f", "-T"], 0),
    wrapper("cgexec", &["-g"], 0),
    wrapper(
        "ld.so",
        &["--library-path", "--preload", "--argv0", "--audit", "--inhibit-rpath", "--glibc-hwcaps-mask"],
        0,
    ),
];

struct Interpreter {
    names: &'static [&'static str],
    language: Language,
    /// Options whose value is code; in a cluster (`-xc`) the last letter counts.
    code: &'static [&'static str],
    /// Other options that take the next word as their value.
    values: &'static [&'static str],
}

const INTERPRETERS: [Interpreter; 7] = [
    Interpreter {
        names: &["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"],
        language: Language::Shell,
        code: &["-c"],
        values: &["-o", "+o", "-O", "+O", "--rcfile", "--init-file"],
    },
    Interpreter { names: &["python", "pypy"], language: Language::Python, code: &["-c"], values: &["-W", "-X"] },
    Interpreter {
        names: &["node", "nodejs"],
        language: Language::Node,
        code: &["-e", "--eval", "-p", "--print"],
        values: &["-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"],
    },
    Interpreter { names: &["ruby"], language: Language::Other, code: &["-e"], values: &["-r", "-I", "-C", "-E"] },
    Interpreter { names: &["perl"], language: Language::Other, code: &["-e", "-E"], values: &["-I"] },
    Interpreter { names: &["php"], language: Language::Other, code: &["-r"], values: &["-d", "-c"] },
    Interpreter { names: &["lua", "Rscript"], language: Language::Other, code: &["-e"], values: &["-l"] },
];

/// A program's name without its directory and version: `/usr/bin/python3.12` is `python`.
fn base_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.')
}

fn interpreter(program: &str) -> Option<&'static Interpreter> {
    let name = base_name(program);
    INTERPRETERS.iter().find(|interpreter| interpreter.names.contains(&name))
}

fn wrapping(program: &str) -> Option<&'static Wrapper> {
    let name = program.rsplit('/').next().unwrap_or(program);
    // The loader of programs, under its many names: `ld-linux-x86-64.so.2`, `ld-musl-x86_64.so.1`.
    let name = if name.starts_with("ld-") && name.contains(".so") { "ld.so" } else { name };
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}

/// Looks at a command line whose first word is known.
pub(super) fn unwrap(program: &str, words: &[Field]) -> Wrapped {
    if let Some(wrapper) = wrapping(program) {
        return inner_command(wrapper, words);
    }
    interpreter(program).map_or(Wrapped::Program, |interpreter| interpreted(interpreter, words))
}

fn inner_command(wrapper: &Wrapper, words: &[Field]) -> Wrapped {
    let mut assignments = Vec::new();
    let mut directory = None;
    let mut operands = wrapper.operands;
    let mut options = true;
    let mut at = 1;
    while at < words.len() {
        let Some(word) = &words[at] else { return Wrapped::Unsure };
        at += 1;
        if options && word == "--" {
            options = false;
        } else if options && word.starts_with('-') && word.len() > 1 {
            match (wrapper.name, word.as_str()) {
                // It only says where the program is.
                ("command", "-v" | "-V") => return Wrapped::Program,
                // Its value is a command line in a string.
                ("env", text) if text.starts_with("-S") || text.starts_with("--split-string") => {
                    return Wrapped::Unsure;
                }
                ("env", "-C" | "--chdir") => {
                    let Some(Some(value)) = words.get(at) else { return Wrapped::Unsure };
                    directory = Some(value.clone());
                }
                ("env", text) if text.starts_with("--chdir=") => directory = Some(text["--chdir=".len()..].to_owned()),
                ("sudo" | "doas", "-D" | "-R" | "-s" | "-i") => return Wrapped::Unsure,
                _ => {}
            }
            at += usize::from(takes_next(wrapper, word));
        } else if matches!(wrapper.name, "env" | "sudo") && word.contains('=') {
            let (name, value) = word.split_once('=').unwrap_or_default();
            assignments.push((name.to_owned(), value.to_owned()));
        } else if operands > 0 {
            operands -= 1;
            options = false;
        } else {
            return Wrapped::Command { at: at - 1, assignments, directory };
        }
    }
    Wrapped::Program
}

/// Whether an option takes the next word: by itself, or as the last of a cluster (`-nu me`).
fn takes_next(wrapper: &Wrapper, word: &str) -> bool {
    if wrapper.values.contains(&word) {
        return true;
    }
    let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.starts_with('-')) else { return false };
    let mut letters = letters.chars();
    let taker = letters.find(|letter| wrapper.values.contains(&format!("-{letter}").as_str()));
    taker.is_some() && letters.next().is_none()
}

/// What `xargs` runs: it adds words of its own, or puts them where its sign stands.
pub(super) fn given_more(words: &[Field], at: usize) -> Vec<Field> {
    let signs: Vec<&str> = words[..at]
        .iter()
        .flatten()
        .zip(words[1..].iter().flatten())
        .filter_map(|(option, next)| match option.as_str() {
            "-I" | "-J" | "--replace" => Some(next.as_str()),
            option => option.strip_prefix("-I").filter(|sign| !sign.is_empty()),
        })
        .chain(["{}"])
        .collect();
    let has_sign = |word: &Field| word.as_ref().is_some_and(|word| signs.iter().any(|sign| word.contains(sign)));
    let inner = words[at..].iter().map(|word| if has_sign(word) { None } else { word.clone() });
    inner.chain([None]).collect()
}

fn interpreted(interpreter: &Interpreter, words: &[Field]) -> Wrapped {
    let language = interpreter.language;
    let mut at = 1;
    while at < words.len() {
        let Some(word) = words[at].as_deref() else { return Wrapped::Unsure };
        at += 1;
        if word == "--" {
            break;
        }
        let sign = word.starts_with('-') || (language == Language::Shell && word.starts_with('+'));
        if !sign || word == "-" {
            at -= 1;
            break;
        }
        let long = word.starts_with("--");
        if takes_code(interpreter, word) {
            return match language {
                Language::Shell => shell_code(words, at),
                _ => Wrapped::Code(language),
            };
        }
        if language == Language::Python && !long && word.ends_with('m') {
            return match words.get(at) {
                Some(Some(module)) => Wrapped::Module(module.clone()),
                _ => Wrapped::Unsure,
            };
        }
        if matches!(word, "--version" | "--help") {
            return Wrapped::Program;
        }
        if language == Language::Shell && !long && word.contains('s') {
            return Wrapped::Code(language);
        }
        at += usize::from(interpreter.values.contains(&word));
    }
    match words.get(at) {
        Some(Some(script)) if !is_input(script) => Wrapped::Script { at, language },
        Some(None) => Wrapped::Unsure,
        _ => Wrapped::Code(language),
    }
}

/// Whether a file is what somebody else writes while it is read: `-`, `/dev/stdin`, `/proc/self/fd/0`.
fn is_input(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let numbered = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    file == "-" || name == "stdin" || numbered || file.starts_with("/dev/") || file.starts_with("/proc/")
}

fn takes_code(interpreter: &Interpreter, word: &str) -> bool {
    let cluster = !word.starts_with("--") && word.len() > 2 && word[1..].bytes().all(|byte| byte.is_ascii_alphabetic());
    let last = word.chars().next_back().unwrap_or_default();
    interpreter.code.iter().any(|option| {
        *option == word
            || (option.starts_with("--") && word.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')))
            || (cluster && option.len() == 2 && option.ends_with(last))
    })
}

/// The text behind `-c`: other options may stand in between (`bash -c -e 'text'`).
fn shell_code(words: &[Field], mut at: usize) -> Wrapped {
    while let Some(Some(word)) = words.get(at) {
        if !(word.starts_with('-') && word.len() > 1) {
            return Wrapped::ShellCode { at };
        }
        at += 1;
    }
    Wrapped::Unsure
}
