//! Groups, conditions, loops and functions.

use std::rc::Rc;

use super::{Interpreter, Io, LoopFrame, Outcome, UNITS_PER_STEP, join};
use crate::state::{Function, State};
use crate::syntax::{CaseArm, Command, CommandKind, List, Redirection, Word};
use crate::value::{Taint, Text, Value};

/// A loop over more words is interpreted once for all of them.
const MAX_ROUNDS: usize = 64;
/// Rounds after which a loop's state counts as unknown.
const MAX_WIDENING_ROUNDS: usize = 4;

impl Interpreter<'_> {
    pub(super) fn command(&mut self, command: &Command, mut state: State, io: &Io) -> Outcome {
        if !self.pay(UNITS_PER_STEP * (1 + state.size())) {
            return Outcome::both(state);
        }
        if let CommandKind::Simple { assignments, words } = &command.kind {
            return self.simple(assignments, words, &command.redirections, state, io);
        }
        let before = state.clone();
        let (io, may_fail) = self.redirections(&command.redirections, &mut state, io);
        let writes = command.redirections.iter().any(Redirection::writes_file);
        self.redirects += usize::from(writes);
        let outcome = self.compound(&command.kind, state, &io);
        self.redirects -= usize::from(writes);
        match may_fail {
            true => outcome.join(Outcome::failure(before)),
            false => outcome,
        }
    }

    fn compound(&mut self, kind: &CommandKind, mut state: State, io: &Io) -> Outcome {
        match kind {
            CommandKind::Simple { .. } => Outcome::both(state),
            CommandKind::Group(list) => self.list(list, state, io),
            CommandKind::Subshell(list) => {
                self.list(list, state.clone(), io);
                Outcome::both(state)
            }
            CommandKind::If { branches, otherwise } => self.condition(branches, otherwise, state, io),
            CommandKind::While { until, condition, body } => self.repeat(state, |interpreter, state| {
                let Outcome { success, failure } = interpreter.list(condition, state, io);
                let (goes_on, ends) = if *until { (failure, success) } else { (success, failure) };
                let state = goes_on.or_else(|| ends.clone().filter(|_| interpreter.exhaustive));
                let after = state.and_then(|state| {
                    interpreter.conditionally(true, |interpreter| interpreter.list(body, state, io)).any()
                });
                (after, ends)
            }),
            CommandKind::For { variable, words, body } => self.for_each(variable, words.as_deref(), body, state, io),
            CommandKind::ArithmeticFor { expressions: [first, condition, step], body } => {
                self.arithmetic(first, &mut state);
                self.repeat(state, |interpreter, mut state| {
                    interpreter.arithmetic(condition, &mut state);
                    let ends = state.clone();
                    let mut after =
                        interpreter.conditionally(true, |interpreter| interpreter.list(body, state, io)).any();
                    if let Some(state) = &mut after {
                        interpreter.arithmetic(step, state);
                    }
                    (after, Some(ends))
                })
            }
            CommandKind::Case { subject, arms } => self.case(subject, arms, state, io),
            CommandKind::Test(words) => {
                self.test(words, &mut state);
                Outcome::both(state)
            }
            CommandKind::Arithmetic(word) => {
                self.arithmetic(word, &mut state);
                Outcome::both(state)
            }
            CommandKind::Function { name, body } => {
                if self.exhaustive && !self.defined.iter().any(|(known, _)| Rc::ptr_eq(known, body)) {
                    self.defined.push((Rc::clone(body), state.clone()));
                }
                if name.contains('/') {
                    // A shell that is kept for later commands would run it in a program's place.
                    self.unsure_all(format!("{name} is a path, and a function of that name stands for a program"));
                }
                state.define(name, Function::Defined(Rc::clone(body)));
                Outcome::success(state)
            }
        }
    }

    fn condition(&mut self, branches: &[(List, List)], otherwise: &List, state: State, io: &Io) -> Outcome {
        let mut outcome = Outcome::NEVER;
        let mut next = Some(state);
        let outer = self.conditions;
        for (condition, body) in branches {
            let Some(state) = next.take().or_else(|| ruled_out(self, &outcome)) else { break };
            let Outcome { success, failure } = self.list(condition, state, io);
            let is_condition = failure.is_some();
            let ends = failure.clone().filter(|_| self.exhaustive);
            if let Some(state) = success {
                let after = self.conditionally(is_condition, |interpreter| interpreter.list(body, state, io));
                outcome = outcome.join(after);
            } else if let Some(state) = ends {
                self.conditionally(true, |interpreter| interpreter.list(body, state, io));
            }
            self.conditions = outer + 1;
            next = failure;
        }
        match next {
            Some(state) => outcome = outcome.join(self.list(otherwise, state, io)),
            None => {
                if let Some(state) = ruled_out(self, &outcome) {
                    self.list(otherwise, state, io);
                }
            }
        }
        self.conditions = outer;
        outcome
    }

    /// Goes through rounds until the state at their beginning no longer changes. A round gives the state at its end and
    /// the state in which the loop ends instead.
    fn repeat<'s>(
        &mut self,
        state: State,
        mut round: impl FnMut(&mut Self, State) -> (Option<State>, Option<State>) + 's,
    ) -> Outcome {
        let mut entry = state;
        let mut exit = None;
        for rounds in 0.. {
            if !self.pay(UNITS_PER_STEP * (1 + entry.size())) {
                break;
            }
            self.loops.push(LoopFrame::default());
            let (after, ends) = round(self, entry.clone());
            let jumps = self.loops.pop().and_then(|frame| frame.jumps);
            exit = join(exit, join(ends, jumps.clone()));
            let Some(after) = join(after, jumps) else { break };
            let mut widened = entry.clone().join(&after);
            // What a round does to the disk counts in the next one.
            if widened.is_same(&entry) && (rounds > 0 || self.exhaustive) {
                break;
            }
            if rounds >= MAX_WIDENING_ROUNDS {
                self.forget(&mut widened);
            }
            if rounds > MAX_WIDENING_ROUNDS {
                break;
            }
            entry = widened;
        }
        match exit {
            Some(state) => Outcome::both(state),
            None => Outcome::NEVER,
        }
    }

    fn for_each(&mut self, variable: &str, words: Option<&[Word]>, body: &List, mut state: State, io: &Io) -> Outcome {
        let values = match words {
            Some(words) => self.command_words(words, &mut state),
            None => {
                state.parameters.as_deref().map_or_else(|| vec![crate::value::Argument::unknown("$@")], <[_]>::to_vec)
            }
        };
        let known =
            (values.len() <= MAX_ROUNDS || self.exhaustive) && values.iter().all(|value| value.text().is_some());
        if !known {
            let taint = values.iter().fold(Taint::NONE, |taint, one| taint.and(one.value.taint));
            let value = match values.as_slice() {
                [only] if only.value.text == Text::Number => Value::NUMBER,
                _ => Value::unknown(taint),
            };
            return self.repeat(state, |interpreter, state| {
                let ends = state.clone();
                let mut inside = state;
                interpreter.assign(variable, value.clone(), &mut inside);
                let after = interpreter.conditionally(true, |interpreter| interpreter.list(body, inside, io));
                (after.any(), Some(ends))
            });
        }
        let mut exits = None;
        let mut now = Some(state);
        for value in values {
            let Some(mut state) = now else { break };
            if !self.pay(UNITS_PER_STEP * (1 + state.size())) {
                return Outcome::both(state);
            }
            self.assign(variable, value.value, &mut state);
            self.loops.push(LoopFrame::default());
            let after = self.conditionally(true, |interpreter| interpreter.list(body, state, io)).any();
            let jumps = self.loops.pop().and_then(|frame| frame.jumps);
            exits = join(exits, jumps.clone());
            now = join(after, jumps);
        }
        match join(now, exits) {
            Some(state) => Outcome::both(state),
            None => Outcome::NEVER,
        }
    }

    /// `break` or `continue`: the loop may go on or end in this state.
    pub(super) fn jump(&mut self, state: &State) {
        for frame in &mut self.loops {
            frame.jumps = join(frame.jumps.take(), Some(state.clone()));
        }
    }

    /// A word that only decides what runs.
    fn compared(&mut self, word: &Word, state: &mut State) -> Value {
        let value = self.joined(word, state);
        if let Some(text) = value.text.known() {
            self.observer.compared_word(text, state);
        }
        value
    }

    /// Any arm may run, and none.
    fn case(&mut self, subject: &Word, arms: &[CaseArm], mut state: State, io: &Io) -> Outcome {
        self.compared(subject, &mut state);
        let mut outcome = Outcome::success(state.clone());
        let mut falls_through = None;
        for arm in arms {
            for pattern in &arm.patterns {
                self.compared(pattern, &mut state);
            }
            let Some(entry) = join(Some(state.clone()), falls_through.take()) else { continue };
            let after = self.conditionally(true, |interpreter| interpreter.list(&arm.body, entry, io));
            if arm.goes_on {
                falls_through = join(after.success.clone(), after.failure.clone());
            }
            outcome = outcome.join(after);
        }
        outcome
    }

    /// `[[ … ]]`: touches nothing, but comparing numbers evaluates them as arithmetic.
    fn test(&mut self, words: &[Word], state: &mut State) {
        const NUMERIC: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
        const NAMES: [&str; 2] = ["-v", "-R"];
        let before = state.clone();
        let texts: Vec<Option<String>> = words.iter().map(Word::literal).collect();
        let is = |at: Option<usize>, operators: &[&str]| {
            at.and_then(|at| texts.get(at)?.as_deref()).is_some_and(|text| operators.contains(&text))
        };
        for (at, word) in words.iter().enumerate() {
            let numeric = is(Some(at + 1), &NUMERIC) || is(at.checked_sub(1), &NUMERIC);
            if numeric {
                self.arithmetic(word, state);
                continue;
            }
            let value = self.compared(word, state);
            if is(at.checked_sub(1), &NAMES) && !value.text.known().is_some_and(super::arithmetic::is_name) {
                self.unsure_all("[[ -v ]] evaluates a subscript");
            }
        }
        // What stands behind `&&` and `||` may not be evaluated.
        *state = state.clone().join(&before);
    }

    /// A call of a function.
    pub(super) fn call_function(
        &mut self,
        name: &str,
        body: &Rc<Command>,
        words: &[crate::value::Argument],
        mut state: State,
        io: &Io,
    ) -> Outcome {
        if self.calls.iter().filter(|called| &***called == name).count() > 1 || self.calls.len() > 16 {
            self.fork_bomb(name);
            self.unsure_all("a function calls itself");
            self.forget(&mut state);
            return Outcome::both(state);
        }
        let outer = state.parameters.replace(words[1..].into());
        let uncertain = words[1..].iter().any(|word| word.many);
        if uncertain {
            state.parameters = None;
        }
        if self.exhaustive {
            self.called.push(Rc::clone(body));
        }
        self.calls.push(name.into());
        self.returns.push(None);
        let outer_locals = std::mem::take(&mut self.locals);
        let outcome = self.command(body, state, io);
        let locals = std::mem::replace(&mut self.locals, outer_locals);
        let returned = self.returns.pop().flatten();
        self.calls.pop();
        let mut outcome = match returned {
            Some(state) => outcome.join(Outcome::both(state)),
            None => outcome,
        };
        for state in [&mut outcome.success, &mut outcome.failure].into_iter().flatten() {
            state.parameters = outer.clone();
            // A local variable hid another of the same name, which may have been set or not.
            locals.iter().for_each(|name| state.set(name, Some(Value::UNKNOWN)));
        }
        outcome
    }

    /// `return`: whether a function is there to return from.
    pub(super) fn return_from_function(&mut self, state: &State) -> bool {
        match self.returns.last_mut() {
            Some(returned) => {
                *returned = join(returned.take(), Some(state.clone()));
                true
            }
            None => false,
        }
    }
}

/// A state in which a branch that is ruled out now would run, for an observer that wants to hear of it.
fn ruled_out(interpreter: &Interpreter<'_>, outcome: &Outcome) -> Option<State> {
    outcome.clone().any().filter(|_| interpreter.exhaustive)
}
