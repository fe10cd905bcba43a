//! `ssh`: whom it talks to, and settings that run programs here.

use crate::programs::call::Call;

/// Settings that touch nothing on this machine and lead nowhere else.
const HARMLESS: [&str; 21] = [
    "addressfamily", "batchmode", "bindaddress", "checkhostip", "ciphers", "compression", "connectionattempts", "connecttimeout", "forwardagent", "hostkeyalgorithms",
    "identitiesonly", "kexalgorithms", "loglevel", "macs", "numberofpasswordprompts", "passwordauthentication", "port", "preferredauthentications", "serveraliveinterval",
    "serveralivecountmax", "stricthostkeychecking",
];

pub(super) fn run(call: &mut Call<'_, '_>) {
    let settings: Vec<String> = call.parsed.values("-o").map(|value| value.text().unwrap_or("?").to_ascii_lowercase()).collect();
    for setting in settings {
        let name = setting.split(['=', ' ']).next().unwrap_or_default();
        if !HARMLESS.contains(&name) {
            call.interpreter.unsure_all(format!("ssh -o {name} may run a program or lead elsewhere"));
        }
    }
    call.by_file();
}
