//! The tool `search_file_content`: finds lines that match a regular expression, with ripgrep's libraries.

use super::file_content::truncate_line;
use super::glob_pattern::{CaseSensitivity, compile_globs};
use crate::catalog::{self, BuiltinInfo};
use crate::context::ToolContext;
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::file_io;
use crate::filter::{FileFilter, Recursion};
use crate::result::{ResultContent, SearchMatch, ToolDisplay, ToolResult};
use crate::tool::{BuiltinTool, lenient_u64, run_blocking};
use globset::GlobSet;
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const DEFAULT_MAX_MATCHES: u64 = 100;
const SEARCH_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct SearchFileContent;

#[derive(Deserialize)]
pub(crate) struct SearchFileContentArgs {
    pattern: String,
    dir_path: Option<String>,
    include_pattern: Option<String>,
    exclude_pattern: Option<String>,
    #[serde(default)]
    names_only: bool,
    #[serde(default)]
    case_sensitive: bool,
    #[serde(default)]
    fixed_strings: bool,
    #[serde(default, deserialize_with = "lenient_u64")]
    context: Option<u64>,
    #[serde(default, deserialize_with = "lenient_u64")]
    after: Option<u64>,
    #[serde(default, deserialize_with = "lenient_u64")]
    before: Option<u64>,
    #[serde(default)]
    no_ignore: bool,
    #[serde(default, deserialize_with = "lenient_u64")]
    max_matches_per_file: Option<u64>,
    #[serde(default, deserialize_with = "lenient_u64")]
    total_max_matches: Option<u64>,
}

impl BuiltinTool for SearchFileContent {
    type Args = SearchFileContentArgs;

    fn info(&self) -> &'static BuiltinInfo {
        &catalog::SEARCH_FILE_CONTENT
    }

    fn description(&self) -> String {
        "Searches the contents of the workspace's files for a regular expression and gives the matching lines with their \
         files and line numbers, with lines around them where there are few. Ignored and binary files are left out."
            .to_owned()
    }

    fn parameters(&self) -> Value {
        let count = |least: u64, text: &str| json!({ "type": "integer", "minimum": least, "description": text });
        json!({
            "type": "object",
            "properties": {
                "pattern": {
                    "type": "string",
                    "description": "The regular expression, in Rust's syntax (no look-around), matched line by line.",
                },
                "dir_path": {
                    "type": "string",
                    "description": "Directory or file to search. Default: the working directory.",
                },
                "include_pattern": {
                    "type": "string",
                    "description": "Glob pattern of files to search, such as *.ts or src/**. Default: all.",
                },
                "exclude_pattern": {
                    "type": "string",
                    "description": "Regular expression of lines to leave out although they match.",
                },
                "names_only": { "type": "boolean", "description": "Give only the names of files with matches." },
                "case_sensitive": { "type": "boolean", "description": "Whether case counts. Default: false." },
                "fixed_strings": { "type": "boolean", "description": "Take the pattern literally. Default: false." },
                "context": count(0, "Lines to show around each match."),
                "after": count(0, "Lines to show after each match."),
                "before": count(0, "Lines to show before each match."),
                "no_ignore": {
                    "type": "boolean",
                    "description": "Search files that .gitignore hides too. Default: false.",
                },
                "max_matches_per_file": count(1, "Matches to give per file at most."),
                "total_max_matches": count(1, "Matches to give altogether at most. Default: 100."),
            },
            "required": ["pattern"],
        })
    }

    fn describe(&self, args: &SearchFileContentArgs) -> String {
        let mut text = format!("'{}'", args.pattern);
        if let Some(include) = &args.include_pattern {
            let _ = write!(text, " in {include}");
        }
        let _ = write!(text, " within {}", args.dir_path.as_deref().unwrap_or("./"));
        text
    }

    async fn run(&self, args: SearchFileContentArgs, ctx: &ToolContext) -> Result<ToolResult, ToolFailure> {
        run_blocking(ctx, move |ctx| search_content(&args, ctx)).await
    }
}

/// The compiled patterns and limits of a search.
struct ContentQuery {
    pattern_matcher: RegexMatcher,
    exclude_matcher: Option<RegexMatcher>,
    max_per_file: u64,
    before: usize,
    after: usize,
}

/// The matching lines of one file.
struct FileMatches {
    path: PathBuf,
    name: String,
    lines: Vec<SearchedLine>,
}

struct SearchedLine {
    number: u64,
    text: String,
    is_match: bool,
}

impl FileMatches {
    fn match_count(&self) -> u64 {
        self.lines.iter().filter(|line| line.is_match).count() as u64
    }
}

fn search_content(args: &SearchFileContentArgs, ctx: &ToolContext) -> Result<ToolResult, ToolFailure> {
    let asked = args.dir_path.as_deref().filter(|path| !path.trim().is_empty()).unwrap_or(".");
    let start = ctx.workspace.resolve_to_read(asked)?;
    if !start.exists() {
        return Err(ToolFailure::new(ToolErrorKind::FileNotFound, format!("Path does not exist: {}", start.display())));
    }
    let mut query = ContentQuery::new(args)?;
    let total = args.total_max_matches.unwrap_or(DEFAULT_MAX_MATCHES).max(1);
    // With `.geminiignore` the user hides files from the model, so the model cannot switch it off.
    let filter = FileFilter { git_ignore: ctx.filter.git_ignore && !args.no_ignore, ..ctx.filter };
    let mut found = search_files(args, &query, &start, filter, total, ctx)?;

    let count: u64 = found.iter().map(FileMatches::match_count).sum();
    let asked_for_context = args.context.or(args.before).or(args.after).is_some();
    if (1..=3).contains(&count) && !args.names_only && !asked_for_context {
        let around = if count == 1 { 50 } else { 15 };
        (query.before, query.after) = (around, around);
        for hits in &mut found {
            let limit = hits.match_count();
            hits.lines = search_file(&query, &hits.path, &start, limit, ctx)?;
        }
    }
    let mut result = format_matches(args, asked, &found, count, total);
    if count == 0
        && filter.is_ignored(&start, &ctx.workspace)
        && let ResultContent::Text(text) = &mut result.llm_content
    {
        text.push_str(" The path is hidden by an ignore file.");
    }
    Ok(result)
}

impl ContentQuery {
    fn new(args: &SearchFileContentArgs) -> Result<Self, ToolFailure> {
        let compile = |pattern: &str, literal: bool| {
            RegexMatcherBuilder::new()
                .case_insensitive(!args.case_sensitive)
                .fixed_strings(literal)
                .line_terminator(Some(b'\n'))
                .build(pattern)
                .map_err(|error| {
                    ToolFailure::invalid_params(format!(
                        "Invalid regular expression pattern provided: {pattern}. Error: {error}"
                    ))
                    .hint("Look-around, back-references and line breaks are not supported; fixed_strings takes the pattern literally.")
                })
        };
        let lines = |count: Option<u64>| {
            let count = count.or(args.context).unwrap_or(0);
            usize::try_from(count).unwrap_or(usize::MAX).min(1000)
        };
        Ok(Self {
            pattern_matcher: compile(&args.pattern, args.fixed_strings)?,
            exclude_matcher: args.exclude_pattern.as_deref().map(|pattern| compile(pattern, false)).transpose()?,
            max_per_file: args.max_matches_per_file.unwrap_or(u64::MAX),
            before: lines(args.before),
            after: lines(args.after),
        })
    }
}

/// Searches the files in the order of their paths, until there are enough matches or the time is up.
fn search_files(
    args: &SearchFileContentArgs,
    query: &ContentQuery,
    start: &Path,
    filter: FileFilter,
    total: u64,
    ctx: &ToolContext,
) -> Result<Vec<FileMatches>, ToolFailure> {
    let base = if start.is_dir() { start } else { start.parent().unwrap_or(start) };
    let include = include_set(args, base)?;
    let deadline = Instant::now() + SEARCH_TIMEOUT;
    let mut found = Vec::new();
    let mut left = total;
    for path in filter.walk(start, &ctx.workspace, Recursion::Yes) {
        if ctx.cancel.is_cancelled() {
            return Err(ToolFailure::cancelled());
        }
        if Instant::now() > deadline {
            return Err(ToolFailure::new(
                ToolErrorKind::GrepExecutionError,
                format!("the search took longer than {} seconds", SEARCH_TIMEOUT.as_secs()),
            )
            .hint("Narrow it with dir_path or include_pattern."));
        }
        let relative = path.strip_prefix(base).unwrap_or(&path);
        if include.as_ref().is_some_and(|include| !include.is_match(relative)) {
            continue;
        }
        // An unreadable file does not end the search.
        let Ok(lines) = search_file(query, &path, start, left, ctx) else { continue };
        if lines.is_empty() {
            continue;
        }
        let hits = FileMatches { name: relative.display().to_string(), path, lines };
        left = left.saturating_sub(hits.match_count());
        found.push(hits);
        if left == 0 {
            break;
        }
    }
    Ok(found)
}

/// Compiles the include pattern; one without a slash matches file names in any directory, as in ignore files.
fn include_set(args: &SearchFileContentArgs, base: &Path) -> Result<Option<GlobSet>, ToolFailure> {
    let Some(pattern) = args.include_pattern.as_deref().filter(|pattern| !pattern.trim().is_empty()) else {
        return Ok(None);
    };
    let anywhere = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
    let pattern = anywhere.trim_start_matches('/').to_owned();
    compile_globs(&[pattern], base, CaseSensitivity::Sensitive).map(Some).map_err(ToolFailure::invalid_params)
}

fn search_file(
    query: &ContentQuery,
    path: &Path,
    start: &Path,
    limit: u64,
    ctx: &ToolContext,
) -> Result<Vec<SearchedLine>, ToolFailure> {
    let (file, _) = file_io::open_regular(&file_io::resolve_found(path, &[start.to_owned()], &ctx.workspace)?)?;
    let mut collector = MatchCollector {
        lines: Vec::new(),
        remaining: query.max_per_file.min(limit),
        exclude_matcher: query.exclude_matcher.as_ref(),
        ctx,
    };
    SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_number(true)
        .before_context(query.before)
        .after_context(query.after)
        .build()
        .search_file(&query.pattern_matcher, &file, &mut collector)
        .map_err(|error| ToolFailure::from_read_error(path, &error))?;
    let mut lines = collector.lines;
    // Without a match the context lines belong to excluded matches.
    if !lines.iter().any(|line| line.is_match) {
        lines.clear();
    }
    Ok(lines)
}

struct MatchCollector<'a> {
    lines: Vec<SearchedLine>,
    remaining: u64,
    exclude_matcher: Option<&'a RegexMatcher>,
    ctx: &'a ToolContext,
}

impl MatchCollector<'_> {
    fn push(&mut self, number: Option<u64>, bytes: &[u8], is_match: bool) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end();
        let text = truncate_line(text).unwrap_or_else(|| text.to_owned());
        self.lines.push(SearchedLine { number: number.unwrap_or(0), text, is_match });
    }
}

impl Sink for MatchCollector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.remaining == 0 || self.ctx.cancel.is_cancelled() {
            return Ok(false);
        }
        let line = found.bytes().strip_suffix(b"\n").unwrap_or(found.bytes());
        if self.exclude_matcher.is_some_and(|unwanted| unwanted.is_match(line).unwrap_or(false)) {
            return Ok(true);
        }
        self.push(found.line_number(), line, true);
        self.remaining -= 1;
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> io::Result<bool> {
        if !self.ctx.cancel.is_cancelled() {
            self.push(around.line_number(), around.bytes(), false);
        }
        Ok(true)
    }
}

fn format_matches(
    args: &SearchFileContentArgs,
    asked: &str,
    found: &[FileMatches],
    count: u64,
    total: u64,
) -> ToolResult {
    let filter = args.include_pattern.as_ref().map(|include| format!(" (filter: \"{include}\")")).unwrap_or_default();
    let place = format!("for pattern \"{}\" in path \"{asked}\"{filter}", args.pattern);
    if found.is_empty() {
        return ToolResult::new(
            ResultContent::Text(format!("No matches found {place}.")),
            ToolDisplay::Matches { summary: "No matches found".to_owned(), matches: Vec::new() },
        );
    }
    let limited = count >= total;
    let note = if limited { format!(" (results limited to {total} matches for performance)") } else { String::new() };
    let suffix = if limited { " (limited)" } else { "" };
    if args.names_only {
        let names: Vec<&str> = found.iter().map(|hits| hits.name.as_str()).collect();
        return ToolResult::new(
            ResultContent::Text(format!(
                "Found {} files with matches {place}{note}:\n{}",
                names.len(),
                names.join("\n")
            )),
            ToolDisplay::Matches { summary: format!("Found {} files{suffix}", names.len()), matches: Vec::new() },
        );
    }
    let noun = if count == 1 { "match" } else { "matches" };
    let mut text = format!("Found {count} {noun} {place}{note}:\n---\n");
    for hits in found {
        let _ = writeln!(text, "File: {}", hits.name);
        for line in &hits.lines {
            let mark = if line.is_match { ':' } else { '-' };
            let _ = writeln!(text, "L{}{mark} {}", line.number, line.text);
        }
        text.push_str("---\n");
    }
    text.truncate(text.trim_end().len());
    let matches = found
        .iter()
        .flat_map(|hits| hits.lines.iter().filter(|line| line.is_match).map(move |line| (hits, line)))
        .map(|(hits, line)| SearchMatch {
            file_path: hits.name.clone(),
            absolute_path: hits.path.display().to_string(),
            line_number: line.number,
            line: line.text.clone(),
        })
        .collect();
    ToolResult::new(
        ResultContent::Text(text),
        ToolDisplay::Matches { summary: format!("Found {count} {noun}{suffix}"), matches },
    )
}
