//! The full-screen front end: the agent runs on a task of its own, and this one owns the terminal.
//!
//! Keys go to what is open over the prompt (`overlay.rs`), or to the prompt (`keys.rs`). They and the agent's events
//! change the state (`app.rs`), the state is drawn (`view.rs`, `screen.rs`), and its effects are carried out by
//! `driver.rs`. The session itself is in the agent crate.

mod app;
mod appearance;
mod approval_dialog;
mod block;
mod card;
mod completion;
mod composer;
mod console;
mod console_focus;
mod dialog_input;
mod driver;
mod fuzzy;
mod guard_dialog;
mod history;
mod history_search;
mod hooks_panel;
mod images;
mod inquiry_dialog;
mod job_signals;
mod key_input;
mod keys;
mod markdown;
mod markdown_table;
mod menu;
mod notifier;
mod overlay;
mod pager;
mod picker;
mod project_files;
mod question_layout;
mod question_queue;
mod reply_blocks;
mod restore_page;
mod rewrap;
mod screen;
mod screen_commands;
mod sent_prompts;
mod session_picker;
mod startup_question;
mod subagent;
mod terminal;
mod theme;
mod view;
mod vim;

use std::io::IsTerminal;

use hookwright_agent::Interaction;
use hookwright_agent::session::{OpeningChoice, OpeningQuestion, OpeningStep, SessionOpening};
use hookwright_settings::{LoadedConfig, ProcessEnv};

use crate::args::{OutputFormat, SessionArgs};
use crate::frontend::session_options;
use crate::presentation::opening_text;
use crate::signals::Signals;
use job_signals::JobSignals;
use key_input::KeyInput;
use startup_question::StartupQuestion;
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
    let options = session_options::from_args(args, Interaction::Interactive, world);
    let mut opening = SessionOpening::new(options, world.clone())?;
    let plain = args.screen_reader || opening.loaded().settings.ui.screen_reader || world.var("TERM") == Some("dumb");
    let mut hands = match plain {
        true => None,
        false => Some(TerminalHandle::open()?),
    };
    while let Some(question) = opening.next_question()? {
        let choice = ask_opening_question(&question, opening.loaded(), hands.as_mut()).await?;
        let step = opening.answer(&question, choice)?;
        opening.take_warnings().iter().try_for_each(crate::output::warn)?;
        if step == OpeningStep::Leave {
            return Ok(if question.concerns_guards() { crate::exit::UNGUARDED } else { crate::exit::OK });
        }
    }
    crate::log::add_secrets(opening.loaded());
    let consoles = console::ScreenConsoles::new();
    if hands.is_some() {
        opening.options_mut().consoles = Some(consoles.clone());
    }
    let opened = opening.prepare()?;
    match hands {
        Some(hands) => driver::run_session(args, world, opened, hands, consoles).await,
        None => crate::frontend::plain::run_session(args, opened).await,
    }
}

/// Asks a question before the session starts. A user who leaves does not want the session.
async fn ask_opening_question(
    question: &OpeningQuestion,
    loaded: &LoadedConfig,
    hands: Option<&mut TerminalHandle>,
) -> anyhow::Result<OpeningChoice> {
    if let OpeningQuestion::Resume(sessions) = question {
        let chosen = session_picker::choose_session(sessions.clone(), &loaded.process_env, hands).await?;
        return Ok(chosen.map_or(OpeningChoice::NewConversation, OpeningChoice::Resume));
    }
    let choices = question.choices();
    let safe_choice = question.safe_choice();
    let asked = StartupQuestion {
        lines: opening_text::question_lines(question, loaded),
        answers: choices.iter().map(|choice| opening_text::choice_text(question, choice, loaded)).collect(),
        cancel_answer: choices.iter().position(|choice| *choice == safe_choice).unwrap_or_default(),
    };
    let answer = asked.ask(&loaded.process_env, hands).await?;
    Ok(answer.and_then(|at| choices.into_iter().nth(at)).unwrap_or(OpeningChoice::Leave))
}
