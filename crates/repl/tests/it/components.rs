//! Components of a package in `cabal repl`: the loaded ones, and a session for each.

use expect_test::expect;
use serde_json::json;

use crate::package::{CABAL, Package, plain};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uses_tells_which_components_are_not_loaded_and_a_session_takes_one() {
    let package = Package::new();
    let p = &package;
    let more = "\nexecutable app\n  hs-source-dirs: app\n  main-is: Main.hs\n  build-depends: base, two\n  default-language: \
                Haskell2010\n\ntest-suite spec\n  type: exitcode-stdio-1.0\n  hs-source-dirs: test\n  main-is: Spec.hs\n  \
                build-depends: base, two\n  default-language: Haskell2010\n";
    p.write("two.cabal", &format!("{CABAL}{more}"));
    for (file, text) in [
        ("app/Main.hs", "module Main where\n\nimport Area\nimport Shape\n\nmain :: IO ()\nmain = print (area unit)\n"),
        (
            "test/Spec.hs",
            "module Main where\n\nimport Area\nimport Shape\n\nmain :: IO ()\nmain = print (area unit == 1)\n",
        ),
    ] {
        std::fs::create_dir_all(p.dir.path().join(file).parent().expect("inside")).expect("made");
        p.write(file, text);
    }
    p.call("repl_start", json!({"wait_ms": 50_000})).await;
    p.at("type_at", ("src/Area.hs", 7, 7), expect![[r#"
        shape :: Shape
        Each load now collects position information (:set +c). For this the modules were reloaded once, and bindings made at the prompt are gone."#]]).await;
    p.check("repl_query", json!({"kind": "uses", "at": "src/Area.hs:7:1"}), expect![[r#"
        src/Area.hs:7:1-4
        src/Area.hs:12:19-22
        Not loaded, and not searched: exe:app, test:spec; repl_start {"session": "app", "component": "exe:app"} loads it.
        GHCi misses uses of types, constructors, fields and names that are not exported; find_uses {"name":"area"} lists them all."#]]).await;
    p.check(
        "repl_query",
        json!({"kind": "type_at", "at": "app/Main.hs:7:15"}),
        expect![[r#"
        refused: app/Main.hs is not loaded in this session.
        It belongs to exe:app: repl_start {"session": "app", "component": "exe:app"} loads it."#]],
    )
    .await;
    for (component, value) in [("exe:app", "1.0\n"), ("test:spec", "True\n"), ("lib:two", "1.0\n")] {
        let session = component.replace(':', "-");
        let start = json!({"session": session, "component": component, "wait_ms": 50_000});
        let (text, _) = p.call("repl_start", start).await;
        assert!(text.contains(": cabal "), "{text}");
        let code = if component == "lib:two" { "Area.area unit" } else { "main" };
        let (text, _) = p.call("repl_eval", json!({"session": session, "code": code})).await;
        assert!(text.starts_with(value), "{component}: {text}");
    }
    let (text, _) = p.call("repl_query", json!({"session": "exe-app", "kind": "uses", "at": "app/Main.hs:7:15"})).await;
    expect![[r#"
        Area (two-0.1.0.0)
        Each load now collects position information (:set +c). For this the modules were reloaded once, and bindings made at the prompt are gone.
        Not loaded, and not searched: lib:two, test:spec; repl_start {"session": "two", "component": "lib:two"} loads it.
        GHCi misses uses of types, constructors, fields and names that are not exported; find_uses {"name":"area"} lists them all."#]].assert_eq(&plain(&text));
    let mut said = String::new();
    for start in [
        json!({"session": "exe-app", "component": "test:spec"}),
        json!({"component": "exe:app"}),
        json!({"session": "other", "component": "--help"}),
        json!({"session": "other", "component": "exe:app", "profile": "ghci"}),
        json!({"session": "other", "component": "exe:app", "command": ["cabal", "repl"]}),
    ] {
        said += p.call("repl_start", start).await.0.lines().next().expect("a line");
        said += "\n";
    }
    expect![[r#"
        refused: Session "exe-app" is already running, with component `exe:app`.
        refused: Session "main" is already running, with the component that its program chose.
        refused: `component` cannot be chosen: "--help" is not a valid component name.
        refused: `component` cannot be chosen: the profile `ghci` has no components.
        refused: `component` cannot be chosen: `command` is given and selects its own component.
    "#]]
    .assert_eq(&said);
    package.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mistyped_component_is_answered_with_those_there_are() {
    let package = Package::new();
    let spec = "\ntest-suite spec\n  type: exitcode-stdio-1.0\n  hs-source-dirs: test\n  main-is: Spec.hs\n  build-depends: \
                base\n  default-language: Haskell2010\n";
    package.write("two.cabal", &format!("{CABAL}{spec}"));
    let start = json!({"session": "spec", "component": "test:spc", "wait_ms": 50_000});
    let (said, _) = package.call("repl_start", start).await;
    let hint = "Unknown component `test:spc`; available: lib:two, test:spec. Did you mean \"test:spec\"?";
    let first = said.lines().next().unwrap_or_default();
    assert!(first.starts_with("refused: cabal repl did not start") && first.contains(hint), "{said}");
    assert_eq!(said.matches("Unknown component").count(), 1, "{said}");
    // The session that did not start has no messages, and reports the reason.
    let (said, _) = package.call("repl_diagnostics", json!({"session": "spec"})).await;
    assert!(said.contains("did not start") && said.contains("Unknown component `test:spc`"), "{said}");
    package.repl.shutdown().await;
}
