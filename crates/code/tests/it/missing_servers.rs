//! Servers that are missing, outdated, not executable, not granted, or that exit before they complete `initialize`: each
//! answer says so, with the fix, within the time limit.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use code::settings::ServerSettings;
use code::{CodeSettings, Timing};
use serde_json::json;

use crate::judged_project::JudgedProject;
use crate::projects;

const WAIT_MS: u64 = 1_000;

/// Asserts that an answer is not complete, arrives in time, and has the wanted words in its first line.
fn check(judged: &JudgedProject, wanted: &[&str]) {
    check_within(judged, WAIT_MS, wanted);
}

fn check_within(judged: &JudgedProject, wait_ms: u64, wanted: &[&str]) {
    let since = Instant::now();
    let (answer, text) = judged.ask("find_callers", json!({"name": "area", "wait_ms": wait_ms})).unwrap();
    // The limit is generous for loaded machines.
    assert!(since.elapsed() < Duration::from_secs(3).max(testkit::patience()), "{:?}: {text}", since.elapsed());
    assert_eq!(answer["head"]["complete"], false, "{text}");
    assert_eq!(answer["call_sites"][0]["verdict"], "undecided", "{text}");
    let first = text.lines().next().unwrap();
    assert!(wanted.iter().all(|wanted| first.contains(wanted)), "{wanted:?}: {text}");
}

/// Writes a program, or a file that is not executable.
pub(crate) fn program(path: &Path, text: &str, mode: u32) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Makes these directories the search path, before those of the system.
fn search(judged: &mut JudgedProject, directories: &[&Path]) {
    let directories: String = directories.iter().map(|directory| format!("{}:", directory.display())).collect();
    judged.search_path = Some(directories + "/usr/bin:/bin");
}

/// Puts a script with this name into the search path.
fn put(judged: &mut JudgedProject, name: &str, script: &str) -> tempfile::TempDir {
    let bin = tempfile::tempdir().unwrap();
    program(&bin.path().join(name), &format!("#!/bin/sh\n{script}\n"), 0o755);
    search(judged, &[bin.path()]);
    bin
}

fn typescript() -> JudgedProject {
    let judged = JudgedProject::new();
    judged
        .write("tsconfig.json", "{}\n")
        .write("geo.ts", "export function area() {}\n")
        .write("uses.ts", "import { area } from './geo';\narea();\n");
    judged
}

fn python() -> JudgedProject {
    python_with(CodeSettings::default())
}

fn python_with(settings: CodeSettings) -> JudgedProject {
    let judged = JudgedProject::with(settings, Timing::default());
    judged.write("geo.py", "def area(): pass\n").write("uses.py", "from geo import area\narea()\n");
    judged
}

fn rust() -> JudgedProject {
    let judged = JudgedProject::new();
    judged
        .write("Cargo.toml", "[package]\nname = \"made\"\n")
        .write("src/lib.rs", "fn area() {}\nfn run() { area() }\n");
    judged
}

#[test]
fn an_old_typescript_does_not_judge() {
    let mut judged = typescript();
    let bin = put(&mut judged, "tsc", "echo Version 5.9.3");
    let old = format!("{}/tsc is older than 7, the first version that is a language server: ", bin.path().display());
    check(&judged, &[&old, "npm install"]);
}

#[test]
fn without_any_judge_the_answer_and_the_status_say_how_to_get_one() {
    let mut judged = typescript();
    judged.search_path = Some("/nowhere".to_owned());
    check(&judged, &["1 call by name, unchecked: tsc is not installed (npm install -g typescript@7)"]);
    let mut judged = python();
    judged.search_path = Some("/nowhere".to_owned());
    check(&judged, &["1 call by name, unchecked: ty is not installed (pip install ty)"]);
    judged.write("Area.hs", "module Area where\n");
    let (_, text) = judged.ask("code_status", json!({})).unwrap();
    let wanted = [
        "  Haskell (1 file): ghc is not installed (ghcup install ghc)",
        "  Python (2 files): ty is not installed (pip install ty)",
    ];
    assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), wanted);
}

#[test]
fn a_program_of_the_search_path_that_is_not_executable_is_named() {
    let mut judged = python();
    // As in a shell: the first executable file is used.
    let second = put(&mut judged, "ty", "echo no workspace >&2; exit 3");
    let first = tempfile::tempdir().unwrap();
    program(&first.path().join("ty"), "#!/bin/sh\n", 0o644);
    search(&mut judged, &[first.path()]);
    check(&judged, &[&format!("{}/ty is not executable: chmod +x", first.path().display())]);
    search(&mut judged, &[first.path(), second.path()]);
    check(&judged, &["ty cannot start (exit status 3): no workspace"]);
}

#[test]
fn a_command_that_cannot_run_is_named_with_its_line() {
    let bin = tempfile::tempdir().unwrap();
    let named = bin.path().join("my-ty");
    let command = vec![named.display().to_string(), "server".to_owned()];
    let ty = ServerSettings { command: Some(command), enabled: None };
    let servers = BTreeMap::from([("ty".to_owned(), ty)]);
    let judged = python_with(CodeSettings { servers, ..CodeSettings::default() });
    let next = ": put it there, or correct `command` below [code.servers.ty] in hob.toml or your config.toml";
    let wanted = format!("program {} does not exist{next}", named.display());
    check(&judged, &[&wanted]);
    let (status, text) = judged.ask("code_status", json!({})).unwrap();
    let line = text.lines().nth(1).unwrap();
    assert!(line.starts_with(&format!("  Python (2 files): {wanted}")), "{text}");
    assert_eq!(status["languages"][0]["server"], named.display().to_string());
    program(&named, "#!/bin/sh\n", 0o644);
    check(&judged, &["/my-ty is not executable by this user: "]);
    // It is searched for again at each question.
    program(&named, "#!/bin/sh\necho no workspace >&2; exit 3\n", 0o755);
    check(&judged, &["ty cannot start (exit status 3): no workspace"]);
}

#[test]
fn a_server_in_node_modules_does_not_run_before_it_is_granted() {
    let mut judged = typescript();
    let ran = judged.path().join("ran");
    let local = format!("#!/bin/sh\ntouch {}\necho Version 7.0.1\n", ran.display());
    program(&judged.path().join("node_modules/.bin/tsc"), &local, 0o755);
    search(&mut judged, &[]);
    let refused = "comes with the checkout and does not run";
    check(&judged, &[&format!("node_modules/.bin/tsc {refused}: `project_servers = true`")]);
    // Nor if the search path leads into the checkout: directly, through a link to a directory, or one to the program.
    let inside = judged.path().canonicalize().unwrap();
    let links = tempfile::tempdir().unwrap();
    symlink(&inside, links.path().join("checkout")).unwrap();
    symlink(inside.join("node_modules/.bin/tsc"), links.path().join("tsc")).unwrap();
    let bins = [inside.join("node_modules/.bin"), links.path().join("checkout/node_modules/.bin")];
    for directory in [bins[0].as_path(), bins[1].as_path(), links.path()] {
        search(&mut judged, &[directory]);
        check(&judged, &[refused]);
    }
    assert!(!ran.exists(), "it ran");
    judged.begin_again(CodeSettings { project_servers: true, ..CodeSettings::default() });
    let (_, text) = judged.ask("find_callers", json!({"name": "area", "wait_ms": WAIT_MS})).unwrap();
    assert!(ran.exists() && !text.contains("does not run"), "{text}");
}

#[test]
fn without_compile_commands_the_answer_says_what_is_missing() {
    let Some(judged) = projects::c(&[]) else { return };
    std::fs::remove_file(judged.path().join("compile_commands.json")).unwrap();
    judged
        .write("inc/geo.h", "int area(int);\n")
        .write("src/geo.c", "#include \"geo.h\"\nint area(int x) { return x; }\n")
        .write("src/uses.c", "#include \"geo.h\"\nint main(void) { return area(1); }\n");
    check(&judged, &["; there is no compile_commands.json at the root or in build, so"]);
}

#[test]
fn a_server_is_not_led_into_the_checkout_by_its_search_path() {
    let told = tempfile::NamedTempFile::new().unwrap();
    let mut judged = python();
    let bin = put(&mut judged, "ty", &format!("echo \"$PATH\" > {}\nexit 3", told.path().display()));
    let inside = judged.path().canonicalize().unwrap().join("bin");
    std::fs::create_dir(&inside).unwrap();
    search(&mut judged, &[inside.as_path(), Path::new("bin"), bin.path()]);
    check(&judged, &["ty cannot start"]);
    let told = std::fs::read_to_string(told).unwrap();
    assert_eq!(told.trim(), format!("{}:/usr/bin:/bin", bin.path().display()));
}

#[test]
fn what_a_server_reads_is_no_link_to_another_file() {
    let mut judged = JudgedProject::new();
    let _bin = put(&mut judged, "clangd", "exit 3");
    judged.write("a.c", "int area(void) { return 1; }\nint b(void) { return area(); }\n");
    let commands = judged.path().join("compile_commands.json");
    // A link to a device.
    symlink("/dev/zero", &commands).unwrap();
    let (_, text) = judged.stays_open("find_callers", "area");
    assert!(!text.contains("which has another name"), "{text}");
    std::fs::remove_file(&commands).unwrap();
    symlink("/proc/self/status", &commands).unwrap();
    judged.begin_again(CodeSettings::default());
    check(&judged, &["is a link to /proc/", "which has another name"]);
}

fn starts(judged: &JudgedProject) -> usize {
    judged.records().iter().filter(|record| record["record"] == "code_server_started").count()
}

/// A server, its program, a script that replaces the program, and the expected answer.
type Case = (fn() -> JudgedProject, &'static str, &'static str, &'static [&'static str]);

#[test]
fn a_server_that_cannot_start_is_not_waited_for() {
    let rustup = "echo \"error: 'rust-analyzer' is not installed for the toolchain 'stable'\" >&2\necho 'To install, run x' >&2\nexit 1";
    let asdf = "echo 'No version is set for command rust-analyzer' >&2\nexit 126";
    let python_of_another_version = "printf 'Traceback (most recent call last):\\n  File \"ty\", line 3\\nModuleNotFoundError: no ty\\n' >&2; exit 1";
    let cases: &[Case] = &[
        (
            rust,
            "rust-analyzer",
            rustup,
            &[
                "rust-analyzer cannot start (exit status 1): error: 'rust-analyzer' is not installed for the toolchain 'stable': ",
                "run `rustup component add rust-analyzer`",
            ],
        ),
        (rust, "rust-analyzer", asdf, &["(exit status 126): No version is set for command rust-analyzer: "]),
        (rust, "rust-analyzer", "exit 0", &["rust-analyzer cannot start (exit status 0): run `rustup"]),
        (
            python,
            "ty",
            "echo 'pyenv: ty: command not found' >&2\nexit 127",
            &["(exit status 127): pyenv: ty: command", "`pip install ty`"],
        ),
        (
            python,
            "ty",
            "echo 'ty: error while loading shared libraries: libx.so' >&2; exit 127",
            &["shared libraries: libx.so: run"],
        ),
        (python, "ty", python_of_another_version, &["ModuleNotFoundError: no ty: run `pip install ty`"]),
        (
            python,
            "ty",
            "printf 'usage: ty\\n\\n'; sleep 600",
            &["ty cannot start: its output is not a language server's"],
        ),
        (
            typescript,
            "tsc",
            "echo 'Volta error: Node is not available.' >&2; exit 126",
            &["/tsc cannot start (exit status 126: Volta error: Node is not available.): run `", "npm install"],
        ),
        (
            typescript,
            "tsc",
            "case $1 in --version) echo Version 7.0.2;; *) echo 'nodenv: tsc: command not found' >&2; exit 127;; esac",
            &["tsc cannot start (exit status 127): nodenv: tsc: command not found: run"],
        ),
    ];
    for (judged, name, text, wanted) in cases {
        let mut judged = judged();
        let _bin = put(&mut judged, name, text);
        // The answer does not use up its long time limit.
        (0..3).for_each(|_| check_within(&judged, 60_000, wanted));
        assert!(starts(&judged) < 2, "{name} {text}: {:?}", judged.records());
    }
    // A script with a missing interpreter fails to start.
    let mut judged = python();
    let bin = tempfile::tempdir().unwrap();
    program(&bin.path().join("ty"), "#!/nowhere/python\n", 0o755);
    judged.search_path = Some(bin.path().display().to_string());
    check_within(&judged, 60_000, &["ty cannot start: program ", "names the interpreter /nowhere/python"]);
}

#[test]
fn it_is_tried_again_when_a_person_says_so() {
    let mut judged = rust();
    let bin = put(&mut judged, "rust-analyzer", "echo first >&2; exit 1");
    check_within(&judged, 60_000, &["cannot start (exit status 1): first"]);
    let (status, text) = judged.ask("code_status", json!({})).unwrap();
    assert_eq!(status["servers"][0]["state"], "cannot_start", "{text}");
    assert!(text.contains("cannot start (exit status 1): first"), "{text}");
    program(&bin.path().join("rust-analyzer"), "#!/bin/sh\necho second >&2; exit 1\n", 0o755);
    judged.ask("code_status", json!({"restart": true})).unwrap();
    check_within(&judged, 60_000, &["second"]);
    assert_eq!(starts(&judged), 2);
}
