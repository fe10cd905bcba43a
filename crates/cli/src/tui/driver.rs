//! Holds the session together: waits for keys, for the agent, for signals and for time; passes them to the state, draws it,
//! and does what it asks for.

use std::collections::VecDeque;
use std::io::Stdout;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use crossterm::event::{Event, KeyEventKind};
use hookwright_agent::{AgentEvent, Events, Services, StartSource};
use hookwright_settings::{Loaded, World};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::app::{App, Effect, Status};
use super::block::{Block, render_all};
use super::complete;
use super::history::History;
use super::input::Input;
use super::panel::Panel;
use super::place::{branch, place};
use super::screen::Screen;
use super::terminal::{self, Guard};
use super::text::{BAD, BOLD, DIM, Line, WARN};
use super::watch::Watch;
use super::worker::{self, Done, Task};
use super::{files, view};
use crate::args::AgentArgs;
use crate::session::Ready;
use crate::telemetry::Telemetry;
use crate::{exit, signals};

const FRAME: Duration = Duration::from_millis(16);
const TICK: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_secs(1);
/// So many finished pieces can be drawn again after a resize.
const KEPT: usize = 400;
/// How old the list of files may be before it is made again.
const FILES_AGE: Duration = Duration::from_secs(10);
/// SessionEnd hooks and what tools left running get this long.
const PARTING: Duration = Duration::from_secs(4);

type FileList = Arc<Vec<String>>;

/// What connects the session with the terminal and the agent.
pub(crate) struct Wires {
    pub(crate) guard: Guard,
    pub(crate) input: Input,
    pub(crate) events: Events,
    pub(crate) receiver: UnboundedReceiver<AgentEvent>,
}

/// The session.
pub(crate) struct Driver<'a> {
    pub(crate) args: &'a AgentArgs,
    pub(crate) world: &'a World,
    pub(crate) app: App,
    pub(crate) loaded: Loaded,
    pub(crate) services: Arc<Services>,
    pub(crate) panel: Option<Panel>,
    pub(crate) watch: Watch,
    pub(crate) events: Events,
    pub(crate) tasks: Option<UnboundedSender<Task>>,
    /// Cancels what runs now.
    pub(crate) cancel: CancellationToken,
    pub(crate) screen: Screen<Stdout>,
    guard: Guard,
    input: Input,
    receiver: UnboundedReceiver<AgentEvent>,
    done: UnboundedReceiver<Done>,
    worker: JoinHandle<()>,
    files: (UnboundedSender<FileList>, UnboundedReceiver<FileList>),
    files_since: Option<Instant>,
    telemetry: Telemetry,
    kept: VecDeque<Block>,
    after_gap: bool,
    /// Whether the screen is to be emptied with the next frame.
    wiped: bool,
    pub(crate) leave: Option<u8>,
}

/// Runs a session until the user leaves.
pub(crate) async fn converse(args: &AgentArgs, world: &World, ready: Ready, wires: Wires) -> anyhow::Result<u8> {
    let mut driver = Driver::new(args, world, ready, wires);
    let result = driver.run().await;
    let parted = driver.part().await;
    result.and_then(|code| parted.map(|()| code))
}

impl<'a> Driver<'a> {
    fn new(args: &'a AgentArgs, world: &'a World, ready: Ready, wires: Wires) -> Self {
        let Ready { agent, loaded, resumed, session_id, warnings } = ready;
        let services = agent.services().clone();
        let status = Status {
            model: agent.model().to_owned(),
            mode: services.approvals.mode(),
            hidden: loaded.settings.ui.hide_footer,
            hooks: services.hooks.registry().hooks().len(),
            window: hookwright_model::context_window(agent.model()),
            ..place(&loaded)
        };
        let facts = crate::session::facts(&agent, &loaded, &session_id, args);
        let (telemetry, problems) = Telemetry::start(&loaded.settings.telemetry, &facts);
        let mut app = App::new(History::open(loaded.paths.user_dir.join("hookwright_history")), status);
        app.begin("Starting", Instant::now());
        let (tasks, todo) = unbounded_channel();
        let (sender, done) = unbounded_channel();
        let cancel = CancellationToken::new();
        let source = if resumed { StartSource::Resume } else { StartSource::Startup };
        let history = agent.history().to_vec();
        let worker = tokio::spawn(worker::work(agent, source, cancel.clone(), todo, sender));
        let colour = world.var("NO_COLOR").is_none_or(str::is_empty);
        let Wires { guard, input, events, receiver } = wires;
        let mut driver = Driver {
            args,
            world,
            app,
            watch: Watch::new(&loaded),
            loaded,
            services,
            panel: None,
            events,
            tasks: Some(tasks),
            cancel,
            screen: Screen::new(std::io::stdout(), colour),
            guard,
            input,
            receiver,
            done,
            worker,
            files: unbounded_channel(),
            files_since: None,
            telemetry,
            kept: VecDeque::new(),
            after_gap: true,
            wiped: false,
            leave: None,
        };
        driver.greet(&warnings, &problems);
        driver.show_history(&history);
        driver
    }

    /// What is said before the first prompt.
    fn greet(&mut self, warnings: &[String], problems: &[String]) {
        if !self.loaded.settings.ui.hide_banner {
            let line = Line::of(BOLD, "Hookwright").with(DIM, format!(" {}", env!("CARGO_PKG_VERSION")));
            let tips = "  /help for help, /hooks panel for the hooks, Ctrl+D to leave";
            let tips = if self.loaded.settings.ui.hide_tips { "" } else { tips };
            self.app.say(Block::line(line.with(DIM, tips)));
        }
        if self.app.status.model == "offline" {
            let line = Line::of(WARN, "no model is connected: ").hanging(2);
            let how = "set GEMINI_API_KEY, or OPENAI_BASE_URL and OPENAI_MODEL, and start again. Until then the offline \
                       model answers, which only does what it is told (say TEXT, call TOOL {json}).";
            self.app.say(Block::line(line.with(super::text::PLAIN, how)));
        }
        self.tell_configuration();
        for warning in warnings.iter().chain(problems) {
            self.app.tell(WARN, format!("! {warning}"));
        }
        self.refresh_names();
        if let Some(prompt) = super::first_prompt(self.args) {
            self.app.history.add(&prompt);
            self.app.queue.push_back(prompt);
        }
    }

    async fn run(&mut self) -> anyhow::Result<u8> {
        let mut ended = std::pin::pin!(signals::ended());
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        self.draw()?;
        let mut drawn = Instant::now();
        let mut dirty = false;
        while self.leave.is_none() {
            if dirty && drawn.elapsed() >= FRAME {
                self.draw()?;
                drawn = Instant::now();
                dirty = false;
            }
            let wait = if dirty { FRAME.saturating_sub(drawn.elapsed()) } else { TICK };
            tokio::select! {
                event = self.input.events.recv() => match event {
                    Some(event) => {
                        self.input(event)?;
                        dirty = true;
                    }
                    // The terminal is gone.
                    None => return Ok(129),
                },
                Some(event) = self.receiver.recv() => {
                    self.agent(event);
                    dirty = true;
                }
                done = self.done.recv() => {
                    self.done(done.context("the agent has stopped working; the message above says why")?);
                    dirty = true;
                }
                Some(files) = self.files.1.recv() => {
                    self.app.names.files = files;
                    self.app.completion = complete::Completion::find(&self.app.composer, &self.app.names);
                    dirty = true;
                }
                code = &mut ended => return Ok(code),
                _ = look.tick() => dirty |= self.look(),
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
            Event::Key(key) if self.panel.is_some() => {
                self.panel_key(key);
                Vec::new()
            }
            Event::Key(key) => self.app.key(key, now),
            Event::Paste(text) => {
                self.app.paste(&text);
                Vec::new()
            }
            Event::Resize(..) => vec![Effect::Redraw],
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
            Effect::Prompt(prompt) => {
                let cancel = self.fresh_cancel();
                self.task(Task::Prompt(prompt, cancel));
            }
            Effect::Shell(command) => {
                let cancel = self.fresh_cancel();
                self.task(Task::Shell(command, cancel));
            }
            Effect::Slash(line) => self.slash(&line)?,
            Effect::Cancel => self.cancel.cancel(),
            Effect::Mode(mode) => self.set_mode(mode),
            Effect::Editor => self.edit()?,
            Effect::Redraw => self.redraw()?,
            Effect::Quit => self.leave = Some(exit::OK),
        }
        Ok(())
    }

    /// Gives the agent something to do.
    pub(crate) fn task(&mut self, task: Task) {
        let sent = self.tasks.as_ref().is_some_and(|tasks| tasks.send(task).is_ok());
        if !sent {
            self.app.busy = None;
            self.app.tell(BAD, "the agent has stopped; please start again");
        }
    }

    /// A cancel for the next task, which Esc reaches.
    pub(crate) fn fresh_cancel(&mut self) -> CancellationToken {
        self.cancel = CancellationToken::new();
        self.cancel.clone()
    }

    fn agent(&mut self, event: AgentEvent) {
        self.telemetry.record(&event);
        self.app.agent(event, Instant::now());
    }

    fn done(&mut self, done: Done) {
        // Everything the agent said before it was done comes first.
        while let Ok(event) = self.receiver.try_recv() {
            self.agent(event);
        }
        self.app.status.window = hookwright_model::context_window(&done.model);
        self.app.status.model = done.model;
        self.app.status.tokens = if done.tokens > 0 { done.tokens } else { self.app.status.tokens };
        self.app.status.branch = branch(&self.loaded);
        for effect in self.app.idle(Instant::now()) {
            if let Err(error) = self.effect(effect) {
                self.app.tell(BAD, format!("error: {error}"));
            }
        }
    }

    /// Looks whether configuration has changed on disk.
    fn look(&mut self) -> bool {
        let changed = self.watch.changed();
        let any = !changed.is_empty();
        if any {
            self.reload(&changed);
        }
        any
    }

    /// Starts to look for files where somebody wants to mention one.
    fn want_files(&mut self) {
        let before = &self.app.composer.text()[..self.app.composer.cursor()];
        let old = self.files_since.is_none_or(|since| since.elapsed() > FILES_AGE);
        if !old || complete::mention(before).is_none() {
            return;
        }
        self.files_since = Some(Instant::now());
        let (sender, root, filter) =
            (self.files.0.clone(), self.loaded.project.root.clone(), self.services.tool_context.filter);
        tokio::task::spawn_blocking(move || sender.send(files::list(&root, filter)));
    }

    fn draw(&mut self) -> anyhow::Result<()> {
        let (columns, rows) = terminal::size();
        if let Some(panel) = &self.panel {
            let page = panel.view(&self.app, columns, rows);
            return Ok(self.screen.page(&page, rows)?);
        }
        if std::mem::take(&mut self.wiped) {
            return self.redraw();
        }
        let out = self.app.take_out();
        let lines = render_all(&out, columns, &mut self.after_gap);
        self.kept.extend(out);
        let surplus = self.kept.len().saturating_sub(KEPT);
        self.kept.drain(..surplus);
        Ok(self.screen.draw(&lines, &view::view(&self.app, columns, rows, Instant::now()))?)
    }

    /// Draws what fits of the finished pieces, and the live part, on an empty screen.
    pub(crate) fn redraw(&mut self) -> anyhow::Result<()> {
        if self.panel.is_some() {
            return self.draw();
        }
        let (columns, rows) = terminal::size();
        self.kept.extend(self.app.take_out());
        self.after_gap = true;
        let lines = render_all(&self.kept, columns, &mut self.after_gap);
        let frame = view::view(&self.app, columns, rows, Instant::now());
        let room = rows.saturating_sub(frame.lines.len());
        Ok(self.screen.afresh(&lines[lines.len().saturating_sub(room)..], &frame)?)
    }

    /// Nothing of what was said so far is drawn again; it stays in the scrollback.
    pub(crate) fn wipe(&mut self) {
        self.app.take_out();
        self.kept.clear();
        self.wiped = true;
    }

    /// Lets the user write in an editor of their own.
    fn edit(&mut self) -> anyhow::Result<()> {
        let var = |name: &str| self.world.var(name).filter(|value| !value.trim().is_empty());
        let editor = var("VISUAL").or_else(|| var("EDITOR")).unwrap_or("vi").to_owned();
        let file = tempfile::Builder::new().prefix("prompt-").suffix(".md").tempfile()?;
        std::fs::write(file.path(), self.app.composer.text())?;
        self.screen.finish()?;
        let (guard, path) = (&self.guard, file.path());
        let run = || {
            // The editor may be several words, and the shell knows how to read them.
            std::process::Command::new("sh").args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(path).status()
        };
        let status = self.input.lend(|| guard.lend(run))?;
        match status {
            Ok(status) if status.success() => self.app.composer.set(std::fs::read_to_string(file.path())?.trim_end()),
            Ok(_) => self.app.tell(WARN, format!("{editor} ended with an error; the text is as it was")),
            Err(error) => self.app.tell(BAD, format!("can't start {editor}: {error}")),
        }
        self.redraw()
    }

    /// Ends the session: what runs is cancelled, SessionEnd fires, the terminal is given back.
    async fn part(&mut self) -> anyhow::Result<()> {
        self.cancel.cancel();
        self.panel = None;
        self.tasks = None;
        self.app.dialogs.clear();
        let deadline = tokio::time::sleep(PARTING);
        let mut deadline = std::pin::pin!(deadline);
        let mut worker = &mut self.worker;
        loop {
            tokio::select! {
                Some(event) = self.receiver.recv() => {
                    self.telemetry.record(&event);
                    self.app.agent(event, Instant::now());
                }
                _ = &mut worker => break,
                () = &mut deadline => break,
            }
        }
        while let Ok(event) = self.receiver.try_recv() {
            self.telemetry.record(&event);
            self.app.agent(event, Instant::now());
        }
        let warnings = std::mem::take(&mut self.telemetry).shutdown();
        warnings.iter().for_each(|warning| self.app.tell(WARN, format!("! {warning}")));
        self.app.busy = None;
        let (columns, _) = terminal::size();
        let out = self.app.take_out();
        let lines = render_all(&out, columns, &mut self.after_gap);
        // A terminal that is gone takes no farewell.
        let _ = self.screen.draw(&lines, &super::screen::Frame::default());
        let _ = self.screen.finish();
        Ok(())
    }
}
