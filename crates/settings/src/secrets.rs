//! Secrets: which variables hold the model's keys, which processes see them, and how secrets are removed from text
//! before it is shown or written.
//!
//! A secret is recognised by its value, by the name before it, or by its shape. If in doubt, harmless text is removed
//! too.

use std::borrow::Cow;
use std::ffi::OsString;
use std::sync::{PoisonError, RwLock};

use hookwright_hooks::{EnvRedaction, looks_like_secret};

use crate::connections::saved_connections;
use crate::paths::ConfigPaths;
use crate::process_env::ProcessEnv;

/// Variables that may hold a key for Gemini; the first one that is set is used.
pub const GEMINI_KEY_VARIABLES: [&str; 2] = ["GEMINI_API_KEY", "GOOGLE_API_KEY"];
/// Variable that holds the key for an OpenAI-compatible server.
pub const OPENAI_KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// Replacement for a secret.
const REDACTED_TEXT: &str = "***";
/// Shorter values are not treated as secrets, because they would match everywhere.
const MIN_SECRET_BYTES: usize = 6;

/// Returns the variables that this program reads the model's keys from.
fn model_keys() -> impl Iterator<Item = &'static str> {
    GEMINI_KEY_VARIABLES.into_iter().chain([OPENAI_KEY_VARIABLE])
}

/// Removes the model's keys from an environment, except those that the user passes on.
pub(crate) fn without_model_keys(
    mut env: Vec<(OsString, OsString)>,
    passed_on: &[String],
) -> Vec<(OsString, OsString)> {
    let is_kept = |name: &str| passed_on.iter().any(|passed| passed.eq_ignore_ascii_case(name));
    // Case is ignored, because some systems find a variable under any case.
    let is_key = |name: &str| model_keys().any(|key| key.eq_ignore_ascii_case(name)) && !is_kept(name);
    env.retain(|(name, _)| !name.to_str().is_some_and(is_key));
    env
}

/// The secrets that are known by value. Others are recognised by their name or shape.
#[derive(Default)]
pub struct Secrets(RwLock<Vec<String>>);

/// Shows none of the secrets.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// Creates a set with the model's keys from the environment and the stored connections.
    pub fn with_model_keys(world: &ProcessEnv, paths: &ConfigPaths) -> Self {
        let secrets = Secrets::default();
        secrets.add(model_keys().filter_map(|name| world.var(name)).filter(|value| is_real_key(value)));
        secrets.learn_saved_keys(paths);
        secrets
    }

    /// Adds the keys of stored connections.
    pub fn learn_saved_keys(&self, paths: &ConfigPaths) {
        // A file that can't be read provides no keys to the model either.
        saved_connections(paths).unwrap_or_default().iter().for_each(|kept| self.learn_key(&kept.key));
    }

    /// Adds a key, whether it is stored or not.
    pub fn learn_key(&self, key: &str) {
        self.add(std::iter::once(key).filter(|key| is_real_key(key)));
    }

    /// Adds an environment's secrets; variables in `blocked` are added whatever they look like.
    pub fn learn_env(&self, env: &[(OsString, OsString)], blocked: &[String]) {
        let rules = EnvRedaction { allowed: Vec::new(), blocked: blocked.to_vec() };
        let all: Vec<_> = env.iter().map(|(name, value)| (name.to_string_lossy(), value.to_string_lossy())).collect();
        self.add(all.iter().filter(|(name, value)| rules.is_hidden(name, value)).map(|(_, value)| &**value));
    }

    fn add<'v>(&self, values: impl Iterator<Item = &'v str>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for value in values.map(str::trim).filter(|value| value.len() >= MIN_SECRET_BYTES) {
            // Also added as spelt in JSON, with and without escaped slashes, and percent-encoded.
            let quoted = serde_json::Value::from(value).to_string();
            let quoted = quoted[1..quoted.len() - 1].to_owned();
            known.extend([value.to_owned(), quoted.replace('/', "\\/"), quoted, percent_encoded(value)]);
        }
        // Longest first, because one secret may be a part of another.
        known.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        known.dedup();
    }

    /// Removes the secrets that are known by value. Valid JSON stays valid.
    pub fn hide_known<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut text = Cow::Borrowed(text);
        for secret in known.iter() {
            if text.contains(secret.as_str()) {
                text = Cow::Owned(text.replace(secret.as_str(), REDACTED_TEXT));
            }
        }
        text
    }

    /// Removes all recognised secrets from a text.
    pub fn hide(&self, text: &str) -> String {
        hide_key_shaped(&hide_named(&hide_pem_blocks(&self.hide_known(text))))
    }
}

/// Whether a value is a key and not a placeholder such as `ollama` or `not-needed`, whose removal would garble texts.
fn is_real_key(value: &str) -> bool {
    let value = value.trim();
    value.len() >= 16 || value.len() >= 8 && value.contains(|char: char| char.is_ascii_digit())
}

/// Percent-encodes a value for a URL.
fn percent_encoded(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    value.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// Whether a value under such a name is a secret.
pub fn is_secret_name(name: &str) -> bool {
    const SECRET_NAME_WORDS: [&str; 12] = [
        "key",
        "apikey",
        "token",
        "secret",
        "password",
        "passwd",
        "passphrase",
        "credential",
        "credentials",
        "authorization",
        "auth",
        "cookie",
    ];
    let last = name.rsplit(['_', '-']).next().unwrap_or(name);
    SECRET_NAME_WORDS.iter().any(|word| last.eq_ignore_ascii_case(word))
}

/// Hides PEM blocks, from `-----BEGIN …` to their end.
fn hide_pem_blocks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, block)) = rest.split_once("-----BEGIN ") {
        out.push_str(before);
        out.push_str(REDACTED_TEXT);
        let after = block.split_once("-----END ").and_then(|(_, end)| end.split_once("-----"));
        rest = after.map_or("", |(_, after)| after);
    }
    out + rest
}

/// Hides values after a secret's name: `key=…`, `"token": "…"`, `Authorization: …`.
fn hide_named(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['=', ':']) {
        let (before, after) = rest.split_at(at);
        let (sign, after) = after.split_at(1);
        out.push_str(before);
        out.push_str(sign);
        rest = after;
        let Some(end_of) = value_terminator(before, sign) else { continue };
        let value = rest.trim_start_matches([' ', '\\', '"', '\'']);
        let length = value.find(end_of).unwrap_or(value.len());
        if length > 0 {
            out.push_str(&rest[..rest.len() - value.len()]);
            out.push_str(REDACTED_TEXT);
            rest = &value[length..];
        }
    }
    out + rest
}

/// Returns the test for the end of the value, if the text before the sign ends in a secret's name.
fn value_terminator(before: &str, sign: &str) -> Option<fn(char) -> bool> {
    let bare = before.trim_end_matches([' ', '\\', '"', '\'']);
    let start = bare.rfind(|char: char| !char.is_ascii_alphanumeric() && !"_-".contains(char));
    let name = &bare[start.map_or(0, |at| at + bare[at..].chars().next().map_or(0, char::len_utf8))..];
    if !is_secret_name(name) {
        return None;
    }
    // The values of these headers have several words.
    if ["authorization", "cookie"].iter().any(|header| name.to_ascii_lowercase().ends_with(header)) {
        return Some(|char| matches!(char, '"' | '\'' | '\n'));
    }
    // In prose a colon is only punctuation.
    let is_prose = sign == ":" && bare.len() == before.len() && !name.contains(['_', '-']);
    (!is_prose).then_some(|char| char.is_whitespace() || "\"'\\&,;)}]<>".contains(char))
}

/// Hides words, and parts of addresses, that have the shape of a key.
fn hide_key_shaped(text: &str) -> String {
    fn ends_word(char: char) -> bool {
        char.is_whitespace() || "\"'`,;()[]{}<>|\\".contains(char)
    }
    fn ends_part(char: char) -> bool {
        "=&?:/@#".contains(char)
    }
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(ends_word) {
        let word = piece.trim_end_matches(ends_word);
        if looks_like_secret(word) {
            out.push_str(REDACTED_TEXT);
        } else {
            for piece in word.split_inclusive(ends_part) {
                let part = piece.trim_end_matches(ends_part);
                out.push_str(if looks_like_secret(part) { REDACTED_TEXT } else { part });
                out.push_str(&piece[part.len()..]);
            }
        }
        out.push_str(&piece[word.len()..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hide(text: &str) -> String {
        Secrets::default().hide(text)
    }

    #[test]
    fn environment_secrets_are_hidden_everywhere() {
        let secrets = Secrets::default();
        let env = [
            ("MY_TOKEN", "hunter2-hunter2"),
            ("DB_PASSWORD", "say \"friend\""),
            ("SHORT_KEY", "us"),
            ("A", "plain value"),
        ];
        let env = env.map(|(name, value)| (name.into(), value.into()));
        secrets.learn_env(&env, &[]);
        assert_eq!(secrets.hide("it is xhunter2-hunter2x, us, plain value"), "it is x***x, us, plain value");
        assert_eq!(secrets.hide(r#"say "friend", or {"a": "say \"friend\""}"#), r#"***, or {"a": "***"}"#);
        secrets.learn_env(&env, &["A".to_owned()]);
        assert_eq!(secrets.hide("a plain value"), "a ***");
    }

    #[test]
    fn the_models_keys_are_known_in_every_spelling() {
        let env =
            [("GOOGLE_API_KEY", " my/odd\"key1 "), ("OPENAI_API_KEY", "other-key-2"), ("MY_TOKEN", "hunter2-hunter2")];
        let world =
            ProcessEnv { env: env.map(|(name, value)| (name.into(), value.into())).to_vec(), ..ProcessEnv::default() };
        let secrets = Secrets::with_model_keys(&world, &ConfigPaths::new(&world));
        let text = r#"my/odd"key1 {"k": "my/odd\"key1", "l": "my\/odd\"key1"} ?k=my%2Fodd%22key1&b=other-key-2 hunter2-hunter2"#;
        assert_eq!(secrets.hide_known(text), r#"*** {"k": "***", "l": "***"} ?k=***&b=*** hunter2-hunter2"#);
        assert_eq!(format!("{secrets:?}"), "Secrets");
        let placeholder = ProcessEnv { env: vec![("OPENAI_API_KEY".into(), "gemini".into())], ..ProcessEnv::default() };
        assert_eq!(
            Secrets::with_model_keys(&placeholder, &ConfigPaths::new(&placeholder)).hide_known("gemini_cli"),
            "gemini_cli"
        );
        let names = |passed_on: &[&str]| -> Vec<String> {
            let passed_on: Vec<String> = passed_on.iter().map(|name| (*name).to_owned()).collect();
            let left = without_model_keys(world.env.clone(), &passed_on);
            left.into_iter().map(|(name, _)| name.into_string().unwrap()).collect()
        };
        assert_eq!(names(&[]), ["MY_TOKEN"]);
        assert_eq!(names(&["google_api_key"]), ["GOOGLE_API_KEY", "MY_TOKEN"]);
    }

    #[test]
    fn value_after_a_secret_name_is_hidden() {
        for (text, hidden) in [
            ("GET https://h/v1?key=abc&alt=sse", "GET https://h/v1?key=***&alt=sse"),
            ("x-goog-api-key: abc def", "x-goog-api-key: *** def"),
            ("Authorization: Bearer a.b c\nnext", "Authorization: ***\nnext"),
            (r#"{"apiKey": "abc", "n": 1}"#, r#"{"apiKey": "***", "n": 1}"#),
            (r#"{\"token\": \"abc\"}"#, r#"{\"token\": \"***\"}"#),
            ("MY_SECRET=abc run", "MY_SECRET=*** run"),
            ("password = 'abc'", "password = '***'"),
            ("the key: is this, tokens=12, keys=3", "the key: is this, tokens=12, keys=3"),
        ] {
            assert_eq!(hide(text), hidden);
        }
    }

    #[test]
    fn text_shaped_like_a_key_is_hidden() {
        for (text, hidden) in [
            ("got (AIzaSy0123456789012345678901)", "got (***)"),
            ("https://h/ghp_0123456789abcdef0123/x", "https://h/***/x"),
            ("connect postgres://u:p@h/d now", "connect *** now"),
            ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- after", "*** after"),
            ("-----BEGIN KEY-----\nabc", "***"),
            ("a sk-short and ünïcode: fine", "a sk-short and ünïcode: fine"),
        ] {
            assert_eq!(hide(text), hidden);
        }
    }
}
