//! `ssh`: whom it talks to, and settings that run programs here.

use std::net::IpAddr;

use crate::programs::call::Call;
use crate::programs::spec::Aspect;
use crate::value::Argument;

/// Settings that touch nothing on this machine and lead nowhere else.
const HARMLESS: [&str; 20] = [
    "addressfamily",
    "batchmode",
    "checkhostip",
    "ciphers",
    "compression",
    "connectionattempts",
    "connecttimeout",
    "forwardagent",
    "hostkeyalgorithms",
    "identitiesonly",
    "kexalgorithms",
    "loglevel",
    "macs",
    "numberofpasswordprompts",
    "passwordauthentication",
    "port",
    "preferredauthentications",
    "serveraliveinterval",
    "serveralivecountmax",
    "stricthostkeychecking",
];

pub(super) fn run(call: &mut Call<'_, '_>) {
    let settings: Vec<String> =
        call.parsed.values("-o").map(|value| value.text().unwrap_or("?").to_ascii_lowercase()).collect();
    for setting in settings {
        let name = setting.split(['=', ' ']).next().unwrap_or_default();
        if !HARMLESS.contains(&name) {
            call.interpreter.unsure_all(format!("ssh -o {name} may run a program or lead elsewhere"));
        }
    }
    call.by_file();
    let host = call.parsed.operands.first().and_then(Argument::text).and_then(|host| {
        if host.contains("://") { super::network::host_of_url(host) } else { super::network::bare_host(host) }
    });
    if host.is_none_or(|host| is_this_machine(&host)) && !call.parsed.operands.is_empty() {
        return call.interpreter.unsure_all("ssh may run the command on this machine");
    }
    // What runs on the other machine touches nothing here, but it is a command for those who judge commands.
    let remote = call.parsed.operands.get(1..).unwrap_or_default();
    let texts: Option<Vec<&str>> = remote.iter().map(Argument::text).collect();
    match texts {
        Some(texts) if texts.is_empty() => {}
        Some(texts) => call.interpreter.tell_commands(&texts.join(" ")),
        None => call.interpreter.unsure(Aspect::Commands, "what runs on the other machine is only known then"),
    }
}

/// Whether a host is this machine, as far as its name says so.
fn is_this_machine(host: &str) -> bool {
    const NAMES: [&str; 4] = ["localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"];
    let host = host.trim_end_matches('.');
    let is_own = |address: IpAddr| address.to_canonical().is_loopback() || address.is_unspecified();
    NAMES.contains(&host) || host.ends_with(".localhost") || host.parse().is_ok_and(is_own)
}
