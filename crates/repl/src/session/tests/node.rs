//! Node sessions in packages of each kind, and what only Node has.

use std::path::Path;

use expect_test::{Expect, expect};

use super::profiles::{line, session_in};
use super::{LONG, eval};
use crate::result::Status;
use crate::session::{EvalRequest, Handle};

/// Creates a package with these files.
fn package(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("below the folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    folder
}

/// Checks the results of some evaluations, one after the other, without the folder's path.
async fn check(session: &Handle, folder: &Path, codes: &[&str], expected: Expect) {
    let folder = folder.canonicalize().expect("it exists").display().to_string();
    let mut shown = Vec::new();
    for code in codes {
        let result = eval(session, code).await;
        let notes: String = result.notes.iter().map(|note| format!("\n  note: {note}")).collect();
        shown.push(format!("{}{notes}", line(&result).replace(&folder, "DIR")));
    }
    expected.assert_eq(&shown.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commonjs_package() {
    let folder = package(&[
        ("package.json", r#"{"name": "shop"}"#),
        ("geo.js", "exports.area = (r) => Math.PI * r ** 2;\nexports.fail = () => null.x;\n"),
        ("sizes.json", r#"{"small": 2}"#),
        ("node_modules/left/package.json", r#"{"name": "left", "main": "main.js"}"#),
        ("node_modules/left/main.js", "module.exports = (text) => text.trimStart();"),
    ]);
    let session = session_in("node", folder.path());
    let codes = [
        "const { area, fail } = require('./geo');\narea(1).toFixed(3)",
        "const left = require('left'); left('  x')",
        "require('./sizes.json').small",
        "fail()",
        "import { area as again } from './geo.js'\nagain === area",
        "(await import('./geo.js')).default.area === area",
        "try { require('./missing') } catch (error) { error.code }",
    ];
    check(&session, folder.path(), &codes, expect![[r#"
        done | "" | "" = '3.142'
        done | "" | "" = 'x'
        done | "" | "" = 2
        error | "" | "TypeError: Cannot read properties of null (reading 'x')\n    at exports.fail (DIR/geo.js:2:27)\n    at <eval 4>:1:1\n"
        done | "" | "" = true
        done | "" | "" = true
        done | "" | """#]]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_esm_package() {
    let geo = "export const unit = 'm';\nexport default function area(r) { return 3 * r; }\nexport const fail = () => null.x;\n";
    let folder = package(&[
        ("package.json", r#"{"name": "shop", "type": "module"}"#),
        ("src/geo.js", geo),
        ("slow.js", "await new Promise((done) => setTimeout(done, 1));\nexport const slow = 7;\n"),
        ("sizes.json", r#"{"small": 2}"#),
    ]);
    let session = session_in("node", folder.path());
    let codes = [
        "import area, { unit as u } from './src/geo.js';\nimport * as geo from './src/geo.js'\n`${area(2)} ${u} ${geo.unit}`",
        "import { slow } from './slow.js'; slow",
        "import sizes from './sizes.json' with { type: 'json' };\nsizes.small",
        "import { readFileSync } from 'node:fs'\nreadFileSync('sizes.json', 'utf8')",
        "import {\n  fail,\n} from './src/geo.js';\n\nfail()",
        "import { none } from './src/geo.js'",
        "import x from './missing.js'",
        "require('fs') === (await import('fs')).default",
        "export const five = 5;\nexport class Shape {}",
        "[five, new Shape()]",
    ];
    check(&session, folder.path(), &codes, expect![[r#"
        done | "" | "" = '6 m m'
        done | "" | "" = 7
        done | "" | "" = 2
        done | "" | "" = '{"small": 2}'
        error | "" | "TypeError: Cannot read properties of null (reading 'x')\n    at fail (file://DIR/src/geo.js:3:32)\n    at <eval 5>:5:10\n"
        error | "" | "SyntaxError: The module './src/geo.js' does not provide an export named 'none'\n"
        error | "" | "Error: Cannot find module 'DIR/missing.js' imported from DIR/ {\n  code: 'ERR_MODULE_NOT_FOUND',\n  url: 'file://DIR/missing.js'\n}\n"
        done | "" | "" = true
        done | "" | ""
        done | "" | "" = [ 5, Shape {} ]"#]]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_typescript_package() {
    let folder = package(&[
        ("package.json", r#"{"name": "shop", "type": "module"}"#),
        ("tsconfig.json", "{}"),
        ("geo.ts", "export interface Circle { r: number }\nexport const area = (c: Circle): number => 3 * c.r;\n"),
    ]);
    let session = session_in("node", folder.path());
    let strips = eval(&session, "typeof require('module').stripTypeScriptTypes").await;
    if strips.value.as_deref() == Some("'function'") {
        let codes = [
            "import { area, type Circle } from './geo.ts';\nconst c: Circle = { r: 2 };\narea(c)",
            "function same<T>(value: T): T { return value }\nsame<number>(5) as number",
            "enum Size { Small = 1, Large }\nSize.Large",
            "type Name = string;\nlet name: Name = 'x'\nname!.length",
            "let wrong: number = (1 +",
        ];
        check(
            &session,
            folder.path(),
            &codes,
            expect![[r#"
            done | "" | "" = 6
            done | "" | "" = 5
            done | "" | "" = 2
            done | "" | "" = 1
            error | "" | "<eval 6>:1\nlet wrong: number = (1 +\n         ^\nSyntaxError: Unexpected token ':'\n""#]],
        )
        .await;
    } else {
        let result = eval(&session, "const n: number = 1").await;
        assert_eq!(result.exception.as_deref(), Some("SyntaxError: Missing initializer in const declaration"));
        let note = result.notes.join("\n");
        assert!(note.ends_with("cannot remove TypeScript types; Node 22.13 and newer can."), "{note}");
        // The same in a package of JavaScript, if the code or an imported file is TypeScript.
        let folder = package(&[("package.json", "{}"), ("geo.ts", "export const n: number = 1")]);
        let session = session_in("node", folder.path());
        for (code, has_note) in [
            ("interface Point { x: number }", true),
            ("function f(x: string) { return x }", true),
            ("await import('./geo.ts')", true),
            ("let x = (", false),
            ("throw new SyntaxError('x')", false),
        ] {
            let result = eval(&session, code).await;
            assert_eq!(result.notes.iter().any(|note| note.contains("22.13")), has_note, "{code}: {result:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definitions_stay_and_can_be_made_again() {
    let folder = package(&[("package.json", "{}")]);
    let session = session_in("node", folder.path());
    let codes = [
        "const a = 1",
        "const a = 2; let b = a",
        "let a = 3, b; class C {}; [a, b]",
        "class C { size = 1 }\nnew C()",
        "const { q, ...rest } = await { q: 1, s: 2 }, [first] = [7]; [q, rest, first]",
        "async function later() { return a }\nawait later()",
        "const a = 4; later()",
        "const crypto = require('crypto'); typeof crypto.createHash",
        "{ a: 1 }",
        "let total = 0; for await (const n of [1, 2]) total += n\ntotal",
        "for (const n of [1, 2]) n",
        "",
    ];
    check(
        &session,
        folder.path(),
        &codes,
        expect![[r#"
        done | "" | ""
        done | "" | ""
        done | "" | "" = [ 3, undefined ]
        done | "" | "" = C { size: 1 }
        done | "" | "" = [ 1, { s: 2 }, 7 ]
        done | "" | "" = 3
        done | "" | "" = Promise { 4 }
        done | "" | "" = 'function'
        done | "" | "" = { a: 1 }
        done | "" | "" = 3
        done | "" | ""
        done | "" | """#]],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_show_the_frames_of_the_code() {
    let folder = package(&[("package.json", "{}")]);
    let session = session_in("node", folder.path());
    let codes = [
        "function f() {\n  return g();\n}\nfunction g() { throw new TypeError('no', { cause: new Error('why') }) }\nf()",
        "try { null.x } catch (error) { console.error(error) }",
        "async function h() { await null; throw new Error('deep') }\nawait h()",
        "throw { code: 1 }",
        "const x = 1;\nlet y = (2 +",
        "await 1; let y = 2 3",
        "setTimeout(() => { throw new Error('late') }); await new Promise((done) => setTimeout(done, 20))",
        "Promise.reject(new Error('unhandled'))",
        "1 + 1",
    ];
    check(&session, folder.path(), &codes, expect![[r#"
        error | "" | "TypeError: no\n    at g (<eval 1>:4:22)\n    at f (<eval 1>:2:10)\n    at <eval 1>:5:1 {\n  [cause]: Error: why\n      at g (<eval 1>:4:51)\n      at f (<eval 1>:2:10)\n      at <eval 1>:5:1\n}\n"
        done | "" | "TypeError: Cannot read properties of null (reading 'x')\n    at <eval 2>:1:12\n"
        error | "" | "Error: deep\n    at h (<eval 3>:1:40)\n    at async <eval 3>:2:10\n"
        error | "" | "{ code: 1 }\n"
        error | "" | "<eval 5>:2\nSyntaxError: Unexpected end of input\n"
        error | "" | "<eval 6>:1\nawait 1; let y = 2 3\n                   ^\nSyntaxError: Unexpected token\n"
        error | "" | "Uncaught Error: late\n    at Timeout._onTimeout (<eval 7>:1:26)\n"
        error | "" | "Uncaught Error: unhandled\n    at <eval 8>:1:16\n" = Promise {
          <rejected> Error: unhandled
              at <eval 8>:1:16
        }
        done | "" | "" = 2"#]]).await;
    let failed = eval(&session, "1;\nlet z = 2 3").await;
    let [diagnostic] = &failed.diagnostics[..] else { panic!("{failed:?}") };
    assert_eq!((diagnostic.line, diagnostic.column), (Some(2), Some(11)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_is_read_in_every_way() {
    let folder = package(&[("package.json", "{}")]);
    let session = session_in("node", folder.path());
    let given = async |code: &str, stdin: &str| {
        let request = EvalRequest { stdin: Some(stdin.to_owned()), wait: LONG, ..EvalRequest::new(code) };
        let result = session.eval(request).await.expect("an answer");
        format!("{} {:?}", line(&result), result.notes)
    };
    let lines = "const all = [], lines = require('readline').createInterface({ input: process.stdin });\n\
                 for await (const line of lines) all.push(line)\nall";
    let text = "let text = ''; for await (const part of process.stdin) text += part\ntext";
    let shown = [
        given("fs.readFileSync(0, 'utf8')", "one\ntwo λ\n").await,
        given(lines, "one\ntwo\n").await,
        given(text, "three").await,
        given("require('child_process').execSync('cat', { stdio: [0, 'pipe', 2] }).toString()", "four\n").await,
        given("fs.readSync(0, Buffer.alloc(2))", "one\ntwo\n").await,
        given("1", "").await,
    ];
    expect![[r#"
        done | "" | "" = 'one\ntwo λ\n' []
        done | "" | "" = [ 'one', 'two' ] []
        done | "" | "" = 'three' []
        done | "" | "" = 'four\n' []
        done | "" | "" = 2 ["The program did not read 6 bytes of its input."]
        done | "" | "" = 1 []"#]]
    .assert_eq(&shown.join("\n"));
    // The end of input applies to one evaluation only.
    for _ in 0..2 {
        let waiting = eval(&session, text).await;
        assert_eq!(waiting.status, Status::WaitingForInput, "{waiting:?}");
        session.input("some".to_owned(), true).await.expect("it reads");
        let ended = session.wait(None, LONG, 100).await.expect("an answer");
        assert_eq!(ended.value.as_deref(), Some("'some'"), "{ended:?}");
    }
    // Nobody reads any more.
    let result = eval(&session, "await new Promise((done) => setTimeout(done, 300, 'waited'))").await;
    assert_eq!(line(&result), r#"done | "" | "" = 'waited'"#);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_output_is_whole() {
    let folder = package(&[("package.json", "{}")]);
    let session = session_in("node", folder.path());
    let code = "for (let i = 0; i < 16384; i++) console.log('x'.repeat(63)); 'y'.repeat(1 << 20)";
    let request = EvalRequest { wait: LONG, max_bytes: 4 << 20, ..EvalRequest::new(code) };
    let result = session.eval(request).await.expect("an answer");
    let printed = result.truncated.map_or(result.stdout.len() as u64, |cut| cut.stdout.total);
    assert_eq!((result.status, printed), (Status::Done, (2 << 20) + 3), "{:?}", result.notes);
    assert_eq!(line(&eval(&session, "1 + 1").await), r#"done | "" | "" = 2"#);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_changed_after_they_were_loaded_are_named() {
    let folder = package(&[("old.js", "exports.a = 1"), ("new.mjs", "export const b = 1"), ("inner.js", "")]);
    let session = session_in("node", folder.path());
    let notes = async |code: &str, value: &str| {
        let result = eval(&session, code).await;
        assert_eq!(result.value.as_deref(), Some(value), "{code}: {result:?}");
        result.notes.join("\n")
    };
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    assert_eq!(notes("const { a } = require('./old.js'); a", "1").await, "");
    assert_eq!(notes("import { b } from './new.mjs'; b", "1").await, "");
    write("inner.js", "exports.c = 1");
    write("old.js", "exports.a = 2");
    let note = "old.js changed on disk after it was loaded; repl_restart loads the new version.";
    assert_eq!(notes("a", "1").await, note);
    assert_eq!(notes("a", "1").await, "");
    write("old.js", "exports.a = 33");
    write("new.mjs", "export const b = 33");
    let note = "old.js, new.mjs changed on disk after they were loaded; repl_restart loads the new versions.";
    assert_eq!(notes("b", "1").await, note);
    assert_eq!(notes("(await import('./new.mjs?2')).b", "33").await, "");
}

/// A start reads no file of the project, whatever its name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_runs_nothing_of_the_project() {
    let harm = "require('fs').writeFileSync('ran', __filename); process.exit(66);";
    let mut files = vec![("package.json".to_owned(), r#"{"main": "index.js"}"#)];
    for name in ["acorn", "fs", "inspector", "module", "net", "util", "vm", "worker_threads"] {
        files.extend([(format!("node_modules/{name}/index.js"), harm), (format!("{name}.js"), harm)]);
    }
    files.extend(["index.js", ".noderc.js", "node.config.json", ".env"].map(|name| (name.to_owned(), harm)));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, *text)).collect();
    let folder = package(&files);
    let session = session_in("node", folder.path());
    let result = eval(&session, "await null; typeof fs.readFileSync + typeof require('vm').Script").await;
    assert_eq!(line(&result), r#"done | "" | "" = 'functionfunction'"#);
    assert!(!folder.path().join("ran").exists());
    let result = eval(&session, "require('acorn')").await;
    assert_eq!(result.status, Status::Exited, "the code itself may load it: {result:?}");
}
