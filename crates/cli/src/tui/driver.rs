//! Holds the session together: waits for keys, for the agent, for signals and for time; passes them to the state, draws it,
//! and does what it asks for.

mod editor;
mod greeting;
mod looking;
mod parting;

use std::io::Stdout;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyEventKind};
use hookwright_agent::session::{Opened, SessionHandle, SessionView, Typed};
use hookwright_agent::{Activity, AgentEvent, EndReason, EventStream};
use hookwright_settings::World;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use super::app::{App, Effect, Status};
use super::attention::Attention;
use super::block::Block;
use super::console::Consoles;
use super::history::History;
use super::images::Got;
use super::input::Input;
use super::keys::is_suspend;
use super::looks::Looks;
use super::page::Page;
use super::pager::Pager;
use super::panel::Panel;
use super::place::{branch, place};
use super::rewrap::Rewrap;
use super::screen::Screen;
use super::stops::{Stop, Stops};
use super::terminal::{self, Guard};
use super::text::WARN;
use super::theme::ReplyFilter;
use super::{Hands, view};
use crate::args::AgentArgs;
use crate::exit;
use crate::signals::Signals;
use crate::telemetry::Telemetry;
use looking::Looked;
pub(crate) use parting::FAREWELL;

const FRAME: Duration = Duration::from_millis(16);
const TICK: Duration = Duration::from_millis(100);

/// The screen of a session.
pub(crate) struct Driver<'a> {
    args: &'a AgentArgs,
    pub(crate) world: &'a World,
    pub(crate) app: App,
    pub(crate) session: SessionHandle,
    pub(crate) panel: Option<Panel>,
    pub(crate) pager: Option<Pager>,
    pub(crate) page: Option<Page>,
    pub(crate) screen: Screen<Stdout>,
    guard: Guard,
    input: Input,
    events: EventStream,
    ended: JoinHandle<()>,
    signals: Signals,
    stops: Stops,
    files: (UnboundedSender<Looked>, UnboundedReceiver<Looked>),
    files_since: Option<Instant>,
    pub(crate) images: (UnboundedSender<Got>, UnboundedReceiver<Got>),
    /// Whether fitting files are being looked for.
    finding: bool,
    telemetry: Telemetry,
    /// When it went on after having been stopped.
    went_on: Option<Instant>,
    pub(crate) attention: Attention,
    pub(crate) replies: ReplyFilter,
    /// Whether the screen is to be emptied with the next frame.
    wiped: bool,
    /// What the settings last said of colours and keys.
    pub(crate) looks: Looks,
    pub(crate) leave: Option<u8>,
    since: Instant,
    /// Why, as SessionEnd hooks are told.
    reason: EndReason,
}

/// Runs a session until the user leaves.
pub(crate) async fn converse(
    args: &AgentArgs,
    world: &World,
    opened: Opened,
    hands: Hands,
    consoles: Arc<Consoles>,
) -> anyhow::Result<u8> {
    let mut driver = Driver::new(args, world, opened, hands, consoles);
    let result = driver.run().await;
    driver.signals.defer(true);
    driver.part().await;
    // Somebody may have lost patience with the end.
    result.map(|code| driver.signals.heard().unwrap_or(code))
}

impl<'a> Driver<'a> {
    fn new(args: &'a AgentArgs, world: &'a World, opened: Opened, hands: Hands, consoles: Arc<Consoles>) -> Self {
        let Hands { guard, input, signals, stops } = hands;
        let view = opened.view();
        let mut app = App::new(History::open(view.loaded.paths.user_dir.join("hookwright_history")), status(&view));
        consoles.paint(view.loaded.settings.tools.shell.colour);
        app.consoles = consoles;
        // The session says so too, but not before the first frame: until then it would look ready.
        app.begin(Activity::Starting.as_str(), Instant::now());
        let facts = crate::session::facts(&view, args);
        let (telemetry, problems) = Telemetry::start(&view.loaded.settings.telemetry, &facts);
        let (session, events, ended) = opened.start();
        signals.at_last({
            let session = session.clone();
            move || {
                session.kill_everything();
                hookwright_process::last_words(&terminal::abandon(), "");
            }
        });
        let colour = world.var("NO_COLOR").is_none_or(str::is_empty);
        let mut driver = Driver {
            args,
            world,
            app,
            session,
            panel: None,
            pager: None,
            page: None,
            screen: Screen::new(terminal::raw(), colour, Rewrap::of(world)),
            guard,
            input,
            events,
            ended,
            signals,
            stops,
            files: unbounded_channel(),
            files_since: None,
            images: unbounded_channel(),
            finding: false,
            telemetry,
            went_on: None,
            attention: Attention::default(),
            replies: ReplyFilter::default(),
            wiped: false,
            looks: Looks::of(&view),
            leave: None,
            since: Instant::now(),
            reason: EndReason::Exit,
        };
        driver.follow_looks(None);
        driver.greet(&problems);
        driver
    }

    async fn run(&mut self) -> anyhow::Result<u8> {
        self.draw()?;
        let mut drawn = Instant::now();
        let mut dirty = false;
        while self.leave.is_none() {
            if dirty && drawn.elapsed() >= FRAME {
                self.draw()?;
                drawn = Instant::now();
                dirty = false;
            }
            self.app.release_held_key(Instant::now());
            let wait = if dirty { FRAME.saturating_sub(drawn.elapsed()) } else { TICK };
            tokio::select! {
                event = self.input.next() => match event {
                    Some(event) => {
                        self.input(event)?;
                        dirty = true;
                    }
                    // The terminal is gone.
                    None => return Ok(exit::HUNG_UP),
                },
                event = self.events.recv() => {
                    // A session that ends without being asked to was lost in a panic, and has said so.
                    let Some(event) = event else { return Ok(exit::ERROR) };
                    self.agent(event);
                    dirty = true;
                }
                Some(looked) = self.files.1.recv() => {
                    self.looked(looked);
                    dirty = true;
                }
                Some(got) = self.images.1.recv() => {
                    self.app.image(got);
                    dirty = true;
                }
                code = self.signals.next() => return Ok(code),
                stop = self.stops.next() => {
                    self.stopped(stop)?;
                }
                () = tokio::time::sleep(wait), if dirty || self.app.is_moving() => {
                    self.app.tick(Instant::now());
                    dirty = true;
                }
            }
        }
        Ok(self.leave.unwrap_or(exit::OK))
    }

    /// Something was typed, pasted, or the terminal has another size.
    fn input(&mut self, event: Event) -> anyhow::Result<()> {
        let now = Instant::now();
        let effects = match event {
            Event::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
            Event::Key(key) if !self.has_other_page() && self.app.console_key(key, now) => Vec::new(),
            Event::Paste(text) if !self.has_other_page() && self.app.console_paste(&text, now) => Vec::new(),
            Event::Key(key) if is_suspend(&key) => {
                hookwright_process::stop_job();
                Vec::new()
            }
            Event::Key(key) if self.is_reply(key, now) => Vec::new(),
            Event::Key(key) if self.pager.is_some() => {
                self.pager_key(key)?;
                Vec::new()
            }
            Event::Paste(text) if self.pager.is_some() => {
                self.pager.iter_mut().for_each(|pager| pager.paste(&text));
                Vec::new()
            }
            Event::Key(key) if self.panel.is_some() => {
                self.panel_key(key);
                Vec::new()
            }
            Event::Key(key) if self.page.is_some() => {
                self.page_key(key);
                Vec::new()
            }
            Event::Key(key) => self.app.key(key, now),
            Event::Paste(text) => {
                if !self.takes_for_image(&text) {
                    self.app.paste(&text);
                }
                Vec::new()
            }
            // Whoever draws next sees that the size is another.
            _ => Vec::new(),
        };
        for effect in effects {
            self.effect(effect)?;
        }
        self.want_files();
        Ok(())
    }

    fn effect(&mut self, effect: Effect) -> anyhow::Result<()> {
        match effect {
            Effect::Submit(text) => self.submit(&text)?,
            Effect::Order(order) => self.session.order(order),
            Effect::Editor => self.edit()?,
            Effect::Clipboard => self.look_into_clipboard(),
            Effect::Expand => self.expand(),
            Effect::Redraw => self.redraw()?,
            Effect::Quit(reason) => (self.leave, self.reason) = (Some(exit::OK), reason),
        }
        Ok(())
    }

    /// Does what the user has written.
    fn submit(&mut self, text: &str) -> anyhow::Result<()> {
        self.show_images_of(text);
        match self.session.view().read(text) {
            Typed::Blank => return Ok(()),
            // What takes turns is echoed when its turn comes.
            Typed::Order(order) if order.takes_turns() => {
                self.session.order(order);
                // From here on Ctrl-C means this, and not the next draft.
                if self.app.busy.is_none() {
                    self.app.begin(Activity::Working.as_str(), Instant::now());
                }
                return Ok(());
            }
            Typed::Order(order) => {
                self.app.echo(text);
                self.session.order(order);
            }
            Typed::View(view) => {
                self.app.echo(text);
                self.view(view)?;
            }
            Typed::Misspelt(words) => self.object(text, words),
            Typed::Unknown(command) => self.object(text, command.to_string()),
        }
        self.app.say(Block::Gap);
        Ok(())
    }

    /// Says why nothing is done with what the user has written.
    fn object(&mut self, text: &str, why: String) {
        self.app.echo(text);
        self.app.tell(WARN, why);
    }

    fn agent(&mut self, event: AgentEvent) {
        self.telemetry.record(&event);
        self.attend(&event);
        match &event {
            AgentEvent::Configured => self.configured(),
            AgentEvent::Cleared => self.wipe(),
            AgentEvent::LoggedOut => self.leave = Some(exit::OK),
            AgentEvent::Idle { .. } => self.app.status.branch = branch(&self.session.view().loaded),
            AgentEvent::Reply(_) if self.panel.is_some() => return self.overhear(event),
            _ => {}
        }
        let event = match event {
            AgentEvent::Reply(reply) => match self.open_page(reply) {
                Some(reply) => AgentEvent::Reply(reply),
                None => return,
            },
            event => event,
        };
        self.app.agent(event, Instant::now());
    }

    /// What the session says about hooks while the panel is open is shown there too.
    fn overhear(&mut self, event: AgentEvent) {
        let before = self.app.take_out();
        self.app.agent(event, Instant::now());
        let said = self.app.take_out();
        if let Some(panel) = &mut self.panel {
            panel.hear(said.iter().flat_map(|block| block.render(200)).collect());
        }
        before.into_iter().chain(said).for_each(|block| self.app.say(block));
    }

    /// The configuration is another.
    fn configured(&mut self) {
        let view = self.session.view();
        crate::log::learn_secrets(&view.loaded);
        self.app.notifications = view.loaded.registry.notifications();
        self.app.status.set_hooks(&view);
        self.app.stats.set_prices(&view.loaded.settings.model.prices);
        let before = std::mem::replace(&mut self.looks, Looks::of(&view));
        self.follow_looks(Some(before));
        self.refresh_names();
        if let Some(panel) = &mut self.panel {
            panel.update(view.hooks());
        }
    }

    fn draw(&mut self) -> anyhow::Result<()> {
        self.entitle();
        let (columns, rows) = terminal::size();
        self.app.consoles.resize(columns, rows);
        if let Some(pager) = &mut self.pager {
            match pager.view(&self.app, columns, rows) {
                Some(page) => return Ok(self.screen.page(&page, rows)?),
                None => self.pager = None,
            }
        }
        if let Some(panel) = &self.panel {
            let page = panel.view(&self.app, columns, rows);
            return Ok(self.screen.page(&page, rows)?);
        }
        if let Some(page) = self.page_view(columns, rows) {
            return Ok(self.screen.page(&page, rows)?);
        }
        if self.draw_console(columns, rows)? {
            return Ok(());
        }
        let frame = view::view(&self.app, columns, rows, Instant::now());
        if std::mem::take(&mut self.wiped) {
            self.screen.scroll_away(&frame)?;
        }
        Ok(self.screen.draw(self.app.take_out(), &frame)?)
    }

    /// Whether a page of its own is shown in the place of the conversation.
    fn has_page(&self) -> bool {
        self.has_other_page() || self.app.focus.is_held()
    }

    /// Whether that is a page of the session's own, and not a program's.
    fn has_other_page(&self) -> bool {
        self.panel.is_some() || self.pager.is_some() || self.page.is_some()
    }

    /// Draws everything that the screen shows once more.
    fn redraw(&mut self) -> anyhow::Result<()> {
        // Somebody else may have had the terminal.
        self.forget_title();
        self.entitle();
        let (columns, rows) = terminal::size();
        match self.has_page() {
            true => self.draw(),
            false => Ok(self.screen.afresh(&view::view(&self.app, columns, rows, Instant::now()))?),
        }
    }

    /// The program is to stop as a job of its shell, or goes on after that.
    fn stopped(&mut self, stop: Stop) -> anyhow::Result<()> {
        /// Whoever goes on after such a wish hears of it a moment later.
        const SOON: Duration = Duration::from_secs(1);
        match stop {
            Stop::Wanted => self.screen.finish()?,
            Stop::Over if self.went_on.take().is_some_and(|then| then.elapsed() < SOON) => return Ok(()),
            Stop::Over => {}
        }
        self.guard.stopped(stop);
        if matches!(stop, Stop::Wanted) {
            self.went_on = Some(Instant::now());
        }
        let (columns, rows) = terminal::size();
        match self.has_page() {
            true => self.draw(),
            // What the shell wrote meanwhile stays.
            false => Ok(self.screen.again(&view::view(&self.app, columns, rows, Instant::now()))?),
        }
    }

    /// Nothing of what was said so far is drawn again; it stays in the scrollback.
    fn wipe(&mut self) {
        self.app.take_out();
        self.wiped = true;
    }
}

/// What the line at the foot says at the start.
fn status(view: &SessionView) -> Status {
    let mut status = Status {
        mode: view.services.approvals.mode(),
        modes: view.modes(),
        hidden: view.loaded.settings.ui.hide_footer,
        ..place(&view.loaded)
    };
    status.set_model(view.model.clone());
    status.set_hooks(view);
    status
}
