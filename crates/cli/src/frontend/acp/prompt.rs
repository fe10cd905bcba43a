//! A prompt of the protocol as a command of the session.

use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource, ImageContent, ResourceLink};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use percent_encoding::percent_decode_str;

use crate::frontend::prompt_images::{ImageFolder, mention_of};

/// What the user typed, and what the editor embedded beside it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PromptText {
    /// The typed text, with mentions of files and images.
    pub(super) typed: String,
    /// The text of embedded resources; it attaches no files.
    pub(super) embedded: String,
}

/// Returns the text of a prompt's blocks, or why one of them cannot be sent.
pub(super) fn prompt_text(blocks: &[ContentBlock], images: &ImageFolder) -> Result<PromptText, String> {
    let mut prompt = PromptText::default();
    for block in blocks {
        match block {
            ContentBlock::Text(text) => prompt.typed.push_str(&text.text),
            ContentBlock::ResourceLink(link) => prompt.typed.push_str(&link_text(link)),
            ContentBlock::Image(image) => prompt.typed.push_str(&image_text(image, images)?),
            ContentBlock::Resource(resource) => match &resource.resource {
                EmbeddedResourceResource::TextResourceContents(contents) => {
                    prompt.embedded.push_str(&format!("{}:\n{}\n\n", contents.uri, contents.text));
                }
                EmbeddedResourceResource::BlobResourceContents(contents) => {
                    return Err(format!("{} is not text, and only text and images can be embedded", contents.uri));
                }
                _ => return Err("this kind of embedded resource is not known".to_owned()),
            },
            ContentBlock::Audio(_) => return Err("audio can't be sent; the agent does not offer it".to_owned()),
            _ => return Err("this kind of content is not known".to_owned()),
        }
    }
    Ok(prompt)
}

/// Returns a mention of a linked file, so that it is read as a file that the user names; another link stays as it is.
fn link_text(link: &ResourceLink) -> String {
    let path = link.uri.strip_prefix("file://").and_then(|path| percent_decode_str(path).decode_utf8().ok());
    match path.and_then(|path| mention_of(path.split('#').next().unwrap_or_default())) {
        Some(mention) => mention,
        None => format!("{} ({})", link.name, link.uri),
    }
}

fn image_text(image: &ImageContent, images: &ImageFolder) -> Result<String, String> {
    let bytes = BASE64.decode(&image.data).map_err(|error| format!("the image is not valid base64: {error}"))?;
    let extension = match image.mime_type.as_str() {
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        _ => "png",
    };
    images.keep(&format!("image.{extension}"), &bytes).map(|kept| kept.mention)
}
