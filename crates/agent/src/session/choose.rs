//! Which model answers: the one that the options, the environment, what the user connected, or nothing at all ask for.
//! Makes models of connections; asking them anything is `door.rs`.

use std::sync::Arc;
use std::time::Duration;

use hookwright_model::{
    AnyModel, Gemini, HttpOptions, Model, ModelError, Offline, OpenAi, ProxyOptions, Recording, Replay, RetryNotice,
    RetryPolicy, gemini, openai,
};
use hookwright_settings::{
    Connection, KnownFrom, Loaded, Secrets, Service, World, connections_of_environment, kept_connections,
};

use super::options::{AuthTypeError, SessionError, SessionOptions};
use crate::event::AgentEvent;
use crate::events::Events;
use crate::services::Interaction;

pub(super) const DEFAULT_GEMINI: &str = "gemini-2.5-pro";

/// A model to begin with.
pub(super) struct Chosen {
    pub(super) model: AnyModel,
    /// The name to ask it by.
    pub(super) name: String,
    /// Where it is, if it is elsewhere.
    pub(super) connection: Option<Connection>,
    /// What is wrong with what the user connected.
    pub(super) trouble: Option<String>,
}

/// The model that a session begins with.
pub(super) fn model(
    options: &SessionOptions,
    loaded: &Loaded,
    secrets: &Arc<Secrets>,
    events: &Events,
) -> Result<Chosen, SessionError> {
    let wanted = wanted(options, loaded);
    let (known, trouble) = match (&options.replay, &options.connection) {
        (Some(_), _) => (Vec::new(), None),
        (None, Some(chosen)) => (vec![chosen.clone()], None),
        (None, None) => connections(loaded),
    };
    let (mut model, name, connection): (AnyModel, String, Option<Connection>) =
        match (&options.replay, known.into_iter().next()) {
            (Some((file, order)), _) => {
                (Replay::load(file, *order)?.into(), wanted.unwrap_or_else(|| DEFAULT_GEMINI.to_owned()), None)
            }
            (None, Some(connection)) => {
                check_auth_type(loaded, Some(&connection))?;
                let name = name_at(&connection, options, wanted)?;
                (connected(&connection, &name, loaded, secrets)?, name, Some(connection))
            }
            (None, None) => {
                // An interactive session can still be connected, and that is checked.
                if options.interaction == Interaction::Headless {
                    check_auth_type(loaded, None)?;
                }
                let model = Offline::new();
                let name = model.name().to_owned();
                (model.into(), name, None)
            }
        };
    watch_retries(&mut model, secrets, events);
    let hidden = secrets.clone();
    let hide = move |line: &str| hidden.hide_known(line).into_owned();
    if let Some(file) = &options.record {
        model = Recording::changed(model, file, Box::new(hide))?.into();
    }
    Ok(Chosen { model, name, connection, trouble })
}

/// Checks a connection, and what the environment declares, against the authentication type that the settings enforce.
///
/// Both have to agree: a variable that names the enforced type does not cover up a connection of another type.
pub(super) fn check_auth_type(loaded: &Loaded, connection: Option<&Connection>) -> Result<(), AuthTypeError> {
    let Some(enforced) = loaded.settings.security.enforced_auth_type.clone() else { return Ok(()) };
    let is_set = |name: &str| loaded.world.var(name) == Some("true");
    let declared = match () {
        () if is_set("GOOGLE_GENAI_USE_GCA") => Some("oauth-personal"),
        () if is_set("GOOGLE_GENAI_USE_VERTEXAI") => Some("vertex-ai"),
        () => None,
    };
    let connected = connection.map(|connection| match connection.service {
        Service::Gemini => "gemini-api-key",
        Service::OpenAi => "openai",
    });
    match [declared, connected].into_iter().flatten().find(|current| *current != enforced) {
        Some(current) => Err(AuthTypeError::Mismatch { enforced, current }),
        None if connected.is_none() => Err(AuthTypeError::Missing { enforced }),
        None => Ok(()),
    }
}

/// The name that the options, the environment or the settings ask for.
fn wanted(options: &SessionOptions, loaded: &Loaded) -> Option<String> {
    let var = loaded.world.var("GEMINI_MODEL").filter(|value| !value.trim().is_empty());
    let flag = options.model.clone();
    flag.or_else(|| var.map(str::to_owned)).or_else(|| loaded.settings.model.name.clone())
}

/// The name of the model at a connection. What the user chose there counts before the settings, which may mean a model of
/// somewhere else; a flag is meant for now.
fn name_at(connection: &Connection, options: &SessionOptions, wanted: Option<String>) -> Result<String, SessionError> {
    let name = match connection.from {
        KnownFrom::File => options.model.clone().or_else(|| connection.model.clone()).or(wanted),
        KnownFrom::Environment(_) => wanted.or_else(|| connection.model.clone()),
    };
    match (name, connection.service) {
        (Some(name), _) => Ok(name),
        (None, Service::Gemini) => Ok(DEFAULT_GEMINI.to_owned()),
        (None, Service::OpenAi) => Err(SessionError::NoModelName),
    }
}

/// What a session can be connected to: what the environment names comes first, so that it can stand in for one run; then
/// what the user connected. And what is wrong with that.
pub(super) fn connections(loaded: &Loaded) -> (Vec<Connection>, Option<String>) {
    let mut known = connections_of_environment(&loaded.world);
    match kept_connections(&loaded.paths) {
        Ok(kept) => {
            for connection in kept {
                if !known.iter().any(|one| one.is_same_place(&connection)) {
                    known.push(connection);
                }
            }
            (known, None)
        }
        Err(error) => (known, Some(format!("what you connected can't be used: {error}; /auth connects a model"))),
    }
}

/// A model at a connection; nothing is sent yet.
pub(super) fn connected(
    connection: &Connection,
    name: &str,
    loaded: &Loaded,
    secrets: &Secrets,
) -> Result<AnyModel, ModelError> {
    at(connection, name, http_options(loaded)).map_err(|error| error.reworded(&|text| secrets.hide(text)))
}

/// The same for a question that nobody waits for long: is something there, and what?
pub(super) fn briefly(connection: &Connection, patience: Duration, proxy: Option<ProxyOptions>) -> Option<AnyModel> {
    let retry = RetryPolicy { max_attempts: 1, max_connect_attempts: 1, ..RetryPolicy::default() };
    let options =
        HttpOptions { connect_timeout: patience, read_timeout: patience, retry, proxy, ..HttpOptions::default() };
    at(connection, "", options).ok()
}

fn at(connection: &Connection, name: &str, options: HttpOptions) -> Result<AnyModel, ModelError> {
    let Connection { service, base_url, key, .. } = connection;
    Ok(match service {
        Service::Gemini => {
            Gemini::new(base_url.as_deref().unwrap_or(gemini::DEFAULT_BASE_URL), key, name, options)?.into()
        }
        Service::OpenAi => {
            OpenAi::new(base_url.as_deref().unwrap_or(openai::DEFAULT_BASE_URL), key, name, options)?.into()
        }
    })
}

/// Has a model tell the user why nothing happens.
pub(super) fn watch_retries(model: &mut AnyModel, secrets: &Arc<Secrets>, events: &Events) {
    let (events, hidden) = (events.clone(), secrets.clone());
    model.set_retry_observer(Arc::new(move |notice: &RetryNotice| {
        events.send(AgentEvent::ModelRetry(hidden.hide(&notice.to_string())))
    }));
}

fn http_options(loaded: &Loaded) -> HttpOptions {
    let mut options = HttpOptions { proxy: proxy(&loaded.world), ..HttpOptions::default() };
    if let Some(attempts) = loaded.settings.general.max_attempts {
        options.retry.max_attempts = attempts;
        options.retry.max_connect_attempts = options.retry.max_connect_attempts.min(attempts);
    }
    options
}

/// The proxy that the environment names, and the hosts it is not for.
pub fn proxy(world: &World) -> Option<ProxyOptions> {
    let var = |names: &[&str]| names.iter().find_map(|name| world.var(name).filter(|value| !value.is_empty()));
    let url = var(&["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"])?;
    let no_proxy = var(&["NO_PROXY", "no_proxy"]).map(str::to_owned);
    Some(ProxyOptions { url: url.to_owned(), no_proxy })
}
