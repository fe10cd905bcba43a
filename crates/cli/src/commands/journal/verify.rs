//! `journal verify` and `journal seal`: whether the record is as it was written.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use hookwright_journal::{Reader, SEAL_NAMESPACE, SealError, VerifyReport, check_seal, sign_head, verify};
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
    let text = key.map(read).transpose()?;
    let seal = match (sign_head(reader.dir(), text.as_deref()), key) {
        (Err(SealError::Passphrase { statement }), Some(key)) => {
            let signature = sign_with_ssh_keygen(key, &statement)?;
            format!("{statement}{signature}")
        }
        (seal, _) => seal?,
    };
    let mut stdout = output::stdout();
    write!(stdout, "{seal}")?;
    stdout.flush()?;
    Ok(exit::OK)
}

/// Has ssh-keygen sign a text, which asks for the passphrase of the key or takes it from its agent.
fn sign_with_ssh_keygen(key: &Path, statement: &str) -> anyhow::Result<String> {
    let mut program = Command::new("ssh-keygen");
    program.args(["-q", "-Y", "sign", "-n", SEAL_NAMESPACE, "-f"]).arg(key);
    let started = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = started.context("the key is protected by a passphrase, and ssh-keygen can't be run")?;
    // The text is shorter than a pipe holds.
    child.stdin.take().context("ssh-keygen has no input")?.write_all(statement.as_bytes())?;
    #[expect(clippy::disallowed_methods, reason = "the user types a passphrase, and can interrupt it")]
    let done = child.wait_with_output()?;
    ensure!(done.status.success(), "ssh-keygen did not sign: nothing is sealed");
    Ok(String::from_utf8(done.stdout)?)
}

fn read(file: &Path) -> anyhow::Result<String> {
    hookwright_disk::read_text(file, MAX_KEY_BYTES).with_context(|| format!("{} can't be read", file.display()))
}
