//! The tool `read_many_files`: reads all files that match some patterns.

use super::file_content::{self, FileContent, LineWindow};
use super::glob_pattern::{CaseSensitivity, compile_globs};
use super::list_directory::filtering_schema;
use crate::catalog::{self, BuiltinInfo};
use crate::context::ToolContext;
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::file_io;
use crate::filter::{FilteringOptions, Recursion};
use crate::result::{ResultContent, ResultPart, SkippedFile, ToolDisplay, ToolResult};
use crate::tool::{BuiltinTool, run_blocking};
use hookwright_hooks::fixed_part;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The size of the content after which no further file is read; the remaining files are listed as skipped.
const MAX_TOTAL_BYTES: usize = 4 * 1024 * 1024;

/// Patterns that are excluded unless `useDefaultExcludes` is false: dependencies, build products, secrets, archives.
const DEFAULT_EXCLUDES: &[&str] = &[
    "**/{node_modules,bower_components,.git,.svn,.hg,.vscode,.idea,dist,build,coverage,__pycache__}/**",
    "**/*.{bin,exe,dll,so,dylib,class,jar,war,zip,tar,gz,bz2,rar,7z,pak,rpa,pyc,pyo}",
    "**/*.{doc,docx,xls,xlsx,ppt,pptx,odt,ods,odp}",
    "**/{.DS_Store,.env,GEMINI.md}",
];

/// The last part of every answer that contains files.
pub const END_OF_FILES_MARKER: &str = "\n--- End of content ---";

pub(crate) struct ReadManyFiles;

#[derive(Deserialize)]
pub(crate) struct ReadManyFilesArgs {
    include: Vec<String>,
    #[serde(default)]
    exclude: Vec<String>,
    recursive: Option<bool>,
    #[serde(rename = "useDefaultExcludes")]
    use_default_excludes: Option<bool>,
    #[serde(default)]
    file_filtering_options: FilteringOptions,
}

impl BuiltinTool for ReadManyFiles {
    type Args = ReadManyFilesArgs;

    fn info(&self) -> &'static BuiltinInfo {
        &catalog::READ_MANY_FILES
    }

    fn description(&self) -> String {
        "Reads all files of the workspace that fit glob patterns or paths, and gives their texts one after another, each \
         under a line `--- path ---`, with `--- End of content ---` at the end. Pictures, recordings and PDF documents \
         are read only if a pattern names them or their extension."
            .to_owned()
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "include": {
                    "type": "array", "minItems": 1, "items": { "type": "string", "minLength": 1 },
                    "description": "Glob patterns or paths, such as [\"src/**/*.ts\"] or [\"README.md\", \"docs/\"].",
                },
                "exclude": {
                    "type": "array", "items": { "type": "string", "minLength": 1 },
                    "description": "Glob patterns to leave out.",
                },
                "recursive": { "type": "boolean", "description": "Whether to go into subdirectories. Default: true." },
                "useDefaultExcludes": {
                    "type": "boolean",
                    "description": "Whether to leave out dependencies, build products and archives. Default: true.",
                },
                "file_filtering_options": filtering_schema(),
            },
            "required": ["include"],
        })
    }

    fn describe(&self, args: &ReadManyFilesArgs) -> String {
        args.include.join(", ")
    }

    async fn run(&self, args: ReadManyFilesArgs, ctx: &ToolContext) -> Result<ToolResult, ToolFailure> {
        run_blocking(ctx, move |ctx| {
            let files = find_files(&args, ctx)?;
            read_files(&files, &args, ctx)
        })
        .await
    }
}

fn find_files(args: &ReadManyFilesArgs, ctx: &ToolContext) -> Result<BTreeSet<PathBuf>, ToolFailure> {
    let bad = |error: String| ToolFailure::new(ToolErrorKind::ReadManyFilesSearchError, error);
    let filter = ctx.filter.with_options(args.file_filtering_options);
    let recursion = if args.recursive.unwrap_or(true) { Recursion::Yes } else { Recursion::No };
    let mut excludes = args.exclude.clone();
    if args.use_default_excludes.unwrap_or(true) {
        excludes.extend(DEFAULT_EXCLUDES.iter().map(|pattern| (*pattern).to_owned()));
    }
    let mut files = BTreeSet::new();
    // Readable directories outside the workspace are searched only if a pattern names them.
    let is_meant = |root: &PathBuf| args.include.iter().any(|pattern| Path::new(pattern).starts_with(root));
    let besides = ctx.workspace.readable_dirs().into_iter().filter(is_meant);
    for root in &ctx.workspace.roots().into_iter().chain(besides).collect::<Vec<_>>() {
        let wanted = compile_globs(&args.include, root, CaseSensitivity::Insensitive).map_err(bad)?;
        let unwanted = compile_globs(&excludes, root, CaseSensitivity::Insensitive).map_err(bad)?;
        for path in filter.walk(root, &ctx.workspace, recursion) {
            if ctx.cancel.is_cancelled() {
                return Err(ToolFailure::cancelled());
            }
            if path.strip_prefix(root).is_ok_and(|path| wanted.is_match(path) && !unwanted.is_match(path)) {
                files.insert(path);
            }
        }
    }
    Ok(files)
}

fn read_files(
    files: &BTreeSet<PathBuf>,
    args: &ReadManyFilesArgs,
    ctx: &ToolContext,
) -> Result<ToolResult, ToolFailure> {
    let begins = |pattern: &String| ctx.workspace.real_path(Path::new(fixed_part(pattern)));
    let judged: Vec<PathBuf> = args.include.iter().filter_map(begins).collect();
    let mut parts = Vec::new();
    let mut read = Vec::new();
    let mut skipped = Vec::new();
    let mut total = 0;
    for path in files {
        if ctx.cancel.is_cancelled() {
            return Err(ToolFailure::cancelled());
        }
        let name = ctx.workspace.shorten(path);
        let part = if total > MAX_TOTAL_BYTES {
            Err("the files before it already fill the answer".to_owned())
        } else {
            read_one_file(path, &judged, args, ctx)
        };
        match part {
            Ok(part) => {
                total += match &part {
                    ResultPart::Text(text) => text.len(),
                    ResultPart::InlineData { data, .. } => data.len(),
                };
                parts.push(part);
                read.push(name);
            }
            Err(reason) => skipped.push(SkippedFile { path: name, reason }),
        }
    }
    if parts.is_empty() {
        parts.push(ResultPart::Text("No files matching the criteria were found or all were skipped.".to_owned()));
    } else {
        parts.push(ResultPart::Text(END_OF_FILES_MARKER.to_owned()));
    }
    let mut summary = format!("Read {} file(s)", read.len());
    if !skipped.is_empty() {
        summary.push_str(&format!(", skipped {}", skipped.len()));
    }
    Ok(ToolResult::new(ResultContent::Parts(parts), ToolDisplay::Files { summary, files: read, skipped }))
}

fn read_one_file(
    path: &Path,
    judged: &[PathBuf],
    args: &ReadManyFilesArgs,
    ctx: &ToolContext,
) -> Result<ResultPart, String> {
    let loaded = file_io::resolve_found(path, judged, &ctx.workspace)
        .and_then(|real| file_content::load(&real, LineWindow::default(), ctx.open_files.as_deref()));
    match loaded.map_err(|failure| failure.message)? {
        FileContent::Text(text) => {
            let notice = if text.is_complete() {
                String::new()
            } else {
                format!(
                    "[Only lines 1-{} of {} are here; use read_file for more.]\n\n",
                    text.line_range.1, text.total_lines
                )
            };
            Ok(ResultPart::Text(format!("--- {} ---\n\n{notice}{}\n\n", path.display(), text.text)))
        }
        FileContent::Media { part, .. } if is_named_explicitly(path, &args.include) => Ok(part),
        FileContent::Media { .. } => Err("media that no pattern names by name or extension".to_owned()),
        FileContent::Binary => Err("binary file".to_owned()),
    }
}

/// Returns whether a pattern names this media file or its extension; media are large, and `**/*` does not ask for them.
fn is_named_explicitly(path: &Path, include: &[String]) -> bool {
    let (Some(extension), Some(stem)) = (path.extension(), path.file_stem()) else { return false };
    let (extension, stem) = (extension.to_string_lossy().to_lowercase(), stem.to_string_lossy());
    include.iter().filter_map(|pattern| pattern.rsplit('/').next()).any(|name| {
        let lower = name.to_lowercase();
        // A pattern for a directory with the same name as the file does not name the file.
        let names_stem =
            if name.contains(['*', '?', '[', '{']) { name.contains(stem.as_ref()) } else { path.ends_with(name) };
        names_stem || ['.', '{', ','].iter().any(|before| lower.contains(&format!("{before}{extension}")))
    })
}
