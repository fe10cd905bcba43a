//! `/auth`, `/logout` and `/model`: connect, forget and change the model while the session runs.
//!
//! `auth.rs` and `model_picker.rs` ask the user, and `local_servers.rs` finds servers on this machine.

mod auth;
mod local_servers;
mod model_picker;

use hookwright_model::{AnyModel, Model};
use hookwright_settings::{
    ConnectionOrigin, ConnectionsError, ModelConnection, connections_from_env, forget_connections, save_connection,
};

use super::actor::{ModelChange, SessionActor};
use super::reply::Reply;
use super::{Shutdown, model_selection, setup};
use crate::agent::EndReason;
use crate::event::SessionEvent;
use crate::services::Interaction;

impl SessionActor {
    /// `/auth`: connects a model.
    pub(super) fn handle_auth(&mut self) {
        if !self.reject_if_recorded() {
            self.start_dialog(auth::run_auth_dialog);
        }
    }

    /// `/model`: shows the model, or changes it.
    pub(super) fn handle_model(&mut self, name: Option<String>) {
        match name {
            Some(name) => self.use_model_name(name),
            None if self.options.interaction == Interaction::Headless || self.options.replay.is_some() => {
                let model = self.shared.view().model.clone();
                self.reply(Reply::plain(format!("the model is {model}; `/model NAME` changes it")));
            }
            None if !self.reject_if_recorded() => self.start_dialog(model_picker::run_model_dialog),
            None => {}
        }
    }

    /// Returns whether answers are replayed from or recorded into a file, so that the model cannot change; if so,
    /// replies that.
    fn reject_if_recorded(&self) -> bool {
        let flag = match (&self.options.replay, &self.options.record) {
            (Some(_), _) => "--fake-responses",
            (None, Some(_)) => "--record-responses",
            (None, None) => return false,
        };
        self.reply(Reply::warning(format!("{flag} sets the model; start without it to connect another")));
        true
    }

    /// Uses another model of the same connection.
    fn use_model_name(&mut self, name: String) {
        self.reply(Reply::plain(format!("the model is {name} from now on")));
        self.options.model = Some(name.clone());
        self.change_model(ModelChange { name, model: None });
    }

    /// Uses another connection.
    fn use_connection(&mut self, connection: ModelConnection, name: String) {
        let view = self.shared.view();
        if let Err(error) = model_selection::check_auth_type(&view.loaded, Some(&connection)) {
            return self.reply(Reply::error(error));
        }
        let secrets = view.services.model.secrets();
        secrets.learn_key(&connection.key);
        let mut model: AnyModel = match model_selection::connect_model(&connection, &name, &view.loaded, secrets) {
            Ok(model) => model,
            Err(error) => return self.reply(Reply::error(error)),
        };
        model_selection::report_retries(&mut model, secrets, &view.services.events);
        tracing::debug!(?connection, model = name, "another connection");
        self.reply(Reply::plain(format!("the model is {name} ({}) from now on", connection.title())));
        self.options.model = Some(name.clone());
        self.options.connection = Some(connection.clone());
        self.shared.update(|view| view.connection = Some(connection));
        self.change_model(ModelChange { name, model: Some(model) });
        // Front ends that keep records must redact the new key.
        self.send_configuration_changed();
    }

    /// Saves the connection for the next session.
    fn save_connection(&self, connection: &ModelConnection) {
        let view = self.shared.view();
        let paths = &view.loaded.paths;
        let file = paths.connections.display();
        let kept =
            view.services.tamper_watch.with_user_change(&paths.connections, || save_connection(paths, connection));
        match kept {
            Ok(()) if connection.key.is_empty() => self.reply(Reply::aside(format!("kept in {file}"))),
            Ok(()) => self.reply(Reply::aside(format!("the key is kept in {file}, which only you can read"))),
            Err(error) => return self.reply(Reply::warning(format!("for this session only: {error}"))),
        }
        let first = connections_from_env(&self.world).into_iter().next();
        if let Some(ModelConnection { from: ConnectionOrigin::Environment(name), .. }) = first {
            self.reply(Reply::warning(format!("{name} is set, and takes precedence at the next start")));
        }
    }

    /// `/logout`: forgets the saved connections, and ends the session.
    pub(super) fn handle_logout(&mut self) {
        let view = self.shared.view();
        let paths = &view.loaded.paths;
        let forgotten: Result<usize, ConnectionsError> =
            view.services.tamper_watch.with_user_change(&paths.connections, || forget_connections(paths));
        match forgotten {
            Ok(0) => self.reply(Reply::plain("no key was saved")),
            Ok(1) => self.reply(Reply::plain("forgot what was connected, with its key")),
            Ok(several) => self.reply(Reply::plain(format!("forgot {several} connections, with their keys"))),
            Err(error) => return self.reply(Reply::error(format!("nothing was forgotten: {error}"))),
        }
        for connection in connections_from_env(&self.world) {
            if let ConnectionOrigin::Environment(name) = connection.from {
                self.reply(Reply::aside(format!("{name} is still set in your environment")));
            }
        }
        self.send_event(SessionEvent::LoggedOut);
        self.begin_shutdown(Shutdown::Now, EndReason::Logout);
    }
}

impl ModelChange {
    /// Replaces the agent's model.
    pub(super) fn apply(self, agent: &mut crate::agent::Agent) {
        if let Some(model) = self.model {
            let services = agent.services();
            services.tools.set_builtins(setup::builtin_tools(model.provider()));
            services.model.replace_model(model);
        }
        agent.set_model(self.name);
    }
}
