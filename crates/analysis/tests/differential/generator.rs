//! Makes random commands: programs of the table with options from their files, and shell around them.

use hookwright_analysis::programs::Programs;
use hookwright_analysis::programs::spec::{Body, Count, Effect, OptionSpec, Program, Role, Syntax};

use crate::random::Random;
use crate::sandbox;

/// Programs that only touch files that they are told, and that end.
const PROGRAMS: &[&str] = &[
    "addr2line",
    "ar",
    "as",
    "awk",
    "b2sum",
    "base32",
    "base64",
    "basename",
    "basenc",
    "bc",
    "bunzip2",
    "bzcat",
    "bzcmp",
    "bzdiff",
    "bzegrep",
    "bzfgrep",
    "bzgrep",
    "bzip2",
    "c++filt",
    "cat",
    "chgrp",
    "chmod",
    "choom",
    "chown",
    "chrt",
    "cksum",
    "cmp",
    "col",
    "colcrt",
    "colrm",
    "column",
    "comm",
    "cp",
    "cpp",
    "csplit",
    "ctags",
    "curl",
    "cut",
    "date",
    "dd",
    "df",
    "diff",
    "diff3",
    "dir",
    "dircolors",
    "dirname",
    "du",
    "egrep",
    "encguess",
    "env",
    "expand",
    "expr",
    "factor",
    "fallocate",
    "fgrep",
    "file",
    "filefrag",
    "fincore",
    "find",
    "findmnt",
    "flock",
    "fmt",
    "fold",
    "funzip",
    "gcc-ar",
    "gcc-nm",
    "getcap",
    "getopt",
    "git",
    "grep",
    "gunzip",
    "gzip",
    "hardlink",
    "hd",
    "head",
    "hexdump",
    "iconv",
    "install",
    "ionice",
    "join",
    "jq",
    "json_pp",
    "last",
    "ldd",
    "less",
    "link",
    "linux32",
    "llvm-ar",
    "llvm-readelf",
    "ln",
    "look",
    "ls",
    "lsattr",
    "lsblk",
    "lscpu",
    "lslogins",
    "lz4",
    "lz4cat",
    "lzcat",
    "lzcmp",
    "lzdiff",
    "lzegrep",
    "lzfgrep",
    "lzgrep",
    "lzma",
    "mawk",
    "md5sum",
    "mkdir",
    "mkfifo",
    "mknod",
    "mktemp",
    "more",
    "mountpoint",
    "mv",
    "namei",
    "nawk",
    "nice",
    "nl",
    "nm",
    "nohup",
    "numfmt",
    "objdump",
    "od",
    "paste",
    "patch",
    "pathchk",
    "perl",
    "piconv",
    "pkg-config",
    "pod2man",
    "pod2text",
    "podchecker",
    "pr",
    "printf",
    "prlimit",
    "ptx",
    "pzstd",
    "ranlib",
    "readelf",
    "readlink",
    "realpath",
    "rev",
    "rgrep",
    "rm",
    "rmdir",
    "run-parts",
    "script",
    "scriptreplay",
    "sdiff",
    "sed",
    "seq",
    "setarch",
    "setpriv",
    "setsid",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "shasum",
    "shred",
    "shuf",
    "size",
    "sort",
    "splain",
    "split",
    "sqlite3",
    "stat",
    "stdbuf",
    "strings",
    "strip",
    "sum",
    "sync",
    "tac",
    "tail",
    "tar",
    "taskset",
    "tee",
    "time",
    "timeout",
    "touch",
    "tr",
    "truncate",
    "tsort",
    "uclampset",
    "ul",
    "uncompress",
    "unexpand",
    "uniq",
    "unlink",
    "unlz4",
    "unlzma",
    "unxz",
    "unzip",
    "unzstd",
    "vdir",
    "wc",
    "wget",
    "whereis",
    "which",
    "xargs",
    "xxd",
    "xz",
    "xzcat",
    "xzcmp",
    "xzdiff",
    "xzegrep",
    "xzfgrep",
    "xzgrep",
    "xzless",
    "yq",
    "zcat",
    "zcmp",
    "zdiff",
    "zegrep",
    "zfgrep",
    "zgrep",
    "zip",
    "zipdetails",
    "zipgrep",
    "zipinfo",
    "zipnote",
    "zless",
    "zmore",
    "zstd",
    "zstdcat",
    "zstdgrep",
    "zstdmt",
];

/// Programs that are picked more often: they have the most ways to touch files.
const FREQUENT: &[&str] = &[
    "git", "git", "git", "tar", "tar", "find", "find", "sed", "sed", "awk", "cp", "cp", "mv", "ln", "rm", "sort",
    "curl", "xargs", "env", "install", "dd", "zip", "grep", "diff", "gzip", "split",
];

/// Options that never end, ask, or change the machine.
const LEFT_OUT: &[(&str, &[&str])] = &[
    ("tail", &["-f", "-F", "--follow", "--retry", "--pid"]),
    ("date", &["-s", "--set"]),
    ("xargs", &["-p", "--interactive", "-o", "--open-tty"]),
    ("wget", &["-b", "--background", "-t", "--tries", "--wait", "-w"]),
    ("curl", &["--retry", "--retry-delay"]),
    ("shred", &["-n", "--iterations"]),
];

const GIT_LEFT_OUT: &[&str] = &[
    "maintenance",
    "daemon",
    "fsmonitor--daemon",
    "gui",
    "citool",
    "instaweb",
    "send-email",
    "p4",
    "svn",
    "credential",
    "http-backend",
    "shell",
    "cvsserver",
    "web--browse",
    "help",
    "upload-pack",
    "receive-pack",
    "credential-cache--daemon",
    "imap-send",
];

const FILES: &[&str] = &[
    "a.txt",
    "b.txt",
    "c.csv",
    "n.txt",
    "'sp ace.txt'",
    "./-dash",
    "data.json",
    "x.sh",
    "list.txt",
    "list0",
    ".hidden",
    "d/e.txt",
    "d/f.txt",
    "d/deep/g.txt",
    "g/h.txt",
    "../out/o.txt",
    "link.txt",
    "o.link",
    "hard.txt",
    "dlink/e.txt",
    "olink/o.txt",
    "z.gz",
    "p.patch",
    "arc.tar",
    "d/../a.txt",
    "dlink/../out/o.txt",
    "./b.txt",
    "sums.md5",
];
const DIRECTORIES: &[&str] =
    &["d", "e", "g", "dlink", "olink", "d/deep", ".", "d/", "dlink/", "../out", "olink/.", "./d", "..", "dlink/deep"];
const NEW_NAMES: &[&str] =
    &["new1", "new2", "d/new3", "e/new4", "'new 5'", "dlink/new6", "olink/new7", "broken", "missing/new8", "./-new9"];
const GLOBS: &[&str] = &[
    "*.txt",
    "d/*",
    "?.txt",
    "[ab].txt",
    "{a,b}.txt",
    "*",
    "d/*/",
    "dlink/*",
    "*.none",
    "./*.csv",
    "d/{e,f}.txt",
    "~/*",
];
const TEXTS: &[&str] = &[
    "1", "2", "3", "0", "5", "+2", "-1", "1K", "x", "a", "alpha", "txt", ",", ":", "'a b'", "*", "1,2", "2-3", "auto",
    "always", "never", "none", "all", "u", "UTF-8", "%s", "''", "=x", "1d", "now", "C", "'^a'", "'.*'", "name", "@1",
];
const REVISIONS: &[&str] = &[
    "HEAD",
    "main",
    "feature",
    "v1",
    "HEAD~1",
    "main..feature",
    "origin",
    "stash@{0}",
    "HEAD:b.txt",
    "-",
    "nope",
    "@",
];

/// Makes the command of each case.
pub(crate) struct Generator {
    root: String,
    programs: Vec<(&'static str, Program)>,
    random: Random,
}

impl Generator {
    pub(crate) fn new(root: &str) -> Self {
        let known = |name: &'static str| Programs::BUILT_IN.find(name).cloned().map(|program| (name, program));
        let programs = PROGRAMS.iter().copied().filter(|name| sandbox::is_installed(name)).filter_map(known).collect();
        Generator { root: root.to_owned(), programs, random: Random::new(0) }
    }

    /// The command of a case.
    pub(crate) fn command(&mut self, case: u64) -> String {
        self.random = Random::new(case);
        let depth = self.random.below(3);
        self.script(depth)
    }

    fn pick(&mut self, from: &[&'static str]) -> String {
        self.random.pick(from).to_owned()
    }

    fn script(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.simple(None);
        }
        let depth = depth - 1;
        match self.random.below(52) {
            0 => format!("{} | {}", self.script(depth), self.simple(Some(String::new()))),
            1 => format!("{} && {}", self.script(depth), self.script(depth)),
            2 => format!("{} || {}", self.script(depth), self.script(depth)),
            3 => format!("{}; {}", self.script(depth), self.script(depth)),
            4 => format!("cd {} && {}", self.directory(), self.script(depth)),
            5 => format!("cd {}; {}", self.directory(), self.script(depth)),
            6 => format!("cd {} || exit; {}", self.directory(), self.script(depth)),
            7 => format!("(cd {} && {}); {}", self.directory(), self.script(depth), self.script(depth)),
            8 => format!("{{ {}; }} > {}", self.script(depth), self.new_name()),
            9 => {
                let operator = self.random.pick(&[">", ">>", "2>", "&>", ">|", "<", "<>", "2>&1 >"]);
                format!("{} {operator} {}", self.script(depth), self.target())
            }
            10 => {
                let words = format!("{} {}", self.operand(), self.operand());
                format!("for f in {words}; do {}; done", self.simple(Some("\"$f\"".to_owned())))
            }
            11 => format!("f={}; {}", self.file(), self.simple(Some("\"$f\"".to_owned()))),
            12 => format!("f={}; g=$f; {}", self.new_name(), self.simple(Some("$g".to_owned()))),
            13 => format!("run() {{ {}; }}; run {}", self.simple(Some("\"$1\"".to_owned())), self.operand()),
            14 => format!("run() {{ {}; }}; {}; run", self.script(depth), self.script(0)),
            15 => {
                let shell = self.random.pick(&["sh -c", "bash -c", "eval", "bash -ec", "env sh -c"]);
                let inner = self.script(depth);
                format!("{shell} {}", quoted(&inner))
            }
            16 => format!("{} <<EOF\nb.txt\n{}\nEOF", self.simple(Some(String::new())), self.pick(TEXTS)),
            17 => format!("cat > {} <<'EOF'\n$x `y`\nEOF\n{}", self.new_name(), self.script(depth)),
            18 => {
                let word = self.random.pick(&[
                    "$(echo b.txt)",
                    "\"$(cat list.txt)\"",
                    "$(basename d/e.txt)",
                    "`echo new1`",
                    "$(cat list.txt)",
                    "$(ls d)",
                ]);
                self.simple(Some(word.to_owned()))
            }
            19 => format!("ln {} new1; {}", self.file(), self.simple(Some("new1".to_owned()))),
            20 => format!("ln -s {} new2; {}", self.directory(), self.simple(Some("new2/new".to_owned()))),
            21 => format!("env -C {} {}", self.directory(), self.simple(None)),
            22 => format!("echo {} {} | xargs {}", self.operand(), self.operand(), self.simple(Some(String::new()))),
            23 => format!("find {} -name '*.txt' -exec {} \\;", self.directory(), self.simple(Some("{}".to_owned()))),
            24 => format!("if [ -f {} ]; then {}; else {}; fi", self.file(), self.script(depth), self.script(depth)),
            25 => format!("while read -r f; do {}; done < list.txt", self.simple(Some("\"$f\"".to_owned()))),
            26 => format!("case {} in *.txt) {} ;; *) {} ;; esac", self.file(), self.script(depth), self.script(depth)),
            27 => format!("{} | tee {}", self.script(depth), self.target()),
            28 => format!("mkdir -p new1/sub && cd new1 && {}", self.script(depth)),
            29 => format!("cp {} new1 && {}", self.file(), self.simple(Some("new1".to_owned()))),
            30 => format!("! {} || {}", self.script(0), self.script(depth)),
            31 => format!("[[ -d {} ]] && {}", self.directory(), self.script(depth)),
            33..=50 => self.rarer_script(depth),
            32 => format!("set -- {} {}; {}", self.operand(), self.operand(), self.simple(Some("\"$@\"".to_owned()))),
            _ => format!(
                "x={}; {}",
                self.file(),
                self.simple(Some(
                    self.random.clone().pick(&["${x%.txt}", "${x##*/}", "${y:-$x}", "d/${x}"]).to_owned()
                ))
            ),
        }
    }

    fn rarer_script(&mut self, depth: usize) -> String {
        let shell = match self.random.below(44) {
            0 => "cd() { :; }; cd d; SCRIPT",
            1 => "cd DIR </nonexistent; SCRIPT",
            2 => "cd d; cd -; SCRIPT",
            3 => "pushd DIR >/dev/null; SCRIPT; popd; SCRIPT",
            4 => "cd d && cd \"$OLDPWD\" && SCRIPT",
            5 => "read -r f < list.txt; SIMPLE:\"$f\"",
            6 => "read < list.txt; SIMPLE:\"$REPLY\"",
            7 => "mapfile -t f < list.txt; SIMPLE:\"${f[1]}\"",
            8 => "printf -v f '%s.txt' b; SIMPLE:\"$f\"",
            9 => "x=(b.txt d/e.txt); SIMPLE:\"${x[@]}\"",
            10 => "SIMPLE: <<< \"$(cat FILE)\"",
            11 => "SIMPLE:<(cat FILE)",
            12 => "SIMPLE: > >(tee NEW)",
            13 => "SCRIPT & wait",
            14 => "exec > NEW; SCRIPT",
            15 => "set -e; SCRIPT; SCRIPT",
            16 => "shopt -s dotglob nullglob; SIMPLE:d/*",
            17 => "IFS=.; f=b.txt; SIMPLE:$f",
            18 => ". ./x.sh; SCRIPT",
            19 => "source x.sh FILE",
            20 => "bash x.sh; SCRIPT",
            21 => "command SIMPLE:FILE",
            22 => "\\SIMPLE:FILE",
            23 => "trap 'SCRIPTQ' EXIT; SCRIPT",
            24 => "trap -- 'SCRIPTQ' EXIT",
            25 => "n=1; ((n++)); SIMPLE:new$n",
            26 => "n=$((1 + 1)); SIMPLE:new$n",
            27 => "declare -i n=1+1; SIMPLE:new$n",
            28 => "for ((i = 1; i < 3; i++)); do SIMPLE:new$i; done",
            29 => "true b.txt; SIMPLE:$_",
            30 => "x=b.txt; SIMPLE:\"${x/b/a}\"",
            31 => "x=b.txt; SIMPLE:\"${x:0:1}.txt\"",
            32 => "alias cat=rm; SIMPLE:FILE",
            33 => "x=a.txt x=$x SIMPLE:FILE; echo \"$x\" | xargs SIMPLE:",
            34 => "run() { local f=$1; SIMPLE:\"$f\"; return; SCRIPT; }; run FILE FILE",
            35 => "HOME=DIR; cd; SCRIPT",
            36 => "CDPATH=d; cd deep; SCRIPT",
            37 => "f=NEW; SIMPLE:FILE > \"$f\"; SIMPLE:\"$f\"",
            38 => "until SIMPLE:FILE; do SCRIPT; break; done",
            39 => "mv d new1; SIMPLE:new1/e.txt",
            40 => "rm dlink; mkdir dlink; cd dlink && SCRIPT",
            41 => "cp -r d new1 && cd new1 && SCRIPT",
            42 => "cp -P dlink new1; SIMPLE:new1/new",
            _ => "SIMPLE:FILE 3> NEW >&3 2>&1",
        };
        let mut text = shell.to_owned();
        // One place after the other, so that each has another filling.
        while let Some((at, mark)) = ["SCRIPTQ", "SCRIPT", "DIR", "FILE", "NEW"]
            .iter()
            .filter_map(|mark| text.find(mark).map(|at| (at, *mark)))
            .min_by_key(|(at, mark)| (*at, std::cmp::Reverse(mark.len())))
        {
            let filling = match mark {
                "SCRIPTQ" => self.script(0).replace('\'', "'\\''"),
                "SCRIPT" => self.script(depth),
                "DIR" => self.directory(),
                "FILE" => self.file(),
                _ => self.new_name(),
            };
            text.replace_range(at..at + mark.len(), &filling);
        }
        while let Some(at) = text.find("SIMPLE:") {
            let start = at + "SIMPLE:".len();
            // The operand goes up to a space or `;` outside of quotes and parentheses.
            let (mut depth, mut quoted) = (0, false);
            let length = text[start..].find(|char: char| {
                match char {
                    '"' | '\'' => quoted = !quoted,
                    '(' => depth += 1,
                    ')' => depth -= 1,
                    ' ' | ';' if depth == 0 && !quoted => return true,
                    _ => {}
                }
                false
            });
            let end = length.map_or(text.len(), |length| start + length);
            let operand = text[start..end].to_owned();
            let call = self.simple(Some(operand));
            text.replace_range(at..end, &call);
        }
        text
    }

    fn file(&mut self) -> String {
        match self.random.below(12) {
            0 => format!("{}/work/{}", self.root, self.random.pick(&["a.txt", "b.txt", "d/e.txt", "dlink/f.txt"])),
            _ => self.pick(FILES),
        }
    }

    fn directory(&mut self) -> String {
        match self.random.below(10) {
            0 => format!("{}/work/{}", self.root, self.random.pick(&["d", "e", "dlink", ""])),
            1 => self.random.pick(&["nope", "~", "a.txt", "$PWD/d", "\"$HOME\"", "-P dlink"]).to_owned(),
            _ => self.pick(DIRECTORIES),
        }
    }

    fn new_name(&mut self) -> String {
        self.pick(NEW_NAMES)
    }

    fn target(&mut self) -> String {
        if self.random.chance(60) { self.new_name() } else { self.file() }
    }

    fn operand(&mut self) -> String {
        match self.random.below(20) {
            0..=10 => self.file(),
            11..=13 => self.pick(DIRECTORIES),
            14..=15 => self.pick(GLOBS),
            16 => "-".to_owned(),
            _ => self.new_name(),
        }
    }

    fn text(&mut self) -> String {
        match self.random.below(10) {
            0..=2 => self.operand(),
            _ => self.pick(TEXTS),
        }
    }

    /// One call of a program, about an operand if one is given.
    fn simple(&mut self, operand: Option<String>) -> String {
        let name = if self.random.chance(30) {
            self.random.pick(FREQUENT)
        } else {
            self.programs[self.random.below(self.programs.len())].0
        };
        let Some(program) = self.programs.iter().find(|(known, _)| *known == name).map(|(_, program)| program.clone())
        else {
            return "true".to_owned();
        };
        let call = Call { name, program: &program, operand };
        if name == "git" { self.git(&call) } else { self.call(&call) }
    }

    fn call(&mut self, call: &Call<'_>) -> String {
        let body = &call.program.body;
        let mut options = self.options(call, body);
        let mut operands = self.operands(call, &options);
        if let Some(given) = &call.operand {
            // It takes the place of the last word that is a file.
            if !matches!(call.name, "find" | "tar") || operands.is_empty() {
                operands.pop();
            }
            operands.push(given.clone());
        }
        let mut words = vec![call.name.to_owned()];
        let wraps = call.program.options_first;
        match self.random.below(10) {
            0 if !wraps => {
                words.append(&mut operands);
                words.append(&mut options);
            }
            1 if !matches!(call.name, "find" | "dd") => {
                words.append(&mut options);
                words.push("--".to_owned());
                words.append(&mut operands);
            }
            _ => {
                words.append(&mut options);
                words.append(&mut operands);
            }
        }
        words.retain(|word| !word.is_empty());
        words.join(" ")
    }

    fn git(&mut self, call: &Call<'_>) -> String {
        let commands = &call.program.commands;
        let mut words = vec!["git".to_owned()];
        if self.random.chance(8) {
            words.extend(["-C".to_owned(), self.directory()]);
        }
        let command = loop {
            let command = &commands[self.random.below(commands.len())];
            let pattern = &command.patterns[self.random.below(command.patterns.len())];
            if pattern.iter().any(|word| word.contains('*')) || GIT_LEFT_OUT.contains(&pattern[0].as_str()) {
                continue;
            }
            // The commands of every day come more often.
            const DAILY: [&str; 24] = [
                "add", "commit", "checkout", "restore", "reset", "rm", "mv", "stash", "clean", "diff", "log", "show",
                "apply", "merge", "rebase", "tag", "branch", "switch", "grep", "blame", "config", "remote", "fetch",
                "archive",
            ];
            if DAILY.contains(&pattern[0].as_str()) || self.random.chance(30) {
                words.extend(pattern.iter().cloned());
                break command;
            }
        };
        words.append(&mut self.options(call, &command.body));
        let given = self.role_operands(&command.body);
        if self.random.chance(15) {
            words.push("--".to_owned());
        }
        words.extend(given);
        words.extend(call.operand.clone().filter(|operand| !operand.is_empty()));
        words.join(" ")
    }

    fn options(&mut self, call: &Call<'_>, body: &Body) -> Vec<String> {
        let mut words = Vec::new();
        let left_out = LEFT_OUT.iter().find(|(name, _)| *name == call.name).map_or(&[][..], |(_, options)| *options);
        let count = self.random.pick(&[&0_usize, &1, &1, &1, &2, &2, &3]);
        for _ in 0..*count {
            if body.options.is_empty() {
                break;
            }
            let spec = &body.options[self.random.below(body.options.len())];
            let is_unsure = spec.does.iter().any(|effect| matches!(effect, Effect::Unsure(..)))
                || spec.values.iter().flatten().any(|role| matches!(role, Role::Unsure(_)));
            if (is_unsure && !self.random.chance(4)) || (spec.ends && !self.random.chance(6)) {
                continue;
            }
            if spec.names.iter().any(|name| left_out.contains(&name.as_str())) {
                continue;
            }
            self.option(call, body, spec, &mut words);
        }
        words
    }

    /// An option in one of its spellings, with its values.
    fn option(&mut self, call: &Call<'_>, body: &Body, spec: &OptionSpec, words: &mut Vec<String>) {
        let names: Vec<&String> = spec.names.iter().filter(|name| !name.contains('*')).collect();
        if names.is_empty() {
            return;
        }
        let mut name = names[self.random.below(names.len())].clone();
        if name == "-#" {
            return words.push(format!("-{}", self.random.below(4)));
        }
        let is_long = name.starts_with("--");
        if is_long && call.program.syntax == Syntax::Gnu && self.random.chance(25) {
            name.truncate(3 + self.random.below(name.len() - 2));
        } else if is_long && self.random.chance(5) {
            name =
                name.strip_prefix("--no-").map_or_else(|| name.replacen("--", "--no-", 1), |rest| format!("--{rest}"));
        }
        let is_short = name.len() == 2 && !is_long;
        if is_short && self.random.chance(20) {
            // In one word with a flag.
            let is_flag = |spec: &&OptionSpec| spec.values.is_empty() && !spec.ends && spec.does.is_empty();
            let flags: Vec<&String> = body
                .options
                .iter()
                .filter(is_flag)
                .flat_map(|spec| &spec.names)
                .filter(|flag| flag.len() == 2 && flag.starts_with('-') && *flag != "-#")
                .collect();
            if !flags.is_empty() {
                name = format!("{}{}", flags[self.random.below(flags.len())], &name[1..]);
            }
        }
        let values: Vec<String> = spec.values.iter().map(|roles| self.value(roles)).collect();
        match values.as_slice() {
            [] => words.push(name),
            [value] if spec.attached => match (self.random.chance(50), is_long) {
                (true, true) => words.push(format!("{name}={value}")),
                (true, false) => words.push(format!("{name}{value}")),
                (false, _) => words.push(name),
            },
            [value] if self.random.chance(45) => {
                words.push(if is_long { format!("{name}={value}") } else { format!("{name}{value}") })
            }
            values => {
                words.push(name);
                words.extend(values.iter().cloned());
            }
        }
    }

    fn value(&mut self, roles: &[Role]) -> String {
        match roles.first() {
            Some(Role::Path(..) | Role::Script) => {
                if self.random.chance(50) {
                    self.new_name()
                } else {
                    self.operand()
                }
            }
            Some(Role::Url | Role::Remote) => self.url(),
            Some(Role::Host) => "127.0.0.7".to_owned(),
            Some(Role::Shell) => "'cat b.txt'".to_owned(),
            Some(Role::Named(name)) => match name.as_str() {
                "rev" => self.pick(REVISIONS),
                "directory" => self.directory(),
                "curl-data" | "curl-header" | "curl-form" => {
                    self.random.pick(&["a=b", "@b.txt", "x=@b.txt", "x=<b.txt", "A: b", "@d/e.txt"]).to_owned()
                }
                "git-remote" => {
                    self.random.pick(&["origin", "../out/remote.git", "http://127.0.0.6:1/x.git"]).to_owned()
                }
                "assignment" => "x=1".to_owned(),
                name if name.starts_with("pathspec") => self.operand(),
                _ => self.text(),
            },
            _ => self.text(),
        }
    }

    fn url(&mut self) -> String {
        match self.random.below(6) {
            0 => format!("file://{}/work/b.txt", self.root),
            1 => format!("file://localhost{}/work/d/e.txt", self.root),
            2 => "http://127.0.0.2:1/x".to_owned(),
            3 => "127.0.0.3:1/y".to_owned(),
            4 => format!("'file://{}/work/d/{{e,f}}.txt'", self.root),
            _ => format!("FILE://{}/work/%61.txt", self.root),
        }
    }

    /// Words by the roles of a program's file.
    fn role_operands(&mut self, body: &Body) -> Vec<String> {
        let mut words = Vec::new();
        let cases = body.cases.iter().filter_map(|case| case.operands.as_ref());
        let lists: Vec<_> = body.operands.iter().chain(cases).collect();
        if lists.is_empty() {
            return words;
        }
        let operands = lists[self.random.below(lists.len())].clone();
        for operand in operands {
            let count = match operand.count {
                Count::One => 1,
                Count::Optional => self.random.below(2),
                Count::Any => self.random.below(3),
                Count::Some => 1 + self.random.below(2),
            };
            for _ in 0..count {
                match operand.roles.first() {
                    Some(Role::Path(..)) => words.push(self.operand()),
                    Some(Role::Text) if self.random.chance(40) => words.push(self.pick(REVISIONS)),
                    Some(Role::Command | Role::CommandWithInput) => words.push(self.simple(None)),
                    _ => words.push(self.value(&operand.roles)),
                }
            }
        }
        words
    }

    fn some_operands(&mut self, least: usize) -> Vec<String> {
        let count = least + self.random.below(3);
        (0..count).map(|_| self.operand()).collect()
    }

    fn one_of(&mut self, scripts: &[&'static str], files: usize) -> Vec<String> {
        let mut words = vec![quoted(self.random.pick(scripts))];
        words.append(&mut self.some_operands(files));
        words
    }

    fn operands(&mut self, call: &Call<'_>, options: &[String]) -> Vec<String> {
        match call.name {
            "sed" => self.one_of(
                &[
                    "s/a/b/",
                    "p",
                    "2d",
                    "w new1",
                    "s/a/b/w new2",
                    "r b.txt",
                    "$!N;P;D",
                    "y/ab/cd/",
                    "1i\\ text",
                    "F",
                    "R d/e.txt",
                    "W new1",
                    "e",
                    "s/a/b/e",
                    "/a/{p;w new1\n}",
                    "# c\nw new2",
                    "a\\\nw new1",
                    ":a;s/a/b/;ta",
                    "b;w new1",
                    "1{r b.txt\n}",
                    "s/x/y/gpw new1",
                    "$r list.txt",
                    "q5",
                    "i w x",
                ],
                1,
            ),
            "awk" => self.one_of(
                &[
                    "{print $1}",
                    "{print > \"new1\"}",
                    "{print >> \"new2\"}",
                    "BEGIN{while((getline l < \"b.txt\")>0) print l}",
                    "{print | \"cat\"}",
                    "END{print NR}",
                    "BEGIN{system(\"cat b.txt\")}",
                    "$1 > 2",
                    "{print $1 > 2}",
                    "{print ($1 > 2)}",
                    "BEGIN{f=\"b.txt\"; getline x < f; print x}",
                    "/a/{n++} END{print n}",
                    "{print > $1}",
                    "{printf \"%s\", $0 > \"/dev/stderr\"}",
                    "{ print $1 }  # > \"x\"",
                    "BEGIN{\"cat b.txt\" | getline x}",
                    "{gsub(/a/,\"b\"); print}",
                    "{print > (\"new\" NR)}",
                    "BEGIN{printf \"x\" > \"new1\"; close(\"new1\")}",
                    "FNR==NR{a[$1];next} $1 in a",
                ],
                1,
            ),
            "jq" => self.one_of(
                &[
                    ".",
                    ".a",
                    ".[]",
                    "[inputs]",
                    "keys",
                    "input_filename",
                    "env",
                    "$ENV.HOME",
                    "include \"x\"; .",
                    "import \"d/e\" as x; .",
                    "input",
                ],
                1,
            ),
            "find" => self.find(),
            "tar" => self.tar(options),
            "dd" => {
                let mut words = Vec::new();
                for _ in 0..1 + self.random.below(3) {
                    words.push(match self.random.below(6) {
                        0 | 1 => format!("if={}", self.file()),
                        2 | 3 => format!("of={}", self.target()),
                        _ => self
                            .random
                            .pick(&[
                                "bs=1",
                                "count=1",
                                "conv=notrunc",
                                "conv=nocreat",
                                "status=none",
                                "seek=1",
                                "conv=excl",
                                "oflag=append",
                            ])
                            .to_owned(),
                    });
                }
                words
            }
            "tr" => vec![self.pick(TEXTS), self.pick(TEXTS)],
            "xargs" | "env" | "nice" | "nohup" | "stdbuf" => {
                let mut words = Vec::new();
                if call.name == "env" && self.random.chance(30) {
                    words.push("x=1".to_owned());
                }
                words.push(self.simple(None));
                words
            }
            "timeout" => vec!["1".to_owned(), self.simple(None)],
            "flock" => vec![self.target(), self.simple(None)],
            "curl" | "wget" => (0..1 + self.random.below(2)).map(|_| self.url()).collect(),
            "zip" => {
                let mut words = vec![if self.random.chance(50) { "arc.zip".to_owned() } else { self.new_name() }];
                words.append(&mut self.some_operands(1));
                words
            }
            "unzip" | "zipinfo" | "zipnote" => {
                let mut words = vec!["arc.zip".to_owned()];
                words.extend(
                    self.random
                        .clone()
                        .pick(&[&[][..], &["b.txt"], &["-d", "new1"], &["-x", "b.txt"], &["d/*", "-d", "e"]])
                        .iter()
                        .map(|&word| word.to_owned()),
                );
                words
            }
            "patch" => match self.random.below(4) {
                0 => vec!["b.txt".to_owned(), "p.patch".to_owned()],
                1 => vec!["-i".to_owned(), "p.patch".to_owned()],
                2 => vec!["-p0".to_owned(), "<".to_owned(), "p.patch".to_owned()],
                _ => vec![self.file(), "p.patch".to_owned()],
            },
            "split" => vec![self.file(), if self.random.chance(50) { self.new_name() } else { String::new() }],
            "csplit" => {
                vec![self.file(), self.random.pick(&["2", "/beta/", "%two%", "2 {1}", "'/t/' '{*}'"]).to_owned()]
            }
            "chmod" => {
                let mode = self.random.pick(&["644", "u+x", "a-w", "+x", "-x", "g=u", "0755"]).to_owned();
                [vec![mode], self.some_operands(1)].concat()
            }
            "chown" | "chgrp" => [vec!["0".to_owned()], self.some_operands(1)].concat(),
            "truncate" => [vec!["-s".to_owned(), "5".to_owned()], self.some_operands(1)].concat(),
            "fallocate" => vec!["-l".to_owned(), "5".to_owned(), self.target()],
            "mktemp" => self
                .random
                .clone()
                .pick(&[&[][..], &["x.XXXXXX"], &["d/x.XXX"], &["-p", "d"], &["-d", "y.XXXX"]])
                .iter()
                .map(|&word| word.to_owned())
                .collect(),
            "cp" | "mv" | "ln" | "install" | "link" => {
                let mut words = self.some_operands(1);
                words.truncate(if call.name == "link" { 1 } else { 3 });
                let to_directory = self.random.chance(50);
                words.push(if to_directory { self.pick(DIRECTORIES) } else { self.target() });
                words
            }
            "ar" => vec![
                self.random.pick(&["r", "t", "x", "d", "q", "p", "rc", "rcs", "-rc"]).to_owned(),
                self.target(),
                self.file(),
            ],
            "sqlite3" => {
                let statement = self.random.pick(&[
                    "select 1",
                    "create table t(a)",
                    ".tables",
                    "select readfile('b.txt')",
                    ".read b.txt",
                    "attach 'new2' as x",
                ]);
                vec![self.target(), quoted(statement)]
            }
            "mkfifo" | "mkdir" => vec![self.new_name()],
            "touch" | "rm" | "rmdir" | "unlink" | "shred" | "tee" => {
                if self.random.chance(40) {
                    vec![self.new_name(), self.operand()]
                } else {
                    self.some_operands(1)
                }
            }
            "grep" | "egrep" | "fgrep" | "rgrep" | "zgrep" | "bzgrep" | "xzgrep" => {
                [vec![self.pick(TEXTS)], self.some_operands(1)].concat()
            }
            "gunzip" | "zcat" | "uncompress" => {
                vec![self.random.pick(&["z.gz", "arc.tar.gz", "z", "-c z.gz", "b.txt"]).to_owned()]
            }
            "bunzip2" | "bzcat" => vec!["z.bz2".to_owned()],
            "unxz" | "xzcat" | "unlzma" => vec!["z.xz".to_owned()],
            _ => self.role_operands(&call.program.body),
        }
    }

    fn find(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        for _ in 0..self.random.below(3) {
            words.push(if self.random.chance(70) { self.pick(DIRECTORIES) } else { self.file() });
        }
        if self.random.chance(15) {
            words.insert(0, self.random.pick(&["-L", "-H", "-P", "-O3", "-D tree"]).to_owned());
        }
        for _ in 0..1 + self.random.below(3) {
            let test = match self.random.below(22) {
                0 => "-name '*.txt'".to_owned(),
                1 => "-type f".to_owned(),
                2 => "-maxdepth 1".to_owned(),
                3 => "-delete".to_owned(),
                4 => format!("-fprint {}", self.target()),
                5 => format!("-newer {}", self.file()),
                6 => format!("-exec {} \\;", self.simple(Some("{}".to_owned()))),
                7 => format!("-exec {} +", self.simple(Some("{}".to_owned()))),
                8 => format!("-execdir {} \\;", self.simple(Some("{}".to_owned()))),
                9 => format!("-fprintf {} '%p'", self.target()),
                10 => "-empty".to_owned(),
                11 => "-o -print".to_owned(),
                12 => "-not -name x".to_owned(),
                13 => "\\( -name a -o -name b.txt \\)".to_owned(),
                14 => "-path ./.git -prune -o -type f".to_owned(),
                15 => "-ls".to_owned(),
                16 => format!("-fls {}", self.target()),
                17 => format!("-samefile {}", self.file()),
                18 => "-quit".to_owned(),
                19 => "-size +1c -print0".to_owned(),
                20 => format!("-files0-from {}", self.random.pick(&["list0", "-"])),
                _ => "-follow".to_owned(),
            };
            words.push(test);
        }
        words
    }

    fn tar(&mut self, options: &[String]) -> Vec<String> {
        if options.iter().any(|option| option.contains("file")) && self.random.chance(50) {
            return self.some_operands(0);
        }
        let create = self.random.chance(50);
        let archive = if create { self.new_name() } else { self.random.pick(&["arc.tar", "arc.tar.gz"]).to_owned() };
        let mut words: Vec<String> = match (create, self.random.below(6)) {
            (true, 0) => vec!["cf".to_owned(), archive],
            (true, 1) => vec!["-czf".to_owned(), archive],
            (true, 2) => vec![format!("--create --file={archive}")],
            (true, 3) => vec!["cfC".to_owned(), archive, self.pick(DIRECTORIES)],
            (true, 4) => vec!["-rf".to_owned(), "arc.tar".to_owned()],
            (true, _) => vec!["-c".to_owned(), "-f".to_owned(), archive],
            (false, 0) => vec!["xf".to_owned(), archive],
            (false, 1) => vec!["-tf".to_owned(), archive],
            (false, 2) => vec!["-xf".to_owned(), archive, "-C".to_owned(), self.pick(DIRECTORIES)],
            (false, 3) => vec!["xfC".to_owned(), archive, self.pick(DIRECTORIES)],
            (false, 4) => vec!["xvf".to_owned(), archive, "b.txt".to_owned()],
            (false, _) => vec!["--extract".to_owned(), "--file".to_owned(), archive],
        };
        if create {
            words.append(&mut self.some_operands(1));
        }
        words
    }
}

struct Call<'p> {
    name: &'static str,
    program: &'p Program,
    operand: Option<String>,
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
