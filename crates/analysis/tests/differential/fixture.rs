//! The throw-away directory that commands run in.
//!
//! `ROOT/work` is the directory and the project, a git repository; `ROOT/out` lies outside of it; `ROOT/home` is the home
//! directory, and `ROOT/tmp` is for temporary files, which are not compared.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use crate::sandbox;
use crate::trace::Event;

const MAX_COMMAND_TIME: Duration = Duration::from_secs(2);
const MAX_TRACE_BYTES: u64 = 64 << 20;
const SET_UP_TIME: Duration = Duration::from_secs(60);

/// The system calls that are traced; `?` lets one be missing on this machine.
const TRACED: &str = "trace=?open,?openat,?openat2,?creat,?rename,?renameat,?renameat2,?link,?linkat,?symlink,?symlinkat,\
    ?unlink,?unlinkat,?rmdir,?mkdir,?mkdirat,?mknod,?mknodat,?truncate,?ftruncate,?fallocate,?chmod,?fchmod,?fchmodat,?fchmodat2,\
    ?chown,?lchown,?fchown,?fchownat,?utime,?utimes,?utimensat,?futimesat,?setxattr,?lsetxattr,?fsetxattr,?removexattr,\
    ?lremovexattr,?fremovexattr,?chdir,?fchdir,?execve,?execveat,?clone,?clone3,?fork,?vfork,?connect,?sendto";

const FILES: &str = r#"
set -e
mkdir -p work/d/deep work/e work/g out home tmp
cd work
printf 'alpha beta\ngamma 1\nbeta 2\nx=y\n' > a.txt
printf 'one\ntwo\nthree\nfour\n' > b.txt
printf '3,b,c\n1,x,y\n2,a,z\n' > c.csv
printf '5\n3\n9\n' > n.txt
printf 'words with spaces\n' > 'sp ace.txt'
printf 'dash\n' > ./-dash
printf '{"a": [1, 2], "b": "c"}\n' > data.json
printf 'cat b.txt\n' > x.sh
chmod +x x.sh
printf 'b.txt\nd/e.txt\n' > list.txt
printf 'b.txt\0d/e.txt\0' > list0
printf 'hidden\n' > .hidden
printf 'e\n' > d/e.txt
printf 'f\nalpha\n' > d/f.txt
printf 'g\n' > d/deep/g.txt
printf 'h\n' > g/h.txt
printf 'outside\n' > ../out/o.txt
printf 's/a/b/w from-script\n' > s.sed
printf '{ print > "from-awk" }\n' > p.awk
printf -- '--- b.txt\n+++ b.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n' > p.patch
printf 'url = "file:///nonexistent"\noutput = "from-curl"\n' > c.curl
ln -s a.txt link.txt
ln -s d dlink
ln -s missing broken
ln -s ../out olink
ln -s ../out/o.txt o.link
ln n.txt hard.txt
ln -s ../../../out/o.txt d/deep/inner
ln -s ../g g/up
tar cf arc.tar b.txt d
tar czf arc.tar.gz b.txt d
printf 'zipped\n' | gzip > z.gz
md5sum b.txt a.txt > sums.md5
! command -v bzip2 >/dev/null || printf 'zipped\n' | bzip2 > z.bz2
! command -v xz >/dev/null || printf 'zipped\n' | xz > z.xz
! command -v zip >/dev/null || zip -qr arc.zip b.txt d
git init -q -b main --template=
git add a.txt b.txt d list.txt
git commit -qm first
git branch feature
printf 'five\n' >> b.txt
git commit -qam second
git tag v1
git checkout -q feature
printf 'feature\n' > feat.txt
git add feat.txt
git commit -qm third
git checkout -q main
printf 'stashed\n' >> a.txt
git stash -q
printf 'changed\n' >> b.txt
printf 'staged\n' > staged.txt
git add staged.txt
git gc -q
git clone -q --bare --template= . ../out/remote.git
git remote add origin ../out/remote.git
"#;

pub(crate) struct Fixture {
    directory: PathBuf,
    pub(crate) root: PathBuf,
    /// Whether a command has changed something since the files were last made.
    spoiled: bool,
    /// What is there before a command runs, links not followed.
    pub(crate) directories: HashSet<PathBuf>,
    pub(crate) files: HashSet<PathBuf>,
    pub(crate) links: HashMap<PathBuf, PathBuf>,
    times: HashMap<PathBuf, SystemTime>,
    index: Vec<u8>,
}

pub(crate) struct FinishedRun {
    pub(crate) trace: String,
    pub(crate) timed_out: bool,
}

impl Fixture {
    pub(crate) fn new(directory: PathBuf) -> Self {
        let root = directory.join("1/2/3/4/root");
        let template = directory.join("template");
        std::fs::create_dir_all(&template).unwrap();
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(
            directory.join("gitconfig"),
            "[user]\n\tname = A\n\temail = a@example.invalid\n[gc]\n\tauto = 0\n[protocol \"file\"]\n\tallow = always\n",
        )
        .unwrap();
        let mut fixture = Fixture {
            directory,
            root,
            spoiled: true,
            directories: HashSet::new(),
            files: HashSet::new(),
            links: HashMap::new(),
            times: HashMap::new(),
            index: Vec::new(),
        };
        let mut script = fixture.command("sh");
        script.args(["-c", FILES]).current_dir(&template);
        let status = sandbox::wait(&mut script.spawn().unwrap(), SET_UP_TIME);
        assert!(status.is_some_and(|status| status.success()), "the files of the test could not be made");
        fixture.renew();
        let root = fixture.root.clone();
        fixture.scan(&root);
        fixture.index = fixture.index();
        fixture
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Files are made anew before the next command.
    pub(crate) fn spoil(&mut self) {
        self.spoiled = true;
    }

    /// Makes the files anew if they were changed.
    pub(crate) fn renew(&mut self) {
        if !std::mem::take(&mut self.spoiled) {
            return;
        }
        let script = "chmod -R u+rwx \"$1\" 2>/dev/null; rm -rf \"$1\" && cp -a \"$2\" \"$1\"";
        let mut copy = self.command("sh");
        copy.args(["-c", script, "sh"])
            .arg(&self.root)
            .arg(self.directory.join("template"))
            .current_dir(&self.directory);
        let status = sandbox::wait(&mut copy.spawn().unwrap(), SET_UP_TIME);
        assert!(status.is_some_and(|status| status.success()), "the files of the test could not be made anew");
    }

    fn scan(&mut self, directory: &Path) {
        self.directories.insert(directory.to_owned());
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let kind = path.symlink_metadata().unwrap().file_type();
            if kind.is_symlink() {
                let target = std::fs::read_link(&path).unwrap();
                self.links.insert(path, target);
            } else if kind.is_dir() {
                self.scan(&path);
            } else {
                self.times.extend(modified(&path).map(|time| (path.clone(), time)));
                self.files.insert(path);
            }
        }
    }

    /// Whether a file was only opened for writing, and is as it was.
    pub(crate) fn is_unchanged(&self, event: &Event) -> bool {
        event.may_change && modified(&event.path).is_none_or(|time| self.times.get(&event.path) == Some(&time))
    }

    /// What git's index holds, without times.
    fn index(&self) -> Vec<u8> {
        let mut git = self.command("git");
        let listing = self.directory.join("index");
        git.args(["ls-files", "-s"]).current_dir(self.work()).stdout(File::create(&listing).unwrap());
        sandbox::wait(&mut git.spawn().unwrap(), SET_UP_TIME);
        contents(&listing)
    }

    /// Whether git's index holds something else than before the command.
    pub(crate) fn index_differs(&self) -> bool {
        self.index() != self.index
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()))
            .env("HOME", self.home())
            .env("TMPDIR", self.root.join("tmp"))
            .env("LC_ALL", "C")
            .env("EDITOR", "true")
            .env("PAGER", "cat")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", self.directory.join("gitconfig"))
            .env("GIT_TERMINAL_PROMPT", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        command
    }

    /// Runs a command under `strace`.
    pub(crate) fn run(&self, text: &str) -> FinishedRun {
        let trace = self.directory.join("trace");
        let mut command = self.command("strace");
        command.args(["-f", "-qq", "-y", "-s", "4096", "-e", "signal=none", "-e", TRACED, "-o"]).arg(&trace);
        command.args(["bash", "-c", text]).current_dir(self.work());
        let ended = sandbox::wait(&mut command.spawn().unwrap(), MAX_COMMAND_TIME);
        let bytes = contents(&trace);
        FinishedRun { trace: String::from_utf8_lossy(&bytes).into_owned(), timed_out: ended.is_none() }
    }
}

fn contents(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_TRACE_BYTES).read_to_end(&mut bytes));
    read.map(|_| bytes).unwrap_or_default()
}

/// The text of a file.
pub(crate) fn text(path: &Path) -> String {
    String::from_utf8_lossy(&contents(path)).into_owned()
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.symlink_metadata().ok()?.modified().ok()
}
