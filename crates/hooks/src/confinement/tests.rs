use std::path::{Path, PathBuf};

use hookwright_process::confinement::PathKind;

use super::path_pattern::{PathPattern, PatternShape};
use super::*;

fn shape(text: &str) -> Result<(bool, PatternShape), String> {
    let place = ConfinementPlace { project: Path::new("/usr"), home: Some(Path::new("/etc")) };
    PathPattern::parse(text, place).map(|pattern| (pattern.is_exception, pattern.shape))
}

#[test]
fn patterns_have_a_shape_that_can_be_enforced_or_not() {
    let tree = |path: &str| PatternShape::Tree(PathBuf::from(path));
    let path = |path: &str| PatternShape::Path(PathBuf::from(path));
    let glob = |text: &str| PatternShape::Glob(text.to_owned());
    let cases = [
        (".", tree("")),
        ("./", tree("")),
        ("./**", tree("")),
        ("**", tree("")),
        ("~", tree("")),
        ("~/", tree("")),
        ("src/**", tree("src")),
        ("./src/", path("src")),
        ("/etc/passwd", path("etc/passwd")),
        ("~/.ssh/**", tree(".ssh")),
        ("a/*/b/**", glob("a/*/b/**")),
        ("**/.env", glob("**/.env")),
        ("*.rs", glob("*.rs")),
        ("a{b,c}", glob("a{b,c}")),
        ("a[b]", glob("a[b]")),
        ("~user", path("~user")),
    ];
    for (text, expected) in cases {
        assert_eq!(shape(text), Ok((false, expected)), "{text}");
    }
    assert_eq!(shape("!src"), Ok((true, path("src"))));
    for wrong in ["", "!", "../x", "a/../../b", "~/../x", "/.."] {
        assert!(shape(wrong).is_err(), "{wrong}");
    }
}

fn project() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(directory.path().join("p/.git/hooks")).unwrap();
    std::fs::create_dir_all(directory.path().join("p/src")).unwrap();
    std::fs::write(directory.path().join("p/.git/config"), "").unwrap();
    directory
}

fn compile_writes(directory: &Path, writes: &[&str]) -> Result<CompiledConfinement, UnenforceableLine> {
    let project = directory.join("p");
    let writes = writes.iter().map(|text| (*text).to_owned()).collect();
    let profile = ConfinementProfile { writes, ..ConfinementProfile::default() };
    compile(&[profile], ConfinementPlace { project: &project, home: Some(directory) })
}

#[test]
fn guard_files_are_protected_in_every_writable_folder() {
    let directory = project();
    let plan = compile_writes(directory.path(), &["**"]).unwrap().plan;
    let root = directory.path().canonicalize().unwrap().join("p");
    assert_eq!(plan.writable, std::slice::from_ref(&root));
    for (name, kind) in
        [(".gemini", PathKind::Directory), (".env", PathKind::File), (".git/hooks", PathKind::Directory)]
    {
        assert!(plan.protected.contains(&(root.join(name), kind)), "{name}");
    }
    // The home directory has settings of its own.
    let plan = compile_writes(directory.path(), &["~/"]).unwrap().plan;
    let home = directory.path().canonicalize().unwrap();
    assert!(plan.protected.contains(&(home.join(".gemini"), PathKind::Directory)));
    assert!(plan.protected.contains(&(root.join(".hookwright"), PathKind::Directory)));
    // Nothing to protect where they can't be written anyway.
    assert_eq!(compile_writes(directory.path(), &["src/**"]).unwrap().plan.protected, []);
}

#[test]
fn writable_guard_files_are_refused() {
    let directory = project();
    for wrong in [".git/hooks/**", ".git/hooks", ".git/config"] {
        let error = compile_writes(directory.path(), &[wrong]).unwrap_err();
        assert!(error.reason.contains("guards are made of it"), "{error}");
    }
    std::fs::create_dir_all(directory.path().join("p/.gemini/tmp")).unwrap();
    assert!(compile_writes(directory.path(), &["**", ".gemini/tmp"]).is_err());
    assert!(compile_writes(directory.path(), &[".gemini"]).is_err());
}

#[test]
fn an_exception_behind_a_link_is_refused() {
    let directory = project();
    std::os::unix::fs::symlink("src", directory.path().join("p/link")).unwrap();
    let error = compile_writes(directory.path(), &["**", "!link/file"]).unwrap_err();
    assert!(error.reason.contains("symbolic link"), "{error}");
    // A link to the folder that is written to is followed.
    let plan = compile_writes(directory.path(), &["link/**"]).unwrap().plan;
    assert_eq!(plan.writable, [directory.path().canonicalize().unwrap().join("p/src")]);
}

#[test]
fn a_profile_survives_json() {
    let profile = ConfinementProfile {
        writes: vec!["src/**".to_owned()],
        network: ConfinementNetwork::Hosts(vec!["example.com".to_owned()]),
        seconds: Some(3),
        ..ConfinementProfile::default()
    };
    let text = serde_json::to_string(&profile).unwrap();
    assert_eq!(serde_json::from_str::<ConfinementProfile>(&text).unwrap(), profile);
    assert!(serde_json::from_str::<ConfinementProfile>(r#"{"write": []}"#).is_err(), "an unknown key is no empty list");
}
