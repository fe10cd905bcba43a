//! What the screen does by itself when a command asks for it: help, statistics, the trace, the clipboard. All other
//! commands are the session's.

use hookwright_agent::session::{SLASH_COMMANDS, View, slash_groups};

use super::block::Block;
use super::driver::Driver;
use super::pager::Pager;
use super::panel::Panel;
use super::replies::rows;
use super::text::{BOLD, DIM, Line, PLAIN, WARN};
use crate::exit;

const KEYS: &[(&str, &str)] = &[
    ("Enter", "send; Alt+Enter, Ctrl+J or a trailing \\ begin a new line"),
    ("@path", "mention a file; an image is sent as one"),
    ("Ctrl+V", "attach the image in the clipboard; pasting its path does too"),
    ("!command", "run a shell command; ! alone: every line is one, until Esc"),
    ("Ctrl+F, Tab", "give the keyboard to a command that runs; Ctrl+F comes back, and Esc where it takes lines"),
    ("Esc", "cancel the turn; twice at an empty prompt: go back to an earlier one"),
    ("Shift+Tab", "next approval mode"),
    ("Ctrl+R", "search earlier prompts; ↑ ↓ step through them"),
    ("Ctrl+X", "write in your editor"),
    ("Ctrl+_", "undo, as does Alt+Z; Alt+Shift+Z redo; Ctrl+W, Ctrl+U, Ctrl+K delete; Ctrl+Y puts back"),
    ("Ctrl+Z", "suspend; fg comes back"),
    ("Ctrl+O", "open the last output, thought or diff whole; ← → the others; / searches, y copies, q leaves"),
    ("Ctrl+L", "draw the screen again"),
    ("Ctrl+C", "puts the draft aside (undo brings it back); twice: leave; Ctrl+D leaves too"),
];

/// What to say where there is no such card.
pub(crate) fn nothing_to_open(back: usize) -> String {
    match back {
        1 => "there is nothing to open yet: outputs, thoughts and diffs can be".to_owned(),
        back => format!("there is no {back}th card from the end to open"),
    }
}

/// A number of lines, in words.
pub(crate) fn lines(count: usize) -> String {
    format!("{count} line{}", if count == 1 { "" } else { "s" })
}

impl Driver<'_> {
    /// Shows what only the screen has.
    pub(crate) fn view(&mut self, view: View) -> anyhow::Result<()> {
        match view {
            View::Help => self.help(),
            View::HooksPanel => self.panel = Some(Panel::new(self.session.view().hooks())),
            View::HooksTrace => self.trace(),
            View::Stats => {
                let lines = crate::stats::lines(&self.app.stats);
                let draw = |(name, text): (&str, String)| Line::of(BOLD, format!("{name}  ")).with(PLAIN, text);
                self.app.say(Block::Lines(lines.into_iter().map(draw).collect()));
            }
            View::Copy => self.copy()?,
            View::Expand(back) => {
                self.pager = Pager::open_card(&self.app, back);
                if self.pager.is_none() {
                    self.app.tell(WARN, nothing_to_open(back));
                }
            }
            View::ShellMode => self.app.shell_mode = true,
            View::Quit => self.leave = Some(exit::OK),
        }
        Ok(())
    }

    fn help(&mut self) {
        let help = self.session.view().help();
        self.app.say(Block::line(Line::of(BOLD, "Commands")));
        self.app.say(rows(help.iter().map(|(name, about)| (name.as_str(), about.as_str()))));
        self.app.say(Block::Gap);
        self.app.say(Block::line(Line::of(BOLD, "Keys")));
        self.app.say(rows(KEYS.iter().copied()));
    }

    fn trace(&mut self) {
        let timeline = self.app.log.timeline().iter().flat_map(|text| text.lines());
        let lines: Vec<Line> = timeline.map(|line| Line::of(PLAIN, line).hanging(4)).collect();
        if lines.is_empty() {
            return self.app.tell(DIM, "nothing has happened yet");
        }
        self.app.say(Block::Lines(lines));
    }

    fn copy(&mut self) -> anyhow::Result<()> {
        if self.app.answer.is_empty() {
            self.app.tell(WARN, "there is no answer to copy yet");
            return Ok(());
        }
        let answer = self.app.answer.clone();
        let said = self.copy_text(&answer)?;
        self.app.tell(DIM, said);
        Ok(())
    }

    /// Copies a text through the terminal (OSC 52), which works over ssh too; what to say of it. Whoever puts it into another
    /// terminal is steered by nothing in it.
    pub(crate) fn copy_text(&mut self, text: &str) -> anyhow::Result<String> {
        use base64::Engine as _;
        /// Terminals take no more.
        const MOST: usize = 1 << 20;
        let text = crate::out::safe(text);
        let (kept, cut) = super::cards::tail(&text, MOST);
        let encoded = base64::engine::general_purpose::STANDARD.encode(kept);
        self.screen.write(&format!("\x1b]52;c;{encoded}\x07"))?;
        let what = if cut { "the last megabyte of it".to_owned() } else { lines(kept.lines().count()) };
        Ok(format!("copied {what}, if your terminal lets programs copy"))
    }

    /// Everything completion knows.
    pub(crate) fn refresh_names(&mut self) {
        let view = self.session.view();
        let own = SLASH_COMMANDS.iter().map(|row| (row.name, row.about));
        let groups = slash_groups().into_iter().filter(|(word, _)| !SLASH_COMMANDS.iter().any(|row| row.name == *word));
        let mut names: Vec<(String, String)> =
            own.chain(groups).map(|(name, about)| (name.to_owned(), about.to_owned())).collect();
        names.extend(view.custom_help());
        let agents = view.services.agents.now();
        self.app.names.agents =
            agents.enabled().map(|agent| (agent.name.clone(), format!("{} (agent)", agent.description))).collect();
        let registry = view.services.hooks.registry();
        let mut hooks: Vec<&str> = registry.hooks().iter().map(|hook| hook.id()).collect();
        hooks.sort_unstable();
        hooks.dedup();
        for hook in hooks {
            for verb in ["enable", "disable", "trust"] {
                names.push((format!("hooks {verb} {hook}"), String::new()));
            }
        }
        self.app.names.commands = names;
    }
}
