//! The machine played by hand: events in, actions out, at given times.

use super::*;
use crate::adapter::ghci::Ghci;
use expect_test::{Expect, expect};
use process::activity::Activity;

/// A session with a clock of its own, which writes down all actions.
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
        let evals = Arc::new(crate::numbers::EvalNumbers::fresh());
        let machine = Machine::new("main", Arc::new(Ghci), nonce, bounds, evals, now);
        Play { machine, now, log: Vec::new(), waiter: 0, claims: Vec::new() }
    }

    /// A session that is ready, at line 5.
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
                Action::Code { bytes, .. } if bytes.starts_with(b":set stop") => "write the install lines".to_owned(),
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
                Action::Interrupted { waiter, outcome, eval, took, rest } => {
                    let rest = rest.map(|rest| format!(", {rest}")).unwrap_or_default();
                    format!("interrupted {}: {outcome:?} {eval:?} after {took:?}{rest}", waiter.0)
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

    fn interrupt(&mut self, eval: Option<u64>) -> &mut Play {
        self.on(Event::Interrupt { eval, waiter: Waiter(9) })
    }

    /// The answer to an observation: the share of a processor that the session takes.
    fn rest(&mut self, had: f64) -> &mut Play {
        self.on(Event::Watched(Activity { wanted: had, had, young: Vec::new() }))
    }

    /// Drops all actions but signals and answers.
    fn quiet(&mut self) -> &mut Play {
        self.log.retain(|line| !["Probe", "Watch", "write"].iter().any(|start| line.starts_with(start)));
        self
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
        play.out("cleaning\n").pass(1000).on(Event::Probed(Probed::Sleeping));
    }
    play.interrupt(None).pass(999);
    assert_eq!(play.machine.state(), SessionState::Interrupting);
    play.pass(1).quiet().check(expect![[r#"
        interrupted 9: NotYet Some(1) after 10s, sleeps
        interrupted 9: NotYet Some(1) after 10s, sleeps"#]]);
    // Asked again, it sends another signal.
    play.pass(5000).interrupt(None).quiet().check(expect!["Signal { guarded: true }"]);
    play.err("Interrupted.\n").mark(6).barrier(2, 7);
    for _ in 0..3 {
        play.pass(300).rest(0.0);
    }
    play.barrier(3, 8).quiet().check(expect![[r#"
        answer 1 with #1 interrupted "cleaning\ncleaning\ncleaning\ncleaning\ncleaning\ncleaning\ncleaning\ncleaning\ncleaning\n" "Interrupted.\n"
        interrupted 9: Interrupted Some(1) after 900ms"#]]);
    assert_eq!(play.machine.state(), SessionState::Idle);
    assert!(play.machine.record(1).expect("remembered").notes[0].contains("code of it that sleeps may go on"));
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
fn between_two_pieces_is_interrupted_too() {
    let mut play = Play::ready();
    // The signal comes while the first piece runs, which ends nevertheless.
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
    // Nor does what it printed before the signal, if it ends by itself.
    play.eval("worker").err("Interrupted.\n").pass(1100).interrupt(None).mark(7).barrier(2, 8).pass(30).rest(0.0);
    play.barrier(3, 9).quiet().check(expect![[r#"
        Signal { guarded: true }
        answer 2 with #2 done "" "Interrupted.\n"
        interrupted 9: Finished Some(2) after 30ms"#]]);
}

#[test]
fn what_printed_lately_is_looked_at_until_it_would_print_again() {
    // Once, every 400 ms, and all the time.
    for (pauses, looks) in [(&[][..], 10), (&[400, 400], 7), (&[5; 40], 1)] {
        let mut play = Play::ready();
        play.eval("ticker").out("tick\n");
        for pause in pauses {
            play.pass(*pause).out("tick\n");
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
    // The session takes code nevertheless, and says why its output may be mixed.
    play.eval("1").mark(9).quiet().check(expect![[r#"answer 2 with #2 done "" """#]]);
    assert!(play.machine.record(2).expect("remembered").notes[0].starts_with("Something of #1"));
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
        interrupted 9: Uninterruptible Some(1) after 10.2s, goes on, and the REPL has given it up"#]]);
    let status = |play: &Play| play.machine.record(1).expect("remembered").status;
    assert_eq!((play.machine.state(), status(&play)), (SessionState::Uninterruptible, Status::Running));
    // Asked again, it observes again; a signal would hit the prompt.
    play.interrupt(None)
        .rest(0.05)
        .quiet()
        .check(expect!["interrupted 9: Uninterruptible Some(1) after 0ns, goes on, and the REPL has given it up"]);
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
        refuse 9: evaluation 1 is over (done); #2 runs now
        refuse 9: evaluation 3 has not begun (queued); #2 runs now
        refuse 9: session "main" remembers no evaluation 7
        refuse 8: evaluation 1 is over (done); #2 runs now"#
    ]]);
    play.pass(50).interrupt(Some(2)).quiet().check(expect!["Signal { guarded: true }"]);
}

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
    play.out("\"one\"\n").mark(7).barrier(2, 8).check(expect![[r#"
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
    // The first piece reads one line; the second gets the rest, and leaves something too.
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
    play.pass(2).on(Event::Probed(Probed::Waiting)).out("\"x\"\n").mark(6).barrier(2, 7).check(expect![[r#"
        accept 8: 2 pending
        Probe
        feed "x\n"
        write ":hob-0123456789ab-2\n"
        answer 9 with #1 done "\"x\"\n" """#]]);
    play.on(Event::Input { eval: None, text: "x\n".to_owned(), eof: false, waiter: Waiter(8) })
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

#[test]
fn without_a_prompt_function_a_printed_number_marks_the_end() {
    let mut play = Play::new();
    for _ in 0..12 {
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
