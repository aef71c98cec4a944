//! Register allocation: a variable that must survive a call lives in a Y register of the frame, any other in an X
//! register. A variable keeps one register for life; registers are assigned in order and freed after the last use.

use super::flat::{Flat, Op};
use super::instruction::Register;
use crate::ir::form::Var;

/// The maximal number of X registers for variables; the machine has more, which calls and exchanges use.
const X_REGISTERS: u32 = 200;
/// The maximal number of slots in a frame.
pub(super) const Y_REGISTERS: u32 = 1000;

/// The registers of a function's variables.
#[derive(Debug)]
pub(super) struct Places {
    /// By variable; `None` for a variable that is never computed or read.
    homes: Vec<Option<Register>>,
    /// By variable: where its value becomes available and where it is last read.
    lives: Vec<(u32, u32)>,
    /// The number of slots of the frame, if there is one.
    pub frame: Option<u32>,
    /// The first X register above those of all variables.
    pub above: u32,
}

impl Places {
    /// The register of a variable.
    pub(super) fn home(&self, var: Var) -> Option<Register> {
        self.homes[var.0 as usize]
    }

    /// The end of a variable's life.
    pub(super) fn last(&self, var: Var) -> u32 {
        self.lives[var.0 as usize].1
    }
}

/// The number of an operation: parameters are available at 0, the operations count from 1.
pub(super) fn position(at: usize) -> u32 {
    at as u32 + 1
}

/// Assigns a register to every variable. `None` if more values are live at once than a frame has slots.
pub(super) fn assign_registers(flat: &Flat<'_>, arity: u32) -> Option<Places> {
    let count = flat.variables as usize;
    let mut lives = vec![(0_u32, 0_u32); count];
    let mut used = vec![false; count];
    for (at, op) in flat.ops.iter().enumerate() {
        op.uses(&mut |var| {
            lives[var.0 as usize].1 = position(at);
            used[var.0 as usize] = true;
        });
        if let Some(var) = op.defines() {
            lives[var.0 as usize] = (position(at), position(at));
        }
    }
    // The first call at or after each operation.
    let mut calls = vec![u32::MAX; flat.ops.len() + 2];
    for (at, op) in flat.ops.iter().enumerate().rev() {
        calls[at + 1] = if op.calls() { position(at) } else { calls[at + 2] };
    }
    let crosses = |(from, to): (u32, u32)| calls.get(from as usize + 1).is_some_and(|call| *call < to);

    let mut giving = Giving { x: Pool::default(), y: Pool::default(), open: Vec::new() };
    let mut homes = vec![None; count];
    let mut above = arity;
    for param in (0..arity).filter(|param| used[*param as usize]) {
        let life = lives[param as usize];
        let home = if crosses(life) { Register::Y(giving.y.take()) } else { Register::X(param) };
        if let Register::X(x) = home {
            giving.x.reserve(x);
        }
        giving.open.push((life.1, home));
        homes[param as usize] = Some(home);
    }
    for (at, op) in flat.ops.iter().enumerate() {
        let Some(var) = op.defines() else { continue };
        giving.close(position(at));
        let life = lives[var.0 as usize];
        let home = if crosses(life) || giving.x.lowest() >= X_REGISTERS {
            Register::Y(giving.y.take())
        } else {
            Register::X(giving.x.take())
        };
        if giving.y.size > Y_REGISTERS {
            return None;
        }
        if let Register::X(x) = home {
            above = above.max(x + 1);
        }
        giving.open.push((life.1, home));
        homes[var.0 as usize] = Some(home);
    }
    let framed = giving.y.size > 0 || flat.ops.iter().any(Op::needs_frame);
    Some(Places { homes, lives, frame: framed.then_some(giving.y.size), above })
}

struct Giving {
    x: Pool,
    y: Pool,
    /// Registers in use, with their last reads.
    open: Vec<(u32, Register)>,
}

impl Giving {
    /// Frees the registers whose last read is at this operation or before it.
    fn close(&mut self, now: u32) {
        let (x, y) = (&mut self.x, &mut self.y);
        self.open.retain(|(last, home)| {
            let over = *last <= now;
            match home {
                Register::X(at) if over => x.give(*at),
                Register::Y(at) if over => y.give(*at),
                _ => {}
            }
            !over
        });
    }
}

/// A pool of numbers that gives the lowest free one first.
#[derive(Default)]
struct Pool {
    free: std::collections::BTreeSet<u32>,
    size: u32,
}

impl Pool {
    fn lowest(&self) -> u32 {
        self.free.first().copied().unwrap_or(self.size)
    }

    fn take(&mut self) -> u32 {
        self.free.pop_first().unwrap_or_else(|| {
            self.size += 1;
            self.size - 1
        })
    }

    fn reserve(&mut self, at: u32) {
        self.free.extend(self.size..at);
        self.size = self.size.max(at + 1);
        self.free.remove(&at);
    }

    fn give(&mut self, at: u32) {
        self.free.insert(at);
    }
}

/// A set of X registers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Valid([u64; 5]);

impl Valid {
    pub(super) fn first_registers(count: u32) -> Valid {
        let mut valid = Valid::default();
        (0..count).for_each(|x| valid.add(x));
        valid
    }

    pub(super) fn has(self, x: u32) -> bool {
        self.0.get(x as usize / 64).is_some_and(|word| word & (1 << (x % 64)) != 0)
    }

    pub(super) fn add(&mut self, x: u32) {
        if let Some(word) = self.0.get_mut(x as usize / 64) {
            *word |= 1 << (x % 64);
        }
    }

    pub(super) fn up_to(self, count: u32) -> Valid {
        let mut kept = Valid::default();
        (0..count).filter(|x| self.has(*x)).for_each(|x| kept.add(x));
        kept
    }
}
