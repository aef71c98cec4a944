//! Contents and construction of types that their declaration alone does not show: fields of constructors, type aliases,
//! and definitions that macros make.

use expect_test::expect;
use serde_json::json;

use crate::worktree::Worktree;

fn text_of(worktree: &Worktree, tool: &str, name: &str) -> String {
    let (_, text) = worktree.ask(tool, json!({"type_name": name})).unwrap();
    text
}

/// Returns the fields of a type in one file.
fn fields((file, text, name): (&str, &str, &str)) -> String {
    text_of(&Worktree::from_files(&[(file, text)]), "show_fields", name)
}

/// Returns its constructors.
fn constructors((file, text, name): (&str, &str, &str)) -> String {
    text_of(&Worktree::from_files(&[(file, text)]), "show_constructors", name)
}

const PERSON: &str = "class Person {\n  readonly id: number = 1;\n  constructor(private name: string, public readonly age?: number, \
                      size = 1, protected kind: string = 'x') {\n    this.id = 2;\n  }\n}\n";
const BOX: &str = "class Box {\n  constructor(x, y) {\n    this.x = x;\n    this.y = y || 0;\n    this.x = 3;\n    const z = 1;\n  }\n  \
                   area() { this.cache = 1; }\n}\n";

const FRAME: &str = "class Frame:\n    def __init__(self, parent=None):\n        if parent is None:\n            self.block = None\n\
                     \n        else:\n            try:\n                self.buffer: str = parent.buffer\n            except KeyError:\n\
                     \n                self.block = 1\n        def later():\n            self.late = 1\n        self.top = False\n";
const CIRCLE: &str = "package a\n\ntype Circle struct{ R float64 }\n\ntype Empty struct{}\n";
const ALIASES: &str = "pub struct Circle {\n    pub radius: f64,\n}\npub type Round = Circle;\npub type Rounder = crate::geo::Round;\n\
                       pub type Many = Vec<Circle>;\npub type Own = Own;\n";

#[test]
fn fields_that_a_constructor_declares_or_assigns() {
    let said = [("a.ts", PERSON, "Person"), ("b.js", BOX, "Box"), ("a.py", FRAME, "Frame")].map(fields);
    expect![[r#"
        a.ts:1 class Person
          id: number = 1
          name: string
          age?: number
          kind: string = 'x'
        b.js:1 class Box
          x = x
          y = y || 0
        a.py:1 class Frame
          block = None
          buffer: str = parent.buffer
          top = False"#]]
    .assert_eq(&said.join("\n"));
}

#[test]
fn several_types_of_one_name_are_counted_first() {
    let worktree =
        Worktree::from_files(&[("a.rs", "pub struct Glob { pub a: u8 }\n"), ("b.rs", "pub enum Glob { One }\n")]);
    expect![[r#"
        2 types are named Glob; for one of them: `a.rs:Glob`
        a.rs:1 struct Glob
          a: u8
        b.rs:1 enum Glob
          no fields of its own"#]]
    .assert_eq(&text_of(&worktree, "show_fields", "Glob"));
    assert!(text_of(&worktree, "show_fields", "a.rs:Glob").starts_with("a.rs:1 struct Glob"));
}

#[test]
fn a_class_is_made_by_its_constructor() {
    let said = [
        ("a.ts", PERSON, "Person"),
        ("a.py", "class Box:\n    def __init__(self, x: int, y=0):\n        self.x = x\n", "Box"),
        ("a.cpp", "class Sq {\n public:\n  Sq(double s);\n  double s;\n};\n", "Sq"),
        ("a.go", CIRCLE, "Circle"),
        ("a.go", CIRCLE, "Empty"),
    ]
    .map(constructors);
    expect![[r#"
        a.ts:1 class Person
          constructor(private name: string, public readonly age?: number, size = 1, protected kind: string = 'x')  line 3
          no variants; show_fields shows its fields
        a.py:1 class Box
          def __init__(self, x: int, y=0)  line 2
          no variants; show_fields shows its fields
        a.cpp:1 class Sq
          Sq(double s)  line 3
          no variants; show_fields shows its fields
        a.go:3 struct Circle
          no variants; show_fields shows its fields
        a.go:5 struct Empty
          no variants and no fields"#]]
    .assert_eq(&said.join("\n"));
}

#[test]
fn another_name_of_a_type_leads_to_it() {
    let said = ["Rounder", "Many", "Own"].map(|name| fields(("src/geo.rs", ALIASES, name)));
    expect![[r#"
        src/geo.rs:5 type Rounder is
        src/geo.rs:4 type Round is
        src/geo.rs:1 struct Circle
          radius: f64
        src/geo.rs:6 type Many
          no fields of its own
        src/geo.rs:7 type Own
          no fields of its own"#]]
    .assert_eq(&said.join("\n"));
    expect![[r#"
        src/geo.rs:4 type Round is
        src/geo.rs:1 struct Circle
          Circle {radius: f64}"#]]
    .assert_eq(&constructors(("src/geo.rs", ALIASES, "Round")));
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
        let said = fields((file, text, name));
        assert_eq!(said.lines().last(), Some(field), "{file} {text}: {said}");
    }
    // In another file, and with both locations in the result.
    let (geo, other) = ("pub struct Circle { pub radius: f64 }\n", "pub type Round = geo::Circle;\n");
    let worktree = Worktree::from_files(&[("geo.rs", geo), ("other.rs", other)]);
    let result = worktree.result("show_fields", json!({"type_name": "Round", "path": "other.rs"}));
    assert_eq!((&result["definitions"][0]["file"], &result["fields"][0]["name"]), (&json!("geo.rs"), &json!("radius")));
}

#[test]
fn what_a_macro_may_make_is_said_where_it_is() {
    let worktree = Worktree::from_files(&[(
        "lib.rs",
        "macro_rules! gen { ($name:ident) => { pub fn $name() {} }; }\ngen!(made);\nfn run() { made(); }\nfn other() { vec![other::gone] }\n",
    )]);
    let refused = |tool: &str, name: &str| worktree.ask(tool, json!({"name": name})).unwrap_err();
    let (_, text) = worktree.ask("find_callers", json!({"name": "made"})).unwrap();
    let said = [
        refused("show_definition", "made"),
        refused("find_callees", "made"),
        text.lines().nth(1).unwrap().to_owned(),
        // Inside a function it refers to a value.
        refused("show_definition", "gone"),
    ];
    expect![[r#"
        `made` is not defined in this project by its own text; the macro call at lib.rs:2 mentions it and may define it; find_uses shows where it is used
        `made` is not defined in this project by its own text; the macro call at lib.rs:2 mentions it and may define it, so its body is unknown; find_callers shows who calls it
        not defined in this project by its own text; the macro call at lib.rs:2 mentions it and may define it
        `gone` is not defined in this project; find_uses shows where it is used"#]]
    .assert_eq(&said.join("\n"));
}

#[test]
fn a_method_that_a_macro_makes_is_not_said_to_be_missing() {
    let worktree = Worktree::from_files(&[(
        "a.rs",
        "macro_rules! mk { ($t:ident) => { pub struct $t; impl Drop for $t { fn drop(&mut self) {} } } }\nmk!(Tmp);\n",
    )]);
    for (tool, name) in [("show_definition", "Tmp.drop"), ("find_callees", "Tmp.drop"), ("show_definition", "drop")] {
        let said = worktree.ask(tool, json!({"name": name})).expect_err("nothing is seen");
        assert!(said.contains("a macro in it makes a function of that name"), "{tool} {name}: {said}");
    }
    for name in ["Tmp.drop", "drop"] {
        let (answer, text) = worktree.ask("find_callers", json!({"name": name})).unwrap();
        let reasons = answer["head"]["reasons"].to_string();
        assert_eq!(answer["head"]["complete"], false, "{text}");
        assert!(reasons.contains("a macro in it makes a function of that name"), "{text}");
    }
    // Next to a definition of another type.
    worktree.write("b.rs", "struct Own;\nimpl Drop for Own { fn drop(&mut self) {} }\n");
    let said = worktree.ask("find_callers", json!({"name": "Tmp.drop"})).expect_err("nothing is seen");
    assert!(said.contains("`Tmp.drop` does not exist") && said.contains("a macro in it makes"), "{said}");
    let (answer, _) = worktree.ask("find_callers", json!({"name": "Own.drop"})).unwrap();
    assert!(!answer["head"]["reasons"].to_string().contains("a macro in it makes"));
}
