//! Puts a session together: settings, model, tools, hooks and transcript become an [`Agent`]. Shared by every screen.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use hookwright_agent::context::{Memory, MemoryOptions, load_memory};
use hookwright_agent::system::{Facts, system_prompt};
use hookwright_agent::transcript::{self, Header, Transcript};
use hookwright_agent::{Agent, AgentEvent, ApprovalMode, Approvals, Events, HookEvents, Interaction, Policy, Services};
use hookwright_hooks::{HookEngine, HookState, Registry, Session};
use hookwright_model::{
    AnyModel, Cancel, Gemini, GenerationConfig, HttpOptions, Model, Offline, OpenAi, Provider, ProxyOptions, Recording,
    Replay, ReplayOrder, RetryNotice, gemini, openai, web_search,
};
use hookwright_settings::{ExtensionChoice, LoadOptions, Loaded, Notice, TrustOverride, World, load};
use hookwright_tools::{
    BoxFuture, FileFilter, HttpAccess, HttpPolicy, SearchAnswer, SearchError, Selection, ToolContext, WebSearch,
    Workspace,
};

use crate::args::{AgentArgs, Approval};
use crate::telemetry::SessionFacts;

/// A session that is ready to start.
pub(crate) struct Ready {
    pub(crate) agent: Agent,
    pub(crate) loaded: Loaded,
    /// Whether it goes on with an earlier one.
    pub(crate) resumed: bool,
    pub(crate) session_id: String,
    /// Said to the user before the first prompt.
    pub(crate) warnings: Vec<String>,
}

/// The configuration of the project in the working directory.
pub(crate) fn configuration(args: &AgentArgs, world: &World) -> anyhow::Result<Loaded> {
    let project = world.cwd.canonicalize().context("the working directory is gone")?;
    let trust = if args.skip_trust { TrustOverride::Skip } else { TrustOverride::None };
    let extensions = match args.extensions.as_slice() {
        [] => ExtensionChoice::Enabled,
        [none] if none == "none" => ExtensionChoice::None,
        names => ExtensionChoice::Only(names.to_vec()),
    };
    Ok(load(world, &LoadOptions { project, trust, extensions }))
}

/// Puts a session together.
pub(crate) fn prepare(
    args: &AgentArgs,
    loaded: Loaded,
    interaction: Interaction,
    events: Events,
) -> anyhow::Result<Ready> {
    let root = loaded.project.root.clone();
    let chats = loaded.paths.chats_dir(&root);
    let earlier = args.resume.as_deref().map(|which| resume(&chats, which)).transpose()?;
    let (model, model_name) = model(args, &loaded, &events)?;
    let session_id = match (&earlier, &args.session_id) {
        (Some((_, loaded)), _) => loaded.header.session_id.clone(),
        (None, Some(id)) if transcript::list(&chats)?.iter().any(|known| known.id == *id) => {
            bail!("there is a session {id} already; go on with it by --resume {id}")
        }
        (None, Some(id)) => id.clone(),
        (None, None) => uuid::Uuid::new_v4().to_string(),
    };
    let (path, transcript, history) = match earlier {
        Some((path, earlier)) => (path.clone(), Transcript::open(&path)?, earlier.history),
        None => {
            let header = Header {
                session_id: session_id.clone(),
                project: root.clone(),
                model: model_name.clone(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                started: jiff::Timestamp::now(),
            };
            let transcript = Transcript::create_in(&chats, &header)?;
            (transcript.path().to_owned(), transcript, Vec::new())
        }
    };
    let session = Session {
        id: session_id.clone(),
        transcript_path: path,
        cwd: root.clone(),
        project_dir: root.clone(),
        plans_dir: loaded.plans_dir(&session_id),
    };
    let hooks = engine(args, &loaded, session, &events);
    let mode = approval_mode(args, &loaded)?;
    let context = tool_context(args, &loaded)?;
    let (system, mut warnings) = system(&loaded, &context, mode, interaction);
    warnings.extend(servers_left_out(&loaded));
    warnings.extend(inert(&hooks));
    let model = Arc::new(model);
    let services = Services {
        tools: tools(&loaded, &model),
        tool_context: context,
        hooks,
        approvals: approvals(args, &loaded, mode)?,
        events,
        interaction,
        generation: GenerationConfig::default(),
        loop_detection: loaded.settings.model.loop_detection,
        max_turns: loaded.settings.model.max_session_turns,
        compression_threshold: loaded.settings.model.compression_threshold,
        model,
    };
    let resumed = !history.is_empty();
    Ok(Ready {
        agent: Agent::new(services, model_name, system, transcript, history),
        loaded,
        resumed,
        session_id,
        warnings,
    })
}

/// What hooks see of the environment.
pub(crate) fn hook_environment(loaded: &Loaded) -> Vec<(OsString, OsString)> {
    let env = loaded.world.env.clone();
    match &loaded.redaction {
        Some(redaction) => redaction.apply(env),
        None => env,
    }
}

/// The hooks that would fail to start, so that no guard is dead unsaid.
fn inert(hooks: &HookEngine) -> Vec<String> {
    /// Looking at files takes a while where there are thousands of hooks.
    const MOST: usize = 500;
    let registry = hooks.registry();
    let enabled = registry.entries().filter(|(_, state)| **state == HookState::Enabled).map(|(hook, _)| hook);
    enabled
        .take(MOST)
        .filter_map(|hook| {
            let problem = hooks.check(hook).err()?;
            Some(format!("hook {} ({}, {}) can't run: {problem}", hook.id(), hook.source, hook.event))
        })
        .collect()
}

fn resume(chats: &Path, which: &str) -> anyhow::Result<(PathBuf, transcript::LoadedTranscript)> {
    let sessions = transcript::list(chats)?;
    let info = transcript::find(&sessions, which)?;
    Ok((info.path.clone(), transcript::load(&info.path)?))
}

fn engine(args: &AgentArgs, loaded: &Loaded, session: Session, events: &Events) -> HookEngine {
    let registry = if args.no_hooks { Registry::default() } else { loaded.registry.clone() };
    let env = hook_environment(loaded);
    let observer = Arc::new(HookEvents(events.clone()));
    HookEngine::builder(registry).session(session).environment(env).observer(observer).build()
}

fn approval_mode(args: &AgentArgs, loaded: &Loaded) -> anyhow::Result<ApprovalMode> {
    let mode = match args.approval_mode {
        _ if args.yolo => ApprovalMode::Yolo,
        Some(Approval::Default) => ApprovalMode::Default,
        Some(Approval::AutoEdit) => ApprovalMode::AutoEdit,
        Some(Approval::Yolo) => ApprovalMode::Yolo,
        Some(Approval::Plan) => ApprovalMode::Plan,
        None => loaded.settings.general.approval_mode.into(),
    };
    if mode == ApprovalMode::Yolo && loaded.settings.security.disable_yolo_mode {
        bail!("the settings forbid running every tool unasked (security.disableYoloMode)");
    }
    Ok(mode)
}

/// The tools of this project, without those that settings and extensions take away.
fn tools(loaded: &Loaded, model: &Arc<AnyModel>) -> hookwright_tools::Registry {
    let search = model.provider().can_search().then(|| Arc::new(Search(model.clone())) as Arc<dyn WebSearch>);
    let mut tools = hookwright_tools::Registry::builtin(search);
    let mut exclude = loaded.settings.tools.exclude.clone();
    exclude.extend(loaded.extensions.iter().filter(|one| one.active).flat_map(|one| one.exclude_tools.clone()));
    tools.select(&Selection { allowed: loaded.settings.tools.core.clone(), exclude });
    tools
}

fn approvals(args: &AgentArgs, loaded: &Loaded, mode: ApprovalMode) -> anyhow::Result<Approvals> {
    let allowed = args.allowed_tools.iter().chain(&loaded.settings.tools.allowed).cloned().collect();
    Ok(Approvals::new(mode, allowed, Policy::load(&args.policy)?))
}

fn tool_context(args: &AgentArgs, loaded: &Loaded) -> anyhow::Result<ToolContext> {
    let root = &loaded.project.root;
    let settings = &loaded.settings.context;
    let from_settings = settings.include_directories.iter().map(PathBuf::from);
    let more = args.include_directories.iter().cloned().chain(from_settings).map(|path| root.join(path));
    let workspace = Workspace::new(root, more.collect::<Vec<_>>())?;
    let mut context = ToolContext::new(workspace);
    context.filter =
        FileFilter { git_ignore: settings.respect_git_ignore, gemini_ignore: settings.respect_gemini_ignore };
    context.environment = loaded.world.env.clone().into();
    context.memory_file = Some(loaded.paths.user_dir.join("GEMINI.md"));
    let proxy = proxy(&loaded.world).map(|(url, _)| url);
    context.http = Arc::new(HttpAccess::new(HttpPolicy { proxy, ..HttpPolicy::default() }));
    Ok(context)
}

/// What context files tell the model.
pub(crate) fn memory(loaded: &Loaded) -> Memory {
    let root = &loaded.project.root;
    let active = loaded.extensions.iter().filter(|extension| extension.active);
    load_memory(&MemoryOptions {
        home: &loaded.paths.home,
        home_gemini_dir: &loaded.paths.user_dir,
        project_root: root,
        cwd: root,
        file_names: &loaded.settings.context.file_names,
        trusted: loaded.project.trust.is_trusted(),
        extension_files: active.flat_map(|extension| extension.context_files.clone()).collect(),
    })
}

/// The system prompt, and what went wrong on the way to it.
pub(crate) fn system(
    loaded: &Loaded,
    context: &ToolContext,
    mode: ApprovalMode,
    interaction: Interaction,
) -> (String, Vec<String>) {
    let root = &loaded.project.root;
    let memory = memory(loaded);
    let own_rules = own_rules(loaded);
    let warnings = memory.warnings.into_iter().chain(own_rules.as_ref().err().cloned()).collect();
    let facts = Facts {
        cwd: root,
        more_directories: context.workspace.roots().get(1..).unwrap_or_default(),
        os: std::env::consts::OS,
        date: &jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        git_repository: root.ancestors().any(|folder| folder.join(".git").exists()),
        interaction,
        approval_mode: mode,
        memory: &memory.text,
        override_text: own_rules.unwrap_or_default(),
    };
    (system_prompt(&facts), warnings)
}

/// The user's own rules in place of ours: `GEMINI_SYSTEM_MD` names a file, or is true for `.gemini/system.md`.
fn own_rules(loaded: &Loaded) -> Result<Option<String>, String> {
    let root = &loaded.project.root;
    let file = match loaded.world.var("GEMINI_SYSTEM_MD").map(str::trim) {
        None | Some("" | "0" | "false") => return Ok(None),
        Some("1" | "true") => root.join(".gemini/system.md"),
        Some(file) => root.join(file),
    };
    match std::fs::read_to_string(&file) {
        Ok(text) => Ok(Some(text)),
        Err(error) => Err(format!("GEMINI_SYSTEM_MD names {}, which can't be read: {error}", file.display())),
    }
}

/// The model that the flags, the keys in the environment, or nothing at all ask for; and the name to ask it by.
fn model(args: &AgentArgs, loaded: &Loaded, events: &Events) -> anyhow::Result<(AnyModel, String)> {
    const DEFAULT_GEMINI: &str = "gemini-2.5-pro";
    let var = |name: &str| loaded.world.var(name).filter(|value| !value.trim().is_empty());
    let wanted = args
        .model
        .clone()
        .or_else(|| var("GEMINI_MODEL").map(str::to_owned))
        .or_else(|| loaded.settings.model.name.clone());
    let fake = args.fake_responses.as_ref().map(|file| (file, ReplayOrder::Strict));
    let fake = fake.or(args.fake_responses_non_strict.as_ref().map(|file| (file, ReplayOrder::ByMethod)));
    let gemini_name = || wanted.clone().unwrap_or_else(|| DEFAULT_GEMINI.to_owned());
    let (mut model, name): (AnyModel, String) = if let Some((file, order)) = fake {
        (Replay::load(file, order)?.into(), gemini_name())
    } else if let Some(key) = var("GEMINI_API_KEY").or_else(|| var("GOOGLE_API_KEY")) {
        let base = var("GOOGLE_GEMINI_BASE_URL").unwrap_or(gemini::DEFAULT_BASE_URL);
        let name = gemini_name();
        (Gemini::new(base, key, &name, http_options(loaded))?.into(), name)
    } else if let Some(key) = var("OPENAI_API_KEY").or_else(|| var("OPENAI_BASE_URL").map(|_| "")) {
        let base = var("OPENAI_BASE_URL").unwrap_or(openai::DEFAULT_BASE_URL);
        let name = wanted.clone().or_else(|| var("OPENAI_MODEL").map(str::to_owned));
        let name = name.context("which model? name it with --model, OPENAI_MODEL or `model.name` in the settings")?;
        (OpenAi::new(base, key, &name, http_options(loaded))?.into(), name)
    } else {
        let model = Offline::new();
        let name = model.name().to_owned();
        (model.into(), name)
    };
    let events = events.clone();
    model.set_retry_observer(Arc::new(move |notice: &RetryNotice| {
        events.send(AgentEvent::ModelRetry(notice.to_string()))
    }));
    match &args.record_responses {
        Some(file) => Ok((Recording::new(model, file)?.into(), name)),
        None => Ok((model, name)),
    }
}

fn http_options(loaded: &Loaded) -> HttpOptions {
    let proxy = proxy(&loaded.world).map(|(url, no_proxy)| ProxyOptions { url, no_proxy });
    let mut options = HttpOptions { proxy, ..HttpOptions::default() };
    if let Some(attempts) = loaded.settings.general.max_attempts {
        options.retry.max_attempts = attempts;
        options.retry.max_connect_attempts = options.retry.max_connect_attempts.min(attempts);
    }
    options
}

/// The proxy that the environment names, and the hosts it is not for.
fn proxy(world: &World) -> Option<(String, Option<String>)> {
    let var = |names: &[&str]| names.iter().find_map(|name| world.var(name).filter(|value| !value.is_empty()));
    let url = var(&["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"])?;
    Some((url.to_owned(), var(&["NO_PROXY", "no_proxy"]).map(str::to_owned)))
}

/// Searching the web through the model's provider.
struct Search(Arc<AnyModel>);

impl WebSearch for Search {
    fn search<'a>(&'a self, query: &'a str, cancel: &'a Cancel) -> BoxFuture<'a, Result<SearchAnswer, SearchError>> {
        Box::pin(async move {
            let found = web_search(&*self.0, query, cancel)
                .await
                .map_err(|error| SearchError { message: error.to_string() })?;
            let sources = found
                .sources
                .into_iter()
                .map(|source| hookwright_tools::Source { title: Some(source.title), uri: Some(source.uri) });
            Ok(SearchAnswer { text: found.text, sources: sources.collect(), citations: Vec::new() })
        })
    }
}

/// Tells of hooks that are new or have changed, before they first run. From then on they are known; one that waits for
/// trust still waits.
pub(crate) fn announce(loaded: &Loaded) -> std::io::Result<()> {
    let about_hooks = |notice: &&Notice| matches!(notice, Notice::Hook { held: false, .. });
    for notice in loaded.notices.iter().filter(about_hooks) {
        crate::out::note(notice)?;
    }
    let announced = loaded.reviews.iter().filter(|review| !review.held);
    if let Err(error) = hookwright_settings::trust::trust_hooks(&loaded.paths, announced) {
        crate::out::warn(format!("can't remember which hooks were announced: {error}"))?;
    }
    Ok(())
}

/// What is said to users who expect their MCP servers.
fn servers_left_out(loaded: &Loaded) -> Option<String> {
    let of_extensions = loaded.extensions.iter().filter(|one| one.active).flat_map(|one| one.mcp_servers.keys());
    let names: Vec<&str> = loaded.settings.mcp_servers.keys().chain(of_extensions).map(String::as_str).collect();
    match names.as_slice() {
        [] => None,
        [name] => Some(format!("MCP servers are not supported, so {name} is not started")),
        names => Some(format!("MCP servers are not supported, so {} are not started", names.join(", "))),
    }
}

/// What telemetry records about a session as a whole.
pub(crate) fn facts(agent: &Agent, loaded: &Loaded, session_id: &str, args: &AgentArgs) -> SessionFacts {
    let services = agent.services();
    let auth_type = match services.model.provider() {
        Provider::Gemini => Some("gemini-api-key"),
        Provider::OpenAi => Some("openai-api-key"),
        Provider::Replay | Provider::Offline | Provider::Custom => None,
    };
    SessionFacts {
        session_id: session_id.to_owned(),
        model: agent.model().to_owned(),
        auth_type: auth_type.map(str::to_owned),
        interactive: services.interaction == Interaction::Interactive,
        approval_mode: services.approvals.mode().as_str().to_owned(),
        output_format: args.output_format.as_str().to_owned(),
        debug: args.debug,
        mcp_servers: loaded.settings.mcp_servers.keys().cloned().collect(),
        extensions: loaded.extensions.iter().filter(|one| one.active).map(|one| one.name.clone()).collect(),
    }
}
