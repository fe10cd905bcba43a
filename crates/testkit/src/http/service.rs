//! A service as HTTP hooks meet them: it keeps connections and counts them, may speak TLS, and misbehaves to the byte.

use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use super::{Asked, read};
use crate::deadline::ListenerDeadline;

/// Who signed the certificate of [`Service::start_tls`]: the path of a file that `SSL_CERT_FILE` can name.
pub const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/certificates/authority.pem");

/// What a service does with a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Writes these bytes and waits for the next request.
    Kept(Vec<u8>),
    /// Writes these bytes and hangs up.
    Last(Vec<u8>),
    /// Writes the first once and the second for as long as anybody listens.
    Endless(Vec<u8>, Vec<u8>),
    /// Writes these bytes and nothing more, without hanging up.
    Stuck(Vec<u8>),
}

impl Reply {
    /// A whole answer.
    pub fn status(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Reply {
        let body = body.as_ref();
        let length = if status == 204 { String::new() } else { format!("content-length: {}\r\n", body.len()) };
        let mut bytes = format!("HTTP/1.1 {status} X\r\n{headers}{length}\r\n").into_bytes();
        bytes.extend_from_slice(body);
        Reply::Kept(bytes)
    }

    /// Some JSON.
    pub fn json(value: &Value) -> Reply {
        Reply::status(200, "content-type: application/json\r\n", value.to_string())
    }

    /// The same, and hangs up behind it without having said so.
    #[must_use]
    pub fn and_hangs_up(self) -> Reply {
        match self {
            Reply::Kept(bytes) => Reply::Last(bytes),
            other => other,
        }
    }
}

/// A service that answers like this for as long as the test runs.
pub struct Service {
    /// Where it is, without a slash at the end.
    pub address: String,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    heard: Mutex<Vec<Asked>>,
    connections: AtomicUsize,
}

type Answering = dyn Fn(&Asked) -> Reply + Send + Sync;

impl Service {
    /// Starts one.
    pub fn start(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Service {
        Service::listen("http", Arc::new(answer), |stream, seen, answer| serve(stream, &seen, answer))
    }

    /// Starts one with a certificate for 127.0.0.1 that nobody trusts unless told to.
    pub fn start_tls(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Service {
        let file = |name: &str| format!("{}/certificates/{name}", env!("CARGO_MANIFEST_DIR"));
        let certificate = CertificateDer::from_pem_file(file("server.pem")).expect("a certificate");
        let key = PrivateKeyDer::from_pem_file(file("server.key")).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.expect("versions").with_no_client_auth().with_single_cert(vec![certificate], key);
        let config = Arc::new(config.expect("they belong together"));
        Service::listen("https", Arc::new(answer), move |stream, seen, answer| {
            let tls = ServerConnection::new(config.clone()).map_err(std::io::Error::other)?;
            serve(StreamOwned::new(tls, stream), &seen, answer)
        })
    }

    fn listen(
        scheme: &str,
        answer: Arc<Answering>,
        talk: impl Fn(TcpStream, Arc<Seen>, &Answering) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("{scheme}://{}", listener.local_addr().expect("an address"));
        let seen = Arc::new(Seen::default());
        let (record, talk) = (seen.clone(), Arc::new(talk));
        std::thread::spawn(move || {
            for stream in listener.connections() {
                record.connections.fetch_add(1, Ordering::SeqCst);
                let (record, answer, talk) = (record.clone(), answer.clone(), talk.clone());
                // Whoever hangs up has heard enough.
                std::thread::spawn(move || talk(stream, record, answer.as_ref()));
            }
        });
        Service { address, seen }
    }

    /// Everything that was asked so far.
    pub fn heard(&self) -> Vec<Asked> {
        self.seen.heard.lock().expect("nobody panicked").clone()
    }

    /// How many connections were made to it.
    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }
}

fn serve(stream: impl Read + Write, seen: &Seen, answer: &Answering) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    for nth in 1.. {
        let asked = Asked { nth, ..read(&mut stream)? };
        if asked.method.is_empty() {
            return Ok(());
        }
        seen.heard.lock().expect("nobody panicked").push(asked.clone());
        let reply = answer(&asked);
        let to = stream.get_mut();
        match reply {
            Reply::Kept(bytes) => to.write_all(&bytes)?,
            Reply::Last(bytes) => return to.write_all(&bytes).and_then(|()| to.flush()),
            Reply::Endless(head, piece) => {
                to.write_all(&head)?;
                loop {
                    to.write_all(&piece)?;
                }
            }
            Reply::Stuck(bytes) => {
                to.write_all(&bytes)?;
                to.flush()?;
                // Until the other side has gone.
                let mut rest = Vec::new();
                return stream.read_to_end(&mut rest).map(drop);
            }
        }
        stream.get_mut().flush()?;
    }
    Ok(())
}
