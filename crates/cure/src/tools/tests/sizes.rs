//! The size of answers: each fits a model's limit, and states the total and the next call.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use mcp::tool::{Context, Tool};
use serde_json::{Value, json};

use crate::answer::MOST_BYTES;
use crate::part::Cure;
use crate::tools::*;

fn part() -> Arc<Cure> {
    let limits = crate::RunLimits { steps: 10_000_000, memory: 256 << 20, time: Duration::from_secs(60) };
    Cure::new(crate::Options { run: Some(limits), ..crate::Options::default() })
}

/// A tool's answer, which has to fit: its text and its structured content.
async fn fits<T: Tool>(tool: T, arguments: Value) -> (String, Value) {
    fits_in(tool, arguments, Context::detached(Arc::new(()))).await
}

async fn fits_in<T: Tool>(tool: T, arguments: Value, cx: Context) -> (String, Value) {
    let args = serde_json::from_value(arguments).unwrap();
    let (text, data) = match tool.call(cx, args).await {
        Ok(output) => (T::text(&output), serde_json::to_value(&output).unwrap()),
        Err(error) => (format!("error: {error}"), Value::Null),
    };
    assert!(text.len() <= MOST_BYTES, "{}: {} bytes of text", T::NAME, text.len());
    let size = data.to_string().len();
    assert!(size <= MOST_BYTES, "{}: {size} bytes of data", T::NAME);
    (text, data)
}

#[track_caller]
fn tells(text: &str, parts: &[&str]) {
    for part in parts {
        let end: String = text.chars().rev().take(600).collect::<Vec<_>>().into_iter().rev().collect();
        assert!(text.contains(part), "{part:?} is not in …{end}");
    }
}

fn module(items: impl Iterator<Item = String>) -> String {
    format!("module T do\n{}end\n", items.collect::<String>())
}

#[tokio::test]
async fn every_answer_fits_with_many_errors() {
    let broken = module((0..5_000).map(|at| format!("  def f{at}(: Int): Int = 1\n")));
    let (text, data) = fits(validate_syntax::ValidateSyntax, json!({ "code": broken })).await;
    tells(&text, &["… 5000 errors in all; 4800 more are omitted: fix these, then call validate_syntax again"]);
    assert_eq!(data["diagnostics"].as_array().unwrap().len(), 200);
    let (text, _) = fits(parse_cure::ParseCure, json!({ "code": broken })).await;
    tells(&text, &["5000 errors in all", "call parse_cure again"]);
    let (text, _) = fits(format_cure::FormatCure, json!({ "code": broken })).await;
    tells(&text, &["5000 errors in all", "call format_cure again"]);
    let (text, _) = fits(get_ast::GetAst, json!({ "code": broken })).await;
    tells(&text, &["5000 errors in all", "call get_ast again", "call get_ast with `start` = "]);

    // Long ones: 200 do not fit.
    let long = "n".repeat(250);
    let wrong = module((0..400).map(|at| format!("  def f{at}(): {long}{at} = {long}{at}()\n")));
    let (text, data) = fits(type_check_cure::TypeCheckCure(part()), json!({ "code": wrong })).await;
    tells(&text, &["errors in all", "call type_check_cure again"]);
    assert!(data["diagnostics"].as_array().unwrap().len() < 200);
    let (text, _) = fits(run_cure::RunCure(part()), json!({ "code": wrong })).await;
    tells(&text, &["errors in all", "call run_cure again"]);
    let arguments = json!({ "code": wrong, "function": "f" });
    let (text, _) = fits(generate_tests::GenerateTests(part()), arguments).await;
    tells(&text, &["errors in all", "call generate_tests again"]);
    let (text, _) = fits(analyze_fsm::AnalyzeFsm(part()), json!({ "code": wrong })).await;
    tells(&text, &["call analyze_fsm again"]);

    // Errors come before warnings where not all fit.
    let warned = |at: usize| format!("  def g{at}(n: Int): Int = match n do _ -> 1 0 -> 2 end\n");
    let mixed = module((0..300).map(warned).chain([String::from("  def last(): Int = \"x\"\n")]));
    let (text, data) = fits(type_check_cure::TypeCheckCure(part()), json!({ "code": mixed })).await;
    tells(&text, &["expected Int, found String", "1 error and 300 warnings in all; 101 more"]);
    assert_eq!(data["ok"], false);
}

#[tokio::test]
async fn every_answer_fits_with_much_that_is_right() {
    let many = module((0..5_000).map(|at| format!("  def function_number_{at}(n: Int): Int = n + {at}\n")));
    let (text, _) = fits(type_check_cure::TypeCheckCure(part()), json!({ "code": many })).await;
    tells(&text, &["of 5000 signatures are left out: check one module at a time"]);
    let (text, _) = fits(parse_cure::ParseCure, json!({ "code": many })).await;
    tells(&text, &["more names are left out: parse one module at a time"]);
    let (text, _) = fits(format_cure::FormatCure, json!({ "code": many })).await;
    tells(&text, &["more than an answer holds", "call format_cure with its `file_path`"]);
    let arguments = json!({ "code": many, "function": "nothing" });
    let (text, _) = fits(run_cure::RunCure(part()), arguments.clone()).await;
    tells(&text, &["… and 4970 more; parse_cure lists them"]);
    fits(generate_tests::GenerateTests(part()), arguments).await;

    let modules: String =
        (0..3_000).map(|at| format!("module Module{at} do\n  fsm L do A --> |go| A end\nend\n")).collect();
    let (text, _) = fits(parse_cure::ParseCure, json!({ "code": modules })).await;
    tells(&text, &["more names are left out"]);
    let (text, _) = fits(analyze_fsm::AnalyzeFsm(part()), json!({ "code": modules })).await;
    tells(&text, &["Found 3000 FSM", "more are left out: analyze one module at a time"]);
    let edges: String = (0..2_000).map(|at| format!("    S{at} --> |event_{at}| S{}\n", at + 1)).collect();
    let large = format!("module T do\n  fsm L do\n{edges}  end\nend\n");
    let (text, _) = fits(analyze_fsm::AnalyzeFsm(part()), json!({ "code": large })).await;
    tells(&text, &["too large for an answer; `hob cure fsm FILE`"]);

    for topic in ["all", "refinements"] {
        fits(get_syntax_help::GetSyntaxHelp, json!({ "topic": topic })).await;
    }
    fits(get_examples::GetExamples, json!({ "category": "all" })).await;
    for name in crate::standard::names() {
        fits(get_stdlib_docs::GetStdlibDocs, json!({ "module": name })).await;
    }
    fits(get_stdlib_docs::GetStdlibDocs, json!({ "module": "x".repeat(100_000) })).await;
}

#[tokio::test]
async fn every_answer_fits_of_a_run() {
    let code = "module T do
  import Std.Io
  def list(n: Nat): List(String) = match n do Zero -> [] Succ(m) -> [\"text \\\"#{m}\\\"\" | list(m)] end
  def talk(n: Nat): Unit = match n do
    Zero -> ()
    Succ(m) ->
      let _ = println(\"line \\\"#{m}\\\"\")
      talk(m)
  end
  def main(): List(String) =
    let _ = talk(5000)
    list(5000)
  def tell(n: Int): List(String) = list(2000)
  def echo(s: String): String = s
end
";
    let arguments = json!({ "code": code, "trace": true, "profile": true });
    let (text, data) = fits(run_cure::RunCure(part()), arguments).await;
    tells(&text, &["bytes of the value", "bytes of the output", "lines of the trace", "Call run_cure with `function`"]);
    assert_eq!(data["ok"], true);
    let arguments = json!({ "code": code, "function": "tell" });
    let (text, _) = fits(generate_tests::GenerateTests(part()), arguments).await;
    tells(&text, &["gives a value of", "bytes, which is too large for a case"]);
    let arguments = json!({ "code": code, "function": "echo", "args": [format!("\"{}\" +", "x".repeat(60_000))] });
    fits(run_cure::RunCure(part()), arguments).await;
    let cases: String = (0..12).map(|at| format!("\"{}{at}\" -> n ", "\\\"".repeat(600))).collect();
    let code = format!("module T do\n  def f(s: String, n: Int): Int = match s do {cases} _ -> 0 end\nend");
    let (text, _) = fits(generate_tests::GenerateTests(part()), json!({ "code": code, "function": "f" })).await;
    tells(&text, &["more cases and calls are left out"]);
}

#[tokio::test]
async fn every_answer_fits_of_a_project() {
    let dir = tempfile::tempdir().unwrap();
    for at in 0..300 {
        let text = module((0..2).map(|item| format!("  def f{item}(): Int = \"x\"\n")))
            .replace("module T", &format!("module T{at}"));
        std::fs::write(dir.path().join(format!("file_{at}_\u{202e}\u{202e}.cure")), text).unwrap();
    }
    for at in 0..300 {
        std::fs::write(dir.path().join(format!("unread_{at}.cure")), b"\xff").unwrap();
    }
    let (text, data) = fits_in(check_project::CheckProject(part()), json!({}), context_in(dir.path())).await;
    tells(&text, &["✗ 600 errors", "are omitted: fix these, then call check_project again, with `path`"]);
    assert!(data["diagnostics"].as_array().unwrap().len() <= 200);
    let modules: String = (0..300).map(|at| format!("module {}{at} do\nend\n", "M".repeat(200))).collect();
    std::fs::write(dir.path().join("many.cure"), modules).unwrap();
    let arguments = json!({ "file_path": "many.cure" });
    let (text, _) = fits_in(compile_cure::CompileCure(part()), arguments, context_in(dir.path())).await;
    tells(&text, &["more names are omitted; the directory has them"]);
    let arguments = json!({ "file_path": "file_1_\u{202e}\u{202e}.cure" });
    fits_in(compile_cure::CompileCure(part()), arguments, context_in(dir.path())).await;
}

fn context_in(worktree: &Path) -> Context {
    Context::detached(Arc::new(testkit::caller(worktree, "tester")))
}

/// The tree of a text is at most four times as large as the text, and can be read completely in several calls.
#[tokio::test]
async fn get_ast_gives_nodes_with_places_in_at_most_four_times_the_source() {
    let library = crate::standard::names().map(|name| (name, crate::standard::source(name).unwrap()));
    let examples = EXAMPLES.iter().map(|(_, name, code)| (*name, *code));
    let short = [("short", "module T do\n  def f(n: Int): Int = n * n\nend\n")];
    let (mut most, mut total, mut all) = (0.0_f64, 0, 0);
    for (name, code) in library.chain(examples).chain(short) {
        let (text, data) = fits(get_ast::GetAst, json!({ "code": code })).await;
        let data = data["nodes"].to_string().len();
        assert!(text.len() <= 4 * code.len(), "{name}: {} bytes for {}", text.len(), code.len());
        assert!(data <= 4 * code.len(), "{name}: {data} bytes of data for {}", code.len());
        most = most.max(text.len() as f64 / code.len() as f64);
        (total, all) = (total + text.len(), all + code.len());
    }
    println!("at most {most:.2} times the source, {:.2} over all", total as f64 / all as f64);
    let (text, _) = fits(get_ast::GetAst, json!({ "code": short[0].1, "tokens": true })).await;
    expect![[r#"
        AST:
        Module 1:1-3:4
         "module" 1-7
         Path 8
          "T" 8
         "do" 10-12
         Def 2:3-29
          "def" 3-6
          Name 7
           "f" 7
          Params 8-16
           "(" 8
           Param 9-15
            "n" 9
            ":" 10
            TyName 12-15
             "Int" 12-15
           ")" 15
          Return 16-21
           ":" 16
           TyName 18-21
            "Int" 18-21
          "=" 22
          Body/BinaryExpr 24-29
           NameExpr 24
            "n" 24
           "*" 26
           NameExpr 28
            "n" 28
         "end" 3:1-4"#]]
    .assert_eq(&text);
    let (text, _) = fits(get_ast::GetAst, json!({ "code": short[0].1, "pretty_print": false })).await;
    expect![[r#"
        AST:
        (Module 1:1-3:4 (Path 8) (Def 2:3-29 (Name 7) (Params 8-16 (Param 9-15 (TyName 12-15))) (Return 16-21 (TyName 18-21)) (Body/BinaryExpr 24-29 (NameExpr 24) (NameExpr 28))))"#]].assert_eq(&text);

    let library = crate::standard::source("Std.String").unwrap().replace("\n", "\n\n");
    let many = library.repeat(4);
    let (mut start, mut calls, mut nodes) = (0, 0, std::collections::BTreeSet::new());
    loop {
        let (text, data) = fits(get_ast::GetAst, json!({ "code": many, "start": start, "tokens": true })).await;
        let rows = data["nodes"].as_array().unwrap().iter();
        nodes.extend(rows.map(|row| (row[2].as_u64(), std::cmp::Reverse(row[3].as_u64()), row[0].as_u64())));
        calls += 1;
        let Some(next) = data["next"].as_u64() else { break };
        tells(&text, &[&format!("call get_ast with `start` = {next}")]);
        assert!(next > start);
        start = next;
    }
    println!("{} nodes in {calls} calls", nodes.len());
    let tree = crate::syntax::parse(&many).tree();
    let tokens = tree.descendants_with_tokens().filter_map(rowan::NodeOrToken::into_token);
    let ends =
        tokens.filter(|token| !token.kind().is_trivia()).map(|token| u64::from(u32::from(token.text_range().end())));
    let seen: std::collections::BTreeSet<u64> = nodes.iter().filter_map(|(_, end, _)| end.0).collect();
    assert!(ends.into_iter().all(|end| seen.contains(&end)) && calls > 2);
}
