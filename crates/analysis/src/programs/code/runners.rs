//! `fd -x` and `parallel`: programs that run a command for each of many words.

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
    super::find::run_on(call, command, &roots, false, true);
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
