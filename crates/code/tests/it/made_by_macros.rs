//! What macros of the project make: syntax sees no definition, and must not say that there is none.

use serde_json::json;

use crate::worktree::Worktree;

#[test]
fn a_method_that_a_macro_makes_is_not_said_to_be_missing() {
    let worktree = Worktree::new();
    worktree.write(
        "a.rs",
        "macro_rules! mk { ($t:ident) => { pub struct $t; impl Drop for $t { fn drop(&mut self) {} } } }\nmk!(Tmp);\n",
    );
    for (tool, name) in [("show_definition", "Tmp.drop"), ("find_callees", "Tmp.drop"), ("show_definition", "drop")] {
        let said = worktree.ask(tool, json!({"name": name})).expect_err("nothing is seen");
        assert!(said.contains("a macro in it makes a function of that name"), "{tool} {name}: {said}");
    }
    for name in ["Tmp.drop", "drop"] {
        let (answer, text) = worktree.ask("find_callers", json!({"name": name})).unwrap();
        let reasons = answer["head"]["reasons"].to_string();
        assert_eq!(answer["head"]["complete"], false, "{text}");
        assert!(reasons.contains("a macro in it makes a function of that name"), "{text}");
    }
    // Beside a definition of another type.
    worktree.write("b.rs", "struct Own;\nimpl Drop for Own { fn drop(&mut self) {} }\n");
    let said = worktree.ask("find_callers", json!({"name": "Tmp.drop"})).expect_err("nothing is seen");
    assert!(said.contains("there is no `Tmp.drop`") && said.contains("a macro in it makes"), "{said}");
    let (answer, _) = worktree.ask("find_callers", json!({"name": "Own.drop"})).unwrap();
    assert!(!answer["head"]["reasons"].to_string().contains("a macro in it makes"));
}
