//! The journal: one record per user of what hooks decided, written by sessions and by the bridge alike.
//!
//! A directory holds numbered *segments* of JSON lines. Every line has the digest of the line before it, so that a
//! changed, missing or reordered line is found ([`verify`]). The file `head` has the last line's digest and is the lock
//! of all writers. A full segment is closed: its Merkle root goes into the next one, and it is compressed and indexed.
//!
//! A line's content (arguments, output, reasons) is not part of the chain, only its digest is: content can be forgotten
//! and the chain still holds.

mod chain;
mod content;
mod entry;
mod forget;
mod index;
mod query;
mod reader;
mod recorder;
mod seal;
mod segment;
mod stats;
mod story;
mod verify;
mod writer;

pub use chain::Digest;
pub use content::{ContentLevel, Redactor};
pub use entry::{
    BridgeRefusal, CallEntry, CallResult, Entry, EventEntry, HookEntry, HostAnswer, JournalLine, Loss, PolicyEntry,
    RequestEntry, Verdict,
};
pub use forget::{ForgetSelection, forget};
pub use query::{Query, QueryError, parse_time};
pub use reader::{Reader, Selection};
pub use recorder::{EventSource, JournalOpener, Recorder, event_entry, merged_verdict, millis, opener};
pub use seal::{SEAL_NAMESPACE, SealError, check_seal, sign_head};
pub use segment::JournalError;
pub use stats::{HookStats, JournalStats};
pub use story::{CallOutcomes, Story, StoryPart, StoryTopic};
pub use verify::{Finding, VerifyReport, verify};
pub use writer::{Journal, JournalOptions};
