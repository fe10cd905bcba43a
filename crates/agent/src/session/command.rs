//! The commands that a front end can send to a session. `input_line.rs` parses typed lines into them.

use serde::Serialize;

use crate::checkpoint::{ConflictPolicy, RestoreScope};
use crate::question::{Answer, QuestionId};
use hookwright_settings::ApprovalMode;
use hookwright_settings::administration::{
    ExtensionSwitchRequest, HookSelection, HookSwitchRequest, SkillSwitchRequest,
};
use hookwright_settings::commands::CustomCommand;

/// A command from a front end to a session.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionCommand {
    /// Answers a prompt.
    Prompt(String),
    /// Answers piped text together with a typed prompt. The piped text is untrusted and attaches no files.
    PipedPrompt {
        /// The text that was read from the pipe.
        piped: String,
        /// The text that the user typed; may be empty.
        typed: String,
    },
    /// Runs the user's own shell command.
    UserShell(String),
    /// Answers the prompt that a custom command expands to.
    CustomCommand {
        /// The custom command to expand.
        command: Box<CustomCommand>,
        /// The whole line that was typed.
        typed: String,
        /// The text after the command's name.
        args: String,
    },
    /// Answers a prompt of an MCP server.
    ServerPrompt {
        /// The name of the server.
        server: String,
        /// The prompt's name on the server.
        name: String,
        /// The arguments of the prompt.
        args: serde_json::Map<String, serde_json::Value>,
        /// The whole line that was typed.
        typed: String,
    },
    /// Answers a line that may name a prompt of an MCP server. Servers are waited for; if none has the prompt, the line
    /// itself is the prompt.
    MaybeServerPrompt(String),
    /// Begins a new conversation with an empty history.
    Clear,
    /// Compresses the history.
    Compress,
    /// Shows the model's name, or changes the model.
    Model(Option<String>),
    /// Connects a model.
    Auth,
    /// Forgets the saved connections and ends the session.
    Logout,
    /// Shows and changes settings, or the setting of this name.
    Settings(Option<String>),
    /// Changes the colours; without a name, asks for one.
    Theme(Option<String>),
    /// Switches vi's key bindings on or off.
    Vim,
    /// Shows and changes whether this folder is trusted.
    FolderTrust,
    /// Lists or adds the directories that tools may work in.
    Directory(DirectoryAction),
    /// Has the model write notes on the project.
    Init,
    /// Shows differences in files.
    Diff(DiffAction),
    /// Lists the tools that the model can call.
    Tools(Detail),
    /// Shows or changes the text of context files.
    Memory(MemoryAction),
    /// Lists the custom commands.
    ListCustomCommands,
    /// Resumes another session of this project; without a name, lists them.
    Resume(Option<String>),
    /// Saves, resumes, deletes or lists conversations under a name.
    Chat(ChatAction),
    /// Lists or restores checkpoints.
    Restore(RestoreAction),
    /// Lists or withdraws what the user has allowed.
    Permissions(PermissionsAction),
    /// Lists, switches or trusts hooks.
    Hooks(HooksAction),
    /// Lists, reloads or switches sub-agents.
    Agents(AgentsAction),
    /// Has the model use a skill.
    UseSkill {
        /// The name of the skill.
        name: String,
        /// The task to use it for.
        task: String,
        /// The whole line that was typed.
        typed: String,
    },
    /// Lists, reloads or switches skills.
    Skills(SkillsAction),
    /// Lists, switches or updates extensions.
    Extensions(ExtensionsAction),
    /// Lists, keeps or ends background commands.
    Background(BackgroundAction),
    /// Lists, reconnects or signs in to MCP servers.
    Mcp(McpAction),
    /// Shows version, model, folder and files of the session.
    About,
    /// Shows what the session did and cost.
    Statistics,
    /// Changes the approval mode.
    SetApprovalMode(ApprovalMode),
    /// Answers a question of the session. An answer to a question that is closed has no effect.
    Answer {
        /// The identifier of the question.
        id: QuestionId,
        /// The user's answer.
        answer: Answer,
    },
    /// Reports the state of the session with [`SessionEvent::Snapshot`](crate::SessionEvent::Snapshot).
    Snapshot,
    /// Reports with [`SessionEvent::Synced`](crate::SessionEvent::Synced) when the commands before it are carried out and
    /// their questions are closed.
    Sync,
    /// Cancels the running task; queued prompts are returned.
    Cancel,
    /// Returns the last queued prompt to the user.
    RecallPrompt,
}

impl SessionCommand {
    /// Returns whether the command waits until the agent is idle; [`crate::SessionEvent::InputStarted`] tells when it
    /// starts.
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

    /// Returns the command's name for logs, without the user's text.
    pub(crate) fn name(&self) -> String {
        let mut name = format!("{self:?}");
        name.truncate(name.find(|char: char| !char.is_alphanumeric()).unwrap_or(name.len()));
        name.to_ascii_lowercase()
    }

    /// Returns whether the command only shows something or reloads sub-agents, so that it may come from any origin.
    pub fn is_read_only(&self) -> bool {
        match self {
            SessionCommand::Model(None)
            | SessionCommand::Tools(_)
            | SessionCommand::ListCustomCommands
            | SessionCommand::Resume(None) => true,
            SessionCommand::About | SessionCommand::Statistics | SessionCommand::Diff(_) => true,
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

/// How much detail a list has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// One line for each entry.
    Short,
    /// Names with descriptions.
    Full,
}

/// An action of `/memory`, on context files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryAction {
    /// Shows the text that the model gets.
    Show,
    /// Lists the files that the text comes from.
    List,
    /// Adds a line to the user's context file.
    Add(String),
    /// Reads the context files again.
    Reload,
}

/// An action of `/directory`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectoryAction {
    /// Lists the directories.
    Show,
    /// Adds a directory.
    Add(String),
}

/// An action of `/agents`, on sub-agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentsAction {
    /// Lists the sub-agents.
    List,
    /// Reads the definitions again.
    Reload,
    /// Offers a sub-agent to the model.
    Enable(String),
    /// Hides a sub-agent from the model.
    Disable(String),
}

/// An action of `/chat`, on saved conversations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatAction {
    /// Saves the conversation under a name.
    Save(String),
    /// Resumes a saved conversation.
    Resume(String),
    /// Deletes a saved conversation.
    Delete(String),
    /// Lists the saved conversations.
    List,
}

/// An action of `/permissions`, on what the user has allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionsAction {
    /// Lists the permissions.
    List,
    /// Withdraws the permission of this number.
    Forget(usize),
    /// Withdraws every permission.
    ForgetAll,
}

/// An action of `/restore`, on checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreAction {
    /// Lists the checkpoints.
    List,
    /// Shows what restoring a checkpoint would do.
    Show(String),
    /// Restores a checkpoint.
    Restore {
        /// The number of the checkpoint.
        which: String,
        /// Whether files, the conversation or both are restored.
        what: RestoreScope,
        /// The policy for files that were changed since.
        since: ConflictPolicy,
    },
}

/// An action of `/skills`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillsAction {
    /// Lists the skills with their states.
    List(Detail),
    /// Discovers the skills again.
    Reload,
    /// Offers a skill to the model again, or hides it.
    Switch(SkillSwitchRequest),
}

/// An action of `/extensions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtensionsAction {
    /// Lists the extensions with their states.
    List,
    /// Enables or disables an extension.
    Switch(ExtensionSwitchRequest),
    /// Looks for updates of one or all extensions and shows them.
    Update(Option<String>),
    /// Installs an update that was shown.
    ConfirmUpdate(String),
}

/// The differences that `/diff` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffAction {
    /// Those from the last commit, and the session's other changes.
    All,
    /// The changes that the session made.
    Session,
}

/// An action of `/background`. A command is named by the id of its first process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackgroundAction {
    /// Lists the background commands.
    List,
    /// Keeps a command running when the session ends.
    Keep(String),
    /// Ends a background command.
    End(String),
}

/// An action of `/mcp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpAction {
    /// Lists the servers with their tools, prompts and resources.
    List(Detail),
    /// Connects every server again.
    Refresh,
    /// Signs in to a server.
    SignIn(String),
    /// Forgets the token of a server.
    SignOut(String),
}

/// An action of `/hooks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HooksAction {
    /// Lists the hooks with their states.
    List,
    /// Shows the hooks as text, grouped by event, with details.
    Panel,
    /// Enables or disables hooks.
    Switch(HookSwitchRequest),
    /// Shows the changes that wait for trust.
    ShowUntrusted,
    /// Trusts hooks that are new or changed.
    Trust(HookSelection),
}

impl PermissionsAction {
    /// Parses the argument of `/permissions forget`.
    pub(super) fn parse_forget(words: &str) -> Option<Self> {
        match words.trim() {
            "--all" => Some(PermissionsAction::ForgetAll),
            number => number.parse().ok().map(PermissionsAction::Forget),
        }
    }
}

impl RestoreAction {
    /// Parses the argument of `/restore`: nothing, `3`, or `3 files --overwrite`.
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
