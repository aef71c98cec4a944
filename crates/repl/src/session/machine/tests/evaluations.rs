//! Evaluations and answers: markers, pieces and the queue.

use super::*;

#[test]
fn from_the_start_to_the_first_answer() {
    Play::new()
        .note()
        .print("GHCi, version 9.0.2\nPrelude> Prelude> ")
        .eval("1+1")
        .mark_one(Stream::Stdout, None)
        .mark(4)
        .check(expect![[r#"
            write the install lines
            Log { stream: Stdout, bytes: [71, 72, 67, 105, 44, 32, 118, 101, 114, 115, 105, 111, 110, 32, 57, 46, 48, 46, 50, 10] }
            write ":hob-0123456789ab-1\n""#]])
        .barrier(1, 5)
        .print("2\n")
        .mark_one(Stream::Stdout, Some(6))
        .print("later\n")
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
    Play::ready().eval("sum [1..]").print("a").mark(5).print("b").mark(6).check(expect![[r#"
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
        refuse 4: session "main" already has 2 queued evaluations, the limit"#]]);
    play.claims[1].withdrawn.store(true, Ordering::Release);
    play.eval("e").mark(6).mark(7).mark(8).check(expect![[r#"
        answer 1 with #1 done "" ""
        write "c\n"
        answer 3 with #3 done "" ""
        write "e\n"
        answer 5 with #4 done "" """#]]);
}

#[test]
fn what_has_not_begun_is_withdrawn_by_an_interrupt() {
    let mut play = Play::ready();
    play.eval("a").eval("b").on(Event::Wait { which: EvalRef::Number(2), waiter: Waiter(8) });
    play.interrupt(Some(2)).mark(6).check(expect![[r#"
        write "a\n"
        answer 2 with #2 interrupted "" ""
        answer 8 with #2 interrupted "" ""
        interrupted 9: Withdrawn Some(2) after 0ns
        answer 1 with #1 done "" """#]]);
    play.interrupt(Some(2)).check(expect!["refuse 9: evaluation 2 has ended (interrupted); nothing is running"]);
    // A caller that waits for the last one means one that began.
    play.on(Event::Wait { which: EvalRef::Last, waiter: Waiter(8) }).check(expect!["answer 8 with #1 done \"\" \"\""]);
}

#[test]
fn without_a_prompt_function_a_printed_number_marks_the_end() {
    let mut play = Play::new();
    for _ in 0..12 {
        play.mark_one(Stream::Stdout, None);
    }
    // The marker on the other stream may come later.
    play.mark_one(Stream::Stdout, Some(1)).mark_one(Stream::Stdout, None).mark_one(Stream::Stderr, Some(1));
    assert_eq!((play.machine.state(), play.machine.completion()), (SessionState::Idle, Completion::Marker));
    play.log.clear();
    play.eval("1").print("1\n").mark_one(Stream::Stdout, None).mark(2).mark_one(Stream::Stdout, None).check(expect![[r#"
        write "1\n"
        write ":! printf '%s\\n' '0123456789abcdef0123456789abcdef 2 '; printf '%s\\n' '0123456789abcdef0123456789abcdef 2 ' >&2\n"
        answer 1 with #1 done "1\n" """#]]);
}
