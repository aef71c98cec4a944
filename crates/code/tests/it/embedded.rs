//! Embedded fields in Go: each has the name of its type, is declared by it, and is a use of it.

use serde_json::json;

use crate::judged_project::{JudgedProject, sites};
use crate::worktree::Worktree;

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
    let worktree = Worktree::new();
    worktree.write("lib/lib.go", LIB).write("main.go", MAIN);
    let fields = |name: &str| -> Vec<String> {
        let all = worktree.result("show_fields", json!({"type_name": name}));
        let text = |one: &serde_json::Value, field: &str| one[field].as_str().unwrap().to_owned();
        let all = all["fields"].as_array().unwrap().iter();
        all.map(|one| format!("{}: {} {}", text(one, "name"), text(one, "type"), one["line"])).collect()
    };
    assert_eq!(fields("Child"), ["Base: *Base 6", "Box: Box[int] 7", "Extra: int 8"]);
    assert_eq!(fields("Far"), ["Base: *lib.Base 6"]);
    let (result, text) = worktree.ask("show_definition", json!({"name": "Base"})).unwrap();
    assert_eq!(result["definitions"].as_array().unwrap().len(), 1, "{text}");
    let (result, text) = worktree.ask("show_definition", json!({"name": "Far.Base"})).unwrap();
    assert_eq!(
        (&result["definitions"][0]["kind"], &result["definitions"][0]["line"]),
        (&json!("field"), &json!(6)),
        "{text}"
    );
}

#[test]
fn what_names_an_embedded_field_uses_its_type() {
    if !testkit::has_program("gopls") || !testkit::has_program("go") {
        return;
    }
    let judged = JudgedProject::new();
    judged.write("go.mod", "module made\n\ngo 1.19\n").write("lib/lib.go", LIB).write("main.go", MAIN);
    let (answer, text) = judged.until_final("find_uses", json!({"name": "Base", "refuted": true}));
    let confirmed = |place: &str, class: &str| format!("{place} {class} confirmed lib/lib.go:3");
    let expected = [
        ("lib/lib.go:6", "type"),
        ("lib/lib.go:10", "type"),
        ("lib/lib.go:11", "field_read"),
        ("lib/lib.go:12", "field_write"),
        ("lib/lib.go:12", "construct"),
        ("main.go:6", "type"),
        ("main.go:9", "field_write"),
        ("main.go:9", "field_read"),
        ("main.go:10", "field_write"),
        ("main.go:12", "field_read"),
    ];
    assert_eq!(sites(&answer), expected.map(|(place, class)| confirmed(place, class)), "{text}");
    // Only the field.
    let (answer, text) = judged.until_final("find_uses", json!({"name": "Far.Base"}));
    assert_eq!(
        sites(&answer),
        ["main.go:9 field_write confirmed main.go:6", "main.go:10 field_write confirmed main.go:6"],
        "{text}"
    );
}

#[test]
fn an_embedded_type_from_outside_is_named_by_its_field() {
    if !testkit::has_program("gopls") || !testkit::has_program("go") {
        return;
    }
    let judged = JudgedProject::new();
    judged.write("go.mod", "module made\n\ngo 1.19\n").write(
        "main.go",
        "package main\n\nimport \"sync\"\n\ntype Guarded struct {\n\tsync.Mutex\n}\n\n\
         func main() {\n\tvar g Guarded\n\tg.Mutex.Lock()\n}\n",
    );
    let (answer, text) = judged.until_final("find_uses", json!({"name": "Mutex"}));
    let found: Vec<(u64, bool)> = answer["uses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["line"].as_u64().unwrap(), one["definition"].as_str().unwrap().contains("/sync/mutex.go")))
        .collect();
    assert_eq!(found, [(6, true), (11, true)], "{text}");
}
