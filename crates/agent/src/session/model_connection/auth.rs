//! `/auth`: asks for a model and a hidden key, and tests the connection with an ordinary request, which passes the same
//! hooks. Only a connection that works is saved.

use std::sync::Arc;
use std::time::Duration;

use hookwright_hooks::Purpose;
use hookwright_model::{Content, ModelError, ModelRequest};
use hookwright_settings::{ConnectionOrigin, ModelConnection, ModelService};
use tokio_util::sync::CancellationToken;

use super::local_servers::{self, LocalModelServer};
use crate::model_gateway::{self, AnswerDelivery, ModelAnswer, ModelGateway};
use crate::question::{InputVisibility, QuestionChoice, UserQuestion};
use crate::scope::TurnScope;
use crate::services::Services;
use crate::session::dialog::{DialogContext, DialogOutcome, dialog_outcome};
use crate::session::model_selection;
use crate::session::reply::Reply;

/// How long a list of models may take.
const MODEL_LIST_TIMEOUT: Duration = Duration::from_secs(15);
/// How long the test answer may take; a local model may have to be loaded first.
const MODEL_CHECK_TIMEOUT: Duration = Duration::from_secs(90);

/// A service that can be connected.
enum ConnectTarget {
    Local(LocalModelServer),
    Gemini,
    OpenAi,
    /// Any server with an API compatible with OpenAI's.
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

/// The result of testing a connection.
enum ConnectionCheck {
    Works(String),
    Fails(String),
    /// The user cancelled the dialog.
    Cancelled,
}

/// Runs the dialog that connects a model.
pub(super) async fn run_auth_dialog(dialog: DialogContext) -> Option<DialogOutcome> {
    let mut places: Vec<ConnectTarget> =
        local_servers::find_local_servers(&dialog.world).await.into_iter().map(ConnectTarget::Local).collect();
    places.extend([ConnectTarget::Gemini, ConnectTarget::OpenAi, ConnectTarget::CustomServer]);
    let now = match &dialog.connection {
        Some(connection) => format!("Now it is {} ({}).", dialog.model, connection.title()),
        None => format!("Now it is {}.", dialog.model),
    };
    let choices = places.iter().map(ConnectTarget::choice).collect();
    let which = UserQuestion::choice("Which model do you want to connect?", choices).with_details([now]);
    let place = places.swap_remove(which.ask_choice(&dialog.services).await?);
    let mut problem = None;
    let mut address = String::new();
    loop {
        let mut connection = ask_connection(&place, &mut address, problem.take(), &dialog).await?;
        dialog.services.model.secrets().learn_key(&connection.key);
        match check_connection(&connection, &dialog).await {
            ConnectionCheck::Works(name) => {
                connection.model = Some(name.clone());
                return dialog_outcome(move |session| {
                    session.use_connection(connection.clone(), name);
                    session.save_connection(&connection);
                });
            }
            ConnectionCheck::Cancelled => return None,
            ConnectionCheck::Fails(why) if matches!(place, ConnectTarget::Local(_)) => {
                dialog.reply(Reply::error(why));
                return None;
            }
            ConnectionCheck::Fails(why) => problem = Some(why),
        }
    }
}

/// Asks for the address and the key. An address that was typed before is offered again.
async fn ask_connection(
    place: &ConnectTarget,
    typed: &mut String,
    problem: Option<String>,
    dialog: &DialogContext,
) -> Option<ModelConnection> {
    let problem: Vec<String> = problem.into_iter().map(|why| format!("That did not work: {why}")).collect();
    let connection =
        |service, base_url, key| ModelConnection { service, base_url, key, model: None, from: ConnectionOrigin::File };
    let key = async |about: Vec<String>, service_name: &str, placeholder: &str| {
        let hidden = "It is shown nowhere, and kept where only you can read it.".to_owned();
        let question = UserQuestion::text(format!("The key for {service_name}"), placeholder, InputVisibility::Hidden);
        question.with_details(about).with_details([hidden]).ask_text(&dialog.services).await
    };
    match place {
        ConnectTarget::Local(found) => Some(found.connection.clone()),
        ConnectTarget::Gemini | ConnectTarget::OpenAi => {
            let (service, service_name, address) = match place {
                ConnectTarget::Gemini => {
                    (ModelService::Gemini, "the Gemini API", dialog.world.var("GOOGLE_GEMINI_BASE_URL"))
                }
                _ => (ModelService::OpenAi, "OpenAI", None),
            };
            let address = address.filter(|address| !address.trim().is_empty()).map(str::to_owned);
            let mut about = problem;
            loop {
                let key = key(about, service_name, "paste or type it").await?;
                if !key.is_empty() {
                    return Some(connection(service, address, key));
                }
                about = vec!["A key is needed here.".to_owned()];
            }
        }
        ConnectTarget::CustomServer => {
            let mut about = problem;
            loop {
                let question = UserQuestion::text("The server's address", "https://…/v1", InputVisibility::Visible)
                    .with_details(about)
                    .with_initial_text(typed.as_str());
                *typed = question.ask_text(&dialog.services).await?;
                let unkeyed = connection(ModelService::OpenAi, Some(typed.clone()), String::new());
                let secrets = dialog.services.model.secrets();
                about = match model_selection::connect_model(&unkeyed, "", &dialog.loaded, secrets) {
                    _ if typed.is_empty() => vec!["An address is needed here.".to_owned()],
                    _ if !typed.contains("://") => {
                        let refused = format!("{typed} does not say how to reach it: http:// or https://?");
                        typed.insert_str(0, "http://");
                        vec![refused]
                    }
                    Err(error) => vec![error.to_string()],
                    Ok(_) => break,
                };
            }
            let key = key(Vec::new(), typed, "leave it empty if the server needs none").await?;
            Some(connection(ModelService::OpenAi, Some(typed.clone()), key))
        }
    }
}

/// Tests a connection and asks for the model's name.
async fn check_connection(connection: &ModelConnection, dialog: &DialogContext) -> ConnectionCheck {
    let secrets = dialog.services.model.secrets();
    let fails = |error: ModelError| {
        let error = error.map_text(&|text| secrets.hide(text));
        ConnectionCheck::Fails(error.hint().map_or_else(|| error.to_string(), |hint| format!("{error} ({hint})")))
    };
    if let Err(error) = model_selection::check_auth_type(&dialog.loaded, Some(connection)) {
        return ConnectionCheck::Fails(error.to_string());
    }
    let model = match model_selection::connect_model(connection, "", &dialog.loaded, secrets) {
        Ok(model) => model,
        Err(error) => return fails(error),
    };
    let cancel = CancellationToken::new();
    let listed = match tokio::time::timeout(MODEL_LIST_TIMEOUT, model.list_models(&cancel)).await {
        Err(_) => Ok(Vec::new()),
        // A server that lists no models may still answer.
        Ok(Err(ModelError::Api(error))) if !error.is_auth() => Ok(Vec::new()),
        Ok(Err(ModelError::Malformed { .. })) => Ok(Vec::new()),
        Ok(listed) => listed,
    };
    let names = match listed {
        Ok(names) => names,
        Err(error) => return fails(error),
    };
    let Some(name) = ask_model_name(connection, names, dialog).await else { return ConnectionCheck::Cancelled };
    match model_selection::connect_model(connection, &name, &dialog.loaded, secrets) {
        Ok(model) => check_model_answers(ModelGateway::new(model, secrets.clone()), name, dialog).await,
        Err(error) => fails(error),
    }
}

/// Asks for one of the listed models, or for a name if none is listed.
async fn ask_model_name(connection: &ModelConnection, names: Vec<String>, dialog: &DialogContext) -> Option<String> {
    let title = format!("Which model of {}?", connection.title());
    if names.is_empty() {
        let question = UserQuestion::text(title, "its name", InputVisibility::Visible)
            .with_details(["The server lists no models.".to_owned()]);
        return question.ask_text(&dialog.services).await.filter(|name| !name.is_empty());
    }
    let usual = names
        .iter()
        .position(|name| name == model_selection::DEFAULT_GEMINI_MODEL || *name == dialog.model)
        .unwrap_or(0);
    let choices = names.iter().map(|name| QuestionChoice::new(name, "")).collect();
    let at = UserQuestion::choice(title, choices).with_selected(usual).ask_choice(&dialog.services).await?;
    names.into_iter().nth(at)
}

/// Tests whether the model answers a short request, which passes the hooks like any other.
async fn check_model_answers(gateway: ModelGateway, name: String, dialog: &DialogContext) -> ConnectionCheck {
    dialog.reply(Reply::aside(format!("testing {name} with a short question …")));
    let services = Services { model: Arc::new(gateway), ..Services::clone(&dialog.services) };
    let mut request = ModelRequest::new(&name, vec![Content::user_text("Answer with one word: ready").into()]);
    request.generation.max_output_tokens = Some(256);
    let cancel = CancellationToken::new();
    let scope = TurnScope::outside_turn(&cancel);
    let mut held = None;
    let answer =
        model_gateway::ask_model(&services, request, AnswerDelivery::Silent(Purpose::Check), &mut held, &scope);
    match tokio::time::timeout(MODEL_CHECK_TIMEOUT, answer).await {
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
