//! The words of a call, taken apart by the program's options. Only what the program's file lists is understood.

use super::local_options::names_local;
use super::spec::{Body, Case, Condition, Operand, OptionSpec, Program, Role, SubCommand, Syntax};
use crate::star_pattern::matches_star;
use crate::value::Argument;

/// An option that was given.
#[derive(Debug)]
pub(crate) struct Given<'p> {
    pub(crate) spec: &'p OptionSpec,
    pub(crate) values: Vec<Argument>,
}

impl Given<'_> {
    pub(crate) fn is(&self, name: &str) -> bool {
        self.spec.names.iter().any(|known| known == name)
    }
}

/// A call's words, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Parsed<'p> {
    pub(crate) options: Vec<Given<'p>>,
    pub(crate) operands: Vec<Argument>,
    /// The modes that are set, the last word about each counts.
    pub(crate) modes: Vec<&'p str>,
    /// Whether it only prints something about itself.
    pub(crate) ends: bool,
    /// What was not understood.
    pub(crate) problems: Vec<String>,
    /// A word that may be an option, or no word, or several.
    pub(crate) unclear: Option<String>,
    /// Where the operands behind `--` begin.
    pub(crate) dashes: Option<usize>,
}

impl<'p> Parsed<'p> {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|given| given.is(name))
    }

    /// The first values of an option, in order.
    pub(crate) fn values<'s>(&'s self, name: &'s str) -> impl DoubleEndedIterator<Item = &'s Argument> {
        self.options.iter().filter(move |given| given.is(name)).filter_map(|given| given.values.first())
    }

    pub(crate) fn is_set(&self, mode: &str) -> bool {
        self.modes.contains(&mode)
    }

    /// Whether the condition of a case holds.
    pub(crate) fn holds(&self, case: &Case) -> bool {
        let count = self.operands.len();
        case.conditions.iter().all(|condition| match condition {
            Condition::Mode(mode) => self.is_set(mode),
            Condition::NotMode(mode) => !self.is_set(mode),
            Condition::OperandsOver(number) => count > *number,
            Condition::OperandsUpTo(number) => count <= *number,
        })
    }

    /// What the operands of this call are.
    pub(crate) fn operands_of<'b>(&self, body: &'b Body) -> Option<&'b [Operand]> {
        let case = body.cases.iter().find(|case| self.holds(case));
        case.and_then(|case| case.operands.as_deref()).or(body.operands.as_deref())
    }

    fn give(&mut self, spec: &'p OptionSpec, values: Vec<Argument>) {
        self.ends |= spec.ends;
        if let Some(mode) = spec.clears.as_deref() {
            self.modes.retain(|set| *set != mode);
        }
        if let Some(mode) = spec.sets.as_deref() {
            self.modes.push(mode);
        }
        if let Some(word) = values.iter().find(|value| value.many) {
            self.unclear = Some(word.shown.to_string());
        }
        self.options.push(Given { spec, values });
    }
}

/// Takes words apart by the options of one or more bodies; the first that lists an option counts.
pub(crate) fn parse<'p>(program: &'p Program, bodies: &[&'p Body], name: &str, words: &[Argument]) -> Parsed<'p> {
    let mut reader = Reader { program, bodies, name, words, at: 0, parsed: Parsed::default(), ended: false };
    reader.read();
    reader.parsed
}

/// Takes the words of a sub-command apart. Options before its last word are the program's, those behind it also its own.
pub(crate) fn parse_command<'p>(
    program: &'p Program,
    command: &'p SubCommand,
    name: &str,
    words: &[Argument],
    positions: &[usize],
) -> Parsed<'p> {
    let end = positions.last().map_or(0, |last| last + 1);
    let before: Vec<Argument> = words[..end]
        .iter()
        .enumerate()
        .filter(|(at, _)| !positions.contains(at))
        .map(|(_, word)| word.clone())
        .collect();
    let mut parsed = parse(program, &[&program.body], name, &before);
    let bodies = [&command.body, &program.body];
    let mut reader = Reader {
        program,
        bodies: &bodies,
        name,
        words: &words[end..],
        at: 0,
        parsed: std::mem::take(&mut parsed),
        ended: false,
    };
    reader.read();
    reader.parsed
}

struct Reader<'p, 'w> {
    program: &'p Program,
    bodies: &'w [&'p Body],
    name: &'w str,
    words: &'w [Argument],
    at: usize,
    parsed: Parsed<'p>,
    ended: bool,
}

impl<'p> Reader<'p, '_> {
    fn read(&mut self) {
        while let Some(word) = self.words.get(self.at) {
            self.at += 1;
            let Some(text) = word.text() else {
                let sure = self.ended || self.program.syntax == Syntax::Plain;
                if (word.many && !word.same_prefix) || !(sure || word.is_operand()) {
                    self.parsed.unclear = Some(word.shown.to_string());
                }
                self.operand(word);
                continue;
            };
            if self.ended || self.program.syntax == Syntax::Plain {
                self.operand(word);
            } else if text == "--" {
                self.ended = true;
                self.parsed.dashes = Some(self.parsed.operands.len());
            } else if text == "-" || !(text.starts_with('-') || self.plus_option(text).is_some()) {
                self.operand(word);
            } else {
                self.option(text);
            }
        }
    }

    fn operand(&mut self, word: &Argument) {
        self.parsed.operands.push(word.clone());
        self.ended |= self.program.options_first || self.runs_command();
    }

    /// Whether the operands are a command, whose options are its own.
    fn runs_command(&self) -> bool {
        let operands = self.bodies.first().and_then(|body| body.operands.as_ref());
        operands
            .and_then(|operands| operands.last())
            .is_some_and(|last| last.roles.iter().any(|role| matches!(role, Role::Command | Role::CommandWithInput)))
    }

    fn specs(&self) -> impl Iterator<Item = &'p OptionSpec> + use<'p, '_> {
        self.bodies.iter().flat_map(|body| body.options.iter())
    }

    fn exact(&self, name: &str) -> Option<&'p OptionSpec> {
        self.specs().find(|spec| spec.names.iter().any(|known| known == name))
    }

    /// An option that begins with a plus: `+x`, or a number.
    fn plus_option(&self, text: &str) -> Option<&'p OptionSpec> {
        let name = text.strip_prefix('+')?;
        let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        self.exact(text).or_else(|| self.exact("+#").filter(|_| is_number))
    }

    fn option(&mut self, text: &str) {
        if let Some(spec) = self.plus_option(text) {
            return self.take(spec, None);
        }
        if self.program.syntax == Syntax::Single {
            return self.single(text);
        }
        if text.starts_with("--") {
            return self.long(text);
        }
        // Some programs have short options of several letters.
        if text.chars().count() > 2
            && let Some(spec) = self.exact(text)
        {
            return self.take(spec, None);
        }
        self.cluster(text);
    }

    fn long(&mut self, text: &str) {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let found = self.exact(name).map_or_else(|| self.shortened(name), |spec| Ok(Some(spec)));
        match found {
            Ok(Some(spec)) => self.take(spec, value),
            Ok(None) => match self.exact("--*") {
                // Those clients shorten options, and their files are named by options that are listed.
                Some(spec) if spec.file_value && self.acts(|known| known.starts_with(name)) => {
                    self.parsed.problems.push(format!("{name} may be short for an option of {}", self.name));
                }
                Some(spec) if self.program.is_client() && names_local(name, spec.file_value) => {
                    let reason = format!("{name} of {} may name a file, an address or a program", self.name);
                    self.parsed.problems.push(reason);
                }
                Some(spec) => self.parsed.give(spec, Vec::new()),
                // No option is named by a sign: it is refused, or a word like others (`grep '-->' f`).
                None if !name[2..].starts_with(|char: char| char.is_alphanumeric() || char == '-') => {
                    self.operand(&Argument::known(text));
                }
                None => self.unknown(name),
            },
            Err(()) => self.parsed.problems.push(format!("{name} may be short for several options of {}", self.name)),
        }
    }

    /// The option that a shortened name stands for.
    fn shortened(&self, name: &str) -> Result<Option<&'p OptionSpec>, ()> {
        if self.program.syntax != Syntax::Gnu || name.len() < 3 {
            return Ok(None);
        }
        let mut fitting = self.specs().filter(|spec| spec.names.iter().any(|known| known.starts_with(name)));
        match (fitting.next(), fitting.next()) {
            (Some(only), None) => Ok(Some(only)),
            (None, _) => Ok(None),
            (Some(_), Some(_)) => Err(()),
        }
    }

    /// Whether an option of such a name does something.
    fn acts(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        self.specs().any(|spec| !spec.is_inert() && spec.names.iter().any(|known| is_meant(known)))
    }

    fn unknown(&mut self, name: &str) {
        self.parsed.problems.push(format!("{name} is no known option of {}", self.name));
    }

    /// Takes an option with its values: attached, or the words that follow.
    fn take(&mut self, spec: &'p OptionSpec, attached: Option<&str>) {
        let mut values: Vec<Argument> = attached.map(Argument::known).into_iter().collect();
        if spec.values.is_empty() {
            // `--flag=false` turns a flag off where programs take that.
            let boolean = matches!(attached, Some("true" | "false"));
            if attached == Some("false")
                && (spec.sets.is_some() || spec.ends || !spec.does.is_empty())
                && self.program.syntax != Syntax::Gnu
            {
                if let Some(mode) = spec.sets.as_deref() {
                    self.parsed.modes.retain(|set| *set != mode);
                }
                return;
            }
            if attached.is_some() && !(boolean && self.program.syntax != Syntax::Gnu) {
                return self.parsed.problems.push(format!("{} takes no value", spec.names.join(", ")));
            }
            return self.parsed.give(spec, Vec::new());
        }
        while values.len() < spec.values.len() && !spec.attached {
            let Some(value) = self.words.get(self.at) else {
                self.parsed.problems.push(format!("{} without its value", spec.names.join(", ")));
                break;
            };
            // Whether a word that looks like an option is a value differs between parsers, getopt aside.
            let is_option = |text: &str| {
                text.len() > 1 && text.starts_with('-') && !text[1..].starts_with(|char: char| char.is_ascii_digit())
            };
            if self.program.syntax != Syntax::Gnu && value.text().is_some_and(is_option) {
                self.parsed.problems.push(format!(
                    "{} may be an option, or the value of {}",
                    value.shown,
                    spec.names.join(", ")
                ));
            }
            values.push(value.clone());
            self.at += 1;
        }
        self.parsed.give(spec, values);
    }

    fn cluster(&mut self, text: &str) {
        let digits = &text[1..];
        if digits.bytes().all(|byte| byte.is_ascii_digit())
            && let Some(spec) = self.exact("-#")
        {
            return self.parsed.give(spec, Vec::new());
        }
        let mut letters = &text[1..];
        while let Some(letter) = letters.chars().next() {
            let rest = &letters[letter.len_utf8()..];
            letters = rest;
            let Some(spec) = self.exact(&format!("-{letter}")) else {
                // Most clients that know these letters take them for a file or a directory.
                let is_local = self.program.is_client() && "fFOCK".contains(letter);
                let goes_on = |known: &str| known.len() == 2 && known.ends_with(|char| rest.contains(char));
                match self.exact("-*") {
                    Some(_) if is_local || self.acts(goes_on) => self.unknown(&format!("-{letter}")),
                    Some(spec) => self.parsed.give(spec, Vec::new()),
                    None => self.unknown(&format!("-{letter}")),
                }
                return;
            };
            if spec.values.is_empty() {
                self.parsed.give(spec, Vec::new());
                continue;
            }
            if spec.attached && spec.values == [[Role::Digits]] {
                letters = rest.trim_start_matches(|char: char| char.is_ascii_digit());
                let digits = &rest[..rest.len() - letters.len()];
                let value = (!digits.is_empty()).then(|| Argument::known(digits));
                self.parsed.give(spec, value.into_iter().collect());
                continue;
            }
            // `-o=x` is the value `=x` for getopt and `x` for others, so it is neither here.
            if rest.starts_with('=') && self.program.syntax == Syntax::Exact {
                return self.take(spec, Some(&rest[1..]));
            }
            return self.take(spec, (!rest.is_empty()).then_some(rest));
        }
    }

    fn single(&mut self, text: &str) {
        let bare = text.trim_start_matches('-');
        let (name, value) = bare.split_once('=').map_or((bare, None), |(name, value)| (name, Some(value)));
        let fits = |spec: &&OptionSpec| spec.names.iter().any(|known| known.trim_start_matches('-') == name);
        let found = self.specs().find(fits);
        match found {
            Some(spec) => self.take(spec, value),
            None if name.bytes().all(|byte| byte.is_ascii_digit()) && self.exact("-#").is_some() => {}
            None => match self.exact("--*").or_else(|| self.exact("-*")) {
                Some(spec) => self.parsed.give(spec, Vec::new()),
                None => self.unknown(text),
            },
        }
    }
}

/// The sub-command that words begin with.
#[derive(Debug)]
pub(crate) enum Command<'p> {
    /// The program has none, or none is given.
    None,
    Found {
        command: &'p SubCommand,
        /// The words that name it.
        positions: Vec<usize>,
    },
    /// Why it can't be told.
    Unknown(String),
}

/// Finds the sub-command among words: the longest name that fits, options of the program aside.
pub(crate) fn find_command<'p>(program: &'p Program, name: &str, words: &[Argument]) -> Command<'p> {
    if program.commands.is_empty() {
        return Command::None;
    }
    let mut given: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    let longest = 8;
    while at < words.len() && given.len() < longest {
        let Some(text) = words[at].text() else { break };
        if text.starts_with('-') && text.len() > 1 && !(given.is_empty() && names_command(program, text)) {
            let parsed = parse_one(program, name, &words[at..]);
            match parsed {
                Some(length) => at += length,
                None => break,
            }
            continue;
        }
        given.push((at, text));
        at += 1;
    }
    if given.is_empty() {
        return match words.get(at) {
            None => Command::None,
            Some(word) if word.text().is_some_and(|text| text.starts_with('-')) => {
                // Options that end it, such as `--version`, need no command.
                match parse(program, &[&program.body], name, words).ends {
                    true => Command::None,
                    false => Command::Unknown(format!("{} is no known option of {name}", word.shown)),
                }
            }
            Some(_) => Command::Unknown(format!("the command of {name} is only known when it runs")),
        };
    }
    let texts: Vec<&str> = given.iter().map(|(_, text)| *text).collect();
    let mut best: Option<(usize, bool, usize, usize, &SubCommand)> = None;
    for command in &program.commands {
        for pattern in &command.patterns {
            let Some((length, wild)) = fit(pattern, &texts) else { continue };
            let head = pattern.iter().position(|word| word == "**").unwrap_or(pattern.len());
            let stars = pattern.iter().filter(|word| word.contains('*')).count();
            let better = match &best {
                None => true,
                Some((known, known_wild, known_stars, known_head, _)) => match (wild, *known_wild) {
                    // A whole name is the command, and a word behind it that looks like a verb is an operand, unless
                    // the pattern begins with that name, too.
                    (false, true) => length > *known_head,
                    (true, false) => head >= *known,
                    (false, false) => length > *known || (length == *known && stars < *known_stars),
                    // Of two wildcards the shorter counts: the first verb is the verb.
                    (true, true) => length < *known,
                },
            };
            if better {
                best = Some((length, wild, stars, head, command));
            }
        }
    }
    match best {
        Some((length, _, _, _, command)) => {
            let positions = given[..length].iter().map(|(at, _)| *at).collect();
            Command::Found { command, positions }
        }
        None => Command::Unknown(format!("{name} {} is not known", texts[..texts.len().min(2)].join(" "))),
    }
}

/// Why a command is unsure that another command prints.
pub(crate) fn substituted_command(words: &[Argument], positions: &[usize]) -> Option<String> {
    let word = positions.iter().filter_map(|at| words.get(*at)).find(|word| word.substituted)?;
    Some(format!("{} is what another command prints", word.shown))
}

/// Whether a word that looks like an option is a command: `brew --prefix`.
fn names_command(program: &Program, word: &str) -> bool {
    program.commands.iter().flat_map(|command| &command.patterns).any(|pattern| pattern[0] == word)
}

/// How many words an option of the program takes, itself included.
fn parse_one(program: &Program, name: &str, words: &[Argument]) -> Option<usize> {
    let bodies = [&program.body];
    let mut reader = Reader { program, bodies: &bodies, name, words, at: 1, parsed: Parsed::default(), ended: false };
    let text = words.first()?.text()?.to_owned();
    if text == "--" {
        return None;
    }
    reader.option(&text);
    let listed = reader.parsed.problems.is_empty()
        && reader.parsed.options.iter().all(|given| !given.is("--*") && !given.is("-*"));
    listed.then_some(reader.at)
}

/// How many of the words a pattern names, and whether it does so by `**`.
fn fit(pattern: &[String], words: &[&str]) -> Option<(usize, bool)> {
    if let Some(deep) = pattern.iter().position(|word| word == "**") {
        let (head, tail) = (&pattern[..deep], &pattern[deep + 1..]);
        if words.len() < head.len() || !head.iter().zip(words).all(|(pattern, word)| matches_star(pattern, word)) {
            return None;
        }
        let last = words.len().checked_sub(tail.len())?;
        return (head.len()..=last)
            .find(|from| tail.iter().zip(&words[*from..]).all(|(pattern, word)| matches_star(pattern, word)))
            .map(|from| (from + tail.len(), true));
    }
    let fits =
        words.len() >= pattern.len() && pattern.iter().zip(words).all(|(pattern, word)| matches_star(pattern, word));
    fits.then_some((pattern.len(), false))
}
