//! `/auth`: asks which model, for a key that nobody sees, and whether it works: with a request like any other, past the same
//! hooks. Only what works is kept.

use std::sync::Arc;
use std::time::Duration;

use hookwright_hooks::Purpose;
use hookwright_model::{Content, ModelError, ModelRequest};
use hookwright_settings::{ConnectionOrigin, ModelConnection, ModelService};
use tokio_util::sync::CancellationToken;

use super::local_servers::{self, LocalModelServer};
use crate::model_gateway::{self, AnswerDelivery, ModelAnswer, ModelGateway};
use crate::scope::TurnScope;
use crate::services::Services;
use crate::session::dialog::{DialogContext, DialogOutcome, dialog_outcome};
use crate::session::model_selection;
use crate::session::reply::Reply;
use crate::user_question::{InputVisibility, QuestionChoice, UserQuestion};

/// How long a list of models is waited for.
const MODEL_LIST_TIMEOUT: Duration = Duration::from_secs(15);
/// How long an answer is waited for; a local model may have to be loaded first.
const MODEL_CHECK_TIMEOUT: Duration = Duration::from_secs(90);

/// What can be connected.
enum ConnectTarget {
    Local(LocalModelServer),
    Gemini,
    OpenAi,
    /// Any server that speaks as OpenAI's does.
    CustomServer,
}

impl ConnectTarget {
    fn choice(&self) -> QuestionChoice {
        match self {
            ConnectTarget::Local(found) => {
                let several = if found.models.len() == 1 { "model" } else { "models" };
                let about = format!("on this machine, {}, {} {several}", found.connection.title(), found.models.len());
                QuestionChoice::new(found.name, about)
            }
            ConnectTarget::Gemini => {
                QuestionChoice::new("Gemini API", "with a key from https://aistudio.google.com/apikey")
            }
            ConnectTarget::OpenAi => {
                QuestionChoice::new("OpenAI", "with a key from https://platform.openai.com/api-keys")
            }
            ConnectTarget::CustomServer => {
                QuestionChoice::new("Another server", "any with OpenAI's chat completions: its address, its key")
            }
        }
    }
}

/// What became of trying a connection.
enum ConnectionCheck {
    Works(String),
    Fails(String),
    /// The user left it at that.
    Cancelled,
}

/// Connects a model.
pub(super) async fn run_auth_dialog(talk: DialogContext) -> Option<DialogOutcome> {
    let mut places: Vec<ConnectTarget> =
        local_servers::find_local_servers(&talk.world).await.into_iter().map(ConnectTarget::Local).collect();
    places.extend([ConnectTarget::Gemini, ConnectTarget::OpenAi, ConnectTarget::CustomServer]);
    let now = match &talk.connection {
        Some(connection) => format!("Now it is {} ({}).", talk.model, connection.title()),
        None => format!("Now it is {}.", talk.model),
    };
    let choices = places.iter().map(ConnectTarget::choice).collect();
    let which = UserQuestion::choice("Which model is to be connected?", choices).with_details([now]);
    let place = places.swap_remove(which.ask_choice(&talk.services).await?);
    let mut problem = None;
    loop {
        let mut connection = ask_connection(&place, problem.take(), &talk).await?;
        talk.services.model.secrets().learn_key(&connection.key);
        match check_connection(&connection, &talk).await {
            ConnectionCheck::Works(name) => {
                connection.model = Some(name.clone());
                return dialog_outcome(move |session| {
                    session.use_connection(connection.clone(), name);
                    session.save_connection(&connection);
                });
            }
            ConnectionCheck::Cancelled => return None,
            ConnectionCheck::Fails(why) if matches!(place, ConnectTarget::Local(_)) => {
                talk.reply(Reply::error(why));
                return None;
            }
            ConnectionCheck::Fails(why) => problem = Some(why),
        }
    }
}

/// Where it is and what it is let in with.
async fn ask_connection(
    place: &ConnectTarget,
    problem: Option<String>,
    talk: &DialogContext,
) -> Option<ModelConnection> {
    let problem: Vec<String> = problem.into_iter().map(|why| format!("That did not work: {why}")).collect();
    let connection =
        |service, base_url, key| ModelConnection { service, base_url, key, model: None, from: ConnectionOrigin::File };
    let key = async |about: Vec<String>, whose: &str, placeholder: &str| {
        let hidden = "It is shown nowhere, and kept where only you can read it.".to_owned();
        let asked = UserQuestion::text(format!("The key for {whose}"), placeholder, InputVisibility::Hidden);
        asked.with_details(about).with_details([hidden]).ask_text(&talk.services).await
    };
    match place {
        ConnectTarget::Local(found) => Some(found.connection.clone()),
        ConnectTarget::Gemini | ConnectTarget::OpenAi => {
            let (service, whose, address) = match place {
                ConnectTarget::Gemini => {
                    (ModelService::Gemini, "the Gemini API", talk.world.var("GOOGLE_GEMINI_BASE_URL"))
                }
                _ => (ModelService::OpenAi, "OpenAI", None),
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
        ConnectTarget::CustomServer => {
            let asked = UserQuestion::text("The server's address", "https://…/v1", InputVisibility::Visible)
                .with_details(problem);
            let url = asked.ask_text(&talk.services).await.filter(|url| !url.is_empty())?;
            let key = key(Vec::new(), &url, "leave it empty if none is wanted").await?;
            Some(connection(ModelService::OpenAi, Some(url), key))
        }
    }
}

/// Whether a connection works, and by which name.
async fn check_connection(connection: &ModelConnection, talk: &DialogContext) -> ConnectionCheck {
    let secrets = talk.services.model.secrets();
    let fails = |error: ModelError| {
        let error = error.map_text(&|text| secrets.hide(text));
        ConnectionCheck::Fails(error.hint().map_or_else(|| error.to_string(), |hint| format!("{error} ({hint})")))
    };
    if let Err(error) = model_selection::check_auth_type(&talk.loaded, Some(connection)) {
        return ConnectionCheck::Fails(error.to_string());
    }
    let model = match model_selection::connect_model(connection, "", &talk.loaded, secrets) {
        Ok(model) => model,
        Err(error) => return fails(error),
    };
    let cancel = CancellationToken::new();
    let listed = match tokio::time::timeout(MODEL_LIST_TIMEOUT, model.list_models(&cancel)).await {
        Err(_) => Ok(Vec::new()),
        // A server without a list may still answer.
        Ok(Err(ModelError::Api(error))) if !error.is_auth() => Ok(Vec::new()),
        Ok(Err(ModelError::Malformed { .. })) => Ok(Vec::new()),
        Ok(listed) => listed,
    };
    let names = match listed {
        Ok(names) => names,
        Err(error) => return fails(error),
    };
    let Some(name) = ask_model_name(connection, names, talk).await else { return ConnectionCheck::Cancelled };
    match model_selection::connect_model(connection, &name, &talk.loaded, secrets) {
        Ok(model) => check_model_answers(ModelGateway::new(model, secrets.clone()), name, talk).await,
        Err(error) => fails(error),
    }
}

/// Which of its models; where it says none, the user does.
async fn ask_model_name(connection: &ModelConnection, names: Vec<String>, talk: &DialogContext) -> Option<String> {
    let title = format!("Which model of {}?", connection.title());
    if names.is_empty() {
        let asked = UserQuestion::text(title, "its name", InputVisibility::Visible)
            .with_details(["The server lists none.".to_owned()]);
        return asked.ask_text(&talk.services).await.filter(|name| !name.is_empty());
    }
    let usual =
        names.iter().position(|name| name == model_selection::DEFAULT_GEMINI_MODEL || *name == talk.model).unwrap_or(0);
    let choices = names.iter().map(|name| QuestionChoice::new(name, "")).collect();
    let at = UserQuestion::choice(title, choices).with_selected(usual).ask_choice(&talk.services).await?;
    names.into_iter().nth(at)
}

/// Whether it really answers: a short request, past the hooks that every request passes.
async fn check_model_answers(door: ModelGateway, name: String, talk: &DialogContext) -> ConnectionCheck {
    talk.reply(Reply::aside(format!("asking {name} for a word …")));
    let services = Services { model: Arc::new(door), ..Services::clone(&talk.services) };
    let mut request = ModelRequest::new(&name, vec![Content::user_text("Answer with one word: ready").into()]);
    request.generation.max_output_tokens = Some(256);
    let cancel = CancellationToken::new();
    let scope = TurnScope::outside_turn(&cancel);
    let mut held = None;
    let asked = model_gateway::ask_model(&services, request, AnswerDelivery::Silent(Purpose::Check), &mut held, &scope);
    match tokio::time::timeout(MODEL_CHECK_TIMEOUT, asked).await {
        Err(_) => ConnectionCheck::Fails(format!("{name} did not answer within {} s", MODEL_CHECK_TIMEOUT.as_secs())),
        Ok(ModelAnswer::Complete(..) | ModelAnswer::Loop(..)) => ConnectionCheck::Works(name),
        Ok(ModelAnswer::Denied(reason) | ModelAnswer::Stopped(reason, _)) => {
            ConnectionCheck::Fails(format!("a hook refused the request: {reason}"))
        }
        Ok(ModelAnswer::Cancelled(_)) => ConnectionCheck::Cancelled,
        Ok(ModelAnswer::Failed(error, _)) => {
            let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
            ConnectionCheck::Fails(format!("{error}{hint}"))
        }
    }
}
