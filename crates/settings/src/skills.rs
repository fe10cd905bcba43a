//! Finds skills on disk in the Agent Skills format: folders with a `SKILL.md` whose front matter describes them.
//! Problems are reported; a tool loads a skill for the model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hookwright_hooks::{Diagnostic, Severity, Source, SourceText};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::file::{FileError, read_bytes, read_text_up_to, resolves_inside};
use crate::front_matter::{self, FrontMatterField};
use crate::load::LoadedConfig;
use crate::paths::{GEMINI_DIR, hex};

/// Name of the file that defines a skill.
pub const SKILL_FILE: &str = "SKILL.md";
/// Largest `SKILL.md`; a larger one would fill the model's context by itself.
pub const MAX_SKILL_BYTES: u64 = 1 << 20;
/// Most skills that are read from one folder.
const MAX_SKILLS_PER_FOLDER: usize = 2_000;
/// Limits of the format, in characters.
const MAX_SKILL_NAME_CHARS: usize = 64;
const MAX_SKILL_DESCRIPTION_CHARS: usize = 1_024;

/// A skill and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skill {
    /// Name that activates the skill.
    pub name: String,
    /// Description on one line, within the format's limit.
    pub description: String,
    /// Layer or extension that the skill belongs to.
    pub source: Source,
    /// Its folder, with links followed.
    pub folder: PathBuf,
    /// Its `SKILL.md`, with links followed.
    pub file: PathBuf,
    pub state: SkillState,
}

/// Whether a skill can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillState {
    /// The model may activate it.
    Offered,
    /// Only the user may call it, as its author wants.
    UserOnly,
    /// The settings list it as disabled.
    Disabled,
    /// The settings disable all skills.
    AllOff,
    /// A skill of the same name in this folder has precedence.
    Overridden(PathBuf),
}

impl SkillState {
    /// Whether it can be used, by the model or by the user.
    pub fn is_active(&self) -> bool {
        matches!(self, SkillState::Offered | SkillState::UserOnly)
    }
}

/// All skills that were found, and the problems of those that were left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skills {
    /// The skills, by name.
    pub list: Vec<Skill>,
    /// Errors for skills that were left out, warnings for others.
    pub diagnostics: Vec<Diagnostic>,
}

/// Finds the skills of active extensions, the user and the project, lowest precedence first; in each place `.agents`
/// wins over `.gemini`.
pub fn discover(loaded: &LoadedConfig) -> Skills {
    let mut skills = Skills::default();
    for extension in loaded.extensions.iter().filter(|extension| extension.active) {
        let source = Source::Extension(extension.name.clone());
        skills.add_folder(&source, &extension.skills_dir(), Some(&extension.path));
    }
    for folder in loaded.paths.skills_dirs(&loaded.paths.home) {
        skills.add_folder(&Source::User, &folder, None);
    }
    let root = &loaded.project.root;
    if loaded.project.trust.is_trusted() && root.join(GEMINI_DIR) != loaded.paths.user_dir {
        for folder in loaded.paths.skills_dirs(root) {
            skills.add_folder(&Source::Project, &folder, Some(root));
        }
    }
    let settings = &loaded.settings.skills;
    for skill in skills.list.iter_mut().filter(|skill| skill.state.is_active()) {
        if !settings.enabled {
            skill.state = SkillState::AllOff;
        } else if settings.disabled.iter().any(|name| is_same_name(&skill.name, name)) {
            skill.state = SkillState::Disabled;
        }
    }
    skills.list.sort_by(|one, other| one.name.cmp(&other.name));
    skills
}

/// Whether two names are equal, ignoring case as in Gemini CLI.
fn is_same_name(name: &str, asked: &str) -> bool {
    name.chars().flat_map(char::to_lowercase).eq(asked.trim().chars().flat_map(char::to_lowercase))
}

impl Skills {
    /// Returns the skills that the model may activate.
    pub fn offered(&self) -> impl Iterator<Item = &Skill> {
        self.list.iter().filter(|skill| skill.state == SkillState::Offered)
    }

    /// Returns the skill of this name that is not overridden, whatever its state.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        let counts = |skill: &&Skill| !matches!(skill.state, SkillState::Overridden(_));
        self.list.iter().filter(counts).find(|skill| is_same_name(&skill.name, name))
    }

    /// Adds all skills of a folder, which override known ones.
    fn add_folder(&mut self, source: &Source, folder: &Path, within: Option<&Path>) {
        let found = read_folder(folder, within, source);
        self.diagnostics.extend(found.diagnostics);
        for skill in found.list {
            if let Some(earlier) =
                self.list.iter_mut().find(|known| known.state.is_active() && is_same_name(&known.name, &skill.name))
            {
                earlier.state = SkillState::Overridden(skill.folder.clone());
            }
            self.list.push(skill);
        }
    }
}

/// Reads the skills of one folder: its own, and one of each folder in it. Skills outside of `within` are rejected,
/// also through links.
pub fn read_folder(folder: &Path, within: Option<&Path>, source: &Source) -> Skills {
    let mut skills = Skills::default();
    let mut folders = match std::fs::read_dir(folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect::<Vec<_>>(),
        Err(error) => {
            if folder.symlink_metadata().is_ok() {
                let text = format!("these skills can't be read: {error}");
                skills.diagnostics.push(Diagnostic::about_file(Severity::Error, folder, text));
            }
            return skills;
        }
    };
    folders.retain(|path| path.is_dir() && !is_hidden(path));
    folders.sort();
    if folders.len() > MAX_SKILLS_PER_FOLDER {
        let text = format!("there are {} skills here; only the first {MAX_SKILLS_PER_FOLDER} count", folders.len());
        skills.diagnostics.push(Diagnostic::about_file(Severity::Error, folder, text));
        folders.truncate(MAX_SKILLS_PER_FOLDER);
    }
    let own = folder.join(SKILL_FILE).symlink_metadata().is_ok().then(|| folder.to_owned());
    for folder in own.into_iter().chain(folders) {
        let mut reader = SkillReader { file: folder.join(SKILL_FILE), source, diagnostics: &mut skills.diagnostics };
        let skill = reader.read_skill(&folder, within);
        skills.list.extend(skill);
    }
    skills
}

/// Reads the skill of one folder.
pub fn read_skill_folder(folder: &Path, source: &Source) -> Skills {
    let mut skills = Skills::default();
    let mut reader = SkillReader { file: folder.join(SKILL_FILE), source, diagnostics: &mut skills.diagnostics };
    let skill = reader.read_skill(folder, None);
    skills.list.extend(skill);
    skills
}

fn is_hidden(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".") || name == "node_modules")
}

/// Reads the present instructions of a skill from disk.
///
/// # Errors
/// If its file can't be read, or has no front matter any more.
pub fn read_instructions(skill: &Skill) -> Result<String, String> {
    let Skill { file, .. } = skill;
    // The file may have been replaced by a link since it was checked.
    if skill.folder.join(SKILL_FILE).canonicalize().is_ok_and(|real| real != *file) {
        return Err(format!("{} now leads elsewhere", skill.folder.join(SKILL_FILE).display()));
    }
    let text = read_text_up_to(file, MAX_SKILL_BYTES).map_err(|error| error.to_string())?;
    let text = text.ok_or_else(|| format!("{} is gone", file.display()))?;
    let mut wrong = Vec::new();
    match front_matter::parse_front_matter(&text, &SourceText::new(file, &text), &mut wrong) {
        Some(found) => Ok(found.body.trim().to_owned()),
        None => Err(wrong.first().map_or_else(String::new, ToString::to_string)),
    }
}

/// Files in a skill's folder beside its instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillResources {
    /// Sorted paths of files and links, relative to the folder; links are not followed.
    pub files: Vec<String>,
    /// Whether there are more files, which are not listed.
    pub truncated: bool,
}

/// Most files that are listed.
const MAX_LISTED_RESOURCES: usize = 200;
const MAX_RESOURCE_DEPTH: usize = 8;

/// Lists the files in a skill's folder beside its instructions.
pub fn list_resources(folder: &Path) -> SkillResources {
    let mut found = SkillResources::default();
    let mut waiting = vec![(folder.to_owned(), 0)];
    while let Some((directory, depth)) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let skipped = name == ".git" || name == "node_modules" || depth == MAX_RESOURCE_DEPTH;
                found.truncated |= depth == MAX_RESOURCE_DEPTH;
                waiting.extend((!skipped).then_some((path, depth + 1)));
            } else if depth > 0 || name != SKILL_FILE {
                let inner = path.strip_prefix(folder).unwrap_or(&path);
                found.files.push(inner.to_string_lossy().replace('\\', "/"));
            }
        }
        // Stops early in folders with very many files, so that not all names are held in memory.
        if found.files.len() > MAX_LISTED_RESOURCES * 10 {
            found.truncated = true;
            break;
        }
    }
    found.files.sort();
    found.truncated |= found.files.len() > MAX_LISTED_RESOURCES;
    found.files.truncate(MAX_LISTED_RESOURCES);
    found
}

/// Returns a project's skills by path, each with a digest of its contents.
pub(crate) fn skill_digests(folders: &[PathBuf], root: &Path) -> BTreeMap<String, String> {
    let mut marks = BTreeMap::new();
    for folder in folders {
        for skill in read_folder(folder, Some(root), &Source::Project).list {
            let name = skill.folder.strip_prefix(root).unwrap_or(&skill.folder).display().to_string();
            marks.insert(name, skill_digest(&skill.folder));
        }
    }
    marks
}

fn skill_digest(folder: &Path) -> String {
    /// For larger files only the size is hashed.
    const MAX_DIGESTED_FILE_BYTES: u64 = 256 << 10;
    let mut digest = Sha256::new();
    for name in list_resources(folder).files.iter().map(String::as_str).chain([SKILL_FILE]) {
        digest.update(name);
        match read_bytes(&folder.join(name), MAX_DIGESTED_FILE_BYTES) {
            Ok(bytes) => digest.update(bytes.unwrap_or_default()),
            Err(FileError::TooLarge { size, .. }) => digest.update(size.to_le_bytes()),
            Err(error) => digest.update(error.to_string()),
        }
        digest.update([0]);
    }
    hex(&digest.finalize())[..16].to_owned()
}

/// Reads one skill and reports its problems.
struct SkillReader<'a> {
    file: PathBuf,
    source: &'a Source,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl SkillReader<'_> {
    fn read_skill(&mut self, folder: &Path, within: Option<&Path>) -> Option<Skill> {
        let text = self.read_skill_text(folder, within)?;
        let source = SourceText::new(&self.file, &text);
        let found = front_matter::parse_front_matter(&text, &source, self.diagnostics)?;
        let name = self.read_name(found.get("name"), folder, &source)?;
        let description = self.read_description(found.get("description"), &text, &source)?;
        if found.body.trim().is_empty() {
            self.warn("this skill has no instructions below its front matter");
        }
        let state = self.read_state(found.get("disable-model-invocation"), &source);
        if let Some(hooks) = found.get("hooks") {
            let range = &hooks.key_range;
            let text = "hooks in a skill do not run here";
            let wrong = source.diagnose(Severity::Warning, range.start, range.end, text);
            self.diagnostics
                .push(wrong.help("put them under `hooks` in settings, or in an extension's hooks/hooks.json"));
        }
        let (folder, file) = (folder.canonicalize().ok()?, self.file.canonicalize().ok()?);
        Some(Skill { name, description, source: self.source.clone(), folder, file, state })
    }

    /// Reads whether the model may activate the skill. Any value but false counts as a wish to hide it from the
    /// model.
    fn read_state(&mut self, field: Option<&FrontMatterField>, source: &SourceText<'_>) -> SkillState {
        let Some(field) = field.filter(|field| !field.value.is_null()) else { return SkillState::Offered };
        match field.value.to_json() {
            serde_json::Value::Bool(false) => return SkillState::Offered,
            serde_json::Value::Bool(true) => {}
            _ => {
                let range = &field.value.range;
                let text = "`disable-model-invocation` should be true or false; it counts as true";
                self.diagnostics.push(source.diagnose(Severity::Warning, range.start, range.end, text));
            }
        }
        SkillState::UserOnly
    }

    /// Reads the file's text, if the file is inside of the skill's folder and of `within`.
    fn read_skill_text(&mut self, folder: &Path, within: Option<&Path>) -> Option<String> {
        if let Some(within) = within.filter(|within| !resolves_inside(within, folder)) {
            let text = format!("this skill is a link that leads out of {}; it is left out", within.display());
            let wrong = Diagnostic::about_file(Severity::Error, folder, text);
            self.diagnostics.push(wrong.help("put a copy in place of the link"));
            return None;
        }
        match read_text_up_to(&self.file, MAX_SKILL_BYTES) {
            Ok(None) => self.warn(&format!("there is no {SKILL_FILE} here, so this is not a skill")),
            Ok(Some(_)) if !resolves_inside(within.unwrap_or(folder), &self.file) => {
                let text = format!(
                    "this file is a link that leads out of {}; it is left out",
                    within.unwrap_or(folder).display()
                );
                self.diagnostics.push(Diagnostic::about_file(Severity::Error, &self.file, text));
            }
            Ok(Some(text)) => return Some(text),
            Err(FileError::TooLarge { size, .. }) => {
                let text = format!("this skill is left out: it has {size} bytes, and the limit is {MAX_SKILL_BYTES}");
                let wrong = Diagnostic::about_file(Severity::Error, &self.file, text);
                self.diagnostics.push(wrong.help("move parts that are not always needed to other files"));
            }
            Err(error) => self.diagnostics.push(error.diagnostic()),
        }
        None
    }

    /// Returns the name in the front matter, else the folder's name.
    fn read_name(
        &mut self,
        field: Option<&FrontMatterField>,
        folder: &Path,
        source: &SourceText<'_>,
    ) -> Option<String> {
        let folder_name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let Some((field, written)) = field.and_then(|field| Some((field, field.value.text()?.trim()))) else {
            self.warn(&format!("`name` is missing; the folder's name is used: `{folder_name}`"));
            return Some(folder_name).filter(|name| is_usable_name(name));
        };
        let range = &field.value.range;
        let mut say = |severity, text: String| {
            self.diagnostics.push(source.diagnose(severity, range.start, range.end, text));
        };
        let name = replace_path_chars(written);
        if !is_usable_name(&name) {
            say(
                Severity::Error,
                format!("`{}` can't be the name of a skill; the skill is left out", written.escape_debug()),
            );
            return None;
        }
        let length = name.chars().count();
        if length > MAX_SKILL_NAME_CHARS {
            let text = format!(
                "a skill's name has at most {MAX_SKILL_NAME_CHARS} characters, not {length}; the skill is left out"
            );
            say(Severity::Error, text);
            return None;
        }
        if name != written {
            say(Severity::Warning, format!("a skill's name can't be a path; this one is renamed to `{name}`"));
        } else if name.chars().any(|char| !(char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-')) {
            say(Severity::Warning, "a skill's name should have only lowercase letters, digits and `-`".to_owned());
        } else if name != folder_name {
            say(Severity::Warning, format!("this skill is called `{name}`, but its folder `{folder_name}`"));
        }
        Some(name)
    }

    fn read_description(
        &mut self,
        field: Option<&FrontMatterField>,
        text: &str,
        source: &SourceText<'_>,
    ) -> Option<String> {
        let Some(field) = field.filter(|field| !field.value.is_null()) else {
            let wrong = source.diagnose(Severity::Error, 0, 3, "this skill has no `description`; it is left out");
            self.diagnostics.push(wrong.help("say in the front matter what it does and when to use it"));
            return None;
        };
        let range = field.value.range.clone();
        let mut say =
            |severity, text: String| self.diagnostics.push(source.diagnose(severity, range.start, range.end, text));
        let written = field.value.text().unwrap_or_else(|| {
            say(Severity::Warning, format!("`description` should be text, not {}", field.value.describe()));
            &text[range.clone()]
        });
        let line = written.split_whitespace().collect::<Vec<_>>().join(" ");
        let length = line.chars().count();
        if line.is_empty() {
            say(Severity::Error, "this skill's `description` is empty; it is left out".to_owned());
            return None;
        }
        if length <= MAX_SKILL_DESCRIPTION_CHARS {
            return Some(line);
        }
        let text = format!(
            "a skill's description has at most {MAX_SKILL_DESCRIPTION_CHARS} characters, not {length}; the rest is cut off"
        );
        say(Severity::Warning, text);
        Some(line.chars().take(MAX_SKILL_DESCRIPTION_CHARS - 1).chain(['…']).collect())
    }

    fn warn(&mut self, text: &str) {
        self.diagnostics.push(Diagnostic::about_file(Severity::Warning, &self.file, text));
    }
}

/// Replaces characters that could make a name a path or a pattern, as Gemini CLI does.
fn replace_path_chars(name: &str) -> String {
    name.replace([':', '\\', '/', '<', '>', '*', '?', '"', '|'], "-")
}

/// Whether a text can be a skill's name, and so the name of a folder.
pub fn is_usable_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && name == replace_path_chars(name) && !name.contains(char::is_control)
}

#[cfg(test)]
mod tests;
