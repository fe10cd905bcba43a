//! The options of a session as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::commands::completions;

/// The options of a session.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SessionArgs {
    /// The prompt.
    #[arg(value_name = "PROMPT", add = completions::command_names())]
    pub(crate) query: Vec<String>,
    /// The prompt; answers it without a screen. Piped input goes ahead of it.
    #[arg(short, long, value_name = "TEXT", add = completions::command_names())]
    pub(crate) prompt: Option<String>,
    /// A prompt to start an interactive session with.
    #[arg(short = 'i', long, value_name = "TEXT", conflicts_with = "prompt")]
    pub(crate) prompt_interactive: Option<String>,
    /// The model to ask.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Which tool calls run unasked.
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) approval_mode: Option<ApprovalModeArg>,
    /// Run every tool call unasked; the same as --approval-mode=yolo.
    #[arg(short, long, conflicts_with = "approval_mode")]
    pub(crate) yolo: bool,
    /// How the answer is printed.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Text)]
    pub(crate) output_format: OutputFormat,
    /// More directories that tools may work in.
    #[arg(long, value_name = "DIR", value_delimiter = ',')]
    pub(crate) include_directories: Vec<PathBuf>,
    /// Tools that run unasked, such as `run_shell_command(git)`.
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    pub(crate) allowed_tools: Vec<String>,
    /// A file or a directory of rules on which tools run, are refused or need asking.
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) policy: Vec<PathBuf>,
    /// The only extensions that count; `none` for none.
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) extensions: Vec<String>,
    /// The only MCP servers that count.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) allowed_mcp_server_names: Vec<String>,
    /// Treat this folder as trusted, this once.
    #[arg(long)]
    pub(crate) skip_trust: bool,
    /// Run no hooks but guards and those that the system settings lock.
    #[arg(long)]
    pub(crate) no_hooks: bool,
    /// Start without settings files that can't be read, and without the guards that they may hold.
    #[arg(long)]
    pub(crate) ignore_broken_settings: bool,
    /// The new session's name.
    #[arg(long, value_name = "ID", conflicts_with = "resume", value_parser = session_name)]
    pub(crate) session_id: Option<String>,
    /// Go on with an earlier session: `latest`, its number or its name; alone, choose one (without a screen: the latest).
    #[arg(short, long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "", add = completions::session_ids())]
    pub(crate) resume: Option<String>,
    /// List this project's sessions.
    #[arg(long)]
    pub(crate) list_sessions: bool,
    /// Delete one of this project's sessions.
    #[arg(long, value_name = "SESSION", add = completions::session_ids())]
    pub(crate) delete_session: Option<String>,
    /// Answer from a file, strictly in its order.
    #[arg(long, value_name = "FILE", conflicts_with = "fake_responses_non_strict")]
    pub(crate) fake_responses: Option<PathBuf>,
    /// Answer from a file, taking the first answer that fits.
    #[arg(long, value_name = "FILE")]
    pub(crate) fake_responses_non_strict: Option<PathBuf>,
    /// Record the model's answers into a file for --fake-responses.
    #[arg(long, value_name = "FILE")]
    pub(crate) record_responses: Option<PathBuf>,
    /// Keep files before tools change them, whatever the settings say.
    #[arg(long)]
    pub(crate) checkpointing: bool,
    /// A session in plain lines: nothing is drawn over.
    #[arg(long)]
    pub(crate) screen_reader: bool,
    /// Say more about what happens: in a log under ~/.gemini, and without a screen on stderr too.
    #[arg(short, long)]
    pub(crate) debug: bool,
}

/// Which tool calls run unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum ApprovalModeArg {
    /// Those that only look.
    Default,
    /// Edits too.
    AutoEdit,
    /// All of them.
    Yolo,
    /// Those that only look; nothing else runs.
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
        "latest" => Err("`latest` is what --resume calls the last one".to_owned()),
        text if text.len() > 128 => Err("it is longer than 128 characters".to_owned()),
        text if !text.chars().all(fine) => Err("only letters, digits, `-` and `_` may be in it".to_owned()),
        text if text.chars().all(|char| char.is_ascii_digit()) => {
            Err("a number alone would be its place in a list".to_owned())
        }
        text => Ok(text.to_owned()),
    }
}
