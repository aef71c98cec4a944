//! Shell completion in a bash at a terminal.

use testkit::{Screen, has_program};

use crate::fresh;

#[test]
fn at_a_terminal_what_stands_behind_a_colon_too() {
    if !has_program("bash") || !has_program("tmux") {
        return;
    }
    let project = fresh();
    project.run(["quickstart", "--name", "planner", "--role", "lead"]).ok();
    project.run(["group", "--as", "planner", "create", "backend"]).ok();
    project.run(["group", "--as", "planner", "create", "backstage"]).ok();
    let screen = Screen::run(&project, "bash --norc --noprofile -i");
    screen.type_text("source <(hob completions bash); PS1='rea''dy '\n");
    screen.until("ready");
    for (line, completed) in [
        ("hob send --to gr", "hob send --to group:back!"),
        ("hob send --to group:backe", "hob send --to group:backend !"),
        ("hob send --to group:", "hob send --to group:back!"),
        ("hob send 'is: it' --to role:", "hob send 'is: it' --to role:lead !"),
        ("hob send a:b --to role:l", "hob send a:b --to role:lead !"),
        ("hob call repl_e", "hob call repl_eval !"),
    ] {
        screen.type_text(&format!("{line}\t!"));
        screen.until(&format!("ready {completed}"));
        screen.press(&["C-u", "C-l"]);
    }
}
