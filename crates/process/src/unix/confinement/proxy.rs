//! The way out of a confinement with a list of hosts: a proxy that runs outside and listens inside.
//!
//! It speaks HTTP (`CONNECT` and plain requests) and SOCKS5 on one port. Names are resolved outside, and an address that
//! belongs to this machine or its own network is refused unless it is listed as an address.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpListener, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a connection may be silent in both directions.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);
const MAX_REQUEST_HEAD_BYTES: u64 = 64 << 10;
const MAX_CONNECTIONS: usize = 256;
const MAX_REFUSED_NAMES: usize = 100;
/// The ports of a host that is listed without one.
const DEFAULT_PORTS: [u16; 2] = [80, 443];
const RELAY_BUFFER_BYTES: usize = 16 << 10;

/// A host that may be reached: a name, `*.name` for all names below it, or an address; a port may follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHost {
    name: String,
    port: Option<u16>,
}

impl FromStr for AllowedHost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((name, "")) => (name, None),
            Some((name, rest)) => (name, Some(rest.strip_prefix(':').ok_or("expected `:` after `]`")?)),
            None if text.parse::<IpAddr>().is_ok() => (text, None),
            None => text.rsplit_once(':').map_or((text, None), |(name, port)| (name, Some(port))),
        };
        let port = port.map(|port| port.parse().map_err(|_| format!("`{port}` is not a port"))).transpose()?;
        let plain = name.strip_prefix("*.").unwrap_or(name);
        let is_valid = |char: char| char.is_ascii_alphanumeric() || "-_.:".contains(char);
        if plain.is_empty() || !plain.chars().all(is_valid) {
            return Err(format!("`{text}` is not a host; expected NAME, *.NAME or ADDRESS, perhaps with :PORT"));
        }
        Ok(AllowedHost { name: name.trim_end_matches('.').to_ascii_lowercase(), port })
    }
}

impl std::fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl AllowedHost {
    /// Whether this host allows everything that the other one allows.
    pub(super) fn covers(&self, other: &AllowedHost) -> bool {
        let is_port_covered = match (self.port, other.port) {
            (None, Some(port)) => DEFAULT_PORTS.contains(&port),
            (ours, theirs) => ours == theirs,
        };
        let is_name_covered = match (self.name.strip_prefix("*."), other.name.strip_prefix("*.")) {
            (Some(parent), Some(name)) => name == parent || is_below(name, parent),
            (Some(parent), None) => is_below(&other.name, parent),
            (None, _) => self.name == other.name,
        };
        is_port_covered && is_name_covered
    }

    fn matches(&self, host: &str, port: u16) -> bool {
        let is_named = match self.name.strip_prefix("*.") {
            Some(parent) => is_below(host, parent),
            None => self.name == host,
        };
        is_named && self.port.map_or(DEFAULT_PORTS.contains(&port), |allowed| allowed == port)
    }
}

/// Whether a name lies below another one: `a.b.c` below `b.c`.
fn is_below(name: &str, parent: &str) -> bool {
    name.strip_suffix(parent).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

/// The hosts that were refused, with how often.
#[derive(Clone, Debug, Default)]
pub(super) struct RefusedHosts(Arc<Mutex<BTreeMap<String, usize>>>);

impl RefusedHosts {
    fn add(&self, host: &str, port: u16) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = format!("{}:{port}", host.escape_default());
        if counts.len() < MAX_REFUSED_NAMES || counts.contains_key(&name) {
            *counts.entry(name).or_default() += 1;
        }
    }

    pub(super) fn counts(&self) -> Vec<(String, usize)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(name, count)| (name.clone(), *count)).collect()
    }
}

/// Returns the variables by which programs find the proxy.
pub(super) fn environment(port: u16) -> Vec<(OsString, OsString)> {
    let http = format!("http://127.0.0.1:{port}");
    let socks = format!("socks5h://127.0.0.1:{port}");
    let local = "localhost,127.0.0.1,::1";
    let values = [
        ("HTTP_PROXY", &*http),
        ("HTTPS_PROXY", &*http),
        ("ALL_PROXY", &*socks),
        ("NO_PROXY", local),
        ("NODE_USE_ENV_PROXY", "1"),
    ];
    let pair = |name: String, value: &str| (OsString::from(name), OsString::from(value));
    values
        .iter()
        .flat_map(|(name, value)| [pair(name.to_lowercase(), value), pair((*name).to_owned(), value)])
        .collect()
}

/// Serves the proxy on threads of its own until this process ends.
#[expect(clippy::disallowed_methods, reason = "the thread waits for clients for as long as the command runs")]
pub(super) fn serve(listener: TcpListener, hosts: Vec<AllowedHost>, refused: RefusedHosts) -> io::Result<()> {
    let proxy = Arc::new(Proxy { hosts, refused });
    let connections = Arc::new(AtomicUsize::new(0));
    std::thread::Builder::new().name("proxy".to_owned()).spawn(move || {
        for client in listener.incoming() {
            let Ok(client) = client else {
                std::thread::sleep(Duration::from_millis(50));
                continue;
            };
            if connections.fetch_add(1, Ordering::SeqCst) >= MAX_CONNECTIONS {
                connections.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let (proxy, count) = (proxy.clone(), connections.clone());
            let work = move || {
                // A connection that fails is closed, which is all that its client can be told.
                let _ = proxy.handle(client);
                count.fetch_sub(1, Ordering::SeqCst);
            };
            if std::thread::Builder::new().name("proxy-client".to_owned()).spawn(work).is_err() {
                connections.fetch_sub(1, Ordering::SeqCst);
            }
        }
    })?;
    Ok(())
}

struct Proxy {
    hosts: Vec<AllowedHost>,
    refused: RefusedHosts,
}

impl Proxy {
    fn handle(&self, client: TcpStream) -> io::Result<()> {
        client.set_read_timeout(Some(REQUEST_TIMEOUT))?;
        client.set_write_timeout(Some(IDLE_TIMEOUT))?;
        let mut reader = BufReader::new(client.try_clone()?);
        match reader.fill_buf()?.first() {
            Some(5) => self.handle_socks(client, reader),
            Some(_) => self.handle_http(client, reader),
            None => Ok(()),
        }
    }

    fn handle_socks(&self, mut client: TcpStream, mut reader: BufReader<TcpStream>) -> io::Result<()> {
        const NO_AUTHENTICATION: [u8; 2] = [5, 0];
        let [_, methods] = read_bytes(&mut reader)?;
        io::copy(&mut (&mut reader).take(methods.into()), &mut io::sink())?;
        client.write_all(&NO_AUTHENTICATION)?;
        let [_, command, _, kind] = read_bytes(&mut reader)?;
        let host = match kind {
            1 => IpAddr::from(read_bytes::<4>(&mut reader)?).to_string(),
            4 => IpAddr::from(read_bytes::<16>(&mut reader)?).to_string(),
            3 => {
                let [length] = read_bytes(&mut reader)?;
                let mut name = vec![0; length.into()];
                reader.read_exact(&mut name)?;
                String::from_utf8_lossy(&name).into_owned()
            }
            _ => return Err(io::ErrorKind::InvalidData.into()),
        };
        let port = u16::from_be_bytes(read_bytes(&mut reader)?);
        let answer = |code: u8| [5, code, 0, 1, 0, 0, 0, 0, 0, 0];
        // Only connections: no listening, no datagrams.
        if command != 1 {
            return client.write_all(&answer(7));
        }
        match self.connect(&host, port) {
            Ok(server) => {
                client.write_all(&answer(0))?;
                relay(client, reader, server)
            }
            Err(ProxyError::Refused) => client.write_all(&answer(2)),
            Err(ProxyError::Unreachable(_)) => client.write_all(&answer(4)),
        }
    }

    fn handle_http(&self, mut client: TcpStream, mut reader: BufReader<TcpStream>) -> io::Result<()> {
        let head = read_head(&mut reader)?;
        let Some((method, host, port, rest)) = parse_request(&head) else {
            return client.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        };
        let mut server = match self.connect(&host, port) {
            Ok(server) => server,
            Err(error) => {
                let (status, text) = match error {
                    ProxyError::Refused => (
                        "403 Forbidden",
                        format!("hookwright: {host}:{port} is not among the hosts that are allowed\n"),
                    ),
                    ProxyError::Unreachable(error) => {
                        ("502 Bad Gateway", format!("hookwright: {host}:{port}: {error}\n"))
                    }
                };
                let length = text.len();
                let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}");
                return client.write_all(head.as_bytes());
            }
        };
        match rest {
            None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
            // One request per connection: the next one could be for another host.
            Some(path) => server.write_all(&rewrite_head(&head, &method, &path))?,
        }
        relay(client, reader, server)
    }

    fn connect(&self, host: &str, port: u16) -> Result<TcpStream, ProxyError> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        if !self.hosts.iter().any(|allowed| allowed.matches(&host, port)) {
            self.refused.add(&host, port);
            return Err(ProxyError::Refused);
        }
        let is_listed_address = host.parse::<IpAddr>().is_ok();
        let addresses = (&*host, port).to_socket_addrs().map_err(ProxyError::Unreachable)?;
        let mut last = ProxyError::Refused;
        for address in addresses.filter(|address| is_listed_address || is_public(address.ip())) {
            match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                Ok(server) => return Ok(server),
                Err(error) => last = ProxyError::Unreachable(error),
            }
        }
        if let ProxyError::Refused = last {
            self.refused.add(&host, port);
        }
        Err(last)
    }
}

enum ProxyError {
    Refused,
    Unreachable(io::Error),
}

/// Whether an address is neither of this machine nor of its own network.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            let is_shared = first == 100 && (64..128).contains(&second);
            !(address.is_loopback()
                || address.is_private()
                || address.is_link_local()
                || address.is_unspecified()
                || address.is_broadcast()
                || address.is_multicast()
                || is_shared
                || address.octets()[0] == Ipv4Addr::UNSPECIFIED.octets()[0])
        }
        IpAddr::V6(address) => {
            !(address.is_loopback()
                || address.is_unspecified()
                || address.is_multicast()
                || address.is_unique_local()
                || address.is_unicast_link_local())
        }
    }
}

fn read_bytes<const N: usize>(reader: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads the head of a request, up to and including its empty line.
fn read_head(reader: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut limited = reader.take(MAX_REQUEST_HEAD_BYTES);
    loop {
        let before = head.len();
        limited.read_until(b'\n', &mut head)?;
        match &head[before..] {
            b"\r\n" | b"\n" => return Ok(head),
            line if line.ends_with(b"\n") => {}
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// Returns method, host, port, and for a plain request the path.
fn parse_request(head: &[u8]) -> Option<(String, String, u16, Option<String>)> {
    let line = std::str::from_utf8(head.split(|byte| *byte == b'\n').next()?).ok()?;
    let mut words = line.trim_end().split(' ');
    let (method, target, _version) = (words.next()?, words.next()?, words.next()?);
    if method.eq_ignore_ascii_case("CONNECT") {
        let (host, port) = split_port(target)?;
        return Some((method.to_owned(), host, port?, None));
    }
    let rest = target.strip_prefix("http://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    // What stands before an `@` is a name and a password, which no proxy needs and some programs read as the host.
    if authority.contains(['@', '\\']) {
        return None;
    }
    let (host, port) = split_port(authority)?;
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Some((method.to_owned(), host, port.unwrap_or(80), Some(path)))
}

fn split_port(authority: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    let port = match port {
        Some(port) => Some(port.parse().ok()?),
        None => None,
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// Returns the head of a plain request as its server expects it, asking for the end of the connection behind it.
fn rewrite_head(head: &[u8], method: &str, path: &str) -> Vec<u8> {
    let mut rewritten = format!("{method} {path} HTTP/1.1\r\n").into_bytes();
    for line in head.split_inclusive(|byte| *byte == b'\n').skip(1) {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default().to_ascii_lowercase();
        if line == b"\r\n" || line == b"\n" {
            break;
        }
        if !matches!(&*name, b"connection" | b"proxy-connection" | b"proxy-authorization" | b"keep-alive") {
            rewritten.extend_from_slice(line);
        }
    }
    rewritten.extend_from_slice(b"Connection: close\r\n\r\n");
    rewritten
}

/// Copies both directions until both have ended.
#[expect(clippy::disallowed_methods, reason = "the other direction has a time limit for each read and write")]
fn relay(client: TcpStream, reader: BufReader<TcpStream>, server: TcpStream) -> io::Result<()> {
    for stream in [&client, &server] {
        stream.set_read_timeout(Some(IDLE_TIMEOUT))?;
        stream.set_write_timeout(Some(IDLE_TIMEOUT))?;
    }
    let to_server = server.try_clone()?;
    let upload = std::thread::Builder::new().name("proxy-upload".to_owned()).spawn(move || copy(reader, to_server))?;
    let downloaded = copy(server.try_clone()?, client.try_clone()?);
    if downloaded.is_err() {
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
    }
    let _ = upload.join();
    Ok(())
}

fn copy(mut from: impl Read, mut to: TcpStream) -> io::Result<()> {
    let mut buffer = [0; RELAY_BUFFER_BYTES];
    let copied = loop {
        match from.read(&mut buffer) {
            Ok(0) => break Ok(()),
            Ok(length) => {
                if let Err(error) = to.write_all(&buffer[..length]) {
                    break Err(error);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Err(error),
        }
    };
    let _ = to.shutdown(Shutdown::Write);
    copied
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(hosts: &[&str], host: &str, port: u16) -> bool {
        hosts.iter().any(|text| text.parse::<AllowedHost>().unwrap().matches(host, port))
    }

    #[test]
    fn hosts_match_by_name_and_port() {
        assert!(allows(&["example.com"], "example.com", 443));
        assert!(allows(&["EXAMPLE.com."], "example.com", 80));
        assert!(!allows(&["example.com"], "example.com", 22));
        assert!(!allows(&["example.com"], "evil-example.com", 443));
        assert!(!allows(&["example.com"], "a.example.com", 443));
        assert!(allows(&["*.example.com"], "a.b.example.com", 443));
        assert!(!allows(&["*.example.com"], "example.com", 443));
        assert!(!allows(&["*.example.com"], ".example.com", 443));
        assert!(!allows(&["*.example.com"], "evilexample.com", 443));
        assert!(allows(&["example.com:8443"], "example.com", 8443));
        assert!(!allows(&["example.com:8443"], "example.com", 443));
        assert!(allows(&["[::1]:80"], "::1", 80));
        for wrong in ["", "*", "*.", "a b", "http://a", "a:b", "a:99999", "*a.com", "[::1", "a/b"] {
            assert!(wrong.parse::<AllowedHost>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_request_names_one_host() {
        let host =
            |line: &str| parse_request(format!("{line}\r\n\r\n").as_bytes()).map(|(_, host, port, _)| (host, port));
        assert_eq!(host("CONNECT a.com:443 HTTP/1.1"), Some(("a.com".to_owned(), 443)));
        assert_eq!(host("CONNECT [::1]:443 HTTP/1.1"), Some(("::1".to_owned(), 443)));
        assert_eq!(host("GET http://a.com/b HTTP/1.1"), Some(("a.com".to_owned(), 80)));
        assert_eq!(host("GET http://a.com:81?b HTTP/1.1"), Some(("a.com".to_owned(), 81)));
        for wrong in [
            "CONNECT a.com HTTP/1.1",
            "GET /b HTTP/1.1",
            "GET https://a.com/ HTTP/1.1",
            "GET http://a.com@evil.com/ HTTP/1.1",
            "GET http://good\\@evil.com/ HTTP/1.1",
            "GET http:///b HTTP/1.1",
            "GET http://a.com:x/ HTTP/1.1",
            "nonsense",
        ] {
            assert_eq!(host(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn addresses_of_this_machine_are_not_public() {
        for local in ["127.0.0.1", "10.1.2.3", "169.254.169.254", "0.0.0.0", "0.1.2.3", "100.64.0.1", "::1", "fe80::1"]
        {
            assert!(!is_public(local.parse().unwrap()), "{local}");
        }
        for local in ["::ffff:127.0.0.1", "::ffff:169.254.169.254", "fd00::1", "192.168.1.1", "172.16.0.1"] {
            assert!(!is_public(local.parse().unwrap()), "{local}");
        }
        assert!(is_public("93.184.216.34".parse().unwrap()) && is_public("2606:2800::1".parse().unwrap()));
    }
}
