//! `@{path}` in a command's prompt: the file's text as it is, a picture or document as media, a directory's files one
//! after another. The tools do the reading, with their bounds and ignore files.

use std::path::PathBuf;

use hookwright_model::Part;
use hookwright_tools::{Display, ResultContent, ToolErrorKind, Workspace};
use serde_json::json;

use crate::call::wanted::{Given, NotRun};
use crate::context::reader::Reader;
use crate::event::TurnEnd;
use crate::translate::defuse;

/// No more media are added once this much is there, in base64.
const LARGEST_MEDIA: usize = 8 * 1024 * 1024;
/// What is said of something that hooks hid.
const HIDDEN: &str = "a hook put its reason in the place of the content";
/// How many left-out files a remark names.
const MOST_NAMED: usize = 3;

/// What was read.
pub(super) struct Read {
    pub(super) parts: Vec<Part>,
    /// What the user should know of it.
    pub(super) remark: Option<String>,
}

/// Why something was not read.
pub(super) enum NotRead {
    /// It cannot be, and stays as it is written.
    Because(String),
    /// A hook or the user ended it all.
    End(TurnEnd),
}

impl From<NotRun> for NotRead {
    fn from(why: NotRun) -> Self {
        why.end().map_or_else(NotRead::End, NotRead::Because)
    }
}

/// Reads a file or directory of the workspace; why not, if that cannot be.
pub(super) async fn read(path: &str, reader: &impl Reader) -> Result<Read, NotRead> {
    let real = find(path, &reader.context().workspace).map_err(NotRead::Because)?;
    let name = real.to_str().ok_or_else(|| NotRead::Because("its name is not valid Unicode".to_owned()))?;
    if real.is_dir() { directory(name, reader).await } else { file(name, reader).await }
}

/// Where a path leads: from the working directory, else from another root of the workspace.
pub(super) fn find(path: &str, workspace: &Workspace) -> Result<PathBuf, String> {
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

async fn file(name: &str, reader: &impl Reader) -> Result<Read, NotRead> {
    let Given { result, is_hidden, .. } = match reader.read("read_file", json!({ "file_path": name })).await {
        Ok(given) => given,
        // The path is known to be good, so this is the tool's word for ignored files. They leave nothing behind.
        Err(NotRun::Failed(failure)) if failure.kind == ToolErrorKind::InvalidToolParams => {
            return Ok(Read { parts: Vec::new(), remark: Some("left out: an ignore file hides it".to_owned()) });
        }
        Err(why) => return Err(why.into()),
    };
    let remark = match (&result.llm_content, result.return_display) {
        _ if is_hidden => Some(HIDDEN.to_owned()),
        (ResultContent::Text(_), Display::Text(text)) if !text.is_empty() => Some(text),
        _ => None,
    };
    Ok(Read { parts: parts(result.llm_content), remark })
}

async fn directory(name: &str, reader: &impl Reader) -> Result<Read, NotRead> {
    let Given { result, is_hidden, .. } = reader.read("read_many_files", json!({ "include": [name] })).await?;
    if is_hidden {
        return Ok(Read { parts: parts(result.llm_content), remark: Some(HIDDEN.to_owned()) });
    }
    let (read, skipped) = match result.return_display {
        Display::Files { files, skipped, .. } => (files, skipped),
        _ => (Vec::new(), Vec::new()),
    };
    let mut media = Vec::new();
    let mut left_out = Vec::new();
    let mut total = 0;
    // The tool leaves out media that are not asked for by name; a command's author asks for the whole directory.
    for skipped in skipped {
        let content = match reader.read("read_file", json!({ "file_path": skipped.path })).await {
            Ok(given) => Some(given.result.llm_content),
            Err(why) => why.end().map(|_| None).map_err(NotRead::End)?,
        };
        match content {
            Some(ResultContent::Parts(found)) if total <= LARGEST_MEDIA => {
                total += found.iter().map(size_of).sum::<usize>();
                media.push(Part::text(defuse(&format!("--- {} ---\n\n", skipped.path))));
                media.extend(parts(ResultContent::Parts(found)));
            }
            _ => left_out.push(format!("{} ({})", skipped.path, skipped.reason)),
        }
    }
    if read.is_empty() && media.is_empty() {
        return Ok(Read { parts: Vec::new(), remark: Some("left out: no file in it is to be read".to_owned()) });
    }
    let mut parts = if read.is_empty() { Vec::new() } else { parts(result.llm_content) };
    parts.extend(media);
    Ok(Read { parts, remark: in_words(&left_out) })
}

fn parts(content: ResultContent) -> Vec<Part> {
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

fn size_of(part: &hookwright_tools::ResultPart) -> usize {
    match part {
        hookwright_tools::ResultPart::Text(text) => text.len(),
        hookwright_tools::ResultPart::InlineData { data, .. } => data.len(),
    }
}

fn in_words(left_out: &[String]) -> Option<String> {
    let named = left_out.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    match left_out.len() {
        0 => None,
        1..=MOST_NAMED => Some(format!("left out {named}")),
        more => Some(format!("left out {named} and {} more", more - MOST_NAMED)),
    }
}
