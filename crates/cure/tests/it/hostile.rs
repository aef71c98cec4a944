//! Texts designed to keep the compiler busy forever, fill the memory or overflow the stack. Each gets a clear answer,
//! on a thread with the stack size of the daemon's threads, after an amount of work that does not depend on the
//! computer.

use std::time::Duration;

use cure::diagnostic::Lines;
use cure::{NoSources, beam, compile};

/// The maximal CPU time of an answer, in any build.
const LONG: Duration = Duration::from_secs(120);

/// The CPU time of this thread, which other load on the machine does not affect.
fn ran() -> Duration {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(said.split(' ').next().unwrap().parse().unwrap())
}

fn module(body: &str) -> String {
    format!("module T do\n{body}\nend\n")
}

fn many(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect()
}

fn joined(count: usize, between: &str, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect::<Vec<_>>().join(between)
}

/// `accepted`, or the first error and the number of errors. An accepted program is lowered and written, too.
fn verdict(text: &str) -> String {
    let text = text.to_owned();
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        let compiled = compile(&text, &NoSources);
        let first = compiled.diagnostics.iter().find(|one| one.is_error());
        let answer = match first {
            None => match beam::program(&compiled.forms(), &|_| None) {
                Ok(_) => "accepted".to_owned(),
                Err(error) => format!("not written: {error}"),
            },
            Some(error) => {
                let line = error.line(&Lines::new(&text));
                let short: String = line.chars().take(100).collect();
                format!("{} in all; {short}", compiled.diagnostics.len())
            }
        };
        drop(compiled);
        (answer, ran())
    });
    let (answer, took) = thread.unwrap().join().unwrap();
    assert!(took < LONG, "{answer} after {took:?}");
    answer
}

macro_rules! hostile {
    ($($name:ident: $text:expr => $answer:literal;)*) => {
        $(#[test] fn $name() {
            let answer = verdict(&$text);
            assert!(answer.contains($answer), "{answer}");
        })*
    };
}

/// Excessive nesting, in every construct.
const DEEP: usize = 100_000;

fn nested(open: &str, inside: &str, close: &str) -> String {
    nested_in(DEEP, open, inside, close)
}

fn nested_in(depth: usize, open: &str, inside: &str, close: &str) -> String {
    module(&format!("  def f(a: Int): Int = {}{inside}{}", open.repeat(depth), close.repeat(depth)))
}

hostile! {
    brackets: nested("[", "a", "]") => "C0105: nested more than 128 deep";
    parentheses: nested("(", "a", ")") => "C0105: nested more than 128 deep";
    open_parentheses: "(".repeat(DEEP) => "1 in all; 1:1 error C0104";
    ifs_in_ifs: nested("if a > 0 then ", "a", " else 2") => "C0105: nested more than 128 deep";
    a_chain_of_else_if: nested("if a > 0 then 1 else ", "a", "") => "C0105: nested more than 128 deep";
    matches: nested_in(1_000, "match a do 0 -> 1 _ -> ", "a", " end") => "C0105: nested more than 128 deep";
    functions: nested("fn(x) -> ", "a", " end") => "C0105: nested more than 128 deep";
    signs: nested("- ", "a", "") => "C0105: nested more than 128 deep";
    sums: nested("a + ", "a", "") => "C0105: nested more than 128 deep";
    pipes: nested("", "a", " |> g") => "C0105: nested more than 128 deep";
    calls: nested("", "a", "(1)") => "C0105: nested more than 128 deep";
    fields: nested("", "a", ".b") => "C0105: nested more than 128 deep";
    sums_of_a_thousand: module(&format!("  def main(): Int = {}", joined(1_000, " + ", |at| at.to_string()))) => "accepted";
    differences_of_three_thousand: module(&format!("  def f(x: Int): Bool = {} == 0", joined(3_000, " - ", |_| "x".to_owned()))) => "accepted";
    texts_of_a_thousand: module(&format!("  def f(x: String): String = {}", joined(1_000, " <> ", |_| "x".to_owned()))) => "accepted";
    lists_of_a_thousand: module(&format!("  def f(x: Nat): List(Nat) = {}", joined(1_000, " ++ ", |_| "[x]".to_owned()))) => "accepted";
    truths_of_a_thousand: module(&format!("  def f(x: Int): Int when {} = 1", joined(1_000, " and ", |at| format!("x != {at}")))) => "accepted";
    pipes_of_a_thousand: module(&format!("  def g(x: Int): Int = x\n  def f(x: Int): Int = x{}", " |> g".repeat(1_000))) => "accepted";
    lists_without_a_thousand: module(&format!("  def f(x: List(Int)): List(Int) = {}", joined(1_000, " -- ", |_| "x".to_owned()))) => "C0105";
    types: module(&format!("  def f(a: {}Int{}): Int = 1", "List(".repeat(DEEP), ")".repeat(DEEP))) => "C0105";
    function_types: module(&format!("  def f(a: {}Int): Int = 1", "Int => ".repeat(DEEP))) => "C0105";
    patterns: module(&format!("  def f(a: Any): Int = match a do {}_{} -> 1 end", "[".repeat(DEEP), "]".repeat(DEEP))) => "C0105";
    interpolations: module(&format!("  def f(): String = {}", "\"#{".repeat(DEEP))) => "C0002";
    words_that_are_none: "do ".repeat(DEEP) => "1 in all; 1:1 error C0104";
    ends: module(&"end ".repeat(DEEP)) => "1001 in all; 2:5 error C0103";
    operators_that_are_none: module(&format!("  def f(a: Int): Any = {}a", "a :: ".repeat(DEEP))) => "1001 in all; ";
}

// Texts of which the long run tries larger ones.

fn modules_in_a_row(count: usize) -> String {
    format!(
        "{}module M{count} do\n  def f(): Int = 1\nend\n",
        many(count, |at| format!("module M{at} do\n  import M{}\nend\n", at + 1))
    )
}

fn modules_in_circle(count: usize) -> String {
    many(count, |at| format!("module M{at} do\n  import M{}\nend\n", (at + 1) % count))
}

fn derived(count: usize) -> String {
    module(&format!(
        "{}  def main(): String = \"#{{L7(1)}}\"",
        many(count, |at| format!("  type T{at} = L{at}(Int) | R{at} derive Show, Eq\n"))
    ))
}

fn lists_in_lists(count: usize) -> String {
    module(&format!(
        "  def f(x: Int): Any =\n    let a0 = x\n{}    a{count}",
        many(count, |at| format!("    let a{} = [a{at}]\n", at + 1))
    ))
}

fn conditions(count: usize) -> String {
    module(&format!(
        "  def f(x: Int): Bool =\n    let b0 = x > 0\n{}    b{count}",
        many(count, |at| format!("    let b{} = b{at} {} x > {at}\n", at + 1, if at % 2 == 0 { "and" } else { "or" }))
    ))
}

fn guarded(count: usize) -> String {
    module(&format!(
        "  def f(n: Int, m: Int): Int =\n    match n do\n{}      _ -> 0\n    end",
        many(count, |at| format!("      x when x > {at} and m < {at} -> 1\n"))
    ))
}

fn competing_machine(count: usize) -> String {
    module(&format!(
        "  record C do\n    n: Int\n  end\n  fsm C{{n: 0}} do\n{}  end",
        many(count, |at| format!("    A --> |e| A when n > {at}\n"))
    ))
}

fn long_machine(count: usize) -> String {
    module(&format!(
        "  fsm L do\n{}    S{count} --> |e| S0\n  end",
        many(count, |at| format!("    S{at} --> |e| S{}\n    S{at} --> |x| D{at}\n", at + 1))
    ))
}

fn numbers(count: usize) -> String {
    module(&format!(
        "  type D = {{x: Int | x != {0}}}\n  def g(d: D): Int = d\n{1}",
        "9".repeat(50_000),
        many(count, |at| format!(
            "  def f{at}(a: Int): Int = if a > {at} then g(a * {}) else g({at})\n",
            "7".repeat(20_000)
        ))
    ))
}

fn varying_type(count: usize) -> String {
    module(&format!(
        "  type F(T) = F(T => T)\n  def f(a: {0}Int{1}): {0}Int{1} = a",
        "F(".repeat(count),
        ")".repeat(count)
    ))
}

fn choices(count: usize) -> String {
    module(&format!(
        "  def f({}): {{r: Int | r != 0}} =\n    if {} then {} - {} else 1",
        joined(count, ", ", |at| format!("a{at}: Int")),
        joined(count, " and ", |at| format!("(a{at} == 1 or a{at} == 2)")),
        joined(count, " + ", |at| format!("a{at}")),
        2 * count + 1
    ))
}

hostile! {
    a_long_list: module(&format!("  def f(): List(Int) = [{}]", joined(100_000, ", ", |at| at.to_string()))) => "accepted";
    a_long_vector: module(&format!("  def f(): Vector(Int, 50000) = ‹{}›", joined(50_000, ", ", |at| at.to_string()))) => "accepted";
    a_long_tuple: module(&format!("  def f(): Any = {{{}}}", joined(100_000, ", ", |at| at.to_string()))) => "C0313: the type of this has more than 500 parts";
    a_long_text: module(&format!("  def f(): String = \"{}\"", "x".repeat(1 << 20))) => "accepted";
    a_long_name: module(&format!("  def {}(): Int = 1", "x".repeat(1 << 20))) => "1 in all; 2:7 error C0006: this name has 1048576 bytes";
    a_long_atom: module(&format!("  def f(): Atom = :{}", "x".repeat(1 << 20))) => "C0006";
    a_long_path: format!("module T{} do\n  def f(): Int = 1\nend", ".Tt".repeat(85)) => "1 in all; 1:8 error C0006: the name of this module has 256 bytes; names have at most 255";
    a_path_as_long_as_may_be: format!("module Tt{} do\n  def f(): Int = 1\nend", ".T1".repeat(84) + "x") => "accepted";
    a_long_path_of_a_machine: format!("module T{} do\n  fsm Lamp do\n    Off --> |on| Off\n  end\nend", ".Tt".repeat(84)) => "1 in all; 2:7 error C0006: `T.Tt.Tt";
    a_machine_with_a_long_name: module(&format!("  fsm L{} do\n    Off --> |on| Off\n  end", "x".repeat(250))) => "2:7 error C0006";
    a_function_in_one_with_a_long_name: module(&format!("  def f{}(): Any = fn(x) -> x end", "x".repeat(253))) => "1 in all; 2:271 error C0006: `fxxx";
    a_method_with_a_long_name: module(&format!("  typeclass C(T) do\n    def m{0}(x: T): Int\n  end\n  type A = A\n  instance C(A) do\n    def m{0}(x: A): Int = 1\n  end", "x".repeat(253))) => "1 in all; 7:5 error C0006: `C_A$mxxx";
    a_long_integer: module(&format!("  def f(): Int = {}", "9".repeat(1 << 20))) => "C0003: this number has 1048576 digits";
    a_long_integer_that_is_read: module(&format!("  def f(): Int = {}", "9".repeat(100_000))) => "accepted";
    a_large_float: module("  def f(): Float = 1.0e999999999") => "C0003: this is more than a float can be";
    many_parameters: module(&format!("  def f({}): Int = 1", joined(20_000, ", ", |at| format!("a{at}: Int")))) => "not written: T.f has or passes 20000 arguments";
    many_fields: module(&format!("  record R do\n{}  end", many(20_000, |at| format!("    a{at}: Int\n")))) => "accepted";
    many_constructors: module(&format!("  type A = {}", joined(50_000, " | ", |at| format!("C{at}")))) => "accepted";
    many_lets: module(&format!("  def f(x: Int): Int =\n{}    x", many(30_000, |at| format!("    let a{at} = {at}\n")))) => "accepted";
    many_clauses: module(&format!("  def f(n: Int): Int =\n    match n do\n{}      _ -> 0\n    end", many(20_000, |at| format!("      {at} -> 1\n")))) => "accepted";
    many_exports: module(&format!("  export [{}]\n{}", joined(5_000, ", ", |at| format!("f{at}/0")), many(5_000, |at| format!("  def f{at}(): Int = 1\n")))) => "accepted";
    many_unknown_names: module(&many(3_000, |at| format!("  def f{at}(): Int = g{at}(1)\n"))) => "1001 in all; ";
    many_unknown_modules: module(&many(5_000, |at| format!("  import Nope{at}\n"))) => "1001 in all; 2:10 error C0201";
    many_errors: module(&many(1_000, |at| format!("  def f{at}(: Int): Int = 1\n"))) => "1000 in all; 2:10 error C0101";
    aliases_of_aliases: module(&format!("  type A0 = Int\n{}  def f(a: A4999): Int = a", many(4_999, |at| format!("  type A{} = A{at}\n", at + 1)))) => "accepted";
    modules_one_after_the_other: modules_in_a_row(100) => "accepted";
    modules_one_after_the_other_long_run: modules_in_a_row(1_000) => "accepted";
    modules_in_a_circle: modules_in_circle(100) => "error C0";
    modules_in_a_circle_long_run: modules_in_circle(1_000) => "error C0";
    many_derived: derived(200) => "accepted";
    many_derived_long_run: derived(2_000) => "accepted";
    many_instances: module(&format!("  typeclass C(T) do\n    def m(x: T): Int\n  end\n{}", many(3_000, |at| format!("  type T{at} = L{at}\n  instance C(T{at}) do\n    def m(x: T{at}): Int = {at}\n  end\n")))) => "accepted";
    classes_upon_classes: module(&many(3_000, |at| format!("  typeclass C{at}(T){} do\n    def m{at}(x: T): Int\n  end\n", if at < 2_999 { format!(" when C{}(T)", at + 1) } else { String::new() }))) => "";
    sums_of_sums: module(&format!("  type T0 = C0(Int => Int)\n{}", many(3_000, |at| format!("  type T{} = C{}(T{at})\n", at + 1, at + 1)))) => "accepted";
    results_of_results: module(&format!("{}  def f5000() = 1", many(5_000, |at| format!("  def f{at}() = f{}()\n", at + 1)))) => "accepted";
    results_in_a_circle: module(&many(5_000, |at| format!("  def f{at}() = f{}()\n", (at + 1) % 5_000))) => "C0306";
}

hostile! {
    types_that_double: module(&format!("  type A0 = Int\n{}", many(60, |at| format!("  type A{} = {{A{at}, A{at}}}\n", at + 1)))) => "C0313: this type has more than 500 parts";
    values_that_double: module(&format!("  def f(n: Int): Any =\n    let a0 = n\n{}    a60", many(60, |at| format!("    let a{} = {{a{at}, a{at}}}\n", at + 1)))) => "C0313";
    constructors_that_double: module(&format!("  type P(A, B) = P(A, B)\n  def f(n: Int): Any =\n    let a0 = n\n{}    a60", many(60, |at| format!("    let a{} = P(a{at}, a{at})\n", at + 1)))) => "C0313";
    results_that_double: module(&format!("  def f0(x: Int) = {{x, x}}\n{}", many(60, |at| format!("  def f{}(x: Int) = {{f{at}(x), f{at}(x)}}\n", at + 1)))) => "C0313";
    arguments_that_double: module(&format!("  type D(T) = {{T, T}}\n  def f(x: {}Int{}): Int = 1", "D(".repeat(100), ")".repeat(100))) => "C0313";
    functions_that_double: module(&format!("  def f(n: Int): Any =\n    let a0 = fn(x) -> x end\n{}    a40(n)", many(40, |at| format!("    let a{} = fn(x) -> {{a{at}(x), a{at}(x)}} end\n", at + 1)))) => "C0313";
    calls_that_double: module(&format!("  def p(x: A): {{A, A}} = {{x, x}}\n  def f(): Any = {}1{}", "p(".repeat(100), ")".repeat(100))) => "C0313";
    types_that_vary_in_no_direction: varying_type(6) => "accepted";
    types_that_vary_in_no_direction_long_run: varying_type(100) => "C0007";
    lists_of_lists: lists_in_lists(1_000) => "C0313";
    lists_of_lists_long_run: lists_in_lists(5_000) => "C0313";
    squares_of_squares: module(&format!("  def f(): Int =\n    let a0 = 3\n{}    a60", many(60, |at| format!("    let a{} = a{at} * a{at}\n", at + 1)))) => "accepted";
    conditions_that_double: module(&format!("  def f({}): {{r: Int | r != 0}} = if {}b0{} then 0 else 1", joined(60, ", ", |at| format!("b{at}: Bool")), "(".repeat(59), many(59, |at| format!(" == b{})", at + 1)))) => "C040";
    conditions_in_conditions: conditions(300) => "accepted";
    conditions_in_conditions_long_run: conditions(3_000) => "accepted";
    choices_of_choices: choices(8) => "accepted";
    choices_of_choices_long_run: choices(30) => "C0402: could not prove";
    pigeons: module(&format!("  def f({}): {{r: Int | r != 0}} =\n    if {} and {} then 0 else 1", joined(12, ", ", |at| format!("p{at}: Int")), joined(12, " and ", |at| format!("p{at} >= 0 and p{at} < 11")), joined(12, " and ", |at| joined(at.max(1), " and ", |other| format!("p{at} != p{}", if at == 0 { 1 } else { other }))))) => "C040";
    divisors: module(&format!("  def f(a: Int): {{r: Int | r != 0}} =\n    if {} then 0 else 1", [3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41].map(|prime| format!("a % {prime} == {}", prime / 2)).join(" and "))) => "C040";
    large_factors: module(&format!("  def f(a: Int, b: Int): {{r: Int | r != 0}} =\n    if {} * a - {} * b == 1 and a > 0 and b > 0 then 0 else 1", "7".repeat(20_000), "9".repeat(20_000))) => "accepted";
    numbers_in_conditions: numbers(2) => "accepted";
    numbers_in_conditions_long_run: numbers(20) => "accepted";
    guards: guarded(100) => "";
    guards_long_run: guarded(1_000) => "";
    machines_that_compete: competing_machine(100) => "";
    machines_that_compete_long_run: competing_machine(700) => "";
    machines_that_are_long: long_machine(300) => "accepted";
    machines_that_are_long_long_run: long_machine(5_000) => "accepted";
    columns_of_truths: module(&format!("  def f(t: {{{}}}): Int =\n    match t do\n{}      _ -> 0\n    end", ["Bool"; 40].join(", "), many(20, |row| format!("      {{{}}} -> 1\n", joined(40, ", ", |at| if at == row || at == 39 - row { "true".into() } else { "_".into() }))))) => "C0503";
    columns_of_numbers: module(&format!("  def f(t: {{{}}}): Int =\n    match t do\n{}      _ -> 0\n    end", ["Int"; 20].join(", "), many(60, |row| format!("      {{{}}} -> 1\n", joined(20, ", ", |at| if (row * 7 + at * 3) % 5 < 2 { row.to_string() } else { "_".into() }))))) => "C0503";
    trees_of_patterns: module(&format!("  type T = L | N(T, T)\n  def f(t: T): Int =\n    match t do\n{}      _ -> 0\n    end", many(40, |at| format!("      {}L{} -> 1\n      {}L{} -> 1\n", "N(".repeat(at + 2), ", L)".repeat(at + 2), "N(L, ".repeat(at + 2), ")".repeat(at + 2))))) => "accepted";
    every_truth: module(&format!("  def f({}): Int =\n    match {{{}}} do\n{}    end", joined(10, ", ", |at| format!("a{at}: Bool")), joined(10, ", ", |at| format!("a{at}")), many(1_024, |row| format!("      {{{}}} -> 1\n", joined(10, ", ", |at| (row >> at & 1 == 1).to_string()))))) => "accepted";
}

/// Expensive code in a text with many modules: they share the budget of the text.
#[test]
fn many_hard_modules_take_no_more_than_one_long_run() {
    let conditions = joined(30, " and ", |at| format!("(a{at} == 1 or a{at} == 2)"));
    let (params, sum) = (joined(30, ", ", |at| format!("a{at}: Int")), joined(30, " + ", |at| format!("a{at}")));
    let hard = many(100, |at| {
        format!(
            "module T{at} do\n  def f({params}): {{r: Int | r != 0}} = if {conditions} then {sum} - 61 else 1\nend\n"
        )
    });
    let plain =
        many(200, |at| format!("module P{at} do\n  def f(n: Int): Int = if n > {at} then n - 1 else {at}\nend\n"));
    let text = format!("{hard}{plain}");
    let compiled = compile(&text, &NoSources);
    let spent = compiled.diagnostics.iter().filter(|one| one.code.to_string() == "C0007").count();
    assert!(spent > 10, "{spent} of {}", compiled.diagnostics.len());
    // Code whose cost fits the budget for its length is still checked.
    let plain = compiled.diagnostics.iter().filter(|one| one.span.start as usize >= hard.len()).count();
    assert_eq!(plain, 0);
}

/// A module that runs out of fuel is reported, and earlier diagnostics are kept.
#[test]
fn what_takes_too_much_is_told_once() {
    let hard = many(100, |at| {
        let conditions = joined(30, " and ", |at| format!("(a{at} == 1 or a{at} == 2)"));
        let (params, sum) = (joined(30, ", ", |at| format!("a{at}: Int")), joined(30, " + ", |at| format!("a{at}")));
        format!("  def f{at}({params}): {{r: Int | r != 0}} = if {conditions} then {sum} - 61 else 1\n")
    });
    let text = module(&format!("  def wrong(): Int = \"x\"\n{hard}"));
    let compiled = compile(&text, &NoSources);
    let codes: Vec<String> = compiled.diagnostics.iter().map(|one| one.code.to_string()).collect();
    assert_eq!(codes[0], "C0301");
    assert_eq!(codes.iter().filter(|code| *code == "C0007").count(), 1, "{codes:?}");
    assert_eq!(codes.last().unwrap(), "C0007");
    assert!(codes.len() < 90, "{codes:?}");
    // The next module has its full budget.
    assert!(compile(&module("  def f(n: Int): {x: Int | x > 0} = if n > 0 then n else 1"), &NoSources).is_ok());
}
