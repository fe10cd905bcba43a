//! The table of other agents' tools: the corresponding tool of Claude Code, and the spelling of the arguments.
//!
//! Every tool has one spelling per argument, except where sources differ. The spellings of Copilot, Qwen, Droid, Grok
//! and opencode are those that the version in `host.rs` offers its model (`fixtures/*/*/tools.json`); those of Claude
//! Code, Codex and Gemini CLI follow their published types and sources. Rows for tools that were not offered in that
//! run, and all rows of Cursor and Antigravity, are not measured.
//!
//! An argument that is not listed could be a path or a command that the agent uses and guards don't see, so it makes
//! the call unknown (`tools.rs`). Numbers and flags can be neither and need not be listed.

use hookwright_hooks::McpToolName;

use crate::host::Host;

/// One tool of an agent.
#[derive(Debug)]
pub(crate) struct ToolRow {
    /// The tool's names, separated by spaces; sample payloads use the first.
    names: &'static str,
    pub(crate) meaning: ToolMeaning,
    /// The arguments that have a counterpart, separated by spaces: `native=claude`, or one word where both are the
    /// same.
    ///
    /// `a|b=claude` where versions or sources differ; only one of them may be there. `a*=claude` where the argument may
    /// also be a list with one call per element. `edits.a=claude` is an argument of each element of `edits`.
    arguments: &'static str,
    /// The other arguments that may hold text and name neither a file nor a command.
    options: &'static str,
    /// Whether current versions no longer have the tool. Those versions report their version; the ones that had the
    /// tool did not.
    pub(crate) retired: bool,
}

/// The counterpart of an agent's tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolMeaning {
    /// A tool of Claude Code.
    Claude(&'static str),
    /// A tool of Hookwright, with Hookwright's argument keys.
    Engine(&'static str),
    /// A patch over any number of files, whose text is the argument `patch`.
    Patch,
    /// A tool without effect on files or commands: questions, plans, lists, output of running commands.
    Harmless,
}

/// The role of a native argument key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentKey {
    Argument {
        /// The counterpart's key.
        name: &'static str,
        /// Whether the value may be a list with one call per element.
        many: bool,
    },
    Option,
    Unknown,
}

/// The way an agent names the tools of MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum McpStyle {
    /// The form `mcp__server__tool`.
    Claude,
    /// The form `mcp__server__tool` or `server/tool`.
    Copilot,
    /// The form `MCP:tool`, which does not name the server.
    Cursor,
    /// Any name that begins with `mcp_`.
    Gemini,
    /// No special form.
    None,
}

struct Vocabulary {
    tools: &'static [ToolRow],
    mcp: McpStyle,
    /// Options that every tool has.
    common_options: &'static str,
}

const fn tool(names: &'static str, claude: &'static str, arguments: &'static str, options: &'static str) -> ToolRow {
    ToolRow { names, meaning: ToolMeaning::Claude(claude), arguments, options, retired: false }
}

const fn engine_tool(
    names: &'static str,
    name: &'static str,
    arguments: &'static str,
    options: &'static str,
) -> ToolRow {
    ToolRow { names, meaning: ToolMeaning::Engine(name), arguments, options, retired: false }
}

const fn patch(names: &'static str, arguments: &'static str) -> ToolRow {
    ToolRow { names, meaning: ToolMeaning::Patch, arguments, options: "", retired: false }
}

const fn harmless(names: &'static str) -> ToolRow {
    ToolRow { names, meaning: ToolMeaning::Harmless, arguments: "", options: "", retired: false }
}

const fn retired(row: ToolRow) -> ToolRow {
    ToolRow { retired: true, ..row }
}

const CLAUDE_CODE_TOOLS: &[ToolRow] = &[
    tool("Bash", "Bash", "command description run_in_background", ""),
    tool("PowerShell", "PowerShell", "command description run_in_background", ""),
    tool("Monitor", "Monitor", "command description", ""),
    tool("Write", "Write", "file_path content", ""),
    tool("Edit", "Edit", "file_path old_string new_string replace_all", ""),
    tool("Read", "Read", "file_path", "pages"),
    tool("NotebookEdit", "NotebookEdit", "notebook_path new_source", "cell_id cell_type edit_mode"),
    tool("Glob", "Glob", "pattern path", ""),
    tool("Grep", "Grep", "pattern path glob -i -A -B -C head_limit", "output_mode type"),
    tool("WebFetch", "WebFetch", "url prompt", ""),
    tool("WebSearch", "WebSearch", "query", "allowed_domains blocked_domains"),
    tool("TodoWrite", "TodoWrite", "todos", ""),
    tool(
        "Agent",
        "Agent",
        "prompt subagent_type",
        "description model effort name team_name mode isolation resume max_turns",
    ),
    tool("Skill", "Skill", "skill", "args"),
    tool("ListMcpResourcesTool", "ListMcpResourcesTool", "server", ""),
    tool("ReadMcpResourceTool", "ReadMcpResourceTool", "uri", "server"),
    tool("Task", "Task", "prompt subagent_type", "description model name team_name mode isolation resume"),
    harmless(
        "AskUserQuestion EnterPlanMode ExitPlanMode ListAgents LSP StructuredOutput TaskCreate TaskGet TaskList TaskOutput \
         TaskStop TaskUpdate ToolSearch WaitForMcpServers SendUserMessage CronList ReadNotifications ReportFindings",
    ),
    retired(tool("MultiEdit", "MultiEdit", "file_path edits edits.old_string edits.new_string edits.replace_all", "")),
    retired(tool("NotebookRead", "NotebookRead", "notebook_path", "cell_id")),
    retired(tool("LS", "LS", "path ignore", "")),
    retired(harmless("BashOutput KillBash KillShell TodoRead exit_plan_mode")),
];

const CODEX_TOOLS: &[ToolRow] = &[
    // Hooks receive this name whatever Codex's shell tool is called.
    tool("Bash", "Bash", "command description", ""),
    tool("exec_command", "Bash", "cmd=command workdir=dir_path justification=description", "sandbox_permissions"),
    patch("apply_patch", "command=patch"),
    tool("view_image", "Read", "path=file_path", "detail environment_id"),
    tool(
        "spawn_agent",
        "Agent",
        "message=prompt agent_type=subagent_type",
        "task_name fork_turns model reasoning_effort service_tier",
    ),
    tool("list_mcp_resources", "ListMcpResourcesTool", "server", "cursor"),
    tool("read_mcp_resource", "ReadMcpResourceTool", "uri", "server"),
    harmless(
        "update_plan request_user_input request_permissions list_agents wait_agent close_agent interrupt_agent \
         resume_agent get_context_remaining new_context_window tool_search list_mcp_resource_templates",
    ),
];

/// Copilot's tools: Claude Code's name, as in events in Pascal case, and Copilot's own.
const COPILOT_TOOLS: &[ToolRow] = &[
    tool("Bash bash powershell", "Bash", "command description", "shellId sessionId mode"),
    tool("Write create", "Write", "path=file_path file_text=content", ""),
    // A permission request shows every change of a file as a call of `edit` with `file_path` and `diff`.
    tool("Edit edit", "Edit", "path|file_path=file_path old_str=old_string new_str=new_string diff", ""),
    patch("apply_patch", "input|patch=patch"),
    tool("Read view", "Read", "path=file_path", ""),
    tool("Grep grep rg", "Grep", "pattern paths*|path*=path glob -i -A -B -C head_limit", "output_mode type"),
    tool("Glob glob", "Glob", "pattern paths*|path*=path", ""),
    tool("WebFetch web_fetch", "WebFetch", "url prompt", ""),
    tool("WebSearch web_search", "WebSearch", "query", ""),
    tool("TodoWrite update_todo", "TodoWrite", "todos", ""),
    tool(
        "Agent Task task",
        "Agent",
        "prompt agent_type=subagent_type",
        "description name model reasoning_effort context_tier mode",
    ),
    tool("Skill skill", "Skill", "skill", ""),
    harmless(
        "ask_user exit_plan_mode fetch_copilot_cli_documentation list_agents list_bash read_agent read_bash report_intent \
         stop_bash task_complete",
    ),
];

/// Cursor's tools, not measured but collected from documentation and reports, with both spellings where those differ.
const CURSOR_TOOLS: &[ToolRow] = &[
    tool(
        "Shell",
        "Bash",
        "command working_directory|cwd=dir_path description is_background=run_in_background",
        "explanation required_permissions",
    ),
    tool("Write", "Write", "file_path|path=file_path content|contents=content", ""),
    tool("Edit StrReplace", "Edit", "file_path|path=file_path old_string new_string replace_all", ""),
    // The call that the event `afterFileEdit` describes.
    tool(
        "MultiEdit",
        "MultiEdit",
        "file_path edits edits.old_string edits.new_string",
        "edits.range edits.old_line edits.new_line",
    ),
    patch("ApplyPatch apply_patch", "patch|input=patch"),
    tool("Read", "Read", "file_path|path|target_file=file_path", ""),
    tool("Grep", "Grep", "pattern path glob -i -A -B -C head_limit", "output_mode type"),
    tool("Glob", "Glob", "glob_pattern|pattern=pattern target_directory|path=path", ""),
    tool("LS", "LS", "target_directory|path=path", "ignore_globs"),
    tool("WebFetch", "WebFetch", "url prompt", ""),
    tool("WebSearch", "WebSearch", "search_term|query=query", "explanation"),
    tool("TodoWrite", "TodoWrite", "todos", ""),
    tool("Task Subagent", "Agent", "prompt|task=prompt subagent_type", "description model resume"),
    harmless("AskQuestion CreatePlan ReadLints SwitchMode"),
];

const QWEN_TOOLS: &[ToolRow] = &[
    tool("run_shell_command", "Bash", "command description directory=dir_path is_background=run_in_background", ""),
    tool("monitor", "Bash", "command description directory=dir_path", ""),
    tool("write_file", "Write", "file_path content", "ai_proposed_content"),
    tool("edit", "Edit", "file_path old_string new_string replace_all", "ai_proposed_content"),
    tool("read_file", "Read", "file_path", "pages"),
    tool("display_image zoom_image", "Read", "file_path", ""),
    tool("notebook_edit", "NotebookEdit", "notebook_path new_source", "cell_id cell_type edit_mode"),
    tool("glob", "Glob", "pattern path", ""),
    tool("grep_search", "Grep", "pattern path glob", ""),
    tool("list_directory", "LS", "path ignore", "file_filtering_options"),
    tool("web_fetch", "WebFetch", "url prompt", "format"),
    tool("web_search", "WebSearch", "query", ""),
    tool("todo_write", "TodoWrite", "todos", ""),
    tool(
        "agent",
        "Agent",
        "prompt subagent_type",
        "description fork_turns fork_tools fork_profile isolation working_dir",
    ),
    tool("skill", "Skill", "skill", "args"),
    tool("read_mcp_resource", "ReadMcpResourceTool", "uri", "server_name"),
    harmless(
        "ask_user_question cron_list enter_plan_mode exit_plan_mode get_goal list_agents report_findings structured_output \
         task_create task_list task_stop task_update tool_search update_goal",
    ),
];

const DROID_TOOLS: &[ToolRow] = &[
    tool("Execute", "Bash", "command summary=description fireAndForget=run_in_background", "riskLevel riskLevelReason"),
    tool("Create", "Write", "file_path content", ""),
    tool("Edit", "Edit", "file_path old_str=old_string new_str=new_string change_all=replace_all", ""),
    tool(
        "MultiEdit",
        "MultiEdit",
        "file_path changes=edits edits.old_str=old_string edits.new_str=new_string edits.change_all=replace_all",
        "",
    ),
    patch("ApplyPatch", "input|patch=patch"),
    tool("Read", "Read", "file_path", "image_quality"),
    tool(
        "Grep",
        "Grep",
        "pattern path glob_pattern=glob case_insensitive=-i context_after=-A context_before=-B head_limit",
        "output_mode type",
    ),
    tool("Glob", "Glob", "patterns*=pattern folder=path", "excludePatterns"),
    tool("LS", "LS", "directory_path=path ignorePatterns=ignore", ""),
    tool("FetchUrl", "WebFetch", "url", ""),
    tool("WebSearch", "WebSearch", "query", "includeDomains excludeDomains category"),
    tool("TodoWrite", "TodoWrite", "todos", ""),
    tool("Task", "Agent", "prompt subagent_type", "description image_paths complexity resume"),
    tool("Skill", "Skill", "skill", ""),
    harmless("AskUser ExitSpecMode TaskOutput TaskStop ToolSearch"),
];

const GROK_TOOLS: &[ToolRow] = &[
    tool(
        "run_terminal_command run_terminal_cmd",
        "Bash",
        "command description background|is_background=run_in_background",
        "",
    ),
    tool("monitor", "Bash", "command description", ""),
    tool("write", "Write", "file_path content", ""),
    tool("search_replace", "Edit", "file_path old_string new_string replace_all", ""),
    tool("read_file", "Read", "target_file=file_path", "pages format"),
    tool("grep", "Grep", "pattern path glob -i -A -B -C head_limit", "type"),
    tool("list_dir", "LS", "target_directory=path", ""),
    tool("web_fetch", "WebFetch", "url", ""),
    tool("web_search", "WebSearch", "query", "allowed_domains"),
    tool("todo_write", "TodoWrite", "todos", ""),
    tool("spawn_subagent", "Agent", "prompt subagent_type", "description isolation resume_from cwd model"),
    harmless(
        "ask_user_question enter_plan_mode exit_plan_mode get_command_or_subagent_output kill_command_or_subagent \
         scheduler_delete scheduler_list search_tool",
    ),
];

const GEMINI_CLI_TOOLS: &[ToolRow] = &[
    engine_tool("run_shell_command", "run_shell_command", "command description dir_path", "additional_permissions"),
    engine_tool("write_file", "write_file", "file_path content", "ai_proposed_content"),
    engine_tool("replace", "replace", "file_path old_string new_string", "instruction ai_proposed_content"),
    engine_tool("read_file", "read_file", "file_path", ""),
    engine_tool("read_many_files", "read_many_files", "", "include exclude file_filtering_options"),
    engine_tool("list_directory", "list_directory", "dir_path", "ignore file_filtering_options"),
    engine_tool("glob", "glob", "pattern dir_path", ""),
    engine_tool("search_file_content", "search_file_content", "pattern dir_path include_pattern exclude_pattern", ""),
    engine_tool("web_fetch", "web_fetch", "url prompt", ""),
    engine_tool("google_web_search", "google_web_search", "query", ""),
    engine_tool("write_todos", "write_todos", "todos", ""),
    engine_tool("save_memory", "save_memory", "fact", "scope"),
    engine_tool("activate_skill", "activate_skill", "name", ""),
    engine_tool("delegate_to_agent", "delegate_to_agent", "agent_name objective|prompt=objective", ""),
    engine_tool("list_mcp_resources", "list_mcp_resources", "serverName", ""),
    engine_tool("read_mcp_resource", "read_mcp_resource", "uri", ""),
    harmless(
        "ask_user complete_task enter_plan_mode exit_plan_mode get_internal_docs tracker_add_dependency \
         tracker_create_task tracker_get_task tracker_list_tasks tracker_update_task tracker_visualize update_topic",
    ),
];

/// Antigravity's tools, not measured but collected from documentation and reports.
const ANTIGRAVITY_TOOLS: &[ToolRow] = &[
    tool("run_command", "Bash", "CommandLine=command Cwd=dir_path", ""),
    tool("write_to_file", "Write", "TargetFile=file_path CodeContent=content", "ArtifactMetadata ArtifactType"),
    tool(
        "replace_file_content",
        "Edit",
        "TargetFile=file_path TargetContent=old_string ReplacementContent=new_string AllowMultiple=replace_all",
        "CodeMarkdownLanguage Instruction TargetLintErrorIds ArtifactMetadata",
    ),
    tool(
        "multi_replace_file_content",
        "MultiEdit",
        "TargetFile=file_path ReplacementChunks=edits edits.TargetContent=old_string edits.ReplacementContent=new_string \
         edits.AllowMultiple=replace_all",
        "CodeMarkdownLanguage Instruction TargetLintErrorIds ArtifactMetadata",
    ),
    tool("view_file", "Read", "AbsolutePath=file_path", ""),
    tool("view_file_outline", "Read", "AbsolutePath=file_path", ""),
    tool("grep_search", "Grep", "Query=pattern SearchPath=path", "Includes"),
    tool("find_by_name", "Glob", "Pattern=pattern SearchDirectory=path", "Extensions Excludes Type"),
    tool("list_dir", "LS", "DirectoryPath=path", ""),
    tool("read_url_content", "WebFetch", "Url=url", ""),
    tool("search_web", "WebSearch", "query", "domain"),
    harmless("command_status notify_user read_terminal task_boundary"),
];

const OPENCODE_TOOLS: &[ToolRow] = &[
    tool("bash", "Bash", "command description workdir=dir_path", ""),
    tool("write", "Write", "filePath=file_path content", ""),
    tool("edit", "Edit", "filePath=file_path oldString=old_string newString=new_string replaceAll=replace_all", ""),
    patch("apply_patch patch", "patchText=patch"),
    tool("read", "Read", "filePath=file_path", ""),
    tool("glob", "Glob", "pattern path", ""),
    tool("grep", "Grep", "pattern path include=glob", ""),
    tool("list", "LS", "path ignore", ""),
    tool("webfetch", "WebFetch", "url", "format"),
    tool("websearch", "WebSearch", "query", "livecrawl type"),
    tool("todowrite", "TodoWrite", "todos", ""),
    tool("task", "Agent", "prompt subagent_type", "description task_id command"),
    tool("skill", "Skill", "name=skill", ""),
    harmless("plan_enter plan_exit question todoread"),
];

/// The requests of the Agent Client Protocol, and its kinds of calls, of which a permission request says one.
const ACP_TOOLS: &[ToolRow] = &[
    engine_tool("fs/read_text_file", "read_file", "path=file_path", ""),
    engine_tool("fs/write_text_file", "write_file", "path=file_path content", ""),
    engine_tool("terminal/create", "run_shell_command", "command cwd=dir_path", "env"),
    engine_tool("execute", "run_shell_command", "command cwd=dir_path", "description"),
    engine_tool("edit", "write_file", "path=file_path content", ""),
    engine_tool("delete", "replace", "path=file_path old_string new_string", ""),
    engine_tool("read", "read_file", "path=file_path", ""),
    engine_tool("fetch", "web_fetch", "url prompt", ""),
    harmless("think switch_mode"),
];

const fn vocabulary_of(host: Host) -> Vocabulary {
    let (tools, mcp, common) = match host {
        Host::ClaudeCode => (CLAUDE_CODE_TOOLS, McpStyle::Claude, ""),
        Host::Codex => (CODEX_TOOLS, McpStyle::Claude, ""),
        Host::Copilot => (COPILOT_TOOLS, McpStyle::Copilot, ""),
        Host::Cursor => (CURSOR_TOOLS, McpStyle::Cursor, ""),
        Host::Qwen => (QWEN_TOOLS, McpStyle::Claude, ""),
        Host::Droid => (DROID_TOOLS, McpStyle::Claude, ""),
        Host::Grok => (GROK_TOOLS, McpStyle::Claude, ""),
        Host::GeminiCli => (GEMINI_CLI_TOOLS, McpStyle::Gemini, ""),
        Host::Antigravity => (ANTIGRAVITY_TOOLS, McpStyle::Claude, "Complexity Description toolAction toolSummary"),
        Host::Opencode => (OPENCODE_TOOLS, McpStyle::None, ""),
        Host::Acp => (ACP_TOOLS, McpStyle::Claude, ""),
    };
    Vocabulary { tools, mcp, common_options: common }
}

/// Returns the row of an agent's tool.
pub(crate) fn tool_row(host: Host, name: &str) -> Option<&'static ToolRow> {
    let name = if host == Host::GeminiCli { hookwright_hooks::canonical_tool_name(name) } else { name };
    vocabulary_of(host).tools.iter().find(|row| row.names().any(|known| known == name))
}

/// Returns the row of an agent's tool that corresponds to one of Claude Code's.
pub(crate) fn row_for_claude_tool(host: Host, claude: &str) -> Option<&'static ToolRow> {
    vocabulary_of(host).tools.iter().find(|row| matches!(row.meaning, ToolMeaning::Claude(name) if name == claude))
}

/// Returns the name by which hooks know an MCP server's tool, if the agent names such tools so, and whether the name
/// includes the server.
pub(crate) fn mcp_tool_name(host: Host, name: &str) -> Option<(String, bool)> {
    let in_claudes_style = || {
        let is_whole = McpToolName::parse(name).is_some_and(|read| !read.server.is_empty() && !read.tool.is_empty());
        (name.starts_with("mcp__") && is_whole).then(|| (name.to_owned(), true))
    };
    match vocabulary_of(host).mcp {
        McpStyle::Claude => in_claudes_style(),
        McpStyle::Copilot => in_claudes_style().or_else(|| {
            let (server, tool) = name.split_once('/')?;
            (is_word(server) && is_word(tool)).then(|| (format!("mcp__{server}__{tool}"), true))
        }),
        McpStyle::Cursor => name.strip_prefix("MCP:").map(|_| (name.to_owned(), false)).or_else(in_claudes_style),
        McpStyle::Gemini => name.starts_with("mcp_").then(|| (name.to_owned(), true)),
        McpStyle::None => None,
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|char| char.is_alphanumeric() || "-_.".contains(char))
}

impl ToolRow {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.split_ascii_whitespace()
    }

    /// Returns the name that sample payloads use.
    pub(crate) fn name(&self) -> &'static str {
        self.names().next().unwrap_or_default()
    }

    /// Returns the native spellings of each argument with the counterpart's key. `inside` is empty, or the name of the
    /// list whose elements' arguments are returned.
    fn arguments(&self, inside: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
        let spellings =
            self.arguments.split_ascii_whitespace().map(|word| word.split_once('=').unwrap_or((word, word)));
        spellings.filter_map(move |(native, name)| match inside {
            "" => (!native.contains('.')).then_some((native, name)),
            inside => {
                let native = native.strip_prefix(inside)?.strip_prefix('.')?;
                Some((native, name.rsplit('.').next().unwrap_or(name)))
            }
        })
    }

    /// Returns the role of a native key in this tool's arguments.
    pub(crate) fn classify_key(&self, host: Host, inside: &'static str, native: &str) -> ArgumentKey {
        for (spellings, name) in self.arguments(inside) {
            if let Some(spelling) = spellings.split('|').find(|spelling| spelling.trim_end_matches('*') == native) {
                return ArgumentKey::Argument { name, many: spelling.ends_with('*') };
            }
        }
        let mut options =
            self.options.split_ascii_whitespace().chain(vocabulary_of(host).common_options.split_ascii_whitespace());
        let is_option = |option: &str| match inside {
            "" => option == native,
            inside => option.strip_prefix(inside).and_then(|rest| rest.strip_prefix('.')) == Some(native),
        };
        if options.any(is_option) { ArgumentKey::Option } else { ArgumentKey::Unknown }
    }

    /// Returns the host's spelling of an argument: the one that is present, or else the usual one.
    pub(crate) fn native_key(
        &self,
        inside: &'static str,
        name: &str,
        is_there: impl Fn(&str) -> bool,
    ) -> Option<&'static str> {
        let (spellings, _) = self.arguments(inside).find(|(_, argument)| *argument == name)?;
        let mut natives = spellings.split('|').map(|spelling| spelling.trim_end_matches('*'));
        let usual = natives.clone().next();
        natives.find(|native| is_there(native)).or(usual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_means_two_tools_and_no_key_two_arguments() {
        for host in Host::all() {
            let mut names = std::collections::HashSet::new();
            for row in vocabulary_of(host).tools {
                row.names().for_each(|name| assert!(names.insert(name), "{host} {name}"));
                for inside in ["", "edits"] {
                    let mut keys = std::collections::HashSet::new();
                    let natives = row.arguments(inside).flat_map(|(natives, _)| natives.split('|'));
                    natives.for_each(|key| assert!(keys.insert(key.trim_end_matches('*')), "{host} {row:?} {key}"));
                }
            }
        }
    }

    /// An option keeps its name, so that name must not be one that a hook would read as an argument of another tool.
    #[test]
    fn no_option_has_the_name_of_an_engine_argument() {
        const ENGINE_ARGUMENTS: [&str; 8] =
            ["file_path", "dir_path", "notebook_path", "old_string", "new_string", "pattern", "url", "path"];
        for host in Host::all() {
            for row in vocabulary_of(host).tools {
                let mut options = row.options.split_ascii_whitespace();
                assert!(!options.any(|option| ENGINE_ARGUMENTS.contains(&option)), "{host} {row:?}");
            }
        }
    }

    #[test]
    fn mcp_tools_are_known_only_in_the_hosts_spelling() {
        let name = |host, name| mcp_tool_name(host, name).map(|(name, _)| name);
        for host in Host::all().filter(|host| *host != Host::Opencode) {
            assert_eq!(name(host, "mcp__git__push").as_deref(), Some("mcp__git__push"), "{host}");
        }
        assert_eq!(name(Host::Copilot, "git/push").as_deref(), Some("mcp__git__push"));
        assert_eq!(mcp_tool_name(Host::Cursor, "MCP:push"), Some(("MCP:push".to_owned(), false)));
        for (host, other) in [
            (Host::ClaudeCode, "git/push"),
            (Host::ClaudeCode, "git__push"),
            (Host::Codex, "multi_agent__send"),
            (Host::Copilot, "git__push"),
            (Host::Copilot, "@git/push"),
            (Host::Cursor, "git__push"),
            (Host::Opencode, "mcp__git__push"),
            (Host::Qwen, "mcp____"),
            (Host::Qwen, "mcp__git__"),
        ] {
            assert_eq!(mcp_tool_name(host, other), None, "{host} {other}");
        }
    }
}
