//! Tests of custom command files.

use hookwright_hooks::Source;
use hookwright_settings::commands::{CustomCommands, discover};
use serde_json::json;

use super::fixture::SettingsFixture;

fn discover_commands(place: &SettingsFixture) -> CustomCommands {
    let loaded = place.load();
    discover(&loaded.paths, &loaded.project, &loaded.extensions, &|name| matches!(name, "init" | "chat"))
}

#[test]
fn the_project_goes_over_the_user_and_extensions_stand_beside() {
    let place = SettingsFixture::trusted();
    place.write(".gemini/commands/git/commit.toml", "prompt = 'user'");
    place.write(".gemini/commands/only.toml", "description = 'd'\nprompt = '''\nmany\nlines'''");
    place.write("project/.gemini/commands/git/commit.toml", "prompt = 'project'\nother = 1");
    place.write(".gemini/extensions/e/gemini-extension.json", json!({"name": "e", "version": "1"}).to_string());
    place.write(".gemini/extensions/e/commands/only.toml", "prompt = 'extension'");
    place.write(".gemini/extensions/e/commands/own.toml", "prompt = 'own'");
    let commands = discover_commands(&place);
    assert!(commands.diagnostics.is_empty());
    let list: Vec<_> = commands.list.iter().map(|command| (command.name.as_str(), command.prompt.as_str())).collect();
    assert_eq!(list, [("e.only", "extension"), ("git:commit", "project"), ("only", "many\nlines"), ("own", "own")]);
    assert_eq!(commands.list[1].source, Source::Project);
    assert_eq!(commands.list[2].description.as_deref(), Some("d"));
}

#[test]
fn a_command_named_like_a_builtin_has_its_origin_before_its_name() {
    let place = SettingsFixture::trusted();
    let extension = |name: &str| {
        let manifest = json!({"name": name, "version": "1"}).to_string();
        place.write(&format!(".gemini/extensions/{name}/gemini-extension.json"), manifest);
        place.write(&format!(".gemini/extensions/{name}/commands/init.toml"), "prompt = 'x'");
    };
    place.write(".gemini/commands/init.toml", "prompt = 'user'");
    place.write(".gemini/commands/init/more.toml", "prompt = 'another name'");
    place.write("project/.gemini/commands/init.toml", "prompt = 'project'");
    place.write("project/.gemini/commands/user.init.toml", "prompt = 'an imitation'");
    extension("e");
    extension("workspace");
    let commands = discover_commands(&place);
    let names: Vec<_> = commands.list.iter().map(|command| command.name.as_str()).collect();
    assert_eq!(names, ["e.init", "init:more", "user.init", "user.init1", "workspace.init", "workspace.init1"]);
    assert_eq!(commands.list[5].source, Source::Extension("workspace".to_owned()));
    let said: Vec<_> = commands.diagnostics.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(said.len(), 4, "{said:?}");
    assert_eq!(said[0], "/init is a built-in command, so this one is renamed to /workspace.init");
}

#[test]
fn commands_of_an_untrusted_folder_wait() {
    let place = SettingsFixture::new();
    place.write("project/.gemini/commands/git/commit.toml", "prompt = 'project'");
    place.write("project/.gemini/commands/init.toml", "this is not even toml");
    let commands = discover_commands(&place);
    assert!(commands.list.is_empty() && commands.diagnostics.is_empty());
    assert_eq!(commands.untrusted, ["git:commit", "workspace.init"]);
}

#[test]
fn a_bad_file_is_reported_with_its_place_and_skipped() {
    let place = SettingsFixture::trusted();
    place.write(".gemini/commands/a.toml", "prompt = 'fine'");
    place.write(".gemini/commands/b.toml", "# comment\nprompt = \"open\nx = 1\n");
    place.write(".gemini/commands/c.toml", "description = 'no prompt'");
    place.write(".gemini/commands/d.toml", "description = 'x'\nprompt = 7\n");
    let commands = discover_commands(&place);
    assert_eq!(commands.list.len(), 1);
    let places: Vec<_> =
        commands.diagnostics.iter().map(|wrong| wrong.span.as_ref().map(|span| (span.line, span.column))).collect();
    assert_eq!(places, [Some((2, 15)), Some((1, 1)), Some((2, 10))], "{:#?}", commands.diagnostics);
    assert!(commands.diagnostics[1].message.contains("prompt"));
}

#[cfg(unix)]
#[test]
fn a_circle_of_links_ends() {
    let place = SettingsFixture::trusted();
    place.write(".gemini/commands/x/a.toml", "prompt = 'x'");
    std::os::unix::fs::symlink("..", place.home().join(".gemini/commands/x/up")).unwrap();
    assert_eq!(discover_commands(&place).list.len(), 1);
}
