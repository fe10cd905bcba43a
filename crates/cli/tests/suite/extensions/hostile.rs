//! Hostile content in extensions, names and addresses has no effect, and is reported.

use super::*;
use hookwright_testkit::deadline::*;

/// Returns the names below a folder.
fn names_below(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.retain(|name| name != ".lock");
    names.sort();
    names
}

fn assert_nothing_installed(sandbox: &Sandbox) {
    let there = names_below(&sandbox.home().join(".gemini/extensions"));
    assert!(there.is_empty(), "{there:?}");
}

#[test]
fn a_path_with_spaces_quotes_and_substitutions_is_only_a_path() {
    let odd = "o'd \"d\" $(touch pwned) `touch pwned` $HOME";
    let sandbox = sandbox().env("GEMINI_CLI_HOME", "");
    let home = sandbox.sibling_path(odd);
    std::fs::create_dir_all(&home).unwrap();
    let sandbox = sandbox.env("GEMINI_CLI_HOME", text(&home));
    let folder = guard(&sandbox, "g", "1.0.0");
    let hooks = json!({"hooks": {"BeforeTool": [{"hooks": [
        {"type": "command", "name": "one", "command": "${extensionPath}/check.sh"},
        {"type": "command", "name": "two", "command": "\"$CLAUDE_PLUGIN_ROOT/check.sh\""}]}]}});
    std::fs::write(folder.join("hooks/hooks.json"), hooks.to_string()).unwrap();
    extensions(&sandbox, &["install", "--consent", text(&folder)]).expect_exit_code(0);
    let run = fire(&sandbox).expect_exit_code(2);
    assert_eq!(run.stdout.matches("exit 2").count(), 2, "both hooks ran: {run:?}");
    assert!(!sandbox.has_file("pwned") && !home.join("pwned").exists());
    // Its source folder may have the odd name too.
    let source = sandbox.sibling_path(&format!("{odd} src"));
    std::fs::rename(&folder, &source).unwrap();
    extensions(&sandbox, &["uninstall", "guard"]).expect_exit_code(0);
    extensions(&sandbox, &["install", "--consent", text(&source)]).expect_exit_code(0);
    assert!(!sandbox.has_file("pwned"));
}

#[test]
fn no_name_leads_out_of_the_folder_of_extensions() {
    let sandbox = sandbox();
    for name in ["../evil", "/tmp/evil", "..", ".hidden", "none", "con", "a/b", "a\nb", "extension-enablement.json"] {
        lay(&sandbox, "x/gemini-extension.json", json!({"name": name, "version": "1"}).to_string());
        let run = extensions(&sandbox, &["install", "--consent", text(&sandbox.sibling_path("x"))]).expect_exit_code(1);
        assert!(run.stderr.contains("can't be an extension's name"), "{name}: {}", run.stderr);
    }
    assert_nothing_installed(&sandbox);
    for name in ["..", "../project", "/etc", "", ".", "../../home"] {
        extensions(&sandbox, &["uninstall", name]).expect_exit_code(1);
    }
    assert!(sandbox.project().exists() && sandbox.home().exists());
}

#[cfg(unix)]
#[test]
fn no_link_leads_out_of_an_extension() {
    use std::os::unix::fs::symlink;
    type SymlinkSetup<'a> = &'a dyn Fn(&Path);
    let sandbox = sandbox();
    let secret = lay(&sandbox, "secret", "s");
    let cases: [(&str, SymlinkSetup<'_>); 9] = [
        ("absolute", &|folder| symlink(&secret, folder.join("l")).unwrap()),
        ("up", &|folder| symlink("../secret", folder.join("l")).unwrap()),
        ("policies of another machine", &|folder| symlink("/nowhere/x.toml", folder.join("policies/x.toml")).unwrap()),
        ("needed and of another machine", &|folder| {
            std::fs::remove_file(folder.join("check.sh")).unwrap();
            symlink("/nowhere/check.sh", folder.join("check.sh")).unwrap();
        }),
        ("up to nothing", &|folder| symlink("../missing", folder.join("l")).unwrap()),
        ("down, up and out", &|folder| symlink("none/../../missing", folder.join("l")).unwrap()),
        ("needed", &|folder| {
            std::fs::remove_file(folder.join("check.sh")).unwrap();
            symlink("missing", folder.join("check.sh")).unwrap();
        }),
        ("round about", &|folder| {
            std::fs::create_dir(folder.join("s")).unwrap();
            symlink("..", folder.join("s/d")).unwrap();
            symlink("d/../secret", folder.join("s/x")).unwrap();
        }),
        ("pipe", &|folder| {
            Command::new("mkfifo").arg(folder.join("p")).status_in_time().unwrap();
        }),
    ];
    for (name, spoil) in cases {
        let folder = guard(&sandbox, &format!("x {name}"), "1.0.0");
        spoil(&folder);
        let run = extensions(&sandbox, &["install", "--consent", text(&folder)]).expect_exit_code(1);
        assert!(run.stderr.contains("is not allowed in an extension"), "{name}: {}", run.stderr);
        extensions(&sandbox, &["link", "--consent", text(&folder)]).expect_exit_code(1);
        extensions(&sandbox, &["validate", text(&folder)]).expect_exit_code(1);
        if name != "pipe" {
            commit(&folder);
            extensions(&sandbox, &["install", "--consent", &format!("file://{}", text(&folder))]).expect_exit_code(1);
        }
    }
    assert_nothing_installed(&sandbox);
    // A link that stays inside is accepted.
    let folder = guard(&sandbox, "fine", "1.0.0");
    symlink("check.sh", folder.join("also.sh")).unwrap();
    extensions(&sandbox, &["install", "--consent", text(&folder)]).expect_exit_code(0);
}

#[cfg(unix)]
#[test]
fn an_unneeded_dangling_link_is_left_out_and_reported() {
    use std::os::unix::fs::symlink;
    let sandbox = sandbox();
    let folder = guard(&sandbox, "g", "1.0.0");
    std::fs::create_dir(folder.join(".agent")).unwrap();
    symlink("../skills-that-were", folder.join(".agent/skills")).unwrap();
    symlink(".agent/skills", folder.join("second")).unwrap();
    let run = extensions(&sandbox, &["validate", text(&folder)]).expect_exit_code(0);
    assert!(run.stderr.contains("does not exist, so it is left out"), "{}", run.stderr);
    let run = extensions(&sandbox, &["install", "--consent", text(&folder)]).expect_exit_code(0);
    assert!(run.stderr.contains("--> guard/.agent/skills"), "{}", run.stderr);
    assert_eq!(names_below(&installed(&sandbox, "guard").join(".agent")), [""; 0]);
    assert!(installed(&sandbox, "guard").join("second").symlink_metadata().is_err());
    assert!(folder.join("second").symlink_metadata().is_ok(), "the source stays as it is");
}

#[cfg(unix)]
#[test]
fn links_into_an_empty_submodule_or_another_machine_are_left_out_aloud() {
    use std::os::unix::fs::symlink;
    let sandbox = sandbox();
    let folder = guard(&sandbox, "g", "1.0.0");
    std::fs::create_dir_all(folder.join("shared")).unwrap();
    symlink("../shared/more", folder.join("skills/more")).unwrap();
    symlink("../shared/bye.toml", folder.join("commands/bye.toml")).unwrap();
    symlink("/nowhere/of/theirs/more.md", folder.join("MORE.md")).unwrap();
    let run = extensions(&sandbox, &["install", "--consent", text(&folder)]).expect_exit_code(0);
    for link in ["guard/skills/more", "guard/commands/bye.toml", "guard/MORE.md"] {
        assert!(run.stderr.contains(&format!("--> {link}")), "{link}: {}", run.stderr);
        assert!(installed(&sandbox, link).symlink_metadata().is_err());
    }
    // A dangling link in a linked folder could lead somewhere later.
    let folder = guard(&sandbox, "h", "1.0.0");
    symlink("/nowhere", folder.join("l")).unwrap();
    extensions(&sandbox, &["link", "--consent", text(&folder)]).expect_exit_code(1);
}

#[test]
fn invalid_parts_of_an_extension_are_shown_before_consent() {
    let sandbox = sandbox();
    let folder = guard(&sandbox, "g", "1.0.0");
    lay(&sandbox, "g/skills/bad/SKILL.md", "no front matter");
    lay(&sandbox, "g/skills/s/nested/SKILL.md", "---\nname: nested\ndescription: d\n---\nbody");
    lay(&sandbox, "g/agents/worse.md", "---\nname: Worse!\ndescription: d\n---\nbody");
    lay(&sandbox, "g/commands/broken.toml", "prompt = ");
    let run = extensions(&sandbox, &["install", text(&folder)]).expect_exit_code(1);
    for words in ["skills/bad/SKILL.md is left out", "agents/worse.md is left out", "commands/broken.toml is"] {
        assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
    }
    assert!(run.stderr.contains("--> guard/skills/bad/SKILL.md:1:1"), "{}", run.stderr);
    assert!(!run.stderr.contains(".draft-") && !run.stdout.contains(".draft-"), "{run:?}");
    extensions(&sandbox, &["install", "--consent", text(&folder)]).expect_exit_code(0);
    let run = extensions(&sandbox, &["list"]).expect_exit_code(0);
    assert!(!run.stdout.contains("nested"), "what is inside of a skill is no skill: {}", run.stdout);
}

#[test]
fn nothing_is_copied_into_itself() {
    let sandbox = sandbox();
    lay(&sandbox, "home/gemini-extension.json", json!({"name": "x", "version": "1"}).to_string());
    let run = extensions(&sandbox, &["install", "--consent", text(&sandbox.home())]).expect_exit_code(1);
    assert!(run.stderr.contains("it contains the folder that it would be copied into"), "{}", run.stderr);
    lay(&sandbox, "home/SKILL.md", "---\nname: s\ndescription: d\n---\nbody");
    let run = sandbox.run(&["skills", "install", "--consent", text(&sandbox.home())]).expect_exit_code(1);
    assert!(run.stderr.contains("it contains the folder that it would be copied into"), "{}", run.stderr);
}

#[test]
fn no_address_is_an_option_or_a_program() {
    let sandbox = sandbox();
    for source in [
        "ext::sh -c touch% pwned",
        "--upload-pack=touch pwned",
        "ssh://-oProxyCommand=touch pwned/x",
        "git@-oProxyCommand=touch:pwned",
        "fd::0",
    ] {
        extensions(&sandbox, &["install", "--consent", "--", source]).expect_exit_code(1);
    }
    let folder = guard(&sandbox, "repo", "1.0.0");
    commit(&folder);
    let url = format!("file://{}", text(&folder));
    for reference in ["--upload-pack=touch pwned", "-x"] {
        extensions(&sandbox, &["install", "--consent", &url, &format!("--ref={reference}")]).expect_exit_code(1);
    }
    assert!(!sandbox.has_file("pwned"));
    assert_nothing_installed(&sandbox);
}

/// git's own ways to run programs: hooks, templates, submodules, configuration from the environment or the user.
#[test]
fn fetching_a_repository_runs_nothing_of_it() {
    let sandbox = sandbox();
    let pwned = sandbox.sibling_path("pwned");
    let touch = format!("#!/bin/sh\ntouch {}\n", text(&pwned));
    let folder = guard(&sandbox, "repo", "1.0.0");
    std::fs::write(folder.join(".gitmodules"), "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c touch% pwned\n")
        .unwrap();
    std::fs::write(folder.join(".gitattributes"), "* filter=evil\n").unwrap();
    commit(&folder);
    make_executable(&lay(&sandbox, "template/hooks/post-checkout", &touch));
    make_executable(&lay(&sandbox, "hooks/post-checkout", &touch));
    let config = format!(
        "[core]\n\thooksPath = {}\n[init]\n\ttemplateDir = {}\n[submodule]\n\trecurse = true\n",
        text(&sandbox.sibling_path("hooks")),
        text(&sandbox.sibling_path("template"))
    );
    std::fs::write(sandbox.home().join(".gitconfig"), config).unwrap();
    let sandbox =
        sandbox.env("GIT_DIR", "/nowhere").env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "core.hooksPath");
    let sandbox = sandbox.env("GIT_CONFIG_VALUE_0", "/tmp");
    extensions(&sandbox, &["install", "--consent", &format!("file://{}", text(&folder))]).expect_exit_code(0);
    assert!(!pwned.exists() && installed(&sandbox, "guard").join("check.sh").exists());
}

#[test]
fn two_installations_at_once_end_in_one_extension() {
    let sandbox = sandbox();
    let folder = guard(&sandbox, "g", "1.0.0");
    let start = || sandbox.command(&["extensions", "install", "--consent", text(&folder)]).spawn().unwrap();
    let children: Vec<_> = (0..4).map(|_| start()).collect();
    let runs: Vec<ProgramRun> = children.into_iter().map(hookwright_testkit::finish).collect();
    assert_eq!(runs.iter().filter(|run| run.code == Some(0)).count(), 1, "{runs:#?}");
    assert_eq!(names_below(&sandbox.home().join(".gemini/extensions")), ["guard"]);
    assert_eq!(fire(&sandbox).code, Some(2));
}

#[test]
fn names_that_differ_in_capitals_alone_are_one() {
    let sandbox = sandbox();
    let folder = guard(&sandbox, "g", "1.0.0");
    extensions(&sandbox, &["install", "--consent", text(&folder)]).expect_exit_code(0);
    lay(&sandbox, "G/gemini-extension.json", json!({"name": "GUARD", "version": "1"}).to_string());
    let run = extensions(&sandbox, &["install", "--consent", text(&sandbox.sibling_path("G"))]).expect_exit_code(1);
    assert!(run.stderr.contains("`guard` is installed already"), "{}", run.stderr);
}

#[test]
fn an_existing_folder_is_not_overwritten() {
    let sandbox = sandbox();
    let folder = guard(&sandbox, "g", "1.0.0");
    let mine = installed(&sandbox, "guard");
    std::fs::create_dir_all(&mine).unwrap();
    std::fs::write(mine.join("mine"), "mine").unwrap();
    let run = extensions(&sandbox, &["install", "--consent", text(&folder)]).expect_exit_code(1);
    assert!(run.stderr.contains("already exists"), "{}", run.stderr);
    assert_eq!(names_below(&mine), ["mine"]);
}

#[cfg(unix)]
#[test]
fn a_home_that_cannot_be_written_is_reported_and_unchanged() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = sandbox();
    let folder = guard(&sandbox, "g", "1.0.0");
    let extensions_folder = sandbox.home().join(".gemini/extensions");
    std::fs::create_dir_all(&extensions_folder).unwrap();
    let probe = extensions_folder.join("probe");
    std::fs::set_permissions(&extensions_folder, std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(&probe, "").is_ok() {
        let _ = std::fs::remove_file(&probe);
        hookwright_testkit::report_skipped("a_home_that_can_t_be_written", "this user may write anything");
    } else {
        let run = extensions(&sandbox, &["install", "--consent", text(&folder)]).expect_exit_code(1);
        assert!(run.stderr.contains("ermission"), "{}", run.stderr);
    }
    std::fs::set_permissions(&extensions_folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    // A file where the folder should be.
    std::fs::remove_dir_all(&extensions_folder).unwrap();
    std::fs::write(&extensions_folder, "").unwrap();
    extensions(&sandbox, &["install", "--consent", text(&folder)]).expect_exit_code(1);
    // No space on the disk, simulated by a limit.
    std::fs::remove_file(&extensions_folder).unwrap();
    std::fs::write(folder.join("large"), vec![b'x'; 4 << 20]).unwrap();
    let limited = sandbox
        .limited_command("ulimit -f 2048", &["extensions", "install", "--consent", text(&folder)])
        .spawn()
        .unwrap();
    let run = hookwright_testkit::finish(limited);
    assert_ne!(run.code, Some(0), "{run:?}");
    assert_nothing_installed(&sandbox);
}

#[test]
fn words_of_an_extension_do_not_steer_the_terminal() {
    let sandbox = sandbox();
    let manifest = json!({"name": "x", "version": "1\u{1b}[2J", "description": "a\u{1b}]0;owned\u{7}b\nc"});
    lay(&sandbox, "x/gemini-extension.json", manifest.to_string());
    let run = extensions(&sandbox, &["install", "--consent", text(&sandbox.sibling_path("x"))]).expect_exit_code(0);
    assert!(!run.stdout.contains('\u{1b}') && !run.stderr.contains('\u{1b}'), "{run:?}");
}
