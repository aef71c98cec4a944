//! Servers that are missing, outdated, not executable or not granted: each answer says so, with the fix, within the
//! time limit.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use code::settings::ServerSettings;
use code::{CodeSettings, Timing};
use serde_json::json;

use crate::judged_project::JudgedProject;

const WAIT_MS: u64 = 1_000;

/// Returns the sentence that replaces the verdict. The answer is not final, and arrives in time.
fn explanation(judged: &JudgedProject, name: &str) -> String {
    let since = Instant::now();
    let (answer, text) = judged.ask("find_callers", json!({"name": name, "wait_ms": WAIT_MS})).unwrap();
    // The limit is generous for loaded machines.
    let late = Duration::from_millis(WAIT_MS + 500).max(testkit::patience());
    assert!(since.elapsed() < late, "{:?}", since.elapsed());
    assert_eq!(answer["head"]["complete"], false, "{text}");
    assert_eq!(answer["call_sites"][0]["verdict"], "undecided", "{text}");
    text.lines().next().unwrap().replace(&judged.path().canonicalize().unwrap().display().to_string(), "[root]")
}

/// Writes a program, or a file that is not executable.
pub(crate) fn program(path: &Path, text: &str, mode: u32) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

pub(crate) fn script() -> JudgedProject {
    let judged = JudgedProject::new();
    judged
        .write("tsconfig.json", "{}\n")
        .write("geo.ts", "export function area() {}\n")
        .write("uses.ts", "import { area } from './geo';\narea();\n");
    judged
}

pub(crate) fn python(settings: CodeSettings) -> JudgedProject {
    let judged = JudgedProject::with(settings, Timing::default());
    judged.write("geo.py", "def area(): pass\n").write("uses.py", "from geo import area\narea()\n");
    judged
}

#[test]
fn an_old_typescript_does_not_judge() {
    let mut judged = script();
    let bin = tempfile::tempdir().unwrap();
    program(&bin.path().join("tsc"), "#!/bin/sh\necho Version 5.9.3\n", 0o755);
    judged.search_path = Some(format!("{}:/usr/bin:/bin", bin.path().display()));
    let text = explanation(&judged, "area");
    let wanted = format!("{}/tsc is older than 7, the first version that is a language server: ", bin.path().display());
    assert!(text.contains(&wanted) && text.contains("npm install"), "{text}");
}

#[test]
fn without_any_judge_the_answer_says_how_to_get_one() {
    for (mut judged, wanted) in [
        (script(), "1 call by name, unchecked: tsc is not installed (npm install -g typescript@7)"),
        (python(CodeSettings::default()), "1 call by name, unchecked: ty is not installed (pip install ty)"),
    ] {
        let empty = tempfile::tempdir().unwrap();
        judged.search_path = Some(empty.path().display().to_string());
        let text = explanation(&judged, "area");
        assert!(text.contains(wanted), "{text}");
    }
}

#[test]
fn a_program_of_the_search_path_that_is_not_executable_is_named() {
    let mut judged = python(CodeSettings::default());
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    program(&first.path().join("ty"), "#!/bin/sh\n", 0o644);
    judged.search_path = Some(format!("{}:/usr/bin:/bin", first.path().display()));
    let text = explanation(&judged, "area");
    assert!(text.contains(&format!("{}/ty is not executable: chmod +x", first.path().display())), "{text}");
    // As in a shell: the first executable file is used.
    program(&second.path().join("ty"), "#!/bin/sh\necho no workspace >&2; exit 3\n", 0o755);
    judged.search_path = Some(format!("{}:{}:/usr/bin:/bin", first.path().display(), second.path().display()));
    let text = explanation(&judged, "area");
    assert!(text.contains("ty cannot start (exit status 3): no workspace"), "{text}");
}

/// Python with this program in the settings.
fn commanded(program: &Path) -> JudgedProject {
    let command = vec![program.display().to_string(), "server".to_owned()];
    let ty = ServerSettings { command: Some(command), enabled: None };
    python(CodeSettings { servers: BTreeMap::from([("ty".to_owned(), ty)]), ..CodeSettings::default() })
}

#[test]
fn a_command_that_cannot_run_is_named_with_its_line() {
    let bin = tempfile::tempdir().unwrap();
    let named = bin.path().join("my-ty");
    let judged = commanded(&named);
    let next = ": put it there, or correct `command` below [code.servers.ty] in hob.toml or your config.toml";
    let wanted = format!("program {} does not exist{next}", named.display());
    let text = explanation(&judged, "area");
    assert!(text.contains(&wanted), "{text}");
    let (status, text) = judged.ask("code_status", json!({})).unwrap();
    let line = text.lines().nth(1).unwrap();
    assert!(line.starts_with(&format!("  Python (2 files): {wanted}")), "{text}");
    assert_eq!(status["languages"][0]["server"], named.display().to_string());
    program(&named, "#!/bin/sh\n", 0o644);
    let text = explanation(&judged, "area");
    assert!(text.contains("/my-ty is not executable by this user: "), "{text}");
    // It is searched for again at each question.
    program(&named, "#!/bin/sh\necho no workspace >&2; exit 3\n", 0o755);
    let text = explanation(&judged, "area");
    assert!(text.contains("ty cannot start (exit status 3): no workspace"), "{text}");
}

#[test]
fn the_status_says_what_to_install() {
    let mut judged = python(CodeSettings::default());
    judged.write("Area.hs", "module Area where\n");
    judged.search_path = Some("/nowhere".to_owned());
    let (_, text) = judged.ask("code_status", json!({})).unwrap();
    let said: Vec<&str> = text.lines().skip(1).collect();
    expect_test::expect![[r#"
        [
            "  Haskell (1 file): ghc is not installed (ghcup install ghc)",
            "  Python (2 files): ty is not installed (pip install ty)",
        ]
    "#]]
    .assert_debug_eq(&said);
}

#[test]
fn a_server_in_node_modules_does_not_run_before_it_is_granted() {
    let mut judged = script();
    let ran = judged.path().join("ran");
    let local = format!("#!/bin/sh\ntouch {}\necho Version 7.0.1\n", ran.display());
    program(&judged.path().join("node_modules/.bin/tsc"), &local, 0o755);
    judged.search_path = Some("/usr/bin:/bin".to_owned());
    let text = explanation(&judged, "area");
    assert!(
        text.contains("node_modules/.bin/tsc comes with the checkout and does not run: `project_servers = true`"),
        "{text}"
    );
    // Nor if the search path leads into the checkout.
    judged.search_path =
        Some(format!("{}/node_modules/.bin:/usr/bin:/bin", judged.path().canonicalize().unwrap().display()));
    let text = explanation(&judged, "area");
    assert!(text.contains("comes with the checkout and does not run"), "{text}");
    // Through a link to a directory, and a link to the program itself.
    let links = tempfile::tempdir().unwrap();
    let inside = judged.path().canonicalize().unwrap();
    std::os::unix::fs::symlink(&inside, links.path().join("checkout")).unwrap();
    std::os::unix::fs::symlink(inside.join("node_modules/.bin/tsc"), links.path().join("tsc")).unwrap();
    for directory in ["checkout/node_modules/.bin", "."] {
        judged.search_path = Some(format!("{}:/usr/bin:/bin", links.path().join(directory).display()));
        let text = explanation(&judged, "area");
        assert!(text.contains("comes with the checkout and does not run"), "{directory}: {text}");
    }
    assert!(!ran.exists(), "it ran");
    judged.begin_again(CodeSettings { project_servers: true, ..CodeSettings::default() });
    let text = explanation(&judged, "area");
    assert!(ran.exists() && !text.contains("does not run"), "{text}");
}

#[test]
fn without_compile_commands_the_answer_says_what_is_missing() {
    if !testkit::has_program("clangd") {
        return;
    }
    let judged = JudgedProject::new();
    judged
        .write("inc/geo.h", "int area(int);\n")
        .write("src/geo.c", "#include \"geo.h\"\nint area(int x) { return x; }\n")
        .write("src/uses.c", "#include \"geo.h\"\nint main(void) { return area(1); }\n");
    let text = explanation(&judged, "area");
    assert!(text.contains("; there is no compile_commands.json at the root or in build, so"), "{text}");
}

#[test]
fn a_server_is_not_led_into_the_checkout_by_its_search_path() {
    let bin = tempfile::tempdir().unwrap();
    let told = bin.path().join("told");
    program(&bin.path().join("ty"), &format!("#!/bin/sh\necho \"$PATH\" > {}\nexit 3\n", told.display()), 0o755);
    let mut judged = python(CodeSettings::default());
    let inside = judged.path().canonicalize().unwrap().join("bin");
    std::fs::create_dir(&inside).unwrap();
    judged.search_path = Some(format!("{}:bin:{}:/usr/bin:/bin", inside.display(), bin.path().display()));
    let text = explanation(&judged, "area");
    assert!(text.contains("ty cannot start"), "{text}");
    let told = std::fs::read_to_string(told).unwrap();
    assert_eq!(told.trim(), format!("{}:/usr/bin:/bin", bin.path().display()));
}

#[test]
fn what_a_server_reads_is_no_link_to_another_file() {
    let bin = tempfile::tempdir().unwrap();
    program(&bin.path().join("clangd"), "#!/bin/sh\nexit 3\n", 0o755);
    let mut judged = JudgedProject::new();
    judged.write("a.c", "int area(void) { return 1; }\nint b(void) { return area(); }\n");
    std::os::unix::fs::symlink("/dev/zero", judged.path().join("compile_commands.json")).unwrap();
    judged.search_path = Some(format!("{}:/usr/bin:/bin", bin.path().display()));
    assert!(!explanation(&judged, "area").contains("which has another name"), "no regular file");
    std::fs::remove_file(judged.path().join("compile_commands.json")).unwrap();
    std::os::unix::fs::symlink("/proc/self/status", judged.path().join("compile_commands.json")).unwrap();
    judged.begin_again(CodeSettings::default());
    let text = explanation(&judged, "area");
    assert!(text.contains("is a link to /proc/") && text.contains("which has another name"), "{text}");
}
