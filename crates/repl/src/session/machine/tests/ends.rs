//! How a session ends: by death, by limits, by being stopped.

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
    // The signal reaches the program as an exception, and the REPL lives on for a moment.
    play.err("*** Exception: ghc: signal: 15\n").mark(6).check(expect![[r#"
        write "a\n"
        End(Terminate)
        answer 1 with #1 killed "" "*** Exception: ghc: signal: 15\n""#]]);
    play.on(Event::Died(Death { code: Some(0), signal: None }));
    assert_eq!(play.machine.record(1).expect("remembered").notes, ["The session ended: it was stopped."]);
}
