//! `hob node usage` and `hob node gc`: the costs and stored results of calls.

use std::collections::BTreeMap;

use clap::Args;
use nodes::NodesSettings;
use nodes::cache::Cache;
use nodes::cassette::Cassettes;
use nodes::usage::{self, Usage};
use project::{Config, Project};
use serde_json::json;

use super::{folder, state};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Show the costs of nodes: attempts, tokens and money by node and model
#[derive(Debug, Args)]
pub(super) struct UsageOf {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Remove recordings that no node refers to, and expired values
#[derive(Debug, Args)]
pub(super) struct Gc {}

#[derive(Debug, Default)]
struct Sum {
    attempts: u64,
    failures: u64,
    input: u64,
    output: u64,
    unknown: u64,
    /// The number of attempts whose cost is unknown.
    unpriced: u64,
    /// The known cost; `None` if no cost is known.
    cost: Option<f64>,
}

impl UsageOf {
    pub(super) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let config = Config::load(project, &daemon::sections()).map_err(Failure::new)?;
        let path = state(project).join("usage.jsonl");
        let per_day = config.settings::<NodesSettings>().tokens_per_day;
        let today = Usage::new(path.clone(), per_day).spent_today();
        let mut sums = BTreeMap::<(String, String), Sum>::new();
        for spent in usage::read_all(&path).map_err(Failure::new)? {
            let sum = sums.entry((spent.node, spent.model)).or_default();
            sum.attempts += 1;
            sum.failures += u64::from(spent.class != nodes::outcome::Class::Done);
            sum.cost = sum.cost.into_iter().chain(spent.cost).reduce(|a, b| a + b);
            sum.unpriced += u64::from(spent.cost.is_none() && spent.counted > 0);
            match spent.tokens {
                Some(tokens) => {
                    sum.input = sum.input.saturating_add(tokens.input);
                    sum.output = sum.output.saturating_add(tokens.output);
                }
                None => sum.unknown += 1,
            }
        }
        if self.json {
            let rows = sums.iter().map(|((node, model), sum)| {
                json!({
                    "node": node, "model": model, "attempts": sum.attempts, "failures": sum.failures,
                    "tokens_in": sum.input, "tokens_out": sum.output, "attempts_without_counts": sum.unknown, "cost": sum.cost,
                })
            });
            let rows: Vec<_> = rows.collect();
            terminal::line(
                json!({"nodes": rows, "left_the_machine_today": today, "tokens_per_day": per_day}).to_string(),
            );
            return Ok(Exit::Done);
        }
        for ((node, model), sum) in &sums {
            let unknown = if sum.unknown == 0 { String::new() } else { format!(", {} without counts", sum.unknown) };
            let cost = match (sum.cost, sum.unpriced) {
                (None, 0) => String::new(),
                (None, _) => ", cost unknown".to_owned(),
                (Some(cost), 0) => format!(", cost {cost:.6}"),
                (Some(cost), unpriced) => {
                    format!(", cost {cost:.6} plus the unknown cost of {}", counted(unpriced, "attempt"))
                }
            };
            terminal::line(format!(
                "{node} on {model}: {} ({} failed{unknown}), {} tokens in, {} out{cost}",
                counted(sum.attempts, "attempt"),
                sum.failures,
                sum.input,
                sum.output
            ));
        }
        terminal::line(format!("{today} of {per_day} tokens were sent off this machine today ({})", usage::SETTING));
        Ok(Exit::Done)
    }
}

/// Renders a count with its noun.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

impl Gc {
    pub(super) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let (removed, kept) = Cassettes::collect_garbage(&folder(project)?).map_err(Failure::new)?;
        let expired = Cache::new(state(project).join("cache")).collect_garbage().map_err(Failure::new)?;
        terminal::line(format!(
            "{} removed, {kept} kept; {} removed",
            counted(removed as u64, "recording"),
            counted(expired as u64, "expired value")
        ));
        Ok(Exit::Done)
    }
}
