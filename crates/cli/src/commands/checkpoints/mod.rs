//! `hookwright checkpoints …`: lists the changes of turns of this project's sessions, shows them and restores the files
//! or the conversation, without starting a session.

use std::io::{IsTerminal, Write};

use anyhow::bail;
use hookwright_agent::ProtectedPaths;
use hookwright_agent::checkpoint::{
    Checkpoint, CheckpointKind, CheckpointStore, ConflictPolicy, FileRestoreAction, PathState, PlannedChange,
    RestorePlan, RestoreRoots, RestoreScope,
};
use hookwright_settings::ProcessEnv;
use serde_json::{Value, json};

use crate::args::{CheckpointRestoreArgs, CheckpointsCommand, ProjectCommand, RestoreTargetArg};
use crate::commands::hooks::LoadedProject;
use crate::commands::prompt;
use crate::exit;
use crate::output::{self, BOLD, DIM, PLAIN, TextTable};
use crate::presentation::administration::restore_messages;
use crate::presentation::humanize;
use crate::presentation::restore_plan::restore_plan_lines;
use crate::presentation::{CommandStyle, print_answer};

/// Runs one of the `checkpoints` commands.
pub(crate) fn run(args: &ProjectCommand<CheckpointsCommand>, world: &ProcessEnv) -> anyhow::Result<u8> {
    let toolbox = LoadedProject::open(&args.place, world)?;
    let place = ProjectCheckpoints {
        store: CheckpointStore::for_project(&toolbox.loaded),
        folders: vec![toolbox.loaded.project.root.clone()],
        protected: ProtectedPaths::new(&toolbox.loaded, &[]),
    };
    match &args.command {
        CheckpointsCommand::List { json } => place.list(*json),
        CheckpointsCommand::Show { which, json } => place.show(which, *json),
        CheckpointsCommand::Restore(restore) => place.restore(restore),
    }
}

/// The checkpoints of a project, and the folders that files may be restored in.
struct ProjectCheckpoints {
    store: CheckpointStore,
    folders: Vec<std::path::PathBuf>,
    protected: ProtectedPaths,
}

impl ProjectCheckpoints {
    fn roots(&self) -> RestoreRoots<'_> {
        RestoreRoots { folders: &self.folders, protected: &self.protected }
    }

    fn list(&self, as_json: bool) -> anyhow::Result<u8> {
        let all = self.store.list();
        if as_json {
            output::print_json(
                &json!({"checkpoints": all.iter().map(|one| self.checkpoint_json(one)).collect::<Vec<_>>()}),
            )?;
            return Ok(exit::OK);
        }
        if all.is_empty() {
            output::note("there are no checkpoints of this project")?;
            return Ok(exit::OK);
        }
        let mut table = TextTable::new(&["#", "AGE", "FILES", "SESSION", "BEFORE"]);
        for one in &all {
            table.add_row(vec![
                (BOLD, one.number.to_string()),
                (DIM, humanize::format_age(one.time)),
                (PLAIN, one.files.len().to_string()),
                (DIM, one.session.chars().take(8).collect()),
                (PLAIN, output::truncate_columns(&output::one_line(&one.prompt), 60)),
            ]);
        }
        table.print(&mut output::stdout())?;
        output::hint("see what a restore would change: `hookwright checkpoints show NUMBER`")?;
        Ok(exit::OK)
    }

    fn checkpoint_json(&self, one: &Checkpoint) -> Value {
        let files = one.files.iter().map(|file| {
            let kept = match &file.before {
                PathState::Missing { .. } => "missing",
                PathState::File { .. } => "file",
                PathState::Link { .. } => "link",
                PathState::Unkept { .. } => "unkept",
            };
            json!({"path": file.path, "before": kept})
        });
        json!({
            "number": one.number,
            "kind": if one.kind == CheckpointKind::Turn { "turn" } else { "restore" },
            "session_id": one.session,
            "prompt": one.prompt,
            "time": one.time.to_string(),
            "conversation": one.conversation.is_some(),
            "files": files.collect::<Vec<_>>(),
            "notes": one.notes,
        })
    }

    fn show(&self, which: &str, as_json: bool) -> anyhow::Result<u8> {
        let checkpoint = self.store.find(which)?;
        let plan = self.store.plan(checkpoint.number, &self.roots())?;
        if as_json {
            let mut value = self.checkpoint_json(&checkpoint);
            value["changes"] = plan.changes.iter().map(change_json).collect();
            value["notes"] = json!(plan.notes);
            output::print_json(&value)?;
            return Ok(exit::OK);
        }
        print_restore_plan(&plan)?;
        Ok(exit::OK)
    }

    fn restore(&self, args: &CheckpointRestoreArgs) -> anyhow::Result<u8> {
        let checkpoint = self.store.find(&args.which)?;
        let what = match args.what {
            RestoreTargetArg::Files => RestoreScope::Files,
            RestoreTargetArg::Conversation => RestoreScope::Conversation,
            RestoreTargetArg::Both => RestoreScope::Both,
        };
        let since = if args.overwrite { ConflictPolicy::Overwrite } else { ConflictPolicy::Keep };
        if !args.yes {
            let plan = self.store.plan(checkpoint.number, &self.roots())?;
            print_restore_plan(&plan)?;
            if !std::io::stdin().is_terminal() {
                output::error("nothing was restored: there is no terminal to ask for your consent")?;
                output::hint("look at the changes with `hookwright checkpoints show`, then add --yes")?;
                return Ok(exit::ERROR);
            }
            if !prompt::confirm("Bring this back?")? {
                return Ok(exit::ERROR);
            }
        }
        if what.includes_conversation() && checkpoint.conversation.is_none() {
            bail!("checkpoint {} has no conversation to restore", checkpoint.number);
        }
        let here = checkpoint.current_mark();
        // The conversation first: if a running session owns it, this fails and nothing is restored.
        if what.includes_conversation() {
            checkpoint.restore_conversation()?;
        }
        let restored = self.store.restore(checkpoint.number, what, since, &self.roots(), here)?;
        if args.json {
            let left: Vec<Value> =
                restored.skipped.iter().map(|(file, why)| json!({"path": file, "reason": why.to_string()})).collect();
            output::print_json(&json!({
                "restored": restored.files,
                "left": left,
                "conversation": restored.conversation_restored,
                "undo": restored.undo_checkpoint,
            }))?;
        } else {
            print_answer(&restore_messages(&restored, what, CommandStyle::Shell))?;
        }
        Ok(if restored.skipped.is_empty() { exit::OK } else { exit::ERROR })
    }
}

fn change_json(change: &PlannedChange) -> Value {
    let refused = if let FileRestoreAction::Refused(why) = &change.action { Some(why) } else { None };
    json!({
        "path": change.path,
        "deed": change.action.as_str(),
        "refused": refused,
        "changed_since": change.changed_since,
        "added_lines": change.line_counts.0,
        "removed_lines": change.line_counts.1,
        "diff": change.diff,
    })
}

fn print_restore_plan(plan: &RestorePlan) -> std::io::Result<()> {
    let mut stdout = output::stdout();
    restore_plan_lines(plan).iter().try_for_each(|line| writeln!(stdout, "{}", line.encode(false)))
}
