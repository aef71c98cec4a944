//! The figures as a table: on the terminal, and in `docs/generated` with a description of the machine.

use std::fmt::Write;
use std::process::Command;

use anyhow::{Context, Result, bail};
use taskkit::workspace::{read, root, run};

/// A measured value with its floor.
pub(super) struct Figure {
    pub(super) what: String,
    /// The unit of value, floor and target.
    pub(super) unit: &'static str,
    pub(super) value: f64,
    /// The floor's name and value.
    pub(super) floor: Option<(&'static str, f64)>,
    pub(super) target: Option<Target>,
}

#[derive(Clone, Copy)]
pub(super) enum Target {
    /// The value is at most this.
    Max(f64),
    /// The value is at most this much above the floor.
    MaxAboveFloor(f64),
    /// The value is at least the floor times this.
    MinTimesFloor(f64),
    /// The value is at most the floor times this.
    MaxTimesFloor(f64),
}

impl Figure {
    /// True if the value meets the target; `None` without a target.
    fn is_met(&self) -> Option<bool> {
        let floor = self.floor.map_or(f64::NAN, |(_, floor)| floor);
        self.target.map(|target| match target {
            Target::Max(most) => self.value <= most,
            Target::MaxAboveFloor(most) => self.value - floor <= most,
            Target::MinTimesFloor(least) => self.value / floor >= least,
            Target::MaxTimesFloor(most) => self.value / floor <= most,
        })
    }

    fn row(&self) -> [String; 6] {
        let unit = self.unit;
        let (floor, ratio) = match self.floor {
            Some((name, floor)) => (format!("{} {unit} ({name})", number(floor)), format!("{:.2}", self.value / floor)),
            None => (String::new(), String::new()),
        };
        let target = match self.target {
            Some(Target::Max(most)) => format!("≤ {} {unit}", number(most)),
            Some(Target::MaxAboveFloor(most)) => format!("≤ floor + {} {unit}", number(most)),
            Some(Target::MinTimesFloor(least)) if least > 1.0 => format!("≥ {least} × floor"),
            Some(Target::MinTimesFloor(least)) => format!("≥ {:.0} % of floor", least * 100.0),
            Some(Target::MaxTimesFloor(most)) => format!("≤ {most} × floor"),
            None => String::new(),
        };
        let verdict = self.is_met().map_or("", |is_met| if is_met { "holds" } else { "MISSED" });
        [self.what.clone(), format!("{} {unit}", number(self.value)), floor, ratio, target, verdict.to_owned()]
    }
}

const HEAD: [&str; 6] = ["what", "measured", "floor", "ratio", "target", ""];

/// Prints the table, writes the page of a complete run, and returns how many targets were missed.
pub(super) fn publish(page: &Page, figures: &[Figure], is_complete: bool) -> Result<usize> {
    print!("\n{}", table(figures));
    let missed = figures.iter().filter(|figure| figure.is_met() == Some(false)).count();
    let held = figures.iter().filter(|figure| figure.is_met() == Some(true)).count();
    println!("\nbench: {held} targets hold, {missed} missed");
    if is_complete {
        write(page, figures)?;
    }
    Ok(missed)
}

/// [`publish`], which fails if a target is missed.
pub(super) fn conclude(page: &Page, figures: &[Figure], is_complete: bool) -> Result<()> {
    match publish(page, figures, is_complete)? {
        0 => Ok(()),
        missed => bail!("bench: {missed} targets are missed"),
    }
}

/// A generated page of figures.
pub(super) struct Page {
    /// The path below the root.
    pub(super) file: &'static str,
    /// The command that writes the page.
    pub(super) task: &'static str,
    /// Description of the measurements and floors, in sentences; may be empty.
    pub(super) about: &'static str,
}

/// The page of `cargo xtask bench`.
pub(super) const ALL: Page = Page { file: "docs/generated/bench.md", task: "cargo xtask bench", about: "" };

/// The page of `cargo xtask bench mail`.
pub(super) const MAIL: Page = Page {
    file: "docs/generated/bench-mail.md",
    task: "cargo xtask bench mail",
    about: "Messages of 500 bytes; single ones through real front-ends, crowds over the daemon's socket. The floor of a send \
            is appending as many bytes to a file on the same disk and syncing them, in between the sends. SQLite where \
            nothing else is said; the floor of PostgreSQL is its own `pgbench`, which writes the same rows into the same \
            tables before and after: the message, its delivery and its mailbox, in the crowd also handing out and \
            confirming, and one notification a commit. The counts of lost and doubled messages are of everything that was acknowledged while \
            daemons were killed.",
};

/// The page of `cargo xtask bench ask`.
pub(super) const ASK: Page = Page {
    file: "docs/generated/bench-ask.md",
    task: "cargo xtask bench ask",
    about: "Agents are real front-ends, each a program of its own; the person is a control connection, as the command line has \
            it. The floor of an answer is appending as many bytes to a file on the same disk and syncing them, in between the \
            answers. In the races two people's commands, the agent's dialog (2025-11-25) and `ask_cancel` come at once. The \
            counts of lost, strange and repeated answers are of everything that was asked and acknowledged while daemons and \
            agents were killed.",
};

fn write(page: &Page, figures: &[Figure]) -> Result<()> {
    let path = root().join(page.file);
    let about = if page.about.is_empty() { String::new() } else { format!("\n{}\n", page.about) };
    let text = format!(
        "# Figures\n\nWritten by `{}`: one interleaved run, each figure beside its floor in the same run.\n\
         Read ratios and differences; absolute times are of this machine on that day.\n{about}\n{}\n## The machine\n\n{}",
        page.task,
        table(figures),
        machine()
    );
    std::fs::create_dir_all(path.parent().expect("it has a folder")).context("could not make docs/generated")?;
    std::fs::write(&path, text).with_context(|| format!("could not write {path:?}"))?;
    println!("bench: written to {}", page.file);
    run(Command::new("git").args(["diff", "--stat", "--", page.file]).current_dir(root()))
}

/// A Markdown table whose columns are aligned, so that it reads well on a terminal too.
fn table(figures: &[Figure]) -> String {
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(figures.iter().map(Figure::row));
    let widths: Vec<usize> =
        (0..HEAD.len()).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
        if index == 0 {
            let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            let _ = writeln!(text, "| {} |", rule.join(" | "));
        }
    }
    text
}

/// Formats three significant digits: the measurements are no more precise.
fn number(value: f64) -> String {
    let digits = if value.abs() >= 100.0 {
        0
    } else if value.abs() >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$}")
}

/// The machine and the day, as a list.
pub(crate) fn machine() -> String {
    let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let after = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_once(':')).map_or("unknown".to_owned(), |(_, value)| value.trim().to_owned())
    };
    let version = |program: &str, args: &[&str]| {
        let said = read(Command::new(program).args(args)).unwrap_or_default();
        said.lines().next().unwrap_or("not there").to_owned()
    };
    let cpus = std::thread::available_parallelism().map_or(0, |count| count.get());
    let facts = [
        ("hob", env!("CARGO_PKG_VERSION").to_owned()),
        ("processor", format!("{}, {cpus} cores", after(&file("/proc/cpuinfo"), "model name"))),
        ("memory", after(&file("/proc/meminfo"), "MemTotal")),
        ("kernel", file("/proc/sys/kernel/osrelease").trim().to_owned()),
        ("load while measuring", file("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" ")),
        ("compiler", version("rustc", &["--version"])),
        ("GHCi", version("ghci", &["--version"])),
        ("day", version("date", &["-u", "+%F"])),
    ];
    facts.iter().fold(String::new(), |mut text, (key, value)| {
        let _ = writeln!(text, "- {key}: {value}");
        text
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_table_says_what_holds() {
        let figure = |value, floor, target| Figure {
            what: "start".to_owned(),
            unit: "ms",
            value,
            floor: Some(("bare", floor)),
            target: Some(target),
        };
        let figures = [
            figure(4.0, 1.0, Target::MaxAboveFloor(5.0)),
            figure(60.0, 1.0, Target::Max(50.0)),
            figure(70.0, 100.0, Target::MinTimesFloor(0.8)),
        ];
        expect![[r#"
            | what  | measured | floor          | ratio | target            |        |
            | ----- | -------- | -------------- | ----- | ----------------- | ------ |
            | start | 4.00 ms  | 1.00 ms (bare) | 4.00  | ≤ floor + 5.00 ms | holds  |
            | start | 60.0 ms  | 1.00 ms (bare) | 60.00 | ≤ 50.0 ms         | MISSED |
            | start | 70.0 ms  | 100 ms (bare)  | 0.70  | ≥ 80 % of floor   | MISSED |
        "#]]
        .assert_eq(&table(&figures));
    }
}
