//! What calls do, spelt in many ways; and ways to do it unseen, none of which may work.

use super::*;

use serde_json::json;

mod attacks;

/// A project with a few files, and a home beside it.
struct Box {
    _folder: tempfile::TempDir,
    project: std::path::PathBuf,
    home: std::path::PathBuf,
}

fn project() -> Box {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let (project, home) = (top.join("project"), top.join("home"));
    for directory in ["src/lib", "build", "docs"] {
        std::fs::create_dir_all(project.join(directory)).unwrap();
    }
    std::fs::create_dir_all(&home).unwrap();
    for file in ["src/x", "src/y", "a.txt", "b.txt"] {
        std::fs::write(project.join(file), "").unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink("../src", project.join("build/link")).unwrap();
    Box { _folder: folder, project, home }
}

impl Box {
    fn effects(&self, tool: &str, args: &Value) -> Effects {
        let place = CallPlace { cwd: &self.project, project: &self.project, home: Some(&self.home) };
        call_effects(tool, args.as_object().unwrap(), &place, &PathResolver::default())
    }

    fn shell(&self, command: &str) -> Effects {
        self.effects("run_shell_command", &json!({"command": command}))
    }

    /// The effects in one line, without commands; `?` and the first letters of what is in doubt.
    fn line(&self, effects: &Effects) -> String {
        let home = self.home.display().to_string();
        let list = |sign: &str, list: &[Touched]| {
            let mut shown: Vec<_> = list.iter().map(|one| one.shown.replace(&home, "~")).collect();
            shown.sort();
            shown.into_iter().map(|path| format!("{sign}{path}")).collect::<Vec<_>>()
        };
        let mut parts = list("r:", &effects.reads);
        parts.extend(list("w:", &effects.writes));
        parts.extend(list("d:", &effects.deletes));
        parts.extend(effects.network.iter().map(|peer| format!("n:{peer}")));
        // The kinds that are in doubt alone; a call that may do anything is `?crwdn`.
        let is_listed = |aspect: &Aspect| {
            matches!(aspect, Aspect::Commands | Aspect::Reads | Aspect::Writes | Aspect::Deletes | Aspect::Network)
        };
        let letter = |aspect: Aspect| format!("{aspect:?}").to_lowercase().remove(0);
        let doubts: String = effects.unsure().filter(is_listed).map(letter).collect();
        parts.extend((!doubts.is_empty()).then(|| format!("?{doubts}")));
        parts.join(" ")
    }
}

fn check(cases: &[(&str, &str)]) {
    let place = project();
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(command, expected)| {
            let found = place.line(&place.shell(command));
            (found != *expected).then(|| format!("{command}\n  expected {expected}\n  found    {found}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_only_looks_is_certain() {
    check(&[
        ("ls", "r:."),
        ("ls -la src", "r:src"),
        ("cat a.txt b.txt | grep -n x | sort -u | head -5", "r:a.txt r:b.txt"),
        ("grep -rn 'x y' src", "r:src/"),
        ("rg foo", "r:./"),
        ("echo $HOME \"$USER\" > /dev/null 2>&1", ""),
        ("git status && git log --oneline -5 && git diff HEAD~1", ""),
        ("git add -A && git commit -m \"$(date)\"", "r:./"),
        ("find . -name '*.rs' | wc -l", "r:./"),
        ("cd src && pwd && cat x", "r:src/x"),
        ("for f in a.txt b.txt; do cat $f; done", "r:a.txt r:b.txt"),
        ("if [ -f a.txt ]; then cat a.txt; else echo none; fi", "r:a.txt"),
        ("sed -n 1,5p a.txt", "r:a.txt"),
        ("awk '{print $1}' a.txt", "r:a.txt"),
        ("node --version; cargo --version", ""),
        ("LC_ALL=C sort < a.txt", "r:a.txt"),
        ("test -f src/x && echo yes || echo no", ""),
        ("cat ~/notes", "r:~/notes"),
        ("diff a.txt b.txt; cmp a.txt b.txt", "r:a.txt r:b.txt"),
        ("cat <<'EOF'\nrm -rf src\nEOF", ""),
    ]);
}

#[test]
fn what_is_written_and_deleted_is_seen() {
    check(&[
        ("echo x > src/x", "w:src/x"),
        ("echo x >> ./src/../src/x", "w:src/x"),
        ("> src/x", "w:src/x"),
        ("cat a.txt | tee -a src/x src/new", "r:a.txt w:src/new w:src/x"),
        ("cat > src/new <<EOF\nx\nEOF", "w:src/new"),
        ("cp a.txt src", "r:a.txt w:src/a.txt"),
        ("cp a.txt b.txt src/", "r:a.txt r:b.txt w:src/a.txt w:src/b.txt"),
        ("cp -t src a.txt", "r:a.txt w:src/a.txt"),
        ("cp a.txt b.txt", "r:a.txt w:b.txt"),
        ("mv a.txt docs", "r:a.txt w:docs/a.txt d:a.txt"),
        ("rm src/x; rm -rf build", "d:build/ d:src/x"),
        ("rm src/*", "d:src/lib d:src/x d:src/y"),
        ("cd src && rm x", "d:src/x"),
        ("(cd src; rm x); rm y", "d:src/x d:y"),
        ("cd /tmp && touch z && cd - && touch q", "w:/tmp/z ?w"),
        ("mkdir -p src/new && touch src/new/f", "w:src/new w:src/new/f"),
        ("sed -i 's/a/b/' src/x src/y", "r:src/x r:src/y w:src/x w:src/y"),
        ("sed -i.bak -e 's/a/b/' src/x", "r:src/x w:src/x w:src/x.bak"),
        ("sed --in-place 's/a/b/' src/x", "r:src/x w:src/x"),
        ("truncate -s 0 src/x", "w:src/x"),
        ("dd if=a.txt of=src/x bs=1", "r:a.txt w:src/x"),
        ("install -m 755 a.txt src/x", "r:a.txt w:src/x"),
        ("chmod -x src/x; chmod 644 src/y", "w:src/x w:src/y"),
        ("ln -s src/x here", "r:src/x/ w:here w:src/x/"),
        ("find src -name '*.o' -delete", "r:src/ d:src/"),
        ("find src -type f -exec rm {} \\;", "r:src/ d:src/"),
        ("printf x > $(echo src/x)", "w:src/x"),
        ("F=src/x; echo y > \"$F\"", "w:src/x"),
        ("for f in x y; do touch src/$f; done", "w:src/x w:src/y"),
        ("sort -o src/x a.txt", "r:a.txt w:src/x"),
        ("tar -xzf a.tgz -C src", "r:a.tgz w:src/"),
        ("tar xf a.tgz", "r:a.tgz w:./"),
        ("unzip -o a.zip -d src", "r:a.zip w:src/"),
        ("git checkout main", "w:./ d:./"),
        ("git checkout -b new", ""),
        ("git checkout HEAD -- src/x", "w:src/x/ d:src/x/"),
        ("git restore src/x", "w:src/x/ d:src/x/"),
        ("git restore --staged src/x", ""),
        ("git reset --hard", "w:./ d:./"),
        ("git reset HEAD~1", ""),
        ("git rm src/x", "r:src/x/ d:src/x/"),
        ("git mv src/x docs/x", "w:docs/x/ d:src/x/"),
        ("git stash", "w:./ d:./"),
        ("git clean -fd build", "d:build/"),
        (
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/x\n@@\n-a\n+b\n*** Delete File: a.txt\n*** End Patch\nEOF",
            "w:src/x d:a.txt",
        ),
        ("bash -c 'rm src/x && touch a.txt'", "w:a.txt d:src/x"),
        ("sh <<EOF\nrm src/x\nEOF", "d:src/x"),
        ("sudo -u me env A=b nice rm src/x", "d:src/x ?crwdn"),
        ("timeout 5 nohup rm src/x &", "w:nohup.out d:src/x"),
        ("echo x > build/link/x", "w:build/link/x w:src/x"),
        ("rm build/link", "d:build/link"),
        ("echo x > ~/notes", "w:~/notes"),
        ("cp -r src build/copy", "r:src/ w:build/copy/"),
    ]);
}

#[test]
fn who_is_talked_to_is_seen() {
    check(&[
        ("curl -sSL https://example.com/a/b.sh", "n:example.com"),
        ("curl -o src/x http://user:p@example.com:8080/y", "w:src/x n:example.com"),
        ("curl -O https://example.com/file.bin", "w:file.bin n:example.com"),
        ("wget -O src/x https://example.com", "w:src/x n:example.com"),
        ("git push origin main", "n:origin"),
        ("git push", "n:origin"),
        ("git fetch git@github.com:a/b.git", "n:github.com"),
        ("git clone https://github.com/a/b.git", "w:b/ n:github.com"),
        ("git pull", "w:./ d:./ n:origin"),
        ("scp a.txt me@host:/tmp/", "r:a.txt/ n:host"),
        ("rsync -a host:/x src/", "w:src/ n:host"),
        ("ssh me@host uptime", "n:host"),
        ("ssh localhost uptime", "n:localhost ?crwdn"),
        ("echo x > /dev/tcp/example.com/80", "n:example.com"),
        ("npm install left-pad", "w:node_modules/ w:package-lock.json w:package.json n:registry.npmjs.org ?crwdn"),
        ("ping -c 1 example.com", "n:example.com"),
    ]);
}

#[test]
fn what_cannot_be_told_is_said() {
    check(&[
        ("python x.py", "r:x.py ?crwdn"),
        ("make", "?crwdn"),
        ("cargo test", "w:target/ ?crwdn"),
        ("./script.sh", "?crwdn"),
        ("/tmp/cat a.txt", "?crwdn"),
        ("cat $F", "?r"),
        ("rm $F", "?d"),
        ("echo x > $F", "?w"),
        ("$X a", "?crwdn"),
        ("cat a.txt | sh", "r:a.txt ?crwdn"),
        ("find . | xargs rm", "r:./ ?d"),
        ("patch -p1 < a.txt", "r:a.txt ?rwd"),
        ("source a.txt", "r:a.txt ?crwdn"),
        ("alias ls=rm; ls src/x", "?crwdn"),
        ("function /bin/ls { :; }", "?crwdn"),
        ("'unfinished", "?crwdn"),
        ("TAR_OPTIONS=x tar tf a.tar", "r:a.tar ?crwdn"),
    ]);
}

#[test]
fn other_tools_tell_by_their_arguments() {
    let place = project();
    let cases = [
        ("write_file", json!({"file_path": "src/x", "content": ""}), "w:src/x"),
        ("replace", json!({"file_path": "./docs/../src/x", "old_string": "a", "new_string": ""}), "w:src/x"),
        // As other agents' deletions are told.
        ("replace", json!({"file_path": "src/x", "old_string": "", "new_string": ""}), "w:src/x d:src/x"),
        ("replace", json!({"file_path": "src/x"}), "w:src/x d:src/x"),
        ("read_file", json!({"file_path": "/etc/hosts"}), "r:/etc/hosts"),
        ("read_many_files", json!({"include": ["src/**/*.rs", "a.txt", "*.md"]}), "r:./ r:a.txt/ r:src/"),
        ("glob", json!({"pattern": "**/*.rs"}), "r:./"),
        ("search_file_content", json!({"pattern": "x", "dir_path": "src"}), "r:src/"),
        ("list_directory", json!({"dir_path": "src"}), "r:src"),
        ("web_fetch", json!({"prompt": "sum up https://Example.com/a, please"}), "n:example.com"),
        ("web_fetch", json!({"prompt": "nothing"}), "?n"),
        ("save_memory", json!({"fact": "x"}), "w:~/.gemini/GEMINI.md ?w"),
        ("write_todos", json!({"todos": []}), ""),
        ("mcp__git__push", json!({"path": "src/x"}), "?crwdn"),
        ("write_file", json!({}), "?w"),
        ("run_shell_command", json!({"command": "rm x", "dir_path": "src"}), "d:src/x"),
        ("run_shell_command", json!({"command": 7}), "?crwdn"),
        (
            "apply_patch",
            json!({"input": "*** Begin Patch\n*** Add File: src/n\n+x\n*** Update File: a.txt\n*** Move to: src/m\n@@\n-x\n*** End Patch"}),
            "w:src/m w:src/n d:a.txt",
        ),
        ("apply_patch", json!({"input": "*** Begin Patch\n*** Add"}), "?wd"),
    ];
    for (tool, args, expected) in cases {
        assert_eq!(place.line(&place.effects(tool, &args)), expected, "{tool} {args}");
    }
}

#[test]
fn the_json_names_what_is_unsure() {
    let place = project();
    let certain = serde_json::to_value(place.shell("cd src && sudo rm -rf lib")).unwrap();
    let expected = json!({
        "commands": [["cd", "src"], ["sudo", "rm", "-rf", "lib"], ["rm", "-rf", "lib"]],
        "reads": [], "writes": [], "deletes": ["src/lib/"], "network": [], "repository": [],
        "services": [], "processes": [], "privileged": ["rm -rf lib"], "flows": [], "certain": true,
    });
    assert_eq!(certain, expected);
    let doubtful = serde_json::to_value(place.shell("cat $X")).unwrap();
    assert_eq!((&doubtful["certain"], &doubtful["unsure"]), (&json!(false), &json!(["reads"])));
    assert_eq!(doubtful["commands"], json!([["cat", "$X"]]));
}
