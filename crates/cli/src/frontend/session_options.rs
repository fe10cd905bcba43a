//! Turns command-line flags into session options and the first prompt, and collects the facts that telemetry records about a session.

use hookwright_agent::session::{
    BrokenSettingsPolicy, HookUse, SessionOptions, SessionView, UnarmedGuardsPolicy, proxy_from_env,
};
use hookwright_agent::{ApprovalMode, Interaction};
use hookwright_model::{Provider, ReplayOrder};
use hookwright_settings::{ExtensionChoice, LoadedConfig, Notice, ProcessEnv, TrustOverride};

use crate::args::{ApprovalModeArg, SessionArgs};
use crate::commands::run::launcher;
use crate::telemetry::{CollectorOptions, TelemetrySession};

/// Returns the session options that the flags ask for.
pub(crate) fn from_args(args: &SessionArgs, interaction: Interaction, world: &ProcessEnv) -> SessionOptions {
    let strict = args.fake_responses.clone().map(|file| (file, ReplayOrder::Strict));
    let fitting = args.fake_responses_non_strict.clone().map(|file| (file, ReplayOrder::ByMethod));
    SessionOptions {
        interaction,
        trust: if args.skip_trust { TrustOverride::Skip } else { TrustOverride::None },
        extensions: match args.extensions.as_slice() {
            [] => ExtensionChoice::Enabled,
            [none] if none == "none" => ExtensionChoice::None,
            names => ExtensionChoice::Only(names.to_vec()),
        },
        mcp_servers: (!args.allowed_mcp_server_names.is_empty()).then(|| args.allowed_mcp_server_names.clone()),
        extra_mcp_servers: serde_json::Map::new(),
        open_files: None,
        broken_settings: if args.ignore_broken_settings {
            BrokenSettingsPolicy::Continue
        } else {
            BrokenSettingsPolicy::Refuse
        },
        unarmed_guards: UnarmedGuardsPolicy::Refuse,
        hooks: if args.no_hooks { HookUse::Off } else { HookUse::On },
        model: args.model.clone(),
        connection: None,
        replay: strict.or(fitting),
        record: args.record_responses.clone(),
        approval_mode: approval_mode(args),
        allowed_tools: args.allowed_tools.clone(),
        policies: args.policy.clone(),
        include_directories: args.include_directories.clone(),
        resume: args.resume.clone(),
        session_id: args.session_id.clone(),
        checkpointing: args.checkpointing,
        log: crate::log::path(),
        consoles: None,
        confiner: launcher(world),
    }
}

/// Returns the prompt that the command line starts the session with.
pub(crate) fn first_prompt(args: &SessionArgs) -> Option<String> {
    let given = args.prompt_interactive.clone().or_else(|| (!args.query.is_empty()).then(|| args.query.join(" ")));
    given.filter(|prompt| !prompt.trim().is_empty())
}

fn approval_mode(args: &SessionArgs) -> Option<ApprovalMode> {
    if args.yolo { Some(ApprovalMode::Yolo) } else { args.approval_mode.map(ApprovalMode::from) }
}

impl From<ApprovalModeArg> for ApprovalMode {
    fn from(mode: ApprovalModeArg) -> Self {
        match mode {
            ApprovalModeArg::Default => ApprovalMode::Default,
            ApprovalModeArg::AutoEdit => ApprovalMode::AutoEdit,
            ApprovalModeArg::Yolo => ApprovalMode::Yolo,
            ApprovalModeArg::Plan => ApprovalMode::Plan,
        }
    }
}

/// Prints hooks that are new or have changed before they first run outside a session, and remembers them as announced.
///
/// Hooks that wait for trust keep waiting.
pub(crate) fn announce_hooks(loaded: &LoadedConfig) -> std::io::Result<()> {
    let about_hooks = |notice: &&Notice| matches!(notice, Notice::Hook { held: false, .. });
    for notice in loaded.notices.iter().filter(about_hooks) {
        crate::output::note(notice)?;
    }
    let announced = loaded.reviews.iter().filter(|review| !review.held);
    if let Err(error) = hookwright_settings::trust::trust_hooks(&loaded.paths, announced) {
        crate::output::warn(format!("can't record which hooks were announced: {error}"))?;
    }
    Ok(())
}

/// Returns the facts that telemetry records about a session.
pub(crate) fn telemetry_facts(view: &SessionView, args: &SessionArgs) -> TelemetrySession {
    let (services, loaded) = (&view.services, &view.loaded);
    let auth_type = match services.model.provider() {
        Provider::Gemini => Some("gemini-api-key"),
        Provider::OpenAi => Some("openai-api-key"),
        Provider::Replay | Provider::Offline | Provider::Custom => None,
    };
    let provider = match services.model.provider() {
        Provider::Gemini => "gcp.gemini",
        other => other.as_str(),
    };
    TelemetrySession {
        session_id: view.session_id(),
        model: view.model.clone(),
        provider,
        auth_type: auth_type.map(str::to_owned),
        interactive: services.interaction == Interaction::Interactive,
        approval_mode: services.approvals.mode().as_str().to_owned(),
        output_format: args.output_format.as_str().to_owned(),
        debug: args.debug,
        mcp_servers: loaded.settings.mcp_servers.keys().cloned().collect(),
        extensions: loaded.extensions.iter().filter(|one| one.active).map(|one| one.name.clone()).collect(),
        secrets: services.model.secrets().clone(),
        collector: CollectorOptions::new(&loaded.process_env, proxy_from_env(&loaded.process_env)),
    }
}
