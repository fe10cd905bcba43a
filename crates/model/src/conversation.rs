//! Messages and their roles. The JSON form is Gemini's, because replay files and transcripts use it.
//! Requests are in `request.rs`, streamed answers in `response.rs`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::part::{Part, parts_or_none};

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Role {
    /// The user, or the tools on the user's behalf.
    #[default]
    User,
    /// The model that answers.
    Model,
}

impl Role {
    /// Returns the name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Model => "model",
        }
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        match name.as_deref() {
            // Tool results had separate roles in older conversations.
            None | Some("user" | "function" | "tool") => Ok(Self::User),
            Some("model" | "assistant") => Ok(Self::Model),
            Some(other) => Err(D::Error::unknown_variant(other, &["user", "model"])),
        }
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Content {
    /// The author of the message.
    #[serde(default)]
    pub role: Role,
    /// The texts, tool calls, results and media of the message.
    #[serde(default, deserialize_with = "parts_or_none")]
    pub parts: Vec<Part>,
}

impl Content {
    /// Creates a message of the user.
    #[must_use]
    pub fn user(parts: Vec<Part>) -> Self {
        Self { role: Role::User, parts }
    }

    /// Creates a message of the model.
    #[must_use]
    pub fn model(parts: Vec<Part>) -> Self {
        Self { role: Role::Model, parts }
    }

    /// Creates a message of the user from one text.
    #[must_use]
    pub fn user_text(text: impl Into<String>) -> Self {
        Self::user(vec![Part::text(text)])
    }

    /// Creates a message of the model from one text.
    #[must_use]
    pub fn model_text(text: impl Into<String>) -> Self {
        Self::model(vec![Part::text(text)])
    }

    /// Returns all text parts joined, without thoughts.
    #[must_use]
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_may_lack_role_and_parts() {
        let content: Content = serde_json::from_str("{}").unwrap();
        assert_eq!(content, Content::default());
        let content: Content = serde_json::from_str(r#"{"role":"model","parts":null}"#).unwrap();
        assert_eq!(content, Content::model(vec![]));
        let content: Content = serde_json::from_str(r#"{"role":"function","parts":{"text":"alone"}}"#).unwrap();
        assert_eq!(content, Content::user_text("alone"));
    }

    #[test]
    fn an_unknown_role_is_an_error_that_names_the_known_ones() {
        let error = serde_json::from_str::<Content>(r#"{"role":"robot"}"#).unwrap_err();
        assert!(error.to_string().contains("`user` or `model`"), "{error}");
    }

    #[test]
    fn the_text_leaves_out_thoughts() {
        let content = Content::model(vec![Part::thought("hm"), Part::text("a"), Part::text("b")]);
        assert_eq!(content.text(), "ab");
    }
}
