//! In whose words a hook is spoken to and answers: ours, or Claude Code's.

pub mod tools;
