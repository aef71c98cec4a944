//! The cells of the matrix: a state of hob, its policy, and whether the agent's command ran.

use std::collections::HashMap;

use anyhow::{Context, Result};

use super::super::stage::Programs;
use super::Hooked;
use super::play::{Play, REASON, gate, rule};

/// State of hob while the agent runs its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Setup {
    NoRule,
    Deny,
    Ask,
    /// The policy denied, and is now invalid TOML.
    Broken,
    /// The policy denies, and no daemon runs yet.
    ColdStart,
    /// The same, and no daemon can start.
    Absent,
    /// The daemon is stopped by a signal.
    Stopped,
    /// hob's program is missing.
    Gone,
    /// The same, with a handwritten entry that lacks the fallback for a missing program.
    GoneByHand,
}

pub(super) struct Cell {
    pub(super) setup: Setup,
    /// Fail mode of the entries.
    pub(super) fail: &'static str,
    /// True if CI runs it.
    pub(super) is_few: bool,
}

const fn cell(setup: Setup, fail: &'static str, is_few: bool) -> Cell {
    Cell { setup, fail, is_few }
}

pub(super) const CELLS: [Cell; 15] = [
    cell(Setup::NoRule, "closed", true),
    cell(Setup::Deny, "open", true),
    cell(Setup::Ask, "open", true),
    cell(Setup::Broken, "open", true),
    cell(Setup::ColdStart, "closed", true),
    cell(Setup::Absent, "open", true),
    cell(Setup::Absent, "ask", false),
    cell(Setup::Absent, "closed", true),
    cell(Setup::Stopped, "open", true),
    cell(Setup::Stopped, "ask", true),
    cell(Setup::Stopped, "closed", true),
    cell(Setup::Gone, "open", true),
    cell(Setup::Gone, "ask", false),
    cell(Setup::Gone, "closed", true),
    cell(Setup::GoneByHand, "closed", false),
];

impl Cell {
    pub(super) fn label(&self) -> String {
        let what = match self.setup {
            Setup::NoRule => return "daemon there, no rule".to_owned(),
            Setup::Deny => return "daemon there, deny".to_owned(),
            Setup::Ask => return "daemon there, ask".to_owned(),
            Setup::Broken => return "daemon there, policy broken".to_owned(),
            Setup::ColdStart => return "cold start, deny".to_owned(),
            Setup::Absent => "daemon cannot start",
            Setup::Stopped => "daemon stopped",
            Setup::Gone => "hob gone",
            Setup::GoneByHand => "hob gone, entry by hand",
        };
        format!("{what}, {}", self.fail)
    }

    /// Doctor's name of the state.
    fn state(&self) -> &'static str {
        match self.setup {
            Setup::NoRule | Setup::Deny | Setup::Ask | Setup::Broken => "there",
            Setup::ColdStart => "killed",
            Setup::Absent | Setup::Stopped => "hanging",
            Setup::Gone | Setup::GoneByHand => "gone",
        }
    }
}

pub(super) struct Outcome {
    /// True if the command ran.
    pub(super) ran: bool,
    /// The effect that doctor predicted.
    pub(super) said: String,
    /// True if the configuration promised that effect.
    pub(super) holds: bool,
    /// If a daemon denied: true if the model received the reason.
    reason: Option<bool>,
    /// True if the agent finished.
    has_ended: bool,
}

impl Outcome {
    pub(super) fn agrees(&self) -> bool {
        self.ran == (self.said == "runs")
    }

    /// Returns the errors. A gap that doctor reports is not an error.
    pub(super) fn wrong(&self) -> Option<String> {
        match () {
            () if !self.agrees() => Some(format!("it {}, and doctor said {:?}", self.ran(), self.said)),
            () if self.reason == Some(false) => Some("the reason is not in what the model got".to_owned()),
            () if !self.has_ended => Some("the agent did not come to its end".to_owned()),
            () => None,
        }
    }

    pub(super) fn ran(&self) -> &'static str {
        if self.ran { "ran" } else { "blocked" }
    }
}

/// Doctor's report about a fail mode: by state, the effect and whether it is guaranteed.
type DoctorReport = HashMap<String, (String, bool)>;

pub(super) fn all(hooked: &'static Hooked, few: bool, programs: &Programs<'_>) -> Vec<Option<Result<Outcome>>> {
    let mut said: HashMap<&str, Result<DoctorReport, String>> = HashMap::new();
    let run = |cell: &Cell| {
        // opencode has hob's plugin instead of entries. doctor runs no line of a project that hob did not write.
        let is_not_run = hooked.name == "opencode" || hooked.list == "claude-old";
        let is_without = cell.setup == Setup::GoneByHand && is_not_run;
        if few && !cell.is_few || is_without {
            return None;
        }
        let said = said
            .entry(cell.fail)
            .or_insert_with(|| doctor(hooked, cell.fail, programs).map_err(|error| format!("{error:#}")));
        let outcome = match said {
            Ok(said) => outcome(hooked, cell, said, programs),
            Err(error) => Err(anyhow::anyhow!("hob doctor: {error}")),
        };
        if let Ok(outcome) = &outcome {
            println!("  {}: {}, doctor: {}", cell.label(), outcome.ran(), outcome.said);
        }
        Some(outcome)
    };
    CELLS.iter().map(run).collect()
}

fn doctor(hooked: &'static Hooked, fail: &str, programs: &Programs<'_>) -> Result<DoctorReport> {
    let play = Play::new(hooked, programs)?;
    play.write("hob-policy.toml", &rule("deny"))?;
    play.install(&["--fail", fail])?;
    read_report(&play)
}

fn read_report(play: &Play<'_>) -> Result<DoctorReport> {
    let (hooked, report) = (play.hooked, play.doctor()?);
    let entry = gate(&report, hooked.name).with_context(|| format!("no entry was proven: {}", report["findings"]))?;
    let states = entry["states"].as_array().into_iter().flatten();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    Ok(states.map(|state| (text(&state["state"]), (text(&state["effect"]), state["holds"] == true))).collect())
}

fn outcome(hooked: &'static Hooked, cell: &Cell, said: &DoctorReport, programs: &Programs<'_>) -> Result<Outcome> {
    let mut play = Play::new(hooked, programs)?;
    match cell.setup {
        Setup::NoRule => {}
        Setup::Ask => play.write("hob-policy.toml", &rule("ask"))?,
        _ => play.write("hob-policy.toml", &rule("deny"))?,
    }
    play.install(&["--fail", cell.fail])?;
    let mut by_hand = None;
    match cell.setup {
        Setup::ColdStart => {}
        Setup::Absent => play.bar_daemons()?,
        Setup::Gone => play.remove_hob()?,
        Setup::GoneByHand => {
            play.write_by_hand()?;
            by_hand = Some(self::read_report(&play)?);
            play.remove_hob()?;
        }
        _ => play.start_daemon()?,
    }
    let said = by_hand.as_ref().unwrap_or(said);
    match cell.setup {
        Setup::Stopped => play.stop_daemon()?,
        Setup::Broken => {
            // The policy takes effect once the daemon has read it.
            play.stage.status()?;
            play.write("hob-policy.toml", "no TOML")?;
        }
        _ => {}
    }
    let played = play.run(&["touch marker"])?;
    let (effect, holds) = match cell.setup {
        Setup::NoRule => ("runs".to_owned(), true),
        _ => said.get(cell.state()).cloned().context("doctor proved no such state")?,
    };
    let denies = matches!(cell.setup, Setup::Deny | Setup::Broken | Setup::ColdStart);
    Ok(Outcome {
        ran: play.stage.project().join("marker").exists(),
        said: effect,
        holds,
        reason: denies.then(|| played.last.contains(REASON)),
        has_ended: played.ended.is_ok(),
    })
}
