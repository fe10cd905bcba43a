//! `--list-sessions` and `--delete-session`: the project's earlier conversations.

use std::io::Write;

use anyhow::Context;
use hookwright_agent::transcript;
use hookwright_settings::{ConfigPaths, ProcessEnv};

use crate::commands::journal;
use crate::exit;
use crate::output::{self, BOLD, DIM, PLAIN, TextTable};

fn load_sessions(world: &ProcessEnv) -> anyhow::Result<Vec<transcript::SessionInfo>> {
    let project = world.cwd.canonicalize().context("the working directory is gone")?;
    Ok(transcript::list(&ConfigPaths::new(world).chats_dir(&project))?)
}

pub(crate) fn list(world: &ProcessEnv) -> anyhow::Result<u8> {
    let sessions = load_sessions(world)?;
    if sessions.is_empty() {
        output::note("there are no sessions of this project")?;
        return Ok(exit::OK);
    }
    let mut table = TextTable::new(&["#", "SESSION", "UPDATED", "MESSAGES", "FIRST PROMPT"]);
    for session in &sessions {
        table.add_row(vec![
            (BOLD, session.index.to_string()),
            (PLAIN, session.id.clone()),
            (DIM, session.updated.strftime("%Y-%m-%d %H:%M UTC").to_string()),
            (PLAIN, session.messages.to_string()),
            (PLAIN, output::truncate_columns(session.first_prompt.as_deref().unwrap_or(""), 60)),
        ]);
    }
    table.print(&mut output::stdout())?;
    output::hint("go on with one: `hookwright --resume NUMBER`")?;
    Ok(exit::OK)
}

pub(crate) fn delete(which: &str, world: &ProcessEnv) -> anyhow::Result<u8> {
    let sessions = load_sessions(world)?;
    let session = transcript::find(&sessions, which)?;
    transcript::delete(session)?;
    journal::forget_session(world, &session.id)?;
    writeln!(output::stdout(), "deleted session {}", session.id)?;
    Ok(exit::OK)
}
