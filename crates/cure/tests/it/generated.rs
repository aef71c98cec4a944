//! Runs generated programs in the interpreter, formatted, and on Erlang. `HOB_CURE_PROGRAMS` is the number of programs
//! (default 100), `HOB_CURE_SEED` the seed of the first, `HOB_CURE_FAULTS` a file for all failures. For ten thousand:
//!
//! `HOB_CURE_PROGRAMS=10000 cargo nextest run --release -p cure --no-capture -E 'test(generated::)'`

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use testkit::has_program;
use testkit::otp::{Job, Otp};

use crate::generator::coverage;
use crate::generator::evaluate::evaluate;
use crate::generator::make;
use crate::generator::value::Value;
use cure::diagnostic::Lines;
use cure::form::Module;
use cure::syntax::format;
use cure::{Limits, NoSources, Stop, Watched, beam, compile, interpret};

/// The default number of programs.
const PROGRAMS: u64 = 100;

/// The number of programs in one batch for Erlang.
const BATCH: u64 = 50;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn count() -> u64 {
    number("HOB_CURE_PROGRAMS", PROGRAMS)
}

/// The number of programs per VM: their code stays in its memory.
const PROGRAMS_OF_A_VM: usize = 1000;

/// Runs a check for all seeds on all cores, with one state per worker; returns the failures.
fn run_each<S: Default>(what: impl Fn(Range<u64>, &mut S) -> Vec<String> + Sync) -> Vec<String> {
    let first = number("HOB_CURE_SEED", 0);
    let end = first + count();
    let next = AtomicU64::new(first);
    let work = || {
        let batch = || next.fetch_add(BATCH, Ordering::Relaxed);
        let batches = std::iter::repeat_with(batch).take_while(|from| *from < end);
        let mut state = S::default();
        batches.flat_map(|from| what(from..end.min(from + BATCH), &mut state)).collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let workers = std::thread::available_parallelism().map_or(2, usize::from);
        let started: Vec<_> = (0..workers)
            .map(|_| {
                let builder = std::thread::Builder::new().stack_size(64 << 20);
                builder.spawn_scoped(scope, work).expect("a thread starts")
            })
            .collect();
        started.into_iter().flat_map(|worker| worker.join().expect("a worker ends")).collect()
    })
}

/// This seed and its substitutes: far from all other seeds, and equal to it modulo `measure`.
fn other_seeds(seed: u64, measure: u64) -> impl Iterator<Item = u64> {
    (0..1 << 10).map(move |attempt| seed + (attempt << 40) * measure)
}

/// A program's core form, or why it is rejected.
fn forms(text: &str) -> Result<Vec<Arc<Module>>, String> {
    let compiled = compile(text, &NoSources);
    if compiled.is_ok() {
        return Ok(compiled.forms());
    }
    let lines = Lines::new(text);
    let said: Vec<_> = compiled.diagnostics.iter().filter(|one| one.is_error()).map(|one| one.line(&lines)).collect();
    Err(format!("refused:\n    {}", said.join("\n    ")))
}

fn interpreted(forms: &[Arc<Module>], name: &str, output: &str, expected: &Value) -> Result<(), String> {
    let run = interpret(forms, name, "main", Limits::default(), Stop::default(), Watched::default());
    let expected = expected.erlang();
    match run.result {
        Err(failure) => Err(format!("did not run: {failure}")),
        Ok(value) if value != expected => Err(format!("gave\n    {value}\ninstead of\n    {expected}")),
        Ok(_) if run.output != output => Err(format!("printed {:?} instead of {output:?}", run.output)),
        Ok(_) => Ok(()),
    }
}

type Files = Vec<(String, Vec<u8>)>;

fn written(forms: &[Arc<Module>]) -> Result<Files, String> {
    beam::program(forms, &|_| None).map_err(|said| format!("cannot be written: {said}"))
}

fn is_own(name: &str) -> bool {
    !name.starts_with("Std.")
}

/// The formatted program is the same program, and formatting it again changes nothing.
fn formatted(text: &str, files: &Files) -> Result<(), String> {
    let once = format(text).map_err(|_| "could not be formatted".to_owned())?;
    if format(&once).as_ref() != Ok(&once) {
        return Err(format!("formatted twice is not formatted once:\n{once}"));
    }
    let again = forms(&once).and_then(|forms| written(&forms));
    let again = again.map_err(|said| format!("formatted is {said}\n{once}"))?;
    let own = |files: &Files| files.iter().filter(|file| is_own(&file.0)).cloned().collect::<Files>();
    if own(&again) == own(files) { Ok(()) } else { Err(format!("formatted is another program:\n{once}")) }
}

/// A program to run on Erlang.
struct Case {
    seed: u64,
    name: String,
    text: String,
    output: String,
    expected: Value,
    files: Files,
    assembly: Vec<String>,
}

impl Case {
    fn fault(&self, said: &str) -> String {
        format!("seed {} {said}\n{}", self.seed, self.text)
    }

    /// Runs the programs on Erlang: the results must be equal, and the validator must accept the code.
    fn run(cases: &[Case], otp: &Otp) -> Vec<String> {
        let jobs = cases.iter();
        let jobs: Vec<Job<'_>> =
            jobs.map(|case| Job { modules: &case.files, module: &case.name, function: "main", input: "" }).collect();
        let mut faults = Vec::new();
        for (case, outcome) in cases.iter().zip(otp.run_all(&jobs)) {
            let expected = case.expected.erlang();
            if outcome.result.as_ref() != Ok(&expected) || case.output != outcome.output {
                faults.push(case.fault(&format!("instead of {expected} gave on Erlang {outcome:?}")));
            }
        }
        let own: Vec<_> = cases.iter().flat_map(|case| case.assembly.iter().map(move |code| (case, &**code))).collect();
        let codes: Vec<&str> = own.iter().map(|(_, code)| *code).collect();
        for ((case, _), said) in own.iter().zip(otp.validate(&codes)) {
            faults.extend(said.err().map(|said| case.fault(&format!("is not valid: {said}"))));
        }
        faults
    }
}

/// Counters of a run.
#[derive(Default)]
struct Tally {
    features: Mutex<BTreeMap<&'static str, usize>>,
    unusable: AtomicU64,
    on_erlang: AtomicU64,
    /// The time spent on each step, summed over all cores.
    times: Mutex<BTreeMap<&'static str, Duration>>,
}

impl Tally {
    fn timed<T>(&self, what: &'static str, done: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let given = done();
        *self.times.lock().expect("no worker panics").entry(what).or_default() += start.elapsed();
        given
    }

    /// Checks a program's value in the interpreter and its formatting; returns what remains for Erlang.
    fn generate_case(&self, seed: u64) -> Result<Case, String> {
        let (program, output, expected) = self.timed("making", || {
            let made = other_seeds(seed, 1).find_map(|seed| {
                let program = make::program(seed);
                match evaluate(&program) {
                    Ok((output, value)) => Some((program, output, value)),
                    Err(_) => {
                        self.unusable.fetch_add(1, Ordering::Relaxed);
                        None
                    }
                }
            });
            made.expect("there are more seeds than anybody can try")
        });
        let (text, in_text) = program.text();
        let name = program.name.clone();
        let mut features = self.features.lock().expect("no worker panics");
        program.features.iter().chain(&in_text).for_each(|feature| *features.entry(feature).or_default() += 1);
        drop(features);
        let fault = |said: String| format!("seed {seed} {said}\n{text}");
        let forms = self.timed("compiling", || forms(&text)).map_err(fault)?;
        self.timed("interpreting", || interpreted(&forms, &name, &output, &expected)).map_err(fault)?;
        let files = self.timed("writing", || written(&forms)).map_err(fault)?;
        self.timed("formatting, compiling again", || formatted(&text, &files)).map_err(fault)?;
        let own = forms.iter().filter(|form| is_own(&form.name));
        let assembly = own.flat_map(|form| beam::assembly(form, None).expect("it was written already"));
        let assembly = assembly.map(|(_, code)| code).collect();
        Ok(Case { seed, name, text, output, expected, files, assembly })
    }
}

/// Fails with the shortest program, which is the easiest to understand.
fn report(mut faults: Vec<String>) {
    faults.sort_by_key(String::len);
    if let Ok(path) = std::env::var("HOB_CURE_FAULTS") {
        std::fs::write(path, faults.join("\n=====\n")).expect("the faults can be written");
    }
    assert!(faults.is_empty(), "{} faults; the shortest:\n{}", faults.len(), faults[0]);
}

#[test]
fn programs_give_what_they_were_made_to_give_long_run() {
    let has_erlang = has_program("erl");
    let tally = Tally::default();
    let start = Instant::now();
    let faults = run_each(|seeds, erlang: &mut Option<(Otp, usize)>| {
        let mut faults = Vec::new();
        let mut cases = Vec::new();
        for seed in seeds {
            match tally.generate_case(seed) {
                Ok(case) => cases.push(case),
                Err(fault) => faults.push(fault),
            }
        }
        if !has_erlang {
            return faults;
        }
        if erlang.as_ref().is_some_and(|(_, ran)| *ran >= PROGRAMS_OF_A_VM) {
            *erlang = None;
        }
        let (otp, ran) = erlang.get_or_insert_with(|| (Otp::start().expect("it is installed"), 0));
        faults.extend(tally.timed("on Erlang", || Case::run(&cases, otp)));
        *ran += cases.len();
        tally.on_erlang.fetch_add(cases.len() as u64, Ordering::Relaxed);
        faults
    });
    let Tally { features, unusable, on_erlang, times } = tally;
    println!("{} programs in {:.0?}", count(), start.elapsed());
    println!("{:6}  of them on Erlang", on_erlang.into_inner());
    println!("{:6}  others, without a value that can be compared, were made again", unusable.into_inner());
    for (what, time) in times.into_inner().expect("no worker panics") {
        println!("{:5.0}s  {what}", time.as_secs_f64());
    }
    let features = features.into_inner().expect("no worker panics");
    for (feature, programs) in &features {
        println!("{programs:6}  {feature}");
    }
    report(faults);
    let missing: Vec<_> = coverage::features().filter(|feature| !features.contains_key(feature)).collect();
    assert!(count() < 1000 || missing.is_empty(), "never met: {missing:?}");
}

#[test]
fn no_program_that_is_wrong_passes() {
    let kinds = Mutex::new(BTreeMap::<&str, usize>::new());
    let faults = run_each(|seeds, (): &mut ()| {
        let passed = seeds.filter_map(|seed| {
            // Some kinds need a record or a condition, which not every program has.
            let made = other_seeds(seed, make::KINDS as u64).find_map(make::faulty);
            let (kind, program) = made.expect("there are more seeds than anybody can try");
            *kinds.lock().expect("no worker panics").entry(kind).or_default() += 1;
            let (text, _) = program.text();
            compile(&text, &NoSources).is_ok().then(|| format!("seed {seed} passed: {kind}\n{text}"))
        });
        passed.collect()
    });
    let kinds = kinds.into_inner().expect("no worker panics");
    println!("{} programs that are wrong", kinds.values().sum::<usize>());
    for (kind, programs) in &kinds {
        println!("{programs:6}  {kind}");
    }
    report(faults);
    assert!(count() < 1000 || kinds.len() == make::KINDS, "every kind is met");
}
