//! Conditions over floats, strings and atoms.

use crate::diagnostic::{Code, code};
use crate::{NoSources, compile};

/// The common beginning.
pub(super) const HEAD: &str = "type Prob = {x: Float | x >= 0.0 and x <= 1.0}\n  type Some = {x: Float | x > 0.0}\n  type Filled = {s: String | s != \"\"}\n  type Side = {a: Atom | a == :left or a == :right}\n  type Late = {s: String | s > \"m\"}\n  def prob(x: Prob): Float = x\n  def some(x: Some): Float = 1.0 / x\n  def filled(s: Filled): Int = 1\n  def late(s: Late): Int = 1\n  def side(a: Side): Int =\n    match a do\n      :left -> 0\n      :right -> 1\n    end\n";

pub(super) const PAIRS: &[(&str, &str, Code)] = &[
    // Literals are compared.
    ("def f(): Float = prob(0.5)", "def f(): Float = prob(1.5)", code::REFUTED),
    ("def f(): Float = prob(1.0)", "def f(): Float = prob(-0.1)", code::REFUTED),
    ("def f(): Float = prob(-0.0)", "def f(): Float = some(-0.0)", code::REFUTED),
    ("def f(): Float = some(5.0e-324)", "def f(): Float = some(0.0)", code::REFUTED),
    ("def f(): Float = prob(0.25 + 0.75)", "def f(): Float = prob(0.5 + 0.75)", code::REFUTED),
    ("def f(): Int = filled(\"a\")", "def f(): Int = filled(\"\")", code::REFUTED),
    ("def f(): Int = late(\"n\" <> \"\")", "def f(): Int = late(\"l\" <> \"z\")", code::REFUTED),
    ("def f(): Int = late(\"ma\")", "def f(): Int = late(\"m\")", code::REFUTED),
    ("def f(): Int = side(:left)", "def f(): Int = side(:up)", code::REFUTED),
    // Tested conditions are known.
    (
        "def f(x: Float): Float = if x >= 0.0 and x <= 1.0 then prob(x) else 0.0",
        "def f(x: Float): Float = if x >= 0.0 and x <= 1.5 then prob(x) else 0.0",
        code::REFUTED,
    ),
    (
        "def f(x: Float): Float = if x > 0.0 then prob(if x < 1.0 then x else 1.0) else 0.0",
        "def f(x: Float): Float = if x > 0.0 then prob(if x < 2.0 then x else 1.0) else 0.0",
        code::REFUTED,
    ),
    (
        "def f(s: String): Int = if s != \"\" then filled(s) else 0",
        "def f(s: String): Int = if s != \"a\" then filled(s) else 0",
        code::REFUTED,
    ),
    (
        "def f(s: String): Int = if s == \"\" then 0 else filled(s)",
        "def f(s: String, t: String): Int = if t == \"\" then 0 else filled(s)",
        code::REFUTED,
    ),
    (
        "def f(s: String): Int = if s == \"b\" or s == \"c\" then filled(s) else 0",
        "def f(s: String): Int = if s == \"b\" or s == \"\" then filled(s) else 0",
        code::REFUTED,
    ),
    (
        "def f(s: String): Int = if s > \"m\" then late(s) else 0",
        "def f(s: String): Int = if s >= \"m\" then late(s) else 0",
        code::UNPROVED,
    ),
    (
        "def f(s: String): Int = if \"m\" >= s then 0 else late(s)",
        "def f(s: String): Int = if \"m\" >= s then late(s) else 0",
        code::UNPROVED,
    ),
    (
        "def f(s: String): Int =\n match s do\n \"\" -> 0\n t -> filled(t)\n end",
        "def f(s: String): Int =\n match s do\n \"a\" -> 0\n t -> filled(t)\n end",
        code::REFUTED,
    ),
    (
        "def f(s: String): Int =\n match s do\n \"\" -> 0\n _ -> filled(s)\n end",
        "def f(s: String): Int =\n match s do\n \"\" -> filled(s)\n _ -> 0\n end",
        code::REFUTED,
    ),
    (
        "def f(x: Float): Float =\n match x do\n 0.0 -> 1.0\n y -> 1.0 / y\n end",
        "def f(x: Float): Float =\n match x do\n 0.5 -> 1.0\n y -> 1.0 / y\n end",
        code::DIVISOR,
    ),
    (
        "def f(s: String): Int when s != \"\" = filled(s)\n def g(): Int = f(\"a\")",
        "def f(s: String): Int when s != \"\" = filled(s)\n def g(): Int = f(\"\")",
        code::PRECONDITION,
    ),
    ("def f(s: Filled): Int = filled(s)", "def f(s: Late): Int = filled(s)", code::REFUTED),
    ("def f(x: Prob): Prob = x", "def f(x: Some): Prob = x", code::REFUTED),
    (
        "def f(a: Atom): Int = if a == :left then side(a) else 0",
        "def f(a: Atom): Int = if a != :left then side(a) else 0",
        code::REFUTED,
    ),
    // A match on few texts leaves nothing out.
    (
        "def f(a: Side): Int =\n match a do\n :left -> 0\n :right -> 1\n end",
        "def f(a: Side): Int =\n match a do\n :left -> 0\n :up -> 1\n end",
        code::NOT_EXHAUSTIVE,
    ),
    // Through fields, variables and values of functions.
    (
        "record R do\n s: Filled\n end\n def f(r: R): Int = filled(r.s)",
        "record R do\n s: String\n end\n def f(r: R): Int = filled(r.s)",
        code::REFUTED,
    ),
    (
        "record R do\n s: String\n end\n def f(r: R): Int = if r.s != \"\" then filled(r.s) else 0",
        "record R do\n s: String\n end\n def f(r: R, q: R): Int = if q.s != \"\" then filled(r.s) else 0",
        code::REFUTED,
    ),
    (
        "def f(s: String): Filled =\n let t = s\n if t != \"\" then s else \"none\"",
        "def f(s: String): Filled =\n let t = s\n if t != \"none\" then s else \"none\"",
        code::REFUTED,
    ),
    (
        "def f(lo: Float, x: {x: Float | x >= lo}): {y: Float | y >= lo} = x",
        "def f(lo: Float, x: {x: Float | x >= lo}): {y: Float | y > lo} = x",
        code::REFUTED,
    ),
    (
        "def f(lo: Float, x: Float): Float =\n let y: {y: Float | y >= lo} = if x >= lo then x else lo\n y",
        "def f(lo: Float, x: Float): Float =\n let y: {y: Float | y >= lo} = if x <= lo then x else lo\n y",
        code::REFUTED,
    ),
    // Arithmetic of floats: what rounding cannot change.
    ("def f(x: Some, y: Some): Some = x + y", "def f(x: Some, y: Float): Some = x + y", code::UNPROVED),
    (
        "def f(x: Float): {y: Float | y >= 0.0} = x * x",
        "def f(x: Float, y: Float): {y: Float | y >= 0.0} = x * y",
        code::UNPROVED,
    ),
    (
        "def f(x: Float, y: Float): Float = if x > y then 1.0 / (x - y) else 0.0",
        "def f(x: Float, y: Float): Float = if x >= y then 1.0 / (x - y) else 0.0",
        code::DIVISOR,
    ),
    (
        "def f(x: {x: Float | x >= 0.0}, y: Some): {z: Float | z >= 0.0} = x / y",
        "def f(x: {x: Float | x >= 0.0}, y: Some): {z: Float | z > 0.0} = x / y",
        code::UNPROVED,
    ),
    ("def f(x: Some): {y: Float | y < 0.0} = -x", "def f(x: Some): {y: Float | y < 0.0} = x", code::REFUTED),
    (
        "def f(x: Float): Float = if x * x > 2.0 then some(x * x - 2.0) else 0.0",
        "def f(x: Float): Float = if x * x > 1.0 then some(x * x - 2.0) else 0.0",
        code::UNPROVED,
    ),
    // Joined strings are empty if all parts are.
    ("def f(s: String): Filled = \"a\" <> s", "def f(s: String): Filled = \"\" <> s", code::UNPROVED),
    ("def f(s: Filled): Filled = s <> s", "def f(s: String): Filled = s <> s", code::UNPROVED),
    ("def f(s: String): Filled = \"<#{s}>\"", "def f(s: String): Filled = \"#{s}\"", code::UNPROVED),
];

/// Each sum is related to the one before, so that the question about the last has more symbols than the solver follows.
#[test]
fn a_test_is_known_behind_a_long_computation() {
    let sums: String = (1..300).map(|at| format!("    let a{at} = a{} + x\n", at - 1)).collect();
    let program = |test: &str| {
        let body = format!("    let a0 = x\n{sums}    let d = a299 - x\n    if {test} then 1.0 / d else d\n");
        compile(&format!("module T do\n  def f(x: Float): Float =\n{body}end\n"), &NoSources)
    };
    assert!(program("d > 0.0").is_ok(), "{:?}", program("d > 0.0").diagnostics);
    assert!(!program("d >= 0.0").is_ok());
}
