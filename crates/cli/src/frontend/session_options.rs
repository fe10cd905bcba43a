//! Turns command-line flags into session options, the observers of a session and the first prompt.

use hookwright_agent::session::{BrokenSettingsPolicy, HookUse, SessionOptions, UnarmedGuardsPolicy};
use hookwright_agent::{ApprovalMode, Interaction, SessionObserver};
use hookwright_model::ReplayOrder;
use hookwright_settings::{ExtensionChoice, LoadedConfig, Notice, ProcessEnv, TrustOverride};

use crate::args::{ApprovalModeArg, SessionArgs};
use crate::commands::run::launcher;
use crate::log::LogObserver;
use crate::telemetry::TelemetryObserver;

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

/// Returns the observers of a session: telemetry and the log.
pub(crate) fn observers(args: &SessionArgs) -> Vec<Box<dyn SessionObserver>> {
    vec![Box::new(LogObserver), Box::new(TelemetryObserver::new(args.output_format.as_str(), args.debug))]
}
