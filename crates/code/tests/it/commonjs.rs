//! Exports of CommonJS modules, under any name that importers use.

use expect_test::expect;

use crate::projects;

#[test]
fn what_a_module_is_as_a_whole() {
    let Some(judged) = projects::javascript() else { return };
    judged
        .write("slug.js", "function slugify(s) { return s; }\nmodule.exports = slugify;\n")
        .write("mailer.js", "class Mailer { send() {} }\nmodule.exports = Mailer;\n")
        .write("form.js", "module.exports = function format(x) { return x; };\n")
        .write("lib/index.js", "module.exports = require('../slug');\n")
        .write("lib/deep.js", "const again = require('.');\nagain('c');\n")
        .write(
            "main.js",
            "const toSlug = require('./slug');\nconst Mail = require('./mailer');\nconst all = { slug: require('./slug') };\n\
             toSlug('a');\nnew Mail().send();\nclass Quick extends Mail {}\nall.slug('b');\nrequire('./form')(1);\n\
             const fmt = require('./form');\nfmt(2);\n",
        );
    let said = ["slugify", "Mailer", "format"].map(|name| judged.verdicts("find_uses", name));
    expect![[r#"
        slugify open
          lib/deep.js:1 import undecided -
          lib/deep.js:2 call confirmed slug.js:1
          main.js:1 import confirmed slug.js:1
          main.js:3 field_write confirmed slug.js:1
          main.js:4 call confirmed slug.js:1
          main.js:7 call confirmed slug.js:1
          slug.js:2 export confirmed slug.js:1
        Mailer final
          mailer.js:2 export confirmed mailer.js:1
          main.js:2 import confirmed mailer.js:1
          main.js:5 construct confirmed mailer.js:1
          main.js:6 type confirmed mailer.js:1
        format open
          main.js:9 import confirmed form.js:1
          main.js:10 call confirmed form.js:1
    "#]]
    .assert_eq(&said.concat());
}

#[test]
fn modules_that_pass_on_all_that_another_has() {
    let Some(judged) = projects::javascript() else { return };
    judged
        .write("one.js", "function deepFn(x) { return x; }\nmodule.exports = { deep: deepFn };\n")
        .write("two.js", "module.exports = { ...require('./one') };\n")
        .write("three.js", "const two = require('./two');\ntwo.deep(1);\n")
        .write("four.js", "module.exports = require('./one');\n")
        .write("five.js", "require('./four').deep(6);\n")
        .write("six.js", "const six = { deep() {} };\nsix.deep();\n");
    expect![[r#"
        deepFn final
          five.js:1 call confirmed one.js:1
          one.js:2 field_write confirmed one.js:1
          one.js:2 export confirmed one.js:1
          three.js:2 call confirmed one.js:1
    "#]]
    .assert_eq(&judged.verdicts("find_uses", "deepFn"));
}

#[test]
fn names_on_both_sides() {
    let Some(judged) = projects::javascript() else { return };
    judged
        .write(
            "mail.js",
            "exports.send = function send(to) { return to; };\nfunction add() {}\nclass Acc {}\n\
             Object.assign(exports, { other: 1 });\nexports.deliver = exports.send;\n\
             module.exports.api = { add: add, Acc: Acc };\n",
        )
        .write("calc.js", "function sub() {}\nclass Sum {}\nmodule.exports = { sub: sub, Sum: Sum };\n")
        .write("barrel.js", "module.exports = { Sum: require('./calc').Sum };\n")
        .write(
            "main.js",
            "const mail = require('./mail');\nconst { send } = require('./mail');\nconst { sub } = require('./calc');\n\
             const { Sum } = require('./barrel');\nconst lib = require('./barrel');\n\
             [1].map(mail.send);\n[1].map(send);\n[1].map(sub);\nnew Sum();\nnew lib.Sum();\nclass More extends Sum {}\n",
        );
    let said = ["send", "sub", "Sum"].map(|name| judged.verdicts("find_uses", name));
    expect![[r#"
        send final
          mail.js:1 field_write confirmed mail.js:1
          mail.js:5 value confirmed mail.js:1
          main.js:2 import confirmed mail.js:1
          main.js:6 value confirmed mail.js:1
          main.js:7 value confirmed mail.js:1
        sub final
          calc.js:3 field_write confirmed calc.js:1
          calc.js:3 export confirmed calc.js:1
          main.js:3 import confirmed calc.js:1
          main.js:8 value confirmed calc.js:1
        Sum final
          barrel.js:1 field_write confirmed calc.js:2
          barrel.js:1 value confirmed calc.js:2
          calc.js:3 field_write confirmed calc.js:2
          calc.js:3 export confirmed calc.js:2
          main.js:4 import confirmed calc.js:2
          main.js:9 construct confirmed calc.js:2
          main.js:10 construct confirmed calc.js:2
          main.js:11 type confirmed calc.js:2
    "#]]
    .assert_eq(&said.concat());
}

#[test]
fn bases_that_are_required_from_elsewhere() {
    let Some(judged) = projects::javascript() else { return };
    judged
        .write("user.js", "class User { save() {} }\nmodule.exports = User;\n")
        .write("bus.js", "const { EventEmitter } = require('events');\nclass Hub extends EventEmitter {}\n")
        .write("main.js", "const User = require('./user');\nnew User().save();\n");
    expect![[r#"
        User.save final
          main.js:2 call confirmed user.js:1
    "#]]
    .assert_eq(&judged.verdicts("find_callers", "User.save"));
}
