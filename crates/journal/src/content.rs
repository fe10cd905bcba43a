//! The content of a line: what it may hold, how secrets are removed from it, and where large parts are stored.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_disk::{Durability, SymlinkPolicy};
use hookwright_settings::Secrets;
use serde_json::{Map, Value, json};

use crate::chain::Digest;
use crate::entry::EventEntry;
use crate::segment::compress;

/// How much of an event's content the journal keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContentLevel {
    /// Everything.
    Full,
    /// Everything but secrets.
    #[default]
    Redacted,
    /// Nothing.
    None,
}

impl ContentLevel {
    /// The level of a word in settings.
    pub fn from_word(word: &str) -> Option<ContentLevel> {
        match word {
            "full" => Some(ContentLevel::Full),
            "redacted" => Some(ContentLevel::Redacted),
            "none" => Some(ContentLevel::None),
            _ => None,
        }
    }
}

/// The length of a value from which it is stored as a body.
const MIN_BODY_BYTES: usize = 8 << 10;
/// The length of a value from which it is not stored at all.
const MAX_BODY_BYTES: usize = 1 << 20;
/// The length of the whole content from which it is not stored.
const MAX_CONTENT_BYTES: usize = 1 << 20;

/// Prepares content for the journal.
#[derive(Clone, Debug)]
pub struct Redactor {
    /// How much is kept.
    pub level: ContentLevel,
    /// What counts as a secret.
    pub secrets: Arc<Secrets>,
}

impl Redactor {
    /// Returns the text of the content for a line. Large parts are written to the directory's bodies.
    pub fn encode(&self, dir: &Path, mut content: Map<String, Value>) -> Option<String> {
        if self.level == ContentLevel::None {
            return None;
        }
        for value in content.values_mut() {
            if self.level == ContentLevel::Redacted {
                self.redact(value);
            }
            extract_bodies(dir, value);
        }
        // Without a salt, the digest of forgotten content would tell a guess from a wrong guess.
        let mut salted = Map::from_iter([("salt".to_owned(), json!(uuid::Uuid::new_v4().simple().to_string()))]);
        salted.extend(content);
        let text = Value::Object(salted).to_string();
        if text.len() <= MAX_CONTENT_BYTES {
            return Some(text);
        }
        Some(json!({"omitted": "too large", "bytes": text.len()}).to_string())
    }

    /// Removes secrets from the names of hooks, which are whole commands where a hook has no name.
    pub(crate) fn redact_names(&self, event: &mut EventEntry) {
        if self.level == ContentLevel::Full {
            return;
        }
        let hooks = event.hooks.iter_mut().map(|hook| &mut hook.hook);
        let texts = hooks
            .chain(&mut event.decided_by)
            .chain(&mut event.left_out)
            .chain(&mut event.unarmed)
            .chain(&mut event.doubt);
        for text in texts.filter(|text| text.contains(char::is_whitespace)) {
            *text = self.secrets.hide(text);
        }
    }

    fn redact(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                let hidden = self.secrets.hide(text);
                if hidden != *text {
                    *text = hidden;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact(item)),
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut() {
                    match value {
                        // A name such as `api_key` makes the value a secret, whatever it looks like.
                        Value::String(text) => {
                            let pair = format!("{name}={text}");
                            let hidden = self.secrets.hide(&pair);
                            if hidden != pair {
                                let bare = hidden.split_once('=').map_or(hidden.as_str(), |(_, value)| value);
                                *text = bare.to_owned();
                            }
                        }
                        other => self.redact(other),
                    }
                }
            }
            _ => {}
        }
    }
}

/// Moves large texts, lists and objects into files that are named after their digest.
fn extract_bodies(dir: &Path, value: &mut Value) {
    match value {
        Value::String(text) if text.len() >= MIN_BODY_BYTES => {
            let bytes = Value::String(std::mem::take(text)).to_string();
            *value = store_body(dir, &bytes);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| extract_bodies(dir, item)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|field| extract_bodies(dir, field));
            // A request with a long history has many small messages.
            if let Some(request) = fields.get_mut("llm_request") {
                let text = request.to_string();
                if text.len() >= MIN_BODY_BYTES {
                    *request = store_body(dir, &text);
                }
            }
        }
        _ => {}
    }
}

fn body_path(dir: &Path, digest: &str) -> PathBuf {
    dir.join("bodies").join(digest.get(..2).unwrap_or("__")).join(format!("{digest}.zst"))
}

fn store_body(dir: &Path, json_text: &str) -> Value {
    let bytes = json_text.len();
    if bytes > MAX_BODY_BYTES {
        return json!({"omitted": "too large", "bytes": bytes});
    }
    let digest = Digest::compute(json_text.as_bytes()).to_string();
    let path = body_path(dir, &digest);
    if !path.exists() {
        let compressed = compress(json_text.as_bytes());
        if hookwright_disk::write_atomic_private(&path, &compressed, Durability::Unsynced).is_err() {
            return json!({"omitted": "it could not be stored", "bytes": bytes});
        }
    }
    json!({"body": format!("sha256:{digest}"), "bytes": bytes})
}

/// Returns the digest of the body that a value refers to.
fn body_digest(value: &Value) -> Option<&str> {
    let fields = value.as_object().filter(|fields| fields.len() == 2 && fields.contains_key("bytes"))?;
    let digest = fields.get("body")?.as_str()?.strip_prefix("sha256:")?;
    Digest::from_hex(digest).map(|_| digest)
}

/// Replaces references by the bodies that are still there and unchanged.
pub(crate) fn resolve_bodies(dir: &Path, value: &mut Value) {
    if let Some(digest) = body_digest(value) {
        if let Some(body) = read_body(dir, digest) {
            *value = body;
        }
        return;
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| resolve_bodies(dir, item)),
        Value::Object(fields) => fields.values_mut().for_each(|field| resolve_bodies(dir, field)),
        _ => {}
    }
}

fn read_body(dir: &Path, digest: &str) -> Option<Value> {
    use std::io::Read as _;
    let path = body_path(dir, digest);
    let compressed = hookwright_disk::read(&path, MAX_BODY_BYTES as u64 * 2, SymlinkPolicy::Refuse).ok()?;
    let decoder = ruzstd::decoding::StreamingDecoder::new(compressed.as_slice()).ok()?;
    let mut text = Vec::new();
    decoder.take(MAX_BODY_BYTES as u64 + 1).read_to_end(&mut text).ok()?;
    if Digest::compute(&text).to_string() != digest {
        return None;
    }
    serde_json::from_slice(&text).ok()
}

/// Returns the digests of the bodies that a content refers to.
pub(crate) fn body_references(content: &str) -> HashSet<String> {
    fn collect(value: &Value, found: &mut HashSet<String>) {
        if let Some(digest) = body_digest(value) {
            found.insert(digest.to_owned());
        }
        match value {
            Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
            Value::Object(fields) => fields.values().for_each(|field| collect(field, found)),
            _ => {}
        }
    }
    let mut found = HashSet::new();
    if content.contains("\"body\":\"sha256:")
        && let Ok(value) = serde_json::from_str(content)
    {
        collect(&value, &mut found);
    }
    found
}

/// Removes bodies; one that is gone already is no error.
pub(crate) fn remove_bodies(dir: &Path, digests: &HashSet<String>) {
    for digest in digests {
        let _ = fs::remove_file(body_path(dir, digest));
    }
}

/// Cuts a text to a number of characters.
pub(crate) fn truncate(text: &str, chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}
