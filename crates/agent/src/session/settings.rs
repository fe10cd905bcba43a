//! `/settings`: shows every known setting with its description, value and file, and changes it in a file that the user
//! chooses. A value that a project must not set is reported instead of written.

use std::path::PathBuf;

use hookwright_hooks::nearest_name;
use hookwright_settings::administration::{NamedItem, UnknownName};
use hookwright_settings::edit::{EditError, SettingsChange, apply_change, read_settings_map};
use hookwright_settings::{KnownSetting, known_settings};
use serde_json::{Map, Value};

use super::actor::SessionActor;
use super::dialog::{DialogContext, DialogOutcome};
use super::reply::Reply;
use crate::question::{InputVisibility, QuestionChoice, UserQuestion};

/// Whose settings a file holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SettingsOwner {
    Project,
    User,
    System,
}

impl SettingsOwner {
    fn label(self) -> &'static str {
        match self {
            SettingsOwner::Project => "this project's",
            SettingsOwner::User => "yours",
            SettingsOwner::System => "the system's",
        }
    }
}

/// A settings file with its values.
struct SettingsFileLayer {
    owner: SettingsOwner,
    path: PathBuf,
    values: Map<String, Value>,
    /// The reason why the file cannot be changed.
    read_only_reason: Option<String>,
}

/// A change to a setting.
enum SettingEdit {
    Set(Value),
    Remove,
}

impl SessionActor {
    /// Shows all settings to choose from, or the setting of this name.
    pub(super) fn handle_settings(&mut self, name: Option<String>) {
        let settings: Vec<KnownSetting> = known_settings().collect();
        let named = |name: &String| settings.iter().position(|known| known.key().eq_ignore_ascii_case(name));
        let first = match &name {
            None => None,
            Some(name) => match named(name) {
                None => return self.reply(unknown_setting_reply(name, &settings)),
                at => at,
            },
        };
        self.start_dialog(move |dialog| async move {
            let mut next = SettingsStep::List(0);
            if let Some(at) = first {
                next = edit_setting(&dialog, &settings, at).await;
            }
            while let SettingsStep::List(from) = next {
                next = choose_setting(&dialog, &settings, from).await;
            }
            // The configuration scan notices the written file and reloads it.
            None::<DialogOutcome>
        });
    }

    /// Writes a setting into the user's file, and warns if that fails.
    pub(super) fn save_user_setting(&self, path: &[&str], value: Value) {
        let view = self.shared.view();
        let file = &view.loaded.paths.user_settings;
        let set = || hookwright_settings::edit::set_value(file, path, value);
        if let Err(error) = view.services.tamper_watch.with_user_change(file, set) {
            self.reply(Reply::warning(format!("for this session only: {error}")));
        }
    }
}

fn unknown_setting_reply(name: &str, settings: &[KnownSetting]) -> Reply {
    let keys = || settings.iter().map(|known| known.key());
    let holding = || keys().find(|key| key.to_lowercase().contains(&name.to_lowercase()));
    let near = nearest_name(name, keys()).or_else(holding).map(str::to_owned);
    Reply::Unknown(UnknownName { kind: NamedItem::Setting, name: name.to_owned(), near })
}

/// The next step of the dialog.
enum SettingsStep {
    /// Shows the list, with this entry selected.
    List(usize),
    Done,
}

/// Shows all settings and edits one.
async fn choose_setting(dialog: &DialogContext, settings: &[KnownSetting], from: usize) -> SettingsStep {
    let layers = settings_layers(dialog);
    let about = |setting: KnownSetting| format!("{} · {}", current_value_text(setting, &layers), setting.description());
    let choices = settings.iter().map(|setting| QuestionChoice::new(setting.key(), about(*setting)));
    let chosen =
        UserQuestion::choice("Settings", choices.collect()).with_selected(from).ask_choice(&dialog.services).await;
    match chosen {
        Some(at) => edit_setting(dialog, settings, at).await,
        None => SettingsStep::Done,
    }
}

/// Edits a setting. If the user cancels, the list comes next.
async fn edit_setting(dialog: &DialogContext, settings: &[KnownSetting], at: usize) -> SettingsStep {
    let layers = settings_layers(dialog);
    let Some(setting) = settings.get(at).copied() else { return SettingsStep::Done };
    let Some(edit) = ask_edit(setting, &layers, dialog).await else { return SettingsStep::List(at) };
    if let Some(layer) = ask_layer(setting, &edit, &layers, dialog).await {
        write_edit(setting, edit, layer, dialog);
    }
    SettingsStep::Done
}

/// Returns the settings files, in descending order of precedence.
fn settings_layers(dialog: &DialogContext) -> Vec<SettingsFileLayer> {
    let (loaded, root) = (&dialog.loaded, &dialog.loaded.project.root);
    let of = |owner, path: PathBuf, closed: Option<String>| match read_settings_map(&path) {
        Ok(values) => SettingsFileLayer { owner, path, values, read_only_reason: closed },
        Err(error) => SettingsFileLayer { owner, values: Map::new(), read_only_reason: Some(error.to_string()), path },
    };
    let untrusted = (!loaded.project.trust.is_trusted()).then(|| "this folder is not trusted (/trust)".to_owned());
    let project = (*root != loaded.paths.home)
        .then(|| of(SettingsOwner::Project, loaded.paths.project_settings(root), untrusted));
    let user = of(SettingsOwner::User, loaded.paths.user_settings.clone(), None);
    let machines = Some("the administrator's to change".to_owned());
    let system = of(SettingsOwner::System, loaded.paths.system_settings.clone(), machines);
    project.into_iter().chain([user, system]).collect()
}

fn value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Describes the value of a setting and the file that it comes from.
fn current_value_text(setting: KnownSetting, layers: &[SettingsFileLayer]) -> String {
    let set = layers.iter().find_map(|layer| Some((layer, setting.value_in(&layer.values)?)));
    match set {
        Some((layer, value)) => format!("{} ({})", value_text(value), layer.owner.label()),
        None => setting.default_text().map_or_else(|| "not set".to_owned(), |default| format!("{default} (default)")),
    }
}

/// Asks for the new value of a setting.
async fn ask_edit(setting: KnownSetting, layers: &[SettingsFileLayer], dialog: &DialogContext) -> Option<SettingEdit> {
    let mut about = vec![
        format!("{}.", setting.description()),
        format!("It holds {}; {}.", setting.describe_kind(), setting.describe_project_rule()),
    ];
    about.extend(setting.no_effect_reason().map(|because| format!("It changes nothing here: {because}.")));
    let set: Vec<(&SettingsFileLayer, &Value)> =
        layers.iter().filter_map(|layer| Some((layer, setting.value_in(&layer.values)?))).collect();
    about.extend(set.iter().map(|(layer, value)| format!("{}: {}", layer.owner.label(), value_text(value))));
    about.extend(setting.default_text().map(|default| format!("default: {default}")));
    let values = setting.choices();
    let mut choices: Vec<QuestionChoice> = match &values {
        Some(values) => values.iter().map(|value| QuestionChoice::new(value_text(value), "")).collect(),
        None => vec![QuestionChoice::new("Write a value", setting.describe_kind())],
    };
    if !set.is_empty() {
        choices.push(QuestionChoice::new("Remove it", "from a settings file"));
    }
    let question = UserQuestion::choice(setting.key(), choices).with_details(about);
    let at = question.ask_choice(&dialog.services).await?;
    match values {
        Some(values) => Some(values.get(at).cloned().map_or(SettingEdit::Remove, SettingEdit::Set)),
        None if at == 0 => ask_value(setting, set.first().map(|(_, value)| *value), dialog).await,
        None => Some(SettingEdit::Remove),
    }
}

async fn ask_value(setting: KnownSetting, before: Option<&Value>, dialog: &DialogContext) -> Option<SettingEdit> {
    let mut typed = match before {
        Some(Value::Array(items)) => items.iter().map(value_text).collect::<Vec<_>>().join(", "),
        Some(value) => value_text(value),
        None => String::new(),
    };
    let mut problem = None;
    loop {
        let question = UserQuestion::text(setting.key(), setting.describe_kind(), InputVisibility::Visible)
            .with_initial_text(typed)
            .with_details(problem.take());
        typed = question.ask_text(&dialog.services).await?;
        match setting.parse(&typed) {
            Ok(value) => return Some(SettingEdit::Set(value)),
            Err(why) => problem = Some(why),
        }
    }
}

/// Asks which file is to be changed.
async fn ask_layer<'l>(
    setting: KnownSetting,
    edit: &SettingEdit,
    layers: &'l [SettingsFileLayer],
    dialog: &DialogContext,
) -> Option<&'l SettingsFileLayer> {
    let outer = merge_outer_layers(layers);
    let refused = |layer: &SettingsFileLayer| {
        layer.read_only_reason.clone().or_else(|| match edit {
            SettingEdit::Remove if setting.value_in(&layer.values).is_none() => Some("it is not set there".to_owned()),
            SettingEdit::Set(value) if layer.owner == SettingsOwner::Project => {
                setting.refused_by_project(value, &outer, &dialog.loaded.project.root)
            }
            _ => None,
        })
    };
    let choices = layers.iter().map(|layer| {
        let path = layer.path.display();
        let about = refused(layer).map_or_else(|| path.to_string(), |why| format!("not there: {why}"));
        QuestionChoice::new(layer.owner.label(), about)
    });
    let usual = layers.iter().position(|layer| layer.owner == SettingsOwner::User && refused(layer).is_none());
    let usual = usual.or_else(|| layers.iter().position(|layer| refused(layer).is_none())).unwrap_or(0);
    let question =
        UserQuestion::choice(format!("{}: in which settings?", setting.key()), choices.collect()).with_selected(usual);
    let layer = layers.get(question.ask_choice(&dialog.services).await?)?;
    match refused(layer) {
        None => Some(layer),
        Some(why) => {
            dialog.reply(Reply::error(why));
            None
        }
    }
}

/// Merges the user's and the system's settings, which a project may only tighten.
fn merge_outer_layers(layers: &[SettingsFileLayer]) -> Map<String, Value> {
    let mut all = Map::new();
    for layer in layers.iter().rev().filter(|layer| layer.owner != SettingsOwner::Project) {
        hookwright_settings::overlay(&mut all, layer.values.clone());
    }
    all
}

fn write_edit(setting: KnownSetting, edit: SettingEdit, layer: &SettingsFileLayer, dialog: &DialogContext) {
    let change = match &edit {
        SettingEdit::Set(value) => SettingsChange::Set(setting.path(), value.clone()),
        SettingEdit::Remove => SettingsChange::Remove(setting.path()),
    };
    let path = &layer.path;
    let done: Result<bool, EditError> =
        dialog.services.tamper_watch.with_user_change(path, || apply_change(path, &change));
    dialog.reply(match (done, edit) {
        (Err(error), _) => Reply::error(error),
        (Ok(false), _) => Reply::aside(format!("{} already had that value in {}", setting.key(), path.display())),
        (Ok(true), SettingEdit::Set(value)) => {
            Reply::plain(format!("{} is {} in {}", setting.key(), value_text(&value), path.display()))
        }
        (Ok(true), SettingEdit::Remove) => {
            Reply::plain(format!("{} is no longer set in {}", setting.key(), path.display()))
        }
    });
    dialog.reply(Reply::aside("some settings take effect at the next start"));
}
