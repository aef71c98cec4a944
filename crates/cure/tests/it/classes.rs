//! A class is used with the instance of a base type, so its type is never refined and never has a length. Every way to
//! call a method is tried in every context that needs more than the base type, along with its valid twin, which needs
//! the base type.

use cure::diagnostic::Lines;
use cure::{NoSources, compile};

/// Definitions over numbers.
const NUMBERS: &str = "
  type NonZero = {x: Int | x != 0}
  typeclass Dec(T) do
    def dec(x: T): T
    def twice(x: T): T = dec(dec(x))
  end
  instance Dec(Int) do
    def dec(x: Int): Int = x - 1
  end
  instance Dec(List(T)) when Dec(T) do
    def dec(x: List(T)): List(T) =
      match x do
        [] -> []
        [h | t] -> [dec(h) | dec(t)]
      end
  end
  typeclass Low(T) when Dec(T) do
    def low(): T
  end
  instance Low(Int) do
    def low(): Int = 0
  end
  trait Down {
    def down(self): Self
    def down_twice(self): Self = down(down(self))
  }
  impl Down for Int {
    def down(self): Int = self - 1
  }
  record Cell do
    n: NonZero
    m: Int
  end
  def by_where(x: T): T where Dec(T) = dec(x)
  def by_bound<T: Dec>(x: T): T = dec(x)
  def by_super(x: T): T where Low(T) = dec(x)
  def lowest(): T where Low(T) = low()
  def first(xs: List(T), or_else: T): T where Dec(T) =
    match dec(xs) do
      [] -> or_else
      [h | _] -> h
    end
  def turn(f: A => B, x: A): B = f(x)
  def nonzero(n: NonZero): Int = 10 / n
  def any(n: Int): Int = n
";

/// Ways from `p: NonZero` to a number of which nothing is known.
const NUMBER_WAYS: &[(&str, &str)] = &[
    ("a method", "dec(p)"),
    ("a default method", "twice(p)"),
    ("`where`", "by_where(p)"),
    ("a bound", "by_bound(p)"),
    ("a superclass", "by_super(p)"),
    ("a method without arguments", "low()"),
    ("a function without arguments", "lowest()"),
    ("an instance with a condition", "first([p], 0)"),
    ("a trait", "down(p)"),
    ("a default of a trait", "down_twice(p)"),
    ("a pipe", "(p |> dec)"),
    ("a method as a value", "turn(dec, p)"),
    ("a function as a value", "turn(by_bound, p)"),
    ("a lambda", "turn(fn(x) -> dec(x) end, p)"),
    ("a lambda over the refined type", "turn(fn(x: NonZero) -> dec(x) end, p)"),
    ("a generic function around it", "Std.Core.identity(dec(p))"),
    ("an option", "Std.Core.option_or(Some(dec(p)), p)"),
    ("a fold", "Std.List.fold([p], p, fn(x) -> fn(acc) -> dec(x) end end)"),
    ("a method of another module", "Std.Core.option_or(Std.List.head([Some(twice(p))], None), 0)"),
];

/// Places that want a NonZero, and twins that want an Int. `$` is the number.
const NUMBER_PLACES: &[(&str, &str, &str)] = &[
    ("a result", "def f(p: NonZero): NonZero = $", "def f(p: NonZero): Int = $"),
    ("an argument", "def f(p: NonZero): Int = nonzero($)", "def f(p: NonZero): Int = any($)"),
    ("a divisor", "def f(p: NonZero): Int = 10 / $", "def f(p: NonZero): Int = 10 - $"),
    ("a field", "def f(p: NonZero): Cell = Cell{n: $, m: 1}", "def f(p: NonZero): Cell = Cell{n: p, m: $}"),
    (
        "an update",
        "def f(p: NonZero, c: Cell): Cell = Cell{c | n: $}",
        "def f(p: NonZero, c: Cell): Cell = Cell{c | m: $}",
    ),
    ("an element", "def f(p: NonZero): List(NonZero) = [p, $]", "def f(p: NonZero): List(Int) = [p, $]"),
    ("a rest", "def f(p: NonZero): List(NonZero) = [p | [$]]", "def f(p: NonZero): List(Int) = [p | [$]]"),
    (
        "an element of a vector",
        "def f(p: NonZero): Vector(NonZero, 1) = ‹$›",
        "def f(p: NonZero): Vector(Int, 1) = ‹$›",
    ),
    ("a part", "def f(p: NonZero): {NonZero, Int} = {$, 1}", "def f(p: NonZero): {NonZero, Int} = {p, $}"),
    ("a constructor", "def f(p: NonZero): Option(NonZero) = Some($)", "def f(p: NonZero): Option(Int) = Some($)"),
    ("`as`", "def f(p: NonZero): Int = 10 / ($ as NonZero)", "def f(p: NonZero): Int = 10 - ($ as Int)"),
    (
        "`let`",
        "def f(p: NonZero): Int =\n    let q: NonZero = $\n    10 / q",
        "def f(p: NonZero): Int =\n    let q: Int = $\n    10 - q",
    ),
    (
        "`let` without a type",
        "def f(p: NonZero): NonZero =\n    let q = $\n    q",
        "def f(p: NonZero): Int =\n    let q = $\n    q",
    ),
    (
        "a branch",
        "def f(p: NonZero, c: Bool): NonZero = if c then p else $",
        "def f(p: NonZero, c: Bool): Int = if c then p else $",
    ),
    (
        "a branch whose type nobody says",
        "def f(p: NonZero, c: Bool): Int = 10 / (if c then p else $)",
        "def f(p: NonZero, c: Bool): Int = 10 - (if c then $ else p)",
    ),
    (
        "a clause",
        "def f(p: NonZero): NonZero =\n    match p do\n      1 -> $\n      _ -> p\n    end",
        "def f(p: NonZero): Int =\n    match p do\n      1 -> $\n      _ -> p\n    end",
    ),
    (
        "what a function gives",
        "def f(p: NonZero): Unit => NonZero = fn(u) -> $ end",
        "def f(p: NonZero): Unit => Int = fn(u) -> $ end",
    ),
    (
        "an action of a machine",
        "record Mach do\n    p: NonZero\n    q: Int\n  end\n  fsm Mach{p: 1, q: 0} do\n    A --> |go| A { p = $ }\n  end",
        "record Mach do\n    p: NonZero\n    q: Int\n  end\n  fsm Mach{p: 1, q: 0} do\n    A --> |go| A { q = $ }\n  end",
    ),
];

/// Definitions over lists.
const LISTS: &str = "
  import Std.Typeclasses [Semigroup, Monoid, combine/2, neutral/0, combined/1]
  typeclass Grow(T) when Monoid(T) do
    def grow(x: T): T = combine(x, x)
    def least(): T = neutral()
  end
  instance Grow(List(T)) do
  end
  trait Shrink {
    def shrink(self): Self
  }
  impl Shrink for List(T) {
    def shrink(self): List(T) = []
  }
  record Pair2 do
    two: List(Int, 2)
    some: List(Int)
  end
  def by_where(x: T): T where Semigroup(T) = combine(x, x)
  def by_bound<T: Monoid>(x: T): T = neutral()
  def by_super(x: T): T where Grow(T) = combine(x, x)
  def turn(f: A => B, x: A): B = f(x)
  def two(xs: List(Int, 2)): Int = 2
  def some(xs: List(Int)): Int = 3
  def same(a: List(Int, n), b: List(Int, n)): Int = 1
  def both(a: List(Int, n), b: List(Int, m)): Int = 1
";

/// Ways from `p: List(Int, 2)` to a list of any length.
const LIST_WAYS: &[(&str, &str)] = &[
    ("a method", "combine(p, p)"),
    ("a method without arguments", "neutral()"),
    ("a function over a list of them", "combined([p])"),
    ("`where`", "by_where(p)"),
    ("a bound", "by_bound(p)"),
    ("a superclass", "by_super(p)"),
    ("a default method", "grow(p)"),
    ("a default without arguments", "least()"),
    ("a trait", "shrink(p)"),
    ("a pipe", "(p |> shrink)"),
    ("a method as a value", "turn(shrink, p)"),
    ("a lambda", "turn(fn(x) -> grow(x) end, p)"),
    ("a generic function around it", "Std.Core.identity(combine(p, []))"),
];

/// Places that want two elements, and twins that take any list.
const LIST_PLACES: &[(&str, &str, &str)] = &[
    ("a result", "def f(p: List(Int, 2)): List(Int, 2) = $", "def f(p: List(Int, 2)): List(Int) = $"),
    ("an argument", "def f(p: List(Int, 2)): Int = two($)", "def f(p: List(Int, 2)): Int = some($)"),
    ("arguments of one length", "def f(p: List(Int, 2)): Int = same(p, $)", "def f(p: List(Int, 2)): Int = both(p, $)"),
    (
        "a field",
        "def f(p: List(Int, 2)): Pair2 = Pair2{two: $, some: p}",
        "def f(p: List(Int, 2)): Pair2 = Pair2{two: p, some: $}",
    ),
    (
        "an update",
        "def f(p: List(Int, 2), c: Pair2): Pair2 = Pair2{c | two: $}",
        "def f(p: List(Int, 2), c: Pair2): Pair2 = Pair2{c | some: $}",
    ),
    (
        "an element",
        "def f(p: List(Int, 2)): List(List(Int, 2)) = [p, $]",
        "def f(p: List(Int, 2)): List(List(Int)) = [p, $]",
    ),
    (
        "a constructor",
        "def f(p: List(Int, 2)): Option(List(Int, 2)) = Some($)",
        "def f(p: List(Int, 2)): Option(List(Int)) = Some($)",
    ),
    (
        "`as`",
        "def f(p: List(Int, 2)): Int = two($ as List(Int, 2))",
        "def f(p: List(Int, 2)): Int = some($ as List(Int))",
    ),
    (
        "`let`",
        "def f(p: List(Int, 2)): Int =\n    let q: List(Int, 2) = $\n    two(q)",
        "def f(p: List(Int, 2)): Int =\n    let q: List(Int) = $\n    some(q)",
    ),
    (
        "a branch",
        "def f(p: List(Int, 2), c: Bool): List(Int, 2) = if c then p else $",
        "def f(p: List(Int, 2), c: Bool): List(Int) = if c then p else $",
    ),
    (
        "a clause",
        "def f(p: List(Int, 2)): List(Int, 2) =\n    match p do\n      [1 | _] -> $\n      _ -> p\n    end",
        "def f(p: List(Int, 2)): List(Int) =\n    match p do\n      [1 | _] -> $\n      _ -> p\n    end",
    ),
    (
        "a pattern",
        "def f(p: List(Int, 2)): Int =\n    let q = $\n    let [a, b] = q as List(Int, 2)\n    a",
        "def f(p: List(Int, 2)): Int =\n    let q = $\n    let {a, b} = {q as List(Int), 2}\n    b",
    ),
    (
        "an action of a machine",
        "record Mach do\n    p: List(Int, 2)\n    q: List(Int)\n  end\n  fsm Mach{p: [1, 2], q: []} do\n    A --> |go| A { p = $ }\n  end",
        "record Mach do\n    p: List(Int, 2)\n    q: List(Int)\n  end\n  fsm Mach{p: [1, 2], q: []} do\n    A --> |go| A { q = $ }\n  end",
    ),
];

/// Programs that no table above makes, and their sound twins.
const OTHERS: &[(&str, &str, &str)] = &[
    (
        "the type is known late",
        "def f(p: NonZero): Int =\n    let g = fn(x) -> dec(x) end\n    nonzero(g(p))",
        "def f(p: NonZero): Int =\n    let g = fn(x) -> dec(x) end\n    any(g(p))",
    ),
    (
        "a function over refined numbers is expected",
        "def f(): NonZero => NonZero = dec",
        "def f(): NonZero => Int = dec",
    ),
    (
        "a function over refined numbers is expected of a lambda",
        "def f(): NonZero => NonZero = fn(x) -> dec(x) end",
        "def f(): NonZero => Int = fn(x) -> dec(x) end",
    ),
    (
        "a list of refined numbers",
        "def f(p: List(NonZero)): List(NonZero) = dec(p)",
        "def f(p: List(NonZero)): List(Int) = dec(p)",
    ),
    (
        "a list of lists of refined numbers",
        "def f(p: List(List(NonZero))): List(List(NonZero)) = by_where(p)",
        "def f(p: List(List(NonZero))): List(List(Int)) = by_where(p)",
    ),
    (
        "the result of an inferred function",
        "def g(p: NonZero) = dec(p)\n  def f(p: NonZero): NonZero = g(p)",
        "def g(p: NonZero) = dec(p)\n  def f(p: NonZero): Int = g(p)",
    ),
    (
        "a parameter that cannot be widened",
        "record Box(T) do\n    of: T\n    f: T => T\n  end\n  instance Dec(Box(T)) when Dec(T) do\n    def dec(x: Box(T)): Box(T) = Box{x | of: dec(x.of)}\n  end\n  def f(b: Box(NonZero)): Box(NonZero) = dec(b)",
        "record Box(T) do\n    of: T\n    f: T => T\n  end\n  instance Dec(Box(T)) when Dec(T) do\n    def dec(x: Box(T)): Box(T) = Box{x | of: dec(x.of)}\n  end\n  def f(b: Box(Int)): Box(Int) = dec(b)",
    ),
    (
        "a type constructor with a class upon its elements",
        "import Std.Typeclasses [Functor, fmap/2]\n  def each(x: F(T)): F(T) where Functor(F), Dec(T) = fmap(x, dec)\n  def f(p: Option(NonZero)): Option(NonZero) = each(p)",
        "import Std.Typeclasses [Functor, fmap/2]\n  def each(x: F(T)): F(T) where Functor(F), Dec(T) = fmap(x, dec)\n  def f(p: Option(NonZero)): Option(Int) = each(p)",
    ),
];

/// Checks each definition separately against its expected verdict. Returns the deviations.
fn verdicts(head: &str, all: &[(String, String)], accepted: bool) -> Vec<String> {
    let mut text = format!("module T do{head}");
    let mut places = Vec::new();
    for (at, (what, body)) in all.iter().enumerate() {
        let start = text.len() as u32;
        text.push_str(&format!("  {}\n", body.replace("def f(", &format!("def f{at}("))));
        places.push((what, body, start..text.len() as u32));
    }
    text.push_str("end\n");
    let said = compile(&text, &NoSources).diagnostics;
    let lines = Lines::new(&text);
    let of = |(what, body, place): (&String, &String, std::ops::Range<u32>)| {
        let errors = said.iter().filter(|one| one.is_error() && place.contains(&one.span.start));
        let errors: Vec<_> = errors.map(|one| one.line(&lines)).collect();
        match (accepted, errors.is_empty()) {
            (true, false) => Some(format!("{what}: refused:\n  {body}\n    {}", errors.join("\n    "))),
            (false, true) => Some(format!("{what}: passes:\n  {body}")),
            _ => None,
        }
    };
    let elsewhere = said.iter().filter(|one| one.is_error() && one.span.start < places[0].2.start);
    let elsewhere: Vec<_> = elsewhere.map(|one| one.line(&lines)).collect();
    places.into_iter().filter_map(of).chain(elsewhere).collect()
}

#[test]
fn a_class_is_never_taken_at_a_refined_type_or_at_a_length() {
    let mut faults = Vec::new();
    let mut count = 0;
    for (head, ways, places) in [(NUMBERS, NUMBER_WAYS, NUMBER_PLACES), (LISTS, LIST_WAYS, LIST_PLACES)] {
        for (way, value) in ways {
            let named = |place: &str| format!("{way} in {place}");
            let bad: Vec<_> = places.iter().map(|(place, bad, _)| (named(place), bad.replace('$', value))).collect();
            let good: Vec<_> = places.iter().map(|(place, _, good)| (named(place), good.replace('$', value))).collect();
            count += bad.len();
            faults.extend(verdicts(head, &bad, false));
            faults.extend(verdicts(head, &good, true));
        }
    }
    for (what, bad, good) in OTHERS {
        count += 1;
        faults.extend(verdicts(NUMBERS, &[((*what).to_owned(), (*bad).to_owned())], false));
        faults.extend(verdicts(NUMBERS, &[((*what).to_owned(), (*good).to_owned())], true));
    }
    assert!(faults.is_empty(), "{} faults in {count} pairs\n{}", faults.len(), faults.join("\n"));
    assert!(count >= 480, "{count}");
}
