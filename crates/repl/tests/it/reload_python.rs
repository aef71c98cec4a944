//! `repl_reload` in Python: changed modules and those that import them.

use expect_test::expect;
use serde_json::json;

use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_modules_and_their_dependents_are_reloaded_in_order() {
    let fixture = Fixture::new();
    let write = |file: &str, text: &str| {
        let path = fixture.dirs[0].path().join(file);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    write("setup.py", "");
    write("shop/__init__.py", "from .b import total\n");
    write("shop/a.py", "PRICE = 1\n");
    write("shop/b.py", "from .a import PRICE\ndef total(n): return n * PRICE\n");
    write("main.py", "import shop.b\nDOUBLE = 2 * shop.b.total(10)\n");
    write("other.py", "RUNS = 1\n");
    let value = async |code: &str| {
        let (text, full) = fixture.call("repl_eval", json!({"code": code})).await;
        full["value"].as_str().unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    let code =
        "import main, other, shop.a\nfrom shop import total\nfrom main import DOUBLE\n(total(10), main.DOUBLE, DOUBLE)";
    assert_eq!(value(code).await, "(10, 20, 20)");
    write("shop/a.py", "PRICE = 22\n");
    let (text, _) = fixture.call("repl_eval", json!({"code": "total(10)"})).await;
    expect![[r#"
        10
        [main #2: done, N ms]
        shop.a changed on disk after it was imported; repl_reload loads the new version, and then the modules that import it."#]]
    .assert_eq(&text);
    fixture
        .check(
            "repl_reload",
            json!({}),
            expect![[r#"
        Reloaded shop.a, shop.b, shop, main.
        [main #3: done]"#]],
        )
        .await;
    // Names that the session imported are new, too.
    assert_eq!(value("(total(10), main.DOUBLE, DOUBLE)").await, "(220, 440, 440)");
    fixture
        .check(
            "repl_reload",
            json!({}),
            expect![[r#"
        No imported module of the project has changed.
        [main #5: done]"#]],
        )
        .await;
    let (text, _) = fixture.call("repl_reload", json!({"targets": ["main.py", "other"]})).await;
    assert!(text.starts_with("Reloaded other, main.\n"), "{text}");
    // What an error leaves out is reloaded the next time.
    write("shop/a.py", "PRICE = 333\n");
    write("shop/b.py", "from .a import PRICE\ndef total(n: return n * PRICE\n");
    let (text, full) = fixture.call("repl_reload", json!({})).await;
    assert!(text.contains("shop/b.py\", line 2\n") && text.contains("SyntaxError: "), "{text}");
    assert!(!text.contains("importlib"), "{text}");
    assert_eq!((&full["status"], &full["ok"]), (&json!("error"), &json!(false)));
    write("shop/b.py", "from .a import PRICE\ndef total(n): return n * PRICE\n");
    let (text, _) = fixture.call("repl_reload", json!({})).await;
    assert!(text.starts_with("Reloaded shop.b, shop, main.\n"), "{text}");
    assert_eq!(value("(total(10), main.DOUBLE, DOUBLE)").await, "(3330, 6660, 6660)");
    fixture
        .check(
            "repl_reload",
            json!({"targets": ["nothing"]}),
            expect![[r#"
                ImportError: no imported module of the project is called 'nothing'; import it first, or name one of: main, other, shop, shop.a, shop.b
                [main #10: error]"#]],
        )
        .await;
    fixture.repl.shutdown().await;
}
