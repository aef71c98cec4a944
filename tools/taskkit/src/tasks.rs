//! The command line of a program of tasks: `cargo xtask TASK …`.

use std::process::ExitCode;

use anyhow::{Result, bail};

/// A task: its name, and its function of the arguments after the name.
pub type Task = (&'static str, fn(&[String]) -> Result<()>);

/// Runs the task that the command line names, or prints the usage.
pub fn run(usage: &str, tasks: &[Task]) -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if wants_help(&args) {
        print!("{usage}");
        return ExitCode::SUCCESS;
    }
    let (task, rest) = args.split_first().expect("without arguments it wants help");
    let Some((_, run)) = tasks.iter().find(|(name, _)| name == task) else {
        eprint!("xtask: there is no task {task:?}\n\n{usage}");
        return ExitCode::from(2);
    };
    match run(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("xtask {task}: {e:#}");
            ExitCode::FAILURE
        }
    }
}

/// True if the arguments ask for help, before or after a task's name.
fn wants_help(args: &[String]) -> bool {
    args.is_empty() || args[0] == "help" || args.iter().any(|word| matches!(word.as_str(), "-h" | "--help"))
}

/// Rejects arguments to a task that takes none, instead of ignoring them.
pub fn no_arguments(rest: &[String]) -> Result<()> {
    match rest.first() {
        None => Ok(()),
        Some(other) => bail!("it takes no arguments, and there is {other:?}; `cargo xtask help` shows what tasks take"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn every_task_gives_help() {
        for line in ["", "help", "task --help", "task x -h"] {
            assert!(wants_help(&split(line)), "{line}");
        }
        assert!(!wants_help(&split("task")));
        assert!(no_arguments(&split("--quick")).unwrap_err().to_string().contains("cargo xtask help"));
    }
}
