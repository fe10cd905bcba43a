//! `hookwright mcp …` as typed. The arguments of `add` are Gemini CLI's.

use std::ffi::{OsStr, OsString};

use clap::{ArgAction, Args, Subcommand, ValueEnum};

use super::ProjectArgs;

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add a server to the settings, or replace one: exit 1 if nothing was written.
    #[command(
        after_help = "Options may stand anywhere before `--`. Unknown options are passed to the server.\n\nExamples:\n  hookwright mcp add files npx -y @modelcontextprotocol/server-filesystem .\n  hookwright mcp add -s user -e TOKEN='$GITHUB_TOKEN' github github-mcp -- --port 3000\n  hookwright mcp add docs https://example.com/mcp -H 'X-Key: $DOCS_KEY'"
    )]
    Add(McpAddArgs),
    /// Remove a server from the settings: exit 1 if there is none of that name.
    #[command(after_help = "Example:\n  hookwright mcp remove files --scope user")]
    Remove {
        /// The server's name.
        name: String,
        /// Whose settings to change.
        #[arg(short, long, value_enum, value_name = "SCOPE", default_value_t = McpScopeArg::Project)]
        scope: McpScopeArg,
    },
    /// List every server, whether it is used here, and whether it answers: always exits with 0.
    #[command(after_help = "Examples:\n  hookwright mcp list\n  hookwright mcp list --no-connect --json")]
    List {
        /// Do not start or contact any server.
        #[arg(long)]
        no_connect: bool,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: ProjectArgs,
    },
    /// Connect to one server, and show what it offers and how long it takes: exit 1 if it does not answer.
    #[command(after_help = "Example:\n  hookwright mcp test files --json")]
    Test {
        /// The server's name.
        name: String,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: ProjectArgs,
    },
    /// Sign in to a remote server, through the address that is printed: exit 1 if you did not sign in.
    #[command(after_help = "Example:\n  hookwright mcp auth docs")]
    Auth {
        /// The server's name.
        name: String,
    },
    /// Forget a server's token.
    Logout {
        /// The server's name.
        name: String,
    },
    /// Switch a server on again, in every project.
    Enable {
        /// The server's name.
        name: String,
    },
    /// Switch a server off, in every project.
    Disable {
        /// The server's name.
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct McpAddArgs {
    /// The server's name.
    pub(crate) name: String,
    /// The program (stdio) or the address (http, sse).
    #[arg(value_name = "COMMAND|URL")]
    pub(crate) target: String,
    /// The program's arguments.
    pub(crate) args: Vec<String>,
    /// Where to write it.
    #[arg(short, long, value_enum, value_name = "SCOPE", default_value_t = McpScopeArg::Project)]
    pub(crate) scope: McpScopeArg,
    /// How to reach it [default: stdio; for an address http, then sse].
    #[arg(short, long, visible_alias = "type", value_enum, value_name = "KIND")]
    pub(crate) transport: Option<McpTransportArg>,
    /// A variable for the program; `$NAME` in it is replaced at every start.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,
    /// A header for every request; `$NAME` in it is replaced at every start.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// How long a request may take, in milliseconds [default: 600000].
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: Option<u64>,
    /// Let its tools run without asking; only possible in your own settings.
    #[arg(long)]
    pub(crate) trust: bool,
    /// What the server is for.
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Use only these of its tools.
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    pub(crate) include_tools: Vec<String>,
    /// Do not use these of its tools.
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    pub(crate) exclude_tools: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpScopeArg {
    /// Your own settings, for every project.
    User,
    /// The project's settings.
    Project,
}

impl McpScopeArg {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            McpScopeArg::User => "user",
            McpScopeArg::Project => "project",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpTransportArg {
    /// A program on this machine.
    Stdio,
    /// HTTP with server-sent events.
    Sse,
    /// MCP's streamable HTTP transport.
    Http,
}

/// Moves the options of `mcp add` to the front of its command line.
///
/// As with Gemini CLI, they may stand anywhere before a `--`, and options that are not its own are the server's.
pub(crate) fn move_options_first(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let words: Vec<OsString> = words.collect();
    if words.get(1).is_none_or(|word| word != "mcp") || words.get(2).is_none_or(|word| word != "add") {
        return words;
    }
    let mut options = words[..3].to_vec();
    let mut others = vec![OsString::from("--")];
    let mut rest = words[3..].iter();
    while let Some(word) = rest.next() {
        match add_option_arity(word) {
            None if word == "--" => break,
            None => others.push(word.clone()),
            Some(OptionArity::Flag) => options.push(word.clone()),
            Some(OptionArity::OneValue) => options.extend([word.clone()].into_iter().chain(rest.next().cloned())),
        }
    }
    others.extend(rest.cloned());
    options.extend(others);
    options
}

/// How many values an option takes.
enum OptionArity {
    Flag,
    OneValue,
}

/// Returns the arity of an option of `mcp add`; `None` for any other word.
fn add_option_arity(word: &OsStr) -> Option<OptionArity> {
    let word = word.to_str()?;
    if matches!(word, "-h" | "--help") {
        return Some(OptionArity::Flag);
    }
    let add = McpAddArgs::augment_args(clap::Command::new("add"));
    let (name, has_value) = word.split_once('=').map_or((word, false), |(name, _)| (name, true));
    let option = add.get_arguments().find(|option| match name.strip_prefix("--") {
        Some(long) => {
            option.get_long() == Some(long) || option.get_all_aliases().is_some_and(|all| all.contains(&long))
        }
        None => name.strip_prefix('-').is_some_and(|short| {
            let mut chars = short.chars();
            option.get_short().is_some() && option.get_short() == chars.next() && chars.next().is_none()
        }),
    })?;
    let takes_none = has_value || matches!(option.get_action(), ArgAction::SetTrue);
    Some(if takes_none { OptionArity::Flag } else { OptionArity::OneValue })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, CliCommand};

    fn parse_add(line: &str) -> McpAddArgs {
        let words = line.split(' ').map(OsString::from);
        match Cli::try_parse_from(move_options_first(words)).unwrap().command {
            Some(CliCommand::Mcp(McpArgs { command: McpCommand::Add(server) })) => server,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn own_options_may_stand_anywhere_and_others_go_to_the_server() {
        let server =
            parse_add("hookwright mcp add -s user files npx -y pkg --port 3 -e A=1 --trust --type=stdio . -- -e B=2");
        assert_eq!((server.name.as_str(), server.target.as_str()), ("files", "npx"));
        assert_eq!(server.args, ["-y", "pkg", "--port", "3", ".", "-e", "B=2"]);
        assert_eq!(server.env, ["A=1"]);
        assert!(server.trust && server.scope == McpScopeArg::User && server.transport == Some(McpTransportArg::Stdio));
        assert_eq!(parse_add("hookwright mcp add x y").args, [""; 0]);
    }

    #[test]
    fn other_commands_are_left_alone() {
        for line in ["hookwright", "hookwright mcp", "hookwright mcp list --json", "hookwright add -s x"] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(move_options_first(words.clone().into_iter()), words);
        }
    }
}
