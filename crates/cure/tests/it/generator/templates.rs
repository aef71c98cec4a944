//! Fixed functions over lengths and conditions, as text; [`super::evaluate`] knows their results.

/// Name and text.
pub(crate) const ALL: &[(&str, &str)] = &[
    (
        "dot",
        "  def dot(a: Vector(Int, n), b: Vector(Int, n)): Int =\n    match {a, b} do\n      {[], []} -> 0\n      {[x | xs], [y | ys]} -> x * y + dot(xs, ys)\n    end\n",
    ),
    (
        "plus_each",
        "  def plus_each(a: Vector(Int, n), b: Vector(Int, n)): Vector(Int, n) =\n    match {a, b} do\n      {[], []} -> ‹›\n      {[x | xs], [y | ys]} -> [x + y | plus_each(xs, ys)]\n    end\n",
    ),
    ("size_of", "  def size_of(v: Vector(T, n)): Int = n\n"),
    ("first_of", "  def first_of(v: Vector(T, n)): T when n > 0 =\n    match v do\n      [x | _] -> x\n    end\n"),
    ("longer", "  def longer(v: Vector(T, n), x: T): Vector(T, n + 1) = [x | v]\n"),
    (
        "mean",
        "  def mean(v: Vector(Int, n)): Int = if n > 0 then sum_of(v) / n else 0\n  def sum_of(v: Vector(Int)): Int =\n    match v do\n      [] -> 0\n      [x | rest] -> x + sum_of(rest)\n    end\n",
    ),
    ("after", "  def after(n: Int): {x: Int | x > n} = n + 1\n"),
    ("clipped", "  def clipped(n: Int): {x: Int | x >= 0 and x < 10} = if n < 0 then 0 else if n > 9 then 9 else n\n"),
    ("absolute", "  curify absolute(n: Int): Int = {erlang, abs, 1}\n"),
    ("counted", "  curify counted(l: List(T)): Int = {erlang, length, 1}\n"),
    ("turned", "  curify turned(l: List(T)): List(T) = {lists, reverse, 1}\n"),
    (
        "chance",
        "  type Chance = {x: Float | x >= 0.0 and x <= 1.0}\n  def chance(x: Float): Chance = if x < 0.0 then 0.0 else if x > 1.0 then 1.0 else x\n  def rest_of(x: Chance): Chance = 1.0 - (if x > 0.5 then x else 0.5)\n",
    ),
    (
        "filled",
        "  type Filled = {s: String | s != \"\"}\n  def filled(s: String): Filled =\n    match s do\n      \"\" -> \"none\"\n      t -> t\n    end\n  def shouted(s: Filled): Filled = s <> \"!\"\n",
    ),
    (
        "other_side",
        "  type Side = {a: Atom | a == :left or a == :right}\n  def other_side(a: Side): Side =\n    match a do\n      :left -> :right\n      :right -> :left\n    end\n",
    ),
    ("joined", "  def joined(a: List(Int, n), b: List(Int, m)): List(Int, n + m) = a ++ b\n"),
];
