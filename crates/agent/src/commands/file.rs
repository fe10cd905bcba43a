//! `@{path}` in a command's prompt: the file's text as it is, a picture or document as media, a directory's files one
//! after another. The tools do the reading, with their bounds and ignore files.

use std::path::PathBuf;

use hookwright_model::Part;
use hookwright_tools::{
    Display, ResultContent, ToolContext, ToolErrorKind, ToolResult, ToolSet, WebSearching, Workspace,
};
use serde_json::{Value, json};

/// No more media are added once this much is there, in base64.
const LARGEST_MEDIA: usize = 8 * 1024 * 1024;
/// How many left-out files a remark names.
const MOST_NAMED: usize = 3;

/// What was read.
pub(super) struct Read {
    pub(super) parts: Vec<Part>,
    /// What the user should know of it.
    pub(super) remark: Option<String>,
}

/// Reads a file or directory of the workspace; why not, if that cannot be.
pub(super) async fn read(path: &str, ctx: &ToolContext) -> Result<Read, String> {
    let real = find(path, &ctx.workspace)?;
    let name = real.to_str().ok_or("its name is not valid Unicode")?;
    let tools = ToolSet::builtin(WebSearching::Impossible);
    if real.is_dir() { directory(name, &tools, ctx).await } else { file(name, &tools, ctx).await }
}

/// Where a path leads: from the working directory, else from another root of the workspace.
fn find(path: &str, workspace: &Workspace) -> Result<PathBuf, String> {
    let first = workspace.resolve(path);
    let others = workspace.roots().iter().skip(1).filter(|_| !path.is_empty());
    let others = others.filter_map(|root| workspace.resolve(root.join(path).to_str()?).ok());
    let found = first.iter().cloned().chain(others).find(|real| real.exists());
    match (found, first) {
        (Some(real), _) => Ok(real),
        (None, Ok(_)) => Err("there is no such file in the workspace".to_owned()),
        (None, Err(error)) => Err(error.to_string()),
    }
}

async fn run(tool: &str, args: Value, tools: &ToolSet, ctx: &ToolContext) -> ToolResult {
    match tools.check(tool, &args) {
        Ok(tool) => tool.run(&args, ctx).await,
        Err(failure) => failure.into(),
    }
}

async fn file(name: &str, tools: &ToolSet, ctx: &ToolContext) -> Result<Read, String> {
    let result = run("read_file", json!({ "file_path": name }), tools, ctx).await;
    match result.error {
        // The path is known to be good, so this is the tool's word for ignored files. They leave nothing behind.
        Some(failure) if failure.kind == ToolErrorKind::InvalidToolParams => {
            Ok(Read { parts: Vec::new(), remark: Some("left out: an ignore file hides it".to_owned()) })
        }
        Some(failure) => Err(failure.message),
        None => {
            let remark = match (&result.llm_content, result.return_display) {
                (ResultContent::Text(_), Display::Text(text)) if !text.is_empty() => Some(text),
                _ => None,
            };
            Ok(Read { parts: parts(result.llm_content), remark })
        }
    }
}

async fn directory(name: &str, tools: &ToolSet, ctx: &ToolContext) -> Result<Read, String> {
    let result = run("read_many_files", json!({ "include": [name] }), tools, ctx).await;
    if let Some(failure) = result.error {
        return Err(failure.message);
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
        let content = run("read_file", json!({ "file_path": skipped.path }), tools, ctx).await.llm_content;
        match content {
            ResultContent::Parts(found) if total <= LARGEST_MEDIA => {
                total += found.iter().map(size_of).sum::<usize>();
                media.push(Part::text(format!("--- {} ---\n\n", skipped.path)));
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
