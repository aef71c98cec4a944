//! How a session ends: by exit, by limits, by being stopped.

use super::*;

#[test]
fn death_answers_everybody() {
    let mut play = Play::ready();
    play.eval("a").eval("b").on(Event::Interrupt { eval: None, waiter: Waiter(9) });
    play.on(Event::Died(Death { code: None, signal: Some(11) })).eval("c").check(expect![[r#"
        write "a\n"
        answer 1 with #1 crashed "" ""
        interrupted 9: Ended Some(1) after 0ns
        answer 2 with #2 crashed "" ""
        refuse 3: session "main" has ended: it crashed with signal 11 (SIGSEGV)"#]]);
    assert_eq!(play.machine.state(), SessionState::Crashed);
}

#[test]
fn limits_end_it() {
    let mut play = Play::ready();
    play.pass(3_600_000).check(expect!["End(Ask([58, 113, 117, 105, 116, 10]))"]);
    let mut play = Play::ready();
    play.eval("a").on(Event::Closed(Stream::Stderr)).on(Event::Stop { reason: "later".to_owned() });
    play.on(Event::Died(Death { code: None, signal: Some(9) })).check(expect![[r#"
        write "a\n"
        End(Kill)
        answer 1 with #1 killed "" """#]]);
    assert_eq!(play.machine.reason(), Some("it closed its standard error"));
}

#[test]
fn what_the_end_interrupts_is_killed() {
    let mut play = Play::ready();
    play.eval("a").on(Event::Stop { reason: "it was stopped".to_owned() });
    // The signal reaches the program as an exception, and the REPL continues for a moment.
    play.err("*** Exception: ghc: signal: 15\n").mark(6).check(expect![[r#"
        write "a\n"
        End(Terminate)
        answer 1 with #1 killed "" "*** Exception: ghc: signal: 15\n""#]]);
    play.on(Event::Died(Death { code: Some(0), signal: None }));
    assert_eq!(
        play.machine.record(1).expect("remembered").notes,
        ["The session ended: it was stopped; GHCi reports this as `signal: 15`, which is not an error."]
    );
}

/// Reports that the session was unused for the idle time, and longer.
fn unused(play: &mut Play) -> &mut Play {
    play.on(Event::Unused { away: Duration::from_secs(3600) })
}

#[test]
fn what_nobody_uses_is_interrupted_and_then_the_session_ends() {
    let mut play = Play::ready();
    play.eval("sum [1..]")
        .eval("2")
        .pass(50)
        .on(Event::Unused { away: Duration::from_secs(3599) })
        .quiet()
        .check(expect![""]);
    unused(&mut play).quiet().check(expect!["Signal { guarded: true }"]);
    unused(&mut play).err("Interrupted.\n").mark(6).barrier(2, 7).pass(30).rest(0.0).barrier(3, 8).quiet().check(
        expect![[r#"
            answer 1 with #1 interrupted "" "Interrupted.\n"
            End(Ask([58, 113, 117, 105, 116, 10]))"#]],
    );
    // The evaluation that waited for it is not begun.
    play.on(Event::Died(Death { code: Some(0), signal: None })).check(expect![[r#"answer 2 with #2 killed "" """#]]);
}

#[test]
fn what_nobody_uses_and_no_interrupt_ends_is_ended() {
    let mut play = Play::ready();
    play.eval("main").pass(50);
    unused(&mut play).pass(9_900);
    unused(&mut play).quiet().check(expect!["Signal { guarded: true }"]);
    play.pass(100);
    unused(&mut play).quiet().check(expect!["End(Terminate)"]);
}

#[test]
fn a_caller_who_comes_back_keeps_the_session() {
    let mut play = Play::ready();
    play.eval("main").pass(50);
    unused(&mut play).pass(1000);
    play.on(Event::Look { which: EvalRef::Last, waiter: Waiter(8) });
    play.err("Interrupted.\n").mark(6).barrier(2, 7).pass(30).rest(0.0).barrier(3, 8).eval("2").mark(9).quiet().check(
        expect![[r#"
            Signal { guarded: true }
            answer 8 with #1 running "" ""
            answer 1 with #1 interrupted "" "Interrupted.\n"
            answer 2 with #2 done "" """#]],
    );
}
