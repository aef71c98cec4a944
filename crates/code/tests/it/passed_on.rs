//! Functions passed on by a call, a lambda or a class through their module.

use expect_test::expect;

use crate::projects;

#[test]
fn what_a_call_makes() {
    let Some(judged) = projects::javascript() else { return };
    judged
        .write(
            "users.js",
            "const wrapped = require('./wrapped');\nexports.list = wrapped(() => 1);\n\
             const remove = wrapped(() => 2);\nmodule.exports.remove = remove;\n",
        )
        .write("wrapped.js", "module.exports = (f) => f;\n")
        .write("routes.js", "const users = require('./users');\n[1].map(users.list);\n[2].map(users.remove);\n");
    let said = ["list", "remove"].map(|name| judged.verdicts("find_callers", name));
    expect![[r#"
        list final
          routes.js:2 value confirmed users.js:2
        remove final
          routes.js:3 value confirmed users.js:3
    "#]]
    .assert_eq(&said.concat());
    let Some(judged) = projects::python() else { return };
    judged
        .write("geo.py", "class Circle: pass\n\nhook = lambda x: x\n")
        .write("main.py", "import geo\n\nlist(map(geo.hook, [1]))\nlist(map(geo.Circle, []))\ngeo.Circle()\n");
    let said = ["hook", "Circle"].map(|name| judged.verdicts("find_callers", name));
    expect![[r#"
        hook final
          main.py:3 value confirmed geo.py:3
        Circle final
          main.py:4 value confirmed geo.py:1
          main.py:5 construct confirmed geo.py:1
    "#]]
    .assert_eq(&said.concat());
    let Some(judged) = projects::go() else { return };
    judged.write("geo/geo.go", "package geo\n\nvar Hook = func(x int) int { return x }\n").write(
        "main.go",
        "package main\n\nimport \"made/geo\"\n\nvar all = []func(int) int{geo.Hook}\n\nfunc main() {}\n",
    );
    expect![[r#"
        Hook final
          main.go:5 value confirmed geo/geo.go:3
    "#]]
    .assert_eq(&judged.verdicts("find_callers", "Hook"));
}

#[test]
fn attributes_that_a_test_makes_first() {
    let Some(judged) = projects::python() else { return };
    judged.write(
        "test_geo.py",
        "class TestGeo:\n    def setUp(self):\n        self.box = 1\n\n    def test_box(self):\n        assert self.box\n",
    );
    expect![[r#"
        TestGeo.box final
          test_geo.py:6 field_read confirmed test_geo.py:3
    "#]]
    .assert_eq(&judged.verdicts("find_uses", "TestGeo.box"));
}

#[test]
fn a_default_export_that_a_namespace_is_asked_for() {
    let Some(judged) = projects::typescript() else { return };
    judged
        .write("m.ts", "export const konst = () => 2;\nexport default konst;\n")
        .write("o.ts", "export const other = () => 2;\nexport default other;\n")
        .write("n.ts", "import * as m from './m';\nimport * as o from './o';\nexport const z = m.default();\nexport const y = o.other();\n")
        .write("p.ts", "import * as o from './o';\nexport const y = o.other();\n");
    let said = ["konst", "other"].map(|name| judged.verdicts("find_uses", name));
    expect![[r#"
        konst open
          m.ts:2 export confirmed m.ts:1
        other final
          n.ts:4 call confirmed o.ts:1
          o.ts:2 export confirmed o.ts:1
          p.ts:2 call confirmed o.ts:1
    "#]]
    .assert_eq(&said.concat());
}
