//! Markdown for a terminal: splits a stream into blocks that are final as early as possible, and renders each block.
//!
//! Final blocks go into the scrollback and are not parsed again, so the cost per line does not grow with the answer.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::block::ScrollbackBlock;
use super::markdown_table::MarkdownTable;
use crate::presentation::styled_text::{ACCENT, BOLD, CODE, DIM, NOTE, PLAIN, StyledLine};

/// The number of pending lines above which a list is flushed at its next item.
///
/// Other text is flushed at ten times as many.
const MAX_PENDING_LINES: usize = 40;

/// A streamed answer.
#[derive(Debug, Default)]
pub(crate) struct MarkdownStream {
    pending: String,
    lines: usize,
    fence: Option<CodeFence>,
}

#[derive(Debug)]
struct CodeFence {
    mark: String,
    indent: usize,
    language: String,
}

impl MarkdownStream {
    /// Adds text, and returns the blocks that are final now.
    pub(crate) fn push(&mut self, text: &str) -> Vec<ScrollbackBlock> {
        let mut done = Vec::new();
        let mut rest = text;
        while let Some(end) = rest.find('\n') {
            self.pending.push_str(&rest[..=end]);
            rest = &rest[end + 1..];
            self.finish_line(&mut done);
        }
        self.pending.push_str(rest);
        done
    }

    /// Ends the answer, and returns the remaining blocks.
    pub(crate) fn finish(&mut self) -> Vec<ScrollbackBlock> {
        let mut done = Vec::new();
        if !self.pending.is_empty() {
            self.pending.push('\n');
            self.finish_line(&mut done);
        }
        self.flush(&mut done);
        self.fence = None;
        done
    }

    /// Returns the block that is not final yet, as it would look now.
    pub(crate) fn live_block(&self) -> Option<ScrollbackBlock> {
        match &self.fence {
            _ if self.pending.trim().is_empty() => None,
            Some(fence) => Some(fence.code_block(&self.pending)),
            None => Some(ScrollbackBlock::Markdown(self.pending.clone())),
        }
    }

    /// Handles a completed line, which is the last one of the pending text.
    fn finish_line(&mut self, done: &mut Vec<ScrollbackBlock>) {
        let start = self.pending[..self.pending.len() - 1].rfind('\n').map_or(0, |at| at + 1);
        let line = self.pending[start..].trim_end();
        let bare = line.trim_start();
        if let Some(fence) = &self.fence {
            if bare.starts_with(&fence.mark) && bare.trim_matches(fence.mark.as_bytes()[0] as char).is_empty() {
                self.fence = None;
                done.push(ScrollbackBlock::Gap);
            } else {
                done.push(fence.code_block(line));
            }
            self.pending.clear();
            return;
        }
        if let Some(fence) = opening_fence(line) {
            self.pending.truncate(start);
            self.flush(done);
            self.fence = Some(fence);
            return;
        }
        self.lines += 1;
        let item = bare.starts_with(['-', '*', '+']) || bare.starts_with(|char: char| char.is_ascii_digit());
        let too_long = self.lines > MAX_PENDING_LINES && (item && line == bare || self.lines > 10 * MAX_PENDING_LINES);
        if bare.is_empty() {
            self.flush(done);
            done.push(ScrollbackBlock::Gap);
        } else if bare.starts_with('#') && start == 0 {
            self.flush(done);
        } else if too_long {
            let last = self.pending.split_off(start);
            self.flush(done);
            self.pending = last;
            self.lines = 1;
        }
    }

    fn flush(&mut self, done: &mut Vec<ScrollbackBlock>) {
        self.lines = 0;
        let text = std::mem::take(&mut self.pending);
        if !text.trim().is_empty() {
            done.push(ScrollbackBlock::Markdown(text));
        }
    }
}

impl CodeFence {
    fn code_block(&self, text: &str) -> ScrollbackBlock {
        let dedent = |line: &str| {
            let blank = line.len() - line.trim_start_matches(' ').len();
            line[blank.min(self.indent)..].to_owned()
        };
        let mut lines: Vec<String> = text.lines().map(dedent).collect();
        if lines.is_empty() {
            lines.push(String::new());
        }
        ScrollbackBlock::Code { language: self.language.clone(), lines, indent: self.indent.min(8) }
    }
}

fn opening_fence(line: &str) -> Option<CodeFence> {
    let bare = line.trim_start();
    let mark = ['`', '~'].into_iter().find(|mark| bare.starts_with(&mark.to_string().repeat(3)))?;
    let length = bare.len() - bare.trim_start_matches(mark).len();
    let info = bare[length..].trim();
    // ```` ```like this``` ```` is inline code.
    if info.contains('`') {
        return None;
    }
    let language = info.split([' ', ',', '{']).next().unwrap_or_default().to_lowercase();
    Some(CodeFence { mark: mark.to_string().repeat(length), indent: line.len() - bare.len(), language })
}

/// Renders Markdown in so many columns.
pub(crate) fn render(text: &str, columns: usize) -> Vec<StyledLine> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = MarkdownRenderer { columns, ..MarkdownRenderer::default() };
    for event in Parser::new_ext(text, options) {
        page.push_event(event);
    }
    page.end_line();
    page.lines
}

/// The state of rendering.
#[derive(Default)]
struct MarkdownRenderer {
    columns: usize,
    lines: Vec<StyledLine>,
    line: StyledLine,
    styles: Vec<anstyle::Style>,
    /// The number of the next item for each open list, or none for bullets.
    lists: Vec<Option<u64>>,
    quotes: usize,
    link: Option<String>,
    table: Option<MarkdownTable>,
    code: Option<String>,
}

impl MarkdownRenderer {
    fn push_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.code.is_some() => self.code_lines(&text),
            Event::Text(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Html(text) => text.lines().for_each(|line| {
                self.text(line);
                self.end_line();
            }),
            Event::Code(text) => self.styled(CODE, &text),
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.end_line(),
            Event::Rule => self.lines.push(StyledLine::styled(DIM, "─".repeat(self.columns.min(60)))),
            Event::TaskListMarker(done) => self.styled(NOTE, if done { "[x] " } else { "[ ] " }),
            Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.end_line();
                let style = if level <= HeadingLevel::H2 { ACCENT.bold() } else { BOLD };
                self.styles.push(style);
            }
            Tag::Emphasis => self.styles.push(PLAIN.italic()),
            Tag::Strong => self.styles.push(BOLD),
            Tag::Strikethrough => self.styles.push(PLAIN.strikethrough()),
            Tag::List(start) => {
                self.end_line();
                self.lists.push(start);
            }
            Tag::Item => self.start_item(),
            Tag::BlockQuote(_) => {
                self.end_line();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.end_line();
                self.code = Some(match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => String::new(),
                });
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.link = Some(dest_url.to_string()),
            Tag::Table(sides) => {
                self.end_line();
                self.table = Some(MarkdownTable::new(sides));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.end_line();
                self.styles.pop();
            }
            TagEnd::Paragraph | TagEnd::Item => self.end_line(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::List(_) => {
                self.end_line();
                self.lists.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock => self.code = None,
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableCell => {
                if let Some(table) = &mut self.table {
                    table.push_cell(std::mem::take(&mut self.line));
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.lines.extend(table.render(self.columns));
                }
            }
            _ => {}
        }
    }

    fn start_item(&mut self) {
        self.end_line();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        let indent = "  ".repeat(self.lists.len().saturating_sub(1));
        self.line = self.quote_prefix().with_text(PLAIN, &indent).with_text(NOTE, &mark);
        self.line.indent = self.line.width();
    }

    /// Appends the link's address, unless its text is the address.
    fn end_link(&mut self) {
        let Some(address) = self.link.take() else { return };
        if !self.line.spans.last().is_some_and(|span| span.text.ends_with(&address)) {
            self.styled(DIM, &format!(" ({address})"));
        }
    }

    fn text(&mut self, text: &str) {
        let style = self.styles.iter().fold(PLAIN, |sum, style| {
            let colour = style.get_fg_color().or(sum.get_fg_color());
            sum.fg_color(colour).effects(sum.get_effects() | style.get_effects())
        });
        self.styled(if self.link.is_some() { style.underline() } else { style }, text);
    }

    fn styled(&mut self, style: anstyle::Style, text: &str) {
        if self.line.spans.is_empty() && self.table.is_none() {
            let indent = "  ".repeat(self.lists.len());
            self.line = self.quote_prefix().with_text(PLAIN, &indent);
            self.line.indent = self.line.width();
        }
        self.line.push(style, text);
    }

    fn code_lines(&mut self, text: &str) {
        let language = self.code.clone().unwrap_or_default();
        let indent = 2 * self.lists.len();
        let block = ScrollbackBlock::Code { language, lines: text.lines().map(str::to_owned).collect(), indent };
        self.lines.extend(block.render(self.columns));
    }

    fn quote_prefix(&self) -> StyledLine {
        StyledLine::styled(DIM, "│ ".repeat(self.quotes))
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.spans.is_empty() {
            self.lines.extend(line.wrap(self.columns));
        }
    }
}

#[cfg(test)]
mod tests;
