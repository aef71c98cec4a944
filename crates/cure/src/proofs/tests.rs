//! What is made, run. `HOB_CURE_PROGRAMS` says how many programs; without it a part of them. `HOB_CURE_FAULTS` names a
//! file for everything that went wrong.

use std::collections::BTreeMap;

use testkit::otp::{Job, Otp};

use super::evaluate::evaluate;
use super::faults::{ANYWHERE, DEFINITIONS, UNPROVED};
use super::make;
use super::value::Value;
use crate::diagnostic::Lines;
use crate::eval::machine::Machine;
use crate::syntax::format;
use crate::{Alone, Limits, Stop, Watched, beam, compile};

/// How many programs there are, unless the environment says otherwise.
const PROGRAMS: u64 = 100;

pub(crate) fn count() -> u64 {
    std::env::var("HOB_CURE_PROGRAMS").ok().and_then(|text| text.parse().ok()).unwrap_or(PROGRAMS)
}

/// Does this for many seeds, on all cores; gives what went wrong.
fn each(count: u64, what: impl Fn(u64) -> Option<String> + Sync) -> Vec<String> {
    let workers = std::thread::available_parallelism().map_or(2, |count| count.get() as u64);
    let what = &what;
    let work = |worker: u64| move || (worker..count).step_by(workers as usize).filter_map(what).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..workers)
            .map(|worker| {
                let builder = std::thread::Builder::new().stack_size(64 << 20);
                builder.spawn_scoped(scope, work(worker)).expect("a thread starts")
            })
            .collect();
        started.into_iter().flat_map(|worker| worker.join().expect("a worker ends")).collect()
    })
}

/// What is wrong with a text that should give this.
fn wrong(name: &str, text: &str, output: &str, expected: &Value) -> Option<String> {
    let compiled = compile(text, &Alone);
    if !compiled.is_ok() {
        let lines = Lines::new(text);
        let said: Vec<_> =
            compiled.diagnostics.iter().filter(|one| one.is_error()).map(|one| one.line(&lines)).collect();
        return Some(format!("refused:\n    {}", said.join("\n    ")));
    }
    let forms = compiled.forms();
    let mut machine = Machine::new(&forms, Limits::default(), Stop::default(), Watched::default());
    match machine.call(name, "main", Vec::new()) {
        Err(failure) => Some(format!("did not run: {failure}")),
        Ok(value) if !expected.is_value(&value) => Some(format!(
            "gave\n    {}\ninstead of\n    {}",
            crate::eval::value::show(&value, 100_000),
            expected.erlang()
        )),
        Ok(_) if machine.output != output => Some(format!("printed {:?} instead of {output:?}", machine.output)),
        Ok(_) => None,
    }
}

/// Fails with the shortest, the easiest to understand.
fn report(mut faults: Vec<String>) {
    faults.sort_by_key(String::len);
    if let Ok(path) = std::env::var("HOB_CURE_FAULTS") {
        std::fs::write(path, faults.join("\n=====\n")).expect("the faults can be written");
    }
    assert!(faults.is_empty(), "{} faults; the shortest:\n{}", faults.len(), faults[0]);
}

#[test]
fn programs_give_what_they_were_made_to_give() {
    let features = std::sync::Mutex::new(BTreeMap::<&str, usize>::new());
    let unusable = std::sync::atomic::AtomicUsize::new(0);
    let count = count();
    let faults = each(count, |seed| {
        let program = make::program(seed);
        let Ok((output, expected)) = evaluate(&program) else {
            unusable.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            return None;
        };
        let mut features = features.lock().expect("no worker panics");
        program.features.iter().for_each(|feature| *features.entry(feature).or_default() += 1);
        drop(features);
        let text = program.text();
        if let Some(fault) = wrong(&program.name, &text, &output, &expected) {
            return Some(format!("seed {seed} {fault}\n{text}"));
        }
        let Ok(formatted) = format(&text) else { return Some(format!("seed {seed} could not be formatted\n{text}")) };
        if format(&formatted).as_ref() != Ok(&formatted) {
            return Some(format!("seed {seed} formatted twice is not formatted once\n{formatted}"));
        }
        let fault = wrong(&program.name, &formatted, &output, &expected)?;
        Some(format!("seed {seed} formatted {fault}\n{formatted}"))
    });
    println!("{count} programs, {} of them without a value that can be compared", unusable.into_inner());
    for (feature, programs) in features.into_inner().expect("no worker panics") {
        println!("{programs:6}  {feature}");
    }
    report(faults);
}

#[test]
fn programs_do_the_same_on_erlang() {
    let Some(otp) = Otp::start() else { return };
    let mut faults = Vec::new();
    let mut ran = 0;
    let seeds: Vec<u64> = (0..count()).collect();
    for seeds in seeds.chunks(50) {
        let mut made = Vec::new();
        for seed in seeds {
            let program = make::program(*seed);
            let Ok((output, expected)) = evaluate(&program) else { continue };
            let text = program.text();
            let compiled = compile(&text, &Alone);
            let forms = compiled.forms();
            match (beam::program(&forms, &|_| None), beam::program_assembly(&forms)) {
                (Ok(files), Ok(assembly)) => made.push((program.name, text, output, expected, files, assembly)),
                (files, _) => faults.push(format!("seed {seed} {:?}\n{text}", files.err())),
            }
        }
        let job = |at: usize| Job { modules: &made[at].4, module: &made[at].0, function: "main", input: "" };
        let jobs: Vec<Job<'_>> = (0..made.len()).map(job).collect();
        for ((name, text, output, expected, ..), outcome) in made.iter().zip(otp.run_all(&jobs)) {
            ran += 1;
            let expected = expected.erlang();
            if outcome.result.as_ref() != Ok(&expected) || *output != outcome.output {
                faults.push(format!("{name} instead of {expected} gave {outcome:?}\n{text}"));
            }
        }
        let own = made.iter().flat_map(|(name, text, .., assembly)| {
            assembly.iter().filter(|(module, _)| module.starts_with('G')).map(move |(_, code)| (name, text, code))
        });
        let own: Vec<_> = own.collect();
        let codes: Vec<&str> = own.iter().map(|(_, _, code)| code.as_str()).collect();
        for ((name, text, _), said) in own.iter().zip(otp.validate(&codes)) {
            faults.extend(said.err().map(|said| format!("{name} is not valid: {said}\n{text}")));
        }
    }
    println!("{ran} programs ran on Erlang");
    report(faults);
}

#[test]
fn no_program_that_is_wrong_passes() {
    let kinds = std::sync::Mutex::new(BTreeMap::<&str, usize>::new());
    let faults = each(count(), |seed| {
        let (kind, program) = make::faulty(seed)?;
        *kinds.lock().expect("no worker panics").entry(kind).or_default() += 1;
        let text = program.text();
        let compiled = compile(&text, &Alone);
        compiled.is_ok().then(|| format!("seed {seed} passed: {kind}\n{text}"))
    });
    let kinds = kinds.into_inner().expect("no worker panics");
    println!("{} programs that are wrong", kinds.values().sum::<usize>());
    for (kind, programs) in &kinds {
        println!("{programs:6}  {kind}");
    }
    report(faults);
    // Some kinds need a record or a condition, which not every program has.
    assert!(count() < 1000 || kinds.len() == UNPROVED.len() + ANYWHERE.len() + DEFINITIONS.len(), "every kind is met");
}
