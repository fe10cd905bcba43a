//! Puts a session together: settings, model, tools, hooks and transcript become an [`Agent`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_hooks::{Builder, Hook, HookEngine, HookState, Power, Registry, Unarmed};
use hookwright_model::{Content, GenerationConfig, Provider};
use hookwright_settings::skills::{self, Skills};
use hookwright_settings::{ApprovalMode, Connection, Loaded, Secrets, Shell};
use hookwright_tools::{
    Console, FileFilter, HttpAccess, HttpPolicy, Origin, Selection, ShellSettings, ToolContext, ToolSet, Toolbox,
    WebSearching, Workspace,
};

use super::agents::trusted_agents;
use super::choose::Chosen;
use super::guards::mode_obstacle;
use super::options::{HookUse, SessionError, SessionOptions};
use super::{choose, servers};
use crate::agent::{Agent, StartSource};
use crate::approval::{Approvals, ToolLimits};
use crate::budget::Budget;
use crate::checkpoint::{Checkpoints, Store};
use crate::context::{Memory, MemoryOptions, load_memory};
use crate::door::Door;
use crate::events::Events;
use crate::policy::load_policies;
use crate::protect::{Guards, HeldInstructions, WAY_ON};
use crate::services::{HookEvents, Interaction, Services};
use crate::system::{Facts, system_prompt};
use crate::transcript::{self, Header, LoadedTranscript, Transcript, TranscriptError};
use crate::translate::defuse;

/// An agent that is ready to start.
pub(super) struct Made {
    pub(super) agent: Agent,
    pub(super) source: StartSource,
    pub(super) skills: Arc<Skills>,
    /// Where the model is, if it is elsewhere.
    pub(super) connection: Option<Connection>,
    /// Said to the user before the first prompt.
    pub(super) warnings: Vec<String>,
}

/// Puts a session together.
pub(super) fn make(
    options: &SessionOptions,
    loaded: &Loaded,
    unarmed: &[Unarmed],
    guards: Arc<Guards>,
    events: Events,
) -> Result<Made, SessionError> {
    let chats = chats_dir(loaded);
    let earlier = options.resume.as_deref().map(|which| earlier(&chats, which)).transpose()?;
    let secrets = Arc::new(Secrets::of_model(&loaded.world, &loaded.paths));
    let Chosen { model, name: model_name, connection, trouble } = choose::model(options, loaded, &secrets, &events)?;
    let model = Door::new(model, secrets);
    model.set_name(&model_name);
    let (mode, modes, fallback) = approval_modes(options, loaded, unarmed, &guards)?;
    let (policy, about_policies) = load_policies(loaded, &options.policies, options.interaction)?;
    let (session_id, (transcript, unkept), history) = match earlier {
        Some((path, earlier)) => (earlier.header.session_id, (Transcript::open(&path)?, None), earlier.history),
        None => {
            let id = new_id(options, &chats)?;
            let transcript = begin_transcript(options, loaded, &header(&id, loaded, &model_name))?;
            (id, transcript, Vec::new())
        }
    };
    let session = engine_session(loaded, &session_id, transcript.path());
    let hooks = engine(options, loaded, session, &guards, &events);
    let tool_context = tool_context(options, loaded)?;
    guards.arm(loaded, &hooks.registry(), &tool_context.background);
    let skills = Arc::new(skills::discover(loaded));
    let tools = Toolbox::new(builtin(model.provider()), selection(loaded));
    tools.bring(&Origin::Skills, crate::skills::tools(&skills));
    let told = crate::skills::told(&tools, &skills);
    let (system, mut warnings) = system(loaded, &told, &tool_context, mode, options.interaction, &guards);
    warnings.extend(crate::skills::remarks(&skills));
    warnings.extend(trouble);
    warnings.extend(fallback);
    warnings.extend(unkept);
    warnings.extend(
        tool_context.filter.unreadable(&tool_context.workspace).iter().map(|(file, why)| {
            format!("{} can't be read, so all that is beside it stays hidden: {why}", file.display())
        }),
    );
    warnings.extend(guards.stand_ins().iter().map(|hook| {
        format!(
            "hook {} on {} was taken away or changed by an agent; what it would judge is denied: {WAY_ON}",
            hook.id(),
            hook.event
        )
    }));
    warnings.extend(missing_directories(loaded));
    warnings.extend(hooks_that_stay(options, &hooks));
    warnings.extend(unarmed.iter().map(ToString::to_string));
    warnings.extend(inert(&hooks));
    warnings.extend(about_policies.iter().map(ToString::to_string));
    if policy.is_broken() {
        warnings.push("a policy is broken, so every tool that changes things is asked about".to_owned());
    }
    let approvals = Approvals::new(mode, allowed_tools(options, loaded), policy).with_modes(modes);
    approvals.set_limits(limits(loaded));
    approvals.set_memory(memory_of(loaded));
    approvals.set_protected(guards.protected());
    let tools = Arc::new(tools);
    let services = Services {
        servers: servers::make(loaded, &tool_context, &tools, &events, options.interaction),
        tools,
        tool_context,
        hooks,
        approvals: Arc::new(approvals),
        events,
        guards,
        checkpoints: Arc::new(checkpoints(options, loaded)),
        agents: Arc::default(),
        aside: Arc::default(),
        asking: Arc::default(),
        interaction: options.interaction,
        generation: GenerationConfig::default(),
        loop_detection: loaded.settings.model.loop_detection,
        budget: Budget::new(loaded.settings.model.max_session_turns, loaded.settings.model.max_prompt_turns),
        compression_threshold: loaded.settings.model.compression_threshold,
        compression_target: loaded.settings.model.compression_target,
        model: Arc::new(model),
    };
    services.agents.set(trusted_agents(loaded, &services.guards.held_instructions()), &services.tools);
    let source = if history.is_empty() { StartSource::Startup } else { StartSource::Resume };
    let agent = Agent::new(services, model_name, system, transcript, history);
    Ok(Made { agent, source, skills, connection, warnings })
}

/// Where what the user allows for good is written down.
pub(super) fn memory_of(loaded: &Loaded) -> crate::policy::Memory {
    let file = loaded.paths.remembered_policies().join("remembered.toml");
    crate::policy::Memory::new(loaded.project.root.clone(), file)
}

/// Whether files are kept before tools change them, and where.
fn checkpoints(options: &SessionOptions, loaded: &Loaded) -> Checkpoints {
    let keeps_files = options.checkpointing || loaded.settings.general.checkpointing;
    Checkpoints::new(Store::of(loaded), keeps_files, loaded.paths.home.clone())
}

/// Where this project's conversations are kept.
pub(super) fn chats_dir(loaded: &Loaded) -> PathBuf {
    loaded.paths.chats_dir(&loaded.project.root)
}

fn new_id(options: &SessionOptions, chats: &Path) -> Result<String, SessionError> {
    match &options.session_id {
        Some(id) if transcript::outlines(chats)?.iter().any(|known| known.id == *id) => {
            Err(SessionError::Exists(id.clone()))
        }
        Some(id) => Ok(id.clone()),
        None => Ok(uuid::Uuid::new_v4().to_string()),
    }
}

/// Whether a hook that runs here could say no or take tools away: then somebody counts on it. Those that only comment
/// guard nothing.
pub(super) fn has_guards(registry: &Registry) -> bool {
    let guards =
        |hook: &Hook| hook.is_guard() || [Power::Deny, Power::SelectTools].iter().any(|it| hook.event.can(*it));
    let counts = |state: &HookState| matches!(state, HookState::Enabled | HookState::Held { .. });
    registry.entries().any(|(hook, state)| counts(state) && guards(hook))
}

/// A transcript, and what to say where the disk takes none: a conversation is worth more than its record. Hooks read
/// transcripts, though; where one could say no and nobody is there to be told, none is an error.
fn begin_transcript(
    options: &SessionOptions,
    loaded: &Loaded,
    header: &Header,
) -> Result<(Transcript, Option<String>), SessionError> {
    let chats = chats_dir(loaded);
    let needed = options.interaction == Interaction::Headless && has_guards(&registry(options, loaded));
    match Transcript::create_in(&chats, header) {
        // Want of room is another matter, and stops more than a transcript.
        Err(TranscriptError::Create { cause, path }) if !needed && !hookwright_process::is_no_room(&cause) => {
            let error = TranscriptError::Create { cause, path };
            let said = format!("this conversation is not kept: {error}");
            Ok((Transcript::unkept_in(&chats, header), Some(said)))
        }
        made => Ok((made?, None)),
    }
}

/// What a new transcript begins with.
pub(super) fn header(id: &str, loaded: &Loaded, model: &str) -> Header {
    Header {
        session_id: id.to_owned(),
        project: loaded.project.root.clone(),
        model: model.to_owned(),
        branch: super::branch(&loaded.project.root),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: jiff::Timestamp::now(),
    }
}

/// What hooks are told of the session.
pub(super) fn engine_session(loaded: &Loaded, id: &str, transcript: &Path) -> hookwright_hooks::Session {
    let root = &loaded.project.root;
    hookwright_hooks::Session {
        id: id.to_owned(),
        transcript_path: transcript.to_owned(),
        cwd: root.clone(),
        project_dir: root.clone(),
        plans_dir: loaded.plans_dir(id),
    }
}

fn earlier(chats: &Path, which: &str) -> Result<(PathBuf, LoadedTranscript), SessionError> {
    let sessions = transcript::outlines(chats)?;
    let info = transcript::find(&sessions, which)?;
    Ok((info.path.clone(), transcript::load(&info.path)?))
}

fn engine(
    options: &SessionOptions,
    loaded: &Loaded,
    session: hookwright_hooks::Session,
    guards: &Arc<Guards>,
    events: &Events,
) -> HookEngine {
    let mut registry = registry(options, loaded);
    guards.stand_ins().into_iter().for_each(|hook| registry.add(hook));
    with_registry(registry, loaded, session)
        .observer(Arc::new(HookEvents(events.clone())))
        .sentry(guards.clone())
        .build()
}

/// An engine for this configuration, not yet built.
pub(super) fn builder(options: &SessionOptions, loaded: &Loaded, session: hookwright_hooks::Session) -> Builder {
    with_registry(registry(options, loaded), loaded, session)
}

fn with_registry(registry: Registry, loaded: &Loaded, session: hookwright_hooks::Session) -> Builder {
    HookEngine::builder(registry).session(session).places(loaded.hook_places())
}

/// The hooks that run. Switching all of them off leaves those that nobody may switch off.
pub(super) fn registry(options: &SessionOptions, loaded: &Loaded) -> Registry {
    let mut registry = loaded.registry.clone();
    if options.hooks == HookUse::Off {
        let names: Vec<String> = registry.hooks().iter().map(|hook| hook.id().to_owned()).collect();
        registry.switch(names.iter().map(String::as_str), false);
    }
    registry
}

fn hooks_that_stay(options: &SessionOptions, hooks: &HookEngine) -> Option<String> {
    let registry = hooks.registry();
    let stay = registry.entries().filter(|(_, state)| options.hooks == HookUse::Off && **state == HookState::Enabled);
    let names: Vec<&str> = stay.map(|(hook, _)| hook.id()).collect();
    (!names.is_empty()).then(|| format!("--no-hooks leaves locked hooks and guards running: {}", names.join(", ")))
}

/// The hooks that would fail to start, so that no guard is dead unsaid.
fn inert(hooks: &HookEngine) -> Vec<String> {
    /// Looking at files takes a while where there are thousands of hooks.
    const MOST: usize = 500;
    let registry = hooks.registry();
    let enabled = registry.entries().filter(|(_, state)| **state == HookState::Enabled).map(|(hook, _)| hook);
    // Of guards it is said already, and more.
    enabled
        .filter(|hook| !hook.is_guard())
        .take(MOST)
        .filter_map(|hook| {
            let problem = hooks.check(hook).err()?;
            Some(format!("hook {} ({}, {}) can't run: {problem}", hook.id(), hook.source, hook.event))
        })
        .collect()
}

/// The approval mode, those that the user can step through where nothing stands in the way, and what to say where it is not
/// the one asked for.
fn approval_modes(
    options: &SessionOptions,
    loaded: &Loaded,
    unarmed: &[Unarmed],
    guards: &Guards,
) -> Result<(ApprovalMode, Vec<ApprovalMode>, Option<String>), SessionError> {
    let wanted = options.approval_mode.unwrap_or(loaded.settings.general.approval_mode);
    if wanted == ApprovalMode::Yolo && loaded.settings.security.disable_yolo_mode {
        return Err(SessionError::YoloForbidden);
    }
    let obstacle = mode_obstacle(wanted, loaded, unarmed, guards);
    let mode = if obstacle.is_some() { ApprovalMode::Default } else { wanted };
    // Nobody gets into yolo by a slip of the finger: it is there only for whoever started with it.
    let modes = ApprovalMode::ALL.into_iter().filter(|one| *one != ApprovalMode::Yolo || mode == ApprovalMode::Yolo);
    let said = obstacle.map(|why| format!("{why}, so the approval mode is default, not {}", wanted.as_str()));
    Ok((mode, modes.collect(), said))
}

/// The tools that there are beside a model.
pub(super) fn builtin(provider: Provider) -> ToolSet {
    ToolSet::builtin(if provider.can_search() { WebSearching::Possible } else { WebSearching::Impossible })
}

/// The tools that settings and extensions leave.
pub(super) fn selection(loaded: &Loaded) -> Selection {
    let ToolLimits { exclude, core } = limits(loaded);
    Selection { allowed: core, exclude }
}

/// What settings and extensions take away.
pub fn limits(loaded: &Loaded) -> ToolLimits {
    let mut exclude = loaded.settings.tools.exclude.clone();
    exclude.extend(loaded.extensions.iter().filter(|one| one.active).flat_map(|one| one.exclude_tools.clone()));
    ToolLimits { exclude, core: loaded.settings.tools.core.clone() }
}

/// The tools that run unasked: the options' and the settings'.
pub(super) fn allowed_tools(options: &SessionOptions, loaded: &Loaded) -> Vec<String> {
    options.allowed_tools.iter().chain(&loaded.settings.tools.allowed).cloned().collect()
}

fn tool_context(options: &SessionOptions, loaded: &Loaded) -> Result<ToolContext, SessionError> {
    let root = &loaded.project.root;
    let settings = &loaded.settings.context;
    // Settings are shared between checkouts; a directory that one of them lacks is said, and holds up nobody.
    let from_settings = settings.include_directories.iter().map(PathBuf::from).filter(|path| root.join(path).is_dir());
    let more = options.include_directories.iter().cloned().chain(from_settings).map(|path| root.join(path));
    let workspace = Workspace::new(root, more.collect::<Vec<_>>())?;
    let keys = [&loaded.paths.connections, &loaded.paths.mcp_tokens].map(Clone::clone);
    let mut context = ToolContext::new(workspace.without(keys));
    context.filter = filter(loaded);
    context.environment = loaded.tool_environment().into();
    context.memory_file = Some(loaded.paths.user_dir.join("GEMINI.md"));
    context.shell = shell(&loaded.settings.tools.shell);
    context.console = options.consoles.clone().map(|shown_by| Console { shown_by, call_id: String::new() });
    let proxy = choose::proxy(&loaded.world);
    context.http = Arc::new(HttpAccess::new(HttpPolicy { proxy, ..HttpPolicy::default() }));
    Ok(context)
}

/// How commands run.
fn shell(settings: &Shell) -> ShellSettings {
    let usual = ShellSettings::default();
    ShellSettings {
        interactive: settings.interactive,
        pager: settings.pager.clone().unwrap_or(usual.pager),
        inactivity_timeout: settings
            .inactivity
            .map_or(usual.inactivity_timeout, |limit| (limit > 0).then(|| std::time::Duration::from_secs(limit))),
        ..usual
    }
}

/// Directories of the settings that are not there.
fn missing_directories(loaded: &Loaded) -> impl Iterator<Item = String> {
    let root = &loaded.project.root;
    let named = loaded.settings.context.include_directories.iter();
    let missing = named.filter(|path| !root.join(path).is_dir());
    missing.map(|path| format!("context.includeDirectories: there is no directory {path}; it is left out"))
}

/// Which ignore files count.
fn filter(loaded: &Loaded) -> FileFilter {
    let settings = &loaded.settings.context;
    FileFilter { git_ignore: settings.respect_git_ignore, gemini_ignore: settings.respect_gemini_ignore }
}

/// What context files tell the model.
pub(super) fn memory(loaded: &Loaded) -> Memory {
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
        filter: filter(loaded),
    })
}

/// The system prompt, and what went wrong on the way to it.
pub(super) fn system(
    loaded: &Loaded,
    skills: &str,
    context: &ToolContext,
    mode: ApprovalMode,
    interaction: Interaction,
    guards: &Guards,
) -> (String, Vec<String>) {
    let root = &loaded.project.root;
    let memory = memory(loaded);
    let own_rules = own_rules(loaded, &guards.held_instructions());
    let warnings = memory.warnings.into_iter().chain(own_rules.as_ref().err().cloned()).collect();
    let roots = context.workspace.roots();
    let facts = Facts {
        cwd: root,
        more_directories: roots.get(1..).unwrap_or_default(),
        os: std::env::consts::OS,
        date: &jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        git_repository: root.ancestors().any(|folder| folder.join(".git").exists()),
        interaction,
        approval_mode: mode,
        skills: &defuse(skills),
        memory: &defuse(&memory.text),
        override_text: own_rules.unwrap_or_default(),
    };
    (system_prompt(&facts), warnings)
}

/// The most that is read of them.
const LARGEST_RULES: u64 = 1 << 20;

/// The user's own rules in place of ours.
fn own_rules(loaded: &Loaded, held: &HeldInstructions) -> Result<Option<String>, String> {
    let Some(file) = loaded.system_prompt_file() else { return Ok(None) };
    if let Some(why) = held.why(&file).or_else(|| loaded.held_instruction(&file)) {
        return Err(why);
    }
    match hookwright_disk::read_text(&file, LARGEST_RULES) {
        Ok(text) => Ok(Some(text)),
        Err(error) => Err(format!("GEMINI_SYSTEM_MD names {}, which can't be read: {error}", file.display())),
    }
}

/// The end of a conversation, for whoever goes on with it: the last things that were said, and the calls between them.
pub(super) fn last_messages(history: &[Arc<Content>]) -> Vec<Arc<Content>> {
    const MOST_SAID: usize = 6;
    const MOST: usize = 40;
    let said = |content: &Arc<Content>| content.parts.iter().any(|part| part.as_text().is_some());
    let from = history.iter().enumerate().rev().filter(|(_, content)| said(content)).take(MOST_SAID).last();
    let from = from.map_or(0, |(at, _)| at).max(history.len().saturating_sub(MOST));
    history[from..].to_vec()
}
