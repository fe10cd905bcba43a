//! The entries in Codex's `requirements.toml`, the administrator's file: one block between two comment lines, so that the
//! rest of the file stays as it is, byte for byte.

use hookwright_hooks::BridgeCall;
use hookwright_settings::edit::{EditError, json_splice};

use super::entry::{EntryProgram, entry_json, wired_events};
use super::settings_text::{BridgeEntry, HostWiring};
use super::target::InstallTarget;
use crate::host::Host;

const BLOCK_START: &str =
    "# written by hookwright agents install --machine: changes up to the end mark are lost when that is run again\n";
/// The line above the block where the file did not end with a line break.
const ADDED_LINE_BREAK: &str = "\n# hookwright added the line break before this line\n";
const BLOCK_END: &str = "# end of what hookwright agents install --machine wrote\n";

/// Returns the block of entries.
fn render_block(host: Host, caller: &EntryProgram) -> String {
    let mut text = BLOCK_START.to_owned();
    for event in wired_events(host) {
        let entry = entry_json(host, event, caller);
        text += &format!("[[hooks.{}]]\n[[hooks.{}.hooks]]\n", event.name, event.name);
        for (key, value) in entry.as_object().into_iter().flatten() {
            // A string of JSON is a string of TOML, too: the commands are printable ASCII.
            text += &format!("{key} = {value}\n");
        }
    }
    text + BLOCK_END
}

/// Splits a text into the part before the block, the block, and the part after it.
fn split_block(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.find(BLOCK_START)?;
    let end = start + text[start..].find(BLOCK_END)? + BLOCK_END.len();
    Some((&text[..start], &text[start..end], &text[end..]))
}

pub(super) fn read_wiring(host: Host, text: &str) -> HostWiring {
    let block = split_block(text).map(|(_, block, _)| block);
    let parsed = block.and_then(|block| toml::from_str::<toml::Table>(block).ok()).unwrap_or_default();
    let hooks = parsed.get("hooks").and_then(toml::Value::as_table);
    let command = |event: &str| {
        let entry = hooks?.get(event)?.get(0)?.get("hooks")?.get(0)?;
        BridgeCall::parse(entry.get("command")?.as_str()?).filter(|call| call.host == host.name())
    };
    let mut wiring = HostWiring::default();
    for event in wired_events(host) {
        match command(event.name) {
            Some(call) => wiring.entries.push(BridgeEntry::for_whole_file(event.name, call)),
            None => wiring.missing.push(event.name),
        }
    }
    let caller = wiring.program().map(EntryProgram::from_command);
    if let (Some(block), Some(caller)) = (block, caller)
        && block != render_block(host, &caller)
    {
        wiring.outdated = wiring.entries.iter().map(|found| found.event.clone()).collect();
    }
    wiring
}

/// Returns the text with the block; the same text if it is current.
pub(super) fn with_entries(target: &InstallTarget, old: &str, caller: &EntryProgram) -> Result<String, EditError> {
    let block = render_block(target.host, caller);
    if let Some((before, _, after)) = split_block(old) {
        return Ok(format!("{before}{block}{after}"));
    }
    let file = &target.file;
    let parsed: toml::Table = toml::from_str(old).map_err(|error| {
        json_splice::refusal(file, format!("this file is not valid TOML: {error}"), "correct it first")
    })?;
    let separator = if old.is_empty() || old.ends_with('\n') { "" } else { ADDED_LINE_BREAK };
    let text = format!("{old}{separator}{block}");
    // An inline table or a plain key `hooks` can't be extended.
    match toml::from_str::<toml::Table>(&text) {
        Ok(_) => Ok(text),
        Err(_) => {
            let what =
                if parsed.contains_key("hooks") { "its `hooks` can't be extended" } else { "it can't be extended" };
            Err(json_splice::refusal(file, what, "write `hooks` as `[[hooks.EVENT]]` tables first"))
        }
    }
}

/// Returns the text without the block, or `None` if nothing else is in it.
pub(super) fn without_entries(old: &str) -> Option<String> {
    let Some((before, _, after)) = split_block(old) else { return Some(old.to_owned()) };
    let text = format!("{}{after}", before.strip_suffix(ADDED_LINE_BREAK).unwrap_or(before));
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hookwright_settings::ProcessEnv;

    use super::super::target::InstallScope;
    use super::*;

    fn target() -> InstallTarget {
        let world = ProcessEnv::new(vec![("HOME".into(), "/home/u".into())], "/".into());
        InstallTarget::candidates(Host::Codex, InstallScope::Machine, &world, Path::new("/project")).remove(0)
    }

    #[test]
    fn a_block_is_added_and_removed_without_a_trace() {
        let caller = EntryProgram::Absolute("/usr/local/bin/hookwright".to_owned());
        for old in [
            "",
            "# mine\nallow_managed_hooks_only = true\n",
            "[features]\nhooks = true\r\n",
            "allow_remote_control = false",
        ] {
            let with = with_entries(&target(), old, &caller).unwrap();
            let value: toml::Table = toml::from_str(&with).unwrap();
            let entry = &value["hooks"]["PreToolUse"][0]["hooks"][0];
            assert_eq!(entry["timeout"].as_integer(), Some(600));
            assert!(entry["command"].as_str().unwrap().contains("bridge codex --event PreToolUse"));
            let wiring = read_wiring(Host::Codex, &with);
            assert!(wiring.is_complete(), "{wiring:?}");
            assert_eq!(with_entries(&target(), &with, &caller).unwrap(), with);
            assert_eq!(without_entries(&with).unwrap_or_default(), old);
        }
        assert!(with_entries(&target(), "hooks = {}\n", &caller).is_err());
        assert!(with_entries(&target(), "not toml", &caller).is_err());
    }
}
