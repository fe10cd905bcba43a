//! The agent in an editor: the Agent Client Protocol on stdin and stdout.
//!
//! A connection has several sessions, each in its own directory. `session.rs` runs one, `event_pump.rs` passes its events
//! on, `updates.rs` translates them, `questions.rs` its questions, `prompt.rs` the editor's prompts. `guard/` is another
//! command: it stands between an editor and any agent.

mod editor_files;
mod event_pump;
pub(crate) mod guard;
mod prompt;
mod questions;
mod session;
mod transport;
mod updates;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, CancelNotification, CloseSessionRequest, CloseSessionResponse, FileSystemCapabilities,
    Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest, ListSessionsResponse,
    LoadSessionRequest, LoadSessionResponse, McpCapabilities, McpServer, NewSessionRequest, NewSessionResponse,
    PromptCapabilities, PromptRequest, ResumeSessionRequest, ResumeSessionResponse,
    SessionAdditionalDirectoriesCapabilities, SessionCapabilities, SessionCloseCapabilities, SessionId, SessionInfo,
    SessionListCapabilities, SessionResumeCapabilities, SetSessionModeRequest, SetSessionModeResponse,
};
use agent_client_protocol::{Agent, Client, Error, on_receive_notification, on_receive_request};
use hookwright_agent::session::SessionOpening;
use hookwright_agent::{Interaction, transcript};
use hookwright_settings::{ConfigPaths, ProcessEnv};
use serde_json::{Map, Value, json};

use self::editor_files::EditorFiles;
use self::session::{AcpSession, HistoryReplay};
use crate::args::SessionArgs;
use crate::frontend::session_options;
use crate::signals::Signals;
use crate::{exit, runtime};

/// How long sessions may take to end once the editor is gone.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves an editor until it closes the connection.
pub(crate) fn run(args: &SessionArgs, process_env: &ProcessEnv) -> anyhow::Result<u8> {
    let runtime = runtime::start(2)?;
    let code = runtime.block_on(serve(args, process_env));
    // A hook or a tool that blocks a thread must not delay the exit.
    runtime.shutdown_background();
    code
}

async fn serve(args: &SessionArgs, process_env: &ProcessEnv) -> anyhow::Result<u8> {
    let mut signals = Signals::listen()?;
    let (transport, mut written) = transport::open()?;
    let agent = Arc::new(AcpAgent::new(args.clone(), process_env.clone()));
    let connection = agent.clone().connect(transport);
    let code = tokio::select! {
        ended = connection => match ended {
            Ok(()) => exit::OK,
            Err(error) => {
                crate::output::error(format!("the connection to the editor failed: {error}"))?;
                exit::ERROR
            }
        },
        code = signals.next() => code,
    };
    signals.defer(true);
    // Hooks that hang must not keep the program after the editor is gone.
    let _ = tokio::time::timeout(END_TIMEOUT, agent.end_sessions()).await;
    let _ = tokio::time::timeout(Duration::from_secs(1), written.recv()).await;
    Ok(code)
}

/// What the editor offers.
#[derive(Clone, Default)]
struct EditorCapabilities {
    shows_notices: bool,
    files: FileSystemCapabilities,
}

/// The agent's side of the connection to an editor.
struct AcpAgent {
    args: SessionArgs,
    process_env: ProcessEnv,
    sessions: Mutex<HashMap<SessionId, Arc<AcpSession>>>,
    editor: Mutex<EditorCapabilities>,
}

impl AcpAgent {
    fn new(args: SessionArgs, process_env: ProcessEnv) -> Self {
        AcpAgent { args, process_env, sessions: Mutex::default(), editor: Mutex::default() }
    }

    /// Handles the editor's requests until it closes the connection.
    ///
    /// What takes time runs on tasks of its own: a handler holds up all messages after it.
    async fn connect(
        self: Arc<Self>,
        transport: impl agent_client_protocol::ConnectTo<Agent> + 'static,
    ) -> Result<(), Error> {
        let agent = || self.clone();
        let (starter, creator, loader, resumer, lister) = (agent(), agent(), agent(), agent(), agent());
        let (prompter, closer, mode_setter, canceller) = (agent(), agent(), agent(), agent());
        Agent
            .v1()
            .name("hookwright")
            .on_receive_request(
                async move |request: InitializeRequest, responder, _: ConnectionTo<Client>| {
                    responder.respond(starter.initialize(&request))
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: NewSessionRequest, responder, connection: ConnectionTo<Client>| {
                    let agent = creator.clone();
                    tokio::spawn(async move { responder.respond_with_result(agent.new_session(request, connection)) });
                    Ok(())
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: LoadSessionRequest, responder, connection: ConnectionTo<Client>| {
                    let agent = loader.clone();
                    tokio::spawn(async move { responder.respond_with_result(agent.load_session(request, connection)) });
                    Ok(())
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: ResumeSessionRequest, responder, connection: ConnectionTo<Client>| {
                    let agent = resumer.clone();
                    tokio::spawn(
                        async move { responder.respond_with_result(agent.resume_session(request, connection)) },
                    );
                    Ok(())
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: ListSessionsRequest, responder, _: ConnectionTo<Client>| {
                    responder.respond_with_result(lister.list_sessions(&request))
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: PromptRequest, responder, _: ConnectionTo<Client>| {
                    let session = match prompter.session(&request.session_id) {
                        Ok(session) => session,
                        Err(error) => return responder.respond_with_error(error),
                    };
                    tokio::spawn(session.answer_prompt(request, responder));
                    Ok(())
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: SetSessionModeRequest, responder, _: ConnectionTo<Client>| {
                    let changed = mode_setter
                        .session(&request.session_id)
                        .and_then(|session| session.set_mode(&request.mode_id.0))
                        .map(|()| SetSessionModeResponse::new());
                    responder.respond_with_result(changed)
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: CloseSessionRequest, responder, _: ConnectionTo<Client>| {
                    let session = match closer.remove_session(&request.session_id) {
                        Ok(session) => session,
                        Err(error) => return responder.respond_with_error(error),
                    };
                    tokio::spawn(async move {
                        session.end().await;
                        responder.respond(CloseSessionResponse::new())
                    });
                    Ok(())
                },
                on_receive_request!(),
            )
            .on_receive_notification(
                async move |notification: CancelNotification, _: ConnectionTo<Client>| {
                    if let Ok(session) = canceller.session(&notification.session_id) {
                        session.cancel();
                    }
                    Ok(())
                },
                on_receive_notification!(),
            )
            .connect_to(transport)
            .await
    }

    fn initialize(&self, request: &InitializeRequest) -> InitializeResponse {
        let session = request.client_capabilities.session.as_ref();
        *self.editor.lock().unwrap_or_else(PoisonError::into_inner) = EditorCapabilities {
            shows_notices: session.is_some_and(|session| session.notices.is_some()),
            files: request.client_capabilities.fs.clone(),
        };
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .additional_directories(SessionAdditionalDirectoriesCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
            .mcp_capabilities(McpCapabilities::new().http(true).sse(true))
            .session_capabilities(sessions);
        let version = env!("CARGO_PKG_VERSION");
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .agent_info(Implementation::new("hookwright", version).title("Hookwright".to_owned()))
    }

    fn new_session(
        &self,
        request: NewSessionRequest,
        connection: ConnectionTo<Client>,
    ) -> Result<NewSessionResponse, Error> {
        let id = SessionId::new(uuid::Uuid::new_v4().to_string());
        let place = SessionPlace::new(request.cwd, request.additional_directories, request.mcp_servers);
        let session = self.open_session(id.clone(), place, None, connection)?;
        Ok(NewSessionResponse::new(id).modes(session.modes()))
    }

    fn load_session(
        &self,
        request: LoadSessionRequest,
        connection: ConnectionTo<Client>,
    ) -> Result<LoadSessionResponse, Error> {
        if let Ok(session) = self.session(&request.session_id) {
            // The editor shows a session again that it has not closed.
            session.send_history();
            return Ok(LoadSessionResponse::new().modes(session.modes()));
        }
        let place = SessionPlace::new(request.cwd, request.additional_directories, request.mcp_servers);
        let session = self.open_session(request.session_id, place, Some(HistoryReplay::Send), connection)?;
        Ok(LoadSessionResponse::new().modes(session.modes()))
    }

    fn resume_session(
        &self,
        request: ResumeSessionRequest,
        connection: ConnectionTo<Client>,
    ) -> Result<ResumeSessionResponse, Error> {
        let place = SessionPlace::new(request.cwd, request.additional_directories, request.mcp_servers);
        let session = self.open_session(request.session_id, place, Some(HistoryReplay::Omit), connection)?;
        Ok(ResumeSessionResponse::new().modes(session.modes()))
    }

    /// Opens a new session; with a replay, goes on with an earlier one.
    fn open_session(
        &self,
        id: SessionId,
        place: SessionPlace,
        replay: Option<HistoryReplay>,
        connection: ConnectionTo<Client>,
    ) -> Result<Arc<AcpSession>, Error> {
        let refused = |why: String| Error::invalid_params().data(json!(why));
        if self.session(&id).is_ok() {
            return Err(refused(format!("session {} is open already", id.0)));
        }
        if !place.cwd.is_absolute() || !place.cwd.is_dir() {
            return Err(refused(format!("{} is not the absolute path of a directory", place.cwd.display())));
        }
        let mut process_env = self.process_env.clone();
        process_env.cwd = place.cwd;
        let mut options = session_options::from_args(&self.args, Interaction::Interactive, &process_env);
        options.include_directories.extend(place.directories);
        options.extra_mcp_servers =
            place.servers.iter().map(server_entry).collect::<Result<_, _>>().map_err(refused)?;
        let own_id = Some(id.0.to_string());
        match replay {
            Some(_) => options.resume = own_id,
            None => options.session_id = own_id,
        }
        let EditorCapabilities { shows_notices, files } =
            self.editor.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if files.read_text_file || files.write_text_file {
            options.open_files = Some(Arc::new(EditorFiles::new(connection.clone(), id.clone(), files)));
        }
        let opening = SessionOpening::new(options, process_env).map_err(Error::into_internal_error)?;
        let session = AcpSession::open(id.clone(), connection, self.args.clone(), shows_notices, opening, replay)?;
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).insert(id, session.clone());
        Ok(session)
    }

    /// Returns the earlier sessions of a directory; without one, of the directory that the program was started in.
    fn list_sessions(&self, request: &ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        let directory = request.cwd.as_deref().unwrap_or(&self.process_env.cwd);
        let root = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let earlier = transcript::list(&ConfigPaths::new(&self.process_env).chats_dir(&root));
        let info = |session: transcript::SessionInfo| {
            SessionInfo::new(SessionId::new(session.id), root.clone())
                .title(session.first_prompt.map(|prompt| crate::output::one_line(&prompt)))
                .updated_at(session.updated.to_string())
        };
        let sessions = earlier.map_err(Error::into_internal_error)?.into_iter().rev().map(info);
        Ok(ListSessionsResponse::new(sessions.collect()))
    }

    fn session(&self, id: &SessionId) -> Result<Arc<AcpSession>, Error> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.get(id).cloned().ok_or_else(|| unknown_session(id))
    }

    fn remove_session(&self, id: &SessionId) -> Result<Arc<AcpSession>, Error> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.remove(id).ok_or_else(|| unknown_session(id))
    }

    async fn end_sessions(&self) {
        let sessions = std::mem::take(&mut *self.sessions.lock().unwrap_or_else(PoisonError::into_inner));
        let ends = sessions.into_values().map(|session| async move { session.end().await });
        futures_util::future::join_all(ends).await;
    }
}

fn unknown_session(id: &SessionId) -> Error {
    agent_client_protocol::v1::schema::Error::session_not_found(id.clone()).into()
}

/// Where a session works.
struct SessionPlace {
    cwd: PathBuf,
    directories: Vec<PathBuf>,
    servers: Vec<McpServer>,
}

impl SessionPlace {
    fn new(cwd: PathBuf, directories: Vec<PathBuf>, servers: Vec<McpServer>) -> SessionPlace {
        SessionPlace { cwd, directories, servers }
    }
}

/// Returns an MCP server of the editor as an entry of the settings.
fn server_entry(server: &McpServer) -> Result<(String, Value), String> {
    let path_text = |path: &Path| path.to_str().map(str::to_owned).ok_or("a path is not valid Unicode");
    Ok(match server {
        McpServer::Stdio(server) => {
            let env: Map<String, Value> = server.env.iter().map(|one| (one.name.clone(), json!(one.value))).collect();
            let entry = json!({"command": path_text(&server.command)?, "args": server.args, "env": env});
            (server.name.clone(), entry)
        }
        McpServer::Http(server) => {
            let headers: Map<String, Value> =
                server.headers.iter().map(|one| (one.name.clone(), json!(one.value))).collect();
            (server.name.clone(), json!({"type": "http", "url": server.url, "headers": headers}))
        }
        McpServer::Sse(server) => {
            let headers: Map<String, Value> =
                server.headers.iter().map(|one| (one.name.clone(), json!(one.value))).collect();
            (server.name.clone(), json!({"type": "sse", "url": server.url, "headers": headers}))
        }
        _ => return Err("this kind of MCP server is not known".to_owned()),
    })
}
