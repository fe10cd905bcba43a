//! Earlier and saved conversations: `/clear`, `/resume` and `/chat`.

use std::path::{Path, PathBuf};

use hookwright_disk::Durability;
use hookwright_settings::LoadedConfig;
use hookwright_settings::administration::{NamedItem, UnknownName};
use tokio_util::sync::CancellationToken;

use super::actor::SessionActor;
use super::agent_task::AgentTask;
use super::command::ChatAction;
use super::options::{SessionError, SessionOptions};
use super::reply::Reply;
use super::setup;
use crate::agent::{Agent, EndReason, StartSource};
use crate::event::{AgentNotice, SessionEvent};
use crate::transcript::{self, Transcript, TranscriptError};

/// Ends the conversation and begins a new one in its place.
pub(super) async fn clear_conversation(agent: &mut Agent, loaded: &LoadedConfig, cancel: &CancellationToken) {
    agent.end(EndReason::Clear).await;
    let services = agent.services().clone();
    let id = uuid::Uuid::new_v4().to_string();
    match Transcript::create_in(&setup::chats_dir(loaded), &setup::transcript_header(&id, loaded, agent.model())) {
        Ok(transcript) => {
            services.hooks.set_session(setup::engine_session(loaded, &id, transcript.path()));
            agent.clear(transcript);
            // The directories that skills made readable are forgotten with the skills' instructions.
            services.tool_context.workspace.clear_readable_dirs();
            services.events.send(SessionEvent::Cleared);
        }
        Err(error) => services.events.send(AgentNotice::Warning(format!("the conversation was not cleared: {error}"))),
    }
    agent.start(StartSource::Clear, cancel).await;
}

impl SessionActor {
    pub(super) fn handle_resume(&mut self, which: Option<&str>) {
        let view = self.shared.view();
        let own = view.services.hooks.session().transcript_path.clone();
        let others = match transcript::list(&setup::chats_dir(&view.loaded)) {
            Ok(sessions) => sessions.into_iter().filter(|one| one.path != own).collect::<Vec<_>>(),
            Err(error) => return self.reply(Reply::error(error)),
        };
        match which.map(|which| transcript::find(&others, which)) {
            None if others.is_empty() => self.reply(Reply::aside("there are no earlier sessions of this project")),
            None => self.reply(Reply::Sessions(others)),
            Some(Ok(found)) => {
                if self.require_idle()
                    && let Err(error) = self.resume_session(found.id.clone())
                {
                    self.reply(Reply::error(error));
                }
            }
            Some(Err(error)) => self.reply(Reply::error(match error.suggestion() {
                Some(near) => format!("{error}; did you mean {near}?"),
                None => error.to_string(),
            })),
        }
    }

    /// Replaces the conversation with an earlier one.
    fn resume_session(&mut self, id: String) -> Result<(), SessionError> {
        let view = self.shared.view();
        let options = SessionOptions { resume: Some(id), session_id: None, ..self.options.clone() };
        let guards = view.services.tamper_watch.clone();
        let events = view.services.events.clone();
        let made = setup::prepare_agent(&options, &view.loaded, &view.unarmed_guards(), guards.clone(), events)?;
        let services = made.agent.services();
        services.approvals.set_mode(view.services.approvals.mode());
        // Keeps the current hooks, not those of the time when the configuration was loaded.
        services.hooks.reload(view.services.hooks.registry());
        guards.arm(&view.loaded, &services.hooks.registry(), &services.tool_context.process_groups);
        self.start_task(AgentTask::Resume(Box::new(made.agent)));
        Ok(())
    }

    pub(super) fn handle_chat(&mut self, order: ChatAction) {
        let loaded = self.shared.view().loaded.clone();
        let kept = SavedChats(loaded.paths.project_temp_dir(&loaded.project.root).join("checkpoints"));
        let transcript = self.services().hooks.session().transcript_path.clone();
        let result = match order {
            ChatAction::Save(name) => {
                kept.save(&name, &transcript).map(|()| format!("kept this conversation as `{name}`"))
            }
            ChatAction::Delete(name) => kept.delete(&name).map(|()| format!("deleted `{name}`")),
            ChatAction::List => Ok(kept.list_text()),
            ChatAction::Resume(_) if !self.require_idle() => return,
            ChatAction::Resume(name) => kept
                .copy_to_session(&name, &setup::chats_dir(&loaded))
                .and_then(|id| Ok(self.resume_session(id)?))
                .map(|()| format!("going on with `{name}`")),
        };
        self.reply(match result {
            Ok(text) => Reply::plain(text),
            Err(SavedChatError::NotFound(unknown)) => Reply::Unknown(unknown),
            Err(error) => Reply::error(error),
        });
    }
}

/// The directory of conversations that the user saved under a name.
struct SavedChats(PathBuf);

/// The reason why a saved conversation cannot be used.
#[derive(Debug, thiserror::Error)]
enum SavedChatError {
    #[error("a name is made of letters, digits, `-`, `_` and `.`, and does not begin with a dot")]
    InvalidName,
    #[error("no conversation is called `{}`", .0.name)]
    NotFound(UnknownName),
    #[error("the conversation could not be kept: {0}")]
    Save(#[source] std::io::Error),
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl SavedChats {
    fn file_path(&self, name: &str) -> Result<PathBuf, SavedChatError> {
        let plain = name.chars().all(|char| char.is_alphanumeric() || "-_.".contains(char));
        if !plain || name.is_empty() || name.starts_with('.') {
            return Err(SavedChatError::InvalidName);
        }
        Ok(self.0.join(format!("{name}.jsonl")))
    }

    fn save(&self, name: &str, transcript: &Path) -> Result<(), SavedChatError> {
        let file = self.file_path(name)?;
        let read = hookwright_disk::read(transcript, 1 << 30, hookwright_disk::SymlinkPolicy::Follow);
        let lines = read.map_err(|error| SavedChatError::Save(std::io::Error::other(error)))?;
        hookwright_disk::write_atomic_private(&file, &lines, Durability::Synced).map_err(SavedChatError::Save)
    }

    fn delete(&self, name: &str) -> Result<(), SavedChatError> {
        std::fs::remove_file(self.file_path(name)?).map_err(|_| self.not_found(name))
    }

    /// Copies a saved conversation under a new id, so that the saved one does not change.
    fn copy_to_session(&self, name: &str, chats: &Path) -> Result<String, SavedChatError> {
        let file = self.file_path(name)?;
        if !file.is_file() {
            return Err(self.not_found(name));
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

    fn not_found(&self, name: &str) -> SavedChatError {
        let names = self.names();
        SavedChatError::NotFound(UnknownName::new(NamedItem::SavedChat, name, names.iter().map(String::as_str)))
    }

    fn list_text(&self) -> String {
        let names = self.names();
        if names.is_empty() {
            return "no conversation is kept; /chat save NAME keeps this one".to_owned();
        }
        names.join("\n")
    }
}
