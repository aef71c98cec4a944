//! How much work a module may be. Programs are checked in time that hardly grows faster than their length; what is
//! written to make the checker think for ever is told that it takes too much, after the same work each time.

use std::cell::Cell;

thread_local! {
    /// What is left for the module at hand. Without one, there is no bound.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// What every module may take, and for each byte of it: in visits of a part of a type, each some ten nanoseconds.
const BASE: u64 = 400_000_000;
const FOR_A_BYTE: u64 = 500;

/// Counts work. Says whether more may be done.
pub(crate) fn spend(units: usize) -> bool {
    LEFT.with(|left| {
        let rest = left.get().saturating_sub(units as u64);
        left.set(rest);
        rest > 0
    })
}

/// Whether all of it is spent.
pub(crate) fn is_spent() -> bool {
    LEFT.get() == 0
}

/// What one module may take; when it ends, what holds is again what held before.
#[derive(Debug)]
pub(crate) struct Budget {
    before: u64,
}

impl Budget {
    /// For a module of so many bytes.
    pub(crate) fn for_text(bytes: usize) -> Budget {
        Budget { before: LEFT.replace(BASE + FOR_A_BYTE * bytes as u64) }
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        LEFT.set(self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_stand_inside_of_each_other() {
        assert!(spend(1_000) && !is_spent());
        let outer = Budget::for_text(10);
        assert!(spend(BASE as usize));
        {
            let _inner = Budget::for_text(0);
            assert!(!spend(usize::MAX) && is_spent());
        }
        assert!(!is_spent() && spend(1));
        assert!(!spend(usize::MAX) && !spend(0));
        drop(outer);
        assert!(spend(usize::MAX / 2));
    }
}
