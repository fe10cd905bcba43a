//! Programs that talk to other machines: whom, and what they fetch or send.

use super::options::take;
use super::walk::{Input, Walk};
use super::{Aspect, Depth};
use crate::shell::{Field, State};

/// The host of an address.
pub(super) fn host_of_url(word: &str) -> Option<String> {
    let word = word.trim_matches(|char| matches!(char, '<' | '>' | '(' | ')' | '"' | '\'' | ',' | '.'));
    let (_, rest) = word.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    Some(host.to_ascii_lowercase()).filter(|host| !host.is_empty())
}

/// The host of `user@host:path`.
pub(super) fn host_of_copy(word: &str) -> Option<String> {
    if let Some(host) = host_of_url(word) {
        return Some(host);
    }
    let (host, _) = word.split_once(':').filter(|(host, _)| !host.contains('/') && !host.is_empty())?;
    Some(host.rsplit('@').next().unwrap_or(host).to_ascii_lowercase())
}

fn talk_to(walk: &mut Walk<'_, '_>, word: &Field) {
    match word {
        Some(word) => {
            let host = host_of_url(word).or_else(|| host_of_copy(word));
            let bare = || word.split(['/', ':', '?']).next().unwrap_or(word).to_ascii_lowercase();
            walk.finder.talk(host.unwrap_or_else(bare));
        }
        None => walk.doubt(Aspect::Network),
    }
}

/// `curl`: its options that write are known; what it sends from files is not followed.
pub(super) fn curl(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    const WRITES: [&str; 16] = [
        "-o",
        "--output",
        "-D",
        "--dump-header",
        "-c",
        "--cookie-jar",
        "--trace",
        "--trace-ascii",
        "--stderr",
        "--etag-save",
        "--alt-svc",
        "--hsts",
        "--libcurl",
        "--output-dir",
        "--ca-native",
        "--ssl-sessions",
    ];
    const VALUES: [&str; 41] = [
        "-X",
        "--request",
        "-H",
        "--header",
        "-A",
        "--user-agent",
        "-e",
        "--referer",
        "-u",
        "--user",
        "-m",
        "--max-time",
        "--connect-timeout",
        "--retry",
        "--retry-delay",
        "-x",
        "--proxy",
        "-b",
        "--cookie",
        "-w",
        "--write-out",
        "-r",
        "--range",
        "--url",
        "--cacert",
        "--cert",
        "-E",
        "--key",
        "--resolve",
        "--data-urlencode",
        "--max-redirs",
        "-y",
        "-Y",
        "-z",
        "-C",
        "--continue-at",
        "--limit-rate",
        "--interface",
        "--json",
        "-U",
        "--proxy-user",
    ];
    const SENDS: [&str; 10] = [
        "-d",
        "--data",
        "--data-binary",
        "--data-raw",
        "--data-ascii",
        "-F",
        "--form",
        "-T",
        "--upload-file",
        "--form-string",
    ];
    let taken = take(&words[1..], &[&WRITES[..], &VALUES[..], &SENDS[..], &["-K", "--config"]].concat());
    if taken.unknown || taken.has(&["-K", "--config", "-q", "--disable"]) {
        walk.doubt(Aspect::Writes);
        walk.doubt(Aspect::Reads);
        walk.doubt(Aspect::Network);
    }
    taken.values(&WRITES).for_each(|file| walk.touch(Aspect::Writes, file, state));
    // `%output{file}` in what it is to print leads that elsewhere.
    let printed = taken.values(&["-w", "--write-out"]);
    if printed.cloned().any(|text| text.is_none_or(|text| text.contains("%output") || text.starts_with('@'))) {
        walk.doubt(Aspect::Writes);
    }
    for value in taken.values(&SENDS) {
        let file = value.as_deref().and_then(|value| value.split_once('@')).map(|(_, file)| file.to_owned());
        file.into_iter().for_each(|file| walk.touch(Aspect::Reads, &Some(file), state));
    }
    taken.values(&["-T", "--upload-file"]).for_each(|file| walk.touch(Aspect::Reads, file, state));
    let urls: Vec<Field> = taken.operands.iter().chain(taken.values(&["--url"])).cloned().collect();
    for url in &urls {
        if let Some(path) = url.as_deref().and_then(|url| url.strip_prefix("file://")) {
            walk.touch(Aspect::Reads, &Some(path.to_owned()), state);
            continue;
        }
        talk_to(walk, url);
        // The name is the end of the address, or what the other side says.
        if taken.has(&["-O", "--remote-name", "--remote-name-all"]) {
            let directory = taken.values(&["--output-dir"]).last().cloned().flatten().unwrap_or_else(|| ".".to_owned());
            let name = url.as_deref().and_then(|url| url.split(['?', '#']).next()?.rsplit('/').next());
            let named = name.filter(|_| !taken.has(&["-J", "--remote-header-name"]));
            walk.touch(Aspect::Writes, &named.map(|name| format!("{directory}/{name}")), state);
        }
    }
}

pub(super) fn wget(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    const WRITES: [&str; 10] = [
        "-O",
        "--output-document",
        "-o",
        "--output-file",
        "-a",
        "--append-output",
        "--save-cookies",
        "--warc-file",
        "--rejected-log",
        "--hsts-file",
    ];
    let values = [
        "-P",
        "--directory-prefix",
        "-t",
        "-T",
        "-U",
        "--header",
        "--user-agent",
        "--tries",
        "--timeout",
        "-l",
        "-A",
        "-R",
        "-D",
        "-Q",
        "-w",
        "-i",
        "--input-file",
        "--post-data",
        "--post-file",
        "--body-file",
        "--method",
    ];
    let taken = take(&words[1..], &[&WRITES[..], &values[..]].concat());
    if taken.unknown {
        walk.doubt_all();
    }
    taken
        .values(&WRITES)
        .filter(|file| file.as_deref() != Some("-"))
        .for_each(|file| walk.touch(Aspect::Writes, file, state));
    taken.values(&["-i", "--input-file"]).for_each(|file| {
        walk.touch(Aspect::Reads, file, state);
        walk.doubt(Aspect::Network);
    });
    taken.values(&["--post-file", "--body-file"]).for_each(|file| walk.touch(Aspect::Reads, file, state));
    taken.operands.iter().for_each(|url| talk_to(walk, url));
    if taken.has(&["-O", "--output-document", "--spider"]) {
        return;
    }
    let directory = taken.values(&["-P", "--directory-prefix"]).last().cloned().unwrap_or_else(|| Some(".".to_owned()));
    walk.touch_to(Aspect::Writes, &directory, Depth::All, state);
}

/// `ssh`: what runs there may be here.
pub(super) fn ssh(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, _: &State<'_>) {
    let values = [
        "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-p", "-Q", "-R", "-S",
        "-W", "-w", "-B",
    ];
    let taken = take(&words[1..], &values);
    match taken.operands.first() {
        Some(Some(host)) => {
            let host =
                host_of_url(host).unwrap_or_else(|| host.rsplit('@').next().unwrap_or(host).to_ascii_lowercase());
            walk.finder.talk(host);
        }
        _ => walk.doubt(Aspect::Network),
    }
    walk.doubt_all();
}

/// `scp` and `rsync`: from here to there, from there to here, or here.
pub(super) fn copies(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let values = [
        "-P",
        "-i",
        "-F",
        "-c",
        "-l",
        "-o",
        "-S",
        "-J",
        "-e",
        "--rsh",
        "-f",
        "--filter",
        "--exclude",
        "--include",
        "--exclude-from",
        "--include-from",
        "--files-from",
        "-T",
        "--temp-dir",
        "--log-file",
        "--backup-dir",
        "--suffix",
        "--compare-dest",
        "--link-dest",
        "--partial-dir",
        "--write-batch",
        "--rsync-path",
        "-B",
        "-M",
        "--remote-option",
        "--bwlimit",
        "--port",
        "--password-file",
    ];
    let taken = take(&words[1..], &values);
    let writes = ["--log-file", "--backup-dir", "--partial-dir", "--write-batch", "--temp-dir"];
    taken.values(&writes).for_each(|file| walk.touch_to(Aspect::Writes, file, Depth::All, state));
    if taken.unknown || taken.has(&["-b", "--backup", "-o", "-S", "-F", "--read-batch"]) {
        walk.doubt(Aspect::Writes);
    }
    let Some((target, sources)) = taken.operands.split_last() else { return };
    let removes =
        taken.has(&["--delete", "--delete-before", "--delete-after", "--delete-during", "--delete-excluded", "--del"]);
    for (word, aspect) in sources.iter().map(|word| (word, Aspect::Reads)).chain([(target, Aspect::Writes)]) {
        match word.as_deref().and_then(host_of_copy) {
            Some(host) => walk.finder.talk(host),
            None => walk.touch_to(aspect, word, Depth::All, state),
        }
    }
    if removes && target.as_deref().and_then(host_of_copy).is_none() {
        walk.touch_to(Aspect::Deletes, target, Depth::All, state);
    }
    if taken.has(&["--remove-source-files"]) {
        sources.iter().for_each(|file| walk.touch_to(Aspect::Deletes, file, Depth::All, state));
    }
    // Links may come along.
    target.iter().filter_map(|file| state.path(file)).for_each(|path| walk.link(path));
}

/// `ping`, `dig`, `nc`: whoever is named first.
pub(super) fn asks(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, _: &State<'_>) {
    let taken = take(&words[1..], &["-c", "-i", "-w", "-W", "-p", "-s", "-t", "-q", "-x", "-X", "-o"]);
    let mut hosts = taken.operands.iter().filter(|word| word.as_deref().is_none_or(|word| !word.starts_with('+')));
    match hosts.next() {
        Some(Some(host)) => {
            let host = host.trim_start_matches('@').to_ascii_lowercase();
            walk.finder.talk(host);
        }
        _ => walk.doubt(Aspect::Network),
    }
    let name = words[0].as_deref().unwrap_or_default();
    if name.ends_with("telnet") || (name.ends_with("nc") && taken.has(&["-o"])) {
        walk.doubt_all();
    }
}

/// Programs that may do anything, but surely talk to somebody: told by their names.
pub(super) fn named(walk: &mut Walk<'_, '_>, name: &str, words: &[Field]) {
    const ALWAYS: [&str; 22] = [
        "gh",
        "glab",
        "aws",
        "gcloud",
        "az",
        "kubectl",
        "helm",
        "terraform",
        "heroku",
        "vercel",
        "fly",
        "apt",
        "apt-get",
        "yum",
        "dnf",
        "apk",
        "pacman",
        "brew",
        "ftp",
        "sftp",
        "http",
        "npx",
    ];
    const PACKAGES: [&str; 18] = [
        "install", "i", "ci", "add", "update", "upgrade", "publish", "fetch", "get", "download", "login", "push",
        "pull", "search", "audit", "outdated", "sync", "build",
    ];
    const MANAGERS: [&str; 15] = [
        "npm", "yarn", "pnpm", "bun", "pip", "pip3", "pipx", "uv", "poetry", "cargo", "go", "gem", "bundle", "docker",
        "podman",
    ];
    let talks = words[1..].iter().flatten().any(|word| PACKAGES.contains(&word.as_str()));
    if ALWAYS.contains(&name) || (MANAGERS.contains(&name) && talks) {
        walk.finder.talk(name.to_owned());
    }
}
