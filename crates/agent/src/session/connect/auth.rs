//! `/auth`: asks which model, for a key that nobody sees, and whether it works: with a request like any other, past the same
//! hooks. Only what works is kept.

use std::sync::Arc;
use std::time::Duration;

use hookwright_hooks::Purpose;
use hookwright_model::{Content, ModelError, Request};
use hookwright_settings::{Connection, KnownFrom, Service};
use tokio_util::sync::CancellationToken;

use super::local::{self, Found};
use crate::door::{self, Asking, Door, ModelAnswer};
use crate::inquiry::{Choosable, Inquiry, Seen};
use crate::scope::Scope;
use crate::services::Services;
use crate::session::choose;
use crate::session::reply::Reply;
use crate::session::talk::{Deed, Talk, deed};

/// How long a list of models is waited for.
const LISTING: Duration = Duration::from_secs(15);
/// How long an answer is waited for; a local model may have to be loaded first.
const ANSWERING: Duration = Duration::from_secs(90);

/// What can be connected.
enum Place {
    Local(Found),
    Gemini,
    OpenAi,
    /// Any server that speaks as OpenAI's does.
    Other,
}

impl Place {
    fn choice(&self) -> Choosable {
        match self {
            Place::Local(found) => {
                let several = if found.models.len() == 1 { "model" } else { "models" };
                let about = format!("on this machine, {}, {} {several}", found.connection.title(), found.models.len());
                Choosable::new(found.name, about)
            }
            Place::Gemini => Choosable::new("Gemini API", "with a key from https://aistudio.google.com/apikey"),
            Place::OpenAi => Choosable::new("OpenAI", "with a key from https://platform.openai.com/api-keys"),
            Place::Other => {
                Choosable::new("Another server", "any with OpenAI's chat completions: its address, its key")
            }
        }
    }
}

/// What became of trying a connection.
enum Tried {
    Works(String),
    Fails(String),
    /// The user left it at that.
    Left,
}

/// Connects a model.
pub(super) async fn connect(talk: Talk) -> Option<Deed> {
    let mut places: Vec<Place> = local::look(&talk.world).await.into_iter().map(Place::Local).collect();
    places.extend([Place::Gemini, Place::OpenAi, Place::Other]);
    let now = match &talk.connection {
        Some(connection) => format!("Now it is {} ({}).", talk.model, connection.title()),
        None => format!("Now it is {}.", talk.model),
    };
    let choices = places.iter().map(Place::choice).collect();
    let which = Inquiry::one_of("Which model is to be connected?", choices).about([now]);
    let place = places.swap_remove(which.choose(&talk.services).await?);
    let mut problem = None;
    loop {
        let mut connection = described(&place, problem.take(), &talk).await?;
        talk.services.model.secrets().learn_key(&connection.key);
        match tried(&connection, &talk).await {
            Tried::Works(name) => {
                connection.model = Some(name.clone());
                return deed(move |session| {
                    session.use_connection(connection.clone(), name);
                    session.keep(&connection);
                });
            }
            Tried::Left => return None,
            Tried::Fails(why) if matches!(place, Place::Local(_)) => {
                talk.say(Reply::error(why));
                return None;
            }
            Tried::Fails(why) => problem = Some(why),
        }
    }
}

/// Where it is and what it is let in with.
async fn described(place: &Place, problem: Option<String>, talk: &Talk) -> Option<Connection> {
    let problem: Vec<String> = problem.into_iter().map(|why| format!("That did not work: {why}")).collect();
    let connection = |service, base_url, key| Connection { service, base_url, key, model: None, from: KnownFrom::File };
    let key = async |about: Vec<String>, whose: &str, placeholder: &str| {
        let hidden = "It is shown nowhere, and kept where only you can read it.".to_owned();
        let asked = Inquiry::words(format!("The key for {whose}"), placeholder, Seen::Hidden);
        asked.about(about).about([hidden]).write(&talk.services).await
    };
    match place {
        Place::Local(found) => Some(found.connection.clone()),
        Place::Gemini | Place::OpenAi => {
            let (service, whose, address) = match place {
                Place::Gemini => (Service::Gemini, "the Gemini API", talk.world.var("GOOGLE_GEMINI_BASE_URL")),
                _ => (Service::OpenAi, "OpenAI", None),
            };
            let address = address.filter(|address| !address.trim().is_empty()).map(str::to_owned);
            let mut about = problem;
            loop {
                let key = key(about, whose, "paste or type it, then Enter").await?;
                if !key.is_empty() {
                    return Some(connection(service, address, key));
                }
                about = vec!["A key is needed here.".to_owned()];
            }
        }
        Place::Other => {
            let asked = Inquiry::words("The server's address", "https://…/v1", Seen::Shown).about(problem);
            let url = asked.write(&talk.services).await.filter(|url| !url.is_empty())?;
            let key = key(Vec::new(), &url, "leave it empty if none is wanted").await?;
            Some(connection(Service::OpenAi, Some(url), key))
        }
    }
}

/// Whether a connection works, and by which name.
async fn tried(connection: &Connection, talk: &Talk) -> Tried {
    let secrets = talk.services.model.secrets();
    let fails = |error: ModelError| {
        let error = error.reworded(&|text| secrets.hide(text));
        Tried::Fails(error.hint().map_or_else(|| error.to_string(), |hint| format!("{error} ({hint})")))
    };
    if let Err(error) = choose::check_auth_type(&talk.loaded, Some(connection)) {
        return Tried::Fails(error.to_string());
    }
    let model = match choose::connected(connection, "", &talk.loaded, secrets) {
        Ok(model) => model,
        Err(error) => return fails(error),
    };
    let cancel = CancellationToken::new();
    let listed = match tokio::time::timeout(LISTING, model.list_models(&cancel)).await {
        Err(_) => Ok(Vec::new()),
        // A server without a list may still answer.
        Ok(Err(ModelError::Api(error))) if !error.is_about_the_key() => Ok(Vec::new()),
        Ok(Err(ModelError::Malformed { .. })) => Ok(Vec::new()),
        Ok(listed) => listed,
    };
    let names = match listed {
        Ok(names) => names,
        Err(error) => return fails(error),
    };
    let Some(name) = named(connection, names, talk).await else { return Tried::Left };
    match choose::connected(connection, &name, &talk.loaded, secrets) {
        Ok(model) => answers(Door::new(model, secrets.clone()), name, talk).await,
        Err(error) => fails(error),
    }
}

/// Which of its models; where it says none, the user does.
async fn named(connection: &Connection, names: Vec<String>, talk: &Talk) -> Option<String> {
    let title = format!("Which model of {}?", connection.title());
    if names.is_empty() {
        let asked = Inquiry::words(title, "its name", Seen::Shown).about(["The server lists none.".to_owned()]);
        return asked.write(&talk.services).await.filter(|name| !name.is_empty());
    }
    let usual = names.iter().position(|name| name == choose::DEFAULT_GEMINI || *name == talk.model).unwrap_or(0);
    let choices = names.iter().map(|name| Choosable::new(name, "")).collect();
    let at = Inquiry::one_of(title, choices).selected(usual).choose(&talk.services).await?;
    names.into_iter().nth(at)
}

/// Whether it really answers: a short request, past the hooks that every request passes.
async fn answers(door: Door, name: String, talk: &Talk) -> Tried {
    talk.say(Reply::aside(format!("asking {name} for a word …")));
    let services = Services { model: Arc::new(door), ..Services::clone(&talk.services) };
    let mut request = Request::new(&name, vec![Content::user_text("Answer with one word: ready").into()]);
    request.generation.max_output_tokens = Some(256);
    let cancel = CancellationToken::new();
    let scope = Scope::outside(&cancel);
    let mut held = None;
    let asked = door::ask(&services, request, Asking::Aside(Purpose::Check), &mut held, &scope);
    match tokio::time::timeout(ANSWERING, asked).await {
        Err(_) => Tried::Fails(format!("{name} did not answer within {} s", ANSWERING.as_secs())),
        Ok(ModelAnswer::Complete(..) | ModelAnswer::Loop(..)) => Tried::Works(name),
        Ok(ModelAnswer::Denied(reason) | ModelAnswer::Stopped(reason, _)) => {
            Tried::Fails(format!("a hook refused the request: {reason}"))
        }
        Ok(ModelAnswer::Cancelled(_)) => Tried::Left,
        Ok(ModelAnswer::Failed(error, _)) => {
            let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
            Tried::Fails(format!("{error}{hint}"))
        }
    }
}
