//! Notes on code that a Haskell session has not loaded: files without a load, changed or broken ones, other components.

use std::time::SystemTime;

use serde_json::json;

use crate::fixture::Fixture;
use crate::package::{CABAL, Package};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_were_not_loaded_or_have_changed_since_are_named() {
    let fixture = Fixture::new();
    let file = fixture.dirs[0].path().join("Shape.hs");
    let write = |text: &str| {
        // The clock of files is coarse: the write must not seem to be before the last load.
        let begun = SystemTime::now();
        std::fs::write(&file, text).expect("written");
        while std::fs::metadata(&file).and_then(|data| data.modified()).expect("a time") < begun {
            std::fs::write(&file, text).expect("written");
        }
    };
    let text = async |tool: &str, arguments| fixture.call(tool, arguments).await.0;
    let eval = async |code: &str| text("repl_eval", json!({"code": code})).await;
    write("module Shape where\n\narea :: Int\narea = 1\n");
    fixture.call("repl_start", json!({"profile": "ghci"})).await;
    let missed = eval("area").await;
    assert!(
        missed.ends_with("\nNothing is loaded: repl_reload {\"targets\":[\"Shape.hs\"]} loads Shape.hs."),
        "{missed}"
    );
    fixture.call("repl_reload", json!({"targets": ["Shape.hs"]})).await;
    assert!(!eval("area").await.contains("changed"));

    write("module Shape where\n\narea :: Int\narea = 2\n\nside :: Int\nside = 3\n");
    let note = "\nShape.hs has changed since it was loaded: repl_reload loads it.";
    let first = eval("area").await;
    assert!(first.starts_with("1\n") && first.ends_with(note), "{first}");
    assert!(!eval("area").await.contains("changed"), "told once for each change");
    let missed = eval("side").await;
    assert!(missed.ends_with(note), "{missed}");
    for _ in 0..2 {
        let listed = text("repl_diagnostics", json!({})).await;
        assert!(listed.contains("no errors") && listed.contains(note), "{listed}");
    }
    fixture.call("repl_reload", json!({})).await;
    let both = eval("area + side").await;
    assert!(both.starts_with("5\n") && !both.contains("changed"), "{both}");

    write("module Shape where\n\narea :: Int\narea = \n");
    fixture.call("repl_reload", json!({})).await;
    let missed = eval("side").await;
    assert!(missed.contains("\nThe last load failed: Shape.hs:"), "{missed}");
    assert!(!text("repl_diagnostics", json!({})).await.contains("changed"));
    // Code that never compiled is checked too.
    write("module Shape where\n\narea :: Int\narea = 2\n");
    let listed = text("repl_diagnostics", json!({})).await;
    assert!(listed.contains("1 error") && listed.contains(note), "{listed}");
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_starts_on_broken_code_says_where_it_is_broken() {
    let package = Package::new();
    package.write("src/Area.hs", "module Area where\nimport Shape\narea = undefinedName\n");
    let failed = "The last load failed: src/Area.hs:3:8: error: Variable not in scope: undefinedName. Correct it and call \
                  repl_reload; repl_diagnostics lists all messages.";
    // The first evaluation, each that misses a name, and questions.
    for (tool, arguments) in [
        ("repl_eval", json!({"code": "1 + 1", "wait_ms": 50_000})),
        ("repl_eval", json!({"code": "area"})),
        ("repl_eval", json!({"code": "import Area"})),
        ("repl_query", json!({"kind": "type_at", "at": "src/Area.hs:3:1"})),
        ("repl_query", json!({"kind": "type", "target": "area"})),
    ] {
        let (text, _) = package.call(tool, arguments).await;
        assert!(text.matches(failed).count() == 1 && !text.contains("repl_start"), "{text}");
    }
    let (text, _) = package.call("repl_eval", json!({"code": "2 + 2"})).await;
    assert!(text.starts_with("4\n") && !text.contains("load failed"), "{text}");
    package.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_component_needs_a_session_and_a_changed_description_a_restart() {
    let package = Package::new();
    let p = &package;
    let app = "\nexecutable app\n  hs-source-dirs: app\n  main-is: Main.hs\n  build-depends: base\n  default-language: \
               Haskell2010\n";
    p.write("two.cabal", &format!("{CABAL}{app}"));
    std::fs::create_dir(p.dir.path().join("app")).expect("made");
    p.write("app/Main.hs", "module Main where\n\nmain :: IO ()\nmain = putStrLn \"runs\"\n");
    p.call("repl_start", json!({"wait_ms": 50_000})).await;
    let eval = async |code: &str| p.call("repl_eval", json!({"code": code})).await.0;
    let missed = eval("main").await;
    let note = "main is in exe:app, which is not loaded: repl_start {\"session\": \"app\", \"component\": \"exe:app\"} loads it.";
    assert!(missed.contains(note), "{missed}");
    assert!(!eval("nowhereAtAll").await.contains("exe:app"));

    let more = CABAL.replace("Shape, Area", "Shape, Area, Volume");
    p.write("two.cabal", &format!("{more}{app}"));
    p.write("src/Volume.hs", "module Volume where\n\nvolume :: Int\nvolume = 3\n");
    let note = "two.cabal has changed since the session started, and a reload does not apply it: call repl_restart \
                {\"replay\":\"definitions\"}.";
    for (tool, arguments) in
        [("repl_reload", json!({})), ("repl_eval", json!({"code": "volume"})), ("repl_diagnostics", json!({}))]
    {
        let (text, _) = p.call(tool, arguments).await;
        assert!(text.contains(note), "{text}");
    }
    p.call("repl_restart", json!({"replay": "definitions", "wait_ms": 50_000})).await;
    let value = eval("import Volume\nvolume").await;
    assert!(value.starts_with("3\n"), "{value}");
    assert!(!p.call("repl_reload", json!({})).await.0.contains("has changed"));
    package.repl.shutdown().await;
}
