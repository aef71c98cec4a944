//! Syntax that a compiler accepts: it is read, or its lines are reported.

use expect_test::expect;
use serde_json::json;

use crate::projects;
use crate::worktree::Worktree;

/// Syntax that the TypeScript grammar does not know.
const NEW: &str = "\
export type * from './other';
export interface ParseBody {
  <Options extends Partial<Record<string, () => void>>, T extends object>(
    request: Request,
    options?: Options
  ): Promise<T>
  // The same without options.
  <T extends object>(request: Request): Promise<T>
}
export class Cell<in T, out U, in out V> {
  take(value: T): U { return value as never; }
  static accessor count = 1;
}
export function parse(): void {}
";

/// Unsupported syntax: `in` after a type without a `;`.
const UNREADABLE: &str = "\
export interface Parameter {
  name: string
  in: 'query'
}
export function area(): number { return 1; }
area();
";

#[test]
fn what_the_compiler_of_typescript_accepts_is_read() {
    let worktree = Worktree::new();
    worktree.write("a.ts", NEW).write("b.tsx", NEW).write("other.ts", "export type A = 1;\n");
    for path in ["a.ts", "b.tsx"] {
        let (answer, text) = worktree.ask("outline", json!({"path": path})).unwrap();
        assert_eq!(answer["head"]["complete"], true, "{text}");
    }
    let (_, text) = worktree.ask("outline", json!({"path": "a.ts"})).unwrap();
    expect![[r#"
        a.ts
          2  export interface ParseBody
          10  export class Cell<in T, out U, in out V>
            11  take(value: T): U
            12  static accessor count = 1
          14  export function parse(): void"#]]
    .assert_eq(&text);
}

#[test]
fn lines_that_are_not_read_are_named() {
    let worktree = Worktree::new();
    worktree.write("src/a.ts", UNREADABLE);
    let (answer, text) = worktree.ask("outline", json!({"path": "src"})).unwrap();
    assert_eq!(answer["head"]["complete"], false, "{text}");
    expect![[r#"
        incomplete: hob's grammar cannot read lines 2, 4 of src/a.ts
        src/a.ts
          1  export interface Parameter
          5  export function area(): number"#]]
    .assert_eq(&text);
    let refused = worktree.ask("show_definition", json!({"name": "query"})).unwrap_err();
    expect![
        "`query` is not defined in the parsed parts; hob's grammar cannot read lines 2, 4 of src/a.ts, which may \
             define it; find_uses shows where it is used"
    ]
    .assert_eq(&refused);
}

#[test]
fn a_file_that_a_judge_reads_leaves_nothing_open() {
    let Some(judged) = projects::typescript() else { return };
    judged.write("src/a.ts", UNREADABLE);
    let (answer, text) = judged.ask("find_callers", json!({"name": "area", "wait_ms": 20_000})).unwrap();
    assert_eq!(answer["head"]["complete"], true, "{text}");
    let reasons = answer["head"]["reasons"].as_array().unwrap();
    let reasons: Vec<&str> = reasons.iter().filter_map(|one| one["text"].as_str()).collect();
    expect!["hob's grammar cannot read lines 2, 4 of src/a.ts"].assert_eq(&reasons.join("\n"));
}

#[test]
fn a_body_that_is_not_read_may_call_more() {
    let worktree = Worktree::new();
    worktree.write("a.py", "def fine():\n    go()\n\ndef broken():\n    go(]\n\ndef go(): pass\n");
    let said = |name: &str| {
        let (answer, _) = worktree.ask("find_callees", json!({"name": name})).unwrap();
        let reasons = answer["head"]["reasons"].as_array().unwrap().clone();
        let codes = reasons.iter().filter(|one| one["code"] == "unparsable");
        codes.filter_map(|one| one["text"].as_str().map(str::to_owned)).collect::<Vec<_>>().join("\n")
    };
    expect!["|hob's grammar cannot read line 5 of a.py"].assert_eq(&[said("fine"), said("broken")].join("|"));
}
