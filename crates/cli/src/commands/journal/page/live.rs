//! The server of `hookwright journal page --live`: the page, and lines as they are written.
//!
//! It listens on loopback only. Every path begins with a random token, so that other users of the machine and pages of
//! other origins learn nothing; the `Host` header must name this server, so that no other name can be bound to it (DNS
//! rebinding). A request is small and has a deadline, and connections are few.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{PageMeta, PageMode, content_security_policy, write_page};

const MAX_REQUEST_BYTES: usize = 8 * 1024;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_CONNECTIONS: usize = 16;
const ACCEPT_INTERVAL: Duration = Duration::from_millis(20);
const MAX_LINES_PER_RESPONSE: usize = 2000;
const MAX_RESPONSE_BYTES: usize = 8 << 20;

/// A journal that can be followed.
pub(crate) trait JournalLines: Sync {
    /// Returns up to `limit` lines after the line `seq`, oldest first, each with its number; from the first line on if
    /// `seq` is `None`.
    fn after(&self, seq: Option<u64>, limit: usize) -> io::Result<Vec<(u64, String)>>;

    /// Returns the story of a line as lines of text; `None` if it has none.
    fn why(&self, _seq: u64) -> io::Result<Option<Vec<String>>> {
        Ok(None)
    }
}

/// A server that has an address, and does not answer yet.
pub(crate) struct LiveServer {
    listener: TcpListener,
    port: u16,
    token: String,
}

impl LiveServer {
    /// Binds a free port of the loopback address.
    pub(crate) fn bind() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let token = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        Ok(LiveServer { listener, port, token })
    }

    /// Returns the page's address, which holds the token: only the user may see it.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Answers requests until `shutdown` is set.
    pub(crate) fn serve(&self, meta: &PageMeta, journal: &dyn JournalLines, shutdown: &AtomicBool) -> io::Result<()> {
        let mut page = Vec::new();
        write_page(&mut page, meta, std::iter::empty(), PageMode::Live)?;
        let connections = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            while !shutdown.load(Ordering::Relaxed) {
                match self.accept_below_limit(&connections)? {
                    None => std::thread::sleep(ACCEPT_INTERVAL),
                    Some(stream) => {
                        connections.fetch_add(1, Ordering::Relaxed);
                        let (page, connections) = (&page, &connections);
                        scope.spawn(move || {
                            // A client that goes away is no failure of the server.
                            let _ = self.answer(stream, page, journal);
                            connections.fetch_sub(1, Ordering::Relaxed);
                        });
                    }
                }
            }
            Ok(())
        })
    }

    /// Returns a connection that waits, unless too many are open.
    #[expect(clippy::disallowed_methods, reason = "the listener does not block")]
    fn accept_below_limit(&self, connections: &AtomicUsize) -> io::Result<Option<TcpStream>> {
        if connections.load(Ordering::Relaxed) >= MAX_CONNECTIONS {
            return Ok(None);
        }
        match self.listener.accept() {
            Ok((stream, _)) => Ok(Some(stream)),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// Reads one request and answers it.
    fn answer(&self, mut stream: TcpStream, page: &[u8], journal: &dyn JournalLines) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let response = match read_head(&mut stream, Instant::now() + REQUEST_TIMEOUT)? {
            Some(head) => self.respond(&head, page, journal),
            None => Response::error("431 Request Header Fields Too Large", "the request is too large"),
        };
        response.write_to(&mut stream)
    }

    fn respond(&self, head: &str, page: &[u8], journal: &dyn JournalLines) -> Response {
        let Some(request) = RequestHead::parse(head) else {
            return Response::error("400 Bad Request", "the request cannot be read");
        };
        if !self.is_own_host(request.host) {
            return Response::error("421 Misdirected Request", "this server has another name");
        }
        let (token, rest) = request.path.strip_prefix('/').and_then(|path| path.split_once('/')).unwrap_or_default();
        if !is_same_secret(token.as_bytes(), self.token.as_bytes()) {
            return Response::error("403 Forbidden", "the token is missing or wrong");
        }
        if request.method != "GET" {
            return Response::error("405 Method Not Allowed", "only GET is answered");
        }
        match rest {
            "" => Response::page(page.to_vec()),
            "lines" => lines_response(request.query, journal),
            "why" => why_response(request.query, journal),
            _ => Response::error("404 Not Found", "there is no such path"),
        }
    }

    fn is_own_host(&self, host: &str) -> bool {
        let name = host.strip_suffix(&format!(":{}", self.port));
        name.is_some_and(|name| name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost"))
    }
}

/// Reads up to the empty line that ends a request's head; returns `None` if it is too long.
fn read_head(stream: &mut TcpStream, deadline: Instant) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut chunk)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(&chunk[..count]);
        if head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
            return Ok(Some(String::from_utf8_lossy(&head).into_owned()));
        }
        if head.len() >= MAX_REQUEST_BYTES {
            return Ok(None);
        }
    }
}

/// The parts of a request that matter here.
#[derive(Debug, PartialEq, Eq)]
struct RequestHead<'a> {
    method: &'a str,
    path: &'a str,
    query: &'a str,
    host: &'a str,
}

impl<'a> RequestHead<'a> {
    /// Reads a request's head; `None` if it is no HTTP/1 request with exactly one `Host`.
    fn parse(head: &'a str) -> Option<Self> {
        let mut lines = head.split("\r\n").take_while(|line| !line.is_empty());
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !version.starts_with("HTTP/1.") {
            return None;
        }
        let mut hosts = lines.filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("host").then(|| value.trim())
        });
        let (host, None) = (hosts.next()?, hosts.next()) else {
            return None;
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Some(RequestHead { method, path, query, host })
    }
}

/// Compares without telling by its time how much of the secret is right.
fn is_same_secret(given: &[u8], secret: &[u8]) -> bool {
    let difference = given.iter().zip(secret).fold(0, |difference, (left, right)| difference | (left ^ right));
    given.len() == secret.len() && std::hint::black_box(difference) == 0
}

fn lines_response(query: &str, journal: &dyn JournalLines) -> Response {
    let after = match query.split_once('=') {
        None if query.is_empty() => None,
        Some(("after", number)) if number.parse::<u64>().is_ok() => number.parse().ok(),
        _ => return Response::error("400 Bad Request", "the query must be `after=NUMBER`"),
    };
    match journal.after(after, MAX_LINES_PER_RESPONSE) {
        Ok(lines) => Response::lines(after, lines),
        Err(_) => Response::error("500 Internal Server Error", "the journal cannot be read"),
    }
}

fn why_response(query: &str, journal: &dyn JournalLines) -> Response {
    let Some(("line", number)) = query.split_once('=') else {
        return Response::error("400 Bad Request", "the query must be `line=NUMBER`");
    };
    match number.parse().map(|number| journal.why(number)) {
        Ok(Ok(lines)) => Response::story(&lines.unwrap_or_default()),
        Ok(Err(_)) => Response::error("500 Internal Server Error", "the journal cannot be read"),
        Err(_) => Response::error("400 Bad Request", "the query must be `line=NUMBER`"),
    }
}

#[derive(Debug)]
struct Response {
    status: &'static str,
    content_type: &'static str,
    last_seq: Option<u64>,
    body: Vec<u8>,
}

impl Response {
    fn error(status: &'static str, problem: &str) -> Self {
        Response { status, content_type: "text/plain", last_seq: None, body: format!("{problem}\n").into_bytes() }
    }

    fn page(body: Vec<u8>) -> Self {
        Response { status: "200 OK", content_type: "text/html", last_seq: None, body }
    }

    fn story(lines: &[String]) -> Self {
        let body = serde_json::Value::from(lines).to_string().into_bytes();
        Response { status: "200 OK", content_type: "application/json", last_seq: None, body }
    }

    /// Joins lines, up to a size that one response may have; the page asks again for the rest.
    fn lines(after: Option<u64>, lines: Vec<(u64, String)>) -> Self {
        let (mut body, mut last_seq) = (String::new(), after);
        for (seq, line) in lines {
            if !body.is_empty() && body.len() + line.len() > MAX_RESPONSE_BYTES {
                break;
            }
            body.push_str(&line.trim().replace(['\n', '\r'], " "));
            body.push('\n');
            last_seq = Some(seq);
        }
        Response { status: "200 OK", content_type: "application/x-ndjson", last_seq, body: body.into_bytes() }
    }

    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let last_seq = self.last_seq.map(|seq| format!("Journal-Last: {seq}\r\n")).unwrap_or_default();
        let head = format!(
            "HTTP/1.1 {}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\n{last_seq}\
             Content-Security-Policy: {}; frame-ancestors 'none'\r\nX-Content-Type-Options: nosniff\r\n\
             X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\
             Connection: close\r\n\r\n",
            self.status,
            self.content_type,
            self.body.len(),
            content_security_policy(PageMode::Live),
        );
        out.write_all(head.as_bytes())?;
        out.write_all(&self.body)?;
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NumberedLines(u64);

    impl JournalLines for NumberedLines {
        fn after(&self, seq: Option<u64>, limit: usize) -> io::Result<Vec<(u64, String)>> {
            let first = seq.map_or(0, |seq| seq + 1);
            Ok((first..self.0).take(limit).map(|seq| (seq, format!("{{\"seq\":{seq}}}"))).collect())
        }
    }

    fn status(server: &LiveServer, head: &str) -> &'static str {
        server.respond(head, b"page", &NumberedLines(3)).status.split_once(' ').unwrap().0
    }

    fn get(server: &LiveServer, path: &str, host: &str) -> &'static str {
        status(server, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
    }

    #[test]
    fn a_request_needs_token_and_host() {
        let server = LiveServer::bind().unwrap();
        let (token, host) = (&server.token, format!("127.0.0.1:{}", server.port));
        assert_eq!(get(&server, &format!("/{token}/"), &host), "200");
        assert_eq!(get(&server, &format!("/{token}/lines"), &host), "200");
        assert_eq!(get(&server, &format!("/{token}/lines?after=1"), &format!("localhost:{}", server.port)), "200");
        assert_eq!(get(&server, &format!("/{token}/other"), &host), "404");
        for path in ["/", "/lines", "//", "/favicon.ico", &format!("/{token}"), &format!("/{}/", &token[1..])] {
            assert_eq!(get(&server, path, &host), "403", "{path}");
        }
        let wrong_hosts = ["evil.example", "127.0.0.1", "127.0.0.1:1", "", &format!("evil.example:{}", server.port)];
        for wrong in wrong_hosts {
            assert_eq!(get(&server, &format!("/{token}/"), wrong), "421", "{wrong}");
        }
    }

    #[test]
    fn other_requests_are_refused() {
        let server = LiveServer::bind().unwrap();
        let (token, host) = (&server.token, format!("127.0.0.1:{}", server.port));
        assert_eq!(status(&server, &format!("POST /{token}/ HTTP/1.1\r\nHost: {host}\r\n\r\n")), "405");
        assert_eq!(status(&server, &format!("GET /{token}/ HTTP/1.1\r\n\r\n")), "400");
        assert_eq!(status(&server, &format!("GET /{token}/ HTTP/1.1\r\nHost: {host}\r\nHost: x\r\n\r\n")), "400");
        assert_eq!(status(&server, &format!("GET /{token}/\r\nHost: {host}\r\n\r\n")), "400");
        for query in ["after=", "after=-1", "after=x", "before=1", "after=99999999999999999999", "after"] {
            assert_eq!(get(&server, &format!("/{token}/lines?{query}"), &host), "400", "{query}");
        }
    }

    #[test]
    fn lines_come_after_a_number_and_in_pieces() {
        let journal = NumberedLines(MAX_LINES_PER_RESPONSE as u64 + 5);
        let first = lines_response("", &journal);
        assert_eq!(first.last_seq, Some(MAX_LINES_PER_RESPONSE as u64 - 1));
        assert_eq!(first.body.iter().filter(|&&byte| byte == b'\n').count(), MAX_LINES_PER_RESPONSE);
        let second = lines_response(&format!("after={}", MAX_LINES_PER_RESPONSE - 1), &journal);
        assert_eq!(second.body.iter().filter(|&&byte| byte == b'\n').count(), 5);
        let nothing = lines_response("after=9000", &journal);
        assert_eq!((nothing.last_seq, nothing.body.len()), (Some(9000), 0));
    }

    #[test]
    fn a_response_holds_one_line_at_least() {
        let large = "x".repeat(MAX_RESPONSE_BYTES);
        let response = Response::lines(None, vec![(1, large.clone()), (2, large)]);
        assert_eq!(response.last_seq, Some(1));
        assert_eq!(response.body.len(), MAX_RESPONSE_BYTES + 1);
    }

    #[test]
    fn the_server_answers_and_ends() {
        let server = LiveServer::bind().unwrap();
        let shutdown = AtomicBool::new(false);
        let meta = PageMeta::default();
        std::thread::scope(|scope| {
            scope.spawn(|| server.serve(&meta, &NumberedLines(2), &shutdown).unwrap());
            let answer = exchange(
                &server,
                &format!("GET /{}/lines HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", server.token, server.port),
            );
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert!(answer.ends_with("\r\n\r\n{\"seq\":0}\n{\"seq\":1}\n"), "{answer}");
            assert!(answer.contains("Journal-Last: 1\r\n"));
            let answer = exchange(&server, &"x".repeat(MAX_REQUEST_BYTES));
            assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
            shutdown.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn connections_are_few_and_do_not_stay() {
        let server = LiveServer::bind().unwrap();
        let shutdown = AtomicBool::new(false);
        let meta = PageMeta::default();
        std::thread::scope(|scope| {
            scope.spawn(|| server.serve(&meta, &NumberedLines(2), &shutdown).unwrap());
            let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).unwrap();
            let mut idle: Vec<TcpStream> = (0..MAX_CONNECTIONS + 4).map(|_| connect()).collect();
            for stream in &mut idle {
                stream.write_all(b"GET / HTTP").unwrap();
            }
            drop(idle);
            assert!(exchange(&server, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 421 "));
            shutdown.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn a_request_has_a_deadline() {
        let server = LiveServer::bind().unwrap();
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).unwrap();
        let started = Instant::now();
        let error = read_head(&mut stream, started + Duration::from_millis(50)).unwrap_err();
        assert!(matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{error}");
        assert!(started.elapsed() >= Duration::from_millis(50));
    }

    fn exchange(server: &LiveServer, request: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).unwrap();
        stream.set_read_timeout(Some(REQUEST_TIMEOUT)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn tokens_are_long_and_differ() {
        let (one, two) = (LiveServer::bind().unwrap(), LiveServer::bind().unwrap());
        assert_eq!(one.token.len(), 64);
        assert_ne!(one.token, two.token);
        assert!(one.url().contains(&one.token));
        assert!(is_same_secret(b"abc", b"abc") && !is_same_secret(b"abd", b"abc"));
        assert!(!is_same_secret(b"", b"abc") && !is_same_secret(b"abcd", b"abc"));
    }
}
