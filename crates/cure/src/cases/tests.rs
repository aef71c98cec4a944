//! Generated tests run, pass for the program they were made from, and fail for a program that was broken on purpose.

use expect_test::expect;

use super::{Cases, NoCases, cases};
use crate::{Limits, NoSources, Stop, compile};

const PROGRAM: &str = r#"module T do
  type Shape = Dot | Square(Positive) | Pile(List(Shape))
  type Positive = {n: Int | n > 0}
  record Person do
    name: String
    age: Nat
  end

  def area(s: Shape): Int =
    match s do
      Dot -> 0
      Square(n) -> n * n
      Pile(all) -> total(all)
    end
  def total(all: List(Shape)): Int =
    match all do
      [] -> 0
      [first | rest] -> area(first) + total(rest)
    end
  def fee(age: Nat): Int = if age < 18 then 0 else 7
  def greet(p: Person): String = "Dear #{p.name}, #{p.age}"
  def older(p: Person): Person = Person{p | age: p.age + 1}
  def half(n: Int, by: Int): Int when by != 0 = n / by
  def apply(f: Int => Int, to: Int): Int = f(to)
  def first(list: List(Int, n)): Option(Int) = match list do [] -> None [x | _] -> Some(x) end
  def adder(n: Int): Int => Int = fn(m) -> n + m end
  def endless(n: Int): Int = if n == 0 then 0 else endless(n)
  def mean(a: Float, b: Float): Float = (a + b) / 2.0
  def word(a: Atom): String = match a do :yes -> "ja" _ -> "\"nein\" \#{}" end
  def same(a: T): T = a
end
"#;

fn make_cases(function: &str) -> Cases {
    cases(PROGRAM, &NoSources, function, Limits::default(), &Stop::default())
        .unwrap_or_else(|why| panic!("{function}: {why:?}"))
}

/// The result of the tests for a program.
fn failed(program: &str, tests: &Cases) -> String {
    let whole = format!("{program}\n{}", tests.code);
    let compiled = compile(&whole, &NoSources);
    assert!(compiled.is_ok(), "{:#?}\n{whole}", compiled.diagnostics);
    let run = compiled.run_in(&tests.module, "main", Limits::default(), Default::default(), Default::default());
    run.unwrap().result.unwrap()
}

#[test]
fn every_kind_of_function_gets_tests_that_hold() {
    let functions =
        ["area", "total", "fee", "greet", "older", "half", "apply", "first", "adder", "mean", "word", "same/1"];
    for function in functions {
        let tests = make_cases(function);
        assert!(tests.count >= 2, "{function}: {}", tests.code);
        assert_eq!(failed(PROGRAM, &tests), "[]", "{function}\n{}", tests.code);
        assert_eq!(crate::syntax::format(&tests.code).unwrap(), tests.code, "{function} is formatted");
    }
}

#[test]
fn what_was_spoilt_is_caught() {
    for (function, right, wrong, said) in [
        ("fee", "age < 18", "age <= 18", "T.fee(18) is not 7"),
        ("area", "n * n", "n + n", "T.area(Square(1)) is not 1"),
        ("half", "n / by", "n % by", "is not"),
        ("word", ":yes ->", ":no ->", "T.word(:yes) is not"),
        ("older", "p.age + 1", "p.age + 2", "is not Person{name:"),
        ("first", "Some(x)", "None", "is not Some("),
        ("mean", "2.0", "2.5", "is not"),
    ] {
        let tests = make_cases(function);
        let spoilt = PROGRAM.replace(right, wrong);
        assert_ne!(spoilt, PROGRAM);
        let failed = failed(&spoilt, &tests);
        assert!(failed.contains(said), "{function}: {failed}\n{}", tests.code);
    }
}

#[test]
fn a_test_module_reads_well() {
    expect![[r#"
        module T.FeeTests do
          import T

          # The cases that fail, each in words.
          def main(): List(String) =
            case1() ++ case2() ++ case3() ++ case4() ++ case5() ++ case6() ++ case7() ++ case8() ++ case9() ++ case10()

          def case1(): List(String) =
            if T.fee(0) == 0 then [] else ["T.fee(0) is not 0"]

          def case2(): List(String) =
            if T.fee(1) == 0 then [] else ["T.fee(1) is not 0"]

          def case3(): List(String) =
            if T.fee(2) == 0 then [] else ["T.fee(2) is not 0"]

          def case4(): List(String) =
            if T.fee(18) == 7 then [] else ["T.fee(18) is not 7"]

          def case5(): List(String) =
            if T.fee(17) == 0 then [] else ["T.fee(17) is not 0"]

          def case6(): List(String) =
            if T.fee(19) == 7 then [] else ["T.fee(19) is not 7"]

          def case7(): List(String) =
            if T.fee(7) == 0 then [] else ["T.fee(7) is not 0"]

          def case8(): List(String) =
            if T.fee(6) == 0 then [] else ["T.fee(6) is not 0"]

          def case9(): List(String) =
            if T.fee(8) == 0 then [] else ["T.fee(8) is not 0"]

          def case10(): List(String) =
            if T.fee(10) == 0 then [] else ["T.fee(10) is not 0"]
        end
    "#]]
    .assert_eq(&make_cases("fee").code);
    let endless = make_cases("endless");
    assert_eq!(endless.count, 1, "{}", endless.code);
    assert!(endless.raise[0].contains("T.endless(1): the run was ended"), "{:?}", endless.raise);
}

#[test]
fn what_cannot_be_tested_says_why() {
    let why = |text: &str, function: &str| match cases(text, &NoSources, function, Limits::default(), &Stop::default())
    {
        Err(NoCases::Refused(diagnostics)) => format!("{} diagnostics", diagnostics.len()),
        Err(NoCases::NoFunction(there)) => format!("there is {}", there.join(", ")),
        Err(NoCases::NoArguments(why)) => why,
        Ok(cases) => cases.code,
    };
    let all = [
        why("module T do\n  def f(): Int = \"x\"\nend\n", "f"),
        why("module T do\n  export [g/1]\n  def f(n: Int): Int = n\n  def g(n: Int): Int = n\nend\n", "f"),
        why("module T do\n  def f(n: {x: Int | x > 5 and x < 3}): Int = n\nend\n", "f"),
        why("module T do\n  curify f(n: Int): Int = {erlang, error, 1}\nend\n", "f"),
    ];
    expect![[r#"
        1 diagnostics
        there is T.f(n: Int): Int, T.g(n: Int): Int
        the checker lets none of the tried calls pass: 5 does not fit {x: Int | x > 5 and x < 3}
        no call gives a value that a case can hold:
        T.f(0): the program raised 0 in T.f
        T.f(1): the program raised 1 in T.f
        T.f(-1): the program raised -1 in T.f
        T.f(2): the program raised 2 in T.f
        T.f(10): the program raised 10 in T.f
        T.f(-7): the program raised -7 in T.f"#]]
    .assert_eq(&all.join("\n"));
}
