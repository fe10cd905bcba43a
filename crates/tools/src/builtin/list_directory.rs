//! The tool `list_directory`: lists the entries of one directory.

use crate::catalog::{self, BuiltinInfo};
use crate::context::ToolContext;
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::filter::FilteringOptions;
use crate::result::{ResultContent, ToolDisplay, ToolResult};
use crate::tool::{BuiltinTool, run_blocking};
use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

pub(crate) struct ListDirectory;

#[derive(Deserialize)]
pub(crate) struct ListDirectoryArgs {
    dir_path: String,
    #[serde(default)]
    ignore: Vec<String>,
    #[serde(default)]
    file_filtering_options: FilteringOptions,
}

enum ListedEntry {
    Directory(String),
    File(String, u64),
}

impl BuiltinTool for ListDirectory {
    type Args = ListDirectoryArgs;

    fn info(&self) -> &'static BuiltinInfo {
        &catalog::LIST_DIRECTORY
    }

    fn description(&self) -> String {
        "Lists what is directly in a directory of the workspace: subdirectories first, then files with their sizes."
            .to_owned()
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "dir_path": { "type": "string", "description": "Path of the directory." },
                "ignore": {
                    "type": "array", "items": { "type": "string" },
                    "description": "Glob patterns of names to leave out.",
                },
                "file_filtering_options": filtering_schema(),
            },
            "required": ["dir_path"],
        })
    }

    fn describe(&self, args: &ListDirectoryArgs) -> String {
        args.dir_path.clone()
    }

    async fn run(&self, args: ListDirectoryArgs, ctx: &ToolContext) -> Result<ToolResult, ToolFailure> {
        run_blocking(ctx, move |ctx| list_entries(&args, ctx)).await
    }
}

/// Returns the schema of the argument that switches ignore files off, shared with other tools.
pub(super) fn filtering_schema() -> Value {
    json!({
        "type": "object",
        "description": "Which ignore files count; all do by default.",
        "properties": {
            "respect_git_ignore": { "type": "boolean", "description": "Whether .gitignore counts." },
            "respect_gemini_ignore": { "type": "boolean", "description": "Whether .geminiignore counts; it always does where the settings say so." },
        },
    })
}

fn list_entries(args: &ListDirectoryArgs, ctx: &ToolContext) -> Result<ToolResult, ToolFailure> {
    let directory = ctx.workspace.resolve_to_read(&args.dir_path)?;
    check_directory(&directory)?;
    let unwanted = compile_ignore_globs(&args.ignore)?;
    let rules = ctx.filter.with_options(args.file_filtering_options).rules(&directory, &ctx.workspace);
    let failed = |error: std::io::Error| {
        ToolFailure::new(
            ToolErrorKind::LsExecutionError,
            format!("Error listing directory {}: {error}", directory.display()),
        )
    };

    let mut entries = Vec::new();
    let mut ignored = 0;
    for found in fs::read_dir(&directory).map_err(failed)? {
        let Ok(found) = found else { continue };
        let path = found.path();
        let name = found.file_name().to_string_lossy().into_owned();
        if unwanted.is_match(&name) || !ctx.workspace.may_read(&path) || !hookwright_disk::exists_nofollow(&path) {
            continue;
        }
        if rules.is_hidden(&path, path.is_dir()) {
            ignored += 1;
            continue;
        }
        // The listing shows what can be opened, so links are followed and dangling ones are left out.
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() => entries.push(ListedEntry::Directory(name)),
            Ok(found) => entries.push(ListedEntry::File(name, found.len())),
            Err(_) => {}
        }
    }
    Ok(format_listing(entries, ignored, &directory))
}

fn check_directory(directory: &Path) -> Result<(), ToolFailure> {
    match fs::metadata(directory) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(ToolFailure::new(
            ToolErrorKind::PathIsNotADirectory,
            format!("Path is not a directory: {}", directory.display()),
        )
        .hint("Use read_file to read it.")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(ToolFailure::new(ToolErrorKind::FileNotFound, format!("Directory not found: {}", directory.display())))
        }
        Err(error) => Err(ToolFailure::from_read_error(directory, &error)),
    }
}

fn compile_ignore_globs(globs: &[String]) -> Result<GlobSet, ToolFailure> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        set.add(Glob::new(glob).map_err(|error| ToolFailure::invalid_params(format!("bad ignore pattern: {error}")))?);
    }
    set.build().map_err(|error| ToolFailure::invalid_params(format!("bad ignore patterns: {error}")))
}

fn format_listing(mut entries: Vec<ListedEntry>, ignored: usize, directory: &Path) -> ToolResult {
    if entries.is_empty() && ignored == 0 {
        return ToolResult::text(format!("Directory {} is empty.", directory.display()), "Directory is empty.");
    }
    entries.sort_by_cached_key(|entry| match entry {
        ListedEntry::Directory(name) => (0, name.to_lowercase(), name.clone()),
        ListedEntry::File(name, _) => (1, name.to_lowercase(), name.clone()),
    });
    let lines: Vec<String> = entries
        .iter()
        .map(|entry| match entry {
            ListedEntry::Directory(name) => format!("[DIR] {name}"),
            ListedEntry::File(name, size) => format!("{name} ({size} bytes)"),
        })
        .collect();
    let files = entries
        .into_iter()
        .map(|entry| match entry {
            ListedEntry::Directory(name) => format!("[DIR] {name}"),
            ListedEntry::File(name, _) => name,
        })
        .collect();
    let mut text = format!("Directory listing for {}:\n{}", directory.display(), lines.join("\n"));
    let mut summary = format!("Found {} item(s).", lines.len());
    if ignored > 0 {
        text.push_str(&format!("\n\n({ignored} ignored)"));
        summary.push_str(&format!(" ({ignored} ignored)"));
    }
    ToolResult::new(ResultContent::Text(text), ToolDisplay::Files { summary, files, skipped: Vec::new() })
}
