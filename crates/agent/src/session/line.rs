//! A typed line → what it asks for. Parsing, help and completion are made of THE table of slash commands (`table.rs`), in
//! every kind of session, so that no front end can send a command to the model.

mod table;

use hookwright_hooks::nearest;
use hookwright_settings::Loaded;
use hookwright_settings::commands::{Commands, discover};
use hookwright_settings::skills::Skills;

use hookwright_tools::mcp::RemotePrompt;

use super::order::Order;
use crate::commands::parse_invocation;
use table::Argument;
pub use table::{SLASH_COMMANDS, SlashCommand};

/// What a line asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Typed {
    /// Nothing: it is blank.
    Blank,
    /// Something of the session.
    Order(Order),
    /// Something that only the front end has.
    View(View),
    /// A command that is not written as it should be; how it should.
    Misspelt(String),
    /// A command that there is none of.
    Unknown(UnknownCommand),
}

/// A command that there is none of; it says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCommand {
    /// What was typed behind the slash.
    pub name: String,
    /// The one that was most likely meant: then it is a slip, and no words for the model.
    pub near: Option<String>,
    /// Whether the project has a command of that name, which waits for trust in its folder.
    pub untrusted: bool,
}

impl std::fmt::Display for UnknownCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let UnknownCommand { name, near, untrusted } = self;
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

/// The custom commands of a configuration. What is named like a built-in command has another name.
pub fn custom_commands(loaded: &Loaded) -> Commands {
    let is_builtin = |name: &str| {
        let mut names = SLASH_COMMANDS.iter().flat_map(|row| row.also.iter().copied().chain([row.name]));
        names.any(|builtin| split_word(builtin).0 == name)
    };
    discover(&loaded.paths, &loaded.project, &loaded.extensions, &is_builtin)
}

/// What a front end shows by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// What there is.
    Help,
    /// Every hook and what it did.
    HooksPanel,
    /// The last turn's timeline.
    HooksTrace,
    /// What the session did and cost.
    Stats,
    /// Copy the last answer.
    Copy,
    /// Show all of an output, a thought or a diff: which one from the end, from 1.
    Expand(usize),
    /// Take every line for a command of the user's, until further notice.
    ShellMode,
    /// Leave.
    Quit,
}

impl Typed {
    /// Reads what the user typed; custom commands stand behind our own.
    pub fn read(text: &str, custom: &Commands, prompts: &[(String, RemotePrompt)]) -> Typed {
        let bare = text.trim();
        if bare.is_empty() {
            return Typed::Blank;
        }
        // `/usr/bin` is a path, `// …` a comment; neither is a command.
        let is_command = |rest: &&str| !rest.split_whitespace().next().is_none_or(|word| word.contains(['/', '*']));
        if let Some(command) = bare.strip_prefix('/').filter(is_command) {
            return slash(command, bare, custom, prompts);
        }
        match bare.strip_prefix('!').map(str::trim) {
            Some("") => Typed::View(View::ShellMode),
            Some(command) => Typed::Order(Order::Shell(command.to_owned())),
            None => Typed::Order(Order::Prompt(text.trim_end().to_owned())),
        }
    }
}

fn slash(command: &str, typed: &str, custom: &Commands, prompts: &[(String, RemotePrompt)]) -> Typed {
    let (first, rest) = split_word(command);
    let (second, rest_of_two) = split_word(rest);
    let two = format!("{first} {second}");
    let called = |name: &str| SLASH_COMMANDS.iter().find(|row| row.is_called(name));
    let takes_words = |row: &&SlashCommand| row.argument != Argument::None || rest.is_empty() || !is_group(first);
    if let Some(row) = called(&two) {
        return make(row, rest_of_two);
    }
    if let Some(row) = called(first).filter(takes_words) {
        return make(row, rest);
    }
    if is_group(first) {
        return Typed::Misspelt(group_usage(first));
    }
    match parse_invocation(typed, custom) {
        Some((command, args)) => {
            let (command, typed, args) = (Box::new(command.clone()), typed.to_owned(), args.to_owned());
            Typed::Order(Order::Custom { command, typed, args })
        }
        None if custom.broken(first).is_some() => {
            Typed::Misspelt(custom.broken(first).map(ToString::to_string).unwrap_or_default())
        }
        None => {
            let own = |(server, prompt): &&(String, RemotePrompt)| {
                let name = prompt_command(prompt);
                name == first || of_server(server, &name) == first
            };
            match prompts.iter().filter(own).collect::<Vec<_>>().as_slice() {
                [] => Typed::Unknown(unknown(first, custom)),
                [(server, prompt)] => server_prompt(server, prompt, typed, rest),
                several => {
                    let names = several.iter().map(|(server, _)| format!("/{}", of_server(server, first)));
                    let names = names.collect::<Vec<_>>().join(", ");
                    Typed::Misspelt(format!("several MCP servers have /{first}; say which: {names}"))
                }
            }
        }
    }
}

/// The skill that a line calls by its name, if there is one that counts.
pub(super) fn skill_called(typed: &str, skills: &Skills) -> Option<Typed> {
    let (first, task) = split_word(typed.trim().strip_prefix('/')?);
    let skill = skills.get(first).filter(|skill| skill.state.counts())?;
    let (name, task, typed) = (skill.name.clone(), task.to_owned(), typed.trim().to_owned());
    Some(Typed::Order(Order::UseSkill { name, task, typed }))
}

/// The commands that servers' prompts are, in their order: one that several have is told apart by its server.
pub fn prompt_commands(prompts: &[(String, RemotePrompt)]) -> Vec<String> {
    let names: Vec<String> = prompts.iter().map(|(_, prompt)| prompt_command(prompt)).collect();
    let is_only = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    let named = |(name, (server, _)): (&String, &(String, _))| match is_only(name) {
        true => name.clone(),
        false => of_server(server, name),
    };
    names.iter().zip(prompts).map(named).collect()
}

/// A prompt's command with the name of its server.
fn of_server(server: &str, command: &str) -> String {
    format!("{}.{command}", server.split_whitespace().collect::<Vec<_>>().join("-"))
}

/// The command that a server's prompt is.
fn prompt_command(prompt: &RemotePrompt) -> String {
    prompt.name.split_whitespace().collect::<Vec<_>>().join("-")
}

/// `/name --who=x "by place"`: what is named goes where it is named, the rest to what is still missing, in order.
fn server_prompt(server: &str, prompt: &RemotePrompt, typed: &str, rest: &str) -> Typed {
    let mut args = serde_json::Map::new();
    let mut others = Vec::new();
    for word in words(rest) {
        match word.strip_prefix("--").and_then(|pair| pair.split_once('=')) {
            Some((name, value)) if prompt.arguments.iter().any(|known| known.name == name) => {
                args.insert(name.to_owned(), value.into());
            }
            _ => others.push(word),
        }
    }
    let missing: Vec<_> = prompt.arguments.iter().filter(|known| !args.contains_key(&known.name)).collect();
    let required: Vec<_> = missing.iter().filter(|known| known.required).collect();
    // One thing that is missing is the whole rest.
    if let ([only], false) = (required.as_slice(), others.is_empty()) {
        args.insert(only.name.clone(), others.join(" ").into());
    } else {
        missing.iter().zip(others).for_each(|(known, word)| drop(args.insert(known.name.clone(), word.into())));
    }
    let lacking = prompt.arguments.iter().filter(|known| known.required && !args.contains_key(&known.name));
    let lacking: Vec<String> = lacking.map(|known| format!("--{}=… ({})", known.name, known.description)).collect();
    if !lacking.is_empty() {
        return Typed::Misspelt(format!("/{} needs {}", prompt_command(prompt), lacking.join(", ")));
    }
    let (server, name, typed) = (server.to_owned(), prompt.name.clone(), typed.to_owned());
    Typed::Order(Order::ServerPrompt { server, name, args, typed })
}

/// Words apart at blanks, but for what stands in double quotes.
fn words(text: &str) -> Vec<String> {
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

fn make(row: &SlashCommand, argument: &str) -> Typed {
    match row.argument {
        Argument::Required(_) if argument.is_empty() => Typed::Misspelt(format!("/{}: {}", row.usage(), row.about)),
        // Words that nobody reads were meant for something: `/clear the cache` is no wish for another conversation.
        Argument::None if !argument.is_empty() => {
            Typed::Misspelt(format!("/{} takes nothing behind it: {}", row.name, row.about))
        }
        _ => (row.make)(argument),
    }
}

/// The words that begin commands of two words, and what each does alone.
pub fn slash_groups() -> Vec<(&'static str, &'static str)> {
    let mut groups: Vec<_> = SLASH_COMMANDS.iter().filter_map(|row| Some(row.name.split_once(' ')?.0)).collect();
    groups.dedup();
    let about = |word: &str| SLASH_COMMANDS.iter().find(|row| row.is_called(word)).map_or("…", |row| row.about);
    groups.into_iter().map(|word| (word, about(word))).collect()
}

/// Whether a word begins commands of two words.
fn is_group(word: &str) -> bool {
    SLASH_COMMANDS.iter().any(|row| row.name.split_once(' ').is_some_and(|(first, _)| first == word))
}

fn group_usage(word: &str) -> String {
    let rows = SLASH_COMMANDS.iter().filter(|row| row.name.split_once(' ').is_some_and(|(first, _)| first == word));
    let verbs: Vec<String> = rows.map(|row| row.usage()[word.len() + 1..].to_owned()).collect();
    format!("/{word} {}", verbs.join("|"))
}

fn unknown(word: &str, custom: &Commands) -> UnknownCommand {
    let own = SLASH_COMMANDS.iter().map(|row| row.name.split(' ').next().unwrap_or(row.name));
    let names = own.chain(custom.list.iter().map(|command| command.name.as_str()));
    let names: Vec<&str> = names.collect();
    let begins = names.iter().copied().find(|name| name.starts_with(word) || word.starts_with(name));
    let near = begins.or_else(|| nearest(word, names.iter().copied()));
    let untrusted = custom.untrusted.iter().any(|name| name == word);
    UnknownCommand { name: word.to_owned(), near: near.map(str::to_owned), untrusted }
}

#[cfg(test)]
mod tests;
