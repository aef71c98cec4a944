//! The first line of an answer, the order of its list, and the size of its structured form.

use serde_json::{Value, json};

use crate::projects;
use crate::worktree::Worktree;

/// Sixty calls on an untyped parameter, before the call on a typed object.
fn many_untyped() -> String {
    let calls = (0..60).map(|number| format!("    runner.invoke({number})\n")).collect::<String>();
    format!("def run(runner, ctx):\n{calls}    ctx.invoke(1)\n")
}

const COMMAND: &str = "class Command:\n    def invoke(self, value):\n        return value\n";
const USES: &str = "from command import Command\n\ndef last(command: Command):\n    return command.invoke(2)\n";

#[test]
fn a_verified_caller_is_not_hidden_by_unverified_ones() {
    let Some(judged) = projects::python() else { return };
    judged.write("command.py", COMMAND).write("a.py", many_untyped()).write("z.py", USES);
    let (_, text) = judged.until_judged("find_callers", json!({"name": "Command.invoke", "max_results": 5}));
    expect_test::expect![[r#"
        1 caller. 61 more calls on receivers without a type are unverified: runner.invoke ×60, ctx.invoke
        defined: command.py:2 method Command.invoke
        verified:
        z.py
          4  last  call  return command.invoke(2)
        unverified:
          runner.invoke ×60: a.py:2, 3, 4 …
          ctx.invoke: a.py:62
        57 more: find_callers {"name":"Command.invoke","max_results":62}"#]]
    .assert_eq(&text);
    let (answer, text) = judged.until_judged("find_callers", json!({"name": "Command.invoke", "max_results": 100}));
    assert_eq!((&answer["total"], &answer["truncated"]), (&json!(62), &json!(false)), "{text}");
    assert!(!text.contains(" more: "), "{text}");
}

#[test]
fn the_receivers_of_code_come_before_those_of_tests() {
    let Some(judged) = projects::python() else { return };
    judged.write("command.py", COMMAND).write("tests/test_a.py", many_untyped());
    judged.write("z.py", "def other(app):\n    app.invoke(1)\n");
    let (_, text) = judged.until_judged("find_callers", json!({"name": "Command.invoke"}));
    let first = "No verified callers. 62 calls on receivers without a type are unverified: app.invoke, runner.invoke ×60 (tests), ctx.invoke (tests)";
    assert!(text.starts_with(first), "{text}");
}

#[test]
fn what_is_exported_may_be_called_by_other_projects() {
    let Some(judged) = projects::python() else { return };
    judged
        .write("geo/__init__.py", "from geo.shapes import area as area\n")
        .write("geo/shapes.py", "def area(): pass\n");
    let (_, text) = judged.until_final("find_callers", json!({"name": "area"}));
    let first =
        "No callers in this project, complete. Exported in geo/__init__.py: other projects may call it · checked by ty";
    assert_eq!(text.lines().next().unwrap(), first);
}

#[test]
fn a_name_that_nothing_declares_any_more_is_told_with_the_nearest() {
    let Some(judged) = projects::python() else { return };
    judged
        .write("geo.py", "def _expand_argz(args): return args\n")
        .write("uses.py", "import geo\n\ndef run(args):\n    return geo._expand_args(geo._expand_args(args))\n");
    let (_, text) = judged.until_judged("find_callers", json!({"name": "_expand_args"}));
    let first = "_expand_args is declared nowhere in this project; 2 uses of it are left. Renamed to _expand_argz?";
    assert_eq!(text.lines().next().unwrap(), first, "{text}");
}

#[test]
fn lines_that_the_grammar_cannot_read_are_named() {
    let worktree = Worktree::new();
    worktree.write("geo.py", "def area(): pass\n").write("uses.py", "import geo\ngeo.area()\nx = ) 1\ngeo.area()\n");
    let (answer, text) = worktree.ask("find_callers", json!({"name": "area"})).unwrap();
    assert!(text.contains("hob's grammar cannot read line 3 of uses.py"), "{text}");
    let codes: Vec<&Value> =
        answer["head"]["reasons"].as_array().unwrap().iter().map(|reason| &reason["code"]).collect();
    assert!(codes.contains(&&json!("unparsable")), "{answer:#}");
}

#[test]
fn a_structured_result_is_at_most_twice_its_text() {
    let Some(judged) = projects::python() else { return };
    let calls: String = (0..30)
        .map(|number| format!("\ndef run_{number}(command: Command):\n    return command.invoke({number})\n"))
        .collect();
    judged
        .write("command.py", COMMAND)
        .write("a.py", many_untyped())
        .write("src/commands/z.py", format!("from command import Command\n{calls}"));
    let questions = [
        ("find_callers", json!({"name": "Command.invoke"})),
        ("find_callers", json!({"name": "Command.invoke", "max_results": 200})),
        ("find_callers", json!({"name": "Command.invoke", "context_lines": 2})),
        ("find_uses", json!({"name": "Command"})),
        ("find_callees", json!({"name": "run_1"})),
    ];
    for (tool, arguments) in questions {
        let (_, text) = judged.until_judged(tool, arguments.clone());
        let size = judged.structured(tool, &arguments).len();
        println!("{tool} {arguments}: {} bytes of text, {size} bytes of structure", text.len());
        assert!(size <= 2 * text.len() + 200, "{tool} {arguments}: {size} of {}\n{text}", text.len());
    }
}
