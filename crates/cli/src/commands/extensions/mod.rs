//! `hookwright extensions …`: one file per command. `hookwright-extensions` and `hookwright-settings` do the work; the
//! commands print it and ask for consent.

mod config;
pub(crate) mod guard_removal;
pub(crate) mod install;
mod list;
mod new;
mod preview;
mod switch;
mod update;
mod validate;

use hookwright_agent::session::proxy_from_env;
use hookwright_extensions::Fetcher;
use hookwright_settings::administration::{ExtensionSwitchRequest, GuardLossConsent, UnknownName};
use hookwright_settings::edit::Switch;
use hookwright_settings::{Extension, ProcessEnv};
use install::ConsentSource;

use crate::args::{ExtensionsCommand, ProjectCommand, ScopeArg};
use crate::commands::hooks::LoadedProject;
use crate::output;
use crate::presentation::CommandStyle;
use crate::presentation::administration::unknown_name_text;

/// Runs one of the `extensions` commands.
pub(crate) fn run(args: ProjectCommand<ExtensionsCommand>, world: &ProcessEnv) -> anyhow::Result<u8> {
    let ProjectCommand { command, place } = args;
    let open = || LoadedProject::open(&place, world);
    match command {
        ExtensionsCommand::Install(install) => install::run(&open()?, world, &install),
        ExtensionsCommand::Link { path, consent } => install::link(&open()?, world, &path, consent),
        ExtensionsCommand::Uninstall { names, all, consent } => {
            install::uninstall(&open()?, world, &names, all, consent.into())
        }
        ExtensionsCommand::Update { name, all, consent } => update::run(&open()?, world, name.as_deref(), all, consent),
        ExtensionsCommand::List { json } => list::run(&open()?, json),
        ExtensionsCommand::Enable { name, scope } => {
            switch::run(&open()?, switch_request(name, scope, Switch::Enable), ConsentSource::Prompt)
        }
        ExtensionsCommand::Disable { name, scope, consent } => {
            switch::run(&open()?, switch_request(name, scope, Switch::Disable), consent.into())
        }
        ExtensionsCommand::New { path, template } => new::run(&open()?, world, &path, template),
        ExtensionsCommand::Validate { path, json } => validate::run(&open()?, world, &path, json),
        ExtensionsCommand::Config { name, setting, scope } => {
            config::run(&open()?, world, name.as_deref(), setting.as_deref(), scope)
        }
    }
}

/// Returns the extension of that name, or else one whose name differs only in case.
fn find_extension<'t>(toolbox: &'t LoadedProject, name: &str) -> anyhow::Result<&'t Extension> {
    let unknown = || {
        let unknown = UnknownName::extension(name, &toolbox.loaded);
        anyhow::anyhow!(unknown_name_text(&unknown, CommandStyle::Shell))
    };
    toolbox.loaded.extension(name).ok_or_else(unknown)
}

fn switch_request(name: String, scope: ScopeArg, switch: Switch) -> ExtensionSwitchRequest {
    ExtensionSwitchRequest { name, scope: scope.into(), switch, consent: GuardLossConsent::Missing }
}

/// Runs `work` with a fetcher that uses the environment's git and proxy, and prints progress on stderr.
pub(crate) fn with_fetcher<T>(world: &ProcessEnv, work: impl AsyncFnOnce(&Fetcher<'_>) -> T) -> anyhow::Result<T> {
    let last_stage = std::sync::Mutex::new(String::new());
    let progress = |words: &str| {
        // One line for every stage, not for every percentage.
        let stage = words.split([':', '%']).next().unwrap_or(words).to_owned();
        let mut last_stage = last_stage.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *last_stage != stage {
            let _ = output::note(output::one_line(words));
            *last_stage = stage;
        }
    };
    let fetcher = Fetcher { process_env: world, proxy: proxy_from_env(world), progress: &progress };
    Ok(crate::runtime::start(1)?.block_on(work(&fetcher)))
}
