//! Overrides that the server does not report, found through the bases of classes: Python class variables, static
//! members in JavaScript, methods of C++ templates. Also variables that hold a class.

use expect_test::expect;

use crate::projects;

#[test]
fn class_variables_of_python() {
    let Some(judged) = projects::python() else { return };
    judged.write(
        "view.py",
        "class View:\n    template = \"base\"\n    on_event = None\n    def render(self):\n        if self.on_event:\n            self.on_event()\n        return self.template\n\n\
         class Home(View):\n    template = \"home\"\n    def on_event(self): pass\n    @classmethod\n    def load(cls): pass\n\n\
         class Near(Home):\n    @classmethod\n    def load(cls): return super(Near, cls).load()\n\n\
         def show(view: View): return view.template\n\n\
         def run(Model: type[Home]): Model.load()\n\n\
         Home.load()\nHome().on_event()\nView.template\n",
    );
    let said = ["Home.template", "Home.on_event", "Near.load"].map(|name| judged.verdicts("find_uses", name));
    expect![[r#"
        Home.template final
          view.py:2 binding refuted -
          view.py:7 field_read confirmed view.py:10 interface
          view.py:19 field_read confirmed view.py:10 interface
          view.py:25 field_read refuted -
        Home.on_event final
          view.py:3 binding confirmed view.py:11 interface
          view.py:5 value confirmed view.py:11 interface
          view.py:6 call confirmed view.py:11 interface
          view.py:24 call confirmed view.py:11
        Near.load final
          view.py:13 binding confirmed view.py:17 interface
          view.py:17 call refuted -
          view.py:21 call confirmed view.py:17 interface
          view.py:23 call refuted -
    "#]]
    .assert_eq(&said.concat());
}

#[test]
fn static_members_of_javascript() {
    let Some(judged) = projects::typescript() else { return };
    judged
        .write(
            "model.ts",
            "export class Model {\n  private kept = 1;\n  static table() { return ''; }\n  static all() { return this.table(); }\n  save() {}\n}\n\
             export class User extends Model {\n  static override table() { return 'users'; }\n  override save() {}\n}\n",
        )
        .write(
            "uses.ts",
            "import { Model, User } from './model';\n\
             export function load(M: typeof Model) { return M.table(); }\n\
             export function make(M: typeof Model) { new M().save(); }\n\
             Model.table();\nnew Model().save();\nconst user = new User();\nuser.save();\n\
             const some: Model = new User();\nsome.save();\n",
        );
    let said = ["User.table", "User.save", "Model.save"].map(|name| judged.verdicts("find_callers", name));
    expect![[r#"
        User.table final
          model.ts:4 call confirmed model.ts:8 interface
          uses.ts:2 call confirmed model.ts:8 interface
          uses.ts:4 call refuted -
        User.save final
          uses.ts:3 call confirmed model.ts:9 interface
          uses.ts:5 call refuted -
          uses.ts:7 call confirmed model.ts:9
          uses.ts:9 call confirmed model.ts:9 interface
        Model.save final
          uses.ts:3 call confirmed model.ts:5
          uses.ts:5 call confirmed model.ts:5
          uses.ts:7 call refuted -
          uses.ts:9 call confirmed model.ts:5
    "#]]
    .assert_eq(&said.concat());
}

#[test]
fn methods_of_templates_of_cpp() {
    let Some(judged) = projects::c(&["uses.cpp"]) else { return };
    judged
        .write(
            "geo.hpp",
            "template <class T> struct Handler { virtual int handle(T t) { return 0; } };\n\
             struct Ints : Handler<int> { int handle(int t) override; };\n\
             struct Other { int handle(int t) { return t; } };\n\
             struct Base { virtual void go() {} };\nstruct Derived : Base { void go() override {} };\n\
             typedef Base& Ref;\n#define MADE made()\n",
        )
        .write(
            "uses.cpp",
            "#include \"geo.hpp\"\nint Ints::handle(int t) { return t; }\nBase& made();\n\
             int run(Handler<int>& h, Other& o) {\n  o.handle(1);\n  return h.handle(1);\n}\n\
             void all(Ref r, Base b) {\n  r.go();\n  MADE.go();\n  b.go();\n  auto m = &Base::go;\n}\n",
        );
    let said = ["Ints::handle", "Derived::go"].map(|name| judged.verdicts("find_callers", name));
    expect![[r#"
        Ints::handle open
          uses.cpp:5 call refuted -
          uses.cpp:6 call undecided -
        Derived::go final
          uses.cpp:9 call confirmed geo.hpp:5 interface
          uses.cpp:10 call confirmed geo.hpp:5 interface
          uses.cpp:11 call refuted -
          uses.cpp:12 value confirmed geo.hpp:5 interface
    "#]]
    .assert_eq(&said.concat());
}
