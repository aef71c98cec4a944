//! Four ways to close a question at once: two people who answer, the agent's dialog, and the agent taking it back. Two
//! agents race at the same time, so that an answer in the wrong place would be seen.

use std::collections::BTreeMap;
use std::sync::{Arc, Barrier};
use std::thread;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::super::Bench;
use super::super::report::Figure;
use super::figure;
use super::line::Line;

const PAIRS: usize = 2;

/// What came of races.
#[derive(Default)]
struct Outcome {
    races: usize,
    /// By the way that won.
    winners: BTreeMap<String, usize>,
    /// Races in which not exactly one way won, or two say different things of who did.
    wrong: Vec<String>,
    /// Losers that were not told who was first, and when.
    untold: Vec<String>,
}

pub(super) fn measure(bench: &Bench, races: usize) -> Result<Vec<Figure>> {
    let running: Vec<_> = (0..PAIRS)
        .map(|pair| {
            let agent =
                Line::agent(bench, &format!("ask --as racer-{pair}"), json!({ "elicitation": { "form": {} } }))?;
            let people = [Line::control(bench)?, Line::control(bench)?];
            Ok(thread::spawn(move || run(pair, agent, people, races / PAIRS)))
        })
        .collect::<Result<_>>()?;
    let mut all = Outcome::default();
    for running in running {
        let outcome = running.join().expect("a race does not panic")?;
        all.races += outcome.races;
        outcome.winners.into_iter().for_each(|(way, count)| *all.winners.entry(way).or_default() += count);
        all.wrong.extend(outcome.wrong);
        all.untold.extend(outcome.untold);
    }
    for said in all.wrong.iter().chain(&all.untold).take(5) {
        println!("  {said}");
    }
    let what = format!("{} races of four ways: without exactly one winner that all agree on", all.races);
    let mut figures = vec![
        figure(what, "", all.wrong.len() as f64, Some(0.0)),
        figure("… losers that were not told who was first and when", "", all.untold.len() as f64, Some(0.0)),
    ];
    figures
        .extend(all.winners.into_iter().map(|(way, count)| figure(format!("… won by {way}"), "", count as f64, None)));
    Ok(figures)
}

fn run(pair: usize, mut agent: Line, mut people: [Line; 2], races: usize) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for number in 0..races {
        let title = format!("racer {pair}, race {number}");
        let call = agent.begin_call("request_guidance", json!({ "context": title, "wait_s": 60 }))?;
        let (_, dialog) = agent.next("a dialog", |message| {
            message["method"] == "elicitation/create" && message["params"]["message"].to_string().contains(&title)
        })?;
        let open = super::open(&mut people[0])?;
        let mine = open.iter().find(|open| open["title"] == *title);
        let id = mine.and_then(|open| open["question"].as_str()).context("the question is not open")?.to_owned();
        let start = Arc::new(Barrier::new(people.len() + 1));
        let (answers, taken_back) = thread::scope(|scope| -> Result<(Vec<Value>, Value)> {
            let people: Vec<_> = people
                .iter_mut()
                .enumerate()
                .map(|(person, line)| {
                    let (start, id) = (start.clone(), id.clone());
                    let text = said(&title, &format!("person {person}"));
                    scope.spawn(move || -> Result<Value> {
                        start.wait();
                        let request = line.begin("ask/answer", json!({ "question": id, "text": text }))?;
                        Ok(line.answer(request)?.1)
                    })
                })
                .collect();
            start.wait();
            let by_dialog = json!({
                "jsonrpc": "2.0", "id": dialog["id"],
                "result": { "action": "accept", "content": { "guidance": said(&title, "dialog") } },
            });
            let arguments = json!({ "question": id, "reason": "no more" });
            // Which of the two is written first decides between them.
            let request = if number % 2 == 0 {
                agent.send(&by_dialog)?;
                agent.begin_call("ask_cancel", arguments)?
            } else {
                let request = agent.begin_call("ask_cancel", arguments)?;
                agent.send(&by_dialog)?;
                request
            };
            let taken_back = agent.answer(request)?.1;
            let answers = people.into_iter().map(|person| person.join().expect("an answer does not panic"));
            Ok((answers.collect::<Result<_>>()?, taken_back))
        })?;
        let result = agent.answer(call)?.1["result"]["structuredContent"].take();
        let mut listed = people[0].request("ask/list", json!({ "question": id }))?;
        let stored = listed["questions"][0].take();
        judge(
            &mut outcome,
            &title,
            &Race { answers: &answers, taken_back: &taken_back, result: &result, stored: &stored },
        );
        agent.forget();
    }
    Ok(outcome)
}

fn said(title: &str, way: &str) -> String {
    format!("{title}: {way}")
}

struct Race<'a> {
    answers: &'a [Value],
    taken_back: &'a Value,
    result: &'a Value,
    stored: &'a Value,
}

fn judge(outcome: &mut Outcome, title: &str, race: &Race<'_>) {
    outcome.races += 1;
    let Race { answers, taken_back, result, stored } = race;
    let cancelled = taken_back["result"]["structuredContent"]["status"] == "cancelled";
    let text = stored["values"]["guidance"].as_str().unwrap_or_default();
    let mut winners: Vec<String> = Vec::new();
    for (person, answer) in answers.iter().enumerate() {
        if answer["error"].is_null() {
            winners.push(format!("person {person}"));
        }
    }
    if cancelled {
        winners.push("ask_cancel".to_owned());
    }
    if text == said(title, "dialog") {
        winners.push("dialog".to_owned());
    }
    let way = if cancelled { "ask_cancel" } else { text.strip_prefix(&format!("{title}: ")).unwrap_or("nobody") };
    let got = if cancelled {
        result["status"] == "cancelled" && result["guidance"].is_null()
    } else {
        result["status"] == "answered" && result["guidance"] == text
    };
    if winners != [way] || !got {
        outcome.wrong.push(format!("{title}: stored {stored}, the call got {result}, winners {winners:?}"));
    }
    *outcome.winners.entry(way.split(' ').next().unwrap_or_default().to_owned()).or_default() += 1;
    // A loser hears how it was closed, by whom or by which way, and when.
    let at = stored["answered"]["at"].as_str();
    for answer in answers.iter().filter(|answer| !answer["error"].is_null()) {
        let told = answer["error"]["message"].as_str().unwrap_or_default();
        let has_time = at.map_or_else(|| told.contains("T") && told.contains("Z"), |at| told.contains(at));
        if !told.contains("already: by ") || !has_time {
            outcome.untold.push(format!("{title}: {told}"));
        }
    }
    if !cancelled {
        let told = &taken_back["result"]["content"][0]["text"];
        let told = told.as_str().unwrap_or_default();
        if !told.contains("too late") || at.is_none_or(|at| !told.contains(at)) {
            outcome.untold.push(format!("{title}: ask_cancel said {told:?}"));
        }
        if result["answered"]["at"].as_str() != at || result["answered"]["by"] != stored["answered"]["by"] {
            outcome.untold.push(format!("{title}: the call got {result}"));
        }
    }
}
