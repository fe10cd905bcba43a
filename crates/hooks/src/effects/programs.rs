//! THE table of what programs do with their words. A program that is not in it may do anything.
//!
//! An option that is not in a row is taken for a flag, so that what may be its value counts as an operand: rather too much
//! is told than too little. Only programs whose writing options are all known stand here.

use super::options::take;
use super::walk::{Input, Walk};
use super::{Aspect, Depth, archives, edits, finds, git, remote, transfer};
use crate::shell::{Field, State};

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

pub(super) const RECURSIVE: [&str; 3] = ["-r", "-R", "--recursive"];

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
        "cp" | "gcp" | "install" => transfer::copies,
        "mv" | "gmv" => transfer::moves,
        "ln" | "gln" | "link" => transfer::links,
        "dd" | "gdd" => transfer::dd,
        "shred" => transfer::shreds,
        "sed" | "gsed" => edits::edits,
        "awk" | "gawk" | "mawk" | "nawk" => edits::awk,
        "find" | "gfind" => finds::finds,
        "patch" | "gpatch" => edits::patches,
        "apply_patch" | "applypatch" => edits::applies,
        "tar" | "gtar" | "bsdtar" => archives::tar,
        "unzip" => archives::unzips,
        "zip" => archives::zips,
        "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "zstd" | "unzstd" | "compress" | "uncompress" => {
            archives::packs
        }
        "mktemp" => archives::makes_temporary,
        "split" | "csplit" => archives::splits,
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

/// The operands, or where the shell is.
pub(super) fn or_here(operands: &[Field]) -> &[Field] {
    static HERE: std::sync::LazyLock<Vec<Field>> = std::sync::LazyLock::new(|| vec![Some(".".to_owned())]);
    if operands.is_empty() { HERE.as_slice() } else { operands }
}
