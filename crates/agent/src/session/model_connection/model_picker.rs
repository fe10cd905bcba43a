//! `/model`: offers the models of every connection and of local servers.

use std::time::Duration;

use hookwright_model::Cancel;
use hookwright_settings::{ConnectionOrigin, ModelConnection};
use tokio::task::JoinSet;

use super::local_servers;
use crate::question::{QuestionChoice, UserQuestion};
use crate::session::dialog::{DialogContext, DialogOutcome, dialog_outcome};
use crate::session::model_selection;
use crate::session::reply::Reply;

/// How long a list of models may take.
const PICKER_LIST_TIMEOUT: Duration = Duration::from_secs(8);

/// A connection with its models.
struct ConnectionModels {
    connection: ModelConnection,
    models: Vec<String>,
    /// The reason why there are no models.
    problem: Option<String>,
}

/// Runs the dialog that changes the model.
pub(super) async fn run_model_dialog(dialog: DialogContext) -> Option<DialogOutcome> {
    let listed = list_connection_models(&dialog).await;
    let is_now =
        |one: &ConnectionModels| dialog.connection.as_ref().is_some_and(|now| now.is_same_endpoint(&one.connection));
    let mut rows: Vec<(ModelConnection, String)> = Vec::new();
    let (mut choices, mut selected, mut problems) = (Vec::new(), 0, Vec::new());
    for one in &listed {
        problems.extend(one.problem.iter().map(|why| format!("{}: {why}", one.connection.title())));
        for model in &one.models {
            let now = is_now(one) && *model == dialog.model;
            if now {
                selected = rows.len();
            }
            choices.push(QuestionChoice::new(
                model,
                format!("{}{}", if now { "(now) " } else { "" }, one.connection.title()),
            ));
            rows.push((one.connection.clone(), model.clone()));
        }
    }
    if rows.is_empty() {
        let known = format!("the model is {}; `/model NAME` changes it", dialog.model);
        dialog.reply(Reply::plain(if dialog.connection.is_some() {
            known
        } else {
            format!("no model is connected; {known}")
        }));
        problems.into_iter().for_each(|problem| dialog.reply(Reply::warning(problem)));
        dialog.reply(Reply::aside("/auth connects one"));
        return None;
    }
    let question = UserQuestion::choice("Which model?", choices).with_selected(selected).with_details(problems);
    let (connection, name) = rows.into_iter().nth(question.ask_choice(&dialog.services).await?)?;
    let here = dialog.connection.as_ref().is_some_and(|now| now.is_same_endpoint(&connection));
    dialog_outcome(move |session| {
        let chosen = ModelConnection { model: Some(name.clone()), ..connection };
        match here {
            true => session.use_model_name(name),
            false => session.use_connection(chosen.clone(), name),
        }
        if chosen.from == ConnectionOrigin::File {
            session.save_connection(&chosen);
        }
    })
}

/// Lists the models of every connection, the current one first.
async fn list_connection_models(dialog: &DialogContext) -> Vec<ConnectionModels> {
    let mut known: Vec<ModelConnection> = dialog.connection.iter().cloned().collect();
    for connection in model_selection::known_connections(&dialog.loaded).0 {
        if !known.iter().any(|one| one.is_same_endpoint(&connection)) {
            known.push(connection);
        }
    }
    let mut listings = JoinSet::new();
    for (at, connection) in known.iter().cloned().enumerate() {
        let (proxy, secrets) =
            (model_selection::proxy_from_env(&dialog.world), dialog.services.model.secrets().clone());
        listings.spawn(async move {
            let listing = async {
                let model = model_selection::probe_model(&connection, PICKER_LIST_TIMEOUT, proxy)
                    .ok_or("its address is not valid".to_owned())?;
                model.list_models(&Cancel::new()).await.map_err(|error| secrets.hide(&error.to_string()))
            };
            let listed = tokio::time::timeout(PICKER_LIST_TIMEOUT, listing).await;
            let (mut models, problem) = match listed.unwrap_or_else(|_| Err("it does not answer".to_owned())) {
                Ok(models) => (models, None),
                Err(why) => (Vec::new(), Some(why)),
            };
            // A model that the user chose may exist without being listed.
            let chosen = connection.model.clone().filter(|name| !models.contains(name));
            models.splice(0..0, chosen);
            (at, ConnectionModels { connection, models, problem })
        });
    }
    let mut listed = listings.join_all().await;
    listed.sort_by_key(|(at, _)| *at);
    let mut listed: Vec<ConnectionModels> = listed.into_iter().map(|(_, one)| one).collect();
    if let (Some(first), Some(_)) = (listed.first_mut(), &dialog.connection)
        && !first.models.contains(&dialog.model)
    {
        first.models.insert(0, dialog.model.clone());
    }
    for found in local_servers::find_local_servers(&dialog.world).await {
        if !known.iter().any(|one| one.is_same_endpoint(&found.connection)) {
            listed.push(ConnectionModels { connection: found.connection, models: found.models, problem: None });
        }
    }
    listed
}
