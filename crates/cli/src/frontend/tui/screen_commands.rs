//! Commands that the screen handles itself: help, statistics, the trace, the clipboard.
//!
//! All other commands are handled by the session.

use hookwright_agent::session::{FrontEndAction, HelpGroup, SLASH_COMMANDS, slash_command_groups};
use unicode_width::UnicodeWidthStr;

use super::block::ScrollbackBlock;
use super::driver::ScreenDriver;
use super::hooks_panel::HooksPanel;
use super::overlay::OverlayLayer;
use super::pager::Pager;
use crate::exit;
use crate::presentation::card_store;
use crate::presentation::humanize::format_line_count;
use crate::presentation::styled_text::{DIM, PLAIN, StyledLine, WARN};

/// The width of the names in the help; a longer one pushes its description to the right.
const MAX_NAME_COLUMNS: usize = 28;

const KEY_HELP: &[(&str, &str)] = &[
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
    ("Ctrl+W", "in a permission dialog: what hooks said about the call, and why"),
    ("Ctrl+L", "draw the screen again"),
    ("Ctrl+C", "puts the draft aside (undo brings it back); twice: leave; Ctrl+D leaves too"),
];

impl ScreenDriver<'_> {
    /// Shows a view or runs a command that only the front end has.
    pub(crate) fn show_view(&mut self, view: FrontEndAction) -> anyhow::Result<()> {
        match view {
            FrontEndAction::Help => self.show_help(),
            FrontEndAction::HooksPanel => {
                self.app.overlays.open(OverlayLayer::HooksPanel, HooksPanel::new(self.session.clone()));
            }
            FrontEndAction::HooksTrace => self.show_trace(),
            FrontEndAction::Copy => self.copy_answer()?,
            FrontEndAction::Expand(back) => self.app.open_card(back),
            FrontEndAction::ShellMode => self.app.shell_mode = true,
            FrontEndAction::Quit => self.exit_code = Some(exit::OK),
        }
        Ok(())
    }

    fn show_help(&mut self) {
        let keys = KEY_HELP.iter().map(|(key, about)| ((*key).to_owned(), (*about).to_owned())).collect();
        let mut groups = self.session.view().help();
        groups.push(HelpGroup { title: "Keys", rows: keys });
        let text = |group: &HelpGroup| {
            let width = group.rows.iter().map(|(name, _)| name.width()).max().unwrap_or(0).min(MAX_NAME_COLUMNS);
            let row = |(name, about): &(String, String)| {
                format!("  {name}{}  {about}", " ".repeat(width.saturating_sub(name.width())))
            };
            let rows: Vec<String> = group.rows.iter().map(row).collect();
            format!("{}\n{}\n", group.title, rows.join("\n"))
        };
        let text = groups.iter().map(text).collect::<Vec<_>>().join("\n");
        self.app.open_text("help", text);
    }

    fn show_trace(&mut self) {
        let timeline = self.app.log.timeline().iter().flat_map(|text| text.lines());
        let lines: Vec<StyledLine> =
            timeline.map(|line| StyledLine::styled(PLAIN, line).with_hanging_indent(4)).collect();
        if lines.is_empty() {
            return self.app.push_text(DIM, "nothing has happened yet");
        }
        self.app.push_block(ScrollbackBlock::Lines(lines));
    }

    fn copy_answer(&mut self) -> anyhow::Result<()> {
        if self.app.last_answer.is_empty() {
            self.app.push_text(WARN, "there is no answer to copy yet");
            return Ok(());
        }
        self.copy_text(&self.app.last_answer.clone())
    }

    /// Copies a text through the terminal (OSC 52), which works over ssh too, and says so.
    ///
    /// The text is sanitized, so that pasting it into another terminal is safe.
    pub(crate) fn copy_text(&mut self, text: &str) -> anyhow::Result<()> {
        use base64::Engine as _;
        /// The most that is copied, since terminals limit the size.
        const MAX_CLIPBOARD_BYTES: usize = 1 << 20;
        let text = crate::output::sanitize(text);
        let (kept, cut) = card_store::tail(&text, MAX_CLIPBOARD_BYTES);
        let encoded = base64::engine::general_purpose::STANDARD.encode(kept);
        self.screen.write(&format!("\x1b]52;c;{encoded}\x07"))?;
        let what = if cut { "the last megabyte of it".to_owned() } else { format_line_count(kept.lines().count()) };
        let message = format!("copied {what}, if your terminal lets programs copy");
        match self.app.overlays.get_mut::<Pager>() {
            Some(pager) => pager.set_notice(message),
            None => self.app.push_text(DIM, message),
        }
        Ok(())
    }

    /// Refreshes the names for completion.
    pub(crate) fn refresh_names(&mut self) {
        let view = self.session.view();
        let own = SLASH_COMMANDS.iter().map(|row| (row.name, row.about));
        let groups =
            slash_command_groups().into_iter().filter(|(word, _)| !SLASH_COMMANDS.iter().any(|row| row.name == *word));
        let mut names: Vec<(String, String)> =
            own.chain(groups).map(|(name, about)| (name.to_owned(), about.to_owned())).collect();
        names.extend(view.custom_help());
        let agents = view.services.subagents.current();
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
