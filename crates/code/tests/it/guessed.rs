//! Objects of which a judge guesses the class: a default that others put something else in the place of.

use expect_test::expect;

use crate::projects;

#[test]
fn python() {
    let Some(judged) = projects::python() else { return };
    judged.write(
        "geo.py",
        "class Disk:\n    def put(self): pass\n\
         class Fake:\n    def put(self): pass\n\
         class Kept:\n    def __init__(self, store=None, other=Disk()):\n        self.store = store or Disk()\n        self.other = other\n        self.own = Disk()\n\n\
         \x20   def go(self, flag: bool):\n        self.store.put()\n        self.other.put()\n        self.own.put()\n        one = Disk() if flag else None\n        if one:\n            one.put()\n\n\
         def save(store=Disk()):\n    store.put()\n\n\
         def typed(store: Disk = Disk()):\n    store.put()\n",
    );
    expect![[r#"
        Fake.put open
          geo.py:12 call undecided -
          geo.py:13 call undecided -
          geo.py:14 call refuted -
          geo.py:17 call refuted -
          geo.py:20 call undecided -
          geo.py:23 call refuted -
    "#]]
    .assert_eq(&judged.told("find_callers", "Fake.put"));
}

#[test]
fn javascript() {
    let Some(judged) = projects::javascript() else { return };
    judged.write(
        "geo.js",
        "class Disk { put() {} }\nclass Fake { put() {} more() {} }\n\
         class Kept {\n  constructor(store = new Disk()) {\n    this.store = store;\n    this.own = new Disk();\n  }\n  go() {\n    this.store.put();\n    this.own.put();\n  }\n}\n\
         function save(k, { store = new Disk() } = {}) {\n  store.put();\n}\n\
         const disk = new Disk();\ndisk.put();\n/** @param {{ put(): void }} one */\nfunction shown(one) {\n  one.put();\n}\n",
    );
    expect![[r#"
        Fake.put open
          geo.js:9 call undecided -
          geo.js:10 call undecided -
          geo.js:14 call undecided -
          geo.js:17 call refuted -
          geo.js:20 call undecided -
    "#]]
    .assert_eq(&judged.told("find_callers", "Fake.put"));
}
