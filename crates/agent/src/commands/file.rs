//! Reads `@{path}` in a command's prompt: a file's text as it is, an image or document as
//! media, a directory's files one after another.
//!
//! The tools read, with their limits and ignore files.

use std::path::PathBuf;

use hookwright_model::Part;
use hookwright_tools::{ResultContent, ToolDisplay, ToolErrorKind, Workspace};
use serde_json::json;

use crate::call::prompt_tools::{PromptToolError, PromptToolOutput};
use crate::context::prompt_reader::PromptReader;
use crate::event::TurnEnd;
use crate::translate::escape_hook_marker;

/// The size of media, in base64, after which no more are added.
const MAX_MEDIA_BYTES: usize = 8 * 1024 * 1024;
/// The warning about content that hooks hid.
const HIDDEN_CONTENT_REASON: &str = "a hook replaced the content by its reason";
/// The maximum number of files that a warning names.
const MAX_LISTED_FILES: usize = 3;

/// The content of a file or directory.
pub(super) struct InjectedFile {
    pub(super) parts: Vec<Part>,
    /// A warning for the user.
    pub(super) warning: Option<String>,
}

/// The reason why a path was not read.
pub(super) enum FileReadError {
    /// The path cannot be read and stays as it is written.
    Unreadable(String),
    /// A hook or the user ended the turn.
    TurnEnded(TurnEnd),
}

impl From<PromptToolError> for FileReadError {
    fn from(why: PromptToolError) -> Self {
        why.into_turn_end().map_or_else(FileReadError::TurnEnded, FileReadError::Unreadable)
    }
}

/// Reads a file or directory of the workspace, or returns why it cannot be read.
pub(super) async fn read_path(path: &str, reader: &impl PromptReader) -> Result<InjectedFile, FileReadError> {
    let real = resolve_path(path, &reader.context().workspace).map_err(FileReadError::Unreadable)?;
    let name = real.to_str().ok_or_else(|| FileReadError::Unreadable("its name is not valid Unicode".to_owned()))?;
    if real.is_dir() { read_directory(name, reader).await } else { read_file(name, reader).await }
}

/// Returns where a path leads, from the working directory or else from another root of the workspace.
pub(super) fn resolve_path(path: &str, workspace: &Workspace) -> Result<PathBuf, String> {
    let first = workspace.resolve(path);
    let others = workspace.roots().into_iter().skip(1).filter(|_| !path.is_empty());
    let others = others.filter_map(|root| workspace.resolve(root.join(path).to_str()?).ok());
    let found = first.iter().cloned().chain(others).find(|real| real.exists());
    match (found, first) {
        (Some(real), _) => Ok(real),
        (None, Ok(_)) => Err("there is no such file in the workspace".to_owned()),
        (None, Err(error)) => Err(error.to_string()),
    }
}

async fn read_file(name: &str, reader: &impl PromptReader) -> Result<InjectedFile, FileReadError> {
    let PromptToolOutput { result, is_hidden, .. } = match reader.read("read_file", json!({ "file_path": name })).await
    {
        Ok(given) => given,
        // The path is valid, so this is how the tool reports ignored files, which add nothing to the prompt.
        Err(PromptToolError::Failed(failure)) if failure.kind == ToolErrorKind::InvalidToolParams => {
            return Ok(InjectedFile {
                parts: Vec::new(),
                warning: Some("left out: an ignore file excludes it".to_owned()),
            });
        }
        Err(why) => return Err(why.into()),
    };
    let remark = match (&result.llm_content, result.return_display) {
        _ if is_hidden => Some(HIDDEN_CONTENT_REASON.to_owned()),
        (ResultContent::Text(_), ToolDisplay::Text(text)) if !text.is_empty() => Some(text),
        _ => None,
    };
    Ok(InjectedFile { parts: content_parts(result.llm_content), warning: remark })
}

async fn read_directory(name: &str, reader: &impl PromptReader) -> Result<InjectedFile, FileReadError> {
    let PromptToolOutput { result, is_hidden, .. } =
        reader.read("read_many_files", json!({ "include": [name] })).await?;
    if is_hidden {
        return Ok(InjectedFile {
            parts: content_parts(result.llm_content),
            warning: Some(HIDDEN_CONTENT_REASON.to_owned()),
        });
    }
    let (read, skipped) = match result.return_display {
        ToolDisplay::Files { files, skipped, .. } => (files, skipped),
        _ => (Vec::new(), Vec::new()),
    };
    let mut media = Vec::new();
    let mut left_out = Vec::new();
    let mut total = 0;
    // The tool skips media that are not named explicitly; the command's author asks for the whole directory.
    for skipped in skipped {
        let content = match reader.read("read_file", json!({ "file_path": skipped.path })).await {
            Ok(given) => Some(given.result.llm_content),
            Err(why) => why.into_turn_end().map(|_| None).map_err(FileReadError::TurnEnded)?,
        };
        match content {
            Some(ResultContent::Parts(found)) if total <= MAX_MEDIA_BYTES => {
                total += found.iter().map(media_size).sum::<usize>();
                media.push(Part::text(escape_hook_marker(&format!("--- {} ---\n\n", skipped.path))));
                media.extend(content_parts(ResultContent::Parts(found)));
            }
            _ => left_out.push(format!("{} ({})", skipped.path, skipped.reason)),
        }
    }
    if read.is_empty() && media.is_empty() {
        return Ok(InjectedFile {
            parts: Vec::new(),
            warning: Some("left out: it contains no file that may be read".to_owned()),
        });
    }
    let mut parts = if read.is_empty() { Vec::new() } else { content_parts(result.llm_content) };
    parts.extend(media);
    Ok(InjectedFile { parts, warning: omitted_files_warning(&left_out) })
}

fn content_parts(content: ResultContent) -> Vec<Part> {
    match content {
        ResultContent::Text(text) => vec![Part::text(text)],
        ResultContent::Parts(parts) => parts
            .into_iter()
            .map(|part| match part {
                hookwright_tools::ResultPart::Text(text) => Part::text(text),
                hookwright_tools::ResultPart::InlineData { mime_type, data } => Part::inline_data(mime_type, data),
            })
            .collect(),
    }
}

fn media_size(part: &hookwright_tools::ResultPart) -> usize {
    match part {
        hookwright_tools::ResultPart::Text(text) => text.len(),
        hookwright_tools::ResultPart::InlineData { data, .. } => data.len(),
    }
}

fn omitted_files_warning(left_out: &[String]) -> Option<String> {
    let named = left_out.iter().take(MAX_LISTED_FILES).cloned().collect::<Vec<_>>().join(", ");
    match left_out.len() {
        0 => None,
        1..=MAX_LISTED_FILES => Some(format!("left out {named}")),
        more => Some(format!("left out {named} and {} more", more - MAX_LISTED_FILES)),
    }
}
