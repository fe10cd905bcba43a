//! The libraries for hooks (`sdk/`, `crates/sdk`): real programs over real pipes. `xtask` checks their generated types.

mod agents;
mod language;
mod own;
mod pipes;
mod plugins;

use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
