//! The names under which models and hooks know the tools of MCP servers: `mcp__server__tool`, with characters and
//! lengths that every provider accepts, unique, and the same in every session.

use std::collections::{HashMap, HashSet};

use hookwright_hooks::Source;
use hookwright_settings::McpServer;

/// The length limit of providers.
const MAX_TOOL_NAME_BYTES: usize = 64;
/// The length limit of a server's alias, which leaves enough for a shortened tool name with its fingerprint.
const MAX_SERVER_ALIAS_BYTES: usize = MAX_TOOL_NAME_BYTES - "mcp____".len() - 12;

/// The order in which servers get their aliases, so that a server of a project can't rename the tools of a server that
/// guards know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AliasPriority {
    Own,
    Extension,
    Project,
}

impl From<&Source> for AliasPriority {
    fn from(origin: &Source) -> Self {
        match origin {
            Source::Project => AliasPriority::Project,
            Source::Extension(_) => AliasPriority::Extension,
            Source::User | Source::System | Source::Runtime => AliasPriority::Own,
        }
    }
}

/// Returns each server's alias in tool names: its name, if that is valid there and no server with a higher priority has
/// it.
pub(super) fn assign_aliases<'a>(
    servers: impl IntoIterator<Item = (AliasPriority, &'a str)>,
) -> HashMap<String, String> {
    let mut servers: Vec<(AliasPriority, &str)> = servers.into_iter().collect();
    servers.sort_by_key(|(rank, name)| (*rank, server_alias(name) != *name));
    let mut taken: HashSet<String> = HashSet::new();
    let mut aliases = HashMap::new();
    for (_, name) in servers {
        let simple = server_alias(name);
        let alias = match taken.insert(simple.clone()) {
            true => simple,
            false => with_fingerprint(&simple, name, MAX_SERVER_ALIAS_BYTES),
        };
        aliases.insert(name.to_owned(), alias);
    }
    aliases
}

/// Returns the full names of a server's tools, in their order, in a session with all these servers.
pub fn session_names(servers: &[McpServer], server: &str, tools: &[&str]) -> Vec<String> {
    tool_names(aliases(servers).get(server).map_or(server, String::as_str), tools)
}

/// Returns the alias of each of these servers.
pub fn aliases(servers: &[McpServer]) -> HashMap<String, String> {
    assign_aliases(servers.iter().map(|one| (AliasPriority::from(&one.origin), one.name.as_str())))
}

/// Returns the full names of a server's tools, in their order.
pub(super) fn tool_names(alias: &str, tools: &[&str]) -> Vec<String> {
    let room = MAX_TOOL_NAME_BYTES - "mcp____".len() - alias.len().min(MAX_SERVER_ALIAS_BYTES);
    let fits = |tool: &str| sanitize(tool) == tool && (1..=room).contains(&tool.len());
    let mut taken: HashSet<String> = tools.iter().filter(|tool| fits(tool)).map(|tool| (*tool).to_owned()).collect();
    let mut own = |tool: &str| {
        let simple = sanitize(tool);
        let is_free = fits(tool) || ((1..=room).contains(&simple.len()) && taken.insert(simple.clone()));
        if is_free { simple } else { with_fingerprint(&simple, tool, room) }
    };
    tools.iter().map(|tool| format!("mcp__{alias}__{}", own(tool))).collect()
}

/// Replaces all characters but ASCII letters, digits, `_` and `-`.
fn sanitize(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' }).collect()
}

/// Returns a server's name as part of a tool name. It contains no `__`, because the first `__` ends it.
fn server_alias(name: &str) -> String {
    let mut simple = sanitize(name);
    while simple.contains("__") {
        simple = simple.replace("__", "_");
    }
    let simple = simple.trim_matches('_');
    match simple.len() {
        0 => with_fingerprint("server", name, MAX_SERVER_ALIAS_BYTES),
        1..=MAX_SERVER_ALIAS_BYTES => simple.to_owned(),
        _ => with_fingerprint(simple, name, MAX_SERVER_ALIAS_BYTES),
    }
}

/// Adds a fingerprint of the original name, in the middle if the name must be shortened, because both ends say more
/// than the beginning alone.
fn with_fingerprint(simple: &str, original: &str, longest: usize) -> String {
    let mark = format!("_{:08x}", fingerprint(original.as_bytes()) as u32);
    if simple.len() + mark.len() <= longest {
        return format!("{simple}{mark}");
    }
    let room = longest - mark.len() - 1;
    let (front, back) = (room.div_ceil(2), room / 2);
    // All characters are ASCII.
    let (front, back) = (&simple[..front], &simple[simple.len() - back..]);
    format!("{}{mark}_{}", front.trim_end_matches('_'), back.trim_start_matches('_'))
}

/// Returns the FNV-1a hash, which is the same in every version of this program. It only distinguishes names.
pub(super) fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_aliases<'a>(names: impl IntoIterator<Item = &'a str>) -> HashMap<String, String> {
        assign_aliases(names.into_iter().map(|name| (AliasPriority::Own, name)))
    }

    #[test]
    fn a_project_server_cannot_rename_other_tools() {
        let aliases = assign_aliases([
            (AliasPriority::Project, "s_v"),
            (AliasPriority::Own, "s.v"),
            (AliasPriority::Extension, "s v"),
        ]);
        assert_eq!(aliases["s.v"], "s_v");
        assert!(aliases["s_v"] != "s_v" && aliases["s v"] != "s_v" && aliases["s_v"] != aliases["s v"]);
    }

    #[test]
    fn plain_names_stay() {
        assert_eq!(
            tool_names("git", &["log", "push-all", "a__b"]),
            ["mcp__git__log", "mcp__git__push-all", "mcp__git__a__b"]
        );
        assert_eq!(own_aliases(["git", "my-server"])["my-server"], "my-server");
    }

    #[test]
    fn unusual_names_are_sanitized_and_stay_unique() {
        let names = tool_names("s", &["a.b", "a_b", "a:b", "", "ü"]);
        assert_eq!(names[1], "mcp__s__a_b");
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 5, "{names:?}");
        let aliases = own_aliases(["a b", "a_b", "a__b", "a_", "__", "ü"]);
        assert_eq!(aliases["a_b"], "a_b");
        assert_eq!(aliases.values().collect::<HashSet<_>>().len(), 6, "{aliases:?}");
        for alias in aliases.values() {
            assert!(!alias.contains("__") && !alias.ends_with('_') && !alias.is_empty(), "{alias}");
        }
    }

    #[test]
    fn long_names_are_shortened_in_the_middle_and_stay_unique() {
        let (one, other) = (format!("begin_{}_end", "x".repeat(190)), format!("begin_{}_end", "x".repeat(191)));
        let names = tool_names("server", &[&one, &other, &one]);
        assert_eq!(names[0].len(), 64, "{}", names[0]);
        assert!(names[0].starts_with("mcp__server__begin_") && names[0].ends_with("_end"));
        assert_ne!(names[0], names[1]);
        assert_eq!(names[0], names[2]);
        let aliases = own_aliases([one.as_str(), other.as_str()]);
        assert_ne!(aliases[&one], aliases[&other]);
        let server = "a-server-with-a-name-of-forty-characters";
        assert_eq!(own_aliases([server])[server], server);
        assert_eq!(tool_names(server, &["list_all_issues"])[0], format!("mcp__{server}__list_all_issues"));
        let of_long_server = tool_names(&aliases[&one], &["a", "b"]);
        assert!(of_long_server[0].len() <= 64 && of_long_server[0].ends_with("__a"));
    }

    proptest::proptest! {
        #[test]
        fn every_name_is_valid_for_providers(server in ".{0,80}", tools in proptest::collection::vec(".{0,120}", 0..6)) {
            let alias = own_aliases([server.as_str()])[&server].clone();
            let tools: HashSet<&str> = tools.iter().map(String::as_str).collect();
            let tools: Vec<&str> = tools.into_iter().collect();
            let names = tool_names(&alias, &tools);
            proptest::prop_assert_eq!(names.iter().collect::<HashSet<_>>().len(), tools.len());
            for name in names {
                proptest::prop_assert!(name.len() <= MAX_TOOL_NAME_BYTES && name.starts_with("mcp__"));
                proptest::prop_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'));
                let split = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
                proptest::prop_assert_eq!(split.map(|(server, _)| server), Some(alias.as_str()));
            }
        }
    }
}
