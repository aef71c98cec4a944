//! Generated BEAM files on a real Erlang: they load, pass the validator, and behave as in the interpreter.

use std::collections::HashSet;
use std::sync::Arc;

use testkit::otp::{Job, Otp, Outcome};

use cure::form::Module;
use cure::{Compilation, Failure, Limits, NoSources, beam, compile, standard};

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

/// From OTP 27 on, exact tests tell 0.0 from -0.0, so a float is never tested exactly: a proved divisor stays one.
#[test]
fn floats_are_compared_by_value() {
    let Some(otp) = Otp::start() else { return };
    let text = r#"module T do
  record P do
    x: Float
  end
  def choice(x: Float): Float = if x != 0.0 then 1.0 / x else 9.0
  def value(x: Float, y: Float): Bool = x == y
  def pattern(x: Float): Float =
    match x do
      0.0 -> 9.0
      y -> 1.0 / y
    end
  def other_pattern(x: Float): Int =
    match x do
      1.5 -> 1
      _ -> 2
    end
  def clause(x: Float): Float when x == 0.0 = 9.0
  def clause(x: Float): Float when x != 0.0 = 1.0 / x
  def twice(x: {Float, Float}): Bool =
    match x do
      {a, a} -> true
      _ -> false
    end
  def any(x: Any): Int =
    match x do
      0.0 -> 1
      0 -> 2
      _ -> 3
    end
  def open(x: T, y: T): Bool = x == y
  def record_(x: P, y: P): Bool = x != y
  def list(x: List(Float), y: List(Float)): Bool = x == y
  def int(x: Int): Bool = x == 0
  def text(x: String): Bool = x == "a"
  def pairs(x: List({Int, String})): Bool = x != []
  def main(): Any =
    let zero = -0.0
    let one = 1.0
    {{choice(zero), choice(zero * one), choice(2.0)}, {value(zero, 0.0), pattern(zero), pattern(4.0)},
      {clause(zero), clause(0.5)}, {twice({zero, 0.0}), twice({zero, one})},
      {any(zero), any(0.0), any(0), any(1), any(:a)}, open(zero, 0.0), record_(P{x: zero}, P{x: 0.0}),
      list([zero], [0.0]), {other_pattern(1.5), other_pattern(zero)}}
end
"#;
    let compiled = compile(text, &NoSources);
    let files = files(&compiled);
    let outcome = otp.run(&files, "T", "main");
    assert_eq!(outcome.result.as_ref().ok(), compiled.run("main", Limits::default()).unwrap().result.as_ref().ok());
    expect_test::expect!["{{9.0,9.0,0.5},{true,9.0,0.25},{9.0,2.0},{true,false},{1,1,2,3,3},true,false,true,{1,2}}"]
        .assert_eq(&outcome.result.unwrap());
    let own = files.iter().find(|file| file.0 == "T").unwrap();
    let code = otp.disassemble(&[&own.1]).remove(0).unwrap();
    let mut said = String::new();
    for line in code.lines() {
        match line.strip_prefix("  ") {
            None => said.push_str(&format!("{line}\n")),
            Some(instruction) => {
                let compares = ["is_eq", "is_ne", "is_float", "'=='", "'/='", "'=:='", "'=/='", "select_val"];
                if compares.iter().any(|word| instruction.contains(word)) {
                    let kind = instruction.split(['{', ',', '[']).filter(|word| !word.is_empty()).take(2);
                    said.push_str(&format!("  {}\n", kind.collect::<Vec<_>>().join(" ")));
                }
            }
        }
    }
    expect_test::expect![[r#"
        choice/1:
          test is_ne
        value/2:
          bif '=='
        pattern/1:
          test is_float
          test is_eq
        other_pattern/1:
          test is_eq_exact
        clause/1:
          test is_eq
          test is_ne
        twice/1:
          test is_eq
        any/1:
          test is_float
          test is_eq
          test is_eq_exact
        open/2:
          bif '=='
        record_/2:
          bif '/='
        list/2:
          bif '=='
        int/1:
          bif '=:='
        text/1:
          bif '=:='
        pairs/1:
          bif '=/='
        main/0:
        module_info/0:
        module_info/1:
    "#]]
    .assert_eq(&said);
}

/// The interpreter and Erlang on programs that are easily read two ways: each body of `main` with what both say.
#[test]
fn both_say_the_same() {
    let Some(otp) = Otp::start() else { return };
    let machines = "module B do\n  fsm Door do\n    Shut --> |push| Open\n    Open --> |pull| Shut\n  end\n  fsm Both do\n    B --> |x| B\n  end\nend\nmodule C do\n  fsm Both do\n    C --> |x| C\n  end\nend\n";
    let bodies = [
        "Std.Fsm.fsm_state(Std.Fsm.start_fsm(:Door))",
        "Std.Fsm.fsm_state(Std.Fsm.fsm_spawn(:Both, ()))",
        "Std.Fsm.start_fsm(:Nowhere)",
        "big() * 10.0",
        "big() + big()",
        "-big() - big()",
        "big() / 0.1",
        "Std.Math.exp(big())",
        "root(-1.0)",
        "float(power(10, 400))",
    ];
    let mut said = String::new();
    for body in bodies {
        let text = format!(
            "module A do\n  import Std.Math [power/2]\n  def big(): Float = 1.0e308\n  curify root(x: Float): Float = {{math, \
             sqrt, 1}}\n  curify float(x: Int): Float = {{erlang, float, 1}}\n  def main(): Any = {body}\nend\n{machines}"
        );
        let compiled = compile(&text, &NoSources);
        let run = compiled.run("main", Limits::default()).unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
        let here = run.result.unwrap_or_else(|failure| match failure {
            Failure::Raised { reason, .. } => reason,
            other => other.to_string(),
        });
        let there = otp.run(&files(&compiled), "A", "main").result.unwrap_or_else(|reason| reason);
        said.push_str(&format!("{body}: {here}\n"));
        if here != there {
            said.push_str(&format!("  on Erlang: {there}\n"));
        }
    }
    expect_test::expect![[r#"
        Std.Fsm.fsm_state(Std.Fsm.start_fsm(:Door)): {ok,{'Shut',unit}}
        Std.Fsm.fsm_state(Std.Fsm.fsm_spawn(:Both, ())): {ok,{'B',unit}}
        Std.Fsm.start_fsm(:Nowhere): {error,no_such_fsm}
        big() * 10.0: badarith
        big() + big(): badarith
        -big() - big(): badarith
        big() / 0.1: badarith
        Std.Math.exp(big()): badarith
        root(-1.0): badarith
        float(power(10, 400)): badarg
    "#]]
    .assert_eq(&said);
}

/// The printed command line for a program prints the same as the interpreter, in any terminal.
#[test]
fn the_printed_line_prints_what_the_interpreter_prints() {
    if !testkit::has_program("erl") {
        return;
    }
    let values = [
        "\"žluť\"",
        "\"\"",
        "[382, 108]",
        "[1000, 2000]",
        "‘ab\\é’",
        "[]",
        "{:ok, 'žluť', 'two words', :x, true}",
        "[1.5, -0.0, 1.0e22]",
        "[[], [\"a\\\"b\\n\"]]",
        "12345678901234567890",
        "Std.Rec.put(:b, \"ö\", Std.Rec.put(1, 2, Std.Rec.new()))",
        "Some([Lt])",
        "()",
    ];
    let text = format!(
        "module Big.Things do\n  def main(): Any =\n    Std.Io.println(\"příliš\")\n    {{{}}}\nend\n",
        values.join(",\n      ")
    );
    let compiled = compile(&text, &NoSources);
    let built = beam::build(&compiled, "things.cure", &text, &NoSources).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("it's žluť");
    std::fs::create_dir(&place).unwrap();
    beam::output::write(&place, &built.files).unwrap();
    let line = beam::command_line(std::path::Path::new("it's žluť"), &built.mains[0]);
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", &line]).current_dir(directory.path()).env("LC_ALL", "C").output().unwrap();
    let run = compiled.run("main", Limits::default()).unwrap();
    let expected = format!("{}{}\n", run.output, run.result.unwrap());
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{line}");
    expect_test::expect![[r#"
        příliš
        {<<"žluť"/utf8>>,<<>>,[382,108],[1000,2000],"ab\\é",[],{ok,'žluť','two words',x,true},[1.5,-0.0,1.0e22],[[],[<<"a\"b\n">>]],12345678901234567890,#{1 => 2,b => <<"ö"/utf8>>},{some,[{lt}]},unit}
    "#]].assert_eq(&expected);
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
