//! Reads one file as content for the model: lines of text, or media. Shared by the tools that read files.

use crate::encoding;
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::file_io;
use crate::media::{FileType, MAX_MEDIA_BYTES};
use crate::open_files::OpenFiles;
use crate::result::ResultPart;
use base64::Engine as _;
use std::path::Path;

/// The limits of lines, and of characters per line, that are shown at once.
pub(super) const MAX_SHOWN_LINES: usize = 2000;
pub(super) const MAX_LINE_CHARS: usize = 2000;
const MAX_SVG_BYTES: usize = 1024 * 1024;

/// The requested lines: the first, counted from 0, and their number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LineWindow {
    pub(super) start: usize,
    pub(super) count: Option<usize>,
}

/// The content of a file.
#[derive(Debug)]
pub(super) enum FileContent {
    Text(TextContent),
    Media {
        part: ResultPart,
        family: &'static str,
    },
    /// Content that a model cannot read.
    Binary,
}

#[derive(Debug)]
pub(super) struct TextContent {
    pub(super) text: String,
    /// The first and last line shown, counted from 1.
    pub(super) line_range: (usize, usize),
    pub(super) total_lines: usize,
    pub(super) has_truncated_lines: bool,
}

impl TextContent {
    pub(super) fn is_complete(&self) -> bool {
        self.line_range.0 <= 1 && self.line_range.1 == self.total_lines && !self.has_truncated_lines
    }
}

pub(super) fn load(
    path: &Path,
    window: LineWindow,
    editor: Option<&dyn OpenFiles>,
) -> Result<FileContent, ToolFailure> {
    let bytes = file_io::read(path)?;
    match FileType::detect(path, &bytes) {
        FileType::Media(media) if bytes.len() as u64 > MAX_MEDIA_BYTES => Err(ToolFailure::new(
            ToolErrorKind::FileTooLarge,
            format!(
                "this {} is too large to be sent: {:.1} MB, and at most {} MB are ({})",
                media.family,
                bytes.len() as f64 / 1_048_576.0,
                MAX_MEDIA_BYTES >> 20,
                path.display()
            ),
        )),
        FileType::Media(media) => {
            let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
            let part = ResultPart::InlineData { mime_type: media.mime_type.to_owned(), data };
            Ok(FileContent::Media { part, family: media.family })
        }
        FileType::Binary => Ok(FileContent::Binary),
        FileType::Svg if bytes.len() > MAX_SVG_BYTES => Err(ToolFailure::new(
            ToolErrorKind::FileTooLarge,
            format!("SVG files larger than 1MB are not shown: {}", path.display()),
        )),
        FileType::Svg | FileType::Text => {
            let text = file_io::with_open_text(encoding::decode(&bytes), path, editor).text;
            Ok(FileContent::Text(select_lines(&text, window)))
        }
    }
}

fn select_lines(text: &str, window: LineWindow) -> TextContent {
    let lines: Vec<&str> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let start = window.start.min(lines.len());
    let end = start.saturating_add(window.count.unwrap_or(MAX_SHOWN_LINES)).min(lines.len());
    let mut lines_cut = false;
    let shown: Vec<String> = lines[start..end]
        .iter()
        .map(|line| match truncate_line(line) {
            Some(cut) => {
                lines_cut = true;
                cut
            }
            None => (*line).to_owned(),
        })
        .collect();
    TextContent {
        text: shown.join("\n"),
        line_range: (start + 1, end),
        total_lines: lines.len(),
        has_truncated_lines: lines_cut,
    }
}

/// Returns the shortened text of an overlong line, or `None` if the line is not too long.
pub(super) fn truncate_line(line: &str) -> Option<String> {
    let (at, _) = line.char_indices().nth(MAX_LINE_CHARS)?;
    Some(format!("{}... [truncated]", &line[..at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_lines() {
        let all = select_lines("a\r\nb\nc\n", LineWindow::default());
        assert_eq!((all.text.as_str(), all.line_range, all.total_lines), ("a\nb\nc\n", (1, 4), 4));
        assert!(all.is_complete());
        let middle = select_lines("a\nb\nc\n", LineWindow { start: 1, count: Some(1) });
        assert_eq!((middle.text.as_str(), middle.line_range), ("b", (2, 2)));
        assert!(!middle.is_complete());
        let beyond = select_lines("a", LineWindow { start: 9, count: Some(usize::MAX) });
        assert_eq!((beyond.text.as_str(), beyond.line_range), ("", (2, 1)));
    }

    #[test]
    fn long_files_and_lines_are_truncated() {
        let many = select_lines(&"x\n".repeat(3000), LineWindow::default());
        assert_eq!((many.line_range, many.total_lines), ((1, 2000), 3001));
        let long = select_lines(&"é".repeat(2001), LineWindow::default());
        assert!(long.has_truncated_lines && !long.is_complete());
        assert!(long.text.ends_with("é... [truncated]"));
        assert_eq!(truncate_line(&"x".repeat(2000)), None);
    }
}
