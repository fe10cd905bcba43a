//! Reads all of stdin, bounded in size and, on Unix, in time: an agent that never closes it must not
//! delay its own answer.

use std::time::Instant;

use hookwright_bridge::PayloadError;
use hookwright_bridge::payload::MAX_PAYLOAD_BYTES;

#[cfg(unix)]
pub(super) fn read(deadline: Instant) -> Result<Vec<u8>, PayloadError> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;

    let stdin = rustix::stdio::stdin();
    let broken = |error: Errno| PayloadError::NotJsonObject(format!("stdin can't be read: {error}"));
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait =
            Timespec { tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX), tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&wait)) {
            Ok(0) => return Err(PayloadError::NotJsonObject("stdin does not end".to_owned())),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(broken(error)),
        }
        match rustix::io::read(stdin, piece.as_mut_slice()) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(broken(error)),
        }
        if bytes.len() > MAX_PAYLOAD_BYTES {
            return Err(PayloadError::TooLarge);
        }
    }
}

#[cfg(not(unix))]
pub(super) fn read(_: Instant) -> Result<Vec<u8>, PayloadError> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let most = MAX_PAYLOAD_BYTES as u64 + 1;
    let read = std::io::stdin().take(most).read_to_end(&mut bytes);
    read.map_err(|error| PayloadError::NotJsonObject(format!("stdin can't be read: {error}")))?;
    if bytes.len() > MAX_PAYLOAD_BYTES { Err(PayloadError::TooLarge) } else { Ok(bytes) }
}
