//! Processes on Unix: real pipes, a session and a group of their own, signals to the whole group.

mod directory;
pub(crate) mod ending;
mod feed;
mod group;
mod groups;
mod launch;
mod leader;
pub(crate) mod limits;
mod members;
pub(crate) mod oneself;
mod process;
mod stream;
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
mod sys;

pub use directory::Directory;
pub use groups::Groups;
pub use process::Process;
pub(crate) use process::{Hearing, Speaking, converse};
