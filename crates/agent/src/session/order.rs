//! What a front end can ask of a session, as values. How a typed line becomes one is `line.rs`.

use crate::checkpoint::{Since, What};
use hookwright_settings::ApprovalMode;
use hookwright_settings::commands::Command;

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Answer a prompt.
    Prompt(String),
    /// Answer what was piped in, which may be anybody's words and attaches nothing, and what was typed beside it.
    Piped {
        /// What came from the pipe.
        piped: String,
        /// What the user typed; empty if nothing.
        typed: String,
    },
    /// Run the user's own shell command.
    Shell(String),
    /// Answer what a custom command stands for.
    Custom {
        /// The command.
        command: Box<Command>,
        /// The whole line.
        typed: String,
        /// What stands behind the command's name.
        args: String,
    },
    /// Answer a prompt that an MCP server has.
    ServerPrompt {
        /// The server.
        server: String,
        /// The prompt's name there.
        name: String,
        /// What it is given.
        args: serde_json::Map<String, serde_json::Value>,
        /// The whole line.
        typed: String,
    },
    /// Answer what may be a prompt of an MCP server's, once they have said what they have; else what it says.
    Late(String),
    /// Forget everything and begin a new conversation.
    Clear,
    /// Compress the history.
    Compress,
    /// Say which model is asked, or ask another from now on.
    Model(Option<String>),
    /// Connect a model.
    Auth,
    /// Forget what was connected, and leave.
    Logout,
    /// Show and change settings; the one of this name, if there is a name.
    Settings(Option<String>),
    /// Other colours; without a name, ask which.
    Theme(Option<String>),
    /// vi's keys, on or off.
    Vim,
    /// Show and change whether this folder is trusted.
    Trust,
    /// The directories that tools may work in.
    Directory(DirectoryOrder),
    /// Have the model write notes on the project.
    Init,
    /// Show what is different.
    Diff(DiffOrder),
    /// Say what the model can call.
    Tools(Detail),
    /// What the model is told from context files.
    Memory(MemoryOrder),
    /// List the custom commands.
    CustomCommands,
    /// Go on with another session of this project; without a name, list them.
    Resume(Option<String>),
    /// Conversations kept under a name.
    Chat(ChatOrder),
    /// What can be brought back.
    Restore(RestoreOrder),
    /// What the user has allowed.
    Permissions(PermissionsOrder),
    /// The hooks.
    Hooks(HooksOrder),
    /// The sub-agents.
    Agents(AgentsOrder),
    /// Have the model use a skill.
    UseSkill {
        /// Its name.
        name: String,
        /// What for.
        task: String,
        /// The whole line.
        typed: String,
    },
    /// The skills.
    Skills(SkillsOrder),
    /// The extensions.
    Extensions(ExtensionsOrder),
    /// Commands that run on by themselves.
    Background(BackgroundOrder),
    /// The MCP servers.
    Mcp(McpOrder),
    /// Say where and what this is.
    About,
    /// Another approval mode.
    Mode(ApprovalMode),
    /// End what runs now; prompts that wait are given back.
    Cancel,
    /// Give back the last prompt that waits.
    TakeBack,
}

impl Order {
    /// Whether it takes its turn behind what the agent does now; [`crate::AgentEvent::Begun`] says when it begins.
    pub fn takes_turns(&self) -> bool {
        matches!(
            self,
            Order::Prompt(_)
                | Order::Piped { .. }
                | Order::Shell(_)
                | Order::Custom { .. }
                | Order::ServerPrompt { .. }
                | Order::UseSkill { .. }
                | Order::Init
                | Order::Late(_)
                | Order::Clear
                | Order::Compress
        )
    }

    /// The word in logs, which tells nothing of what the user wrote.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Order::Prompt(_) | Order::Piped { .. } => "prompt",
            Order::Shell(_) => "shell",
            Order::Custom { .. } => "custom",
            Order::ServerPrompt { .. } => "server_prompt",
            Order::Late(_) => "late",
            Order::Clear => "clear",
            Order::Compress => "compress",
            Order::Cancel => "cancel",
            Order::TakeBack => "take_back",
            Order::Model(_) => "model",
            Order::Auth => "auth",
            Order::Logout => "logout",
            Order::Settings(_) => "settings",
            Order::Theme(_) => "theme",
            Order::Vim => "vim",
            Order::Trust => "trust",
            Order::Directory(_) => "directory",
            Order::Init => "init",
            Order::Diff(_) => "diff",
            Order::Mode(_) => "mode",
            Order::Tools(_) => "tools",
            Order::About => "about",
            Order::CustomCommands => "custom_commands",
            Order::Memory(_) => "memory",
            Order::Hooks(_) => "hooks",
            Order::Agents(_) => "agents",
            Order::UseSkill { .. } => "use_skill",
            Order::Skills(_) => "skills",
            Order::Extensions(_) => "extensions",
            Order::Background(_) => "background",
            Order::Mcp(_) => "mcp",
            Order::Resume(_) => "resume",
            Order::Chat(_) => "chat",
            Order::Restore(_) => "restore",
            Order::Permissions(_) => "permissions",
        }
    }

    /// Whether it only shows something: then it may come from anywhere.
    pub fn only_shows(&self) -> bool {
        match self {
            Order::Model(None) | Order::Tools(_) | Order::CustomCommands | Order::Resume(None) => true,
            Order::About | Order::Diff(_) => true,
            Order::Memory(order) => matches!(order, MemoryOrder::Show | MemoryOrder::List),
            Order::Directory(order) => *order == DirectoryOrder::Show,
            Order::Agents(order) => matches!(order, AgentsOrder::List | AgentsOrder::Reload),
            Order::Skills(order) => matches!(order, SkillsOrder::List(_)),
            Order::Chat(order) => *order == ChatOrder::List,
            Order::Permissions(order) => *order == PermissionsOrder::List,
            Order::Restore(order) => matches!(order, RestoreOrder::List | RestoreOrder::Show(_)),
            Order::Extensions(order) => *order == ExtensionsOrder::List,
            Order::Background(order) => *order == BackgroundOrder::List,
            Order::Mcp(order) => matches!(order, McpOrder::List(_)),
            Order::Hooks(order) => matches!(order, HooksOrder::List | HooksOrder::Panel | HooksOrder::ShowUntrusted),
            _ => false,
        }
    }
}

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// A line each.
    Short,
    /// Everything.
    Full,
}

/// About context files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryOrder {
    /// Show what the model is told.
    Show,
    /// Name the files that it comes from.
    List,
    /// Add to the user's own.
    Add(String),
    /// Read them again.
    Reload,
}

/// About directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectoryOrder {
    /// List them.
    Show,
    /// One more.
    Add(String),
}

/// About sub-agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentsOrder {
    /// List them.
    List,
    /// Read them again.
    Reload,
    /// Let one be called.
    Enable(String),
    /// Let one be called no more.
    Disable(String),
}

/// About kept conversations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatOrder {
    /// Keep this one.
    Save(String),
    /// Go on with a kept one.
    Resume(String),
    /// Delete a kept one.
    Delete(String),
    /// List them.
    List,
}

/// About what the user has allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionsOrder {
    /// List it.
    List,
    /// Take back one of the list.
    Forget(usize),
    /// Take back everything.
    ForgetAll,
}

/// About checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreOrder {
    /// List them.
    List,
    /// Show what bringing one back would do.
    Show(String),
    /// Bring one back.
    Restore {
        /// Which.
        which: String,
        /// What of it.
        what: What,
        /// What becomes of files that were changed since.
        since: Since,
    },
}

/// About skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillsOrder {
    /// List them with their states.
    List(Detail),
    /// Find them again.
    Reload,
    /// Offer one again.
    Enable(String),
    /// Offer one no more.
    Disable(String),
}

/// Whether the user has agreed to what was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// They have.
    Given,
    /// Not yet.
    Missing,
}

/// About extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtensionsOrder {
    /// List them with their states.
    List,
    /// Switch one on.
    Enable(String, Extent),
    /// Switch one off; with its guards, if the user has agreed to that.
    Disable(String, Extent, Consent),
    /// Look for updates, of one or of all, and show them.
    Update(Option<String>),
    /// Put an update in place that was shown.
    Agree(String),
}

/// Where a switch counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// In every project.
    Everywhere,
    /// In this one.
    Here,
}

/// What differences are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffOrder {
    /// From the last commit, and what the session changed besides.
    All,
    /// What the session changed.
    Session,
}

/// About commands that run on by themselves; they are called by the number of the process that began them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackgroundOrder {
    /// List them.
    List,
    /// Let one stay when the session ends.
    Keep(String),
    /// End one.
    End(String),
}

/// About MCP servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpOrder {
    /// List them with what they have.
    List(Detail),
    /// Connect all of them anew.
    Refresh,
    /// Sign in to one.
    SignIn(String),
    /// Forget what was got by that.
    SignOut(String),
}

/// About hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HooksOrder {
    /// List them with their states.
    List,
    /// Show the panel as text: by event, with what each hook is.
    Panel,
    /// Switch one on.
    Enable(String),
    /// Switch one off.
    Disable(String),
    /// Switch all on.
    EnableAll,
    /// Switch all off.
    DisableAll,
    /// Show what waits for trust, and what changed.
    ShowUntrusted,
    /// Trust one that is new or changed.
    Trust(String),
    /// Trust everything that waits for it.
    TrustAll,
}

impl PermissionsOrder {
    /// What to take back, as it stands behind `/permissions forget`.
    pub(super) fn forgetting(words: &str) -> Option<Self> {
        match words.trim() {
            "--all" => Some(PermissionsOrder::ForgetAll),
            number => number.parse().ok().map(PermissionsOrder::Forget),
        }
    }
}

impl RestoreOrder {
    /// What stands behind `/restore`: nothing, `3`, or `3 files --overwrite`.
    pub(super) fn read(words: &str) -> Option<Self> {
        let (mut which, mut what, mut since) = (None, None, Since::Keep);
        for word in words.split_whitespace() {
            match word {
                "files" => what = Some(What::Files),
                "conversation" | "chat" => what = Some(What::Conversation),
                "both" | "all" => what = Some(What::Both),
                "--overwrite" => since = Since::Overwrite,
                word if which.is_none() && !word.starts_with('-') => which = Some(word.to_owned()),
                _ => return None,
            }
        }
        match (which, what) {
            (None, None) if since == Since::Keep => Some(RestoreOrder::List),
            (None, _) => None,
            (Some(which), None) => Some(RestoreOrder::Show(which)),
            (Some(which), Some(what)) => Some(RestoreOrder::Restore { which, what, since }),
        }
    }
}
