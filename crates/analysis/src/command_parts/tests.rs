use super::*;

/// Whether a part of the text begins with `rm`, and whether the text was understood.
fn runs_rm(text: &str) -> (bool, bool) {
    let parts = parts(text);
    let rm = |part: &Part| part.begins_with("rm", Naming::AnyDirectory) == Fit::Yes;
    (parts.commands.iter().any(rm), parts.certain)
}

#[test]
fn no_spelling_hides_a_command() {
    let mut hidden = Vec::new();
    for text in [
        "rm -rf x;",
        "ls && rm x",
        "ls || rm x",
        "ls | rm",
        "echo $(rm x)",
        "echo `rm x`",
        "env rm x",
        "sudo -u me rm x",
        "ls | xargs rm",
        "sh -c 'rm x'",
        "bash -lc \"ls; rm x\"",
        "/bin/rm x",
        "command rm x",
        "\\rm x",
        "ls\nrm x",
        "{ rm x; }",
        "(rm x)",
        "rm x &",
        "if true; then rm x; fi",
        "r''m x",
        "eval 'rm x'",
        "find . -exec rm {} +",
        "busybox rm x",
        "sudo sh -c 'env rm x'",
        "cat <(rm x)",
        "timeout 5 rm x",
        "f() { rm x; }; f",
        "echo \"$(rm x)\"",
        "trap 'rm x' EXIT",
        "rm x > y",
        "exec rm x",
        "nohup rm x",
        "nice -n 5 rm x",
        "stdbuf -oL rm x",
        "setsid rm x",
        "ionice -c 3 rm x",
        "chrt -f 10 rm x",
        "taskset -c 0 rm x",
        "doas -u me rm x",
        "sudo --user me rm x",
        "sudo -nu me rm x",
        "su me -c 'rm x'",
        "su -c 'rm x' me",
        "ssh host rm x",
        "ssh -p 22 -i key me@host 'cd y && rm x'",
        "watch -n 1 rm x",
        "busybox sh -c 'rm x'",
        "script -qc 'rm x' /dev/null",
        "flock -w 5 file rm x",
        "flock file -c 'rm x'",
        "unshare -r rm x",
        "chroot dir rm x",
        "strace -o out rm x",
        "time -p rm x",
        "find . -name x -exec rm {} \\;",
        "fd x -x rm",
        "git -c alias.x='!rm y' x",
        "git -C y -c alias.x='!rm y' x",
        "systemd-run --user=1 rm x",
        "xargs --max-args 1 rm",
        "timeout -k 1 5 nice sudo rm x",
        "bash <<< 'rm x'",
        "bash -s <<< 'rm x'",
        "sh - <<< 'rm x'",
        "bash /dev/stdin <<< 'rm x'",
        "env bash /dev/fd/0 <<< 'rm x'",
        "bash /proc/self/fd/0 <<< 'ls; rm x'",
        "compgen -C 'rm x'",
        "complete -C 'rm x' y",
        "prlimit --nofile=100 rm x",
        "split --filter='rm x' a.txt",
        "split --filt 'rm x' a.txt",
        "/lib64/ld-linux-x86-64.so.2 /bin/rm x",
        "ld.so --argv0 y /bin/rm x",
        "sg root 'rm x'",
        "sg - root -c 'rm x'",
        "capsh -- -c 'rm x'",
        "numactl -N 0 rm x",
        "cgexec -g cpu:y rm x",
        "ip netns exec y rm x",
        "ip -n y vrf e z rm x",
        "ls | entr rm x",
        "ls | entr -rs 'rm x'",
        "npx -c 'rm x'",
        "npx --call='rm x'",
        "npm exec -c 'rm x'",
        "test -v 'a[$(rm x)]'",
        "[ -v 'a[$(rm x)]' ]",
        "[[ -v 'a[$(rm x)]' ]]",
        "[[ 'a[`rm x`]' -eq 1 ]]",
        "let 'a[$(rm x)]=1'",
        "declare -i z='b[$(rm x)]'",
        "typeset -i z='b[1+$(rm x)]'",
        "read 'a[$(rm x)]'",
        "unset 'a[$(rm x)]'",
        "mapfile 'a[`rm x`]'",
        "y='a[$(rm x)]'; echo $((y))",
        "y=('a[$(rm x)]'); (( y ))",
        "read y <<< 'a[$(rm x)]'; (( y ))",
        "let \"a[\\$(rm x)]\"",
        "declare -a 'y=($(rm x))'",
        "readonly -a 'y=(`rm x`)'",
    ] {
        let (found, certain) = runs_rm(text);
        hidden.extend((!found && certain).then_some(text));
    }
    assert!(hidden.is_empty(), "{hidden:#?}");
    for text in ["echo rm", "git rm x", "echo 'a; rm x'", "./rmx", "ls # rm x"] {
        assert_eq!(runs_rm(text), (false, true), "{text}");
    }
}

#[test]
fn what_may_run_more_is_found_or_unclear() {
    let mut wrong = Vec::new();
    for text in ["parallel rm ::: x", "coproc rm x", "coproc X { rm x; }", "sudo --odd me rm x", "time -f %e rm x"] {
        assert!(!parts(text).certain || runs_rm(text).0, "{text}");
    }
    for text in [
        "parallel -j 2 rm ::: x",
        "printf -v 'a[$(rm x)]' y",
        "mapfile -C 'rm x #' -c 1 < a.txt",
        "readarray -c 1 -C 'rm x #'",
        "perf stat rm x",
    ] {
        assert!(!parts(text).certain || runs_rm(text).0, "{text}");
    }
    for text in [
        "hash -p /bin/rm foo; foo x",
        "enable -f ./x.so foo; foo",
        "alias foo=rm; foo x",
        "bash /dev/stdin < y",
        "cat y | bash /dev/fd/0",
        "cd /dev; bash stdin < y",
        "bash <<E\nrm x\nE",
        "bash /dev/stdin <<< \"$X\"",
        "bash 3<<< ls < y",
        "cat f | xargs sh",
        "echo rm x | bash 3<<< ls",
        "exec 3< y; bash <<< ls <&3",
        "bash <<< ls 0>&3",
        "bash <<< ls 0<> y",
        "y='$(rm x)'; echo \"${y@P}\"",
        "ld.so --preload ./y.so /bin/ls",
        "X=-delete; find . $X",
        "X=--output=y; git log $X",
        "X=-Orm; git grep $X y",
        "make -f - <<< 'a:;rm x'",
        "make -f- <<< 'a:;rm x'",
        "make --file=/dev/stdin < y",
        "make --eval 'a:;rm x'",
        "make --eval='$(shell rm x)'",
        "make -E '$(shell rm x)'",
        "make SHELL=./y",
        "make CC='rm x;'",
        "bind -x '\"x\": rm y'",
        "newgrp <<< 'rm x'",
        "newgrp root <<< 'rm x'",
        "sg root <<< 'rm x'",
        "run-parts dir",
        "ag --pager 'rm x' y",
        "rg --pre rm y",
        "wget --use-askpass=./y url",
        "batch <<< 'rm x'",
        "at now <<< 'rm x'",
        "ed f <<< '!rm x'",
        "compgen -W '$(rm x)'",
        "cp /bin/rm foo; ./foo x",
        "cp /bin/rm .; ./rm x",
        "cp /bin/rm ~/bin/foo; foo x",
        "ln -s /bin/rm foo && ./foo x",
        "mv y foo; $PWD/foo",
        "cat y > foo; ./foo",
        "cat y | tee foo; /tmp/foo",
        "install -m 755 y foo; ./foo",
        "dd if=/bin/rm of=foo; ./foo x",
        "echo rm x > foo.sh; sh foo.sh",
        "cat > \"$X\"; ./foo",
        "PATH=.; ls",
        "export PATH=.; ls",
        "read PATH < y; ls",
        "let \"$X\"",
        "test -v \"$X\"",
        "git grep -O'rm x' y",
        "git grep --open='rm x' y",
        "git clone ext::'sh -c x' y",
        "git log --output=x",
        "git -c core.pager='rm x' log",
        "git bisect run rm x",
        "git submodule foreach rm x",
        "git config alias.x '!rm y'",
        "git config --global core.fsMonitor ./x",
        "sed -n '1e touch P' f",
        "sed 'w x' f",
        "find . -delete",
        "find . -fprintf x y",
        "man -P 'rm x' ls",
        "man --pager='rm x' ls",
        "tar --checkpoint-action=exec=x -cf x y",
        "tar --checkpoint-act exec=x -cf x y",
        "tar --to-command=x -xf y",
        "tar -I 'rm x' -xf y",
        "tar -xIx -f y",
        "tar xIf x y",
        "sort -o x y",
        "sort -uo x y",
        "sort --outp=x y",
        "sort --compress-program=rm y",
        "rsync -e 'sh -c x' a b",
        "vim -c '!rm x'",
        "less +'!rm x' y",
    ] {
        wrong.extend((parts(text).is_clear() && !runs_rm(text).0).then_some(text));
    }
    for text in ["tclsh <<< 'exec rm x'", "dc <<< '!rm x'", "echo x | tclsh"] {
        wrong.extend(parts(text).is_clear().then_some(text));
    }
    for text in [
        "awk 'BEGIN{system(\"rm x\")}'",
        "perl -e 'unlink'",
        "perl -pi -e 's/a/b/e' x",
        "python3 -c 'import os'",
        "ruby -e x",
        "find . -delete",
        "sed '1e rm x' y",
        "sed 's/a/b/e' y",
        "sed -n 's|a|rm|ge' y",
        "git -c core.pager='rm x' log",
        "git --exec-path=/tmp log",
        "git bisect run ./x",
        "tar --checkpoint-action=exec=sh -cf x y",
        "vim -c '!rm x'",
        "tmux new 'rm x'",
        "ssh -o ProxyCommand='rm x' host",
        "rsync -e 'sh -c x' a b",
        "docker run -v /:/x image rm /x/y",
        "kubectl -n a exec pod -- rm x",
    ] {
        wrong.extend((parts(text).is_clear() && !runs_rm(text).0).then_some(text));
    }
    for text in [
        "awk '{print $1}' x",
        "sed -i 's/one/two/g' file",
        "sed -n '1,5p' here",
        "find . -name '*.rs'",
        "git -c color.ui=never log",
        "git -C x status",
        "tar -xzf here.tgz",
        "python3 x.py",
        "ssh host",
        "rsync -a x y",
        "cp a b; ls b",
        "make -j4 PREFIX=/usr install > log",
        "make -C x test",
        "git commit -m 'see [`x`](y) and a[1]'",
        "echo x > y; cat y",
        "test -f \"$X\"",
        "[ -n \"$X\" ]",
        "printf '%s' x",
        "sort -u x",
        "git grep x",
        "git log --oneline -5",
        "tar -czf x.tgz y",
        "export A=1",
        "read x",
        "hash -r",
        "bash x.sh < y",
        "rg x src/*.rs",
        "npx jest -c jest.config.js",
        "npm run build -- -c x",
        "git commit -m \"$(date)\"",
        "find src/* -name x",
        "bash x.sh 2>&1",
    ] {
        wrong.extend((!parts(text).is_clear()).then_some(text));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn options_before_a_sub_command_hide_it_from_nobody() {
    let fit = |text: &str, prefix: &str| parts(text).commands[0].begins_with(prefix, Naming::AnyDirectory);
    for (text, prefix) in [
        ("git -C x push", "git push"),
        ("git -c a=b push -f", "git push"),
        ("git --no-pager push", "git push"),
        ("/usr/bin/git -p -C x --git-dir y push", "git push"),
        ("git push -v --force", "git push --force"),
        ("npm --prefix x run build", "npm run"),
        ("npm --silent run build", "npm run"),
        ("npm run --silent build", "npm run build"),
        ("cargo +nightly publish", "cargo publish"),
        ("docker -H tcp://x run y", "docker run"),
    ] {
        assert_eq!(fit(text, prefix), Fit::Yes, "{text}");
    }
    for (text, prefix) in [
        ("git --no-pager log push", "git push"),
        ("git -C push log", "git push"),
        ("git log --format push", "git push"),
        ("git pushx", "git push"),
        ("npm --prefix run x", "npm run"),
    ] {
        assert_eq!(fit(text, prefix), Fit::No, "{text}");
    }
    // Nobody knows whether it takes the next word.
    assert_eq!(fit("tool --odd value push", "tool push"), Fit::Maybe);
    assert_eq!(fit("tool $X push", "tool push"), Fit::Maybe);
    // Whoever allows means what is written.
    let exact = |text: &str| parts(text).commands[0].begins_with("git push", Naming::Exact);
    assert_eq!((exact("git push"), exact("git -C x push")), (Fit::Yes, Fit::No));
}

#[test]
fn what_the_text_does_not_tell_is_uncertain() {
    for text in
        ["$X x", "`a` x", "eval $X", "sh -c \"$X\"", "ls 'x", "env -S 'rm x'", "r? x", "PATH=. ls", "env PATH=. ls"]
    {
        assert!(!parts(text).certain, "{text}");
    }
    let part = &parts("git $X").commands[0];
    assert_eq!(part.begins_with("git push", Naming::Exact), Fit::Maybe);
    assert_eq!(part.begins_with("git", Naming::Exact), Fit::Yes);
    assert_eq!(part.begins_with("ls", Naming::Exact), Fit::No);
    assert_eq!(parts("/bin/ls").commands[0].begins_with("ls", Naming::Exact), Fit::No);
}
