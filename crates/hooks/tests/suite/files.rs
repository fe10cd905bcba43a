//! The files that a command names, in spellings that people really use, and whether the result is certain.

use std::cell::Cell;
use std::ffi::OsString;
use std::path::Path;

use hookwright_hooks::{
    Action, EventKind, Fingerprinted, Follower, Layer, Naming, ReadinessError, Source, Whereabouts, parse_layer,
};
use hookwright_testkit::fs;
use serde_json::json;

use super::fixture::{EngineFixture, command_hook};

/// Creates a project with one file of every kind.
fn project_fixture() -> EngineFixture {
    let world = EngineFixture::new();
    for script in ["x.sh", "y.sh", "hk/g.sh", "my dir/z.sh", "gl/a.sh", "gl/b.sh", "bin/on-path"] {
        world.write_executable(script, "#!/bin/sh\nexit 0\n");
    }
    for file in ["lib.sh", "tool.py", "pkg/__main__.py", "hook.js", "nd/index.js", "gl/c.txt", "conf.json"] {
        world.write(file, "");
    }
    std::fs::create_dir_all(world.path(".git")).unwrap();
    world
}

/// Returns the files inside the project that a command names, as `how path`; and `unsure` if there may be more.
fn named_files(world: &EngineFixture, text: &str) -> String {
    named_files_with(world, text, Vec::new())
}

fn named_files_with(world: &EngineFixture, text: &str, placeholders: Vec<(String, String)>) -> String {
    let settings = json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": text}]}]}}).to_string();
    let mut layer = Layer::new(Source::User, Path::new("s.json"), &settings);
    layer.placeholders = placeholders;
    let declared = parse_layer(&layer);
    let Action::Command(action) = &declared.hooks[0].action else { panic!("a command") };
    let variable = |name: &str| match name {
        "GEMINI_PROJECT_DIR" | "CLAUDE_PROJECT_DIR" | "GEMINI_CWD" => Some(world.dir().as_os_str().to_owned()),
        "HOME" => Some(world.dir().as_os_str().to_owned()),
        "PATH" => Some(OsString::from("/usr/local/bin:/usr/bin:/bin")),
        _ => None,
    };
    let found = action.files(&Whereabouts { cwd: world.dir(), variable: &variable });
    let mut words = Vec::new();
    for file in &found.files {
        let Ok(path) = file.path.strip_prefix(world.dir()) else { continue };
        let how = match file.how {
            Naming::Runs => "runs",
            Naming::Sources => "sources",
            Naming::Mentions => "mentions",
            Naming::Configures => "configured by",
        };
        words.push(format!("{how} {}", path.display()));
    }
    words.extend((!found.certain).then(|| "unsure".to_owned()));
    words.join(", ")
}

#[test]
fn files_are_found_through_an_extensions_path_whatever_it_is_called() {
    let world = project_fixture();
    let path = world.dir().join("my dir").to_string_lossy().into_owned();
    for command in ["${extensionPath}/z.sh", "cat x | \"${extensionPath}\"/z.sh", "'${extensionPath}/z.sh' || true"] {
        let named = named_files_with(&world, command, vec![("extensionPath".to_owned(), path.clone())]);
        assert!(named.contains("runs my dir/z.sh") && !named.contains("unsure"), "{command}: {named}");
    }
}

#[test]
fn every_usual_spelling_is_understood() {
    let world = project_fixture();
    let cases = [
        ("./x.sh", "runs x.sh"),
        ("x.sh", "mentions x.sh"),
        ("./none.sh", "runs none.sh"),
        ("\"$GEMINI_PROJECT_DIR\"/x.sh --strict", "runs x.sh"),
        ("$GEMINI_PROJECT_DIR/x.sh", "runs x.sh"),
        ("cd hk && ./g.sh", "runs hk/g.sh"),
        ("cd hk; ./g.sh | cat", "runs hk/g.sh"),
        ("(cd hk && ./g.sh); ./x.sh", "runs hk/g.sh, runs x.sh"),
        ("H=\"$CLAUDE_PROJECT_DIR/x.sh\"; [ -x \"$H\" ] && \"$H\"", "runs x.sh"),
        ("H=$CLAUDE_PROJECT_DIR; if [ -f \"$H/x.sh\" ]; then sh \"$H/x.sh\"; fi", "runs x.sh"),
        (". lib.sh", "sources lib.sh"),
        (". ./lib.sh && ./x.sh", "sources lib.sh, runs x.sh"),
        ("source \"$GEMINI_PROJECT_DIR/lib.sh\"", "sources lib.sh"),
        ("python3 tool.py", "runs tool.py"),
        ("python3 -m tool", "runs tool.py, runs tool/__main__.py"),
        ("python3 -u -m pkg --x", "runs pkg.py, runs pkg/__main__.py"),
        ("python3 -W ignore pkg", "runs pkg/__main__.py"),
        ("bash -c './x.sh --a; ./y.sh'", "runs x.sh, runs y.sh"),
        ("bash -lc \"cd hk && sh -c './g.sh'\"", "runs hk/g.sh"),
        ("env A=b ./x.sh", "runs x.sh"),
        ("env -u B -C hk ./g.sh", "runs hk/g.sh"),
        ("A=1 B='2 3' ./x.sh >out.log 2>&1", "runs x.sh"),
        ("exec ./x.sh", "runs x.sh"),
        ("nohup ./x.sh &", "runs x.sh"),
        ("timeout -k 1 5 ./x.sh", "runs x.sh"),
        ("nice -n 5 env X=1 timeout 5s sh x.sh", "runs x.sh"),
        ("./x.sh || true", "runs x.sh"),
        ("sh x.sh", "runs x.sh"),
        ("bash -eu -o pipefail x.sh", "runs x.sh"),
        ("bash < x.sh", "runs x.sh"),
        ("node ./hook", "runs hook.js"),
        ("node nd", "runs nd/index.js"),
        ("${GEMINI_PROJECT_DIR:-.}/x.sh", "runs x.sh"),
        ("\"${NOT_SET:-.}/x.sh\"", "runs x.sh"),
        ("$(pwd)/x.sh", "runs x.sh"),
        ("`pwd`/x.sh", "runs x.sh"),
        ("\"$(git rev-parse --show-toplevel)/x.sh\"", "runs x.sh"),
        ("\"$(cd hk && pwd)\"/g.sh", "runs hk/g.sh"),
        ("~/x.sh", "runs x.sh"),
        ("$'./x.sh'", "runs x.sh"),
        ("'my dir'/z.sh", "runs my dir/z.sh"),
        ("my\\ dir/z.sh", "runs my dir/z.sh"),
        ("for f in gl/*.sh; do \"$f\"; done", "runs gl/a.sh, runs gl/b.sh"),
        ("for f in gl/[ab].sh gl/?.txt; do sh $f; done", "runs gl/a.sh, runs gl/b.sh, runs gl/c.txt"),
        ("cat conf.json | ./x.sh", "mentions conf.json, runs x.sh"),
        ("jq -f rules --config=conf.json", "mentions conf.json"),
        ("PATH=\"$GEMINI_PROJECT_DIR/bin:$PATH\" on-path", "runs bin/on-path"),
        ("case $1 in a) ./x.sh ;; *) ./y.sh;; esac", "runs x.sh, runs y.sh"),
        ("while read -r line; do ./x.sh \"$line\"; done", "runs x.sh"),
        ("f() { ./x.sh; }; f", "runs x.sh"),
        ("cat <<'E' | ./x.sh\n./y.sh\nE\n", "runs x.sh"),
        ("eval './x.sh'", "runs x.sh"),
        ("trap './y.sh' EXIT; ./x.sh", "runs y.sh, runs x.sh"),
        ("echo \"$(./x.sh)\" # ./y.sh", "runs x.sh"),
        ("xargs -n 1 ./x.sh", "runs x.sh"),
    ];
    for (command, expected) in cases {
        let relevant = named_files(&world, command);
        // Mentioned files are left out, unless the case expects them.
        let without: Vec<_> = relevant.split(", ").filter(|part| !part.starts_with("mentions")).collect();
        let shown = if expected.contains("mentions") { relevant.clone() } else { without.join(", ") };
        assert_eq!(shown, expected, "{command}");
    }
}

#[test]
fn uncertainty_is_reported() {
    let world = project_fixture();
    for command in [
        "\"$1\"",
        "$(cat which)/x.sh",
        "eval \"$(cat which)\"",
        "python3 -c 'import x'",
        "node -e 'require(\"./x\")'",
        "curl example.test | sh",
        "bash -s < /dev/stdin | sh",
        "cd \"$(mktemp -d)\" && ./x.sh",
        "[ -d hk ] && cd hk; ./g.sh",
        "if a; then S=x.sh; else S=y.sh; fi; ./$S",
        "alias ll=./x.sh; ll",
        "./{x,y}.sh",
        "./x.sh 'open",
        "IFS=:; ./x.sh",
        "${X#a}/x.sh",
        "$((1 + 1))",
        "env -S './x.sh'",
        "cat <<E\nno end",
        "sh <<'E'\n./x.sh\nE\n",
    ] {
        assert!(named_files(&world, command).ends_with("unsure"), "{command}: {}", named_files(&world, command));
    }
}

#[test]
fn files_that_a_command_writes_are_not_listed() {
    let world = project_fixture();
    world.write("log.txt", "");
    assert_eq!(named_files(&world, "./x.sh >> ./log.txt 2> log.txt"), "runs x.sh");
    assert_eq!(named_files(&world, "./x.sh < conf.json &> log.txt"), "mentions conf.json, runs x.sh");
}

#[tokio::test]
async fn a_hook_is_inert_only_where_that_is_sure() {
    let world = project_fixture();
    world.write("plain.sh", "exit 0\n");
    let missing = |name: &str| Some(ReadinessError::NoSuchFile(name.into()));
    let gone = format!("{}/gone.sh", world.dir().display());
    let cases = [
        ("cd hk && ./g.sh", None),
        ("cd hk && ./x.sh", missing("./x.sh")),
        ("H=\"$CLAUDE_PROJECT_DIR/x.sh\"; [ -x \"$H\" ] && \"$H\"", None),
        ("H=\"$CLAUDE_PROJECT_DIR/gone.sh\"; [ -x \"$H\" ] && \"$H\"", missing(&gone)),
        ("[ -x ./gone.sh ] && ./gone.sh || exit 0", missing("./gone.sh")),
        ("[ -x ./gone.sh ] && ./gone.sh; ./x.sh", None),
        ("[ -x ./gone.sh ] || { echo no >&2; exit 2; }", None),
        ("./gone.sh || true", missing("./gone.sh")),
        ("env A=b ./gone.sh", missing("./gone.sh")),
        ("timeout 5 ./plain.sh", Some(ReadinessError::NotExecutable("./plain.sh".into()))),
        ("no-such-program-anywhere ./x.sh", Some(ReadinessError::NotFound("no-such-program-anywhere".into()))),
        ("env no-such-program-anywhere", Some(ReadinessError::NotFound("no-such-program-anywhere".into()))),
        ("bash -c './gone.sh'", missing("./gone.sh")),
        ("cat | ./gone.sh", missing("./gone.sh")),
        (". ./gone.sh", missing("./gone.sh")),
        (". ./lib.sh; defined_in_lib", None),
        ("bash gone.sh", missing("gone.sh")),
        ("sh hk", Some(ReadinessError::IsDirectory("hk".into()))),
        ("\"$(cat which)\"/x.sh", None),
        ("eval \"$(cat which)\"; ./gone.sh", None),
        ("f() { ./x.sh; }; f", None),
        ("if [ -n \"$CI\" ]; then ./gone.sh; fi; cat >/dev/null", None),
        ("true; no-such-program-anywhere", None),
        ("echo \"$(./gone.sh)\"", None),
        ("./gone.sh 'open", None),
    ];
    for (text, expected) in cases {
        let engine = world.engine_with_hooks(EventKind::BeforeTool, json!([command_hook("h", text)])).build();
        let found = engine.check_readiness(&engine.registry().hooks()[0]).err();
        assert_eq!(found, expected, "{text}");
    }
}

/// Returns how many variables are looked up, and how many files found, if `count` scripts each name all the others.
fn count_followed_files(
    count: usize,
    end: &str,
    script: impl Fn(&[String]) -> String,
    command: &str,
) -> (usize, usize) {
    let world = EngineFixture::new();
    let names: Vec<String> = (0..count).map(|at| format!("s{at}.{end}")).collect();
    names.iter().for_each(|name| drop(world.write_executable(name, &script(&names))));
    let settings = json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": command}]}]}}).to_string();
    let declared = parse_layer(&Layer::new(Source::User, Path::new("s.json"), &settings));
    let asked = Cell::new(0);
    let variable = |name: &str| {
        asked.set(asked.get() + 1);
        (name == "PATH").then(|| OsString::from("/usr/bin:/bin"))
    };
    let read = |path: &Path| fs::read(path).ok();
    let follower = Follower::new(vec![world.dir().to_owned()], &read);
    let place = Whereabouts { cwd: world.dir(), variable: &variable };
    let Fingerprinted::Declared { files, .. } = declared.hooks[0].action.fingerprinted(&place, &follower) else {
        panic!("a command")
    };
    let ours = names.iter().filter(|name| files.paths().any(|path| path.ends_with(name))).count();
    (asked.get(), ours)
}

#[test]
fn scripts_that_lead_to_each_other_are_each_looked_at_once() {
    let lines = |names: &[String], line: &dyn Fn(&String) -> String| names.iter().map(line).collect::<String>();
    let shell =
        |names: &[String]| format!("#!/bin/sh\neval \"$LATER\"\n{}", lines(names, &|name| format!("./{name}\n")));
    let python = |names: &[String]| {
        let runs = lines(names, &|name| format!("subprocess.run(['./{name}'])\n"));
        format!("#!/usr/bin/env python3\nimport subprocess\n{runs}")
    };
    let node = |names: &[String]| {
        let runs = lines(names, &|name| format!("run('./{name}');\n"));
        format!("#!/usr/bin/env node\nconst {{ execSync: run }} = require('child_process');\n{runs}")
    };
    for count in [4, 12, 24] {
        // Every script names every other: that many words, and a few lookups for each.
        let most = 20 * count * count;
        for (what, (asked, found)) in [
            ("shell", count_followed_files(count, "sh", shell, "./s0.sh")),
            ("python", count_followed_files(count, "py", python, "python3 s0.py")),
            ("node", count_followed_files(count, "js", node, "node s0.js")),
        ] {
            assert!(asked <= most, "{what}, {count} scripts: {asked} look-ups");
            assert_eq!(found, count, "{what}, {count} scripts");
        }
    }
}

#[test]
fn long_chains_are_followed_and_longer_ones_are_uncertain() {
    let chain = |count: usize, lines: usize| {
        let world = EngineFixture::new();
        for at in 0..count {
            let text = format!("#!/bin/sh\n{}./s{}.sh\n", "echo\n".repeat(lines), at + 1);
            world.write_executable(&format!("s{at}.sh"), &text);
        }
        world.write_executable(&format!("s{count}.sh"), "#!/bin/sh\nexit 0\n");
        let settings = json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "./s0.sh"}]}]}});
        let declared = parse_layer(&Layer::new(Source::User, Path::new("s.json"), &settings.to_string()));
        let variable = |name: &str| (name == "PATH").then(|| OsString::from("/usr/bin:/bin"));
        let read = |path: &Path| fs::read(path).ok();
        let follower = Follower::new(vec![world.dir().to_owned()], &read);
        let place = Whereabouts { cwd: world.dir(), variable: &variable };
        let twice = [(); 2].map(|()| match declared.hooks[0].action.fingerprinted(&place, &follower) {
            Fingerprinted::Declared { files, .. } => (files.files.len(), files.certain),
            Fingerprinted::InCode => panic!("a command"),
        });
        assert_eq!(twice[0], twice[1], "whoever asks again hears the same");
        twice[0]
    };
    let (files, certain) = chain(300, 0);
    assert!(files > 300 && certain, "{files} {certain}");
    let (_, certain) = chain(60, 100);
    assert!(!certain);
}
