use super::*;
use crate::json::parse_object;
use crate::settings::project_rule::StrictnessOrder;
use serde_json::json;
use std::path::Path;

/// Returns the user's value, and a project's value that would loosen it.
fn loosening_values(known: &SettingSpec) -> Option<(Option<Value>, Value)> {
    let any = || match known.kind {
        SettingKind::Section => json!({"x": {}}),
        SettingKind::Flag => json!(true),
        SettingKind::Text => json!("x"),
        SettingKind::Integer => json!(1),
        SettingKind::Fraction => json!(0.5),
        SettingKind::Texts | SettingKind::TextOrTexts | SettingKind::Globs => json!(["x"]),
        SettingKind::OneOf(words) => json!(words[0]),
    };
    Some(match known.project_rule {
        ProjectRule::Anything | ProjectRule::Listed => return None,
        ProjectRule::Nothing => (None, any()),
        ProjectRule::Inside if known.kind == SettingKind::Text => (None, json!("../x")),
        ProjectRule::Inside => (None, json!(["../x"])),
        ProjectRule::Stricter(than) | ProjectRule::ListedStricter(than) => match than {
            StrictnessOrder::Flag { strict, default } => ((strict != default).then(|| json!(strict)), json!(!strict)),
            StrictnessOrder::Off => (Some(json!(false)), json!(true)),
            StrictnessOrder::Words { words, .. } => (Some(json!(words[words.len() - 1])), json!(words[0])),
            StrictnessOrder::Number { .. } => (Some(json!(3)), json!(-1)),
            StrictnessOrder::Tools => (Some(json!(["a"])), json!(["b"])),
            StrictnessOrder::Entries => (Some(json!({"a": {"command": "x"}})), json!({"a": {"command": "y"}})),
        },
    })
}

fn nested(key: &str, value: &Value) -> Value {
    key.rsplit('.').fold(value.clone(), |value, name| json!({ name: value }))
}

fn read(layer: &Source, value: &Value, outer: &Map<String, Value>) -> (Map<String, Value>, LayerFindings) {
    let text = value.to_string();
    let place = SourceText::new(Path::new("settings.json"), &text);
    let root = parse_object(&text, &place).unwrap().unwrap();
    let mut found = LayerFindings::default();
    let outer = OuterSettings { settings: outer, root: Path::new("/usr") };
    let values = read_layer(&root, layer, &place, &ProcessEnv::default(), &outer, &mut found);
    (values, found)
}

#[test]
fn no_setting_is_loosened_by_a_project_without_a_diagnostic() {
    let mut refused = 0;
    for known in SETTING_TABLE
        .iter()
        .filter(|known| known.kind != SettingKind::Section || known.merge_rule == MergeRule::Entries)
    {
        let Some((user, project)) = loosening_values(known) else { continue };
        let user = user.map(|value| read(&Source::User, &nested(known.key, &value), &Map::new()).0);
        let user = user.unwrap_or_default();
        let (values, found) = read(&Source::Project, &nested(known.key, &project), &user);
        let [wrong] = found.diagnostics.as_slice() else { panic!("{}: {:?}", known.key, found.diagnostics) };
        assert!(wrong.message.starts_with("a project can't "), "{wrong}");
        assert!(wrong.message.contains(&format!("`{}`", known.key)) && wrong.span.is_some(), "{wrong}");
        let mut all = user.clone();
        super::super::overlay(&mut all, values);
        let at = |map| super::super::DottedLookup(map).get(known.key).filter(|value| **value != json!([])).cloned();
        // An intersection without common elements is empty and stays so.
        let kept =
            at(&all) == at(&user) || matches!(known.project_rule, ProjectRule::ListedStricter(StrictnessOrder::Tools));
        assert!(kept, "{}: {all:?}", known.key);
        refused += 1;
    }
    assert!(refused >= 25, "only {refused} settings are guarded");
}

#[test]
fn unknown_setting_follows_its_sections_project_rule() {
    let text = json!({"security": {"auth": {"selectedType": "x"}}, "telemetry": {"useCollector": true},
        "advanced": {"dnsResolutionOrder": "x"}, "ui": {"other": 1}, "mine": 1});
    let (values, found) = read(&Source::Project, &text, &Map::new());
    let said: Vec<_> = found.diagnostics.iter().map(|wrong| wrong.message.as_str()).collect();
    assert_eq!(
        said,
        [
            "a project can't set `security.auth.selectedType`; it is ignored",
            "a project can't set `telemetry.useCollector`; it is ignored",
            "a project can't set `advanced.dnsResolutionOrder`; it is ignored",
        ]
    );
    assert_eq!(values["ui"], json!({"other": 1}));
    assert_eq!(values["mine"], json!(1));
    let (values, found) = read(&Source::User, &text, &Map::new());
    assert!(found.diagnostics.is_empty());
    assert_eq!(Value::Object(values), text);
}

#[test]
fn plan_mode_is_not_left_under_any_name() {
    let names = ["general.defaultApprovalMode", "tools.approvalMode"];
    for (theirs, own) in names.iter().flat_map(|theirs| names.iter().map(move |own| (theirs, own))) {
        let mode = |user: &str, project: &str| {
            let (mut all, _) = read(&Source::User, &nested(theirs, &json!(user)), &Map::new());
            let (values, found) = read(&Source::Project, &nested(own, &json!(project)), &all);
            super::super::overlay(&mut all, values);
            (all["general"]["defaultApprovalMode"].as_str().unwrap().to_owned(), found.diagnostics.len())
        };
        assert_eq!(mode("plan", "default"), ("plan".to_owned(), 1));
        assert_eq!(mode("plan", "auto_edit"), ("plan".to_owned(), 1));
        assert_eq!(mode("default", "auto_edit"), ("default".to_owned(), 1));
        assert_eq!(mode("auto_edit", "default"), ("default".to_owned(), 0));
        assert_eq!(mode("default", "plan"), ("plan".to_owned(), 0));
    }
}

#[test]
fn misplaced_name_is_read_as_the_right_one_with_a_warning() {
    let text = json!({
        "coreTools": ["glob"], "contextFileName": "A.md", "tools.exclude": ["glob"], "model": "m",
        "excludeTools": ["web_fetch"], "tools": {"exclude": ["replace"]}, "fileFiltering": {"respectGitIgnore": false},
        "general": {"approvalMode": "plan"}, "somebodyElses": 1, "maxSessionTurns": "x",
    });
    let (values, found) = read(&Source::User, &text, &Map::new());
    let said: Vec<_> = found.diagnostics.iter().map(|wrong| wrong.message.as_str()).collect();
    assert_eq!(
        said,
        [
            "`coreTools` is read as `tools.core`, the correct name",
            "`contextFileName` is read as `context.fileName`, the correct name",
            "`tools.exclude` is read as `tools.exclude`, the correct name",
            "`model` is read as `model.name`, the correct name",
            "`excludeTools` is read as `tools.exclude`, the correct name",
            "`fileFiltering` is read as `context.fileFiltering`, the correct name",
            "`approvalMode` is read as `general.defaultApprovalMode`, the correct name",
            "`maxSessionTurns` is read as `model.maxSessionTurns`, the correct name",
            "`model.maxSessionTurns` should be a whole number, not a string; it is ignored",
        ]
    );
    assert_eq!(found.diagnostics[0].help.as_deref(), Some(r#"write it as { "tools": { "core": … } }"#));
    assert_eq!(values["tools"], json!({"core": ["glob"], "exclude": ["glob", "web_fetch", "replace"]}));
    assert_eq!(values["context"], json!({"fileName": "A.md", "fileFiltering": {"respectGitIgnore": false}}));
    assert_eq!(
        (&values["model"], &values["general"]),
        (&json!({"name": "m"}), &json!({"defaultApprovalMode": "plan"}))
    );
    // The right key wins over a misplaced one, and a section is no older name.
    let (values, found) =
        read(&Source::User, &json!({"model": {"name": "n"}, "theme": "x", "ui": {"theme": "y"}}), &Map::new());
    assert_eq!((&values["model"], &values["ui"]), (&json!({"name": "n"}), &json!({"theme": "y"})));
    assert_eq!(found.diagnostics.len(), 1);
}

#[test]
fn a_project_loosens_nothing_under_another_name() {
    for text in [
        json!({"approvalMode": "auto_edit"}),
        json!({"folderTrust": false}),
        json!({"security.disableYoloMode": false}),
    ] {
        let user = read(&Source::User, &json!({"security": {"disableYoloMode": true}}), &Map::new()).0;
        let (values, found) = read(&Source::Project, &text, &user);
        assert!(values.is_empty(), "{text}: {values:?}");
        assert!(found.diagnostics.iter().any(|wrong| wrong.message.starts_with("a project can't ")), "{text}");
    }
}

#[test]
fn unknown_settings_are_reported_louder_if_they_suggest_a_restriction() {
    let text = json!({
        "terminal.denyList": ["rm"], "permissions": {"deny": ["Bash(rm *)"]}, "tools": {"sandbox": true, "x": 1},
        "ide": {"enabled": true}, "$schema": "s", "//": "a remark", "security": {"toolSandboxing": false},
    });
    let (_, found) = read(&Source::User, &text, &Map::new());
    let said: Vec<_> = found.diagnostics.iter().map(|wrong| wrong.message.as_str()).collect();
    let guards = ["terminal.denyList", "permissions", "tools.sandbox"];
    assert_eq!(said, guards.map(|key| format!("`{key}` is not a known setting, so it protects nothing")));
    let others: Vec<_> = found.ineffective_settings.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(others, ["tools.x", "ide", "security.toolSandboxing"]);
}

#[test]
fn project_may_repeat_a_value_in_force() {
    let agents = |value: bool| nested("experimental.enableAgents", &json!(value));
    assert!(read(&Source::Project, &agents(true), &Map::new()).1.diagnostics.is_empty());
    let (off, _) = read(&Source::User, &agents(false), &Map::new());
    assert_eq!(read(&Source::Project, &agents(true), &off).1.diagnostics.len(), 1);
}
