//! `@path` in a prompt: the files and directories it names, read for the model and put behind the user's words. `@name` of
//! a sub-agent is the user's wish that it does the work.
//! What names nothing stays what the user typed, and is said where it looks like a path; what cannot be read is a warning.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use hookwright_hooks::Attachment;
use hookwright_model::Part;
use hookwright_tools::mcp::Servers;
use hookwright_tools::{
    DELEGATE_TO_AGENT, Display, END_OF_FILES, PathError, ResultContent, Skipped, Workspace, is_called_image,
};
use serde_json::json;

use super::mention;
use super::reader::{self, READ_RESOURCE, Reader};
use crate::call::wanted::Given;
use crate::event::TurnEnd;
use crate::translate::defuse;

/// Nothing more is read once this much is.
const LARGEST_TOTAL: usize = 8 * 1024 * 1024;
/// A prompt with more mentions than this is not looked through to its end.
const MOST_MENTIONS: usize = 5_000;
/// How many left-out files a warning names.
const MOST_NAMED: usize = 3;

/// A prompt with what it names.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Expanded {
    /// The user's words as typed, then what they name.
    pub(crate) parts: Vec<Part>,
    /// The files that were read, as one writes them from the working directory.
    pub(crate) read: Vec<String>,
    /// What could not be read, and why; what looks like a path and names nothing.
    pub(crate) warnings: Vec<String>,
    /// What was read, and how large it is.
    pub(crate) notes: Vec<String>,
}

/// What `@path` in a prompt names: found, and not read yet.
#[derive(Debug, Default)]
pub(crate) struct Mentioned {
    named: Vec<Named>,
    /// Agents, by name.
    agents: Vec<String>,
    /// What looks like a path and names nothing.
    unknown: Vec<String>,
}

impl Mentioned {
    /// Looks through a prompt. What is an agent's name is no path.
    pub(crate) fn find(
        prompt: &str,
        workspace: &Workspace,
        servers: &Servers,
        is_agent: impl Fn(&str) -> bool,
    ) -> Self {
        find(prompt, workspace, servers, is_agent)
    }

    /// What hooks are told of it.
    pub(crate) fn attachments(&self) -> Vec<Attachment> {
        let place = |named: &Named| match &named.place {
            Place::Path(Ok(path)) => Some(reader::attachment(path)),
            Place::Path(Err(_)) | Place::Resource => None,
        };
        self.named.iter().filter_map(place).collect()
    }

    /// Reads all of it: files, directories, pictures, documents. How the turn ends, if a hook or the user ends it.
    pub(crate) async fn read(self, prompt: &str, reader: &impl Reader) -> Result<Expanded, TurnEnd> {
        let mut expanded = Expanded { parts: vec![Part::text(defuse(prompt))], ..Expanded::default() };
        let mut total = 0;
        expanded.parts.extend(wish(&self.agents));
        expanded.warnings.extend(nowhere(&self.unknown));
        for Named { written, place } in self.named {
            // Not even a file that is slow to read keeps anybody waiting; the tool itself looks where it loops.
            let cancel = reader.context().cancel.clone();
            let result = match place {
                Place::Path(Err(error)) => Err(error.to_string()),
                _ if total > LARGEST_TOTAL => Err("what comes before it is already 8 MiB".to_owned()),
                Place::Path(Ok(path)) => {
                    cancel.run_until_cancelled(attach(&path, reader)).await.ok_or(TurnEnd::Cancelled)??
                }
                Place::Resource => {
                    let attached = attach_resource(&written, reader);
                    cancel.run_until_cancelled(attached).await.ok_or(TurnEnd::Cancelled)??
                }
            };
            match result {
                Ok(attached) => {
                    total += attached.size;
                    expanded.parts.extend(attached.parts);
                    expanded.read.extend(attached.read);
                    expanded.notes.extend(attached.measure.map(|size| format!("attached @{written} ({size})")));
                    expanded.warnings.extend(attached.remark.map(|remark| format!("@{written}: {remark}")));
                }
                Err(reason) => expanded.warnings.push(format!("@{written} is not read: {reason}")),
            }
        }
        if reader.context().cancel.is_cancelled() { Err(TurnEnd::Cancelled) } else { Ok(expanded) }
    }
}

#[derive(Debug)]
struct Named {
    written: String,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Path(Result<PathBuf, PathError>),
    /// At an MCP server, under what was written.
    Resource,
}

/// What the model is told of agents that the user names.
fn wish(agents: &[String]) -> Option<Part> {
    let which = match agents {
        [] => return None,
        [one] => format!("agent {one}"),
        several => format!("agents {}", several.join(", ")),
    };
    Some(Part::text(format!("\n[The user wants this done by {which}: delegate it with {DELEGATE_TO_AGENT}.]\n")))
}

/// What the prompt names and exists, each once.
fn find(prompt: &str, workspace: &Workspace, servers: &Servers, is_agent: impl Fn(&str) -> bool) -> Mentioned {
    let Mentioned { mut named, mut agents, mut unknown } = Mentioned::default();
    let mut seen = HashSet::new();
    let mut from = 0;
    for _ in 0..MOST_MENTIONS {
        let Some(mention) = mention::next(prompt, from) else { break };
        from = mention.at + 1;
        if let Some(agent) = mention.readings.iter().find(|reading| is_agent(&reading.path)) {
            from = agent.end;
            if !agents.contains(&agent.path) {
                agents.push(agent.path.clone());
            }
            continue;
        }
        let elsewhere = mention.readings.clone();
        let found = mention.readings.into_iter().find_map(|reading| Some((locate(&reading.path, workspace)?, reading)));
        if let Some((place, reading)) = found {
            from = reading.end;
            let real = match &place {
                Ok(real) | Err(PathError::Outside { real, .. }) => real.clone(),
                Err(_) => PathBuf::from(&reading.path),
            };
            if seen.insert(real) {
                named.push(Named { written: reading.path, place: Place::Path(place) });
            }
        } else if let Some(reading) = elsewhere.into_iter().find(|reading| servers.has_resource(&reading.path)) {
            from = reading.end;
            if seen.insert(PathBuf::from(&reading.path)) {
                named.push(Named { written: reading.path, place: Place::Resource });
            }
        } else if let Some(path) = looks_like_path(prompt, mention.at)
            && !unknown.contains(&path)
        {
            unknown.push(path);
        }
    }
    Mentioned { named, agents, unknown }
}

/// What a mention that names nothing was meant to be, if it looks like a path: people, decorators and code are none.
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

/// What is said of them.
fn nowhere(unknown: &[String]) -> Option<String> {
    let named: Vec<String> = unknown.iter().take(MOST_NAMED).map(|path| format!("@{path}")).collect();
    match unknown.len().saturating_sub(MOST_NAMED) {
        _ if named.is_empty() => None,
        0 if named.len() == 1 => Some(format!("{} names no file, so nothing is attached for it", named.join(", "))),
        0 => Some(format!("{} name no files, so nothing is attached for them", named.join(", "))),
        more => Some(format!("{} and {more} more name no files, so nothing is attached for them", named.join(", "))),
    }
}

/// `340 bytes`, `1.2 kB`, `3.4 MB`.
fn measured(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} byte{}", if bytes == 1 { "" } else { "s" }),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// The files that a prompt names with `@` and that may be read: where it does, and which.
pub fn mentioned(prompt: &str, workspace: &Workspace) -> Vec<(Range<usize>, PathBuf)> {
    let mut found = Vec::new();
    let mut from = 0;
    for _ in 0..MOST_MENTIONS {
        let Some(mention) = mention::next(prompt, from) else { break };
        from = mention.at + 1;
        let located =
            mention.readings.iter().find_map(|reading| Some((locate(&reading.path, workspace)?, reading.end)));
        if let Some((Ok(path), end)) = located {
            found.push((mention.at..end, path));
            from = end;
        }
    }
    found
}

/// Where a path leads, or why not there; nothing if there is nothing.
fn locate(path: &str, workspace: &Workspace) -> Option<Result<PathBuf, PathError>> {
    let place = workspace.resolve_to_read(path);
    let exists = match &place {
        Ok(real) | Err(PathError::Outside { real, .. }) => real.symlink_metadata().is_ok(),
        Err(PathError::TooManyLinks { .. }) => true,
        Err(_) => false,
    };
    exists.then_some(place)
}

/// One file or directory, read.
struct Attached {
    parts: Vec<Part>,
    read: Vec<String>,
    size: usize,
    /// How large it is, in words; nothing where hooks keep it to themselves.
    measure: Option<String>,
    remark: Option<String>,
}

/// Why it cannot be, in the inner result; the end of the turn, in the outer one.
async fn attach(path: &Path, reader: &impl Reader) -> Result<Result<Attached, String>, TurnEnd> {
    let is_directory = path.is_dir();
    let Some(path_text) = path.to_str() else { return Ok(Err("its name is not valid Unicode".to_owned())) };
    let (tool, args) = match is_directory {
        true => ("read_many_files", json!({ "include": [path_text] })),
        false => ("read_file", json!({ "file_path": path_text })),
    };
    let Given { result, is_hidden, .. } = match reader.read(tool, args).await {
        Ok(given) => given,
        Err(why) => return Ok(Err(why.end()?)),
    };
    let name = reader.context().workspace.shorten(path);
    let (read, remark) = match result.return_display {
        _ if is_hidden => (Vec::new(), Some("a hook put its reason in the place of the content".to_owned())),
        Display::Files { files, skipped, .. } if files.is_empty() => return Ok(Err(nothing(&skipped))),
        Display::Files { files, skipped, .. } => (files, (!skipped.is_empty()).then(|| left_out(&skipped))),
        Display::Text(text) if matches!(result.llm_content, ResultContent::Text(_)) && !text.is_empty() => {
            (vec![name.clone()], Some(text))
        }
        _ => (vec![name.clone()], None),
    };
    // Read as text, it may be a mistake.
    let is_text = matches!(result.llm_content, ResultContent::Text(_));
    let remark = remark.or_else(|| {
        let claims = !is_directory && is_text && is_called_image(path);
        claims.then(|| "it is called like an image and is none; it is read as text".to_owned())
    });
    let what = if is_directory { "directory" } else { "file" };
    let mut parts = enclose(&defuse(&format!("{what} @{name}")), result.llm_content);
    if is_directory {
        // The tool's own last line; ours says the same.
        let last = parts.len().saturating_sub(2);
        if parts.get(last).and_then(Part::as_text).is_some_and(|text| text == END_OF_FILES) {
            parts.remove(last);
        }
    }
    let size = parts.iter().map(size_of).sum();
    let measure = match read.len() {
        _ if is_hidden => None,
        files if is_directory => {
            Some(format!("{files} file{}, {}", if files == 1 { "" } else { "s" }, measured(size as u64)))
        }
        _ => path.metadata().ok().map(|about| measured(about.len())),
    };
    Ok(Ok(Attached { parts, read, size, measure, remark }))
}

/// What an MCP server has there.
async fn attach_resource(address: &str, reader: &impl Reader) -> Result<Result<Attached, String>, TurnEnd> {
    let given = match reader.read(READ_RESOURCE, json!({ "uri": address })).await {
        Ok(given) => given,
        Err(why) => return Ok(Err(why.end()?)),
    };
    let hidden = "a hook put its reason in the place of the content";
    let remark = given.is_hidden.then(|| hidden.to_owned());
    let parts = enclose(&defuse(&format!("resource @{address}")), given.result.llm_content);
    let size = parts.iter().map(size_of).sum();
    let measure = (!given.is_hidden).then(|| measured(size as u64));
    Ok(Ok(Attached { parts, read: vec![address.to_owned()], size, measure, remark }))
}

/// The content between two lines that say what it is.
fn enclose(what: &str, content: ResultContent) -> Vec<Part> {
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

fn size_of(part: &Part) -> usize {
    match &part.kind {
        hookwright_model::PartKind::Text(text) => text.len(),
        hookwright_model::PartKind::InlineData(blob) => blob.data.len(),
        _ => 0,
    }
}

fn nothing(skipped: &[Skipped]) -> String {
    if skipped.is_empty() { "no file in it is to be read".to_owned() } else { left_out(skipped) }
}

fn left_out(skipped: &[Skipped]) -> String {
    let named: Vec<String> =
        skipped.iter().take(MOST_NAMED).map(|file| format!("{} ({})", file.path, file.reason)).collect();
    let more = skipped.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("left out {}{more}", named.join(", "))
}

#[cfg(test)]
mod tests;
