//! Writes and serves the journal page, for its tests in a browser.
//!
//!     journal_page write META.json LINES.jsonl PAGE.html
//!     journal_page serve META.json LINES.jsonl           # prints the address; ends with its stdin
#![allow(clippy::print_stdout, reason = "the address goes to the test")]

#[path = "../../src/commands/journal/page/mod.rs"]
mod page;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use page::live::{JournalLines, LiveServer};
use page::{PageMeta, PageMode, write_page};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", meta, lines, out] => {
            let lines = BufReader::new(File::open(lines)?).lines().map_while(Result::ok);
            write_page(&mut BufWriter::new(File::create(out)?), &read_meta(meta)?, lines, PageMode::Saved)?;
        }
        ["serve", meta, lines] => serve(&read_meta(meta)?, &LinesFile(lines.into()))?,
        _ => anyhow::bail!("usage: journal_page write META LINES PAGE | serve META LINES"),
    }
    Ok(())
}

fn read_meta(path: &str) -> anyhow::Result<PageMeta> {
    Ok(serde_json::from_reader(BufReader::new(File::open(Path::new(path))?))?)
}

fn serve(meta: &PageMeta, journal: &LinesFile) -> io::Result<()> {
    let server = LiveServer::bind()?;
    println!("{}", server.url());
    let shutdown = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = io::stdin().read_to_end(&mut Vec::new());
            shutdown.store(true, Ordering::Relaxed);
        });
        server.serve(meta, journal, &shutdown)
    })
}

/// A journal in a file; the number of a line is its place.
struct LinesFile(PathBuf);

impl JournalLines for LinesFile {
    fn after(&self, seq: Option<u64>, limit: usize) -> io::Result<Vec<(u64, String)>> {
        let lines = (0..).zip(BufReader::new(File::open(&self.0)?).lines());
        let wanted = lines.skip_while(|(at, _)| seq.is_some_and(|seq| *at <= seq)).take(limit);
        wanted.map(|(at, line)| Ok((at, line?))).collect()
    }
}
