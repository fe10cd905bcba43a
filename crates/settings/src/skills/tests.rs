use std::fs;

use super::*;
use crate::{LoadOptions, ProcessEnv, load};
use hookwright_testkit::deadline::*;

/// A home directory with a project in it.
struct SkillFixture {
    _folder: tempfile::TempDir,
    home: PathBuf,
    root: PathBuf,
}

impl SkillFixture {
    fn new() -> Self {
        hookwright_testkit::watchdog::watch();
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let root = home.join("work");
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(home.join(".gemini")).unwrap();
        SkillFixture { _folder: folder, home, root }
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn write_skill(&self, folder: &str, name: &str, description: &str) {
        self.write(
            &format!("{folder}/SKILL.md"),
            format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n"),
        );
    }

    fn load(&self, trusted: bool) -> LoadedConfig {
        let env = vec![
            ("HOME".into(), self.home.clone().into_os_string()),
            ("GEMINI_CLI_TRUST_WORKSPACE".into(), if trusted { "true" } else { "" }.into()),
        ];
        load(&ProcessEnv::new(env, self.root.clone()), &LoadOptions::default())
    }

    fn discover_skills(&self) -> Skills {
        discover(&self.load(true))
    }

    /// Returns names, descriptions and states, and the problems.
    fn descriptions_and_problems(&self) -> (Vec<String>, Vec<String>) {
        let skills = self.discover_skills();
        let list = skills.list.iter().map(|skill| {
            let state = match &skill.state {
                SkillState::Offered => String::new(),
                SkillState::UserOnly => " user only".to_owned(),
                SkillState::Overridden(by) => format!(" <- {}", by.strip_prefix(&self.home).unwrap().display()),
                other => format!(" {other:?}"),
            };
            format!("{}: {}{state}", skill.name, skill.description)
        });
        let home = self.home.display().to_string();
        (list.collect(), skills.diagnostics.iter().map(|wrong| wrong.to_string().replace(&home, "~")).collect())
    }
}

#[test]
fn the_project_counts_over_the_user_and_agents_over_gemini() {
    let place = SkillFixture::new();
    place.write(".gemini/extensions/e/gemini-extension.json", r#"{"name": "e", "version": "1"}"#);
    for (folder, what) in [
        (".gemini/extensions/e/skills", "extension"),
        (".gemini/skills", "user"),
        (".agents/skills", "user agents"),
        ("work/.gemini/skills", "project"),
        ("work/.agents/skills", "project agents"),
    ] {
        place.write_skill(&format!("{folder}/same"), "same", what);
        place.write_skill(
            &format!("{folder}/own-{}", what.replace(' ', "-")),
            &format!("own-{}", what.replace(' ', "-")),
            what,
        );
    }
    let (list, wrong) = place.descriptions_and_problems();
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(
        list,
        [
            "own-extension: extension",
            "own-project: project",
            "own-project-agents: project agents",
            "own-user: user",
            "own-user-agents: user agents",
            "same: extension <- .gemini/skills/same",
            "same: user <- .agents/skills/same",
            "same: user agents <- work/.gemini/skills/same",
            "same: project <- work/.agents/skills/same",
            "same: project agents",
        ]
    );
    let skills = place.discover_skills();
    assert_eq!(skills.get("SAME").unwrap().description, "project agents");
    assert_eq!(skills.offered().count(), 6);
}

#[test]
fn untrusted_project_has_no_skills_and_that_is_reported() {
    let place = SkillFixture::new();
    place.write_skill("work/.agents/skills/a", "a", "x");
    place.write_skill(".gemini/skills/b", "b", "x");
    let loaded = place.load(false);
    assert_eq!(discover(&loaded).list.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["b"]);
    let said: Vec<String> = loaded.notices.iter().map(ToString::to_string).collect();
    assert!(said[0].starts_with("this folder is not trusted, so .agents/skills is not loaded; review it"), "{said:?}");
    assert_eq!(loaded.project_contents[0].kind, "skills");
    assert_eq!(loaded.project_contents[0].items.keys().collect::<Vec<_>>(), [".agents/skills/a"]);
}

#[test]
fn a_project_that_changes_a_skill_or_its_scripts_is_announced() {
    let place = SkillFixture::new();
    place.write_skill("work/.gemini/skills/a", "a", "x");
    place.write("work/.gemini/skills/a/scripts/run.sh", "true");
    let mark = || place.load(true).project_contents[0].items[".gemini/skills/a"].clone();
    let before = mark();
    assert_eq!(mark(), before);
    place.write("work/.gemini/skills/a/scripts/run.sh", "rm x");
    assert_ne!(mark(), before);
}

#[test]
fn settings_of_any_layer_disable() {
    let place = SkillFixture::new();
    for name in ["a", "b", "c"] {
        place.write_skill(&format!(".gemini/skills/{name}"), name, "x");
    }
    place.write(".gemini/settings.json", r#"{"skills": {"disabled": ["A"]}}"#);
    place.write("work/.gemini/settings.json", r#"{"skills": {"disabled": ["b"], "enabled": true}}"#);
    assert_eq!(place.descriptions_and_problems().0, ["a: x Disabled", "b: x Disabled", "c: x"]);
    place.write("work/.gemini/settings.json", r#"{"skills": {"enabled": false}}"#);
    assert_eq!(place.descriptions_and_problems().0, ["a: x AllOff", "b: x AllOff", "c: x AllOff"]);
    place.write("work/.gemini/settings.json", "{}");
    place.write(".gemini/settings.json", r#"{"admin": {"skills": {"enabled": false}}}"#);
    assert_eq!(place.discover_skills().offered().count(), 0);
}

#[test]
fn problems_are_reported_with_positions() {
    let place = SkillFixture::new();
    let write = |name: &str, head: &str| {
        place.write(&format!(".gemini/skills/{name}/SKILL.md"), format!("---\n{head}\n---\nx"))
    };
    write("c-colon", "name: c-colon\ndescription: Use when: asked");
    write("d-none", "name: d-none");
    write("e-empty", "name: e-empty\ndescription: ''");
    write("f-folder", "name: other\ndescription: x");
    write("g-long", &format!("name: {}\ndescription: x", "n".repeat(65)));
    write("h-long", &format!("name: h-long\ndescription: {}", "d".repeat(1_025)));
    write("i-list", "name: i-list\ndescription: [a, b]");
    write("j-nameless", "description: x");
    write("k-number", "name: 1\ndescription: 2");
    place.write(".gemini/skills/l-bare/SKILL.md", "# no head");
    place.write(".gemini/skills/m-open/SKILL.md", "---\nname: m\n");
    place.write(".gemini/skills/n-group/inner/SKILL.md", "---\nname: n\ndescription: x\n---\n");
    place.write(".gemini/skills/o-binary/SKILL.md", b"---\nname: \xff\n---\n");
    let (list, wrong) = place.descriptions_and_problems();
    let cut = format!("h-long: {}…", "d".repeat(1_023));
    let expected = ["1: 2", "c-colon: Use when: asked", &cut, "i-list: [a, b]", "j-nameless: x", "other: x"];
    assert_eq!(list, expected);
    let help = "start the file with a line `---`, the fields, and another line `---`";
    let at = |name: &str| format!("~/.gemini/skills/{name}/SKILL.md");
    assert_eq!(
        wrong,
        [
            format!(
                "{}:3:22: warning: `description` is not valid YAML (mapping values are not allowed in this context), so its text is used as it is (put the value in quotes)",
                at("c-colon")
            ),
            format!(
                "{}:1:1: error: this skill has no `description`; it is left out (say in the front matter what it does and when to use it)",
                at("d-none")
            ),
            format!("{}:3:14: error: this skill's `description` is empty; it is left out", at("e-empty")),
            format!("{}:2:7: warning: this skill is called `other`, but its folder `f-folder`", at("f-folder")),
            format!(
                "{}:2:7: error: a skill's name has at most 64 characters, not 65; the skill is left out",
                at("g-long")
            ),
            format!(
                "{}:3:14: warning: a skill's description has at most 1024 characters, not 1025; the rest is cut off",
                at("h-long")
            ),
            format!("{}:3:14: warning: `description` should be text, not a list", at("i-list")),
            format!("{}: warning: `name` is missing; the folder's name is used: `j-nameless`", at("j-nameless")),
            format!("{}:2:7: warning: this skill is called `1`, but its folder `k-number`", at("k-number")),
            format!("{}:1:1: error: this file has no front matter ({help})", at("l-bare")),
            format!("{}:1:1: error: the front matter has no end ({help})", at("m-open")),
            format!("{}: warning: there is no SKILL.md here, so this is not a skill", at("n-group")),
            format!("{}: error: this file is not valid UTF-8, from byte 10 on (save it as UTF-8)", at("o-binary")),
        ]
    );
}

#[test]
fn skill_names_cannot_be_paths() {
    let place = SkillFixture::new();
    for (at, name) in
        ["../../etc", "/etc/passwd", "a/b", "..", ".", ".hidden", "\"a\\nb\"", "'  '", "a:b", "<x>"].iter().enumerate()
    {
        place.write_skill(&format!(".gemini/skills/s{at}"), name, "x");
    }
    let names: Vec<String> = place.discover_skills().list.into_iter().map(|skill| skill.name).collect();
    assert_eq!(names, ["-etc-passwd", "-x-", "a-b", "a-b"], "what begins with a dot or breaks the line is left out");
    assert!(["..", ".", "", "a/b", "a\\b", "/", "a\nb", ".x"].iter().all(|name| !is_usable_name(name)));
}

#[cfg(unix)]
#[test]
fn links_lead_out_of_the_users_folder_alone() {
    use std::os::unix::fs::symlink;
    let place = SkillFixture::new();
    place.write_skill("elsewhere/linked", "linked", "x");
    place.write_skill("work/tools/inside", "inside", "x");
    for folder in [".gemini/skills", "work/.gemini/skills"] {
        fs::create_dir_all(place.home.join(folder)).unwrap();
    }
    // The user may link any folder, a project only its own.
    symlink(place.home.join("elsewhere/linked"), place.home.join(".gemini/skills/linked")).unwrap();
    symlink(place.home.join("elsewhere/linked"), place.root.join(".gemini/skills/out")).unwrap();
    symlink("../../tools/inside", place.root.join(".gemini/skills/inside")).unwrap();
    // A project's file may be linked into several folders.
    fs::create_dir_all(place.root.join(".gemini/skills/again")).unwrap();
    symlink("../../../tools/inside/SKILL.md", place.root.join(".gemini/skills/again/SKILL.md")).unwrap();
    place.write("work/tools/inside/SKILL.md", "---\nname: again\ndescription: x\n---\nDo it.");
    assert_eq!(place.discover_skills().list.iter().filter(|skill| skill.name == "again").count(), 2);
    fs::remove_dir_all(place.root.join(".gemini/skills/again")).unwrap();
    place.write_skill("work/tools/inside", "inside", "x");
    // A link to a file elsewhere is never a skill.
    place.write("secret", "---\nname: s\ndescription: t\n---\nhidden");
    for folder in ["work/.gemini/skills/file", ".gemini/skills/file"] {
        fs::create_dir_all(place.home.join(folder)).unwrap();
        symlink(place.home.join("secret"), place.home.join(folder).join("SKILL.md")).unwrap();
    }
    let (list, wrong) = place.descriptions_and_problems();
    assert_eq!(list, ["inside: x", "linked: x"]);
    assert_eq!(
        wrong,
        [
            "~/.gemini/skills/file/SKILL.md: error: this file is a link that leads out of ~/.gemini/skills/file; it is left out",
            "~/work/.gemini/skills/file/SKILL.md: error: this file is a link that leads out of ~/work; it is left out",
            "~/work/.gemini/skills/out: error: this skill is a link that leads out of ~/work; it is left out (put a copy in place of the link)",
        ]
    );
    assert_eq!(place.discover_skills().get("linked").unwrap().folder, place.home.join("elsewhere/linked"));
    let skill = place.discover_skills().get("inside").unwrap().clone();
    assert_eq!(read_instructions(&skill).unwrap(), "Do it.");
    fs::remove_file(skill.folder.join(SKILL_FILE)).unwrap();
    symlink(place.home.join("secret"), skill.folder.join(SKILL_FILE)).unwrap();
    assert!(read_instructions(&skill).unwrap_err().contains("leads elsewhere"));
}

#[cfg(unix)]
#[test]
fn pipes_folders_and_giants_are_refused_at_once() {
    let place = SkillFixture::new();
    fs::create_dir_all(place.home.join(".gemini/skills/dir/SKILL.md")).unwrap();
    fs::create_dir_all(place.home.join(".gemini/skills/pipe")).unwrap();
    let made =
        std::process::Command::new("mkfifo").arg(place.home.join(".gemini/skills/pipe/SKILL.md")).status_in_time();
    place.write_skill(".gemini/skills/giant", "giant", "x");
    let giant = fs::OpenOptions::new().append(true).open(place.home.join(".gemini/skills/giant/SKILL.md")).unwrap();
    giant.set_len(50 << 20).unwrap();
    let (list, wrong) = place.descriptions_and_problems();
    assert!(list.is_empty());
    assert!(wrong[0].ends_with("this is a directory, not a file (remove it, or move it out of the way)"), "{wrong:?}");
    assert!(wrong[1].contains("this skill is left out: it has 52428800 bytes, and the limit is 1048576"), "{wrong:?}");
    assert!(!made.is_ok_and(|status| status.success()) || wrong[2].contains("this is not a regular file"), "{wrong:?}");
}

#[test]
fn a_thousand_skills_are_found_in_a_moment() {
    let place = SkillFixture::new();
    for at in 0..1_000 {
        place.write_skill(&format!(".gemini/skills/s{at:04}"), &format!("s{at:04}"), "x");
        place.write_skill(&format!(".agents/skills/s{at:04}"), &format!("s{at:04}"), "y");
    }
    let skills = place.discover_skills();
    assert_eq!((skills.list.len(), skills.offered().count(), skills.diagnostics.len()), (2_000, 1_000, 0));
}

#[test]
fn resources_are_listed_within_bounds() {
    let place = SkillFixture::new();
    place.write_skill("s", "s", "x");
    for file in ["scripts/a.sh", "refs/b.md", "node_modules/x", ".git/HEAD", "refs/SKILL.md"] {
        place.write(&format!("s/{file}"), "");
    }
    assert_eq!(
        list_resources(&place.home.join("s")),
        SkillResources {
            files: vec!["refs/SKILL.md".into(), "refs/b.md".into(), "scripts/a.sh".into()],
            truncated: false
        }
    );
    for at in 0..300 {
        place.write(&format!("s/many/{at}"), "");
    }
    let many = list_resources(&place.home.join("s"));
    assert!(many.truncated && many.files.len() == MAX_LISTED_RESOURCES);
    place.write(&format!("deep/{}/x", "d/".repeat(20)), "");
    assert_eq!(list_resources(&place.home.join("deep")), SkillResources { files: Vec::new(), truncated: true });
}

#[test]
fn notes_for_other_agents_are_pointed_out_once() {
    let place = SkillFixture::new();
    let told = || place.load(true).notices.contains(&crate::Notice::UnreadAgentsFile);
    assert!(!told());
    place.write("work/AGENTS.md", "Tabs.");
    assert!(told());
    place.write(".gemini/settings.json", r#"{"context": {"fileName": "AGENTS.md"}}"#);
    assert!(!told());
    place.write(".gemini/settings.json", "{}");
    place.write("work/GEMINI.md", "Spaces.");
    assert!(!told());
    fs::remove_file(place.root.join("GEMINI.md")).unwrap();
    assert!(!place.load(false).notices.contains(&crate::Notice::UnreadAgentsFile));
    let loaded = place.load(true);
    assert!(loaded.notices.contains(&crate::Notice::UnreadAgentsFile));
    for _ in 0..2 {
        crate::record_project_contents(&place.load(true)).unwrap();
        assert!(!told());
    }
}
