//! Type variables under no class keep what values say.

use crate::diagnostic::{Code, code};

/// The common beginning.
pub(super) const HEAD: &str = "import Std.List [map/2, filter/2, fold/3, take/2, cons/2, append/2, head/2, reverse/2]\n  type Some1 = {x: Int | x > 0}\n  type Row = Vector(Int, 2)\n  type Tree(T) = Leaf | Node(Tree(T), T, Tree(T))\n  record Box(T) do\n    of: T\n  end\n  record Step(T) do\n    of: T\n    next: T => T\n  end\n  def pos(n: Some1): Int = n\n  def inc(n: Some1): Some1 = n + 1\n  def twin(a: T, b: T): T = a\n  def turn(f: A => B, x: A): B = f(x)\n  def dot(a: Row, b: Row): Int = 1\n  def pred(x: T): T => Bool = fn(y) -> x == y end\n  def find(xs: List(T), p: T => Bool): Option(T) =\n    match xs do\n      [] -> None\n      [h | t] -> if p(h) then Some(h) else find(t, p)\n    end\n";

pub(super) const PAIRS: &[(&str, &str, Code)] = &[
    // Through the library.
    (
        "def f(xs: List(Some1)): List(Int) = map(xs, fn(x) -> 10 / x end)",
        "def f(xs: List(Nat)): List(Int) = map(xs, fn(x) -> 10 / x end)",
        code::DIVISOR,
    ),
    (
        "def f(xs: List(Some1)): List(Some1) = map(xs, fn(x) -> x + 1 end)",
        "def f(xs: List(Some1)): List(Some1) = map(xs, fn(x) -> x - 1 end)",
        code::REFUTED,
    ),
    (
        "def f(xs: List(Some1)): List(Some1) =\n let ys = filter(xs, fn(x) -> x > 3 end)\n take(ys, 2)",
        "def f(xs: List(Int)): List(Some1) =\n let ys = filter(xs, fn(x) -> x > 3 end)\n take(ys, 2)",
        code::UNPROVED,
    ),
    (
        "def f(xs: List(Some1)): List(Int) = map(filter(take(xs, 3), fn(x) -> x > 3 end), fn(y) -> 10 / y end)",
        "def f(xs: List(Some1)): List(Int) = map(filter(take(xs, 3), fn(x) -> x > 3 end), fn(y) -> 10 / (y - 1) end)",
        code::DIVISOR,
    ),
    (
        "def f(xs: List(Some1)): List(Int) = xs |> filter(fn(x) -> x > 3 end) |> map(fn(y) -> 10 / y end)",
        "def f(xs: List(Int)): List(Int) = xs |> filter(fn(x) -> x > 3 end) |> map(fn(y) -> 10 / y end)",
        code::DIVISOR,
    ),
    (
        "def f(xs: List(Nat)): Nat = fold(xs, 0, fn(x) -> fn(sum) -> x + sum end end)",
        "def f(xs: List(Nat)): Nat = fold(xs, 0, fn(x) -> fn(sum) -> x - sum end end)",
        code::REFUTED,
    ),
    (
        "def f(xs: List(Some1)): Int = fold(xs, 100, fn(x) -> fn(rest) -> rest / x end end)",
        "def f(xs: List(Some1)): Int = fold(xs, 100, fn(x) -> fn(rest) -> x / rest end end)",
        code::DIVISOR,
    ),
    // The accumulator of a fold differs from its initial value.
    (
        "def f(xs: List(Int), start: Some1): Int = fold(xs, start, fn(x) -> fn(sum) -> sum - x end end)",
        "def f(xs: List(Int), start: Some1): Some1 = fold(xs, start, fn(x) -> fn(sum) -> sum - x end end)",
        code::REFUTED,
    ),
    (
        "def f(xs: List(Some1)): Int =\n match find(xs, fn(x) -> x > 3 end) do\n Some(n) -> 10 / n\n None -> 0\n end",
        "def f(xs: List(Int)): Int =\n match find(xs, fn(x) -> x > 3 end) do\n Some(n) -> 10 / n\n None -> 0\n end",
        code::DIVISOR,
    ),
    (
        "def f(xs: List(Some1)): List(Some1) = map(xs, inc)",
        "def f(xs: List(Int)): List(Some1) = map(xs, inc)",
        code::UNPROVED,
    ),
    (
        "def f(xs: List(Some1)): List(Int) = map(xs, pos)",
        "def f(xs: List(Nat)): List(Int) = map(xs, pos)",
        code::UNPROVED,
    ),
    ("def f(): Int = turn(pos, 5)", "def f(): Int = turn(pos, 0)", code::REFUTED),
    (
        "def f(p: Some1): Int = turn(fn(x) -> 10 / x end, p)",
        "def f(p: Nat): Int = turn(fn(x) -> 10 / x end, p)",
        code::DIVISOR,
    ),
    (
        "def f(p: Some1): Int = turn(fn(x: Some1) -> 10 / x end, p)",
        "def f(p: Nat): Int = turn(fn(x: Some1) -> 10 / x end, p)",
        code::UNPROVED,
    ),
    // All that flows in has to say it.
    (
        "def f(xs: List(Some1), p: Some1): Int = 10 / head(xs, p)",
        "def f(xs: List(Some1), p: Int): Int = 10 / head(xs, p)",
        code::DIVISOR,
    ),
    ("def f(xs: List(Some1)): Int = 10 / head(xs, 7)", "def f(xs: List(Some1)): Int = 10 / head(xs, 0)", code::DIVISOR),
    ("def f(p: Some1): Int = 10 / twin(p, 1)", "def f(p: Some1): Int = 10 / twin(p, 0)", code::DIVISOR),
    ("def f(p: Some1): Int = 10 / twin(1, p) + twin(0, p)", "def f(p: Some1): Int = 10 / twin(0, p)", code::DIVISOR),
    (
        "def f(p: Some1): Int = 10 / head(cons(p, []), 1)",
        "def f(p: Some1): Int = 10 / head(cons(p, [0]), 1)",
        code::DIVISOR,
    ),
    (
        "def f(xs: List(Some1)): List(Some1) = reverse(xs, [])",
        "def f(xs: List(Some1)): List(Some1) = reverse(xs, [0])",
        code::REFUTED,
    ),
    (
        "def f(xs: List(Some1)): Int =\n let ys = append(xs, [])\n 10 / head(ys, 1)",
        "def f(xs: List(Some1)): Int =\n let ys = append(xs, [0])\n 10 / head(ys, 1)",
        code::DIVISOR,
    ),
    // Lists, constructors, records and choices that are written.
    (
        "def f(p: Some1, q: Some1): List(Int) =\n let xs = [p, q, 3]\n map(xs, fn(x) -> 10 / x end)",
        "def f(p: Some1, q: Some1): List(Int) =\n let xs = [p, q, 0]\n map(xs, fn(x) -> 10 / x end)",
        code::DIVISOR,
    ),
    (
        "def f(p: Some1, xs: List(Some1)): List(Int) =\n let ys = [p | xs]\n map(ys, fn(x) -> 10 / x end)",
        "def f(p: Some1, xs: List(Int)): List(Int) =\n let ys = [p | xs]\n map(ys, fn(x) -> 10 / x end)",
        code::DIVISOR,
    ),
    (
        "def f(xs: List(Some1), ys: List(Some1)): List(Some1) =\n let zs = xs ++ ys\n zs",
        "def f(xs: List(Some1), ys: List(Int)): List(Some1) =\n let zs = xs ++ ys\n zs",
        code::UNPROVED,
    ),
    (
        "def f(xs: List(Some1)): List(Some1) = xs ++ [1] ++ []",
        "def f(xs: List(Some1)): List(Some1) = xs ++ [0] ++ []",
        code::REFUTED,
    ),
    (
        "def f(): List(Vector(Int, 2)) = [[1, 2]] ++ [[3, 4]]",
        "def f(): List(Vector(Int, 2)) = [[1, 2]] ++ [[3]]",
        code::LENGTH,
    ),
    (
        "def g(p: Some1): Option(Some1) = if p > 3 then Some(p) else None\n def f(p: Some1): Int =\n let o = Some(g(p))\n match o do\n Some(Some(n)) -> 10 / n\n _ -> 0\n end",
        "def g(p: Some1): Option(Int) = if p > 3 then Some(p) else None\n def f(p: Some1): Int =\n let o = Some(g(p))\n match o do\n Some(Some(n)) -> 10 / n\n _ -> 0\n end",
        code::DIVISOR,
    ),
    (
        "def f(p: Some1): Int =\n let t = Node(Leaf, p, Node(Leaf, 3, Leaf))\n match t do\n Node(_, _, Node(_, n, _)) -> 10 / n\n end",
        "def f(p: Some1): Int =\n let t = Node(Leaf, p, Node(Leaf, 0, Leaf))\n match t do\n Node(_, _, Node(_, n, _)) -> 10 / n\n _ -> 0\n end",
        code::DIVISOR,
    ),
    (
        "def f(p: Some1): Box(Some1) =\n let b = Box{of: p}\n b",
        "def f(p: Int): Box(Some1) =\n let b = Box{of: p}\n b",
        code::UNPROVED,
    ),
    (
        "def f(c: Bool, xs: List(Some1), ys: List(Some1)): List(Some1) =\n let zs = if c then xs else ys\n zs",
        "def f(c: Bool, xs: List(Some1), ys: List(Int)): List(Some1) =\n let zs = if c then xs else ys\n zs",
        code::UNPROVED,
    ),
    (
        "def f(n: Int, xs: List(Some1)): List(Some1) =\n let zs = match n do\n 0 -> []\n 1 -> take(xs, 1)\n _ -> xs\n end\n zs",
        "def f(n: Int, xs: List(Some1)): List(Some1) =\n let zs = match n do\n 0 -> []\n 1 -> take(xs, 1)\n _ -> [n]\n end\n zs",
        code::UNPROVED,
    ),
    // What changes in both directions keeps nothing.
    (
        "def f(p: Some1): Bool = pred(p)(0)",
        "def f(p: Some1): Some1 => Bool = fn(x: Int) -> 10 / x > 0 end",
        code::DIVISOR,
    ),
    (
        "def g(s: Step(Int)): Int = s.next(s.of)\n def f(p: Some1): Int =\n let s = Step{of: p, next: fn(x) -> x - 1 end}\n g(s)",
        "def g(s: Step(Int)): Int = s.next(s.of)\n def f(p: Some1): Int =\n let s = Step{of: p, next: fn(x) -> x - 1 end}\n 10 / s.next(s.of)",
        code::DIVISOR,
    ),
    // Lengths with names and numbers are kept as well.
    (
        "def f(rows: List(Row), v: Row): List(Int) = map(rows, fn(row) -> dot(row, v) end)",
        "def f(rows: List(List(Int)), v: Row): List(Int) = map(rows, fn(row) -> dot(v, row) end)",
        code::MISMATCH,
    ),
    (
        "def f(rows: List(Vector(Int, n)), v: Vector(Int, n)): List(List(Vector(Int, n))) = map(rows, fn(row) -> [row, v] end)",
        "def f(rows: List(Vector(Int, m)), v: Vector(Int, n)): List(List(Vector(Int, n))) = map(rows, fn(row) -> [row, v] end)",
        code::LENGTH,
    ),
    (
        "def f(v: Vector(Int, n)): Vector(Int, n) =\n let w = Std.Core.identity(v)\n w",
        "def f(v: Vector(Int, n), u: Vector(Int, m)): Vector(Int, n) =\n let w = twin(v, u)\n w",
        code::LENGTH,
    ),
    // Knowledge about a value selected by a test.
    (
        "def f(n: Int): Int =\n let d = match n do\n 0 -> 1\n k -> k\n end\n 10 / d",
        "def f(n: Int): Int =\n let d = match n do\n 1 -> 1\n k -> k\n end\n 10 / d",
        code::DIVISOR,
    ),
];
