//! Which services answer for the model: those that the environment names, and those that the user connected from within a
//! session. The latter are kept with their keys in a file that is nobody else's to read; no project adds to them.

use std::fmt;
use std::fs::File;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::edit::{self, EditError};
use crate::file::{FileError, read_text};
use crate::paths::Paths;
use crate::secrets::{GEMINI_KEYS, OPENAI_KEY};
use crate::world::World;

/// The file's name, in `~/.gemini/hookwright`.
pub(crate) const FILE: &str = "connections.json";

/// In whose words a service is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Service {
    /// The Gemini API.
    Gemini,
    /// OpenAI's, which many servers speak.
    OpenAi,
}

impl Service {
    /// The name to show.
    pub fn title(self) -> &'static str {
        match self {
            Service::Gemini => "Gemini API",
            Service::OpenAi => "OpenAI",
        }
    }
}

/// Where a connection is known from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KnownFrom {
    /// A variable of that name.
    Environment(&'static str),
    /// The file.
    #[default]
    File,
}

/// A service, and what it is asked with.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Connection {
    /// In whose words it is asked.
    pub service: Service,
    /// Its address; the service's own if nobody says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// What it is let in with; empty where nothing is wanted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The model that the user chose there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where it is known from.
    #[serde(skip)]
    pub from: KnownFrom,
}

/// Without the key.
impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Connection");
        out.field("service", &self.service).field("base_url", &self.base_url).field("model", &self.model);
        out.field("from", &self.from).finish_non_exhaustive()
    }
}

impl Connection {
    /// Whether it is the same service at the same address.
    pub fn is_same_place(&self, other: &Connection) -> bool {
        let plain = |one: &Connection| one.base_url.as_deref().map(|url| url.trim_end_matches('/').to_lowercase());
        self.service == other.service && plain(self) == plain(other)
    }

    /// The service and, where it is not the usual one, its address.
    pub fn title(&self) -> String {
        match &self.base_url {
            None => self.service.title().to_owned(),
            Some(url) => without_scheme(url).to_owned(),
        }
    }
}

/// An address as people say it.
fn without_scheme(url: &str) -> &str {
    let bare = url.split_once("://").map_or(url, |(_, rest)| rest);
    // What stands before an `@` may be a password.
    bare.rsplit_once('@').map_or(bare, |(_, rest)| rest).trim_end_matches('/')
}

/// What the file holds.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    /// The one that was chosen last comes first.
    connections: Vec<Connection>,
}

/// Why the connections can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionsError {
    /// The file can't be read.
    #[error(transparent)]
    Read(#[from] FileError),
    /// It is something else.
    #[error("{} is no list of connections: {why}", .path.display())]
    Broken {
        /// The file.
        path: std::path::PathBuf,
        /// What is wrong; never what stands there.
        why: String,
    },
    /// It can't be written.
    #[error(transparent)]
    Write(#[from] EditError),
    /// It can't be taken away.
    #[error("{} can't be taken away: {cause}", .path.display())]
    Kept {
        /// The file.
        path: std::path::PathBuf,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
}

/// The connections that the environment names, in the order in which they count.
pub fn connections_of_environment(world: &World) -> Vec<Connection> {
    let var = |name: &str| world.var(name).filter(|value| !value.trim().is_empty()).map(str::to_owned);
    let gemini = GEMINI_KEYS.into_iter().find_map(|name| Some((name, var(name)?)));
    let gemini = gemini.map(|(name, key)| Connection {
        service: Service::Gemini,
        base_url: var("GOOGLE_GEMINI_BASE_URL"),
        key,
        model: None,
        from: KnownFrom::Environment(name),
    });
    let openai = match (var(OPENAI_KEY), var("OPENAI_BASE_URL")) {
        (None, None) => None,
        (key, base_url) => Some(Connection {
            service: Service::OpenAi,
            from: KnownFrom::Environment(if key.is_some() { OPENAI_KEY } else { "OPENAI_BASE_URL" }),
            key: key.unwrap_or_default(),
            base_url,
            model: var("OPENAI_MODEL"),
        }),
    };
    gemini.into_iter().chain(openai).collect()
}

/// The connections that are kept, the one that was chosen last first.
///
/// # Errors
/// If the file can't be read, or is something else.
pub fn kept_connections(paths: &Paths) -> Result<Vec<Connection>, ConnectionsError> {
    let file = &paths.connections;
    let text = read_text(file)?.unwrap_or_default();
    // Somebody may have copied it there.
    if !text.is_empty() {
        let _ = File::open(file).and_then(|file| hookwright_disk::tighten(&file));
    }
    Ok(parse(file, &text)?.connections)
}

/// Keeps a connection, which is the one that counts from now on, in the place of one to the same address.
///
/// # Errors
/// If the file can't be read or written, or is something else; it is as it was then.
pub fn keep_connection(paths: &Paths, connection: &Connection) -> Result<(), ConnectionsError> {
    let file = &paths.connections;
    let mut broken = None;
    edit::rewrite_private(file, |text| match parse(file, text) {
        Ok(mut kept) => {
            kept.connections.retain(|known| !known.is_same_place(connection));
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

/// Forgets all of them, with their keys; how many there were. A file that is something else goes too: it may hold keys.
///
/// # Errors
/// If the file can't be taken away.
pub fn forget_connections(paths: &Paths) -> Result<usize, ConnectionsError> {
    let file = &paths.connections;
    let known = kept_connections(paths).map_or(1, |kept| kept.len());
    // Behind a link the keys are elsewhere.
    let real = file.canonicalize().ok().filter(|real| real != file);
    let mut there = false;
    for path in real.iter().chain([file]) {
        match std::fs::remove_file(path) {
            Ok(()) => there = true,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(cause) => return Err(ConnectionsError::Kept { path: path.clone(), cause }),
        }
    }
    Ok(if there { known } else { 0 })
}

fn parse(file: &Path, text: &str) -> Result<Kept, ConnectionsError> {
    if text.trim().is_empty() {
        return Ok(Kept::default());
    }
    // The reader's own words could quote a key.
    serde_json::from_str(text).map_err(|error| ConnectionsError::Broken {
        path: file.to_owned(),
        why: format!("line {}, column {}", error.line(), error.column()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(home: &Path, env: &[(&str, &str)]) -> World {
        let env = env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        World { env, home: Some(home.to_owned()), cwd: home.to_owned() }
    }

    fn local(url: &str, key: &str) -> Connection {
        Connection {
            service: Service::OpenAi,
            base_url: Some(url.to_owned()),
            key: key.to_owned(),
            model: Some("m".to_owned()),
            from: KnownFrom::File,
        }
    }

    #[test]
    fn the_last_one_kept_counts_and_the_file_is_nobody_elses_to_read() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::new(&world(home.path(), &[]));
        assert_eq!(kept_connections(&paths).unwrap(), []);
        assert_eq!(forget_connections(&paths).unwrap(), 0);
        assert!(!paths.connections.exists());
        let (one, two) = (local("http://a/v1", "hunter2-hunter2"), local("http://b/v1", ""));
        keep_connection(&paths, &one).unwrap();
        keep_connection(&paths, &two).unwrap();
        assert_eq!(kept_connections(&paths).unwrap(), [two.clone(), one.clone()]);
        keep_connection(&paths, &local("HTTP://A/v1/", "other-other")).unwrap();
        let kept = kept_connections(&paths).unwrap();
        assert_eq!((kept.len(), kept[0].key.as_str()), (2, "other-other"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = || paths.connections.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(), 0o600);
            std::fs::set_permissions(&paths.connections, std::fs::Permissions::from_mode(0o644)).unwrap();
            kept_connections(&paths).unwrap();
            assert_eq!(mode(), 0o600, "one that was copied there is tightened");
        }
        assert!(!format!("{one:?}").contains("hunter2"));
        // Behind a link the keys would stay.
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
        let paths = Paths::new(&world(home.path(), &[]));
        std::fs::create_dir_all(paths.connections.parent().unwrap()).unwrap();
        let text = r#"{"connections": [{"service": "hunter2-hunter2"}]}"#;
        std::fs::write(&paths.connections, text).unwrap();
        let said = kept_connections(&paths).unwrap_err().to_string();
        assert!(said.contains("line 1") && !said.contains("hunter2"), "{said}");
        assert!(keep_connection(&paths, &local("http://a", "")).is_err());
        assert_eq!(hookwright_testkit::fs::read_to_string(&paths.connections).unwrap(), text);
        assert_eq!(forget_connections(&paths).unwrap(), 1);
    }

    #[test]
    fn the_environment_names_at_most_two() {
        let home = tempfile::tempdir().unwrap();
        let of = |env: &[(&str, &str)]| connections_of_environment(&world(home.path(), env));
        assert_eq!(of(&[("GEMINI_API_KEY", " ")]), []);
        let both = of(&[("OPENAI_BASE_URL", "http://h/v1"), ("GOOGLE_API_KEY", "k"), ("OPENAI_MODEL", "m")]);
        assert_eq!(both[0].from, KnownFrom::Environment("GOOGLE_API_KEY"));
        assert_eq!((both[1].title().as_str(), both[1].model.as_deref()), ("h/v1", Some("m")));
        assert_eq!(local("http://me:secret@h:8/v1/", "").title(), "h:8/v1");
    }
}
