//! `journal page`: the journal as one HTML file, or served on the loopback address.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use hookwright_journal::{JournalLine, Query, Reader, Story};
use hookwright_settings::{LoadedConfig, ProcessEnv};
use jiff::Timestamp;

use super::page::live::{JournalLines, LiveServer};
use super::page::{ConfiguredHook, PageMeta, PageMode, write_page};
use crate::args::JournalPageArgs;
use crate::commands::hooks::why;
use crate::{exit, output};

/// How many of the latest lines have their story in the page.
const MAX_TOLD_LINES: u64 = 20_000;
/// The file that is written if none is named.
const DEFAULT_FILE: &str = "journal.html";

pub(super) fn run(
    wanted: &JournalPageArgs,
    reader: &Reader,
    loaded: &LoadedConfig,
    world: &ProcessEnv,
) -> anyhow::Result<u8> {
    let now = Timestamp::now();
    let mut query = Query::default();
    if let Some(session) = &wanted.session {
        query.add(&format!("session={session}"), now)?;
    } else if let Some(since) = &wanted.since {
        query.add(&format!("since={since}"), now)?;
    }
    let meta = page_meta(wanted, loaded);
    if wanted.live {
        return serve(reader, query, &meta, wanted.open, world);
    }
    if reader.count(&query)? == 0 {
        anyhow::bail!("no line of the journal matches; `hookwright journal list` shows what there is");
    }
    let file = world.cwd.join(wanted.output.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_FILE)));
    write_file(&file, reader, &query, &meta).with_context(|| format!("{} can't be written", file.display()))?;
    writeln!(output::stdout(), "{}", file.display())?;
    if wanted.open {
        open_in_browser(&format!("file://{}", file.display()), world)?;
    }
    Ok(exit::OK)
}

fn page_meta(wanted: &JournalPageArgs, loaded: &LoadedConfig) -> PageMeta {
    let hook = |hook: &std::sync::Arc<hookwright_hooks::Hook>| ConfiguredHook {
        hook: hook.id().to_owned(),
        event: hook.event.name().to_owned(),
        source: hook.source.to_string(),
        guard: hook.is_guard(),
        mode: hook.is_shadow().then(|| "shadow".to_owned()),
    };
    let title = match (&wanted.session, &wanted.since) {
        (Some(session), _) => format!("Journal: session {session}"),
        (None, Some(since)) => format!("Journal since {since}"),
        (None, None) => "Journal".to_owned(),
    };
    PageMeta { title, hooks: loaded.registry.hooks().iter().map(hook).collect() }
}

/// Writes the page to a file that only its owner may read, because it holds arguments and output.
fn write_file(file: &Path, reader: &Reader, query: &Query, meta: &PageMeta) -> anyhow::Result<()> {
    let draft = File::options().write(true).create(true).truncate(true).open(file)?;
    hookwright_disk::make_private(&draft)?;
    let outcomes = reader.call_outcomes(query)?;
    let mut untold = reader.count(query)?.saturating_sub(MAX_TOLD_LINES);
    let mut lines = Vec::new();
    reader.for_each(query, |_, mut line| {
        reader.resolve(&mut line);
        let is_told = untold == 0;
        untold = untold.saturating_sub(1);
        let story = is_told.then(|| Story::tell(&line, outcomes.of(&line))).flatten();
        lines.extend(page_line(&line, story.as_ref()));
        true
    })?;
    write_page(&mut BufWriter::new(draft), meta, lines.into_iter(), PageMode::Saved)?;
    Ok(())
}

/// Returns a line as the page has it, with its story, if it is told.
fn page_line(line: &JournalLine, story: Option<&Story>) -> Option<String> {
    let mut value = serde_json::to_value(line).ok()?;
    if let Some(story) = story {
        value["why"] = story.lines().into();
    }
    Some(value.to_string())
}

/// The lines that the live page asks for.
struct FollowedJournal<'r> {
    reader: &'r Reader,
    query: Query,
}

impl JournalLines for FollowedJournal<'_> {
    fn after(&self, seq: Option<u64>, limit: usize) -> io::Result<Vec<(u64, String)>> {
        let mut query = self.query.clone();
        query.after_line(seq.unwrap_or(0));
        let mut lines = Vec::new();
        self.reader
            .for_each(&query, |_, mut line| {
                self.reader.resolve(&mut line);
                lines.extend(serde_json::to_string(&line).ok().map(|text| (line.seq, text)));
                lines.len() < limit
            })
            .map_err(io::Error::other)?;
        Ok(lines)
    }

    fn why(&self, seq: u64) -> io::Result<Option<Vec<String>>> {
        let Some(line) = self.reader.line(seq).map_err(io::Error::other)? else { return Ok(None) };
        let story = why::tell(self.reader, line).map_err(io::Error::other)?;
        Ok(story.map(|(story, _)| story.lines()))
    }
}

fn serve(reader: &Reader, query: Query, meta: &PageMeta, open: bool, world: &ProcessEnv) -> anyhow::Result<u8> {
    let server = LiveServer::bind().context("no port of the loopback address is free")?;
    let mut stdout = output::stdout();
    writeln!(stdout, "{}", server.url())?;
    stdout.flush()?;
    output::note("the address holds a token: keep it to yourself. Ctrl-C ends the server")?;
    if open {
        open_in_browser(&server.url(), world)?;
    }
    server.serve(meta, &FollowedJournal { reader, query }, &AtomicBool::new(false))?;
    Ok(exit::OK)
}

/// Opens an address with the system's own program.
fn open_in_browser(address: &str, world: &ProcessEnv) -> anyhow::Result<()> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let program = world.var("BROWSER").filter(|name| !name.is_empty()).unwrap_or(program);
    let started = std::process::Command::new(program)
        .arg(address)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    if let Err(error) = started {
        output::warn(format!("{program} can't be started: {error}; open {address} yourself"))?;
    }
    Ok(())
}
