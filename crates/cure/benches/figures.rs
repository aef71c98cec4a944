//! Times of the compiler, one `name<TAB>microseconds` per line: the median of repeated runs after one uncounted
//! warm-up. `cargo xtask bench cure` runs this program and compares each figure with its target and its floor.

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use cure::{NoSources, Workspace, beam, compile, syntax};

// Printing is the purpose of this program.
#[allow(clippy::print_stdout)]
fn main() {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let times = if quick { 5 } else { 41 };
    let say = |name: &str, micros: f64| println!("{name}\t{micros:.2}");

    let (small, large) = (functions(49_000), functions(1_000_000));
    let (match_50, match_1000) = (clauses(49_000), clauses(1_000_000));
    say("parse 49 KB", median(times, || drop(syntax::parse(&small))));
    say("read 49 KB", median(times, || assert!(small.chars().filter(|c| c.is_alphanumeric()).count() > 0)));
    say("check 49 KB", median(times, || assert!(compile(&small, &NoSources).is_ok())));
    let per_byte = |text: &str, micros: f64| micros / text.len() as f64 * 50_000.0;
    let few = times.min(5);
    for (name, one, other) in [("functions", &small, &large), ("one match", &match_50, &match_1000)] {
        say(&format!("parse of 50 KB, {name}"), per_byte(one, median(times, || drop(syntax::parse(one)))));
        say(&format!("parse in 1 MB, {name}"), per_byte(other, median(few, || drop(syntax::parse(other)))));
        let check = |text: &str| assert!(compile(text, &NoSources).is_ok());
        say(&format!("check of 50 KB, {name}"), per_byte(one, median(few, || check(one))));
        say(&format!("check in 1 MB, {name}"), per_byte(other, median(few.min(3), || check(other))));
    }

    let module =
        "module Small do\n  export [main/0]\n  def double(n: Int): Int = n * 2\n  def main(): Int = double(21)\nend\n";
    say("validate a small module", median(times * 20, || assert!(syntax::parse(module).diagnostics.is_empty())));
    say("check a small module", median(times * 20, || assert!(compile(module, &NoSources).is_ok())));
    let dir = std::env::temp_dir().join(format!("cure-figures-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory can be made");
    files(&dir, module, times, &say);
    project(&dir.join("project"), times, &say);
    std::fs::remove_dir_all(&dir).expect("the directory can be removed");
}

/// A small module to a BEAM file, and the bare write of the same bytes, in turns.
fn files(dir: &Path, module: &str, times: usize, say: &dyn Fn(&str, f64)) {
    let path = dir.join("Small.beam");
    let written = || {
        let compiled = compile(module, &NoSources);
        let own: Vec<_> = compiled.forms().into_iter().filter(|form| &*form.name == "Small").collect();
        let files = beam::program(&own, &|_| None).expect("it can be written");
        std::fs::write(&path, &files[0].1).expect("the file can be written");
        files
    };
    let bytes = written().swap_remove(0).1;
    let (mut whole, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..times {
        whole.push(timed(|| drop(written())));
        bare.push(timed(|| std::fs::write(&path, &bytes).expect("the file can be written")));
    }
    say("compile to a file", middle(whole));
    say("write the file", middle(bare));
}

/// 200 modules, one of them used by 50 others: checked again after a change.
fn project(dir: &Path, times: usize, say: &dyn Fn(&str, f64)) {
    std::fs::create_dir_all(dir).expect("a directory can be made");
    let text = |at: usize, body: usize, arity: bool| {
        let mut text = format!("module M{at} do\n");
        if (1..=50).contains(&at) {
            text.push_str("  import M0\n");
        }
        for function in 0..10 {
            let _ = writeln!(
                text,
                "  def f{function}_{at}(n: Int): Int = if n > {body} then n * {function} + 1 else n - {at}"
            );
        }
        if at == 0 {
            let _ =
                writeln!(text, "  def shared(n: Int): {} = n + {body}", if arity { "Int" } else { "{x: Int | x > n}" });
        }
        text.push_str("end\n");
        text
    };
    let write = |at: usize, text: String| {
        std::fs::write(dir.join(format!("m{at}.cure")), text).expect("the file can be written");
    };
    (0..200).for_each(|at| write(at, text(at, 1, true)));
    let mut workspace = Workspace::new([dir.to_path_buf()]);
    let mut check = |wanted: std::ops::RangeInclusive<usize>| {
        let report = workspace.refresh().check(dir);
        assert!(report.is_ok(), "the project is right");
        assert!(wanted.contains(&report.checked.len()), "{} were checked again", report.checked.len());
    };
    say("check 200 modules", timed(|| check(200..=200)));
    let (mut bodies, mut heads, mut nothing) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..times {
        // Measures a change that has settled, because files modified at this very moment are read again each time.
        write(100, text(100, round + 2, true));
        bodies.push(timed(|| check(1..=1)));
        write(0, text(0, round + 2, round % 2 == 1));
        heads.push(timed(|| check(51..=51)));
        nothing.push(timed(|| check(0..=0)));
    }
    say("check again, a body", middle(bodies));
    say("check again, a signature with 50 dependents", middle(heads));
    say("check again, nothing", middle(nothing));
}

/// Returns many small functions of about `bytes` bytes in total.
fn functions(bytes: usize) -> String {
    let mut text = String::from("module Big do\n");
    let mut at = 0;
    while text.len() < bytes {
        let _ = write!(
            text,
            "  # The function of number {at}.\n  def f{at}(a: Int, name: String): String =\n    let next = a * {at} + 1\n    match next do\n      0 -> \"none\"\n      n when n > 10 -> \"#{{name}}: #{{n - 1}}\"\n      _ -> if a == 3 then name else g{at}([a, next, 2])\n    end\n  def g{at}(all: List(Int)): String =\n    match all do\n      [] -> \"\"\n      [first | rest] -> \"#{{first}}\" <> g{at}(rest)\n    end\n"
        );
        at += 1;
    }
    text.push_str("end\n");
    text
}

/// Returns one function with one match of about `bytes` bytes.
fn clauses(bytes: usize) -> String {
    let mut text = String::from("module Big do\n  def f(n: Int): Int =\n    match n do\n");
    let mut at = 0;
    while text.len() < bytes {
        let _ = writeln!(text, "      {at} -> n * {at} + 1");
        at += 1;
    }
    text.push_str("      _ -> 0\n    end\nend\n");
    text
}

fn timed(what: impl FnOnce()) -> f64 {
    let start = Instant::now();
    what();
    start.elapsed().as_secs_f64() * 1e6
}

fn middle(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// The median, in microseconds; what takes long is not done so often.
fn median(times: usize, mut what: impl FnMut()) -> f64 {
    what();
    let started = Instant::now();
    let mut all = Vec::new();
    while all.len() < times && (all.len() < 3 || started.elapsed() < Duration::from_secs(5)) {
        all.push(timed(&mut what));
    }
    middle(all)
}
