//! The exporter that sends telemetry to a collector: a queue bounded in bytes, and a thread that sends it in batches.
//!
//! `send` never waits. An item that does not fit into the queue, or that the collector does not accept, is lost; the
//! loss is reported once, at the end.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, SystemTime};

use hookwright_model::client_builder;
use hookwright_settings::OtlpProtocol;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url, redirect};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::CollectorOptions;
use super::protobuf;
use super::wire::{self, OtlpSignal};
use crate::telemetry::metric::{Measurement, MetricTotals};
use crate::telemetry::record::TelemetryFields;

/// How long the end of a session waits for the collector.
const SHUTDOWN_GRACE_PERIOD: Duration = Duration::from_secs(1);

/// How long one request may take during the session.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an item waits for others before its batch is sent.
const BATCH_DELAY: Duration = Duration::from_secs(1);

/// How often totals are sent.
const METRICS_EXPORT_INTERVAL: Duration = Duration::from_secs(10);

/// The number of bytes that may wait in the queue.
const MAX_QUEUE_BYTES: usize = 16 << 20;

/// The number of bytes that a measurement counts for in the queue.
const MEASUREMENT_QUEUE_BYTES: usize = 512;

/// The limits of one request: the number of items, and their bytes.
const MAX_BATCH_ITEMS: usize = 128;
const MAX_BATCH_BYTES: usize = 2 << 20;

/// An item to be sent; log records and spans are JSON already.
#[derive(Debug)]
pub(super) enum ExportItem {
    Log(String),
    Span(String),
    Measurement(Measurement, SystemTime),
}

/// An item with the queue bytes that it occupies until it is sent.
type QueuedItem = (ExportItem, OwnedSemaphorePermit);

/// The session's handle to the exporter thread.
#[derive(Debug)]
pub(super) struct OtlpExporter {
    endpoint: String,
    queue: UnboundedSender<QueuedItem>,
    /// One permit for each byte that may wait.
    byte_permits: Arc<Semaphore>,
    has_overflowed: bool,
    /// Receives why data was lost, or none, when the thread has sent everything.
    loss_report: mpsc::Receiver<Option<String>>,
}

impl OtlpExporter {
    pub(super) fn start(
        endpoint: &str,
        protocol: OtlpProtocol,
        options: &CollectorOptions,
        resource: String,
        common: TelemetryFields<'static>,
    ) -> Result<Self, String> {
        let base = Url::parse(endpoint).map_err(|error| error.to_string())?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(format!("`{}` is neither http nor https", base.scheme()));
        }
        let line = CollectorClient {
            client: http_client(&base, protocol, options)?,
            protocol,
            base: endpoint.trim_end_matches('/').to_owned(),
            resource,
        };
        // The exporter has its own runtime: the program's may have ended before the last record is sent.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let (queue, items) = unbounded_channel();
        let (done, end) = mpsc::channel();
        let work = move || {
            let lost = runtime.block_on(ExportWorker::new(line, common).run(items));
            // If this fails, the session no longer waits.
            let _ = done.send(lost);
        };
        thread::Builder::new().name("telemetry".to_owned()).spawn(work).map_err(|error| error.to_string())?;
        let room = Arc::new(Semaphore::new(MAX_QUEUE_BYTES));
        Ok(OtlpExporter {
            endpoint: endpoint.to_owned(),
            queue,
            byte_permits: room,
            has_overflowed: false,
            loss_report: end,
        })
    }

    /// Queues an item, or drops it if the queue is full.
    pub(super) fn send(&mut self, item: ExportItem) {
        let bytes = u32::try_from(item.bytes()).unwrap_or(u32::MAX);
        match Arc::clone(&self.byte_permits).try_acquire_many_owned(bytes) {
            // The thread ends before its queue only if it panicked, which shows when the session ends.
            Ok(room) => drop(self.queue.send((item, room))),
            Err(_) => self.has_overflowed = true,
        }
    }

    #[cfg(test)]
    pub(super) fn queued_bytes(&self) -> usize {
        MAX_QUEUE_BYTES - self.byte_permits.available_permits()
    }

    /// Waits until everything is sent, but not longer than the grace period, and returns why data was lost.
    ///
    /// A thread that has not finished by then ends with the process.
    pub(super) fn finish(self) -> Option<String> {
        let OtlpExporter { endpoint, queue, has_overflowed: overflowed, loss_report: end, .. } = self;
        drop(queue);
        let why = match end.recv_timeout(SHUTDOWN_GRACE_PERIOD) {
            Ok(why) => why.or_else(|| overflowed.then(|| "it takes them too slowly".to_owned())),
            Err(mpsc::RecvTimeoutError::Timeout) => Some("no answer within a second".to_owned()),
            Err(mpsc::RecvTimeoutError::Disconnected) => Some("sending failed".to_owned()),
        };
        why.map(|why| format!("some telemetry could not be sent to {endpoint}: {why}"))
    }
}

impl ExportItem {
    fn bytes(&self) -> usize {
        match self {
            ExportItem::Log(json) | ExportItem::Span(json) => json.len(),
            ExportItem::Measurement(..) => MEASUREMENT_QUEUE_BYTES,
        }
    }
}

/// The state of the exporter thread: items for the next requests, and why data was lost before.
struct ExportWorker {
    client: CollectorClient,
    common: TelemetryFields<'static>,
    logs: Vec<String>,
    spans: Vec<String>,
    byte_permits: Option<OwnedSemaphorePermit>,
    totals: MetricTotals,
    /// When totals that have changed are sent next.
    totals_due: Option<Instant>,
    loss_reason: Option<String>,
}

/// Whether the queue can still receive items.
#[derive(PartialEq, Eq)]
enum QueueState {
    Open,
    Closed,
}

impl ExportWorker {
    fn new(line: CollectorClient, common: TelemetryFields<'static>) -> Self {
        let (logs, spans) = Default::default();
        ExportWorker {
            client: line,
            common,
            logs,
            spans,
            byte_permits: None,
            totals: MetricTotals::default(),
            totals_due: None,
            loss_reason: None,
        }
    }

    /// Sends batches until the queue is closed.
    async fn run(mut self, mut items: UnboundedReceiver<QueuedItem>) -> Option<String> {
        loop {
            let queue = tokio::select! {
                first = items.recv() => self.collect_batch(first, &mut items).await,
                () = sleep_until_due(self.totals_due) => QueueState::Open,
            };
            self.send_batch(&queue).await;
            if queue == QueueState::Closed {
                return self.loss_reason;
            }
        }
    }

    /// Takes items until there are enough for a request, or the first has waited long enough.
    async fn collect_batch(
        &mut self,
        first: Option<QueuedItem>,
        items: &mut UnboundedReceiver<QueuedItem>,
    ) -> QueueState {
        let (deadline, mut next) = (Instant::now() + BATCH_DELAY, first);
        while let Some((item, room)) = next {
            self.add_item(item, room);
            if self.is_full() {
                return QueueState::Open;
            }
            match timeout_at(deadline, items.recv()).await {
                Ok(more) => next = more,
                Err(_) => return QueueState::Open,
            }
        }
        QueueState::Closed
    }

    fn add_item(&mut self, item: ExportItem, room: OwnedSemaphorePermit) {
        match item {
            ExportItem::Log(json) => self.logs.push(json),
            ExportItem::Span(json) => self.spans.push(json),
            ExportItem::Measurement(measurement, at) => {
                self.totals.add(measurement, at);
                self.totals_due.get_or_insert_with(|| Instant::now() + METRICS_EXPORT_INTERVAL);
                return;
            }
        }
        match &mut self.byte_permits {
            Some(taken) => taken.merge(room),
            None => self.byte_permits = Some(room),
        }
    }

    fn is_full(&self) -> bool {
        let bytes = self.byte_permits.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        self.logs.len() >= MAX_BATCH_ITEMS || self.spans.len() >= MAX_BATCH_ITEMS || bytes >= MAX_BATCH_BYTES
    }

    /// Sends the batch, and the totals if they are due or the queue is closed.
    async fn send_batch(&mut self, queue: &QueueState) {
        let due = self.totals_due.is_some_and(|due| *queue == QueueState::Closed || due <= Instant::now());
        let totals = if due { wire::metrics_json(&self.totals, &self.common, SystemTime::now()) } else { Vec::new() };
        if due {
            self.totals_due = None;
        }
        let sent = tokio::join!(
            self.client.post(OtlpSignal::Traces, &self.spans),
            self.client.post(OtlpSignal::Logs, &self.logs),
            self.client.post(OtlpSignal::Metrics, &totals),
        );
        self.loss_reason = self.loss_reason.take().or(sent.0.err()).or(sent.1.err()).or(sent.2.err());
        self.spans.clear();
        self.logs.clear();
        self.byte_permits = None;
    }
}

async fn sleep_until_due(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// The HTTP client for one collector.
struct CollectorClient {
    client: Client,
    protocol: OtlpProtocol,
    base: String,
    resource: String,
}

/// Sends log records to a collector, and waits for its answer.
///
/// # Errors
/// If the address is wrong, or the collector does not accept them.
pub(crate) fn send_logs(
    endpoint: &str,
    protocol: OtlpProtocol,
    options: &CollectorOptions,
    items: &[String],
) -> Result<(), String> {
    let base = Url::parse(endpoint).map_err(|error| error.to_string())?;
    let client = CollectorClient {
        client: http_client(&base, protocol, options)?,
        protocol,
        base: endpoint.trim_end_matches('/').to_owned(),
        resource: wire::resource_json(&options.resource, ""),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(client.post(OtlpSignal::Logs, items))
}

impl CollectorClient {
    /// Sends one request without retries, since the end of a session does not wait for them.
    async fn post(&self, signal: OtlpSignal, items: &[String]) -> Result<(), String> {
        if items.is_empty() {
            return Ok(());
        }
        let request = self.client.post(format!("{}/{}", self.base, signal.path()));
        let json = signal.body(&self.resource, items);
        let body = match self.protocol {
            OtlpProtocol::HttpProtobuf => protobuf::encode_request(signal, &json)?,
            OtlpProtocol::HttpJson | OtlpProtocol::Grpc => json.into_bytes(),
        };
        match request.body(body).send().await {
            Ok(response) if response.status().is_success() => Ok(()),
            Ok(response) => Err(format!("it answered {}", response.status())),
            Err(error) if error.is_timeout() => Err(format!("no answer within {} seconds", EXPORT_TIMEOUT.as_secs())),
            Err(_) => Err("is a collector listening there?".to_owned()),
        }
    }
}

fn http_client(base: &Url, protocol: OtlpProtocol, options: &CollectorOptions) -> Result<Client, String> {
    let local = base.host_str().is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]"));
    let proxy = options.proxy.as_ref().filter(|_| !local);
    let media_type = match protocol {
        OtlpProtocol::HttpProtobuf => "application/x-protobuf",
        OtlpProtocol::HttpJson | OtlpProtocol::Grpc => "application/json",
    };
    let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(media_type))]);
    for (name, value) in &options.headers {
        let named = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
        let (name, mut value) = named.ok_or_else(|| format!("`{name}` in OTEL_EXPORTER_OTLP_HEADERS is no header"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let builder = client_builder(proxy).map_err(|error| error.to_string())?;
    // A redirect would hand the headers to another server.
    let builder = builder.redirect(redirect::Policy::none()).timeout(EXPORT_TIMEOUT).default_headers(headers);
    builder.build().map_err(|error| error.to_string())
}
