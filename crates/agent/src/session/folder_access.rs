//! `/trust` and `/directory`: whether this folder is trusted, and which other directories tools may work in. Both ask
//! first.

use std::path::{Path, PathBuf};

use hookwright_settings::edit::{SettingsChange, apply_change};
use hookwright_settings::trust::{FolderRule, set_folder_trust};
use hookwright_settings::{FolderTrust, TrustSource};
use serde_json::Value;

use super::actor::SessionActor;
use super::command::DirectoryAction;
use super::dialog::{DialogContext, DialogOutcome, dialog_outcome};
use super::reply::Reply;
use crate::question::{QuestionChoice, UserQuestion};

const FOLDER_RULES: [FolderRule; 3] = [FolderRule::TrustFolder, FolderRule::TrustParent, FolderRule::DoNotTrust];

impl SessionActor {
    /// `/trust`: shows and changes the user's rule for this folder.
    pub(super) fn handle_folder_trust(&mut self) {
        self.start_dialog(run_trust_dialog);
    }

    fn apply_folder_rule(&mut self, rule: FolderRule) {
        let view = self.shared.view();
        let (paths, root) = (&view.loaded.paths, &view.loaded.project.root);
        let set = || set_folder_trust(paths, root, rule);
        if let Err(error) = view.services.tamper_watch.with_user_change(&paths.trusted_folders, set) {
            return self.reply(Reply::error(error));
        }
        self.config_watch.rescan_files();
        self.reload_configuration(&[]);
        let now = &self.shared.view().loaded.project.trust;
        self.reply(Reply::plain(folder_trust_text(now)));
        let as_said = now.is_trusted() == (rule != FolderRule::DoNotTrust);
        if !as_said {
            self.reply(Reply::aside("your decision is saved; it applies where nothing else decides"));
        }
        self.leave_disallowed_mode();
    }

    /// `/directory`: lists the directories, or adds one.
    pub(super) fn handle_directory(&mut self, order: DirectoryAction) {
        match order {
            DirectoryAction::Show => {
                let roots = self.services().call_context().workspace.roots();
                let mut roots = roots.iter().map(|root| root.display().to_string());
                let first = roots.next().map(|root| format!("{root} (where you are)"));
                self.reply(Reply::plain(first.into_iter().chain(roots).collect::<Vec<_>>().join("\n")));
            }
            DirectoryAction::Add(path) => match self.resolve_new_directory(&path) {
                Ok(directory) => self.start_dialog(|dialog| run_add_directory_dialog(dialog, directory)),
                Err(why) => self.reply(Reply::error(why)),
            },
        }
    }

    /// Resolves a path to a directory that tools do not work in yet and may.
    fn resolve_new_directory(&self, path: &str) -> Result<PathBuf, String> {
        let view = self.shared.view();
        let path = path.trim().trim_matches('"');
        let path = match path.strip_prefix("~/").or((path == "~").then_some("")) {
            Some(rest) => view.loaded.paths.home.join(rest),
            None => view.loaded.project.root.join(path),
        };
        let real = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
        if !real.is_dir() {
            return Err(format!("{} is not a directory", real.display()));
        }
        let roots = view.services.call_context().workspace.roots();
        match roots.iter().find(|root| real.starts_with(root)) {
            Some(root) => Err(format!("{} is within {} already", real.display(), root.display())),
            None => Ok(real),
        }
    }

    fn add_directory(&mut self, directory: &Path, keep: bool) {
        let view = self.shared.view();
        if let Err(error) = view.services.tool_context.workspace.add_root(directory) {
            return self.reply(Reply::error(error));
        }
        // A resumed conversation gets the directory too.
        self.options.include_directories.push(directory.to_owned());
        self.rebuild_system_prompt();
        self.reply(Reply::plain(format!("tools may work in {} too", directory.display())));
        if keep {
            self.save_directory(directory);
        }
    }

    fn save_directory(&self, directory: &Path) {
        let view = self.shared.view();
        let file = &view.loaded.paths.user_settings;
        let key = ["context".to_owned(), "includeDirectories".to_owned()];
        let kept = || {
            let known = hookwright_settings::edit::read_settings_map(file)?;
            let known = known.get("context").and_then(|context| context.get("includeDirectories"));
            let mut all: Vec<Value> = known.and_then(Value::as_array).cloned().unwrap_or_default();
            all.push(Value::from(directory.to_string_lossy()));
            apply_change(file, &SettingsChange::Set(key.to_vec(), Value::from(all)))
        };
        match view.services.tamper_watch.with_user_change(file, kept) {
            Ok(_) => self.reply(Reply::aside(format!("kept in {}", file.display()))),
            Err(error) => self.reply(Reply::warning(format!("for this session only: {error}"))),
        }
    }
}

/// Describes a folder's trust and the reason for it.
fn folder_trust_text(trust: &FolderTrust) -> String {
    let because = |source: &TrustSource| match source {
        TrustSource::Override => "by --skip-trust".to_owned(),
        TrustSource::Environment => "by an environment variable".to_owned(),
        TrustSource::GateOff => "because security.folderTrust.enabled is false".to_owned(),
        TrustSource::Rule(folder) => format!("by your decision about {}", folder.display()),
    };
    match trust {
        FolderTrust::Trusted(source) => format!("this folder is trusted, {}", because(source)),
        FolderTrust::Distrusted(source) => format!("this folder is not trusted, {}", because(source)),
        FolderTrust::Unknown => "this folder is not trusted: you have not decided about it yet".to_owned(),
    }
}

async fn run_trust_dialog(dialog: DialogContext) -> Option<DialogOutcome> {
    const MAX_LISTED_ITEMS: usize = 8;
    let (loaded, root) = (&dialog.loaded, &dialog.loaded.project.root);
    let parent = root.parent().unwrap_or(root);
    let choices = vec![
        QuestionChoice::new("Trust this folder", root.display().to_string()),
        QuestionChoice::new("Trust its parent", parent.display().to_string()),
        QuestionChoice::new("Don't trust it", "its settings, hooks, commands and .env are not used"),
    ];
    let mut about = vec![format!("Now {}.", folder_trust_text(&loaded.project.trust))];
    about.extend(loaded.project_contents.iter().map(|offer| {
        let items: Vec<String> =
            offer.items.keys().take(MAX_LISTED_ITEMS).map(|item| item.replace('\n', " ")).collect();
        format!("It brings {}: {}", offer.kind, items.join("; "))
    }));
    // The present state is preselected, so that pressing Enter changes nothing.
    let now = if loaded.project.trust.is_trusted() { 0 } else { 2 };
    let question =
        UserQuestion::choice("Do you want to trust this folder?", choices).with_details(about).with_selected(now);
    let rule = *FOLDER_RULES.get(question.ask_choice(&dialog.services).await?)?;
    dialog_outcome(move |session| session.apply_folder_rule(rule))
}

async fn run_add_directory_dialog(dialog: DialogContext, directory: PathBuf) -> Option<DialogOutcome> {
    let choices = vec![
        QuestionChoice::new("No", "leave it out"),
        QuestionChoice::new("Yes, for this session", ""),
        QuestionChoice::new("Yes, and from now on", "kept in your settings (context.includeDirectories)"),
    ];
    let about = [
        "Tools can read and change its files like the project's own.".to_owned(),
        "Its own settings, hooks and commands are not used.".to_owned(),
    ];
    let title = format!("Let tools work in {} too?", directory.display());
    match UserQuestion::choice(title, choices).with_details(about).ask_choice(&dialog.services).await? {
        0 => None,
        at => dialog_outcome(move |session| session.add_directory(&directory, at == 2)),
    }
}
