//! `find`: where it looks, what it removes and writes by itself, and what it runs on what it finds.

use crate::interpreter::Lookup;
use crate::programs::call::Call;
use crate::programs::spec::{Access, Aspect, Condition, Count, Depth, Operand};
use crate::programs::{Programs, arguments};
use crate::value::Argument;

/// Tests and actions without a value.
const FLAGS: [&str; 45] = [
    "-a",
    "-and",
    "-o",
    "-or",
    "-not",
    "!",
    "(",
    ")",
    ",",
    "-daystart",
    "-depth",
    "-d",
    "-follow",
    "-ignore_readdir_race",
    "-noignore_readdir_race",
    "-mount",
    "-xdev",
    "-x",
    "-noleaf",
    "-nowarn",
    "-warn",
    "-empty",
    "-executable",
    "-false",
    "-true",
    "-nogroup",
    "-nouser",
    "-readable",
    "-writable",
    "-print",
    "-print0",
    "-ls",
    "-prune",
    "-quit",
    "-noleaf",
    "-help",
    "--help",
    "-version",
    "--version",
    "-nohidden",
    "-hidden",
    "-exclude",
    "-E",
    "-s",
    "-X",
];
/// Tests and actions with one value that is no file.
const TEXT: [&str; 40] = [
    "-maxdepth",
    "-mindepth",
    "-regextype",
    "-amin",
    "-atime",
    "-cmin",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-mmin",
    "-mtime",
    "-name",
    "-path",
    "-perm",
    "-regex",
    "-size",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-wholename",
    "-xtype",
    "-context",
    "-printf",
    "-since",
    "-flags",
    "-Bmin",
    "-Btime",
    "-newermt",
    "-newerat",
    "-newerct",
];

pub(super) fn run(call: &mut Call<'_, '_>) {
    let words = call.words[1..].to_vec();
    if let Some(word) = words.iter().find(|word| word.text().is_none()) {
        // An unknown path is a path as long as it surely is no expression.
        if !word.is_operand() || word.beginning().starts_with(['(', '!']) {
            return call.interpreter.unsure_all(format!("{} is only known when it runs", word.shown));
        }
    }
    let mut at = 0;
    let mut follows = false;
    let mut follows_roots = false;
    while let Some(text) = words.get(at).and_then(Argument::text) {
        match text {
            "-L" => follows = true,
            "-H" | "-P" => {
                follows = false;
                follows_roots = text == "-H";
            }
            "-D" => at += 1,
            text if text.starts_with("-O") && text.len() > 2 => {}
            _ => break,
        }
        at += 1;
    }
    let at = at.min(words.len());
    let begins = |word: &Argument| {
        word.text().is_some_and(|text| text.starts_with('-') && text.len() > 1 || matches!(text, "(" | ")" | "!" | ","))
    };
    let end = words[at..].iter().position(begins).map_or(words.len(), |length| at + length);
    let roots = if at == end { vec![Argument::known(".")] } else { words[at..end].to_vec() };
    follows |= words[end..].iter().any(|word| word.text() == Some("-follow"));
    // Further on such a word may be the value of a test, or a word of a command.
    if words.len() == 1 && matches!(words[0].text(), Some("-help" | "--help" | "-version" | "--version")) {
        return;
    }
    roots.iter().for_each(|root| call.touch(Access::Read, root, Depth::Names));
    let leads_elsewhere = |root: &Argument| {
        let path = root.text().and_then(|text| call.state.path(text));
        path.is_none_or(|path| call.interpreter.environment.disk.read_link(&path).is_some()) || call.interpreter.changed
    };
    if follows || follows_roots && roots.iter().any(leads_elsewhere) {
        call.interpreter.unsure(
            crate::observer::Aspects::of(&[Aspect::Reads, Aspect::Writes, Aspect::Deletes]),
            "find follows links",
        );
    }
    let outer = std::mem::replace(&mut call.interpreter.tree_links, follows || !finds_only_files(&words[end..]));
    expression(call, &words[end..], &roots);
    call.interpreter.tree_links = outer;
}

/// Whether an expression surely holds for files only: `-type f` that no operator takes back.
fn finds_only_files(words: &[Argument]) -> bool {
    let is = |word: &Argument, texts: &[&str]| word.text().is_some_and(|text| texts.contains(&text));
    let before_action =
        words.iter().take_while(|word| !is(word, &["-exec", "-execdir", "-ok", "-okdir"])).cloned().collect::<Vec<_>>();
    let takes_back = words.iter().any(|word| is(word, &["-o", "-or", "!", "-not", ","]));
    !takes_back && before_action.windows(2).any(|pair| is(&pair[0], &["-type"]) && is(&pair[1], &["f"]))
}

fn expression(call: &mut Call<'_, '_>, words: &[Argument], roots: &[Argument]) {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        let Some(text) = word.text() else {
            return call.interpreter.unsure_all(format!("{} is only known when it runs", word.shown));
        };
        let value = words.get(at);
        if value.is_none() && (TEXT.contains(&text) || text.starts_with("-newer")) {
            return;
        }
        match text {
            "-delete" => {
                call.interpreter.exceeds();
                roots.iter().for_each(|root| call.touch(Access::Delete, root, Depth::Tree));
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                call.interpreter.exceeds();
                value.into_iter().for_each(|file| call.touch(Access::Write, file, Depth::Itself));
                at += if text == "-fprintf" { 2 } else { 1 };
            }
            "-newer" | "-anewer" | "-cnewer" | "-mnewer" | "-samefile" => {
                value.into_iter().for_each(|file| call.touch(Access::Read, file, Depth::Itself));
                at += 1;
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let rest = words.get(at..).unwrap_or_default();
                // `+` ends it only behind `{}`.
                let ends = |at: usize| match rest[at].text() {
                    Some(";") => true,
                    Some("+") => at > 0 && rest[at - 1].text() == Some("{}"),
                    _ => false,
                };
                let Some(length) = (0..rest.len()).find(|at| ends(*at)) else {
                    return call.interpreter.unsure_all("the end of find's command is not clear");
                };
                let several = rest[length].text() == Some("+");
                run_on(call, &rest[..length], roots, text.ends_with("dir"), Placement { appends: false, several });
                at += length + 1;
            }
            _ if FLAGS.contains(&text) => {}
            _ if TEXT.contains(&text) => at += 1,
            text if text.starts_with("-newer") && text.len() == 8 && text.ends_with('t') => at += 1,
            // It only complains about a word that is no test, unless options of BSD stand before its directories.
            text if !text.starts_with('-') && at > 1 && !has_short_options(&words[..at - 1]) => {}
            _ => return call.interpreter.unsure_all(format!("{text} is no known test of find")),
        }
    }
}

fn has_short_options(words: &[Argument]) -> bool {
    words.iter().filter_map(Argument::text).any(|text| text.starts_with('-') && text.len() <= 2)
}

/// Where the names of what is found stand in a command.
#[derive(Clone, Copy)]
pub(super) struct Placement {
    /// Behind its words, where no word has a place for them.
    pub(super) appends: bool,
    /// Several of them in one call.
    pub(super) several: bool,
}

/// A command runs on whatever is in some directories.
pub(super) fn run_on(
    call: &mut Call<'_, '_>,
    command: &[Argument],
    roots: &[Argument],
    in_directory: bool,
    placement: Placement,
) {
    for root in roots {
        let root = &Argument { substituted: true, ..root.clone() };
        let Some((words, uses)) = words_on(command, root, placement.appends, 1) else { continue };
        let is_uniform = !uses || !placement.several || takes_any_number(call, &words, root);
        run_in(call, &words, uses, in_directory);
        // The second and the last of several words may be something else than the first.
        if !is_uniform && let Some((words, _)) = words_on(command, root, placement.appends, SEVERAL) {
            run_in(call, &words, uses, in_directory);
        }
    }
}

/// The number of words that stand for any number of them.
const SEVERAL: usize = 3;

fn words_on(command: &[Argument], root: &Argument, appends: bool, count: usize) -> Option<(Vec<Argument>, bool)> {
    let has_place = command.iter().any(|word| word.beginning().contains('{'));
    let mut uses = false;
    let mut words = Vec::new();
    for word in command {
        match word.text() {
            Some("{}") => {
                uses = true;
                words.extend(std::iter::repeat_n(root.clone(), count));
            }
            Some(text) if text.contains('{') && (appends || text.contains("{}")) => words.push(Argument::unknown(text)),
            _ => words.push(word.clone()),
        }
    }
    // Without a place for it, what is found stands at the end.
    if appends && !has_place {
        uses = true;
        words.extend(std::iter::repeat_n(root.clone(), count));
    }
    // A script may ask for any of its parameters.
    if count > 1 && command.iter().any(is_shell) {
        words.push(Argument { many: true, ..Argument::unknown("{}") });
    }
    (!words.is_empty()).then_some((words, uses))
}

fn is_shell(word: &Argument) -> bool {
    let name = word.text().map(|text| text.rsplit('/').next().unwrap_or(text));
    let program = name.and_then(|name| Programs::BUILT_IN.find(name));
    program.is_some_and(|program| program.body.code.as_deref() == Some("shell"))
}

/// Whether a program does with one more word at the end what it does with the last one.
fn takes_any_number(call: &Call<'_, '_>, words: &[Argument], root: &Argument) -> bool {
    let Some(name) = words[0].text() else { return false };
    let Some(program) = call.interpreter.environment.programs.find(name) else { return true };
    let parsed = arguments::parse(program, &[&program.body], name, &words[1..]);
    if !parsed.problems.is_empty() || !program.commands.is_empty() || parsed.operands.last() != Some(root) {
        return false;
    }
    match program.body.code.as_deref() {
        None => {}
        Some("copy") => return parsed.has("-t") || parsed.has("--target-directory"),
        // A script stands in front of the files.
        Some("sed" | "awk") => {
            let scripts = ["-e", "-f", "--expression", "--file"];
            return parsed.operands.len() > 1 || scripts.iter().any(|option| parsed.has(option));
        }
        Some(_) => return false,
    }
    let counts =
        |condition: &Condition| matches!(condition, Condition::OperandsOver(1..) | Condition::OperandsUpTo(1..));
    if program.body.cases.iter().flat_map(|case| &case.conditions).any(counts) {
        return false;
    }
    let operands = parsed.operands_of(&program.body).unwrap_or_default();
    let is_repeated = |operand: &Operand| matches!(operand.count, Count::Any | Count::Some);
    operands.last().is_some_and(is_repeated) && operands.len() <= parsed.operands.len()
}

fn run_in(call: &mut Call<'_, '_>, words: &[Argument], uses: bool, in_directory: bool) {
    let mut state = call.state.clone();
    if in_directory {
        state.cwd = None;
    }
    let outer = call.interpreter.tree_depth;
    call.interpreter.tree_depth |= uses;
    call.interpreter.run(words, Lookup::Programs, false, state, call.io);
    call.interpreter.tree_depth = outer;
}
