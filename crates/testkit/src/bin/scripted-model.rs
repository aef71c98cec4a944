//! The scripted model as a program, for callers that cannot use this crate: `scripted-model SCRIPT RECORD`.
//!
//! Reads the script (JSON, see `Script::parse`), prints its port on one line, writes each exchange to the record as a
//! line of JSON, and exits when stdin closes.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it talks to the program that started it")]

use std::fs::File;
use std::io::Write as _;
use std::process::ExitCode;

use testkit::scripted_model::{Script, ScriptedModel};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [script, record] = &args[..] else {
        eprintln!("usage: scripted-model SCRIPT RECORD");
        return ExitCode::from(2);
    };
    match run(script, record) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("scripted-model: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(script: &str, record: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(script).map_err(|error| format!("{script}: {error}"))?;
    let record = File::create(record).map_err(|error| format!("{record}: {error}"))?;
    let model = ScriptedModel::recording(Script::parse(&text)?, Some(Box::new(record)));
    let model = model.map_err(|error| format!("could not listen on 127.0.0.1: {error}"))?;
    let said = writeln!(std::io::stdout(), "{}", model.port()).and_then(|()| std::io::stdout().flush());
    said.map_err(|error| format!("could not print the port: {error}"))?;
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).map_err(|error| format!("stdin: {error}"))?;
    Ok(())
}
