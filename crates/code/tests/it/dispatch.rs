//! Calls without the definition's own name: trait methods and implementations, operators, calls by other crates.

use serde_json::json;

use crate::judged_project::{JudgedProject, sites};
use crate::projects;

pub(crate) fn traits(judged: &JudgedProject) {
    a_call_through_a_trait_is_a_use_of_both_sides(judged);
    two_traits_of_one_name_are_told_apart(judged);
    a_trait_of_another_crate_may_have_the_name_of_one_of_ours(judged);
}

fn a_call_through_a_trait_is_a_use_of_both_sides(judged: &JudgedProject) {
    judged.write(
        "src/lib.rs",
        "pub trait Go { fn go(&self); }\n\
             pub struct T;\n\
             impl Go for T { fn go(&self) {} }\n\
             pub struct U;\n\
             impl U { pub fn go(&self) {} }\n\
             pub fn dynamic(x: &dyn Go) { x.go() }\n\
             pub fn exact(x: T) { x.go() }\n\
             pub fn other(x: U) { x.go() }\n\
             pub struct P(u8);\n\
             impl std::ops::Add for P { type Output = P; fn add(self, o: P) -> P { P(self.0 + o.0) } }\n\
             pub fn sum(a: P, b: P) -> P { a + b }\n\
             pub fn r#match() {}\n\
             pub fn raw() { r#match(); crate::r#match(); }\n",
    );
    judged.check_callers(&[(
        "T::go",
        &[
            "src/lib.rs:6 call confirmed src/lib.rs:3 interface",
            "src/lib.rs:7 call confirmed src/lib.rs:3",
            "src/lib.rs:8 call refuted -",
        ],
    )]);
    let (answer, text) = judged.until_final("find_callers", json!({"name": "src/lib.rs:1"}));
    assert!(answer["head"]["other"].as_u64().unwrap() <= 2, "{text}");
    let (answer, text) = judged.until_final("find_callers", json!({"name": "src/lib.rs:go"}));
    assert!(sites(&answer).len() >= 3, "{text}");
    // A keyword may be a name.
    let (answer, text) = judged.until_final("find_callers", json!({"name": "r#match"}));
    assert_eq!((&answer["total"], &answer["head"]["verified"]), (&json!(2), &json!(2)), "{text}");
    let (answer, text) = judged.until_final("find_callees", json!({"name": "raw"}));
    assert_eq!((&answer["callees"][0]["name"], &answer["total"]), (&json!("match"), &json!(1)), "{text}");
    // An operator's method is never named.
    let (answer, text) = judged.ask("find_callers", json!({"name": "P::add", "wait_ms": 20_000})).unwrap();
    assert_eq!(answer["head"]["complete"], false, "{text}");
    assert!(text.contains("P::add implements Add, a trait that the project does not define"), "{text}");
}

fn two_traits_of_one_name_are_told_apart(judged: &JudgedProject) {
    judged.write(
        "src/lib.rs",
        "pub mod a { pub trait Go {\nfn go(&self) {} } }\n\
             pub mod b { pub trait Go { fn go(&self) {} } }\n\
             pub struct T; impl a::Go for T {\nfn go(&self) {} }\n\
             pub struct U; impl b::Go for U {\nfn go(&self) {} }\n\
             pub fn via(x: &dyn a::Go) { x.go() }\n\
             pub fn two(x: &dyn b::Go) { x.go() }\n",
    );
    let (answer, text) = judged.until_final("find_uses", json!({"name": "src/lib.rs:2"}));
    assert_eq!(
        sites(&answer),
        ["src/lib.rs:5 binding confirmed src/lib.rs:2 interface", "src/lib.rs:8 call confirmed src/lib.rs:2"],
        "{text}"
    );
    judged.check_callers(&[(
        "src/lib.rs:7",
        &["src/lib.rs:8 call refuted -", "src/lib.rs:9 call confirmed src/lib.rs:7 interface"],
    )]);
}

fn a_trait_of_another_crate_may_have_the_name_of_one_of_ours(judged: &JudgedProject) {
    judged.write(
            "src/lib.rs",
            "pub mod own { pub trait Iterator { fn next(&mut self) -> Option<u8>; } }\n\
             pub struct A; impl std::iter::Iterator for A { type Item = u8;\nfn next(&mut self) -> Option<u8> { None } }\n\
             pub struct B; impl own::Iterator for B {\nfn next(&mut self) -> Option<u8> { None } }\n\
             pub fn theirs(it: &mut dyn std::iter::Iterator<Item = u8>) { it.next(); }\n\
             pub fn ours(it: &mut dyn own::Iterator) { it.next(); }\n",
        );
    let (answer, text) = judged.until_final("find_callers", json!({"name": "src/lib.rs:5"}));
    assert_eq!(sites(&answer), ["src/lib.rs:7 call confirmed src/lib.rs:5 interface"], "{text}");
    let (answer, text) = judged.ask("find_callers", json!({"name": "src/lib.rs:3", "wait_ms": 20_000})).unwrap();
    assert_eq!(answer["head"]["complete"], false, "{text}");
    assert!(text.contains("A::next belongs to a subtype of Iterator, which the project does not define"), "{text}");
}

#[test]
fn python_calls_some_names_itself() {
    let Some(judged) = projects::python() else { return };
    judged.write("geo.py", "class P:\n    def __add__(self, o):\n        return o\n\nP() + P()\n");
    let (answer, text) = judged.ask("find_callers", json!({"name": "__add__", "wait_ms": 20_000})).unwrap();
    assert_eq!(answer["head"]["complete"], false, "{text}");
    assert!(text.contains("Python itself may call P.__add__"), "{text}");
}

#[test]
fn only_what_implements_an_interface_of_go_is_called_through_it() {
    let Some(judged) = projects::go() else { return };
    judged.write(
        "main.go",
        "package main\n\ntype One interface{ Run() int }\ntype Two interface {\n\tRun() int\n\tStop()\n}\n\
         type A struct{}\nfunc (A) Run() int { return 1 }\n\
         type B struct{}\nfunc (B) Run() int { return 2 }\nfunc (B) Stop() {}\n\
         func one(x One) int { return x.Run() }\nfunc two(x Two) int { return x.Run() }\n\
         func main() { one(A{}); two(B{}); A{}.Run() }\n",
    );
    judged.check_callers(&[
        (
            "A.Run",
            &[
                "main.go:13 call confirmed main.go:9 interface",
                "main.go:14 call refuted -",
                "main.go:15 call confirmed main.go:9",
            ],
        ),
        (
            "B.Run",
            &[
                "main.go:13 call confirmed main.go:11 interface",
                "main.go:14 call confirmed main.go:11 interface",
                "main.go:15 call refuted -",
            ],
        ),
    ]);
}
