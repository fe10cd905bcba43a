//! The event loop of the screen: waits for keys, agent events, signals and timers, passes them to [`App`], draws it,
//! and carries out its effects.

mod editor;
mod file_search;
mod greeting;
mod shutdown;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyEventKind};
use hookwright_agent::session::{InputLine, PreparedSession, Reply, SessionHandle, SessionView};
use hookwright_agent::{AgentEvent, EndReason, EventStream, SessionActivity, SessionEvent};
use hookwright_journal::Story;
use hookwright_settings::LoadedConfig;
use hookwright_settings::ProcessEnv;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use super::app::{App, AppEffect, StatusLine};
use super::appearance::ScreenAppearance;
use super::block::ScrollbackBlock;
use super::console::ScreenConsoles;
use super::history::PromptHistory;
use super::hooks_panel::HooksPanel;
use super::images::ImageLookup;
use super::job_signals::{JobSignal, JobSignals};
use super::key_input::KeyInput;
use super::keys::is_suspend;
use super::notifier::UserNotifier;
use super::overlay::OverlayLayer;
use super::restore_page::RestorePage;
use super::screen::TerminalScreen;
use super::session_picker::session_picker;
use super::terminal::{self, TerminalGuard};
use super::theme::ReplyFilter;
use super::{TerminalHandle, view};
use crate::args::SessionArgs;
use crate::commands::hooks::why;
use crate::exit;
use crate::presentation::styled_text::WARN;
use crate::signals::Signals;
use file_search::FileSearchResult;

const FRAME_INTERVAL: Duration = Duration::from_millis(16);
const TICK_INTERVAL: Duration = Duration::from_millis(100);

/// The screen of a session.
pub(crate) struct ScreenDriver<'a> {
    args: &'a SessionArgs,
    pub(crate) world: &'a ProcessEnv,
    pub(crate) app: App,
    pub(crate) session: SessionHandle,
    pub(crate) screen: TerminalScreen<terminal::ScreenWriter>,
    terminal: TerminalGuard,
    input: KeyInput,
    events: EventStream,
    session_task: JoinHandle<Vec<String>>,
    signals: Signals,
    job_signals: JobSignals,
    file_searches: (UnboundedSender<FileSearchResult>, UnboundedReceiver<FileSearchResult>),
    files_listed_at: Option<Instant>,
    pub(crate) images: (UnboundedSender<ImageLookup>, UnboundedReceiver<ImageLookup>),
    /// Whether a search for matching files is running.
    is_searching_files: bool,
    /// When the program last resumed after it was suspended.
    suspended_at: Option<Instant>,
    pub(crate) notifier: UserNotifier,
    pub(crate) reply_filter: ReplyFilter,
    /// Whether the next frame clears the screen.
    clears_next_frame: bool,
    /// The last applied settings for colours and keys.
    pub(crate) appearance: ScreenAppearance,
    pub(crate) exit_code: Option<u8>,
    started: Instant,
    /// The reason that SessionEnd hooks get.
    end_reason: EndReason,
}

/// Runs a session until the user leaves.
pub(crate) async fn run_session(
    args: &SessionArgs,
    world: &ProcessEnv,
    opened: PreparedSession,
    hands: TerminalHandle,
    consoles: Arc<ScreenConsoles>,
) -> anyhow::Result<u8> {
    let mut driver = ScreenDriver::new(args, world, opened, hands, consoles);
    let result = driver.run().await;
    driver.signals.defer(true);
    driver.end_session().await;
    // A signal may have arrived while the session was ending.
    result.map(|code| driver.signals.try_next().unwrap_or(code))
}

impl<'a> ScreenDriver<'a> {
    fn new(
        args: &'a SessionArgs,
        world: &'a ProcessEnv,
        opened: PreparedSession,
        hands: TerminalHandle,
        consoles: Arc<ScreenConsoles>,
    ) -> Self {
        let TerminalHandle { guard, input, signals, job_signals: stops } = hands;
        let view = opened.view();
        let mut app =
            App::new(PromptHistory::open(view.loaded.paths.user_dir.join("hookwright_history")), initial_status(&view));
        consoles.set_colour(view.loaded.settings.tools.shell.colour);
        app.consoles = consoles;
        // The session announces this too, but only after the first frame: until then the screen would look ready.
        app.set_busy(SessionActivity::Starting.as_str(), Instant::now());
        let (session, events, ended) = opened.start(crate::frontend::session_options::observers(args));
        signals.set_exit_action({
            let session = session.clone();
            move || {
                session.kill_all_processes();
                hookwright_process::write_final_output(&terminal::restore_modes(), "");
            }
        });
        let mut driver = ScreenDriver {
            args,
            world,
            app,
            session,
            screen: TerminalScreen::open(world),
            terminal: guard,
            input,
            events,
            session_task: ended,
            signals,
            job_signals: stops,
            file_searches: unbounded_channel(),
            files_listed_at: None,
            images: unbounded_channel(),
            is_searching_files: false,
            suspended_at: None,
            notifier: UserNotifier::default(),
            reply_filter: ReplyFilter::default(),
            clears_next_frame: false,
            appearance: ScreenAppearance::from_view(&view),
            exit_code: None,
            started: Instant::now(),
            end_reason: EndReason::Exit,
        };
        driver.apply_appearance(None);
        driver.show_greeting();
        driver
    }

    async fn run(&mut self) -> anyhow::Result<u8> {
        self.draw()?;
        let mut drawn = Instant::now();
        let mut dirty = false;
        while self.exit_code.is_none() {
            if dirty && drawn.elapsed() >= FRAME_INTERVAL {
                self.draw()?;
                drawn = Instant::now();
                dirty = false;
            }
            let effects = self.app.release_held_key(Instant::now());
            self.run_effects(effects)?;
            let wait = if dirty { FRAME_INTERVAL.saturating_sub(drawn.elapsed()) } else { TICK_INTERVAL };
            tokio::select! {
                event = self.input.next() => match event {
                    Some(event) => {
                        self.handle_input(event)?;
                        dirty = true;
                    }
                    // The terminal is gone.
                    None => return Ok(exit::HUNG_UP),
                },
                event = self.events.recv() => {
                    // A session that ends unasked has panicked, and the panic has been reported.
                    let Some(event) = event else { return Ok(exit::ERROR) };
                    self.handle_event(event);
                    dirty = true;
                }
                Some(looked) = self.file_searches.1.recv() => {
                    self.apply_file_search(looked);
                    dirty = true;
                }
                Some(got) = self.images.1.recv() => {
                    self.app.insert_image(got);
                    dirty = true;
                }
                code = self.signals.next() => return Ok(code),
                stop = self.job_signals.next() => {
                    self.handle_job_signal(stop)?;
                }
                () = tokio::time::sleep(wait), if dirty || self.app.is_animating() => {
                    let effects = self.app.tick(Instant::now());
                    self.run_effects(effects)?;
                    dirty = true;
                }
            }
        }
        Ok(self.exit_code.unwrap_or(exit::OK))
    }

    /// Handles a key, a paste, or a new size of the terminal.
    fn handle_input(&mut self, event: Event) -> anyhow::Result<()> {
        let now = Instant::now();
        // A program that has the keyboard gets every key.
        let is_raw = self.app.overlays.page_layer() == Some(OverlayLayer::Console);
        let effects = match event {
            Event::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
            Event::Key(key) if !is_raw && is_suspend(&key) => {
                hookwright_process::suspend_job();
                Vec::new()
            }
            Event::Key(key) if !is_raw && self.is_terminal_reply(key, now) => Vec::new(),
            Event::Key(key) => self.app.handle_key(key, now),
            Event::Paste(text) => {
                if !self.app.offer_paste(&text, now) && !self.look_up_pasted_image(&text) {
                    self.app.composer.paste(&text);
                }
                Vec::new()
            }
            // The next frame notices a new size.
            _ => Vec::new(),
        };
        self.run_effects(effects)?;
        self.request_files();
        Ok(())
    }

    fn run_effects(&mut self, effects: Vec<AppEffect>) -> anyhow::Result<()> {
        effects.into_iter().try_for_each(|effect| self.run_effect(effect))
    }

    fn run_effect(&mut self, effect: AppEffect) -> anyhow::Result<()> {
        match effect {
            AppEffect::Submit(text) => self.submit(&text)?,
            AppEffect::Command(order) => self.session.send(order),
            AppEffect::Editor => self.edit_in_editor()?,
            AppEffect::WhyCall(call_id) => {
                let story = why::last_story_of_call(self.world, &self.session.view().session_id(), &call_id);
                self.open_story("why", story, "no hook was asked about this call");
            }
            AppEffect::WhyHook(name) => {
                let story = why::last_story_of_hook(self.world, &name);
                let if_none = "no event that this hook was asked about is on record";
                self.open_story(&format!("why {name}"), story, if_none);
            }
            AppEffect::Copy(text) => self.copy_text(&text)?,
            AppEffect::Clipboard => self.look_up_clipboard_image(),
            AppEffect::Expand => self.app.open_pager(),
            AppEffect::Redraw => self.redraw()?,
            AppEffect::Quit(reason) => (self.exit_code, self.end_reason) = (Some(exit::OK), reason),
        }
        Ok(())
    }

    /// Handles the text that the user has submitted.
    fn submit(&mut self, text: &str) -> anyhow::Result<()> {
        self.show_images(text);
        match self.session.view().parse_line(text) {
            InputLine::Blank => return Ok(()),
            // A queued command is echoed when it starts.
            InputLine::Command(order) if order.is_queued() => {
                self.session.send(order);
                // From here on Ctrl-C cancels this command instead of clearing the next draft.
                if self.app.busy.is_none() {
                    self.app.set_busy(SessionActivity::Working.as_str(), Instant::now());
                }
                return Ok(());
            }
            InputLine::Command(order) => {
                self.app.echo_prompt(text);
                self.session.send(order);
            }
            InputLine::FrontEnd(view) => {
                self.app.echo_prompt(text);
                self.show_view(view)?;
            }
            InputLine::InvalidUsage(words) => self.reject_input(text, words),
            InputLine::UnknownCommand(command) => self.reject_input(text, command.to_string()),
        }
        self.app.push_block(ScrollbackBlock::Gap);
        Ok(())
    }

    /// Shows why the submitted text is not accepted.
    fn reject_input(&mut self, text: &str, why: String) {
        self.app.echo_prompt(text);
        self.app.push_text(WARN, why);
    }

    fn handle_event(&mut self, event: AgentEvent) {
        self.notify_if_waiting(&event);
        match &event {
            AgentEvent::Session(SessionEvent::ConfigurationChanged) => self.apply_configuration(),
            AgentEvent::Session(SessionEvent::Cleared) => self.clear_conversation(),
            AgentEvent::Session(SessionEvent::LoggedOut) => self.exit_code = Some(exit::OK),
            AgentEvent::Session(SessionEvent::Idle { .. }) => {
                self.app.status.branch = current_branch(&self.session.view().loaded)
            }
            AgentEvent::Session(SessionEvent::Reply(_)) if self.app.overlays.is_open::<HooksPanel>() => {
                return self.mirror_reply_to_panel(event);
            }
            _ => {}
        }
        match event {
            AgentEvent::Session(SessionEvent::Reply(Reply::Checkpoints(all))) => {
                self.app.overlays.open(OverlayLayer::Picker, RestorePage::new(all, self.session.clone()));
            }
            AgentEvent::Session(SessionEvent::Reply(Reply::Sessions(all))) => {
                self.app.overlays.open(OverlayLayer::Picker, session_picker(all));
            }
            event => self.app.handle_event(event, Instant::now()),
        }
    }

    /// Opens a story in the pager.
    fn open_story(&mut self, title: &str, story: anyhow::Result<Option<Story>>, if_none: &str) {
        let text = match story {
            Ok(Some(story)) => {
                let test = format!("`hookwright hooks test --from-journal {}` makes a test case of it", story.line);
                format!("{}\n\n{test}", story.lines().join("\n"))
            }
            Ok(None) => if_none.to_owned(),
            Err(error) => format!("the journal can't be read: {error:#}"),
        };
        self.app.open_text(title, text);
    }

    /// Shows the session's replies in the hooks panel too while it is open.
    fn mirror_reply_to_panel(&mut self, event: AgentEvent) {
        let before = self.app.take_finished();
        self.app.handle_event(event, Instant::now());
        let reply_blocks = self.app.take_finished();
        if let Some(panel) = self.app.overlays.get_mut::<HooksPanel>() {
            panel.push_notice(reply_blocks.iter().flat_map(|block| block.render(200)).collect());
        }
        before.into_iter().chain(reply_blocks).for_each(|block| self.app.push_block(block));
    }

    /// Applies a changed configuration.
    fn apply_configuration(&mut self) {
        let view = self.session.view();
        self.app.shows_hooks = view.loaded.registry.notifications();
        self.app.status.set_hooks(&view);
        let before = std::mem::replace(&mut self.appearance, ScreenAppearance::from_view(&view));
        self.apply_appearance(Some(before));
        self.refresh_names();
        if let Some(panel) = self.app.overlays.get_mut::<HooksPanel>() {
            panel.update();
        }
    }

    fn draw(&mut self) -> anyhow::Result<()> {
        self.update_title();
        let (columns, rows) = terminal::size();
        self.app.consoles.resize(columns, rows);
        if let Some(page) = self.app.page(columns, rows) {
            self.screen.draw_page(&page.lines, rows)?;
            if let Some((row, column)) = page.cursor.filter(|(row, column)| *row < rows && *column < columns) {
                self.screen.write(&format!("\x1b[{};{}H\x1b[?25h", row + 1, column + 1))?;
            }
            return Ok(());
        }
        let frame = view::render(&self.app, columns, rows, Instant::now());
        if std::mem::take(&mut self.clears_next_frame) {
            self.screen.scroll_away(&frame)?;
        }
        Ok(self.screen.draw(self.app.take_finished(), &frame)?)
    }

    /// Redraws the whole screen.
    fn redraw(&mut self) -> anyhow::Result<()> {
        // Another program may have used the terminal.
        self.invalidate_title();
        self.update_title();
        let (columns, rows) = terminal::size();
        match self.app.overlays.page_layer() {
            Some(_) => self.draw(),
            None => Ok(self.screen.clear_and_redraw(&view::render(&self.app, columns, rows, Instant::now()))?),
        }
    }

    /// Suspends the program as a job of its shell, or resumes it.
    fn handle_job_signal(&mut self, stop: JobSignal) -> anyhow::Result<()> {
        /// After a suspension that this program carried out itself, the resume signal arrives a moment later.
        const DUPLICATE_CONTINUE_WINDOW: Duration = Duration::from_secs(1);
        match stop {
            JobSignal::Suspend => self.screen.finish()?,
            JobSignal::Resumed
                if self.suspended_at.take().is_some_and(|then| then.elapsed() < DUPLICATE_CONTINUE_WINDOW) =>
            {
                return Ok(());
            }
            JobSignal::Resumed => {}
        }
        self.terminal.handle_job_signal(stop);
        if matches!(stop, JobSignal::Suspend) {
            self.suspended_at = Some(Instant::now());
        }
        let (columns, rows) = terminal::size();
        match self.app.overlays.page_layer() {
            Some(_) => self.draw(),
            // Output of the shell stays on the screen.
            None => Ok(self.screen.redraw_below(&view::render(&self.app, columns, rows, Instant::now()))?),
        }
    }

    /// Clears the screen without redrawing the conversation, which stays in the scrollback.
    fn clear_conversation(&mut self) {
        self.app.take_finished();
        self.clears_next_frame = true;
    }
}

/// Returns the status line's content at the start.
fn initial_status(view: &SessionView) -> StatusLine {
    let mut status = StatusLine {
        mode: view.services.approvals.mode(),
        modes: view.modes(),
        is_hidden: view.loaded.settings.ui.hide_footer,
        ..initial_location(&view.loaded)
    };
    status.set_model(view.model.clone());
    status.set_hooks(view);
    status
}

/// Returns a status line with the session's folder and branch.
fn initial_location(loaded: &LoadedConfig) -> StatusLine {
    let root = &loaded.project.root;
    let folder = match root.strip_prefix(&loaded.paths.home) {
        Ok(inner) if inner.as_os_str().is_empty() => "~".to_owned(),
        Ok(inner) => format!("~/{}", inner.display()),
        Err(_) => root.display().to_string(),
    };
    StatusLine { folder, branch: current_branch(loaded), ..StatusLine::default() }
}

/// Returns the branch that is checked out.
fn current_branch(loaded: &LoadedConfig) -> Option<String> {
    hookwright_agent::session::current_git_branch(&loaded.project.root)
}
