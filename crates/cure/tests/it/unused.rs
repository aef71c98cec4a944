//! Unused values and adjacent values: the diagnostics, and that the program is valid once the fixes are applied.

use cure::diagnostic::Lines;
use cure::{Limits, NoSources, compile};
use expect_test::{Expect, expect};

/// Checks the diagnostics of a body, the body with all fixes applied, and its result.
fn check(body: &str, expected: Expect) {
    let module = |body: &str| {
        let lines: Vec<_> = body.lines().map(|line| format!("    {line}\n")).collect();
        format!(
            "module T do\n  type Tree = Leaf | Node(Int)\n  record P do\n    x: Int\n  end\n  def twice(n: Int): Int = \
             n * 2\n  def told(text: String): Bool =\n    Std.Io.println(text)\n    true\n  def main(): Any =\n{}end\n",
            lines.concat()
        )
    };
    let mut text = module(body);
    let compiled = compile(&text, &NoSources);
    let lines = Lines::new(&text);
    let mut said: Vec<_> = compiled.diagnostics.iter().map(|one| one.line(&lines)).collect();
    let mut fixes: Vec<_> = compiled.diagnostics.iter().filter_map(|one| one.fix.clone()).collect();
    assert_eq!(fixes.len(), said.len(), "each has a fix: {said:?}");
    fixes.sort_by_key(|fix| std::cmp::Reverse(fix.span));
    for fix in fixes {
        text.replace_range(fix.span.start as usize..fix.span.end as usize, &fix.replacement);
    }
    let again = compile(&text, &NoSources);
    let lines = Lines::new(&text);
    said.extend(again.diagnostics.iter().map(|one| format!("after the fix: {}", one.line(&lines))));
    let ran = again.run("main", Limits::default()).map(|run| format!("{:?} {:?}", run.result, run.output));
    said.push(ran.unwrap_or_default());
    expected.assert_eq(&said.join("\n"));
}

macro_rules! bodies {
    ($($name:ident: $body:expr, $expected:expr;)*) => {
        $(#[test] fn $name() { check($body, $expected); })*
    };
}

bodies! {
    a_call_without_parentheses: "let x = 20\ntwice x", expect![[r#"
        12:11 error C0106: two values side by side: the arguments of `twice` stand in parentheses; write `twice(x)`; a new statement begins on a new line, or behind a comma
        Ok("40") """#]];
    a_call_of_a_call_without_parentheses: "let x = 20\n1 + twice twice(x)", expect![[r#"
        12:15 error C0106: two values side by side: the arguments of `twice` stand in parentheses; write `twice(twice(x))`; a new statement begins on a new line, or behind a comma
        Ok("81") """#]];
    an_atom_that_is_called: "'Some'(42)", expect![[r#"
        11:11 error C0106: `'Some'` is an atom, and an atom is not called; a constructor or a function is called by its name: `Some(42)`
        Ok("{some,42}") """#]];
    an_atom_that_is_matched: "match Some(42) do\n  'Some'(x) -> x\n  None -> 0\nend", expect![[r#"
        12:7 error C0106: `'Some'` is an atom, and an atom is not called; a constructor or a function is called by its name: `Some(x)`
        after the fix: 13:7 warning C0502: this clause is never reached; no value that comes here is like this: remove it
        Ok("42") """#]];
    an_atom_and_a_value: "{1, :ok 42}", expect![[r#"
        11:13 error C0106: two values side by side: the atom `:ok` takes none; write a tuple: `{:ok, 42}`; a new statement begins on a new line, or behind a comma
        Ok("{1,{ok,42}}") """#]];
    an_assignment: "let x = 1\nx == 3\nx", expect![[r#"
        12:5 warning C0316: nobody uses this value; `==` compares; `let x = 3` gives a name to a value
        Ok("1") """#]];
    values: "1\n\"a\", :b\n[1, 2]\n{1, 2}\nP{x: 1}\nNode(3), Leaf\n‹1›\ntrue\n1.5\nfn(x) -> x end\n9", expect![[r#"
        11:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        12:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        12:10 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        13:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        14:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        15:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        16:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        16:14 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        17:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        18:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        19:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        20:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        Ok("9") """#]];
    operators: "let n = 3\nn + 1\n-n\nnot true\nn > 1 and n < 9\n\"a\" <> \"b\"\n\"#{n}\"\n[n] ++ [n]\nn as Int\nP{x: n}.x\n0", expect![[r#"
        12:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        14:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        15:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        16:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        17:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        18:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        19:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        20:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        Ok("0") """#]];
    functions: "twice\nStd.Math.abs\n0", expect![[r#"
        11:5 warning C0316: nobody uses this value; this is the function itself; a call has parentheses: `twice(…)`
        12:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        Ok("0") """#]];
    choices: "let n = Std.List.length([3])\nif n > 1 then 1 else 2\nmatch n do\n  0 -> :a\n  _ -> :b\nend\n0", expect![[r#"
        12:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        13:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        Ok("0") """#]];
    in_a_function: "let f = fn(n) -> n == 1\n  n + 1 end\nf(3)", expect![[r#"
        11:22 warning C0316: nobody uses this value; `==` compares; `let n = 1` gives a name to a value
        Ok("4") """#]];
    what_calls_inside: "told(\"a\") == true\n[told(\"b\")]\n{1, if told(\"c\") then 1 else 2}\n0", expect![[r#"
        11:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        12:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        13:5 warning C0316: nobody uses this value; the value of a body is its last expression; `let` gives a name to another one
        Ok("0") "a\nb\nc\n""#]];
    what_may_do_something: "let n = 3\ntwice(n)\nif n > 1 then told(\"yes\") else false\nn > 1 and told(\"and\")\nn |> twice\nOk(n) |> twice\n\"m\" |-> :nobody\n()\nn", expect![[r#"Ok("3") "yes\nand\n""#]];
}
