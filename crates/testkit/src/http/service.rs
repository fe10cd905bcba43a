//! A service as HTTP hooks meet them: it keeps connections and counts them, may speak TLS, and misbehaves to the byte.

use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use super::{TestHttpRequest, read_request};
use crate::deadline::ListenerDeadline;

/// Who signed the certificate of [`TestHttpService::start_tls`]: the path of a file that `SSL_CERT_FILE` can name.
pub const CA_CERTIFICATE_PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/certificates/authority.pem");

/// What a service does with a request.
#[derive(Clone, Debug)]
pub enum ServiceReply {
    /// Writes these bytes and waits for the next request.
    KeepAlive(Vec<u8>),
    /// Writes these bytes and hangs up.
    Close(Vec<u8>),
    /// Writes the first once and the second for as long as anybody listens.
    Endless(Vec<u8>, Vec<u8>),
    /// Writes these bytes and nothing more, without hanging up.
    Stall(Vec<u8>),
}

impl ServiceReply {
    /// A whole answer.
    pub fn status(status: u16, headers: &str, body: impl AsRef<[u8]>) -> ServiceReply {
        let body = body.as_ref();
        let length = if status == 204 { String::new() } else { format!("content-length: {}\r\n", body.len()) };
        let mut bytes = format!("HTTP/1.1 {status} X\r\n{headers}{length}\r\n").into_bytes();
        bytes.extend_from_slice(body);
        ServiceReply::KeepAlive(bytes)
    }

    /// Some JSON.
    pub fn json(value: &Value) -> ServiceReply {
        ServiceReply::status(200, "content-type: application/json\r\n", value.to_string())
    }

    /// The same, and hangs up behind it without having said so.
    #[must_use]
    pub fn and_close(self) -> ServiceReply {
        match self {
            ServiceReply::KeepAlive(bytes) => ServiceReply::Close(bytes),
            other => other,
        }
    }
}

/// A service that answers like this for as long as the test runs.
pub struct TestHttpService {
    /// Where it is, without a slash at the end.
    pub address: String,
    log: Arc<ServiceLog>,
}

#[derive(Default)]
struct ServiceLog {
    requests: Mutex<Vec<TestHttpRequest>>,
    connections: AtomicUsize,
}

type RequestHandler = dyn Fn(&TestHttpRequest) -> ServiceReply + Send + Sync;

impl TestHttpService {
    /// Starts one.
    pub fn start(answer: impl Fn(&TestHttpRequest) -> ServiceReply + Send + Sync + 'static) -> TestHttpService {
        TestHttpService::listen("http", Arc::new(answer), |stream, seen, answer| serve(stream, &seen, answer))
    }

    /// Starts one with a certificate for 127.0.0.1 that nobody trusts unless told to.
    pub fn start_tls(answer: impl Fn(&TestHttpRequest) -> ServiceReply + Send + Sync + 'static) -> TestHttpService {
        let file = |name: &str| format!("{}/certificates/{name}", env!("CARGO_MANIFEST_DIR"));
        let certificate = CertificateDer::from_pem_file(file("server.pem")).expect("a certificate");
        let key = PrivateKeyDer::from_pem_file(file("server.key")).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.expect("versions").with_no_client_auth().with_single_cert(vec![certificate], key);
        let config = Arc::new(config.expect("they belong together"));
        TestHttpService::listen("https", Arc::new(answer), move |stream, seen, answer| {
            let tls = ServerConnection::new(config.clone()).map_err(std::io::Error::other)?;
            serve(StreamOwned::new(tls, stream), &seen, answer)
        })
    }

    fn listen(
        scheme: &str,
        answer: Arc<RequestHandler>,
        talk: impl Fn(TcpStream, Arc<ServiceLog>, &RequestHandler) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> TestHttpService {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("{scheme}://{}", listener.local_addr().expect("an address"));
        let seen = Arc::new(ServiceLog::default());
        let (record, talk) = (seen.clone(), Arc::new(talk));
        std::thread::spawn(move || {
            for stream in listener.connections() {
                record.connections.fetch_add(1, Ordering::SeqCst);
                let (record, answer, talk) = (record.clone(), answer.clone(), talk.clone());
                // Whoever hangs up has heard enough.
                std::thread::spawn(move || talk(stream, record, answer.as_ref()));
            }
        });
        TestHttpService { address, log: seen }
    }

    /// Everything that was asked so far.
    pub fn requests(&self) -> Vec<TestHttpRequest> {
        self.log.requests.lock().expect("nobody panicked").clone()
    }

    /// How many connections were made to it.
    pub fn connections(&self) -> usize {
        self.log.connections.load(Ordering::SeqCst)
    }
}

fn serve(stream: impl Read + Write, seen: &ServiceLog, answer: &RequestHandler) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    for nth in 1.. {
        let asked = TestHttpRequest { nth, ..read_request(&mut stream)? };
        if asked.method.is_empty() {
            return Ok(());
        }
        seen.requests.lock().expect("nobody panicked").push(asked.clone());
        let reply = answer(&asked);
        let to = stream.get_mut();
        match reply {
            ServiceReply::KeepAlive(bytes) => to.write_all(&bytes)?,
            ServiceReply::Close(bytes) => return to.write_all(&bytes).and_then(|()| to.flush()),
            ServiceReply::Endless(head, piece) => {
                to.write_all(&head)?;
                loop {
                    to.write_all(&piece)?;
                }
            }
            ServiceReply::Stall(bytes) => {
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
