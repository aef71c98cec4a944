//! Minimal projects for the server of each language, without source files. `None`, with a message, if it is not
//! installed; CI has all of them.

use serde_json::json;

use crate::judged_project::JudgedProject;

/// A crate with a feature, `extra`; its lock file has no dependencies.
pub(crate) fn rust() -> Option<JudgedProject> {
    let manifest =
        "[package]\nname = \"made\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[features]\nextra = []\n[workspace]\n";
    let judged = make_project(&["rust-analyzer"], "Cargo.toml", manifest)?;
    judged.write("Cargo.lock", "version = 4\n\n[[package]]\nname = \"made\"\nversion = \"0.1.0\"\n");
    Some(judged)
}

pub(crate) fn python() -> Option<JudgedProject> {
    make_project(&["ty"], "pyproject.toml", "[project]\nname = \"made\"\nversion = \"1\"\n")
}

pub(crate) fn typescript() -> Option<JudgedProject> {
    let options = "{\"compilerOptions\": {\"strict\": true, \"module\": \"esnext\", \"lib\": [\"es2020\", \"dom\"]}}\n";
    make_project(&["tsc", "node"], "tsconfig.json", options)
}

/// CommonJS modules without a `tsconfig.json`.
pub(crate) fn javascript() -> Option<JudgedProject> {
    make_project(&["tsc", "node"], "package.json", "{\"name\": \"made\"}\n")
}

/// A Go module.
pub(crate) fn go() -> Option<JudgedProject> {
    make_project(&["gopls", "go"], "go.mod", "module made\n\ngo 1.19\n")
}

/// These C and C++ files are compiled, each separately.
pub(crate) fn c(files: &[&str]) -> Option<JudgedProject> {
    let judged = make_project(&["clangd"], "compile_commands.json", "[]")?;
    write_compile_commands(&judged, files);
    Some(judged)
}

pub(crate) fn write_compile_commands(judged: &JudgedProject, files: &[&str]) {
    let folder = judged.path().canonicalize().unwrap();
    let compiler = |file: &str| if file.ends_with(".c") { "cc" } else { "c++" };
    let unit = |file: &&str| json!({"directory": folder, "file": file, "arguments": [compiler(file), "-c", file]});
    let units: Vec<_> = files.iter().map(unit).collect();
    judged.write("compile_commands.json", json!(units).to_string());
}

fn make_project(programs: &[&str], manifest: &str, text: &str) -> Option<JudgedProject> {
    if !programs.iter().all(|program| testkit::has_program(program)) {
        return None;
    }
    let judged = JudgedProject::new();
    judged.write(manifest, text);
    Some(judged)
}
