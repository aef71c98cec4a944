//! Checkouts that try to run their own code when a question is asked.

use std::path::Path;
use std::sync::atomic::Ordering;

use serde_json::json;

use crate::judged_project::JudgedProject;
use crate::missing_servers::program;

/// Returns a program that leaves a mark and then runs a command.
fn marking(marks: &Path, name: &str, then: &str) -> String {
    format!("#!/bin/sh\ntouch {}/{name}\n{then}\n", marks.display())
}

/// Returns the marks of the programs that ran.
fn marks(marks: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(marks).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A crate whose build script, procedural macro and compiler each leave a mark.
fn hostile_crate(judged: &JudgedProject, place: &Path) {
    let mark = |name: &str| format!("let _ = std::fs::write({:?}, \"\");", place.join(name));
    let lure = mark("macro");
    judged.write("build.rs", format!("fn main() {{ {} }}\n", mark("build-script"))).write(
        "lure/src/lib.rs",
        format!("#[proc_macro]\npub fn lure(of: proc_macro::TokenStream) -> proc_macro::TokenStream {{ {lure} of }}\n"),
    );
    judged.write_files(
        "--- Cargo.toml\n[package]\nname = \"made\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
         [dependencies]\nlure = { path = \"lure\" }\n[workspace]\n\
         --- .cargo/config.toml\n[build]\nrustc-wrapper = \"./wrapper\"\n\
         --- lure/Cargo.toml\n[package]\nname = \"lure\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
         [lib]\nproc-macro = true\n\
         --- src/lib.rs\npub fn surface() -> u8 { 1 }\nlure::lure! { pub fn made() -> u8 { surface() } }\n\
         pub fn plain() -> u8 { surface() }\n",
    );
    program(&judged.path().join("wrapper"), &marking(place, "wrapper", "exec \"$@\""), 0o755);
}

const QUESTIONS: [&str; 4] = ["find_callers", "find_uses", "find_callees", "show_definition"];

#[test]
fn nothing_of_a_crate_runs_before_the_project_is_trusted() {
    if !testkit::has_program("rust-analyzer") || !testkit::has_program("cargo") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let judged = JudgedProject::new();
    judged.is_trusted.store(false, Ordering::Relaxed);
    hostile_crate(&judged, place.path());
    let toolchain = judged.path().canonicalize().unwrap().join("toolchain");
    for name in ["rust-analyzer", "cargo", "rustc"] {
        program(&toolchain.join("bin").join(name), &marking(place.path(), "toolchain", "exit 1"), 0o755);
    }
    judged.write("rust-toolchain.toml", format!("[toolchain]\npath = {toolchain:?}\n"));
    for tool in QUESTIONS {
        let (answer, text) = judged.ask(tool, json!({"name": "surface"})).unwrap();
        let wait = "hob does not start rust-analyzer here before you trust this project (it runs the project's build scripts, \
                    macros and toolchain): run `hob trust`";
        // A definition needs no language server.
        assert!(text.contains(wait) || tool == "show_definition" || answer["callees"] == json!([]), "{tool}: {text}");
    }
    let (answer, _) = judged.ask("find_matches", json!({"type_name": "surface"})).map_err(|_| ()).unwrap_or_default();
    assert!(answer.is_null());
    let (status, text) = judged.ask("code_status", json!({"restart": true})).unwrap();
    assert_eq!((&status["languages"][0]["state"], &status["servers"]), (&json!("not_trusted"), &json!(null)), "{text}");
    let (answer, _) = judged.ask("find_callers", json!({"name": "surface"})).unwrap();
    assert_eq!(answer["head"]["reasons"][0]["code"], "not_granted");
    assert_eq!(answer["call_sites"].as_array().map(Vec::len), Some(2), "by syntax: {answer:#}");
    assert_eq!(marks(place.path()), [""; 0]);

    // Trust is checked at the next question. Only then is the project's own toolchain used.
    judged.is_trusted.store(true, Ordering::Relaxed);
    judged.ask("find_callers", json!({"name": "surface", "wait_ms": 20_000})).unwrap();
    if std::fs::read_link(which("rust-analyzer")).is_ok_and(|real| real.ends_with("rustup")) {
        assert_eq!(marks(place.path()), ["toolchain"]);
    }
    std::fs::remove_file(judged.path().join("rust-toolchain.toml")).unwrap();
    judged.until_final("find_callers", json!({"name": "plain"}));
    judged.until_judged("find_callers", json!({"name": "surface"}));
    let ran = marks(place.path());
    assert!(["build-script", "wrapper"].iter().all(|mark| ran.iter().any(|one| one == mark)), "{ran:?}");
}

fn which(name: &str) -> std::path::PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|place| place.is_file()).unwrap()
}

/// Servers whose profile states that they run no project code need no trust, and run none.
#[test]
fn the_other_servers_run_nothing_of_a_checkout() {
    let place = tempfile::tempdir().unwrap();
    let judged = JudgedProject::new();
    judged.is_trusted.store(false, Ordering::Relaxed);
    let root = judged.path().canonicalize().unwrap();
    let marker = |name: &str| marking(place.path(), name, "exit 1");
    // Python: an interpreter, and the code it would run at startup.
    for python in ["python", "python3"] {
        program(&root.join(".venv/bin").join(python), &marker("python"), 0o755);
    }
    let pth = format!("import os; os.system('touch {}/pth')\n", place.path().display());
    judged.write(".venv/lib/python3.11/site-packages/run.pth", pth).write_files(
        "--- .venv/pyvenv.cfg\nhome = /usr/bin\nversion = 3.11.2\n\
         --- pyproject.toml\n[project]\nname = \"made\"\nversion = \"1\"\n[tool.ty.environment]\npython = \".venv\"\n\
         --- geo.py\ndef area(side):\n    return side\n\
         --- uses.py\nfrom geo import area\nx = area(1)\n",
    );
    // TypeScript: a plugin of the language service.
    let plugin =
        format!("require('fs').writeFileSync('{}/plugin', ''); module.exports = () => ({{}})", place.path().display());
    judged
        .write("node_modules/lure/index.js", plugin)
        .write("node_modules/lure/package.json", "{\"name\": \"lure\", \"version\": \"1.0.0\"}")
        .write("package.json", "{\"name\": \"made\", \"scripts\": {\"prepare\": \"touch prepared\"}}")
        .write("tsconfig.json", "{\"compilerOptions\": {\"plugins\": [{\"name\": \"lure\"}]}, \"include\": [\"*.ts\"]}")
        .write("geo.ts", "export function surface(side: number) { return side }\n")
        .write("uses.ts", "import { surface } from './geo';\nsurface(1);\n");
    // C: plugins, a compiler to query, clangd settings.
    let library = place.path().join("lure.so");
    let source = format!(
        "#include <fcntl.h>\n__attribute__((constructor)) static void run(void) {{ open(\"{}/library\", O_CREAT | O_WRONLY, 0600); }}\n",
        place.path().display()
    );
    let text = place.path().join("lure.c");
    std::fs::write(&text, source).unwrap();
    let _ = std::process::Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&text).status();
    program(&root.join("cc"), &marker("compiler"), 0o755);
    let flags = ["-fplugin=LURE", "-Xclang", "-load", "-Xclang", "LURE", "-fpass-plugin=LURE"];
    let flags = flags.map(|flag| flag.replace("LURE", library.to_str().unwrap()));
    let entry = |file: &str| {
        let mut arguments = vec![root.join("cc").display().to_string()];
        arguments.extend(flags.iter().cloned());
        arguments.extend(["-c".to_owned(), file.to_owned()]);
        json!({"directory": root, "file": file, "arguments": arguments})
    };
    judged
        .write("compile_commands.json", json!([entry("geo.c"), entry("uses.c")]).to_string())
        .write(".clangd", format!("CompileFlags:\n  Compiler: {}\n", root.join("cc").display()))
        .write("geo.c", "int volume(int side) { return side; }\n")
        .write("uses.c", "int volume(int);\nint use(void) { return volume(1); }\n");
    // Go: C compiler options, and commands in comments.
    judged
        .write("go.mod", "module made\n\ngo 1.19\n")
        .write("geo.go", format!("package made\n\n// #cgo CFLAGS: -fplugin={}\nimport \"C\"\n\n//go:generate touch generated\nfunc length() int {{ return 1 }}\n", library.display()))
        .write("uses.go", "package made\n\nvar all = length()\n");
    std::fs::remove_file(&text).unwrap();
    for (server, name) in
        [("ty", "geo.py:area"), ("tsc", "geo.ts:surface"), ("clangd", "geo.c:volume"), ("gopls", "geo.go:length")]
    {
        if !testkit::has_program(server) || server == "tsc" && !testkit::has_program("node") {
            continue;
        }
        // gopls does not finish if the C compiler is given forbidden options.
        if server == "gopls" {
            judged.ask("find_callers", json!({"name": name})).unwrap();
        } else {
            let (answer, text) = judged.until_judged("find_callers", json!({"name": name}));
            assert_eq!(answer["head"]["servers"][0]["state"], "ready", "{text}");
        }
        let ran: Vec<String> = marks(place.path()).into_iter().filter(|mark| mark != "lure.so").collect();
        assert_eq!(ran, [""; 0], "{server}");
    }
    assert!(!root.join("generated").exists() && !root.join("prepared").exists());
}
