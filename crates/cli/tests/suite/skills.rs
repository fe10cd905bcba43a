//! Skills from their folders to the model: offered, approved, loaded, readable; and the commands that manage them.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;

use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use hookwright_testkit::{ProgramRun, ReplayBuilder, Sandbox};
use serde_json::{Value, json};

use crate::sandbox;

fn skill(folder: &Path, name: &str, description: &str) {
    std::fs::create_dir_all(folder.join(name)).unwrap();
    let text = format!("---\nname: {name}\ndescription: {description}\n---\n# How\nRun scripts/{name}.sh.\n");
    std::fs::write(folder.join(name).join("SKILL.md"), text).unwrap();
}

/// A user's skill `pdf` with a file beside it, and hooks that log their input.
fn place() -> Sandbox {
    let sandbox = sandbox();
    let user = sandbox.home().join(".gemini/skills");
    skill(&user, "pdf", "reads <b>PDF</b> files");
    std::fs::write(user.join("pdf/notes.txt"), "the notes").unwrap();
    let log =
        sandbox.script("log.sh", "cat >> \"$GEMINI_PROJECT_DIR/log.jsonl\"; echo >> \"$GEMINI_PROJECT_DIR/log.jsonl\"");
    let hooks = json!([{"hooks": [{"type": "command", "name": "log", "command": log}]}]);
    sandbox.settings(&json!({"hooks": {"BeforeModel": hooks, "BeforeTool": hooks, "AfterTool": hooks}}));
    sandbox
}

fn logged(sandbox: &Sandbox, event: &str) -> Vec<Value> {
    let text = if sandbox.has_file("log.jsonl") { sandbox.read("log.jsonl") } else { String::new() };
    let all = serde_json::Deserializer::from_str(&text).into_iter::<Value>().map(Result::unwrap);
    all.filter(|input| input["hook_event_name"] == event).collect()
}

fn run(sandbox: &Sandbox, replay: &ReplayBuilder, more: &[&str]) -> ProgramRun {
    let file = sandbox.replay(replay);
    sandbox.run(&[&["-p", "go", "--fake-responses", file.as_str()], more].concat())
}

/// Returns the first request to the model, as sent over the wire.
pub(super) fn first_request(sandbox: Sandbox) -> (Sandbox, Value) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let mut stream = listener.accept_in_time().unwrap().0;
        let (mut request, mut piece) = (Vec::new(), [0; 65536]);
        // Up to the end of the body, which is JSON.
        while !request.ends_with(b"}") {
            match stream.read(&mut piece).unwrap() {
                0 => break,
                read => request.extend_from_slice(&piece[..read]),
            }
        }
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
        String::from_utf8(request).unwrap()
    });
    let sandbox = sandbox.env("GEMINI_API_KEY", "k").env("GOOGLE_GEMINI_BASE_URL", &address);
    sandbox.run(&["-p", "go"]);
    let request = server.join_in_time().unwrap();
    let body = request.split_once("\r\n\r\n").unwrap().1;
    (sandbox, serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}")))
}

/// Returns the system prompt's section on skills, and the names that can be activated.
fn skills_section(sandbox: Sandbox) -> (Sandbox, Option<String>, Value) {
    let (sandbox, request) = first_request(sandbox);
    let system = request["systemInstruction"]["parts"][0]["text"].as_str().unwrap();
    let section =
        system.split_once("<available_skills>\n").map(|(_, rest)| rest.split_once("</available_skills>").unwrap().0);
    let tools = request["tools"][0]["functionDeclarations"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == "activate_skill");
    let names = tool.map_or(Value::Null, |tool| tool["parametersJsonSchema"]["properties"]["name"]["enum"].clone());
    let section = section.map(str::to_owned);
    (sandbox, section, names)
}

fn activate_replay() -> ReplayBuilder {
    ReplayBuilder::new().calls("activate_skill", json!({"name": "pdf"}))
}

#[test]
fn a_skill_is_offered_loaded_and_its_folder_read() {
    let sandbox = place();
    let notes = sandbox.home().join(".gemini/skills/pdf/notes.txt").display().to_string();
    let read = ReplayBuilder::new().calls("read_file", json!({"file_path": notes}));
    // Its folder is not readable before the skill is activated.
    run(&sandbox, &read.clone().says("done"), &["--yolo"]).expect_exit_code(0);
    let before = &logged(&sandbox, "AfterTool")[0]["tool_response"];
    assert_eq!(before["error"]["type"], "path_not_in_workspace", "{before}");
    std::fs::remove_file(sandbox.project().join("log.jsonl")).unwrap();

    let replay = activate_replay()
        .calls("read_file", json!({"file_path": notes}))
        .calls("glob", json!({"pattern": "*.txt", "dir_path": Path::new(&notes).parent().unwrap()}))
        .calls("write_file", json!({"file_path": notes, "content": "mine"}))
        .says("done");
    run(&sandbox, &replay, &["--yolo"]).expect_exit_code(0);
    let calls: Vec<Value> = logged(&sandbox, "BeforeTool").iter().map(|input| input["tool_name"].clone()).collect();
    assert_eq!(calls[0], "activate_skill");
    let after = logged(&sandbox, "AfterTool");
    let told = after[0]["tool_response"]["llmContent"].as_str().unwrap();
    assert!(
        told.starts_with("<activated_skill name=\"pdf\">\n<instructions>\n# How\nRun scripts/pdf.sh.\n</instructions>"),
        "{told}"
    );
    assert!(told.contains("  notes.txt\n</available_resources>"), "{told}");
    assert_eq!(after[1]["tool_response"]["llmContent"], "the notes");
    assert!(after[2]["tool_response"]["llmContent"].as_str().unwrap().contains("notes.txt"));
    assert_eq!(fs::read_to_string(&notes).unwrap(), "the notes", "what may be read may not be written");
}

#[test]
fn activation_needs_consent_and_hooks_may_deny() {
    let sandbox = place();
    let refused = run(&sandbox, &activate_replay().says("done"), &[]).expect_exit_code(0);
    assert!(refused.stderr.contains("activate_skill"), "{refused:#?}");
    assert!(logged(&sandbox, "AfterTool").is_empty());
    run(&sandbox, &activate_replay().says("done"), &["--allowed-tools", "activate_skill"]).expect_exit_code(0);
    assert_eq!(logged(&sandbox, "AfterTool").len(), 1);

    let deny = sandbox.script("deny.sh", "echo 'no skills here' >&2; exit 2");
    let hooks = json!([{"matcher": "activate_skill", "hooks": [{"type": "command", "command": deny}]}]);
    sandbox.settings(&json!({"hooks": {"BeforeTool": hooks}}));
    let denied = run(&sandbox, &activate_replay().says("done"), &["--yolo"]).expect_exit_code(0);
    assert!(denied.stderr.contains("no skills here"), "{denied:#?}");
}

#[test]
fn a_disabled_or_excluded_skill_is_not_offered() {
    let sandbox = place();
    let (mut sandbox, section, names) = skills_section(sandbox);
    assert_eq!((section.as_deref(), names), (Some("- pdf: reads &lt;b&gt;PDF&lt;/b&gt; files\n"), json!(["pdf"])));
    for settings in [
        json!({"skills": {"disabled": ["PDF"]}}),
        json!({"skills": {"enabled": false}}),
        json!({"admin": {"skills": {"enabled": false}}}),
        json!({"tools": {"exclude": ["activate_skill"]}}),
    ] {
        sandbox.user_settings(&settings);
        let (again, section, names) = skills_section(sandbox);
        assert_eq!((section, names), (None, Value::Null), "{settings}");
        sandbox = again;
        let ended = run(&sandbox, &activate_replay().says("done"), &["--yolo"]).expect_exit_code(0);
        assert!(ended.stderr.contains("not found"), "{settings} {ended:#?}");
    }
}

#[test]
fn an_untrusted_projects_skills_are_not_offered_and_that_is_reported() {
    let sandbox = sandbox().untrusted();
    skill(&sandbox.project().join(".agents/skills"), "theirs", "does harm");
    let listed = sandbox.run(&["skills", "list"]).expect_exit_code(0);
    assert!(listed.stderr.contains("this folder is not trusted, so .agents/skills is not loaded"), "{listed:#?}");
    assert!(!listed.stdout.contains("theirs"));
    let trusted = sandbox.run(&["skills", "list", "--skip-trust"]).expect_exit_code(0);
    assert!(trusted.stdout.contains("theirs"), "{trusted:#?}");
    let asked = sandbox.run(&["hooks", "trust", "--folder"]).expect_exit_code(0);
    assert!(asked.stderr.contains(".agents/skills/theirs"), "{asked:#?}");
}

#[test]
fn skills_are_listed_with_their_states() {
    let sandbox = sandbox();
    skill(&sandbox.home().join(".gemini/skills"), "review", "reviews the user's way");
    skill(&sandbox.project().join(".gemini/skills"), "review", "reviews this project");
    skill(&sandbox.project().join(".agents/skills"), "off", "is off");
    sandbox.settings(&json!({"skills": {"disabled": ["off"]}}));
    std::fs::create_dir_all(sandbox.home().join(".gemini/skills/broken")).unwrap();
    std::fs::write(sandbox.home().join(".gemini/skills/broken/SKILL.md"), "---\nname: broken\n---\n").unwrap();
    let run = sandbox.run(&["skills", "list"]).expect_exit_code(0);
    let shown = |text: &str| text.replace(&sandbox.home().parent().unwrap().display().to_string(), "");
    // The columns are as wide as the sandbox's path.
    let table: Vec<Vec<String>> = shown(&run.stdout)
        .lines()
        .map(|line| line.split("  ").filter(|cell| !cell.is_empty()).map(|cell| cell.trim().to_owned()).collect())
        .collect();
    assert_eq!(
        table,
        [
            vec!["SKILL", "SOURCE", "STATE", "DESCRIPTION"],
            vec!["off", "project", "disabled", "is off"],
            vec!["review", "user", "overridden by /project/.gemini/skills/review", "reviews the user's way"],
            vec!["review", "project", "enabled", "reviews this project"],
        ]
    );
    assert!(
        shown(&run.stderr)
            .contains("this skill has no `description`; it is left out\n --> /home/.gemini/skills/broken/SKILL.md:1:1"),
        "{run:#?}"
    );
    let run = sandbox.run(&["skills", "list", "--json"]).expect_exit_code(0).json();
    let states: Vec<_> =
        run["skills"].as_array().unwrap().iter().map(|one| one["enabled"].as_bool().unwrap()).collect();
    assert_eq!(states, [false, false, true]);
    assert_eq!(run["diagnostics"].as_array().unwrap().len(), 1);
}

#[test]
fn switching_keeps_comments_and_takes_effect() {
    let sandbox = place();
    sandbox.write(".gemini/settings.json", "{\n  // mine\n  \"ui\": {}\n}\n");
    let run = sandbox.run(&["skills", "disable", "PDF"]).expect_exit_code(0);
    assert!(run.stderr.contains("disabled skill `pdf` in "), "{run:#?}");
    let text = sandbox.read(".gemini/settings.json");
    assert!(text.contains("// mine") && text.contains("\"disabled\": [\"pdf\"]"), "{text}");
    assert!(sandbox.run(&["skills", "disable", "pdf"]).expect_exit_code(0).stderr.contains("already disabled"));
    sandbox.run(&["skills", "disable", "pdf", "--scope", "user"]).expect_exit_code(0);
    assert!(sandbox.run(&["skills", "list"]).expect_exit_code(0).stdout.contains("disabled"));
    let run = sandbox.run(&["skills", "enable", "pdf"]).expect_exit_code(0);
    assert!(run.stderr.contains(" and ") && !run.stderr.contains("still"), "{run:#?}");
    assert!(sandbox.run(&["skills", "list"]).expect_exit_code(0).stdout.contains("enabled"));
    sandbox.user_settings(&json!({"skills": {"enabled": false}}));
    let run = sandbox.run(&["skills", "enable", "pdf"]).expect_exit_code(0);
    assert!(run.stderr.contains("still off, as settings switch all skills off"), "{run:#?}");
    assert!(sandbox.run(&["skills", "disable", "pdg"]).expect_exit_code(1).stderr.contains("no skill is called `pdg`"));
}

#[test]
fn a_skill_is_checked() {
    let sandbox = sandbox();
    skill(&sandbox.project(), "good", "is fine");
    for path in ["good", "good/SKILL.md", "."] {
        assert_eq!(sandbox.run(&["skills", "validate", path]).expect_exit_code(0).stdout, "good: no problems\n");
    }
    sandbox.write("bad/SKILL.md", "---\nname: bad\ndescription: \"\"\n---\n");
    let run = sandbox.run(&["skills", "validate", "bad"]).expect_exit_code(1);
    assert!(run.stderr.contains("bad/SKILL.md:3:14"), "{run:#?}");
    let run = sandbox.run(&["skills", "validate", "bad", "--json"]).expect_exit_code(1).json();
    assert_eq!((&run["ok"], run["diagnostics"].as_array().unwrap().len()), (&json!(false), 1));
    std::fs::create_dir(sandbox.project().join("empty")).unwrap();
    assert!(sandbox.run(&["skills", "validate", "empty"]).expect_exit_code(1).stdout.contains("no skill"));
    assert!(sandbox.run(&["skills", "validate", "nowhere"]).expect_exit_code(1).stderr.contains("there is no folder"));
}

#[test]
fn uninstalling_takes_what_was_named_and_nothing_else() {
    let sandbox = place();
    let skills = sandbox.home().join(".gemini/skills");
    skill(&skills, "other", "stays");
    sandbox.write("keep/SKILL.md", "---\nname: linked\ndescription: x\n---\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink(sandbox.project().join("keep"), skills.join("linked")).unwrap();
    for name in ["..", "../skills", "/", ".", "", "nobody", "other/../pdf"] {
        assert!(sandbox.run(&["skills", "uninstall", name]).expect_exit_code(1).stderr.contains("no skill"), "{name}");
    }
    sandbox.run(&["skills", "uninstall", "pdf"]).expect_exit_code(0);
    assert!(!skills.join("pdf").exists() && skills.join("other/SKILL.md").exists());
    #[cfg(unix)]
    {
        assert!(sandbox.run(&["skills", "uninstall", "linked"]).expect_exit_code(0).stderr.contains("unlinked"));
        assert!(sandbox.has_file("keep/SKILL.md") && !skills.join("linked").exists());
    }
    sandbox.run(&["skills", "uninstall", "other", "--scope", "workspace"]).expect_exit_code(1);
    skill(&sandbox.project().join(".gemini/skills"), "own", "x");
    sandbox.run(&["skills", "uninstall", "own", "--scope", "workspace"]).expect_exit_code(0);
    assert!(!sandbox.has_file(".gemini/skills/own"));
}

/// A folder of skills to install from, beside the project.
fn offered(sandbox: &Sandbox) -> String {
    let folder = sandbox.sibling_path("offered");
    skill(&folder, "one", "does one thing");
    skill(&folder, "two", "does another");
    std::fs::write(folder.join("one/run.sh"), "true").unwrap();
    folder.display().to_string()
}

#[test]
fn installing_shows_what_comes_and_needs_consent() {
    let sandbox = sandbox();
    let from = offered(&sandbox);
    let skills = sandbox.home().join(".gemini/skills");
    let run = sandbox.run(&["skills", "install", &from]).expect_exit_code(1);
    assert!(run.stdout.contains("one: does one thing\n    run.sh\ntwo: does another\n"), "{run:#?}");
    assert!(run.stderr.contains("install one, two: not confirmed; nothing was changed"), "{run:#?}");
    assert_eq!(std::fs::read_dir(&skills).unwrap().count(), 0, "no draft is left");
    sandbox.run(&["skills", "install", &from, "--consent"]).expect_exit_code(0);
    assert!(skills.join("one/run.sh").is_file() && skills.join("two/SKILL.md").is_file());
    assert_eq!(std::fs::read_dir(&skills).unwrap().count(), 2, "no draft is left");
    // A single skill, which replaces the installed one.
    std::fs::write(sandbox.sibling_path("offered/one/new.sh"), "").unwrap();
    let run = sandbox.run(&["skills", "install", &format!("{from}/one"), "--consent"]).expect_exit_code(0);
    assert!(run.stderr.contains("skill `one` is installed already"), "{run:#?}");
    assert!(skills.join("one/new.sh").is_file());
    sandbox
        .run(&["skills", "install", &from, "--path", "two", "--scope", "workspace", "--consent"])
        .expect_exit_code(0);
    assert!(sandbox.has_file(".gemini/skills/two/SKILL.md") && !sandbox.has_file(".gemini/skills/one"));
}

#[test]
fn installing_leads_nowhere_else() {
    let sandbox = sandbox();
    let from = offered(&sandbox);
    for (more, words) in [
        (vec![from.as_str(), "--path", "../offered/one"], "leads out of it"),
        (vec![from.as_str(), "--path", "/etc"], "leads out of it"),
        (vec!["--", "--upload-pack=touch x"], "option"),
        (vec!["ext::sh -c true"], "git would run a program for such an address"),
        (vec!["nowhere"], "there is no such folder"),
    ] {
        let run = sandbox.run(&[&["skills", "install", "--consent"], more.as_slice()].concat());
        assert!(run.code != Some(0) && run.stderr.contains(words), "{more:?} {run:#?}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/etc/passwd", sandbox.sibling_path("offered/one/out")).unwrap();
        let run = sandbox.run(&["skills", "install", &from, "--consent"]).expect_exit_code(1);
        assert!(run.stderr.contains("outside the installed folder"), "{run:#?}");
        std::fs::remove_file(sandbox.sibling_path("offered/one/out")).unwrap();
    }
    std::fs::write(sandbox.sibling_path("offered/one/SKILL.md"), "---\nname: ..\ndescription: x\n---\n").unwrap();
    let run = sandbox.run(&["skills", "install", &format!("{from}/one"), "--consent"]).expect_exit_code(1);
    assert!(run.stderr.contains("can't be the name of a skill"), "{run:#?}");
    assert_eq!(std::fs::read_dir(sandbox.home().join(".gemini/skills")).unwrap().count(), 0);
}

#[test]
fn a_repository_is_installed_from() {
    let sandbox = sandbox();
    let from = offered(&sandbox);
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b", "-C", from.as_str()];
        let done = std::process::Command::new("git").args(who).args(args).output_in_time().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "x"]);
    let url = format!("file://{from}");
    sandbox.run(&["skills", "install", &url, "--path", "one", "--consent"]).expect_exit_code(0);
    let skills = sandbox.home().join(".gemini/skills");
    assert!(skills.join("one/run.sh").is_file() && !skills.join("two").exists() && !skills.join("one/.git").exists());
}

#[test]
fn read_only_commands_work_without_a_screen() {
    let sandbox = place();
    sandbox.write("GEMINI.md", "Tabs.");
    let listed = sandbox.run(&["-p", "/skills list"]).expect_exit_code(0);
    assert!(format!("{}{}", listed.stdout, listed.stderr).contains("reads <b>PDF</b> files (user)"), "{listed:#?}");
    let listed = sandbox.run(&["-p", "/memory list"]).expect_exit_code(0);
    assert!(format!("{}{}", listed.stdout, listed.stderr).contains("/project/GEMINI.md"), "{listed:#?}");
}

#[test]
fn notes_for_other_agents_are_pointed_out_in_one_session() {
    let sandbox = sandbox();
    sandbox.write("AGENTS.md", "Tabs.");
    let said = |sandbox: &Sandbox| run(sandbox, &ReplayBuilder::new().says("done"), &[]).expect_exit_code(0).stderr;
    assert!(said(&sandbox).contains("this project has an AGENTS.md, which is not read"));
    assert!(!said(&sandbox).contains("AGENTS.md"));
}

#[test]
fn a_skill_that_is_the_users_alone_is_called_by_its_name() {
    let sandbox = place();
    let file = sandbox.home().join(".gemini/skills/pdf/SKILL.md");
    let text = fs::read_to_string(&file).unwrap();
    let alone = text.replacen("---\n", "---\ndisable-model-invocation: true\nhooks:\n  PreToolUse: []\n", 1);
    std::fs::write(&file, alone).unwrap();
    let listed = sandbox.run(&["skills", "list"]).expect_exit_code(0);
    assert!(listed.stdout.contains("only you can use it: /pdf"), "{}", listed.stdout);
    assert!(listed.stderr.contains("hooks in a skill do not run here"), "{}", listed.stderr);
    let (sandbox, said, tools) = skills_section(sandbox);
    assert_eq!(said, None, "{tools}");

    // The model cannot activate it in any way; the user can.
    let refused =
        run(&sandbox, &activate_replay().says("no"), &["--allowed-tools", "activate_skill"]).expect_exit_code(0);
    assert!(refused.stderr.contains("not found"), "{}", refused.stderr);
    let file = sandbox.replay(&activate_replay().says("done"));
    let called = |prompt: &str| {
        sandbox.run(&["-p", prompt, "--fake-responses", &file, "--allowed-tools", "activate_skill"]).expect_exit_code(0)
    };
    let run = called("/PDF read the first page");
    assert!(!run.stderr.contains("not found"), "{}", run.stderr);
    let asked = logged(&sandbox, "BeforeModel");
    let prompt = asked.iter().map(|input| input["llm_request"]["messages"].to_string()).next_back().unwrap();
    assert!(prompt.contains("Use the skill `pdf`") && prompt.contains("read the first page"), "{prompt}");
    assert_eq!(logged(&sandbox, "AfterTool").len(), 1);
}

#[cfg(unix)]
#[test]
fn a_skill_is_linked_where_it_is() {
    let sandbox = sandbox();
    let folder = sandbox.sibling_path("mine");
    skill(&folder, "notes", "writes notes");
    let source = folder.join("notes");
    let link = |more: &[&str]| sandbox.run(&[&["skills", "link", source.to_str().unwrap()], more].concat());
    assert!(link(&[]).expect_exit_code(1).stderr.contains("not confirmed"));
    link(&["--consent"]).expect_exit_code(0);
    assert!(sandbox.run(&["skills", "list"]).expect_exit_code(0).stdout.contains("writes notes"));
    assert!(link(&["--consent"]).expect_exit_code(1).stderr.contains("is installed already"));
    sandbox.run(&["skills", "uninstall", "notes"]).expect_exit_code(0);
    assert!(source.join("SKILL.md").exists());
    sandbox.run(&["skills", "link", "--consent", sandbox.project().to_str().unwrap()]).expect_exit_code(1);
}
