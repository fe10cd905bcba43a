//! Images for a prompt, from a pasted path or from the clipboard.
//!
//! An image that tools may not read is copied to a folder where they may. In the prompt it is `@path`, on the screen
//! `[image shot.png, 12 KB]`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hookwright_agent::context::mentioned_files;
use hookwright_disk::{ReadError, SymlinkPolicy};
use hookwright_process::{
    CaptureLimit, Exit, OutputRouting, Process, ProcessGroups, ProcessInput, ProgramSpec, TerminationWait,
};
use hookwright_tools::{MAX_MEDIA_BYTES, Workspace, has_image_extension, image_type};
use percent_encoding::percent_decode_str;

use super::app::App;
use super::driver::ScreenDriver;
use crate::frontend::prompt_images::{ImageFolder, KeptImage, image_label, image_mention};
use crate::presentation::humanize::format_image_size;
use crate::presentation::styled_text::WARN;

/// The longest pasted text that is taken for a path.
const MAX_PASTED_PATH_BYTES: usize = 1000;

/// The result of looking for an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ImageLookup {
    /// An image: its label on the screen, and its mention in the prompt.
    Image { label: String, mention: String },
    /// No image: the pasted text, and a reason if it is worth showing.
    NotAnImage(String, Option<String>),
    /// No image can be had, for this reason.
    Unavailable(String),
}

/// Returns the path that a pasted text names, if it has an image's extension.
///
/// Terminals paste dropped files quoted, escaped or as a URL.
pub(crate) fn image_path(text: &str, home: &Path) -> Option<PathBuf> {
    let text = text.trim();
    if text.is_empty() || text.len() > MAX_PASTED_PATH_BYTES || text.contains(|char: char| char.is_control()) {
        return None;
    }
    let quoted = ['\'', '"'].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    let path = match (quoted, text.strip_prefix("file://")) {
        (Some(inner), _) => inner.to_owned(),
        (None, Some(address)) => {
            percent_decode_str(address.get(address.find('/')?..)?).decode_utf8().ok()?.into_owned()
        }
        (None, None) => unescape_path(text)?,
    };
    let path = match path.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(path),
    };
    has_image_extension(&path).then_some(path)
}

/// Returns a path without a shell's backslashes.
///
/// An unescaped blank means that the text is a sentence, unless it begins like a path.
fn unescape_path(text: &str) -> Option<String> {
    let begins = text.starts_with(['/', '~', '.']);
    let mut path = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' if !cfg!(windows) => path.extend(chars.next()),
            ' ' if !begins => return None,
            char => path.push(char),
        }
    }
    Some(path)
}

/// Looks up the image at a path that was pasted as `text`.
pub(crate) fn from_path(path: &Path, text: &str, place: &ImageFolder) -> ImageLookup {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let path = place.workspace.directory().join(path);
    let not = |why: String| ImageLookup::NotAnImage(text.to_owned(), Some(why));
    let bytes = match hookwright_disk::read(&path, MAX_MEDIA_BYTES, SymlinkPolicy::Follow) {
        Ok(bytes) => bytes,
        Err(ReadError::TooLarge(size)) => return not(too_large_text(&name, size)),
        // A path that cannot be read is ordinary text.
        Err(_) => return ImageLookup::NotAnImage(text.to_owned(), None),
    };
    if image_type(&path, &bytes).is_none() {
        return not(format!("{name} is named like an image but is not one; its path was pasted"));
    }
    match image_mention(&path, &place.workspace) {
        Some(mention) => ImageLookup::Image { label: image_label(&name, bytes.len() as u64), mention },
        None => copy_image(&name, &bytes, place),
    }
}

fn copy_image(name: &str, bytes: &[u8], place: &ImageFolder) -> ImageLookup {
    match place.keep(name, bytes) {
        Ok(KeptImage { label, mention }) => ImageLookup::Image { label, mention },
        Err(why) => ImageLookup::Unavailable(why),
    }
}

fn too_large_text(name: &str, size: u64) -> String {
    let most = format_image_size(MAX_MEDIA_BYTES);
    format!("{name} is too large to send: {}, at most {most}; its path was pasted", format_image_size(size))
}

/// Returns a prompt with labels for its images, or none if it mentions none.
pub(crate) fn abbreviate_images(prompt: &str, workspace: &Workspace) -> Option<String> {
    let mut shown = String::new();
    let mut from = 0;
    for (range, path) in mentioned_files(prompt, workspace) {
        let Some(size) = has_image_extension(&path).then(|| image_size(&path)).flatten() else { continue };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        shown.push_str(&prompt[from..range.start]);
        shown.push_str(&format!("[{}]", image_label(&name, size)));
        from = range.end;
    }
    (from > 0).then(|| shown + &prompt[from..])
}

fn image_size(path: &Path) -> Option<u64> {
    use std::io::Read;
    let (file, metadata) = hookwright_disk::open_regular(path, SymlinkPolicy::Follow).ok()?;
    let mut first = Vec::new();
    file.take(64).read_to_end(&mut first).ok()?;
    image_type(path, &first).map(|_| metadata.len())
}

impl App {
    /// Inserts the result of a lookup into the composer.
    pub(crate) fn insert_image(&mut self, got: ImageLookup) {
        match got {
            ImageLookup::Image { label, mention } => self.composer.attach(&label, mention),
            ImageLookup::NotAnImage(text, why) => {
                self.composer.paste(&text);
                why.iter().for_each(|why| self.push_text(WARN, why));
            }
            ImageLookup::Unavailable(why) => self.push_text(WARN, why),
        }
    }
}

impl ScreenDriver<'_> {
    /// Starts a lookup in the background if the pasted text may be an image for the prompt, and returns whether it did.
    pub(crate) fn look_up_pasted_image(&mut self, text: &str) -> bool {
        let writes = self.app.question().is_none() && !self.app.shell_mode;
        let Some(path) = image_path(text, &self.session.view().loaded.paths.home).filter(|_| writes) else {
            return false;
        };
        let (sender, text, place) =
            (self.images.0.clone(), text.to_owned(), ImageFolder::of_view(&self.session.view()));
        tokio::task::spawn_blocking(move || sender.send(from_path(&path, &text, &place)));
        true
    }

    /// Starts a lookup of an image in the clipboard in the background.
    pub(crate) fn look_up_clipboard_image(&mut self) {
        let (sender, place) = (self.images.0.clone(), ImageFolder::of_view(&self.session.view()));
        let env = self.world.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let groups = self.session.view().services.tool_context.process_groups.clone();
        tokio::spawn(async move { sender.send(from_clipboard(place, env, groups).await) });
    }

    /// Remembers the labels of the images that a prompt mentions, for its echo.
    pub(crate) fn show_images(&mut self, text: &str) {
        let place = ImageFolder::of_view(&self.session.view());
        // Images in the folder were allowed before; a new conversation resets the allowed paths.
        if text.contains(&*place.folder.to_string_lossy()) {
            let _ = place.workspace.allow_reading(&place.folder);
        }
        if self.app.sent_prompts.abbreviated(text).is_none()
            && let Some(shown) = abbreviate_images(text, &place.workspace)
        {
            self.app.sent_prompts.remember(text, shown);
        }
    }
}

/// Programs that print an image from the clipboard, with their arguments.
const CLIPBOARD_READERS: &[(&str, &[&str])] = &[
    ("wl-paste", &["--no-newline", "--type", "image/png"]),
    ("xclip", &["-selection", "clipboard", "-target", "image/png", "-out"]),
    ("pngpaste", &["-"]),
];

/// Returns the image in the clipboard from the first program that prints one.
pub(crate) async fn from_clipboard(
    place: ImageFolder,
    env: Vec<(OsString, OsString)>,
    groups: Arc<ProcessGroups>,
) -> ImageLookup {
    let name = Path::new("clipboard.png");
    let mut asked = Vec::new();
    for (program, args) in CLIPBOARD_READERS {
        let Some(path) = find_program(program, &env) else { continue };
        asked.push(*program);
        match program_output(&path, args, &env, &groups).await {
            Some(bytes) if bytes.len() as u64 > MAX_MEDIA_BYTES => {
                let most = format_image_size(MAX_MEDIA_BYTES);
                return ImageLookup::Unavailable(format!(
                    "the image in the clipboard is too large to send: at most {most}"
                ));
            }
            Some(bytes) if image_type(name, &bytes).is_some() => return copy_image("clipboard.png", &bytes, &place),
            _ => {}
        }
    }
    let none = "reading an image from the clipboard needs wl-paste, xclip or pngpaste; none is installed";
    ImageLookup::Unavailable(match asked.is_empty() {
        true => none.to_owned(),
        false => format!("there is no image in the clipboard ({} gave none)", asked.join(", ")),
    })
}

fn find_program(program: &str, env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path)?;
    // Relative entries of PATH are skipped, so that programs of the project are not run.
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// Returns a program's output if it succeeds within the timeout.
async fn program_output(
    path: &Path,
    args: &[&str],
    env: &[(OsString, OsString)],
    groups: &Arc<ProcessGroups>,
) -> Option<Vec<u8>> {
    const CLIPBOARD_READER_TIMEOUT: Duration = Duration::from_secs(5);
    let mut process = spawn_reader(path, args, env, groups)?;
    let exit = tokio::time::timeout(CLIPBOARD_READER_TIMEOUT, process.wait()).await;
    if !matches!(exit, Ok(Ok(_))) {
        process.terminate(Duration::from_millis(200), TerminationWait::Leader).await;
    }
    let printed = process.stdout().head().to_vec();
    process.finish();
    matches!(exit, Ok(Ok(Exit::Code(0)))).then_some(printed).filter(|bytes| !bytes.is_empty())
}

fn spawn_reader(
    path: &Path,
    args: &[&str],
    env: &[(OsString, OsString)],
    groups: &Arc<ProcessGroups>,
) -> Option<Process> {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let mut env = env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let (name, cwd) = (path.file_name()?, Path::new("/"));
    let mut program = ProgramSpec { path, name, args: &args, cwd, cwd_handle: None, env: &mut env };
    let most = usize::try_from(MAX_MEDIA_BYTES).ok()? + 1;
    Process::spawn(&mut program, ProcessInput::Empty, OutputRouting::Separate(CaptureLimit::Head(most)), groups).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

    fn place() -> (tempfile::TempDir, ImageFolder) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("w")).unwrap();
        let workspace = Arc::new(Workspace::new(dir.path().join("w"), []).unwrap());
        let folder = workspace.directory().with_file_name("images");
        (dir, ImageFolder { workspace, folder })
    }

    #[test]
    fn a_pasted_path_is_recognised_quoted_escaped_or_as_a_url() {
        let home = Path::new("/home/u");
        let path = |text: &str| image_path(text, home).map(|path| path.display().to_string());
        for (text, expected) in [
            ("/tmp/shot.png", "/tmp/shot.png"),
            ("  shot.PNG \n", "shot.PNG"),
            (r"/tmp/my\ shot\(1\).png", "/tmp/my shot(1).png"),
            ("/tmp/my shot.png", "/tmp/my shot.png"),
            ("'/tmp/my shot.png'", "/tmp/my shot.png"),
            ("\"a b.jpeg\"", "a b.jpeg"),
            ("~/a.webp", "/home/u/a.webp"),
            ("file:///tmp/my%20shot.png", "/tmp/my shot.png"),
            ("file://host/tmp/a.png", "/tmp/a.png"),
        ] {
            assert_eq!(path(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "look at shot.png", "a.png\nb.png", "notes.txt", "png", "file://", "\u{1b}/a.png"] {
            assert_eq!(path(text), None, "{text}");
        }
        assert_eq!(path(&format!("/{}.png", "x".repeat(2000))), None);
    }

    #[test]
    fn readable_images_are_mentioned_in_place_and_others_are_copied() {
        let (dir, place) = place();
        let inside = dir.path().join("w/my shot.png");
        std::fs::write(&inside, PNG).unwrap();
        let image = |label: &str, mention: &str| ImageLookup::Image { label: label.into(), mention: mention.into() };
        assert_eq!(from_path(&inside, "x", &place), image("image my shot.png, 16 bytes", "@\"my shot.png\""));
        assert_eq!(
            from_path(Path::new("my shot.png"), "x", &place),
            image("image my shot.png, 16 bytes", "@\"my shot.png\"")
        );
        let outside = dir.path().join("o[u]t.png");
        std::fs::write(&outside, [PNG, &[0; 5000]].concat()).unwrap();
        let ImageLookup::Image { label, mention } = from_path(&outside, "x", &place) else { panic!("no image") };
        assert_eq!(label, "image out.png, 5 KB");
        let copy = PathBuf::from(mention.strip_prefix('@').unwrap());
        assert!(copy.starts_with(place.folder.canonicalize().unwrap()) && place.workspace.may_read(&copy), "{mention}");
        assert_eq!(
            abbreviate_images(&format!("see {mention} now"), &place.workspace).unwrap().matches("[image ").count(),
            1
        );
    }

    #[test]
    fn a_file_that_is_no_image_or_too_large_stays_text_with_a_warning() {
        let (dir, place) = place();
        let write = |name: &str, bytes: &[u8]| {
            let path = dir.path().join("w").join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let text = write("text.png", b"words");
        let ImageLookup::NotAnImage(pasted, Some(why)) = from_path(&text, "text.png", &place) else {
            panic!("no text")
        };
        assert_eq!(
            (pasted.as_str(), why.as_str()),
            ("text.png", "text.png is named like an image but is not one; its path was pasted")
        );
        let big = write("big.png", PNG);
        std::fs::File::options().write(true).open(&big).unwrap().set_len(MAX_MEDIA_BYTES + 1).unwrap();
        let ImageLookup::NotAnImage(_, Some(why)) = from_path(&big, "big.png", &place) else { panic!("no text") };
        assert!(why.starts_with("big.png is too large to send: 14.0 MB, at most 14.0 MB"), "{why}");
        assert_eq!(from_path(Path::new("/no/such.png"), "t", &place), ImageLookup::NotAnImage("t".into(), None));
        assert_eq!(from_path(dir.path(), "t", &place), ImageLookup::NotAnImage("t".into(), None));
    }

    #[test]
    fn a_prompt_shows_its_images() {
        let (dir, place) = place();
        std::fs::write(dir.path().join("w/p.png"), PNG).unwrap();
        std::fs::write(dir.path().join("w/t.png"), "text").unwrap();
        let shown = |prompt: &str| abbreviate_images(prompt, &place.workspace);
        assert_eq!(
            shown("what is @p.png? and @p.png").as_deref(),
            Some("what is [image p.png, 16 bytes]? and [image p.png, 16 bytes]")
        );
        assert_eq!(shown("@t.png @nope.png me@p.png"), None);
    }
}
