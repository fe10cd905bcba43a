//! The interactive session: the agent works on a task of its own, this one owns the terminal.
//!
//! Keys and the agent's events change the state (`app.rs`, `keys.rs`), the state is drawn (`view.rs`, `screen.rs`), and what
//! has to happen in the world comes back as effects (`driver.rs`). The session itself lives in the agent crate.

mod app;
mod attention;
mod block;
pub(crate) mod card;
pub(crate) mod cards;
pub(crate) mod commands;
mod complete;
mod composer;
mod console;
mod dialog;
mod dialog_input;
pub(crate) mod diff;
mod driver;
mod files;
mod fit;
mod focus;
mod fuzzy;
mod guards;
mod highlight;
mod history;
pub(crate) mod hooklog;
mod images;
mod input;
mod inquiry;
mod keys;
mod looks;
mod markdown;
mod page;
mod pager;
mod panel;
mod picker;
mod place;
mod question;
mod replies;
mod restore;
mod rewrap;
mod screen;
mod sent;
mod sessions;
mod stops;
mod subagent;
mod table;
mod terminal;
pub(crate) mod text;
mod theme;
pub(crate) mod trust;
pub(crate) mod view;
mod vim;

use std::io::IsTerminal;

use hookwright_agent::session::{
    BrokenSettings, Opened, UnarmedGuards, broken_settings, changed_guards, remember_refused, unarmed_guards,
};
use hookwright_agent::{Interaction, transcript};
use hookwright_settings::World;

use crate::args::{AgentArgs, OutputFormat};
use crate::session;
use crate::signals::Signals;
pub(crate) use driver::FAREWELL;
pub(crate) use images::size_words;
use input::Input;
pub(crate) use restore::plan_lines;
use stops::Stops;
use terminal::Guard;
pub(crate) use terminal::abandon;

/// Whether the command line asks for an interactive session.
pub(crate) fn wanted(args: &AgentArgs) -> bool {
    let text = args.output_format == OutputFormat::Text;
    args.prompt.is_none() && text && std::io::stdin().is_terminal() && terminal::raw().is_terminal()
}

/// The terminal in our hands: its modes, its keys, and the signals that would take it away.
pub(crate) struct Hands {
    guard: Guard,
    input: Input,
    signals: Signals,
    stops: Stops,
}

impl Hands {
    /// The next key; none where everything is to be drawn again. Whoever ends the program meanwhile finds the screen in order.
    async fn key<W: std::io::Write>(
        &mut self,
        screen: &mut screen::Screen<W>,
    ) -> anyhow::Result<Option<crossterm::event::KeyEvent>> {
        use crossterm::event::{Event, KeyEventKind};
        let Hands { guard, input, signals, stops } = self;
        let event = tokio::select! {
            event = input.next() => event.ok_or(crate::signals::Ended(crate::exit::HUNG_UP)),
            code = signals.next() => Err(crate::signals::Ended(code)),
            stop = stops.next() => {
                guard.stopped(stop);
                screen.forget();
                return Ok(None);
            }
        };
        match event {
            Ok(Event::Key(key)) if key.kind == KeyEventKind::Release => Ok(None),
            Ok(Event::Key(key)) if keys::is_suspend(&key) => {
                hookwright_process::stop_job();
                Ok(None)
            }
            Ok(Event::Key(key)) => Ok(Some(key)),
            Ok(_) => Ok(None),
            Err(ended) => {
                screen.finish()?;
                Err(ended.into())
            }
        }
    }

    fn on_terminal() -> anyhow::Result<Hands> {
        // First the signals: from the guard on, one that ended the program at once would leave the terminal raw.
        let signals = Signals::listen()?;
        signals.at_last(|| hookwright_process::last_words(&terminal::abandon(), ""));
        let guard = Guard::new()?;
        Ok(Hands { guard, input: Input::start()?, signals, stops: Stops::listen() })
    }
}

/// Runs an interactive session.
pub(crate) fn run(args: &AgentArgs, world: &World) -> anyhow::Result<u8> {
    let runtime = crate::runtime::start_with_screen(2)?;
    let code = runtime.block_on(converse(args, world));
    // A hook or a tool that blocks a thread must not hold up the exit.
    runtime.shutdown_background();
    code
}

async fn converse(args: &AgentArgs, world: &World) -> anyhow::Result<u8> {
    let mut options = session::options(args, Interaction::Interactive);
    let mut loaded = options.load(world)?;
    let plain = args.screen_reader || loaded.settings.ui.screen_reader || world.var("TERM") == Some("dumb");
    let mut hands = match plain {
        true => None,
        false => Some(Hands::on_terminal()?),
    };
    match trust::ask(&loaded, hands.as_mut()).await? {
        trust::Asked::NotNeeded => {}
        trust::Asked::Answered => loaded = options.load(world)?,
        trust::Asked::Left => return Ok(crate::exit::OK),
    }
    crate::log::learn_secrets(&loaded);
    // One question for both: a broken file that is known to have held guards is asked about with them.
    let held_guards = |file: &std::path::Path| loaded.asleep.iter().any(|guard| guard.file.as_deref() == Some(file));
    if let Some(file) = broken_settings(&loaded).filter(|_| options.broken == BrokenSettings::Refuse)
        && !held_guards(file)
    {
        if !trust::ask_about_broken(&loaded, file, hands.as_mut()).await? {
            return Ok(crate::exit::UNGUARDED);
        }
        options.broken = BrokenSettings::GoOn;
    }
    let changes = changed_guards(&options, &loaded);
    if !changes.is_empty() {
        match trust::ask_about_changes(&loaded, &changes, hands.as_mut()).await? {
            trust::Asked::NotNeeded => {}
            trust::Asked::Answered => loaded = options.load(world)?,
            trust::Asked::Left => return Ok(crate::exit::UNGUARDED),
        }
    }
    match trust::ask_about_notes(&loaded, hands.as_mut()).await? {
        trust::Asked::NotNeeded => {}
        trust::Asked::Answered => loaded = options.load(world)?,
        trust::Asked::Left => return Ok(crate::exit::OK),
    }
    let unarmed = unarmed_guards(&options, &loaded);
    if !unarmed.is_empty() {
        remember_refused(&loaded);
        if !trust::ask_about_guards(&loaded, &unarmed, hands.as_mut()).await? {
            return Ok(crate::exit::UNGUARDED);
        }
        options.guards = UnarmedGuards::GoOn;
        options.broken = BrokenSettings::GoOn;
    }
    if options.resume.as_deref() == Some("") {
        let earlier = transcript::list(&loaded.paths.chats_dir(&loaded.project.root))?;
        options.resume = match earlier.is_empty() {
            true => None,
            false => sessions::choose(earlier, world, hands.as_mut()).await?,
        };
    }
    let consoles = console::Consoles::new();
    if hands.is_some() {
        options.consoles = Some(consoles.clone());
    }
    let opened = Opened::new(options, world.clone(), loaded)?;
    match hands {
        Some(hands) => driver::converse(args, world, opened, hands, consoles).await,
        None => crate::plain::converse(args, opened).await,
    }
}

/// The prompt that the command line starts the session with.
pub(crate) fn first_prompt(args: &AgentArgs) -> Option<String> {
    let given = args.prompt_interactive.clone().or_else(|| (!args.query.is_empty()).then(|| args.query.join(" ")));
    given.filter(|prompt| !prompt.trim().is_empty())
}
