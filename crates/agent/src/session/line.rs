//! A typed line → what it asks for. THE table of slash commands: parsing, help and completion are made of it, in every
//! kind of session, so that no front end can send a command to the model.

use hookwright_settings::commands::Commands;
use hookwright_settings::skills::Skills;

use hookwright_tools::mcp::RemotePrompt;

use super::order::{
    AgentsOrder, BackgroundOrder, ChatOrder, Consent, Detail, ExtensionsOrder, Extent, HooksOrder, McpOrder,
    MemoryOrder, Order, PermissionsOrder, RestoreOrder, SkillsOrder,
};
use crate::commands::parse_invocation;

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
    /// A command that there is none of; what to say.
    Unknown(String),
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
    /// Leave.
    Quit,
}

/// A slash command.
#[derive(Debug)]
pub struct SlashCommand {
    /// One or two words, without the slash.
    pub name: &'static str,
    /// Other names of it.
    also: &'static [&'static str],
    /// What stands behind the name.
    argument: Argument,
    /// What it is for.
    pub about: &'static str,
    make: fn(&str) -> Typed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument {
    None,
    Optional(&'static str),
    Required(&'static str),
}

impl SlashCommand {
    /// The name with what stands behind it.
    pub fn usage(&self) -> String {
        match self.argument {
            Argument::None => self.name.to_owned(),
            Argument::Optional(what) => format!("{} [{what}]", self.name),
            Argument::Required(what) => format!("{} {what}", self.name),
        }
    }

    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.also.contains(&name)
    }
}

const fn row(
    name: &'static str,
    also: &'static [&'static str],
    argument: Argument,
    about: &'static str,
    make: fn(&str) -> Typed,
) -> SlashCommand {
    SlashCommand { name, also, argument, about, make }
}

/// Every slash command, in the order in which help lists them.
pub const SLASH_COMMANDS: &[SlashCommand] = {
    use Argument::{None as Alone, Optional, Required};
    const HOOK: Argument = Required("NAME");
    const EXTENSION: Argument = Required("NAME [--scope user|workspace]");
    &[
        row("help", &["?"], Alone, "what there is, and which keys do what", |_| Typed::View(View::Help)),
        row("hooks panel", &["hooks"], Alone, "the hooks panel: every hook, its state and what it did", |_| {
            Typed::View(View::HooksPanel)
        }),
        row("hooks list", &[], Alone, "every hook and its state", |_| hooks(HooksOrder::List)),
        row("hooks enable", &[], HOOK, "switch a hook on", |name| hooks(HooksOrder::Enable(name.to_owned()))),
        row("hooks disable", &[], HOOK, "switch a hook off", |name| hooks(HooksOrder::Disable(name.to_owned()))),
        row("hooks enable-all", &[], Alone, "switch every hook on", |_| hooks(HooksOrder::EnableAll)),
        row("hooks disable-all", &[], Alone, "switch every hook off", |_| hooks(HooksOrder::DisableAll)),
        row(
            "hooks trust",
            &[],
            Optional("NAME|--all"),
            "what waits for your trust; trust one hook, or everything",
            |which| {
                hooks(match which {
                    "" => HooksOrder::ShowUntrusted,
                    "--all" => HooksOrder::TrustAll,
                    name => HooksOrder::Trust(name.to_owned()),
                })
            },
        ),
        row("hooks trace", &[], Alone, "the last turn: events, hooks, decisions, times", |_| {
            Typed::View(View::HooksTrace)
        }),
        row("clear", &[], Alone, "begin a new conversation", |_| Typed::Order(Order::Clear)),
        row("compress", &["summarize"], Alone, "replace the history by a summary", |_| Typed::Order(Order::Compress)),
        row("model", &[], Optional("NAME"), "show or change the model", |name| Typed::Order(Order::Model(given(name)))),
        row("tools", &[], Alone, "what the model can call", |_| Typed::Order(Order::Tools(Detail::Short))),
        row("tools desc", &[], Alone, "the same, with descriptions", |_| Typed::Order(Order::Tools(Detail::Full))),
        row("mcp list", &["mcp"], Alone, "MCP servers: their state, tools, prompts and resources", |_| {
            mcp(McpOrder::List(Detail::Short))
        }),
        row("mcp desc", &[], Alone, "the same, with descriptions", |_| mcp(McpOrder::List(Detail::Full))),
        row("mcp refresh", &["mcp reload"], Alone, "connect MCP servers anew", |_| mcp(McpOrder::Refresh)),
        row("mcp auth", &[], Required("NAME"), "sign in to an MCP server elsewhere", |name| {
            mcp(McpOrder::SignIn(name.to_owned()))
        }),
        row("mcp logout", &[], Required("NAME"), "forget the token for one", |name| {
            mcp(McpOrder::SignOut(name.to_owned()))
        }),
        row("memory show", &["memory"], Alone, "what the model is told from GEMINI.md files", |_| {
            memory(MemoryOrder::Show)
        }),
        row("memory list", &[], Alone, "the files that this comes from", |_| memory(MemoryOrder::List)),
        row("memory add", &[], Required("TEXT"), "add to your GEMINI.md", |text| {
            memory(MemoryOrder::Add(text.to_owned()))
        }),
        row("memory reload", &["memory refresh"], Alone, "read GEMINI.md files again", |_| memory(MemoryOrder::Reload)),
        row(
            "skills list",
            &["skills"],
            Optional("nodesc"),
            "every skill and whether the model is offered it",
            list_skills,
        ),
        row("skills reload", &["skills refresh"], Alone, "find skills again", |_| skills(SkillsOrder::Reload)),
        row("skills enable", &[], Required("NAME"), "offer a skill again", |name| {
            skills(SkillsOrder::Enable(name.to_owned()))
        }),
        row("skills disable", &[], Required("NAME"), "offer a skill no more", |name| {
            skills(SkillsOrder::Disable(name.to_owned()))
        }),
        row("extensions list", &["extensions"], Alone, "what is installed, and whether it counts here", |_| {
            extensions(ExtensionsOrder::List)
        }),
        row("extensions enable", &[], EXTENSION, "switch an extension on", |words| {
            switch_extension(words, ExtensionsOrder::Enable)
        }),
        row("extensions disable", &[], EXTENSION, "switch an extension off", disable_extension),
        row(
            "extensions update",
            &[],
            Required("NAME|--all|NAME --consent"),
            "show what is new of an extension; put in place what was shown",
            update_extension,
        ),
        row("commands list", &["commands", "commands reload"], Alone, "custom commands, read again", |_| {
            Typed::Order(Order::CustomCommands)
        }),
        row("agents list", &["agents"], Alone, "the agents that can be delegated to", |_| agents(AgentsOrder::List)),
        row("agents reload", &["agents refresh"], Alone, "read agents again", |_| agents(AgentsOrder::Reload)),
        row("agents enable", &[], Required("NAME"), "let an agent be called", |name| {
            agents(AgentsOrder::Enable(name.to_owned()))
        }),
        row("agents disable", &[], Required("NAME"), "let an agent be called no more", |name| {
            agents(AgentsOrder::Disable(name.to_owned()))
        }),
        row("stats", &[], Alone, "what the session did and cost", |_| Typed::View(View::Stats)),
        row("resume", &[], Optional("NUMBER"), "go on with an earlier session", |which| {
            Typed::Order(Order::Resume(given(which)))
        }),
        row(
            "permissions list",
            &["permissions"],
            Alone,
            "what you have allowed, for good and for this session",
            |_| Typed::Order(Order::Permissions(PermissionsOrder::List)),
        ),
        row("permissions forget", &[], Required("NUMBER|--all"), "take back what you have allowed", forget_permission),
        row(
            "restore",
            &["rewind"],
            Optional("NUMBER [files|conversation|both] [--overwrite]"),
            "go back to before an earlier turn: its files, the conversation or both",
            restore,
        ),
        row("chat save", &[], Required("NAME"), "keep the conversation under a name", |name| {
            chat(ChatOrder::Save(name.to_owned()))
        }),
        row("chat resume", &["chat load"], Required("NAME"), "go on with a kept conversation", |name| {
            chat(ChatOrder::Resume(name.to_owned()))
        }),
        row("chat list", &["chat"], Alone, "kept conversations", |_| chat(ChatOrder::List)),
        row("chat delete", &[], Required("NAME"), "delete a kept conversation", |name| {
            chat(ChatOrder::Delete(name.to_owned()))
        }),
        row("background list", &["background"], Alone, "commands that run on by themselves", |_| {
            background(BackgroundOrder::List)
        }),
        row("background keep", &[], Required("PID"), "let one run on when you leave", |pid| {
            background(BackgroundOrder::Keep(pid.to_owned()))
        }),
        row("background end", &[], Required("PID"), "end one", |pid| background(BackgroundOrder::End(pid.to_owned()))),
        row("copy", &[], Alone, "copy the last answer", |_| Typed::View(View::Copy)),
        row(
            "expand",
            &[],
            Optional("NUMBER"),
            "all of the last output, thought or diff, or of one before it",
            |which| match which {
                "" => Typed::View(View::Expand(1)),
                number => match number.parse() {
                    Ok(back @ 1..) => Typed::View(View::Expand(back)),
                    _ => Typed::Misspelt("write it as /expand, or /expand 2 for the one before the last".to_owned()),
                },
            },
        ),
        row("about", &["version"], Alone, "version, model, folder", |_| Typed::Order(Order::About)),
        row("quit", &["exit"], Alone, "leave", |_| Typed::View(View::Quit)),
    ]
};

fn hooks(order: HooksOrder) -> Typed {
    Typed::Order(Order::Hooks(order))
}

fn agents(order: AgentsOrder) -> Typed {
    Typed::Order(Order::Agents(order))
}

fn background(order: BackgroundOrder) -> Typed {
    Typed::Order(Order::Background(order))
}

fn mcp(order: McpOrder) -> Typed {
    Typed::Order(Order::Mcp(order))
}

fn memory(order: MemoryOrder) -> Typed {
    Typed::Order(Order::Memory(order))
}

fn skills(order: SkillsOrder) -> Typed {
    Typed::Order(Order::Skills(order))
}

fn extensions(order: ExtensionsOrder) -> Typed {
    Typed::Order(Order::Extensions(order))
}

fn disable_extension(words: &str) -> Typed {
    let (words, consent) = match words.trim().strip_suffix(" --consent") {
        Some(words) => (words, Consent::Given),
        None => (words, Consent::Missing),
    };
    switch_extension(words, |name, extent| ExtensionsOrder::Disable(name, extent, consent))
}

fn switch_extension(words: &str, order: impl FnOnce(String, Extent) -> ExtensionsOrder) -> Typed {
    let words: Vec<&str> = words.split([' ', '\t', '=']).filter(|word| !word.is_empty()).collect();
    let (name, extent) = match words.as_slice() {
        [name] | [name, "--scope", "user"] => (name, Extent::Everywhere),
        [name, "--scope", "workspace"] => (name, Extent::Here),
        _ => return Typed::Misspelt(group_usage("extensions")),
    };
    extensions(order((*name).to_owned(), extent))
}

fn update_extension(words: &str) -> Typed {
    let words: Vec<&str> = words.split_whitespace().collect();
    extensions(match words.as_slice() {
        ["--all"] => ExtensionsOrder::Update(None),
        [name] if !name.starts_with('-') => ExtensionsOrder::Update(Some((*name).to_owned())),
        [name, "--consent"] => ExtensionsOrder::Agree((*name).to_owned()),
        _ => return Typed::Misspelt(group_usage("extensions")),
    })
}

/// `all` is Gemini CLI's word for built-in ones too, of which there are none.
fn list_skills(words: &str) -> Typed {
    let mut detail = Detail::Full;
    for word in words.split_whitespace() {
        match word.trim_start_matches("--") {
            "nodesc" => detail = Detail::Short,
            "desc" | "all" => {}
            _ => return Typed::Misspelt(group_usage("skills")),
        }
    }
    skills(SkillsOrder::List(detail))
}

fn forget_permission(words: &str) -> Typed {
    let order = PermissionsOrder::forgetting(words);
    order.map_or_else(|| Typed::Misspelt(group_usage("permissions")), |order| Typed::Order(Order::Permissions(order)))
}

fn restore(words: &str) -> Typed {
    let order = RestoreOrder::read(words);
    order.map_or_else(|| Typed::Misspelt(usage_of("restore")), |order| Typed::Order(Order::Restore(order)))
}

/// How a command is written.
fn usage_of(name: &str) -> String {
    let usage = SLASH_COMMANDS.iter().find(|row| row.name == name).map(SlashCommand::usage);
    format!("this is written /{}", usage.unwrap_or_default())
}

fn chat(order: ChatOrder) -> Typed {
    Typed::Order(Order::Chat(order))
}

fn given(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
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
            Some(command) if !command.is_empty() => Typed::Order(Order::Shell(command.to_owned())),
            _ => Typed::Order(Order::Prompt(text.trim_end().to_owned())),
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

fn unknown(word: &str, custom: &Commands) -> String {
    let own = SLASH_COMMANDS.iter().map(|row| row.name.split(' ').next().unwrap_or(row.name));
    let names = own.chain(custom.list.iter().map(|command| command.name.as_str()));
    let near = names.into_iter().find(|name| name.starts_with(word) || word.starts_with(name));
    let hint = near.map_or_else(|| "/help shows what there is".to_owned(), |name| format!("did you mean /{name}?"));
    format!("there is no command /{word}; {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Typed {
        Typed::read(text, &Commands::default(), &[])
    }

    #[test]
    fn prompts_of_one_name_are_told_apart_by_their_servers() {
        let prompt = || RemotePrompt { name: "hello".to_owned(), description: String::new(), arguments: Vec::new() };
        let two = [("a b".to_owned(), prompt()), ("c".to_owned(), prompt())];
        assert_eq!(prompt_commands(&two), ["a-b.hello", "c.hello"]);
        assert_eq!(prompt_commands(&two[..1]), ["hello"]);
        let of = |text: &str, prompts: &[_]| match Typed::read(text, &Commands::default(), prompts) {
            Typed::Order(Order::ServerPrompt { server, .. }) => server,
            other => format!("{other:?}"),
        };
        assert_eq!(
            (of("/c.hello", &two), of("/a-b.hello", &two), of("/c.hello", &two[1..])),
            ("c".into(), "a b".into(), "c".into())
        );
        assert!(of("/hello", &two).contains("say which: /a-b.hello, /c.hello"), "{}", of("/hello", &two));
    }

    #[test]
    fn prompts_of_servers_are_commands() {
        let argument = |name: &str, required| hookwright_tools::mcp::PromptArgument {
            name: name.to_owned(),
            description: String::new(),
            required,
        };
        let prompt = |arguments| RemotePrompt { name: "say hello".to_owned(), description: String::new(), arguments };
        let two = [("s".to_owned(), prompt(vec![argument("who", true), argument("how", true)]))];
        let one = [("s".to_owned(), prompt(vec![argument("who", true), argument("how", false)]))];
        let args = |text: &str, prompts: &[_]| match Typed::read(text, &Commands::default(), prompts) {
            Typed::Order(Order::ServerPrompt { args, .. }) => serde_json::Value::Object(args).to_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(args("/say-hello Ada \"very warmly\"", &two), r#"{"who":"Ada","how":"very warmly"}"#);
        assert_eq!(args("/say-hello --how=\"a b\" Ada", &two), r#"{"how":"a b","who":"Ada"}"#);
        assert_eq!(args("/say-hello Ada and Bo", &one), r#"{"who":"Ada and Bo"}"#);
        assert!(args("/say-hello Ada", &two).contains("needs --how"), "{}", args("/say-hello Ada", &two));
        assert!(
            args("/help", &[("s".to_owned(), RemotePrompt { name: "help".into(), ..prompt(vec![]) })]).contains("Help")
        );
    }

    #[test]
    fn every_command_is_read_as_itself_by_all_its_names() {
        for row in SLASH_COMMANDS {
            let argument = if row.argument == Argument::None { "" } else { " x y" };
            let expected = (row.make)(argument.trim());
            for name in std::iter::once(&row.name).chain(row.also) {
                assert_eq!(read(&format!("/{name}{argument} ")), expected, "{name}");
            }
            if let Argument::Required(_) = row.argument {
                assert!(matches!(read(&format!("/{}", row.name)), Typed::Misspelt(_)), "{}", row.name);
            }
        }
    }

    #[test]
    fn no_command_ever_becomes_a_prompt() {
        for text in ["/hooks nonsense", "/hooks  list", "/memory x", "/chat save", "/nope", "/hookz list", "/help me"] {
            assert!(!matches!(read(text), Typed::Order(Order::Prompt(_))), "{text}");
        }
        let usage = "/memory show|list|add TEXT|reload".to_owned();
        assert_eq!(read("/memory forget"), Typed::Misspelt(usage));
        assert_eq!(read("/hook"), Typed::Unknown("there is no command /hook; did you mean /hooks?".to_owned()));
    }

    #[test]
    fn what_is_no_command_goes_to_the_model_or_the_shell() {
        assert_eq!(read("  "), Typed::Blank);
        for text in ["/usr/bin is a path", "// a comment", "/", "!", "hello /help"] {
            assert_eq!(read(text), Typed::Order(Order::Prompt(text.to_owned())));
        }
        assert_eq!(read(" ! ls -l "), Typed::Order(Order::Shell("ls -l".to_owned())));
        assert_eq!(read("two\nlines\n"), Typed::Order(Order::Prompt("two\nlines".to_owned())));
    }
}
