//! Converts the conversation to chat messages, borrowing from the history. Thoughts are left out, because servers
//! refuse them; media that a server cannot take become a line of text.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::part::{Blob, FileData, FunctionResponse, Part, PartKind};
use crate::request::ModelRequest;
use crate::{Content, Role};

#[derive(Serialize)]
pub(super) struct ChatMessage<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
    content: MessageContent<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ChatToolCall<'a>>,
}

/// The content of a message: one text, or a list if it contains media.
#[derive(Default)]
struct MessageContent<'a>(Vec<ContentItem<'a>>);

enum ContentItem<'a> {
    Text(Cow<'a, str>),
    Image(&'a Blob),
    ImageUrl(&'a str),
    File(&'a Blob),
}

impl Serialize for MessageContent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [] => serializer.serialize_none(),
            [ContentItem::Text(text)] => serializer.serialize_str(text),
            items => serializer.collect_seq(items),
        }
    }
}

impl Serialize for ContentItem<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct DataUrl<'a>(&'a Blob);
        impl Serialize for DataUrl<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Blob { mime_type, data } = self.0;
                serializer.collect_str(&format_args!("data:{mime_type};base64,{data}"))
            }
        }
        #[derive(Serialize)]
        struct ChatImageUrl<T> {
            url: T,
        }
        #[derive(Serialize)]
        struct ChatFile<'a> {
            filename: &'static str,
            file_data: DataUrl<'a>,
        }
        let mut map = serializer.serialize_map(Some(2))?;
        match self {
            Self::Text(text) => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", text)?;
            }
            Self::Image(blob) => {
                map.serialize_entry("type", "image_url")?;
                map.serialize_entry("image_url", &ChatImageUrl { url: DataUrl(blob) })?;
            }
            Self::ImageUrl(url) => {
                map.serialize_entry("type", "image_url")?;
                map.serialize_entry("image_url", &ChatImageUrl { url })?;
            }
            Self::File(blob) => {
                let file = ChatFile { filename: "attachment.pdf", file_data: DataUrl(blob) };
                map.serialize_entry("type", "file")?;
                map.serialize_entry("file", &file)?;
            }
        }
        map.end()
    }
}

struct ChatToolCall<'a> {
    id: Cow<'a, str>,
    name: &'a str,
    args: &'a Map<String, Value>,
}

impl Serialize for ChatToolCall<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct ChatCallFunction<'a> {
            name: &'a str,
            arguments: String,
        }
        let arguments = serde_json::to_string(self.args).map_err(serde::ser::Error::custom)?;
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("type", "function")?;
        map.serialize_entry("function", &ChatCallFunction { name: self.name, arguments })?;
        map.end()
    }
}

/// Returns the request's system text and history as messages.
pub(super) fn messages(request: &ModelRequest) -> Vec<ChatMessage<'_>> {
    let mut writer = ChatMessageWriter::default();
    if let Some(system) = &request.system {
        writer.push_message("system", MessageContent(vec![ContentItem::Text(Cow::Borrowed(system))]));
    }
    for content in &request.contents {
        match content.role {
            Role::User => writer.push_user(content),
            Role::Model => writer.push_assistant(content),
        }
    }
    writer.messages
}

/// Writes messages and links calls and results by id, even where the history has no ids.
#[derive(Default)]
struct ChatMessageWriter<'a> {
    messages: Vec<ChatMessage<'a>>,
    /// The id and tool name of each call without a result.
    open_calls: VecDeque<(Cow<'a, str>, &'a str)>,
    call_count: usize,
}

impl<'a> ChatMessageWriter<'a> {
    fn push_message(&mut self, role: &'static str, content: MessageContent<'a>) {
        if !content.0.is_empty() {
            let (tool_call_id, tool_calls) = (None, Vec::new());
            self.messages.push(ChatMessage { role, tool_call_id, content, tool_calls });
        }
    }

    /// Adds a user message, with tool results first because they must directly follow the calls.
    fn push_user(&mut self, content: &'a Content) {
        let mut rest = Vec::new();
        for part in &content.parts {
            match &part.kind {
                PartKind::FunctionResponse(response) => {
                    self.push_tool_result(response);
                    rest.extend(response.parts.iter().filter_map(content_item));
                }
                _ => rest.extend(content_item(part)),
            }
        }
        self.push_message("user", MessageContent(rest));
    }

    fn push_tool_result(&mut self, response: &'a FunctionResponse) {
        let position = match &response.id {
            Some(id) => self.open_calls.iter().position(|(open, _)| open == id),
            None => self.open_calls.iter().position(|(_, name)| *name == response.name),
        };
        let id = match (position.and_then(|at| self.open_calls.remove(at)), &response.id) {
            (Some((id, _)), _) => id,
            (None, Some(id)) => Cow::Borrowed(id.as_str()),
            (None, None) => Cow::Borrowed("call_unknown"),
        };
        self.messages.push(ChatMessage {
            role: "tool",
            tool_call_id: Some(id),
            content: MessageContent(vec![ContentItem::Text(result_text(&response.response))]),
            tool_calls: Vec::new(),
        });
    }

    fn push_assistant(&mut self, content: &'a Content) {
        let mut items: Vec<ContentItem<'a>> = Vec::new();
        let mut tool_calls = Vec::new();
        for part in &content.parts {
            let PartKind::FunctionCall(call) = &part.kind else {
                items.extend(content_item(part));
                continue;
            };
            let id = match &call.id {
                Some(id) => Cow::Borrowed(id.as_str()),
                None => Cow::Owned(super::decode::call_id(self.call_count)),
            };
            self.call_count += 1;
            self.open_calls.push_back((id.clone(), &call.name));
            tool_calls.push(ChatToolCall { id, name: &call.name, args: &call.args });
        }
        if !items.is_empty() || !tool_calls.is_empty() {
            let (role, tool_call_id, content) = ("assistant", None, MessageContent(merge_texts(items)));
            self.messages.push(ChatMessage { role, tool_call_id, content, tool_calls });
        }
    }
}

/// Joins the texts of an assistant's message, because servers expect one text.
fn merge_texts(items: Vec<ContentItem<'_>>) -> Vec<ContentItem<'_>> {
    if items.len() < 2 || items.iter().any(|item| !matches!(item, ContentItem::Text(_))) {
        return items;
    }
    let texts = items.iter().filter_map(|item| match item {
        ContentItem::Text(text) => Some(&**text),
        _ => None,
    });
    vec![ContentItem::Text(Cow::Owned(texts.collect()))]
}

/// Returns a tool result as plain text if it is only that, otherwise as JSON.
fn result_text(response: &Map<String, Value>) -> Cow<'_, str> {
    let mut entries = response.iter();
    match (entries.next(), entries.next()) {
        (Some((key, Value::String(text))), None) if key == "output" => Cow::Borrowed(text),
        _ => Cow::Owned(serde_json::to_string(response).unwrap_or_default()),
    }
}

fn content_item(part: &Part) -> Option<ContentItem<'_>> {
    match &part.kind {
        PartKind::Text(text) if text.is_empty() => None,
        PartKind::Text(text) => Some(ContentItem::Text(Cow::Borrowed(text))),
        PartKind::InlineData(blob) if blob.mime_type.starts_with("image/") => Some(ContentItem::Image(blob)),
        PartKind::InlineData(blob) if blob.mime_type == "application/pdf" => Some(ContentItem::File(blob)),
        PartKind::InlineData(blob) => {
            let note = format!("[an attachment of type {} was left out]", blob.mime_type);
            Some(ContentItem::Text(Cow::Owned(note)))
        }
        PartKind::FileData(FileData { mime_type: Some(kind), file_uri }) if kind.starts_with("image/") => {
            Some(ContentItem::ImageUrl(file_uri))
        }
        PartKind::FileData(file) => Some(ContentItem::Text(Cow::Owned(format!("[attachment: {}]", file.file_uri)))),
        PartKind::Thought(_) | PartKind::FunctionCall(_) | PartKind::FunctionResponse(_) | PartKind::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_conversation_with_tools_and_images() {
        let contents = [
            Content::user(vec![Part::text("look"), Part::inline_data("image/png", "AAAA")]),
            Content::model(vec![
                Part::thought("hm"),
                Part::text("a"),
                Part::text("b"),
                Part::function_call(None, "glob", object(json!({"pattern": "*"}))),
                Part::function_call(Some("own".into()), "ls", Map::new()),
            ]),
            Content::user(vec![
                Part::function_response(Some("own".into()), "ls", object(json!({"error": "no"}))),
                Part::function_response(None, "glob", object(json!({"output": "x.rs"}))),
                Part::text("go on"),
            ]),
            Content::model(vec![Part::thought("only")]),
        ];
        let mut request = ModelRequest::new("m", contents.into_iter().map(Arc::new).collect());
        request.system = Some("be brief".into());
        assert_eq!(
            serde_json::to_value(messages(&request)).unwrap(),
            json!([
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": [
                    {"type": "text", "text": "look"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
                {"role": "assistant", "content": "ab", "tool_calls": [
                    {"id": "call_1", "type": "function", "function": {"name": "glob", "arguments": "{\"pattern\":\"*\"}"}},
                    {"id": "own", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "own", "content": "{\"error\":\"no\"}"},
                {"role": "tool", "tool_call_id": "call_1", "content": "x.rs"},
                {"role": "user", "content": "go on"},
            ])
        );
    }
}
