//! `journal verify` and `journal seal`: whether the record is as it was written.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use hookwright_journal::{Reader, VerifyReport, check_seal, sign_head, verify};
use serde_json::json;

use crate::exit;
use crate::output::{self, BAD, DIM, GOOD, paint};

/// The most of a key or seal that is read.
const MAX_KEY_BYTES: u64 = 64 << 10;

pub(super) fn run(reader: &Reader, seal: Option<&Path>, key: Option<&Path>, as_json: bool) -> anyhow::Result<u8> {
    let report = verify(reader.dir())?;
    let seal = seal.map(|file| Ok::<_, anyhow::Error>((read(file)?, key.map(read).transpose()?))).transpose()?;
    let sealed = seal.map(|(seal, key)| check_seal(reader.dir(), &seal, key.as_deref()));
    let is_ok = report.findings.is_empty() && !matches!(sealed, Some(Err(_)));
    let code = if is_ok { exit::OK } else { exit::ERROR };
    if as_json {
        let mut value = serde_json::to_value(&report)?;
        value["ok"] = is_ok.into();
        match &sealed {
            Some(Ok((line, signer))) => value["seal"] = json!({"ok": true, "line": line, "signer": signer}),
            Some(Err(error)) => value["seal"] = json!({"ok": false, "problem": error.to_string()}),
            None => {}
        }
        output::print_json(&value)?;
        return Ok(code);
    }
    let mut stdout = output::stdout();
    for finding in &report.findings {
        writeln!(stdout, "{} {finding}", paint(BAD, "wrong:"))?;
    }
    match &sealed {
        Some(Ok((line, Some(signer)))) => writeln!(stdout, "the seal of line {line} holds, signed by {signer}")?,
        Some(Ok((line, None))) => writeln!(stdout, "the seal of line {line} holds; it is not signed")?,
        Some(Err(error)) => writeln!(stdout, "{} {error}", paint(BAD, "wrong:"))?,
        None => {}
    }
    print_summary(&report, is_ok)?;
    Ok(code)
}

fn print_summary(report: &VerifyReport, is_ok: bool) -> anyhow::Result<()> {
    let mut stdout = output::stdout();
    let VerifyReport { lines, segments, .. } = report;
    let files = if *segments == 1 { "segment" } else { "segments" };
    let about = format!("{lines} lines in {segments} {files}");
    match is_ok {
        true => writeln!(stdout, "{} {about}", paint(GOOD, "the journal is as it was written:"))?,
        false => writeln!(stdout, "{} {about}", paint(BAD, "the journal is not as it was written:"))?,
    }
    if let Some(first) = report.first_line {
        writeln!(
            stdout,
            "{}",
            paint(DIM, format!("it starts with line {first}; older ones were removed by age or size"))
        )?;
    }
    if report.forgotten > 0 {
        writeln!(stdout, "{}", paint(DIM, format!("the content of {} lines was forgotten", report.forgotten)))?;
    }
    Ok(())
}

pub(super) fn seal(reader: &Reader, key: Option<&Path>) -> anyhow::Result<u8> {
    let key = key.map(read).transpose()?;
    let seal = sign_head(reader.dir(), key.as_deref())?;
    let mut stdout = output::stdout();
    write!(stdout, "{seal}")?;
    stdout.flush()?;
    Ok(exit::OK)
}

fn read(file: &Path) -> anyhow::Result<String> {
    hookwright_disk::read_text(file, MAX_KEY_BYTES).with_context(|| format!("{} can't be read", file.display()))
}
