//! Contents and construction of types that their declaration alone does not show: fields of constructors, type aliases,
//! and macro output.

use expect_test::{Expect, expect};
use serde_json::json;

use crate::worktree::Worktree;

fn text_of(worktree: &Worktree, tool: &str, name: &str) -> String {
    let (_, text) = worktree.ask(tool, json!({"type_name": name})).unwrap();
    text
}

/// Returns the fields of a type in one file.
fn fields(file: &str, text: &str, name: &str, expected: Expect) {
    let worktree = Worktree::new();
    worktree.write(file, text);
    expected.assert_eq(&text_of(&worktree, "show_fields", name));
}

/// Returns its constructors.
fn constructors(file: &str, text: &str, name: &str, expected: Expect) {
    let worktree = Worktree::new();
    worktree.write(file, text);
    expected.assert_eq(&text_of(&worktree, "show_constructors", name));
}

const PERSON: &str = "class Person {\n  readonly id: number = 1;\n  constructor(private name: string, public readonly age?: number, \
                      size = 1, protected kind: string = 'x') {\n    this.id = 2;\n  }\n}\n";
const BOX: &str = "class Box {\n  constructor(x, y) {\n    this.x = x;\n    this.y = y || 0;\n    this.x = 3;\n    const z = 1;\n  }\n  \
                   area() { this.cache = 1; }\n}\n";

#[test]
fn fields_that_a_constructor_declares_or_assigns() {
    fields(
        "a.ts",
        PERSON,
        "Person",
        expect![[r#"
        a.ts:1 class Person
          id: number = 1
          name: string
          age?: number
          kind: string = 'x'"#]],
    );
    fields(
        "b.js",
        BOX,
        "Box",
        expect![[r#"
        b.js:1 class Box
          x = x
          y = y || 0"#]],
    );
}

#[test]
fn fields_that_a_branch_of_a_constructor_assigns() {
    fields(
        "a.py",
        "class Frame:\n    def __init__(self, parent=None):\n        if parent is None:\n            self.block = None\n\
         \n        else:\n            try:\n                self.buffer: str = parent.buffer\n            except KeyError:\n\
         \n                self.block = 1\n        def later():\n            self.late = 1\n        self.top = False\n",
        "Frame",
        expect![[r#"
        a.py:1 class Frame
          block = None
          buffer: str = parent.buffer
          top = False"#]],
    );
}

#[test]
fn a_class_is_made_by_its_constructor() {
    constructors(
        "a.ts",
        PERSON,
        "Person",
        expect![[r#"
        a.ts:1 class Person
          constructor(private name: string, public readonly age?: number, size = 1, protected kind: string = 'x')  line 3
          no variants; show_fields shows its fields"#]],
    );
    constructors(
        "a.py",
        "class Box:\n    def __init__(self, x: int, y=0):\n        self.x = x\n",
        "Box",
        expect![[r#"
            a.py:1 class Box
              def __init__(self, x: int, y=0)  line 2
              no variants; show_fields shows its fields"#]],
    );
    constructors(
        "a.cpp",
        "class Sq {\n public:\n  Sq(double s);\n  double s;\n};\n",
        "Sq",
        expect![[r#"
        a.cpp:1 class Sq
          Sq(double s)  line 3
          no variants; show_fields shows its fields"#]],
    );
    constructors(
        "a.go",
        "package a\n\ntype Circle struct{ R float64 }\n\ntype Empty struct{}\n",
        "Circle",
        expect![[r#"
            a.go:3 struct Circle
              no variants; show_fields shows its fields"#]],
    );
    constructors(
        "a.go",
        "package a\n\ntype Circle struct{ R float64 }\n\ntype Empty struct{}\n",
        "Empty",
        expect![[r#"
            a.go:5 struct Empty
              no variants and no fields"#]],
    );
}

#[test]
fn another_name_of_a_type_leads_to_it() {
    let rust = "pub struct Circle {\n    pub radius: f64,\n}\npub type Round = Circle;\npub type Rounder = crate::geo::Round;\n\
                pub type Many = Vec<Circle>;\npub type Own = Own;\n";
    fields(
        "src/geo.rs",
        rust,
        "Rounder",
        expect![[r#"
        src/geo.rs:5 type Rounder is
        src/geo.rs:4 type Round is
        src/geo.rs:1 struct Circle
          radius: f64"#]],
    );
    fields(
        "src/geo.rs",
        rust,
        "Many",
        expect![[r#"
            src/geo.rs:6 type Many
              no fields of its own"#]],
    );
    fields(
        "src/geo.rs",
        rust,
        "Own",
        expect![[r#"
            src/geo.rs:7 type Own
              no fields of its own"#]],
    );
    constructors(
        "src/geo.rs",
        rust,
        "Round",
        expect![[r#"
        src/geo.rs:4 type Round is
        src/geo.rs:1 struct Circle
          Circle {radius: f64}"#]],
    );
    for (file, text, name, field) in [
        ("a.ts", "interface A { x: number }\ntype B = A;\n", "B", "  x: number"),
        ("a.py", "class A:\n    x: int\ntype B = A\n", "B", "  x: int"),
        ("a.go", "package a\n\ntype A struct{ X int }\ntype B = A\ntype C A\n", "B", "  X: int"),
        ("a.go", "package a\n\ntype A struct{ X int }\ntype B = A\ntype C A\n", "C", "  X: int"),
        ("a.cpp", "class A { int x; };\nusing B = A;\n", "B", "  x: int"),
        ("a.c", "struct a { int x; };\ntypedef struct a B;\n", "B", "  x: int"),
        ("a.c", "typedef struct a { int x; } B;\n", "B", "  x: int"),
        ("A.hs", "module A where\ndata A = A { x :: Int }\ntype B = A\n", "B", "  A.x: Int"),
    ] {
        let worktree = Worktree::new();
        worktree.write(file, text);
        let said = text_of(&worktree, "show_fields", name);
        assert_eq!(said.lines().last(), Some(field), "{file} {text}: {said}");
    }
    // In another file, and with both locations in the result.
    let worktree = Worktree::new();
    worktree
        .write("geo.rs", "pub struct Circle { pub radius: f64 }\n")
        .write("other.rs", "pub type Round = geo::Circle;\n");
    let result = worktree.result("show_fields", json!({"type_name": "Round", "path": "other.rs"}));
    assert_eq!((&result["definitions"][0]["file"], &result["fields"][0]["name"]), (&json!("geo.rs"), &json!("radius")));
}

#[test]
fn what_a_macro_may_make_is_said_where_it_is() {
    let worktree = Worktree::new();
    worktree.write(
        "lib.rs",
        "macro_rules! gen { ($name:ident) => { pub fn $name() {} }; }\ngen!(made);\nfn run() { made(); }\nfn other() { vec![other::gone] }\n",
    );
    let refused = |tool: &str, name: &str| worktree.ask(tool, json!({"name": name})).unwrap_err();
    expect![
        "`made` is not defined in this project by its own text; the macro call at lib.rs:2 mentions it and may \
             define it; find_uses shows where it is used"
    ]
    .assert_eq(&refused("show_definition", "made"));
    expect![
        "`made` is not defined in this project by its own text; the macro call at lib.rs:2 mentions it and may \
             define it, so its body is unknown; find_callers shows who calls it"
    ]
    .assert_eq(&refused("find_callees", "made"));
    let (_, text) = worktree.ask("find_callers", json!({"name": "made"})).unwrap();
    expect!["not defined in this project by its own text; the macro call at lib.rs:2 mentions it and may define it"]
        .assert_eq(text.lines().nth(1).unwrap());
    // Inside a function it refers to a value.
    expect!["`gone` is not defined in this project; find_uses shows where it is used"]
        .assert_eq(&refused("show_definition", "gone"));
}
