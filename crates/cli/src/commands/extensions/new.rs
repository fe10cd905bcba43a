//! `extensions new`: writes a small extension from a template. Each one passes `validate`, and those with code have
//! tests. The files are in `new/`, with `@NAME@` for the extension's name.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use hookwright_settings::{FolderTrust, ProcessEnv, wrong_with_extension_name};

use crate::args::ExtensionTemplate;
use crate::commands::hooks::LoadedProject;
use crate::{exit, output};

/// One file of a template.
struct TemplateFile {
    path: &'static str,
    text: &'static str,
    mode: TemplateFileMode,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TemplateFileMode {
    Plain,
    Executable,
}

const fn plain_file(path: &'static str, text: &'static str) -> TemplateFile {
    TemplateFile { path, text, mode: TemplateFileMode::Plain }
}

const fn executable_file(path: &'static str, text: &'static str) -> TemplateFile {
    TemplateFile { path, text, mode: TemplateFileMode::Executable }
}

/// Returns the files of a template.
fn template_files(template: ExtensionTemplate) -> &'static [TemplateFile] {
    const MANIFEST: &str = "gemini-extension.json";
    match template {
        ExtensionTemplate::Context => {
            const {
                &[
                    plain_file(MANIFEST, include_str!("new/context/manifest.json")),
                    plain_file("GEMINI.md", include_str!("new/context/GEMINI.md")),
                ]
            }
        }
        ExtensionTemplate::Hooks => {
            const {
                &[
                    plain_file(MANIFEST, include_str!("new/hooks/manifest.json")),
                    plain_file("hooks/hooks.json", include_str!("new/hooks/hooks.json")),
                    executable_file("hooks/no-secrets.sh", include_str!("new/hooks/no-secrets.sh")),
                    plain_file("tests/no-secrets.hooktest.toml", include_str!("new/hooks/no-secrets.hooktest.toml")),
                ]
            }
        }
        ExtensionTemplate::Commands => {
            const {
                &[
                    plain_file(MANIFEST, include_str!("new/commands/manifest.json")),
                    plain_file("commands/review.toml", include_str!("new/commands/review.toml")),
                    plain_file("checklist.md", include_str!("new/commands/checklist.md")),
                ]
            }
        }
        ExtensionTemplate::McpServer => {
            const {
                &[
                    plain_file(MANIFEST, include_str!("new/mcp-server/manifest.json")),
                    plain_file("server.js", include_str!("new/mcp-server/server.js")),
                    plain_file("server.test.js", include_str!("new/mcp-server/server.test.js")),
                ]
            }
        }
        ExtensionTemplate::Skill => {
            const {
                &[
                    plain_file(MANIFEST, include_str!("new/skill/manifest.json")),
                    plain_file("skills/release-notes/SKILL.md", include_str!("new/skill/SKILL.md")),
                ]
            }
        }
        ExtensionTemplate::Agent => {
            const {
                &[
                    plain_file(MANIFEST, include_str!("new/agent/manifest.json")),
                    plain_file("agents/reviewer.md", include_str!("new/agent/reviewer.md")),
                ]
            }
        }
    }
}

/// Returns a hint at how to try the new extension.
fn next_step(template: ExtensionTemplate, shown: &str, trust: &FolderTrust) -> String {
    // The new files need no trust, but the folder around them may.
    let skip = if trust.is_trusted() { "" } else { " --skip-trust" };
    match template {
        ExtensionTemplate::Hooks => format!("run its tests: hookwright hooks test {shown}/tests{skip}"),
        ExtensionTemplate::McpServer => format!("run its tests: node --test {shown}/server.test.js"),
        _ => format!("check it: hookwright extensions validate {shown}"),
    }
}

pub(super) fn run(
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    path: &Path,
    template: Option<ExtensionTemplate>,
) -> anyhow::Result<u8> {
    let template = template.unwrap_or(ExtensionTemplate::Context);
    let folder = world.cwd.join(path);
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(wrong) = wrong_with_extension_name(&name) {
        bail!("`{name}` can't be an extension's name: {wrong}");
    }
    let is_empty = || std::fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_none());
    if folder.symlink_metadata().is_ok() && !is_empty() {
        bail!("{} exists already", path.display());
    }
    let is_new = !folder.exists();
    if let Err(error) = write_all(&folder, &name, template_files(template)) {
        // A partly written extension would block the next try.
        if is_new {
            let _ = std::fs::remove_dir_all(&folder);
        }
        return Err(error);
    }
    let shown = path.display().to_string();
    output::note(format!("`{name}` is in {shown}"))?;
    output::hint(next_step(template, &shown, &toolbox.loaded.project.trust))?;
    output::hint(format!("use it while you write it: hookwright extensions link {shown}"))?;
    Ok(exit::OK)
}

fn write_all(folder: &Path, name: &str, files: &[TemplateFile]) -> anyhow::Result<()> {
    for file in files {
        let path = folder.join(file.path);
        let failed = || format!("can't write {}", path.display());
        std::fs::create_dir_all(path.parent().unwrap_or(folder)).with_context(failed)?;
        let text = file.text.replace("@NAME@", name);
        hookwright_disk::write_atomic(
            &path,
            text.as_bytes(),
            hookwright_disk::FilePrivacy::Shared,
            hookwright_disk::SymlinkPolicy::Follow,
        )
        .with_context(failed)?;
        if file.mode == TemplateFileMode::Executable {
            make_executable(&path).with_context(failed)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn make_executable(path: &PathBuf) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &PathBuf) -> std::io::Result<()> {
    Ok(())
}
