//! A shell text's shape: what it runs, with words that can be compared whether or not they were written in quotes.

use hookwright_hooks::shell::{Node, PathPart, Piece, Script, SimpleCommand, Word, parse};

/// Stands for what is put into a text.
pub(crate) const MARK: &str = "hwMARKwh";

/// The shape of a text, with every mark in its words replaced by `value`; nothing if not all of it is understood.
pub(crate) fn shape(text: &str, value: &str) -> Option<String> {
    let script = parse(text);
    let mut shape = Shape { text: String::new(), value, certain: true };
    shape.script(&script);
    shape.certain.then_some(shape.text)
}

struct Shape<'v> {
    text: String,
    value: &'v str,
    certain: bool,
}

impl Shape<'_> {
    fn script(&mut self, script: &Script) {
        self.certain &= script.certain;
        self.nodes("script", &script.nodes);
    }

    fn nodes(&mut self, name: &str, nodes: &[Node]) {
        self.text += &format!("({name}");
        nodes.iter().for_each(|node| self.node(node));
        self.text += ")";
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Simple(command) => self.command(command),
            Node::Group(body) => self.nodes("group", body),
            Node::Apart(body) => self.nodes("apart", body),
            Node::Pipeline(body) => self.nodes("pipeline", body),
            Node::Maybe(body) => self.nodes("maybe", body),
            Node::And(body) => self.nodes("and", body),
            Node::Or(body) => self.nodes("or", body),
            Node::Function { name, body } => self.nodes(&format!("function {:?}", self.marked(name)), body),
            Node::Loop { variable, body } => {
                if let Some((name, words)) = variable {
                    self.text += &format!("for {:?}", self.marked(name));
                    words.iter().for_each(|word| self.word(word));
                }
                self.nodes("loop", body);
            }
        }
    }

    fn command(&mut self, command: &SimpleCommand) {
        self.text += "(command";
        for assignment in &command.assignments {
            self.text += &format!(" {:?}=", self.marked(&assignment.name));
            self.word(&assignment.value);
        }
        command.words.iter().for_each(|word| self.word(word));
        for redirection in &command.redirections {
            self.text += &format!(" {:?}", redirection.kind);
            self.word(&redirection.target);
        }
        self.text += ")";
    }

    fn word(&mut self, word: &Word) {
        self.text += " [";
        let mut plain = String::new();
        for piece in &word.pieces {
            match piece {
                // Characters that a shell expands where no quotes protect them are marked.
                Piece::Plain(text) => {
                    text.chars().for_each(|char| plain.extend(special(char).into_iter().chain([char])))
                }
                Piece::Quoted(text) => plain += text,
                other => {
                    self.literal(&mut plain);
                    self.expansion(other);
                }
            }
        }
        self.literal(&mut plain);
        self.text += "]";
    }

    fn marked(&self, text: &str) -> String {
        text.replace(MARK, self.value)
    }

    fn literal(&mut self, plain: &mut String) {
        let text = self.marked(&std::mem::take(plain));
        if !text.is_empty() {
            self.text += &format!("{text:?}");
        }
    }

    fn expansion(&mut self, piece: &Piece) {
        match piece {
            Piece::Plain(_) | Piece::Quoted(_) => {}
            Piece::Variable { name, default, quoted } => {
                self.text += &format!("(variable {name:?} {quoted}");
                default.iter().for_each(|word| self.word(word));
                self.text += ")";
            }
            Piece::PathPart { name, part, quoted } => {
                let part = if *part == PathPart::Directory { "directory" } else { "name" };
                self.text += &format!("({part} {name:?} {quoted})");
            }
            Piece::Output { script, quoted } => {
                self.text += &format!("(output {quoted}");
                self.script(script);
                self.text += ")";
            }
            Piece::Other(word) => {
                self.text += "(other";
                self.word(word);
                self.text += ")";
            }
        }
    }
}

fn special(char: char) -> Option<char> {
    "*?~{}[]".contains(char).then_some('\u{1}')
}
