//! What programs do with their words: the compiled program files, and the code that little languages need.

pub(crate) mod arguments;
pub(crate) mod call;
mod code;
pub(crate) mod credentials;
mod local_options;
pub mod spec;

use std::collections::HashMap;
use std::io::Read;
use std::sync::OnceLock;

use crate::observer::Aspects;
pub(crate) use code::network::host_of_url;
use flate2::read::DeflateDecoder;
use spec::{Body, OptionSpec, Program, Role};

include!(concat!(env!("OUT_DIR"), "/index.rs"));

/// The compiled programs, each packed for itself.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/programs.bin"));

/// A service that effects name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceInfo {
    pub name: &'static str,
    pub about: &'static str,
    /// The host that it is reached at, if it is reached over the network.
    pub peer: Option<&'static str>,
}

/// Programs by their names.
#[derive(Debug, Default)]
pub struct Programs {
    /// Nothing: those that are built in.
    loaded: Option<HashMap<String, Program>>,
}

impl Programs {
    /// The programs that the crate knows.
    pub const BUILT_IN: Programs = Programs { loaded: None };

    /// Other programs than those that are built in.
    pub fn from_specs(programs: Vec<Program>) -> Self {
        let named = programs
            .into_iter()
            .flat_map(|program| program.names.clone().into_iter().map(move |name| (name, program.clone())));
        Programs { loaded: Some(named.collect()) }
    }

    /// What is known of a program.
    pub fn find(&self, name: &str) -> Option<&Program> {
        match &self.loaded {
            Some(loaded) => loaded.get(name),
            None => built_in(name),
        }
    }
}

/// The names of all programs that are built in.
pub fn names() -> impl Iterator<Item = &'static str> {
    INDEX.iter().map(|(name, _, _)| *name)
}

/// The services that effects may name.
pub fn services() -> &'static [ServiceInfo] {
    SERVICES
}

/// The files of a project that say what a program does which runs what they say; none for a program that runs none.
pub(crate) fn project_files(name: &str) -> Option<&'static [&'static str]> {
    let at = RUNNERS.binary_search_by(|(known, _)| (*known).cmp(name)).ok()?;
    Some(RUNNERS[at].1)
}

fn built_in(name: &str) -> Option<&'static Program> {
    // Each is read when it is first asked for.
    static READ: OnceLock<Vec<OnceLock<Option<Program>>>> = OnceLock::new();
    let at = INDEX.binary_search_by(|(known, _, _)| (*known).cmp(name)).ok()?;
    let read = READ.get_or_init(|| INDEX.iter().map(|_| OnceLock::new()).collect());
    let (_, start, end) = INDEX[at];
    let parse = || {
        let packed = PACKED.get(start as usize..end as usize)?;
        let mut text = String::new();
        DeflateDecoder::new(packed).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    };
    read.get(at)?.get_or_init(parse).as_ref()
}

impl Program {
    /// Whether it runs what its words say.
    pub(crate) fn runs_others(&self) -> bool {
        let runs = |role: &Role| {
            matches!(role, Role::Command | Role::CommandWithInput | Role::Shell | Role::Code | Role::Script)
        };
        let bodies = || std::iter::once(&self.body).chain(self.commands.iter().map(|command| &command.body));
        let in_operands = |body: &Body| body.operands.iter().flatten().flat_map(|operand| &operand.roles).any(runs);
        bodies().any(in_operands)
            || self.body.options.iter().flat_map(|option| option.values.iter().flatten()).any(runs)
            || matches!(self.body.code.as_deref(), Some("shell" | "env" | "find"))
    }

    /// Whether it has commands of its own or talks to others: such programs load settings from the home directory.
    pub(crate) fn is_client(&self) -> bool {
        let talks = |effect: &spec::Effect| matches!(effect, spec::Effect::Network(_) | spec::Effect::Service(..));
        let reaches = |role: &Role| matches!(role, Role::Url | Role::Host | Role::Remote);
        let body = &self.body;
        let operands =
            std::iter::once(&body.operands).chain(body.cases.iter().map(|case| &case.operands)).flatten().flatten();
        !self.commands.is_empty()
            || body.service.is_some()
            || body.does.iter().any(talks)
            || body.cases.iter().filter_map(|case| case.does.as_ref()).flatten().any(talks)
            || operands.flat_map(|operand| &operand.roles).any(reaches)
            || body.options.iter().flat_map(|option| option.values.iter().flatten()).any(reaches)
            || matches!(body.code.as_deref(), Some("ssh" | "curl" | "rsync"))
    }

    /// Whether no word and no variable makes it touch anything.
    pub(crate) fn is_inert(&self) -> bool {
        self.commands.is_empty() && self.body.is_inert()
    }
}

impl OptionSpec {
    /// Whether it does nothing by itself.
    pub(crate) fn is_inert(&self) -> bool {
        self.does.is_empty() && self.values.iter().flatten().all(|role| matches!(role, Role::Text | Role::Digits))
    }
}

impl Body {
    pub(crate) fn is_inert(&self) -> bool {
        self.does.is_empty() && self.cases.is_empty() && self.aspects_of_words() == Aspects::NONE
    }

    /// What words that are not known could make it do.
    pub(crate) fn aspects_of_words(&self) -> Aspects {
        let operands =
            std::iter::once(&self.operands).chain(self.cases.iter().map(|case| &case.operands)).flatten().flatten();
        let does = self.cases.iter().filter_map(|case| case.does.as_ref()).any(|does| !does.is_empty());
        if self.code.is_some()
            || does
            || self.operands.is_none()
            || self.options.iter().any(|option| !option.is_inert())
        {
            return Aspects::ALL;
        }
        aspects_of_operands(operands)
    }
}

/// What words that are not known could do as operands of these roles.
pub(crate) fn aspects_of_operands<'o>(operands: impl IntoIterator<Item = &'o spec::Operand>) -> Aspects {
    operands.into_iter().flat_map(|operand| &operand.roles).fold(Aspects::NONE, |all, role| match role {
        Role::Text | Role::Digits => all,
        Role::Path(access, _) => all.and((*access).into()),
        Role::Output => all.and(spec::Aspect::Writes.into()),
        Role::Process => all.and(spec::Aspect::Processes.into()),
        Role::Url | Role::Host => all.and(Aspects::of(&[spec::Aspect::Network, spec::Aspect::Reads])),
        _ => Aspects::ALL,
    })
}
