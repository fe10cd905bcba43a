//! THE table of slash commands: what each is called, what stands behind it, what it is for, and what it asks for.

use super::{Typed, View, group_usage};
use crate::session::order::{
    AgentsOrder, BackgroundOrder, ChatOrder, Consent, Detail, DiffOrder, DirectoryOrder, ExtensionsOrder, Extent,
    HooksOrder, McpOrder, MemoryOrder, Order, PermissionsOrder, RestoreOrder, SkillsOrder,
};

/// A slash command.
#[derive(Debug)]
pub struct SlashCommand {
    /// One or two words, without the slash.
    pub name: &'static str,
    /// Other names of it.
    pub(super) also: &'static [&'static str],
    /// What stands behind the name.
    pub(super) argument: Argument,
    /// What it is for.
    pub about: &'static str,
    pub(super) make: fn(&str) -> Typed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
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

    pub(super) fn is_called(&self, name: &str) -> bool {
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
        row("auth", &["login"], Alone, "connect a model: a key, or a server on this machine", |_| {
            Typed::Order(Order::Auth)
        }),
        row("logout", &["auth logout"], Alone, "forget what was connected, with its key, and leave", |_| {
            Typed::Order(Order::Logout)
        }),
        row("model", &[], Optional("NAME"), "choose another model, also of another service", |name| {
            Typed::Order(Order::Model(given(name)))
        }),
        row("settings", &[], Optional("NAME"), "show and change settings, or one of them", |name| {
            Typed::Order(Order::Settings(given(name)))
        }),
        row("theme", &[], Optional("NAME"), "other colours: auto, dark, light, high-contrast, terminal", |name| {
            Typed::Order(Order::Theme(given(name)))
        }),
        row("vim", &[], Alone, "vi's keys in the composer, on or off", |_| Typed::Order(Order::Vim)),
        row("trust", &[], Alone, "whether this folder's own files count: show and change it", |_| {
            Typed::Order(Order::Trust)
        }),
        row(
            "directory show",
            &["directory", "dir", "dir show"],
            Alone,
            "the directories that tools may work in",
            |_| Typed::Order(Order::Directory(DirectoryOrder::Show)),
        ),
        row("directory add", &["dir add"], Required("PATH"), "let tools work in another one", |path| {
            Typed::Order(Order::Directory(DirectoryOrder::Add(path.to_owned())))
        }),
        row("init", &[], Alone, "have the model write a GEMINI.md for this project", |_| Typed::Order(Order::Init)),
        row(
            "diff",
            &[],
            Alone,
            "what is different from the last commit, and what this session changed besides",
            |_| Typed::Order(Order::Diff(DiffOrder::All)),
        ),
        row("diff session", &[], Alone, "what this session changed", |_| Typed::Order(Order::Diff(DiffOrder::Session))),
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
        row("stats", &[], Alone, "what the session did and cost", |_| Typed::View(View::Stats)),
        row("resume", &[], Optional("NUMBER"), "go on with an earlier session", |which| {
            Typed::Order(Order::Resume(given(which)))
        }),
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

fn chat(order: ChatOrder) -> Typed {
    Typed::Order(Order::Chat(order))
}

fn given(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
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
