//! What a shell has in mind while it runs a script: its directory, variables, functions and parameters.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::syntax::{Command, Dialect};
use crate::value::{Argument, Value};

/// A shell's state. Copies are cheap: what two states share is kept once.
#[derive(Clone, Debug)]
pub struct State {
    /// The directory, if that can be told.
    pub cwd: Option<Rc<Path>>,
    variables: Rc<HashMap<Rc<str>, Variable>>,
    functions: Rc<HashMap<Rc<str>, Function>>,
    /// What the script or function was given, if that can be told.
    pub parameters: Option<Rc<[Argument]>>,
    /// `$0`, if that can be told.
    pub script: Option<Rc<str>>,
    /// `$BASH_SOURCE`: the file that is being read, if that can be told.
    pub source: Option<Rc<str>>,
    /// Whether code that was not read has run in this shell: it may have set and defined anything.
    pub foreign: bool,
    /// Whether a job was surely started in the background, so that `$!` is a number.
    pub has_job: bool,
    pub dialect: Dialect,
}

/// A variable that the script has set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Nothing if it is surely not set.
    pub value: Option<Value>,
    pub exported: bool,
}

/// A function that the script has defined.
#[derive(Clone, Debug)]
pub enum Function {
    Defined(Rc<Command>),
    /// It may be one of several, or not be there.
    Ambiguous,
    /// `unset -f`.
    Removed,
}

impl State {
    pub fn new(cwd: &Path, dialect: Dialect) -> Self {
        State {
            cwd: Some(cwd.into()),
            variables: Rc::default(),
            functions: Rc::default(),
            parameters: Some(Rc::from([])),
            script: None,
            source: None,
            foreign: false,
            has_job: false,
            dialect,
        }
    }

    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.get(name)
    }

    pub fn set(&mut self, name: &str, value: Option<Value>) {
        let exported = self.variables.get(name).is_some_and(|variable| variable.exported);
        Rc::make_mut(&mut self.variables).insert(name.into(), Variable { value, exported });
    }

    /// Marks a variable as handed to programs; one that the script has not set stays as it was.
    pub fn export(&mut self, name: &str) {
        if let Some(variable) = Rc::make_mut(&mut self.variables).get_mut(name) {
            variable.exported = true;
        }
    }

    pub fn forget_variable(&mut self, name: &str) {
        Rc::make_mut(&mut self.variables).remove(name);
    }

    /// Puts a variable back as it was.
    pub fn restore(&mut self, name: &str, before: Option<Variable>) {
        let variables = Rc::make_mut(&mut self.variables);
        match before {
            Some(before) => drop(variables.insert(name.into(), before)),
            None => drop(variables.remove(name)),
        }
    }

    pub fn variables(&self) -> impl Iterator<Item = (&Rc<str>, &Variable)> {
        self.variables.iter()
    }

    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.get(name)
    }

    pub fn define(&mut self, name: &str, function: Function) {
        Rc::make_mut(&mut self.functions).insert(name.into(), function);
    }

    pub fn has_functions(&self) -> bool {
        !self.functions.is_empty()
    }

    /// After code that was not read: everything may be something else now.
    pub fn forget(&mut self) {
        self.foreign = true;
        self.cwd = None;
        self.parameters = None;
        let unknown = |(name, variable): (&Rc<str>, &Variable)| {
            (name.clone(), Variable { value: Some(Value::UNKNOWN), exported: variable.exported })
        };
        self.variables = Rc::new(self.variables.iter().map(unknown).collect());
        self.functions = Rc::new(self.functions.keys().map(|name| (name.clone(), Function::Ambiguous)).collect());
    }

    /// After code that may run at any time: no variable is known, and each that is set from now on can be told.
    pub fn forget_names(&mut self) {
        self.forget();
        Rc::make_mut(&mut self.variables).retain(|_, variable| variable.exported);
    }

    /// Any variable may have another value now.
    pub fn forget_values(&mut self) {
        let names: Vec<Rc<str>> = self.variables.keys().cloned().collect();
        names.iter().for_each(|name| self.set(name, Some(Value::UNKNOWN)));
    }

    /// After code that was not read but is accounted for: it may have set and defined anything, in the same directory.
    pub fn forget_variables(&mut self) {
        let (cwd, parameters, functions) = (self.cwd.take(), self.parameters.take(), Rc::clone(&self.functions));
        self.forget();
        (self.cwd, self.parameters, self.functions) = (cwd, parameters, functions);
    }

    /// The state of a shell that this one starts: only what is exported is handed on.
    pub fn child(&self, dialect: Dialect, in_environment: &dyn Fn(&str) -> bool) -> State {
        let mut child = State::new(Path::new("/"), dialect);
        child.cwd = self.cwd.clone();
        child.foreign = self.foreign;
        for (name, variable) in self.variables() {
            if variable.exported || in_environment(name) {
                child.set(name, variable.value.clone());
                child.export(name);
            }
        }
        child
    }

    /// Everything that decides what a script does in this state, apart from functions, as text.
    pub fn key(&self) -> String {
        let variables: std::collections::BTreeMap<_, _> = self.variables.iter().collect();
        format!("{:?} {variables:?} {:?} {:?}", self.cwd, self.parameters, self.script)
    }

    /// The state of a shell that may have come by either way.
    pub fn join(mut self, other: &State) -> State {
        if self.cwd != other.cwd {
            self.cwd = None;
        }
        if self.parameters != other.parameters {
            self.parameters = None;
        }
        if self.source != other.source {
            self.source = None;
        }
        self.foreign |= other.foreign;
        self.has_job &= other.has_job;
        if !Rc::ptr_eq(&self.variables, &other.variables) {
            self.variables = Rc::new(joined_variables(&self.variables, &other.variables));
        }
        if !Rc::ptr_eq(&self.functions, &other.functions) {
            self.functions = Rc::new(joined_functions(&self.functions, &other.functions));
        }
        self
    }

    /// Whether nothing that is known differs.
    pub fn is_same(&self, other: &State) -> bool {
        let functions = || {
            self.functions.len() == other.functions.len()
                && self
                    .functions
                    .iter()
                    .all(|(name, one)| other.functions.get(name).is_some_and(|other| same(one, other)))
        };
        self.cwd == other.cwd
            && self.parameters == other.parameters
            && self.foreign == other.foreign
            && (Rc::ptr_eq(&self.variables, &other.variables) || self.variables == other.variables)
            && (Rc::ptr_eq(&self.functions, &other.functions) || functions())
    }

    /// The number of variables and functions, which is what a join or a copy costs.
    pub fn size(&self) -> usize {
        self.variables.len() + self.functions.len()
    }

    /// The path that a word stands for.
    pub fn path(&self, word: &str) -> Option<PathBuf> {
        match Path::new(word).is_absolute() {
            true => Some(PathBuf::from(word)),
            false => Some(self.cwd.as_ref()?.join(word)),
        }
    }
}

fn joined_variables(
    one: &HashMap<Rc<str>, Variable>,
    other: &HashMap<Rc<str>, Variable>,
) -> HashMap<Rc<str>, Variable> {
    let mut joined = HashMap::new();
    for (name, variable) in one.iter().chain(other.iter().filter(|(name, _)| !one.contains_key(*name))) {
        let (value, exported) = match (one.get(name), other.get(name)) {
            (Some(a), Some(b)) => {
                let value = match (&a.value, &b.value) {
                    (Some(a), Some(b)) => Some(a.or(b)),
                    (None, None) => None,
                    (Some(only), None) | (None, Some(only)) => Some(Value::unknown(only.taint)),
                };
                (value, a.exported || b.exported)
            }
            // On one way it is what the environment says.
            _ => (
                Some(Value::unknown(variable.value.as_ref().map_or(Default::default(), |one| one.taint))),
                variable.exported,
            ),
        };
        joined.insert(name.clone(), Variable { value, exported });
    }
    joined
}

fn joined_functions(
    one: &HashMap<Rc<str>, Function>,
    other: &HashMap<Rc<str>, Function>,
) -> HashMap<Rc<str>, Function> {
    let names = one.keys().chain(other.keys());
    let join = |name: &Rc<str>| match (one.get(name), other.get(name)) {
        (Some(a), Some(b)) if same(a, b) => a.clone(),
        _ => Function::Ambiguous,
    };
    names.map(|name| (name.clone(), join(name))).collect()
}

fn same(one: &Function, other: &Function) -> bool {
    match (one, other) {
        (Function::Defined(a), Function::Defined(b)) => Rc::ptr_eq(a, b) || a == b,
        (Function::Ambiguous, Function::Ambiguous) | (Function::Removed, Function::Removed) => true,
        _ => false,
    }
}
