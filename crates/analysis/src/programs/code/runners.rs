//! `fd -x`, `parallel` and `xargs`: programs that run a command for each of many words; `mlr`, which runs verbs.

use crate::programs::arguments;
use crate::programs::call::Call;
use crate::state::State;
use crate::syntax::Dialect;
use crate::value::Argument;

/// `fd`: what stands behind `-x` and `-X` is a command.
pub(super) fn fd(call: &mut Call<'_, '_>) {
    let is_exec = |word: &Argument| matches!(word.text(), Some("-x" | "--exec" | "-X" | "--exec-batch"));
    let Some(at) = call.words.iter().position(is_exec) else { return call.by_file() };
    let (own, command) = (&call.words[1..at], &call.words[at + 1..]);
    if command.iter().any(|word| is_exec(word) || word.text() == Some(";")) {
        return call.interpreter.unsure_all("fd runs several commands");
    }
    call.parsed = arguments::parse(call.program, &[&call.program.body], call.name, own);
    call.before_code();
    call.by_file();
    let roots = match call.parsed.operands.get(1..) {
        Some([]) | None => vec![Argument::known(".")],
        Some(roots) => roots.to_vec(),
    };
    let several = matches!(call.words[at].text(), Some("-X" | "--exec-batch"));
    super::find::run_on(call, command, &roots, false, super::find::Placement { appends: true, several });
}

/// `parallel COMMAND ::: WORDS`: a shell runs the command for each word.
pub(super) fn parallel(call: &mut Call<'_, '_>) {
    let words = &call.parsed.operands;
    let marks: Vec<usize> =
        (0..words.len()).filter(|at| words[*at].text().is_none_or(|text| text.starts_with(":::"))).collect();
    let [mark] = marks.as_slice() else {
        return call.interpreter.unsure_all("parallel reads its words from its input, or from several lists");
    };
    if words[*mark].text() != Some(":::") {
        return call.interpreter.unsure_all("parallel reads its words from files");
    }
    let command: Option<Vec<&str>> = words[..*mark].iter().map(Argument::text).collect();
    let values: Option<Vec<&str>> = words[mark + 1..].iter().map(Argument::text).collect();
    let (Some(command), Some(values)) = (command, values) else {
        return call.interpreter.unsure_all("what parallel runs is only known then");
    };
    // A shell reads the command once more, so quotes around its words are lost.
    if command
        .iter()
        .any(|word| word.contains(|char: char| char.is_whitespace() || "'\"\\$`;|&<>()*?~#".contains(char)))
    {
        return call.interpreter.unsure_all("parallel gives its words to a shell once more");
    }
    let command = command.join(" ");
    // Other replacements than `{}` take parts of a word.
    if command.replace("{}", "").contains('{') {
        return call.interpreter.unsure_all("parallel takes its words apart");
    }
    let quote = |value: &str| format!("'{}'", value.replace('\'', r"'\''"));
    let texts: Vec<String> = values
        .into_iter()
        .map(|value| match (command.is_empty(), command.contains("{}")) {
            (true, _) => value.to_owned(),
            (false, true) => command.replace("{}", &quote(value)),
            (false, false) => format!("{command} {}", quote(value)),
        })
        .collect();
    for text in texts {
        let state: State = call.interpreter.child_state(&call.state, Dialect::Bash);
        call.interpreter.script_text(&text, state, call.io);
    }
}

/// `xargs COMMAND`: words of its input stand behind those of the command, or where its sign stands.
pub(super) fn xargs(call: &mut Call<'_, '_>) {
    let mut command = call.parsed.operands.clone();
    let is_quiet = |given: &arguments::Given<'_>| given.is("-r") || given.is("-t");
    let words = call.interpreter.input(call.io).and_then(plain_words);
    if call.parsed.options.iter().all(is_quiet)
        && let Some(words) = words
    {
        if command.is_empty() {
            command.push(Argument::known("echo"));
        }
        let taint = call.io.stdin.taint;
        command.extend(words.into_iter().map(|word| {
            let mut word = Argument::known(word);
            word.value.taint = taint;
            word
        }));
        return call.command(&command);
    }
    call.by_file();
}

/// The words of a text in which no sign has a meaning to `xargs`.
fn plain_words(text: &str) -> Option<Vec<&str>> {
    const MAX_WORDS: usize = 64;
    let is_plain = |char: char| char.is_ascii_alphanumeric() || " \n./_-+=:,@%".contains(char);
    let words: Vec<&str> = text.split([' ', '\n']).filter(|word| !word.is_empty()).collect();
    (text.chars().all(is_plain) && (1..=MAX_WORDS).contains(&words.len())).then_some(words)
}

/// `mlr VERB`: one verb is told by the table, a chain of them is not.
pub(super) fn mlr(call: &mut Call<'_, '_>) {
    match call.words.iter().any(|word| word.text().is_none_or(|text| text == "then")) {
        true => call.interpreter.unsure_all("mlr runs a chain of verbs"),
        false => call.by_file(),
    }
}
