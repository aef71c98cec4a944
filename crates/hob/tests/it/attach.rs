//! `hob attach` at a real terminal.

use serde_json::json;
use testkit::{Screen, until};

use crate::fresh;

#[test]
fn a_person_types_into_a_session_and_leaves_it_running() {
    let project = fresh();
    project.write("setup.py", "");
    let screen = Screen::run(&project, &format!("{} attach", env!("CARGO_BIN_EXE_hob")));
    screen.until("\nmain>");
    screen.type_text("x = 40");
    screen.press(&["Enter"]);
    screen.until("[main #1: done");
    // Several lines, until the empty one.
    screen.type_text("def f(n):");
    screen.press(&["Enter"]);
    screen.type_text("    return n + 2");
    screen.press(&["Enter", "Enter"]);
    screen.until("[main #2: done");
    // An agent evaluates in the meantime, and the next result says so.
    let mut ada = project.mcp(&["all", "--as", "ada"]);
    ada.initialize();
    ada.call("repl_eval", json!({ "code": "x += 1" }));
    screen.type_text("print(f(x))");
    screen.press(&["Enter"]);
    let shown = screen.until("[main #4: done");
    assert!(shown.contains("\n43\n"), "{shown}");
    screen.until("Since your last evaluation: 1 evaluation by ada.");
    // Ctrl-C at the prompt clears the line; while code runs it interrupts that.
    screen.type_text("y = 1");
    screen.until("main> y = 1");
    screen.press(&["C-c"]);
    screen.until("main>\n");
    screen.type_text("while True: pass");
    screen.until("main> while True: pass");
    screen.press(&["Enter"]);
    until("it runs", || project.run(["call", "repl_list"]).stdout.contains("running").then_some(()));
    screen.press(&["C-c"]);
    screen.until("KeyboardInterrupt");
    screen.until("[main #5: interrupted");
    // A program asks, the person answers.
    screen.type_text("input('Name? ')");
    screen.press(&["Enter"]);
    screen.until("\nName?");
    screen.type_text("Ann");
    screen.press(&["Enter"]);
    screen.until("'Ann'");
    // History.
    screen.press(&["Up", "Up", "Up"]);
    screen.until("main> print(f(x))");
    screen.press(&["C-u"]);
    screen.until("main>\n");
    screen.press(&["C-d"]);
    screen.until("Detached; main continues.");
    screen.until("ended with 0");
    // A signal at the prompt detaches at once, and evaluates nothing.
    for signal in ["TERM", "HUP"] {
        let line = format!("sh -c 'echo pid=$$; exec {} attach'; stty -a", env!("CARGO_BIN_EXE_hob"));
        let screen = Screen::run(&project, &line);
        let shown = screen.until("\nmain>");
        let pid = shown.lines().find_map(|line| line.strip_prefix("pid=")).expect("a pid").to_owned();
        screen.type_text("x = 'typed'");
        screen.until("main> x = 'typed'");
        project.command("kill").args(["-s", signal, &pid]).status().expect("kill runs");
        screen.until("Detached; main continues.");
        let shown = screen.until("ended with 0");
        assert!(shown.contains(" icanon") && shown.contains(" echo "), "{shown}");
    }
    let told = ada.call("repl_eval", json!({ "code": "x" }));
    assert!(told.text.starts_with("41\n"), "{told:?}");
    assert!(told.text.contains("Since your last evaluation: 3 evaluations by user at pts/"), "{told:?}");
}

#[test]
fn two_people_and_an_agent_are_told_apart() {
    let project = fresh();
    project.write("setup.py", "");
    let line = format!("tty; {} attach", env!("CARGO_BIN_EXE_hob"));
    let people = [Screen::run(&project, &line), Screen::run(&project, &line)];
    let names = people.each_ref().map(|screen| {
        let shown = screen.until("\nmain>");
        let terminal = shown.lines().find_map(|line| line.trim().strip_prefix("/dev/")).expect("a terminal").to_owned();
        format!("user at {terminal}")
    });
    assert_ne!(names[0], names[1]);
    let since = |names: &str| format!("Since your last evaluation: {names}.");
    let person = |who: usize, number: u64, code: &str, note: &str| {
        people[who].type_text(code);
        people[who].press(&["Enter"]);
        let shown = people[who].until(&format!("[main #{number}: done"));
        match note {
            "" => assert!(!shown.contains("Since your last"), "{shown}"),
            note => drop(people[who].until(note)),
        }
    };
    person(0, 1, "x = 1", "");
    person(1, 2, "x += 1", "");
    let mut ada = project.mcp(&["all", "--as", "ada"]);
    ada.initialize();
    let first = ada.call("repl_eval", json!({ "code": "x += 1" }));
    assert!(!first.text.contains("Since your last"), "{first:?}");
    person(0, 4, "x += 1", &since(&format!("1 evaluation by {}, 1 by ada", names[1])));
    person(1, 5, "x += 1", &since(&format!("1 evaluation by ada, 1 by {}", names[0])));
    person(0, 6, "x += 1", &since(&format!("1 evaluation by {}", names[1])));
    let second = ada.call("repl_eval", json!({ "code": "x" }));
    let told = since(&format!("2 evaluations by {}, 1 by {}", names[0], names[1]));
    assert!(second.text.starts_with("6\n") && second.text.contains(&told), "{second:?}");
    for screen in &people {
        screen.press(&["C-d"]);
        screen.until("ended with 0");
    }
}

#[test]
fn a_reader_sees_what_the_session_prints_and_types_nothing() {
    let project = fresh();
    project.write("setup.py", "");
    let hob = env!("CARGO_BIN_EXE_hob");
    project.run(["eval", "print('before')"]).ok();
    let screen = Screen::run(&project, &format!("{hob} attach --read-only"));
    screen.until("before");
    screen.until("[printed before; new output follows]");
    screen.type_text("print('typed')");
    screen.press(&["Enter"]);
    project.run(["eval", "print('after')"]).ok();
    let shown = screen.until("\nafter");
    assert!(!shown.contains("\ntyped\n"), "{shown}");
    screen.press(&["C-d"]);
    screen.until("ended with 0");
    // The end of the session ends the reader, and a later one does not wait.
    let screen = Screen::run(&project, &format!("{hob} attach --read-only"));
    screen.until("[printed before; new output follows]");
    project.run(["call", "repl_stop", "--session", "main"]).ok();
    screen.until("The session has ended.");
    screen.until("ended with 0");
    let screen = Screen::run(&project, &format!("{hob} attach --read-only"));
    screen.until("The session has ended; this is its output.");
    let shown = screen.until("ended with 0");
    assert!(shown.contains("after"), "{shown}");
    // Without a terminal there is no session to type into.
    let refused = project.run(["attach"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("needs a terminal"), "{refused:?}");
}
