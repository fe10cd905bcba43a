//! The shape of a shell text: its commands, with words that compare equal whether or not they were quoted.

use std::rc::Rc;

use hookwright_analysis::budget::Budget;
use hookwright_analysis::syntax::{
    AssignedValue, Command, CommandKind, Dialect, List, Operation, Parameter, Piece, Pipeline, Script, Word,
};

/// The placeholder for a value that is inserted into a text.
pub(crate) const PLACEHOLDER: &str = "hwMARKwh";

/// Returns the shape of a text, with every placeholder in its words replaced by `value`; `None` if the text is not
/// understood.
pub(crate) fn render_shape(text: &str, value: &str) -> Option<String> {
    // Control characters are never understood.
    if value.contains(|char: char| char.is_control() && !matches!(char, '\n' | '\t')) {
        return None;
    }
    let mut script = Script::parse(text, Dialect::Bash, &Budget::default());
    Normalizer { value }.list(&mut script.list);
    script.problems.is_empty().then(|| format!("{:?}", script.list))
}

/// Makes one piece of adjacent texts, quoted or not, with the placeholder filled in.
struct Normalizer<'v> {
    value: &'v str,
}

impl Normalizer<'_> {
    fn list(&self, list: &mut List) {
        for statement in list {
            self.pipeline(&mut statement.first);
            statement.rest.iter_mut().for_each(|(_, pipeline)| self.pipeline(pipeline));
        }
    }

    fn pipeline(&self, pipeline: &mut Pipeline) {
        pipeline.commands.iter_mut().for_each(|command| self.command(command));
    }

    fn command(&self, command: &mut Command) {
        command.redirections.iter_mut().for_each(|redirection| self.word(&mut redirection.target));
        match &mut command.kind {
            CommandKind::Simple { assignments, words } => {
                for assignment in assignments {
                    assignment.name = self.filled(&assignment.name);
                    match &mut assignment.value {
                        AssignedValue::Scalar(word) => self.word(word),
                        AssignedValue::Array(words) => self.words(words),
                    }
                }
                self.words(words);
            }
            CommandKind::Group(list) | CommandKind::Subshell(list) => self.list(list),
            CommandKind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    self.list(condition);
                    self.list(body);
                }
                self.list(otherwise);
            }
            CommandKind::While { condition, body, .. } => {
                self.list(condition);
                self.list(body);
            }
            CommandKind::For { variable, words, body } => {
                *variable = self.filled(variable);
                words.iter_mut().for_each(|words| self.words(words));
                self.list(body);
            }
            CommandKind::ArithmeticFor { expressions, body } => {
                self.words(expressions);
                self.list(body);
            }
            CommandKind::Case { subject, arms } => {
                self.word(subject);
                for arm in arms {
                    self.words(&mut arm.patterns);
                    self.list(&mut arm.body);
                }
            }
            CommandKind::Test(words) => self.words(words),
            CommandKind::Arithmetic(word) => self.word(word),
            CommandKind::Function { name, body } => {
                *name = self.filled(name);
                self.command(Rc::make_mut(body));
            }
        }
    }

    fn words(&self, words: &mut [Word]) {
        words.iter_mut().for_each(|word| self.word(word));
    }

    fn word(&self, word: &mut Word) {
        let mut pieces: Vec<Piece> = Vec::new();
        for mut piece in std::mem::take(&mut word.pieces) {
            let text = match &mut piece {
                // Characters that a shell expands outside of quotes are marked.
                Piece::Literal(text) => {
                    text.chars().flat_map(|char| expansion_marker(char).into_iter().chain([char])).collect()
                }
                Piece::Quoted(text) => text.clone(),
                other => {
                    self.expansion(other);
                    pieces.push(piece);
                    continue;
                }
            };
            match pieces.last_mut() {
                Some(Piece::Quoted(before)) => before.push_str(&text),
                _ => pieces.push(Piece::Quoted(text)),
            }
        }
        for piece in &mut pieces {
            if let Piece::Quoted(text) = piece {
                *text = self.filled(text);
            }
        }
        pieces.retain(|piece| !matches!(piece, Piece::Quoted(text) if text.is_empty()));
        word.pieces = pieces;
    }

    fn expansion(&self, piece: &mut Piece) {
        match piece {
            Piece::Literal(_) | Piece::Quoted(_) => {}
            Piece::Parameter { parameter, .. } => self.parameter(parameter),
            Piece::CommandSubstitution { script, .. } | Piece::ProcessSubstitution { script, .. } => {
                self.list(&mut Rc::make_mut(script).list);
            }
            Piece::Arithmetic { expression, .. } => self.word(expression),
        }
    }

    fn parameter(&self, parameter: &mut Parameter) {
        parameter.subscript.iter_mut().for_each(|word| self.word(word));
        match &mut parameter.operation {
            Operation::Plain | Operation::Length | Operation::Indirect => {}
            Operation::Default { word, .. }
            | Operation::AssignDefault { word, .. }
            | Operation::Alternative { word, .. }
            | Operation::Error { word, .. } => self.word(word),
            Operation::RemovePrefix { pattern, .. } | Operation::RemoveSuffix { pattern, .. } => self.word(pattern),
            Operation::Substring(word) => self.word(word),
            Operation::Other { words } => self.words(words),
        }
    }

    fn filled(&self, text: &str) -> String {
        text.replace(PLACEHOLDER, self.value)
    }
}

fn expansion_marker(char: char) -> Option<char> {
    "*?~{}[]".contains(char).then_some('\u{1}')
}
