//! Prints what an extension brings and what an update changes. Control characters in the extension's texts
//! are replaced by spaces.

use std::io::{self, Write};

use hookwright_extensions::{ExtensionDiff, ExtensionSummary, ReviewedContent};

use crate::output::{self, BAD, BOLD, DIM, GOOD, NOTE, PLAIN, WARN, paint};
use crate::presentation::administration::{difference_lines, downgrade_message};

/// The limit of shown lines of a script.
const MAX_SCRIPT_LINES: usize = 60;

/// Prints everything that an extension brings, scripts included.
pub(super) fn print_contents(brings: &ExtensionSummary) -> io::Result<()> {
    let mut stdout = output::stdout();
    writeln!(stdout, "{} {}", paint(BOLD, &brings.name), output::one_line(&brings.version))?;
    if let Some(about) = &brings.description {
        writeln!(stdout, "{}", output::one_line(about))?;
    }
    if brings.sections.is_empty() {
        writeln!(stdout, "it contains nothing that Hookwright knows")?;
    }
    for section in &brings.sections {
        writeln!(stdout, "\n{}", paint(NOTE, section.title))?;
        for item in &section.items {
            writeln!(stdout, "  {}", output::one_line(&item.text))?;
            for line in &item.details {
                writeln!(stdout, "    {}", paint(DIM, output::one_line(line)))?;
            }
        }
    }
    for (file, content) in &brings.reviewed_files {
        writeln!(stdout, "\n{}", paint(NOTE, output::one_line(file)))?;
        match content {
            ReviewedContent::Text(text) => print_script(&mut stdout, text)?,
            ReviewedContent::Opaque(what) => writeln!(stdout, "  ({what})")?,
        }
    }
    writeln!(stdout)
}

fn print_script(stdout: &mut impl Write, text: &str) -> io::Result<()> {
    for line in text.lines().take(MAX_SCRIPT_LINES) {
        writeln!(stdout, "  {}", output::one_line(line))?;
    }
    match text.lines().count().saturating_sub(MAX_SCRIPT_LINES) {
        0 => Ok(()),
        1 => writeln!(stdout, "  {}", paint(WARN, "… and another line")),
        more => writeln!(stdout, "  {}", paint(WARN, format!("… and {more} more lines"))),
    }
}

/// Prints what an update changes.
pub(super) fn print_difference(name: &str, difference: &ExtensionDiff) -> io::Result<()> {
    let mut stdout = output::stdout();
    for (at, line) in difference_lines(name, difference).iter().enumerate() {
        let style = match line.chars().next() {
            _ if at == 0 => BOLD,
            Some('+') => GOOD,
            Some('-') => BAD,
            Some('@') => NOTE,
            _ => PLAIN,
        };
        writeln!(stdout, "{}", paint(style, line))?;
    }
    drop(stdout);
    downgrade_message(difference).map_or(Ok(()), |warning| warning.print())
}
