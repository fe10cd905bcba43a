//! `replace`: exchanges a piece of a file's text that is given literally. Exact matches only: what the model believes to
//! be there must be there, or it is shown what is.

use super::edit::Edit;
use super::nearest;
use crate::catalog::{self, BuiltinInfo};
use crate::context::ToolContext;
use crate::disk;
use crate::encoding::{Decoded, Encoding, Fidelity, LineEnding, Unified};
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::result::{Display, ToolResult};
use crate::tool::{Builtin, blocking, one_line, whole};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;

pub(crate) struct Replace;

#[derive(Deserialize)]
pub(crate) struct Args {
    file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    allow_multiple: bool,
    /// The older way to say how often.
    #[serde(default, deserialize_with = "whole")]
    expected_replacements: Option<u64>,
}

/// How often the old text must be there.
enum Expected {
    Exactly(u64),
    AtLeastOnce,
}

impl Args {
    fn expected(&self) -> Expected {
        match self.expected_replacements {
            Some(count) if count > 0 => Expected::Exactly(count),
            _ if self.allow_multiple => Expected::AtLeastOnce,
            _ => Expected::Exactly(1),
        }
    }
}

impl Builtin for Replace {
    type Args = Args;

    fn info(&self) -> &'static BuiltinInfo {
        &catalog::REPLACE
    }

    fn description(&self) -> String {
        "Replaces text in a file of the workspace. old_string must be there literally, to the last space, and only once, \
         so give some lines around the change; with allow_multiple all occurrences are replaced. Read the file before you \
         change it. With an empty old_string a file that does not exist is created."
            .to_owned()
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "file_path": { "type": "string", "description": "Path of the file." },
                "instruction": {
                    "type": "string",
                    "description": "What the change is for, in a sentence: why, where, what, with what outcome.",
                },
                "old_string": { "type": "string", "description": "The text to replace, literally and unescaped." },
                "new_string": {
                    "type": "string",
                    "description": "The text to put there, literally; never a placeholder for text left out.",
                },
                "allow_multiple": {
                    "type": "boolean",
                    "description": "Replace every occurrence instead of exactly one. Default: false.",
                },
            },
            "required": ["file_path", "old_string", "new_string"],
        })
    }

    fn describe(&self, args: &Args) -> String {
        if args.old_string.is_empty() {
            return format!("Create {}", args.file_path);
        }
        let first = |text: &str| one_line(text.lines().next().unwrap_or_default(), 30);
        format!("{}: {} => {}", args.file_path, first(&args.old_string), first(&args.new_string))
    }

    async fn preview(&self, args: Args, ctx: &ToolContext) -> Option<Display> {
        blocking(ctx, move |ctx| Ok(plan(&args, ctx)?.0.into_display(&ctx.workspace))).await.ok()
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolResult, ToolFailure> {
        blocking(ctx, move |ctx| {
            let (edit, count) = plan(&args, ctx)?;
            let path = edit.path.display();
            let headline = match edit.before {
                None => format!("Created new file: {path} with provided content."),
                Some(_) => format!("Successfully modified file: {path} ({count} replacements)."),
            };
            edit.apply(headline, ctx)
        })
        .await
    }
}

/// The change and how many places it touches.
fn plan(args: &Args, ctx: &ToolContext) -> Result<(Edit, usize), ToolFailure> {
    let path = ctx.workspace.resolve(&args.file_path)?;
    let existing = disk::read_text_if_any(&path)?;
    match (existing, args.old_string.is_empty()) {
        (None, true) => {
            let after = args.new_string.clone();
            Ok((Edit { path, encoding: Encoding::Utf8, before: None, after }, 1))
        }
        (None, false) => {
            Err(ToolFailure::new(ToolErrorKind::FileNotFound, format!("File not found: {}", path.display()))
                .hint("To create it, give an empty old_string or use write_file."))
        }
        (Some(_), true) => Err(ToolFailure::new(
            ToolErrorKind::AttemptToCreateExistingFile,
            format!("File already exists, cannot create: {}", path.display()),
        )
        .hint("Give the text to replace in old_string, or use write_file to overwrite it all.")),
        (Some(existing), false) => change(args, path, existing),
    }
}

fn change(args: &Args, path: PathBuf, existing: Decoded) -> Result<(Edit, usize), ToolFailure> {
    if existing.fidelity == Fidelity::Lossy {
        return Err(ToolFailure::new(
            ToolErrorKind::EditPreparationFailure,
            format!("{} is not valid text in any encoding known here; changing it would damage it", path.display()),
        )
        .hint("Change it with a shell command that works on bytes, such as sed or perl."));
    }
    let unified = Unified::new(&existing.text);
    let old = args.old_string.replace("\r\n", "\n");
    let places: Vec<usize> = unified.text.match_indices(&old).map(|(at, _)| at).collect();
    check_count(args, &path, places.len() as u64, &unified.text, &old)?;
    if old == args.new_string.replace("\r\n", "\n") {
        return Err(ToolFailure::new(
            ToolErrorKind::EditNoChange,
            format!("No changes to apply. The old_string and new_string are identical in file: {}", path.display()),
        ));
    }

    let new = LineEnding::of(&existing.text).apply(&args.new_string.replace("\r\n", "\n"));
    let mut after = String::with_capacity(existing.text.len() + new.len());
    let mut done = 0;
    for place in &places {
        after.push_str(&existing.text[done..unified.original_offset(*place)]);
        after.push_str(&new);
        done = unified.original_offset(place + old.len());
    }
    after.push_str(&existing.text[done..]);
    let edit = Edit { path, encoding: existing.encoding, before: Some(existing.text), after };
    Ok((edit, places.len()))
}

fn check_count(args: &Args, path: &std::path::Path, found: u64, text: &str, old: &str) -> Result<(), ToolFailure> {
    let expected = match args.expected() {
        _ if found == 0 => {
            let failure = ToolFailure::new(
                ToolErrorKind::EditNoOccurrenceFound,
                format!("Could not find an exact match for 'old_string' in '{}' (0 occurrences).", path.display()),
            );
            return Err(failure.hint(nearest::hint(text, old)));
        }
        Expected::AtLeastOnce => return Ok(()),
        Expected::Exactly(expected) if expected == found => return Ok(()),
        Expected::Exactly(expected) => expected,
    };
    let lines: Vec<String> =
        text.match_indices(old).take(10).map(|(at, _)| (text[..at].matches('\n').count() + 1).to_string()).collect();
    Err(ToolFailure::new(
        ToolErrorKind::EditExpectedOccurrenceMismatch,
        format!(
            "Failed to edit, Expected {expected} occurrence{} but found {found} for old_string in file: {}.",
            if expected == 1 { "" } else { "s" },
            path.display()
        ),
    )
    .hint(format!(
        "It is at line{} {}. Give more of the surrounding text so that it fits one place only, or set allow_multiple \
         to true to replace all.",
        if lines.len() == 1 { "" } else { "s" },
        lines.join(", ")
    )))
}
