//! Parses a typed line. Parsing, help and completion share the table of slash commands (`slash_commands.rs`) in every
//! kind of session, so that no front end sends a command to the model.

mod slash_commands;

use hookwright_hooks::nearest_name;
use hookwright_settings::LoadedConfig;
use hookwright_settings::commands::{CustomCommands, discover};
use hookwright_settings::skills::Skills;

use hookwright_tools::mcp::RemotePrompt;

use super::command::SessionCommand;
use crate::commands::parse_invocation;
pub(super) use slash_commands::HELP_GROUPS;
use slash_commands::SlashArgument;
pub use slash_commands::{SLASH_COMMANDS, SlashCommand};

/// The meaning of a typed line.
#[derive(Clone, Debug, PartialEq)]
pub enum InputLine {
    /// The line is blank.
    Blank,
    /// A command for the session.
    Command(SessionCommand),
    /// An action of the front end itself.
    FrontEnd(FrontEndAction),
    /// A command with wrong arguments; the text says how it is written.
    InvalidUsage(String),
    /// A command that does not exist.
    UnknownCommand(UnknownCommand),
}

/// A command that does not exist; its `Display` text says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCommand {
    /// The name that was typed after the slash.
    pub name: String,
    /// The command that was most likely meant. With one, the line is a typing mistake and not a prompt.
    pub suggestion: Option<String>,
    /// Whether the project has a command of that name, which waits for trust in the folder.
    pub untrusted: bool,
}

impl std::fmt::Display for UnknownCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let UnknownCommand { name, suggestion: near, untrusted } = self;
        match near {
            _ if *untrusted => write!(
                f,
                "/{name} is a command of this folder and waits for trust; look at it, then trust the folder with /trust or \
                 `hookwright hooks trust --folder`"
            ),
            Some(near) => write!(f, "there is no command /{name}; did you mean /{near}?"),
            None => write!(f, "there is no command /{name}; /help shows what there is"),
        }
    }
}

impl std::error::Error for UnknownCommand {}

/// Discovers the custom commands of a configuration. One with the name of a built-in command gets another name.
pub fn discover_custom_commands(loaded: &LoadedConfig) -> CustomCommands {
    let is_builtin = |name: &str| {
        let mut names = SLASH_COMMANDS.iter().flat_map(|row| row.aliases.iter().copied().chain([row.name]));
        names.any(|builtin| split_word(builtin).0 == name)
    };
    discover(&loaded.paths, &loaded.project, &loaded.extensions, &is_builtin)
}

/// An action that a front end carries out itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontEndAction {
    /// Shows the available commands.
    Help,
    /// Shows every hook with its activity.
    HooksPanel,
    /// Shows the timeline of the last turn.
    HooksTrace,
    /// Copies the last answer.
    Copy,
    /// Shows a whole output, thought or diff, counted from the end and from 1.
    Expand(usize),
    /// Enters shell mode, in which every line is the user's own shell command.
    ShellMode,
    /// Leaves the program.
    Quit,
}

impl InputLine {
    /// Parses a line. Built-in commands take precedence over custom ones.
    pub fn parse(text: &str, custom: &CustomCommands, prompts: &[(String, RemotePrompt)]) -> InputLine {
        let bare = text.trim();
        if bare.is_empty() {
            return InputLine::Blank;
        }
        // `/usr/bin` is a path and `// …` a comment; neither is a command.
        let is_command = |rest: &&str| !rest.split_whitespace().next().is_none_or(|word| word.contains(['/', '*']));
        if let Some(command) = bare.strip_prefix('/').filter(is_command) {
            return parse_slash_command(command, bare, custom, prompts);
        }
        match bare.strip_prefix('!').map(str::trim) {
            Some("") => InputLine::FrontEnd(FrontEndAction::ShellMode),
            Some(command) => InputLine::Command(SessionCommand::UserShell(command.to_owned())),
            None => InputLine::Command(SessionCommand::Prompt(text.trim_end().to_owned())),
        }
    }
}

fn parse_slash_command(
    command: &str,
    typed: &str,
    custom: &CustomCommands,
    prompts: &[(String, RemotePrompt)],
) -> InputLine {
    let (first, rest) = split_word(command);
    let (second, rest_of_two) = split_word(rest);
    let two = format!("{first} {second}");
    let called = |name: &str| SLASH_COMMANDS.iter().find(|row| row.has_name(name));
    let takes_words =
        |row: &&SlashCommand| row.argument != SlashArgument::None || rest.is_empty() || !is_command_group(first);
    if let Some(row) = called(&two) {
        return build_command(row, rest_of_two);
    }
    if let Some(row) = called(first).filter(takes_words) {
        return build_command(row, rest);
    }
    if is_command_group(first) {
        return InputLine::InvalidUsage(group_usage(first));
    }
    match parse_invocation(typed, custom) {
        Some((command, args)) => {
            let (command, typed, args) = (Box::new(command.clone()), typed.to_owned(), args.to_owned());
            InputLine::Command(SessionCommand::CustomCommand { command, typed, args })
        }
        None if custom.rejection_of(first).is_some() => {
            InputLine::InvalidUsage(custom.rejection_of(first).map(ToString::to_string).unwrap_or_default())
        }
        None => {
            let own = |(server, prompt): &&(String, RemotePrompt)| {
                let name = prompt_command_name(prompt);
                name == first || qualified_command_name(server, &name) == first
            };
            match prompts.iter().filter(own).collect::<Vec<_>>().as_slice() {
                [] => InputLine::UnknownCommand(unknown_command(first, custom)),
                [(server, prompt)] => parse_server_prompt(server, prompt, typed, rest),
                several => {
                    let names = several.iter().map(|(server, _)| format!("/{}", qualified_command_name(server, first)));
                    let names = names.collect::<Vec<_>>().join(", ");
                    InputLine::InvalidUsage(format!("several MCP servers have /{first}; say which: {names}"))
                }
            }
        }
    }
}

/// Parses a line that calls an active skill by its name.
pub(super) fn parse_skill_command(typed: &str, skills: &Skills) -> Option<InputLine> {
    let (first, task) = split_word(typed.trim().strip_prefix('/')?);
    let skill = skills.get(first).filter(|skill| skill.state.is_active())?;
    let (name, task, typed) = (skill.name.clone(), task.to_owned(), typed.trim().to_owned());
    Some(InputLine::Command(SessionCommand::UseSkill { name, task, typed }))
}

/// Returns the command names of server prompts, in their order. A name that several servers have is qualified by the
/// server.
pub fn prompt_command_names(prompts: &[(String, RemotePrompt)]) -> Vec<String> {
    let names: Vec<String> = prompts.iter().map(|(_, prompt)| prompt_command_name(prompt)).collect();
    let is_only = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    let named = |(name, (server, _)): (&String, &(String, _))| match is_only(name) {
        true => name.clone(),
        false => qualified_command_name(server, name),
    };
    names.iter().zip(prompts).map(named).collect()
}

/// Returns a prompt's command name qualified by its server.
fn qualified_command_name(server: &str, command: &str) -> String {
    format!("{}.{command}", server.split_whitespace().collect::<Vec<_>>().join("-"))
}

/// Returns the command name of a server's prompt.
fn prompt_command_name(prompt: &RemotePrompt) -> String {
    prompt.name.split_whitespace().collect::<Vec<_>>().join("-")
}

/// Parses `/name --who=x "by place"`: named arguments first, then the others for those still missing, in order.
fn parse_server_prompt(server: &str, prompt: &RemotePrompt, typed: &str, rest: &str) -> InputLine {
    let mut args = serde_json::Map::new();
    let mut others = Vec::new();
    for word in split_words(rest) {
        match word.strip_prefix("--").and_then(|pair| pair.split_once('=')) {
            Some((name, value)) if prompt.arguments.iter().any(|known| known.name == name) => {
                args.insert(name.to_owned(), value.into());
            }
            _ => others.push(word),
        }
    }
    let missing: Vec<_> = prompt.arguments.iter().filter(|known| !args.contains_key(&known.name)).collect();
    let required: Vec<_> = missing.iter().filter(|known| known.required).collect();
    // If a single required argument is missing, it takes all remaining words.
    if let ([only], false) = (required.as_slice(), others.is_empty()) {
        args.insert(only.name.clone(), others.join(" ").into());
    } else {
        missing.iter().zip(others).for_each(|(known, word)| drop(args.insert(known.name.clone(), word.into())));
    }
    let lacking = prompt.arguments.iter().filter(|known| known.required && !args.contains_key(&known.name));
    let lacking: Vec<String> = lacking.map(|known| format!("--{}=… ({})", known.name, known.description)).collect();
    if !lacking.is_empty() {
        return InputLine::InvalidUsage(format!("/{} needs {}", prompt_command_name(prompt), lacking.join(", ")));
    }
    let (server, name, typed) = (server.to_owned(), prompt.name.clone(), typed.to_owned());
    InputLine::Command(SessionCommand::ServerPrompt { server, name, args, typed })
}

/// Splits text at whitespace, but not inside double quotes.
fn split_words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut begun) = (Vec::new(), String::new(), false, false);
    for letter in text.chars() {
        match letter {
            '"' => (quoted, begun) = (!quoted, true),
            blank if blank.is_whitespace() && !quoted => {
                if std::mem::take(&mut begun) {
                    words.push(std::mem::take(&mut word));
                }
            }
            other => {
                word.push(other);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

fn build_command(row: &SlashCommand, argument: &str) -> InputLine {
    match row.argument {
        SlashArgument::Required(_) if argument.is_empty() => {
            InputLine::InvalidUsage(format!("/{}: {}", row.usage(), row.about))
        }
        // Unexpected words are an error: `/clear the cache` must not clear the conversation.
        SlashArgument::None if !argument.is_empty() => {
            InputLine::InvalidUsage(format!("/{} takes no arguments: {}", row.name, row.about))
        }
        _ => (row.build)(argument),
    }
}

/// Returns the first words of two-word commands, with what each does alone.
pub fn slash_command_groups() -> Vec<(&'static str, &'static str)> {
    let mut groups: Vec<_> = SLASH_COMMANDS.iter().filter_map(|row| Some(row.name.split_once(' ')?.0)).collect();
    groups.dedup();
    let about = |word: &str| SLASH_COMMANDS.iter().find(|row| row.has_name(word)).map_or("…", |row| row.about);
    groups.into_iter().map(|word| (word, about(word))).collect()
}

/// Returns whether a word begins a two-word command.
fn is_command_group(word: &str) -> bool {
    SLASH_COMMANDS.iter().any(|row| row.name.split_once(' ').is_some_and(|(first, _)| first == word))
}

fn group_usage(word: &str) -> String {
    let rows = SLASH_COMMANDS.iter().filter(|row| row.name.split_once(' ').is_some_and(|(first, _)| first == word));
    let verbs: Vec<String> = rows.map(|row| row.usage()[word.len() + 1..].to_owned()).collect();
    format!("/{word} {}", verbs.join("|"))
}

fn unknown_command(word: &str, custom: &CustomCommands) -> UnknownCommand {
    let own = SLASH_COMMANDS.iter().map(|row| row.name.split(' ').next().unwrap_or(row.name));
    let names = own.chain(custom.list.iter().map(|command| command.name.as_str()));
    let names: Vec<&str> = names.collect();
    let begins = names.iter().copied().find(|name| name.starts_with(word) || word.starts_with(name));
    let near = begins.or_else(|| nearest_name(word, names.iter().copied()));
    let untrusted = custom.untrusted.iter().any(|name| name == word);
    UnknownCommand { name: word.to_owned(), suggestion: near.map(str::to_owned), untrusted }
}

#[cfg(test)]
mod tests;
