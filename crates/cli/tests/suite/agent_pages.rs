//! `docs/agents/*.md`: what they say in tables is what the program does. Run with UPDATE_DOCS=1 to write the tables anew.

use std::path::{Path, PathBuf};

use hookwright_bridge::install::{Caller, Scope, Target, installed, patience, to_confirm};
use hookwright_bridge::{Closing, FailClosed, Host, HostEvent, OnTimeout, lost};
use hookwright_hooks::{EventKind, Power};
use hookwright_settings::World;
use hookwright_testkit::fs;

fn page(host: Host) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents").join(format!("{host}.md"))
}

#[test]
fn pages_about_agents_are_in_step() {
    for host in Host::all() {
        let file = page(host);
        let mut text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        for (name, table) in [("facts", facts(host)), ("events", events(host)), ("entry", entry(host))] {
            let (start, end) = (format!("<!-- {name}: generated -->\n"), format!("<!-- {name}: end -->"));
            let from = text.find(&start).unwrap_or_else(|| panic!("{host} has no {name}")) + start.len();
            let to = text.find(&end).unwrap();
            if std::env::var_os("UPDATE_DOCS").is_some() {
                text.replace_range(from..to, &table);
                std::fs::write(&file, &text).unwrap();
            } else {
                assert_eq!(
                    &text[from..to],
                    table,
                    "{host}: UPDATE_DOCS=1 cargo nextest run -p hookwright pages_about_agents"
                );
            }
        }
        assert!(text.contains("## Measured"), "{host} does not say what was measured");
        assert!(text.contains(&format!("hookwright agents install {host}")), "{host} does not say how to install");
    }
}

/// Every page is in the index, and the index leads nowhere else.
#[test]
fn every_agent_has_its_page() {
    let folder = page(Host::Codex).parent().unwrap().to_owned();
    let index = fs::read_to_string(folder.join("README.md")).unwrap();
    for host in Host::all() {
        assert!(index.contains(&format!("[{}]({host}.md)", host.title())), "{host}");
    }
    let pages = std::fs::read_dir(folder).unwrap().count();
    assert_eq!(pages, Host::all().count() + 1);
}

fn target(host: Host, scope: Scope) -> Target {
    let world = World::new(vec![("HOME".into(), "~".into())], "/".into());
    Target::candidates(host, scope, &world, Path::new("")).remove(0)
}

fn facts(host: Host) -> String {
    let info = host.info();
    let path = |scope| format!("`{}`", target(host, scope).file.display().to_string().trim_start_matches('/'));
    let closed = match info.fail_closed {
        FailClosed::None => "none: a hook that fails lets the call run".to_owned(),
        FailClosed::Key(key, Closing::True) => format!("`\"{key}\": true`, set on every entry that can refuse"),
        FailClosed::Key(key, Closing::Word(word)) => {
            format!("`\"{key}\": \"{word}\"`, set on every entry that can refuse")
        }
        FailClosed::ButTimeouts => "closed as it is, but for time-outs".to_owned(),
        FailClosed::Always => "always closed".to_owned(),
    };
    let on_timeout = match info.on_timeout {
        OnTimeout::Opens => "lets the call run; the bridge answers before that",
        OnTimeout::Closes => "refuses the call",
        OnTimeout::Waits => "waits; the plugin itself ends it and refuses",
    };
    let reads: Vec<&str> = info.reads.iter().map(|other| other.title()).collect();
    let confirm = |scope| to_confirm(host, scope).unwrap_or("nothing").to_owned();
    let rows = [
        ("program", format!("`{}`", info.program)),
        ("known in version", info.known_version.to_owned()),
        ("the user's entries", path(Scope::User)),
        ("a project's entries", path(Scope::Project)),
        ("to confirm there, for the user's", confirm(Scope::User)),
        ("to confirm there, for a project's", confirm(Scope::Project)),
        ("when a hook's time is up, it", on_timeout.to_owned()),
        ("its own switch for failures", closed),
        ("reads other agents' files", if reads.is_empty() { "none".to_owned() } else { reads.join(", ") }),
    ];
    let rows: Vec<String> = rows.iter().map(|(name, value)| format!("| {name} | {value} |\n")).collect();
    format!("| | |\n|---|---|\n{}", rows.concat())
}

fn power(power: Power) -> &'static str {
    match power {
        Power::Context => "tell the model something",
        Power::Deny => "say no",
        Power::Ask => "have the user decide",
        Power::Stop => "stop the agent",
        Power::RewriteInput => "change arguments",
        Power::RedactInput => "keep arguments out of the history",
        Power::TailCall => "call another tool",
        Power::RewriteRequest => "change the request",
        Power::AnswerForModel => "answer for the model",
        Power::ReplaceResponse => "replace the answer",
        Power::SelectTools => "choose tools",
        Power::ClearContext => "empty the model's memory",
    }
}

fn events(host: Host) -> String {
    let mut text = "| our event | there | a hook can | lost |\n|---|---|---|---|\n".to_owned();
    for kind in EventKind::all() {
        let rows: Vec<&HostEvent> = host.events_for(kind).filter(|row| row.wired).collect();
        if rows.is_empty() {
            text += &format!("| {kind} | – | – | these hooks never run |\n");
            continue;
        }
        let names: Vec<String> = rows.iter().map(|row| format!("`{}`", row.name)).collect();
        let can: Vec<&str> = kind
            .info()
            .powers
            .iter()
            .filter(|power| rows.iter().any(|row| row.can(**power)))
            .map(|one| power(*one))
            .collect();
        let can = if can.is_empty() { "watch".to_owned() } else { can.join(", ") };
        let gone: Vec<&str> = lost(kind, &rows).iter().map(|lost| lost.words).collect();
        let gone = if gone.is_empty() { "nothing".to_owned() } else { gone.join("; ") };
        text += &format!("| {kind} | {} | {can} | {gone} |\n", names.join(", "));
    }
    text
}

/// What `agents install` writes for the user before a tool runs.
fn entry(host: Host) -> String {
    let target = target(host, Scope::User);
    let text = installed(&target, "", &Caller::At("/usr/local/bin/hookwright".to_owned())).unwrap();
    if host == Host::Opencode {
        let first: Vec<&str> = text.lines().take(2).collect();
        return format!("```js\n{}\n// …\n```\n", first.join("\n"));
    }
    let event = host.events_for(EventKind::BeforeTool).next().unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let section = ["hooks", "hookwright"].iter().find_map(|name| value.get(*name)).unwrap_or(&value);
    let seconds = patience(host, event).as_secs();
    format!("```json\n\"{}\": {:#}\n```\n\nIt waits for {seconds} s.\n", event.name, section[event.name])
}
