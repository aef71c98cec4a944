//! Possible callers that do not name a definition: through decorators, attributes, and external base classes. No answer
//! about such a definition is final.

use serde_json::json;

use crate::judged_project::{JudgedProject, until};
use crate::projects;

/// Returns the reason why the answer about the callers of a name is not final; empty if it is final.
fn reason(judged: &JudgedProject, name: &str) -> String {
    until(|| {
        let (answer, text) = judged.ask("find_callers", json!({"name": name, "wait_ms": 20_000})).unwrap();
        let head = &answer["head"];
        match &head["reasons"].as_array().unwrap()[..] {
            _ if head["complete"] == true => Ok(String::new()),
            [reason] if head["servers"][0]["state"] == "ready" => {
                assert_eq!(reason["code"], "dynamic", "{text}");
                Ok(reason["text"].as_str().unwrap().to_owned())
            }
            _ => Err(format!("{name}: {text}\n{head:#}")),
        }
    })
}

/// Compares the beginning of each reason; empty for a final answer.
fn check(judged: &JudgedProject, all: &[(&str, &str)]) {
    for (name, expected) in all {
        let said = reason(judged, name);
        assert!(said.starts_with(expected) && said.is_empty() == expected.is_empty(), "{name}: {said}");
    }
}

#[test]
fn bases_and_decorators_of_python() {
    let Some(judged) = projects::python() else { return };
    judged.write_files(
        "--- own.py\nimport http.server\nimport enum\nimport absent\n\n\
         class Plain:\n    def go(self): pass\n\n\
         class Colour(enum.Enum):\n    RED = 1\n    def shade(self): pass\n\n\
         class Failed(ValueError):\n    def why(self): pass\n\n\
         class Own(Plain, dict):\n    def run(self):\n        def inner(): pass\n        inner()\n\n\
         class Handler(http.server.BaseHTTPRequestHandler):\n    def do_GET(self): pass\n    @staticmethod\n    def log_error(): pass\n\n\
         class Missing(absent.Base):\n    def may(self): pass\n\
         --- below.py\nimport abc\nfrom own import Handler as Base, Plain\n\n\
         class Below(Base):\n    def end_headers(self): pass\n\n\
         class Meta(Plain, metaclass=abc.ABCMeta):\n    def made(self): pass\n\
         --- app.py\nimport functools\n\ndef register(name):\n    return lambda f: f\n\n\
         @register('x')\ndef index(): pass\n\n\
         @functools.lru_cache(maxsize=None)\ndef kept(): pass\n\
         --- mixed.py\nimport threading\nfrom typing import MutableSequence\n\n\
         import collections.abc\n\n\
         Alias = threading.Thread\n\ndef made(of): return of\n\n\
         class Aliased(Alias):\n    def run(self): pass\n\n\
         class Called(made(threading.Thread)):\n    def run(self): pass\n\n\
         class Mixin:\n    def mixed(self): pass\n    def run(self): pass\n\n\
         class Whole(Mixin, threading.Thread): pass\n\n\
         class Row(MutableSequence):\n    def insert(self, at, one): pass\n\n\
         class Bag(collections.abc.Set):\n    def _hash(self): pass\n\n\
         class Model(threading.Thread):\n    template = 'x'\n    def __own(self): pass\n\
         --- renamed.py\nfrom typing import TypedDict\n\n\
         class Taken:\n    def is_alive(self): pass\n    def taken(self): pass\n\n\
         class Kind:\n    def kind(self): pass\n\nclass User:\n    made_by = Kind\n\n\
         class Row(TypedDict):\n    column: int\n\
         --- taken.py\n\
         from renamed import (\n    Taken as Other,\n)\nimport threading\n\nclass Own(Other, threading.Thread): pass\n\
         --- conftest.py\n\
         import pytest\n\n@pytest.fixture(scope=\"module\")\ndef shape():\n    return 1\n\ndef pytest_configure():\n    pass\n\
         --- test_a.py\ndef test_a(shape):\n    assert shape\n\
         --- added.py\nclass P:\n    def __add__(self, o):\n        return o\n\nP() + P()\n\
         --- tests/test_app.py\ndef test_it():\n    helper()\n\ndef setup_module(): pass\n\ndef helper(): pass\n",
    );
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
                "Handler.log_error may be used through BaseHTTPRequestHandler, which the project does not define",
            ),
            ("end_headers", "Below.end_headers may be used through BaseHTTPRequestHandler"),
            ("Missing.may", "Missing.may may be used through Base"),
            ("index", "index is marked with `register`: other code may call it without naming it"),
            ("kept", ""),
            ("Aliased.run", "Aliased.run may be used through Alias (whose members are unknown)"),
            ("Called.run", "Called.run may be used through a base without a name"),
            ("mixed", ""),
            ("Mixin.run", "Mixin.run may be used through Thread, which the project does not define and which has run"),
            ("_hash", "Bag._hash may be used through "),
            ("Row.insert", "Row.insert may be used through MutableSequence"),
            ("Model.template", ""),
            ("__own", ""),
            ("taken", ""),
            ("Taken.is_alive", "Taken.is_alive may be used through Thread"),
            ("Kind.kind", ""),
            ("Row.column", "Row.column is the key of a dictionary"),
            ("test_it", ""),
            ("setup_module", "a test runner calls setup_module"),
            ("helper", ""),
            ("conftest.py:shape", "shape is marked with `pytest.fixture`"),
            ("pytest_configure", "pytest calls the hook pytest_configure"),
            ("__add__", "Python itself may call P.__add__"),
        ],
    );
}

#[test]
fn bases_and_decorators_of_typescript() {
    let Some(judged) = projects::typescript() else { return };
    judged.write_files(
        "--- node_modules/ui/package.json\n{\"name\": \"ui\", \"version\": \"1.0.0\", \"types\": \"index.d.ts\"}\n\
         --- node_modules/ui/index.d.ts\n\
         export declare class Component<P> { props: P; render(): void; }\nexport interface Panel { shown(): void; draw?(): void; imported?(): void }\n\
         --- own.ts\nimport { Component, type Panel } from 'ui';\n\
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
         export class Imported { imported() {} }\nexport class Passed { passed_on() {} }\n\
         --- below.ts\nimport { Imported as More, Passed } from './own';\nimport type { Panel } from 'ui';\n\
         class A extends More implements Panel { shown() {} }\nclass B extends Passed {}\n",
    );
    check(
        &judged,
        &[
            ("Plain.go", ""),
            ("Plain.toJSON", "JavaScript itself or a browser may call Plain.toJSON"),
            ("Failed.why", ""),
            ("Failed.name", "Failed.name may be used through Error"),
            ("Page.render", "Page.render may be used through Component, which the project does not define"),
            ("Front.later", ""),
            ("Part.shown", "Part.shown may be used through Panel"),
            ("connectedCallback", "JavaScript itself or a browser may call Tag.connectedCallback"),
            ("Bound.clicked", "Bound.clicked is marked with `made`"),
            ("Impl.draw", "Impl.draw may be used through Panel"),
            ("Sub.besides", ""),
            ("Imported.imported", "Imported.imported may be used through Panel"),
            ("passed_on", ""),
            ("Aliased.shown", "Aliased.shown may be used through Alias (whose members are unknown)"),
        ],
    );
}

#[test]
fn interfaces_of_other_packages_in_go() {
    let Some(judged) = projects::go() else { return };
    judged.write_files(
        "--- geo.go\npackage made\n\nimport \"sort\"\n\ntype Shapes []int\n\n\
         func (Shapes) Len() int { return 0 }\n\nfunc (Shapes) Less(a, b int) bool { return false }\n\n\
         func (Shapes) Swap(a, b int) {}\n\nfunc (Shapes) Area() int { return 0 }\n\n\
         type Walked interface{ Walk() }\n\nfunc (Shapes) Walk() {}\n\n\
         func Sorted(s Shapes) { sort.Sort(s) }\n\nfunc init() {}\n\
         --- web/web.go\n\
         package web\n\nimport \"net/http\"\n\ntype Drain int\n\nfunc (Drain) Flush() {}\n\nfunc Serve(h http.Handler) {}\n\
         --- given.go\npackage made\n\n//go:wasmexport outer\nfunc inner() int32 { return 1 }\n\n\
         // plain has no directive.\nfunc plain() int { return 1 }\n",
    );
    check(
        &judged,
        &[
            ("Shapes.Len", "Go's own packages, by an interface, may call Shapes.Len"),
            ("Shapes.Area", ""),
            ("Shapes.Walk", ""),
            (
                "Drain.Flush",
                "Drain.Flush may be used through an interface of http, which the project does not \
                             define",
            ),
            ("init", "Go itself calls init"),
            ("inner", "C or a host, by a `//` directive, may call inner"),
            ("plain", ""),
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
    assert_eq!(reason(&judged, "tick"), "");
    let below = "#include \"a.hpp\"\n#include <streambuf>\nclass S : public Base, public std::streambuf {};\n";
    for file in ["sub.cpp", "late.cpp"] {
        judged.write("sub.cpp", "int nothing() { return 0; }\n").write(file, below);
        let said = reason(&judged, "tick");
        assert!(said.starts_with("Base::tick may be used through streambuf"), "{file}: {said}");
    }
}

#[test]
fn bases_of_cpp() {
    let Some(judged) = projects::c(&[]) else { return };
    let folder = judged.path().canonicalize().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let foreign = "struct Foreign { virtual void go(); template <class T> struct Of {}; };\n";
    std::fs::write(outside.path().join("foreign.h"), foreign).unwrap();
    let search = format!("-I{}", outside.path().display());
    let unit = json!({"directory": folder, "file": "geo.cpp", "arguments": ["c++", &search, "-c", "geo.cpp"]});
    judged.write("compile_commands.json", json!([unit]).to_string()).write_files(
        "--- geo.hpp\n\
         #include <foreign.h>\nstruct Own { void go2() {} };\ntypedef Own Other;\nstruct A : Own { void own(); void go(); };\nstruct B : Foreign { void go() override; };\nusing Al = Foreign;\nstruct C : Al { void by_alias() {} };\nstruct D : Ghost { void ghostly() {} };\n\
         struct E { void bare() {} void go() {} __attribute__((constructor)) static void first() {} };\nstruct F : E, Foreign {};\n\
         --- geo.cpp\n#include \"geo.hpp\"\nvoid A::own() {}\nvoid A::go() {}\nvoid B::go() {}\n",
    );
    check(
        &judged,
        &[
            ("A::own", ""),
            ("A::go", ""),
            ("B::go", "B::go may be used through Foreign, which the project does not define"),
            ("by_alias", "C::by_alias may be used through Al (whose members are unknown)"),
            ("ghostly", "D::ghostly may be used through Ghost"),
            ("bare", ""),
            ("E::go", "E::go may be used through Foreign"),
            ("first", "an attribute makes the program call E::first"),
        ],
    );
}

pub(crate) fn attributes_of_rust(judged: &JudgedProject) {
    judged.write_files(
        "--- src/lib.rs\n#[inline]\n#[must_use]\npub fn plain() -> u8 { 1 }\n\
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
