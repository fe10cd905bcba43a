//! Checks that the tables in `docs/agents/*.md` match the program. Run with UPDATE_DOCS=1 to rewrite the tables.

use std::path::{Path, PathBuf};

use hookwright_bridge::install::{
    EntryProgram, InstallScope, InstallTarget, confirmation_hint, entry_timeout, with_entries,
};
use hookwright_bridge::{FailClosedSupport, FailClosedValue, Host, HostEventInfo, TimeoutPolicy, missing_capabilities};
use hookwright_hooks::{EventKind, HookCapability};
use hookwright_settings::ProcessEnv;
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

/// Every page is in the index, and the index links nothing else.
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

fn target(host: Host, scope: InstallScope) -> InstallTarget {
    let world = ProcessEnv::new(vec![("HOME".into(), "~".into())], "/".into());
    InstallTarget::candidates(host, scope, &world, Path::new("")).remove(0)
}

fn facts(host: Host) -> String {
    let info = host.info();
    let path = |scope| format!("`{}`", target(host, scope).file.display().to_string().trim_start_matches('/'));
    let closed = match info.fail_closed {
        FailClosedSupport::None => "none: a hook that fails lets the call run".to_owned(),
        FailClosedSupport::Key(key, FailClosedValue::True) => {
            format!("`\"{key}\": true`, set on every entry that can refuse")
        }
        FailClosedSupport::Key(key, FailClosedValue::Text(word)) => {
            format!("`\"{key}\": \"{word}\"`, set on every entry that can refuse")
        }
        FailClosedSupport::ExceptTimeouts => "closed as it is, but for time-outs".to_owned(),
        FailClosedSupport::Always => "always closed".to_owned(),
    };
    let on_timeout = match info.on_timeout {
        TimeoutPolicy::FailsOpen => "lets the call run; the bridge answers before that",
        TimeoutPolicy::FailsClosed => "refuses the call",
        TimeoutPolicy::Waits => "waits; the plugin itself ends it and refuses",
    };
    let reads: Vec<&str> = info.reads_settings_of.iter().map(|other| other.title()).collect();
    let confirm = |scope| confirmation_hint(host, scope).unwrap_or("nothing").to_owned();
    let rows = [
        ("program", format!("`{}`", info.program)),
        ("known in version", info.known_version.to_owned()),
        ("the user's entries", path(InstallScope::User)),
        ("a project's entries", path(InstallScope::Project)),
        ("to confirm there, for the user's", confirm(InstallScope::User)),
        ("to confirm there, for a project's", confirm(InstallScope::Project)),
        ("when a hook's time is up, it", on_timeout.to_owned()),
        ("its own switch for failures", closed),
        ("reads other agents' files", if reads.is_empty() { "none".to_owned() } else { reads.join(", ") }),
    ];
    let rows: Vec<String> = rows.iter().map(|(name, value)| format!("| {name} | {value} |\n")).collect();
    format!("| | |\n|---|---|\n{}", rows.concat())
}

fn power(power: HookCapability) -> &'static str {
    match power {
        HookCapability::Context => "tell the model something",
        HookCapability::Deny => "say no",
        HookCapability::Ask => "have the user decide",
        HookCapability::Confine => "have the call run confined",
        HookCapability::Approve => "approve in the user's place (rules with `only`)",
        HookCapability::Stop => "stop the agent",
        HookCapability::RewriteInput => "change arguments",
        HookCapability::RedactInput => "keep arguments out of the history",
        HookCapability::TailCall => "call another tool",
        HookCapability::RewriteRequest => "change the request",
        HookCapability::AnswerForModel => "answer for the model",
        HookCapability::ReplaceResponse => "replace the answer",
        HookCapability::SelectTools => "choose tools",
        HookCapability::ClearContext => "empty the model's memory",
    }
}

fn events(host: Host) -> String {
    let mut text = "| our event | there | a hook can | lost |\n|---|---|---|---|\n".to_owned();
    for kind in EventKind::all() {
        let rows: Vec<&HostEventInfo> = host.events_for(kind).filter(|row| row.wired).collect();
        if rows.is_empty() {
            text += &format!("| {kind} | – | – | these hooks never run |\n");
            continue;
        }
        let names: Vec<String> = rows.iter().map(|row| format!("`{}`", row.name)).collect();
        let can: Vec<&str> = kind
            .info()
            .capabilities
            .iter()
            .filter(|power| rows.iter().any(|row| row.can(**power)))
            .map(|one| power(*one))
            .collect();
        let can = if can.is_empty() { "watch".to_owned() } else { can.join(", ") };
        let gone: Vec<&str> = missing_capabilities(kind, &rows).iter().map(|lost| lost.consequence).collect();
        let gone = if gone.is_empty() { "nothing".to_owned() } else { gone.join("; ") };
        text += &format!("| {kind} | {} | {can} | {gone} |\n", names.join(", "));
    }
    text
}

/// Returns what `agents install` writes in the user's scope for the event before a tool runs.
fn entry(host: Host) -> String {
    let target = target(host, InstallScope::User);
    let text = with_entries(&target, "", &EntryProgram::Absolute("/usr/local/bin/hookwright".to_owned())).unwrap();
    if host == Host::Opencode {
        let first: Vec<&str> = text.lines().take(2).collect();
        return format!("```js\n{}\n// …\n```\n", first.join("\n"));
    }
    let event = host.events_for(EventKind::BeforeTool).next().unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let section = ["hooks", "hookwright"].iter().find_map(|name| value.get(*name)).unwrap_or(&value);
    let seconds = entry_timeout(host, event).as_secs();
    format!("```json\n\"{}\": {:#}\n```\n\nIt waits for {seconds} s.\n", event.name, section[event.name])
}
