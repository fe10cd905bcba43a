//! Takes telemetry to a collector: a queue of bounded size, and a thread that empties it in batches. Whoever sends is
//! never kept waiting: what finds no room, or nobody listening, is lost, which is told once, at the end.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, SystemTime};

use hookwright_model::client_builder;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url, redirect};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::Options;
use super::wire::{self, Signal};
use crate::telemetry::metric::{Measurement, Totals};
use crate::telemetry::record::Fields;

/// How long the end of a session waits for the collector.
const GRACE: Duration = Duration::from_secs(1);

/// How long one delivery may take while the session lasts.
const DELIVERY: Duration = Duration::from_secs(10);

/// How long a record waits for others to travel with.
const LINGER: Duration = Duration::from_secs(1);

/// How often totals are sent.
const METRICS_EVERY: Duration = Duration::from_secs(10);

/// How much may wait in memory.
const QUEUE_BYTES: usize = 16 << 20;

/// What a measurement counts for there.
const MEASUREMENT_BYTES: usize = 512;

/// How many records, and how many bytes of them, go into one request.
const BATCH_ITEMS: usize = 128;
const BATCH_BYTES: usize = 2 << 20;

/// Something to be sent; spans and records are JSON already.
#[derive(Debug)]
pub(super) enum Item {
    Log(String),
    Span(String),
    Measurement(Measurement, SystemTime),
}

/// With the room that it takes until it is sent.
type Queued = (Item, OwnedSemaphorePermit);

/// The session's end.
#[derive(Debug)]
pub(super) struct Courier {
    endpoint: String,
    queue: UnboundedSender<Queued>,
    /// One permit for each byte that may wait.
    room: Arc<Semaphore>,
    overflowed: bool,
    /// Why something was lost, if it was; comes when all is sent.
    end: mpsc::Receiver<Option<String>>,
}

impl Courier {
    pub(super) fn start(
        endpoint: &str,
        options: &Options,
        resource: String,
        common: Fields<'static>,
    ) -> Result<Self, String> {
        let base = Url::parse(endpoint).map_err(|error| error.to_string())?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(format!("`{}` is neither http nor https", base.scheme()));
        }
        let line = Line { client: client(&base, options)?, base: endpoint.trim_end_matches('/').to_owned(), resource };
        // A runtime of its own: the program's may have ended before the last record is sent.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let (queue, items) = unbounded_channel();
        let (done, end) = mpsc::channel();
        let work = move || {
            let lost = runtime.block_on(Delivery::new(line, common).run(items));
            // If this fails, nobody waits any longer.
            let _ = done.send(lost);
        };
        thread::Builder::new().name("telemetry".to_owned()).spawn(work).map_err(|error| error.to_string())?;
        let room = Arc::new(Semaphore::new(QUEUE_BYTES));
        Ok(Courier { endpoint: endpoint.to_owned(), queue, room, overflowed: false, end })
    }

    /// Queues something, or loses it.
    pub(super) fn send(&mut self, item: Item) {
        let bytes = u32::try_from(item.bytes()).unwrap_or(u32::MAX);
        match Arc::clone(&self.room).try_acquire_many_owned(bytes) {
            // The thread only ends before its queue does if it panicked, which shows at the end.
            Ok(room) => drop(self.queue.send((item, room))),
            Err(_) => self.overflowed = true,
        }
    }

    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        QUEUE_BYTES - self.room.available_permits()
    }

    /// Waits until all is sent, but not longer than the grace: the thread ends with the process.
    pub(super) fn finish(self) -> Option<String> {
        let Courier { endpoint, queue, overflowed, end, .. } = self;
        drop(queue);
        let why = match end.recv_timeout(GRACE) {
            Ok(why) => why.or_else(|| overflowed.then(|| "it takes them too slowly".to_owned())),
            Err(mpsc::RecvTimeoutError::Timeout) => Some("no answer within a second".to_owned()),
            Err(mpsc::RecvTimeoutError::Disconnected) => Some("sending failed".to_owned()),
        };
        why.map(|why| format!("some telemetry could not be sent to {endpoint}: {why}"))
    }
}

impl Item {
    fn bytes(&self) -> usize {
        match self {
            Item::Log(json) | Item::Span(json) => json.len(),
            Item::Measurement(..) => MEASUREMENT_BYTES,
        }
    }
}

/// The thread's end: what is gathered for the next requests, and why something was lost before.
struct Delivery {
    line: Line,
    common: Fields<'static>,
    logs: Vec<String>,
    spans: Vec<String>,
    room: Option<OwnedSemaphorePermit>,
    totals: Totals,
    /// When totals that have changed are sent.
    totals_due: Option<Instant>,
    lost: Option<String>,
}

/// Whether more may come.
#[derive(PartialEq, Eq)]
enum Queue {
    Open,
    Ended,
}

impl Delivery {
    fn new(line: Line, common: Fields<'static>) -> Self {
        let (logs, spans) = Default::default();
        Delivery { line, common, logs, spans, room: None, totals: Totals::default(), totals_due: None, lost: None }
    }

    /// Sends until the queue ends.
    async fn run(mut self, mut items: UnboundedReceiver<Queued>) -> Option<String> {
        loop {
            let queue = tokio::select! {
                first = items.recv() => self.gather(first, &mut items).await,
                () = until(self.totals_due) => Queue::Open,
            };
            self.send(&queue).await;
            if queue == Queue::Ended {
                return self.lost;
            }
        }
    }

    /// Takes items until there are enough for a request, or the first has waited long enough.
    async fn gather(&mut self, first: Option<Queued>, items: &mut UnboundedReceiver<Queued>) -> Queue {
        let (deadline, mut next) = (Instant::now() + LINGER, first);
        while let Some((item, room)) = next {
            self.take(item, room);
            if self.is_full() {
                return Queue::Open;
            }
            match timeout_at(deadline, items.recv()).await {
                Ok(more) => next = more,
                Err(_) => return Queue::Open,
            }
        }
        Queue::Ended
    }

    fn take(&mut self, item: Item, room: OwnedSemaphorePermit) {
        match item {
            Item::Log(json) => self.logs.push(json),
            Item::Span(json) => self.spans.push(json),
            Item::Measurement(measurement, at) => {
                self.totals.add(measurement, at);
                self.totals_due.get_or_insert_with(|| Instant::now() + METRICS_EVERY);
                return;
            }
        }
        match &mut self.room {
            Some(taken) => taken.merge(room),
            None => self.room = Some(room),
        }
    }

    fn is_full(&self) -> bool {
        let bytes = self.room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        self.logs.len() >= BATCH_ITEMS || self.spans.len() >= BATCH_ITEMS || bytes >= BATCH_BYTES
    }

    /// Sends what was gathered, and the totals if they are due or it is the last time.
    async fn send(&mut self, queue: &Queue) {
        let due = self.totals_due.is_some_and(|due| *queue == Queue::Ended || due <= Instant::now());
        let totals = if due { wire::metrics(&self.totals, &self.common, SystemTime::now()) } else { Vec::new() };
        if due {
            self.totals_due = None;
        }
        let sent = tokio::join!(
            self.line.post(Signal::Traces, &self.spans),
            self.line.post(Signal::Logs, &self.logs),
            self.line.post(Signal::Metrics, &totals),
        );
        self.lost = self.lost.take().or(sent.0.err()).or(sent.1.err()).or(sent.2.err());
        self.spans.clear();
        self.logs.clear();
        self.room = None;
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// The way to the collector.
struct Line {
    client: Client,
    base: String,
    resource: String,
}

impl Line {
    /// One request, once: what does not arrive at once is given up, since a session's end does not wait.
    async fn post(&self, signal: Signal, items: &[String]) -> Result<(), String> {
        if items.is_empty() {
            return Ok(());
        }
        let request = self.client.post(format!("{}/{}", self.base, signal.path()));
        match request.body(signal.body(&self.resource, items)).send().await {
            Ok(response) if response.status().is_success() => Ok(()),
            Ok(response) => Err(format!("it answered {}", response.status())),
            Err(error) if error.is_timeout() => Err(format!("no answer within {} seconds", DELIVERY.as_secs())),
            Err(_) => Err("is a collector listening there?".to_owned()),
        }
    }
}

fn client(base: &Url, options: &Options) -> Result<Client, String> {
    let local = base.host_str().is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]"));
    let proxy = options.proxy.as_ref().filter(|_| !local);
    let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    for (name, value) in &options.headers {
        let named = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
        let (name, mut value) = named.ok_or_else(|| format!("`{name}` in OTEL_EXPORTER_OTLP_HEADERS is no header"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let builder = client_builder(proxy).map_err(|error| error.to_string())?;
    // A redirect would hand the headers to whoever answers there.
    let builder = builder.redirect(redirect::Policy::none()).timeout(DELIVERY).default_headers(headers);
    builder.build().map_err(|error| error.to_string())
}
