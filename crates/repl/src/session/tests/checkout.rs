//! Starting a session in a checkout must not run code from the checkout.

use std::path::Path;
use std::process::Command;

use super::pieces::session;
use super::*;
use crate::result::Status;

/// Modules that a start could load: those that Python itself, its `site` and our driver import, directly or not.
const MODULES: &[&str] = &[
    "_ast",
    "_bootlocale",
    "_collections_abc",
    "_colorize",
    "_frozen_importlib",
    "_signal",
    "_sitebuiltins",
    "abc",
    "ast",
    "builtins",
    "codecs",
    "collections",
    "contextlib",
    "copyreg",
    "encodings",
    "enum",
    "functools",
    "genericpath",
    "importlib",
    "io",
    "itertools",
    "json",
    "keyword",
    "linecache",
    "operator",
    "os",
    "posix",
    "posixpath",
    "re",
    "reprlib",
    "runpy",
    "signal",
    "site",
    "sitecustomize",
    "sre_compile",
    "stat",
    "string",
    "sys",
    "sysconfig",
    "textwrap",
    "threading",
    "token",
    "tokenize",
    "traceback",
    "types",
    "unicodedata",
    "usercustomize",
    "warnings",
    "weakref",
    "zipimport",
];

/// Creates a directory full of modules that report when they run.
fn hostile() -> tempfile::TempDir {
    let temp = tempfile::tempdir().expect("room");
    for module in MODULES {
        let text =
            "open('ran', 'ab').write(__name__.encode() + b'\\n')\nprint('hostile', __name__)\nraise SystemExit(66)\n";
        std::fs::write(temp.path().join(format!("{module}.py")), text).expect("room");
    }
    for name in ["pyvenv.cfg", "evil.pth", "python311._pth", "pybuilddir.txt"] {
        std::fs::write(temp.path().join(name), "home = .\nimport sitecustomize\n").expect("room");
    }
    for name in [".bashrc", ".bash_profile", ".profile", ".inputrc", "bashrc", ".pythonrc", ".pythonstartup.py"] {
        std::fs::write(temp.path().join(name), "echo hostile >> ran\n").expect("room");
    }
    temp
}

fn ran(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("ran")).unwrap_or_default()
}

/// Returns the names of all installed versions of Python.
fn pythons() -> Vec<String> {
    let names = (8..=14).map(|minor| format!("python3.{minor}")).chain(["python3".to_owned()]);
    let works = |name: &String| Command::new(name).arg("--version").output().is_ok_and(|ran| ran.status.success());
    names.filter(works).collect()
}

fn python(name: &str, options: &[&str], cwd: &Path, env: &[(&str, &str)]) -> Handle {
    let mut command = vec![name];
    command.extend(options);
    command.push(process::GIVEN_PATH);
    let mut setup = setup(&command, cwd, Arc::new(crate::adapter::python::Python));
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    setup.launch.env.extend(env.chain([("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned())]));
    start(setup, log()).expect("it starts")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_imports_nothing_of_the_project_while_it_starts() {
    let found = pythons();
    println!("{found:?}");
    assert!(!found.is_empty(), "python3 is installed");
    // At once: each Python has its own directory.
    let mut checks = tokio::task::JoinSet::new();
    for name in found {
        // The option exists since 3.11.
        let minor = name.rsplit('.').next().and_then(|minor| minor.parse::<u32>().ok());
        let safe: &[&str] = if minor.is_some_and(|minor| minor > 10) { &["-P"] } else { &[] };
        for options in [&[][..], &["-S"], &["-I"], &["-E", "-s"], safe] {
            let name = name.clone();
            checks.spawn(async move { imports_nothing_while_it_starts(&name, options).await });
        }
    }
    while let Some(checked) = checks.join_next().await {
        checked.expect("it was checked");
    }
}

async fn imports_nothing_while_it_starts(name: &str, options: &[&str]) {
    let temp = hostile();
    let session = python(name, options, temp.path(), &[("PYTHONSTARTUP", ".pythonstartup.py")]);
    // Exercise every feature of the driver: values, traces, locations of errors, children.
    for (code, expected) in [
        ("6 * 7", r#"done | "" | """#),
        ("print('out')", r#"done | "out\n" | """#),
        ("None.x", "error"),
        ("def f(x\n =", "error"),
        ("raise ExceptionGroup('g', [ValueError()])", "error"),
        ("try:\n    1 / 0\nexcept Exception as e:\n    e.y = 1\n    raise e from None", "error"),
    ] {
        let result = eval(&session, code).await;
        assert!(line(&result).starts_with(expected), "{name} {options:?}: {code}: {result:?}");
        assert!(result.exception.is_none_or(|text| text.contains(": ")), "{name} {options:?}: {code}");
    }
    assert_eq!(ran(temp.path()), "", "{name} {options:?}");
    // Imports of the code itself behave as in bare Python.
    if !options.contains(&"-I") && !options.contains(&"-P") {
        let exit = eval(&session, "import json").await;
        assert_eq!((exit.status, exit.stdout.as_str()), (Status::Exited, "hostile json\n"), "{name} {options:?}");
        assert_eq!(ran(temp.path()), "json\n");
    }
    session.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_sees_what_a_bare_one_sees() {
    // Run by both. Modules compiled into Python cannot be shadowed by a file, so their importer does not matter.
    let code = "import sys\n\
                found = sorted(n for n, m in list(sys.modules.items()) if getattr(m, '__file__', None) and n != '__main__')\n\
                names = sorted(n for n in globals() if n not in ('found', 'sys', '__file__', '__cached__'))\n\
                print(sys.path, sys.argv, [type(f) for f in sys.meta_path], sys.flags, found, names, __name__, __spec__)\n\
                print(getattr(sys, 'orig_argv', [])[1:], 'HOB_CODE_FD' in __import__('os').environ)\n\
                print(sorted(key for key in sys.path_importer_cache if 'fd' in key))\n\
                import json, ast, signal, traceback, linecache, re, collections.abc, threading\n\
                print(json.__file__, ast.__file__, signal.__file__, traceback.__file__, re.compile('x').match('x'))\n\
                print(type(signal.SIGINT), isinstance([], collections.abc.Sequence), threading.main_thread().name)";
    let mut checks = tokio::task::JoinSet::new();
    for name in pythons() {
        for path in [None, Some("sub:"), Some(".")] {
            let name = name.clone();
            checks.spawn(async move { sees_what_a_bare_one_sees(&name, path, code).await });
        }
    }
    while let Some(checked) = checks.join_next().await {
        checked.expect("it was checked");
    }
}

async fn sees_what_a_bare_one_sees(name: &str, path: Option<&str>, code: &str) {
    let temp = tempfile::tempdir().expect("room");
    std::fs::create_dir(temp.path().join("sub")).expect("room");
    std::fs::write(temp.path().join("sub/linecache.py"), "").expect("room");
    let env: Vec<(&str, &str)> = path.map(|path| ("PYTHONPATH", path)).into_iter().collect();
    let session = python(name, &[], temp.path(), &env);
    let ours = eval(&session, code).await;
    assert_eq!(ours.status, Status::Done, "{name}: {ours:?}");
    // Reading the program from a pipe is closest to a prompt.
    let mut bare = Command::new(name);
    bare.current_dir(temp.path()).env_clear().stdin(std::process::Stdio::piped());
    let kept = ["PATH", "HOME"].map(|name| (name, std::env::var(name).unwrap_or_default()));
    bare.envs(kept).envs(env).env("LC_ALL", "C.UTF-8").env("PYTHONDONTWRITEBYTECODE", "1");
    let mut bare = bare.stdout(std::process::Stdio::piped()).spawn().expect("it is installed");
    std::io::Write::write_all(&mut bare.stdin.take().expect("a pipe"), code.as_bytes()).expect("it reads");
    let bare = String::from_utf8(bare.wait_with_output().expect("it ends").stdout).expect("text");
    // Ours may also have `linecache`, so that traces printed by code show its lines.
    let without = |text: &str| text.replace(" 'linecache',", "");
    assert_eq!(without(&ours.stdout), without(&bare), "{name}, PYTHONPATH={path:?}");
    session.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_reads_nothing_of_the_project_while_it_starts() {
    let temp = hostile();
    std::fs::write(temp.path().join("env.sh"), "echo hostile >> ran\n").expect("room");
    // These variables of the caller affect a non-interactive shell, or an interactive one.
    let session = session("bash", temp.path(), &[("BASH_ENV", "env.sh"), ("ENV", "env.sh"), ("INPUTRC", ".inputrc")]);
    assert_eq!(line(&eval(&session, "echo fine").await), r#"done | "fine\n" | """#);
    assert_eq!(ran(temp.path()), "");
    session.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ghci_reads_nothing_of_the_project_while_it_starts() {
    let temp = hostile();
    std::fs::write(temp.path().join(".ghci"), ":! echo hostile >> ran\n").expect("room");
    // GHC loads the libraries that the file names, and these can run anything.
    let version = Command::new("ghc").arg("--numeric-version").output().expect("it runs").stdout;
    let version = String::from_utf8(version).expect("a number");
    let name = format!(".ghc.environment.{}-linux-{}", std::env::consts::ARCH, version.trim());
    std::fs::write(temp.path().join(name), "package-id hostile-1\n").expect("room");
    let session = session("ghci", temp.path(), &[]);
    assert_eq!(line(&eval(&session, "6 * 7").await), r#"done | "42\n" | """#);
    assert_eq!(ran(temp.path()), "");
    // The file is available on request.
    eval(&session, ":script .ghci").await;
    assert_eq!(ran(temp.path()), "hostile\n");
    session.stop("the test is over").await;
}
