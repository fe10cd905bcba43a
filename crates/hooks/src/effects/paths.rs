//! Paths as effects tell them: whole, without `.` and `..`, as they are written and as what their links lead to; from the
//! project on where they are in it.
//!
//! The disk is looked at now. Where the caller resolves the paths of its tools itself (a [`PathResolver`]), its answer counts,
//! so that what is judged is what the tool opens; what else changes before the call runs is not seen. A path that is deleted is not followed at its
//! end: the link goes, not what it leads to.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::{Aspect, Depth, Place};
use crate::shell::normalized;

/// Links that lead on are followed so often, as systems do.
const MOST_LINKS: usize = 40;

/// A path that something happens to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// How it is told: from the project on, or whole; with a slash behind it if it means everything in it too.
    pub shown: String,
    /// The whole path.
    pub path: PathBuf,
    /// Whether it means everything in it too.
    pub deep: bool,
}

impl Serialize for Touched {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.shown)
    }
}

type ResolveFn = dyn Fn(&Path) -> Option<PathBuf> + Send + Sync;

/// Says where the paths of one tool call lead. A caller that opens files by the same answers gives it to the engine, so that
/// a link that changes between the judgement and the act changes neither.
#[derive(Clone, Default)]
pub struct PathResolver(Option<Arc<ResolveFn>>);

impl PathResolver {
    /// A resolver for absolute paths; `None` leaves a path to the engine.
    pub fn new(resolve: impl Fn(&Path) -> Option<PathBuf> + Send + Sync + 'static) -> Self {
        PathResolver(Some(Arc::new(resolve)))
    }

    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        self.0.as_ref()?(path)
    }
}

impl fmt::Debug for PathResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PathResolver").field(&self.0.is_some()).finish()
    }
}

impl PartialEq for PathResolver {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Eq for PathResolver {}

/// Tells paths.
pub(super) struct Paths<'p> {
    project: &'p Path,
    real_project: PathBuf,
    resolver: &'p PathResolver,
    /// The directory that a command is started in, as it is written and as it is resolved.
    start: Option<(PathBuf, PathBuf)>,
}

impl<'p> Paths<'p> {
    pub(super) fn new(place: &Place<'p>, resolver: &'p PathResolver) -> Self {
        Paths { project: place.project, real_project: real(place.project), resolver, start: None }
    }

    /// A command's own paths are resolved when it runs; only the directory that it starts in is known before.
    pub(super) fn start_in(&mut self, directory: &Path) {
        self.start = self.resolver.resolve(directory).map(|real| (directory.to_owned(), real));
    }

    /// A path as it is written and, if that is another, as what it leads to.
    pub(super) fn touched(&self, path: &Path, depth: Depth, aspect: Aspect) -> Vec<Touched> {
        let leads_to = match (aspect, path.parent(), path.file_name()) {
            (Aspect::Deletes, Some(parent), Some(name)) => self.real(parent).join(name),
            _ => self.real(path),
        };
        let normal = normalized(path);
        let written = self.told(&normal, depth);
        if leads_to.as_os_str() == normal.as_os_str() {
            return vec![written];
        }
        let real = self.told(&leads_to, depth);
        if written.shown == real.shown { vec![written] } else { vec![written, real] }
    }

    /// Where the project leads to is known already.
    fn real(&self, path: &Path) -> PathBuf {
        if let Some((written, real)) = &self.start {
            if let Ok(rest) = path.strip_prefix(written) {
                return follow(real.clone(), rest, 0);
            }
        } else if let Some(real) = self.resolver.resolve(path) {
            return real;
        }
        match path.strip_prefix(self.project) {
            Ok(rest) => follow(self.real_project.clone(), rest, 0),
            Err(_) => real(path),
        }
    }

    fn told(&self, path: &Path, depth: Depth) -> Touched {
        let inside = path.strip_prefix(self.project).or_else(|_| path.strip_prefix(&self.real_project));
        let whole = inside.as_ref().map_or_else(|_| path.to_owned(), |rest| self.project.join(rest));
        let mut shown = match inside {
            Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
            Ok(rest) => rest.to_string_lossy().into_owned(),
            Err(_) => path.to_string_lossy().into_owned(),
        };
        if depth == Depth::All && !shown.ends_with('/') {
            shown.push('/');
        }
        Touched { shown, path: normalized(&whole), deep: depth == Depth::All }
    }
}

/// Where a path leads to, link by link; what is not there yet is where it would be.
fn real(path: &Path) -> PathBuf {
    follow(PathBuf::new(), path, 0)
}

/// Goes on from a place that is without links; so many have led there.
fn follow(mut done: PathBuf, path: &Path, links: usize) -> PathBuf {
    let mut parts = path.components();
    while let Some(part) = parts.next() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                done.pop();
            }
            Component::Normal(name) => {
                done.push(name);
                if links < MOST_LINKS
                    && let Ok(target) = std::fs::read_link(&done)
                {
                    done.pop();
                    return follow(done, &target.join(parts.as_path()), links + 1);
                }
            }
            root => done.push(root),
        }
    }
    done
}

/// Whether nothing comes of reading or writing it.
pub(super) fn is_device(path: &Path) -> bool {
    const NAMES: [&str; 9] = ["null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty"];
    let Ok(rest) = normalized(path).strip_prefix("/dev").map(Path::to_owned) else { return false };
    let rest = rest.to_string_lossy();
    let numbered = rest.strip_prefix("fd/").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    NAMES.contains(&rest.as_ref()) || numbered
}

/// The host of `/dev/tcp/HOST/PORT`, which some shells talk to.
pub(super) fn network_device(path: &Path) -> Option<String> {
    let rest = ["/dev/tcp", "/dev/udp"].iter().find_map(|device| path.strip_prefix(device).ok())?;
    Some(rest.components().next()?.as_os_str().to_string_lossy().into_owned())
}

/// Whether it is seen differently by every process: `/proc/self/cwd/x`.
pub(super) fn is_of_a_process(path: &Path) -> bool {
    normalized(path).strip_prefix("/proc").is_ok_and(|rest| {
        let first = rest.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
        first.is_some_and(|name| name.ends_with("self") || name.bytes().all(|byte| byte.is_ascii_digit()))
    })
}
