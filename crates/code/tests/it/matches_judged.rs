//! The types of constructors in matches, with real language servers: a constructor of another type is refuted, an alias
//! is resolved. A test is skipped with a message if its server is not installed; CI has all of them.

use std::collections::BTreeMap;

use code::CodeSettings;
use code::settings::ServerSettings;
use expect_test::expect;
use serde_json::json;

use crate::judged_project::JudgedProject;
use crate::projects;

/// Returns the first line of the final answer, then each match with its effect and verdict.
fn matches_of(judged: &JudgedProject, type_name: &str) -> String {
    let (answer, text) = judged.until_final("find_matches", json!({"type_name": type_name}));
    assert_eq!(answer["warning"], json!(null));
    let lines = answer["matches"].as_array().unwrap().iter().map(|one| {
        let word = |name: &str| one[name].as_str().unwrap().to_owned();
        format!("{}:{} {} {} {}", word("file"), one["line"], word("form"), word("effect"), word("verdict"))
    });
    text.lines().next().map(str::to_owned).into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

pub(crate) fn rust(judged: &JudgedProject) {
    judged.write_files(
        "--- src/lib.rs\npub mod geo;\npub mod other;\npub mod silent;\npub mod uses;\n\
         --- src/silent.rs\n\
         pub struct Span { pub len: u8 }\nimpl Span {\n    pub fn end(&self) -> u8 { self.len }\n}\n\
         #[cfg(feature = \"never\")]\npub fn inactive(end: u8, v: &[u8]) -> usize {\n    debug_assert!(end > 1);\n    v.len() + len::of(end)\n}\n\
         macro_rules! made { ($t:ident) => { pub fn $t(end: u8) -> u8 { end } } }\nmade!(one);\n\
         pub fn used(s: &Span) -> u8 {\n    s.end()\n}\n\
         --- src/geo.rs\npub enum Shape { Circle(f64), Dot }\npub type Alias = Shape;\n\
         --- src/other.rs\npub enum Ring { Circle, Oval }\n\
         --- src/uses.rs\nuse crate::geo::{self, Alias, Shape};\nuse crate::other::Ring::{self, *};\n\
         pub fn all(s: &Shape) -> u8 {\n    match s { geo::Shape::Circle(_) => 1, Shape::Dot => 2 }\n}\n\
         pub fn by_alias(s: &Alias) -> bool {\n    matches!(s, Alias::Dot)\n}\n\
         pub fn of_another(r: Ring) -> u8 {\n    match r { Circle => 1, Oval => 2 }\n}\n\
         pub fn of_both(s: Shape, r: Ring) -> u8 {\n    \
         match (s, r) { (Shape::Dot, Circle) => 1, (Shape::Dot, _) => 2, (Shape::Circle(_), _) => 3 }\n}\n\
         pub fn in_macros(s: &Alias, r: Ring) -> u8 {\n    assert!(matches!(s, Alias::Dot));\n    \
         vec![match r { Circle => 1, Oval => 2 }][0]\n}\n",
    );
    expect![[r#"
        4 matches, complete: 2 breaks, 2 absorbs · checked by rust-analyzer
        src/uses.rs:4 match breaks confirmed
        src/uses.rs:13 match breaks confirmed
        src/uses.rs:7 matches! absorbs confirmed
        src/uses.rs:16 matches! absorbs confirmed"#]]
    .assert_eq(&matches_of(judged, "Shape"));
    // Where the server is silent (code that is not compiled, a macro's body), the grammar may exclude a site.
    for (name, place) in [("Span::end", "src/silent.rs:13 "), ("src/silent.rs:1", "src/silent.rs:2 ")] {
        let uses = judged.final_uses(name);
        assert!(uses[0].starts_with(place) && uses[0].contains(" confirmed "), "{uses:?}");
    }
    let (answer, text) = judged.until_final("find_uses", json!({"name": "len"}));
    assert_eq!((&answer["total"], &answer["head"]["other"]), (&json!(1), &json!(2)), "{text}");
}

#[test]
fn python() {
    let Some(judged) = projects::python() else { return };
    judged.write_files(
        "--- pyproject.toml\n[project]\nname = \"made\"\nversion = \"1\"\nrequires-python = \">=3.11\"\n\
         --- geo.py\nclass Circle:\n    pass\n\nclass Square:\n    pass\n\nShape = Circle | Square\n\
         --- other.py\nclass Circle:\n    pass\n\
         --- uses.py\nimport geo\nimport other\nfrom geo import Square, Shape\n\n\
         def all(s: Shape):\n    match s:\n        case geo.Circle():\n            return 1\n        case Square():\n            return 2\n\n\
         def of_another(s):\n    match s:\n        case other.Circle():\n            return 1\n        case _:\n            return 2\n\n\
         def must(s: Shape) -> int:\n    match s:\n        case geo.Circle():\n            return 1\n        case Square():\n            return 2\n\n\
         def may(s: Shape) -> int | None:\n    match s:\n        case geo.Circle():\n            return 1\n        case Square():\n            return 2\n",
    );
    expect![[r#"
        3 matches, complete: 1 breaks, 2 falls through · checked by ty
        uses.py:20 match breaks confirmed
        uses.py:6 match falls_through confirmed
        uses.py:27 match falls_through confirmed"#]]
    .assert_eq(&matches_of(&judged, "Shape"));
}

#[test]
fn typescript() {
    let Some(judged) = projects::typescript() else { return };
    judged.write_files(
        "--- src/geo.ts\n\
         export interface Circle { kind: 'circle'; r: number }\nexport interface Square { kind: 'square'; side: number }\n\
         export type Shape = Circle | Square;\nexport interface Ellipse { kind: 'ellipse' }\nexport type Round = Circle | Ellipse;\n\
         --- src/uses.ts\nimport { Round, Shape } from './geo';\n\
         export function area(s: Shape): number {\n  switch (s.kind) {\n    case 'circle': return s.r;\n    case 'square': return s.side;\n  }\n}\n\
         export function may(s: Shape): number | undefined {\n  switch (s.kind) {\n    case 'circle': return s.r;\n    case 'square': return s.side;\n  }\n}\n\
         export function round(r: Round): number {\n  switch (r.kind) {\n    case 'circle': return r.r;\n    default: return 0;\n  }\n}\n",
    );
    expect![[r#"
        2 matches, complete: 1 breaks, 1 falls through · checked by tsc
        src/uses.ts:3 switch breaks confirmed
        src/uses.ts:9 switch falls_through confirmed"#]]
    .assert_eq(&matches_of(&judged, "Shape"));
}

#[test]
fn unions_that_members_of_enums_tell_apart() {
    let Some(judged) = projects::typescript() else { return };
    judged.write_files(
        "--- shape.ts\nexport enum Kind { Circle, Square }\nexport const Code = { a: 'x', b: 'y' } as const;\n\
         export interface Circle { kind: Kind.Circle; r: number }\nexport interface Square { kind: Kind.Square }\n\
         export type Shape = Circle | Square;\n\
         export interface Other { kind: Kind.Circle }\n\
         export type Failure = { code: typeof Code.a } | { code: typeof Code.b };\n\
         --- uses.ts\nimport { Code, Failure, Kind, Other, Shape } from './shape';\n\
         export function area(s: Shape): number {\n  switch (s.kind) {\n    case Kind.Circle: return s.r;\n    case Kind.Square: return 1;\n  }\n}\n\
         export function other(o: Other) {\n  switch (o.kind) {\n    case Kind.Circle: return 1;\n  }\n}\n\
         export function code(f: Failure) {\n  switch (f.code) {\n    case Code.a: return 1;\n    default: return 0;\n  }\n}\n",
    );
    expect![[r#"
        1 match, complete: 1 breaks · checked by tsc
        uses.ts:3 switch breaks confirmed"#]]
    .assert_eq(&matches_of(&judged, "Shape"));
    let (answer, text) = judged.until_judged("find_matches", json!({"type_name": "Failure"}));
    assert_eq!(answer["head"]["complete"], false, "{text}");
    expect![[r#"
        1 match: 1 absorbs · checked by tsc · { code: typeof Code.a } is one of Failure, and the texts of its values are unknown: matches by them are not found
        defined: shape.ts:7 type Failure
        absorbs: uses.ts
          14  code  switch  a catch-all branch takes it  switch (f.code) {"#]].assert_eq(&text);
}

#[test]
fn what_no_text_tells_apart_is_never_final() {
    let Some(judged) = projects::typescript() else { return };
    let kinds = "export enum Kind { Circle, Square }\nexport enum Mode { On, Off }\nexport const Code = { a: 1, b: 2 } as const;\n\
                 export type Dot = 'dot';\nexport interface Side { length: number }\nexport interface Tagged<T> { kind: T }\n";
    // Each union, a switch over its values, and whether the answer may be final.
    let cases = [
        (
            "interface A { kind: Kind.Circle } interface B { kind: Kind.Square } TYPE A | B",
            "x.kind",
            "Kind.Circle",
            true,
        ),
        ("TYPE { kind: Kind.Circle; r: number } | { kind: Kind.Square }", "x.kind", "Kind.Circle", true),
        (
            "class A { readonly kind = Kind.Circle } class B { readonly kind = Kind.Square } TYPE A | B",
            "x.kind",
            "Kind.Circle",
            true,
        ),
        (
            "interface A extends Tagged<Kind.Circle> {} interface B extends Tagged<Kind.Square> {} TYPE A | B",
            "x.kind",
            "Kind.Circle",
            false,
        ),
        (
            "interface A { code: typeof Code.a } interface B { code: typeof Code.b } TYPE A | B",
            "x.code",
            "Code.a",
            false,
        ),
        ("TYPE { code: typeof Code.a } | { code: typeof Code.b }", "x.code", "Code.a", false),
        ("TYPE typeof Code.a | typeof Code.b", "x", "Code.a", false),
        ("TYPE Mode.On | Mode.Off", "x", "Mode.On", false),
        ("TYPE (typeof Code)['a'] | (typeof Code)['b']", "x", "Code.a", false),
        ("TYPE 1 | 2", "x", "1", false),
        ("TYPE { version: 1 } | { version: 2 }", "x.version", "1", false),
        ("TYPE { ok: true } | { ok: false }", "x.ok", "true", false),
        ("interface A { kind: Dot } interface B { kind: Kind.Square } TYPE A | B", "x.kind", "'dot'", false),
        (
            "interface A { type: 'a'; kind: Kind.Circle } interface B { type: 'b'; kind: Kind.Square } TYPE A | B",
            "x.kind",
            "Kind.Circle",
            true,
        ),
        (
            "interface A { type: 'a'; side: Side; ok: boolean } interface B { type: 'b'; all: Side[] } TYPE A | B",
            "x.type",
            "'a'",
            true,
        ),
        ("interface A { side: Side } interface B { all: string[] } TYPE A | B", "1", "2", true),
    ];
    judged.write("kinds.ts", kinds);
    for (number, (union, value, case, _)) in cases.iter().enumerate() {
        let own = |text: &str| text.replace('A', &format!("A{number}")).replace('B', &format!("B{number}"));
        let union = own(union).replace("TYPE", &format!("export type Union{number} ="));
        judged.write(
            &format!("case{number}.ts"),
            format!(
                "import {{ Code, Dot, Kind, Mode, Side, Tagged }} from './kinds';\n{}\n\
                 export function f(x: Union{number}) {{ switch ({value}) {{ case {case}: return 1; }} return 0; }}\n",
                union.replace("} interface", "}\ninterface").replace("} export", "}\nexport")
            ),
        );
    }
    for (number, (union, .., may_be_final)) in cases.iter().enumerate() {
        let (answer, text) = judged.until_judged("find_matches", json!({"type_name": format!("Union{number}")}));
        assert_eq!(answer["head"]["complete"], *may_be_final, "{union}: {text}");
    }
}

#[test]
fn go() {
    let Some(mut judged) = projects::go() else { return };
    judged.write_files(
        "--- geo/geo.go\npackage geo\n\ntype Shape int\n\nconst (\n\tCircle Shape = iota\n\tSquare\n)\n\
         --- other/other.go\npackage other\n\ntype Ring int\n\nconst (\n\tCircle Ring = iota\n\tOval\n)\n\
         --- main.go\npackage main\n\nimport (\n\t\"made/geo\"\n\t\"made/other\"\n)\n\n\
         func name(s geo.Shape) string {\n\tswitch s {\n\tcase geo.Circle:\n\t\treturn \"c\"\n\tdefault:\n\t\treturn \"\"\n\t}\n}\n\n\
         func ring(r other.Ring) int {\n\tswitch r {\n\tcase other.Circle:\n\t\treturn 1\n\t}\n\treturn 0\n}\n\n\
         func main() {\n\tprintln(name(geo.Square), ring(other.Oval))\n}\n",
    );
    expect![[r#"
        1 match, complete: 1 absorbs · checked by gopls
        main.go:9 switch absorbs confirmed"#]]
    .assert_eq(&matches_of(&judged, "geo/geo.go:Shape"));
    // The next daemon has no server but knows the confirmed verdicts.
    let off = ServerSettings { command: None, enabled: Some(false) };
    let servers = BTreeMap::from([("gopls".to_owned(), off)]);
    judged.begin_again(CodeSettings { servers, ..CodeSettings::default() });
    let (answer, text) = judged.ask("find_matches", json!({"type_name": "geo/geo.go:Shape"})).unwrap();
    let first = "2 matches: 1 falls through, 1 absorbs; 1 verified earlier and unchanged since; 1 of them unverified · gopls is switched off";
    assert!(text.starts_with(first), "{text}");
    let verdicts: Vec<&str> =
        answer["matches"].as_array().unwrap().iter().map(|one| one["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["undecided", "earlier"], "{text}");
}

#[test]
fn cpp() {
    let Some(judged) = projects::c(&["uses.cpp"]) else { return };
    judged.write_files(
        "--- geo.h\nenum class Shape { Circle, Square };\nenum class Ring { Circle, Oval };\n\
         --- uses.cpp\n#include \"geo.h\"\nusing Alias = Shape;\n\
         int area(Shape s) {\n  switch (s) {\n    case Shape::Circle: return 1;\n    case Alias::Square: return 2;\n  }\n  return 0;\n}\n\
         int ring(Ring r) {\n  switch (r) {\n    case Ring::Circle: return 1;\n    default: return 2;\n  }\n}\n\
         int main() { return area(Shape::Circle) + ring(Ring::Oval); }\n",
    );
    expect![[r#"
        1 match, complete: 1 falls through · checked by clangd
        uses.cpp:4 switch falls_through confirmed"#]]
    .assert_eq(&matches_of(&judged, "Shape"));
}
