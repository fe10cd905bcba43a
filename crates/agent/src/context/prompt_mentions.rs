//! Resolves `@path` in a prompt: the files and directories that it names are read and appended to the user's text.
//!
//! `@name` of a sub-agent asks the model to delegate the work. A mention that names nothing stays as typed, with a
//! warning if it looks like a path; a file that cannot be read is a warning too.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use hookwright_hooks::Attachment;
use hookwright_model::Part;
use hookwright_tools::mcp::McpServerSet;
use hookwright_tools::{
    DELEGATE_TO_AGENT, END_OF_FILES_MARKER, PathError, ResultContent, SkippedFile, ToolDisplay, Workspace,
    has_image_extension,
};
use serde_json::json;

use super::mention;
use super::prompt_reader::{self, PromptReader, READ_RESOURCE_TOOL};
use crate::call::prompt_tools::PromptToolOutput;
use crate::event::TurnEnd;
use crate::translate::escape_hook_marker;

/// The size of attached content after which nothing more is read.
const MAX_ATTACHED_BYTES: usize = 8 * 1024 * 1024;
/// The number of mentions after which the rest of a prompt is not searched.
const MAX_PROMPT_MENTIONS: usize = 5_000;
/// The maximum number of files that a warning names.
const MAX_LISTED_FILES: usize = 3;

/// A prompt with its attached content.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ExpandedPrompt {
    /// The user's text as typed, then the attached content.
    pub(crate) parts: Vec<Part>,
    /// The files that were read, relative to the working directory.
    pub(crate) read_files: Vec<String>,
    /// The warnings about files that were not read and mentions that name nothing.
    pub(crate) warnings: Vec<String>,
    /// The notes on what was attached, with its size.
    pub(crate) notes: Vec<String>,
}

/// The mentions in a prompt, resolved but not read yet.
#[derive(Debug, Default)]
pub(crate) struct PromptMentions {
    sources: Vec<MentionedSource>,
    /// The names of the mentioned agents.
    agents: Vec<String>,
    /// The mentions that look like paths and name nothing.
    unknown_paths: Vec<String>,
}

impl PromptMentions {
    /// Finds the mentions in a prompt. The name of an agent takes precedence over a path.
    pub(crate) fn find(
        prompt: &str,
        workspace: &Workspace,
        servers: &McpServerSet,
        is_agent: impl Fn(&str) -> bool,
    ) -> Self {
        find_mentions(prompt, workspace, servers, is_agent)
    }

    /// Returns the attachments that hooks are shown.
    pub(crate) fn attachments(&self) -> Vec<Attachment> {
        let place = |named: &MentionedSource| match &named.location {
            MentionLocation::Path(Ok(path)) => Some(prompt_reader::attachment_for(path)),
            MentionLocation::Path(Err(_)) | MentionLocation::Resource => None,
        };
        self.sources.iter().filter_map(place).collect()
    }

    /// Reads all mentioned files, directories, images, documents and resources; an error is the end of the turn.
    pub(crate) async fn read(self, prompt: &str, reader: &impl PromptReader) -> Result<ExpandedPrompt, TurnEnd> {
        let mut expanded =
            ExpandedPrompt { parts: vec![Part::text(escape_hook_marker(prompt))], ..ExpandedPrompt::default() };
        let mut total = 0;
        expanded.parts.extend(delegation_hint(&self.agents));
        expanded.warnings.extend(unknown_paths_warning(&self.unknown_paths));
        for MentionedSource { mention_text: written, location: place } in self.sources {
            // A slow read can be cancelled here; a tool only checks the token within its loops.
            let cancel = reader.context().cancel.clone();
            let result = match place {
                MentionLocation::Path(Err(error)) => Err(error.to_string()),
                _ if total > MAX_ATTACHED_BYTES => Err("the attachments before it already have 8 MiB".to_owned()),
                MentionLocation::Path(Ok(path)) => {
                    cancel.run_until_cancelled(attach(&path, reader)).await.ok_or(TurnEnd::Cancelled)??
                }
                MentionLocation::Resource => {
                    let attached = attach_resource(&written, reader);
                    cancel.run_until_cancelled(attached).await.ok_or(TurnEnd::Cancelled)??
                }
            };
            match result {
                Ok(attached) => {
                    total += attached.size;
                    expanded.parts.extend(attached.parts);
                    expanded.read_files.extend(attached.read_files);
                    expanded.notes.extend(attached.size_text.map(|size| format!("attached @{written} ({size})")));
                    expanded.warnings.extend(attached.warning.map(|remark| format!("@{written}: {remark}")));
                }
                Err(reason) => expanded.warnings.push(format!("@{written} is not read: {reason}")),
            }
        }
        if reader.context().cancel.is_cancelled() { Err(TurnEnd::Cancelled) } else { Ok(expanded) }
    }
}

#[derive(Debug)]
struct MentionedSource {
    mention_text: String,
    location: MentionLocation,
}

#[derive(Debug)]
enum MentionLocation {
    Path(Result<PathBuf, PathError>),
    /// A resource of an MCP server, under the text of the mention.
    Resource,
}

/// Returns the instruction to the model to delegate to the agents that the user names.
fn delegation_hint(agents: &[String]) -> Option<Part> {
    let which = match agents {
        [] => return None,
        [one] => format!("agent {one}"),
        several => format!("agents {}", several.join(", ")),
    };
    Some(Part::text(format!("\n[The user wants this done by {which}: delegate it with {DELEGATE_TO_AGENT}.]\n")))
}

/// Finds what the prompt names and exists, each once.
fn find_mentions(
    prompt: &str,
    workspace: &Workspace,
    servers: &McpServerSet,
    is_agent: impl Fn(&str) -> bool,
) -> PromptMentions {
    let PromptMentions { sources: mut named, mut agents, unknown_paths: mut unknown } = PromptMentions::default();
    let mut seen = HashSet::new();
    let mut from = 0;
    for _ in 0..MAX_PROMPT_MENTIONS {
        let Some(mention) = mention::next_mention(prompt, from) else { break };
        from = mention.at + 1;
        if let Some(agent) = mention.readings.iter().find(|reading| is_agent(&reading.path)) {
            from = agent.end;
            if !agents.contains(&agent.path) {
                agents.push(agent.path.clone());
            }
            continue;
        }
        let elsewhere = mention.readings.clone();
        let found =
            mention.readings.into_iter().find_map(|reading| Some((locate_path(&reading.path, workspace)?, reading)));
        if let Some((place, reading)) = found {
            from = reading.end;
            let real = match &place {
                Ok(real) | Err(PathError::Outside { real, .. }) => real.clone(),
                Err(_) => PathBuf::from(&reading.path),
            };
            if seen.insert(real) {
                named.push(MentionedSource { mention_text: reading.path, location: MentionLocation::Path(place) });
            }
        } else if let Some(reading) = elsewhere.into_iter().find(|reading| servers.has_resource(&reading.path)) {
            from = reading.end;
            if seen.insert(PathBuf::from(&reading.path)) {
                named.push(MentionedSource { mention_text: reading.path, location: MentionLocation::Resource });
            }
        } else if let Some(path) = looks_like_path(prompt, mention.at)
            && !unknown.contains(&path)
        {
            unknown.push(path);
        }
    }
    PromptMentions { sources: named, agents, unknown_paths: unknown }
}

/// Returns the path that an unresolved mention seems to name; handles, decorators and code are none.
fn looks_like_path(prompt: &str, at: usize) -> Option<String> {
    let is_code = prompt[..at].ends_with('`');
    let word = prompt[at + 1..].split(|char: char| char.is_whitespace() || "\"'`<>|".contains(char)).next()?;
    let word = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '*', '#']);
    let name = word.rsplit('/').next()?;
    let has_ending = name.rsplit_once('.').is_some_and(|(name, ending)| {
        !name.is_empty() && (1..=8).contains(&ending.len()) && ending.chars().all(char::is_alphanumeric)
    });
    (has_ending && !is_code && !word.contains(['(', '@', '='])).then(|| word.to_owned())
}

/// Returns the warning about mentions that name nothing.
fn unknown_paths_warning(unknown: &[String]) -> Option<String> {
    let named: Vec<String> = unknown.iter().take(MAX_LISTED_FILES).map(|path| format!("@{path}")).collect();
    match unknown.len().saturating_sub(MAX_LISTED_FILES) {
        _ if named.is_empty() => None,
        0 if named.len() == 1 => Some(format!("{} is not a file, so nothing is attached for it", named.join(", "))),
        0 => Some(format!("{} are not files, so nothing is attached for them", named.join(", "))),
        more => Some(format!("{} and {more} more are not files, so nothing is attached for them", named.join(", "))),
    }
}

/// Formats a size, such as `340 bytes`, `1.2 kB`, `3.4 MB`.
fn format_bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} byte{}", if bytes == 1 { "" } else { "s" }),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Returns the readable files that a prompt names with `@`, with the ranges of their mentions.
pub fn mentioned_files(prompt: &str, workspace: &Workspace) -> Vec<(Range<usize>, PathBuf)> {
    let mut found = Vec::new();
    let mut from = 0;
    for _ in 0..MAX_PROMPT_MENTIONS {
        let Some(mention) = mention::next_mention(prompt, from) else { break };
        from = mention.at + 1;
        let located =
            mention.readings.iter().find_map(|reading| Some((locate_path(&reading.path, workspace)?, reading.end)));
        if let Some((Ok(path), end)) = located {
            found.push((mention.at..end, path));
            from = end;
        }
    }
    found
}

/// Returns where a path leads, or why it is refused; `None` if nothing exists there.
fn locate_path(path: &str, workspace: &Workspace) -> Option<Result<PathBuf, PathError>> {
    let place = workspace.resolve_to_read(path);
    let exists = match &place {
        Ok(real) | Err(PathError::Outside { real, .. }) => real.symlink_metadata().is_ok(),
        Err(PathError::TooManyLinks { .. }) => true,
        Err(_) => false,
    };
    exists.then_some(place)
}

/// The content of a file, directory or resource.
struct AttachedSource {
    parts: Vec<Part>,
    read_files: Vec<String>,
    size: usize,
    /// The size for display; `None` if hooks hid the content.
    size_text: Option<String>,
    warning: Option<String>,
}

/// Reads a file or directory; the inner error says why it cannot be read, the outer one ends the turn.
async fn attach(path: &Path, reader: &impl PromptReader) -> Result<Result<AttachedSource, String>, TurnEnd> {
    let is_directory = path.is_dir();
    let Some(path_text) = path.to_str() else { return Ok(Err("its name is not valid Unicode".to_owned())) };
    let (tool, args) = match is_directory {
        true => ("read_many_files", json!({ "include": [path_text] })),
        false => ("read_file", json!({ "file_path": path_text })),
    };
    let PromptToolOutput { result, is_hidden, .. } = match reader.read(tool, args).await {
        Ok(given) => given,
        Err(why) => return Ok(Err(why.into_turn_end()?)),
    };
    let name = reader.context().workspace.shorten(path);
    let (read, remark) = match result.return_display {
        _ if is_hidden => (Vec::new(), Some("a hook replaced the content by its reason".to_owned())),
        ToolDisplay::Files { files, skipped, .. } if files.is_empty() => return Ok(Err(no_files_reason(&skipped))),
        ToolDisplay::Files { files, skipped, .. } => {
            (files, (!skipped.is_empty()).then(|| skipped_files_warning(&skipped)))
        }
        ToolDisplay::Text(text) if matches!(result.llm_content, ResultContent::Text(_)) && !text.is_empty() => {
            (vec![name.clone()], Some(text))
        }
        _ => (vec![name.clone()], None),
    };
    // An image that is read as text may be a mistake.
    let is_text = matches!(result.llm_content, ResultContent::Text(_));
    let remark = remark.or_else(|| {
        let claims = !is_directory && is_text && has_image_extension(path);
        claims.then(|| "its name is that of an image, but it is none; it is read as text".to_owned())
    });
    let what = if is_directory { "directory" } else { "file" };
    let mut parts = enclose_content(&escape_hook_marker(&format!("{what} @{name}")), result.llm_content);
    if is_directory {
        // The tool's end marker is redundant here.
        let last = parts.len().saturating_sub(2);
        if parts.get(last).and_then(Part::as_text).is_some_and(|text| text == END_OF_FILES_MARKER) {
            parts.remove(last);
        }
    }
    let size = parts.iter().map(part_bytes).sum();
    let measure = match read.len() {
        _ if is_hidden => None,
        files if is_directory => {
            Some(format!("{files} file{}, {}", if files == 1 { "" } else { "s" }, format_bytes(size as u64)))
        }
        _ => path.metadata().ok().map(|about| format_bytes(about.len())),
    };
    Ok(Ok(AttachedSource { parts, read_files: read, size, size_text: measure, warning: remark }))
}

/// Reads a resource of an MCP server.
async fn attach_resource(address: &str, reader: &impl PromptReader) -> Result<Result<AttachedSource, String>, TurnEnd> {
    let given = match reader.read(READ_RESOURCE_TOOL, json!({ "uri": address })).await {
        Ok(given) => given,
        Err(why) => return Ok(Err(why.into_turn_end()?)),
    };
    let hidden = "a hook replaced the content by its reason";
    let remark = given.is_hidden.then(|| hidden.to_owned());
    let parts = enclose_content(&escape_hook_marker(&format!("resource @{address}")), given.result.llm_content);
    let size = parts.iter().map(part_bytes).sum();
    let measure = (!given.is_hidden).then(|| format_bytes(size as u64));
    Ok(Ok(AttachedSource { parts, read_files: vec![address.to_owned()], size, size_text: measure, warning: remark }))
}

/// Encloses the content in two lines that name it.
fn enclose_content(what: &str, content: ResultContent) -> Vec<Part> {
    let (begin, end) = (format!("\n<<< begin of {what} >>>\n"), format!("\n<<< end of {what} >>>\n"));
    match content {
        ResultContent::Text(text) => vec![Part::text(format!("{begin}{text}{end}"))],
        ResultContent::Parts(parts) => {
            let inside = parts.into_iter().map(|part| match part {
                hookwright_tools::ResultPart::Text(text) => Part::text(text),
                hookwright_tools::ResultPart::InlineData { mime_type, data } => Part::inline_data(mime_type, data),
            });
            std::iter::once(Part::text(begin)).chain(inside).chain([Part::text(end)]).collect()
        }
    }
}

fn part_bytes(part: &Part) -> usize {
    match &part.kind {
        hookwright_model::PartKind::Text(text) => text.len(),
        hookwright_model::PartKind::InlineData(blob) => blob.data.len(),
        _ => 0,
    }
}

fn no_files_reason(skipped: &[SkippedFile]) -> String {
    if skipped.is_empty() { "it contains no file that may be read".to_owned() } else { skipped_files_warning(skipped) }
}

fn skipped_files_warning(skipped: &[SkippedFile]) -> String {
    let named: Vec<String> =
        skipped.iter().take(MAX_LISTED_FILES).map(|file| format!("{} ({})", file.path, file.reason)).collect();
    let more = skipped.len().saturating_sub(MAX_LISTED_FILES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("left out {}{more}", named.join(", "))
}

#[cfg(test)]
mod tests;
