//! What a front end can ask of a session, as values. How a typed line becomes one is `input_line.rs`.

use crate::checkpoint::{ConflictPolicy, RestoreScope};
use hookwright_settings::ApprovalMode;
use hookwright_settings::commands::CustomCommand;

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionCommand {
    /// Answer a prompt.
    Prompt(String),
    /// Answer what was piped in, which may be anybody's words and attaches nothing, and what was typed beside it.
    PipedPrompt {
        /// What came from the pipe.
        piped: String,
        /// What the user typed; empty if nothing.
        typed: String,
    },
    /// Run the user's own shell command.
    UserShell(String),
    /// Answer what a custom command stands for.
    CustomCommand {
        /// The command.
        command: Box<CustomCommand>,
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
    MaybeServerPrompt(String),
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
    FolderTrust,
    /// The directories that tools may work in.
    Directory(DirectoryAction),
    /// Have the model write notes on the project.
    Init,
    /// Show what is different.
    Diff(DiffAction),
    /// Say what the model can call.
    Tools(Detail),
    /// What the model is told from context files.
    Memory(MemoryAction),
    /// List the custom commands.
    ListCustomCommands,
    /// Go on with another session of this project; without a name, list them.
    Resume(Option<String>),
    /// Conversations kept under a name.
    Chat(ChatAction),
    /// What can be brought back.
    Restore(RestoreAction),
    /// What the user has allowed.
    Permissions(PermissionsAction),
    /// The hooks.
    Hooks(HooksAction),
    /// The sub-agents.
    Agents(AgentsAction),
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
    Skills(SkillsAction),
    /// The extensions.
    Extensions(ExtensionsAction),
    /// Commands that run on by themselves.
    Background(BackgroundAction),
    /// The MCP servers.
    Mcp(McpAction),
    /// Say where and what this is.
    About,
    /// Another approval mode.
    SetApprovalMode(ApprovalMode),
    /// End what runs now; prompts that wait are given back.
    Cancel,
    /// Give back the last prompt that waits.
    RecallPrompt,
}

impl SessionCommand {
    /// Whether it takes its turn behind what the agent does now; [`crate::AgentEvent::Begun`] says when it begins.
    pub fn is_queued(&self) -> bool {
        matches!(
            self,
            SessionCommand::Prompt(_)
                | SessionCommand::PipedPrompt { .. }
                | SessionCommand::UserShell(_)
                | SessionCommand::CustomCommand { .. }
                | SessionCommand::ServerPrompt { .. }
                | SessionCommand::UseSkill { .. }
                | SessionCommand::Init
                | SessionCommand::MaybeServerPrompt(_)
                | SessionCommand::Clear
                | SessionCommand::Compress
        )
    }

    /// The word in logs, which tells nothing of what the user wrote.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            SessionCommand::Prompt(_) | SessionCommand::PipedPrompt { .. } => "prompt",
            SessionCommand::UserShell(_) => "shell",
            SessionCommand::CustomCommand { .. } => "custom",
            SessionCommand::ServerPrompt { .. } => "server_prompt",
            SessionCommand::MaybeServerPrompt(_) => "late",
            SessionCommand::Clear => "clear",
            SessionCommand::Compress => "compress",
            SessionCommand::Cancel => "cancel",
            SessionCommand::RecallPrompt => "take_back",
            SessionCommand::Model(_) => "model",
            SessionCommand::Auth => "auth",
            SessionCommand::Logout => "logout",
            SessionCommand::Settings(_) => "settings",
            SessionCommand::Theme(_) => "theme",
            SessionCommand::Vim => "vim",
            SessionCommand::FolderTrust => "trust",
            SessionCommand::Directory(_) => "directory",
            SessionCommand::Init => "init",
            SessionCommand::Diff(_) => "diff",
            SessionCommand::SetApprovalMode(_) => "mode",
            SessionCommand::Tools(_) => "tools",
            SessionCommand::About => "about",
            SessionCommand::ListCustomCommands => "custom_commands",
            SessionCommand::Memory(_) => "memory",
            SessionCommand::Hooks(_) => "hooks",
            SessionCommand::Agents(_) => "agents",
            SessionCommand::UseSkill { .. } => "use_skill",
            SessionCommand::Skills(_) => "skills",
            SessionCommand::Extensions(_) => "extensions",
            SessionCommand::Background(_) => "background",
            SessionCommand::Mcp(_) => "mcp",
            SessionCommand::Resume(_) => "resume",
            SessionCommand::Chat(_) => "chat",
            SessionCommand::Restore(_) => "restore",
            SessionCommand::Permissions(_) => "permissions",
        }
    }

    /// Whether it only shows something: then it may come from anywhere.
    pub fn is_read_only(&self) -> bool {
        match self {
            SessionCommand::Model(None)
            | SessionCommand::Tools(_)
            | SessionCommand::ListCustomCommands
            | SessionCommand::Resume(None) => true,
            SessionCommand::About | SessionCommand::Diff(_) => true,
            SessionCommand::Memory(order) => matches!(order, MemoryAction::Show | MemoryAction::List),
            SessionCommand::Directory(order) => *order == DirectoryAction::Show,
            SessionCommand::Agents(order) => matches!(order, AgentsAction::List | AgentsAction::Reload),
            SessionCommand::Skills(order) => matches!(order, SkillsAction::List(_)),
            SessionCommand::Chat(order) => *order == ChatAction::List,
            SessionCommand::Permissions(order) => *order == PermissionsAction::List,
            SessionCommand::Restore(order) => matches!(order, RestoreAction::List | RestoreAction::Show(_)),
            SessionCommand::Extensions(order) => *order == ExtensionsAction::List,
            SessionCommand::Background(order) => *order == BackgroundAction::List,
            SessionCommand::Mcp(order) => matches!(order, McpAction::List(_)),
            SessionCommand::Hooks(order) => {
                matches!(order, HooksAction::List | HooksAction::Panel | HooksAction::ShowUntrusted)
            }
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
pub enum MemoryAction {
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
pub enum DirectoryAction {
    /// List them.
    Show,
    /// One more.
    Add(String),
}

/// About sub-agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentsAction {
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
pub enum ChatAction {
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
pub enum PermissionsAction {
    /// List it.
    List,
    /// Take back one of the list.
    Forget(usize),
    /// Take back everything.
    ForgetAll,
}

/// About checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreAction {
    /// List them.
    List,
    /// Show what bringing one back would do.
    Show(String),
    /// Bring one back.
    Restore {
        /// Which.
        which: String,
        /// What of it.
        what: RestoreScope,
        /// What becomes of files that were changed since.
        since: ConflictPolicy,
    },
}

/// About skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillsAction {
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
pub enum DisableConsent {
    /// They have.
    Given,
    /// Not yet.
    Missing,
}

/// About extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtensionsAction {
    /// List them with their states.
    List,
    /// Switch one on.
    Enable(String, ExtensionScope),
    /// Switch one off; with its guards, if the user has agreed to that.
    Disable(String, ExtensionScope, DisableConsent),
    /// Look for updates, of one or of all, and show them.
    Update(Option<String>),
    /// Put an update in place that was shown.
    ConfirmUpdate(String),
}

/// Where a switch counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtensionScope {
    /// In every project.
    User,
    /// In this one.
    Workspace,
}

/// What differences are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffAction {
    /// From the last commit, and what the session changed besides.
    All,
    /// What the session changed.
    Session,
}

/// About commands that run on by themselves; they are called by the number of the process that began them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackgroundAction {
    /// List them.
    List,
    /// Let one stay when the session ends.
    Keep(String),
    /// End one.
    End(String),
}

/// About MCP servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpAction {
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
pub enum HooksAction {
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

impl PermissionsAction {
    /// What to take back, as it stands behind `/permissions forget`.
    pub(super) fn parse_forget(words: &str) -> Option<Self> {
        match words.trim() {
            "--all" => Some(PermissionsAction::ForgetAll),
            number => number.parse().ok().map(PermissionsAction::Forget),
        }
    }
}

impl RestoreAction {
    /// What stands behind `/restore`: nothing, `3`, or `3 files --overwrite`.
    pub(super) fn parse(words: &str) -> Option<Self> {
        let (mut which, mut what, mut since) = (None, None, ConflictPolicy::Keep);
        for word in words.split_whitespace() {
            match word {
                "files" => what = Some(RestoreScope::Files),
                "conversation" | "chat" => what = Some(RestoreScope::Conversation),
                "both" | "all" => what = Some(RestoreScope::Both),
                "--overwrite" => since = ConflictPolicy::Overwrite,
                word if which.is_none() && !word.starts_with('-') => which = Some(word.to_owned()),
                _ => return None,
            }
        }
        match (which, what) {
            (None, None) if since == ConflictPolicy::Keep => Some(RestoreAction::List),
            (None, _) => None,
            (Some(which), None) => Some(RestoreAction::Show(which)),
            (Some(which), Some(what)) => Some(RestoreAction::Restore { which, what, since }),
        }
    }
}
