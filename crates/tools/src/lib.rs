//! The tools a model can call: files, search, shell and web.
//!
//! Everything a tool may touch comes in through [`ToolContext`]; this crate reads no environment variable, no home
//! directory and no settings, asks nobody for approval and prints nothing. Whether a call may run is the agent's
//! decision; [`ToolKind`] and [`Tool::preview`] are what it needs to decide.

mod address;
mod builtin;
mod catalog;
mod console;
mod context;
mod delegate;
mod diff;
mod disk;
mod encoding;
mod failure;
mod filter;
mod http;
pub mod mcp;
mod media;
mod result;
mod schema;
mod shell;
mod tool;
mod toolbox;
mod toolset;
mod workspace;

pub use builtin::WebSearching;
pub use builtin::google_web_search::{SearchError, WebSearch};
pub use builtin::read_many_files::END_OF_FILES;
pub use catalog::{BUILTINS, BuiltinInfo, canonical_arguments, canonical_name};
pub use console::{Console, Consoles};
pub use context::{Environment, OutputSink, ShellSettings, ToolContext};
pub use delegate::{AgentOffer, DELEGATE_TO_AGENT, DelegateToAgent, Delegation};
pub use diff::{DiffStat, FileDiff};
pub use failure::{ToolErrorKind, ToolFailure};
pub use filter::FileFilter;
pub use hookwright_process::{Groups, Live, Manner, Size, Terminal, signal_name};
pub use http::{HttpAccess, HttpPolicy, PrivateAddresses};
pub use media::{MAX_MEDIA_BYTES, image_type, is_called_image};
pub use result::{
    CommandEnd, CommandRun, Display, Match, ResultContent, ResultPart, Skipped, Todo, TodoStatus, ToolResult,
};
pub use schema::validate as validate_arguments;
pub use shell::{Job, Jobs};
pub use tool::{BoxFuture, Declaration, Tool, ToolKind};
pub use toolbox::{Origin, Toolbox};
pub use toolset::{RegisterError, Selection, ToolSet};
pub use workspace::{PathError, Workspace, WorkspaceError};
