//! Memory of the interpreter's values: it is counted while a value lives, so that a run can be limited, and freed
//! without recursion, so that no value is too deep for the host's stack.

use std::cell::Cell as Slot;
use std::ops::Deref;
use std::rc::Rc;

use num_bigint::BigInt;

use super::value::{Callable, Cell, Value};

thread_local! {
    /// The bytes of all values of this thread that live.
    static LIVE: Slot<usize> = const { Slot::new(0) };
}

/// The bytes of all values of this thread that live.
pub(crate) fn live() -> usize {
    LIVE.get()
}

thread_local! {
    /// How many parts of values the operation at hand may visit yet, and how many it could at its beginning.
    static FUEL: Slot<(u64, u64)> = const { Slot::new((MOST_VISITS, MOST_VISITS)) };
}

/// How many parts of values one operation may visit at most.
const MOST_VISITS: u64 = 50_000_000;

/// Counts visits of parts of values: comparing two values, say, may take as long as they are large, and shared parts are
/// visited as often as they are met. Says whether there is more to come; if not, what is being done is given up.
pub(crate) fn visit(parts: u64) -> bool {
    FUEL.with(|fuel| {
        let (left, full) = fuel.get();
        let left = left.saturating_sub(parts);
        fuel.set((left, full));
        left > 0
    })
}

/// The visits since this was asked last; `None` where there were too many. From now on, there may be so many.
pub(crate) fn visited(from_now_on: u64) -> Option<u64> {
    let full = from_now_on.clamp(1, MOST_VISITS);
    let (left, before) = FUEL.replace((full, full));
    (left > 0).then_some(before - left)
}

/// Something a value is made of.
pub(crate) trait Parts {
    /// About how many bytes it takes.
    fn bytes(&self) -> usize;
    /// Takes the values out of it that have parts themselves.
    fn take(&mut self, into: &mut Vec<Value>);
}

/// A part that is counted.
#[derive(Debug)]
pub(crate) struct Counted<T: Parts>(T);

impl<T: Parts> Counted<T> {
    pub(crate) fn new(of: T) -> Rc<Counted<T>> {
        LIVE.set(LIVE.get() + of.bytes());
        Rc::new(Counted(of))
    }
}

impl<T: Parts> Deref for Counted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Parts> Drop for Counted<T> {
    fn drop(&mut self) {
        LIVE.set(LIVE.get().saturating_sub(self.0.bytes()));
        let mut open = Vec::new();
        self.0.take(&mut open);
        while let Some(value) = open.pop() {
            match value {
                Value::Cons(part) => take_apart(part, &mut open),
                Value::Tuple(part) => take_apart(part, &mut open),
                Value::Function(part) => take_apart(part, &mut open),
                Value::Map(part) => take_apart(part, &mut open),
                _ => {}
            }
        }
    }
}

/// What nobody else has is taken apart before it is dropped.
fn take_apart<T: Parts>(part: Rc<Counted<T>>, open: &mut Vec<Value>) {
    if let Ok(mut part) = Rc::try_unwrap(part) {
        part.0.take(open);
    }
}

/// The words that a counted part takes beside what is in it.
const HEAD: usize = 32;
const VALUE: usize = size_of::<Value>();

fn out(value: &mut Value, into: &mut Vec<Value>) {
    if matches!(value, Value::Cons(_) | Value::Tuple(_) | Value::Function(_) | Value::Map(_)) {
        into.push(std::mem::replace(value, Value::Nil));
    }
}

impl Parts for Cell {
    fn bytes(&self) -> usize {
        HEAD + 2 * VALUE
    }

    fn take(&mut self, into: &mut Vec<Value>) {
        out(&mut self.head, into);
        out(&mut self.tail, into);
    }
}

impl Parts for Box<[Value]> {
    fn bytes(&self) -> usize {
        HEAD + self.len() * VALUE
    }

    fn take(&mut self, into: &mut Vec<Value>) {
        self.iter_mut().for_each(|value| out(value, into));
    }
}

impl Parts for Callable {
    fn bytes(&self) -> usize {
        HEAD + 64 + self.captured.len() * VALUE
    }

    fn take(&mut self, into: &mut Vec<Value>) {
        self.captured.iter_mut().for_each(|value| out(value, into));
    }
}

impl Parts for Vec<(Value, Value)> {
    fn bytes(&self) -> usize {
        HEAD + self.len() * 2 * VALUE
    }

    fn take(&mut self, into: &mut Vec<Value>) {
        for (key, value) in self {
            out(key, into);
            out(value, into);
        }
    }
}

impl Parts for Box<[u8]> {
    fn bytes(&self) -> usize {
        HEAD + self.len()
    }

    fn take(&mut self, _: &mut Vec<Value>) {}
}

impl Parts for BigInt {
    fn bytes(&self) -> usize {
        HEAD + (self.bits() / 8) as usize
    }

    fn take(&mut self, _: &mut Vec<Value>) {}
}
