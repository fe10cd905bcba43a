//! All of stdin, within a bound of size and of time: an agent that never closes it must not hold up its own answer.

use std::time::Instant;

use hookwright_bridge::Misheard;
use hookwright_bridge::payload::LARGEST;

#[cfg(unix)]
pub(super) fn read(deadline: Instant) -> Result<Vec<u8>, Misheard> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;

    let stdin = rustix::stdio::stdin();
    let broken = |error: Errno| Misheard::NoJson(format!("stdin can't be read: {error}"));
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait =
            Timespec { tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX), tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&wait)) {
            Ok(0) => return Err(Misheard::NoJson("stdin does not end".to_owned())),
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
        if bytes.len() > LARGEST {
            return Err(Misheard::TooLarge);
        }
    }
}

#[cfg(not(unix))]
pub(super) fn read(_: Instant) -> Result<Vec<u8>, Misheard> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let most = LARGEST as u64 + 1;
    let read = std::io::stdin().take(most).read_to_end(&mut bytes);
    read.map_err(|error| Misheard::NoJson(format!("stdin can't be read: {error}")))?;
    if bytes.len() > LARGEST { Err(Misheard::TooLarge) } else { Ok(bytes) }
}
