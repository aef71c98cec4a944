//! Real language servers as judges, one each. Where one is not installed the test says so and is skipped; CI has them all.

use expect_test::expect;
use serde_json::json;

use crate::judged::{Judged, sites};

fn rust_crate() -> Judged {
    let judged = Judged::new();
    judged
        .write("Cargo.toml", "[package]\nname = \"made\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n")
        .write(
            "src/lib.rs",
            "pub mod geo;\npub mod other;\npub mod uses;\npub use geo::area as surface;\n",
        )
        .write(
            "src/geo.rs",
            "pub fn area(side: f64) -> f64 {\n    side * side\n}\n\npub fn perimeter(side: f64) -> f64 {\n    4.0 * side\n}\n",
        )
        .write("src/other.rs", "pub fn area() -> u8 {\n    1\n}\n")
        .write(
            "src/uses.rs",
            "use crate::geo::{area, perimeter};\n\
             use crate::other;\n\
             pub fn run() -> f64 {\n    \
                 let all: Vec<f64> = [1.0].into_iter().map(area).collect();\n    \
                 assert_eq!(area(2.0), 4.0);\n    \
                 let _ = other::area();\n    \
                 all[0] + area(3.0) + perimeter(1.0) + crate::surface(4.0)\n\
             }\n\
             pub fn shadow(area: fn() -> u8) -> u8 {\n    \
                 area()\n\
             }\n",
        );
    judged
}

#[test]
fn rust_analyzer_confirms_and_refutes() {
    if !testkit::has_program("rust-analyzer") {
        return;
    }
    let judged = rust_crate();
    let (answer, text) = judged.until_final("find_callers", json!({"name": "src/geo.rs:area"}));
    expect![[r#"
        src/uses.rs:4 value confirmed src/geo.rs:1
        src/uses.rs:5 call confirmed src/geo.rs:1
        src/uses.rs:7 call confirmed src/geo.rs:1
        src/uses.rs:7 call confirmed src/geo.rs:1

        3 call, 1 value, 2 refuted, 0 undecided · rust-analyzer ready · besides 1 import, 1 export, 2 binding
        defined: src/geo.rs:1 function area
        src/uses.rs
          4  run  value  let all: Vec<f64> = [1.0].into_iter().map(area).collect();
          5  run  call  assert_eq!(area(2.0), 4.0);
          7  run  call ×2  all[0] + area(3.0) + perimeter(1.0) + crate::surface(4.0)"#]].assert_eq(&format!("{}\n\n{text}", sites(&answer).join("\n")));
    assert_eq!(answer["warning"], json!(null));
}
