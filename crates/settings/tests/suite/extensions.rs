//! Extensions: manifests, enablement, hooks, settings and consent.

use hookwright_hooks::{Action, HookState, Source};
use hookwright_settings::edit::Switch;
use hookwright_settings::trust::trust_hooks;
use hookwright_settings::{ExtensionChoice, ExtensionOwner, LoadOptions, forget_extension, load, set_extension_rule};
use hookwright_testkit::fs;
use serde_json::json;

use super::fixture::{SettingsFixture, diagnostic_messages, settings_with_hook};

fn install(place: &SettingsFixture, name: &str, manifest: &serde_json::Value) {
    place.write(&format!(".gemini/extensions/{name}/gemini-extension.json"), manifest.to_string());
}

fn linter(place: &SettingsFixture) {
    let manifest = json!({"name": "linter", "version": "1.2.0", "contextFileName": ["A.md", "../B.md", "missing.md"],
        "mcpServers": {"m": {"command": "${extensionPath}${/}run", "env": {"K": "$LINT_KEY"}}},
        "excludeTools": ["web_fetch"], "settings": [{"name": "Key", "envVar": "LINT_KEY"}]});
    install(place, "linter", &manifest);
    place.write(".gemini/extensions/linter/A.md", "a");
    place.write(".gemini/extensions/linter/.env", "LINT_KEY=secret\nOTHER=1");
    place.write(".gemini/extensions/linter/lint.sh", "lint\n");
    place
        .write(".gemini/extensions/linter/hooks/hooks.json", settings_with_hook("lint", "${extensionPath}${/}lint.sh"));
}

#[test]
fn an_extension_brings_hooks_servers_context_and_its_own_settings() {
    let place = SettingsFixture::new();
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
    let folder = path.display().to_string();
    let env = [("LINT_KEY", "secret"), ("CLAUDE_PLUGIN_ROOT", folder.as_str())];
    assert_eq!(command.env, env.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let manifest = ".gemini/extensions/linter/gemini-extension.json";
    let said = diagnostic_messages(&loaded, &place.home());
    assert_eq!(said.len(), 2, "{said:#?}");
    assert!(said[0].starts_with(manifest) && said[0].contains("`../B.md` leads out of the extension"), "{said:#?}");
    assert!(said[1].contains("there is no context file `missing.md`"), "{said:#?}");
}

#[test]
fn context_and_exclusions_count_under_names_that_are_nearly_theirs() {
    let place = SettingsFixture::new();
    let manifest = json!({"name": "notes", "version": "1", "contextFiles": ["A.md"], "excludedTools": ["web_fetch"]});
    install(&place, "notes", &manifest);
    place.write(".gemini/extensions/notes/A.md", "a");
    let loaded = place.load();
    let notes = &loaded.extensions[0];
    assert_eq!(notes.context_files, [place.home().join(".gemini/extensions/notes/A.md")]);
    assert_eq!(notes.exclude_tools, ["web_fetch"]);
    let said = diagnostic_messages(&loaded, &place.home());
    assert!(said[0].contains("`contextFiles` is read as `contextFileName`"), "{said:#?}");
    assert!(said[1].contains("`excludedTools` is read as `excludeTools`"), "{said:#?}");
    // If both names are present, only the right one counts.
    let manifest = json!({"name": "notes", "version": "1", "contextFiles": ["A.md"], "contextFileName": "B.md"});
    install(&place, "notes", &manifest);
    let loaded = place.load();
    assert!(loaded.extensions[0].context_files.is_empty());
    let said = diagnostic_messages(&loaded, &place.home());
    assert!(said.iter().any(|one| one.contains("`contextFiles` is not a key of an extension")), "{said:#?}");
}

#[test]
fn setting_has_its_default_until_a_value_is_set() {
    let place = SettingsFixture::new();
    let manifest = json!({"name": "remote", "version": "1", "mcpServers": {"m": {"httpUrl": "${REMOTE_URL}/mcp"}},
    "settings": [
        {"name": "Address", "envVar": "REMOTE_URL", "defaultValue": "https://example.org"},
        {"name": "Level", "envVar": "REMOTE_LEVEL", "default": 3},
        {"name": "Loader", "envVar": "LD_PRELOAD", "defaultValue": "./evil.so"},
    ]});
    install(&place, "remote", &manifest);
    let loaded = place.load();
    let remote = &loaded.extensions[0];
    let values = [("REMOTE_URL", "https://example.org"), ("REMOTE_LEVEL", "3")];
    let has = |name: &str, value: &str| remote.env.contains(&(name.to_owned(), value.to_owned()));
    assert!(values.iter().all(|(name, value)| has(name, value)), "{:?}", remote.env);
    assert_eq!(remote.mcp_servers["m"]["httpUrl"], "https://example.org/mcp");
    assert!(!remote.env.iter().any(|(name, _)| name == "LD_PRELOAD"), "{:?}", remote.env);
    let said = diagnostic_messages(&loaded, &place.home());
    assert!(said.iter().any(|one| one.contains("`LD_PRELOAD` changes how programs run")), "{said:#?}");
    place.write(".gemini/extensions/remote/.env", "REMOTE_URL=https://mine.example");
    let loaded = place.load();
    assert_eq!(loaded.extensions[0].mcp_servers["m"]["httpUrl"], "https://mine.example/mcp");
}

#[test]
fn hooks_that_an_update_adds_or_changes_wait_for_consent() {
    let place = SettingsFixture::new();
    linter(&place);
    let loaded = place.load();
    // Installed: announced, and consented to by the installation.
    assert_eq!(loaded.reviews.len(), 1);
    assert!(!loaded.reviews[0].held);
    trust_hooks(&loaded.paths, &loaded.reviews).unwrap();
    assert!(place.load().reviews.is_empty());

    place.write(".gemini/extensions/linter/lint.sh", "lint\nsteal\n");
    let loaded = place.load();
    let why = "changed: lint.sh changed (+1 -0 lines); not trusted yet".to_owned();
    assert_eq!(loaded.registry.entries().next().unwrap().1, &HookState::Untrusted { why });
    trust_hooks(&loaded.paths, &loaded.reviews).unwrap();
    assert!(place.load().reviews.is_empty());

    place.write(".gemini/extensions/linter/hooks/hooks.json", settings_with_hook("another", "x"));
    assert!(matches!(place.load().registry.entries().next().unwrap().1, HookState::Untrusted { .. }));
}

#[test]
fn an_extensions_hooks_wait_under_ask_and_block_however_they_came() {
    for word in ["ask", "block"] {
        let held = |place: &SettingsFixture| {
            let loaded = place.load();
            let states = loaded.registry.entries().map(|(_, state)| matches!(state, HookState::Untrusted { .. }));
            (states.collect::<Vec<_>>(), loaded)
        };
        // An extension that was copied by hand.
        let place = SettingsFixture::new();
        place.write_user_settings(&format!(r#"{{"security": {{"hooks": {{"review": "{word}"}}}}}}"#));
        linter(&place);
        let (states, loaded) = held(&place);
        assert_eq!(states, [true]);
        assert!(loaded.notices.iter().any(|notice| notice.to_string().starts_with("new extension linter hook `lint`")));
        trust_hooks(&loaded.paths, &loaded.reviews).unwrap();
        assert_eq!(held(&place).0, [false]);
        // Another name is another extension and needs its own consent.
        install(&place, "linter", &json!({"name": "formatter", "version": "1"}));
        assert_eq!(held(&place).0, [true]);
        // An update that adds the first hook.
        let place = SettingsFixture::new();
        place.write_user_settings(&format!(r#"{{"security": {{"hooks": {{"review": "{word}"}}}}}}"#));
        install(&place, "quiet", &json!({"name": "quiet", "version": "1"}));
        assert_eq!(held(&place).0, [false; 0]);
        place.write(".gemini/extensions/quiet/hooks/hooks.json", settings_with_hook("first", "x"));
        assert_eq!(held(&place).0, [true]);
        // Consent at installation covers the hooks that existed then.
        let (_, loaded) = held(&place);
        trust_hooks(&loaded.paths, loaded.reviews_of(&Source::Extension("quiet".into()))).unwrap();
        assert_eq!(held(&place).0, [false]);
    }
}

#[test]
fn disabled_extension_adds_nothing() {
    let place = SettingsFixture::new();
    linter(&place);
    let rules = json!({"linter": {"overrides": ["/*", format!("!{}/*", place.project().display())]}});
    place.write(".gemini/extensions/extension-enablement.json", rules.to_string());
    let loaded = place.load();
    assert!(!loaded.extensions[0].active && loaded.registry.hooks().is_empty());
    let choose = |extensions| {
        let options = LoadOptions { project: place.project(), extensions, ..LoadOptions::default() };
        load(&place.process_env(), &options).registry.hooks().len()
    };
    assert_eq!(choose(ExtensionChoice::Only(vec!["Linter".into()])), 1);
    assert_eq!(choose(ExtensionChoice::None), 0);
}

#[test]
fn broken_extensions_are_reported_and_the_others_load() {
    let place = SettingsFixture::new();
    linter(&place);
    install(&place, "nameless", &json!({"version": "1"}));
    install(&place, "odd", &json!({"name": "odd", "version": 1}));
    install(&place, "twin", &json!({"name": "linter", "version": "2"}));
    place.write(".gemini/extensions/torn/gemini-extension.json", "{");
    place.write(".gemini/extensions/cache/file", "no extension");
    let loaded = place.load();
    assert_eq!(loaded.extensions.len(), 1);
    let said = diagnostic_messages(&loaded, &place.home());
    let said: Vec<_> = said.into_iter().filter(|said| !said.contains("context file")).collect();
    assert_eq!(said.len(), 4, "{said:#?}");
    assert!(said[0].contains("needs `name`") && said[1].contains("should be a string, not a number"), "{said:#?}");
}

#[test]
fn a_linked_extension_lives_elsewhere() {
    let place = SettingsFixture::new();
    place.write("dev/mine/gemini-extension.json", json!({"name": "mine", "version": "0"}).to_string());
    place.write("dev/mine/hooks/hooks.json", settings_with_hook("h", "x"));
    let source = place.home().join("dev/mine");
    place.write(
        ".gemini/extensions/mine/.gemini-extension-install.json",
        json!({"type": "link", "source": source}).to_string(),
    );
    let loaded = place.load();
    assert_eq!(loaded.extensions[0].path, source);
    assert_eq!(loaded.registry.hooks().len(), 1);
}

#[test]
fn context_files_are_named_with_variables_too() {
    let place = SettingsFixture::new().with_variable("WHICH", "B");
    let names =
        json!(["${extensionPath}${/}docs${pathSeparator}A.md", "$WHICH.md", "${workspacePath}/C.md", "/etc/passwd"]);
    install(&place, "x", &json!({"name": "x", "version": "1", "contextFileName": names}));
    let path = place.home().join(".gemini/extensions/x");
    place.write(".gemini/extensions/x/docs/A.md", "a");
    place.write(".gemini/extensions/x/B.md", "b");
    place.write("project/C.md", "c");
    let loaded = place.load();
    assert_eq!(loaded.extensions[0].context_files, [path.join("docs/A.md"), path.join("B.md")]);
    assert_eq!(diagnostic_messages(&loaded, &place.home()).iter().filter(|said| said.contains("leads out")).count(), 2);
}

#[cfg(unix)]
#[test]
fn no_link_leads_context_out_of_an_extension() {
    let place = SettingsFixture::new();
    install(&place, "x", &json!({"name": "x", "version": "1"}));
    let secret = place.write("secret.md", "s");
    std::os::unix::fs::symlink(secret, place.home().join(".gemini/extensions/x/GEMINI.md")).unwrap();
    assert!(place.load().extensions[0].context_files.is_empty());
}

#[test]
fn hooks_in_odd_places_are_read_and_reported() {
    let place = SettingsFixture::new();
    let hooks = json!({"BeforeTool": [{"hooks": [{"type": "command", "name": "m", "command": "true"}]}]});
    install(&place, "a", &json!({"name": "a", "version": "1", "hooks": hooks}));
    install(&place, "b", &json!({"name": "b", "version": "1"}));
    place.write(
        ".gemini/extensions/b/hooks/hooks.json",
        json!({"description": "d", "BeforeTool": hooks["BeforeTool"]}).to_string(),
    );
    install(&place, "c", &json!({"name": "c", "version": "1", "hooks": "./my-hooks.json"}));
    place.write(".gemini/extensions/c/my-hooks.json", settings_with_hook("c", "true"));
    install(&place, "d", &json!({"name": "d", "version": "1", "hooks": "../../settings.json"}));
    install(&place, "e", &json!({"name": "e", "version": "1"}));
    place.write(".gemini/extensions/e/hooks.json", settings_with_hook("e", "true"));
    let loaded = place.load();
    let sources: Vec<_> = loaded.registry.hooks().iter().map(|hook| hook.source.to_string()).collect();
    assert_eq!(sources.len(), 3, "{sources:?}");
    let said = diagnostic_messages(&loaded, &place.home()).join("\n");
    for words in [
        "a/gemini-extension.json:1",
        "hooks in the manifest work here, but Gemini CLI ignores them",
        "b/hooks/hooks.json:1:2",
        "have no `\"hooks\"` around them",
        "hooks in `./my-hooks.json` work here",
        "the extension has no such file",
        "hooks here are not read",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn guard_in_a_manifest_is_reported_when_it_is_unarmed() {
    let place = SettingsFixture::new();
    let guard =
        json!({"BeforeTool": [{"hooks": [{"type": "command", "name": "g", "command": "true", "guard": true}]}]});
    install(&place, "a", &json!({"name": "a", "version": "1", "hooks": guard}));
    hookwright_settings::record_guards(&place.load(), hookwright_settings::RemovedGuardPolicy::Keep).unwrap();
    let rules = json!({"a": {"overrides": ["!/*"]}});
    place.write(".gemini/extensions/extension-enablement.json", rules.to_string());
    assert_eq!(place.load().unarmed_guards.len(), 1);
}

#[test]
fn wrong_types_and_names_are_reported_with_positions() {
    let place = SettingsFixture::new();
    let wrong = json!({"name": "w", "version": "1", "description": 1, "mcpServers": [1], "contextFileName": {"a": 1},
        "excludeTools": 7, "settings": [1, {"name": "n"}, {"envVar": "A B"}, {"envVar": "OK", "sensitive": "yes"}],
        "plan": 1, "hooks": 3, "contextFileNames": "x", "mcp_servers": {}, "author": "me", "themes": [{}]});
    install(&place, "w", &wrong);
    for (at, name) in ["../evil", "/abs", "none", "a b", "con", ""].into_iter().enumerate() {
        install(&place, &format!("n{at}"), &json!({"name": name, "version": "1"}));
    }
    let loaded = place.load();
    assert_eq!(loaded.extensions.len(), 1, "{:?}", loaded.extensions);
    let extension = &loaded.extensions[0];
    assert_eq!((extension.settings.len(), extension.settings[0].sensitive), (1, true));
    assert_eq!(extension.ineffective_settings[0].key, "themes");
    let said = diagnostic_messages(&loaded, &place.home());
    assert!(said.iter().all(|said| said.contains("gemini-extension.json:1:")), "{said:#?}");
    assert_eq!(said.iter().filter(|said| said.contains("can't be an extension's name")).count(), 5, "{said:#?}");
    let text = said.join("\n");
    for words in [
        "`description` should be a string, not a number",
        "`mcpServers` should be an object",
        "`contextFileName` should be a string or a list",
        "`excludeTools` should be",
        "needs `envVar`",
        "not a valid name of a variable",
        "`sensitive` should be true or false",
        "`plan` should be an object",
        "`hooks` should be an object",
        "`contextFileNames` is not a key",
        "`mcp_servers` is not a key",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("author") && !text.contains("themes"), "{text}");
}

#[test]
fn project_extensions_load_if_trusted_and_replace_no_others() {
    let lay = |place: &SettingsFixture| {
        place.write(
            "project/.gemini/extensions/own/gemini-extension.json",
            json!({"name": "own", "version": "1"}).to_string(),
        );
        place.write("project/.gemini/extensions/own/hooks/hooks.json", settings_with_hook("o", "true"));
        place.write(
            "project/.gemini/extensions/l/gemini-extension.json",
            json!({"name": "LINTER", "version": "9"}).to_string(),
        );
        linter(place);
    };
    let place = SettingsFixture::new();
    lay(&place);
    let loaded = place.load();
    assert_eq!(loaded.extensions.len(), 1);
    assert!(
        loaded.notices.iter().any(|notice| notice.to_string().contains(".gemini/extensions")),
        "{:?}",
        loaded.notices
    );
    let place = SettingsFixture::trusted();
    lay(&place);
    let loaded = place.load();
    let names: Vec<_> = loaded.extensions.iter().map(|one| (one.name.as_str(), one.owner)).collect();
    assert_eq!(names, [("linter", ExtensionOwner::User), ("own", ExtensionOwner::Project)]);
    assert!(
        diagnostic_messages(&loaded, &place.home())
            .iter()
            .any(|said| said.contains("another extension is also called `linter`"))
    );
    let offered = loaded.project_contents.iter().find(|offer| offer.kind == "extensions").unwrap();
    assert_eq!(offered.items.keys().collect::<Vec<_>>(), ["LINTER", "own"]);
}

#[test]
fn switching_writes_rules_as_gemini_cli_does() {
    let place = SettingsFixture::new();
    linter(&place);
    let paths = place.paths();
    let project = place.project();
    let active = || place.load().extensions[0].active;
    set_extension_rule(&paths, "linter", &project, Switch::Disable).unwrap();
    assert!(!active());
    let file = place.home().join(".gemini/extensions/extension-enablement.json");
    let rules: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(rules, json!({"linter": {"overrides": [format!("!{}/*", project.display())]}}));
    set_extension_rule(&paths, "linter", std::path::Path::new("/"), Switch::Enable).unwrap();
    assert!(active());
    assert_eq!(fs::read_to_string(&file).unwrap().matches("/*").count(), 1);
    set_extension_rule(&paths, "linter", std::path::Path::new("/"), Switch::Disable).unwrap();
    set_extension_rule(&paths, "linter", &project, Switch::Enable).unwrap();
    assert!(active());
    forget_extension(&paths, "linter").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap().trim(), "{}");
    std::fs::write(&file, "{").unwrap();
    assert!(set_extension_rule(&paths, "linter", &project, Switch::Disable).is_err());
    assert_eq!(fs::read_to_string(&file).unwrap(), "{");
}

#[test]
fn commands_know_where_their_extension_is() {
    let place = SettingsFixture::new();
    linter(&place);
    place.write(
        ".gemini/extensions/linter/commands/run.toml",
        "prompt = '!{cat ${extensionPath}${/}A.md} $HOME {{args}}'",
    );
    let loaded = place.load();
    let commands =
        hookwright_settings::commands::discover(&loaded.paths, &loaded.project, &loaded.extensions, &|_| false);
    let path = place.home().join(".gemini/extensions/linter/A.md");
    assert_eq!(commands.list[0].prompt, format!("!{{cat {}}} $HOME {{{{args}}}}", path.display()));
}
