//! Killed language servers leave no files behind: their temporary files are in a separate directory.

use code::{CodeSettings, Timing};
use serde_json::{Value, json};

use crate::judged_project::JudgedProject;
use crate::misbehaving_server::{go_project, liar, timing};
use crate::projects;

fn server(judged: &JudgedProject, name: &str) -> Value {
    let (status, _) = judged.ask("code_status", json!({})).unwrap();
    let servers = status["servers"].as_array().unwrap().iter();
    servers.filter(|one| one["server"] == name).cloned().next_back().unwrap_or_default()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    testkit::until(what, || is_so().then_some(()));
}

fn has_preamble(judged: &JudgedProject) -> bool {
    judged.scratch().iter().any(|file| file.to_string_lossy().contains("preamble-"))
}

#[test]
fn a_killed_clangd_and_a_parked_one_leave_nothing() {
    if !["clangd", "python3"].iter().all(|program| testkit::has_program(program)) {
        return;
    }
    let heavy = || [("gopls".to_owned(), liar("heavy", 200.0))].into();
    let settings = |memory| CodeSettings { memory, servers: heavy(), ..CodeSettings::default() };
    // A killed server is not restarted.
    let timing = Timing { restarts: Vec::new(), measured_every: timing().measured_every, ..Timing::default() };
    let mut judged = JudgedProject::with(settings(None), timing);
    go_project(&judged);
    projects::write_compile_commands(&judged, &["geo.c", "uses.c"]);
    judged
        .write("geo.h", "int area(int side);\n")
        .write("geo.c", "#include \"geo.h\"\nint area(int side) { return side; }\n")
        .write("uses.c", "#include \"geo.h\"\nint run(void) { return area(2); }\n");
    let area = || json!({"name": "geo.c:area"});
    judged.until_final("find_callers", area());
    until("its preambles lie in its own directory", || has_preamble(&judged));
    let one = server(&judged, "clangd");
    testkit::kill_hard(i32::try_from(one["pid"].as_i64().unwrap()).unwrap());
    until("nothing is left of one that was killed", || judged.scratch().is_empty());

    // Together they exceed the budget, but neither does alone.
    judged.begin_again(settings(Some(290)));
    judged.until_final("find_callers", area());
    until("its preambles lie in its own directory", || has_preamble(&judged));
    judged.until_final("find_callers", json!({"name": "geo.go:square"}));
    until("the other one is parked", || server(&judged, "clangd")["state"] == "parked");
    until("nothing is left of one that is parked", || !has_preamble(&judged));
}
