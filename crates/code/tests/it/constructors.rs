//! Constructors as targets of questions: they are called by the name of their class, or implicitly. Operators likewise.

use serde_json::json;

use crate::judged_project::{JudgedProject, sites};
use crate::projects;

/// Returns the callers of a name with any verdict.
fn callers(judged: &JudgedProject, name: &str) -> Vec<String> {
    let (answer, _) = judged.until_judged("find_callers", json!({"name": name, "refuted": true}));
    sites(&answer)
}

#[test]
fn of_cpp() {
    let Some(judged) = projects::c(&["geo.cpp"]) else { return };
    judged.write(
        "geo.cpp",
        "struct Point {\n  int x;\n  Point(int at) : x(at) {}\n  Point operator+(const Point& o) const;\n};\n\
         Point Point::operator+(const Point& o) const {\n  return Point(x + o.x);\n}\n\
         int made() {\n  Point one(1);\n  Point two = one + one;\n  return two.x;\n}\n",
    );
    let made = ["geo.cpp:7 construct confirmed geo.cpp:3", "geo.cpp:10 construct confirmed geo.cpp:3"];
    // `std::make_shared<Point>(1)` would be a different call.
    judged.check_open(&[("Point::Point", &made)]);
    let (answer, text) = judged.until_final("find_uses", json!({"name": "Point", "classes": ["construct", "type"]}));
    assert_eq!(sites(&answer).iter().filter(|site| site.contains("construct")).count(), 2, "{text}");
    assert_eq!(callers(&judged, "operator+"), ["geo.cpp:11 call confirmed geo.cpp:6"]);
    judged.write(
        "geo.cpp",
        "struct Call {\n  int operator()(int x) { return x; }\n};\nint f(Call m) {\n  return m(1);\n}\n\
         struct Boat { void go() {} };\nstruct Car { void go() {} };\n\
         template <class T> void start(T& t) {\n  t.go();\n}\nvoid g(Car c) {\n  start(c);\n}\n",
    );
    assert_eq!(callers(&judged, "Call::operator()"), ["geo.cpp:5 call confirmed geo.cpp:2"]);
    // clangd returns everything of that name.
    assert_eq!(callers(&judged, "Boat::go"), ["geo.cpp:10 call undecided -"]);
    assert_eq!(callers(&judged, "Car::go"), ["geo.cpp:10 call undecided -"]);
}

#[test]
fn of_typescript() {
    let Some(judged) = projects::typescript() else { return };
    judged.write("geo.ts", "class Shape {\n  constructor(x: number) {}\n}\nnew Shape(1);\nnew Array(1);\n");
    assert_eq!(callers(&judged, "Shape.constructor"), ["geo.ts:4 construct confirmed geo.ts:2"]);
}
