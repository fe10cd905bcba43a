//! The table of slash commands: name, argument, description and constructor of each.

use hookwright_settings::administration::{
    ExtensionSwitchRequest, GuardLossConsent, HookSelection, HookSwitchRequest, SkillSwitchRequest, SwitchScope,
};
use hookwright_settings::edit::Switch;

use super::{FrontEndAction, InputLine, group_usage};
use crate::session::command::{
    AgentsAction, BackgroundAction, ChatAction, Detail, DiffAction, DirectoryAction, ExtensionsAction, HooksAction,
    McpAction, MemoryAction, PermissionsAction, RestoreAction, SessionCommand, SkillsAction,
};

/// A slash command.
#[derive(Debug)]
pub struct SlashCommand {
    /// One or two words, without the slash.
    pub name: &'static str,
    pub(super) aliases: &'static [&'static str],
    pub(super) argument: SlashArgument,
    /// The description that help shows.
    pub about: &'static str,
    pub(super) build: fn(&str) -> InputLine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlashArgument {
    None,
    Optional(&'static str),
    Required(&'static str),
}

impl SlashCommand {
    /// Returns the name with its argument.
    pub fn usage(&self) -> String {
        match self.argument {
            SlashArgument::None => self.name.to_owned(),
            SlashArgument::Optional(what) => format!("{} [{what}]", self.name),
            SlashArgument::Required(what) => format!("{} {what}", self.name),
        }
    }

    pub(super) fn has_name(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

const fn slash_command(
    name: &'static str,
    also: &'static [&'static str],
    argument: SlashArgument,
    about: &'static str,
    make: fn(&str) -> InputLine,
) -> SlashCommand {
    SlashCommand { name, aliases: also, argument, about, build: make }
}

/// The groups of the help, each with the first words of its commands. Other commands are in the last group.
pub(crate) const HELP_GROUPS: &[(&str, &[&str])] = &[
    ("Hooks and permissions", &["hooks", "permissions", "trust"]),
    ("Conversation", &["clear", "compress", "resume", "chat", "restore", "diff", "copy", "expand", "stats"]),
    ("Model and settings", &["auth", "logout", "model", "settings", "theme", "vim", "directory"]),
    ("Tools and extensions", &["tools", "mcp", "skills", "subagents", "extensions", "commands", "memory", "init"]),
    ("Other", &[]),
];

/// Every slash command, in the order in which help lists them.
pub const SLASH_COMMANDS: &[SlashCommand] = {
    use SlashArgument::{None as Alone, Optional, Required};
    const EXTENSION_ARGUMENT: SlashArgument = Required("NAME [--scope user|workspace]");
    &[
        slash_command("help", &["?"], Alone, "commands and keys", |_| InputLine::FrontEnd(FrontEndAction::Help)),
        slash_command(
            "hooks panel",
            &["hooks"],
            Alone,
            "the hooks panel: every hook, its state and what it did",
            |_| InputLine::FrontEnd(FrontEndAction::HooksPanel),
        ),
        slash_command("hooks list", &[], Alone, "every hook and its state", |_| hooks_command(HooksAction::List)),
        slash_command("hooks enable", &[], Required("NAME"), "switch a hook on", |name| {
            hooks_command(HooksAction::Switch(HookSwitchRequest::enable(HookSelection::Named(name.to_owned()))))
        }),
        slash_command("hooks disable", &[], Required("NAME [--consent]"), "switch a hook off", |words| {
            let (name, consent) = split_consent(words);
            let hooks = HookSelection::Named(name.to_owned());
            hooks_command(HooksAction::Switch(HookSwitchRequest::disable(hooks, consent)))
        }),
        slash_command("hooks enable-all", &[], Alone, "switch every hook on", |_| {
            hooks_command(HooksAction::Switch(HookSwitchRequest::enable(HookSelection::All)))
        }),
        slash_command("hooks disable-all", &[], Optional("--consent"), "switch every hook off", |words| {
            let consent = match words {
                "" => GuardLossConsent::Missing,
                "--consent" => GuardLossConsent::Given,
                _ => return InputLine::InvalidUsage(group_usage("hooks")),
            };
            hooks_command(HooksAction::Switch(HookSwitchRequest::disable(HookSelection::All, consent)))
        }),
        slash_command(
            "hooks trust",
            &[],
            Optional("NAME|--all"),
            "what waits for your trust; trust one hook, or everything",
            |which| {
                hooks_command(match which {
                    "" => HooksAction::ShowUntrusted,
                    "--all" => HooksAction::Trust(HookSelection::All),
                    name => HooksAction::Trust(HookSelection::Named(name.to_owned())),
                })
            },
        ),
        slash_command("hooks trace", &[], Alone, "the last turn: events, hooks, decisions, times", |_| {
            InputLine::FrontEnd(FrontEndAction::HooksTrace)
        }),
        slash_command("clear", &[], Alone, "begin a new conversation", |_| InputLine::Command(SessionCommand::Clear)),
        slash_command("compress", &["summarize"], Alone, "replace the history by a summary", |_| {
            InputLine::Command(SessionCommand::Compress)
        }),
        slash_command("auth", &["login"], Alone, "connect a model: a key, or a server on this machine", |_| {
            InputLine::Command(SessionCommand::Auth)
        }),
        slash_command("logout", &["auth logout"], Alone, "forget what was connected, with its key, and leave", |_| {
            InputLine::Command(SessionCommand::Logout)
        }),
        slash_command("model", &[], Optional("NAME"), "choose another model, also of another service", |name| {
            InputLine::Command(SessionCommand::Model(non_empty(name)))
        }),
        slash_command("settings", &[], Optional("NAME"), "show and change settings, or one of them", |name| {
            InputLine::Command(SessionCommand::Settings(non_empty(name)))
        }),
        slash_command(
            "theme",
            &[],
            Optional("NAME"),
            "other colours: auto, dark, light, high-contrast, terminal",
            |name| InputLine::Command(SessionCommand::Theme(non_empty(name))),
        ),
        slash_command("vim", &[], Alone, "vi's keys in the composer, on or off", |_| {
            InputLine::Command(SessionCommand::Vim)
        }),
        slash_command("trust", &[], Alone, "show and change whether this folder is trusted", |_| {
            InputLine::Command(SessionCommand::FolderTrust)
        }),
        slash_command(
            "directory show",
            &["directory", "dir", "dir show"],
            Alone,
            "the directories that tools may work in",
            |_| InputLine::Command(SessionCommand::Directory(DirectoryAction::Show)),
        ),
        slash_command("directory add", &["dir add"], Required("PATH"), "let tools work in another directory", |path| {
            InputLine::Command(SessionCommand::Directory(DirectoryAction::Add(path.to_owned())))
        }),
        slash_command("init", &[], Alone, "have the model write a GEMINI.md for this project", |_| {
            InputLine::Command(SessionCommand::Init)
        }),
        slash_command(
            "diff",
            &[],
            Alone,
            "what is different from the last commit, and what else this session changed",
            |_| InputLine::Command(SessionCommand::Diff(DiffAction::All)),
        ),
        slash_command("diff session", &[], Alone, "what this session changed", |_| {
            InputLine::Command(SessionCommand::Diff(DiffAction::Session))
        }),
        slash_command("tools", &[], Alone, "what the model can call", |_| {
            InputLine::Command(SessionCommand::Tools(Detail::Short))
        }),
        slash_command("tools desc", &[], Alone, "the same, with descriptions", |_| {
            InputLine::Command(SessionCommand::Tools(Detail::Full))
        }),
        slash_command("mcp list", &["mcp"], Alone, "MCP servers: their state, tools, prompts and resources", |_| {
            mcp_command(McpAction::List(Detail::Short))
        }),
        slash_command("mcp desc", &[], Alone, "the same, with descriptions", |_| {
            mcp_command(McpAction::List(Detail::Full))
        }),
        slash_command("mcp refresh", &["mcp reload"], Alone, "reconnect MCP servers", |_| {
            mcp_command(McpAction::Refresh)
        }),
        slash_command("mcp auth", &[], Required("NAME"), "sign in to an MCP server", |name| {
            mcp_command(McpAction::SignIn(name.to_owned()))
        }),
        slash_command("mcp logout", &[], Required("NAME"), "forget the token of an MCP server", |name| {
            mcp_command(McpAction::SignOut(name.to_owned()))
        }),
        slash_command("memory show", &["memory"], Alone, "what the model is told from GEMINI.md files", |_| {
            memory_command(MemoryAction::Show)
        }),
        slash_command("memory list", &[], Alone, "the GEMINI.md files in use", |_| memory_command(MemoryAction::List)),
        slash_command("memory add", &[], Required("TEXT"), "add to your GEMINI.md", |text| {
            memory_command(MemoryAction::Add(text.to_owned()))
        }),
        slash_command("memory reload", &["memory refresh"], Alone, "read GEMINI.md files again", |_| {
            memory_command(MemoryAction::Reload)
        }),
        slash_command(
            "skills list",
            &["skills"],
            Optional("nodesc"),
            "every skill and whether the model is offered it",
            parse_list_skills,
        ),
        slash_command("skills reload", &["skills refresh"], Alone, "search for skills again", |_| {
            skills_command(SkillsAction::Reload)
        }),
        slash_command("skills enable", &[], Required("NAME"), "offer a skill again", |name| {
            switch_skill_command(name, Switch::Enable)
        }),
        slash_command("skills disable", &[], Required("NAME"), "stop offering a skill", |name| {
            switch_skill_command(name, Switch::Disable)
        }),
        slash_command(
            "extensions list",
            &["extensions"],
            Alone,
            "installed extensions, and whether they are enabled here",
            |_| extensions_command(ExtensionsAction::List),
        ),
        slash_command("extensions enable", &[], EXTENSION_ARGUMENT, "switch an extension on", |words| {
            parse_switch_extension(words, Switch::Enable, GuardLossConsent::Missing)
        }),
        slash_command(
            "extensions disable",
            &[],
            EXTENSION_ARGUMENT,
            "switch an extension off",
            parse_disable_extension,
        ),
        slash_command(
            "extensions update",
            &[],
            Required("NAME|--all|NAME --consent"),
            "show an update of an extension; install what was shown",
            parse_update_extension,
        ),
        slash_command("commands list", &["commands", "commands reload"], Alone, "custom commands, read again", |_| {
            InputLine::Command(SessionCommand::ListCustomCommands)
        }),
        slash_command(
            "subagents list",
            &["subagents", "agents", "agents list"],
            Alone,
            "the sub-agents that can be delegated to",
            |_| agents_command(AgentsAction::List),
        ),
        slash_command(
            "subagents reload",
            &["subagents refresh", "agents reload", "agents refresh"],
            Alone,
            "read sub-agents again",
            |_| agents_command(AgentsAction::Reload),
        ),
        slash_command("subagents enable", &["agents enable"], Required("NAME"), "let a sub-agent be called", |name| {
            agents_command(AgentsAction::Enable(name.to_owned()))
        }),
        slash_command(
            "subagents disable",
            &["agents disable"],
            Required("NAME"),
            "stop a sub-agent from being called",
            |name| agents_command(AgentsAction::Disable(name.to_owned())),
        ),
        slash_command(
            "permissions list",
            &["permissions"],
            Alone,
            "what you have allowed, for good and for this session",
            |_| InputLine::Command(SessionCommand::Permissions(PermissionsAction::List)),
        ),
        slash_command(
            "permissions forget",
            &[],
            Required("NUMBER|--all"),
            "take back what you have allowed",
            parse_forget_permission,
        ),
        slash_command(
            "restore",
            &["rewind"],
            Optional("NUMBER [files|conversation|both] [--overwrite]"),
            "go back to before an earlier turn: its files, the conversation or both",
            parse_restore,
        ),
        slash_command("stats", &[], Alone, "what the session did and cost", |_| {
            InputLine::Command(SessionCommand::Statistics)
        }),
        slash_command("resume", &[], Optional("NUMBER"), "go on with an earlier session", |which| {
            InputLine::Command(SessionCommand::Resume(non_empty(which)))
        }),
        slash_command("chat save", &[], Required("NAME"), "keep the conversation under a name", |name| {
            chat_command(ChatAction::Save(name.to_owned()))
        }),
        slash_command("chat resume", &["chat load"], Required("NAME"), "go on with a kept conversation", |name| {
            chat_command(ChatAction::Resume(name.to_owned()))
        }),
        slash_command("chat list", &["chat"], Alone, "kept conversations", |_| chat_command(ChatAction::List)),
        slash_command("chat delete", &[], Required("NAME"), "delete a kept conversation", |name| {
            chat_command(ChatAction::Delete(name.to_owned()))
        }),
        slash_command("background list", &["background"], Alone, "commands that run in the background", |_| {
            background_command(BackgroundAction::List)
        }),
        slash_command(
            "background keep",
            &[],
            Required("PID"),
            "let a background command run on when you leave",
            |pid| background_command(BackgroundAction::Keep(pid.to_owned())),
        ),
        slash_command("background end", &[], Required("PID"), "end a background command", |pid| {
            background_command(BackgroundAction::End(pid.to_owned()))
        }),
        slash_command("copy", &[], Alone, "copy the last answer", |_| InputLine::FrontEnd(FrontEndAction::Copy)),
        slash_command(
            "expand",
            &[],
            Optional("NUMBER"),
            "all of the last output, thought or diff, or of one before it",
            |which| match which {
                "" => InputLine::FrontEnd(FrontEndAction::Expand(1)),
                number => match number.parse() {
                    Ok(back @ 1..) => InputLine::FrontEnd(FrontEndAction::Expand(back)),
                    _ => InputLine::InvalidUsage(
                        "write it as /expand, or /expand 2 for the one before the last".to_owned(),
                    ),
                },
            },
        ),
        slash_command("about", &["version"], Alone, "version, model, folder", |_| {
            InputLine::Command(SessionCommand::About)
        }),
        slash_command("quit", &["exit"], Alone, "leave", |_| InputLine::FrontEnd(FrontEndAction::Quit)),
    ]
};

fn hooks_command(order: HooksAction) -> InputLine {
    InputLine::Command(SessionCommand::Hooks(order))
}

fn agents_command(order: AgentsAction) -> InputLine {
    InputLine::Command(SessionCommand::Agents(order))
}

fn background_command(order: BackgroundAction) -> InputLine {
    InputLine::Command(SessionCommand::Background(order))
}

fn mcp_command(order: McpAction) -> InputLine {
    InputLine::Command(SessionCommand::Mcp(order))
}

fn memory_command(order: MemoryAction) -> InputLine {
    InputLine::Command(SessionCommand::Memory(order))
}

fn skills_command(order: SkillsAction) -> InputLine {
    InputLine::Command(SessionCommand::Skills(order))
}

fn switch_skill_command(name: &str, switch: Switch) -> InputLine {
    skills_command(SkillsAction::Switch(SkillSwitchRequest { name: name.to_owned(), switch, scope: None }))
}

fn extensions_command(order: ExtensionsAction) -> InputLine {
    InputLine::Command(SessionCommand::Extensions(order))
}

/// Splits the user's consent to lose guards off the end of an argument.
fn split_consent(words: &str) -> (&str, GuardLossConsent) {
    match words.trim().strip_suffix(" --consent") {
        Some(words) => (words.trim_end(), GuardLossConsent::Given),
        None => (words, GuardLossConsent::Missing),
    }
}

fn parse_disable_extension(words: &str) -> InputLine {
    let (words, consent) = split_consent(words);
    parse_switch_extension(words, Switch::Disable, consent)
}

fn parse_switch_extension(words: &str, switch: Switch, consent: GuardLossConsent) -> InputLine {
    let words: Vec<&str> = words.split([' ', '\t', '=']).filter(|word| !word.is_empty()).collect();
    let (name, scope) = match words.as_slice() {
        [name] | [name, "--scope", "user"] => ((*name).to_owned(), SwitchScope::User),
        [name, "--scope", "workspace"] => ((*name).to_owned(), SwitchScope::Workspace),
        _ => return InputLine::InvalidUsage(group_usage("extensions")),
    };
    extensions_command(ExtensionsAction::Switch(ExtensionSwitchRequest { name, scope, switch, consent }))
}

fn parse_update_extension(words: &str) -> InputLine {
    let words: Vec<&str> = words.split_whitespace().collect();
    extensions_command(match words.as_slice() {
        ["--all"] => ExtensionsAction::Update(None),
        [name] if !name.starts_with('-') => ExtensionsAction::Update(Some((*name).to_owned())),
        [name, "--consent"] => ExtensionsAction::ConfirmUpdate((*name).to_owned()),
        _ => return InputLine::InvalidUsage(group_usage("extensions")),
    })
}

/// `all` lists built-in skills too in Gemini CLI; there are none here.
fn parse_list_skills(words: &str) -> InputLine {
    let mut detail = Detail::Full;
    for word in words.split_whitespace() {
        match word.trim_start_matches("--") {
            "nodesc" => detail = Detail::Short,
            "desc" | "all" => {}
            _ => return InputLine::InvalidUsage(group_usage("skills")),
        }
    }
    skills_command(SkillsAction::List(detail))
}

fn chat_command(order: ChatAction) -> InputLine {
    InputLine::Command(SessionCommand::Chat(order))
}

fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn parse_forget_permission(words: &str) -> InputLine {
    let order = PermissionsAction::parse_forget(words);
    order.map_or_else(
        || InputLine::InvalidUsage(group_usage("permissions")),
        |order| InputLine::Command(SessionCommand::Permissions(order)),
    )
}

fn parse_restore(words: &str) -> InputLine {
    let order = RestoreAction::parse(words);
    order.map_or_else(
        || InputLine::InvalidUsage(usage_message("restore")),
        |order| InputLine::Command(SessionCommand::Restore(order)),
    )
}

/// Returns a message that says how a command is written.
fn usage_message(name: &str) -> String {
    let usage = SLASH_COMMANDS.iter().find(|row| row.name == name).map(SlashCommand::usage);
    format!("this is written /{}", usage.unwrap_or_default())
}
