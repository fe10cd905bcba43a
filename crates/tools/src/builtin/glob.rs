//! The tool `glob`: finds files whose path matches a pattern, recently changed ones first.

use super::glob_pattern::{CaseSensitivity, compile_globs};
use crate::catalog::{self, BuiltinInfo};
use crate::context::ToolContext;
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::filter::{FilteringOptions, Recursion};
use crate::result::ToolResult;
use crate::tool::{BuiltinTool, run_blocking};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// The largest number of paths that are listed; further ones are only counted.
const MAX_LISTED_FILES: usize = 2000;
const RECENT_FILE_PERIOD: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) struct GlobTool;

#[derive(Deserialize)]
pub(crate) struct GlobArgs {
    pattern: String,
    dir_path: Option<String>,
    #[serde(default)]
    case_sensitive: bool,
    respect_git_ignore: Option<bool>,
    respect_gemini_ignore: Option<bool>,
}

impl BuiltinTool for GlobTool {
    type Args = GlobArgs;

    fn info(&self) -> &'static BuiltinInfo {
        &catalog::GLOB
    }

    fn description(&self) -> String {
        "Finds files by a glob pattern over their paths, such as src/**/*.ts or *.{md,txt}. Gives absolute paths, those \
         changed within a day first (newest at the top), the others by name."
            .to_owned()
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": { "type": "string", "description": "The glob pattern, relative to the directory searched." },
                "dir_path": { "type": "string", "description": "Directory to search. Default: the whole workspace." },
                "case_sensitive": { "type": "boolean", "description": "Whether case counts. Default: false." },
                "respect_git_ignore": { "type": "boolean", "description": "Whether .gitignore counts. Default: true." },
                "respect_gemini_ignore": {
                    "type": "boolean", "description": "Whether .geminiignore counts; it always does where the settings say so.",
                },
            },
            "required": ["pattern"],
        })
    }

    fn describe(&self, args: &GlobArgs) -> String {
        match &args.dir_path {
            Some(directory) => format!("'{}' within {directory}", args.pattern),
            None => format!("'{}'", args.pattern),
        }
    }

    async fn run(&self, args: GlobArgs, ctx: &ToolContext) -> Result<ToolResult, ToolFailure> {
        run_blocking(ctx, move |ctx| find_files(&args, ctx)).await
    }
}

fn find_files(args: &GlobArgs, ctx: &ToolContext) -> Result<ToolResult, ToolFailure> {
    if args.pattern.trim().is_empty() {
        return Err(ToolFailure::invalid_params("The 'pattern' parameter cannot be empty."));
    }
    let starts = match args.dir_path.as_deref().filter(|path| !path.trim().is_empty()) {
        Some(path) => vec![existing_directory(path, ctx)?],
        None => ctx.workspace.roots(),
    };
    let filter = ctx.filter.with_options(FilteringOptions {
        respect_git_ignore: args.respect_git_ignore,
        respect_gemini_ignore: args.respect_gemini_ignore,
    });
    let case = if args.case_sensitive { CaseSensitivity::Sensitive } else { CaseSensitivity::Insensitive };
    let mut found: Vec<(Option<SystemTime>, PathBuf)> = Vec::new();
    for start in &starts {
        let pattern = compile_globs(std::slice::from_ref(&args.pattern), start, case)
            .map_err(|error| ToolFailure::new(ToolErrorKind::GlobExecutionError, error))?;
        for path in filter.walk(start, &ctx.workspace, Recursion::Yes) {
            if ctx.cancel.is_cancelled() {
                return Err(ToolFailure::cancelled());
            }
            let is_wanted = path.strip_prefix(start).is_ok_and(|relative| pattern.is_match(relative));
            if is_wanted && hookwright_disk::exists_nofollow(&path) {
                let changed = fs::metadata(&path).and_then(|found| found.modified()).ok();
                found.push((changed, path));
            }
        }
    }
    let place = match starts.as_slice() {
        [only] => format!("within {}", only.display()),
        several => format!("across {} workspace directories", several.len()),
    };
    Ok(format_files(found, &args.pattern, &place))
}

fn existing_directory(path: &str, ctx: &ToolContext) -> Result<PathBuf, ToolFailure> {
    let directory = ctx.workspace.resolve_to_read(path)?;
    match fs::metadata(&directory) {
        Ok(found) if found.is_dir() => Ok(directory),
        Ok(_) => Err(ToolFailure::new(
            ToolErrorKind::PathIsNotADirectory,
            format!("Search path is not a directory: {}", directory.display()),
        )),
        Err(_) => Err(ToolFailure::new(
            ToolErrorKind::FileNotFound,
            format!("Search path does not exist: {}", directory.display()),
        )),
    }
}

fn format_files(mut found: Vec<(Option<SystemTime>, PathBuf)>, pattern: &str, place: &str) -> ToolResult {
    if found.is_empty() {
        return ToolResult::text(format!("No files found matching pattern \"{pattern}\" {place}"), "No files found");
    }
    let since = SystemTime::now().checked_sub(RECENT_FILE_PERIOD);
    // Recent files are sorted by time, newest first; all others follow, sorted by path.
    found.sort_by(|(a_time, a), (b_time, b)| {
        let recent = |time: &Option<SystemTime>| time.filter(|time| since.is_none_or(|since| *time > since));
        recent(b_time).cmp(&recent(a_time)).then_with(|| a.cmp(b))
    });
    found.dedup();
    let count = found.len();
    let mut text =
        format!("Found {count} file(s) matching \"{pattern}\" {place}, sorted by modification time (newest first):");
    for (_, path) in found.iter().take(MAX_LISTED_FILES) {
        text.push('\n');
        text.push_str(&path.display().to_string());
    }
    if count > MAX_LISTED_FILES {
        text.push_str(&format!("\n[{} more are not listed; use a narrower pattern]", count - MAX_LISTED_FILES));
    }
    ToolResult::text(text, format!("Found {count} matching file(s)"))
}
