//! Doors for `crates/properties`: what strangers send, read without a network. No part of the interface.

use crate::{Chunk, ModelError, Provider};

/// An answer that comes in these pieces, as a server of this kind would send it.
pub fn decode_pieces<'p>(
    provider: Provider,
    pieces: impl IntoIterator<Item = &'p [u8]>,
) -> Vec<Result<Chunk, ModelError>> {
    crate::response_decoder::decode_pieces(provider, pieces)
}
