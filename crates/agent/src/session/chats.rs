//! Earlier and kept conversations: `/clear`, `/resume` and `/chat`.

use std::path::{Path, PathBuf};

use hookwright_disk::Lasting;
use hookwright_hooks::did_you_mean;
use hookwright_settings::Loaded;
use tokio_util::sync::CancellationToken;

use super::conduct::Conductor;
use super::job::Job;
use super::open;
use super::options::{SessionError, SessionOptions};
use super::order::ChatOrder;
use super::reply::Reply;
use crate::agent::{Agent, EndReason, StartSource};
use crate::event::AgentEvent;
use crate::transcript::{self, Transcript, TranscriptError};

/// Begins a new conversation in this one's place.
pub(super) async fn clear(agent: &mut Agent, loaded: &Loaded, cancel: &CancellationToken) {
    agent.end(EndReason::Clear).await;
    let services = agent.services().clone();
    let id = uuid::Uuid::new_v4().to_string();
    match Transcript::create_in(&open::chats_dir(loaded), &open::header(&id, loaded, agent.model())) {
        Ok(transcript) => {
            services.hooks.set_session(open::engine_session(loaded, &id, transcript.path()));
            agent.clear(transcript);
            // What skills opened goes with their words.
            services.tool_context.workspace.forget_reading();
            services.events.send(AgentEvent::Cleared);
        }
        Err(error) => services.events.send(AgentEvent::Warning(format!("the conversation was not cleared: {error}"))),
    }
    agent.start(StartSource::Clear, cancel).await;
}

impl Conductor {
    pub(super) fn resume(&mut self, which: Option<&str>) {
        let view = self.shared.view();
        let own = view.services.hooks.session().transcript_path.clone();
        let others = match transcript::list(&open::chats_dir(&view.loaded)) {
            Ok(sessions) => sessions.into_iter().filter(|one| one.path != own).collect::<Vec<_>>(),
            Err(error) => return self.reply(Reply::error(error)),
        };
        match which.map(|which| transcript::find(&others, which)) {
            None if others.is_empty() => self.reply(Reply::aside("there are no earlier sessions of this project")),
            None => self.reply(Reply::Sessions(others)),
            Some(Ok(found)) => {
                if self.is_free()
                    && let Err(error) = self.go_on_with(found.id.clone())
                {
                    self.reply(Reply::error(error));
                }
            }
            Some(Err(error)) => self.reply(Reply::error(match error.near() {
                Some(near) => format!("{error}; did you mean {near}?"),
                None => error.to_string(),
            })),
        }
    }

    /// Another conversation in this one's place.
    fn go_on_with(&mut self, id: String) -> Result<(), SessionError> {
        let view = self.shared.view();
        let options = SessionOptions { resume: Some(id), session_id: None, ..self.options.clone() };
        let guards = view.services.guards.clone();
        let events = view.services.events.clone();
        let made = open::make(&options, &view.loaded, &view.unarmed(), guards.clone(), events)?;
        let services = made.agent.services();
        services.approvals.set_mode(view.services.approvals.mode());
        // Hooks are as they are now, not as they were when the configuration was read.
        services.hooks.reload(view.services.hooks.registry());
        guards.arm(&view.loaded, &services.hooks.registry(), &services.tool_context.background);
        self.begin(Job::Resume(Box::new(made.agent)));
        Ok(())
    }

    pub(super) fn chat(&mut self, order: ChatOrder) {
        let loaded = self.shared.view().loaded.clone();
        let kept = Kept(loaded.paths.project_temp_dir(&loaded.project.root).join("checkpoints"));
        let transcript = self.services().hooks.session().transcript_path.clone();
        let result = match order {
            ChatOrder::Save(name) => {
                kept.save(&name, &transcript).map(|()| format!("kept this conversation as `{name}`"))
            }
            ChatOrder::Delete(name) => kept.delete(&name).map(|()| format!("deleted `{name}`")),
            ChatOrder::List => Ok(kept.list()),
            ChatOrder::Resume(_) if !self.is_free() => return,
            ChatOrder::Resume(name) => kept
                .copy(&name, &open::chats_dir(&loaded))
                .and_then(|id| Ok(self.go_on_with(id)?))
                .map(|()| format!("going on with `{name}`")),
        };
        self.reply(result.map_or_else(Reply::error, Reply::plain));
    }
}

/// The directory of conversations kept under a name.
struct Kept(PathBuf);

/// Why a kept conversation cannot be used.
#[derive(Debug, thiserror::Error)]
enum KeptError {
    #[error("a name is made of letters, digits, `-`, `_` and `.`, and does not begin with a dot")]
    Name,
    #[error("there is no conversation `{name}`; {help}")]
    None { name: String, help: String },
    #[error("the conversation could not be kept: {0}")]
    Save(#[source] std::io::Error),
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl Kept {
    fn file(&self, name: &str) -> Result<PathBuf, KeptError> {
        let plain = name.chars().all(|char| char.is_alphanumeric() || "-_.".contains(char));
        if !plain || name.is_empty() || name.starts_with('.') {
            return Err(KeptError::Name);
        }
        Ok(self.0.join(format!("{name}.jsonl")))
    }

    fn save(&self, name: &str, transcript: &Path) -> Result<(), KeptError> {
        let file = self.file(name)?;
        let read = hookwright_disk::read(transcript, 1 << 30, hookwright_disk::Links::Follow);
        let lines = read.map_err(|error| KeptError::Save(std::io::Error::other(error)))?;
        hookwright_disk::overwrite(&file, &lines, Lasting::Yes).map_err(KeptError::Save)
    }

    fn delete(&self, name: &str) -> Result<(), KeptError> {
        std::fs::remove_file(self.file(name)?).map_err(|_| self.none(name))
    }

    /// Copies a conversation under an id of its own, so that the kept one stays as it is.
    fn copy(&self, name: &str, chats: &Path) -> Result<String, KeptError> {
        let file = self.file(name)?;
        if !file.is_file() {
            return Err(self.none(name));
        }
        Ok(transcript::copy(&file, chats)?)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        let name = |entry: std::fs::DirEntry| entry.path().file_stem().map(|name| name.to_string_lossy().into_owned());
        let mut names: Vec<String> = entries.filter_map(name).collect();
        names.sort();
        names
    }

    fn none(&self, name: &str) -> KeptError {
        let names = self.names();
        let help = did_you_mean(name, names.iter().map(String::as_str), "/chat list shows them all");
        KeptError::None { name: name.to_owned(), help }
    }

    fn list(&self) -> String {
        let names = self.names();
        if names.is_empty() {
            return "no conversation is kept; /chat save NAME keeps this one".to_owned();
        }
        names.join("\n")
    }
}
