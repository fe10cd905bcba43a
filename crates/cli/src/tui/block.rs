//! What stands in the scrollback: finished pieces, kept as what they mean so that they can be drawn again at another width.

use hookwright_hooks::Diagnostic;

use super::highlight;
use super::markdown;
use super::text::{DIM, Line, PLAIN};

/// A finished piece.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Block {
    /// Lines, wrapped where they are too long.
    Lines(Vec<Line>),
    /// Markdown.
    Markdown(String),
    /// Lines of a code block.
    Code { language: String, lines: Vec<String>, indent: usize },
    /// Something that is wrong with a file.
    Diagnostic(Box<Diagnostic>),
    /// An empty line, unless there is one already.
    Gap,
}

impl Block {
    pub(crate) fn line(line: Line) -> Self {
        Block::Lines(vec![line])
    }

    /// The piece in so many columns.
    pub(crate) fn render(&self, columns: usize) -> Vec<Line> {
        match self {
            Block::Lines(lines) => lines.iter().flat_map(|line| line.wrap(columns)).collect(),
            Block::Markdown(text) => markdown::render(text, columns),
            Block::Code { language, lines, indent } => {
                let margin = " ".repeat(indent + 2);
                let draw = |text: &String| {
                    let mut line = Line::of(DIM, &margin).hanging(indent + 2);
                    line.spans.extend(highlight::line(language, text).spans);
                    line.wrap(columns)
                };
                lines.iter().flat_map(draw).collect()
            }
            Block::Diagnostic(diagnostic) => {
                let drawn = crate::report::draw_in(diagnostic, columns);
                drawn.lines().flat_map(|line| Line::of(PLAIN, line).wrap(columns)).collect()
            }
            Block::Gap => vec![Line::new()],
        }
    }
}

/// Pieces with their lines in so many columns, never two empty lines in a row.
pub(crate) fn render_all(blocks: Vec<Block>, columns: usize, after_gap: &mut bool) -> Vec<(Block, Vec<Line>)> {
    let mut drawn = Vec::with_capacity(blocks.len());
    for block in blocks {
        if block == Block::Gap && *after_gap {
            continue;
        }
        let lines = block.render(columns);
        if let Some(last) = lines.last() {
            *after_gap = last.spans.is_empty();
        }
        drawn.push((block, lines));
    }
    drawn
}
