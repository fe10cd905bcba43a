//! The shape of a shell text: its commands, with words that compare equal whether or not they were quoted.

use hookwright_hooks::shell::{Node, PathPart, Piece, Script, SimpleCommand, Word, parse};

/// The placeholder for a value that is inserted into a text.
pub(crate) const PLACEHOLDER: &str = "hwMARKwh";

/// Returns the shape of a text, with every placeholder in its words replaced by `value`; `None` if the parse is
/// uncertain.
pub(crate) fn render_shape(text: &str, value: &str) -> Option<String> {
    let script = parse(text);
    let mut shape = ShapeWriter { text: String::new(), value, certain: true };
    shape.write_script(&script);
    shape.certain.then_some(shape.text)
}

struct ShapeWriter<'v> {
    text: String,
    value: &'v str,
    certain: bool,
}

impl ShapeWriter<'_> {
    fn write_script(&mut self, script: &Script) {
        self.certain &= script.certain;
        self.write_nodes("script", &script.nodes);
    }

    fn write_nodes(&mut self, name: &str, nodes: &[Node]) {
        self.text += &format!("({name}");
        nodes.iter().for_each(|node| self.write_node(node));
        self.text += ")";
    }

    fn write_node(&mut self, node: &Node) {
        match node {
            Node::Simple(command) => self.write_command(command),
            Node::Group(body) => self.write_nodes("group", body),
            Node::Apart(body) => self.write_nodes("apart", body),
            Node::Pipeline(body) => self.write_nodes("pipeline", body),
            Node::Maybe(body) => self.write_nodes("maybe", body),
            Node::And(body) => self.write_nodes("and", body),
            Node::Or(body) => self.write_nodes("or", body),
            Node::Function { name, body } => {
                self.write_nodes(&format!("function {:?}", self.fill_placeholder(name)), body)
            }
            Node::Loop { variable, body } => {
                if let Some((name, words)) = variable {
                    self.text += &format!("for {:?}", self.fill_placeholder(name));
                    words.iter().for_each(|word| self.write_word(word));
                }
                self.write_nodes("loop", body);
            }
        }
    }

    fn write_command(&mut self, command: &SimpleCommand) {
        self.text += "(command";
        for assignment in &command.assignments {
            self.text += &format!(" {:?}=", self.fill_placeholder(&assignment.name));
            self.write_word(&assignment.value);
        }
        command.words.iter().for_each(|word| self.write_word(word));
        for redirection in &command.redirections {
            self.text += &format!(" {:?}", redirection.kind);
            self.write_word(&redirection.target);
        }
        self.text += ")";
    }

    fn write_word(&mut self, word: &Word) {
        self.text += " [";
        let mut plain = String::new();
        for piece in &word.pieces {
            match piece {
                // Characters that a shell expands outside of quotes are marked.
                Piece::Plain(text) => {
                    text.chars().for_each(|char| plain.extend(expansion_marker(char).into_iter().chain([char])))
                }
                Piece::Quoted(text) => plain += text,
                other => {
                    self.write_literal(&mut plain);
                    self.write_expansion(other);
                }
            }
        }
        self.write_literal(&mut plain);
        self.text += "]";
    }

    fn fill_placeholder(&self, text: &str) -> String {
        text.replace(PLACEHOLDER, self.value)
    }

    fn write_literal(&mut self, plain: &mut String) {
        let text = self.fill_placeholder(&std::mem::take(plain));
        if !text.is_empty() {
            self.text += &format!("{text:?}");
        }
    }

    fn write_expansion(&mut self, piece: &Piece) {
        match piece {
            Piece::Plain(_) | Piece::Quoted(_) => {}
            Piece::Variable { name, default, quoted } => {
                self.text += &format!("(variable {name:?} {quoted}");
                default.iter().for_each(|word| self.write_word(word));
                self.text += ")";
            }
            Piece::PathPart { name, part, quoted } => {
                let part = if *part == PathPart::Directory { "directory" } else { "name" };
                self.text += &format!("({part} {name:?} {quoted})");
            }
            Piece::Output { script, quoted } => {
                self.text += &format!("(output {quoted}");
                self.write_script(script);
                self.text += ")";
            }
            Piece::Other(word) => {
                self.text += "(other";
                self.write_word(word);
                self.text += ")";
            }
        }
    }
}

fn expansion_marker(char: char) -> Option<char> {
    "*?~{}[]".contains(char).then_some('\u{1}')
}
