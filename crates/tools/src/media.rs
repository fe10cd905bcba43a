//! Detects the type of a file: text, image, document, audio, video or binary. The extension decides,
//! confirmed by the first bytes where the format has fixed ones. It reads no files.

use crate::encoding::is_binary;
use std::path::Path;

/// The type of a file's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileType {
    Text,
    /// Text with a smaller size limit.
    Svg,
    Media(MediaType),
    Binary,
}

/// Media that are passed to the model unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MediaType {
    /// One of `image`, `audio`, `video` and `pdf`.
    pub(crate) family: &'static str,
    pub(crate) mime_type: &'static str,
}

struct MediaTypeRow {
    extensions: &'static [&'static str],
    family: &'static str,
    mime_type: &'static str,
    /// Offsets and bytes that must be there. An invalid image makes the provider refuse the whole request.
    magic: &'static [(usize, &'static [u8])],
}

const MEDIA_TYPES: &[MediaTypeRow] = &[
    media_row(&["png"], "image", "image/png", &[(0, b"\x89PNG\r\n\x1a\n")]),
    media_row(&["jpg", "jpeg"], "image", "image/jpeg", &[(0, b"\xFF\xD8\xFF")]),
    media_row(&["gif"], "image", "image/gif", &[(0, b"GIF8")]),
    media_row(&["webp"], "image", "image/webp", &[(0, b"RIFF"), (8, b"WEBP")]),
    media_row(&["bmp"], "image", "image/bmp", &[(0, b"BM")]),
    media_row(&["heic"], "image", "image/heic", &[(4, b"ftyp")]),
    media_row(&["pdf"], "pdf", "application/pdf", &[(0, b"%PDF-")]),
    media_row(&["mp3"], "audio", "audio/mpeg", &[]),
    media_row(&["wav"], "audio", "audio/wav", &[(0, b"RIFF")]),
    media_row(&["aiff", "aif"], "audio", "audio/aiff", &[(0, b"FORM")]),
    media_row(&["aac"], "audio", "audio/aac", &[]),
    media_row(&["ogg"], "audio", "audio/ogg", &[(0, b"OggS")]),
    media_row(&["flac"], "audio", "audio/flac", &[(0, b"fLaC")]),
    media_row(&["mp4"], "video", "video/mp4", &[(4, b"ftyp")]),
    media_row(&["webm"], "video", "video/webm", &[(0, b"\x1A\x45\xDF\xA3")]),
    media_row(&["mov"], "video", "video/quicktime", &[(4, b"ftyp")]),
];

/// The size limit of media: base64 adds a third, and providers accept requests of 20 MB.
pub const MAX_MEDIA_BYTES: u64 = 14 * 1024 * 1024;

/// Returns the MIME type of an image, by its name and its first bytes; `None` if it is not an image.
pub fn image_type(path: &Path, bytes: &[u8]) -> Option<&'static str> {
    match FileType::detect(path, bytes) {
        FileType::Media(media) if media.family == "image" => Some(media.mime_type),
        _ => None,
    }
}

/// Returns whether a file has the extension of an image.
pub fn has_image_extension(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    MEDIA_TYPES.iter().any(|row| row.family == "image" && row.extensions.contains(&extension.as_str()))
}

const fn media_row(
    extensions: &'static [&'static str],
    family: &'static str,
    mime_type: &'static str,
    magic: &'static [(usize, &'static [u8])],
) -> MediaTypeRow {
    MediaTypeRow { extensions, family, mime_type, magic }
}

impl FileType {
    /// Detects the type of a file with this name and these bytes.
    pub(crate) fn detect(path: &Path, bytes: &[u8]) -> Self {
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        if extension == "svg" && !is_binary(bytes) {
            return Self::Svg;
        }
        let has_magic = |row: &&MediaTypeRow| {
            row.magic.iter().all(|(at, magic)| bytes.get(*at..).is_some_and(|rest| rest.starts_with(magic)))
        };
        let named = MEDIA_TYPES.iter().find(|row| row.extensions.contains(&extension.as_str())).filter(has_magic);
        match named {
            // Without magic bytes to check, ASCII text with an audio extension is still text.
            Some(row) if !row.magic.is_empty() || is_binary(bytes) || !bytes.is_ascii() => {
                Self::Media(MediaType { family: row.family, mime_type: row.mime_type })
            }
            _ if is_binary(bytes) => Self::Binary,
            _ => Self::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, bytes: &[u8]) -> FileType {
        FileType::detect(Path::new(name), bytes)
    }

    fn is_media(name: &str, bytes: &[u8]) -> bool {
        matches!(of(name, bytes), FileType::Media(_))
    }

    #[test]
    fn names_and_bytes_agree() {
        let png = of("A.PNG", b"\x89PNG\r\n\x1a\n\0\0");
        assert_eq!(png, FileType::Media(MediaType { family: "image", mime_type: "image/png" }));
        assert!(is_media("x.pdf", b"%PDF-1.7"));
        assert!(is_media("x.webp", b"RIFF\0\0\0\0WEBPVP8 "));
        assert!(is_media("x.mp3", b"\xFF\xFB\x90\0"));
        assert_eq!(of("x.svg", b"<svg/>"), FileType::Svg);
    }

    #[test]
    fn a_wrong_extension_does_not_make_media() {
        assert_eq!(of("x.png", b"not a picture"), FileType::Text);
        assert_eq!(of("x.png", b"\0\0\0"), FileType::Binary);
        assert_eq!(of("x.mp3", b"plain text"), FileType::Text);
        assert_eq!(of("x.svg", b"\0\0"), FileType::Binary);
    }

    #[test]
    fn a_picture_is_one_by_name_and_bytes() {
        assert_eq!(image_type(Path::new("a.jpg"), b"\xFF\xD8\xFF\xE0"), Some("image/jpeg"));
        assert_eq!(image_type(Path::new("a.jpg"), b"\x89PNG\r\n\x1a\n"), None);
        assert_eq!(image_type(Path::new("a.pdf"), b"%PDF-1.7"), None);
        assert!(has_image_extension(Path::new("x/Y.WebP")) && !has_image_extension(Path::new("png")));
    }

    #[test]
    fn everything_else_is_text_or_binary() {
        assert_eq!(of("Makefile", b"all:\n"), FileType::Text);
        assert_eq!(of("main.ts", b"let a"), FileType::Text);
        assert_eq!(of("a.out", b"\x7FELF\0"), FileType::Binary);
        assert_eq!(of("empty", b""), FileType::Text);
        assert_eq!(of("empty.png", b""), FileType::Text);
    }
}
