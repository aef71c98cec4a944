//! Refinements, preconditions and lengths: pairs of programs, one accepted and its twin rejected.

mod examples;
mod fields;
mod products;
mod texts;
mod value_conditions;

use crate::diagnostic::{Code, Diagnostic, code};
use crate::{NoSources, compile};

/// The common beginning of both twins.
const HEAD: &str = "type Pos2 = {x: Int | x > 0}\n  type NonZero = {x: Int | x != 0}\n  type Small = {x: Int | x >= 0 and x < 10}\n  def pos(n: Pos2): Int = n\n  def small(n: Small): Int = n\n  def div(a: Int, b: Int): Int when b != 0 = a / b\n  def same(a: Vector(Int, n), b: Vector(Int, n)): Int = 1\n  def both(a: List(Int, n), b: List(Int, n)): Int = 1\n  def tail(v: Vector(Int, n + 1)): Int = 1\n  def make(): Pos2 = 3\n  def first(xs: List(T, n)): T when n > 0 =\n    match xs do\n      [h | _] -> h\n    end\n";

/// The accepted program, the rejected one, and the code of its error.
const PAIRS: &[(&str, &str, Code)] = &[
    ("def f(): Int = pos(5)", "def f(): Int = pos(-5)", code::REFUTED),
    ("def f(): Int = pos(1)", "def f(): Int = pos(0)", code::REFUTED),
    ("def f(n: Pos2): Int = pos(n)", "def f(n: Int): Int = pos(n)", code::REFUTED),
    ("def f(n: Pos2): Int = pos(n + 1)", "def f(n: Pos2): Int = pos(n - 1)", code::REFUTED),
    (
        "def f(n: Int): Int = if n > 0 then pos(n) else 0",
        "def f(n: Int): Int = if n > 0 then 0 else pos(n)",
        code::REFUTED,
    ),
    (
        "def f(n: Int): Int = if n >= 1 then pos(n) else 0",
        "def f(n: Int): Int = if n >= 0 then pos(n) else 0",
        code::REFUTED,
    ),
    (
        "def f(n: Int): Int = if n < 0 then pos(-n) else 0",
        "def f(n: Int): Int = if n < 0 then pos(n) else 0",
        code::REFUTED,
    ),
    (
        "def f(n: Int): Int = if not (n <= 0) then pos(n) else 0",
        "def f(n: Int): Int = if not (n > 0) then pos(n) else 0",
        code::REFUTED,
    ),
    (
        "def f(n: Int): Int = pos(if n > 0 then n else 1)",
        "def f(n: Int): Int = pos(if n > 0 then n else 0)",
        code::REFUTED,
    ),
    (
        "def f(n: Int): Int =\n let m = n * n + 1\n if m > 0 then pos(m) else 0",
        "def f(n: Int): Int =\n let m = n * n\n pos(m)",
        code::UNPROVED,
    ),
    ("def f(n: Pos2): Int =\n let m = n + 2\n pos(m)", "def f(n: Pos2): Int =\n let m = n - 2\n pos(m)", code::REFUTED),
    ("def f(): Int = pos(make())", "def g(): Int = 3\n def f(): Int = pos(g())", code::UNPROVED),
    ("def f(n: Pos2): {x: Int | x > 1} = n + 1", "def f(n: Pos2): {x: Int | x > 1} = n", code::REFUTED),
    ("def f(n: Int): {x: Int | x >= n} = n + 1", "def f(n: Int): {x: Int | x > n} = n", code::REFUTED),
    (
        "def up(n: Int): {x: Int | x > n} = n + 1\n def f(n: Nat): Int = pos(up(n))",
        "def up(n: Int): {x: Int | x >= n} = n + 1\n def f(n: Nat): Int = pos(up(n))",
        code::UNPROVED,
    ),
    ("def f(n: Small): Int = small(9 - n)", "def f(n: Small): Int = small(10 - n)", code::REFUTED),
    (
        "def f(n: Int): Int = small(if n < 0 or n > 9 then 0 else n)",
        "def f(n: Int): Int = small(if n < 0 and n > 9 then 0 else n)",
        code::REFUTED,
    ),
    (
        "def f(n: Int): Int = if 2 * n == 6 then pos(n) else 0",
        "def f(n: Int): Int = if 2 * n < 6 then pos(n) else 0",
        code::REFUTED,
    ),
    ("def f(n: Int): Int = if n % 2 == 1 then pos(n % 2) else 0", "def f(n: Int): Int = pos(n % 2)", code::UNPROVED),
    ("def f(n: Nat): Int = small(n % 10)", "def f(n: Int): Int = small(n % 10)", code::UNPROVED),
    ("def f(n: Small): Int = small(n / 2)", "def f(n: Small): Int = pos(n / 2)", code::UNPROVED),
    ("def f(): Nat = 0", "def f(): Nat = -1", code::REFUTED),
    ("def f(n: Nat): Nat = n + 1", "def f(n: Nat): Nat = n - 1", code::REFUTED),
    ("def f(n: Pos2): Nat = n - 1", "def f(n: Int): Nat = n", code::REFUTED),
    (
        "def f(n: Nat): Nat = if n == 0 then 0 else n - 1",
        "def f(n: Nat): Nat = if n == 1 then 0 else n - 1",
        code::REFUTED,
    ),
    (
        "def f(n: Nat): Nat =\n match n do\n 0 -> 0\n m -> m - 1\n end",
        "def f(n: Nat): Nat =\n match n do\n 1 -> 0\n m -> m - 1\n end",
        code::REFUTED,
    ),
    ("def f(n: Pos2): Int = Pred(n)", "def f(n: Nat): Int = Pred(n)", code::PRECONDITION),
    ("def f(xs: List(Pos2)): List(Int) = xs", "def f(xs: List(Int)): List(Pos2) = xs", code::UNPROVED),
    ("def f(): List(Pos2) = [1, 2]", "def f(): List(Pos2) = [1, 0]", code::REFUTED),
    ("def f(): {Pos2, Int} = {1, 0}", "def f(): {Pos2, Int} = {0, 1}", code::REFUTED),
    ("def f(): Option(Pos2) = Some(1)", "def f(): Option(Pos2) = Some(0)", code::REFUTED),
    ("def f(o: Option(Pos2)): Option(Int) = o", "def f(o: Option(Int)): Option(Pos2) = o", code::UNPROVED),
    ("def f(g: Int => Pos2): Pos2 => Int = g", "def f(g: Pos2 => Int): Int => Int = g", code::UNPROVED),
    ("def f(): Int => Pos2 = fn(x) -> 1 end", "def f(): Int => Pos2 = fn(x) -> x end", code::REFUTED),
    (
        "record R do\n n: Pos2\n end\n def f(r: R): Int = pos(r.n)",
        "record R do\n n: Int\n end\n def f(r: R): Int = pos(r.n)",
        code::REFUTED,
    ),
    (
        "record R do\n n: Pos2\n end\n def f(): R = R{n: 1}",
        "record R do\n n: Pos2\n end\n def f(): R = R{n: 0}",
        code::REFUTED,
    ),
    (
        "record R do\n n: Pos2\n end\n def f(r: R): R = R{r | n: 1}",
        "record R do\n n: Pos2\n end\n def f(r: R): R = R{r | n: 0}",
        code::REFUTED,
    ),
    (
        "type S = C(Pos2) | D\n def f(s: S): Int =\n match s do\n C(n) -> pos(n)\n D -> 0\n end",
        "type S = C(Int) | D\n def f(s: S): Int =\n match s do\n C(n) -> pos(n)\n D -> 0\n end",
        code::REFUTED,
    ),
    (
        "def f(a: Int, b: Int): Int = if b != 0 then a / b else 0",
        "def f(a: Int, b: Int): Int = if b != 1 then a / b else 0",
        code::DIVISOR,
    ),
    (
        "def f(a: Int, b: Int): Bool = b != 0 and a / b > 1",
        "def f(a: Int, b: Int): Bool = b != 0 or a / b > 1",
        code::DIVISOR,
    ),
    (
        "def f(a: Int, b: Int): Bool = b == 0 or a / b > 1",
        "def f(a: Int, b: Int): Bool = a / b > 1 and b != 0",
        code::DIVISOR,
    ),
    ("def f(a: Int, b: NonZero): Int = a / b", "def f(a: Int, b: Nat): Int = a / b", code::DIVISOR),
    ("def f(a: Int): Int = a % 2", "def f(a: Int): Int = 2 % a", code::DIVISOR),
    ("def f(a: Float): Float = a / 2.0", "def f(a: Float): Float = 2.0 / a", code::DIVISOR),
    (
        "def f(a: Float): Float = if a > 0.0 then 1.0 / a else a",
        "def f(a: Float): Float = if a >= 0.0 then 1.0 / a else a",
        code::DIVISOR,
    ),
    (
        "def f(a: Int, b: Int): Int =\n match b do\n 0 -> 0\n n -> a / n\n end",
        "def f(a: Int, b: Int): Int =\n match b do\n 1 -> 0\n n -> a / n\n end",
        code::DIVISOR,
    ),
    (
        "def f(a: Int, b: Int): Int =\n match b == 0 do\n true -> 0\n false -> a / b\n end",
        "def f(a: Int, b: Int): Int =\n match b == 0 do\n false -> 0\n true -> a / b\n end",
        code::DIVISOR,
    ),
    ("def f(n: Pos2): Int = div(1, n)", "def f(n: Nat): Int = div(1, n)", code::PRECONDITION),
    (
        "def f(n: Int): Int = if n > 3 then div(1, n - 3) else 0",
        "def f(n: Int): Int = if n > 3 then div(1, n - 4) else 0",
        code::PRECONDITION,
    ),
    ("def f(): Int = same(‹1, 2›, ‹3, 4›)", "def f(): Int = same(‹1, 2›, ‹1, 2, 3›)", code::LENGTH),
    (
        "def f(v: Vector(Int, n), w: Vector(Int, n)): Int = same(v, w)",
        "def f(v: Vector(Int, n), w: Vector(Int, m)): Int = same(v, w)",
        code::LENGTH,
    ),
    (
        "def f(v: Vector(Int)): Int = same(v, v)",
        "def f(v: Vector(Int), w: Vector(Int)): Int = same(v, w)",
        code::LENGTH,
    ),
    ("def f(v: Vector(Int, n)): Vector(Int, n) = v", "def f(v: Vector(Int, n)): Vector(Int, n + 1) = v", code::LENGTH),
    (
        "def f(v: Vector(Int, n)): Vector(Int, n + 1) = [0 | v]",
        "def f(v: Vector(Int, n)): Vector(Int, n + 2) = [0 | v]",
        code::LENGTH,
    ),
    (
        "def f(a: List(Int, n), b: List(Int, m)): List(Int, n + m) = a ++ b",
        "def f(a: List(Int, n), b: List(Int, m)): List(Int, n) = a ++ b",
        code::LENGTH,
    ),
    (
        "def f(a: List(Int, n), b: List(Int, m)): Int = both(a ++ b, b ++ a)",
        "def f(a: List(Int, n), b: List(Int, m)): Int = both(a ++ b, b ++ b)",
        code::LENGTH,
    ),
    ("def f(): Int = tail(‹1›)", "def f(): Int = tail(‹›)", code::LENGTH),
    ("def f(): Int = first([1])", "def f(): Int = first([])", code::PRECONDITION),
    (
        "def f(xs: List(Int)): Int =\n match xs do\n [] -> 0\n [_ | _] -> first(xs)\n end",
        "def f(xs: List(Int)): Int = first(xs)",
        code::PRECONDITION,
    ),
    (
        "def f(v: Vector(Int, n)): Int =\n match v do\n [_ | t] -> same([0 | t], v)\n [] -> 0\n end",
        "def f(v: Vector(Int, n)): Int =\n match v do\n [_ | t] -> same(t, v)\n [] -> 0\n end",
        code::LENGTH,
    ),
    (
        "def f(xs: List(Int, n)): Int when n > 1 =\n match xs do\n [_, b | _] -> b\n end",
        "def f(xs: List(Int, n)): Int when n > 0 =\n match xs do\n [_, b | _] -> b\n end",
        code::NOT_EXHAUSTIVE,
    ),
    (
        "def f(n: Int): Int when n <= 0 = 0\n def f(n: Int): Int when n > 0 = 1",
        "def f(n: Int): Int when n < 0 = 0\n def f(n: Int): Int when n > 0 = 1",
        code::NOT_EXHAUSTIVE,
    ),
    (
        "def f(n: Small): Int =\n match n do\n m when m < 5 -> 0\n m when m >= 5 -> 1\n end",
        "def f(n: Small): Int =\n match n do\n m when m < 5 -> 0\n m when m > 5 -> 1\n end",
        code::NOT_EXHAUSTIVE,
    ),
    (
        "def f(p: {Int, Int}): Int =\n match p do\n {a, b} when a < b -> 0\n {a, b} when a >= b -> 1\n end",
        "def f(p: {Int, Int}): Int =\n match p do\n {a, b} when a < b -> 0\n {a, b} when a > b -> 1\n end",
        code::NOT_EXHAUSTIVE,
    ),
    // Aliases of aliases, values through several variables, nested calls, results of results.
    (
        "type Both = Small\n def b(n: Both): Int = n\n def f(): Int = b(9)",
        "type Both = Small\n def b(n: Both): Int = n\n def f(): Int = b(10)",
        code::REFUTED,
    ),
    (
        "def g(n: {x: Int | x > 0}): Int = n\n def f(): Int = g(5)",
        "def g(n: {x: Int | x > 0}): Int = n\n def f(): Int = g(-5)",
        code::REFUTED,
    ),
    (
        "def g(n: Pos2): Pos2 = n + 1\n def f(n: Pos2): Int = pos(g(g(n)))",
        "def g(n: Pos2): Int = n - 1\n def f(n: Pos2): Int = pos(g(g(n)))",
        code::UNPROVED,
    ),
    (
        "def f(v: Vector(Int, n)): Int =\n let w = v\n let u = w\n same(u, v)",
        "def f(v: Vector(Int, n), x: Vector(Int, m)): Int =\n let w = v\n let u = x\n same(u, w)",
        code::LENGTH,
    ),
    (
        "type V3 = Vector(Int, 3)\n def f(v: V3): Int = same(v, ‹1, 2, 3›)",
        "type V3 = Vector(Int, 3)\n def f(v: V3): Int = same(v, ‹1, 2›)",
        code::LENGTH,
    ),
    (
        "def g(v: Vector(Int, n)): Vector(Int, n) = v\n def f(v: Vector(Int, n)): Int = same(g(g(v)), v)",
        "def g(v: Vector(Int, n)): Vector(Int, n + 1) = [0 | v]\n def f(v: Vector(Int, n)): Int = same(g(g(v)), v)",
        code::LENGTH,
    ),
    (
        "def f(v: Vector(Int, n + 2)): Int =\n match v do\n [_, _ | t] -> same([1 | t], [2 | t])\n end",
        "def f(v: Vector(Int, n + 2)): Int =\n match v do\n [_, _ | t] -> same([1 | t], t)\n end",
        code::LENGTH,
    ),
    (
        "def f(c: Bool): Int = same(if c then ‹1› else ‹2›, ‹3›)",
        "def f(c: Bool): Int = same(if c then ‹1› else ‹2, 2›, ‹3›)",
        code::LENGTH,
    ),
    (
        "def f(n: Int): Int =\n let m = match n do\n k when k > 0 -> k\n _ -> 1\n end as Pos2\n pos(m * 2)",
        "def f(n: Int): Int =\n let m = match n do\n k when k > 0 -> k\n _ -> 0\n end as Nat\n pos(m * 2)",
        code::UNPROVED,
    ),
    // Unreachable code needs no proof; code that one more value reaches needs one.
    (
        "def f(a: Int, b: Int): Int = if b > 0 then (if b < 1 then a / 0 else a) else a",
        "def f(a: Int, b: Int): Int = if b > 0 then (if b < 2 then a / 0 else a) else a",
        code::DIVISOR,
    ),
];

/// All pairs, with their common beginnings.
fn pairs() -> impl Iterator<Item = (&'static str, &'static (&'static str, &'static str, Code))> {
    let tables = [
        (HEAD, PAIRS),
        (texts::HEAD, texts::PAIRS),
        (fields::HEAD, fields::PAIRS),
        (products::HEAD, products::PAIRS),
        (value_conditions::HEAD, value_conditions::PAIRS),
    ];
    tables.into_iter().flat_map(|(head, pairs)| pairs.iter().map(move |pair| (head, pair)))
}

fn diagnostics(head: &str, body: &str) -> Vec<Diagnostic> {
    compile(&format!("module T do\n  {head}  {body}\nend\n"), &NoSources).diagnostics
}

/// The exact message for each rejected twin: with a counter-example, or with the missing condition.
#[test]
fn each_refusal_says_why() {
    let mut text = String::new();
    for (head, (_, bad, _)) in pairs() {
        text.push_str(&format!("{}\n", bad.replace('\n', " ¶")));
        for one in diagnostics(head, bad).iter().filter(|one| one.is_error()) {
            text.push_str(&format!("    {} {}\n", one.code, one.message));
            one.hints.iter().for_each(|hint| text.push_str(&format!("        {hint}\n")));
        }
    }
    expect_test::expect_file!["../../../../tests/data/refinements.txt"].assert_eq(&text);
}

/// Asserts for every pair that the first program is accepted and its twin rejected.
fn hold(head: &str, pairs: &[(&str, &str, Code)], at_least: usize) {
    let mut faults = Vec::new();
    for (good, bad, code) in pairs {
        let said = diagnostics(head, good);
        let said: Vec<_> = said.iter().map(|one| format!("{} {} {:?}", one.code, one.message, one.hints)).collect();
        if !said.is_empty() {
            faults.push(format!("refused: {good}\n    {}", said.join("\n    ")));
        }
        let said = diagnostics(head, bad);
        if !said.iter().any(|one| one.is_error() && one.code == *code) {
            let said: Vec<_> = said.iter().map(|one| format!("{} {} {:?}", one.code, one.message, one.hints)).collect();
            faults.push(format!("not refused with {code}: {bad}\n    {}", said.join("\n    ")));
        }
    }
    assert!(faults.is_empty(), "{} of {} pairs\n{}", faults.len(), pairs.len(), faults.join("\n"));
    assert!(pairs.len() >= at_least, "{} pairs", pairs.len());
}

#[test]
fn refinements_preconditions_and_lengths() {
    hold(HEAD, PAIRS, 70);
}

#[test]
fn conditions_over_floats_strings_and_atoms_can_be_met() {
    hold(texts::HEAD, texts::PAIRS, 30);
}

#[test]
fn what_is_known_of_fields_is_kept() {
    hold(fields::HEAD, fields::PAIRS, 20);
}

#[test]
fn quotients_and_remainders_by_variables() {
    hold(products::HEAD, products::PAIRS, 10);
}

#[test]
fn type_variables_keep_what_values_say() {
    hold(value_conditions::HEAD, value_conditions::PAIRS, 30);
}
