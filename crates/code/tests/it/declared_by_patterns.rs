//! Names declared by patterns: Python tuples, TypeScript destructuring.

use expect_test::expect;

use crate::projects;

#[test]
fn python() {
    let Some(judged) = projects::python() else { return };
    judged
        .write(
            "geo.py",
            "WIDTH, (HEIGHT, *REST) = 1, (2, 3)\nwith open(\"x\") as FILE:\n    pass\nif (SIZE := 3):\n    pass\nfor EACH in []:\n    pass\n\
             class Shape:\n    low, high = 1, 2\n\ndef parse(x): return x\n\nclass Reader:\n    parse = staticmethod(parse)\n",
        )
        .write("uses.py", "from geo import HEIGHT, SIZE, EACH, Shape\nprint(HEIGHT, SIZE, EACH, Shape.high)\n");
    let said = ["HEIGHT", "SIZE", "EACH", "Shape.high", "geo.py:parse"].map(|name| judged.verdicts("find_uses", name));
    expect![[r#"
        HEIGHT final
          uses.py:1 import confirmed geo.py:1
          uses.py:2 value confirmed geo.py:1
        SIZE final
          uses.py:1 import confirmed geo.py:4
          uses.py:2 value confirmed geo.py:4
        EACH final
          uses.py:1 import confirmed geo.py:6
          uses.py:2 value confirmed geo.py:6
        Shape.high final
          uses.py:2 field_read confirmed geo.py:9
        geo.py:parse final
          geo.py:14 value confirmed geo.py:14
    "#]]
    .assert_eq(&said.concat());
}

#[test]
fn typescript() {
    let Some(judged) = projects::typescript() else { return };
    judged
        .write(
            "geo.ts",
            "const slice = { actions: { reset() {}, more() {} } };\nexport const { reset, more: again } = slice.actions;\n\
             export const [first, second] = [() => 1, () => 2];\nexport class Point { constructor(readonly id: number) {} }\n",
        )
        .write(
            "uses.ts",
            "import { again, first, Point, reset } from './geo';\nreset();\nagain();\nfirst();\nnew Point(1).id;\n",
        );
    let said = ["geo.ts:reset", "again", "first", "Point.id"].map(|name| judged.verdicts("find_uses", name));
    expect![[r#"
        geo.ts:reset final
          geo.ts:2 value confirmed geo.ts:1
          uses.ts:1 import confirmed geo.ts:2
          uses.ts:2 call confirmed geo.ts:2
        again final
          uses.ts:1 import confirmed geo.ts:2
          uses.ts:3 call confirmed geo.ts:2
        first final
          uses.ts:1 import confirmed geo.ts:3
          uses.ts:4 call confirmed geo.ts:3
        Point.id final
          uses.ts:5 field_read confirmed geo.ts:4
    "#]]
    .assert_eq(&said.concat());
}
