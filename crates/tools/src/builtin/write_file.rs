//! The tool `write_file`: writes the whole content of a file.

use super::planned_edit::PlannedEdit;
use crate::catalog::{self, BuiltinInfo};
use crate::context::ToolContext;
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::result::{ToolDisplay, ToolResult};
use crate::tool::{BuiltinTool, run_blocking};
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) struct WriteFile;

#[derive(Deserialize)]
pub(crate) struct WriteFileArgs {
    file_path: String,
    content: String,
}

impl BuiltinTool for WriteFile {
    type Args = WriteFileArgs;

    fn info(&self) -> &'static BuiltinInfo {
        &catalog::WRITE_FILE
    }

    fn description(&self) -> String {
        "Writes a file of the workspace with the content given, in full: it is created with the directories it needs, or \
         overwritten. For a change to part of a file use replace."
            .to_owned()
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "file_path": { "type": "string", "description": "Path of the file." },
                "content": {
                    "type": "string",
                    "description": "The whole content, literally; never a placeholder for text left out.",
                },
            },
            "required": ["file_path", "content"],
        })
    }

    fn describe(&self, args: &WriteFileArgs) -> String {
        format!("Writing to {}", args.file_path)
    }

    async fn preview(&self, args: WriteFileArgs, ctx: &ToolContext) -> Option<ToolDisplay> {
        run_blocking(ctx, move |ctx| Ok(plan_edit(&args, ctx)?.into_display(&ctx.workspace))).await.ok()
    }

    async fn run(&self, args: WriteFileArgs, ctx: &ToolContext) -> Result<ToolResult, ToolFailure> {
        run_blocking(ctx, move |ctx| {
            let edit = plan_edit(&args, ctx)?;
            let path = edit.path.display();
            let headline = match edit.before {
                None => format!("Successfully created and wrote to new file: {path}."),
                Some(_) => format!("Successfully overwrote file: {path}."),
            };
            edit.apply(headline, ctx)
        })
        .await
    }
}

fn plan_edit(args: &WriteFileArgs, ctx: &ToolContext) -> Result<PlannedEdit, ToolFailure> {
    let path = ctx.workspace.resolve(&args.file_path)?;
    if args.file_path.ends_with('/') {
        return Err(ToolFailure::new(
            ToolErrorKind::TargetIsDirectory,
            format!("Target is a directory, not a file: {}", path.display()),
        ));
    }
    PlannedEdit::overwrite(path, &args.content, ctx)
}
