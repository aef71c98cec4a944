//! Names in texts that mean code all the same, by real language servers: each is judged, or the answer is not final. Where a
//! server is not installed the test says so and is skipped; CI has them all.

use serde_json::json;

use crate::judged::{Judged, sites};
use crate::projects;

/// The sites, once the judge is ready; the answer is not final for their sake.
fn not_final(judged: &Judged, name: &str) -> Vec<String> {
    let (answer, text) = judged.until_judged("find_callers", json!({"name": name}));
    assert_eq!(answer["head"]["complete"], false, "{text}");
    for reason in answer["head"]["reasons"].as_array().unwrap() {
        let code = reason["code"].as_str().unwrap();
        assert!(["dynamic", "macro", "inactive_code"].contains(&code), "{text}");
    }
    sites(&answer)
}

pub(crate) fn rust(judged: &Judged) {
    an_attribute_in_rust(judged);
    a_module_that_serde_is_told_in_an_attribute(judged);
    a_constant_that_a_format_string_captures(judged);
}

fn an_attribute_in_rust(judged: &Judged) {
    judged
        .write(
            "src/lib.rs",
            "pub mod geo;\n\n#[serde(default = \"crate::geo::area\", rename = \"area\")]\npub struct Shape;\n",
        )
        .write("src/geo.rs", "pub fn area() -> u8 {\n    1\n}\n\npub fn run() -> u8 {\n    area()\n}\n");
    let sites = not_final(judged, "area");
    assert_eq!(sites, ["src/geo.rs:6 call confirmed src/geo.rs:1", "src/lib.rs:3 value undecided -"]);
}

#[test]
fn a_name_that_python_looks_up() {
    let Some(judged) = projects::python() else { return };
    judged
        .write("geo.py", "def area(x):\n    return x\n\ndef run():\n    return area(1)\n")
        .write("uses.py", "import geo\n\ndef shown(of): print(getattr(of, \"area\")(1), \"area\")\n");
    let sites = not_final(&judged, "geo.py:area");
    assert_eq!(sites, ["geo.py:5 call confirmed geo.py:1", "uses.py:3 value undecided -"]);
}

fn a_module_that_serde_is_told_in_an_attribute(judged: &Judged) {
    judged
        .write(
            "src/lib.rs",
            "pub mod hexed;\n\n#[serde(with = \"crate::hexed\", rename = \"hexed\")]\npub struct Shape;\n",
        )
        .write(
            "src/hexed.rs",
            "pub fn serialize() -> u8 {\n    1\n}\n\npub fn deserialize() -> u8 {\n    serialize()\n}\n",
        );
    let named = "src/lib.rs:3 value undecided -";
    assert_eq!(not_final(judged, "serialize"), ["src/hexed.rs:6 call confirmed src/hexed.rs:1", named]);
    assert_eq!(not_final(judged, "hexed::deserialize"), [named]);
}

fn a_constant_that_a_format_string_captures(judged: &Judged) {
    judged.write(
        "src/lib.rs",
        "pub const WIDTH: i32 = 3;\npub fn show() { println!(\"{WIDTH} {WIDTH:?} {{WIDTH}}\"); }\n",
    );
    let (answer, text) = judged.until_judged("find_uses", json!({"name": "WIDTH"}));
    assert_eq!(answer["total"], 2, "{text}");
}

#[test]
fn a_text_of_a_list_that_python_looks_up() {
    let Some(judged) = projects::python() else { return };
    judged.write(
        "geo.py",
        "__all__ = [\"area\"]\n\ndef area(x):\n    return x\n\nfor name in (\"area\", \"an area\"):\n    getattr(x, name)(1)\n",
    );
    assert_eq!(not_final(&judged, "area"), ["geo.py:6 value undecided -"]);
}

#[test]
fn a_text_of_a_list_that_is_a_key_in_typescript() {
    let Some(judged) = projects::typescript() else { return };
    judged.write("geo.ts", "export class Shape {\n  start() {}\n}\n").write(
        "uses.ts",
        "import { Shape } from './geo';\nconst s = new Shape();\nfor (const n of ['start'] as const) s[n]();\n",
    );
    assert_eq!(not_final(&judged, "Shape.start"), ["uses.ts:3 value undecided -"]);
}

#[test]
fn what_pytest_and_the_packages_of_go_call() {
    if !testkit::has_program("ty") || !testkit::has_program("gopls") || !testkit::has_program("go") {
        return;
    }
    let judged = Judged::new();
    judged
        .write("pyproject.toml", "[project]\nname = \"made\"\nversion = \"1\"\n")
        .write("conftest.py", "import pytest\n\n@pytest.fixture(scope=\"module\")\ndef shape():\n    return 1\n\ndef pytest_configure():\n    pass\n")
        .write("test_a.py", "def test_a(shape):\n    assert shape\n")
        .write("go.mod", "module made\n\ngo 1.19\n")
        .write("geo.go", "package made\n\ntype Shape int\n\nfunc (Shape) String() string { return \"\" }\n");
    for (name, said) in [
        ("conftest.py:shape", "`pytest.fixture` stands at shape"),
        ("pytest_configure", "pytest calls the hook pytest_configure"),
        ("Shape.String", "Go's own packages, by an interface, may call Shape.String"),
    ] {
        not_final(&judged, name);
        let (_, text) = judged.ask("find_callers", json!({"name": name})).unwrap();
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn a_link_of_names_in_go() {
    let Some(judged) = projects::go() else { return };
    judged
        .write("geo/geo.go", "package geo\n\nfunc area() int { return 1 }\n\nfunc Run() int { return area() }\n")
        .write("geo/empty.s", "")
        .write(
            "uses/uses.go",
            "package uses\n\nimport _ \"unsafe\"\n\n//go:linkname far made/geo.area\nfunc far() int\n",
        )
        .write("uses/empty.s", "");
    let sites = not_final(&judged, "area");
    assert_eq!(sites, ["geo/geo.go:5 call confirmed geo/geo.go:3", "uses/uses.go:5 value undecided -"]);
}

#[test]
fn the_key_of_an_access_in_typescript() {
    let Some(judged) = projects::typescript() else { return };
    judged.write("geo.ts", "export function area(x: number) {\n  return x;\n}\n").write(
        "uses.ts",
        "import * as geo from './geo';\ngeo.area(1);\ngeo['area'](1);\nconst other = { area: 1 };\nother['area'];\n",
    );
    let (answer, _) = judged.until_final("find_callers", json!({"name": "area"}));
    assert_eq!(sites(&answer), ["uses.ts:2 call confirmed geo.ts:1", "uses.ts:3 call confirmed geo.ts:1"]);
}

#[test]
fn what_tests_of_python_replace() {
    let Some(judged) = projects::python() else { return };
    judged
        .write("geo.py", "def area(x):\n    return x\n\nclass Box:\n    def get(self): pass\n\nclass Own(Box):\n    def get(self): pass\n")
        .write("use.py", "from geo import area\n\ndef run():\n    return area(1)\n")
        .write(
            "test_use.py",
            "from unittest.mock import patch\nimport geo\nimport use\n\n\
             @patch(\"geo.area\")\n@patch(\"use.area\")\ndef test_a(m, n):\n    use.run()\n\n\
             def test_b(monkeypatch):\n    monkeypatch.setattr(use, \"area\", 1)\n    patch.object(geo.Own, \"get\")\n\
             \x20   patch(\"geo.Box.get\")\n",
        );
    let said = ["area", "Box.get", "Own.get"].map(|name| judged.told("find_uses", name));
    expect_test::expect![[r#"
        area final
          test_use.py:5 value confirmed geo.py:1
          test_use.py:6 value confirmed geo.py:1
          test_use.py:11 field_write confirmed geo.py:1
          use.py:1 import confirmed geo.py:1
          use.py:4 call confirmed geo.py:1
        Box.get final
          geo.py:8 binding refuted -
          test_use.py:12 value refuted -
          test_use.py:13 value confirmed geo.py:5
        Own.get final
          geo.py:5 binding confirmed geo.py:8 interface
          test_use.py:12 value confirmed geo.py:8
          test_use.py:13 value refuted -
    "#]]
    .assert_eq(&said.concat());
}
