//! The blocks of the scrollback.
//!
//! They are kept unrendered, so that they can be rendered again at another width.

use hookwright_hooks::Diagnostic;

use super::markdown;
use crate::presentation::highlight;
use crate::presentation::styled_text::{DIM, PLAIN, StyledLine};

/// A finished block of the scrollback.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ScrollbackBlock {
    /// Lines, which are wrapped if they are too long.
    Lines(Vec<StyledLine>),
    /// A text in Markdown.
    Markdown(String),
    /// Lines of a code block.
    Code { language: String, lines: Vec<String>, indent: usize },
    /// A diagnostic about a file.
    Diagnostic(Box<Diagnostic>),
    /// An empty line, unless there is one already.
    Gap,
}

impl ScrollbackBlock {
    pub(crate) fn line(line: StyledLine) -> Self {
        ScrollbackBlock::Lines(vec![line])
    }

    /// Returns the block's lines in so many columns.
    pub(crate) fn render(&self, columns: usize) -> Vec<StyledLine> {
        match self {
            ScrollbackBlock::Lines(lines) => lines.iter().flat_map(|line| line.wrap(columns)).collect(),
            ScrollbackBlock::Markdown(text) => markdown::render(text, columns),
            ScrollbackBlock::Code { language, lines, indent } => {
                let margin = " ".repeat(indent + 2);
                let draw = |text: &String| {
                    let mut line = StyledLine::styled(DIM, &margin).with_hanging_indent(indent + 2);
                    line.spans.extend(highlight::highlight_line(language, text).spans);
                    line.wrap(columns)
                };
                lines.iter().flat_map(draw).collect()
            }
            ScrollbackBlock::Diagnostic(diagnostic) => {
                let drawn = crate::output::diagnostics::render_in(diagnostic, columns);
                drawn.lines().flat_map(|line| StyledLine::styled(PLAIN, line).wrap(columns)).collect()
            }
            ScrollbackBlock::Gap => vec![StyledLine::new()],
        }
    }
}

/// Renders blocks in so many columns, without two empty lines in a row.
pub(crate) fn render_all(
    blocks: Vec<ScrollbackBlock>,
    columns: usize,
    after_gap: &mut bool,
) -> Vec<(ScrollbackBlock, Vec<StyledLine>)> {
    let mut drawn = Vec::with_capacity(blocks.len());
    for block in blocks {
        if block == ScrollbackBlock::Gap && *after_gap {
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
