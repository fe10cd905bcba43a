//! Selects the model of a session: from the options, the environment, the saved connections, or the offline model.
//!
//! It creates models for connections; `model_gateway.rs` sends the requests.

use std::sync::Arc;
use std::time::Duration;

use hookwright_model::{
    AnyModel, Gemini, HttpOptions, Model, ModelError, Offline, OpenAi, ProxyOptions, RecordingModel, Replay,
    RetryNotice, RetryPolicy, gemini, openai,
};
use hookwright_settings::{
    ConnectionOrigin, LoadedConfig, ModelConnection, ModelService, ProcessEnv, Secrets, connections_from_env,
    saved_connections,
};

use super::options::{AuthTypeError, SessionError, SessionOptions};
use crate::event::ModelEvent;
use crate::event_channel::EventSender;
use crate::services::Interaction;

pub(super) const DEFAULT_GEMINI_MODEL: &str = "gemini-2.5-pro";

/// The model that a session begins with.
pub(super) struct SelectedModel {
    pub(super) model: AnyModel,
    /// The model's name in requests.
    pub(super) name: String,
    /// The connection to the model, if it is on a server.
    pub(super) connection: Option<ModelConnection>,
    /// The problem with the saved connections.
    pub(super) problem: Option<String>,
}

/// Selects the model that a session begins with.
pub(super) fn select_model(
    options: &SessionOptions,
    loaded: &LoadedConfig,
    secrets: &Arc<Secrets>,
    events: &EventSender,
) -> Result<SelectedModel, SessionError> {
    let wanted = requested_model_name(options, loaded);
    let (known, trouble) = match (&options.replay, &options.connection) {
        (Some(_), _) => (Vec::new(), None),
        (None, Some(chosen)) => (vec![chosen.clone()], None),
        (None, None) => known_connections(loaded),
    };
    let (mut model, name, connection): (AnyModel, String, Option<ModelConnection>) =
        match (&options.replay, known.into_iter().next()) {
            (Some((file, order)), _) => {
                (Replay::load(file, *order)?.into(), wanted.unwrap_or_else(|| DEFAULT_GEMINI_MODEL.to_owned()), None)
            }
            (None, Some(connection)) => {
                check_auth_type(loaded, Some(&connection))?;
                let name = model_name_for(&connection, options, wanted)?;
                (connect_model(&connection, &name, loaded, secrets)?, name, Some(connection))
            }
            (None, None) => {
                // An interactive session can still connect a model, which is checked then.
                if options.interaction == Interaction::Headless {
                    check_auth_type(loaded, None)?;
                }
                let model = Offline::new();
                let name = model.name().to_owned();
                (model.into(), name, None)
            }
        };
    report_retries(&mut model, secrets, events);
    let hidden = secrets.clone();
    let hide = move |line: &str| hidden.hide_known(line).into_owned();
    if let Some(file) = &options.record {
        model = RecordingModel::with_rewriter(model, file, Box::new(hide))?.into();
    }
    Ok(SelectedModel { model, name, connection, problem: trouble })
}

/// Checks a connection, and what the environment declares, against the authentication type that the settings enforce.
///
/// Both have to agree: a variable that names the enforced type does not cover up a connection of another type.
pub(super) fn check_auth_type(
    loaded: &LoadedConfig,
    connection: Option<&ModelConnection>,
) -> Result<(), AuthTypeError> {
    let Some(enforced) = loaded.settings.security.enforced_auth_type.clone() else { return Ok(()) };
    let is_set = |name: &str| loaded.process_env.var(name) == Some("true");
    let declared = match () {
        () if is_set("GOOGLE_GENAI_USE_GCA") => Some("oauth-personal"),
        () if is_set("GOOGLE_GENAI_USE_VERTEXAI") => Some("vertex-ai"),
        () => None,
    };
    let connected = connection.map(|connection| match connection.service {
        ModelService::Gemini => "gemini-api-key",
        ModelService::OpenAi => "openai",
    });
    match [declared, connected].into_iter().flatten().find(|current| *current != enforced) {
        Some(current) => Err(AuthTypeError::Mismatch { enforced, current }),
        None if connected.is_none() => Err(AuthTypeError::Missing { enforced }),
        None => Ok(()),
    }
}

/// Returns the model's name from the options, the environment or the settings, in this order.
fn requested_model_name(options: &SessionOptions, loaded: &LoadedConfig) -> Option<String> {
    let var = loaded.process_env.var("GEMINI_MODEL").filter(|value| !value.trim().is_empty());
    let flag = options.model.clone();
    flag.or_else(|| var.map(str::to_owned)).or_else(|| loaded.settings.model.name.clone())
}

/// Returns the model's name for a connection.
///
/// For a saved connection, its own model counts before the requested name, which may mean a model of another service;
/// only the command-line option counts before both.
fn model_name_for(
    connection: &ModelConnection,
    options: &SessionOptions,
    wanted: Option<String>,
) -> Result<String, SessionError> {
    let name = match connection.from {
        ConnectionOrigin::File => options.model.clone().or_else(|| connection.model.clone()).or(wanted),
        ConnectionOrigin::Environment(_) => wanted.or_else(|| connection.model.clone()),
    };
    match (name, connection.service) {
        (Some(name), _) => Ok(name),
        (None, ModelService::Gemini) => Ok(DEFAULT_GEMINI_MODEL.to_owned()),
        (None, ModelService::OpenAi) => Err(SessionError::NoModelName),
    }
}

/// Returns the connections that a session can use, and the problem with the saved ones.
///
/// Connections from the environment come first, so that they can override the saved ones for one run.
pub(super) fn known_connections(loaded: &LoadedConfig) -> (Vec<ModelConnection>, Option<String>) {
    let mut known = connections_from_env(&loaded.process_env);
    match saved_connections(&loaded.paths) {
        Ok(kept) => {
            for connection in kept {
                if !known.iter().any(|one| one.is_same_endpoint(&connection)) {
                    known.push(connection);
                }
            }
            (known, None)
        }
        Err(error) => (known, Some(format!("the saved connection can't be used: {error}; /auth connects a model"))),
    }
}

/// Creates a model for a connection; sends nothing yet.
pub(super) fn connect_model(
    connection: &ModelConnection,
    name: &str,
    loaded: &LoadedConfig,
    secrets: &Secrets,
) -> Result<AnyModel, ModelError> {
    new_model(connection, name, http_options(loaded)).map_err(|error| error.map_text(&|text| secrets.hide(text)))
}

/// Creates a model with a short timeout, to test whether a server responds and what it offers.
pub(super) fn probe_model(
    connection: &ModelConnection,
    patience: Duration,
    proxy: Option<ProxyOptions>,
) -> Option<AnyModel> {
    let retry = RetryPolicy { max_attempts: 1, max_connect_attempts: 1, ..RetryPolicy::default() };
    let options =
        HttpOptions { connect_timeout: patience, read_timeout: patience, retry, proxy, ..HttpOptions::default() };
    new_model(connection, "", options).ok()
}

fn new_model(connection: &ModelConnection, name: &str, options: HttpOptions) -> Result<AnyModel, ModelError> {
    let ModelConnection { service, base_url, key, .. } = connection;
    Ok(match service {
        ModelService::Gemini => {
            Gemini::new(base_url.as_deref().unwrap_or(gemini::DEFAULT_BASE_URL), key, name, options)?.into()
        }
        ModelService::OpenAi => {
            OpenAi::new(base_url.as_deref().unwrap_or(openai::DEFAULT_BASE_URL), key, name, options)?.into()
        }
    })
}

/// Reports the model's retries to the user.
pub(super) fn report_retries(model: &mut AnyModel, secrets: &Arc<Secrets>, events: &EventSender) {
    let (events, hidden) = (events.clone(), secrets.clone());
    model.set_retry_observer(Arc::new(move |notice: &RetryNotice| {
        events.send(ModelEvent::Retried(hidden.hide(&notice.to_string())))
    }));
}

fn http_options(loaded: &LoadedConfig) -> HttpOptions {
    let mut options = HttpOptions { proxy: proxy_from_env(&loaded.process_env), ..HttpOptions::default() };
    if let Some(attempts) = loaded.settings.general.max_attempts {
        options.retry.max_attempts = attempts;
        options.retry.max_connect_attempts = options.retry.max_connect_attempts.min(attempts);
    }
    options
}

/// Returns the proxy that the environment names, and the hosts that bypass it.
pub fn proxy_from_env(world: &ProcessEnv) -> Option<ProxyOptions> {
    let var = |names: &[&str]| names.iter().find_map(|name| world.var(name).filter(|value| !value.is_empty()));
    let url = var(&["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"])?;
    let no_proxy = var(&["NO_PROXY", "no_proxy"]).map(str::to_owned);
    Some(ProxyOptions { url: url.to_owned(), no_proxy })
}
