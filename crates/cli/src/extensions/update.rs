//! `extensions update`: what is new where an extension came from, shown as a difference; what runs or decides counts only after
//! somebody agrees.

use anyhow::bail;
use hookwright_extensions::{Agreed, Asks, Prepared, Update, look_for_update};
use hookwright_settings::{Extension, ExtensionOwner, OriginKind, World};

use super::install::{Consent, ask_for, is_agreed, refused};
use super::{named, show, with_fetcher};
use crate::hooks::Toolbox;
use crate::{exit, out, report};

pub(super) fn run(
    toolbox: &Toolbox,
    world: &World,
    name: Option<&str>,
    all: bool,
    consent: bool,
) -> anyhow::Result<u8> {
    let is_from_elsewhere = |one: &&Extension| {
        one.owner == ExtensionOwner::User && one.origin.as_ref().is_some_and(|origin| origin.kind != OriginKind::Link)
    };
    let wanted: Vec<&Extension> = match name {
        Some(name) => vec![named(toolbox, name)?],
        None if all => toolbox.loaded.extensions.iter().filter(is_from_elsewhere).collect(),
        None => bail!("which? Name one, or say --all"),
    };
    if wanted.is_empty() {
        out::note("no installed extension can be updated")?;
    }
    let mut code = exit::OK;
    for extension in wanted {
        // What fails for one is no reason to leave out the others.
        let done = one(toolbox, world, extension, consent.into());
        code = code.max(done.unwrap_or_else(|error| crate::failure::print(&error)));
    }
    Ok(code)
}

fn one(toolbox: &Toolbox, world: &World, extension: &Extension, consent: Consent) -> anyhow::Result<u8> {
    let name = &extension.name;
    if let Some(place) = &extension.moved_to {
        out::note(format!("`{name}` says that it has moved to {}", out::one_line(place)))?;
        out::hint("uninstall it and install it from there, if you trust that place")?;
    }
    let found = with_fetcher(world, async |fetcher| look_for_update(extension, fetcher, &toolbox.loaded).await)??;
    match found {
        Update::Current => out::note(format!("`{name}` {} is the newest", extension.version))?,
        Update::Linked => out::note(format!("`{name}` is linked: {} counts as it is", extension.path.display()))?,
        Update::Ready(prepared) => return put_in_place(toolbox, world, *prepared, consent),
    }
    Ok(exit::OK)
}

fn put_in_place(toolbox: &Toolbox, world: &World, prepared: Prepared, consent: Consent) -> anyhow::Result<u8> {
    let (name, version) = (prepared.brings.name.clone(), prepared.brings.version.clone());
    let asks = match &prepared.difference {
        Some(difference) => {
            show::difference(&name, difference)?;
            difference.asks()
        }
        None => Asks::Yes,
    };
    report::print(&prepared.brings.diagnostics)?;
    let agreed = match asks {
        Asks::No => Agreed::NotAsked,
        Asks::Yes if is_agreed(consent, &format!("update `{name}`, and trust its hooks as they are then?"))? => {
            Agreed::Yes
        }
        Asks::Yes => return refused(&name, "update"),
    };
    let values = ask_for(&prepared.settings, &prepared.known_values())?;
    prepared.commit(&values, agreed, world, &toolbox.loaded)?;
    out::note(format!("`{name}` is at {version} now"))?;
    Ok(exit::OK)
}
