//! Several definitions of one name, each compiled in a different configuration. The server knows one of them, and a
//! final answer about another must not rely on it.

use serde_json::json;

use crate::judged_project::{JudgedProject, sites};
use crate::projects;

pub(crate) fn rust(judged: &JudgedProject) {
    what_a_condition_leaves_out_is_not_judged(judged);
    what_one_condition_decides_about_stays_together(judged);
}

fn what_a_condition_leaves_out_is_not_judged(judged: &JudgedProject) {
    judged.write("src/unix.rs", "pub fn open_file() {}\n").write("src/windows.rs", "pub fn open_file() {}\n").write(
        "src/lib.rs",
        "#[cfg(unix)] mod unix;\n#[cfg(windows)] mod windows;\n\
             #[cfg(unix)] use unix as imp;\n#[cfg(windows)] use windows as imp;\n\
             pub fn open_it() { imp::open_file(); }\n\
             pub mod one { pub fn run() {} }\npub mod two { pub fn run() {} }\n\
             #[cfg(unix)] use one::run;\n#[cfg(not(unix))] use two::run;\n\
             pub fn run_it() { run(); }\n\
             #[cfg(unix)]\nfn sep() {}\n#[cfg(windows)]\nfn sep() {}\n\
             pub fn joined() { sep(); }\n\
             pub struct A;\nimpl A {\n#[cfg(unix)]\nfn go(&self) {}\n#[cfg(windows)]\nfn go(&self) {}\n}\n\
             pub fn goes(a: A) { a.go(); }\n",
    );
    for name in ["windows::open_file", "src/lib.rs:14", "src/lib.rs:21"] {
        let (answer, text) = judged.until_judged("find_callers", json!({"name": name}));
        assert_eq!((&answer["head"]["complete"], &answer["head"]["unverified"]), (&json!(false), &json!(1)), "{text}");
        assert!(text.contains("is not compiled in this configuration"), "{text}");
    }
    let (answer, text) = judged.until_final("find_callers", json!({"name": "unix::open_file"}));
    assert_eq!(answer["total"], 1, "{text}");
}

fn what_one_condition_decides_about_stays_together(judged: &JudgedProject) {
    judged
        .write(
            "src/a.rs",
            "#[cfg(unix)]\npub mod inner { pub enum Inner { Static }\n\
             impl Inner { pub fn made() -> Inner { Self::Static } } }\n",
        )
        .write(
            "src/b.rs",
            "#[cfg(unix)]\npub mod inner { pub enum Inner { Static }\n\
             impl Inner { pub fn made() -> Inner { Self::Static } } }\n",
        )
        .write("src/lib.rs", "pub mod a;\npub mod b;\n");
    let (answer, text) = judged.until_final("find_uses", json!({"name": "src/a.rs:Inner::Static"}));
    assert_eq!(sites(&answer), ["src/a.rs:3 construct confirmed src/a.rs:2"], "{text}");
}

#[test]
fn c() {
    let Some(judged) = projects::c(&["a.c", "posix.c"]) else { return };
    judged
        .write("a.h", "int open_it(void);\n")
        .write("posix.c", "#include \"a.h\"\nint open_it(void) { return 1; }\nstatic int own(void) { return 1; }\nint p(void) { return own(); }\n")
        .write("win.c", "#include \"a.h\"\nint open_it(void) { return 2; }\nstatic int own(void) { return 2; }\n")
        .write(
            "a.c",
            "#include \"a.h\"\n#ifdef _WIN32\nstatic int sep(void) { return 1; }\n#else\nstatic int sep(void) { return 2; }\n#endif\n\
             int main(void) { return open_it() + sep(); }\n",
        );
    for name in ["posix.c:open_it", "win.c:open_it", "a.c:5"] {
        let (answer, text) = judged.until_final("find_callers", json!({"name": name}));
        assert_eq!(sites(&answer).len(), 1, "{name} {text}");
        assert!(sites(&answer)[0].starts_with("a.c:7"), "{name} {text}");
    }
    // Code that one build leaves out may be called in another build.
    judged.check_open(&[("a.c:3", &["a.c:7 call undecided -"])]);
    // A static function belongs to its file.
    let (answer, text) = judged.until_final("find_callers", json!({"name": "win.c:own"}));
    assert_eq!((&answer["total"], &answer["head"]["other"]), (&json!(0), &json!(1)), "{text}");
}

#[test]
fn two_programs_in_c_have_functions_of_one_name() {
    let Some(judged) = projects::c(&["one.c", "two.c", "more.c"]) else { return };
    let program =
        |text: &str| format!("int usage(int of) {{ return of; }}\nint run_{text}(void) {{ return usage(1); }}\n");
    judged
        .write("one.c", program("one"))
        .write("two.c", program("two"))
        .write("more.c", "int usage(int of);\nint more(void) { return usage(2); }\n");
    // Each file calls its own definition; the third one is unknown.
    let (answer, text) = judged.ask("find_callers", json!({"name": "one.c:usage", "wait_ms": 20_000})).unwrap();
    let said = sites(&answer);
    assert!(said.contains(&"one.c:2 call confirmed one.c:1".to_owned()), "{text}");
    assert!(!said.iter().any(|site| site.starts_with("two.c") && site.contains("confirmed")), "{text}");
}

#[test]
fn how_c_is_compiled_may_change() {
    let Some(judged) = projects::c(&[]) else { return };
    let folder = judged.path().canonicalize().unwrap();
    let compile = |flag: &str| {
        let unit = json!({"directory": folder, "file": "uses.c", "arguments": ["cc", flag, "-c", "uses.c"]});
        judged.write("compile_commands.json", json!([unit]).to_string());
    };
    compile("-Ione");
    judged
        .write("geo.h", "static inline int area(void) { return 1; }\n")
        .write("alt.h", "static inline int area(void) { return 2; }\n")
        .write("one/api.h", "#include \"../geo.h\"\n")
        .write("two/api.h", "#include \"../alt.h\"\n")
        .write("uses.c", "#include <api.h>\nint run(void) { return area(); }\n");
    assert_eq!(judged.final_places("geo.h:area"), ["uses.c:2"]);
    compile("-Itwo");
    assert!(judged.final_places("geo.h:area").is_empty());
    assert_eq!(judged.final_places("alt.h:area"), ["uses.c:2"]);
}
