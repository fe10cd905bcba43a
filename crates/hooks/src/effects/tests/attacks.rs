//! Ways to write `src/x`, or to push with force, that a guard must see, or know that it does not.

use super::*;

/// Whether a guard of `src/x` would notice: it is told, as a part of something, or in doubt.
fn is_noticed(place: &Box, command: &str) -> bool {
    let effects = place.shell(command);
    let target = place.project.join("src/x");
    let holds = |one: &Touched| one.path == target || (one.deep && target.starts_with(&one.path));
    let in_doubt = effects.may_hold_more(Aspect::Writes) || effects.may_hold_more(Aspect::Deletes);
    effects.writes.iter().chain(&effects.deletes).any(holds) || in_doubt
}

const WRITES: &[&str] = &[
    // Quotes and escapes.
    "r''m src/x",
    "\\rm src/x",
    "'rm' \"src\"/'x'",
    "$'\\x72\\x6d' src/x",
    "$'rm' $'src/\\170'",
    "rm src/\\x",
    "rm \"src\"/x",
    "r\\\nm src/x",
    // Expansions.
    "rm${IFS}src/x",
    "{rm,src/x}",
    "rm {src,}/x",
    "rm src{/x,}",
    "rm a{b}/../src/{x,q}",
    "X=rm; $X src/x",
    "X=src/x; rm $X",
    "X=src; rm ${X}/x",
    "rm ${X:-src/x}",
    "X=; : ${X:=src/x}; rm $X",
    "rm $(echo src/x)",
    "rm `printf src/x`",
    "$(echo rm) src/x",
    "a=(rm src/x); \"${a[@]}\"",
    "set -- src/x; rm \"$1\"",
    "rm s*/x",
    "rm ???/x",
    "rm [s]rc/x",
    "rm ./src/./../src//x",
    "touch q && rm q* sr[c]/*",
    "read f < a.txt; rm $f",
    "printf -v f src/x; rm $f",
    "declare -n r=f; r=src/x; rm $f",
    "eval 'rm src/x'",
    "eval $(base64 -d <<< cm0gc3JjL3g=)",
    "let 'a[$(rm src/x)]=1'",
    "test -v 'a[$(rm src/x)]'",
    "echo $(( $(rm src/x) ))",
    "cat <(rm src/x)",
    "echo y | tee >(cat > src/x)",
    "case a in $(rm src/x)) ;; esac",
    "[[ $(rm src/x) ]]",
    // Other names and other runners.
    "command rm src/x",
    "builtin command rm src/x",
    "exec rm src/x",
    "/bin/rm src/x",
    "busybox rm src/x",
    "env rm src/x",
    "env -i rm src/x",
    "env -C src rm x",
    "nice -n 5 rm src/x",
    "time -o src/x ls",
    "/usr/bin/time -o src/x ls",
    "stdbuf -oL rm src/x",
    "setsid rm src/x",
    "xargs rm <<< src/x",
    "echo src/x | xargs -I{} rm {}",
    "find . -name x -delete",
    "find src -name x -exec sh -c 'rm \"$1\"' _ {} \\;",
    "find . -path ./src/x -fprint src/x",
    "find $X src",
    "alias ls='rm src/x'; ls",
    "ls() { rm src/x; }; ls",
    "f() { rm x; }; cd src; f",
    "function ls { rm src/x; }; ls",
    "hash -p /bin/rm ls; ls src/x",
    "trap 'rm src/x' EXIT",
    "PATH=/tmp:$PATH ls",
    "LD_PRELOAD=/tmp/x.so ls",
    "export PATH=/tmp; ls",
    "BASH_ENV=a.txt bash -c ls",
    "bash a.txt",
    "bash < a.txt",
    "sh <<'EOF'\nrm src/x\nEOF",
    "bash <<< 'rm src/x'",
    "sh -c 'sh -c \"rm src/x\"'",
    "bash -c 'rm $0' src/x",
    "bash -c 'rm \"$@\"' _ src/x",
    ". ./a.txt",
    "coproc rm src/x",
    "ssh localhost rm project/src/x",
    "perl -e 'unlink \"src/x\"'",
    "perl -pi -e s/a/b/ src/x",
    "python3 -c 'open(\"src/x\",\"w\")'",
    "awk 'BEGIN{print > \"src/x\"}'",
    "awk 'BEGIN{system(\"rm src/x\")}'",
    "sed -n 'w src/x' a.txt",
    "sed '1e rm src/x' a.txt",
    "sed -ni p src/x",
    "sed -Ei s/a/b/ src/x",
    "sed --in-pl=.b s/a/b/ src/x",
    "sed -i'src/*' s/a/b/ a.txt",
    "ed -s src/x <<< 'w'",
    "vim -es -c wq src/x",
    "xxd a.txt src/x",
    "uniq a.txt src/x",
    "sort a.txt -o src/x",
    "sort --outp=src/x a.txt",
    "shuf -osrc/x a.txt",
    "tree -o src/x",
    "iconv -o src/x a.txt",
    "split a.txt src/",
    "base64 -o src/x a.txt",
    "file -C -m src/x",
    "curl -so src/x http://e.com",
    "curl --output-dir src -O http://e.com/x",
    "curl -K a.txt",
    "wget -P src http://e.com/x",
    "wget -i a.txt -O src/x",
    // Redirections.
    "echo y >| src/x",
    "echo y 2> src/x",
    "echo y 1<> src/x",
    "echo y &> src/x",
    "echo y >& src/x",
    "exec 3> src/x; echo y >&3",
    "exec {fd}> src/x; echo y >&$fd",
    "{ echo y; } > src/x",
    "while true; do echo y; done > src/x",
    "( echo y ) >> src/x",
    "if true; then echo y; fi > src/x",
    "f() { echo y; } > src/x; f",
    "echo y > \"$(printf %s src/x)\"",
    "echo y > s*/x",
    "echo y > /proc/self/cwd/src/x",
    "cat <<EOF > src/x\n$(date)\nEOF",
    "echo y > build/link/x",
    "echo y > build/link/../src/x",
    // Copies, moves, links.
    "cp a.txt src/x",
    "cp -t src build/x",
    "cp --target-dir=src build/x",
    "cp -rt src build/x",
    "cp a.txt -fT src/x",
    "cp -r build/. src",
    "mv -T build src",
    "mv src other && touch other/x && mv other src",
    "ln -sf /tmp/a src/x",
    "ln -s src s; touch s/x",
    "ln -s ../src build/s && touch build/s/x",
    "ln src/x y; echo z > y",
    "cp -s src/x y; echo z > y",
    "cp -al src copy; echo z > copy/x",
    "rsync -a build/ src/",
    "rsync -a --delete build/ ./",
    "tar -C src -xf a.tar",
    "tar xf a.tar -C src x",
    "tar --directory=src --extract --file a.tar",
    "tar -xPf a.tar",
    "tar cf src/x a.txt",
    "unzip a.zip -d src",
    "unzip a.zip",
    "zip src/x a.txt",
    "gzip src/x",
    "gunzip src/x.gz",
    "xz -d src/x.xz",
    "install -D a.txt src/x",
    "install a.txt -t src build/x",
    "dd if=a.txt of=src/x",
    "dd of=$(echo src/x)",
    "shred -u src/x",
    "chmod -w src/x",
    "touch -d now src/x",
    "truncate --size=0 src/x",
    "mktemp src/x",
    "patch src/x < a.txt",
    "git apply a.txt",
    "git checkout HEAD~1 -- src/x",
    "git checkout HEAD~1 src/x",
    "git -C src checkout -- x",
    "git restore -s HEAD~1 .",
    "git stash pop",
    "git reset --har",
    "git show HEAD:src/x --output=src/x",
    "git diff --outpu src/x",
    "git -c alias.z='!rm src/x' z",
    "git frobnicate",
    "git --work-tree=src checkout .",
    "GIT_DIR=/tmp/g git checkout .",
    // Directories.
    "cd src && rm x",
    "cd src; rm x",
    "cd src build; rm src/x",
    "cd src -P; rm src/x",
    "pushd -n src; rm src/x",
    "cp --parents sub/x src",
    "tar xf a.tar -C build --one-top-level=../src",
    "tar xf a.tar -C build --index-file=src/x",
    "tar cf host:a build",
    "curl -w '%output{src/x}hi' http://e.com",
    "wget -O a --rejected-log=src/x http://e.com",
    "pushd src; rm x",
    "pushd src >/dev/null && rm x && popd",
    "(cd src && rm x)",
    "cd build/link && rm x",
    "cd missing; rm src/x",
    "cd missing || rm src/x",
    "cd missing/deeper; touch src/x",
    "cd / && cd - && rm src/x",
    "cd build && cd .. && rm src/x",
    "cd build || cd src && rm ../src/x",
    "CDPATH=src cd lib; rm ../x",
    "for d in src; do cd $d; rm x; done",
    "while cd src; do rm x; break; done",
    "cd $(echo src) && rm x",
    "cd \"$OLDPWD\"; rm x",
    "builtin cd src; rm x",
    "command cd src && rm x",
    "d=src; cd $d && > x",
    "true && cd src; rm x",
    // What runs what was made.
    "cp a.txt /usr/local/bin/ls; ls",
    "shopt -s expand_aliases",
    "set -k; ls PATH=/tmp",
    "\u{1b}[8mrm src/x",
    "ls\rrm src/x",
];

#[cfg(unix)]
#[test]
fn no_write_is_unseen() {
    let place = project();
    let unseen: Vec<&&str> = WRITES.iter().filter(|command| !is_noticed(&place, command)).collect();
    assert!(unseen.is_empty(), "{unseen:#?}");
}

/// The check above can fail.
#[test]
fn what_does_something_else_is_not_noticed() {
    let place = project();
    for command in ["ls src", "cat src/x", "rm a.txt", "touch build/x", "cd build && touch src2", "git status"] {
        assert!(!is_noticed(&place, command), "{command}");
    }
}

#[test]
fn depth_and_length_are_bounded() {
    let place = project();
    for (open, close) in
        [("$(", ")"), ("sh -c '", "'"), ("eval ", ""), ("{ ", "; }"), ("for i in 1 2 3 4 5 6 7 8 9; do ", "; done")]
    {
        let text = format!("{}rm src/x{}", open.repeat(60), close.repeat(60));
        let started = std::time::Instant::now();
        assert!(!place.shell(&text).is_certain(), "{text}");
        assert!(started.elapsed().as_secs() < 20, "{text}");
    }
}
