//! Generated BEAM files on a real Erlang: they load, pass the validator, and behave as in the interpreter.

use std::collections::HashSet;
use std::sync::Arc;

use testkit::otp::{Job, Otp, Outcome};

use cure::form::Module;
use cure::{Compilation, Limits, NoSources, beam, compile, standard};

/// The files of a program, with all its dependencies.
fn files(compiled: &Compilation) -> Vec<(String, Vec<u8>)> {
    beam::program(&compiled.forms(), &|_| None).unwrap()
}

/// The accepted programs of the table, the examples and the standard library: name and text.
fn programs() -> Vec<(String, String)> {
    let table = include_str!("../data/programs.tsv");
    let rows = table.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    let rows = rows.filter(|row| row[2].starts_with("accept"));
    let mut all: Vec<_> = rows.map(|row| (row[0].to_owned(), row[3].replace("\\n", "\n"))).collect();
    let examples = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples")).unwrap();
    for example in examples.flatten() {
        let text = std::fs::read_to_string(example.path()).unwrap();
        all.push((example.file_name().to_string_lossy().into_owned(), text));
    }
    all.extend(standard::names().map(|name| (name.to_owned(), standard::source(name).unwrap().to_owned())));
    all
}

#[test]
fn the_smallest_program_runs() {
    let Some(otp) = Otp::start() else { return };
    let compiled = compile("module T do\n  def main(): Int = 42\nend\n", &NoSources);
    assert_eq!(otp.run(&files(&compiled), "T", "main"), Outcome { result: Ok("42".to_owned()), output: String::new() });
    // The harness's report about a broken module.
    let broken = "{module, x}.\n{exports, [{f,0}]}.\n{attributes, []}.\n{labels, 3}.\n{function, f, 0, 2}.\n{label,1}.\n\
                  {func_info,{atom,x},{atom,f},0}.\n{label,2}.\n{move,{x,5},{x,0}}.\nreturn.\n";
    let said = otp.validate(&[broken]).remove(0).unwrap_err();
    assert!(said.contains("uninitialized_reg"), "{said}");
    let absent = otp.run(&[("x".to_owned(), b"no file".to_vec())], "x", "main").result.unwrap_err();
    assert!(absent.starts_with("not loaded"), "{absent}");
}

#[test]
fn every_module_is_valid_and_does_the_same_on_erlang() {
    let Some(otp) = Otp::start() else { return };
    let mut faults = Vec::new();
    let mut seen = HashSet::new();
    let (mut names, mut texts, mut beams) = (Vec::new(), Vec::new(), Vec::new());
    let mut ran = 0;
    for (name, text) in programs() {
        let compiled = compile(&text, &NoSources);
        let forms = compiled.forms();
        let files = files(&compiled);
        let assembly = beam::program_assembly(&forms).unwrap();
        for ((module, text), (_, beam)) in assembly.into_iter().zip(&files) {
            let shared = module.starts_with("Std.") || module == "cure_fsm";
            if !shared || seen.insert(module.clone()) {
                names.push(format!("{name}: {module}"));
                texts.push(text);
                beams.push(beam.clone());
            }
        }
        let runs = |form: &&Arc<Module>| form.exports.iter().any(|(name, arity)| &**name == "main" && *arity == 0);
        let (Some(run), Some(main)) = (compiled.run("main", Limits::default()), forms.iter().find(runs)) else {
            continue;
        };
        let job = Job { modules: &files, module: &main.name, function: "main", input: "" };
        let outcome = otp.run_all(&[job]).remove(0);
        if run.result.clone().ok() != outcome.result.clone().ok() || run.output != outcome.output {
            faults.push(format!("{name}: {:?} {:?}, on Erlang {outcome:?}", run.result, run.output));
        }
        ran += 1;
    }
    let texts: Vec<_> = texts.iter().map(|text| &**text).collect();
    let beams: Vec<_> = beams.iter().map(|beam| &**beam).collect();
    let said = otp.validate(&texts).into_iter().zip(otp.chunks(&beams).into_iter().map(|read| read.map(drop)));
    for (name, (valid, read)) in names.iter().zip(said) {
        faults.extend(valid.and(read).err().map(|said| format!("{name}: {said}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(ran > 40 && names.len() > 60, "only {ran} programs of {} modules ran", names.len());
}

#[test]
fn every_file_says_that_it_is_for_otp_24_and_later() {
    // A loader infers a file's age from its highest opcode: OTP 27 refuses files that could be from before OTP 24, and
    // OTP 24 refuses newer ones.
    for (name, file) in files(&compile("module T do\n  def main(): Int = 42\nend\n", &NoSources)) {
        let code = file.windows(4).position(|bytes| bytes == b"Code").unwrap();
        let header: Vec<u32> =
            file[code + 8..code + 28].chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
        assert_eq!(header[..3], [16, 0, 176], "{name}");
    }
}

#[test]
fn what_a_file_cannot_hold_is_told() {
    let calls = vec!["f(1)"; 1200].join(", ");
    let params: Vec<_> = (0..300).map(|at| format!("p{at}: Int")).collect();
    let texts = [
        format!("module T do\n  def f(x: Int): Int = x\n  def main(): Any = [{calls}]\nend\n"),
        format!("module T do\n  def f({}): Int = p0\nend\n", params.join(", ")),
        "module A do\n  fsm M do\n    X --> |go| X\n  end\nend\nmodule A.M do\n  def f(): Int = 1\nend\n".to_owned(),
    ];
    let said = texts.iter().map(|text| {
        let compiled = compile(text, &NoSources);
        assert!(compiled.is_ok());
        format!("{}\n", beam::program(&compiled.forms(), &|_| None).unwrap_err())
    });
    expect_test::expect![[r#"
        T.main needs more than 1000 values at once; split it into several functions
        T.f has or passes 300 arguments, with what functions capture; the BEAM allows 255: pass a record or a list instead
        there are two BEAM modules A.M: a module, and a state machine of the module that its name begins with; rename one
    "#]].assert_eq(&said.collect::<String>());
    // No source text reaches this error: the length of names is checked earlier.
    let form = compile("module T do\n  def main(): Int = 1\nend\n", &NoSources).forms()[0].as_ref().clone();
    let long = cure::form::Module { name: "A".repeat(256).into(), ..form };
    let said = beam::program(&[long.into()], &|_| None).unwrap_err().to_string();
    assert_eq!(said, "the name AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA… is longer than an atom may be: 255 bytes");
}
