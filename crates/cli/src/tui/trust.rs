//! The first question in a new folder: whether its own settings, hooks and commands count.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use hookwright_settings::trust::{FolderRule, set_folder_trust};
use hookwright_settings::{FolderTrust, Loaded, Notice};

use super::input::Input;
use super::screen::{Frame, Screen};
use super::terminal;
use super::text::{BOLD, DIM, Line, NOTE, PLAIN, WARN};
use crate::signals::Signals;

/// What came of it.
pub(crate) enum Asked {
    /// Nobody had to be asked.
    NotNeeded,
    /// The user's word is recorded.
    Answered,
    /// The user left.
    Left,
}

const RULES: [FolderRule; 3] = [FolderRule::TrustFolder, FolderRule::TrustParent, FolderRule::DoNotTrust];

/// Asks about the folder, if nobody has said anything about it yet.
pub(crate) async fn ask(loaded: &Loaded, input: Option<&mut Input>) -> anyhow::Result<Asked> {
    if loaded.project.trust != FolderTrust::Unknown || loaded.project.root == loaded.paths.home {
        return Ok(Asked::NotNeeded);
    }
    let chosen = match input {
        Some(input) => ask_with_keys(loaded, input).await?,
        None => ask_in_lines(loaded)?,
    };
    let Some(rule) = chosen else { return Ok(Asked::Left) };
    if let Err(error) = set_folder_trust(&loaded.paths, &loaded.project.root, rule) {
        crate::out::warn(format!("your answer could not be kept: {error}"))?;
    }
    Ok(Asked::Answered)
}

fn question(loaded: &Loaded) -> Vec<Line> {
    let root = &loaded.project.root;
    let mut lines = vec![
        Line::of(BOLD, "Do you trust this folder?"),
        Line::of(NOTE, format!("  {}", root.display())).hanging(2),
        Line::of(DIM, "  Only then its settings, hooks, commands and .env are loaded. Hooks run programs.").hanging(2),
    ];
    for notice in &loaded.notices {
        if let Notice::ProjectNotTrusted { ignored, .. } = notice {
            let names: Vec<String> =
                ignored.iter().map(|path| path.strip_prefix(root).unwrap_or(path).display().to_string()).collect();
            lines.push(Line::of(WARN, format!("  It has {}.", names.join(", "))).hanging(2));
        }
    }
    lines
}

fn answers(loaded: &Loaded) -> [String; 3] {
    let root = &loaded.project.root;
    let parent = root.parent().unwrap_or(root);
    ["Trust this folder".to_owned(), format!("Trust its parent ({})", parent.display()), "Don't trust it".to_owned()]
}

async fn ask_with_keys(loaded: &Loaded, input: &mut Input) -> anyhow::Result<Option<FolderRule>> {
    let mut signals = Signals::listen(terminal::abandon);
    let mut screen = Screen::new(io::stdout(), loaded.world.var("NO_COLOR").is_none_or(str::is_empty));
    let mut selected = 0;
    let mut typed_at = None;
    let chosen = loop {
        let (columns, _) = terminal::size();
        let mut lines: Vec<Line> = question(loaded).iter().flat_map(|line| line.wrap(columns)).collect();
        for (at, text) in answers(loaded).iter().enumerate() {
            let (mark, style) = if at == selected { ("› ", NOTE.bold()) } else { ("  ", PLAIN) };
            lines.push(Line::of(style, format!("{mark}{}. {text}", at + 1)).clip(columns));
        }
        screen.draw(&[], &Frame { lines, cursor: None })?;
        let event = tokio::select! {
            event = input.events.recv() => event,
            _ = signals.next() => None,
        };
        let key = match event {
            Some(Event::Key(key)) => key,
            Some(_) => continue,
            None => break None,
        };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        match key.code {
            KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => break None,
            KeyCode::Esc => break Some(FolderRule::DoNotTrust),
            KeyCode::Up => selected = (selected + 2) % 3,
            KeyCode::Down | KeyCode::Tab => selected = (selected + 1) % 3,
            code => {
                let amid_words = typed_at.is_some_and(|at: Instant| at.elapsed() < QUIET);
                if let Some(rule) = answer(code, selected)
                    && !amid_words
                    && is_alone(input).await
                {
                    break Some(rule);
                }
                typed_at = Some(Instant::now());
            }
        }
    };
    screen.finish()?;
    Ok(chosen)
}

/// How long nobody may type before a key counts as an answer. Whoever writes a prompt ahead has not read the question, and
/// a digit in it must not trust a folder.
const QUIET: Duration = Duration::from_millis(200);

/// What a key answers.
fn answer(code: KeyCode, selected: usize) -> Option<FolderRule> {
    match code {
        KeyCode::Enter => Some(RULES[selected]),
        KeyCode::Char('n') => Some(FolderRule::DoNotTrust),
        KeyCode::Char(digit @ '1'..='3') => Some(RULES[digit as usize - '1' as usize]),
        _ => None,
    }
}

/// Whether no other key follows at once.
async fn is_alone(input: &mut Input) -> bool {
    let follows = async {
        loop {
            match input.events.recv().await {
                Some(Event::Key(key)) if key.kind == KeyEventKind::Release => {}
                Some(Event::Key(_) | Event::Paste(_)) => return,
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    };
    tokio::time::timeout(QUIET, follows).await.is_err()
}

fn ask_in_lines(loaded: &Loaded) -> anyhow::Result<Option<FolderRule>> {
    let mut stdout = io::stdout();
    for line in question(loaded) {
        writeln!(stdout, "{}", line.encode(false))?;
    }
    for (at, text) in answers(loaded).iter().enumerate() {
        writeln!(stdout, "{}. {text}", at + 1)?;
    }
    loop {
        write!(stdout, "Answer 1, 2 or 3: ")?;
        stdout.flush()?;
        let mut line = String::new();
        if io::stdin().read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let number = line.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        if let Some(rule) = number.and_then(|at| RULES.get(at)) {
            return Ok(Some(*rule));
        }
    }
}
