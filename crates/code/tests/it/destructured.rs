//! Members that a pattern takes out of an object, and what CommonJS gives by an object.

use serde_json::json;

use crate::judged::sites;
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
fn an_object_of_commonjs_gives_what_it_names() {
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
        );
    let exported = "lib.js:4 value confirmed";
    judged.check_callers(&[
        ("Conn", &[&format!("{exported} lib.js:1"), "uses.js:3 construct confirmed lib.js:1"]),
        ("Queue", &[&format!("{exported} lib.js:2"), "uses.js:4 construct confirmed lib.js:2"]),
        (
            "helper",
            &[
                &format!("{exported} lib.js:3"),
                "uses.js:5 call confirmed lib.js:3",
                "uses.js:6 call confirmed lib.js:3",
            ],
        ),
    ]);
}
