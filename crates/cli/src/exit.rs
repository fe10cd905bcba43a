//! The exit codes of the program, besides those of SIGQUIT (131) and SIGTERM (143) in `signals.rs`. Scripts
//! rely on these numbers.

/// The command succeeded; for `hooks fire` and `policy explain`, the call is allowed.
pub(crate) const OK: u8 = 0;
/// The command failed, or a check did not pass.
pub(crate) const ERROR: u8 = 1;
/// `hooks fire`, `policy explain`: the call is denied or stopped. `bridge`: no answer could be given.
pub(crate) const DENIED: u8 = 2;
/// `hooks fire`, `policy explain`: the user would be asked.
pub(crate) const ASK: u8 = 3;
/// `hooks test`: no test case ran.
pub(crate) const NO_TESTS: u8 = 4;
/// `agents doctor`, `setup`: no link between a call and a refusal is broken, but not every one was seen to hold.
pub(crate) const NOT_PROVEN: u8 = 5;
/// The settings enforce another way to authenticate.
pub(crate) const WRONG_AUTH: u8 = 41;
/// The command line is not valid.
pub(crate) const BAD_INPUT: u8 = 42;
/// The session does not start, because guards could be missing.
pub(crate) const UNGUARDED: u8 = 52;
/// The session has reached its limit of turns.
pub(crate) const TURN_LIMIT: u8 = 53;
/// The machine has no descriptors, processes or memory left (`EX_OSERR`).
pub(crate) const OUT_OF_RESOURCES: u8 = 71;
/// `run`: the command took longer than its limit, as `timeout` reports it.
pub(crate) const TIMED_OUT: u8 = 124;
/// `run`: the command was not run, because its profile could not be enforced.
pub(crate) const NOT_CONFINED: u8 = 125;
/// `run`: the program could not be executed.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// `run`: the program was not found.
pub(crate) const NOT_FOUND: u8 = 127;
/// The terminal was closed (SIGHUP).
pub(crate) const HUNG_UP: u8 = 129;
/// The user pressed Ctrl-C (SIGINT).
pub(crate) const INTERRUPTED: u8 = 130;
/// The reader of a command that prints until it is stopped has closed the pipe; a shell reports SIGPIPE
/// by the same code.
pub(crate) const BROKEN_PIPE: u8 = 141;
