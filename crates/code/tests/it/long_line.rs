//! A line of 20 MB, as in generated code: every tool answers in bounded time.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::worktree::Worktree;

#[test]
fn every_tool_answers_beside_a_line_of_20_mb() {
    let sources = [
        (
            "js",
            "function area() { return side(); }\nfunction side() {}\nclass Shape { dot = 1; }\n",
            "area(side(Shape));",
            "\n",
        ),
        ("rs", "fn area() { side() }\nfn side() {}\nenum Shape { Dot }\n", "area(side(Shape::Dot));", "\n"),
        (
            "py",
            "def area():\n    return side()\ndef side(): pass\nclass Shape:\n    dot: int\n",
            "area(side(Shape));",
            "",
        ),
        ("hs", "area = side\nside = 1\ndata Shape = Dot { side :: Int }\n", "area side Dot;", ""),
        (
            "c",
            "int side(void) { return 1; }\nint area(void) { return side(); }\nenum Shape { Dot };\n",
            "area(side(Dot));",
            "\n",
        ),
    ];
    for (extension, declared, call, end) in sources {
        // The full length is used once, because a test build is slow.
        let megabytes = if extension == "js" { 20 } else { 4 };
        let worktree = Worktree::new();
        worktree.write(&format!("a.{extension}"), declared);
        worktree.write(&format!("long.{extension}"), call.repeat((megabytes << 20) / call.len()) + end);
        let questions = [
            ("find_callers", json!({"name": "area", "wait_ms": 0})),
            ("find_callees", json!({"name": "area", "wait_ms": 0})),
            ("find_uses", json!({"name": "side", "wait_ms": 0})),
            ("show_definition", json!({"name": "area"})),
            ("show_fields", json!({"type_name": "Shape"})),
            ("show_constructors", json!({"type_name": "Shape"})),
            ("find_matches", json!({"type_name": "Shape", "wait_ms": 0})),
            ("outline", json!({"path": format!("long.{extension}")})),
            ("outline", json!({"path": "."})),
            ("code_status", json!({})),
        ];
        for (tool, arguments) in questions {
            let since = Instant::now();
            // Other tests check whether it answers or refuses.
            let _ = worktree.ask(tool, arguments);
            let took = since.elapsed();
            assert!(took < Duration::from_secs(20).max(testkit::patience()), "{tool} in {extension}: {took:?}");
        }
    }
}
