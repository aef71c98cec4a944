//! The machine played by hand: what goes in, what comes out, at what time.

use super::*;
use crate::adapter::ghci::Ghci;
use expect_test::{Expect, expect};

/// A session with a clock of its own. Everything the machine wants is written down.
struct Play {
    machine: Machine,
    now: Instant,
    log: Vec<String>,
    waiter: u64,
    claims: Vec<Arc<Claim>>,
}

impl Play {
    fn new() -> Play {
        let bounds = Bounds { queue: 2, start: Duration::from_secs(60), idle: Some(Duration::from_secs(3600)) };
        let nonce = Nonce::known("0123456789abcdef0123456789abcdef");
        let now = Instant::now();
        let evals = Arc::new(crate::sessions::Numbers::fresh());
        let machine = Machine::new("main", Arc::new(Ghci), nonce, bounds, evals, now);
        Play { machine, now, log: Vec::new(), waiter: 0, claims: Vec::new() }
    }

    /// One that is ready, at line 5.
    fn ready() -> Play {
        let mut play = Play::new();
        play.mark(4).out("unknown command ':hob-0123456789ab-1'\nuse :? for help.\n").mark(5);
        play.log.clear();
        play
    }

    fn note(&mut self) -> &mut Play {
        self.machine.go_on(self.now);
        for action in self.machine.take_actions() {
            let line = match action {
                Action::Code { bytes, .. } if bytes.starts_with(b":set prompt-cont") => {
                    "write the install lines".to_owned()
                }
                Action::Code { bytes, .. } => format!("write {:?}", String::from_utf8_lossy(&bytes)),
                Action::Feed(bytes) => format!("feed {:?}", String::from_utf8_lossy(&bytes)),
                Action::Answer { waiter, eval } => {
                    let record = self.machine.record(eval).expect("it is remembered");
                    let [out, err] = record.output.each_ref().map(|output| output.bytes().0);
                    let show = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
                    format!("answer {} with #{eval} {} {:?} {:?}", waiter.0, record.status.name(), show(out), show(err))
                }
                Action::Refuse { waiter, error } => format!("refuse {}: {error}", waiter.0),
                Action::Accept { waiter, input } => format!("accept {}: {} pending", waiter.0, input.pending),
                Action::Interrupted { waiter, outcome, eval, took } => {
                    format!("interrupted {}: {outcome:?} {eval:?} after {took:?}", waiter.0)
                }
                Action::Emit(_) | Action::Loaded(_) => continue,
                other => format!("{other:?}"),
            };
            self.log.push(line);
        }
        self
    }

    fn out(&mut self, text: &str) -> &mut Play {
        self.machine.data(Stream::Stdout, text.as_bytes(), self.now);
        self
    }

    fn err(&mut self, text: &str) -> &mut Play {
        self.machine.data(Stream::Stderr, text.as_bytes(), self.now);
        self
    }

    fn mark_one(&mut self, stream: Stream, number: Option<u64>) -> &mut Play {
        self.machine.marker(stream, number, "Prelude", self.now);
        self.note()
    }

    fn mark(&mut self, number: u64) -> &mut Play {
        self.mark_one(Stream::Stdout, Some(number)).mark_one(Stream::Stderr, Some(number))
    }

    /// The answer to the `n`th barrier, at this line.
    fn barrier(&mut self, n: u64, line: u64) -> &mut Play {
        self.out(&format!("unknown command ':hob-0123456789ab-{n}'\nuse :? for help.\n")).mark(line)
    }

    fn eval(&mut self, code: &str) -> &mut Play {
        self.eval_with(code, None)
    }

    fn eval_with(&mut self, code: &str, stdin: Option<&str>) -> &mut Play {
        self.waiter += 1;
        let claim = Arc::new(Claim::default());
        self.claims.push(claim.clone());
        let (code, stdin, waiter) = (code.to_owned(), stdin.map(str::to_owned), Waiter(self.waiter));
        self.on(Event::Eval { code, stdin, quiet: false, claim, waiter })
    }

    fn on(&mut self, event: Event) -> &mut Play {
        self.machine.on(event, self.now);
        self.note()
    }

    /// Lets time pass, deadline by deadline.
    fn pass(&mut self, ms: u64) -> &mut Play {
        let end = self.now + Duration::from_millis(ms);
        while let Some(at) = self.machine.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.on(Event::Tick);
        }
        self.now = end;
        self
    }

    fn check(&mut self, expected: Expect) -> &mut Play {
        expected.assert_eq(&self.log.join("\n"));
        self.log.clear();
        self
    }
}

#[test]
fn from_the_start_to_the_first_answer() {
    Play::new()
        .note()
        .out("GHCi, version 9.0.2\nPrelude> Prelude> ")
        .eval("1+1")
        .mark_one(Stream::Stdout, None)
        .mark(4)
        .check(expect![[r#"
            write the install lines
            Log { stream: Stdout, bytes: [71, 72, 67, 105, 44, 32, 118, 101, 114, 115, 105, 111, 110, 32, 57, 46, 48, 46, 50, 10] }
            write ":hob-0123456789ab-1\n""#]])
        .barrier(1, 5)
        .out("2\n")
        .mark_one(Stream::Stdout, Some(6))
        .out("later\n")
        .err("warning\n")
        .mark_one(Stream::Stderr, Some(6))
        .check(expect![[r#"
            write "1+1\n"
            answer 1 with #1 done "2\n" "warning\n""#]])
        .eval("2")
        .mark(7)
        .check(expect![[r#"
            write "2\n"
            answer 2 with #2 done "" """#]]);
}

#[test]
fn a_marker_with_an_old_number_ends_nothing() {
    Play::ready().eval("sum [1..]").out("a").mark(5).out("b").mark(6).check(expect![[r#"
        write "sum [1..]\n"
        answer 1 with #1 done "ab" """#]]);
}

#[test]
fn several_pieces_run_one_after_the_other_up_to_an_error() {
    Play::ready().eval("import A\nx\ny").mark(6).err("<interactive>:6:1: error: no x\n").mark(7).check(expect![[r#"
        write "import A\n"
        write "x\n"
        answer 1 with #1 error "" "<interactive>:6:1: error: no x\n""#]]);
}

#[test]
fn the_queue_is_bounded_and_what_nobody_wants_is_dropped() {
    let mut play = Play::ready();
    play.eval("a").eval("b").eval("c").eval("d").check(expect![[r#"
        write "a\n"
        refuse 4: 2 evaluations wait in session "main" already"#]]);
    play.claims[1].withdrawn.store(true, Ordering::Release);
    play.eval("e").mark(6).mark(7).mark(8).check(expect![[r#"
        answer 1 with #1 done "" ""
        write "c\n"
        answer 3 with #3 done "" ""
        write "e\n"
        answer 5 with #4 done "" """#]]);
}

#[test]
fn an_interrupt_is_a_protocol() {
    let mut play = Play::ready();
    play.eval("sum [1..]").pass(50).on(Event::Interrupt { waiter: Waiter(9) }).err("Interrupted.\n").mark(6).check(
        expect![[r#"
        write "sum [1..]\n"
        Signal
        write ":hob-0123456789ab-2\n""#]],
    );
    // A second signal's prompt comes late; the second barrier outlasts it.
    play.barrier(2, 7).mark(7).pass(30).barrier(3, 8).check(expect![[r#"
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
    play.eval("sum [1..]").on(Event::Interrupt { waiter: Waiter(9) }).pass(300).mark(5).pass(400).check(expect![[r#"
        write "sum [1..]\n"
        Signal
        write ":hob-0123456789ab-2\n"
        Signal"#]]);
    play.err("Interrupted.\n").mark(6).barrier(2, 7).barrier(3, 8).pass(30).barrier(4, 9).check(expect![[r#"
        write ":hob-0123456789ab-3\n"
        write ":hob-0123456789ab-4\n"
        answer 1 with #1 interrupted "" "Interrupted.\n"
        interrupted 9: Interrupted Some(1) after 730ms"#]]);
}

#[test]
fn what_does_not_react_is_said_to_and_may_still_end() {
    let mut play = Play::ready();
    play.eval("loop").pass(100).on(Event::Interrupt { waiter: Waiter(9) }).pass(11_000);
    assert_eq!(play.machine.state(), SessionState::Uninterruptible);
    play.log.retain(|line| line.starts_with("interrupted"));
    play.check(expect!["interrupted 9: Uninterruptible Some(1) after 10s"]);
    let barriers = play.machine.barriers;
    play.mark(6).barrier(barriers + 1, 30).pass(30).barrier(barriers + 2, 31);
    assert_eq!(play.machine.state(), SessionState::Idle);
}

#[test]
fn input_goes_in_line_by_line_when_it_is_asked_for() {
    let mut play = Play::ready();
    play.eval_with("ask", Some("one\ntwo\n")).pass(2).on(Event::Probed(Probed::Busy)).check(expect![[r#"
        write "ask\n"
        Probe"#]]);
    play.pass(10).on(Event::Probed(Probed::Waiting)).check(expect![[r#"
        Probe
        feed "one\n""#]]);
    play.out("\"one\"\n").mark(6).barrier(2, 7).check(expect![[r#"
        write ":hob-0123456789ab-2\n"
        answer 1 with #1 done "\"one\"\n" """#]]);
}

#[test]
fn waiting_for_input_is_told_once_and_input_ends_it() {
    let mut play = Play::ready();
    play.eval("ask").pass(100).on(Event::Probed(Probed::Waiting)).check(expect![[r#"
        write "ask\n"
        Probe
        answer 1 with #1 waiting_for_input "" """#]]);
    assert_eq!(play.machine.state(), SessionState::WaitingForInput);
    play.on(Event::Wait { which: Which::Last, waiter: Waiter(7) })
        .check(expect![[r#"answer 7 with #1 waiting_for_input "" """#]]);
    play.on(Event::Input { text: "x\n".to_owned(), eof: false, waiter: Waiter(8) });
    play.on(Event::Wait { which: Which::Last, waiter: Waiter(9) });
    play.pass(2).on(Event::Probed(Probed::Waiting)).out("\"x\"\n").mark(6).barrier(2, 7).check(expect![[r#"
        accept 8: 2 pending
        Probe
        feed "x\n"
        write ":hob-0123456789ab-2\n"
        answer 9 with #1 done "\"x\"\n" """#]]);
    play.on(Event::Input { text: "x\n".to_owned(), eof: false, waiter: Waiter(8) })
        .check(expect![[r#"refuse 8: nothing runs in session "main" that could read input"#]]);
}

#[test]
fn the_repl_at_its_prompt_is_not_a_program_that_waits() {
    let mut play = Play::ready();
    play.eval("1").pass(100).mark_one(Stream::Stdout, Some(6)).on(Event::Probed(Probed::Waiting)).check(expect![[r#"
        write "1\n"
        Probe"#]]);
    assert_eq!(play.machine.state(), SessionState::Running);
}

#[test]
fn death_answers_everybody() {
    let mut play = Play::ready();
    play.eval("a").eval("b").on(Event::Interrupt { waiter: Waiter(9) });
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

#[test]
fn without_a_prompt_function_a_printed_number_marks_the_end() {
    let mut play = Play::new();
    for _ in 0..5 {
        play.mark_one(Stream::Stdout, None);
    }
    // The other stream may be the later one.
    play.mark_one(Stream::Stdout, Some(1)).mark_one(Stream::Stdout, None).mark_one(Stream::Stderr, Some(1));
    assert_eq!((play.machine.state(), play.machine.completion()), (SessionState::Idle, Completion::Marker));
    play.log.clear();
    play.eval("1").out("1\n").mark_one(Stream::Stdout, None).mark(2).mark_one(Stream::Stdout, None).check(expect![[r#"
        write "1\n"
        write ":! printf '%s\\n' '0123456789abcdef0123456789abcdef 2 '; printf '%s\\n' '0123456789abcdef0123456789abcdef 2 ' >&2\n"
        answer 1 with #1 done "1\n" """#]]);
}
