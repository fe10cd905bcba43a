//! The exit codes, all of them. Scripts rely on these numbers.

/// Everything went well; for `hooks fire` and `policy explain`, it is allowed.
pub(crate) const OK: u8 = 0;
/// Something of ours failed, or a check did not pass.
pub(crate) const ERROR: u8 = 1;
/// `hooks fire`, `policy explain`: it is denied or stopped.
pub(crate) const DENIED: u8 = 2;
/// `hooks fire`, `policy explain`: the user would be asked.
pub(crate) const ASK: u8 = 3;
/// `hooks test`: nothing failed, because no case ran.
pub(crate) const NO_TESTS: u8 = 4;
/// The settings enforce another way to authenticate.
pub(crate) const WRONG_AUTH: u8 = 41;
/// The command line makes no sense.
pub(crate) const BAD_INPUT: u8 = 42;
/// The session does not start, because guards could be missing.
pub(crate) const UNGUARDED: u8 = 52;
/// The session's turns are used up.
pub(crate) const TURN_LIMIT: u8 = 53;
/// This machine has no room: no descriptors, processes or memory (`EX_OSERR`).
pub(crate) const OUT_OF_RESOURCES: u8 = 71;
/// The terminal is gone.
pub(crate) const HUNG_UP: u8 = 129;
/// Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;
/// A command that prints until it is stopped has lost its reader: what a shell reports for SIGPIPE.
pub(crate) const BROKEN_PIPE: u8 = 141;
