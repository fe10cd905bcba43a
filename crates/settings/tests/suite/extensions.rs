//! Extensions: manifests, enablement, hooks, settings and consent.

use hookwright_hooks::{Action, HookState, Source};
use hookwright_settings::trust::trust_hooks;
use hookwright_settings::{ExtensionChoice, LoadOptions, load};
use serde_json::json;

use super::place::{Place, one_hook, problems};

fn install(place: &Place, name: &str, manifest: &serde_json::Value) {
    place.write(&format!(".gemini/extensions/{name}/gemini-extension.json"), manifest.to_string());
}

fn linter(place: &Place) {
    let manifest = json!({"name": "linter", "version": "1.2.0", "contextFileName": ["A.md", "../B.md", "missing.md"],
        "mcpServers": {"m": {"command": "${extensionPath}${/}run", "env": {"K": "$LINT_KEY"}}},
        "excludeTools": ["web_fetch"], "settings": [{"name": "Key", "envVar": "LINT_KEY"}]});
    install(place, "linter", &manifest);
    place.write(".gemini/extensions/linter/A.md", "a");
    place.write(".gemini/extensions/linter/.env", "LINT_KEY=secret\nOTHER=1");
    place.write(".gemini/extensions/linter/lint.sh", "lint\n");
    place.write(".gemini/extensions/linter/hooks/hooks.json", one_hook("lint", "${extensionPath}${/}lint.sh"));
}

#[test]
fn an_extension_brings_hooks_servers_context_and_its_own_settings() {
    let place = Place::new();
    linter(&place);
    let loaded = place.load();
    let extension = &loaded.extensions[0];
    let path = place.home().join(".gemini/extensions/linter");
    assert_eq!((extension.name.as_str(), extension.version.as_str(), extension.active), ("linter", "1.2.0", true));
    assert_eq!(extension.context_files, [path.join("A.md")]);
    assert_eq!(extension.exclude_tools, ["web_fetch"]);
    let server = json!({"command": format!("{}/run", path.display()), "env": {"K": "secret"}});
    assert_eq!(extension.mcp_servers["m"], server);
    let hook = &loaded.registry.hooks()[0];
    assert_eq!(hook.source, Source::Extension("linter".into()));
    let Action::Command(command) = &hook.action else { panic!() };
    assert_eq!(command.env, [("LINT_KEY".to_owned(), "secret".to_owned())]);
    assert!(problems(&loaded, &place.home()).is_empty());
}

#[test]
fn hooks_that_an_update_adds_or_changes_wait_for_consent() {
    let place = Place::new();
    linter(&place);
    let loaded = place.load();
    // As it was installed: announced, and consented to by having been installed.
    assert_eq!(loaded.reviews.len(), 1);
    assert!(!loaded.reviews[0].held);
    trust_hooks(&loaded.paths, &loaded.reviews).unwrap();
    assert!(place.load().reviews.is_empty());

    place.write(".gemini/extensions/linter/lint.sh", "lint\nsteal\n");
    let loaded = place.load();
    let why = "changed: lint.sh changed (+1 -0 lines); not trusted yet".to_owned();
    assert_eq!(loaded.registry.entries().next().unwrap().1, &HookState::Held { why });
    trust_hooks(&loaded.paths, &loaded.reviews).unwrap();
    assert!(place.load().reviews.is_empty());

    place.write(".gemini/extensions/linter/hooks/hooks.json", one_hook("another", "x"));
    assert!(matches!(place.load().registry.entries().next().unwrap().1, HookState::Held { .. }));
}

#[test]
fn an_extensions_hooks_wait_under_ask_and_block_however_they_came() {
    for word in ["ask", "block"] {
        let held = |place: &Place| {
            let loaded = place.load();
            let states = loaded.registry.entries().map(|(_, state)| matches!(state, HookState::Held { .. }));
            (states.collect::<Vec<_>>(), loaded)
        };
        // Copied by hand.
        let place = Place::new();
        place.user(&format!(r#"{{"security": {{"hooks": {{"review": "{word}"}}}}}}"#));
        linter(&place);
        let (states, loaded) = held(&place);
        assert_eq!(states, [true]);
        assert!(loaded.notices.iter().any(|notice| notice.to_string().starts_with("new extension linter hook `lint`")));
        trust_hooks(&loaded.paths, &loaded.reviews).unwrap();
        assert_eq!(held(&place).0, [false]);
        // Renamed: other consent is needed for another extension.
        install(&place, "linter", &json!({"name": "formatter", "version": "1"}));
        assert_eq!(held(&place).0, [true]);
        // An update that adds the first hook.
        let place = Place::new();
        place.user(&format!(r#"{{"security": {{"hooks": {{"review": "{word}"}}}}}}"#));
        install(&place, "quiet", &json!({"name": "quiet", "version": "1"}));
        assert_eq!(held(&place).0, [false; 0]);
        place.write(".gemini/extensions/quiet/hooks/hooks.json", one_hook("first", "x"));
        assert_eq!(held(&place).0, [true]);
        // The user's word at install covers what was there then.
        let (_, loaded) = held(&place);
        trust_hooks(&loaded.paths, loaded.reviews_of(&Source::Extension("quiet".into()))).unwrap();
        assert_eq!(held(&place).0, [false]);
    }
}

#[test]
fn what_the_user_disabled_here_brings_nothing() {
    let place = Place::new();
    linter(&place);
    let rules = json!({"linter": {"overrides": ["/*", format!("!{}/*", place.project().display())]}});
    place.write(".gemini/extensions/extension-enablement.json", rules.to_string());
    let loaded = place.load();
    assert!(!loaded.extensions[0].active && loaded.registry.hooks().is_empty());
    let choose = |extensions| {
        let options = LoadOptions { project: place.project(), extensions, ..LoadOptions::default() };
        load(&place.world(), &options).registry.hooks().len()
    };
    assert_eq!(choose(ExtensionChoice::Only(vec!["Linter".into()])), 1);
    assert_eq!(choose(ExtensionChoice::None), 0);
}

#[test]
fn broken_extensions_are_reported_and_the_others_load() {
    let place = Place::new();
    linter(&place);
    install(&place, "nameless", &json!({"version": "1"}));
    install(&place, "odd", &json!({"name": "odd", "version": 1}));
    install(&place, "twin", &json!({"name": "linter", "version": "2"}));
    place.write(".gemini/extensions/torn/gemini-extension.json", "{");
    place.write(".gemini/extensions/cache/file", "no extension");
    let loaded = place.load();
    assert_eq!(loaded.extensions.len(), 1);
    let said = problems(&loaded, &place.home());
    assert_eq!(said.len(), 4, "{said:#?}");
    assert!(said[0].contains("needs `name`") && said[1].contains("should be a string, not a number"), "{said:#?}");
}

#[test]
fn a_linked_extension_lives_elsewhere() {
    let place = Place::new();
    place.write("dev/mine/gemini-extension.json", json!({"name": "mine", "version": "0"}).to_string());
    place.write("dev/mine/hooks/hooks.json", one_hook("h", "x"));
    let source = place.home().join("dev/mine");
    place.write(
        ".gemini/extensions/mine/.gemini-extension-install.json",
        json!({"type": "link", "source": source}).to_string(),
    );
    let loaded = place.load();
    assert_eq!(loaded.extensions[0].path, source);
    assert_eq!(loaded.registry.hooks().len(), 1);
}
