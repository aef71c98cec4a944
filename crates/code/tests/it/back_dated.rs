//! Edits that preserve a file's size and modification time, as copies do. A server that checks nothing else must not
//! answer from the old text.

use serde_json::json;

use crate::judged_project::{JudgedProject, sites};
use crate::projects;

/// Writes a text of the same length, and restores the modification time.
fn edit(judged: &JudgedProject, name: &str, text: &str) {
    let path = judged.path().join(name);
    let before = std::fs::metadata(&path).unwrap();
    assert_eq!(before.len(), text.len() as u64);
    std::fs::write(&path, text).unwrap();
    std::fs::File::options().append(true).open(&path).unwrap().set_modified(before.modified().unwrap()).unwrap();
}

#[test]
fn ty_knows_a_file_that_no_question_has_opened() {
    if !testkit::has_program("ty") {
        return;
    }
    let judged = JudgedProject::new();
    judged
        .write("pyproject.toml", "[project]\nname = \"made\"\nversion = \"1\"\n")
        .write("geo.py", "def area(x):\n    return x\n")
        .write("alt.py", "def area(x):\n    return 2\n")
        .write("api.py", "from geo import *\n")
        .write("uses.py", "from api import area\n\nprint(area(1))\n");
    let ask = |name: &str| sites(&judged.until_final("find_callers", json!({"name": name})).0);
    assert_eq!(ask("geo.py:area"), ["uses.py:3 call confirmed geo.py:1"]);
    edit(&judged, "api.py", "from alt import *\n");
    assert!(ask("geo.py:area").is_empty());
    assert_eq!(ask("alt.py:area"), ["uses.py:3 call confirmed alt.py:1"]);
    // A file opened for one question and not for the next.
    judged.write("more.py", "def other(x):\n    return x\n\nfrom geo import *\n");
    judged.write("late.py", "from more import area, other\n\nother(area(1))\n");
    assert_eq!(ask("other"), ["late.py:3 call confirmed more.py:1"]);
    edit(&judged, "more.py", "def other(x):\n    return x\n\nfrom alt import *\n");
    assert!(ask("geo.py:area").is_empty());
}

/// Asks for the uses of a name before and after another file redirects it.
fn check(program: &str, judged: &JudgedProject, asked: (&str, &str), api: (&str, &str, &str), uses: &str) {
    if !testkit::has_program(program) {
        return;
    }
    let places = |name: &str| {
        let (answer, _) = judged.until_final("find_callers", json!({"name": name}));
        let sites = answer["call_sites"].as_array().unwrap().iter();
        sites.map(|site| site["file"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (file, before, after) = api;
    judged.write(file, before);
    assert_eq!(places(asked.0), [uses], "{program}");
    edit(judged, file, after);
    assert!(places(asked.0).is_empty(), "{program}");
    assert_eq!(places(asked.1), [uses], "{program}");
}

pub(crate) fn rust_analyzer_knows_it_too(judged: &JudgedProject) {
    judged
        .write("src/lib.rs", "pub mod alt;\npub mod api;\npub mod geo;\npub mod uses;\n")
        .write("src/geo.rs", "pub fn area() {}\n")
        .write("src/alt.rs", "pub fn area() {}\n")
        .write("src/uses.rs", "use crate::api::area;\n\npub fn run() {\n    area();\n}\n");
    let api = ("src/api.rs", "pub use crate::geo::*;\n", "pub use crate::alt::*;\n");
    check("rust-analyzer", judged, ("src/geo.rs:area", "src/alt.rs:area"), api, "src/uses.rs");
}

#[test]
fn others_know_it_too() {
    let script = JudgedProject::new();
    script
        .write("tsconfig.json", "{}\n")
        .write("geo.ts", "export function area() {}\n")
        .write("alt.ts", "export function area() {}\n")
        .write("uses.ts", "import { area } from './api';\narea();\n");
    let api = ("api.ts", "export * from './geo';\n", "export * from './alt';\n");
    check("tsc", &script, ("geo.ts:area", "alt.ts:area"), api, "uses.ts");
    if let Some(go) = projects::go() {
        go.write("geo/geo.go", "package geo\n\ntype Geo struct{}\n\nfunc (g Geo) Area() {}\n")
            .write("geo/alt.go", "package geo\n\ntype Alt struct{}\n\nfunc (a Alt) Area() {}\n")
            .write("uses/uses.go", "package uses\n\nimport \"made/geo\"\n\nfunc Run(it geo.Api) { it.Area() }\n");
        let api = ("geo/api.go", "package geo\n\ntype Api = Geo\n", "package geo\n\ntype Api = Alt\n");
        check("gopls", &go, ("geo/geo.go:Area", "geo/alt.go:Area"), api, "uses/uses.go");
        // And back again, now that it is open.
        edit(&go, api.0, api.1);
        assert_eq!(go.final_places("geo/geo.go:Area"), ["uses/uses.go:5"]);
        assert!(go.final_places("geo/alt.go:Area").is_empty());
    }
    let Some(c) = projects::c(&["uses.c"]) else { return };
    c.write("geo.h", "static inline int area(void) { return 1; }\n")
        .write("alt.h", "static inline int area(void) { return 2; }\n")
        .write("uses.c", "#include \"api.h\"\nint run(void) { return area(); }\n");
    let api = ("api.h", "#include \"geo.h\"\n", "#include \"alt.h\"\n");
    check("clangd", &c, ("geo.h:area", "alt.h:area"), api, "uses.c");
}
