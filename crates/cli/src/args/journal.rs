//! `hookwright journal …` as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum JournalCommand {
    /// Show the latest lines, oldest first.
    #[command(after_help = "Examples:\n  hookwright journal list\n  hookwright journal list -n 200 --json")]
    List {
        #[command(flatten)]
        output: JournalOutput,
    },
    /// Show one line whole: input, effects, each hook's answer, and what became of it.
    #[command(
        after_help = "`hookwright hooks why NUMBER` tells it as a story.\n\nExamples:\n  hookwright journal show 4821\n  hookwright journal show 4821 --json | jq .content.input"
    )]
    Show {
        /// The number of the line.
        #[arg(value_name = "NUMBER")]
        line: u64,
        /// Print the line as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the lines that match: `event=BeforeTool verdict=deny agent=codex since=7d`.
    #[command(
        after_help = "Keys: agent, event, tool, verdict, hook, session, turn, project, kind, lost, text, since, until.\n`key=a,b` means one of them, `key!=a` anything else, and a `*` at the end any rest.\nTimes: 30m, 12h, 7d, 2w, a date, or a date with a time.\n\nExamples:\n  hookwright journal query event=BeforeTool verdict=deny since=7d\n  hookwright journal query agent=codex,claude-code 'hook=no-*' verdict!=pass\n  hookwright journal query text=.env --json | jq .content.input"
    )]
    Query {
        /// What lines must match; all of it.
        #[arg(value_name = "KEY=VALUE", required = true)]
        terms: Vec<String>,
        #[command(flatten)]
        output: JournalOutput,
    },
    /// Count runs, denials and failures of each hook, and the time that it takes.
    #[command(
        after_help = "Examples:\n  hookwright journal stats\n  hookwright journal stats since=7d agent=codex\n  hookwright journal stats --shadow          what hooks in shadow would have done"
    )]
    Stats {
        /// Only lines that match.
        #[arg(value_name = "KEY=VALUE")]
        terms: Vec<String>,
        /// Only hooks in shadow.
        #[arg(long)]
        shadow: bool,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check that no line was changed, removed, reordered or cut off: exit 0 if so, 1 with what is wrong.
    #[command(
        after_help = "Examples:\n  hookwright journal verify\n  hookwright journal verify --seal journal.seal --key ~/.ssh/id_ed25519.pub"
    )]
    Verify {
        /// A file that `journal seal` wrote: the journal must still have that head.
        #[arg(long, value_name = "FILE")]
        seal: Option<PathBuf>,
        /// The public key that the seal must be signed with.
        #[arg(long, value_name = "FILE", requires = "seal")]
        key: Option<PathBuf>,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the journal's head, signed with your SSH key: whoever keeps it can tell a rewritten journal.
    #[command(
        after_help = "Keep the seal where the machine's users can't change it, such as a repository or another machine.\n\nExamples:\n  hookwright journal seal --key ~/.ssh/id_ed25519 > journal.seal\n  hookwright journal seal                     the head alone, not signed"
    )]
    Seal {
        /// An OpenSSH private key of the type Ed25519; ssh-keygen asks for its passphrase, if it has one.
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
    /// Print lines in another form.
    #[command(
        after_help = "Examples:\n  hookwright journal export --csv verdict=deny > denials.csv\n  hookwright journal export since=1d > day.jsonl"
    )]
    Export {
        /// Only lines that match.
        #[arg(value_name = "KEY=VALUE")]
        terms: Vec<String>,
        /// As a table of comma-separated values, without content; otherwise as JSON lines.
        #[arg(long)]
        csv: bool,
        /// As OpenTelemetry log records, to a file or to the address of a collector.
        #[arg(long, value_name = "FILE|URL", conflicts_with = "csv")]
        otlp: Option<String>,
    },
    /// Write the journal as one HTML page that loads nothing: timeline, filters, what each hook said, and why.
    #[command(
        after_help = "The page holds arguments and output: only you can read the file.\n\nExamples:\n  hookwright journal page --since 7d --open\n  hookwright journal page 5b1c2c0e-… -o session.html\n  hookwright journal page --live            on the loopback address, and follows"
    )]
    Page(JournalPageArgs),
    /// Remove the content of lines (arguments, output, reasons) for good. What was decided stays on record.
    #[command(
        after_help = "Examples:\n  hookwright journal forget 5b1c2c0e-…\n  hookwright journal forget --before 2026-10-01"
    )]
    Forget(JournalForgetArgs),
}

#[derive(Debug, Args)]
pub(crate) struct JournalOutput {
    /// Show at most this many lines, the latest ones.
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 50)]
    pub(crate) last: usize,
    /// Print the lines as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct JournalPageArgs {
    /// Only the session with this id.
    #[arg(conflicts_with = "since")]
    pub(crate) session: Option<String>,
    /// Only lines from this time on: 12h, 7d, a date, or a date with a time.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Open the page in the browser.
    #[arg(long)]
    pub(crate) open: bool,
    /// The file to write [default: journal.html].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Serve the page on the loopback address, behind a token, and follow the journal.
    #[arg(long, conflicts_with = "output")]
    pub(crate) live: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct JournalForgetArgs {
    /// The id of a session.
    pub(crate) session: Option<String>,
    /// Everything before this time: 30d, a date, or a date with a time.
    #[arg(long, value_name = "TIME")]
    pub(crate) before: Option<String>,
}
