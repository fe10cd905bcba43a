//! A test server for HTTP hooks: it keeps and counts connections, may use TLS, and can send any malformed response.

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

/// The CA certificate of [`TestHttpService::start_tls`]: the path of a file that `SSL_CERT_FILE` can name.
pub const CA_CERTIFICATE_PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/certificates/authority.pem");

/// The response of a service to a request.
#[derive(Clone, Debug)]
pub enum ServiceReply {
    /// Writes these bytes and waits for the next request.
    KeepAlive(Vec<u8>),
    /// Writes these bytes and closes the connection.
    Close(Vec<u8>),
    /// Writes the first bytes once and the second ones until the client closes the connection.
    Endless(Vec<u8>, Vec<u8>),
    /// Writes these bytes and nothing more, without closing the connection.
    Stall(Vec<u8>),
}

impl ServiceReply {
    /// Creates a complete response.
    pub fn status(status: u16, headers: &str, body: impl AsRef<[u8]>) -> ServiceReply {
        let body = body.as_ref();
        let length = if status == 204 { String::new() } else { format!("content-length: {}\r\n", body.len()) };
        let mut bytes = format!("HTTP/1.1 {status} X\r\n{headers}{length}\r\n").into_bytes();
        bytes.extend_from_slice(body);
        ServiceReply::KeepAlive(bytes)
    }

    /// Creates a complete response with JSON.
    pub fn json(value: &Value) -> ServiceReply {
        ServiceReply::status(200, "content-type: application/json\r\n", value.to_string())
    }

    /// Closes the connection after the response, without announcing it.
    #[must_use]
    pub fn and_close(self) -> ServiceReply {
        match self {
            ServiceReply::KeepAlive(bytes) => ServiceReply::Close(bytes),
            other => other,
        }
    }
}

/// A service that runs until the test program ends.
pub struct TestHttpService {
    /// The base URL, without a slash at the end.
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
    /// Starts a service that answers with this function.
    pub fn start(answer: impl Fn(&TestHttpRequest) -> ServiceReply + Send + Sync + 'static) -> TestHttpService {
        TestHttpService::listen("http", Arc::new(answer), |stream, seen, answer| serve(stream, &seen, answer))
    }

    /// Starts a service with a certificate for 127.0.0.1 that is only trusted together with [`CA_CERTIFICATE_PATH`].
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
                // A client that hangs up early is no error.
                std::thread::spawn(move || talk(stream, record, answer.as_ref()));
            }
        });
        TestHttpService { address, log: seen }
    }

    /// Returns all requests so far.
    pub fn requests(&self) -> Vec<TestHttpRequest> {
        self.log.requests.lock().expect("nobody panicked").clone()
    }

    /// Returns the number of connections that were made.
    pub fn connections(&self) -> usize {
        self.log.connections.load(Ordering::SeqCst)
    }
}

fn serve(stream: impl Read + Write, seen: &ServiceLog, answer: &RequestHandler) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    for nth in 1.. {
        let request = TestHttpRequest { nth, ..read_request(&mut stream)? };
        if request.method.is_empty() {
            return Ok(());
        }
        seen.requests.lock().expect("nobody panicked").push(request.clone());
        let reply = answer(&request);
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
                // Until the client has closed the connection.
                let mut rest = Vec::new();
                return stream.read_to_end(&mut rest).map(drop);
            }
        }
        stream.get_mut().flush()?;
    }
    Ok(())
}
