//! Edits that preserve a file's size and modification time, as copies do. A server that checks nothing else must not
//! answer from the old text.

use crate::judged_project::JudgedProject;
use crate::projects;

/// Writes a text of the same length, and restores the modification time.
fn edit(judged: &JudgedProject, name: &str, text: &str) {
    let path = judged.path().join(name);
    let before = std::fs::metadata(&path).unwrap();
    assert_eq!(before.len(), text.len() as u64);
    std::fs::write(&path, text).unwrap();
    std::fs::File::options().append(true).open(&path).unwrap().set_modified(before.modified().unwrap()).unwrap();
}

/// Asks for the use of a name before and after another file redirects it.
fn check(judged: &JudgedProject, asked: (&str, &str), api: (&str, &str, &str), place: &str) {
    let (file, before, after) = api;
    judged.write(file, before);
    assert_eq!(judged.final_places(asked.0), [place]);
    edit(judged, file, after);
    assert!(judged.final_places(asked.0).is_empty(), "{place}");
    assert_eq!(judged.final_places(asked.1), [place]);
}

#[test]
fn ty_knows_a_file_that_no_question_has_opened() {
    let Some(judged) = projects::python() else { return };
    judged
        .write("geo.py", "def area(x):\n    return x\n")
        .write("alt.py", "def area(x):\n    return 2\n")
        .write("uses.py", "from api import area\n\nprint(area(1))\n");
    let api = ("api.py", "from geo import *\n", "from alt import *\n");
    check(&judged, ("geo.py:area", "alt.py:area"), api, "uses.py:3");
    // A file opened for one question and not for the next.
    judged.write("more.py", "def other(x):\n    return x\n\nfrom geo import *\n");
    judged.write("late.py", "from more import area, other\n\nother(area(1))\n");
    assert_eq!(judged.final_places("other"), ["late.py:3"]);
    edit(&judged, "more.py", "def other(x):\n    return x\n\nfrom alt import *\n");
    assert!(judged.final_places("geo.py:area").is_empty());
}

pub(crate) fn rust_analyzer_knows_it_too(judged: &JudgedProject) {
    judged
        .write("src/lib.rs", "pub mod alt;\npub mod api;\npub mod geo;\npub mod uses;\n")
        .write("src/geo.rs", "pub fn area() {}\n")
        .write("src/alt.rs", "pub fn area() {}\n")
        .write("src/uses.rs", "use crate::api::area;\n\npub fn run() {\n    area();\n}\n");
    let api = ("src/api.rs", "pub use crate::geo::*;\n", "pub use crate::alt::*;\n");
    check(judged, ("src/geo.rs:area", "src/alt.rs:area"), api, "src/uses.rs:4");
}

#[test]
fn others_know_it_too() {
    if let Some(script) = projects::typescript() {
        script
            .write("geo.ts", "export function area() {}\n")
            .write("alt.ts", "export function area() {}\n")
            .write("uses.ts", "import { area } from './api';\narea();\n");
        let api = ("api.ts", "export * from './geo';\n", "export * from './alt';\n");
        check(&script, ("geo.ts:area", "alt.ts:area"), api, "uses.ts:2");
    }
    if let Some(go) = projects::go() {
        go.write("geo/geo.go", "package geo\n\ntype Geo struct{}\n\nfunc (g Geo) Area() {}\n")
            .write("geo/alt.go", "package geo\n\ntype Alt struct{}\n\nfunc (a Alt) Area() {}\n")
            .write("uses/uses.go", "package uses\n\nimport \"made/geo\"\n\nfunc Run(it geo.Api) { it.Area() }\n");
        let api = ("geo/api.go", "package geo\n\ntype Api = Geo\n", "package geo\n\ntype Api = Alt\n");
        check(&go, ("geo/geo.go:Area", "geo/alt.go:Area"), api, "uses/uses.go:5");
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
    check(&c, ("geo.h:area", "alt.h:area"), api, "uses.c:2");
}
