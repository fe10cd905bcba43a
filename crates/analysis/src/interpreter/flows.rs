//! Where data goes: from files, the environment, the clipboard and the network to the network and into programs that run it.

use std::path::{Path, PathBuf};

use super::Interpreter;
use crate::observer::Fact;
use crate::paths;
use crate::programs::credentials;
use crate::programs::spec::{Aspect, Verb};
use crate::value::Taint;

/// Where data comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FlowSource {
    File(PathBuf),
    /// A variable of the environment; all of them if the name is empty.
    Environment(String),
    Clipboard,
    Network(String),
}

impl FlowSource {
    fn shown(&self) -> String {
        match self {
            FlowSource::File(path) => path.to_string_lossy().into_owned(),
            FlowSource::Environment(name) if name.is_empty() => "env".to_owned(),
            FlowSource::Environment(name) => format!("env:{name}"),
            FlowSource::Clipboard => "clipboard".to_owned(),
            FlowSource::Network(host) => format!("network:{host}"),
        }
    }
}

impl Interpreter<'_> {
    /// The taint of data from a source.
    pub(crate) fn source(&mut self, source: FlowSource) -> Taint {
        let number = self.sources.iter().position(|known| *known == source).unwrap_or_else(|| {
            self.sources.push(source);
            self.sources.len() - 1
        });
        Taint::source(number)
    }

    /// The variables of the environment are printed, credentials among them.
    pub(crate) fn environment_printed(&mut self) -> Taint {
        self.tell(&Fact::Service { name: credentials::SERVICE, verb: Verb::Read });
        self.source(FlowSource::Environment(String::new()))
    }

    /// Data goes somewhere.
    pub(crate) fn flow(&mut self, taint: Taint, to: &str, via: &str) {
        for number in taint.sources() {
            // Sources beyond those that are told apart share a number.
            let shared = number == 63;
            let from: Vec<FlowSource> = match shared {
                true => self.sources.iter().skip(number).cloned().collect(),
                false => self.sources.get(number).cloned().into_iter().collect(),
            };
            for source in from {
                let path = match &source {
                    FlowSource::File(path) => Some(path.as_path()),
                    // What comes from the network counts where it is run.
                    FlowSource::Network(_) if to.starts_with("network:") => continue,
                    _ => None,
                };
                self.observer.fact(&Fact::Flow { from: &source.shown(), path, to, via });
            }
        }
    }

    /// Says of the current command that its data may go elsewhere, or may be other data, where an end of a flow is not known.
    pub(crate) fn doubt_flows(&mut self, data: Taint) {
        let open = |aspect: Aspect| self.call_unsure.has(aspect);
        let sends = !self.contacted.is_empty() || open(Aspect::Network);
        let is_open = open(Aspect::Reads) || (open(Aspect::Network) && !data.is_none());
        let may_hold_more = self.unnamed_data && !data.is_none();
        self.unnamed_data |= open(Aspect::Writes) && !data.is_none();
        if sends && (is_open || may_hold_more) && !open(Aspect::Flows) {
            self.unsure_program(Aspect::Flows, "which data goes where is only known when it runs");
        }
    }

    /// The taint of a file that is read: its own, and that of what the script has written into it.
    pub(crate) fn file_source(&mut self, path: &Path) -> Taint {
        let path = paths::normalized(path);
        let written = self
            .file_taint
            .iter()
            .filter(|(file, _)| file.starts_with(&path) || path.starts_with(file))
            .fold(Taint::NONE, |taint, (_, one)| taint.and(*one));
        self.source(FlowSource::File(path)).and(written)
    }

    /// Data is written into a file, or to a host that stands for one.
    pub(crate) fn data_to_file(&mut self, path: &Path, taint: Taint) {
        if taint.is_none() {
            return;
        }
        if let Some(host) = paths::network_device(path) {
            return self.flow(taint, &format!("network:{host}"), "/dev/tcp");
        }
        let entry = self.file_taint.entry(paths::normalized(path)).or_default();
        *entry = entry.and(taint);
    }

    pub(crate) fn fork_bomb(&mut self, name: &str) {
        if self.apart > 0 {
            self.observer.fact(&Fact::Process(&format!("fork bomb {name}()")));
        }
    }
}
