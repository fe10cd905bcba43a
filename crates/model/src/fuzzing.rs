//! Entry points for `crates/properties`, which decodes untrusted input without a network. Not part of the public
//! interface.

use crate::{Chunk, ModelError, Provider};

/// Decodes an answer that arrives in these pieces from a server of this provider.
pub fn decode_pieces<'p>(
    provider: Provider,
    pieces: impl IntoIterator<Item = &'p [u8]>,
) -> Vec<Result<Chunk, ModelError>> {
    crate::response_decoder::decode_pieces(provider, pieces)
}
