//! What an extension brings and what an update changes, on a terminal. Others' words can't steer it.

use std::io::{self, Write};

use hookwright_extensions::{Brings, Content, Difference};

use crate::out::{self, BAD, BOLD, DIM, GOOD, NOTE, PLAIN, WARN, paint};

/// The most lines of a script that are shown.
const MOST_LINES: usize = 60;

/// Everything that an extension brings, scripts included.
pub(super) fn brings(brings: &Brings) -> io::Result<()> {
    let mut stdout = out::stdout();
    writeln!(stdout, "{} {}", paint(BOLD, &brings.name), out::one_line(&brings.version))?;
    if let Some(about) = &brings.description {
        writeln!(stdout, "{}", out::one_line(about))?;
    }
    if brings.sections.is_empty() {
        writeln!(stdout, "it brings nothing that is known here")?;
    }
    for section in &brings.sections {
        writeln!(stdout, "\n{}", paint(NOTE, section.title))?;
        for item in &section.items {
            writeln!(stdout, "  {}", out::one_line(&item.text))?;
            for line in &item.details {
                writeln!(stdout, "    {}", paint(DIM, out::one_line(line)))?;
            }
        }
    }
    for (file, content) in &brings.reviewed {
        writeln!(stdout, "\n{}", paint(NOTE, out::one_line(file)))?;
        match content {
            Content::Text(text) => lines(&mut stdout, text)?,
            Content::Other(what) => writeln!(stdout, "  ({what})")?,
        }
    }
    writeln!(stdout)
}

fn lines(stdout: &mut impl Write, text: &str) -> io::Result<()> {
    for line in text.lines().take(MOST_LINES) {
        writeln!(stdout, "  {}", out::one_line(line))?;
    }
    match text.lines().count().saturating_sub(MOST_LINES) {
        0 => Ok(()),
        1 => writeln!(stdout, "  {}", paint(WARN, "… and another line")),
        more => writeln!(stdout, "  {}", paint(WARN, format!("… and {more} more lines"))),
    }
}

/// What an update changes.
pub(super) fn difference(name: &str, difference: &Difference) -> io::Result<()> {
    let mut stdout = out::stdout();
    let (old, new) = &difference.versions;
    writeln!(stdout, "{} {} → {}", paint(BOLD, name), out::one_line(old), out::one_line(new))?;
    let files = difference.reviewed.iter().map(|(_, text)| text.as_str());
    for text in [difference.brings.as_str()].into_iter().chain(files) {
        for line in text.lines() {
            let style = match line.chars().next() {
                Some('+') => GOOD,
                Some('-') => BAD,
                Some('@') => NOTE,
                _ => PLAIN,
            };
            writeln!(stdout, "{}", paint(style, out::one_line(line)))?;
        }
    }
    for line in difference.others.iter().take(MOST_LINES) {
        writeln!(stdout, "{}", out::one_line(line))?;
    }
    match difference.others.len().saturating_sub(MOST_LINES) {
        0 => {}
        1 => writeln!(stdout, "… and another file")?,
        more => writeln!(stdout, "… and {more} more files")?,
    }
    drop(stdout);
    if difference.goes_back {
        out::warn(format!("version {new} is lower than {old}, which is installed"))?;
    }
    Ok(())
}
