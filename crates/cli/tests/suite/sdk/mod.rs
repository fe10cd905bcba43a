//! The libraries that hooks are written with (`sdk/`, `crates/sdk`): real programs over real pipes. Their generated types are
//! the matter of `xtask`.

mod agents;
mod language;
mod own;
mod pipes;
mod plugins;

use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
