//! Knowledge about the fields of constructors and records.

use crate::diagnostic::{Code, code};

/// The common beginning.
pub(super) const HEAD: &str = "type NonZero = {x: Int | x != 0}\n  type Shape = Dot | Line(Int) | Box(Int, Int)\n  type Tree = Leaf | Node(Tree, Int, Tree)\n  record R do\n    n: Int\n    m: Int\n    k: NonZero\n  end\n  def use(n: NonZero): Int = 10 / n\n";

pub(super) const PAIRS: &[(&str, &str, Code)] = &[
    // What an earlier clause takes, a later one does not get.
    (
        "def f(o: Option(Int)): Int =\n match o do\n None -> 0\n Some(0) -> 0\n Some(n) -> 10 / n\n end",
        "def f(o: Option(Int)): Int =\n match o do\n None -> 0\n Some(1) -> 0\n Some(n) -> 10 / n\n end",
        code::DIVISOR,
    ),
    (
        "def f(s: Shape): Int =\n match s do\n Box(0, _) -> 0\n Box(a, b) -> b / a\n Line(n) -> n\n Dot -> 0\n end",
        "def f(s: Shape): Int =\n match s do\n Box(_, 0) -> 0\n Box(a, b) -> b / a\n Line(n) -> n\n Dot -> 0\n end",
        code::DIVISOR,
    ),
    (
        "def f(s: Shape): Int =\n match s do\n Line(0) -> 0\n Box(0, 0) -> 0\n Line(n) -> 1 / n\n Box(a, b) -> if a == 0 then 1 / b else 1 / a\n Dot -> 0\n end",
        "def f(s: Shape): Int =\n match s do\n Box(0, 0) -> 0\n Line(n) -> 1 / n\n Box(a, b) -> if a == 0 then 1 / b else 1 / a\n Dot -> 0\n end",
        code::DIVISOR,
    ),
    // Knowledge about one constructor does not apply to another.
    (
        "def f(s: Shape): Int =\n match s do\n Box(0, _) -> 0\n Line(0) -> 0\n Line(n) -> 1 / n\n Box(a, _) -> 1 / a\n Dot -> 0\n end",
        "def f(s: Shape): Int =\n match s do\n Box(0, _) -> 0\n Line(n) -> 1 / n\n Box(a, _) -> 1 / a\n Dot -> 0\n end",
        code::DIVISOR,
    ),
    (
        "def f(o: Option(Int)): Int =\n match o do\n Some(n) when n >= 0 -> n\n Some(n) -> 1 / n\n None -> 0\n end",
        "def f(o: Option(Int)): Int =\n match o do\n Some(n) when n > 0 -> n\n Some(n) -> 1 / n\n None -> 0\n end",
        code::DIVISOR,
    ),
    (
        "def f(o: Option(Option(Int))): Int =\n match o do\n Some(Some(0)) -> 0\n Some(Some(n)) -> 1 / n\n _ -> 0\n end",
        "def f(o: Option(Option(Int))): Int =\n match o do\n Some(None) -> 0\n Some(Some(n)) -> 1 / n\n _ -> 0\n end",
        code::DIVISOR,
    ),
    (
        "def f(t: Tree): Int =\n match t do\n Node(Leaf, 0, _) -> 0\n Node(Leaf, n, _) -> 1 / n\n _ -> 0\n end",
        "def f(t: Tree): Int =\n match t do\n Node(Leaf, 0, _) -> 0\n Node(_, n, _) -> 1 / n\n _ -> 0\n end",
        code::DIVISOR,
    ),
    (
        "def f(r: Result(String, Int)): String =\n match r do\n Ok(\"\") -> \"none\"\n Ok(s) -> s as {s: String | s != \"\"}\n Error(_) -> \"\"\n end",
        "def f(r: Result(String, Int)): String =\n match r do\n Ok(\"a\") -> \"none\"\n Ok(s) -> s as {s: String | s != \"\"}\n Error(_) -> \"\"\n end",
        code::REFUTED,
    ),
    (
        "def f(p: {Int, Int}): Int =\n match p do\n {a, a} -> 0\n {a, b} -> 1 / (a - b)\n end",
        "def f(p: {Int, Int}): Int =\n match p do\n {a, 1} -> 0\n {a, b} -> 1 / (a - b)\n end",
        code::DIVISOR,
    ),
    (
        "def f(xs: List(Int)): Int =\n match xs do\n [0 | _] -> 0\n [n | _] -> 1 / n\n [] -> 0\n end",
        "def f(xs: List(Int)): Int =\n match xs do\n [_, 0 | _] -> 0\n [n | _] -> 1 / n\n [] -> 0\n end",
        code::DIVISOR,
    ),
    // A field read from a new value is known, and so is its constructor.
    (
        "def f(k: Int): Int =\n let Some(n) = Some(k)\n n",
        "def f(k: Int): Int =\n let None = Some(k)\n 1",
        code::NOT_EXHAUSTIVE,
    ),
    (
        "def f(k: Int): Int = match {Ok(k), None} do\n {Ok(n), None} -> n\n end",
        "def f(k: Int): Int = match {Ok(k), None} do\n {Ok(n), Some(_)} -> n\n end",
        code::NOT_EXHAUSTIVE,
    ),
    (
        "def f(c: Bool): Int = match Some(c) do\n Some(true) -> 1\n Some(false) -> 2\n end",
        "def f(c: Bool, k: Int): Int = match (if c then Some(k) else None) do\n Some(n) -> n\n end",
        code::NOT_EXHAUSTIVE,
    ),
    (
        "def f(): Int =\n let o = Some(3)\n match o do\n Some(n) -> 10 / n\n end",
        "def f(k: Int): Int =\n let o = Some(k)\n match o do\n Some(n) -> 10 / n\n None -> 0\n end",
        code::DIVISOR,
    ),
    (
        "def f(r: R): Int =\n let q = R{n: 1, m: r.m, k: r.k}\n 10 / q.n",
        "def f(r: R): Int =\n let q = R{n: 1, m: r.m, k: r.k}\n 10 / q.m",
        code::DIVISOR,
    ),
    (
        "def f(r: R): Int = match R{n: 2, m: 0, k: 1} do\n R{n: n} -> 10 / n\n end",
        "def f(r: R): Int = match R{n: 2, m: 0, k: 1} do\n R{m: n} -> 10 / n\n end",
        code::DIVISOR,
    ),
    // An update leaves the other fields as they are.
    (
        "def f(r: R): Int = if r.n != 0 then 10 / R{r | m: 1}.n else 0",
        "def f(r: R): Int = if r.n != 0 then 10 / R{r | n: r.m}.n else 0",
        code::DIVISOR,
    ),
    (
        "def f(r: R): Int =\n let q = R{r | m: 5}\n if r.n > 0 then q.m / q.n else 0",
        "def f(r: R): Int =\n let q = R{r | m: 5}\n if r.n > 0 then q.n / (q.m - 5) else 0",
        code::DIVISOR,
    ),
    (
        "def f(r: R): Int =\n let q = R{R{r | m: 5} | n: 3}\n use(q.m) + use(q.n) + use(q.k)",
        "def f(r: R): Int =\n let q = R{R{r | m: 5} | m: 0}\n use(q.m)",
        code::REFUTED,
    ),
    // An action sees the assignments of earlier actions.
    (
        "record C do\n a: Int\n b: Int\n end\n fsm C{a: 0, b: 0} do\n S --> |go| S { a = 5; b = 10 / a }\n end",
        "record C do\n a: Int\n b: Int\n end\n fsm C{a: 0, b: 0} do\n S --> |go| S { b = 10 / a; a = 5 }\n end",
        code::DIVISOR,
    ),
    (
        "record C do\n a: Int\n b: NonZero\n end\n fsm C{a: 0, b: 1} do\n S --> |go| S when a >= 0 { a = a + 1; b = a }\n end",
        "record C do\n a: Int\n b: NonZero\n end\n fsm C{a: 0, b: 1} do\n S --> |go| S when a >= 0 { b = a; a = a + 1 }\n end",
        code::REFUTED,
    ),
];
