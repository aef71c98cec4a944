//! A question answered in four ways at once: by two people, in the agent's dialog, and by cancelling it. One wins; the
//! others are told who was first, and when.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::super::Bench;
use super::super::report::Figure;
use super::{count, id_of};
use crate::client::Client;

/// Outcomes of the ways in one race.
#[derive(Default)]
struct Tally {
    races: usize,
    /// Two people, the dialog, and `ask_cancel`.
    won: [usize; 4],
    without_one_winner: usize,
    untold: usize,
    wrong: usize,
}

pub(super) fn measure(bench: &Bench) -> Result<Vec<Figure>> {
    let mut tally = Tally::default();
    let mut agent = super::agent(bench, &["ask"], true)?;
    let mut people = [super::person(bench)?, super::person(bench)?];
    // The dialog's own connection also cancels questions, like an agent with several calls in flight.
    for turn in 0..bench.times(1_000) {
        let action = format!("Go on, {turn}?");
        let call = agent.begin_call("confirm_action", json!({ "action": action, "wait_s": 60 }))?;
        let shown = agent.first(Duration::from_secs(20), |message| message["method"] == "elicitation/create")?;
        let list = people[0].request("ask/list", json!({}))?;
        let listed = list["questions"].as_array().into_iter().flatten();
        let question = listed.into_iter().find(|question| question["title"] == action.as_str());
        let id = id_of(question.context("a question is not listed")?)?;
        race(&mut agent, &mut people, &mut tally, (call, shown.message["id"].clone(), &id), turn)?;
    }
    let [first, second, dialog, cancel] = tally.won;
    Ok(vec![
        count("races of four ways to one question", tally.races, None),
        count("… won by the first person's command", first, None),
        count("… by the second's", second, None),
        count("… by the dialog", dialog, None),
        count("… by ask_cancel", cancel, None),
        count("… without one winner", tally.without_one_winner, Some(0)),
        count("… losers who were not told who was first, and when", tally.untold, Some(0)),
        count("… results that are not the winner's answer", tally.wrong, Some(0)),
    ])
}

/// Runs one race. The order in which the ways begin depends on `turn`.
fn race(
    agent: &mut Client,
    people: &mut [Client; 2],
    tally: &mut Tally,
    (call, dialog, id): (u64, Value, &str),
    turn: usize,
) -> Result<()> {
    let barrier = Barrier::new(3);
    let [one, two] = people;
    let (said, taken_back) = thread::scope(|scope| -> Result<_> {
        let (barrier, give) = (&barrier, |line: &mut Client, note: &str| -> Result<Value> {
            barrier.wait();
            let request = line.begin("ask/answer", json!({ "question": id, "yes": true, "note": note }))?;
            Ok(line.answer(request)?.message)
        });
        let first = scope.spawn(move || give(one, "one"));
        let second = scope.spawn(move || give(two, "two"));
        let content = json!({ "action": "accept", "content": { "confirm": "yes", "note": "dialog" } });
        let filled = json!({ "jsonrpc": "2.0", "id": dialog, "result": content });
        // A dialog's answer takes the longest.
        let is_early = turn.is_multiple_of(4);
        if is_early {
            agent.write(&filled)?;
        }
        barrier.wait();
        // Sometimes one of the agent's two ways starts some microseconds later. Otherwise the people would hardly ever win.
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_micros(turn as u64 % 7 * 40) {
            std::hint::spin_loop();
        }
        let cancel = json!({ "question": id, "reason": "raced" });
        let cancelled = agent.begin_call("ask_cancel", cancel)?;
        if !is_early {
            agent.write(&filled)?;
        }
        let said = [first, second].map(|person| person.join().expect("a person does not panic"));
        Ok((said, cancelled))
    })?;
    let cancelled = agent.answer(taken_back)?.message;
    let result = agent.answer(call)?.message["result"].take();
    let structured = &result["structuredContent"];
    tally.races += 1;
    let mut winners = Vec::new();
    for (number, (said, note)) in said.into_iter().zip(["one", "two"]).enumerate() {
        let said = said?;
        if said.get("result").is_some() {
            winners.push((number, note));
        } else {
            let told = said["error"]["message"].as_str().unwrap_or_default();
            let is_told = told.contains("already: by ") || told.contains("already: withdrawn by its asker");
            tally.untold += usize::from(!is_told);
        }
    }
    // The dialog reports only to the agent, whose result names the winner.
    match structured["status"].as_str() {
        Some("cancelled") => winners.push((3, "")),
        Some("answered") if structured["note"] == "dialog" => winners.push((2, "dialog")),
        Some("answered") => {
            let by = structured["answered"]["by"].is_string() && structured["answered"]["at"].is_string();
            tally.untold += usize::from(!by);
        }
        _ => bail!("a race ended with {result}"),
    }
    let told_back = cancelled["result"].to_string();
    let [(winner, note)] = winners[..] else {
        tally.without_one_winner += 1;
        return Ok(());
    };
    tally.won[winner] += 1;
    if winner == 3 {
        tally.wrong += usize::from(structured["confirmed"] != false);
    } else {
        tally.wrong += usize::from(structured["note"] != note || structured["confirmed"] != true);
        tally.untold += usize::from(!told_back.contains("answered"));
    }
    Ok(())
}
