//! `hookwright checkpoints …`: what turns of earlier and running sessions changed, shown and brought back without a session.

pub(crate) mod words;

use std::io::{IsTerminal, Write};

use anyhow::bail;
use hookwright_agent::Protected;
use hookwright_agent::checkpoint::{Change, Checkpoint, Deed, Kind, Plan, Roots, Since, State, Store, What};
use hookwright_settings::World;
use serde_json::{Value, json};

use crate::args::{CheckpointsCommand, InProject, RestoreArgs, Wanted};
use crate::hooks::Toolbox;
use crate::out::{self, BOLD, DIM, PLAIN, Table};
use crate::{exit, extensions};

/// Runs one of the commands.
pub(crate) fn run(args: &InProject<CheckpointsCommand>, world: &World) -> anyhow::Result<u8> {
    let toolbox = Toolbox::open(&args.place, world)?;
    let place = Place {
        store: Store::of(&toolbox.loaded),
        folders: vec![toolbox.loaded.project.root.clone()],
        protected: Protected::new(&toolbox.loaded, &[]),
    };
    match &args.command {
        CheckpointsCommand::List { json } => place.list(*json),
        CheckpointsCommand::Show { which, json } => place.show(which, *json),
        CheckpointsCommand::Restore(restore) => place.restore(restore),
    }
}

/// The checkpoints of a project, and where files may go.
struct Place {
    store: Store,
    folders: Vec<std::path::PathBuf>,
    protected: Protected,
}

impl Place {
    fn roots(&self) -> Roots<'_> {
        Roots { folders: &self.folders, protected: &self.protected }
    }

    fn list(&self, as_json: bool) -> anyhow::Result<u8> {
        let all = self.store.list();
        if as_json {
            out::json(&json!({"checkpoints": all.iter().map(|one| self.to_json(one)).collect::<Vec<_>>()}))?;
            return Ok(exit::OK);
        }
        if all.is_empty() {
            out::note("there are no checkpoints of this project")?;
            return Ok(exit::OK);
        }
        let mut table = Table::new(&["#", "AGE", "FILES", "SESSION", "BEFORE"]);
        for one in &all {
            table.row(vec![
                (BOLD, one.number.to_string()),
                (DIM, words::age(one.time)),
                (PLAIN, one.files.len().to_string()),
                (DIM, one.session.chars().take(8).collect()),
                (PLAIN, out::shorten(&out::one_line(&one.prompt), 60)),
            ]);
        }
        table.print(&mut out::stdout())?;
        out::hint("see what going back would do: `hookwright checkpoints show NUMBER`")?;
        Ok(exit::OK)
    }

    fn to_json(&self, one: &Checkpoint) -> Value {
        let files = one.files.iter().map(|file| {
            let kept = match &file.before {
                State::Missing { .. } => "missing",
                State::File { .. } => "file",
                State::Link { .. } => "link",
                State::Unkept { .. } => "unkept",
            };
            json!({"path": file.path, "before": kept})
        });
        json!({
            "number": one.number,
            "kind": if one.kind == Kind::Turn { "turn" } else { "restore" },
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
            let mut value = self.to_json(&checkpoint);
            value["changes"] = plan.changes.iter().map(change_json).collect();
            value["notes"] = json!(plan.notes);
            out::json(&value)?;
            return Ok(exit::OK);
        }
        print(&plan)?;
        Ok(exit::OK)
    }

    fn restore(&self, args: &RestoreArgs) -> anyhow::Result<u8> {
        let checkpoint = self.store.find(&args.which)?;
        let what = match args.what {
            Wanted::Files => What::Files,
            Wanted::Conversation => What::Conversation,
            Wanted::Both => What::Both,
        };
        let since = if args.overwrite { Since::Overwrite } else { Since::Keep };
        if !args.yes {
            let plan = self.store.plan(checkpoint.number, &self.roots())?;
            print(&plan)?;
            if !std::io::stdin().is_terminal() {
                out::error("nothing was brought back: nobody is there to agree")?;
                out::hint("look at it with `hookwright checkpoints show`, then add --yes")?;
                return Ok(exit::ERROR);
            }
            if !extensions::agreed("Bring this back?")? {
                return Ok(exit::ERROR);
            }
        }
        if what.conversation() && checkpoint.conversation.is_none() {
            bail!("checkpoint {} holds no place in a conversation", checkpoint.number);
        }
        let here = checkpoint.conversation_now();
        // First the conversation: one that runs is somebody's, and then nothing is done.
        if what.conversation() {
            checkpoint.restore_conversation()?;
        }
        let restored = self.store.restore(checkpoint.number, what, since, &self.roots(), here)?;
        let left: Vec<Value> = restored.left.iter().map(|(file, why)| json!({"path": file, "reason": why})).collect();
        if args.json {
            out::json(&json!({
                "restored": restored.files,
                "left": left,
                "conversation": restored.conversation,
                "undo": restored.undo,
            }))?;
        } else {
            let mut stdout = out::stdout();
            restored.files.iter().try_for_each(|file| writeln!(stdout, "brought back {file}"))?;
            if restored.conversation {
                writeln!(stdout, "the conversation goes on from before that prompt")?;
            }
            restored.left.iter().try_for_each(|(file, why)| out::warn(format!("{file} is left as it is: {why}")))?;
            out::hint(format!("`hookwright checkpoints restore {}` undoes this", restored.undo))?;
        }
        Ok(if restored.left.is_empty() { exit::OK } else { exit::ERROR })
    }
}

fn change_json(change: &Change) -> Value {
    let refused = if let Deed::Refused(why) = &change.deed { Some(why) } else { None };
    json!({
        "path": change.path,
        "deed": change.deed.as_str(),
        "refused": refused,
        "changed_since": change.changed_since,
        "added_lines": change.lines.0,
        "removed_lines": change.lines.1,
        "diff": change.diff,
    })
}

/// What bringing something back would do, in lines.
pub(crate) fn lines(plan: &Plan) -> Vec<String> {
    let checkpoint = &plan.checkpoint;
    let prompt = out::shorten(&out::one_line(&checkpoint.prompt), 100);
    let mut lines = vec![format!("{}  {}  {prompt}", checkpoint.number, words::age(checkpoint.time))];
    lines.extend(crate::tui::plan_lines(plan).iter().map(|line| line.encode(false)));
    lines
}

fn print(plan: &Plan) -> std::io::Result<()> {
    let mut stdout = out::stdout();
    lines(plan).iter().try_for_each(|line| writeln!(stdout, "{line}"))
}
