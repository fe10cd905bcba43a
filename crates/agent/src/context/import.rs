//! Expands `@path` in context files: the text of the file replaces the mention,
//! and its own imports are expanded in turn.
//!
//! Each file is imported once, within what its owner may read, up to a maximum depth.

use std::path::{Path, PathBuf};

use super::memory::{ContextFileOwner, ContextReader};
use super::{markdown_code, mention};

/// The maximum depth of nested imports.
const MAX_IMPORT_DEPTH: usize = 5;
/// The number of mentions after which the rest of a text is not searched.
const MAX_IMPORT_MENTIONS: usize = 5_000;

/// Returns `text` with its imports expanded. `stack` has the files being read,
/// outermost first; `text` is from the last.
pub(super) fn expand_imports(
    reader: &mut ContextReader<'_>,
    text: &str,
    owner: &ContextFileOwner,
    stack: &mut Vec<PathBuf>,
) -> String {
    let mut expanded = String::with_capacity(text.len());
    let (mut done, mut from) = (0, 0);
    let mut code = markdown_code::code_ranges(text).into_iter().peekable();
    for _ in 0..MAX_IMPORT_MENTIONS {
        let Some(mention) = mention::next_mention(text, from) else { break };
        from = mention.at + 1;
        while code.next_if(|range| range.end <= mention.at).is_some() {}
        if code.peek().is_some_and(|range| range.start <= mention.at) {
            continue;
        }
        if let Some((end, import)) = import_mention(reader, &mention, owner, stack) {
            expanded.push_str(&text[done..mention.at]);
            expanded.push_str(&import);
            (done, from) = (end, end);
        }
    }
    expanded.push_str(&text[done..]);
    expanded
}

/// Returns the end of a mention and the text that replaces it; `None` if the mention stays as it is.
fn import_mention(
    reader: &mut ContextReader<'_>,
    mention: &mention::Mention,
    owner: &ContextFileOwner,
    stack: &mut Vec<PathBuf>,
) -> Option<(usize, String)> {
    let importer = stack.last()?.clone();
    let directory = importer.parent()?.to_owned();
    let found = mention.readings.iter().find_map(|reading| {
        let real = locate_import(reader, &directory, &reading.path)?;
        Some((reading, real))
    });
    let Some((reading, real)) = found else {
        let written = &mention.readings.last()?.path;
        if looks_like_a_path(written) {
            reader.warn(format!("{} imports @{written}, which does not exist", reader.display_path(&importer)));
        }
        return None;
    };
    let problem = if let Some(why) = reader.import_policy.refusal_reason(owner, &real) {
        why
    } else if stack.contains(&real) {
        "which imports it in turn"
    } else if stack.len() > MAX_IMPORT_DEPTH {
        "which is more than five imports deep"
    } else if reader.is_already_read(&real) {
        // The file's text is already in the memory.
        return None;
    } else {
        let text = reader.read_text(&real)?;
        reader.memory.imported.push(real.clone());
        let name = reader.display_path(&real);
        stack.push(real);
        let text = expand_imports(reader, &text, owner, stack);
        stack.pop();
        return Some((reading.end, format!("[import of {name}]\n{}\n[end of import]", text.trim())));
    };
    reader.warn(format!("{} imports @{}, {problem}: not read", reader.display_path(&importer), reading.path));
    None
}

/// Returns the file that a path leads to, if it exists.
fn locate_import(reader: &ContextReader<'_>, directory: &Path, path: &str) -> Option<PathBuf> {
    let path = match path.strip_prefix("~/") {
        Some(below_home) => reader.home.join(below_home),
        None => directory.join(path),
    };
    path.canonicalize().ok().filter(|real| real.is_file())
}

/// Returns whether a mention is clearly a path and worth a warning: handles,
/// packages and annotations begin with `@` too.
fn looks_like_a_path(written: &str) -> bool {
    ["./", "../", "~/"].iter().any(|start| written.starts_with(start)) || written.ends_with(".md")
}

#[cfg(test)]
mod tests {
    use super::super::{ContextMemory, MemoryOptions, load_memory};
    use std::fs;
    use std::path::Path;

    /// Loads the context files of `home/p` and `home/.gemini` in `home/p`.
    fn load(files: &[(&str, &str)]) -> (String, ContextMemory) {
        load_with(files, |_| {})
    }

    /// Loads the same, with further files in `home`.
    fn load_with(files: &[(&str, &str)], more: impl FnOnce(&Path)) -> (String, ContextMemory) {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap().join("home");
        for (path, text) in [("p/.keep", ""), (".gemini/.keep", "")].iter().chain(files) {
            let path = home.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text.replace("$HOME", home.to_str().unwrap())).unwrap();
        }
        more(&home);
        let memory = load_memory(&MemoryOptions {
            home: &home,
            home_gemini_dir: &home.join(".gemini"),
            project_root: &home.join("p"),
            cwd: &home.join("p"),
            file_names: &["GEMINI.md".to_owned()],
            outside_file_names: &["GEMINI.md".to_owned()],
            trusted: true,
            extension_files: Vec::new(),
            filter: hookwright_tools::FileFilter::default(),
        });
        let body = memory.text.lines().filter(|line| !line.starts_with("===")).collect::<Vec<_>>().join("\n");
        (body, memory)
    }

    #[test]
    fn imports_replace_their_mention() {
        let (text, memory) = load(&[
            ("p/GEMINI.md", "Style: @docs/style.md.\nAlso @./docs/b.md"),
            ("p/docs/style.md", "Tabs.\n@../c.md\n"),
            ("p/docs/b.md", "B"),
            ("p/c.md", "C"),
        ]);
        let expected = "Style: [import of docs/style.md]\nTabs.\n[import of c.md]\nC\n[end of import]\n[end of import].\n\
                        Also [import of docs/b.md]\nB\n[end of import]";
        assert_eq!(text, expected);
        assert_eq!((memory.files.len(), memory.imported.len()), (1, 3));
        assert!(memory.warnings.is_empty());
    }

    #[test]
    fn code_emails_and_handles_are_not_imports() {
        let written = "`@a.md` and\n```\n@a.md\n```\nme@a.md \\@a.md @alice @types/node";
        let (text, memory) = load(&[("p/GEMINI.md", written), ("p/a.md", "A")]);
        assert_eq!(text, written);
        assert!(memory.warnings.is_empty() && memory.imported.is_empty());
    }

    #[test]
    fn import_cycles_and_depth_are_reported() {
        let (text, memory) = load(&[("p/GEMINI.md", "@a.md"), ("p/a.md", "A @GEMINI.md")]);
        assert_eq!(text, "[import of a.md]\nA @GEMINI.md\n[end of import]");
        assert_eq!(memory.warnings, ["a.md imports @GEMINI.md, which imports it in turn: not read"]);

        let chain: Vec<(String, String)> = (1..=6).map(|n| (format!("p/{n}.md"), format!("@{}.md", n + 1))).collect();
        let mut files: Vec<(&str, &str)> = chain.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        files.push(("p/GEMINI.md", "@1.md"));
        let (text, memory) = load(&files);
        assert_eq!(text.matches("[import of").count(), 5);
        assert_eq!(memory.warnings, ["5.md imports @6.md, which is more than five imports deep: not read"]);
    }

    #[test]
    fn a_file_is_imported_once() {
        let (text, memory) = load(&[("p/GEMINI.md", "@a.md @b.md @a.md"), ("p/a.md", "A"), ("p/b.md", "@a.md B")]);
        assert_eq!(text.matches('A').count(), 1);
        assert!(memory.warnings.is_empty());
    }

    #[test]
    fn project_imports_only_its_own_notes() {
        let (text, memory) = load(&[
            (
                "p/GEMINI.md",
                "@../a.md @$HOME/a.md @~/.gemini/b.md @key.pem @.env @d/.gemini/c.md @d/.env.md @notes.txt",
            ),
            ("a.md", "first secret"),
            (".gemini/b.md", "second secret"),
            ("p/key.pem", "third secret"),
            ("p/.env", "fourth secret"),
            ("p/d/.gemini/c.md", "fifth secret"),
            ("p/d/.env.md", "sixth secret"),
            ("p/notes.txt", "notes"),
        ]);
        assert!(text.ends_with("[import of notes.txt]\nnotes\n[end of import]") && !text.contains("secret"), "{text}");
        let why: Vec<_> = memory.warnings.iter().map(|warning| warning.rsplit(", which is ").next().unwrap()).collect();
        let (outside, protected) = ("outside of the project: not read", "protected: not read");
        let ending = "neither .md nor .txt: not read";
        assert_eq!(why, [outside, outside, outside, ending, protected, protected, protected]);
    }

    #[test]
    fn notes_in_the_settings_dir_are_imported_but_not_settings_or_secrets() {
        let secrets = "@.gemini/settings.json @.gemini/.env @.gemini/.env.md @.gemini/token.txt @.gemini/.git/x.md";
        let (text, memory) = load(&[
            ("p/GEMINI.md", &format!("@.gemini/style.md @./.gemini/notes/deep.md {secrets}")),
            ("p/.gemini/style.md", "Tabs. @notes/deep.md"),
            ("p/.gemini/notes/deep.md", "Deep."),
            ("p/.gemini/settings.json", "first secret"),
            ("p/.gemini/.env", "second secret"),
            ("p/.gemini/.env.md", "third secret"),
            ("p/.gemini/token.txt", "fourth secret"),
            ("p/.gemini/.git/x.md", "fifth secret"),
        ]);
        assert!(
            text.contains("[import of .gemini/style.md]\nTabs. [import of .gemini/notes/deep.md]\nDeep."),
            "{text}"
        );
        assert!(!text.contains("secret"), "{text}");
        assert_eq!(memory.warnings.len(), 5, "{:?}", memory.warnings);
        assert!(memory.warnings.iter().all(|warning| warning.ends_with("which is protected: not read")), "{memory:?}");
        assert_eq!(memory.imported.len(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn symlinked_note_in_the_settings_dir_is_not_imported() {
        let link = |place: &Path| {
            fs::create_dir_all(place.join("p/.gemini")).unwrap();
            std::os::unix::fs::symlink("settings.json", place.join("p/.gemini/a.md")).unwrap();
            std::os::unix::fs::symlink("../../out.md", place.join("p/.gemini/b.md")).unwrap();
        };
        let files = [
            ("p/GEMINI.md", "@.gemini/a.md @.gemini/b.md"),
            ("p/.gemini/settings.json", "first secret"),
            ("out.md", "second secret"),
        ];
        let (text, memory) = load_with(&files, link);
        assert!(!text.contains("secret"), "{text}");
        assert_eq!(memory.warnings.len(), 2, "{:?}", memory.warnings);
    }

    #[test]
    fn ignored_files_are_not_imported() {
        let (text, memory) = load(&[
            ("p/.git/HEAD", ""),
            ("p/GEMINI.md", "@a.txt @vault/b.md @c.md"),
            ("p/.gitignore", "a.txt"),
            ("p/.geminiignore", "vault/"),
            ("p/a.txt", "first secret"),
            ("p/vault/b.md", "second secret"),
            ("p/c.md", "C @a.txt"),
        ]);
        assert!(text.contains("C @a.txt") && !text.contains("secret"), "{text}");
        assert_eq!(memory.warnings[0], "GEMINI.md imports @a.txt, which is ignored: not read");
        assert_eq!(memory.warnings.len(), 3);
    }

    #[test]
    fn user_memory_imports_only_user_notes() {
        let written = "@~/.ssh/id_rsa @~/a.md @oauth_creds.json @notes.md";
        let (text, memory) = load(&[
            (".gemini/GEMINI.md", written),
            (".gemini/oauth_creds.json", "first secret"),
            (".ssh/id_rsa", "second secret"),
            ("a.md", "third secret"),
            (".gemini/notes.md", "my notes @../a.md"),
        ]);
        assert!(text.contains("my notes @../a.md") && !text.contains("secret"), "{text}");
        assert_eq!(memory.warnings.len(), 4, "{:?}", memory.warnings);
        assert_eq!(
            memory.warnings[0],
            "~/.gemini/GEMINI.md imports @~/.ssh/id_rsa, which is not below ~/.gemini: not read"
        );
    }

    #[cfg(unix)]
    #[test]
    fn symlinks_reach_no_further_than_paths() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("id_rsa"), "secret").unwrap();
        std::os::unix::fs::symlink(dir.path().join("id_rsa"), dir.path().join("key.md")).unwrap();
        let written = format!("@{}", dir.path().join("key.md").display());
        let (text, memory) = load(&[("p/GEMINI.md", &written), (".gemini/GEMINI.md", &written)]);
        assert!(!text.contains("secret"));
        assert_eq!(memory.warnings.len(), 2);
    }

    /// If a folder becomes a link after the import was checked, nothing behind the link is read.
    #[cfg(unix)]
    #[test]
    fn import_is_read_at_the_path_that_was_checked() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().canonicalize().unwrap().join("p");
        for (path, text) in [("d/a.md", "harmless"), ("../out/a.md", "secret"), ("GEMINI.md", "@d/a.md")] {
            let path = project.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink("../out", project.join("link")).unwrap();
        let stop = AtomicBool::new(false);
        let texts = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    for (from, to) in [("d", "plain"), ("link", "d"), ("d", "link"), ("plain", "d")] {
                        fs::rename(project.join(from), project.join(to)).unwrap();
                    }
                }
            });
            let load = |_| {
                load_memory(&MemoryOptions {
                    home: dir.path(),
                    home_gemini_dir: &dir.path().join(".gemini"),
                    project_root: &project,
                    cwd: &project,
                    file_names: &["GEMINI.md".to_owned()],
                    outside_file_names: &["GEMINI.md".to_owned()],
                    trusted: true,
                    extension_files: Vec::new(),
                    filter: hookwright_tools::FileFilter::default(),
                })
                .text
            };
            let texts: Vec<String> = (0..300).map(load).collect();
            stop.store(true, Ordering::Relaxed);
            texts
        });
        assert_eq!(texts.iter().filter(|text| text.contains("secret")).count(), 0);
    }

    #[test]
    fn missing_import_warns_only_for_clear_paths() {
        let (text, memory) = load(&[("p/GEMINI.md", "@gone.md, @./gone @p")]);
        assert_eq!(text, "@gone.md, @./gone @p");
        let expected =
            ["GEMINI.md imports @gone.md, which does not exist", "GEMINI.md imports @./gone, which does not exist"];
        assert_eq!(memory.warnings, expected);
    }
}
