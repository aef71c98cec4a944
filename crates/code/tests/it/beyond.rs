//! Rust code outside the watched tree: a module in a linked folder, and a crate outside the root. The server is told of
//! changes there.

use serde_json::json;

use crate::judged::{JudgedProject, sites};

const MANIFEST: &str = "[package]\nname = \"made\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";

pub(crate) fn a_module_in_a_linked_folder(judged: &JudgedProject) {
    let outside = tempfile::tempdir().unwrap();
    let module = outside.path().join("mod.rs");
    std::fs::write(&module, "pub use crate::geo::*;\n").unwrap();
    judged
        .write("src/lib.rs", "pub mod alt;\npub mod geo;\npub mod linked;\npub mod uses;\n")
        .write("src/geo.rs", "pub fn area() {}\n")
        .write("src/alt.rs", "pub fn area() {}\n")
        .write("src/uses.rs", "use crate::linked::area;\n\npub fn run() {\n    area();\n}\n");
    std::os::unix::fs::symlink(outside.path(), judged.path().join("src/linked")).unwrap();
    let ask = |name: &str| sites(&judged.until_final("find_callers", json!({"name": name})).0);
    assert_eq!(ask("src/geo.rs:area"), ["src/uses.rs:4 call confirmed src/geo.rs:1"]);
    std::fs::write(&module, "pub use crate::alt::*;\n").unwrap();
    assert!(ask("src/geo.rs:area").is_empty());
    assert_eq!(ask("src/alt.rs:area"), ["src/uses.rs:4 call confirmed src/alt.rs:1"]);
}

#[test]
fn a_crate_outside_of_the_root() {
    if !testkit::has_program("rust-analyzer") {
        return;
    }
    let (judged, outside) = (JudgedProject::new(), tempfile::tempdir().unwrap());
    let library = outside.path().join("src/lib.rs");
    std::fs::create_dir(outside.path().join("src")).unwrap();
    std::fs::write(
        outside.path().join("Cargo.toml"),
        "[package]\nname = \"dep\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    )
    .unwrap();
    std::fs::write(&library, "pub struct S;\nimpl S {\n    pub fn area(&self) {}\n}\n").unwrap();
    let dependency =
        format!("[dependencies]\ndep = {{ path = \"{}\" }}\n", outside.path().canonicalize().unwrap().display());
    judged
        .write("Cargo.toml", format!("{MANIFEST}{dependency}"))
        .write("src/lib.rs", "pub mod uses;\n\npub trait Shape {\n    fn area(&self);\n}\n\nimpl Shape for dep::S {\n    fn area(&self) {}\n}\n")
        .write("src/uses.rs", "use crate::Shape;\n\npub fn run() {\n    dep::S.area();\n}\n");
    let ask = || sites(&judged.until_final("find_callers", json!({"name": "Shape::area"})).0);
    assert!(ask().is_empty());
    std::fs::write(&library, "pub struct S;\n").unwrap();
    assert_eq!(ask().len(), 1);
    std::fs::write(&library, "pub struct S;\nimpl S {\n    pub fn area(&self) {}\n}\n").unwrap();
    assert!(ask().is_empty());
}
