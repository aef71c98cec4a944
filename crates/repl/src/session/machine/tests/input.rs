//! Input of the program: when it is sent, taken back, and waited for.

use super::*;

#[test]
fn input_goes_in_line_by_line_when_it_is_asked_for() {
    let mut play = Play::ready();
    play.eval_with("ask", Some("one\ntwo\n")).mark(6).pass(2).on(Event::Probed(Probed::Computing)).check(expect![[
        r#"
        write "_ <- System.Environment.setEnv ('H':'O':'B':'_':'A':'S':'K':'S':Prelude.mempty) ('1':Prelude.mempty)\n"
        write "ask\n"
        Probe"#
    ]]);
    play.pass(10).on(Event::Probed(Probed::Waiting)).check(expect![[r#"
        Probe
        feed "one\n""#]]);
    play.print("\"one\"\n").mark(7).barrier(2, 8).check(expect![[r#"
        write ":hob-0123456789ab-2\n"
        answer 1 with #1 done "\"one\"\n" """#]]);
}

#[test]
fn where_it_is_taken_back_input_goes_in_at_once() {
    let mut play = Play::ready();
    let marks = |play: &mut Play, number, unread: &str| {
        play.machine.marker(Stream::Stdout, Some(number), "Prelude", play.now);
        play.machine.marker(Stream::Stderr, Some(number), unread, play.now);
        play.note();
    };
    play.eval("1");
    marks(&mut play, 6, "+");
    play.eval_with("getLine\ngetChar", Some("one\ntwo\nthree\n"));
    marks(&mut play, 7, "+");
    play.log.clear();
    play.pass(10).on(Event::Probed(Probed::Waiting)).quiet().check(expect![[r#"feed "one\ntwo\nthree\n""#]]);
    // The first piece reads one line; the second gets the rest, and also leaves something.
    marks(&mut play, 8, "+10");
    play.barrier(2, 9);
    marks(&mut play, 10, "+");
    play.pass(10).on(Event::Probed(Probed::Waiting)).quiet().check(expect![[r#"feed "two\nthree\n""#]]);
    marks(&mut play, 11, "+9");
    play.barrier(3, 12).quiet().check(expect![[r#"answer 2 with #2 done "" """#]]);
    assert_eq!(play.machine.record(2).expect("remembered").notes, ["The program did not read 9 bytes of its input."]);
}

#[test]
fn waiting_for_input_is_told_once_and_input_ends_it() {
    let mut play = Play::ready();
    play.eval("ask").pass(100).on(Event::Probed(Probed::Waiting)).check(expect![[r#"
        write "ask\n"
        Probe
        answer 1 with #1 waiting_for_input "" """#]]);
    assert_eq!(play.machine.state(), SessionState::WaitingForInput);
    play.on(Event::Wait { which: EvalRef::Last, waiter: Waiter(7) })
        .check(expect![[r#"answer 7 with #1 waiting_for_input "" """#]]);
    play.on(Event::Input { eval: None, text: "x\n".to_owned(), eof: false, waiter: Waiter(8) });
    play.on(Event::Wait { which: EvalRef::Last, waiter: Waiter(9) });
    play.pass(2).on(Event::Probed(Probed::Waiting)).print("\"x\"\n").mark(6).barrier(2, 7).check(expect![[r#"
        accept 8: 2 pending
        Probe
        feed "x\n"
        write ":hob-0123456789ab-2\n"
        answer 9 with #1 done "\"x\"\n" """#]]);
    play.on(Event::Input { eval: None, text: "x\n".to_owned(), eof: false, waiter: Waiter(8) })
        .check(expect![[r#"refuse 8: no evaluation is running in session "main" to read input"#]]);
}

/// Callers of queued evaluations are answered at once while the running one waits for input, whether they came before or after.
#[test]
fn what_is_queued_behind_a_program_that_waits_for_input_is_answered_at_once() {
    let mut play = Play::ready();
    play.eval("ask").eval("2").quiet().check(expect![[""]]);
    play.pass(100).on(Event::Probed(Probed::Waiting)).quiet().check(expect![[r#"
        answer 1 with #1 waiting_for_input "" ""
        answer 2 with #2 queued "" """#]]);
    play.eval("3").check(expect![[r#"answer 3 with #3 queued "" """#]]);
    play.on(Event::Wait { which: EvalRef::Number(2), waiter: Waiter(7) })
        .check(expect![[r#"answer 7 with #2 queued "" """#]]);
    // The answered evaluation continues; then the queued ones run.
    play.on(Event::Input { eval: None, text: "x\n".to_owned(), eof: false, waiter: Waiter(8) });
    play.on(Event::Wait { which: EvalRef::Number(2), waiter: Waiter(9) });
    play.pass(2).on(Event::Probed(Probed::Waiting)).mark(6).barrier(2, 7).mark(8).quiet();
    assert!(play.log.iter().any(|line| line.starts_with("answer 9 with #2 done")), "{:#?}", play.log);
}

#[test]
fn the_repl_at_its_prompt_is_not_a_program_that_waits() {
    let mut play = Play::ready();
    play.eval("1").pass(100).mark_one(Stream::Stdout, Some(6)).on(Event::Probed(Probed::Waiting)).check(expect![[r#"
        write "1\n"
        Probe"#]]);
    assert_eq!(play.machine.state(), SessionState::Running);
}

/// The kernel was asked while the first piece ran, and answered when the REPL was at the prompt between the two.
#[test]
fn an_answer_of_the_kernel_is_not_about_the_piece_after_the_one_it_was_asked_for() {
    let mut play = Play::ready();
    play.eval("one\ntwo").pass(100).mark(6).on(Event::Probed(Probed::Waiting)).check(expect![[r#"
        write "one\n"
        Probe
        write "two\n""#]]);
    assert_eq!(play.machine.state(), SessionState::Running);
    // It is asked again.
    play.pass(100).on(Event::Probed(Probed::Waiting)).check(expect![[r#"
        Probe
        answer 1 with #1 waiting_for_input "" """#]]);
}

/// The answer came while the session resynchronized: the next piece is asked about again.
#[test]
fn an_answer_of_the_kernel_during_a_barrier_is_not_waited_for() {
    let mut play = Play::ready();
    play.eval("ask\nask").pass(100).on(Event::Probed(Probed::Waiting));
    play.on(Event::Input { eval: None, text: "x\n".to_owned(), eof: false, waiter: Waiter(8) });
    play.pass(2).on(Event::Probed(Probed::Waiting)).pass(10).mark(6).on(Event::Probed(Probed::Waiting));
    play.barrier(2, 7).quiet().log.clear();
    play.pass(300).on(Event::Probed(Probed::Waiting)).check(expect!["Probe"]);
    assert_eq!(play.machine.state(), SessionState::WaitingForInput);
}

/// A busy machine schedules the program only a while after the end of its input.
#[test]
fn a_program_that_has_not_heard_of_the_end_does_not_wait() {
    let mut play = Play::ready();
    play.eval("ask").pass(100).on(Event::Probed(Probed::Waiting));
    play.on(Event::Input { eval: None, text: String::new(), eof: true, waiter: Waiter(8) });
    play.on(Event::Wait { which: EvalRef::Last, waiter: Waiter(9) });
    play.pass(2).on(Event::Probed(Probed::Waiting)).quiet().log.clear();
    play.pass(300).on(Event::Probed(Probed::Waiting)).quiet().check(expect![""]);
    assert_eq!(play.machine.state(), SessionState::Running);
    play.pass(3000)
        .on(Event::Probed(Probed::Waiting))
        .quiet()
        .check(expect![[r#"answer 9 with #1 waiting_for_input "" """#]]);
}
