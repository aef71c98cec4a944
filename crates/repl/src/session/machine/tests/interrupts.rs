//! Interrupts: signals, the settling afterwards, and code that continues behind the prompt.

use super::*;

#[test]
fn an_interrupt_is_a_protocol() {
    let mut play = Play::ready();
    play.eval("sum [1..]").pass(50).interrupt(None).err("Interrupted.\n").mark(6).check(expect![[r#"
        write "sum [1..]\n"
        Signal { guarded: true }
        write ":hob-0123456789ab-2\n""#]]);
    // Nothing computes; a late signal's prompt comes, and the second barrier outlasts it.
    play.barrier(2, 7).mark(7).pass(30).rest(0.0).barrier(3, 8).check(expect![[r#"
        Watch { window: 30ms, age: 50ms }
        write ":hob-0123456789ab-3\n"
        answer 1 with #1 interrupted "" "Interrupted.\n"
        interrupted 9: Interrupted Some(1) after 30ms"#]]);
    play.eval("1").mark(9).check(expect![[r#"
        write "1\n"
        answer 2 with #2 done "" """#]]);
}

#[test]
fn a_signal_that_came_before_the_code_was_read_is_sent_again() {
    let mut play = Play::ready();
    // The REPL has not read the code, then has; the signal hits its prompt, which repeats.
    play.eval("sum [1..]").interrupt(None).pass(20).on(Event::Unread).pass(5).mark(5).pass(20).check(expect![[r#"
        write "sum [1..]\n"
        Signal { guarded: true }
        Probe
        Signal { guarded: true }
        Signal { guarded: true }"#]]);
    play.err("Interrupted.\n").mark(6).barrier(2, 7).pass(30).rest(0.0).barrier(3, 8).check(expect![[r#"
        write ":hob-0123456789ab-2\n"
        Watch { window: 30ms, age: 45ms }
        write ":hob-0123456789ab-3\n"
        answer 1 with #1 interrupted "" "Interrupted.\n"
        interrupted 9: Interrupted Some(1) after 75ms"#]]);
}

#[test]
fn one_signal_and_then_patience() {
    let mut play = Play::ready();
    play.eval("main").pass(50).interrupt(None);
    play.log.clear();
    // The evaluation cleans up: prints, sleeps. No signal is sent meanwhile, and a second caller waits too.
    for _ in 0..9 {
        play.print("cleaning\n").pass(1000).on(Event::Probed(Probed::Sleeping));
    }
    play.interrupt(None).pass(999);
    assert_eq!(play.machine.state(), SessionState::Interrupting);
    play.pass(1).quiet().check(expect![[r#"
        interrupted 9: NotYet Some(1) after 10s, sleeps
        interrupted 9: NotYet Some(1) after 10s, sleeps"#]]);
    // A repeated request sends another signal.
    play.pass(5000).interrupt(None).quiet().check(expect!["Signal { guarded: true }"]);
    play.err("Interrupted.\n").mark(6).barrier(2, 7);
    for _ in 0..3 {
        play.pass(300).rest(0.0);
    }
    play.barrier(3, 8).quiet().check(expect![[r#"
        answer 1 with #1 interrupted "cleaning\ncleaning\ncleaning\ncleaning\ncleaning\ncleaning\ncleaning\ncleaning\ncleaning\n" "Interrupted.\n"
        interrupted 9: Interrupted Some(1) after 900ms"#]]);
    assert_eq!(play.machine.state(), SessionState::Idle);
    assert!(play.machine.record(1).expect("remembered").notes[0].contains("sleeping code of it may continue"));
}

#[test]
fn what_does_not_react_is_said_to_and_may_still_end() {
    let mut play = Play::ready();
    play.eval("loop").pass(100).interrupt(None).pass(9_000).on(Event::Probed(Probed::Computing)).pass(2_000);
    assert_eq!(play.machine.state(), SessionState::Uninterruptible);
    play.quiet().check(expect![[r#"
        Signal { guarded: true }
        interrupted 9: Uninterruptible Some(1) after 10s, computes"#]]);
    play.mark(6).barrier(2, 7).pass(30).rest(0.0).barrier(3, 8);
    assert_eq!(play.machine.state(), SessionState::Idle);
}

#[test]
fn an_uninterruptible_session_says_so_at_once() {
    let mut play = Play::ready();
    play.eval("loop").pass(100).eval("queued before").interrupt(None).pass(11_000);
    play.quiet().check(expect![[r#"
        Signal { guarded: true }
        interrupted 9: Uninterruptible Some(1) after 10s, computes
        answer 2 with #2 queued "" """#]]);
    // New evaluations are queued and answered at once. Only callers of the running one wait.
    play.eval("1").on(Event::Wait { which: EvalRef::Number(2), waiter: Waiter(7) });
    play.on(Event::Wait { which: EvalRef::Number(1), waiter: Waiter(8) });
    play.quiet().check(expect![[r#"
        answer 3 with #3 queued "" ""
        answer 7 with #2 queued "" """#]]);
    // It ends after all.
    play.mark(6).barrier(2, 7).pass(30).rest(0.0).barrier(3, 8);
    play.quiet().check(expect![[r#"
        answer 1 with #1 done "" ""
        answer 8 with #1 done "" """#]]);
}

#[test]
fn between_two_pieces_is_interrupted_too() {
    let mut play = Play::ready();
    // The signal comes during the first piece, which succeeds nevertheless.
    play.eval("import A\nx = 1\ny").pass(50).interrupt(None).mark(6).barrier(2, 7).pass(30).rest(0.0).barrier(3, 8);
    play.quiet().check(expect![[r#"
        Signal { guarded: true }
        answer 1 with #1 interrupted "" ""
        interrupted 9: Interrupted Some(1) after 30ms"#]]);
    assert_eq!(play.machine.history(), [] as [&str; 0]);
    assert_eq!(play.machine.record(1).expect("remembered").notes, ["2 more pieces of the code did not run."]);
    // The evaluation ends before a signal is sent at all.
    play.eval("import A\nx = 1").interrupt(None).mark(9).quiet().check(expect![[r#"
        answer 2 with #2 interrupted "" ""
        interrupted 9: Interrupted Some(2) after 0ns"#]]);
    play.eval("x = 1").interrupt(None).mark(10).quiet().check(expect![[r#"
        answer 3 with #3 done "" ""
        interrupted 9: Finished Some(3) after 0ns"#]]);
    assert_eq!(play.machine.history(), ["x = 1"]);
}

#[test]
fn what_a_program_prints_is_no_interrupt() {
    let mut play = Play::ready();
    play.eval("worker")
        .err("Interrupted.\n")
        .mark(6)
        .quiet()
        .check(expect![[r#"answer 1 with #1 done "" "Interrupted.\n""#]]);
    // Output from before the signal does not count either, if the evaluation ends normally.
    play.eval("worker").err("Interrupted.\n").pass(1100).interrupt(None).mark(7).barrier(2, 8).pass(30).rest(0.0);
    play.barrier(3, 9).quiet().check(expect![[r#"
        Signal { guarded: true }
        answer 2 with #2 done "" "Interrupted.\n"
        interrupted 9: Finished Some(2) after 30ms"#]]);
}

#[test]
fn what_printed_lately_is_looked_at_until_it_would_print_again() {
    // Once, every 400 ms, and continuously.
    for (pauses, looks) in [(&[][..], 10), (&[400, 400], 7), (&[5; 40], 1)] {
        let mut play = Play::ready();
        play.eval("ticker").print("tick\n");
        for pause in pauses {
            play.pass(*pause).print("tick\n");
        }
        play.interrupt(None).pass(20).mark(6).barrier(2, 7).pass(30);
        let mut looked = 0;
        while !play.log.iter().any(|line| line.contains(":hob-0123456789ab-3")) {
            looked += 1;
            play.rest(0.0).pass(if looked == 1 { 30 } else { 100 });
        }
        play.barrier(3, 8);
        assert!(play.log.iter().any(|line| line.starts_with("interrupted 9")), "{:?}", play.log);
        assert!((looks..looks + 3).contains(&looked), "{pauses:?}: {looked} looks");
    }
}

#[test]
fn a_program_that_catches_the_signal_and_asks_is_answered() {
    let mut play = Play::ready();
    play.eval("debugger").pass(100).on(Event::Probed(Probed::Waiting)).interrupt(None);
    for _ in 0..12 {
        play.pass(100).on(Event::Probed(Probed::Waiting));
    }
    play.quiet().check(expect![[r#"
        answer 1 with #1 waiting_for_input "" ""
        Signal { guarded: false }
        interrupted 9: NotYet Some(1) after 1.2s, waits for input"#]]);
    assert_eq!(play.machine.state(), SessionState::WaitingForInput);
    play.on(Event::Input { eval: Some(1), text: "q\n".to_owned(), eof: false, waiter: Waiter(8) });
    play.pass(100).on(Event::Probed(Probed::Waiting)).mark(6).barrier(2, 7).pass(30).rest(0.0).barrier(3, 8);
    play.quiet().check(expect![[r#"
        accept 8: 2 pending
        feed "q\n""#]]);
    assert_eq!(play.machine.state(), SessionState::Idle);
}

#[test]
fn what_goes_on_behind_the_prompt_is_told_until_it_ends() {
    let mut play = Play::ready();
    play.eval("forkIO burn >> sleep").pass(50).interrupt(None).err("Interrupted.\n").mark(6).barrier(2, 7);
    for _ in 0..100 {
        play.pass(100).rest(1.0);
    }
    play.barrier(3, 8).quiet().check(expect![[r#"
        Signal { guarded: true }
        answer 1 with #1 interrupted "" "Interrupted.\n"
        interrupted 9: Uninterruptible Some(1) after 10s, computes"#]]);
    assert_eq!(play.machine.state(), SessionState::Uninterruptible);
    // The session accepts code nevertheless, and reports why its output may be mixed.
    play.eval("1").mark(9).quiet().check(expect![[r#"answer 2 with #2 done "" """#]]);
    assert!(play.machine.record(2).expect("remembered").notes[0].starts_with("Code of #1"));
    play.pass(1000).rest(1.0).pass(5000).rest(0.0);
    assert_eq!(play.machine.state(), SessionState::Idle);
}

#[test]
fn a_thread_that_the_repl_has_given_up_is_running() {
    let mut play = Play::ready();
    play.eval("forever (catch burn)").pass(100).interrupt(None).pass(11_000);
    play.log.clear();
    play.interrupt(None).err("Interrupted.\n").mark(6).barrier(2, 7);
    for _ in 0..34 {
        play.pass(300).rest(0.05);
    }
    play.barrier(3, 8).quiet().check(expect![[r#"
        Signal { guarded: true }
        interrupted 9: Uninterruptible Some(1) after 10.2s, continues, and the REPL has given it up"#]]);
    let status = |play: &Play| play.machine.record(1).expect("remembered").status;
    assert_eq!((play.machine.state(), status(&play)), (SessionState::Uninterruptible, Status::Running));
    // A repeated request observes again; a signal would hit the prompt.
    play.interrupt(None)
        .rest(0.05)
        .quiet()
        .check(expect!["interrupted 9: Uninterruptible Some(1) after 0ns, continues, and the REPL has given it up"]);
    play.pass(3000);
    for _ in 0..3 {
        play.rest(0.0);
    }
    play.barrier(4, 9);
    assert_eq!((play.machine.state(), status(&play)), (SessionState::Idle, Status::Interrupted));
}

#[test]
fn another_evaluation_than_the_one_that_is_meant_is_left_alone() {
    let mut play = Play::ready();
    play.eval("a").mark(6).eval("b").eval("c").interrupt(Some(1)).interrupt(Some(3)).interrupt(Some(7));
    play.on(Event::Input { eval: Some(1), text: "x\n".to_owned(), eof: false, waiter: Waiter(8) }).check(expect![[
        r#"
        write "a\n"
        answer 1 with #1 done "" ""
        write "b\n"
        refuse 9: evaluation 1 has ended (done); #2 is running
        answer 3 with #3 interrupted "" ""
        interrupted 9: Withdrawn Some(3) after 0ns
        refuse 9: unknown evaluation 7 in session "main"
        refuse 8: evaluation 1 has ended (done); #2 is running"#
    ]]);
    play.pass(50).interrupt(Some(2)).quiet().check(expect!["Signal { guarded: true }"]);
}
