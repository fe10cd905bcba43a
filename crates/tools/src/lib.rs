//! The tools a model can call: files, search, shell and web.
//!
//! Everything a tool may access comes in through [`ToolContext`]: this crate reads no environment variable, no home
//! directory and no settings, asks the user for no approval and prints nothing. The agent decides whether a call may
//! run, by [`ToolKind`] and [`Tool::preview`].

mod address;
mod builtin;
mod catalog;
mod console;
mod context;
mod delegate;
mod diff;
mod encoding;
mod failure;
mod file_io;
mod filter;
mod http;
pub mod mcp;
mod media;
mod open_files;
mod result;
mod schema;
mod shell;
mod tool;
mod toolbox;
mod toolset;
mod workspace;

pub use builtin::WebSearchSupport;
pub use builtin::google_web_search::{WebSearch, WebSearchError};
pub use builtin::read_many_files::END_OF_FILES_MARKER;
pub use catalog::{BUILTINS, BuiltinInfo, canonical_arguments, canonical_name};
pub use console::{CallConsole, ConsoleHost};
pub use context::{Environment, OutputSink, ShellCommandOptions, ToolContext};
pub use delegate::{DELEGATE_TO_AGENT, DelegateAgent, DelegateToAgent, Delegation};
pub use diff::{DiffStat, FileDiff};
pub use failure::{ToolErrorKind, ToolFailure};
pub use filter::FileFilter;
pub use hookwright_process::{
    OutputCallback, ProcessGroups, PseudoTerminal, TerminalInputMode, TerminalSize, signal_name,
};
pub use http::{HttpAccess, HttpPolicy, PrivateAddresses};
pub use media::{MAX_MEDIA_BYTES, has_image_extension, image_type};
pub use open_files::OpenFiles;
pub use result::{
    CommandEnd, ResultContent, ResultPart, SearchMatch, ShellCommandRun, SkippedFile, Todo, TodoStatus, ToolDisplay,
    ToolResult,
};
pub use schema::validate as validate_arguments;
pub use shell::{BackgroundJob, BackgroundJobs, find_program};
pub use tool::{BoxFuture, Declaration, Tool, ToolKind};
pub use toolbox::{ToolSource, Toolbox};
pub use toolset::{RegisterError, ToolNameFilter, ToolSet};
pub use workspace::{PathError, Workspace, WorkspaceError};
