//! Code about which rust-analyzer is silent: disabled features, other platforms, macro bodies. All features are enabled
//! where their dependencies are available. For the rest, grammar and qualifiers exclude what they can.

use serde_json::json;

use crate::judged_project::{JudgedProject, sites};
use crate::projects;

/// A module behind a feature uses a method.
fn featured(judged: &JudgedProject) {
    judged
        .write(
            "src/lib.rs",
            "pub struct A;\nimpl A { pub fn area(&self) {} }\n#[cfg(feature = \"extra\")]\nmod more;\npub fn always(a: A) { a.area() }\n",
        )
        .write("src/more.rs", "use crate::A;\nfn more(a: &A) { a.area() }\n");
}

/// One server for all texts.
pub(crate) fn what_is_silent_is_judged_by_its_words(judged: &JudgedProject) {
    featured(judged);
    what_only_a_feature_compiles_is_judged(judged);
    what_another_type_owns_is_none_of_it(judged);
    a_type_with_another_name_may_be_it(judged);
    a_macro_that_is_given_self_or_handed_on_may_mean_anything(judged);
}

fn what_only_a_feature_compiles_is_judged(judged: &JudgedProject) {
    let (answer, text) = judged.until_final("find_callers", json!({"name": "area"}));
    assert_eq!(sites(&answer).len(), 2, "{text}");
    assert!(sites(&answer).iter().all(|site| site.contains("confirmed")), "{text}");
}

#[test]
fn where_something_is_missing_the_usual_features_are() {
    use std::os::unix::fs::PermissionsExt;

    let Some(mut judged) = projects::rust() else { return };
    featured(&judged);
    // A cargo that behaves as if a crate had never been fetched.
    let programs = tempfile::tempdir().unwrap();
    let path = std::env::var("PATH").unwrap();
    let cargo = programs.path().join("cargo");
    let script = format!("#!/bin/sh\n[ \"$1\" = tree ] && exit 101\nPATH='{path}' exec cargo \"$@\"\n");
    std::fs::write(&cargo, script).unwrap();
    std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
    judged.search_path = Some(format!("{}:{path}", programs.path().display()));
    let (answer, text) = judged.until_judged("find_callers", json!({"name": "area"}));
    assert_eq!(answer["head"]["complete"], false, "{text}");
    assert!(text.contains("in code that this build leaves out"), "{text}");
}

/// Two types with methods and fields of the same names, used where the server is silent.
fn text(more: &str) -> String {
    format!(
        "pub struct Circle {{ size: u8 }}\n\
             impl Circle {{ pub fn made() -> Circle {{ Circle {{ size: 1 }} }} }}\n\
             pub struct Line {{ size: u8 }}\n\
             impl Line {{ pub fn made() -> Line {{ Line {{ size: 1 }} }} }}\n\
             pub fn used() {{ Circle::made(); }}\n\
             #[cfg(nowhere)]\n\
             mod nowhere {{\n\
             impl crate::Line {{ fn again() {{ Self::made(); let size = 1; Some(size); }} }}\n\
             fn a() {{ crate::Line::made(); String::made(); Vec::<u8>::made(); }}\n\
             }}\n\
             macro_rules! lines {{ ($t:ident) => {{ {{ let size = 1; Line {{ size }}; Line::made() }} }} }}\n\
             pub fn b() {{ lines!(Line); }}\n\
             {more}"
    )
}

fn what_another_type_owns_is_none_of_it(judged: &JudgedProject) {
    judged.write("src/lib.rs", text(""));
    let (answer, text) = judged.until_final("find_callers", json!({"name": "Circle::made"}));
    assert_eq!(sites(&answer), ["src/lib.rs:5 call confirmed src/lib.rs:2"], "{text}");
    let (answer, text) = judged.until_final("find_uses", json!({"name": "Circle.size"}));
    assert_eq!(answer["total"], 1, "{text}");
    // The receiver's own type is not stated.
    let (answer, text) = judged.ask("find_callers", json!({"name": "Line::made", "wait_ms": 20_000})).unwrap();
    assert_eq!(answer["head"]["complete"], false, "{text}");
    assert_eq!(answer["head"]["unverified"], 3, "{text}");
}

fn a_type_with_another_name_may_be_it(judged: &JudgedProject) {
    let mores = [
        "#[cfg(nowhere)] type Line = Circle;\n",
        "macro_rules! alias { ($a:ident) => { type $a = Circle; } }\n",
        "macro_rules! any { ($t:ident) => { $t::made() } }\n",
    ];
    for more in mores {
        judged.write("src/lib.rs", text(more));
        let (answer, text) = judged.until_judged("find_callers", json!({"name": "Circle::made"}));
        assert_eq!(answer["head"]["complete"], false, "{more} {text}");
    }
}

fn a_macro_that_is_given_self_or_handed_on_may_mean_anything(judged: &JudgedProject) {
    judged.write(
        "src/lib.rs",
        "macro_rules! build { ($t:ident) => { $t::make() }; }\n\
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
        let (answer, text) = judged.ask("find_uses", json!({"name": name, "wait_ms": 20_000})).unwrap();
        assert_eq!(answer["head"]["complete"], false, "{text}");
    }
}
