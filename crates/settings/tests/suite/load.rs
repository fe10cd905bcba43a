//! Tests of layers, trust, `.env` files and broken files.

use std::fs;

use hookwright_hooks::{HookState, Source};
use hookwright_settings::{
    ConfigPaths, FolderTrust, LoadOptions, LoadedConfig, Notice, ProcessEnv, SettingsFileState, load,
};
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs::read_to_string;

use super::fixture::{SettingsFixture, diagnostic_messages, notice_messages, settings_with_hook};

#[test]
fn empty_machine_loads_without_diagnostics() {
    let place = SettingsFixture::new();
    let loaded = place.load();
    assert!(loaded.registry.hooks().is_empty() && loaded.registry.diagnostics().is_empty());
    assert!(loaded.notices.is_empty() && loaded.reviews.is_empty() && loaded.extensions.is_empty());
    assert_eq!(loaded.project.trust, FolderTrust::Unknown);
    let files: Vec<_> = loaded.files.iter().map(|file| (file.source.clone(), file.state)).collect();
    let missing = SettingsFileState::Missing;
    // The settings, and beside them the hooks for any agent.
    let (project, user) = ((Source::Project, missing), (Source::User, missing));
    let system = (Source::System, missing);
    assert_eq!(files, [project.clone(), project, user.clone(), user, system.clone(), system]);
}

#[test]
fn hooks_of_all_layers_come_in_order() {
    let place = SettingsFixture::trusted();
    place.write_project_settings(&settings_with_hook("p", "true"));
    place.write_user_settings(&settings_with_hook("u", "true"));
    place.write_system_settings(&settings_with_hook("s", "true"));
    let loaded = place.load();
    let names: Vec<_> =
        loaded.registry.hooks().iter().map(|hook| (hook.id().to_owned(), hook.source.clone())).collect();
    let named = |name: &str, source| (name.to_owned(), source);
    assert_eq!(names, [named("p", Source::Project), named("u", Source::User), named("s", Source::System)]);
    let is_settings = |file: &&hookwright_settings::SettingsFile| !file.path.ends_with("hooks.json");
    assert!(loaded.files.iter().filter(is_settings).all(|file| file.state == SettingsFileState::Loaded));
}

#[test]
fn untrusted_project_files_are_left_out_and_reported() {
    let place = SettingsFixture::new();
    place.write_project_settings(&settings_with_hook("p", "true"));
    place.write("project/.env", "FROM_ENV=1");
    place.write("project/.gemini/commands/c.toml", "prompt = 'x'");
    place.write_user_settings(&settings_with_hook("u", "true"));
    let loaded = place.load();
    assert_eq!(loaded.registry.hooks().len(), 1);
    assert_eq!(loaded.process_env.var("FROM_ENV"), None);
    assert_eq!(loaded.files[0].state, SettingsFileState::Untrusted);
    assert_eq!(
        notice_messages(&loaded),
        [
            "this folder is not trusted, so .gemini/settings.json, .gemini/commands and .env are not loaded; review it, then run \
          `hookwright hooks trust --folder`, or pass --skip-trust for one run"
        ]
    );
    assert!(
        hookwright_settings::commands::discover(&loaded.paths, &loaded.project, &loaded.extensions, &|_| false)
            .list
            .is_empty()
    );
}

#[test]
fn a_project_cannot_turn_off_its_own_gate() {
    let place = SettingsFixture::new();
    let text = r#"{"security": {"folderTrust": {"enabled": false}}, "model": {"name": "m"}}"#;
    place.write_project_settings(text);
    assert_eq!(place.load().settings.model.name, None);
    place.write_user_settings(r#"{"security": {"folderTrust": {"enabled": false}}}"#);
    let loaded = place.load();
    assert_eq!(loaded.settings.model.name.as_deref(), Some("m"));
    assert_eq!(diagnostic_messages(&loaded, &place.home()), [""; 0], "it says what is in force already");
    place.write_user_settings("{}");
    let loaded = place.load_with(hookwright_settings::TrustOverride::Skip);
    assert!(
        diagnostic_messages(&loaded, &place.home())[0]
            .contains("a project can't loosen `security.folderTrust.enabled`")
    );
}

#[test]
fn unreadable_file_is_reported_and_the_rest_loads() {
    let place = SettingsFixture::trusted();
    place.write_user_settings("{ \"hooks\": ");
    fs::create_dir_all(place.root().join("etc.json")).unwrap();
    place.write("project/.gemini/settings.json", b"{\"a\": \"\xff\"}");
    let loaded = place.load();
    let states: Vec<_> = loaded.files.iter().map(|file| file.state).collect();
    let states: Vec<_> = states.into_iter().filter(|state| *state != SettingsFileState::Missing).collect();
    assert_eq!(states, [SettingsFileState::Broken; 3]);
    let said = diagnostic_messages(&loaded, &place.home());
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(
        said[0].starts_with("project/.gemini/settings.json: error: this file is not valid UTF-8, from byte 7 on"),
        "{said:?}"
    );
    assert!(said[1].starts_with(".gemini/settings.json:1:") && said[1].contains("not valid JSON"), "{said:?}");
    assert!(said[2].contains("this is a directory, not a file"), "{said:?}");
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_file_does_not_hang() {
    let place = SettingsFixture::trusted();
    let pipe = place.home().join(".gemini/settings.json");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status_in_time().unwrap().success());
    assert!(diagnostic_messages(&place.load(), &place.home())[0].contains("not a regular file"));
}

#[test]
fn a_file_beyond_the_bound_is_not_read() {
    let place = SettingsFixture::trusted();
    let file = fs::File::create(place.home().join(".gemini/settings.json")).unwrap();
    file.set_len(65 * 1024 * 1024).unwrap();
    assert!(diagnostic_messages(&place.load(), &place.home())[0].contains("too large"));
}

#[test]
fn the_env_file_fills_gaps_and_settings() {
    let place = SettingsFixture::trusted().with_variable("SET", "shell");
    place.write("project/.gemini/.env", "SET=file\nTHEME=dark\nDEBUG=1");
    place.write("project/.env", "OTHER=1");
    place.write_project_settings(
        r#"{"ui": {"theme": "$THEME"}, "hooks": {"SessionStart": [{"hooks": [
        {"type": "command", "command": "x $THEME", "env": {"T": "${THEME}-${NONE:-no}"}}]}]}}"#,
    );
    let loaded = place.load();
    assert_eq!(loaded.process_env.var("SET"), Some("shell"));
    assert_eq!(loaded.process_env.var("DEBUG"), Some("1"));
    assert_eq!(loaded.process_env.var("OTHER"), None);
    assert_eq!(loaded.settings.ui.theme.as_deref(), Some("dark"));
    let hookwright_hooks::Action::Command(command) = &loaded.registry.hooks()[0].action else { panic!() };
    assert_eq!((command.command.as_str(), command.env[0].1.as_str()), ("x $THEME", "dark-no"));
}

#[test]
fn a_projects_env_file_is_read_at_its_root_alone() {
    let place = SettingsFixture::trusted();
    place.write(".gemini/.env", "FROM=gemini home\nMINE=1");
    let outside = tempfile::tempdir().unwrap();
    let from = |project: &std::path::Path| {
        let loaded = load(&place.process_env(), &LoadOptions { project: project.to_owned(), ..LoadOptions::default() });
        loaded.process_env.var("FROM").map(str::to_owned)
    };
    assert_eq!(from(outside.path()).as_deref(), Some("gemini home"));
    assert_eq!(from(&place.project()).as_deref(), Some("gemini home"));
    place.write("project/.env", "FROM=project\nDEBUG=1");
    place.write("project/deep/down/x", "");
    assert_eq!(from(&place.project()).as_deref(), Some("project"));
    assert_eq!(from(&place.project().join("deep/down")).as_deref(), Some("gemini home"));
    assert_eq!(place.load().process_env.var("DEBUG"), None);
    // A project's file does not hide the user's.
    assert_eq!(place.load().process_env.var("MINE"), Some("1"));
}

#[test]
fn dangerous_variables_in_a_projects_env_file_are_ignored_and_reported() {
    let place = SettingsFixture::trusted();
    place.write_user_settings(r#"{"telemetry": {"outfile": "${WHERE:-mine}"}}"#);
    let text = "GEMINI_API_KEY=k\nBASH_ENV=./x\nGOOGLE_GEMINI_BASE_URL=http://evil\nhttps_proxy=http://evil\nWHERE=theirs\nPORT=1";
    for file in ["project/.env", "project/.gemini/.env"] {
        place.write(file, text);
        let loaded = place.load();
        let var = |name: &str| loaded.process_env.var(name);
        assert_eq!((var("GEMINI_API_KEY"), var("PORT")), (Some("k"), Some("1")));
        assert_eq!((var("BASH_ENV"), var("GOOGLE_GEMINI_BASE_URL"), var("https_proxy")), (None, None, None));
        // The user's settings are filled in from the user's environment.
        assert!(loaded.settings.telemetry.outfile.as_ref().unwrap().ends_with("mine"));
        let said = diagnostic_messages(&loaded, &place.home());
        assert_eq!(
            said,
            [format!(
                "{file}: warning: a project's `.env` can't set BASH_ENV, GOOGLE_GEMINI_BASE_URL, https_proxy; they are ignored (such variables change how programs run; set them in your shell or in ~/.gemini/.env)"
            )]
        );
    }
    // The user's file may set them.
    fs::remove_dir_all(place.project()).unwrap();
    fs::create_dir_all(place.project()).unwrap();
    place.write(".gemini/.env", text);
    assert_eq!(place.load().process_env.var("BASH_ENV"), Some("./x"));
}

#[test]
fn hooks_of_the_user_see_nothing_of_the_projects_env_file() {
    let place = SettingsFixture::trusted().with_variable("SHELL_TOKEN", "t");
    place.write(".gemini/.env", "MINE=1\nBOTH=user");
    place.write("project/.env", "THEIRS=1\nBOTH=project");
    place.write_project_settings(
        r#"{"security": {"environmentVariableRedaction": {"enabled": true, "blocked": ["PATH", "MINE"]}}}"#,
    );
    let loaded = place.load();
    let has = |env: &[(std::ffi::OsString, std::ffi::OsString)], pair: (&str, &str)| {
        env.iter().any(|(name, value)| name == pair.0 && value == pair.1)
    };
    let hookwright_hooks::ExecEnvs { user_and_system: own, project, extensions } = loaded.hook_exec_envs();
    assert_eq!(project.env, extensions.env);
    let (own, others) = (own.env, project.env);
    assert!(has(&own, ("MINE", "1")) && has(&own, ("BOTH", "user")) && has(&own, ("SHELL_TOKEN", "t")));
    assert!(!has(&own, ("THEIRS", "1")));
    assert!(has(&others, ("THEIRS", "1")) && has(&others, ("BOTH", "project")));
    // Variables that the project hides from hooks are hidden from its own hooks only.
    assert!(!has(&others, ("MINE", "1")) && !has(&others, ("SHELL_TOKEN", "t")));
}

#[test]
fn a_project_leads_nothing_outside_of_itself() {
    let place = SettingsFixture::trusted();
    let root = place.project();
    fs::create_dir_all(root.join("inside")).unwrap();
    std::os::unix::fs::symlink(place.home(), root.join("link")).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", root.join("dangling")).unwrap();
    let directories = ["inside", "..", "../x", "/etc", "link", "link/..", "inside/../..", "dangling", "not/../../up"];
    place.write_project_settings(&serde_json::json!({
        "context": {"includeDirectories": directories, "fileName": ["AGENTS.md", "../../etc/passwd", "/etc/passwd", "link/x"]},
        "general": {"plan": {"directory": "link/plans"}},
    }).to_string());
    let loaded = place.load();
    assert_eq!(loaded.settings.context.include_directories, ["inside"]);
    assert_eq!(loaded.settings.context.file_names, ["AGENTS.md", "GEMINI.md"]);
    assert!(!loaded.plans_dir("s").starts_with(&root));
    assert_eq!(diagnostic_messages(&loaded, &place.home()).len(), 3);
}

#[test]
fn users_env_file_is_loaded_in_any_folder() {
    let place = SettingsFixture::new();
    place.write(".gemini/.env", "KEY=mine");
    place.write("project/.env", "KEY=theirs");
    assert_eq!(place.load().process_env.var("KEY"), Some("mine"));
}

#[test]
fn a_project_that_switches_off_others_hooks_is_announced() {
    let place = SettingsFixture::trusted();
    place.write_user_settings(&settings_with_hook("guard", "true"));
    place.write_project_settings(r#"{"hooksConfig": {"disabled": ["guard"]}}"#);
    assert_eq!(notice_messages(&place.load()), ["this project's settings disable `guard` (user)"]);
    place.write_project_settings(r#"{"hooks": {"enabled": false}}"#);
    assert_eq!(
        notice_messages(&place.load()),
        ["this project's settings turn all hooks off, among them `guard` (user)"]
    );
    // The user's own setting needs no announcement.
    place.write_project_settings("{}");
    place.write_user_settings(r#"{"hooks": {"disabled": ["g"], "Notification": [{"hooks": [{"type": "command", "name": "g", "command": "x"}]}]}}"#);
    let loaded = place.load();
    assert!(loaded.notices.is_empty());
    assert_eq!(loaded.registry.entries().next().unwrap().1, &HookState::Disabled { by: vec![Source::User] });
}

#[test]
fn overrides_for_unknown_agents_are_reported() {
    let place = SettingsFixture::trusted();
    place.write_user_settings(
        r#"{"agents": {"overrides": {"scout": {"enabled": false}, "codebase_investigator": {"enabled": false}}}}"#,
    );
    let own = place.write_project_settings(r#"{"agents": {"overrides": {"of-project": {"enabled": false}}}}"#);
    place.write(".gemini/agents/scout.md", "---\nname: scout\ndescription: looks around\n---\nYou look around.\n");
    let said = hookwright_settings::subagents::discover(&place.load()).diagnostics;
    let mut said: Vec<_> = said.iter().map(|wrong| (wrong.message.as_str(), wrong.file.as_path())).collect();
    said.sort_unstable();
    let user = place.home().join(".gemini/settings.json");
    assert_eq!(
        said,
        [
            ("`agents.overrides.codebase_investigator` has no effect: there is no agent of that name", user.as_path()),
            ("`agents.overrides.of-project` has no effect: there is no agent of that name", own.as_path()),
        ]
    );
}

#[test]
fn the_home_directory_as_project_is_not_loaded_twice() {
    let place = SettingsFixture::trusted();
    place.write_user_settings(&settings_with_hook("u", "true"));
    let loaded = load(&place.process_env(), &LoadOptions { project: place.home(), ..LoadOptions::default() });
    assert_eq!(loaded.registry.hooks().len(), 1);
    assert_eq!(loaded.files.len(), 4, "the user's two, and the system's two");
    assert!(loaded.reviews.is_empty());
}

#[test]
fn changes_go_to_the_workspaces_settings_where_it_has_any() {
    let place = SettingsFixture::new();
    assert_eq!(place.load().settings_file(), place.home().join(".gemini/settings.json"));
    let own = place.write_project_settings("{}");
    // A file that is not loaded must not be changed.
    assert_eq!(place.load().settings_file(), place.home().join(".gemini/settings.json"));
    assert_eq!(place.load_with(hookwright_settings::TrustOverride::Skip).settings_file(), own);
}

#[test]
fn places_follow_the_environment() {
    let world = |env: &[(&str, &str)]| {
        ProcessEnv::new(env.iter().map(|(name, value)| (name.into(), value.into())).collect(), "/w".into())
    };
    let paths = ConfigPaths::new(&world(&[
        ("HOME", "/h"),
        ("GEMINI_CLI_HOME", "/g"),
        ("GEMINI_CLI_TRUSTED_FOLDERS_PATH", "t.json"),
    ]));
    assert_eq!(paths.user_dir, std::path::Path::new("/g/.gemini"));
    assert_eq!(paths.trusted_folders, std::path::Path::new("/w/t.json"));
    let paths = ConfigPaths::new(&world(&[("HOME", "/h")]));
    assert_eq!(paths.user_settings, std::path::Path::new("/h/.gemini/settings.json"));
    // A missing home is no error.
    assert!(
        load(&ProcessEnv::new(Vec::new(), "/nonexistent".into()), &LoadOptions::default()).registry.hooks().is_empty()
    );
}

#[test]
fn a_projects_scratch_directory_keeps_the_name_that_gemini_cli_gave_it() {
    let place = SettingsFixture::new();
    let paths = place.paths();
    let hashed = |project: &str| paths.project_temp_dir(std::path::Path::new(project)).file_name().unwrap().len() == 64;
    assert!(hashed("/p"));
    place.write(".gemini/projects.json", r#"{"projects": {"/p": "my-p", "/q": "../../etc"}}"#);
    assert!(paths.chats_dir(std::path::Path::new("/p")).ends_with(".gemini/tmp/my-p/chats"));
    assert!(hashed("/q"));
}

#[test]
fn a_notice_for_every_new_hook_names_it() {
    let place = SettingsFixture::trusted();
    place.write_project_settings(&settings_with_hook("fmt", "./fmt.sh"));
    let loaded = place.load();
    assert!(matches!(&loaded.notices[0], Notice::Hook { hook, held: false, .. } if hook == "fmt"));
    assert_eq!(notice_messages(&loaded), ["new project hook `fmt`, which runs `./fmt.sh`"]);
}

#[test]
fn plans_go_where_the_settings_say_but_not_out_of_the_project() {
    let place = SettingsFixture::trusted();
    let usual = place.load().plans_dir("s1");
    assert!(usual.ends_with("s1/plans") && !usual.starts_with(place.project()));
    for (directory, expected) in [("docs/plans", place.project().join("docs/plans")), ("../out", usual.clone())] {
        place.write_project_settings(&serde_json::json!({"general": {"plan": {"directory": directory}}}).to_string());
        assert_eq!(place.load().plans_dir("s1"), expected);
    }
}

#[test]
fn a_projects_name_for_context_files_finds_no_credentials() {
    let place = SettingsFixture::trusted();
    place.write_user_settings(r#"{"context": {"fileName": "NOTES"}}"#);
    place.write_project_settings(r#"{"context": {"fileName": ["oauth_creds.json", "AGENTS.md"]}}"#);
    let context = place.load().settings.context;
    assert_eq!(context.file_names, ["oauth_creds.json", "AGENTS.md", "GEMINI.md"]);
    assert_eq!(context.outside_file_names, ["AGENTS.md", "GEMINI.md"]);
}

#[test]
fn project_contents_are_listed_and_announced_once_and_on_change() {
    let place = SettingsFixture::trusted();
    place.write_project_settings(
        r#"{"tools": {"allowed": ["run_shell_command(ls)"]}, "mcpServers": {"m": {"command": "x", "args": ["1"]}}}"#,
    );
    place.write("project/.gemini/commands/go.toml", "prompt = \"one\"");
    let loaded = place.load();
    let what: Vec<_> = loaded.project_contents.iter().map(|offer| offer.kind).collect();
    assert_eq!(what, ["mcpServers", "tools.allowed", "commands"]);
    assert_eq!(
        notice_messages(&loaded),
        [
            "this project's mcpServers: `m (`x 1`)` is new",
            "this project's tools.allowed: `run_shell_command(ls)` is new",
        ]
    );
    hookwright_settings::record_project_contents(&loaded).unwrap();
    assert!(notice_messages(&place.load()).is_empty());
    // A name cannot forge another line.
    place.write_project_settings(r#"{"tools": {"exclude": ["x\nthis project is fine\u001b[2K"]}}"#);
    assert_eq!(place.load().project_contents[0].items.keys().next().unwrap(), "x\\nthis project is fine\\u{1b}[2K");
    place.write_project_settings(
        r#"{"tools": {"allowed": ["run_shell_command(rm)"]}, "mcpServers": {"m": {"command": "x", "args": ["2"]}}}"#,
    );
    place.write("project/.gemini/commands/go.toml", "prompt = \"two\"");
    assert_eq!(
        notice_messages(&place.load()),
        [
            "this project's mcpServers: `m (`x 2`)` is new and `m (`x 1`)` is gone",
            "this project's tools.allowed: `run_shell_command(rm)` is new and `run_shell_command(ls)` is gone",
            "this project's commands: `.gemini/commands/go.toml` has changed",
        ]
    );
}

#[test]
fn an_event_is_judged_without_reading_what_the_project_contains() {
    let place = SettingsFixture::trusted();
    place.write_project_settings(&settings_with_hook("p", "true"));
    place.write_user_settings(&settings_with_hook("u", "true"));
    place.write("project/.gemini/skills/s/SKILL.md", "---\nname: s\ndescription: d\n---\n");
    place.write("project/.gemini/commands/go.toml", "prompt = \"one\"");
    let session = place.load();
    let event = place.load_for_event();
    assert_eq!(session.project_contents.len(), 3);
    assert!(event.project_contents.is_empty());
    let ids = |loaded: &LoadedConfig| -> Vec<_> {
        loaded.registry.hooks().iter().map(|hook| (hook.id().to_owned(), hook.source.clone())).collect()
    };
    assert_eq!(ids(&event), ids(&session));
    assert_eq!((&event.files, &event.project), (&session.files, &session.project));
    assert_eq!(notice_messages(&event), notice_messages(&session));
    // Nothing counts as announced that was not read.
    hookwright_settings::record_project_contents(&event).unwrap();
    assert!(!session.paths.known_project_contents.exists());
    hookwright_settings::record_project_contents(&session).unwrap();
    let recorded = read_to_string(&session.paths.known_project_contents).unwrap();
    hookwright_settings::record_project_contents(&event).unwrap();
    assert_eq!(read_to_string(&session.paths.known_project_contents).unwrap(), recorded);
}
