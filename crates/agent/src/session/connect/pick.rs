//! `/model`: the models of everything that is connected, and of servers on this machine, to choose from.

use std::time::Duration;

use hookwright_model::Cancel;
use hookwright_settings::{Connection, KnownFrom};
use tokio::task::JoinSet;

use super::local;
use crate::inquiry::{Choosable, Inquiry};
use crate::session::choose;
use crate::session::reply::Reply;
use crate::session::talk::{Deed, Talk, deed};

/// How long a list is waited for.
const PATIENCE: Duration = Duration::from_secs(8);

/// One place and what it has.
struct Listed {
    connection: Connection,
    models: Vec<String>,
    /// Why there are none.
    problem: Option<String>,
}

/// Asks which model, and asks that one from now on.
pub(super) async fn pick(talk: Talk) -> Option<Deed> {
    let listed = list(&talk).await;
    let is_now = |one: &Listed| talk.connection.as_ref().is_some_and(|now| now.is_same_place(&one.connection));
    let mut rows: Vec<(Connection, String)> = Vec::new();
    let (mut choices, mut selected, mut problems) = (Vec::new(), 0, Vec::new());
    for one in &listed {
        problems.extend(one.problem.iter().map(|why| format!("{}: {why}", one.connection.title())));
        for model in &one.models {
            let now = is_now(one) && *model == talk.model;
            if now {
                selected = rows.len();
            }
            choices
                .push(Choosable::new(model, format!("{}{}", if now { "(now) " } else { "" }, one.connection.title())));
            rows.push((one.connection.clone(), model.clone()));
        }
    }
    if rows.is_empty() {
        let known = format!("the model is {}; `/model NAME` changes it", talk.model);
        talk.say(Reply::plain(if talk.connection.is_some() {
            known
        } else {
            format!("no model is connected; {known}")
        }));
        problems.into_iter().for_each(|problem| talk.say(Reply::warning(problem)));
        talk.say(Reply::aside("/auth connects one"));
        return None;
    }
    let asked = Inquiry::one_of("Which model?", choices).selected(selected).about(problems);
    let (connection, name) = rows.into_iter().nth(asked.choose(&talk.services).await?)?;
    let here = talk.connection.as_ref().is_some_and(|now| now.is_same_place(&connection));
    deed(move |session| {
        let chosen = Connection { model: Some(name.clone()), ..connection };
        match here {
            true => session.use_name(name),
            false => session.use_connection(chosen.clone(), name),
        }
        if chosen.from == KnownFrom::File {
            session.keep(&chosen);
        }
    })
}

/// What there is, the place that answers now first.
async fn list(talk: &Talk) -> Vec<Listed> {
    let mut known: Vec<Connection> = talk.connection.iter().cloned().collect();
    for connection in choose::connections(&talk.loaded).0 {
        if !known.iter().any(|one| one.is_same_place(&connection)) {
            known.push(connection);
        }
    }
    let mut asked = JoinSet::new();
    for (at, connection) in known.iter().cloned().enumerate() {
        let (proxy, secrets) = (choose::proxy(&talk.world), talk.services.model.secrets().clone());
        asked.spawn(async move {
            let listing = async {
                let model = choose::briefly(&connection, PATIENCE, proxy).ok_or("its address is none".to_owned())?;
                model.list_models(&Cancel::new()).await.map_err(|error| secrets.hide(&error.to_string()))
            };
            let listed = tokio::time::timeout(PATIENCE, listing).await;
            let (mut models, problem) = match listed.unwrap_or_else(|_| Err("it does not answer".to_owned())) {
                Ok(models) => (models, None),
                Err(why) => (Vec::new(), Some(why)),
            };
            // One that the user chose may be there without being listed.
            let chosen = connection.model.clone().filter(|name| !models.contains(name));
            models.splice(0..0, chosen);
            (at, Listed { connection, models, problem })
        });
    }
    let mut listed = asked.join_all().await;
    listed.sort_by_key(|(at, _)| *at);
    let mut listed: Vec<Listed> = listed.into_iter().map(|(_, one)| one).collect();
    if let (Some(first), Some(_)) = (listed.first_mut(), &talk.connection)
        && !first.models.contains(&talk.model)
    {
        first.models.insert(0, talk.model.clone());
    }
    for found in local::look(&talk.world).await {
        if !known.iter().any(|one| one.is_same_place(&found.connection)) {
            listed.push(Listed { connection: found.connection, models: found.models, problem: None });
        }
    }
    listed
}
