//! Reads a compressed transcript as a stream, with limits for its size and its memory.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// The size of a decompressed transcript.
pub(super) const MAX_DECOMPRESSED_BYTES: u64 = 1 << 30;
/// The memory that a frame may ask for. Compressors use 8 MiB but at their highest levels.
const MAX_WINDOW_BYTES: u64 = 32 << 20;

/// A reader of all zstd frames in a file.
pub(super) struct ZstdReader<R: BufRead> {
    /// The frame that is being read; `None` after the last one, and after an error.
    frame: Option<StreamingDecoder<R, FrameDecoder>>,
    remaining_bytes: u64,
}

impl<R: BufRead> ZstdReader<R> {
    /// Starts to read; `max_bytes` is the most that is decompressed.
    pub(super) fn new(source: R, max_bytes: u64) -> io::Result<ZstdReader<R>> {
        Ok(ZstdReader { frame: Some(start_frame(source)?), remaining_bytes: max_bytes })
    }

    fn read_frame(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(mut frame) = self.frame.take() {
            let read = frame.read(buffer)?;
            if read > 0 {
                self.frame = Some(frame);
                return Ok(read);
            }
            let decoder = &frame.decoder;
            if decoder.get_checksum_from_data().is_some_and(|sum| decoder.get_calculated_checksum() != Some(sum)) {
                return Err(io::Error::other("its checksum is wrong"));
            }
            let mut source = frame.into_inner();
            if !source.fill_buf()?.is_empty() {
                self.frame = Some(start_frame(source)?);
            }
        }
        Ok(0)
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let read = self.read_frame(buffer)?;
        match self.remaining_bytes.checked_sub(read as u64) {
            Some(remaining) => self.remaining_bytes = remaining,
            None => return Err(io::Error::other("it is too large when decompressed")),
        }
        Ok(read)
    }
}

fn start_frame<R: BufRead>(source: R) -> io::Result<StreamingDecoder<R, FrameDecoder>> {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(MAX_WINDOW_BYTES);
    StreamingDecoder::new_with_decoder(source, decoder)
        .map_err(|error| io::Error::other(format!("it can't be decompressed: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn read_all(compressed: &[u8], max_bytes: u64) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        ZstdReader::new(compressed, max_bytes)?.read_to_end(&mut text)?;
        Ok(text)
    }

    #[test]
    fn several_frames_are_one_text() {
        let frames = [&b"one\n"[..], b"", b"two\n"].map(|part| compress_to_vec(part, CompressionLevel::Fastest));
        assert_eq!(read_all(&frames.concat(), 8).unwrap(), b"one\ntwo\n");
        assert!(read_all(&frames.concat(), 7).is_err());
    }

    #[test]
    fn damaged_text_is_an_error_and_never_a_shorter_text() {
        let whole = compress_to_vec(&b"a line of a transcript\n".repeat(500)[..], CompressionLevel::Fastest);
        for length in 0..whole.len() {
            assert!(read_all(&whole[..length], 1 << 20).is_err(), "{length}");
        }
        assert!(read_all(&[&whole[..], b"x"].concat(), 1 << 20).is_err());
        let mut changed = whole;
        let last = changed.len() - 1;
        changed[last] ^= 1;
        assert!(read_all(&changed, 1 << 20).is_err(), "the checksum");
    }

    #[test]
    fn large_text_is_streamed_and_bounded() {
        let bomb = compress_to_vec(io::repeat(b'x').take(8 << 20), CompressionLevel::Fastest);
        assert!(bomb.len() < 1 << 20, "{}", bomb.len());
        let mut reader = ZstdReader::new(&bomb[..], 1 << 20).unwrap();
        let (mut buffer, mut total) = ([0; 4096], 0);
        let error = loop {
            match reader.read(&mut buffer) {
                Ok(read) => total += read,
                Err(error) => break error,
            }
        };
        assert!(total <= 1 << 20 && error.to_string().contains("too large"), "{total} {error}");
        assert_eq!(reader.read(&mut buffer).unwrap_or(0), 0);
    }

    #[test]
    fn frame_that_asks_for_much_memory_is_refused() {
        // The magic number, a descriptor without a size, and a window of 128 MiB.
        let header = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 17 << 3, 0x01, 0x00, 0x00];
        assert!(read_all(&header, 1 << 20).is_err());
    }
}
