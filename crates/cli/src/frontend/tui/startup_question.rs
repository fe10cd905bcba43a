//! A question before the session begins, answered with keys or, without a screen, with a line.

use std::io::{self, Write};
use std::time::Instant;

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use hookwright_settings::ProcessEnv;

use super::TerminalHandle;
use super::dialog_input::KEY_QUIET_PERIOD;
use super::key_input::KeyInput;
use super::menu::{Menu, MenuKeys};
use super::screen::{ScreenFrame, TerminalScreen};
use super::terminal;
use crate::presentation::styled_text::StyledLine;

/// A question with its answers.
pub(crate) struct StartupQuestion {
    pub(crate) lines: Vec<StyledLine>,
    pub(crate) answers: Vec<String>,
    /// The answer that Esc and `n` choose.
    pub(crate) cancel_answer: usize,
}

impl StartupQuestion {
    /// Asks, and returns the index of the answer, or none if the user left.
    pub(crate) async fn ask(
        &self,
        world: &ProcessEnv,
        hands: Option<&mut TerminalHandle>,
    ) -> anyhow::Result<Option<usize>> {
        match hands {
            Some(hands) => self.ask_with_keys(world, hands).await,
            None => self.ask_in_lines(),
        }
    }

    async fn ask_with_keys(&self, world: &ProcessEnv, hands: &mut TerminalHandle) -> anyhow::Result<Option<usize>> {
        let mut screen = TerminalScreen::open(world);
        // A user who only presses Enter gets the answer that changes nothing.
        let mut answers = Menu::new(MenuKeys::Digits, self.answers.clone()).with_selected(self.cancel_answer);
        let mut typed_at = None;
        let chosen = loop {
            screen.draw(
                Vec::new(),
                &ScreenFrame { lines: self.draw(&answers), cursor: None, size: Some(terminal::size()) },
            )?;
            let Some(key) = hands.next_key(&mut screen).await? else { continue };
            match key.code {
                KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => break None,
                KeyCode::Esc => break Some(self.cancel_answer),
                KeyCode::Up | KeyCode::Down | KeyCode::Tab => {
                    answers.handle_key(key);
                }
                KeyCode::Char(_) if key.modifiers.contains(KeyModifiers::ALT) => typed_at = Some(Instant::now()),
                code => {
                    let amid_words = typed_at.is_some_and(|at: Instant| at.elapsed() < KEY_QUIET_PERIOD);
                    if let Some(answer) = self.answer_for_key(code, &answers)
                        && !amid_words
                        && is_lone_key(&mut hands.input).await
                    {
                        break Some(answer);
                    }
                    typed_at = Some(Instant::now());
                }
            }
        };
        screen.finish()?;
        Ok(chosen)
    }

    fn draw(&self, answers: &Menu<String>) -> Vec<StyledLine> {
        let (columns, _) = terminal::size();
        let mut lines: Vec<StyledLine> = self.lines.iter().flat_map(|line| line.wrap(columns)).collect();
        lines.extend(answers.rows(columns, usize::MAX));
        lines
    }

    /// Returns the answer that a key chooses.
    ///
    /// The selection stays where it is: a digit of a text that was typed ahead must not move it.
    fn answer_for_key(&self, code: KeyCode, answers: &Menu<String>) -> Option<usize> {
        match code {
            KeyCode::Enter => Some(answers.selection().0),
            KeyCode::Char('n') => Some(self.cancel_answer),
            KeyCode::Char(character) => answers.numbered_item(character),
            _ => None,
        }
    }

    fn ask_in_lines(&self) -> anyhow::Result<Option<usize>> {
        let mut stdout = crate::output::stdout();
        for line in &self.lines {
            writeln!(stdout, "{}", line.encode(false))?;
        }
        for (at, text) in self.answers.iter().enumerate() {
            writeln!(stdout, "{}. {text}", at + 1)?;
        }
        let numbers: Vec<String> = (1..=self.answers.len()).map(|number| number.to_string()).collect();
        let (last, others) = numbers.split_last().map_or(("", &[][..]), |(last, others)| (last.as_str(), others));
        loop {
            write!(stdout, "Answer {} or {last}: ", others.join(", "))?;
            stdout.flush()?;
            let mut line = String::new();
            if io::stdin().read_line(&mut line)? == 0 {
                return Ok(None);
            }
            let number = line.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            if let Some(at) = number.filter(|at| *at < self.answers.len()) {
                return Ok(Some(at));
            }
        }
    }
}

/// Returns whether no other key follows at once.
///
/// A prompt that is typed ahead was written before the question could be read, and a digit in it must not trust a
/// folder.
async fn is_lone_key(input: &mut KeyInput) -> bool {
    let follows = async {
        loop {
            match input.next().await {
                Some(Event::Key(key)) if key.kind == KeyEventKind::Release => {}
                Some(Event::Key(_) | Event::Paste(_)) => return,
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    };
    tokio::time::timeout(KEY_QUIET_PERIOD, follows).await.is_err()
}
