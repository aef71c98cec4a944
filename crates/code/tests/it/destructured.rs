//! Members that a pattern destructures, and exports of CommonJS modules.

use serde_json::json;

use crate::judged_project::sites;
use crate::projects;

#[test]
fn a_pattern_takes_members() {
    let Some(judged) = projects::typescript() else { return };
    judged
        .write(
            "geo.ts",
            "export class Shape {\n  width = 1;\n  draw() {}\n  size() {}\n}\nexport function width() {}\n",
        )
        .write(
            "uses.ts",
            "import { Shape } from './geo';\n\
             const { draw, width } = new Shape();\n\
             draw();\n\
             function sized({ size }: Shape) {\n  size();\n}\n\
             const { size } = Shape.prototype;\n",
        );
    judged.check_callers(&[
        ("Shape.draw", &["uses.ts:2 value confirmed geo.ts:3", "uses.ts:3 call confirmed geo.ts:3"]),
        (
            "Shape.size",
            &[
                "uses.ts:4 value confirmed geo.ts:4",
                "uses.ts:5 call confirmed geo.ts:4",
                "uses.ts:7 value confirmed geo.ts:4",
            ],
        ),
    ]);
    let (answer, text) = judged.until_final("find_uses", json!({"name": "Shape.width"}));
    assert_eq!(sites(&answer), ["uses.ts:2 field_read confirmed geo.ts:2"], "{text}");
}

#[test]
fn an_assignment_takes_members() {
    let Some(judged) = projects::typescript() else { return };
    judged
        .write("geo.ts", "export interface Size { width: number; height?: number }\n")
        .write(
            "more.ts",
            "import { Size } from './geo';\nexport const sum = ({ width, height = 1 }: Size) => width + height;\n",
        )
        .write(
            "uses.ts",
            "import { Size } from './geo';\nexport function area(size: Size | number) {\n  let width = 1, height;\n  \
             if (typeof size === 'object') {\n    ({ width, height = 1 } = size);\n  }\n  return width * height;\n}\n",
        );
    for name in ["Size.width", "Size.height"] {
        let (answer, text) = judged.until_final("find_uses", json!({"name": name}));
        let line = |place: &str| format!("{place} field_read confirmed geo.ts:1");
        assert_eq!(sites(&answer), [line("more.ts:2"), line("uses.ts:5")], "{text}");
    }
}

#[test]
fn what_modules_of_commonjs_export() {
    let Some(judged) = projects::typescript() else { return };
    let options = json!({"compilerOptions": {"allowJs": true, "module": "commonjs", "lib": ["es2020"]}});
    judged
        .write("tsconfig.json", options.to_string())
        .write(
            "lib.js",
            "class Conn { open() {} }\nclass Queue {}\nfunction helper() {}\nmodule.exports = { Conn, Queue, helper };\n",
        )
        .write(
            "uses.js",
            "const lib = require('./lib');\nconst { Queue } = require('./lib');\n\
             new lib.Conn().open();\nnew Queue();\nlib['helper']();\nlib.helper();\n",
        )
        .write("log.js", "exports.info = info;\nfunction info() {}\nexports.warn = function warn() { info(); };\n")
        .write("store.js", "module.exports = class Store { load() {} };\n")
        .write("made.js", "function Made() {}\nmodule.exports = Made;\n")
        .write("passed.js", "exports.Made = require('./made');\nexports.tell = require('./log').info;\n")
        .write(
            "more.js",
            "const log = require('./log');\nconst { info } = log;\nconst Store = require('./store');\n\
             const Made = require('./made');\nconst { Made: Other } = require('./passed');\n\
             info();\nlog.info();\nlog.warn();\nnew Store().load();\nnew Made();\nnew Other();\n",
        );
    judged.check_callers(&[
        ("Conn", &["uses.js:3 construct confirmed lib.js:1"]),
        ("Queue", &["uses.js:4 construct confirmed lib.js:2"]),
        ("helper", &["uses.js:6 call confirmed lib.js:3"]),
        (
            "log.js:info",
            &[
                "log.js:3 call confirmed log.js:2",
                "more.js:2 value confirmed log.js:2",
                "more.js:6 call confirmed log.js:2",
                "more.js:7 call confirmed log.js:2",
                "passed.js:2 value confirmed log.js:2",
            ],
        ),
        ("warn", &["more.js:8 call confirmed log.js:3"]),
        ("Store", &["more.js:9 construct confirmed store.js:1"]),
        ("Made", &["more.js:10 construct confirmed made.js:1", "more.js:11 construct confirmed made.js:1"]),
    ]);
    judged
        .write("base.js", "class Base {\n  step() {}\n}\nclass Alone {\n  go() {}\n}\nmodule.exports = { Base };\nexports.Alone = Alone;\n")
        .write(
            "below.js",
            "const { Base } = require('./base');\nclass Below extends Base {\n  step() {}\n}\nnew Base().step();\n",
        );
    judged.check_callers(&[("Alone.go", &[]), ("Base.step", &["below.js:5 call confirmed base.js:2"])]);
}
