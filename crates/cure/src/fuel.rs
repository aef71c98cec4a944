//! The checker's budget of work for one text. Ordinary programs are checked in nearly linear time; a text that is
//! written to make the checker run forever is refused after the same amount of work each time.

use std::cell::Cell;
use std::rc::Rc;

use crate::diagnostic::{Diagnostic, Span, code};

thread_local! {
    /// The remaining budget of the current module. Unlimited outside a module.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// The budget of a text, and each module's additional budget per byte: in visits of a part of a type, each some five
/// nanoseconds.
const BASE: u64 = 300_000_000;
const FOR_A_BYTE: u64 = 500;

/// Spends fuel; returns whether any is left.
pub(crate) fn spend(units: usize) -> bool {
    LEFT.with(|left| {
        let rest = left.get().saturating_sub(units as u64);
        left.set(rest);
        rest > 0
    })
}

/// True if the budget is spent.
pub(crate) fn is_spent() -> bool {
    LEFT.get() == 0
}

/// The diagnostic for spent fuel, at the first place that was not checked.
pub(crate) fn too_much(span: Span) -> Diagnostic {
    let message = "checking this module takes more than a module may take; from here on it was not checked";
    Diagnostic::error(code::TOO_MUCH, span, message).hint("split it, or write types and conditions more simply")
}

/// Keeps the diagnostics from before the fuel was spent; later ones are unreliable.
pub(crate) fn before_spent(errors: &mut Vec<Diagnostic>, module: Span) {
    if !is_spent() {
        return;
    }
    match errors.iter().position(|error| error.code == code::TOO_MUCH) {
        Some(at) => errors.truncate(at + 1),
        None => errors.push(too_much(module)),
    }
}

/// The budget that all modules of a text share, in addition to each module's budget by length.
#[derive(Debug, Clone)]
pub(crate) struct Share(Rc<Cell<u64>>);

impl Default for Share {
    fn default() -> Share {
        Share(Rc::new(Cell::new(BASE)))
    }
}

/// The budget of one module; dropping it restores the previous one.
#[derive(Debug)]
pub(crate) struct Budget<'s> {
    before: u64,
    share: &'s Share,
}

impl Budget<'_> {
    /// A budget for a module of `bytes` bytes. Work beyond the module's own part is charged to the shared budget.
    pub(crate) fn new(bytes: usize, share: &Share) -> Budget<'_> {
        Budget { before: LEFT.replace(share.0.get() + FOR_A_BYTE * bytes as u64), share }
    }
}

impl Drop for Budget<'_> {
    fn drop(&mut self) {
        let left = LEFT.replace(self.before);
        self.share.0.set(left.min(self.share.0.get()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_stand_inside_of_each_other() {
        assert!(spend(1_000) && !is_spent());
        let share = Share::default();
        let outer = Budget::new(10, &share);
        assert!(spend(BASE as usize));
        {
            let other = Share::default();
            let _inner = Budget::new(0, &other);
            assert!(!spend(usize::MAX) && is_spent());
        }
        assert!(!is_spent() && spend(1));
        assert!(!spend(usize::MAX) && !spend(0));
        drop(outer);
        assert!(spend(usize::MAX / 2));
    }

    #[test]
    fn the_modules_of_a_text_share() {
        let share = Share::default();
        {
            let _one = Budget::new(10, &share);
            assert!(spend(10 * FOR_A_BYTE as usize));
        }
        // Each module has a budget by its length, and all share the rest.
        for rest in [BASE as usize - 1, 0] {
            let _next = Budget::new(10, &share);
            assert!(spend(10 * FOR_A_BYTE as usize + rest - usize::from(rest == 0)));
            assert!(!spend(1));
        }
    }
}
