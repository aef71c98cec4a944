//! GHCi: what agents do, and what programs do to it.

use super::*;
use expect_test::{Expect, expect};

async fn check(session: &Handle, code: &str, expected: Expect) {
    expected.assert_eq(&line(&eval(session, code).await));
}

#[tokio::test]
async fn it_evaluates() {
    let session = ghci();
    check(&session, "1+1", expect![[r#"done | "2\n" | """#]]).await;
    check(&session, ":t map", expect![[r#"done | "map :: (a -> b) -> [a] -> [b]\n" | """#]]).await;
    check(&session, "putStr \"no newline\"", expect![[r#"done | "no newline" | """#]]).await;
    check(
        &session,
        "import System.IO\nhPutStrLn stderr \"to stderr\" >> putStrLn \"to stdout\"",
        expect![[r#"done | "to stdout\n" | "to stderr\n""#]],
    )
    .await;
    check(&session, "head []", expect![[r#"error | "" | "*** Exception: Prelude.head: empty list\n""#]]).await;
    check(&session, "1 + True", expect![[r#"error | "" | "\n<interactive>:11:3: error:\n    • No instance for (Num Bool) arising from a use of ‘+’\n    • In the expression: 1 + True\n      In an equation for ‘it’: it = 1 + True\n""#]]).await;
    check(&session, "f :: Int -> Int\nf x =\n  x * 2\nf 21", expect![[r#"done | "42\n" | """#]]).await;
    check(
        &session,
        "undefinedName\nputStrLn \"never\"",
        expect![[r#"error | "" | "\n<interactive>:18:1-13: error: Variable not in scope: undefinedName\n""#]],
    )
    .await;
    check(&session, "f 1", expect![[r#"done | "2\n" | """#]]).await;
    session.stop("the test is over").await;
}
