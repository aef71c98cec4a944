//! Effect of a new constructor on every form of match in every language: one rule and one row each.

use expect_test::expect;
use serde_json::{Value, json};

use crate::worktree::Worktree;

/// Returns each match on a line: location, form, effect, how, and whether a branch accepts everything.
fn effects(file: &str, text: &str, type_name: &str, change: &str) -> String {
    let worktree = Worktree::from_files(&[(file, text)]);
    let result = worktree.result("find_matches", json!({"type_name": type_name, "change": change}));
    let mut all = result["matches"].as_array().unwrap().clone();
    all.sort_by_key(|one| one["line"].as_u64());
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines: Vec<String> = all
        .iter()
        .map(|one| {
            let names: Vec<String> = one["names"].as_array().unwrap().iter().map(word).collect();
            let wildcard = if one["wildcard"] == true { " wildcard" } else { "" };
            format!(
                "{} {} [{}] {}{wildcard}: {}, {}",
                one["line"],
                word(&one["enclosing"]),
                word(&one["form"]),
                names.join(" "),
                word(&one["effect"]),
                word(&one["how"])
            )
        })
        .collect();
    lines.join("\n")
}

const RUST: &str = r#"
pub enum Shape { Circle(f64), Square { side: f64 }, Dot }
enum Other { Circle(f64), Ring }
fn exhaustive(s: &Shape) { match s { Shape::Circle(r) => {} Shape::Square { .. } | Shape::Dot => {} } }
fn wildcard(s: Shape) { match s { Shape::Circle(_) => 1, _ => 2 }; }
fn bound(s: Shape) { match s { Shape::Dot => 1, other => 2 }; }
fn guarded(s: Shape) { match s { Shape::Dot => 1, Shape::Circle(r) if r > 1.0 => 2, x if true => 3, Shape::Circle(_) | Shape::Square { side: _ } => 4 }; }
fn panics(s: Shape) { match s { Shape::Dot => 1, _ => unreachable!("never") }; }
fn nested(s: Option<Shape>) { match s { Some(Shape::Dot) => 1, Some(_) => 2, None => 3 }; }
fn nested_whole(s: Option<Shape>) { match s { Some(Shape::Dot | Shape::Circle(_) | Shape::Square { .. }) => 1, None => 3 }; }
fn nested_wild(s: Option<Shape>) { match s { Some(Shape::Dot) => 1, _ => 2 }; }
fn tuple(a: Shape, b: bool) { match (a, b) { (Shape::Dot, true) => 1, (_, true) => 2, (Shape::Circle(_) | Shape::Square { .. } | Shape::Dot, false) => 3 }; }
fn if_let(s: Shape) { if let Shape::Dot = s { } }
fn if_let_else(s: Shape) { if let Shape::Dot = s { } else { } }
fn let_else(s: Shape) { let Shape::Dot = s else { return }; }
fn while_let(s: Shape) { while let Shape::Dot = s { } }
fn is(s: Shape) -> bool { matches!(s, Shape::Dot | Shape::Circle(_) if true) }
fn another(s: Other) { match s { Other::Circle(_) => 1, Other::Ring => 2 }; }
impl Shape { fn own(&self) { match *self { Self::Dot => {}, Self::Circle(_) => {}, Self::Square { side } => {} } } }
fn references(s: &Shape) { match s { &Shape::Dot => {}, d @ Shape::Circle(_) => {}, &Shape::Square { .. } => {} } }
"#;

#[test]
fn rust_a_constructor_more() {
    expect![[r#"
        4 exhaustive [match] Circle Dot Square: breaks, compile error (E0004)
        5 wildcard [match] Circle wildcard: absorbs, a catch-all branch takes it
        6 bound [match] Dot wildcard: absorbs, a catch-all branch takes it
        7 guarded [match] Circle Dot Square: breaks, compile error (E0004)
        8 panics [match] Dot wildcard: breaks, run-time failure: the catch-all branch panics
        9 nested [match] Dot wildcard: absorbs, a catch-all branch takes it
        10 nested_whole [match] Circle Dot Square: breaks, compile error (E0004)
        11 nested_wild [match] Dot wildcard: absorbs, a catch-all branch takes it
        12 tuple [match] Circle Dot Square: undecided, other parts of the patterns decide
        13 if_let [if let] Dot: falls_through, no branch runs
        14 if_let_else [if let] Dot: absorbs, the else branch takes it
        15 let_else [let] Dot: absorbs, the else block takes it
        16 while_let [while let] Dot: falls_through, the loop ends
        17 is [matches!] Circle Dot: absorbs, it is false then
        19 Shape::own [match] Circle Dot Square: breaks, compile error (E0004)
        20 references [match] Circle Dot Square: breaks, compile error (E0004)"#]]
    .assert_eq(&effects("a.rs", RUST, "Shape", "add"));
}

#[test]
fn rust_a_constructor_less() {
    expect![[r#"
        4 exhaustive [match] Circle Dot Square: breaks, compile error: it names Square
        5 wildcard [match] Circle wildcard: unaffected, it does not name Square
        6 bound [match] Dot wildcard: unaffected, it does not name Square
        7 guarded [match] Circle Dot Square: breaks, compile error: it names Square
        8 panics [match] Dot wildcard: unaffected, it does not name Square
        9 nested [match] Dot wildcard: unaffected, it does not name Square
        10 nested_whole [match] Circle Dot Square: breaks, compile error: it names Square
        11 nested_wild [match] Dot wildcard: unaffected, it does not name Square
        12 tuple [match] Circle Dot Square: breaks, compile error: it names Square
        13 if_let [if let] Dot: unaffected, it does not name Square
        14 if_let_else [if let] Dot: unaffected, it does not name Square
        15 let_else [let] Dot: unaffected, it does not name Square
        16 while_let [while let] Dot: unaffected, it does not name Square
        17 is [matches!] Circle Dot: unaffected, it does not name Square
        19 Shape::own [match] Circle Dot Square: breaks, compile error: it names Square
        20 references [match] Circle Dot Square: breaks, compile error: it names Square"#]]
    .assert_eq(&effects("a.rs", RUST, "Shape", "remove:Square"));
}

const HASKELL: &str = r#"{-# LANGUAGE LambdaCase #-}
module Shape where
data Shape = Circle Double | Square { side :: Double } | Dot
area :: Shape -> Double
area (Circle r) = r
area Square { side = s } = s
-- between
area Dot = 0
name :: Shape -> String
name Dot = "dot"
name _ = "other"
cases s = case s of
  Circle r -> r
  Square s -> s
  Dot -> 0
lambda = \case
  Dot -> 1
  x -> 2
guards s = case s of
  Circle r | r > 1 -> 1
           | otherwise -> 2
  _ | s == Dot -> 3
second :: Int -> Shape -> Int
second 0 Dot = 1
second _ Dot = 2
second _ (Circle _) = 3
second n (Square _) = n
partly 0 _ = 1
partly _ Dot = 2
failing Dot = 1
failing _ = error "no"
arrow = \(Circle r) -> r
doing = do
  Circle r <- get
  pure r
binding s = r where (Circle r) = s
comprehension ss = [r | Circle r <- ss]
guarded s | Circle r <- s = r
          | otherwise = 0
maybes (Just Dot) = 1
maybes (Just (Circle _)) = 2
maybes (Just (Square _)) = 3
maybes Nothing = 4
(Circle a) `plus` (Circle b) = a + b
_ `plus` _ = 0
"#;

#[test]
fn haskell_a_constructor_more() {
    expect![[r#"
        5 area [function clauses] Circle Dot Square: breaks, warning (-Wincomplete-patterns) and run-time failure
        10 name [function clauses] Dot wildcard: absorbs, a catch-all branch takes it
        12 cases [case] Circle Dot Square: breaks, warning (-Wincomplete-patterns) and run-time failure
        16 lambda [\case] Dot wildcard: absorbs, a catch-all branch takes it
        19 guards [case] Circle: breaks, warning (-Wincomplete-patterns) and run-time failure
        24 second [function clauses] Circle Dot Square: breaks, warning (-Wincomplete-patterns) and run-time failure
        28 partly [function clauses] Dot: undecided, other parts of the patterns decide
        30 failing [function clauses] Dot wildcard: breaks, run-time failure: the catch-all branch is an error
        32 arrow [lambda] Circle: breaks, warning (-Wincomplete-uni-patterns) and run-time failure
        34 doing [do] Circle: breaks, run-time failure, by `fail` of the monad
        36 binding [binding] Circle: breaks, run-time failure, where what it binds is used
        37 comprehension [generator] Circle: falls_through, it is left out
        38 guarded [pattern guard] Circle: absorbs, the next guard or branch takes it
        40 maybes [function clauses] Circle Dot Square: breaks, warning (-Wincomplete-patterns) and run-time failure
        44 plus [function clauses] Circle wildcard: absorbs, a catch-all branch takes it"#]]
    .assert_eq(&effects("Shape.hs", HASKELL, "Shape", "add"));
}

const PYTHON: &str = r#"
import enum
class Color(enum.Enum):
    RED = 1
    BLUE = 2
def falls(c):
    match c:
        case Color.RED:
            return 1
        case Color.BLUE:
            return 2
def absorbs(c):
    match c:
        case Color.RED | Color.BLUE:
            return 1
        case _:
            return 2
def never(c):
    match c:
        case Color.RED:
            return 1
        case other:
            assert_never(other)
def raises(c):
    match c:
        case Color.RED:
            return 1
        case _:
            raise ValueError(c)
def guarded(c, d):
    match c, d:
        case Color.RED, 1:
            return 1
        case _, 2:
            return 2
"#;

#[test]
fn python_a_constructor_more() {
    expect![[r#"
        7 falls [match] BLUE RED: falls_through, no case runs
        13 absorbs [match] BLUE RED wildcard: absorbs, a catch-all branch takes it
        19 never [match] RED wildcard: breaks, type checkers complain, and assert_never fails when run
        25 raises [match] RED wildcard: breaks, run-time failure: the catch-all branch raises
        31 guarded [match] RED: undecided, other parts of the patterns decide"#]]
    .assert_eq(&effects("a.py", PYTHON, "Color", "add"));
    expect![[r#"
        7 falls [match] BLUE RED: breaks, run-time failure, when the case is reached: it names BLUE
        13 absorbs [match] BLUE RED wildcard: breaks, run-time failure, when the case is reached: it names BLUE
        19 never [match] RED wildcard: unaffected, it does not name BLUE
        25 raises [match] RED wildcard: unaffected, it does not name BLUE
        31 guarded [match] RED: unaffected, it does not name BLUE"#]]
    .assert_eq(&effects("a.py", PYTHON, "Color", "remove:BLUE"));
    let union = "from dataclasses import dataclass\n@dataclass\nclass Circle:\n    r: int\nclass Square: pass\ntype Shape = Circle | Square\n\
                 def area(s):\n    match s:\n        case Circle(r=1) if s:\n            return 1\n        case Circle(r):\n            return r\n        \
                 case Square() as q:\n            return 2\n";
    expect!["8 area [match] Circle Square: falls_through, no case runs"]
        .assert_eq(&effects("a.py", union, "Shape", "add"));
}

#[test]
fn unions_of_python_by_assignment() {
    for union in ["Circle | Square", "Union[Circle, Square]", "typing.Union[Circle, Square]"] {
        let text = format!(
            "class Circle: pass\nclass Square: pass\nShape = {union}\nBITS = A | B\ndef area(s):\n    match s:\n        \
                            case Circle(): return 1\n        case geo.Square(): return 2\n"
        );
        let found = expect!["6 area [match] Circle Square: falls_through, no case runs"];
        found.assert_eq(&effects("a.py", &text, "Shape", "add"));
    }
}

#[test]
fn go_a_constructor_more() {
    let text = "package a\ntype Color int\nconst (\n\tRed Color = iota\n\tBlue\n\t_\n\tGreen\n)\nconst (\n\tOther = 1\n)\n\
                func falls(c Color) int {\n\tswitch c {\n\tcase Red, Blue:\n\t\treturn 1\n\t}\n\treturn 0\n}\n\
                func absorbs(c Color) {\n\tswitch c {\n\tcase a.Red:\n\tdefault:\n\t\tf()\n\t}\n}\n\
                func panics(c Color) {\n\tswitch c {\n\tcase Green:\n\tdefault:\n\t\tpanic(\"no\")\n\t}\n}\n";
    expect![[r#"
        13 falls [switch] Blue Red: falls_through, no case runs
        20 absorbs [switch] Red wildcard: absorbs, a catch-all branch takes it
        27 panics [switch] Green wildcard: breaks, run-time failure: the default fails"#]]
    .assert_eq(&effects("a.go", text, "Color", "add"));
}

#[test]
fn typescript_a_constructor_more() {
    let text = "export interface Circle { kind: 'circle'; r: number }\ninterface Square { kind: \"square\"; side: number }\n\
                export type Shape = Circle | Square | { kind: 'dot' };\nfunction falls(s: Shape) {\n  switch (s.kind) {\n    case 'circle': return 1;\n    \
                case 'square': return 2;\n    case 'dot': return 3;\n  }\n}\nfunction absorbs(s: Shape) {\n  switch (s.kind) {\n    case 'circle': return 1;\n    \
                default: return 2;\n  }\n}\nfunction never(s: Shape) {\n  switch (s.kind) {\n    case 'dot': { return 1; }\n    default: {\n      \
                const never: never = s;\n      return never;\n    }\n  }\n}\nfunction throws(s: Shape) {\n  switch (s.kind) {\n    case 'dot': break;\n    \
                default: throw new Error('no');\n  }\n}\n";
    expect![[r#"
        5 falls [switch] Circle { kind: 'dot' } Square: falls_through, no case runs
        12 absorbs [switch] Circle wildcard: absorbs, a catch-all branch takes it
        18 never [switch] { kind: 'dot' } wildcard: breaks, compile error: the default takes `never`
        27 throws [switch] { kind: 'dot' } wildcard: breaks, run-time failure: the default fails"#]]
    .assert_eq(&effects("a.ts", text, "Shape", "add"));
    let text = "enum Color { Red, Blue = 2 }\nfunction name(c: Color) {\n  switch (c) {\n    case Color.Red:\n    case Color.Blue: return 1;\n  }\n}\n";
    let said = effects("a.ts", text, "Color", "remove:Blue");
    expect!["3 name [switch] Blue Red: breaks, compile error: it names Blue"].assert_eq(&said);
    let text = "type Mode = 'on' | 'off';\nfunction f(m: Mode) { switch (m) { case 'on': return 1; default: return assertNever(m); } }\n";
    expect!["2 f [switch] 'on' wildcard: breaks, compile error: the default takes `never`"]
        .assert_eq(&effects("a.ts", text, "Mode", "add"));
    // Only `typeof` tells primitive types apart.
    let text = "type Bound = number | null;\ntype Word = 'number' | 'null';\n\
                function f(w: Word) { switch (w) { case 'number': case 'null': return 1; default: return assertNever(w); } }\n\
                function g(b: Bound) { switch (typeof b) { case 'number': return 1; default: return assertNever(b); } }\n";
    expect!["4 g [switch] number wildcard: breaks, compile error: the default takes `never`"]
        .assert_eq(&effects("a.ts", text, "Bound", "add"));
    expect!["3 f [switch] 'null' 'number' wildcard: breaks, compile error: the default takes `never`"]
        .assert_eq(&effects("a.ts", text, "Word", "add"));
}

#[test]
fn cpp_a_constructor_more() {
    let text = "namespace geo { enum class Color { Red, Blue }; }\nenum Plain { ONE, TWO };\nint falls(geo::Color c) { switch (c) { case geo::Color::Red: return 1; \
                case geo::Color::Blue: return 2; } return 0; }\nint absorbs(geo::Color c) { switch (c) { case geo::Color::Red: return 1; default: return 2; } }\n\
                int fails(geo::Color c) { switch (c) { case geo::Color::Red: return 1; default: abort(); } }\n\
                int plain(Plain p) { switch (p) { case ONE: case TWO: return 1; } return 0; }\n";
    expect![[r#"
        3 falls [switch] Blue Red: falls_through, no case runs; -Wswitch warns
        4 absorbs [switch] Red wildcard: absorbs, a catch-all branch takes it
        5 fails [switch] Red wildcard: breaks, run-time failure: the default fails"#]]
    .assert_eq(&effects("a.cpp", text, "geo::Color", "add"));
    expect!["6 plain [switch] ONE TWO: falls_through, no case runs; -Wswitch warns"]
        .assert_eq(&effects("a.cpp", text, "Plain", "add"));
}

#[test]
fn what_find_matches_refuses() {
    let worktree = Worktree::from_files(&[("a.rs", "enum E { A }\nstruct S;\nfn f() {}\ntrait T {}\n")]);
    let refused = |arguments| worktree.ask("find_matches", arguments).expect_err("there is no answer");
    let said = [
        json!({"type_name": "E", "change": "remove:B"}),
        json!({"type_name": "E", "change": "rename"}),
        json!({"type_name": "T"}),
        json!({"type_name": "f"}),
    ]
    .map(refused);
    expect![[r#"
        E has no `B`; its constructors are A
        invalid `change` `rename`; use `add` or `remove:CONSTRUCTOR`
        a.rs:4 interface T is not an enum, union or sum type, so no match can name its alternatives; find_uses shows where it is used
        `f` is not a type: a.rs:3 function f; name a type"#]]
    .assert_eq(&said.join("\n"));
    let (result, text) = worktree.ask("find_matches", json!({"type_name": "E"})).unwrap();
    assert_eq!((&result["total"], &result["head"]["complete"]), (&json!(0), &json!(false)));
    expect![[r#"
        No matches found; not proven complete: no language server for Rust
        defined: a.rs:1 enum E"#]]
    .assert_eq(&text);
}

#[test]
fn what_goes_is_named_as_people_write_it() {
    let worktree = Worktree::new();
    worktree.write(
        "a.ts",
        "interface Square { kind: 'square' }\ntype Shape = Square | { kind: 'dot' };\ntype Way = 'up' | \"down\";\n\
         type Twice = { kind: 'dot'; a: 1 } | { kind: 'dot'; b: 1 };\n\
         function f(s: Shape) { switch (s.kind) { case 'square': return 1; case 'dot': return 2; } }\n\
         function g(w: Way) { switch (w) { case 'up': return 1; } }\n",
    );
    let effect = |name: &str, change: &str| {
        let said = worktree.ask("find_matches", json!({"type_name": name, "change": change}));
        said.map(|(result, _)| result["matches"][0]["how"].as_str().unwrap().to_owned()).unwrap_or_else(|error| error)
    };
    let said = [
        ("Shape", "remove:square"),
        ("Shape", "remove:Square"),
        ("Shape", "remove:dot"),
        ("Shape", "remove:{kind:'dot'}"),
        ("Way", "remove:up"),
        ("Way", "remove: 'up' "),
        ("Way", "remove:'down'"),
        ("Way", "remove:left"),
        ("Twice", "remove:dot"),
    ]
    .map(|(name, change)| format!("{name} {change}: {}", effect(name, change)));
    expect![[r#"
        Shape remove:square: compile error: it names Square
        Shape remove:Square: compile error: it names Square
        Shape remove:dot: compile error: it names { kind: 'dot' }
        Shape remove:{kind:'dot'}: compile error: it names { kind: 'dot' }
        Way remove:up: compile error: it names 'up'
        Way remove: 'up' : compile error: it names 'up'
        Way remove:'down': it does not name "down"
        Way remove:left: Way has no `left`; its constructors are 'up', "down"
        Twice remove:dot: `dot` is ambiguous in Twice: { kind: 'dot'; a: 1 }, { kind: 'dot'; b: 1 }; write one of these"#]].assert_eq(&said.join("\n"));
}

#[test]
fn an_effect_that_is_undecided_is_no_match_that_is() {
    let worktree = Worktree::new();
    worktree.write_files(
        "--- a.rs\nenum E { A, B }\nfn f(e: E, b: bool) { match (e, b) { (E::A, _) => 1, (_, true) => 2 }; }\n\
         fn g(e: E) { match e { E::A => 1, E::B => 2 }; }\n",
    );
    let (_, text) = worktree.ask("find_matches", json!({"type_name": "E"})).unwrap();
    assert!(text.starts_with("2 matches by name: 1 breaks, 1 unknown effect, unchecked: no language server"), "{text}");
}

#[test]
fn a_match_in_another_crate_names_the_crate() {
    let worktree = Worktree::new();
    worktree.write_files(
        "--- Cargo.toml\n[workspace]\nmembers = [\"a\", \"b\"]\n\
         --- a/Cargo.toml\n[package]\nname = \"a\"\nversion = \"0.1.0\"\n\
         --- a/src/lib.rs\npub enum Kind { One, Two }\n\
         --- b/Cargo.toml\n[package]\nname = \"b\"\nversion = \"0.1.0\"\n[dependencies]\na = { path = \"../a\" }\n\
         --- b/src/lib.rs\n\
         pub fn whole(kind: a::Kind) -> u8 {\n    match kind {\n        a::Kind::One => 1,\n        a::Kind::Two => 2,\n    }\n}\n\
         pub fn is_one(kind: &a::Kind) -> bool {\n    matches!(kind, a::Kind::One)\n}\n",
    );
    for name in ["Kind", "a::Kind", "a/src/lib.rs:1:10"] {
        let (answer, text) = worktree.ask("find_matches", json!({"type_name": name})).unwrap();
        assert_eq!(answer["total"], 2, "{name}: {text}");
    }
}

/// Returns the matches in the arguments of Rust macros, and the reasons.
fn matches_in(text: &str) -> (String, Value) {
    let worktree = Worktree::new();
    worktree.write("a.rs", format!("pub enum Kind {{ A, B(u8), C {{ of: u8 }} }}\n{text}"));
    let result = worktree.result("find_matches", json!({"type_name": "Kind"}));
    let mut all = result["matches"].as_array().unwrap().clone();
    all.sort_by_key(|one| (one["line"].as_u64(), one["column"].as_u64()));
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines = all.iter().map(|one| {
        let names: Vec<String> = one["names"].as_array().unwrap().iter().map(word).collect();
        let place = format!("{}:{} {}", one["line"], one["column"], word(&one["enclosing"]));
        format!("{place} [{}] {}: {}", word(&one["form"]), names.join(" "), word(&one["effect"]))
    });
    (lines.collect::<Vec<_>>().join("\n"), result["head"]["reasons"].clone())
}

fn unread_macros(reasons: &Value) -> String {
    let all = reasons.as_array().unwrap().iter().filter(|reason| reason["code"] == "macro");
    all.map(|reason| format!("{} {}\n", reason["places"], reason["text"].as_str().unwrap())).collect()
}

#[test]
fn matches_in_macros_are_found_where_they_stand() {
    let (lines, reasons) = matches_in(
        r#"fn asserted(k: &Kind) { assert!(matches!(k, Kind::A), "A, {}", 1); }
fn listed(k: &Kind) -> Vec<u8> { vec![match k { Kind::A => 1, Kind::B(_) | Kind::C { .. } => 2 }] }
fn printed(k: &Kind) { println!("é {} {of}", match k { Kind::A => 1, _ => 2 }, of = u8::from(if let Kind::B(_) = k { true } else { false })); }
fn compared(k: &Kind) { assert_eq!(if let Kind::A = k { 1 } else { 2 }, 1,); }
async fn selected(k: &Kind) { tokio::select! { a = next(), if matches!(k, Kind::A) => { match k { Kind::A => a, _ => 2 } } _ = last() => {} } }
fn deep(k: &Kind) { dbg!(vec![format!("{}", matches!(k, Kind::C { of: 1 } | Kind::B(2)))]); }
fn inner(k: &Option<Kind>) -> bool { matches!(k, Some(Kind::A)) }
fn guarded(k: &Kind, l: &Kind) -> bool { matches!(k, Kind::A if match l { Kind::B(_) => true, _ => false }) }
fn beside(k: (Kind, u8)) { assert_matches!(k, (Kind::A, _), "{}", matches!(k, (Kind::B(1), 2))); }
fn whole(k: &Kind) { thread_local! { static ONE: u8 = match Kind::A { Kind::A => 1, _ => 2 }; } matches!(k, Kind::A,); }
fn made() -> Vec<Kind> { assert!(is(Kind::A)); vec![Kind::A, Kind::B(1), Kind::C { of: 2 }] }
fn keys() { json!({"a": Kind::A, "b": [Kind::B(2), match Kind::A { Kind::A => 1, _ => 2 }]}); }
macro_rules! by { ($k:expr) => { match $k { Kind::A => 1, _ => 2 } } }
"#,
    );
    expect![[r#"
        2:33 asserted [matches!] A: absorbs
        3:39 listed [match] A B C: breaks
        4:46 printed [match] A: absorbs
        4:97 printed [if let] B: absorbs
        5:39 compared [if let] A: absorbs
        6:63 selected [matches!] A: absorbs
        6:89 selected [match] A: absorbs
        7:45 deep [matches!] B C: absorbs
        8:38 inner [matches!] A: absorbs
        9:42 guarded [matches!] A: absorbs
        9:65 guarded [match] B: absorbs
        10:28 beside [assert_matches!] A: breaks
        10:67 beside [matches!] B: absorbs
        11:55 whole [match] A: absorbs
        11:97 whole [matches!] A: absorbs
        13:52 keys [match] A: absorbs"#]]
    .assert_eq(&lines);
    assert_eq!(unread_macros(&reasons), "");
}

#[test]
fn macro_tokens_that_are_no_code_are_said() {
    for (text, said) in [
        ("fn f(k: Kind) { is!(k, Kind::B { .. }, let); }", 1),
        ("fn f(k: Kind) { pick!(k, Kind::A => 1); }", 1),
        ("fn f() { select! { Some(Kind::B(_)) = next() => {} } }", 1),
        ("fn f() { quote! { if let Some(Kind::B(_)) = #x {} } }", 1),
        ("fn f() { rows! { one: Kind::A } }", 0),
        // A constructor of another type, a string, a comment.
        ("fn f(k: Other) { pick!(k, Other::A => 1); }", 0),
        ("fn f() { pick!(1, \"A\" => /* A */ 1); }", 0),
    ] {
        let (_, reasons) = matches_in(text);
        assert_eq!(unread_macros(&reasons).lines().count(), said, "{text}: {reasons}");
    }
    let (_, reasons) = matches_in("fn f(k: Kind) {\n    pick!(k, Kind::A => 1, Kind::B(_) => 2);\n}\n");
    expect![[r#"
        2 a.rs:3 names A in macro tokens that are not code: matches there are not found
    "#]]
    .assert_eq(&unread_macros(&reasons));
}

#[test]
fn macros_in_macros_end() {
    let deep = format!("fn f(k: &Kind) {{ {}matches!(k, Kind::A){} }}\n", "dbg!(".repeat(400), ")".repeat(400));
    let (lines, reasons) = matches_in(&deep);
    assert_eq!((lines.as_str(), unread_macros(&reasons).lines().count()), ("", 1));
}
