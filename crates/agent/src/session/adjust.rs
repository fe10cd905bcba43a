//! `/settings`: every setting that the program knows, with what it is for, what it holds and where, changed in a file of the
//! user's choice. What a project may not say is said instead of written.

use std::path::PathBuf;

use hookwright_hooks::nearest;
use hookwright_settings::edit::{Change, EditError, apply, written};
use hookwright_settings::{KnownSetting, known_settings};
use serde_json::{Map, Value};

use super::conduct::Conductor;
use super::reply::Reply;
use super::talk::{Deed, Talk};
use crate::inquiry::{Choosable, Inquiry, Seen};

/// A settings file.
struct Layer {
    whose: &'static str,
    path: PathBuf,
    values: Map<String, Value>,
    /// Why nothing is changed there.
    closed: Option<String>,
}

/// What becomes of a setting.
enum Wish {
    Set(Value),
    Remove,
}

impl Conductor {
    /// Shows all settings to choose from, or the one of this name.
    pub(super) fn settings(&mut self, name: Option<String>) {
        let settings: Vec<KnownSetting> = known_settings().collect();
        let named = |name: &String| settings.iter().position(|known| known.key().eq_ignore_ascii_case(name));
        let first = match &name {
            None => None,
            Some(name) => match named(name) {
                None => return self.reply(no_setting(name, &settings)),
                at => at,
            },
        };
        self.talk(move |talk| async move {
            let mut next = Next::List(0);
            if let Some(at) = first {
                next = change(&talk, &settings, at).await;
            }
            while let Next::List(from) = next {
                next = one(&talk, &settings, from).await;
            }
            // What is written is noticed like any change of the files, and read again.
            None::<Deed>
        });
    }

    /// Writes a setting of the user's own, which is in force already.
    pub(super) fn keep_setting(&self, path: &[&str], value: Value) {
        let view = self.shared.view();
        let file = &view.loaded.paths.user_settings;
        let set = || hookwright_settings::edit::set_value(file, path, value);
        if let Err(error) = view.services.guards.own_change(file, set) {
            self.reply(Reply::warning(format!("for this session only: {error}")));
        }
    }
}

fn no_setting(name: &str, settings: &[KnownSetting]) -> Reply {
    let keys = || settings.iter().map(|known| known.key());
    let holding = || keys().find(|key| key.to_lowercase().contains(&name.to_lowercase()));
    let hint = match nearest(name, keys()).or_else(holding) {
        Some(near) => format!("did you mean {near}?"),
        None => "/settings lists them".to_owned(),
    };
    Reply::warning(format!("there is no setting {name}; {hint}"))
}

/// What is done next.
enum Next {
    /// The list is shown, from this one on.
    List(usize),
    Nothing,
}

/// Shows all settings and changes one; the list again if the user thought better of it.
async fn one(talk: &Talk, settings: &[KnownSetting], from: usize) -> Next {
    let layers = layers(talk);
    let about = |setting: KnownSetting| format!("{} · {}", now(setting, &layers), setting.about());
    let choices = settings.iter().map(|setting| Choosable::new(setting.key(), about(*setting)));
    let chosen = Inquiry::one_of("Settings", choices.collect()).selected(from).choose(&talk.services).await;
    match chosen {
        Some(at) => change(talk, settings, at).await,
        None => Next::Nothing,
    }
}

/// Changes a setting.
async fn change(talk: &Talk, settings: &[KnownSetting], at: usize) -> Next {
    let layers = layers(talk);
    let Some(setting) = settings.get(at).copied() else { return Next::Nothing };
    let Some(wish) = wish(setting, &layers, talk).await else { return Next::List(at) };
    if let Some(layer) = place(setting, &wish, &layers, talk).await {
        write(setting, wish, layer, talk);
    }
    Next::Nothing
}

/// The files, the one that counts most first.
fn layers(talk: &Talk) -> Vec<Layer> {
    let (loaded, root) = (&talk.loaded, &talk.loaded.project.root);
    let of = |whose, path: PathBuf, closed: Option<String>| match written(&path) {
        Ok(values) => Layer { whose, path, values, closed },
        Err(error) => Layer { whose, values: Map::new(), closed: Some(error.to_string()), path },
    };
    let untrusted = (!loaded.project.trust.is_trusted()).then(|| "this folder is not trusted (/trust)".to_owned());
    let project =
        (*root != loaded.paths.home).then(|| of("this project's", loaded.paths.project_settings(root), untrusted));
    let user = of("yours", loaded.paths.user_settings.clone(), None);
    let machines = Some("the administrator's to change".to_owned());
    let system = of("the system's", loaded.paths.system_settings.clone(), machines);
    project.into_iter().chain([user, system]).collect()
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What a setting is by the files, in short.
fn now(setting: KnownSetting, layers: &[Layer]) -> String {
    let set = layers.iter().find_map(|layer| Some((layer, setting.value_in(&layer.values)?)));
    match set {
        Some((layer, value)) => format!("{} ({})", shown(value), layer.whose),
        None => "–".to_owned(),
    }
}

/// What the user wants of a setting.
async fn wish(setting: KnownSetting, layers: &[Layer], talk: &Talk) -> Option<Wish> {
    let mut about =
        vec![format!("{}.", setting.about()), format!("It holds {}; {}.", setting.holds(), setting.by_project())];
    about.extend(setting.without_effect().map(|because| format!("It changes nothing here: {because}.")));
    let set: Vec<(&Layer, &Value)> =
        layers.iter().filter_map(|layer| Some((layer, setting.value_in(&layer.values)?))).collect();
    about.extend(set.iter().map(|(layer, value)| format!("{}: {}", layer.whose, shown(value))));
    let values = setting.choices();
    let mut choices: Vec<Choosable> = match &values {
        Some(values) => values.iter().map(|value| Choosable::new(shown(value), "")).collect(),
        None => vec![Choosable::new("Write a value", setting.holds())],
    };
    if !set.is_empty() {
        choices.push(Choosable::new("Remove it", "from a settings file"));
    }
    let asked = Inquiry::one_of(setting.key(), choices).about(about);
    let at = asked.choose(&talk.services).await?;
    match values {
        Some(values) => Some(values.get(at).cloned().map_or(Wish::Remove, Wish::Set)),
        None if at == 0 => written_value(setting, set.first().map(|(_, value)| *value), talk).await,
        None => Some(Wish::Remove),
    }
}

async fn written_value(setting: KnownSetting, before: Option<&Value>, talk: &Talk) -> Option<Wish> {
    let mut typed = match before {
        Some(Value::Array(items)) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        Some(value) => shown(value),
        None => String::new(),
    };
    let mut problem = None;
    loop {
        let asked = Inquiry::words(setting.key(), setting.holds(), Seen::Shown).begun(typed).about(problem.take());
        typed = asked.write(&talk.services).await?;
        match setting.parse(&typed) {
            Ok(value) => return Some(Wish::Set(value)),
            Err(why) => problem = Some(why),
        }
    }
}

/// Where it is to be changed.
async fn place<'l>(setting: KnownSetting, wish: &Wish, layers: &'l [Layer], talk: &Talk) -> Option<&'l Layer> {
    let outer = outer(layers);
    let refused = |layer: &Layer| {
        layer.closed.clone().or_else(|| match wish {
            Wish::Remove if setting.value_in(&layer.values).is_none() => Some("it is not set there".to_owned()),
            Wish::Set(value) if layer.whose == "this project's" => {
                setting.refused_by_project(value, &outer, &talk.loaded.project.root)
            }
            _ => None,
        })
    };
    let choices = layers.iter().map(|layer| {
        let path = layer.path.display();
        let about = refused(layer).map_or_else(|| path.to_string(), |why| format!("not there: {why}"));
        Choosable::new(layer.whose, about)
    });
    let usual = layers.iter().position(|layer| layer.whose == "yours" && refused(layer).is_none());
    let usual = usual.or_else(|| layers.iter().position(|layer| refused(layer).is_none())).unwrap_or(0);
    let asked = Inquiry::one_of(format!("{}: in which settings?", setting.key()), choices.collect()).selected(usual);
    let layer = layers.get(asked.choose(&talk.services).await?)?;
    match refused(layer) {
        None => Some(layer),
        Some(why) => {
            talk.say(Reply::error(why));
            None
        }
    }
}

/// What the user and the system say together, for whoever may only be stricter.
fn outer(layers: &[Layer]) -> Map<String, Value> {
    let mut all = Map::new();
    for layer in layers.iter().rev().filter(|layer| layer.whose != "this project's") {
        hookwright_settings::lay_over(&mut all, layer.values.clone());
    }
    all
}

fn write(setting: KnownSetting, wish: Wish, layer: &Layer, talk: &Talk) {
    let change = match &wish {
        Wish::Set(value) => Change::Set(setting.path(), value.clone()),
        Wish::Remove => Change::Remove(setting.path()),
    };
    let path = &layer.path;
    let done: Result<bool, EditError> = talk.services.guards.own_change(path, || apply(path, &change));
    talk.say(match (done, wish) {
        (Err(error), _) => Reply::error(error),
        (Ok(false), _) => Reply::aside(format!("{} was so already in {}", setting.key(), path.display())),
        (Ok(true), Wish::Set(value)) => {
            Reply::plain(format!("{} is {} in {}", setting.key(), shown(&value), path.display()))
        }
        (Ok(true), Wish::Remove) => Reply::plain(format!("{} is no longer set in {}", setting.key(), path.display())),
    });
    talk.say(Reply::aside("what a session reads at its start counts from the next one on"));
}
