//! Implicit uses in C++: constructors of variables, members and values, and names in the text of a macro.

use serde_json::{Value, json};

use crate::projects;

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
    judged
        .write(
            "geo.hpp",
            "struct Pt {\n  int x;\n  Pt(int a) : x(a) {}\n};\n\
             inline int total(int x) { return x; }\n\
             #define TWICE(x) (2 * total(x))\n",
        )
        .write(
            "uses.cpp",
            "#include \"geo.hpp\"\nPt p(1);\nPt q{2};\nPt r = 3;\nint take(Pt) { return 1; }\nint main() {\n  take(4);\n  return TWICE(3);\n}\n",
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
