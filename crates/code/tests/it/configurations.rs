//! Code that only some configurations compile: several definitions of one name, disabled features, other platforms,
//! macro bodies, and `#if`. The server knows one configuration, and a final answer about another must not rely on it.

use serde_json::json;

use crate::judged_project::{JudgedProject, sites};
use crate::missing_servers::program;
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
    let inner = "#[cfg(unix)]\npub mod inner { pub enum Inner { Static }\n\
                 impl Inner { pub fn made() -> Inner { Self::Static } } }\n";
    judged.write("src/a.rs", inner).write("src/b.rs", inner).write("src/lib.rs", "pub mod a;\npub mod b;\n");
    assert_eq!(judged.final_uses("src/a.rs:Inner::Static"), ["src/a.rs:3 construct confirmed src/a.rs:2"]);
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
    assert_eq!(judged.callers(&["a.c:3"]), "a.c:3 open\n  a.c:7 call undecided -\n");
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

/// A module behind a feature uses a method.
fn featured(judged: &JudgedProject) {
    judged.write_files(
        "--- src/lib.rs\n\
         pub struct A;\nimpl A { pub fn area(&self) {} }\n#[cfg(feature = \"extra\")]\nmod more;\npub fn always(a: A) { a.area() }\n\
         --- src/more.rs\nuse crate::A;\nfn more(a: &A) { a.area() }\n",
    );
}

/// One server for all texts.
pub(crate) fn what_is_silent_is_judged_by_its_words(judged: &JudgedProject) {
    featured(judged);
    let (answer, text) = judged.until_final("find_callers", json!({"name": "area"}));
    assert_eq!(sites(&answer).len(), 2, "{text}");
    assert!(sites(&answer).iter().all(|site| site.contains("confirmed")), "{text}");
    the_grammar_and_the_type_before_a_path_exclude(judged);
    a_macro_that_is_given_self_or_handed_on_may_mean_anything(judged);
}

#[test]
fn where_something_is_missing_the_usual_features_are() {
    let Some(mut judged) = projects::rust() else { return };
    featured(&judged);
    // A cargo that behaves as if a crate had never been fetched.
    let programs = tempfile::tempdir().unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!("#!/bin/sh\n[ \"$1\" = tree ] && exit 101\nPATH='{path}' exec cargo \"$@\"\n");
    program(&programs.path().join("cargo"), &script, 0o755);
    judged.search_path = Some(format!("{}:{path}", programs.path().display()));
    let (answer, text) = judged.until_judged("find_callers", json!({"name": "area"}));
    assert_eq!(answer["head"]["complete"], false, "{text}");
    assert!(text.contains("in code that this build leaves out"), "{text}");
}

/// Two types with methods and fields of the same names, used where the server is silent.
const TYPES_WITH_EQUAL_MEMBERS: &str = "pub struct Circle { size: u8 }\n\
     impl Circle { pub fn made() -> Circle { Circle { size: 1 } } }\n\
     pub struct Line { size: u8 }\n\
     impl Line { pub fn made() -> Line { Line { size: 1 } } }\n\
     pub fn used() { Circle::made(); }\n\
     #[cfg(nowhere)]\n\
     mod nowhere {\n\
     impl crate::Line { fn again() { Self::made(); let size = 1; Some(size); } }\n\
     fn a() { crate::Line::made(); String::made(); Vec::<u8>::made(); }\n\
     }\n\
     macro_rules! lines { ($t:ident) => { { let size = 1; Line { size }; Line::made() } } }\n\
     pub fn b() { lines!(Line); }\n";

fn the_grammar_and_the_type_before_a_path_exclude(judged: &JudgedProject) {
    for (tool, name, more, unverified) in [
        // `Self` is not followed.
        ("find_callers", "Circle::made", "", 1),
        ("find_callers", "Circle::made", "#[cfg(nowhere)] type Line = Circle;\n", 3),
        ("find_callers", "Circle::made", "macro_rules! alias { ($a:ident) => { type $a = Circle; } }\n", 5),
        ("find_callers", "Circle::made", "macro_rules! any { ($t:ident) => { $t::made() } }\n", 2),
        ("find_uses", "Circle.size", "", 1),
    ] {
        judged.write("src/lib.rs", format!("{TYPES_WITH_EQUAL_MEMBERS}{more}"));
        let (answer, text) = judged.until_judged(tool, json!({"name": name}));
        let head = &answer["head"];
        assert_eq!((&head["verified"], &head["unverified"]), (&json!(1), &json!(unverified)), "{more} {text}");
    }
}

fn a_macro_that_is_given_self_or_handed_on_may_mean_anything(judged: &JudgedProject) {
    judged.write_files(
        "--- src/lib.rs\nmacro_rules! build { ($t:ident) => { $t::make() }; }\n\
         pub struct Arg; impl Arg { pub fn make() -> Arg { Arg } pub fn check() -> Arg { build!(Self) } }\n\
         macro_rules! pick { ($x:expr) => { if $x > MAX { Large } else { Small } } }\n\
         const MAX: u8 = 1; pub enum Size { Small, Large } pub use Size::*;\n\
         pub fn a() -> Size { pick!(2) }\n\
         mod imp { pub fn spawn() {} }\n\
         pub mod rt { #[cfg(feature = \"extra\")] pub use crate::imp::spawn; #[cfg(not(feature = \"extra\"))] pub fn spawn() {} }\n\
         macro_rules! start { () => { $crate::rt::spawn() } }\n\
         pub fn b() { start!() }\n\
         #[cfg(nowhere)] fn c() { matches!(made::Small, made::Small); }\n",
    );
    for name in ["Arg::make", "Size::Large", "Size::Small", "imp::spawn"] {
        judged.stays_open("find_uses", name);
    }
}

/// clangd only guesses in code that an `#if` excludes.
#[test]
fn nothing_is_confirmed_in_code_that_is_not_compiled() {
    let Some(judged) = projects::c(&["geo.cpp"]) else { return };
    judged.write_files(
        "--- geo.cpp\nstruct Real {\n  int step() { return 1; }\n};\n\
         #ifdef __unix__\nint use(Real& r) { return r.step(); }\n\
         #else\nint use(Real& r) { return r.step(); }\n#endif\n\
         #ifdef WINDOWS\nstruct Foreign;\nint w(Foreign& f) { return f.step(); }\n#endif\n",
    );
    let find = || judged.ask("find_callers", json!({"name": "Real::step", "wait_ms": 20_000})).unwrap();
    testkit::until("clangd is ready", || (find().0["head"]["servers"][0]["state"] == "ready").then_some(()));
    let (answer, text) = find();
    let expected = ["geo.cpp:5 call confirmed geo.cpp:2", "geo.cpp:7 call undecided -", "geo.cpp:11 call undecided -"];
    assert_eq!(sites(&answer), expected, "{text}");
    let head = &answer["head"];
    assert_eq!((&head["complete"], &head["reasons"][0]["code"]), (&json!(false), &json!("inactive_code")));
    let (answer, text) = judged.stays_open("find_callees", "w");
    assert_eq!(answer["callees"][0]["verdict"], "undecided", "{text}");
}
