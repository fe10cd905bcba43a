//! Layers of settings laid over each other, lowest first. What a layer says is read in `settings/read.rs`.

use std::path::Path;

use serde_json::{Map, Value};

use super::layer::Tree;
use crate::env_file::Worlds;
use crate::settings::{Findings, Outer, lay_over, read_layer};

/// The settings of all layers, lowest first, laid over each other.
pub(super) fn merged(trees: &[Tree<'_>], worlds: &Worlds, root: &Path, found: &mut Findings) -> Map<String, Value> {
    merged_over(Map::new(), trees, worlds, root, found)
}

/// The same over those of lower ones.
pub(super) fn merged_over(
    mut all: Map<String, Value>,
    trees: &[Tree<'_>],
    worlds: &Worlds,
    root: &Path,
    found: &mut Findings,
) -> Map<String, Value> {
    for tree in trees {
        if let Ok(Some(object)) = &tree.document.root {
            let layer = &tree.file.source;
            let outer = Outer { settings: &all, root };
            let values = read_layer(object, layer, &tree.document.source, worlds.of(layer), &outer, found);
            lay_over(&mut all, values);
        }
    }
    all
}
