//! The tool `save_memory`: adds a fact to the memory file of the call's context, under a fixed heading.

use super::planned_edit::PlannedEdit;
use crate::catalog::{self, BuiltinInfo};
use crate::context::ToolContext;
use crate::encoding::{Encoding, Fidelity, LineEnding};
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::file_io;
use crate::result::{ToolDisplay, ToolResult};
use crate::tool::{BuiltinTool, run_blocking};
use serde::Deserialize;
use serde_json::{Value, json};

/// The heading of the memories, which other programs that read the file know too.
const MEMORY_HEADING: &str = "## Gemini Added Memories";

pub(crate) struct SaveMemory;

#[derive(Deserialize)]
pub(crate) struct SaveMemoryArgs {
    fact: String,
}

impl BuiltinTool for SaveMemory {
    type Args = SaveMemoryArgs;

    fn info(&self) -> &'static BuiltinInfo {
        &catalog::SAVE_MEMORY
    }

    fn description(&self) -> String {
        "Remembers a fact for all future sessions. Use it when the user asks to remember something, or states a lasting \
         preference or fact about themselves. Not for what only this session needs."
            .to_owned()
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "fact": { "type": "string", "description": "The fact, as one sentence that stands by itself." },
            },
            "required": ["fact"],
        })
    }

    fn describe(&self, args: &SaveMemoryArgs) -> String {
        format!("Remember: {}", args.fact)
    }

    async fn preview(&self, args: SaveMemoryArgs, ctx: &ToolContext) -> Option<ToolDisplay> {
        run_blocking(ctx, move |ctx| Ok(plan_edit(&args.fact, ctx)?.0.into_display(&ctx.workspace))).await.ok()
    }

    async fn run(&self, args: SaveMemoryArgs, ctx: &ToolContext) -> Result<ToolResult, ToolFailure> {
        run_blocking(ctx, move |ctx| {
            let (edit, fact) = plan_edit(&args.fact, ctx)?;
            edit.check_matches_approved(ctx)?;
            if edit.before.as_ref() != Some(&edit.after) {
                file_io::write_private(&edit.path, &edit.encoding.encode(&edit.after))?;
            }
            let note = if fact.contains("\\@") { " (written \\@, so that it imports no file)" } else { "" };
            let message = format!("Okay, I've remembered that: \"{fact}\"{note}");
            let content = json!({ "success": true, "message": message }).to_string();
            Ok(ToolResult::text(content, message))
        })
        .await
    }
}

/// Returns the planned change and the fact as one line.
fn plan_edit(fact: &str, ctx: &ToolContext) -> Result<(PlannedEdit, String), ToolFailure> {
    let fact = fact.split_whitespace().collect::<Vec<_>>().join(" ");
    let fact = strip_imports(fact.trim_start_matches(['-', ' ']));
    if fact.is_empty() {
        return Err(ToolFailure::invalid_params("Parameter \"fact\" must be a non-empty string."));
    }
    let path = ctx.memory_file.clone().ok_or_else(|| {
        ToolFailure::new(ToolErrorKind::MemoryToolExecutionError, "there is no memory file in this session")
    })?;
    // Users who keep their settings in a repository often link the memory file; the link stays.
    let path = ctx.workspace.real_path(&path).unwrap_or(path);
    let existing = file_io::read_text_if_exists(&path, None)?;
    if existing.as_ref().is_some_and(|existing| existing.fidelity == Fidelity::Lossy) {
        return Err(ToolFailure::new(
            ToolErrorKind::MemoryToolExecutionError,
            format!("{} is not valid text; adding to it would damage it", path.display()),
        ));
    }
    let encoding = existing.as_ref().map_or(Encoding::Utf8, |existing| existing.encoding);
    let before = existing.map(|existing| existing.text);
    let after = insert_fact(before.as_deref().unwrap_or_default(), &fact);
    Ok((PlannedEdit { path, encoding, before, after }, fact))
}

/// Escapes each `@` that would import a file.
///
/// In a memory file `@path` stands for the file's text, and a fact from the model must not have files read without the
/// user's approval. An `@` inside a word, as in an e-mail address, stays as it is.
fn strip_imports(fact: &str) -> String {
    let mut safe = String::with_capacity(fact.len());
    for char in fact.chars() {
        if char == '@' && !safe.ends_with(|before: char| before.is_alphanumeric() || "._-+\\".contains(before)) {
            safe.push('\\');
        }
        safe.push(char);
    }
    safe
}

/// Returns `text` with the fact as the last item under the heading; unchanged if the fact is already there.
fn insert_fact(text: &str, fact: &str) -> String {
    let ending = LineEnding::detect(text);
    let item = format!("- {fact}");
    let Some(section) = find_heading(text) else {
        let gap = match text {
            "" => "",
            text if text.ends_with("\n\n") || text.ends_with("\n\r\n") => "",
            text if text.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        return format!("{text}{}", ending.apply(&format!("{gap}{MEMORY_HEADING}\n{item}\n")));
    };
    let body_start = text[section..].find('\n').map_or(text.len(), |at| section + at + 1);
    let body_end = next_heading(&text[body_start..]).map_or(text.len(), |at| body_start + at);
    let body = &text[body_start..body_end];
    if body.lines().any(|line| line.trim() == item) {
        return text.to_owned();
    }
    let kept = &text[..body_start + body.trim_end().len()];
    let before_item = if kept.ends_with('\n') { "" } else { "\n" };
    let rest = &text[body_end..];
    let gap = if rest.is_empty() { "" } else { "\n" };
    format!("{kept}{}{rest}", ending.apply(&format!("{before_item}{item}\n{gap}")))
}

fn find_heading(text: &str) -> Option<usize> {
    line_starts(text).find(|at| text[*at..].lines().next().is_some_and(|line| line.trim_end() == MEMORY_HEADING))
}

/// Returns the offset of the next heading of this level or above.
fn next_heading(text: &str) -> Option<usize> {
    line_starts(text).find(|at| text[*at..].starts_with("## ") || text[*at..].starts_with("# "))
}

fn line_starts(text: &str) -> impl Iterator<Item = usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_imports_nothing() {
        let defused = r"see \@~/.ssh/id_rsa, (\@a.md) \@'b' \@\@c me@example.org \@d";
        assert_eq!(strip_imports(r"see @~/.ssh/id_rsa, (@a.md) @'b' @@c me@example.org \@d"), defused);
        assert_eq!(strip_imports("@a"), r"\@a");
    }

    #[test]
    fn a_file_without_memories_gets_the_heading() {
        assert_eq!(insert_fact("", "a"), format!("{MEMORY_HEADING}\n- a\n"));
        assert_eq!(insert_fact("# Me\n", "a"), format!("# Me\n\n{MEMORY_HEADING}\n- a\n"));
        assert_eq!(insert_fact("# Me", "a"), format!("# Me\n\n{MEMORY_HEADING}\n- a\n"));
        assert_eq!(insert_fact("# Me\r\n", "a"), format!("# Me\r\n\r\n{MEMORY_HEADING}\r\n- a\r\n"));
    }

    #[test]
    fn facts_are_added_in_order_and_what_follows_stays() {
        let one = insert_fact("", "a");
        let two = insert_fact(&one, "b");
        assert_eq!(two, format!("{MEMORY_HEADING}\n- a\n- b\n"));
        assert_eq!(insert_fact(&two, "a"), two);
        let between = format!("x\n\n{MEMORY_HEADING}\n- a\n\n## Other\ny\n");
        assert_eq!(insert_fact(&between, "b"), format!("x\n\n{MEMORY_HEADING}\n- a\n- b\n\n## Other\ny\n"));
        assert_eq!(insert_fact(MEMORY_HEADING, "b"), format!("{MEMORY_HEADING}\n- b\n"));
    }
}
