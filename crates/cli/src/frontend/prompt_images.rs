//! Images that a prompt mentions: where they are kept so that tools may read them, and how the prompt names them.

use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hookwright_agent::session::SessionView;
use hookwright_disk::Durability;
use hookwright_tools::{MAX_MEDIA_BYTES, Workspace, image_type};

use crate::presentation::humanize::format_image_size;

/// The age at which copies are deleted.
const MAX_COPY_AGE: Duration = Duration::from_secs(7 * 24 * 3600);

/// Where images may be read and copied to.
#[derive(Clone, Debug)]
pub(crate) struct ImageFolder {
    pub(crate) workspace: Arc<Workspace>,
    /// The folder for copies of images that tools may not read.
    pub(crate) folder: PathBuf,
}

/// An image that a prompt can mention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptImage {
    /// The label on the screen, such as `image shot.png, 12 KB`.
    pub(crate) label: String,
    /// The mention in the prompt.
    pub(crate) mention: String,
}

impl ImageFolder {
    /// Returns the folder for images of a session.
    pub(crate) fn of_view(view: &SessionView) -> Self {
        let loaded = &view.loaded;
        let folder = loaded.paths.project_temp_dir(&loaded.project.root).join("images");
        ImageFolder { workspace: view.services.tool_context.workspace.clone(), folder }
    }

    /// Keeps an image where tools may read it; the error says why that is not possible.
    pub(crate) fn keep(&self, name: &str, bytes: &[u8]) -> Result<KeptImage, String> {
        if bytes.len() as u64 > MAX_MEDIA_BYTES {
            let (size, most) = (format_image_size(bytes.len() as u64), format_image_size(MAX_MEDIA_BYTES));
            return Err(format!("{name} is too large to send: {size}, at most {most}"));
        }
        if image_type(Path::new(name), bytes).is_none() {
            return Err(format!("{name} is not an image of a known kind"));
        }
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let extension = Path::new(name).extension().unwrap_or(OsStr::new("png")).to_string_lossy().to_lowercase();
        let file = self.folder.join(format!("{:016x}.{extension}", hasher.finish()));
        remove_old_copies(&self.folder);
        hookwright_disk::write_atomic_private(&file, bytes, Durability::Unsynced)
            .map_err(|error| error.to_string())
            .and_then(|()| self.workspace.allow_reading(&self.folder).map_err(|error| error.to_string()))
            .map_err(|error| format!("{name} can't be copied to {}: {error}", self.folder.display()))?;
        let mention =
            image_mention(&file, &self.workspace).ok_or_else(|| format!("{name} can't be named in a prompt"))?;
        Ok(KeptImage { label: image_label(name, bytes.len() as u64), mention })
    }
}

/// Returns the mention of an image, if tools may read it.
pub(crate) fn image_mention(path: &Path, workspace: &Workspace) -> Option<String> {
    let real = workspace.resolve_to_read(path.to_str()?).ok()?;
    mention_of(&workspace.shorten(&real))
}

/// Returns the mention of a path in a prompt; none if its characters do not fit into one.
pub(crate) fn mention_of(path: &str) -> Option<String> {
    let plain = |char: char| char.is_alphanumeric() || matches!(char, '/' | '.' | '_' | '-');
    match path.chars().all(plain) {
        true => Some(format!("@{path}")),
        false => Some(format!("@\"{path}\"")).filter(|_| !path.contains(|char: char| char == '"' || char.is_control())),
    }
    .filter(|_| !path.is_empty())
}

fn remove_old_copies(folder: &Path) {
    let is_old = |entry: &std::fs::DirEntry| {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        modified.is_ok_and(|then| then.elapsed().is_ok_and(|age| age > MAX_COPY_AGE))
    };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten().filter(is_old) {
        let _ = std::fs::remove_file(entry.path());
    }
}

/// Returns the label `[image shot.png, 12 KB]` without its brackets.
pub(crate) fn image_label(name: &str, size: u64) -> String {
    let name: String =
        crate::output::sanitize(name).chars().filter(|char| !matches!(char, '[' | ']' | '\n' | '\t')).collect();
    format!("image {}, {}", crate::output::truncate_columns(&name, 40), format_image_size(size))
}
