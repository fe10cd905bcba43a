//! `config edit`: opens a settings file in the user's editor. The new text is written only if it parses.

use std::path::Path;

use anyhow::{Context, bail};
use hookwright_hooks::jsonc::Document;
use hookwright_settings::edit::{EditError, rewrite};
use hookwright_settings::{LoadedConfig, ProcessEnv, read_settings_file};

use super::{settings_target, warn_if_untrusted};
use crate::args::ScopeArg;
use crate::{exit, output, output::diagnostics};

/// The size limit of the edited text.
const MAX_EDITED_SETTINGS_BYTES: u64 = 16 << 20;

pub(super) fn run(loaded: &LoadedConfig, scope: ScopeArg, world: &ProcessEnv) -> anyhow::Result<u8> {
    let (file, source) = settings_target(loaded, scope);
    let before = read_settings_file(&file)?.unwrap_or_default();
    let draft = tempfile::Builder::new().prefix("settings-").suffix(".json").tempfile()?;
    hookwright_disk::make_private(draft.as_file())?;
    let text = if before.is_empty() { "{\n}\n" } else { &before };
    std::fs::write(draft.path(), text).context("can't write the temporary file to edit")?;
    open_editor(world, draft.path())?;
    let after = hookwright_disk::read_text(draft.path(), MAX_EDITED_SETTINGS_BYTES)
        .context("can't read the file that the editor left")?;
    if after == text {
        output::note("nothing has changed")?;
        return Ok(exit::OK);
    }
    if let Err(wrong) = &Document::parse(&file, &after).root {
        diagnostics::print([&**wrong])?;
        let (_, kept) = draft.keep().context("your text could not be saved")?;
        output::error(format!("{} was not changed: the edited text has errors", file.display()))?;
        output::hint(format!("your text is saved in {}", kept.display()))?;
        return Ok(exit::ERROR);
    }
    let mut meanwhile = false;
    rewrite(&file, |now| {
        meanwhile = now != before;
        Ok::<_, EditError>(if meanwhile { now.to_owned() } else { after.clone() })
    })?;
    if meanwhile {
        let (_, kept) = draft.keep().context("your text could not be saved")?;
        bail!(
            "{} was changed in the meantime and was not overwritten; your text is saved in {}",
            file.display(),
            kept.display()
        );
    }
    output::note(format!("wrote {}", file.display()))?;
    warn_if_untrusted(loaded, &source)?;
    output::hint("`hookwright hooks validate` checks the settings")?;
    Ok(exit::OK)
}

/// Opens a file in the user's editor and waits until the editor ends.
fn open_editor(world: &ProcessEnv, file: &Path) -> anyhow::Result<()> {
    let var = |name: &str| world.var(name).filter(|value| !value.trim().is_empty());
    let editor = var("VISUAL").or_else(|| var("EDITOR")).unwrap_or("vi");
    // The variable may hold several words, which the shell splits.
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(file);
    #[expect(clippy::disallowed_methods, reason = "the user is done with the editor when they are done")]
    let status = hookwright_process::spawn_detached(|| command.spawn()).and_then(|mut child| child.wait());
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => bail!("{editor} ended with an error; nothing was changed"),
        Err(error) => Err(error).with_context(|| format!("can't start {editor}")),
    }
}
