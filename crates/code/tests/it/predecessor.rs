//! The tools of Tidepool's control server, as served by `--profile tidepool`: every field of the results, and a test
//! for each of its bugs.

use code::tools::Questions;
use serde_json::{Value, json};

use crate::worktree::Worktree;

impl Worktree {
    /// Calls a tool of the profile; its text is its JSON.
    fn tidepool(&self, name: &str, arguments: Value) -> Value {
        let (result, text) = self.ask_of(&code::tools::tidepool(&Questions::new()), name, arguments).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), result);
        result
    }
}

/// The lines that call or pass the name in `Main.hs`.
fn callers(main: &str) -> Vec<u64> {
    let found = callers_in(&[("Geo.hs", "module Geo where\narea :: Int -> Int\narea x = x\n"), ("Main.hs", main)]);
    found.iter().filter_map(|place| place.strip_prefix("Main.hs:")?.parse().ok()).collect()
}

fn callers_in(files: &[(&str, &str)]) -> Vec<String> {
    let worktree = Worktree::from_files(files);
    let result = worktree.tidepool("find_callers", json!({"name": "area"}));
    let sites = result["call_sites"].as_array().unwrap().iter();
    sites.map(|site| format!("{}:{}", site["file"].as_str().unwrap(), site["line"])).collect()
}

fn fields(definition: &str) -> String {
    let worktree = Worktree::new();
    worktree.write("T.hs", format!("module T where\n{definition}\n"));
    let result = worktree.tidepool("show_fields", json!({"type_name": "T"}));
    let one = |field: &Value| {
        format!("{} {} {}", field["name"].as_str().unwrap(), field["type"].as_str().unwrap(), field["strict"])
    };
    result["fields"].as_array().unwrap().iter().map(one).collect::<Vec<_>>().join("; ")
}

fn constructors(definition: &str) -> String {
    let worktree = Worktree::new();
    worktree.write("T.hs", format!("module T where\n{definition}\n"));
    let result = worktree.tidepool("show_constructors", json!({"type_name": "T"}));
    let one = |made: &Value| {
        let fields: Vec<&str> =
            made["fields"].as_array().unwrap().iter().map(|field| field.as_str().unwrap()).collect();
        format!("{}({}) {}", made["name"].as_str().unwrap(), fields.join(", "), made["is_record"])
    };
    let all: Vec<String> = result["constructors"].as_array().unwrap().iter().map(one).collect();
    format!("{} gadt={}", all.join("; "), result["is_gadt"])
}

#[test]
fn find_callers_has_every_field() {
    let worktree = Worktree::new();
    worktree.write("Geo.hs", "module Geo (area) where\narea :: Int -> Int\narea x = x\n");
    worktree
        .write("Main.hs", "module Main where\nimport Geo\nmain :: IO ()\nmain =\n  print (area 1)\n  where y = 1\n");
    let result = worktree.tidepool("find_callers", json!({"name": "area", "context_lines": 1, "max_results": 50}));
    assert_eq!(
        (&result["name"], &result["definition_file"], &result["definition_line"]),
        (&json!("area"), &json!("Geo.hs"), &json!(3))
    );
    assert_eq!((&result["filtered_count"], &result["truncated"]), (&json!(2), &json!(false)));
    assert_eq!(result["warning"], "1 call by name, unchecked: no language server for Haskell");
    let site = &result["call_sites"][0];
    assert_eq!((&site["file"], &site["line"], &site["column"]), (&json!("Main.hs"), &json!(5), &json!(10)));
    assert_eq!(site["context"], "  print (area 1)");
    assert_eq!((&site["context_before"], &site["context_after"]), (&json!(["main ="]), &json!(["  where y = 1"])));
}

#[test]
fn show_fields_and_show_constructors_have_every_field() {
    let worktree = Worktree::from_files(&[("T.hs", "module T where\ndata T = T { x :: !Int }\n")]);
    let result = worktree.tidepool("show_fields", json!({"type_name": "T"}));
    assert_eq!((&result["type_name"], &result["file"], &result["line"]), (&json!("T"), &json!("T.hs"), &json!(2)));
    assert_eq!((&result["is_record"], &result["raw_definition"]), (&json!(true), &json!("data T = T { x :: !Int }")));
    assert_eq!(result["warning"], Value::Null);
    let result = worktree.tidepool("show_constructors", json!({"type_name": "T"}));
    assert_eq!((&result["type_name"], &result["file"], &result["line"]), (&json!("T"), &json!("T.hs"), &json!(2)));
    assert_eq!((&result["is_gadt"], &result["warning"]), (&json!(false), &Value::Null));
    assert_eq!(result["constructors"][0]["name"], "T");
}

#[test]
fn calls_are_told_from_other_mentions() {
    for (main, lines) in [
        // An annotation inside a line, and a line that begins with a parenthesis.
        ("x = (area 1 :: Int) + 1\n", [1]),
        ("x =\n  (area 1) + 2\n", [2]),
        // The inside of a block comment, and strings.
        ("{- one\narea 1\n{- nested -}\narea 2\n-}\nx = area 3\n", [6]),
        ("x = \"area 1\" ++ show (area 2)\ny = \"area\"\n", [1]),
        // Export and import lists over several lines.
        ("module Main (\n  area,\n  x ) where\nimport Geo\n  ( other\n  , area\n  )\nx = area 1\n", [8]),
        // A qualified call on a separate line.
        ("import qualified Geo as G\nx =\n  G.area\n    1\n", [3]),
        // Line comments, and the head of a module.
        ("module Main (area) where\n-- area 1\n-- | area\nx = area 1 -- area 2\n", [4]),
    ] {
        assert_eq!(callers(main), lines, "{main}");
    }
}

#[test]
fn an_instance_head_is_no_call() {
    let text = "class Shape a where\n  area :: a -> Int\ninstance Shape Int where\n  area x = x\ny = area 1\n";
    assert_eq!(callers_in(&[("A.hs", text)]), ["A.hs:5"]);
    let worktree = Worktree::new();
    worktree.write("A.hs", text);
    let result = worktree.tidepool("find_callers", json!({"name": "Shape"}));
    assert_eq!(result["total"], 0, "{result:#}");
}

#[test]
fn homonyms_are_reported_and_not_guessed() {
    let worktree = Worktree::new();
    worktree.write("A.hs", "module A where\narea x = x\n").write("B.hs", "module B where\narea x = x\ny = area 1\n");
    let result = worktree.tidepool("find_callers", json!({"name": "area"}));
    assert_eq!((&result["definition_file"], &result["definition_line"]), (&Value::Null, &Value::Null));
    let files: Vec<&Value> = result["definitions"].as_array().unwrap().iter().map(|one| &one["file"]).collect();
    assert_eq!(files, ["A.hs", "B.hs"]);
    let result = worktree.tidepool("find_callers", json!({"name": "B.area"}));
    assert_eq!((&result["definition_file"], &result["definition_line"]), (&json!("B.hs"), &json!(2)));
}

#[test]
fn a_re_export_is_no_call_and_is_followed() {
    let found = callers_in(&[
        ("geo.ts", "export function area(x: number) { return x; }\n"),
        ("index.ts", "export { area as surface } from './geo';\n"),
        ("use.ts", "import { surface } from './index';\nsurface(1);\n"),
    ]);
    assert_eq!(found, ["use.ts:2"]);
    let found = callers_in(&[
        ("Geo.hs", "module Geo where\narea :: Int -> Int\narea x = x\n"),
        ("All.hs", "module All (module Geo, area) where\nimport Geo\n"),
        ("Main.hs", "import qualified All\nx = All.area 1\n"),
    ]);
    assert_eq!(found, ["Main.hs:2"]);
}

#[test]
fn the_column_is_that_of_the_name() {
    let worktree = Worktree::from_files(&[("Geo.hs", "area x = x\n\ny = \"😀\" `seq` area 1 + area 2\n")]);
    let result = worktree.tidepool("find_callers", json!({"name": "area"}));
    let columns: Vec<&Value> = result["call_sites"].as_array().unwrap().iter().map(|site| &site["column"]).collect();
    assert_eq!(columns, [15, 24]);
}

#[test]
fn the_count_of_what_is_filtered_is_exact() {
    let worktree = Worktree::new();
    worktree.write("Geo.hs", "module Geo (area) where\n-- area\narea :: Int -> Int\narea x = x\n");
    worktree.write("Main.hs", "import Geo (area)\nx = area 1\ny = \"area\"\n");
    let result = worktree.tidepool("find_callers", json!({"name": "area"}));
    // Mentions: the export, the comment, the signature, the import and the string, but not the definition.
    assert_eq!((&result["total"], &result["filtered_count"]), (&json!(1), &json!(5)), "{result:#}");
}

#[test]
fn one_refusal_does_not_end_the_next_question() {
    let worktree = Worktree::from_files(&[("Geo.hs", "area x = x\n")]);
    let tools = code::tools::tidepool(&Questions::new());
    for _ in 0..3 {
        worktree.ask_of(&tools, "find_callers", json!({"name": "nowhere_at_all"})).expect_err("unknown");
        worktree.ask_of(&tools, "show_fields", json!({"type_name": "area"})).expect_err("no type");
    }
    worktree.ask_of(&tools, "find_callers", json!({"name": "area"})).expect("an answer");
}

#[test]
fn fields_have_their_whole_types_and_are_strict_where_they_say_so() {
    let commented = "data T = T { g :: forall a. Show a => a -> String\n  , h :: Int -- ^ with, a comma\n  }";
    for (definition, expected) in [
        (
            "data T = T { a :: (Int, Maybe [b]), f :: Int -> (Int, Int) -> IO () }",
            "a (Int, Maybe [b]) false; f Int -> (Int, Int) -> IO () false",
        ),
        (commented, "g forall a. Show a => a -> String false; h Int false"),
        ("data T = T { a :: !Int, b :: Int, c :: !(Maybe Int) }", "a Int true; b Int false; c Maybe Int true"),
        ("data T = T { a :: {-# UNPACK #-} !Int }", "a Int true"),
    ] {
        assert_eq!(fields(definition), expected);
    }
}

#[test]
fn with_strict_data_every_field_is_strict_that_does_not_say_otherwise() {
    let worktree = Worktree::new();
    worktree.write("T.hs", "{-# LANGUAGE StrictData #-}\nmodule T where\ndata T = T { a :: Int, b :: ~Int }\n");
    let result = worktree.tidepool("show_fields", json!({"type_name": "T"}));
    let strict: Vec<&Value> = result["fields"].as_array().unwrap().iter().map(|field| &field["strict"]).collect();
    assert_eq!(strict, [true, false]);
}

#[test]
fn constructors_have_their_positional_types() {
    for (definition, expected) in [
        // A bar inside of a type or a comment separates nothing.
        (
            "data T = A (Either '[] (Proxy \"a|b\")) | B { x :: Int -- this | that\n }",
            "A(Either '[] (Proxy \"a|b\")) false; B(Int) true gadt=false",
        ),
        // The word `where` makes no GADT.
        ("-- where it is\ndata T = A | B -- where\n", "A() false; B() false gadt=false"),
        ("data T where { A :: Int -> Maybe Int -> T; B :: T }", "A(Int, Maybe Int) false; B() false gadt=true"),
        (
            "data T a = A Int a !(Maybe a) [a] (a -> Int) | a :+: Int",
            "A(Int, a, Maybe a, [a], a -> Int) false; :+:(a, Int) false gadt=false",
        ),
    ] {
        assert_eq!(constructors(definition), expected);
    }
}

#[test]
fn a_field_of_a_record_in_a_sum_has_its_constructor() {
    let worktree = Worktree::from_files(&[("T.hs", "data T = A { x :: Int } | B { x, y :: Int }\n")]);
    let result = worktree.tidepool("show_fields", json!({"type_name": "T"}));
    let of = |field: &Value| format!("{}.{}", field["constructor"].as_str().unwrap(), field["name"].as_str().unwrap());
    let all: Vec<String> = result["fields"].as_array().unwrap().iter().map(of).collect();
    assert_eq!(all, ["A.x", "B.x", "B.y"]);
}
