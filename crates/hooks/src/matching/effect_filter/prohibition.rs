//! The confinement that makes it impossible for a command to have the effects that a `when` matches.
//!
//! The kernel knows files, the network, users and processes. It does not know which programs may run or what a git
//! repository is, so a `when` on those cannot be enforced.

use super::{EffectFilter, FlowPattern, PathGlob, StarPattern};
use crate::confinement::{ConfinementNetwork, ConfinementProfile, UnenforceableLine};

/// Whether a profile forbids more than the list that it was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precision {
    Exact,
    ForbidsMore,
}

/// Services that a command reaches through the network or a socket, and in no other way.
const REMOTE_SERVICES: [&str; 24] = [
    "auth0",
    "aws",
    "azure",
    "charts",
    "cloudflare",
    "crates",
    "digitalocean",
    "docker",
    "fly",
    "gcp",
    "github",
    "gitlab",
    "goproxy",
    "hetzner",
    "kubernetes",
    "mongodb",
    "mysql",
    "npm",
    "object-storage",
    "postgresql",
    "pypi",
    "redis",
    "rubygems",
    "systemd",
];

type ForbidList = fn(&EffectFilter, &mut ConfinementProfile) -> Result<Precision, UnenforceableLine>;

const LISTS: [ForbidList; 10] = [
    forbid_writes,
    forbid_deletes,
    forbid_reads,
    forbid_network,
    forbid_services,
    forbid_flows,
    forbid_commands,
    forbid_repository,
    // A confined command has no way to another user, and sees no process outside.
    |_, _| Ok(Precision::Exact),
    forbid_all,
];

impl EffectFilter {
    /// The profile of a command whose effects are in doubt: nothing that the filter matches is possible, and perhaps
    /// more is forbidden.
    ///
    /// # Errors
    /// The first list that the kernel cannot enforce.
    pub(crate) fn confinement(&self) -> Result<ConfinementProfile, UnenforceableLine> {
        // A socket leads to services that would do what the command may not.
        let mut profile = ConfinementProfile { unix_sockets: false, ..ConfinementProfile::open() };
        LISTS.iter().try_for_each(|forbid| forbid(self, &mut profile).map(drop))?;
        Ok(profile)
    }

    /// The profile that forbids those lists of the filter which the kernel can enforce exactly; `None` if there are
    /// none. It never stands in the way of something that the filter does not match.
    pub(crate) fn exact_confinement(&self) -> Option<ConfinementProfile> {
        let mut profile = ConfinementProfile::open();
        for forbid in LISTS {
            let mut next = profile.clone();
            if forbid(self, &mut next) == Ok(Precision::Exact) {
                profile = next;
            }
        }
        (profile != ConfinementProfile::open()).then_some(profile)
    }
}

fn forbid_writes(filter: &EffectFilter, profile: &mut ConfinementProfile) -> Result<Precision, UnenforceableLine> {
    let Some(globs) = filter.0.writes.as_deref().filter(|globs| !globs.is_empty()) else {
        return Ok(Precision::Exact);
    };
    let (exceptions, forbidden) = split(globs);
    require_fixed_paths("writes", if forbidden.is_empty() { &exceptions } else { &forbidden })?;
    if forbidden.is_empty() {
        profile.writes = exceptions;
        return Ok(Precision::Exact);
    }
    profile.writes.extend(forbidden.into_iter().map(|text| format!("!{text}")));
    Ok(if exceptions.is_empty() { Precision::Exact } else { Precision::ForbidsMore })
}

fn forbid_deletes(filter: &EffectFilter, profile: &mut ConfinementProfile) -> Result<Precision, UnenforceableLine> {
    let Some(globs) = filter.0.deletes.as_deref().filter(|globs| !globs.is_empty()) else {
        return Ok(Precision::Exact);
    };
    let (exceptions, forbidden) = split(globs);
    require_fixed_paths("deletes", if forbidden.is_empty() { &exceptions } else { &forbidden })?;
    if forbidden.is_empty() {
        profile.deletes = Some(exceptions);
        return Ok(Precision::Exact);
    }
    // What can't be changed can't be removed.
    profile.writes.extend(forbidden.into_iter().map(|text| format!("!{text}")));
    Ok(Precision::ForbidsMore)
}

fn forbid_reads(filter: &EffectFilter, profile: &mut ConfinementProfile) -> Result<Precision, UnenforceableLine> {
    let Some(globs) = filter.0.reads.as_deref().filter(|globs| !globs.is_empty()) else {
        return Ok(Precision::Exact);
    };
    let (exceptions, forbidden) = split(globs);
    if forbidden.is_empty() {
        let line = exceptions.iter().map(|text| format!("!{text}")).collect::<Vec<_>>().join(", ");
        return Err(unenforceable("reads", &line, "files can be hidden, but not everything but some files"));
    }
    profile.no_reads.extend(forbidden);
    profile.no_reads.extend(exceptions.into_iter().map(|text| format!("!{text}")));
    Ok(Precision::Exact)
}

fn forbid_network(filter: &EffectFilter, profile: &mut ConfinementProfile) -> Result<Precision, UnenforceableLine> {
    let Some(patterns) = filter.0.network.as_deref().filter(|patterns| !patterns.is_empty()) else {
        return Ok(Precision::Exact);
    };
    let (exceptions, forbidden): (Vec<&StarPattern>, Vec<&StarPattern>) =
        patterns.iter().partition(|pattern| pattern.is_exception);
    if let Some(host) = forbidden.first()
        && !forbidden.iter().any(|pattern| pattern.text == "*")
    {
        return Err(unenforceable("network", &host.text, "only a list of allowed hosts can be enforced"));
    }
    let is_local = |pattern: &&StarPattern| {
        let name = pattern.text.trim_end_matches(":*");
        matches!(name, "localhost" | "127.0.0.1" | "::1" | "[::1]")
    };
    let hosts: Vec<String> =
        exceptions.iter().filter(|pattern| !is_local(pattern)).map(|pattern| pattern.text.clone()).collect();
    profile.network = if hosts.is_empty() { ConfinementNetwork::Loopback } else { ConfinementNetwork::Hosts(hosts) };
    Ok(if exceptions.is_empty() { Precision::Exact } else { Precision::ForbidsMore })
}

fn forbid_services(filter: &EffectFilter, profile: &mut ConfinementProfile) -> Result<Precision, UnenforceableLine> {
    let Some(patterns) = filter.0.services.as_deref().filter(|patterns| !patterns.is_empty()) else {
        return Ok(Precision::Exact);
    };
    let is_remote = |pattern: &&StarPattern| {
        let service = pattern.text.split(':').next().unwrap_or_default();
        REMOTE_SERVICES.contains(&service)
    };
    let forbidden = patterns.iter().filter(|pattern| !pattern.is_exception);
    let is_enforceable = forbidden.clone().count() > 0 && forbidden.clone().all(|pattern| is_remote(&pattern));
    if !is_enforceable {
        let texts: Vec<&str> = forbidden.map(|pattern| pattern.text.as_str()).collect();
        let reason = "only services that are reached through the network or a socket can be shut off";
        return Err(unenforceable("services", &texts.join(", "), reason));
    }
    profile.network = ConfinementNetwork::Loopback;
    profile.unix_sockets = false;
    Ok(Precision::ForbidsMore)
}

fn forbid_flows(filter: &EffectFilter, profile: &mut ConfinementProfile) -> Result<Precision, UnenforceableLine> {
    let Some(flows) = filter.0.flows.as_deref().filter(|flows| !flows.is_empty()) else {
        return Ok(Precision::Exact);
    };
    let is_network = |pattern: &StarPattern| !pattern.is_exception && pattern.text.split(':').next() == Some("network");
    let is_enforceable = |flow: &FlowPattern| !flow.to.is_empty() && flow.to.iter().all(is_network);
    if !flows.iter().all(is_enforceable) {
        return Err(unenforceable("flows", "to", "the kernel can keep data from the network, and from nothing else"));
    }
    profile.network = ConfinementNetwork::Loopback;
    profile.unix_sockets = false;
    Ok(Precision::ForbidsMore)
}

fn forbid_commands(filter: &EffectFilter, _: &mut ConfinementProfile) -> Result<Precision, UnenforceableLine> {
    match filter.0.commands.as_deref() {
        None | Some([]) => Ok(Precision::Exact),
        Some([first, ..]) => {
            Err(unenforceable("commands", &first.leading_words.join(" "), "programs are not told apart by the kernel"))
        }
    }
}

fn forbid_repository(filter: &EffectFilter, _: &mut ConfinementProfile) -> Result<Precision, UnenforceableLine> {
    match filter.0.repository.as_deref() {
        None | Some([]) => Ok(Precision::Exact),
        Some([first, ..]) => Err(unenforceable("repository", &first.text, "a repository is files like others")),
    }
}

/// A filter that is invalid matches every call.
fn forbid_all(filter: &EffectFilter, _: &mut ConfinementProfile) -> Result<Precision, UnenforceableLine> {
    match filter.is_invalid() {
        true => Err(unenforceable("when", filter.text(), "it is invalid")),
        false => Ok(Precision::Exact),
    }
}

/// Checks that each pattern is one path or a folder with all that is in it.
fn require_fixed_paths(list: &str, texts: &[String]) -> Result<(), UnenforceableLine> {
    let is_fixed = |text: &&String| {
        let text = text.strip_suffix("/**").unwrap_or(text);
        text == "**" || !text.contains(['*', '?', '[', '{', '\\'])
    };
    match texts.iter().find(|text| !is_fixed(text)) {
        Some(text) => Err(unenforceable(list, text, "files that do not exist yet could match it; name single paths")),
        None => Ok(()),
    }
}

/// The exceptions, without their sign, and the other globs.
fn split(globs: &[PathGlob]) -> (Vec<String>, Vec<String>) {
    let (exceptions, others): (Vec<&PathGlob>, Vec<&PathGlob>) = globs.iter().partition(|glob| glob.is_exception);
    let texts = |globs: Vec<&PathGlob>| globs.into_iter().map(|glob| glob.text.clone()).collect();
    (texts(exceptions), texts(others))
}

fn unenforceable(list: &str, text: &str, reason: &str) -> UnenforceableLine {
    UnenforceableLine { line: format!("{list}: {text}"), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confinement::ALL_PATHS;

    fn filter(when: &str) -> EffectFilter {
        let text = format!(
            r#"{{"hooks": {{"BeforeTool": [{{"hooks": [{{"type": "rule", "decision": "deny", "when": {when}}}]}}]}}}}"#
        );
        let file = std::path::Path::new("hooks.json");
        let layer = crate::parse_layer(&crate::Layer::new(crate::Source::User, file, &text));
        layer.hooks[0].when[0].clone()
    }

    fn profile(when: &str) -> ConfinementProfile {
        filter(when).confinement().unwrap()
    }

    #[test]
    fn a_filter_on_files_becomes_a_profile() {
        assert_eq!(profile(r#"{"writes": ["!**", "!~/.cache/**"]}"#).writes, ["**", "~/.cache/**"]);
        assert_eq!(profile(r#"{"writes": [".env", "src/**"]}"#).writes, [ALL_PATHS, "!.env", "!src/**"]);
        assert_eq!(profile(r#"{"deletes": ["!**"]}"#).deletes, Some(vec!["**".to_owned()]));
        assert_eq!(profile(r#"{"deletes": ["docs/**"]}"#).writes, [ALL_PATHS, "!docs/**"]);
        assert_eq!(
            profile(r#"{"reads": ["**/.env*", "!**/.env.example"]}"#).no_reads,
            ["**/.env*", "!**/.env.example"]
        );
        assert!(!profile(r#"{"writes": ["x"]}"#).unix_sockets);
    }

    #[test]
    fn a_filter_on_the_network_becomes_a_profile() {
        let network = |when: &str| profile(when).network;
        assert_eq!(network(r#"{"network": ["*"]}"#), ConfinementNetwork::Loopback);
        assert_eq!(network(r#"{"network": ["!localhost"]}"#), ConfinementNetwork::Loopback);
        let hosts = ConfinementNetwork::Hosts(vec!["*.example.com".to_owned()]);
        assert_eq!(network(r#"{"network": ["*", "!*.example.com"]}"#), hosts);
        assert_eq!(network(r#"{"services": ["kubernetes:delete"]}"#), ConfinementNetwork::Loopback);
        let flow = r#"{"flows": [{"from": ["**/.env"], "to": "network"}]}"#;
        assert_eq!(network(flow), ConfinementNetwork::Loopback);
        assert_eq!(profile(r#"{"privileged": true, "processes": ["*"]}"#).network, ConfinementNetwork::All);
    }

    #[test]
    fn what_the_kernel_does_not_know_is_refused() {
        for when in [
            r#"{"commands": ["rm"]}"#,
            r#"{"repository": ["discard"]}"#,
            r#"{"services": ["*:write"]}"#,
            r#"{"network": ["evil.example"]}"#,
            r#"{"reads": ["!**"]}"#,
            r#"{"writes": ["**/.env"]}"#,
            r#"{"writes": ["!src/*.rs"]}"#,
            r#"{"deletes": ["**/*.lock"]}"#,
            r#"{"flows": [{"from": ["network"], "to": ["program"]}]}"#,
            r#"{"wrong": []}"#,
        ] {
            assert!(filter(when).confinement().is_err(), "{when}");
        }
    }

    #[test]
    fn what_is_enforced_always_forbids_nothing_else() {
        let exact = |when: &str| filter(when).exact_confinement();
        assert_eq!(exact(r#"{"commands": ["rm"]}"#), None);
        assert_eq!(exact(r#"{"services": ["kubernetes:delete"]}"#), None);
        assert_eq!(exact(r#"{"deletes": ["docs/**"]}"#), None);
        assert_eq!(exact(r#"{"writes": ["**", "!src/**"]}"#), None);
        assert_eq!(exact(r#"{"writes": ["**/*.lock"], "reads": ["k"]}"#).unwrap().writes, [ALL_PATHS]);
        let both = exact(r#"{"writes": [".env"], "commands": ["rm"]}"#).unwrap();
        assert_eq!((both.writes, both.unix_sockets), (vec![ALL_PATHS.to_owned(), "!.env".to_owned()], true));
    }
}
