//! A compact form of the syntax tree.

use crate::syntax::{
    AssignedValue, Assignment, Command, CommandKind, Connector, Descriptor, List, Operation, Parameter, Piece,
    Pipeline, Redirection, RedirectionOperator, Script, Statement, Word,
};

pub(super) fn print(script: &Script) -> String {
    list(&script.list)
}

fn list(list: &List) -> String {
    list.iter().map(statement).collect::<Vec<_>>().join("; ")
}

fn statement(statement: &Statement) -> String {
    let mut text = pipeline(&statement.first);
    for (connector, next) in &statement.rest {
        text += if *connector == Connector::And { " && " } else { " || " };
        text += &pipeline(next);
    }
    if statement.background { text + " &" } else { text }
}

fn pipeline(pipeline: &Pipeline) -> String {
    let commands = pipeline.commands.iter().map(command).collect::<Vec<_>>().join(" | ");
    if pipeline.negated { format!("! {commands}") } else { commands }
}

fn command(command: &Command) -> String {
    let redirections: String = command.redirections.iter().map(redirection).collect();
    kind(&command.kind) + &redirections
}

fn kind(kind: &CommandKind) -> String {
    match kind {
        CommandKind::Simple { assignments, words: arguments } => {
            let mut parts: Vec<_> = assignments.iter().map(assignment).collect();
            parts.extend(arguments.iter().map(word));
            format!("[{}]", parts.join(" "))
        }
        CommandKind::Group(inner) => format!("{{{}}}", list(inner)),
        CommandKind::Subshell(inner) => format!("({})", list(inner)),
        CommandKind::If { branches, otherwise } => {
            let branches: Vec<_> =
                branches.iter().map(|(condition, body)| format!("{} ? {}", list(condition), list(body))).collect();
            format!("(if {} : {})", branches.join(" elif "), list(otherwise))
        }
        CommandKind::While { until, condition, body } => {
            format!("({} {} do {})", if *until { "until" } else { "while" }, list(condition), list(body))
        }
        CommandKind::For { variable, words: None, body } => format!("(for {variable} do {})", list(body)),
        CommandKind::For { variable, words: Some(items), body } => {
            format!("(for {variable} in {} do {})", words(items), list(body))
        }
        CommandKind::ArithmeticFor { expressions, body } => format!("(for {} do {})", words(expressions), list(body)),
        CommandKind::Case { subject, arms } => {
            let mut text = format!("(case {}", word(subject));
            for arm in arms {
                text += &format!(
                    " <{}> {}{}",
                    words(&arm.patterns),
                    list(&arm.body),
                    if arm.goes_on { " ..." } else { "" }
                );
            }
            text + ")"
        }
        CommandKind::Test(items) => format!("(test {})", words(items)),
        CommandKind::Arithmetic(expression) => format!("(math {})", word(expression)),
        CommandKind::Function { name, body } => format!("(function {name} {})", command(body)),
    }
}

fn words(items: &[Word]) -> String {
    items.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn assignment(assignment: &Assignment) -> String {
    let subscript = assignment.subscript.as_ref().map(|subscript| format!("[{}]", word(subscript))).unwrap_or_default();
    let operator = if assignment.append { "+=" } else { "=" };
    let value = match &assignment.value {
        AssignedValue::Scalar(value) => word(value),
        AssignedValue::Array(items) => format!("({})", words(items)),
    };
    format!("{}{subscript}{operator}{value}", assignment.name)
}

fn redirection(redirection: &Redirection) -> String {
    let descriptor = match &redirection.descriptor {
        Descriptor::Default => String::new(),
        Descriptor::Number(number) => number.to_string(),
        Descriptor::Variable(name) => format!("{{{name}}}"),
    };
    let operator = match redirection.operator {
        RedirectionOperator::Read => "<",
        RedirectionOperator::Write => ">",
        RedirectionOperator::Append => ">>",
        RedirectionOperator::ReadWrite => "<>",
        RedirectionOperator::DuplicateInput => "<&",
        RedirectionOperator::DuplicateOutput => ">&",
        RedirectionOperator::WriteBoth => "&>",
        RedirectionOperator::HereDocument => "<<",
        RedirectionOperator::HereString => "<<<",
    };
    format!(" {descriptor}{operator}{}", word(&redirection.target))
}

/// Quoted text stands between `'`, expansions between `<` and `>`, with `"` if they are quoted.
fn word(word: &Word) -> String {
    word.pieces.iter().map(piece).collect()
}

fn piece(piece: &Piece) -> String {
    let mark = |quoted: bool| if quoted { "\"" } else { "" };
    match piece {
        Piece::Literal(text) => text.clone(),
        Piece::Quoted(text) => format!("'{text}'"),
        Piece::Parameter { parameter: inner, quoted } => format!("<${}{}>", mark(*quoted), parameter(inner)),
        Piece::CommandSubstitution { script, quoted } => format!("<{}({})>", mark(*quoted), print(script)),
        Piece::Arithmetic { expression, quoted } => format!("<{}math {}>", mark(*quoted), word(expression)),
        Piece::ProcessSubstitution { script, writes } => {
            format!("<{}{}>", if *writes { "out " } else { "in " }, print(script))
        }
    }
}

fn parameter(parameter: &Parameter) -> String {
    let subscript = parameter.subscript.as_ref().map(|subscript| format!("[{}]", word(subscript))).unwrap_or_default();
    let colon = |or_empty: &bool| if *or_empty { ":" } else { "" };
    let operation = match &parameter.operation {
        Operation::Plain => String::new(),
        Operation::Length => " length".to_owned(),
        Operation::Default { word: value, or_empty } => format!("{}-{}", colon(or_empty), word(value)),
        Operation::AssignDefault { word: value, or_empty } => format!("{}={}", colon(or_empty), word(value)),
        Operation::Alternative { word: value, or_empty } => format!("{}+{}", colon(or_empty), word(value)),
        Operation::Error { word: value, or_empty } => format!("{}?{}", colon(or_empty), word(value)),
        Operation::RemovePrefix { pattern, longest } => {
            format!("{}{}", if *longest { "##" } else { "#" }, word(pattern))
        }
        Operation::RemoveSuffix { pattern, longest } => {
            format!("{}{}", if *longest { "%%" } else { "%" }, word(pattern))
        }
        Operation::Substring(item) => format!(" other {}", words(std::slice::from_ref(item))),
        Operation::Other { words: items } => format!(" other {}", words(items)),
        Operation::Indirect => " indirect".to_owned(),
    };
    format!("{}{subscript}{operation}", parameter.name)
}
