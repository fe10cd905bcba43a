//! `--list-sessions` and `--delete-session`: the project's earlier conversations.

use std::io::Write;

use anyhow::Context;
use hookwright_agent::transcript;
use hookwright_settings::{Paths, World};

use crate::exit;
use crate::out::{self, BOLD, DIM, PLAIN, Table};

fn sessions(world: &World) -> anyhow::Result<Vec<transcript::SessionInfo>> {
    let project = world.cwd.canonicalize().context("the working directory is gone")?;
    Ok(transcript::list(&Paths::new(world).chats_dir(&project))?)
}

pub(crate) fn list(world: &World) -> anyhow::Result<u8> {
    let sessions = sessions(world)?;
    if sessions.is_empty() {
        out::note("there are no sessions of this project")?;
        return Ok(exit::OK);
    }
    let mut table = Table::new(&["#", "SESSION", "UPDATED", "MESSAGES", "FIRST PROMPT"]);
    for session in &sessions {
        table.row(vec![
            (BOLD, session.index.to_string()),
            (PLAIN, session.id.clone()),
            (DIM, session.updated.strftime("%Y-%m-%d %H:%M UTC").to_string()),
            (PLAIN, session.messages.to_string()),
            (PLAIN, out::shorten(session.first_prompt.as_deref().unwrap_or(""), 60)),
        ]);
    }
    table.print(&mut out::stdout())?;
    out::hint("go on with one: `hookwright --resume NUMBER`")?;
    Ok(exit::OK)
}

pub(crate) fn delete(which: &str, world: &World) -> anyhow::Result<u8> {
    let sessions = sessions(world)?;
    let session = transcript::find(&sessions, which)?;
    transcript::delete(session)?;
    writeln!(out::stdout(), "deleted session {}", session.id)?;
    Ok(exit::OK)
}
