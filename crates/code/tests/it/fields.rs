//! Uses of fields without their object.

use serde_json::json;

use crate::judged_project::sites;
use crate::projects;

#[test]
fn a_field_of_cpp_by_its_name_alone() {
    let Some(judged) = projects::c(&["geo.cpp"]) else { return };
    judged.write(
        "geo.cpp",
        "struct Acc {\n  int total = 0;\n  void set(int v) {\n    total = v;\n    total += 1;\n    ++total;\n  }\n\
         int get() {\n    int other = total == 1;\n    return total;\n  }\n};\nint f(int total) {\n  return total;\n}\n",
    );
    let (answer, text) = judged.until_final("find_uses", json!({"name": "Acc.total"}));
    let wanted = ["4 field_write", "5 field_write", "6 field_write", "9 field_read", "10 field_read"];
    let wanted = wanted.map(|use_| format!("geo.cpp:{use_} confirmed geo.cpp:2"));
    assert_eq!(sites(&answer), wanted, "{text}");
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
