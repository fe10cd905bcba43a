//! Removes secrets from the environment of hooks, by the name of a variable or by the shape of its value.

use std::ffi::OsString;

/// The rules for variables that hooks must not see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvRedaction {
    /// The names of variables that are always passed on.
    pub allowed: Vec<String>,
    /// The names of variables that are never passed on.
    pub blocked: Vec<String>,
}

/// Parts of names that mark a secret.
const SECRET_NAME_PARTS: [&str; 11] =
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "PRIVATE", "CERT", "PASSPHRASE", "COOKIE"];

/// Names that contain such a part and hold no secret.
const HARMLESS_VARIABLES: [&str; 5] = ["SSH_AUTH_SOCK", "XAUTHORITY", "SSL_CERT_FILE", "SSL_CERT_DIR", "KEYTIMEOUT"];

impl EnvRedaction {
    /// The variables that hooks may see.
    pub fn apply(&self, env: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
        env.into_iter()
            .filter(|(name, value)| self.is_visible(&name.to_string_lossy(), &value.to_string_lossy()))
            .collect()
    }

    /// Whether a variable is hidden from hooks.
    pub fn is_hidden(&self, name: &str, value: &str) -> bool {
        !self.is_visible(name, value)
    }

    fn is_visible(&self, name: &str, value: &str) -> bool {
        let listed = |list: &[String]| list.iter().any(|listed| listed.eq_ignore_ascii_case(name));
        if listed(&self.blocked) {
            return false;
        }
        if listed(&self.allowed) || HARMLESS_VARIABLES.contains(&name) {
            return true;
        }
        let upper = name.to_ascii_uppercase();
        !SECRET_NAME_PARTS.iter().any(|word| upper.contains(word)) && !looks_like_secret(value)
    }
}

/// Whether a value has a well-known shape of keys and tokens.
pub fn looks_like_secret(value: &str) -> bool {
    const SECRET_PREFIXES: [&str; 12] =
        ["ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "sk-", "xoxb-", "xoxp-", "AKIA", "AIza", "eyJ", "npm_"];
    let token_like = value.len() >= 20 && !value.contains(|char: char| char.is_whitespace());
    (token_like && SECRET_PREFIXES.iter().any(|prefix| value.starts_with(prefix)))
        || value.contains("-----BEGIN ")
        || has_password_in_url(value)
}

/// Whether a value is a URL with a password: `scheme://user:password@host`.
fn has_password_in_url(value: &str) -> bool {
    let Some((_, rest)) = value.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    authority
        .split_once('@')
        .is_some_and(|(user, _)| user.split_once(':').is_some_and(|(_, password)| !password.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_removed_and_the_rest_stays() {
        let redaction = EnvRedaction { allowed: vec!["MY_API_KEY".into()], blocked: vec!["PLAIN".into()] };
        let passes = |name, value| redaction.is_visible(name, value);
        assert!(passes("PATH", "/bin") && passes("SSH_AUTH_SOCK", "/x") && passes("MY_API_KEY", "1"));
        assert!(passes("HOME", "/home/u") && passes("URL", "https://example.org/a@b"));
        assert!(!passes("GITHUB_TOKEN", "x") && !passes("db_password", "x") && !passes("PLAIN", "x"));
        assert!(!passes("X", "ghp_0123456789abcdef0123") && !passes("DATABASE_URL", "postgres://u:p@h/d"));
    }
}
