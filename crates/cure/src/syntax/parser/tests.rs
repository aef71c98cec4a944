//! Broken texts with every error that the parser reports, and the promise that no byte is lost.

use expect_test::{Expect, expect};

use crate::diagnostic::Lines;
use crate::syntax::parse;

fn check(text: &str, expected: Expect) {
    let parsed = parse(text);
    assert_eq!(parsed.tree().text().to_string(), text, "the tree holds every byte");
    let lines = Lines::new(text);
    let said: Vec<_> = parsed.diagnostics.iter().map(|error| error.line(&lines)).collect();
    expected.assert_eq(&said.join("\n"));
}

macro_rules! broken {
    ($($name:ident: $text:expr, $expected:expr;)*) => {
        $(#[test] fn $name() { check($text, $expected); })*
    };
}

/// Every beginning of a text is parsed, wherever it is cut off.
#[test]
fn a_text_that_ends_anywhere_is_parsed() {
    let text = "module T do\n  import A [f/1 as g]\n  def f(type: Int, x: T): Int when x > 0 = match x do {a, [b | c]} -> fn(y) -> p.in end end\n  record P do\n    a: Int\n  end derive Show\n  type S = A(Int) | B\n  fsm P{a: 0} do A --> |e| B end\nend\n";
    for (at, _) in text.char_indices() {
        assert_eq!(parse(&text[..at]).tree().text().to_string(), text[..at]);
    }
}

broken! {
    module_without_do: "module T\n  def f(): Int = 1\nend\n", expect!["1:9 error C0101: expected `do`, found `def`"];
    module_without_end: "module T do\n  def f(): Int = 1\n", expect!["2:19 error C0102: this `module` has no `end`; write `end` here"];
    match_without_end: "module T do\n  def f(x: Int): Int =\n    match x do\n      0 -> 1\n      _ -> 2\n  def g(): Int = 1 +\n  def h(): Int = 3\nend\n", expect![[r#"
        5:13 error C0102: this `match` has no `end`; write `end` here
        6:21 error C0101: expected an expression, found `def`"#]];
    lambda_without_end: "module T do\n  def f(): Any = fn(x) -> x\nend\n", expect!["2:28 error C0102: this `fn` has no `end`; write `end` here"];
    if_with_end: "module T do\n  def f(n: Int): Int = if n > 0 then 1 else 2 end\n  def g(): Int = )\nend\n", expect![[r#"
        2:47 error C0103: this `end` closes nothing; remove it; `if`, a one-line `def … =` and `let` take no `end`
        3:18 error C0101: expected an expression, found `)`"#]];
    if_without_else: "module T do\n  def f(n: Int): Int = if n > 0 then 1\n  def g(): Int = 2\nend\n", expect!["2:39 error C0101: expected `else`, found `def`; every `if` has an `else`"];
    if_as_a_call: "module T do\n  def f(x: Int): Int = if(x, 1, 2)\nend\n", expect!["2:24 error C0106: `if` is not called like a function; a choice is `if condition then a else b`, without `end`"];
    a_call_without_parentheses: "module T do\n  def f(g: Int => Int, x: Int): Int =\n    g x\n  def h(g: Int => Int, x: Int): Int = 1 + g x 2 + A.b [x]\n  def i(g: Int => Int, x: Int): Int = if g x then 1 else 2\n  def j(x: Int): Int = f(g x, 2)\nend\n", expect![[r#"
        3:7 error C0106: two values side by side: the arguments of `g` stand in parentheses; write `g(x)`; a new statement begins on a new line, or behind a comma
        4:45 error C0106: two values side by side: the arguments of `g` stand in parentheses; write `g(x, 2)`; a new statement begins on a new line, or behind a comma
        4:55 error C0106: two values side by side: the arguments of `b` stand in parentheses; write `b([x])`; a new statement begins on a new line, or behind a comma
        5:44 error C0106: two values side by side: the arguments of `g` stand in parentheses; write `g(x)`; a new statement begins on a new line, or behind a comma
        6:28 error C0106: two values side by side: the arguments of `g` stand in parentheses; write `g(x)`; a new statement begins on a new line, or behind a comma"#]];
    a_called_atom: "module T do\n  def f(): Any = 'Some'(42)\n  def g(): Any = :ok(1)\n  def h(): Any = {:error \"no\", 'two words'(3)}\n  def i(o: Any): Any =\n    match o do\n      'Some'(x) -> x\n      None -> :none 1\n    end\nend\n", expect![[r#"
        2:24 error C0106: `'Some'` is an atom, and an atom is not called; a constructor or a function is called by its name: `Some(42)`
        3:21 error C0106: `:ok` is an atom, and an atom is not called; a constructor or a function is called by its name: `ok(1)`
        4:26 error C0106: two values side by side: the atom `:error` takes none; write a tuple: `{:error, "no"}`; a new statement begins on a new line, or behind a comma
        4:43 error C0106: two values side by side: the atom `'two words'` takes none; write a tuple: `{'two words', 3}`; a new statement begins on a new line, or behind a comma
        7:7 error C0106: `'Some'` is an atom, and an atom is not called; a constructor or a function is called by its name: `Some(x)`
        8:21 error C0106: two values side by side: the atom `:none` takes none; write a tuple: `{:none, 1}`; a new statement begins on a new line, or behind a comma"#]];
    values_side_by_side_where_they_may_be: "module T do\n  def f(o: Bool): Int =\n    match o do true -> a false -> b end\n  def g(n: Int): Int =\n    println(\"a\") n\n  fsm M do\n    A --> |go| B when n < m { n = m k = 2; k = k n.k = m }\n  end\nend\n", expect![""];
    case_of: "module T do\n  def f(n: Int): Int =\n    case n of\n      0 -> 1\n      _ -> 2\n    end\nend\n", expect!["3:5 error C0106: there is no `case … of`; write `match n do … end`"];
    outside_a_module: "def f(): Int = 1\ndef g(): Int = 2\n", expect!["1:1 error C0104: this is outside a module; put it between `module Name do` and `end`"];
    derive_in_brackets: "module T do\n  record P do\n    a: Int\n  end derive [Show]\n  def main(): Int = 1\nend\n", expect!["4:14 error C0101: expected a class, found `[`; write the classes without brackets: `derive Show, Eq`"];
    string_never_closed: "module T do\n  def f(): String = \"abc\nend\n", expect![[r#"2:21 error C0002: this string is never closed; close it with `"`; a quote inside is written `\"`"#]];
    interpolation_never_closed: "module T do\n  def f(): String = \"a#{1 + \nend\n", expect![[r#"2:21 error C0002: this string is never closed, or an interpolation in it; close the interpolation with `}` and the string with `"`"#]];
    atom_for_a_type: "module T do\n  def f(x :Int): Int = x\n  def g(x: Int) :Int = x\nend\n", expect![[r#"
        2:11 error C0101: `:Int` is an atom; a type needs a space behind the colon; write `: Int`
        3:17 error C0101: `:Int` is an atom; a type needs a space behind the colon; write `: Int`"#]];
    two_mistakes_in_two_functions: "module T do\n  def f(: Int = 1\n  def g(x: Int): Int = x +\n  def h(x: Int) Int = x\nend\n", expect![[r#"
        2:9 error C0101: expected a name, found `:`
        2:15 error C0101: expected a `,` or `)`, found `=`
        3:27 error C0101: expected an expression, found `def`
        4:17 error C0101: expected a body: `= expression` or `do … end`, found `Int`; a function is written `def name(x: Int): Int = x + 1`"#]];
    missing_equals: "module T do\n  def f(x: Int): Int x + 1\nend\n", expect!["2:22 error C0101: expected a body: `= expression` or `do … end`, found `x`; a function is written `def name(x: Int): Int = x + 1`"];
    brackets: "module T do\n  def f(): List(Int) = [1, 2\n  def g(): Int = (1 + 2\n  def h(): Any = {1, 2\nend\n", expect![[r#"
        2:29 error C0101: expected a `,` or `]`, found `def`
        3:24 error C0101: expected `)`, found `def`
        4:23 error C0101: expected a `,` or `}`, found `end`"#]];
    bad_arguments: "module T do\n  def f(): Int = g(1 2)\n  def h(): Int = g(1,, 2)\nend\n", expect![[r#"
        2:22 error C0101: expected a `,` or `)`, found `2`
        3:22 error C0101: expected an expression, found `,`"#]];
    bad_clause: "module T do\n  def f(x: Int): Int =\n    match x do\n      0 => 1\n      1 -> 2\n      + -> 3\n      _ -> 4\n    end\nend\n", expect![[r#"
        4:9 error C0101: expected `->`, found `=>`; a clause is `pattern -> expression` with one expression; several need `let` before the last
        6:9 error C0101: expected an expression, found `->`"#]];
    two_expressions_in_a_clause: "module T do\n  def f(x: Int): Int =\n    match x do\n      0 -> g(1)\n        2\n      _ -> 4\n    end\nend\n", expect!["5:9 error C0101: this is read as the pattern of a clause, but no `->` follows; a clause is `pattern -> expression` with one expression; several need `let` before the last"];
    clauses_of_another_language: "module T do\n  def function_name\n    | (x: Int): Int when x > 0 = x * 2\n    | (x: Int): Int when x <= 0 = 0\nend\n", expect!["3:5 error C0106: the clauses of a function are not marked with `|`; write a `def` for each: `def f(x: Int): Int when x > 0 = …`, then `def f(x: Int): Int = …`"];
    old_machine: "module M do\n  fsm TrafficLight do\n    initial: :red\n    :red --> |:timer| :green\n  end\nend\n", expect![[r#"
        3:14 error C0101: `:red` is an atom; states are written as names; write `Red`
        4:5 error C0101: `:red` is an atom; states are written as names; write `Red`"#]];
    bad_machine: "module T do\n  fsm L do\n    states: [A, B\n    initial: A\n    state A do\n      event(:go) B\n      timeout(5) -> B\n    end\n  end\nend\n", expect![[r#"
        3:18 error C0101: expected a `,` or `]`, found `initial`
        6:18 error C0101: expected `->`, found `B`"#]];
    bad_record: "module T do\n  record P do\n    a Int\n    b: Int\n    c: Int = 3\n  end\nend\n", expect![[r#"
        3:7 error C0101: expected `:`, found `Int`
        5:12 error C0101: expected a field `name: Type`, or `end`, found `=`; fields have no defaults; each is given when a record is made"#]];
    bad_curify: "module T do\n  curify f(x: Int): Int = erlang.length\n  def g(): Int = 1\nend\n", expect!["2:27 error C0101: expected a target `{module, function, arity}`, found `erlang`"];
    unknown_characters: "module T do\n  def f(a: Int): Bool = a && true\n  def žluť(): Int = 1\nend\n", expect![[r#"
        2:27 error C0001: `&&` has no meaning here; write `and`
        3:7 error C0001: 'ž' has no meaning here; names are made of letters a to z, digits, `_` and `?`; other letters stand in strings only
        3:10 error C0001: 'ť' has no meaning here; names are made of letters a to z, digits, `_` and `?`; other letters stand in strings only"#]];
    bad_number: "module T do\n  def f(): Int = 12ab\nend\n", expect!["2:18 error C0003: this is neither a number nor a name; numbers are written 42, 1_000, 0xFF, 1.5 or 1.5e3"];
    reserved_word: "module T do\n  def f(p: Any): Any = send(p, 1)\nend\n", expect!["2:24 error C0106: `send` is a reserved word without a meaning yet; send to a named process with `message |-> :name`; run machines with Std.Fsm"];
    stray_end: "module T do\n  def f(): Int = 1\n  end\n  def g(): Int = 2\nend\nend\n", expect![[r#"
        3:3 error C0103: this `end` closes nothing; remove it; `if`, a one-line `def … =` and `let` take no `end`
        6:1 error C0103: this `end` closes nothing; remove it; `if`, a one-line `def … =` and `let` take no `end`"#]];
    function_type_of_two: "module T do\n  def f(g: (Int, Int) => Int): Int = g(1, 2)\nend\n", expect!["2:16 error C0101: expected `)`, found `,`; a function of two arguments is `fn(A, B) -> C`; a pair is `{A, B}`"];
    let_without_value: "module T do\n  def f(): Int =\n    let x =\n    let y 2\n    x\nend\n", expect!["4:11 error C0101: expected `=`, found `2`"];
    nothing_after_equals: "module T do\n  def f(): Int =\n  def g(): Int = 1\nend\n", expect!["2:17 error C0101: expected an expression, found `def`"];
    string_never_closed_before_others: "module T do\n  def f(): String = \"abc\n  def g(): String = \"x\" <> \"y\"\n  def h(): Int = 1 +\n  def i(): String = \"#{1}\"\nend\n", expect![[r#"
        2:21 error C0002: this string is never closed; close it with `"`; a quote inside is written `\"`
        4:21 error C0101: expected an expression, found `def`"#]];
    two_strings_never_closed: "module T do\n  def f(): String = \"abc\n  def g(): String = \"x\"\n  def h(): String = \"z\nend\n", expect![[r#"
        2:21 error C0002: this string is never closed; close it with `"`; a quote inside is written `\"`
        4:21 error C0002: this string is never closed; close it with `"`; a quote inside is written `\"`"#]];
    ors: "module T do\n  def f(a: Bool, b: Bool): Bool = a || b && !a\n  def g(): Int = 1\nend\n", expect![[r#"
        2:37 error C0106: `||` has no meaning here; write `or`
        2:42 error C0001: `&&` has no meaning here; write `and`
        2:45 error C0001: '!' has no meaning here; negation is written `not`, inequality `!=`"#]];
    record_without_end: "module T do\n  record P do\n    a: Int\n  def f(p: P): Int = p.a +\n  def g(): Int = 1\nend\n", expect![[r#"
        3:11 error C0102: this `record` has no `end`; write `end` here
        4:27 error C0101: expected an expression, found `def`"#]];
    state_without_end: "module T do\n  fsm L do\n    states: [A, B]\n    initial: A\n    state A do\n      event(:go) -> B\n    state B do\n      event(:go) -> A\n    end\n  end\n  def g(): Int = +\nend\n", expect![[r#"
        6:22 error C0102: this `state` has no `end`; write `end` here
        11:19 error C0101: expected an expression, found `end`"#]];
    class_without_end: "module T do\n  typeclass S(T) do\n    def s(x: T): String\n  instance S(Int) do\n    def s(x: Int): String = \"i\"\n  end\n  def g(): Int = 1 1\nend\n", expect!["3:24 error C0102: this `typeclass` has no `end`; write `end` here"];
    inner_match_without_end: "module T do\n  def f(x: Int, y: Int): Int =\n    match x do\n      0 ->\n        match y do\n          0 -> 1\n          _ -> 2\n      _ -> 3\n    end\n  def g(): Int = 1 +\nend\n", expect![[r#"
        8:13 error C0102: this `match` has no `end`; write `end` here
        10:21 error C0101: expected an expression, found `end`"#]];
    do_without_end: "module T do\n  def f(x: Int): Int do\n    x + 1\n  def g(): Int do\n    2\n  end\nend\n", expect!["3:10 error C0102: this `do` has no `end`; write `end` here"];
    module_without_end_before_another: "module A do\n  def f(): Int = 1\nmodule B do\n  def g(): Int = 1 +\nend\n", expect![[r#"
        2:19 error C0102: this `module` has no `end`; write `end` here
        4:21 error C0101: expected an expression, found `end`"#]];
    several_in_one_clause: "module T do\n  def f(x: Int): Int =\n    match x do\n      0 ->\n        print(\"a\")\n        1\n      _ -> 2\n    end\nend\n", expect!["6:9 error C0101: this is read as the pattern of a clause, but no `->` follows; a clause is `pattern -> expression` with one expression; several need `let` before the last"];
    bad_import: "module T do\n  import [f/1]\n  import Std.List [map/x]\n  export map/2\nend\n", expect![[r#"
        2:10 error C0101: expected a name, found `[`
        3:24 error C0101: expected a number, found `x`
        4:10 error C0101: expected `[`, found `map`"#]];
}

#[test]
fn too_deep_is_an_error_and_not_an_overflow() {
    for (open, close) in
        [("(", ")"), ("[", "]"), ("{", "}"), ("not ", ""), ("f(", ")"), ("fn(x) -> ", " end"), ("1 + ", "")]
    {
        let text = format!("module T do\n  def f(): Int = {}1{}\nend\n", open.repeat(20_000), close.repeat(20_000));
        let said = parse(&text).diagnostics;
        assert!(said.iter().any(|error| error.code == crate::diagnostic::code::TOO_DEEP), "{open:?}");
    }
}
