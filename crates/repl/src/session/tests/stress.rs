//! GHCi under stress. Sized for every run; `HOB_STRESS_EVALS`, `HOB_STRESS_INTERRUPTS` and `HOB_STRESS_MB` raise the
//! counts, `HOB_STRESS_SEED` repeats a run.

use std::time::Instant;

use super::*;
use crate::result::Status;
use crate::session::InterruptOutcome;

pub(super) fn count(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// A generator, xorshift64*, of repeatable choices and times.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn seeded() -> Random {
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        let seed = count("HOB_STRESS_SEED", clock.as_nanos() as u64 | 1);
        println!("HOB_STRESS_SEED={seed}");
        Random(seed)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_evaluations_in_a_row_long_run() {
    let session = ghci();
    let count = count("HOB_STRESS_EVALS", 1000);
    let begun = Instant::now();
    for n in 0..count {
        let (code, expected) = match n % 4 {
            0 => ("1+1".to_owned(), "done | \"2\\n\" | \"\"".to_owned()),
            1 => (format!("{n} * 2"), format!("done | \"{}\\n\" | \"\"", n * 2)),
            2 => (format!("let x{n} = {n}"), "done | \"\" | \"\"".to_owned()),
            _ => (
                format!("putStr \"{n}\" >> System.IO.hPutStr System.IO.stderr \"e{n}\""),
                format!("done | \"{n}\" | \"e{n}\""),
            ),
        };
        assert_eq!(line(&eval(&session, &code).await), expected, "{code}");
    }
    println!("{count} evaluations in {:?}", begun.elapsed());
    session.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_evaluation_after_an_interrupt_is_right_long_run() {
    let mut random = Random::seeded();
    let session = ghci();
    eval(&session, "import Control.Concurrent\nimport System.IO\nimport System.Process").await;
    let count = count("HOB_STRESS_INTERRUPTS", 40);
    let (mut hit, mut missed, mut idle) = (0, 0, 0);
    let mut took = Vec::new();
    for n in 0..count {
        let racing = random.below(3) == 0;
        let end = random.below(60);
        let code = match (racing, random.below(6)) {
            (true, kind) if kind < 3 => format!("threadDelay {}", end * 1000),
            (true, 3) => format!("callCommand \"sleep {}\"", end as f64 / 1000.0),
            (true, _) => format!("print (sum [1..{}])", end * 20_000),
            (false, 0) => "sum [1..]".to_owned(),
            (false, 1) => "mapM_ print [1..]".to_owned(),
            (false, 2) => "getLine".to_owned(),
            (false, 3) => "threadDelay 100000000".to_owned(),
            (false, 4) => "callCommand \"sleep 100\"".to_owned(),
            (false, _) => "let f = do\n      hPutStrLn stderr \"tick\"\n      threadDelay 500\n      f\nf".to_owned(),
        };
        let running =
            session.eval(EvalRequest { wait: Duration::ZERO, ..EvalRequest::new(&code) }).await.expect("taken");
        let delay = if racing { end.saturating_sub(10) + random.below(20) } else { random.below(60) };
        tokio::time::sleep(Duration::from_millis(delay)).await; // sleeps: the moment is what is tested
        let report = session.interrupt(1000).await.expect("an answer");
        took.push(report.took);
        match report.outcome {
            InterruptOutcome::Interrupted => hit += 1,
            InterruptOutcome::Finished => missed += 1,
            InterruptOutcome::Idle => idle += 1,
            other => panic!("interrupt {n} of {code:?} after {delay} ms: {other:?}"),
        }
        let ended = session.wait(Some(running.eval), LONG, 1000).await.expect("it is remembered");
        assert!(matches!(ended.status, Status::Interrupted | Status::Done), "{code:?}: {ended:?}");
        let next = eval(&session, &format!("putStrLn \"out{n}\" >> hPutStrLn stderr \"err{n}\"")).await;
        assert_eq!(
            line(&next),
            format!("done | \"out{n}\\n\" | \"err{n}\\n\""),
            "after interrupt {n} of {code:?} after {delay} ms: {:?}, {:?}, then {:?}",
            report.outcome,
            report.eval,
            next.between
        );
        // The library that runs commands complains from a separate thread about interrupted children.
        let complains = code.contains("callCommand");
        assert!(next.between.is_none() || complains, "after {code:?}: {:?}", next.between);
    }
    took.sort();
    let at = |part: usize| took[(took.len() - 1) * part / 100];
    println!(
        "{count} interrupts: {hit} hit a running evaluation, {missed} lost the race, {idle} came after the end; 0 wrong next results; \
         p50 {:?}, p95 {:?}, max {:?}",
        at(50),
        at(95),
        at(100)
    );
    assert!(hit * 8 >= count * 5, "at least 250 of 400 must hit: {hit} of {count}");
    session.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_is_bounded_and_counted() {
    let session = ghci();
    let lines = count("HOB_STRESS_MB", 10) * 1_000_000 / 100;
    eval(&session, "1").await;
    let before = session.output().status().total.stdout;
    let begun = Instant::now();
    let result = eval(&session, &format!("mapM_ putStrLn (replicate {lines} (replicate 99 'x'))")).await;
    let took = begun.elapsed();
    assert_eq!(result.status, Status::Done, "{:?}", result.stderr);
    let truncated = result.truncated.expect("it does not fit");
    assert_eq!(truncated.stdout.total, lines * 100);
    assert!(result.stdout.len() < 20_000, "{}", result.stdout.len());
    let log = session.output().status();
    assert_eq!(log.total.stdout - before, lines * 100);
    assert_eq!(log.dropped.stdout - before, truncated.stdout.dropped);
    assert_eq!(log.dropped.stdout, log.oldest, "one stream: what is gone is what lies before the oldest byte");
    assert!(log.end - log.oldest <= 4 << 20, "memory is bounded");
    println!("{} MB in {took:?}, {} bytes dropped", lines / 10_000, log.dropped.stdout);
    assert_eq!(line(&eval(&session, "1+1").await), "done | \"2\\n\" | \"\"");
    session.stop("the test is over").await;
}
