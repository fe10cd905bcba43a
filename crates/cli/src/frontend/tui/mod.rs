//! The full-screen front end: the agent runs on a task of its own, and this one owns the terminal.
//!
//! Keys and the agent's events change the state (`app.rs`, `keys.rs`), the state is drawn (`view.rs`, `screen.rs`), and
//! its effects are carried out by `driver.rs`. The session itself is in the agent crate.

mod app;
mod appearance;
mod block;
pub(crate) mod card;
pub(crate) mod card_store;
mod choice_page;
mod completion;
mod composer;
mod console;
mod dialog;
mod dialog_input;
pub(crate) mod diff;
mod driver;
mod focus;
mod fuzzy;
mod guard_dialog;
mod highlight;
mod history;
pub(crate) mod hook_log;
mod hooks_panel;
mod images;
mod inquiry_dialog;
mod job_signals;
mod key_input;
mod keys;
mod markdown;
mod markdown_table;
mod notifier;
mod pager;
mod picker;
mod project_files;
mod question_layout;
mod reply_blocks;
mod restore_page;
mod rewrap;
mod screen;
pub(crate) mod screen_commands;
mod sent_prompts;
mod session_picker;
mod startup_question;
pub(crate) mod styled_text;
mod subagent;
mod terminal;
mod theme;
pub(crate) mod trust_questions;
pub(crate) mod view;
mod vim;

use std::io::IsTerminal;

use hookwright_agent::session::{
    BrokenSettingsPolicy, PreparedSession, UnarmedGuardsPolicy, broken_settings_file, remember_refused_guards,
    unarmed_guards, untrusted_guard_changes,
};
use hookwright_agent::{Interaction, transcript};
use hookwright_settings::ProcessEnv;

use crate::args::{OutputFormat, SessionArgs};
use crate::frontend::session_options;
use crate::signals::Signals;
pub(crate) use driver::FAREWELL_MESSAGE;
pub(crate) use images::format_image_size;
use job_signals::JobSignals;
use key_input::KeyInput;
pub(crate) use restore_page::plan_lines;
use terminal::TerminalGuard;
pub(crate) use terminal::restore_modes;

/// Returns whether the command line asks for an interactive session.
pub(crate) fn is_interactive(args: &SessionArgs) -> bool {
    let text = args.output_format == OutputFormat::Text;
    args.prompt.is_none() && text && std::io::stdin().is_terminal() && terminal::is_stdout_terminal()
}

/// Control of the terminal: its modes, its keys, and the signals that interrupt the program.
pub(crate) struct TerminalHandle {
    guard: TerminalGuard,
    input: KeyInput,
    signals: Signals,
    job_signals: JobSignals,
}

impl TerminalHandle {
    /// Returns the next key, or none if everything must be redrawn.
    ///
    /// If a signal ends the program meanwhile, the screen is left in order.
    async fn next_key<W: std::io::Write>(
        &mut self,
        screen: &mut screen::TerminalScreen<W>,
    ) -> anyhow::Result<Option<crossterm::event::KeyEvent>> {
        use crossterm::event::{Event, KeyEventKind};
        let TerminalHandle { guard, input, signals, job_signals: stops } = self;
        let event = tokio::select! {
            event = input.next() => event.ok_or(crate::signals::EndedBySignal(crate::exit::HUNG_UP)),
            code = signals.next() => Err(crate::signals::EndedBySignal(code)),
            stop = stops.next() => {
                guard.handle_job_signal(stop);
                screen.forget_live();
                return Ok(None);
            }
        };
        match event {
            Ok(Event::Key(key)) if key.kind == KeyEventKind::Release => Ok(None),
            Ok(Event::Key(key)) if keys::is_suspend(&key) => {
                hookwright_process::suspend_job();
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

    fn open() -> anyhow::Result<TerminalHandle> {
        // Signals are handled first: after the guard is made, an unhandled signal would leave the terminal in raw mode.
        let signals = Signals::listen()?;
        signals.set_exit_action(|| hookwright_process::write_final_output(&terminal::restore_modes(), ""));
        let guard = TerminalGuard::new()?;
        Ok(TerminalHandle { guard, input: KeyInput::start()?, signals, job_signals: JobSignals::listen() })
    }
}

/// Runs an interactive session.
pub(crate) fn run(args: &SessionArgs, world: &ProcessEnv) -> anyhow::Result<u8> {
    let runtime = crate::runtime::start_with_screen(2)?;
    let code = runtime.block_on(run_session(args, world));
    // A hook or a tool that blocks a thread must not delay the exit.
    runtime.shutdown_background();
    code
}

async fn run_session(args: &SessionArgs, world: &ProcessEnv) -> anyhow::Result<u8> {
    let mut options = session_options::from_args(args, Interaction::Interactive, world);
    let mut loaded = options.load(world)?;
    let plain = args.screen_reader || loaded.settings.ui.screen_reader || world.var("TERM") == Some("dumb");
    let mut hands = match plain {
        true => None,
        false => Some(TerminalHandle::open()?),
    };
    match trust_questions::ask_about_folder(&loaded, hands.as_mut()).await? {
        trust_questions::TrustAnswer::NotNeeded => {}
        trust_questions::TrustAnswer::Recorded => loaded = options.load(world)?,
        trust_questions::TrustAnswer::Exit => return Ok(crate::exit::OK),
    }
    crate::log::add_secrets(&loaded);
    // A broken file that is known to have contained guards is asked about together with them below.
    let held_guards =
        |file: &std::path::Path| loaded.unarmed_guards.iter().any(|guard| guard.file.as_deref() == Some(file));
    if let Some(file) =
        broken_settings_file(&loaded).filter(|_| options.broken_settings == BrokenSettingsPolicy::Refuse)
        && !held_guards(file)
    {
        if !trust_questions::ask_about_broken_settings(&loaded, file, hands.as_mut()).await? {
            return Ok(crate::exit::UNGUARDED);
        }
        options.broken_settings = BrokenSettingsPolicy::Continue;
    }
    let changes = untrusted_guard_changes(&options, &loaded);
    if !changes.is_empty() {
        match trust_questions::ask_about_changes(&loaded, &changes, hands.as_mut()).await? {
            trust_questions::TrustAnswer::NotNeeded => {}
            trust_questions::TrustAnswer::Recorded => loaded = options.load(world)?,
            trust_questions::TrustAnswer::Exit => return Ok(crate::exit::UNGUARDED),
        }
    }
    match trust_questions::ask_about_notes(&loaded, hands.as_mut()).await? {
        trust_questions::TrustAnswer::NotNeeded => {}
        trust_questions::TrustAnswer::Recorded => loaded = options.load(world)?,
        trust_questions::TrustAnswer::Exit => return Ok(crate::exit::OK),
    }
    let unarmed = unarmed_guards(&options, &loaded);
    if !unarmed.is_empty() {
        remember_refused_guards(&loaded);
        if !trust_questions::ask_about_guards(&loaded, &unarmed, hands.as_mut()).await? {
            return Ok(crate::exit::UNGUARDED);
        }
        options.unarmed_guards = UnarmedGuardsPolicy::Continue;
        options.broken_settings = BrokenSettingsPolicy::Continue;
    }
    if options.resume.as_deref() == Some("") {
        let earlier = transcript::list(&loaded.paths.chats_dir(&loaded.project.root))?;
        options.resume = match earlier.is_empty() {
            true => None,
            false => session_picker::choose_session(earlier, world, hands.as_mut()).await?,
        };
    }
    let consoles = console::ScreenConsoles::new();
    if hands.is_some() {
        options.consoles = Some(consoles.clone());
    }
    let opened = PreparedSession::new(options, world.clone(), loaded)?;
    match hands {
        Some(hands) => driver::run_session(args, world, opened, hands, consoles).await,
        None => crate::frontend::plain::run_session(args, opened).await,
    }
}

/// Returns the prompt that the command line starts the session with.
pub(crate) fn first_prompt(args: &SessionArgs) -> Option<String> {
    let given = args.prompt_interactive.clone().or_else(|| (!args.query.is_empty()).then(|| args.query.join(" ")));
    given.filter(|prompt| !prompt.trim().is_empty())
}
