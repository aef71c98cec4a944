//! Memory of the interpreter's values. It is counted while a value lives, so that a run can be limited, and freed
//! without recursion, so that no value is too deep for the host's stack.

use std::cell::Cell as Slot;
use std::ops::Deref;
use std::rc::Rc;

use num_bigint::BigInt;

use super::value::{Callable, Cell, Value};

thread_local! {
    /// The bytes of all live values of this thread.
    static LIVE: Slot<usize> = const { Slot::new(0) };
}

/// The bytes of all live values of this thread.
pub(crate) fn live() -> usize {
    LIVE.get()
}

thread_local! {
    /// The number of parts that the current operation may still visit, and its initial allowance.
    static FUEL: Slot<(u64, u64)> = const { Slot::new((MOST_VISITS, MOST_VISITS)) };
}

/// The maximal number of parts that one operation may visit.
const MOST_VISITS: u64 = 50_000_000;

/// Counts visits of parts of values: comparing two values may take time proportional to their size, and shared parts
/// are visited each time they are met. Returns false when the allowance is used up; the operation is then aborted.
pub(crate) fn visit(parts: u64) -> bool {
    FUEL.with(|fuel| {
        let (left, full) = fuel.get();
        let left = left.saturating_sub(parts);
        fuel.set((left, full));
        left > 0
    })
}

/// Takes the number of visits since the last call (`None` if it exceeded the limit) and sets a new allowance.
pub(crate) fn visited(from_now_on: u64) -> Option<u64> {
    let full = from_now_on.clamp(1, MOST_VISITS);
    let (left, before) = FUEL.replace((full, full));
    (left > 0).then_some(before - left)
}

/// A heap-allocated part of a value.
pub(crate) trait Parts {
    /// The approximate size in bytes.
    fn bytes(&self) -> usize;
    /// Moves out the values that have parts themselves.
    fn take(&mut self, into: &mut Vec<Value>);
}

/// A part whose size is counted.
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

/// The last owner of a part takes it apart before the drop, so that dropping does not recurse.
fn take_apart<T: Parts>(part: Rc<Counted<T>>, open: &mut Vec<Value>) {
    if let Ok(mut part) = Rc::try_unwrap(part) {
        part.0.take(open);
    }
}

/// The overhead of a counted part, in words.
const HEAD: usize = 32;
const VALUE: usize = size_of::<Value>();

fn take_compound(value: &mut Value, into: &mut Vec<Value>) {
    if matches!(value, Value::Cons(_) | Value::Tuple(_) | Value::Function(_) | Value::Map(_)) {
        into.push(std::mem::replace(value, Value::Nil));
    }
}

impl Parts for Cell {
    fn bytes(&self) -> usize {
        HEAD + 2 * VALUE
    }

    fn take(&mut self, into: &mut Vec<Value>) {
        take_compound(&mut self.head, into);
        take_compound(&mut self.tail, into);
    }
}

impl Parts for Box<[Value]> {
    fn bytes(&self) -> usize {
        HEAD + self.len() * VALUE
    }

    fn take(&mut self, into: &mut Vec<Value>) {
        self.iter_mut().for_each(|value| take_compound(value, into));
    }
}

impl Parts for Callable {
    fn bytes(&self) -> usize {
        HEAD + 64 + self.captured.len() * VALUE
    }

    fn take(&mut self, into: &mut Vec<Value>) {
        self.captured.iter_mut().for_each(|value| take_compound(value, into));
    }
}

impl Parts for Vec<(Value, Value)> {
    fn bytes(&self) -> usize {
        HEAD + self.len() * 2 * VALUE
    }

    fn take(&mut self, into: &mut Vec<Value>) {
        for (key, value) in self {
            take_compound(key, into);
            take_compound(value, into);
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
