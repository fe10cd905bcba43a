//! `curl` and `wget`: addresses, what is sent and where answers go.

use crate::observer::{Aspects, Fact};
use crate::programs::call::Call;
use crate::programs::spec::{Access, Aspect, Depth, Verb};
use crate::value::Argument;

/// `@file` is read; `@-` is the input.
pub(super) fn data(call: &mut Call<'_, '_>, word: &Argument, sign: char) {
    match word.text() {
        Some(text) => {
            let file = text.strip_prefix(sign).filter(|file| *file != "-").map(Argument::known);
            file.iter().for_each(|file| call.touch(Access::Read, file, Depth::Itself));
        }
        None if word.prefix.is_empty() || word.prefix.starts_with(sign) => {
            call.interpreter.unsure(Aspect::Reads, format!("{} may name a file", word.shown));
        }
        None => {}
    }
}

/// `@file`, `name@file`; what stands behind a `=` is text.
pub(super) fn urlencoded(call: &mut Call<'_, '_>, word: &Argument) {
    match word.text() {
        _ if word.beginning().contains('=') => {}
        Some(text) => {
            let file = text.split_once('@').map(|(_, file)| file).filter(|file| *file != "-").map(Argument::known);
            file.iter().for_each(|file| call.touch(Access::Read, file, Depth::Itself));
        }
        None => call.interpreter.unsure(Aspect::Reads, format!("{} may name a file", word.shown)),
    }
}

/// `name=@file`, `name=<file`.
pub(super) fn form(call: &mut Call<'_, '_>, word: &Argument) {
    let Some(text) = word.text().map(str::to_owned) else {
        return call.interpreter.unsure(Aspect::Reads, format!("{} may name a file", word.shown));
    };
    let value = text.split_once('=').map_or("", |(_, value)| value);
    if value.contains("headers=") {
        call.interpreter.unsure(Aspect::Reads, format!("{text} may name a file of headers"));
    }
    if let Some(files) = value.strip_prefix('@').or_else(|| value.strip_prefix('<')) {
        if files.contains([';', ',', '"']) {
            return call.interpreter.unsure(Aspect::Reads, format!("{text} names several files"));
        }
        if files != "-" {
            call.touch(Access::Read, &Argument::known(files), Depth::Itself);
        }
    }
}

/// Options of `curl` that send data or commands.
const CURL_SENDING: [&str; 15] = [
    "-d",
    "--data-ascii",
    "--data-binary",
    "--data-raw",
    "--data-urlencode",
    "-F",
    "--form-string",
    "--json",
    "-T",
    "-Q",
    "--mail-auth",
    "--mail-from",
    "--mail-rcpt",
    "--ftp-create-dirs",
    "-t",
];
const WGET_SENDING: [&str; 4] = ["--post-data", "--post-file", "--body-data", "--body-file"];
/// Requests that only read.
const READING_METHODS: [&str; 3] = ["GET", "HEAD", "OPTIONS"];
/// Headers that say no more than which answer is wanted.
const READING_HEADERS: [&str; 9] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "if-modified-since",
    "if-none-match",
    "range",
    "user-agent",
];

/// Whether a header says no more than which answer is wanted.
fn only_asks(header: &Argument) -> bool {
    let name = header.beginning().split_once(':').map(|(name, _)| name.trim().to_ascii_lowercase());
    name.is_some_and(|name| READING_HEADERS.contains(&name.as_str()))
}

/// A header of a request to a service.
pub(super) fn header(call: &mut Call<'_, '_>, header: &Argument) {
    if !only_asks(header) {
        call.interpreter.tell(&Fact::Service { name: "web", verb: Verb::Write });
    }
}

/// A request that sends something may change what the server has.
fn requests(call: &mut Call<'_, '_>, sending: &[&str]) {
    let is_reading = |word: &Argument| word.text().is_some_and(|method| READING_METHODS.contains(&method));
    let parsed = &call.parsed;
    let sends = sending.iter().any(|option| parsed.has(option))
        || !["-X", "--method"].iter().all(|option| parsed.values(option).all(is_reading))
        || !["-H", "--header"].iter().all(|option| parsed.values(option).all(only_asks));
    if sends {
        call.interpreter.tell(&Fact::Service { name: "web", verb: Verb::Write });
    }
}

pub(super) fn run(call: &mut Call<'_, '_>) {
    call.by_file();
    requests(call, &CURL_SENDING);
    outputs(call);
    // A format may name files to read and to write.
    let names_file = |word: &Argument| word.text().is_none_or(|text| text.contains("output{") || text.starts_with('@'));
    if call.parsed.values("-w").any(names_file) {
        call.interpreter.unsure(Aspects::of(&[Aspect::Reads, Aspect::Writes]), "curl's format may name a file");
    }
    let globs = |word: &Argument| word.text().is_none_or(|text| text.contains(['{', '[', '@']));
    if call.parsed.values("-T").any(globs) || call.parsed.values("--url").any(|word| word.beginning().starts_with('@'))
    {
        call.interpreter.unsure(Aspect::Reads, "curl may read several files");
    }
    let is_file = |word: &Argument| word.beginning().to_ascii_lowercase().starts_with("file:");
    let has_file = call.parsed.operands.iter().chain(call.parsed.values("--url")).any(is_file);
    if call.parsed.has("-T") && has_file {
        call.interpreter.unsure(Aspect::Writes, "curl uploads to a file of this machine");
    }
    let config = call.state.variable("HOME").is_some() || call.state.variable("CURL_HOME").is_some();
    if config || call.interpreter.made(".curlrc") {
        call.interpreter.unsure_all("curl reads settings that the same command makes");
    }
}

/// `-O` names the file after the address.
fn outputs(call: &mut Call<'_, '_>) {
    let remote_name = call.parsed.has("-O") || call.parsed.has("--remote-name") || call.parsed.has("--remote-name-all");
    if call.parsed.has("-J") || call.parsed.has("--remote-header-name") {
        return call.interpreter.unsure(Aspect::Writes, "the server names the file");
    }
    let globs = |word: &Argument| word.text().is_none_or(|text| text.contains('#'));
    if call.parsed.values("-o").any(globs) {
        call.interpreter.unsure(Aspect::Writes, "the name of the file is made of the address");
    }
    let directory = call.parsed.values("--output-dir").next_back().cloned();
    if directory.is_some() {
        call.interpreter.unsure(Aspect::Writes, "the file is written to another directory");
        directory.iter().for_each(|directory| call.touch(Access::Write, directory, Depth::Tree));
    }
    if remote_name {
        let operands = call.parsed.operands.clone();
        for word in &operands {
            let name = word.text().and_then(|text| {
                let path = text.split_once("://").map_or(text, |(_, rest)| rest).split(['?', '#']).next()?;
                path.rsplit_once('/')
                    .map(|(_, name)| name.to_owned())
                    .filter(|name| !name.is_empty() && !name.contains(['%', '\\', '{', '[']))
            });
            match name {
                Some(name) => call.touch(Access::Write, &Argument::known(name), Depth::Itself),
                None => call.interpreter.unsure(Aspect::Writes, "the name of the file is made of the address"),
            }
        }
    }
}

pub(super) fn wget(call: &mut Call<'_, '_>) {
    call.by_file();
    requests(call, &WGET_SENDING);
    let to_output = call.parsed.values("-O").next_back().cloned();
    let has = |call: &Call<'_, '_>, names: &[&str]| names.iter().any(|name| call.parsed.has(name));
    match to_output {
        Some(file) if file.text() == Some("-") => {}
        Some(file) => call.touch(Access::Write, &file, Depth::Itself),
        None if has(call, &["--spider"]) => {}
        None if has(
            call,
            &[
                "-r",
                "-m",
                "-p",
                "-P",
                "-N",
                "-x",
                "-E",
                "-k",
                "-K",
                "--content-disposition",
                "--trust-server-names",
                "-i",
                "-B",
            ],
        ) =>
        {
            call.interpreter.unsure(Aspect::Writes, "which files wget writes depends on the answers");
            call.touch(Access::Write, &Argument::known("."), Depth::Tree);
        }
        None => {
            let operands = call.parsed.operands.clone();
            for word in &operands {
                let name = word.text().and_then(|text| {
                    let path = text.split_once("://").map_or(text, |(_, rest)| rest);
                    path.split_once('/').map(|(_, path)| path.rsplit('/').next().unwrap_or_default().to_owned())
                });
                match name.filter(|name| !name.contains(['%', '?', '#', '*', '['])) {
                    Some(name) if !name.is_empty() => {
                        call.touch(Access::Write, &Argument::known(name.as_str()), Depth::Itself);
                        // A file that is there already gets another name.
                        if call
                            .state
                            .path(&name)
                            .is_none_or(|path| call.interpreter.environment.disk.kind(&path).is_some())
                        {
                            call.interpreter.unsure(Aspect::Writes, "wget chooses another name");
                        }
                    }
                    Some(_) => call.touch(Access::Write, &Argument::known("index.html"), Depth::Itself),
                    None => call.interpreter.unsure(Aspect::Writes, "the name of the file is made of the address"),
                }
            }
        }
    }
}
