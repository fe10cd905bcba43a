//! Questions to the user: yes or no, a value, a hidden value. Where stdin is no terminal, only a piped answer counts.

use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::mpsc;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers, read};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use crate::output::{self, BOLD, paint};

/// Whether stdin is a terminal.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal()
}

/// How long a piped answer is waited for.
const PIPED_ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Asks a yes-or-no question; any answer but yes is a no.
pub(crate) fn confirm(question: &str) -> io::Result<bool> {
    let answer = ask(&format!("{question} [y/N] "))?;
    Ok(answer.is_some_and(|answer| matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")))
}

/// Asks a question on the terminal or of a script; `None` if there is no answer.
pub(crate) fn ask(question: &str) -> io::Result<Option<String>> {
    if is_interactive() { ask_line(question) } else { ask_piped_line(question) }
}

/// Reads a line from the terminal; `None` at the end of input.
pub(crate) fn ask_line(question: &str) -> io::Result<Option<String>> {
    print_question(question)?;
    let mut text = String::new();
    let count = io::stdin().lock().read_line(&mut text)?;
    Ok((count > 0).then(|| text.trim_end_matches(['\n', '\r']).to_owned()))
}

/// Reads a line that a script pipes in; `None` if it sends none, or keeps the pipe open without sending one.
fn ask_piped_line(question: &str) -> io::Result<Option<String>> {
    print_question(question)?;
    let (sender, answer) = mpsc::channel();
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || sender.send(read_piped_line()))?;
    let answer = answer.recv_timeout(PIPED_ANSWER_TIMEOUT).unwrap_or(Ok(None));
    writeln!(output::stderr())?;
    answer
}

/// Reads a line without echo; `None` if the user cancels with Ctrl+C, Ctrl+D or Esc.
pub(crate) fn ask_hidden_line(question: &str) -> io::Result<Option<String>> {
    print_question(question)?;
    enable_raw_mode()?;
    let typed = read_line_without_echo();
    disable_raw_mode()?;
    writeln!(output::stderr())?;
    typed
}

fn read_line_without_echo() -> io::Result<Option<String>> {
    let mut text = String::new();
    loop {
        let Event::Key(key) = read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        match key.code {
            KeyCode::Enter => return Ok(Some(text)),
            KeyCode::Esc => return Ok(None),
            KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => return Ok(None),
            KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => text.clear(),
            KeyCode::Char(char) => text.push(char),
            KeyCode::Backspace => drop(text.pop()),
            _ => {}
        }
    }
}

fn print_question(question: &str) -> io::Result<()> {
    let mut stderr = output::stderr();
    write!(stderr, "{}", paint(BOLD, question))?;
    stderr.flush()
}

/// Reads the first line of stdin; `None` if it is empty.
pub(crate) fn read_piped_line() -> io::Result<Option<String>> {
    let mut text = String::new();
    io::Read::take(io::stdin().lock(), MAX_PIPED_VALUE_BYTES).read_line(&mut text)?;
    Ok(Some(text.trim_end_matches(['\n', '\r']).to_owned()).filter(|text| !text.is_empty()))
}

/// The size limit of a piped value.
const MAX_PIPED_VALUE_BYTES: u64 = 64 << 10;
