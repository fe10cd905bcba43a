//! THE table of what programs do with their words. A program that is not in it may do anything.
//!
//! An option that is not in a row is taken for a flag, so that what may be its value counts as an operand: rather too much
//! is told than too little. Only programs whose writing options are all known stand here.

use super::options::{Taken, take};
use super::walk::{Input, Walk};
use super::{Aspect, Depth, git, remote};
use crate::shell::{self, Field, State};

/// What a program does with its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// They are no files.
    Nothing,
    /// It reads them; without any, its input.
    Reads,
    /// It reads them, and everything in them; without any, where it is.
    Lists,
    /// The first one says what to look for, unless an option does; it reads the others.
    Searches,
    /// It reads the first one and writes the second one.
    Filters,
    /// It makes or changes them.
    Writes,
    /// The first one says how; it changes the others.
    Changes,
    /// It removes them.
    Deletes,
}

/// A row of the table.
struct Row {
    names: &'static [&'static str],
    does: Does,
    /// Options that take a value which is no file.
    values: &'static [&'static str],
    /// Options that take a file to read.
    reads: &'static [&'static str],
    /// Options that take a file to write.
    writes: &'static [&'static str],
    /// Options after which nobody can tell.
    odd: &'static [&'static str],
}

const fn row(names: &'static [&'static str], does: Does, values: &'static [&'static str]) -> Row {
    Row { names, does, values, reads: &[], writes: &[], odd: &[] }
}

const RECURSIVE: [&str; 3] = ["-r", "-R", "--recursive"];

const ROWS: &[Row] = &[
    row(
        &[
            "echo", "printf", "true", "false", ":", "pwd", "whoami", "id", "groups", "users", "who", "w", "uname",
            "arch", "nproc", "hostname", "uptime", "sleep", "seq", "yes", "basename", "dirname", "which", "whereis",
            "type", "printenv", "ps", "pgrep", "free", "tty", "test", "[", "expr", "tput", "clear", "cal", "getconf",
            "locale", "kill", "pkill", "killall", "wait", "jobs", "fg", "bg", "disown", "exit", "return", "break",
            "continue", "umask", "ulimit", "times", "dirs", "caller", "hash", "logout", "exec", "command", "builtin",
            "env", "tr", "factor", "lscpu", "lsblk", "sw_vers", "xargs", "compgen", "suspend", "time", "nohup",
            "getopts", "numfmt",
        ],
        Does::Nothing,
        &[],
    ),
    Row {
        reads: &["-f", "--file", "-r", "--reference"],
        odd: &["-s", "--set"],
        ..row(&["date"], Does::Nothing, &["-d", "--date"])
    },
    row(
        &[
            "cat",
            "tac",
            "nl",
            "rev",
            "od",
            "hexdump",
            "hd",
            "strings",
            "stat",
            "wc",
            "fold",
            "fmt",
            "expand",
            "unexpand",
            "paste",
            "comm",
            "join",
            "cksum",
            "md5sum",
            "sha1sum",
            "sha224sum",
            "sha256sum",
            "sha384sum",
            "sha512sum",
            "b2sum",
            "sum",
            "shasum",
            "md5",
            "cmp",
            "diff",
            "diff3",
            "colordiff",
            "readlink",
            "realpath",
            "zcat",
            "gzcat",
            "bzcat",
            "xzcat",
            "zstdcat",
            "base32",
            "df",
            "namei",
            "lsattr",
            "getfacl",
            "more",
            "column",
            "pr",
            "look",
            "tsort",
            "nm",
            "size",
        ],
        Does::Reads,
        &[
            "-w",
            "-c",
            "--width",
            "--bytes",
            "--format",
            "-D",
            "--printf",
            "-t",
            "-e",
            "-l",
            "-k",
            "--lines",
            "--max-count",
        ],
    ),
    row(&["head", "tail"], Does::Reads, &["-n", "-c", "--lines", "--bytes", "-s", "--sleep-interval", "--pid"]),
    row(
        &["cut"],
        Does::Reads,
        &["-d", "-f", "-c", "-b", "--delimiter", "--fields", "--characters", "--bytes", "--output-delimiter"],
    ),
    row(&["less"], Does::Reads, &[]),
    Row {
        odd: &["--pager", "--config-file", "--diff"],
        ..row(&["bat", "batcat"], Does::Reads, &["-l", "--language", "-r", "--line-range", "--style", "--theme"])
    },
    Row {
        reads: &["-i", "--input"],
        writes: &["-o", "--output"],
        ..row(&["base64"], Does::Reads, &["-w", "--wrap", "-b"])
    },
    Row {
        odd: &["-C", "--compile"],
        reads: &["-f", "--files-from", "-m", "--magic-file"],
        ..row(&["file"], Does::Reads, &["-F", "-P"])
    },
    row(
        &["ls", "dir", "vdir", "exa", "eza"],
        Does::Reads,
        &["-I", "-w", "-T", "--ignore", "--hide", "--color", "--sort", "--time", "--format"],
    ),
    row(&["du"], Does::Lists, &["-d", "--max-depth", "-B", "--block-size", "-t", "--threshold", "--exclude"]),
    Row {
        writes: &["-o"],
        odd: &["-R"],
        ..row(&["tree"], Does::Lists, &["-L", "-P", "-I", "-H", "-T", "--charset", "--filelimit", "--sort"])
    },
    Row {
        reads: &["-f", "--file", "--exclude-from"],
        ..row(
            &["grep", "egrep", "fgrep", "zgrep", "rgrep", "ggrep"],
            Does::Searches,
            &[
                "-e",
                "--regexp",
                "-A",
                "-B",
                "-C",
                "-m",
                "-d",
                "-D",
                "--include",
                "--exclude",
                "--exclude-dir",
                "--max-count",
                "--label",
                "--context",
            ],
        )
    },
    Row {
        reads: &["-f", "--file", "--ignore-file"],
        odd: &["--pre", "--hostname-bin", "-z", "--search-zip"],
        ..row(
            &["rg"],
            Does::Searches,
            &[
                "-e",
                "--regexp",
                "-A",
                "-B",
                "-C",
                "-m",
                "-g",
                "--glob",
                "--iglob",
                "-t",
                "--type",
                "-T",
                "--type-not",
                "-j",
                "-M",
                "-r",
                "--replace",
                "-E",
                "--encoding",
                "--max-depth",
                "-d",
                "--sort",
                "--color",
                "--type-add",
                "--max-count",
                "--context",
                "--threads",
            ],
        )
    },
    Row {
        reads: &["-f", "--from-file"],
        ..row(&["jq"], Does::Searches, &["--indent", "--arg", "--argjson", "--slurpfile", "--rawfile", "-L"])
    },
    Row {
        writes: &["-o", "--output"],
        odd: &["--compress-program"],
        reads: &["--files0-from"],
        ..row(
            &["sort", "gsort"],
            Does::Reads,
            &[
                "-k",
                "-t",
                "-S",
                "-T",
                "--key",
                "--field-separator",
                "--buffer-size",
                "--temporary-directory",
                "--parallel",
                "--batch-size",
            ],
        )
    },
    Row {
        writes: &["-o", "--output"],
        ..row(&["shuf"], Does::Reads, &["-n", "-i", "--head-count", "--input-range", "--random-source"])
    },
    Row { writes: &["-o", "--output"], ..row(&["iconv"], Does::Reads, &["-f", "-t", "--from-code", "--to-code"]) },
    row(&["uniq"], Does::Filters, &["-f", "-s", "-w", "--skip-fields", "--skip-chars", "--check-chars"]),
    row(&["xxd"], Does::Filters, &["-c", "-cols", "-g", "-l", "-s", "-o", "-n"]),
    row(&["touch"], Does::Writes, &["-d", "-t", "-r", "--date", "--reference", "--time"]),
    row(&["mkdir", "mkfifo"], Does::Writes, &["-m", "--mode", "-Z", "--context"]),
    row(&["tee", "sponge"], Does::Writes, &[]),
    row(&["truncate"], Does::Writes, &["-s", "-r", "--size", "--reference"]),
    row(&["chmod", "chown", "chgrp"], Does::Changes, &["--reference", "--from"]),
    row(&["rm", "unlink", "rmdir"], Does::Deletes, &[]),
];

/// Whether the table has it, or this file or one beside it.
pub(super) fn knows(name: &str) -> bool {
    ROWS.iter().any(|row| row.names.contains(&name)) || special(name).is_some()
}

/// Whether its words are no files to it.
pub(super) fn touches_nothing(name: &str) -> bool {
    ROWS[0].names.contains(&name)
}

/// Whether what a program runs is found here, and nowhere else.
pub(super) fn knows_itself(name: &str) -> bool {
    matches!(name, "find" | "gfind" | "sort" | "gsort" | "sed" | "gsed" | "awk" | "gawk" | "mawk" | "nawk")
}

type Judge = fn(&mut Walk<'_, '_>, &[Field], &Input, &State<'_>);

/// Programs with ways of their own.
fn special(name: &str) -> Option<Judge> {
    Some(match name {
        "cp" | "gcp" | "install" => copies,
        "mv" | "gmv" => moves,
        "ln" | "gln" | "link" => links,
        "dd" | "gdd" => dd,
        "shred" => shreds,
        "sed" | "gsed" => edits,
        "awk" | "gawk" | "mawk" | "nawk" => awk,
        "find" | "gfind" => finds,
        "patch" | "gpatch" => patches,
        "apply_patch" | "applypatch" => applies,
        "tar" | "gtar" | "bsdtar" => tar,
        "unzip" => unzips,
        "zip" => zips,
        "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "zstd" | "unzstd" | "compress" | "uncompress" => {
            packs
        }
        "mktemp" => makes_temporary,
        "split" | "csplit" => splits,
        "git" => git::judge,
        "curl" => remote::curl,
        "wget" => remote::wget,
        "ssh" | "mosh" => remote::ssh,
        "scp" | "rsync" => remote::copies,
        "ping" | "ping6" | "dig" | "host" | "nslookup" | "traceroute" | "whois" | "nc" | "ncat" | "telnet" => {
            remote::asks
        }
        _ => return None,
    })
}

/// What a program does with these words.
pub(super) fn judge(walk: &mut Walk<'_, '_>, name: &str, words: &[Field], input: &Input, state: &State<'_>) {
    if only_asks_about_itself(words) {
        return;
    }
    if let Some(judge) = special(name) {
        return judge(walk, words, input, state);
    }
    match ROWS.iter().find(|row| row.names.contains(&name)) {
        Some(row) => by_row(walk, row, &words[1..], state),
        None => {
            remote::named(walk, name, words);
            walk.doubt_all();
        }
    }
}

/// `cargo --version`, of programs that are surely what they are called.
fn only_asks_about_itself(words: &[Field]) -> bool {
    const PROGRAMS: [&str; 26] = [
        "node", "npm", "npx", "yarn", "pnpm", "python", "python3", "pip", "pip3", "cargo", "rustc", "rustup", "go",
        "java", "javac", "ruby", "gem", "php", "gcc", "clang", "make", "cmake", "docker", "git", "gh", "deno",
    ];
    let [Some(program), Some(option)] = words else { return false };
    let name = program.rsplit('/').next().unwrap_or(program);
    PROGRAMS.contains(&name) && matches!(option.as_str(), "--version" | "-V" | "--help")
}

fn by_row(walk: &mut Walk<'_, '_>, row: &Row, words: &[Field], state: &State<'_>) {
    let values = [row.values, row.reads, row.writes].concat();
    let taken = take(words, &values);
    if taken.has(row.odd) || (taken.unknown && !row.odd.is_empty()) {
        walk.doubt_all();
    }
    if taken.unknown && !row.writes.is_empty() {
        walk.doubt(Aspect::Writes);
    }
    taken.values(row.reads).for_each(|file| walk.touch(Aspect::Reads, file, state));
    taken.values(row.writes).for_each(|file| walk.touch(Aspect::Writes, file, state));
    if taken.has(&["--files0-from", "--files-from"]) {
        walk.doubt(Aspect::Reads);
    }
    let deep = match row.does {
        Does::Lists => true,
        Does::Searches => taken.has(&RECURSIVE) || row.names.contains(&"rg"),
        Does::Changes | Does::Deletes => taken.has(&RECURSIVE),
        Does::Reads => taken.has(&["-R", "--recursive"]) && row.names.contains(&"ls"),
        Does::Nothing | Does::Filters | Does::Writes => false,
    };
    let depth = if deep { Depth::All } else { Depth::Itself };
    let operands = taken.operands.as_slice();
    let each = |walk: &mut Walk<'_, '_>, aspect: Aspect, files: &[Field]| {
        let files = files.iter().filter(|file| aspect != Aspect::Reads || file.as_deref() != Some("-"));
        files.for_each(|file| walk.touch_to(aspect, file, depth, state));
    };
    match row.does {
        Does::Nothing => {}
        Does::Reads => {
            each(walk, Aspect::Reads, operands);
            if operands.is_empty() && row.names.contains(&"ls") {
                each(walk, Aspect::Reads, &[Some(".".to_owned())]);
            }
        }
        Does::Lists => each(walk, Aspect::Reads, or_here(operands)),
        Does::Searches => {
            let told = taken.has(&["-e", "--regexp", "-f", "--file", "--files", "--from-file"]);
            let files = operands.get(usize::from(!told)..).unwrap_or_default();
            // Without files, those that look into directories look here.
            if files.is_empty() && deep {
                return each(walk, Aspect::Reads, &[Some(".".to_owned())]);
            }
            each(walk, Aspect::Reads, files);
        }
        Does::Filters => {
            each(walk, Aspect::Reads, operands.get(..1).unwrap_or_default());
            each(walk, Aspect::Writes, operands.get(1..).unwrap_or_default());
            if taken.unknown {
                walk.doubt(Aspect::Writes);
            }
        }
        Does::Writes => each(walk, Aspect::Writes, operands),
        Does::Changes => {
            // `chmod -x file` says how in what looks like an option.
            const FLAGS: [&str; 9] = ["-R", "-v", "-c", "-f", "-H", "-L", "-P", "-h", "-n"];
            let is_mode = |name: &str| !name.starts_with("--") && !FLAGS.contains(&name);
            let told = taken.has(&["--reference"]) || taken.given.iter().any(|(name, _)| is_mode(name));
            each(walk, Aspect::Writes, operands.get(usize::from(!told)..).unwrap_or_default());
        }
        Does::Deletes => {
            each(walk, Aspect::Deletes, operands);
            if row.names.contains(&"rmdir") && taken.has(&["-p", "--parents"]) {
                walk.doubt(Aspect::Deletes);
            }
        }
    }
}

fn or_here(operands: &[Field]) -> &[Field] {
    static HERE: std::sync::LazyLock<Vec<Field>> = std::sync::LazyLock::new(|| vec![Some(".".to_owned())]);
    if operands.is_empty() { HERE.as_slice() } else { operands }
}

/// The sources and the target of `cp`, `mv`, `install` and `ln`; nothing for a target that nobody knows.
struct Transfer {
    sources: Vec<Field>,
    /// What is written: the target itself, or what is put into it.
    written: Vec<Field>,
    taken: Taken,
}

const TRANSFER_VALUES: [&str; 14] = [
    "-t",
    "--target-directory",
    "-S",
    "--suffix",
    "-m",
    "--mode",
    "-o",
    "--owner",
    "-g",
    "--group",
    "--strip-program",
    "-Z",
    "--context",
    "--no-preserve",
];

fn transfer(walk: &mut Walk<'_, '_>, words: &[Field], state: &State<'_>) -> Transfer {
    let taken = take(&words[1..], &TRANSFER_VALUES);
    // Backups are written beside what is replaced, under names that are told elsewhere.
    if taken.unknown || taken.has(&["-b", "--backup", "-S", "--suffix", "--strip-program"]) {
        walk.doubt(Aspect::Writes);
    }
    let mut sources = taken.operands.clone();
    let told: Option<Field> = taken.values(&["-t", "--target-directory"]).last().cloned();
    let into = told.is_some();
    let target = told.unwrap_or_else(|| if sources.len() > 1 { sources.pop().flatten() } else { None });
    let Some(target) = target else { return Transfer { sources, written: vec![None], taken } };
    let there = state.path(&target);
    let is_directory = into
        || sources.len() > 1
        || target.ends_with('/')
        || (there.as_ref().is_some_and(|path| path.is_dir()) && !taken.has(&["-T", "--no-target-directory"]));
    let name = |source: &Field| {
        let source = source.as_deref()?.trim_end_matches('/');
        let name = source.rsplit('/').next().filter(|name| !matches!(*name, "" | "." | ".."))?;
        Some(format!("{}/{name}", target.trim_end_matches('/')))
    };
    let inside = || sources.iter().map(|source| name(source).unwrap_or_else(|| target.clone()));
    let written = match there.is_some_and(|path| path.exists()) {
        _ if is_directory => inside().map(Some).collect(),
        // Whether it is a directory by then, something before it may decide.
        false if walk.has_changed_something() => std::iter::once(target.clone()).chain(inside()).map(Some).collect(),
        _ => vec![Some(target.clone())],
    };
    Transfer { sources, written, taken }
}

fn copies(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let install = words[0].as_deref().is_some_and(|name| name.ends_with("install"));
    if install && take(&words[1..], &TRANSFER_VALUES).has(&["-d", "--directory"]) {
        let taken = take(&words[1..], &TRANSFER_VALUES);
        return taken.operands.iter().for_each(|file| walk.touch(Aspect::Writes, file, state));
    }
    let Transfer { sources, written, taken } = transfer(walk, words, state);
    let deep = taken.has(&["-r", "-R", "-a", "--recursive", "--archive", "-d"]);
    let depth = if deep { Depth::All } else { Depth::Itself };
    sources.iter().for_each(|file| walk.touch_to(Aspect::Reads, file, depth, state));
    written.iter().for_each(|file| walk.touch_to(Aspect::Writes, file, depth, state));
    // `cp -l` and `cp -s` make links.
    if !install && taken.has(&["-l", "-s", "--link", "--symbolic-link"]) {
        sources.iter().for_each(|file| walk.touch_to(Aspect::Writes, file, Depth::All, state));
    }
    // What is copied may be links, and is written through by whatever comes after.
    if deep {
        written.iter().flatten().filter_map(|file| state.path(file)).for_each(|path| walk.link(path));
    }
}

fn moves(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let Transfer { sources, written, .. } = transfer(walk, words, state);
    let depth = |file: &Field| match file.as_deref().and_then(|file| state.path(file)) {
        Some(path) if path.symlink_metadata().is_ok_and(|found| !found.is_dir()) => Depth::Itself,
        _ => Depth::All,
    };
    let deepest = if sources.iter().all(|file| depth(file) == Depth::Itself) { Depth::Itself } else { Depth::All };
    sources.iter().for_each(|file| walk.touch_to(Aspect::Deletes, file, depth(file), state));
    written.iter().for_each(|file| walk.touch_to(Aspect::Writes, file, deepest, state));
    written.iter().flatten().filter_map(|file| state.path(file)).for_each(|path| walk.link(path));
}

/// A link is a further name under which what it leads to is written: both count.
fn links(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let alone = take(&words[1..], &TRANSFER_VALUES).operands;
    let here = [words, &[Some("./".to_owned())]].concat();
    let Transfer { sources, written, taken } =
        transfer(walk, if alone.len() == 1 { here.as_slice() } else { words }, state);
    for link in &written {
        walk.touch_to(Aspect::Writes, link, Depth::Itself, state);
        let path = link.as_deref().and_then(|link| state.path(link));
        if taken.has(&["-s", "--symbolic"]) {
            // What it says counts from where it stands.
            let mut from = state.clone();
            from.cwd = path.as_deref().and_then(|path| path.parent()).map(ToOwned::to_owned);
            sources.iter().for_each(|file| walk.touch_to(Aspect::Writes, file, Depth::All, &from));
        }
        path.into_iter().for_each(|path| walk.link(path));
    }
    sources.iter().for_each(|file| walk.touch_to(Aspect::Writes, file, Depth::All, state));
}

fn dd(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    for word in &words[1..] {
        match word.as_deref().and_then(|word| word.split_once('=')) {
            Some(("of", file)) => walk.touch(Aspect::Writes, &Some(file.to_owned()), state),
            Some(("if", file)) => walk.touch(Aspect::Reads, &Some(file.to_owned()), state),
            None if word.is_none() => walk.doubt(Aspect::Writes),
            _ => {}
        }
    }
}

fn shreds(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let taken = take(&words[1..], &["-n", "-s", "--iterations", "--size", "--random-source"]);
    let removes = taken.unknown || taken.has(&["-u", "--remove"]);
    for file in &taken.operands {
        walk.touch(Aspect::Writes, file, state);
        if removes {
            walk.touch(Aspect::Deletes, file, state);
        }
    }
}

/// `sed`: its files are written with `-i`; its script may write and run on its own.
fn edits(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    if shell::sed_acts(words) {
        walk.doubt_all();
    }
    let taken = take(&words[1..], &["-e", "-f", "-l", "--expression", "--file", "--line-length"]);
    let in_place = |name: &str| name.starts_with("--i") || name == "-i" || name == "-I";
    // Behind an `i` in a cluster stands the ending of backups.
    let cluster = words[1..]
        .iter()
        .flatten()
        .find(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(['i', 'I']));
    let suffix = cluster.and_then(|word| word.split_once(['i', 'I'])).map(|(_, suffix)| suffix);
    let suffix = suffix.map(str::to_owned).or_else(|| {
        taken.given.iter().find(|(name, _)| name.starts_with("--i")).and_then(|(_, value)| value.clone().flatten())
    });
    let told = taken.has(&["-e", "-f", "--expression", "--file"]);
    let files = taken.operands.get(usize::from(!told)..).unwrap_or_default();
    if taken.unknown || taken.given.iter().any(|(name, _)| in_place(name)) || cluster.is_some() {
        // On some systems the ending stands in a word of its own, which may be empty.
        let files: Vec<&Field> = files.iter().filter(|word| word.as_deref() != Some("")).collect();
        files.iter().for_each(|file| walk.touch(Aspect::Writes, file, state));
        if suffix.as_deref().is_none_or(str::is_empty) {
            return;
        }
        if suffix.as_deref().is_some_and(|suffix| suffix.contains(['/', '*'])) {
            walk.doubt(Aspect::Writes);
        } else {
            let with = |file: &&Field| Some(format!("{}{}", file.as_deref()?, suffix.as_deref().unwrap_or_default()));
            files.iter().map(with).for_each(|file| walk.touch(Aspect::Writes, &file, state));
        }
    } else {
        files
            .iter()
            .filter(|file| file.as_deref() != Some("-"))
            .for_each(|file| walk.touch(Aspect::Reads, file, state));
    }
    taken.values(&["-f", "--file"]).for_each(|file| walk.touch(Aspect::Reads, file, state));
}

/// `awk`: a language that writes with `>` and runs with `|` and `system`.
fn awk(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let taken =
        take(&words[1..], &["-F", "-v", "-f", "-i", "-l", "-E", "-e", "--file", "--assign", "--field-separator"]);
    let foreign = taken.unknown || taken.given.iter().any(|(name, _)| !matches!(name.as_str(), "-F" | "-v"));
    let Some(Some(code)) = taken.operands.first().filter(|_| !foreign) else { return walk.doubt_all() };
    if ["|", "system", "getline", "@", "\\"].iter().any(|sign| code.contains(sign)) {
        return walk.doubt_all();
    }
    if code.contains('>') {
        walk.doubt(Aspect::Writes);
    }
    taken.operands[1..].iter().for_each(|file| walk.touch(Aspect::Reads, file, state));
}

/// `find`: where it looks, what it runs on what it finds, what it removes and writes by itself.
fn finds(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let begins = |word: &Field| word.as_deref().is_some_and(|word| word.starts_with(['-', '(', '!', ')']));
    let after_options =
        words[1..].iter().take_while(|word| matches!(word.as_deref(), Some("-L" | "-P" | "-H"))).count() + 1;
    let end = words[after_options..].iter().position(begins).map_or(words.len(), |at| after_options + at);
    let roots = or_here(&words[after_options..end]).to_vec();
    if words.contains(&None) {
        walk.doubt_all();
    }
    roots.iter().for_each(|root| walk.touch_to(Aspect::Reads, root, Depth::All, state));
    let mut at = end;
    while at < words.len() {
        let word = words[at].as_deref();
        at += 1;
        match word {
            None => {}
            Some("-delete") => roots.iter().for_each(|root| walk.touch_to(Aspect::Deletes, root, Depth::All, state)),
            Some("-fprint" | "-fprint0" | "-fls" | "-fprintf") => {
                walk.touch(Aspect::Writes, &words.get(at).cloned().flatten(), state);
            }
            Some("-files0-from") => walk.doubt_all(),
            Some(option @ ("-exec" | "-execdir" | "-ok" | "-okdir")) => {
                let rest = &words[at..];
                let length =
                    rest.iter().position(|word| matches!(word.as_deref(), Some(";" | "+"))).unwrap_or(rest.len());
                let mut inner = state.clone();
                inner.cwd.take_if(|_| option.ends_with("dir"));
                run_on(walk, &rest[..length], &roots, &mut inner);
                at += length;
            }
            Some(_) => {}
        }
    }
}

/// Runs a command on whatever is in some directories.
fn run_on(walk: &mut Walk<'_, '_>, command: &[Field], roots: &[Field], state: &mut State<'_>) {
    for root in roots {
        let put = |word: &Field| match word.as_deref() {
            Some("{}") => root.clone(),
            Some(word) if word.contains("{}") => None,
            _ => word.clone(),
        };
        let words: Vec<Field> = command.iter().map(put).collect();
        let shown: Vec<String> = command.iter().map(|word| word.clone().unwrap_or_else(|| "…".to_owned())).collect();
        let depth = std::mem::replace(&mut walk.depth, Depth::All);
        walk.nested_run(&words, &shown, state);
        walk.depth = depth;
    }
}

/// `patch`: changes what its input says, unless it is told the one file.
fn patches(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let taken = take(
        &words[1..],
        &[
            "-p",
            "-d",
            "-i",
            "-o",
            "-r",
            "-B",
            "-Y",
            "-z",
            "-D",
            "-F",
            "-g",
            "-V",
            "--strip",
            "--directory",
            "--input",
            "--output",
            "--reject-file",
        ],
    );
    if taken.has(&["--dry-run", "-C", "--check"]) && !taken.unknown {
        return;
    }
    walk.doubt(Aspect::Writes);
    walk.doubt(Aspect::Deletes);
    taken.values(&["-i", "--input"]).for_each(|file| walk.touch(Aspect::Reads, file, state));
    taken.values(&["-o", "--output", "-r", "--reject-file"]).for_each(|file| walk.touch(Aspect::Writes, file, state));
    taken.operands.iter().take(1).for_each(|file| walk.touch(Aspect::Writes, file, state));
}

/// `apply_patch`, with the patch as its argument or its input.
fn applies(walk: &mut Walk<'_, '_>, words: &[Field], input: &Input, state: &State<'_>) {
    let text = match (words.get(1), input) {
        (Some(text), _) => text.clone(),
        (None, Input::Text(text)) => text.clone(),
        (None, Input::Any) => None,
    };
    match text {
        Some(text) => walk.finder.patch(&text, state.cwd.as_deref()),
        None => {
            walk.doubt(Aspect::Writes);
            walk.doubt(Aspect::Deletes);
        }
    }
}

fn tar(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let bundle = words.get(1).and_then(Option::as_deref).filter(|word| !word.starts_with('-'));
    let mut rest = words[1..].to_vec();
    if let (Some(bundle), Some(first)) = (bundle, rest.first_mut()) {
        *first = Some(format!("-{bundle}"));
    }
    let values = [
        "-f",
        "-C",
        "-T",
        "-X",
        "-b",
        "-H",
        "-K",
        "-N",
        "-V",
        "-g",
        "--file",
        "--directory",
        "--files-from",
        "--exclude-from",
        "--exclude",
        "--transform",
        "--xform",
        "--strip-components",
        "--owner",
        "--group",
        "--mode",
        "--mtime",
    ];
    let taken = take(&rest, &values);
    let extracts = taken.has(&["-x", "--extract", "--get"]);
    let odd = [
        "-P",
        "--absolute-names",
        "--transform",
        "--xform",
        "--remove-files",
        "--unlink-first",
        "-U",
        "--recursive-unlink",
        "-s",
        "--listed-incremental",
        "-g",
    ];
    if taken.unknown || taken.has(&odd) {
        walk.doubt(Aspect::Writes);
        walk.doubt(Aspect::Deletes);
    }
    let archives: Vec<Field> =
        taken.values(&["-f", "--file"]).filter(|file| file.as_deref() != Some("-")).cloned().collect();
    let directories: Vec<Field> = taken.values(&["-C", "--directory"]).cloned().collect();
    if extracts {
        archives.iter().for_each(|file| walk.touch(Aspect::Reads, file, state));
        let to_stdout = taken.has(&["-O", "--to-stdout"]);
        let here = or_here(&directories).to_vec();
        here.iter().filter(|_| !to_stdout).for_each(|file| walk.touch_to(Aspect::Writes, file, Depth::All, state));
        here.iter().flatten().filter_map(|file| state.path(file)).for_each(|path| walk.link(path));
    } else if taken.has(&["-t", "--list", "-d", "--diff", "--compare"]) {
        archives.iter().for_each(|file| walk.touch(Aspect::Reads, file, state));
    } else if taken.has(&[
        "-c",
        "-r",
        "-u",
        "-A",
        "--create",
        "--append",
        "--update",
        "--catenate",
        "--concatenate",
        "--delete",
    ]) {
        archives.iter().for_each(|file| walk.touch(Aspect::Writes, file, state));
        taken.operands.iter().for_each(|file| walk.touch_to(Aspect::Reads, file, Depth::All, state));
    } else {
        walk.doubt_all();
    }
}

fn unzips(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let taken = take(&words[1..], &["-d", "-x", "-P"]);
    taken.operands.iter().take(1).for_each(|file| walk.touch(Aspect::Reads, file, state));
    if !taken.unknown && taken.has(&["-l", "-t", "-p", "-v", "-Z", "-c"]) {
        return;
    }
    if taken.unknown || taken.has(&["-:"]) {
        walk.doubt(Aspect::Writes);
    }
    let directories: Vec<Field> = taken.values(&["-d"]).cloned().collect();
    let here = or_here(&directories).to_vec();
    here.iter().for_each(|file| walk.touch_to(Aspect::Writes, file, Depth::All, state));
    here.iter().flatten().filter_map(|file| state.path(file)).for_each(|path| walk.link(path));
}

fn zips(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let taken = take(&words[1..], &["-x", "-i", "-b", "-O", "-n", "-t", "-tt", "--out"]);
    if taken.unknown || taken.has(&["-m", "--move", "-O", "--out"]) {
        walk.doubt(Aspect::Writes);
        walk.doubt(Aspect::Deletes);
    }
    let mut operands = taken.operands.iter();
    if let Some(archive) = operands.next() {
        walk.touch(Aspect::Writes, archive, state);
        let with_ending = archive.as_ref().map(|archive| format!("{archive}.zip"));
        walk.touch(Aspect::Writes, &with_ending, state);
    }
    operands.for_each(|file| walk.touch_to(Aspect::Reads, file, Depth::All, state));
}

/// `gzip` and its kin: a file becomes another beside it, and goes.
fn packs(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    const ENDINGS: [&str; 6] = [".gz", ".bz2", ".xz", ".zst", ".Z", ".lzma"];
    let taken = take(
        &words[1..],
        &["-S", "--suffix", "-o", "-T", "-B", "--threads", "--output-dir-flat", "--output-dir-mirror"],
    );
    let only_reads = taken.has(&["-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test"]) && !taken.unknown;
    if taken.unknown || taken.has(&["-S", "--suffix", "--output-dir-flat", "--output-dir-mirror"]) {
        walk.doubt(Aspect::Writes);
    }
    taken.values(&["-o"]).for_each(|file| walk.touch(Aspect::Writes, file, state));
    let depth = if taken.has(&RECURSIVE) { Depth::All } else { Depth::Itself };
    for file in &taken.operands {
        walk.touch_to(Aspect::Reads, file, depth, state);
        if only_reads {
            continue;
        }
        let name = file.as_deref();
        let unpacked = name.and_then(|name| ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)));
        walk.touch_to(Aspect::Writes, &unpacked.or(name).map(str::to_owned), depth, state);
        for ending in ENDINGS {
            walk.touch_to(Aspect::Writes, &name.map(|name| format!("{name}{ending}")), depth, state);
        }
        walk.touch_to(Aspect::Deletes, file, depth, state);
    }
}

/// `mktemp`: a new file where nobody else's are, unless it is told where.
fn makes_temporary(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let taken = take(&words[1..], &["-p", "--tmpdir", "--suffix", "-t"]);
    let directories: Vec<Field> = taken.values(&["-p", "--tmpdir"]).cloned().collect();
    if taken.unknown || (!directories.is_empty() && !taken.operands.is_empty()) {
        walk.doubt(Aspect::Writes);
    }
    directories.iter().for_each(|file| walk.touch_to(Aspect::Writes, file, Depth::All, state));
    taken.operands.iter().for_each(|file| walk.touch(Aspect::Writes, file, state));
}

fn splits(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let taken = take(
        &words[1..],
        &["-a", "-b", "-C", "-l", "-n", "-t", "-f", "-k", "--filter", "--bytes", "--lines", "--number", "--prefix"],
    );
    taken.operands.iter().take(1).for_each(|file| walk.touch(Aspect::Reads, file, state));
    walk.doubt(Aspect::Writes);
}
