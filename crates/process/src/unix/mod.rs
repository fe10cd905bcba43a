//! Processes on Unix: real pipes, a session and a group of their own, signals to the whole group and, on Linux, to
//! whoever left it.

mod converse;
mod directory;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
pub(crate) mod ending;
mod feed;
mod group;
mod groups;
mod hold;
#[cfg(target_os = "linux")]
mod household;
#[cfg(target_os = "linux")]
mod kin;
mod launch;
mod leader;
pub(crate) mod limits;
#[cfg(target_os = "linux")]
mod mark;
pub(crate) mod oneself;
mod process;
mod stream;
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
mod sys;
#[cfg(target_os = "linux")]
mod watchdog;

pub(crate) use converse::converse;
pub use converse::{Hearing, Speaking, hear_now, left_unread};
pub use directory::Directory;
pub use groups::Groups;
#[cfg(target_os = "linux")]
pub use household::{end_descendants, let_none_outlive, start_to_stay};
pub use process::{Process, Stayer};
#[cfg(target_os = "linux")]
pub use watchdog::stand_watch;

#[cfg(not(target_os = "linux"))]
use elsewhere::{Family, House, Kin, Search, Sure, carriers, read_on, rest, start};
#[cfg(target_os = "linux")]
use {
    household::{read_on, rest, start},
    kin::{Kin, Search, Sure, carriers},
    mark::{Family, House},
};
