//! `extensions new`: a small extension of each kind that works, passes `validate`, and has tests where there is something to test.
//! The files are in `new/`, with `@NAME@` for its name.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use hookwright_settings::{FolderTrust, World, wrong_with_extension_name};

use crate::args::Template;
use crate::hooks::Toolbox;
use crate::{exit, out};

/// A file of a template.
struct File {
    path: &'static str,
    text: &'static str,
    mode: Mode,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Plain,
    Executable,
}

const fn plain(path: &'static str, text: &'static str) -> File {
    File { path, text, mode: Mode::Plain }
}

const fn executable(path: &'static str, text: &'static str) -> File {
    File { path, text, mode: Mode::Executable }
}

/// THE table of templates.
fn files(template: Template) -> &'static [File] {
    const MANIFEST: &str = "gemini-extension.json";
    match template {
        Template::Context => {
            const {
                &[
                    plain(MANIFEST, include_str!("new/context/manifest.json")),
                    plain("GEMINI.md", include_str!("new/context/GEMINI.md")),
                ]
            }
        }
        Template::Hooks => {
            const {
                &[
                    plain(MANIFEST, include_str!("new/hooks/manifest.json")),
                    plain("hooks/hooks.json", include_str!("new/hooks/hooks.json")),
                    executable("hooks/no-secrets.sh", include_str!("new/hooks/no-secrets.sh")),
                    plain("tests/no-secrets.hooktest.toml", include_str!("new/hooks/no-secrets.hooktest.toml")),
                ]
            }
        }
        Template::Commands => {
            const {
                &[
                    plain(MANIFEST, include_str!("new/commands/manifest.json")),
                    plain("commands/review.toml", include_str!("new/commands/review.toml")),
                    plain("checklist.md", include_str!("new/commands/checklist.md")),
                ]
            }
        }
        Template::McpServer => {
            const {
                &[
                    plain(MANIFEST, include_str!("new/mcp-server/manifest.json")),
                    plain("server.js", include_str!("new/mcp-server/server.js")),
                    plain("server.test.js", include_str!("new/mcp-server/server.test.js")),
                ]
            }
        }
        Template::Skill => {
            const {
                &[
                    plain(MANIFEST, include_str!("new/skill/manifest.json")),
                    plain("skills/release-notes/SKILL.md", include_str!("new/skill/SKILL.md")),
                ]
            }
        }
        Template::Agent => {
            const {
                &[
                    plain(MANIFEST, include_str!("new/agent/manifest.json")),
                    plain("agents/reviewer.md", include_str!("new/agent/reviewer.md")),
                ]
            }
        }
    }
}

/// How to try what a template has made.
fn next_step(template: Template, shown: &str, trust: &FolderTrust) -> String {
    // What was written just now needs nobody's trust, but the folder around it may.
    let skip = if trust.is_trusted() { "" } else { " --skip-trust" };
    match template {
        Template::Hooks => format!("run its tests: hookwright hooks test {shown}/tests{skip}"),
        Template::McpServer => format!("run its tests: node --test {shown}/server.test.js"),
        _ => format!("check it: hookwright extensions validate {shown}"),
    }
}

pub(super) fn run(toolbox: &Toolbox, world: &World, path: &Path, template: Option<Template>) -> anyhow::Result<u8> {
    let template = template.unwrap_or(Template::Context);
    let folder = world.cwd.join(path);
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(wrong) = wrong_with_extension_name(&name) {
        bail!("`{name}` can't be an extension's name: {wrong}");
    }
    let is_empty = || std::fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_none());
    if folder.symlink_metadata().is_ok() && !is_empty() {
        bail!("{} is there already", path.display());
    }
    let is_new = !folder.exists();
    if let Err(error) = write_all(&folder, &name, files(template)) {
        // Half an extension is in the way of the next try.
        if is_new {
            let _ = std::fs::remove_dir_all(&folder);
        }
        return Err(error);
    }
    let shown = path.display().to_string();
    out::note(format!("`{name}` is in {shown}"))?;
    out::hint(next_step(template, &shown, &toolbox.loaded.project.trust))?;
    out::hint(format!("use it while you write it: hookwright extensions link {shown}"))?;
    Ok(exit::OK)
}

fn write_all(folder: &Path, name: &str, files: &[File]) -> anyhow::Result<()> {
    for file in files {
        let path = folder.join(file.path);
        let failed = || format!("can't write {}", path.display());
        std::fs::create_dir_all(path.parent().unwrap_or(folder)).with_context(failed)?;
        let text = file.text.replace("@NAME@", name);
        hookwright_disk::replace(
            &path,
            text.as_bytes(),
            hookwright_disk::Privacy::Shared,
            hookwright_disk::Links::Follow,
        )
        .with_context(failed)?;
        if file.mode == Mode::Executable {
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
