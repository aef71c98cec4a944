//! A person's seat: what a shell sees of hob's streams, exit codes and signals.

use testkit::Ran;

use crate::fresh;

#[test]
fn a_server_without_a_daemon_writes_sentences_and_no_log() {
    let project = fresh();
    let ran = project.run(["mcp", "--standalone"]);
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (Some(0), "", ""));
    // Nothing can be kept below a home that has a file there.
    let project = fresh();
    project.write("odd", "no JSON\n");
    std::fs::write(project.home().join(".local"), "").expect("a file");
    let mut command = project.hob(["mcp", "--standalone"]);
    command.stdin(std::fs::File::open(project.root().join("odd")).expect("it was written"));
    let said = Ran::of(&mut command).stderr;
    assert!(said.contains("hob mcp: a line of input was ignored (reason \"not JSON\", line no JSON"), "{said}");
    assert!(!said.contains("open questions"), "{said}");
    assert!(said.lines().all(|line| line.starts_with("hob mcp: ")), "{said}");
}
