//! The code tools without a package: a program that never starts, another language, GHCi with nothing loaded.

use expect_test::expect;
use serde_json::{Value, json};

use crate::package::Package;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_never_starts_is_no_answer() {
    let package = Package::new();
    let (p, dead) = (&package, "three");
    p.write("cabal.project", "packages: ./nowhere.cabal\n");
    for (tool, arguments) in [
        ("repl_query", json!({"session": dead, "kind": "holes", "wait_ms": 55_000})),
        ("repl_query", json!({"session": dead, "kind": "type", "target": "map", "wait_ms": 55_000})),
        ("repl_reload", json!({"session": dead, "targets": ["Area"], "wait_ms": 55_000})),
    ] {
        // Each tool starts the program again.
        let (text, _) = p.call(tool, arguments).await;
        assert!(text.starts_with("refused: cabal repl") && text.contains("nowhere.cabal"), "{text}");
    }
    let silent = json!({"session": "four", "profile": "ghci", "command": ["sleep", "60"], "wait_ms": 0});
    p.call("repl_start", silent).await;
    let holes = json!({"session": "four", "kind": "holes", "wait_ms": 0});
    p.check(
        "repl_query",
        holes,
        expect![[r#"
        refused: Session "four" is still starting.
        Ask again, with a longer `wait_ms`; repl_list shows when it is ready."#]],
    )
    .await;
    p.check(
        "repl_interrupt",
        json!({"session": "four"}),
        expect![[r#"
            [four: nothing runs]
            The session is still starting; repl_stop {"session": "four"} ends it."#]],
    )
    .await;
    package.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_ghci_is_asked() {
    let package = Package::new();
    package.call("repl_start", json!({"session": "sh", "profile": "bash"})).await;
    package
        .check(
            "repl_query",
            json!({"session": "sh", "kind": "type", "target": "map"}),
            expect![[r#"
        refused: Session "sh" is bash, not GHCi.
        This tool works only in Haskell sessions; use repl_eval, or name another `session`."#]],
        )
        .await;
    package
        .check(
            "repl_reload",
            json!({"session": "sh"}),
            expect![[r#"
        refused: Session "sh" is bash, not GHCi.
        This tool works only in Haskell sessions; use repl_eval, or name another `session`."#]],
        )
        .await;
    package.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ghci_without_a_package() {
    let package = Package::new();
    let p = &package;
    p.call("repl_start", json!({"session": "plain", "profile": "ghci"})).await;
    let plain = |arguments: Value| {
        let mut arguments = arguments;
        arguments["session"] = json!("plain");
        arguments
    };
    p.check("repl_diagnostics", plain(json!({})), expect!["[plain: nothing has been loaded yet; repl_reload loads]"])
        .await;
    p.check(
        "repl_reload",
        plain(json!({})),
        expect![[r#"
            Ok, no modules loaded.
            [plain #1: done; no errors, no warnings; load 1]
            Nothing is loaded: name modules or files in `targets`."#]],
    )
    .await;
    p.write("src/Hole.hs", "module Hole where\n\nm :: [Int] -> Int\nm xs = _foo xs\n");
    p.check(
        "repl_reload",
        plain(json!({"targets": ["src/Shape.hs"]})),
        expect![[r#"
            Ok, one module loaded.
            [plain #2: done; no errors, no warnings; load 2]"#]],
    )
    .await;
    p.call("repl_reload", plain(json!({"targets": ["src/Hole.hs"]}))).await;
    let (text, holes) = p.call("repl_query", plain(json!({"kind": "holes"}))).await;
    assert!(text.starts_with("_foo :: [Int] -> Int  -- src/Hole.hs:4:8\n  has xs :: [Int]\n"), "{text}");
    assert_eq!(holes["holes"][0]["line"], 4);
    p.check(
        "repl_query",
        plain(json!({"kind": "type_at", "position": {"file": "Nope", "line": 1, "column": 1}})),
        expect![[r#"
            refused: Nope is not loaded in this session.
            Nothing is loaded; repl_reload with `targets` loads files."#]],
    )
    .await;
    let (text, _) = p.call("repl_read", plain(json!({"eval": 9999}))).await;
    assert!(text.contains("Unknown evaluation 9999"), "{text}");
    package.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_did_not_choose_is_told_once_what_it_got() {
    let package = Package::new();
    let eval = json!({"session": "one", "code": "1+1", "wait_ms": 50_000});
    let (first, _) = package.call("repl_eval", eval.clone()).await;
    assert!(first.starts_with("2\n") && first.contains("The session is new, with profile `cabal`"), "{first}");
    let (second, _) = package.call("repl_eval", eval).await;
    assert!(second.starts_with("2\n") && !second.contains("is new"), "{second}");
    package.write("src/Area.hs", "module Area where\narea = 1 +\n");
    let (missed, _) =
        package.call("repl_eval", json!({"session": "two", "code": "Prelude.length \"ab\"", "wait_ms": 50_000})).await;
    let said = "The session is new, with profile `cabal`; to use another profile, give `profile` with another \
                `session`.\nThe last load failed: src/Area.hs:";
    let next = "Correct it and call repl_reload {\"session\": \"two\"}; repl_diagnostics {\"session\": \"two\"} lists all messages.";
    assert!(missed.contains(said) && missed.ends_with(next), "{missed}");
    package.repl.shutdown().await;
}
