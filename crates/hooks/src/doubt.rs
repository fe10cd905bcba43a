//! What happens to calls whose effects are not all known, and whether the kernel enforces what guards forbid.

use serde::{Deserialize, Serialize};

/// `onDoubt`: what a guard does about a call that may have an effect which it looks for, from the most lenient to the
/// strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum OnDoubt {
    /// The call is treated as if it did not have the effect.
    Allow,
    /// The call runs so that the kernel keeps it from having the effect, as far as the machine can do exactly that.
    /// Where it cannot, the call runs as it is.
    #[serde(rename = "confineOrAllow")]
    ConfineOrAllow,
    /// The call runs so that the kernel keeps it from having the effect.
    Confine,
    /// The user decides.
    Ask,
    /// The call does not run.
    Deny,
}

impl OnDoubt {
    /// All values, for settings and their diagnostics.
    pub const ALL: [OnDoubt; 5] =
        [OnDoubt::Allow, OnDoubt::ConfineOrAllow, OnDoubt::Confine, OnDoubt::Ask, OnDoubt::Deny];

    /// The name of the value in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            OnDoubt::Allow => "allow",
            OnDoubt::ConfineOrAllow => "confineOrAllow",
            OnDoubt::Confine => "confine",
            OnDoubt::Ask => "ask",
            OnDoubt::Deny => "deny",
        }
    }
}

/// `enforce`: when commands run so that the kernel keeps them from what guards forbid, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Enforcement {
    /// Only where a hook decides so.
    Off,
    /// Where the effects of a command are in doubt.
    Doubt,
    /// Always, so that a wrong analysis ends in a refused system call.
    Always,
}

impl Enforcement {
    /// All values, for settings and their diagnostics.
    pub const ALL: [Enforcement; 3] = [Enforcement::Off, Enforcement::Doubt, Enforcement::Always];

    /// The name of the value in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Enforcement::Off => "off",
            Enforcement::Doubt => "doubt",
            Enforcement::Always => "always",
        }
    }
}
