//! `ssh`: whom it talks to, and settings that run programs here.

use crate::programs::call::Call;
use crate::programs::spec::Aspect;
use crate::value::Argument;

/// Settings that touch nothing on this machine and lead nowhere else.
const HARMLESS: [&str; 21] = [
    "addressfamily",
    "batchmode",
    "bindaddress",
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
    let host = call.parsed.operands.first().and_then(Argument::text).and_then(super::network::bare_host);
    if host.is_some_and(|host| host == "localhost" || host.starts_with("127.") || host.starts_with("::")) {
        return call.interpreter.unsure_all("ssh runs the command on this machine");
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
