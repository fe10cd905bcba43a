//! `awk`: a language that writes with `>`, and runs with `|` and `system`.

use crate::programs::call::Call;
use crate::programs::spec::{Access, Depth};
use crate::value::Argument;

pub(super) fn run(call: &mut Call<'_, '_>) {
    let mut operands = call.parsed.operands.clone();
    let mut code: Vec<Argument> = call.parsed.values("-e").cloned().collect();
    let from_file = call.parsed.has("-f") || call.parsed.has("-E");
    if code.is_empty() && !from_file && !operands.is_empty() {
        code.push(operands.remove(0));
    }
    for text in &code {
        match text.text().filter(|_| !call.is_found_name(text)) {
            Some(text) => program(call, text),
            None => return call.interpreter.unsure_code("the awk program is only known when it runs"),
        }
    }
    for file in &operands {
        // `NAME=value` sets a variable.
        let text = file.beginning();
        let assigns = text.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty()
                && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
                && !name.starts_with(|char: char| char.is_ascii_digit())
        });
        if text == "-" || (assigns && file.text().is_some()) {
            continue;
        }
        call.touch(Access::Read, file, Depth::Itself);
    }
}

/// Goes through a program: strings and patterns aside, what could run, read or write?
fn program(call: &mut Call<'_, '_>, text: &str) {
    let Some(found) = tokens(text, true) else {
        return call.interpreter.unsure_code("the awk program is not understood");
    };
    // To some implementations a slash in brackets ends a pattern.
    if let Some(other) = tokens(text, false).filter(|other| *other != found) {
        statements(call, &other);
    }
    statements(call, &found);
}

fn statements(call: &mut Call<'_, '_>, tokens: &[Token]) {
    let mut parens = 0_i32;
    let mut printing = false;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            // Without `<` it reads the next line of the input.
            Token::Word(word) if word == "getline" => match (tokens.get(at + 1), tokens.get(at + 2)) {
                (None | Some(Token::Sign(';' | '}' | '\n')), _) => {}
                (Some(Token::Word(_)), None | Some(Token::Sign(';' | '}' | '\n'))) => {}
                _ => return call.interpreter.unsure_code("the awk program reads a file or a command"),
            },
            Token::Word(word)
                if matches!(word.as_str(), "system" | "ARGV" | "ARGC" | "ENVIRON" | "PROCINFO" | "SYMTAB") =>
            {
                return call.interpreter.unsure_code(format!("the awk program uses {word}"));
            }
            Token::Word(word) if word == "print" || word == "printf" => {
                printing = true;
                parens = 0;
            }
            Token::Unclear => return call.interpreter.unsure_code("a slash in the awk program is not understood"),
            Token::Sign('@') => {
                return call.interpreter.unsure_code("the awk program loads or calls something by name");
            }
            Token::Sign('(') => parens += 1,
            Token::Sign(')') => parens -= 1,
            // A line goes on behind these.
            Token::Sign('\n') if at > 0 && matches!(tokens[at - 1], Token::Sign(',' | 'o' | '&' | '\n')) => {}
            Token::Sign(';' | '\n' | '}' | '{') => printing = false,
            // `||` is a word of its own.
            Token::Sign('|') => return call.interpreter.unsure_code("the awk program runs a command"),
            Token::Sign('>') if matches!(tokens.get(at + 1), Some(Token::Sign('='))) => {}
            Token::Sign('>') if printing && parens <= 0 => match (tokens.get(at + 1), tokens.get(at + 2)) {
                (Some(Token::Sign('>')), _) => {}
                (Some(Token::Text(file)), None | Some(Token::Sign(';' | '}' | '\n'))) => {
                    if file.starts_with("/inet") {
                        return call.interpreter.unsure_code("the awk program connects to a host");
                    }
                    if file != "/dev/stderr" && file != "/dev/stdout" {
                        call.touch(Access::Write, &Argument::known(file.as_str()), Depth::Itself);
                    }
                }
                _ => {
                    return call
                        .interpreter
                        .unsure_code("the awk program writes a file that is only known when it runs");
                }
            },
            _ => {}
        }
    }
}

/// Whether a slash behind this begins a pattern, rather than dividing.
fn begins_pattern(before: Option<&Token>, behind_condition: bool) -> bool {
    const KEYWORDS: [&str; 15] = [
        "print", "printf", "return", "in", "else", "do", "getline", "if", "while", "for", "delete", "exit", "BEGIN",
        "END", "case",
    ];
    match before {
        Some(Token::Word(word)) => KEYWORDS.contains(&word.as_str()),
        // Behind the condition of a statement, or a value in parentheses.
        Some(Token::Sign(')')) => behind_condition,
        Some(Token::Text(_) | Token::Pattern | Token::Sign(']' | '$')) => false,
        _ => true,
    }
}

#[derive(PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Sign(char),
    Pattern,
    /// A slash, or brackets, that the implementations read in different ways: nothing behind it is read.
    Unclear,
}

type Characters<'t> = std::iter::Peekable<std::str::CharIndices<'t>>;

/// Goes past a pattern; whether its end is clear, and nothing where it has none.
fn pattern(chars: &mut Characters<'_>, in_brackets: bool) -> Option<bool> {
    let mut bracket = false;
    loop {
        match chars.next()?.1 {
            '\\' => drop(chars.next()?),
            '/' if !(bracket && in_brackets) => return Some(true),
            '\n' => return None,
            '[' if bracket && matches!(chars.peek(), Some((_, ':' | '.' | '='))) => {
                // A class in brackets: `[:alpha:]`.
                chars.next_if(|(_, char)| *char == ':');
                while chars.next_if(|(_, char)| char.is_ascii_alphabetic()).is_some() {}
                if (chars.next()?.1, chars.next()?.1) != (':', ']') {
                    return Some(false);
                }
            }
            '[' if !bracket => {
                bracket = true;
                chars.next_if(|(_, char)| *char == '^');
                if matches!(chars.peek(), Some((_, ']'))) {
                    return Some(false);
                }
            }
            ']' => bracket = false,
            _ => {}
        }
    }
}

fn tokens(text: &str, in_brackets: bool) -> Option<Vec<Token>> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut chars = text.char_indices().peekable();
    // Which of the open parentheses, and whether the last that ended, hold the condition of a statement.
    let (mut conditions, mut behind_condition) = (Vec::new(), false);
    while let Some((at, char)) = chars.next() {
        match char {
            '#' => while chars.next_if(|(_, char)| *char != '\n').is_some() {},
            '"' => {
                let mut string = String::new();
                loop {
                    match chars.next()?.1 {
                        '"' => break,
                        '\n' => return None,
                        // Escapes are kept as they stand; a file name with one is not understood.
                        '\\' => {
                            string.push('\\');
                            string.push(chars.next()?.1);
                        }
                        other => string.push(other),
                    }
                }
                tokens.push(if string.contains('\\') { Token::Pattern } else { Token::Text(string) });
            }
            // A slash divides behind a value, and begins a pattern elsewhere.
            '/' if matches!(
                tokens.as_slice(),
                [.., Token::Sign('+'), Token::Sign('+')] | [.., Token::Sign('-'), Token::Sign('-')]
            ) =>
            {
                tokens.push(Token::Unclear);
                return Some(tokens);
            }
            '/' if begins_pattern(tokens.last(), behind_condition) => {
                let is_clear = pattern(&mut chars, in_brackets)?;
                tokens.push(if is_clear { Token::Pattern } else { Token::Unclear });
                if !is_clear {
                    return Some(tokens);
                }
            }
            '|' if chars.next_if(|(_, char)| *char == '|').is_some() => tokens.push(Token::Sign('o')),
            '\\' => {
                // Only a line that goes on.
                chars.next_if(|(_, char)| *char == '\n')?;
            }
            '\n' => tokens.push(Token::Sign('\n')),
            char if char.is_whitespace() => {}
            char if char.is_ascii_alphanumeric() || char == '_' => {
                let mut end = at + 1;
                while let Some((next, _)) =
                    chars.next_if(|(_, char)| char.is_ascii_alphanumeric() || *char == '_' || *char == '.')
                {
                    end = next + 1;
                }
                tokens.push(Token::Word(text[at..end].to_owned()));
            }
            char => {
                let is_statement = |word: &str| matches!(word, "if" | "while" | "for" | "switch");
                match char {
                    '(' => conditions.push(matches!(tokens.last(), Some(Token::Word(word)) if is_statement(word))),
                    ')' => behind_condition = conditions.pop().unwrap_or_default(),
                    _ => {}
                }
                tokens.push(Token::Sign(char));
            }
        }
    }
    Some(tokens)
}
