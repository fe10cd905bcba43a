//! Merges layers of settings, lowest first. `settings/layer_reader.rs` reads each layer.

use std::path::Path;

use serde_json::{Map, Value};

use super::layer::LayerTree;
use crate::env_file::LayerEnvs;
use crate::settings::{LayerFindings, OuterSettings, overlay, read_layer};

/// Merges the settings of all layers, lowest first.
pub(super) fn merge_layers(
    trees: &[LayerTree<'_>],
    envs: &LayerEnvs,
    root: &Path,
    found: &mut LayerFindings,
) -> Map<String, Value> {
    merge_layers_over(Map::new(), trees, envs, root, found)
}

/// Merges layers over the settings of lower ones.
pub(super) fn merge_layers_over(
    mut all: Map<String, Value>,
    trees: &[LayerTree<'_>],
    envs: &LayerEnvs,
    root: &Path,
    found: &mut LayerFindings,
) -> Map<String, Value> {
    for tree in trees {
        if let Ok(Some(object)) = &tree.document.root {
            let layer = &tree.file.source;
            let outer = OuterSettings { settings: &all, root };
            let values = read_layer(object, layer, &tree.document.source, envs.for_layer(layer), &outer, found);
            overlay(&mut all, values);
        }
    }
    all
}
