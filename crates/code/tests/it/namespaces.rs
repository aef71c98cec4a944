//! C++ namespaces: definitions outside their namespace, and their outline. Destructors, by their own name.

use expect_test::expect;
use serde_json::json;

use crate::worktree::Worktree;

const HEADER: &str = "namespace lib {\n\
                      int helper(int x);\n\
                      struct Runner {\n  virtual ~Runner();\n  int run(int x);\n};\n\
                      namespace inner {\nint deep();\n}\n\
                      }\n";

const SOURCE: &str = "#include \"lib.hpp\"\n\
                      int lib::helper(int x) { return x; }\n\
                      int lib::inner::deep() { return lib::helper(1); }\n\
                      lib::Runner::~Runner() {}\n\
                      int lib::Runner::run(int x) { return helper(x); }\n\
                      void end(lib::Runner* r) { r->~Runner(); }\n";

fn make_worktree() -> Worktree {
    let worktree = Worktree::new();
    worktree.write("src/lib.hpp", HEADER).write("src/lib.cpp", SOURCE);
    worktree
}

#[test]
fn a_function_that_is_defined_outside_of_its_namespace_is_one() {
    let worktree = make_worktree();
    let kind = |name: &str| worktree.result("show_definition", json!({"name": name}))["definitions"].clone();
    let kinds = |name: &str| -> Vec<String> {
        kind(name).as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds("lib::helper"), ["function"]);
    assert_eq!(kinds("deep"), ["function"]);
    assert_eq!(kinds("Runner::run"), ["method"]);
    let callees = worktree.result("find_callees", json!({"name": "Runner::run"}));
    assert_eq!(callees["callees"][0]["kind"], "function", "{callees:#}");
}

#[test]
fn a_destructor_is_asked_for_by_its_name() {
    let worktree = make_worktree();
    let (_, text) = worktree.ask("find_callers", json!({"name": "~Runner"})).unwrap();
    expect![[r#"
        1 call by name, unchecked: no language server for C, C++; an operator or the end of a value may call lib::Runner::~Runner without naming it
        defined: src/lib.cpp:4 method lib::Runner::~Runner
        src/lib.cpp
          6  end  call  void end(lib::Runner* r) { r->~Runner(); }"#]]
    .assert_eq(&text);
}

#[test]
fn an_outline_looks_through_namespaces() {
    let worktree = make_worktree();
    let (_, text) = worktree.ask("outline", json!({"path": "src"})).unwrap();
    expect![[r#"
        src/lib.cpp
          2  int lib::helper(int x)
          3  int lib::inner::deep()
          4  lib::Runner::~Runner()
          5  int lib::Runner::run(int x)
          6  void end(lib::Runner* r)
        src/lib.hpp
          1  namespace lib
            2  int helper(int x)
            3  struct Runner
            7  namespace inner
              8  int deep()"#]]
    .assert_eq(&text);
}
