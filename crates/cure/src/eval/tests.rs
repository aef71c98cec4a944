//! Runs that exceed a limit end with a reason and leave the host unharmed.

use std::time::Duration;

use expect_test::{Expect, expect};

use super::heap::live;
use super::limits::{Failure, Limits, Stop};
use super::watch::Watched;
use crate::{Compilation, NoSources, Run, compile};

fn compiled(code: &str) -> Compilation {
    let text = format!("module T do\n{code}\nend\n");
    let compiled = compile(&text, &NoSources);
    assert!(compiled.is_ok(), "{:?}", compiled.diagnostics);
    compiled
}

fn run(code: &str, limits: Limits) -> Run {
    compiled(code).run_in("T", "main", limits, Stop::default(), Watched::default()).unwrap()
}

fn check(code: &str, expected: Expect) {
    let limits = Limits { memory: 32 << 20, time: Some(Duration::from_secs(20)), ..Limits::default() };
    let said = match run(code, limits).result {
        Ok(value) => value,
        Err(failure) => failure.to_string(),
    };
    expected.assert_eq(&said.chars().take(120).collect::<String>());
    assert_eq!(live(), 0, "all values are gone");
}

#[test]
fn values_deeper_than_the_stack() {
    let nest = "type Tree = Leaf | Node(Tree)\n\
                def nest(n: Int, tree: Tree): Tree = if n == 0 then tree else nest(n - 1, Node(tree))\n";
    check(&format!("{nest} def main(): Bool = nest(50000, Leaf) == nest(50000, Leaf)"), expect!["true"]);
    check(&format!("{nest} def main(): Bool = nest(50000, Leaf) == nest(49999, Leaf)"), expect!["false"]);
    check(&format!("{nest} def main(): Tree = nest(3, Leaf)"), expect!["{node,{node,{node,{leaf}}}}"]);
    let shown = run(&format!("{nest} def main(): Tree = nest(50000, Leaf)"), Limits::default()).result.unwrap();
    assert!(shown.starts_with("{node,{node,") && shown.len() < 10_000, "{}", shown.len());
    let fun =
        "def pile(n: Int, f: Int => Int): Int => Int = if n == 0 then f else pile(n - 1, fn(x) -> f(x) + 1 end)\n";
    check(&format!("{fun} def main(): Int = pile(50000, fn(x) -> x end)(1)"), expect!["50001"]);
}

#[test]
fn memory_is_bounded() {
    let text = "def more(s: String): String = more(s <> s)\n def main(): String = more(\"0123456789\")";
    check(text, expect!["the run was ended: more than 33554432 bytes of memory"]);
    let list = "def more(l: List(Int)): List(Int) = more(l ++ l)\n def main(): List(Int) = more([1])";
    check(list, expect!["the run was ended: more than 33554432 bytes of memory"]);
    let calls = "def more(n: Int): Int = 1 + more(n + 1)\n def main(): Int = more(1)";
    check(calls, expect!["the run was ended: more than 33554432 bytes of memory"]);
    let big = "def more(n: Int): Int = more(n * n)\n def main(): Int = more(3)";
    check(big, expect!["the program raised system_limit in T.more"]);
    let seq = "curify seq(a: Int, b: Int): List(Int) = {lists, seq, 2}\n def main(): Int = match seq(1, 100000000000) do [] -> 0 _ -> 1 end";
    check(seq, expect!["the run was ended: more than 33554432 bytes of memory"]);
    // Freed memory does not count.
    let long = "def many(n: Int, s: String): Int = if n == 0 then 0 else wasted(n, s <> s, s)\n\
                def wasted(n: Int, t: String, s: String): Int = if t == \"\" then 1 else many(n - 1, s)\n\
                def grown(n: Int, s: String): String = if n == 0 then s else grown(n - 1, s <> s)\n\
                def main(): Int = many(500, grown(14, \"0123456789\"))";
    check(long, expect!["0"]);
}

/// Large values with a small representation: trees whose halves are shared, numbers with a million digits.
#[test]
fn what_looks_small_is_counted_as_what_it_is() {
    let limits = Limits { steps: 200_000, memory: 64 << 20, ..Limits::default() };
    let tree = "type N = Z | S(N, N) derive Eq, Ord\n\
                curify sort(l: List(N)): List(N) = {lists, sort, 1}\n\
                curify largest(a: N, b: N): N = {erlang, max, 2}\n\
                def g(s: N, n: Int): N = if n <= 0 then s else g(S(s, s), n - 1)\n";
    let said = |main: &str| match run(&format!("{tree}def main(): {main}"), limits).result {
        Ok(value) => value,
        Err(failure) => failure.to_string(),
    };
    let wrong = "the run was ended: more than 200000 steps";
    assert_eq!(said("Bool = g(Z, 60) == g(Z, 60)"), wrong);
    assert_eq!(said("Bool = [g(Z, 60)] == [g(Z, 60)]"), wrong);
    assert_eq!(said("Bool = g(Z, 60) < g(Z, 60)"), wrong);
    assert_eq!(said("Any = sort([g(Z, 60), g(Z, 61), g(Z, 60), g(Z, 2)])"), wrong);
    assert_eq!(said("Any = largest(g(Z, 60), g(Z, 60))"), wrong);
    assert_eq!(said("Any = [g(Z, 60)] -- [g(Z, 60)]"), wrong);
    assert_eq!(said("Bool = g(Z, 12) == g(Z, 12)"), "true");
    assert_eq!(said("Any = sort([S(Z, Z), Z, S(Z, Z), Z])"), "[{z},{z},{s,{z},{z}},{s,{z},{z}}]");
    assert!(said("Any = g(Z, 60)").len() < 200_000);
    assert_eq!(live(), 0, "all values are gone");

    // Within a second or two, whatever the step limit is.
    let limits = Limits { time: Some(Duration::from_millis(300)), ..Limits::default() };
    let number = "def power(x: Int, n: Int): Int = if n <= 0 then x else power(x * x, n - 1)\n\
                  def many(n: Int, a: Int, b: {d: Int | d != 0}): Int = if n <= 0 then 0 else (a / b + many(n - 1, a, b)) % 7\n";
    let begun = std::time::Instant::now();
    let code =
        format!("{number}def main(): Int = match power(3, 15) do 0 -> 0 x -> many(1000000, power(7, 16), x) end");
    assert!(matches!(run(&code, limits).result, Err(Failure::Limit { what: "seconds", .. })));
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let code = format!("{number}def main(): Int = power(3, 18)");
    let watched = Watched { trace: true, profile: false };
    let run = compiled(&code).run_in("T", "main", Limits::default(), Stop::default(), watched).unwrap();
    assert!(run.trace.iter().any(|line| line.contains("(an integer of 415489 bits)")), "{:?}", run.trace);
}

#[test]
fn numbers_are_read_as_erlang_reads_them() {
    let code = |text: &str| {
        format!("curify read(s: String): Int = {{erlang, binary_to_integer, 1}}\ndef main(): Int = read(\"{text}\")")
    };
    let said = |text: &str| run(&code(text), Limits::default()).result.unwrap_or_else(|failure| failure.to_string());
    assert_eq!(said("-12"), "-12");
    assert_eq!(said("+12"), "12");
    assert_eq!(said(&"9".repeat(3_000)), "9".repeat(3_000));
    for wrong in ["", "-", "1_000", "+-1", "0x1", " 1", "1.0"] {
        assert_eq!(said(wrong), "the program raised badarg in T.read", "{wrong:?}");
    }
}

#[test]
fn a_callback_inside_of_itself_is_no_overflow() {
    let code = "curify map(f: Int => Int, l: List(Int)): List(Int) = {lists, map, 2}\n\
                def deeper(n: Int): Int = match map(fn(x) -> deeper(x) end, [n]) do [x | _] -> x [] -> 0 end\n\
                def main(): Int = deeper(1)";
    check(code, expect!["the run was ended: more than 64 runs inside of runs"]);
}

#[test]
fn time_is_bounded_and_a_run_can_be_stopped() {
    let forever = "def forever(n: Int): Int = forever(n + 1)\n def main(): Int = forever(0)";
    let limits = Limits { steps: u64::MAX, time: Some(Duration::from_millis(20)), ..Limits::default() };
    assert!(matches!(run(forever, limits).result, Err(Failure::Limit { what: "seconds", .. })));
    let few = Limits { steps: 1000, ..Limits::default() };
    assert_eq!(run(forever, few).result, Err(Failure::Limit { what: "steps", limit: 1000 }));
    let stop = Stop::default();
    stop.stop();
    let run = compiled(forever).run_in("T", "main", Limits::default(), stop, Watched::default()).unwrap();
    assert_eq!(run.result, Err(Failure::Cancelled));
}

#[test]
fn a_clock_that_runs_long_with_a_machine_on_it_is_bounded_too() {
    let code = "fsm Light do\n    states: [On, Off]\n    initial: On\n    state On do\n      timeout(1) -> Off\n    end\n\
                \x20   state Off do\n      timeout(1) -> On\n    end\n  end\n\
                curify wait(ms: Int): Atom = {timer, sleep, 1}\n\
                def main(): Atom =\n let light = Light_spawn()\n wait(1000000000000000)";
    let limits = Limits { steps: 100_000, ..Limits::default() };
    assert_eq!(run(code, limits).result, Err(Failure::Limit { what: "steps", limit: 100_000 }));
}

#[test]
fn a_trace_and_a_profile() {
    let code = "def fact(n: Nat): Int = if n == 0 then 1 else n * fact(n - 1)\n\
                def last(l: List(Int)): Int = match l do [] -> 0 [x] -> x [_ | rest] -> last(rest) end\n\
                def main(): Int = fact(2) + last([700, 800])";
    let watched = Watched { trace: true, profile: true };
    let run = compiled(code).run_in("T", "main", Limits::default(), Stop::default(), watched).unwrap();
    expect![[r#"
        T.main()
          T.fact(2)
            T.fact(1)
              T.fact(0)
              = 1
            = 1
          = 2
          T.last([700,800])
          T.last([800])  (in its place)
          = 800
        = 802"#]]
    .assert_eq(&run.trace.join("\n"));
    let profile: Vec<_> = run.profile.iter().map(|one| format!("{} {}", one.function, one.calls)).collect();
    expect![[r#"
        T.last/1 2
        T.fact/1 3
        T.main/0 1"#]]
    .assert_eq(&profile.join("\n"));
    assert_eq!(run.profile.iter().map(|one| one.steps).sum::<u64>(), run.steps);
}
