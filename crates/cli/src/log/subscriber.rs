//! The `tracing` subscriber that writes events to the log file.
//!
//! A span is stored as the text that lines inside it begin with, so that all lines of a turn, a call, an event or a run
//! can be found together.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hookwright_settings::Secrets;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::{Attributes, Current, Id, Record};

use super::file::LogFile;
use super::filter::{LogFilter, log_target};
use super::line::{LogFields, format_line};

thread_local! {
    /// The spans that this thread has entered, the innermost last.
    static SPAN_STACK: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// A subscriber that writes enabled events to a log file.
pub(super) struct LogSubscriber {
    filter: LogFilter,
    secrets: Secrets,
    file: LogFile,
    spans: Mutex<HashMap<u64, OpenLogSpan>>,
    next_id: AtomicU64,
}

/// A span that still has references.
struct OpenLogSpan {
    /// The text of this span and of the spans around it.
    path: Arc<str>,
    metadata: &'static Metadata<'static>,
    reference_count: usize,
}

impl LogSubscriber {
    pub(super) fn new(filter: LogFilter, secrets: Secrets, file: LogFile) -> Self {
        LogSubscriber { filter, secrets, file, spans: Mutex::default(), next_id: AtomicU64::new(1) }
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(super) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    fn spans(&self) -> MutexGuard<'_, HashMap<u64, OpenLogSpan>> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the text of the span that an event or span belongs to.
    fn span_path(&self, parent: Option<&Id>, contextual: bool) -> Arc<str> {
        let id = if contextual { innermost_span() } else { parent.map(Id::into_u64) };
        id.and_then(|id| Some(self.spans().get(&id)?.path.clone())).unwrap_or_default()
    }
}

fn innermost_span() -> Option<u64> {
    SPAN_STACK.with_borrow(|inside| inside.last().copied())
}

impl Subscriber for LogSubscriber {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        // The filter never changes, so `tracing` asks only once for each call site.
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Spans are always enabled: lines of one crate are found by the turn that another crate started.
        let wanted = |place: String| metadata.is_span() || self.filter.allows(&place, *metadata.level());
        log_target(metadata.target()).is_some_and(wanted)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.filter.max_level().max(LevelFilter::INFO))
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let around = self.span_path(span.parent(), span.is_contextual());
        let mut fields = LogFields::new(&self.secrets);
        span.record(&mut fields);
        let between = if around.is_empty() { "" } else { ":" };
        let path = format!("{around}{between}{}{{{}}}", span.metadata().name(), fields.other_fields);
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.spans().insert(id, OpenLogSpan { path: path.into(), metadata: span.metadata(), reference_count: 1 });
        Id::from_u64(id)
    }

    /// Does nothing: values that are unknown when a span begins are logged by events inside it.
    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let Some(place) = log_target(metadata.target()) else { return };
        let mut fields = LogFields::new(&self.secrets);
        event.record(&mut fields);
        let spans = self.span_path(event.parent(), event.is_contextual());
        self.file.write(&format_line(*metadata.level(), &place, &spans, &fields));
    }

    fn enter(&self, span: &Id) {
        SPAN_STACK.with_borrow_mut(|inside| inside.push(span.into_u64()));
    }

    fn exit(&self, span: &Id) {
        SPAN_STACK.with_borrow_mut(|inside| {
            if let Some(at) = inside.iter().rposition(|id| *id == span.into_u64()) {
                inside.remove(at);
            }
        });
    }

    fn clone_span(&self, id: &Id) -> Id {
        if let Some(span) = self.spans().get_mut(&id.into_u64()) {
            span.reference_count += 1;
        }
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut spans = self.spans();
        let Some(span) = spans.get_mut(&id.into_u64()) else { return false };
        span.reference_count -= 1;
        let last = span.reference_count == 0;
        if last {
            spans.remove(&id.into_u64());
        }
        last
    }

    fn current_span(&self) -> Current {
        let Some(id) = innermost_span() else { return Current::none() };
        self.spans().get(&id).map_or_else(Current::none, |span| Current::new(Id::from_u64(id), span.metadata))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::{Dispatch, dispatcher};

    /// Returns the log's text after `say` has run.
    fn logged(filter: LogFilter, say: impl FnOnce()) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.log");
        let listener = LogSubscriber::new(filter, Secrets::default(), LogFile::open(&path).unwrap());
        let dispatch = Dispatch::new(listener);
        dispatcher::with_default(&dispatch, say);
        assert!(dispatch.downcast_ref::<LogSubscriber>().unwrap().spans().is_empty(), "spans are left");
        hookwright_testkit::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn lines_say_which_spans_they_are_in() {
        let text = logged(LogFilter::uniform(LevelFilter::DEBUG), || {
            let turn = tracing::info_span!("turn", id = "s#1");
            let call = turn.in_scope(|| tracing::info_span!("call", id = 7, tool = "glob"));
            // The parent span may be closed by then.
            drop(turn);
            call.in_scope(|| tracing::debug!(ms = 3, "ended"));
            tracing::debug!("outside");
            tracing::trace!("not wanted");
        });
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with("turn{id=s#1}:call{id=7 tool=glob}: ended ms=3"), "{text}");
        assert!(lines[1].ends_with("cli::log::subscriber::tests: outside"), "{text}");
        assert_eq!(lines.len(), 2, "{text}");
    }

    #[test]
    fn only_enabled_targets_of_the_workspace_are_written() {
        let (filter, _) = super::super::filter::parse("cli::log=info,hooks=trace");
        let text = logged(filter.unwrap(), || {
            tracing::info!(target: "hyper_util::client", "not ours");
            tracing::trace!(target: "hookwright_hooks::plan", "one");
            tracing::warn!(target: "hookwright_model", "not wanted");
            let _span = tracing::info_span!(target: "hookwright_agent", "turn").entered();
            tracing::info!("two");
        });
        let ends: Vec<&str> = text.lines().map(|line| &line[line.len() - 3..]).collect();
        assert_eq!(ends, ["one", "two"], "{text}");
        assert!(text.contains("turn{}: two"), "{text}");
    }
}
