//! Calls that ask a service for passwords, keys or tokens.

use crate::value::Argument;

/// The service whose `read` says that a call may print credentials.
pub(crate) const SERVICE: &str = "credentials";

const STEMS: [&str; 10] = [
    "secret",
    "credential",
    "password",
    "passwd",
    "token",
    "decrypt",
    "apikey",
    "connectionstring",
    "privatekey",
    "publishingprofile",
];
/// Words of commands; hosts keep credentials in the environment of what they run.
const NAMES: [&str; 8] = ["key", "keys", "sas", "otp", "pwd", "kubeconfig", "env", "dotenv"];

/// Whether a variable of this name holds credentials: `GITHUB_TOKEN`.
pub(crate) fn is_variable(name: &str) -> bool {
    has_stem(&name.to_lowercase()) || name.ends_with("_KEY") || name.ends_with("_PASS")
}

fn has_stem(text: &str) -> bool {
    let letters: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    STEMS.iter().any(|stem| letters.contains(stem))
}

/// Whether a word of a call names credentials: `get secret`, `--with-decryption`, `connection-string show`.
pub(crate) fn are_named(words: &[Argument], operands: &[Argument]) -> bool {
    words.iter().skip(1).any(|word| {
        let text = word.beginning().to_lowercase();
        let is_command = !text.starts_with('-') && !operands.contains(word);
        let is_name = |part: &str| NAMES.contains(&part);
        has_stem(&text) || (is_command && text.split(|char: char| !char.is_ascii_alphanumeric()).any(is_name))
    })
}
