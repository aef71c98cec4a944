//! A class may meet an interface without naming it: a call through the interface may run its method, and no judge tells.

use expect_test::expect;

use crate::projects;

#[test]
fn python() {
    let Some(judged) = projects::python() else { return };
    judged.write(
        "geo.py",
        "from typing import Protocol\n\n\
         class Drawn(Protocol):\n    def draw(self): ...\n    def size(self): ...\n\n\
         class Shape:\n    def draw(self): pass\n    def size(self): pass\n\n\
         class Half:\n    def draw(self): pass\n\n\
         class Below(Half):\n    def draw(self): pass\n\n\
         def through(one: Drawn):\n    one.draw()\n\n\
         Half().draw()\n",
    );
    judged.check_open(&[("Shape.draw", &["geo.py:18 call undecided -", "geo.py:20 call refuted -"])]);
    // They have no `size`, and no base that has it; `Half()` is no `Below`.
    judged.check_callers(&[
        ("Below.draw", &["geo.py:18 call refuted -", "geo.py:20 call refuted -"]),
        ("Half.draw", &["geo.py:18 call refuted -", "geo.py:20 call confirmed geo.py:12"]),
    ]);
}

#[test]
fn typescript() {
    let Some(judged) = projects::typescript() else { return };
    judged.write(
        "geo.ts",
        "interface Drawn {\n  draw(): void;\n  size: number;\n  name?: string;\n}\n\
         class Shape {\n  size = 1;\n  draw() {}\n}\n\
         class Half {\n  draw() {}\n}\n\
         type Only = { draw(): void };\n\
         class Sized { size = 1 }\nclass Below extends Sized implements Only {\n  draw() {}\n}\n\
         class Beside extends Half implements Only {\n  draw() {}\n}\n\
         function through(one: Drawn, only: Only) {\n  one.draw();\n  only.draw();\n}\n\
         through(new Shape(), new Half());\n\
         new Half().draw();\n",
    );
    let through = ["geo.ts:22 call undecided -", "geo.ts:23 call undecided -", "geo.ts:26 call refuted -"];
    judged.check_open(&[("Shape.draw", &through)]);
    let through = ["geo.ts:22 call refuted -", "geo.ts:23 call undecided -", "geo.ts:26 call confirmed geo.ts:11"];
    judged.check_open(&[("Half.draw", &through)]);
    // Its base has what it lacks.
    let only = "geo.ts:23 call confirmed geo.ts:16 interface";
    judged.check_open(&[("Below.draw", &["geo.ts:22 call undecided -", only, "geo.ts:26 call refuted -"])]);
    let only = "geo.ts:23 call confirmed geo.ts:19 interface";
    let half = "geo.ts:26 call refuted -";
    judged.check_callers(&[("Beside.draw", &["geo.ts:22 call refuted -", only, half])]);
    judged.write(
        "double.ts",
        "class Api {\n  static made() {}\n  constructor() {}\n  fetch() {}\n}\n\
         class Fake {\n  fetch() {}\n}\n\
         class Own {\n  private held = 1;\n  fetch() {}\n}\n\
         function run(api: Api, own: Own) {\n  api.fetch();\n  own.fetch();\n}\n\
         run(new Fake(), new Own());\n",
    );
    judged.check_open(&[("Fake.fetch", &["double.ts:14 call undecided -", "double.ts:15 call refuted -"])]);
}

#[test]
fn members_that_count_and_those_that_do_not() {
    let Some(judged) = projects::typescript() else { return };
    judged.write(
        "geo.ts",
        "class Logger {\n  public static level = 'info';\n  info() {}\n}\n\
         class Fake { lines = 1; info() {} }\nfunction work(log: Logger) { log.info(); }\nwork(new Fake());\n\
         interface Cfg { db: { host: string }; boot(): void }\nclass App { constructor(readonly db: { host: string }) {} boot() {} }\n\
         function start(cfg: Cfg) { cfg.boot(); }\n\
         interface User { id: string; email: string }\ninterface Product { id: string; price: number }\n\
         function show(user: User, product: Product) { return [user.id, product.id]; }\n\
         const data = new Map<string, string>();\nconst store = { clear() { data.clear(); } };\nstore.clear();\n",
    );
    let said = [("find_callers", "Fake.info"), ("find_callers", "App.boot"), ("find_uses", "User.id")];
    let of_store = judged.told("find_callers", "clear");
    expect![[r#"
        Fake.info open
          geo.ts:6 call undecided -
        App.boot open
          geo.ts:10 call undecided -
        User.id final
          geo.ts:12 binding refuted -
          geo.ts:13 field_read confirmed geo.ts:11
          geo.ts:13 field_read refuted -
        clear final
          geo.ts:15 call refuted -
          geo.ts:16 call confirmed geo.ts:15
    "#]]
    .assert_eq(&(said.map(|(tool, name)| judged.told(tool, name)).concat() + &of_store));
}
