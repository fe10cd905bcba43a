//! Which model answers: the one that the options, the keys in the environment, or nothing at all ask for.

use std::sync::Arc;

use hookwright_model::{
    AnyModel, Gemini, HttpOptions, Model, ModelError, Offline, OpenAi, ProxyOptions, Recording, Replay, RetryNotice,
    gemini, openai,
};
use hookwright_settings::{GEMINI_KEYS, Loaded, OPENAI_KEY, Secrets, World};

use super::options::{SessionError, SessionOptions};
use crate::event::AgentEvent;
use crate::events::Events;

const DEFAULT_GEMINI: &str = "gemini-2.5-pro";

/// The model, and the name to ask it by.
pub(super) fn model(
    options: &SessionOptions,
    loaded: &Loaded,
    events: &Events,
) -> Result<(AnyModel, String), SessionError> {
    let var = |name: &str| loaded.world.var(name).filter(|value| !value.trim().is_empty());
    let wanted = options
        .model
        .clone()
        .or_else(|| var("GEMINI_MODEL").map(str::to_owned))
        .or_else(|| loaded.settings.model.name.clone());
    let secrets = Arc::new(Secrets::of_model(&loaded.world));
    let without_secrets = |error: ModelError| error.reworded(&|text| secrets.hide(text));
    let gemini_name = || wanted.clone().unwrap_or_else(|| DEFAULT_GEMINI.to_owned());
    let (mut model, name): (AnyModel, String) = if let Some((file, order)) = &options.replay {
        (Replay::load(file, *order)?.into(), gemini_name())
    } else if let Some(key) = GEMINI_KEYS.into_iter().find_map(var) {
        let base = var("GOOGLE_GEMINI_BASE_URL").unwrap_or(gemini::DEFAULT_BASE_URL);
        let name = gemini_name();
        (Gemini::new(base, key, &name, http_options(loaded)).map_err(without_secrets)?.into(), name)
    } else if let Some(key) = var(OPENAI_KEY).or_else(|| var("OPENAI_BASE_URL").map(|_| "")) {
        let base = var("OPENAI_BASE_URL").unwrap_or(openai::DEFAULT_BASE_URL);
        let name = wanted.clone().or_else(|| var("OPENAI_MODEL").map(str::to_owned));
        let name = name.ok_or(SessionError::NoModelName)?;
        (OpenAi::new(base, key, &name, http_options(loaded)).map_err(without_secrets)?.into(), name)
    } else {
        let model = Offline::new();
        let name = model.name().to_owned();
        (model.into(), name)
    };
    let (events, hidden) = (events.clone(), secrets.clone());
    model.set_retry_observer(Arc::new(move |notice: &RetryNotice| {
        events.send(AgentEvent::ModelRetry(hidden.hide(&notice.to_string())))
    }));
    let hide = move |line: &str| secrets.hide_known(line).into_owned();
    match &options.record {
        Some(file) => Ok((Recording::changed(model, file, Box::new(hide))?.into(), name)),
        None => Ok((model, name)),
    }
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
