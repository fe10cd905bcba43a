//! Builds an [`Agent`] from settings, model, tools, hooks and transcript.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_hooks::{Hook, HookCapability, HookEngine, HookEngineBuilder, HookState, Registry, UnarmedGuard};
use hookwright_journal::{EventSource, Recorder};
use hookwright_model::{Content, GenerationConfig, Provider};
use hookwright_settings::skills::{self, Skills};
use hookwright_settings::{ApprovalMode, LoadedConfig, ModelConnection, Secrets, ShellCommandSettings};
use hookwright_tools::{
    CallConsole, FileFilter, HttpAccess, HttpPolicy, ShellCommandOptions, ToolContext, ToolNameFilter, ToolSet,
    ToolSource, Toolbox, WebSearchSupport, Workspace,
};

use super::agents::trusted_agents;
use super::guard_readiness::{mode_obstacle, sleeping_guards};
use super::model_selection::SelectedModel;
use super::options::{HookUse, SessionError, SessionOptions};
use super::{mcp_servers, model_selection};
use crate::agent::{Agent, StartSource};
use crate::approval::{Approvals, ToolLimits};
use crate::checkpoint::{CheckpointRecorder, CheckpointStore};
use crate::context::{ContextMemory, MemoryOptions, load_memory};
use crate::event_channel::EventSender;
use crate::model_gateway::ModelGateway;
use crate::policy::load_policies;
use crate::protect::{TRUST_HINT, TamperWatch, UntrustedInstructions};
use crate::request_budget::RequestBudget;
use crate::services::{HookEventForwarder, Interaction, Services};
use crate::system_prompt::{SystemPromptFacts, system_prompt};
use crate::transcript::{self, LoadedTranscript, Transcript, TranscriptError, TranscriptHeader};
use crate::translate::escape_hook_marker;

/// An agent that is ready to start.
pub(super) struct PreparedAgent {
    pub(super) agent: Agent,
    pub(super) start_source: StartSource,
    pub(super) skills: Arc<Skills>,
    /// The connection to the model, if it is on a server.
    pub(super) connection: Option<ModelConnection>,
    /// Warnings to show before the first prompt.
    pub(super) warnings: Vec<String>,
}

/// Builds the agent of a session.
pub(super) fn prepare_agent(
    options: &SessionOptions,
    loaded: &LoadedConfig,
    unarmed: &[UnarmedGuard],
    guards: Arc<TamperWatch>,
    events: EventSender,
) -> Result<PreparedAgent, SessionError> {
    let chats = chats_dir(loaded);
    let earlier = options.resume.as_deref().map(|which| load_earlier_session(&chats, which)).transpose()?;
    let secrets = Arc::new(Secrets::with_model_keys(&loaded.process_env, &loaded.paths));
    let SelectedModel { model, name: model_name, connection, problem: trouble } =
        model_selection::select_model(options, loaded, &secrets, &events)?;
    let model = ModelGateway::new(model, secrets);
    model.set_name(&model_name);
    let (mode, modes, fallback) = approval_modes(options, loaded, unarmed, &guards)?;
    let (policy, about_policies) = load_policies(loaded, &options.policies, options.interaction)?;
    let (session_id, (transcript, unkept), history) = match earlier {
        Some((path, earlier)) => (earlier.header.session_id, (Transcript::open(&path)?, None), earlier.history),
        None => {
            let id = new_session_id(options, &chats)?;
            let transcript = begin_transcript(options, loaded, &transcript_header(&id, loaded, &model_name))?;
            (id, transcript, Vec::new())
        }
    };
    let session = engine_session(loaded, &session_id, transcript.path());
    let journal = session_recorder(loaded);
    let hooks = build_engine(options, loaded, session, &guards, &events, journal.clone());
    let tool_context = tool_context(options, loaded)?;
    guards.arm(loaded, &hooks.registry(), &tool_context.process_groups);
    let skills = Arc::new(skills::discover(loaded));
    let tools = Toolbox::new(builtin_tools(model.provider()), tool_selection(loaded));
    tools.set_source(&ToolSource::Skills, crate::skills::skill_tools(&skills));
    let skills_prompt = crate::skills::skills_prompt_if_available(&tools, &skills);
    let (system, mut warnings) =
        build_system_prompt(loaded, &skills_prompt, &tool_context, mode, options.interaction, &guards);
    warnings.extend(crate::skills::skill_warnings(&skills));
    warnings.extend(trouble);
    warnings.extend(fallback);
    warnings.extend(unkept);
    warnings.extend(
        tool_context
            .filter
            .unreadable_files(&tool_context.workspace)
            .iter()
            .map(|(file, why)| format!("{} can't be read, so all files next to it stay hidden: {why}", file.display())),
    );
    warnings.extend(guards.stand_ins().iter().map(|hook| {
        format!(
            "hook {} on {} was removed or changed by an agent; calls that it would judge are denied: {TRUST_HINT}",
            hook.id(),
            hook.event
        )
    }));
    warnings.extend(missing_directories(loaded));
    warnings.extend(locked_hooks_warning(options, &hooks));
    warnings.extend(unarmed.iter().map(ToString::to_string));
    warnings.extend(inert_hook_warnings(&hooks));
    warnings.extend(about_policies.iter().map(ToString::to_string));
    if policy.is_broken() {
        warnings.push("a policy is broken, so every tool that changes things needs your approval".to_owned());
    }
    let approvals = Approvals::new(mode, allowed_tools(options, loaded), policy).with_selectable_modes(modes);
    approvals.set_tool_limits(tool_limits(loaded));
    approvals.set_remembered_rules(permission_memory(loaded));
    approvals.set_protected(guards.protected());
    let tools = Arc::new(tools);
    let services = Services {
        servers: mcp_servers::new_mcp_servers(loaded, &tool_context, &tools, &events, options.interaction),
        tools,
        tool_context,
        hooks,
        approvals: Arc::new(approvals),
        events,
        tamper_watch: guards,
        checkpoints: Arc::new(new_checkpoints(options, loaded)),
        subagents: Arc::default(),
        background_hooks: Arc::default(),
        question_lock: Arc::default(),
        interaction: options.interaction,
        generation: GenerationConfig::default(),
        loop_detection: loaded.settings.model.loop_detection,
        budget: RequestBudget::new(loaded.settings.model.max_session_turns, loaded.settings.model.max_prompt_turns),
        compression_threshold: loaded.settings.model.compression_threshold,
        compression_target: loaded.settings.model.compression_target,
        journal,
        confiner: options.confiner.clone(),
        model: Arc::new(model),
    };
    services
        .subagents
        .set_definitions(trusted_agents(loaded, &services.tamper_watch.untrusted_instructions()), &services.tools);
    let source = if history.is_empty() { StartSource::Startup } else { StartSource::Resume };
    let agent = Agent::new(services, model_name, system, transcript, history);
    let hooks = &agent.services().hooks;
    hooks.set_sleeping_guards(sleeping_guards(unarmed, hooks, loaded));
    Ok(PreparedAgent { agent, start_source: source, skills, connection, warnings })
}

/// Returns the recorder of what hooks decide, unless the user wants no record.
fn session_recorder(loaded: &LoadedConfig) -> Option<Arc<Recorder>> {
    let source = EventSource { agent: "hookwright".to_owned(), version: Some(env!("CARGO_PKG_VERSION").to_owned()) };
    let opener = hookwright_journal::opener(loaded)?;
    Some(Arc::new(Recorder::new(source, opener)))
}

/// Returns the store of the rules that the user allowed permanently.
pub(super) fn permission_memory(loaded: &LoadedConfig) -> crate::policy::RememberedRules {
    let file = loaded.paths.remembered_policies().join("remembered.toml");
    crate::policy::RememberedRules::new(loaded.project.root.clone(), file)
}

/// Creates the recorder of checkpoints.
fn new_checkpoints(options: &SessionOptions, loaded: &LoadedConfig) -> CheckpointRecorder {
    let keeps_files = options.checkpointing || loaded.settings.general.checkpointing;
    CheckpointRecorder::new(CheckpointStore::for_project(loaded), keeps_files, loaded.paths.home.clone())
}

/// Returns the directory of this project's conversations.
pub(super) fn chats_dir(loaded: &LoadedConfig) -> PathBuf {
    loaded.paths.chats_dir(&loaded.project.root)
}

fn new_session_id(options: &SessionOptions, chats: &Path) -> Result<String, SessionError> {
    match &options.session_id {
        Some(id) if transcript::list_outlines(chats)?.iter().any(|known| known.id == *id) => {
            Err(SessionError::Exists(id.clone()))
        }
        Some(id) => Ok(id.clone()),
        None => Ok(uuid::Uuid::new_v4().to_string()),
    }
}

/// Returns whether an enabled or untrusted hook could deny calls or remove tools, so that a session relies on it.
pub(super) fn has_guards(registry: &Registry) -> bool {
    let guards = |hook: &Hook| {
        hook.is_guard() || [HookCapability::Deny, HookCapability::SelectTools].iter().any(|it| hook.event.can(*it))
    };
    let counts = |state: &HookState| matches!(state, HookState::Enabled | HookState::Untrusted { .. });
    registry.entries().any(|(hook, state)| counts(state) && guards(hook))
}

/// Creates the transcript, and a warning if the disk refuses one: the conversation can go on without its record.
///
/// Hooks read transcripts. In a headless session with a hook that could deny, a missing transcript is an error.
fn begin_transcript(
    options: &SessionOptions,
    loaded: &LoadedConfig,
    header: &TranscriptHeader,
) -> Result<(Transcript, Option<String>), SessionError> {
    let chats = chats_dir(loaded);
    let needed = options.interaction == Interaction::Headless && has_guards(&effective_registry(options, loaded));
    match Transcript::create_in(&chats, header) {
        // Exhausted resources affect more than the transcript, so they are an error.
        Err(TranscriptError::Create { cause, path })
            if !needed && !hookwright_process::is_resource_exhausted(&cause) =>
        {
            let error = TranscriptError::Create { cause, path };
            let warning = format!("this conversation is not kept: {error}");
            Ok((Transcript::unsaved_in(&chats, header), Some(warning)))
        }
        made => Ok((made?, None)),
    }
}

/// Returns the header of a new transcript.
pub(super) fn transcript_header(id: &str, loaded: &LoadedConfig, model: &str) -> TranscriptHeader {
    TranscriptHeader {
        session_id: id.to_owned(),
        project: loaded.project.root.clone(),
        model: model.to_owned(),
        branch: super::current_git_branch(&loaded.project.root),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: jiff::Timestamp::now(),
    }
}

/// Returns the session fields that hooks get.
pub(super) fn engine_session(loaded: &LoadedConfig, id: &str, transcript: &Path) -> hookwright_hooks::Session {
    let root = &loaded.project.root;
    hookwright_hooks::Session {
        id: id.to_owned(),
        transcript_path: transcript.to_owned(),
        cwd: root.clone(),
        project_dir: root.clone(),
        plans_dir: loaded.plans_dir(id),
    }
}

fn load_earlier_session(chats: &Path, which: &str) -> Result<(PathBuf, LoadedTranscript), SessionError> {
    let sessions = transcript::list_outlines(chats)?;
    let info = transcript::find(&sessions, which)?;
    Ok((info.path.clone(), transcript::load(&info.path)?))
}

fn build_engine(
    options: &SessionOptions,
    loaded: &LoadedConfig,
    session: hookwright_hooks::Session,
    guards: &Arc<TamperWatch>,
    events: &EventSender,
    journal: Option<Arc<Recorder>>,
) -> HookEngine {
    let mut registry = effective_registry(options, loaded);
    guards.stand_ins().into_iter().for_each(|hook| registry.add(hook));
    let builder = engine_builder_with(registry, options, loaded, session)
        .observer(Arc::new(HookEventForwarder(events.clone())))
        .trust_gate(guards.clone());
    match journal {
        Some(journal) => builder.observer(journal).build(),
        None => builder.build(),
    }
}

/// Returns the builder of the hook engine for this configuration.
pub(super) fn engine_builder(
    options: &SessionOptions,
    loaded: &LoadedConfig,
    session: hookwright_hooks::Session,
) -> HookEngineBuilder {
    engine_builder_with(effective_registry(options, loaded), options, loaded, session)
}

fn engine_builder_with(
    registry: Registry,
    options: &SessionOptions,
    loaded: &LoadedConfig,
    session: hookwright_hooks::Session,
) -> HookEngineBuilder {
    let builder = HookEngine::builder(registry).session(session).exec_envs(loaded.hook_exec_envs());
    builder.confinement_launcher(options.confiner.clone())
}

/// Returns the registry of hooks that run. Switching all hooks off leaves those that must not be switched off.
pub(super) fn effective_registry(options: &SessionOptions, loaded: &LoadedConfig) -> Registry {
    let mut registry = loaded.registry.clone();
    if options.hooks == HookUse::Off {
        let names: Vec<String> = registry.hooks().iter().map(|hook| hook.id().to_owned()).collect();
        registry.set_many_enabled(names.iter().map(String::as_str), false);
    }
    registry
}

fn locked_hooks_warning(options: &SessionOptions, hooks: &HookEngine) -> Option<String> {
    let registry = hooks.registry();
    let stay = registry.entries().filter(|(_, state)| options.hooks == HookUse::Off && **state == HookState::Enabled);
    let names: Vec<&str> = stay.map(|(hook, _)| hook.id()).collect();
    (!names.is_empty()).then(|| format!("--no-hooks leaves locked hooks and guards running: {}", names.join(", ")))
}

/// Returns a warning for each hook that would fail to start.
fn inert_hook_warnings(hooks: &HookEngine) -> Vec<String> {
    /// Checking files takes long if there are thousands of hooks.
    const MAX_CHECKED_HOOKS: usize = 500;
    let registry = hooks.registry();
    let enabled = registry.entries().filter(|(_, state)| **state == HookState::Enabled).map(|(hook, _)| hook);
    // Guards are reported separately, in more detail.
    enabled
        .filter(|hook| !hook.is_guard())
        .take(MAX_CHECKED_HOOKS)
        .filter_map(|hook| {
            let problem = hooks.check_readiness(hook).err()?;
            Some(format!("hook {} ({}, {}) can't run: {problem}", hook.id(), hook.source, hook.event))
        })
        .collect()
}

/// Returns the approval mode, the modes that the user can select, and a message if the mode is not the requested one.
fn approval_modes(
    options: &SessionOptions,
    loaded: &LoadedConfig,
    unarmed: &[UnarmedGuard],
    guards: &TamperWatch,
) -> Result<(ApprovalMode, Vec<ApprovalMode>, Option<String>), SessionError> {
    let wanted = options.approval_mode.unwrap_or(loaded.settings.general.approval_mode);
    if wanted == ApprovalMode::Yolo && loaded.settings.security.disable_yolo_mode {
        return Err(SessionError::YoloForbidden);
    }
    let obstacle = mode_obstacle(wanted, loaded, unarmed, guards);
    let mode = if obstacle.is_some() { ApprovalMode::Default } else { wanted };
    // Yolo is selectable only in a session that started in it, so that the user cannot enter it by mistake.
    let modes = ApprovalMode::ALL.into_iter().filter(|one| *one != ApprovalMode::Yolo || mode == ApprovalMode::Yolo);
    let warning = obstacle.map(|why| format!("{why}, so the approval mode is default, not {}", wanted.as_str()));
    Ok((mode, modes.collect(), warning))
}

/// Returns the built-in tools that suit a provider.
pub(super) fn builtin_tools(provider: Provider) -> ToolSet {
    ToolSet::builtin(if provider.can_search() { WebSearchSupport::Available } else { WebSearchSupport::Unavailable })
}

/// Returns the filter of tool names from settings and extensions.
pub(super) fn tool_selection(loaded: &LoadedConfig) -> ToolNameFilter {
    let ToolLimits { exclude, core } = tool_limits(loaded);
    ToolNameFilter { allowed: core, exclude }
}

/// Returns the tools that settings and extensions exclude or allow.
pub fn tool_limits(loaded: &LoadedConfig) -> ToolLimits {
    let mut exclude = loaded.settings.tools.exclude.clone();
    exclude.extend(loaded.extensions.iter().filter(|one| one.active).flat_map(|one| one.exclude_tools.clone()));
    ToolLimits { exclude, core: loaded.settings.tools.core.clone() }
}

/// Returns the tools that skip approval, by the options and the settings.
pub(super) fn allowed_tools(options: &SessionOptions, loaded: &LoadedConfig) -> Vec<String> {
    options.allowed_tools.iter().chain(&loaded.settings.tools.allowed).cloned().collect()
}

fn tool_context(options: &SessionOptions, loaded: &LoadedConfig) -> Result<ToolContext, SessionError> {
    let root = &loaded.project.root;
    let settings = &loaded.settings.context;
    // Settings are shared between checkouts: a missing directory gives a warning, not an error.
    let from_settings = settings.include_directories.iter().map(PathBuf::from).filter(|path| root.join(path).is_dir());
    let more = options.include_directories.iter().cloned().chain(from_settings).map(|path| root.join(path));
    let workspace = Workspace::new(root, more.collect::<Vec<_>>())?;
    let keys = [&loaded.paths.connections, &loaded.paths.mcp_tokens].map(Clone::clone);
    let mut context = ToolContext::new(workspace.with_forbidden_files(keys));
    context.filter = file_filter(loaded);
    context.environment = loaded.tool_environment().into();
    context.open_files.clone_from(&options.open_files);
    context.memory_file = Some(loaded.paths.user_dir.join("GEMINI.md"));
    context.shell = shell_settings(&loaded.settings.tools.shell);
    context.console = options.consoles.clone().map(|shown_by| CallConsole { host: shown_by, call_id: String::new() });
    let proxy = model_selection::proxy_from_env(&loaded.process_env);
    context.http = Arc::new(HttpAccess::new(HttpPolicy { proxy, ..HttpPolicy::default() }));
    Ok(context)
}

/// Returns the options for shell commands.
fn shell_settings(settings: &ShellCommandSettings) -> ShellCommandOptions {
    let usual = ShellCommandOptions::default();
    ShellCommandOptions {
        interactive: settings.interactive,
        pager: settings.pager.clone().unwrap_or(usual.pager),
        inactivity_timeout: settings
            .inactivity_timeout_secs
            .map_or(usual.inactivity_timeout, |limit| (limit > 0).then(|| std::time::Duration::from_secs(limit))),
        ..usual
    }
}

/// Returns a warning for each directory of the settings that does not exist.
fn missing_directories(loaded: &LoadedConfig) -> impl Iterator<Item = String> {
    let root = &loaded.project.root;
    let named = loaded.settings.context.include_directories.iter();
    let missing = named.filter(|path| !root.join(path).is_dir());
    missing.map(|path| format!("context.includeDirectories: there is no directory {path}; it is left out"))
}

/// Returns which ignore files are respected.
fn file_filter(loaded: &LoadedConfig) -> FileFilter {
    let settings = &loaded.settings.context;
    FileFilter { git_ignore: settings.respect_git_ignore, gemini_ignore: settings.respect_gemini_ignore }
}

/// Loads the text of context files.
pub(super) fn load_context_memory(loaded: &LoadedConfig) -> ContextMemory {
    let root = &loaded.project.root;
    let active = loaded.extensions.iter().filter(|extension| extension.active);
    load_memory(&MemoryOptions {
        home: &loaded.paths.home,
        home_gemini_dir: &loaded.paths.user_dir,
        project_root: root,
        cwd: root,
        file_names: &loaded.settings.context.file_names,
        outside_file_names: &loaded.settings.context.outside_file_names,
        trusted: loaded.project.trust.is_trusted(),
        extension_files: active.flat_map(|extension| extension.context_files.clone()).collect(),
        filter: file_filter(loaded),
    })
}

/// Builds the system prompt, with the problems found on the way.
pub(super) fn build_system_prompt(
    loaded: &LoadedConfig,
    skills: &str,
    context: &ToolContext,
    mode: ApprovalMode,
    interaction: Interaction,
    guards: &TamperWatch,
) -> (String, Vec<String>) {
    let root = &loaded.project.root;
    let memory = load_context_memory(loaded);
    let own_rules = system_prompt_override(loaded, &guards.untrusted_instructions());
    let warnings = memory.warnings.into_iter().chain(own_rules.as_ref().err().cloned()).collect();
    let roots = context.workspace.roots();
    let facts = SystemPromptFacts {
        cwd: root,
        extra_directories: roots.get(1..).unwrap_or_default(),
        os: std::env::consts::OS,
        date: &jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        git_repository: root.ancestors().any(|folder| folder.join(".git").exists()),
        interaction,
        approval_mode: mode,
        skills: &escape_hook_marker(skills),
        memory: &escape_hook_marker(&memory.text),
        override_text: own_rules.unwrap_or_default(),
    };
    (system_prompt(&facts), warnings)
}

/// The most bytes that are read of a system prompt file.
const MAX_SYSTEM_PROMPT_BYTES: u64 = 1 << 20;

/// Returns the user's own system prompt, if one replaces the built-in one.
fn system_prompt_override(loaded: &LoadedConfig, held: &UntrustedInstructions) -> Result<Option<String>, String> {
    let Some(file) = loaded.system_prompt_file() else { return Ok(None) };
    if let Some(why) = held.reason_for(&file).or_else(|| loaded.held_instruction(&file)) {
        return Err(why);
    }
    match hookwright_disk::read_text(&file, MAX_SYSTEM_PROMPT_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) => Err(format!("GEMINI_SYSTEM_MD names {}, which can't be read: {error}", file.display())),
    }
}

/// Returns the end of a conversation for display when it is resumed: the last messages with text, and the calls between
/// them.
pub(super) fn last_messages(history: &[Arc<Content>]) -> Vec<Arc<Content>> {
    const MAX_TEXT_MESSAGES: usize = 6;
    const MAX_MESSAGES: usize = 40;
    let has_text = |content: &Arc<Content>| content.parts.iter().any(|part| part.as_text().is_some());
    let from = history.iter().enumerate().rev().filter(|(_, content)| has_text(content)).take(MAX_TEXT_MESSAGES).last();
    let from = from.map_or(0, |(at, _)| at).max(history.len().saturating_sub(MAX_MESSAGES));
    history[from..].to_vec()
}
