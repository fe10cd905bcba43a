//! The `journal` family of commands.

#[expect(dead_code, reason = "the commands that use it follow")]
pub(crate) mod page;
