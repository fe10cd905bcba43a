//! The `journal` family of commands.

#[cfg_attr(not(test), expect(dead_code, reason = "the commands that use it follow"))]
pub(crate) mod page;
