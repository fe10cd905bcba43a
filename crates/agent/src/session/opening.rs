//! The opening of a session: the decisions that the user makes before it starts, asked one at a time in one order.
//!
//! A front end presents each [`OpeningQuestion`] in its own way. What is not answered stays closed: the folder counts as
//! untrusted, changes stay untrusted, and [`SessionOpening::prepare`] refuses a session whose guards could be missing.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use hookwright_hooks::UnarmedGuard;
use hookwright_settings::edit::set_value;
use hookwright_settings::trust::{FolderRule, PendingChange, set_folder_trust, trust_changes};
use hookwright_settings::{FolderTrust, LoadedConfig, Notice, ProcessEnv, record_project_contents};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;

use super::guard_readiness::{remember_refused_guards, unarmed_guards, unarmed_json};
use super::options::{BrokenSettingsPolicy, SessionError, SessionOptions, UnarmedGuardsPolicy};
use super::{PreparedSession, broken_settings_file, untrusted_guard_changes};
use crate::transcript::{self, SessionInfo};

/// The file of notes for agents that is offered where the project has no context file of its own.
pub const AGENTS_FILE: &str = "AGENTS.md";

/// A decision that the user makes before a session starts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OpeningQuestion {
    /// Whether the project's folder is trusted.
    FolderTrust,
    /// Whether to go on without a settings file that cannot be parsed.
    BrokenSettings(PathBuf),
    /// Whether the changes that an agent made to guards in an earlier session are trusted.
    #[serde(serialize_with = "serialize_guard_changes")]
    GuardChanges(Vec<PendingChange>),
    /// Whether the project's [`AGENTS_FILE`] is read.
    AgentsFile,
    /// Whether to go on with guards that would not work.
    #[serde(serialize_with = "serialize_unarmed_guards")]
    UnarmedGuards(Vec<UnarmedGuard>),
    /// Which earlier session to resume.
    Resume(Vec<SessionInfo>),
}

/// An answer to an [`OpeningQuestion`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpeningChoice {
    /// Sets the trust of the folder.
    Folder(FolderRule),
    /// Goes on without the settings, without trusting the changes, or with the guards as they are.
    Continue,
    /// Trusts the changes to guards.
    TrustChanges,
    /// Reads the file of notes in this project.
    ReadInProject,
    /// Reads the files of notes in all projects.
    ReadEverywhere,
    /// Does not read the file of notes.
    DoNotRead,
    /// Resumes the session with this id.
    Resume(String),
    /// Begins a new conversation.
    NewConversation,
    /// Does not start the session.
    Leave,
}

fn serialize_guard_changes<S: Serializer>(changes: &[PendingChange], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(changes.iter().map(|change| json!({"path": change.file.path, "diff": change.diff})))
}

fn serialize_unarmed_guards<S: Serializer>(guards: &[UnarmedGuard], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(guards.iter().map(unarmed_json))
}

impl OpeningQuestion {
    /// Returns the possible answers.
    pub fn choices(&self) -> Vec<OpeningChoice> {
        match self {
            OpeningQuestion::FolderTrust => [FolderRule::TrustFolder, FolderRule::TrustParent, FolderRule::DoNotTrust]
                .map(OpeningChoice::Folder)
                .into(),
            OpeningQuestion::BrokenSettings(_) | OpeningQuestion::UnarmedGuards(_) => {
                vec![OpeningChoice::Leave, OpeningChoice::Continue]
            }
            OpeningQuestion::GuardChanges(_) => {
                vec![OpeningChoice::Leave, OpeningChoice::Continue, OpeningChoice::TrustChanges]
            }
            OpeningQuestion::AgentsFile => {
                vec![OpeningChoice::ReadInProject, OpeningChoice::ReadEverywhere, OpeningChoice::DoNotRead]
            }
            OpeningQuestion::Resume(sessions) => {
                let resume = sessions.iter().map(|session| OpeningChoice::Resume(session.id.clone()));
                resume.chain([OpeningChoice::NewConversation]).collect()
            }
        }
    }

    /// Returns the answer of a user who does not want to decide: it trusts and starts nothing.
    pub fn safe_choice(&self) -> OpeningChoice {
        match self {
            OpeningQuestion::FolderTrust => OpeningChoice::Folder(FolderRule::DoNotTrust),
            OpeningQuestion::AgentsFile => OpeningChoice::DoNotRead,
            OpeningQuestion::Resume(_) => OpeningChoice::NewConversation,
            OpeningQuestion::BrokenSettings(_)
            | OpeningQuestion::GuardChanges(_)
            | OpeningQuestion::UnarmedGuards(_) => OpeningChoice::Leave,
        }
    }

    /// Returns whether guards could be missing, so that a user who leaves here leaves an unguarded session.
    pub fn concerns_guards(&self) -> bool {
        matches!(
            self,
            OpeningQuestion::BrokenSettings(_) | OpeningQuestion::GuardChanges(_) | OpeningQuestion::UnarmedGuards(_)
        )
    }
}

/// Whether the opening goes on after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpeningStep {
    /// The next question can be asked.
    Continue,
    /// The user does not want the session.
    Leave,
}

#[derive(Clone, Copy, Debug)]
enum OpeningStage {
    FolderTrust,
    BrokenSettings,
    GuardChanges,
    AgentsFile,
    UnarmedGuards,
    Resume,
}

/// A session whose user is still being asked.
pub struct SessionOpening {
    options: SessionOptions,
    process_env: ProcessEnv,
    loaded: LoadedConfig,
    stages: VecDeque<OpeningStage>,
    warnings: Vec<String>,
}

impl SessionOpening {
    /// Loads the configuration of the project in the working directory.
    ///
    /// # Errors
    /// If the working directory does not exist.
    pub fn new(options: SessionOptions, process_env: ProcessEnv) -> Result<Self, SessionError> {
        let loaded = options.load(&process_env)?;
        let stages = [
            OpeningStage::FolderTrust,
            OpeningStage::BrokenSettings,
            OpeningStage::GuardChanges,
            OpeningStage::AgentsFile,
            OpeningStage::UnarmedGuards,
            OpeningStage::Resume,
        ];
        Ok(SessionOpening { options, process_env, loaded, stages: stages.into(), warnings: Vec::new() })
    }

    /// Returns the configuration as it is after the answers so far.
    pub fn loaded(&self) -> &LoadedConfig {
        &self.loaded
    }

    /// Returns the options, for what a front end adds before the session starts.
    pub fn options_mut(&mut self) -> &mut SessionOptions {
        &mut self.options
    }

    /// Returns what went wrong while answers were recorded, and forgets it.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Returns the next decision that is needed; each is returned once.
    ///
    /// # Errors
    /// If the earlier sessions of the project cannot be listed.
    pub fn next_question(&mut self) -> Result<Option<OpeningQuestion>, SessionError> {
        while let Some(stage) = self.stages.pop_front() {
            if let Some(question) = self.question_at(stage)? {
                return Ok(Some(question));
            }
        }
        Ok(None)
    }

    fn question_at(&self, stage: OpeningStage) -> Result<Option<OpeningQuestion>, SessionError> {
        let loaded = &self.loaded;
        Ok(match stage {
            OpeningStage::FolderTrust => {
                let is_open = loaded.project.trust == FolderTrust::Unknown && loaded.project.root != loaded.paths.home;
                is_open.then_some(OpeningQuestion::FolderTrust)
            }
            OpeningStage::BrokenSettings => broken_settings_file(loaded)
                .filter(|file| self.options.broken_settings == BrokenSettingsPolicy::Refuse && !self.held_guards(file))
                .map(|file| OpeningQuestion::BrokenSettings(file.to_owned())),
            OpeningStage::GuardChanges => Some(untrusted_guard_changes(&self.options, loaded))
                .filter(|changes| !changes.is_empty())
                .map(OpeningQuestion::GuardChanges),
            OpeningStage::AgentsFile => {
                loaded.notices.contains(&Notice::UnreadAgentsFile).then_some(OpeningQuestion::AgentsFile)
            }
            OpeningStage::UnarmedGuards => {
                let unarmed = unarmed_guards(&self.options, loaded);
                if !unarmed.is_empty() {
                    remember_refused_guards(loaded);
                }
                (!unarmed.is_empty()).then_some(OpeningQuestion::UnarmedGuards(unarmed))
            }
            OpeningStage::Resume if self.options.resume.as_deref() == Some("") => {
                Some(transcript::list(&loaded.paths.chats_dir(&loaded.project.root))?)
                    .filter(|sessions| !sessions.is_empty())
                    .map(OpeningQuestion::Resume)
            }
            OpeningStage::Resume => None,
        })
    }

    /// Returns whether a broken file is known to have contained guards: it is asked about together with them.
    fn held_guards(&self, file: &Path) -> bool {
        self.loaded.unarmed_guards.iter().any(|guard| guard.file.as_deref() == Some(file))
    }

    /// Applies the user's answer to a question.
    ///
    /// # Errors
    /// If the configuration cannot be loaded again.
    pub fn answer(&mut self, question: &OpeningQuestion, choice: OpeningChoice) -> Result<OpeningStep, SessionError> {
        match (question, choice) {
            (OpeningQuestion::FolderTrust, OpeningChoice::Folder(rule)) => self.set_folder_trust(rule)?,
            (OpeningQuestion::BrokenSettings(_), OpeningChoice::Continue) => {
                self.options.broken_settings = BrokenSettingsPolicy::Continue;
            }
            (OpeningQuestion::GuardChanges(changes), OpeningChoice::TrustChanges) => self.trust_changes(changes)?,
            (OpeningQuestion::GuardChanges(_), OpeningChoice::Continue) => {}
            (OpeningQuestion::AgentsFile, choice @ (OpeningChoice::ReadInProject | OpeningChoice::ReadEverywhere)) => {
                self.read_agents_file(choice == OpeningChoice::ReadEverywhere)?;
            }
            (OpeningQuestion::AgentsFile, OpeningChoice::DoNotRead) => self.record_contents_and_reload()?,
            (OpeningQuestion::UnarmedGuards(_), OpeningChoice::Continue) => {
                self.options.unarmed_guards = UnarmedGuardsPolicy::Continue;
                self.options.broken_settings = BrokenSettingsPolicy::Continue;
            }
            (OpeningQuestion::Resume(_), OpeningChoice::Resume(id)) => self.options.resume = Some(id),
            (OpeningQuestion::Resume(_), OpeningChoice::NewConversation) => self.options.resume = None,
            // An answer that does not fit decides nothing, and the session does not start.
            _ => return Ok(OpeningStep::Leave),
        }
        Ok(OpeningStep::Continue)
    }

    fn set_folder_trust(&mut self, rule: FolderRule) -> Result<(), SessionError> {
        // The question listed these contents, so they need no announcement.
        if rule != FolderRule::DoNotTrust {
            self.record_contents();
        }
        if let Err(error) = set_folder_trust(&self.loaded.paths, &self.loaded.project.root, rule) {
            self.warnings.push(format!("your answer could not be saved: {error}"));
        }
        self.reload()
    }

    fn trust_changes(&mut self, changes: &[PendingChange]) -> Result<(), SessionError> {
        let changes: Vec<&PendingChange> = changes.iter().collect();
        if let Err(error) = trust_changes(&self.loaded.project.root, &changes) {
            self.warnings.push(format!("the changes stay untrusted: {error}"));
        }
        self.reload()
    }

    fn read_agents_file(&mut self, everywhere: bool) -> Result<(), SessionError> {
        let loaded = &self.loaded;
        let file = match everywhere {
            true => loaded.paths.user_settings.clone(),
            false => loaded.paths.project_settings(&loaded.project.root),
        };
        let names: Vec<&str> =
            loaded.settings.context.file_names.iter().map(String::as_str).chain([AGENTS_FILE]).collect();
        if let Err(error) = set_value(&file, &["context", "fileName"], serde_json::json!(names)) {
            self.warnings.push(format!("your answer could not be saved: {error}"));
        }
        self.record_contents_and_reload()
    }

    /// Records that the question was asked: it is asked only once, whatever the answer is.
    fn record_contents_and_reload(&mut self) -> Result<(), SessionError> {
        self.record_contents();
        self.reload()
    }

    fn record_contents(&mut self) {
        if let Err(error) = record_project_contents(&self.loaded) {
            self.warnings.push(format!("can't record what this project contains: {error}"));
        }
    }

    fn reload(&mut self) -> Result<(), SessionError> {
        self.loaded = self.options.load(&self.process_env)?;
        Ok(())
    }

    /// Sets up the session.
    ///
    /// # Errors
    /// See [`PreparedSession::new`].
    pub fn prepare(mut self) -> Result<PreparedSession, SessionError> {
        // An empty name stands for the choice among earlier sessions, and there was none.
        self.options.resume.take_if(|which| which.is_empty());
        PreparedSession::new(self.options, self.process_env, self.loaded)
    }
}
