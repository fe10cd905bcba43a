//! The types that several events share: the session, and fields that are not plain text. `input.rs` has the events.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The session that events belong to; its fields are the base of every hook's input and environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// The session's id: `session_id`.
    pub id: String,
    /// The path of the session's transcript: `transcript_path`.
    pub transcript_path: PathBuf,
    /// The working directory of hooks: `cwd`.
    pub cwd: PathBuf,
    /// The root of the project: `$GEMINI_PROJECT_DIR`.
    pub project_dir: PathBuf,
    /// The folder of the session's plans: `$GEMINI_PLANS_DIR`.
    pub plans_dir: PathBuf,
}

/// Something that is to be read for a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attachment {
    /// Where it really is.
    pub path: String,
    /// What it is.
    pub kind: AttachmentKind,
    /// A file's size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// What an [`Attachment`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AttachmentKind {
    /// One file.
    File,
    /// The files of a directory.
    Directory,
}

/// What a model request is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To answer the user.
    #[default]
    Answer,
    /// To sum up a long history.
    Compress,
    /// To search the web.
    Search,
    /// To see whether the model answers.
    Check,
}

impl Purpose {
    /// The name of the purpose in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Purpose::Answer => "answer",
            Purpose::Compress => "compress",
            Purpose::Search => "search",
            Purpose::Check => "check",
        }
    }
}

/// Who wants a tool to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RequestedBy {
    /// The model called it.
    #[default]
    Model,
    /// The user: `!command`, `@path`.
    User,
    /// A custom command: `!{command}`, `@{path}`.
    Command,
    /// A hook: a tail call.
    Hook,
}
