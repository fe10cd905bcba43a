//! The arguments of a tool call.

use std::ops::{Deref, DerefMut};

use serde_json::{Map, Value};

/// The arguments of a call: a map for hooks and rules, and the same as one JSON value for tools and schemas.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CallArguments(Value);

impl CallArguments {
    pub(super) fn as_value(&self) -> &Value {
        &self.0
    }

    pub(super) fn to_map(&self) -> Map<String, Value> {
        Map::clone(self)
    }
}

impl From<Map<String, Value>> for CallArguments {
    fn from(args: Map<String, Value>) -> Self {
        CallArguments(Value::Object(args))
    }
}

impl Deref for CallArguments {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        match &self.0 {
            Value::Object(args) => args,
            _ => unreachable!("arguments are made of a map"),
        }
    }
}

impl DerefMut for CallArguments {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match &mut self.0 {
            Value::Object(args) => args,
            _ => unreachable!("arguments are made of a map"),
        }
    }
}
