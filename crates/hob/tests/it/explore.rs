//! `teach-graph` and `scout` with a real language server.

use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{Ran, TestProject, has_program};

use crate::fresh;

/// Creates a project about shapes in TypeScript, if its compiler is installed.
fn project() -> Option<TestProject> {
    if !has_program("tsc") || !has_program("node") {
        return None;
    }
    let project = fresh();
    project.write("package.json", r#"{"name": "shapes", "type": "module", "devDependencies": {"vitest": "^2"}}"#);
    project.write(
        "tsconfig.json",
        r#"{"compilerOptions": {"strict": true, "target": "es2022", "module": "nodenext"}, "include": ["src"]}"#,
    );
    project.write(
        "src/geo.ts",
        "/** A round shape. */\nexport interface Circle { kind: \"circle\"; radius: number }\n\
         export interface Square { kind: \"square\"; side: number }\nexport type Shape = Circle | Square;\n\n\
         /** Returns the area of a shape. */\nexport function area(shape: Shape): number {\n  switch (shape.kind) {\n    \
         case \"circle\": return shape.radius * 3;\n    case \"square\": return shape.side * shape.side;\n  }\n}\n",
    );
    project.write(
        "src/total.ts",
        "import { area, type Shape } from \"./geo.js\";\n\n/** Returns the sum of all areas. */\n\
         export function total(shapes: Shape[]): number {\n  return shapes.map(area).reduce((a, b) => a + b, 0);\n}\n\n\
         export const unit = (): Shape => ({ kind: \"circle\", radius: 1 });\n",
    );
    project.write(
        "src/total.test.ts",
        "import { total, unit } from \"./total.js\";\ndeclare function test(name: string, run: () => void): void;\n\
         test(\"total of one\", () => { if (total([unit()]) < 3) throw new Error(\"small\"); });\n",
    );
    // Another `area`, which only a language server can tell apart.
    project.write(
        "src/other.ts",
        "export class Area { area(): number { return 1; } }\n\
         export function run(all: Area): number { return all.area(); }\n",
    );
    Some(project)
}

/// Returns the places of the pointers with this evidence and risk.
fn evidence_places<'a>(found: &'a Value, evidence: &str, risk: u8) -> Vec<&'a str> {
    let pointers = found["pointers"].as_array().unwrap().iter();
    let wanted = pointers.filter(|one| one["evidence"] == evidence && one["risk"] == risk);
    wanted.map(|one| one["location"].as_str().unwrap()).collect()
}

#[test]
fn scout_lists_the_match_that_the_compiler_would_refuse() {
    let Some(project) = project() else { return };
    let mut peer = project.mcp(&["--profile", "tidepool"]);
    peer.initialize();
    let listed = peer.result("tools/list", json!({}));
    let names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"teach-graph") && names.contains(&"scout"), "{names:?}");
    let arguments = json!({"query": "What breaks if I add a variant to Shape?", "symbols": "Shape", "depth": "high", "wait_ms": 50_000});
    let answer = peer.call("scout", arguments);
    let found: Value = serde_json::from_str(&answer.text).expect("the text of this profile is JSON");
    assert_eq!(found["head"]["checked_by"], json!(["tsc"]), "{found:#}");
    assert_eq!(evidence_places(&found, "verified", 5), ["src/geo.ts:8"], "{found:#}");
    assert_eq!(evidence_places(&found, "possible", 5), Vec::<&str>::new(), "{found:#}");
    for field in ["summary", "nodesVisited", "trainingExamples"] {
        assert!(!found[field].is_null(), "{field}: {found:#}");
    }
    let test = &found["tests"][0];
    assert_eq!(
        (&test["name"], &test["command"]),
        (&json!("src/total.test.ts"), &json!("npx vitest run src/total.test.ts"))
    );
    // The other definition of this name does not count as a use.
    let arguments = json!({"query": "rename", "symbols": ["src/geo.ts:area"], "wait_ms": 50_000});
    let found: Value = serde_json::from_str(&peer.call("scout", arguments).text).unwrap();
    assert_eq!(evidence_places(&found, "verified", 5), ["src/total.ts:1", "src/total.ts:5"], "{found:#}");
    // The shortest command.
    let text = project.run(["scout", "What breaks if I add a variant to Shape?", "--wait-ms", "50000"]).ok();
    assert!(text.starts_with("add_variant of Shape: 1 of "), "{text}");
    assert!(text.contains("risk 5 src/geo.ts:8 match that breaks in area: compile error"), "{text}");
}

#[test]
fn teach_graph_orders_what_a_topic_needs() {
    let Some(project) = project() else { return };
    let mut peer = project.mcp(&["explore"]);
    peer.initialize();
    let answer = peer.call("teach-graph", json!({"topic": "total area", "seeds": ["total"], "wait_ms": 50_000}));
    let found = &answer.structured;
    assert_eq!(
        (&found["head"]["checked_by"], &found["head"]["complete"]),
        (&json!(["tsc"]), &json!(true)),
        "{found:#}"
    );
    let order = ["src/geo.ts:2", "src/geo.ts:3", "src/geo.ts:4", "src/geo.ts:7", "src/total.ts:4"];
    assert_eq!(found["order"], json!(order), "{found:#}");
    let names = |part: &str| -> Vec<&str> {
        found[part].as_array().unwrap().iter().map(|one| one["symbol"]["name"].as_str().unwrap()).collect()
    };
    assert_eq!((names("core"), names("prereqs")), (vec!["total"], vec!["Shape", "area", "Circle", "Square"]));
    assert_eq!(found["core"][0]["symbol"]["docComment"], "Returns the sum of all areas.");
    assert_eq!(found["stopped"], "done");
    // Definitions that were looked up are kept until a file changes.
    let geo = project.read("src/geo.ts");
    project.write("src/geo.ts", &format!("// Shapes.\n{geo}"));
    let answer = peer.call("teach-graph", json!({"topic": "total area", "seeds": ["total"], "wait_ms": 50_000}));
    let order = ["src/geo.ts:3", "src/geo.ts:4", "src/geo.ts:5", "src/geo.ts:8", "src/total.ts:4"];
    assert_eq!(answer.structured["order"], json!(order), "{:#}", answer.structured);
}

/// Names of the standard library lead out of the project. They do not make a reading list incomplete.
#[test]
fn names_of_the_standard_library_leave_a_list_complete() {
    if !has_program("ghc") {
        return;
    }
    let project = fresh();
    project.write("A.hs", "module A (total) where\n\ntotal :: [Double] -> Double\ntotal = sum . map area\n\narea :: Double -> Double\narea r = r * r\n");
    project.run(["trust", "--yes"]).ok();
    let found: Value =
        serde_json::from_str(&project.run(["teach", "t", "--seeds", "total", "--wait-ms", "50000", "--json"]).ok())
            .unwrap();
    assert_eq!(
        (&found["head"]["complete"], &found["order"]),
        (&json!(true), &json!(["A.hs:7", "A.hs:4"])),
        "{found:#}"
    );
}

#[test]
fn the_definitions_of_a_diff_are_the_entries() {
    if !has_program("git") {
        return;
    }
    let project = fresh();
    project.write("hob.toml", "[code.servers.rust-analyzer]\nenabled = false\n");
    project.write("Cargo.toml", "[package]\nname = \"shapes\"\n");
    project
        .write("src/lib.rs", "pub fn area(side: u8) -> u8 {\n    side\n}\n\npub fn total() -> u8 {\n    area(1)\n}\n");
    project.write("tests/it.rs", "#[test]\nfn total_of_one() {\n    shapes::total();\n}\n");
    let git = |args: &[&str]| {
        let mut git = project.command("git");
        git.args(["-c", "user.name=T", "-c", "user.email=t@example.org"]).args(args);
        assert!(git.status().unwrap().success(), "{args:?}");
    };
    for args in [&["init", "-q"][..], &["add", "."], &["commit", "-qm", "First"]] {
        git(args);
    }
    let refused = project.run(["scout", "--diff"]);
    assert!(refused.stderr.contains("the diff changes no definition"), "{}", refused.stderr);
    project.write(
        "src/lib.rs",
        "pub fn area(side: u8) -> u8 {\n    side * side\n}\n\npub fn total() -> u8 {\n    area(1)\n}\n",
    );
    let found: Value = serde_json::from_str(&project.run(["scout", "--diff", "--json"]).ok()).unwrap();
    assert_eq!(found["entries"][0]["name"], "area", "{found:#}");
    let test = &found["tests"][0];
    assert_eq!(
        (&test["distance"], &test["command"]),
        (&json!(1), &json!("cargo test -p shapes --test it total_of_one"))
    );
    git(&["commit", "-qam", "Second"]);
    let found: Value = serde_json::from_str(&project.run(["scout", "--diff", "HEAD~1..HEAD", "--json"]).ok()).unwrap();
    assert_eq!(found["entries"][0]["name"], "area", "{found:#}");
    // A changed test is listed first, even if more definitions changed than are followed.
    project.write("tests/a.rs", "#[test]\nfn not_changed() {\n    shapes::f0();\n}\n");
    for value in [1, 2] {
        let all: String = (0..31).map(|number| format!("pub fn f{number}() -> u8 {{ {value} }}\n")).collect();
        project.write("src/many.rs", &all);
        project.write("tests/it.rs", &format!("#[test]\nfn total_of_one() {{\n    shapes::total({value});\n}}\n"));
        git(&["add", "."]);
        git(&["commit", "-qm", "Many"]);
    }
    let found: Value = serde_json::from_str(&project.run(["scout", "--diff", "HEAD~1..HEAD", "--json"]).ok()).unwrap();
    let reasons = found["head"]["reasons"].to_string();
    assert!(reasons.contains("31 definitions changed; only the first 30 were followed"), "{reasons}");
    let tests: Vec<_> = found["tests"].as_array().unwrap().iter().map(|test| test["name"].as_str().unwrap()).collect();
    assert_eq!(tests, ["total_of_one", "not_changed"]);
    // A changed helper of tests is followed to them.
    for value in [1, 2] {
        project.write(
            "tests/it.rs",
            &format!("fn helper() -> u8 {{\n    {value}\n}}\n\n#[test]\nfn with_helper() {{\n    helper();\n}}\n"),
        );
        git(&["commit", "-qam", "Helper"]);
    }
    let found: Value = serde_json::from_str(&project.run(["scout", "--diff", "HEAD~1..HEAD", "--json"]).ok()).unwrap();
    assert_eq!((&found["entries"][0]["name"], &found["tests"][0]["name"]), (&json!("helper"), &json!("with_helper")));
    // The old name of a definition may still be used.
    project.write(
        "src/lib.rs",
        "pub fn surface(side: u8) -> u8 {\n    side * side\n}\n\npub fn total() -> u8 {\n    area(1)\n}\n",
    );
    let found: Value = serde_json::from_str(&project.run(["scout", "--diff", "--json"]).ok()).unwrap();
    let reasons = found["head"]["reasons"].to_string();
    assert!(reasons.contains("removed or renamed, and not followed: area; "), "{reasons}");
    project.write("src/lib.rs", "pub fn area(side: u8) -> u8 {\n    side * side\n}\n\n");
    let refused = project.run(["scout", "--diff"]);
    assert!(refused.stderr.contains("the diff only removes definitions: total"), "{}", refused.stderr);
    assert!(refused.stderr.contains("hob uses"), "{}", refused.stderr);
    git(&["checkout", "-q", "."]);
    // A file with another name has no changed lines.
    git(&["mv", "src/many.rs", "src/more.rs"]);
    let refused = project.run(["scout", "--diff"]);
    assert!(refused.stderr.contains("the diff changes no definition"), "{}", refused.stderr);
    let refused = project.run(["scout", "--diff", "HEAD~9..HEAD"]);
    assert!(refused.stderr.contains("git cannot read the diff: bad revision 'HEAD~9'"), "{}", refused.stderr);
    let refused = project.run(["teach", "t", "--seeds", "area", "--max-depth", "-1"]);
    assert!(refused.stderr.contains("`max_depth` must be between 0 and 20"), "{}", refused.stderr);
    let refused = project.run(["scout", "--diff=--output=x"]);
    assert!(refused.stderr.contains("use `working`, `staged` or `BASE..HEAD`"), "{}", refused.stderr);
}

#[test]
fn a_proof_has_the_errors_of_the_typescript_compiler() {
    let Some(project) = project() else { return };
    let ask = |query: &str, symbol: &str| -> Value {
        let asked = ["scout", query, "--symbols", symbol, "--prove", "--json"];
        serde_json::from_str(&project.run(asked).ok()).unwrap()
    };
    let found = ask("add a variant", "Shape");
    assert!(found["head"]["reasons"].to_string().contains("allow it with `hob trust`"), "{found:#}");
    let only = "only `prove` finds types that do not accept the new value";
    assert!(found["summary"].as_str().unwrap().contains(only), "{found:#}");
    project.run(["trust", "--yes"]).ok();
    let found = ask("add a variant", "Shape");
    assert_eq!(evidence_places(&found, "proved", 5), ["src/geo.ts:8"], "{found:#}");
    assert!(!found["summary"].as_str().unwrap().contains(only), "{found:#}");
    assert!(
        found["pointers"][0]["why"].as_str().unwrap().contains("tsc at line 7: TS2366: Function lacks"),
        "{found:#}"
    );
    let found = ask("add a parameter", "unit");
    assert_eq!(evidence_places(&found, "proved", 5), ["src/total.test.ts:3"], "{found:#}");

    // The compiler reports a branch of the match. Values of a union may go to other types, so no use of it is unaffected.
    project.write(
        "src/mode.ts",
        "export type Mode = \"on\" | \"off\";\nexport function flip(mode: Mode): number {\n  switch (mode) {\n    \
         case \"on\": return 1;\n    case \"off\": return 2;\n    default:\n      mode satisfies never;\n      return 3;\n  }\n}\n",
    );
    let found = ask("add a variant", "Mode");
    assert_eq!(evidence_places(&found, "proved", 5), ["src/mode.ts:3"], "{found:#}");
    assert!(found["pointers"][0]["why"].as_str().unwrap().contains("tsc at line 7: TS1360: "), "{found:#}");
    assert!(found["pointers"].as_array().unwrap().iter().all(|one| one["risk"].as_u64() > Some(1)), "{found:#}");
}

#[test]
fn a_proof_runs_no_build_script_before_the_project_is_trusted() {
    let project = fresh();
    project.write("Cargo.toml", "[package]\nname = \"shapes\"\nedition = \"2024\"\n");
    project
        .write("src/lib.rs", "pub enum Shape { Flat }\npub fn name(s: Shape) -> u8 { match s { Shape::Flat => 1 } }\n");
    let ran = project.home().join("ran");
    project.write("build.rs", &format!("fn main() {{ std::fs::write({ran:?}, \"\").unwrap(); }}\n"));
    // The toolchain is in the home of the user who runs the tests.
    let toolchains = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let toolchains = toolchains.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".rustup"));
    let prove = || {
        let mut command = project.command("hob");
        Ran::run(command.args(["scout", "add a variant to Shape", "--prove"]).env("RUSTUP_HOME", &toolchains)).ok()
    };
    let text = prove();
    assert!(
        text.contains("not proven: the compiler may run code of this project; allow it with `hob trust`"),
        "{text}"
    );
    assert!(!ran.exists());
    project.run(["trust", "--yes"]).ok();
    let text = prove();
    assert!(text.contains("uses break (1 proved by cargo check)"), "{text}");
    assert!(ran.exists());
}
