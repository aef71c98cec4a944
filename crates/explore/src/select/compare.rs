//! The comparison of the rules with a model on recorded decisions.

use std::time::{Duration, Instant};

use mcp::tool::{Context, ToolError};
use serde_json::{Value, json};

use super::decision::{Decision, Verdict};
use super::records::Entry;
use super::{Choice, ModelNodes, RATE_EDGE, SELECT_SYMBOLS, Selector};

/// The time limit of a comparison.
const TIME: Duration = Duration::from_secs(600);

/// Makes recorded decisions again, by the rules and by the model. Returns lines for people, and the figures.
///
/// # Errors
/// If no model can be used.
pub(crate) async fn compare(
    nodes: &ModelNodes,
    cx: &Context,
    entries: Vec<Entry>,
    tokens: u64,
) -> Result<(Vec<String>, Value), ToolError> {
    let since = Instant::now();
    let changed = entries.iter().filter(|one| one.decision.by_rules() != one.rules).count();
    let (selections, ratings): (Vec<Entry>, Vec<Entry>) =
        entries.into_iter().partition(|one| matches!(one.decision, Decision::SelectSymbols(_)));
    let (mut lines, mut figures, mut spent) = (Vec::new(), json!({}), 0);
    for (node, entries) in [(SELECT_SYMBOLS, selections), (RATE_EDGE, ratings)] {
        if entries.is_empty() {
            continue;
        }
        let limits = (entries.len(), tokens.saturating_sub(spent));
        let mut selector = Selector::new(nodes, cx, Choice::Model, node, limits).await?;
        let decisions: Vec<Decision> = entries.into_iter().map(|entry| entry.decision).collect();
        let verdicts = selector.decide(decisions.clone(), || TIME.saturating_sub(since.elapsed())).await;
        let usage = selector.finish().await?.model.unwrap_or_default();
        spent += usage.tokens;
        let both = decisions.iter().zip(&verdicts);
        let agreements = both.filter_map(|(decision, verdict)| agreement(&decision.by_rules(), verdict.as_ref()?));
        let agreements: Vec<(bool, f64)> = agreements.collect();
        let answered = agreements.len();
        let same = agreements.iter().filter(|one| one.0).count();
        let mean = agreements.iter().map(|one| one.1).sum::<f64>() / answered.max(1) as f64;
        let what = if node.name == SELECT_SYMBOLS.name { "the same first choice" } else { "the same relevance" };
        lines.push(format!(
            "{}: {} decisions, {answered} by the model: {what} in {same}, agreement {:.0} %",
            node.name,
            decisions.len(),
            mean * 100.0
        ));
        lines.push(usage.line());
        figures[node.name] = json!({
            "decisions": decisions.len(), "answered": answered, "same": same, "agreement": mean, "model": usage,
        });
    }
    let ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
    lines.push(format!("the rules decide differently than when recorded: {changed}"));
    lines.push(format!("time: {ms} ms"));
    figures["rules_changed"] = changed.into();
    figures["ms"] = ms.into();
    Ok((lines, figures))
}

/// Returns if a model's verdict has the same first choice or relevance as that of the rules, and how near it is, from 0 to 1:
/// the part of the selection that is also among as many first ones of the rules, or the nearness of the relevance.
fn agreement(rules: &Verdict, model: &Verdict) -> Option<(bool, f64)> {
    match (rules, model) {
        (Verdict::Selected { selected: all, .. }, Verdict::Selected { selected, .. }) => {
            let first = &all[..selected.len().min(all.len())];
            let common = selected.iter().filter(|name| first.contains(name)).count();
            Some((all.first() == selected.first(), common as f64 / selected.len().max(1) as f64))
        }
        (Verdict::Rated { relevance: rules, .. }, Verdict::Rated { relevance, .. }) => {
            Some((rules == relevance, 1.0 - f64::from(rules.abs_diff(*relevance)) / 4.0))
        }
        _ => None,
    }
}
