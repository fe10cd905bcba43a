//! Every way to spell "run that file": the shell really runs the payload, the payload changes, and the review
//! notices.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use hookwright_hooks::HookState;
use hookwright_settings::LoadedConfig;
use hookwright_settings::trust::trust_hooks;
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;

use super::fixture::{SettingsFixture, settings_with_hook};

const SH: &str = "echo ran >> \"$MARK\"\n";
const PY: &str = "import os\nopen(os.environ['MARK'], 'a').write('ran')\n";
const JS: &str = "require('fs').appendFileSync(process.env.MARK, 'ran');\n";
const MJS: &str = "import fs from 'fs';\nfs.appendFileSync(process.env.MARK, 'ran');\n";
const PL: &str = "open(my $f, '>>', $ENV{MARK}); print $f 'ran'; 1;\n";

/// A command, the file that it finally runs, and other files that it needs.
struct SpellingRow {
    command: &'static str,
    payload: &'static str,
    other_files: &'static [(&'static str, &'static str)],
}

const fn row(command: &'static str, payload: &'static str) -> SpellingRow {
    SpellingRow { command, payload, other_files: &[] }
}

const fn with(
    command: &'static str,
    payload: &'static str,
    others: &'static [(&'static str, &'static str)],
) -> SpellingRow {
    SpellingRow { command, payload, other_files: others }
}

fn content(path: &str) -> &'static str {
    match Path::new(path).extension().and_then(|end| end.to_str()) {
        Some("py") => PY,
        Some("js" | "cjs") => JS,
        Some("mjs") => MJS,
        Some("pl" | "pm") => PL,
        _ => SH,
    }
}

fn write(place: &SettingsFixture, path: &str, text: &str) {
    hookwright_testkit::make_executable(&place.write(&format!("project/{path}"), text));
}

fn write_fixture(row: &SpellingRow) -> SettingsFixture {
    let place = SettingsFixture::trusted().with_variable("PATH", &std::env::var("PATH").unwrap());
    place.write_user_settings(r#"{"security": {"hooks": {"review": "block"}}}"#);
    for (path, text) in row.other_files {
        match text.strip_prefix("-> ") {
            Some(target) => {
                let link = place.project().join(path);
                fs::create_dir_all(link.parent().unwrap()).unwrap();
                #[cfg(unix)]
                std::os::unix::fs::symlink(target, link).unwrap();
                #[cfg(not(unix))]
                let _ = (target, link);
            }
            None => write(&place, path, text),
        }
    }
    if !row.other_files.iter().any(|(path, _)| *path == row.payload) {
        write(&place, row.payload, content(row.payload));
    }
    place.write_project_settings(&settings_with_hook("g", row.command));
    place
}

/// Runs the command as a hook would, and returns whether the payload ran.
fn runs_payload(place: &SettingsFixture, command: &str) -> bool {
    let mark = place.home().join("mark");
    let _ = fs::remove_file(&mark);
    let shell = if Path::new("/bin/bash").exists() { "bash" } else { "sh" };
    let status = Command::new(shell)
        .args(["-c", command])
        .current_dir(place.project())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", place.home())
        .env("MARK", &mark)
        .env("GEMINI_PROJECT_DIR", place.project())
        .env("CLAUDE_PROJECT_DIR", place.project())
        .env("GEMINI_CWD", place.project())
        .env("npm_config_cache", place.home().join("npm-cache"))
        .env("npm_config_update_notifier", "false")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status_in_time();
    status.is_ok() && mark.exists()
}

fn is_held(loaded: &LoadedConfig) -> bool {
    loaded.registry.entries().all(|(_, state)| matches!(state, HookState::Untrusted { .. }))
}

fn trust_all_hooks(place: &SettingsFixture) {
    let loaded = place.load();
    trust_hooks(&loaded.paths, &loaded.reviews).unwrap();
}

/// Returns the problem with a row, if there is one.
fn row_problem(row: &SpellingRow) -> Option<String> {
    let place = write_fixture(row);
    if !runs_payload(&place, row.command) {
        return Some(format!("does not run {}: {}", row.payload, row.command));
    }
    trust_all_hooks(&place);
    runs_payload(&place, row.command);
    let loaded = place.load();
    if is_held(&loaded) {
        return Some(format!("changes by being run: {}: {:?}", row.command, loaded.reviews[0].finding));
    }
    let path = place.project().join(row.payload);
    let mut text = fs::read(&path).unwrap();
    let comment: &[u8] = if content(row.payload) == JS || content(row.payload) == MJS { b"// x\n" } else { b"# x\n" };
    text.extend_from_slice(comment);
    fs::write(&path, text).unwrap();
    let certain = loaded.files_run_by(&loaded.registry.hooks()[0]).certain;
    (!is_held(&place.load()))
        .then(|| format!("{} escapes{}: {}", row.payload, if certain { "" } else { " (unsure)" }, row.command))
}

#[track_caller]
fn assert_all_held(rows: &[SpellingRow]) {
    let wrong: Vec<_> = rows.iter().filter_map(row_problem).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

fn is_installed(program: &str) -> bool {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap()).any(|folder| folder.join(program).is_file());
    if !found {
        hookwright_testkit::report_skipped(&format!("spellings with {program}"), "it is not installed");
    }
    found
}

#[test]
fn shell_spellings() {
    assert_all_held(&[
        row("./d/x.sh", "d/x.sh"),
        row("d/x.sh", "d/x.sh"),
        row("./d//x.sh", "d/x.sh"),
        row("./d/../d/./x.sh", "d/x.sh"),
        row("\"./d/x.sh\"", "d/x.sh"),
        row("'./d/x.sh'", "d/x.sh"),
        row("./d/x\"\".sh", "d/x.sh"),
        row("./d/\\x.sh", "d/x.sh"),
        row("$'./d/x.sh'", "d/x.sh"),
        row("$'./\\x64/x.sh'", "d/x.sh"),
        row("$\"./d/x.sh\"", "d/x.sh"),
        row("cd d && ./x.sh", "d/x.sh"),
        row("cd d; sh x.sh", "d/x.sh"),
        row("cd ./d && cd .. && cd d && ./x.sh", "d/x.sh"),
        row("(cd d; ./x.sh)", "d/x.sh"),
        row("pushd d >/dev/null; ./x.sh; popd", "d/x.sh"),
        row("cd -P d && ./x.sh", "d/x.sh"),
        row("[ -d d ] && cd d; ./x.sh", "d/x.sh"),
        row("if true; then cd d; fi; ./x.sh", "d/x.sh"),
        row("cd \"$(printf d)\" && ./x.sh", "d/x.sh"),
        row("cd \"$(cat dir)\" && ./x.sh", ".gemini/x.sh").with_files(&[("dir", ".gemini\n")]),
        row("$GEMINI_PROJECT_DIR/d/x.sh", "d/x.sh"),
        row("\"$GEMINI_PROJECT_DIR\"/d/x.sh", "d/x.sh"),
        row("\"${GEMINI_PROJECT_DIR}/d/x.sh\"", "d/x.sh"),
        row("${GEMINI_PROJECT_DIR:-.}/d/x.sh", "d/x.sh"),
        row("${NOT_SET:-./d}/x.sh", "d/x.sh"),
        row("${NOT_SET-./d}/x.sh", "d/x.sh"),
        row("${NOT_SET:=./d}/x.sh", "d/x.sh"),
        row("${GEMINI_PROJECT_DIR:?no}/d/x.sh", "d/x.sh"),
        row("${GEMINI_PROJECT_DIR%/}/d/x.sh", "d/x.sh"),
        row("${GEMINI_PROJECT_DIR%%:*}/d/x.sh", "d/x.sh"),
        row("${GEMINI_PROJECT_DIR/#x/y}/d/x.sh", "d/x.sh"),
        row("$(pwd)/d/x.sh", "d/x.sh"),
        row("\"`pwd`\"/d/x.sh", "d/x.sh"),
        row("$PWD/d/x.sh", "d/x.sh"),
        row("$(cd d && pwd)/x.sh", "d/x.sh"),
        row("$(echo ./d)/x.sh", "d/x.sh"),
        row("$(echo ./d/x.sh | tr a a)", "d/x.sh"),
        row("$(ls -d ./d/x.sh)", "d/x.sh"),
        row("~/project/d/x.sh", "d/x.sh"),
        row("$HOME/project/d/x.sh", "d/x.sh"),
        row("X=./d/x.sh; $X", "d/x.sh"),
        row("X=d Y=x; ./$X/$Y.sh", "d/x.sh"),
        row("X=./d; X+=/x.sh; \"$X\"", "d/x.sh"),
        row("X=(./d/x.sh); \"${X[0]}\"", "d/x.sh"),
        row("X='./d/x.sh a'; $X", "d/x.sh"),
        row("set -- ./d/x.sh; \"$@\"", "d/x.sh"),
        row("f() { ./d/x.sh; }; f", "d/x.sh"),
        row("f() { \"$1\"; }; f ./d/x.sh", "d/x.sh"),
        row("./d/*.sh", "d/x.sh"),
        row("./d/?.sh", "d/x.sh"),
        row("./d/[x].sh", "d/x.sh"),
        row("./d/[[:alpha:]].sh", "d/x.sh"),
        row("./{d,e}/x.sh", "d/x.sh"),
        row("for f in d/*.sh; do sh \"$f\"; done", "d/x.sh"),
        row("for f in ./d/*; do [ -x \"$f\" ] && \"$f\"; done", "d/x.sh"),
        row("while read -r f; do sh \"$f\"; done < list", "d/x.sh").with_files(&[("list", "d/x.sh\n")]),
        row("true && false || ./d/x.sh", "d/x.sh"),
        row("! ./d/x.sh", "d/x.sh"),
        row("time ./d/x.sh", "d/x.sh"),
        row("./d/x.sh &\nwait", "d/x.sh"),
        row("case a in a) ./d/x.sh ;; esac", "d/x.sh"),
        row("{ ./d/x.sh; }", "d/x.sh"),
        row("echo \"$(./d/x.sh)\"", "d/x.sh"),
        row("cat <(./d/x.sh)", "d/x.sh"),
        row("trap ./d/x.sh EXIT", "d/x.sh"),
        row("coproc ./d/x.sh; wait", "d/x.sh"),
        row("exec ./d/x.sh", "d/x.sh"),
        row("eval './d/x.sh'", "d/x.sh"),
        row("eval \"$(echo ./d/x.sh)\"", "d/x.sh"),
        row("command ./d/x.sh", "d/x.sh"),
        row("builtin . ./d/x.sh", "d/x.sh"),
        row("alias y=./d/x.sh; shopt -s expand_aliases\ny", "d/x.sh"),
        row(". ./d/x.sh", "d/x.sh"),
        row("source d/x.sh", "d/x.sh"),
        row("PATH=./d:$PATH x.sh", "d/x.sh"),
        row("PATH=\"$GEMINI_PROJECT_DIR/d:$PATH\"; x.sh", "d/x.sh"),
        row("export PATH=d:$PATH; x.sh", "d/x.sh"),
        row("env PATH=./d:$PATH x.sh", "d/x.sh"),
        row("link/../x.sh", "deep/x.sh").with_files(&[("link", "-> deep/er"), ("deep/er/f", "")]),
        row("./link.sh", "d/x.sh").with_files(&[("link.sh", "-> d/x.sh")]),
        row("link/x.sh", "d/x.sh").with_files(&[("link", "-> d")]),
        row("cd link && ./x.sh", "d/x.sh").with_files(&[("link", "-> d")]),
    ]);
}

impl SpellingRow {
    const fn with_files(self, others: &'static [(&'static str, &'static str)]) -> SpellingRow {
        SpellingRow { other_files: others, ..self }
    }
}

#[test]
fn spellings_through_other_shells_and_wrappers() {
    assert_all_held(&[
        row("sh d/x.sh", "d/x.sh"),
        row("sh ./d/x", "d/x"),
        row("bash d/x.sh", "d/x.sh"),
        row("bash -eu -o pipefail d/x.sh", "d/x.sh"),
        row("bash --norc d/x.sh", "d/x.sh"),
        row("bash --rcfile d/x.sh -ic true", "d/x.sh"),
        row("bash --init-file d/x.sh -i < /dev/null", "d/x.sh"),
        row("BASH_ENV=d/x.sh bash -c true", "d/x.sh"),
        row("ENV=./d/x.sh sh -ic true", "d/x.sh"),
        row("sh -c ./d/x.sh", "d/x.sh"),
        row("sh -c 'cd d && ./x.sh'", "d/x.sh"),
        row("bash -lc './d/x.sh'", "d/x.sh"),
        row("bash -c '\"$0\"' ./d/x.sh", "d/x.sh"),
        row("bash -c '\"$1\"' _ ./d/x.sh", "d/x.sh"),
        row("sh -c \"sh -c './d/x.sh'\"", "d/x.sh"),
        row("/bin/sh d/x.sh", "d/x.sh"),
        row("dash d/x.sh", "d/x.sh"),
        row("sh < d/x.sh", "d/x.sh"),
        row("sh -s < d/x.sh", "d/x.sh"),
        row("sh 0< d/x.sh", "d/x.sh"),
        row("< d/x.sh sh", "d/x.sh"),
        row("cat d/x.sh | sh", "d/x.sh"),
        row("cat < d/x.sh | bash", "d/x.sh"),
        row("sed '' d/x.sh | sh -s", "d/x.sh"),
        row("head -n 5 d/x.sh | sh", "d/x.sh"),
        row("tail -n +1 d/x.sh | sh", "d/x.sh"),
        row("echo ./d/x.sh | sh", "d/x.sh"),
        row("printf '%s\\n' './d/x.sh' | sh", "d/x.sh"),
        row("sh <<< ./d/x.sh", "d/x.sh"),
        row("sh <<E\n./d/x.sh\nE\n", "d/x.sh"),
        row("sh <<'E'\n./d/x.sh\nE\n", "d/x.sh"),
        row("sh /dev/stdin < d/x.sh", "d/x.sh"),
        row("sh <(cat d/x.sh)", "d/x.sh"),
        row("bash -c \"$(cat d/x.sh)\"", "d/x.sh"),
        row("bash -c \"$(<d/x.sh)\"", "d/x.sh"),
        row("eval \"$(cat d/x.sh)\"", "d/x.sh"),
        row(". <(cat d/x.sh)", "d/x.sh"),
        row(". /dev/stdin < d/x.sh", "d/x.sh"),
        row("env ./d/x.sh", "d/x.sh"),
        row("env -i MARK=\"$MARK\" sh d/x.sh", "d/x.sh"),
        row("env -S './d/x.sh a'", "d/x.sh"),
        row("env -S sh -c ./d/x.sh", "d/x.sh"),
        row("env -C d ./x.sh", "d/x.sh"),
        row("env --chdir=d ./x.sh", "d/x.sh"),
        row("nohup ./d/x.sh", "d/x.sh"),
        row("nice ./d/x.sh", "d/x.sh"),
        row("nice -n 5 ./d/x.sh", "d/x.sh"),
        row("timeout 9 ./d/x.sh", "d/x.sh"),
        row("timeout -s KILL 9 sh -c ./d/x.sh", "d/x.sh"),
        row("setsid -w ./d/x.sh", "d/x.sh"),
        row("stdbuf -o0 ./d/x.sh", "d/x.sh"),
        row("echo a | xargs ./d/x.sh", "d/x.sh"),
        row("echo d/x.sh | xargs sh", "d/x.sh"),
        row("echo d/x.sh | xargs -I{} sh {}", "d/x.sh"),
        row("echo x | xargs -I@ sh d/@.sh", "d/x.sh"),
        row("ls d/*.sh | xargs -n1 sh", "d/x.sh"),
        row("find d -name '*.sh' | xargs sh", "d/x.sh"),
        row("find d -name 'x.sh' -exec sh {} \\;", "d/x.sh"),
        row("find d -type f -exec {} \\;", "d/x.sh"),
        row("find . -name x.sh -exec sh {} +", "d/x.sh"),
        row("find d -name x.sh -exec sh -c 'sh \"$1\"' _ {} \\;", "d/x.sh"),
        row("./run.sh", "d/x.sh").with_files(&[("run.sh", "./d/x.sh\n")]),
        row("./run.sh", "d/x.sh").with_files(&[("run.sh", "#!/bin/sh\nexec sh d/x.sh\n")]),
        row("./run.sh", "d/x.sh").with_files(&[("run.sh", "#!/usr/bin/env bash\n. \"$(dirname \"$0\")/d/x.sh\"\n")]),
        row("hk/run.sh", "hk/lib.sh").with_files(&[("hk/run.sh", "#!/bin/sh\n. \"${0%/*}/lib.sh\"\n")]),
        row("hk/run.sh", "hk/lib.sh")
            .with_files(&[("hk/run.sh", "#!/bin/bash\nsource \"${BASH_SOURCE[0]%/*}/lib.sh\"\n")]),
        row("hk/run.sh", "hk/lib.sh").with_files(&[(
            "hk/run.sh",
            "#!/bin/bash\nDIR=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\"\n. \"$DIR/lib.sh\"\n",
        )]),
        row("./run.sh d/x.sh", "d/x.sh").with_files(&[("run.sh", "#!/bin/sh\nexec sh \"$@\"\n")]),
        row("./run.sh x", "d/x.sh").with_files(&[("run.sh", "#!/bin/sh\nsh d/$1.sh\n")]),
        row("./a.sh", "d/x.sh").with_files(&[("a.sh", ". ./b.sh\n"), ("b.sh", "sh c.sh\n"), ("c.sh", "d/x.sh\n")]),
        row("./a.sh", "d/x.sh").with_files(&[("a.sh", "[ -n \"$A\" ] || A=1 ./a.sh\n[ -z \"$A\" ] || ./d/x.sh\n")]),
        row("X=./d/x.sh ./a.sh", "d/x.sh").with_files(&[("a.sh", "\"$X\"\n")]),
        row("export X=./d/x.sh; ./a.sh", "d/x.sh").with_files(&[("a.sh", "sh \"$X\"\n")]),
        row("PATH=./d:$PATH ./a.sh", "d/x.sh").with_files(&[("a.sh", "x.sh\n")]),
        row("a/run", "d/x.sh").with_files(&[("a/run", "#!/bin/sh\ncd \"$(dirname \"$0\")/..\"\n./d/x.sh\n")]),
        row("./x.awk", "d/x.sh").with_files(&[("x.awk", "#!/usr/bin/awk -f\nBEGIN { system(\"sh d/x.sh\") }\n")]),
        row("awk 'BEGIN { system(\"sh d/x.sh\") }'", "d/x.sh"),
        row("sed -n '1e sh d/x.sh' d/x.sh", "d/x.sh"),
    ]);
}

#[test]
fn spellings_with_run_parts() {
    if is_installed("run-parts") {
        const SCRIPT: &str = "#!/bin/sh\necho ran >> \"$MARK\"\n";
        assert_all_held(&[
            with("run-parts d", "d/x", &[("d/x", SCRIPT)]),
            with("run-parts --regex '.*' ./d", "d/x.sh", &[("d/x.sh", SCRIPT)]),
            with("run-parts d", "lib.sh", &[("d/x", "#!/bin/sh\n. ./lib.sh\n")]),
        ]);
    }
}

#[test]
fn spellings_with_python() {
    if !is_installed("python3") {
        return;
    }
    assert_all_held(&[
        row("python3 d/x.py", "d/x.py"),
        row("python3 -u -B d/x.py", "d/x.py"),
        row("./d/x.py", "d/x.py")
            .with_files(&[("d/x.py", "#!/usr/bin/env python3\nimport os\nopen(os.environ['MARK'], 'a')\n")]),
        row("python3 d", "d/__main__.py"),
        row("python3 -m x", "x.py"),
        row("python3 -m d", "d/__main__.py"),
        row("python3 -m d.x", "d/x.py"),
        row("python3 -um d.x", "d/x.py"),
        row("cd d && python3 -m x", "d/x.py"),
        row("python3 < d/x.py", "d/x.py"),
        row("cat d/x.py | python3", "d/x.py"),
        row("python3 - < d/x.py", "d/x.py"),
        row("python3 -c 'import x'", "x.py"),
        row("python3 -c 'exec(open(\"d/x.py\").read())'", "d/x.py"),
        row("python3 -c 'import runpy; runpy.run_path(\"d/x.py\")'", "d/x.py"),
        row("PYTHONPATH=d python3 -c 'import x'", "d/x.py"),
        row("PYTHONPATH=d python3 -m x", "d/x.py"),
        row("python3 -c 'import sys; sys.path.insert(0, \"d\"); import x'", "d/x.py"),
        row("python3 g.py", "x.py").with_files(&[("g.py", "import x\n")]),
        row("python3 h/g.py", "h/x.py").with_files(&[("h/g.py", "from x import os\n")]),
        row("python3 h/g.py", "h/p/x.py").with_files(&[("h/g.py", "import p.x\n"), ("h/p/__init__.py", "")]),
        row("python3 h/g.py", "h/p/q/x.py").with_files(&[
            ("h/g.py", "from p import q\n"),
            ("h/p/q/__init__.py", "from . import x\n"),
            ("h/p/__init__.py", ""),
        ]),
        row("python3 h/g.py", "h/x.py").with_files(&[("h/g.py", "import a\n"), ("h/a.py", "import x\n")]),
        row("python3 h/g.py", "h/json.py").with_files(&[("h/g.py", "import json\n")]),
        row("python3 h/g.py", "h/cmd.py").with_files(&[("h/g.py", "import pdb\n"), ("h/cmd.py", PY)]),
        row("python3 h/g.py", "h/x.sh").with_files(&[("h/g.py", "import os\nos.system('sh h/x.sh')\n")]),
        row("python3 h/g.py", "h/x.sh").with_files(&[(
            "h/g.py",
            "import os, subprocess\nsubprocess.run(['sh', os.path.join(os.path.dirname(__file__), 'x.sh')])\n",
        )]),
        row("python3 h/g.py", "lib/x.py").with_files(&[("h/g.py", "import sys\nsys.path.append('lib')\nimport x\n")]),
        row("python3 h/g.py", ".gemini/hooks/x.py").with_files(&[(
            "h/g.py",
            "import importlib, sys\nsys.path.append('.gem' + 'ini/hooks')\nimportlib.import_module('x')\n",
        )]),
        row("python3 link.py", "h/x.py").with_files(&[("link.py", "-> h/g.py"), ("h/g.py", "import x\n")]),
        row("echo 'import x' | python3", "x.py"),
        row("find d -name '*.py' -exec python3 {} \\;", "d/x.py"),
        row("sh -c 'exec python3 d/x.py'", "d/x.py"),
        row("./run.sh", "d/x.py").with_files(&[(
            "run.sh",
            "#!/bin/sh\ninput=$(cat)\nprintf '%s' \"$input\" | python3 \"$(dirname \"$0\")/d/x.py\"\n",
        )]),
        row("python3 -c 'import x' --", "x.py"),
    ]);
}

#[test]
fn spellings_with_node() {
    if !is_installed("node") {
        return;
    }
    assert_all_held(&[
        row("node d/x.js", "d/x.js"),
        row("node ./d/x", "d/x.js"),
        row("node d", "d/index.js"),
        with("node d", "d/y.js", &[("d/package.json", "{\"main\": \"y.js\"}")]),
        with("node d", "d/lib/index.js", &[("d/package.json", "{\"main\": \"./lib\"}")]),
        row("node d/x.mjs", "d/x.mjs"),
        row("node d/x.cjs", "d/x.cjs"),
        row("node -r ./d/x.js -e 0", "d/x.js"),
        row("node --require ./d/x -e 0", "d/x.js"),
        row("node --require=./d/x.js -p 0", "d/x.js"),
        row("node --import ./d/x.mjs -e 0", "d/x.mjs"),
        row("NODE_OPTIONS='--require ./d/x.js' node -e 0", "d/x.js"),
        row("node -e 'require(\"./d/x\")'", "d/x.js"),
        row("node -p 'require(\"./d/x.js\")'", "d/x.js"),
        row("node < d/x.js", "d/x.js"),
        row("cat d/x.js | node", "d/x.js"),
        row("node - < d/x.js", "d/x.js"),
        with("./g.js", "x.js", &[("g.js", "#!/usr/bin/env node\nrequire('./x');\n")]),
        with("node h/g.js", "h/lib/x.js", &[("h/g.js", "const a = require('./lib/x.js');\n")]),
        with("node h/g.js", "x.js", &[("h/g.js", "require( \"../x\" );\n")]),
        with("node h/g.mjs", "h/x.mjs", &[("h/g.mjs", "import './x.mjs';\n")]),
        with("node h/g.mjs", "h/x.mjs", &[("h/g.mjs", "await import('./x.mjs');\n")]),
        with("node h/g.js", "h/b.js", &[("h/g.js", "require('./a');"), ("h/a.js", "require('./b');")]),
        with("node h/g.js", "node_modules/p/index.js", &[("h/g.js", "require('p');")]),
        with(
            "node h/g.js",
            "node_modules/p/m.js",
            &[("h/g.js", "require('p');"), ("node_modules/p/package.json", "{\"main\": \"m.js\"}")],
        ),
        with(
            "node h/g.js",
            "node_modules/p/i.js",
            &[("h/g.js", "require('p');"), ("node_modules/p/index.js", "require('./i');")],
        ),
        with("node h/g.js", ".gemini/x.js", &[("h/g.js", "const n = '../.gem' + 'ini/x.js'; require(n);")]),
        with("node h/g.js", "h/x.sh", &[("h/g.js", "require('child_process').execSync('sh h/x.sh');")]),
        with("NODE_PATH=d node -e 'require(\"x\")'", "d/x.js", &[]),
    ]);
}

#[test]
fn spellings_with_npm() {
    if !is_installed("npm") || !is_installed("node") {
        return;
    }
    assert_all_held(&[
        with("npm run -s x", "d/x.sh", &[("package.json", "{\"scripts\": {\"x\": \"sh d/x.sh\"}}")]),
        with("npm test --silent", "d/x.sh", &[("package.json", "{\"scripts\": {\"test\": \"./d/x.sh\"}}")]),
        with("npm run x", "d/x.sh", &[("package.json", "{\"scripts\": {\"prex\": \"sh d/x.sh\", \"x\": \"true\"}}")]),
        with("npm --prefix d run x", "d/x.sh", &[("d/package.json", "{\"scripts\": {\"x\": \"sh x.sh\"}}")]),
        with("cd d && npm run x", "d/x.sh", &[("d/package.json", "{\"scripts\": {\"x\": \"./x.sh\"}}")]),
    ]);
}

#[test]
fn spellings_with_make() {
    if !is_installed("make") {
        return;
    }
    assert_all_held(&[
        with("make -s x", "d/x.sh", &[("Makefile", "x:\n\tsh d/x.sh\n")]),
        with("make -f d/m.mk x", "d/x.sh", &[("d/m.mk", "x:\n\t@./d/x.sh\n")]),
        with("make -C d x", "d/x.sh", &[("d/Makefile", "x:\n\t./x.sh\n")]),
        with("make x", "d/x.sh", &[("Makefile", "include d/m.mk\n"), ("d/m.mk", "x: ; sh d/x.sh\n")]),
        with("make x", "d/x.sh", &[("Makefile", "X := $(shell sh d/x.sh)\nx:\n\ttrue\n")]),
        with("make x", "d/m.mk", &[("Makefile", "include d/m.mk\n"), ("d/m.mk", "x:\n\techo ran >> \"$$MARK\"\n")]),
        with("make", "Makefile", &[("Makefile", "x:\n\techo ran >> \"$$MARK\"\n")]),
        with("sh run.sh", "d/x.sh", &[("run.sh", "make x\n"), ("Makefile", "x:\n\tsh d/x.sh\n")]),
    ]);
}

#[test]
fn spellings_with_perl() {
    if !is_installed("perl") {
        return;
    }
    assert_all_held(&[
        row("perl d/x.pl", "d/x.pl"),
        row("perl -w ./d/x.pl", "d/x.pl"),
        with("perl d/g.pl", "d/x.pl", &[("d/g.pl", "require './d/x.pl';\n")]),
        row("perl -Id -Mx -e 1", "d/x.pm"),
        row("perl -e 'do \"./d/x.pl\"'", "d/x.pl"),
        row("perl -e 'system(\"sh d/x.sh\")'", "d/x.sh"),
        row("PERL5LIB=d perl -Mx -e 1", "d/x.pm"),
        row("cat d/x.pl | perl", "d/x.pl"),
    ]);
}

/// A new file changes what a command runs, although the command stays the same.
#[test]
fn files_that_appear_are_noticed() {
    let cases = [
        with("python3 h/g.py", "h/json.py", &[("h/g.py", "import json\n")]),
        with("python3 h/g.py", "h/enum.py", &[("h/g.py", "import json\n")]),
        with("python3 h/g.py", "h/json/__init__.py", &[("h/g.py", "import json\n")]),
        with("python3 h/g.py", "h/p/sub.py", &[("h/g.py", "import p\n"), ("h/p/__init__.py", "")]),
        with("python3 -c 'import json'", "json.py", &[]),
        with("python3 -m json.tool", "json.py", &[]),
        with("node h/g.js", "h/lib.js", &[("h/g.js", "require('./lib')"), ("h/lib/index.js", "")]),
        with("node h/g.js", "node_modules/p/index.js", &[("h/g.js", "require('p')")]),
        with(
            "node h/g.js",
            "h/node_modules/p/index.js",
            &[("h/g.js", "require('p')"), ("node_modules/p/index.js", "")],
        ),
        with("node h/g.js", "h/package.json", &[("h/g.js", "1")]),
        with("sh d/x.sh", "d/x.sh", &[]),
        with("for f in d/*.sh; do sh $f; done", "d/b.sh", &[("d/a.sh", "")]),
        with("./d/*.sh", "d/b.sh", &[]),
        with("PATH=./bin:$PATH; ls", "bin/ls", &[("bin/other", "")]),
        with("make", "GNUmakefile", &[("Makefile", "x:\n\ttrue\n")]),
        with("run-parts d", "d/b", &[("d/a", "")]),
        with("npm run x", "node_modules/.bin/eslint", &[("package.json", "{\"scripts\": {\"x\": \"eslint .\"}}")]),
        with("npm run x", ".npmrc", &[("package.json", "{\"scripts\": {\"x\": \"true\"}}")]),
        with("\"$(cat x)\"", ".gemini/deep/er/x", &[]),
        with("\"$(cat x)\"", ".gemini/node_modules/p/x.js", &[]),
        with("\"$(cat x)\"", ".gemini/tmp/x.sh", &[]),
        with("\"$(cat x)\"", ".gemini/hooks/settings.json", &[]),
    ];
    for SpellingRow { command, payload: appears, other_files: others } in cases {
        let place = SettingsFixture::trusted().with_variable("PATH", "/usr/local/bin:/usr/bin:/bin");
        place.write_user_settings(r#"{"security": {"hooks": {"review": "block"}}}"#);
        others.iter().for_each(|(path, text)| write(&place, path, text));
        place.write_project_settings(&settings_with_hook("g", command));
        trust_all_hooks(&place);
        assert!(!is_held(&place.load()), "{command}: {appears}");
        write(&place, appears, "{\"type\": \"module\"}\n");
        assert!(is_held(&place.load()), "{command}: {appears}");
    }
}

/// Python's own cache files are no change; a compiled module that Python does not check against its source is one.
#[test]
fn compiled_modules_count_where_python_does_not_check_them() {
    let place = SettingsFixture::trusted();
    write(&place, "h/g.py", "import a\n");
    write(&place, "h/a.py", "");
    place.write_project_settings(&settings_with_hook("g", "python3 h/g.py"));
    trust_all_hooks(&place);
    let pyc = |flags: u8| [b"\xcb\x0d\x0d\x0a".as_slice(), &[flags, 0, 0, 0], b"12345678code"].concat();
    let cache = place.project().join("h/__pycache__");
    fs::create_dir_all(&cache).unwrap();
    fs::write(cache.join("a.cpython-312.pyc"), pyc(0)).unwrap();
    assert!(place.load().reviews.is_empty());
    fs::write(cache.join("a.cpython-312.pyc"), pyc(1)).unwrap();
    assert_eq!(place.load().reviews.len(), 1);
}

#[test]
fn a_file_of_any_size_is_read_to_its_end() {
    let place = SettingsFixture::trusted();
    let path = place.project().join("big.sh");
    let file = fs::File::create(&path).unwrap();
    file.set_len(17 * 1024 * 1024).unwrap();
    place.write_project_settings(&settings_with_hook("g", "./big.sh"));
    trust_all_hooks(&place);
    assert!(place.load().reviews.is_empty());
    // The length stays the same.
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::End(-1)).unwrap();
    file.write_all(b"x").unwrap();
    assert_eq!(place.load().reviews.len(), 1);
}

#[cfg(unix)]
#[test]
fn pipes_devices_loops_and_closed_files_neither_hang_nor_hide() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = SettingsFixture::trusted();
    let pipe = place.project().join("pipe.sh");
    assert!(Command::new("mkfifo").arg(&pipe).status_in_time().unwrap().success());
    symlink("/dev/zero", place.project().join("zero.sh")).unwrap();
    symlink("loop", place.project().join("loop")).unwrap();
    symlink("..", place.project().join(".gemini/up")).unwrap();
    write(&place, "closed.sh", SH);
    fs::set_permissions(place.project().join("closed.sh"), fs::Permissions::from_mode(0o111)).unwrap();
    for command in
        ["sh pipe.sh", ". ./pipe.sh", "sh < pipe.sh", "sh zero.sh", "./loop/x", "sh closed.sh", "\"$(cat pipe.sh)\""]
    {
        place.write_project_settings(&settings_with_hook(command, command));
        trust_all_hooks(&place);
        assert!(place.load().reviews.is_empty(), "{command}");
    }
    place.write_project_settings(&settings_with_hook("pipe", "sh pipe.sh"));
    trust_all_hooks(&place);
    fs::remove_file(&pipe).unwrap();
    write(&place, "pipe.sh", SH);
    assert_eq!(place.load().reviews.len(), 1);
}

/// Commands whose files cannot be determined are reported as uncertain.
#[test]
fn uncertain_files_are_reported_in_the_review() {
    for command in [
        "docker run -v .:/w img sh /w/d/x.sh",
        "echo ZC94LnNo | base64 -d | sh",
        "$(echo d)/$(date +%s).sh",
        "cargo run --bin guard",
        "uv run guard",
        "poetry run guard",
        "just guard",
        "npx guard",
        "yarn guard",
        "pnpm guard",
        "bun run guard",
        "deno run guard",
        "ssh host sh",
        "ruby -e 'load \"x\"'",
        "perl -e 'do shift'",
        "python3 -c 'exec(input())'",
        "node -e 'require(process.argv[1])'",
        "LD_PRELOAD=./x.so ls",
    ] {
        let place = SettingsFixture::trusted().with_variable("PATH", &std::env::var("PATH").unwrap());
        write(&place, "x.so", "");
        place.write_project_settings(&settings_with_hook("g", command));
        let loaded = place.load();
        let said = loaded.notices.iter().any(|notice| {
            notice.to_string().contains("it is not known which files it runs, so everything under .gemini/ counts")
        });
        assert!(said, "{command}");
    }
}

/// Common scripts are understood; only the files that they run count.
#[test]
fn ordinary_scripts_are_certain_and_small() {
    let rows = [
        row("./h/x.sh", "h/x.sh").with_files(&[(
            "h/x.sh",
            "#!/usr/bin/env bash\nset -euo pipefail\ninput=$(cat)\nfile=$(printf '%s' \"$input\" | jq -r '.tool_input.file_path // empty')\ncase \"$file\" in\n  *.env) echo no >&2; exit 2 ;;\nesac\nif grep -qE 'x' \"$file\" README.md; then exit 2; fi\necho '{}' | tee log.txt\n",
        )]),
        row("python3 h/x.py", "h/x.py").with_files(&[("h/x.py", "import json, re, sys\nprint(json.load(sys.stdin))\n")]),
        row("node h/x.js", "h/x.js").with_files(&[("h/x.js", "const fs = require('fs');\nconsole.log(fs.readFileSync(0, 'utf8'));\n")]),
    ];
    for row in rows {
        let place = write_fixture(&row);
        place.write("project/README.md", "x");
        place.write("project/log.txt", "x");
        place.write("project/src/main.py", "x");
        let loaded = place.load();
        let files = loaded.files_run_by(&loaded.registry.hooks()[0]);
        assert!(files.certain, "{}", row.command);
        let mut own: Vec<_> = files.paths().filter_map(|path| path.strip_prefix(place.project()).ok()).collect();
        own.sort();
        own.dedup();
        assert_eq!(own, [Path::new(row.payload)], "{}", row.command);
    }
}

/// A hook that reads the project's sources does not change with them.
#[test]
fn files_a_hook_reads_are_not_part_of_its_fingerprint() {
    let rows = [
        row("npx eslint src", "src/a.js"),
        row("cargo clippy --manifest-path src/Cargo.toml", "src/a.rs"),
        row("docker run -v ./src:/src lint", "src/a.py"),
        with("make lint", "src/a.js", &[("Makefile", "lint:\n\teslint src docs\n")]),
        with("sh h/x.sh", "README.md", &[("h/x.sh", "grep -q x README.md && prettier src && eval \"$X\"\n")]),
        with("python3 x.py", "src/a.py", &[("x.py", "for name in ['src', 'docs']:\n    print(name)  # src\n")]),
        with("node x.js", "src/a.md", &[("x.js", "console.log('src', 'README.md');\n")]),
    ];
    for row in rows {
        let place = write_fixture(&row);
        let path = place.project().join(row.payload);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "something").unwrap();
        trust_all_hooks(&place);
        fs::write(&path, "something else").unwrap();
        let loaded = place.load();
        assert!(loaded.reviews.is_empty(), "{}: {:?}", row.command, loaded.reviews[0].finding);
    }
}

/// Spellings that were found later.
#[test]
fn indirect_shell_spellings() {
    assert_all_held(&[
        row("sh -c '. \"$0\"' ./d/x.sh", "d/x.sh"),
        row("exec 3< d/x.sh; sh <&3", "d/x.sh"),
        row("mapfile -t a < d/x.sh; eval \"${a[*]}\"", "d/x.sh"),
        row("IFS= read -r l < d/x.sh; eval \"$l\"", "d/x.sh"),
        row("cp d/x.sh \"$HOME/y\" && sh \"$HOME/y\"", "d/x.sh"),
        row("cat d/x.sh > \"$HOME/y\"; . \"$HOME/y\"", "d/x.sh"),
        row("ln -sf \"$PWD/d/x.sh\" \"$HOME/l\"; \"$HOME/l\"", "d/x.sh"),
        row("bash -O extglob -c './d/@(x).sh'", "d/x.sh"),
        row("hash -p ./d/x.sh foo; foo", "d/x.sh"),
        row("printf -v X %s ./d/x.sh; $X", "d/x.sh"),
        row("read X <<< ./d/x.sh; $X", "d/x.sh"),
        row("X=Y Y=./d/x.sh; ${!X}", "d/x.sh"),
        row("declare -n X=Y; Y=./d/x.sh; $X", "d/x.sh"),
        row("./d/${Y:-x}.sh", "d/x.sh"),
        row("./d/x.${Y:-sh}", "d/x.sh"),
        row("sh -x -- d/x.sh", "d/x.sh"),
        row("bash +x d/x.sh", "d/x.sh"),
        row("env -u A -- ./d/x.sh", "d/x.sh"),
        row("trap 'sh d/x.sh' 0", "d/x.sh"),
        row("trap 'sh d/x.sh' DEBUG; true", "d/x.sh"),
        row("PROMPT_COMMAND=./d/x.sh bash --norc -i </dev/null <<< true", "d/x.sh"),
        with("xargs -a list sh", "d/x.sh", &[("list", "d/x.sh\n")]),
        with("$(head -n1 list)", "d/x.sh", &[("list", "./d/x.sh\n")]),
        with("sh $(cat list)", "d/x.sh", &[("list", "d/x.sh\n")]),
        with("while read -r f; do . $f; done <<< \"$(cat list)\"", "d/x.sh", &[("list", "d/x.sh\n")]),
        row("sh d/x.sh d/x.sh", "d/x.sh"),
        row("until ./d/x.sh; do :; done", "d/x.sh"),
        row("[[ -n $(./d/x.sh) ]]; true", "d/x.sh"),
        row("echo $(( $(./d/x.sh; echo 1) + 1 ))", "d/x.sh"),
        row("A=$(./d/x.sh) true", "d/x.sh"),
        row("a=([0]=$(./d/x.sh))", "d/x.sh"),
        row("echo \"${Z:-$(./d/x.sh)}\"", "d/x.sh"),
        row("cat > /dev/null <<E\n$(./d/x.sh)\nE\n", "d/x.sh"),
        row("f() { local d=d; ./$d/x.sh; }; f", "d/x.sh"),
        row("d=d; f() { ./$d/x.sh; }; d=e; d=d f", "d/x.sh"),
        row("cd /; cd - >/dev/null; ./d/x.sh", "d/x.sh"),
        row("cd d/../d && ./x.sh", "d/x.sh"),
        row("CDPATH=. cd d >/dev/null && ./x.sh", "d/x.sh"),
        row("true; { true; ./d/x.sh; } | cat", "d/x.sh"),
        row("./d/x.sh;", "d/x.sh"),
        row("\n\n ./d/x.sh # no\n", "d/x.sh"),
        row("./d/x.s\\\nh", "d/x.sh"),
        with("./a", "d/x.sh", &[("a", "#! /bin/sh -e\n. ./d/x.sh\n")]),
        with("./a", "d/x.sh", &[("a", "#!/usr/bin/env -S sh -e\nsh d/x.sh\n")]),
        with("./a", "b", &[("a", "#!./b\n"), ("b", "#!/bin/sh\necho ran >> \"$MARK\"\n")]),
        with(
            "./a.sh",
            "d/x.sh",
            &[("a.sh", "here=$(cd -- \"$(dirname -- \"$0\")\" && pwd -P)\nexec \"$here/d/x.sh\"\n")],
        ),
        with("./a.sh", "d/x.sh", &[("a.sh", "for f in \"$(dirname \"$0\")\"/d/*.sh; do . \"$f\"; done\n")]),
        with("./a.sh", "d/x.sh", &[("a.sh", "run() { sh \"$@\"; }\nrun d/x.sh\n")]),
        with("./a.sh", "d/x.sh", &[("a.sh", "script=x\nsh \"d/${script}.sh\"\n")]),
        with("./a.sh", "d/x.sh", &[("a.sh", "cat d/x.sh | sh\n")]),
        with("./a.sh", "d/x.sh", &[("a.sh", "export PATH=\"$PWD/d:$PATH\"\n./b.sh\n"), ("b.sh", "x.sh\n")]),
    ]);
}

#[test]
fn indirect_python_spellings() {
    if !is_installed("python3") {
        return;
    }
    assert_all_held(&[
        row("python3 -c \"__import__('x')\"", "x.py"),
        row("python3 -X utf8 -W ignore d/x.py", "d/x.py"),
        row("python3 -c 'import importlib as i; i.import_module(\"d.x\")'", "d/x.py"),
        with("python3 h/g.py", "h/b.py", &[("h/g.py", "import a, \\\n    b\n"), ("h/a.py", "")]),
        with("python3 h/g.py", "h/p/b.py", &[("h/g.py", "from p import (\n    a,\n    b,\n)\n"), ("h/p/a.py", "")]),
        with("python3 h/g.py", "h/b.py", &[("h/g.py", "if True: import b\n")]),
        with("python3 h/g.py", "h/b.py", &[("h/g.py", "try:\n\timport b\nexcept ImportError: pass\n")]),
        with("cd h && python3 -c 'from p.q import x'", "h/p/q/x.py", &[("h/p/f", "")]),
        with("sh run.sh", "h/b.py", &[("run.sh", "python3 -m h.g\n"), ("h/g.py", "from . import b\n")]),
        with("python3 h/g.py", "h/b.py", &[("h/g.py", "import runpy\nrunpy.run_module('b')\n")]),
        with("python3 h/g.py", "h/b.py", &[("h/g.py", "import sys as s\ns.path.append('zzz')\nimport b\n")]),
        with("env -C h python3 g.py", "h/b.py", &[("h/g.py", "import b\n")]),
    ]);
}
