//! The tools with real language servers and compilers of TypeScript and Haskell.

use serde_json::{Value, json};

use crate::proof::{prove_with, proved, with_servers};
use crate::{Worktree, all, places};

/// Creates a project about shapes in TypeScript, if its compiler is installed.
fn project() -> Option<Worktree> {
    let is_there = testkit::has_program("tsc") && testkit::has_program("node");
    is_there.then(|| {
        Worktree::new(&[
            ("package.json", r#"{"name": "shapes", "type": "module", "devDependencies": {"vitest": "^2"}}"#),
            (
                "tsconfig.json",
                r#"{"compilerOptions": {"strict": true, "target": "es2022", "module": "nodenext"}, "include": ["src"]}"#,
            ),
            (
                "src/geo.ts",
                "/** A round shape. */\nexport interface Circle { kind: \"circle\"; radius: number }\n\
                 export interface Square { kind: \"square\"; side: number }\nexport type Shape = Circle | Square;\n\n\
                 /** Returns the area of a shape. */\nexport function area(shape: Shape): number {\n  switch (shape.kind) {\n    \
                 case \"circle\": return shape.radius * 3;\n    case \"square\": return shape.side * shape.side;\n  }\n}\n",
            ),
            (
                "src/total.ts",
                "import { area, type Shape } from \"./geo.js\";\n\n/** Returns the sum of all areas. */\n\
                 export function total(shapes: Shape[]): number {\n  return shapes.map(area).reduce((a, b) => a + b, 0);\n}\n\n\
                 export const unit = (): Shape => ({ kind: \"circle\", radius: 1 });\n",
            ),
            (
                "src/total.test.ts",
                "import { total, unit } from \"./total.js\";\ndeclare function test(name: string, run: () => void): void;\n\
                 test(\"total of one\", () => { if (total([unit()]) < 3) throw new Error(\"small\"); });\n",
            ),
            // Another `area`, which only a language server can tell apart.
            (
                "src/other.ts",
                "export class Area { area(): number { return 1; } }\n\
                 export function run(all: Area): number { return all.area(); }\n",
            ),
        ])
    })
}

fn breaking<'a>(found: &'a Value, evidence: &str) -> Vec<&'a str> {
    places(found, |one| one["evidence"] == evidence && one["risk"] == 5)
}

#[test]
fn scout_lists_the_match_that_the_compiler_would_refuse() {
    let Some(worktree) = project() else { return };
    let questions = with_servers(&worktree);
    let ask = |query: &str, symbol: &str| {
        let arguments = json!({"query": query, "symbols": [symbol], "depth": "high", "wait_ms": 50_000});
        worktree.ask_with(questions.clone(), "scout", arguments).unwrap()
    };
    let found = ask("What breaks if I add a variant to Shape?", "Shape");
    assert_eq!(found["head"]["checked_by"], json!(["tsc"]), "{found:#}");
    assert_eq!(breaking(&found, "verified"), ["src/geo.ts:8"], "{found:#}");
    assert_eq!(breaking(&found, "possible"), Vec::<&str>::new(), "{found:#}");
    let shown = found["shown"].as_str().unwrap();
    assert!(shown.contains("risk 5 src/geo.ts:8 match that breaks in area: compile error"), "{shown}");
    let test = &found["tests"][0];
    assert_eq!(
        (&test["name"], &test["command"]),
        (&json!("src/total.test.ts"), &json!("npx vitest run src/total.test.ts"))
    );
    // The other definition of this name does not count as a use.
    let found = ask("rename", "src/geo.ts:area");
    assert_eq!(breaking(&found, "verified"), ["src/total.ts:1", "src/total.ts:5"], "{found:#}");
}

#[test]
fn teach_graph_orders_what_a_topic_needs() {
    let Some(worktree) = project() else { return };
    let questions = with_servers(&worktree);
    let ask = || {
        let arguments = json!({"topic": "total area", "seeds": ["total"], "wait_ms": 50_000});
        worktree.ask_with(questions.clone(), "teach-graph", arguments).unwrap()
    };
    let found = ask();
    let head = &found["head"];
    assert_eq!((&head["checked_by"], &head["complete"]), (&json!(["tsc"]), &json!(true)), "{found:#}");
    let order = ["src/geo.ts:2", "src/geo.ts:3", "src/geo.ts:4", "src/geo.ts:7", "src/total.ts:4"];
    assert_eq!(found["order"], json!(order), "{found:#}");
    assert_eq!(all(&found["core"], "/symbol/name"), ["total"]);
    assert_eq!(all(&found["prereqs"], "/symbol/name"), ["Shape", "area", "Circle", "Square"]);
    assert_eq!(found["core"][0]["symbol"]["docComment"], "Returns the sum of all areas.");
    assert_eq!(found["stopped"], "done");
    // Definitions that were looked up are kept until a file changes.
    let geo = std::fs::read_to_string(worktree.path().join("src/geo.ts")).unwrap();
    worktree.write("src/geo.ts", &format!("// Shapes.\n{geo}"));
    let order = ["src/geo.ts:3", "src/geo.ts:4", "src/geo.ts:5", "src/geo.ts:8", "src/total.ts:4"];
    let found = ask();
    assert_eq!(found["order"], json!(order), "{found:#}");
}

/// Names of the standard library lead out of the project. They do not make a reading list incomplete.
#[test]
fn names_of_the_standard_library_leave_a_list_complete() {
    if !testkit::has_program("ghc") {
        return;
    }
    let source = "module A (total) where\n\ntotal :: [Double] -> Double\ntotal = sum . map area\n\narea :: Double -> Double\narea r = r * r\n";
    let worktree = Worktree::new(&[("A.hs", source)]);
    let arguments = json!({"topic": "t", "seeds": ["total"], "wait_ms": 50_000});
    let found = worktree.ask_with(with_servers(&worktree), "teach-graph", arguments).unwrap();
    let (complete, order) = (&found["head"]["complete"], &found["order"]);
    assert_eq!((complete, order), (&json!(true), &json!(["A.hs:7", "A.hs:4"])), "{found:#}");
}

#[test]
fn a_proof_has_the_errors_of_the_typescript_compiler() {
    let Some(worktree) = project() else { return };
    let questions = with_servers(&worktree);
    let ask = |query: &str, symbol: &str| prove_with(&worktree, &questions, query, symbol);
    let only = "only `prove` finds types that do not accept the new value";
    let arguments = json!({"query": "add a variant", "symbols": ["Shape"]});
    let found = worktree.ask_with(questions.clone(), "scout", arguments).unwrap();
    assert!(found["summary"].as_str().unwrap().contains(only), "{found:#}");
    let found = ask("add a variant", "Shape");
    assert_eq!(proved(&found), ["src/geo.ts:8"], "{found:#}");
    assert!(!found["summary"].as_str().unwrap().contains(only), "{found:#}");
    let why = |found: &Value| found["pointers"][0]["why"].as_str().unwrap().to_owned();
    assert!(why(&found).contains("tsc at line 7: TS2366: Function lacks"), "{found:#}");
    let found = ask("add a parameter", "unit");
    assert_eq!(proved(&found), ["src/total.test.ts:3"], "{found:#}");

    // The compiler reports a branch of the match. Values of a union may go to other types, so no use of it is unaffected.
    worktree.write(
        "src/mode.ts",
        "export type Mode = \"on\" | \"off\";\nexport function flip(mode: Mode): number {\n  switch (mode) {\n    \
         case \"on\": return 1;\n    case \"off\": return 2;\n    default:\n      mode satisfies never;\n      return 3;\n  }\n}\n",
    );
    let found = ask("add a variant", "Mode");
    assert_eq!(proved(&found), ["src/mode.ts:3"], "{found:#}");
    assert!(why(&found).contains("tsc at line 7: TS1360: "), "{found:#}");
    assert!(found["pointers"].as_array().unwrap().iter().all(|one| one["risk"].as_u64() > Some(1)), "{found:#}");
}
