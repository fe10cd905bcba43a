//! Inserts the user's arguments into a shell command so that the shell reads them as one piece of data.
//!
//! Positions where that is impossible are an error. The tools run `bash` or `sh` on
//! every platform, so one set of rules suffices.

use super::template::ARGS_PLACEHOLDER;

/// A position in a shell command where arguments cannot be made safe.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnsafeArgs {
    /// The offset of `{{args}}` in the command.
    pub(super) at: usize,
    /// The kind of position, in words.
    pub(super) reason: &'static str,
}

/// Returns `arg` as one word of a POSIX shell. An empty text stays empty, so that no empty argument is passed.
pub fn shell_escape(arg: &str) -> String {
    if arg.chars().all(is_plain_char) { arg.to_owned() } else { single_quoted(arg) }
}

fn is_plain_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || "_-./:,@%+".contains(char)
}

fn single_quoted(arg: &str) -> String {
    format!("'{}'", arg.replace('\'', r"'\''"))
}

/// Returns the command with `args` in place of every `{{args}}`.
///
/// Quotes around a placeholder are closed and opened again, as quotes inside quotes would protect nothing.
pub(super) fn insert_args(command: &str, args: &str) -> Result<String, UnsafeArgs> {
    let mut filled = String::with_capacity(command.len());
    let mut reader = ShellCursor::new(command);
    let mut done = 0;
    for (at, _) in command.match_indices(ARGS_PLACEHOLDER) {
        let quote = reader.quote_at(at).map_err(|why| UnsafeArgs { at, reason: why })?;
        if let Some(why) = reader.args_position().evaluation_reason() {
            return Err(UnsafeArgs { at, reason: why });
        }
        filled.push_str(&command[done..at]);
        done = at + ARGS_PLACEHOLDER.len();
        reader.at = done;
        match quote {
            _ if args.is_empty() => {}
            Some(quote) => filled.extend([quote, &single_quoted(args), quote]),
            None if is_whole_word(command, at) && !RESERVED_WORDS.contains(&args) => {
                filled.push_str(&shell_escape(args))
            }
            None => filled.push_str(&single_quoted(args)),
        }
    }
    filled.push_str(&command[done..]);
    Ok(filled)
}

/// Returns whether the arguments are a whole word; otherwise they need quotes,
/// or `$a{{args}}` would be another variable.
fn is_whole_word(command: &str, at: usize) -> bool {
    let before = command[..at].chars().next_back();
    let after = command[at + ARGS_PLACEHOLDER.len()..].chars().next();
    before.is_none_or(|before| " \t\n".contains(before)) && after.is_none_or(|after| " \t\n".contains(after))
}

/// The words that are shell syntax unless they are quoted.
const RESERVED_WORDS: [&str; 16] = [
    "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select", "then",
    "until", "while",
];

/// The characters that separate words in a shell.
const WORD_SEPARATORS: &str = " \t\n;|&()<>";

/// Returns the program that evaluates `{{args}}` as code, if there is one: this
/// shell's quotes do not protect from another.
pub(super) fn args_evaluator(command: &str) -> Option<String> {
    let mut reader = ShellCursor::new(command);
    command.match_indices(ARGS_PLACEHOLDER).find_map(|(at, _)| {
        reader.quote_at(at).ok()?;
        let found = reader.args_position().evaluator();
        reader.at = at + ARGS_PLACEHOLDER.len();
        found
    })
}

/// The syntactic context of the next character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QuoteFrame {
    /// A command, at the top level or in parentheses.
    Command,
    Single,
    Double,
}

/// Reads a shell command as far as needed to know which quotes a position is in. It fails rather than guess.
struct ShellCursor<'a> {
    command: &'a str,
    at: usize,
    frames: Vec<QuoteFrame>,
    /// The start of the current simple command, for each `QuoteFrame::Command`.
    command_starts: Vec<usize>,
    failure: Option<&'static str>,
}

impl<'a> ShellCursor<'a> {
    fn new(command: &'a str) -> Self {
        // The patterns of `case` have unbalanced closing parentheses.
        let lost = command.contains("esac").then_some("in a command with case");
        ShellCursor { command, at: 0, frames: vec![QuoteFrame::Command], command_starts: vec![0], failure: lost }
    }

    /// Returns the quote that encloses `place`, if any, or why that is unknown.
    fn quote_at(&mut self, place: usize) -> Result<Option<&'static str>, &'static str> {
        while self.at < place && self.failure.is_none() {
            self.advance(place);
        }
        match (self.failure, self.frames.last()) {
            (Some(why), _) => Err(why),
            (None, Some(QuoteFrame::Single)) => Ok(Some("'")),
            (None, Some(QuoteFrame::Double)) => Ok(Some("\"")),
            (None, _) => Ok(None),
        }
    }

    /// Returns the words before the current position, in its simple command.
    fn args_position(&self) -> ArgsPosition<'a> {
        let start = self.command_starts.last().copied().unwrap_or(0).min(self.at);
        let (words, prefix) = split_words(&self.command[start..self.at]);
        ArgsPosition { command: self.command, at: self.at, preceding_words: words, prefix }
    }

    fn advance(&mut self, place: usize) {
        let rest = &self.command[self.at..];
        let Some(char) = rest.chars().next() else { return };
        let after = &rest[char.len_utf8()..];
        let frame = self.frames.last().copied().unwrap_or(QuoteFrame::Command);
        let mut width = char.len_utf8();
        match (frame, char) {
            (QuoteFrame::Single, '\'') | (QuoteFrame::Double, '"') => drop(self.frames.pop()),
            (QuoteFrame::Single, _) => {}
            (_, '\\') => {
                width += after.chars().next().map_or(0, char::len_utf8);
                if self.at + 1 == place {
                    self.failure = Some("after a backslash");
                }
            }
            (_, '`') => self.failure = Some("in or after backquotes"),
            (_, '$') => width = self.dollar_width(after, frame),
            (QuoteFrame::Double, _) => {}
            (QuoteFrame::Command, '\'') => self.frames.push(QuoteFrame::Single),
            (QuoteFrame::Command, '"') => self.frames.push(QuoteFrame::Double),
            (QuoteFrame::Command, '(') if after.starts_with('(') => self.failure = Some("in or after arithmetic"),
            (QuoteFrame::Command, '(') => self.open_command(self.at + 1),
            (QuoteFrame::Command, ')') if self.frames.len() > 1 => {
                self.frames.pop();
                self.command_starts.pop();
            }
            // Part of a redirection, such as `2>&1`, `&>file` and `>|file`.
            (QuoteFrame::Command, '|' | '&')
                if self.command[..self.at].ends_with(['<', '>']) || after.starts_with('>') => {}
            (QuoteFrame::Command, ';' | '|' | '&' | '\n') => {
                if let Some(start) = self.command_starts.last_mut() {
                    *start = self.at + 1;
                }
            }
            (QuoteFrame::Command, '<') if after.starts_with("<<") => width = 3,
            (QuoteFrame::Command, '<') if after.starts_with('<') => {
                self.failure = Some("after the start of a here-document")
            }
            (QuoteFrame::Command, '#') => width = self.hash_width(rest, place),
            (QuoteFrame::Command, _) => {}
        }
        self.at += width;
    }

    /// Handles a `$` and what it begins; returns the width.
    fn dollar_width(&mut self, after: &str, frame: QuoteFrame) -> usize {
        if after.starts_with("((") || after.starts_with('[') {
            return self.give_up("in or after arithmetic");
        }
        if after.starts_with('\'') && frame == QuoteFrame::Command {
            return self.give_up("in or after $'…'");
        }
        if after.starts_with('(') {
            self.open_command(self.at + 2);
            return 2;
        }
        match after.strip_prefix('{').map(|inside| inside.split_once('}')) {
            None => 1,
            Some(Some((name, _))) if !name.contains(['\'', '"', '`', '$', '\\', '{', '(']) => 1 + name.len() + 2,
            Some(_) => self.give_up("in or after ${…}"),
        }
    }

    /// Handles a `#`, and the comment that it begins at the start of a word; returns the width.
    fn hash_width(&mut self, rest: &str, place: usize) -> usize {
        let mut before = self.command[..self.at].chars().rev();
        let (last, escape) = (before.next(), before.next() == Some('\\'));
        match last {
            Some(last) if !WORD_SEPARATORS.contains(last) => 1,
            // It is unknown whether a word continues after an escaped blank or a parenthesis.
            Some(')') => self.give_up("after )#"),
            Some(_) if escape => self.give_up("after \\ and #"),
            _ => match rest.find('\n') {
                Some(end) if self.at + end < place => end,
                _ => self.give_up("in a comment"),
            },
        }
    }

    fn open_command(&mut self, start: usize) {
        self.frames.push(QuoteFrame::Command);
        self.command_starts.push(start);
    }

    fn give_up(&mut self, why: &'static str) -> usize {
        self.failure = Some(why);
        1
    }
}

/// The position of `{{args}}` among the words of a simple command.
struct ArgsPosition<'a> {
    command: &'a str,
    at: usize,
    /// The words before it, without quotes.
    preceding_words: Vec<String>,
    /// The text before it in its own word.
    prefix: String,
}

/// The words that may precede a simple command without being part of it.
const COMMAND_PREFIX_WORDS: [&str; 13] =
    ["if", "then", "else", "elif", "while", "until", "do", "!", "{", "time", "command", "builtin", "coproc"];
/// The builtins that take variable names, in which an index is evaluated.
const NAME_TAKING_BUILTINS: [&str; 10] =
    ["read", "unset", "mapfile", "readarray", "getopts", "declare", "typeset", "local", "readonly", "export"];
/// The variables whose value the shell itself evaluates: as a number, as a prompt, or as a file of commands.
const EVALUATED_VARIABLES: [&str; 14] = [
    "BASHPID",
    "BASH_ENV",
    "ENV",
    "HISTCMD",
    "LINENO",
    "OPTIND",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "RANDOM",
    "SECONDS",
];
/// The operators of `[[` that evaluate their operands.
const ARITHMETIC_TEST_OPERATORS: [&str; 8] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];
/// The programs that evaluate their arguments as code.
const EVALUATORS: [&str; 10] = ["eval", "trap", "ssh", "watch", "parallel", "awk", "gawk", "mawk", "source", "."];
/// The interpreters, with the option that is followed by code.
const INTERPRETERS: [(&str, char); 16] = [
    ("sh", 'c'),
    ("bash", 'c'),
    ("dash", 'c'),
    ("zsh", 'c'),
    ("ksh", 'c'),
    ("mksh", 'c'),
    ("ash", 'c'),
    ("fish", 'c'),
    ("su", 'c'),
    ("python", 'c'),
    ("python3", 'c'),
    ("perl", 'e'),
    ("ruby", 'e'),
    ("node", 'e'),
    ("php", 'r'),
    ("env", 'S'),
];

impl ArgsPosition<'_> {
    /// Returns why the shell would evaluate the arguments however they are quoted: an array index may hold a command.
    fn evaluation_reason(&self) -> Option<&'static str> {
        let command_words = self.command_words();
        let (program, before) = command_words.split_first().map_or(("", &[][..]), |(program, rest)| (*program, rest));
        let names_variable = !self.prefix.contains('=') && !self.is_here_string();
        match () {
            () if self.is_in_index() => Some("in an index, which is arithmetic,"),
            () if self.is_in_arithmetic_test() => Some("in a [[ … ]] that calculates"),
            () if matches!(program, "test" | "[") && before.iter().any(|word| matches!(*word, "-v" | "-R")) => {
                Some("as the name of a variable")
            }
            () if assigned_name(&self.prefix).is_some_and(|name| EVALUATED_VARIABLES.contains(&name)) => {
                Some("in a variable that the shell evaluates,")
            }
            () if program == "let" => Some("in or after arithmetic"),
            () if program == "printf" && self.is_named_by_printf(before) => Some("as the name of a variable"),
            () if NAME_TAKING_BUILTINS.contains(&program) && names_variable => Some("as the name of a variable"),
            () if self.sets_variable(program, before) && evaluates_arithmetic(self.command) => {
                Some("in a variable, in a command that also calculates,")
            }
            () => None,
        }
    }

    /// Returns the words of the command itself, without assignments, redirections and keywords before its name.
    fn command_words(&self) -> Vec<&str> {
        let start = self.preceding_words.iter().rposition(|word| word == "{").map_or(0, |at| at + 1);
        let mut words = self.preceding_words[start..].iter().map(String::as_str).peekable();
        while let Some(word) = words.peek() {
            let operator = word.trim_start_matches(|char: char| char.is_ascii_digit() || char == '&');
            let is_redirection = operator.starts_with(['<', '>']);
            let takes_next =
                *word == "function" || is_redirection && operator.chars().all(|char| "<>|&".contains(char));
            let stands_before = COMMAND_PREFIX_WORDS.contains(word)
                || word.starts_with('-')
                || word.ends_with("()")
                || is_assignment(word)
                || is_redirection
                || takes_next;
            if !stands_before {
                break;
            }
            words.next();
            if takes_next {
                words.next();
            }
        }
        words.collect()
    }

    /// Returns whether the arguments stand in an index, as in `a[{{args}}` or `([{{args}}`.
    fn is_in_index(&self) -> bool {
        self.prefix.rsplit_once('[').is_some_and(|(name, index)| {
            !index.contains(']') && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
        })
    }

    fn is_in_arithmetic_test(&self) -> bool {
        let before = &self.command[..self.at];
        let Some(start) = before.rfind("[[").filter(|start| !before[*start..].contains("]]")) else { return false };
        let rest = &self.command[start..];
        let body = rest.split_once("]]").map_or(rest, |(body, _)| body);
        body.split_whitespace().any(|word| ARITHMETIC_TEST_OPERATORS.contains(&word))
    }

    fn is_here_string(&self) -> bool {
        self.prefix.starts_with("<<<") || self.preceding_words.last().is_some_and(|word| word == "<<<")
    }

    fn is_named_by_printf(&self, before: &[&str]) -> bool {
        before.last() == Some(&"-v") || self.prefix.starts_with("-v")
    }

    /// Returns whether the arguments may become the value of a variable, or of `$1`.
    fn sets_variable(&self, program: &str, before: &[&str]) -> bool {
        const VALUE_CARRIERS: [&str; 5] = ["()", "function ", "=$(", "=\"$(", "=("];
        let reads = |word: &str| matches!(word, "read" | "mapfile" | "readarray");
        is_assignment(&self.prefix)
            || self.is_here_string()
            || matches!(program, "for" | "select" | "set")
            || program == "printf" && before.contains(&"-v")
            || VALUE_CARRIERS.iter().any(|carrier| self.command.contains(carrier))
            || self.command.split([' ', '\t', '\n', '|', ';', '&']).any(reads)
    }

    /// Returns the program that evaluates the arguments as code.
    fn evaluator(&self) -> Option<String> {
        let words: Vec<&str> =
            self.preceding_words.iter().map(|word| word.rsplit('/').next().unwrap_or(word)).collect();
        let program = self.command_words().first().map(|word| word.rsplit('/').next().unwrap_or(word));
        if let Some(program) = program.filter(|program| EVALUATORS.contains(program)) {
            return Some(program.to_owned());
        }
        // The code is the word right after the option; later words are its arguments.
        let is_option = |word: &str, letter: char| {
            word.starts_with('-') && !word.starts_with("--") && word.ends_with(letter) || word == format!("-{letter}")
        };
        INTERPRETERS.iter().find_map(|(name, letter)| {
            let at = words.iter().position(|word| word == name)?;
            let takes_code = words[at..].last().is_some_and(|word| is_option(word, *letter));
            takes_code.then(|| format!("{name} -{letter}"))
        })
    }
}

fn is_assignment(word: &str) -> bool {
    assigned_name(word).is_some()
}

/// Returns the name in `NAME=…`, `NAME+=…` or `NAME[…]=…`.
fn assigned_name(word: &str) -> Option<&str> {
    let (name, _) = word.split_once('=')?;
    let name = name.trim_end_matches('+').split('[').next().unwrap_or_default();
    let is_name = !name.is_empty()
        && !name.starts_with(|char: char| char.is_ascii_digit())
        && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    is_name.then_some(name)
}

/// Returns whether a builtin takes a variable name from another variable: `read -r "$name"`.
fn takes_name_from_variable<'w>(words: impl Iterator<Item = &'w str>) -> bool {
    let mut follows_builtin = false;
    for word in words {
        if follows_builtin && word.trim_start_matches('"').starts_with('$') {
            return true;
        }
        follows_builtin = NAME_TAKING_BUILTINS.contains(&word) || follows_builtin && word.starts_with('-');
    }
    false
}

/// Returns whether a command evaluates anything as arithmetic or as a variable name, so that a value may become code.
fn evaluates_arithmetic(command: &str) -> bool {
    let words = || command.split([' ', '\t', '\n', ';', '&', '|', '(', ')']).filter(|word| !word.is_empty());
    let declares = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains(['i', 'n']);
    let mut pairs = words().zip(words().skip(1));
    command.contains("((")
        || command.contains("$[")
        || command.contains("]=")
        || command.contains("]+=")
        || words().any(|word| matches!(word, "let" | "unset") || ARITHMETIC_TEST_OPERATORS.contains(&word))
        || pairs.any(|(word, next)| NAME_TAKING_BUILTINS[5..].contains(&word) && declares(next))
        || takes_name_from_variable(words())
        || command.match_indices("${").any(|(at, _)| {
            let inside = command[at + 2..].split('}').next().unwrap_or_default();
            let cut = inside.split_once(':').is_some_and(|(_, rest)| !rest.starts_with(['-', '=', '?', '+']));
            inside.starts_with('!') || inside.contains('[') || inside.ends_with("@P") || cut
        })
}

/// Returns the words of a text without their quotes, and the beginning of the unfinished word.
fn split_words(text: &str) -> (Vec<String>, String) {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match (quote, char) {
            (None, '\'' | '"') => quote = Some(char),
            (Some(open), _) if char == open => quote = None,
            (None | Some('"'), '\\') => word.extend(chars.next().filter(|next| *next != '\n')),
            (None, ' ' | '\t' | '\n') => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(char),
        }
    }
    (words, word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwright_testkit::deadline::*;

    const HOSTILE_ARGS: &[&str] = &[
        "plain",
        "a b",
        "it's",
        r#""; touch pwned; ""#,
        "'; touch pwned; '",
        "$(touch pwned)",
        "`touch pwned`",
        "\\",
        "\\'; touch pwned #",
        "a\ntouch pwned",
        "x\n)\ntouch pwned\n(",
        "}} > pwned",
        "$HOME ~ * ? [a] {1,2} !! # & | < >",
        "A=b",
        "é€😀\u{a0}\t.",
        "{{args}}",
        "a[$(touch pwned)]",
    ];

    #[test]
    fn special_characters_are_quoted() {
        assert_eq!(shell_escape(""), "");
        assert_eq!(shell_escape("src/a-b_1.rs"), "src/a-b_1.rs");
        assert_eq!(shell_escape("a b"), "'a b'");
        assert_eq!(shell_escape("it's"), r"'it'\''s'");
        for special in ["$x", "~", "a=b", "#", "*", "\n"] {
            assert_eq!(shell_escape(special), format!("'{special}'"));
        }
    }

    #[test]
    fn args_are_quoted_for_their_position() {
        let filled = |command: &str| insert_args(command, "a b").unwrap();
        assert_eq!(filled("grep -r {{args}} ."), "grep -r 'a b' .");
        assert_eq!(filled(r#"grep "x {{args}} y""#), r#"grep "x "'a b'" y""#);
        assert_eq!(filled("grep 'x {{args}}'"), "grep 'x ''a b'''");
        let nested = r#"echo "$(grep {{args}} "f {{args}}")" {{args}}"#;
        assert_eq!(filled(nested), r#"echo "$(grep 'a b' "f "'a b'"")" 'a b'"#);
        assert_eq!(insert_args("echo {{args}} $v{{args}}", "x").unwrap(), "echo x $v'x'");
        assert_eq!(insert_args("git log {{args}}", "").unwrap(), "git log ");
        assert_eq!(insert_args("{{args}} x; then", "if").unwrap(), "'if' x; then");
        assert_eq!(insert_args("ls", "x").unwrap(), "ls");
    }

    #[test]
    fn unsafe_positions_are_errors() {
        for (command, why) in [
            ("cat <<EOF\n{{args}}\nEOF", "after the start of a here-document"),
            ("echo `echo {{args}}`", "in or after backquotes"),
            ("echo $'{{args}}'", "in or after $'…'"),
            ("echo ${{args}}", "in or after ${…}"),
            (r#"echo "${x:-{{args}}}""#, "in or after ${…}"),
            ("echo ${x:-'}'} {{args}}", "in or after ${…}"),
            ("echo $(({{args}}))", "in or after arithmetic"),
            ("(( {{args}} ))", "in or after arithmetic"),
            ("echo $[{{args}}]", "in or after arithmetic"),
            ("ls # {{args}}", "in a comment"),
            (r"echo \{{args}}", "after a backslash"),
            (r#"echo "\{{args}}""#, "after a backslash"),
            ("echo a\\\n#' {{args}}", "after \\ and #"),
            ("(ls)#' {{args}}", "after )#"),
            (r#"echo "$(case x in x) echo {{args}};; esac)""#, "in a command with case"),
            ("[[ {{args}} -gt 3 ]] && ls", "in a [[ … ]] that calculates"),
            ("ls; [[ -n x && 3 -lt '{{args}}' ]]", "in a [[ … ]] that calculates"),
            ("[[ -v {{args}} ]]", "in a [[ … ]] that calculates"),
            ("let x={{args}}", "in or after arithmetic"),
            (r#"if l\et "{{args}}"; then ls; fi"#, "in or after arithmetic"),
            ("command let {{args}}", "in or after arithmetic"),
            ("X=1 let {{args}}", "in or after arithmetic"),
            ("let x 2>&1 {{args}}", "in or after arithmetic"),
            ("> log let {{args}}", "in or after arithmetic"),
            ("time -p let {{args}}", "in or after arithmetic"),
            ("f() { let {{args}}; }; f", "in or after arithmetic"),
            ("coproc X { let {{args}}; }", "in or after arithmetic"),
            ("for ((i=0; i<{{args}}; i++)); do ls; done", "in or after arithmetic"),
            ("declare -i x={{args}}", "in a variable, in a command that also calculates,"),
            ("declare -ai x={{args}}", "in a variable, in a command that also calculates,"),
            ("local -n x={{args}}", "in a variable, in a command that also calculates,"),
            ("declare -i n; n={{args}}", "in a variable, in a command that also calculates,"),
            ("n={{args}}; (( n > 3 ))", "in a variable, in a command that also calculates,"),
            ("n=$(echo {{args}}); (( n > 3 ))", "in a variable, in a command that also calculates,"),
            ("echo {{args}} | while read n; do let n; done", "in a variable, in a command that also calculates,"),
            ("printf -v n %s {{args}}; let n", "in a variable, in a command that also calculates,"),
            ("n={{args}}; [[ $n -gt 3 ]]", "in a variable, in a command that also calculates,"),
            ("n={{args}}; echo ${!n}", "in a variable, in a command that also calculates,"),
            ("n={{args}}; echo ${x[n]} ${x:n}", "in a variable, in a command that also calculates,"),
            ("for n in {{args}}; do echo $((n)); done", "in a variable, in a command that also calculates,"),
            ("set -- {{args}}; echo $(( $1 ))", "in a variable, in a command that also calculates,"),
            ("f() { let x=$1; }; f {{args}}", "in a variable, in a command that also calculates,"),
            ("read n <<< {{args}}; let n", "in a variable, in a command that also calculates,"),
            ("echo {{args}} | read n; let n", "in a variable, in a command that also calculates,"),
            ("z={{args}}; read -r \"$z\" < /dev/null", "in a variable, in a command that also calculates,"),
            ("x={{args}}; echo \"${x@P}\"", "in a variable, in a command that also calculates,"),
            ("RANDOM={{args}}", "in a variable that the shell evaluates,"),
            ("OPTIND={{args}}; ls", "in a variable that the shell evaluates,"),
            ("PS4={{args}}; set -x; :", "in a variable that the shell evaluates,"),
            ("BASH_ENV={{args}} bash -c :", "in a variable that the shell evaluates,"),
            ("declare {{args}}", "as the name of a variable"),
            ("test -v {{args}}", "as the name of a variable"),
            ("[ -v '{{args}}' ]", "as the name of a variable"),
            ("ls && [ ! -v {{args}} ]", "as the name of a variable"),
            ("printf -v {{args}} x", "as the name of a variable"),
            ("printf -v'{{args}}' x", "as the name of a variable"),
            ("read -r {{args}}", "as the name of a variable"),
            ("unset {{args}}", "as the name of a variable"),
            ("mapfile {{args}}", "as the name of a variable"),
            ("a[{{args}}]=1", "in an index, which is arithmetic,"),
            ("a=([{{args}}]=1)", "in an index, which is arithmetic,"),
            ("echo ${a[{{args}}]}", "in or after ${…}"),
            ("echo ${x:{{args}}}", "in or after ${…}"),
        ] {
            assert_eq!(insert_args(command, "x").map_err(|problem| problem.reason), Err(why), "{command}");
        }
    }

    #[test]
    fn ordinary_commands_are_accepted() {
        for command in [
            "[ -f {{args}} ] && cat {{args}}",
            r#"[[ "{{args}}" == x ]] && ls"#,
            "[[ -n {{args}} ]]; test {{args}} = x; [ {{args}} -gt 3 ]",
            "export NAME={{args}}; make",
            "FOO={{args}} make; echo ${FOO:-x} ${FOO%.c}",
            "for f in {{args}}; do ls $f; done",
            "printf '%s' {{args}}; git log --grep={{args}}",
            "echo let {{args}}",
            "grep -r read {{args}}",
            "echo {{args}} $((1 + 2))",
            "sed -n {{args}}p file | wc -l",
        ] {
            assert!(insert_args(command, "x").is_ok(), "{command}: {:?}", insert_args(command, "x"));
        }
    }

    #[test]
    fn nested_evaluators_are_detected() {
        for (command, program) in [
            ("eval {{args}}", Some("eval")),
            (r#"sh -c "echo {{args}}""#, Some("sh -c")),
            ("/bin/bash -euc 'ls {{args}}'", Some("bash -c")),
            ("ssh host ls {{args}}", Some("ssh")),
            ("su -c 'ls {{args}}' root", Some("su -c")),
            ("find . -exec sh -c 'echo {{args}}' ';'", Some("sh -c")),
            ("sudo bash -c {{args}}", Some("bash -c")),
            ("ls && python3 -c 'print({{args}})'", Some("python3 -c")),
            (r#"sh -c 'echo "$1"' _ {{args}}"#, None),
            ("grep {{args}} file; sh -c ls", None),
            ("git commit -m {{args}}", None),
        ] {
            assert_eq!(args_evaluator(command).as_deref(), program, "{command}");
        }
    }

    /// A real shell runs each command, which prints the arguments between brackets and does nothing else.
    #[cfg(unix)]
    #[test]
    fn hostile_arguments_stay_data() {
        let dir = tempfile::tempdir().unwrap();
        let commands = [
            "printf '[%s]' {{args}}",
            r#"printf '[%s]' "{{args}}""#,
            "printf '[%s]' '{{args}}'",
            r#"printf '[%s]' "$(printf %s {{args}})""#,
            r#"printf '[%s]' "$(printf %s "{{args}}")""#,
            r#"printf '[%s]' "$(printf %s '{{args}}')" # it's over"#,
            "# it's a start\nprintf '[%s]' {{args}}",
            r#"(printf '[%s]' "$(cat <<<{{args}})")"#,
            r#"x='a"b'; : "it's ${x#a} $# \" "; printf '[%s]' {{args}}"#,
            r#"printf '[%s]' {{args}}; : "{{args}}" '{{args}}' a#'{{args}}' <(: '{{args}}')"#,
        ];
        for (command, args) in commands.iter().flat_map(|command| HOSTILE_ARGS.iter().map(move |args| (command, args)))
        {
            let filled = insert_args(command, args).unwrap();
            let output =
                std::process::Command::new("bash").args(["-c", &filled]).current_dir(&dir).output_in_time().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), format!("[{args}]"), "{filled}");
            assert!(std::fs::read_dir(&dir).unwrap().next().is_none(), "{filled}");
        }
    }
}
