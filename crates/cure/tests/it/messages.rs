//! Messages for readers who are new to the compiler: the missing import, the intended name, the misplaced keyword, and
//! constructs of other languages.

use cure::diagnostic::Lines;
use cure::{Limits, NoSources, compile};
use expect_test::{Expect, expect};

fn diagnose(text: &str) -> String {
    let compiled = compile(text, &NoSources);
    let lines = Lines::new(text);
    compiled.diagnostics.iter().map(|one| one.line(&lines)).collect::<Vec<_>>().join("\n")
}

/// The messages about these items of a module, one after the other.
fn check(items: &[&str], expected: Expect) {
    let all = items.iter().map(|items| diagnose(&format!("module T do\n{items}\nend\n")));
    expected.assert_eq(&all.collect::<Vec<_>>().join("\n"));
}

#[test]
fn an_undefined_name_that_the_library_has_says_which_import() {
    check(
        &[
            "  def f(l: List(Int)): List(Int) = map(l, fn(x) -> x + 1 end)",
            "  def f(): Unit = println(\"x\")",
            "  def f(n: Int): String = show(n)",
            "  def f(l: List(Int)): Int = length(l)",
            "  def f(l: List(Int)): Int = length(l, 1, 2)",
            "  import Std.List [map/2]\n  def f(l: List(String)): List(String) = map(l, upcase)",
            "  record R do\n    a: Int\n  end\n  instance Eq(R) do\n    def eq(a: R, b: R): Bool = true\n  end\n  def f(a: R): Bool = eq(a, a)",
            "  def f(v: Vector(Int, n)): Int when n > 0 =\n    match v do\n      ‹x | _› -> x\n    end",
            "  def f(x: Functor(Int)): Int = 1",
            "  def f(x: T): T where Monoid(T) = x",
            "  def maps(l: List(Int)): List(Int) = l\n  def f(l: List(Int)): List(Int) = map(l)",
        ],
        expect![[r#"
            2:36 error C0202: `map` is not defined; Std.List, Std.Option, Std.String, Std.Vector have it: `import Std.List [map/2]`
            2:19 error C0202: `println` is not defined; `Std.Io` has it: `import Std.Io [println/1]`
            2:27 error C0202: `show` is not defined; `Std.Show` has it: `import Std.Show [show/1]`
            2:30 error C0202: `length` is not defined; Std.List, Std.String, Std.Vector have it: `import Std.List [length/1]`
            2:30 error C0202: `length` is not defined; Std.List, Std.String, Std.Vector have it: `import Std.List [length/1]`
            3:49 error C0202: `upcase` is not defined; `Std.String` has it: `import Std.String [upcase/1]`
            8:23 error C0202: `eq` is not defined; `Std.Eq` has it: `import Std.Eq [eq/2]`
            4:10 error C0101: expected a `,` or `›`, found `|`; a vector is taken apart and put together as a list is: `[first | rest]`
            2:12 error C0203: there is no type `Functor`; `Std.Typeclasses` has it: `import Std.Typeclasses [Functor]`
            2:24 error C0207: there is no class `Monoid`; `Std.Typeclasses` has it: `import Std.Typeclasses [Monoid]`
            3:36 error C0202: `map` is not defined; Std.List, Std.Option, Std.String, Std.Vector have it: `import Std.List [map/2]`"#]],
    );
}

#[test]
fn near_misses_are_named() {
    let types = ["Boolean", "Integer", "Double", "Maybe(Int)", "string", "Void", "Text", "Array(Int)", "Natural"];
    let types: Vec<String> = types.iter().map(|ty| format!("  def f(x: {ty}): Int = 1")).collect();
    check(
        &types.iter().map(String::as_str).collect::<Vec<_>>(),
        expect![[r#"
            2:12 error C0203: there is no type `Boolean`; in Cure it is `Bool`
            2:12 error C0203: there is no type `Integer`; in Cure it is `Int`
            2:12 error C0203: there is no type `Double`; in Cure it is `Float`
            2:12 error C0203: there is no type `Maybe`; in Cure it is `Option`
            2:12 error C0203: there is no type `string`; in Cure it is `String`
            2:12 error C0203: there is no type `Void`; in Cure it is `Unit`
            2:12 error C0203: there is no type `Text`; in Cure it is `String`
            2:12 error C0203: there is no type `Array`; in Cure it is `List`
            2:12 error C0203: there is no type `Natural`; in Cure it is `Nat`"#]],
    );
    let names =
        ["True", "nil", "null", "Just(1)", "Nothing", "Err(1)", "print_line(\"x\")", "to_string(1)", "len([1])"];
    let names: Vec<String> = names.iter().map(|name| format!("  def f(): Any = {name}")).collect();
    check(
        &names.iter().map(String::as_str).collect::<Vec<_>>(),
        expect![[r##"
            2:18 error C0202: `True` is not defined; in Cure it is `true`
            2:18 error C0202: `nil` is not defined; in Cure it is `None`, of Option, or `[]`
            2:18 error C0202: `null` is not defined; in Cure it is `None`, of Option
            2:18 error C0202: `Just` is not defined; in Cure it is `Some`, of Option
            2:18 error C0202: `Nothing` is not defined; in Cure it is `None`, of Option
            2:18 error C0202: `Err` is not defined; in Cure it is `Error`, of Result
            2:18 error C0202: `print_line` is not defined; in Cure it is `println`, of Std.Io
            2:18 error C0202: `to_string` is not defined; in Cure it is `"#{…}"`, or `show` of Std.Show
            2:18 error C0202: `len` is not defined; in Cure it is `length`, of Std.List, Std.String and Std.Vector"##]],
    );
    check(
        &["  def f(x: Any): Int = match x do Just(n) -> 1 _ -> 2 end", "  import Std.Lists", "  import List [map/2]"],
        expect![[r#"
            2:35 error C0204: there is no constructor `Just`; in Cure it is `Some`, of Option
            2:10 error C0201: there is no module `Std.Lists`; did you mean `Std.List`?
            2:10 error C0201: there is no module `List`; did you mean `Std.List`?"#]],
    );
}

#[test]
fn what_functions_of_the_library_take_is_said() {
    let head = "  import Std.List [fold/3, sort_with/2, filter/2]\n  import Std.Ord [compare/2]\n";
    let items = [
        "  def f(xs: List(Int)): Int = fold(xs, 0, fn(x, acc) -> x + acc end)",
        "  def add(a: Int, b: Int): Int = a + b\n  def f(xs: List(Int)): Int = fold(xs, 0, add)",
        "  def f(xs: List(Int)): List(Int) = sort_with(xs, fn(a, b) -> a < b end)",
        "  def f(xs: List(Int)): List(Int) = filter(xs, fn(x) -> compare(x, 3) end)",
        "  def f(): Unit = :go |-> {1, 2}",
    ];
    let items: Vec<String> = items.iter().map(|item| format!("{head}{item}")).collect();
    check(
        &items.iter().map(String::as_str).collect::<Vec<_>>(),
        expect![[r#"
        4:43 error C0301: expected Int => Int => Int, found fn(Int, Int) -> Int; the arguments are given one by one here: `fn(x) -> fn(y) -> … end end`, called as `f(x)(y)`
        5:43 error C0301: expected Int => Int => Int, found fn(Int, Int) -> Int; the arguments are given one by one here: `fn(x) -> fn(y) -> … end end`, called as `f(x)(y)`
        4:63 error C0301: expected Ordering, found Bool; an Ordering is `Lt`, `Eq` or `Gt`: write `compare(a, b)`
        4:57 error C0301: expected Bool, found Ordering; compare it: `compare(a, b) == Lt`; `<` gives a Bool
        4:27 error C0301: a message goes to a process: an atom that names it, or what started it; this is {Int, Int}; elsewhere it is `{:global, name}`, `{:via, :module, name}`, or `{:name, :node}`"#]],
    );
}

#[test]
fn what_is_piped_is_called_by_the_name_that_it_has() {
    let head = "  def g(x: Int): Result(Int, String) = Ok(x)\n  def d(n: Int): Int when n > 0 = n\n";
    let items = [
        "  def f(x: Int): Result(Int, String) = g(x) |> fn(n) -> 10 / n end",
        "  def f(x: Int): Result(Int, String) = g(x) |> d",
        "  def f(x: Int): Int = x |> fn(n) -> 10 / n end",
    ];
    let items: Vec<String> = items.iter().map(|item| format!("{head}{item}")).collect();
    check(
        &items.iter().map(String::as_str).collect::<Vec<_>>(),
        expect![[r#"
        4:62 error C0403: the divisor `n` may be zero; not so when n = 0; say it in the type `{x: Int | x != 0}`, in a guard `when n != 0`, or test it with `if`
        4:40 error C0404: the precondition of `d` does not hold; not so when the value before `|>` = 0; its guard is a condition that callers must prove; test the value with `if` before the call
        4:43 error C0403: the divisor `n` may be zero; not so when x = 0; say it in the type `{x: Int | x != 0}`, in a guard `when n != 0`, or test it with `if`"#]],
    );
}

#[test]
fn a_byte_order_mark_says_nothing() {
    let text = "\u{feff}module T do\n  def main(): Int = 3\nend\n";
    assert_eq!(compile(text, &NoSources).run("main", Limits::default()).unwrap().result.unwrap(), "3");
    assert_eq!(cure::syntax::format(text).unwrap(), text.trim_start_matches('\u{feff}'));
    expect!["1:10 error C0101: expected `do`, found `does`"].assert_eq(&diagnose("\u{feff}module T does\nend\n"));
    // Elsewhere it is a character like others.
    expect![[r#"2:21 error C0001: '\u{feff}' has no meaning here; names are made of letters a to z, digits, `_` and `?`; other letters stand in strings only"#]].assert_eq(&diagnose("module T do\n  def main(): Int = \u{feff}3\nend\n"));
}

#[test]
fn a_literal_that_is_matched_leaves_one_clause() {
    let matched = ["5", "1.5", "\"a\"", "true", ":a", "[1, 2]", "{1, 2}"];
    let other = ["0", "0.5", "\"b\"", "false", ":b", "[]", "{2, _}"];
    let items = matched.iter().zip(other);
    let items = items.map(|(value, other)| format!("  def f(): Int = match {value} do {other} -> 1 _ -> 2 end"));
    let items: Vec<String> = items.collect();
    check(
        &items.iter().map(String::as_str).collect::<Vec<_>>(),
        expect![[r#"
            2:29 warning C0502: this clause is never reached; no value that comes here is like this: remove it
            2:31 warning C0502: this clause is never reached; no value that comes here is like this: remove it
            2:31 warning C0502: this clause is never reached; no value that comes here is like this: remove it
            2:32 warning C0502: this clause is never reached; no value that comes here is like this: remove it
            2:30 warning C0502: this clause is never reached; no value that comes here is like this: remove it
            2:34 warning C0502: this clause is never reached; no value that comes here is like this: remove it
            2:34 warning C0502: this clause is never reached; no value that comes here is like this: remove it"#]],
    );
}

#[test]
fn a_constructor_that_is_known_leaves_one_clause() {
    check(
        &[
            "  def f(): Int = match Some(1) do None -> 0 end",
            "  def f(): Int = match Some(1) do None -> 0 Some(n) -> n end",
            "  def f(): Int = match Some(1) do Some(n) -> n _ -> 0 end",
            "  def f(n: Int): Int =\n    let r = Ok(n)\n    match r do\n      Error(_) -> 0\n      Ok(n) -> n\n    end",
            "  def f(n: Int): Int = match {Some(n), None} do {None, _} -> 0 {_, Some(_)} -> 1 {Some(k), None} -> k end",
            "  def f(): Int =\n    let Some(n) = Some(1)\n    n",
            // Any is whatever has the same shape at run time.
            "  def f(): Int = match Some(1) as Any do None -> 0 {_, n} -> 1 _ -> 2 end",
        ],
        expect![[r#"
            2:18 error C0501: this match leaves out `Some(_)`; add clauses for these, or `_ -> …`
            2:35 warning C0502: this clause is never reached; no value that comes here is like this: remove it
            2:35 warning C0502: this clause is never reached; no value that comes here is like this: remove it
            2:48 warning C0502: this clause is never reached; the clauses above take everything it would; remove it, or move it up
            5:7 warning C0502: this clause is never reached; no value that comes here is like this: remove it
            2:24 warning C0502: of the 3 clauses of this match, only one is ever reached; the value is always the same here, or that clause takes everything: write its body alone

        "#]],
    );
}

#[test]
fn what_is_known_everywhere_and_defined_anew_is_told() {
    check(
        &[
            "  type Option(T) = Some(T) | None\n  def f(o: Option(Int)): Int = 1",
            "  type Result = Won(Int) | Lost",
            "  record Ordering do\n    by: Int\n  end",
            "  type Ordering = {n: Int | n >= -1 and n <= 1}",
            "  typeclass Show(T) do\n    def show(x: T): String\n  end",
            "  trait Eq {\n    def eq(self, other: Self): Bool\n  }",
            // A type of the program and one of the library with the same name do not match, and the message tells them apart.
            "  import Std.List [find/2]\n  type Option(T) = Some(T) | None\n  def f(l: List(Int)): Option(Int) = find(l, fn(x) -> x > 1 end)\n  def g(l: List(Int)): Int = match find(l, fn(x) -> x > 1 end) do\n      Some(n) -> n\n      None -> 0\n    end",
            "  type Nat = Zero | Succ(Nat)\n  type Token = Ok | Eq | Number(Int)",
        ],
        expect![[r#"
            2:8 warning C0212: this is another type than `Std.Core.Option`, which is known everywhere and which the library takes; remove the definition: `Some` and `None` are there without it
            2:8 warning C0212: this is another type than `Std.Core.Result`, which is known everywhere and which the library takes; choose another name, such as `MyResult`
            2:10 warning C0212: this is another type than `Std.Core.Ordering`, which is known everywhere and which the library takes; choose another name, such as `MyOrdering`
            2:8 warning C0212: this is another type than `Std.Core.Ordering`, which is known everywhere and which the library takes; choose another name, such as `MyOrdering`
            2:13 warning C0212: this is another class than `Std.Show.Show`, which is known everywhere and which the library asks for; write `instance Show(…)` for the library's, or choose another name
            2:9 warning C0212: this is another class than `Std.Eq.Eq`, which is known everywhere and which the library asks for; write `instance Eq(…)` for the library's, or choose another name
            3:8 warning C0212: this is another type than `Std.Core.Option`, which is known everywhere and which the library takes; remove the definition: `Some` and `None` are there without it
            4:38 error C0301: expected T.Option(Int), found Std.Core.Option(Int); these are two types of one name: remove the definition of `Option` that is not needed, or rename it
            6:7 error C0301: this pattern matches T.Option(_), the value is Std.Core.Option(Int); these are two types of one name: remove the definition of `Option` that is not needed, or rename it
            7:7 error C0301: this pattern matches T.Option(_), the value is Std.Core.Option(Int); these are two types of one name: remove the definition of `Option` that is not needed, or rename it
        "#]],
    );
}

#[test]
fn the_form_of_traits_and_classes_is_said_in_one_sentence() {
    check(
        &[
            "  trait Shape do\n    def area(self): Int\n  end\n  def f(): Int = \"a\"",
            "  trait Shape(T) do\n    def area(x: T): Int\n  end\n  def f(): Int = 1",
            "  trait Shape {\n    def area(self): Int\n  }\n  impl Shape for Int do\n    def area(self): Int = 1\n  end",
            "  typeclass Shape(T) {\n    def area(x: T): Int\n  }\n  instance Shape(Int) {\n    def area(x: Int): Int = x\n  }",
            "  trait Shape\n    def area(self): Int",
            "  instance Show(Unit) do\n    def show(x: Unit): String when 1 > 0 = \"u\"\n  end",
            "  trait Div {\n    def div(self, by: Int): Int when by != 0\n    def other(self): Int\n  }",
        ],
        expect![[r#"
            2:15 error C0101: expected `{`, found `do`; the methods of a trait stand in braces: `trait X { def name(self): String }`
            2:14 error C0101: expected `{`, found `(`; a trait is over `Self`; a class over `T` is `typeclass X(T) do … end`
            5:22 error C0101: expected `{`, found `do`; the methods of an `impl` stand in braces: `impl X for T { def name(self): String = … }`
            2:22 error C0101: expected `do`, found `{`; the methods of `typeclass` stand between `do` and `end`
            5:23 error C0101: expected `do`, found `{`; the methods of `instance` stand between `do` and `end`
            2:14 error C0101: expected `{`, found `def`; the methods of a trait stand in braces: `trait X { def name(self): String }`
            3:24 error C0101: expected `}`, found `end`
            3:31 error C0101: a method has no guard: whoever calls it knows the class alone; say it in the class, as the type of the parameter: `by: {n: Int | n != 0}`; or test it in the body
            3:33 error C0101: a method has no guard: whoever calls it knows the class alone; say it in the class, as the type of the parameter: `by: {n: Int | n != 0}`; or test it in the body"#]],
    );
}

#[test]
fn a_keyword_as_a_name_says_so() {
    check(
        &[
            "  def f(type: Int): Int = type + 1",
            "  def end(x: Int): Int = x\n  def g(): Int = 1",
            "  def f(): Int =\n    let record = 1\n    record + 2",
            "  record P do\n    type: Int\n    in: String\n  end\n  def f(p: P): Int = p.type",
            "  def f(l: List(Int)): Int = match l do [in | as] -> in _ -> 0 end",
            "  def f(): Any = fn(do) -> do end",
            "  import Std.List [fsm/1]",
            "  type end = Int",
            "  def process(x: Int): Int = x",
            // Not a name, but something that is missing.
            "  def f(: Int = 1",
            "  def\n  def g(): Int = 1",
        ],
        expect![[r#"
            2:9 error C0101: `type` is a keyword and cannot be a name; choose another name, such as `type_`
            2:7 error C0101: `end` is a keyword and cannot be a name; choose another name, such as `end_`
            3:9 error C0101: `record` is a keyword and cannot be a name; choose another name, such as `record_`
            3:5 error C0101: `type` is a keyword and cannot be a name; choose another name, such as `type_`
            4:5 error C0101: `in` is a keyword and cannot be a name; choose another name, such as `in_`
            2:42 error C0101: `in` is a keyword and cannot be a name; choose another name, such as `in_`
            2:47 error C0101: `as` is a keyword and cannot be a name; choose another name, such as `as_`
            2:21 error C0101: `do` is a keyword and cannot be a name; choose another name, such as `do_`
            2:20 error C0101: `fsm` is a keyword and cannot be a name; choose another name, such as `fsm_`
            2:8 error C0101: `end` is a keyword and cannot be a name; choose another name, such as `end_`
            2:7 error C0101: `process` is a keyword and cannot be a name; choose another name, such as `process_`
            2:9 error C0101: expected a name, found `:`
            2:15 error C0101: expected a `,` or `)`, found `=`
            2:6 error C0101: expected a name, found `def`"#]],
    );
}

#[test]
fn sixteen_warnings_for_one_constant_scrutinee_are_one() {
    let clauses: String = (0..16).map(|at| format!("      {at} -> {at}\n")).collect();
    let constant = format!("  def f(): Int =\n    match 5 do\n{clauses}      _ -> 99\n    end");
    let known =
        format!("  def f(n: Int): Int = if n == 3 then\n    match n do\n{clauses}      _ -> 99\n    end else 0");
    let first = format!("  def f(n: Int): Int =\n    match n do\n      _ -> 99\n{clauses}    end");
    check(
        &[
            &constant,
            &known,
            &first,
            &format!(
                "  def f(x: Int): Int =\n    match {{true, x}} do\n      {{true, 1}} -> 1\n{}      _ -> 99\n    end",
                clauses.replace(" ->", "} ->").replace("      ", "      {false, ")
            ),
            "  def f(b: Bool): Int = match {b, 1} do {true, 1} -> 1 {_, 2} -> 2 {_, 3} -> 3 {_, _} -> 4 end",
            "  def f(x: Int): Int =\n    match x do\n      _ -> 1\n      0 -> 2\n    end",
        ],
        expect![[r#"
            3:5 warning C0502: of the 17 clauses of this match, only one is ever reached; the value is always the same here, or that clause takes everything: write its body alone
            3:5 warning C0502: of the 17 clauses of this match, only one is ever reached; the value is always the same here, or that clause takes everything: write its body alone
            3:5 warning C0502: of the 17 clauses of this match, only one is ever reached; the value is always the same here, or that clause takes everything: write its body alone
            5:7 warning C0502: this clause and 15 more of this match are never reached; the clauses above and what is known of the value leave nothing for them; remove them
            2:56 warning C0502: this clause is never reached; no value that comes here is like this: remove it
            2:68 warning C0502: this clause is never reached; no value that comes here is like this: remove it
            5:7 warning C0502: this clause is never reached; the clauses above take everything it would; remove it, or move it up"#]],
    );
}

#[test]
fn a_text_in_todays_cure_is_told_in_one_sentence() {
    for text in [
        "mod Shapes\n\n  ## Doc.\n  fn area(a: Int, b: Int) -> Int = a * b\n\n  fn main() -> Int = area(%[1, 2])\n",
        "# comment\nmod A.B\n  use Std.List\n  rec P\n    x: Int\n",
        "fn f(a: Int) -> Int = a\n",
        "module T do\n  fn f(a: Int) -> Int = a\n  local fn g(a: Int) -> Int =\n    pickup a\nend\n",
        "module T do\n  def f(): Int = 1\n  use Std.List\n  rec Point\n    x: Int\nend\n",
        "@extern(:erlang, :abs, 1)\nfn abs(x: Int) -> Int\n",
        "use Std.Io\nmod X\n  fn f() -> Int = 'c'\n",
    ] {
        let said = diagnose(text);
        assert_eq!(said.lines().count(), 1, "{text}\n{said}");
        assert!(said.contains("error C0106: this is written in the newer Cure"), "{text}\n{said}");
    }
    expect!["1:1 error C0106: this is written in the newer Cure (`mod X`, `fn f(…) -> T`), which hob does not compile: its Cure has `module X do … end` and `def f(x: Int): Int = …`"].assert_eq(&diagnose("mod X\n  fn f(a: Int) -> Int = a\n"));
    // Names like these remain names.
    check(&["  def mod(a: Int, local: Int): Int =\n    let use = a\n    use + local"], expect![""]);
}
