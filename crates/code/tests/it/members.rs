//! Members of types: fields and constructors as targets of questions, members that patterns take or declare, implicit
//! constructors in C++, inline object types, and embedded fields in Go.

use expect_test::expect;
use serde_json::{Value, json};

use crate::judged_project::sites;
use crate::projects;
use crate::worktree::Worktree;

#[test]
fn a_field_of_cpp_by_its_name_alone() {
    let Some(judged) = projects::c(&["geo.cpp"]) else { return };
    judged.write(
        "geo.cpp",
        "struct Acc {\n  int total = 0;\n  void set(int v) {\n    total = v;\n    total += 1;\n    ++total;\n  }\n\
         int get() {\n    int other = total == 1;\n    return total;\n  }\n};\nint f(int total) {\n  return total;\n}\n",
    );
    let wanted = ["4 field_write", "5 field_write", "6 field_write", "9 field_read", "10 field_read"];
    assert_eq!(judged.final_uses("Acc.total"), wanted.map(|site| format!("geo.cpp:{site} confirmed geo.cpp:2")));
}

#[test]
fn what_a_pattern_of_python_names_is_not_what_it_binds() {
    let Some(judged) = projects::python() else { return };
    judged.write(
        "geo.py",
        "class Point:\n    x: int = 0\n\ndef f(p):\n    match p:\n        case Point(x=x):\n            return x\n        case Point(x=1):\n            return 1\n",
    );
    let (answer, text) = judged.until_judged("find_uses", json!({"name": "Point.x", "classes": ["pattern"]}));
    assert_eq!(answer["head"]["other"], 0, "{text}");
    let (answer, text) = judged.until_judged("find_uses", json!({"name": "Point.x", "path": "pyproject.toml"}));
    assert!(text.contains(" in pyproject.toml"), "{text} {answer}");
}

#[test]
fn a_pattern_takes_members() {
    let Some(judged) = projects::typescript() else { return };
    judged.write_files(
        "--- geo.ts\nexport class Shape {\n  width = 1;\n  draw() {}\n  size() {}\n}\nexport function width() {}\n\
         --- uses.ts\nimport { Shape } from './geo';\n\
         const { draw, width } = new Shape();\n\
         draw();\n\
         function sized({ size }: Shape) {\n  size();\n}\n\
         const { size } = Shape.prototype;\n",
    );
    expect![[r#"
        Shape.draw final
          uses.ts:2 value confirmed geo.ts:3
          uses.ts:3 call confirmed geo.ts:3
        Shape.size final
          uses.ts:4 value confirmed geo.ts:4
          uses.ts:5 call confirmed geo.ts:4
          uses.ts:7 value confirmed geo.ts:4
    "#]]
    .assert_eq(&judged.callers(&["Shape.draw", "Shape.size"]));
    assert_eq!(judged.final_uses("Shape.width"), ["uses.ts:2 field_read confirmed geo.ts:2"]);
}

#[test]
fn an_assignment_takes_members() {
    let Some(judged) = projects::typescript() else { return };
    judged.write_files(
        "--- geo.ts\nexport interface Size { width: number; height?: number }\n\
         --- more.ts\n\
         import { Size } from './geo';\nexport const sum = ({ width, height = 1 }: Size) => width + height;\n\
         --- uses.ts\n\
         import { Size } from './geo';\nexport function area(size: Size | number) {\n  let width = 1, height;\n  \
         if (typeof size === 'object') {\n    ({ width, height = 1 } = size);\n  }\n  return width * height;\n}\n",
    );
    for name in ["Size.width", "Size.height"] {
        let line = |place: &str| format!("{place} field_read confirmed geo.ts:1");
        assert_eq!(judged.final_uses(name), [line("more.ts:2"), line("uses.ts:5")]);
    }
}

#[test]
fn names_declared_by_patterns_of_python() {
    let Some(judged) = projects::python() else { return };
    judged.write_files(
        "--- geo.py\n\
         WIDTH, (HEIGHT, *REST) = 1, (2, 3)\nwith open(\"x\") as FILE:\n    pass\nif (SIZE := 3):\n    pass\nfor EACH in []:\n    pass\n\
         class Shape:\n    low, high = 1, 2\n\ndef parse(x): return x\n\nclass Reader:\n    parse = staticmethod(parse)\n\
         --- uses.py\nfrom geo import HEIGHT, SIZE, EACH, Shape\nprint(HEIGHT, SIZE, EACH, Shape.high)\n",
    );
    judged.check_uses(&[
        ("HEIGHT", &["uses.py:1 import confirmed geo.py:1", "uses.py:2 value confirmed geo.py:1"]),
        ("SIZE", &["uses.py:1 import confirmed geo.py:4", "uses.py:2 value confirmed geo.py:4"]),
        ("EACH", &["uses.py:1 import confirmed geo.py:6", "uses.py:2 value confirmed geo.py:6"]),
        ("Shape.high", &["uses.py:2 field_read confirmed geo.py:9"]),
        ("geo.py:parse", &["geo.py:14 value confirmed geo.py:14"]),
    ]);
}

#[test]
fn names_declared_by_patterns_of_typescript() {
    let Some(judged) = projects::typescript() else { return };
    judged.write_files(
        "--- geo.ts\n\
         const slice = { actions: { reset() {}, more() {} } };\nexport const { reset, more: again } = slice.actions;\n\
         export const [first, second] = [() => 1, () => 2];\nexport class Point { constructor(readonly id: number) {} }\n\
         --- uses.ts\n\
         import { again, first, Point, reset } from './geo';\nreset();\nagain();\nfirst();\nnew Point(1).id;\n",
    );
    judged.check_uses(&[
        (
            "geo.ts:reset",
            &[
                "geo.ts:2 value confirmed geo.ts:1",
                "uses.ts:1 import confirmed geo.ts:2",
                "uses.ts:2 call confirmed geo.ts:2",
            ],
        ),
        ("again", &["uses.ts:1 import confirmed geo.ts:2", "uses.ts:3 call confirmed geo.ts:2"]),
        ("first", &["uses.ts:1 import confirmed geo.ts:3", "uses.ts:4 call confirmed geo.ts:3"]),
        ("Point.id", &["uses.ts:5 field_read confirmed geo.ts:4"]),
    ]);
}

#[test]
fn constructors_of_cpp() {
    let Some(judged) = projects::c(&["geo.cpp"]) else { return };
    judged.write(
        "geo.cpp",
        "struct Point {\n  int x;\n  Point(int at) : x(at) {}\n  Point operator+(const Point& o) const;\n};\n\
         Point Point::operator+(const Point& o) const {\n  return Point(x + o.x);\n}\n\
         int made() {\n  Point one(1);\n  Point two = one + one;\n  return two.x;\n}\n",
    );
    // `std::make_shared<Point>(1)` would be a different call.
    expect![[r#"
        Point::Point open
          geo.cpp:7 construct confirmed geo.cpp:3
          geo.cpp:10 construct confirmed geo.cpp:3
    "#]]
    .assert_eq(&judged.callers(&["Point::Point"]));
    let callers = |name: &str| sites(&judged.until_judged("find_callers", json!({"name": name, "refuted": true})).0);
    assert_eq!(callers("operator+"), ["geo.cpp:11 call confirmed geo.cpp:6"]);
    let (answer, text) = judged.until_final("find_uses", json!({"name": "Point", "classes": ["construct", "type"]}));
    assert_eq!(sites(&answer).iter().filter(|site| site.contains("construct")).count(), 2, "{text}");
    judged.write_files(
        "--- geo.cpp\nstruct Call {\n  int operator()(int x) { return x; }\n};\nint f(Call m) {\n  return m(1);\n}\n\
         struct Boat { void go() {} };\nstruct Car { void go() {} };\n\
         template <class T> void start(T& t) {\n  t.go();\n}\nvoid g(Car c) {\n  start(c);\n}\n",
    );
    assert_eq!(callers("Call::operator()"), ["geo.cpp:5 call confirmed geo.cpp:2"]);
    // clangd returns everything of that name.
    assert_eq!(callers("Boat::go"), ["geo.cpp:10 call undecided -"]);
    assert_eq!(callers("Car::go"), ["geo.cpp:10 call undecided -"]);
}

#[test]
fn constructors_of_typescript() {
    let Some(judged) = projects::typescript() else { return };
    judged.write("geo.ts", "class Shape {\n  constructor(x: number) {}\n}\nnew Shape(1);\nnew Array(1);\n");
    let (answer, text) = judged.until_judged("find_callers", json!({"name": "Shape.constructor", "refuted": true}));
    assert_eq!(sites(&answer), ["geo.ts:4 construct confirmed geo.ts:2"], "{text}");
}

/// Returns each use with its class and `via`.
fn uses(answer: &Value) -> Vec<String> {
    let all = answer["uses"].as_array().or(answer["call_sites"].as_array()).unwrap().iter();
    let word = |one: &Value, name: &str| one[name].as_str().unwrap_or("-").to_owned();
    all.map(|one| {
        let (class, via, verdict) = (word(one, "class"), word(one, "via"), word(one, "verdict"));
        format!("{}:{} {} {class} {via} {verdict}", word(one, "file"), one["line"], word(one, "alias"))
    })
    .collect()
}

#[test]
fn constructors_that_nothing_names_and_macros_are_uses() {
    let Some(judged) = projects::c(&["uses.cpp"]) else { return };
    judged.write_files(
        "--- geo.hpp\nstruct Pt {\n  int x;\n  Pt(int a) : x(a) {}\n};\n\
         inline int total(int x) { return x; }\n\
         #define TWICE(x) (2 * total(x))\n\
         --- uses.cpp\n\
         #include \"geo.hpp\"\nPt p(1);\nPt q{2};\nPt r = 3;\nint take(Pt) { return 1; }\nint main() {\n  take(4);\n  return TWICE(3);\n}\n",
    );
    let (answer, text) = judged.until_final("find_uses", json!({"name": "Pt", "classes": ["construct"]}));
    assert_eq!(
        uses(&answer),
        [
            "uses.cpp:2 p construct implicit confirmed",
            "uses.cpp:3 q construct implicit confirmed",
            "uses.cpp:4 3 construct implicit confirmed",
            "uses.cpp:7 4 construct implicit confirmed"
        ],
        "{text}"
    );
    let (answer, text) = judged.until_final("find_callers", json!({"name": "total"}));
    assert_eq!(uses(&answer), ["geo.hpp:6 - call direct confirmed", "uses.cpp:8 TWICE call macro confirmed"], "{text}");
}

#[test]
fn members_of_a_type_within_another() {
    let Some(judged) = projects::typescript() else { return };
    judged.write_files(
        "--- config.ts\ninterface Config {\n  server: { host: string; port: number };\n  host: string;\n}\n\
         class Failed { constructor(readonly status: number) {}\n  json(): { status: number; text: string } { throw this; }\n}\n\
         function shown(config: Config, failed: Failed) {\n  config.host;\n  config.server.host;\n  failed.status;\n\
         \x20 failed.json().status;\n}\n\
         const made: Config = { server: { host: 'a', port: 1 }, host: 'b' };\n",
    );
    expect![[r#"
        Config.host final
          config.ts:2 binding refuted -
          config.ts:9 field_read confirmed config.ts:3
          config.ts:10 field_read refuted -
          config.ts:14 field_write refuted -
          config.ts:14 field_write confirmed config.ts:3
        Config.server.host final
          config.ts:3 binding refuted -
          config.ts:9 field_read refuted -
          config.ts:10 field_read confirmed config.ts:2
          config.ts:14 field_write confirmed config.ts:2
          config.ts:14 field_write refuted -
        Failed.status final
          config.ts:6 binding refuted -
          config.ts:11 field_read confirmed config.ts:5
          config.ts:12 field_read refuted -
    "#]]
    .assert_eq(&judged.uses(&["Config.host", "Config.server.host", "Failed.status"]));
    // Members that only a class itself has.
    judged.write_files(
        "--- users.ts\ninterface Options { limit?: number; log?: number }\n\
         class Users { constructor(private readonly log: number) {} go() { return this.log; } }\n\
         function one(options: Options) { return options.log; }\n",
    );
    let Some(script) = projects::javascript() else { return };
    script.write(
        "client.js",
        "class Client {\n  #count = 0;\n  #load() { this.#count++; }\n  get count() { return this.#count; }\n\
         \x20 load() { this.#load(); }\n}\nnew Client().count;\n",
    );
    expect![[r#"
        Users.log final
          users.ts:1 binding refuted -
          users.ts:2 field_read confirmed users.ts:2
          users.ts:3 field_read refuted -
        Client.#count final
          client.js:3 field_write confirmed client.js:2
          client.js:4 field_read confirmed client.js:2
        #load final
          client.js:5 call confirmed client.js:3
        Client.count final
          client.js:7 value confirmed client.js:4
    "#]]
    .assert_eq(&(judged.uses(&["Users.log"]) + &script.uses(&["Client.#count", "#load", "Client.count"])));
    // Types that a class may be given for.
    judged.write_files(
        "--- parser.ts\ninterface Tool { parse(text: string): string; label: string }\n\
         class Json {\n  skip(c: string) { if (c === '{') { this.label = ': {'; } }\n  parse(text: string) { return text; }\n\
         \x20 label = 'json';\n}\nfunction run(tool: Tool) { return tool.parse('x'); }\nrun(new Json());\n\
         class Repo { constructor(private opts: { table: string }) {}\n  table() { return this.opts.table; }\n}\n",
    );
    expect![[r#"
        Json.parse open
          parser.ts:7 call undecided -
        Repo.table final
          parser.ts:9 binding refuted -
          parser.ts:10 value refuted -
    "#]]
    .assert_eq(&(judged.callers(&["Json.parse"]) + &judged.uses(&["Repo.table"])));
}

const LIB: &str = "package lib\n\n\
                   type Base struct{ N int }\n\
                   type Box[T any] struct{ V T }\n\
                   type Child struct {\n\t*Base `json:\"base\"`\n\tBox[int]\n\tExtra int\n}\n\
                   type Other struct{ Base }\n\
                   func (c *Child) Own() int { return c.Base.N + c.N }\n\
                   func Make() Child { return Child{Base: &Base{1}} }\n";

const MAIN: &str = "package main\n\nimport \"made/lib\"\n\n\
                    type Far struct {\n\t*lib.Base\n}\n\
                    func main() {\n\tfar := Far{Base: lib.Make().Base}\n\tfar.Base = nil\n\tother := lib.Other{}\n\t_ = other.Base\n}\n";

#[test]
fn an_embedded_field_is_one_of_its_type() {
    let worktree = Worktree::from_files(&[("lib/lib.go", LIB), ("main.go", MAIN)]);
    let fields = |name: &str| -> Vec<String> {
        let all = worktree.result("show_fields", json!({"type_name": name}));
        let text = |one: &Value, field: &str| one[field].as_str().unwrap().to_owned();
        let all = all["fields"].as_array().unwrap().iter();
        all.map(|one| format!("{}: {} {}", text(one, "name"), text(one, "type"), one["line"])).collect()
    };
    assert_eq!(fields("Child"), ["Base: *Base 6", "Box: Box[int] 7", "Extra: int 8"]);
    assert_eq!(fields("Far"), ["Base: *lib.Base 6"]);
    let (result, text) = worktree.ask("show_definition", json!({"name": "Base"})).unwrap();
    assert_eq!(result["definitions"].as_array().unwrap().len(), 1, "{text}");
    let result = worktree.result("show_definition", json!({"name": "Far.Base"}));
    let definition = &result["definitions"][0];
    assert_eq!((&definition["kind"], &definition["line"]), (&json!("field"), &json!(6)), "{result:#}");
}

#[test]
fn what_names_an_embedded_field_uses_its_type() {
    let Some(judged) = projects::go() else { return };
    judged.write("lib/lib.go", LIB).write("main.go", MAIN);
    expect![[r#"
        Base final
          lib/lib.go:6 type confirmed lib/lib.go:3
          lib/lib.go:10 type confirmed lib/lib.go:3
          lib/lib.go:11 field_read confirmed lib/lib.go:3
          lib/lib.go:12 field_write confirmed lib/lib.go:3
          lib/lib.go:12 construct confirmed lib/lib.go:3
          main.go:6 type confirmed lib/lib.go:3
          main.go:9 field_write confirmed lib/lib.go:3
          main.go:9 field_read confirmed lib/lib.go:3
          main.go:10 field_write confirmed lib/lib.go:3
          main.go:12 field_read confirmed lib/lib.go:3
    "#]]
    .assert_eq(&judged.uses(&["Base"]));
    // Only the field.
    assert_eq!(
        judged.final_uses("Far.Base"),
        ["main.go:9 field_write confirmed main.go:6", "main.go:10 field_write confirmed main.go:6"]
    );
}

#[test]
fn an_embedded_type_from_outside_is_named_by_its_field() {
    let Some(judged) = projects::go() else { return };
    judged.write_files(
        "--- main.go\npackage main\n\nimport \"sync\"\n\ntype Guarded struct {\n\tsync.Mutex\n}\n\n\
         func main() {\n\tvar g Guarded\n\tg.Mutex.Lock()\n}\n",
    );
    let (answer, text) = judged.until_final("find_uses", json!({"name": "Mutex"}));
    let found = sites(&answer);
    assert!(found.iter().all(|site| site.contains("/sync/mutex.go")), "{text}");
    assert!(found[0].starts_with("main.go:6 ") && found[1].starts_with("main.go:11 ") && found.len() == 2, "{text}");
}
