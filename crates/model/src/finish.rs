//! Why an answer ended, in Gemini's names, and the message about it for the user.
//! Unknown names are kept as they are, because providers add new ones.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinishReason {
    /// The model finished its answer.
    Stop,
    /// The token limit was reached.
    MaxTokens,
    /// The provider withheld the answer for safety.
    Safety,
    /// The provider withheld the answer because it recites protected material.
    Recitation,
    /// The provider withheld the answer as prohibited content.
    ProhibitedContent,
    /// The provider withheld the answer for a word on a block list.
    Blocklist,
    /// The provider withheld the answer because it contains personal data.
    Spii,
    /// The model made a tool call that cannot be parsed.
    MalformedFunctionCall,
    /// The model called a tool although it was told not to.
    UnexpectedToolCall,
    /// Another reason, by the provider's name for it.
    Other(String),
}

impl FinishReason {
    /// Returns the name in JSON.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "STOP",
            Self::MaxTokens => "MAX_TOKENS",
            Self::Safety => "SAFETY",
            Self::Recitation => "RECITATION",
            Self::ProhibitedContent => "PROHIBITED_CONTENT",
            Self::Blocklist => "BLOCKLIST",
            Self::Spii => "SPII",
            Self::MalformedFunctionCall => "MALFORMED_FUNCTION_CALL",
            Self::UnexpectedToolCall => "UNEXPECTED_TOOL_CALL",
            Self::Other(name) => name,
        }
    }

    /// Returns the message for the user, unless the answer ended normally.
    #[must_use]
    pub fn user_message(&self) -> Option<&'static str> {
        match self {
            Self::Stop => None,
            Self::MaxTokens => Some("the answer was cut at the model's output limit"),
            Self::Safety => Some("the answer was held back by the provider's safety filter"),
            Self::Recitation => Some("the answer was held back because it recites protected text"),
            Self::ProhibitedContent => Some("the answer was held back as prohibited content"),
            Self::Blocklist => Some("the answer was held back for a word on a block list"),
            Self::Spii => Some("the answer was held back because it holds personal data"),
            Self::MalformedFunctionCall => Some("the model made a tool call that cannot be read"),
            Self::UnexpectedToolCall => Some("the model called a tool it was not given"),
            Self::Other(_) => Some("the model stopped for a reason that it did not give"),
        }
    }

    /// Returns whether the provider withheld the answer.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        use FinishReason::{Blocklist, ProhibitedContent, Recitation, Safety, Spii};
        matches!(self, Safety | Recitation | ProhibitedContent | Blocklist | Spii)
    }
}

impl From<&str> for FinishReason {
    fn from(name: &str) -> Self {
        match name {
            "STOP" => Self::Stop,
            "MAX_TOKENS" => Self::MaxTokens,
            "SAFETY" | "IMAGE_SAFETY" => Self::Safety,
            "RECITATION" => Self::Recitation,
            "PROHIBITED_CONTENT" => Self::ProhibitedContent,
            "BLOCKLIST" => Self::Blocklist,
            "SPII" => Self::Spii,
            "MALFORMED_FUNCTION_CALL" => Self::MalformedFunctionCall,
            "UNEXPECTED_TOOL_CALL" => Self::UnexpectedToolCall,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for FinishReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for FinishReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        std::borrow::Cow::<'de, str>::deserialize(deserializer).map(|name| Self::from(&*name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finish_reasons_keep_names_they_do_not_know() {
        for name in ["STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "PROHIBITED_CONTENT", "LANGUAGE"] {
            assert_eq!(FinishReason::from(name).as_str(), name);
        }
        assert!(FinishReason::Recitation.is_blocked() && !FinishReason::MaxTokens.is_blocked());
        assert_eq!(FinishReason::Stop.user_message(), None);
    }
}
