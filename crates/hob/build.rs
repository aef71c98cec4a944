//! Links `hob` at a fixed address on Linux. A position-independent executable of this size has some 60,000 pointers that
//! the dynamic loader must write at each start, which takes longer than everything that `hob hook` does.
//! `docs/design/latency.md` has the figures.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
