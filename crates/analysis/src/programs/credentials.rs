//! Calls that ask a service for passwords, keys or tokens.

use crate::value::Argument;

/// The service whose `read` says that a call may print credentials.
pub(super) const SERVICE: &str = "credentials";

const STEMS: [&str; 9] =
    ["secret", "credential", "password", "passwd", "token", "decrypt", "apikey", "connectionstring", "privatekey"];
const NAMES: [&str; 6] = ["key", "keys", "sas", "otp", "pwd", "kubeconfig"];

/// Whether a word of a call names credentials: `get secret`, `--with-decryption`, `connection-string show`.
pub(super) fn are_named(words: &[Argument], operands: &[Argument]) -> bool {
    words.iter().skip(1).any(|word| {
        let text = word.beginning().to_lowercase();
        let letters: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
        let is_command = !text.starts_with('-') && !operands.contains(word);
        let is_name = |part: &str| NAMES.contains(&part);
        STEMS.iter().any(|stem| letters.contains(stem))
            || (is_command && text.split(|char: char| !char.is_ascii_alphanumeric()).any(is_name))
    })
}
