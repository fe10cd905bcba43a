//! The tool `read_file`: reads one file, as a range of lines or as media.

use super::file_content::{self, FileContent, LineWindow, TextContent};
use crate::catalog::{self, BuiltinInfo};
use crate::context::ToolContext;
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::result::{ResultContent, ToolDisplay, ToolResult};
use crate::tool::{BuiltinTool, lenient_u64, run_blocking};
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) struct ReadFile;

#[derive(Deserialize)]
pub(crate) struct ReadFileArgs {
    file_path: String,
    #[serde(default, deserialize_with = "lenient_u64")]
    start_line: Option<u64>,
    #[serde(default, deserialize_with = "lenient_u64")]
    end_line: Option<u64>,
    /// The older arguments: the first line, counted from 0, and the number of lines.
    #[serde(default, deserialize_with = "lenient_u64")]
    offset: Option<u64>,
    #[serde(default, deserialize_with = "lenient_u64")]
    limit: Option<u64>,
}

impl ReadFileArgs {
    fn line_window(&self) -> Result<LineWindow, ToolFailure> {
        let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        match (self.start_line, self.end_line) {
            (Some(0), _) | (_, Some(0)) => Err(ToolFailure::invalid_params("lines are counted from 1")),
            (Some(start), Some(end)) if start > end => {
                Err(ToolFailure::invalid_params("start_line cannot be greater than end_line"))
            }
            (None, None) => Ok(LineWindow { start: number(self.offset.unwrap_or(0)), count: self.limit.map(number) }),
            (start, end) => {
                let start = number(start.unwrap_or(1)) - 1;
                Ok(LineWindow { start, count: end.map(|end| number(end) - start) })
            }
        }
    }
}

impl BuiltinTool for ReadFile {
    type Args = ReadFileArgs;

    fn info(&self) -> &'static BuiltinInfo {
        &catalog::READ_FILE
    }

    fn description(&self) -> String {
        "Reads one file of the workspace. Text comes back as it is, up to 2000 lines at a time; when lines are left out \
         the answer says which and how to get them with start_line and end_line. Pictures (PNG, JPEG, GIF, WEBP, BMP), \
         recordings (MP3, WAV, AIFF, AAC, OGG, FLAC) and PDF documents come back as media."
            .to_owned()
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "file_path": { "type": "string", "description": "Path of the file." },
                "start_line": {
                    "type": "integer", "minimum": 1,
                    "description": "First line to read, counted from 1. Default: the beginning.",
                },
                "end_line": {
                    "type": "integer", "minimum": 1,
                    "description": "Last line to read, included. Default: as many as fit.",
                },
            },
            "required": ["file_path"],
        })
    }

    fn describe(&self, args: &ReadFileArgs) -> String {
        match (args.start_line, args.end_line) {
            (None, None) => args.file_path.clone(),
            (start, end) => format!(
                "{} (lines {}-{})",
                args.file_path,
                start.unwrap_or(1),
                end.map(|end| end.to_string()).unwrap_or_default()
            ),
        }
    }

    async fn run(&self, args: ReadFileArgs, ctx: &ToolContext) -> Result<ToolResult, ToolFailure> {
        run_blocking(ctx, move |ctx| {
            let window = args.line_window()?;
            let path = ctx.workspace.resolve_to_read(&args.file_path)?;
            if ctx.filter.is_ignored(&path, &ctx.workspace) {
                return Err(ToolFailure::new(
                    ToolErrorKind::InvalidToolParams,
                    format!("File path '{}' is ignored by configured ignore patterns.", path.display()),
                ));
            }
            let name = ctx.workspace.shorten(&path);
            Ok(match file_content::load(&path, window, ctx.open_files.as_deref())? {
                FileContent::Text(text) => text_result(&text, &name),
                FileContent::Media { part, family } => ToolResult::new(
                    ResultContent::Parts(vec![part]),
                    ToolDisplay::Text(format!("Read {family} file: {name}")),
                ),
                FileContent::Binary => ToolResult::text(
                    format!("Cannot display content of binary file: {name}"),
                    format!("Skipped binary file: {name}"),
                ),
            })
        })
        .await
    }
}

fn text_result(content: &TextContent, name: &str) -> ToolResult {
    if content.is_complete() {
        return ToolResult::text(content.text.clone(), "");
    }
    let (start, end) = content.line_range;
    let total = content.total_lines;
    if start > end {
        return ToolResult::text(
            format!("{name} has only {total} lines; line {start} is past its end."),
            format!("Read no lines of {total} from {name}"),
        );
    }
    let mut notice = format!("[Lines {start}-{end} of {total} are shown.");
    if end < total {
        notice.push_str(&format!(" For more, call read_file again with start_line: {}.", end + 1));
    }
    if content.has_truncated_lines {
        notice.push_str(" Lines longer than 2000 characters are cut.");
    }
    let mut display = format!("Read lines {start}-{end} of {total} from {name}");
    if content.has_truncated_lines {
        display.push_str(" (some lines were shortened)");
    }
    ToolResult::text(format!("{notice}]\n--- FILE CONTENT (truncated) ---\n{}", content.text), display)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(args: Value) -> Result<LineWindow, ToolFailure> {
        serde_json::from_value::<ReadFileArgs>(args).unwrap().line_window()
    }

    #[test]
    fn both_spellings_of_a_line_range_are_read() {
        let lines = json!({ "file_path": "a", "start_line": 3, "end_line": 5 });
        assert_eq!(window(lines).unwrap(), LineWindow { start: 2, count: Some(3) });
        let older = json!({ "file_path": "a", "offset": 2, "limit": 3 });
        assert_eq!(window(older).unwrap(), LineWindow { start: 2, count: Some(3) });
        let open = json!({ "file_path": "a", "start_line": 3 });
        assert_eq!(window(open).unwrap(), LineWindow { start: 2, count: None });
        let first = json!({ "file_path": "a", "end_line": 3 });
        assert_eq!(window(first).unwrap(), LineWindow { start: 0, count: Some(3) });
    }

    #[test]
    fn invalid_line_ranges_are_refused() {
        assert!(window(json!({ "file_path": "a", "start_line": 5, "end_line": 3 })).is_err());
        assert!(window(json!({ "file_path": "a", "start_line": 0 })).is_err());
        assert!(window(json!({ "file_path": "a", "end_line": 0 })).is_err());
    }
}
