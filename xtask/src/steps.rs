//! The steps of a long task: duration, result, and last line of output of each.

use std::fmt;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use taskkit::workspace::{command_line, run};

/// The steps so far. Displayed as a table.
#[derive(Default)]
pub(crate) struct Steps {
    rows: Vec<Row>,
}

struct Row {
    name: &'static str,
    took: Duration,
    outcome: Outcome,
}

enum Outcome {
    /// Results with the last line of output; empty for a step in this process.
    Passed(String),
    Failed(String),
}

impl Steps {
    /// Runs a step in this process.
    pub(crate) fn step<T>(&mut self, name: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let from = Instant::now();
        let done = work();
        let outcome = match &done {
            Ok(_) => Outcome::Passed(String::new()),
            Err(error) => Outcome::Failed(error.to_string()),
        };
        self.rows.push(Row { name, took: from.elapsed(), outcome });
        done
    }

    /// Runs a program as a step.
    pub(crate) fn command(&mut self, name: &'static str, command: &mut Command) -> Result<()> {
        self.step(name, || run(command))
    }

    /// Runs `first` and prints its output immediately. Concurrently runs `others` in turn, and prints the output of
    /// each when it ends. All run to their ends, even if one fails.
    pub(crate) fn side_by_side(
        &mut self,
        first: (&'static str, Command),
        others: Vec<(&'static str, Command)>,
    ) -> Result<()> {
        let before = self.rows.len();
        let (first, others) = std::thread::scope(|scope| {
            let others = scope.spawn(|| {
                let row = |(name, command)| run_program(name, command, false);
                others.into_iter().map(row).collect::<Vec<_>>()
            });
            (run_program(first.0, first.1, true), others.join().expect("running a program does not panic"))
        });
        self.rows.extend(others);
        self.rows.push(first);
        let failed = self.rows[before..].iter().filter(|row| matches!(row.outcome, Outcome::Failed(_)));
        match failed.map(|row| row.name).collect::<Vec<_>>()[..] {
            [] => Ok(()),
            ref failed => bail!("failed: {}", failed.join(", ")),
        }
    }
}

/// Runs a program and keeps its last line. Prints its output immediately (`live`) or at its end.
fn run_program(name: &'static str, command: Command, live: bool) -> Row {
    let from = Instant::now();
    let outcome = match output(command, live) {
        Ok((true, last)) => Outcome::Passed(last),
        Ok((false, last)) => Outcome::Failed(last),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    };
    Row { name, took: from.elapsed(), outcome }
}

/// True if the program succeeded, and its last line.
fn output(mut command: Command, live: bool) -> Result<(bool, String)> {
    let line = command_line(&command);
    if live {
        println!("$ {line}");
    }
    // Both streams share a pipe, so that errors keep their place in the output.
    let (reader, writer) = std::io::pipe().context("could not make a pipe")?;
    command.stdin(Stdio::null()).stdout(writer.try_clone().context("no pipe")?).stderr(writer);
    let mut child = command.spawn().with_context(|| format!("could not start `{line}`"))?;
    // The command holds copies of the pipe's ends, which would keep it open.
    drop(command);
    let (mut kept, mut last) = (format!("$ {line}\n").into_bytes(), String::new());
    let mut reader = BufReader::new(reader);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes).context("could not read")? > 0 {
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        if !text.is_empty() {
            text.clone_into(&mut last);
        }
        if live {
            std::io::stdout().write_all(&bytes)?
        } else {
            kept.extend_from_slice(&bytes)
        }
        bytes.clear();
    }
    let status = child.wait().with_context(|| format!("could not wait for `{line}`"))?;
    if !live {
        std::io::stdout().write_all(&kept)?;
    }
    Ok((status.success(), last))
}

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wide = self.rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
        for Row { name, took, outcome } in &self.rows {
            let (ended, said) = match outcome {
                Outcome::Passed(line) => ("held", line.as_str()),
                Outcome::Failed(why) => ("FAILED", why.as_str()),
            };
            let said: String = said.chars().take(90).collect();
            writeln!(f, "{}", format!("{name:wide$}  {:>4} s  {ended:6}  {said}", took.as_secs()).trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn the_table_has_every_step_and_its_outcome() {
        let mut steps = Steps::default();
        steps.step("setup", || Ok(())).unwrap();
        let others = vec![("lint", shell("echo bad >&2; exit 1")), ("fuzzing", shell("echo fine; echo"))];
        let error = steps.side_by_side(("tests", shell("echo one; echo 2 passed")), others).unwrap_err();
        assert_eq!(error.to_string(), "failed: lint");
        expect![[r#"
            setup       0 s  held
            lint        0 s  FAILED  bad
            fuzzing     0 s  held    fine
            tests       0 s  held    2 passed
        "#]]
        .assert_eq(&steps.to_string());
    }
}
