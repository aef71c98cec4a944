//! Links `hob` at a fixed address on Linux. In a position-independent executable the dynamic loader writes every pointer of
//! the static data at each start, and each process keeps a private copy of those pages. `docs/design/latency.md` has the
//! figures.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
