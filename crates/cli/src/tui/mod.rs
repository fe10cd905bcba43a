//! The interactive session: the agent works on a task of its own, this one owns the terminal.
//!
//! Keys and the agent's events change the state (`app.rs`, `keys.rs`), the state is drawn (`view.rs`, `screen.rs`), and what
//! has to happen in the world comes back as effects (`driver.rs`, `commands.rs`).

mod app;
mod block;
mod card;
mod chats;
mod commands;
mod complete;
mod composer;
mod dialog;
mod driver;
mod files;
mod highlight;
mod history;
mod hooklog;
mod hooks;
mod input;
mod keys;
mod markdown;
mod memory;
mod panel;
mod place;
mod plain;
mod screen;
mod table;
mod terminal;
mod text;
mod trust;
mod view;
mod watch;
mod worker;

use std::io::IsTerminal;

use hookwright_agent::{Events, Interaction};
use hookwright_settings::World;

use crate::args::{AgentArgs, OutputFormat};
use crate::session;
use input::Input;
use terminal::Guard;

/// Whether the command line asks for an interactive session.
pub(crate) fn wanted(args: &AgentArgs) -> bool {
    let text = args.output_format == OutputFormat::Text;
    args.prompt.is_none() && text && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Runs an interactive session.
pub(crate) fn run(args: &AgentArgs, world: &World) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let code = runtime.block_on(converse(args, world));
    // A hook or a tool that blocks a thread must not hold up the exit.
    runtime.shutdown_background();
    code
}

async fn converse(args: &AgentArgs, world: &World) -> anyhow::Result<u8> {
    let mut loaded = session::configuration(args, world)?;
    let plain = args.screen_reader || loaded.settings.ui.screen_reader || world.var("TERM") == Some("dumb");
    let mut terminal = match plain {
        true => None,
        false => Some((Guard::new()?, Input::start())),
    };
    match trust::ask(&loaded, terminal.as_mut().map(|(_, input)| input)).await? {
        trust::Asked::NotNeeded => {}
        trust::Asked::Answered => loaded = session::configuration(args, world)?,
        trust::Asked::Left => return Ok(crate::exit::OK),
    }
    let (events, receiver) = Events::channel();
    let ready = session::prepare(args, loaded, Interaction::Interactive, events.clone())?;
    match terminal {
        Some((guard, input)) => {
            driver::converse(args, world, ready, driver::Wires { guard, input, events, receiver }).await
        }
        None => plain::converse(args, ready, receiver).await,
    }
}

/// The prompt that the command line starts the session with.
fn first_prompt(args: &AgentArgs) -> Option<String> {
    let given = args.prompt_interactive.clone().or_else(|| (!args.query.is_empty()).then(|| args.query.join(" ")));
    given.filter(|prompt| !prompt.trim().is_empty())
}
