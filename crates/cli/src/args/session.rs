//! The options of a session as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::commands::completions;

/// The options of a session.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SessionArgs {
    /// The prompt, as separate words.
    #[arg(value_name = "PROMPT", add = completions::command_names())]
    pub(crate) query: Vec<String>,
    /// Answer one prompt without a screen, then exit. Piped input is put before the prompt.
    #[arg(short, long, value_name = "TEXT", add = completions::command_names())]
    pub(crate) prompt: Option<String>,
    /// Start an interactive session with this prompt.
    #[arg(short = 'i', long, value_name = "TEXT", conflicts_with = "prompt")]
    pub(crate) prompt_interactive: Option<String>,
    /// The model to use.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Which tool calls run without asking you.
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) approval_mode: Option<ApprovalModeArg>,
    /// Run every tool call without asking; the same as --approval-mode=yolo.
    #[arg(short, long, conflicts_with = "approval_mode")]
    pub(crate) yolo: bool,
    /// How the answer is printed.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Text)]
    pub(crate) output_format: OutputFormat,
    /// More directories that tools may work in.
    #[arg(long, value_name = "DIR", value_delimiter = ',')]
    pub(crate) include_directories: Vec<PathBuf>,
    /// Tools that run without asking, such as `run_shell_command(git)`.
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    pub(crate) allowed_tools: Vec<String>,
    /// A policy file, or a directory of them: rules that allow a tool, deny it or make it ask.
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) policy: Vec<PathBuf>,
    /// Use only these extensions; `none` uses none.
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) extensions: Vec<String>,
    /// Use only these MCP servers.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) allowed_mcp_server_names: Vec<String>,
    /// Treat this folder as trusted for this run only.
    #[arg(long)]
    pub(crate) skip_trust: bool,
    /// Run no hooks except guards and those that the system settings lock.
    #[arg(long)]
    pub(crate) no_hooks: bool,
    /// Ignore settings files that can't be read, and start without the guards that they may contain.
    #[arg(long)]
    pub(crate) ignore_broken_settings: bool,
    /// The new session's name.
    #[arg(long, value_name = "ID", conflicts_with = "resume", value_parser = session_name)]
    pub(crate) session_id: Option<String>,
    /// Resume an earlier session: `latest`, its number or its name; without a value, choose one (without a screen: the latest).
    #[arg(short, long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "", add = completions::session_ids())]
    pub(crate) resume: Option<String>,
    /// List this project's sessions.
    #[arg(long)]
    pub(crate) list_sessions: bool,
    /// Delete one of this project's sessions.
    #[arg(long, value_name = "SESSION", add = completions::session_ids())]
    pub(crate) delete_session: Option<String>,
    /// Take the model's answers from a file, strictly in its order.
    #[arg(long, value_name = "FILE", conflicts_with = "fake_responses_non_strict")]
    pub(crate) fake_responses: Option<PathBuf>,
    /// Take the model's answers from a file: for each request the first one that fits.
    #[arg(long, value_name = "FILE")]
    pub(crate) fake_responses_non_strict: Option<PathBuf>,
    /// Record the model's answers into a file for --fake-responses.
    #[arg(long, value_name = "FILE")]
    pub(crate) record_responses: Option<PathBuf>,
    /// Save files before tools change them, even if the settings switch that off.
    #[arg(long)]
    pub(crate) checkpointing: bool,
    /// Print plain lines and never redraw the screen.
    #[arg(long)]
    pub(crate) screen_reader: bool,
    /// Log in more detail: to a file under ~/.gemini and, without a screen, to stderr too.
    #[arg(short, long)]
    pub(crate) debug: bool,
}

/// Which tool calls run without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum ApprovalModeArg {
    /// Only calls that just read.
    Default,
    /// Calls that read, and file edits.
    AutoEdit,
    /// All tool calls.
    Yolo,
    /// Only calls that just read; nothing else runs at all.
    Plan,
}

/// How the answer is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The answer on stdout, everything else on stderr.
    #[default]
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object per line as things happen.
    StreamJson,
}

impl OutputFormat {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            OutputFormat::Text => "text",
            OutputFormat::Json => "json",
            OutputFormat::StreamJson => "stream-json",
        }
    }
}

/// Parses a session's name, which becomes part of file names and of the hooks' environment.
fn session_name(text: &str) -> Result<String, String> {
    let fine = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    match text {
        "" => Err("it is empty".to_owned()),
        "latest" => Err("`latest` already means the last session, for --resume".to_owned()),
        text if text.len() > 128 => Err("it is longer than 128 characters".to_owned()),
        text if !text.chars().all(fine) => Err("only letters, digits, `-` and `_` are allowed".to_owned()),
        text if text.chars().all(|char| char.is_ascii_digit()) => {
            Err("a plain number would be read as a place in the list of sessions".to_owned())
        }
        text => Ok(text.to_owned()),
    }
}
