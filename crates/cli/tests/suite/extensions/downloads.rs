//! Archives at an address: fetched from a server on this machine, with redirects, and with every error that a server
//! can make.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

use super::*;
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;

/// Starts a server that answers by path until the test is over, and returns its address.
fn serve(answer: impl Fn(&str, &mut TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.connections() {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut first = String::new();
            let _ = reader.read_line(&mut first);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|count| count > 2) {
                line.clear();
            }
            let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
            answer(&path, &mut stream);
        }
    });
    address
}

fn reply(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    // The client may close the connection early.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

/// Returns the guard as an archive; `None` where there is no `tar`.
fn packed(sandbox: &Sandbox, version: &str) -> Option<Vec<u8>> {
    guard(sandbox, "packed/guard", version);
    let mut tar = Command::new("tar");
    tar.args(["-czf", "x.tar.gz", "-C", "packed", "guard"]).current_dir(sandbox.sibling_path(""));
    if !tar.status_in_time().is_ok_and(|status| status.success()) {
        hookwright_testkit::report_skipped("an archive at an address", "there is no tar");
        return None;
    }
    Some(fs::read(sandbox.sibling_path("x.tar.gz")).unwrap())
}

#[test]
fn an_archive_at_an_address_is_installed_and_updated() {
    let sandbox = sandbox();
    let Some(archive) = packed(&sandbox, "1.0.0") else { return };
    let shelf = std::sync::Arc::new(std::sync::Mutex::new(archive));
    let served = shelf.clone();
    let address = serve(move |path, stream| match path {
        "/moved/x.tar.gz?raw=1" => reply(stream, "302 Found", "Location: /x.tar.gz\r\n", b""),
        "/x.tar.gz" => reply(stream, "200 OK", "", &served.lock().unwrap()),
        _ => reply(stream, "404 Not Found", "", b"no"),
    });
    let url = format!("{address}/moved/x.tar.gz?raw=1");
    extensions(&sandbox, &["install", &url, "--consent"]).expect_exit_code(0);
    assert_eq!(fire(&sandbox).code, Some(2));
    let shown = extensions(&sandbox, &["list", "--json"]).expect_exit_code(0).json();
    assert_eq!((&shown[0]["source"], &shown[0]["type"]), (&json!(url), &json!("archive")));

    *shelf.lock().unwrap() = packed(&sandbox, "1.1.0").unwrap();
    // A failed update does not prevent the others.
    let gone = guard(&sandbox, "gone", "1.0.0");
    std::fs::write(gone.join("gemini-extension.json"), r#"{"name": "another", "version": "1.0.0"}"#).unwrap();
    extensions(&sandbox, &["install", text(&gone), "--consent"]).expect_exit_code(0);
    std::fs::remove_dir_all(&gone).unwrap();
    let run = extensions(&sandbox, &["update", "--all", "--consent"]).expect_exit_code(1);
    assert!(run.stdout.contains("1.0.0 → 1.1.0"), "{}", run.stdout);
    assert!(run.stderr.contains("`guard` is at 1.1.0 now") && run.stderr.contains("no such folder"), "{}", run.stderr);
    let shown = extensions(&sandbox, &["list", "--json"]).expect_exit_code(0).json();
    let versions: Vec<_> = shown.as_array().unwrap().iter().map(|one| one["version"].as_str().unwrap()).collect();
    assert_eq!(versions, ["1.0.0", "1.1.0"], "another, guard");
}

#[test]
fn a_failed_download_leaves_nothing() {
    let sandbox = sandbox();
    let address = serve(|path, stream| match path {
        "/page.tar.gz" => reply(stream, "200 OK", "Content-Type: text/html\r\n", b"<html>sign in</html>"),
        "/page.zip" => reply(stream, "200 OK", "Content-Type: text/html\r\n", b"<html>sign in</html>"),
        "/round.tar.gz" => reply(stream, "302 Found", "Location: /round.tar.gz\r\n", b""),
        "/disk.tar.gz" => reply(stream, "302 Found", "Location: file:///etc/passwd\r\n", b""),
        "/large.tar.gz" => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1099511627776\r\n\r\nx");
        }
        "/cut.tar.gz" => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n\x1f\x8b\x08");
        }
        _ => reply(stream, "404 Not Found", "", b"no"),
    });
    for (path, why) in [
        ("page.tar.gz", "can't unpack"),
        ("page.zip", "can't unpack"),
        ("round.tar.gz", "can't download"),
        ("disk.tar.gz", "can't download"),
        ("large.tar.gz", "is larger than"),
        ("cut.tar.gz", "can't download"),
        ("missing.tar.gz", "404"),
    ] {
        let run = extensions(&sandbox, &["install", &format!("{address}/{path}"), "--consent"]).expect_exit_code(1);
        assert!(run.stderr.contains(why), "{path}: {}", run.stderr);
        assert!(!run.stderr.contains("root:"), "{path}: {}", run.stderr);
    }
    let there = std::fs::read_dir(sandbox.home().join(".gemini/extensions")).into_iter().flatten().flatten();
    assert_eq!(there.filter(|entry| entry.file_name() != ".lock").count(), 0);
}
