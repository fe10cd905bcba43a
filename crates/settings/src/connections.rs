//! Connections to model services: those from the environment, and those that the user made in a session. The latter
//! are stored with their keys in a private file; projects cannot add to them.

use std::fmt;
use std::fs::File;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::edit::{self, EditError};
use crate::file::{FileError, read_text};
use crate::paths::ConfigPaths;
use crate::process_env::ProcessEnv;
use crate::secrets::{GEMINI_KEY_VARIABLES, OPENAI_KEY_VARIABLE};

/// Name of the file in `~/.gemini/hookwright`.
pub(crate) const CONNECTIONS_FILE: &str = "connections.json";

/// The API that a model service implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelService {
    Gemini,
    /// The OpenAI API, which many servers implement.
    OpenAi,
}

impl ModelService {
    /// Returns the display name of the service.
    pub fn title(self) -> &'static str {
        match self {
            ModelService::Gemini => "Gemini API",
            ModelService::OpenAi => "OpenAI",
        }
    }
}

/// Where a connection is configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConnectionOrigin {
    /// An environment variable of this name.
    Environment(&'static str),
    /// The connections file.
    #[default]
    File,
}

/// A model service with its address, key and model.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelConnection {
    pub service: ModelService,
    /// Address of the service; the default one if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// API key; empty if the service needs none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The model that the user chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip)]
    pub from: ConnectionOrigin,
}

/// Leaves out the key.
impl fmt::Debug for ModelConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Connection");
        out.field("service", &self.service).field("base_url", &self.base_url).field("model", &self.model);
        out.field("from", &self.from).finish_non_exhaustive()
    }
}

impl ModelConnection {
    /// Whether both are the same service at the same address.
    pub fn is_same_endpoint(&self, other: &ModelConnection) -> bool {
        let plain = |one: &ModelConnection| one.base_url.as_deref().map(|url| url.trim_end_matches('/').to_lowercase());
        self.service == other.service && plain(self) == plain(other)
    }

    /// Returns the service's name, or its address if that is not the default one.
    pub fn title(&self) -> String {
        match &self.base_url {
            None => self.service.title().to_owned(),
            Some(url) => without_scheme(url).to_owned(),
        }
    }
}

/// Returns an address without its scheme and user name.
fn without_scheme(url: &str) -> &str {
    let bare = url.split_once("://").map_or(url, |(_, rest)| rest);
    // The part before an `@` may hold a password.
    bare.rsplit_once('@').map_or(bare, |(_, rest)| rest).trim_end_matches('/')
}

/// Contents of the connections file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ConnectionsFile {
    /// The connections, the last chosen first.
    connections: Vec<ModelConnection>,
}

/// Why the connections cannot be read or stored.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionsError {
    /// The file can't be read.
    #[error(transparent)]
    Read(#[from] FileError),
    /// The file is not a list of connections.
    #[error("{} is not a valid list of connections: {why}", .path.display())]
    Broken {
        path: std::path::PathBuf,
        /// What is wrong; never the contents of the file.
        why: String,
    },
    /// The file can't be written.
    #[error(transparent)]
    Write(#[from] EditError),
    /// The file can't be removed.
    #[error("can't remove {}: {cause}", .path.display())]
    Remove {
        path: std::path::PathBuf,
        #[source]
        cause: std::io::Error,
    },
}

/// Returns the connections that the environment defines, in order of precedence.
pub fn connections_from_env(world: &ProcessEnv) -> Vec<ModelConnection> {
    let var = |name: &str| world.var(name).filter(|value| !value.trim().is_empty()).map(str::to_owned);
    let gemini = GEMINI_KEY_VARIABLES.into_iter().find_map(|name| Some((name, var(name)?)));
    let gemini = gemini.map(|(name, key)| ModelConnection {
        service: ModelService::Gemini,
        base_url: var("GOOGLE_GEMINI_BASE_URL"),
        key,
        model: None,
        from: ConnectionOrigin::Environment(name),
    });
    let openai = match (var(OPENAI_KEY_VARIABLE), var("OPENAI_BASE_URL")) {
        (None, None) => None,
        (key, base_url) => Some(ModelConnection {
            service: ModelService::OpenAi,
            from: ConnectionOrigin::Environment(if key.is_some() { OPENAI_KEY_VARIABLE } else { "OPENAI_BASE_URL" }),
            key: key.unwrap_or_default(),
            base_url,
            model: var("OPENAI_MODEL"),
        }),
    };
    gemini.into_iter().chain(openai).collect()
}

/// Reads the stored connections, the last chosen first.
///
/// # Errors
/// If the file can't be read, or is something else.
pub fn saved_connections(paths: &ConfigPaths) -> Result<Vec<ModelConnection>, ConnectionsError> {
    let file = &paths.connections;
    let text = read_text(file)?.unwrap_or_default();
    // The file may have been copied here with wider permissions.
    if !text.is_empty() {
        let _ = File::open(file).and_then(|file| hookwright_disk::make_private(&file));
    }
    Ok(parse_connections(file, &text)?.connections)
}

/// Stores a connection as the first one, in the place of one to the same address.
///
/// # Errors
/// If the file can't be read or written, or is no list of connections; it is unchanged then.
pub fn save_connection(paths: &ConfigPaths, connection: &ModelConnection) -> Result<(), ConnectionsError> {
    let file = &paths.connections;
    let mut broken = None;
    edit::rewrite_private(file, |text| match parse_connections(file, text) {
        Ok(mut kept) => {
            kept.connections.retain(|known| !known.is_same_endpoint(connection));
            kept.connections.insert(0, connection.clone());
            Ok(format!("{}\n", serde_json::to_string_pretty(&kept).unwrap_or_default()))
        }
        Err(error) => {
            broken = Some(error);
            Ok(text.to_owned())
        }
    })?;
    broken.map_or(Ok(()), Err)
}

/// Removes all stored connections with their keys and returns how many there were. A file that does not parse is
/// removed too, because it may hold keys.
///
/// # Errors
/// If the file can't be removed.
pub fn forget_connections(paths: &ConfigPaths) -> Result<usize, ConnectionsError> {
    let file = &paths.connections;
    let known = saved_connections(paths).map_or(1, |kept| kept.len());
    // If the file is a link, the keys are in its target.
    let real = file.canonicalize().ok().filter(|real| real != file);
    let mut there = false;
    for path in real.iter().chain([file]) {
        match std::fs::remove_file(path) {
            Ok(()) => there = true,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(cause) => return Err(ConnectionsError::Remove { path: path.clone(), cause }),
        }
    }
    Ok(if there { known } else { 0 })
}

fn parse_connections(file: &Path, text: &str) -> Result<ConnectionsFile, ConnectionsError> {
    if text.trim().is_empty() {
        return Ok(ConnectionsFile::default());
    }
    // The parser's message could quote a key.
    serde_json::from_str(text).map_err(|error| ConnectionsError::Broken {
        path: file.to_owned(),
        why: format!("line {}, column {}", error.line(), error.column()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process_env(home: &Path, env: &[(&str, &str)]) -> ProcessEnv {
        let env = env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        ProcessEnv { env, home: Some(home.to_owned()), cwd: home.to_owned() }
    }

    fn local_connection(url: &str, key: &str) -> ModelConnection {
        ModelConnection {
            service: ModelService::OpenAi,
            base_url: Some(url.to_owned()),
            key: key.to_owned(),
            model: Some("m".to_owned()),
            from: ConnectionOrigin::File,
        }
    }

    #[test]
    fn last_saved_connection_comes_first_and_the_file_is_private() {
        let home = tempfile::tempdir().unwrap();
        let paths = ConfigPaths::new(&process_env(home.path(), &[]));
        assert_eq!(saved_connections(&paths).unwrap(), []);
        assert_eq!(forget_connections(&paths).unwrap(), 0);
        assert!(!paths.connections.exists());
        let (one, two) = (local_connection("http://a/v1", "hunter2-hunter2"), local_connection("http://b/v1", ""));
        save_connection(&paths, &one).unwrap();
        save_connection(&paths, &two).unwrap();
        assert_eq!(saved_connections(&paths).unwrap(), [two.clone(), one.clone()]);
        save_connection(&paths, &local_connection("HTTP://A/v1/", "other-other")).unwrap();
        let kept = saved_connections(&paths).unwrap();
        assert_eq!((kept.len(), kept[0].key.as_str()), (2, "other-other"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = || paths.connections.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(), 0o600);
            std::fs::set_permissions(&paths.connections, std::fs::Permissions::from_mode(0o644)).unwrap();
            saved_connections(&paths).unwrap();
            assert_eq!(mode(), 0o600, "one that was copied there is tightened");
        }
        assert!(!format!("{one:?}").contains("hunter2"));
        // The keys are in the link's target.
        let real = home.path().join("elsewhere.json");
        std::fs::rename(&paths.connections, &real).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(&real, &paths.connections).unwrap();
        assert_eq!(forget_connections(&paths).unwrap(), 2);
        assert!(paths.connections.symlink_metadata().is_err() && !real.exists());
    }

    #[test]
    fn a_broken_file_is_never_overwritten_never_quoted_and_still_forgotten() {
        let home = tempfile::tempdir().unwrap();
        let paths = ConfigPaths::new(&process_env(home.path(), &[]));
        std::fs::create_dir_all(paths.connections.parent().unwrap()).unwrap();
        let text = r#"{"connections": [{"service": "hunter2-hunter2"}]}"#;
        std::fs::write(&paths.connections, text).unwrap();
        let said = saved_connections(&paths).unwrap_err().to_string();
        assert!(said.contains("line 1") && !said.contains("hunter2"), "{said}");
        assert!(save_connection(&paths, &local_connection("http://a", "")).is_err());
        assert_eq!(hookwright_testkit::fs::read_to_string(&paths.connections).unwrap(), text);
        assert_eq!(forget_connections(&paths).unwrap(), 1);
    }

    #[test]
    fn environment_defines_at_most_two_connections() {
        let home = tempfile::tempdir().unwrap();
        let of = |env: &[(&str, &str)]| connections_from_env(&process_env(home.path(), env));
        assert_eq!(of(&[("GEMINI_API_KEY", " ")]), []);
        let both = of(&[("OPENAI_BASE_URL", "http://h/v1"), ("GOOGLE_API_KEY", "k"), ("OPENAI_MODEL", "m")]);
        assert_eq!(both[0].from, ConnectionOrigin::Environment("GOOGLE_API_KEY"));
        assert_eq!((both[1].title().as_str(), both[1].model.as_deref()), ("h/v1", Some("m")));
        assert_eq!(local_connection("http://me:secret@h:8/v1/", "").title(), "h:8/v1");
    }
}
