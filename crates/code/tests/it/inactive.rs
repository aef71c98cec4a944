//! Code excluded by an `#if` in C and C++ stays undecided, because clangd only guesses there.

use serde_json::json;

use crate::judged_project::{JudgedProject, sites};
use crate::projects;

fn project() -> Option<JudgedProject> {
    let judged = projects::c(&["geo.cpp"])?;
    judged.write(
        "geo.cpp",
        "struct Real {\n  int step() { return 1; }\n};\n\
             #ifdef __unix__\nint use(Real& r) { return r.step(); }\n\
             #else\nint use(Real& r) { return r.step(); }\n#endif\n\
             #ifdef WINDOWS\nstruct Foreign;\nint w(Foreign& f) { return f.step(); }\n#endif\n",
    );
    Some(judged)
}

#[test]
fn nothing_is_confirmed_in_code_that_is_not_compiled() {
    let Some(judged) = project() else { return };
    let find = || judged.ask("find_callers", json!({"name": "Real::step", "wait_ms": 20_000})).unwrap();
    testkit::until("clangd is ready", || (find().0["head"]["servers"][0]["state"] == "ready").then_some(()));
    let (answer, text) = find();
    assert_eq!(
        sites(&answer),
        ["geo.cpp:5 call confirmed geo.cpp:2", "geo.cpp:7 call undecided -", "geo.cpp:11 call undecided -"],
        "{text}"
    );
    assert_eq!(
        (&answer["head"]["complete"], &answer["head"]["reasons"][0]["code"]),
        (&json!(false), &json!("inactive_code"))
    );
    let (answer, text) = judged.ask("find_callees", json!({"name": "w", "wait_ms": 20_000})).unwrap();
    assert_eq!(answer["head"]["complete"], false, "{text}");
    assert_eq!(answer["callees"][0]["verdict"], "undecided", "{text}");
}
