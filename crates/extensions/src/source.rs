//! Parses what the user installs from: a folder, an archive or a git address. The file system is read only to see
//! whether a path exists.

use std::path::{Path, PathBuf};

use hookwright_settings::{ExtensionOrigin, OriginKind};

use crate::error::ExtensionError;

/// Where an extension is fetched from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtensionSource {
    /// A folder on this disk.
    Folder(PathBuf),
    /// An archive on this disk.
    Archive(PathBuf),
    /// An archive to download.
    RemoteArchive(String),
    Git {
        url: String,
        /// The branch, tag or commit; the repository's default branch if `None`.
        reference: Option<String>,
    },
}

/// Prefixes of git addresses. `ext::` and other remote helpers, which run a command from the address, are not among
/// them.
const GIT_URL_SCHEMES: [&str; 5] = ["https://", "http://", "ssh://", "git://", "file://"];

/// Shorthands that Gemini CLI's users write, with the addresses that they stand for.
const HOST_SHORTHANDS: [(&str, &str); 2] = [("github:", "https://github.com/"), ("gitlab:", "https://gitlab.com/")];

impl ExtensionSource {
    /// Parses a source as typed by the user; paths are relative to `cwd`.
    ///
    /// # Errors
    /// If it is none of these, or would be an option or a remote helper to git.
    pub fn parse(text: &str, reference: Option<&str>, cwd: &Path) -> Result<ExtensionSource, ExtensionError> {
        let wrong =
            |why: &str| ExtensionError::Source { source_text: text.escape_debug().to_string(), why: why.to_owned() };
        if text.trim().is_empty() {
            return Err(wrong("it is empty"));
        }
        if text.chars().any(char::is_control) {
            return Err(wrong("it has control characters"));
        }
        if let Some(reference) = reference
            && (reference.is_empty()
                || reference.starts_with('-')
                || reference.contains([':', ' ', '\\', '^', '~', '*', '?', '[']))
        {
            return Err(wrong(&format!(
                "`{}` is not a valid name of a branch, tag or commit",
                reference.escape_debug()
            )));
        }
        let long =
            HOST_SHORTHANDS.iter().find_map(|(short, long)| Some(format!("{long}{}", text.strip_prefix(short)?)));
        let address = long.as_deref().unwrap_or(text);
        if GIT_URL_SCHEMES.iter().any(|scheme| address.starts_with(scheme)) || is_scp_address(address) {
            return ExtensionSource::parse_address(address, reference).map_err(|why| wrong(&why));
        }
        let path = cwd.join(text);
        let source = match path.metadata() {
            Ok(found) if found.is_dir() => ExtensionSource::Folder(path),
            Ok(found) if found.is_file() && is_archive(text) => ExtensionSource::Archive(path),
            Ok(_) => return Err(wrong("it is neither a folder nor an archive")),
            Err(_) if text.starts_with('-') => return Err(wrong("it looks like an option")),
            Err(_) if text.contains("::") => return Err(wrong("git would run a program for such an address")),
            Err(_) => return Err(wrong("there is no such folder or archive, and it is not an address")),
        };
        match reference {
            Some(_) => Err(wrong("`--ref` works only with git repositories")),
            None => Ok(source),
        }
    }

    fn parse_address(url: &str, reference: Option<&str>) -> Result<ExtensionSource, String> {
        let host = url.split_once("://").map_or(url, |(_, rest)| rest);
        // ssh would take a host that begins with a dash as an option.
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        if host.starts_with('-') || url.split_once('@').is_some_and(|(user, _)| user.starts_with('-')) {
            return Err("git or ssh would take a part of it as an option".to_owned());
        }
        let is_web = url.starts_with("https://") || url.starts_with("http://");
        let path = url.split(['?', '#']).next().unwrap_or(url);
        if is_web && is_archive(path) {
            return match reference {
                Some(_) => Err("`--ref` works only with git repositories".to_owned()),
                None => Ok(ExtensionSource::RemoteArchive(url.to_owned())),
            };
        }
        Ok(ExtensionSource::Git { url: url.to_owned(), reference: reference.map(str::to_owned) })
    }

    /// Returns the source of an installed extension, so that it can be fetched again.
    pub fn from_origin(origin: &ExtensionOrigin, cwd: &Path) -> Result<ExtensionSource, ExtensionError> {
        match origin.kind {
            OriginKind::Release => ExtensionSource::parse(&origin.source, None, cwd),
            OriginKind::Git | OriginKind::Local | OriginKind::Archive | OriginKind::Link => {
                ExtensionSource::parse(&origin.source, origin.reference.as_deref(), cwd)
            }
        }
    }

    /// Returns the origin to record for an installed extension.
    pub fn to_origin(&self, commit: Option<String>, auto_update: bool) -> ExtensionOrigin {
        let (source, kind, reference) = match self {
            ExtensionSource::Folder(path) => (path.to_string_lossy().into_owned(), OriginKind::Local, None),
            ExtensionSource::Archive(path) => (path.to_string_lossy().into_owned(), OriginKind::Archive, None),
            ExtensionSource::RemoteArchive(url) => (url.clone(), OriginKind::Archive, None),
            ExtensionSource::Git { url, reference } => (url.clone(), OriginKind::Git, reference.clone()),
        };
        ExtensionOrigin { source, kind, reference, commit, auto_update }
    }
}

impl std::fmt::Display for ExtensionSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ExtensionSource::Folder(path) | ExtensionSource::Archive(path) => write!(f, "{}", path.display()),
            ExtensionSource::RemoteArchive(url) | ExtensionSource::Git { url, reference: None } => f.write_str(url),
            ExtensionSource::Git { url, reference: Some(reference) } => write!(f, "{url} at {reference}"),
        }
    }
}

pub(crate) fn is_archive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".tar.gz", ".tgz", ".zip"].iter().any(|end| name.ends_with(end))
}

/// Whether a text is an scp-like address, `git@host:path`; remote helpers such as `a@b::c` are not.
fn is_scp_address(text: &str) -> bool {
    let Some((user, rest)) = text.split_once('@') else { return false };
    let plain =
        |text: &str| !text.is_empty() && text.chars().all(|char| char.is_ascii_alphanumeric() || "._-".contains(char));
    rest.split_once(':').is_some_and(|(host, path)| plain(host) && !path.is_empty() && !path.starts_with(':'))
        && plain(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("my ext")).unwrap();
        for name in ["a.tar.gz", "b.ZIP", "c.txt"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let parse = |text: &str| ExtensionSource::parse(text, None, folder.path());
        assert_eq!(parse("my ext").unwrap(), ExtensionSource::Folder(folder.path().join("my ext")));
        assert_eq!(parse("a.tar.gz").unwrap(), ExtensionSource::Archive(folder.path().join("a.tar.gz")));
        assert_eq!(parse("b.ZIP").unwrap(), ExtensionSource::Archive(folder.path().join("b.ZIP")));
        let git = |url: &str| ExtensionSource::Git { url: url.to_owned(), reference: None };
        for url in ["https://h/o/r", "ssh://git@h/o/r.git", "git@h.org:o/r", "file:///srv/r", "git://h/r"] {
            assert_eq!(parse(url).unwrap(), git(url));
        }
        assert_eq!(parse("github:o/r").unwrap(), git("https://github.com/o/r"));
        assert_eq!(
            parse("https://h/x.tgz?raw=1").unwrap(),
            ExtensionSource::RemoteArchive("https://h/x.tgz?raw=1".to_owned())
        );
        let tagged = ExtensionSource::parse("https://h/r", Some("v1/x"), folder.path()).unwrap();
        assert_eq!(tagged, ExtensionSource::Git { url: "https://h/r".to_owned(), reference: Some("v1/x".to_owned()) });
    }

    #[test]
    fn options_and_remote_helpers_of_git_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("c.txt"), "").unwrap();
        let refused = [
            "",
            " ",
            "--upload-pack=touch /tmp/x",
            "-u",
            "ext::sh -c touch% /tmp/x",
            "fd::17",
            "c.txt",
            "nowhere",
            "owner/repo",
            "ssh://-oProxyCommand=x/r",
            "git@-oProxyCommand=x:r",
            "-x@h:r",
            "ssh://git@-oX/r",
            "https://h/a\nb",
            "a@b::c",
            "transport::address",
            "ftp://h/r",
        ];
        for text in refused {
            assert!(ExtensionSource::parse(text, None, folder.path()).is_err(), "{text}");
        }
        for reference in ["--upload-pack=x", "-x", "", "a:b", "a b", "HEAD~1"] {
            assert!(ExtensionSource::parse("https://h/r", Some(reference), folder.path()).is_err(), "{reference}");
        }
        assert!(ExtensionSource::parse("https://h/r.zip", Some("v1"), folder.path()).is_err());
    }
}
