//! Documentation of a definition: shown once, and not part of its signature.

use expect_test::expect;
use serde_json::json;

use crate::judged_project::sites;
use crate::projects;
use crate::worktree::Worktree;

#[test]
fn a_string_in_a_body_is_shown_once_and_a_comment_before_it_is_no_signature() {
    let worktree = Worktree::new();
    worktree
        .write(
            "geo.py",
            "# Before.\ndef area(r):\n    \"\"\"The area.\"\"\"\n    return r\n\n# Round.\ndef round_of(r):  # How.\n    # Why.\n    return r\n",
        )
        .write("Geo.hs", "module Geo where\n\ndata Pair = Pair\n  { left :: Int -- ^ The first.\n  , right :: Int\n  }\n")
        .write("geo.js", "// Before.\nfunction go(a) /* How. */ { // Why.\n  return a;\n}\n");
    let said = ["area", "round_of", "go", "Geo.hs:3"].map(|name| {
        let (answer, text) = worktree.ask("show_definition", json!({"name": name})).unwrap();
        let one = &answer["definitions"][0];
        format!("{text}\n= {} | {}\n", one["signature"].as_str().unwrap(), one["doc"].as_str().unwrap_or_default())
    });
    expect![[r#"
        geo.py:2-4 function area
        def area(r):
            """The area."""
            return r
        = def area(r) | The area.
        geo.py:7-9 function round_of
        > Round.
        def round_of(r):  # How.
            # Why.
            return r
        = def round_of(r) | Round.
        geo.js:2-4 function go
        > Before.
        function go(a) /* How. */ { // Why.
          return a;
        }
        = function go(a) | Before.
        Geo.hs:3-6 struct Pair
        data Pair = Pair
          { left :: Int -- ^ The first.
          , right :: Int
          }
        Geo.hs:3-6 constructor Pair.Pair
        Pair
          { left :: Int -- ^ The first.
          , right :: Int
          }
        = data Pair = Pair { left :: Int , right :: Int } | 
    "#]]
    .assert_eq(&said.concat());
}

#[test]
fn a_link_in_a_comment_is_no_use() {
    let Some(judged) = projects::typescript() else { return };
    judged.write("geo.ts", "export function area() {}\n").write(
        "uses.ts",
        "import { area } from './geo';\n/** Calls {@link area}. */\nexport function run() { area(); }\n",
    );
    let (answer, text) = judged.until_final("find_uses", json!({"name": "area"}));
    assert_eq!(sites(&answer), ["uses.ts:1 import confirmed geo.ts:1", "uses.ts:3 call confirmed geo.ts:1"], "{text}");
}
