//! Tables in Markdown: columns are as wide as their cells if there is room, otherwise narrower and wrapped.

use pulldown_cmark::Alignment;

use crate::presentation::styled_text::{BOLD, DIM, PLAIN, StyledLine};

/// The narrowest width of a column that is shrunk.
const MIN_COLUMN_WIDTH: usize = 4;

/// Rows of cells; the first row is the heading.
#[derive(Debug, Default)]
pub(crate) struct MarkdownTable {
    rows: Vec<Vec<StyledLine>>,
    /// The alignment of each column.
    alignments: Vec<Alignment>,
}

impl MarkdownTable {
    /// Returns an empty table with these alignments.
    pub(crate) fn new(sides: Vec<Alignment>) -> Self {
        MarkdownTable { rows: Vec::new(), alignments: sides }
    }

    pub(crate) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Adds a cell to the last row.
    pub(crate) fn push_cell(&mut self, cell: StyledLine) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// Returns the table's lines in so many columns.
    pub(crate) fn render(&self, columns: usize) -> Vec<StyledLine> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths = column_widths(&self.rows, count, columns);
        if widths.iter().sum::<usize>() + 3 * count.saturating_sub(1) > columns {
            return self.render_as_list(columns);
        }
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            lines.extend(draw_row(row, &widths, &self.alignments, at == 0));
            if at == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(StyledLine::styled(DIM, rule.join("─┼─")));
            }
        }
        lines
    }

    /// Returns each row as a list of `heading: cell`, for lack of room.
    fn render_as_list(&self, columns: usize) -> Vec<StyledLine> {
        let Some((heading, rows)) = self.rows.split_first() else { return Vec::new() };
        let mut lines = Vec::new();
        for row in rows {
            for (name, cell) in heading.iter().zip(row) {
                let mut line = StyledLine::new().with_hanging_indent(2);
                name.spans.iter().for_each(|span| line.push(BOLD, &span.text));
                line.push(PLAIN, ": ");
                line.spans.extend(cell.spans.clone());
                lines.extend(line.wrap(columns));
            }
            lines.push(StyledLine::styled(DIM, "─"));
        }
        lines
    }
}

/// Returns the column widths; a table that is too wide takes from its widest columns.
fn column_widths(rows: &[Vec<StyledLine>], count: usize, columns: usize) -> Vec<usize> {
    let widest = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(StyledLine::width).max().unwrap_or(0).max(1);
    let mut widths: Vec<usize> = (0..count).map(widest).collect();
    let room = columns.saturating_sub(3 * count.saturating_sub(1));
    let mut over = widths.iter().sum::<usize>().saturating_sub(room);
    while over > 0 {
        let Some(widest) = widths.iter_mut().max().filter(|width| **width > MIN_COLUMN_WIDTH) else { break };
        *widest -= 1;
        over -= 1;
    }
    widths
}

/// Returns the number of blanks before and after a cell, out of `all`.
fn cell_padding(side: Alignment, all: usize) -> (usize, usize) {
    match side {
        Alignment::None | Alignment::Left => (0, all),
        Alignment::Center => (all / 2, all - all / 2),
        Alignment::Right => (all, 0),
    }
}

fn draw_row(row: &[StyledLine], widths: &[usize], sides: &[Alignment], heading: bool) -> Vec<StyledLine> {
    let cells: Vec<Vec<StyledLine>> = row.iter().zip(widths).map(|(cell, width)| cell.wrap(*width)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let draw = |at: usize| {
        let mut line = StyledLine::new();
        for (column, width) in widths.iter().enumerate() {
            let empty = StyledLine::new();
            let cell = cells.get(column).and_then(|lines| lines.get(at)).unwrap_or(&empty);
            let side = sides.get(column).copied().unwrap_or(Alignment::None);
            let (before, behind) = cell_padding(side, width.saturating_sub(cell.width()));
            line.push(PLAIN, &" ".repeat(before));
            for span in &cell.spans {
                line.push(if heading { span.style.bold() } else { span.style }, &span.text);
            }
            if column + 1 < widths.len() {
                line.push(PLAIN, &" ".repeat(behind));
                line.push(DIM, " │ ");
            }
        }
        line
    };
    (0..height).map(draw).collect()
}
