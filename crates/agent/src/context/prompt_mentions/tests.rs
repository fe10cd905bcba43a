//! Tests of the mentions in a prompt, and of what is read for them.

use super::super::prompt_reader::UnhookedReader;
use super::*;
use hookwright_tools::ToolContext;
use std::fs;
use tokio_util::sync::CancellationToken;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0";

fn workspace_fixture(files: &[(&str, &[u8])]) -> (tempfile::TempDir, ToolContext) {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("w")).unwrap();
    for (path, bytes) in files {
        let path = dir.path().join("w").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let ctx = ToolContext::new(Workspace::new(dir.path().join("w"), []).unwrap());
    (dir, ctx)
}

async fn expand_prompt(prompt: &str, ctx: &ToolContext) -> ExpandedPrompt {
    expand_until(prompt, ctx, &CancellationToken::new()).await.unwrap()
}

async fn expand_until(prompt: &str, ctx: &ToolContext, cancel: &CancellationToken) -> Result<ExpandedPrompt, TurnEnd> {
    let reader = UnhookedReader(ToolContext { cancel: cancel.clone(), ..ctx.clone() });
    PromptMentions::find(prompt, &ctx.workspace, &McpServerSet::none(), |name| name == "scout")
        .read(prompt, &reader)
        .await
}

fn texts(expanded: &ExpandedPrompt) -> Vec<&str> {
    expanded.parts.iter().filter_map(Part::as_text).collect()
}

#[tokio::test]
async fn files_are_appended_to_the_prompt() {
    let (_dir, ctx) = workspace_fixture(&[("a.txt", b"A"), ("my notes.md", b"N"), ("src/b.rs", b"B")]);
    let prompt = r#"compare (@a.txt), @my\ notes.md and @"my notes.md" with @src/b.rs:3."#;
    let expanded = expand_prompt(prompt, &ctx).await;
    assert_eq!(expanded.read_files, ["a.txt", "my notes.md", "src/b.rs"]);
    assert_eq!(texts(&expanded)[0], prompt);
    assert_eq!(texts(&expanded)[1], "\n<<< begin of file @a.txt >>>\nA\n<<< end of file @a.txt >>>\n");
    assert_eq!(expanded.parts.len(), 4);
    assert!(expanded.warnings.is_empty());
}

#[tokio::test]
async fn agent_name_is_a_delegation_hint_not_a_path() {
    let (_dir, ctx) = workspace_fixture(&[("scout", b"a file"), ("scouts", b"others")]);
    for prompt in ["@scout, look around", "look around (@scout) @scout"] {
        let expanded = expand_prompt(prompt, &ctx).await;
        assert_eq!(texts(&expanded)[0], prompt);
        assert!(texts(&expanded)[1].contains("done by agent scout: delegate it with delegate_to_agent"));
        assert!(expanded.parts.len() == 2 && expanded.read_files.is_empty(), "{prompt}");
    }
    assert_eq!(expand_prompt("@scouts", &ctx).await.read_files, ["scouts"]);
}

#[tokio::test]
async fn unresolved_mention_stays_in_the_text() {
    let (_dir, ctx) = workspace_fixture(&[("a.txt", b"A")]);
    for prompt in ["", "ask @alice", "me@a.txt", r"\@a.txt", "@a", "@/components/x", "@\u{1}"] {
        let expanded = expand_prompt(prompt, &ctx).await;
        assert_eq!(texts(&expanded), [prompt]);
        assert!(expanded.warnings.is_empty() && expanded.read_files.is_empty(), "{prompt}");
    }
}

#[tokio::test]
async fn unresolved_path_like_mention_warns() {
    let (_dir, ctx) = workspace_fixture(&[("a.txt", b"A"), ("d/b.txt", b"12"), ("d/c.txt", b"345")]);
    let expanded = expand_prompt("see @nope.txt, (@src/gone.rs) @a.txt @d and @nope.txt.", &ctx).await;
    assert_eq!(expanded.warnings, ["@nope.txt, @src/gone.rs are not files, so nothing is attached for them"]);
    assert_eq!(expanded.notes[0], "attached @a.txt (1 byte)");
    assert!(expanded.notes[1].starts_with("attached @d (2 files, "), "{:?}", expanded.notes);
    for prompt in ["`@nope.txt`", "@Component({", "@app.route(x)", "@types/node", "@1.", "@é.é.é!", "@.env"] {
        let expanded = expand_prompt(prompt, &ctx).await;
        assert_eq!(expanded.warnings.len(), usize::from(prompt.contains('é')), "{prompt}");
    }
    let many: String = (0..9).map(|number| format!("@f{number}.rs ")).collect();
    assert!(
        expand_prompt(&many, &ctx).await.warnings[0].starts_with("@f0.rs, @f1.rs, @f2.rs and 6 more are not files")
    );
}

#[tokio::test]
async fn directories_respect_ignore_files() {
    let (_dir, ctx) = workspace_fixture(&[
        (".git/HEAD", b""),
        (".gitignore", b"*.log\nvault/\n"),
        ("d/a.txt", b"A"),
        ("d/x.log", b"hidden one"),
        ("d/bin.dat", b"\0\0\0"),
        ("vault/v", b"hidden two"),
    ]);
    let expanded = expand_prompt("@d @vault @d/x.log", &ctx).await;
    assert_eq!(expanded.read_files, ["d/a.txt"]);
    let all = texts(&expanded).concat();
    assert!(all.contains("<<< begin of directory @d >>>") && all.contains("\nA\n") && !all.contains("End of content"));
    assert!(!all.contains("hidden"));
    assert_eq!(expanded.warnings.len(), 3, "{:?}", expanded.warnings);
    assert_eq!(expanded.warnings[0], "@d: left out d/bin.dat (binary file)");
    assert_eq!(expanded.warnings[1], "@vault is not read: it contains no file that may be read");
}

#[tokio::test]
async fn cancelling_stops_file_reading() {
    let (_dir, ctx) = workspace_fixture(&[("d/a.txt", b"A"), ("b.txt", b"B")]);
    let cancel = CancellationToken::new();
    assert!(expand_until("@d @b.txt", &ctx, &cancel).await.is_ok());
    cancel.cancel();
    for prompt in ["@d", "@b.txt", "@d @b.txt"] {
        assert_eq!(expand_until(prompt, &ctx, &cancel).await, Err(TurnEnd::Cancelled), "{prompt}");
    }
}

#[tokio::test]
async fn images_are_attached_as_media() {
    let (_dir, ctx) = workspace_fixture(&[("p.png", PNG)]);
    let expanded = expand_prompt("what is @p.png?", &ctx).await;
    assert_eq!(expanded.parts.len(), 4);
    let hookwright_model::PartKind::InlineData(blob) = &expanded.parts[2].kind else { panic!("no media") };
    assert_eq!(blob.mime_type, "image/png");
    assert!(expanded.warnings.is_empty());
}

#[tokio::test]
async fn invalid_or_oversized_images_warn() {
    let (_dir, ctx) = workspace_fixture(&[("text.png", b"words"), ("bin.png", b"\0\0")]);
    let big = [PNG, &vec![1; 14 << 20]].concat();
    fs::write(ctx.workspace.directory().join("big.png"), big).unwrap();
    let expanded = expand_prompt("@text.png @bin.png @big.png", &ctx).await;
    assert_eq!(
        expanded.warnings[..2],
        [
            "@text.png: its name is that of an image, but it is none; it is read as text",
            "@bin.png: Skipped binary file: bin.png"
        ]
    );
    assert!(expanded.warnings[2].starts_with("@big.png is not read: this image is too large to be sent: 14.0 MB"));
    assert!(!expanded.parts.iter().any(|part| part.as_text().is_none()));
}

#[tokio::test]
async fn unreadable_files_warn() {
    let (dir, ctx) = workspace_fixture(&[("bin", b"\0\x01")]);
    fs::write(dir.path().join("secret"), "hidden").unwrap();
    let expanded = expand_prompt("@../secret and @bin", &ctx).await;
    assert!(!texts(&expanded).concat().contains("hidden"));
    assert_eq!(expanded.warnings.len(), 2, "{:?}", expanded.warnings);
    assert!(expanded.warnings[0].starts_with("@../secret is not read: Path not in workspace"));
    assert_eq!(expanded.warnings[1], "@bin: Skipped binary file: bin");
}

#[cfg(unix)]
#[tokio::test]
async fn pipes_do_not_hang_and_symlinks_do_not_escape() {
    let (dir, ctx) = workspace_fixture(&[]);
    fs::write(dir.path().join("secret"), "hidden").unwrap();
    std::os::unix::fs::symlink("../secret", dir.path().join("w/link")).unwrap();
    std::os::unix::fs::symlink("loop", dir.path().join("w/loop")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("w/sock")).unwrap();
    let expanded = expand_prompt("@link @loop @sock", &ctx).await;
    assert_eq!((expanded.parts.len(), expanded.warnings.len()), (1, 3), "{:?}", expanded.warnings);
}
