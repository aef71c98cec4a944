//! Possible callers that do not name a definition: through decorators, attributes, and external base classes. No answer
//! about such a definition is final.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::judged_project::JudgedProject;
use crate::projects;

/// Returns the reason why the answer about the callers of a name is not final; empty if it is final.
fn keeps(judged: &JudgedProject, name: &str) -> Option<String> {
    let until = Instant::now() + testkit::patience().max(Duration::from_secs(240));
    loop {
        let (answer, text) = judged.ask("find_callers", json!({"name": name, "wait_ms": 20_000})).unwrap();
        let head = &answer["head"];
        if head["complete"] == true {
            return None;
        }
        let reasons = head["reasons"].as_array().unwrap();
        if let [reason] = &reasons[..]
            && head["servers"][0]["state"] == "ready"
        {
            assert_eq!(reason["code"], "dynamic", "{text}");
            return Some(reason["text"].as_str().unwrap().to_owned());
        }
        assert!(Instant::now() < until, "{name}: {text}\n{head:#}");
    }
}

/// Returns the beginning of each reason; empty for a final answer.
fn check(judged: &JudgedProject, all: &[(&str, &str)]) {
    for (name, expected) in all {
        let said = keeps(judged, name).unwrap_or_default();
        let is_it = if expected.is_empty() { said.is_empty() } else { said.starts_with(expected) };
        assert!(is_it, "{name}: {said}");
    }
}

#[test]
fn bases_and_decorators_of_python() {
    let Some(judged) = projects::python() else { return };
    judged
        .write(
            "own.py",
            "import http.server\nimport enum\nimport absent\n\n\
             class Plain:\n    def go(self): pass\n\n\
             class Colour(enum.Enum):\n    RED = 1\n    def shade(self): pass\n\n\
             class Failed(ValueError):\n    def why(self): pass\n\n\
             class Own(Plain, dict):\n    def run(self):\n        def inner(): pass\n        inner()\n\n\
             class Handler(http.server.BaseHTTPRequestHandler):\n    def do_GET(self): pass\n    @staticmethod\n    def log_error(): pass\n\n\
             class Missing(absent.Base):\n    def may(self): pass\n",
        )
        .write(
            "below.py",
            "import abc\nfrom own import Handler as Base, Plain\n\n\
             class Below(Base):\n    def end_headers(self): pass\n\n\
             class Meta(Plain, metaclass=abc.ABCMeta):\n    def made(self): pass\n",
        )
        .write(
            "app.py",
            "import functools\n\ndef register(name):\n    return lambda f: f\n\n\
             @register('x')\ndef index(): pass\n\n\
             @functools.lru_cache(maxsize=None)\ndef kept(): pass\n",
        )
        .write(
            "mixed.py",
            "import threading\nfrom typing import MutableSequence\n\n\
             import collections.abc\n\n\
             Alias = threading.Thread\n\ndef made(of): return of\n\n\
             class Aliased(Alias):\n    def run(self): pass\n\n\
             class Called(made(threading.Thread)):\n    def run(self): pass\n\n\
             class Mixin:\n    def mixed(self): pass\n    def run(self): pass\n\n\
             class Whole(Mixin, threading.Thread): pass\n\n\
             class Row(MutableSequence):\n    def insert(self, at, one): pass\n\n\
             class Bag(collections.abc.Set):\n    def _hash(self): pass\n\n\
             class Model(threading.Thread):\n    template = 'x'\n    def __own(self): pass\n",
        )
        .write(
            "renamed.py",
            "from typing import TypedDict\n\n\
             class Taken:\n    def is_alive(self): pass\n    def taken(self): pass\n\n\
             class Kind:\n    def kind(self): pass\n\nclass User:\n    made_by = Kind\n\n\
             class Row(TypedDict):\n    column: int\n",
        )
        .write("taken.py", "from renamed import (\n    Taken as Other,\n)\nimport threading\n\nclass Own(Other, threading.Thread): pass\n")
        .write("tests/test_app.py", "def test_it():\n    helper()\n\ndef setup_module(): pass\n\ndef helper(): pass\n");
    check(
        &judged,
        &[
            ("Plain.go", ""),
            ("Colour.shade", ""),
            ("Failed.why", ""),
            ("Own.run", ""),
            ("inner", ""),
            ("do_GET", ""),
            (
                "log_error",
                "Handler.log_error belongs to a subtype of BaseHTTPRequestHandler, which the project does \
                           not define",
            ),
            ("end_headers", "Below.end_headers belongs to a subtype of BaseHTTPRequestHandler"),
            ("Missing.may", "Missing.may belongs to a subtype of Base"),
            ("index", "index is marked with `register`: other code may call it without naming it"),
            ("kept", ""),
            ("Aliased.run", "Aliased.run belongs to a subtype of Alias (whose members are unknown)"),
            ("Called.run", "Called.run belongs to a subtype of a base without a name"),
            ("mixed", ""),
            ("Mixin.run", "Mixin.run belongs to a subtype of Thread, which the project does not define and has run"),
            ("_hash", "Bag._hash belongs to a subtype of "),
            ("Row.insert", "Row.insert belongs to a subtype of MutableSequence"),
            ("Model.template", ""),
            ("__own", ""),
            ("taken", ""),
            ("Taken.is_alive", "Taken.is_alive belongs to a subtype of Thread"),
            ("Kind.kind", ""),
            ("Row.column", "Row.column is the key of a dictionary"),
            ("test_it", ""),
            ("setup_module", "a test runner calls setup_module"),
            ("helper", ""),
        ],
    );
}

#[test]
fn bases_and_decorators_of_typescript() {
    let Some(judged) = projects::typescript() else { return };
    judged
        .write("node_modules/ui/package.json", "{\"name\": \"ui\", \"version\": \"1.0.0\", \"types\": \"index.d.ts\"}\n")
        .write(
            "node_modules/ui/index.d.ts",
            "export declare class Component<P> { props: P; render(): void; }\nexport interface Panel { shown(): void; draw?(): void; imported?(): void }\n",
        )
        .write(
            "own.ts",
            "import { Component, type Panel } from 'ui';\n\
             export class Plain { go() {} toJSON() {} }\n\
             export class Failed extends Error { why() {} name = 'failed'; }\n\
             export class Page extends Component<number> { render() {} }\n\
             export class Front extends Page { later = () => 1; }\n\
             export class Part implements Panel { shown() {} }\n\
             export class Tag extends HTMLElement { connectedCallback() {} }\n\
             function made(of: unknown) {}\n\
             @made\nexport class Bound { clicked() {} }\n\
             export class Impl { draw() {} }\nexport class Sub extends Impl implements Panel { shown() {} besides() {} }\n\
             type Alias = Panel;\nexport class Aliased implements Alias { shown() {} }\n\
             export class Imported { imported() {} }\nexport class Passed { passed_on() {} }\n",
        )
        .write(
            "below.ts",
            "import { Imported as More, Passed } from './own';\nimport type { Panel } from 'ui';\n\
             class A extends More implements Panel { shown() {} }\nclass B extends Passed {}\n",
        );
    check(
        &judged,
        &[
            ("Plain.go", ""),
            ("Plain.toJSON", "JavaScript itself or a browser may call Plain.toJSON"),
            ("Failed.why", ""),
            ("Failed.name", "Failed.name belongs to a subtype of Error"),
            ("Page.render", "Page.render belongs to a subtype of Component, which the project does not define"),
            ("Front.later", ""),
            ("Part.shown", "Part.shown belongs to a subtype of Panel"),
            ("connectedCallback", "JavaScript itself or a browser may call Tag.connectedCallback"),
            ("Bound.clicked", "Bound.clicked is marked with `made`"),
            ("Impl.draw", "Impl.draw belongs to a subtype of Panel"),
            ("Sub.besides", ""),
            ("Imported.imported", "Imported.imported belongs to a subtype of Panel"),
            ("passed_on", ""),
            ("Aliased.shown", "Aliased.shown belongs to a subtype of Alias (whose members are unknown)"),
        ],
    );
}

#[test]
fn interfaces_of_other_packages_in_go() {
    let Some(judged) = projects::go() else { return };
    judged
        .write(
            "geo.go",
            "package made\n\nimport \"sort\"\n\ntype Shapes []int\n\n\
             func (Shapes) Len() int { return 0 }\n\nfunc (Shapes) Less(a, b int) bool { return false }\n\n\
             func (Shapes) Swap(a, b int) {}\n\nfunc (Shapes) Area() int { return 0 }\n\n\
             type Walked interface{ Walk() }\n\nfunc (Shapes) Walk() {}\n\n\
             func Sorted(s Shapes) { sort.Sort(s) }\n\nfunc init() {}\n",
        )
        .write("web/web.go", "package web\n\nimport \"net/http\"\n\ntype Drain int\n\nfunc (Drain) Flush() {}\n\nfunc Serve(h http.Handler) {}\n");
    check(
        &judged,
        &[
            ("Shapes.Len", "Go's own packages, by an interface, may call Shapes.Len"),
            ("Shapes.Area", ""),
            ("Shapes.Walk", ""),
            (
                "Drain.Flush",
                "Drain.Flush belongs to a subtype of an interface of http, which the project does not \
                             define",
            ),
            ("init", "Go itself calls init"),
        ],
    );
}

/// clangd's index is as old as its start.
#[test]
fn a_class_below_that_comes_later_is_seen() {
    let Some(judged) = projects::c(&["a.cpp", "sub.cpp", "late.cpp"]) else { return };
    judged
        .write("a.hpp", "class Base {\n  public:\n  virtual int tick() { return 1; }\n};\n")
        .write("a.cpp", "#include \"a.hpp\"\nint run(Base &b) { return b.tick(); }\n")
        .write("sub.cpp", "int nothing() { return 0; }\n");
    assert_eq!(keeps(&judged, "tick"), None);
    let below = "#include \"a.hpp\"\n#include <streambuf>\nclass S : public Base, public std::streambuf {};\n";
    for file in ["sub.cpp", "late.cpp"] {
        judged.write("sub.cpp", "int nothing() { return 0; }\n").write(file, below);
        let said = keeps(&judged, "tick").unwrap_or_default();
        assert!(said.starts_with("Base::tick belongs to a subtype of streambuf"), "{file}: {said}");
    }
}

#[test]
fn bases_of_cpp() {
    if !testkit::has_program("clangd") {
        return;
    }
    let judged = JudgedProject::new();
    let folder = judged.path().canonicalize().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(
        outside.path().join("foreign.h"),
        "struct Foreign { virtual void go(); template <class T> struct Of {}; };\n",
    )
    .unwrap();
    let search = format!("-I{}", outside.path().display());
    judged
        .write(
            "compile_commands.json",
            json!([{"directory": folder, "file": "geo.cpp", "arguments": ["c++", &search, "-c", "geo.cpp"]}]).to_string(),
        )
        .write("geo.hpp", "#include <foreign.h>\nstruct Own { void go2() {} };\ntypedef Own Other;\nstruct A : Own { void own(); void go(); };\nstruct B : Foreign { void go() override; };\nusing Al = Foreign;\nstruct C : Al { void by_alias() {} };\nstruct D : Ghost { void ghostly() {} };\n\
             struct E { void bare() {} void go() {} __attribute__((constructor)) static void first() {} };\nstruct F : E, Foreign {};\n")
        .write("geo.cpp", "#include \"geo.hpp\"\nvoid A::own() {}\nvoid A::go() {}\nvoid B::go() {}\n");
    check(
        &judged,
        &[
            ("A::own", ""),
            ("A::go", ""),
            ("B::go", "B::go belongs to a subtype of Foreign, which the project does not define"),
            ("by_alias", "C::by_alias belongs to a subtype of Al (whose members are unknown)"),
            ("ghostly", "D::ghostly belongs to a subtype of Ghost"),
            ("bare", ""),
            ("E::go", "E::go belongs to a subtype of Foreign"),
            ("first", "an attribute makes the program call E::first"),
        ],
    );
}

pub(crate) fn attributes_of_rust(judged: &JudgedProject) {
    judged.write(
        "src/lib.rs",
        "#[inline]\n#[must_use]\npub fn plain() -> u8 { 1 }\n\
             #[no_mangle]\npub extern \"C\" fn exported() {}\n\
             #[cfg_attr(not(test), no_mangle)]\npub extern \"C\" fn exported_too() {}\n\
             #[cfg(test)]\nmod tests {\n    #[test]\n    fn it() {}\n}\n",
    );
    check(
        judged,
        &[
            ("plain", ""),
            ("exported", "exported is marked with `no_mangle`"),
            ("exported_too", "exported_too is marked with `no_mangle`"),
            ("it", ""),
        ],
    );
}

#[test]
fn directives_of_go() {
    let Some(judged) = projects::go() else { return };
    judged.write(
        "given.go",
        "package made\n\n//go:wasmexport outer\nfunc inner() int32 { return 1 }\n\n\
         // plain has no directive.\nfunc plain() int { return 1 }\n",
    );
    check(&judged, &[("inner", "C or a host, by a `//` directive, may call inner"), ("plain", "")]);
}

#[test]
fn hooks_of_pytest() {
    let Some(judged) = projects::python() else { return };
    judged
        .write(
            "conftest.py",
            "import pytest\n\n@pytest.fixture(scope=\"module\")\ndef shape():\n    return 1\n\ndef pytest_configure():\n    pass\n",
        )
        .write("test_a.py", "def test_a(shape):\n    assert shape\n");
    check(
        &judged,
        &[
            ("conftest.py:shape", "shape is marked with `pytest.fixture`"),
            ("pytest_configure", "pytest calls the hook pytest_configure"),
        ],
    );
}
