//! The tools as a client calls them. Every program in their answers compiles and runs.

mod sizes;

use std::sync::Arc;

use expect_test::expect;
use mcp::tool::{Context, Tool};
use serde_json::{Value, json};

use super::get_examples::EXAMPLES;
use super::get_syntax_help::TOPICS;
use crate::diagnostic::Lines;
use crate::{Limits, NoSources, compile};

/// The text of a tool's answer to these arguments.
async fn call<T: Tool>(tool: T, arguments: Value) -> String {
    let args = serde_json::from_value(arguments).unwrap();
    match tool.call(Context::detached(Arc::new(())), args).await {
        Ok(output) => T::text(&output),
        Err(error) => format!("error: {error}"),
    }
}

/// The part with its default configuration.
fn part() -> Arc<crate::Cure> {
    crate::Cure::new(crate::Options::default())
}

/// The result of a whole program, which must be valid and formatted.
fn ran(name: &str, code: &str) -> String {
    let compiled = compile(code, &NoSources);
    let lines = Lines::new(code);
    let said: Vec<_> = compiled.diagnostics.iter().map(|one| one.line(&lines)).collect();
    assert!(said.is_empty(), "{name}:\n{}", said.join("\n"));
    assert_eq!(crate::syntax::format(code).unwrap(), code, "{name} is formatted");
    let run = compiled.run("main", Limits::default()).unwrap();
    format!("{name}: {}\n", run.result.unwrap_or_else(|failure| failure.to_string()))
}

#[test]
fn every_example_compiles_and_runs() {
    let all: String = EXAMPLES.iter().map(|(_, name, code)| ran(name, code)).collect();
    expect![[r#"
        shapes: <<"house: 15">>
        refinements: {{ok,3},{error,<<"division by zero">>},2}
        turnstile: {ok,{'Unlocked',{'Turnstile',2}}}
        lamp: {{ok,{'On',unit}},{ok,{'Off',unit}}}
        describe: <<"1 coins, a debt of 2 and 1 coins, a debt of 2">>
        derive: {<<"Card{suit: Spades, rank: 2}">>,false,{lt}}
        vectors: {32,7}
        pipeline: {{ok,<<"got 4">>},{error,<<"odd">>},{error,<<"not positive">>}}
    "#]]
    .assert_eq(&all);
}

#[test]
fn every_program_of_the_syntax_help_compiles_and_runs() {
    // Every other piece between fences is a block of code.
    let blocks = |text: &'static str| text.split("```").skip(1).step_by(2).collect::<Vec<_>>();
    let program = |block: &'static str| block.strip_prefix("cure\n").expect("nothing but Cure stands in the help");
    let topic = |(name, text): (&str, &'static str)| -> String {
        assert!(!blocks(text).is_empty(), "{name} shows nothing");
        blocks(text).into_iter().map(|block| ran(name, program(block))).collect()
    };
    let all: String = TOPICS.iter().map(|(_, name, text)| topic((name, text))).collect();
    expect![[r#"
        modules: {[<<"Hello, Ada!">>,<<"Hello, Alan!">>],3,<<"A">>}
        functions: 6
        expressions: {<<"minus">>,<<"2 by 3 is 6, twice 12 #{plain}">>,<<"plus">>}
        types: {1,14,true}
        refinements: {15,7,{none},3,9,3.5,"\n\f"}
        records: <<"Person{name: Ada, age: 37}, a minor">>
        pattern_matching: {<<"red, negative">>,<<"blue">>,true}
        typeclasses: <<"square of 18">>
        fsm: {ok,{'Open',{'Door',1}}}
        operators: {3,-1,3.5,[1,2],<<"ab">>,10,34,true}
    "#]]
    .assert_eq(&all);
}

/// Lines of the documentation that begin with `>` are expressions that are true.
#[test]
fn what_the_library_says_of_itself_is_true() {
    let mut count = 0;
    for name in crate::standard::names() {
        let text = crate::standard::source(name).unwrap();
        assert!(!text.contains("```"), "{name} has a block that nothing runs");
        let says = text.lines().filter_map(|line| line.trim().strip_prefix("# > "));
        let says: Vec<&str> = says.collect();
        count += says.len();
        let cases = says.iter().enumerate().map(|(at, says)| format!("  def case{at}(): Bool = {says}\n"));
        let code = format!("module Says do\n  import {name}\n{}end\n", cases.collect::<String>());
        let compiled = compile(&code, &NoSources);
        let lines = Lines::new(&code);
        let wrong: Vec<_> = compiled.diagnostics.iter().map(|one| one.line(&lines)).collect();
        assert!(compiled.is_ok(), "{name}:\n{}\n{code}", wrong.join("\n"));
        for (at, says) in says.iter().enumerate() {
            let run = compiled.run(&format!("case{at}"), Limits::default()).unwrap();
            assert_eq!(run.result, Ok("true".to_owned()), "{name}: {says}");
        }
    }
    assert!(count > 60, "{count}");
}

#[test]
fn syntax_help_tells_of_refinements_and_their_limits_of_if_let_and_interpolation() {
    let told = |wanted: &str| TOPICS.iter().find(|(_, name, _)| *name == wanted).unwrap().2;
    for (topic, parts) in [
        (
            "refinements",
            &[
                "{x: Int | x > 0}",
                "Limits",
                "counter-example",
                "product, quotient or remainder of two variables",
                "literals are compared",
            ][..],
        ),
        ("expressions", &["`let`", "`if` has", "\"#{…}\"", "takes no `end`"]),
    ] {
        parts.iter().for_each(|part| assert!(told(topic).contains(part), "{topic}: {part}"));
    }
}

#[tokio::test]
async fn get_stdlib_docs_takes_list() {
    let docs = |module: &str| call(super::get_stdlib_docs::GetStdlibDocs, json!({ "module": module }));
    let full = docs("Std.List").await;
    assert!(full.starts_with("Std.List: "), "{full}");
    for short in ["List", "list", " std.list "] {
        assert_eq!(docs(short).await, full, "{short}");
    }
}

#[tokio::test]
async fn a_wrong_program_is_a_result_and_not_an_error() {
    let code = "module T do\n  def g(n: {x: Int | x > 0}): Int = n\n  def f(): Int = g(-5)\nend\n";
    expect![[r#"
        ✗ Type error
        3:20 error C0401: -5 does not fit {x: Int | x > 0}"#]]
    .assert_eq(&call(super::type_check_cure::TypeCheckCure(part()), json!({ "code": code })).await);
    expect![[r#"
        ✗ Syntax error
        2:10 error C0101: expected a name, found `=`
        2:13 error C0102: this `module` has no `end`
            write `end` here"#]]
    .assert_eq(&call(super::validate_syntax::ValidateSyntax, json!({ "code": "module T do\n  def f( = 1\n" })).await);
}

#[tokio::test]
async fn a_machine_is_told_with_its_faults_and_its_picture() {
    let code = "module T do\n  record P do\n    n: Int\n  end\n  fsm P{n: 0} do\n    A --> |go| B when n > 5\n    A --> |go| C when n > 3\n    A --> |stop| D when n > 5 and n < 3\n    B --> |back| A\n  end\nend\n";
    expect![[r#"
        Found 1 FSM definition(s):

        FSM: P
        Initial State: A
        States: A, B, C, D
        ✗ deadlock: the state C of P has no exit and is not terminal
            A --go--> C
        ✗ unreachable: the state D of P is never reached
        ✗ nondeterminism: in A, go can go to B and to C; the first one written is taken
        ✗ dead_transition: the guard of stop in A is never true
        stateDiagram-v2
            [*] --> A
            A --> B : go [n > 5]
            A --> C : go [n > 3]
            A --> D : stop [n > 5 and n < 3]
            B --> A : back"#]]
    .assert_eq(&call(super::analyze_fsm::AnalyzeFsm(part()), json!({ "code": code })).await);
}

#[tokio::test]
async fn documentation_comes_from_the_library_itself() {
    expect![[r#"
        Std.Pair: Pairs: tuples of two.
          pair(a: A, b: B): Pair(A, B)
              A pair of two values.
              > pair(1, "a") == {1, "a"}
          first(p: Pair(A, B)): A
              The first value.
              > first({1, "a"}) == 1
          second(p: Pair(A, B)): B
              The second value.
              > second({1, "a"}) == "a""#]]
    .assert_eq(&call(super::get_stdlib_docs::GetStdlibDocs, json!({ "module": "Std.Pair" })).await);
    expect![[r#"
        error: Unknown module "Std.Nope" of the standard library.
        Available: Std.Core, Std.Eq, Std.Fsm, Std.Io, Std.List, Std.Map, Std.Math, Std.Option, Std.Ord, Std.Pair, Std.Queue, Std.Rec, Std.Result, Std.Show, Std.String, Std.System, Std.Typeclasses, Std.Vector; and `all`."#]].assert_eq(&call(super::get_stdlib_docs::GetStdlibDocs, json!({ "module": "Std.Nope" })).await);
}

#[tokio::test]
async fn hostile_text_gets_a_clear_answer() {
    let nested = format!("module T do\n  def f(): Int = {}1{}\nend\n", "(".repeat(100_000), ")".repeat(100_000));
    let deepest = format!("module T do\n  def f(): Int = {}1{}\nend\n", "(1 + ".repeat(60), ")".repeat(60));
    let chain = format!("module T do\n  def f(): Int = 1{}\nend\n", " + 1".repeat(100));
    let dotted = format!("module T do\n  def f(x: {}F): Int = 1\nend\n", "A.".repeat(100_000));
    let huge = "x".repeat(17 << 20);
    for (name, code, wanted) in [
        ("nested", nested.as_str(), "C0105"),
        ("deepest", &deepest, "passed"),
        ("chain", &chain, "passed"),
        ("dotted", &dotted, "C0203"),
        ("nul", "module T do\n  \0\nend\n", "C0001"),
        ("huge", &huge, "C0004"),
        ("empty", "", "passed"),
    ] {
        let text = call(super::type_check_cure::TypeCheckCure(part()), json!({ "code": code })).await;
        assert!(text.contains(wanted), "{name}: {}", &text[..text.len().min(500)]);
    }
}

fn running() -> super::run_cure::RunCure {
    let limits = crate::RunLimits { steps: 100_000, memory: 64 << 20, time: std::time::Duration::from_secs(20) };
    super::run_cure::RunCure(crate::Cure::new(crate::Options { run: Some(limits), ..crate::Options::default() }))
}

#[tokio::test]
async fn generate_tests_honours_cure_run() {
    let code = "module T do\n  def main(n: Nat): Int = n / 2\nend";
    let arguments = json!({ "code": code, "function": "main" });
    let off = call(super::generate_tests::GenerateTests(part()), arguments.clone()).await;
    assert!(off.starts_with("error: Running programs is not enabled here.") && off.contains("run = true"), "{off}");
    let on = call(super::generate_tests::GenerateTests(running().0), arguments).await;
    assert!(on.contains("if T.main(2) == 1 then"), "{on}");
    // A call has the steps of the configuration.
    let code = "module T do\n  def f(n: Nat): Int = if n < 1 then 0 else f(n + 1)\nend";
    let told = call(super::generate_tests::GenerateTests(running().0), json!({ "code": code, "function": "f" })).await;
    assert!(told.contains("T.f(1): the run was ended: more than 100000 steps"), "{told}");
}

#[tokio::test]
async fn running_is_off_unless_it_is_enabled() {
    let off = super::run_cure::RunCure(part());
    expect![[r#"
        error: Running programs is not enabled here.
        Put `[cure]` and below it `run = true` into hob.toml, or into your own ~/.config/hob/config.toml; then `hob stop`, and the next call starts a daemon that reads it."#]].assert_eq(&call(off, json!({ "code": "module T do\n  def main(): Int = 1\nend" })).await);
}

#[tokio::test]
async fn a_program_runs_with_its_output_and_its_trace() {
    let code = "module T do\n  import Std.Io\n  def twice(n: Int): Int = n * 2\n  def main(): Int =\n    let _ = println(\"hello\")\n    twice(21)\n  def forever(n: Int): Int = forever(n + 1)\n  def halve(n: {x: Int | x > 0}): Int = 100 / n\nend\n";
    let all = [
        call(running(), json!({ "code": code, "trace": true, "profile": true })).await,
        call(running(), json!({ "code": code, "function": "forever", "args": ["0"] })).await,
        call(running(), json!({ "code": code, "function": "halve", "args": ["0"] })).await,
        call(running(), json!({ "code": code, "function": "half", "args": ["0"] })).await,
        call(running(), json!({ "code": "module T do\n  def main(): Int = \"x\"\nend" })).await,
        call(running(), json!({ "code": code, "file_path": "x.cure" })).await,
    ];
    expect![[r#"
        hello
        ⇒ 42
        (9 steps)

        Trace:
        T.main()
        T.twice(21)  (in its place)
        = 42

        Profile (steps, calls, function):
                   4         1 Std.Io.println/1
                   2         1 T.main/0
                   2         1 T.twice/1
                   1         1 Std.Io.put/1
        ---
        ✗ the run was ended: more than 100000 steps; cure.run_steps in the configuration is the limit
        (100001 steps)
        ---
        error: The arguments do not fit `halve`.
        0 does not fit {x: Int | x > 0}
        Each argument is an expression of Cure: a text is written with its quotes, "…".
        ---
        error: The program exports no `half/1`: no function of that name with that many arguments.
        It defines:
        T.forever(n: Int): Int
        T.halve(n: {x: Int | x > 0}): Int
        T.main(): Int
        T.twice(n: Int): Int
        ---
        ✗ The program has errors; nothing ran
        2:21 error C0301: expected Int, found String
        ---
        error: Give either `code` or `file_path`.
        `code` is the text itself."#]]
    .assert_eq(&all.join("\n---\n"));
}
