//! The tool `replace`: replaces a literal piece of a file's text.
//!
//! Only exact matches count; if there is none, the model is shown the most similar lines.

use super::nearest_text;
use super::planned_edit::PlannedEdit;
use crate::catalog::{self, BuiltinInfo};
use crate::context::ToolContext;
use crate::encoding::{DecodedText, Encoding, Fidelity, LineEnding, NormalizedText};
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::file_io;
use crate::result::{ToolDisplay, ToolResult};
use crate::tool::{BuiltinTool, lenient_u64, one_line, run_blocking};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;

pub(crate) struct Replace;

#[derive(Deserialize)]
pub(crate) struct ReplaceArgs {
    file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    allow_multiple: bool,
    /// The older argument for the number of matches.
    #[serde(default, deserialize_with = "lenient_u64")]
    expected_replacements: Option<u64>,
}

/// The number of matches that the old text must have.
enum ExpectedMatches {
    Exactly(u64),
    AtLeastOnce,
}

impl ReplaceArgs {
    fn expected_matches(&self) -> ExpectedMatches {
        match self.expected_replacements {
            Some(count) if count > 0 => ExpectedMatches::Exactly(count),
            _ if self.allow_multiple => ExpectedMatches::AtLeastOnce,
            _ => ExpectedMatches::Exactly(1),
        }
    }
}

impl BuiltinTool for Replace {
    type Args = ReplaceArgs;

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

    fn describe(&self, args: &ReplaceArgs) -> String {
        if args.old_string.is_empty() {
            return format!("Create {}", args.file_path);
        }
        let first = |text: &str| one_line(text.lines().next().unwrap_or_default(), 30);
        format!("{}: {} => {}", args.file_path, first(&args.old_string), first(&args.new_string))
    }

    async fn preview(&self, args: ReplaceArgs, ctx: &ToolContext) -> Option<ToolDisplay> {
        run_blocking(ctx, move |ctx| Ok(plan_edit(&args, ctx)?.0.into_display(&ctx.workspace))).await.ok()
    }

    async fn run(&self, args: ReplaceArgs, ctx: &ToolContext) -> Result<ToolResult, ToolFailure> {
        run_blocking(ctx, move |ctx| {
            let (edit, count) = plan_edit(&args, ctx)?;
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

/// Returns the planned change and the number of replacements.
fn plan_edit(args: &ReplaceArgs, ctx: &ToolContext) -> Result<(PlannedEdit, usize), ToolFailure> {
    let path = ctx.workspace.resolve(&args.file_path)?;
    let existing = file_io::read_text_if_exists(&path, ctx.open_files.as_deref())?;
    match (existing, args.old_string.is_empty()) {
        (None, true) => {
            let after = args.new_string.clone();
            Ok((PlannedEdit { path, encoding: Encoding::Utf8, before: None, after }, 1))
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
        (Some(existing), false) => plan_replacement(args, path, existing),
    }
}

fn plan_replacement(
    args: &ReplaceArgs,
    path: PathBuf,
    existing: DecodedText,
) -> Result<(PlannedEdit, usize), ToolFailure> {
    if existing.fidelity == Fidelity::Lossy {
        return Err(ToolFailure::new(
            ToolErrorKind::EditPreparationFailure,
            format!("{} is not valid text in any encoding known here; changing it would damage it", path.display()),
        )
        .hint("Change it with a shell command that works on bytes, such as sed or perl."));
    }
    let unified = NormalizedText::new(&existing.text);
    let old = args.old_string.replace("\r\n", "\n");
    let places: Vec<usize> = unified.text.match_indices(&old).map(|(at, _)| at).collect();
    check_match_count(args, &path, places.len() as u64, &unified.text, &old)?;
    if old == args.new_string.replace("\r\n", "\n") {
        return Err(ToolFailure::new(
            ToolErrorKind::EditNoChange,
            format!("No changes to apply. The old_string and new_string are identical in file: {}", path.display()),
        ));
    }

    let new = LineEnding::detect(&existing.text).apply(&args.new_string.replace("\r\n", "\n"));
    let mut after = String::with_capacity(existing.text.len() + new.len());
    let mut done = 0;
    for place in &places {
        after.push_str(&existing.text[done..unified.original_offset(*place)]);
        after.push_str(&new);
        done = unified.original_offset(place + old.len());
    }
    after.push_str(&existing.text[done..]);
    let edit = PlannedEdit { path, encoding: existing.encoding, before: Some(existing.text), after };
    Ok((edit, places.len()))
}

fn check_match_count(
    args: &ReplaceArgs,
    path: &std::path::Path,
    found: u64,
    text: &str,
    old: &str,
) -> Result<(), ToolFailure> {
    let expected = match args.expected_matches() {
        _ if found == 0 => {
            let failure = ToolFailure::new(
                ToolErrorKind::EditNoOccurrenceFound,
                format!("Could not find an exact match for 'old_string' in '{}' (0 occurrences).", path.display()),
            );
            return Err(failure.hint(nearest_text::hint(text, old)));
        }
        ExpectedMatches::AtLeastOnce => return Ok(()),
        ExpectedMatches::Exactly(expected) if expected == found => return Ok(()),
        ExpectedMatches::Exactly(expected) => expected,
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
