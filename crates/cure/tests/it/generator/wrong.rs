//! Text that is invalid in any program.

/// Definitions that are invalid by themselves.
pub(crate) const DEFINITIONS: &[(&str, &str)] = &[
    (
        "missing method",
        "typeclass Cl(T) do\n    def one(x: T): Int\n    def two(x: T): Int\n  end\n  instance Cl(Int) do\n    def one(x: Int): Int = x\n  end",
    ),
    ("unknown class", "instance Nowhere(Int) do\n    def one(x: Int): Int = x\n  end"),
    (
        "two instances",
        "typeclass Cl(T) do\n    def one(x: T): Int\n  end\n  instance Cl(Int) do\n    def one(x: Int): Int = x\n  end\n  instance Cl(Int) do\n    def one(x: Int): Int = 2\n  end",
    ),
    (
        "method of the wrong type",
        "typeclass Cl(T) do\n    def one(x: T): Int\n  end\n  instance Cl(Int) do\n    def one(x: Int): String = \"x\"\n  end",
    ),
    ("unknown type in a head", "def bad(x: Nowhere): Int = 1"),
    ("unknown type in a record", "record Bad do\n    x: Nowhere\n  end"),
    ("unknown import", "import Std.Nowhere [f/1]"),
    ("unknown name in an import", "import Std.List [nowhere/1]"),
    ("clauses of different types", "def bad(n: Int): Int when n > 0 = n\n  def bad(n: String): Int = 1"),
    ("clauses that leave something out", "def bad(n: Int): Int when n > 0 = n\n  def bad(n: Int): Int when n < 0 = 1"),
    ("parameter without a type", "def bad(n): Int = 1"),
    ("body of the wrong type", "def bad(n: Int): Int = \"x\""),
    ("body with a wrong refinement", "def bad(n: Int): {x: Int | x > n} = n"),
    ("body with a wrong length", "def bad(v: Vector(Int, n)): Vector(Int, n + 1) = v"),
    ("too general", "def bad(x: T): T = 1"),
    ("class that is not asked for", "def bad(x: T): String = Std.Show.show(x)"),
    ("division in a condition", "def bad(a: Int, b: Int): Int when a / b > 1 = a"),
    (
        "unknown state",
        "fsm Bad do\n    states: [A]\n    initial: A\n    state A do\n      event(:go) -> B\n    end\n  end",
    ),
    (
        "unknown field in a machine",
        "record Bad do\n    n: Int\n  end\n  fsm Bad{n: 0} do\n    A --> |go| A when m > 0\n  end",
    ),
    (
        "action of the wrong type",
        "record Bad do\n    n: Int\n  end\n  fsm Bad{n: 0} do\n    A --> |go| A {n = \"x\"}\n  end",
    ),
    ("machine without its record", "fsm Bad{n: 0} do\n    A --> |go| A\n  end"),
    ("curify with the wrong arity", "curify bad(x: Int): Int = {erlang, abs, 2}"),
    ("two records of one name", "record Bad do\n    n: Int\n  end\n  record Bad do\n    m: Int\n  end"),
    ("derived of what has no instance", "record Bad do\n    f: Int => Int\n  end derive Show"),
    ("parameter twice", "def bad(x: Int, x: Int): Int = x"),
    ("field twice", "record Bad do\n    x: Int\n    x: Int\n  end"),
    ("constructor twice", "type Bad = One | One"),
    ("constructors that are the same at run time", "type Bad = Circle(Int) | circle(Int)"),
    (
        "foreign function twice",
        "curify bad(x: Int): Int = {erlang, abs, 1}\n  curify bad(x: Int): Int = {erlang, abs, 1}",
    ),
    ("type twice", "type Bad = One | Other\n  type Bad = {x: Int | x > 0}"),
    (
        "class twice",
        "typeclass Cl(T) do\n    def one(x: T): Int\n  end\n  typeclass Cl(T) do\n    def two(x: T): Int\n  end",
    ),
    ("method twice", "typeclass Cl(T) do\n    def one(x: T): Int\n    def one(x: T): Int\n  end"),
    ("machine twice", "fsm Bad do\n    A --> |go| A\n  end\n  fsm Bad do\n    A --> |go| A\n  end"),
    ("unknown name in a condition", "type Bad = {x: Int | x < limit}"),
    ("unknown name in a guard of a machine", "fsm Bad do\n    A --> |go| A when x > 5\n  end"),
    (
        "instance for some arguments only",
        "typeclass Cl(T) do\n    def one(x: T): Int\n  end\n  instance Cl(List(Int)) do\n    def one(x: List(Int)): Int = 1\n  end",
    ),
    (
        "instance for a type with a condition",
        "typeclass Cl(T) do\n    def one(x: T): Int\n  end\n  instance Cl(Nat) do\n    def one(x: Nat): Int = 1\n  end",
    ),
    (
        "instance without the one it is built upon",
        "typeclass Be(T) do\n    def be(x: T): Int\n  end\n  typeclass Cl(T) when Be(T) do\n    def one(x: T): Int\n  end\n  instance Cl(Int) do\n    def one(x: Int): Int = x\n  end",
    ),
    (
        "instance of another kind",
        "typeclass Cl(F) do\n    def one(x: F(A)): Int\n  end\n  instance Cl(Int) do\n    def one(x: Int): Int = x\n  end",
    ),
    (
        "machine started with other data",
        "record Bad do\n    n: Int\n  end\n  fsm Bad{n: 0} do\n    A --> |go| A\n  end\n  def worse(): Any = Bad_spawn(\"zero\")",
    ),
    (
        "data of a machine against its type",
        "record Bad do\n    n: Nat\n  end\n  fsm Bad{n: 0 - 1} do\n    A --> |go| A\n  end",
    ),
    (
        "action not provable",
        "record Bad do\n    n: Nat\n  end\n  fsm Bad{n: 0} do\n    A --> |go| A {n = n - 1}\n  end",
    ),
    ("update not provable", "record Bad do\n    n: Nat\n  end\n  def worse(b: Bad): Bad = Bad{b | n: b.n - 1}"),
    ("construction not provable", "record Bad do\n    n: Nat\n  end\n  def worse(k: Int): Bad = Bad{n: k}"),
    ("condition with `when`", "type Bad = Int when n % 2 == 0\n  def worse(): Bad = 5"),
    ("range", "type Bad(a, b) = {x: Int | x >= a and x <= b}\n  def worse(x: Bad(1, 10)): Bad(1, 10) = x + 1"),
    ("lengths by an alias", "type Bad(T, n: Nat) = Vector(T, n)\n  def worse(a: Bad(Int, n)): Bad(Int, n + 1) = a"),
    ("class at a length", "import Std.Typeclasses [neutral/0]\n  def bad(): List(Int, 2) = neutral()"),
    (
        "`where` at a length",
        "typeclass Cl(T) do\n    def one(x: T): T\n  end\n  instance Cl(List(T)) do\n    def one(x: List(T)): List(T) = []\n  end\n  def two(x: T): T where Cl(T) = one(x)\n  def bad(x: List(Int, 2)): List(Int, 2) = two(x)",
    ),
    (
        "class at a refined type in an action",
        "typeclass Cl(T) do\n    def one(x: T): T\n  end\n  instance Cl(Int) do\n    def one(x: Int): Int = x - 1\n  end\n  record Bad do\n    n: Above\n  end\n  fsm Bad{n: 1} do\n    A --> |go| A {n = one(n)}\n  end",
    ),
    ("call without parentheses", "def bad(f: Int => Int, n: Int): Int = f n"),
    ("atom that is called", "def bad(n: Int): Option(Int) = 'Some'(n)"),
    (
        "pattern of an atom that is called",
        "def bad(o: Option(Int)): Int =\n    match o do\n      'Some'(n) -> n\n      None -> 0\n    end",
    ),
    ("name of a type of the language", "type Int = Bad | Worse"),
    (
        "capital that is meant as a literal",
        "def bad(b: Bool): Int =\n    match b do\n      True -> 1\n      False -> 0\n    end",
    ),
    ("`let` function at a condition", "def bad(n: Int): Above =\n    let same = fn(x) -> x end\n    same(n)"),
    (
        "`let` function over what is outside",
        "def bad(n: Int): Any =\n    fn(o) ->\n      let f = fn(y) -> if y == o then y else o end\n      {f(n), f(\"x\")}\n    end",
    ),
    (
        "condition that a list of literals does not keep",
        "def bad(): List(Int) =\n    let all = [1, 0, 2]\n    Std.List.map(all, fn(x) -> 10 / x end)",
    ),
    (
        "data of an event not provable",
        "record Bad do\n    n: Nat\n  end\n  fsm Bad{n: 0} do\n    A --> |go| A {n = n + event_data}\n  end",
    ),
    (
        "pattern of a function that may not match",
        "def bad(o: Option(Int)): Any = Std.List.map([o], fn(Some(x)) -> x end)",
    ),
    ("constructor as a type", "def bad(): None = None"),
    ("no space behind a colon", "def bad(x :Int): Int = x"),
    ("Succ of what may be negative", "def bad(n: Int): Nat = Succ(n)"),
    ("Pred of what may be zero", "def bad(n: Nat): Nat = Pred(n)"),
    ("Succ without Zero", "def bad(n: Nat): Int =\n    match n do\n      Succ(m) -> m\n    end"),
    ("Zero and Succ of an Int", "def bad(n: Int): Int =\n    match n do\n      Zero -> 0\n      Succ(m) -> m\n    end"),
    (
        "nesting without measure",
        "def bad(): Int = ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))",
    ),
];

/// Invalid text after the modules of a program.
pub(crate) const BEHIND: &[(&str, &str)] = &[
    ("definition outside of a module", "def bad(): Int = 1\n"),
    ("module of Erlang", "module lists do\nend\n"),
    ("module of the library", "module Std.List do\nend\n"),
];
