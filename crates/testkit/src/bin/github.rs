//! The GitHub fixture as a program, for callers that cannot use this crate: `github DIRECTORY MODEL`.
//!
//! Serves the data of the model (JSON): `{"OWNER/NAME": {"parent": …, "pulls": [{"number", "from", …}], "issues":
//! [{"number", …}]}}`. Further fields have the names of GitHub's schema. A `gh` whose `XDG_CONFIG_HOME` is the
//! directory is logged in. Prints a line when it is ready, and exits when stdin closes.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it talks to the program that started it")]

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;
use testkit::github::{GitHub, TOKEN, connection, issue};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [directory, model] = &args[..] else {
        eprintln!("usage: github DIRECTORY MODEL");
        return ExitCode::from(2);
    };
    match run(Path::new(directory), model) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("github: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(directory: &Path, model: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(model).map_err(|error| format!("{model}: {error}"))?;
    let model: Value = serde_json::from_str(&text).map_err(|error| format!("{model}: {error}"))?;
    let github = GitHub::start(directory);
    github.log_in("github.com", TOKEN);
    for (name, repository) in model.as_object().ok_or("the model is no object")? {
        github.repository(name, repository["parent"].as_str());
        for wanted in repository["issues"].as_array().into_iter().flatten() {
            let number = wanted["number"].as_u64().ok_or("an issue without a number")?;
            github.issue(name, number, wanted.clone());
        }
        for wanted in repository["pulls"].as_array().into_iter().flatten() {
            let number = wanted["number"].as_u64().ok_or("a pull request without a number")?;
            let from = wanted["from"].as_str().ok_or("a pull request without `from`")?;
            let mut more = wanted.clone();
            if let Some(closes) = wanted["closes"].as_array() {
                let closes = closes.iter().filter_map(Value::as_u64).map(|number| issue(name, number, Value::Null));
                more["closingIssuesReferences"] = connection("Issue", closes.collect());
            }
            github.pull(name, number, from, more);
        }
    }
    println!("serves");
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest).map_err(|error| error.to_string())?;
    Ok(())
}
