//! `extensions install`, `link` and `uninstall`: what an extension brings is shown, and nothing counts before somebody agrees.

use std::path::Path;

use anyhow::{Context, bail};
use hookwright_extensions::{Agreed, Prepared, Source, find, link as prepare_link, prepare, uninstall as take_out};
use hookwright_hooks::Severity;
use hookwright_settings::{ExtensionOwner, OwnSetting, World};

use super::{ask, guards, show, with_fetcher};
use crate::args::Install;
use crate::hooks::Toolbox;
use crate::{exit, out, report};

/// Whether the user has agreed on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    Given,
    Asked,
}

impl From<bool> for Consent {
    fn from(given: bool) -> Self {
        if given { Consent::Given } else { Consent::Asked }
    }
}

pub(super) fn run(toolbox: &Toolbox, world: &World, args: &Install) -> anyhow::Result<u8> {
    let source = Source::parse(&args.source, args.reference.as_deref(), &world.cwd)?;
    if args.auto_update && !matches!(source, Source::Git { .. }) {
        bail!("--auto-update is for repositories");
    }
    let prepared =
        with_fetcher(world, async |fetcher| prepare(&source, args.auto_update, fetcher, &toolbox.loaded).await)??;
    if args.auto_update {
        out::note("sessions will say when there is a newer version; nothing is put in place unasked")?;
    }
    put_in_place(toolbox, world, prepared, args.consent.into(), args.skip_settings.into(), "install")
}

pub(super) fn link(toolbox: &Toolbox, world: &World, path: &Path, consent: bool) -> anyhow::Result<u8> {
    let folder = world.cwd.join(path);
    if !folder.is_dir() {
        bail!("there is no folder {}", path.display());
    }
    let prepared = prepare_link(&folder, &toolbox.loaded)?;
    put_in_place(toolbox, world, prepared, consent.into(), Settings::Asked, "link")
}

/// Whether values are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settings {
    Asked,
    Skipped,
}

impl From<bool> for Settings {
    fn from(skipped: bool) -> Self {
        if skipped { Settings::Skipped } else { Settings::Asked }
    }
}

fn put_in_place(
    toolbox: &Toolbox,
    world: &World,
    prepared: Prepared,
    consent: Consent,
    settings: Settings,
    verb: &str,
) -> anyhow::Result<u8> {
    let name = prepared.brings.name.clone();
    show::brings(&prepared.brings)?;
    report::print(&prepared.brings.diagnostics)?;
    if prepared.brings.diagnostics.iter().any(|wrong| wrong.severity == Severity::Error) {
        out::warn("what is wrong with it does not count; the rest does")?;
    }
    if !is_agreed(consent, &format!("{verb} `{name}`, and trust its hooks?"))? {
        return refused(&name, verb);
    }
    let values = match settings {
        Settings::Asked => ask_for(&prepared.settings, &prepared.known_values())?,
        Settings::Skipped => Vec::new(),
    };
    let missing = without_value(&prepared.settings, &prepared.known_values(), &values);
    prepared.commit(&values, Agreed::Yes, world, &toolbox.loaded)?;
    let done = if verb == "link" { "linked" } else { "installed" };
    out::note(format!("`{name}` is {done}; a running session notices, and new ones have it"))?;
    say_missing(&name, &missing)?;
    Ok(exit::OK)
}

/// Whether the user agrees: by a flag, on the terminal, or by `y` on a piped stdin, as scripts for Gemini CLI do.
pub(crate) fn is_agreed(consent: Consent, question: &str) -> anyhow::Result<bool> {
    match consent {
        Consent::Given => Ok(true),
        Consent::Asked => Ok(ask::agrees(question)?),
    }
}

pub(super) fn refused(name: &str, verb: &str) -> anyhow::Result<u8> {
    out::error(format!("nobody has agreed to {verb} `{name}`; nothing was changed"))?;
    if !ask::is_anybody_there() {
        out::hint("look at what it brings, then say --consent")?;
    }
    Ok(exit::ERROR)
}

/// Asks for the values that are missing, if somebody is there.
pub(super) fn ask_for(settings: &[OwnSetting], known: &[(String, String)]) -> anyhow::Result<Vec<(String, String)>> {
    if !ask::is_anybody_there() {
        return Ok(Vec::new());
    }
    let mut values = Vec::new();
    for setting in settings.iter().filter(|setting| !known.iter().any(|(name, _)| *name == setting.variable)) {
        if let Some(value) = ask_one(setting)?.filter(|value| !value.is_empty()) {
            values.push((setting.variable.clone(), value));
        }
    }
    Ok(values)
}

/// Asks for one value; nothing if it is given up.
pub(super) fn ask_one(setting: &OwnSetting) -> anyhow::Result<Option<String>> {
    if !setting.description.is_empty() {
        out::stderr_line(&out::one_line(&setting.description))?;
    }
    let default = setting.default.as_deref().map(|value| format!(" [{}]", out::one_line(value))).unwrap_or_default();
    let question = format!("{} ({}){default}: ", out::one_line(&setting.name), setting.variable);
    let typed = if setting.sensitive { ask::hidden(&question) } else { ask::line(&question) };
    typed.context("can't ask for a value")
}

fn without_value(settings: &[OwnSetting], known: &[(String, String)], values: &[(String, String)]) -> Vec<String> {
    let given = |setting: &OwnSetting| known.iter().chain(values).any(|(name, _)| *name == setting.variable);
    let has = |setting: &OwnSetting| setting.default.is_some() || given(setting);
    settings.iter().filter(|setting| !has(setting)).map(|setting| out::one_line(&setting.name)).collect()
}

fn say_missing(name: &str, missing: &[String]) -> anyhow::Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    out::warn(format!("settings without a value: {}", missing.join(", ")))?;
    out::hint(format!("`hookwright extensions config {name}` asks for them"))?;
    Ok(())
}

pub(super) fn uninstall(
    toolbox: &Toolbox,
    world: &World,
    names: &[String],
    all: bool,
    consent: Consent,
) -> anyhow::Result<u8> {
    let own = toolbox.loaded.extensions.iter().filter(|one| one.owner == ExtensionOwner::User);
    let names: Vec<String> = if all { own.map(|one| one.name.clone()).collect() } else { names.to_vec() };
    if names.is_empty() {
        match all {
            true => out::note("no extension is installed")?,
            false => bail!("which? Name some, or say --all"),
        }
    }
    let mut code = exit::OK;
    for name in &names {
        let known = find(name, &toolbox.loaded);
        if let Some(extension) = known.filter(|one| one.owner == ExtensionOwner::User)
            && !guards::may_go(toolbox, world, extension, consent, "uninstall")?
        {
            code = exit::ERROR;
            continue;
        }
        let linked = known.filter(|one| one.path != one.home);
        match take_out(name, &toolbox.loaded) {
            Ok(name) => match linked {
                Some(linked) => out::note(format!("`{name}` is unlinked; {} stays", linked.path.display()))?,
                None => out::note(format!("`{name}` is uninstalled"))?,
            },
            Err(error) => {
                code = crate::failure::print(&error.into());
            }
        }
    }
    Ok(code)
}
